"""Where arguments and results are: the signature of TVM 0.20, and that of `tvm-ffi`.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1; for `tvm-ffi`, tvm/ffi/c_api.h: values
say what they are, arrays are DLTensors or Tensors, objects that hold one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Final

from xdsl.dialects.builtin import IntegerAttr, NoneType, UnitAttr, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.analysis.tir.variable_names import variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import Abi, TypeCode, TypeIndex
from xdsl_tvm.passes.tir._packed_abi.binder import HANDLE, ArgumentBinder, is_null

_FLOATS: Final = tuple(map(tir.parse_dtype, ("float16", "float32", "float64")))


@dataclass(frozen=True)
class Kind:
    """What a parameter, or a result, is to those who call."""

    name: str
    """What errors call it."""
    passed_as: Attribute
    """The type of the value in its slot."""
    code: TypeCode | None = None
    """The type code that results have in the convention of TVM 0.20."""
    index: TypeIndex | None = None
    """What results are in that of `tvm-ffi`."""


POINTER: Final = Kind("pointer", HANDLE)
BOOL: Final = Kind("boolean", i64, TypeCode.BOOL, TypeIndex.BOOL)
INT: Final = Kind("int", i64, TypeCode.INT, TypeIndex.INT)
FLOAT: Final = Kind("float", f64, TypeCode.FLOAT, TypeIndex.FLOAT)


def kind_of_number(dtype: Attribute) -> Kind | None:
    """The kind of a number; None for one that is not passed."""
    if dtype == i1:
        return BOOL
    if tir.is_scalar(dtype) and tir.is_integer(dtype):
        return INT
    return FLOAT if dtype in _FLOATS else None


class Convention(ABC):
    """The signature of a function, and what it does with its own arguments."""

    abi: ClassVar[Abi]
    signature: ClassVar[tuple[tuple[str, Attribute], ...]]
    """The names and types of the parameters."""
    context: ClassVar[int]
    """The parameter that the function's `device_api_context` is."""

    def __init__(self, func: tir.FuncOp, symbol: str) -> None:
        self._func = func
        self._symbol = symbol
        self.block = Block(arg_types=[dtype for _, dtype in self.signature])
        """The new body."""
        self.binder = ArgumentBinder(func, symbol, self.block, self.abi)

    def _argument(self, index: int) -> Expr:
        return Value(self.block.args[index])

    def _kind(self, parameter: BlockArgument) -> Kind:
        dtype = parameter.type
        if tir.is_handle(dtype):
            return POINTER
        kind = kind_of_number(dtype)
        if kind is not None:
            return kind
        raise PassFailedException(
            f"tir.func @{self._func.sym_name.data}: the parameter "
            f"'{variable_name(parameter)}' is a {tir.dtype_name(dtype)}, which no packed "
            "argument is; pass integers, floats of 16 to 64 bits, pointers, or arrays"
        )

    def _check_count(self, count: Expr, length: int) -> None:
        message = f"{self._symbol}: num_args should be {length}"
        self.binder.check(smart.eq(count, length), message)

    def _check_one_of(
        self, code: Expr, codes: Sequence[int], index: int, kind: Kind
    ) -> None:
        tests = [smart.eq(code, int(each)) for each in codes]
        self.binder.check(
            reduce(smart.disjunction, tests),
            f"{self._symbol}: Expect arg[{index}] to be {kind.name}",
        )

    @abstractmethod
    def check(self, parameters: Sequence[BlockArgument]) -> None:
        """Check what must hold before an argument is read, and what all of them are."""

    @abstractmethod
    def value(self, index: int, parameter: BlockArgument) -> Expr:
        """The value of an argument that has been checked."""

    @abstractmethod
    def store(self, value: SSAValue, kind: Kind) -> list[Operation]:
        """The ops that give a result to who calls; they are put where it returns."""


