"""Translates the launches of kernels whose threads can run together, as numpy arrays.

It is the translation of `emitter.py` once more, where a value is the same for all
threads, and then computed as there, or an array with one item for each. Loops run while
any thread does, branches where any thread goes there, both under a mask. Expressions
without an array form (`fma`, `clz`, unsigned 64-bit integers…) are computed thread by
thread, statement by statement.

A launch with anything else keeps its threads one after the other, which is decided here,
before it runs: calls of functions, atomics, shuffles and other meetings of a warp, of
the grid or in reductions, matrix fragments, asynchronous copies, `tir.while`, returns,
pointers into buffers, broadcasting buffers, extents and strides that differ between
threads, launches whose thread loops have different extents, stores by a block outside
of its threads. What such code does on a fault is in `vector_threads.py`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.analysis.derivation import derivation
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import element_of, is_handle, is_integer, is_vector
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.codegen import builtins as _builtins
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.emitter import (
    COMPARISONS,
    FLOAT_BINARY,
    HANDLERS,
    INTEGER_BINARY,
    BufferCode,
    Emitter,
    Lane,
    block_body,
    result_interval,
)
from xdsl_tvm.interpreters.codegen.pointer_code import is_private, string_operand
from xdsl_tvm.interpreters.codegen.thread_code import (
    BLOCK_TAGS,
    THREAD_TAGS,
    AxisOp,
    axis_tag,
)
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.gpu import vector_threads as _vector_threads
from xdsl_tvm.interpreters.gpu.vector_threads import Counts, array_function

_BLOCK_TAGS = tuple(reversed(BLOCK_TAGS))
_ALL = "None"
"""The mask of all threads."""
_SPECIAL_BINARY: dict[type[Operation], str] = {
    tir.DivOp: "v_tdiv({0}, {1})",
    tir.ModOp: "v_tmod({0}, {1})",
    tir.MinOp: "v_where({0} < {1}, {0}, {1})",
    tir.MaxOp: "v_where({0} > {1}, {0}, {1})",
}
_FLOAT_SPECIAL: dict[type[Operation], str] = {
    tir.ModOp: "v_float_function({kind}, v_fmod, V.spread({0}), V.spread({1}))",
    tir.FloorDivOp: "v_float_function({kind}, v_floor, V.spread({0} / {1}))",
    tir.FloorModOp: "{0} - v_float_function({kind}, v_floor, V.spread({0} / {1})) * {1}",
    tir.MinOp: "v_where(({1} < {0}) | ({1} != {1}), {1}, {0})",
    tir.MaxOp: "v_where(({1} > {0}) | ({1} != {1}), {1}, {0})",
}
_DIVISIONS = (tir.DivOp, tir.ModOp, tir.FloorDivOp, tir.FloorModOp)
_VIEW_OPS = (tir.DataOp, tir.DeclBufferOp, tir.LetOp, tir.MatchRegionOp)
_IDENTITIES = frozenset(
    ("likely", "ignore_loop_partition", "tvm_thread_invariant", "tvm_thread_context")
)
_SHIFTS = ("shift_left", "shift_right")


class _OneByOne(Exception):
    """The threads of a launch have to run one after the other."""


class Together(Counts):
    """Writes launches whose threads run together."""

    def __call__(self, e: Emitter, root: Operation) -> str | None:
        """The condition that the launch ran, None if it cannot run so."""
        assert isinstance(root, tir.ForOp | tir.LaunchThreadOp)
        if e.device or e.settings.copies:
            return None
        try:
            return _launch(e, root, e.constant(self))
        except (_OneByOne, InterpretationError):
            # What is wrong with the program is told by the other translation.
            return None


def _launch(e: Emitter, root: AxisOp, counts: str) -> str:
    extents, repeated = _axes(root)
    texts: dict[str, str] = {}
    for tag, op in extents.items():
        texts[tag] = _thread_code.hoisted(e, op, op.extent)
    v = VectorEmitter.inside(e, root, texts, repeated)
    name = e.fresh("together")
    v.op = root
    v.line(f"def {name}(V):")
    v.indent += 1
    v.kernel(root)
    v.line("return")
    e.lines.extend(v.lines)
    e.ops.extend(v.ops)
    e.count = v.count
    e.namespace.update(_vector_threads.NAMES)
    sizes = [
        "".join(f"{texts.get(tag, '1')}, " for tag in tags)
        for tags in (_BLOCK_TAGS, THREAD_TAGS)
    ]
    written = "".join(f"{pointer}, " for pointer in v.written)
    read = "".join(f"{pointer}, " for pointer in v.outer)
    return (
        f"v_run_together(grid, {name}, ({sizes[0]}), ({sizes[1]}), ({written}), "
        f"({read}), {counts})"
    )


def _axes(root: AxisOp) -> tuple[dict[str, AxisOp], set[str]]:
    """The axes of a launch, and those that several loops of a block bind.

    Every part of a block that begins threads has to begin the same ones.
    """
    extents: dict[str, AxisOp] = {}
    repeated: set[str] = set()
    teams: set[frozenset[str]] = set()
    for team in _teams(root):
        found: dict[str, int] = {}
        for op in team.walk():
            tag = axis_tag(op)
            if tag is None:
                continue
            assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
            first = extents.setdefault(tag, op)
            if not _same(first.extent, op.extent):
                raise _OneByOne
            if tag in found and isinstance(op, tir.ForOp):
                repeated.add(tag)
            found[tag] = 1
        teams.add(frozenset(tag for tag in found if tag in THREAD_TAGS))
    for op in _around_teams(root):
        tag = axis_tag(op)
        assert tag is not None
        assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
        if not _same(extents.setdefault(tag, op).extent, op.extent):
            raise _OneByOne
    if len(teams) != 1:
        raise _OneByOne
    return extents, repeated


def _begins_team(op: Operation) -> bool:
    tag = axis_tag(op)
    return tag is not None and not (isinstance(op, tir.ForOp) and tag in BLOCK_TAGS)


def _teams(root: Operation) -> Iterable[Operation]:
    """The outermost ops that begin threads."""
    if _begins_team(root):
        yield root
        return
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _teams(op)


def _around_teams(root: Operation) -> Iterable[Operation]:
    """The loops over blocks outside of them."""
    if _begins_team(root):
        return
    if axis_tag(root) is not None:
        yield root
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _around_teams(op)


def _same(a: SSAValue, b: SSAValue) -> bool:
    if a is b:
        return True
    value = tir.constant_value(a)
    return value is not None and value == tir.constant_value(b)


@dataclass
class VectorEmitter(Emitter):
    """The translation of one launch for threads that run together."""

    root: Operation | None = None
    varying: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that may differ between threads."""
    mask: str = _ALL
    extents: dict[str, str] = field(default_factory=dict[str, str])
    in_team: bool = False
    written: dict[str, None] = field(default_factory=dict[str, None])
    """Pointers from outside of the launch that are stored to,"""
    outer: dict[str, None] = field(default_factory=dict[str, None])
    """and all of them."""
    reached: set[SSAValue] = field(default_factory=set[SSAValue])
    """Buffers from outside."""

    @staticmethod
    def inside(
        e: Emitter, root: Operation, extents: dict[str, str], repeated: set[str]
    ) -> VectorEmitter:
        """The emitter of a launch that sees the variables of the code around it."""
        return VectorEmitter(
            e.func,
            e.settings,
            names=ChainMap({}, e.names),
            ranges=ChainMap({}, e.ranges),
            buffers=ChainMap({}, e.buffers),
            below=ChainMap({}, e.below),
            defined_by=ChainMap({}, e.defined_by),
            namespace=e.namespace,
            repeated=repeated,
            indent=e.indent,
            count=e.count,
            root=root,
            extents=extents,
        )

    def kernel(self, root: AxisOp) -> None:
        """The code that the threads run."""
        for tags, kind in ((_BLOCK_TAGS, "block"), (THREAD_TAGS, "thread")):
            for axis, tag in enumerate(tags):
                if tag in self.extents:
                    name = self.atom(f"V.{kind}_index({axis})")
                    self.axes[tag] = (name, self.extents[tag])
        self._windows(root)
        self.statement(root)

    def _windows(self, root: Operation) -> None:
        """Reach the buffers from outside, and see which memory is written."""
        for op in root.walk():
            if isinstance(op, tir.StoreOp):
                pointer = self._outer_pointer(op.buffer)
                if pointer is not None:
                    self.written[pointer] = None
            for operand in op.operands:
                if isinstance(operand.type, tir.BufferType):
                    self._outer_buffer(operand)
                elif is_handle(operand.type) and self._is_outer(operand):
                    pointer = self.names.get(operand)
                    if pointer is not None:
                        self.outer[pointer] = None

    def _is_outer(self, value: SSAValue) -> bool:
        owner = value.owner
        inside = owner.parent_op() if not isinstance(owner, Operation) else owner
        assert self.root is not None
        return inside is None or not self.root.is_ancestor(inside)

    def _outer_pointer(self, buffer: SSAValue) -> str | None:
        """The pointer from outside behind a buffer, None if the memory is from inside."""
        for value in derivation(buffer, _VIEW_OPS):
            if isinstance(value.type, tir.BufferType):
                if self._is_outer(value):
                    return self.buffers[value].pointer
            elif not isinstance(value.owner, tir.DataOp | tir.LetOp):
                return self[value] if self._is_outer(value) else None
        return None

    def _outer_buffer(self, buffer: SSAValue) -> None:
        if buffer in self.reached or not self._is_outer(buffer):
            return
        self.reached.add(buffer)
        code = self.buffers[buffer]
        assert isinstance(buffer.type, tir.BufferType)
        if code.broadcasts or not buffer.type.scope.data.startswith("global"):
            raise _OneByOne
        self.outer[code.pointer] = None
        skip = code.offset if code.lanes == 1 else f"{code.offset} * {code.lanes}"
        cells = self.reach(code.pointer, skip, code.element)
        code = replace(code, cells=cells)
        if code.base == "0":
            self._fit(code)
        self.buffers[buffer] = code

    def _fit(self, code: BufferCode) -> None:
        extents = "".join(f"{extent}, " for extent in code.extents)
        strides = "".join(f"{stride}, " for stride in code.strides)
        if code.lanes == 1:
            self.line(f"{code.cells}.fit(({extents}), ({strides}))")

    # ---- what differs from the translation for one thread ----

    def statement(self, op: Operation) -> None:
        """Translate an op. Raises _OneByOne for one that threads do not do together."""
        self.op = op
        handler = VECTOR_HANDLERS.get(type(op))
        if handler is None:
            raise _OneByOne
        handler(self, op)

    def differs(self, values: Iterable[SSAValue]) -> bool:
        """Whether one of some values may differ between threads."""
        return not self.varying.isdisjoint(values)

    def require_same(self, values: Iterable[SSAValue]) -> None:
        """Give up if one of some values may differ between threads."""
        if self.differs(values):
            raise _OneByOne

    def rename(self, value: SSAValue, same: SSAValue) -> None:
        """Let a value have the variable of another one."""
        super().rename(value, same)
        if same in self.varying:
            self.varying.add(value)

    def map_lanes(
        self, result: SSAValue, operands: Sequence[SSAValue], lane: Lane
    ) -> None:
        """Compute a value, thread by thread if it differs between them."""
        if not self.differs(operands):
            super().map_lanes(result, operands, lane)
            return
        kind = self.kind(number(element_of(result.type)))
        params = [f"y{i}" for i in range(len(operands))]
        header = ", ".join(params)

        def each(texts: Sequence[str]) -> str:
            body = lane(params)
            return f"V.each({kind}, lambda {header}: {body}, {', '.join(texts)})"

        self.map_arrays(result, operands, each)

    def map_arrays(
        self, result: SSAValue, operands: Sequence[SSAValue], lane: Lane
    ) -> None:
        """Compute a value for all threads at once."""
        self.varying.add(result)
        super().map_lanes(result, operands, lane)

    def wrapped_array(self, dtype: Number, text: str) -> str:
        """The integers `text` modulo 2^bits; arrays of 64 bits wrap by themselves."""
        return f"v_signed64({text})" if dtype.bits == 64 else self.wrapped(dtype, text)

    def allocation(self, op: Operation, scope: str, arguments: str) -> str:
        """The text of an allocation, for each block or for each thread."""
        if is_private(scope):
            return f"V.local({arguments})"
        if not scope.startswith("shared"):
            raise _OneByOne
        site = self.settings.grid.site(op) if self.in_team else None
        return f"V.shared({site}, {arguments})"

    def allocated(self, pointer: str, scope: str) -> None:
        """Local memory has a column for each thread wherever it is allocated."""

    def reach(self, pointer: str, skip: str, element: Number) -> str:
        """The name of the elements behind a pointer."""
        cells = self.fresh("w")
        self.line(f"{cells} = V.window({pointer}, {skip}, {self.kind(element)})")
        return cells

    def buffer(
        self, op: tir.BufferDefinition, pointer: str, offset: str, marks: str
    ) -> BufferCode:
        """Take the elements behind a pointer as a buffer."""
        self.require_same(op.operands)
        code = super().buffer(op, pointer, offset, marks)
        if code.broadcasts:
            raise _OneByOne
        self._fit(code)
        return code

    def match_region(self, op: tir.MatchRegionOp) -> None:
        """A view of a region, which may begin elsewhere for each thread."""
        mins = [low for low, _ in op.region]
        if self.differs(mins):
            self.require_same(v for v in op.operands if v not in mins)
            if op.elem_offset is not None:
                raise _OneByOne
        super().match_region(op)

    def check_region(
        self, low: SSAValue, extent: int | SSAValue, bound: str, axis: int
    ) -> None:
        """Check that a region lies within its buffer."""
        if self.differs([low]):
            wanted = self.mixed(extent)
            self.line(f"v_check_region({self[low]}, {wanted}, {bound}, {self.mask})")
        else:
            super().check_region(low, extent, bound, axis)

    def check_iteration(self, it: tir.IterVar) -> None:
        """Check that an iteration variable of a block lies in its domain."""
        self.require_same([it.min, it.extent])
        if not self.differs([it.binding]):
            super().check_iteration(it)
            return
        self.line(
            f"v_check_range({self[it.binding]}, {self[it.min]}, {self[it.extent]}, "
            f"{self.mask})"
        )

    def check_access(self, code: BufferCode, indices: Sequence[SSAValue]) -> None:
        """Check scalar indices that may be out of bounds."""
        for index, extent in self.doubts(code, indices):
            self.line(f"v_check_index({self[index]}, {extent}, {self.mask})")

    def places(
        self, code: BufferCode, indices: Sequence[SSAValue], predicate: str
    ) -> str:
        """The scalars that an access of vectors touches, as a list of places."""
        vector = bool(indices) and is_vector(indices[-1].type)
        if predicate != "None":
            raise _OneByOne
        self.check_access(code, indices[:-1] if vector else indices)
        texts = [self[index] for index in indices]
        spots = f"[{self.flat(code, texts)}]"
        if vector:
            last = texts[-1]
            with self.nest(f"for x in {last}:"):
                self.line(f"v_check_index(x, {code.extents[-1]}, {self.mask})")
            texts[-1] = "x"
            spots = f"[{self.flat(code, texts)} for x in {last}]"
        if code.lanes == 1:
            return self.atom(spots)
        return self.atom(
            f"[x * {code.lanes} + y for x in {spots} for y in range({code.lanes})]"
        )

    # ---- masks ----

    @contextmanager
    def when(self, condition: str, differs: bool, but: bool = False) -> Generator[None]:
        """Statements for the threads for which a condition holds, or does not."""
        if not differs:
            with self.nest("else:" if but else f"if {condition}:"):
                yield
            return
        outer = self.mask
        verb = "but" if but else "both"
        self.mask = self.atom(f"V.{verb}({outer}, {condition})")
        with self.nest(f"if {self.mask}.any():"):
            yield
        self.mask = outer


