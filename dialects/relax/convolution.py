"""Convolutions (docs/spec/relax-ops.md §11).

The rules work on dimensions in the order NC… and OI…; layouts say how the tensors have
them. Without `out_layout` the result has the layout of the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    common_dtype,
    common_vdevice,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.properties import (
    integers,
    ints_prop,
    number,
    text,
    values_of,
)
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.relax.window import (
    SPATIAL,
    differ,
    padding_pairs,
    per_dimension,
    plain_dims,
    positive,
    window_count,
)

__all__ = ["Conv1DOp", "Conv1DTransposeOp", "Conv2DOp", "Conv2DTransposeOp", "Conv3DOp"]

_CONVOLUTION_SIGNATURE = (
    "data, weight, strides: ints = 1, padding: ints = 0, dilation: ints = 1,"
    ' groups: int = 1, data_layout: str = "{}", kernel_layout: str = "{}",'
    " out_layout: str = None, out_dtype: dtype = None"
)
_TRANSPOSE_SIGNATURE = (
    "data, weight, strides: ints = 1, padding: ints = 0, output_padding: ints = 0,"
    ' dilation: ints = 1, groups: int = 1, data_layout: str = "{}",'
    ' kernel_layout: str = "{}", out_layout: str = None, out_dtype: dtype = None'
)


class AnyConvolutionOp(OperatorOp, ABC):
    """What convolutions and transposed convolutions have in common.

    Strides, dilation and padding are one number, or one per dimension; padding also one
    per begin, then one per end. The channels are in `groups` that do not mix.
    """

    SPATIAL_RANK: ClassVar[int]
    KERNEL: ClassVar[str]
    """Letters of the weight's channels, in the order the rule works on."""

    data = operand_def()
    weight = operand_def()
    strides = ints_prop()
    padding = ints_prop()
    dilation = ints_prop()
    groups = prop_def(IntegerAttr.constr(i64))
    data_layout = prop_def(StringAttr)
    kernel_layout = prop_def(StringAttr)
    out_layout = opt_prop_def(StringAttr)
    out_dtype = opt_prop_def()

    @property
    def _letters(self) -> str:
        return SPATIAL[self.SPATIAL_RANK]

    @property
    def window_strides(self) -> list[int]:
        """The stride per spatial dimension."""
        strides = values_of(self.strides)
        positive(self.name, "strides", strides)
        return per_dimension(self.name, "strides", strides, self.SPATIAL_RANK)

    @property
    def window_dilation(self) -> list[int]:
        """The distance of a window's elements per spatial dimension."""
        dilation = values_of(self.dilation)
        positive(self.name, "dilation", dilation)
        return per_dimension(self.name, "dilation", dilation, self.SPATIAL_RANK)

    @property
    def window_padding(self) -> list[tuple[int, int]]:
        """What is added before and after, per spatial dimension."""
        return padding_pairs(self.name, values_of(self.padding), self.SPATIAL_RANK)

    @abstractmethod
    def _extents(self, data: Dims, weight: Dims) -> Dims:
        """The result's dimensions in the order NC…, of those of data and weight."""

    def infer_result_type(self) -> Attribute:
        data = expect_tensor(self.name, "data", self.data.type)
        weight = expect_tensor(self.name, "weight", self.weight.type)
        dtype = self.out_dtype or common_dtype(self.name, data.dtype, weight.dtype)
        vdevice = common_vdevice(self.name, data.vdevice, weight.vdevice)
        if self.groups.value.data <= 0:
            raise VerifyException(
                f"{self.name}: groups must be positive, not {self.groups.value.data}"
            )
        letters, kernel = "NC" + self._letters, self.KERNEL + self._letters
        layout = Layout.parse(self.name, self.data_layout.data, letters)
        order = Layout.parse(self.name, self.kernel_layout.data, kernel)
        out = layout
        if self.out_layout is not None:
            out = Layout.parse(self.name, self.out_layout.data, letters)
        dims = self._extents(
            plain_dims(self.name, "data", data, layout, letters)
            or (None,) * len(letters),
            plain_dims(self.name, "weight", weight, order, kernel)
            or (None,) * len(kernel),
        )
        return TensorInfo(out.from_plain(dims, letters), dtype, vdevice).type


