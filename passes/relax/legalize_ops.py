"""Relax operators to calls of TIR functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.operators import OperatorOp, is_operator
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions as OperatorFunctions
from xdsl_tvm.passes.relax.legalize.calls import Stages, call_of, replace_operator
from xdsl_tvm.passes.relax.legalize.calls import legalized_call as legalized_call
from xdsl_tvm.passes.relax.legalize.registry import (
    REWRITES,
    Bindings,
    RegisteredRule,
    Rewrite,
)
from xdsl_tvm.passes.relax.legalize.signature import proven_result_type, signature_of
from xdsl_tvm.passes.relax.rewriting.call_sites import module_of
from xdsl_tvm.passes.relax.rewriting.symbols import defined_symbols, hide_symbols

CONFIG = "relax.transform.apply_legalize_ops"

CustomRule: TypeAlias = Callable[[Bindings, Any], SSAValue]
"""A rule of the user's: emits operations before the operator, gives the result."""


@dataclass(frozen=True)
class LegalizeOps(CompilerPass):
    """Summary: Replace operators on tensors by calls of TIR functions that compute them.

    TVM name: relax.LegalizeOps (v0.20)
    Input form: Relax functions with operators, inside dataflow regions or not.
    Output form: The same functions with `relax.call_tir` in the place of operators, and
        private TIR functions in iteration-block form. Equal ones are one: those of
        operators that are the same up to the names of symbolic dimensions, and any that
        come out the same.
    Options: `enable_warning`: warn of each operator that is left as it is (false); from
        Python also `customize_legalize_map`: rules by the operator's name, which go
        first; a rule gets a place to emit operations at, and the operator, and returns
        the value that replaces it, or the operator's own result to leave it
    Rewrites:
        %r = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        →
        %r = relax.call_tir @add(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        tir.func @add(...) attributes {tir.noalias = true} { ... }
        A constant of rank 0 at a binary operator or as a fill value becomes a number of
        the function. A scalar of run time is an argument, after the tensors before it;
        a symbol that no tensor has as a bare dimension is one of the last arguments.
        `relax.dynamic_strided_slice` becomes a call that computes the shape, a
        `relax.match_cast` to new symbols, and a call that copies; ranges of known
        numbers become constants; marks for gradients become their operand.
        `relax.nonzero` and `relax.unique` become calls that count, a `relax.match_cast`
        of the count to a new symbol, and calls that compute results of that extent; on
        tensors of unknown shape, calls of the runtime. What a rule emits
        is legalized recursively, and operators after one whose type turns out to be
        more precise than declared are legalized for the more precise type.
    Leaves alone: Operators without a rule or with a case that the rule does not cover,
        operators whose operands or result have dimensions or dtypes that are not known,
        operators on tensors whose elements are no scalars,
        operators in function literals on tensors from outside whose types use symbols
        (`relax-lambda-lift` makes them parameters), foreign ops, nested modules, and
        everything if the `PassContext` sets
        `relax.transform.apply_legalize_ops` to false.
    Errors: A user's rule whose value does not have the type of the result, or a more
        precise one; a `relax.concat` of more than 4096 tensors.
    Attributes: read: none; created: `tir.noalias` on the functions made, `target` on
        those whose result lives on a device with a target; removed: none
    Differs from TVM: What reads by a dimension that inference has not proven is left
        alone, where the reference reads by the declared shape and may leave the tensor:
        broadcasts, reshapes, products. A function for a device gets its name and target
        when it is made, where the reference copies one and removes what is not needed.
        A `relax.concat` of more than 32 tensors chooses among them by halves.
        A user's rule does not apply to what it has itself emitted. Numbers are as the
        interpreter has them: variance is the mean of squared deviations, which keeps its
        digits where the mean is large; softplus of large negative numbers is not 0;
        rounding is to the nearest even number; operators of bools that have no meaning
        there, and indices that the reference reads wrongly, are left alone or right.
        `relax.sign` of NaN is NaN. `relax.isnan`, `isinf`, `isfinite` and `ewise_fma` are
        legalized too. A range of more than 65536 numbers is no constant. `relax.print`
        and `relax.assert_op` stay: lowering knows them. Sums of 16-bit floats are held in
        f32. A mean of no integers is 0. A reduction that may have no step
        gives the identity, where the reference leaves memory unset. Scans,
        sorts and `multinomial_from_uniform` become functions that go through rows one
        element after the other; the reference has no rules for them, and needs
        DispatchSortScan and DispatchSampling on every target.
        `nn.batch_norm` normalises by the data in training and by the moving statistics
        else, which the reference swaps. `nn.pad` has modes `reflect`, `replicate`, `edge`
        and `circular`, which the reference pads with a constant; other modes are left
        alone.
        `nn.dropout` keeps all elements, as at inference, where the reference leaves it.
        Convolutions may have any layout, blocks included, groups of symbolic channels,
        and a dilation where they are transposed. Attention reads its operands as they
        lie and may have a window. `argmax` finds places of NaN and of elements that are
        all minus infinity. `rms_norm` of f64 is computed in f64.
    """

    name = "relax-legalize-ops"

    customize_legalize_map: InitVar[Mapping[str, CustomRule] | None] = None
    enable_warning: bool = False
    _custom: Mapping[str, CustomRule] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, CustomRule]
    )

    def __post_init__(
        self, customize_legalize_map: Mapping[str, CustomRule] | None
    ) -> None:
        object.__setattr__(self, "_custom", dict(customize_legalize_map or {}))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if PassContext.current().get_config(CONFIG, bool) is False:
            return
        legalizer = _Legalizer(OperatorFunctions(op), self._custom)
        operators = [each for each in all_ops(op) if is_operator(each)]
        for operator in operators:
            # A module inside would not see the functions.
            if module_of(operator) is op:
                legalizer.legalize(operator)
        if self.enable_warning:
            for name in legalizer.left:
                warnings.warn(
                    f"{name} is not legalized: it has no rule, or its shapes "
                    "are not known",
                    stacklevel=2,
                )


