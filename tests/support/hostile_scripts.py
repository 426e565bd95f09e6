"""Texts of scripts that try to run code, to hang, or to fill the memory.

Each has a mark where its error is, or is refused anywhere where it has none. Run as a
program, this file reads them all and reports each as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator

_TOUCH = "touch PWNED"

EXPRESSIONS = {
    # Names of Python.
    "import": f'«__import__»("os").system("{_TOUCH}")',
    "open": '«open»("PWNED", "w")',
    "eval": '«eval»("1")',
    "exec": '«exec»("import os")',
    "compile": '«compile»("1", "f", "eval")',
    "getattr": '«getattr»(T, "__builtins__")',
    "setattr": '«setattr»(T, "int32", 1)',
    "vars": "«vars»(T)",
    "globals": "«globals»()",
    "locals": "«locals»()",
    "dir": "«dir»(T)",
    "type": "«type»(A)",
    "object": "«object»()",
    "super": "«super»()",
    "input": "«input»()",
    "print": '«print»("x")',
    "breakpoint": "«breakpoint»()",
    "exit": "«exit»()",
    "help": "«help»()",
    "memoryview": '«memoryview»("a")',
    "bytes": "«bytes»(10**9)",
    "map": "«map»(str, [1])",
    "iter": "«iter»([1])",
    "format": '«format»(1, "1000000000")',
    "builtins by name": f'«__builtins__»["eval"]("{_TOUCH}")',
    "builtins as a module": "«builtins».open",
    "module os": "«os».system",
    # Attributes.
    "class walk": "«().__class__».__bases__[0].__subclasses__()",
    "class of a number": "«(1).__class__»",
    "subclasses of Expr": "«A.__class__».__mro__",
    "globals of a function": "«T.exp.__globals__»",
    "globals of a helper": "«T.ceildiv.__globals__»",
    "code of a function": "«T.ceildiv.__code__»",
    "defaults of a function": "«T.ceildiv.__defaults__»",
    "module of a method": "«A.vload.__self__»",
    "function of a method": "«A.vload.__func__».__globals__",
    "partial": "«T.exp.func».__globals__",
    "arguments of a partial": "«T.exp.args»",
    "dictionary of a namespace": '«T.__dict__»["_constructs"]',
    "helper module": "«T._constructs».np.load",
    "import helper": "«T._cache»",
    "loader of a namespace": "«T.__loader__»",
    "specification of a namespace": "«T.__spec__».loader",
    "internals of a vocabulary": "«I.IRBuilder»",
    "imports of a vocabulary": "«I.Mapping»",
    "subclasses of a class": "«T.CommReducer.mro»()",
    "globals of a lambda": "«(lambda: 1).__globals__»",
    "code of a lambda": "«(lambda: 1).__code__»",
    "evaluator of a lambda": "«(lambda: 1)._evaluator»",
    "names of a lambda": "«(lambda: 1)._captured»",
    "frame of a generator": "«(i for i in [1])».gi_frame.f_globals",
    "coroutine": "«await A»",
    "walk by str.format": '«"{0.__class__}".format»(A)',
    "width by str.format": '«"{:1000000000}".format»(1)',
    "format map": '«"{x}".format_map»({"x": 1})',
    "method of bytes": "«b'abc'».decode()",
    "encoded": '«"x".encode»()',
    "join": '«",".join»(["a"])',
    "translation": '«"x".translate»({})',
    "large padding": '«"x".ljust»(10**10)',
    "zeros": '«"x".zfill»(10**10)',
    "expanded tabs": '«"\\t".expandtabs»(10**10)',
    "bytes of a number": "«(1).to_bytes»(10**10)",
    "attribute of a frame": '«T.block("B").block»',
    "entering a frame": '«T.block("B").enter»()',
    "operation of a value": "«A.data.type»",
    "attribute inside f-string": 'f"{«A.__class__»}"',
    # Sizes.
    "power": "«10**10**10»",
    "power of a power": "(«(9**999)**99»)**99",
    "negative power": "«10**-(10**9)»",
    "shift": "«1 << 10**10»",
    "long literal": "0x" + "f" * 5000,
    "repeated string": '«"a" * 10**10»',
    "repeated list": "«[0] * 10**10»",
    "repeated tuple": "«10**10 * (1,)»",
    "width in an f-string": '«f"{1:1000000000}"»',
    "computed width": '«f"{1:{10**9}}"»',
    "precision in an f-string": '«f"{1.0:.1000000000f}"»',
    "width by percent": '«"%1000000000d" % 1»',
    "width by star": '«"%*d" % (10**9, 1)»',
    "representation": '«f"{[A]!r}"»',
    "range as a list": "«list(range(10**12))»",
    "range as arguments": "T.max(*range(10**12))",
    "sum of a range": "«sum(range(10**12))»",
    "rounded": "«round(1.5, 10**10)»",
    "comprehension": "«[i for i in [1]]»",
    "comprehension in a lambda": (
        "(lambda r: [i for a in r for b in r for i in r])([0] * 2000)"
    ),
    "buffer as arguments": "T.max(*A)",
    "buffer as a list": "«list(A)»",
    "constructor as arguments": "T.max(*T.Buffer)",
    "endless strides": "«T.Buffer((1,), strides=A)»",
    "endless axes": "«T.Buffer((1,), axis_separators=A)»",
    "pointers as arguments": "T.max(*T.handle)",
    "let as arguments": "T.max(*T.let)",
    "wide dtype": '«T.max_value("int99999999999")»',
    "wide vector": "T.Shuffle([T.broadcast(1, 4)], «[0] * 10**9»)",
    "nested calls": "T.abs(" * 60 + 'T.cast(A[0], "int32")' + ")" * 60,
    "lambda calling itself": "(lambda f: f(f))(lambda f: f(f))",
    "lambda calling itself twice": (
        "(lambda f: f(f, 40))(lambda f, n: 1 if n == 0 else f(f, n - 1) + f(f, n - 1))"
    ),
    "decorator of a function": "«T.prim_func(T.ceildiv)»",
    "decorator of a lambda": "«T.macro(lambda: 1)»",
    "decorator of a class": "«I.ir_module(T.CommReducer)»",
    "Relax decorator": "«R.function(T.ceildiv)»",
    "walrus": "(«x := 1»)",
    "yield": "(«yield 1»)",
    "complex numbers": "«1j»",
    "ellipsis": "«...»",
    "namespace by subscript": '«T["__dict__"]»',
    "item of a function": '«T.ceildiv["x"]»',
    "keywords of an object": "T.exp(**A)",
    "deep parentheses": "(" * 250 + "1" + ")" * 250,
    "file as a target": '«T.target("/etc/passwd")»',
    "file as contents": '«T.allocate_const("/etc/passwd", "int8", [1])»',
    "deep minus": "-" * 20000 + "1",
    "deep attributes": "A" + ".a" * 20000,
    "deep calls": "A" + "()" * 20000,
    "undefined name of great length": "«" + "a" * 200000 + "»",
}
"""What is stored in a buffer."""


def _doubling(first: str, following: str, use: str) -> str:
    """A value that doubles in each of 64 statements."""
    lines = [f"x0 = T.meta_var({first})"]
    for n in range(64):
        lines.append(f"x{n + 1} = T.meta_var({following.replace('x', f'x{n}')})")
    return "\n".join([*lines, use.replace("x", "x64")])


BODIES = {
    "doubled expression": _doubling("A[0]", "x + x", "A[0] = x"),
    "doubled list": _doubling("[1]", "[x, x]", 'T.evaluate(f"{x}")'),
    "doubled sum of lists": _doubling("[1]", "x + x", "A[0] = x[0]"),
    "doubled string": _doubling('"a"', "x + x", "A[0] = x"),
    "squared number": _doubling("3", "x * x", "A[0] = x"),
    "doubled dictionary": _doubling("{1: 2}", '{"a": x, "b": x}', "T.evaluate(x == x)"),
    "doubled lambda": _doubling("lambda: 1", "lambda: x() + x()", "A[0] = x()"),
    "tripled inside": _doubling("A[0] > 0.0", "T.if_then_else(x, x, x)", "T.evaluate(x)"),
    "loop over a list": "for i in «[1, 2]»:\n    pass",
    "endless loop": "while «True»:\n    pass",
    "loop over a buffer": "for i in «A»:\n    pass",
    "buffer taken apart": "«a, *b» = T.meta_var(T.Buffer)",
    "import in a body": "«import os»",
    "import from in a body": "«from os import system»",
    "global": "«global os»",
    "delete": "«del A»",
    "class in a body": "«class C:»\n    pass",
    "function in a body": "«def f():»\n    pass",
    "try": "«try:»\n    pass\nfinally:\n    pass",
    "match": "«match A:»\n    case _:\n        pass",
    "assigned attribute": "«A.name» = 1",
    "assigned namespace": "«T.int32» = 1",
    "item of a namespace": '«T["int32"]» = 1',
    "default of a macro": "«open»",
    "context": 'with «open»("PWNED", "w"):\n    pass',
    "condition": 'if «open»("PWNED"):\n    pass',
    "assert": 'assert «open»("PWNED"), "x"',
    "annotation": 'x: «open»("PWNED", "w") = 1',
    "return": "return «eval»",
}
"""Statements of a function."""

TEXTS = {
    "decorator": '@«open»("PWNED", "w")\ndef f():\n    pass\n',
    "default value": (
        '@T.prim_func\ndef f(a: T.int32 = «open("PWNED", "w")»):\n    pass\n'
    ),
    "default value of a macro": (
        '@T.macro\ndef m(a=«open»("PWNED", "w")):\n    pass\n'
        "@T.prim_func\ndef f():\n    m()\n"
    ),
    "annotation": '@T.prim_func\ndef f(a: «open»("PWNED", "w")):\n    pass\n',
    "quoted annotation": "@T.prim_func\ndef f(a: «'open(1)'»):\n    pass\n",
    "deep quoted annotation": (
        "@T.prim_func\ndef f(a: «'" + "(" * 500 + "1" + ")" * 500 + "'»):\n    pass\n"
    ),
    "return annotation": '@T.prim_func\ndef f() -> «open»("PWNED"):\n    pass\n',
    "statement at the top": 'import os\n«os.system("touch PWNED")»\n',
    "assignment at the top": 'x = «open»("PWNED", "w")\n',
    "range as a list": "x = «list(range(10**12))»\n",
    "range as an argument": "x = T.max(*range(10**12))\n",
    "length of a range": "x = [0] * len(range(10**12))\n",
    "sum of a range": "x = «sum(range(10**12))»\n",
    "helper function": "def f():\n    «import os»\nx = f()\n",
    "assignment in a module": (
        '@I.ir_module\nclass M:\n    x = «__import__»("os").system("touch PWNED")\n'
    ),
    "expression in a module": '@I.ir_module\nclass M:\n    «open»("PWNED", "w")\n',
    "attribute of the module": (
        "@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n"
        "        T.evaluate(«M.__init__»)\n"
    ),
    "attributes of a function": (
        '@T.prim_func\ndef f():\n    T.func_attr({"x": «open»("PWNED", "w")})\n'
    ),
    "import as a namespace": "from os import system as T\n«T»\n",
    "macro calling itself": (
        "@T.macro\ndef m():\n    m()\n@T.prim_func\ndef f():\n    m()\n"
    ),
    "macro calling itself twice": (
        "@T.macro\ndef m(n):\n    if n > 0:\n        m(n - 1)\n        m(n - 1)\n"
        "@T.prim_func\ndef f():\n    m(40)\n"
    ),
    "many macros": "".join(
        f"@T.macro\ndef m{n}():\n    {f'm{n - 1}()' if n else 'pass'}\n"
        f"    {f'm{n - 1}()' if n else 'pass'}\n"
        for n in range(30)
    )
    + "@T.prim_func\ndef f():\n    m29()\n",
    "doubled names": "x0 = [1]\n"
    + "".join(f"x{n + 1} = [x{n}, x{n}]\n" for n in range(64))
    + "@T.prim_func\ndef f():\n    T.evaluate(x64)\n",
    "Relax value": (
        "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return «x.ssa»\n"
    ),
    "Relax value by its class": (
        "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return «x.__class__»\n"
    ),
    "Relax call": '@R.function\ndef f():\n    return R.const(«open»("PWNED", "w"))\n',
    "Relax namespace": "@R.function\ndef f():\n    return «R.nn._find»\n",
    "Relax rank": "@R.function\ndef f(x: «R.Tensor(ndim=10**9)»):\n    return x\n",
    "Relax sections": (
        "@R.function\ndef f(x: R.Tensor((1000000000,), 'float32')):\n"
        "    y = R.split(x, 1000000000)\n    return y\n"
    ),
    "doubled tuples": (
        "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    y0 = (x, x)\n"
        + "".join(f"    y{n + 1} = (y{n}, y{n})\n" for n in range(64))
        + "    return y64\n"
    ),
    "doubled annotations": (
        "x0 = R.Tuple(R.Object, R.Object)\n"
        + "".join(f"x{n + 1} = R.Tuple(x{n}, x{n})\n" for n in range(64))
        + "@R.function\ndef f(x: x64):\n    return x\n"
    ),
    "doubled function types": (
        "x0 = R.Callable((R.Object,), R.Object, True)\n"
        + "".join(f"x{n + 1} = R.Callable((x{n},), x{n}, True)\n" for n in range(64))
        + "@R.function\ndef f(x: x64):\n    return x\n"
    ),
    "multiplied dimensions": (
        "@R.function\ndef f(x: R.Tensor(("
        + ", ".join(f'"n{i}"' for i in range(40))
        + '), "float32"), y: R.Tensor(("'
        + " * ".join(f"(n{i} + n{i + 1})" for i in range(39))
        + '",), "float32")):\n    return x\n'
    ),
    "flattened dimensions": (
        "@R.function\ndef f(x: R.Tensor(("
        + ", ".join(f'"n{i}"' for i in range(40))
        + '), "float32"), y: R.Tensor(('
        + ", ".join(f'"n{i} + n{i + 1}"' for i in range(39))
        + '), "float32")):\n    z = R.flatten(y)\n    return z\n'
    ),
    "null byte": "x = 1\0",
    "no Python": "x = «=» open",
}
"""Whole texts."""

_HEADER = '@T.prim_func\ndef main(A: T.Buffer((4,), "float32")):\n'


def marked() -> Iterator[tuple[str, str]]:
    """The texts with their marks, by their names."""
    for name, expression in EXPRESSIONS.items():
        yield f"expression: {name}", f"{_HEADER}    A[0] = {expression}\n"
    for name, body in BODIES.items():
        yield f"body: {name}", _HEADER + textwrap.indent(body, "    ") + "\n"
    for name, text in TEXTS.items():
        yield f"text: {name}", text


def place(text: str) -> tuple[str, int | None, int | None]:
    """A text without its mark, and the line and column of the mark."""
    start = text.find("«")
    plain = text.replace("«", "").replace("»", "")
    if start < 0:
        return plain, None, None
    line = plain.count("\n", 0, start) + 1
    return plain, line, start - (plain.rfind("\n", 0, start) + 1) + 1


def main() -> None:
    """Reads every text under an audit of what Python runs."""
    from xdsl_tvm.tvmscript import ScriptError, parse

    # Loads what is loaded late.
    parse(f"{_HEADER}    A[0] = T.exp(A[0])\n")
    parse("@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return R.nn.relu(x)\n")
    watched = ("exec", "import", "open", "os.", "subprocess.", "socket.", "shutil.")
    events: list[str] = []

    def audit(event: str, args: tuple[object, ...]) -> None:
        # Of a syntax error Python itself looks for the text in a file of no name.
        is_own = event == "open" and args[0] == "<unknown>"
        if event.startswith(watched) and not is_own:
            events.append(f"{event} {args!r}"[:200])

    sys.addaudithook(audit)
    for name, text in marked():
        plain, line, column = place(text)
        del events[:]
        try:
            parse(plain, file="hostile.py")
        except ScriptError as error:
            found = {"line": error.line, "column": error.column, "error": error.message}
        except BaseException as error:
            found = {"crash": f"{type(error).__name__}: {error}"[:500]}
        else:
            found = {"crash": "it was read"}
        expected = {"expected": [line, column], "events": list(events)}
        print(json.dumps({"name": name, **expected, **found}), flush=True)


if __name__ == "__main__":
    main()
