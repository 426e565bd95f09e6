"""The last passes on functions of devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl_tvm.passes.tir._finalization import Finalization


@dataclass(frozen=True)
class FinalizeDevicePasses(Finalization):
    """Summary: Runs TVM's last passes on functions of devices.

    TVM name: none (TVM has the function tir.pipeline.finalize_device_passes, v0.20)
    Input form: `packed`; functions have the attribute `target`; after
        tir-default-pipeline
    Output form: the same
    Options: none
    Rewrites: functions whose target is no CPU, by tir-lower-warp-memory, tir-simplify,
        tir-lower-custom-datatypes, tir-lower-device-storage-access-info and
        tir-lower-intrin, in this order. Instruments of the `PassContext` see each of
        them, and functions of the host without their bodies.
    Leaves alone: functions of the host, and those without a target; functions that are
        not TIR's; nested modules
    Errors: those of the passes
    Attributes: read: `target`, `tir.is_host_func` and those of the passes; created and
        removed: those of the passes
    Differs from TVM: TVM has the functions of each target in a module of their own.
    """

    name = "tir-finalize-device-passes"
    tvm_name = "sequential"
    pass_names: ClassVar[tuple[str, ...]] = (
        "LowerWarpMemory",
        "Simplify",
        "LowerCustomDatatypes",
        "LowerDeviceStorageAccessInfo",
        "LowerIntrin",
    )
    on_device: ClassVar[bool] = True
