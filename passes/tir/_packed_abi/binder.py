"""The argument binder: what a function knows of its arguments, defined and checked.

docs/spec/tir-passes-d-abi-and-pipelines.md III.2 and IV.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import reduce
from typing import Final, TypeGuard

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Call,
    Cmp,
    Expr,
    Value,
    leaf_values,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.script_text import script_text
from xdsl_tvm.analysis.tir.variable_names import buffer_variable_name, variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import Abi, DataType, data_type
from xdsl_tvm.dialects.tir.types import index_type_for
from xdsl_tvm.passes.tir._packed_abi.exposed import replace_buffer
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    describe_buffer,
)

HANDLE: Final = tir.HandleType()
_UI8: Final = IntegerType(8, Signedness.UNSIGNED)
_UI16: Final = IntegerType(16, Signedness.UNSIGNED)
_UI64: Final = IntegerType(64, Signedness.UNSIGNED)


def is_null(pointer: Expr) -> Expr:
    """Whether a pointer or a handle is null."""
    return Call("isnullptr", (pointer,), i1)


class ArgumentBinder:
    """Defines the variables of a function by its arguments, and checks the others.

    It writes at the end of a block, in the order of TVM's binder: `bind_parameter` and
    `bind_array` write what must come before memory is read, `write_checks` the rest. A
    variable is bound where it stands by itself for the first time; nothing is solved for.
    """

    def __init__(self, func: tir.FuncOp, symbol: str, body: Block, abi: Abi) -> None:
        self.code = LoopCode(InsertPoint.at_end(body))
        self.symbol = symbol
        self.abi = abi
        self.device_id: Expr | None = None
        """The device of the arrays, which the first of them says."""
        self._func = func
        self._scopes = ExitStack()
        self._analyzer = Analyzer()
        self._bound: dict[SSAValue, SSAValue] = {}
        """What the variables of the function are in the new one."""
        self._arrays: list[_Array] = []

    # ---- writing ----

    def field(self, base: Expr, index: int, field: StructField, dtype: Attribute) -> Expr:
        """A field of an array of DLTensors, or of packed values."""
        args = (base, smart.const(index, i32), smart.const(int(field), i32))
        return self.code.call("tvm_struct_get", args, dtype)

    def declared(
        self, name: str, pointer: Expr, length: int, dtype: Attribute
    ) -> SSAValue:
        """A buffer of one dimension at a pointer."""
        memory = self.code.value(pointer)
        op = tir.DeclBufferOp(memory, tir.BufferType([length], dtype), name=name)
        set_name_hint(op.buffer, name)
        self.code.insert(op)
        return op.buffer

    def enter(
        self, key: str, node: SSAValue | Attribute, value: SSAValue | Attribute
    ) -> None:
        """Put all that follows into a `tir.attr`."""
        self._scopes.enter_context(self.code.attribute(key, node, value))

    def check(self, condition: Expr, message: str) -> None:
        """Assert a condition here, unless it is constantly true."""
        if smart.literal(condition) != 1:
            self.code.insert(tir.AssertOp(self.code.value(condition), message))

    def check_equal(self, expected: Expr, given: Expr, name: str) -> None:
        """Assert that an argument has the value that it must have, where it may not.

        Raises PassFailedException if it never has it.
        """
        condition = Cmp(tir.CmpPredicate.EQ, expected, given)
        simplified = self._analyzer.simplify(condition)
        if smart.literal(simplified) == 0:
            raise PassFailedException(
                f"tir.func @{self._func.sym_name.data}: Bind have an unmet assertion: "
                f"{script_text(condition)},  on argument {name}; no argument meets it"
            )
        self.check(
            simplified,
            f"Argument {name} has an unsatisfied constraint: {script_text(condition)}",
        )

    def simplified(self, tree: Expr) -> Expr:
        """An equal tree, without assumptions."""
        return self._analyzer.simplify(tree)

    # ---- variables ----

    def bind_parameter(self, parameter: BlockArgument, given: Expr) -> None:
        """Define a parameter of the function."""
        dtype = parameter.type if isinstance(parameter.type, tir.PtrType) else None
        self.define(parameter, given, dtype)

    def rename(self, variable: SSAValue, value: SSAValue) -> None:
        """Let a parameter or a variable be a value of the new function."""
        self._bound[variable] = value

    def define(
        self, variable: SSAValue, given: Expr, dtype: Attribute | None = None
    ) -> None:
        """Define a variable by a binding."""
        let = self.code.let(variable_name(variable), given, dtype)
        self.rename(variable, self.code.value(let))

    def is_unbound(self, size: int | SSAValue | None) -> TypeGuard[SSAValue]:
        """Whether a size is a variable that nothing defines yet."""
        return (
            isinstance(size, SSAValue)
            and isinstance(size.owner, tir.ShapeVarOp)
            and size not in self._bound
        )

    def tree(self, size: int | SSAValue, dtype: Attribute) -> Expr:
        """An extent, a stride or an offset in variables that are bound.

        Raises PassFailedException for one that uses others.
        """
        if isinstance(size, int):
            return smart.const(size, dtype)
        tree = view(size)
        leaves = leaf_values(tree)
        unknown = [leaf for leaf in leaves if leaf not in self._bound]
        if unknown:
            raise self._undefined(unknown)
        return substitute(tree, {Value(v): Value(self._bound[v]) for v in leaves})

    def _undefined(self, unknown: Sequence[SSAValue]) -> PassFailedException:
        names = ", ".join(dict.fromkeys(map(variable_name, unknown)))
        return PassFailedException(
            f"tir.func @{self._func.sym_name.data}: In PrimFunc {self.symbol} variables "
            f"[{names}] are used, but are not passed in as API arguments; pass them as "
            "parameters, or as an extent, a stride or an offset of their own"
        )

    def replace_variables(self) -> None:
        """Let the body use what is bound, in the place of parameters and variables.

        Raises PassFailedException if it uses a variable that is not.
        """
        for variable, value in self._bound.items():
            variable.replace_all_uses_with(value)
        variables = [
            op for op in self._func.body.block.ops if isinstance(op, tir.ShapeVarOp)
        ]
        unknown = [op.result for op in variables if op.result.first_use is not None]
        if unknown:
            raise self._undefined(unknown)
        for op in variables:
            op.detach()
            op.erase()

    # ---- arrays ----

    def bind_array(self, match: tir.MatchBufferOp, device_type: int) -> None:
        """Define what a DLTensor says of a buffer and its variables.

        The checks that make it safe to read come first; all others are left to
        `write_checks`.
        """
        array = _Array(self, match, Value(self._bound[match.param]), device_type)
        array.define()
        self._arrays.append(array)

    def write_checks(self) -> None:
        """Write the checks of the arrays, in the order in which they were bound."""
        for array in self._arrays:
            array.check()

    def declare_arrays(self) -> None:
        """Declare the buffers of the arrays, and let the body use them."""
        for array in self._arrays:
            array.declare()


class _Array:
    """A DLTensor that is passed for a buffer."""

    def __init__(
        self,
        binder: ArgumentBinder,
        match: tir.MatchBufferOp,
        handle: Expr,
        device_type: int,
    ) -> None:
        self._binder = binder
        self._code = binder.code
        self._match = match
        self._handle = handle
        self._device_type = device_type
        self._name = f"{binder.symbol}.{variable_name(match.param)}"
        self._index_type: Attribute = match.extent_type
        self._bound_here = set[SSAValue]()
        """The extents, strides and offset that the array defines."""
        self._stride_values: dict[int, Expr] = {}
        """Of strides that the array must have."""
        self._strides_of_broadcast: list[SSAValue] = []
        """The strides of a buffer that broadcasts and has none of its own."""

    # ---- definitions ----

    def define(self) -> None:
        """Read what the checks of other arrays, and the body, may need."""
        rank = len(self._match.shape)
        self._binder.check(
            smart.negation(is_null(self._handle)),
            f"{self._name} is expected to have non-NULL DLTensor* pointer",
        )
        found = self._field(StructField.ARRAY_NDIM, i32)
        self._binder.check(
            smart.eq(smart.const(rank, i32), found),
            f"{self._name}.ndim is expected to equal {rank}",
        )
        self._shape = self._sizes("shape", StructField.ARRAY_SHAPE)
        for axis, extent in enumerate(self._match.shape):
            if self._binder.is_unbound(extent):
                self._define(extent, self._size(self._shape, axis, extent.type))
        self._given_strides = self._sizes("strides", StructField.ARRAY_STRIDES)
        self._define_strides()
        offset = self._match.elem_offset
        if self._binder.is_unbound(offset):
            self._define(offset, self._given_offset(offset.type))
        if self._binder.device_id is None:
            device_id = self._field(StructField.ARRAY_DEVICE_ID, i32)
            self._binder.device_id = self._code.let("dev_id", device_id)
            self._is_first = True
        else:
            self._is_first = False
        data = self._field(StructField.ARRAY_DATA, HANDLE)
        name = buffer_variable_name(self._match.buffer)
        self._data = self._code.let(name, data, self._match.type.pointer_type)
        alignment = IntegerAttr(self._match.alignment, i32)
        self._binder.enter("storage_alignment", self._code.value(self._data), alignment)

    def _define(self, variable: SSAValue, given: Expr) -> None:
        self._binder.define(variable, given)
        self._bound_here.add(variable)

    def _field(self, field: StructField, dtype: Attribute) -> Expr:
        return self._binder.field(self._handle, 0, field, dtype)

    def _sizes(self, what: str, field: StructField) -> SSAValue:
        """The extents or strides of the array as a buffer."""
        name = f"{self._name}.{what}"
        pointer = self._code.let(name, self._field(field, HANDLE), tir.PtrType(i64))
        return self._binder.declared(name, pointer, len(self._match.shape), i64)

    def _size(self, sizes: SSAValue, axis: int, dtype: Attribute) -> Expr:
        return smart.cast(dtype, self._code.load(sizes, smart.const(axis, i32)))

    def _extent(self, axis: int) -> Expr:
        return self._binder.tree(self._match.shape[axis], self._index_type)

    def _given_offset(self, dtype: Attribute) -> Expr:
        """The offset of the array in elements."""
        offset = self._field(StructField.ARRAY_BYTE_OFFSET, _UI64)
        size = smart.const(tir.bytes_of(self._match.type.element_type), _UI64)
        return smart.cast(dtype, smart.truncdiv(offset, size))

    # ---- strides ----

    def _has_no_strides(self) -> Expr:
        """Whether the array says that it is compact."""
        definition = self._given_strides.owner
        assert isinstance(definition, tir.DeclBufferOp), "declared above"
        return is_null(Value(definition.data))

    def _define_strides(self) -> None:
        """Define the strides that are variables, from the last to the first."""
        strides = self._match.layout_strides
        broadcasts = _broadcasts(self._match)
        if not strides and not broadcasts:
            return
        dtype = self._type_of(strides[-1] if strides else self._match.shape[-1])
        compact = smart.const(1, dtype)
        for axis in reversed(range(len(self._match.shape))):
            stride = strides[axis] if strides else None
            dtype = self._type_of(self._match.shape[axis] if stride is None else stride)
            compact = smart.cast(dtype, compact)
            value = self._stride(axis, compact, dtype, broadcasts=broadcasts)
            compact = self._outer_stride(axis, compact, dtype, broadcasts=broadcasts)
            if stride is None:
                let = self._code.let("stride", value)
                self._strides_of_broadcast.insert(0, self._code.value(let))
            elif self._binder.is_unbound(stride):
                self._define(stride, value)
            else:
                self._stride_values[axis] = value

    def _type_of(self, size: int | SSAValue) -> Attribute:
        return self._index_type if isinstance(size, int) else size.type

    def _outer_stride(
        self, axis: int, stride: Expr, dtype: Attribute, *, broadcasts: bool
    ) -> Expr:
        """The stride before a dimension of a compact array."""
        if axis == 0:
            return stride
        if not broadcasts:
            return smart.mul(stride, self._size(self._shape, axis, dtype))
        extent = smart.cast(dtype, self._extent(axis))
        return self._binder.simplified(smart.mul(stride, extent))

    def _stride(
        self, axis: int, compact: Expr, dtype: Attribute, *, broadcasts: bool
    ) -> Expr:
        """The stride that the array gives, or that it has as a compact one.

        The strides are only read where there are some.
        """
        given = Block()
        inside = LoopCode(InsertPoint.at_end(given))
        size = inside.load(self._given_strides, smart.const(axis, i32))
        inside.insert(tir.YieldOp(inside.value(smart.cast(dtype, size))))
        otherwise = Block()
        inside = LoopCode(InsertPoint.at_end(otherwise))
        # The compact stride is computed outside: later ones are made of it.
        inside.insert(tir.YieldOp(self._code.value(compact)))
        condition = self._code.value(self._has_no_strides())
        choice = tir.IfThenElseOp(condition, dtype, Region(otherwise), Region(given))
        self._code.insert(choice)
        value: Expr = Value(choice.result)
        if not broadcasts:
            return value
        one = smart.eq(self._extent(axis), smart.const(1, self._extent(axis).dtype))
        return smart.if_then_else(one, smart.const(0, dtype), value)

    # ---- checks ----

    def check(self) -> None:
        """Assert all else that the function relies on."""
        self._check_dtype()
        for axis, extent in enumerate(self._match.shape):
            if extent not in self._bound_here:
                expected = self._extent(axis)
                given = self._size(self._shape, axis, expected.dtype)
                self._check_equal(expected, given, f"shape[{axis}]")
        self._check_strides()
        self._check_offset()
        device_type = self._field(StructField.ARRAY_DEVICE_TYPE, i32)
        expected = smart.const(self._device_type, i32)
        self._check_equal(expected, device_type, "device_type")
        if not self._is_first:
            assert self._binder.device_id is not None, "defined by the first array"
            device_id = self._field(StructField.ARRAY_DEVICE_ID, i32)
            self._check_equal(self._binder.device_id, device_id, "device_id")
        self._check_data()

    def _check_equal(self, expected: Expr, given: Expr, what: str) -> None:
        self._binder.check_equal(expected, given, f"{self._name}.{what}")

    def _check_dtype(self) -> None:
        element = self._match.type.element_type
        expected = self._data_type(element)
        fields = (
            (StructField.ARRAY_TYPE_CODE, _UI8, expected.code),
            (StructField.ARRAY_TYPE_BITS, _UI8, expected.bits),
            (StructField.ARRAY_TYPE_LANES, _UI16, expected.lanes),
        )
        conditions = [
            smart.eq(self._field(field, dtype), smart.const(number, dtype))
            for field, dtype, number in fields
        ]
        self._binder.check(
            reduce(smart.conjunction, conditions),
            f"{self._name}.dtype is expected to be {tir.dtype_name(element)}",
        )

    def _data_type(self, element: Attribute) -> DataType:
        try:
            return data_type(element, self._binder.abi)
        except ValueError as error:
            raise PassFailedException(
                f"{describe(self._match)}: {error}, so that no array can be passed for "
                f"{describe_buffer(self._match.buffer)}; use another dtype, or lower it "
                "before"
            ) from error

    def _check_strides(self) -> None:
        strides = self._match.layout_strides
        if not strides and not self._strides_of_broadcast and self._match.shape:
            with self._code.otherwise(self._has_no_strides()):
                self._check_compact()
        for axis, value in reversed(list(self._stride_values.items())):
            expected = self._binder.tree(strides[axis], self._index_type)
            self._check_equal(expected, value, f"strides[{axis}]")

    def _check_compact(self) -> None:
        dtype = index_type_for(self._extent(0).dtype)
        expected = smart.const(1, dtype)
        conditions: list[Expr] = []
        for axis in reversed(range(len(self._match.shape))):
            extent = smart.cast(dtype, self._extent(axis))
            has_one = smart.eq(extent, smart.const(1, dtype))
            if smart.literal(has_one) != 1:
                stride = self._size(self._given_strides, axis, dtype)
                conditions.append(smart.disjunction(has_one, smart.eq(expected, stride)))
            expected = smart.mul(expected, extent)
        self._binder.check(
            reduce(smart.conjunction, conditions, smart.const(1, i1)),
            f"{self._name}.strides: expected to be compact array",
        )

    def _check_offset(self) -> None:
        offset = self._match.elem_offset
        number = 0 if offset is None else tir.constant_value(offset)
        if isinstance(number, int):
            size = tir.bytes_of(self._match.type.element_type)
            expected = smart.const(number * size, _UI64)
            given = self._field(StructField.ARRAY_BYTE_OFFSET, _UI64)
            self._check_equal(expected, given, "byte_offset")
            return
        assert offset is not None, "it is not 0"
        tree = self._binder.tree(offset, offset.type)
        if offset not in self._bound_here:
            self._check_equal(tree, self._given_offset(offset.type), "elem_offset")
            return
        factor = self._match.offset_factor
        if factor is not None and factor.value.data > 1:
            zero = smart.const(0, offset.type)
            remainder = smart.truncmod(tree, smart.const(factor.value.data, offset.type))
            self._check_equal(remainder, zero, "elem_offset")

    def _check_data(self) -> None:
        """Only arrays without elements may have no data."""
        shape = self._match.shape
        dtype = index_type_for(self._extent(0).dtype) if shape else i32
        count = smart.const(1, dtype)
        for axis in range(len(shape)):
            count = smart.mul(count, smart.cast(dtype, self._extent(axis)))
        is_empty = smart.eq(count, smart.const(0, dtype))
        self._binder.check(
            smart.disjunction(is_empty, smart.negation(is_null(self._data))),
            f"{self._name} is expected to have non-NULL data pointer",
        )

    # ---- declarations ----

    def declare(self) -> None:
        """Put a buffer on the data pointer in the place of the matched one."""
        match, binder, code = self._match, self._binder, self._code
        strides: list[int | SSAValue] = [
            stride
            if isinstance(stride, int)
            else code.value(binder.tree(stride, stride.type))
            for stride in match.layout_strides
        ]
        offset = match.elem_offset
        pointer = code.value(self._data)
        new = tir.DeclBufferOp(
            pointer,
            match.type,
            [code.value(binder.tree(each, each.type)) for each in match.extents],
            strides=strides or self._strides_of_broadcast,
            elem_offset=None
            if offset is None
            else code.value(binder.tree(offset, offset.type)),
        )
        take_after(new, match, "operandSegmentSizes")
        code.insert(new)
        replace_buffer(match, new)


def _broadcasts(match: tir.MatchBufferOp) -> bool:
    """Whether dimensions of one element have the stride 0.

    Code that accesses the memory without the strides of the buffer relies on those of a
    compact one.
    """
    kind = match.buffer_kind
    return (
        kind is not None
        and kind.data is tir.BufferKind.AUTO_BROADCAST
        and len(match.shape) > 0
        and (
            bool(match.layout_strides)
            or not any(isinstance(use.operation, tir.DataOp) for use in match.buffer.uses)
        )
    )
