"""Matrix products of several dtypes and numbers of rows, beside onnxruntime's.

A product is compiled from Relax, its weight an argument or a constant, which both sides
rearrange when they compile and load. A call computes with several weights, of which no
cache holds all, as in a network, where each is read once.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import _cpu_kernel_sources as sources
import numpy as np
from _race import race, turn
from _rates import Result, row

from xdsl_tvm import compile, relax
from xdsl_tvm.relax import BlockBuilder, Tensor, Var, op
from xdsl_tvm.tvmscript.parser import parse

Array = np.ndarray[Any, Any]
Call = Callable[[], object]
_MEMORY = 96 << 20
"""Bytes of all weights of a product."""
_MOST_WEIGHTS = 48
_PARTS = 16
"""Parts of them that threads read."""


@dataclass(frozen=True)
class Product:
    """A product of `rows` by `terms` and `terms` by `columns`."""

    rows: int
    terms: int
    columns: int
    dtype: str = "float32"
    weight: str = "float32"
    result: str = "float32"
    is_constant: bool = True

    @property
    def name(self) -> str:
        kinds = " by ".join(dict.fromkeys((self.dtype, self.weight)))
        if self.result not in (self.dtype, "int32"):
            kinds += f" to {self.result}"
        text = f"{kinds}, {self.rows} x {self.terms} x {self.columns}"
        return text if self.is_constant else f"{text}, argument"

    @property
    def operations(self) -> int:
        return 2 * self.rows * self.terms * self.columns

    @property
    def bytes(self) -> int:
        """Those of the weight."""
        return self.terms * self.columns * numpy_dtype(self.weight).itemsize


def _products() -> list[Product]:
    dense = [(128, 768, 768), (128, 768, 3072), (128, 3072, 768)]
    skinny = [(rows, 4096, 4096) for rows in (1, 4, 8)]
    found = [
        Product(*shape, is_constant=known) for shape in dense for known in (True, False)
    ]
    found += [
        Product(*shape, is_constant=known) for shape in skinny for known in (True, False)
    ]
    half = ("float16",) * 3
    found += [Product(*dense[0], *half, is_constant=known) for known in (True, False)]
    for dtype in ("bfloat16", "float32"):
        brain = ("bfloat16", "bfloat16", dtype)
        found += [Product(*dense[0], *brain, is_constant=k) for k in (True, False)]
    for a, b in (("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")):
        for shape in (dense[0], skinny[0], skinny[2]):
            found += [
                Product(*shape, a, b, "int32", is_constant=known)
                for known in (True, False)
            ]
    return found


PRODUCTS = _products()


def _array(shape: Sequence[int], dtype: str, random: np.random.Generator) -> Array:
    if dtype == "int8":
        return random.integers(-128, 128, shape).astype(dtype)
    if dtype == "uint8":
        return random.integers(0, 256, shape).astype(dtype)
    found = aligned(shape, dtype)
    found[...] = random.standard_normal(shape) / np.sqrt(shape[0])
    return found


def aligned(shape: Sequence[int], dtype: str) -> Array:
    """An array that begins at a line of the cache, as those of frameworks do."""
    element = numpy_dtype(dtype)
    size = prod(shape) * element.itemsize
    memory = np.empty(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(element).reshape(shape)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """numpy's dtype of a name, those of `ml_dtypes` included."""
    if name == "bfloat16":
        return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    return np.dtype(name)


def _ours(product: Product, x: Array, weights: Sequence[Array]) -> Call:
    """All products in one function."""
    a = Var("a", Tensor(x.shape, product.dtype))
    bs = [
        Var(f"b{number}", Tensor(weight.shape, product.weight))
        for number, weight in enumerate(weights)
    ]
    builder = BlockBuilder()
    with builder.function("main", [a, *bs]):
        with builder.dataflow():
            found = [builder.emit(op.matmul(a, b, out_dtype=product.result)) for b in bs]
            output = builder.emit_output(relax.Tuple(found))
        builder.emit_func_output(output)
    params: dict[str | int, Array] = {}
    if product.is_constant:
        params = dict(enumerate(weights, 1))
    main: Any = compile(builder.get(), params=params)["main"]
    arguments = [x] if product.is_constant else [x, *weights]
    return lambda: main(*arguments)


