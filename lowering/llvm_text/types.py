"""How types, constants and names are written in LLVM IR text."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    VectorType,
    bf16,
)
from xdsl.dialects.llvm import (
    LLVMArrayType,
    LLVMFunctionType,
    LLVMPointerType,
    LLVMStructType,
    LLVMVoidType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects.by_identity import by_identity

_FLOAT_NAMES: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
    Float80Type: "x86_fp80",
    Float128Type: "fp128",
}

_FLOAT_SUFFIXES: dict[type[Attribute], str] = {
    Float16Type: "f16",
    BFloat16Type: "bf16",
    Float32Type: "f32",
    Float64Type: "f64",
    Float80Type: "f80",
    Float128Type: "f128",
}

_MOST = 4096
"""Types whose texts are kept by their identity."""
_PLAIN_NAME = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*\Z")

_ESCAPED = [
    chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
    for byte in range(256)
]


def quote(data: bytes) -> str:
    """`data` as the inside of an LLVM string literal."""
    return "".join(map(_ESCAPED.__getitem__, data))


def name_text(name: str) -> str:
    """A symbol or type name without its sigil, quoted where LLVM needs it."""
    if _PLAIN_NAME.match(name):
        return name
    return f'"{quote(name.encode())}"'


def space_of(type: LLVMPointerType) -> int:
    """The number of a pointer's address space."""
    return type.addr_space.data if isinstance(type.addr_space, IntAttr) else 0


@by_identity
def numbers_of(array: Attribute) -> tuple[int, ...]:
    """The numbers of a dense array of integers."""
    return tuple(cast("DenseArrayBase[IntegerType]", array).get_values())


class TypeTable:
    """Spells types and remembers the named structs that a module must define."""

    def __init__(self) -> None:
        self._texts: dict[Attribute, str] = {}
        # By identity: hashing a type takes longer than all else here. It is kept, so
        # that no other one gets its identity, and not for ever, for each module has its
        # own objects.
        self._known: dict[int, tuple[Attribute, str]] = {}
        self.structs: dict[str, str] = {}

    def text(self, type: Attribute) -> str:
        """The type in LLVM's syntax.

        Raises DiagnosticException for a type that LLVM does not have.
        """
        known = self._known.get(id(type))
        if known is not None:
            return known[1]
        text = self._texts.get(type)
        if text is None:
            text = self._spell(type)
            self._texts[type] = text
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[id(type)] = type, text
        return text

    def list(self, types: Iterable[Attribute]) -> str:
        """The types, separated by commas."""
        return ", ".join(map(self.text, types))

    def function(self, type: LLVMFunctionType) -> str:
        """A function type: `i32 (ptr, ...)`."""
        inputs = [self.text(input) for input in type.inputs]
        if type.is_variadic:
            inputs.append("...")
        return f"{self.text(type.output)} ({', '.join(inputs)})"

    def _spell(self, type: Attribute) -> str:
        if isinstance(type, IntegerType):
            return _integer(cast("IntegerType[int, Signedness]", type))
        if (name := _FLOAT_NAMES.get(type.__class__)) is not None:
            return name
        if isinstance(type, LLVMPointerType):
            space = space_of(type)
            return f"ptr addrspace({space})" if space else "ptr"
        if isinstance(type, LLVMVoidType):
            return "void"
        if isinstance(type, LLVMArrayType):
            return f"[{type.size.data} x {self.text(type.type)}]"
        if isinstance(type, LLVMStructType):
            return self._struct(type)
        if isinstance(type, LLVMFunctionType):
            return self.function(type)
        if isinstance(type, VectorType):
            return self._vector(cast("VectorType[Attribute]", type))
        raise DiagnosticException(
            f"type {type} has no LLVM form: convert it to an llvm type first"
        )

    def _vector(self, type: VectorType[Attribute]) -> str:
        if type.get_num_dims() != 1:
            raise DiagnosticException(
                f"type {type} has no LLVM form: only 1-D vectors do; unroll it first"
            )
        scale = "vscale x " if type.get_num_scalable_dims() else ""
        return f"<{scale}{type.get_shape()[0]} x {self.text(type.element_type)}>"

    def _struct(self, type: LLVMStructType) -> str:
        name = type.struct_name.data
        if not name:
            return f"{{ {self.list(type.types)} }}" if type.types.data else "{}"
        reference = f"%{name_text(name)}"
        if reference not in self.structs:
            self.structs[reference] = ""
            body = f"type {{ {self.list(type.types)} }}"
            self.structs[reference] = body
        return reference


def _integer(type: IntegerType[int, Signedness]) -> str:
    if type.signedness.data != Signedness.SIGNLESS:
        raise DiagnosticException(
            f"type {type} has no LLVM form: integers below tir are signless"
        )
    return f"i{type.bitwidth}"


