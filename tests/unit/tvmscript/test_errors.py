"""Scripts that cannot be read: what the error says, and where it points."""

from __future__ import annotations

import textwrap
from pathlib import Path
from types import FunctionType

import pytest
from support.live_scripts import import_text
from support.script_errors import error_of

from xdsl_tvm.passes.infra.error_lines import error_line
from xdsl_tvm.tools import cli, list_passes
from xdsl_tvm.tvmscript import ScriptError, parse

HEADER = """\
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "int32"), n: T.int32):
"""

BODIES = {
    "undefined": (
        "A[0, 0] = «x» + 1",
        "undefined variable 'x'",
    ),
    "undefined hint": (
        "length = n\nB[0] = «lenght»",
        "undefined variable 'lenght' (did you mean 'length'?)",
    ),
    "out of scope": (
        "for i in range(4):\n    B[i] = 0\nB[0] = «i»",
        "undefined variable",
    ),
    "redefinition": (
        "x = n + 1\n«x» = n + 2",
        "'x' is already defined in this body",
    ),
    "redefined parameter": (
        "«n» = B[0]",
        "'n' is already defined",
    ),
    "augmented name": (
        "x = n + 1\n«x» += 1",
        "'x' is already defined",
    ),
    "unknown T name": (
        "«T.evalute»(0)",
        "T has no 'evalute' (did you mean 'evaluate'?)",
    ),
    "unknown R name": (
        "«R.add»(n, n)",
        "functions of R are in functions that @R.function decorates",
    ),
    "unknown I name": (
        "«I.ir_modul»()",
        "I has no ir_modul (did you mean 'ir_module'?)",
    ),
    "unknown attribute": (
        "x = «A[0, 0].foo»",
        "no attribute 'foo'",
    ),
    "key of an attribute": (
        "«T.attr(0, A, 1)»",
        "T.attr: the key must be a string",
    ),
    "key of an annotation": (
        "«for i in T.serial(4, annotations={3: 1}):»\n    B[i] = 0",
        "the name of an attribute must be a string, got 3",
    ),
    "name of a block": (
        "with «T.block(16)»:\n    B[0] = 0",
        "T.block: the name must be a string, got 16",
    ),
    "negative extent": (
        "«C = T.decl_buffer((4, -1))»",
        "tir.buffer extent must not be negative, got -1",
    ),
    "wrong rank": (
        "«A[0]» = 1.0",
        "buffer A has 2 dimensions, indexed by 1",
    ),
    "wrong rank of a load": (
        "B[0] = «B[0, 1]»",
        "buffer B has 1 dimensions",
    ),
    "wrong rank of a region": (
        "with T.block():\n    T.reads(«A[0:4]»)",
        "buffer A has 2 dimensions, indexed by 1",
    ),
    "no buffer": (
        "«n[0]» = 1",
        "'n' is no buffer, nothing can be stored in it",
    ),
    "no buffer augmented": (
        "«n[0]» += 1",
        "'n' is no buffer",
    ),
    "float index": (
        "«B[A[0, 0]]» = 1",
        "indexed by a value of type float32",
    ),
    "buffer as a value": (
        "A[0, 0] = «A»",
        "buffer A is not a value; index it",
    ),
    "buffer as an operand": (
        "A[0, 0] = «A + 1»",
        "buffer A is not a value",
    ),
    "region as an operand": (
        "x = «A[0, :] + 1»",
        "give its slices both bounds",
    ),
    "open slice": (
        "«B[:4]» = T.Broadcast(1, 4)",
        "needs both bounds",
    ),
    "lanes not constant": (
        "«B[0:n]» = T.Broadcast(1, 4)",
        "the number of lanes must be a positive constant",
    ),
    "step without constant lanes": (
        "B[0:4] = «B[0:n:2]»",
        "the number of lanes must be a positive constant",
    ),
    "vector not last": (
        "A[0:4, 0] = «A[0:4, 0]»",
        "only the last index may be a vector",
    ),
    "scalar in vector store": (
        "B[0:4] = «1»",
        "cannot be stored in buffer B",
    ),
    "unknown scope": (
        'C = «T.alloc_buffer((4,), scope="sharde")»',
        "unknown storage scope 'sharde' (did you mean 'shared'?)",
    ),
    "matched twice": (
        "C = T.match_buffer(n, (4,))\nD = «T.match_buffer(n, (4,))»",
        "n is matched twice",
    ),
    "bad dtype": (
        'x = «T.cast(n, "flaot32")»',
        "unknown dtype 'flaot32'",
    ),
    "comparison": (
        "x = «n < T.int64(3)»",
        "operands must have one dtype, got int32 and int64",
    ),
    "out of range": (
        "B[0] = «5000000000»",
        "5000000000 is out of range for int32",
    ),
    "constant out of range": (
        "x = «T.float16(1e10)»",
        "out of range for float16",
    ),
    "ambiguous division": (
        "B[0] = «B[0] / n»",
        "'/' of two integers is ambiguous",
    ),
    "power": (
        "x = «n ** 2»",
        "'**' is not for IR expressions; write T.pow(x, y)",
    ),
    "string operand": (
        'x = «"a" + n»',
        "cannot match the dtypes handle and int32",
    ),
    "logic of numbers": (
        "x = «n and n»",
        "the operand must be a bool, got int32",
    ),
    "not of a number": (
        "x = «not n»",
        "the operand must be a bool, got int32",
    ),
    "not of a buffer": (
        "x = «not B»",
        "buffer B is not a value",
    ),
    "operand count": (
        "x = «T.exp(A[0, 0], 1.0)»",
        "T.exp: takes 1 operand (x), got 2",
    ),
    "keyword": (
        "for i in «range(4, foo=3)»:\n    pass",
        "unexpected keyword",
    ),
    "annotated let": (
        "x: T.int64 = «n»",
        "a value of type int32 cannot be bound to a variable of type int64",
    ),
    "annotation without a dtype": (
        "x: «A» = n",
        "must be a dtype such as T.int32",
    ),
    "annotation with a value": (
        "x: «n» = n",
        "a variable that has a value already",
    ),
    "let without a value": (
        "«x: T.int32»",
        "'x' needs a value",
    ),
    "nothing to bind": (
        "«x» = None",
        "'x' cannot be bound to nothing",
    ),
    "function to bind": (
        "«x» = lambda i: i",
        "cannot be bound to a Python function",
    ),
    "one value for two names": (
        "«x, y» = n",
        "cannot be taken apart",
    ),
    "three values for two names": (
        "«x, y» = 1, 2, 3",
        "2 names for 3 values",
    ),
    "no statement": (
        "«A»",
        "a Buffer is no statement",
    ),
    "loop over a list": (
        "for i in «[1, 2]»:\n    pass",
        "a loop runs over range",
    ),
    "too few loop variables": (
        "for «i, j» in T.grid(4, 4, 4):\n    pass",
        "2 names for 3 values",
    ),
    "no thread axis": (
        'for i in «T.thread_binding(4, thread="threadIdx.w")»:\n    pass',
        "unknown thread axis 'threadIdx.w'",
    ),
    "if of a string": (
        'if «"a"»:\n    pass',
        "the condition of 'if' must be a bool",
    ),
    # Integers are conditions, as TVM reads them; no other dtype is.
    "if of a number": (
        "if «T.Cast('float32', n)»:\n    pass",
        "must be a scalar bool, got float32",
    ),
    "elif of a number": (
        "if n < 4:\n    pass\nelif «T.broadcast(n, 4)»:\n    pass",
        "must be a scalar bool, got int32x4",
    ),
    "while of a constant": (
        "while «True»:\n    pass",
        "'while' is a constant",
    ),
    "with of a number": (
        "with «n»:\n    pass",
        "'n' opens nothing",
    ),
    "assert without a message": (
        "«assert n < 4»",
        "an assert needs a message",
    ),
    "return without a value": (
        "«return»",
        "'return' needs a value",
    ),
    "ternary": (
        "x = «1 if n else 2»",
        "write T.if_then_else(c, a, b)",
    ),
    "remap": (
        "for i in range(4):\n"
        "    with T.block():\n"
        '        v = «T.axis.remap("S", [i + 1])»',
        "T.axis.remap: binds loop variables only",
    ),
    "axis outside": (
        "v = «T.axis.spatial(4, n)»",
        "must be directly in T.block",
    ),
    "where outside": (
        "«T.where(n < 4)»",
        "T.where must be directly in T.block",
    ),
    "where of a number": (
        "with T.block():\n    «T.where(n)»",
        "the condition of T.where must be a scalar bool",
    ),
    "duplicate axis": (
        "for i in range(4):\n"
        "    with T.block():\n"
        "        v = T.axis.spatial(4, i)\n"
        "        «v» = T.axis.spatial(4, i)",
        "'v' is already defined",
    ),
    "reads twice": (
        "with T.block():\n    T.reads()\n    «T.reads()»",
        "T.reads is given twice",
    ),
    "attributes twice": (
        'with T.block():\n    T.block_attr({"a": 1})\n    «T.block_attr({"b": 1})»',
        "T.block_attr is given twice",
    ),
    "init outside": (
        "with «T.init()»:\n    pass",
        "T.init must be directly",
    ),
    "function attribute twice": (
        'T.func_attr({"a": 1})\n«T.func_attr({"a": 2})»',
        "the attribute a is given twice",
    ),
    "try": (
        "«try:»\n    pass\nexcept ValueError:\n    pass",
        "cannot hold 'try'",
    ),
    "del": (
        "«del n»",
        "cannot hold 'del'",
    ),
    "global": (
        "«global n»",
        "cannot hold 'global'",
    ),
    "import": (
        "«import os»",
        "cannot hold an import",
    ),
    "class": (
        "«class C:»\n    pass",
        "cannot hold a nested class",
    ),
    "def": (
        "«def f():»\n    pass",
        "cannot hold a nested function; define a T.macro",
    ),
    "raise": (
        "«raise ValueError»",
        "cannot hold 'raise'",
    ),
    "break": (
        "for i in range(4):\n    «break»",
        "cannot hold 'break'",
    ),
    "continue": (
        "for i in range(4):\n    «continue»",
        "cannot hold 'continue'",
    ),
    "for else": (
        "for i in range(4):\n    pass\nelse:\n    «pass»",
        "'else' after 'for'",
    ),
    "while else": (
        "while n < 4:\n    pass\nelse:\n    «pass»",
        "'else' after 'while'",
    ),
    "chained assignment": (
        "«x = y = n»",
        "several targets at once",
    ),
    "attribute assignment": (
        "«A.x» = 3",
        "cannot assign to 'A.x'",
    ),
    "comprehension": (
        "x = «[i for i in (1, 2)]»",
        "cannot hold a comprehension",
    ),
    "generator": (
        "x = «(i for i in (1, 2))»",
        "cannot hold a generator",
    ),
    "walrus": (
        "if («y := n»):\n    pass",
        "cannot hold the walrus operator",
    ),
    "chained comparison": (
        "x = «0 < n < 4»",
        "cannot hold a chained comparison",
    ),
    "identity": (
        "x = «n is n»",
        "'is' and 'in' do not compare",
    ),
    "match": (
        "«match n:»\n    case 1:\n        pass",
        "cannot hold 'match'",
    ),
    "no Python": (
        "x = «(»1 +",
        "not valid Python: '(' was never closed",
    ),
    "division by zero": (
        "x = «1 // 0»",
        "ZeroDivisionError",
    ),
    "key of a dictionary": (
        "x = «{}['a']»",
        "KeyError: 'a'",
    ),
    "no function": (
        "x = «n(3)»",
        "cannot be called",
    ),
    "unicode before": (
        'x = T.int32(len("äöü")) + «y»',
        "undefined variable 'y'",
    ),
}
"""Bodies with the place of the error in «», and a part of the message."""

