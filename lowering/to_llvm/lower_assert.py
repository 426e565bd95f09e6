"""Failed assertions end the call, not the process."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import ops_in
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH
from xdsl_tvm.lowering.runtime_symbols import (
    FAILED_ASSERT,
    failed_number,
    reporting_name,
)
from xdsl_tvm.lowering.to_llvm._blocks import split_behind
from xdsl_tvm.lowering.to_llvm._conversion import fail
from xdsl_tvm.lowering.to_llvm._held_allocations import (
    POINTER,
    HeldAllocations,
    block_of,
)
from xdsl_tvm.lowering.to_llvm._symbols import Symbols, symbol_table
from xdsl_tvm.passes.infra import CompilerPass

RETURNS_STATUS = "tvm.returns_status"
"""The attribute of functions that return -1 where they fail, and else 0."""
_RETURNS = "tvm.returns"


def return_early(never: SSAValue) -> cf.AssertOp:
    """What leaves a function with the results 0, given the constant false; it is no
    failure."""
    op = cf.AssertOp(never, "returns")
    op.attributes[_RETURNS] = UnitAttr()
    return op


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
              (calls @f.reporting with the address of a slot on the stack, and stores the
              message that is in it then, if any, to @tvm_failed_assert)
            }
            func.func @f.reporting(%c: i1, %slot: !llvm.ptr) -> i32 {
              cf.cond_br %c, ^rest, ^failed
            ^rest:
              ...
            ^failed:
              (the address of "message" is stored to %slot)
              %zero = arith.constant 0 : i32
              func.return %zero : i32
            }

        A slot is two words: the address of the message, 0 before, and the address of the
        numbers of messages, where the module has such. In a message,
        `{tvm_failed_number0}` is for the number in the global of that name, an `i64`; a
        function that reports stores it to the numbers of its slot instead. Of several
        iterations of a parallel loop that fail, the numbers may be those of any.
        A function that calls such a function passes its slot on, looks at it after the
        call, and returns as well if it is not 0. Only functions that other modules see
        have both forms: who calls `@f` sets the global to 0 before, and reads it after;
        calls of `@f.reporting` on several threads do not disturb each other. Code that
        the thread pool calls has a slot for each share. The launch of a parallel loop
        gives the first failure in the order of the iterations, whichever came first.
        Time is linear in the size of the module. What a function has allocated and not
        released (memref.alloc, memref.dealloc) is released when it fails.
    Leaves alone: assertions in GPU modules and inside of other ops, and functions that
        cannot fail
    Errors: a function that can fail with a result that is neither an integer nor a float;
        a symbol `tvm_failed_assert` that is something else; a symbol with the name of a
        new function
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM returns -1 from functions of its packed convention and keeps the
        message in its runtime.
    """

    name = "tvm-lower-assert"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        code = _Code(op)
        failing = code.failing()
        if not failing:
            return
        numbers = _numbers(op)
        reporting = {name: code.reporting(name) for name in failing}
        slot = _slot(op)
        symbols = Symbols()
        for chunk in code.chunks.values():
            _report(chunk, reporting, has_numbers=bool(numbers))
        for name, function in reporting.items():
            place = function.body.blocks[0].args[-1]
            points = code.points(function, failing)
            _redirect_numbers(function, place, numbers)
            _lower(function, points, place, symbols, reporting, bool(numbers))
            if function.sym_name.data != name:
                _add_wrapper(function, name, slot, list(numbers))


