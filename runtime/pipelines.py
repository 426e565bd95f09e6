"""Pipelines that run before a module is compiled, and the target that it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra.sequential import as_compiler_pass

_NONE = (None, "default")
"""Pipelines that add nothing to what `compile` does."""

TargetLike: TypeAlias = "str | Target | Mapping[str, object]"
Pipeline: TypeAlias = "str | ModulePass | None"
"""A pass, the name of a registered pipeline, or `default` or None for no other."""


def target_or_current(target: TargetLike | None) -> Target:
    """The target that is given, or else the current one, or `llvm`.

    Raises ValueError for what is no target.
    """
    if target is not None:
        return Target.parse(target)
    return Target.current() or Target.parse("llvm")


def apply_pipelines(
    module: ModuleOp, target: Target, relax_pipeline: Pipeline, tir_pipeline: Pipeline
) -> ModuleOp:
    """The module after a pipeline for Relax and one for TIR, or the module itself.

    `default` and None stand for nothing that comes before what `compile` does anyway.
    Raises ValueError for an unknown name, and what the passes raise.
    """
    if relax_pipeline in _NONE and tir_pipeline in _NONE:
        return module
    # Late: the pipelines hold all passes, and a module in the cache needs none.
    from xdsl_tvm.passes.relax.default_pipeline import get_pipeline as relax_named
    from xdsl_tvm.passes.tir.default_pipeline import get_tir_pipeline as tir_named

    with target:
        module = _applied(module, relax_pipeline, relax_named)
        return _applied(module, tir_pipeline, tir_named)


def _applied(
    module: ModuleOp, pipeline: Pipeline, named: Callable[[str], ModulePass]
) -> ModuleOp:
    if pipeline in _NONE:
        return module
    found = named(pipeline) if isinstance(pipeline, str) else pipeline
    return as_compiler_pass(found)(module)
