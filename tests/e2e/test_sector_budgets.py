"""Memory-bound kernels of the GPU schedule move few more bytes than their arrays have.

Kernels are interpreted below LLVM IR, which counts the sectors of 32 bytes that each
instruction of a warp moves. What is read several times counts each time, though it is in
the cache.
"""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from support.gpu_schedules import MANY

from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.tvmscript import parse

F32, F16 = "float32", "float16"
Shape = tuple[int, ...]
X, IMAGE = ((64, 256), F32), ((1, 14, 14, 32), F32)
BUDGETS: dict[str, tuple[str, tuple[tuple[Shape, str], ...], float, float]] = {
    # What is computed, the arrays, and the bytes that are read and written, as parts of
    # those of the arrays and of the result.
    "map": ("R.nn.relu({0})", (X,), 1, 1),
    # Each nest reads a row, which is in the cache after the first: LLVM has it read once.
    "softmax": ("R.nn.softmax({0})", (((16, 256), F32),), 3, 1),
    # A result of 4 bytes moves a sector.
    "sums of rows": ("R.sum({0}, axis=[1])", (X,), 1, 8),
    "sums of columns": ("R.sum({0}, axis=[0])", (X,), 1, 1),
    "squares": ("R.permute_dims({0})", (((64, 32), F32),), 1, 1),
    # Rows of 48 elements are loaded by 16 bytes, and begin in the middle of sectors as
    # stretches of the result, of 37 elements, do.
    "tiles": ("R.permute_dims({0})", (((37, 48), F16),), 1.05, 2.0),
    "pooling": ('R.nn.max_pool2d({0}, (2, 2), (2, 2), layout="NHWC")', (IMAGE,), 1, 1),
}
MORE: dict[str, tuple[str, tuple[tuple[Shape, str], ...], float, float]] = {
    "map of f16": ("R.add({0}, {1})", (((64, 256), F16),) * 2, 1, 1),
    "map of odd rows": ("R.nn.relu({0})", (((33, 37), F32),), 1.01, 1.01),
    "norm": (
        "R.nn.layer_norm({0}, {1}, {2}, axes=[-1])",
        (((16, 256), F32), ((256,), F32), ((256,), F32)),
        # The row three times, and both weights for each row.
        (3 + 2) * 16 / (16 + 2),
        1,
    ),
    # The vector is read for each row of the matrix, from the cache.
    "vector and rows": (
        "R.matmul({0}, {1})",
        (((128, 256), F32), ((256,), F32)),
        2,
        8,
    ),
    "vector and columns": (
        "R.matmul({0}, {1})",
        (((1, 256), F32), ((256, 128), F32)),
        1.1,
        1,
    ),
    "windows that overlap": (
        'R.nn.max_pool2d({0}, (3, 3), (2, 2), (1, 1), layout="NHWC")',
        (IMAGE,),
        2.25,
        1,
    ),
    "squares of bytes": ("R.permute_dims({0})", (((128, 128), "int8"),), 1, 1),
    "averages": (
        'R.nn.avg_pool2d({0}, (2, 2), (2, 2), layout="NHWC")',
        (((1, 28, 28, 32), F16),),
        1,
        1,
    ),
}
CASES = BUDGETS | (MORE if MANY else {})


@pytest.fixture(scope="module")
def moved() -> dict[str, tuple[float, float]]:
    """The bytes that each case reads and writes: all are functions of one module."""
    lines = ["@I.ir_module", "class Module:"]
    for number, (value, arrays, *_) in enumerate(CASES.values()):
        names = [f"x{at}" for at in range(len(arrays))]
        declared = [
            f'{name}: R.Tensor({shape}, "{dtype}")'
            for name, (shape, dtype) in zip(names, arrays, strict=True)
        ]
        lines += [
            "    @R.function",
            f"    def case{number}({', '.join(declared)}):",
            "        with R.dataflow():",
            f"            y = {value.format(*names)}",
            "            R.output(y)",
            "        return y",
        ]
    kernels = InterpretedKernels(parse("\n".join(lines)), "sm_90", count_accesses=True)
    found: dict[str, tuple[float, float]] = {}
    rng = np.random.default_rng(0)
    before = [0.0, 0.0]
    for number, (name, (_, arrays, *_)) in enumerate(CASES.items()):
        given = [rng.integers(-9, 9, shape).astype(dtype) for shape, dtype in arrays]
        result = kernels[f"case{number}"](*given).numpy()
        total = [0.0, 0.0]
        for use in kernels.kernels.counts.sectors():
            total[use.writes] += use.sectors * 32
        reads, writes = (a - b for a, b in zip(total, before, strict=True))
        before = total
        size = sum(prod(shape) * np.dtype(dtype).itemsize for shape, dtype in arrays)
        found[name] = reads / size, writes / result.nbytes
    return found


@pytest.mark.parametrize("name", CASES)
def test_budget(name: str, moved: dict[str, tuple[float, float]]) -> None:
    *_, reads, writes = CASES[name]
    found = moved[name]
    assert 0 < found[0] <= reads
    assert 0 < found[1] <= writes
