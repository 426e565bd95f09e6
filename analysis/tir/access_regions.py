"""Which boxes of buffers a block reads and writes.

    found = get_block_read_write_region(block)
    builder.insert(tir.ReadsOp([region.emit(builder) for region in found.reads]))

A box is in terms of what is known where the body of the block starts: the iteration
variables and values from around the block. Loops in the block are relaxed, conditions
narrow what their variables run over, and bindings are looked through. Wherever an access
is executed, its element is in the box of its buffer. A side that has no bound in these
terms is the whole dimension: so it is where an index is loaded in the block, is of a type
other than `i32` and `i64`, or divides by what may be zero.

See docs/spec/tir-passes-b-arith-and-loops.md §1.16 and
docs/spec/tir-passes-a-blocks-and-buffers.md §0.3; TVM names
`GetBlockAccessRegion`, `GetBlockReadWriteRegion`, `DomainTouched`. Other than there,

- a box never needs a value that the block makes, a loaded one for instance;
- a nested block without `tir.reads` or without `tir.writes` is entered;
- another declaration of the same memory in the block stands for the whole buffer;
- the address of an element makes its buffer opaque where it is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, MutableMapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, emit, leaf_values, view
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.arith.int_set import (
    EVERYTHING,
    IntSet,
    IntSetEvaluator,
    added,
    always_defined,
    cover_range,
    simplified,
    union,
)
from xdsl_tvm.analysis.derivation import derivation, origin
from xdsl_tvm.analysis.tir.conditional_bounds import ConditionalBounds
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_index_type


@dataclass(frozen=True)
class AccessRegion:
    """A box of a buffer: for each dimension its start and extent, in elements."""

    buffer: SSAValue
    region: tuple[Range, ...]

    def emit(
        self, builder: Builder, known: MutableMapping[Expr, SSAValue] | None = None
    ) -> tir.BufferRegion:
        """The box with values, as operands of `tir.reads` and `tir.writes`.

        `known` is that of `analysis.expr.emit`.
        """
        values: MutableMapping[Expr, SSAValue] = {} if known is None else known
        mins = tuple(emit(each.min, builder, values) for each in self.region)
        extents = tuple(
            int(each.extent.value)
            if isinstance(each.extent, Const)
            else emit(each.extent, builder, values)
            for each in self.region
        )
        return tir.BufferRegion(self.buffer, mins, extents)

    def __str__(self) -> str:
        name = self.buffer.name_hint or "buffer"
        sides = ", ".join(f"{each.min} for {each.extent}" for each in self.region)
        return f"%{name}[{sides}]"


@dataclass(frozen=True)
class AccessRegions:
    """What a block accesses, each buffer once per list, in the order of first access."""

    reads: tuple[AccessRegion, ...]
    writes: tuple[AccessRegion, ...]
    opaque: tuple[AccessRegion, ...]
    """Buffers whose pointer is used, so that anything in them may be accessed."""


def get_block_access_region(
    block: tir.BlockOp,
    buffers: AbstractSet[SSAValue] | None = None,
    *,
    as_declared: bool = True,
) -> AccessRegions:
    """What the body and the init of a block access of `buffers`.

    Without `buffers`, of all that are defined outside of the block. What a block with an
    init writes is not among its reads. Memory outside that no buffer names is left out.
    Blocks inside access what they declare; with `as_declared=False` what is in them.
    """
    found = _Accesses(block, buffers, as_declared=as_declared)
    found.visit_regions(block)
    return AccessRegions(
        found.regions(found.read, () if block.init is None else found.written.keys()),
        found.regions(found.written),
        found.regions(found.opaque),
    )


def get_block_read_write_region(
    block: tir.BlockOp, buffers: AbstractSet[SSAValue] | None = None
) -> AccessRegions:
    """The same as boxes to declare: opaque buffers are the last reads and writes."""
    found = get_block_access_region(block, buffers)
    opaque = {each.buffer for each in found.opaque}
    reads, writes = (
        (*(each for each in kind if each.buffer not in opaque), *found.opaque)
        for kind in (found.reads, found.writes)
    )
    return AccessRegions(reads, writes, found.opaque)


def domain_touched(
    op: Operation, buffer: SSAValue, *, loads: bool = True, stores: bool = True
) -> tuple[Range, ...]:
    """The box of a buffer that a statement reads, writes, or either; empty if none.

    An opaque use is both. Raises ValueError if the buffer is defined in the statement.
    """
    if op.is_ancestor(tir.buffer_definition(buffer)):
        raise ValueError(
            f"{op.name} defines the buffer itself; ask about a statement after the "
            "definition"
        )
    found = _Accesses(op, {buffer})
    found.visit(op)
    tables = [found.opaque]
    tables += [found.read] if loads else []
    tables += [found.written] if stores else []
    boxes = [table[buffer] for table in tables if buffer in table]
    if not boxes:
        return ()
    total = boxes[0]
    for box in boxes[1:]:
        total = found.union(total, box)
    return found.region(buffer, total).region


Box = list[IntSet]
"""A set per dimension; what has no bounds is the whole of it."""
Boxes = dict[SSAValue, Box]

_NAMES = (tir.DataOp, tir.AddressOfOp, tir.DeclBufferOp, tir.LetOp, tir.AttrOp)
"""Ops that give a pointer another name, or say something of it."""


class _Accesses:
    """The boxes of buffers from outside of `root` that ops in it access."""

    def __init__(
        self,
        root: Operation,
        buffers: AbstractSet[SSAValue] | None,
        *,
        as_declared: bool = True,
    ) -> None:
        self._as_declared = as_declared
        self.read: Boxes = {}
        self.written: Boxes = {}
        self.opaque: Boxes = {}
        self._root = root
        self._buffers = buffers
        self._analyzer = Analyzer()
        self._bounds = ConditionalBounds(self._analyzer)
        self._trees: dict[SSAValue, Expr] = {}
        self._evaluator: IntSetEvaluator | None = None
        self._variables: AbstractSet[SSAValue] = set()
        if isinstance(root, tir.BlockOp):
            self._variables = set(root.iter_vars)
            for each, it in zip(root.iter_vars, root.iters, strict=True):
                domain = Range(self._tree(it.min), self._tree(it.extent))
                self._analyzer.bind(each, domain)

    # ---- results ----

    def regions(
        self, boxes: Boxes, without: Iterable[SSAValue] = ()
    ) -> tuple[AccessRegion, ...]:
        """The boxes as regions, without those of some buffers."""
        left_out = set(without)
        return tuple(
            self.region(buffer, box)
            for buffer, box in boxes.items()
            if buffer not in left_out
        )

    def region(self, buffer: SSAValue, box: Box) -> AccessRegion:
        """The box as a region, whole where it has no bounds."""
        definition = tir.buffer_definition(buffer)
        ranges: list[Range] = []
        for found, size in zip(box, definition.shape, strict=True):
            extent = (
                Const(size, definition.extent_type)
                if isinstance(size, int)
                else self._tree(size)
            )
            whole = Range(smart.const(0, extent.dtype), extent)
            bounded = found.is_bounded and always_defined(found)
            found = simplified(found, self._analyzer) if bounded else EVERYTHING
            covered = cover_range(found, whole, self._analyzer)
            ranges.append(_not_negative(covered))
        return AccessRegion(buffer, tuple(ranges))

    # ---- ops ----

    def visit_regions(self, op: Operation) -> None:
        """Visit the ops in an op."""
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    self.visit(inner)

    def visit(self, op: Operation) -> None:
        """Record what an op accesses, and the ops in it."""
        match op:
            case tir.LoadOp():
                self._access(self.read, op.buffer, self._box(op.indices))
            case tir.StoreOp():
                self._access(self.written, op.buffer, self._box(op.indices))
            case tir.ThreadAllreduceOp():
                for place in op.places:
                    self._access(self.written, place.buffer, self._box(place.indices))
            case tir.PrefetchOp():
                self._access(self.read, op.buffer, self._box_of(op.region))
            case tir.LetOp() if op.value.type == op.result.type:
                self._trees[op.result] = self._tree(op.value)
            case tir.BlockOp():
                self._visit_block(op)
                return
            case tir.AccessPtrOp():
                self._pass(op.result)
            case tir.BufferDefinition() | tir.ReadsOp() | tir.WritesOp():
                return
            case _ if not isinstance(op, _NAMES):
                for operand in op.operands:
                    self._pass(operand)
            case _:
                pass
        self._visit_inside(op)

    def _visit_inside(self, op: Operation) -> None:
        """Visit the regions of an op, with what is known in them."""
        match op:
            case tir.ForOp():
                scope = self._relaxing(op.loop_var, op.min, op.extent)
            case tir.LaunchThreadOp():
                scope = self._relaxing(op.thread_var, None, op.extent)
            case tir.IfOp() | tir.IfThenElseOp():
                self._visit_branches(op)
                return
            case _:
                scope = ExitStack()
        with scope:
            self.visit_regions(op)

    def _visit_branches(self, op: tir.IfOp | tir.IfThenElseOp) -> None:
        condition = self._tree(op.condition)
        for position, region in enumerate(op.regions):
            with self._assuming(negated(condition) if position else condition):
                for block in region.blocks:
                    for inner in block.ops:
                        self.visit(inner)

    def _visit_block(self, op: tir.BlockOp) -> None:
        """What a nested block declares; what is in it where it does not declare that."""
        for variable, it in zip(op.iter_vars, op.iters, strict=True):
            self._trees[variable] = self._tree(it.binding)
        declared = [
            inner
            for inner in op.body.block.ops
            if isinstance(inner, tir.ReadsOp | tir.WritesOp)
        ]
        if len(declared) < 2 or not self._as_declared:
            self.visit_regions(op)
            return
        for each in declared:
            table = self.read if isinstance(each, tir.ReadsOp) else self.written
            for found in each.buffer_regions:
                box = self._box_of(zip(found.mins, found.extents, strict=True))
                self._access(table, found.buffer, box)

    # ---- pointers ----

    def _pass(self, value: SSAValue) -> None:
        """Record that an op uses a value, if that is a buffer or a pointer."""
        if isinstance(value.type, tir.BufferType) or tir.is_handle(value.type):
            # A cycle of views is an error here, so that what follows need not look.
            origin(value)
            self._use(value)

    def _use(self, value: SSAValue, table: Boxes | None = None) -> None:
        """Record the use of a buffer or a pointer.

        Without a table it is what the pointer is for, or an opaque use.
        """
        used = self.opaque if table is None else table
        owner = value.owner
        for each in derivation(value):
            value, owner = each, each.owner
            if isinstance(owner, tir.AccessPtrOp):
                used = self._table_of(owner) if table is None else table
            elif not isinstance(owner, tir.LetOp) and not (
                isinstance(owner, tir.DeclBufferOp) and self._is_inside(value)
            ):
                break
        if isinstance(owner, tir.DataOp | tir.AddressOfOp):
            self._use_all(owner.buffer, used)
        elif isinstance(value.type, tir.BufferType):
            self._use_all(value, used)
        else:
            for buffer in self._buffers_at(value):
                self._use_all(buffer, used)

    def _use_all(self, buffer: SSAValue, table: Boxes) -> None:
        box = [EVERYTHING for _ in tir.buffer_definition(buffer).shape]
        self._record(table, buffer, box)

    def _table_of(self, op: tir.AccessPtrOp) -> Boxes:
        match op.mode.data:
            case tir.AccessMode.READ:
                return self.read
            case tir.AccessMode.WRITE:
                return self.written
            case tir.AccessMode.READ_WRITE:
                return self.opaque

    def _buffers_at(self, pointer: SSAValue) -> Iterator[SSAValue]:
        """The buffers from outside that are defined to be at a pointer."""
        users = {use.operation: None for use in pointer.uses}
        for user in reversed(users):
            if isinstance(user, tir.DeclBufferOp | tir.MatchBufferOp) and self._is_around(
                user, pointer
            ):
                yield user.buffer

    def _is_around(self, definition: tir.BufferDefinition, pointer: SSAValue) -> bool:
        """Whether a buffer at a pointer is defined around the root, not next to it."""
        block, owner = definition.parent, pointer.owner
        if block is None or self._root.is_ancestor(definition):
            return False
        if block is (owner if isinstance(owner, Block) else owner.parent):
            return True
        return block.find_ancestor_op_in_block(self._root) is not None

    # ---- boxes ----

    def _access(self, table: Boxes, buffer: SSAValue, box: Box) -> None:
        """Add an access of an op."""
        origin(buffer)
        self._record(table, buffer, box)

    def _record(self, table: Boxes, buffer: SSAValue, box: Box) -> None:
        """Add an access: views stand for their sources, what is inside is left out."""
        if self._is_inside(buffer):
            definition = tir.buffer_definition(buffer)
            if isinstance(definition, tir.MatchRegionOp):
                source = self._box_of_source(definition, box)
                self._record(table, definition.source, source)
            elif isinstance(definition, tir.DeclBufferOp):
                self._use(definition.data, table)
            return
        if self._buffers is not None and buffer not in self._buffers:
            return
        old = table.get(buffer)
        table[buffer] = box if old is None else self.union(old, box)

    def union(self, first: Box, second: Box) -> Box:
        """The least box around two."""
        return [
            old
            if old == new
            else EVERYTHING
            if _dtypes(old) != _dtypes(new)
            else union((old, new), self._analyzer)
            for old, new in zip(first, second, strict=True)
        ]

    def _box_of_source(self, view: tir.MatchRegionOp, box: Box) -> Box:
        source = self._box_of(view.region)
        leading = len(source) - len(box)
        if view.axis_separators is not None:
            return source
        for axis, inner in enumerate(box, leading):
            start = self._set(view.region_mins[axis])
            if _dtypes(start) == _dtypes(inner) != ():
                source[axis] = added(start, inner)
        return source

    def _box(self, indices: Iterable[SSAValue]) -> Box:
        return [self._set(index) for index in indices]

    def _box_of(self, region: Iterable[tuple[SSAValue, SSAValue | int]]) -> Box:
        box: Box = []
        for low, extent in region:
            start = self._tree(low)
            if isinstance(extent, int):
                if not smart.fits(extent, start.dtype):
                    box.append(EVERYTHING)
                    continue
                size: Expr = Const(extent, start.dtype)
            else:
                size = smart.cast(start.dtype, self._tree(extent))
            known = is_index_type(start.dtype)
            box.append(self._sets.of_range(Range(start, size)) if known else EVERYTHING)
        return box

    def _set(self, index: SSAValue) -> IntSet:
        """The numbers that an index may be."""
        tree = self._tree(index)
        if not is_index_type(tir.element_of(tree.dtype)):
            return EVERYTHING
        found = self._sets(tree)
        return EVERYTHING if found.is_nothing else found

    @property
    def _sets(self) -> IntSetEvaluator:
        if self._evaluator is None:
            self._evaluator = IntSetEvaluator(self._analyzer, self._bounds.relaxed)
        return self._evaluator

    # ---- values ----

    def _tree(self, value: SSAValue) -> Expr:
        """The tree of a value; leaves that are not known outside are relaxed."""
        tree = view(value, self._trees)
        for leaf in leaf_values(tree):
            node = Value(leaf)
            if node not in self._bounds.relaxed and self._is_inside(leaf):
                self._bounds.relaxed[node] = EVERYTHING
                self._evaluator = None
        return tree

    def _is_inside(self, value: SSAValue) -> bool:
        """Whether a value is made in the root."""
        if value in self._variables:
            return False
        owner = value.owner
        if isinstance(owner, Block):
            parent = owner.parent_op()
            return parent is not None and self._root.is_ancestor(parent)
        return self._root.is_ancestor(owner)

    @contextmanager
    def _relaxing(
        self, variable: SSAValue, low: SSAValue | None, extent: SSAValue
    ) -> Generator[None]:
        """A scope in which a variable takes all values of a range."""
        size = self._tree(extent)
        start = smart.const(0, size.dtype) if low is None else self._tree(low)
        if not start.dtype == size.dtype == variable.type:
            yield
            return
        with self._bounds.variable(Value(variable), Range(start, size)):
            self._evaluator = None
            yield
        self._evaluator = None

    @contextmanager
    def _assuming(self, condition: Expr) -> Generator[None]:
        """A scope in which variables take only the values for which a condition holds."""
        with self._bounds.condition(condition):
            self._evaluator = None
            yield
        self._evaluator = None


def _dtypes(found: IntSet) -> tuple[object, ...]:
    """The type of the bounds of a set; empty if it has none."""
    ends = (found.min, found.max)
    return tuple(dict.fromkeys(end.dtype for end in ends if end is not None))


def _not_negative(found: Range) -> Range:
    """The range; of code that never runs, none of it."""
    number = smart.literal(found.extent)
    if number is None or number >= 0:
        return found
    return Range(found.min, smart.const(0, found.extent.dtype))
