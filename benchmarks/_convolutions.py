"""The convolutions of the networks of images, each measured as a kernel of its own.

A convolution with a bias and an activation is compiled with constant weights, as it is in
its network. What counts is the time in its kernels, without those that rearrange images,
and for onnxruntime likewise the time in its node, as its profile has it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from _race import RUNS_PER_TURN, race, turn
from _rates import Result, row
from models import MODELS

from xdsl_tvm import compile
from xdsl_tvm.dialects import relax
from xdsl_tvm.relax import BlockBuilder, Tensor, Var, op
from xdsl_tvm.runtime.executable import NativeExecutable

Array = np.ndarray[Any, np.dtype[np.float32]]
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
        error = np.abs(ours.result - peer.result).max() / np.abs(peer.result).max()
        if not error < 1e-4:
            raise SystemExit(f"{shape.name}: {error} away from onnxruntime")
    source = np.ones(shape.bytes // 8, np.float32)
    target = np.empty_like(source)
    turns = [
        ours.turn,
        lambda: turn(chains) * shape.operations / operations,
        lambda: turn(lambda: np.copyto(target, source)),
    ]
    times, best = race([*turns, *([peer.turn] if peer else [])], seconds), None
    if peer is not None:
        best = peer.best()
    return Result(times[0], best, times[1], times[2])


class _Ours:
    """The convolution compiled by this package."""

    def __init__(self, shape: Shape, arrays: Sequence[Array]) -> None:
        variables = [
            Var(name, Tensor(array.shape, "float32"))
            for name, array in zip(("x", "w", "b"), arrays, strict=True)
        ]
        builder = BlockBuilder()
        with builder.function("main", variables):
            with builder.dataflow():
                x, w, b = variables
                found = op.nn.conv2d(
                    x, w, strides=shape.stride, padding=shape.padding, groups=shape.groups
                )
                output = builder.emit_output(op.nn.relu(op.add(found, b)))
            builder.emit_func_output(output)
        params: dict[str | int, Array] = {1: arrays[1], 2: arrays[2]}
        executable = compile(builder.get(), params=params, profile=True)
        assert isinstance(executable, NativeExecutable)
        self._executable, self._main = executable, executable["main"]
        self._data = arrays[0]
        self.result: Array = self._main(self._data)

    def turn(self) -> float:
        """The best time in the kernels, of a few runs."""
        best = float("inf")
        for _ in range(RUNS_PER_TURN):
            self._executable.reset_kernel_times()
            self._main(self._data)
            times = self._executable.kernel_times()
            inner = [each.seconds for each in times if "layout" not in each.name]
            best = min(best, sum(inner))
        return best


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

    def turn(self) -> float:
        """A few runs, which its profile has the times of; the time of them."""
        return turn(lambda: self._session.run(None, self._feed))

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
