"""Bindings that only name, pack and unpack values go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.dataflow import (
    defining_block,
    inner_value,
    is_within,
    keep_outputs,
)


@dataclass(frozen=True)
class CanonicalizeRelaxBindings(CompilerPass):
    """Summary: Removes bindings that only give a value another name, and fields that are
        taken from a tuple just made.

    TVM name: relax.CanonicalizeRelaxBindings (v0.20)
    Input form: any
    Output form: the same, without `relax.alias` and `relax.match_cast` to the very type
        of the operand, and with no output of a dataflow block that is unused, given
        twice, made outside of the block or constant
    Options: none
    Rewrites: before

            %u, %v = relax.dataflow -> (!t, !t) {
              %a = relax.alias %x : !t -> !t
              %p = relax.tuple(%a, %y) : !t, !t
              %b = relax.get_item %p[1] : !relax.tuple<!t, !t> -> !t
              %c = relax.nn.relu %b : (!t) -> !t
              relax.output %c, %a : !t, !t
            }
            %r = relax.add %u, %v : ...

        after

            %u = relax.dataflow -> (!t) {
              %p = relax.tuple(%x, %y) : !t, !t
              %c = relax.nn.relu %y : (!t) -> !t
              relax.output %c : !t
            }
            %r = relax.add %u, %x : ...

        A tuple of all fields of another one, in order, is that one. A constant that is an
        output is moved before the block; a block that holds nothing is erased. Time
        is linear in the size of the module, for nesting of bounded depth. The rewrites
        of names, casts, fields and tuples as a pattern: `CanonicalizeBindingPattern`.
    Leaves alone: names and casts of another type; tuples of some fields, or in another
        order; fields that are not visible where they are taken; bindings that are not
        needed any more (`relax-dead-code-elimination`); functions of other dialects
    Errors: none
    Attributes: read: none; created: none; removed: those of the operations that go
    Differs from TVM: symbols are not looked at here, only in
        `relax-canonicalize-tir-variables`. An output of a block always is the value that
        the block computes, so it takes no binding of its own.
    """

    name = "relax-canonicalize-relax-bindings"
    opt_level: ClassVar[int] = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.body.blocks:
                bindings = _Bindings()
                bindings.visit(func.body.block)
                bindings.drop_outputs()


class CanonicalizeBindingPattern(RewritePattern):
    """Replaces a name or a cast that is of the type of its operand, the field of a tuple
    just made, and a tuple of all fields of another one, by the value.

    `results` are the results of dataflow blocks by the values in them that are outputs:
    a field is replaced by such a result where the value itself is not visible.
    """

    def __init__(self, results: Mapping[SSAValue, SSAValue] | None = None) -> None:
        self._results = results

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        value = self.value_of(op)
        if value is not None:
            rewriter.replace(op, (), (value,))

    def value_of(self, op: Operation) -> SSAValue | None:
        """The visible value that the result of an operation is, None where none is."""
        match op:
            case relax.AliasOp() if op.value.type == op.result.type:
                return op.value
            case relax.MatchCastOp() if (
                op.value.type == op.result.type and not op.defined_symbols
            ):
                return op.value
            case relax.GetItemOp():
                return self._field(op)
            case relax.TupleOp():
                value = _whole(op)
                return value if value is not None and _is_visible(value, op) else None
            case _:
                return None

    def _field(self, op: relax.GetItemOp) -> SSAValue | None:
        """The value that is taken from a tuple, where it is visible."""
        whole = inner_value(op.tuple_value)
        if not isinstance(whole.owner, relax.TupleOp):
            return None
        value = whole.owner.elements[op.index.value.data]
        while not _is_visible(value, op):
            outer = None if self._results is None else self._results.get(value)
            if outer is None:
                return None
            value = outer
        return value


@dataclass
class _Bindings:
    results: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For values in dataflow blocks that are outputs, the value after the block."""
    dataflows: list[relax.DataflowOp] = field(default_factory=list[relax.DataflowOp])
    """Blocks, each after those that it holds or uses."""

    def __post_init__(self) -> None:
        self._pattern = CanonicalizeBindingPattern(self.results)

    def visit(self, block: Block) -> None:
        for op in block.ops:
            self._visit_op(op)

    def _visit_op(self, op: Operation) -> None:
        match op:
            case relax.DataflowOp():
                self.visit(op.body.block)
                self._replace_outputs(op)
                self.dataflows.append(op)
            case _ if (value := self._pattern.value_of(op)) is not None:
                Rewriter.replace_op(op, (), (value,))
            case _ if op.regions and not op.has_trait(IsolatedFromAbove):
                for region in op.regions:
                    for block in region.blocks:
                        self.visit(block)
            case _:
                pass

    def _replace_outputs(self, dataflow: relax.DataflowOp) -> None:
        """Use another value after a dataflow block where there is one."""
        for value, result in zip(
            dataflow.output_op.values, dataflow.outputs, strict=True
        ):
            if isinstance(value.owner, relax.ConstantOp) and is_within(
                value.owner, dataflow.body.block
            ):
                constant = value.owner
                constant.detach()
                assert dataflow.parent is not None
                dataflow.parent.insert_op_before(constant, dataflow)
            if _is_visible(value, dataflow):
                result.replace_all_uses_with(value)
            elif (other := self.results.setdefault(value, result)) is not result:
                result.replace_all_uses_with(other)

    def drop_outputs(self) -> None:
        """Drop the outputs that nothing uses, and blocks that hold nothing."""
        for dataflow in reversed(self.dataflows):
            used = [i for i, o in enumerate(dataflow.outputs) if o.first_use is not None]
            left = keep_outputs(dataflow, used)
            if not used and left.body.block.first_op is left.output_op:
                Rewriter.erase_op(left)


def _whole(op: relax.TupleOp) -> SSAValue | None:
    """The tuple whose fields, all of them and in order, are put together again."""
    found: SSAValue | None = None
    for index, element in enumerate(op.elements):
        item = inner_value(element).owner
        if not isinstance(item, relax.GetItemOp) or item.index.value.data != index:
            return None
        if found is not None and item.tuple_value is not found:
            return None
        found = item.tuple_value
    return found if found is not None and found.type == op.result.type else None


def _is_visible(value: SSAValue, op: Operation) -> bool:
    """Whether a value that is made above is visible at an operation."""
    block = defining_block(value)
    return block is not None and is_within(op, block)
