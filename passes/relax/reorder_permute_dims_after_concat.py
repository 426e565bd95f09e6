"""Tensors are permuted once, after they are joined."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class ReorderPermuteDimsAfterConcat(CompilerPass):
    """Summary: Concatenates tensors before they are permuted, where all of them are
        permuted alike.

    TVM name: relax.ReorderPermuteDimsAfterConcat (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %p = relax.permute_dims %a axes [1, 0] : ...
            %q = relax.permute_dims %b axes [1, 0] : ...
            %t = relax.tuple(%p, %q) : ...
            %r = relax.concat %t axis 1 : ...

        after

            %t = relax.tuple(%a, %b) : ...
            %c = relax.concat %t axis 0 : ...
            %r = relax.permute_dims %c axes [1, 0] : ...

        Time is linear in the size of the module.
    Leaves alone: concatenation of one tensor, or of tensors that are not all permuted,
        or in different ways; permuted tensors with other uses; tuples that are not made
        in its place; tensors of unknown rank; tensors that something writes in place, or
        that a function literal takes from outside with symbols
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: there may be more than 11 tensors
    """

    name = "relax-reorder-permute-dims-after-concat"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for concats, written in by_function(op, relax.ConcatOp):
            for concat in concats:
                _reorder(concat, written)


def _reorder(op: relax.ConcatOp, written: set[SSAValue]) -> None:
    whole = op.tensors.owner
    if not isinstance(whole, relax.TupleOp) or op.tensors.has_more_than_one_use():
        return
    permutations = [
        value.owner
        for value in whole.elements
        if isinstance(value.owner, relax.PermuteDimsOp)
        and not value.has_more_than_one_use()
    ]
    if len(permutations) < 2 or len(permutations) != len(whole.elements):
        return
    axes = _axes(permutations[0])
    if (
        axes is None
        or op.axis is None
        or any(_axes(each) != axes for each in permutations)
    ):
        return
    sources = [each.data for each in permutations]
    values = [*sources, *whole.elements, op.result]
    if not written.isdisjoint(values) or hide_symbols(values, op):
        return
    builder = BindingBuilder(op)
    axis = axes[op.axis.value.data % len(axes)]
    joined = relax.ConcatOp(builder.insert(relax.TupleOp(sources)), axis)
    result = builder.insert(relax.PermuteDimsOp(builder.insert(joined), axes))
    result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, (), [builder.typed(result, op.result.type)])
    for each in (whole, *permutations):
        Rewriter.erase_op(each)


def _axes(op: relax.PermuteDimsOp) -> list[int] | None:
    """The axes counted from the front; None where the rank is unknown."""
    info = TensorInfo.of(op.data.type)
    if info is None or info.rank is None:
        return None
    given = range(info.rank)[::-1] if op.axes is None else op.axes.get_values()
    return [int(axis) % info.rank for axis in given]
