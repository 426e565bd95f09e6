"""Losses, dropout and padding (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    Float64Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    common_dtype,
    common_vdevice,
    expect_integer,
    expect_rank,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.properties import (
    integers,
    ints_prop,
    number,
    real,
    text,
    values_of,
)
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.dialects.relax.window import differ

__all__ = ["CrossEntropyWithLogitsOp", "DropoutOp", "NLLLossOp", "PadOp"]


@irdl_op_definition
class PadOp(OperatorOp):
    """The elements with others before and after them, along every dimension.

    `width` has their number before and after the first dimension, then the second, and
    so on; `mode` "constant" fills them with `value`. TVM's `relax.nn.pad`.

    ```mlir
    %r = relax.nn.pad %a width [1, 1, 0, 2] mode "constant" value 0.0 :
      (tensor<4x8xf32>) -> tensor<6x10xf32>
    ```
    """

    name = "relax.nn.pad"
    SIGNATURE: ClassVar[str] = (
        'data, pad_width: ints, pad_mode: str = "constant", pad_value: float = 0.0'
    )

    data = operand_def()
    pad_width = ints_prop()
    pad_mode = prop_def(StringAttr)
    pad_value = prop_def(FloatAttr[Float64Type].constr(f64))

    assembly_format = (
        "$data `width` $pad_width `mode` $pad_mode `value` $pad_value attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        pad_width: Sequence[int],
        pad_mode: str = "constant",
        pad_value: float = 0.0,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "pad_width": integers(pad_width),
            "pad_mode": text(pad_mode),
            "pad_value": real(pad_value),
        }
        self._make([data], properties, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        if info.dims is None:
            return self.data.type
        width = values_of(self.pad_width)
        if len(width) != 2 * len(info.dims):
            raise VerifyException(
                f"{self.name}: {len(width)} widths do not fit rank {len(info.dims)}, "
                "which needs two per dimension"
            )
        dims = tuple(
            None if dim is None else dim + before + behind
            for dim, before, behind in zip(
                info.dims, width[::2], width[1::2], strict=True
            )
        )
        return TensorInfo(dims, info.dtype).type


@irdl_op_definition
class DropoutOp(OperatorOp):
    """Some elements replaced by 0, and which: a tuple. TVM's `relax.nn.dropout`.

    ```mlir
    %r = relax.nn.dropout %a rate 5.0e-01 :
      (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
    ```
    """

    name = "relax.nn.dropout"
    SIGNATURE: ClassVar[str] = "data, rate: float = 0.5"

    data = operand_def()
    rate = prop_def(FloatAttr[Float64Type].constr(f64))

    assembly_format = (
        "$data `rate` $rate attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        rate: float = 0.5,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"rate": real(rate)}, result_type)

    def infer_result_type(self) -> Attribute:
        expect_tensor(self.name, "data", self.data.type)
        return TupleType.of((self.data.type, self.data.type))


@irdl_op_definition
class CrossEntropyWithLogitsOp(OperatorOp):
    """Minus the sum of the products, divided by the batch where there is one.

    TVM's `relax.nn.cross_entropy_with_logits`.

    ```mlir
    %r = relax.nn.cross_entropy_with_logits %a, %b :
      (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<f32>
    ```
    """

    name = "relax.nn.cross_entropy_with_logits"
    SIGNATURE: ClassVar[str] = "predictions, labels"

    predictions = operand_def()
    labels = operand_def()

    assembly_format = (
        "$predictions `,` $labels attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        predictions: SSAValue | Operation,
        labels: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([predictions, labels], {}, result_type)

    def infer_result_type(self) -> Attribute:
        a = expect_tensor(self.name, "predictions", self.predictions.type)
        b = expect_tensor(self.name, "labels", self.labels.type)
        if a.dims is not None and b.dims is not None:
            if len(a.dims) != len(b.dims):
                raise VerifyException(
                    f"{self.name}: predictions and labels must have one rank, "
                    f"not {len(a.dims)} and {len(b.dims)}"
                )
            _check_equal(self.name, "predictions and labels", a.dims, b.dims)
        dtype = common_dtype(self.name, a.dtype, b.dtype)
        return TensorInfo((), dtype, common_vdevice(self.name, a.vdevice, b.vdevice)).type


def _check_equal(op: str, what: str, lhs: Dims, rhs: Dims) -> None:
    for axis, (a, b) in enumerate(zip(lhs, rhs, strict=True)):
        if differ(a, b):
            raise VerifyException(
                f"{op}: dimension {axis} of {what} must be equal, not {a} and {b}"
            )


@irdl_op_definition
class NLLLossOp(OperatorOp):
    """Minus the predictions at the targets, times the weights of their classes.

    The predictions have classes as dimension 1, or only that. `reduction` is "none",
    "sum" or "mean"; targets that are `ignore_index` do not count. Another target that is
    no class is an error.
    TVM's `relax.nn.nll_loss`.

    ```mlir
    %r = relax.nn.nll_loss %a, %t, %w reduction "mean" ignore_index -100 :
      (tensor<4x8xf32>, tensor<4xi64>, tensor<8xf32>) -> tensor<f32>
    ```
    """

    name = "relax.nn.nll_loss"
    SIGNATURE: ClassVar[str] = (
        'predictions, targets, weights = None, reduction: str = "mean",'
        " ignore_index: int = -100"
    )

    predictions = operand_def()
    targets = operand_def()
    weights = opt_operand_def()
    reduction = prop_def(StringAttr)
    ignore_index = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$predictions `,` $targets (`,` $weights^)? `reduction` $reduction"
        " `ignore_index` $ignore_index attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        predictions: SSAValue | Operation,
        targets: SSAValue | Operation,
        weights: SSAValue | Operation | None = None,
        reduction: str = "mean",
        ignore_index: int = -100,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "reduction": text(reduction),
            "ignore_index": number(ignore_index),
        }
        self._make([predictions, targets, weights], properties, result_type)

    def infer_result_type(self) -> Attribute:
        reduction = self.reduction.data
        if reduction not in ("none", "sum", "mean"):
            raise VerifyException(
                f'{self.name}: reduction must be none, sum or mean, not "{reduction}"'
            )
        data = expect_tensor(self.name, "predictions", self.predictions.type)
        targets = expect_tensor(self.name, "targets", self.targets.type)
        expect_integer(self.name, "targets", targets)
        if data.rank == 0:
            raise VerifyException(
                f"{self.name}: operand 'predictions' must not have rank 0"
            )
        dims = self._element_dims(data, targets)
        dtype = self._check_weights(data)
        vdevice = common_vdevice(self.name, data.vdevice, targets.vdevice)
        return TensorInfo(dims if reduction == "none" else (), dtype, vdevice).type

    def _element_dims(self, data: TensorInfo, targets: TensorInfo) -> Dims | None:
        """Dimensions of one loss per element: those of the data without the classes."""
        if data.dims is None:
            return targets.dims
        dims = () if len(data.dims) == 1 else (data.dims[0], *data.dims[2:])
        if targets.dims is None:
            return dims
        expect_rank(self.name, "targets", targets, len(dims))
        _check_equal(self.name, "losses and targets", dims, targets.dims)
        return dims

    def _check_weights(self, data: TensorInfo) -> Attribute | None:
        if self.weights is None:
            return data.dtype
        weights = expect_tensor(self.name, "weights", self.weights.type)
        expect_rank(self.name, "weights", weights, 1)
        if data.dims is not None and weights.dims is not None:
            classes = data.dims[min(1, len(data.dims) - 1)]
            if differ(classes, weights.dims[0]):
                raise VerifyException(
                    f"{self.name}: {classes} classes do not fit {weights.dims[0]} weights"
                )
        return common_dtype(self.name, data.dtype, weights.dtype)
