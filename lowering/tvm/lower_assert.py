"""Failed assertions end the call, not the process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    i64,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import tir
from xdsl_tvm.lowering.tvm._blocks import split_behind
from xdsl_tvm.lowering.tvm._conversion import fail
from xdsl_tvm.lowering.tvm._symbols import Symbols, symbol_table
from xdsl_tvm.passes.infra import CompilerPass

FAILED_ASSERT = "tvm_failed_assert"
"""The global that holds the address of the message of a failed assertion, else 0."""


@dataclass(frozen=True)
class LowerAssert(CompilerPass):
    """Summary: Makes functions return when an assertion fails, and say so to the caller.

    TVM name: none (ours)
    Input form: functions whose structured control flow is gone
    Output form: no `cf.assert` in the body of a `func.func`
    Options: none
    Rewrites: before

            func.func @f(%c: i1) -> i32 {
              cf.assert %c, "message"
              ...
            }

        after

            llvm.mlir.global weak @tvm_failed_assert(0 : i64) : i64
            func.func @f(%c: i1) -> i32 {
              cf.cond_br %c, ^rest, ^failed
            ^rest:
              ...
            ^failed:
              (the address of "message" is stored to @tvm_failed_assert)
              %zero = arith.constant 0 : i32
              func.return %zero : i32
            }

        A function that calls such a function looks at the global behind the call, and
        returns as well if it is not 0. Who calls from outside sets the global to 0
        before, and reads it after. Time is linear in the size of the module.
    Leaves alone: assertions in GPU modules and inside of other ops, and functions that
        cannot fail
    Errors: a function that can fail with a result that is neither an integer nor a float;
        a symbol `tvm_failed_assert` that is something else
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM returns -1 from functions of its packed convention and keeps the
        message in its runtime. Memory that the function has allocated is not released
        when an assertion fails.
    """

    name = "tvm-lower-assert"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.body.ops if isinstance(each, func.FuncOp)]
        asserts = {each: list(_asserts(each)) for each in functions}
        calls = {each: list(_calls(each)) for each in functions}
        failing = _failing(functions, asserts, calls)
        if not failing:
            return
        slot = _slot(op)
        symbols = Symbols()
        names = {each.sym_name.data for each in failing}
        for each in failing:
            checked = [call for call in calls[each] if _callee(call) in names]
            _lower(each, {*asserts[each], *checked}, slot, symbols)


def _asserts(function: func.FuncOp) -> Iterable[cf.AssertOp]:
    for block in function.body.blocks:
        for op in block.ops:
            if isinstance(op, cf.AssertOp):
                yield op


def _calls(function: func.FuncOp) -> Iterable[func.CallOp]:
    for block in function.body.blocks:
        for op in block.ops:
            if isinstance(op, func.CallOp):
                yield op


def _callee(call: func.CallOp) -> str:
    return call.callee.string_value()


def _failing(
    functions: list[func.FuncOp],
    asserts: dict[func.FuncOp, list[cf.AssertOp]],
    calls: dict[func.FuncOp, list[func.CallOp]],
) -> list[func.FuncOp]:
    """The functions that assert something, or call one that does."""
    callers: dict[str, list[func.FuncOp]] = {}
    for function in functions:
        for call in calls[function]:
            callers.setdefault(_callee(call), []).append(function)
    found = dict.fromkeys(each for each in functions if asserts[each])
    pending = list(found)
    while pending:
        for caller in callers.get(pending.pop().sym_name.data, []):
            if caller not in found:
                found[caller] = None
                pending.append(caller)
    return list(found)


def _slot(module: ModuleOp) -> llvm.GlobalOp:
    """The global, made where the module has none."""
    for op in module.body.ops:
        symbol = op.get_attr_or_prop("sym_name")
        if symbol is not None and getattr(symbol, "data", None) == FAILED_ASSERT:
            if isinstance(op, llvm.GlobalOp) and op.global_type == i64:
                return op
            raise fail(op, f"the symbol '{FAILED_ASSERT}' is taken; rename it")
    slot = llvm.GlobalOp(i64, FAILED_ASSERT, "weak", value=IntegerAttr(0, i64))
    module.body.block.add_op(slot)
    return slot


def _lower(
    function: func.FuncOp, points: set[Operation], slot: llvm.GlobalOp, symbols: Symbols
) -> None:
    """Let the function return behind each of `points`, if that fails."""
    exit_block = Block()
    for block in list(function.body.blocks):
        op = block.last_op
        while op is not None:
            before = op.prev_op
            if op in points:
                rest = split_behind(op)
                if isinstance(op, cf.AssertOp):
                    _lower_assert(op, rest, exit_block, slot, symbols)
                else:
                    _check_call(op, rest, exit_block, slot)
            op = before
    function.body.add_block(exit_block)
    zeros = [_zero(function, type) for type in function.function_type.outputs]
    exit_block.add_ops(zeros)
    exit_block.add_op(func.ReturnOp(*zeros))


def _lower_assert(
    op: cf.AssertOp,
    rest: Block,
    exit_block: Block,
    slot: llvm.GlobalOp,
    symbols: Symbols,
) -> None:
    pointer = llvm.LLVMPointerType()
    text = symbols.string_constant(symbol_table(op), op.msg.data)
    message = llvm.AddressOfOp(text, pointer)
    number = llvm.PtrToIntOp(message.result, i64)
    place = llvm.AddressOfOp(slot.sym_name, pointer)
    failed = Block(
        [
            message,
            number,
            place,
            llvm.StoreOp(number.results[0], place.result),
            cf.BranchOp(exit_block),
        ]
    )
    region = rest.parent
    assert region is not None
    region.add_block(failed)
    branch = cf.ConditionalBranchOp(op.operands[0], rest, [], failed, [])
    for each in (*failed.ops, branch):
        each.location = op.location
    Rewriter.replace_op(op, branch)


def _check_call(
    op: Operation, rest: Block, exit_block: Block, slot: llvm.GlobalOp
) -> None:
    block = op.parent_block()
    assert block is not None
    place = llvm.AddressOfOp(slot.sym_name, llvm.LLVMPointerType())
    found = llvm.LoadOp(place.result, i64)
    zero = arith.ConstantOp(IntegerAttr(0, i64))
    passed = arith.CmpiOp(found.results[0], zero, "eq")
    branch = cf.ConditionalBranchOp(passed, rest, [], exit_block, [])
    for each in (place, found, zero, passed, branch):
        each.location = op.location
        block.add_op(each)


def _zero(function: func.FuncOp, type: Attribute) -> arith.ConstantOp:
    if isinstance(type, AnyFloat):
        return arith.ConstantOp(FloatAttr(0.0, type))
    if isinstance(type, IndexType):
        return arith.ConstantOp(IntegerAttr(0, type))
    if tir.is_integer_type(type):
        return arith.ConstantOp(IntegerAttr(0, type))
    raise fail(function, f"a function that can fail cannot have a result of type {type}")