WHOLE = {
    "no annotation": (
        "@T.prim_func\ndef main(«a», b: T.int32):\n    pass\n",
        "parameter 'a' needs an annotation",
    ),
    "strange annotation": (
        "@T.prim_func\ndef main(a: «1»):\n    pass\n",
        "the annotation of 'a' must be a dtype",
    ),
    "broken annotation": (
        '@T.prim_func\ndef main(a: «"T.int32("»):\n    pass\n',
        "the annotation is not valid Python",
    ),
    "default": (
        "@T.prim_func\ndef main(a: T.int32 = «3»):\n    pass\n",
        "has no default value",
    ),
    "variable arguments": (
        "@T.prim_func\ndef main(*«args»):\n    pass\n",
        "accepts positional parameters",
    ),
    "global symbol of a private function": (
        "@T.prim_func(private=True)\n"
        "def main():\n"
        '    «T.func_attr({"global_symbol": "main"})»\n',
        "a private function has no global_symbol",
    ),
    "return type": (
        "@T.prim_func\ndef main() -> «3»:\n    pass\n",
        "returns None or a dtype",
    ),
    "decorator": (
        "@«len»\ndef main():\n    pass\n",
        "'len' is no decorator of scripts",
    ),
    "unknown decorator": (
        "@«T.prim_fun»\ndef main():\n    pass\n",
        "(did you mean 'prim_func'?)",
    ),
    "module attributes twice": (
        "@I.ir_module\n"
        "class M:\n"
        "    I.module_attrs({'a': 1})\n"
        "    «I.module_attrs({'a': 1})»\n",
        "I.module_attrs is given twice",
    ),
    "unknown function": (
        "@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n        «M.g»()\n",
        "module M has no function 'g' (it has f)",
    ),
    "two functions of one name": (
        "@I.ir_module\n"
        "class M:\n"
        "    @T.prim_func\n"
        "    def f():\n"
        "        pass\n"
        "    @T.prim_func\n"
        "    «def f():»\n"
        "        pass\n",
        "the module has a function 'f' already",
    ),
    "function of a module without decorator": (
        "@I.ir_module\nclass M:\n    «def f():»\n        pass\n",
        "needs @T.prim_func",
    ),
    "statement of a module": (
        "@I.ir_module\nclass M:\n    «for i in range(3):»\n        pass\n",
        "a module holds functions",
    ),
    "relax function": (
        "@R.function\n«def f():»\n    pass\n",
        "function 'f' must end with 'return' and a value",
    ),
    "relax function of a module": (
        "@I.ir_module\n"
        "class M:\n"
        "    @R.function(pure=False)\n"
        "    «def f():»\n"
        "        pass\n",
        "function 'f' must end with 'return' and a value",
    ),
    "method": (
        "class Before:\n    «def expected(self):»\n        return 3\n",
        "'expected' is a Python method",
    ),
    "two modules": (
        "@I.ir_module\nclass M:\n    pass\n«def f():»\n    pass\n",
        "the text defines the module M and functions outside of it, but a text is one "
        "module",
    ),
    "two classes": (
        "@I.ir_module\nclass M:\n    pass\n@I.ir_module\n«class N:»\n    pass\n",
        "the text defines the modules M and N, but a text is one module: one class, or "
        "functions only; take one by 'xdsl-tvm translate --name', or put each into a "
        "file of its own",
    ),
    "two functions": (
        "@T.prim_func\ndef f():\n    pass\n@T.prim_func\n«def f():»\n    pass\n",
        "there are two functions 'f'",
    ),
    "other code": (
        "«print(3)»\n",
        "a script holds definitions",
    ),
    "empty": (
        "«#» nothing\n",
        "the text defines no function or class",
    ),
    "macro arguments": (
        "@T.macro\ndef m(a, b):\n    pass\n@T.prim_func\ndef main():\n    «m(1)»\n",
        "m(): missing a required argument: 'b'",
    ),
    "macro in a macro": (
        "@T.macro\ndef m():\n    «m()»\n@T.prim_func\ndef main():\n    m()\n",
        "nested too deeply",
    ),
    "pointer in a block": (
        "@T.prim_func\n"
        "def main(A: T.Buffer((16,))):\n"
        "    with T.block():\n"
        "        «with» T.block('b'):\n"
        "            T.call_extern('int32', 'f', A.data)\n",
        "block 'b' uses the pointer A, so what it accesses is not known",
    ),
    "unsigned binding": (
        "@T.prim_func\n"
        "def main():\n"
        "    for i in T.serial(T.uint32(0), T.uint32(4)):\n"
        "        «with» T.block('b'):\n"
        "            v = T.axis.remap('S', [i])\n",
        "the binding of v must be a signed integer, got uint32",
    ),
    "indented": (
        "    @T.prim_func\n    def main():\n        «x»\n",
        "undefined variable",
    ),
    "indented syntax": (
        "    @T.prim_func\n    def main():\n        x = «(»\n",
        "'(' was never closed",
    ),
}
"""Texts, marked alike."""