VectorHandler = Callable[[VectorEmitter, Operation], None]


def _as_one(e: VectorEmitter, op: Operation) -> None:
    """As for one thread; pure expressions also thread by thread."""
    HANDLERS[type(op)](e, op)


def _only_same(e: VectorEmitter, op: Operation) -> None:
    """As for one thread, if all do the same."""
    e.require_same(op.operands)
    HANDLERS[type(op)](e, op)


def _by_threads(e: VectorEmitter, op: Operation) -> bool:
    """Whether an expression is written as for one thread: values are all the same, or of
    a dtype that arrays do not compute with."""
    if not e.differs(op.operands):
        return True
    for value in (*op.operands, *op.results):
        if is_handle(value.type) or _is_wide(value.type):
            return True
    return False


def _expression(arrays: VectorHandler) -> VectorHandler:
    """The handler of an expression whose array form is written by `arrays`."""

    def emit(e: VectorEmitter, op: Operation) -> None:
        if _by_threads(e, op):
            HANDLERS[type(op)](e, op)
        else:
            arrays(e, op)

    return emit


# ---- memory ----


def _load(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.LoadOp)
    code = e.buffers[op.buffer]
    _require_access(e, op.buffer, op.predicate)
    e.varying.add(op.result)
    if is_vector(op.result.type):
        places = e.places(code, op.indices, "None")
        e.define(op.result, f"[{code.cells}.load(x, {e.mask}) for x in {places}]")
        return
    e.check_access(code, op.indices)
    place = e.flat(code, [e[index] for index in op.indices])
    e.define(op.result, f"{code.cells}.load({place}, {e.mask})")


