"""The roads to machine code, as lists of passes.

Each road is a function that lowers a module in place, and a text that `-p` takes:

>>> print(llvm_pipeline())
tir-lower-init-block,tir-convert-blocks-to-opaque,tir-lower-match-buffer,…

Every pass of a road leaves alone what is lowered already, so a module may be at any
level, or at several. Passes over Relax functions take part where a module has some.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.dialects.rare_collections import rare_collections
from xdsl_tvm.lowering.progress import Progress
from xdsl_tvm.passes.infra import (
    CompilerPass,
    CompositePass,
    PassContext,
    PassInfo,
    Sequential,
    Trail,
)
from xdsl_tvm.registry import find_pass

NO_KERNEL = (
    "the module has no GPU kernel: bind loops to threads, as in "
    "'thread_binding \"threadIdx.x\"', or mark an llvm.func as 'nvvm.kernel'"
)

RELAX_CHECKS = ("relax-insert-operand-checks",)
"""Operators that fail where an index or a divisor is not allowed."""

RELAX_TO_TIR = (
    *RELAX_CHECKS,
    "relax-legalize-ops",
    "relax-to-non-dataflow",
    "relax-call-tir-rewrite",
    "relax-kill-after-last-use",
)
"""Relax graphs to calls of TIR functions, on memory that is allocated and released."""

RELAX_TO_MEMREF = ("relax-convert-to-memref",)
"""Relax functions to functions on memrefs."""

TIR_BLOCKS_TO_LOOPS = (
    "tir-lower-init-block",
    "tir-convert-blocks-to-opaque",
    "tir-lower-match-buffer",
    "tir-lower-opaque-block",
)
"""Blocks to loops and buffers, and nothing else."""

FLOATS_OF_CPU = (
    'tir-bind-target{target="llvm"}',
    "tir-bf16-compute-legalize",
    "tir-fp8-compute-legalize",
)
"""Arithmetic on bfloat16 and float8 in f32, as in the default pipeline."""

FLAT_TO_LLVM = (
    "tvm-convert-cf-to-llvm",
    "tvm-convert-vector-to-llvm",
    "tvm-convert-arith-to-llvm",
    "tvm-convert-math-to-llvm",
    "tvm-convert-memref-to-llvm",
    "tvm-convert-func-to-llvm",
)
"""func, cf, memref, vector, arith and math to the llvm dialect."""

TO_LLVM = ("tvm-convert-scf-to-cf", "tvm-lower-assert", *FLAT_TO_LLVM)
"""The same, and structured control flow before them."""


MEMREF_TO_LLVM = (
    "tvm-expand-math",
    "tvm-hoist-divisions",
    "tvm-widen-indices",
    "tvm-convert-scf-parallel-to-threads",
    *TO_LLVM,
    "tvm-convert-bf16-to-bits",
    "tvm-keep-divisions-scalar",
)
"""Functions on memrefs to the llvm dialect, with threads; not checked yet."""


def tir_optimization(vector_bytes: int = 64, features: str = "") -> tuple[str, ...]:
    """Blocks to flat vector code, with vectors of so many bytes.

    Functions without a schedule get one, for a processor of these `features`, their
    blocks inlined; then the default pipeline up to MakePackedAPI: they are called by
    their own signature. Reductions begin before their loops.
    """
    return (
        "tir-inline-blocks",
        f'tir-default-cpu-schedule{{vector_bytes={vector_bytes} features="{features}"}}',
        'tir-default-pipeline{target="llvm" until="MakePackedAPI"}',
        "tir-hoist-first-iteration",
    )


def relax_optimization(
    vector_bytes: int = 64, winograd_tile: int = 2, features: str = ""
) -> tuple[str, ...]:
    """Relax graphs to calls of fused TIR functions on planned memory.

    Products of bfloat16, and convolutions of it and of f16, are summed in f32. Batch
    normalization becomes a product and a sum, and goes into the weights before it where
    it can. Convolutions with constant weights compute on blocks of as many channels as
    vectors of so many bytes hold, and their weights are rearranged here; those of 1 by 1
    whose groups are no blocks are matrix products, and Winograd's filtering computes
    tiles of up to `winograd_tile` results along an axis. Attention goes over the keys
    once. Constant weights of matrix products are stored in panels, those of bytes as
    instructions of `features` read them. Memory is planned as one arena.
    """
    folding = f"relax-fold-constant{{max_elements={_MOST_FOLDED}}}"
    lanes = max(vector_bytes // 4, 1)
    return (
        *RELAX_CHECKS,
        "relax-canonicalize-bindings",
        "relax-widen-sums",
        folding,
        "relax-combine-channel-scaling",
        f"relax-multiply-grouped-convolutions{{lanes={lanes}}}",
        f"relax-pad-channels{{lanes={lanes}}}",
        folding,
        f'relax-block-convolutions{{lanes={lanes} features="{features}"}}',
        folding,
        f"relax-winograd-convolutions{{tile={winograd_tile}}}",
        f"relax-one-pass-attention{{vector_bytes={max(vector_bytes, 4)}}}",
        f"relax-pack-weights{{vector_bytes={max(vector_bytes, 4)} "
        f'features="{features}"}}',
        "relax-dead-code-elimination",
        'relax-default-pipeline{memory="arena"}',
    )


_MOST_FOLDED = 1 << 22
"""Elements of a constant that is computed: enough for the weight of a convolution."""


def disables_assertions() -> bool:
    """Whether the `PassContext` has the assertions of programs left out of code."""
    return bool(PassContext.current().get_config("tir.disable_assert", bool))


def llvm_pipeline(
    *,
    relax: bool = False,
    vector_bytes: int | None = None,
    winograd_tile: int = 2,
    profile: bool = False,
    bound_checks: bool = False,
    until_memref: bool = False,
    features: str = "",
) -> str:
    """The road to the llvm dialect for the CPU, as pipeline text.

    With `vector_bytes`, Relax functions take the passes of `relax_optimization` on the
    way, and TIR functions those of `tir_optimization`; else they are lowered as they are
    written. With `profile`, calls of TIR functions from Relax functions are timed, and
    with `bound_checks` their accesses and divisions are asserted. With `until_memref` the
    road ends at functions on memrefs. Code may have instructions of `features` of the
    processor, those that `dialects/tir/processor_instructions.py` lists, with spaces
    between.
    """
    relax_to_tir, optimization = RELAX_TO_TIR, None
    if vector_bytes is not None:
        relax_to_tir = relax_optimization(vector_bytes, winograd_tile, features)
        optimization = tir_optimization(vector_bytes, features)
    options = "{profile=true}" if profile else ""
    to_memref = [f"{name}{options}" for name in RELAX_TO_MEMREF]
    return ",".join(
        (
            *(relax_to_tir if relax else ()),
            *(optimization or (*TIR_BLOCKS_TO_LOOPS, *FLOATS_OF_CPU)),
            *(("tir-skip-assert",) if disables_assertions() else ()),
            *(("tir-insert-bound-checks",) if bound_checks else ()),
            *(to_memref if relax else ()),
            "tir-convert-to-memref",
            *(() if until_memref else (*MEMREF_TO_LLVM, _verification(features))),
        )
    )


def _verification(features: str) -> str:
    """The check that LLVM compiles the result for a processor of these features."""
    return f'tvm-verify-llvm-legal{{features="{features}"}}'


TIR_BLOCKS_TO_LAUNCHES = (
    "tir-lower-cross-thread-reduction",
    "tir-lower-init-block",
    "tir-plan-and-update-buffer-allocation-location",
    "tir-convert-blocks-to-opaque",
    "tir-lift-thread-binding",
    "tir-compact-buffer-allocation",
    "tir-unify-thread-binding",
    "tir-lower-match-buffer",
    "tir-lower-opaque-block",
)
"""Blocks in loops bound to threads to launches, loops and buffers, and nothing else."""


_ONE_ARENA = 'memory="one-arena" alignment=256'
"""How memory of a GPU is planned: addresses are what the driver's allocations are."""


