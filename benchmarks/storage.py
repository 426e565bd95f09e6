"""What tir-storage-rewrite changes for CPU code: memory, time to run, time to compile.

    python benchmarks/storage.py
    python benchmarks/storage.py --write                 and into docs/performance.md

Kernels with several allocations and networks of examples/models, in the sizes of the
tests, are compiled with the pass and, by the configuration
`tir.disable_storage_rewrite`, without it. The two executables take turns. The bytes are
those that TIR functions allocate at a time after the passes, for symbolic sizes none; of
functions of a module, the one that needs most counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _page import write_section
from _race import race, turn
from cpu_kernels import HEADER, aligned
from cpu_kernels import kernels as plain_kernels
from xdsl.dialects.builtin import ModuleOp

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from models import MODELS

from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.analysis.tir.allocated_bytes import allocated_bytes_of_functions
from xdsl_tvm.lowering.pipelines import relax_optimization, run_pipeline, tir_optimization
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

_STAGE = """
    for i in range(512):
        for j in range(1024):
            {target}[i, j] = {value}
"""


def stages(count: int) -> str:
    """Elementwise stages and reversals of rows by turns, each into memory of its own."""
    shape = 'T.Buffer((512, 1024), "float32")'
    text = f"def stages(X: {shape}, Y: {shape}):\n"
    for k in range(count):
        text += f'    S{k} = T.alloc_buffer((512, 1024), "float32")\n'
    source = "X"
    for k in range(count):
        column = "1023 - j" if k % 2 else "j"
        value = f"{source}[i, {column}] * T.float32(1.5) + T.float32(1)"
        text += _STAGE.format(target=f"S{k}", value=value)
        source = f"S{k}"
    text += _STAGE.format(target="Y", value=f"{source}[i, j]")
    return "@T.prim_func\n" + text


def programs() -> dict[str, tuple[ModuleOp, list[Any]]]:
    """Modules by name, with arguments of their function."""
    random = np.random.default_rng(0)
    found: dict[str, tuple[ModuleOp, list[Any]]] = {}
    for kernel in plain_kernels():
        if kernel.name in ("softmax", "layer norm", "matmul 512", "conv2d"):
            arrays = [aligned(shape, random) for shape in kernel.shapes]
            found[kernel.name] = parse(HEADER + kernel.source), arrays
    for count in (2, 8):
        arrays = [aligned((512, 1024), random) for _ in range(2)]
        found[f"{count} stages"] = parse(HEADER + stages(count)), arrays
    for name in ("resnet18", "bert"):
        model = MODELS[name].small()
        values = [*model.inputs(), *model.parameters().values()]
        module = model.build()
        found[f"{name}, small"] = module, [np.ascontiguousarray(v) for v in values]
    return found


def most_bytes(module: ModuleOp) -> int:
    """The most bytes that a function of a module allocates at a time, lowered."""
    module = module.clone()
    relax = relax_optimization() if has_relax_functions(module) else ()
    run_pipeline(new_context(), module, [*relax, *tir_optimization()])
    functions = allocated_bytes_of_functions(module).values()
    return max((sum(sizes.values()) for sizes in functions), default=0)


def compiled(module: ModuleOp, arrays: Sequence[Any]) -> tuple[float, Callable[[], Any]]:
    """Seconds to compile, and a call."""
    from xdsl_tvm.runtime.executable import compile

    start = time.perf_counter()
    executable = compile(module)
    names = list(executable)
    call = executable["main" if "main" in names else names[0]]
    return time.perf_counter() - start, lambda: call(*arrays)


def measure(name: str, module: ModuleOp, arrays: Sequence[Any], seconds: float) -> str:
    """A row of the table."""
    sizes: list[int] = []
    compiling: list[float] = []
    calls: list[Callable[[], Any]] = []
    results: list[Any] = []
    for disabled in (True, False):
        with PassContext(config={"tir.disable_storage_rewrite": disabled}):
            sizes.append(most_bytes(module))
            times = [compiled(module, arrays) for _ in range(3)]
        compiling.append(min(each for each, _ in times))
        calls.append(times[-1][1])
        found = calls[-1]()
        results.append(np.array(arrays[-1] if found is None else found))
    np.testing.assert_array_equal(*results)
    before, after = race([lambda call=call: turn(call) for call in calls], seconds)
    return (
        f"| {name} | {sizes[0]} | {sizes[1]} | {before * 1e3:.3f} | {after * 1e3:.3f} | "
        f"{after / before:.2f} | {compiling[0] * 1e3:.0f} | {compiling[1] * 1e3:.0f} |"
    )


_LEGEND = (
    "",
    "Bytes are those of TIR functions at a time. Memory up to 8 KiB of the scope `local`",
    "is never shared, and counts where it is allocated; compiled, it is in the frame of",
    "the function with and without the pass. Times to run and to compile are in ms.",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each race")
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    os.environ["XDSL_TVM_CACHE"] = "off"
    lines = [
        "| program | bytes before | after | ms before | after | ratio | compile before "
        "| after |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (module, arrays) in programs().items():
        lines.append(measure(name, module, arrays, options.seconds))
        print(lines[-1], flush=True)
    if options.write:
        write_section("storage.py", "Memory of CPU kernels", [*lines, *_LEGEND])


if __name__ == "__main__":
    main()
