"""Functions of one tensor, element by element (docs/spec/relax-ops.md §1)."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_prim, expect_tensor

__all__ = [
    "AbsOp",
    "AcosOp",
    "AcoshOp",
    "AsinOp",
    "AsinhOp",
    "AtanOp",
    "AtanhOp",
    "BitwiseNotOp",
    "CeilOp",
    "ClipOp",
    "CosOp",
    "CoshOp",
    "ErfOp",
    "ExpOp",
    "FloorOp",
    "IsFiniteOp",
    "IsInfOp",
    "IsNanOp",
    "LogOp",
    "LogicalNotOp",
    "NegativeOp",
    "PredicateOp",
    "RoundOp",
    "RsqrtOp",
    "SigmoidOp",
    "SignOp",
    "SinOp",
    "SinhOp",
    "SqrtOp",
    "SquareOp",
    "TanOp",
    "TanhOp",
]


class PredicateOp(UnaryOperatorOp, ABC):
    """One tensor in, one of bools of the same shape out."""

    def infer_result_type(self) -> Attribute:
        """The operand's type with bools for elements."""
        return replace(expect_tensor(self.name, "data", self.data.type), dtype=i1).type


@irdl_op_definition
class ExpOp(UnaryOperatorOp):
    """e to the power of the elements, on floats. TVM's `relax.exp`.

    ```mlir
    %r = relax.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.exp"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class LogOp(UnaryOperatorOp):
    """Natural logarithm, on floats. TVM's `relax.log`.

    ```mlir
    %r = relax.log %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.log"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class SqrtOp(UnaryOperatorOp):
    """Square root, on floats. TVM's `relax.sqrt`.

    ```mlir
    %r = relax.sqrt %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.sqrt"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class RsqrtOp(UnaryOperatorOp):
    """One divided by the square root, on floats. TVM's `relax.rsqrt`.

    ```mlir
    %r = relax.rsqrt %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.rsqrt"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class SigmoidOp(UnaryOperatorOp):
    """`1 / (1 + exp(-x))`, on floats. TVM's `relax.sigmoid`.

    ```mlir
    %r = relax.sigmoid %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.sigmoid"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class ErfOp(UnaryOperatorOp):
    """Error function, on floats. TVM's `relax.erf`.

    ```mlir
    %r = relax.erf %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.erf"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class SinOp(UnaryOperatorOp):
    """Sine, on floats. TVM's `relax.sin`.

    ```mlir
    %r = relax.sin %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.sin"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class CosOp(UnaryOperatorOp):
    """Cosine, on floats. TVM's `relax.cos`.

    ```mlir
    %r = relax.cos %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.cos"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class TanOp(UnaryOperatorOp):
    """Tangent, on floats. TVM's `relax.tan`.

    ```mlir
    %r = relax.tan %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.tan"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class AsinOp(UnaryOperatorOp):
    """Inverse sine, on floats. TVM's `relax.asin`.

    ```mlir
    %r = relax.asin %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.asin"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class AcosOp(UnaryOperatorOp):
    """Inverse cosine, on floats. TVM's `relax.acos`.

    ```mlir
    %r = relax.acos %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.acos"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class AtanOp(UnaryOperatorOp):
    """Inverse tangent, on floats. TVM's `relax.atan`.

    ```mlir
    %r = relax.atan %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.atan"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class SinhOp(UnaryOperatorOp):
    """Hyperbolic sine, on floats. TVM's `relax.sinh`.

    ```mlir
    %r = relax.sinh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.sinh"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class CoshOp(UnaryOperatorOp):
    """Hyperbolic cosine, on floats. TVM's `relax.cosh`.

    ```mlir
    %r = relax.cosh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.cosh"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class TanhOp(UnaryOperatorOp):
    """Hyperbolic tangent, on floats. TVM's `relax.tanh`.

    ```mlir
    %r = relax.tanh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.tanh"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class AsinhOp(UnaryOperatorOp):
    """Inverse hyperbolic sine, on floats. TVM's `relax.asinh`.

    ```mlir
    %r = relax.asinh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.asinh"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class AcoshOp(UnaryOperatorOp):
    """Inverse hyperbolic cosine, on floats. TVM's `relax.acosh`.

    ```mlir
    %r = relax.acosh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.acosh"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class AtanhOp(UnaryOperatorOp):
    """Inverse hyperbolic tangent, on floats. TVM's `relax.atanh`.

    ```mlir
    %r = relax.atanh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.atanh"
    NEEDS_FLOAT: ClassVar[bool] = True


