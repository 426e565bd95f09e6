"""Expression trees: hash-consing, reading them from ops and writing them back."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import weakref
from collections.abc import Callable

import pytest
from xdsl.builder import Builder
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i8, i32, i64
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.arith import expr as ex
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Broadcast,
    Cast,
    Cmp,
    Const,
    Expr,
    FloorDiv,
    Max,
    Mul,
    Not,
    Ramp,
    Select,
    Sub,
    Value,
    emit,
    fold,
    leaf_values,
    postorder,
    substitute,
    sum_of,
    values_at_hand,
    view,
)
from xdsl_tvm.dialects import tir

pytestmark = pytest.mark.usefixtures("small_heap")

ui8 = IntegerType(8, Signedness.UNSIGNED)


@pytest.fixture
def block() -> Block:
    return Block(arg_types=[i32, i32, i64, i1])


def builder_at(block: Block) -> Builder:
    return Builder(InsertPoint.at_end(block))


def leaves(block: Block) -> list[Expr]:
    return [Value(arg) for arg in block.args]


def test_equal_trees_are_one_object(block: Block):
    a, b, *_ = leaves(block)
    assert Add(a, b) is Add(Value(block.args[0]), Value(block.args[1]))
    assert Add(a, b) is not Add(b, a)
    assert Add(a, b) is not Sub(a, b)
    assert Const(1, i32) is Const(1, i32)
    assert Const(1, i32) is not Const(1, i64)
    assert Const(1, i32) is not Const(1, f32)
    assert Cast(i64, a) is not Cast(i8, a)
    assert Cmp(tir.CmpPredicate.LT, a, b) is not Cmp(tir.CmpPredicate.LE, a, b)


def test_float_constants_are_told_apart_by_their_bits():
    assert Const(0.0, f32) is not Const(-0.0, f32)
    assert Const(math.nan, f32) is Const(math.nan, f32)
    assert Const(2, f32) is Const(2.0, f32)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (128, i8),
        (-129, i8),
        (256, ui8),
        (-1, ui8),
        (1.5, i32),
        (2, i1),
        (1, tir.HandleType()),
    ],
)
def test_constants_must_fit_their_type(value: float, dtype: IntegerType):
    with pytest.raises(ValueError, match="constant"):
        Const(value, dtype)


def test_operands_must_have_one_type(block: Block):
    a, _, wide, condition = leaves(block)
    with pytest.raises(ValueError, match="operands of Add must have one type, got i32"):
        Add(a, wide)
    with pytest.raises(ValueError, match="operands of Cmp"):
        Cmp(tir.CmpPredicate.EQ, a, wide)
    with pytest.raises(ValueError, match="operands of Select"):
        Select(condition, a, wide)


def test_nodes_are_immutable_values(block: Block):
    a = Value(block.args[0])
    with pytest.raises(AttributeError, match="immutable"):
        a.dtype = i64
    assert copy.deepcopy(Add(a, a)) is Add(a, a)
    assert copy.copy(a) is a
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(a)


def test_nodes_live_as_long_as_they_are_used(block: Block):
    a = Value(block.args[0])
    tree = Mul(Add(a, a), Const(12345, i32))
    parts = [weakref.ref(node) for node in postorder(tree) if node is not a]
    assert None not in [part() for part in parts]
    del tree
    gc.collect()
    assert [part() for part in parts] == [None] * 3


def test_text(block: Block):
    a, b, _, p = leaves(block)
    block.args[0].name_hint, block.args[1].name_hint = "a", "b"
    block.args[3].name_hint = "p"
    tree = Select(p, Max(a, FloorDiv(b, Const(4, i32))), Cast(i32, Cast(i64, a)))
    assert str(tree) == "select(%p, max(%a, (%b // 4)), cast<i32>(cast<i64>(%a)))"
    assert repr(Not(p)) == "<Not not(%p)>"


def all_kinds(block: Block) -> list[Expr]:
    a, b, wide, p = leaves(block)
    v4 = tir.with_lanes(i32, 4)
    kinds: list[Callable[[Expr, Expr], Expr]] = [
        ex.Add,
        ex.Sub,
        ex.Mul,
        ex.Div,
        ex.Mod,
        ex.FloorDiv,
        ex.FloorMod,
        ex.Min,
        ex.Max,
    ]
    return [
        *(kind(a, b) for kind in kinds),
        *(Cmp(predicate, a, b) for predicate in tir.CmpPredicate),
        And(p, Cmp(tir.CmpPredicate.LT, a, b)),
        ex.Or(p, Not(p)),
        Select(p, a, b),
        Cast(i32, wide),
        Ramp(v4, a, Const(1, i32)),
        Add(Broadcast(v4, a), Ramp(v4, a, b)),
        Const(-3, i8),
        Const(255, ui8),
        Const(1, i1),
        Const(0.5, f32),
    ]


def test_every_kind_is_emitted_and_read_back(block: Block):
    for tree in all_kinds(block):
        value = emit(tree, builder_at(block))
        assert value.type == tree.dtype
        assert view(value) is tree
    block.verify()


def test_other_ops_are_leaves(block: Block):
    a = block.args[0]
    other = test.TestOp([a], [i32])
    let = tir.LetOp(a)
    block.add_ops([other, let])
    assert view(a) is Value(a)
    assert view(other.results[0]) is Value(other.results[0])
    assert view(let.result) is Value(let.result)
    assert leaf_values(Add(view(other.results[0]), view(a))) == (other.results[0], a)


def test_a_negative_constant_written_as_bits_reads_as_itself(block: Block):
    constant = tir.ConstOp.of(255, ui8)
    signed = tir.ConstOp.of(-1, i8)
    block.add_ops([constant, signed])
    assert view(constant.result) is Const(255, ui8)
    assert view(signed.result) is Const(-1, i8)


def test_shared_trees_are_emitted_once(block: Block):
    a, b, *_ = leaves(block)
    shared = Add(a, b)
    builder = builder_at(block)
    known: dict[Expr, SSAValue] = {}
    emit(Mul(shared, shared), builder, known)
    emit(Sub(shared, a), builder, known)
    assert [op.name for op in block.ops] == ["tir.add", "tir.mul", "tir.sub"]


def test_values_at_hand_are_used_again(block: Block):
    a, b = block.args[:2]
    add = tir.AddOp(a, b)
    block.add_op(add)
    trees: dict[SSAValue, Expr] = {}
    tree = view(add.result, trees)
    emit(Mul(tree, Value(a)), builder_at(block), values_at_hand(trees))
    (_, mul) = block.ops
    assert tuple(mul.operands) == (add.result, a)


def test_substitute(block: Block):
    a, b, *_ = leaves(block)
    tree = Mul(Add(a, b), Sub(a, Const(1, i32)))
    assert substitute(tree, {a: b}) is Mul(Add(b, b), Sub(b, Const(1, i32)))
    assert substitute(tree, {Add(a, b): a}) is Mul(a, Sub(a, Const(1, i32)))
    # Replacements are not looked into again.
    assert substitute(tree, {a: b, b: a}) is Mul(Add(b, a), Sub(b, Const(1, i32)))
    assert substitute(tree, {}) is tree


def test_postorder_visits_each_node_once_in_order_of_evaluation(block: Block):
    a, b, *_ = leaves(block)
    shared = Add(a, b)
    tree = Mul(Sub(b, shared), shared)
    assert list(postorder(tree)) == [b, a, shared, Sub(b, shared), tree]


def test_sum(block: Block):
    a, b, *_ = leaves(block)
    assert sum_of([a, b, a], i32) is Add(Add(a, b), a)
    assert sum_of([], i64) is Const(0, i64)


def test_depth_and_sharing_are_no_limit(block: Block):
    a, b, *_ = leaves(block)
    deep = a
    for _ in range(10_000):
        deep = Add(deep, b)
    value = emit(deep, builder_at(block))
    assert view(value) is deep
    assert substitute(deep, {a: b}).operands[1] is b
    assert leaf_values(deep) == (block.args[0], block.args[1])
    wide = a
    for _ in range(200):
        wide = Add(wide, wide)
    assert sum(1 for _ in postorder(wide)) == 201
    assert len(str(substitute(deep, {deep: a}))) < 20


def test_fold_asks_every_node_once(block: Block):
    a, b, *_ = leaves(block)
    tree = a
    for _ in range(20):
        tree = Add(tree, tree)
    asked: list[Expr] = []

    def count(node: Expr, operands: list[int]) -> int:
        asked.append(node)
        return 1 + sum(operands)

    assert fold(tree, count) == 2**21 - 1
    assert len(asked) == 21
    assert fold(tree, count, {a: 0}) == 2**20 - 1
    assert b not in asked


def test_random_trees_read_back(block: Block):
    rng = random.Random(1)
    a, b, *_ = leaves(block)
    pool: list[Expr] = [a, b, Const(3, i32), Const(-2, i32)]
    for _ in range(300):
        kind = rng.choice([Add, Sub, Mul, Max, FloorDiv])
        pool.append(kind(rng.choice(pool), rng.choice(pool)))
    builder = builder_at(block)
    known: dict[Expr, SSAValue] = {}
    trees: dict[SSAValue, Expr] = {}
    for tree in pool:
        assert view(emit(tree, builder, known), trees) is tree
