"""The programs of `gpu.py`: what they compute, and the work that it is.

Needs nothing but Python, as what runs on a GPU does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

TOLERANCES = {
    "float16": 5e-3,
    "bfloat16": 2e-2,
    "float32": 1e-4,
    "tf32": 2e-3,
    "int32": 0.0,
}
"""How much the result of a kernel may differ; that of a model ten times as much."""
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "int8": 1, "int32": 4, "int64": 8}
"""Bytes of an element."""


@dataclass(frozen=True)
class Tensor:
    """A parameter or result of a program."""

    shape: tuple[int, ...]
    dtype: str
    name: str = ""
    scale: float = 1.0
    """The deviation of random elements; integers of 64 bits are below it."""
    draw: str = "normal"
    """How elements are drawn: `normal`, `positive`, around 1, as factors and variances
    are, or `ones`."""

    @property
    def bytes(self) -> int:
        """The bytes of all elements."""
        return prod(self.shape) * SIZES[self.dtype]


@dataclass(frozen=True)
class Case:
    """A program, and what is known of the work that it does."""

    name: str
    kind: str
    """Which of torch's functions does the same."""
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    flops: int = 0
    """Floating point operations, for programs that they bound; else bytes do."""
    tf32: bool = False
    """Whether products of f32 may be those of tensor cores, in torch as well."""
    symbols: tuple[int, ...] = ()
    """The values of the symbols of a model, which follow its arrays."""
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """Sizes of a model that its tensors do not tell."""

    @property
    def rate(self) -> str:
        """Which of the library's products bounds it."""
        return "tf32" if self.tf32 else self.outputs[0].dtype

    @property
    def tolerance(self) -> float:
        """How much a result may differ from torch's, as a part of its norm."""
        return 10 * TOLERANCES[self.rate] if self.details else TOLERANCES[self.rate]

    @property
    def bytes(self) -> int:
        """What is read and written once."""
        return sum(each.bytes for each in (*self.inputs, *self.outputs))

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.name.replace(" ", "_")

    @staticmethod
    def of(found: dict[str, Any]) -> Case:
        """What `dataclasses.asdict` has made, and JSON has changed."""

        def tensors(name: str) -> tuple[Tensor, ...]:
            keys = "dtype", "name", "scale", "draw"
            return tuple(
                Tensor(tuple(each["shape"]), *(each[key] for key in keys))
                for each in found[name]
            )

        return Case(
            found["name"],
            found["kind"],
            tensors("inputs"),
            tensors("outputs"),
            found["flops"],
            found["tf32"],
            tuple(found["symbols"]),
            found["details"],
        )


def _matmul(m: int, n: int, k: int, dtype: str) -> Case:
    name = f"matmul {m}x{n}x{k} {dtype}"
    inputs = Tensor((m, k), dtype), Tensor((k, n), dtype)
    return Case(name, "matmul", inputs, (Tensor((m, n), dtype),), 2 * m * n * k)


def _tf32(size: int) -> Case:
    inputs = Tensor((size, size), "float32"), Tensor((size, size), "float32")
    name = f"matmul {size}x{size}x{size} tf32"
    return Case(name, "matmul", inputs, inputs[:1], 2 * size**3, tf32=True)


def _linear(m: int, n: int, k: int) -> Case:
    """Integers of 8 bits, with weights by rows."""
    inputs = Tensor((m, k), "int8"), Tensor((n, k), "int8")
    name = f"linear {m}x{n}x{k} int8"
    return Case(name, "linear", inputs, (Tensor((m, n), "int32"),), 2 * m * n * k)


def _bytes(m: int, n: int, k: int) -> Case:
    """Integers of 8 bits, with weights by columns."""
    inputs = Tensor((m, k), "int8"), Tensor((k, n), "int8")
    name = f"matmul {m}x{n}x{k} int8"
    return Case(name, "bytes", inputs, (Tensor((m, n), "int32"),), 2 * m * n * k)


