"""Weights that a function asks for when it needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.types import definable_symbols, symbols_in, used_symbols
from xdsl_tvm.passes.relax.rewriting.weights import reading_place

Fetch: TypeAlias = Callable[[LocatedBuilder, int], SSAValue]
"""Inserts what gives the weight of a number, an object."""


def parameter_symbols_of(
    func: relax.FuncOp, inputs: Sequence[SSAValue], pass_name: str
) -> list[str]:
    """The symbols that the parameters which are no weights define.

    Raises PassFailedException, naming the pass, for one that uses a symbol of a weight:
    the function would have it before anything says what it is.
    """
    visible = parameter_symbols(each.type for each in inputs)
    for number, each in enumerate(inputs):
        for symbol in used_symbols(each.type):
            if symbol not in visible:
                raise PassFailedException(
                    f"{pass_name}: parameter {number} of @{func.sym_name.data}, "
                    f"{each.type}, uses the symbol '{symbol}', which only weights "
                    "define; let a parameter before them define it"
                )
    return visible


def fetch_weights(
    func: relax.FuncOp, weights: Sequence[SSAValue], visible: Sequence[str], fetch: Fetch
) -> None:
    """Replace uses of weights by what is fetched where they are first needed.

    A weight is fetched once, in the innermost block around all its uses. `visible` are
    the symbols that other parameters define; a weight that defines one that the function
    uses is fetched at the start.
    """
    order = {op: number for number, op in enumerate(func.walk())}
    used = {name for op in order for name in symbols_in(op)}
    used.update(used_symbols(func.output_type))
    for weight in weights:
        used.update(used_symbols(weight.type))
    told = set(visible)
    start = func.body.block.first_op
    assert start is not None, "a block ends with a terminator"
    early: list[tuple[SSAValue, SSAValue]] = []
    for index, weight in enumerate(weights):
        new = [name for name in definable_symbols(weight.type) if name not in told]
        if not new or used.isdisjoint(new):
            continue
        told.update(new)
        builder = LocatedBuilder(start, func)
        type_ = erase_symbols(weight.type, told)
        value = _fetched(builder, index, type_, new, fetch)
        early.append((weight, value))
    builder = LocatedBuilder(start, func)
    for weight, value in early:
        # A symbol may be one that a later weight defines.
        if value.type != weight.type:
            value = builder.insert(relax.MatchCastOp(value, weight.type))
        weight.replace_all_uses_with(value)
    for index, weight in enumerate(weights):
        if weight.first_use is not None:
            place = _first_needed(weight, order)
            builder = LocatedBuilder(place)
            value = _fetched(builder, index, weight.type, (), fetch)
            weight.replace_all_uses_with(value)
            value.name_hint = weight.name_hint


def _fetched(
    builder: LocatedBuilder,
    index: int,
    type_: Attribute,
    defined: Sequence[str],
    fetch: Fetch,
) -> SSAValue:
    cast = relax.MatchCastOp(fetch(builder, index), type_, defined)
    return builder.insert(cast)


def _first_needed(weight: SSAValue, order: dict[Operation, int]) -> Operation:
    """The first operation that needs a weight, in the innermost block around all."""
    users = {reading_place(use.operation) for use in weight.uses}
    chains = [_blocks_around(user) for user in users]
    common = [block for block in chains[0] if all(block in chain for chain in chains[1:])]
    places = [chain[common[0]] for chain in chains]
    return min(places, key=order.__getitem__)


def _blocks_around(op: Operation) -> dict[Block, Operation]:
    """The blocks around an operation, inner ones first, each with what it holds of it."""
    found: dict[Block, Operation] = {}
    inner: Operation | None = op
    while inner is not None and not isinstance(inner, relax.FuncOp):
        block = inner.parent_block()
        assert block is not None, "in a function"
        found[block] = inner
        inner = block.parent_op()
    return found
