"""Logic, bits and comparisons, element by element (docs/spec/relax-ops.md §2)."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from xdsl_tvm.dialects.relax.elementwise import BinaryOperatorOp

__all__ = [
    "BitwiseAndOp",
    "BitwiseOrOp",
    "BitwiseXorOp",
    "ComparisonOp",
    "EqualOp",
    "GreaterEqualOp",
    "GreaterOp",
    "LeftShiftOp",
    "LessEqualOp",
    "LessOp",
    "LogicalAndOp",
    "LogicalOrOp",
    "LogicalXorOp",
    "NotEqualOp",
    "RightShiftOp",
]


class ComparisonOp(BinaryOperatorOp, ABC):
    """Two tensors or scalars, broadcast against each other; the result is of bools."""

    @classmethod
    def result_dtype(
        cls, lhs: Attribute | None, rhs: Attribute | None
    ) -> Attribute | None:
        """Bools; the operands need no common dtype."""
        return i1


@irdl_op_definition
class LogicalAndOp(BinaryOperatorOp):
    """Whether both elements are true. TVM's `relax.logical_and`.

    ```mlir
    %r = relax.logical_and %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.logical_and"


@irdl_op_definition
class LogicalOrOp(BinaryOperatorOp):
    """Whether one of the elements is true. TVM's `relax.logical_or`.

    ```mlir
    %r = relax.logical_or %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.logical_or"


@irdl_op_definition
class LogicalXorOp(BinaryOperatorOp):
    """Whether exactly one of the elements is true. TVM's `relax.logical_xor`.

    ```mlir
    %r = relax.logical_xor %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.logical_xor"


@irdl_op_definition
class BitwiseAndOp(BinaryOperatorOp):
    """The bits that are set in both elements. TVM's `relax.bitwise_and`.

    ```mlir
    %r = relax.bitwise_and %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.bitwise_and"


@irdl_op_definition
class BitwiseOrOp(BinaryOperatorOp):
    """The bits that are set in one of the elements. TVM's `relax.bitwise_or`.

    ```mlir
    %r = relax.bitwise_or %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.bitwise_or"


@irdl_op_definition
class BitwiseXorOp(BinaryOperatorOp):
    """The bits that are set in exactly one of the elements. TVM's `relax.bitwise_xor`.

    ```mlir
    %r = relax.bitwise_xor %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.bitwise_xor"


@irdl_op_definition
class LeftShiftOp(BinaryOperatorOp):
    """The left elements shifted to the left. TVM's `relax.left_shift`.

    ```mlir
    %r = relax.left_shift %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.left_shift"


@irdl_op_definition
class RightShiftOp(BinaryOperatorOp):
    """The left elements shifted to the right; the sign stays. TVM's `relax.right_shift`.

    ```mlir
    %r = relax.right_shift %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.right_shift"


@irdl_op_definition
class EqualOp(ComparisonOp):
    """Whether the elements are equal. TVM's `relax.equal`.

    ```mlir
    %r = relax.equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.equal"


@irdl_op_definition
class NotEqualOp(ComparisonOp):
    """Whether the elements differ. TVM's `relax.not_equal`.

    ```mlir
    %r = relax.not_equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.not_equal"


@irdl_op_definition
class LessOp(ComparisonOp):
    """Whether the left elements are smaller. TVM's `relax.less`.

    ```mlir
    %r = relax.less %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.less"


@irdl_op_definition
class LessEqualOp(ComparisonOp):
    """Whether the left elements are not greater. TVM's `relax.less_equal`.

    ```mlir
    %r = relax.less_equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.less_equal"


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """Whether the left elements are greater. TVM's `relax.greater`.

    ```mlir
    %r = relax.greater %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.greater"


@irdl_op_definition
class GreaterEqualOp(ComparisonOp):
    """Whether the left elements are not smaller. TVM's `relax.greater_equal`.

    ```mlir
    %r = relax.greater_equal %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "relax.greater_equal"