class ConvolutionOp(AnyConvolutionOp, ABC):
    """Sums of products of a window of the data and the weight, per output channel."""

    KERNEL: ClassVar[str] = "OI"

    assembly_format = (
        "$data `,` $weight `strides` $strides `padding` $padding `dilation` $dilation"
        " `groups` $groups `layout` $data_layout `kernel` $kernel_layout"
        " (`out_layout` $out_layout^)? (`out_dtype` $out_dtype^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        weight: SSAValue | Operation,
        strides: Sequence[int] | int = 1,
        padding: Sequence[int] | int = 0,
        dilation: Sequence[int] | int = 1,
        groups: int = 1,
        data_layout: str | None = None,
        kernel_layout: str | None = None,
        out_layout: str | None = None,
        out_dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, weight],
            {
                "strides": integers(strides),
                "padding": integers(padding),
                "dilation": integers(dilation),
                "groups": number(groups),
                "data_layout": text(data_layout or "NC" + self._letters),
                "kernel_layout": text(kernel_layout or self.KERNEL + self._letters),
                "out_layout": text(out_layout),
                "out_dtype": out_dtype,
            },
            result_type,
        )

    def _extents(self, data: Dims, weight: Dims) -> Dims:
        self._check_channels(data[1], weight[0], weight[1])
        windows = zip(
            data[2:],
            weight[2:],
            self.window_strides,
            self.window_padding,
            self.window_dilation,
            strict=True,
        )
        return (data[0], weight[0], *(window_count(*window) for window in windows))

    def _check_channels(
        self, channels: Dim | None, outputs: Dim | None, inputs: Dim | None
    ) -> None:
        groups = self.groups.value.data
        if inputs is not None and differ(channels, inputs * groups):
            raise VerifyException(
                f"{self.name}: {channels} channels do not fit a weight of {inputs} "
                f"in each of {groups} groups"
            )
        if outputs is not None and provably_different(outputs % groups, 0):
            raise VerifyException(
                f"{self.name}: {outputs} output channels cannot be in {groups} groups"
            )


class ConvolutionTransposeOp(AnyConvolutionOp, ABC):
    """The gradient of a convolution to its data: every element spreads over a window.

    `output_padding` adds to the extents of the result at the end, where several have the
    same convolution.
    """

    KERNEL: ClassVar[str] = "IO"

    output_padding = ints_prop()

    assembly_format = (
        "$data `,` $weight `strides` $strides `padding` $padding"
        " `output_padding` $output_padding `dilation` $dilation"
        " `groups` $groups `layout` $data_layout `kernel` $kernel_layout"
        " (`out_layout` $out_layout^)? (`out_dtype` $out_dtype^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        weight: SSAValue | Operation,
        strides: Sequence[int] | int = 1,
        padding: Sequence[int] | int = 0,
        output_padding: Sequence[int] | int = 0,
        dilation: Sequence[int] | int = 1,
        groups: int = 1,
        data_layout: str | None = None,
        kernel_layout: str | None = None,
        out_layout: str | None = None,
        out_dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, weight],
            {
                "strides": integers(strides),
                "padding": integers(padding),
                "output_padding": integers(output_padding),
                "dilation": integers(dilation),
                "groups": number(groups),
                "data_layout": text(data_layout or "NC" + self._letters),
                "kernel_layout": text(kernel_layout or self.KERNEL + self._letters),
                "out_layout": text(out_layout),
                "out_dtype": out_dtype,
            },
            result_type,
        )

    @property
    def window_output_padding(self) -> list[int]:
        """What is added at the end of the result, per spatial dimension."""
        values = per_dimension(
            self.name,
            "output_padding",
            values_of(self.output_padding),
            self.SPATIAL_RANK,
        )
        for value, stride in zip(values, self.window_strides, strict=True):
            if not 0 <= value < stride:
                raise VerifyException(
                    f"{self.name}: output_padding must be below the stride {stride} "
                    f"and not negative, not {value}"
                )
        return values

    def _extents(self, data: Dims, weight: Dims) -> Dims:
        groups = self.groups.value.data
        channels, inputs, outputs = data[1], weight[0], weight[1]
        if differ(channels, inputs):
            raise VerifyException(
                f"{self.name}: {channels} channels do not fit a weight of {inputs}"
            )
        if inputs is not None and provably_different(inputs % groups, 0):
            raise VerifyException(
                f"{self.name}: {inputs} input channels cannot be in {groups} groups"
            )
        rows = zip(
            data[2:],
            weight[2:],
            self.window_strides,
            self.window_padding,
            self.window_dilation,
            self.window_output_padding,
            strict=True,
        )
        spread = tuple(
            None
            if extent is None or size is None
            else (extent - 1) * stride - sum(pad) + (size - 1) * step + more + 1
            for extent, size, stride, pad, step, more in rows
        )
        return (data[0], None if outputs is None else outputs * groups, *spread)


