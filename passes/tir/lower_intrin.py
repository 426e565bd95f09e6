"""Calls of builtins become what the target computes, and so do floor divisions."""

from __future__ import annotations

from collections import ChainMap
from contextlib import ExitStack
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Broadcast,
    Cast,
    Const,
    Div,
    Expr,
    Mod,
    Mul,
    Value,
    emit,
)
from xdsl_tvm.analysis.tir.function_target import functions_of, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.intrinsics import (
    IntrinsicCall,
    Rule,
    rules_for,
    tables_of,
)
from xdsl_tvm.passes.tir.intrinsics.floor_division import FloorDivision
from xdsl_tvm.passes.tir.intrinsics.select_guards import SelectGuards
from xdsl_tvm.passes.tir.rewriting.expressions import ExpressionRewriter
from xdsl_tvm.passes.tir.rewriting.rule_code import apply_rule
from xdsl_tvm.passes.tir.rewriting.statements import describe


@dataclass(frozen=True)
class LowerIntrin(CompilerPass):
    """Summary: Lowers builtins to functions of the target, products that are added to
        fused ones, and floor divisions to divisions toward zero.

    TVM name: tir.LowerIntrin (v0.20)
    Input form: any; functions have the attribute `target`
    Output form: the same, without `tir.floordiv` and `tir.floormod`
    Options: none
    Rewrites: before, with the target `cuda`

            %y = tir.call "exp"(%x) : (f32) -> f32
            %q = tir.floordiv %n, %c7 : i32

        after

            %s = tir.string "__expf"
            %y = tir.call "call_pure_extern"(%s, %x) : (!tir.handle, f32) -> f32
            %d = tir.div %n, %c7 : i32
            %m = tir.mod %n, %c7 : i32
            %b = tir.call "shift_right"(%m, %c31) : (i32, i32) -> i32
            %q = tir.add %d, %b : i32

        A call is replaced by what the first rule that applies makes of it: those of the
        kind of the target, to lower and to legalize, then those for all targets. What a
        rule makes is lowered recursively. `register_intrin_lowering` of
        `xdsl_tvm.passes.tir.intrinsics` adds rules. A float product that is added to
        something becomes an `fma` where the target has a rule for it; casts of factors
        that are broadcast become broadcasts that are cast. A floor division
        by a power of two becomes a shift, its remainder a mask; others become divisions
        toward zero, and corrections where loops, threads, lets, conditions and asserts
        do not say that the signs need none.
        `tir.if`, `tir.select` and `tir.if_then_else` of a constant become what is taken.
        Time is linear in the size of the module, where expressions are simplified.
    Leaves alone: calls without a rule, values of custom dtypes
    Errors: a function with a body and without `target`; a builtin or a dtype that the
        target does not have; a rule that returns no expression, one of another dtype, or
        calls of its own builtin without an end; a floor division of custom dtypes
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: what a division needs twice is computed once, and without a let. The
        dividend is moved by multiples of the divisor only where the sum does not
        overflow. Powers of two are recognised in all lanes of a vector. Roundings of
        integers are the integers. `clz` of 0 is defined. A product by 2^30 that is
        rounded to the right does not overflow. `round` for CUDA rounds ties of `float16`
        away from zero, `nearbyint` for CUDA and Vulkan to even. The approximation of
        `erf` is computed in `float32`. For `nvptx`, vectors of calls are left alone, and
        so is a product of `float16` that is added. Functions of the vendor's library for
        Hexagon vectors are not used.
    """

    name = "tir-lower-intrin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if func.is_declaration:
                continue
            target = target_of(func)
            if target is None:
                raise PassFailedException(
                    f"tir.func @{func.sym_name.data}: LowerIntrin requires the attribute "
                    "target; run tir-bind-target first"
                )
            _Lowering(func, target).run()


_ROUNDINGS = frozenset(("floor", "ceil", "round", "trunc", "nearbyint"))
_FUSED = (f16, f32, f64)
_MOST_REPEATS = 8
"""How often the result of a rule may be a call that the same rule lowers again."""


