"""Closures, checks, output, and shapes as tensors (docs/spec/relax-ir.md §4.4)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    StringAttr,
    SymbolRefAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.calls import MayBeImpure
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_integer,
    expect_rank,
    expect_shape,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.types import (
    OBJECT,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
    verify_type,
)

__all__ = [
    "AssertOp",
    "InvokeClosureOp",
    "InvokePureClosureOp",
    "MakeClosureOp",
    "NullValueOp",
    "PrintOp",
    "ShapeOfOp",
    "ShapeToTensorOp",
    "TensorToShapeOp",
]


@irdl_op_definition
class MakeClosureOp(IRDLOperation):
    """A function of the module with its last arguments given. TVM's `relax.make_closure`.

    The result may be a `!relax.func`, the type of the function without those arguments.

    ```mlir
    %r = relax.make_closure @lifted(%a) : (tensor<4xf32>) -> !relax.object
    ```
    """

    name = "relax.make_closure"

    callee = prop_def(FlatSymbolRefAttrConstr)
    captured = var_operand_def()
    result = result_def(ObjectType | FuncType)

    traits = traits_def(Pure())

    assembly_format = (
        "$callee `(` $captured `)` attr-dict `:` functional-type($captured, $result)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        captured: Sequence[SSAValue | Operation],
        result_type: ObjectType | FuncType = OBJECT,
    ) -> None:
        super().__init__(
            operands=[captured],
            result_types=[result_type],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee
            },
        )


class AnyInvokeClosureOp(IRDLOperation, ABC):
    """Call a closure; the call says what it returns."""

    closure = operand_def()
    arguments = var_operand_def()
    result = result_def()

    assembly_format = (
        "$closure `(` $arguments `)` attr-dict `:` type($closure) `,`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        closure: SSAValue | Operation,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute = OBJECT,
    ) -> None:
        super().__init__(operands=[closure, arguments], result_types=[result_type])

    def verify_(self) -> None:
        verify_type(self.result.type)


@irdl_op_definition
class InvokeClosureOp(AnyInvokeClosureOp):
    """Call a closure that may have effects. TVM's `relax.invoke_closure`.

    ```mlir
    %r = relax.invoke_closure %c(%a) : !relax.object, (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.invoke_closure"

    traits = traits_def(MayBeImpure(), MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class InvokePureClosureOp(AnyInvokeClosureOp):
    """Call a closure that has no effects. TVM's `relax.invoke_pure_closure`.

    ```mlir
    %r = relax.invoke_pure_closure %c(%a) :
      !relax.object, (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.invoke_pure_closure"

    traits = traits_def(Pure())


@irdl_op_definition
class NullValueOp(IRDLOperation):
    """No object. TVM's `relax.null_value`.

    ```mlir
    %r = relax.null_value : !relax.object
    ```
    """

    name = "relax.null_value"

    result = result_def(ObjectType)

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[OBJECT])


@irdl_op_definition
class PrintOp(IRDLOperation):
    """Write values, `{}` in `format` standing for the next one. TVM's `relax.print`.

    ```mlir
    relax.print "x = {}"(%a) : (tensor<4xf32>) -> ()
    ```
    """

    name = "relax.print"

    format = prop_def(StringAttr)
    values = var_operand_def()

    traits = traits_def(MayBeImpure(), MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$format `(` $values `)` attr-dict `:` `(` type($values) `)` `->` `(` `)`"
    )

    def __init__(self, format: str, values: Sequence[SSAValue | Operation] = ()) -> None:
        super().__init__(operands=[values], properties={"format": StringAttr(format)})


@irdl_op_definition
class AssertOp(IRDLOperation):
    """Stop the program unless the condition holds, with a text as of `relax.print`.

    TVM's `relax.assert_op`.

    ```mlir
    relax.assert_op %c, "x is {}"(%a) : tensor<i1>, (tensor<4xf32>) -> ()
    ```
    """

    name = "relax.assert_op"

    condition = operand_def()
    format = prop_def(StringAttr)
    values = var_operand_def()

    traits = traits_def(MayBeImpure(), MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$condition `,` $format `(` $values `)` attr-dict `:` type($condition) `,`"
        " `(` type($values) `)` `->` `(` `)`"
    )

    def __init__(
        self,
        condition: SSAValue | Operation,
        format: str = "",
        values: Sequence[SSAValue | Operation] = (),
    ) -> None:
        super().__init__(
            operands=[condition, values], properties={"format": StringAttr(format)}
        )

    def verify_(self) -> None:
        type_ = self.condition.type
        info = TensorInfo.of(type_)
        if isinstance(type_, PrimType):
            is_condition = type_.dtype == i1
        else:
            is_condition = (
                info is not None and info.rank in (None, 0) and info.dtype in (None, i1)
            )
        if not is_condition:
            raise VerifyException(
                f"{self.name}: the condition must be a bool scalar or a bool tensor of "
                f"rank 0, not {type_}"
            )


class _OneOperandOp(OperatorOp, ABC):
    value = operand_def()

    SIGNATURE: ClassVar[str] = "expr"

    assembly_format = "$value attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, value: SSAValue | Operation, result_type: Attribute | None = None
    ) -> None:
        self._make([value], {}, result_type)


@irdl_op_definition
class ShapeOfOp(_OneOperandOp):
    """The shape of a tensor. TVM's `relax.shape_of`.

    ```mlir
    %r = relax.shape_of %a : (tensor<4x8xf32>) -> !relax.shape<[4, 8]>
    ```
    """

    name = "relax.shape_of"

    def infer_result_type(self) -> Attribute:
        """A shape of the tensor's dimensions."""
        return ShapeType.of(expect_tensor(self.name, "value", self.value.type).dims)


@irdl_op_definition
class TensorToShapeOp(_OneOperandOp):
    """The elements of an integer tensor of rank 1 as a shape.

    TVM's `relax.tensor_to_shape`.

    ```mlir
    %r = relax.tensor_to_shape %a : (tensor<2xi64>) -> !relax.shape<[?, ?]>
    ```
    """

    name = "relax.tensor_to_shape"

    def infer_result_type(self) -> Attribute:
        """A shape of as many dimensions as the tensor has elements."""
        info = expect_tensor(self.name, "value", self.value.type)
        expect_rank(self.name, "value", info, 1)
        expect_integer(self.name, "value", info)
        length = None if not info.dims else info.dims[0]
        count = None if length is None else length.value
        return ShapeType.of(None if count is None else [None] * count)


@irdl_op_definition
class ShapeToTensorOp(_OneOperandOp):
    """The dimensions of a shape as a tensor of i64. TVM's `relax.shape_to_tensor`.

    ```mlir
    %r = relax.shape_to_tensor %s : (!relax.shape<[4, 8]>) -> tensor<2xi64>
    ```
    """

    name = "relax.shape_to_tensor"

    def infer_result_type(self) -> Attribute:
        """A tensor of rank 1, one element per dimension."""
        dims = expect_shape(self.name, "value", self.value.type).values
        return TensorInfo.shaped([None if dims is None else len(dims)], i64).type
