"""The check that host code of GPU functions leaves the memory of the device alone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.storage_scope import AXES
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.dialects.tir.types import is_handle
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._loops.thread_axes import outermost_ops
from xdsl_tvm.passes.tir.rewriting.statements import describe, describe_buffer

_GPUS = frozenset(
    (
        DeviceType.CUDA,
        DeviceType.OPENCL,
        DeviceType.VULKAN,
        DeviceType.METAL,
        DeviceType.ROCM,
    )
)
_DERIVED = (
    tir.AccessPtrOp,
    tir.AddressOfOp,
    tir.DataOp,
    tir.DeclBufferOp,
    tir.LetOp,
    tir.MatchBufferOp,
    tir.MatchRegionOp,
    tir.SelectOp,
)
"""Ops whose result is, or names, memory that an operand names."""


@dataclass(frozen=True)
class VerifyMemory(CompilerPass):
    """Summary: Checks that functions for a GPU access the memory of their parameters in
        threads only, and changes nothing.

    TVM name: tir.VerifyMemory (v0.20)
    Input form: any; every function has a target
    Output form: the same
    Options: none
    Rewrites: none. A function for a CUDA, OpenCL, Vulkan, Metal or ROCm device is refused
            tir.func @f(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
              %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
              tir.for %i = %c0 to %c64 {
                tir.store %x, %A[%i] : f32
              }
            }
        since a load or a store of memory that a parameter names is not in a launch of
        threads, a loop that is bound to threads, or a `tir.attr
        "pipeline_exec_scope"`. A parameter names what is matched to it, declared on it,
        computed from it by pointers, or read from it with `tvm_struct_get`.
    Leaves alone: everything. Memory that the function allocates, or that a call returns,
        may be accessed anywhere, and a parameter may be passed to calls, which take it
        for what it is. A virtual thread is no thread. Functions for other devices,
        WebGPU among them, declarations, and functions with a `calling_conv` other than 0
        are not checked. Time is linear in the size of the module.
    Errors: a function without `target`; a function with such accesses, at the first of
        them, with all the buffers
    Attributes: read: `target`, `calling_conv`; created: none; removed: none
    Differs from TVM: the message has each buffer once, and no text of the function.
        Pointers are followed from every parameter, not only from the first, and through
        `tir.select`, `tir.if_then_else` and `tir.access_ptr`. A function without
        parameters is checked as any other. Loops that are bound to threads are threads
        before they are launches.
    """

    name = "tir-verify-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in outermost_ops(op, _is_function):
            assert isinstance(func, tir.FuncOp)
            if func.is_declaration:
                continue
            target = func.attributes.get("target")
            if not isinstance(target, Target):
                raise PassFailedException(
                    f"{describe(func)} @{func.sym_name.data} has no target; run "
                    "tir-bind-target before"
                )
            is_lowered = is_true(func.attributes.get("calling_conv"))
            if target.device_type in _GPUS and not is_lowered:
                _verify(func)


def _is_function(op: Operation) -> bool:
    return isinstance(op, tir.FuncOp)


def _verify(func: tir.FuncOp) -> None:
    of_parameters = _derived_from(func)
    in_threads = {
        inner for outer in outermost_ops(func, _is_thread) for inner in all_ops(outer)
    }
    found = [
        op
        for op in ops_of(func, tir.LoadOp, tir.StoreOp)
        if op.buffer in of_parameters and op not in in_threads
    ]
    if found:
        _refuse(found[0], [op.buffer for op in found])


def _refuse(access: tir.LoadOp | tir.StoreOp, buffers: list[SSAValue]) -> None:
    names = dict.fromkeys(map(describe_buffer, buffers))
    errors = "; ".join(
        f"{name} is directly accessed by host memory, outside of any thread"
        for name in names
    )
    raise PassFailedException(
        f"{describe(access)}: Memory verification failed with the following errors: "
        f"{errors}. Did you forget to bind? Bind loops around the accesses to threads, "
        "for blocks with tir-default-gpu-schedule"
    )


def _is_thread(op: Operation) -> bool:
    """Whether the body of an op runs in a thread of a device."""
    match op:
        case tir.LaunchThreadOp():
            return op.virtual is None
        case tir.ForOp(thread_tag=tag) if tag is not None:
            return not AXES[tag.data].is_virtual
        case tir.AttrOp():
            return op.key.data == "pipeline_exec_scope"
        case _:
            return False


def _derived_from(func: tir.FuncOp) -> set[SSAValue]:
    """The parameters of a function, and the pointers and buffers derived from them.

    Definitions are before their uses in the text of a verified function, so that one walk
    finds them.
    """
    found = set[SSAValue](filter(_names_memory, func.args))
    for op in all_ops(func):
        match op:
            case tir.YieldOp():
                around = op.parent_op()
                results = around.results if isinstance(around, tir.IfThenElseOp) else ()
            case tir.CallOp():
                results = op.results if op.callee.data == "tvm_struct_get" else ()
            case _:
                results = op.results if isinstance(op, _DERIVED) else ()
        if results and any(operand in found for operand in op.operands):
            found.update(filter(_names_memory, results))
    return found


def _names_memory(value: SSAValue) -> bool:
    return isinstance(value.type, tir.BufferType) or is_handle(value.type)