def gpu_pipeline(
    target: str = "cuda",
    *,
    relax: bool = False,
    fuse_multiply_add: bool = True,
    allow_tf32: bool = False,
) -> str:
    """The road to host functions that launch kernels of GPU modules, as text.

    TVM's lists of passes for `target`, that of TIR up to MakePackedAPI: functions of the
    host are called by their own signature. What no barrier of a block can order is
    refused. What a Relax function needs is one allocation, in which memory begins at
    multiples of 256 bytes. With `fuse_multiply_add` products that schedules make round
    once per term; `allow_tf32` is that of schedules.
    """
    options = f'target="{target}"'
    options += "" if fuse_multiply_add else " fuse_multiply_add=false"
    options += " allow_tf32=true" if allow_tf32 else ""
    return ",".join(
        (
            *((f"relax-default-pipeline{{{options} {_ONE_ARENA}}}",) if relax else ()),
            "tir-join-launches",
            f'tir-default-pipeline{{target="{target}" until="MakePackedAPI"}}',
            "tir-lower-warp-memory",
            "tir-verify-thread-sync{skip_volatile=true}",
            *(('relax-convert-to-memref{device="cuda"}',) if relax else ()),
            "tir-convert-to-gpu",
        )
    )


def kernel_pipeline(arch: str = "sm_80", *, fuse_multiply_add: bool = True) -> str:
    """The road from the contents of GPU modules to NVVM, as text.

    With `fuse_multiply_add` a product and a sum may round once, as nvcc has it.
    """
    return ",".join(
        (
            *(("tvm-contract-floats",) if fuse_multiply_add else ()),
            "tvm-unroll-local-loops",
            "tvm-expand-math",
            "tvm-convert-scf-to-cf",
            "tvm-convert-gpu-to-nvvm",
            *FLAT_TO_LLVM,
            f'tvm-verify-llvm-legal{{triple-kind="nvptx" arch="{arch}"}}',
        )
    )


