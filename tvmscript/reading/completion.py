"""What a script leaves out of a function: the root block, and regions of blocks.

TVM's rules (docs/spec/tvmscript.md §9). They hold on the node trees, before these become
ops.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from xdsl_tvm.analysis.arith import expr as tree
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.int_set import (
    EVERYTHING,
    IntSet,
    IntSetEvaluator,
    added,
    cover_range,
    from_range,
    simplified,
    single_point,
    union,
)
from xdsl_tvm.analysis.arith.int_set import Range as TreeRange
from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.statements import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Block,
    Buffer,
    BufferRealize,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LaunchThread,
    LetStmt,
    MatchBufferRegion,
    Prefetch,
    PrimFunc,
    Range,
    Return,
    Stmt,
    While,
    bodies,
)
from xdsl_tvm.tvmscript.nodes.trees import Trees
from xdsl_tvm.tvmscript.reading.conditions import tightened


class CompletionError(ex.ScriptTypeError):
    """A block whose regions cannot be found; `stmt` is the block."""

    def __init__(self, stmt: Stmt, message: str) -> None:
        super().__init__(message)
        self.stmt = stmt


def complete(function: PrimFunc) -> None:
    """Adds the root block and the regions that the script leaves out, in place.

    Raises CompletionError for a block that uses the pointer of a buffer, whose regions
    have to be given.
    """
    _insert_root(function)
    buffers = {buffer.data: buffer for buffer in function.buffer_map.values()}
    _Completer(buffers).complete(function.body, nested=False)


# ---- the root block ----


def _insert_root(function: PrimFunc) -> None:
    """Puts the body into a block, where TVM does (docs/spec/tvmscript.md §9)."""
    if not function.alloc_buffers and not needs_root(function.body):
        return
    root = Block("root", body=function.body, reads=[], writes=[])
    root.alloc_buffers = function.alloc_buffers
    root.line, root.column = function.line, function.column
    function.alloc_buffers = []
    function.body = [root]


def needs_root(body: Sequence[Stmt]) -> bool:
    """Whether the body of a function that allocates no buffers gets a root block."""
    stmts = [stmt for stmt in body if not _is_buffer_object(stmt)]
    if len(stmts) == 1 and isinstance(stmts[0], Block) and not stmts[0].iters:
        return False
    return any(blocks(stmts))


def _is_buffer_object(stmt: Stmt) -> bool:
    """Whether it is a `T.Buffer`, which TVM has no statement for."""
    return isinstance(stmt, DeclBuffer) and stmt.implicit


def blocks(stmts: Iterable[Stmt]) -> Iterator[Block]:
    """The outermost blocks."""
    for stmt in stmts:
        if isinstance(stmt, Block):
            yield stmt
        else:
            for body in bodies(stmt):
                yield from blocks(body)


# ---- regions ----


class _Completer:
    """Completes the blocks of a function, inner ones first.

    `buffers` are those that are known at the place, by their data variable.
    """

    def __init__(self, buffers: dict[ex.Var, Buffer]) -> None:
        self._buffers = buffers
        self._added: list[ex.Var] = []

    def complete(self, stmts: Sequence[Stmt], *, nested: bool) -> None:
        """Complete the blocks among the statements, and in them."""
        for stmt in stmts:
            if isinstance(stmt, Block):
                self._complete_block(stmt, nested)
                continue
            if isinstance(stmt, DeclBuffer | BufferRealize):
                self._add(stmt.buffer)
            for body in bodies(stmt):
                self.complete(body, nested=nested)

    def _add(self, buffer: Buffer) -> None:
        if buffer.data not in self._buffers:
            self._buffers[buffer.data] = buffer
            self._added.append(buffer.data)

    def _complete_block(self, block: Block, nested: bool) -> None:
        _check_bindings(block)
        mark = len(self._added)
        for buffer in block.alloc_buffers:
            self._add(buffer)
        for match in block.match_buffers:
            self._add(match.buffer)
        for body in bodies(block):
            self.complete(body, nested=True)
        while len(self._added) > mark:
            del self._buffers[self._added.pop()]
        if block.reads is not None and block.writes is not None:
            return
        accesses = _Accesses(block, self._buffers) if nested else None
        if block.reads is None:
            block.reads = [] if accesses is None else accesses.reads()
        if block.writes is None:
            block.writes = [] if accesses is None else accesses.writes()


def _check_bindings(block: Block) -> None:
    for each in block.iters:
        if not tir.is_int(each.binding.type):
            raise CompletionError(
                block,
                f"block '{block.name}': the binding of {each.var.name} must be a signed "
                f"integer, got {each.binding.dtype}",
            )


Box = list[IntSet]
"""A set per dimension; what has no bounds is the whole of it."""


class _Accesses:
    """The boxes of the buffers from outside that a block reads and writes."""

    def __init__(self, block: Block, buffers: Mapping[ex.Var, Buffer]) -> None:
        self._block = block
        self._buffers = buffers
        self._trees = Trees()
        self._analyzer = Analyzer()
        self._read: dict[Buffer, Box] = {}
        self._written: dict[Buffer, Box] = {}
        self._values: dict[ex.Var, tree.Expr] = {}
        self._sets: dict[tree.Expr, IntSet] = {}
        self._evaluator: IntSetEvaluator | None = None
        self._declared: set[Buffer] = set()
        self._views = {match.buffer.data: match for match in block.match_buffers}
        for each in block.iters:
            low, extent = self._tree(each.dom.min), self._tree(each.dom.extent)
            dom = TreeRange(low, extent)
            self._analyzer.bind(self._trees.leaf(each.var), dom)
        self._visit_all(block.init or ())
        self._visit_all(block.body)

    def reads(self) -> list[BufferRegion]:
        """The regions read; of blocks with an init, without what they write."""
        return [
            self._region(buffer, box)
            for buffer, box in self._read.items()
            if self._block.init is None or buffer not in self._written
        ]

    def writes(self) -> list[BufferRegion]:
        """The regions written."""
        return [self._region(*access) for access in self._written.items()]

    def _region(self, buffer: Buffer, box: Box) -> BufferRegion:
        ranges = [
            self._range(found, extent)
            for found, extent in zip(box, buffer.shape, strict=True)
        ]
        return BufferRegion(buffer, tuple(ranges))

    def _range(self, found: IntSet, extent: ex.Expr) -> Range:
        if found.min is None or found.max is None or self._changes(found.min, found.max):
            return Range(ex.const(0, extent.type), extent)
        if found.point is not None:
            low = self._trees.expression(found.point)
            return Range(low, ex.const(1, low.type))
        whole = TreeRange(found.min, found.max)
        dom = cover_range(simplified(found, self._analyzer), whole, self._analyzer)
        return Range(*map(self._trees.expression, (dom.min, dom.extent)))

    def _changes(self, *ends: tree.Expr) -> bool:
        """Whether an end is loaded from memory that the block writes."""
        loads = map(self._trees.loaded, self._trees.leaves(*ends))
        return any(
            isinstance(load, ex.BufferLoad)
            and any(load.buffer.data is buffer.data for buffer in self._written)
            for load in loads
        )

    # ---- statements ----

    def _visit_all(self, stmts: Iterable[Stmt]) -> None:
        for stmt in stmts:
            self._visit(stmt)

    def _visit(self, stmt: Stmt) -> None:
        for value in _expressions(stmt):
            self._visit_expr(value)
        match stmt:
            case BufferStore():
                self._record(self._written, stmt.buffer, self._box(stmt.indices))
            case LetStmt():
                self._bind(stmt.var, stmt.value)
            case DeclBuffer() | BufferRealize():
                self._declared.add(stmt.buffer)
            case Prefetch():
                self._record_region(self._read, stmt.region)
            case Block():
                self._visit_block(stmt)
            case If():
                self._visit_if(stmt)
            case For():
                with self._relaxing(stmt.var, stmt.min, stmt.extent):
                    self._visit_all(stmt.body)
            case LaunchThread():
                zero = ex.const(0, stmt.extent.type)
                with self._relaxing(stmt.var, zero, stmt.extent):
                    self._visit_all(stmt.body)
            case _:
                for body in bodies(stmt):
                    self._visit_all(body)

    def _visit_if(self, stmt: If) -> None:
        for body, holds in ((stmt.body, True), (stmt.orelse, False)):
            with self._assuming(stmt.condition, holds):
                self._visit_all(body or ())

    def _visit_block(self, block: Block) -> None:
        for each in block.iters:
            self._bind(each.var, each.binding)
        for match in block.match_buffers:
            self._views[match.buffer.data] = match
        for table, regions in (
            (self._read, block.reads),
            (self._written, block.writes),
        ):
            for region in regions or ():
                self._record_region(table, region)

    # ---- expressions ----

    def _visit_expr(self, root: ex.Expr) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            match node:
                case ex.Var():
                    self._refuse_pointer(node)
                case ex.BufferLoad():
                    self._record(self._read, node.buffer, self._box(node.indices))
                case ex.Let():
                    self._visit_expr(node.value)
                    self._bind(node.var, node.value)
                    stack.append(node.body)
                    continue
                case ex.Call():
                    stack += reversed(self._visit_call(node))
                    continue
                case _:
                    pass
            stack += reversed(ex.operands(node))

    def _visit_call(self, call: ex.Call) -> Sequence[ex.Expr]:
        """Visits what is special in a call; returns the operands that are left."""
        parts = ex.operands(call)
        match call.name:
            case "if_then_else":
                self._visit_expr(parts[0])
                for part, holds in ((parts[1], True), (parts[2], False)):
                    with self._assuming(parts[0], holds):
                        self._visit_expr(part)
                return ()
            case "tvm_access_ptr":
                self._record_pointer(parts[1], parts[4])
                return parts[2:4]
            case "address_of":
                raise self._opaque("takes the address of an element")
            case "tvm_thread_allreduce":
                for place in parts[1:]:
                    if isinstance(place, ex.BufferLoad):
                        box = self._box(place.indices)
                        self._record(self._written, place.buffer, box)
                return parts
            case _:
                return parts

    def _record_pointer(self, data: ex.Expr, mask: ex.Expr) -> None:
        if not isinstance(data, ex.Var):
            self._visit_expr(data)
            return
        number = ex.literal(mask)
        bits = int(number) if number is not None else 3
        view = self._views.get(data)
        buffer = self._buffers.get(data) if view is None else view.buffer
        if buffer is None:
            return
        for table, bit in ((self._read, 1), (self._written, 2)):
            if bits & bit:
                self._record(table, buffer, [EVERYTHING] * len(buffer.shape))

    def _refuse_pointer(self, var: ex.Var) -> None:
        if var in self._buffers or var in self._views:
            raise self._opaque(f"uses the pointer {var.name}")

    def _opaque(self, what: str) -> CompletionError:
        return CompletionError(
            self._block,
            f"block '{self._block.name}' {what}, so what it accesses is not known; "
            "state it with T.reads and T.writes",
        )

    # ---- boxes ----

    def _record_region(self, table: dict[Buffer, Box], region: BufferRegion) -> None:
        box = [self._set_of_range(each) for each in region.region]
        self._record(table, region.buffer, box)

    def _record(self, table: dict[Buffer, Box], buffer: Buffer, box: Box) -> None:
        """Adds an access: views stand for their sources, what is inside is left out."""
        view = self._views.get(buffer.data)
        if view is not None:
            self._record(table, view.source.buffer, self._box_of_source(view, box))
            return
        known = self._buffers.get(buffer.data)
        if known is None:
            return
        if buffer in self._declared:
            buffer, box = known, [EVERYTHING] * len(known.shape)
        old = table.get(buffer)
        table[buffer] = box if old is None else list(map(self._union, old, box))

    def _union(self, old: IntSet, new: IntSet) -> IntSet:
        return old if old == new else union((old, new), self._analyzer)

    def _box_of_source(self, view: MatchBufferRegion, box: Box) -> Box:
        source = [self._set_of_range(each) for each in view.source.region]
        leading = len(source) - len(box)
        if view.buffer.axis_separators or leading < 0:
            return source
        for axis, inner in enumerate(box, leading):
            start = self._set(view.source.region[axis].min)
            if None not in (inner.min, inner.max, start.min, start.max):
                source[axis] = added(start, inner)
        return source

    def _box(self, indices: Sequence[ex.Expr]) -> Box:
        return [self._set(index) for index in indices]

    def _set(self, index: ex.Expr) -> IntSet:
        """The numbers that an index may be in the block."""
        return self._relaxed(self._tree(index))

    def _relaxed(self, found: tree.Expr) -> IntSet:
        if not self._sets and not tir.is_vector(found.dtype):
            return single_point(found)
        if self._evaluator is None:
            self._evaluator = IntSetEvaluator(self._analyzer, self._sets)
        return self._evaluator(found)

    def _set_of_range(self, dom: Range) -> IntSet:
        """The numbers of a range that may vary."""
        ends = from_range(TreeRange(self._tree(dom.min), self._tree(dom.extent)))
        if ends.min is None or ends.max is None:
            return EVERYTHING
        if ends.point is not None:
            return self._relaxed(ends.point)
        low, high = self._relaxed(ends.min), self._relaxed(ends.max)
        return (
            EVERYTHING if low.is_nothing or high.is_nothing else IntSet(low.min, high.max)
        )

    # ---- variables ----

    def _tree(self, value: ex.Expr) -> tree.Expr:
        """The tree of a value outside of the block; leaves unknown there get sets."""
        found = self._trees.of(value, self._values)
        for leaf in self._trees.leaves(found):
            if leaf not in self._sets and self._is_unknown(leaf):
                self._sets[leaf] = EVERYTHING
                self._evaluator = None
        return found

    def _is_unknown(self, leaf: tree.Expr) -> bool:
        """Whether a leaf means nothing outside of the block, or changes in it."""
        loaded = self._trees.loaded(leaf)
        if loaded is None:
            return False
        if not isinstance(loaded, ex.BufferLoad):
            return True
        buffer = loaded.buffer
        if buffer in self._declared or buffer.data not in self._buffers:
            return True
        inner = self._trees.leaves(*self._trees.parts(leaf))
        return any(each in self._sets for each in inner)

    def _bind(self, var: ex.Var, value: ex.Expr) -> None:
        self._values[var] = self._tree(value)

    @contextmanager
    def _relaxing(self, var: ex.Var, start: ex.Expr, extent: ex.Expr) -> Generator[None]:
        """A variable takes all values of a range."""
        found = self._set_of_range(Range(start, extent))
        with self._with_sets({self._trees.leaf(var): found}):
            yield

    @contextmanager
    def _assuming(self, condition: ex.Expr, holds: bool) -> Generator[None]:
        """Variables take fewer values where a condition holds, or does not."""
        known = self._tree(condition)
        loads = map(self._trees.loaded, self._trees.leaves(known))
        found: dict[tree.Expr, IntSet] = {}
        if self._sets and all(loaded is None for loaded in loads):
            found = tightened(known, holds, self._sets, self._analyzer)
        with self._with_sets(found):
            yield

    @contextmanager
    def _with_sets(self, found: Mapping[tree.Expr, IntSet]) -> Generator[None]:
        before = self._sets
        self._sets = {**before, **found}
        self._evaluator = None
        try:
            yield
        finally:
            self._sets = before
            self._evaluator = None


def _expressions(stmt: Stmt) -> Iterator[ex.Expr]:
    """The expressions of a statement itself, in the order of evaluation."""
    match stmt:
        case LetStmt() | Evaluate() | Return() | AttrStmt():
            yield stmt.value
        case AssertStmt() | While() | If():
            yield stmt.condition
        case BufferStore():
            yield stmt.value
            yield from stmt.indices
            if stmt.predicate is not None:
                yield stmt.predicate
        case Allocate():
            yield from stmt.extents
            if stmt.condition is not None:
                yield stmt.condition
        case For():
            yield from (stmt.min, stmt.extent)
        case LaunchThread():
            yield stmt.extent
        case Block():
            yield from (each.binding for each in stmt.iters)
            if stmt.predicate is not None:
                yield stmt.predicate
        case DeclBuffer() if stmt.data is not None and not isinstance(stmt.data, ex.Var):
            yield stmt.data
        case _:
            pass
