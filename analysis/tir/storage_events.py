"""When allocated memory is used: statements in order, and the memory that each touches.

`StorageEvents` lists the statements of a function that touch allocated memory, and the
control flow around them, in the order of the text. From it follow the statements that an
allocation is live between (docs/spec/tir-passes-c-memory-and-gpu.md, StorageRewrite A and
B).

A touch counts for the statement of the allocation's own nesting level that holds it: what
is allocated before a loop and used in it is live in the whole loop. Control flow opens a
level; `tir.scope`, most attributes, and launches inside of a launch do not. A load
belongs to the last statement that uses its value, as in a tree, where it is a part of it.
Pointers are followed through views, bindings, choices and calls that return pointers.

An asynchronous copy touches its memory until a wait that is certain to run after it. What
cannot be followed is *pinned*: it is used at unknown times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir import CallEffect

_is_allocation = of_classes(tir.AllocateOp)
_VIEWS = (tir.DeclBufferOp, tir.DataOp, tir.AddressOfOp, tir.AccessPtrOp)
_SCOPED_KEYS = ("extern_scope", "virtual_thread")
_COMMIT = "async_commit_queue_scope"
_WAIT = "async_wait_queue_scope"
_COUNT = "async_wait_inflight_count"
_BUILTIN_QUEUE = 0
"""The queue of the builtins of PTX, as in TVM's back end."""
_COPIES = ("ptx_cp_async", "dma_copy")
_UNTIL_A_WAIT = ("ptx_cp_async_bulk", "ptx_cp_async_bulk_tensor", "ptx_wgmma_mma_async")
"""What accesses memory until a wait that does not name it."""


class Phase(Enum):
    """What an event says of its op."""

    LEAF = auto()
    """The op is one statement."""
    BEGIN = auto()
    """The statements of a level follow, up to the end."""
    END = auto()


@dataclass(frozen=True)
class Event:
    """A statement, or an end of one that holds others."""

    op: Operation
    phase: Phase


@dataclass(eq=False)
class Lifetime:
    """Where allocated memory is used."""

    memory: tir.AllocateOp
    first: Operation
    """The statement of the allocation's level that touches it first."""
    last: Operation
    touching: list[Operation] = field(default_factory=list[Operation])
    """The ops that access the memory or name it, in the order of the text."""


