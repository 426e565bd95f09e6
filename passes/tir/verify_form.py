"""The check that a module has reached a form."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.forms import FORMS
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import describe
from xdsl_tvm.registry import pass_modules


@dataclass(frozen=True)
class VerifyForm(CompilerPass):
    """Summary: Checks that all TIR of the module is of a form, and changes nothing.

    TVM name: none (ours)
    Input form: any
    Output form: the form of the option
    Options: `form`: the name of a form, each narrower than the one before: `blocks`,
        `opaque-blocks`, `loops-and-buffers`, `flat`, `vector`, `host-device`, `packed`;
        `xdsl_tvm.analysis.tir.forms` defines them; `verify_ops`: also run the verifiers
        of all ops, as xDSL does at the ends of a pipeline
    Rewrites: none
    Leaves alone: everything; ops of other dialects are of every form, and the TIR inside
        of them is checked. Time is linear in the size of the module.
    Errors: with `verify_ops`, what a verifier says; the first op that is not of the
        form, with its function, the form, and the pass that removes such ops, if there
        is one yet; a form of another name
    Attributes: read: `tir.is_global_func` and `global_symbol` of functions; created:
        none; removed: none
    Differs from TVM: TVM states its forms nowhere, and passes fail on what they do not
        expect.
    """

    name = "tir-verify-form"

    form: str
    verify_ops: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        form = FORMS.get(self.form)
        if form is None:
            raise PassFailedException(
                f"there is no form '{self.form}'; the forms are {', '.join(FORMS)}"
            )
        if self.verify_ops:
            op.verify()
        violation = form.first_violation(op)
        if violation is None:
            return
        wider = "" if violation.form is form else f", nor even '{violation.form.name}'"
        advice = (
            f"; run {violation.made_by} first"
            if violation.made_by in pass_modules()
            else ""
        )
        raise PassFailedException(
            f"{describe(violation.op)} is not of the form '{form.name}'{wider}: it "
            f"{violation.reason}{advice}"
        )
