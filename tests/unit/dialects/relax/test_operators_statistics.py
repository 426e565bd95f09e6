"""Result types of reductions, scans, sorting and sampling.

docs/spec/relax-ops.md §9, §10.
"""

from __future__ import annotations

import pytest
from support.relax_rules import CUDA, Row, placed, row, tuple_of, uncovered
from xdsl.dialects.builtin import f16, f64, i32, i64

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.definitions import operations_of
from xdsl_tvm.dialects.relax import reductions, sorting

_REDUCTIONS = ["sum", "max", "min", "mean", "prod", "variance", "std"]
_SEARCHES = ["argmax", "argmin"]
_SCANS = ["cumsum", "cumprod"]
_SORTING = [
    "sort",
    "argsort",
    "topk",
    "multinomial_from_uniform",
    "unique",
    "nonzero",
]
_CUDA = placed("[4, 8]", CUDA)
_NOT_TENSOR = "error: operand 'data' must be a tensor, not !relax.prim<f32>"
_NO_DTYPE = "error: dtype must be an integer or float, not !relax.any"
_NO_AXIS = "error: axis 2 is out of range for rank 2"


def _reduction_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "f32[2, n]", axis=1, gives="f32[2]"),
        row(op, "f32[2, n]", axis=[-1], keepdims=True, gives="f32[2, 1]"),
        row(op, "i32[2, n, 4]", axis=[0, 2], gives="i32[n]"),
        row(op, "f32[2, n]", gives="f32[]"),
        row(op, "f32[2, n]", keepdims=True, gives="f32[1, 1]"),
        row(op, "f32[2, n]", axis=[], gives="f32[2, n]"),
        row(op, "f32[]", gives="f32[]"),
        row(op, "f32[]", keepdims=True, gives="f32[]"),
        row(op, "any[?, 4]", axis=1, gives="any[?]"),
        row(op, "f32[?, ?]", keepdims=True, gives="f32[1, 1]"),
        row(op, "f32[?, 4]", axis=0, keepdims=True, gives="f32[1, 4]"),
        row(op, "f32[*]", gives="f32[]"),
        row(op, "f32[*]", axis=7, gives="f32[*]"),
        row(op, "f32[*]", keepdims=True, gives="f32[*]"),
        row(op, _CUDA, axis=0, gives=placed("[8]", CUDA)),
        row(op, "f32[2, 4]", axis=2, gives=_NO_AXIS),
        row(op, "f32[2, 4]", axis=[1, -1], gives="error: axis -1 is given twice"),
        row(op, "f32()", gives=_NOT_TENSOR),
    ]


def _search_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "f32[2, n]", axis=0, gives="i64[n]"),
        row(op, "f32[2, n]", axis=-1, keepdims=True, gives="i64[2, 1]"),
        row(op, "i8[2, n]", gives="i64[]"),
        row(op, "f32[2, n]", keepdims=True, gives="i64[1, 1]"),
        row(op, "f32[]", gives="i64[]"),
        row(op, "any[?, 4]", axis=1, gives="i64[?]"),
        row(op, "f32[*]", gives="i64[]"),
        row(op, "f32[*]", axis=0, gives="i64[*]"),
        row(op, _CUDA, axis=0, gives=placed("[8]", CUDA, "i64")),
        row(op, "f32[2, 4]", axis=2, gives=_NO_AXIS),
        row(op, "f32()", gives=_NOT_TENSOR),
    ]


def _scan_rows(op: type[relax.OperatorOp]) -> list[Row]:
    return [
        row(op, "f32[2, n]", axis=0, gives="f32[2, n]"),
        row(op, "f32[2, n]", axis=-1, dtype=f64, exclusive=True, gives="f64[2, n]"),
        row(op, "i32[2, n]", gives="i32[n * 2]"),
        row(op, "i1[4]", dtype=i32, gives="i32[4]"),
        row(op, "f32[]", gives="f32[1]"),
        # Flattened, the rank is 1 even of an unknown shape.
        row(op, "f32[2, ?]", gives="f32[?]"),
        row(op, "any[*]", gives="any[?]"),
        row(op, "f32[2, ?]", axis=1, gives="f32[2, ?]"),
        row(op, "any[*]", axis=7, gives="any[*]"),
        row(op, _CUDA, axis=1, gives=_CUDA),
        row(op, _CUDA, gives=placed("[32]", CUDA)),
        row(op, "f32[2, 4]", axis=2, gives=_NO_AXIS),
        row(op, "f32[2, 4]", dtype=relax.ANY, gives=_NO_DTYPE),
        row(op, "f32()", gives=_NOT_TENSOR),
    ]


