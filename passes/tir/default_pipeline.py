"""TVM's default TIR pipeline, as one pass.

docs/spec/tir-passes-d-abi-and-pipelines.md II.2.

`ROWS` is the whole list of the reference. The reference's build binds the target before
the list (II.1), which is the first pass here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.dialects.tir.target import Target, target_text
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompilerPass, CompositePass, PassContext
from xdsl_tvm.passes.infra.pipeline_registry import PipelineRegistry
from xdsl_tvm.passes.infra.sequential import find_pass_class
from xdsl_tvm.passes.tir.bind_target import BindTarget
from xdsl_tvm.passes.tir.rewriting.default_targets import uses_async_copy
from xdsl_tvm.passes.tir.verify_form import VerifyForm
from xdsl_tvm.passes.tir.verify_well_formed import VerifyWellFormed

Options = Callable[[PassContext], dict[str, bool | int | str]]


def _flag(context: PassContext, key: str) -> bool:
    return bool(context.get_config(key, bool))


def _fixed(**options: bool | int | str) -> Options:
    return lambda context: options


_NO_OPTIONS: Final = _fixed()


def _vectorize(context: PassContext) -> dict[str, bool | int | str]:
    return {"enable_vectorize": not _flag(context, "tir.disable_vectorize")}


def _cse(context: PassContext) -> dict[str, bool | int | str]:
    return {
        "enable_cse_tir": not _flag(context, "tir.disable_cse_tir"),
        "identify_equiv_terms": _flag(context, "tir.enable_equiv_terms_in_cse_tir"),
    }


@dataclass(frozen=True)
class Row:
    """One place of the pipeline."""

    name: str
    """TVM's name of the pass: `LowerInitBlock`."""
    options: Options = _NO_OPTIONS
    """The options of the pass in the reference's list, by the context."""
    when: str | None = None
    """The configuration key that adds the pass, where it is not always present."""
    by_target: Callable[[Target, PassContext], bool] | None = None
    """What adds the pass where the key is not set."""
    unless: str | None = None
    """The configuration key that drops it."""
    form: str | None = None
    """The form (`analysis/tir/forms.py`) that all programs have after it."""

    def is_enabled(self, context: PassContext, target: Target | None = None) -> bool:
        """Whether the configuration of the context has the pass in the list.

        `target` is what the code is for, where that may add the pass.
        """
        if self.by_target is not None and target is not None:
            return self.by_target(target, context)
        if self.when is not None and not _flag(context, self.when):
            return False
        return self.unless is None or not _flag(context, self.unless)

    def find(self) -> type[ModulePass]:
        """The class of the pass."""
        found = find_pass_class("tir", self.name)
        assert found is not None, self.name
        return found


ROWS: Final[tuple[Row, ...]] = (
    Row("LowerCrossThreadReduction"),
    Row("LowerInitBlock"),
    Row("PlanAndUpdateBufferAllocationLocation"),
    Row("ConvertBlocksToOpaque", form="opaque-blocks"),
    Row("LiftThreadBinding"),
    Row("ManifestSharedMemoryLocalStage"),
    Row("CompactBufferAllocation", _fixed(is_strict=True)),
    Row("LowerAutoCopy"),
    Row("UnifyThreadBinding"),
    Row("LowerMatchBuffer"),
    Row("Simplify"),
    Row("InjectPermutedLayout"),
    Row("InjectSoftwarePipeline"),
    Row("TransformMmaBufferLayout"),
    Row("LowerOpaqueBlock", form="loops-and-buffers"),
    Row("FlattenBuffer", form="flat"),
    Row("BF16ComputeLegalize"),
    Row("NarrowDataType", _fixed(target_bits=32)),
    Row("LoopPartition"),
    Row("VectorizeLoop", _vectorize),
    Row("InjectVirtualThread", form="vector"),
    Row("InjectDoubleBuffer"),
    Row("StorageRewrite", unless="tir.disable_storage_rewrite"),
    Row("LowerAsyncDMA", when="tir.use_async_copy"),
    Row("HoistIfThenElse"),
    Row("UnrollLoop"),
    Row("RenormalizeSplitPattern"),
    Row("Simplify"),
    Row("RemoveNoOp"),
    Row("RewriteUnsafeSelect"),
    Row("InstrumentBoundCheckers", when="tir.instrument_bound_checkers"),
    Row("InjectPTXLDG32", when="tir.ptx_ldg32"),
    Row("CommonSubexprElimTIR", _cse),
    Row("InstrumentProfileIntrinsics", when="tir.instrument_lwp"),
    Row("FP8ComputeLegalize", _fixed(promote_dtype_str="float32")),
    Row("VerifyVTCMLimit"),
    Row("LowerVtcmAlloc"),
    Row("VerifyMemory"),
    Row("AnnotateEntryFunc"),
    Row(
        "ThreadSync",
        _fixed(storage_scope="global"),
        when="tir.detect_global_barrier",
    ),
    Row("ThreadSync", _fixed(storage_scope="shared")),
    Row("ThreadSync", _fixed(storage_scope="shared.dyn")),
    Row("ThreadSync", _fixed(storage_scope="warp")),
    Row("InferFragment"),
    Row("LowerThreadAllreduce"),
    Row("InjectPTXAsyncCopy", when="tir.use_async_copy", by_target=uses_async_copy),
    Row("InjectPTXLDG32", when="tir.ptx_ldg32"),
    Row("AnnotateDeviceRegions"),
    Row("SplitHostDevice", form="host-device"),
    Row("MergeSharedMemoryAllocations"),
    Row("MakePackedAPI", form="packed"),
    Row("FP8StorageLegalize"),
    Row("BF16StorageLegalize"),
    Row("LowerDeviceKernelLaunch"),
)
"""The reference's pipeline in its order, whether or not the passes exist."""


