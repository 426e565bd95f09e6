"""The GPU road keeps what kernels do, and accepts none that the simulator finds racing.

The simulator runs a kernel as it is written and after the TIR passes of the road; what
the road accepts must give the same arrays, without a race. The ordinary run takes a few
kernels of each kind; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from support.thread_kernels import SIZE, Kernel, random_kernel
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
TIR_PASSES = gpu_pipeline().removesuffix(",tir-convert-to-gpu")


def lowered(module: ModuleOp) -> ModuleOp:
    module = module.clone()
    run_pipeline(new_context(), module, TIR_PASSES)
    module.verify()
    return module


def results(module: ModuleOp, name: str, arrays: list[Any]) -> tuple[list[Any], str]:
    copies = [array.copy() for array in arrays]
    try:
        interpret(module)[name](*copies)
    except InterpretationError as error:
        return copies, type(error).__name__
    return copies, ""


def arrays_of(kernel: Kernel) -> list[Any]:
    rng = np.random.default_rng(0)
    total = kernel.blocks * kernel.threads
    return [
        rng.normal(scale=10, size=SIZE).astype(np.float32),
        rng.integers(-200, 200, SIZE).astype(np.int32),
        np.ones(total, np.float32),
        np.arange(total, dtype=np.int32),
    ]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_right_kernels(seed: int) -> None:
    kernel = random_kernel(seed, faulty=False)
    module = parse(kernel.text)
    expected, error = results(module, "f", arrays_of(kernel))
    assert error == ""
    found, error = results(lowered(module), "f", arrays_of(kernel))
    assert error == ""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


INDICES = (
    "t",
    "{n} - 1 - t",
    "(t + {k}) % {n}",
    "t // {k}",
    "t % {k}",
    "T.bitwise_xor(t, {x})",
    "t // 8 * 8 + 7 - t % 8",
    "{k}",
    "t * 2 % {n}",
    "t // 2 + t % 2 * {h}",
)
CONDITIONS = ("t < {h}", "t == {k}", "{h} <= t", "t % 2 == 0", "{k} < i", "t < 100")


def statements(
    rng: random.Random, threads: int, depth: int, *, barriers: bool = True
) -> list[str]:
    """Random statements over `t`, `i` and three buffers."""

    def index() -> str:
        k, x = rng.choice((1, 2, 5)), rng.choice((1, 3, 6))
        text = rng.choice(INDICES).format(n=threads, k=k, x=x, h=threads // 2)
        return f"({text} + i) % {threads}" if rng.random() < 0.2 else text

    lines: list[str] = []
    for _ in range(rng.randint(1, 3)):
        pick = rng.random()
        if pick < 0.3 and barriers:
            lines.append('T.tvm_storage_sync("shared")')
        elif pick < 0.7 or depth == 0:
            target = f"S[i % 2, {index()}]" if rng.random() < 0.7 else "O[b, t]"
            source = f"S[(i + 1) % 2, {index()}]" if rng.random() < 0.6 else "I[b, t]"
            lines.append(f"{target} = {source} + T.float32(1)")
        elif pick < 0.85:
            inner = statements(rng, threads, depth - 1, barriers=False)
            k = rng.choice((0, 1, 3))
            condition = rng.choice(CONDITIONS).format(h=threads // 2, k=k)
            lines += [f"if {condition}:", *(f"    {line}" for line in inner)]
        else:
            inner = statements(rng, threads, depth - 1, barriers=barriers)
            lines += ["for i in range(3):", *(f"    {line}" for line in inner)]
    return lines


def sharing_kernel(seed: int) -> tuple[ModuleOp, int]:
    """A kernel, often with too few barriers, and the number of its threads."""
    rng = random.Random(seed)
    threads = rng.choice((8, 16))
    body = [
        "S[0, t] = I[b, t]",
        "S[1, t] = I[b, t]",
        *(['T.tvm_storage_sync("shared")'] if rng.random() < 0.8 else []),
        "for i in range(2):",
        *(f"    {line}" for line in statements(rng, threads, 2)),
    ]
    text = "\n            ".join(body)
    script = f"""
@T.prim_func
def main(I: T.Buffer((2, {threads}), "float32"), O: T.Buffer((2, {threads}), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        S = T.decl_buffer((2, {threads}), scope="shared")
        for t in T.thread_binding({threads}, thread="threadIdx.x"):
            {text}
"""
    return parse_script(script), threads


def test_sharing_kernels() -> None:
    accepted = sound = 0
    for seed in range(FIRST, FIRST + 2 * COUNT):
        module, threads = sharing_kernel(seed)
        rng = np.random.default_rng(seed)
        arrays = [rng.random((2, threads), np.float32) for _ in range(2)]
        expected, error = results(module, "main", arrays)
        sound += error == ""
        try:
            after = lowered(module)
        except PassFailedException:
            continue
        accepted += error == ""
        found, fault = results(after, "main", arrays)
        assert fault == "", f"seed {seed}"
        if error:
            # The missing barriers are inserted.
            assert error == "RaceError", f"seed {seed}"
            continue
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    # What is sound is accepted, but for what a run does not reach.
    assert accepted >= 0.9 * sound > 0
