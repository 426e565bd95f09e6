"""TIR functions that are launches of threads, written like those of LegalizeOps."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i32
from xdsl.ir import Attribute

from xdsl_tvm.analysis.relax.op_pattern import OpPattern
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.passes.relax.annotate_tir_op_pattern import OP_PATTERN
from xdsl_tvm.passes.relax.legalize.extents import plus, quotient, times
from xdsl_tvm.passes.relax.legalize.registry import RuleContext
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)
from xdsl_tvm.passes.tir.rewriting.barriers import barrier_of


@dataclass(frozen=True)
class Sizes:
    """What a block of threads does. Both are powers of two, `threads` at most `tile`."""

    threads: int = 256
    """The most threads of a block."""
    tile: int = 1024
    """The most elements that a block works on at a time."""


class ThreadProgram(TensorProgram):
    """A function of launches, one after the other, on memory of the root block."""

    def __init__(self, name: str, unbound: Sequence[str] = ()) -> None:
        super().__init__(name, unbound)
        self._launches = self._root
        """Where launches are put."""

    @staticmethod
    def of(site: RuleContext) -> ThreadProgram:
        """The program of a rule for threads."""
        assert isinstance(site.program, ThreadProgram)
        return site.program

    def memory(self, name: str, shape: Sequence[Dim], dtype: Attribute) -> Tensor:
        """Memory that launches pass on, or a result of the function."""
        return self._allocate(name, shape, dtype)

    @contextmanager
    def launch(
        self, name: str, blocks: Dim, threads: int, columns: Dim | None = None
    ) -> Generator[tuple[Expr, ...]]:
        """What each thread does: the numbers of its block, and of the thread in it.

        With `columns`, which a GPU has at most 65535 of, blocks have a second number.
        """
        extents = {"blockIdx.x": self.extent(blocks)}
        if columns is not None:
            extents["blockIdx.y"] = self.extent(columns)
        extents["threadIdx.x"] = self.extent(threads)
        numbers: list[Expr] = []
        body = self._launches
        for tag, extent in extents.items():
            zero = self.extent(0).value
            kind = tir.ForKind.THREAD_BINDING
            hint = tag[0] + tag[-1]
            loop = tir.ForOp(zero, extent.value, kind=kind, thread_tag=tag, name=hint)
            set_name_hint(loop.loop_var, hint)
            numbers.append(Expr(self, loop.loop_var))
            body.add_op(loop)
            body = loop.body.block
        block = tir.BlockOp(name)
        body.add_op(block)
        outer, self._block = self._block, block.body.block
        with self._reading():
            yield tuple(numbers)
        self._block = outer

    @contextmanager
    def launches(self, name: str, count: Dim) -> Generator[Expr]:
        """Launches again and again, with the number of the time."""
        outer, place = self._block, self._launches
        self._block = place
        with self.loop(name, self.extent(0), self.extent(count)) as number:
            self._launches = self._block
            yield number
        self._launches, self._block = place, outer

    @contextmanager
    def unrolled(self, name: str, count: int) -> Generator[Expr]:
        """Statements for each number below `count`, without a loop in the code."""
        kind = tir.ForKind.UNROLLED
        zero, extent = self.extent(0).value, self.extent(count).value
        loop = tir.ForOp(zero, extent, kind=kind, name=name)
        set_name_hint(loop.loop_var, name)
        with self._inside(loop, loop.body.block):
            yield Expr(self, loop.loop_var)

    def scoped(
        self, name: str, shape: Sequence[int], dtype: Attribute, scope: str
    ) -> Tensor:
        """Memory of the block of threads, `shared`, or of one thread, `local`."""
        alloc = tir.AllocBufferOp(tir.BufferType(list(shape), dtype, scope), name=name)
        set_name_hint(alloc.buffer, name)
        self._block.add_op(alloc)
        return Tensor(self, alloc.buffer, tuple(shape), dtype)

    def barrier(self) -> None:
        """All threads of the block have done what is before it."""
        self._block.add_ops(barrier_of("shared"))

    def build(
        self, outputs: Sequence[Tensor], attributes: dict[str, Attribute] | None = None
    ) -> tir.FuncOp:
        """The finished function, which is not fused, and has its schedule."""
        own: dict[str, Attribute] = {
            OP_PATTERN: IntegerAttr(int(OpPattern.OPAQUE), i32),
            "tir.is_scheduled": BoolAttr.from_bool(True),
        }
        return super().build(outputs, own | (attributes or {}))


def power_of_two(least: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(least - 1, 0).bit_length()


def ceildiv(program: TensorProgram, a: Dim, b: int) -> Dim:
    """How many times `b` covers `a`."""
    return quotient(program, plus(program, a, b - 1), b)


def product(program: TensorProgram, dims: Sequence[Dim]) -> Dim:
    """How many elements a shape has."""
    return reduce(lambda a, b: times(program, a, b), dims, 1)
