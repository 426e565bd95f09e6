"""Calls of LLVM intrinsics and their effects."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.quick_operation import initialize, value_of
from xdsl_tvm.dialects.tvm_llvm.effects import READ_WRITE

__all__ = ["PURE_INTRINSICS", "CallIntrinsicOp", "is_pure_intrinsic"]

_NO_FASTMATH = FastMathAttr(None)

_PURE = """
    abs smax smin umax umin bswap bitreverse ctpop ctlz cttz fshl fshr
    sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat
    sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow
    smul.with.overflow umul.with.overflow
    fabs fma fmuladd sqrt exp exp2 exp10 log log2 log10 pow powi ldexp frexp
    sin cos tan asin acos atan atan2 sinh cosh tanh
    floor ceil trunc rint nearbyint round roundeven copysign is.fpclass
    minnum maxnum minimum maximum minimumnum maximumnum canonicalize
    vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or
    vector.reduce.xor vector.reduce.smax vector.reduce.smin vector.reduce.umax
    vector.reduce.umin vector.reduce.fadd vector.reduce.fmul vector.reduce.fmax
    vector.reduce.fmin vector.reduce.fmaximum vector.reduce.fminimum
    stepvector vscale get.active.lane.mask expect
    nvvm.ex2.approx.f nvvm.ex2.approx.ftz.f nvvm.lg2.approx.f nvvm.lg2.approx.ftz.f
    nvvm.rcp.approx.ftz.f nvvm.sqrt.approx.f nvvm.rsqrt.approx.f nvvm.sin.approx.f
    nvvm.cos.approx.f
    x86.avx512.vpdpbusd.128 x86.avx512.vpdpbusd.256 x86.avx512.vpdpbusd.512
"""

PURE_INTRINSICS: frozenset[str] = frozenset(f"llvm.{name}" for name in _PURE.split())
"""Intrinsics, without overload suffix, that neither touch memory nor trap."""


def is_pure_intrinsic(name: str) -> bool:
    """Whether `name`, with or without overload suffixes, touches no memory."""
    while name.count(".") > 1:
        if name in PURE_INTRINSICS:
            return True
        name = name.rpartition(".")[0]
    return name in PURE_INTRINSICS


class _IntrinsicEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        name = op.properties.get("intrin")
        if isinstance(name, StringAttr) and is_pure_intrinsic(name.data):
            return frozenset()
        return READ_WRITE


@irdl_op_definition
class CallIntrinsicOp(IRDLOperation):
    """Calls an LLVM intrinsic: `tvm_llvm.call_intrinsic "llvm.smin"(%a, %b) : …`.

    The name may carry the overload suffix or not: the emitter derives the suffix of the
    intrinsics it knows from the types. The call reads and writes memory unless the
    intrinsic is one of `PURE_INTRINSICS`, so common subexpressions and dead calls of
    those go away.
    """

    name = "tvm_llvm.call_intrinsic"

    intrin = prop_def(StringAttr)
    args = var_operand_def()
    res = opt_result_def()
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(_IntrinsicEffect())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$intrin `(` $args `)` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        intrin: str,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
        fastmath: FastMathAttr | None = None,
    ):
        # They are frequent: made without the search for groups of operands.
        initialize(
            self,
            operands=[value_of(arg) for arg in args],
            result_types=[] if result_type is None else [result_type],
            properties={
                "intrin": StringAttr(intrin),
                "fastmathFlags": fastmath or _NO_FASTMATH,
            },
        )

    def verify_(self) -> None:
        if not self.intrin.data.startswith("llvm."):
            raise VerifyException(
                f"an intrinsic's name starts with 'llvm.', got '{self.intrin.data}'"
            )
