"""The last passes on functions of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl_tvm.passes.tir._finalization import Finalization


@dataclass(frozen=True)
class FinalizeHostPasses(Finalization):
    """Summary: Runs TVM's last passes on functions of the host.

    TVM name: none (TVM has the function tir.pipeline.finalize_host_passes, v0.20)
    Input form: `packed`; functions have the attribute `target`; after
        tir-default-pipeline
    Output form: the same
    Options: none
    Rewrites: functions that run on the host, by tir-lower-tvm-builtin,
        tir-lower-custom-datatypes, tir-lower-intrin,
        tir-lower-device-storage-access-info and tir-combine-context-call, in this order.
        Instruments of the `PassContext` see each of them, and functions of devices
        without their bodies.
    Leaves alone: functions whose target is no CPU; functions that are not TIR's; nested
        modules
    Errors: those of the passes
    Attributes: read: `target`, `tir.is_host_func` and those of the passes; created and
        removed: those of the passes
    Differs from TVM: TVM has the functions of the host in a module of their own.
    """

    name = "tir-finalize-host-passes"
    tvm_name = "sequential"
    pass_names: ClassVar[tuple[str, ...]] = (
        "LowerTVMBuiltin",
        "LowerCustomDatatypes",
        "LowerIntrin",
        "LowerDeviceStorageAccessInfo",
        "CombineContextCall",
    )
    on_device: ClassVar[bool] = False
