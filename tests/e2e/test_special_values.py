"""NaN, infinities, zeros and limits of dtypes: code, interpreter and numpy agree."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from support.legalization import Case, case
from xdsl.dialects.builtin import (
    IntegerType,
    ModuleOp,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.relax import interpret

pytest.importorskip("llvmlite")

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
ui8 = IntegerType(8, Signedness.UNSIGNED)
DTYPES: Mapping[str, Attribute] = {
    "f16": f16,
    "bf16": bf16,
    "f32": f32,
    "f64": f64,
    "i8": i8,
    "i32": i32,
    "ui8": ui8,
}
UNUSED = np.zeros((3, 2), np.float32)
"""The argument that says what the symbols `n` and `m` are."""
TOLERANCE = {"f16": 4e-3, "bf16": 3e-2, "f32": 2e-5, "f64": 1e-11}


def storage(dtype: str) -> Any:
    """numpy's dtype."""
    return number(DTYPES[dtype]).storage


def specials(dtype: str) -> Array:
    """Values on which rules are easily wrong."""
    known = number(DTYPES[dtype])
    if known.is_float:
        numbers = [np.nan, 0.0, -0.0, np.inf, -np.inf, 1e-40, 0.5, -0.5, 1.5, -1.5, 2.5]
        numbers += [-2.5, 1.0, -1.0, 3.0, -3.0, 100.0, -60000.0, 60000.0]
    else:
        numbers = [known.low, known.low + 1, known.high, 0, 1, 2, 3, 7, 100]
        numbers += [-1, -2, -3, -7] if known.low < 0 else []
    return np.array(numbers).astype(known.storage)


def pairs(dtype: str) -> tuple[Array, Array]:
    """Each special value with each."""
    both = list(itertools.product(specials(dtype), repeat=2))
    return np.array([a for a, _ in both]), np.array([b for _, b in both])


def rows(dtype: str) -> Array:
    """Rows of 5 special values, and some of a kind."""
    values = specials(dtype)
    found = [np.roll(values, 3 * shift)[:5] for shift in range(7)]
    if number(DTYPES[dtype]).is_float:
        inf = np.inf
        kinds = [[-inf] * 5, [inf] * 5, [np.nan] * 5, [1, np.nan, 3, np.nan, 0]]
        kinds += [[1, -inf, inf, 3, 2], [0.0, -0.0, 0.0, -0.0, 0.0], [2, 1, 2, 1, -inf]]
        found += [np.array(kind).astype(values.dtype) for kind in kinds]
    return np.array(found)


@dataclass(frozen=True)
class Row:
    """An operator on special values, and what numpy makes of them, if it says."""

    name: str
    dtype: str
    case: Case
    arguments: tuple[Array, ...]
    expected: Callable[..., Any] | None = None


def wide(array: Array) -> Array:
    return np.asarray(array, np.float64)


# ---- element by element ----

_UNARY: dict[type[relax.OperatorOp], Callable[[Array], Array] | None] = {
    relax.AbsOp: np.abs,
    relax.AcosOp: np.arccos,
    relax.AcoshOp: np.arccosh,
    relax.AsinOp: np.arcsin,
    relax.AsinhOp: np.arcsinh,
    relax.AtanOp: np.arctan,
    relax.AtanhOp: np.arctanh,
    relax.CeilOp: np.ceil,
    relax.CosOp: np.cos,
    relax.CoshOp: np.cosh,
    relax.ErfOp: None,
    relax.ExpOp: np.exp,
    relax.FloorOp: np.floor,
    relax.IsFiniteOp: np.isfinite,
    relax.IsInfOp: np.isinf,
    relax.IsNanOp: np.isnan,
    relax.LogOp: np.log,
    relax.LogicalNotOp: np.logical_not,
    relax.NegativeOp: np.negative,
    relax.ReluOp: lambda x: np.maximum(x, 0),
    relax.RoundOp: np.round,
    relax.RsqrtOp: lambda x: 1 / np.sqrt(x),
    relax.SigmoidOp: lambda x: 1 / (1 + np.exp(-x)),
    relax.SignOp: np.sign,
    relax.SiluOp: None,
    relax.SeluOp: None,
    relax.SinOp: np.sin,
    relax.SinhOp: np.sinh,
    relax.SqrtOp: np.sqrt,
    relax.SquareOp: np.square,
    relax.TanOp: np.tan,
    relax.TanhOp: np.tanh,
}
_ALL_FLOATS = (relax.ReluOp, relax.SignOp)
_INTEGERS = (*_ALL_FLOATS, relax.AbsOp, relax.RoundOp, relax.NegativeOp)
_ALL_DTYPES = (relax.MaximumOp, relax.FloorDivideOp, relax.FloorModOp)
_BINARY: dict[type[relax.OperatorOp], Callable[[Array, Array], Array]] = {
    relax.AddOp: np.add,
    relax.SubtractOp: np.subtract,
    relax.MultiplyOp: np.multiply,
    relax.DivideOp: np.divide,
    relax.FloorDivideOp: lambda a, b: np.floor(a / b),
    relax.FloorModOp: lambda a, b: a - np.floor(a / b) * b,
    relax.ModOp: np.fmod,
    relax.PowerOp: np.power,
    relax.MaximumOp: np.maximum,
    relax.MinimumOp: np.minimum,
    relax.LogicalAndOp: np.logical_and,
    relax.LogicalXorOp: np.logical_xor,
    relax.EqualOp: np.equal,
    relax.NotEqualOp: np.not_equal,
    relax.LessOp: np.less,
    relax.LessEqualOp: np.less_equal,
    relax.GreaterOp: np.greater,
    relax.GreaterEqualOp: np.greater_equal,
}
_OF_INTEGERS: dict[type[relax.OperatorOp], Callable[[Array, Array], Array]] = {
    relax.AddOp: np.add,
    relax.MultiplyOp: np.multiply,
    relax.MaximumOp: np.maximum,
    relax.MinimumOp: np.minimum,
    relax.DivideOp: lambda a, b: np.trunc(wide(a) / wide(b)),
    relax.FloorDivideOp: np.floor_divide,
    relax.ModOp: np.fmod,
    relax.FloorModOp: np.mod,
    relax.LessOp: np.less,
}


