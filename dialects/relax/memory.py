"""Explicit memory (docs/spec/relax-ir.md §5, docs/spec/relax-ops.md §13).

Shapes, sizes and dtypes are part of the operations and of their types here; in
`relax.vm` they are values computed at run time. Making a tensor of a storage is pure as
far as TVM goes; ending a life is impure, so that nothing drops or moves it.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.assembly import Dimension
from xdsl_tvm.dialects.relax.attributes import DimAttr
from xdsl_tvm.dialects.relax.calls import MayBeImpure
from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_shape, expect_tensor
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike, product, provably_at_least
from xdsl_tvm.dialects.relax.types import (
    OBJECT,
    ObjectType,
    PrimType,
    TensorInfo,
    verify_type,
)
from xdsl_tvm.dialects.tir.types import bytes_of_lane, is_scalar

__all__ = [
    "AllocStorageOp",
    "AllocTensorFromStorageOp",
    "AllocTensorOp",
    "EnsureZeroOffsetOp",
    "KillStorageOp",
    "KillTensorOp",
    "ViewOp",
]


class AllocatesResult(MemoryEffect):
    """The result is new: two such operations are never one, an unused one may go."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """The allocation of each result."""
        return {EffectInstance(MemoryEffectKind.ALLOC, r) for r in op.results}


class EndsLife(MemoryEffect):
    """The operands are not used any more."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """The end of each operand's life."""
        return {EffectInstance(MemoryEffectKind.FREE, v) for v in op.operands}


def verify_device(op: IRDLOperation, device: IntegerAttr) -> None:
    """Check the number of a device; VerifyException if there can be none such."""
    if device.value.data < -1:
        raise VerifyException(
            f"{op.name}: device {device.value.data} is neither "
            "the host, -1, nor a virtual device"
        )


def _verify_allocated(op: IRDLOperation, type_: Attribute) -> TensorInfo:
    """Check that shape and dtype of a new tensor are known."""
    verify_type(type_)
    info = TensorInfo.of(type_)
    if info is None or info.shape is None or info.dtype is None:
        raise VerifyException(
            f"{op.name}: the result must be a tensor of known shape and dtype, "
            f"not {type_}"
        )
    return info


@irdl_op_definition
class AllocTensorOp(IRDLOperation):
    """A new tensor, its elements not initialised. TVM's `relax.builtin.alloc_tensor`.

    Shape and dtype are those of the result type. `device_index` counts the virtual
    devices of the module; -1 is the host. Two allocations are never one tensor.

    ```mlir
    %r = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4x8xf32>
    ```
    """

    name = "relax.builtin.alloc_tensor"

    device_index = prop_def(IntegerAttr.constr(i64))
    storage_scope = prop_def(StringAttr)
    result = result_def()

    traits = traits_def(AllocatesResult())

    assembly_format = (
        "`on` $device_index `scope` $storage_scope attr-dict `:` type($result)"
    )

    def __init__(
        self, result_type: Attribute, device_index: int = 0, storage_scope: str = "global"
    ) -> None:
        super().__init__(
            result_types=[result_type],
            properties={
                "device_index": IntegerAttr(device_index, i64),
                "storage_scope": StringAttr(storage_scope),
            },
        )

    def verify_(self) -> None:
        _verify_allocated(self, self.result.type)
        verify_device(self, self.device_index)


@irdl_op_definition
class AllocStorageOp(IRDLOperation):
    """New raw memory of `size` bytes. TVM's `relax.memory.alloc_storage`.

    `device_index` counts the virtual devices of the module; -1 is the host. `dtype` is
    that of the tensors the memory is aligned for. Two allocations are never one storage.

    ```mlir
    %r = relax.memory.alloc_storage 128 on 0 scope "global" dtype f32 :
      !relax.object
    ```
    """

    name = "relax.memory.alloc_storage"

    size = prop_def(DimAttr)
    device_index = prop_def(IntegerAttr.constr(i64))
    storage_scope = prop_def(StringAttr)
    dtype = prop_def()
    result = result_def(ObjectType)

    traits = traits_def(AllocatesResult())

    custom_directives = (Dimension,)
    assembly_format = (
        "custom<Dimension>($size) `on` $device_index `scope` $storage_scope"
        " `dtype` $dtype attr-dict `:` type($result)"
    )

    def __init__(
        self,
        size: DimLike,
        dtype: Attribute,
        device_index: int = 0,
        storage_scope: str = "global",
    ) -> None:
        super().__init__(
            result_types=[OBJECT],
            properties={
                "size": DimAttr(Dim.of(size)),
                "device_index": IntegerAttr(device_index, i64),
                "storage_scope": StringAttr(storage_scope),
                "dtype": dtype,
            },
        )

    def verify_(self) -> None:
        verify_device(self, self.device_index)
        if not provably_at_least(-1, self.size.data):
            return
        raise VerifyException(f"{self.name}: {self.size.data} is no number of bytes")