_SORTS = [
    row(relax.SortOp, "f32[2, n]", gives="f32[2, n]"),
    row(relax.SortOp, "f32[2, ?]", axis=0, descending=True, gives="f32[2, ?]"),
    row(relax.SortOp, "any[*]", axis=7, gives="any[*]"),
    row(relax.SortOp, _CUDA, gives=_CUDA),
    row(relax.SortOp, "f32[2, 4]", axis=2, gives=_NO_AXIS),
    row(relax.SortOp, "f32[]", gives="error: axis -1 is out of range for rank 0"),
    row(relax.SortOp, "f32()", gives=_NOT_TENSOR),
    row(relax.ArgsortOp, "f32[2, n]", gives="i32[2, n]"),
    row(relax.ArgsortOp, "f32[2, ?]", axis=0, descending=True, gives="i32[2, ?]"),
    row(relax.ArgsortOp, "f32[2, n]", dtype=i64, gives="i64[2, n]"),
    row(relax.ArgsortOp, "f32[2, n]", dtype=None, gives="f32[2, n]"),
    row(relax.ArgsortOp, "any[*]", gives="i32[*]"),
    row(relax.ArgsortOp, _CUDA, gives=placed("[4, 8]", CUDA, "i32")),
    row(relax.ArgsortOp, "f32[2, 4]", axis=2, gives=_NO_AXIS),
    row(relax.ArgsortOp, "f32[2, 4]", dtype=relax.ANY, gives=_NO_DTYPE),
    row(relax.ArgsortOp, "f32()", gives=_NOT_TENSOR),
]

_TOPK = [
    row(relax.TopkOp, "f32[2, 8]", gives=tuple_of("f32[2, 1]", "i32[2, 1]")),
    row(relax.TopkOp, "f32[2, 8]", k=3, ret_type="values", gives="f32[2, 3]"),
    row(
        relax.TopkOp,
        "f32[2, 8]",
        k=1,
        axis=0,
        ret_type="indices",
        largest=False,
        dtype=i64,
        gives="i64[1, 8]",
    ),
    # All elements, where there are no more or no number is given.
    row(relax.TopkOp, "f32[2, 8]", k=9, ret_type="values", gives="f32[2, 8]"),
    row(relax.TopkOp, "f32[2, 8]", k=8, ret_type="values", gives="f32[2, 8]"),
    row(relax.TopkOp, "f32[2, 8]", k=0, ret_type="values", gives="f32[2, 8]"),
    row(relax.TopkOp, "f32[2, n]", k=-1, ret_type="values", gives="f32[2, n]"),
    row(relax.TopkOp, "f32[2, n]", k=3, ret_type="values", gives="f32[2, 3]"),
    row(relax.TopkOp, "f32[2, ?]", k=3, gives=tuple_of("f32[2, ?]", "i32[2, ?]")),
    row(relax.TopkOp, "any[*]", axis=7, gives=tuple_of("any[*]", "i32[*]")),
    row(relax.TopkOp, _CUDA, k=2, ret_type="values", gives=placed("[4, 2]", CUDA)),
    row(
        relax.TopkOp,
        "f32[4]",
        ret_type="all",
        gives="error: ret_type must be both, values or indices, not 'all'",
    ),
    row(relax.TopkOp, "f32[2, 4]", axis=2, gives=_NO_AXIS),
    row(relax.TopkOp, "f32[2, 4]", dtype=relax.ANY, gives=_NO_DTYPE),
    row(relax.TopkOp, "f32()", gives=_NOT_TENSOR),
]


