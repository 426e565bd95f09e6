"""Reductions (spec relax-ops.md §9)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_tensor,
    normalize_axes,
)
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo


class ReductionOp(OperatorOp, ABC):
    """Combine the elements along `axis`, along all axes without it.

    With `keepdims` reduced dimensions stay, with extent 1.
    """

    data = operand_def()
    axis = opt_prop_def(DenseArrayBase.constr(i64))
    keepdims = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data (`axis` $axis^)? (`keepdims` $keepdims^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: Sequence[int] | int | None = None,
        keepdims: bool = False,
        result_type: Attribute | None = None,
    ) -> None:
        data = SSAValue.get(data)
        axes = [axis] if isinstance(axis, int) else axis
        super().__init__(
            operands=[data],
            result_types=[result_type or self.infer(data.type, axes, keepdims)],
            properties={
                "axis": None if axes is None else DenseArrayBase.from_list(i64, axes),
                "keepdims": UnitAttr() if keepdims else None,
            },
        )

    @classmethod
    def infer(
        cls,
        data: Attribute,
        axis: Sequence[int] | None = None,
        keepdims: bool = False,
    ) -> Attribute:
        """A tensor of the operand's dtype without the reduced dimensions."""
        info = expect_tensor(cls.name, "data", data)
        return info.with_dims(cls._dims(info, axis, keepdims)).type

    @classmethod
    def _dims(
        cls, info: TensorInfo, axis: Sequence[int] | None, keepdims: bool
    ) -> Dims | None:
        if axis is None and not keepdims:
            return ()
        if info.dims is None:
            return None
        axes = range(len(info.dims)) if axis is None else axis
        reduced = normalize_axes(cls.name, axes, len(info.dims))
        one = Dim.constant(1)
        return tuple(
            one if index in reduced else dim
            for index, dim in enumerate(info.dims)
            if keepdims or index not in reduced
        )

    @property
    def axes(self) -> tuple[int, ...] | None:
        """The reduced axes as given, None for all."""
        return None if self.axis is None else tuple(self.axis.get_values())

    def infer_result_type(self) -> Attribute:
        return self.infer(self.data.type, self.axes, self.keepdims is not None)


@irdl_op_definition
class SumOp(ReductionOp):
    """Sum of the elements; integers wrap around. TVM's `relax.sum`.

    ```mlir
    %r = relax.sum %a axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ```
    """

    name = "relax.sum"


@irdl_op_definition
class MaxOp(ReductionOp):
    """Greatest element. TVM's `relax.max`.

    ```mlir
    %r = relax.max %a axis [-1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.max"


@irdl_op_definition
class MeanOp(ReductionOp):
    """Sum of the elements divided by their number. TVM's `relax.mean`.

    ```mlir
    %r = relax.mean %a : (tensor<4x8xf32>) -> tensor<f32>
    ```
    """

    name = "relax.mean"


OPS = (SumOp, MaxOp, MeanOp)
