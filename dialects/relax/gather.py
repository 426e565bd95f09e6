"""Operators that read and write at indices given by tensors.

docs/spec/relax-ops.md §8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    common_dtype,
    expect_integer,
    expect_prim,
    expect_tensor,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import number, text
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.relax.window import differ

__all__ = [
    "GatherElementsOp",
    "GatherNDOp",
    "OneHotOp",
    "ScatterElementsOp",
    "ScatterNDOp",
]


def _same_rank(op: str, lhs: TensorInfo, rhs: TensorInfo) -> None:
    if None not in (lhs.rank, rhs.rank) and lhs.rank != rhs.rank:
        raise VerifyException(
            f"{op}: data and indices must have one rank, not {lhs.rank} and {rhs.rank}"
        )


@irdl_op_definition
class GatherElementsOp(OperatorOp):
    """Elements of the data, one for each index, which replaces the position on `axis`.

    An index below 0 counts from the end, which TVM's own code does not know; one that is
    out of range is an error. TVM's `relax.gather_elements`.

    ```mlir
    %r = relax.gather_elements %a, %i axis 1 :
      (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    ```
    """

    name = "relax.gather_elements"
    SIGNATURE: ClassVar[str] = "data, indices, axis: int = 0"

    data = operand_def()
    indices = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        indices: SSAValue | Operation,
        axis: int = 0,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, indices], {"axis": number(axis)}, result_type)

    def infer_result_type(self) -> Attribute:
        data = expect_tensor(self.name, "data", self.data.type)
        indices = expect_tensor(self.name, "indices", self.indices.type)
        expect_integer(self.name, "indices", indices)
        _same_rank(self.name, data, indices)
        if data.dims is None or indices.dims is None:
            return replace(data, dims=None).type
        normalize_axis(self.name, self.axis.value.data, len(data.dims))
        return data.with_dims(indices.dims).type


@irdl_op_definition
class GatherNDOp(OperatorOp):
    """Elements or slices of the data, at positions along the last axis of the indices.

    The first `batch_dims` dimensions belong together; unlike in TVM, both operands have
    more than these. Indices are those of `relax.gather_elements`.
    TVM's `relax.gather_nd`.

    ```mlir
    %r = relax.gather_nd %a, %i batch_dims 0 :
      (tensor<4x8xf32>, tensor<3x1xi64>) -> tensor<3x8xf32>
    ```
    """

    name = "relax.gather_nd"
    SIGNATURE: ClassVar[str] = "data, indices, batch_dims: int = 0"

    data = operand_def()
    indices = operand_def()
    batch_dims = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `,` $indices `batch_dims` $batch_dims attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        indices: SSAValue | Operation,
        batch_dims: int = 0,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, indices], {"batch_dims": number(batch_dims)}, result_type)

    def infer_result_type(self) -> Attribute:
        data = expect_tensor(self.name, "data", self.data.type)
        indices = expect_tensor(self.name, "indices", self.indices.type)
        if indices.dtype not in (None, i64):
            raise VerifyException(
                f"{self.name}: operand 'indices' must hold i64, not {indices.dtype}"
            )
        batch = self.batch_dims.value.data
        if batch < 0 or batch >= min(data.rank or batch + 1, indices.rank or batch + 1):
            raise VerifyException(f"{self.name}: batch_dims {batch} is out of range")
        if indices.rank == 0:
            raise VerifyException(f"{self.name}: operand 'indices' must not have rank 0")
        if data.dims is None or indices.dims is None:
            return replace(data, dims=None).type
        last = indices.dims[-1]
        count = None if last is None else last.value
        if count is None:
            return replace(data, dims=None).type
        if count > len(data.dims) - batch:
            raise VerifyException(
                f"{self.name}: {count} indices are too many for rank {len(data.dims)} "
                f"with {batch} batch_dims"
            )
        return data.with_dims(indices.dims[:-1] + data.dims[batch + count :]).type


_REDUCTIONS = ("update", "add", "mul", "min", "max", "mean")


def _check_reduction(op: str, reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise VerifyException(
            f'{op}: reduction must be one of {", ".join(_REDUCTIONS)}, not "{reduction}"'
        )


@irdl_op_definition
class ScatterElementsOp(OperatorOp):
    """The data with updates put in, one for each index, the position on `axis`.

    `reduction` says how an update and the element become one. Updates are put in one
    after the other, each rounded to the dtype. An index below 0 counts from the end; one
    that is out of range is an error. TVM's `relax.scatter_elements`.

    ```mlir
    %r = relax.scatter_elements %a, %i, %u axis 0 reduction "add" :
      (tensor<4x8xf32>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.scatter_elements"
    SIGNATURE: ClassVar[str] = (
        'data, indices, updates, axis: int = 0, reduction: str = "update"'
    )

    data = operand_def()
    indices = operand_def()
    updates = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    reduction = prop_def(StringAttr)

    assembly_format = (
        "$data `,` $indices `,` $updates `axis` $axis `reduction` $reduction attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        axis: int = 0,
        reduction: str = "update",
        result_type: Attribute | None = None,
    ) -> None:
        properties = {"axis": number(axis), "reduction": text(reduction)}
        self._make([data, indices, updates], properties, result_type)

    def infer_result_type(self) -> Attribute:
        _check_reduction(self.name, self.reduction.data)
        data = expect_tensor(self.name, "data", self.data.type)
        indices = expect_tensor(self.name, "indices", self.indices.type)
        updates = expect_tensor(self.name, "updates", self.updates.type)
        expect_integer(self.name, "indices", indices)
        common_dtype(self.name, data.dtype, updates.dtype)
        _same_rank(self.name, data, indices)
        _same_rank(self.name, updates, indices)
        if data.rank is not None:
            normalize_axis(self.name, self.axis.value.data, data.rank)
        if indices.dims is not None and updates.dims is not None:
            for axis, (lhs, rhs) in enumerate(
                zip(indices.dims, updates.dims, strict=True)
            ):
                if differ(lhs, rhs):
                    raise VerifyException(
                        f"{self.name}: dimension {axis} of indices and updates must be "
                        f"equal, not {lhs} and {rhs}"
                    )
        return self.data.type


@irdl_op_definition
class ScatterNDOp(OperatorOp):
    """The data with updates put in, at positions along the last axis of the indices.

    `reduction` says how an update and the element become one, and indices are those of
    `relax.scatter_elements`. TVM's `relax.scatter_nd`.

    ```mlir
    %r = relax.scatter_nd %a, %i, %u reduction "update" :
      (tensor<4x8xf32>, tensor<3x1xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.scatter_nd"
    SIGNATURE: ClassVar[str] = 'data, indices, updates, reduction: str = "update"'

    data = operand_def()
    indices = operand_def()
    updates = operand_def()
    reduction = prop_def(StringAttr)

    assembly_format = (
        "$data `,` $indices `,` $updates `reduction` $reduction attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        reduction: str = "update",
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, indices, updates], {"reduction": text(reduction)}, result_type)

    def infer_result_type(self) -> Attribute:
        _check_reduction(self.name, self.reduction.data)
        data = expect_tensor(self.name, "data", self.data.type)
        indices = expect_tensor(self.name, "indices", self.indices.type)
        updates = expect_tensor(self.name, "updates", self.updates.type)
        expect_integer(self.name, "indices", indices)
        if data.dtype is None or data.dtype != updates.dtype:
            raise VerifyException(
                f"{self.name}: data and updates must have one known dtype, "
                f"not {_dtype_text(data)} and {_dtype_text(updates)}"
            )
        if data.dims is not None and indices.dims is not None:
            self._check_shapes(data.dims, indices.dims, updates.dims)
        return self.data.type

    def _check_shapes(self, data: Dims, indices: Dims, updates: Dims | None) -> None:
        last = indices[-1] if indices else None
        count = None if last is None else last.value
        if count is None or count > len(data):
            raise VerifyException(
                f"{self.name}: the last dimension of the indices must be a number up to "
                f"{len(data)}, not {last or 'unknown'}"
            )
        expected = indices[:-1] + data[count:]
        if updates is None or None in expected or None in updates:
            return
        if len(updates) != len(expected) or not all(map(_equal, updates, expected)):
            wanted, given = (", ".join(map(str, dims)) for dims in (expected, updates))
            raise VerifyException(
                f"{self.name}: operand 'updates' must have shape [{wanted}], "
                f"not [{given}]"
            )


