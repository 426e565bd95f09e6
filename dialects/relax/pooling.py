"""Poolings (docs/spec/relax-ops.md §11).

The rules work on dimensions in the order NC…; layouts say how the tensors have them.
Without `out_layout` the result has the layout of the data.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_tensor
from xdsl_tvm.dialects.relax.properties import flag, integers, ints_prop, text, values_of
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.relax.window import (
    SPATIAL,
    padding_pairs,
    per_dimension,
    plain_dims,
    positive,
    window_count,
)

__all__ = [
    "AdaptiveAvgPool1DOp",
    "AdaptiveAvgPool2DOp",
    "AdaptiveAvgPool3DOp",
    "AvgPool1DOp",
    "AvgPool2DOp",
    "AvgPool3DOp",
    "MaxPool1DOp",
    "MaxPool2DOp",
    "MaxPool3DOp",
]

_POOL_SIGNATURE = (
    "data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0,"
    " dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False,"
    ' layout: str = "{}", out_layout: str = None'
)
_ADAPTIVE_SIGNATURE = (
    'data, output_size: ints = None, layout: str = "{}", out_layout: str = None'
)


def _in_layout(
    op: str, info: TensorInfo, layouts: tuple[Layout, Layout], letters: str, dims: Dims
) -> Attribute:
    """The result type: batch and channels of the data, the given spatial dimensions."""
    layout, out = layouts
    plain = plain_dims(op, "data", info, layout, letters) or (None, None)
    return info.with_dims(out.from_plain((*plain[:2], *dims), letters)).type


def _layouts(
    op: str, layout: StringAttr, out: StringAttr | None, letters: str
) -> tuple[Layout, Layout]:
    given = Layout.parse(op, layout.data, letters)
    return given, given if out is None else Layout.parse(op, out.data, letters)


class PoolOp(OperatorOp, ABC):
    """One number for each window of the spatial dimensions, per channel.

    Sizes, strides, dilation and padding are one number, or one per dimension; padding
    also one per begin, then one per end. With `ceil_mode` windows may reach over the end.
    """

    SPATIAL_RANK: ClassVar[int]

    data = operand_def()
    pool_size = ints_prop()
    strides = ints_prop()
    padding = ints_prop()
    dilation = ints_prop()
    ceil_mode = opt_prop_def(UnitAttr)
    count_include_pad = opt_prop_def(UnitAttr)
    layout = prop_def(StringAttr)
    out_layout = opt_prop_def(StringAttr)

    assembly_format = (
        "$data `size` $pool_size `strides` $strides `padding` $padding"
        " `dilation` $dilation (`ceil_mode` $ceil_mode^)?"
        " (`count_include_pad` $count_include_pad^)? `layout` $layout"
        " (`out_layout` $out_layout^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        pool_size: Sequence[int] | int = 1,
        strides: Sequence[int] | int = 1,
        padding: Sequence[int] | int = 0,
        dilation: Sequence[int] | int = 1,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        layout: str | None = None,
        out_layout: str | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data],
            {
                "pool_size": integers(pool_size),
                "strides": integers(strides),
                "padding": integers(padding),
                "dilation": integers(dilation),
                "ceil_mode": flag(ceil_mode),
                "count_include_pad": flag(count_include_pad),
                "layout": text(layout or "NC" + SPATIAL[self.SPATIAL_RANK]),
                "out_layout": text(out_layout),
            },
            result_type,
        )

    def _values(self, what: str, values: DenseArrayBase[IntegerType]) -> list[int]:
        numbers = values_of(values)
        positive(self.name, what, numbers)
        return per_dimension(self.name, what, numbers, self.SPATIAL_RANK)

    @property
    def window_size(self) -> list[int]:
        """The window's extent per spatial dimension."""
        return self._values("pool_size", self.pool_size)

    @property
    def window_strides(self) -> list[int]:
        """The stride per spatial dimension."""
        return self._values("strides", self.strides)

    @property
    def window_dilation(self) -> list[int]:
        """The distance of a window's elements per spatial dimension."""
        return self._values("dilation", self.dilation)

    @property
    def window_padding(self) -> list[tuple[int, int]]:
        """What is added before and after, per spatial dimension."""
        return padding_pairs(self.name, values_of(self.padding), self.SPATIAL_RANK)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        letters = "NC" + SPATIAL[self.SPATIAL_RANK]
        layouts = _layouts(self.name, self.layout, self.out_layout, letters)
        plain = plain_dims(self.name, "data", info, layouts[0], letters)
        extents: Dims = (None,) * self.SPATIAL_RANK if plain is None else plain[2:]
        windows = zip(
            extents,
            map(Dim.constant, self.window_size),
            self.window_strides,
            self.window_padding,
            self.window_dilation,
            strict=True,
        )
        dims = tuple(window_count(*w, self.ceil_mode is not None) for w in windows)
        return _in_layout(self.name, info, layouts, letters, dims)


