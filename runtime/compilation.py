"""Compilation of modules, as `xdsl_tvm.compile` has it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.array_bytes import elements_in
from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra.module_text import ModuleText
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit, threads
from xdsl_tvm.runtime.compile_options import CompileOptions
from xdsl_tvm.runtime.constant_memory import ReservedMemory
from xdsl_tvm.runtime.early_constants import EarlyConstants
from xdsl_tvm.runtime.early_work import EarlyWork
from xdsl_tvm.runtime.executable_base import Executable
from xdsl_tvm.runtime.global_functions import registered_externs
from xdsl_tvm.runtime.load import Source, load_module, load_text
from xdsl_tvm.runtime.module_fingerprint import large_constants
from xdsl_tvm.runtime.native import NativeExecutable, Settings, no_progress
from xdsl_tvm.runtime.ndarray import host_value
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.runtime.packed_calls import Externs
from xdsl_tvm.runtime.pipelines import apply_pipelines, target_or_current
from xdsl_tvm.runtime.rewritten_weights import rewritten_weights
from xdsl_tvm.runtime.start import StartedExecutable

TARGETS = ("llvm", "cuda")
"""The kinds of targets that there is code for."""


Executable.register(StartedExecutable)


def compile_module(module: Source | ModuleText, options: CompileOptions) -> Executable:
    """`compile`, also of a text whose file is read already."""
    goal = target_or_current(options.target)
    kind, target_arch = _kind_and_arch(goal)
    mattr = _features_of(goal)
    with ExitStack() as stack:
        work = stack.enter_context(EarlyWork())
        values = {key: host_value(each) for key, each in (options.params or {}).items()}
        is_used = kind == "llvm" and llvm_jit.holds_data()
        reserved = ReservedMemory(work, is_used=is_used)
        stack.enter_context(elements_in(reserved))
        # A text is read while threads work.
        rewritten: frozenset[str | int] = frozenset()
        if options.optimize and isinstance(module, ModuleOp):
            rewritten = rewritten_weights(module)
        constants = EarlyConstants(values, work, reserved, rewritten)
        loaded = _loaded(module)
        is_early = kind == "llvm" and options.optimize and has_relax_functions(loaded)
        if is_early and options.params and not threads.is_running():
            # Networks have parallel loops.
            work.begin(threads.prepare)
        if is_used:
            reserved.expect(_size_of_new_constants(loaded, values, rewritten))
        if is_early and constants and ObjectCache.default().is_empty:
            # Late: a module that is found in the cache needs none of it.
            from xdsl_tvm.runtime.unit_objects import import_passes

            import_passes(options.winograd_tile)
        loaded = apply_pipelines(
            loaded, goal, options.relax_pipeline, options.tir_pipeline
        )
        functions = {**registered_externs(), **(options.externs or {})}
        loaded = _without_machine(loaded, functions)
        if options.params:
            loaded = _with_params(loaded, constants.values())
        settings = Settings(
            options.opt_level,
            options.optimize and not options.bound_checks,
            options.profile,
            options.bound_checks,
            options.progress or no_progress,
            options.fuse_multiply_add,
            options.winograd_tile,
            mattr,
            options.allow_tf32,
        )
        _check(options, kind)
        if kind == "cuda":
            # Late: whoever compiles for the processor needs nothing of the GPU.
            from xdsl_tvm.runtime.cuda import CudaExecutable

            arch = options.arch or target_arch
            return CudaExecutable(
                loaded, arch, None, settings, graphs=options.graphs, externs=functions
            )
        # The executable keeps the module and lowers it in place where it has to.
        owned = copy_of(loaded) if loaded is module and not options.params else loaded
        return NativeExecutable(owned, settings, functions, reserved)


def _check(options: CompileOptions, kind: str) -> None:
    """Refuse options of the other kind of target."""
    if options.winograd_tile not in (2, 4):
        raise ValueError(f"winograd_tile must be 2 or 4, got {options.winograd_tile}")
    if kind == "cuda":
        if options.bound_checks:
            raise ValueError(
                "bound_checks is for the target llvm; run kernels with xdsl_tvm.interpret"
            )
        if options.winograd_tile != 2:
            raise ValueError(
                "winograd_tile is for the target llvm; leave it out for cuda"
            )
        return
    if not options.fuse_multiply_add:
        raise ValueError(
            "fuse_multiply_add is for the target cuda; for llvm, schedule with "
            "tir-default-cpu-schedule{fuse_multiply_add=false} and set optimize=False"
        )
    if options.allow_tf32:
        raise ValueError("allow_tf32 is for the target cuda; leave it out")
    if options.graphs:
        raise ValueError("graphs are for the target cuda; leave out graphs=True")


def _size_of_new_constants(
    module: ModuleOp,
    params: Mapping[str | int, Any],
    rewritten: frozenset[str | int],
) -> int:
    """About how many bytes of constants are written to new memory by passes or later.

    Those of the module itself are, and parameters that passes rearrange.
    """
    size = sum(map(len, large_constants(module)))
    return size + sum(
        getattr(params[key], "nbytes", 0) for key in rewritten & params.keys()
    )


def _loaded(module: Source | ModuleText) -> ModuleOp:
    return load_text(module) if isinstance(module, ModuleText) else load_module(module)


def _without_machine(module: ModuleOp, functions: Externs) -> ModuleOp:
    """The module, or a copy of it in which calls of the virtual machine's functions are
    operations; of other functions than these."""
    for op in all_ops(module):
        if not isinstance(op, PackedCallOp) or op.callee.data in functions:
            continue
        if op.callee.data.startswith("vm.builtin."):
            # Late: most modules have no such calls.
            from xdsl_tvm.passes.relax.raise_runtime_builtin import RaiseRuntimeBuiltin

            raised = module.clone()
            RaiseRuntimeBuiltin().apply(new_context(), raised)
            return raised
    return module


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
    BindParams(name, {**params}).apply(new_context(), bound)
    return bound


def _kind_and_arch(target: Target) -> tuple[str, str | None]:
    kind = target.kind.name
    if kind not in TARGETS:
        raise ValueError(f"unknown target '{kind}'; use one of {', '.join(TARGETS)}")
    others = [name for name in target.attrs.data if name != "mattr"]
    if kind == "llvm" and others:
        raise ValueError(
            "the target llvm is this machine's processor, and takes no attributes but "
            f"mattr; leave out {', '.join(others)}"
        )
    arch = target.attr("arch") if kind == "cuda" else None
    return kind, arch if isinstance(arch, str) else None


def _features_of(target: Target) -> str:
    """What a target for the processor takes away of it.

    Raises ValueError for what the processor lacks or does not know.
    """
    mattr = target.attr("mattr", ()) if target.kind.name == "llvm" else ()
    if not isinstance(mattr, tuple) or not mattr:
        return ""
    flags = ",".join(map(str, mattr))
    llvm_jit.machine_without(flags)
    return flags
