"""Conditions and bindings are evaluated outside of the loops that do not change them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import HoistExpressionConfig
from xdsl_tvm.passes.tir._hoist.flags import HoistedConditionals, HoistedLetBindings
from xdsl_tvm.passes.tir._hoist.hoisting import Hoisted, hoist
from xdsl_tvm.passes.tir.remove_no_op import RemoveNoOp
from xdsl_tvm.passes.tir.simplify import Simplify


@dataclass(frozen=True)
class HoistExpression(HoistExpressionConfig, CompilerPass):
    """Summary: Evaluates conditions and bindings before the loops that do not change
        them.

    TVM name: tir.HoistExpression (v0.20)
    Input form: any; meant for loops and buffers and later forms
    Output form: the same
    Options: those of the `PassContext` key `tir.HoistExpression`, which gives the values
        of those that are unset. Both are sums of bits, in Python `HoistedConditionals`
        and `HoistedLetBindings`
        `hoisted_conditionals` (7): 1 conditions of `tir.if`, 2 those of
        `tir.if_then_else`, 4 operands of `tir.and` and `tir.or`, 8 also those that depend
        on thread variables, and across the scopes of those
        `hoisted_let_bindings` (7): 1 bindings that a hoisted condition needs, 2 bindings
        of statements, 4 bindings inside of expressions
    Rewrites: before

            tir.for %i = %c0 to %n {
              tir.for %j = %c0 to %n {
                %p = tir.cmp lt %i, %c2 : i32
                %c = tir.let "c" %p : i1
                tir.if %c {
                  tir.store %x, %A[%j] : f32
                }
              }
            }

        after

            tir.for %i = %c0 to %n {
              %p = tir.cmp lt %i, %c2 : i32
              %c = tir.let "c" %p : i1
              tir.if %c {
                tir.for %j = %c0 to %n {
                  tir.store %x, %A[%j] : f32
                }
              }
            }

        A value goes before the outermost loop that it can leave: it neither depends
        on the loop, nor is in a sequence of statements of it. The loop is copied for
        the case that a condition is false, unless it does nothing then. Conditions that
        the ones outside decide are resolved. A binding of an expression becomes one of
        statements. The pass ends with `tir-simplify` and `tir-remove-no-op`.
    Leaves alone: conditions and bindings that read memory or may fail; those in a
        `tir.block`, which stay inside of it; loops in which threads meet, if the
        condition may differ between them; conditions for which a loop would be copied,
        if six others have doubled it
    Errors: options that are no sum of these bits
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a copy for the other case is left out only if it would do nothing;
        TVM drops the other branch around an `if` without `else`. A binding that loads
        stays where it is; TVM moves it across stores. A binding that cannot move stays,
        and TVM deletes it.
    """

    name = "tir-hoist-expression"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(HoistExpressionConfig)
        conditionals, lets = options.hoisted_conditionals, options.hoisted_let_bindings
        _check("hoisted_conditionals", conditionals, HoistedConditionals.All)
        _check("hoisted_let_bindings", lets, HoistedLetBindings.All)
        hoisted = Hoisted(HoistedConditionals(conditionals), HoistedLetBindings(lets))
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                hoist(func, hoisted)
        Simplify().apply(ctx, op)
        RemoveNoOp().apply(ctx, op)


def _check(option: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise PassFailedException(
            f"tir-hoist-expression: {option} is {value}; it is a sum of bits from 0 to "
            f"{most:d}"
        )
