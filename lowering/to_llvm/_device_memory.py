"""Memory of the GPU in host code: a memref like others, made and released otherwise."""

from __future__ import annotations

from typing import Final

ALLOCATE: Final = "tvm_gpu_alloc"
"""The function that gives the address of so many bytes, or 0."""
FREE: Final = "tvm_gpu_free"
"""The function that releases what is at an address, which may be 0."""
ON_DEVICE: Final = "tvm.on_device"
"""The attribute of a memref.alloc or memref.dealloc of memory of the GPU."""
