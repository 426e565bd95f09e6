"""Blocks: iteration variables become the values they are bound to."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, i32
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    erase_if_unused,
    names_variable,
)

_NO_KINDS = ArrayAttr[tir.IterKindAttr]([])
_SEGMENTS = (
    DenseArrayBase.from_list(i32, [0, 0, 0, 0]),
    DenseArrayBase.from_list(i32, [0, 0, 0, 1]),
)
"""Operand segments of an opaque block, without and with a predicate."""


@dataclass(frozen=True)
class ConvertBlocksToOpaque(CompilerPass):
    """Summary: Replaces the iteration variables of blocks by the values they are bound
        to.

    TVM name: tir.ConvertBlocksToOpaque (v0.20)
    Input form: blocks without `tir.init`
    Output form: opaque blocks: none has iteration variables
    Options: none
    Rewrites: before

            tir.block "B" (%vi : S in [%c0 to %n] = %i) where %p {
              tir.reads %A[%vi]
              %x = tir.load %A[%vi] : f32
              ...
            }

        after

            tir.block "B" where %p {
              tir.reads %A[%i]
              %x = tir.load %A[%i] : f32
              ...
            }

        The kinds and domains of the variables are lost; constants and other expressions
        that only the domains used go with them. Time is linear in the size of the
        module.
    Leaves alone: opaque blocks; name, predicate, allocations, annotations of every
        block
    Errors: a `tir.init` in any block, opaque or not: run tir-lower-init-block first; a
        `tir.thread_allreduce` over a variable that is not bound to a thread variable:
        bind it to one
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a binding is evaluated once, before the block, where TVM evaluates
        it anew at every use; they differ if a binding loads from a buffer that the body
        writes. TVM's error for a block's own variable in its bindings or predicate
        cannot arise, as those are operands defined outside of the block.
    """

    name = "tir-convert-blocks-to-opaque"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        blocks: list[tir.BlockOp] = []
        for inner in ops_of(op, tir.InitOp, tir.BlockOp):
            if isinstance(inner, tir.InitOp):
                raise PassFailedException(
                    f"{describe(inner)} needs the iteration variables of its block; run "
                    "tir-lower-init-block first"
                )
            if not inner.is_opaque:
                blocks.append(inner)
        for block in blocks:
            _make_opaque(block)


def _make_opaque(block: tir.BlockOp) -> None:
    body = block.body.block
    for variable, binding in zip(block.iter_vars, block.iter_values, strict=True):
        _name_thread(variable, binding)
        variable.replace_all_uses_with(binding)
        body.erase_arg(variable)
    dropped = (*block.iter_values, *block.dom_mins, *block.dom_extents)
    predicate = block.predicate
    block.operands = () if predicate is None else (predicate,)
    block.properties["operandSegmentSizes"] = _SEGMENTS[predicate is not None]
    block.properties["iter_kinds"] = _NO_KINDS
    block.properties.pop("iter_names", None)
    erase_if_unused(dropped)


def _name_thread(variable: SSAValue, binding: SSAValue) -> None:
    """Let reductions over a variable of a block name the thread that it is bound to."""
    thread = binding
    while isinstance(thread.owner, tir.CastOp):
        thread = thread.owner.value
    for use in tuple(variable.uses):
        op = use.operation
        if not isinstance(op, tir.ThreadAllreduceOp) or not names_variable(use):
            continue
        if not isinstance(thread.owner, Block) and not tir.is_constant(thread, 0):
            raise PassFailedException(
                f"{describe(op)} reduces over a variable of a block that is bound to an "
                "expression; bind it to a thread variable"
            )
        op.operands[use.index] = thread
