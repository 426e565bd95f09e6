"""Operators of networks, reductions and sorts, run before and after LegalizeOps."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.legalization import Case, case, one_dtype_each
from xdsl.dialects.builtin import StringAttr, f64, i32, i64

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.relax import LegalizeOps

_FLOATS = ("bf16", "f32")
_NUMBERS = ("f16", "f32", "i8")
_POSITIVE = ((0.25, 2.0),)


def _reductions() -> Iterable[Case]:
    kinds = (relax.SumOp, relax.MaxOp, relax.MinOp, relax.MeanOp, relax.ProdOp)
    for kind, dtype in product((*kinds, relax.VarianceOp, relax.StdOp), _NUMBERS):
        yield case(kind, f"{dtype}[2, 3, 2]", axis=[1, -1], ranges=((-1, 2),))
    for kind in (*kinds, relax.VarianceOp, relax.StdOp):
        yield case(kind, "f32[n, 4]", axis=[0], keepdims=True)
    yield case(relax.VarianceOp, "f32[n, m]")
    yield case(relax.SumOp, "f32[]")
    for kind, dtype in product((relax.ArgmaxOp, relax.ArgminOp), _NUMBERS):
        for axis in (None, 0):
            yield case(kind, f"{dtype}[n, 4, 2]", axis=axis, keepdims=axis == 0)
    for kind, dtype in product((relax.CumsumOp, relax.CumprodOp), _NUMBERS):
        yield case(kind, f"{dtype}[n, 3, 2]", axis=1)
        yield case(kind, f"{dtype}[n, 2]", exclusive=True)
    yield case(relax.CumsumOp, "i32[4, n]", axis=-1, dtype=f64)


def _sorts() -> Iterable[Case]:
    for dtype, axis, flag in product(("f32", "i8"), (0, -1), (False, True)):
        yield case(relax.SortOp, f"{dtype}[n, 5]", axis=axis, descending=flag)
        yield case(relax.ArgsortOp, f"{dtype}[5, n]", axis=axis, descending=flag)
        yield case(relax.TopkOp, f"{dtype}[4, 3]", k=2, axis=axis, largest=flag)
    yield case(relax.ArgsortOp, "i32[9]", dtype=i64)
    yield case(relax.SortOp, "f32[1]")
    for k, kind in ((0, "values"), (9, "indices"), (2, "values")):
        yield case(relax.TopkOp, "i32[2, 5]", k=k, ret_type=kind)
    for dtype in ("f32", "f64"):
        yield case(
            relax.MultinomialFromUniformOp,
            *(f"{dtype}[n, 4]", f"{dtype}[5, 1]", "i64[5, 1]"),
            dtype=i32,
            ranges=((0, 0.4), (0, 1), (0, 2)),
        )


def _convolutions() -> Iterable[Case]:
    two, image, kernel = relax.Conv2DOp, "f32[1, 4, n, 4]", "f32[4, 4, 3, 2]"
    yield case(two, image, kernel)
    yield case(two, image, kernel, strides=2, padding=1)
    yield case(two, image, kernel, strides=[1, 2], padding=[1, 0, 2, 3], dilation=[2, 1])
    yield case(two, "f32[1, 2, n, m]", "f32[3, 2, 3, 3]", padding=1)
    yield case(two, "f32[1, m, 5, 5]", "f32[3, m, 3, 3]", padding=1)
    for groups, weight in ((2, "4, 2"), (4, "4, 1"), (4, "8, 1")):
        yield case(two, image, f"f32[{weight}, 3, 2]", groups=groups, padding=1)
    layouts: dict[str, Any] = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    yield case(two, "f32[n, 3, 4, 2]", "f32[3, 3, 2, 2]", **layouts, padding=[1, 2])
    yield case(
        *(two, "f32[1, 4, 3, 4]", "f32[3, 3, 2, 4]"),
        **layouts,
        groups=2,
        out_layout="NCHW",
    )
    blocks: dict[str, Any] = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i3o"}
    yield case(two, "f32[m, 2, 4, 3, 2]", "f32[2, 2, 3, 3, 2, 3]", **blocks)
    ends: dict[str, Any] = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i4o"}
    yield case(
        *(two, "f32[1, 2, 5, 4, 2]", "f32[1, 2, 3, 2, 2, 4]"),
        **ends,
        out_layout="NCHW4c",
        padding=[1, 0, 2, 1],
        strides=[2, 1],
    )
    ends = {"data_layout": "NCHW", "kernel_layout": "OIHW2o", "out_layout": "NCHW2c"}
    yield case(two, "f32[2, 3, 5, 4]", "f32[2, 3, 3, 3, 2]", **ends, dilation=[2, 1])
    ends = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2o"}
    yield case(
        two, "f32[1, 2, 4, 4, 2]", "f32[2, 1, 3, 3, 2]", **ends, groups=4, padding=1
    )
    yield case(two, image, kernel, out_layout="NC4cH2hW", padding=[1, 0])
    yield case(two, "i8[1, 3, 4, 4]", "i8[2, 3, 3, 3]", out_dtype=i32)
    yield case(two, "f16[1, 3, 4, 4]", "f16[2, 3, 3, 3]")
    yield case(relax.Conv1DOp, "f32[n, 4, 5]", "f32[6, 2, 3]", groups=2, strides=2)
    yield case(relax.Conv1DOp, "f32[1, n * 2, 5]", "f32[4, n, 3]", groups=2)
    yield case(
        *(relax.Conv3DOp, "f32[1, 2, 3, 4, 3]", "f32[1, 2, 2, 3, 3]"),
        padding=[1, 0, 1],
        strides=[2, 1, 1],
    )


def _transposed_convolutions() -> Iterable[Case]:
    two, image, kernel = relax.Conv2DTransposeOp, "f32[1, 2, n, 2]", "f32[2, 2, 3, 2]"
    yield case(two, image, kernel)
    yield case(two, image, kernel, strides=[2, 3], padding=1, output_padding=[1, 2])
    yield case(two, image, kernel, strides=2, padding=[3, 0, 1, 1], dilation=[2, 1])
    yield case(two, image, kernel, groups=2, strides=2, padding=1)
    yield case(
        *(two, "f32[1, 2, n, 2]", "f32[3, 2, 2, 2]"),
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_layout="NCHW2c",
        groups=2,
        strides=2,
    )
    yield case(relax.Conv1DTransposeOp, "f32[1, 2, n]", "f32[2, 3, 3]", strides=2)


def _pools() -> Iterable[Case]:
    kinds = (relax.MaxPool2DOp, relax.AvgPool2DOp)
    windows: tuple[dict[str, Any], ...] = (
        {"pool_size": 2, "strides": 2},
        {"pool_size": 3, "strides": 2, "padding": 1},
        {"pool_size": [3, 2], "strides": 2, "padding": [0, 1, 1, 0], "dilation": [1, 2]},
        {"pool_size": 3, "strides": 3, "padding": 1, "ceil_mode": True},
        {"pool_size": 2, "strides": [2, 3], "ceil_mode": True},
    )
    for kind, window, included in product(kinds, windows, (False, True)):
        if included and kind is relax.MaxPool2DOp:
            continue
        given: dict[str, Any] = {**window, "count_include_pad": included}
        yield case(kind, "f32[1, m, 6, 5]", **given)
    for kind in kinds:
        small: dict[str, Any] = {
            "pool_size": 2,
            "padding": 1,
            "strides": 2,
            "ceil_mode": True,
        }
        yield case(kind, "f16[1, 2, 4, 3]", **small)
        yield case(kind, "i32[1, 4, 3, m]", **small, layout="NHWC")
        yield case(kind, "f32[1, 2, n, m]", **small)
        blocks: dict[str, Any] = {"layout": "NCHW2c", "out_layout": "NH2hWC4c"}
        yield case(kind, "f32[1, 2, 3, 4, 2]", **small, **blocks)
    for kind in (relax.MaxPool1DOp, relax.AvgPool1DOp):
        yield case(kind, "f32[m, 1, 6]", pool_size=3, strides=2, ceil_mode=True)
    for kind in (relax.MaxPool3DOp, relax.AvgPool3DOp):
        yield case(kind, "f32[1, 1, 3, 2, 3]", pool_size=2, padding=1)
    for dtype, size in product(("f16", "i32"), (None, 1, 3, 7)):
        operand = f"{dtype}[1, m, 6, 5]"
        yield case(relax.AdaptiveAvgPool2DOp, operand, output_size=size)
    for size in (None, 1, 2):
        yield case(relax.AdaptiveAvgPool2DOp, "f32[1, 2, n, 5]", output_size=size)
    yield case(
        relax.AdaptiveAvgPool2DOp,
        "f32[1, 5, 6, m]",
        output_size=[2, 4],
        layout="NHWC",
        out_layout="NC2cHW",
    )
    yield case(relax.AdaptiveAvgPool1DOp, "f32[n, 2, 7]", output_size=3)
    yield case(relax.AdaptiveAvgPool3DOp, "f32[1, 1, 4, 5, 3]", output_size=[2, 2, 1])


def _normalizations() -> Iterable[Case]:
    for dtype, axis in product(_FLOATS, (1, -1)):
        yield case(relax.SoftmaxOp, f"{dtype}[m, 3, 4]", axis=axis)
        yield case(relax.LogSoftmaxOp, f"{dtype}[m, 3, 4]", axis=axis)
    for dtype, (center, scale) in product(_FLOATS, ((True, True), (False, False))):
        flags: dict[str, Any] = {"center": center, "scale": scale, "epsilon": 0.125}
        vectors = [f"{dtype}[4]"] * 2
        yield case(relax.LayerNormOp, f"{dtype}[n, 4]", *vectors, **flags, axes=[-1])
        matrices = [f"{dtype}[4, 3]"] * 2
        data = f"{dtype}[2, 3, 4]"
        yield case(relax.LayerNormOp, data, *matrices, **flags, axes=[2, 1])
        groups: dict[str, Any] = {**flags, "num_groups": 2, "channel_axis": 1}
        yield case(relax.GroupNormOp, f"{dtype}[n, 4, 5]", *vectors, **groups, axes=[2])
        for training in (False, True):
            given: dict[str, Any] = {**flags, "axis": 1, "training": training}
            data = f"{dtype}[n, 4, 2]"
            yield case(relax.BatchNormOp, data, *vectors * 2, **given, ranges=_POSITIVE)
    last: dict[str, Any] = {"num_groups": 3, "channel_axis": -1, "axes": [0, 2]}
    yield case(relax.GroupNormOp, "f32[2, 4, m, 6]", "f32[6]", "f32[6]", **last)
    for dtype in _FLOATS:
        yield case(relax.RMSNormOp, f"{dtype}[n, 5]", f"{dtype}[5]")
        yield case(relax.RMSNormOp, f"{dtype}[2, m, 5]", f"{dtype}[m, 5]", axes=[1, 2])


def _attention() -> Iterable[Case]:
    masks = product(_FLOATS, (None, "TopLeft", "BottomRight"), (None, 2))
    for dtype, mask, window in masks:
        shapes = ("1, 3, 2, 3", "1, n, 1, 3", "1, n, 2, 2")
        given: dict[str, Any] = {"causal_mask": mask, "window_size": window}
        operands = [f"{dtype}[{shape}]" for shape in shapes]
        yield case(relax.AttentionOp, *operands, **given)
        given["scale"] = 0.25
        bias = f"{dtype}[1, 1, 3, n]"
        yield case(relax.AttentionBiasOp, *operands, bias, **given)
    queries, keys = "f32[1, m, 2, 4]", "f32[1, n, 2, 4]"
    last: dict[str, Any] = {"causal_mask": "BottomRight"}
    yield case(relax.AttentionOp, queries, keys, keys, **last)
    yield case(relax.AttentionBiasOp, queries, keys, keys, "f32[1, 2, m, n]", **last)
    yield case(relax.AttentionOp, *["f32[2, 3, 2, m]"] * 3)
    shared = "f32[1, 5, n, 4]"
    yield case(relax.AttentionOp, "f32[1, 2, n * 2, 4]", shared, shared)


def _losses() -> Iterable[Case]:
    for mode in ("constant", "reflect", "replicate", "edge", "circular"):
        given: dict[str, Any] = {"pad_mode": mode, "pad_value": 1.5}
        yield case(relax.PadOp, "f32[n, 3]", pad_width=[1, 2, 7, 0], **given)
        yield case(relax.PadOp, "i32[1, m]", pad_width=[2, 1, 0, 0], **given)
    for dtype in ("f16", "f32"):
        yield case(relax.DropoutOp, f"{dtype}[n, 3]")
        yield case(relax.CrossEntropyWithLogitsOp, *[f"{dtype}[n, 3]"] * 2)
        yield case(relax.CrossEntropyWithLogitsOp, *[f"{dtype}[n]"] * 2)
    limits: tuple[tuple[float, float], ...] = ((-2, 2), (0, 3), (0.25, 2))
    for dtype, reduction in product(("f16", "f32"), ("none", "sum", "mean")):
        loss: dict[str, Any] = {"reduction": reduction, "ignore_index": 1}
        operands = (f"{dtype}[n, 4, 5]", "i64[n, 5]", f"{dtype}[4]")
        yield case(relax.NLLLossOp, *operands, **loss, ranges=limits)
        yield case(relax.NLLLossOp, *operands[:2], **loss, ranges=limits)
        loss["ignore_index"] = -100
        yield case(relax.NLLLossOp, f"{dtype}[4]", "i32[]", **loss, ranges=limits)


TABLES = (
    _reductions,
    _sorts,
    _convolutions,
    _transposed_convolutions,
    _pools,
    _normalizations,
    _attention,
    _losses,
)


CASES = one_dtype_each(c for table in TABLES for c in table())


@pytest.mark.parametrize("one", CASES, ids=str)
def test_legalization_keeps_what_is_computed(one: Case):
    one.check()


_COMPILED = (
    case(relax.Conv2DOp, "f32[1, 8, 9, 9]", "f32[16, 8, 3, 3]", padding=1, strides=2),
    case(relax.Conv2DOp, "f32[n, 4, 5, 5]", "f32[4, 1, 3, 3]", groups=4, padding=1),
    case(relax.MaxPool2DOp, "f32[n, 4, 9, 9]", pool_size=3, strides=2, padding=1),
    case(relax.AttentionOp, *["f32[1, n, 1, 4]"] * 3),
    case(relax.LogSoftmaxOp, "f32[n, 40]"),
    case(relax.ArgmaxOp, "f32[n, 100]", axis=1),
    case(relax.TopkOp, "f32[n, 100]", k=5),
)


@pytest.mark.parametrize("one", _COMPILED, ids=str)
def test_machine_code_agrees_with_the_interpreter(one: Case):
    pytest.importorskip("llvmlite")
    module, inputs = one.module(), one.inputs()
    expected: Any = interpret(module)["main"](*inputs)
    (function,) = module.ops
    function.attributes["global_symbol"] = StringAttr("main")
    found: Any = xdsl_tvm.compile(module)["main"](*inputs)
    pairs = [(found, expected)]
    if one.build is relax.TopkOp:
        pairs = [(found[0], expected[0]), (found[1], expected[1])]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, 1e-5, 1e-5)


# ---- what needs inputs of its own ----

NAN, INF = float("nan"), float("inf")
ROWS = np.array(
    [
        [3, NAN, 1, 3, -INF, NAN, 2],
        [-INF, -INF, -INF, -INF, -INF, -INF, -INF],
        [INF, INF, INF, INF, INF, INF, INF],
        [0, -0.0, 0, 1, 1, -1, -1],
    ],
    np.float32,
)


def legalized(one: Case) -> Any:
    return interpret(LegalizeOps()(one.module()))["main"]


def before(one: Case) -> Any:
    return interpret(one.module())["main"]


@pytest.mark.parametrize("kind", [relax.ArgmaxOp, relax.ArgminOp])
def test_places_of_infinities_and_nans(kind: type[relax.OperatorOp]):
    one = case(kind, "f32[4, 7]", axis=1)
    rest = one.inputs()[1]
    np.testing.assert_array_equal(legalized(one)(ROWS, rest), before(one)(ROWS, rest))


@pytest.mark.parametrize("descending", [False, True])
def test_nans_are_sorted_as_the_greatest(descending: bool):
    one = case(relax.ArgsortOp, "f32[4, 7]", descending=descending)
    rest = one.inputs()[1]
    np.testing.assert_array_equal(legalized(one)(ROWS, rest), before(one)(ROWS, rest))


def test_a_sample_that_no_sum_exceeds_is_the_last():
    operands = ("f32[1, 3]", "f32[2, 1]", "i64[2, 1]")
    one = case(relax.MultinomialFromUniformOp, *operands)
    prob = np.full((1, 3), 0.3, np.float32)
    sample, row = np.array([[1.0], [0.5]], np.float32), np.zeros((2, 1), np.int64)
    found = legalized(one)(prob, sample, row, one.inputs()[-1])
    assert found.ravel().tolist() == [2, 1]


def test_batch_norm_in_training_moves_the_statistics():
    """The reference has the meaning of `training` the other way round."""
    operands = ("f64[4, 1]", *["f64[1]"] * 4)
    given: dict[str, Any] = {"axis": 1, "momentum": 0.25, "epsilon": 0.0}
    data = np.array([[1.0], [3.0], [5.0], [7.0]])
    one, zero = np.ones(1), np.zeros(1)
    training = case(relax.BatchNormOp, *operands, **given, training=True)
    found, mean, variance = legalized(training)(
        data, one, zero, zero, one, training.inputs()[-1]
    )
    np.testing.assert_allclose(found, (data - 4) / np.sqrt(5))
    assert (mean.item(), variance.item()) == (1.0, 0.75 + 0.25 * 5)
    inference = case(relax.BatchNormOp, *operands, **given, training=False)
    found, mean, variance = legalized(inference)(
        data, one, zero, zero, one, inference.inputs()[-1]
    )
    np.testing.assert_array_equal(found, data)
    assert (mean.item(), variance.item()) == (0.0, 1.0)


def test_a_query_that_sees_no_key_is_nan():
    operands = ("f32[1, 2, 1, 4]", *["f32[1, 1, 1, 4]"] * 2)
    one = case(relax.AttentionOp, *operands, causal_mask="BottomRight")
    found = legalized(one)(*one.inputs())
    assert np.isnan(found[0, 0]).all()
    assert not np.isnan(found[0, 1]).any()


def test_variance_of_a_large_mean():
    one = case(relax.VarianceOp, "f32[1000]")
    data = np.random.default_rng(0).standard_normal(1000) + 10_000
    found = legalized(one)(data.astype(np.float32), one.inputs()[-1])
    np.testing.assert_allclose(found, data.astype(np.float32).var(dtype=np.float64), 1e-3)


def test_sums_of_halves_do_not_stop():
    one = case(relax.SumOp, "f16[5000]")
    found = legalized(one)(np.ones(5000, np.float16), one.inputs()[-1])
    assert found == 5000


@pytest.mark.parametrize(
    "one",
    [
        case(relax.PadOp, "f32[2]", pad_width=[1, 1], pad_mode="random"),
        case(relax.SumOp, "i1[2]"),
        case(relax.SortOp, "i1[2]"),
        case(relax.MaxPool1DOp, "i1[1, 1, 4]", pool_size=2),
    ],
    ids=str,
)
def test_what_has_no_stages_stays(one: Case):
    module = LegalizeOps()(one.module())
    assert any(isinstance(op, one.build) for op in module.walk())
