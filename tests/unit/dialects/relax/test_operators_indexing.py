"""Result types of indexing and linear algebra (docs/spec/relax-ops.md §6, §7)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.relax_rules import (
    CUDA,
    LLVM,
    Row,
    placed,
    row,
    tuple_of,
    type_of,
    uncovered,
    value_of,
)
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.definitions import operations_of
from xdsl_tvm.dialects.relax import indexing, linear_algebra

_INDEXING = ["take", "strided_slice", "dynamic_strided_slice"]
_LINEAR_ALGEBRA = ["matmul", "einsum"]
_CUDA = placed("[4]", CUDA)
_LLVM = placed("[4]", LLVM)
_HUGE = 2**63 - 1

_TAKE = [
    row(relax.TakeOp, "f32[9, n]", "i64[4]", axis=0, gives="f32[4, n]"),
    row(relax.TakeOp, "f32[9, n]", "i32[2, m]", axis=-1, gives="f32[9, 2, m]"),
    row(relax.TakeOp, "f32[9]", "i64[2, 3]", gives="f32[2, 3]"),
    row(relax.TakeOp, "f32[9, n]", "ui8[]", axis=0, gives="f32[n]"),
    row(relax.TakeOp, "f32[9, n]", "i64()", axis=0, gives="f32[n]"),
    row(relax.TakeOp, "f32[9]", "i64(3)", gives="f32[]"),
    row(relax.TakeOp, "f32[?, 8]", "i64[?]", axis=1, gives="f32[?, ?]"),
    row(relax.TakeOp, "f32[4, 8]", "any[2]", axis=1, gives="f32[4, 2]"),
    row(relax.TakeOp, "f32[*]", "i64[2]", axis=1, gives="f32[*]"),
    row(relax.TakeOp, "f32[4, 8]", "i64[*]", axis=1, gives="f32[*]"),
    row(relax.TakeOp, "any[4, 8]", "i64[2]", axis=1, gives="any[4, 2]"),
    row(relax.TakeOp, _CUDA, "i64[4]", gives=_CUDA),
    row(
        relax.TakeOp,
        "f32[4, 8]",
        "f32[2]",
        axis=1,
        gives="error: operand 'indices' must hold integers, not f32",
    ),
    row(
        relax.TakeOp,
        "f32[4]",
        "f32()",
        gives="error: operand 'indices' must hold integers, not f32",
    ),
    row(
        relax.TakeOp,
        "f32[4, 8]",
        "i64[2]",
        gives="error: without an axis the data must have rank 1, not tensor<4x8xf32>",
    ),
    row(
        relax.TakeOp,
        "f32[*]",
        "i64[2]",
        gives="error: without an axis the data must have rank 1, not tensor<*xf32>",
    ),
    row(
        relax.TakeOp,
        "f32[4, 8]",
        "i64[2]",
        axis=2,
        gives="error: axis 2 is out of range for rank 2",
    ),
    row(
        relax.TakeOp,
        "f32()",
        "i64[2]",
        gives="error: operand 'data' must be a tensor, not !relax.prim<f32>",
    ),
    row(
        relax.TakeOp,
        "f32[4]",
        "[2]",
        gives="error: operand 'indices' must be a tensor, not !relax.shape<[2]>",
    ),
]


def _scalars(*values: int | str) -> str:
    """A tuple of i64 scalars; one of unknown value is an empty string."""
    return tuple_of(*(f"i64({value})" for value in values))


def _slice(
    data: str,
    axes: str,
    begin: str,
    end: str,
    *strides: str,
    gives: str,
    **inbound: bool,
) -> Row:
    op = relax.StridedSliceOp
    return row(op, data, axes, begin, end, *strides, gives=gives, **inbound)


def _sliced(
    extent: int | str, begin: int | str, end: int | str, stride: int | str, length: str
) -> Row:
    """A slice of the middle one of three dimensions."""
    return _slice(
        f"f32[7, {extent}, 9]",
        _scalars(-2),
        _scalars(begin),
        _scalars(end),
        _scalars(stride),
        gives=f"f32[7, {length}, 9]",
    )


_SLICES = [
    # Numbers: what is out of bounds is cut off.
    _sliced(8, 1, 5, 1, "4"),
    _sliced(8, 1, 6, 2, "3"),
    _sliced(8, 5, 1, 1, "0"),
    _sliced(8, 0, 99, 1, "8"),
    _sliced(8, -3, 8, 1, "3"),
    _sliced(8, -99, -1, 1, "7"),
    _sliced(8, 7, 0, -2, "4"),
    _sliced(8, -1, -99, -1, "8"),
    _sliced(8, 99, 3, -1, "4"),
    _sliced(8, 0, _HUGE, 3, "3"),
    _sliced(8, -1, -_HUGE - 1, -1, "8"),
    # Symbols.
    _sliced("n", 0, "n", 1, "n"),
    _sliced("n", 0, _HUGE, 1, "n"),
    _sliced("n", 1, "n", 1, "max(n - 1, 0)"),
    _sliced("n", 0, 4, 1, "min(n, 4)"),
    _sliced("n", -3, _HUGE, 1, "min(n, 3)"),
    _sliced("n", 0, -1, 1, "max(n - 1, 0)"),
    _sliced("n", -1, -_HUGE, -1, "n"),
    _sliced("n", 0, "n", 2, "(n + 1) floordiv 2"),
    _sliced("n + m", "n", "n + m", 1, "m"),
    _sliced("n + 4", "m", "m + 4", 1, "max(min(n + 4, m + 4) - m, 0)"),
    # Unknown: an index, its sign, the stride or the extent.
    _sliced(8, "", 5, 1, "?"),
    _sliced(8, 0, "", 1, "?"),
    _sliced(8, "n - 1", 5, 1, "?"),
    _sliced(8, 0, "n - 1", 1, "?"),
    _sliced(8, "n - 1", 0, -1, "?"),
    _sliced(8, 0, 5, "", "?"),
    _sliced(8, 0, 5, "n - m", "?"),
    _sliced("?", 0, 5, 1, "?"),
    # Several axes, and none.
    _slice(
        "f32[4, n, 9]",
        _scalars(2, 0),
        _scalars(1, 0),
        _scalars(4, 2),
        gives="f32[2, n, 3]",
    ),
    _slice("f32[4, ?]", _scalars(), _scalars(), _scalars(), gives="f32[4, ?]"),
    _slice("f32[*]", _scalars(0), _scalars(0), _scalars(1), gives="f32[*]"),
    _slice("f32[*]", _scalars(9), _scalars(0), _scalars(1), gives="f32[*]"),
    _slice("any[8]", _scalars(0), _scalars(0), _scalars(1), gives="any[1]"),
    _slice(_CUDA, _scalars(0), _scalars(0), _scalars(9), gives=_CUDA),
    # Axes that are not constant; tuples that are any object.
    _slice("f32[4, 8]", _scalars("n"), _scalars(0), _scalars(1), gives="f32[?, ?]"),
    _slice("f32[4, 8]", "!relax.object", _scalars(0), _scalars(1), gives="f32[?, ?]"),
    _slice("f32[4, 8]", _scalars(0), "!relax.object", _scalars(1), gives="f32[?, 8]"),
    _slice(
        "f32[4, 8]",
        _scalars(1),
        tuple_of("!relax.object"),
        _scalars(1),
        gives="f32[4, ?]",
    ),
    # In bounds: the indices are taken as they are.
    _slice(
        "f32[n]",
        _scalars(0),
        _scalars("m"),
        _scalars("k"),
        assume_inbound=True,
        gives="f32[k - m]",
    ),
    _slice(
        "f32[?]",
        _scalars(0),
        _scalars("m"),
        _scalars("m + 4"),
        _scalars(2),
        assume_inbound=True,
        gives="f32[2]",
    ),
    _slice(
        "f32[9]",
        _scalars(0),
        _scalars(8),
        _scalars(1),
        _scalars(-2),
        assume_inbound=True,
        gives="f32[4]",
    ),
    _slice(
        "f32[9]",
        _scalars(0),
        _scalars(""),
        _scalars(1),
        assume_inbound=True,
        gives="f32[?]",
    ),
    _slice(
        "f32[9]",
        _scalars(0),
        _scalars(0),
        _scalars(1),
        _scalars("n - m"),
        assume_inbound=True,
        gives="f32[?]",
    ),
    # Errors.
    _slice(
        "f32[8]",
        _scalars(0),
        _scalars(0, 1),
        _scalars(1),
        gives="error: the tuples must have one length, not 1 axes, 2 begin, 1 end",
    ),
    _slice(
        "f32[*]",
        _scalars(0),
        _scalars(0),
        _scalars(1),
        _scalars(1, 1),
        gives="error: the tuples must have one length, not "
        "1 axes, 1 begin, 1 end, 2 strides",
    ),
    _slice(
        "f32[8]",
        _scalars(0),
        tuple_of("i32(0)"),
        _scalars(1),
        gives="error: operand 'begin' must be a tuple of !relax.prim<i64>, "
        "not !relax.tuple<!relax.prim<i32, 0>>",
    ),
    _slice(
        "f32[8]",
        _scalars(0),
        _scalars(0),
        "i64[1]",
        gives="error: operand 'end' must be a tuple of !relax.prim<i64>, "
        "not tensor<1xi64>",
    ),
    _slice(
        "f32[8, 8]",
        _scalars(0, -2),
        _scalars(0, 0),
        _scalars(1, 1),
        gives="error: axis -2 is given twice",
    ),
    _slice(
        "f32[8, 8]",
        _scalars(2),
        _scalars(0),
        _scalars(1),
        gives="error: axis 2 is out of range for rank 2",
    ),
    _slice(
        "f32[8]",
        _scalars(0),
        _scalars(0),
        _scalars(1),
        _scalars(0),
        gives="error: a stride must not be 0",
    ),
    _slice(
        "f32()",
        _scalars(0),
        _scalars(0),
        _scalars(1),
        gives="error: operand 'data' must be a tensor, not !relax.prim<f32>",
    ),
]


def _dynamic(data: str, *bounds: str, gives: str) -> Row:
    return row(relax.DynamicStridedSliceOp, data, *bounds, gives=gives)


_DYNAMIC = [
    _dynamic("f32[4, n]", "i64[2]", "i64[2]", "i64[2]", gives="f32[?, ?]"),
    _dynamic("any[?]", "i64[1]", "i64[1]", "i64[1]", gives="any[?]"),
    _dynamic("f32[]", "i64[0]", "i64[0]", "i64[0]", gives="f32[]"),
    _dynamic("f32[4]", "i64[1]", "any[1]", "i64[1]", gives="f32[?]"),
    # The bounds tell the rank.
    _dynamic("f32[*]", "i64[3]", "i64[3]", "i64[3]", gives="f32[?, ?, ?]"),
    _dynamic(_CUDA, "i64[1]", "i64[1]", "i64[1]", gives=placed("[?]", CUDA)),
    _dynamic(
        "f32[4, n]",
        "i64[2]",
        "i64[3]",
        "i64[2]",
        gives="error: operand 'end' must have length 2, one per axis, not 3",
    ),
    _dynamic(
        "f32[*]",
        "i64[2]",
        "i64[2]",
        "i64[1]",
        gives="error: operand 'strides' must have length 2, one per axis, not 1",
    ),
    _dynamic(
        "f32[4]",
        "i64[1, 1]",
        "i64[1]",
        "i64[1]",
        gives="error: operand 'begin' must have rank 1, not 2",
    ),
    _dynamic(
        "f32[4]",
        "i32[1]",
        "i64[1]",
        "i64[1]",
        gives="error: operand 'begin' must be a tensor of i64 of known length, "
        "not tensor<1xi32>",
    ),
    _dynamic(
        "f32[4]",
        "i64[1]",
        "i64[1]",
        "i64[?]",
        gives="error: operand 'strides' must be a tensor of i64 of known length, "
        "not tensor<?xi64>",
    ),
    _dynamic(
        "f32[4]",
        "i64[*]",
        "i64[1]",
        "i64[1]",
        gives="error: operand 'begin' must be a tensor of i64 of known length, "
        "not tensor<*xi64>",
    ),
    _dynamic(
        "f32[4]",
        "i64(0)",
        "i64[1]",
        "i64[1]",
        gives="error: operand 'begin' must be a tensor, not !relax.prim<i64, 0>",
    ),
]


def _einsum(subscripts: str, *tensors: str, gives: str) -> Row:
    return row(relax.EinsumOp, tuple_of(*tensors), subscripts=subscripts, gives=gives)


_EINSUM = [
    _einsum("ij,jk->ik", "f32[4, n]", "f32[n, m]", gives="f32[4, m]"),
    _einsum("ij,jk", "f32[4, 8]", "f32[8, 2]", gives="f32[4, 2]"),
    _einsum("ba", "f32[4, 8]", gives="f32[8, 4]"),
    _einsum("ii->i", "f32[4, 4]", gives="f32[4]"),
    _einsum("ii", "f32[n, n]", gives="f32[]"),
    _einsum("ij -> ji", "f32[4, 8]", gives="f32[8, 4]"),
    _einsum("ij->", "f32[4, 8]", gives="f32[]"),
    _einsum("i,i,i->i", "f32[4]", "f32[4]", "f32[1]", gives="f32[4]"),
    _einsum("i,j->ij", "f32[n]", "f32[m]", gives="f32[n, m]"),
    _einsum(
        "...ij,...jk->...ik", "f32[5, 1, 4, 8]", "f32[3, 8, 2]", gives="f32[5, 3, 4, 2]"
    ),
    _einsum("...i,i...", "f32[n, 4]", "f32[4, n]", gives="f32[n]"),
    _einsum("i...->...i", "f32[4, a, b]", gives="f32[a, b, 4]"),
    _einsum("...->...", "f32[4, n]", gives="f32[4, n]"),
    # What is not proven or not known.
    _einsum("i,i->i", "f32[n]", "f32[m]", gives="f32[?]"),
    _einsum("ij,jk->ik", "f32[?, ?]", "f32[8, 2]", gives="f32[?, 2]"),
    _einsum("ij,jk->ik", "f32[4, 8]", "f32[*]", gives="f32[4, ?]"),
    _einsum("ij,jk->ik", "f32[*]", "f32[8, 2]", gives="f32[?, 2]"),
    _einsum("...ij,jk->...ik", "f32[*]", "f32[8, 2]", gives="f32[*]"),
    _einsum("...ij,jk->ik", "f32[*]", "f32[8, 2]", gives="f32[?, 2]"),
    _einsum("ij,jk->ik", "any[4, 8]", "f32[8, 2]", gives="any[4, 2]"),
    _einsum("i,i->i", _CUDA, "f32[4]", gives=_CUDA),
    _einsum("i,i->i", _CUDA, _LLVM, gives="f32[4]"),
    # Errors.
    _einsum(
        "->",
        gives="error: operand 'tensors' must be a tuple of tensors, not !relax.tuple<>",
    ),
    row(
        relax.EinsumOp,
        "f32[4]",
        subscripts="i->i",
        gives="error: operand 'tensors' must be a tuple of tensors, not tensor<4xf32>",
    ),
    _einsum(
        "i->i",
        "f32()",
        gives="error: operand 'tensors[0]' must be a tensor, not !relax.prim<f32>",
    ),
    _einsum(
        "i,i->i",
        "f32[4]",
        "i32[4]",
        gives="error: operands must have one dtype, not f32 and i32",
    ),
    _einsum(
        "ij,jk->ik",
        "f32[4, 8]",
        "f32[9, 2]",
        gives="error: label 'j' cannot be both 8 and 9",
    ),
    _einsum("ii->i", "f32[4, 5]", gives="error: label 'i' cannot be both 4 and 5"),
    _einsum(
        "...,...->...",
        "f32[4]",
        "f32[5]",
        gives="error: dimension 0 of the result cannot be both 4 and 5",
    ),
    _einsum("i,i->i", "f32[4]", gives="error: 'i,i->i' is for 2 operands, not 1"),
    _einsum("ij->i", "f32[4]", gives="error: operand 0 has rank 1, but 2 labels"),
    _einsum("i->i", "f32[4, 8]", gives="error: operand 0 has rank 2, but 1 labels"),
    _einsum("ij...->i", "f32[4]", gives="error: operand 0 has rank 1, but 2 labels"),
    _einsum(
        "i1->i",
        "f32[4, 1]",
        gives="error: subscripts are letters and one '...', not 'i1'",
    ),
    _einsum(
        "i......->i",
        "f32[4]",
        gives="error: subscripts are letters and one '...', not 'i......'",
    ),
    _einsum(
        "i->ij",
        "f32[4]",
        gives="error: the result of 'i->ij' must have 'j' once, and an operand too",
    ),
    _einsum(
        "i->ii",
        "f32[4]",
        gives="error: the result of 'i->ii' must have 'i' once, and an operand too",
    ),
]

_MATMUL = [
    row(relax.MatmulOp, "f32[4, n]", "f32[n, 2]", gives="f32[4, 2]"),
    row(relax.MatmulOp, "f32[b, 4, 8]", "f32[8]", gives="f32[b, 4]"),
    row(relax.MatmulOp, "f32[*]", "f32[8, 2]", gives="f32[*]"),
    row(
        relax.MatmulOp,
        "f32[4, 8]",
        "f32[9, 2]",
        gives="error: the summed dimensions must be equal, not 8 and 9",
    ),
]

ROWS = [*_TAKE, *_SLICES, *_DYNAMIC, *_EINSUM, *_MATMUL]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_result_type(case: Row):
    case.check()


def test_every_operator_has_rows():
    ops = {op.name for op in operations_of(indexing, linear_algebra)}
    assert ops == {f"relax.{name}" for name in (*_INDEXING, *_LINEAR_ALGEBRA)}
    assert not uncovered((*_INDEXING, *_LINEAR_ALGEBRA), ROWS)


def _length(extent: str, begin: int | str, end: int | str, stride: int) -> relax.Dim:
    data = value_of(f"f32[{extent}]")
    axes, first, last, steps = (
        value_of(_scalars(value)) for value in (0, begin, end, stride)
    )
    sliced = relax.StridedSliceOp(data, axes, first, last, steps)
    info = relax.TensorInfo.of(sliced.result.type)
    assert info is not None
    assert info.shape is not None
    return info.shape[0]


_BOUNDS = (-9, -4, -3, -1, 0, 1, 3, 4, 9, _HUGE, -_HUGE - 1)


@pytest.mark.parametrize("stride", [1, 2, 3, -1, -2, -3])
def test_slices_of_symbolic_extents_are_those_of_python(stride: int):
    """For every extent, the symbolic length is what a slice of a list has."""
    for begin, end in product(_BOUNDS, repeat=2):
        symbolic = _length("n", begin, end, stride)
        for extent in range(6):
            expected = len(range(extent)[begin:end:stride])
            assert symbolic.evaluate({"n": extent}) == expected, (begin, end, extent)
            if extent in (0, 5):
                assert _length(str(extent), begin, end, stride).value == expected


@pytest.mark.parametrize("stride", [1, 2, -1, -2])
def test_slices_between_symbolic_bounds_are_those_of_python(stride: int):
    symbolic = _length("n", "b", "e", stride)
    for extent, begin, end in product(range(5), repeat=3):
        expected = len(range(extent)[begin:end:stride])
        found = symbolic.evaluate({"n": extent, "b": begin, "e": end})
        assert found == expected, (extent, begin, end)


def _sizes(type_: Attribute) -> tuple[int, ...]:
    """The dimensions as numbers, those of symbols being 3."""
    info = relax.TensorInfo.of(type_)
    assert info is not None
    assert info.shape is not None
    return tuple(dim.evaluate(dict.fromkeys(dim.symbols(), 3)) for dim in info.shape)


_CONTRACTIONS = [
    ("ij,jk->ik", "f32[4, n]", "f32[n, 2]"),
    ("ij,jk", "f32[4, 8]", "f32[8, n]"),
    ("...ij,...jk->...ik", "f32[5, 1, 4, 8]", "f32[2, 8, n]"),
    ("...i,i...", "f32[n, 4]", "f32[4, n]"),
    ("b...a->a...b", "f32[4, n, 2, 8]"),
    ("zay,y", "f32[4, 5, n]", "f32[n]"),
    ("i,i,i->i", "f32[4]", "f32[4]", "f32[1]"),
    ("kij...,...k", "f32[2, 4, 6, n]", "f32[n, 2]"),
    ("iij,jk->ki", "f32[4, 4, 8]", "f32[8, n]"),
]


@pytest.mark.parametrize("case", _CONTRACTIONS, ids=str)
def test_einsum_has_the_shape_of_numpy(case: tuple[str, ...]):
    subscripts, *operands = case
    types = [type_of(operand) for operand in operands]
    arrays = [np.zeros(_sizes(type_)) for type_ in types]
    operand = create_ssa_value(relax.TupleType.of(types))
    result = relax.EinsumOp(operand, subscripts).result
    assert _sizes(result.type) == np.shape(np.einsum(subscripts, *arrays))


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("indices", ["i64[]", "i64[2]", "i64[2, n]", "i64[0, 4]"])
def test_take_has_the_shape_of_numpy(indices: str, axis: int):
    data, places = value_of("f32[4, n, 5]"), value_of(indices)
    taken = np.take(
        np.zeros(_sizes(data.type)),
        np.zeros(_sizes(places.type), dtype=np.int64),
        axis,
    )
    assert _sizes(relax.TakeOp(data, places, axis).result.type) == taken.shape
