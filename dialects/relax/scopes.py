"""Checks of a function's body as a whole: symbols in scope, purity, callees.

They need one walk of the function and one look at the module's top level, so they are
made per function and not per operation (docs/spec/relax-ir.md §2.3, §3.6, §8).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.algebra import (
    Check,
    base_check,
    infer_call,
    is_base_of,
)
from xdsl_tvm.dialects.relax.attributes import DimAttr, DimsAttr, symbols_of
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp, CallOp, is_impure
from xdsl_tvm.dialects.relax.functions import DataflowOp, FuncOp, IfOp
from xdsl_tvm.dialects.relax.lambdas import GlobalRefOp, LambdaOp
from xdsl_tvm.dialects.relax.types import ObjectType, used_symbols
from xdsl_tvm.dialects.relax.values import MatchCastOp

_CheckedCall: TypeAlias = CallOp | AnyCallTIROp | GlobalRefOp


def verify_body(func: FuncOp) -> None:
    """Check scopes of symbols, purity and callees in a function.

    Raises VerifyException naming the operation and the reason.
    """
    checker = _ScopeChecker(func, func)
    checker.visit_block(func.body.block, set(func.symbol_names), False)
    if checker.calls:
        _verify_callees(func, checker.calls)


@dataclass
class _ScopeChecker:
    """Verifies that a function's body uses values and symbols in their scopes."""

    func: FuncOp
    inner: FuncOp | LambdaOp
    """The function whose body it is: `func`, or a literal in it."""
    hidden: set[str] = field(default_factory=set[str])
    """The symbols of the functions around `inner`, which its types may not use."""
    calls: list[_CheckedCall] = field(default_factory=list[_CheckedCall])
    used: dict[Attribute, list[str]] = field(default_factory=dict[Attribute, list[str]])

    def visit_block(self, block: Block, visible: set[str], in_dataflow: bool) -> None:
        for op in block.ops:
            self._visit_op(op, visible, in_dataflow)

    def _visit_op(self, op: Operation, visible: set[str], in_dataflow: bool) -> None:
        if isinstance(op, CallOp | AnyCallTIROp | GlobalRefOp):
            self.calls.append(op)
        self._check_purity(op, in_dataflow)
        if isinstance(op, LambdaOp):
            self._visit_lambda(op, visible)
            return
        is_dataflow = isinstance(op, DataflowOp)
        for region in op.regions:
            for block in region.blocks:
                # What a branch defines is not visible after it; a dataflow block only
                # groups bindings of the function.
                inner = visible if is_dataflow else set(visible)
                self.visit_block(block, inner, in_dataflow or is_dataflow)
        if isinstance(op, MatchCastOp):
            self._define(op, visible)
        self._check_symbols(op, visible)

    def _visit_lambda(self, op: LambdaOp, visible: set[str]) -> None:
        outer, self.inner = self.inner, op
        hidden, self.hidden = self.hidden, self.hidden | visible
        for name in op.symbol_names:
            self._check_new(op, name)
        self.visit_block(op.body.block, set(op.symbol_names), False)
        self.inner, self.hidden = outer, hidden

    def _check_new(self, op: Operation, name: str) -> None:
        if name in self.hidden:
            raise VerifyException(
                f"{op.name} in @{self._name}: the symbol '{name}' is one of the function "
                "around; rename it"
            )

    def _define(self, op: MatchCastOp, visible: set[str]) -> None:
        for name in op.defined_symbols:
            if name in visible:
                raise VerifyException(
                    f"{op.name} in @{self._name}: the symbol '{name}' is defined already"
                )
            self._check_new(op, name)
            visible.add(name)

    def _check_symbols(self, op: Operation, visible: set[str]) -> None:
        for result in op.results:
            self._check_visible(op, self._symbols(result.type), visible)
        for attribute in op.properties.values():
            if isinstance(attribute, DimAttr | DimsAttr):
                self._check_visible(op, self._symbols(attribute), visible)

    def _symbols(self, attribute: Attribute) -> list[str]:
        if (names := self.used.get(attribute)) is None:
            if isinstance(attribute, DimAttr):
                names = list(attribute.data.symbols())
            elif isinstance(attribute, DimsAttr):
                names = list(symbols_of(attribute.data))
            else:
                names = used_symbols(attribute)
            self.used[attribute] = names
        return names

    def _check_visible(self, op: Operation, names: list[str], visible: set[str]) -> None:
        for name in names:
            if name not in visible:
                raise VerifyException(
                    f"{op.name} in @{self._name} uses the symbol '{name}', which neither "
                    "a parameter nor a relax.match_cast above defines"
                )

    def _check_purity(self, op: Operation, in_dataflow: bool) -> None:
        if in_dataflow and isinstance(op, IfOp):
            raise VerifyException(
                f"{op.name} in @{self._name} is in a dataflow block, "
                "which holds no control flow"
            )
        if not is_impure(op):
            return
        if in_dataflow:
            raise VerifyException(
                f"{op.name} in @{self._name} is impure and is in a dataflow block"
            )
        if self.inner.is_pure and not self.inner.is_forced_pure:
            raise VerifyException(
                f"{op.name} in @{self._name} is impure; mark the function impure or "
                "give it the attribute relax.force_pure"
            )

    @property
    def _name(self) -> str:
        return self.func.sym_name.data


