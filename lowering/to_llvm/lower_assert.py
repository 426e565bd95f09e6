"""Failed assertions end the call, not the process."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH
from xdsl_tvm.lowering.to_llvm._blocks import split_behind
from xdsl_tvm.lowering.to_llvm._conversion import fail
from xdsl_tvm.lowering.to_llvm._device_memory import ON_DEVICE
from xdsl_tvm.lowering.to_llvm._symbols import Symbols, symbol_table
from xdsl_tvm.passes.infra import CompilerPass

FAILED_ASSERT = "tvm_failed_assert"
"""The global that holds the address of the message of a failed assertion, else 0."""
FAILED_NUMBER = "tvm_failed_number"
"""How the names of globals start that hold the numbers of such a message. It has the
name of a global, in braces, where the number belongs."""
OUT_OF_MEMORY = "out of memory: "
"""How messages of assertions start which say that memory cannot be allocated."""
DRIVER_FAILED = "the GPU driver: "
"""How messages start which say that the driver reports an error, whose number is their
end."""

ASSERT_FAIL = "Assert fail: "
"""How messages of functions of the packed convention start, as those of TVM do."""
RETURNS_STATUS = "tvm.returns_status"
"""The attribute of functions that return -1 where they fail, and else 0."""
_RETURNS = "tvm.returns"


def return_early(never: SSAValue) -> cf.AssertOp:
    """What leaves a function with the results 0, given the constant false; it is no
    failure."""
    op = cf.AssertOp(never, "returns")
    op.attributes[_RETURNS] = UnitAttr()
    return op


def failed_number(place: int) -> str:
    """The global of the number with this index in a message."""
    return f"{FAILED_NUMBER}{place}"


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

        In a message, `{tvm_failed_number0}` is for the number in the global of that name,
        an `i64` that is stored before the assertion fails. Of several iterations of a
        parallel loop that fail, the numbers may be those of any.
        A function that calls such a function looks at the global after the call, and
        returns as well if it is not 0. Who calls from outside sets the global to 0
        before, and reads it after. Time is linear in the size of the module.
        Code that the thread pool calls has a place of its own on each thread instead of
        the global: functions get its address as one more argument, in a copy where code
        outside of parallel loops calls them too. The launch of a parallel loop gives the
        first failure in the order of the iterations, whichever came first. What a
        function has allocated and not released (memref.alloc, memref.dealloc) is
        released when it fails.
    Leaves alone: assertions in GPU modules and inside of other ops, and functions that
        cannot fail
    Errors: a function that can fail with a result that is neither an integer nor a float;
        a symbol `tvm_failed_assert` that is something else
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
        slot = _slot(op)
        symbols = Symbols()
        moved = {name: code.for_threads(name) for name in code.on_threads(failing)}
        for chunk in code.chunks.values():
            _report(chunk, moved)
        for each in moved.values():
            entry = each.body.blocks[0]
            place = _FailureSlot(None, entry.args[-1])
            _lower(each, code.points(each, failing), place, symbols, moved)
        for name in failing:
            each = code.functions[name]
            if moved.get(name) is not each:
                place = _FailureSlot(slot, None)
                _lower(each, code.points(each, failing), place, symbols, {})


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
        self.called = {name for f in self.callees.values() for name in f.values()}

    def _callees(self, function: Operation) -> dict[Operation, str]:
        """The calls in `function`, with the function or the chunk that each runs."""
        return {
            op: callee
            for block in function.regions[0].blocks
            for op in block.ops
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

    def on_threads(self, failing: Container[str]) -> dict[str, None]:
        """Those of the failing functions that run in parallel loops."""
        pending = [name for f in self.chunk_callees.values() for name in f.values()]
        found: dict[str, None] = {}
        while pending:
            name = pending.pop()
            if name in failing and name not in found:
                found[name] = None
                pending.extend(self.callees[name].values())
        return found

    def for_threads(self, name: str) -> func.FuncOp:
        """The function, or a copy, with the address of a place as last argument."""
        function = self.functions[name]
        if function.sym_visibility is None or name in self.called:
            function = self._copy(function)
        inputs = [*function.function_type.inputs.data, llvm.LLVMPointerType()]
        outputs = function.function_type.outputs.data
        function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        if function.arg_attrs is not None:
            known = [*function.arg_attrs, DictionaryAttr({})]
            function.properties["arg_attrs"] = ArrayAttr(known)
        entry = function.body.blocks[0]
        entry.insert_arg(llvm.LLVMPointerType(), len(entry.args))
        return function

    def _copy(self, function: func.FuncOp) -> func.FuncOp:
        taken = {*self.functions, *self.chunks}
        name = f"{function.sym_name.data}_on_thread"
        while name in taken:
            name += "_"
        copy = function.clone()
        copy.properties["sym_name"] = StringAttr(name)
        copy.properties["sym_visibility"] = StringAttr("private")
        block = function.parent_block()
        assert block is not None
        block.insert_op_after(copy, function)
        self.functions[name] = copy
        return copy

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


def _asserts(function: func.FuncOp) -> Iterator[cf.AssertOp]:
    for block in function.body.blocks:
        for op in block.ops:
            if isinstance(op, cf.AssertOp):
                yield op


def _callee(op: Operation) -> str | None:
    """The function that a call runs, or the chunk that a launch has threads run."""
    if isinstance(op, func.CallOp):
        return op.callee.string_value()
    if not isinstance(op, llvm.CallOp) or op.callee != SymbolRefAttr(LAUNCH):
        return None
    chunk = op.args[0].owner
    return (
        chunk.global_name.string_value() if isinstance(chunk, llvm.AddressOfOp) else None
    )


def _report(chunk: llvm.FuncOp, moved: Mapping[str, func.FuncOp]) -> None:
    """Lets a chunk give the place of its thread to what it calls, and return what is
    there."""
    for block in chunk.body.blocks:
        for op in list(block.ops):
            if isinstance(op, func.CallOp) and _callee(op) in moved:
                _report_call(chunk, op, moved)


def _report_call(
    chunk: llvm.FuncOp, op: func.CallOp, moved: Mapping[str, func.FuncOp]
) -> None:
    one = llvm.ConstantOp(IntegerAttr(1, i64), i64)
    zero = llvm.ConstantOp(IntegerAttr(0, i64), i64)
    place = llvm.AllocaOp(one, i64, 8)
    start = llvm.StoreOp(zero, place.res)
    block = op.parent_block()
    assert block is not None
    block.insert_ops_before([one, zero, place, start], op)
    call = _pass_place(op, place.res, moved)
    found = llvm.LoadOp(place.res, i64)
    block.insert_op_after(found, call)
    last = block.last_op
    assert isinstance(last, llvm.ReturnOp)
    last.operands[0] = found.results[0]


def _pass_place(
    op: func.CallOp, place: SSAValue, moved: Mapping[str, func.FuncOp]
) -> func.CallOp:
    """Replaces a call by one that passes the place on, if the function has a place."""
    function = moved.get(op.callee.string_value())
    if function is None:
        return op
    call = func.CallOp(
        function.sym_name.data, [*op.operands, place], [r.type for r in op.results]
    )
    call.attributes.update(op.attributes)
    call.location = op.location
    Rewriter.replace_op(op, call)
    return call


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


@dataclass(frozen=True)
class _FailureSlot:
    """Where a function says that it failed: a global, or where an argument points."""

    slot: llvm.GlobalOp | None
    argument: SSAValue | None

    def address(self, ops: list[Operation]) -> SSAValue:
        """The address, for which operations may be added to `ops`."""
        if self.argument is not None:
            return self.argument
        assert self.slot is not None
        op = llvm.AddressOfOp(self.slot.sym_name, llvm.LLVMPointerType())
        ops.append(op)
        return op.result


class _Allocations:
    """What a function that can fail has allocated and not released yet.

    Each allocation has a place on the stack with its address, or null, which the road
    out of the function releases; LLVM keeps such places in registers.
    """

    def __init__(self, function: func.FuncOp) -> None:
        self._places: dict[SSAValue, SSAValue] = {}
        self._on_device: set[SSAValue] = set()
        """The places of memory of the GPU."""
        self._given: dict[SSAValue, list[SSAValue]] = {}
        ops = [op for block in function.body.blocks for op in block.ops]
        entry = function.body.blocks[0]
        for op in ops:
            if isinstance(op, memref.AllocOp):
                self._places[op.memref] = place = self._place(entry)
                if ON_DEVICE in op.attributes:
                    self._on_device.add(place)
                address = _address(op.memref)
                store = llvm.StoreOp(address.results[0], self._places[op.memref])
                _block(op).insert_ops_after([address, store], op)
            self._note_branch(op)
        for op in ops:
            if isinstance(op, memref.DeallocOp) and self._places:
                self._forget(op)

    def _place(self, entry: Block) -> SSAValue:
        one = llvm.ConstantOp(IntegerAttr(1, i64), i64)
        place = llvm.AllocaOp(one, _POINTER, 8)
        null = llvm.ZeroOp.create(result_types=[_POINTER])
        start = llvm.StoreOp(null.results[0], place.res)
        first = entry.first_op
        assert first is not None, "a function ends with a terminator"
        entry.insert_ops_before([one, place, null, start], first)
        return place.res

    def _note_branch(self, op: Operation) -> None:
        """Keep what a branch gives to the arguments of the blocks after it."""
        if isinstance(op, cf.BranchOp):
            given = [(op.successor, op.arguments)]
        elif isinstance(op, cf.ConditionalBranchOp):
            given = [
                (op.then_block, op.then_arguments),
                (op.else_block, op.else_arguments),
            ]
        else:
            return
        for block, values in given:
            for argument, value in zip(block.args, values, strict=True):
                self._given.setdefault(argument, []).append(value)

    def _forget(self, op: memref.DeallocOp) -> None:
        """Take note that memory is released, whichever allocation it is of."""
        address = _address(op.memref)
        freed = address.results[0]
        ops: list[Operation] = [address]
        for place in self._candidates(op.memref):
            held = llvm.LoadOp(place, _POINTER)
            same = tvm_llvm.ICmpOp("eq", held.dereferenced_value, freed)
            null = llvm.ZeroOp.create(result_types=[_POINTER])
            kept = tvm_llvm.SelectOp(same, null.results[0], held.dereferenced_value)
            ops += [held, same, null, kept, llvm.StoreOp(kept.res, place)]
        _block(op).insert_ops_before(ops, op)

    def _candidates(self, memory: SSAValue) -> list[SSAValue]:
        """The places of the allocations that a value may be; all if it is not known."""
        found: dict[SSAValue, None] = {}
        seen: set[SSAValue] = set()
        work = [memory]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in self._places:
                found[self._places[value]] = None
            elif value in self._given:
                work += self._given[value]
            elif isinstance(value.owner, memref.CastOp | memref.ReinterpretCastOp):
                work.append(value.owner.operands[0])
            else:
                return list(self._places.values())
        return list(found)

    def release(self) -> list[Operation]:
        """What the road out of the function does; to release null does nothing."""
        ops: list[Operation] = []
        for place in self._places.values():
            held = llvm.LoadOp(place, _POINTER)
            memory = _cast(held.dereferenced_value, _BYTES)
            free = memref.DeallocOp.create(operands=memory.results)
            if place in self._on_device:
                free.attributes[ON_DEVICE] = UnitAttr()
            ops += [held, memory, free]
        return ops


_POINTER = llvm.LLVMPointerType()
_BYTES = MemRefType(i8, [DYNAMIC_INDEX])


def _address(memory: SSAValue) -> Operation:
    return _cast(memory, _POINTER)


def _cast(value: SSAValue, type_: Attribute) -> Operation:
    return UnrealizedConversionCastOp.create(operands=[value], result_types=[type_])


def _block(op: Operation) -> Block:
    block = op.parent_block()
    assert block is not None
    return block


def _lower(
    function: func.FuncOp,
    points: set[Operation],
    place: _FailureSlot,
    symbols: Symbols,
    moved: Mapping[str, func.FuncOp],
) -> None:
    """Let the function return after each of `points`, if that fails."""
    exit_block, returns = Block(), _EarlyReturn()
    held = _Allocations(function)
    for block in list(function.body.blocks):
        op = block.last_op
        while op is not None:
            before = op.prev_op
            if op in points and _RETURNS in op.attributes:
                _return_here(op, returns)
            elif op in points:
                _lower_point(op, exit_block, place, symbols, moved)
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
    function: func.FuncOp, block: Block, held: _Allocations, *, fails: bool
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
    place: _FailureSlot,
    symbols: Symbols,
    moved: Mapping[str, func.FuncOp],
) -> None:
    if isinstance(op, func.CallOp) and place.argument is not None:
        op = _pass_place(op, place.argument, moved)
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
    place: _FailureSlot,
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
    place: _FailureSlot,
) -> Block:
    """A block that says that the function failed, and leaves it."""
    address = place.address(ops)
    failed = Block([*ops, llvm.StoreOp(message, address), cf.BranchOp(exit_block)])
    for each in failed.ops:
        each.location = op.location
    region = rest.parent
    assert region is not None
    region.add_block(failed)
    return failed


def _check_call(
    op: Operation, rest: Block, exit_block: Block, place: _FailureSlot
) -> None:
    ops: list[Operation] = []
    found = llvm.LoadOp(place.address(ops), i64)
    ops.append(found)
    _leave_if_set(op, ops, found.results[0], rest, exit_block)


def _check_launch(
    op: Operation, rest: Block, exit_block: Block, place: _FailureSlot
) -> None:
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