@pytest.mark.parametrize(("body", "message"), BODIES.values(), ids=BODIES)
def test_body(body: str, message: str) -> None:
    error = error_of(HEADER + textwrap.indent(body, "    ") + "\n")
    assert message in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize(("text", "message"), WHOLE.values(), ids=WHOLE)
def test_text(text: str, message: str) -> None:
    assert message in error_of(text).message


def test_text_of_an_error() -> None:
    error = error_of(HEADER + "    x = T.max(«A[0]», 1.0)\n")
    assert str(error) == (
        "script.py:3:15: error: buffer A has 2 dimensions, indexed by 1\n"
        "    x = T.max(A[0], 1.0)\n"
        "              ^^^^"
    )


def test_carets_stand_below_tabs() -> None:
    error = error_of("def main(n: T.int32):\n\tx = «y»\n")
    assert str(error).splitlines()[1:] == ["\tx = y", "\t    ^"]


def test_tools_print_the_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = error_of("def main():\n    «x»\n")

    def fail(arguments: list[str]) -> None:
        raise error

    monkeypatch.setattr(list_passes, "main", fail)
    assert cli.main(["passes"]) == 1
    assert capsys.readouterr().err == (
        "script.py:2:5: error: undefined variable 'x'\n    x\n    ^\n"
    )
    assert error_line(error) == "script.py:2:5: undefined variable 'x'"