def _store(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.StoreOp)
    code = e.buffers[op.buffer]
    _require_access(e, op.buffer, op.predicate)
    if not e.in_team:
        raise _OneByOne
    value = e[op.value]
    if not is_vector(op.value.type):
        e.check_access(code, op.indices)
        place = e.flat(code, [e[index] for index in op.indices])
        e.line(f"{code.cells}.store({place}, {value}, {e.mask})")
        return
    places = e.places(code, op.indices, "None")
    with e.nest(f"for x, y in zip({places}, {value}):"):
        e.line(f"{code.cells}.store(x, y, {e.mask})")


def _require_access(
    e: VectorEmitter, buffer: SSAValue, predicate: SSAValue | None
) -> None:
    assert isinstance(buffer.type, tir.BufferType)
    outside = not e.in_team and is_private(buffer.type.scope.data)
    if predicate is not None or outside:
        raise _OneByOne


# ---- statements ----


def _for(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.ForOp)
    tag = None if op.thread_tag is None else op.thread_tag.data
    _iterate(e, op, op.min, op.extent, None if tag in tir.VIRTUAL_THREAD_TAGS else tag)


def _launch_thread(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.LaunchThreadOp)
    tag = op.tag.data
    if op.virtual is None and tag not in tir.VIRTUAL_THREAD_TAGS:
        _iterate(e, op, None, op.extent, tag)
    else:
        _iterate(
            e, op, None, op.extent, None if op.env is None else f"{tag} {op.env.data}"
        )


