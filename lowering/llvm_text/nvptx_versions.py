"""Which GPU, and which version of PTX, has an instruction of NVPTX.

LLVM ends the process on an intrinsic that the architecture, or the PTX version it writes,
does not have. The architecture says which PTX version is the lowest; a module is written
in that, or in the lowest that has all of its intrinsics, so that old drivers take it.

The numbers are those of the PTX ISA, and where LLVM 22 demands more, LLVM's;
`tests/unit/lowering/llvm_text/test_nvptx_versions.py` compiles each row.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from xdsl.utils.exceptions import DiagnosticException


class Needs(NamedTuple):
    """The oldest architecture, 80 for sm_80, and PTX version, 70 for 7.0.

    `only` is the one architecture that has it, where later ones do not.
    """

    sm: int
    ptx: int
    only: str = ""

    def lack_of(self, arch: str) -> str | None:
        """What is needed where an architecture does not have it: `sm_80 or later`."""
        if self.only:
            return None if arch == self.only else self.only
        return None if sm_of(arch) >= self.sm else f"sm_{self.sm} or later"


class Row(NamedTuple):
    """Intrinsics whose name, without `llvm.nvvm.`, begins with a pattern and a dot."""

    pattern: str
    needs: Needs


def _row(pattern: str, sm: int, ptx: int, only: str = "") -> Row:
    return Row(pattern, Needs(sm, ptx, only))


_FLOAT_SHAPES = r"(?:m16n16k16|m32n8k16|m8n32k16)"

ROWS: tuple[Row, ...] = (
    # Threads.
    _row(r"read\.ptx\.sreg", 70, 60),
    _row(r"barrier0", 70, 60),
    _row(r"barrier\.cta\.sync\.aligned\.all", 70, 60),
    _row(r"barrier\.cta\.sync\.aligned\.count", 70, 60),
    _row(r"bar\.warp\.sync", 70, 60),
    _row(r"membar\.(?:cta|gl|sys)", 70, 60),
    _row(r"shfl\.sync", 70, 60),
    _row(r"vote\.(?:all|any|uni|ballot)\.sync", 70, 60),
    _row(r"match\.(?:any|all)\.sync", 70, 60),
    _row(r"activemask", 70, 62),
    _row(r"nanosleep", 70, 63),
    _row(r"redux\.sync\.(?:add|u?max|u?min|and|or|xor)", 80, 70),
    _row(r"griddepcontrol\.(?:wait|launch\.dependents)", 90, 78),
    # Copies.
    _row(r"cp\.async\.ca\.shared\.global\.(?:4|8|16)", 80, 70),
    _row(r"cp\.async\.cg\.shared\.global\.16", 80, 70),
    _row(r"cp\.async\.commit\.group", 80, 70),
    _row(r"cp\.async\.wait\.(?:group|all)", 80, 70),
    _row(r"cp\.async\.mbarrier\.arrive(?:\.noinc)?\.shared", 80, 70),
    _row(r"cp\.async\.bulk\.global\.to\.shared\.cluster", 90, 80),
    _row(r"fence\.proxy\.async\.shared_cta", 90, 80),
    _row(r"cp\.async\.bulk\.shared\.cta\.to\.global", 90, 80),
    _row(r"cp\.async\.bulk\.(?:commit\.group|wait\.group)", 90, 80),
    _row(r"cp\.async\.bulk\.tensor\.g2s\.tile\.[12345]d", 90, 80),
    _row(r"cp\.async\.bulk\.tensor\.s2g\.tile\.[12345]d", 90, 80),
    _row(r"prefetch\.(?:global|local)\.L[12]", 90, 80),
    # Barriers in shared memory.
    _row(r"mbarrier\.(?:init|inval|arrive)\.shared", 80, 70),
    _row(r"mbarrier\.test\.wait\.shared", 80, 70),
    _row(r"mbarrier\.test\.wait\.parity\.scope\.cta\.space\.cta", 80, 71),
    _row(r"mbarrier\.try\.wait(?:\.parity)?\.scope\.cta\.space\.cta", 90, 78),
    _row(r"mbarrier\.arrive\.expect\.tx\.scope\.cta\.space\.cta", 90, 80),
    # Matrices.
    _row(r"ldmatrix\.sync\.aligned\.m8n8\.x[124](?:\.trans)?\.b16", 75, 65),
    _row(r"stmatrix\.sync\.aligned\.m8n8\.x[124](?:\.trans)?\.b16", 90, 78),
    _row(r"mma\.m8n8k4\.(?:row|col)\.(?:row|col)\.f(?:16|32)\.f(?:16|32)", 70, 64),
    _row(r"mma\.m16n8k8\.row\.col\.f(?:16\.f16|32\.f32)", 75, 65),
    _row(r"mma\.m16n8k16\.row\.col\.f(?:16\.f16|32\.f32)", 80, 70),
    _row(r"mma\.m16n8k(?:8|16)\.row\.col\.bf16", 80, 70),
    _row(r"mma\.m16n8k(?:4|8)\.row\.col\.tf32", 80, 70),
    _row(r"mma\.m8n8k4\.row\.col\.f64", 80, 70),
    _row(r"mma\.m16n8k(?:4|8|16)\.row\.col\.f64", 90, 78),
    _row(r"mma\.m16n8k32\.row\.col\.f(?:16|32)\.e[45]m[23]", 89, 84),
    _row(r"mma\.m8n8k16\.row\.col(?:\.satfinite)?\.[su]8", 75, 65),
    _row(r"mma\.m16n8k(?:16|32)\.row\.col(?:\.satfinite)?\.[su]8", 80, 70),
    _row(r"mma\.m8n8k32\.row\.col(?:\.satfinite)?\.[su]4", 75, 65),
    _row(r"mma\.m16n8k(?:32|64)\.row\.col(?:\.satfinite)?\.[su]4", 80, 70),
    _row(r"mma\.xor\.popc\.m(?:8n8k128|16n8k128|16n8k256)\.row\.col\.b1", 80, 70),
    _row(r"mma\.and\.popc\.m(?:8n8k128|16n8k128|16n8k256)\.row\.col\.b1", 80, 71),
    _row(r"mma\.sp\.m16n8k(?:16|32)\.row\.col\.(?:f16\.f16|f32\.f32|bf16)", 80, 71),
    _row(r"mma\.sp\.m16n8k(?:8|16)\.row\.col\.tf32", 80, 71),
    _row(r"mma\.sp\.m16n8k(?:32|64)\.row\.col(?:\.satfinite)?\.[su]8", 80, 71),
    _row(r"mma\.sp\.m16n8k(?:64|128)\.row\.col(?:\.satfinite)?\.[su]4", 80, 71),
    _row(r"mma\.sp\.m16n8k64\.row\.col\.f32\.e[45]m[23]", 89, 84),
    _row(r"wmma\.m16n16k16\.(?:load|store)\.[abcd]\.(?:row|col).*\.f(?:16|32)", 70, 60),
    _row(r"wmma\.m16n16k16\.mma\.(?:row|col)\.(?:row|col)\.f(?:16|32)", 70, 60),
    _row(
        r"wmma\.(?:m32n8k16|m8n32k16)\.(?:load|store)\.[abcd]\.(?:row|col).*\.f(?:16|32)",
        70,
        61,
    ),
    _row(
        r"wmma\.(?:m32n8k16|m8n32k16)\.mma\.(?:row|col)\.(?:row|col)\.f(?:16|32)", 70, 61
    ),
    _row(rf"wmma\.{_FLOAT_SHAPES}\.(?:load|store)\..*\.(?:[su]8|s32)", 72, 63),
    _row(rf"wmma\.{_FLOAT_SHAPES}\.mma\..*\.[su]8", 72, 63),
    _row(rf"wmma\.{_FLOAT_SHAPES}\.(?:load|mma)\..*\.bf16", 80, 70),
    _row(r"wmma\.m8n8k32\.(?:load|store|mma)\..*\.(?:[su]4|s32)", 75, 63),
    _row(r"wmma\.m8n8k128\.(?:load|store)\..*\.(?:b1|s32)", 75, 63),
    _row(r"wmma\.m8n8k128\.mma\.xor\.popc\.row\.col\.b1", 75, 63),
    _row(r"wmma\.m8n8k128\.mma\.and\.popc\.row\.col\.b1", 80, 71),
    _row(r"wmma\.m16n16k8\.(?:load|store|mma)\..*\.(?:tf32|f32)", 80, 70),
    _row(r"wmma\.m8n8k4\.(?:load|store|mma)\..*\.f64", 80, 70),
    _row(
        r"wgmma\.(?:fence|commit_group|wait_group)\.sync\.aligned", 90, 80, only="sm_90a"
    ),
    _row(
        r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.(?:f16\.f16|bf16\.bf16)",
        90,
        80,
        only="sm_90a",
    ),
    # Approximations.
    _row(r"ex2\.approx\.(?:ftz\.)?f", 70, 60),
    _row(r"ex2\.approx\.(?:ftz\.)?(?:v2)?f16", 75, 70),
    _row(r"(?:lg2|rsqrt|sin|cos)\.approx", 70, 60),
    _row(r"(?:rcp|sqrt|div)", 70, 60),
)
"""The intrinsics that are known, the first row that fits counts.

