"""Activation functions of neural networks (docs/spec/relax-ops.md §1)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def

from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp

__all__ = ["GeluTanhOp", "LeakyReluOp", "SeluOp", "SiluOp", "SoftplusOp"]


@irdl_op_definition
class GeluTanhOp(UnaryOperatorOp):
    """`0.5 x (1 + tanh(sqrt(2 / pi) x (1 + 0.044715 x^2)))`, on floats.

    TVM's `relax.nn.gelu_tanh`.

    ```mlir
    %r = relax.nn.gelu_tanh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.gelu_tanh"
    SIGNATURE: ClassVar[str] = "data"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class SiluOp(UnaryOperatorOp):
    """`x * sigmoid(x)`, on floats. TVM's `relax.nn.silu`.

    ```mlir
    %r = relax.nn.silu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.silu"
    SIGNATURE: ClassVar[str] = "data"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class SeluOp(UnaryOperatorOp):
    """`scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`, on floats.

    scale is 1.0507009873554805, alpha 1.6732632423543772. TVM's `relax.nn.selu`.

    ```mlir
    %r = relax.nn.selu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.selu"
    SIGNATURE: ClassVar[str] = "data"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class LeakyReluOp(UnaryOperatorOp):
    """The elements, negative ones multiplied by `alpha`, on floats.

    TVM's `relax.nn.leakyrelu`.

    ```mlir
    %r = relax.nn.leakyrelu %a alpha 1.0e-02 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.leakyrelu"
    SIGNATURE: ClassVar[str] = "data, alpha: float = 0.01"
    NEEDS_FLOAT: ClassVar[bool] = True

    alpha = prop_def(FloatAttr[Float64Type].constr(f64))

    assembly_format = (
        "$data `alpha` $alpha attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        alpha: float = 0.01,
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(data, result_type, {"alpha": FloatAttr(alpha, f64)})


@irdl_op_definition
class SoftplusOp(UnaryOperatorOp):
    """`log(1 + exp(beta * x)) / beta`, on floats.

    An element with `beta * x` above `threshold` stays. TVM's `relax.nn.softplus`.

    ```mlir
    %r = relax.nn.softplus %a beta 1.0 threshold 20.0 :
      (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.nn.softplus"
    SIGNATURE: ClassVar[str] = "data, beta: float = 1.0, threshold: float = 20.0"
    NEEDS_FLOAT: ClassVar[bool] = True

    beta = prop_def(FloatAttr[Float64Type].constr(f64))
    threshold = prop_def(FloatAttr[Float64Type].constr(f64))

    assembly_format = (
        "$data `beta` $beta `threshold` $threshold attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        beta: float = 1.0,
        threshold: float = 20.0,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "beta": FloatAttr(beta, f64),
            "threshold": FloatAttr(threshold, f64),
        }
        super().__init__(data, result_type, properties)
