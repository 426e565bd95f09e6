"""The check that Relax functions are well-formed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.well_formed import violations
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class VerifyWellFormed(CompilerPass):
    """Summary: Checks the rules of well-formed Relax that span several ops, and changes
        nothing.

    TVM name: none (TVM has the function relax.analysis.well_formed, v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: none
    Leaves alone: everything. Other rules of the specification hold for every verified
        module; `xdsl_tvm.analysis.relax.well_formed` lists them. Time is linear in the
        size of the module.
    Errors: the first op that breaks a rule, and the rule. `GlobalSymbol`: a function
        whose `global_symbol` is not its name; `ForcePure`: an impure function with
        `relax.force_pure`; `NumInput`: a `num_input` that is no number of parameters;
        `SymbolFacts`: malformed `tir_var_upper_bound` or `tir_non_negative_var`; `Life`:
        a use of a value after the op that ends its life
    Attributes: read: `global_symbol`, `relax.force_pure`, `num_input`,
        `tir_var_upper_bound`, `tir_non_negative_var`; created: none; removed: none
    Differs from TVM: `NumInput`, `SymbolFacts` and `Life` are no part of TVM's function,
        which returns a truth value; ours is
        `xdsl_tvm.analysis.relax.well_formed.well_formed`.
    """

    name = "relax-verify-well-formed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = next(violations(op), None)
        if first is not None:
            raise PassFailedException(
                f"{first.op.name} breaks {first.rule}: {first.reason}"
            )
