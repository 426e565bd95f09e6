"""Iterator maps: the cases, all claims checked by value.

Cases: docs/spec/tir-passes-b-arith-and-loops.md §1.20.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from support.expr_trees import Symbol, equal, evaluate, greatest, grid, least, symbols
from support.ir import parse
from support.iter_maps import checked, ranges
from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, view
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.iter_map import (
    IterMapLevel,
    IterMapResult,
    detect_iter_map,
    iter_map_simplify,
    normalize_to_iter_sum,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import INF, Bound

X, Y, Z, W = symbols(i32, i32, i32, i32)
N, M, C0, C1 = symbols(i32, i32, i32, i32)
BIJECTIVE, SURJECTIVE, NO_CHECK = IterMapLevel
Domains = Mapping[Symbol, int]
Shape = tuple[int, int, int]
"""Extent, base and scale of an index; of a constant, 1, itself and 0."""


def maps(
    indices: list[Symbol],
    domains: Domains,
    predicate: Symbol | None = None,
    level: IterMapLevel = SURJECTIVE,
) -> IterMapResult:
    inputs = {leaf.node: (0, extent) for leaf, extent in domains.items()}
    condition = None if predicate is None else predicate.node
    return checked([index.node for index in indices], inputs, condition, level)


def shapes(found: IterMapResult) -> list[Shape]:
    result: list[Shape] = []
    for total in found.indices:
        base = value_of(total.base)
        if total.args:
            (split,) = total.args
            result.append((value_of(split.extent), base, value_of(split.scale)))
        else:
            result.append((1, base, 0))
    return result


def value_of(node: Expr) -> int:
    value = smart.literal(node)
    assert isinstance(value, int), node
    return value


def check(
    indices: list[Symbol],
    domains: Domains,
    expected: list[Shape],
    predicate: Symbol | None = None,
    level: IterMapLevel = SURJECTIVE,
) -> None:
    found = maps(indices, domains, predicate, level)
    assert not found.errors, found.errors
    assert shapes(found) == expected


def check_fails(
    indices: list[Symbol],
    domains: Domains,
    predicate: Symbol | None = None,
    level: IterMapLevel = SURJECTIVE,
) -> None:
    found = maps(indices, domains, predicate, level)
    assert len(found.errors) == 1
    assert "\n" not in found.errors[0]
    assert found.indices == []


def number(value: int) -> Symbol:
    return Symbol(Const(value, i32))


def sizes() -> Analyzer:
    """What is known of sizes: they are positive."""
    analyzer = Analyzer()
    for size in (N, M, C0, C1):
        analyzer.update(size.node, Bound(1, INF))
    return analyzer


Sizes = Mapping[Symbol, Symbol | int]


def ranges_of(domains: Sizes) -> dict[Expr, Range]:
    zero = Const(0, i32)
    return {
        leaf.node: Range(zero, Const(e, i32) if isinstance(e, int) else e.node)
        for leaf, e in domains.items()
    }


def symbolic(
    indices: list[Symbol],
    domains: Sizes,
    predicate: Symbol | None = None,
    level: IterMapLevel = SURJECTIVE,
) -> IterMapResult:
    inputs = ranges_of(domains)
    condition = None if predicate is None else predicate.node
    trees = [index.node for index in indices]
    return detect_iter_map(trees, inputs, condition, level, sizes())


# ---- spec 1.20, iterator maps ----


def test_trivial():
    check([X, Y, number(3)], {X: 3, Y: 4}, [(3, 0, 1), (4, 0, 1), (1, 3, 0)])
    check([X + 7, Y * 2], {X: 3, Y: 4}, [(3, 7, 1), (4, 0, 2)])
    check([X, Z], {X: 3, Z: 1}, [(3, 0, 1), (1, 0, 0)])


def test_duplicated_iterators():
    check_fails([X, X, number(3)], {X: 3, Y: 4})
    check_fails([X, X + Y * 3], {X: 3, Y: 4})


def test_bijective_maps_use_all():
    check([X, Y], {X: 3, Y: 4}, [(3, 0, 1), (4, 0, 1)], level=BIJECTIVE)
    check_fails([X], {X: 3, Y: 4}, level=BIJECTIVE)
    check([X, number(3)], {X: 3, Y: 1}, [(3, 0, 1), (1, 3, 0)], level=BIJECTIVE)
    check_fails([X // 2], {X: 4}, level=BIJECTIVE)
    check([X // 2, X % 2], {X: 4}, [(2, 0, 1), (2, 0, 1)], level=BIJECTIVE)


def test_fuse():
    check([X * 4 + Y + 3], {X: 3, Y: 4}, [(12, 3, 1)], level=BIJECTIVE)
    check_fails([X * 5 + Y], {X: 3, Y: 4})
    check_fails([X * 4 + Y + Z * 10], {X: 3, Y: 4, Z: 2}, level=BIJECTIVE)
    check([X * 8 + Y * 2], {X: 3, Y: 4}, [(12, 0, 2)])


def test_fuse_with_symbols():
    found = symbolic([X * N + Y], {X: 3, Y: N}, level=BIJECTIVE)
    (total,) = found.indices
    assert str(total.args[0].extent) == str((N * 3).node)
    assert symbolic([X * M + Y], {X: 3, Y: N}).errors
    assert not symbolic([X * N * M + Y * M + Z], {X: 3, Y: N, Z: M}).errors


def test_split():
    check([X % 3, X // 3], {X: 24}, [(3, 0, 1), (8, 0, 1)], level=BIJECTIVE)
    check(
        [X // 6, X % 6 // 2, X % 2],
        {X: 24},
        [(4, 0, 1), (3, 0, 1), (2, 0, 1)],
        level=BIJECTIVE,
    )
    check([X // 6 * 6 + X % 6], {X: 24}, [(24, 0, 1)])


def test_split_with_symbols():
    found = symbolic([X // C0, X % C0], {X: C0 * C1}, level=BIJECTIVE)
    first, second = (total.args[0].extent for total in found.indices)
    assert first is C1.node
    assert second is C0.node


def test_division_by_an_iterator():
    check_fails([X // Y], {X: 12, Y: 3})
    check_fails([X * Y], {X: 12, Y: 3})
    assert symbolic([X // (N - M)], {X: 12}).errors


def test_digits_in_the_wrong_order():
    check_fails([X // 2 * 2 - X % 2 + 1], {X: 8})


FUSED = X * 10 + Y


@pytest.mark.parametrize(
    ("predicate", "shape"),
    [
        (FUSED < 128, (128, 0, 1)),
        (FUSED <= 127, (128, 0, 1)),
        (FUSED >= 6, (124, 6, 1)),
        (FUSED > 5, (124, 6, 1)),
        ((FUSED >= 6) & (FUSED <= 124), (119, 6, 1)),
        ((FUSED < 128) & (FUSED < 128), (128, 0, 1)),
        (FUSED < 300, (130, 0, 1)),
        (X * 10 < 128 - Y, (128, 0, 1)),
        (128 - X * 10 > Y, (128, 0, 1)),
    ],
    ids=str,
)
def test_predicates(predicate: Symbol, shape: Shape):
    check([FUSED], {X: 13, Y: 10}, [shape], predicate)


def test_predicates_of_one_variable():
    check([FUSED], {X: 13, Y: 10}, [(30, 20, 1)], (X > 1) & (X < 5))
    check([X], {X: 13}, [(2, 0, 1)], X * 3 < 5)
    check([X], {X: 13}, [(1, 12, 0)], number(11) < X)
    check_fails([X], {X: 13}, X > 20)


def test_predicates_without_inputs_are_ignored():
    found = symbolic([FUSED], {X: 13, Y: 10}, (FUSED < 128) & (N < M))
    assert shapes(found) == [(128, 0, 1)]
    found = symbolic([FUSED], {X: 13, Y: 10}, FUSED < N)
    assert str(found.indices[0].args[0].extent) == text(least(number(130), N))


def test_nested_predicates():
    inner, outer = X * 10 + Y, Z * 40 + X * 10 + Y
    domains = {Z: 3, X: 5, Y: 10}
    check([outer], domains, [(110, 0, 1)], (inner < 40) & (outer < 110))
    check([outer], domains, [(120, 0, 1)], inner < 40)


def test_disjoint_predicates():
    a, b = X * 10 + Y, Z * 8 + W
    domains = {X: 3, Y: 10, Z: 4, W: 8}
    check([a, b], domains, [(25, 0, 1), (30, 0, 1)], (a < 25) & (b < 30))
    total = a * 30 + b
    check([total], domains, [(25 * 30, 0, 1)], (a < 25) & (b < 30))


def test_predicates_that_share_iterators():
    a, b = X * 10 + Y, Y * 8 + Z
    domains = {X: 3, Y: 10, Z: 8}
    check_fails([X, Y, Z], domains, (a < 25) & (b < 30))


def test_other_predicates():
    check_fails([X], {X: 3}, equal(X, 1))
    check_fails([X, Y], {X: 3, Y: 4}, (X < 2) | (Y < 3))
    check_fails([X, Y], {X: 3, Y: 4}, X * Y < 4)


def test_inner_extents_that_are_too_small():
    check_fails([FUSED], {X: 13, Y: 9}, FUSED < 128)


def test_parts_of_what_a_predicate_bounds():
    check_fails([X, Y], {X: 13, Y: 10}, FUSED < 128)
    check_fails([X], {X: 13, Y: 10}, FUSED < 128)
    check([X, Y], {X: 13, Y: 10}, [(13, 0, 1), (10, 0, 1)], FUSED < 128, NO_CHECK)


def test_predicates_of_split_iterators():
    inner = X // 4 * 8 + Y
    check([inner, X % 4], {X: 16, Y: 8}, [(27, 0, 1), (4, 0, 1)], inner < 27)


def test_strided_predicates():
    tile = X * 16 + Y * 4
    check([tile], {X: 3, Y: 4}, [(10, 0, 4)], tile < 40)
    check([tile], {X: 3, Y: 4}, [(10, 0, 4)], tile < 38)


def test_free_variables_in_the_base():
    found = symbolic([X + N * 3 + 1], {X: 4}, level=BIJECTIVE)
    assert str(found.indices[0].base) == str((N * 3 + 1).node)


def extended(found: IterMapResult, leaf: Symbol, low: int, end: int) -> list[int]:
    """Where the padding predicate is true."""
    points = grid({leaf.node: range(low, end)})
    values = evaluate(found.padding_predicate, points)
    return points[leaf.node][values.numbers != 0].tolist()


def test_left_padding():
    index = X + 3
    check([index // 4], {X: 13}, [(4, 0, 1)])
    check([index % 4], {X: 13}, [(4, 0, 1)])
    found = maps([index // 4, index % 4], {X: 13}, None, NO_CHECK)
    assert extended(found, X, -3, 13) == [-3, -2, -1]
    check_fails([index // 4, index % 4], {X: 13})


def test_left_padding_that_is_divisible():
    index = X + 64
    check([index // 32, index % 32], {X: 192}, [(6, 2, 1), (32, 0, 1)], level=BIJECTIVE)
    check([(X + 80) // 32], {X: 176}, [(6, 2, 1)])


def test_right_padding():
    check([X // 4], {X: 10}, [(3, 0, 1)])
    check([X % 4], {X: 10}, [(4, 0, 1)])
    found = maps([X // 4, X % 4], {X: 10}, None, NO_CHECK)
    assert shapes(found) == [(3, 0, 1), (4, 0, 1)]
    assert extended(found, X, 0, 12) == [10, 11]
    check_fails([X // 4, X % 4], {X: 10})
    check_fails([X // 4], {X: 10}, level=BIJECTIVE)


def test_padding_on_both_sides():
    found = maps([(X + 5) // 16], {X: 40}, None, NO_CHECK)
    assert shapes(found) == [(3, 0, 1)]
    assert extended(found, X, -5, 43) == [-5, -4, -3, -2, -1, 40, 41, 42]


def test_padding_that_splits_share():
    found = maps([X // 16, X % 16 // 4, X % 4], {X: 100}, None, NO_CHECK)
    assert shapes(found) == [(7, 0, 1), (4, 0, 1), (4, 0, 1)]
    assert extended(found, X, 0, 112) == list(range(100, 112))
    check([X // 4 % 4, X % 4], {X: 100}, [(4, 0, 1), (4, 0, 1)])
    check([(X + 5) // 8 % 3, (X + 5) % 8], {X: 50}, [(3, 0, 1), (8, 0, 1)])


def test_paddings_that_do_not_fit():
    check_fails([(X + 1) // 4, (X + 3) % 4], {X: 13}, level=NO_CHECK)
    check_fails([X % 16], {X: 3})
    check_fails([X // 3, X % 4], {X: 12})
    check_fails([X % 255 // 16], {X: 1024})


def test_padding_of_a_fused_iterator():
    check([(X * 4 + Y) // 5], {X: 3, Y: 4}, [(3, 0, 1)])
    check([(X * 4 + Y) % 5], {X: 3, Y: 4}, [(5, 0, 1)])


def test_overlap():
    index = X * 7 + Y
    check([index], {X: 3, Y: 8}, [(22, 0, 1)])
    check_fails([index], {X: 3, Y: 8}, level=BIJECTIVE)
    check_fails([Y - X * 7], {X: 3, Y: 8})
    check_fails([X * 14 + Y * 2 - Z * 2], {X: 3, Y: 8, Z: 2})
    check([(index) // 11], {X: 3, Y: 8}, [(2, 0, 1)])


def test_loads_in_indices():
    module = parse("""
      tir.func @f(%a: !tir.handle) {
        %c0 = tir.const 0 : i32
        %c8 = tir.const 8 : i32
        %A = tir.match_buffer %a : !tir.buffer<8xi32>
        tir.for %i = %c0 to %c8 {
          %x = tir.load %A[%i] : i32
          %both = tir.add %i, %x : i32
          tir.store %both, %A[%both] : i32
        }
      }
    """)
    loop = next(op for op in module.walk() if isinstance(op, tir.ForOp))
    add = next(op for op in module.walk() if isinstance(op, tir.AddOp))
    leaf = Value(loop.loop_var)
    found = detect_iter_map([view(add.result)], ranges({leaf: (0, 8)}))
    assert "each iteration" in found.errors[0]


def simplified(index: Symbol, domains: Sizes, predicate: Symbol | None = None) -> str:
    inputs = ranges_of(domains)
    condition = None if predicate is None else predicate.node
    (found,) = iter_map_simplify([index.node], inputs, condition, NO_CHECK, sizes())
    return str(found)


def text(tree: Symbol) -> str:
    return str(smart.folded(tree.node))


def test_simplify():
    """Fused and split by symbols, and back."""
    fused = X * N + Y
    assert simplified(fused // N, {X: M, Y: N}) == text(X)
    assert simplified(fused % N, {X: M, Y: N}) == text(Y)
    square = X * (N * N) + Y * N + Z
    domains = {X: 3, Y: N, Z: N}
    assert simplified(square // N % N, domains) == text(Y)
    assert simplified(square // (N * N), domains) == text(X)
    assert simplified(square % N, domains) == text(Z)


def test_simplify_under_predicates():
    assert simplified(Z // 16, {Z: N * 20}, Z < N * 16) == text(Z // 16)
    tile = X * 16 + Y
    assert simplified(tile // 16, {X: N, Y: 16}, tile < N * 16) == text(X)
    assert simplified(tile % 16, {X: N, Y: 16}, tile < N * 15) == text(Y)


def test_simplify_a_reshape():
    flat = X * 4096 + Y * 64 + Z
    domains: Sizes = {X: 8, Y: 64, Z: 64}
    assert simplified(flat // 4096 * 4096 + flat % 4096, domains) == text(flat)
    assert simplified(flat // 64 % 64, domains) == text(Y)


def test_simplify_keeps_what_is_no_map():
    assert simplified(X * X, {X: 8}) == text(X * X)
    assert simplified(X * 10 + Y, {X: 8, Y: 10}, (X < 3) | (Y < 3)) == text(X * 10 + Y)


def test_unit_extents():
    check([X * 4 + Y * 4 + Z], {X: 3, Y: 1, Z: 4}, [(12, 0, 1)])
    inputs = ranges({X.node: (0, 3), Y.node: (0, 1)})
    found = detect_iter_map(
        [X.node, Y.node], inputs, None, BIJECTIVE, simplify_trivial=False
    )
    assert [len(total.args) for total in found.indices] == [1, 1]


def sum_of(index: Symbol, domains: Sizes) -> str:
    inputs = ranges_of(domains)
    total = normalize_to_iter_sum(index.node, inputs, sizes())
    parts = [f"{split}" for split in total.args]
    return " + ".join([*parts, str(total.base)])


def test_sums_are_in_order():
    domains: Sizes = {X: 2, Y: 8, Z: 6}
    assert sum_of(Y + X * 16 + Z * 4, domains) == " + ".join(
        [text(X * 16), text(Z * 4), text(Y), "0"]
    )
    assert sum_of(Y + X * N * 4 + Z * 4, domains) == " + ".join(
        [text(Z * 4), text(X * (N * 4)), text(Y), "0"]
    )


def test_sums_keep_the_rest():
    rest = greatest(Z, N)
    assert sum_of(X * 4 + rest, {X: 2, Z: 6}) == f"{text(X * 4)} + {text(rest)}"
    assert sum_of(X // 5, {X: 4096}) == f"{text(X // 5)} + 0"
    total = normalize_to_iter_sum((X // 5).node, ranges({X.node: (0, 4096)}))
    assert value_of(total.args[0].extent) == 820


def test_deep_indices():
    """No recursion, whatever the depth."""
    index = X
    for _ in range(3000):
        index = index + 1
    assert shapes(maps([index], {X: 4})) == [(4, 3000, 1)]
    for _ in range(300):
        index = (index * 2 + Y % 1) // 2
    assert not maps([index], {X: 4, Y: 2}).errors