def enabled_rows(
    context: PassContext, target: Target, until: str | None = None
) -> Iterator[Row]:
    """The rows that run for a target, up to the first one of the name `until`."""
    for row in ROWS:
        if row.name == until:
            return
        if row.is_enabled(context, target):
            yield row


@dataclass(frozen=True)
class DefaultPipeline(CompositePass):
    """Summary: Runs TVM's default list of TIR passes, from blocks to vector code.

    TVM name: none (TVM has the function tir.get_default_tir_pipeline, v0.20)
    Input form: any form
    Output form: `packed`; with `until`, that of the passes before
    Options: `target`: what the code is for, as `Target.parse` takes it: `llvm`,
        `llvm -mcpu=skylake-avx512`; `debug`: also check after every pass that all ops
        verify, that programs are well-formed, and that they have the form of that place;
        `until`: end the list before the first pass of this name, which is TVM's, such as
        `MakePackedAPI`, before which functions have parameters of their own
    Rewrites: tir-bind-target, and the passes of the reference's pipeline, in its order,
        as far as the configuration has them (docs/pipelines.md);
        `xdsl-tvm opt --print-pipeline` prints the list. Functions that have a target
        keep it; the host is that of the target, or the target itself where it is a CPU,
        or else `llvm`. Where `tir.use_async_copy` is not set, InjectPTXAsyncCopy runs for
        a target that names a CUDA `arch` of `sm_80` or later. Passes that a PassContext
        disables do not run, and its instruments see each of them.
            tir-default-pipeline{target="llvm"}  →
                tir-bind-target{target="llvm" host="llvm"}, tir-lower-init-block, …
    Leaves alone: functions that are not TIR's
    Errors: a target that does not parse; an `until` that is no pass of the list; those of
        the passes; with `debug`, the pass after which a program is not what it should be
    Attributes: read: those of the passes; created: those of the passes; removed: those of
        the passes
    Differs from TVM: the target is an option of the pass, which binds it as TVM's build
        does before its pipeline; `debug` and `until` are ours. TVM runs
        InjectPTXAsyncCopy only where `tir.use_async_copy` is on.
    """

    name = "tir-default-pipeline"
    tvm_name = "_pipeline"

    target: str = "llvm"
    debug: bool = False
    until: str | None = None

    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that run under the current `PassContext`, checks included.

        Raises PassFailedException for options that name no target or no pass.
        """
        context = PassContext.current()
        target = self._checked_target()
        form = "blocks"
        found: list[ModulePass] = [BindTarget(self.target, self._host_of(target))]
        if self.debug:
            found.extend(_checks(form))
        for row in enabled_rows(context, target, self.until):
            found.append(row.find()(**row.options(context)))
            form = row.form or form
            if self.debug:
                found.extend(_checks(form))
        return tuple(found)

    def _host_of(self, target: Target) -> str | None:
        """The host to bind, None where the target has one."""
        if target.host_target is not None:
            return None
        return self.target if target.device_type is DeviceType.CPU else "llvm"

    def _checked_target(self) -> Target:
        try:
            target = Target.parse(self.target)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error
        self._check_until()
        return target

    def _check_until(self) -> None:
        names = dict.fromkeys(row.name for row in ROWS)
        if self.until is not None and self.until not in names:
            raise PassFailedException(
                f"{self.name}: the list has no pass '{self.until}' to end before"
                f"{did_you_mean(self.until, tuple(names))}; use one of docs/pipelines.md"
            )


def _checks(form: str) -> Iterator[ModulePass]:
    """What `debug` asks after a pass.

    Of blocks with iteration variables it does not ask that programs are well-formed:
    LowerInitBlock compares with a minimum that may depend on a loop around the block.
    """
    yield VerifyForm(form, verify_ops=True)
    if form != "blocks":
        yield VerifyWellFormed()


_NAMED: Final = PipelineRegistry({"default": DefaultPipeline})


def get_tir_pipeline(name: str = "default", **options: object) -> CompilerPass:
    """The passes `default`, which are `tir-default-pipeline`, or registered ones.

    TVM's `tir.get_tir_pipeline`. Raises ValueError for another name.
    """
    return _NAMED.find(name, **options)


def get_default_tir_pipeline(target: str | Target = "llvm") -> CompilerPass:
    """The passes for a target. TVM's `tir.get_default_tir_pipeline`."""
    return DefaultPipeline(target=target_text(target))
