"""Conditions of statements are evaluated outside of the loops that do not change them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import HoistIfThenElseConfig
from xdsl_tvm.passes.tir._hoist.flags import HoistedConditionals, HoistedLetBindings
from xdsl_tvm.passes.tir._hoist.hoisting import Hoisted, hoist
from xdsl_tvm.passes.tir.remove_no_op import RemoveNoOp
from xdsl_tvm.passes.tir.simplify import Simplify

_EXPRESSIONS = "tir.HoistIfThenElseExprWithBlock"


@dataclass(frozen=True)
class _Variant:
    """The argument of TVM's pass, before the option of its configuration."""

    variant: str | None = None


@dataclass(frozen=True)
class HoistIfThenElse(HoistIfThenElseConfig, _Variant, CompilerPass):
    """Summary: Evaluates conditions before the loops that do not change them.

    TVM name: tir.HoistIfThenElse (v0.20)
    Input form: any; meant for loops and buffers and later forms
    Output form: the same
    Options: `variant`: "basic" hoists conditions of `tir.if` whatever the `PassContext`
        and the function say
        `support_block_scope_hosting` (false, from the `PassContext` key
        `tir.HoistIfThenElse` where unset): also conditions that depend on thread
        variables, and across the scopes of those
    Rewrites: before

            tir.for %i = %c0 to %n {
              %p = tir.cmp lt %m, %c2 : i32
              tir.if %p {
                tir.store %x, %A[%i] : f32
              }
            }

        after

            %p = tir.cmp lt %m, %c2 : i32
            tir.if %p {
              tir.for %i = %c0 to %n {
                tir.store %x, %A[%i] : f32
              }
            }

        A condition goes before the outermost loop that it can leave: it neither
        depends on the loop, nor is the condition after a sequence of statements in it.
        The loop is copied for the case that the condition is false, unless it does
        nothing then. Conditions that the ones outside decide are resolved. Where anything
        is hoisted, the pass ends with `tir-simplify` and `tir-remove-no-op`.
    Leaves alone: conditions that read memory or may fail, and those that a `tir.let`
        inside of the loop computes; conditions in a `tir.block`, which stay inside of it;
        loops in which threads meet, if the condition may differ between them; conditions
        for which a loop would be copied, if six others have doubled it
    Errors: a `variant` other than "basic"
    Attributes: read: `tir.HoistIfThenElseExprWithBlock` of the function; 1 hoists the
        conditions of `tir.if_then_else` instead, thread variables included. created:
        none; removed: none
    Differs from TVM: a copy for the other case is left out only if it would do nothing;
        TVM drops the other branch around an `if` without `else`. A module in which
        nothing is hoisted stays as it is, where TVM simplifies it. An unknown variant is
        an error.
    """

    name = "tir-hoist-if-then-else"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.variant not in (None, "basic"):
            raise PassFailedException(
                f'tir-hoist-if-then-else: unknown variant "{self.variant}"; use "basic", '
                "or leave it out"
            )
        changed = False
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                hoisted = Hoisted(self._conditionals(func), HoistedLetBindings.Never)
                changed |= hoist(func, hoisted)
        if changed:
            Simplify().apply(ctx, op)
            RemoveNoOp().apply(ctx, op)

    def _conditionals(self, func: tir.FuncOp) -> HoistedConditionals:
        found = HoistedConditionals.IfElseStmt
        if self.variant == "basic":
            return found
        if integer_of(func.attributes.get(_EXPRESSIONS)) == 1:
            return HoistedConditionals.UsingBlockVar | HoistedConditionals.IfElseExpr
        options = self.resolved_options(HoistIfThenElseConfig)
        if options.support_block_scope_hosting:
            found |= HoistedConditionals.UsingBlockVar
        return found
