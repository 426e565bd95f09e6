"""Private functions take the place of their calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.call_cycles import callees_first
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import erase_symbols, is_base_of, solve_symbols
from xdsl_tvm.dialects.relax.calls import is_impure
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import definable_symbols, substitute_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import UniqueNames
from xdsl_tvm.passes.relax.canonicalize_bindings import CanonicalizeBindings
from xdsl_tvm.passes.relax.dead_code_elimination import remove_unused_bindings
from xdsl_tvm.passes.relax.normalize import Normalize
from xdsl_tvm.passes.relax.rewriting.call_sites import PrivateFunction, private_functions
from xdsl_tvm.passes.relax.rewriting.symbols import (
    rename_symbols,
    symbols_of_casts,
    type_at,
)
from xdsl_tvm.passes.relax.to_non_dataflow import inline_dataflow

_Op = TypeVar("_Op", bound=Operation)


@dataclass(frozen=True)
class InlinePrivateFunctions(CompilerPass):
    """Summary: Replaces calls of private Relax functions by what the functions do.

    TVM name: relax.InlinePrivateFunctions (v0.20)
    Input form: any
    Output form: the same, where the only private functions that are called are recursive
        ones
    Options: none
    Rewrites: before

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %y = relax.call @twice(%x) : (!t) -> !t
              relax.return %y : !t
            }
            relax.func @twice(%a: !t) -> !t {
              %b = relax.add %a, %a : (!t, !t) -> !t
              relax.return %b : !t
            }

        after

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %y = relax.add %x, %x : (!t, !t) -> !t
              relax.return %y : !t
            }

        in all callers, those that are inlined themselves first. Symbols of the function
        are replaced by the dimensions of the arguments, and other ones get new names.
        Where the type of an argument or of a result says less than the function does, a
        `relax.match_cast` checks what the call did. If the function holds control flow
        or, by `relax.force_pure`, calls with effects, a dataflow block around the call
        becomes plain bindings. In the end `relax-normalize` and
        `relax-canonicalize-bindings` run, and callers lose what they do not need. Time is
        linear in the size of the result.
    Leaves alone: public functions; functions that call themselves, also by way of
        others; functions that are used as values or that an attribute names, that other
        dialects call, or that nothing calls; functions that hold a function literal with
        symbols of its own
    Errors: those of `relax-canonicalize-bindings`
    Attributes: read: `global_symbol`, `relax.force_pure`; created: `relax.force_pure` on
        callers of functions that have it; removed: functions with theirs
    Differs from TVM: symbols that no argument tells are defined by a check, where TVM
        leaves them without a definition. Control flow may be inlined into dataflow
        blocks. A private function that is also used as a value stays, and so does one
        that nothing calls, as long as `relax-dead-code-elimination` does not run.
    """

    name = "relax-inline-private-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inliner = _Inliner()
        for private in _callees_first(private_functions(op)):
            if inliner.inline(private):
                inliner.callers.pop(private.func, None)
                Rewriter.erase_op(private.func)
        if not inliner.callers:
            return
        Normalize().apply(ctx, op)
        CanonicalizeBindings().apply(ctx, op)
        for caller in inliner.callers:
            remove_unused_bindings(caller)


def _calls(func: relax.FuncOp) -> Iterator[str]:
    for op in func.walk():
        if isinstance(op, relax.CallOp):
            yield op.callee.root_reference.data


def _callees_first(functions: Sequence[PrivateFunction]) -> list[PrivateFunction]:
    """The functions that do not reach themselves, each after those that it calls."""
    by_name = {each.func.sym_name.data: each for each in functions}
    calls = {name: list(_calls(each.func)) for name, each in by_name.items()}
    return [by_name[name] for name in callees_first(calls)]


@dataclass
class _Inliner:
    callers: dict[relax.FuncOp, UniqueNames] = field(
        default_factory=dict[relax.FuncOp, UniqueNames]
    )
    """Functions that hold what was inlined, with names for new symbols."""

    def inline(self, private: PrivateFunction) -> bool:
        """Replace the calls of a function; False if it has to stay."""
        callers = [_around(call, relax.FuncOp) for call in private.calls]
        if None in callers or _has_literal_symbols(private.func):
            return False
        for call in private.calls:
            self._inline(call, private.func)
        return True

    def _inline(self, call: relax.CallOp, func: relax.FuncOp) -> None:
        caller = _around(call, relax.FuncOp)
        assert isinstance(caller, relax.FuncOp)
        if caller not in self.callers:
            self.callers[caller] = UniqueNames(_symbols_of(caller))
        _make_room(call, func)
        names = self.callers[caller]
        values, arguments = _arguments(call, func, names)
        for name in symbols_of_casts(func):
            values[name] = Dim.symbol(names.unique(name))
        copy = func.clone()
        rename_symbols(copy, values)
        returned = copy.return_op.value
        if isinstance(returned, BlockArgument) and returned in copy.args:
            returned = arguments[returned.index]
        Rewriter.erase_op(copy.return_op)
        Rewriter.inline_block(copy.body.block, InsertPoint.before(call), arguments)
        assert call.result is not None, "verified"
        output = substitute_symbols(func.output_type, values)
        for type_ in (output, call.result.type):
            returned = _as_type(returned, type_, call)
        Rewriter.replace_op(call, (), (returned,))


def _around(op: Operation, kind: type[_Op]) -> _Op | None:
    """The innermost operation of a class around an operation."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent_op()
    return parent


