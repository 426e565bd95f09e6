"""Relax scripts that cannot be read: what the error says, and where it points."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest
from support.live_scripts import import_text
from support.relax_corpus import PROGRAMS
from support.script_errors import error_of

from xdsl_tvm.tvmscript import ScriptError, parse, print_script

HEADER = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @R.function(private=True)
    def layer(x: R.Tensor(("m", 4), "float32")) -> R.Tensor(("m", 4), "float32"):
        return x

    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"),
        y: R.Tensor((4,), "float32"),
        c: R.Tensor((), "bool"),
    ):
        n, k = T.int64(), T.int64()
        cls = Module
"""

BODIES = {
    "undefined": ("y = R.add(x, «z»)\nreturn y", "undefined variable 'z'"),
    "undefined hint": ("value = R.exp(x)\nreturn «valeu»", "(did you mean 'value'?)"),
    "unknown operator": (
        "y = «R.ad»(x, x)\nreturn y",
        "R has no ad (did you mean 'add'?)",
    ),
    "unknown operator of a namespace": (
        "return «R.nn.rellu»(x)",
        "R has no nn.rellu (did you mean 'nn.relu'?)",
    ),
    "namespace called": ("return «R.nn(x)»", "R.nn holds functions, and is none"),
    "unknown keyword": (
        "return «R.sum(x, axes=0)»",
        "R.sum has no argument 'axes' (did you mean 'axis'?)",
    ),
    "keyword twice": (
        "return «R.sum(x, 0, axis=1)»",
        "the argument 'axis' is given twice",
    ),
    "too many arguments": ("return «R.exp(x, y)»", "takes 1 arguments, 2 are given"),
    "too few arguments": ("return «R.add(x)»", "the argument 'x2' is missing"),
    "no value": ('return «R.exp("x")»', "a string is no value of the dialect"),
    "list for a tensor": ("return «R.exp(None)»", "cannot be None"),
    "wrong rank": (
        "return «R.permute_dims(x, [0, 1, 2])»",
        "relax.permute_dims",
    ),
    "wrong axis": ("return «R.sum(x, axis=5)»", "relax.sum"),
    "wrong dtype": (
        'return «R.add(x, R.const(1, "int32"))»',
        "relax.add",
    ),
    "unknown dtype": ('return «R.astype(x, "flot32")»', "unknown dtype 'flot32'"),
    "no dtype": ("return «R.astype(x, 3)»", "a dtype is a string"),
    "attribute of another kind": (
        'return «R.sum(x, axis="a")»',
        "the argument 'axis' must be",
    ),
    "flag of another kind": (
        'return «R.sum(x, keepdims="no")»',
        "'keepdims' must be a bool",
    ),
    "constant argument": (
        'return «R.take(y, R.const([0]), mode="clip")»',
        "'mode' can be 'fast' only",
    ),
    "sugar of a number": ("return «x * 2»", "write R.const(2, "),
    "sugar of two kinds": ("return «x + c»", "relax.add"),
    "equality": ("return «x == y»", "use R.equal"),
    "matrix product": ("return «x @ x»", "unsupported operand"),
    "truth": ("return «x and y»", "R.logical_and"),
    "choice": ("return «x if c else x»", "use 'if' as a statement"),
    "item of a tensor": ("return «x[0]»", "is no tuple"),
    "item by a name": ('return «(x, R.exp(x))["a"]»', "tuple indices must be integers"),
    "item of a value": ("t = R.split(x, 2, 1)\nreturn «t[y]»", "only a tuple has fields"),
    "missing field": (
        "t = R.split(x, 2, 1)\nreturn «t[2]»",
        "no field 2 in a tuple of 2",
    ),
    "unpacked tensor": ("«a, b» = R.exp(x)\nreturn a", "only a tuple of known fields"),
    "unpacked wrongly": (
        "«a, b, c» = R.split(x, 2, 1)\nreturn a",
        "3 names for 2 values",
    ),
    "declared wrongly": (
        'y: R.Tensor((n, 5), "float32") = «R.exp(x)»\nreturn y',
        "but tensor<?x5xf32",
    ),
    "declared too precisely": (
        "y: R.Tensor((4, 4)) = «x»\nreturn y",
        "use R.match_cast to check when the program runs",
    ),
    "no annotation": ("y: «T.Buffer((4,))» = x\nreturn y", "annotates nothing in Relax"),
    "annotated number of arguments": (
        'y: «R.Tensor((4,), "float32", ndim=1)» = x\nreturn y',
        "a shape or ndim, not both",
    ),
    "negative rank": ("y: «R.Tensor(ndim=-2)» = x\nreturn y", "at least -1"),
    "symbol without a value": (
        "z = «R.zeros((k, 4), 'float32')»\nreturn z",
        "the symbolic dimension 'k' has no value here",
    ),
    "symbol of a declared type": (
        'y: «R.Tensor((k, 4), "float32")» = x\nreturn y',
        "'k' has no value here",
    ),
    "symbol without a name": (
        'return «R.zeros((T.int64(), 4), "float32")»',
        "needs a name; write n = T.int64()",
    ),
    "symbol of another dtype": (
        "m = T.int32()\nreturn «R.zeros((m,), 'float32')»",
        "a symbolic dimension is an int64, not a int32",
    ),
    "dimension that is none": (
        "return «R.zeros((1.5,), 'float32')»",
        "must be an integer",
    ),
    "impossible cast": (
        'return «R.match_cast(y, R.Tensor((5,), "float32"))»',
        "can never be",
    ),
    "cast that defines nothing": (
        'return «R.match_cast(x, R.Tensor((k + 1, 4), "float32"))»',
        "'k' has no value here",
    ),
    "unknown function": (
        'return R.call_tir(«cls.scal», (y,), out_sinfo=R.Tensor((4,), "float32"))',
        "module Module has no function 'scal'",
    ),
    "call_tir without result": (
        "return «R.call_tir(cls.scale, (y,))»",
        "needs 'out_sinfo'",
    ),
    "call_tir of unknown shape": (
        'return «R.call_tir(cls.scale, (y,), R.Tensor(ndim=1, dtype="float32"))»',
        "tensors of known shape and dtype",
    ),
    "call_tir of a value": (
        'return «R.call_tir(y, (y,), R.Tensor((4,), "float32"))»',
        "R.call_tir calls a function of the module",
    ),
    "call_tir with wrong arguments": (
        '«z» = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((4,), "float32"))'
        "\nreturn z",
        "argument 0 of tir.func @scale",
    ),
    "call_tir with too many": (
        '«z» = R.call_tir(cls.scale, (y, y), out_sinfo=R.Tensor((4,), "float32"))'
        "\nreturn z",
        "@scale has 2 parameters",
    ),
    "call with wrong arguments": (
        "return «cls.layer(y)»",
        "argument 0 of function layer",
    ),
    "call with too many": ("return «cls.layer(x, x)»", "takes 1 arguments, 2 are given"),
    "call with keywords": ("return «cls.layer(x=x)»", "accepts no keywords"),
    "inplace of no argument": (
        "return «R.call_tir_inplace(cls.scale, (y,), inplace_indices=[3], "
        'out_sinfo=R.Tensor((4,), "float32"))»',
        "there is no argument 3 to write",
    ),
    "packed function by value": (
        "return «R.call_pure_packed(y, y, sinfo_args=R.Object)»",
        "calls a function of the runtime by its name",
    ),
    "packed without result": (
        'return «R.call_pure_packed("f", y)»',
        "needs 'sinfo_args'",
    ),
    "unknown keyword of a call": (
        'return «R.call_tir(cls.scale, (y,), R.Tensor((4,), "float32"), shape=3)»',
        "has no argument 'shape'",
    ),
    "impure in a pure function": ("«R.print(x)»\nreturn x", "@R.function(pure=False)"),
    "impure call in a pure function": (
        "«cls.scale(y, y)»\nreturn x",
        "the function is not",
    ),
    "impure in dataflow": (
        'R.func_attr({"relax.force_pure": True})\n'
        "with R.dataflow():\n    «R.print(x)»\n    R.output()\nreturn x",
        "impure and is in a dataflow block",
    ),
    "if in dataflow": (
        "with R.dataflow():\n    «if c:»\n        y = x\n    else:\n        y = x\n"
        "    R.output(y)\nreturn y",
        "a dataflow block holds no 'if'",
    ),
    "dataflow in dataflow": (
        "with R.dataflow():\n    «with R.dataflow():»\n        R.output()\n"
        "    R.output()\nreturn x",
        "cannot be in another one",
    ),
    "dataflow without output": (
        "with R.dataflow():\n    «y = R.exp(x)»\nreturn y",
        "a dataflow block ends with R.output(...)",
    ),
    "output outside": (
        "«R.output(x)»\nreturn x",
        "the last statement of a dataflow block",
    ),
    "output of an outer value": (
        "with R.dataflow():\n    «R.output(x)»\nreturn x",
        "'x' is no variable of this dataflow block",
    ),
    "output twice": (
        "with R.dataflow():\n    a = R.exp(x)\n    «R.output(a, a)»\nreturn a",
        "names a variable twice",
    ),
    "output of an expression": (
        "with R.dataflow():\n    «R.output(R.exp(x))»\nreturn x",
        "takes names of variables",
    ),
    "hidden variable": (
        "with R.dataflow():\n    a = R.exp(x)\n"
        "    b = R.exp(a)\n    R.output(b)\nreturn «a»",
        "undefined variable 'a'",
    ),
    "variable of a branch": (
        "if c:\n    a = R.exp(x)\n    z = a\nelse:\n    z = x\nreturn «a»",
        "undefined variable 'a'",
    ),
    "if without else": ("«if c:»\n    z = x\nreturn x", "'if' needs 'else'"),
    "branches of two names": (
        "«if c:»\n    z = x\nelse:\n    w = x\nreturn x",
        "not 'z' and 'w'",
    ),
    "branch without result": (
        "if c:\n    z = x\nelse:\n    «pass»\nreturn x",
        "a branch ends with the variable",
    ),
    "condition that is none": (
        "«if y:»\n    z = x\nelse:\n    z = x\nreturn z",
        "relax.if",
    ),
    "return in the middle": ("«return x»\nreturn x", "'return' is the last statement"),
    "return in a branch": (
        "if c:\n    «return x»\nelse:\n    z = x\nreturn z",
        "'return' is the last statement",
    ),
    "empty return": ("«return»", "'return' needs a value"),
    "loop": ("«for i in range(3):»\n    pass\nreturn x", "cannot hold a loop"),
    "assert": ("«assert c»\nreturn x", "use R.assert_op"),
    "unused value": ("«R.exp(x)»\nreturn x", "bind it to a name"),
    "store": ("«x[0]» = y\nreturn x", "values do not change"),
    "several targets": ("«a = b = x»\nreturn x", "several targets at once"),
    "binding of nothing": (
        'w = R.exp(x)\n«z» = R.func_attr({"relax.force_pure": True})\nreturn x',
        "what is bound to a name is no value",
    ),
    "attribute twice": (
        'R.func_attr({"a": 1})\n«R.func_attr({"a": 2})»\nreturn x',
        "the attribute 'a' is given twice",
    ),
    "unknown device": (
        'return «R.to_vdevice(x, dst_vdevice="cuda:0")»',
        "the module has no virtual device 'cuda:0'",
    ),
    "ragged constant": (
        "return «R.const([[1], [2, 3]])»",
        "rows must have equal lengths",
    ),
    "constant out of range": (
        'return «R.const(300, "uint8")»',
        "uint8 does not hold 300; give a dtype that does",
    ),
    "constant of another kind": (
        'return «R.const(1.5, "int32")»',
        "int32 does not hold 1.5",
    ),
    "map of other variables": (
        "return «R.layout_transform(x, lambda i, j: (i, n))»",
        "an index is made of the map's indices",
    ),
    "constant that is none": ('return «R.const("a")»', "R.const takes numbers"),
    "shape of unknown": ("return «R.shape([4, None])»", "every dimension must be known"),
    "function literal without decorator": (
        "«def f(z):»\n    return z\nreturn x",
        "needs @R.function",
    ),
    "literal that calls itself": (
        '@R.function\n«def f(z: R.Tensor((4,), "float32")):»\n    return f(z)\nreturn x',
        "needs an annotation of what it returns",
    ),
    "symbol in a literal": (
        '@R.function\ndef f(z: R.Tensor((4,), "float32")):\n'
        "    return «R.zeros((n,), 'float32')»\nreturn x",
        "'n' has no value here",
    ),
    "call of a tensor": ("return «x(y)»", "cannot be called"),
    "offset of a tensor": (
        'return «R.memory.alloc_tensor(x, x, (4,), "float32")»',
        "relax.memory.alloc_tensor: tensor<?x4xf32",
    ),
    "scope of another kind": (
        'return «R.builtin.alloc_tensor((4,), "float32", 0, 3)»',
        "R.builtin.alloc_tensor: 'storage_scope' must be a string",
    ),
    "argument of a call without any": (
        "return «R.null_value(3)»",
        "takes 0 arguments, 1 are given",
    ),
    "storage of two sizes": (
        'return «R.memory.alloc_storage((4, 4), 0, "global", "float32")»',
        "a shape of one number of bytes",
    ),
}
"""Bodies of a function, the place of the error marked, and what it says."""

