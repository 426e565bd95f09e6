"""Types and values on the way to the llvm dialect.

The conversions of arith, math, memref, cf, func and gpu are separate passes that may run
in any order and leave foreign operations alone, so between two of them a value of type
`index` or `memref` may have users that are converted and users that are not. Each pass
takes such values through `builtin.unrealized_conversion_cast`; the casts that two
passes leave back to back are folded by whichever pass comes second.

| type | becomes |
|---|---|
| `index` | `i64` |
| `memref<…xT, s>` | `!llvm.ptr<s>`, the address of the element at index zero |
| `vector<Nxindex>` | `vector<Nxi64>` |
| all else | itself |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    TensorType,
    UnrankedTensorType,
    UnrealizedConversionCastOp,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.llvm import ConstantOp, FastMathAttr, LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.quick_accessors import (
    first_result,
    stored_operands,
    type_of,
    types_of,
)
from xdsl_tvm.dialects.quick_operation import create, erase, set_defaults

LLVM_SCALARS = (
    IntegerType,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    LLVMPointerType,
)
"""Scalar types that need no conversion."""


def fail(op: Operation, reason: str) -> PassFailedException:
    """The error that names `op` and says why it cannot be lowered and what to do."""
    return PassFailedException(f"cannot lower '{op.name}': {reason}")


@lru_cache(maxsize=1024)
def vector_of(element: Attribute, like: Attribute) -> Attribute:
    """`element` as it is if `like` is a scalar, else a vector of it shaped as `like`."""
    if not isinstance(like, VectorType):
        return element
    vector = cast("VectorType[Attribute]", like)
    return VectorType(element, vector.shape, vector.scalable_dims)


@lru_cache(maxsize=256)
def pointer_type(space: Attribute) -> LLVMPointerType:
    """The pointer type of a memref's memory space: none or an integer.

    Raises PassFailedException for other attributes.
    """
    if isinstance(space, NoneAttr):
        return LLVMPointerType()
    if isinstance(space, IntegerAttr):
        number = space.value.data
        return LLVMPointerType(IntAttr(number)) if number else LLVMPointerType()
    raise PassFailedException(
        f"memory space {space} has no LLVM address space; use an integer memory space"
    )


@by_identity
def convert_type(type: Attribute) -> Attribute:
    """The LLVM type that stands for `type`; `type` itself if it is none of ours."""
    if isinstance(type, IndexType):
        return i64
    if isinstance(type, MemRefType):
        return pointer_type(cast("MemRefType[Attribute]", type).memory_space)
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        element = convert_type(vector.element_type)
        return vector if element is vector.element_type else vector_of(element, vector)
    return type


@by_identity
def is_convertible(type: Attribute) -> bool:
    """Whether values of `type` have an LLVM counterpart: scalars and 1-D vectors."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return vector.get_num_dims() == 1 and is_convertible(vector.element_type)
    if isinstance(type, IntegerType):
        return cast("IntegerType", type).signedness.data == Signedness.SIGNLESS
    return isinstance(type, (IndexType, *LLVM_SCALARS))


def require_convertible(op: Operation) -> None:
    """Raises PassFailedException if `op` has a type that LLVM code cannot hold."""
    for value in (*op.operands, *op.results):
        if not is_convertible(value.type):
            raise fail(
                op,
                f"values of type {value.type} have no LLVM form; use scalars or "
                "1-D vectors of integers, index, bf16, f16, f32 or f64",
            )


@by_identity
def is_own_form(type: Attribute) -> bool:
    """Whether values of `type` are what they are in LLVM, and LLVM computes with them."""
    return (
        is_convertible(type)
        and convert_type(type) is type
        and not isinstance(element_of(type), BFloat16Type)
    )


def become(
    op: Operation,
    kind: type[Operation],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute] | None = None,
) -> None:
    """Makes an operation one of another class, where it is, with its own values.

    Most operations differ from LLVM's in name and properties only. To make another one,
    and to give its results to all users, takes ten times as long.
    """
    op.__class__ = kind
    op.properties = properties
    op.attributes = attributes or {}
    set_defaults(op)


def has_own_forms(op: Operation) -> bool:
    """Whether all values of an operation are what they are in LLVM: see `become`."""
    return all(map(is_own_form, types_of(op)))


@by_identity
def _gets_own_form(type: Attribute) -> bool:
    """Whether values of `type` are in an own form, or are once indices are integers."""
    return not isinstance(type, MemRefType) and is_own_form(convert_type(type))


def gets_own_forms(op: Operation) -> bool:
    """Whether all values of an operation do: see `Conversion.convert_in_place`."""
    return all(map(_gets_own_form, types_of(op)))


def works_on_tensors(op: Operation) -> bool:
    """Whether `op` computes a tensor: such operations are not ours to lower."""
    return _is_tensor(type_of(first_result(op)))


_is_tensor = of_classes(TensorType, UnrankedTensorType)
is_cast = of_classes(UnrealizedConversionCastOp)


