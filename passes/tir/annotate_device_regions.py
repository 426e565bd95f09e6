"""The device code of a function that runs on host and device is marked."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of, outermost_ops
from xdsl_tvm.analysis.tir.function_target import functions_of, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass

_DEVICE_KEYS = ("pipeline_exec_scope", "device_scope")
_TARGET = "target"


@dataclass(frozen=True)
class AnnotateDeviceRegions(CompilerPass):
    """Summary: Marks regions that only run on the device with the target of the device.

    TVM name: tir.AnnotateDeviceRegions (v0.20)
    Input form: loops and buffers or later; functions have the attribute `target`
    Output form: the same; where the target has a host, every outermost
        `tir.launch_thread` and device attribute is in a `tir.attr "target"`
    Options: none
    Rewrites: before, in a function with `target = #tir.target<"cuda", host =
        #tir.target<"llvm">>`

            tir.launch_thread %t = "threadIdx.x" to %c16 {
              tir.store %x, %A[%t] : f32
            }

        after

            tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
              tir.launch_thread %t = "threadIdx.x" to %c16 {
                tir.store %x, %A[%t] : f32
              }
            }

        Regions are those of `tir.launch_thread`, and of `tir.attr` with the key
        `pipeline_exec_scope` or `device_scope`. What is in a region is not marked again.
        Time is linear in the size of the module.
    Leaves alone: functions whose target has no host; what is in a `tir.attr "target"`,
        of whatever target; virtual threads, `coproc_scope` and `coproc_uop_scope`;
        allocations around a region, which stay on the host; loops that are bound to
        threads; declarations, and functions of other dialects
    Errors: a function with a body and without the attribute `target`
    Attributes: read: `target` of functions; created: none; removed: none
    Differs from TVM: nothing
    """

    name = "tir-annotate-device-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if func.is_declaration:
                continue
            target = target_of(func)
            if target is None:
                raise PassFailedException(
                    f"tir.func @{func.sym_name.data}: has no attribute target, so it is "
                    "not known what is device code; bind one, as in attributes {target = "
                    '#tir.target<"cuda", host = #tir.target<"llvm">>}'
                )
            if target.host_target is not None and any(
                map(_is_marked_or_device_code, ops_of(func, *_MARKS))
            ):
                _annotate(func, target.without_host())


def _annotate(func: tir.FuncOp, device: Target) -> None:
    for op in outermost_ops(func, _is_marked_or_device_code):
        if isinstance(op, tir.AttrOp) and op.key.data == _TARGET:
            continue
        block = op.parent
        assert block is not None, "held by the function"
        body = Block()
        marked = tir.AttrOp(_TARGET, device, IntegerAttr(0, i32), Region(body))
        marked.location = op.location
        block.insert_op_before(marked, op)
        op.detach()
        body.add_op(op)


_MARKS = (tir.AttrOp, tir.LaunchThreadOp)


def _is_marked_or_device_code(op: Operation) -> bool:
    match op:
        case tir.AttrOp():
            return op.key.data == _TARGET or op.key.data in _DEVICE_KEYS
        case tir.LaunchThreadOp():
            return op.virtual is None
        case _:
            return False
