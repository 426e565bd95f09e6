"""What the strategies of the default CPU schedule go by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith.expr import Add, Call, Expr, Mul
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import ByteDot, byte_dot
from xdsl_tvm.passes.tir._loops.loop_nest import Axis


@dataclass(frozen=True)
class Machine:
    """A processor, as far as loops care."""

    vector_bytes: int = 64
    cache_bytes: int = 32 << 20
    """Size of the last-level cache."""
    reassociate: bool = True
    """Whether sums of floats may be computed in another order."""
    fuse_multiply_add: bool = True
    """Whether the product in `a * b + c` may stay unrounded."""
    parallel_grain: int = 16384
    """Iterations of a block below which a loop nest stays on one thread."""
    first_cache_bytes: int = 48 << 10
    second_cache_bytes: int = 1 << 20
    """Sizes of the caches of a core."""
    features: frozenset[str] = frozenset()
    """What the processor has, of what `dialects/tir/processor_instructions.py` lists."""

    @property
    def byte_dot(self) -> ByteDot | None:
        """The dot product of bytes that fills a vector, if there is one."""
        return byte_dot(self.lanes(i32), self.features)

    def lanes(self, dtype: Attribute) -> int:
        """How many elements of a type a vector has."""
        return max(self.vector_bytes // tir.bytes_of_lane(dtype), 1)

    def multiply_add(self, a: Expr, b: Expr, c: Expr) -> Expr:
        """`a * b + c`, rounded as the options say, but twice for narrow floats.

        Processors have no multiply-add of some of these, and what computes the same bits
        takes long.
        """
        is_wide = tir.is_float(c.dtype) and tir.bits_of_lane(c.dtype) >= _WIDE
        if self.fuse_multiply_add and is_wide:
            return Call("fma", [a, b, c], c.dtype)
        return Add(c, Mul(a, b))

    def is_parallel(self, axes: Iterable[Axis]) -> bool:
        """Whether a nest over these axes has work for several threads."""
        sizes = [axis.size for axis in axes]
        known = [size for size in sizes if size is not None]
        return len(known) < len(sizes) or prod(known) >= self.parallel_grain


LEFT_TO_LLVM: dict[str, Attribute] = {"pragma_unroll_explicit": IntegerAttr(0, i32)}
"""Annotations of an unrolled loop that LLVM expands, which takes less time than copies
of its body here."""
ROLLED: dict[str, Attribute] = {"unroll_count": IntegerAttr(1, i32)}
"""Annotations of a loop that LLVM leaves as it is."""
MANY_REGISTERS = 64
"""Processors with vectors of so many bytes have 32 of them; others may have 16."""
_WIDE = 32
"""Bits of floats of which all processors have a multiply-add."""
_MANY = 8
"""So many iterations are enough to keep all threads busy."""


def are_many(axes: Sequence[Axis]) -> bool:
    """Whether a loop over these axes has an iteration for each thread."""
    sizes = [axis.size for axis in axes]
    return bool(sizes) and (None in sizes or prod(s or 1 for s in sizes) >= _MANY)


def kind_of(parallel: bool) -> tir.ForKind:
    """The kind of a loop whose iterations are independent."""
    return tir.ForKind.PARALLEL if parallel else tir.ForKind.SERIAL


_CPU_TARGETS = ("c", "llvm")


def is_for_cpu(function: tir.FuncOp) -> bool:
    """Whether a function has no target, or one of a CPU."""
    target = function.attributes.get("target")
    return not isinstance(target, tir.Target) or target.kind.name in _CPU_TARGETS