WHOLE = {
    "no annotation": (
        "@R.function\ndef f(«x»):\n    return x\n",
        "parameter 'x' needs an annotation, such as R.Tensor",
    ),
    "annotation of TIR": (
        '@R.function\ndef f(x: «T.Buffer((4,), "float32")»):\n    return x\n',
        "annotates nothing in Relax",
    ),
    "bad dimension": (
        '@R.function\ndef f(x: «R.Tensor(("n +",), "float32")»):\n    return x\n',
        "'n +' is no dimension",
    ),
    "negative dimension": (
        '@R.function\ndef f(x: «R.Tensor((-1,), "float32")»):\n    return x\n',
        "a dimension cannot be -1",
    ),
    "dtype of a tensor": (
        '@R.function\ndef f(x: «R.Tensor((4,), "handle")»):\n    return x\n',
        "a tensor: dtype must be an integer or float",
    ),
    "reserved symbol": (
        '@R.function\ndef f(x: «R.Tensor(("min",), "float32")»):\n    return x\n',
        "'min' cannot name a symbolic dimension",
    ),
    "symbol that nothing defines": (
        '@R.function\n«def f(x: R.Tensor(("n + 1",), "float32")):»\n    return x\n',
        "uses the symbol 'n'",
    ),
    "default": (
        "@R.function\ndef f(x: R.Object = «None»):\n    return x\n",
        "no default value",
    ),
    "other result": (
        "@R.function\n«def f(x: R.Tensor((4,))) -> R.Tensor((5,)):»\n    return x\n",
        "but tensor<5x!relax.any> is declared",
    ),
    "private and public": (
        "@R.function(private=True)\n«def f(x: R.Object):»\n"
        '    R.func_attr({"global_symbol": "f"})\n    return x\n',
        "a private function has no 'global_symbol'",
    ),
    "no return": (
        "@R.function\n«def f(x: R.Object):»\n    pass\n",
        "must end with 'return'",
    ),
    "two of one name": (
        "@R.function\ndef f(x: R.Object):\n    return x\n"
        "@R.function\n«def f(x: R.Object):»\n    return x\n",
        "there are two functions 'f'",
    ),
    "recursion without annotation": (
        "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Object):\n"
        "        return «M.f(x)»\n",
        "'f' calls itself, so it needs an annotation",
    ),
    "unknown option": (
        "@«R.function(purre=False)»\ndef f(x: R.Object):\n    return x\n",
        "purre",
    ),
    "option of another kind": (
        "@«R.function(private=1)»\ndef f(x: R.Object):\n    return x\n",
        "the options of R.function are bools, not a int",
    ),
    "number of a device": (
        "@I.ir_module\nclass M:\n"
        '    I.module_global_infos({"vdevice": [«I.vdevice("cuda", "0")»]})\n',
        "the number of a device must be an integer",
    ),
    "attributes of a module": (
        "@I.ir_module\nclass M:\n    I.module_attrs({'a': R.add})\n    @R.function\n"
        "    «def f(x: R.Object):»\n        return x\n",
        "cannot be an annotation",
    ),
    "Relax called by TIR": (
        "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Object):\n"
        "        return x\n    @T.prim_func\n    def g():\n        «M.h»()\n",
        "module M has no function 'h'",
    ),
    "bad constant": (
        'x = «R.const_data("float32", (2,), "AAAA")»\n',
        "3 bytes for 8",
    ),
}
"""Texts, marked alike."""


