"""Index arithmetic in 32 bits, proven to fit or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._narrowing import Narrower, is_wide, variables_of
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_LOW, _HIGH = integer_range(i32)


@dataclass(frozen=True)
class ForceNarrowIndexToInt32(CompilerPass):
    """Summary: Computes all indices in 32 bits, and makes parameters, extents and
        variables of that width, on the word of the caller that they fit.

    TVM name: tir.ForceNarrowIndexToInt32 (v0.20)
    Input form: any
    Output form: the same, without integers of more than 32 bits in indices, except where
        they are read from memory or come from calls
    Options: none
    Rewrites: before

            tir.func @f(%a: !tir.handle, %n: i64) {
              %A = tir.match_buffer %a : !tir.buffer<64xf32>
              tir.for %i = %c0 to %n {
                %0 = tir.add %i, %c1 : i64
                tir.store %x, %A[%0] : f32
              }
            }

        after, with constants of type `i32`

            tir.func @f(%a: !tir.handle, %n: i32) {
              %A = tir.match_buffer %a : !tir.buffer<64xf32>
              tir.for %i = %c0 to %n {
                %0 = tir.add %i, %c1 : i32
                tir.store %x, %A[%0] : f32
              }
            }

        Scalar parameters, symbolic extents, variables of loops, launches and blocks, and
        bindings that indices are made of become `i32`. So do constants and casts in
        indices, bounds of loops, extents, strides and offsets of buffers, and conditions.
        Calls of functions of the module cast what they pass. Callers pass 32-bit scalars
        from then on; where a value does not fit, results are wrong. Time is linear in the
        size of the module.
    Leaves alone: unsigned integers, and those of 32 bits and less; results of functions;
        declarations; arguments of calls, except of bit operations, shifts and `clz`
    Errors: a buffer of a parameter, or of a block, that has signed integers of more than
        32 bits: use another type; a signed constant, or a static extent or stride of
        64-bit type, outside of 32 bits; an index that is outside of 32 bits for all
        values of its variables: use 64-bit indices
    Attributes: read: none; created: none; removed: none
    Differs from TVM: stored values are computed in 64 bits where they were and may need
        them: TVM narrows all constants, and with them what they are combined with. Very
        negative constants are errors, too. Shifts by 32 and more, and `clz` of what may
        be negative, stay 64 bits wide. Parameters of 8 and 16 bits stay as they are. TVM
        calls the pass tir.NarrowDataType where it names it to instruments.
    """

    name = "tir-force-narrow-index-to-int32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        funcs = [func for func in ops_of(op, tir.FuncOp) if not func.is_declaration]
        for func in funcs:
            for inner in func.walk():
                _check(inner)
        for func in funcs:
            _narrow(func)
        _convert_arguments(funcs, op)


def _narrow(func: tir.FuncOp) -> None:
    narrower = Narrower(func, i32, forced=True)

    def check(value: SSAValue) -> None:
        if value in narrower.ranges.bounds and narrower.ranges.never_fits(value):
            owner = value.owner
            assert isinstance(owner, Operation)
            raise PassFailedException(
                f"{describe(owner)} is between {narrower.ranges.bounds[value]}, which 32 "
                "bits do not hold; use 64-bit indices"
            )

    narrower.check = check
    narrower.narrow(v for v in _variables(func) if is_wide(v.type, i32))


def _variables(func: tir.FuncOp) -> Iterator[SSAValue]:
    yield from func.args
    for op in func.walk():
        yield from variables_of(op)
        if isinstance(op, tir.ShapeVarOp):
            yield op.result


def _check(op: Operation) -> None:
    match op:
        case tir.ConstOp() if is_wide(op.result.type, i32):
            _require_32_bits(op, int(op.literal), "the constant")
        case tir.BufferDefinition():
            _check_buffer(op)
        case _:
            pass


def _check_buffer(op: tir.BufferDefinition) -> None:
    if isinstance(op, tir.MatchBufferOp | tir.AllocBufferOp) and is_wide(
        op.type.element_type, i32
    ):
        raise PassFailedException(
            f"{describe(op)} has data of type {op.type.element_type}, which cannot be "
            "told from indices; use a buffer of i32 or of unsigned integers"
        )
    if is_wide(op.extent_type, i32):
        for size in (*op.shape, *op.layout_strides):
            if isinstance(size, int):
                _require_32_bits(op, size, "the extent or stride")


def _require_32_bits(op: Operation, value: int, what: str) -> None:
    if not _LOW <= value <= _HIGH:
        raise PassFailedException(
            f"{describe(op)}: {what} {value} does not fit 32 bits; use 64-bit indices"
        )


def _convert_arguments(funcs: list[tir.FuncOp], module: ModuleOp) -> None:
    """Let calls within the module pass what the functions now take."""
    types = {func.sym_name.data: func.function_type.inputs.data for func in funcs}
    for call in list(module.walk()):
        if not isinstance(call, tir.CallFuncOp):
            continue
        inputs = types.get(call.callee.root_reference.data, ())
        for position, dtype in enumerate(inputs):
            value = call.args[position]
            if value.type != dtype and tir.is_int(dtype):
                call.operands[position] = _as_32_bits(value, dtype, call)
                erase_if_unused((value,))


def _as_32_bits(value: SSAValue, dtype: Attribute, call: Operation) -> SSAValue:
    owner = value.owner
    if isinstance(owner, tir.CastOp) and owner.value.type == dtype:
        return owner.value
    block = call.parent
    assert block is not None, "a call that was found in a module is in a block"
    cast = tir.CastOp(value, dtype)
    block.insert_op_before(cast, call)
    return cast.result
