"""Random TIR programs: texts round-trip, passes keep what is computed, so does the CPU.

The ordinary run takes a few programs; `XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import copy
import importlib.util
import os
from io import StringIO
from typing import Any

import numpy as np
import pytest
from support.tir_programs import Program, random_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.convert_blocks_to_opaque import ConvertBlocksToOpaque
from xdsl_tvm.passes.tir.lower_init_block import LowerInitBlock
from xdsl_tvm.passes.tir.lower_opaque_block import LowerOpaqueBlock
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable import Executable

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COMPILED = COUNT if "XDSL_TVM_FUZZ" in os.environ else 4
PASSES: tuple[type[CompilerPass], ...] = (
    LowerInitBlock,
    ConvertBlocksToOpaque,
    LowerOpaqueBlock,
)
STOCK: tuple[type[ModulePass], ...] = (
    CanonicalizePass,
    CommonSubexpressionElimination,
    DeadCodeElimination,
)


def text_of(module: ModuleOp, *, generic: bool = False) -> str:
    output = StringIO()
    Printer(output, print_generic_format=generic).print_op(module)
    return output.getvalue()


CONTEXT = new_context()
Inputs = dict[str, list[tuple[Any, ...]]]


def public_functions(module: ModuleOp) -> list[tir.FuncOp]:
    return [
        op
        for op in module.body.ops
        if isinstance(op, tir.FuncOp) and "global_symbol" in op.attributes
    ]


def inputs_for(module: ModuleOp, seed: int) -> Inputs:
    """Two argument lists for every public function."""
    rng = np.random.default_rng(seed)
    return {
        func.sym_name.data: [random_arguments(func, rng) for _ in range(2)]
        for func in public_functions(module)
    }


def check_round_trips(module: ModuleOp) -> None:
    for generic in (False, True):
        text = text_of(module, generic=generic)
        read = Parser(CONTEXT, text).parse_module()
        read.verify()
        assert read.is_structurally_equivalent(module), text
        assert text_of(read, generic=generic) == text


def check_form(pass_: CompilerPass, module: ModuleOp) -> ModuleOp:
    """What the pass makes of `module`, which is verified and stays as it was."""
    before = module.clone()
    result = pass_(module)
    result.verify()
    assert module.is_structurally_equivalent(before)
    check_round_trips(result)
    again = pass_(result)
    assert again.is_structurally_equivalent(result), f"{pass_.name} is not idempotent"
    return result


def check_same_results(module: ModuleOp, passes: list[ModulePass], seed: int) -> None:
    """Compare a module before and after each pass; skip where threads race in it."""
    try:
        report = check_semantics(module, passes, inputs_for(module, seed), tolerance=0.0)
    except SemanticsError as error:
        if "race on" in str(error):
            # The generator binds loops to threads without asking what they write, and
            # reductions over threads become races once their blocks are opaque.
            pytest.skip("threads of the program race, so its results are open")
        raise
    assert not report.skipped


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_block_passes_keep_what_programs_compute(seed: int):
    program = random_module(seed)
    module = program.module
    module.verify()
    check_round_trips(module)
    current = module
    for pass_class in PASSES:
        current = check_form(pass_class(), current)
    kinds = {op.name for op in current.walk()}
    assert not kinds & {"tir.block", "tir.init", "tir.alloc_buffer", "tir.reads"}
    if not program.foreign:
        check_same_results(module, [p() for p in PASSES], seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT, 4))
def test_stock_passes_may_run_anywhere(seed: int):
    program = random_module(seed)
    stock = [p() for p in STOCK]
    passes: list[ModulePass] = list(stock)
    for pass_class in PASSES:
        passes += [pass_class(), *stock]
    if not program.foreign:
        check_same_results(program.module, passes, seed)
        return
    for pass_ in passes:
        pass_.apply(CONTEXT, program.module)
        program.module.verify()
    check_round_trips(program.module)


def is_compilable(program: Program) -> bool:
    return not program.foreign and not program.threads


def check_compiled(module: ModuleOp, inputs: Inputs) -> None:
    """The compiled functions compute, to the bit, what the interpreted ones do."""
    check_executable(xdsl_tvm.compile(module, optimize=False), module, inputs)
    try:
        optimized = xdsl_tvm.compile(module)
    except PassFailedException as error:
        # As TVM does, the default pipeline insists on constant extents.
        if "is to be unrolled, but its extent is no constant" in str(error):
            return
        raise
    check_executable(optimized, module, inputs)


def check_executable(compiled: Executable, module: ModuleOp, inputs: Inputs) -> None:
    interpreted = xdsl_tvm.interpret(module)
    for name, cases in inputs.items():
        for case in cases:
            theirs, ours = (tuple(copied(a) for a in case) for _ in range(2))
            expected, got = interpreted[name](*theirs), compiled[name](*ours)
            for position, (old, new) in enumerate(zip(theirs, ours, strict=True)):
                same(f"{name}: argument {position}", old, new)
            if expected is not None:
                same(f"{name}: result", expected, got)


def copied(argument: Any) -> Any:
    return copy.copy(argument)


def same(where: str, expected: Any, got: Any) -> None:
    old, new = np.asarray(expected), np.asarray(got)
    if old.dtype.kind not in "biu":
        old, new = old.astype(np.float64), new.astype(np.float64)
    np.testing.assert_array_equal(new, old, err_msg=where)


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="needs llvmlite")
@pytest.mark.parametrize("seed", range(COMPILED))
def test_compiled_programs_agree_with_the_interpreter(seed: int):
    program = random_module(seed)
    if is_compilable(program):
        check_compiled(program.module, inputs_for(program.module, seed))
