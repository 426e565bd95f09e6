"""Pointers that are passed to packed functions become arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, Signedness, i32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.tir.forms import enclosing_function
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_handle
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.tir.rewriting.copied_expressions import ExpressionCopier
from xdsl_tvm.passes.tir.rewriting.statements import describe

_CALL = "tvm_call_cpacked"
_UI32 = IntegerType(32, Signedness.UNSIGNED)
_UI64 = IntegerType(64, Signedness.UNSIGNED)


@dataclass(frozen=True)
class LegalizePackedCalls(CompilerPass):
    """Summary: Wraps pointers that are passed to packed functions as arrays.

    TVM name: tir.LegalizePackedCalls (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %r = tir.call "tvm_call_cpacked"(%s, %p, %null)
                : (!tir.handle, !tir.ptr<f32>, !tir.handle) -> i32

        after, where `%s` is the string "f", and `@f` has one parameter with a buffer of
        type `!tir.buffer<4x4xf32>`

            %shape = tir.call "tvm_stack_make_shape"(%c4, %c4) : (i32, i32) -> !tir.handle
            %strides = tir.call "reinterpret"(%zero) : (ui64) -> !tir.handle
            %x = tir.cast %c0 : i32 to f32
            %a = tir.call "tvm_stack_make_array"(%p, %shape, %strides, %ndim, %x, %c0)
                : (!tir.ptr<f32>, !tir.handle, !tir.handle, ui32, f32, i32) -> !tir.handle
            %r = tir.call "tvm_call_cpacked"(%s, %a, %null)
                : (!tir.handle, !tir.handle, !tir.handle) -> i32

        A pointer or handle for a parameter without a buffer becomes an array without
        dimensions, whose dtype is handle. Extents that depend on scalar parameters of the
        function are computed of the arguments. Time is linear in the size of the module,
        and in that of the shapes at each call.
    Leaves alone: arguments that are parameters of the caller, scalars, and arrays that
        `tvm_stack_make_array` made; the last operand; calls whose value is used; calls
        without a handle as last operand
    Errors: a name that no function of the module has, a function that is no TIR
        function, another number of arguments than parameters; a shape or an offset that
        depends on more than constants and scalar parameters of the function
    Attributes: read: none; created: none; removed: none
    Differs from TVM: scalars are passed as they are; TVM wraps those that are no
        parameter of the caller as the data of an array, which the function misreads.
        Symbolic extents are computed of the arguments, or refused; TVM uses the variables
        of the function in the caller. A symbolic offset, which the function binds, is 0.
        The value that says that an array is one of handles is the null handle; TVM casts
        0, and only `reinterpret` makes handles here.
        A function without a body, or of another dialect, is an error; TVM reads undefined
        memory.
    """

    name = "tir-legalize-packed-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols: dict[str, Operation] | None = None
        for call in ops_of(op, tir.CallOp):
            if call.callee.data == _CALL and _is_statement(call):
                if symbols is None:
                    symbols = module_symbols(op)
                _legalize(call, symbols)


def _is_statement(call: tir.CallOp) -> bool:
    return call.result is None or all(
        isinstance(use.operation, tir.EvaluateOp) for use in call.result.uses
    )


def _legalize(call: tir.CallOp, symbols: dict[str, Operation]) -> None:
    if len(call.args) < 2 or not isinstance(call.args[0].owner, tir.StringOp):
        return
    arguments = call.args[1:-1]
    wrapped = [index for index, value in enumerate(arguments) if _is_wrapped(call, value)]
    name = call.args[0].owner.value.data
    callee = symbols.get(name)
    if not isinstance(callee, tir.FuncOp):
        what = "is no TIR function" if callee is not None else "cannot be found"
        raise PassFailedException(
            f"{describe(call)}: calls '{name}', which {what} in the module; define it as "
            "a tir.func, whose parameters say which arrays to pass"
        )
    if not wrapped:
        return
    inputs = callee.function_type.inputs
    if callee.is_declaration or len(arguments) != len(inputs):
        has = "no body" if callee.is_declaration else f"{len(inputs)} parameters"
        raise PassFailedException(
            f"{describe(call)}: passes {len(arguments)} arguments to '{name}', which has "
            f"{has}; pass as many as the function has, and define it"
        )
    maker = _ArrayMaker(call, callee)
    for index in wrapped:
        call.operands[1 + index] = maker.array(index)


def _is_wrapped(call: tir.CallOp, value: SSAValue) -> bool:
    """Whether an argument is a pointer, and no parameter of the caller."""
    owner = value.owner
    if not is_handle(value.type):
        return False
    if isinstance(value, BlockArgument):
        return value.block.parent_op() is not enclosing_function(call)
    return not (
        isinstance(owner, tir.StringOp)
        or (isinstance(owner, tir.CallOp) and owner.callee.data == "tvm_stack_make_array")
    )


class _ArrayMaker:
    """Makes the arrays for a call of a function."""

    def __init__(self, call: tir.CallOp, callee: tir.FuncOp) -> None:
        self._call = call
        self._buffers = {param.index: op for param, op in callee.buffer_map.items()}
        scalars: dict[SSAValue, SSAValue] = {
            param: argument
            for param, argument in zip(callee.args, call.args[1:-1], strict=True)
            if param.type == argument.type and not is_handle(param.type)
        }
        self._copier = ExpressionCopier(_is_copied, self._fail, self._insert, scalars)

    def _insert(self, op: Operation) -> None:
        block = self._call.parent
        assert block is not None, "held by the caller"
        op.location = self._call.location
        block.insert_op_before(op, self._call)

    def _fail(self, value: SSAValue) -> NoReturn:
        raise PassFailedException(
            f"{describe(self._call)}: the shape of a buffer of '{self._name}' depends on "
            f"'{value.name_hint or 'a value'}', which the caller does not know; pass it "
            "as a scalar parameter, or use constant extents"
        )

    @property
    def _name(self) -> str:
        name = self._call.args[0].owner
        assert isinstance(name, tir.StringOp)
        return name.value.data

    def array(self, index: int) -> SSAValue:
        """The array of an argument, with the shape that the function expects."""
        buffer = self._buffers.get(index)
        data = self._call.args[1 + index]
        extents: list[SSAValue] = []
        dtype: Attribute = tir.HandleType()
        offset: SSAValue | None = None
        if buffer is not None:
            extents = [self._extent(buffer, extent) for extent in buffer.shape]
            dtype = buffer.type.element_type
            offset = self._offset(buffer)
        shape = self._call_of("tvm_stack_make_shape", extents)
        null = self._call_of("reinterpret", [self._number(0, _UI64)])
        rank = self._number(len(extents), _UI32)
        example = null if is_handle(dtype) else self._zero(dtype)
        if offset is None:
            offset = self._number(0, _UI64 if buffer is None else buffer.extent_type)
        return self._call_of(
            "tvm_stack_make_array", [data, shape, null, rank, example, offset]
        )

    def _zero(self, dtype: Attribute) -> SSAValue:
        """A value of a dtype, which alone counts."""
        element = tir.element_of(dtype)
        zero = tir.CastOp(self._number(0, i32), element)
        self._insert(zero)
        if element == dtype:
            return zero.result
        lanes = tir.BroadcastOp(zero, dtype)
        self._insert(lanes)
        return lanes.result

    def _extent(self, buffer: tir.MatchBufferOp, extent: int | SSAValue) -> SSAValue:
        if isinstance(extent, int):
            return self._number(extent, buffer.extent_type)
        return self._copier.copy(extent)

    def _offset(self, buffer: tir.MatchBufferOp) -> SSAValue | None:
        """The offset of the elements, None for 0 and one that the function binds."""
        offset = buffer.elem_offset
        if offset is None or isinstance(offset.owner, tir.ShapeVarOp):
            return None
        return self._copier.copy(offset)

    def _number(self, value: int, dtype: IntegerType) -> SSAValue:
        constant = tir.ConstOp(IntegerAttr(value, dtype))
        self._insert(constant)
        return constant.result

    def _call_of(self, name: str, args: list[SSAValue]) -> SSAValue:
        call = tir.CallOp(name, args, tir.HandleType())
        self._insert(call)
        return call.results[0]


def _is_copied(op: Operation) -> bool:
    return bool(op.results) and is_side_effect_free(op)
