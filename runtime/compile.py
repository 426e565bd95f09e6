"""Modules to executables: `xdsl_tvm.compile`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xdsl_tvm.dialects.rare_collections import rare_collections
from xdsl_tvm.runtime.compile_options import CompileOptions
from xdsl_tvm.runtime.start import start_or_compile

if TYPE_CHECKING:
    from xdsl_tvm.lowering.progress import Progress
    from xdsl_tvm.passes.infra.module_text import ModuleText
    from xdsl_tvm.runtime.executable_base import Executable
    from xdsl_tvm.runtime.load import Source
    from xdsl_tvm.runtime.packed_calls import Externs
    from xdsl_tvm.runtime.pipelines import Pipeline, TargetLike


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
    allow_tf32: bool = False,
    winograd_tile: int = 2,
) -> Executable:
    """Compile a module for this machine.

    `target` is `llvm`, for the processor, or `cuda`, for the first GPU, in a form that
    `Target.parse` reads; by default it is `Target.current()`, or else `llvm`. What code
    is not to use of the processor, `mattr` of the target takes away, by LLVM's names, as
    in `llvm -mattr=-avx512vnni`. Pipelines
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
    but for products on tensor cores. With `allow_tf32`, products of f32 are done by
    tensor cores, which use 10 of the 23 bits of the fraction of each operand. Both are
    for the GPU only.

    With `winograd_tile` 4 instead of 2, convolutions of 3 by 3 take fewer products, and
    round more: errors of up to ten parts in 10^6 of the largest result, instead of two
    (`relax-winograd-convolutions`). It is for the processor only.

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

    options = CompileOptions(
        target=target,
        relax_pipeline=relax_pipeline,
        tir_pipeline=tir_pipeline,
        params=params,
        opt_level=opt_level,
        optimize=optimize,
        arch=arch,
        profile=profile,
        bound_checks=bound_checks,
        progress=progress,
        externs=externs,
        graphs=graphs,
        fuse_multiply_add=fuse_multiply_add,
        allow_tf32=allow_tf32,
        winograd_tile=winograd_tile,
    )

    def whole(source: Source | ModuleText) -> Executable:
        # Modules of Python are like IR to its collector.
        with rare_collections():
            # Late: to import the compiler takes longer than the start from the cache.
            from xdsl_tvm.runtime.compilation import compile_module

            return compile_module(source, options)

    if not options.has_levels_alone:
        return whole(module)
    return start_or_compile(module, f"{opt_level} {optimize}", whole)