class PackedConvention(Convention):
    """TVM 0.20: slots, an array of type codes, and addresses for the result."""

    abi = Abi.PACKED
    signature = (
        ("args", HANDLE),
        ("arg_type_ids", tir.PtrType(i32)),
        ("num_args", i32),
        ("out_ret_value", tir.PtrType(NoneType())),
        ("out_ret_tcode", tir.PtrType(i32)),
        ("resource_handle", HANDLE),
    )
    context = 5
    _CODES: Final = {
        "pointer": (
            TypeCode.HANDLE,
            TypeCode.NDARRAY,
            TypeCode.DLTENSOR,
            TypeCode.NULL,
        ),
        "boolean": (TypeCode.BOOL, TypeCode.INT),
        "int": (TypeCode.INT, TypeCode.BOOL),
        "float": (TypeCode.FLOAT,),
    }
    """The type codes of each kind, in the order of the check."""

    def __init__(self, func: tir.FuncOp, symbol: str) -> None:
        super().__init__(func, symbol)
        self._views: dict[Attribute, SSAValue] = {}

    def check(self, parameters: Sequence[BlockArgument]) -> None:
        """Check the number of arguments, the pointers, and the type codes."""
        binder, symbol = self.binder, self._symbol
        args, codes, count = map(self._argument, range(3))
        length = len(parameters)
        self._check_count(count, length)
        if length:
            for pointer, what in ((args, "TVMValue* arg"), (codes, "int* type_codes")):
                has_value = smart.negation(is_null(pointer))
                name = what if pointer is codes else f"{what} pointer"
                binder.check(has_value, f"{symbol}: {name} was NULL")
        buffer = binder.declared("arg_type_ids", codes, length, i32)
        for index, parameter in enumerate(parameters):
            kind = self._kind(parameter)
            loaded = binder.code.load(buffer, smart.const(index, i32))
            code = binder.code.let(f"{variable_name(parameter)}.code", loaded)
            self._check_one_of(code, self._CODES[kind.name], index, kind)

    def value(self, index: int, parameter: BlockArgument) -> Expr:
        """The number or the handle in a slot."""
        passed_as = self._kind(parameter).passed_as
        args = self._argument(0)
        value = self.binder.field(args, index, StructField.VALUE_CONTENT, passed_as)
        return value if passed_as == HANDLE else smart.cast(parameter.type, value)

    def store(self, value: SSAValue, kind: Kind) -> list[Operation]:
        """Store the value and its type code where the arguments say."""
        assert kind.code is not None, "a number"
        view = self._view(3, kind.passed_as)
        codes = self._view(4, i32)
        # The cast is there for each type, as in the text of TVM.
        cast = tir.CastOp(value, kind.passed_as)
        place = tir.ConstOp(IntegerAttr(0, i32))
        code = tir.ConstOp(IntegerAttr(int(kind.code), i32))
        return [
            cast,
            place,
            code,
            tir.StoreOp(cast.result, view, [place.result]),
            tir.StoreOp(code.result, codes, [place.result]),
        ]

    def _view(self, argument: int, dtype: Attribute) -> SSAValue:
        """The memory that an argument points to; it is declared where the binder is."""
        found = self._views.get(dtype)
        if found is None:
            pointer = self.block.args[argument]
            name = self.signature[argument][0]
            buffer_type = tir.BufferType([1], dtype)
            op = tir.DeclBufferOp(pointer, buffer_type, strides=[1], name=name)
            op.properties["implicit"] = UnitAttr()
            self.binder.code.insert(op)
            found = self._views[dtype] = op.buffer
        return found


class FfiConvention(Convention):
    """`tvm-ffi`: values that say what they are."""

    abi = Abi.FFI
    signature = (
        ("self_handle", HANDLE),
        ("args", HANDLE),
        ("num_args", i32),
        ("result", HANDLE),
    )
    context = 0
    _INDICES: Final = {
        POINTER: (
            TypeIndex.NONE,
            TypeIndex.POINTER,
            TypeIndex.DLTENSOR,
            TypeIndex.TENSOR,
        ),
        BOOL: (TypeIndex.BOOL, TypeIndex.INT),
        INT: (TypeIndex.INT, TypeIndex.BOOL),
        FLOAT: (TypeIndex.FLOAT, TypeIndex.INT, TypeIndex.BOOL),
    }
    _ARRAYS: Final = (TypeIndex.NONE, TypeIndex.DLTENSOR, TypeIndex.TENSOR)
    """What an array may be; None is refused with the name of the array, afterwards."""

    def __init__(self, func: tir.FuncOp, symbol: str) -> None:
        super().__init__(func, symbol)
        self._types: list[Expr] = []

    def check(self, parameters: Sequence[BlockArgument]) -> None:
        """Check the number of arguments, and what each of them is."""
        args, count = self._argument(1), self._argument(2)
        self._check_count(count, len(parameters))
        if parameters:
            message = f"{self._symbol}: args pointer was NULL"
            self.binder.check(smart.negation(is_null(args)), message)
        for index, parameter in enumerate(parameters):
            kind = self._kind(parameter)
            found = self.binder.field(args, index, StructField.ANY_TYPE_INDEX, i32)
            name = f"{variable_name(parameter)}.type_index"
            self._types.append(self.binder.code.let(name, found))
            is_array = parameter in self._func.buffer_map
            indices = self._ARRAYS if is_array else self._INDICES[kind]
            self._check_one_of(self._types[index], indices, index, kind)

    def value(self, index: int, parameter: BlockArgument) -> Expr:
        """The number or the pointer in a value; integers are floats, too."""
        args, kind = self._argument(1), self._kind(parameter)
        if kind.passed_as == HANDLE:
            return self.binder.field(args, index, StructField.ANY_POINTER, HANDLE)
        value = self.binder.field(args, index, StructField.ANY_VALUE, kind.passed_as)
        if kind is FLOAT:
            number = self.binder.field(args, index, StructField.ANY_VALUE, i64)
            is_float = smart.eq(self._types[index], int(TypeIndex.FLOAT))
            value = smart.select(is_float, value, smart.cast(f64, number))
        return smart.cast(parameter.type, value)

    def store(self, value: SSAValue, kind: Kind) -> list[Operation]:
        """Make the result a value of the kind."""
        assert kind.index is not None, "a number"
        cast = tir.CastOp(value, kind.passed_as)
        place = tir.ConstOp(IntegerAttr(0, i32))
        ops: list[Operation] = [cast, place]
        index = tir.ConstOp(IntegerAttr(int(kind.index), i32))
        written = (
            (StructField.ANY_TYPE_INDEX, index.result),
            (StructField.ANY_PADDING, place.result),
            (StructField.ANY_VALUE, cast.result),
        )
        ops.append(index)
        for field, number in written:
            which = tir.ConstOp(IntegerAttr(int(field), i32))
            base = self.block.args[3]
            args = [base, place.result, which.result, number]
            ops += [which, tir.CallOp("tvm_struct_set", args, i32)]
        return ops