def _elementwise() -> Iterator[Row]:
    for dtype in DTYPES:
        is_float, x = number(DTYPES[dtype]).is_float, specials(dtype)
        shape = f"{dtype}[{len(x)}]"
        for build, function in _UNARY.items():
            chosen = _INTEGERS if dtype == "i8" else _ALL_FLOATS
            if dtype == "f32" or build in chosen:
                yield Row(build.name, dtype, case(build, shape), (x,), function)
        bounds = (
            ("= 1.0 : f32", "= 2.0 : f32") if is_float else ("= 1 : i64", "= 2 : i64")
        )
        clip = case(relax.ClipOp, shape, *bounds)
        yield Row("clip", dtype, clip, (x,), _clipped)
        for build, function in (_BINARY if is_float else _OF_INTEGERS).items():
            if dtype in ("f32", "i8") or build in _ALL_DTYPES:
                yield _pairwise(build, dtype, function)


def _clipped(x: Array) -> Array:
    return np.clip(x, 1, 2)


def _pairwise(
    build: type[relax.OperatorOp], dtype: str, function: Callable[..., Any]
) -> Row:
    a, b = pairs(dtype)
    known = number(DTYPES[dtype])
    if not known.is_float and ("div" in build.name or "mod" in build.name):
        allowed = b != 0
        if known.low < 0 and "div" in build.name:
            allowed &= ~((a == known.low) & (b == -1))
        a, b = a[allowed], b[allowed]
    shape = f"{dtype}[{len(a)}]"
    return Row(build.name, dtype, case(build, shape, shape), (a, b), function)


# ---- reductions, searches, scans, sorts ----


_Along: TypeAlias = (
    "tuple[type[relax.OperatorOp], Mapping[str, Any], Callable[[Array], Array] | None]"
)


def _softmax(x: Array) -> Array:
    """NaN for a row of minus infinities alone, as 0 divided by 0 is."""
    e = np.exp(x - np.max(x, 1, keepdims=True))
    return e / np.sum(e, 1, keepdims=True)


_SEARCHES: tuple[_Along, ...] = (
    (relax.MaxOp, {"axis": [1]}, lambda x: np.max(x, 1)),
    (relax.MinOp, {"axis": [1]}, lambda x: np.min(x, 1)),
    (relax.ArgmaxOp, {"axis": 1}, lambda x: np.argmax(x, 1)),
    (relax.ArgminOp, {"axis": 1}, lambda x: np.argmin(x, 1)),
)
_SORTS: tuple[_Along, ...] = (
    # Descending, NaN is first, as what is greatest of all.
    (
        relax.SortOp,
        {"axis": 1, "descending": True},
        lambda x: np.flip(np.sort(x, 1), 1),
    ),
    (
        relax.ArgsortOp,
        {"axis": 1, "descending": False, "dtype": i64},
        lambda x: np.argsort(x, 1, kind="stable"),
    ),
    (relax.TopkOp, {"k": 3, "axis": 1, "largest": True, "dtype": i64}, None),
)
_SUMS: tuple[_Along, ...] = (
    (relax.SumOp, {"axis": [1]}, lambda x: np.sum(x, 1, x.dtype)),
    (relax.CumsumOp, {"axis": 1}, lambda x: np.cumsum(x, 1, x.dtype)),
    (relax.ProdOp, {"axis": [1]}, lambda x: np.prod(x, 1, x.dtype)),
)
_MEANS: tuple[_Along, ...] = (
    (relax.MaxOp, {"axis": [0]}, lambda x: np.max(x, 0)),
    (relax.MeanOp, {"axis": [1]}, lambda x: np.mean(x, 1)),
    (relax.VarianceOp, {"axis": [1]}, lambda x: np.var(x, 1)),
    (relax.SoftmaxOp, {"axis": 1}, _softmax),
    (relax.LogSoftmaxOp, {"axis": 1}, None),
)
_OF_ROWS: Mapping[str, tuple[_Along, ...]] = {
    "f16": _SEARCHES,
    "f32": (*_SEARCHES, *_SORTS, *_SUMS, *_MEANS),
    "f64": _SEARCHES[:1],
    "i8": (*_SEARCHES, *_SUMS),
}


