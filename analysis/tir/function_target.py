"""What functions are compiled for (docs/spec/tir-passes-d-abi-and-pipelines.md §0)."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from xdsl_tvm.analysis.all_ops import outermost_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.target_kinds import DeviceType


def functions_of(module: Operation) -> list[tir.FuncOp]:
    """The TIR functions in a module, and in those that it holds."""
    found = outermost_ops(module, lambda op: isinstance(op, tir.FuncOp))
    return [op for op in found if isinstance(op, tir.FuncOp)]


def target_of(func: tir.FuncOp) -> Target | None:
    """The attribute `target` of a function, None where it has none."""
    target = func.attributes.get("target")
    return target if isinstance(target, Target) else None


def is_host(func: tir.FuncOp) -> bool | None:
    """Whether a function runs on the host; None where nothing says so.

    It does if `tir.is_host_func` is set, or if its target has the key `cpu`.
    """
    if is_true(func.attributes.get("tir.is_host_func")):
        return True
    target = target_of(func)
    return None if target is None else target.has_key("cpu")


def is_same_code(a: Target, b: Target) -> bool:
    """Whether code for one target is code for the other: kind, keys, attributes and
    features agree. Tags and hosts do not count."""
    return (a.kind_name, a.keys, a.attrs, a.features) == (
        b.kind_name,
        b.keys,
        b.attrs,
        b.features,
    )


def cuda_capability(target: Target) -> int:
    """The compute capability that a CUDA target names: 80 for `sm_80`, 90 for `sm_90a`.

    0 for a target that names none, and for other devices.
    """
    arch = target.attrs.data.get("arch")
    name = arch.data if isinstance(arch, StringAttr) else ""
    found = re.fullmatch(r"sm_(\d+)[af]?", name)
    is_cuda = target.device_type is DeviceType.CUDA
    return int(found[1]) if is_cuda and found is not None else 0


_CAN_FAIL = (DeviceType.CPU, DeviceType.EXT_DEV, DeviceType.HEXAGON)


def is_device_that_can_fail(target: Target) -> bool:
    """Whether functions for a target return an error code: those of a CPU, of external
    devices and of Hexagon, which code of the host calls as functions."""
    return target.device_type in _CAN_FAIL