class StorageEvents:
    """The statements of a function that touch some of its allocations.

    Time is linear in the number of ops, times the depth of control flow.
    """

    def __init__(
        self, root: Operation, wanted: Callable[[tir.AllocateOp], bool] | None = None
    ) -> None:
        self.events: list[Event] = []
        self.lifetimes: dict[tir.AllocateOp, Lifetime] = {}
        """The allocations that are touched, by their first touch."""
        self.untouched: list[tir.AllocateOp] = []
        self.pinned: set[tir.AllocateOp] = set()
        """Memory whose pointer goes where it cannot be followed."""
        self.begun: dict[Operation, list[tir.AllocateOp]] = {}
        """What a statement touches first, in the order of the touches."""
        self.ended: dict[Operation, list[tir.AllocateOp]] = {}
        """What a statement touches last, in the order of the touches."""
        self.waits: dict[Operation, list[tir.AllocateOp]] = {}
        """What waits end the use of by asynchronous copies."""
        self._position: dict[Operation, int] = {}
        self._level: dict[Block, Operation] = {}
        self._opened: set[Operation] = set()
        self._transparent: set[Operation] = set()
        self._last_use: dict[Operation, Operation] = {}
        self._touches: dict[tir.AllocateOp, dict[Operation, None]] = {}
        self._walk(root)
        found = list(filter(_is_allocation, self._position))
        self.allocations = [
            op
            for op in found
            if op.parent in self._level and (wanted is None or wanted(op))
        ]
        """All allocations that are looked at, in the order of the text."""
        for memory in self.allocations:
            self._follow(memory)
        self._find_last_uses()
        self._keep_copies_in_flight(root)
        self._find_lifetimes()

    def level_of(self, op: Operation) -> Operation:
        """The op whose level an op is a statement of."""
        assert op.parent is not None, "a statement is in a block"
        return self._level[op.parent]

    def statement(self, op: Operation, level: Operation) -> Operation:
        """The statement of a level that an op inside of it belongs to."""
        current = op
        while self._level.get(_block(current)) is not level:
            parent = current.parent_op()
            assert parent is not None, "the op is inside of the level"
            current = parent
        return self._last_use.get(current, current)

    def position(self, op: Operation) -> int:
        """The number of an op in the order of the text."""
        return self._position[op]

    def most_live(self, size_of: Callable[[tir.AllocateOp], int]) -> int:
        """The largest sum of sizes of allocations that are live at once.

        An allocation is live from its first to its last statement. No placement of the
        allocations needs less, except in place.
        """
        changes: dict[int, int] = {}
        for memory, life in self.lifetimes.items():
            first, last = self._position[life.first], self._end(life.last)
            changes[first] = changes.get(first, 0) + size_of(memory)
            changes[last] = changes.get(last, 0) - size_of(memory)
        live = most = 0
        for at in sorted(changes):
            live += changes[at]
            most = max(most, live)
        return most

    def _end(self, op: Operation) -> int:
        """The number after those of an op and of all that it holds."""
        current: Operation | None = op
        while current is not None and current.next_op is None:
            current = current.parent_op()
        following = None if current is None else current.next_op
        known = None if following is None else self._position.get(following)
        return len(self._position) if known is None else known

    # ---- the walk ----

    def _walk(self, root: Operation) -> None:
        """Number all ops, and note levels and events."""
        stack: list[tuple[Operation, Operation | None, Phase]] = [
            (root, root, Phase.LEAF)
        ]
        while stack:
            op, level, phase = stack.pop()
            if phase is Phase.END:
                self.events.append(Event(op, Phase.END))
                continue
            self._position[op] = len(self._position)
            inner = self._inner_level(op, level)
            if op is root:
                inner = root
            elif inner is op:
                self.events.append(Event(op, Phase.BEGIN))
                stack.append((op, level, Phase.END))
            elif level is not None and inner is None:
                self.events.append(Event(op, Phase.LEAF))
            if inner is level:
                self._transparent.add(op)
            for region in reversed(op.regions):
                for block in reversed(region.blocks):
                    if inner is not None:
                        self._level[block] = inner
                    stack += [(each, inner, Phase.LEAF) for each in reversed(block.ops)]

    def _inner_level(self, op: Operation, level: Operation | None) -> Operation | None:
        """The op whose level the regions of an op belong to; None if to none."""
        if level is None or not op.regions:
            return None
        match op:
            case tir.ForOp():
                return op if self._opens(op, op.thread_tag is not None) else level
            case tir.LaunchThreadOp():
                return op if self._opens(op, op.virtual is None) else level
            case tir.IfOp() | tir.WhileOp():
                return op
            case tir.AttrOp():
                return op if op.key.data in _SCOPED_KEYS else level
            case tir.ScopeOp():
                return level
            case _:
                return None

    def _opens(self, op: Operation, is_thread: bool) -> bool:
        """Whether a loop or a launch opens a level: of nested threads the first does."""
        if not is_thread:
            return True
        parent = op.parent_op()
        while parent is not None:
            if parent in self._opened:
                return False
            parent = parent.parent_op()
        self._opened.add(op)
        return True

    # ---- touches ----

    def _follow(self, memory: tir.AllocateOp) -> None:
        """Find what touches a piece of memory."""
        touches = self._touches[memory] = {}
        pending: list[SSAValue] = [memory.result]
        seen: set[SSAValue] = {memory.result}
        while pending:
            value = pending.pop()
            for use in value.uses:
                op = use.operation
                if op not in self._position:
                    # A part of the program that a pass has taken out and not erased.
                    continue
                match op:
                    case tir.DeclBufferOp() | tir.DataOp() | tir.AddressOfOp():
                        pass
                    case tir.AccessPtrOp() | tir.SelectOp():
                        pass
                    case tir.LetOp():
                        if not tir.is_handle(op.result.type):
                            self.pinned.add(memory)
                    case tir.AttrOp():
                        continue
                    case tir.LoadOp():
                        touches[op] = None
                        continue
                    case tir.StoreOp():
                        touches[op] = None
                        if op.value is value:
                            self.pinned.add(memory)
                        continue
                    case _:
                        touches[op] = None
                        if _hides(op):
                            self.pinned.add(memory)
                for result in op.results:
                    if result not in seen and _names_memory(result.type):
                        seen.add(result)
                        pending.append(result)

    def _find_last_uses(self) -> None:
        """Find the last statement that each expression that touches memory is in."""
        closure: dict[Operation, None] = {}
        pending = [
            self._at_level(op, memory)
            for memory, touches in self._touches.items()
            for op in touches
        ]
        while pending:
            op = pending.pop()
            if op in closure or not _is_expression(op):
                continue
            closure[op] = None
            pending += self._users(op)
        position = self._position
        for op in sorted(closure, key=position.__getitem__, reverse=True):
            users = [self._last_use.get(user, user) for user in self._users(op)]
            last = max((op, *users), key=position.__getitem__)
            self._last_use[op] = last

    def _users(self, op: Operation) -> Iterator[Operation]:
        """The ops of the level of `op` that use its values, or hold what does."""
        level = self._level.get(_block(op))
        for result in op.results:
            for use in result.uses:
                current: Operation | None = use.operation
                while current is not None and (
                    current not in self._position
                    or self._level.get(_block(current)) is not level
                ):
                    current = current.parent_op()
                if current is not None:
                    yield current

    def _at_level(self, op: Operation, memory: tir.AllocateOp) -> Operation:
        """The op of the level of an allocation that holds `op`."""
        level = self._level[_block(memory)]
        current = op
        while self._level.get(_block(current)) is not level:
            parent = current.parent_op()
            assert parent is not None, "the allocation dominates its uses"
            current = parent
        return current

    # ---- copies in flight ----

    def _keep_copies_in_flight(self, root: Operation) -> None:
        """Let waits touch what copies may still read and write before them."""
        copied: dict[Operation, dict[tir.AllocateOp, None]] = {}
        for memory, touches in self._touches.items():
            for op in touches:
                if _is_builtin(op, *_UNTIL_A_WAIT) or _is_uncommitted(op, root):
                    self.pinned.add(memory)
                elif _is_builtin(op, *_COPIES) or _is_inside(op, _COMMIT, root):
                    copied.setdefault(op, {})[memory] = None
        if not copied:
            return
        flight = _Flight()
        levels: list[_Flight] = [flight]
        waits: list[tuple[tir.AllocateOp, Operation]] = []
        for op, phase in _in_order(root):
            opens = bool(op.regions) and op not in self._transparent
            if phase is Phase.END:
                if isinstance(op, tir.AttrOp) and op.key.data == _COMMIT:
                    levels[-1].commit(_value_of(op))
                if opens:
                    inner = levels.pop()
                    levels[-1].take(inner)
                continue
            if opens:
                levels.append(_Flight())
            found = copied.get(op, {})
            if isinstance(op, tir.CallOp) and op.callee.data == "dma_copy":
                queue = _constant(op.args[0])
                levels[-1].committed.setdefault(queue, {}).update(found)
            else:
                levels[-1].issued.update(found)
            if _is_builtin(op, "ptx_commit_group"):
                levels[-1].commit(_BUILTIN_QUEUE)
            queue = _full_wait(op)
            if queue is not None:
                waits += [(memory, op) for memory in levels[-1].wait(queue)]
        for memory in levels[0].all():
            self.pinned.add(memory)
        for memory, wait in waits:
            if self._is_inside(wait, memory):
                self._touches[memory][wait] = None
                self.waits.setdefault(wait, []).append(memory)
            else:
                self.pinned.add(memory)

    def _is_inside(self, op: Operation, memory: tir.AllocateOp) -> bool:
        """Whether an op is inside of the level of an allocation."""
        level = self._level[_block(memory)]
        current: Operation | None = op
        while current is not None:
            if self._level.get(_block(current)) is level:
                return True
            current = current.parent_op() if current.parent is not None else None
        return False

    # ---- lifetimes ----

    def _find_lifetimes(self) -> None:
        touches = [
            (self._position[op], op, memory)
            for memory, ops in self._touches.items()
            for op in ops
        ]
        touches.sort(key=lambda touch: touch[0])
        position = self._position
        order: dict[Operation, dict[tir.AllocateOp, None]] = {}
        for _, op, memory in touches:
            at = self.statement(op, self._level[_block(memory)])
            order.setdefault(at, {})[memory] = None
            life = self.lifetimes.get(memory)
            if life is None:
                life = self.lifetimes[memory] = Lifetime(memory, at, at)
            life.touching.append(op)
            life.first = min(life.first, at, key=position.__getitem__)
            life.last = max(life.last, at, key=position.__getitem__)
        for at, memories in order.items():
            for memory in memories:
                life = self.lifetimes[memory]
                if life.first is at:
                    self.begun.setdefault(at, []).append(memory)
                if life.last is at:
                    self.ended.setdefault(at, []).append(memory)
        self.untouched = [op for op in self.allocations if op not in self.lifetimes]


