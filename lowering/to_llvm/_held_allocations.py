"""The memory that a function has allocated, so that a failure releases it."""

from __future__ import annotations

from xdsl.dialects import cf, func, llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    UnrealizedConversionCastOp,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.runtime_symbols import TAKEN
from xdsl_tvm.lowering.to_llvm._device_memory import ON_DEVICE

POINTER = llvm.LLVMPointerType()
_BYTES = MemRefType(i8, [DYNAMIC_INDEX])


class HeldAllocations:
    """What a function that can fail has allocated and not released yet.

    Memory that a callee has made is as what it has allocated itself. Each allocation has
    a place on the stack with its address, or null, which the road out of the function
    releases; LLVM keeps such places in registers.
    """

    def __init__(self, function: func.FuncOp) -> None:
        self._places: dict[SSAValue, SSAValue] = {}
        self._on_device: set[SSAValue] = set()
        """The places of memory of the GPU."""
        self._given: dict[SSAValue, list[SSAValue]] = {}
        ops = [op for block in function.body.blocks for op in block.ops]
        entry = function.body.blocks[0]
        for op in ops:
            if isinstance(op, memref.AllocOp) or TAKEN in op.attributes:
                memory = op.results[0]
                self._places[memory] = place = self._place(entry)
                if ON_DEVICE in op.attributes:
                    self._on_device.add(place)
                address = _address(memory)
                store = llvm.StoreOp(address.results[0], place)
                block_of(op).insert_ops_after([address, store], op)
            self._note_branch(op)
        for op in ops:
            if isinstance(op, memref.DeallocOp) and self._places:
                self._forget(op)

    def _place(self, entry: Block) -> SSAValue:
        one = llvm.ConstantOp(IntegerAttr(1, i64), i64)
        place = llvm.AllocaOp(one, POINTER, 8)
        null = create(llvm.ZeroOp, result_types=[POINTER])
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
            held = llvm.LoadOp(place, POINTER)
            same = tvm_llvm.ICmpOp("eq", held.dereferenced_value, freed)
            null = create(llvm.ZeroOp, result_types=[POINTER])
            kept = tvm_llvm.SelectOp(same, null.results[0], held.dereferenced_value)
            ops += [held, same, null, kept, llvm.StoreOp(kept.res, place)]
        block_of(op).insert_ops_before(ops, op)

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
            held = llvm.LoadOp(place, POINTER)
            memory = _cast(held.dereferenced_value, _BYTES)
            free = create(memref.DeallocOp, operands=memory.results)
            if place in self._on_device:
                free.attributes[ON_DEVICE] = UnitAttr()
            ops += [held, memory, free]
        return ops


def _address(memory: SSAValue) -> Operation:
    return _cast(memory, POINTER)


def _cast(value: SSAValue, type_: Attribute) -> Operation:
    return create(UnrealizedConversionCastOp, operands=[value], result_types=[type_])


def block_of(op: Operation) -> Block:
    block = op.parent_block()
    assert block is not None
    return block