@irdl_op_definition
class AllocTensorFromStorageOp(IRDLOperation):
    """A tensor on memory that exists, `offset` bytes from its start.

    Shape and dtype are those of the result type; elements are what the memory holds.
    The storage lives on as long as a tensor on it. TVM's `relax.memory.alloc_tensor`.

    ```mlir
    %r = relax.memory.alloc_tensor %storage at 0 :
      !relax.object -> tensor<4x8xf32>
    ```
    """

    name = "relax.memory.alloc_tensor"

    storage = operand_def(ObjectType)
    offset = prop_def(DimAttr)
    result = result_def()

    traits = traits_def(AllocatesResult())

    custom_directives = (Dimension,)
    assembly_format = (
        "$storage `at` custom<Dimension>($offset) attr-dict `:`"
        " type($storage) `->` type($result)"
    )

    def __init__(
        self,
        storage: SSAValue | Operation,
        result_type: Attribute,
        offset: DimLike = 0,
    ) -> None:
        super().__init__(
            operands=[storage],
            result_types=[result_type],
            properties={"offset": DimAttr(Dim.of(offset))},
        )

    def verify_(self) -> None:
        info = _verify_allocated(self, self.result.type)
        offset = self.offset.data
        if provably_at_least(-1, offset):
            raise VerifyException(f"{self.name}: the offset {offset} is negative")
        storage = self.storage.owner
        if isinstance(storage, AllocStorageOp):
            self._verify_bounds(info, storage.size.data)

    def _verify_bounds(self, info: TensorInfo, size: Dim) -> None:
        needed = _bytes(info)
        if needed is None:
            return
        end = needed + self.offset.data
        if provably_at_least(end, size + 1):
            raise VerifyException(
                f"{self.name}: the tensor ends at byte {end} of a storage of {size} bytes"
            )


@irdl_op_definition
class KillStorageOp(IRDLOperation):
    """The storage is not named any more. TVM's `relax.memory.kill_storage`.

    Its memory is free as soon as no tensor on it is left.

    ```mlir
    relax.memory.kill_storage %storage : !relax.object
    ```
    """

    name = "relax.memory.kill_storage"

    storage = operand_def(ObjectType)

    traits = traits_def(MayBeImpure(), EndsLife())

    assembly_format = "$storage attr-dict `:` type($storage)"

    def __init__(self, storage: SSAValue | Operation) -> None:
        super().__init__(operands=[storage])


@irdl_op_definition
class KillTensorOp(IRDLOperation):
    """The tensor is not named any more. TVM's `relax.memory.kill_tensor`.

    ```mlir
    relax.memory.kill_tensor %a : tensor<4x8xf32>
    ```
    """

    name = "relax.memory.kill_tensor"

    tensor = operand_def()

    traits = traits_def(MayBeImpure(), EndsLife())

    assembly_format = "$tensor attr-dict `:` type($tensor)"

    def __init__(self, tensor: SSAValue | Operation) -> None:
        super().__init__(operands=[tensor])

    def verify_(self) -> None:
        expect_tensor(self.name, "tensor", self.tensor.type)


