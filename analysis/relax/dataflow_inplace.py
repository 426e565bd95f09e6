"""Operators of a Relax dataflow block whose result could take the place of an operand.

An operand may be overwritten if nothing needs its memory afterwards: no value that may
be the same memory lives on, and it is neither a constant nor memory from outside. The
search is TVM's (docs/spec/relax-passes-headline.md, DataflowUseInplaceCalls §2.3) on the
analyses of `dataflow_liveness.py` and `dataflow_alias.py`, which say where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.derivation import chain
from xdsl_tvm.analysis.relax.dataflow_alias import UNKNOWN, Aliases, aliases
from xdsl_tvm.analysis.relax.dataflow_liveness import live_ranges
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import product, provably_at_least, provably_equal

SUPPORTED = (
    relax.AddOp,
    relax.SubtractOp,
    relax.MultiplyOp,
    relax.DivideOp,
    relax.SiluOp,
    relax.ReluOp,
)
"""The operators that are computed in place: element by element."""

Match: TypeAlias = tuple[int, frozenset[int]]
"""The position of an operator in its block, and which operands are large enough."""


@dataclass
class InplaceMatches:
    """Where results fit into operands, in ascending order of positions."""

    size: list[Match]
    """Into operands of the same dtype with at least as many elements."""
    exact: list[Match]
    """Into operands of the same dtype, shape and device."""


def inplace_matches(block: Block, inputs: Sequence[SSAValue] = ()) -> InplaceMatches:
    """The supported operators of a block with the operands that could hold the result.

    `inputs` are values from outside that are taken to be memory of their own, as in
    `aliases`. Operands that are memory of one another are only taken if they are one
    value. Linear in the size of the block.
    """
    memory = _Memory(block, inputs)
    found = InplaceMatches([], [])
    for position, op in enumerate(block.ops):
        if not isinstance(op, SUPPORTED):
            continue
        fitting = {
            index: fit
            for index, operand in enumerate(op.operands)
            if (fit := _fit(op.result, operand)) is not None
            and memory.is_free_after(operand, position)
            and memory.is_apart(operand, op)
        }
        if fitting:
            found.size.append((position, frozenset(fitting)))
        if exact := frozenset(index for index, is_exact in fitting.items() if is_exact):
            found.exact.append((position, exact))
    return found


def same_value(value: SSAValue) -> SSAValue:
    """The value of which `value` is another name."""
    *_, found = chain(value, _renamed)
    return found


def _renamed(value: SSAValue) -> SSAValue | None:
    op = value.owner
    return op.value if isinstance(op, relax.AliasOp | relax.MatchCastOp) else None


class _Memory:
    """Until where the locations of a block are needed."""

    def __init__(self, block: Block, inputs: Sequence[SSAValue]) -> None:
        self._aliases: Aliases = aliases(block, inputs)
        self._last: dict[int, int] = {}
        for value, (_, end) in live_ranges(block).items():
            for location in self._aliases.of(value):
                self._last[location] = max(end, self._last.get(location, end))

    def is_free_after(self, value: SSAValue, position: int) -> bool:
        """Whether nothing needs the memory of a value after `position`."""
        locations = self._aliases.of(value)
        return (
            UNKNOWN not in locations
            and bool(locations)
            and not locations & self._aliases.fixed
            and all(self._last[location] <= position for location in locations)
        )

    def is_apart(self, value: SSAValue, op: Operation) -> bool:
        """Whether each operand of an operation is `value` or no memory of it."""
        locations, root = self._aliases.of(value), same_value(value)
        return all(
            same_value(other) is root or locations.isdisjoint(self._aliases.of(other))
            for other in op.operands
        )


def _fit(result: SSAValue, operand: SSAValue) -> bool | None:
    """Whether a result fits exactly into an operand; None if it does not fit at all."""
    target, given = relax.TensorInfo.of(result.type), relax.TensorInfo.of(operand.type)
    if target is None or given is None or target.shape is None or given.shape is None:
        return None
    if target.dtype is None or target.dtype != given.dtype:
        return None
    if not provably_at_least(product(given.shape), product(target.shape)):
        return None
    return (
        len(given.shape) == len(target.shape)
        and all(map(provably_equal, given.shape, target.shape))
        and given.vdevice == target.vdevice
    )
