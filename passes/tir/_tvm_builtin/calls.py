"""Calls of packed functions with their arguments on stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
    UnitAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Call, Expr, Value
from xdsl_tvm.analysis.tir.variable_names import variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import DataType, TypeCode, data_type
from xdsl_tvm.dialects.tir.types import is_handle
from xdsl_tvm.passes.tir._tvm_builtin.stacks import Stacks
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.statements import describe

HANDLE: Final = tir.HandleType()
_UI8: Final = IntegerType(8, Signedness.UNSIGNED)
_UI16: Final = IntegerType(16, Signedness.UNSIGNED)
_UI64: Final = IntegerType(64, Signedness.UNSIGNED)
_SET_ITEM: Final = {
    "anylist_setitem_call_packed": "tvm_call_packed",
    "anylist_setitem_call_cpacked": "tvm_call_cpacked",
}
PACKED_CALLS: Final[Mapping[str, str]] = {
    "tvm_call_packed": "tvm_call_packed_lowered",
    "tvm_call_cpacked": "tvm_call_cpacked_lowered",
    "tvm_call_trace_packed": "tvm_call_trace_packed_lowered",
    "anylist_setitem_call_packed": "tvm_call_packed_lowered",
    "anylist_setitem_call_cpacked": "tvm_call_cpacked_lowered",
}
"""What calls by name become."""
MAKE_SHAPE: Final = "tvm_stack_make_shape"
MAKE_ARRAY: Final = "tvm_stack_make_array"
GET_ITEM: Final = "anylist_getitem"
"""A register, which calls are passed by its list and its index."""


@dataclass(frozen=True)
class Device:
    """What a call knows of the device: values, or constants, or None for unknown."""

    kind: SSAValue | int | None = None
    number: SSAValue | int | None = None


@dataclass
class Counters:
    """How many slots, arrays and extents are in use."""

    arguments: int = 0
    arrays: int = 0
    extents: int = -1


@dataclass
class PackedCall:
    """A call, and where it is."""

    op: tir.CallOp
    stacks: Stacks
    device: Device
    nested: list[PackedCall] = field(default_factory=list["PackedCall"])
    """Calls whose results are among the arguments, and nowhere else."""
    start: Counters = field(default_factory=Counters)

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The operands that the function gets."""
        args = self.op.args
        if self.op.callee.data in _SET_ITEM:
            args = args[2:]
        is_c = PACKED_CALLS[self.op.callee.data] == "tvm_call_cpacked_lowered"
        return args[1:-1] if is_c else args[1:]

    def assign(self, counters: Counters, depth: int = 0) -> None:
        """Say which slots, arrays and extents the call and those in it use.

        A call among the arguments uses what comes after that of the call around it.
        """
        self.start = replace(counters)
        used = replace(counters, arguments=counters.arguments + len(self.arguments) + 1)
        by_op = {each.op: each for each in self.nested}
        for argument in self.arguments:
            owner = _without_casts(argument)
            inner = by_op.get(owner) if isinstance(owner, tir.CallOp) else None
            if inner is not None and depth < _DEEPEST:
                inner.assign(used, depth + 1)
            else:
                _count(owner, used)


_DEEPEST: Final = 64
"""Calls within each other that have slots of their own; deeper ones begin anew."""


def _without_casts(value: SSAValue) -> Operation | Block:
    owner = value.owner
    while isinstance(owner, tir.CastOp):
        owner = owner.value.owner
    return owner


def _count(owner: Operation | Block, used: Counters) -> None:
    """Count the arrays and extents that an argument puts on the stacks."""
    if not isinstance(owner, tir.CallOp):
        return
    if owner.callee.data == MAKE_SHAPE:
        used.extents = max(used.extents, 0) + len(owner.args)
    elif owner.callee.data == MAKE_ARRAY:
        used.arrays += 1
        for operand in owner.args[1:3]:
            _count(operand.owner, used)


def nest(calls: Sequence[PackedCall]) -> list[PackedCall]:
    """Put calls into those that alone use their results; the outermost ones."""
    by_op = {call.op: call for call in calls}
    outermost: list[PackedCall] = []
    for call in calls:
        user = _only_user(call.op)
        outer = by_op.get(user) if isinstance(user, tir.CallOp) else None
        if outer is not None and outer.stacks is call.stacks and outer is not call:
            outer.nested.append(call)
        else:
            outermost.append(call)
    return outermost


def _only_user(op: tir.CallOp) -> Operation | None:
    found: Operation = op
    while len(found.results) == 1:
        uses = list(found.results[0].uses)
        if len(uses) != 1:
            return None
        found = uses[0].operation
        if not isinstance(found, tir.CastOp):
            return found
    return None