@dataclass
class _Flight:
    """Memory that copies of a level may still access."""

    issued: dict[tir.AllocateOp, None] = field(default_factory=dict[tir.AllocateOp, None])
    committed: dict[int | None, dict[tir.AllocateOp, None]] = field(
        default_factory=dict[int | None, dict[tir.AllocateOp, None]]
    )

    def commit(self, queue: int | None) -> None:
        """Let a queue have what has been issued."""
        self.committed.setdefault(queue, {}).update(self.issued)
        self.issued = {}

    def wait(self, queue: int) -> Iterable[tir.AllocateOp]:
        """What a wait for all copies of a queue ends."""
        return self.committed.pop(queue, {})

    def take(self, inner: _Flight) -> None:
        """Take over what is in flight at the end of an inner level."""
        self.issued.update(inner.issued)
        for queue, memories in inner.committed.items():
            self.committed.setdefault(queue, {}).update(memories)

    def all(self) -> Iterator[tir.AllocateOp]:
        """Everything in flight."""
        yield from self.issued
        for memories in self.committed.values():
            yield from memories


def _block(op: Operation) -> Block:
    assert op.parent is not None, "an op of a function is in a block"
    return op.parent


def _names_memory(dtype: Attribute) -> bool:
    return isinstance(dtype, tir.BufferType) or tir.is_handle(dtype)


