"""Kernels with barriers that run without a race, from tests, examples and generators.

They are the functions that call `tvm_storage_sync` in the inputs of FileCheck tests or in
what their RUN lines make of others, in the corpus of scripts, in the examples, and in
the constant strings of Python tests. Generators of other tests add random ones.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException, ParseError

from support import filecheck_semantics, paths, script_corpus
from support.allreduce_kernels import random_allreduce
from support.barriers import barriers, launches
from support.copy_kernels import plain_copies
from support.ir import parse as parse_ir
from support.pipelined_loops import random_pipeline
from support.reduction_kernels import random_reduction
from support.staged_programs import staged_program
from support.thread_kernels import random_kernel
from support.warp_exchanges import Exchange
from xdsl_tvm.analysis.tir.copy_rings import COPY
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.lowering.pipelines import TIR_BLOCKS_TO_LAUNCHES, run_pipeline
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir import LowerThreadAllreduce
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script
from xdsl_tvm.tvmscript.files import read_file

_BARRIER = "tvm_storage_sync"
_TO_LAUNCHES = ",".join((*TIR_BLOCKS_TO_LAUNCHES, "tir-inject-virtual-thread"))


@dataclass
class SoundKernel:
    """A function with barriers, and what it computes."""

    name: str
    module: ModuleOp
    """One function, whose threads are those of launches."""
    checker: SemanticsChecker


def sound_kernel(name: str, module: ModuleOp) -> SoundKernel | None:
    """A module of one function as a kernel; None where it does not run, or races."""
    try:
        module.verify()
        checker = SemanticsChecker(module, runs=1)
        module = module.clone()
        run_pipeline(new_context(allow_unregistered=True), module, _TO_LAUNCHES)
        if checker.report.checked:
            checker.check(_TO_LAUNCHES, module)
    except DiagnosticException:
        return None
    if not checker.report.checked or not barriers(module):
        return None
    return SoundKernel(name, module, checker)


def written_kernels(every: int = 1) -> Iterator[SoundKernel]:
    """Those that the repository holds, or those of a part of its modules."""
    for name, module in islice(_modules(), 0, None, every):
        for op in module.ops:
            if isinstance(op, tir.FuncOp) and not op.is_declaration:
                alone = ModuleOp([op.clone()])
                is_taken = barriers(alone) and not _copies_tensors(op)
                found = sound_kernel(name, alone) if is_taken else None
                if found is not None:
                    yield found


def _copies_tensors(func: tir.FuncOp) -> bool:
    """Whether counting barriers order what it does, and barriers of the block do not.

    `tests/e2e/test_tensor_maps.py` plants faults in such kernels.
    """
    return any(
        isinstance(op, tir.CallOp) and op.callee.data == COPY for op in func.walk()
    )


def random_kernels(seed: int) -> Iterator[SoundKernel]:
    """Those of the generators for a number, as far as they are sound."""
    texts = {
        "copies": plain_copies(seed),
        "pipeline": random_pipeline(seed),
        "reduction": random_reduction(seed, barriers=True),
        "threads": random_kernel(seed, faulty=False).text,
        "warp": Exchange.random(random.Random(seed)).text(),
    }
    modules = {name: parse_ir(text) for name, text in texts.items()}
    modules["allreduce"] = LowerThreadAllreduce()(parse_ir(random_allreduce(seed)))
    modules["staged"] = parse_script(staged_program(seed))
    for name, module in modules.items():
        found = sound_kernel(f"{name} {seed}", module) if barriers(module) else None
        if found is not None:
            yield found


def _modules() -> Iterator[tuple[str, ModuleOp]]:
    for path in sorted(paths.FILECHECK.rglob("*.mlir")):
        if _BARRIER in path.read_text():
            without: list[ModuleOp] = []
            for module in filecheck_semantics.modules(path):
                if barriers(module):
                    yield path.name, module
                elif launches(module):
                    without.append(module)
            yield from _outputs_of(path, without)
    for script in script_corpus.scripts():
        if _BARRIER in script.text:
            yield script.id, parse_script(script.text)
    for path in sorted(paths.EXAMPLES.rglob("*")):
        if path.suffix in (".mlir", ".py") and _BARRIER in path.read_text():
            is_script = path.suffix == ".py"
            yield path.name, read_file(path) if is_script else parse_ir(path.read_text())
    for path in sorted(paths.TESTS.rglob("test_*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if _BARRIER in text else ():
            match node:
                case ast.Constant(value=str(value)) if _BARRIER in value:
                    yield from ((path.name, module) for module in _parsed(value))
                case _:
                    pass


def _outputs_of(
    path: Path, modules: Sequence[ModuleOp]
) -> Iterator[tuple[str, ModuleOp]]:
    """What the RUN lines of a FileCheck test make of inputs."""
    available = Universe.get_multiverse().all_passes
    for pipeline in filecheck_semantics.pipelines(path):
        for each in modules:
            module = each.clone()
            try:
                for one in parse_passes(available, pipeline):
                    one.apply(new_context(allow_unregistered=True), module)
                module.verify()
            except DiagnosticException:
                continue
            yield f"{path.name} after {pipeline}", module


def _parsed(text: str) -> Iterator[ModuleOp]:
    """The module that a string holds, if it does."""
    try:
        if "T.prim_func" in text:
            yield parse_script(text)
        elif "tir.func" in text:
            yield parse_ir(text)
    except (ParseError, DiagnosticException):
        return
