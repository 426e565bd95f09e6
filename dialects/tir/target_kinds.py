"""Kinds of targets and their attributes, as TVM registers them.

docs/spec/tir-ir.md §10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final


class DeviceType(IntEnum):
    """The kinds of devices, with DLPack's numbers."""

    CPU = 1
    CUDA = 2
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    ROCM = 10
    EXT_DEV = 12
    WEBGPU = 15
    HEXAGON = 16


class OptionType(Enum):
    """What values a target attribute takes."""

    BOOL = "a bool"
    INT = "an integer"
    STR = "a string"
    STRS = "a list of strings"
    TARGETS = "a list of targets"


@dataclass(frozen=True)
class Option:
    """An attribute of a target kind: its type, and its value where none is given."""

    type: OptionType
    default: bool | int | str | tuple[str, ...] | None = None


@dataclass(frozen=True)
class TargetKind:
    """A kind of target: what TVM registers under its name."""

    name: str
    device_type: DeviceType
    default_keys: tuple[str, ...]
    options: Mapping[str, Option]


_INT = Option(OptionType.INT)
_STR = Option(OptionType.STR)
_STRS = Option(OptionType.STRS)
_BOOL = Option(OptionType.BOOL)


def _int(default: int) -> Option:
    return Option(OptionType.INT, default)


_COMMON: Final[dict[str, Option]] = {
    "device": _STR,
    "from_device": _INT,
    "libs": _STRS,
    "model": _STR,
    "target_device_type": _INT,
}
"""What every kind has besides kind, tag, keys and host."""

_LLVM: dict[str, Option] = {
    "cl-opt": _STRS,
    "fast-math": _BOOL,
    "fast-math-arcp": _BOOL,
    "fast-math-contract": _BOOL,
    "fast-math-ninf": _BOOL,
    "fast-math-nnan": _BOOL,
    "fast-math-nsz": _BOOL,
    "fast-math-reassoc": _BOOL,
    "jit": _STR,
    "mabi": _STR,
    "mattr": _STRS,
    "mcpu": _STR,
    "mfloat-abi": _STR,
    "mtriple": _STR,
    "num-cores": _INT,
    "opt-level": _INT,
    "vector-width": _INT,
}
_C: dict[str, Option] = {
    "constants-byte-alignment": _INT,
    "march": _STR,
    "mcpu": _STR,
    "workspace-byte-alignment": _INT,
}
_CUDA: dict[str, Option] = {
    "arch": _STR,
    "l2_cache_size_bytes": _INT,
    "max_num_threads": _int(1024),
    "max_shared_memory_per_block": _INT,
    "max_threads_per_block": _INT,
    "mcpu": _STR,
    "registers_per_block": _INT,
    "thread_warp_size": _int(32),
}
_NVPTX: dict[str, Option] = {
    "max_num_threads": _int(1024),
    "mcpu": _STR,
    "mtriple": Option(OptionType.STR, "nvptx64-nvidia-cuda"),
    "thread_warp_size": _int(32),
}
_ROCM: dict[str, Option] = {
    "mattr": _STRS,
    "max_num_threads": _int(256),
    "max_shared_memory_per_block": _int(65536),
    "max_threads_per_block": _int(256),
    "mcpu": _STR,
    "mtriple": Option(OptionType.STR, "amdgcn-amd-amdhsa-hcc"),
    "thread_warp_size": _int(64),
}
_OPENCL: dict[str, Option] = {
    "image_base_address_alignment": _int(64),
    "max_function_args": _int(128),
    "max_num_threads": _int(256),
    "max_shared_memory_per_block": _int(16384),
    "max_threads_per_block": _int(256),
    "texture_spatial_limit": _int(16384),
    "thread_warp_size": _int(1),
}
_METAL: dict[str, Option] = {
    "max_function_args": _int(31),
    "max_num_threads": _int(256),
    "max_shared_memory_per_block": _int(32768),
    "max_threads_per_block": _int(256),
    "thread_warp_size": _int(16),
}
_VULKAN: dict[str, Option] = {
    **dict.fromkeys(
        (
            "supports_16bit_buffer",
            "supports_8bit_buffer",
            "supports_cooperative_matrix",
            "supports_dedicated_allocation",
            "supports_float16",
            "supports_float64",
            "supports_int16",
            "supports_int64",
            "supports_int8",
            "supports_integer_dot_product",
            "supports_push_descriptor",
            "supports_storage_buffer_storage_class",
        ),
        _BOOL,
    ),
    **dict.fromkeys(
        (
            "driver_version",
            "max_block_size_x",
            "max_block_size_y",
            "max_block_size_z",
            "max_per_stage_descriptor_storage_buffer",
            "max_push_constants_size",
            "max_shared_memory_per_block",
            "max_spirv_version",
            "max_storage_buffer_range",
            "max_uniform_buffer_range",
            "supported_subgroup_operations",
            "vulkan_api_version",
        ),
        _INT,
    ),
    **dict.fromkeys(("device_name", "device_type", "driver_name"), _STR),
    "mattr": _STRS,
    "max_num_threads": _int(256),
    "max_threads_per_block": _int(256),
    "supports_float32": Option(OptionType.BOOL, True),
    "supports_int32": Option(OptionType.BOOL, True),
    "thread_warp_size": _int(1),
}
_HEXAGON: dict[str, Option] = {
    "llvm-options": _STRS,
    "mattr": _STRS,
    "mcpu": _STR,
    "mtriple": _STR,
    "num-cores": _INT,
    "vtcm-capacity": _INT,
}


def _kinds() -> Iterator[TargetKind]:
    for name, device_type, keys, options in (
        ("llvm", DeviceType.CPU, ("cpu",), _LLVM),
        ("c", DeviceType.CPU, ("cpu",), _C),
        ("cuda", DeviceType.CUDA, ("cuda", "gpu"), _CUDA),
        ("nvptx", DeviceType.CUDA, ("cuda", "gpu"), _NVPTX),
        ("rocm", DeviceType.ROCM, ("rocm", "gpu"), _ROCM),
        ("opencl", DeviceType.OPENCL, ("opencl", "gpu"), _OPENCL),
        ("metal", DeviceType.METAL, ("metal", "gpu"), _METAL),
        ("vulkan", DeviceType.VULKAN, ("vulkan", "gpu"), _VULKAN),
        (
            "webgpu",
            DeviceType.WEBGPU,
            ("webgpu", "gpu"),
            {"max_num_threads": _int(256)},
        ),
        ("hexagon", DeviceType.HEXAGON, ("hexagon", "cpu"), _HEXAGON),
        ("ext_dev", DeviceType.EXT_DEV, (), {}),
        ("hybrid", DeviceType.CPU, (), {}),
        ("test", DeviceType.CPU, (), {}),
        (
            "composite",
            DeviceType.CPU,
            (),
            {"devices": Option(OptionType.TARGETS)},
        ),
    ):
        yield TargetKind(name, device_type, keys, {**_COMMON, **options})


KINDS: Final[dict[str, TargetKind]] = {kind.name: kind for kind in _kinds()}
"""The kinds of targets, with their attributes and defaults.

What TVM detects on the machine it runs on (`arch` of cuda, `mcpu` of nvptx and rocm) has
no default here: a module means the same wherever it is compiled.
"""