def _equal(lhs: Dim | None, rhs: Dim | None) -> bool:
    return lhs is not None and rhs is not None and provably_equal(lhs, rhs)


def _dtype_text(info: TensorInfo) -> str:
    return "unknown" if info.dtype is None else str(info.dtype)


@irdl_op_definition
class OneHotOp(OperatorOp):
    """A new axis of extent `depth`: `on` where it is the index, `off` elsewhere.

    An index that is out of range has `off` everywhere. TVM's `relax.one_hot`.

    ```mlir
    %r = relax.one_hot %i, %on, %off depth 8 axis -1 :
      (tensor<4xi64>, !relax.prim<f32>, !relax.prim<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.one_hot"
    SIGNATURE: ClassVar[str] = (
        "indices, on_value: prim, off_value: prim, depth: int, axis: int = -1"
    )

    indices = operand_def()
    on_value = operand_def()
    off_value = operand_def()
    depth = prop_def(IntegerAttr.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$indices `,` $on_value `,` $off_value `depth` $depth `axis` $axis attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        indices: SSAValue | Operation,
        on_value: SSAValue | Operation,
        off_value: SSAValue | Operation,
        depth: int,
        axis: int = -1,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {"depth": number(depth), "axis": number(axis)}
        self._make([indices, on_value, off_value], properties, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "indices", self.indices.type)
        expect_integer(self.name, "indices", info)
        on = expect_prim(self.name, "on_value", self.on_value.type)
        off = expect_prim(self.name, "off_value", self.off_value.type)
        common_dtype(self.name, on.dtype, off.dtype)
        depth = self.depth.value.data
        if depth <= 0:
            raise VerifyException(f"{self.name}: depth must be positive, not {depth}")
        info = replace(info, dtype=on.dtype)
        if info.dims is None:
            return info.type
        axis = normalize_axis(self.name, self.axis.value.data, len(info.dims) + 1)
        extent = Dim.constant(depth)
        return info.with_dims((*info.dims[:axis], extent, *info.dims[axis:])).type
