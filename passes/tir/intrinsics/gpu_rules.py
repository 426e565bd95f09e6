"""The rules of targets for GPUs: functions of their languages and libraries."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IntegerType, Signedness, f16, i32
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.intrinsics.common_rules import (
    add_rules,
    bit_and,
    fast_erf,
    pure_extern,
    shift_left,
    shift_right,
    stable_tanh,
)
from xdsl_tvm.passes.tir.intrinsics.cpu_rules import llvm_intrinsic
from xdsl_tvm.passes.tir.intrinsics.registry import (
    LEGALIZE,
    LOWER,
    IntrinsicCall,
    Rule,
    add_rule,
)
from xdsl_tvm.passes.tir.rewriting.rule_code import UINT32

_UINT64: Final = IntegerType(64, Signedness.UNSIGNED)
_OPENCL: Final = (
    "clz floor ceil trunc fabs round nearbyint exp exp2 exp10 log log2 log10 sqrt pow "
    "popcount fmod sin sinh cos cosh"
)
_SHUFFLES: Final = ("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down")


def register() -> None:
    """Add the rules of the targets for GPUs."""
    _register_cuda()
    add_rules(
        f"nvptx.{LOWER}",
        "floor ceil round nearbyint trunc fabs exp exp2 exp10 erf fma log log2 log10 "
        "sqrt pow tanh tan cos cosh sin sinh atan",
        _libdevice,
    )
    _register_rocm()
    add_rules(f"opencl.{LOWER}", f"{_OPENCL} erf tanh", pure_extern)
    add_rule(f"opencl.{LOWER}", "tvm_warp_shuffle", _subgroup_shuffle)
    add_rules(f"metal.{LOWER}", _OPENCL, pure_extern)
    for name in _SHUFFLES:
        add_rule(f"metal.{LOWER}", name, _simd_shuffle)
    _register_vulkan()
    add_rules(
        f"webgpu.{LOWER}",
        "acos acosh asin asinh atan atan2 ceil cos cosh exp exp2 floor fma log log2 pow "
        "round sin sinh sqrt tan trunc",
        pure_extern,
    )
    add_rule(f"webgpu.{LOWER}", "fabs", _webgpu_abs)
    for kind in ("rocm", "metal", "webgpu"):
        add_rule(f"{kind}.{LOWER}", "tanh", stable_tanh)
    for kind in ("rocm", "metal", "vulkan", "webgpu"):
        add_rule(f"{kind}.{LOWER}", "erf", fast_erf)


# ---- CUDA ----


def _register_cuda() -> None:
    table = f"cuda.{LOWER}"
    add_rules(
        table,
        "floor ceil trunc fabs round nearbyint exp2 erf cosh sinh atan tanh sqrt pow "
        "fmod clz",
        _cuda_math,
    )
    add_rules(table, "exp exp10 log log2 log10 cos sin", _cuda_fast)
    add_rule(table, "tan", _cuda_tan)
    add_rule(table, "popcount", _cuda_popcount)
    for name in _SHUFFLES:
        add_rule(table, name, _cuda_shuffle)
    add_rule(table, "tvm_warp_activemask", _cuda_active_mask)


def _cuda_math(call: IntrinsicCall) -> Expr | IntrinsicCall:
    dtype = call.args[0].dtype
    bits, name = tir.bits_of_lane(dtype), call.name
    if not tir.is_float(dtype):
        suffix = {32: "", 64: "ll"}.get(bits)
        return call if suffix is None else call.extern(f"__{name}{suffix}", *call.args)
    if bits == 16:
        return _cuda_half(call)
    suffix = {64: "", 32: "f"}.get(bits)
    return call if suffix is None else call.extern(name + suffix, *call.args)


def _cuda_half(call: IntrinsicCall) -> Expr:
    if call.name == "round":
        # hrint rounds ties to even.
        single = tir.like_lanes(tir.parse_dtype("float32"), call.dtype)
        (x,) = call.args
        return smart.cast(
            call.dtype, call.extern("roundf", smart.cast(single, x), dtype=single)
        )
    symbol = _HALF_SYMBOLS.get(call.name, f"h{call.name}")
    return call.extern(symbol, *call.args)


_HALF_SYMBOLS: Final = {"fabs": "__habs", "nearbyint": "hrint"}


def _cuda_fast(call: IntrinsicCall) -> Expr | IntrinsicCall:
    if tir.bits_of_lane(call.dtype) == 32:
        return call.extern(f"__{call.name}f", *call.args)
    return _cuda_math(call)


def _cuda_tan(call: IntrinsicCall) -> Expr | IntrinsicCall:
    symbol = {64: "tan", 32: "tanf"}.get(tir.bits_of_lane(call.dtype))
    if tir.element_of(call.dtype) == f16:
        symbol = "htan"
    return call if symbol is None else call.extern(symbol, *call.args)


def _cuda_popcount(call: IntrinsicCall) -> Expr | IntrinsicCall:
    symbol = _POPCOUNTS.get(tir.element_of(call.dtype))
    return call if symbol is None else call.extern(symbol, *call.args)


_POPCOUNTS: Final[dict[Attribute, str]] = {UINT32: "__popc", _UINT64: "__popcll"}


def _cuda_shuffle(call: IntrinsicCall) -> Expr:
    mask, value, lane, width, _ = call.args
    kind = call.name.removeprefix("tvm_warp_shuffle")
    return call.call(f"cuda.__shfl{kind}_sync", mask, value, lane, width)


def _cuda_active_mask(call: IntrinsicCall) -> Expr:
    return call.call("cuda.__activemask")


# ---- NVPTX and ROCm ----


def _libdevice(call: IntrinsicCall) -> Expr | IntrinsicCall:
    if tir.lanes_of(call.dtype) > 1:
        return call
    suffix = {32: "f", 64: ""}.get(tir.bits_of_lane(call.dtype))
    if suffix is None and call.name == "fma":
        return call
    if suffix is None:
        raise call.error(
            "target nvptx has functions of float32 and float64 only, not of "
            f"{tir.dtype_name(call.dtype)}; convert the operands, as "
            "tir-bf16-compute-legalize does for bfloat16"
        )
    return call.extern(f"__nv_{call.name}{suffix}", *call.args)


def _register_rocm() -> None:
    table = f"rocm.{LOWER}"
    add_rules(
        table,
        "floor ceil round nearbyint trunc fabs exp exp2 log log2 log10 sqrt cos sin",
        llvm_intrinsic(1),
    )
    add_rule(table, "pow", llvm_intrinsic(2))
    add_rule(table, "fma", llvm_intrinsic(3, "fmuladd"))
    add_rule(table, "tvm_warp_activemask", _rocm_active_mask)
    for name in _SHUFFLES:
        add_rule(table, name, _rocm_shuffle)


def _rocm_active_mask(call: IntrinsicCall) -> Expr:
    return smart.const(0, call.dtype)


def _rocm_shuffle(call: IntrinsicCall) -> Expr:
    _, value, lane, width, _ = call.args
    if tir.bits_of_lane(value.dtype) != 32 or tir.lanes_of(value.dtype) > 1:
        raise call.error(
            "target rocm shuffles values of 32 bits, not "
            f"{tir.dtype_name(value.dtype)}; shuffle the halves, or convert the value"
        )
    lane, width = smart.cast(i32, lane), smart.cast(i32, width)
    everywhere, none = Const(-1, i32), Const(0, i32)
    low = call.llvm("llvm.amdgcn.mbcnt.lo", 0, everywhere, none, dtype=i32)
    own = call.llvm("llvm.amdgcn.mbcnt.hi", 0, everywhere, low, dtype=i32)
    first = bit_and(own, smart.call("bitwise_not", [smart.sub(width, 1)], i32))
    if call.name.endswith("_up"):
        other = smart.sub(own, lane)
        index = smart.select(smart.lt(other, first), own, other)
    elif call.name.endswith("_down"):
        inside = smart.add(bit_and(own, smart.sub(width, 1)), lane)
        index = smart.select(smart.ge(inside, width), own, smart.add(own, lane))
    else:
        index = smart.add(lane, first)
    address = shift_left(index, 2)
    bits = smart.call("reinterpret", [value], i32) if value.dtype != i32 else value
    moved = call.llvm("llvm.amdgcn.ds.bpermute", 0, address, bits, dtype=i32)
    if value.dtype == i32:
        return moved
    return smart.call("reinterpret", [moved], call.dtype)


# ---- OpenCL, Metal, Vulkan, WebGPU ----


def _subgroup_shuffle(call: IntrinsicCall) -> Expr:
    _, value, lane, width, warp_size = call.args
    if width is not warp_size:
        raise call.error(
            "target opencl shuffles among the whole warp only; the width must be the "
            "size of the warp"
        )
    return call.extern("intel_sub_group_shuffle", value, lane)


def _simd_shuffle(call: IntrinsicCall) -> Expr:
    _, value, lane, *_ = call.args
    kind = call.name.removeprefix("tvm_warp_shuffle")
    return call.call(f"metal.simd_shuffle{kind}", value, lane)


def _webgpu_abs(call: IntrinsicCall) -> Expr:
    return call.extern("abs", *call.args)


_GLSL: Final = {
    "round": 1,
    "nearbyint": 2,
    "trunc": 3,
    "fabs": 4,
    "floor": 8,
    "ceil": 9,
    "sin": 13,
    "cos": 14,
    "tanh": 21,
    "pow": 26,
    "exp": 27,
    "log": 28,
    "exp2": 29,
    "log2": 30,
    "sqrt": 31,
}
_FIND_UMSB: Final = 75


def _register_vulkan() -> None:
    for name, number in _GLSL.items():
        add_rule(f"vulkan.{LOWER}", name, _glsl(number))
    add_rule(f"vulkan.{LEGALIZE}", "clz", _vulkan_clz)


def _glsl(number: int) -> Rule:
    def rule(call: IntrinsicCall) -> Expr:
        return call.glsl(number, *call.args)

    return rule


def _vulkan_clz(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    bits = tir.bits_of_lane(x.dtype)
    result = tir.like_lanes(i32, x.dtype)

    def highest(value: Expr) -> Expr:
        return call.glsl(_FIND_UMSB, value, dtype=result)

    if bits == 32:
        return smart.cast(call.dtype, smart.sub(31, highest(x)))
    if bits != 64:
        raise call.error(
            "target vulkan counts leading zeros of 32 and 64 bits, not of "
            f"{tir.dtype_name(x.dtype)}; convert the operand"
        )
    half = tir.like_lanes(UINT32, x.dtype)
    high = smart.cast(half, shift_right(x, 32))
    of_low, of_high = highest(smart.cast(half, x)), highest(high)
    choose = smart.select if tir.is_vector(x.dtype) else smart.if_then_else
    found = choose(smart.eq(high, 0), of_low, smart.add(of_high, 32))
    return smart.cast(call.dtype, smart.sub(63, found))