def _iterate(
    e: VectorEmitter, op: AxisOp, low: SSAValue | None, extent: SSAValue, tag: str | None
) -> None:
    axis = axis_tag(op)
    if axis is not None:
        _axis(e, op, low, extent, axis)
        return
    bounds = [extent] if low is None else [low, extent]
    if tag is not None:
        e.require_same(bounds)
        # Virtual threads are loops; one that is open is opened again.
        if tag in e.axes:
            raise _OneByOne
    variable = op.body.block.args[0]
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    start = "0" if low is None else e[low]
    count = e[extent]
    if start == "0":
        e.below[variable] = count
    name = e.name_value(variable)
    if tag is not None:
        e.axes[tag] = (name, count)
    if e.differs(bounds):
        _ragged_loop(e, op, start, count)
    else:
        end = count if start == "0" else f"{start} + {count}"
        with e.loop(f"for {name} in range({start}, {end}):"):
            e.block(op.body.block)
    if tag is not None:
        del e.axes[tag]


def _ragged_loop(e: VectorEmitter, op: AxisOp, start: str, count: str) -> None:
    """A loop that threads run different numbers of times, or from different places."""
    variable = op.body.block.args[0]
    e.varying.add(variable)
    trip = e.fresh("i")
    outer = e.mask
    with e.loop(f"for {trip} in V.trips({count}, {outer}):"):
        e.mask = e.atom(f"V.both({outer}, {trip} < {count})")
        e.define(variable, f"V.spread({start} + {trip})")
        e.block(op.body.block)
    e.mask = outer


