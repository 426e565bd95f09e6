"""TVM's default TIR pipeline, as one pass.

docs/spec/tir-passes-d-abi-and-pipelines.md II.2.

`ROWS` is the whole list of the reference. A row whose pass does not exist yet is a gap;
it takes part as soon as the registry knows its pass. The reference's build binds the
target before the list (II.1), which is the first pass here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompositePass, PassContext
from xdsl_tvm.passes.infra.sequential import find_pass_class
from xdsl_tvm.passes.tir.bind_target import BindTarget
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
    unless: str | None = None
    """The configuration key that drops it."""
    form: str | None = None
    """The form (`analysis/tir/forms.py`) that all programs have after it."""
    device_only: bool = False
    """Does nothing for a CPU, so that its absence is no gap there."""
    requires: str | None = None
    """The form that an earlier row must have established: else the row does not run."""

    def is_enabled(self, context: PassContext) -> bool:
        """Whether the configuration of the context has the pass in the list."""
        if self.when is not None and not _flag(context, self.when):
            return False
        return self.unless is None or not _flag(context, self.unless)

    def find(self) -> type[ModulePass] | None:
        """The class of the pass, None if it does not exist yet."""
        return find_pass_class("tir", self.name)


ROWS: Final[tuple[Row, ...]] = (
    Row("LowerCrossThreadReduction"),
    Row("LowerInitBlock"),
    Row("PlanAndUpdateBufferAllocationLocation"),
    Row("ConvertBlocksToOpaque", form="opaque-blocks"),
    Row("LiftThreadBinding", device_only=True),
    Row("ManifestSharedMemoryLocalStage", device_only=True),
    Row("CompactBufferAllocation", _fixed(is_strict=True)),
    Row("LowerAutoCopy", device_only=True),
    Row("UnifyThreadBinding"),
    Row("LowerMatchBuffer"),
    Row("Simplify"),
    Row("InjectPermutedLayout", device_only=True),
    Row("InjectSoftwarePipeline"),
    Row("TransformMmaBufferLayout", device_only=True),
    Row("LowerOpaqueBlock", form="loops-and-buffers"),
    Row("FlattenBuffer", form="flat"),
    Row("BF16ComputeLegalize"),
    Row("NarrowDataType", _fixed(target_bits=32)),
    Row("LoopPartition"),
    Row("VectorizeLoop", _vectorize),
    Row("InjectVirtualThread", form="vector"),
    Row("InjectDoubleBuffer"),
    Row("StorageRewrite", unless="tir.disable_storage_rewrite"),
    Row("LowerAsyncDMA", when="tir.use_async_copy", device_only=True),
    Row("HoistIfThenElse"),
    Row("UnrollLoop"),
    Row("RenormalizeSplitPattern"),
    Row("Simplify"),
    Row("RemoveNoOp"),
    Row("RewriteUnsafeSelect"),
    Row("InstrumentBoundCheckers", when="tir.instrument_bound_checkers"),
    Row("InjectPTXLDG32", when="tir.ptx_ldg32", device_only=True),
    Row("CommonSubexprElimTIR", _cse),
    Row("InstrumentProfileIntrinsics", when="tir.instrument_lwp"),
    Row("FP8ComputeLegalize", _fixed(promote_dtype_str="float32")),
    Row("VerifyVTCMLimit", device_only=True),
    Row("LowerVtcmAlloc", device_only=True),
    Row("VerifyMemory"),
    Row("AnnotateEntryFunc"),
    Row(
        "ThreadSync",
        _fixed(storage_scope="global"),
        when="tir.detect_global_barrier",
        device_only=True,
    ),
    Row("ThreadSync", _fixed(storage_scope="shared"), device_only=True),
    Row("ThreadSync", _fixed(storage_scope="shared.dyn"), device_only=True),
    Row("ThreadSync", _fixed(storage_scope="warp"), device_only=True),
    Row("InferFragment", device_only=True),
    Row("LowerThreadAllreduce", device_only=True),
    Row("InjectPTXAsyncCopy", when="tir.use_async_copy", device_only=True),
    Row("InjectPTXLDG32", when="tir.ptx_ldg32", device_only=True),
    Row("AnnotateDeviceRegions", device_only=True),
    Row("SplitHostDevice", device_only=True, form="host-device"),
    Row("MergeSharedMemoryAllocations", device_only=True),
    Row("MakePackedAPI", form="packed"),
    Row("FP8StorageLegalize", requires="packed"),
    Row("BF16StorageLegalize", requires="packed"),
    Row("LowerDeviceKernelLaunch", device_only=True),
)
"""The reference's pipeline in its order, whether or not the passes exist."""