@irdl_op_definition
class Conv1DOp(ConvolutionOp):
    """Sums of products over windows of 1 dimension. TVM's `relax.nn.conv1d`.

    ```mlir
    %r = relax.nn.conv1d %a, %b strides [1] padding [0, 0]
      dilation [1] groups 1 layout "NCW" kernel "OIW" :
      (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
    ```
    """

    name = "relax.nn.conv1d"
    SIGNATURE: ClassVar[str] = _CONVOLUTION_SIGNATURE.format("NCW", "OIW")
    SPATIAL_RANK: ClassVar[int] = 1


@irdl_op_definition
class Conv2DOp(ConvolutionOp):
    """Sums of products over windows of 2 dimensions. TVM's `relax.nn.conv2d`.

    ```mlir
    %r = relax.nn.conv2d %a, %b strides [1, 1] padding [0, 0, 0, 0]
      dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" :
      (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
    ```
    """

    name = "relax.nn.conv2d"
    SIGNATURE: ClassVar[str] = _CONVOLUTION_SIGNATURE.format("NCHW", "OIHW")
    SPATIAL_RANK: ClassVar[int] = 2


@irdl_op_definition
class Conv3DOp(ConvolutionOp):
    """Sums of products over windows of 3 dimensions. TVM's `relax.nn.conv3d`.

    ```mlir
    %r = relax.nn.conv3d %a, %b strides [1, 1, 1] padding [0, 0, 0, 0, 0, 0]
      dilation [1, 1, 1] groups 1 layout "NCDHW" kernel "OIDHW" :
      (tensor<1x3x8x8x8xf32>, tensor<4x3x3x3x3xf32>) -> tensor<1x4x6x6x6xf32>
    ```
    """

    name = "relax.nn.conv3d"
    SIGNATURE: ClassVar[str] = _CONVOLUTION_SIGNATURE.format("NCDHW", "OIDHW")
    SPATIAL_RANK: ClassVar[int] = 3


@irdl_op_definition
class Conv1DTransposeOp(ConvolutionTransposeOp):
    """Windows over 1 dimension, transposed. TVM's `relax.nn.conv1d_transpose`.

    ```mlir
    %r = relax.nn.conv1d_transpose %a, %b strides [1] padding [0, 0]
      output_padding [0]
      dilation [1] groups 1 layout "NCW" kernel "IOW" :
      (tensor<1x3x8xf32>, tensor<3x4x3xf32>) -> tensor<1x4x10xf32>
    ```
    """

    name = "relax.nn.conv1d_transpose"
    SIGNATURE: ClassVar[str] = _TRANSPOSE_SIGNATURE.format("NCW", "IOW")
    SPATIAL_RANK: ClassVar[int] = 1


@irdl_op_definition
class Conv2DTransposeOp(ConvolutionTransposeOp):
    """Windows over 2 dimensions, transposed. TVM's `relax.nn.conv2d_transpose`.

    ```mlir
    %r = relax.nn.conv2d_transpose %a, %b strides [1, 1] padding [0, 0, 0, 0]
      output_padding [0, 0]
      dilation [1, 1] groups 1 layout "NCHW" kernel "IOHW" :
      (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
    ```
    """

    name = "relax.nn.conv2d_transpose"
    SIGNATURE: ClassVar[str] = _TRANSPOSE_SIGNATURE.format("NCHW", "IOHW")
    SPATIAL_RANK: ClassVar[int] = 2
