"""Scheduled transposes, lowered: run below LLVM IR, with their accesses counted."""

from __future__ import annotations

import numpy as np
import pytest
from support.gpu_schedules import MANY

from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.tvmscript import parse

MODEL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({rows}, {columns}), "{dtype}")):
        with R.dataflow():
            y = R.permute_dims(x)
            R.output(y)
        return y
"""


@pytest.mark.parametrize(
    ("dtype", "rows", "columns"),
    [
        ("float16", 64, 64),
        *([("int8", 128, 128), ("float64", 32, 16), ("float32", 80, 96)] * MANY),
    ],
)
def test_squares_in_registers(dtype: str, rows: int, columns: int) -> None:
    """No warp moves a sector of memory of which it does not need all bytes, and none
    waits for shared memory, of which there is none."""
    text = MODEL.format(dtype=dtype, rows=rows, columns=columns)
    kernels = InterpretedKernels(parse(text), "sm_90", count_accesses=True)
    x = np.random.default_rng(rows).integers(-99, 99, (rows, columns)).astype(dtype)
    np.testing.assert_array_equal(kernels["main"](x).numpy(), x.T)
    counts = kernels.kernels.counts
    sectors = counts.sectors()
    assert {use.writes for use in sectors} == {False, True}
    assert all(use.sectors == use.least for use in sectors)
    assert counts.banks().accesses == []


@pytest.mark.parametrize(
    ("dtype", "conflicts"), [("float32", 0), *([("float16", 71), ("int8", 52)] * MANY)]
)
def test_tiles_in_shared_memory(dtype: str, conflicts: int) -> None:
    """Elements of 4 bytes in a column of a tile are in banks of their own. Columns of
    smaller ones, at strides of 16.5 and 8.25 words, meet twice in a bank at most. Rows of
    70 elements are loaded by two."""
    text = MODEL.format(dtype=dtype, rows=37, columns=70)
    kernels = InterpretedKernels(parse(text), "sm_90", count_accesses=True)
    x = np.arange(37 * 70).reshape(37, 70).astype(dtype)
    np.testing.assert_array_equal(kernels["main"](x).numpy(), x.T)
    banks = kernels.kernels.counts.banks()
    assert banks.steps == 254 + conflicts
    assert banks.conflicts == conflicts
    assert banks.worst == (2 if conflicts else 1)
