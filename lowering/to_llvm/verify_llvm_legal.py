"""Pass `tvm-verify-llvm-legal`: nothing that LLVM could not compile is left."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.lowering.llvm_text.emitter import top_level
from xdsl_tvm.lowering.to_llvm._llvm_rules import Rules
from xdsl_tvm.passes.infra import CompilerPass

_ARCH = re.compile(r"sm_(\d+)[af]?\Z")
_VERSION = re.compile(r"(\d+)\.(\d)\Z")


def rules_for(
    triple_kind: str, arch: str = "sm_80", ptx: str = "", features: str = ""
) -> Rules:
    """The rules of a target: `cpu`, or `nvptx` with an architecture such as `sm_90a`.

    `ptx` is the newest version of PTX that may be written, such as `7.8`; empty for any.
    `features` are those of the processor, with spaces between. Raises
    PassFailedException for another kind, a malformed or too old architecture, and a
    malformed version.
    """
    if triple_kind == "cpu":
        return Rules(features=frozenset(features.split()))
    if triple_kind != "nvptx":
        raise PassFailedException(
            f"triple-kind must be 'cpu' or 'nvptx', got '{triple_kind}'"
        )
    match = _ARCH.match(arch)
    if match is None or int(match[1]) < 70:
        raise PassFailedException(f"arch must be sm_70 or later, got '{arch}'")
    version = _VERSION.match(ptx)
    if ptx and version is None:
        raise PassFailedException(f"ptx must be a version such as 7.8, got '{ptx}'")
    newest = 0 if version is None else 10 * int(version[1]) + int(version[2])
    return Rules(int(match[1]), newest, arch)


def check_llvm_legal(operations: Iterable[Operation], rules: Rules) -> None:
    """Raises PassFailedException for the first operation that LLVM cannot compile.

    All operations nested in `operations` are judged by the same rules.
    """
    sound: dict[int, Attribute] = {}
    for op in operations:
        ops = all_ops(op)
        if rules.accept(ops, sound):
            continue
        for inner in ops:
            problem = rules.problem(inner, sound)
            if problem is not None and not isinstance(inner, ModuleOp | gpu.ModuleOp):
                raise PassFailedException(problem)


@dataclass(frozen=True)
class VerifyLLVMLegal(CompilerPass):
    """Summary: Checks that LLVM can compile every operation, and changes nothing.

    TVM name: none (ours)
    Input form: any module, meant to be wholly in the llvm, tvm_llvm and nvvm dialects.
    Output form: the same module.
    Options: `triple_kind`: `cpu` or `nvptx` (cpu)
        `arch`: the GPU architecture for `nvptx` (sm_80)
        `ptx`: the newest version of PTX that drivers take, such as 7.8 (any)
        `features`: what the processor has, by LLVM's names with spaces between, such as
        `avx512vnni` (none)
    Rewrites: none
    Leaves alone: with `cpu` the contents of every gpu.module; with `nvptx` everything
        outside of them, if there are any.
    Errors: the first operation without an LLVM form, with the pass that should have
        lowered it; the first one that would end the process inside LLVM: a math
        function that is a library call, bf16 arithmetic and rounding on a CPU, atomics
        and conversions wider than 64 bits, scalable vectors, GPU operations on a CPU,
        an instruction newer than `arch` or `ptx`, a scope that PTX lacks, a stack slot of
        dynamic size on a GPU, malformed inline assembly, a name that PTX lacks, a
        calling convention without code generation, removed processor features,
        attributes of a function that LLVM refuses together, an instruction of a processor
        without the feature.
    Attributes: read: nvvm.kernel; created: none; removed: none
    Differs from TVM: TVM leaves these errors to LLVM.
    """

    name = "tvm-verify-llvm-legal"

    triple_kind: str = "cpu"
    arch: str = "sm_80"
    ptx: str = ""
    features: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = rules_for(self.triple_kind, self.arch, self.ptx, self.features)
        check_llvm_legal(_of_kind(op, rules.nvptx), rules)


def _of_kind(module: ModuleOp, nvptx: bool) -> list[Operation]:
    """The top-level operations that are compiled for a GPU, or for a CPU."""
    operations = list(top_level([module]))
    kernels = [op for op in operations if isinstance(op, gpu.ModuleOp)]
    if not nvptx:
        return [op for op in operations if not isinstance(op, gpu.ModuleOp)]
    return [*kernels] if kernels else operations
