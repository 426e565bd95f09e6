"""How patterns match: all ways are tried, and parts that match are remembered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import Bindings, Node

if TYPE_CHECKING:
    from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import DFPattern

_T_co = TypeVar("_T_co", covariant=True)
Solutions: TypeAlias = Generator[None]
"""The ways in which a pattern matches; what parts matched is in the match meanwhile."""
Matched: TypeAlias = "dict[DFPattern, SSAValue]"
"""What the parts of a pattern matched, where that is a value."""


@runtime_checkable
class Expression(Protocol[_T_co]):
    """What stands for a value and is not one, such as an expression of the builder."""

    def matched_value(self) -> tuple[SSAValue, Callable[[SSAValue], _T_co]]:
        """A value of that form, and what stands for each value in it."""
        ...


class Pattern(ABC):
    """What matches expressions; its only subclass is `DFPattern`."""

    @abstractmethod
    def solutions(self, node: Node, match: Match) -> Solutions:
        """The ways in which the pattern matches, for `Match.solutions`."""


class Match:
    """What the parts of patterns match, while ways to match them are tried."""

    def __init__(self, bindings: Bindings) -> None:
        self.bindings = bindings
        self._nodes: dict[DFPattern, Node] = {}

    def get(self, pattern: DFPattern) -> Node | None:
        """What a pattern has matched, None where it has not been tried."""
        return self._nodes.get(pattern)

    def solutions(self, pattern: DFPattern, node: Node) -> Solutions:
        """The ways in which a pattern matches, with what is matched already."""
        if (known := self._nodes.get(pattern)) is not None:
            if self.bindings.is_same(known, node):
                yield
            return
        self._nodes[pattern] = node
        try:
            yield from pattern.solutions(node, self)
        finally:
            del self._nodes[pattern]

    def all_of(self, pairs: Sequence[tuple[DFPattern, Node]]) -> Solutions:
        """The ways in which several patterns match, one expression each."""
        if not pairs:
            yield
            return
        for _ in self.solutions(*pairs[0]):
            yield from self.all_of(pairs[1:])

    def values(self) -> Matched:
        """The values that are matched now."""
        return {p: n for p, n in self._nodes.items() if isinstance(n, SSAValue)}


def is_solvable(solutions: Solutions) -> bool:
    """Whether there is a way at all."""
    with closing(solutions):
        return next((True for _ in solutions), False)


def match_value(
    pattern: DFPattern,
    node: SSAValue | Operation,
    known: Collection[SSAValue] | None = None,
) -> Matched | None:
    """What the parts of a pattern match, None where it does not match.

    `known` are the values whose definitions may be looked at, all where it is None.
    """
    match = Match(Bindings(node, known))
    with closing(match.solutions(pattern, node)) as solutions:
        for _ in solutions:
            return match.values()
    return None


def expect_pattern(what: str, pattern: object) -> DFPattern:
    """The pattern; TypeError for anything else."""
    if not isinstance(pattern, Pattern):
        raise TypeError(
            f"{what} must be a pattern, not {type(pattern).__name__}; wildcard() matches "
            "anything and is_expr(...) what is given"
        )
    return cast("DFPattern", pattern)


def expect_patterns(what: str, given: object) -> tuple[DFPattern, ...]:
    """The patterns of a list; TypeError for anything else."""
    if isinstance(given, str | Pattern) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list of patterns, not {type(given).__name__}")
    items = cast("Iterable[object]", given)
    return tuple(expect_pattern(f"{what}[{i}]", item) for i, item in enumerate(items))