class _Code:
    """The functions of a module, and who calls whom; calls are by name."""

    def __init__(self, module: ModuleOp) -> None:
        self.functions: dict[str, func.FuncOp] = {}
        self.chunks: dict[str, llvm.FuncOp] = {}
        for each in module.body.ops:
            if isinstance(each, func.FuncOp):
                self.functions[each.sym_name.data] = each
            elif isinstance(each, llvm.FuncOp):
                self.chunks[each.sym_name.data] = each
        self.callees = {name: self._callees(f) for name, f in self.functions.items()}
        self.chunk_callees = {name: self._callees(f) for name, f in self.chunks.items()}

    def _callees(self, function: Operation) -> dict[Operation, str]:
        """The calls in `function`, with the function or the chunk that each runs."""
        return {
            op: callee
            for block in function.regions[0].blocks
            for op in filter(_is_call, ops_in(block))
            if (callee := _callee(op)) is not None
        }

    def _runs(self, function: str) -> Iterator[str]:
        """The functions that `function` calls, or has threads call."""
        for callee in self.callees[function].values():
            if callee in self.chunks:
                yield from self.chunk_callees[callee].values()
            else:
                yield callee

    def failing(self) -> dict[str, None]:
        """The functions that assert something, or run one that does."""
        callers: dict[str, list[str]] = {}
        for name in self.functions:
            for callee in self._runs(name):
                callers.setdefault(callee, []).append(name)
        found = dict.fromkeys(n for n, f in self.functions.items() if _has_assert(f))
        pending = list(found)
        while pending:
            for caller in callers.get(pending.pop(), []):
                if caller not in found:
                    found[caller] = None
                    pending.append(caller)
        return found

    def reporting(self, name: str) -> func.FuncOp:
        """Gives a function the address of a slot as last argument.

        One that other modules see is renamed; its name is then that of no function.
        """
        function = self.functions[name]
        if function.sym_visibility is None:
            new = reporting_name(name)
            if new in self.functions or new in self.chunks:
                raise fail(function, f"the symbol '{new}' is taken; rename it")
            function.properties["sym_name"] = StringAttr(new)
        inputs = [*function.function_type.inputs.data, POINTER]
        outputs = function.function_type.outputs.data
        function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        if function.arg_attrs is not None:
            known = [*function.arg_attrs, DictionaryAttr({})]
            function.properties["arg_attrs"] = ArrayAttr(known)
        entry = function.body.blocks[0]
        entry.insert_arg(POINTER, len(entry.args))
        return function

    def points(self, function: func.FuncOp, failing: Container[str]) -> set[Operation]:
        """Where `function` may fail: assertions, calls, and launches."""
        calls = {
            op
            for op, callee in self._callees(function).items()
            if callee in failing
            or any(n in failing for n in self.chunk_callees.get(callee, {}).values())
        }
        return calls.union(_asserts(function))


def _has_assert(function: func.FuncOp) -> bool:
    return next(iter(_asserts(function)), None) is not None


_is_assertion = of_classes(cf.AssertOp)
_is_call = of_classes(func.CallOp, llvm.CallOp)


def _asserts(function: func.FuncOp) -> Iterator[cf.AssertOp]:
    for block in function.body.blocks:
        yield from filter(_is_assertion, ops_in(block))


def _callee(op: func.CallOp | llvm.CallOp) -> str | None:
    """The function that a call runs, or the chunk that a launch has threads run."""
    if isinstance(op, func.CallOp):
        return op.callee.string_value()
    if op.callee != SymbolRefAttr(LAUNCH):
        return None
    chunk = op.args[0].owner
    return (
        chunk.global_name.string_value() if isinstance(chunk, llvm.AddressOfOp) else None
    )


def _report(
    chunk: llvm.FuncOp, reporting: Mapping[str, func.FuncOp], *, has_numbers: bool
) -> None:
    """Lets a chunk give a slot to what it calls, and return what is there."""
    calls = [
        op
        for block in chunk.body.blocks
        for op in block.ops
        if isinstance(op, func.CallOp) and _callee(op) in reporting
    ]
    if not calls:
        return
    numbers = _unpacked_context(chunk) if has_numbers else None
    for op in calls:
        _report_call(op, numbers, reporting)


def _unpacked_context(chunk: llvm.FuncOp) -> SSAValue:
    """Lets a chunk take a pair of its context and the numbers; gives the latter."""
    entry = chunk.body.blocks[0]
    pair, first = entry.args[-1], entry.first_op
    assert first is not None, "a function ends with a terminator"
    context = llvm.LoadOp(pair, POINTER)
    pair.replace_all_uses_with(context.dereferenced_value)
    context.operands[0] = pair
    second = llvm.GEPOp(pair, [1], POINTER)
    numbers = llvm.LoadOp(second.result, POINTER)
    entry.insert_ops_before([context, second, numbers], first)
    return numbers.dereferenced_value


def _report_call(
    op: func.CallOp, numbers: SSAValue | None, reporting: Mapping[str, func.FuncOp]
) -> None:
    block = block_of(op)
    ops: list[Operation] = []
    place = _new_slot(numbers, ops)
    block.insert_ops_before(ops, op)
    call = _pass_place(op, place, reporting)
    found = llvm.LoadOp(place, i64)
    block.insert_op_after(found, call)
    last = block.last_op
    assert isinstance(last, llvm.ReturnOp)
    last.operands[0] = found.results[0]


def _new_slot(numbers: SSAValue | None, ops: list[Operation]) -> SSAValue:
    """A slot on the stack, made by what is added to `ops`."""
    words = llvm.ConstantOp(IntegerAttr(2, i64), i64)
    zero = llvm.ConstantOp(IntegerAttr(0, i64), i64)
    place = llvm.AllocaOp(words, i64, 8)
    ops += [words, zero, place, llvm.StoreOp(zero, place.res)]
    if numbers is not None:
        second = llvm.GEPOp(place.res, [1], i64)
        ops += [second, llvm.StoreOp(numbers, second.result)]
    return place.res


