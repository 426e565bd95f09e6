"""What LLVM's back ends cannot select, and what would become an unresolved call.

LLVM ends the process on either, so everything is refused before LLVM sees it. The rules
were measured with LLVM 22 on x86-64 and on NVPTX for sm_70 to sm_90.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import compress
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnregisteredOp,
    VectorType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.quick_accessors import type_of, types_in, types_of
from xdsl_tvm.dialects.tir.processor_instructions import BYTE_DOTS
from xdsl_tvm.lowering.llvm_text.attributes import FUNCTION_UNITS
from xdsl_tvm.lowering.llvm_text.intrinsics import base_name
from xdsl_tvm.lowering.llvm_text.nvptx_versions import (
    available_name,
    needs_of,
    version_text,
)
from xdsl_tvm.lowering.llvm_text.ops import EMITTABLE
from xdsl_tvm.lowering.llvm_text.types import TypeTable

_EXPAND_MATH = "run tvm-expand-math before the conversion to llvm"

_NATIVE_MATH = frozenset(
    f"llvm.{name}"
    for name in [
        "canonicalize",
        "ceil",
        "copysign",
        "fabs",
        "floor",
        "fma",
        "fmuladd",
        "maximum",
        "maximumnum",
        "maxnum",
        "minimum",
        "minimumnum",
        "minnum",
        "nearbyint",
        "rint",
        "round",
        "roundeven",
        "sqrt",
        "trunc",
    ]
)
"""Float functions that both kinds of target have as instructions, or expand inline."""

_BIT_MATH = frozenset(("llvm.copysign", "llvm.fabs"))
"""Functions on the bits of a float of any width."""

_HALF_MATH = frozenset((*_BIT_MATH, "llvm.maximum", "llvm.minimum"))
"""Functions of f16 that processors compute inline, like its arithmetic."""

_LIBRARY_MATH = frozenset(
    f"llvm.{name}"
    for name in [
        "acos",
        "asin",
        "atan",
        "atan2",
        "cos",
        "cosh",
        "exp",
        "exp10",
        "exp2",
        "frexp",
        "ldexp",
        "log",
        "log10",
        "log2",
        "pow",
        "powi",
        "sin",
        "sinh",
        "tan",
        "tanh",
    ]
)
"""Float functions that are library calls unless a target has them."""

_APPROXIMATE = frozenset({"llvm.sin", "llvm.cos", "llvm.tanh"})
"""Functions that NVPTX has only as approximations (`afn`), up to f32."""

_OTHER_INTRINSICS = re.compile(
    r"llvm\.(abs|smax|smin|umax|umin|bswap|bitreverse|ctpop|ctlz|cttz|fshl|fshr"
    r"|[su](add|sub|shl)\.sat|[su](add|sub|mul)\.with\.overflow|is\.fpclass"
    r"|fpto[su]i\.sat|vector\.reduce\.\w+|vector\.insert|vector\.extract|expect|assume"
    r"|trap|debugtrap|ubsantrap|memcpy|memmove|memset|prefetch|stacksave|stackrestore"
    r"|lifetime\.(start|end)|masked\.(load|store|gather|scatter)"
    r"|get\.active\.lane\.mask|stepvector|sideeffect|donothing)(\.|\Z)"
)
"""Intrinsics without a float function of them, fine on both kinds of target."""

_X86_BASELINE = re.compile(r"llvm\.x86\.sse2?\.")

_PRODUCERS: dict[str, str] = {
    "affine": "lower-affine",
    "arith": "tvm-convert-arith-to-llvm",
    "cf": "tvm-convert-cf-to-llvm",
    "func": "tvm-convert-func-to-llvm",
    "gpu": "tvm-convert-gpu-to-nvvm",
    "math": "tvm-expand-math",
    "memref": "tvm-convert-memref-to-llvm",
    "relax": "relax-legalize-ops and relax-convert-to-memref",
    "scf": "tvm-convert-scf-to-cf",
    "tir": "tir-convert-to-memref or tir-convert-to-gpu",
    "vector": "tvm-convert-arith-to-llvm",
}
"""Dialect -> the pass that lowers its operations."""

_ASM_OPERAND = re.compile(r"\$(?:\$|(\d+)|\{(\d+):[a-z]\})")
_ASM_CONSTRAINT = re.compile(r"[=+]?&?[bchrlfdqn]\Z|~\{memory\}\Z|\d+\Z")
_CPU_ASM = frozenset({"", "nop", "pause", "yield"})

_PTX_NAME = re.compile(r"[A-Za-z_$.][\w$.]*\Z", re.ASCII)


@dataclass(frozen=True)
class Rules:
    """The rules of one kind of target.

    `sm` is the number of the architecture on NVPTX (80 for sm_80) and 0 on a CPU. `ptx`
    is the newest version of PTX that may be written (78 for 7.8), 0 for any. `arch` is
    the whole name of the architecture, such as sm_90a. `features` are those of the
    processor, of the ones that `dialects/tir/processor_instructions.py` lists.
    """

    sm: int = 0
    ptx: int = 0
    arch: str = ""
    features: frozenset[str] = frozenset()

    @property
    def nvptx(self) -> bool:
        """Whether these are the rules of NVIDIA GPUs."""
        return self.sm > 0

    @property
    def kind(self) -> str:
        """The target's name in messages."""
        return f"nvptx sm_{self.sm}" if self.nvptx else "cpu"

    def problem(
        self, op: Operation, sound: dict[int, Attribute] | None = None
    ) -> str | None:
        """Why `op` cannot be compiled, as a sentence; None if it can.

        `sound` keeps the types without problems by their identity, for calls with the
        same rules.
        """
        return next(self._problems(op, {} if sound is None else sound), None)

    def accept(self, ops: Sequence[Operation], sound: dict[int, Attribute]) -> bool:
        """Whether all of these can be compiled, at once; `sound` is that of `problem`."""
        classes = set(map(type, ops))
        if not classes <= EMITTABLE:
            return False
        for type_ in types_in(ops):
            if id(type_) not in sound:
                if next(self._type_problems(ops[0], type_), None) is not None:
                    return False
                sound[id(type_)] = type_
        asked = {kind for kind in classes if not _is_plain_class(kind)}
        others = compress(ops, map(asked.__contains__, map(type, ops)))
        return all(self.problem(op, sound) is None for op in others)

    def _problems(self, op: Operation, sound: dict[int, Attribute]) -> Iterator[str]:
        if op.__class__ not in EMITTABLE:
            name = _written_name(op)
            yield f"'{name}' has no LLVM form: {_advice(name)}"
            return
        for type_ in _types_of(op):
            if id(type_) not in sound:
                yield from self._type_problems(op, type_)
                sound[id(type_)] = type_
        if _is_plain_class(op.__class__):
            return
        if not self.nvptx and _is_nvvm(op):
            yield f"'{op.name}' exists only on GPUs: outline it into a gpu.module"
        if (name := _intrinsic_name(op)) is not None:
            yield from self._intrinsic_problems(op, name)
        if (check := _CHECKS.get(op.__class__)) is not None:
            yield from check(self, op)

    # ------------------------------------------------------------------- types

    def _type_problems(self, op: Operation, type: Attribute) -> Iterator[str]:
        scalar = element_of(type)
        if isinstance(scalar, Float80Type | Float128Type):
            yield f"'{op.name}' has type {type}, which {self.kind} does not compute"
        if isinstance(scalar, BFloat16Type) and not self.nvptx:
            yield (
                f"'{op.name}' has type {type}, which {self.kind} does not have: compute "
                "in f32 (tvm-convert-arith-to-llvm) and run tvm-convert-bf16-to-bits"
            )
        if isinstance(type, VectorType):
            vector = cast("VectorType[Attribute]", type)
            if vector.get_num_scalable_dims():
                yield (
                    f"'{op.name}' has the scalable type {type}, which {self.kind} "
                    "does not have: use a fixed length"
                )
        try:
            _TYPES.text(cast(Attribute, type))
        except DiagnosticException as error:
            yield f"'{op.name}': {error}"

    # -------------------------------------------------------------- intrinsics

    def _intrinsic_problems(self, op: Operation, name: str) -> Iterator[str]:
        base = base_name(name)
        if name.startswith("llvm.nvvm."):
            yield from self._nvvm_problems(op, name)
        elif name.startswith("llvm.x86."):
            yield from self._x86_problems(name)
        elif base in _LIBRARY_MATH:
            yield from self._math_problems(op, base)
        elif base in _NATIVE_MATH:
            yield from self._native_problems(op, base)
        elif not _OTHER_INTRINSICS.match(name):
            yield f"intrinsic '{name}' is not known to work on {self.kind}: replace it"
        elif base.endswith("i.sat"):
            yield from _int_conversion(self, op)
        elif base.startswith("llvm.vector.reduce."):
            yield from self._reduction_problems(op, base)

    def _x86_problems(self, name: str) -> Iterator[str]:
        dot = None if self.nvptx else BYTE_DOTS.get(name)
        if dot is not None and not dot.is_of(self.features):
            needed = " or ".join(" and ".join(sorted(each)) for each in dot.features)
            yield (
                f"'{name}' needs a processor with {needed}: name its features, or leave "
                "them out where the program is scheduled"
            )
        elif dot is None and (self.nvptx or not _X86_BASELINE.match(name)):
            yield f"'{name}' is not an instruction of every {self.kind}: replace it"

    def _nvvm_problems(self, op: Operation, name: str) -> Iterator[str]:
        if not self.nvptx:
            yield f"'{op.name}' exists only on GPUs: outline it into a gpu.module"
            return
        name = available_name(name, self.sm)
        needs = needs_of(name)
        if needs is None:
            yield f"intrinsic '{name}' is not known to work on {self.kind}: replace it"
            return
        what = f"'{op.name}'"
        if not name.startswith(f"llvm.{op.name}"):
            what += f" ({name})"
        lack = needs.lack_of(self.arch)
        if lack is not None:
            yield f"{what} needs {lack}, not {self.arch}"
        if self.ptx and self.ptx < needs.ptx:
            oldest, newest = version_text(needs.ptx), version_text(self.ptx)
            yield f"{what} needs PTX {oldest} or later, not {newest}"

    def _math_problems(self, op: Operation, base: str) -> Iterator[str]:
        type = element_of(op.results[0].type)
        small = isinstance(type, Float16Type | BFloat16Type | Float32Type)
        if self.nvptx and small and base == "llvm.exp2":
            return
        if self.nvptx and base == "llvm.ldexp":
            return
        has_it = base in _APPROXIMATE and (base != "llvm.tanh" or self.sm >= 80)
        if self.nvptx and small and has_it and _has_flag(op, FastMathFlag.APPROX_FUNC):
            return
        yield f"'{base}' of {type} is a library call on {self.kind}: {_EXPAND_MATH}"

    def _reduction_problems(self, op: Operation, base: str) -> Iterator[str]:
        type = op.results[0].type
        if isinstance(type, Float16Type) and not self.nvptx:
            yield f"'{base}' of {type} is a library call on {self.kind}: use f32"

    def _native_problems(self, op: Operation, base: str) -> Iterator[str]:
        type = element_of(op.results[0].type)
        small = isinstance(type, BFloat16Type | Float16Type)
        if self.nvptx:
            if base == "llvm.canonicalize" and small:
                yield f"'{base}' of {type} does not exist on {self.kind}: use f32"
        elif small and base not in (
            _HALF_MATH if isinstance(type, Float16Type) else _BIT_MATH
        ):
            yield f"'{base}' of {type} is a library call on {self.kind}: use f32"