@pytest.mark.parametrize(("body", "message"), BODIES.values(), ids=BODIES)
def test_body(body: str, message: str) -> None:
    error = error_of(HEADER + textwrap.indent(body, " " * 8) + "\n")
    assert message in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize(("text", "message"), WHOLE.values(), ids=WHOLE)
def test_text(text: str, message: str) -> None:
    assert message in error_of(text).message


def test_operators_stand_in_functions(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="are in functions that @R"):
        import_text(tmp_path, "R.add(1, 2)\n")


TEXTS = [script.text for script in PROGRAMS.values()]
OTHERS = "()[],.:=+-*0123456789nxy\"' \n"


def test_changed_texts_are_read_or_refused() -> None:
    """Whatever one character is changed to, an error is one of scripts, with a place."""
    source = random.Random(7)
    found = [_error_of_change(source) for _ in range(150)]
    errors = [error for error in found if error is not None]
    assert 50 < len(errors) < 150
    for error in errors:
        assert error.line >= 1
        assert error.message
        assert "\n" not in error.message


def _error_of_change(source: random.Random) -> ScriptError | None:
    text = source.choice(TEXTS)
    place = source.randrange(len(text))
    end = place + source.choice((0, 1, 1, 8))
    changed = text[:place] + source.choice(OTHERS) + text[end:]
    try:
        print_script(parse(changed))
    except ScriptError as error:
        return error
    return None