def _draw(*operands: str, gives: str, **attributes: object) -> Row:
    return row(relax.MultinomialFromUniformOp, *operands, gives=gives, **attributes)


_DRAWS = [
    _draw("f32[3, 8]", "f32[6, 1]", "i64[6, 1]", gives="i64[6, 1]"),
    _draw("f16[b, v]", "f32[n, 1]", "i32[n, 1]", dtype=i32, gives="i32[n, 1]"),
    _draw("f32[?, ?]", "f32[?, ?]", "i64[?, ?]", gives="i64[?, 1]"),
    _draw("f32[3, 8]", "f32[6, 1]", "i64[?, 1]", gives="i64[?, 1]"),
    _draw("any[3, 8]", "any[6, 1]", "any[6, 1]", gives="i64[6, 1]"),
    _draw("f32[*]", "f32[6, 1]", "i64[6, 1]", gives="i64[*]"),
    _draw("f32[3, 8]", "f32[*]", "i64[6, 1]", gives="i64[*]"),
    _draw("f32[3, 8]", "f32[6, 1]", "i64[*]", gives="i64[*]"),
    _draw(_CUDA, "f32[6, 1]", "i64[6, 1]", gives=placed("[6, 1]", CUDA, "i64")),
    _draw(
        "i32[3, 8]",
        "f32[6, 1]",
        "i64[6, 1]",
        gives="error: operand 'prob' must hold floats, not i32",
    ),
    _draw(
        "f32[3, 8]",
        "i32[6, 1]",
        "i64[6, 1]",
        gives="error: operand 'uniform_sample' must hold floats, not i32",
    ),
    _draw(
        "f32[3, 8]",
        "f32[6, 1]",
        "f32[6, 1]",
        gives="error: operand 'sample_indices' must hold integers, not f32",
    ),
    _draw(
        "f32[8]",
        "f32[6, 1]",
        "i64[6, 1]",
        gives="error: operand 'prob' must have rank 2, not 1",
    ),
    _draw(
        "f32[3, 8]",
        "f32[6]",
        "i64[6, 1]",
        gives="error: operand 'uniform_sample' must have rank 2, not 1",
    ),
    _draw(
        "f32[3, 8]",
        "f32[6, 1]",
        "i64[6, 1, 1]",
        gives="error: operand 'sample_indices' must have rank 2, not 3",
    ),
    _draw(
        "f32[3, 8]",
        "f32[6, 2]",
        "i64[6, 1]",
        gives="error: operand 'uniform_sample' must have one column, not 2",
    ),
    _draw(
        "f32[3, 8]",
        "f32[6, 1]",
        "i64[6, n]",
        gives="error: operand 'sample_indices' must have one column, not n",
    ),
    _draw(
        "f32[3, 8]",
        "f32[6, 1]",
        "i64[n, 1]",
        gives="error: 6 samples and n indices are not proven to be as many",
    ),
    _draw("f32[3, 8]", "f32[6, 1]", "i64[6, 1]", dtype=relax.ANY, gives=_NO_DTYPE),
    _draw(
        "f32()",
        "f32[6, 1]",
        "i64[6, 1]",
        gives="error: operand 'prob' must be a tensor, not !relax.prim<f32>",
    ),
]


def _unique(data: str, flags: str, *axis: str, gives: str) -> Row:
    """`flags` are sorted, return_index, return_inverse and return_counts."""
    values = [f"i64({flag})" for flag in flags]
    return row(relax.UniqueOp, data, *values, *axis, gives=gives)


