"""How fast a kernel can be at most, judged from its machine code alone.

The hottest loop is taken as all that a kernel does: its instructions, of all warps that a
multiprocessor holds at a time, are spread over the units that execute them, and the unit
that needs most cycles bounds the loop. Latencies, conflicts of memory banks, misses of
caches, and what is before and after the loop are left out; lanes that load from shared
memory by LDS may load the same words, which takes one cycle. So the share of the peak is
an upper bound and no forecast. Where one warpgroup of a block copies what others
multiply, its warps are left out, and what it copies is counted by what is multiplied.

The rates are those of `analysis/gpu_rates.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl_tvm.analysis.gpu_rates import (
    CACHE_BYTES,
    QUARTERS,
    SHARED_BYTES,
    WARP,
    GPURates,
    Occupancy,
    occupancy,
    rates_of,
)
from xdsl_tvm.runtime.sass import Instruction, KernelCode, Loop

_GROUP_WARPS = 4
_CACHE = "second-level cache"

_MATRIX = re.compile(r"(?P<kind>[HIDQ]G?MMA)\.(?P<shape>\d+(?:x\d+x\d+)?)(?P<rest>.*)")
_SHAPES = {
    "16816": (16, 8, 16),
    "1688": (16, 8, 8),
    "1684": (16, 8, 4),
    "884": (8, 8, 4),
    "16832": (16, 8, 32),
    "8816": (8, 8, 16),
}
_SHARED = ("LDS", "STS", "LDSM", "STSM", "LDGSTS")
_ACCESSES = ("LDG", "STG", "LDGSTS", "RED", "ATOMG")
_WIDTHS = ((".128", 16), (".64", 8), (".U16", 2), (".S16", 2), (".U8", 1), (".S8", 1))


def bytes_of(instruction: Instruction) -> int:
    """The bytes that each thread moves by an access of memory."""
    text = instruction.opcode
    return next((size for suffix, size in _WIDTHS if suffix in text), 4)


def matrix_operations(opcode: str) -> tuple[int, bool] | None:
    """Multiply-adds of f16 that take as long as an instruction of the tensor units, and
    whether a warpgroup executes it; None for any other instruction."""
    match = _MATRIX.match(opcode)
    if match is None:
        return None
    kind, shape = match["kind"], match["shape"]
    extents = tuple(map(int, shape.split("x"))) if "x" in shape else _SHAPES.get(shape)
    if extents is None or len(extents) != 3:
        return None
    count = float(extents[0] * extents[1] * extents[2])
    if "TF32" in match["rest"]:
        count *= 2
    if kind[0] in "IQ":
        count /= 2
    if kind[0] == "D":
        count *= 16
    return round(count), "G" in kind[1:2]


@dataclass(frozen=True)
class KernelEstimate:
    """The bound of a kernel."""

    code: KernelCode
    threads: int
    occupancy: Occupancy
    loop: Loop | None
    """None where the kernel has no loop, and all of it is judged."""
    cycles: dict[str, float]
    """Of a multiprocessor, for one turn of the loop by all its warps, by unit."""
    bound: str
    """The unit that needs most."""
    peak: str
    """What the share is of: `tensor`, `f32`, `f64`, `f16` or `second-level cache`."""
    share: float
    bytes_in_flight: int
    """That loads of a turn of the loop ask for, by all warps."""


def estimate(
    code: KernelCode, threads: int, dynamic_bytes: int = 0
) -> KernelEstimate | None:
    """The bound of a kernel for blocks of so many threads; None if none fits.

    Raises ValueError for an architecture whose rates are not known.
    """
    gpu = rates_of(code.arch)
    held = occupancy(gpu, code.registers, code.shared_bytes + dynamic_bytes, threads)
    if not held.blocks:
        return None
    loop = code.hottest_loop("HGMMA") or _matrix_loop(code) or code.hottest_loop()
    body = code.instructions if loop is None else loop.instructions
    warps = held.warps
    if _is_fed(code, body):
        # A warpgroup of each block copies, and is in no loop of products.
        warps -= held.blocks * _GROUP_WARPS
    cycles, work = _cycles(gpu, body, warps)
    if warps < held.warps:
        cycles[_CACHE] += held.blocks * _copied_operands(body, warps // held.blocks)
    bound = max(cycles, key=lambda unit: cycles[unit])
    peak = next((kind for kind in work if work[kind]), _CACHE)
    if bound == _CACHE and peak != "tensor":
        peak = _CACHE
    done = work.get(peak, cycles[_CACHE])
    loads = sum(
        bytes_of(each)
        for each in body
        if each.name in ("LDG", "LDGSTS") and "PREFETCH" not in each.opcode
    )
    return KernelEstimate(
        code,
        threads,
        held,
        loop,
        {unit: value for unit, value in cycles.items() if value},
        bound,
        peak,
        done / cycles[bound] if cycles[bound] else 0.0,
        loads * WARP * held.warps,
    )


def _is_fed(code: KernelCode, body: Sequence[Instruction]) -> bool:
    """Whether products of warpgroups have operands that other warps copy."""
    names = {each.name for each in body}
    return "HGMMA" in names and "UTMALDG" not in names and code.count("UTMALDG") > 0


def _copied_operands(body: Sequence[Instruction], warps: int) -> float:
    """Cycles for what tensor copies load for a turn: rows of each warpgroup, and columns
    of all of them."""
    total = 0.0
    for each in body:
        match = _MATRIX.match(each.opcode)
        if match is not None and each.name == "HGMMA":
            m, n, k = map(int, match["shape"].split("x"))
            total += (warps / _GROUP_WARPS * m + n) * k * 2
    return total / CACHE_BYTES


def _matrix_loop(code: KernelCode) -> Loop | None:
    return next(
        filter(None, (code.hottest_loop(kind) for kind in ("HMMA", "IMMA", "DMMA"))), None
    )


def _cycles(
    gpu: GPURates, body: Sequence[Instruction], warps: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Cycles by unit, and the cycles that the useful operations take at their peak."""
    units = ("tensor", "f32", "f64", "f16", "special", "shared", "issue")
    cycles: dict[str, float] = dict.fromkeys((*units, _CACHE), 0.0)
    work: dict[str, float] = dict.fromkeys(("tensor", "f32", "f64", "f16"), 0.0)
    for each in body:
        cycles["issue"] += warps / QUARTERS
        name, lanes = each.name, WARP * warps
        matrix = matrix_operations(each.opcode)
        if matrix is not None:
            count, by_group = matrix
            groups = warps / QUARTERS if by_group else warps
            least = count / gpu.tensor * groups
            work["tensor"] += least
            cycles["shared"] += _shared_operands(each.opcode) * groups
            cycles["tensor"] += least if by_group else least / gpu.sync_share
        elif name in _SHARED and "RZ, [RZ]" not in each.operands:
            cycles["shared"] += _shared_cycles(each) * warps
        elif name in ("FFMA", "FADD", "FMUL"):
            _add(cycles, work, "f32", lanes / gpu.f32, name)
        elif name in ("DFMA", "DADD", "DMUL"):
            _add(cycles, work, "f64", lanes / gpu.f64, name)
        elif name in ("HFMA2", "HADD2", "HMUL2") and "-RZ, RZ" not in each.operands:
            _add(cycles, work, "f16", lanes / gpu.half2, name)
        elif name == "MUFU":
            cycles["special"] += lanes / gpu.special
        if name in _ACCESSES:
            cycles[_CACHE] += bytes_of(each) * lanes / CACHE_BYTES
    return cycles, work


def _add(
    cycles: dict[str, float], work: dict[str, float], unit: str, least: float, name: str
) -> None:
    """An operation of a unit; at the peak every one is a multiply-add."""
    cycles[unit] += least
    work[unit] += least if "FMA" in name else least / 2


def _shared_operands(opcode: str) -> float:
    """Cycles for the matrices that a warpgroup multiplies from shared memory."""
    match = _MATRIX.match(opcode)
    if match is None or "x" not in match["shape"]:
        return 0.0
    m, n, k = map(int, match["shape"].split("x"))
    return (m + n) * k * 2 / SHARED_BYTES


def _shared_cycles(instruction: Instruction) -> int:
    """Cycles that shared memory needs for an access of a warp without conflicts."""
    if instruction.name in ("LDSM", "STSM"):
        matrices = instruction.opcode.rpartition(".")[2]
        return int(matrices) if matrices in ("2", "4") else 1
    return 1 if instruction.name == "LDS" else max(1, bytes_of(instruction) // 4)