def _pass_place(
    op: func.CallOp, place: SSAValue, reporting: Mapping[str, func.FuncOp]
) -> func.CallOp:
    """Replaces a call by one that passes the slot on, if the function reports."""
    function = reporting.get(op.callee.string_value())
    if function is None:
        return op
    call = func.CallOp(
        function.sym_name.data, [*op.operands, place], [r.type for r in op.results]
    )
    call.attributes.update(op.attributes)
    call.location = op.location
    Rewriter.replace_op(op, call)
    return call


def _numbers(module: ModuleOp) -> dict[str, int]:
    """The globals of the numbers of messages, in order."""
    names = {op.sym_name.data for op in module.body.ops if isinstance(op, llvm.GlobalOp)}
    found = itertools.takewhile(names.__contains__, map(failed_number, itertools.count()))
    return {name: place for place, name in enumerate(found)}


def _redirect_numbers(
    function: func.FuncOp, place: SSAValue, numbers: Mapping[str, int]
) -> None:
    """Stores numbers where the slot says, instead of in globals."""
    if not numbers:
        return
    for block in function.body.blocks:
        for op in block.ops:
            if not isinstance(op, llvm.AddressOfOp):
                continue
            number = numbers.get(op.global_name.string_value())
            if number is not None:
                second = llvm.GEPOp(place, [1], i64)
                base = llvm.LoadOp(second.result, POINTER)
                found = llvm.GEPOp(base.dereferenced_value, [number], i64)
                Rewriter.replace_op(op, [second, base, found])


def _add_wrapper(
    function: func.FuncOp, name: str, slot: llvm.GlobalOp, numbers: list[str]
) -> None:
    """Adds a function of this name before one that reports, which calls it.

    What a call before has left in the globals stays there unless this one fails.
    """
    inputs = function.function_type.inputs.data[:-1]
    outputs = function.function_type.outputs.data
    body = Block(arg_types=inputs)
    ops: list[Operation] = []
    stored: list[tuple[str, SSAValue]] = []
    array: SSAValue | None = None
    if numbers:
        count = llvm.ConstantOp(IntegerAttr(len(numbers), i64), i64)
        memory = llvm.AllocaOp(count, i64, 8)
        ops += [count, memory]
        array = memory.res
    place = _new_slot(array, ops)
    call = func.CallOp(function.sym_name.data, [*body.args, place], outputs)
    message = llvm.LoadOp(place, i64)
    zero = arith.ConstantOp(IntegerAttr(0, i64))
    failed = arith.CmpiOp(message.dereferenced_value, zero, "ne")
    ops += [call, message, zero, failed]
    stored.append((slot.sym_name.data, message.dereferenced_value))
    for number, each in enumerate(numbers):
        assert array is not None
        element = llvm.GEPOp(array, [number], i64)
        value = llvm.LoadOp(element.result, i64)
        ops += [element, value]
        stored.append((each, value.dereferenced_value))
    for symbol, value in stored:
        address = llvm.AddressOfOp(symbol, POINTER)
        before = llvm.LoadOp(address.result, i64)
        kept = arith.SelectOp(failed, value, before.dereferenced_value)
        ops += [address, before, kept, llvm.StoreOp(kept.result, address.result)]
    ops.append(func.ReturnOp(*call.results))
    for op in ops:
        op.location = function.location
    body.add_ops(ops)
    arguments = None if function.arg_attrs is None else list(function.arg_attrs)[:-1]
    wrapper = func.FuncOp(
        name,
        (inputs, outputs),
        Region(body),
        arg_attrs=None if arguments is None else ArrayAttr(arguments),
        res_attrs=function.res_attrs,
    )
    wrapper.attributes.update(function.attributes)
    wrapper.location = function.location
    block_of(function).insert_op_before(wrapper, function)


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
    function: func.FuncOp,
    points: set[Operation],
    place: SSAValue,
    symbols: Symbols,
    reporting: Mapping[str, func.FuncOp],
    has_numbers: bool,
) -> None:
    """Let the function return after each of `points`, if that fails."""
    exit_block, returns = Block(), _EarlyReturn()
    held = HeldAllocations(function)
    for block in list(function.body.blocks):
        op = block.last_op
        while op is not None:
            before = op.prev_op
            if op in points and _RETURNS in op.attributes:
                _return_here(op, returns)
            elif op in points:
                _lower_point(op, exit_block, place, symbols, reporting, has_numbers)
            op = before
    function.body.add_block(exit_block)
    _fill_exit(function, exit_block, held, fails=True)
    if returns.is_used:
        function.body.add_block(returns.block)
        _fill_exit(function, returns.block, held, fails=False)


@dataclass
class _EarlyReturn:
    """The road out of a function that did not fail."""

    block: Block = field(default_factory=Block)
    is_used: bool = False