@irdl_op_definition
class NegativeOp(UnaryOperatorOp):
    """The elements with the other sign; integers wrap around. TVM's `relax.negative`.

    ```mlir
    %r = relax.negative %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.negative"


@irdl_op_definition
class AbsOp(UnaryOperatorOp):
    """Absolute value of the elements. TVM's `relax.abs`.

    ```mlir
    %r = relax.abs %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.abs"


@irdl_op_definition
class SquareOp(UnaryOperatorOp):
    """Product of each element with itself; integers wrap around. TVM's `relax.square`.

    ```mlir
    %r = relax.square %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.square"


@irdl_op_definition
class CeilOp(UnaryOperatorOp):
    """The least whole number that is not smaller. TVM's `relax.ceil`.

    ```mlir
    %r = relax.ceil %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.ceil"


@irdl_op_definition
class FloorOp(UnaryOperatorOp):
    """The greatest whole number that is not greater. TVM's `relax.floor`.

    ```mlir
    %r = relax.floor %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.floor"


@irdl_op_definition
class RoundOp(UnaryOperatorOp):
    """The nearest whole number, the even one of two. TVM's `relax.round`.

    ```mlir
    %r = relax.round %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.round"


@irdl_op_definition
class SignOp(UnaryOperatorOp):
    """-1, 0 or 1, the sign of each element; NaN stays. TVM's `relax.sign`.

    TVM's code makes 0 of NaN.

    ```mlir
    %r = relax.sign %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.sign"


@irdl_op_definition
class LogicalNotOp(UnaryOperatorOp):
    """Whether each element is false. TVM's `relax.logical_not`.

    ```mlir
    %r = relax.logical_not %a : (tensor<4x8xi1>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.logical_not"


@irdl_op_definition
class BitwiseNotOp(UnaryOperatorOp):
    """The elements with all bits inverted. TVM's `relax.bitwise_not`.

    ```mlir
    %r = relax.bitwise_not %a : (tensor<4x8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.bitwise_not"


@irdl_op_definition
class IsFiniteOp(PredicateOp):
    """Whether each element is neither infinite nor NaN. TVM's `relax.isfinite`.

    ```mlir
    %r = relax.isfinite %a : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.isfinite"


@irdl_op_definition
class IsInfOp(PredicateOp):
    """Whether each element is infinite. TVM's `relax.isinf`.

    ```mlir
    %r = relax.isinf %a : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.isinf"


@irdl_op_definition
class IsNanOp(PredicateOp):
    """Whether each element is NaN. TVM's `relax.isnan`.

    ```mlir
    %r = relax.isnan %a : (tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.isnan"


@irdl_op_definition
class ClipOp(OperatorOp):
    """The elements, those outside of `min` to `max` replaced by the nearer of the two.

    The bounds are scalars. NaN stays. TVM's `relax.clip`.

    ```mlir
    %r = relax.clip %a, %min, %max :
      (tensor<4x8xf32>, !relax.prim<f32>, !relax.prim<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.clip"
    SIGNATURE: ClassVar[str] = "x, min: prim, max: prim"

    data = operand_def()
    min = operand_def()
    max = operand_def()

    assembly_format = (
        "$data `,` $min `,` $max attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        min: SSAValue | Operation,
        max: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, min, max], {}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's own type."""
        expect_tensor(self.name, "data", self.data.type)
        expect_prim(self.name, "min", self.min.type)
        expect_prim(self.name, "max", self.max.type)
        return self.data.type
