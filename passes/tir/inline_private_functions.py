"""Private functions take the place of their calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.call_cycles import callees_first
from xdsl_tvm.analysis.tir.function_target import is_same_code, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import named_symbols
from xdsl_tvm.passes.tir.convert_ssa import ConvertSSA
from xdsl_tvm.passes.tir.rewriting.limits import check_copies
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    erase_if_unused,
    insert_body_before,
)

_OF_BLOCKS = (tir.BlockOp, tir.AllocBufferOp, tir.MatchBufferOp)
_HOLD_STATEMENTS = (
    tir.AttrOp,
    tir.BlockOp,
    tir.ForOp,
    tir.FuncOp,
    tir.IfOp,
    tir.InitOp,
    tir.LaunchThreadOp,
    tir.ScopeOp,
    tir.WhileOp,
)
_VARIABLES = (tir.LetOp, tir.AllocateOp, tir.AllocateConstOp, tir.DataOp)


@dataclass(frozen=True)
class InlinePrivateFunctions(CompilerPass):
    """Summary: Replaces calls of private TIR functions by what the functions do.

    TVM name: tir.InlinePrivateFunctions (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
              %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
              %p = tir.address_of %A[%c2] : !tir.ptr<f32>
              tir.call_func @set(%p, %x) : (!tir.ptr<f32>, f32) -> ()
            }
            tir.func @set(%q: !tir.ptr<f32>, %y: f32) {
              %B = tir.decl_buffer "B" %q : !tir.buffer<2xf32>
              tir.store %y, %B[%c0] : f32
            }

        after

            tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
              %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
              %p = tir.address_of %A[%c2] : !tir.ptr<f32>
              %q = tir.let "q" %p : !tir.ptr<f32>
              %B = tir.decl_buffer "B" %q : !tir.buffer<2xf32>
              tir.store %x, %B[%c0] : f32
            }

        in all functions, those that are inlined themselves first. Functions that can be
        inlined have no `global_symbol`, no buffers of parameters, no blocks and no
        `tir.ret` but one at the end, and do not reach themselves by calls. Calls are
        statements: nothing but `tir.evaluate` uses their result. Caller and function have
        the same target, but for the host, or one of them has none. A buffer that is
        declared on a pointer parameter gets a `tir.let` of the name of the parameter,
        where the argument is no variable. A body with bindings or allocations that other
        statements follow becomes a `tir.scope`. If something was inlined,
        `tir-convert-ssa` runs, and all functions that can be inlined and that nothing
        refers to are erased. Time is linear in the size of the result.
    Leaves alone: public functions, declarations, and calls in expressions; functions that
        are called so, or that operations of other dialects or attributes name
    Errors: a call with another number of arguments than the function has parameters;
        copies of a function that are too large together
    Attributes: read: `global_symbol` and `target`; created: none; removed: none
    Differs from TVM: functions that call each other in a circle stay; TVM does not end.
        Arguments are evaluated once, before the body; TVM evaluates them where they are
        used, after what the body has written. A function that returns earlier than at its
        end is not inlined, since TVM's result returns from the caller; a value that it
        returns at its end is dropped.
    """

    name = "tir-inline-private-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = False
        for module in _scopes(op):
            inliner = _Inliner(module)
            changed |= inliner.run()
        if changed:
            ConvertSSA().apply(ctx, op)


def _scopes(module: ModuleOp) -> list[ModuleOp]:
    """The modules whose functions call each other by name, inner ones first."""
    found = ops_of(module, ModuleOp)
    found.reverse()
    return found


@dataclass
class _Private:
    """A function that can be inlined."""

    func: tir.FuncOp
    size: int
    copies: int = 0
    is_removable: bool = True


class _Inliner:
    def __init__(self, module: ModuleOp) -> None:
        self._calls: dict[tir.FuncOp, list[tir.CallFuncOp]] = {
            op: []
            for op in module.ops
            if isinstance(op, tir.FuncOp) and not op.is_declaration
        }
        self._private: dict[str, _Private] = {}
        for func in self._calls:
            size = _size_if_inlined(func)
            if size is not None:
                self._private[func.sym_name.data] = _Private(func, size)
        self._callers: list[tir.FuncOp] = []
        if self._private:
            self._find_calls(module)
            self._order()
        self.changed = False

    def _find_calls(self, module: ModuleOp) -> None:
        """Find the calls in each function, and what else names private functions."""
        for op in module.ops:
            calls = self._calls.get(op) if isinstance(op, tir.FuncOp) else None
            for inner in all_ops(op):
                is_call = isinstance(inner, tir.CallFuncOp)
                if is_call and calls is not None and not _path(inner):
                    calls.append(inner)
                else:
                    self._keep(named_symbols(inner))
        self._keep(named_symbols(module))

    def _order(self) -> None:
        """Leave out functions that reach themselves, and put callers first."""
        by_name = {func.sym_name.data: func for func in self._calls}
        acyclic = callees_first(
            {
                name: [_callee(call) for call in self._calls[func]]
                for name, func in by_name.items()
            }
        )
        self._private = {
            name: self._private[name] for name in acyclic if name in self._private
        }
        stay = [func for name, func in by_name.items() if name not in self._private]
        inlined = [private.func for private in self._private.values()]
        self._callers = [*stay, *reversed(inlined)]

    def _keep(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._private:
                self._private[name].is_removable = False

    def run(self) -> bool:
        """Inline, and erase what is not needed any more; whether something changed."""
        for caller in self._callers:
            private = self._private.get(caller.sym_name.data)
            is_erased = self.changed and private is not None and private.is_removable
            self._inline_into(caller, is_erased=is_erased)
        if self.changed:
            for private in self._private.values():
                if private.is_removable:
                    Rewriter.erase_op(private.func)
        return self.changed

    def _inline_into(self, caller: tir.FuncOp, *, is_erased: bool) -> None:
        """Inline the calls of a function, unless it is erased anyway."""
        pending = list(reversed(self._calls[caller]))
        while pending:
            call = pending.pop()
            private = self._private.get(_callee(call))
            if private is None:
                continue
            _check_arguments(call, private.func)
            if not (_is_statement(call) and _agree(caller, private.func)):
                private.is_removable = False
            elif not is_erased:
                private.copies += 1
                check_copies(
                    call, private.copies, private.size, "let some functions be public"
                )
                pending += reversed(_inline(call, private.func))
                self.changed = True


def _callee(call: tir.CallFuncOp) -> str:
    return call.callee.root_reference.data


def _path(call: Operation) -> bool:
    """Whether a call names a function of an inner module."""
    assert isinstance(call, tir.CallFuncOp)
    return bool(call.callee.nested_references.data)


def _size_if_inlined(func: tir.FuncOp) -> int | None:
    """The number of ops of a function, None where it cannot be inlined."""
    if "global_symbol" in func.attributes:
        return None
    size = 0
    for op in all_ops(func.body):
        size += 1
        if isinstance(op, _OF_BLOCKS):
            return None
        if isinstance(op, tir.RetOp) and op is not func.body.block.last_op:
            return None
    return size


def _agree(caller: tir.FuncOp, callee: tir.FuncOp) -> bool:
    """Whether code of one function can be in the other."""
    source, target = target_of(caller), target_of(callee)
    return source is None or target is None or is_same_code(source, target)


def _is_statement(call: tir.CallFuncOp) -> bool:
    """Whether the value of a call is not used, and it is where statements are."""
    block = call.parent
    return (
        block is not None
        and isinstance(block.parent_op(), _HOLD_STATEMENTS)
        and not isinstance(block.last_op, tir.YieldOp)
        and all(
            isinstance(use.operation, tir.EvaluateOp)
            for result in call.results
            for use in result.uses
        )
    )


def _check_arguments(call: tir.CallFuncOp, func: tir.FuncOp) -> None:
    inputs = func.function_type.inputs
    if len(call.args) != len(inputs):
        raise PassFailedException(
            f"{describe(call)}: @{func.sym_name.data} has {len(inputs)} parameters, but "
            f"is called with {len(call.args)} arguments"
        )


def _inline(call: tir.CallFuncOp, func: tir.FuncOp) -> list[tir.CallFuncOp]:
    """Put the body of a function in the place of a call; the calls in it."""
    for result in call.results:
        for use in list(result.uses):
            Rewriter.erase_op(use.operation)
    values: dict[SSAValue, SSAValue] = dict(zip(func.args, call.args, strict=True))
    names = {
        argument: _name_of(func, index)
        for index, argument in reversed(list(enumerate(call.args)))
        if not _is_variable(argument)
    }
    body = Block()
    returned: tuple[SSAValue, ...] = ()
    calls: list[tir.CallFuncOp] = []
    for op in func.body.block.ops:
        if isinstance(op, tir.RetOp):
            returned = tuple(values.get(operand, operand) for operand in op.operands)
            continue
        copy = op.clone(values)
        body.add_op(copy)
        for inner in all_ops(copy):
            if isinstance(inner, tir.CallFuncOp):
                calls.append(inner)
            elif isinstance(inner, tir.DeclBufferOp) and inner.data in names:
                _bind_pointer(inner, names[inner.data])
    erase_if_unused(returned)
    insert_body_before(call, body, followed=call.next_op is not None)
    Rewriter.erase_op(call)
    return calls


def _is_variable(value: SSAValue) -> bool:
    return not isinstance(value.owner, Operation) or isinstance(value.owner, _VARIABLES)


def _name_of(func: tir.FuncOp, index: int) -> str | None:
    names = func.param_names
    return func.args[index].name_hint if names is None else names.data[index].data


def _bind_pointer(buffer: tir.DeclBufferOp, name: str | None) -> None:
    """Give the pointer of a buffer, which is an expression, a name."""
    block = buffer.parent
    assert block is not None, "held by a body"
    let = tir.LetOp(buffer.data, name=name)
    let.location = buffer.location
    set_name_hint(let.result, name)
    block.insert_op_before(let, buffer)
    buffer.operands[0] = let.result