def _fill_exit(
    function: func.FuncOp, block: Block, held: HeldAllocations, *, fails: bool
) -> None:
    """Release what is held, and return."""
    status = -1 if fails and RETURNS_STATUS in function.attributes else 0
    results = [_number(function, t, status) for t in function.function_type.outputs]
    block.add_ops(held.release())
    block.add_ops(results)
    block.add_op(func.ReturnOp(*results))


def _return_here(op: Operation, returns: _EarlyReturn) -> None:
    """Branch out of the function; what follows is never reached."""
    returns.is_used = True
    split_behind(op)
    branch = cf.BranchOp(returns.block)
    branch.location = op.location
    Rewriter.replace_op(op, branch)


def _lower_point(
    op: Operation,
    exit_block: Block,
    place: SSAValue,
    symbols: Symbols,
    reporting: Mapping[str, func.FuncOp],
    has_numbers: bool,
) -> None:
    if isinstance(op, func.CallOp):
        op = _pass_place(op, place, reporting)
    elif has_numbers and not isinstance(op, cf.AssertOp):
        _pair_context(op, place)
    rest = split_behind(op)
    if isinstance(op, cf.AssertOp):
        _lower_assert(op, rest, exit_block, place, symbols)
    elif isinstance(op, func.CallOp):
        _check_call(op, rest, exit_block, place)
    else:
        _check_launch(op, rest, exit_block, place)


def _lower_assert(
    op: cf.AssertOp,
    rest: Block,
    exit_block: Block,
    place: SSAValue,
    symbols: Symbols,
) -> None:
    text = symbols.string_constant(symbol_table(op), op.msg.data)
    message = llvm.AddressOfOp(text, llvm.LLVMPointerType())
    number = llvm.PtrToIntOp(message.result, i64)
    failed = _failed(op, [message, number], number.results[0], rest, exit_block, place)
    branch = cf.ConditionalBranchOp(op.operands[0], rest, [], failed, [])
    branch.location = op.location
    Rewriter.replace_op(op, branch)


def _failed(
    op: Operation,
    ops: list[Operation],
    message: SSAValue,
    rest: Block,
    exit_block: Block,
    place: SSAValue,
) -> Block:
    """A block that says that the function failed, and leaves it."""
    failed = Block([*ops, llvm.StoreOp(message, place), cf.BranchOp(exit_block)])
    for each in failed.ops:
        each.location = op.location
    region = rest.parent
    assert region is not None
    region.add_block(failed)
    return failed


def _check_call(op: Operation, rest: Block, exit_block: Block, place: SSAValue) -> None:
    found = llvm.LoadOp(place, i64)
    _leave_if_set(op, [found], found.results[0], rest, exit_block)


def _pair_context(op: Operation, place: SSAValue) -> None:
    """Lets a launch pass the numbers of a slot with the context of its chunk."""
    function = op.parent_op()
    assert isinstance(function, func.FuncOp)
    entry = function.body.blocks[0]
    first = entry.first_op
    assert first is not None, "a function ends with a terminator"
    words = llvm.ConstantOp(IntegerAttr(2, i64), i64)
    pair = llvm.AllocaOp(words, POINTER, 8)
    entry.insert_ops_before([words, pair], first)
    source = llvm.GEPOp(place, [1], i64)
    numbers = llvm.LoadOp(source.result, POINTER)
    second = llvm.GEPOp(pair.res, [1], POINTER)
    assert isinstance(op, llvm.CallOp)
    ops = [
        llvm.StoreOp(op.args[1], pair.res),
        source,
        numbers,
        second,
        llvm.StoreOp(numbers.dereferenced_value, second.result),
    ]
    block_of(op).insert_ops_before(ops, op)
    op.operands[1] = pair.res


def _check_launch(op: Operation, rest: Block, exit_block: Block, place: SSAValue) -> None:
    message = op.results[0]
    failed = _failed(op, [], message, rest, exit_block, place)
    _leave_if_set(op, [], message, rest, failed)


def _leave_if_set(
    op: Operation, ops: list[Operation], message: SSAValue, rest: Block, leave: Block
) -> None:
    """Ends the block of `op`: on to `rest` if there is no message, else to `leave`."""
    block = op.parent_block()
    assert block is not None
    zero = arith.ConstantOp(IntegerAttr(0, i64))
    passed = arith.CmpiOp(message, zero, "eq")
    branch = cf.ConditionalBranchOp(passed, rest, [], leave, [])
    for each in (*ops, zero, passed, branch):
        each.location = op.location
        block.add_op(each)


def _number(function: func.FuncOp, type: Attribute, number: int) -> arith.ConstantOp:
    if isinstance(type, AnyFloat):
        return arith.ConstantOp(FloatAttr(float(number), type))
    if isinstance(type, IndexType):
        return arith.ConstantOp(IntegerAttr(number, type))
    if tir.is_integer_type(type):
        return arith.ConstantOp(IntegerAttr(number, type))
    raise fail(function, f"a function that can fail cannot have a result of type {type}")
