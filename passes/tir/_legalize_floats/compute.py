"""Computing in a wider float: the rewriting of one function.

docs/spec/tir-passes-c-memory-and-gpu.md, BF16ComputeLegalize. Values of narrow floats are
of two kinds. What a function computes becomes wide, and so does the memory that only it
accesses. What comes from elsewhere stays narrow: loads, parameters, constants, the
results of ops and functions that are not known. A use of the other kind is converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, Float32Type, Float64Type, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect, ResultRule
from xdsl_tvm.dialects.tir.constants import constant_attr
from xdsl_tvm.passes.tir._legalize_floats.conversions import ConversionCode
from xdsl_tvm.passes.tir._legalize_floats.kinds import (
    NarrowFloats,
    TypeQuestion,
    element_name,
    fail,
)
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused

_COMPUTING = (
    tir.BinaryOp,
    tir.BroadcastOp,
    tir.CastOp,
    tir.CmpOp,
    tir.IfThenElseOp,
    tir.LetOp,
    tir.RampOp,
    tir.SelectOp,
    tir.ShuffleOp,
)
"""Ops that become wide, operands and results."""

_SHUFFLES = frozenset(
    {
        "tvm_warp_shuffle",
        "tvm_warp_shuffle_up",
        "tvm_warp_shuffle_down",
        "metal.simd_shuffle",
        "metal.simd_shuffle_up",
        "metal.simd_shuffle_down",
        "tvm_thread_invariant",
    }
)
"""Builtins with an effect that exist for wide values, too."""

_BY_OPERANDS = (ResultRule.SAME, ResultRule.LANES, ResultRule.HALF, ResultRule.CONCAT)

_Definition = tir.AllocateOp | tir.AllocBufferOp | tir.BufferRealizeOp


def compute_in(
    func: tir.FuncOp, ops: Sequence[Operation], floats: NarrowFloats, wide: Attribute
) -> None:
    """Make a function compute in the float `wide` what it computes in narrow floats.

    `ops` are those of the body. Linear in their number.
    """
    _WideComputation(func, floats, wide).rewrite(ops)


class _WideComputation:
    def __init__(self, func: tir.FuncOp, floats: NarrowFloats, wide: Attribute) -> None:
        self._func = func
        self._floats = floats
        self._wide = wide
        self._is_narrow = TypeQuestion(floats.has)
        self._concerns = TypeQuestion(floats.concerns)
        self._was: dict[SSAValue, Attribute] = {}
        """A value that has become wide -> its type before."""
        self._widened: dict[SSAValue, SSAValue] = {}
        """A narrow value -> the same as a wide one."""
        self._source: dict[SSAValue, SSAValue] = {}
        """The reverse."""
        self._narrowed: dict[tuple[SSAValue, Attribute, Block], SSAValue] = {}
        self._casts: list[tir.CastOp] = []
        """Casts from or to narrow floats."""
        self._entry = _end_of_parameters(func)

    def rewrite(self, ops: Sequence[Operation]) -> None:
        """Do it all."""
        ops = [op for op in ops if not self._round(op)]
        for op in ops:
            if isinstance(op, _Definition) and self._concerns(op.results[0].type):
                self._widen_memory(op)
        for op in ops:
            self._widen_results(op)
        for op in ops:
            self._convert_operands(op)
        self._drop_leftovers()

    def _round(self, op: Operation) -> bool:
        """Replaces a cast of another dtype to a narrow one, which rounds in any case.

        What it rounds is narrow, so that uses are as those of a loaded value.
        """
        if not isinstance(op, tir.CastOp) or not self._is_narrow(op.result.type):
            return False
        if self._is_narrow(op.value.type):
            return False
        owner = op.value.owner
        is_wide = isinstance(tir.element_of(op.value.type), Float32Type | Float64Type)
        if (
            is_wide
            and isinstance(owner, tir.CastOp)
            and owner.value.type == op.result.type
        ):
            if owner.value is op.result:
                return False
            # Widening is exact, so that nothing is rounded.
            op.result.replace_all_uses_with(owner.value)
            Rewriter.erase_op(op)
            return True
        code = ConversionCode()
        value, single = op.value, tir.like_lanes(f32, op.value.type)
        if value.type not in (single, tir.like_lanes(self._wide, value.type)):
            cast = tir.CastOp(value, single)
            code.ops.append(cast)
            value = cast.result
        found = code.convert(value, op.result.type)
        self._insert(code.ops, op, InsertPoint.before(op))
        op.result.replace_all_uses_with(found)
        Rewriter.erase_op(op)
        return True

    # ---- memory ----

    def _widen_memory(self, definition: _Definition) -> None:
        """Make memory wide if it is accessed by element only, and its size is known."""
        if not _has_known_size(definition):
            return
        for value in _reached(definition.results[0]) or ():
            self._retype(value)

    def _retype(self, value: SSAValue) -> SSAValue:
        """The value with a wide type in the place of a narrow one."""
        old = value.type
        new = Rewriter.replace_value_with_new_type(value, self._wide_type(old))
        self._was[new] = old
        return new

    def _wide_type(self, type_: Attribute) -> Attribute:
        match type_:
            case tir.PtrType():
                return tir.PtrType(self._wide_type(type_.element_type), type_.scope)
            case tir.BufferType():
                element = self._wide_type(type_.element_type)
                return tir.BufferType(type_.shape, element, type_.scope)
            case _:
                return tir.like_lanes(self._wide, type_)

    # ---- results ----

    def _widen_results(self, op: Operation) -> None:
        if isinstance(op, tir.ReducerOp):
            self._widen_reducer(op)
            return
        if isinstance(op, tir.LoadOp):
            if op.buffer in self._was and self._is_narrow(op.result.type):
                self._retype(op.result)
            return
        for result in op.results:
            if self._is_narrow(result.type) and computes(op):
                self._retype(result)

    def _widen_reducer(self, op: tir.ReducerOp) -> None:
        if not any(self._is_narrow(each.type) for each in op.identities):
            return
        op.properties["identity"] = ArrayAttr(
            constant_attr(each.value.data, self._wide)
            if self._is_narrow(each.type)
            else each
            for each in op.identities
        )
        for argument in op.combiner.block.args:
            if self._is_narrow(argument.type):
                self._retype(argument)

    # ---- operands ----

    def _convert_operands(self, op: Operation) -> None:
        concerned = False
        for index, operand in enumerate(tuple(op.operands)):
            was = self._was.get(operand)
            narrow = operand.type if was is None else was
            if not self._is_narrow(narrow):
                continue
            concerned = True
            needed = self._needed(op, operand, narrow)
            if needed == operand.type:
                continue
            if needed == narrow:
                op.operands[index] = self._as_narrow(operand, needed, op)
            else:
                op.operands[index] = self._as_wide(operand)
        if isinstance(op, tir.CastOp) and op.result not in self._was:
            was = self._was.get(op.value)
            if was is not None:
                # What is cast to another dtype is rounded, as C's casts do.
                op.operands[0] = self._as_wide(self._as_narrow(op.value, was, op))
        if isinstance(op, tir.CastOp) and (concerned or op.result in self._was):
            self._casts.append(op)
            source = self._source.get(op.value)
            if source is not None and op.value.type == op.result.type:
                self._source[op.result] = source

    def _needed(self, op: Operation, operand: SSAValue, narrow: Attribute) -> Attribute:
        """The type that an op needs an operand to have."""
        match op:
            case tir.StoreOp():
                is_wide = op.buffer in self._was
            case tir.ThreadAllreduceOp():
                self._require_wide_places(op)
                is_wide = True
            case tir.YieldOp():
                parent = op.parent_op()
                is_wide = isinstance(parent, tir.IfThenElseOp | tir.ReducerOp)
            case tir.EvaluateOp():
                return operand.type
            case _:
                is_wide = computes(op)
        return tir.like_lanes(self._wide, narrow) if is_wide else narrow

    def _as_wide(self, value: SSAValue) -> SSAValue:
        """A narrow value as a wide one, converted where it is defined."""
        found = self._widened.get(value)
        if found is not None:
            return found
        target = tir.like_lanes(self._wide, value.type)
        constant = _constant_of(value)
        code = ConversionCode()
        if constant is None:
            found = code.convert(value, target)
        else:
            found = code.constant(constant, target)
        self._insert(code.ops, value.owner, self._after(value))
        self._widened[value] = found
        self._source[found] = value
        return found

    def _after(self, value: SSAValue) -> InsertPoint:
        owner = value.owner
        if isinstance(owner, Operation):
            return InsertPoint.after(owner)
        if owner.parent_op() is self._func and self._entry is not None:
            return InsertPoint.after(self._entry)
        return InsertPoint.at_start(owner)

    def _as_narrow(self, value: SSAValue, target: Attribute, user: Operation) -> SSAValue:
        """A wide value rounded before `user`, which needs it narrow."""
        source = self._source.get(value)
        if source is not None and source.type == target:
            return source
        block = cast(Block, user.parent)
        found = self._narrowed.get((value, target, block))
        if found is None:
            code = ConversionCode()
            found = code.convert(value, target)
            self._insert(code.ops, user, InsertPoint.before(user))
            self._narrowed[value, target, block] = found
        return found

    def _insert(
        self, ops: Sequence[Operation], like: Operation | Block, point: InsertPoint
    ) -> None:
        if isinstance(like, Operation):
            for op in ops:
                op.location = like.location
        Rewriter.insert_op(ops, point)

    def _require_wide_places(self, op: tir.ThreadAllreduceOp) -> None:
        for place in op.places:
            if self._concerns(place.buffer.type):
                raise fail(
                    op,
                    f"it stores to memory that stays {element_name(place.buffer.type)}, "
                    f"but reduces in {element_name(self._wide)}; reduce into an "
                    "allocation of constant size that is accessed by element only",
                )

    # ---- the end ----

    def _drop_leftovers(self) -> None:
        """Erase casts that convert nothing any more, and narrow constants without use."""
        for op in self._casts:
            if op.value.type == op.result.type and op.value is not op.result:
                op.result.replace_all_uses_with(op.value)
                Rewriter.erase_op(op)
        erase_if_unused(
            [each for each in self._widened if _constant_of(each) is not None]
        )


def computes(op: Operation) -> bool:
    """Whether an op exists for wide values as for narrow ones."""
    if isinstance(op, tir.BroadcastOp):
        return not isinstance(op.value.owner, tir.ConstOp)
    if isinstance(op, _COMPUTING):
        return True
    if not isinstance(op, tir.CallOp):
        return False
    name = op.callee.data
    known = tir.INTRINSICS.get(name)
    if known is None or known.result.rule not in _BY_OPERANDS:
        return False
    return known.effect <= CallEffect.PURE or name in _SHUFFLES


def _has_known_size(definition: _Definition) -> bool:
    """Whether memory has a constant number of elements, and some at all."""
    if isinstance(definition, tir.AllocBufferOp):
        extents: Iterable[int] = definition.type.get_shape()
    else:
        extents = definition.static_extents.get_values()
    return all(extent > 0 for extent in extents)


def _reached(memory: SSAValue) -> list[SSAValue] | None:
    """The pointers and buffers of some memory that is accessed by element only.

    None if anything else uses it, or accesses elements of another dtype.
    """
    element = _scalar_in(memory)
    found: list[SSAValue] = []
    pending = [memory]
    while pending:
        value = pending.pop()
        if _scalar_in(value) != element:
            return None
        found.append(value)
        for use in value.uses:
            match use.operation:
                case tir.DeclBufferOp() | tir.MatchRegionOp() as view:
                    pending.append(view.buffer)
                case tir.DataOp() as data:
                    pending.append(data.result)
                case (
                    tir.LoadOp()
                    | tir.StoreOp()
                    | tir.ReadsOp()
                    | tir.WritesOp()
                    | tir.ThreadAllreduceOp()
                ):
                    pass
                case tir.AttrOp() as attribute if attribute.node is value:
                    pass
                case _:
                    return None
    return found


def _scalar_in(value: SSAValue) -> Attribute:
    """The scalar type of the elements at a pointer or in a buffer."""
    return tir.element_of(cast("tir.PtrType | tir.BufferType", value.type).element_type)


def _constant_of(value: SSAValue) -> float | None:
    """The number that a constant is, or all lanes of a vector; None for other values."""
    owner = value.owner
    if isinstance(owner, tir.BroadcastOp):
        owner = owner.value.owner
    return owner.literal if isinstance(owner, tir.ConstOp) else None


def _end_of_parameters(func: tir.FuncOp) -> Operation | None:
    """The last of the ops at the start of a function that declare its parameters."""
    last = None
    for op in func.body.block.ops:
        if not isinstance(op, tir.MatchBufferOp | tir.ShapeVarOp):
            break
        last = op
    return last
