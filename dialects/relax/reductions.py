"""Reductions, searches and scans (docs/spec/relax-ops.md §9)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_dtype,
    expect_tensor,
    normalize_axes,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import flag, integer, integers, number_of
from xdsl_tvm.dialects.relax.symbolic import Dim, product
from xdsl_tvm.dialects.relax.types import TensorInfo

__all__ = [
    "ArgReductionOp",
    "ArgmaxOp",
    "ArgminOp",
    "CumprodOp",
    "CumsumOp",
    "MaxOp",
    "MeanOp",
    "MinOp",
    "ProdOp",
    "ReductionOp",
    "ScanOp",
    "StdOp",
    "SumOp",
    "VarianceOp",
]


def _reduced(
    op: str, dims: Dims | None, axis: Sequence[int] | None, keepdims: bool
) -> Dims | None:
    """The dimensions without those of `axis`, or with extent 1 for them."""
    if axis is None and not keepdims:
        return ()
    if dims is None:
        return None
    axes = range(len(dims)) if axis is None else axis
    reduced = normalize_axes(op, axes, len(dims))
    one = Dim.constant(1)
    return tuple(
        one if index in reduced else dim
        for index, dim in enumerate(dims)
        if keepdims or index not in reduced
    )


class ReductionOp(OperatorOp, ABC):
    """Combine the elements along `axis`, along all axes without it.

    With `keepdims` reduced dimensions stay, with extent 1.
    """

    SIGNATURE: ClassVar[str] = "x, axis: ints = None, keepdims: bool = False"

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
        self._make(
            [data], {"axis": integers(axis), "keepdims": flag(keepdims)}, result_type
        )

    @property
    def axes(self) -> tuple[int, ...] | None:
        """The reduced axes as given, None for all."""
        return None if self.axis is None else tuple(self.axis.get_values())

    def infer_result_type(self) -> Attribute:
        """A tensor of the operand's dtype without the reduced dimensions."""
        info = expect_tensor(self.name, "data", self.data.type)
        keepdims = self.keepdims is not None
        return info.with_dims(_reduced(self.name, info.dims, self.axes, keepdims)).type


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
    """Greatest element, NaN where any is. TVM's `relax.max`.

    ```mlir
    %r = relax.max %a axis [-1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.max"


@irdl_op_definition
class MeanOp(ReductionOp):
    """Sum of the elements divided by their number. TVM's `relax.mean`.

    Of integers it is truncated, and 0 where there are none.

    ```mlir
    %r = relax.mean %a : (tensor<4x8xf32>) -> tensor<f32>
    ```
    """

    name = "relax.mean"


@irdl_op_definition
class MinOp(ReductionOp):
    """Smallest element, NaN where any is. TVM's `relax.min`.

    ```mlir
    %r = relax.min %a axis [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    ```
    """

    name = "relax.min"


@irdl_op_definition
class ProdOp(ReductionOp):
    """Product of the elements; integers wrap around. TVM's `relax.prod`.

    ```mlir
    %r = relax.prod %a axis [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.prod"


@irdl_op_definition
class VarianceOp(ReductionOp):
    """Mean of the squared distances from the mean. TVM's `relax.variance`.

    ```mlir
    %r = relax.variance %a axis [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.variance"


@irdl_op_definition
class StdOp(ReductionOp):
    """Square root of the variance. TVM's `relax.std`.

    ```mlir
    %r = relax.std %a axis [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.std"


class ArgReductionOp(OperatorOp, ABC):
    """Where an element is: its index along `axis`, or in row-major order.

    Unlike in TVM, the index is an i64 whatever the dtype of the shape.
    """

    SIGNATURE: ClassVar[str] = "x, axis: int = None, keepdims: bool = False"

    data = operand_def()
    axis = opt_prop_def(IntegerAttr.constr(i64))
    keepdims = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data (`axis` $axis^)? (`keepdims` $keepdims^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: int | None = None,
        keepdims: bool = False,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data], {"axis": integer(axis), "keepdims": flag(keepdims)}, result_type
        )

    def infer_result_type(self) -> Attribute:
        """A tensor of i64 without the reduced dimensions."""
        info = expect_tensor(self.name, "data", self.data.type)
        axis = number_of(self.axis)
        axes = None if axis is None else [axis]
        dims = _reduced(self.name, info.dims, axes, self.keepdims is not None)
        return TensorInfo(dims, i64, info.vdevice).type


@irdl_op_definition
class ArgmaxOp(ArgReductionOp):
    """Where the greatest element is, the first of several. TVM's `relax.argmax`.

    The first NaN, where there is one.

    ```mlir
    %r = relax.argmax %a axis 1 keepdims : (tensor<4x8xf32>) -> tensor<4x1xi64>
    ```
    """

    name = "relax.argmax"


@irdl_op_definition
class ArgminOp(ArgReductionOp):
    """Where the smallest element is, the first of several. TVM's `relax.argmin`.

    The first NaN, where there is one.

    ```mlir
    %r = relax.argmin %a : (tensor<4x8xf32>) -> tensor<i64>
    ```
    """

    name = "relax.argmin"


class ScanOp(OperatorOp, ABC):
    """Combine each element with those before it along `axis`.

    Without `axis` the tensor is flattened; unlike in TVM, the result has rank 1 even
    where the operand's shape is unknown. With `exclusive` an element does not count
    itself. `dtype` is that of the result, the operand's where none is given.
    """

    SIGNATURE: ClassVar[str] = (
        "data, axis: int = None, dtype: dtype = None, exclusive: bool = False"
    )

    data = operand_def()
    axis = opt_prop_def(IntegerAttr.constr(i64))
    dtype = opt_prop_def()
    exclusive = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data (`axis` $axis^)? (`dtype` $dtype^)? (`exclusive` $exclusive^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: int | None = None,
        dtype: Attribute | None = None,
        exclusive: bool = False,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data],
            {
                "axis": integer(axis),
                "dtype": dtype,
                "exclusive": flag(exclusive),
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        """The operand's type, of rank 1 without `axis`, its dtype replaced if given."""
        info = expect_tensor(self.name, "data", self.data.type)
        if self.dtype is not None:
            info = replace(info, dtype=expect_dtype(self.name, self.dtype))
        axis = number_of(self.axis)
        if axis is None:
            return info.with_dims(
                (None if info.shape is None else product(info.shape),)
            ).type
        if info.dims is not None:
            normalize_axis(self.name, axis, len(info.dims))
        return info.type


@irdl_op_definition
class CumsumOp(ScanOp):
    """Sums of the elements so far. TVM's `relax.cumsum`.

    ```mlir
    %r = relax.cumsum %a axis 1 dtype f64 : (tensor<4x8xf32>) -> tensor<4x8xf64>
    ```
    """

    name = "relax.cumsum"


@irdl_op_definition
class CumprodOp(ScanOp):
    """Products of the elements so far. TVM's `relax.cumprod`.

    ```mlir
    %r = relax.cumprod %a exclusive : (tensor<4x8xf32>) -> tensor<32xf32>
    ```
    """

    name = "relax.cumprod"
