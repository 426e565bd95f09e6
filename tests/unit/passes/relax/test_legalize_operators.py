"""Operators that LegalizeOps knows, run before and after on many kinds of operands."""

from collections.abc import Iterable
from typing import Any

import pytest
from support.legalization import Case, case, one_dtype_each
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    f16,
    f32,
    i1,
    i32,
)

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr

i8 = IntegerType(8)
_FLOATS = ("f16", "f32", "f64")
_INTEGERS = ("i8", "i32", "i64", "ui8")
_POSITIVE = ((0.5, 4.0),)
_SMALL = ((-0.9, 0.9),)

_FLOAT_UNARY = (
    relax.CosOp,
    relax.CoshOp,
    relax.ErfOp,
    relax.ExpOp,
    relax.SigmoidOp,
    relax.SinOp,
    relax.SinhOp,
    relax.TanOp,
    relax.TanhOp,
    relax.AsinhOp,
    relax.AtanOp,
    relax.GeluOp,
    relax.GeluTanhOp,
    relax.SiluOp,
    relax.SeluOp,
    relax.LeakyReluOp,
)
_ANY_UNARY = (
    relax.AbsOp,
    relax.CeilOp,
    relax.FloorOp,
    relax.LogicalNotOp,
    relax.NegativeOp,
    relax.ReluOp,
    relax.RoundOp,
    relax.SignOp,
    relax.SquareOp,
)
_ARITHMETIC = (relax.AddOp, relax.SubtractOp, relax.MultiplyOp)
_DIVISIONS = (relax.DivideOp, relax.FloorDivideOp, relax.ModOp, relax.FloorModOp)
_LOGICAL = (relax.LogicalAndOp, relax.LogicalOrOp, relax.LogicalXorOp)
_BITWISE = (relax.BitwiseAndOp, relax.BitwiseOrOp, relax.BitwiseXorOp)
_COMPARISONS = (
    relax.EqualOp,
    relax.NotEqualOp,
    relax.LessOp,
    relax.LessEqualOp,
    relax.GreaterOp,
    relax.GreaterEqualOp,
)


def _unary() -> Iterable[Case]:
    for number, kind in enumerate(_FLOAT_UNARY):
        yield case(kind, "f32[n, 4]")
        yield case(kind, f"{('f16', 'f64')[number % 2]}[3]")
    yield case(relax.ExpOp, "f32[]")
    for number, kind in enumerate(_ANY_UNARY):
        ranges = ((-9, 9),)
        yield case(kind, f"{_FLOATS[number % 3]}[4, 3]", ranges=ranges)
        yield case(kind, f"{_INTEGERS[number % 3]}[n, 3]", ranges=ranges)
        yield case(kind, "ui8[3]", ranges=ranges)
    for kind in (relax.AbsOp, relax.NegativeOp, relax.SignOp, relax.SquareOp):
        yield case(kind, "i1[4]")
    for kind in (relax.LogOp, relax.SqrtOp, relax.RsqrtOp):
        yield from (case(kind, f"{d}[4]", ranges=_POSITIVE) for d in ("f16", "f32"))
    for ranges in (((1, 4),), ((1, 1.001),), ((1e17, 1e20),)):
        yield case(relax.AcoshOp, "f32[9]", ranges=ranges)
    for ranges in (((-1e-3, 1e-3),), ((-1e20, 1e20),)):
        yield case(relax.AsinhOp, "f64[9]", ranges=ranges)
    for kind in (relax.AsinOp, relax.AcosOp, relax.AtanhOp):
        yield case(kind, "f32[n]", ranges=_SMALL)
    yield from (case(relax.BitwiseNotOp, f"{d}[5]") for d in ("i8", "ui8", "i1"))
    for kind in (relax.IsFiniteOp, relax.IsInfOp, relax.IsNanOp):
        yield case(kind, "f32[3]")
        yield case(kind, "i32[3]")
    yield case(relax.SoftplusOp, "f32[9]", ranges=((-30, 30),))
    yield case(relax.SoftplusOp, "f64[9]", beta=2.0, threshold=3.0)
    yield case(relax.LeakyReluOp, "f32[9]", alpha=0.5)
    yield case(relax.ClipOp, "f32[4]", "= -1.0 : f32", "= 0.5 : f32")
    yield case(relax.ClipOp, "f16[n, 4]", "f32()", "f32()")
    yield case(relax.ClipOp, "i32[9]", "i64(-3)", "i64(4)", ranges=((-9, 9),))
    yield case(relax.ClipOp, "i8[9]", "= -2.5 : f32", "= 2.5 : f32", ranges=((-9, 9),))


