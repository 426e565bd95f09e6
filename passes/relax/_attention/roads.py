"""What attention is written for: processors with vectors, and GPUs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerAttr,
    i32,
)
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.annotations import MIN_BLOCKS
from xdsl_tvm.passes.relax._attention.few_queries import MOST_QUERIES, FewQueries
from xdsl_tvm.passes.relax._attention.matching import Dtypes, FoundAttention
from xdsl_tvm.passes.relax._attention.one_pass import OnePass
from xdsl_tvm.passes.relax._attention.places import Places, constant
from xdsl_tvm.passes.relax._attention.tensor_cores import TensorCores
from xdsl_tvm.passes.relax._attention.thread_blocks import has_copies
from xdsl_tvm.passes.relax._attention.threads import Threads
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_ALL: Dtypes = (Float32Type, Float16Type, BFloat16Type)


class Road(ABC):
    """Writes attention of some dtypes and sizes."""

    dtypes: ClassVar[Dtypes] = _ALL
    """Those of operators."""
    spelled_out: ClassVar[Dtypes] = _ALL
    """Those of attention that is spelled out."""
    most_features: ClassVar[int]

    def covers(self, found: FoundAttention) -> bool:
        """Whether there is a function for attention, and it is worth it."""
        what = found.what
        if min(what.heads, what.key_heads, what.value_heads) == 0:
            return False
        sizes = what.features, what.value_features
        return all(0 < each <= self.most_features for each in sizes)

    def attributes(self) -> dict[str, Attribute]:
        """Those of the function, besides what all functions have."""
        return {}

    @abstractmethod
    def write(self, code: LoopCode, places: Places) -> None:
        """Write the loops of attention that is covered."""


@dataclass(frozen=True)
class Vectors(Road):
    """A processor with vectors of so many bytes."""

    spelled_out: ClassVar[Dtypes] = (Float32Type,)
    most_features: ClassVar[int] = 256
    """With more, what a task holds leaves the second cache."""

    vector_bytes: int

    def write(self, code: LoopCode, places: Places) -> None:
        queries = places.what.queries
        few = FewQueries(code, places, self.vector_bytes)
        many = OnePass(code, places, self.vector_bytes)
        if self.vector_bytes == _LANE_BYTES:
            many.write()
            return
        if queries is not None:
            (few if queries <= MOST_QUERIES else many).write()
            return
        are_few = smart.le(places.queries, constant(MOST_QUERIES))
        with code.when(are_few):
            few.write()
        with code.when(smart.negation(are_few)):
            many.write()


_LANE_BYTES = 4


@dataclass(frozen=True)
class ThreadBlocks(Road):
    """A GPU of a compute capability."""

    most_features: ClassVar[int] = 256
    """What a thread holds of more does not fit its registers."""

    capability: int
    is_asynchronous: bool

    def covers(self, found: FoundAttention) -> bool:
        info = TensorInfo.of(found.operands[0].type)
        dtype = None if info is None else info.dtype
        if dtype is None or not super().covers(found):
            return False
        if not isinstance(dtype, Float32Type) and self.capability < _UNITS_SINCE:
            return False
        sizes = found.what.features, found.what.value_features
        return all(has_copies(each, dtype) for each in sizes)

    def attributes(self) -> dict[str, Attribute]:
        """Without a number of blocks, ptxas spills registers to hold one block more."""
        return {MIN_BLOCKS: IntegerAttr(1, i32)}

    def write(self, code: LoopCode, places: Places) -> None:
        is_narrow = not isinstance(places.query.dtype, Float32Type)
        kind = TensorCores if is_narrow else Threads
        kind(code, places, self.is_asynchronous).write()


_UNITS_SINCE = 80
"""The compute capability from which on `ptx_mma` of 16 terms exists."""
