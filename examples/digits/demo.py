"""Compiles the classifier of this folder for the CPU and classifies the test images.

    python examples/digits/demo.py [--stages DIR]

Exits with 1 if fewer than 95 % of the images are recognised, or if a probability differs
from that of numpy by 1e-5 or more.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from data import FOLDER, load_digits, split
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.lowering.pipelines import (
    RELAX_TO_MEMREF,
    RELAX_TO_TIR,
    TO_LLVM,
    run_pipeline,
    tir_optimization,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import Executable, load_module
from xdsl_tvm.runtime.llvm_jit import assembly, host_vector_bytes

MODEL = FOLDER / "model.mlir"
BUILD = FOLDER.parent.parent / "build"
CACHE = "XDSL_TVM_CACHE"
ACCURACY = 0.95
TOLERANCE = 1e-5
STAGES = (
    ("legalized-tir", RELAX_TO_TIR),
    ("flat-tir", tir_optimization(host_vector_bytes())),
    ("memref", (*RELAX_TO_MEMREF, "tir-convert-to-memref")),
    ("math-expanded", ("tvm-expand-math",)),
    ("llvm-dialect", (*TO_LLVM, "tvm-verify-llvm-legal")),
)
"""What each stage is called, and the passes that lead to it."""

Array = NDArray[np.float32]


def main() -> int:
    parser = argparse.ArgumentParser(description="handwritten digits on the CPU")
    parser.add_argument("--stages", type=Path, default=BUILD / "digits-stages")
    folder: Path = parser.parse_args().stages

    all_images, all_labels = load_digits()
    images, labels = split(all_images)[1], split(all_labels)[1]

    cold, warm, classify = compile_times()
    found = classify["main"](images)
    accuracy = float((found.argmax(1) == labels).mean())
    error = float(np.abs(found - reference(images)).max())
    per_image = best_of(50, lambda: classify["main"](images)) / len(images)
    files = write_stages(folder)

    for name, value in (
        ("model", f"{MODEL.name}, two dense layers, 64-96-10"),
        ("accuracy", f"{accuracy:.2%} of {len(images)} test images"),
        ("agreement", f"max abs error {error:.1e} against numpy"),
        ("cold compile", f"{cold * 1e3:.0f} ms"),
        ("warm compile", f"{warm * 1e3:.0f} ms with the object cache"),
        ("run time", f"{per_image * 1e6:.2f} us per image"),
        ("stages", f"{folder}: {', '.join(files)}"),
    ):
        print(f"{name:<13}{value}")
    if accuracy < ACCURACY:
        print(f"error: the accuracy is below {ACCURACY:.0%}", file=sys.stderr)
        return 1
    if not error < TOLERANCE:
        print(f"error: the probabilities differ by {TOLERANCE} or more", file=sys.stderr)
        return 1
    return 0


def compile_times() -> tuple[float, float, Executable]:
    """Seconds to compile without and with the object cache, and the compiled model."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory() as cache:
        try:
            os.environ[CACHE] = "off"
            xdsl_tvm.compile(MODEL)  # imports
            cold = best_of(1, lambda: xdsl_tvm.compile(MODEL))
            os.environ[CACHE] = cache
            executable = xdsl_tvm.compile(MODEL)
            warm = best_of(1, lambda: xdsl_tvm.compile(MODEL))
        finally:
            if before is None:
                del os.environ[CACHE]
            else:
                os.environ[CACHE] = before
    return cold, warm, executable


def best_of(times: int, function: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds."""
    seconds: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def reference(images: Array) -> NDArray[np.float64]:
    """The probabilities, by numpy in double precision from the bytes in the model."""
    shapes = ((64, -1), (-1,), (-1, 10), (-1,))
    weights = re.findall(r'dense<"0x([0-9A-F]+)">', MODEL.read_text(encoding="utf-8"))
    w1, b1, w2, b2 = (
        np.frombuffer(bytes.fromhex(text), "<f4").astype(np.float64).reshape(shape)
        for text, shape in zip(weights, shapes, strict=True)
    )
    logits = np.maximum(images @ w1 + b1, 0) @ w2 + b2
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def write_stages(folder: Path) -> list[str]:
    """Write the module at every stage of the road; gives the names of the files."""
    from xdsl_tvm.lowering.llvm_ir import llvm_ir

    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []

    def write(name: str, text: str) -> None:
        names.append(f"{len(names) + 1}-{name}")
        (folder / names[-1]).write_text(text, encoding="utf-8")

    context = new_context()
    module: ModuleOp = load_module(MODEL, context)
    write("relax.mlir", f"{module}\n")
    for name, passes in STAGES:
        run_pipeline(context, module, passes)
        write(f"{name}.mlir", f"{module}\n")
    text = llvm_ir(context, module)
    write("llvm-ir.ll", text)
    write("assembly.s", assembly(text))
    return names


if __name__ == "__main__":
    sys.exit(main())