class CallLowering:
    """Writes what stores the arguments of a call, and the lowered call."""

    def __init__(self, call: PackedCall) -> None:
        self._call = call
        self._op = call.op
        self._stacks = call.stacks
        self._code = LoopCode(InsertPoint.before(call.op))
        self._used = replace(call.start)

    def run(self) -> None:
        """Replace the call."""
        arguments = self._call.arguments
        begin = self._used.arguments
        end = begin + len(arguments)
        self._used.arguments = end + 1
        values = [self._argument(argument) for argument in arguments]
        used = self._used
        self._stacks.needs(used.arguments, used.arrays, used.extents)
        for slot, value in enumerate(values, begin):
            self._write(slot, value)
        self._replace(begin, end)

    def _number(self, value: int, dtype: Attribute = i32) -> SSAValue:
        return self._code.value(smart.const(value, dtype))

    def _tree(self, value: SSAValue) -> Expr:
        constant = tir.constant_value(value)
        return Value(value) if constant is None else smart.const(constant, value.type)

    # ---- arguments ----

    def _argument(self, value: SSAValue) -> SSAValue:
        """What is passed for an argument, of the type that slots hold."""
        owner = value.owner
        if isinstance(owner, tir.CallOp):
            if owner.callee.data == MAKE_SHAPE:
                return self._shape(owner)
            if owner.callee.data == MAKE_ARRAY:
                return self._array(owner)
        dtype = self._slot_type(value)
        if value.type == dtype or is_handle(value.type):
            return value
        # A cast even of a literal, as in the text of TVM.
        cast = tir.CastOp(value, dtype)
        self._code.insert(cast)
        return cast.result

    def _slot_type(self, value: SSAValue) -> Attribute:
        dtype = value.type
        if is_handle(dtype):
            return HANDLE
        if tir.is_scalar(dtype) and tir.is_integer(dtype):
            return i64
        if dtype in _FLOATS:
            return f64
        raise PassFailedException(
            f"{describe(self._op)}: passes a {tir.dtype_name(dtype)}, which no packed "
            "argument is; pass integers, floats of 16 to 64 bits, handles or arrays"
        )

    def _shape(self, op: tir.CallOp) -> SSAValue:
        """Store extents; their address."""
        base = max(self._used.extents, 0)
        self._used.extents = base + len(op.args)
        for place, extent in enumerate(op.args, base):
            value = self._code.value(smart.cast(i64, self._tree(extent)))
            index = self._number(place)
            self._code.insert(tir.StoreOp(value, self._stacks.shape_buffer, [index]))
        view = tir.DeclBufferOp(
            self._stacks.shapes, tir.BufferType([base + 1], i64), name="stack_shape"
        )
        view.properties["implicit"] = UnitAttr()
        self._code.insert(view)
        address = tir.AddressOfOp(view.buffer, [self._number(base)])
        self._code.insert(address)
        return address.results[0]

    def _array(self, op: tir.CallOp) -> SSAValue:
        """Set the fields of an array; its address."""
        index = self._used.arrays
        self._used.arrays += 1
        data, shape, strides, rank, example, offset = op.args
        shape, strides = self._sizes(shape), self._sizes(strides)
        element = self._data_type(op, example.type)
        size = tir.lanes_of(example.type) * tir.bytes_of_lane(example.type)
        bytes_before = smart.mul(
            smart.cast(_UI64, self._tree(offset)), smart.const(size, _UI64)
        )
        device = self._call.device
        fields: list[tuple[StructField, Expr]] = [
            (StructField.ARRAY_DATA, Value(data)),
            (StructField.ARRAY_SHAPE, Value(shape)),
            (StructField.ARRAY_STRIDES, Value(strides)),
            (StructField.ARRAY_NDIM, smart.cast(i32, self._tree(rank))),
            (StructField.ARRAY_TYPE_CODE, smart.const(element.code, _UI8)),
            (StructField.ARRAY_TYPE_BITS, smart.const(element.bits, _UI8)),
            (StructField.ARRAY_TYPE_LANES, smart.const(element.lanes, _UI16)),
            (StructField.ARRAY_BYTE_OFFSET, bytes_before),
            (StructField.ARRAY_DEVICE_ID, known_number(op, device)),
            (StructField.ARRAY_DEVICE_TYPE, known_kind(op, device)),
        ]
        for field_, value in fields:
            self._set(self._stacks.arrays, index, field_, self._code.value(value))
        arrays = Value(self._stacks.arrays)
        args = (arrays, smart.const(index, i32), smart.const(0, i32))
        return self._code.value(self._code.call("tvm_struct_get", args, HANDLE))

    def _sizes(self, value: SSAValue) -> SSAValue:
        """The address of extents or strides; null for the constant 0."""
        owner = value.owner
        if isinstance(owner, tir.CallOp) and owner.callee.data == MAKE_SHAPE:
            return self._shape(owner)
        if is_handle(value.type):
            return value
        null = Call("reinterpret", (smart.const(0, _UI64),), HANDLE)
        return self._code.value(null)

    def _data_type(self, op: tir.CallOp, dtype: Attribute) -> DataType:
        try:
            return data_type(dtype)
        except ValueError as error:
            raise PassFailedException(
                f"{describe(op)}: {error}, so that no array of it can be passed; use "
                "another dtype, or lower it before"
            ) from error

    def _set(
        self, base: SSAValue, index: int, field_: StructField, value: SSAValue
    ) -> None:
        args = [base, self._number(index), self._number(int(field_)), value]
        self._code.insert(tir.CallOp("tvm_struct_set", args, i32))

    def _write(self, slot: int, value: SSAValue) -> None:
        """Store an argument and its type code."""
        owner = value.owner
        if isinstance(owner, tir.CallOp) and owner.callee.data == GET_ITEM:
            stacks = self._stacks
            args = [*owner.args, stacks.values, stacks.codes, self._number(slot)]
            self._code.insert(tir.CallOp("TVMBackendAnyListSetPackedArg", args, i32))
            return
        self._set(self._stacks.values, slot, StructField.VALUE_CONTENT, value)
        code = _code_of(value)
        if code is not TypeCode.HANDLE:
            self._set_code(self._code, slot, code)
            return
        branches: list[Region] = []
        for code in (TypeCode.NULL, TypeCode.HANDLE):
            block = Block()
            self._set_code(LoopCode(InsertPoint.at_end(block)), slot, code)
            branches.append(Region(block))
        null = self._code.value(Call("isnullptr", (Value(value),), i1))
        self._code.insert(tir.IfOp(null, *branches))

    def _set_code(self, code: LoopCode, slot: int, number: TypeCode) -> None:
        place = code.value(smart.const(slot, i32))
        value = code.value(smart.const(int(number), i32))
        code.insert(tir.StoreOp(value, self._stacks.code_buffer, [place]))

    # ---- the call ----

    def _replace(self, begin: int, end: int) -> None:
        op, stacks = self._op, self._stacks
        name, sets_item = op.callee.data, op.callee.data in _SET_ITEM
        args = [
            op.args[2 if sets_item else 0],
            stacks.values,
            stacks.codes,
            self._number(begin),
            self._number(end),
        ]
        lowered = PACKED_CALLS[name]
        if lowered == "tvm_call_cpacked_lowered":
            args.append(self._resource(op.args[-1]))
        elif lowered == "tvm_call_trace_packed_lowered":
            args.append(op.args[-1])
        call = tir.CallOp(
            lowered, args, i32 if sets_item or op.result is None else op.result.type
        )
        call.attributes |= op.attributes
        if sets_item:
            self._code.insert(call)
            stack = [stacks.values, stacks.codes, self._number(end)]
            call = tir.CallOp(_MOVE_ITEM, [*op.args[:2], *stack], i32)
        call.location = op.location
        hint = None if op.result is None else op.result.name_hint
        Rewriter.replace_op(op, call, call.results if op.result is not None else ())
        call.results[0].name_hint = hint

    def _resource(self, value: SSAValue) -> SSAValue:
        """The handle of a resource; of a variable its name, as in TVM."""
        if not isinstance(value, BlockArgument) and not isinstance(
            value.owner, tir.LetOp
        ):
            return value
        name = tir.StringOp(variable_name(value))
        self._code.insert(name)
        return name.result


