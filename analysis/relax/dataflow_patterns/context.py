"""Patterns of graphs: several patterns and who uses whom, matched in a dataflow block.

    with PatternContext() as ctx:
        conv = is_op("relax.nn.conv2d")(wildcard(), wildcard())
        relu = is_op("relax.nn.relu")(wildcard())
        conv >> relu
    ctx.match_dfb(dataflow)     # {conv: value, relu: value, …}

Patterns that are constrained are the nodes of the graph. Each but a wildcard stands for a
value of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from contextvars import Token
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.relax.argument_tuples import is_argument_tuple
from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import Bindings
from xdsl_tvm.analysis.relax.dataflow_patterns.graphs import (
    ENTERED,
    PatternGraph,
    SameShapeConstraint,
    current_context,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    Match,
    Matched,
    Solutions,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import (
    DFPattern,
    WildcardPattern,
)
from xdsl_tvm.dialects import relax

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True)
class _Use:
    """A pattern uses another one."""

    producer: DFPattern
    consumer: DFPattern
    index: int
    only: bool


class PatternContext(PatternGraph):
    """Collects patterns and constraints while it is entered, and matches their graph.

    An `incremental` one begins with what the context around it has. Raises ValueError
    where there is none.
    """

    def __init__(self, incremental: bool = False) -> None:
        self._nodes: dict[DFPattern, None] = {}
        self._parts: dict[DFPattern, None] = {}
        self._uses: list[_Use] = []
        self._same_shapes: list[SameShapeConstraint] = []
        self._tokens: list[Token[PatternGraph | None]] = []
        if incremental:
            around = current_context()
            if not isinstance(around, PatternContext):
                raise ValueError(
                    "PatternContext: an incremental context is made inside of another "
                    "one; enter that first"
                )
            self._nodes.update(around._nodes)
            self._parts.update(around._parts)
            self._uses += around._uses
            self._same_shapes += around._same_shapes

    def __enter__(self) -> Self:
        self._tokens.append(ENTERED.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        ENTERED.reset(self._tokens.pop())

    @staticmethod
    def current() -> PatternContext:
        """The innermost context. Raises ValueError where none is entered."""
        found = current_context()
        if not isinstance(found, PatternContext):
            raise ValueError("PatternContext: no context is entered")
        return found

    # ---- constraints ----

    def add_part(self, part: DFPattern, call: DFPattern) -> None:
        self._parts[part] = None
        self._nodes[call] = None

    def add_use(
        self, producer: DFPattern, consumer: DFPattern, index: int, *, only: bool
    ) -> None:
        self._nodes[producer] = self._nodes[consumer] = None
        self._uses.append(_Use(producer, consumer, index, only))

    def add_same_shape(self, constraint: SameShapeConstraint) -> None:
        self._nodes.update(dict.fromkeys(constraint.args))
        self._same_shapes.append(constraint)

    # ---- matching ----

    def match_dfb(
        self, dfb: relax.DataflowOp, accept: Callable[[Matched], bool] | None = None
    ) -> Matched | None:
        """What the patterns match in a dataflow block, None where they do not match.

        The values are those of the block, or values from outside that it uses. Of
        several ways to match that `accept` allows, all without it, the first one counts,
        in the order of the block. Raises TypeError for anything but a `relax.dataflow`,
        ValueError for a context without patterns and for patterns that use each other in
        a circle.
        """
        if not isinstance(cast("object", dfb), relax.DataflowOp):
            raise TypeError(
                f"match_dfb matches a relax.dataflow, not {type(dfb).__name__}"
            )
        self._check()
        order, block = list(self._order()), dfb.body.block
        return _Search(block, order, self._uses, self._same_shapes).first(accept)

    def _check(self) -> None:
        if not self._nodes:
            raise ValueError(
                "PatternContext: there is nothing to match; make patterns of calls, or "
                "constraints such as `a >> b`, while the context is entered"
            )
        consumers: dict[DFPattern, list[DFPattern]] = {}
        for use in self._uses:
            consumers.setdefault(use.producer, []).append(use.consumer)
        done = set[DFPattern]()
        for start in consumers:
            path = dict[DFPattern, Iterator[DFPattern]]()
            pending = [start]
            while pending:
                pattern = pending[-1]
                if pattern not in path:
                    path[pattern] = iter(consumers.get(pattern, ()))
                following = next((n for n in path[pattern] if n not in done), None)
                if following is None:
                    del path[pending.pop()]
                    done.add(pattern)
                elif following in path:
                    raise ValueError(
                        f"PatternContext: a {type(following).__name__} uses itself, "
                        "through others; nothing matches a circle"
                    )
                else:
                    pending.append(following)

    def _order(self) -> Iterator[DFPattern]:
        """The nodes, each after one that it is connected with, where it can be."""
        left = dict.fromkeys(node for node in self._nodes)
        # A part of a call is matched with the call, so calls come first.
        starts = [node for node in left if node not in self._parts]
        starts += [node for node in left if node in self._parts]
        neighbours: dict[DFPattern, list[DFPattern]] = {}
        for use in self._uses:
            neighbours.setdefault(use.producer, []).append(use.consumer)
            neighbours.setdefault(use.consumer, []).append(use.producer)
        for start in starts:
            pending = [start]
            while pending:
                node = pending.pop()
                if node in left:
                    del left[node]
                    yield node
                    pending += reversed(neighbours.get(node, ()))


class _Search:
    """The values that a graph of patterns can stand for in a block."""

    def __init__(
        self,
        block: Block,
        order: Sequence[DFPattern],
        uses: Sequence[_Use],
        same_shapes: Sequence[SameShapeConstraint],
    ) -> None:
        self._block = block
        self._order = order
        self._same_shapes = same_shapes
        self._uses: dict[DFPattern, list[_Use]] = {}
        for use in uses:
            self._uses.setdefault(use.producer, []).append(use)
            self._uses.setdefault(use.consumer, []).append(use)
        ops = [op for op in block.ops if not isinstance(op, _NO_BINDINGS)]
        bound = [op.results[0] for op in ops if len(op.results) == 1]
        inside = set[SSAValue](v for op in block.ops for v in op.results)
        outside = dict.fromkeys(v for op in ops for v in op.operands if v not in inside)
        self._values = dict[SSAValue, None].fromkeys((*bound, *outside))
        """What patterns stand for: bindings of the block, and values from outside."""
        # What is computed outside of the block is a variable here, as a parameter is.
        self._match = Match(Bindings(known=inside))

    def first(self, accept: Callable[[Matched], bool] | None) -> Matched | None:
        """The first match that is accepted."""
        with closing(self._from(0)) as solutions:
            for _ in solutions:
                matched = self._match.values()
                if accept is None or accept(matched):
                    return matched
        return None

    def _from(self, place: int) -> Solutions:
        if place == len(self._order):
            matched = self._match.values()
            if all(each.holds(matched) for each in self._same_shapes):
                yield
            return
        pattern = self._order[place]
        known = self._match.get(pattern)
        for value in self._candidates(pattern) if known is None else (known,):
            if not isinstance(value, SSAValue) or self._is_taken(pattern, value):
                continue
            for _ in self._match.solutions(pattern, value):
                if all(map(self._holds, self._uses.get(pattern, ()))):
                    yield from self._from(place + 1)

    def _candidates(self, pattern: DFPattern) -> Iterator[SSAValue]:
        """The values that a pattern may match, by what is matched already."""
        for use in self._uses.get(pattern, ()):
            other = use.producer if pattern is use.consumer else use.consumer
            value = self._match.get(other)
            if isinstance(value, SSAValue):
                value = self._match.bindings.origin(value)
                found = _users(value) if pattern is use.consumer else _used(value)
                known = dict.fromkeys(found)
                yield from (v for v in known if v is not None and self._is_here(v))
                return
        yield from self._values

    def _is_here(self, value: SSAValue) -> bool:
        return self._match.bindings.origin(value) in self._values

    def _is_taken(self, pattern: DFPattern, value: SSAValue) -> bool:
        """Whether another pattern of the graph stands for the value already."""
        if isinstance(pattern, WildcardPattern):
            return False
        return any(
            other is not pattern
            and not isinstance(other, WildcardPattern)
            and (taken := self._match.get(other)) is not None
            and self._match.bindings.is_same(taken, value)
            for other in self._order
        )

    def _holds(self, use: _Use) -> bool:
        """Whether a use is one, as far as both patterns have matched."""
        producer, consumer = map(self._match.get, (use.producer, use.consumer))
        if not isinstance(producer, SSAValue) or not isinstance(consumer, SSAValue):
            return True
        origin = self._match.bindings.origin
        producer, consumer = origin(producer), origin(consumer)
        if use.index == -1:
            is_used = any(origin(each) is producer for each in _used(consumer))
        else:
            owner = consumer.owner
            operands = list(owner.operands) if isinstance(owner, Operation) else []
            given = operands[use.index : use.index + 1]
            is_used = any(origin(each) is producer for each in given)
        if not use.only or not is_used:
            return is_used
        return all(each is consumer for each in _users(producer))


_NO_BINDINGS = (relax.OutputOp, relax.AliasOp)
"""Operations that patterns of a graph do not stand for."""


def _used(value: SSAValue) -> Iterator[SSAValue]:
    """The operands of what computes a value, fields of tuples written in it included."""
    if not isinstance(value.owner, Operation):
        return
    for operand in value.owner.operands:
        yield operand
        owner = operand.owner
        if isinstance(owner, relax.TupleOp) and is_argument_tuple(owner):
            yield from owner.elements


def _users(value: SSAValue) -> Iterator[SSAValue | None]:
    """What is computed of a value directly; None for what is no result of one operation,
    such as what is given out of the block.

    A tuple that is written in an argument, or another name, is no user, but what takes it
    is.
    """
    for use in value.uses:
        user = use.operation
        is_tuple = isinstance(user, relax.TupleOp) and is_argument_tuple(user)
        if is_tuple or isinstance(user, relax.AliasOp):
            yield from _users(user.results[0])
        elif len(user.results) == 1:
            yield user.results[0]
        else:
            yield None