def _axis(
    e: VectorEmitter, op: AxisOp, low: SSAValue | None, extent: SSAValue, tag: str
) -> None:
    """The body of an op that opens an axis, all of whose iterations run together."""
    e.require_same([extent] if low is None else [low, extent])
    index, size = e.axes[tag]
    variable = op.body.block.args[0]
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    e.varying.add(variable)
    if low is None or e[low] == "0":
        e.names[variable] = index
        e.below[variable] = e[extent]
    else:
        e.define(variable, f"{e[low]} + {index}")
    begins = _begins_team(op) and not e.in_team
    meets = isinstance(op, tir.ForOp) and (begins or tag in e.repeated)
    e.in_team |= begins
    if e[extent] != size:
        e.line(f"check_axis({tag!r}, {size}, {e[extent]})")
    if meets:
        e.line(f"V.barrier({e.mask})")
    e.block(op.body.block)
    if meets:
        e.line(f"V.barrier({e.mask})")
    if begins:
        e.in_team = False


def _if(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.IfOp)
    differs = e.differs([op.condition])
    condition = e[op.condition]
    with e.when(condition, differs):
        e.block(op.then_region.block)
    if op.else_region is not None:
        with e.when(condition, differs, but=True):
            e.block(op.else_region.block)


def _attr(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.AttrOp)
    if _async_code.is_asynchronous(op):
        raise _OneByOne
    e.block(op.body.block)


