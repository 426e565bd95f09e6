"""Conversion between numbers and their quantised form (docs/spec/relax-ops.md §12)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, f16, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_tensor, normalize_axis
from xdsl_tvm.dialects.relax.properties import number
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo

__all__ = ["DequantizeOp", "QuantizeOp"]


def _integers(*widths: int) -> set[Attribute]:
    """Integer types of the widths, of any sign."""
    signs = Signedness.SIGNLESS, Signedness.SIGNED, Signedness.UNSIGNED
    return {IntegerType(width, sign) for width in widths for sign in signs}


_FLOATS: set[Attribute] = {f16, f32}
_SMALL = {"f8E4M3", "f8E4M3FN", "f8E5M2"}


def _is_one_of(dtype: Attribute, types: Collection[Attribute], small: bool) -> bool:
    return dtype in types or (small and dtype.name in _SMALL)


class QuantizationOp(OperatorOp, ABC):
    """Between numbers and their quantised form: with scale and zero point.

    Both are scalars, or have one element for each position along `axis`.
    """

    DATA: ClassVar[Collection[Attribute]]
    SMALL_DATA: ClassVar[bool]
    """Whether the data may also hold floats of 8 bits."""
    RESULT: ClassVar[Collection[Attribute]]
    SMALL_RESULT: ClassVar[bool]
    DEFAULT_RESULT: ClassVar[Attribute]

    data = operand_def()
    scale = operand_def()
    zero_point = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    out_dtype = prop_def()

    assembly_format = (
        "$data `,` $scale `,` $zero_point `axis` $axis `out_dtype` $out_dtype attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero_point: SSAValue | Operation,
        axis: int = -1,
        out_dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "axis": number(axis),
            "out_dtype": out_dtype or self.DEFAULT_RESULT,
        }
        self._make([data, scale, zero_point], properties, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        self._check_dtype("data", info, self.DATA, self.SMALL_DATA)
        if not _is_one_of(self.out_dtype, self.RESULT, self.SMALL_RESULT):
            raise VerifyException(f"{self.name}: out_dtype cannot be {self.out_dtype}")
        extent = None
        if info.dims is not None:
            axis = normalize_axis(self.name, self.axis.value.data, len(info.dims))
            extent = info.dims[axis]
        scale = self._vector("scale", self.scale.type, extent)
        self._check_dtype("scale", scale, _FLOATS, False)
        zero = self._vector("zero_point", self.zero_point.type, extent)
        self._check_dtype("zero_point", zero, {*_integers(8), f16}, False)
        return replace(info, dtype=self.out_dtype).type

    def _check_dtype(
        self, name: str, info: TensorInfo, types: Collection[Attribute], small: bool
    ) -> None:
        if info.dtype is not None and not _is_one_of(info.dtype, types, small):
            raise VerifyException(
                f"{self.name}: operand '{name}' cannot hold {info.dtype}"
            )

    def _vector(self, name: str, type_: Attribute, extent: Dim | None) -> TensorInfo:
        """A scalar or a vector of the axis' extent, which must be proven."""
        info = expect_tensor(self.name, name, type_)
        dims = info.dims or ()
        if len(dims) > 1:
            raise VerifyException(
                f"{self.name}: operand '{name}' must have rank 0 or 1, not {len(dims)}"
            )
        length = dims[0] if dims else None
        if length is None or extent is None or length.value == 1:
            return info
        if not provably_equal(length, extent):
            raise VerifyException(
                f"{self.name}: operand '{name}' must have length {extent}, not {length}"
            )
        return info


@irdl_op_definition
class QuantizeOp(QuantizationOp):
    """`round(x / scale) + zero_point`, clipped to `out_dtype`. TVM's `relax.quantize`.

    ```mlir
    %r = relax.quantize %a, %s, %z axis 1 out_dtype i8 :
      (tensor<4x8xf32>, tensor<8xf32>, tensor<8xi8>) -> tensor<4x8xi8>
    ```
    """

    name = "relax.quantize"
    SIGNATURE: ClassVar[str] = (
        'data, scale, zero_point, axis: int = -1, out_dtype: dtype = "int8"'
    )
    DATA: ClassVar[Collection[Attribute]] = _FLOATS
    SMALL_DATA: ClassVar[bool] = False
    RESULT: ClassVar[Collection[Attribute]] = _integers(8, 16)
    SMALL_RESULT: ClassVar[bool] = True
    DEFAULT_RESULT: ClassVar[Attribute] = IntegerType(8)


@irdl_op_definition
class DequantizeOp(QuantizationOp):
    """`(x - zero_point) * scale`, in `out_dtype`. TVM's `relax.dequantize`.

    ```mlir
    %r = relax.dequantize %a, %s, %z axis 1 out_dtype f32 :
      (tensor<4x8xi8>, tensor<8xf32>, tensor<8xi8>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.dequantize"
    SIGNATURE: ClassVar[str] = (
        'data, scale, zero_point, axis: int = -1, out_dtype: dtype = "float32"'
    )
    DATA: ClassVar[Collection[Attribute]] = _integers(8, 16, 32) | _FLOATS
    SMALL_DATA: ClassVar[bool] = True
    RESULT: ClassVar[Collection[Attribute]] = _FLOATS
    SMALL_RESULT: ClassVar[bool] = False
    DEFAULT_RESULT: ClassVar[Attribute] = f32