def _along_rows() -> Iterator[Row]:
    for dtype, operators in _OF_ROWS.items():
        x = rows(dtype)
        for build, attributes, function in operators:
            built = case(build, f"{dtype}[{len(x)}, 5]", **attributes)
            yield Row(build.name, dtype, built, (x,), function)


# ---- conversions and scatters ----


def _conversions() -> Iterator[Row]:
    ui64 = IntegerType(64, Signedness.UNSIGNED)
    targets = (i1, i8, i32, i64, ui64, f16, bf16)
    for dtype in ("f16", "bf16", "f32", "f64"):
        x = specials(dtype)
        x = np.append(x, np.array([2.0**31, -(2.0**63)]).astype(x.dtype))
        for target in targets:
            if dtype in ("f16", "bf16") and target in (f16, bf16, i1, i64):
                continue
            build = case(relax.AstypeOp, f"{dtype}[{len(x)}]", dtype=target)
            name = f"astype {target}"
            yield Row(name, dtype, build, (x,), _cast(number(target)))


def _cast(target: Any) -> Callable[[Array], Array] | None:
    """Toward zero, cut off at the limits, NaN as 0: numpy leaves these undefined."""
    if target.is_float:
        return lambda x: x.astype(np.float64).astype(target.storage)
    if target.is_bool:
        return lambda x: x != 0
    return lambda x: np.array([target.convert(float(each)) for each in x], target.storage)


def _scatters() -> Iterator[Row]:
    for dtype in ("f16", "i8"):
        x = rows(dtype)
        shape, at = f"{dtype}[{len(x)}, 5]", np.tile([0, 3, 0, 1, 1], (len(x), 1))
        for reduction in ("add", "mul", "min", "max"):
            build = case(
                relax.ScatterElementsOp,
                shape,
                f"i64[{len(x)}, 5]",
                shape,
                axis=1,
                reduction=reduction,
            )
            yield Row(f"scatter {reduction}", dtype, build, (x, at, x[::-1].copy()))


def _table() -> list[Row]:
    return [*_elementwise(), *_along_rows(), *_conversions(), *_scatters()]


def _fields(value: Any) -> list[Array]:
    return [value] if isinstance(value, np.ndarray) else list(value)


def _expect_same(found: Array, wanted: Array, tolerance: float, said: str) -> None:
    np.testing.assert_allclose(
        np.asarray(found, np.float64),
        np.asarray(wanted, np.float64),
        rtol=tolerance,
        atol=1e-37 if tolerance else 0,
        err_msg=said,
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values() -> None:
    table = _table() if "XDSL_TVM_FUZZ" in os.environ else _table()[::6]
    module = ModuleOp([row.case.function(f"f{at}") for at, row in enumerate(table)])
    reference, compiled = interpret(module), xdsl_tvm.compile(module, opt_level=1)
    for at, row in enumerate(table):
        said, tolerance = f"{row.name} of {row.dtype}", TOLERANCE.get(row.dtype, 0.0)
        evaluate: Any = reference[f"f{at}"]
        run: Any = compiled[f"f{at}"]
        wanted = _fields(evaluate(*row.arguments, UNUSED))
        found = _fields(run(*row.arguments, UNUSED))
        for one, other in zip(found, wanted, strict=True):
            _expect_same(one, other, tolerance, f"{said}: code and interpreter")
        if row.expected is not None:
            inputs = row.arguments
            if row.dtype in ("f16", "bf16"):
                inputs = tuple(np.asarray(each, np.float32) for each in inputs)
            exact = np.asarray(row.expected(*inputs)).astype(wanted[0].dtype)
            _expect_same(wanted[0], exact, tolerance, f"{said}: numpy")