def _block(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.BlockOp)
    if _thread_code.reduces_across_threads(op):
        raise _OneByOne
    if op.predicate is None:
        block_body(e, op)
        return
    with e.when(e[op.predicate], e.differs([op.predicate])):
        block_body(e, op)


def _init(e: VectorEmitter, op: Operation) -> None:
    block = op.parent_op()
    assert isinstance(op, tir.InitOp)
    assert isinstance(block, tir.BlockOp)
    pairs = [
        (variable, it.min)
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
        if it.kind is tir.IterKind.REDUCE
    ]
    differs = any(e.differs(pair) for pair in pairs)
    sign = " & " if differs else " and "
    tests = sign.join(f"({e[variable]} == {e[low]})" for variable, low in pairs)
    with e.when(tests or "True", differs):
        e.block(op.body.block)


def _assert(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.AssertOp)
    e.line(f"v_check_holds({e[op.condition]}, {e.mask})")


# ---- expressions ----


def _binary(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.BinaryOp)
    dtype = number(element_of(op.result.type))
    if dtype.is_float:
        _float_binary(e, op, dtype)
    elif dtype.is_bool:
        HANDLERS[type(op)](e, op)
    else:
        _integer_binary(e, op, dtype)


def _float_binary(e: VectorEmitter, op: tir.BinaryOp, dtype: Number) -> None:
    template = _FLOAT_SPECIAL.get(type(op), FLOAT_BINARY[type(op)])
    kind = e.kind(dtype)
    e.map_arrays(op.result, op.operands, lambda t: template.format(*t, kind=kind))


def _integer_binary(e: VectorEmitter, op: tir.BinaryOp, dtype: Number) -> None:
    template = _SPECIAL_BINARY.get(type(op), INTEGER_BINARY[type(op)])
    bounds = result_interval(e, op)
    fits = bounds is not None and dtype.low <= bounds[0] and bounds[1] <= dtype.high
    if fits and bounds is not None and not is_vector(op.result.type):
        e.ranges[op.result] = bounds
    low, high = e.interval(op.rhs)
    doubtful = isinstance(op, _DIVISIONS) and (
        is_vector(op.result.type) or low <= 0 <= high
    )

    def lane(texts: Sequence[str]) -> str:
        a, b = texts
        if doubtful:
            b = f"v_divisor({b}, {e.mask})"
        text = template.format(a, b)
        return text if fits else e.wrapped_array(dtype, text)

    e.map_arrays(op.result, op.operands, lane)


def _logical(e: VectorEmitter, op: Operation) -> None:
    verb = "v_logical_and" if isinstance(op, tir.AndOp) else "v_logical_or"
    e.map_arrays(op.results[0], op.operands, lambda t: f"{verb}({t[0]}, {t[1]})")


def _not(e: VectorEmitter, op: Operation) -> None:
    e.map_arrays(op.results[0], op.operands, lambda t: f"v_logical_not({t[0]})")


def _cmp(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CmpOp)
    sign = COMPARISONS[op.predicate.data]
    e.map_arrays(op.result, op.operands, lambda t: f"{t[0]} {sign} {t[1]}")


def _select(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.SelectOp)
    e.map_arrays(op.result, op.operands, lambda t: f"v_where({', '.join(t)})")
    if is_integer(op.result.type) and not is_vector(op.result.type):
        a, b = e.interval(op.true_value), e.interval(op.false_value)
        e.ranges[op.result] = (min(a[0], b[0]), max(a[1], b[1]))