def _binary() -> Iterable[Case]:
    shapes = (("4, 3", "4, 3"), ("4, 1", "3"), ("n, 1, 4", "1, m, 1"), ("", "n"))
    extremes = (relax.MaximumOp, relax.MinimumOp)
    for kind in _ARITHMETIC:
        for dtype in ("f16", "i8", "ui8", "i64"):
            yield case(kind, f"{dtype}[4, 3]", f"{dtype}[3]", ranges=((-9, 9),))
    for number, kind in enumerate((*_ARITHMETIC, *extremes, relax.PowerOp)):
        for lhs, rhs in (shapes[number % 4], shapes[(number + 2) % 4]):
            yield case(kind, f"f32[{lhs}]", f"f32[{rhs}]", ranges=_POSITIVE)
    for kind in extremes:
        yield from (case(kind, f"{d}[9]", f"{d}[9]") for d in ("i8", "ui8", "i1"))
    for number, kind in enumerate(_DIVISIONS):
        for dtype in ("f32", "i8", "ui8", ("f16", "f64", "i64", "i32")[number]):
            ranges = ((-9, 9), (1, 4))
            yield case(kind, f"{dtype}[20]", f"{dtype}[20]", ranges=ranges)
        yield case(kind, "i32[20]", "i32[20]", ranges=((-9, 9), (-4, -1)))
    for dtype in ("i8", "ui8"):
        ranges = ((-3, 3), (0, 3))
        yield case(relax.PowerOp, f"{dtype}[9]", f"{dtype}[9]", ranges=ranges)
        yield case(relax.PowerOp, f"{dtype}[9]", f"const 3 : {dtype}", ranges=ranges)
    for kind in _LOGICAL:
        for dtype in ("i1", "i32", "f32"):
            yield case(kind, f"{dtype}[4, 3]", f"{dtype}[3]", ranges=((-1, 1),))
    for kind in _BITWISE:
        yield from (case(kind, f"{d}[9]", f"{d}[9]") for d in ("i32", "ui8", "i1"))
    for kind in (relax.LeftShiftOp, relax.RightShiftOp):
        for dtype in ("i8", "ui8", "i64"):
            yield case(kind, f"{dtype}[9]", f"{dtype}[9]", ranges=((-9, 9), (0, 3)))
    for number, kind in enumerate(_COMPARISONS):
        for dtype in ("f32", ("i8", "ui8", "i1")[number % 3]):
            yield case(kind, f"{dtype}[3, 3]", f"{dtype}[3]")
        lhs, rhs = (("i32", "f32"), ("i8", "i64"), ("f16", "f64"))[number % 3]
        yield case(kind, f"{lhs}[9]", f"{rhs}[9]")


def _numbers() -> Iterable[Case]:
    """Constants and scalars in the place of tensors."""
    for kind in (relax.SubtractOp, relax.PowerOp):
        yield case(kind, "f32[4]", "const 2.0 : f32", ranges=_POSITIVE)
        yield case(kind, "const 2.0 : f32", "f32[4]", ranges=_POSITIVE)
        yield case(kind, "const 2.0 : f32", "const 0.1 : f32")
        yield case(kind, "f32[4]", "= 2.5 : f32", ranges=_POSITIVE)
        yield case(kind, "f32()", "f32[n]", ranges=_POSITIVE)
    yield case(relax.AddOp, "i64[4]", "i64(n)")
    yield case(relax.AddOp, "i64[]", "i64(n * 2 + 1)")
    yield case(relax.MultiplyOp, "i64[]", "i64()")
    yield case(relax.LessOp, "i64[n]", "i64(n)")
    yield case(relax.AddOp, "f16[4]", "const 0.1 : f16")
    yield case(relax.LogicalXorOp, "i1[4]", "const true : i1")
    yield case(relax.DivideOp, "ui8[4]", "const 200 : ui8", ranges=((0, 255),))
    yield case(relax.AddOp, "i8[4]", "const -7 : i8")
    for source in ("true : i1", "200 : ui8", "-7 : i8"):
        yield case(relax.AstypeOp, f"const {source}", dtype=f32)
        yield case(relax.FullOp, "[2]", f"const {source}", dtype=i32)


