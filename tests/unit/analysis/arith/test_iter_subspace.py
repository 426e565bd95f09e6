"""Subspaces and inverses of iterator maps, checked by value.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.expr_trees import Symbol, evaluate, grid, symbols
from support.iter_maps import points_of, ranges
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr, substitute
from xdsl_tvm.analysis.arith.iter_map import (
    IterMapLevel,
    detect_iter_map,
    normalize_iter_map_to_expr,
)
from xdsl_tvm.analysis.arith.iter_subspace import (
    SubspaceDivision,
    inverse_affine_iter_map,
    subspace_divide,
)
from xdsl_tvm.analysis.arith.linear_equation import mentions

X, Y, Z, W, C = symbols(i32, i32, i32, i32, i32)
Domains = dict[Symbol, int]
BIJECTIVE = IterMapLevel.BIJECTIVE


def divided(
    bindings: list[Symbol],
    domains: Domains,
    inner: list[Symbol],
    predicate: Symbol | None = None,
) -> SubspaceDivision | None:
    """The division, after all of its claims have been found true."""
    inputs = {leaf.node: (0, extent) for leaf, extent in domains.items()}
    condition = None if predicate is None else predicate.node
    inner_nodes = [leaf.node for leaf in inner]
    trees = [binding.node for binding in bindings]
    found = subspace_divide(trees, ranges(inputs), inner_nodes, condition)
    if found is None:
        return None
    outer_nodes = [leaf for leaf in inputs if leaf not in inner_nodes]
    points = points_of(inputs, condition)
    points[C.node] = np.full(len(next(iter(points.values()))), 5)
    for tree, (outer, inside) in zip(trees, found.bindings, strict=True):
        upper, lower = map(normalize_iter_map_to_expr, (outer, inside))
        assert not mentions(upper, *inner_nodes)
        assert not mentions(lower, *outer_nodes)
        again = smart.add(smart.mul(upper, inside.extent), lower)
        same = evaluate(tree, points).numbers == evaluate(again, points).numbers
        assert same.all()
    assert not mentions(found.outer_predicate, *inner_nodes)
    assert not mentions(found.inner_predicate, *outer_nodes)
    remaining = smart.conjunction(found.outer_predicate, found.inner_predicate)
    everywhere = grid({leaf: range(n) for leaf, (_, n) in inputs.items()})
    if condition is not None:
        truth = evaluate(condition, everywhere).numbers
        assert (truth == evaluate(remaining, everywhere).numbers).all()
    return found


def texts(found: SubspaceDivision | None) -> list[tuple[str, str, str, str]]:
    assert found is not None
    return [
        (str(outer), str(outer.extent), str(inner), str(inner.extent))
        for outer, inner in found.bindings
    ]


def text(tree: Symbol | int) -> str:
    return str(tree) if isinstance(tree, int) else str(smart.folded(tree.node))


# ---- spec 1.20, iterator maps: subspace divide ----


def test_fused_binding():
    binding = Z * 12 + Y * 3 + X + C
    domains = {X: 3, Y: 4, Z: 5}
    assert texts(divided([binding], domains, [X])) == [
        (text(Z * 4 + Y), "20", text(X + C), "3")
    ]
    assert texts(divided([binding], domains, [X, Y])) == [
        (text(Z), "5", text(Y * 3 + X + C), "12")
    ]
    assert texts(divided([binding], domains, [])) == [
        (text(Z * 12 + Y * 3 + X), "60", text(C), "1")
    ]


def test_inner_inputs_must_be_inside():
    domains = {X: 3, Y: 4, Z: 5}
    assert divided([Z * 12 + Y * 3 + X], domains, [Y]) is None
    assert divided([Z * 12 + Y * 3 + X], domains, [Z]) is None


def test_constants_and_single_inputs():
    found = divided([X, Y + 2, Symbol(Const(3, i32))], {X: 3, Y: 4}, [Y])
    assert texts(found) == [
        (text(X), "3", "0", "1"),
        ("0", "1", text(Y + 2), "4"),
        ("0", "1", "3", "1"),
    ]


def test_predicates_on_one_side():
    domains = {W: 4, Z: 4, Y: 3, X: 8}
    bindings, outer, inner = [W * 4 + Z, Y * 8 + X], W * 4 + Z < 14, Y * 8 + X < 18
    found = divided(bindings, domains, [X, Y], outer & inner)
    assert found is not None
    assert str(found.outer_predicate) == text(W * 4 + Z < 14)
    assert str(found.inner_predicate) == text(Y * 8 + X < 18)
    found = divided(bindings, domains, [X, Y], (Y * 8 + X > 2) & inner)
    assert found is not None


def test_predicates_of_one_input():
    found = divided([Y * 8 + X], {Y: 3, X: 8}, [X], (Y < 2) & (Y * 8 + X < 300))
    assert found is not None
    assert str(found.outer_predicate) == text(Y < 2)
    assert str(found.inner_predicate) == "1"


def test_predicates_over_both():
    assert divided([Y], {Y: 3, X: 8}, [X], Y * 8 + X < 18) is None
    domains = {Y: 3, X: 8}
    assert divided([Y * 8 + X], domains, [X], Y * 8 + X < 18) is None


def test_compound_splits():
    fused = Z * 16 + Y * 4 + X
    domains = {Z: 4, Y: 4, X: 4}
    found = divided([fused // 8, fused % 8 // 2, fused % 2], domains, [X])
    assert texts(found) == [
        (text((Z * 4 + Y) // 2), "8", "0", "1"),
        (text((Z * 4 + Y) % 2), "2", text(X // 2), "2"),
        ("0", "1", text(X % 2), "2"),
    ]
    assert divided([fused // 8, fused % 8], domains, [X, Y]) is not None


def test_splits_that_cross_the_border():
    fused = Y * 6 + X
    assert divided([fused // 4, fused % 4], {Y: 4, X: 6}, [X]) is None


def test_trivial_iterators():
    found = divided([X, Y * 4 + Z], {X: 1, Y: 3, Z: 4}, [Z])
    assert texts(found)[1] == (text(Y), "3", text(Z), "4")


def test_no_map():
    assert divided([X * X], {X: 3}, [X]) is None
    assert divided([X * 4], {X: 3}, [X]) is None


# ---- spec 1.20, iterator maps: inverse ----


def check_inverse(
    indices: list[Symbol], inputs: dict[Symbol, tuple[int, int]]
) -> dict[Expr, Expr]:
    """The inverse of the indices is where the indices are, at every point."""
    nodes = {leaf.node: domain for leaf, domain in inputs.items()}
    trees = [index.node for index in indices]
    found = detect_iter_map(trees, ranges(nodes), None, BIJECTIVE)
    assert not found.errors, found.errors
    outputs = symbols(*(i32 for _ in indices))
    inverse = inverse_affine_iter_map(found.indices, [o.node for o in outputs])
    points = points_of(nodes, None)
    back = {output.node: tree for output, tree in zip(outputs, trees, strict=True)}
    for leaf, tree in inverse.items():
        assert (evaluate(substitute(tree, back), points).numbers == points[leaf]).all()
    return inverse


def test_inverse_of_a_split_and_fuse():
    fused = X * 8 + Y
    found = check_inverse([fused // 16, fused % 16], {X: (0, 4), Y: (0, 8)})
    assert set(found) == {X.node, Y.node}


def test_inverse_of_three_inputs():
    fused = X * 48 + Y * 6 + Z
    inputs = {X: (0, 4), Y: (0, 8), Z: (0, 6)}
    check_inverse([fused // 24, fused % 24 // 3, fused % 3], inputs)


def test_inverse_of_a_diamond():
    again = X // 16 * 16 + X % 16
    check_inverse([again // 4, again % 4], {X: (0, 64)})
    check_inverse([X // 4, X % 4 // 2, X % 2], {X: (0, 64)})


def test_inverse_with_starts_and_signs():
    check_inverse([X + 3, 7 - Y], {X: (2, 5), Y: (-4, 3)})


def test_inverse_ignores_constants():
    found = check_inverse([X, Symbol(Const(3, i32))], {X: (0, 4)})
    assert set(found) == {X.node}


def test_errors_of_the_inverse():
    found = detect_iter_map([(X * 2).node], ranges({X.node: (0, 4)}))
    with pytest.raises(ValueError, match="scale other than 1"):
        inverse_affine_iter_map(found.indices, [Y.node])
    with pytest.raises(ValueError, match="1 indices, but 0 values"):
        inverse_affine_iter_map(found.indices, [])
