"""Neural network operators (docs/spec/relax-ops.md §1, §11)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_float,
    expect_tensor,
    normalize_axes,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import flag, integers, values_of
from xdsl_tvm.dialects.relax.symbolic import provably_different, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo

__all__ = ["GeluOp", "LayerNormOp", "LogSoftmaxOp", "ReluOp", "SoftmaxOp"]


@irdl_op_definition
class ReluOp(UnaryOperatorOp):
    """The elements, negative ones replaced by 0; NaN stays. TVM's `relax.nn.relu`.

    ```mlir
    %r = relax.nn.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.relu"
    SIGNATURE: ClassVar[str] = "data"


@irdl_op_definition
class GeluOp(UnaryOperatorOp):
    """`x * (0.5 + 0.5 * erf(x / sqrt(2)))`, on floats. TVM's `relax.nn.gelu`.

    ```mlir
    %r = relax.nn.gelu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.gelu"
    SIGNATURE: ClassVar[str] = "data"
    NEEDS_FLOAT: ClassVar[bool] = True


class AnySoftmaxOp(OperatorOp, ABC):
    """Exponentials divided by their sum along `axis`, or the logarithm of that."""

    SIGNATURE: ClassVar[str] = "data, axis: int = -1"

    data = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: int = -1,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"axis": IntegerAttr(axis, i64)}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's own type."""
        info = expect_tensor(self.name, "data", self.data.type)
        if info.dims is not None:
            expect_float(self.name, "data", info)
            normalize_axis(self.name, self.axis.value.data, len(info.dims))
        return self.data.type


@irdl_op_definition
class SoftmaxOp(AnySoftmaxOp):
    """Exponentials divided by their sum along `axis`, on floats.

    The greatest element is subtracted first, so that nothing overflows.
    TVM's `relax.nn.softmax`.

    ```mlir
    %r = relax.nn.softmax %a axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.softmax"


@irdl_op_definition
class LogSoftmaxOp(AnySoftmaxOp):
    """The logarithm of the softmax along `axis`, on floats. TVM's `relax.nn.log_softmax`.

    ```mlir
    %r = relax.nn.log_softmax %a axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.log_softmax"


@irdl_op_definition
class LayerNormOp(OperatorOp):
    """Shift and scale the elements along `axes` to mean 0 and variance 1.

    `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, on floats; with `no_scale` the
    factor gamma is left out, with `no_center` the term beta. gamma and beta have the
    shape of the normalised axes. TVM's `relax.nn.layer_norm`.

    ```mlir
    %r = relax.nn.layer_norm %a, %gamma, %beta axes [-1] epsilon 1.0e-05 :
      (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.layer_norm"
    SIGNATURE: ClassVar[str] = (
        "data, gamma, beta, axes: ints, epsilon: float = 1e-05, center: bool = True,"
        " scale: bool = True"
    )

    data = operand_def()
    gamma = operand_def()
    beta = operand_def()
    axes = prop_def(DenseArrayBase.constr(i64))
    epsilon = prop_def(FloatAttr[Float64Type].constr(f64))
    no_center = opt_prop_def(UnitAttr)
    no_scale = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `,` $gamma `,` $beta `axes` $axes `epsilon` $epsilon"
        " (`no_center` $no_center^)? (`no_scale` $no_scale^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        gamma: SSAValue | Operation,
        beta: SSAValue | Operation,
        axes: Sequence[int] | int,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, gamma, beta],
            {
                "axes": integers(axes),
                "epsilon": FloatAttr(epsilon, f64),
                "no_center": flag(not center),
                "no_scale": flag(not scale),
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        """The operand's type, without its shape where lengths are not proven to fit."""
        others = {"gamma": self.gamma.type, "beta": self.beta.type}
        return infer_normalization(
            self.name, self.data.type, others, values_of(self.axes)
        )


def infer_normalization(
    op: str, data: Attribute, others: dict[str, Attribute], axes: Sequence[int]
) -> Attribute:
    """The rule of the normalisations along several axes (`NormCheck`).

    `others` are the operands, by name, whose shape is that of the axes.
    """
    if normalization_fits(op, data, others, axes):
        return data
    info = expect_tensor(op, "data", data)
    return info.with_dims(None if info.dims is None else (None for _ in info.dims)).type


def normalization_fits(
    op: str, data: Attribute, others: dict[str, Attribute], axes: Sequence[int]
) -> bool:
    """Whether the operands' shapes are proven to be that of the axes (`NormCheck`).

    Raises VerifyException where they are proven not to be.
    """
    info = expect_tensor(op, "data", data)
    expect_float(op, "data", info)
    infos = {name: expect_tensor(op, name, type_) for name, type_ in others.items()}
    for name, other in infos.items():
        _check_norm_operand(op, name, other, info, len(axes))
    if info.dims is None:
        return False
    lengths = tuple(info.dims[axis] for axis in normalize_axes(op, axes, len(info.dims)))
    fits = [
        _lengths_fit(op, name, lengths, other.dims)
        for name, other in infos.items()
        if other.dims is not None
    ]
    return len(fits) == len(infos) and all(fits)


def _check_norm_operand(
    op: str, name: str, other: TensorInfo, data: TensorInfo, rank: int
) -> None:
    if None not in (other.dtype, data.dtype) and other.dtype != data.dtype:
        raise VerifyException(
            f"{op}: operand '{name}' must hold {data.dtype} as the data does, "
            f"not {other.dtype}"
        )
    if other.rank not in (None, rank):
        raise VerifyException(
            f"{op}: operand '{name}' must have rank {rank}, one per axis, "
            f"not {other.rank}"
        )


def _lengths_fit(op: str, name: str, lengths: Dims, dims: Dims) -> bool:
    fits = True
    for expected, actual in zip(lengths, dims, strict=True):
        if expected is None or actual is None:
            fits = False
        elif provably_different(expected, actual):
            raise VerifyException(
                f"{op}: operand '{name}' must have length {expected}, not {actual}"
            )
        else:
            fits &= provably_equal(expected, actual)
    return fits