Products of warpgroups are no intrinsics of LLVM, and are written as assembly.
"""

_PREFIX = "llvm.nvvm."
_PATTERNS = [(re.compile(row.pattern + r"\."), row.needs) for row in ROWS]


@cache
def needs_of(name: str) -> Needs | None:
    """What an intrinsic `llvm.nvvm.…` needs; None for one that is not known."""
    text = name.removeprefix(_PREFIX) + "."
    for pattern, needs in _PATTERNS:
        if pattern.match(text):
            return needs
    return None


_TRY_WAIT = {
    "llvm.nvvm.mbarrier.try.wait.scope.cta.space.cta": (
        "llvm.nvvm.mbarrier.test.wait.shared"
    ),
    "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta": (
        "llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta"
    ),
}


def available_name(name: str, sm: int) -> str:
    """The intrinsic that does on `sm` what `name` does.

    Before sm_90 a wait that may suspend the thread is one that does not.
    """
    return _TRY_WAIT.get(name, name) if sm < 90 else name


ARCHS: dict[str, int] = {
    f"sm_{name}": ptx
    for name, ptx in (
        ("70", 60),
        ("72", 61),
        ("75", 63),
        ("80", 70),
        ("86", 71),
        ("87", 74),
        ("89", 78),
        ("90", 78),
        ("90a", 80),
        ("100", 86),
        ("100a", 86),
        ("101", 86),
        ("101a", 86),
        ("103", 88),
        ("103a", 88),
        ("120", 87),
        ("120a", 87),
        ("121", 88),
        ("121a", 88),
    )
}
"""The architectures, and the lowest PTX version that LLVM writes for each."""

_CALLED = re.compile(r"@(llvm\.nvvm\.[\w.]+)\(")


def sm_of(arch: str) -> int:
    """The number of an architecture: 90 for sm_90a."""
    return int(arch.removeprefix("sm_").rstrip("af"))


def version_text(ptx: int) -> str:
    """`7.8` for 78."""
    return f"{ptx // 10}.{ptx % 10}"


def ptx_version(text: str, arch: str) -> int:
    """The lowest PTX version in which an LLVM module can be written for `arch`.

    Raises DiagnosticException for an intrinsic that the architecture does not have.
    """
    version = ARCHS[arch]
    for name in set(_CALLED.findall(text)):
        needs = needs_of(name)
        if needs is None:
            continue
        lack = needs.lack_of(arch)
        if lack is not None:
            raise DiagnosticException(f"'{name}' needs {lack}, not {arch}")
        version = max(version, needs.ptx)
    return version
