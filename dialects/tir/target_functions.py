"""Functions of targets that compute what a builtin does.

LowerIntrin calls them: of the C library, CUDA and its libdevice, OpenCL, Metal, WebGPU,
intrinsics of LLVM, and instructions of GLSL.std.450
(docs/spec/tir-passes-d-abi-and-pipelines.md, "LowerIntrin").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from xdsl.ir import SSAValue

from xdsl_tvm.dialects.tir.builtins_table import INTRINSICS
from xdsl_tvm.dialects.tir.constants import StringOp, constant_value
from xdsl_tvm.dialects.tir.intrinsics import CallOp
from xdsl_tvm.dialects.tir.types import is_handle


class TargetFunction(NamedTuple):
    """A call as one of a builtin."""

    name: str
    args: Sequence[SSAValue]


APPROXIMATE_EXP2: Final = "llvm.nvvm.ex2.approx.ftz.f"
"""The power of two of f32 that NVIDIA's GPUs have as an instruction."""
_UNARY_INTRINSICS = (
    "exp exp2 exp10 log log2 log10 sqrt floor ceil trunc fabs round nearbyint cos sin tan"
)
_LLVM: Final[Mapping[str, tuple[str, int]]] = {
    **{f"llvm.{name}": (name, 1) for name in _UNARY_INTRINSICS.split()},
    "llvm.rint": ("nearbyint", 1),
    "llvm.roundeven": ("nearbyint", 1),
    "llvm.ctpop": ("popcount", 1),
    "llvm.pow": ("pow", 2),
    "llvm.copysign": ("copysign", 2),
    "llvm.ctlz": ("clz", 2),
    "llvm.fma": ("fma", 3),
    "llvm.fmuladd": ("fma", 3),
    "llvm.prefetch": ("prefetch", 4),
    APPROXIMATE_EXP2: ("exp2", 1),
}
"""Intrinsics, the builtins they are, and how many operands they have."""

_GLSL: Final[Mapping[int, str]] = {
    1: "round",
    2: "nearbyint",
    3: "trunc",
    4: "fabs",
    8: "floor",
    9: "ceil",
    13: "sin",
    14: "cos",
    15: "tan",
    21: "tanh",
    26: "pow",
    27: "exp",
    28: "log",
    29: "exp2",
    30: "log2",
    31: "sqrt",
    75: "find_msb",
}


def _symbols() -> dict[str, str]:
    table = {
        "abs": "fabs",
        "__habs": "fabs",
        "hrint": "nearbyint",
        "__popc": "popcount",
        "__popcll": "popcount",
        "__clz": "clz",
        "__clzll": "clz",
        "popcount": "popcount",
        "clz": "clz",
        "fma": "fma",
        "fmaf": "fma",
        "__nv_fma": "fma",
        "__nv_fmaf": "fma",
    }
    names = [row.name for row in INTRINSICS.values() if row.section == "Math functions"]
    for name in names:
        for pattern in ("{}", "{}f", "__nv_{}", "__nv_{}f", "h{}", "__{}f"):
            table.setdefault(pattern.format(name), name)
    return table


_SYMBOLS: Final = _symbols()
_EXTERNS = ("call_extern", "call_pure_extern")
_INTRINSICS = ("call_llvm_intrin", "call_llvm_pure_intrin")


def callee_symbol(op: CallOp) -> str | None:
    """The symbol or the intrinsic that a call names by a string, None without one."""
    if op.callee.data not in (*_EXTERNS, *_INTRINSICS) or not op.args:
        return None
    owner = op.args[0].owner
    return owner.value.data if isinstance(owner, StringOp) else None


def target_function(op: CallOp, is_given: Callable[[str], bool]) -> TargetFunction:
    """The builtin that a call computes, which is the one it names if it names one.

    `is_given` says of a symbol whether the module or the user has a function of it, which
    is called instead.
    """
    name = op.callee.data
    plain = TargetFunction(name, op.args)
    if name == "call_spirv_pure_glsl450":
        number = constant_value(op.args[0])
        known = None if number is None else _GLSL.get(int(number))
        return plain if known is None else TargetFunction(known, op.args[1:])
    symbol = callee_symbol(op)
    if symbol is None:
        return plain
    if name in _EXTERNS:
        known = _SYMBOLS.get(symbol)
        args = op.args[1:]
        if known is None or op.result is None or is_given(symbol):
            return plain
        # A function that takes addresses is another one of the name.
        is_another = any(is_handle(arg.type) for arg in args)
        return plain if is_another else TargetFunction(known, args)
    intrinsic = _LLVM.get(symbol)
    if intrinsic is None:
        return plain
    known, count = intrinsic
    args = op.args[len(op.args) - count :]
    return TargetFunction(known, args[:1] if known == "clz" else args)
