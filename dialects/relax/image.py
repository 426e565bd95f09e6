"""Images (docs/spec/relax-ops.md §12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.call_arguments import Insert, as_list
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_shape, expect_tensor
from xdsl_tvm.dialects.relax.properties import number, real, text
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.window import plain_dims

__all__ = ["Resize2DOp"]


@irdl_op_definition
class Resize2DOp(OperatorOp):
    """Images of another size. TVM's `relax.image.resize2d`.

    `size` has the new height and width. `roi` is the part of the image that is taken, for
    the coordinate transformation "tf_crop_and_resize"; `extrapolation_value` stands for
    what is outside of it.

    ```mlir
    %r = relax.image.resize2d %a, %s roi [0.0, 0.0, 0.0, 0.0] layout "NCHW"
      method "linear" coordinates "half_pixel" rounding "round" cubic -0.5 exclude 0
      outside 0.0 :
      (tensor<1x3x8x8xf32>, !relax.shape<[16, 16]>) -> tensor<1x3x16x16xf32>
    ```
    """

    name = "relax.image.resize2d"
    SIGNATURE: ClassVar[str] = (
        'data, size: shape, roi: floats = (0.0, 0.0, 0.0, 0.0), layout: str = "NCHW",'
        ' method: str = "linear", coordinate_transformation_mode: str = "half_pixel",'
        ' rounding_method: str = "round", cubic_alpha: float = -0.5,'
        " cubic_exclude: int = 0, extrapolation_value: float = 0.0,"
        " out_dtype: dtype = None"
    )

    data = operand_def()
    size = operand_def()
    roi = prop_def(ArrayAttr[FloatAttr[Float64Type]])
    layout = prop_def(StringAttr)
    method = prop_def(StringAttr)
    coordinate_transformation_mode = prop_def(StringAttr)
    rounding_method = prop_def(StringAttr)
    cubic_alpha = prop_def(FloatAttr[Float64Type].constr(f64))
    cubic_exclude = prop_def(IntegerAttr.constr(i64))
    extrapolation_value = prop_def(FloatAttr[Float64Type].constr(f64))
    out_dtype = opt_prop_def()

    assembly_format = (
        "$data `,` $size `roi` $roi `layout` $layout `method` $method `coordinates`"
        " $coordinate_transformation_mode `rounding` $rounding_method `cubic`"
        " $cubic_alpha `exclude` $cubic_exclude `outside` $extrapolation_value"
        " (`out_dtype` $out_dtype^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        size: SSAValue | Operation,
        roi: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        layout: str = "NCHW",
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "round",
        cubic_alpha: float = -0.5,
        cubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, size],
            {
                "roi": ArrayAttr(real(value) for value in roi),
                "layout": text(layout),
                "method": text(method),
                "coordinate_transformation_mode": text(coordinate_transformation_mode),
                "rounding_method": text(rounding_method),
                "cubic_alpha": real(cubic_alpha),
                "cubic_exclude": number(cubic_exclude),
                "extrapolation_value": real(extrapolation_value),
                "out_dtype": out_dtype,
            },
            result_type,
        )

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Repeats one number for height and width, and for all four of `roi`."""
        size, roi = arguments["size"], arguments["roi"]
        if isinstance(size, int | Dim) and not isinstance(size, bool):
            size = [size]
        if (dims := as_list(size)) is not None and len(dims) == 1:
            arguments["size"] = dims * 2
        if isinstance(roi, float):
            arguments["roi"] = [roi] * 4

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        size = expect_shape(self.name, "size", self.size.type).values
        if size is not None and len(size) != 2:
            raise VerifyException(
                f"{self.name}: size must be height and width, not {len(size)} values"
            )
        if len(self.roi.data) != 4:
            raise VerifyException(
                f"{self.name}: roi must have 4 values, not {len(self.roi.data)}"
            )
        layout = Layout.parse(self.name, self.layout.data, "NCHW")
        plain = plain_dims(self.name, "data", info, layout, "NCHW") or (None, None)
        dims = (*plain[:2], *(size or (None, None)))
        result = info.with_dims(layout.from_plain(dims, "NCHW"))
        return replace(result, dtype=self.out_dtype or info.dtype).type
