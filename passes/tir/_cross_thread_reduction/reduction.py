"""One reduction over threads: its checks, and the blocks that take its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Value,
    emit,
    leaf_values,
    substitute,
    values_at_hand,
    view,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cross_thread_reduction.update import (
    ReductionUpdate,
    buffers_touched,
    read_update,
    refuse,
)
from xdsl_tvm.passes.tir._loops.enclosing import loops_around
from xdsl_tvm.passes.tir._loops.thread_axes import axes_around, axis_of, is_private
from xdsl_tvm.passes.tir.rewriting.statements import (
    erase_if_unused,
    may_write,
    renewed_block,
)

_KINDS = (tir.IterKind.SPATIAL, tir.IterKind.REDUCE)
_PROLOGUE = (
    tir.AllocBufferOp,
    tir.MatchBufferOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.ShapeVarOp,
    tir.WritesOp,
)


def reduction_loops(block: tir.BlockOp) -> list[tir.ForOp]:
    """The loops whose variables the reduction variables of a block are computed from."""
    trees: dict[SSAValue, Expr] = {}
    leaves = {
        leaf
        for it in block.iters
        if it.kind is tir.IterKind.REDUCE
        for leaf in leaf_values(view(it.binding, trees))
    }
    return [loop for loop in loops_around(block) if loop.loop_var in leaves]


def kernel_of(loop: tir.ForOp) -> Operation:
    """The innermost loop over blocks around a loop over threads, or the outermost one
    over threads.
    """
    kernel: Operation = loop
    op: Operation | None = loop
    while op is not None:
        tag = axis_of(op)
        if tag is not None:
            kernel = op
            if tag.startswith("blockIdx."):
                break
        op = op.parent_op()
    return kernel


class ThreadReduction:
    """One block that reduces over threads."""

    def __init__(self, block: tir.BlockOp) -> None:
        init = block.init
        assert init is not None
        self.block = block
        self.init = init
        self.loops = reduction_loops(block)
        self.threads = [loop for loop in self.loops if loop.thread_tag is not None]
        predicate = block.predicate
        always = predicate is None or tir.is_constant(predicate, 1)
        serial = [loop for loop in self.loops if loop.thread_tag is None]
        self.needs_in_thread = bool(serial) or not always
        self._moved: list[tir.ForOp] = []
        self._nest: Operation = block
        if serial:
            self._nest = serial[0]
            self._moved = [t for t in self.threads if serial[0].is_ancestor(t)]
        self.update: ReductionUpdate

    # ---- conditions ----

    def check(self) -> None:
        """Refuse what breaks a condition of the pass."""
        self._check_deepest()
        self._check_axes()
        self.update = read_update(self.block, self.init)
        self._check_scopes()
        self._check_rest()
        self._check_moved()

    def _check_deepest(self) -> None:
        op: Operation = self.block
        for loop in reversed(self.loops):
            parent = op.parent_op()
            assert parent is not None
            if parent is not loop:
                refuse(
                    self.block,
                    1,
                    f"the loops it reduces over are not the innermost ones around it, "
                    f"{parent.name} is between; move it outward",
                )
            op = loop

    def _check_axes(self) -> None:
        seen: set[str] = set()
        for loop in self.threads:
            tag = axis_of(loop) or ""
            if not tag.startswith("threadIdx."):
                refuse(
                    self.block,
                    2,
                    f'it reduces over "{tag}"; bind reduction loops to threadIdx only',
                )
            if tag in seen or tag in axes_around(loop):
                refuse(
                    self.block,
                    2,
                    f'"{tag}" is bound twice around it; bind each axis once',
                )
            seen.add(tag)

    def _check_scopes(self) -> None:
        private = {is_private(buffer) for buffer in self.update.buffers}
        if len(private) > 1:
            refuse(
                self.block,
                7,
                "it reduces into memory of the threads and into memory that they share; "
                "use one kind",
            )

    def _check_rest(self) -> None:
        """Look at what else is in the loops that the block reduces over."""
        outputs = {
            memory_of(buffer, distinct_parameters=True) for buffer in self.update.buffers
        }
        inner: Operation = self.block
        for loop in reversed(self.loops):
            needed = self._threads_moved_over(loop)
            behind = False
            for op in loop.body.block.ops:
                if op is inner:
                    behind = True
                    continue
                self._check_statement(op, outputs, needed, behind=behind)
            inner = loop

    def _threads_moved_over(self, loop: tir.ForOp) -> list[str]:
        """The axes that what is directly in a loop will be inside of."""
        if not self._nest.is_ancestor(loop):
            return []
        moved = [t for t in self._moved if t is not loop and loop.is_ancestor(t)]
        return [tag for tag in map(axis_of, moved) if tag is not None]

    def _check_statement(
        self,
        statement: Operation,
        outputs: set[Memory],
        needed: Sequence[str],
        *,
        behind: bool,
    ) -> None:
        for op in statement.walk():
            for buffer in buffers_touched(op):
                if memory_of(buffer, distinct_parameters=True) in outputs:
                    refuse(
                        self.block,
                        9,
                        f"{op.name} in the loops that it reduces over uses what is not "
                        "reduced yet; move it out of them",
                    )
            if behind and (isinstance(op, tir.BlockOp) or may_write(op)):
                refuse(
                    self.block,
                    8,
                    f"{op.name} is after it in the loops that it reduces over; move it "
                    "after the loops",
                )
            if needed and may_write(op):
                self._require_bound(op, statement, needed)

    def _require_bound(
        self, op: Operation, statement: Operation, needed: Sequence[str]
    ) -> None:
        """Refuse a write that more threads would do when their loops are moved out."""
        buffers = list(buffers_touched(op))
        if buffers and all(map(is_private, buffers)):
            return
        bound = set(axes_around(op, statement.parent_op()))
        for tag in needed:
            if tag not in bound:
                refuse(
                    self.block,
                    10,
                    f"{op.name} in the loops that it reduces over would be run by all "
                    f'threads of "{tag}"; bind a loop around it to this axis',
                )

    def _check_moved(self) -> None:
        """Refuse what is computed in the loops and needed outside of them."""
        variables = {loop.loop_var for loop in self.loops}
        inside = {loop.loop_var for loop in self._moved}
        trees = [view(value) for loop in self._moved for value in loop.operands]
        for it in self.block.iters:
            if it.kind is tir.IterKind.SPATIAL:
                spatial = [view(v) for v in (it.binding, it.min, it.extent)]
                if not variables.isdisjoint(leaf_values(*spatial)):
                    refuse(
                        self.block,
                        12,
                        "a spatial variable is computed from a loop that it reduces "
                        "over; split the loop",
                    )
                trees += spatial
        trees += self._conditions(Analyzer())
        for tree in trees:
            for leaf in leaf_values(tree):
                if leaf not in inside and self._nest.is_ancestor(leaf.owner):
                    self._refuse_inside()
        own = set(self.block.iter_vars)
        for index in self.update.indices:
            for leaf in leaf_values(index):
                if leaf not in own and self._nest.is_ancestor(leaf.owner):
                    self._refuse_inside()

    def _refuse_inside(self) -> None:
        refuse(
            self.block,
            12,
            "a range, an index or a condition is computed in the loops that it reduces "
            "over; compute it before them",
        )

    def _conditions(self, analyzer: Analyzer) -> list[Expr]:
        """When the block stores at all, apart from which threads do."""
        trees: dict[SSAValue, Expr] = {}
        starts = {
            view(loop.loop_var, trees): view(loop.min, trees) for loop in self.loops
        }
        for loop in loops_around(self.block):
            domain = Range(view(loop.min, trees), view(loop.extent, trees))
            analyzer.bind(loop.loop_var, domain)
        predicate = self.block.predicate
        yes = smart.const(1, i1)
        parts = list(conjuncts(yes if predicate is None else view(predicate, trees)))
        serial = [loop for loop in self.loops if loop not in self.threads]
        parts += [smart.gt(view(loop.extent, trees), 0) for loop in serial]
        found: list[Expr] = []
        for part in parts:
            at_start = substitute(part, starts)
            if at_start is not part:
                at_start = analyzer.simplify(at_start)
                at_start = yes if analyzer.can_prove(at_start) else at_start
            if at_start is not yes:
                found.append(at_start)
        return found

    # ---- rewriting ----

    def lower_in_thread(
        self, own: Sequence[SSAValue], cross: Sequence[SSAValue]
    ) -> Iterable[Operation]:
        """Let each thread reduce in `own`, and all of them together in `cross`."""
        self._move_threads_out()
        init = self._init_block(own)
        if self._moved:
            Rewriter.insert_op(init, InsertPoint.before(self._nest))
        else:
            Rewriter.insert_op(init, InsertPoint.at_start(self.threads[-1].body.block))
        conditions = self._conditions(Analyzer())
        together = self._cross_block(own, cross)
        Rewriter.insert_op(together, InsertPoint.after(self._nest))
        back = self._write_back(cross, conditions, InsertPoint.after(together))
        self._reduce_in(own)
        return init, self.block, together, back

    def lower_in_place(self, cross: Sequence[SSAValue]) -> Iterable[Operation]:
        """Let the block itself reduce over threads."""
        back = self._write_back(cross, [], InsertPoint.after(self.block))
        return self._reduce_together(cross), back

    def _move_threads_out(self) -> None:
        """Put the loops over threads around the outermost serial one."""
        for loop in self._moved:
            builder = Builder(InsertPoint.before(self._nest))
            for number, value in enumerate(loop.operands):
                if self._nest.is_ancestor(value.owner):
                    loop.operands[number] = emit(view(value), builder)
            for op in list(loop.body.block.ops):
                op.detach()
                Rewriter.insert_op(op, InsertPoint.before(loop))
            loop.detach()
            builder.insert(loop)
            self._nest.detach()
            loop.body.block.add_op(self._nest)

    def _block(self, suffix: str, body: Block) -> tir.BlockOp:
        """A block without variables, named after the reduction."""
        found = tir.BlockOp(self._name(suffix), (), Region(body))
        found.location = self.block.location
        return found

    def _name(self, suffix: str) -> str:
        return f"{self.block.block_name.data}_{suffix}"

    def _init_block(self, own: Sequence[SSAValue]) -> tir.BlockOp:
        body = Block()
        builder = Builder(InsertPoint.at_end(body))
        zero = builder.insert(tir.ConstOp.of(0, i32)).result
        builder.insert(tir.ReadsOp())
        builder.insert(tir.WritesOp(_first_elements(own, zero)))
        for buffer, identity in zip(own, self.update.reducer.op.identities, strict=True):
            start = builder.insert(tir.ConstOp(identity)).result
            builder.insert(tir.StoreOp(start, buffer, [zero]))
        return self._block("in_thread_init", body)

    def _reduce_in(self, own: Sequence[SSAValue]) -> None:
        """Let the block reduce in one element of each thread."""
        block, update = self.block, self.update
        builder = Builder(InsertPoint.at_start(block.body.block))
        zero = builder.insert(tir.ConstOp.of(0, i32)).result
        self._replace_regions(tir.WritesOp, _first_elements(own, zero))
        for buffer, loads, store in zip(own, update.loads, update.stores, strict=True):
            for load in loads:
                new = tir.LoadOp(buffer, [zero])
                new.location = load.location
                new.result.name_hint = load.result.name_hint
                indices = list(load.indices)
                Rewriter.replace_op(load, new)
                erase_if_unused(indices)
            indices = list(store.indices)
            new = tir.StoreOp(store.value, buffer, [zero])
            new.location = store.location
            Rewriter.replace_op(store, new)
            erase_if_unused(indices)
        _erase(self.init)
        block.block_name = StringAttr(self._name("in_thread"))

    def _replace_regions(
        self,
        kind: type[tir.ReadsOp | tir.WritesOp],
        regions: Sequence[tir.BufferRegion],
    ) -> None:
        """Declare other regions; a block without declarations gets none."""
        for op in self.block.body.block.ops:
            if isinstance(op, kind):
                operands = list(op.operands)
                new = kind(regions)
                new.location = op.location
                Rewriter.replace_op(op, new)
                erase_if_unused(operands)
                return

    def _cross_block(
        self, own: Sequence[SSAValue], cross: Sequence[SSAValue]
    ) -> tir.BlockOp:
        """The block that reduces what each thread has."""
        body = Block()
        builder = Builder(InsertPoint.at_end(body))
        zero = builder.insert(tir.ConstOp.of(0, i32)).result
        builder.insert(tir.ReadsOp(_first_elements(own, zero)))
        builder.insert(tir.WritesOp(_first_elements(cross, zero)))
        sources = [builder.insert(tir.LoadOp(b, [zero])).result for b in own]
        threads = [loop.loop_var for loop in self.threads]
        self._insert_allreduce(builder, sources, cross, zero, threads)
        return self._block("cross_thread", body)

    def _insert_allreduce(
        self,
        builder: Builder,
        sources: Sequence[SSAValue],
        cross: Sequence[SSAValue],
        zero: SSAValue,
        threads: Sequence[SSAValue],
    ) -> None:
        reducer = builder.insert(self.update.reducer.op).result
        places = [(buffer, [zero]) for buffer in cross]
        reduce = tir.ThreadAllreduceOp(sources, places, threads)
        number = builder.insert(tir.ConstOp.of(0, tir.parse_dtype("uint64"))).result
        null = builder.insert(tir.CallOp("reinterpret", [number], tir.HandleType()))
        scope = tir.AttrOp(
            "reduce_scope", reducer, null.results[0], Region(Block([reduce]))
        )
        scope.location = reduce.location = self.block.location
        builder.insert(scope)

    def _reduce_together(self, cross: Sequence[SSAValue]) -> tir.BlockOp:
        """Make the block one that combines the new values of the threads."""
        update = self.update
        last = self.block.body.block.last_op
        while not isinstance(last, tir.StoreOp):
            assert last is not None
            last = last.prev_op
        block, threads = self._with_threads()
        first = Builder(InsertPoint.at_start(block.body.block))
        zero = first.insert(tir.ConstOp.of(0, i32)).result
        builder = Builder(InsertPoint.before(last))
        at_hand = values_at_hand(update.trees)
        sources = [emit(tree, builder, at_hand) for tree in update.reducer.operands]
        self._insert_allreduce(builder, sources, cross, zero, threads)
        unused = [value for op in update.stores for value in op.operands]
        for op in update.stores:
            Rewriter.erase_op(op)
        _erase(self.init)
        self._replace_regions(tir.WritesOp, _first_elements(cross, zero))
        _erase_bindings(block)
        erase_if_unused([*unused, *(op.result for loads in update.loads for op in loads)])
        return block

    def _with_threads(self) -> tuple[tir.BlockOp, list[SSAValue]]:
        """The block, named anew, with a variable for each thread it reduces over."""
        iters = list(self.block.iters)
        arguments = self.block.body.block
        found: list[SSAValue] = []
        for loop in self.threads:
            bound = [n for n, it in enumerate(iters) if it.binding is loop.loop_var]
            if not bound:
                bound = [len(iters)]
                argument = arguments.insert_arg(loop.loop_var.type, len(iters))
                argument.name_hint = loop.loop_var.name_hint
                kind = tir.IterKind.REDUCE
                iters.append(tir.IterVar(kind, loop.min, loop.extent, loop.loop_var))
            found.append(arguments.args[bound[0]])
        name = self._name("cross_thread")
        self.block = renewed_block(self.block, name, iters, None)
        return self.block, found

    def _write_back(
        self, cross: Sequence[SSAValue], conditions: Sequence[Expr], place: InsertPoint
    ) -> tir.BlockOp:
        """The block that stores what was reduced, by one thread if others see it."""
        builder = Builder(place)
        trees: dict[SSAValue, Expr] = {}
        known: dict[Expr, SSAValue] = {}

        def moved(value: SSAValue) -> SSAValue:
            if not self._nest.is_ancestor(value.owner):
                return value
            return emit(view(value, trees), builder, known)

        spatial = [
            (variable, it)
            for variable, it in zip(self.block.iter_vars, self.block.iters, strict=True)
            if it.kind is tir.IterKind.SPATIAL
        ]
        iters = [
            tir.IterVar(
                it.kind, moved(it.min), moved(it.extent), moved(it.binding), it.name
            )
            for _, it in spatial
        ]
        predicate = self._write_condition(conditions, builder, known)
        body = Block(arg_types=[variable.type for variable, _ in spatial])
        for (old, _), new in zip(spatial, body.args, strict=True):
            new.name_hint = old.name_hint
        self._store_results(body, [variable for variable, _ in spatial], cross)
        name = self._name("write_back")
        block = tir.BlockOp(name, iters, Region(body), predicate=predicate)
        block.location = self.block.location
        return builder.insert(block)

    def _write_condition(
        self,
        conditions: Sequence[Expr],
        builder: Builder,
        known: dict[Expr, SSAValue],
    ) -> SSAValue | None:
        parts = [emit(part, builder, known) for part in conditions]
        if not is_private(self.update.buffers[0]):
            parts += [
                builder.insert(
                    tir.CmpOp(tir.CmpPredicate.EQ, loop.loop_var, loop.min)
                ).result
                for loop in self.threads
            ]
        total: SSAValue | None = None
        for part in parts:
            joined = None if total is None else builder.insert(tir.AndOp(total, part))
            total = part if joined is None else joined.result
        return total

    def _store_results(
        self, body: Block, variables: Sequence[SSAValue], cross: Sequence[SSAValue]
    ) -> None:
        builder = Builder(InsertPoint.at_end(body))
        known: dict[Expr, SSAValue] = {
            Value(old): new for old, new in zip(variables, body.args, strict=True)
        }
        zero = builder.insert(tir.ConstOp.of(0, i32)).result
        indices = [emit(tree, builder, known) for tree in self.update.indices]
        ones = [1] * len(indices)
        builder.insert(tir.ReadsOp(_first_elements(cross, zero)))
        builder.insert(
            tir.WritesOp(
                [
                    tir.BufferRegion(buffer, tuple(indices), tuple(ones))
                    for buffer in self.update.buffers
                ]
            )
        )
        values = [builder.insert(tir.LoadOp(buffer, [zero])).result for buffer in cross]
        for value, buffer in zip(values, self.update.buffers, strict=True):
            builder.insert(tir.StoreOp(value, buffer, indices))


def _first_elements(
    buffers: Iterable[SSAValue], zero: SSAValue
) -> list[tir.BufferRegion]:
    return [tir.BufferRegion(buffer, (zero,), (1,)) for buffer in buffers]


def _erase(op: Operation) -> None:
    """Erase a statement and what only it uses."""
    outside = [
        value
        for inner in all_ops(op)
        for value in inner.operands
        if not op.is_ancestor(value.owner)
    ]
    Rewriter.erase_op(op)
    erase_if_unused(outside)


def _erase_bindings(block: tir.BlockOp) -> None:
    """Erase the bindings in a block that nothing uses."""
    for op in reversed(list(block.body.block.ops)):
        if isinstance(op, tir.LetOp) and op.result.first_use is None:
            _erase(op)
