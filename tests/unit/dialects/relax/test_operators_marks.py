"""Result types of introspection, collectives and marks.

docs/spec/relax-ops.md §12, §13.
"""

from __future__ import annotations

import pytest
from support.relax_rules import CUDA, Row, placed, row, uncovered

from xdsl_tvm.dialects import relax

_NO_TENSOR = "error: operand '{}' must be a tensor, not !relax.object"

INSPECTED = [
    row(relax.TensorDtypeCodeOp, "f32[4]", gives="ui8(2)"),
    row(relax.TensorDtypeCodeOp, "i8[*]", gives="ui8(0)"),
    row(relax.TensorDtypeCodeOp, "ui8[4]", gives="ui8(1)"),
    row(relax.TensorDtypeCodeOp, "i1[4]", gives="ui8(1)"),
    row(relax.TensorDtypeCodeOp, "bf16[4]", gives="ui8(4)"),
    row(relax.TensorDtypeCodeOp, "any[4]", gives="ui8()"),
    row(relax.TensorDtypeBitsOp, "f16[n]", gives="ui8(16)"),
    row(relax.TensorDtypeBitsOp, "i1[n]", gives="ui8(1)"),
    row(relax.TensorDtypeBitsOp, "any[*]", gives="ui8()"),
    row(relax.TensorDtypeLanesOp, "f16[n]", gives="ui16(1)"),
    row(relax.TensorDtypeLanesOp, "any[n]", gives="ui16()"),
    row(relax.TensorNdimOp, "f16[n, ?]", gives="i32(2)"),
    row(relax.TensorNdimOp, "f16[*]", gives="i32()"),
    row(relax.TensorByteOffsetOp, "f16[n]", gives="ui64()"),
    row(relax.TensorElemOffsetOp, "f16[n]", gives="ui64()"),
    row(relax.TensorShapeIOp, "f32[n, 8]", "i64(0)", gives="i64(n)"),
    row(relax.TensorShapeIOp, "f32[?, 8]", "i64(0)", gives="i64()"),
    row(relax.TensorShapeIOp, "f32[*]", "i64(3)", gives="i64()"),
    row(relax.TensorShapeIOp, "f32[n, 8]", "i64()", gives="i64()"),
    row(relax.TensorShapeIOp, "f32[n, 8]", "i64(k)", gives="i64()"),
    row(relax.TensorStrideIOp, "f32[n, 8, m]", "i64(0)", gives="i64(m * 8)"),
    row(relax.TensorStrideIOp, "f32[n, 8, m]", "i64(2)", gives="i64(1)"),
    row(relax.TensorStrideIOp, "f32[n, ?, m]", "i64(0)", gives="i64()"),
    row(relax.TensorStrideIOp, "f32[?, 4]", "i64(0)", gives="i64(4)"),
    *(
        row(op, "f32[n, 8]", axis, gives=f"error: axis {text} is out of range for rank 2")
        for op in (relax.TensorShapeIOp, relax.TensorStrideIOp)
        for axis, text in (("i64(2)", "2"), ("i64(-1)", "-1"), ("i64(k + 2)", "k + 2"))
    ),
    row(
        relax.TensorShapeIOp,
        "f32[*]",
        "i64(-1)",
        gives="error: axis -1 is out of range for rank unknown",
    ),
    row(
        relax.TensorShapeIOp,
        "f32[4]",
        "f32()",
        gives="error: operand 'axis' must be an integer, not !relax.prim<f32>",
    ),
    *(
        row(op, "!relax.object", gives=_NO_TENSOR.format("tensor"))
        for op in (
            relax.TensorDtypeCodeOp,
            relax.TensorDtypeBitsOp,
            relax.TensorDtypeLanesOp,
            relax.TensorNdimOp,
            relax.TensorByteOffsetOp,
            relax.TensorElemOffsetOp,
        )
    ),
]

COLLECTIVES = [
    row(relax.AllReduceOp, "f32[n, ?]", gives="f32[n, ?]"),
    row(relax.AllReduceOp, "f32[*]", gives="f32[*]", op_type="avg", in_group=False),
    row(
        relax.AllReduceOp,
        "f32[4]",
        gives='error: kind must be one of sum, prod, min, max, avg, not "any"',
        op_type="any",
    ),
    row(relax.AllReduceOp, "!relax.object", gives=_NO_TENSOR.format("data")),
    row(relax.AllGatherOp, "f32[n, 4]", gives="f32[n * 2, 4]", num_workers=2),
    row(relax.AllGatherOp, "f32[?]", gives="f32[?]", num_workers=2, in_group=False),
    row(relax.AllGatherOp, "f32[*]", gives="f32[*]", num_workers=2),
    row(
        relax.AllGatherOp,
        "f32[4]",
        gives="error: workers must be positive, not 0",
        num_workers=0,
    ),
    row(
        relax.AllGatherOp,
        "f32[]",
        gives="error: operand 'data' must not have rank 0",
        num_workers=2,
    ),
    row(relax.ScatterFromWorker0Op, "f32[4, n]", gives="f32[2, n]", num_workers=2),
    row(
        relax.ScatterFromWorker0Op,
        "f32[4, n * 6]",
        gives="f32[4, n * 2]",
        num_workers=3,
        axis=-1,
    ),
    row(
        relax.ScatterFromWorker0Op,
        "f32[5]",
        gives="error: dimension 0, 5, is not proven to be a multiple of 2",
        num_workers=2,
    ),
    row(
        relax.ScatterFromWorker0Op,
        "f32[n]",
        gives="error: dimension 0, n, is not proven to be a multiple of 2",
        num_workers=2,
    ),
    row(
        relax.ScatterFromWorker0Op,
        "f32[?]",
        gives="error: the shape of operand 'data' must be known, not tensor<?xf32>",
        num_workers=2,
    ),
    row(
        relax.ScatterFromWorker0Op,
        "f32[4]",
        gives="error: axis 1 is out of range for rank 1",
        num_workers=2,
        axis=1,
    ),
]

MARKS = [
    row(op, type_, gives=type_)
    for op in (
        relax.NoGradOp,
        relax.StartCheckpointOp,
        relax.EndCheckpointOp,
        relax.BroadcastFromWorker0Op,
    )
    for type_ in ("f32[n, 4]", "any[?]", "i8[*]", placed("[4]", CUDA))
]

ROWS = INSPECTED + COLLECTIVES + MARKS


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule(row: Row):
    row.check()


def test_every_operator_has_a_row():
    names = """
        inspect.tensor_dtype_code inspect.tensor_dtype_bits inspect.tensor_dtype_lanes
        inspect.tensor_ndim inspect.tensor_shape_i inspect.tensor_stride_i
        inspect.tensor_byte_offset inspect.tensor_elem_offset
        ccl.allreduce ccl.allgather ccl.broadcast_from_worker0 ccl.scatter_from_worker0
        grad.no_grad grad.start_checkpoint grad.end_checkpoint
    """
    assert not uncovered(names.split(), ROWS)