_UNIQUE = [
    _unique("f32[4, n]", "0000", gives="f32[?]"),
    _unique("f32[]", "1000", gives="f32[1]"),
    _unique("f32[4]", "1100", gives=tuple_of("f32[?]", "i64[?]")),
    _unique("f32[4]", "0011", gives=tuple_of("f32[?]", "i64[?]", "i64[?]")),
    _unique("f32[4]", "1111", gives=tuple_of("f32[?]", "i64[?]", "i64[?]", "i64[?]")),
    _unique("f32[4, n]", "0000", "i64(0)", gives="f32[?, n]"),
    _unique("f32[4, n]", "0000", "i64(-1)", gives="f32[4, ?]"),
    _unique("f32[4, n]", "0000", "i64()", gives="f32[?, ?]"),
    _unique("f32[?, 4]", "0100", "i64(0)", gives=tuple_of("f32[?, 4]", "i64[?]")),
    _unique("any[*]", "0000", gives="any[?]"),
    _unique("any[*]", "0000", "i64(7)", gives="any[*]"),
    _unique(_CUDA, "0000", gives=placed("[?]", CUDA)),
    row(
        relax.UniqueOp,
        "f32[4]",
        *["=1 : i1"] * 4,
        gives=tuple_of("f32[?]", *["i64[?]"] * 3),
    ),
    row(
        relax.UniqueOp,
        "f32[4]",
        "i64(1)",
        "i64()",
        "i64(0)",
        "i64(0)",
        gives="error: operand 'return_index' must be a constant, not !relax.prim<i64>",
    ),
    row(
        relax.UniqueOp,
        "f32[4]",
        "i64(n)",
        "i64(0)",
        "i64(0)",
        "i64(0)",
        gives="error: operand 'sorted' must be a constant, not !relax.prim<i64, n>",
    ),
    row(
        relax.UniqueOp,
        "f32[4]",
        "i64(0)",
        "i64(0)",
        "i64(0)",
        "f32()",
        gives="error: operand 'return_counts' must be an integer, not !relax.prim<f32>",
    ),
    _unique("f32[4, 4]", "0000", "i64(2)", gives=_NO_AXIS),
    _unique(
        "f32[4, 4]",
        "0000",
        "i64[]",
        gives="error: operand 'axis' must be a !relax.prim, not tensor<i64>",
    ),
    _unique("f32()", "0000", gives=_NOT_TENSOR),
]

_NONZERO = [
    row(relax.NonzeroOp, "f32[4, n]", gives="i64[?, ?]"),
    row(relax.NonzeroOp, "any[*]", gives="i64[?, ?]"),
    row(relax.NonzeroOp, "i1[]", gives="i64[?, ?]"),
    row(relax.NonzeroOp, _CUDA, gives=placed("[?, ?]", CUDA, "i64")),
    row(relax.NonzeroOp, "f32()", gives=_NOT_TENSOR),
]

ROWS = [
    *(
        case
        for op in (
            relax.SumOp,
            relax.MaxOp,
            relax.MinOp,
            relax.MeanOp,
            relax.ProdOp,
            relax.VarianceOp,
            relax.StdOp,
        )
        for case in _reduction_rows(op)
    ),
    *_search_rows(relax.ArgmaxOp),
    *_search_rows(relax.ArgminOp),
    *_scan_rows(relax.CumsumOp),
    *_scan_rows(relax.CumprodOp),
    *_SORTS,
    *_TOPK,
    *_DRAWS,
    *_UNIQUE,
    *_NONZERO,
]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_result_type(case: Row):
    case.check()


def test_every_operator_has_rows():
    named = {*_REDUCTIONS, *_SEARCHES, *_SCANS, *_SORTING}
    ops = {op.name for op in operations_of(reductions, sorting)}
    assert ops == {f"relax.{name}" for name in named}
    assert not uncovered(named, ROWS)


def test_attributes_are_kept():
    x = relax.AllocTensorOp(relax.TensorInfo.shaped([4, 8], f16).type)
    assert relax.ArgmaxOp(x, 1, keepdims=True).keepdims is not None
    assert relax.ArgmaxOp(x).axis is None
    scan = relax.CumsumOp(x, 1, exclusive=True)
    assert (scan.exclusive is not None, scan.dtype) == (True, None)
    assert relax.SortOp(x).axis.value.data == -1
    assert relax.SortOp(x, descending=True).descending is not None
    assert relax.ArgsortOp(x).dtype == i32
    best = relax.TopkOp(x, 3, 0, "values", largest=False)
    assert (best.k.value.data, best.axis.value.data) == (3, 0)
    assert (best.ret_type.data, best.dtype) == ("values", i32)
    assert best.smallest is not None
    assert relax.TopkOp(x).smallest is None
