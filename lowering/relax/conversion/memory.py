"""Memory in the lowered form of a Relax function: made, viewed, copied, released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith, llvm, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    UnrealizedConversionCastOp,
    f64,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.relax.functions import VAR_UPPER_BOUND
from xdsl_tvm.dialects.relax.symbolic import Dim, product, provably_covers
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.lowering.relax.conversion.calling_convention import known, memref_for
from xdsl_tvm.lowering.relax.conversion.extents import (
    AT_MOST,
    NOT_EQUAL,
    ExtentCode,
    Scope,
)
from xdsl_tvm.lowering.relax.conversion.module import ModuleView
from xdsl_tvm.lowering.relax.conversion.values import (
    Memory,
    Path,
    Storage,
    Tensor,
    Value,
    memories,
)
from xdsl_tvm.lowering.runtime_symbols import KERNEL_ALIGNMENT, OUT_OF_MEMORY, TAKEN
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX
from xdsl_tvm.lowering.tir.conversion.types import (
    GENERIC_SPACE,
    AnyMemRef,
    compact_strides,
    element_bytes,
    memref_of,
    signless,
)
from xdsl_tvm.lowering.tir.conversion.views import flat, forget_extent, memref_type

_MOST_BYTES = float(1 << 62)
"""More than any memory has, and few enough that i64 does not wrap around."""


class MemoryCode(ExtentCode):
    """Makes memory and names it; `kill` releases what has no name left.

    The memory of a result is made by the caller: `destinations` says which value is
    written to it right away, by the value and the field of it.
    """

    def __init__(self, source: relax.FuncOp, block: Block, view: ModuleView) -> None:
        super().__init__(source, block)
        self.view = view
        self.destinations: dict[tuple[SSAValue, Path], Tensor] = {}

    # -- new memory

    def allocate(
        self, value: SSAValue, path: Path, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor:
        """Memory for a value: that of an output where it is returned, or new."""
        self.require_extents(dims)
        output = self.destination(value, path, dims, dtype)
        return output or self.new_tensor(dims, dtype)

    def destination(
        self, value: SSAValue, path: Path, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor | None:
        """The memory of an output, where the value is returned and fits it."""
        output = self.destinations.pop((value, path), None)
        if output is None or output.dtype != dtype:
            return None
        if product(output.dims) != product(dims):
            return None
        return replace(output, dims=dims)

    def new_tensor(self, dims: tuple[Dim, ...], dtype: Attribute) -> Tensor:
        """A tensor on new memory that the current block owns."""
        memory = self._own(self.new_memory(dims, dtype))
        return Tensor(memory.base, dims, dtype, memory)

    def _own(self, base: SSAValue) -> Memory:
        memory = Memory(base)
        self.scopes[-1].owned[memory] = None
        return memory

    def new_memory(self, dims: Sequence[Dim], dtype: Attribute) -> SSAValue:
        """New memory for so many elements, which is checked to exist."""
        type_ = memref_for(dims, dtype)
        size = product(dims) * element_bytes(dtype)
        return self._allocated(type_, self._sizes(dims, type_), size)

    def _sizes(self, dims: Sequence[Dim], type_: AnyMemRef) -> list[SSAValue]:
        """The dynamic extents of a memref of the form that `memref_for` gives."""
        is_flat = len(type_.get_shape()) != len(dims)
        extents = [product(dims)] if is_flat else dims
        pairs = zip(extents, type_.get_shape(), strict=True)
        return [self.index(dim) for dim, extent in pairs if extent == DYNAMIC_INDEX]

    def _allocated(
        self, type_: AnyMemRef, sizes: Sequence[SSAValue], size: Dim
    ) -> SSAValue:
        missing = f"{OUT_OF_MEMORY}{self.place} needs {size} bytes"
        if size.value is not None and size.value >= _MOST_BYTES:
            # The number that the allocation is given would wrap around.
            self.require(self.cv.number(False, i1), missing)
        base = self.cv.emit(memref.AllocOp(sizes, [], type_)).memref
        address = self.cv.emit(llvm.PtrToIntOp(self.pointer(base))).output
        zero = self.cv.number(0, i64)
        exists = self.cv.compare(arith.CmpiOp, NOT_EQUAL, address, zero)
        if size.value is None:
            exists = self.cv.binary(arith.AndIOp, self.is_possible(size), exists)
        self.require(exists, missing)
        return base

    def is_possible(self, size: Dim) -> SSAValue:
        """Whether a number of bytes or elements is one that there can be.

        Where it is not, `index` of it may have wrapped around.
        """
        return self.less(self.approximate(size), self.cv.number(_MOST_BYTES, f64))

    def new_storage(self, size: Dim) -> Storage:
        """Raw memory of so many bytes, which the current block owns."""
        self.require_extents([size])
        type_ = _bytes_type(size)
        sizes = [] if size.value is not None else [self.index(size)]
        return Storage(size, self._own(self._allocated(type_, sizes, size)))

    def result_storage(self, op: relax.AllocStorageOp, size: Dim) -> Storage | None:
        """The memory of a result as a storage, where a tensor on it is that result.

        Others may be on it before, if the result needs all of it. None for another
        storage.
        """
        tensors = [
            u.operation for u in op.result.uses if not isinstance(u.operation, KILLS)
        ]
        for tensor in tensors:
            if (
                not isinstance(tensor, relax.AllocTensorFromStorageOp)
                or tensor.parent is not op.parent
                or (output := self.destinations.get((tensor.result, ()))) is None
            ):
                continue
            if len(tensors) == 1:
                # The tensor is written where the caller wants it.
                return Storage(size, None, tensor.result)
            dims, dtype = self.allocated_info(tensor.result.type)
            if (
                tensor.offset.data == Dim.constant(0)
                and dtype == output.dtype
                and size.value is not None
                and product(dims) == product(output.dims)
                and _bytes_needed(output) == size
            ):
                return Storage(size, Memory(self._bytes(output)), tensor.result)
        return None

    # -- views

    def on_storage(
        self, storage: Storage, offset: Dim, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor:
        """A tensor on raw memory, within which it is checked to be."""
        assert storage.memory is not None, "made"
        memory = storage.memory
        view = self._view(memory.base, storage.size, offset, dims, dtype)
        return Tensor(view, dims, dtype, memory, offset == Dim.constant(0))

    def view_of(
        self, value: Tensor, offset: Dim, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor:
        """The memory of a tensor, from an offset in bytes on, as another tensor."""
        size = _bytes_needed(value)
        view = self._view(self._bytes(value), size, offset, dims, dtype)
        at_start = value.at_start and offset == Dim.constant(0)
        return Tensor(view, dims, dtype, value.memory, at_start, value.is_constant)

    def _bytes(self, value: Tensor) -> SSAValue:
        """The memory of a tensor, as a memref of bytes."""
        return self._unrealized(
            self.pointer(value.memref), _bytes_type(_bytes_needed(value))
        )

    def _view(
        self,
        base: SSAValue,
        size: Dim,
        offset: Dim,
        dims: tuple[Dim, ...],
        dtype: Attribute,
    ) -> SSAValue:
        """Memory at an offset of a memref of bytes."""
        element = element_bytes(dtype)
        # Kernels expect more of the memory that they are passed.
        unit = max(element, KERNEL_ALIGNMENT) if self.view.on_gpu else element
        rest, aligned = offset % unit, f"the offset is no multiple of {unit} bytes"
        if rest.value:
            raise self.cv.fail(aligned)
        self.require_extents([*dims, offset])
        self.check_equal(Dim.constant(0), rest, f"{self.place}: {aligned}")
        self._check_fits(product(dims) * element + offset, size)
        type_ = memref_for(dims, dtype)
        operands = [base, self.index(offset), *self._sizes(dims, type_)]
        view = create(memref.ViewOp, operands=operands, result_types=[type_])
        return self.cv.emit(view).result

    def _check_fits(self, end: Dim, size: Dim) -> None:
        if provably_covers(size, end):
            return
        if end.value is not None and size.value is not None:
            raise self.cv.fail(f"a tensor ends at byte {end} of {size} bytes")
        fits = self.cv.compare(arith.CmpiOp, AT_MOST, self.index(end), self.index(size))
        fits = self.cv.binary(arith.AndIOp, self.is_possible(end), fits)
        what = f"{self.place}: a tensor ends after its {size} bytes"
        self.require(fits, what + self._planned_for(end))

    def _planned_for(self, end: Dim) -> str:
        """The largest values of symbols that memory may have been planned by."""
        bounds = self.source.attributes.get(VAR_UPPER_BOUND)
        if not isinstance(bounds, DictionaryAttr):
            return ""
        known = [
            f"{name} <= {bound.value.data}"
            for name in dict.fromkeys(end.symbols())
            if isinstance(bound := bounds.data.get(name), IntegerAttr)
        ]
        found = ", ".join(known)
        return f", which are planned for {found} ({VAR_UPPER_BOUND})" if found else ""

    def pointer(self, value: SSAValue) -> SSAValue:
        """The address of the first element of a memref."""
        return self._unrealized(value, llvm.LLVMPointerType())

    def _unrealized(self, value: SSAValue, type_: Attribute) -> SSAValue:
        return self.cv.build(UnrealizedConversionCastOp, [value], type_)

    def cast(self, value: Tensor, type_: AnyMemRef) -> SSAValue:
        """The memory of a tensor as a memref that has as many elements."""
        source = memref_type(value.memref)
        if source == type_:
            return value.memref
        shape = type_.get_shape()
        if _differ_in_first_extent(source.get_shape(), shape):
            return self.cv.build(memref.CastOp, [value.memref], type_)
        if len(shape) == 1:
            vector = self._flat(value)
            is_static = memref_type(vector) == type_
            return vector if is_static else forget_extent(self.cv, vector)
        strides = compact_strides(shape)
        assert strides is not None, "only the first extent is dynamic"
        sizes = [
            self.index(dim)
            for dim, extent in zip(value.dims, shape, strict=True)
            if extent == DYNAMIC_INDEX
        ]
        op = memref.ReinterpretCastOp(
            value.memref, [], sizes, [], [0], shape, strides, type_
        )
        return self.cv.emit(op).result

    def _flat(self, value: Tensor) -> SSAValue:
        """The memory of a tensor as a memref of rank 1."""
        size = product(value.dims)
        number = size.value
        return flat(self.cv, value.memref, self.index(size) if number is None else number)

    # -- contents

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Copy all elements; a loop where the size is not static."""
        size = product(target.dims)
        if size.value == 0:
            return
        if size.value is not None:
            type_ = memref_for(target.dims, target.dtype)
            operands = [self.cast(source, type_), self.cast(target, type_)]
            self.cv.emit(create(memref.CopyOp, operands=operands))
            return
        dtype = signless(source.dtype)
        type_ = memref_of((DYNAMIC_INDEX,), dtype, GENERIC_SPACE)
        first, second = self.cast(source, type_), self.cast(target, type_)
        if self.view.on_gpu:
            self.cv.emit(create(memref.CopyOp, operands=[first, second]))
            return
        zero, one = self.cv.number(0, INDEX), self.cv.number(1, INDEX)
        count = self.index(size)
        body = Block(arg_types=[INDEX])
        with self.cv.at(body):
            element = self.cv.build(memref.LoadOp, [first, body.args[0]], dtype)
            store = create(memref.StoreOp, operands=[element, second, body.args[0]])
            self.cv.emit(store)
            self.cv.emit(scf.YieldOp())
        self.cv.emit(scf.ForOp(zero, count, one, [], body))

    def elements(self, value: Tensor) -> SSAValue:
        """The memory of a tensor as a memref of one dynamic extent."""
        type_ = memref_of((DYNAMIC_INDEX,), signless(value.dtype), GENERIC_SPACE)
        return self.cast(value, type_)

    def store(self, element: SSAValue, memory: SSAValue, position: int) -> None:
        """Write one element of a memref of rank 1."""
        at = self.cv.number(position, INDEX)
        self.cv.emit(create(memref.StoreOp, operands=[element, memory, at]))

    def load(self, memory: SSAValue, position: int) -> SSAValue:
        """Read one element of a memref of rank 1."""
        at = self.cv.number(position, INDEX)
        element = memref_type(memory).element_type
        return self.cv.build(memref.LoadOp, [memory, at], element)

    def constant(self, op: relax.ConstantOp) -> Tensor:
        """The memory of a constant: a global, or a copy where it may be written."""
        value = op.value
        if not isinstance(value, DenseIntOrFPElementsAttr):
            raise self.cv.fail("the value is in a resource; write it as dense<…>")
        dense = cast("DenseIntOrFPElementsAttr[IntegerType]", value)
        name, type_ = self.view.constant(dense)
        memory = self.cv.build(memref.GetGlobalOp, [], type_, {"name": name})
        memory.name_hint = op.result.name_hint
        dims = tuple(Dim.constant(extent) for extent in type_.get_shape())
        tensor = Tensor(memory, dims, dense.get_element_type(), is_constant=True)
        if op.result not in self.view.written(self.source):
            return tensor
        copy = self.new_tensor(dims, tensor.dtype)
        self.copy(tensor, copy)
        return copy

    # -- lives

    def name(self, value: SSAValue, meaning: Value) -> None:
        """Say that a value, where it is used, names the memory that it is on."""
        if any(not isinstance(use.operation, KILLS) for use in value.uses):
            for memory in memories(meaning):
                memory.names.add(value)

    def kill(self, value: SSAValue, meaning: Value) -> None:
        """Forget a name, and release memory of this block that has none left.

        Memory of a block around is released there, whatever a branch says of it.
        """
        for memory in memories(meaning):
            memory.names.discard(value)
            if not memory.names and memory in self.scopes[-1].owned:
                del self.scopes[-1].owned[memory]
                self._free(memory)

    def _free(self, memory: Memory) -> None:
        self.cv.emit(create(memref.DeallocOp, operands=[memory.base]))

    def release(self, scope: Scope) -> None:
        """Release what a block still owns."""
        for memory in reversed(scope.owned):
            self._free(memory)
        scope.owned.clear()

    def handed_over(
        self, value: Tensor, scope: Scope, type_: AnyMemRef, *, copied: bool = False
    ) -> SSAValue:
        """Memory that whoever gets it must release: the scope's own, or a copy."""
        memory = value.memory
        is_own = memory is not None and memory in scope.owned and value.at_start
        if memory is not None and is_own and not copied:
            del scope.owned[memory]
            return self.cast(value, type_)
        copy = Tensor(self.new_memory(value.dims, value.dtype), value.dims, value.dtype)
        self.copy(value, copy)
        return self.cast(copy, type_)

    def taken_over(
        self, base: SSAValue, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor:
        """A tensor on memory that a branch has handed over."""
        return Tensor(base, dims, dtype, self._own(base))

    def taken_from(
        self, address: SSAValue, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor:
        """A tensor on memory at an address, which this block is to release."""
        pointer = self.cv.emit(llvm.IntToPtrOp(address)).output
        taken = create(
            UnrealizedConversionCastOp,
            operands=[pointer],
            result_types=[memref_for(dims, dtype)],
            # A failure releases it, too.
            attributes={TAKEN: UnitAttr()},
        )
        return self.taken_over(self.cv.emit(taken).results[0], dims, dtype)

    # -- operations

    def allocated_info(self, type_: Attribute) -> tuple[tuple[Dim, ...], Attribute]:
        """The extents of a new tensor of a type, and its dtype."""
        info = TensorInfo.of(type_)
        assert info is not None, "verified"
        dims, dtype = known(info)
        return self.actual(dims), dtype

    def expect_host(self, device: int, scope: str) -> None:
        """Refuse memory that is not the processor's."""
        if device > 0 or scope != "global":
            raise self.cv.fail(
                f'memory on device {device}, scope "{scope}", is not the CPU\'s; use '
                'device 0, "global"'
            )


KILLS = (relax.KillTensorOp, relax.KillStorageOp, relax.VMKillObjectOp)
"""Operations that end the life of a name."""


def _bytes_needed(value: Tensor) -> Dim:
    """The bytes of all elements of a tensor."""
    return product(value.dims) * element_bytes(value.dtype)


def _bytes_type(size: Dim) -> AnyMemRef:
    extent = DYNAMIC_INDEX if size.value is None else size.value
    return memref_of((extent,), i8, GENERIC_SPACE)


def _differ_in_first_extent(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are the same but that one has a dynamic extent first."""
    return len(a) == len(b) and a[1:] == b[1:] and DYNAMIC_INDEX in (*a[:1], *b[:1])
