"""Checks of indices and divisors before operators."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects.relax.operators import OperatorOp, is_operator
from xdsl_tvm.dialects.relax.types import PrimType, TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions, call_of
from xdsl_tvm.passes.relax.legalize.operand_checks import Check, check_of
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule
from xdsl_tvm.passes.relax.rewriting.call_sites import module_of


@dataclass(frozen=True)
class InsertOperandChecks(CompilerPass):
    """Summary: Makes operators fail where an index or a divisor is not allowed.

    TVM name: none (ours)
    Input form: Relax functions with operators, inside dataflow regions or not.
    Output form: the same, with `relax.call_tir` before operators whose indices or
        divisors are known at run time only; private TIR functions with `tir.assert`
    Options: none
    Rewrites: before

            %r = relax.take %x, %i axis 0
              : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>

        after

            %c = relax.call_tir @check_take(%i) : (tensor<2xi64>) -> tensor<2xi64>
            %r = relax.take %x, %c axis 0
              : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
            tir.func @check_take(...) attributes {tir.noalias = true} { ... }

        The function copies its operand and looks at all of it before an assertion, of
        which the message names the operator and the first value that is wrong. Checked
        are indices of `take`, `gather_elements`, `gather_nd`, `scatter_elements` and
        `scatter_nd`; targets of `nn.nll_loss`; rows of `multinomial_from_uniform`;
        strides of `dynamic_strided_slice`, which must not be 0; exponents of integers in
        `power`, which must not be negative; and divisors of integers in `divide`,
        `floor_divide`, `mod` and `floor_mod`. A quotient that does not fit its dtype (the
        least integer by -1) fails; a divisor -1 of a remainder becomes 1.
        Roads to machine code run this pass first: the operators around a check are
        legalized and fused as without it. Time is linear in the size of the module.
    Leaves alone: operands that are constants and allowed; operators whose shapes or
        dtypes are not known, which are not legalized either; operators in nested modules;
        calls of TIR functions, which operators become by other passes
    Errors: none
    Attributes: read: none; created: `tir.noalias` on the functions made; removed: none
    Differs from TVM: TVM reads and writes whatever memory an index leads to.
    """

    name = "relax-insert-operand-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = OperatorFunctions(op)
        for operator in [each for each in op.walk() if is_operator(each)]:
            # A module inside would not see the functions.
            if (check := check_of(operator)) and module_of(operator) is op:
                _insert(operator, check, functions)


def _insert(op: OperatorOp, check: Check, functions: OperatorFunctions) -> None:
    type_ = _tensor_type(op.operands[check.checked].type)
    if type_ is None:
        return
    rule = RegisteredRule(
        check.stages, f"check_{op.name.rpartition('.')[2]}", check.shape_only, ()
    )
    call = call_of(
        op,
        functions,
        rule,
        [op.operands[position] for position in check.operands],
        type_,
        (type(op), check.checked, tuple(sorted(op.properties.items()))),
        lambda site: check.stages(op, site),
    )
    if call is not None:
        Rewriter.insert_op(call, InsertPoint.before(op))
        op.operands[check.checked] = call.results[0]


def _tensor_type(type_: Attribute) -> Attribute | None:
    """The type of a checked operand: a scalar becomes a tensor of rank 0."""
    if isinstance(type_, PrimType):
        return TensorInfo((), type_.dtype).type
    return None if TensorInfo.of(type_) is None else type_