def _ternary() -> Iterable[Case]:
    for dtype in (*_FLOATS, "i8", "i1"):
        yield case(relax.WhereOp, "i1[4, 1]", f"{dtype}[4, 3]", f"{dtype}[]")
    yield case(relax.WhereOp, "i1[n]", "f32[m, 1]", "f32[m, n]")
    for dtype in ("f32", "f64", "i32"):
        yield case(relax.EwiseFmaOp, *[f"{dtype}[n, 4]"] * 3)


def _creation() -> Iterable[Case]:
    for fill in ("f32[]", "const 2.5 : f32"):
        yield case(relax.FullOp, "[n, 4]", fill)
        yield case(relax.FullOp, "[2, 3]", fill, dtype=f16)
        yield case(relax.FullLikeOp, "i32[m, 2]", fill)
    for kind in (relax.OnesOp, relax.ZerosOp):
        yield case(kind, "[n, m]", dtype=i32)
        yield case(kind, "[]", dtype=f16)
    for kind in (relax.OnesLikeOp, relax.ZerosLikeOp):
        yield case(kind, "f32[n, 3]")
        yield case(kind, "f32[3]", dtype=i1)
    for k in ("i64(-1)", "i64(2)", "i64()"):
        yield case(relax.EyeOp, "i64(4)", "i64(n)", k)
        yield case(relax.EyeLikeOp, "i32[n, 4]", k)
        yield case(relax.TrilOp, "f32[2, n, 4]", k)
        yield case(relax.TriuOp, "i8[4, 3]", k)
    for bounds in (("0", "8", "3"), ("0", "n", "2"), ("n", "-3", "-2"), ("5", "2", "1")):
        yield case(relax.ArangeOp, *(f"i64({each})" for each in bounds))
    yield case(relax.ArangeOp, "i64(0)", "i64(9)", "i64(2)", dtype=f32)
    yield case(relax.ArangeOp, "= 0.5 : f32", "= 4.0 : f32", "= 0.25 : f32")
    yield case(relax.ArangeOp, "i64(1)", "= 4.0 : f32", "= 0.75 : f32", dtype=f16)


def _datatype() -> Iterable[Case]:
    for source in (*_FLOATS, "i8", "i64", "ui8", "i1"):
        for target in (f16, i1, i8):
            yield case(relax.AstypeOp, f"{source}[n, 4]", dtype=target, ranges=((-9, 9),))
    for number in ("2.75 : f32", "-3 : i64", "1000 : i32", "1.0e+10 : f32"):
        for target in (i8, f16, i1):
            yield case(relax.AstypeOp, f"const {number}", dtype=target)
    for kind in (relax.NoGradOp, relax.StartCheckpointOp, relax.EndCheckpointOp):
        yield case(kind, "f32[n, 4]")
    scales = ((0.1, 1), (-9, 9))
    for small in (Float8E4M3FNType(), Float8E5M2Type()):
        ranges = ((-300, 300), *scales)
        operands = ("f32[3, n]", "f32[]", "i8[]")
        yield case(relax.QuantizeOp, *operands, out_dtype=small, ranges=ranges)
    for scale, zero, axis in (("3", "3", 0), ("", "", -1), ("n", "1", 1), ("1", "", 0)):
        given: dict[str, Any] = {"axis": axis}
        for target in (i8, IntegerType(16)):
            yield case(
                relax.QuantizeOp,
                "f32[3, n]",
                f"f32[{scale}]",
                f"i8[{zero}]",
                ranges=((-300, 300), *scales),
                out_dtype=target,
                **given,
            )
        for source, target in (("i8", f32), ("i32", f16), ("f16", f32)):
            yield case(
                relax.DequantizeOp,
                f"{source}[3, n]",
                f"f32[{scale}]",
                f"i8[{zero}]",
                ranges=((-300, 300), *scales),
                out_dtype=target,
                **given,
            )