def _has_literal_symbols(func: relax.FuncOp) -> bool:
    return any(isinstance(op, relax.LambdaOp) and op.symbol_names for op in all_ops(func))


def _symbols_of(func: relax.FuncOp) -> Iterator[str]:
    """All symbols that a function, its casts and its literals define."""
    yield from func.symbol_names
    yield from symbols_of_casts(func)
    for op in func.walk():
        if isinstance(op, relax.LambdaOp):
            yield from op.symbol_names


def _make_room(call: relax.CallOp, func: relax.FuncOp) -> None:
    """Let the place of a call hold what the function does."""
    inside = [
        op for op in all_ops(func.body) if isinstance(op, relax.IfOp) or is_impure(op)
    ]
    if not inside:
        return
    while (dataflow := _around(call, relax.DataflowOp)) is not None:
        inline_dataflow(dataflow)
    owner = _around(call, relax.LambdaOp) or _around(call, relax.FuncOp)
    assert owner is not None
    if func.is_forced_pure and owner.is_pure:
        owner.attributes[relax.FORCE_PURE] = BoolAttr.from_bool(True)


def _arguments(
    call: relax.CallOp, func: relax.FuncOp, names: UniqueNames
) -> tuple[dict[str, Dim], list[SSAValue]]:
    """What the symbols of a function are at a call, and values of its parameters' types.

    Symbols that no argument tells are defined by casts, which check what the call does.
    """
    types = [arg.type for arg in func.args]
    arguments = list(call.arguments)
    solved = solve_symbols(types, [type_at(argument, call) for argument in arguments])
    values = {name: dim for name, dim in solved.items() if name in func.symbol_names}
    for index, type_ in enumerate(types):
        new = [name for name in definable_symbols(type_) if name not in values]
        if new:
            values |= {name: Dim.symbol(names.unique(name)) for name in new}
            told = substitute_symbols(erase_symbols(type_, values), values)
            defined = [str(values[name]) for name in new]
            cast = relax.MatchCastOp(arguments[index], told, defined)
            cast.location = call.location
            Rewriter.insert_op(cast, InsertPoint.before(call))
            arguments[index] = cast.result
    for index, type_ in enumerate(types):
        full = substitute_symbols(type_, values)
        arguments[index] = _as_type(arguments[index], full, call)
    return values, arguments


def _as_type(value: SSAValue, type_: Attribute, call: relax.CallOp) -> SSAValue:
    """The value under a type, by a check where it is not known to have it."""
    if value.type == type_:
        return value
    kind = relax.AliasOp if is_base_of(type_, value.type) else relax.MatchCastOp
    op = kind(value, type_)
    op.location = call.location
    Rewriter.insert_op(op, InsertPoint.before(call))
    return op.result
