"""Which functions get another signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, i32
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.function_target import functions_of, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused


@dataclass(frozen=True)
class Exposed:
    """A function that is visible outside of the module."""

    func: tir.FuncOp
    symbol: str
    """Its name for linkers."""
    target: Target
    host: Target
    """What its signature is for."""


def exposed_functions(module: Operation, pass_name: str) -> dict[tir.FuncOp, Exposed]:
    """The functions whose signature a pass replaces, in the order of the module.

    Those are visible (`global_symbol`), of TIR's own signature (no `calling_conv`, or 0),
    have a body, and a target with a host. Raises PassFailedException for one without a
    target.
    """
    found: dict[tir.FuncOp, Exposed] = {}
    for func in functions_of(module):
        symbol = func.attributes.get("global_symbol")
        if (
            not isinstance(symbol, StringAttr)
            or func.is_declaration
            or is_true(func.attributes.get("calling_conv"))
        ):
            continue
        target = target_of(func)
        if target is None:
            keys = ", ".join(sorted(func.attributes))
            raise PassFailedException(
                f"tir.func @{func.sym_name.data}: {pass_name} required the function to "
                "be annotated with tvm::attr::kTarget (target), but the function only "
                f"has attributes {{{keys}}}; run tir-bind-target first"
            )
        host = target.host_target
        if host is not None:
            found[func] = Exposed(func, symbol.data, target, host)
    return found


def calls_of(module: Operation) -> list[tuple[tir.FuncOp, tir.CallFuncOp, tir.FuncOp]]:
    """The calls of TIR functions by TIR functions: caller, call and function."""
    return [
        (caller, call, callee)
        for caller in functions_of(module)
        for call in all_ops(caller)
        if isinstance(call, tir.CallFuncOp)
        and isinstance(callee := _callee(call), tir.FuncOp)
    ]


def _callee(call: tir.CallFuncOp) -> Operation | None:
    return SymbolTable.lookup_symbol(call, call.callee)


def replace_buffer(match: tir.MatchBufferOp, new: tir.DeclBufferOp) -> None:
    """Use a buffer on a pointer, and the pointer, in the place of a matched one."""
    for use in list(match.buffer.uses):
        if isinstance(use.operation, tir.DataOp):
            Rewriter.replace_op(use.operation, (), [new.data])
    match.buffer.replace_all_uses_with(new.buffer)
    sizes = list(match.operands)
    Rewriter.erase_op(match)
    erase_if_unused(sizes)


def move_body(func: tir.FuncOp, code: LoopCode) -> None:
    """Move the ops of a function to where new code is written."""
    for op in list(func.body.block.ops):
        op.detach()
        code.insert(op)


def set_signature(exposed: Exposed, body: Block, names: Sequence[str]) -> None:
    """Give a function a body with other parameters, a status as result, and the host as
    target."""
    func = exposed.func
    func.body.detach_block(func.body.block)
    func.body.add_block(body)
    inputs = [arg.type for arg in body.args]
    func.function_type = FunctionType.from_lists(inputs, [i32])
    func.param_names = ArrayAttr(map(StringAttr, names))
    func.attributes["target"] = exposed.host
