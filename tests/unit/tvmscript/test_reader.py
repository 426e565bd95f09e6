"""What scripts mean: forms that TVM has shorter words for equal their long forms."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from support.live_scripts import import_text
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.module import global_infos, module_attributes
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.tvmscript import ScriptError, parse, parse_nodes
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st

SIGNATURE = """\
A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "int32"), n: T.int32, m: T.int64"""


def body(text: str) -> str:
    """A function with this body."""
    return (
        f"@T.prim_func\ndef main({SIGNATURE}):\n" + textwrap.indent(text, "    ") + "\n"
    )


def stmts(text: str, **env: object) -> list[st.Stmt]:
    """The statements of a body."""
    return parse_nodes(body(text), env).functions["main"].body


def assert_same(left: str, right: str, **env: object) -> None:
    """Two texts mean the same program."""
    assert_structural_equal(parse(left, env), parse(right, env))


SAME = {
    # Python decides what Python knows.
    "static if": ("if True:\n    B[0] = 1\nelse:\n    B[0] = 2", "B[0] = 1"),
    "static else": (
        "if len('ab') == 3:\n    B[0] = 1\nelif n < 3:\n    B[0] = 2",
        "if n < 3:\n    B[0] = 2",
    ),
    "no branch": ("B[0] = 1\nif False:\n    B[0] = 2", "B[0] = 1"),
    "ternary": ("B[0] = 1 if 2 > 1 else 3", "B[0] = 1"),
    "folded numbers": ("B[0] = 7 // 2 + 2 ** 3 - ~1", "B[0] = 13"),
    "logic of numbers": ("B[0] = (0 or 3) + (2 and 4) + (not 0)", "B[0] = 8"),
    "comparison of numbers": ("B[0] = (1 in (1, 2)) + (3 is not None)", "B[0] = 2"),
    "f-string": (
        'T.evaluate(T.call_extern("int32", f"f_{1 + 1}_{3.14159:.2f}_{\'x\'!r}", n))',
        'T.evaluate(T.call_extern("int32", "f_2_3.14_\'x\'", n))',
    ),
    "starred arguments": ("B[T.max(*[n, 3])] = 1", "B[T.max(n, 3)] = 1"),
    "starred indices": ("A[*(1, n),] = 1.0", "A[1, n] = 1.0"),
    "double starred": (
        'for i in range(**{"start": 2}, stop=n):\n    B[i] = 1',
        "for i in range(2, n):\n    B[i] = 1",
    ),
    "dictionary": ('B[0] = {"a": n, **{"b": 3}}["a"]', "B[0] = n"),
    "set": ("B[0] = len({1, 1, 2})", "B[0] = 2"),
    "lambda": ("B[(lambda i, j=2: n + i * j)(3)] = 1", "B[n + 6] = 1"),
    "list of a slice": ("B[0] = [1, 2, 3][0:2][1]", "B[0] = 2"),
    "meta variable": ("x = T.meta_var(n + 1)\nB[x] = x", "B[n + 1] = n + 1"),
    "docstring": ('"""Text."""\npass\nB[0] = 1', "B[0] = 1"),
    "no-op": ("T.evaluate(0)\nB[0] = 1\nT.evaluate(0)", "B[0] = 1"),
    # Operators.
    "number on the left": ("B[0] = 3 - n", "B[0] = T.Sub(3, n)"),
    "promotion": ("B[0] = m + n", "B[0] = T.Cast('int32', m + T.Cast('int64', n))"),
    "unary minus": ("B[0] = -n", "B[0] = n * -1"),
    "bits": (
        "B[0] = n << 1 & 3 | n >> 2 ^ ~n",
        "B[0] = T.bitwise_or(T.bitwise_and(T.shift_left(n, 1), 3), "
        "T.bitwise_xor(T.shift_right(n, 2), T.bitwise_not(n)))",
    ),
    "comparison with a number": ("assert m < 3, 'x'", "assert m < T.int64(3), 'x'"),
    "number first": ("assert 3 < m, 'x'", "assert T.LT(T.int64(3), m), 'x'"),
    "float comparison": ("assert A[0, 0] > 1, 'x'", "assert A[0, 0] > T.float32(1), 'x'"),
    "and": (
        "assert n < 3 and True and n > 1, 'x'",
        "assert T.And(T.And(n < 3, T.bool(True)), n > 1), 'x'",
    ),
    "or not": (
        "assert not n < 3 or n > 1, 'x'",
        "assert T.Or(T.Not(n < 3), n > 1), 'x'",
    ),
    "vector logic": (
        "B[0:4] = T.Select(B[0:4] < 3 and B[4:8] > 2, B[0:4], B[4:8])",
        "B[0:4] = T.Select(T.bitwise_and(B[0:4] < 3, B[4:8] > 2), B[0:4], B[4:8])",
    ),
    # Slices.
    "slices as vectors": (
        "B[0:4] = B[4:8] + T.max(B[n:n + 4], 3)",
        "B[T.Ramp(0, 1, 4)] = B[T.Ramp(4, 1, 4)] + T.max(B[T.Ramp(n, 1, 4)], 3)",
    ),
    "slices with steps": ("B[0:4] = B[0:7:2]", "B[T.Ramp(0, 1, 4)] = B[T.Ramp(0, 2, 4)]"),
    "slice of one": ("A[n, 0:1] = A[n, 1:2]", "A[n, 0] = A[n, 1]"),
    "augmented slice": ("B[0:4] *= 2", "B[0:4] = B[0:4] * 2"),
    # Assignments.
    "augmented store": ("A[n, 2] += 1.0", "A[n, 2] = A[n, 2] + 1.0"),
    "converted store": ("B[0] = A[0, 0]", "B[0] = T.Cast('int32', A[0, 0])"),
    "let": (
        "x = n + 1\nB[0] = x",
        "with T.LetStmt(n + 1) as x:\n    B[0] = x",
    ),
    "let of a number": (
        "x = 3\nB[0] = x",
        "with T.LetStmt(T.int32(3)) as x:\n    B[0] = x",
    ),
    "let of a variable": ("x = n\nB[0] = x", "with T.LetStmt(n) as x:\n    B[0] = x"),
    "annotated let": ("x: T.int32 = n + 1\nB[0] = x", "x = n + 1\nB[0] = x"),
    "tuple": (
        "x, y = n, n + 1\nB[x] = y",
        "x = n\ny = n + 1\nB[x] = y",
    ),
    "nested targets": (
        "(x, [y, z]) = n, (1, n)\nB[x] = y + z",
        "x, y, z = n, 1, n\nB[x] = y + z",
    ),
    "starred target": ("x, *y = n, n, n\nB[x] = y[0]", "x = n\ny = [n, n]\nB[x] = n"),
    "alias of a buffer": ("C = B\nC[0] = 1", "B[0] = 1"),
    "shadowed in a body": (
        "x = n\nfor i in range(4):\n    x = n + i\n    B[0] = x",
        "x = n\nfor i in range(4):\n    y = n + i\n    B[0] = y",
    ),
    "names end with bodies": (
        "for i in range(4):\n    x = n\n    B[i] = x\nfor i in range(4):\n    x = n + 1\n"
        "    B[i] = x",
        "for i in range(4):\n    x = n\n    B[i] = x\nfor j in range(4):\n    y = n + 1\n"
        "    B[j] = y",
    ),
    # Loops.
    "range": (
        "for i in range(2, 6):\n    B[i] = 1",
        "for i in T.serial(2, 6):\n    B[i] = 1",
    ),
    "grid": (
        "for i, j in T.grid(4, n):\n    A[i, j] = 1.0",
        "for i in range(4):\n    for j in range(n):\n        A[i, j] = 1.0",
    ),
    "grid of one": (
        "for i in T.grid(4):\n    B[i] = 1",
        "for i in range(4):\n    B[i] = 1",
    ),
    "grid in one name": (
        "for ij in T.grid(4, 5):\n    A[ij[0], ij[1]] = 1.0",
        "for i, j in T.grid(4, 5):\n    A[i, j] = 1.0",
    ),
    "grid with a rest": (
        "for i, *r in T.grid(4, 5, 6):\n    A[i, r[0] + r[1]] = 1.0",
        "for i, j, k in T.grid(4, 5, 6):\n    A[i, j + k] = 1.0",
    ),
    "elif": (
        "if n < 1:\n    B[0] = 1\nelif n < 2:\n    B[0] = 2\nelse:\n    B[0] = 3",
        "if n < 1:\n    B[0] = 1\nelse:\n    if n < 2:\n        B[0] = 2\n    else:\n"
        "        B[0] = 3",
    ),
    # Frames that stay open.
    "attribute": (
        'T.attr(0, "pragma_x", n)\nB[0] = 1',
        'with T.attr(0, "pragma_x", n):\n    B[0] = 1',
    ),
    "launch": (
        'tx = T.launch_thread("threadIdx.x", 16)\nB[tx] = 1',
        'with T.launch_thread("threadIdx.x", 16) as tx:\n    B[tx] = 1',
    ),
    "frames end with bodies": (
        'if n < 3:\n    T.attr(0, "x", 1)\n    B[0] = 1\nB[1] = 2',
        'if n < 3:\n    with T.attr(0, "x", 1):\n        B[0] = 1\nB[1] = 2',
    ),
    "frames of a static branch stay": (
        'if True:\n    T.attr(0, "x", 1)\nB[1] = 2',
        'with T.attr(0, "x", 1):\n    B[1] = 2',
    ),
    "several frames": (
        'with T.launch_thread("blockIdx.x", 4) as b, T.attr(b, "x", 1):\n    B[b] = 1',
        'b = T.launch_thread("blockIdx.x", 4)\nT.attr(b, "x", 1)\nB[b] = 1',
    ),
    "allocate": (
        'p = T.allocate([4], "int32", "local")\nC = T.decl_buffer((4,), "int32", data=p, '
        'scope="local")\nC[0] = 1',
        'with T.allocate([4], "int32", "local") as p:\n'
        '    with T.decl_buffer((4,), "int32", data=p, scope="local") as C:\n'
        "        C[0] = 1",
    ),
    "assert": ("assert n < 3, 'x'\nB[0] = 1", "with T.Assert(n < 3, 'x'):\n    B[0] = 1"),
    "environment thread": (
        'tx = T.env_thread("threadIdx.x")\nwith T.launch_thread(tx, 16):\n    B[tx] = 1',
        'tx = T.launch_thread("threadIdx.x", 16)\nB[tx] = 1',
    ),
    # Blocks.
    "remap": (
        "for i, j in T.grid(16, 8):\n    with T.block('b'):\n"
        "        vi, vj = T.axis.remap('SR', [i, j])\n        A[vi, vj] = 1.0",
        "for i, j in T.grid(16, 8):\n    with T.block('b'):\n"
        "        vi = T.axis.spatial(16, i)\n        vj = T.axis.reduce((0, 8), j)\n"
        "        A[vi, vj] = 1.0",
    ),
    "short axes": (
        "for i in range(16):\n    with T.block():\n        vi = T.axis.S(16, i)\n"
        "        B[vi] = 1",
        "for i in range(16):\n    with T.block():\n        vi = T.axis.remap('S', [i])\n"
        "        B[vi] = 1",
    ),
    "newer blocks": (
        "with T.sblock('b'):\n    T.sblock_attr({'a': 1})\n"
        "    C = T.sblock_alloc_buffer((4,))",
        "with T.block('b'):\n    T.block_attr({'a': 1})\n    C = T.alloc_buffer((4,))",
    ),
    "evaluated store": (
        "T.buffer_store(B, n, [3])\nB.vstore([0], T.Broadcast(n, 4))",
        "B[3] = n\nB[0:4] = T.Broadcast(n, 4)",
    ),
    "store at a vector": (
        "B.vstore([T.Ramp(0, 1, 4)], T.Broadcast(n, 4))",
        "B[0:4] = T.Broadcast(n, 4)",
    ),
    "return": ("return n", "T.evaluate(T.ret(n))"),
    "returned call": ("return n", "T.ret(n)"),
}


@pytest.mark.parametrize(("short", "long"), SAME.values(), ids=SAME)
def test_same(short: str, long: str) -> None:
    assert_same(body(short), body(long))


# ---- names and values of Python ----


def test_names_of_the_caller() -> None:
    def doubled(index: ex.Expr) -> ex.Expr:
        return index + index

    # Inside of Python functions everything is Python, comprehensions too.
    def offsets(index: ex.Expr) -> list[ex.Expr]:
        return [index + step for step in range(3)]

    short = "for i in range(N):\n    B[doubled(i)] = offsets(i)[K] + table[1]"
    long = "for i in range(5):\n    B[i + i] = i + 2 + 4"
    env = {"N": 5, "K": 2, "doubled": doubled, "offsets": offsets, "table": (3, 4)}
    assert_structural_equal(parse(body(short), env), parse(body(long)))


def test_numpy_values() -> None:
    env = {"size": np.int64(5), "data": np.arange(4, dtype="int32")}
    (constant, store) = stmts(
        "p = T.allocate_const(data, 'int32', [4])\nB[0] = size", **env
    )
    assert isinstance(constant, st.AllocateConst)
    assert constant.data.tolist() == [0, 1, 2, 3]
    assert isinstance(store, st.BufferStore)
    assert ex.literal(store.value) == 5


def test_names_of_a_text() -> None:
    text = (
        '"""Text."""\nimport numpy as np\nfrom tvm.script import tir as TT, ir\n'
        "from tvm import te\nimport tvm as tt\nN = 4 * 4\n"
        "@TT.macro\ndef zero(A, i):\n    A[i] = 0\n"
        "@tt.script.tir.prim_func\ndef main(A: T.Buffer((N,), 'int32')):\n"
        "    for i in range(N):\n        zero(A, i)\n"
    )
    plain = (
        "@T.prim_func\ndef main(A: T.Buffer((16,), 'int32')):\n"
        "    for i in range(16):\n        A[i] = 0\n"
    )
    assert_same(text, plain)


def test_undecorated_functions_are_functions() -> None:
    functions = parse_nodes("def before(n: T.int32):\n    T.evaluate(n)\n").functions
    assert [(f.name, f.private) for f in functions.values()] == [("before", False)]


def test_undecorated_classes_are_modules() -> None:
    text = (
        "class Test(Base):\n    def before(n: T.int32):\n        T.evaluate(n)\n"
        "    def expected():\n        T.evaluate(1)\n"
    )
    assert list(parse_nodes(text).functions) == ["before", "expected"]


def test_indented_text() -> None:
    assert_same(textwrap.indent(body("B[0] = 1"), "        "), body("B[0] = 1"))


def test_both_branches_of_a_ternary_are_evaluated() -> None:
    with pytest.raises(ScriptError, match="undefined variable 'missing'"):
        parse(body("B[0] = 1 if True else missing"))


def test_operands_of_logic_are_all_evaluated() -> None:
    with pytest.raises(ScriptError, match="undefined variable 'missing'"):
        parse(body("B[0] = 1 or missing"))


def test_long_sums_and_chains() -> None:
    terms = " + ".join(["n"] * 2000)
    chain = "if n < 0:\n    B[0] = 0\n" + "".join(
        f"elif n < {i}:\n    B[0] = {i}\n" for i in range(1, 60)
    )
    store, branch = stmts(f"B[0] = {terms}\n{chain}")
    assert isinstance(store, st.BufferStore)
    assert isinstance(branch, st.If)


# ---- names of nodes ----


def test_names() -> None:
    (loop,) = stmts(
        "for i in T.serial(4):\n"
        "    k = T.int32()\n"
        "    p = T.allocate([4], 'int32')\n"
        "    C = T.decl_buffer((4,), 'int32', data=p)\n"
        "    x = n + 1\n"
        "    C[i] = x"
    )
    assert isinstance(loop, st.For)
    assert loop.var.name == "i"
    allocate, declare, let, store = loop.body
    assert isinstance(allocate, st.Allocate)
    assert allocate.var.name == "p"
    assert isinstance(declare, st.DeclBuffer)
    assert declare.buffer.name == "C"
    assert isinstance(let, st.LetStmt)
    assert let.var.name == "x"
    assert isinstance(store, st.BufferStore)
    assert store.value is let.var


def test_elements_of_a_tuple_are_bound_but_its_name_keeps_them() -> None:
    first, second, store = stmts("x = [n + 1, 2]\nB[x[0]] = x[1]")
    assert isinstance(first, st.LetStmt)
    assert isinstance(second, st.LetStmt)
    assert [let.var.name for let in (first, second)] == ["x_0", "x_1"]
    assert isinstance(store, st.BufferStore)
    assert store.indices == (first.value,)
    assert ex.literal(store.value) == 2


def test_positions() -> None:
    (loop,) = stmts("for i in range(4):\n    B[i] = n")
    assert (loop.line, loop.column) == (3, 4)
    assert isinstance(loop, st.For)
    assert [(stmt.line, stmt.column) for stmt in loop.body] == [(4, 8)]


# ---- signatures ----


def function(text: str) -> st.PrimFunc:
    (found,) = parse_nodes(text).functions.values()
    return found


def test_parameters() -> None:
    found = function(
        "@T.prim_func(private=True)\n"
        "def main(A: T.Buffer((4, 4)), h: T.handle, p: T.handle('float32', 'shared'),\n"
        "         x: T.float16, q: T.Ptr[T.int8], b: T.bool, C: T.Buffer[(8,), 'int8'],\n"
        "         y: 'T.uint8', D: T.Buffer(16)) -> T.int32:\n"
        "    return 1\n"
    )
    names = ["A_handle", "h", "p", "x", "q", "b", "C_handle", "y", "D_handle"]
    assert [param.name for param in found.params] == names
    assert [param.dtype for param in found.params][3] == "float16"
    assert [str(param.type) for param in found.params][2] == '!tir.ptr<f32, "shared">'
    assert [buffer.name for buffer in found.buffer_map.values()] == ["A", "C", "D"]
    assert found.private
    assert found.ret_type == i32


@pytest.mark.parametrize("annotation", ["None", "T.void", "'T.void'", "T.void()"])
def test_functions_without_result(annotation: str) -> None:
    if annotation == "T.void()":
        with pytest.raises(ScriptError, match="there are no values of dtype void"):
            function(f"def main() -> {annotation}:\n    pass\n")
        return
    if annotation.startswith("'"):
        with pytest.raises(ScriptError, match="returns None or a dtype"):
            function(f"def main() -> {annotation}:\n    pass\n")
        return
    assert function(f"def main() -> {annotation}:\n    pass\n").ret_type is None


def test_symbolic_extents() -> None:
    assert_same(
        'def main(A: T.Buffer(("n", 4)), B: T.Buffer((4, "n"))):\n'
        "    for i in range(n):\n        A[i, 0] = B[0, i]\n",
        "def main(a: T.handle, b: T.handle):\n"
        "    n = T.int32()\n"
        "    A = T.match_buffer(a, (n, 4))\n    B = T.match_buffer(b, (4, n))\n"
        "    for i in range(n):\n        A[i, 0] = B[0, i]\n",
    )


def test_symbolic_extents_that_are_parameters() -> None:
    found = function(
        'def main(n: T.int64, A: T.Buffer(("n", 4))):\n    A[n - 1, 0] = 1.0\n'
    )
    assert next(iter(found.buffer_map.values())).shape[0] is found.params[0]


def test_function_attributes() -> None:
    module = parse(
        "def main():\n"
        '    T.func_attr({"a": [1, 2.5, "x"], "b": {"c": T.int64(3)}})\n'
        '    T.func_attr({"global_symbol": "renamed"})\n'
    )
    (found,) = module.ops
    assert isinstance(found, tir.FuncOp)
    assert str(found.attributes["global_symbol"]) == '"renamed"'
    assert str(found.attributes["b"]) == "{c = 3 : i64}"


# ---- macros ----


@pytest.mark.parametrize(
    ("decorator", "expected"), [("T.macro", 1), ("T.macro(hygienic=False)", 2)]
)
def test_free_names_of_macros(decorator: str, expected: int) -> None:
    (store,) = (
        parse_nodes(
            f"x = 1\n@{decorator}\ndef store(B, i, *more, last=5):\n    B[i] = x\n"
            "@T.prim_func\ndef main(B: T.Buffer((4,), 'int32')):\n"
            "    x = T.meta_var(2)\n    store(B, 0, 1)\n"
        )
        .functions["main"]
        .body
    )
    assert isinstance(store, st.BufferStore)
    assert ex.literal(store.value) == expected


def test_names_in_macros_are_their_own() -> None:
    assert_same(
        "@T.macro\ndef m(B, x):\n    y = x + 1\n    B[y] = 1\n"
        "def main(B: T.Buffer((4,), 'int32'), n: T.int32):\n"
        "    y = n\n    m(B, y)\n    m(B, x=n)\n",
        "def main(B: T.Buffer((4,), 'int32'), n: T.int32):\n"
        "    y = n\n    y1 = y + 1\n    B[y1] = 1\n    y2 = n + 1\n    B[y2] = 1\n",
    )


# ---- modules ----

MODULE = """\
@I.ir_module
class Mod:
    I.module_attrs({"tir.answer": 42})
    I.module_global_infos(
        {"vdevice": [I.vdevice("cuda", 1)], "x": [I.dummy_global_info()]}
    )

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = Mod.twice(A[i])
        Mod.last(A.data)

    @T.prim_func(private=True)
    def twice(x: T.int32) -> T.int32:
        return x * 2

    @T.prim_func
    def last(p: T.handle("int32")):
        A = T.Buffer((4,), "int32", data=p)
        A[3] = 0