@irdl_op_definition
class ViewOp(OperatorOp):
    """The same memory seen under another shape or dtype, or from an offset in bytes.

    What is not given stays as it is. The view must be within the tensor.
    TVM's `relax.memory.view`.

    ```mlir
    %r = relax.memory.view %a shape %s : !relax.shape<[8]> at %o : !relax.prim<i64, 64>
      dtype i32 : tensor<4x8xf32> -> tensor<8xi32>
    ```
    """

    name = "relax.memory.view"
    SIGNATURE: ClassVar[str] = (
        "data, shape: shape = None, dtype: dtype = None,"
        " relative_byte_offset: prim = None"
    )

    data = operand_def()
    shape = opt_operand_def()
    relative_byte_offset = opt_operand_def()
    dtype = opt_prop_def()

    irdl_options = (
        ParsePropInAttrDict(),
        AttrSizedOperandSegments(as_property=True),
    )
    assembly_format = (
        "$data (`shape` $shape^ `:` type($shape))?"
        " (`at` $relative_byte_offset^ `:` type($relative_byte_offset))?"
        " (`dtype` $dtype^)? attr-dict `:` type($data) `->` type($result)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        shape: SSAValue | Operation | None = None,
        dtype: Attribute | None = None,
        relative_byte_offset: SSAValue | Operation | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, shape, relative_byte_offset], {"dtype": dtype}, result_type)

    @classmethod
    def _offset(cls, type_: Attribute | None) -> Dim | None:
        if type_ is None:
            return Dim.constant(0)
        if not isinstance(type_, PrimType) or type_.dtype != i64:
            raise VerifyException(
                f"{cls.name}: operand 'relative_byte_offset' must be a "
                f"!relax.prim<i64>, not {type_}"
            )
        if type_.dim is not None and provably_at_least(-1, type_.dim):
            raise VerifyException(f"{cls.name}: the offset {type_.dim} is negative")
        return type_.dim

    @classmethod
    def _check_bounds(
        cls,
        data: TensorInfo,
        view: TensorInfo,
        offset: Dim | None,
        same_shape: bool,
        same_dtype: bool,
    ) -> None:
        """Refuse a view that is known to reach past the end.

        Where sizes are not known, an equal dtype allows to compare the numbers of
        elements, and an equal shape to compare the elements' sizes.
        """
        start = Dim.constant(0) if offset is None else offset
        unit = "bytes"
        old, new = _bytes(data), _bytes(view)
        if (old is None or new is None) and data.dtype == view.dtype:
            old, new, start = _elements(data), _elements(view), Dim.constant(0)
            unit = "elements"
        if (old is None or new is None) and same_shape:
            old, new, start = _element_size(data), _element_size(view), Dim.constant(0)
            unit = "bytes an element"
        is_whole = same_shape and same_dtype
        if is_whole and offset is not None and provably_at_least(offset, 1):
            raise VerifyException(
                f"{cls.name}: a view of the whole tensor cannot start at byte {offset}"
            )
        if old is None or new is None or not provably_at_least(new + start, old + 1):
            return
        raise VerifyException(
            f"{cls.name}: a view that ends at {new + start} {unit} is not within "
            f"{old} {unit}"
        )

    def infer_result_type(self) -> Attribute:
        """The tensor of the given shape and dtype, where the operand lives."""
        info = expect_tensor(self.name, "data", self.data.type)
        dims = info.dims
        if self.shape is not None:
            dims = expect_shape(self.name, "shape", self.shape.type).values
        offset = self._offset(_type_of(self.relative_byte_offset))
        view = TensorInfo(dims, self.dtype or info.dtype, info.vdevice)
        self._check_bounds(info, view, offset, self.shape is None, self.dtype is None)
        return view.type


@irdl_op_definition
class EnsureZeroOffsetOp(UnaryOperatorOp):
    """The same tensor, copied if its first element is not where its memory starts.

    TVM's `relax.memory.ensure_zero_offset`.

    ```mlir
    %r = relax.memory.ensure_zero_offset %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.memory.ensure_zero_offset"
    SIGNATURE: ClassVar[str] = "data"


def _type_of(value: SSAValue | None) -> Attribute | None:
    return None if value is None else value.type


def _elements(info: TensorInfo) -> Dim | None:
    return None if info.shape is None else product(info.shape)


def _element_size(info: TensorInfo) -> Dim | None:
    if info.dtype is None or not is_scalar(info.dtype):
        return None
    return Dim.constant(bytes_of_lane(info.dtype))


def _bytes(info: TensorInfo) -> Dim | None:
    count, size = _elements(info), _element_size(info)
    return None if count is None or size is None else count * size
