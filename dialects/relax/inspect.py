"""What a tensor says about itself at run time (docs/spec/relax-ops.md §13)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    IntegerType,
    Signedness,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_integer_prim,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    DimLike,
    product,
    provably_at_least,
)
from xdsl_tvm.dialects.relax.types import PrimType, TensorInfo

__all__ = [
    "TensorByteOffsetOp",
    "TensorDtypeBitsOp",
    "TensorDtypeCodeOp",
    "TensorDtypeLanesOp",
    "TensorElemOffsetOp",
    "TensorNdimOp",
    "TensorShapeIOp",
    "TensorStrideIOp",
]

_UNSIGNED = Signedness.UNSIGNED
_U8 = IntegerType(8, _UNSIGNED)
_U16 = IntegerType(16, _UNSIGNED)
_U64 = IntegerType(64, _UNSIGNED)
_INT, _UINT, _FLOAT, _BFLOAT = 0, 1, 2, 4


class InspectOp(OperatorOp, ABC):
    """A number that describes a tensor, known where the type says it."""

    SIGNATURE: ClassVar[str] = "tensor"

    tensor = operand_def()

    assembly_format = "$tensor attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, tensor: SSAValue | Operation, result_type: Attribute | None = None
    ) -> None:
        self._make([tensor], {}, result_type)

    @abstractmethod
    def _value(self, info: TensorInfo) -> PrimType:
        """The number of a tensor."""

    def infer_result_type(self) -> Attribute:
        return self._value(expect_tensor(self.name, "tensor", self.tensor.type))


class InspectDimensionOp(OperatorOp, ABC):
    """A number that describes one dimension of a tensor."""

    SIGNATURE: ClassVar[str] = "tensor, axis: prim"

    tensor = operand_def()
    axis = operand_def()

    assembly_format = "$tensor `,` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        tensor: SSAValue | Operation,
        axis: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([tensor, axis], {}, result_type)

    @abstractmethod
    def _value(self, info: TensorInfo, axis: int) -> DimLike | None:
        """The number of a dimension of a tensor of known rank."""

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "tensor", self.tensor.type)
        axis = expect_integer_prim(self.name, "axis", self.axis.type)
        if axis is None:
            return PrimType.of(i64)
        rank = info.rank
        if provably_at_least(-1, axis) or (
            rank is not None and provably_at_least(axis, rank)
        ):
            raise VerifyException(
                f"{self.name}: axis {axis} is out of range for rank "
                f"{'unknown' if rank is None else rank}"
            )
        if axis.value is None or rank is None:
            return PrimType.of(i64)
        return PrimType.of(i64, self._value(info, axis.value))


def _code(dtype: Attribute) -> int | None:
    """The kind of an element in DLPack; None for one without."""
    # A signless integer is signed, and a bool unsigned.
    if isa(dtype, IntegerType):
        return _UINT if dtype.signedness.data == _UNSIGNED or dtype == i1 else _INT
    if isinstance(dtype, BFloat16Type):
        return _BFLOAT
    is_ieee = isinstance(dtype, AnyFloat) and not dtype.name.startswith("f8")
    return _FLOAT if is_ieee else None


@irdl_op_definition
class TensorDtypeCodeOp(InspectOp):
    """The kind of the elements, as DLPack counts them.

    TVM's `relax.inspect.tensor_dtype_code`.

    ```mlir
    %r = relax.inspect.tensor_dtype_code %a :
      (tensor<4x8xf32>) -> !relax.prim<ui8, 2>
    ```
    """

    name = "relax.inspect.tensor_dtype_code"

    def _value(self, info: TensorInfo) -> PrimType:
        return PrimType.of(_U8, None if info.dtype is None else _code(info.dtype))


@irdl_op_definition
class TensorDtypeBitsOp(InspectOp):
    """The bits of an element.

    TVM's `relax.inspect.tensor_dtype_bits`.

    ```mlir
    %r = relax.inspect.tensor_dtype_bits %a :
      (tensor<4x8xf32>) -> !relax.prim<ui8, 32>
    ```
    """

    name = "relax.inspect.tensor_dtype_bits"

    def _value(self, info: TensorInfo) -> PrimType:
        dtype = info.dtype
        if isinstance(dtype, IntegerType | AnyFloat):
            return PrimType.of(_U8, dtype.bitwidth)
        return PrimType.of(_U8)


@irdl_op_definition
class TensorDtypeLanesOp(InspectOp):
    """The lanes of an element, 1 for a scalar.

    TVM's `relax.inspect.tensor_dtype_lanes`.

    ```mlir
    %r = relax.inspect.tensor_dtype_lanes %a :
      (tensor<4x8xf32>) -> !relax.prim<ui16, 1>
    ```
    """

    name = "relax.inspect.tensor_dtype_lanes"

    def _value(self, info: TensorInfo) -> PrimType:
        return PrimType.of(_U16, None if info.dtype is None else 1)


@irdl_op_definition
class TensorNdimOp(InspectOp):
    """The number of dimensions.

    TVM's `relax.inspect.tensor_ndim`.

    ```mlir
    %r = relax.inspect.tensor_ndim %a :
      (tensor<4x8xf32>) -> !relax.prim<i32, 2>
    ```
    """

    name = "relax.inspect.tensor_ndim"

    def _value(self, info: TensorInfo) -> PrimType:
        return PrimType.of(i32, info.rank)


@irdl_op_definition
class TensorShapeIOp(InspectDimensionOp):
    """The extent of a dimension.

    TVM's `relax.inspect.tensor_shape_i`.

    ```mlir
    %r = relax.inspect.tensor_shape_i %a, %i :
      (tensor<4x8xf32>, !relax.prim<i64, 1>) -> !relax.prim<i64, 8>
    ```
    """

    name = "relax.inspect.tensor_shape_i"

    def _value(self, info: TensorInfo, axis: int) -> DimLike | None:
        return None if info.dims is None else info.dims[axis]


@irdl_op_definition
class TensorStrideIOp(InspectDimensionOp):
    """The stride of a dimension in elements, of a compact tensor.

    TVM's `relax.inspect.tensor_stride_i`.

    ```mlir
    %r = relax.inspect.tensor_stride_i %a, %i :
      (tensor<4x8xf32>, !relax.prim<i64, 1>) -> !relax.prim<i64, 1>
    ```
    """

    name = "relax.inspect.tensor_stride_i"

    def _value(self, info: TensorInfo, axis: int) -> DimLike | None:
        inner = () if info.dims is None else info.dims[axis + 1 :]
        known: list[Dim] = [dim for dim in inner if dim is not None]
        return product(known) if len(known) == len(inner) else None


@irdl_op_definition
class TensorByteOffsetOp(InspectOp):
    """Where the tensor begins in its memory, in bytes.

    TVM's `relax.inspect.tensor_byte_offset`.

    ```mlir
    %r = relax.inspect.tensor_byte_offset %a :
      (tensor<4x8xf32>) -> !relax.prim<ui64>
    ```
    """

    name = "relax.inspect.tensor_byte_offset"

    def _value(self, info: TensorInfo) -> PrimType:
        return PrimType.of(_U64)


@irdl_op_definition
class TensorElemOffsetOp(InspectOp):
    """Where the tensor begins in its memory, in elements.

    TVM's `relax.inspect.tensor_elem_offset`.

    ```mlir
    %r = relax.inspect.tensor_elem_offset %a :
      (tensor<4x8xf32>) -> !relax.prim<ui64>
    ```
    """

    name = "relax.inspect.tensor_elem_offset"

    def _value(self, info: TensorInfo) -> PrimType:
        return PrimType.of(_U64)