def _hides(op: Operation) -> bool:
    """Whether an op takes a pointer to where it cannot be followed."""
    if isinstance(op, tir.CallOp):
        name = op.callee.data
        pointers = any(_names_memory(result.type) for result in op.results)
        return name == "tvm_struct_set" or (
            own_effect(op) is CallEffect.PURE and not pointers
        )
    return not isinstance(op, tir.CallFuncOp | tir.EvaluateOp | tir.ThreadAllreduceOp)


def _is_expression(op: Operation) -> bool:
    """Whether an op is a part of the statements that use its value."""
    if not op.results or isinstance(
        op, tir.AllocateOp | tir.BufferDefinition | tir.ShapeVarOp
    ):
        return False
    if isinstance(op, tir.LetOp):
        return op.kind.data is tir.LetKind.EXPR
    return all(own_effect(inner) <= CallEffect.READ_STATE for inner in all_ops(op))


def _is_builtin(op: Operation, *names: str) -> bool:
    return isinstance(op, tir.CallOp) and op.callee.data in names


def _is_inside(op: Operation, key: str, root: Operation) -> bool:
    """Whether an attribute of this key is around an op."""
    parent = op.parent_op()
    while parent is not None and parent is not root:
        if isinstance(parent, tir.AttrOp) and parent.key.data == key:
            return True
        parent = parent.parent_op()
    return False


def _is_uncommitted(op: Operation, root: Operation) -> bool:
    """Whether an op copies asynchronously, and no group that is waited for holds it."""
    return _is_inside(op, "async_scope", root) and not _is_inside(op, _COMMIT, root)


def _constant(value: SSAValue) -> int | None:
    number = tir.constant_value(value)
    return number if isinstance(number, int) else None


def _value_of(op: tir.AttrOp) -> int | None:
    if op.value is not None:
        return _constant(op.value)
    attribute = op.value_attr
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _full_wait(op: Operation) -> int | None:
    """The queue whose copies have all ended after an op; None for other ops."""
    match op:
        case tir.AttrOp() if op.key.data == _COUNT and _value_of(op) == 0:
            parent = op.parent_op()
            if isinstance(parent, tir.AttrOp) and parent.key.data == _WAIT:
                return _value_of(parent)
        case tir.CallOp() if op.callee.data == "ptx_wait_group":
            return _BUILTIN_QUEUE if _constant(op.args[0]) == 0 else None
        case tir.CallOp() if op.callee.data == "dma_wait":
            return _constant(op.args[0]) if _constant(op.args[1]) == 0 else None
        case _:
            pass
    return None


def _in_order(root: Operation) -> Iterator[tuple[Operation, Phase]]:
    """The ops inside of `root`, each with regions also at its end."""
    stack = [(root, Phase.LEAF)]
    while stack:
        op, phase = stack.pop()
        if op is not root or phase is Phase.END:
            yield op, phase
        if phase is Phase.END:
            continue
        if op is not root and op.regions:
            stack.append((op, Phase.END))
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                stack += [(each, Phase.LEAF) for each in reversed(block.ops)]