def _peer(product: Product, x: Array, weights: Sequence[Array]) -> Call | None:
    """The same as a graph of onnxruntime; None where it is not installed, and for what
    it does not compute on a processor."""
    if "bfloat16" in (product.dtype, product.result):
        return None
    try:
        helper: Any = importlib.import_module("onnx.helper")
        numpy: Any = importlib.import_module("onnx.numpy_helper")
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        return None

    def info(name: str, dtype: str, shape: Sequence[int] | None) -> Any:
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape)

    kind = "MatMulInteger" if product.result == "int32" else "MatMul"
    names = [f"b{number}" for number in range(len(weights))]
    named = dict(zip(names, weights, strict=True))
    known = named if product.is_constant else {}
    graph = helper.make_graph(
        [helper.make_node(kind, ["a", name], [f"{name}.c"]) for name in names],
        "main",
        [
            info("a", product.dtype, x.shape),
            *(
                info(name, product.weight, weight.shape)
                for name, weight in named.items()
                if name not in known
            ),
        ],
        [info(f"{name}.c", product.result, None) for name in names],
        [numpy.from_array(weight, name) for name, weight in known.items()],
    )
    opset = helper.make_opsetid("", 20)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feed = {"a": x} if product.is_constant else {"a": x, **named}
    return lambda: session.run(None, feed)


def _moves(size: int) -> tuple[Call, Call]:
    """A read of `size` bytes of memory that nothing else uses, and a copy of the first
    half of them to the second."""
    header = "from xdsl_tvm.tvmscript import tir as T\n"
    length = size // 4 // _PARTS
    parts = aligned((_PARTS, length), "float32")
    parts[...] = 1
    sums = np.empty((_PARTS, 64), np.float32)
    half = _PARTS // 2
    map_ = sources.map_kernel("copy", "A", "A[vi, vj]", half, length)
    read: Any = compile(parse(header + sources.read(_PARTS, length)))["read"]
    copy: Any = compile(parse(header + map_))["copy"]
    return lambda: read(parts, sums), lambda: copy(parts[:half], parts[half:])


def measure(product: Product, seconds: float, chains: tuple[Call, int]) -> Result:
    """A product in turns with its peer and the limits: multiplications and additions in
    registers, and how many; a read and a copy of as much memory as all weights."""
    random = np.random.default_rng(1)
    x = _array((product.rows, product.terms), product.dtype, random)
    shape = (product.terms, product.columns)
    count = min(-(-_MEMORY // product.bytes), _MOST_WEIGHTS)
    weights = [_array(shape, product.weight, random) for _ in range(count)]
    calls = [_ours(product, x, weights)]
    peer = _peer(product, x, weights)
    calls += [peer] if peer is not None else []
    expected = x.astype(np.float64) @ weights[-1].astype(np.float64)
    for call in calls:
        found: Any = call()
        error = np.abs(np.asarray(found[-1], np.float64) - expected).max()
        # f16 is summed in f16.
        most = {"float16": 2e-2, "bfloat16": 1e-2}.get(product.result, 1e-4)
        if not error < most * expected.max():
            raise SystemExit(f"{product.name}: wrong by {error}")
    moves = _moves(count * product.bytes)
    times = race(
        [
            *(partial(_part_of_turn, call, 1 / count) for call in (*calls, *moves)),
            partial(_part_of_turn, chains[0], product.operations / chains[1]),
        ],
        seconds,
    )
    best = times[1] if peer is not None else None
    *_, read, copied, peak = times
    return Result(times[0], best, peak, read, copied)


def _part_of_turn(call: Call, part: float) -> float:
    return part * turn(call)


def line(product: Product, result: Result) -> str:
    """A row of the table."""
    name, size = product.name, product.bytes
    return row([name], product.operations, size, result.memory, result)


HEADER = [
    "| product | time | GOP/s | of peak | GB/s | of a read | of a copy | onnxruntime |",
    "|---|---|---|---|---|---|---|---|",
]
LEGEND = """
Products of rows x terms and terms x columns; weights are constants unless it says that
they are arguments. One call computes with several weights, larger together than
the caches, and the time is that of one. *peak* is that of multiply-adds of f32 in
registers, of as many operations. *GB/s* counts the weight alone, *a read* is one of as
many bytes, from four places on that are fetched ahead, and *a copy* one that reads and
writes as many; both take turns with the product, in memory of the size of all weights, as
less memory stays in caches of the host. *onnxruntime* says how many times as long its
MatMul or MatMulInteger takes.
"""