def mangle(type: Attribute) -> str:
    """The overload suffix of a type: `i32`, `v4f32`, `nxv4f32`, `p3`."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        prefix = "nxv" if vector.get_num_scalable_dims() else "v"
        return f"{prefix}{vector.get_shape()[0]}{mangle(vector.element_type)}"
    if isinstance(type, LLVMPointerType):
        return f"p{space_of(type)}"
    if isinstance(type, IntegerType):
        return f"i{type.bitwidth}"
    if (suffix := _FLOAT_SUFFIXES.get(type.__class__)) is not None:
        return suffix
    raise DiagnosticException(f"no intrinsic is overloaded on {type}")


# ------------------------------------------------------------------- constants


def _half_bits(value: float) -> int:
    try:
        return int.from_bytes(struct.pack("<e", value), "little")
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


def _single_bits(value: float) -> int:
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0xFF800000 if value < 0 else 0x7F800000


def _bfloat_bits(value: float) -> int:
    return int.from_bytes(bf16.pack((value,)), "little")


def _double_text(value: float) -> str:
    return f"0x{int.from_bytes(struct.pack('<d', value), 'little'):016X}"


def _single_text(value: float) -> str:
    # LLVM writes a float constant as the double of the same value.
    if math.isnan(value):
        return _double_text(value)
    return _double_text(struct.unpack("<f", struct.pack("<I", _single_bits(value)))[0])


_FLOAT_TEXTS: dict[type[Attribute], Callable[[float], str]] = {
    Float16Type: lambda value: f"0xH{_half_bits(value):04X}",
    BFloat16Type: lambda value: f"0xR{_bfloat_bits(value):04X}",
    Float32Type: _single_text,
    Float64Type: _double_text,
}


def float_text(value: float, type: Attribute) -> str:
    """A float constant, exact to the last bit; infinities and NaN too."""
    spell = _FLOAT_TEXTS.get(type.__class__)
    if spell is None:
        raise DiagnosticException(f"no constants of type {type}")
    return spell(value)


def integer_text(value: int, type: Attribute) -> str:
    """An integer constant, wrapped to its width and written as signed."""
    if not isinstance(type, IntegerType):
        raise DiagnosticException(f"no integer constants of type {type}")
    width = cast("IntegerType[int, Signedness]", type).bitwidth
    if width == 1:
        return "true" if value & 1 else "false"
    value &= (1 << width) - 1
    return str(value - (1 << width) if value >> (width - 1) else value)


def scalar_text(value: float, type: Attribute) -> str:
    """A number as a constant of an integer or float type."""
    if isinstance(type, IntegerType):
        return integer_text(int(value), cast(Attribute, type))
    return float_text(float(value), type)


def constant_text(value: Attribute, type: Attribute, types: TypeTable) -> str:
    """The constant `value` as an operand of type `type`, without the type."""
    if isinstance(value, IntegerAttr):
        return _broadcast(value.value.data, type, types)
    if isinstance(value, FloatAttr):
        return _broadcast(value.value.data, type, types)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return _dense(cast("DenseIntOrFPElementsAttr[IntegerType]", value), type, types)
    raise DiagnosticException(f"no constant of type {type} from {value}")


def _broadcast(value: float, type: Attribute, types: TypeTable) -> str:
    if not isinstance(type, VectorType):
        return scalar_text(value, type)
    element = cast("VectorType[Attribute]", type).element_type
    return f"splat ({types.text(element)} {scalar_text(value, element)})"


def _dense(
    value: DenseIntOrFPElementsAttr[IntegerType], type: Attribute, types: TypeTable
) -> str:
    numbers = value.get_values()
    if not isinstance(type, VectorType | LLVMArrayType):
        if len(numbers) != 1:
            raise DiagnosticException(f"{len(numbers)} numbers cannot make one {type}")
        return scalar_text(numbers[0], type)
    if isinstance(type, VectorType) and _is_splat(value.data.data, len(numbers)):
        return _broadcast(numbers[0], cast(Attribute, type), types)
    expected = element_count(cast(Attribute, type))
    if len(numbers) == 1:
        numbers = numbers * expected
    if len(numbers) != expected:
        raise DiagnosticException(
            f"{len(numbers)} numbers cannot make a constant of type {type}"
        )
    return _nested(numbers, cast(Attribute, type), types)


def _is_splat(data: bytes, count: int) -> bool:
    # Bytes, not numbers: 0.0 equals -0.0, and NaN equals nothing.
    return count > 0 and data == data[: len(data) // count] * count


def element_count(type: Attribute) -> int:
    """How many scalars an array or vector type holds."""
    if isinstance(type, LLVMArrayType):
        return type.size.data * element_count(type.type)
    if isinstance(type, VectorType):
        return math.prod(cast("VectorType[Attribute]", type).get_shape())
    return 1


def _nested(numbers: Sequence[float], type: Attribute, types: TypeTable) -> str:
    if isinstance(type, LLVMArrayType):
        element, brackets, count = type.type, "[]", type.size.data
    elif isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        element, brackets, count = vector.element_type, "<>", vector.get_shape()[0]
    else:
        return scalar_text(numbers[0], type)
    size = element_count(element)
    items = ", ".join(
        f"{types.text(element)} "
        + _nested(numbers[index * size : (index + 1) * size], element, types)
        for index in range(count)
    )
    return f"{brackets[0]}{items}{brackets[1]}"


def scalar_of(type: Attribute) -> Attribute:
    """The scalars that nested arrays and vectors are made of."""
    while isinstance(type, LLVMArrayType | VectorType):
        if isinstance(type, LLVMArrayType):
            type = type.type
        else:
            type = cast("VectorType[Attribute]", type).element_type
    return type
