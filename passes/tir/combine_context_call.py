"""Contexts of threads are found once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.derivation import derived_from_itself
from xdsl_tvm.analysis.tir.function_target import functions_of, is_host
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir.types import is_handle
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.copied_expressions import ExpressionCopier
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    describe,
    signature_of,
)

_NAME = "ctx_cache_"


@dataclass(frozen=True)
class CombineContextCall(CompilerPass):
    """Summary: Evaluates the contexts of threads once, where their threads begin.

    TVM name: tir.CombineContextCall (v0.20)
    Input form: any
    Output form: the same, without `tir.call "tvm_thread_context"` in functions of the
        host
    Options: none
    Rewrites: before, in a function whose target has the key `cpu`

            tir.for %i = %c0 to %n {
              %h = tir.call "call_extern"(%device_context, %c2, %c0)
                  : (!tir.handle, i32, i32) -> !tir.handle
              %c = tir.call "tvm_thread_context"(%h) : (!tir.handle) -> !tir.handle
              tir.call "call_extern"(%run, %c) : (!tir.handle, !tir.handle) -> ()
            }

        after

            %h = tir.call "call_extern"(%device_context, %c2, %c0)
                : (!tir.handle, i32, i32) -> !tir.handle
            %ctx_cache_ = tir.let "ctx_cache_" %h : !tir.handle
            tir.for %i = %c0 to %n {
              tir.call "call_extern"(%run, %ctx_cache_) : (!tir.handle, !tir.handle) -> ()
            }

        Contexts of equal expressions share one variable. It is bound at the beginning of
        the function, or before the innermost parallel loop, thread launch or
        `tir.attr "coproc_uop_scope"` around the call; the first one in the text is bound
        first. Time is linear in the size of the functions, and in that of the
        expressions of the contexts.
    Leaves alone: functions that are not known to run on the host: by `tir.is_host_func`,
        or by a target with the key `cpu`; declarations
    Errors: a context that is no handle
    Attributes: read: `target` and `tir.is_host_func`; created: none; removed: none
    Differs from TVM: an expression that depends on what is computed after the place of
        the variable, that reads memory, or that may divide by zero, stays where it is,
        and the variable is bound after it; TVM moves it out of the scope of its
        variables. A context in the expression of another one is combined, too.
    """

    name = "tir-combine-context-call"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if is_host(func) and not func.is_declaration:
                _Combiner(func).run()


@dataclass
class _Scope:
    """Where contexts are bound: before `op`, or at the beginning of the function."""

    op: Operation | None
    bound: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """The variables by the number of the expression."""
    variables: set[SSAValue] = field(default_factory=set[SSAValue])
    ops: list[Operation] = field(default_factory=list[Operation])
    """What is inserted."""


class _Combiner:
    def __init__(self, func: tir.FuncOp) -> None:
        self._func = func
        self._numbers: dict[object, int] = {}
        self._expressions: dict[SSAValue, int] = {}
        self._beginning = tir.EvaluateOp()
        self._signature: set[Operation] = set()
        self._bound_in_place: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        """Replace all contexts of the function."""
        contexts = list(_contexts(self._func))
        if not contexts:
            return
        self._find_beginning()
        for context, scope in contexts:
            value = context.args[0]
            if context.result is None or not is_handle(value.type):
                raise PassFailedException(
                    f"{describe(context)}: the context of a thread must be a handle, got "
                    f"{value.type}; let a call that returns a handle compute it"
                )
            context.result.replace_all_uses_with(self._variable(value, scope))
            Rewriter.erase_op(context)
            _erase_unused(value)
        for scope in {id(scope): scope for _, scope in contexts}.values():
            self._insert(scope)
        Rewriter.erase_op(self._beginning)

    def _find_beginning(self) -> None:
        """Put a mark before the first op that is neither a declaration of parameters nor
        without effect."""
        block = self._func.body.block
        declarations = signature_of(block)
        for op in block.ops:
            if op not in declarations and not is_side_effect_free(op):
                block.insert_op_before(self._beginning, op)
                return
            self._signature.add(op)
        block.add_op(self._beginning)

    def _is_available(self, value: SSAValue, scope: _Scope) -> bool:
        owner = value.owner
        if scope.op is not None:
            return not scope.op.is_ancestor(owner)
        if isinstance(owner, Block):
            return owner is self._func.body.block
        return owner in self._signature or not self._func.is_ancestor(owner)

    # ---- variables ----

    def _variable(self, value: SSAValue, scope: _Scope) -> SSAValue:
        number = self._number(value)
        found = scope.bound.get(number)
        if found is not None:
            return found
        if not all(
            leaf in scope.variables or self._is_available(leaf, scope)
            for leaf in _leaves(value)
        ):
            return self._variable_in_place(value)
        copier = ExpressionCopier(
            lambda op: _is_movable(op) and not self._is_available(op.results[0], scope),
            lambda leaf: leaf,
            scope.ops.append,
        )
        let = tir.LetOp(copier.copy(value), name=_NAME)
        set_name_hint(let.result, _NAME)
        scope.ops.append(let)
        scope.bound[number] = let.result
        scope.variables.add(let.result)
        return let.result

    def _variable_in_place(self, value: SSAValue) -> SSAValue:
        """A variable right after the definition of a value."""
        found = self._bound_in_place.get(value)
        if found is not None:
            return found
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        assert block is not None, "held by the function"
        is_expression = isinstance(block.last_op, tir.YieldOp)
        kind = tir.LetKind.EXPR if is_expression else tir.LetKind.STMT
        let = tir.LetOp(value, name=_NAME, kind=kind)
        set_name_hint(let.result, _NAME)
        following = block.first_op if isinstance(owner, Block) else owner.next_op
        if following is None:
            block.add_op(let)
        else:
            block.insert_op_before(let, following)
        self._bound_in_place[value] = let.result
        return let.result

    def _number(self, value: SSAValue) -> int:
        """A number that equal expressions share."""
        pending, entered = [value], set[Operation]()
        while pending:
            current = pending[-1]
            if current in self._expressions:
                pending.pop()
                continue
            op = current.owner
            key: object = current
            if isinstance(op, Operation) and _is_movable(op):
                missing = [each for each in op.operands if each not in self._expressions]
                if missing:
                    if op in entered:
                        raise derived_from_itself(current)
                    entered.add(op)
                    pending += missing
                    continue
                key = (
                    op.name,
                    tuple(sorted(op.properties.items())),
                    tuple(sorted(op.attributes.items())),
                    tuple(self._expressions[each] for each in op.operands),
                    current.type,
                )
            self._expressions[current] = self._numbers.setdefault(key, len(self._numbers))
        return self._expressions[value]

    # ---- places ----

    def _insert(self, scope: _Scope) -> None:
        """Put what a scope binds into its place."""
        if not scope.ops:
            return
        anchor = self._beginning if scope.op is None else scope.op
        block = anchor.parent
        assert block is not None, "held by the function"
        for op in scope.ops:
            op.location = anchor.location
        if scope.op is None or anchor.next_op is None:
            block.insert_ops_before(scope.ops, anchor)
            return
        body = Block()
        outer = tir.ScopeOp(Region(body))
        outer.location = anchor.location
        block.insert_op_before(outer, anchor)
        anchor.detach()
        body.add_ops((*scope.ops, anchor))


def _contexts(func: tir.FuncOp) -> Iterator[tuple[tir.CallOp, _Scope]]:
    """The contexts of a function in the order of the text, with their scopes."""
    pending: list[tuple[Operation, _Scope]] = []

    def push(op: Operation, scope: _Scope) -> None:
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                pending.extend((inner, scope) for inner in reversed(block.ops))

    push(func, _Scope(None))
    while pending:
        op, scope = pending.pop()
        if isinstance(op, tir.CallOp) and op.callee.data == "tvm_thread_context":
            yield op, scope
        elif op.regions:
            push(op, _Scope(op) if _begins_threads(op) else scope)


def _begins_threads(op: Operation) -> bool:
    match op:
        case tir.ForOp():
            return op.kind.data is tir.ForKind.PARALLEL
        case tir.LaunchThreadOp():
            return op.virtual is None
        case tir.AttrOp():
            return op.key.data == "coproc_uop_scope"
        case _:
            return False


def _is_movable(op: Operation) -> bool:
    """Whether an op may be computed where the threads begin.

    Calls may, since the builtin promises that its operand is the same for all of a
    thread.
    """
    if len(op.results) != 1 or op.regions:
        return False
    if isinstance(op, tir.CallOp):
        return op.callee.data != "tvm_thread_context"
    return is_side_effect_free(op) and can_speculate(op)


def _leaves(value: SSAValue) -> list[SSAValue]:
    """The values that an expression is computed of, which cannot be moved."""
    found: list[SSAValue] = []
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        if isinstance(owner, Operation) and _is_movable(owner):
            pending += owner.operands
        else:
            found.append(current)
    return found


def _erase_unused(value: SSAValue) -> None:
    """Erase the expression of a context, if nothing else uses it."""
    pending = [value.owner]
    while pending:
        op = pending.pop()
        if (
            isinstance(op, Operation)
            and op.parent is not None
            and _is_movable(op)
            and op.results[0].first_use is None
        ):
            pending += [operand.owner for operand in op.operands]
            Rewriter.erase_op(op)
