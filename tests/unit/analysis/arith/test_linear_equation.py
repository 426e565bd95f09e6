"""Linear forms and clip bounds: the cases, and values.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

from support.expr_trees import Symbol, equal, greatest, least, symbols
from xdsl.dialects.builtin import IntegerType, Signedness, i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.int_set import IntSet
from xdsl_tvm.analysis.arith.linear_equation import (
    detect_clip_bound,
    detect_linear_equation,
    literal_factors,
)

A, B, C = symbols(i32, i32, i32)


def linear(tree: Symbol, *variables: Symbol) -> list[str] | None:
    found = detect_linear_equation(tree.node, [v.node for v in variables])
    return None if found is None else [str(part) for part in found]


def texts(*parts: Symbol | int) -> list[str]:
    return [
        str(smart.folded(part.node)) if isinstance(part, Symbol) else str(part)
        for part in parts
    ]


# ---- spec 1.20, linear / clip ----


def test_one_variable():
    assert linear(A * 4 + B * 6 + 7, A) == texts(4, B * 6 + 7)
    assert linear(A * B + 7, A) == texts(B, 7)
    assert linear(A * 4 * (A + 1), A) is None
    assert linear(B + 7, A) == texts(0, B + 7)


def test_several_variables():
    assert linear(A * 4 + B * 6 + 7, A, B) == texts(4, 6, 7)
    assert linear(A - B * C, A, B) == texts(1, C * -1, 0)
    assert linear(A * B, A, B) is None
    assert linear(A * 3 - A * 2 - (B - A), A, B) == texts(2, -1, 0)


def test_other_nodes():
    assert linear((A + B) // 2, A) is None
    assert linear((C + B) // 2 + A, A) == texts(1, (C + B) // 2)
    assert linear(least(A, B), A) is None


def test_other_types():
    """Unsigned integers wrap, so that a difference of them is not linear."""
    ui32 = IntegerType(32, Signedness.UNSIGNED)
    (u,) = symbols(ui32)
    assert linear(7 - u, u) is None


def test_literal_factors():
    analyzer = Analyzer()
    found = literal_factors((A * 4 - B + C - A * 4).node, [A.node, B.node], analyzer)
    assert found is not None
    assert found == ({B.node: -1}, C.node)
    assert literal_factors((A * C).node, [A.node], analyzer) is None


def clip(condition: Symbol, *variables: Symbol) -> dict[Expr, IntSet] | None:
    return detect_clip_bound(condition.node, [v.node for v in variables])


def bounds(condition: Symbol, variable: Symbol) -> str:
    found = clip(condition, variable)
    assert found is not None
    return str(found[variable.node])


def test_clip_bounds():
    condition = (A < B * 6) & (A - 1 > 0)
    assert bounds(condition, A) == f"[2, {(B * 6 - 1).node}]"
    assert clip(condition, A, B) is None
    assert clip((A < 5) & (B > 2), A, B) == {
        A.node: IntSet(None, smart.const(4, i32)),
        B.node: IntSet(smart.const(3, i32), None),
    }


def test_clip_bounds_of_other_conditions():
    assert bounds(~(A > B * 6), A) == f"(-inf, {(B * 6).node}]"
    four = IntSet(smart.const(4, i32), None)
    assert clip(least(A, B) > 3, A, B) == {A.node: four, B.node: four}
    assert bounds(equal(A, B), A) == f"[{B.node}, {B.node}]"
    low = greatest(B + 1, 4)
    assert bounds((A > B) & (A > 3) & (A < 9), A) == f"[{low.node}, 8]"


def test_no_clip_bounds():
    assert clip(A * 2 < 5 * B, A) is None
    assert clip((A < 5) | (A > 9), A) is None
    assert clip(~equal(A, B), A) is None
    assert clip(C < 5, A) is None
