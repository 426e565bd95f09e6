"""TVM's default Relax pipelines, as one pass (docs/spec/relax-passes-related.md F).

`ROWS` are the lists of the reference. A row whose pass does not exist yet is a gap; it
takes part as soon as the registry knows its pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.tir.target import Target, target_text
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompilerPass, CompositePass
from xdsl_tvm.passes.infra.pipeline_registry import Maker, PipelineRegistry
from xdsl_tvm.passes.infra.sequential import find_pass_class
from xdsl_tvm.passes.relax.static_plan_block_memory import StaticPlanBlockMemory


@dataclass(frozen=True)
class Row:
    """One place of a pipeline."""

    name: str
    """TVM's name of the pass: `LegalizeOps`."""
    replaced: bool = False
    """Its work is done on the way from Relax to memref, so that it does not run here."""
    device_only: bool = False
    """Does nothing for a CPU, so that its absence is no gap there."""

    def find(self) -> type[ModulePass] | None:
        """The class of the pass; None if it does not exist yet, or is replaced."""
        return None if self.replaced else find_pass_class("relax", self.name)


_LEGALIZE: Final = (
    Row("LegalizeOps"),
    Row("AnnotateTIROpPattern"),
    Row("FoldConstant"),
    Row("FuseOps"),
    Row("FuseTIR"),
)
_DATAFLOW_LOWER: Final = (
    Row("RewriteDataflowReshape"),
    Row("ToNonDataflow"),
    Row("RemovePurityChecking"),
    Row("CallTIRRewrite"),
)
_PLAN: Final = Row("StaticPlanBlockMemory")
_CUDA_GRAPH: Final = Row("RewriteCUDAGraph", device_only=True)
_FINALIZE: Final = (
    Row("LowerAllocTensor"),
    Row("KillAfterLastUse"),
    Row("LowerRuntimeBuiltin", replaced=True),
    Row("ComputePrimValue", replaced=True),
    Row("VMShapeLower", replaced=True),
    Row("AttachGlobalSymbol", replaced=True),
)
ROWS: Final[dict[str, tuple[Row, ...]]] = {
    "target": (*_LEGALIZE, *_DATAFLOW_LOWER, _PLAN, *_FINALIZE),
    "cuda": (
        Row("DispatchSampling"),
        Row("DispatchSortScan"),
        *_LEGALIZE,
        Row("ApplyDefaultSchedule", replaced=True),
        *_DATAFLOW_LOWER,
        _PLAN,
        _CUDA_GRAPH,
        *_FINALIZE,
    ),
    "default_build": (
        Row("DispatchSampling"),
        Row("DispatchSortScan"),
        _LEGALIZE[0],
        *_DATAFLOW_LOWER,
        _PLAN,
        _CUDA_GRAPH,
        *_FINALIZE,
    ),
    "zero": _LEGALIZE,
}
"""The reference's pipelines in their order, whether or not the passes exist.

`target` is that of a CPU, `cuda` of a GPU.
"""


def _first_on_gpu(target: str) -> tuple[ModulePass, ...]:
    """What comes before the list of a GPU."""
    # Late, like the passes of the list: code for the processor needs none of them.
    from xdsl_tvm.passes.relax.channels_last import ChannelsLast
    from xdsl_tvm.passes.relax.one_pass_attention import OnePassAttention

    return OnePassAttention(least_queries=1, target=target), ChannelsLast(target)


def _dispatched(name: str, target: str) -> ModulePass:
    """A pass of this name that is told the target."""
    from xdsl_tvm.passes.relax.dispatch_sampling import DispatchSampling
    from xdsl_tvm.passes.relax.dispatch_sort_scan import DispatchSortScan

    kind = DispatchSampling if name == "DispatchSampling" else DispatchSortScan
    return kind(target)


def _gpu_schedules(
    target: str, *, fuse_multiply_add: bool, allow_tf32: bool
) -> tuple[ModulePass, ...]:
    """What gives kernels of a GPU their threads."""
    from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
    from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
    from xdsl_tvm.passes.tir.inline_blocks import InlineBlocks

    return (
        InlineBlocks(),
        GPUSchedule(target, fuse_multiply_add=fuse_multiply_add, allow_tf32=allow_tf32),
        DefaultGPUSchedule(target),
    )


_FOR_TARGET: Final = ("DispatchSampling", "DispatchSortScan")
"""Passes that are told the target."""


def gaps(pipeline: str = "target") -> list[str]:
    """The passes that a pipeline lacks for a CPU, in its order."""
    return [
        row.name
        for row in ROWS[pipeline]
        if not row.replaced and not row.device_only and row.find() is None
    ]


