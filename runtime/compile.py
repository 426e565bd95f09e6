"""Modules to executables: `xdsl_tvm.compile`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.passes.infra.rare_collections import rare_collections
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.global_functions import registered_externs
from xdsl_tvm.runtime.load import Source, load_module
from xdsl_tvm.runtime.native import NativeExecutable, Settings, no_progress
from xdsl_tvm.runtime.ndarray import host_value
from xdsl_tvm.runtime.packed_calls import Externs
from xdsl_tvm.runtime.pipelines import (
    Pipeline,
    TargetLike,
    apply_pipelines,
    target_or_current,
)

TARGETS = ("llvm", "cuda")


def compile(
    module: Source,
    target: TargetLike | None = None,
    *,
    relax_pipeline: Pipeline = "default",
    tir_pipeline: Pipeline = "default",
    params: Mapping[str | int, Any] | None = None,
    opt_level: int = 2,
    optimize: bool = True,
    arch: str | None = None,
    profile: bool = False,
    bound_checks: bool = False,
    progress: Progress | None = None,
    externs: Externs | None = None,
    graphs: bool = False,
    fuse_multiply_add: bool = True,
) -> Executable:
    """Compile a module for this machine.

    `target` is `llvm`, for the processor, or `cuda`, for the first GPU, in a form that
    `Target.parse` reads; by default it is `Target.current()`, or else `llvm`. Pipelines
    are those of `apply_pipelines`, which run before all else. `opt_level` is LLVM's, 0 to
    3. With `optimize`, Relax functions are lowered by `relax-default-pipeline`, and TIR
    functions for the processor are scheduled by `tir-default-cpu-schedule`, unless they
    have a schedule, and lowered by `tir-default-pipeline`; without, they are compiled as
    they are written. `arch` is the GPU architecture, such as `sm_80`, by default that of
    the target, or else of the GPU.
    The module is left as it is. Arrays that a function writes may overlap others, unless
    it has `tir.noalias`; such calls run code without a schedule, see `CompiledFunction`.

    `params` are arrays for parameters of the module's Relax function that other programs
    can see, `main` where it has several, by name or position. They are part of the code:
    calls leave them out, and what depends on them alone is computed here. Weights of
    convolutions are put into the order that vectors want.

    With `bound_checks`, code is compiled as it is written, and every access and integer
    division of TIR functions is asserted: where an index is out of bounds, or a division
    has no result, the call raises RuntimeError, instead of having undefined behavior. It
    is for the processor only.

    With `profile`, calls of TIR functions from Relax functions are timed, and
    `kernel_times` of the executable returns the times. `progress` is called before each
    step; a module that is found in the cache has none. `externs` are the Python functions
    that Relax functions call by name, as `relax.call_packed` does: they get arrays on
    memory that they must not keep, numbers and tuples. Those of `register_func` are known
    without that.

    With `graphs`, calls on the GPU become CUDA graphs: the second of calls with the same
    addresses, numbers and extents is captured, and later ones replay it (docs/cuda.md).

    Without `fuse_multiply_add`, products and sums of floats in kernels are rounded each,
    but for products on tensor cores. It is for the GPU only.

    >>> executable = compile(Path("vector_add.mlir"))
    >>> executable["vector_add"](a, b, c)

    `module` may be a function, such as one that `T.prim_func` or `R.function` decorates,
    a file or the text of one, too; see `Source`.

    Raises TypeError for any other object, ValueError for text that is no module, an
    unknown target or one with attributes that this machine's processor would not heed,
    PassFailedException where something has no lowering, or a parameter cannot be the
    array that `params` has for it, DiagnosticException if an extra
    is not installed, and RuntimeError if there is no GPU. A call of a compiled function
    raises RuntimeError if an assertion in it fails.
    """
    goal = target_or_current(target)
    kind, target_arch = _kind_and_arch(goal)
    arch = arch or target_arch
    with rare_collections():
        loaded = load_module(module)
        loaded = apply_pipelines(loaded, goal, relax_pipeline, tir_pipeline)
        if params:
            loaded = _with_params(loaded, params)
        settings = Settings(
            opt_level,
            optimize and not bound_checks,
            profile,
            bound_checks,
            progress or no_progress,
            fuse_multiply_add,
        )
        if kind == "cuda":
            # Late: whoever compiles for the processor needs nothing of the GPU.
            from xdsl_tvm.runtime.cuda import CudaExecutable

            if bound_checks:
                raise ValueError(
                    "bound_checks is for the target llvm; run kernels with "
                    "xdsl_tvm.interpret"
                )
            return CudaExecutable(loaded, arch, None, settings, graphs=graphs)
        if not fuse_multiply_add:
            raise ValueError(
                "fuse_multiply_add is for the target cuda; for llvm, schedule with "
                "tir-default-cpu-schedule{fuse_multiply_add=false} and set optimize=False"
            )
        if graphs:
            raise ValueError("graphs are for the target cuda; leave out graphs=True")
        # The executable keeps the module and lowers it in place where it has to.
        owned = loaded.clone() if loaded is module and not params else loaded
        functions = {**registered_externs(), **(externs or {})}
        return NativeExecutable(owned, settings, functions)


def _with_params(module: ModuleOp, params: Mapping[str | int, Any]) -> ModuleOp:
    """A copy of the module in which arrays take the place of parameters."""
    symbols = [
        op.attributes.get("global_symbol")
        for op in module.ops
        if isinstance(op, relax.FuncOp)
    ]
    names = [symbol.data for symbol in symbols if isinstance(symbol, StringAttr)]
    name = names[0] if len(names) == 1 else "main"
    if name not in names:
        raise ValueError(
            "params are for the module's Relax function that has a global_symbol, or for "
            f"main; it has {', '.join(names) or 'none'}"
        )
    # Late: most modules are compiled without.
    from xdsl_tvm.passes.relax.bind_params import BindParams

    bound = module.clone()
    BindParams(name, {key: host_value(each) for key, each in params.items()}).apply(
        new_context(), bound
    )
    return bound


def _kind_and_arch(target: Target) -> tuple[str, str | None]:
    kind = target.kind.name
    if kind not in TARGETS:
        raise ValueError(f"unknown target '{kind}'; use one of {', '.join(TARGETS)}")
    if kind == "llvm" and target.attrs.data:
        raise ValueError(
            "the target llvm is this machine's processor, and takes no attributes; leave "
            f"out {', '.join(target.attrs.data)}"
        )
    arch = target.attr("arch") if kind == "cuda" else None
    return kind, arch if isinstance(arch, str) else None