def _written_name(op: Operation) -> str:
    """The name of `op` as texts have it, also where no dialect knows it."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _advice(name: str) -> str:
    dialect = name.partition(".")[0]
    if name == "builtin.unrealized_conversion_cast":
        return "run reconcile-unrealized-casts, or the conversion that it waits for"
    if (producer := _PRODUCERS.get(dialect)) is not None:
        return f"{producer} should have lowered it"
    return f"no pass lowers the dialect '{dialect}'; lower it to llvm yourself"


_TYPES = TypeTable()


def _types_of(op: Operation) -> list[Attribute]:
    types = types_of(op)
    for region in op.regions:
        for block in region.blocks:
            types += map(type_of, block.args)
    return types


def _has_flag(op: Operation, flag: FastMathFlag) -> bool:
    flags = op.properties.get("fastmathFlags")
    return isinstance(flags, llvm.FastMathAttr) and flag in flags.data


_is_nvvm = of_classes(*nvvm.NVVM_OPERATIONS)
_INTRINSIC_CALLS = (llvm.CallIntrinsicOp, tvm_llvm.CallIntrinsicOp)
_is_intrinsic_call = of_classes(*_INTRINSIC_CALLS)
_is_intrinsic_operation = of_classes(nvvm.IntrinsicOperation)
_LOOKED_AT = (*nvvm.NVVM_OPERATIONS, nvvm.IntrinsicOperation, *_INTRINSIC_CALLS)


@cache
def _is_plain_class(kind: type[Operation]) -> bool:
    """Whether nothing but the types of its operations may be a problem."""
    return not (
        issubclass(kind, _LOOKED_AT)
        or kind.name.startswith("llvm.intr.")
        or kind in _CHECKS
    )


def _intrinsic_name(op: Operation) -> str | None:
    """The LLVM intrinsic that `op` calls, if it is one."""
    if _is_intrinsic_call(op):
        return op.intrin.data
    if op.name.startswith("llvm.intr."):
        return "llvm." + op.name.removeprefix("llvm.intr.")
    return op.intrinsic if _is_intrinsic_operation(op) else None


_Check = Callable[[Rules, Operation], Iterator[str]]


def _frem(rules: Rules, op: Operation) -> Iterator[str]:
    type = element_of(op.results[0].type)
    if not rules.nvptx and not isinstance(type, Float32Type | Float64Type):
        yield f"'{op.name}' of {type} is a library call on {rules.kind}: use f32"


def _fptrunc(rules: Rules, op: Operation) -> Iterator[str]:
    if rules.nvptx:
        return
    source, target = (element_of(v.type) for v in (op.operands[0], op.results[0]))
    if isinstance(target, Float16Type) and not isinstance(source, Float32Type):
        yield f"'{op.name}' from {source} to f16 is a library call: go through f32"


def _int_conversion(rules: Rules, op: Operation) -> Iterator[str]:
    types = [element_of(v.type) for v in (op.operands[0], op.results[0])]
    for type in types:
        if isinstance(type, IntegerType) and cast("IntegerType", type).bitwidth > 64:
            yield f"'{op.name}' of {type} is a library call: use 64 bits or fewer"


def _division(rules: Rules, op: Operation) -> Iterator[str]:
    type = cast("IntegerType", element_of(op.results[0].type))
    if type.bitwidth > 64:
        yield f"'{op.name}' of {type} is a library call: use 64 bits or fewer"


def _atomic(rules: Rules, op: Operation) -> Iterator[str]:
    type = op.operands[-1].type
    if isinstance(op, tvm_llvm.LoadOp):
        type = op.res.type
    ordering = op.properties.get("ordering")
    if ordering == _NOT_ATOMIC:
        return
    if isinstance(type, IntegerType) and cast("IntegerType", type).bitwidth > 64:
        yield f"'{op.name}' of {type} is not atomic on {rules.kind}: use 64 bits"
    small = isinstance(type, Float16Type | BFloat16Type)
    if small and not rules.nvptx and isinstance(op, tvm_llvm.AtomicRMWOp):
        yield f"'{op.name}' of {type} is a library call on {rules.kind}: use f32"
    yield from _scope(rules, op)


_NOT_ATOMIC = IntegerAttr(0, 64)


def _scope(rules: Rules, op: Operation) -> Iterator[str]:
    scope = op.properties.get("syncscope")
    if not rules.nvptx or not isinstance(scope, StringAttr):
        return
    if scope.data not in ("", "block", "cluster", "device"):
        yield (
            f"'{op.name}' has the scope '{scope.data}': {rules.kind} has block, "
            "cluster and device, and none for the whole system"
        )
    elif scope.data == "cluster" and rules.sm < 90:
        yield f"'{op.name}' has the scope 'cluster', which needs sm_90"


def _alloca(rules: Rules, op: Operation) -> Iterator[str]:
    if not rules.nvptx:
        return
    block = op.parent
    entry = block is not None and block.prev_block is None
    if not entry or not isinstance(op.operands[0].owner, llvm.ConstantOp):
        yield (
            f"'{op.name}' must have a constant size and are in the entry block on "
            f"{rules.kind}"
        )


def _function(rules: Rules, op: Operation) -> Iterator[str]:
    assert isinstance(op, llvm.FuncOp)
    yield from _symbol(rules, op.sym_name.data)
    if not rules.nvptx and nvvm.KERNEL in op.attributes:
        yield (
            f"function '@{op.sym_name.data}' is a GPU kernel: put it into a gpu.module "
            "and use the ptx target"
        )

    yield from _convention(op, op.CConv.convention.data)
    yield from _function_attributes(op)


_CONVENTIONS = frozenset(
    {
        "ccc",
        "coldcc",
        "cxx_fast_tlscc",
        "fastcc",
        "preserve_allcc",
        "preserve_mostcc",
        "swiftcc",
        "swifttailcc",
        "tailcc",
    }
)


def _convention(op: Operation, convention: str) -> Iterator[str]:
    if convention not in _CONVENTIONS:
        yield f"'{op.name}' has the calling convention '{convention}': use ccc or fastcc"


def _function_attributes(op: llvm.FuncOp) -> Iterator[str]:
    name = op.sym_name.data
    attributes = {**op.properties, **op.attributes}
    # Without the registers that the calling convention uses, no call can be compiled.
    for text in _feature_texts(attributes):
        if any(feature.strip().startswith("-") for feature in text.split(",")):
            yield f"function '@{name}' removes processor features: only add some"
    words = _attribute_words(attributes)
    for pair in _CONTRARY:
        if words.issuperset(pair):
            yield f"function '@{name}' is both {' and '.join(pair)}: remove one of them"
    if "optnone" in words and "noinline" not in words:
        yield f"function '@{name}' is optnone: let it be noinline, too"
    for key in (nvvm.MAXNTID, nvvm.REQNTID):
        value = attributes.get(key)
        if value is None:
            continue
        sizes: tuple[int, ...] = ()
        if isinstance(value, DenseArrayBase):
            sizes = tuple(cast("DenseArrayBase[IntegerType]", value).get_values())
        if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
            yield f"'{key}' of '@{name}' must be one to three positive numbers"


_CONTRARY = (("alwaysinline", "noinline"), ("minsize", "optnone"), ("optnone", "optsize"))
"""Attributes of functions of which LLVM's verifier refuses both."""