def _if_then_else(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.IfThenElseOp)
    if is_handle(op.result.type):
        raise _OneByOne
    differs = e.differs([op.condition])
    condition = e[op.condition]
    zero = e.constant(number(element_of(op.result.type)).zero())
    if is_vector(op.result.type):
        zero = f"[{zero}] * {e.lanes(op.result.type)}"
    names: list[str] = []
    for region, but in ((op.true_region, False), (op.false_region, True)):
        if differs:
            names.append(e.atom(zero))
        elif not but:
            names = [e.fresh("r")] * 2
        with e.when(condition, differs, but=but):
            e.block(region.block)
            last = region.block.last_op
            assert isinstance(last, tir.YieldOp)
            e.line(f"{names[but]} = {e[last.value]}")
            if e.differs([last.value]):
                e.varying.add(op.result)
    if not differs:
        # What is the same in one branch may be an array in the other one.
        e.names[op.result] = names[0]
        return
    e.varying.add(op.result)
    e.define(op.result, _merged(e, op, condition, *names))


def _merged(
    e: VectorEmitter, op: tir.IfThenElseOp, condition: str, yes: str, no: str
) -> str:
    """One of two values for each thread."""
    vector = is_vector(op.result.type)
    a, b = ("x", "y") if vector else (yes, no)
    text = f"v_where({condition}, {a}, {b})"
    if _is_wide(op.result.type):
        kind = e.kind(number(element_of(op.result.type)))
        text = f"V.each({kind}, lambda p, q, r: q if p else r, {condition}, {a}, {b})"
    return f"[{text} for x, y in zip({yes}, {no})]" if vector else text


def _is_wide(dtype: Attribute) -> bool:
    """Whether values are integers that do not fit into signed ones of 64 bits."""
    return number(element_of(dtype)).high >= 1 << 63


def _cast(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CastOp)
    source = number(element_of(op.value.type))
    target = number(element_of(op.result.type))
    kind = e.kind(target)
    if target.is_bool:
        e.map_arrays(op.result, op.operands, lambda t: f"v_not_equal({t[0]}, 0)")
        return
    if source.is_float or target.is_float:
        e.map_arrays(
            op.result, op.operands, lambda t: f"v_convert({kind}, V.spread({t[0]}))"
        )
        return
    scalar = not is_vector(op.result.type)
    low, high = e.interval(op.value) if scalar else (source.low, source.high)
    text = "v_int64({0})" if source.is_bool else "{0}"
    fits = target.low <= low and high <= target.high
    if fits and scalar:
        e.ranges[op.result] = (low, high)

    def lane(texts: Sequence[str]) -> str:
        value = text.format(*texts)
        return value if fits else e.wrapped_array(target, value)

    e.map_arrays(op.result, op.operands, lane)


def _ramp(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.RampOp)
    dtype = number(op.base.type)
    if not e.differs(op.operands) or dtype.is_float:
        _as_list(e, op)
        return
    if _is_wide(op.base.type):
        raise _OneByOne
    text = e.wrapped_array(dtype, f"{e[op.base]} + x * {e[op.stride]}")
    e.varying.add(op.result)
    e.define(op.result, f"[{text} for x in range({e.lanes(op.result.type)})]")


def _as_list(e: VectorEmitter, op: Operation) -> None:
    """As for one thread, where only lists of lanes are put together."""
    if e.differs(op.operands):
        e.varying.update(op.results)
    HANDLERS[type(op)](e, op)


def _shuffle(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.ShuffleOp)
    e.require_same(op.indices)
    _as_list(e, op)


# ---- calls ----