@dataclass(frozen=True)
class DefaultPipeline(CompositePass):
    """Summary: Runs TVM's default list of Relax passes, from graphs of operators to calls
        of fused TIR functions on planned memory.

    TVM name: none (TVM has the function relax.get_default_pipeline, v0.20)
    Input form: any Relax functions
    Output form: what `relax-convert-to-memref` takes; after `zero`, still dataflow blocks
        and `relax.call_tir`
    Options: `target`: what the code is for, as `Target.parse` takes it: `llvm`, `cuda`;
        `pipeline`: `target`, the list of the target; `default_build`, the one without
        fusion; `zero`, only what comes before memory; `cuda`, that of the target `cuda`;
        `memory`: the strategy of `relax-static-plan-block-memory`: `tokens`, TVM's,
        `arena`, for a CPU with `share_results`, or `one-arena`, for which
        relax-lift-global-buffers comes before it; `alignment`: its alignment (64);
        `fuse_multiply_add` (true), `allow_tf32` (false): those of tir-gpu-schedule, for
        `cuda`
    Rewrites: the passes of the reference's pipeline, in its order, as far as they exist
        (docs/pipelines.md); `xdsl-tvm opt --print-pipeline` prints the list. Passes that
        a PassContext disables do not run, and its instruments see each of them.
            relax-default-pipeline  →  relax-legalize-ops,relax-annotate-tir-op-pattern,…
        For `cuda`, relax-one-pass-attention and relax-channels-last are first, and
        tir-inline-blocks, tir-gpu-schedule and tir-default-gpu-schedule follow FuseTIR.
    Leaves alone: functions that are not Relax's, but for what is fused of TIR functions
    Errors: a target that is neither a CPU nor `cuda`, or does not parse; an unknown
        pipeline; those of the passes
    Attributes: read: those of the passes; created: those of the passes; removed: those of
        the passes
    Differs from TVM: for `cuda` TVM has schedules of its dlight package in the place of
        tir-gpu-schedule. What TVM's virtual machine needs is not in the list: its
        runtime's functions (LowerRuntimeBuiltin), numbers and shapes computed by
        functions of their own (ComputePrimValue, VMShapeLower), and a global symbol for
        every function (AttachGlobalSymbol); `relax-convert-to-memref` compiles memory,
        numbers and shapes with the function around them, and only public functions have
        symbols.
    """

    name = "relax-default-pipeline"
    tvm_name = "_pipeline"

    target: str = "llvm"
    pipeline: str = "target"
    memory: str = "tokens"
    alignment: int = 64
    fuse_multiply_add: bool = True
    allow_tf32: bool = False

    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that run, in order.

        Raises PassFailedException for a target that is neither a CPU nor cuda, or does
        not parse, and for an unknown pipeline.
        """
        pipeline = self._pipeline()
        rows = ROWS.get(pipeline)
        if rows is None:
            raise PassFailedException(
                f"{self.name}: there is no pipeline '{pipeline}'; use one of "
                f"{', '.join(ROWS)}"
            )
        found: list[ModulePass] = []
        if pipeline == "cuda":
            found += _first_on_gpu(self.target)
        for row in rows:
            if row.name == "ApplyDefaultSchedule":
                found += _gpu_schedules(
                    self.target,
                    fuse_multiply_add=self.fuse_multiply_add,
                    allow_tf32=self.allow_tf32,
                )
            elif row.name in _FOR_TARGET:
                found.append(_dispatched(row.name, self.target))
            elif (each := row.find()) is StaticPlanBlockMemory:
                found += self._planning(pipeline)
            elif each is not None:
                found.append(each())
        return tuple(found)

    def _planning(self, pipeline: str) -> tuple[ModulePass, ...]:
        """What plans memory."""
        # Of a GPU, graphs capture no storage that is a result's.
        shares = self.memory == "arena" and pipeline != "cuda"
        plan = StaticPlanBlockMemory(self.memory, self.alignment, share_results=shares)
        if self.memory != "one-arena":
            return (plan,)
        # Late: code for the processor does not need it.
        from xdsl_tvm.passes.relax.lift_global_buffers import LiftGlobalBuffers

        return LiftGlobalBuffers(), plan

    def _pipeline(self) -> str:
        """The name of the list, that of the target where none is asked for."""
        try:
            target = Target.parse(self.target)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error
        if target.device_type is DeviceType.CPU:
            return self.pipeline
        if target.device_type is not DeviceType.CUDA:
            raise PassFailedException(
                f"{self.name}: the target '{self.target}' is neither a CPU nor cuda; "
                "call kernels for other devices by themselves"
            )
        return "cuda" if self.pipeline == "target" else self.pipeline


NAMED: Final = PipelineRegistry(
    {name: partial(DefaultPipeline, pipeline=name) for name in ROWS}
    | {"default": partial(DefaultPipeline, pipeline="default_build")}
)
"""Those of `get_pipeline`."""


def get_pipeline(name: str = "zero", **options: object) -> CompilerPass:
    """The passes `zero`, up to fused kernels, `default`, without fusion, or registered.

    TVM's `relax.get_pipeline`. Both are `relax-default-pipeline`, whose page says what
    they lack. `options` are those of the function that `register_pipeline` decorates.
    Raises ValueError for another name.
    """
    return NAMED.find(name, **options)


def register_pipeline(name: str) -> Callable[[Maker], Maker]:
    """A decorator of a function that makes a pipeline, found by `get_pipeline`.

    TVM's `relax.register_pipeline`. Raises ValueError for a name that is taken.
    """
    return NAMED.register(name)


def get_default_pipeline(target: str | Target = "llvm") -> CompilerPass:
    """The passes for a target, a CPU or cuda in a form that `Target.parse` reads.

    TVM's `relax.get_default_pipeline`, which `xdsl_tvm.compile` runs. The pass raises
    PassFailedException for other targets.
    """
    return DefaultPipeline(target=target_text(target))