def _attribute_words(attributes: Mapping[str, Attribute]) -> frozenset[str]:
    """LLVM's names of the attributes of a function that have no value."""
    words = {FUNCTION_UNITS[key] for key in attributes.keys() & FUNCTION_UNITS.keys()}
    passthrough = attributes.get("passthrough")
    if isinstance(passthrough, ArrayAttr):
        items = cast("ArrayAttr[Attribute]", passthrough)
        words |= {item.data for item in items if isinstance(item, StringAttr)}
    return frozenset(words)


def _feature_texts(attributes: Mapping[str, Attribute]) -> Iterator[str]:
    features = attributes.get("target_features")
    if isinstance(features, llvm.TargetFeaturesAttr):
        yield ",".join(feature.data for feature in features.features)
    elif isinstance(features, StringAttr):
        yield features.data
    passthrough = attributes.get("passthrough")
    if isinstance(passthrough, ArrayAttr):
        for item in cast("ArrayAttr[Attribute]", passthrough):
            if isinstance(item, ArrayAttr):
                pair = cast("ArrayAttr[Attribute]", item).data
                if pair[:1] == (StringAttr("target-features"),):
                    yield from (p.data for p in pair[1:] if isinstance(p, StringAttr))


def _call(rules: Rules, op: Operation) -> Iterator[str]:
    assert isinstance(op, llvm.CallOp)
    yield from _convention(op, op.CConv.convention.data)