class _Lowering(ExpressionRewriter):
    """Visits ops in order, with the facts there, and replaces what has a lower form."""

    def __init__(self, func: tir.FuncOp, target: Target) -> None:
        super().__init__(func, Analyzer())
        self._target = target
        self._tables = tables_of(target)
        self._fma_rule = next(rules_for("fma", self._tables), None)
        self._guards = SelectGuards()
        self._origins: dict[Operation, tuple[str, ...]] = {}
        """The builtins that rules made an op from, the outermost first."""

    def run(self) -> None:
        """Lower the function."""
        for op in ops_of(self._root, tir.MatchBufferOp):
            for extent in op.extents:
                self.analyzer.mark_global_nonneg(self.tree(extent))
        super().run()

    def rewritten(self, tree: Expr) -> Expr:
        return tree

    def _visit_any(self, op: Operation) -> None:
        match op:
            case tir.FloorDivOp() | tir.FloorModOp():
                self._floor(op)
            case tir.CallOp():
                self._call(op)
            case tir.AddOp():
                self._add(op)
            case tir.IfOp():
                self._decide(op)
            case tir.SelectOp():
                self._select(op)
            case tir.IfThenElseOp():
                self._decide(op)
            case _:
                pass
        if op.parent is not None and self._is_expression(op):
            self.make_available(op)

    # ---- floor division ----

    def _floor(self, op: tir.FloorDivOp | tir.FloorModOp) -> None:
        dtype = op.result.type
        if tir.is_custom(dtype):
            raise PassFailedException(
                f"{describe(op)}: a floor division of {tir.dtype_name(dtype)} has no "
                "lowering; run tir-lower-custom-datatypes first, and use a division"
            )
        lhs, rhs = self.tree(op.lhs), self.tree(op.rhs)
        if tir.is_float(dtype):
            quotient = smart.call("floor", [smart.truncdiv(lhs, rhs)], dtype)
            if isinstance(op, tir.FloorModOp):
                quotient = smart.sub(lhs, smart.mul(quotient, rhs))
            self._replace(op, quotient)
            return
        with ExitStack() as scopes:
            for condition in self._guards.of(op.result):
                scopes.enter_context(self.analyzer.constraint(condition))
            division = FloorDivision(lhs, rhs, self.analyzer)
            self._rewrite_uses(op, division, lhs, rhs)
            if op.result.first_use is None:
                self.drop(op)
            elif isinstance(op, tir.FloorDivOp):
                self._replace(op, division.quotient())
            else:
                self._replace(op, division.remainder())

    def _rewrite_uses(
        self,
        op: tir.FloorDivOp | tir.FloorModOp,
        division: FloorDivision,
        lhs: Expr,
        rhs: Expr,
    ) -> None:
        """Use the division toward zero where only that matters which both have."""
        same: SSAValue | None = None
        for use in list(op.result.uses):
            if isinstance(op, tir.FloorModOp):
                is_same = _is_compared_with_zero(use.operation, op.result)
            else:
                is_same = _is_clipped(
                    use.operation, op.result
                ) and division.is_nonnegative(rhs)
            if is_same:
                if same is None:
                    kind = Mod if isinstance(op, tir.FloorModOp) else Div
                    same = self._emit(op, kind(lhs, rhs))
                use.operation.operands[use.index] = same

    # ---- calls ----

    def _call(self, op: tir.CallOp) -> None:
        name = op.callee.data
        result = op.result
        if any(map(tir.is_custom, (*op.operand_types, *op.result_types))):
            return
        if name in _ROUNDINGS and result is not None and tir.is_integer(result.type):
            self._replace_by(op, op.args[0])
            return
        for rule in rules_for(name, self._tables):
            if self._apply(op, rule):
                return

    def _apply(self, op: tir.CallOp, rule: Rule) -> bool:
        """Replace a call by what a rule makes of it; whether the rule applies."""
        name = op.callee.data
        origins = self._origins.get(op, ())
        if origins.count(name) > _MOST_REPEATS:
            raise PassFailedException(
                f"{describe(op)}: the rule for '{name}' makes calls of '{name}' without "
                "an end; let it return another builtin, or the call itself"
            )
        args = tuple(map(self._argument, op.args))
        written = apply_rule(
            lambda code: IntrinsicCall(op, args, self._target, code, self._bounds),
            rule,
            f"the intrinsic rule for '{name}'",
            dict(zip(args, op.args, strict=True)),
        )
        if written is None:
            return False
        for new in written.ops:
            self._origins[new] = (*origins, name)
        if written.value is None:
            self.drop(op)
        else:
            self._replace_by(op, written.value)
        return True

    def _bounds(self, tree: Expr) -> Bound:
        """Constant bounds of a tree; those of a leaf by what its value is made of."""
        if isinstance(tree, Value):
            tree = self.tree(tree.value)
        return self.analyzer.const_int_bound(tree)

    def _argument(self, value: SSAValue) -> Expr:
        match self.tree(value):
            case (Const() | Broadcast(value=Const())) as tree:
                return tree
            case _:
                return Value(value)

    # ---- products that are added ----

    def _add(self, op: tir.AddOp) -> None:
        product, addend = op.rhs.owner, op.lhs
        if not isinstance(product, tir.MulOp):
            product, addend = op.lhs.owner, op.rhs
        if not isinstance(product, tir.MulOp):
            return
        factors = [_broadcast_first(factor) for factor in product.operands]
        x, y = (
            Value(factor) if new is None else new
            for factor, new in zip(product.operands, factors, strict=True)
        )
        is_fused = tir.element_of(op.result.type) in _FUSED
        if is_fused and self._fma_rule is not None and self._fuse(op, x, y, addend):
            return
        if factors != [None, None]:
            self._replace(op, Add(Mul(x, y), Value(addend)))

    def _fuse(self, op: tir.AddOp, x: Expr, y: Expr, addend: SSAValue) -> bool:
        """Replace a sum by what the rule makes of a fused one; whether it applies."""
        assert self._fma_rule is not None
        values = [self._emit(op, x), self._emit(op, y), addend]
        fused = tir.CallOp("fma", values, op.result.type)
        fused.location = op.location
        Rewriter.insert_op(fused, InsertPoint.before(op))
        result = fused.results[0]
        op.result.replace_all_uses_with(result)
        if self._apply(fused, self._fma_rule):
            self.drop(op)
            return True
        result.replace_all_uses_with(op.result)
        self.drop(fused)
        return False

    # ---- decided conditions ----

    def _decide(self, op: tir.IfOp | tir.IfThenElseOp) -> None:
        truth = _truth(op.condition)
        if truth is None:
            return
        if isinstance(op, tir.IfOp):
            self.take_branch(op, truth)
        else:
            self.take_value(op, truth)

    def _select(self, op: tir.SelectOp) -> None:
        truth = _truth(op.condition)
        if truth is not None:
            self._replace_by(op, op.true_value if truth else op.false_value)

    # ---- edits ----

    def _emit(self, op: Operation, tree: Expr) -> SSAValue:
        """The value of a tree, before an op; what is written is visited after it."""
        before = op.prev_op
        builder = Builder(InsertPoint.before(op))
        # What is written is not available before it is visited: it may be replaced.
        known = ChainMap[Expr, SSAValue]({}, self.available)
        value = emit(tree, builder, known)
        block = op.parent
        assert block is not None, "the op is visited in its block"
        new = block.first_op if before is None else before.next_op
        while new is not None and new is not op:
            new.location = op.location
            new = new.next_op
        return value

    def _replace(self, op: Operation, tree: Expr) -> None:
        self._replace_by(op, self._emit(op, tree))

    def _replace_by(self, op: Operation, value: SSAValue) -> None:
        self.dropped.extend(op.operands)
        Rewriter.replace_op(op, [], [value])


