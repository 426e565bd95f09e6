"""LLVM's spelling of function and parameter attributes of MLIR's llvm dialect."""

from __future__ import annotations

FUNCTION_UNITS: dict[str, str] = {
    "always_inline": "alwaysinline",
    "cold": "cold",
    "convergent": "convergent",
    "hot": "hot",
    "inline_hint": "inlinehint",
    "no_inline": "noinline",
    "no_unwind": "nounwind",
    "noreturn": "noreturn",
    "optimize_none": "optnone",
    "optsize": "optsize",
    "will_return": "willreturn",
}
"""Unit attributes of `llvm.func`."""

FUNCTION_STRINGS: dict[str, str] = {
    "denormal_fp_math": "denormal-fp-math",
    "denormal_fp_math_f32": "denormal-fp-math-f32",
    "frame_pointer": "frame-pointer",
    "nvvm.cluster_dim": "nvvm.cluster_dim",
    "nvvm.maxnreg": "nvvm.maxnreg",
    "nvvm.maxntid": "nvvm.maxntid",
    "nvvm.minctasm": "nvvm.minctasm",
    "nvvm.reqntid": "nvvm.reqntid",
    "prefer_vector_width": "prefer-vector-width",
    "target_cpu": "target-cpu",
    "target_features": "target-features",
    "tune_cpu": "tune-cpu",
}
"""Attributes of `llvm.func` that become string attributes."""

HANDLED_FUNCTION_ATTRIBUTES: frozenset[str] = frozenset(
    {"nvvm.kernel", "llvm.emit_c_interface", "passthrough"}
)
"""Attributes of the llvm and nvvm dialects that are written elsewhere or mean nothing
to LLVM."""

REFUSED_FUNCTION_ATTRIBUTES: frozenset[str] = frozenset(
    {
        "comdat",
        "garbageCollector",
        "memory_effects",
        "personality",
        "vscale_range",
        "vec_type_hint",
        "work_group_size_hint",
    }
)
"""Attributes of upstream's `llvm.func` that the emitter does not write."""

FUNCTION_KEYWORDS: frozenset[str] = frozenset(
    {
        "alwaysinline",
        "cold",
        "convergent",
        "hot",
        "inlinehint",
        "minsize",
        "mustprogress",
        "nocallback",
        "nofree",
        "noinline",
        "norecurse",
        "noreturn",
        "nosync",
        "nounwind",
        "optnone",
        "optsize",
        "speculatable",
        "strictfp",
        "willreturn",
    }
)
"""Names in `passthrough` that are keywords of LLVM; all others are string attributes."""

PARAMETER_UNITS: dict[str, str] = {
    "llvm.inreg": "inreg",
    "llvm.noalias": "noalias",
    "llvm.nocapture": "captures(none)",
    "llvm.nofree": "nofree",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.readnone": "readnone",
    "llvm.readonly": "readonly",
    "llvm.returned": "returned",
    "llvm.signext": "signext",
    "llvm.writeonly": "writeonly",
    "llvm.zeroext": "zeroext",
    "nvvm.grid_constant": '"nvvm.grid_constant"',
}
"""Unit attributes of arguments and results."""

PARAMETER_INTEGERS: dict[str, str] = {
    "llvm.align": "align {}",
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})",
}
"""Integer attributes of arguments and results."""

PARAMETER_TYPES: dict[str, str] = {"llvm.byval": "byval", "llvm.sret": "sret"}
"""Type attributes of arguments."""