def test_errors_in_macros_point_into_the_macro() -> None:
    error_of(
        "@T.macro\ndef m(B):\n    B[0] = «x»\n"
        "@T.prim_func\ndef main(B: T.Buffer((4,))):\n    m(B)\n"
    )


def test_live_function(tmp_path: Path) -> None:
    text = """\
def outer():
    @T.prim_func
    def main(n: T.int32):
        T.evaluate(n + unknown_name)
outer()
"""
    with pytest.raises(ScriptError, match="undefined variable 'unknown_name'") as caught:
        import_text(tmp_path, text)
    error = caught.value
    assert error.file.startswith(str(tmp_path))
    assert (error.line, error.column) == (5, 24)
    assert str(error).splitlines()[1] == "        T.evaluate(n + unknown_name)"


RELAX = """\
@R.function
def main():
    pass
"""
RELAX_IN_MODULE = """\
@I.ir_module
class M:
    @R.function(pure=False)
    def main():
        pass
"""


@pytest.mark.parametrize(("text", "line"), [(RELAX, 3), (RELAX_IN_MODULE, 5)])
def test_live_relax(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(ScriptError, match="must end with 'return'") as caught:
        import_text(tmp_path, text)
    assert caught.value.line == line


def test_source_that_is_not_available() -> None:
    names: dict[str, FunctionType] = {}
    exec("def f(): pass", names)
    with pytest.raises(OSError, match="the source of f is not available"):
        parse(names["f"])