def _rows(kind: str, rows: int, columns: int, dtype: str = "float32") -> Case:
    tensor = Tensor((rows, columns), dtype)
    scale = Tensor((columns,), dtype)
    inputs = (tensor, scale, scale) if kind == "layer_norm" else (tensor,)
    shapes = {"transpose": (columns, rows), "row_sum": (rows,), "column_sum": (columns,)}
    output = Tensor(shapes.get(kind, tensor.shape), dtype)
    name = f"{kind} {rows}x{columns}" + f" {dtype}" * (dtype != "float32")
    return Case(name, kind, inputs, (output,))


def _conv2d(
    batch: int, channels: int, size: int, filters: int, dtype: str = "float32"
) -> Case:
    data = Tensor((batch, channels, size, size), dtype)
    weight = Tensor((filters, channels, 3, 3), dtype)
    output = Tensor((batch, filters, size, size), dtype)
    name = f"conv2d {batch}x{channels}x{size}x{size} to {filters}"
    name += f" {dtype}" * (dtype != "float32")
    flops = 2 * prod(output.shape) * channels * 9
    return Case(name, "conv2d", (data, weight), (output,), flops)


def _depthwise(batch: int, channels: int, size: int) -> Case:
    data = Tensor((batch, channels, size, size), "float32")
    weight = Tensor((channels, 1, 3, 3), "float32")
    name = f"depthwise {batch}x{channels}x{size}x{size}"
    return Case(name, "depthwise", (data, weight), (data,))


def _map(count: int) -> Case:
    tensor = Tensor((count,), "float32")
    return Case(f"add_relu {count}", "add_relu", (tensor, tensor), (tensor,))


def _attention(
    batch: int, length: int, heads: int, features: int, dtype: str, kind: str
) -> Case:
    tensor = Tensor((batch, length, heads, features), dtype)
    name = f"{kind} {batch}x{length}x{heads}x{features} {dtype}"
    products = 2 if kind == "causal" else 4
    flops = products * prod(tensor.shape) * length
    return Case(name, kind, (tensor,) * 3, (tensor,), flops)


CASES = (
    _map(1 << 28),
    _rows("softmax", 65536, 4096),
    _matmul(4096, 4096, 4096, "float16"),
    _matmul(8192, 8192, 8192, "float16"),
    _matmul(8192, 8192, 8192, "bfloat16"),
    _matmul(4096, 4096, 4096, "float32"),
    _attention(4, 4096, 16, 128, "float16", "attention"),
    _attention(4, 4096, 16, 64, "float16", "causal"),
    _matmul(1, 16384, 16384, "float16"),
    _matmul(16, 4096, 4096, "float16"),
    _matmul(128, 4096, 4096, "float16"),
    _matmul(1024, 1024, 1024, "float16"),
    _matmul(4095, 4095, 4095, "float16"),
    _matmul(1024, 1024, 1024, "float32"),
    _tf32(4096),
    _linear(4096, 4096, 4096),
    _bytes(4096, 4096, 4096),
    _rows("layer_norm", 65536, 4096),
    _rows("softmax", 65536, 4096, "float16"),
    _rows("row_sum", 65536, 4096),
    _rows("column_sum", 65536, 4096),
    _rows("transpose", 16384, 16384),
    _conv2d(32, 64, 56, 64),
    _conv2d(32, 256, 14, 256),
    _conv2d(32, 64, 56, 64, "float16"),
    _depthwise(32, 144, 56),
    _attention(4, 1024, 16, 64, "float32", "attention"),
)
"""The kernels. The first ones tell most, where time runs out."""
SMALL = (
    _matmul(32, 16, 24, "float32"),
    _rows("softmax", 8, 64),
    _rows("layer_norm", 8, 64),
    _rows("row_sum", 8, 64),
    _rows("column_sum", 8, 64),
    _rows("transpose", 8, 64),
    _map(512),
    _conv2d(1, 4, 6, 8),
    _linear(32, 16, 64),
    _bytes(32, 16, 64),
    _depthwise(1, 4, 6),
    _attention(1, 16, 2, 16, "float32", "attention"),
    _attention(1, 16, 2, 16, "float32", "causal"),
)
"""The same in sizes for tests."""
