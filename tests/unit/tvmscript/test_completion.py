"""What scripts leave out of functions: root blocks, and the regions of blocks."""

from __future__ import annotations

import textwrap

import pytest

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.tvmscript import ScriptError, parse, parse_nodes
from xdsl_tvm.tvmscript.nodes import statements as st

SIGNATURE = """\
A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "int32"),
         C: T.Buffer((64,), "int32"), n: T.int32"""


def function(text: str) -> str:
    """A function with this body."""
    inner = textwrap.indent(text, "    ")
    return f"@T.prim_func\ndef main({SIGNATURE}):\n{inner}\n"


def nested(text: str) -> str:
    """A block `b` with iteration variable `v`, a list of regions, and this body."""
    return (
        "for i in range(64):\n    with T.block('b'):\n        v = T.axis.spatial(64, i)\n"
        + textwrap.indent(text, "        ")
    )


def names(stmts: list[st.Stmt]) -> list[str]:
    return [s.name if isinstance(s, st.Block) else type(s).__name__ for s in stmts]


def body(text: str) -> list[st.Stmt]:
    return parse_nodes(function(text)).functions["main"].body


# ---- root blocks ----

ROOTS = {
    "no block": ("B[0] = 1", ["BufferStore"]),
    "opaque block": ("with T.block('x'):\n    B[0] = 1", ["x"]),
    "opaque block after a buffer object": (
        "D = T.Buffer((64,), 'int32', data=B.data)\nwith T.block('x'):\n    D[0] = 1",
        ["x"],
    ),
    "explicit root": ("with T.block('root'):\n    B[0] = 1", ["root"]),
    "two opaque blocks": (
        "with T.block('x'):\n    B[0] = 1\nwith T.block('y'):\n    B[1] = 1",
        ["root"],
    ),
    "block in a loop": (
        "for i in range(4):\n    with T.block('x'):\n        B[i] = 1",
        ["root"],
    ),
    "iteration variables": (
        "with T.block('x'):\n    v = T.axis.spatial(64, n)\n    B[v] = 1",
        ["root"],
    ),
    "block in a let": ("x = n + 1\nwith T.block('x'):\n    B[x] = 1", ["root"]),
    "allocation": ("D = T.alloc_buffer((4,))\nD[0] = 1.0", ["root"]),
    "allocation around an opaque block": (
        "D = T.alloc_buffer((4,))\nwith T.block('x'):\n    D[0] = 1.0",
        ["root"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), ROOTS.values(), ids=ROOTS)
def test_root(text: str, expected: list[str]) -> None:
    found = body(text)
    assert names(found) == expected
    root = found[0]
    if isinstance(root, st.Block):
        assert root.reads == []
        assert root.writes == []
        assert [b.name for b in root.alloc_buffers] == (["D"] if "alloc" in text else [])


def test_regions_of_an_outermost_block_that_are_given() -> None:
    (root,) = body("with T.block('root'):\n    T.reads(B[0:4])\n    B[0] = B[1]")
    assert isinstance(root, st.Block)
    assert [len(side or ()) for side in (root.reads, root.writes)] == [1, 0]


# ---- regions ----

REGIONS = {
    # body: the regions that it reads, and that it writes.
    "points": ("B[v] = C[v + 1] + B[v]", "C[v + 1], B[v]", "B[v]"),
    "order of first access": (
        "B[v] = T.Cast('int32', A[v, C[v]]) + C[v]",
        "A[v, C[v]], C[v]",
        "B[v]",
    ),
    "ranges of loops": (
        "for k in range(4):\n    A[v, k] = A[v, 60 - k]",
        "A[v, 57:61]",
        "A[v, 0:4]",
    ),
    "loops with a minimum": (
        "for k in range(2, 6):\n    B[k * 2 + 1] = 0",
        "",
        "B[5:12]",
    ),
    "negative steps": (
        "for k in range(4):\n    B[v - k * 2 + 9] = 0",
        "",
        "B[v + 3:v + 10]",
    ),
    "two loops": (
        "for k, j in T.grid(4, 8):\n    B[k * 8 + j] = 0",
        "",
        "B[0:32]",
    ),
    "quotients": (
        "for k in range(8):\n    B[v * 4 + k // 2] = C[k % 4] + C[8 + (v * 8 + k) // 8]",
        "C[0:v + 9]",
        "B[v * 4:v * 4 + 4]",
    ),
    "minimum": (
        "for k in range(4):\n    B[T.min(k, 2)] = C[T.max(k, 2)]",
        "C[2:4]",
        "B[0:3]",
    ),
    "wider index": (
        "for k in range(4):\n    B[T.Cast('int64', k) + T.int64(3)] = 0",
        "",
        "B[T.int64(3):T.int64(7)]",
    ),
    "box around points": ("B[v] = 0\nB[v + 7] = 1", "", "B[v:v + 8]"),
    "box around symbols": (
        "B[v] = 0\nB[n] = 1",
        "",
        "B[T.min(v, n):T.max(v, n) + 1]",
    ),
    "whole dimension": (
        "for k in range(4):\n    A[v, C[k]] = 0.0",
        "C[0:4]",
        "A[v, 0:64]",
    ),
    "loaded from what is written": (
        "B[3] = 0\nA[B[3], v] = 0.0",
        "B[3]",
        "B[3], A[0:64, v]",
    ),
    "vectors": ("B[0:4] = C[T.Ramp(v, 2, 4)]", "C[v:v + 7]", "B[0:4]"),
    "backward vectors": ("B[T.Ramp(v, -1, 4)] = T.Broadcast(0, 4)", "", "B[v - 3:v + 1]"),
    "gathered": ("B[0:4] = C[B[4:8]]", "C[0:64], B[4:8]", "B[0:4]"),
    "broadcast index": ("B[T.Broadcast(v, 2)] = T.Broadcast(0, 2)", "", "B[v]"),
    "lets": (
        "x = v * 2\nfor k in range(4):\n    y = x + k\n    B[y] = x",
        "",
        "B[v * 2:v * 2 + 4]",
    ),
    "let expression": (
        "k = T.int32()\nB[v] = T.Let(C[k], where={k: v + 1})",
        "C[v + 1]",
        "B[v]",
    ),
    "symbolic loop": ("for k in range(n):\n    B[k] = 0", "", "B[0:n]"),
    "bounds": ("for k in range(C[0]):\n    B[v] = k", "C[0]", "B[v]"),
    "threads": (
        "with T.launch_thread('threadIdx.x', 32) as tx:\n    B[tx * 2] = 0",
        "",
        "B[0:63]",
    ),
    "while": ("while B[v] < 3:\n    B[v] = B[v] + C[v]", "B[v], C[v]", "B[v]"),
    "assert": ("assert C[v] < 3, 'x'\nB[v] = 0", "C[v]", "B[v]"),
    "masked": (
        "B.vstore([0], C.vload([8], 'int32x4', predicate=T.Broadcast(C[1] < 3, 4)), "
        "predicate=T.Broadcast(C[0] < 3, 4))",
        "C[0:12]",
        "B[0:4]",
    ),
    # Conditions.
    "if": (
        "for k in range(16):\n    if k < 4:\n        B[k] = 0\n"
        "    else:\n        C[k] = 0",
        "",
        "B[0:4], C[4:16]",
    ),
    "if of a sum": (
        "for k in range(16):\n    if T.likely(v + k < 20 and k > -1):\n        B[k] = 0",
        "",
        "B[0:T.min(15, 19 - v) + 1]",
    ),
    "if with a factor": (
        "for k in range(16):\n    if not (k * 3 >= 20 or k * -2 > -6):\n        B[k] = 0",
        "",
        "B[3:7]",
    ),
    "if of an equation": (
        "for k in range(16):\n    if k * 2 == 6:\n        B[k] = 0",
        "",
        "B[3]",
    ),
    "if with a load": (
        "for k in range(16):\n    if k < C[0]:\n        B[k] = 0",
        "C[0]",
        "B[0:16]",
    ),
    "if never": (
        "for k in range(16):\n    if k < 0:\n        B[k] = 0",
        "",
        "B[0:16]",
    ),
    "choice": (
        "for k in range(16):\n    B[0] = T.if_then_else(k < 3, C[k], C[k + 16])",
        "C[0:32]",
        "B[0]",
    ),
    "lazy bounds": (
        "for k in range(16):\n    B[0] = T.if_then_else(k < 3 and 1 <= k, C[k], 0)",
        "C[1:3]",
        "B[0]",
    ),
    "eager choice": (
        "for k in range(16):\n    B[0] = T.Select(k < 3, C[k], 0)",
        "C[0:16]",
        "B[0]",
    ),
    # Buffers.
    "own buffers": (
        "D = T.alloc_buffer((64,), 'int32')\nD[v] = C[v]\nB[v] = D[v]",
        "C[v]",
        "B[v]",
    ),
    "index in an own buffer": (
        "D = T.alloc_buffer((64,), 'int32')\nD[v] = C[v]\nB[D[v]] = 0",
        "C[v]",
        "B[0:64]",
    ),
    "own memory": (
        "p = T.allocate([64], 'int32')\nD = T.decl_buffer((64,), 'int32', data=p)\n"
        "D[v] = C[v]",
        "C[v]",
        "",
    ),
    "view declared inside": (
        "D = T.decl_buffer((32, 2), 'int32', data=B.data)\nD[v, 0] = 0",
        "",
        "B[0:64]",
    ),
    "matched buffers": (
        "D = T.match_buffer(A[v, 4:12], (8,))\nfor k in range(2):\n    D[k + 1] = 0.0",
        "",
        "A[v, 5:7]",
    ),
    "access pointers": (
        "T.evaluate(T.call_extern('int32', 'f', B.access_ptr('r'), C.access_ptr('w'), "
        "A.access_ptr('rw')))",
        "B[0:64], A[0:64, 0:64]",
        "C[0:64], A[0:64, 0:64]",
    ),
    "init": (
        "with T.init():\n    B[v] = 0\nB[v] = B[v] + C[v]",
        "C[v]",
        "B[v]",
    ),
    # Blocks in it.
    "inner blocks": (
        "for k in range(4):\n    with T.block('inner'):\n"
        "        w = T.axis.reduce(64, v * 4 + k)\n        B[w] = C[w + 1]",
        "C[v * 4 + 1:v * 4 + 5]",
        "B[v * 4:v * 4 + 4]",
    ),
    "regions of inner blocks": (
        "for k in range(4):\n    with T.block('inner'):\n"
        "        w = T.axis.reduce(64, k)\n        T.reads(C[w:w + 8])\n"
        "        T.writes(A[0:w + 1, w])\n        B[w] = 0",
        "C[0:11]",
        "A[0:4, 0:4]",
    ),
    "views of inner blocks": (
        "with T.block('inner'):\n"
        "    D = T.match_buffer(B[v:v + 4], (4,), 'int32', offset_factor=1)\n"
        "    T.writes(D[1:3])\n    D[1] = 0\n    D[2] = 0",
        "",
        "B[v + 1:v + 3]",
    ),
    "where of inner blocks": (
        "with T.block('inner'):\n    T.where(C[3] < 1)\n    B[v] = 0",
        "C[3]",
        "B[v]",
    ),
}


@pytest.mark.parametrize(("text", "reads", "writes"), REGIONS.values(), ids=REGIONS)
def test_regions(text: str, reads: str, writes: str) -> None:
    short = parse(function(nested(text)))
    explicit = f"T.reads({reads})\nT.writes({writes})\n{text}"
    assert_structural_equal(short, parse(function(nested(explicit))))


def test_a_side_that_is_given_stays() -> None:
    text = "T.reads(C[0:64])\nB[v] = C[v]"
    explicit = "T.reads(C[0:64])\nT.writes(B[v])\nB[v] = C[v]"
    assert_structural_equal(
        parse(function(nested(text))), parse(function(nested(explicit)))
    )


@pytest.mark.parametrize(
    "text",
    [
        "T.evaluate(T.call_extern('int32', 'f', B.data))",
        "T.evaluate(T.call_extern('int32', 'f', T.address_of(B[v])))",
        "p = B.data\nT.evaluate(T.call_extern('int32', 'f', p))",
        "D = T.match_buffer(B[0:4], (4,), 'int32')\n"
        "T.evaluate(T.call_extern('int32', 'f', D.data))",
    ],
)
def test_pointers_need_regions(text: str) -> None:
    with pytest.raises(ScriptError, match=r"state it with T\.reads and T\.writes"):
        parse(function(nested(text)))
    parse(function(nested(f"T.reads()\nT.writes(B[0:64])\n{text}")))


def test_pointers_of_own_memory_need_none() -> None:
    text = "D = T.alloc_buffer((4,))\nT.evaluate(T.call_extern('int32', 'f', D.data))"
    parse(function(nested(text)))


def test_many_blocks_and_accesses() -> None:
    """Each statement is looked at once, however many there are."""
    stores = "\n".join(f"B[v + {k % 50}] = C[v + {k % 7}]" for k in range(300))
    blocks = "\n".join(nested("B[v] = C[v]") for _ in range(100))
    (root,) = body(nested(stores) + "\n" + blocks)
    assert isinstance(root, st.Block)
    assert len(root.body) == 101