def _truth(condition: SSAValue) -> bool | None:
    """What a constant condition says; None for any other."""
    owner = condition.owner
    if isinstance(owner, tir.CallOp) and owner.callee.data == "likely":
        return _truth(owner.args[0])
    value = tir.constant_value(condition)
    return None if value is None else bool(value)


def _is_compared_with_zero(user: Operation, value: SSAValue) -> bool:
    return (
        isinstance(user, tir.CmpOp)
        and user.predicate.data in (tir.CmpPredicate.EQ, tir.CmpPredicate.NE)
        and user.lhs is value
        and tir.is_constant(user.rhs, 0)
    )


def _is_clipped(user: Operation, value: SSAValue) -> bool:
    if not isinstance(user, tir.MaxOp) or user.lhs is not value:
        return False
    least = tir.constant_value(user.rhs)
    return least is not None and least >= 0


def _broadcast_first(factor: SSAValue) -> Expr | None:
    """`cast(broadcast(v))` for `broadcast(cast(v))` of an operand of half the width, or
    of a narrower integer as an integer; None for anything else."""
    broadcast = factor.owner
    if not isinstance(broadcast, tir.BroadcastOp):
        return None
    conversion = broadcast.value.owner
    if not isinstance(conversion, tir.CastOp):
        return None
    source, target = conversion.value.type, conversion.result.type
    if any(tir.is_custom(dtype) for dtype in (source, target)):
        return None
    narrow, wide = tir.bits_of_lane(source), tir.bits_of_lane(target)
    is_widened = tir.is_integer(source) and tir.is_integer(target) and wide > narrow
    if wide != 2 * narrow and not is_widened:
        return None
    lanes = tir.like_lanes(source, factor.type)
    return Cast(factor.type, Broadcast(lanes, Value(conversion.value)))
