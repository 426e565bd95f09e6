"""Stores of undefined values are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.side_effect import side_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.remove_no_op import RemoveNoOp
from xdsl_tvm.passes.tir.rewriting.statements import describe

_STORED_VALUE = 0
"""The number of the operand of a `tir.store` that is stored."""


@dataclass(frozen=True)
class RemoveStoreUndef(CompilerPass):
    """Summary: Removes stores of values made of `undef`, and what has no effect then.

    TVM name: tir.RemoveStoreUndef (v0.20)
    Input form: any
    Output form: the same, without calls of `undef`
    Options: none; those of `RemoveNoOp`, which ends it, are taken from the `PassContext`
    Rewrites: before

            %u = tir.call "undef"() : () -> i32
            %x = tir.add %u, %c1 : i32
            tir.store %x, %A[%c0] : i32
            tir.store %c1, %A[%c1] : i32

        after

            tir.store %c1, %A[%c1] : i32

        A value is made of `undef` if that is in its expression, through lets and the
        branches of choices, apart from indices of loads. An element that is not written
        keeps what it held: one of the values that it might get. Time is linear in the
        size of the module.
    Leaves alone: all other stores
    Errors: a stored value, or one that a `tir.let` binds, that is made of `undef` and of
        a call that updates state; an `undef` that is left, as in an index or a condition;
        those of `RemoveNoOp`
    Attributes: those of `RemoveNoOp`
    Differs from TVM: what `RemoveNoOp` differs in
    """

    name = "tir-remove-store-undef"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        undefined = [inner for inner in all_ops(op) if tir.builtin_name(inner) == "undef"]
        for store in _stores_of(undefined):
            _require_no_effect(store, store.value)
            Rewriter.erase_op(store)
        RemoveNoOp().apply(ctx, op)
        for inner in op.walk():
            if tir.builtin_name(inner) == "undef":
                raise PassFailedException(
                    f"{_user_of(inner)}: undef is used other than in a stored value; "
                    "only stores of it can be removed"
                )


def _stores_of(undefined: list[Operation]) -> list[tir.StoreOp]:
    """The stores of values that are made of the results of ops."""
    stores: dict[tir.StoreOp, None] = {}
    seen: set[SSAValue] = set()
    pending: list[SSAValue] = [result for op in undefined for result in op.results]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            user = use.operation
            if isinstance(user, tir.StoreOp) and use.index == _STORED_VALUE:
                stores[user] = None
            pending += _made_of(use)
    return list(stores)


def _made_of(use: Use) -> tuple[SSAValue, ...]:
    """The values whose expressions a used value is in, by this use of it."""
    user = use.operation
    match user:
        case tir.LetOp():
            _require_no_effect(user, user.value)
            return (user.result,)
        case tir.LoadOp() | tir.BufferDefinition():
            return ()
        case tir.YieldOp():
            parent = user.parent_op()
            is_choice = isinstance(parent, tir.IfThenElseOp)
            return tuple(parent.results) if is_choice else ()
        case _:
            return tuple(user.results)


def _require_no_effect(op: Operation, value: SSAValue) -> None:
    if side_effect(value) > tir.CallEffect.READ_STATE:
        raise PassFailedException(
            f"{describe(op)}: the value is made of undef and of a call that has an "
            "effect; bind the call by a tir.let of its own"
        )


def _user_of(op: Operation) -> str:
    """What an `undef` that is left is used by, as messages call it."""
    for result in op.results:
        for use in result.uses:
            return describe(use.operation)
    return describe(op)