def gpu_host_pipeline() -> str:
    """The road from functions that launch kernels to the llvm dialect, as text."""
    return ",".join(
        (
            "tvm-convert-gpu-launch-to-driver",
            "tvm-expand-math",
            "tvm-hoist-divisions",
            *TO_LLVM,
            "tvm-convert-bf16-to-bits",
            "tvm-keep-divisions-scalar",
            "tvm-verify-llvm-legal",
        )
    )


@cache
def passes_of(text: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline text; PassFailedException for one that is not ours."""
    return tuple(map(_pass_of, parse_pipeline(text)))


def run_pipeline(
    ctx: Context,
    module: ModuleOp,
    passes: str | Sequence[str],
    progress: Progress | None = None,
) -> None:
    """Run passes of this package on `module`, in place.

    `passes` is a pipeline text, or several. `progress` is told before each pass its name,
    its number from 0, and how many there are; instruments of the `PassContext` see all of
    them. Raises PassFailedException for a pass that this package does not have, and what
    the passes raise. Operands of the result are checked to be defined before their uses.
    Where they are not, or a pass raises on IR that does not verify, the error names the
    first pass whose result is broken.
    """
    steps = pipeline_steps(passes)
    trail = Trail(ctx, copy_of(module))
    with rare_collections() as between_steps:
        for number, step in enumerate(steps):
            if progress is not None:
                progress(_name(step), number, len(steps))
            with trail.explaining(module):
                if isinstance(step, Sequential):
                    step.apply_within(trail, ctx, module)
                else:
                    _apply_seen(ctx, step, module)
                    trail.add(step.name, step)
            between_steps()
        trail.verify(module, only_structure=True)


def _apply_seen(ctx: Context, step: ModulePass, module: ModuleOp) -> None:
    """Apply a pass that the road needs: instruments see it, and cannot leave it out."""
    context = PassContext.current()
    if not context.instruments:
        step.apply(ctx, module)
        return
    info = step.info if isinstance(step, CompilerPass) else PassInfo(0, step.name)
    for each in context.instruments:
        each.run_before_pass(module, info)
    step.apply(ctx, module)
    context.run_after_pass(module, info)


def pipeline_steps(passes: str | Sequence[str]) -> list[ModulePass]:
    """What `run_pipeline` runs, composite passes taken apart; imports all passes."""
    text = passes if isinstance(passes, str) else ",".join(passes)
    return list(_steps_of(text, repr(sorted(PassContext.current().config.items()))))


@lru_cache(maxsize=64)
def _steps_of(text: str, config: str) -> tuple[ModulePass, ...]:
    """The steps of a pipeline text in the current context, of this configuration."""
    return tuple(step for each in passes_of(text) for step in _steps(each))


def _name(step: ModulePass) -> str:
    return step.passes[0].name if isinstance(step, Sequential) else step.name


def _pass_of(spec: ArgSpec) -> ModulePass:
    pass_class = find_pass(spec.name)
    if pass_class is None:
        raise PassFailedException(f"there is no pass named '{spec.name}'")
    return pass_class.from_pass_spec(spec)


def _steps(each: ModulePass) -> Sequence[ModulePass]:
    """A pass, or those that a composite one runs as the `PassContext` has it."""
    if not isinstance(each, CompositePass):
        return (each,)
    return [Sequential((inner,), name=inner.name) for inner in each.passes()]


_LOWERED_BEFORE = {
    "affine": "run lower-affine first",
    "linalg": "run convert-linalg-to-loops first, on memrefs",
    "memref_stream": "run convert-memref-stream-to-loops first",
    "stencil": "run convert-stencil-to-ll-mlir first",
    "tensor": "bufferize the function first: tensors are to be memrefs",
    "varith": "run convert-varith-to-arith first",
}
"""What to do with operations of dialects that other passes lower."""


def refuse_foreign(module: ModuleOp) -> None:
    """Raises PassFailedException for the first operation that is to be lowered before."""
    for op in all_ops(module):
        advice = _LOWERED_BEFORE.get(op.name.partition(".")[0])
        if advice is not None:
            raise PassFailedException(
                f"cannot lower '{op.name}': it is neither Relax, TIR nor of the dialects "
                f"below them; {advice}"
            )


def lower_to_llvm(
    ctx: Context,
    module: ModuleOp,
    *,
    vector_bytes: int | None = None,
    winograd_tile: int = 2,
    profile: bool = False,
    bound_checks: bool = False,
    progress: Progress | None = None,
    features: str = "",
) -> None:
    """Lower a module of Relax, TIR, or func and memref to the llvm dialect, in place.

    Options are those of `llvm_pipeline` and `run_pipeline`. Raises PassFailedException
    where something has no lowering for the CPU.
    """
    refuse_foreign(module)
    relax = has_relax_functions(module)
    text = llvm_pipeline(
        relax=relax,
        vector_bytes=vector_bytes,
        winograd_tile=winograd_tile,
        profile=profile,
        bound_checks=bound_checks,
        features=features,
    )
    run_pipeline(ctx, module, text, progress)


def lower_to_gpu(
    ctx: Context,
    module: ModuleOp,
    arch: str,
    progress: Progress | None = None,
    *,
    fuse_multiply_add: bool = True,
    allow_tf32: bool = False,
) -> None:
    """Lower the Relax functions and thread-bound TIR functions of a module, in place.

    Each becomes a `func.func` that launches kernels of a `gpu.module`. Schedules use what
    `arch` has; `fuse_multiply_add` and `allow_tf32` are those of the schedules. Raises
    PassFailedException where something has no lowering for the GPU.
    """
    target = f"cuda -arch={arch}"
    text = gpu_pipeline(
        target,
        relax=has_relax_functions(module),
        fuse_multiply_add=fuse_multiply_add,
        allow_tf32=allow_tf32,
    )
    run_pipeline(ctx, module, text, progress)


def lower_to_nvvm(
    ctx: Context,
    module: ModuleOp,
    arch: str = "sm_80",
    *,
    fuse_multiply_add: bool = True,
) -> None:
    """Lower the thread-bound TIR functions and the GPU modules of a module, in place.

    `fuse_multiply_add` is that of `kernel_pipeline`. The contents of GPU modules end in
    the llvm and nvvm dialects; the host functions stay as they launch kernels. Raises
    PassFailedException where something has no lowering for a GPU of `arch`.
    """
    lower_to_gpu(ctx, module, arch)
    kernels, successors = _taken_out(module)
    try:
        if successors:
            passes = kernel_pipeline(arch, fuse_multiply_add=fuse_multiply_add)
            run_pipeline(ctx, kernels, passes)
    finally:
        _put_back(module, list(kernels.body.ops), successors)


def lower_to_driver_calls(
    ctx: Context,
    module: ModuleOp,
    arch: str,
    progress: Progress | None = None,
    *,
    fuse_multiply_add: bool = True,
    allow_tf32: bool = False,
) -> ModuleOp:
    """Lower a module for a GPU: its functions, in place, to host code in the llvm
    dialect, which calls the CUDA driver; gives the GPU modules, in the nvvm dialect.

    `fuse_multiply_add` says whether products and sums of floats may round once, and
    `allow_tf32` whether products of f32 may be those of tensor cores. Raises
    PassFailedException where something has no lowering, and for a module without kernels.
    """
    refuse_foreign(module)
    lower_to_gpu(
        ctx,
        module,
        arch,
        progress,
        fuse_multiply_add=fuse_multiply_add,
        allow_tf32=allow_tf32,
    )
    kernels, successors = _taken_out(module)
    if not successors:
        raise PassFailedException(NO_KERNEL)
    passes = kernel_pipeline(arch, fuse_multiply_add=fuse_multiply_add)
    run_pipeline(ctx, kernels, passes, progress)
    run_pipeline(ctx, module, gpu_host_pipeline(), progress)
    return kernels


def _taken_out(module: ModuleOp) -> tuple[ModuleOp, list[Operation | None]]:
    """A module of the GPU modules of a module, and what followed each of them.

    The conversions lower all that they find: host code and kernels have to be apart.
    """
    successors: list[Operation | None] = []
    inner = ModuleOp(Region(Block()))
    for kernel in [op for op in module.body.ops if isinstance(op, gpu.ModuleOp)]:
        successors.append(kernel.next_op)
        kernel.detach()
        inner.body.block.add_op(kernel)
    return inner, successors


def _put_back(
    module: ModuleOp, kernels: Sequence[Operation], successors: Sequence[Operation | None]
) -> None:
    pairs = list(zip(kernels, successors, strict=True))
    for kernel, successor in reversed(pairs):
        kernel.detach()
        if successor is None:
            module.body.block.add_op(kernel)
        else:
            module.body.block.insert_op_before(kernel, successor)