@lru_cache(maxsize=4096)
def identity_strides(type: MemRefType[Attribute]) -> tuple[int, ...] | None:
    """Element strides of a memref, or None where one of them is not static.

    The leading extent may be dynamic: no stride depends on it.
    """
    layout = type.layout
    if isinstance(layout, StridedLayoutAttr):
        strides = tuple(layout.get_strides())
        static = [stride for stride in strides if stride is not None]
        return tuple(static) if len(static) == len(strides) else None
    if not isinstance(layout, NoneAttr):
        return None
    strides_back: list[int] = []
    step = 1
    for extent in reversed(type.get_shape()[1:]):
        strides_back.append(step)
        if extent < 0:
            return None
        step *= extent
    if type.get_num_dims():
        strides_back.append(step)
    return tuple(reversed(strides_back))


class Conversion(LocatedBuilder):
    """One pass's rewriting of operations to LLVM ones, in place.

    `operand` gives a value in its LLVM type, `insert` puts a new operation before the
    one being converted, `replace` ends it; `finish` folds and removes casts.
    """

    def __init__(self) -> None:
        super().__init__()
        self._casts: dict[UnrealizedConversionCastOp, None] = {}
        self._cast_of: dict[SSAValue, SSAValue] = {}
        self._replaced: list[tuple[Operation, Sequence[SSAValue]]] = []

    # -- values

    def operand(self, value: SSAValue) -> SSAValue:
        """`value` in its LLVM type."""
        type = type_of(value)
        target = convert_type(type)
        if target is type:
            return value
        found = self._cast_of.get(value)
        if found is not None:
            return found
        owner = value.owner
        if is_cast(owner):
            self._casts[owner] = None
            inner = stored_operands(owner)
            if len(inner) == 1 and inner[0].type == target:
                return inner[0]
        found = self._cast_of[value] = self._cast_after(value, target)
        return found

    def operands(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        """Each of `values` in its LLVM type."""
        return [self.operand(value) for value in values]

    def _cast_after(self, value: SSAValue, target: Attribute) -> SSAValue:
        """A cast of `value` right after its definition, so that it serves every use."""
        cast_op = create(
            UnrealizedConversionCastOp, operands=[value], result_types=[target]
        )
        self._casts[cast_op] = None
        owner = value.owner
        if isinstance(owner, Block):
            _prepend(owner, cast_op)
        else:
            block = owner.parent_block()
            assert block is not None
            block.insert_op_after(cast_op, owner)
        (result,) = cast_op.results
        if value.name_hint is not None:
            result.name_hint = value.name_hint
        return result

    # -- operations

    def replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Replaces the results of `op` by `values`, of LLVM types, and erases it."""
        for old, new in zip(op.results, values, strict=True):
            self.replace_value(old, new)
        for operand in stored_operands(op):
            # Also what the lowering did not ask for may be a cast without users now.
            owner = operand.owner
            if is_cast(owner):
                self._casts[owner] = None
        erase(op)

    def replace_later(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """`replace` as a part of `finish`; until then `operand` knows the values.

        Where most users are converted, too, few results need a cast.
        """
        if all(
            old.first_use is None or old.type == new.type
            for old, new in zip(op.results, values, strict=True)
        ):
            self.replace(op, values)
            return
        for old, new in zip(op.results, values, strict=True):
            self._cast_of[old] = new
            if new.name_hint is None:
                new.name_hint = old.name_hint
        self._replaced.append((op, values))

    def convert_in_place(
        self,
        op: Operation,
        kind: type[Operation],
        properties: dict[str, Attribute],
        is_converted: Callable[[Operation], bool],
    ) -> None:
        """`become` with values in their LLVM types.

        Users for which `is_converted` holds are to ask for their operands by `operand`
        later; others get a cast.
        """
        for index, value in enumerate(stored_operands(op)):
            converted = self.operand(value)
            if converted is not value:
                op.operands[index] = converted
        for result in op.results:
            target = convert_type(result.type)
            if target is not result.type:
                self._retype(result, target, is_converted)
        become(op, kind, properties)

    def _retype(
        self,
        result: OpResult,
        target: Attribute,
        is_converted: Callable[[Operation], bool],
    ) -> None:
        others: list[Use] = []
        for use in result.uses:
            user = use.operation
            if is_cast(user) and user.results[0].type == target:
                self._casts[user] = None
            elif not is_converted(user):
                others.append(use)
        old = result.type
        new = Rewriter.replace_value_with_new_type(result, target)
        if others:
            cast_op = create(
                UnrealizedConversionCastOp, operands=[new], result_types=[old]
            )
            self._casts[cast_op] = None
            Rewriter.insert_op(cast_op, InsertPoint.after(result.op))
            for use in others:
                use.operation.operands[use.index] = cast_op.results[0]

    def replace_value(self, old: SSAValue, new: SSAValue) -> None:
        """Makes users of `old` use `new`, through a cast where the types differ."""
        if new.name_hint is None:
            new.name_hint = old.name_hint
        if old.first_use is None:
            return
        if old.type is new.type or old.type == new.type:
            old.replace_all_uses_with(new)
            return
        cast_op = self._cast_back(old, new)
        self.insert_op(cast_op)
        old.replace_all_uses_with(cast_op.results[0])

    def _cast_back(self, old: SSAValue, new: SSAValue) -> UnrealizedConversionCastOp:
        """A cast of `new` to the type of `old`, to go where `old` is used."""
        for use in old.uses:
            if isinstance(use.operation, UnrealizedConversionCastOp):
                self._casts[use.operation] = None
        cast_op = create(
            UnrealizedConversionCastOp, operands=[new], result_types=[old.type]
        )
        self._casts[cast_op] = None
        return cast_op

    def convert_block_args(self, block: Block) -> None:
        """Gives the arguments of `block` their LLVM types."""
        for arg in block.args:
            target = convert_type(arg.type)
            if target == arg.type:
                continue
            new = block.insert_arg(target, arg.index, arg.location)
            new.name_hint = arg.name_hint
            if arg.first_use is not None:
                cast_op = self._cast_back(arg, new)
                _prepend(block, cast_op)
                arg.replace_all_uses_with(cast_op.results[0])
            block.erase_arg(arg)

    def note_cast(self, op: UnrealizedConversionCastOp) -> None:
        """Let `finish` look at a cast that was there before."""
        self._casts[op] = None

    def finish(self) -> None:
        """Folds cast pairs and removes the casts that nothing uses any more."""
        # Users first: what only they use is unused then.
        for op, values in reversed(self._replaced):
            self.start(op)
            self.replace(op, values)
        self._replaced.clear()
        for cast_op in self._casts:
            operands = stored_operands(cast_op)
            if len(operands) != 1:
                continue
            (source,) = operands
            inner = source.owner
            result = first_result(cast_op)
            if source.type == result.type:
                # It was converted in place after the cast had been made.
                result.replace_all_uses_with(source)
            elif is_cast(inner):
                sources = stored_operands(inner)
                if len(sources) == 1 and sources[0].type == result.type:
                    result.replace_all_uses_with(sources[0])
        for cast_op in reversed(self._casts):
            _erase_if_dead(cast_op)
        for cast_op in self._casts:
            _erase_if_dead(cast_op)
        self._casts.clear()
        self._cast_of.clear()

    # -- small builders

    def constant(self, value: float, type: Attribute) -> SSAValue:
        """An LLVM constant of scalar or vector `type`, every element being `value`."""
        return self.insert(
            create(
                ConstantOp, result_types=[type], properties={"value": splat(value, type)}
            )
        )


def _prepend(block: Block, op: Operation) -> None:
    first = block.first_op
    if first is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, first)


def _erase_if_dead(op: UnrealizedConversionCastOp) -> None:
    if op.parent is None or any(result.first_use is not None for result in op.results):
        return
    erase(op)


@lru_cache(maxsize=4096)
def _splat_int(value: int, type: Attribute) -> Attribute:
    scalar = element_of(type)
    assert isinstance(scalar, IntegerType)
    width = cast("IntegerType", scalar).bitwidth
    return IntegerAttr(value, IntegerType(width), truncate_bits=True)


@lru_cache(maxsize=4096)
def _splat_float(text: str, type: Attribute) -> Attribute:
    scalar = element_of(type)
    assert isinstance(scalar, Float16Type | Float32Type | Float64Type | BFloat16Type)
    return FloatAttr(float.fromhex(text), scalar)


def splat(value: float, type: Attribute) -> Attribute:
    """The attribute of a constant of `type` whose every element is `value`."""
    if isinstance(value, float):
        # The key is text: -0.0 == 0.0 and NaN != NaN would confuse the cache.
        scalar = _splat_float(value.hex(), element_of(type))
    else:
        scalar = _splat_int(value, element_of(type))
    if not isinstance(type, VectorType):
        return scalar
    return DenseIntOrFPElementsAttr.from_list(
        cast("VectorType[IntegerType]", type),
        [cast("IntegerAttr[IntegerType]", scalar).value.data],
    )


@lru_cache(maxsize=256)
def zeros(number: int) -> DenseArrayBase:
    """The mask of a shuffle that takes the first element so many times."""
    return DenseArrayBase.from_list(i32, [0] * number)


@lru_cache(maxsize=1024)
def gep_index(index: int) -> DenseArrayBase:
    """The `rawConstantIndices` of an address in an array."""
    return DenseArrayBase.from_list(i32, [index])


@lru_cache(maxsize=64)
def fastmath(flags: Attribute | None) -> FastMathAttr:
    """The llvm dialect's form of arith's fast-math flags."""
    if not isinstance(flags, FastMathFlagsAttr):
        return FastMathAttr(None)
    return FastMathAttr(flags.data)


NO_FASTMATH = FastMathAttr(None)