class AdaptiveAvgPoolOp(OperatorOp, ABC):
    """Means of windows such that the spatial dimensions get the given extents.

    Without `output_size` they stay as they are.
    """

    SPATIAL_RANK: ClassVar[int]

    data = operand_def()
    output_size = opt_prop_def(DenseArrayBase.constr(i64))
    layout = prop_def(StringAttr)
    out_layout = opt_prop_def(StringAttr)

    assembly_format = (
        "$data (`size` $output_size^)? `layout` $layout (`out_layout` $out_layout^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        output_size: Sequence[int] | int | None = None,
        layout: str | None = None,
        out_layout: str | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data],
            {
                "output_size": integers(output_size),
                "layout": text(layout or "NC" + SPATIAL[self.SPATIAL_RANK]),
                "out_layout": text(out_layout),
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        rank = self.SPATIAL_RANK
        letters = "NC" + SPATIAL[rank]
        layouts = _layouts(self.name, self.layout, self.out_layout, letters)
        plain = plain_dims(self.name, "data", info, layouts[0], letters)
        dims: Dims = (None,) * rank if plain is None else plain[2:]
        if self.output_size is not None:
            size = values_of(self.output_size)
            positive(self.name, "output_size", size)
            given = per_dimension(self.name, "output_size", size, rank)
            dims = tuple(map(Dim.constant, given))
        elif info.dims is None and layouts[0] == layouts[1]:
            return self.data.type
        return _in_layout(self.name, info, layouts, letters, dims)


@irdl_op_definition
class MaxPool1DOp(PoolOp):
    """Greatest element of each window of 1 dimension. TVM's `relax.nn.max_pool1d`.

    ```mlir
    %r = relax.nn.max_pool1d %a size [2] strides [2] padding [0, 0]
      dilation [1] layout "NCW" :
      (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    ```
    """

    name = "relax.nn.max_pool1d"
    SIGNATURE: ClassVar[str] = _POOL_SIGNATURE.format("NCW")
    SPATIAL_RANK: ClassVar[int] = 1


@irdl_op_definition
class MaxPool2DOp(PoolOp):
    """Greatest element of each window of 2 dimensions. TVM's `relax.nn.max_pool2d`.

    ```mlir
    %r = relax.nn.max_pool2d %a size [2, 2] strides [2, 2] padding [0, 0, 0, 0]
      dilation [1, 1] layout "NCHW" :
      (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
    ```
    """

    name = "relax.nn.max_pool2d"
    SIGNATURE: ClassVar[str] = _POOL_SIGNATURE.format("NCHW")
    SPATIAL_RANK: ClassVar[int] = 2


@irdl_op_definition
class MaxPool3DOp(PoolOp):
    """Greatest element of each window of 3 dimensions. TVM's `relax.nn.max_pool3d`.

    ```mlir
    %r = relax.nn.max_pool3d %a size [2, 2, 2] strides [2, 2, 2]
      padding [0, 0, 0, 0, 0, 0] dilation [1, 1, 1] layout "NCDHW" :
      (tensor<1x3x8x8x8xf32>) -> tensor<1x3x4x4x4xf32>
    ```
    """

    name = "relax.nn.max_pool3d"
    SIGNATURE: ClassVar[str] = _POOL_SIGNATURE.format("NCDHW")
    SPATIAL_RANK: ClassVar[int] = 3


@irdl_op_definition
class AvgPool1DOp(PoolOp):
    """Mean of each window of 1 dimension. TVM's `relax.nn.avg_pool1d`.

    ```mlir
    %r = relax.nn.avg_pool1d %a size [2] strides [2] padding [0, 0]
      dilation [1] layout "NCW" :
      (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    ```
    """

    name = "relax.nn.avg_pool1d"
    SIGNATURE: ClassVar[str] = _POOL_SIGNATURE.format("NCW")
    SPATIAL_RANK: ClassVar[int] = 1


@irdl_op_definition
class AvgPool2DOp(PoolOp):
    """Mean of each window of 2 dimensions. TVM's `relax.nn.avg_pool2d`.

    ```mlir
    %r = relax.nn.avg_pool2d %a size [2, 2] strides [2, 2] padding [0, 0, 0, 0]
      dilation [1, 1] layout "NCHW" :
      (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
    ```
    """

    name = "relax.nn.avg_pool2d"
    SIGNATURE: ClassVar[str] = _POOL_SIGNATURE.format("NCHW")
    SPATIAL_RANK: ClassVar[int] = 2


@irdl_op_definition
class AvgPool3DOp(PoolOp):
    """Mean of each window of 3 dimensions. TVM's `relax.nn.avg_pool3d`.

    ```mlir
    %r = relax.nn.avg_pool3d %a size [2, 2, 2] strides [2, 2, 2]
      padding [0, 0, 0, 0, 0, 0] dilation [1, 1, 1] layout "NCDHW" :
      (tensor<1x3x8x8x8xf32>) -> tensor<1x3x4x4x4xf32>
    ```
    """

    name = "relax.nn.avg_pool3d"
    SIGNATURE: ClassVar[str] = _POOL_SIGNATURE.format("NCDHW")
    SPATIAL_RANK: ClassVar[int] = 3


@irdl_op_definition
class AdaptiveAvgPool1DOp(AdaptiveAvgPoolOp):
    """Means over 1 dimension, of a given number of windows.

    TVM's `relax.nn.adaptive_avg_pool1d`.

    ```mlir
    %r = relax.nn.adaptive_avg_pool1d %a size [4] layout "NCW" :
      (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    ```
    """

    name = "relax.nn.adaptive_avg_pool1d"
    SIGNATURE: ClassVar[str] = _ADAPTIVE_SIGNATURE.format("NCW")
    SPATIAL_RANK: ClassVar[int] = 1


@irdl_op_definition
class AdaptiveAvgPool2DOp(AdaptiveAvgPoolOp):
    """Means over 2 dimensions, of a given number of windows.

    TVM's `relax.nn.adaptive_avg_pool2d`.

    ```mlir
    %r = relax.nn.adaptive_avg_pool2d %a size [4, 4] layout "NCHW" :
      (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
    ```
    """

    name = "relax.nn.adaptive_avg_pool2d"
    SIGNATURE: ClassVar[str] = _ADAPTIVE_SIGNATURE.format("NCHW")
    SPATIAL_RANK: ClassVar[int] = 2


@irdl_op_definition
class AdaptiveAvgPool3DOp(AdaptiveAvgPoolOp):
    """Means over 3 dimensions, of a given number of windows.

    TVM's `relax.nn.adaptive_avg_pool3d`.

    ```mlir
    %r = relax.nn.adaptive_avg_pool3d %a size [4, 4, 4] layout "NCDHW" :
      (tensor<1x3x8x8x8xf32>) -> tensor<1x3x4x4x4xf32>
    ```
    """

    name = "relax.nn.adaptive_avg_pool3d"
    SIGNATURE: ClassVar[str] = _ADAPTIVE_SIGNATURE.format("NCDHW")
    SPATIAL_RANK: ClassVar[int] = 3
