"""Equal operations of a Relax function become one."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove, IsTerminator, is_side_effect_free

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.memory import EndsLife
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import definable_symbols, substitute_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.bindings import LEAVES, NO_CALLS, is_function
from xdsl_tvm.passes.relax.rewriting.dataflow import inner_value, retype_outputs
from xdsl_tvm.passes.relax.rewriting.symbols import substitute_in_operation

_Values: TypeAlias = tuple[SSAValue, ...]


@dataclass(frozen=True)
class EliminateCommonSubexpr(CompilerPass):
    """Summary: Computes once what a Relax function computes several times.

    TVM name: relax.EliminateCommonSubexpr (v0.20)
    Input form: any
    Output form: the same
    Options: `call_only`: merge calls and operators only, no tuples, fields, constants,
        shapes, names and casts (false)
    Rewrites: before

            %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
            %b = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
            %c = relax.add %a, %b : ...

        after

            %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
            %c = relax.add %a, %a : ...

        Two operations are one if they have the same name, attributes, types and, what is
        found equal counted as the same, operands. The first must be visible where the
        second is: above it in the same block or in one around that; what a dataflow block
        computes is visible after it as far as it is an output. Two `relax.match_cast` of
        a value are one if their types are the same up to the symbols that they define;
        the symbols of the second become those of the first. Time is linear in the size
        of the module.
    Leaves alone: operations with effects, among them allocations and impure calls;
        whatever reads or makes memory that something writes, or whose life ends; results
        of different branches; operations with regions; functions of other dialects
    Errors: none
    Attributes: read: none; created: none; removed: those of an operation that is removed
    Differs from TVM: the second operation is removed, where TVM leaves a binding to the
        first after. Memory that a call writes keeps its computations apart, where TVM
        merges them. Operations of other dialects without effects are merged as well.
    """

    name = "relax-eliminate-common-subexpr"
    opt_level: ClassVar[int] = 1

    call_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        writers = Writers(op)
        for func in relax_functions(op):
            if func.body.blocks:
                _Elimination(
                    self.call_only, values_with_written_memory(func, writers)
                ).visit(func.body.block)


@dataclass
class _Elimination:
    call_only: bool
    written: set[SSAValue]
    known: dict[Hashable, _Values] = field(default_factory=dict[Hashable, _Values])
    """Results that are visible here, by what computes them."""
    symbols: dict[str, Dim] = field(default_factory=dict[str, Dim])
    """Names of symbols that casts defined which are no more."""
    leaders: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """A value that each value is equal to, be it visible here or not."""
    leaves: dict[Hashable, SSAValue] = field(default_factory=dict[Hashable, SSAValue])
    added: list[Hashable] = field(default_factory=list[Hashable])
    """The keys of `known`, in the order in which they came."""

    def visit(self, block: Block) -> None:
        for op in block.ops:
            self._visit_op(op)

    def _visit_op(self, op: Operation) -> None:
        for old, new in substitute_in_operation(op, self.symbols).items():
            self._follow(old, new)
        if isinstance(op, relax.DataflowOp):
            self._visit_dataflow(op)
        elif op.regions:
            if is_function(op):
                # It may run elsewhere, with symbols of its own.
                _Elimination(self.call_only, self.written).visit(op.regions[0].block)
            elif not op.has_trait(IsolatedFromAbove):
                for region in op.regions:
                    for block in region.blocks:
                        self._visit_branch(block)
        elif op.results and not op.has_trait(IsTerminator, value_if_unregistered=False):
            self._eliminate(op)

    def _visit_branch(self, block: Block) -> None:
        symbols = dict(self.symbols)
        with self._scope():
            self.visit(block)
        self.symbols = symbols

    def _visit_dataflow(self, dataflow: relax.DataflowOp) -> None:
        with self._scope() as computed:
            self.visit(dataflow.body.block)
        visible: dict[SSAValue, SSAValue] = {}
        for old, new in retype_outputs(dataflow).items():
            self._follow(old, new)
        for value, result in zip(
            dataflow.output_op.values, dataflow.outputs, strict=True
        ):
            visible.setdefault(value, result)
            self.leaders[result] = self._leader(value)
        for key, results in computed:
            if all(result in visible for result in results):
                self._add(key, tuple(visible[result] for result in results))

    @contextmanager
    def _scope(self) -> Generator[list[tuple[Hashable, _Values]]]:
        """What is found inside is not visible outside; it is in the list in the end."""
        start = len(self.added)
        computed = list[tuple[Hashable, _Values]]()
        yield computed
        computed += [(key, self.known.pop(key)) for key in self.added[start:]]
        del self.added[start:]

    def _add(self, key: Hashable, results: _Values) -> None:
        self.known[key] = results
        self.added.append(key)

    def _follow(self, old: SSAValue, new: SSAValue) -> None:
        """Take `new` for `old`, which had another type."""
        if old in self.written:
            self.written.add(new)

    def _leader(self, value: SSAValue) -> SSAValue:
        return self.leaders.get(value, value)

    def _eliminate(self, op: Operation) -> None:
        if not self._is_mergeable(op):
            return
        key = self._key(op)
        if isinstance(op, LEAVES):
            # Without `call_only` only a visible one is taken; equal they are anyway.
            (result,) = op.results
            self.leaders[result] = self.leaves.setdefault(key, result)
        if isinstance(op, relax.AliasOp) and op.result.type == op.value.type:
            self.leaders[op.result] = self._leader(op.value)
        if self.call_only and isinstance(op, NO_CALLS):
            return
        if (first := self.known.get(key)) is None:
            self._add(key, tuple(op.results))
            return
        if isinstance(op, relax.MatchCastOp):
            self._merge_symbols(op, first[0])
        Rewriter.replace_op(op, (), first)

    def _is_mergeable(self, op: Operation) -> bool:
        if not isinstance(op, relax.MatchCastOp) and not is_side_effect_free(op):
            return False
        if any(value in self.written for value in (*op.operands, *op.results)):
            return False
        return not any(
            use.operation.has_trait(EndsLife)
            for result in op.results
            for use in result.uses
        )

    def _key(self, op: Operation) -> Hashable:
        operands = tuple(self._leader(operand) for operand in op.operands)
        attributes = tuple(sorted(op.attributes.items()))
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        if isinstance(op, relax.MatchCastOp):
            return name, attributes, operands, _closed_type(op)
        properties = tuple(sorted(op.properties.items()))
        return name, attributes, properties, op.result_types, operands

    def _merge_symbols(self, op: relax.MatchCastOp, first: SSAValue) -> None:
        cast = inner_value(first).owner
        assert isinstance(cast, relax.MatchCastOp)
        for name, known in zip(_defined(op), _defined(cast), strict=True):
            self.symbols[name] = Dim.symbol(known)


def _defined(op: relax.MatchCastOp) -> list[str]:
    """The symbols that a cast defines, in the order of the type."""
    defined = set(op.defined_symbols)
    return [name for name in definable_symbols(op.result.type) if name in defined]


def _closed_type(op: relax.MatchCastOp) -> tuple[Attribute, int]:
    """The type that is checked, the symbols that it defines numbered."""
    # No parsed symbol has such a name.
    numbered = {
        name: Dim.symbol(f"ς{number}") for number, name in enumerate(_defined(op))
    }
    return substitute_symbols(op.result.type, numbered), len(numbered)
