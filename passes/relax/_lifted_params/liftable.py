"""What a function computes of its weights alone, numbered alike in several functions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import FuncType, substitute_symbols, symbols_in
from xdsl_tvm.passes.relax.rewriting.bindings import LEAVES
from xdsl_tvm.passes.relax.rewriting.symbols import substitute_in_attribute


@dataclass
class Numbers:
    """Numbers of values: the same for what functions compute of one weight in one way.

    The weight of position `i` has the number `i`.
    """

    weights: int
    _known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    dependent: set[int] = field(default_factory=set[int])
    """Those of weights, and of what is computed of a weight."""

    def __post_init__(self) -> None:
        self.dependent.update(range(self.weights))

    def of(
        self, op: Operation, operands: Sequence[int], names: Mapping[str, Dim]
    ) -> list[int]:
        """The numbers of an operation's results, symbols renamed."""
        properties = {
            n: substitute_in_attribute(p, names) for n, p in op.properties.items()
        }
        key = (
            op.name,
            frozenset(properties.items()),
            frozenset(op.attributes.items()),
            tuple(operands),
            tuple(substitute_symbols(result.type, names) for result in op.results),
        )
        found = [
            self._known.setdefault((key, index), self.weights + len(self._known))
            for index in range(len(op.results))
        ]
        if not self.dependent.isdisjoint(operands):
            self.dependent.update(found)
        return found


@dataclass
class Liftable:
    """The bindings of a function that depend on nothing but weights.

    These are operations in dataflow blocks, and leaves anywhere, whose symbols weights
    define, and that share no memory with what something writes.
    """

    func: relax.FuncOp
    inputs: int
    numbers: Numbers
    names: Mapping[str, Dim]
    """New names of symbols, where another function is to have the same."""
    written: set[SSAValue]
    number_of: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The liftable values, results of dataflow blocks among them."""
    ops: dict[Operation, list[int]] = field(default_factory=dict[Operation, list[int]])
    """In order, with the numbers of their results."""
    blocks: dict[Operation, relax.DataflowOp] = field(
        default_factory=dict[Operation, relax.DataflowOp]
    )
    """The dataflow blocks, outer ones before those in them."""
    _symbols: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        for index, weight in enumerate(self.weights):
            self.number_of[weight] = index
        self._symbols.update(parameter_symbols(weight.type for weight in self.weights))
        self._visit(self.func.body.block, False)

    @property
    def weights(self) -> Sequence[SSAValue]:
        """The parameters that are weights."""
        return self.func.args[self.inputs :]

    def renamed(self, symbol: str) -> str:
        """The name of a symbol in the function whose symbols this one is to have."""
        return str(self.names.get(symbol, symbol))

    def _visit(self, block: Block, in_dataflow: bool) -> None:
        for op in block.ops:
            if isinstance(op, relax.DataflowOp):
                self.blocks[op] = op
                self._visit(op.body.block, True)
                pairs = zip(op.output_op.values, op.outputs, strict=True)
                for value, result in pairs:
                    if value in self.number_of:
                        self.number_of[result] = self.number_of[value]
            elif (in_dataflow or isinstance(op, LEAVES)) and self._is_liftable(op):
                operands = [self.number_of[value] for value in op.operands]
                self.ops[op] = self.numbers.of(op, operands, self.names)
                self.number_of.update(zip(op.results, self.ops[op], strict=True))

    def _is_liftable(self, op: Operation) -> bool:
        if not op.results or op.regions or not is_side_effect_free(op):
            return False
        if isinstance(op, relax.StopLiftParamsOp | relax.MatchCastOp):
            return False
        return (
            all(value in self.number_of for value in op.operands)
            and not any(isinstance(result.type, FuncType) for result in op.results)
            and self.written.isdisjoint((*op.operands, *op.results))
            and self._symbols.issuperset(symbols_in(op))
        )

    def needed(self, removed: set[int]) -> set[int]:
        """The numbers of values that operations use which are not `removed`."""
        return {
            number
            for value, number in self.number_of.items()
            if any(self._stays(use.operation, removed) for use in value.uses)
        }

    def _stays(self, user: Operation, removed: set[int]) -> bool:
        if user in self.ops:
            return removed.isdisjoint(self.ops[user])
        # What a dataflow block outputs is looked at after the block.
        return not (isinstance(user, relax.OutputOp) and user.parent_op() in self.blocks)