"""


def test_module() -> None:
    module = parse(MODULE)
    module.verify()
    functions = [op for op in module.ops if isinstance(op, tir.FuncOp)]
    assert [f.sym_name.data for f in functions] == ["main", "twice", "last"]
    assert ["global_symbol" in f.attributes for f in functions] == [True, False, True]
    calls = [op for op in module.walk() if isinstance(op, tir.CallFuncOp)]
    assert [str(call.callee) for call in calls] == ["@twice", "@last"]
    assert module_attributes(module) == {"tir.answer": IntegerAttr(42, i32)}
    assert list(global_infos(module)) == ["vdevice", "x"]


def test_module_runs() -> None:
    array = np.array([1, 2, 3, 4], dtype=np.int32)
    interpret(parse(MODULE))["main"](array)
    assert array.tolist() == [2, 4, 6, 0]


@pytest.mark.parametrize("where", ["function", "module"])
def test_unchecked_functions(where: str) -> None:
    """The loop variable is used inside of a block that has iteration variables."""
    text = (
        "@I.ir_module{}\nclass M:\n    @T.prim_func{}\n"
        "    def main(B: T.Buffer((4,), 'int32')):\n        for i in range(4):\n"
        "            with T.block('b'):\n                v = T.axis.spatial(4, i)\n"
        "                B[v] = i\n"
    )
    with pytest.raises(ScriptError, match="'main' is not well-formed"):
        parse(text.format("", ""))
    option = "(check_well_formed=False)"
    parse(text.format("", option) if where == "function" else text.format(option, ""))


# ---- live definitions ----

LIVE = """\
from functools import partial

