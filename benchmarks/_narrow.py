"""Convolutions of bytes, f16 and bf16 beside onnxruntime's, as small models of ONNX.

Bytes are those of quantized models: `QLinearConv`, whose data and results are unsigned.
Needs the package `onnx`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _products import numpy_dtype
from _race import race, turn
from _rates import Result, row

import xdsl_tvm
from xdsl_tvm.frontend.onnx import from_onnx

Array = np.ndarray[Any, Any]
Call = Callable[[], object]


@dataclass(frozen=True)
class Layer:
    """A convolution to so many channels, by a square window."""

    outputs: int
    window: int
    stride: int = 1
    groups: int = 1


@dataclass(frozen=True)
class Network:
    """Convolutions of one image, one after the other."""

    dtype: str
    channels: int
    size: int
    layers: tuple[Layer, ...]
    weight: str = ""
    """That of the weights, if it is another one."""

    @property
    def name(self) -> str:
        steps = [
            f"{each.outputs} {each.window}x{each.window}/{each.stride}"
            + (f" in {each.groups} groups" if each.groups > 1 else "")
            for each in self.layers
        ]
        kinds = " by ".join(dict.fromkeys((self.dtype, self.weight or self.dtype)))
        return f"{kinds}, {self.channels}x{self.size} to {', '.join(steps)}"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return 1, self.channels, self.size, self.size

    @property
    def operations(self) -> int:
        total, channels, size = 0, self.channels, self.size
        for each in self.layers:
            size = -(-size // each.stride)
            window = each.window * each.window
            terms = channels // each.groups * window
            total += 2 * terms * each.outputs * size * size
            channels = each.outputs
        return total

    @property
    def bytes(self) -> int:
        """Those of the data of the first layer."""
        return int(np.prod(self.shape)) * numpy_dtype(self.dtype).itemsize


def _networks() -> list[Network]:
    kinds = [("uint8", "int8"), ("int8", "int8"), ("float16", ""), ("bfloat16", "")]
    shapes = [
        (64, 56, (Layer(64, 3),)),
        (64, 56, (Layer(64, 1),)),
        (256, 14, (Layer(256, 3),)),
        (64, 56, (Layer(128, 3, 2),)),
        (256, 56, (Layer(64, 1), Layer(64, 3), Layer(256, 1))),
        (64, 56, (Layer(64, 3),) * 4),
    ]
    groups = [
        (64, 56, (Layer(64, 3, groups=4),)),
        (128, 56, (Layer(128, 3, groups=32),)),
        (256, 28, (Layer(256, 3, groups=8),)),
        (128, 28, (Layer(128, 3, 2, groups=2),)),
    ]
    found = [
        Network(dtype, *shape, weight) for dtype, weight in kinds for shape in shapes
    ]
    return found + [Network("uint8", *shape, "int8") for shape in groups]


NETWORKS = _networks()


def _weights(network: Network) -> list[Array]:
    random = np.random.default_rng(1)
    found: list[Array] = []
    channels = network.channels
    for each in network.layers:
        shape = (each.outputs, channels // each.groups, each.window, each.window)
        if network.weight or "int" in network.dtype:
            found.append(random.integers(-60, 60, shape).astype(np.int8))
        else:
            scale = np.sqrt(2 / np.prod(shape[1:]))
            values = scale * random.standard_normal(shape)
            found.append(values.astype(numpy_dtype(network.dtype)))
        channels = each.outputs
    return found


def _model(network: Network) -> Any:
    helper: Any = importlib.import_module("onnx.helper")
    numpy: Any = importlib.import_module("onnx.numpy_helper")
    kind = helper.np_dtype_to_tensor_dtype(numpy_dtype(network.dtype))
    is_quantized = "int" in network.dtype
    constants: dict[str, Array] = {}
    if is_quantized:
        constants = {
            "scale": np.array(0.05, np.float32),
            "zero": np.array(0, network.dtype),
        }
    nodes: list[Any] = []
    last = "x"
    for number, (each, weight) in enumerate(
        zip(network.layers, _weights(network), strict=True)
    ):
        name = f"w{number}"
        constants[name] = weight
        inputs = [last, name]
        if is_quantized:
            step = 0.2 / float(weight[0].size) ** 0.5 / 34
            constants[f"{name}.scale"] = np.full(each.outputs, step, np.float32)
            constants[f"{name}.zero"] = np.zeros(each.outputs, np.int8)
            constants[f"{name}.bias"] = np.arange(each.outputs, dtype=np.int32)
            inputs = [last, "scale", "zero", name, f"{name}.scale", f"{name}.zero"]
            inputs += ["scale", "zero", f"{name}.bias"]
        last = f"y{number}"
        nodes.append(
            helper.make_node(
                "QLinearConv" if is_quantized else "Conv",
                inputs,
                [last],
                pads=[each.window // 2] * 4,
                strides=[each.stride] * 2,
                group=each.groups,
            )
        )
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", kind, network.shape)],
        [helper.make_tensor_value_info(last, kind, None)],
        [numpy.from_array(value, name) for name, value in constants.items()],
    )
    opset = helper.make_opsetid("", 22)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def _peer(model: Any, x: Array) -> Call | None:
    """onnxruntime; None where it is not installed, or has no such kernel."""
    try:
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        return None
    if x.dtype == numpy_dtype("bfloat16"):
        return None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, {"x": x})[0]


def measure(network: Network, seconds: float, chains: Call, operations: int) -> Result:
    """A network in turns with its peer and with multiply-adds in registers.

    Of the limits there is only that of operations.
    """
    model = _model(network)
    random = np.random.default_rng(2)
    if "int" in network.dtype:
        limits = np.iinfo(network.dtype)
        x = random.integers(limits.min, limits.max + 1, network.shape)
    else:
        x = random.standard_normal(network.shape)
    data: Array = x.astype(numpy_dtype(network.dtype))
    main: Any = xdsl_tvm.compile(from_onnx(model))["main"]
    calls: list[Call] = [lambda: main(data)]
    peer = _peer(model, data)
    if peer is not None:
        calls.append(peer)
        found, other = (np.asarray(call()).astype(np.float64) for call in calls)
        error = np.abs(found - other).max()
        # Quantized results may round to the neighbour.
        most = 1.0 if "int" in network.dtype else 2e-2 * np.abs(other).max()
        if not error <= most:
            raise SystemExit(f"{network.name}: wrong by {error}")
    share = network.operations / operations
    times = race(
        [*(partial(turn, call) for call in calls), lambda: share * turn(chains)], seconds
    )
    best = times[1] if peer is not None else None
    return Result(times[0], best, times[-1], 0)


def line(network: Network, result: Result) -> str:
    """A row of the table."""
    cells = row([network.name], network.operations, network.bytes, 0, result)
    *first, _, _, peer, end = cells.split("|")
    return "|".join([*first, peer, end])


HEADER: Sequence[str] = [
    "| convolutions | time | GOP/s | of peak | onnxruntime |",
    "|---|---|---|---|---|",
]
LEGEND = """
Channels x size of a square image, and for each convolution its channels, window and
stride. Bytes are quantized: sums in i32 are scaled and rounded to bytes. *peak* is that
of multiply-adds of f32 in registers, of as many operations. *onnxruntime* says how many
times as long it takes.
"""
