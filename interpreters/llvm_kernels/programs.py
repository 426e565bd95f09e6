"""Functions as programs: segments between synchronization points, in a fixed order.

A segment ends where threads meet, where another function is called (its segments are
copied in) or where a block ends. The order of blocks is a weak topological one: the
blocks of a loop are in a row, the first of them is where it is entered, and edges other
than those back to such entries lead forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import llvm
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects import nvvm, tvm_llvm
from xdsl_tvm.interpreters.errors import SimulationError, unsupported
from xdsl_tvm.interpreters.llvm_kernels.intrinsics import intrinsic_rule, value_of
from xdsl_tvm.interpreters.llvm_kernels.layouts import (
    Array,
    Mask,
    Value,
    alignment,
    merged,
    scalar,
    stride,
)
from xdsl_tvm.interpreters.llvm_kernels.memory import SPAN_BITS
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    ACTION_INTRINSICS,
    ACTIONS,
    SYNC_INTRINSICS,
    SYNCS,
    Action,
    Sync,
    TeamState,
)
from xdsl_tvm.interpreters.llvm_kernels.values import CONSTANTS, PURE, window_of

Values: TypeAlias = list[Value]
"""The values of the threads, by slot."""
Step: TypeAlias = Callable[[TeamState, Values, Mask], Value]

EXIT = 1 << 40
"""The number of the segment after the last one."""


@dataclass(eq=False)
class Segment:
    """Operations that threads run without meeting others, and what follows."""

    number: int
    steps: list[tuple[Step, int, bool]] = field(
        default_factory=list[tuple[Step, int, bool]]
    )
    """What computes a value, its slot or -1, and whether other segments use it."""
    branch: Callable[[TeamState, Values, Mask], None] | None = None
    """Sends the threads on; None where they meet at `sync`."""
    sync: Sync | None = None
    sync_slots: tuple[Sequence[int], int] = ((), -1)
    """The slots of the operands and of the result of the meeting."""


@dataclass(eq=False)
class Program:
    """A kernel, ready to be run."""

    function: llvm.FuncOp
    segments: list[Segment] = field(default_factory=list[Segment])
    initial: Values = field(default_factory=list[Value])
    """The values that are known before, by slot."""
    parameters: list[int] = field(default_factory=list[int])
    only_read: list[bool] = field(default_factory=list[bool])
    """Whether the memory of a parameter is seen to be read only."""
    local_bytes: int = 0
    shared_bytes: int = 0
    globals: list[llvm.GlobalOp] = field(default_factory=list[llvm.GlobalOp])
    """The globals outside of shared memory, which follow the arrays of the caller."""


# ---- the order of blocks ----


def _reached(entry: Block) -> dict[Block, list[Block]]:
    """The blocks that can be reached, with their successors."""
    found: dict[Block, list[Block]] = {}
    pending = [entry]
    while pending:
        block = pending.pop()
        if block not in found:
            last = block.last_op
            found[block] = [] if last is None else list(last.successors)
            pending += found[block]
    return found


def _components(
    nodes: Sequence[Block], edges: Mapping[Block, Sequence[Block]]
) -> list[list[Block]]:
    """The strongly connected components, in topological order (Tarjan)."""
    inside = set(nodes)
    index: dict[Block, int] = {}
    low: dict[Block, int] = {}
    stack: list[Block] = []
    on_stack: set[Block] = set()
    found: list[list[Block]] = []
    for root in nodes:
        if root in index:
            continue
        work: list[tuple[Block, int]] = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            following = [each for each in edges[node] if each in inside]
            if position:
                low[node] = min(low[node], low[following[position - 1]])
            while position < len(following):
                each = following[position]
                position += 1
                if each not in index:
                    work += [(node, position), (each, 0)]
                    break
                if each in on_stack:
                    low[node] = min(low[node], index[each])
            else:
                if low[node] == index[node]:
                    start = stack.index(node)
                    found.append(stack[start:])
                    on_stack.difference_update(found[-1])
                    del stack[start:]
    found.reverse()
    return found


def block_order(entry: Block) -> list[Block]:
    """The blocks that can be reached, in a weak topological order."""
    edges = _reached(entry)
    found: list[Block] = []
    # Components that are still to be ordered, the first one last.
    pending = list(reversed(_components(list(edges), edges)))
    while pending:
        nodes = pending.pop()
        if len(nodes) == 1:
            found.append(nodes[0])
            continue
        done = set(found)
        inside = set(nodes)
        entered = {
            target for source in done for target in edges[source] if target in inside
        }
        head = next((node for node in nodes if node in entered), nodes[0])
        found.append(head)
        rest = [node for node in nodes if node is not head]
        pending += reversed(_components(rest, edges))
    return found


# ---- building ----


class ProgramBuilder:
    """Makes a program of a kernel of a module."""

    def __init__(self, function: llvm.FuncOp, symbols: Mapping[str, Operation]) -> None:
        self.program = Program(function)
        self._symbols = symbols
        self._first_array = len(function.function_type.inputs)
        self._shared: dict[str, int] = {}
        self._arrays: dict[str, int] = {}
        self._calls: list[str] = []
        self._dynamic: list[tuple[int, int]] = []

    def build(self) -> Program:
        """Raises InterpretationError for an operation that is not run."""
        program = self.program
        block = program.function.body.blocks[0]
        slots: dict[SSAValue, int] = {}
        program.parameters = [self._slot(slots, each) for each in block.args]
        program.only_read = [is_only_read(each) for each in block.args]
        self._function(program.function, slots, None)
        start = -(-program.shared_bytes // 128) * 128
        for slot, window in self._dynamic:
            program.initial[slot] = np.array([start + window], np.int64)
        program.shared_bytes = start if self._dynamic else program.shared_bytes
        return program

    def _slot(self, slots: dict[SSAValue, int], value: SSAValue) -> int:
        slots[value] = len(self.program.initial)
        self.program.initial.append(None)
        return slots[value]

    def _new_segment(self) -> Segment:
        segment = Segment(len(self.program.segments))
        self.program.segments.append(segment)
        return segment

    def _function(
        self,
        function: llvm.FuncOp,
        slots: dict[SSAValue, int],
        finish: Callable[[TeamState, Value, Mask], None] | None,
    ) -> None:
        """Add the segments of a body. `finish` is what a return does."""
        order = block_order(function.body.blocks[0])
        entries: dict[Block, int] = {}
        for block in order:
            for argument in block.args:
                if argument not in slots:
                    self._slot(slots, argument)
            for op in block.ops:
                for result in op.results:
                    self._slot(slots, result)
        parts = _parts(order, self._cuts)
        for block in order:
            segment = self._new_segment()
            entries[block] = segment.number
            for op in block.ops:
                segment = self._op(op, slots, parts, segment, entries, finish)

    def _cuts(self, op: Operation) -> bool:
        return isinstance(op, llvm.CallOp) or self._sync_of(op) is not None

    def _op(
        self,
        op: Operation,
        slots: dict[SSAValue, int],
        parts: Mapping[Operation, int],
        segment: Segment,
        entries: Mapping[Block, int],
        finish: Callable[[TeamState, Value, Mask], None] | None,
    ) -> Segment:
        try:
            branch = _branch(op, slots, entries, finish)
            if branch is not None:
                segment.branch = branch
                return segment
            if isinstance(op, llvm.CallOp):
                return self._call(op, slots, segment)
            sync = self._sync_of(op)
            if sync is not None:
                segment.sync = sync
                result = slots[op.results[0]] if op.results else -1
                segment.sync_slots = ([slots[each] for each in op.operands], result)
                return self._new_segment()
            self._plain(op, slots, parts, segment)
        except SimulationError:
            raise
        except InterpretationError as error:
            if str(error).startswith(f"{op.name}: "):
                raise
            raise unsupported(
                op, str(error), "lower it to operations that it runs"
            ) from (error)
        return segment

    def _sync_of(self, op: Operation) -> Sync | None:
        rule = SYNCS.get(type(op))
        if rule is not None:
            return rule(op)
        name = intrinsic_name(op)
        found = None if name is None else _longest(SYNC_INTRINSICS, name)
        return None if found is None else found(op)

    def _plain(
        self,
        op: Operation,
        slots: dict[SSAValue, int],
        parts: Mapping[Operation, int],
        segment: Segment,
    ) -> None:
        if type(op) in CONSTANTS:
            self.program.initial[slots[op.results[0]]] = CONSTANTS[type(op)](op)
            return
        if isinstance(op, llvm.AddressOfOp):
            self._address(op, slots[op.result])
            return
        if isinstance(op, llvm.AllocaOp):
            step = self._alloca(op)
        else:
            step = _step_of(op, [slots[each] for each in op.operands])
        slot, escapes = -1, False
        if op.results:
            slot = slots[op.results[0]]
            part = parts[op]
            uses = op.results[0].uses
            escapes = any(parts.get(use.operation) != part for use in uses)
        segment.steps.append((step, slot, escapes))

    def _call(
        self, op: llvm.CallOp, slots: dict[SSAValue, int], segment: Segment
    ) -> Segment:
        """Copies the segments of the called function between two of the caller."""
        name = "" if op.callee is None else op.callee.string_value()
        target = self._symbols.get(name)
        if not isinstance(target, llvm.FuncOp) or not target.body.blocks:
            raise InterpretationError(f"it calls '@{name}', which has no body here")
        if name in self._calls:
            raise InterpretationError(f"it calls '@{name}', which calls itself")
        self._calls.append(name)
        inner: dict[SSAValue, int] = {}
        parameters = [self._slot(inner, each) for each in target.body.blocks[0].args]
        arguments = [slots[each] for each in op.args]
        first = len(self.program.segments)
        result = slots[op.results[0]] if op.results else -1
        after: list[int] = []

        def enter(team: TeamState, values: Values, mask: Mask) -> None:
            _move(values, parameters, [values[each] for each in arguments], mask)
            team.jump(first, mask)

        def finish(team: TeamState, value: Value, mask: Mask) -> None:
            if result >= 0:
                _move(team.values, [result], [value], mask)
            team.jump(after[0], mask)

        segment.branch = enter
        self._function(target, inner, finish)
        self._calls.pop()
        following = self._new_segment()
        after.append(following.number)
        return following

    def _address(self, op: llvm.AddressOfOp, slot: int) -> None:
        name = op.global_name.string_value()
        target = self._symbols.get(name)
        if not isinstance(target, llvm.GlobalOp):
            raise InterpretationError(f"'@{name}' is no global of the module")
        program = self.program
        if target.addr_space.value.data == 3:
            found = self._shared.get(name)
            if found is None:
                type = target.global_type
                size = stride(type)
                if not size:
                    self._dynamic.append((slot, 0))
                    return
                each = alignment(type)
                if target.alignment is not None:
                    each = max(each, target.alignment.value.data)
                found = -(-program.shared_bytes // each) * each
                self._shared[name] = found
                program.shared_bytes = found + size
            program.initial[slot] = np.array([found], np.int64)
            return
        found = self._arrays.get(name)
        if found is None:
            found = self._arrays[name] = self._first_array + len(program.globals)
            program.globals.append(target)
        program.initial[slot] = np.array([(found + 1) << SPAN_BITS], np.int64)

    def _alloca(self, op: llvm.AllocaOp) -> Step:
        size = op.size.owner
        value = getattr(size, "value", None)
        count = getattr(getattr(value, "value", None), "data", None)
        if not isinstance(size, llvm.ConstantOp) or not isinstance(count, int):
            raise InterpretationError("its number of elements is not constant")
        program = self.program
        each = alignment(op.elem_type)
        if op.alignment is not None:
            each = max(each, op.alignment.value.data)
        start = -(-program.local_bytes // each) * each
        length = stride(op.elem_type) * count
        program.local_bytes = start + length
        space = op.res.type
        assert isinstance(space, llvm.LLVMPointerType)
        window = 0 if getattr(space.addr_space, "data", 0) == 5 else window_of(5)
        address = np.array([window + start], np.int64)

        def allocate(team: TeamState, values: Values, mask: Mask) -> Value:
            team.forget_local(start, length, mask)
            return address

        return allocate


def intrinsic_name(op: Operation) -> str | None:
    """The name of the intrinsic that an operation calls."""
    if isinstance(op, tvm_llvm.CallIntrinsicOp | llvm.CallIntrinsicOp):
        return op.intrin.data
    return None


def _longest(table: Mapping[str, Any], name: str) -> Any:
    """The entry of the longest name that `name` begins with, up to a dot."""
    base = name
    while base not in table:
        base, dot, _ = base.rpartition(".")
        if not dot:
            return None
    return table[base]


def _parts(
    order: Iterable[Block], cuts: Callable[[Operation], bool]
) -> dict[Operation, int]:
    """The number of the segment of each operation; what cuts has one of its own."""
    found: dict[Operation, int] = {}
    number = 0
    for block in order:
        number += 1
        for op in block.ops:
            if cuts(op):
                found[op] = number + 1
                number += 2
            else:
                found[op] = number
    return found


def _step_of(op: Operation, operands: Sequence[int]) -> Step:
    action: Action | None = None
    function: Callable[..., Value] | None = None
    name = intrinsic_name(op)
    if type(op) in PURE:
        function = PURE[type(op)](op)
    elif type(op) in ACTIONS:
        action = ACTIONS[type(op)](op)
    elif name is not None:
        rule = _longest(ACTION_INTRINSICS, name)
        if rule is not None:
            action = rule(op)
        else:
            pure = intrinsic_rule(name)
            if pure is None:
                raise InterpretationError(f"the intrinsic '{name}' is not known here")
            function = value_of(pure, op)
    else:
        raise InterpretationError("no rule says what it does")
    if action is not None:
        run = action
        return lambda team, values, mask: run(team, mask, *[values[x] for x in operands])
    assert function is not None
    compute = function
    match operands:
        case [a]:
            return lambda team, values, mask: compute(values[a])
        case [a, b]:
            return lambda team, values, mask: compute(values[a], values[b])
        case _:
            return lambda team, values, mask: compute(*[values[x] for x in operands])


_DERIVED = (llvm.GEPOp, llvm.BitcastOp, tvm_llvm.AddrSpaceCastOp, tvm_llvm.FreezeOp)
"""Addresses of the memory that their first operand is an address of."""
_READS = (llvm.LoadOp, tvm_llvm.LoadOp)


def is_only_read(pointer: SSAValue) -> bool:
    """Whether all that is seen to happen with an address, and those made of it, is that
    memory is read."""
    pending = [pointer]
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, _DERIVED) and use.index == 0:
                pending.append(op.results[0])
            elif not isinstance(op, _READS) and not (
                isinstance(op, nvvm.CpAsyncOp) and use.index == 1
            ):
                return False
    return True


# ---- control ----


def _move(
    values: Values, targets: Sequence[int], moved: Sequence[Value], mask: Mask
) -> None:
    for target, value in zip(targets, moved, strict=True):
        values[target] = value if mask is None else merged(values[target], value, mask)


def _edge(
    block: Block,
    arguments: Sequence[SSAValue],
    slots: Mapping[SSAValue, int],
    entries: Mapping[Block, int],
) -> Callable[[TeamState, Values, Mask], None]:
    targets = [slots[each] for each in block.args]
    sources = [slots[each] for each in arguments]

    def follow(team: TeamState, values: Values, mask: Mask) -> None:
        if targets:
            _move(values, targets, [values[each] for each in sources], mask)
        team.jump(entries[block], mask)

    return follow


def _branch(
    op: Operation,
    slots: Mapping[SSAValue, int],
    entries: Mapping[Block, int],
    finish: Callable[[TeamState, Value, Mask], None] | None,
) -> Callable[[TeamState, Values, Mask], None] | None:
    """What a terminator does; None for any other operation."""
    match op:
        case llvm.BrOp():
            return _edge(op.successor, op.arguments, slots, entries)
        case llvm.CondBrOp():
            return _choice(
                slots[op.cond],
                _edge(op.then_block, op.then_arguments, slots, entries),
                _edge(op.else_block, op.else_arguments, slots, entries),
            )
        case tvm_llvm.SwitchOp():
            return _switch(op, slots, entries)
        case llvm.ReturnOp():
            slot = -1 if op.arg is None else slots[op.arg]

            def leave(team: TeamState, values: Values, mask: Mask) -> None:
                if finish is None:
                    team.jump(EXIT, mask)
                else:
                    finish(team, None if slot < 0 else values[slot], mask)

            return leave
        case llvm.UnreachableOp():

            def fail(team: TeamState, values: Values, mask: Mask) -> None:
                raise SimulationError(f"{op.name}: it is reached", op)

            return fail
        case _:
            return None


Follow: TypeAlias = Callable[[TeamState, Values, Mask], None]


def _choice(condition: int, yes: Follow, no: Follow) -> Follow:
    def choose(team: TeamState, values: Values, mask: Mask) -> None:
        holds: Array = values[condition]
        if len(holds) == 1:
            (yes if holds[0] else no)(team, values, mask)
            return
        first = holds if mask is None else holds & mask
        second = ~holds if mask is None else ~holds & mask
        if not second.any():
            yes(team, values, mask)
        elif not first.any():
            no(team, values, mask)
        else:
            yes(team, values, first)
            no(team, values, second)

    return choose


def _switch(
    op: tvm_llvm.SwitchOp,
    slots: Mapping[SSAValue, int],
    entries: Mapping[Block, int],
) -> Follow:
    slot = slots[op.value]
    dtype = scalar(op.value.type)
    cases = [
        (dtype.wrap(number), _edge(block, arguments, slots, entries))
        for number, block, arguments in op.cases
    ]
    default = _edge(op.default_destination, op.default_operands, slots, entries)

    def choose(team: TeamState, values: Values, mask: Mask) -> None:
        found = np.broadcast_to(values[slot], (team.count,))
        rest = np.ones(team.count, np.bool_) if mask is None else mask
        for number, follow in cases:
            here = rest & (found == number)
            if here.any():
                follow(team, values, None if here.all() else here)
                rest = rest & ~here
        if rest.any():
            default(team, values, None if rest.all() else rest)

    return choose
