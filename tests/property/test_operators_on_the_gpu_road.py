"""Random small operators become kernels that pass the check of barriers, without races.

Products, convolutions, reductions, maps and transposes of odd sizes and of three dtypes
are scheduled for a GPU, checked, and run in the simulator of threads, against the
operators in double precision. None may be refused. `XDSL_TVM_FUZZ` sets their number,
`XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
TOLERANCES = {"float16": 1.5e-2, "bfloat16": 1e-1, "float32": 1e-4}
"""Of the largest element: operators may round each partial result, kernels the last."""
NUMPY: dict[str, Any] = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
}
_SIZES = (1, 3, 5, 7, 8, 16, 24, 31, 32, 33, 40)
_MODULE = """
@I.ir_module
class Module:
    @R.function
    def main({parameters}):
        with R.dataflow():
            z = {body}
            R.output(z)
        return z
"""


@dataclass(frozen=True)
class Operator:
    """An operator, perhaps with a map on its result."""

    body: str
    shapes: dict[str, tuple[int, ...]]
    dtype: str

    def text(self, dtype: str) -> str:
        """The module, on a dtype."""
        shapes = {
            name: ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
            for name, shape in self.shapes.items()
            if re.search(rf"\b{name}\b", self.body)
        }
        parameters = [
            f'{name}: R.Tensor(({shape}), "{dtype}")' for name, shape in shapes.items()
        ]
        return _MODULE.format(parameters=", ".join(parameters), body=self.body)

    def arrays(self, rng: np.random.Generator) -> list[Any]:
        """Random arguments."""
        return [
            rng.uniform(-1, 1, shape).astype(NUMPY[self.dtype])
            for name, shape in self.shapes.items()
            if re.search(rf"\b{name}\b", self.body)
        ]


def random_operator(seed: int) -> Operator:
    rng = random.Random(seed)
    dtype = rng.choice(["float16", "float16", "float32", "bfloat16"])
    make = rng.choice([_convolution] * 3 + [_product] * 2 + [_reduction, _map, _turned])
    body, shapes = make(rng)
    return Operator(body, shapes, dtype)


def _extent(rng: random.Random) -> int:
    return rng.choice([rng.randint(1, 40), rng.choice(_SIZES)])


def _shape(rng: random.Random) -> tuple[int, ...]:
    rank = rng.randint(1, 4)
    return tuple(rng.randint(1, 12 if rank > 2 else 40) for _ in range(rank))


def _with_map(rng: random.Random, body: str) -> str:
    maps = (
        body,
        f"R.nn.relu(R.add({body}, b))",
        f"R.add({body}, b)",
        f"R.nn.relu({body})",
    )
    return rng.choice(maps)


def _convolution(rng: random.Random) -> tuple[str, dict[str, tuple[int, ...]]]:
    kernel = rng.choice([1, 1, 2, 3, 3, 5])
    padding = rng.choice([0, kernel // 2, kernel // 2])
    height, width = (max(rng.randint(1, 12), kernel - 2 * padding) for _ in range(2))
    channels, filters = (rng.choice([1, 3, 4, 8, 16, rng.randint(1, 20)]) for _ in "ab")
    groups = rng.choice([1, 1, 1, 2, channels])
    if groups == 2:
        channels, filters = 2 * channels, 2 * filters
    elif groups == channels:
        filters = channels
    pads = [padding] * 4
    strides = [rng.choice([1, 1, 2])] * 2
    options = f"strides={strides}, padding={pads}, groups={groups}"
    shapes = {
        "x": (rng.randint(1, 2), channels, height, width),
        "w": (filters, channels // groups, kernel, kernel),
        "b": (1, filters, 1, 1),
    }
    return _with_map(rng, f"R.nn.conv2d(x, w, {options})"), shapes


def _product(rng: random.Random) -> tuple[str, dict[str, tuple[int, ...]]]:
    m, n, k = (_extent(rng) for _ in range(3))
    batch = rng.choice([(), (), (rng.randint(1, 4),)])
    is_turned = rng.random() < 0.5
    right = "R.permute_dims(w, [1, 0])" if is_turned else "w"
    shapes = {"x": (*batch, m, k), "w": (n, k) if is_turned else (k, n), "b": (n,)}
    return _with_map(rng, f"R.matmul(x, {right})"), shapes


def _reduction(rng: random.Random) -> tuple[str, dict[str, tuple[int, ...]]]:
    shape = _shape(rng)
    axes = sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape))))
    name = rng.choice(["sum", "max", "mean", "softmax"])
    if name == "softmax":
        return f"R.nn.softmax(x, axis={axes[0]})", {"x": shape}
    return f"R.{name}(x, axis={axes}, keepdims={rng.random() < 0.5})", {"x": shape}


def _map(rng: random.Random) -> tuple[str, dict[str, tuple[int, ...]]]:
    shape = _shape(rng)
    other = tuple(extent if rng.random() < 0.7 else 1 for extent in shape)
    return "R.multiply(R.add(x, y), x)", {"x": shape, "y": other}


def _turned(rng: random.Random) -> tuple[str, dict[str, tuple[int, ...]]]:
    shape = _shape(rng)
    axes = list(range(len(shape)))
    rng.shuffle(axes)
    return f"R.permute_dims(x, {axes})", {"x": shape}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_operators(seed: int) -> None:
    operator = random_operator(seed)
    data = operator.arrays(np.random.default_rng(seed))
    exact = interpret(parse(operator.text("float64")))["main"](
        *(each.astype(np.float64) for each in data)
    )
    module = parse(operator.text(operator.dtype))
    target = f"cuda -arch=sm_{arch_of(seed)}"
    # Up to the check of barriers, after which Relax becomes machine code.
    passes = gpu_pipeline(target, relax=True).split(",relax-convert-to-memref")[0]
    assert passes.endswith("tir-verify-thread-sync{skip_volatile=true}")
    run_pipeline(new_context(), module, passes)
    found = np.asarray(interpret(module)["main"](*data)).astype(np.float64)
    expected = np.asarray(exact)
    assert found.shape == expected.shape
    scale = max(1, float(np.abs(expected).max(initial=0)))
    assert np.abs(found - expected).max(initial=0) < TOLERANCES[operator.dtype] * scale


def arch_of(seed: int) -> int:
    """With tensor cores, or without."""
    return (80, 90, 75)[seed % 3]
