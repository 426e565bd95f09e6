"""What a multiprocessor of a GPU holds, and operations it does in a cycle.

The rates are taken from data sheets and published measurements; no device was measured
for them. They are in one table, `GPUS`, for schedules and estimates:

- registers, warps, blocks and shared memory of a multiprocessor: CUDA C++ Programming
  Guide, table "Technical Specifications per Compute Capability";
- f32, f64 and f16 operations, special functions and 32 bytes a cycle and quarter of
  shared memory: the same guide, table "Throughput of Native Arithmetic Instructions";
- operations of the tensor units: white papers of the A100, AD102 and H100; that
  `mma.sync` reaches 62 % of the rate of `wgmma` on sm_90: published microbenchmarks of
  Hopper;
- 64 bytes a cycle between a multiprocessor and the second-level cache, and 40 KiB in
  flight to hide the latency of memory: published microbenchmarks of the A100;
- multiprocessors: those of the A100, A40, L40S and H100 SXM.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
QUARTERS = 4
"""Schedulers of a multiprocessor, each of which issues an instruction in a cycle."""
_REGISTERS = 65536
_REGISTER_UNIT = 256
"""The registers of a warp are a multiple of this."""
_RESERVED_SHARED = 1024
"""Bytes of shared memory that the system takes of each block."""
_SHARED_UNIT = 128
CACHE_BYTES = 64
"""Bytes that a multiprocessor loads in a cycle from the second-level cache."""
SHARED_BYTES = 128
"""Bytes of shared memory that it accesses in a cycle."""
ENOUGH_IN_FLIGHT = 40 << 10
"""Bytes that a multiprocessor should have in flight to hide the latency of memory."""


@dataclass(frozen=True)
class GPURates:
    """What one multiprocessor holds, its operations a cycle, and how many there are."""

    warps: int
    blocks: int
    shared_bytes: int
    tensor: int
    """Multiply-adds of f16 of the tensor units."""
    sync_share: float
    """What `mma.sync` reaches of that."""
    f32: int
    """Multiply-adds of f32."""
    f64: int
    half2: int
    """Multiply-adds of pairs of f16."""
    multiprocessors: int
    special: int = 16
    """Special functions, such as reciprocals."""


GPUS: dict[str, GPURates] = {
    "sm_80": GPURates(64, 32, 164 << 10, 1024, 1.0, 64, 32, 128, 108),
    "sm_86": GPURates(48, 16, 100 << 10, 512, 1.0, 128, 2, 64, 84),
    "sm_89": GPURates(48, 24, 100 << 10, 512, 1.0, 128, 2, 64, 142),
    "sm_90": GPURates(64, 32, 228 << 10, 2048, 0.62, 128, 64, 128, 132),
}
"""The rates by architecture."""


def rates_of(arch: str) -> GPURates:
    """The rates of `sm_90`, and of `sm_90a`. Raises ValueError for one not known."""
    found = GPUS.get(arch.rstrip("af"))
    if found is None:
        raise ValueError(
            f"no rates are known of {arch}; known are {', '.join(GPUS)} "
            "(analysis/gpu_rates.py)"
        )
    return found


@dataclass(frozen=True)
class Occupancy:
    """What a multiprocessor holds at a time."""

    blocks: int
    warps: int
    limit: str
    """What allows no more blocks: warps, blocks, registers or shared memory."""


def occupancy(
    gpu: GPURates, registers: int, shared_bytes: int, threads: int
) -> Occupancy:
    """How many blocks a multiprocessor holds; 0 if one is too large."""
    warps = -(-threads // WARP)
    per_warp = -(-registers * WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    shared = -(-(shared_bytes + _RESERVED_SHARED) // _SHARED_UNIT) * _SHARED_UNIT
    limits = {
        "warps": gpu.warps // warps,
        "blocks": gpu.blocks,
        "registers": _REGISTERS // (max(per_warp, 1) * warps),
        "shared memory": gpu.shared_bytes // shared,
    }
    limit = min(limits, key=lambda each: limits[each])
    return Occupancy(limits[limit], limits[limit] * warps, limit)
