"""The overloaded LLVM intrinsics: which types make up the suffix of their names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from xdsl_tvm.lowering.llvm_text.types import mangle

_RESULT = """
abs smax smin umax umin bswap bitreverse ctpop ctlz cttz fshl fshr
sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat
fabs fma fmuladd sqrt exp exp2 exp10 log log2 log10 pow
sin cos tan asin acos atan atan2 sinh cosh tanh
floor ceil trunc rint nearbyint round roundeven copysign
minnum maxnum minimum maximum minimumnum maximumnum canonicalize
stepvector vscale expect ptrmask
"""

_FIRST_ARGUMENT = """
sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow
smul.with.overflow umul.with.overflow is.fpclass
"""

_REDUCTIONS = "add mul and or xor smax smin umax umin fmax fmin fmaximum fminimum"

OVERLOADS: dict[str, tuple[int, ...]] = {
    **{f"llvm.{name}": (-1,) for name in _RESULT.split()},
    **{f"llvm.{name}": (0,) for name in _FIRST_ARGUMENT.split()},
    **{f"llvm.vector.reduce.{name}": (0,) for name in _REDUCTIONS.split()},
    "llvm.vector.reduce.fadd": (1,),
    "llvm.vector.reduce.fmul": (1,),
    "llvm.powi": (-1, 1),
    "llvm.ldexp": (-1, 1),
    "llvm.fptosi.sat": (-1, 0),
    "llvm.fptoui.sat": (-1, 0),
    "llvm.get.active.lane.mask": (-1, 0),
    "llvm.masked.load": (-1, 0),
    "llvm.masked.store": (0, 1),
    "llvm.masked.gather": (-1, 0),
    "llvm.masked.scatter": (0, 1),
    "llvm.memcpy": (0, 1, 2),
    "llvm.memmove": (0, 1, 2),
    "llvm.memset": (0, 2),
    "llvm.prefetch": (0,),
    "llvm.stacksave": (-1,),
    "llvm.stackrestore": (0,),
    "llvm.lifetime.start": (0,),
    "llvm.lifetime.end": (0,),
}
"""Base name -> the types in its suffix: -1 the result, else an argument's number."""


def base_name(name: str) -> str:
    """`name` without overload suffix, if it is a known overloaded intrinsic."""
    base = name
    while base.count("."):
        if base in OVERLOADS:
            return base
        base = base.rpartition(".")[0]
    return name


def overloaded_name(
    name: str, result: Attribute | None, arguments: Sequence[Attribute]
) -> str:
    """The full name of an intrinsic for these types.

    A name that is not exactly a key of `OVERLOADS` is taken as complete.
    """
    positions = OVERLOADS.get(name)
    if positions is None:
        return name
    types = [result if position < 0 else arguments[position] for position in positions]
    return ".".join([name, *(mangle(type) for type in types if type is not None)])
