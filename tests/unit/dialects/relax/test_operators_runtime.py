"""Result types of operators on memory and shapes (docs/spec/relax-ir.md §4.4, §5)."""

from __future__ import annotations

import pytest
from support.relax_rules import (
    CUDA,
    Row,
    check_rule,
    placed,
    row,
    type_of,
    uncovered,
    value_of,
)
from xdsl.dialects.builtin import f16

from xdsl_tvm.dialects import relax

ROWS = [
    row(relax.ShapeOfOp, "f32[n, 4]", gives="[n, 4]"),
    row(relax.ShapeOfOp, "f32[?, 4]", gives="[?, 4]"),
    row(relax.ShapeOfOp, "f32[]", gives="[]"),
    row(relax.ShapeOfOp, "any[*]", gives="!relax.shape<*>"),
    row(
        relax.ShapeOfOp,
        "[4]",
        gives="error: operand 'value' must be a tensor, not !relax.shape<[4]>",
    ),
    row(relax.TensorToShapeOp, "i64[3]", gives="[?, ?, ?]"),
    row(relax.TensorToShapeOp, "i32[n]", gives="!relax.shape<*>"),
    row(relax.TensorToShapeOp, "any[*]", gives="!relax.shape<*>"),
    row(
        relax.TensorToShapeOp,
        "i64[]",
        gives="error: operand 'value' must have rank 1, not 0",
    ),
    row(
        relax.TensorToShapeOp,
        "f32[2]",
        gives="error: operand 'value' must hold integers, not f32",
    ),
    row(relax.ShapeToTensorOp, "[n, 4]", gives="i64[2]"),
    row(relax.ShapeToTensorOp, "[?, ?, ?]", gives="i64[3]"),
    row(relax.ShapeToTensorOp, "!relax.shape<*>", gives="i64[?]"),
    row(
        relax.ShapeToTensorOp,
        "i64[2]",
        gives="error: operand 'value' must be a !relax.shape, not tensor<2xi64>",
    ),
    row(relax.EnsureZeroOffsetOp, "f32[n]", gives="f32[n]"),
    row(
        relax.EnsureZeroOffsetOp,
        "[n]",
        gives="error: operand 'data' must be a tensor, not !relax.shape<[n]>",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule(row: Row):
    row.check()


@pytest.mark.parametrize(
    ("data", "shape", "dtype", "offset", "expected"),
    [
        ("f32[4, 8]", None, None, None, "f32[4, 8]"),
        ("f32[4, 8]", "[32]", None, None, "f32[32]"),
        ("f32[4, 8]", "[2]", "f64", "i64(112)", "f64[2]"),
        ("f32[4, 8]", None, "i32", None, "i32[4, 8]"),
        ("f32[n]", "[n]", "f16", "i64(n * 2)", "f16[n]"),
        ("f32[n]", "[m]", None, None, "f32[m]"),
        ("f32[*]", "[?, 4]", None, "i64()", "f32[?, 4]"),
        ("f32[*]", None, "i8", None, "i8[*]"),
        ("any[8]", "[4]", None, None, "any[4]"),
        (placed("[4]", CUDA), "[4]", None, None, placed("[4]", CUDA)),
        # Past the end: in bytes, in elements, in bytes of an element.
        (
            "f32[4]",
            "[5]",
            None,
            None,
            "error: a view that ends at 20 bytes is not within 16 bytes",
        ),
        (
            "f32[4]",
            "[4]",
            "f16",
            "i64(9)",
            "error: a view that ends at 17 bytes is not within 16 bytes",
        ),
        (
            "f32[n]",
            "[n + 1]",
            None,
            None,
            "error: a view that ends at n * 4 + 4 bytes is not within n * 4 bytes",
        ),
        (
            "any[4]",
            "[5]",
            None,
            None,
            "error: a view that ends at 5 elements is not within 4 elements",
        ),
        (
            "f32[?]",
            None,
            "f64",
            None,
            "error: a view that ends at 8 bytes an element is not within "
            "4 bytes an element",
        ),
        (
            "f32[?]",
            None,
            None,
            "i64(4)",
            "error: a view of the whole tensor cannot start at byte 4",
        ),
        ("ui8[*]", "!relax.shape<*>", "i32", None, "i32[*]"),
        ("ui8[?]", "[?]", "i32", None, "i32[?]"),
        ("f32[4]", None, None, "i64(-4)", "error: the offset -4 is negative"),
        (
            "f32[4]",
            None,
            None,
            "i32(4)",
            "error: operand 'relative_byte_offset' must be a !relax.prim<i64>, "
            "not !relax.prim<i32, 4>",
        ),
        (
            "f32[4]",
            "f32[4]",
            None,
            None,
            "error: operand 'shape' must be a !relax.shape, not tensor<4xf32>",
        ),
        (
            "[4]",
            None,
            None,
            None,
            "error: operand 'data' must be a tensor, not !relax.shape<[4]>",
        ),
    ],
)
def test_view(
    data: str, shape: str | None, dtype: str | None, offset: str | None, expected: str
):
    shape_value = None if shape is None else value_of(shape)
    dtype_type = None if dtype is None else type_of(dtype)
    offset_value = None if offset is None else value_of(offset)
    operands = value_of(data), shape_value, dtype_type, offset_value
    expected = expected.replace("error: ", "error: relax.memory.view: ")
    check_rule(lambda: relax.ViewOp(*operands).result.type, expected)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("[n, 4]", "f16[n, 4]"),
        ("[?, 4]", "f16[?, 4]"),
        ("!relax.shape<*>", "f16[*]"),
        (
            "f32[4]",
            "error: relax.vm.alloc_tensor: operand 'shape' must be a !relax.shape, "
            "not tensor<4xf32>",
        ),
    ],
)
def test_vm_alloc_tensor(shape: str, expected: str):
    storage, offset = value_of("!relax.object"), value_of("i64(0)")
    operands = storage, offset, value_of(shape)
    check_rule(lambda: relax.VMAllocTensorOp(*operands, f16).result.type, expected)


def test_every_operator_has_a_row():
    names = "shape_of", "tensor_to_shape", "shape_to_tensor", "memory.ensure_zero_offset"
    assert not uncovered(names, ROWS)