N = 8

def make(scale, shape):
    dtype = "int32"

    @T.macro
    def store(A, i):
        A[i] = A[i] * scale

    @T.prim_func
    def main(A: T.Buffer((shape,), dtype)):
        for i in range(shape):
            store(A, i)
    return main

first = make(3, N)

@T.prim_func(private=True)
def second(x: T.int32) -> T.int32:
    return x + N

@I.ir_module
class Mod:
    taken = first

    @T.prim_func
    def main(A: T.Buffer((N,), "int32"), h: T.handle):
        Mod.taken(h)
        for i in range(N):
            A[i] = Mod.added(A[i])

    added = second

@I.ir_module(check_well_formed=False)
class Other:
    @T.prim_func
    def main(A: T.Buffer((N,), "int32")):
        A[0] = N

def undecorated(A: T.Buffer((N,), "int32")):
    A[0] = N

class Plain:
    def main(A: T.Buffer((N,), "int32")):
        A[0] = N
"""


def test_live_definitions(tmp_path: Path) -> None:
    live = import_text(tmp_path, LIVE)
    assert isinstance(live.first, tir.FuncOp)
    assert live.first.parent is None
    assert isinstance(live.second, tir.FuncOp)
    assert live.second.sym_name.data == "second"
    assert isinstance(live.Mod, ModuleOp)
    names = {op.sym_name.data for op in live.Mod.ops if isinstance(op, tir.FuncOp)}
    assert names == {"main", "taken", "added"}
    text = (
        "def main(A: T.Buffer((8,), 'int32')):\n    for i in range(8):\n"
        "        A[i] = A[i] * 3\n"
    )
    assert_structural_equal(ModuleOp([live.first.clone()]), parse(text))
    array = np.arange(8, dtype=np.int32)
    interpret(ModuleOp([live.first.clone()]))["main"](array)
    assert array.tolist() == [0, 3, 6, 9, 12, 15, 18, 21]


def test_live_definitions_that_are_not_decorated(tmp_path: Path) -> None:
    live = import_text(tmp_path, LIVE)
    text = "def {}(A: T.Buffer((8,), 'int32')):\n    A[0] = 8\n"
    assert_structural_equal(parse(live.undecorated), parse(text.format("undecorated")))
    assert_structural_equal(parse(live.Plain), parse(text.format("main")))
    assert_structural_equal(live.Other, parse(text.format("main")))
    changed = parse(live.undecorated, {"N": 9})
    with pytest.raises(AssertionError):
        assert_structural_equal(changed, parse(text.format("undecorated")))


def test_live_symbolic_extents(tmp_path: Path) -> None:
    text = (
        "def main(A: T.Buffer(('n', 4)), B: T.Buffer((4, 'n'))):\n"
        "    for i in range(n):\n        A[i, 0] = B[0, i]\n"
    )
    live = import_text(tmp_path, f"@T.prim_func\n{text}")
    assert_structural_equal(ModuleOp([live.main]), parse(text))


def test_definitions_of_one_name(tmp_path: Path) -> None:
    live = import_text(
        tmp_path,
        "def make(first):\n"
        "    if first:\n"
        "        @I.ir_module\n"
        "        class M:\n"
        "            @T.prim_func\n"
        "            def main():\n                T.evaluate(T.int32(1) + 1)\n"
        "    else:\n"
        "        @I.ir_module\n"
        "        class M:\n"
        "            @T.prim_func\n"
        "            def main():\n                T.evaluate(T.int32(2) + 2)\n"
        "    return M\n"
        "class Late:\n"
        "    @T.prim_func\n"
        "    def main():\n        T.evaluate(4)\n"
        "@I.ir_module\nclass Empty:\n    pass\n"
        "@I.ir_module\nclass Empty:\n    I.module_attrs({'tir.a': 1})\n",
    )
    for first, value in ((True, 2), (False, 4)):
        plain = parse(f"def main():\n    T.evaluate({value})\n")
        assert_structural_equal(live.make(first), plain)
    assert "tir.a" in module_attributes(live.Empty)


def test_tvm_namespaces_are_ours(tmp_path: Path) -> None:
    """A file that imports TVM's namespaces, here modules of these names."""
    text = (
        "import types\n"
        "T = types.ModuleType('tvm.script.parser.tir')\n"
        "tvm = types.ModuleType('tvm')\n"
        "def main(n: 'T.int32'):\n    T.evaluate(n + tvm.tir.int32(1))\n"
    )
    live = import_text(tmp_path, text)
    assert_structural_equal(
        parse(live.main), parse("def main(n: T.int32):\n    T.evaluate(n + 1)\n")
    )


def test_unknown_annotations_are_those_of_python(tmp_path: Path) -> None:
    """Python has evaluated names that are not visible any more."""
    text = (
        "def make():\n    def inner():\n        hidden = T.Buffer((4,), 'int32')\n"
        "        def main(A: hidden):\n            A[0] = 1\n        return main\n"
        "    return inner()\nmain = make()\n"
    )
    live = import_text(tmp_path, text)
    plain = parse("def main(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n")
    assert_structural_equal(parse(live.main), plain)
    assert_structural_equal(parse(live.main), plain)


def test_macros_are_for_scripts(tmp_path: Path) -> None:
    live = import_text(tmp_path, "@T.macro\ndef m():\n    pass\n")
    with pytest.raises(TypeError, match="the macro m can be called in scripts only"):
        live.m()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T.prim_func(3)", "T.prim_func decorates a function, not a int"),
        ("T.macro(3)", "T.macro decorates a function"),
        ("I.ir_module(len)", "I.ir_module decorates a class"),
    ],
)
def test_decorated_values(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        import_text(tmp_path, text)