def _global(rules: Rules, op: Operation) -> Iterator[str]:
    assert isinstance(op, llvm.GlobalOp)
    yield from _symbol(rules, op.sym_name.data)
    if op.linkage.linkage.data == "appending":
        yield f"global '@{op.sym_name.data}' cannot be 'appending': use 'internal'"
    if not rules.nvptx:
        return
    if op.thread_local_ is not None:
        yield f"global '@{op.sym_name.data}' is thread_local, which {rules.kind} lacks"
    shared = op.addr_space.value.data == nvvm.SHARED_SPACE
    if shared and op.value is not None:
        yield f"global '@{op.sym_name.data}' in shared memory cannot have a value"


def _symbol(rules: Rules, name: str) -> Iterator[str]:
    if name.startswith("llvm."):
        yield f"'@{name}' looks like an intrinsic: call it with tvm_llvm.call_intrinsic"
    if rules.nvptx and not _PTX_NAME.match(name):
        yield f"'@{name}' is not a PTX name: use letters, digits, '_', '$' and '.'"


def _inline_asm(rules: Rules, op: Operation) -> Iterator[str]:
    assert isinstance(op, llvm.InlineAsmOp)
    text = op.asm_string.data
    if not rules.nvptx:
        if text not in _CPU_ASM or op.operands_ or op.res is not None:
            yield f"inline assembly '{text}' is not supported on {rules.kind}"
        return
    constraints = op.constraints.data.split(",") if op.constraints.data else []
    for constraint in constraints:
        if not _ASM_CONSTRAINT.match(constraint):
            yield f"inline assembly has the unknown constraint '{constraint}'"
    count = sum(not constraint.startswith("~") for constraint in constraints)
    rest = _ASM_OPERAND.sub("", text)
    used = [int(a or b) for a, b in _ASM_OPERAND.findall(text) if a or b]
    if "$" in rest or any(number >= count for number in used):
        yield f"inline assembly '{text}' names an operand that it does not have"


