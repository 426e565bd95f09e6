"""Who uses whom among patterns, and which contexts are told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import are_equal_dims
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    expect_pattern,
    expect_patterns,
)
from xdsl_tvm.dialects.relax.types import TensorInfo

if TYPE_CHECKING:
    from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import DFPattern


class PatternGraph(Protocol):
    """What patterns register with while a `PatternContext` is entered."""

    def add_part(self, part: DFPattern, call: DFPattern) -> None:
        """A call has an argument."""

    def add_use(
        self, producer: DFPattern, consumer: DFPattern, index: int, *, only: bool
    ) -> None:
        """A pattern uses another one."""

    def add_same_shape(self, constraint: SameShapeConstraint) -> None:
        """Patterns match tensors of one shape."""


ENTERED: ContextVar[PatternGraph | None] = ContextVar("pattern_graph", default=None)
"""The innermost context that is entered."""


def current_context() -> PatternGraph | None:
    """The innermost context that is entered."""
    return ENTERED.get()


class DFConstraint:
    """A condition on what several patterns match."""


class SameShapeConstraint(DFConstraint):
    """What the patterns match has one shape, provably."""

    def __init__(self, *args: DFPattern) -> None:
        self.args = expect_patterns("same_shape_as", args)
        if (context := current_context()) is not None:
            context.add_same_shape(self)

    def holds(self, matched: Mapping[DFPattern, SSAValue]) -> bool:
        """Whether it does, for the patterns that have matched."""
        infos = [TensorInfo.of(matched[p].type) for p in self.args if p in matched]
        shapes = [None if info is None else info.shape for info in infos]
        return all(are_equal_dims(shapes[0], shape) for shape in shapes[1:])


class PatternSeq:
    """Patterns of which each is used by the next, or by nothing else if `only_use`."""

    def __init__(self, patterns: Sequence[DFPattern], only_use: bool = False) -> None:
        self.patterns = expect_patterns("a sequence", patterns)
        self._uses: list[tuple[int, bool]] = []
        for _ in self.patterns[1:]:
            self._uses.append((-1, only_use))
        self._register(1)

    def _register(self, first: int) -> None:
        """Tells the context what uses the patterns before those from `first` on."""
        if (context := current_context()) is None:
            return
        for place in range(first, len(self.patterns)):
            index, only = self._uses[place - 1]
            producer, consumer = self.patterns[place - 1], self.patterns[place]
            context.add_use(producer, consumer, index, only=only)

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The first pattern of the other sequence uses the last one of this."""
        return self._joined(other, index, only=False)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The same, and nothing else uses it."""
        return self._joined(other, index, only=True)

    def _joined(
        self, other: DFPattern | PatternSeq, index: int, *, only: bool
    ) -> PatternSeq:
        if not isinstance(other, PatternSeq):
            other = PatternSeq([expect_pattern("the user of a pattern", other)])
        result = PatternSeq([])
        result.patterns = (*self.patterns, *other.patterns)
        result._uses = [*self._uses, (index, only), *other._uses]
        if (context := current_context()) is not None:
            producer, consumer = self.patterns[-1], other.patterns[0]
            context.add_use(producer, consumer, index, only=only)
        return result

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def dup(self) -> PatternSeq:
        """The same sequence of other patterns."""
        result = PatternSeq([])
        result.patterns = tuple(pattern.dup() for pattern in self.patterns)
        result._uses = list(self._uses)
        result._register(1)
        return result
