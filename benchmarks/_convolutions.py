"""The convolutions of the networks of images, each measured as a kernel of its own.

A convolution with a bias and an activation is compiled with constant weights, as it is in
its network, with images in the layout that they have there. What counts is the time in
its kernels, and for onnxruntime the time in its node, as its profile has it.

Shares are those of the median round, in which the convolution, the peak and a copy take
turns of some ms without a pause: the smallest convolutions take less than a core that has
paused needs to multiply wide vectors at its full rate, and the clock of a host differs
from one second to the next. A turn repeats the convolution alone, or the copy alone, so
that caches hold the same for both.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from _products import aligned
from _race import PAUSE, steady_race
from _rates import Result, row
from models import MODELS
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm import compile
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.passes.relax.bind_params import BindParams
from xdsl_tvm.passes.relax.block_convolutions import BlockConvolutions
from xdsl_tvm.registry import new_context
from xdsl_tvm.relax import BlockBuilder, Tensor, Var, op
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.executable import NativeExecutable

Array = np.ndarray[Any, np.dtype[np.float32]]
_IMAGE, _WEIGHT = "NCHW", "OIHW"
_LEAST_ROUNDS = 5
NETWORKS = ("digits_cnn", "mobilenet_v2", "resnet18")


@dataclass(frozen=True)
class Shape:
    """What convolutions of one shape have in common."""

    data: tuple[int, ...]
    weight: tuple[int, ...]
    result: tuple[int, ...]
    stride: int
    padding: int
    groups: int

    @property
    def name(self) -> str:
        """Channels and size of the data, output channels, window and stride."""
        _, channels, height, _ = self.data
        window = f"{self.weight[2]}x{self.weight[3]}/{self.stride}"
        if self.groups == channels:
            return f"depthwise {channels}x{height} {window}"
        groups = f" in {self.groups} groups" if self.groups > 1 else ""
        return f"{channels}x{height} to {self.weight[0]} {window}{groups}"

    @property
    def operations(self) -> int:
        """Multiplications and additions of the direct computation, at edges too."""
        return 2 * prod(self.result) * prod(self.weight[1:])

    @property
    def bytes(self) -> int:
        """All arrays once."""
        return 4 * (prod(self.data) + prod(self.weight) + prod(self.result))


def shapes() -> dict[Shape, str]:
    """The convolutions of the networks, and how often each is in which of them."""
    found = dict[Shape, Counter[str]]()
    for network in NETWORKS:
        module = MODELS[network]().build()
        for each in module.walk():
            if isinstance(each, relax.Conv2DOp):
                found.setdefault(_shape(each), Counter())[network] += 1
    return {
        shape: ", ".join(f"{name} {count}" for name, count in counts.items())
        for shape, counts in found.items()
    }


def _shape(each: relax.Conv2DOp) -> Shape:
    data, weight, result = (
        _extents(value) for value in (each.data, each.weight, each.result)
    )
    (stride, other), ((padding, *paddings), *_) = (
        each.window_strides,
        each.window_padding,
    )
    assert stride == other
    assert all(pad == padding for pad in paddings)
    return Shape(data, weight, result, stride, padding, each.groups.value.data)


def _extents(value: Any) -> tuple[int, ...]:
    info = relax.TensorInfo.of(value.type)
    assert info is not None
    # A batch of any size is one image.
    return tuple(dim.value or 1 for dim in info.shape or ())


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of the C library's `mallopt`."""