def _selector(rules: Rules, op: Operation) -> Iterator[str]:
    assert isinstance(op, nvvm.MmaSpOp)
    if op.selected is None:
        yield f"'{op.name}' needs a constant selector"


_CHECKS: dict[type[Operation], _Check] = {
    nvvm.MmaSpOp: _selector,
    llvm.FRemOp: _frem,
    llvm.FPTruncOp: _fptrunc,
    **dict.fromkeys(
        (llvm.SIToFPOp, tvm_llvm.UIToFPOp, tvm_llvm.FPToSIOp, tvm_llvm.FPToUIOp),
        _int_conversion,
    ),
    **dict.fromkeys((llvm.SDivOp, llvm.UDivOp, llvm.SRemOp, llvm.URemOp), _division),
    **dict.fromkeys(
        (
            tvm_llvm.AtomicRMWOp,
            tvm_llvm.CmpXchgOp,
            tvm_llvm.LoadOp,
            tvm_llvm.StoreOp,
        ),
        _atomic,
    ),
    tvm_llvm.FenceOp: _scope,
    llvm.AllocaOp: _alloca,
    llvm.CallOp: _call,
    llvm.FuncOp: _function,
    llvm.GlobalOp: _global,
    llvm.InlineAsmOp: _inline_asm,
}
