"""The check that functions are well-formed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.well_formed import violations
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import describe


@dataclass(frozen=True)
class VerifyWellFormed(CompilerPass):
    """Summary: Checks the rules of well-formed TIR that span several ops, and changes
        nothing.

    TVM name: none (TVM has the function tir.analysis.verify_well_formed, v0.20)
    Input form: any
    Output form: the same
    Options: none; the `assert_mode` of TVM's function, which tells between an error and a
        truth value, is that of `xdsl_tvm.analysis.tir.well_formed.verify_well_formed`
    Rewrites: none
    Leaves alone: everything. Other rules of the specification hold for every verified
        module; `xdsl_tvm.analysis.tir.well_formed` lists them. Time is linear in the size
        of the module.
    Errors: the first op that breaks a rule, with its function and the rule.
        `BlockVarAccess`: the variable of a loop around a block with iteration variables
        is used inside the block; `UndefinedVars`: a `tir.shape_var` that no match binds,
        or that a statement uses before its match or outside of its scope;
        `SingleDefinition`: a `tir.shape_var` bound in two scopes; `EnvThread`: launches
        with one `env` of different tag, kind or type, or of extents that are not provably
        equal; `BufferDefinition`: a buffer that another dialect defines;
        `ReturnPlacement`: a `tir.ret` in an expression or in a parallel loop;
        `ReturnType`: a `tir.ret` of another type than the result of the function;
        `MatchedParameter`: a use of a parameter that is matched to a buffer;
        `WhileCondition`: a constant condition of a `tir.while`; `AsyncWait`:
        `async_wait_queue_scope` without `async_wait_inflight_count`, or the other way
        round; `ModuleAttributes`: a malformed attribute or global info of a module;
        `ConstantIndex`: a `tir.allocate_const` with an index that the module's constants
        do not have
    Attributes: read: none; created: none; removed: none
    Differs from TVM: `BlockVarAccess` counts values computed outside of the block from a
        loop variable, also through a binding or a load, which TVM lets pass. TVM has the
        rule of a parallel loop in MakePackedAPI, and does not run its check of thread
        variables; ours asks that openings which share a variable agree. The rules that
        follow `SingleDefinition` are no part of TVM's function.
    """

    name = "tir-verify-well-formed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = next(violations(op), None)
        if first is not None:
            raise PassFailedException(
                f"{describe(first.op)} breaks {first.rule}: {first.reason}"
            )