def _call(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    name = op.callee.data
    special = _CALLS.get(name)
    if special is not None:
        special(e, op)
    elif name in _UNIFORM_CALLS:
        _only_same(e, op)
    elif op.result is None or is_handle(op.result.type) or name not in _PURE_CALLS:
        raise _OneByOne
    elif _by_threads(e, op) or not _call_arrays(e, op, op.result):
        HANDLERS[tir.CallOp](e, op)


def _call_arrays(e: VectorEmitter, op: tir.CallOp, result: SSAValue) -> bool:
    """Write a call of a pure builtin for arrays; whether there is such a form."""
    name = op.callee.data
    dtype = number(element_of(result.type))
    kind = e.kind(dtype)
    if name in _IDENTITIES or (name in _builtins.FLOAT_FUNCTIONS and not dtype.is_float):
        e.map_arrays(result, op.args, lambda t: t[0])
    elif name in _ARRAY_TEMPLATES and not dtype.is_bool:
        e.map_arrays(result, op.args, lambda t: _builtins.TEMPLATES[name](dtype, t))
    elif name in _SHIFTS:
        e.map_arrays(result, op.args, lambda t: f"v_{name}({kind}, {', '.join(t)})")
    elif name == "isnan":
        e.map_arrays(result, op.args, lambda t: f"v_not_equal({t[0]}, {t[0]})")
    else:
        scalar = _builtins.FLOAT_FUNCTIONS.get(name)
        function = None if scalar is None else array_function(name, scalar)
        if function is None:
            return False
        constant = e.constant(function)

        def lane(texts: Sequence[str]) -> str:
            spread = ", ".join(f"V.spread({text})" for text in texts)
            return f"v_float_function({kind}, {constant}, {spread})"

        e.map_arrays(result, op.args, lane)
    return True


def _barrier(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    if string_operand(op, 0) not in ("shared", "shared.dyn"):
        raise _OneByOne
    if op.result is not None:
        e.names[op.result] = "0"
    if e.in_team:
        e.line(f"V.barrier({e.mask})")


def _assume(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    text = f"v_check_holds({e[op.args[0]]}, {e.mask})"
    if op.result is None:
        e.line(text)
        return
    if e.differs(op.args):
        e.varying.add(op.result)
    e.define(op.result, text)


def _reinterpret(e: VectorEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    assert op.result is not None
    value = op.args[0]
    if not e.differs(op.args):
        HANDLERS[tir.CallOp](e, op)
        return
    if is_handle(op.result.type) or is_vector(op.result.type) or is_vector(value.type):
        raise _OneByOne
    source, target = e.kind(number(value.type)), e.kind(number(op.result.type))
    e.map_lanes(
        op.result, op.args, lambda t: f"reinterpreted([{t[0]}], {source}, {target}, 1)[0]"
    )


_ARRAY_TEMPLATES = frozenset(
    ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "fabs")
)
_PURE_CALLS = (
    frozenset(("popcount", "clz", "fma", "nextafter", *_SHIFTS))
    | _builtins.TEMPLATES.keys()
    | _builtins.FLOAT_FUNCTIONS.keys()
)
_UNIFORM_CALLS = _builtins.NO_OPERATION | {"isnullptr", "undef", "vscale"}
_CALLS: dict[str, VectorHandler] = {
    "tvm_storage_sync": _barrier,
    "assume": _assume,
    "reinterpret": _reinterpret,
    **dict.fromkeys(("vectorlow", "vectorhigh", "vectorcombine"), _as_list),
}

VECTOR_HANDLERS: dict[type[Operation], VectorHandler] = {
    **dict.fromkeys(
        (
            tir.AllocateConstOp,
            tir.ConstOp,
            tir.DataOp,
            tir.DeclBufferOp,
            tir.EvaluateOp,
            tir.LetOp,
            tir.MatchRegionOp,
            tir.PrefetchOp,
            tir.ReadsOp,
            tir.ReducerOp,
            tir.ScopeOp,
            tir.ShapeVarOp,
            tir.StringOp,
            tir.WritesOp,
            tir.YieldOp,
        ),
        _as_one,
    ),
    tir.AllocBufferOp: _only_same,
    tir.AllocateOp: _only_same,
    tir.AssertOp: _assert,
    tir.AttrOp: _attr,
    tir.BlockOp: _block,
    tir.ForOp: _for,
    tir.IfOp: _if,
    tir.InitOp: _init,
    tir.LaunchThreadOp: _launch_thread,
    tir.LoadOp: _load,
    tir.StoreOp: _store,
    tir.AndOp: _expression(_logical),
    tir.BroadcastOp: _as_list,
    tir.CallOp: _call,
    tir.CastOp: _expression(_cast),
    tir.CmpOp: _expression(_cmp),
    tir.IfThenElseOp: _if_then_else,
    tir.NotOp: _expression(_not),
    tir.OrOp: _expression(_logical),
    tir.RampOp: _ramp,
    tir.SelectOp: _expression(_select),
    tir.ShuffleOp: _shuffle,
    **dict.fromkeys(INTEGER_BINARY, _expression(_binary)),
}
