"""TVM's `tvm.dlight`: default schedules of kernels for the target that is entered.

    with tvm.target.Target("cuda"):
        mod = dl.ApplyDefaultSchedule(dl.gpu.Matmul(), dl.gpu.Fallback())(mod)

`tir-gpu-schedule` chooses a schedule by what a kernel accesses, whichever rules are
given; `Fallback` is `tir-default-gpu-schedule`, for kernels that have none after that.
"""

from typing import NoReturn, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_tvm.dialects.tir.target import Target, target_text
from xdsl_tvm.dlight import gpu
from xdsl_tvm.dlight.rules import ScheduleRule
from xdsl_tvm.passes.infra import PassContext, PythonModulePass, Sequential, module_pass
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.passes.tir.gpu_schedule import GPUSchedule
from xdsl_tvm.passes.tir.inline_blocks import InlineBlocks
from xdsl_tvm.tvm_words import missing

__all__ = ["ApplyDefaultSchedule", "ScheduleRule", "gpu"]


def ApplyDefaultSchedule(*rules: ScheduleRule) -> PythonModulePass:
    """The pass that schedules functions without a schedule, by the rules.

    Raises TypeError for what is no rule; the pass raises ValueError where no target is
    entered, and PassFailedException for a target that is no GPU.
    """
    for rule in rules:
        if not isinstance(cast(object, rule), ScheduleRule):
            raise TypeError(
                "ApplyDefaultSchedule takes rules, such as dl.gpu.Matmul(), not "
                f"{type(rule).__name__}"
            )

    @module_pass(opt_level=0, name="ApplyDefaultSchedule")
    def apply(mod: ModuleOp, _ctx: PassContext) -> ModuleOp:
        target = Target.current(allow_none=False)
        assert target is not None
        return Sequential(_passes(rules, target_text(target)))(mod)

    return apply


def _passes(rules: tuple[ScheduleRule, ...], target: str) -> list[ModulePass]:
    found: list[ModulePass] = []
    if any(not isinstance(rule, gpu.Fallback) for rule in rules):
        found += [InlineBlocks(), GPUSchedule(target)]
    if any(isinstance(rule, gpu.Fallback) for rule in rules):
        found.append(DefaultGPUSchedule(target))
    return found


def __getattr__(name: str) -> NoReturn:
    raise missing("dlight", name)
