"""What the strategies of the GPU schedule go by."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.gpu_rates import GPUS as GPU_RATES
from xdsl_tvm.analysis.gpu_rates import GPURates
from xdsl_tvm.analysis.tir.function_target import cuda_capability
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import MIN_BLOCKS_PRAGMA
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest
from xdsl_tvm.passes.tir._schedule.maps import is_lazy
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_THREADS = "max_num_threads"
GPUS = frozenset(
    (
        DeviceType.CUDA,
        DeviceType.METAL,
        DeviceType.ROCM,
        DeviceType.VULKAN,
        DeviceType.OPENCL,
        DeviceType.WEBGPU,
    )
)
"""Devices whose functions are schedules of threads."""
ENOUGH_BLOCKS = 108
"""The multiprocessors of an A100; those of an H100 are 132."""
WARP = 32
"""Threads that run in step."""


def threads_of(target: Target, func: tir.FuncOp) -> int:
    """The most threads that a block of the target has."""
    threads = target.int_attr(_THREADS, 0)
    if threads < 1:
        raise PassFailedException(
            f"{func.name} @{func.sym_name.data}: the target '{target.kind.name}' states "
            f"no {_THREADS}; bind one that does, such as 'cuda -{_THREADS}=1024'"
        )
    return threads


_UNITS_SINCE = 80
"""The compute capability from which on `ptx_mma` of 32 bytes of terms exists."""


def has_warpgroups(target: Target) -> bool:
    """Whether a target is a CUDA GPU with products of warpgroups: `sm_90a` alone."""
    arch = target.attrs.data.get("arch")
    is_hopper = isinstance(arch, StringAttr) and arch.data == "sm_90a"
    return is_hopper and target.device_type is DeviceType.CUDA


def has_matrix_units(target: Target) -> bool:
    """Whether a target is a CUDA GPU with `ptx_mma` of 32 bytes of terms."""
    return cuda_capability(target) >= _UNITS_SINCE


def rates_for(target: Target) -> GPURates:
    """The rates of a target's architecture: of the newest known that is not newer, and of
    `sm_80` where the target names none, or an older one."""
    known = {int(arch.removeprefix("sm_")): rates for arch, rates in GPU_RATES.items()}
    capability = cuda_capability(target)
    return known[max((each for each in known if each <= capability), default=min(known))]


@dataclass(frozen=True)
class Device:
    """A GPU, and the sizes of what its threads do."""

    threads: int = 256
    """Threads of a block, a power of two."""
    vector_bytes: int = 16
    """What a thread accesses at once where elements are next to each other."""
    warp_row: int = 1024
    """Up to so many elements, a row has a warp; more have a block."""
    row_in_registers: int = 8192
    """Up to so many elements, what nests hand on of a row stays with the threads."""
    tile: int = 128
    """The most rows and columns of a tile of a product without matrix units."""
    tile_terms: int = 16
    """Terms of a tile of a product that are in shared memory at a time."""
    has_matrix_units: bool = False
    """Whether products of narrow floats and of bytes are done by `ptx_mma`."""
    units_tile: int = 128
    """The most rows and columns of a tile of a product on matrix units."""
    has_warpgroups: bool = False
    """Whether products of narrow floats are done by `ptx_wgmma_mma_async`."""
    warpgroup_tile: int = 256
    """The most rows and columns of a tile of such a product."""
    stages: int = 1
    """How many tiles of an operand are in shared memory; 1 if copies are waited for."""
    fuse_multiply_add: bool = True
    """Whether the product in `a * b + c` may stay unrounded."""
    allow_tf32: bool = False
    """Whether matrix units multiply f32 with 10 bits of the fraction."""
    splits: int | None = None
    """Over how many blocks terms of products are split; None for as fill the device."""
    multiprocessors: int = 108
    """How many there are; an A100 has 108."""
    rates: GPURates = GPU_RATES["sm_80"]
    """What a multiprocessor does in a cycle."""

    def lanes(self, nests: Sequence[Nest], axis: Axis) -> int:
        """How many neighbours along an axis a thread accesses at once.

        They are as many as `lanes_of` says, or half of them again and again until they
        divide the extent; 1 where no nest can access some at once.
        """
        fit = [nest for nest in nests if is_vectorizable(nest, axis)]
        if not fit or axis.size is None:
            return 1
        lanes = min(self.lanes_of(nest) for nest in fit)
        while axis.size % lanes:
            lanes //= 2
        return lanes

    def lanes_of(self, nest: Nest) -> int:
        """How many elements of a nest are accessed at once.

        They are as many of the narrowest type as are in `vector_bytes`, but at most two
        accesses of the widest type.
        """
        types = [_element_type(access.buffer) for access in nest.accesses]
        if any(tir.bits_of_lane(each) < _LEAST_BITS for each in types):
            return 1
        sizes = [tir.bytes_of_lane(each) for each in types]
        most = 2 * self.vector_bytes // max(sizes)
        return max(min(self.vector_bytes // min(sizes), most), 1)


_LEAST_BITS = 8


def _element_type(buffer: SSAValue) -> Attribute:
    return tir.buffer_definition(buffer).type.element_type


def is_vectorizable(nest: Nest, axis: Axis) -> bool:
    """Whether what is accessed along an axis is next to each other, or is one element."""
    if is_lazy(nest):
        return False
    steps = [access.step(axis) for access in nest.accesses]
    return all(step in (0, 1) for step in steps)


def ceildiv(extent: Expr, step: int) -> Expr:
    """How many steps cover an extent."""
    most = smart.const(step - 1, extent.dtype)
    return smart.floordiv(smart.add(extent, most), smart.const(step, extent.dtype))


def is_multiple(extent: Expr, step: int) -> bool:
    """Whether steps cover an extent without a rest, as far as that is known."""
    return smart.literal(smart.floormod(extent, smart.const(step, extent.dtype))) == 0


def in_range(unit: Expr, total: Expr, step: int) -> Expr:
    """That a unit is one of `total`, of which `step` are counted at a time."""
    if is_multiple(total, step):
        return smart.const(1, tir.parse_dtype("bool"))
    return smart.lt(unit, total)


def threads_for(units: Expr, most: int) -> int:
    """A power of two of threads: `most`, or as many as cover the units, where known."""
    size = smart.literal(units)
    while size is not None and most > 1 and most // 2 >= size:
        most //= 2
    return most


def name_of(nests: Sequence[Nest]) -> str:
    """The name of the block that does what nests do: that of the last one."""
    return nests[-1].block.block_name.data


@contextmanager
def kernel(
    code: LoopCode, blocks: Expr, columns: int, rows: int = 1, least: int = 0
) -> Generator[tuple[Expr, Expr, Expr]]:
    """A launch of so many blocks of `rows` by `columns` threads: block, row and column.

    With one row, there is no `threadIdx.y`, and the row is 0. A multiprocessor holds
    `least` blocks at least; with 0, how many is left to the assembler.
    """
    pragmas: dict[str, Attribute] | None = None
    if least:
        pragmas = {MIN_BLOCKS_PRAGMA: IntegerAttr(least, i32)}
    dtype = blocks.dtype

    def threads(count: int) -> Expr:
        return smart.const(count, dtype)

    with code.loop("bx", blocks, thread="blockIdx.x", annotations=pragmas) as block:
        if rows == 1:
            with code.loop("tx", threads(columns), thread="threadIdx.x") as column:
                yield block, smart.const(0, dtype), column
            return
        with (
            code.loop("ty", threads(rows), thread="threadIdx.y") as row,
            code.loop("tx", threads(columns), thread="threadIdx.x") as column,
        ):
            yield block, row, column