@dataclass
class _Legalizer:
    """Legalizes one operator after the other."""

    functions: OperatorFunctions
    custom: Mapping[str, CustomRule]
    left: list[str] = field(default_factory=list[str])
    """Names of the operators that stay."""
    _symbols: dict[relax.FuncOp | None, set[str]] = field(
        default_factory=dict[relax.FuncOp | None, set[str]]
    )

    def legalize(self, op: OperatorOp, within: frozenset[str] = frozenset()) -> None:
        """Replace `op`, and what stands for it, as far as there are rules.

        Rules of the user's for operators `within` do not apply: they have made this one.
        """
        rewrite = None if op.name in within else self._rewrite(op)
        bindings = _Bindings(op, self)
        value = None if rewrite is None else rewrite(op, bindings)
        if value is None and (call := legalized_call(op, self.functions)) is not None:
            value = bindings.emit(call)
        if value is None or value is op.result:
            self.left.append(op.name)
            return
        replace_operator(op, _pure(value))
        for emitted in bindings.emitted:
            if isinstance(emitted, OperatorOp):
                self.legalize(emitted, within | {op.name})

    def _rewrite(self, op: OperatorOp) -> Rewrite | None:
        if hide_symbols(op.operands, op):
            return None
        custom = self.custom.get(op.name)
        if custom is not None and _is_known(op):
            return lambda operator, bindings: custom(bindings, operator)
        return REWRITES.get(type(op))

    def symbol(self, at: Operation, name: str) -> str:
        """A symbol that the function around `at` does not have; taken from now."""
        func = _function_around(at)
        if func not in self._symbols:
            self._symbols[func] = set() if func is None else defined_symbols(func)
        taken = self._symbols[func]
        number, found = 0, name
        while found in taken:
            number += 1
            found = f"{name}{number}"
        taken.add(found)
        return found


def _is_known(op: OperatorOp) -> bool:
    """Whether the shapes and dtypes of operands and result are known."""
    type_ = proven_result_type(op)
    return type_ is not None and signature_of(op.operands, type_) is not None


def _function_around(op: Operation) -> relax.FuncOp | None:
    """The outermost function: nested ones see its symbols."""
    found = None
    parent = op.parent_op()
    while parent is not None:
        found = parent if isinstance(parent, relax.FuncOp) else found
        parent = parent.parent_op()
    return found


@dataclass
class _Bindings(Bindings):
    """Puts operations before an operator, on its line."""

    at: OperatorOp
    legalizer: _Legalizer
    emitted: list[Operation] = field(default_factory=list[Operation])

    def emit(self, op: Operation) -> SSAValue:
        """Insert an operation; gives its result, which is legalized recursively."""
        self.emitted.append(op)
        return LocatedBuilder(self.at).insert(op)

    def symbol(self, name: str) -> str:
        """`name`, or one like it, that is no symbolic dimension of the function."""
        return self.legalizer.symbol(self.at, name)

    def call_te(
        self,
        name: str,
        operands: Sequence[SSAValue],
        result_type: Attribute,
        stages: Stages,
        *,
        shape_only: tuple[int, ...] = (),
    ) -> SSAValue:
        """Call a function of the given stages; ValueError if a shape is not known."""
        rule = RegisteredRule(lambda op, site: stages(site), name, shape_only, ())
        call = call_of(
            self.at,
            self.legalizer.functions,
            rule,
            operands,
            result_type,
            None,
            stages,
        )
        if call is None:
            raise ValueError(f"{name}: shapes and dtypes must be known")
        return self.emit(call)


def _pure(value: SSAValue) -> SSAValue:
    """The value, from a call without effects: operators have none either."""
    if not isinstance(value.owner, relax.CallPackedOp):
        return value
    call = value.owner
    pure = relax.CallPurePackedOp(call.callee.data, call.arguments, value.type)
    pure.location = call.location
    Rewriter.replace_op(call, pure)
    assert pure.result is not None
    return pure.result