def keep_memory() -> None:
    """Leaves freed memory with the process, where the C library is GNU's.

    A network's planned memory stays there anyway. Alone, a convolution would have the
    system give the same pages anew in each call, which may take longer than it does.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            mallopt(parameter, 1 << 30)


def measure(
    shape: Shape, seconds: float, chains: Callable[[], object], operations: int
) -> Result:
    """A convolution in turns with its peer and the limits; `chains` computes so many
    multiplications and additions in registers."""
    random = np.random.default_rng(1)
    arrays = [
        np.asarray(random.standard_normal(each), np.float32)
        for each in (shape.data, shape.weight, (1, shape.weight[0], 1, 1))
    ]
    arrays[1] /= np.float32(np.sqrt(prod(shape.weight[1:])))
    ours = _Ours(shape, arrays)
    peer = _Peer.of(shape, arrays)
    if peer is not None:
        expected = _packed(peer.result, ours.layout, _IMAGE)
        error = np.abs(ours.result - expected).max() / np.abs(expected).max()
        if not error < 1e-4:
            raise SystemExit(f"{shape.name}: {error} away from onnxruntime")
    source, target = (aligned((shape.bytes // 8,), "float32") for _ in range(2))
    source[...] = 1
    share = shape.operations / operations
    calls = [
        ours.run,
        lambda: share * _timed(chains),
        lambda: _timed(lambda: np.copyto(target, source)),
    ]
    found: list[list[float]] = []
    stop = time.perf_counter() + seconds
    while len(found) < _LEAST_ROUNDS or time.perf_counter() < stop:
        time.sleep(PAUSE)
        found.append(steady_race(calls))
        if peer is not None:
            time.sleep(PAUSE)
            steady_race([peer.run])
    best = min(times[0] for times in found)
    peak, memory = (
        best * median(times[number] / times[0] for times in found) for number in (1, 2)
    )
    return Result(best, None if peer is None else peer.best(), peak, memory)


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class _Ours:
    """The convolution compiled by this package."""

    def __init__(self, shape: Shape, arrays: Sequence[Array]) -> None:
        params: dict[str | int, Array] = {1: arrays[1], 2: arrays[2]}
        plain = _module(shape, arrays, {})
        BindParams("main", {**params}).apply(new_context(), plain)
        lanes = llvm_jit.host_vector_bytes() // arrays[0].itemsize
        BlockConvolutions(lanes).apply(new_context(), plain)
        (blocked,) = (op for op in plain.walk() if isinstance(op, relax.Conv2DOp))
        layouts = {
            name: value.data
            for name, value in (
                ("data_layout", blocked.data_layout),
                ("kernel_layout", blocked.kernel_layout),
                ("out_layout", blocked.out_layout),
            )
            if value is not None
        }
        data, kernel = layouts["data_layout"], layouts["kernel_layout"]
        self.layout = layouts.get("out_layout", data)
        inputs = [
            _packed(array, layout, letters)
            for array, layout, letters in zip(
                arrays,
                (data, kernel, self.layout),
                (_IMAGE, _WEIGHT, _IMAGE),
                strict=True,
            )
        ]
        executable = compile(
            _module(shape, inputs, layouts),
            params={1: inputs[1], 2: inputs[2]},
            profile=True,
        )
        assert isinstance(executable, NativeExecutable)
        self._executable, self._main = executable, executable["main"]
        # As memory that is planned begins.
        self._data = aligned(inputs[0].shape, "float32")
        self._data[...] = inputs[0]
        like: Array = self._main(self._data)
        self.result = aligned(like.shape, "float32")
        self.run()

    def run(self) -> float:
        """The time in the kernels, of one run."""
        self._executable.reset_kernel_times()
        self._main(self._data, out=self.result)
        return sum(each.seconds for each in self._executable.kernel_times())


def _module(
    shape: Shape, arrays: Sequence[Array], layouts: Mapping[str, str]
) -> ModuleOp:
    """A convolution of arrays, those of data, weight and result in `layouts`."""
    variables = [
        Var(name, Tensor(array.shape, "float32"))
        for name, array in zip(("x", "w", "b"), arrays, strict=True)
    ]
    builder = BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            x, w, b = variables
            found = op.nn.conv2d(
                x,
                w,
                strides=shape.stride,
                padding=shape.padding,
                groups=shape.groups,
                **layouts,
            )
            output = builder.emit_output(op.nn.relu(op.add(found, b)))
        builder.emit_func_output(output)
    return builder.get()


def _packed(array: Array, layout: str, letters: str) -> Array:
    """An array with these axes in a layout that has some of them in blocks."""
    axes = Layout.parse("array", layout, letters).axes
    blocks = {name.upper(): size for name, size in axes if size}
    split: list[int] = []
    names: list[str] = []
    for letter, size in zip(letters, array.shape, strict=True):
        split += [size // blocks.get(letter, 1), blocks.get(letter, 1)]
        names += [letter, letter.lower()]
    order = [names.index(name) for name, _ in axes]
    # What has no block is an axis of one element, which goes last.
    order += [number for number in range(len(names)) if number not in order]
    shape = [split[number] for number in order[: len(axes)]]
    return np.ascontiguousarray(array.reshape(split).transpose(order).reshape(shape))


class _Peer:
    """The convolution as a graph of onnxruntime."""

    @staticmethod
    def of(shape: Shape, arrays: Sequence[Array]) -> _Peer | None:
        """The graph; None where onnx or onnxruntime is not installed."""
        try:
            helper: Any = importlib.import_module("onnx.helper")
            numpy: Any = importlib.import_module("onnx.numpy_helper")
            runtime: Any = importlib.import_module("onnxruntime")
        except ImportError:
            return None
        return _Peer(helper, numpy, runtime, shape, arrays)

    def __init__(
        self, helper: Any, numpy: Any, runtime: Any, shape: Shape, arrays: Sequence[Array]
    ) -> None:
        x, w, b = arrays
        nodes = [
            helper.make_node(
                "Conv",
                ["x", "w", "b"],
                ["y"],
                group=shape.groups,
                strides=[shape.stride] * 2,
                pads=[shape.padding] * 4,
            ),
            helper.make_node("Relu", ["y"], ["z"]),
        ]
        graph = helper.make_graph(
            nodes,
            "main",
            [helper.make_tensor_value_info("x", 1, x.shape)],
            [helper.make_tensor_value_info("z", 1, None)],
            [numpy.from_array(w, "w"), numpy.from_array(b.reshape(-1), "b")],
        )
        opset = helper.make_opsetid("", 20)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
        self._folder = TemporaryDirectory()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(self._folder.name) / "profile")
        self._session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._feed = {"x": x}
        (self.result,) = self._session.run(None, self._feed)

    def run(self) -> float:
        """The time of a run; the profile has that of the node."""
        return _timed(lambda: self._session.run(None, self._feed))

    def best(self) -> float:
        """The least time in the node of the convolution."""
        events = json.loads(Path(self._session.end_profiling()).read_text())
        self._folder.cleanup()
        times = [
            each["dur"]
            for each in events
            if each.get("args", {}).get("op_name", "").startswith(("Conv", "FusedConv"))
            and each["name"].endswith("_kernel_time")
        ]
        return 1e-6 * min(times)


def line(shape: Shape, where: str, result: Result) -> str:
    """A row of the table."""
    limit = max(result.peak, result.memory)
    return row([shape.name, where], shape.operations, shape.bytes, limit, result)


HEADER = [
    "| convolution | in | time | GFLOP/s | of peak | GB/s | of limit | onnxruntime |",
    "|---|---|---|---|---|---|---|---|",
]
LEGEND = """
Every convolution of the networks of images, with a bias and relu: channels and size of
the image, output channels, window and stride. Its rate counts all products of the direct
computation, so that what leaves out those outside of the image, or multiplies less by
Winograd's filtering, may be above the *peak* of multiply-adds in registers. The *limit*
is the peak, or a copy that moves as many bytes, whichever takes longer. *onnxruntime*
says how many times as long its kernel takes. Rearranging images counts for neither.
"""
