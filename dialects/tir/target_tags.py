"""The tags of well-known machines, as TVM registers them (docs/spec/tir-ir.md §10)."""

from __future__ import annotations

from typing import Final


def _cuda(arch: str, registers: int = 65536, **more: object) -> dict[str, object]:
    return {
        "kind": "cuda",
        "arch": arch,
        "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024,
        "registers_per_block": registers,
        **more,
    }


def _jetson(arch: str, mcpu: str, cores: int) -> dict[str, object]:
    host = {
        "kind": "llvm",
        "mtriple": "aarch64-linux-gnu",
        "mcpu": mcpu,
        "num-cores": cores,
    }
    return _cuda(arch, host=host)


def _apple(threads: int) -> dict[str, object]:
    host = {"kind": "llvm", "mtriple": "arm64-apple-macos", "mcpu": "apple-latest"}
    return {
        "kind": "metal",
        "max_threads_per_block": threads,
        "max_shared_memory_per_block": 32768,
        "thread_warp_size": 32,
        "host": host,
    }


def _aws_c5(cores: int, mcpu: str) -> dict[str, object]:
    return {"kind": "llvm", "keys": ["x86", "cpu"], "mcpu": mcpu, "num-cores": cores}


_RASPBERRY_PI: dict[str, object] = {
    "kind": "llvm",
    "mtriple": "aarch64-linux-gnu",
    "mcpu": "cortex-a72",
    "mattr": ["+neon"],
    "num-cores": 4,
}

TAGS: Final[dict[str, dict[str, object]]] = {
    "nvidia/nvidia-a100": _cuda("sm_80", l2_cache_size_bytes=41943040),
    "nvidia/nvidia-h100": _cuda("sm_90a", l2_cache_size_bytes=52428800),
    "nvidia/nvidia-a40": _cuda("sm_86"),
    "nvidia/nvidia-a30": _cuda("sm_80"),
    "nvidia/nvidia-a10": _cuda("sm_86"),
    "nvidia/nvidia-a10g": _cuda("sm_86"),
    "nvidia/nvidia-t4": _cuda("sm_75"),
    "nvidia/nvidia-v100": _cuda("sm_70"),
    "nvidia/tesla-p100": _cuda("sm_60"),
    "nvidia/rtx-a6000": _cuda("sm_86"),
    "nvidia/geforce-rtx-4090": _cuda("sm_89", l2_cache_size_bytes=75497472),
    "nvidia/geforce-rtx-3090": _cuda("sm_86"),
    "nvidia/geforce-rtx-3090-ti": _cuda("sm_86"),
    "nvidia/geforce-rtx-3080": _cuda("sm_86"),
    "nvidia/geforce-rtx-3070": _cuda("sm_86"),
    "nvidia/geforce-rtx-2080-ti": _cuda("sm_75"),
    "nvidia/jetson-agx-xavier": _jetson("sm_72", "carmel", 8),
    "nvidia/jetson-agx-orin-64gb": _jetson("sm_87", "cortex-a78", 12),
    "nvidia/jetson-nano": _cuda("sm_53", 32768),
    "apple/m1-gpu": _apple(1024),
    "apple/m1-gpu-restricted": _apple(256),
    "apple/m2-gpu": _apple(1024),
    "aws/cpu/c5.large": _aws_c5(1, "skylake-avx512"),
    "aws/cpu/c5.9xlarge": _aws_c5(18, "skylake-avx512"),
    "aws/cpu/c5.24xlarge": _aws_c5(48, "cascadelake"),
    "raspberry-pi/4b-aarch64": {**_RASPBERRY_PI, "host": _RASPBERRY_PI},
}
"""Machines by their tag in TVM: the fields of their targets."""
