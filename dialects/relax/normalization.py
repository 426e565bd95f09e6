"""Normalisations over batches, groups and by the root mean square.

docs/spec/relax-ops.md §11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, UnitAttr, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.nn import infer_normalization, normalization_fits
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    common_dtype,
    expect_float,
    expect_rank,
    expect_tensor,
    normalize_axes,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import (
    flag,
    integers,
    ints_prop,
    number,
    real,
    values_of,
)
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.dialects.relax.window import differ

__all__ = ["BatchNormOp", "GroupNormOp", "RMSNormOp"]


@irdl_op_definition
class BatchNormOp(OperatorOp):
    """Shift and scale each slice along `axis` to mean 0 and variance 1.

    In training, mean and variance are those of the data, and the moving ones are moved
    towards them by `momentum`; for `inference`, the moving ones are used and returned as
    they are. `no_scale` leaves gamma out, `no_center` beta. The result is a tuple of the
    data, the moving mean and the moving variance. TVM's `relax.nn.batch_norm`.

    ```mlir
    %r = relax.nn.batch_norm %a, %g, %b, %m, %v axis 1 epsilon 1.0e-05 momentum 1.0e-01 :
      (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> !relax.tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
    ```
    """

    name = "relax.nn.batch_norm"
    SIGNATURE: ClassVar[str] = (
        "data, gamma, beta, moving_mean, moving_var, axis: int, epsilon: float = 1e-05,"
        " center: bool = True, scale: bool = True, momentum: float = 0.1,"
        " training: bool = True"
    )

    data = operand_def()
    gamma = operand_def()
    beta = operand_def()
    moving_mean = operand_def()
    moving_var = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr[Float64Type].constr(f64))
    momentum = prop_def(FloatAttr[Float64Type].constr(f64))
    no_center = opt_prop_def(UnitAttr)
    no_scale = opt_prop_def(UnitAttr)
    inference = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `,` $gamma `,` $beta `,` $moving_mean `,` $moving_var `axis` $axis"
        " `epsilon` $epsilon `momentum` $momentum (`no_center` $no_center^)?"
        " (`no_scale` $no_scale^)? (`inference` $inference^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        gamma: SSAValue | Operation,
        beta: SSAValue | Operation,
        moving_mean: SSAValue | Operation,
        moving_var: SSAValue | Operation,
        axis: int,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        momentum: float = 0.1,
        training: bool = True,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, gamma, beta, moving_mean, moving_var],
            {
                "axis": number(axis),
                "epsilon": real(epsilon),
                "momentum": real(momentum),
                "no_center": flag(not center),
                "no_scale": flag(not scale),
                "inference": flag(not training),
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        mean, variance = self.moving_mean.type, self.moving_var.type
        others = {
            "gamma": self.gamma.type,
            "beta": self.beta.type,
            "moving_mean": mean,
            "moving_var": variance,
        }
        axes = [self.axis.value.data]
        data = self.data.type
        if normalization_fits(self.name, data, others, axes):
            return TupleType.of((data, mean, variance))
        info = expect_tensor(self.name, "data", data)
        vector = TensorInfo((None,), info.dtype).type
        data = infer_normalization(self.name, data, others, axes)
        return TupleType.of((data, vector, vector))


@irdl_op_definition
class GroupNormOp(OperatorOp):
    """Shift and scale the elements of each group of channels to mean 0 and variance 1.

    `axes` are the other dimensions that a group spans; gamma and beta have one element
    per channel. `no_scale` leaves gamma out, `no_center` beta.
    TVM's `relax.nn.group_norm`.

    ```mlir
    %r = relax.nn.group_norm %a, %g, %b groups 2 channel_axis 1 axes [2] epsilon 1.0e-05 :
      (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
    ```
    """

    name = "relax.nn.group_norm"
    SIGNATURE: ClassVar[str] = (
        "data, gamma, beta, num_groups: int, channel_axis: int, axes: ints,"
        " epsilon: float = 1e-05, center: bool = True, scale: bool = True"
    )

    data = operand_def()
    gamma = operand_def()
    beta = operand_def()
    num_groups = prop_def(IntegerAttr.constr(i64))
    channel_axis = prop_def(IntegerAttr.constr(i64))
    axes = ints_prop()
    epsilon = prop_def(FloatAttr[Float64Type].constr(f64))
    no_center = opt_prop_def(UnitAttr)
    no_scale = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `,` $gamma `,` $beta `groups` $num_groups `channel_axis` $channel_axis"
        " `axes` $axes `epsilon` $epsilon (`no_center` $no_center^)?"
        " (`no_scale` $no_scale^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        gamma: SSAValue | Operation,
        beta: SSAValue | Operation,
        num_groups: int,
        channel_axis: int,
        axes: Sequence[int] | int,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, gamma, beta],
            {
                "num_groups": number(num_groups),
                "channel_axis": number(channel_axis),
                "axes": integers(axes),
                "epsilon": real(epsilon),
                "no_center": flag(not center),
                "no_scale": flag(not scale),
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        expect_float(self.name, "data", info)
        groups = self.num_groups.value.data
        if groups <= 0:
            raise VerifyException(f"{self.name}: groups must be positive, not {groups}")
        channels = None
        if info.dims is not None:
            channels = info.dims[self._channel_axis(len(info.dims))]
        if channels is not None and provably_different(channels % groups, 0):
            raise VerifyException(
                f"{self.name}: {channels} channels cannot be in {groups} groups"
            )
        for name, type_ in (("gamma", self.gamma.type), ("beta", self.beta.type)):
            self._check_vector(name, type_, info, channels)
        return self.data.type

    def _channel_axis(self, rank: int) -> int:
        axis = normalize_axis(self.name, self.channel_axis.value.data, rank)
        if axis in normalize_axes(self.name, values_of(self.axes), rank):
            raise VerifyException(f"{self.name}: axis {axis} is the channels' already")
        return axis

    def _check_vector(
        self, name: str, type_: Attribute, data: TensorInfo, channels: Dim | None
    ) -> None:
        info = expect_tensor(self.name, name, type_)
        expect_rank(self.name, name, info, 1)
        common_dtype(self.name, data.dtype, info.dtype)
        length = info.dims[0] if info.dims else None
        if differ(length, channels):
            raise VerifyException(
                f"{self.name}: operand '{name}' must have length {channels}, not {length}"
            )


@irdl_op_definition
class RMSNormOp(OperatorOp):
    """The elements divided by their root mean square along `axes`, times the weight.

    TVM's `relax.nn.rms_norm`.

    ```mlir
    %r = relax.nn.rms_norm %a, %w axes [-1] epsilon 1.0e-05 :
      (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.rms_norm"
    SIGNATURE: ClassVar[str] = "data, weight, axes: ints = -1, epsilon: float = 1e-05"

    data = operand_def()
    weight = operand_def()
    axes = ints_prop()
    epsilon = prop_def(FloatAttr[Float64Type].constr(f64))

    assembly_format = (
        "$data `,` $weight `axes` $axes `epsilon` $epsilon attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        weight: SSAValue | Operation,
        axes: Sequence[int] | int = -1,
        epsilon: float = 1e-5,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {"axes": integers(axes), "epsilon": real(epsilon)}
        self._make([data, weight], properties, result_type)

    def infer_result_type(self) -> Attribute:
        others = {"weight": self.weight.type}
        return infer_normalization(
            self.name, self.data.type, others, values_of(self.axes)
        )
