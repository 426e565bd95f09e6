"""Communication between workers (docs/spec/relax-ops.md §12, `ccl`)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_tensor, normalize_axis
from xdsl_tvm.dialects.relax.properties import flag, number, text
from xdsl_tvm.dialects.relax.symbolic import provably_equal

__all__ = ["AllGatherOp", "AllReduceOp", "BroadcastFromWorker0Op", "ScatterFromWorker0Op"]

_OP_TYPES = ("sum", "prod", "min", "max", "avg")


def _workers(op: str, count: IntegerAttr) -> int:
    """The number of workers; VerifyException if there is none."""
    if count.value.data <= 0:
        raise VerifyException(f"{op}: workers must be positive, not {count.value.data}")
    return count.value.data


@irdl_op_definition
class AllReduceOp(OperatorOp):
    """The elements of all workers combined, for each of them.

    `kind` is "sum", "prod", "min", "max" or "avg"; without `all_groups` only workers of
    one group work together. TVM's `relax.ccl.allreduce`.

    ```mlir
    %r = relax.ccl.allreduce %a kind "sum" : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.ccl.allreduce"
    SIGNATURE: ClassVar[str] = 'x, op_type: str = "sum", in_group: bool = True'

    data = operand_def()
    op_type = prop_def(StringAttr)
    all_groups = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `kind` $op_type (`all_groups` $all_groups^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        op_type: str = "sum",
        in_group: bool = True,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {"op_type": text(op_type), "all_groups": flag(not in_group)}
        self._make([data], properties, result_type)

    def infer_result_type(self) -> Attribute:
        expect_tensor(self.name, "data", self.data.type)
        if self.op_type.data not in _OP_TYPES:
            raise VerifyException(
                f"{self.name}: kind must be one of {', '.join(_OP_TYPES)}, "
                f'not "{self.op_type.data}"'
            )
        return self.data.type


@irdl_op_definition
class AllGatherOp(OperatorOp):
    """The tensors of all workers, joined along dimension 0, for each of them.

    Without `all_groups` only workers of one group work together.
    TVM's `relax.ccl.allgather`.

    ```mlir
    %r = relax.ccl.allgather %a workers 2 : (tensor<4x8xf32>) -> tensor<8x8xf32>
    ```
    """

    name = "relax.ccl.allgather"
    SIGNATURE: ClassVar[str] = "x, num_workers: int, in_group: bool = True"

    data = operand_def()
    num_workers = prop_def(IntegerAttr.constr(i64))
    all_groups = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `workers` $num_workers (`all_groups` $all_groups^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        num_workers: int,
        in_group: bool = True,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "num_workers": number(num_workers),
            "all_groups": flag(not in_group),
        }
        self._make([data], properties, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        workers = _workers(self.name, self.num_workers)
        if info.rank == 0:
            raise VerifyException(f"{self.name}: operand 'data' must not have rank 0")
        if info.dims is None:
            return self.data.type
        first = None if info.dims[0] is None else info.dims[0] * workers
        return info.with_dims((first, *info.dims[1:])).type


@irdl_op_definition
class BroadcastFromWorker0Op(UnaryOperatorOp):
    """The tensor of the first worker, for all. TVM's `relax.ccl.broadcast_from_worker0`.

    ```mlir
    %r = relax.ccl.broadcast_from_worker0 %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.ccl.broadcast_from_worker0"


@irdl_op_definition
class ScatterFromWorker0Op(OperatorOp):
    """The parts of the first worker's tensor along `axis`, one for each worker.

    TVM's `relax.ccl.scatter_from_worker0`.

    ```mlir
    %r = relax.ccl.scatter_from_worker0 %a workers 2 axis 1 :
      (tensor<4x8xf32>) -> tensor<4x4xf32>
    ```
    """

    name = "relax.ccl.scatter_from_worker0"
    SIGNATURE: ClassVar[str] = "x, num_workers: int, axis: int = 0"

    data = operand_def()
    num_workers = prop_def(IntegerAttr.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `workers` $num_workers `axis` $axis attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        num_workers: int,
        axis: int = 0,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {"num_workers": number(num_workers), "axis": number(axis)}
        self._make([data], properties, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        workers = _workers(self.name, self.num_workers)
        if info.shape is None:
            raise VerifyException(
                f"{self.name}: the shape of operand 'data' must be known, "
                f"not {self.data.type}"
            )
        axis = normalize_axis(self.name, self.axis.value.data, len(info.shape))
        extent = info.shape[axis]
        if not provably_equal(extent % workers, 0):
            raise VerifyException(
                f"{self.name}: dimension {axis}, {extent}, is not proven to be a "
                f"multiple of {workers}"
            )
        part = extent // workers
        return info.with_dims((*info.shape[:axis], part, *info.shape[axis + 1 :])).type