def _products() -> Iterable[Case]:
    for dtype in (*_FLOATS, "i8", "i32"):
        yield case(relax.MatmulOp, f"{dtype}[3, 4]", f"{dtype}[4, 2]")
    yield case(relax.MatmulOp, "i8[3, 4]", "i8[4, n]", out_dtype=i32)
    yield case(relax.MatmulOp, "f16[3, 4]", "f16[4]", out_dtype=f32)
    for lhs, rhs in (
        ("2, 1, 3, n", "5, n, 2"),
        ("4", "2, 4, 5"),
        ("n, 4", "4"),
        ("4", "4"),
        ("n, 3, m", "n, m, 2"),
    ):
        yield case(relax.MatmulOp, f"f32[{lhs}]", f"f32[{rhs}]")
    for subscripts, *shapes in (
        ("ij,jk->ik", "3, 4", "4, n"),
        ("ij,jk", "3, 4", "4, 2"),
        ("bij,bjk->bik", "n, 3, 4", "n, 4, 2"),
        ("ii->i", "3, 3"),
        ("ii", "3, 3"),
        ("ij->ji", "n, 4"),
        ("i,j->ij", "n", "m"),
        ("...ij,...jk->...ik", "2, 1, 3, 4", "5, 4, 2"),
        ("i...->...", "3, n"),
        ("ij,jk,kl->il", "2, 3", "3, 4", "4, 2"),
        ("ij,ij->", "n, 3", "1, 3"),
        ("->", ""),
    ):
        operands = tuple(f"f32[{shape}]" for shape in shapes)
        yield case(relax.EinsumOp, operands, subscripts=subscripts)
    yield case(relax.EinsumOp, ("i32[3, 4]", "i32[4]"), subscripts="ij,j->i")


def _manipulation() -> Iterable[Case]:
    yield case(relax.PermuteDimsOp, "f32[2, n, 4]")
    yield case(relax.PermuteDimsOp, "i8[2, 3, 4]", axes=[1, -1, 0])
    for old, new in (
        ("4, 6", "2, 3, 4"),
        ("n, 6", "n * 2, 3"),
        ("2, n, 6", "2, n, 2, 3"),
        ("2, n, 2, 3", "n * 2, 6"),
        ("1, n, 1, 4", "n, 4, 1"),
        ("", "1, 1"),
        ("1, 1", ""),
        ("n, m", "n * m"),
        ("n * m, 4", "m, n, 4"),
        ("0, 4", "2, 0"),
    ):
        yield case(relax.ReshapeOp, f"f32[{old}]", f"[{new}]")
    yield from (case(relax.FlattenOp, f"f32[{d}]") for d in ("2, 3", "n, 4", "", "5"))
    for old, new in (("8", "4, 8"), ("n, 1", "m, n, 4"), ("", "2"), ("1", "1, 1")):
        yield case(relax.BroadcastToOp, f"f32[{old}]", f"[{new}]")
    for dims, axis in (("4", [0, -1]), ("n, 2", 1), ("", [0, 1]), ("3", [])):
        yield case(relax.ExpandDimsOp, f"f32[{dims}]", axis=axis)
    yield case(relax.SqueezeOp, "f32[1, n, 1, 4]", axis=[0, -2])
    yield case(relax.SqueezeOp, "f32[1, 3, 1]")
    yield case(relax.SqueezeOp, "f32[3]", axis=[])
    for dims, axis in (
        (("4, 2", "3, 2"), 0),
        (("2, n", "2, m", "2, 1"), -1),
        (("n", "n"), None),
        (("3, 2",), 1),
    ):
        yield case(relax.ConcatOp, tuple(f"f32[{each}]" for each in dims), axis=axis)
    yield case(relax.ConcatOp, ("i1[2]", "i1[3]"), axis=0)
    yield case(relax.ConcatOp, "!relax.tuple<tensor<2x3xf32>, tensor<1x3xf32>>", axis=0)
    for parts, axis in ((3, 0), (2, -1), (1, 0), ([2, 5], 0), ([5, 2], 0), ([], 0)):
        yield case(relax.SplitOp, "f32[7, 4]", indices_or_sections=parts, axis=axis)
    yield case(relax.SplitOp, "f32[n, 2]", indices_or_sections=2)
    yield case(relax.SplitOp, "f32[2, n * 2]", indices_or_sections=[1, 9], axis=1)
    for axis in (None, 0, -1):
        yield case(relax.RepeatOp, "f32[n, 4]", repeats=3, axis=axis)
    yield case(relax.RepeatOp, "i8[3]", repeats=0)
    for counts in ([2], [2, 1, 3], [1, 2], [0, 1]):
        yield case(relax.TileOp, "f32[n, 4]", repeats=counts)
    yield case(relax.TileOp, "f32[]", repeats=[2, 2])
    yield case(relax.FlipOp, "f32[n, 4]", axis=0)
    yield case(relax.FlipOp, "i1[2, 5]", axis=-1)
    for dims, target in (("4, n", "n"), ("2, 3, 4", "3, 1"), ("n, 4", "1, 4"), ("3", "")):
        yield case(relax.CollapseSumToOp, f"f32[{dims}]", f"[{target}]")
        yield case(relax.CollapseSumLikeOp, f"f32[{dims}]", f"f32[{target}]")
    yield case(relax.CollapseSumToOp, "i8[3, n]", "[3, n]")