def _verify_callees(func: FuncOp, calls: list[_CheckedCall]) -> None:
    table = func.parent_op()
    if table is None or table.get_trait(SymbolTable) is None:
        return
    wanted = {call.callee.root_reference for call in calls}
    found = {
        name: op
        for op in table.regions[0].block.ops
        if (name := _symbol_name(op)) is not None and name in wanted
    }
    for call in calls:
        callee = found.get(call.callee.root_reference)
        if callee is None:
            raise VerifyException(
                f"{call.name}: {call.callee} is not defined in the module"
            )
        if isinstance(call, GlobalRefOp):
            _verify_reference(call, callee)
        elif isinstance(call, CallOp):
            _verify_call(call, callee)
        elif isinstance(callee, FuncOp):
            raise VerifyException(
                f"{call.name}: {call.callee} is a relax.func, which relax.call calls"
            )
        elif callee.name == "tir.func":
            _verify_call_tir(call, callee)


def _symbol_name(op: Operation) -> StringAttr | None:
    trait = op.get_trait(SymbolOpInterface)
    return None if trait is None else trait.get_sym_attr_name(op)


def _verify_call_tir(call: AnyCallTIROp, callee: Operation) -> None:
    # Here, since modules without TIR functions need not load their dialect.
    from xdsl_tvm.dialects import tir
    from xdsl_tvm.dialects.relax.prim_func import verify_call_tir

    if isinstance(callee, tir.FuncOp):
        verify_call_tir(call, callee)


def _verify_reference(ref: GlobalRefOp, callee: Operation) -> None:
    declared = ref.result.type
    if isinstance(declared, ObjectType):
        return
    if not isinstance(callee, FuncOp):
        raise VerifyException(
            f"{ref.name}: {ref.callee} is a {callee.name}, which is a !relax.object and "
            f"not {declared}"
        )
    if not is_base_of(declared, callee.type):
        raise VerifyException(
            f"{ref.name}: {ref.callee} is {callee.type}, which is not always {declared}"
        )


def _is_pure_prim_func(callee: Operation) -> bool:
    # Here, since modules without TIR functions need not load their dialect.
    from xdsl_tvm.dialects import tir
    from xdsl_tvm.dialects.tir.purity import is_pure_function

    return isinstance(callee, tir.FuncOp) and is_pure_function(callee)


def _verify_call(call: CallOp, callee: Operation) -> None:
    if not isinstance(callee, FuncOp):
        if call.is_pure and not _is_pure_prim_func(callee):
            raise VerifyException(
                f"{call.name}: {call.callee} is a {callee.name}, which writes its "
                "arguments; call it with relax.call_tir or mark the call impure"
            )
        return
    if call.is_pure != callee.is_pure:
        kind = "pure" if callee.is_pure else "impure"
        raise VerifyException(
            f"{call.name}: {call.callee} is {kind} and the call must say so"
        )
    where = f"relax.func {call.callee}"
    inferred = infer_call(where, callee.type, [a.type for a in call.arguments])
    if call.result is None:
        raise VerifyException(f"{call.name}: {call.callee} has a result, {inferred}")
    if base_check(call.result.type, inferred) == Check.IMPOSSIBLE:
        raise VerifyException(
            f"{call.name}: {call.callee} returns {inferred}, "
            f"but {call.result.type} is declared"
        )
