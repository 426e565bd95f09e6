"""From MLIR text to lowered modules."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

from xdsl_tvm.passes.tir.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.tir.verify_form import VerifyForm
from xdsl_tvm.registry import all_passes, new_context

LOWERING = (
    "tvm-expand-math",
    "tvm-convert-scf-to-cf",
    "tvm-convert-arith-to-llvm",
    "tvm-convert-math-to-llvm",
    "tvm-convert-cf-to-llvm",
    "tvm-convert-memref-to-llvm",
    "tvm-convert-func-to-llvm",
    "tvm-convert-gpu-to-nvvm",
)
"""From func, scf, cf, arith, math, memref and gpu to the llvm dialect."""


def parse_module(text: str) -> tuple[Context, ModuleOp]:
    """A verified module and the context it was parsed in."""
    context = new_context(allow_unregistered=True)
    module = Parser(context, text).parse_module()
    module.verify()
    return context, module


def lower_module(text: str, passes: tuple[str, ...] = LOWERING) -> ModuleOp:
    """The module that `passes` make of `text`, verified after each of them."""
    context, module = parse_module(text)
    known = get_all_passes() | all_passes()
    for name in passes:
        known[name]()().apply(context, module)
        module.verify()
    return module


def default_passes_with_forms(target: str) -> list[ModulePass]:
    """The default pipeline, and the checks of the form after each of its passes.

    The checks leave verifiers to who runs the passes, as `check_semantics` does.
    """
    return [
        replace(one, verify_ops=False) if isinstance(one, VerifyForm) else one
        for one in DefaultPipeline(target=target, debug=True).passes()
    ]
