"""Products on tensor cores, through the default pipeline and in the simulator."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.paths import EXAMPLES
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.gpu.bank_conflicts import BankReport
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.default_pipeline import DefaultPipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvmscript import parse

PIPELINE = DefaultPipeline(target="cuda", until="MakePackedAPI")
MMA = (EXAMPLES / "gpu" / "matmul_mma.py").read_text()
WMMA = (EXAMPLES / "gpu" / "matmul_wmma.py").read_text()


class Result(NamedTuple):
    """A product of random matrices, what it should be, and its accesses."""

    product: Any
    expected: Any
    banks: BankReport


def lowered(text: str) -> ModuleOp:
    module = parse(text)
    PIPELINE.apply(new_context(), module)
    module.verify()
    return module


def multiplied(module: ModuleOp, name: str, depth: int) -> Result:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, depth)).astype(np.float16) for n in (32, 64))
    c = np.zeros((32, 64), np.float32)
    functions = interpret(module, count_bank_conflicts=True)
    functions[name](a, b, c)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return Result(c, expected, functions.bank_conflicts())


def builtins(module: ModuleOp) -> set[str]:
    return {op.callee.data for op in module.walk() if isinstance(op, tir.CallOp)}


def by_access(banks: BankReport) -> Mapping[tuple[str, bool], Sequence[int]]:
    """The worst multiplicities by buffer, and whether it is written."""
    found: dict[tuple[str, bool], list[int]] = {}
    for use in banks.accesses:
        found.setdefault((use.buffer, use.writes), []).append(use.worst)
    return found


def test_registers_and_permuted_tiles() -> None:
    module = lowered(MMA)
    assert {"ptx_ldmatrix", "ptx_mma", "tvm_storage_sync"} <= builtins(module)
    result = multiplied(module, "matmul_mma", 128)
    np.testing.assert_allclose(result.product, result.expected, rtol=1e-4, atol=1e-4)
    assert (result.banks.worst, result.banks.conflicts, result.banks.steps) == (1, 0, 640)


def test_tiles_that_are_not_permuted() -> None:
    """Rows of 64 bytes begin in two banks: a matrix takes 4 steps instead of 1."""
    plain = re.sub(r'"permuted_layout": "\w+"', '"permuted_layout": 0', MMA)
    result = multiplied(lowered(plain), "matmul_mma", 128)
    np.testing.assert_allclose(result.product, result.expected, rtol=1e-4, atol=1e-4)
    found = by_access(result.banks)
    worst = {access: set(found[access]) for access in found}
    # Both tiles are in one allocation by then.
    assert worst == {("buf_dyn_shmem", True): {1}, ("buf_dyn_shmem", False): {4}}
    assert (result.banks.conflicts, result.banks.steps) == (1152, 1792)


def test_fragments() -> None:
    module = lowered(WMMA)
    assert {
        "tvm_fill_fragment",
        "tvm_load_matrix_sync",
        "tvm_mma_sync",
        "tvm_store_matrix_sync",
    } <= builtins(module)
    notes = [
        op.annotations.data
        for op in module.walk()
        if isinstance(op, tir.AllocateOp)
        and op.result.type.scope.data.startswith("wmma.")
        and op.annotations is not None
    ]
    assert [str(note["fragment_shape"]) for note in notes] == ['"16, 16, 16"'] * 3
    result = multiplied(module, "matmul_wmma", 64)
    np.testing.assert_allclose(result.product, result.expected, rtol=1e-4, atol=1e-4)
    # Fragments are opaque; the copies are all that is counted.
    assert {use.writes for use in result.banks.accesses} == {True}


def test_the_table_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(str(lowered(WMMA)))
    assert main(["run", str(file), "--interpret", "--bank-conflicts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    header = "worst  conflicts  steps  instructions  access     operation"
    first = lines.index(header) + 1
    assert lines[first].startswith("    2         64    128            16  writes As")
    assert f'loc("{file}":' in lines[first]
    assert lines[-1] == (
        "bank conflicts: 128 of 256 steps, the worst access takes 2 steps a phase"
    )
    assert main(["run", str(file), "--interpret"]) == 0
    assert "bank" not in capsys.readouterr().out
    assert main(["run", str(file), "--bank-conflicts"]) == 1
    assert capsys.readouterr().err == (
        "error: --bank-conflicts: compiled code does not count them; add --interpret\n"
    )