_MOVE_ITEM: Final = "TVMBackendAnyListMoveFromPackedReturn"
_FLOATS: Final = tuple(map(tir.parse_dtype, ("float16", "float32", "float64")))


def _code_of(value: SSAValue) -> TypeCode:
    """The type code of what is stored to a slot; HANDLE may turn out to be null."""
    owner = value.owner
    if value.type == i64:
        return TypeCode.INT
    if value.type == f64:
        return TypeCode.FLOAT
    if isinstance(owner, tir.StringOp):
        return TypeCode.STRING
    is_array = (
        isinstance(owner, tir.CallOp)
        and owner.callee.data == "tvm_struct_get"
        and tir.is_constant(owner.args[2], int(StructField.ARRAY_ADDRESS))
    )
    return TypeCode.DLTENSOR if is_array else TypeCode.HANDLE


# ---- the device ----


def known_kind(op: Operation, device: Device) -> Expr:
    """The type of the device, `i32`; PassFailedException where nothing says it."""
    if device.kind is None:
        raise PassFailedException(
            f"{describe(op)}: requires the device type, but occurred outside of a "
            '"device_type" annotation, in a function without a target; bind one, or put '
            'a tir.attr "device_type" around it'
        )
    return _number_of(device.kind)


def known_number(op: Operation, device: Device) -> Expr:
    """The number of the device, `i32`; PassFailedException where nothing says it."""
    if device.number is None:
        raise PassFailedException(
            f"{describe(op)}: requires the device id, but occurred outside of a "
            '"device_id" annotation; put a tir.attr "device_id" around it'
        )
    return _number_of(device.number)


def _number_of(value: SSAValue | int) -> Expr:
    if isinstance(value, int):
        return smart.const(value, i32)
    return smart.cast(i32, Value(value))