def _indexing() -> Iterable[Case]:
    values, inside = (-2, 2), (0, 1)
    for dims, indices, axis in (
        ("4, 3", "i64[2, 5]", 0),
        ("4, 2", "i32[n]", -1),
        ("n, 4", "ui8[]", 1),
        ("4", "i64[3]", None),
        ("4, 3", "i64(2)", 0),
        ("4, 3", "i64()", 1),
        ("4, n", "i64(n)", 0),
    ):
        ranges = (values, inside)
        yield case(relax.TakeOp, f"f32[{dims}]", indices, axis=axis, ranges=ranges)
    for extent in ("7", "n"):
        for begin, end, step in (
            (1, 3, 1),
            (0, 9, 2),
            (-2, 99, 1),
            (-99, -1, 2),
            (5, 0, -2),
            (-1, -99, -1),
            (3, 1, 1),
        ):
            yield _slice(f"{extent}, 4", (0,), (begin,), (end,), (step,))
    yield _slice("7, 4, 5", (0, -1), (1, 0), (4, 3), (2, 1))
    yield _slice("2, n + 2", (1,), ("n",), ("n + 1",), (1,))
    yield _slice("n, 4", (), (), (), ())
    yield case(
        relax.StridedSliceOp,
        "f32[n, 4]",
        ("i64(0)",),
        ("i64(1)",),
        ("i64(n)",),
        assume_inbound=True,
    )
    for ranges in (
        ((-2, 2), (-9, 9), (-9, 9), (1, 3)),
        ((-2, 2), (-9, 9), (-9, 9), (-3, -1)),
    ):
        given = ["i64[2]"] * 3
        yield case(relax.DynamicStridedSliceOp, "f32[7, n]", *given, ranges=ranges)
    yield case(relax.DynamicStridedSliceOp, "f32[]", *["i64[0]"] * 3)
    yield case(
        relax.DynamicStridedSliceOp, "i8[5]", *["i64[1]"] * 3, ranges=((0, 1), (1, 3))
    )
    back = ((-2, 2), (-2, 1))
    yield case(relax.GatherElementsOp, "f32[3, n]", "i64[2, 3]", axis=0, ranges=back)
    yield case(relax.GatherElementsOp, "f32[3, 4]", "i32[3, n]", axis=-1, ranges=back)
    yield case(relax.GatherNDOp, "f32[3, n]", "i64[4, 2]", ranges=back)
    yield case(relax.GatherNDOp, "f32[3, 4]", "i64[n, 1]", ranges=back)
    yield case(relax.GatherNDOp, "f32[3, 4]", "i64[n, 0]")
    yield case(relax.GatherNDOp, "f32[2, 3, 4]", "i64[2, 1]", batch_dims=1, ranges=back)
    for reduction in ("update", "add", "mul", "min", "max", "mean"):
        given_: dict[str, Any] = {"reduction": reduction, "ranges": (*back, (-2, 2))}
        yield case(
            relax.ScatterElementsOp, "f32[3, n]", "i64[2, 3]", "f32[2, 3]", **given_
        )
        yield case(relax.ScatterNDOp, "f32[4, n]", "i64[3, 1]", "f32[3, n]", **given_)
        yield case(relax.ScatterNDOp, "i32[4, 2]", "i64[3, 2]", "i32[3]", **given_)
    yield case(relax.NonzeroOp, "i8[3, n]", ranges=((-1, 1),))
    yield case(relax.UniqueOp, "f32[n, 4]", *["i64(1)"] * 4)
    for axis in (0, 1, -1):
        on_off = ("= 1.0 : f32", "= -1.5 : f32")
        yield case(
            relax.OneHotOp, "i64[n, 2]", *on_off, depth=4, axis=axis, ranges=((0, 5),)
        )
    yield case(relax.OneHotOp, "i32[]", "i64()", "i64(0)", depth=3, ranges=((0, 2),))


