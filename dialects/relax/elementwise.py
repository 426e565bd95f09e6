"""Element-wise operators (docs/spec/relax-ops.md §1, §2)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    broadcast,
    common_dtype,
    common_vdevice,
    expect_float,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import PrimType, TensorInfo

__all__ = [
    "AddOp",
    "BinaryOperatorOp",
    "DivideOp",
    "FloorDivideOp",
    "FloorModOp",
    "MaximumOp",
    "MinimumOp",
    "ModOp",
    "MultiplyOp",
    "PowerOp",
    "SubtractOp",
    "UnaryOperatorOp",
]


class UnaryOperatorOp(OperatorOp, ABC):
    """One tensor in, one of the same type out."""

    SIGNATURE: ClassVar[str] = "x"

    NEEDS_FLOAT: ClassVar[bool] = False
    """Whether other element types than floats are refused."""

    data = operand_def()

    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: SSAValue | Operation,
        result_type: Attribute | None = None,
        properties: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        self._make([data], properties or {}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's own type."""
        info = expect_tensor(self.name, "data", self.data.type)
        if self.NEEDS_FLOAT:
            expect_float(self.name, "data", info)
        return self.data.type


class BinaryOperatorOp(OperatorOp, ABC):
    """Two tensors or scalars, broadcast against each other, dtypes equal."""

    SIGNATURE: ClassVar[str] = "x1, x2"

    lhs = operand_def()
    rhs = operand_def()

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([lhs, rhs], {}, result_type)

    @classmethod
    def result_dtype(
        cls, lhs: Attribute | None, rhs: Attribute | None
    ) -> Attribute | None:
        """The dtype of the result: that of both operands."""
        return common_dtype(cls.name, lhs, rhs)

    @classmethod
    def _operand(cls, name: str, type_: Attribute) -> TensorInfo:
        """A scalar counts as a tensor of shape [1]."""
        if isinstance(type_, PrimType):
            return TensorInfo((Dim.constant(1),), type_.dtype)
        return expect_tensor(cls.name, name, type_)

    def infer_result_type(self) -> Attribute:
        """The broadcast tensor; a scalar where both operands are scalars."""
        lhs, rhs = self.lhs.type, self.rhs.type
        a, b = self._operand("lhs", lhs), self._operand("rhs", rhs)
        dtype = self.result_dtype(a.dtype, b.dtype)
        if isinstance(lhs, PrimType) and isinstance(rhs, PrimType):
            return PrimType.of(lhs.dtype if dtype is None else dtype)
        dims = None
        if a.dims is not None and b.dims is not None:
            dims = broadcast(self.name, a.dims, b.dims)
        vdevice = common_vdevice(self.name, a.vdevice, b.vdevice)
        return TensorInfo(dims, dtype, vdevice).type


@irdl_op_definition
class AddOp(BinaryOperatorOp):
    """Sum of the elements; integers wrap around. TVM's `relax.add`.

    ```mlir
    %r = relax.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.add"


@irdl_op_definition
class SubtractOp(BinaryOperatorOp):
    """Difference of the elements; integers wrap around. TVM's `relax.subtract`.

    ```mlir
    %r = relax.subtract %a, %b : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.subtract"


@irdl_op_definition
class MultiplyOp(BinaryOperatorOp):
    """Product of the elements; integers wrap around. TVM's `relax.multiply`.

    ```mlir
    %r = relax.multiply %a, %b : (tensor<8xf32>, !relax.prim<f32>) -> tensor<8xf32>
    ```
    """

    name = "relax.multiply"


@irdl_op_definition
class DivideOp(BinaryOperatorOp):
    """Quotient of the elements; that of integers is truncated. TVM's `relax.divide`.

    Of integers, a division by 0 is an error, and so is a quotient that does not fit, of
    the least integer and -1.

    ```mlir
    %r = relax.divide %a, %b : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.divide"


@irdl_op_definition
class PowerOp(BinaryOperatorOp):
    """The left elements to the power of the right ones. TVM's `relax.power`.

    Of integers, a negative power is an error.

    ```mlir
    %r = relax.power %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.power"


@irdl_op_definition
class MaximumOp(BinaryOperatorOp):
    """The greater of the elements, NaN where either is. TVM's `relax.maximum`.

    TVM's code returns the right element where either is NaN.

    ```mlir
    %r = relax.maximum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.maximum"


@irdl_op_definition
class MinimumOp(BinaryOperatorOp):
    """The smaller of the elements, NaN where either is. TVM's `relax.minimum`.

    TVM's code returns the right element where either is NaN.

    ```mlir
    %r = relax.minimum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.minimum"


@irdl_op_definition
class FloorDivideOp(BinaryOperatorOp):
    """Quotient of the elements, rounded down. TVM's `relax.floor_divide`.

    Of floats, the quotient is rounded to the dtype before: infinity divided by a number
    is infinity, where numpy has NaN.
    Of integers, a division by 0 is an error, and so is a quotient that does not fit, of
    the least integer and -1.

    ```mlir
    %r = relax.floor_divide %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.floor_divide"


@irdl_op_definition
class ModOp(BinaryOperatorOp):
    """Rest of the division that truncates; it has the sign of the left element.

    Of integers, a division by 0 is an error.
    TVM's `relax.mod`.

    ```mlir
    %r = relax.mod %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.mod"


@irdl_op_definition
class FloorModOp(BinaryOperatorOp):
    """Rest of the division that rounds down; it has the sign of the right element.

    Of floats, it is `a - floor(a / b) * b` with each step rounded, and NaN for an
    infinite `b`, where numpy computes the exact rest. Of integers, a division by 0 is an
    error.
    TVM's `relax.floor_mod`.

    ```mlir
    %r = relax.floor_mod %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.floor_mod"