def gaps(context: PassContext, *, cpu: bool = False) -> list[str]:
    """The passes that the pipeline of a context lacks, in its order, each once.

    With `cpu`, without those which do nothing for a CPU.
    """
    return list(
        dict.fromkeys(
            row.name
            for row in ROWS
            if row.is_enabled(context)
            and not (cpu and row.device_only)
            and row.find() is None
        )
    )


def enabled_rows(
    context: PassContext, until: str | None = None
) -> Iterator[tuple[Row, type[ModulePass]]]:
    """The rows that run under a context, with the classes of their passes.

    They end before the first one of the name `until`.
    """
    reached: set[str | None] = {None}
    for row in ROWS:
        if row.name == until:
            return
        found = row.find()
        if found is None or not row.is_enabled(context) or row.requires not in reached:
            continue
        reached.add(row.form)
        yield row, found


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
        as far as they exist and the configuration has them (docs/pipelines.md);
        `xdsl-tvm opt --print-pipeline` prints the list. Functions that have a target
        keep it; the host is that of the target, or the target itself where it is a CPU,
        or else `llvm`. Passes that a PassContext disables do not run, and its
        instruments see each of them.
            tir-default-pipeline{target="llvm"}  →
                tir-bind-target{target="llvm" host="llvm"}, tir-lower-init-block, …
    Leaves alone: functions that are not TIR's
    Errors: a target that is no CPU, as long as a pass that it needs is missing, unless
        `until` is given; a target that does not parse; an `until` that is no pass of the
        list; those of the passes; with `debug`, the pass after which a program is not
        what it should be
    Attributes: read: those of the passes; created: those of the passes; removed: those of
        the passes
    Differs from TVM: the target is an option of the pass, which binds it as TVM's build
        does before its pipeline; `debug` and `until` are ours.
    """

    name = "tir-default-pipeline"
    tvm_name = "_pipeline"

    target: str = "llvm"
    debug: bool = False
    until: str | None = None

    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that run under the current `PassContext`, checks included.

        Raises PassFailedException for options that name no target or no pass, and for a
        whole list of a target that is no CPU and needs a pass which is missing.
        """
        context = PassContext.current()
        target = self._checked_target(context)
        form = "blocks"
        found: list[ModulePass] = [BindTarget(self.target, self._host_of(target))]
        if self.debug:
            found.extend(_checks(form))
        for row, pass_class in enabled_rows(context, self.until):
            found.append(pass_class(**row.options(context)))
            form = row.form or form
            if self.debug:
                found.extend(_checks(form))
        return tuple(found)

    def _host_of(self, target: Target) -> str | None:
        """The host to bind, None where the target has one."""
        if target.host_target is not None:
            return None
        return self.target if target.device_type is DeviceType.CPU else "llvm"

    def _checked_target(self, context: PassContext) -> Target:
        try:
            target = Target.parse(self.target)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error
        self._check_until()
        missing = gaps(context)
        is_whole = self.until is None
        if target.device_type is DeviceType.CPU or not missing or not is_whole:
            return target
        raise PassFailedException(
            f"{self.name}: the target '{self.target}' is no CPU, and the pipeline lacks "
            f"passes that it needs ({', '.join(missing)}); lower kernels with "
            "tvm-lower-to-nvvm, or end the list before one of them with 'until'"
        )

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