def _images() -> Iterable[Case]:
    modes = (
        "half_pixel",
        "align_corners",
        "asymmetric",
        "pytorch_half_pixel",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    )
    for method in ("linear", "cubic", "nearest_neighbor"):
        for mode in modes:
            yield _resize("f32[1, 1, 4, 3]", "[5, 2]", method, mode)
        yield _resize("f32[1, n, 2, 1]", "[n * 2, 3]", method, layout="NHWC")
        yield _resize("f16[1, 1, 3, 3]", "[4, 1]", method, "pytorch_half_pixel")
    for rounding in ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield _resize(
            "i8[1, 1, 5, 4]", "[3, 8]", "nearest_neighbor", rounding_method=rounding
        )
    yield _resize(
        "f64[1, 1, 5, 4]", "[9, 9]", "cubic", cubic_exclude=1, cubic_alpha=-0.75
    )
    yield _resize("i8[1, 1, 4, 4]", "[8, 8]", "linear", out_dtype=f32)
    roi = {"roi": (0.25, -0.5, 1.25, 0.75), "extrapolation_value": 9.0}
    yield _resize("f32[1, 1, 5, 4]", "[6, 6]", "linear", modes[-1], **roi)
    yield _resize("f32[1, 1, 5, 4]", "[1, 6]", "cubic", modes[-1], **roi)


def _resize(
    data: str, size: str, method: str, mode: str = "half_pixel", **more: Any
) -> Case:
    return case(
        relax.Resize2DOp,
        data,
        size,
        method=method,
        coordinate_transformation_mode=mode,
        **more,
    )


def _layouts() -> Iterable[Case]:
    def blocks(i: Any, j: Any) -> tuple[Any, ...]:
        return i, j // 4, j % 4

    def swapped(i: Any, j: Any) -> tuple[Any, ...]:
        return j % 2, i, j // 2

    def fused(i: Any, j: Any) -> tuple[Any, ...]:
        return (i * 4 + j,)

    def digits(i: Any, j: Any) -> tuple[Any, ...]:
        return j // 6, j // 2 % 3, i, j % 2

    for dims, function in (
        ("3, 8", blocks),
        ("3, 7", blocks),
        ("n, 8", blocks),
        ("2, 6", swapped),
        ("3, 4", fused),
        ("3, 12", digits),
        ("3, 9", digits),
    ):
        index_map = IndexMapAttr.of(function)
        yield case(relax.LayoutTransformOp, f"f32[{dims}]", index_map=index_map)


def _slice(
    dims: str,
    axes: tuple[int, ...],
    begin: tuple[int | str, ...],
    end: tuple[int | str, ...],
    strides: tuple[int, ...],
) -> Case:
    tuples = [
        tuple(f"i64({each})" for each in numbers)
        for numbers in (axes, begin, end, strides)
    ]
    return case(relax.StridedSliceOp, f"f32[{dims}]", *tuples)


TABLES = (
    _unary,
    _binary,
    _numbers,
    _ternary,
    _creation,
    _datatype,
    _products,
    _manipulation,
    _indexing,
    _images,
    _layouts,
)


CASES = one_dtype_each(c for table in TABLES for c in table())


@pytest.mark.parametrize("one", CASES, ids=str)
def test_legalization_keeps_what_is_computed(one: Case):
    one.check()
