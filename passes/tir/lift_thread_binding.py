"""Loops over the same threads of a kernel become one, around all that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, leaf_values, view
from xdsl_tvm.analysis.tir.lca import CommonAncestors
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import VIRTUAL_THREAD_TAGS
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._cross_thread_reduction.reduction import reduction_loops
from xdsl_tvm.passes.tir._loops.thread_axes import (
    axes_around,
    axis_of,
    is_private,
    replace_variable,
    require_same_range,
)
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    erase_if_unused,
    may_write,
    renewed_block,
    replace_by_body,
)


@dataclass(frozen=True)
class LiftThreadBinding(CompilerPass):
    """Summary: Makes the loops over one thread axis of a kernel a single one, directly
        inside the innermost loop that holds them all.

    TVM name: tir.LiftThreadBinding (v0.20)
    Input form: opaque blocks; threads bound by loops
    Output form: the same, and in each kernel at most one loop for an axis. Threads do not
        wait for each other where the loops were: what they pass on in shared memory needs
        barriers again, which ThreadSync inserts. Virtual threads run their parts one
        thread after the other, no more one part after the other
    Options: none
    Rewrites: before

            tir.for %b = %c0 to %c8 thread_binding "blockIdx.x" {
              tir.for %k = %c0 to %c2 {
                tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
                  tir.evaluate %t : i32
                }
                tir.for %u = %c0 to %c4 thread_binding "threadIdx.x" {
                  tir.evaluate %u : i32
                }
              }
            }

        after

            tir.for %blockIdx.x = %c0 to %c8 thread_binding "blockIdx.x" {
              tir.for %k = %c0 to %c2 {
                tir.for %threadIdx.x = %c0 to %c4 thread_binding "threadIdx.x" {
                  tir.evaluate %threadIdx.x : i32
                  tir.evaluate %threadIdx.x : i32
                }
              }
            }

        A kernel is what the outermost loop over threads holds. A loop that is the only
        one of its axis stays where it is. Where several axes end up in one loop,
        `vthread` is the outermost, then come `vthread.x` and so on, `blockIdx` and
        `threadIdx`, and `x` is around `y` around `z`. Annotations of all loops of an axis
        are merged, where the later one wins. Variables of another type than that of the
        innermost first loop are converted from its.

        A store to shared or global memory that is not in a loop over an axis of its
        kernel counts as one that is, and from then on only the first thread of the axis
        does it, together with what is computed before it for it, or with all of its
        block. For virtual threads it does not count.
    Leaves alone: kernels that bind each axis once, but for such stores and the names of
        variables; `tir.launch_thread`; calls, since threads make some of them together
    Errors: loops over one axis whose minima or extents cannot be shown to be equal: give
        the axis one range; a range that is computed inside of the loop that will hold the
        axis: compute it in front; a store to guard in a block with iteration variables:
        convert the blocks to opaque ones first; a block that reduces over an axis with
        several loops: run LowerCrossThreadReduction first; a store that virtual threads
        would repeat, to memory that they do not have each: bind it to them
    Attributes: read: none; created: none; removed: none
    Differs from TVM: ranges are compared, and variables converted; a range that depends
        on another thread is an error, where TVM keeps a variable that is gone. Stores
        that are not in all axes are guarded, which in TVM all threads of the other axes
        do. TVM leaves the order of axes whose names are of one length open.
    """

    name = "tir-lift-thread-binding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: list[tir.ForOp] = []
        for loop in ops_of(op, tir.ForOp):
            if loop.thread_tag and not (kernels and kernels[-1].is_ancestor(loop)):
                kernels.append(loop)
        for kernel in kernels:
            _Kernel(kernel).lift()


@dataclass
class _Axis:
    """The loops over one axis of a kernel, those inside of others first."""

    tag: str
    loops: list[tir.ForOp] = field(default_factory=list[tir.ForOp])

    @property
    def first(self) -> tir.ForOp:
        return self.loops[0]


class _Kernel:
    """The loops over threads that one of them holds."""

    def __init__(self, root: tir.ForOp) -> None:
        self._root = root
        self._axes: dict[str, _Axis] = {}
        self._stores: list[tuple[tir.StoreOp, list[str]]] = []
        """The stores that are not in all axes, with those that they are not in."""
        self._places: dict[str, Operation] = {}
        self._guarded: set[tir.StoreOp] = set()
        self._holds_only: dict[tuple[tir.BlockOp, tuple[tir.ForOp, ...]], bool] = {}

    def lift(self) -> None:
        """Make the loops over each axis one."""
        for loop in _loops_inside_out(self._root):
            tag = axis_of(loop)
            if tag is not None:
                self._axes.setdefault(tag, _Axis(tag)).loops.append(loop)
        for axis in self._axes.values():
            _require_one_range(axis)
        self._require_no_reduction()
        self._find_stores()
        self._find_places()
        self._rewrite()

    def _require_no_reduction(self) -> None:
        """Raise PassFailedException for a reduction over threads that are lifted.

        What follows its loop needs the results of all threads.
        """
        lifted = {
            loop
            for axis in self._axes.values()
            for loop in axis.loops
            if len(axis.loops) > 1
        }
        for block in ops_of(self._root, tir.BlockOp) if lifted else ():
            if block.init is None or lifted.isdisjoint(reduction_loops(block)):
                continue
            raise PassFailedException(
                f"{describe(block)}: it reduces over threads, which would no more wait "
                "for each other; run tir-lower-cross-thread-reduction first"
            )

    # ---- what goes where ----

    def _find_stores(self) -> None:
        for op in self._root.walk():
            if isinstance(op, tir.StoreOp):
                bound = set(axes_around(op))
                missing = [tag for tag in self._axes if tag not in bound]
                if missing:
                    self._stores.append((op, missing))

    def _find_places(self) -> None:
        """Find the innermost loop that holds what there is of each axis."""
        touched: dict[Operation, list[str]] = {
            op: [tag for tag in missing if tag not in VIRTUAL_THREAD_TAGS]
            for op, missing in self._stores
            if not is_private(op.buffer)
        }
        found = CommonAncestors[str](self._root)
        _touch(self._root, touched, found)
        tag = axis_of(self._root)
        assert tag is not None
        found.touch(tag, self._root)
        self._places = {tag: found[tag] for tag in self._axes}

    # ---- rewriting ----

    def _rewrite(self) -> None:
        held: dict[Operation, list[_Axis]] = {}
        for axis in self._axes.values():
            held.setdefault(self._places[axis.tag], []).append(axis)
        loops = [loop for axis in self._axes.values() for loop in axis.loops]
        ranges = [value for loop in loops for value in loop.operands]
        new: dict[str, tir.ForOp] = {}
        for place, axes in held.items():
            assert isinstance(place, tir.ForOp)
            axes.sort(key=lambda axis: (len(axis.tag), axis.tag))
            new |= _wrap_body(place, axes)
        for store, missing in self._stores:
            self._guard(store, [new[tag] for tag in missing])
        for axis in self._axes.values():
            for loop in axis.loops:
                # The body of a place is in the innermost of the loops put there.
                inner = new[held[loop][-1].tag] if loop in held else loop
                start = InsertPoint.at_start(inner.body.block)
                replace_variable(loop, new[axis.tag].loop_var, start)
        for loop in _outside_in(self._root, set(loops)):
            body = loop.body.block
            body.erase_arg(body.args[0])
            replace_by_body(loop, body)
        erase_if_unused(ranges)

    def _guard(self, store: tir.StoreOp, loops: Iterable[tir.ForOp]) -> None:
        """Let only the first thread of each loop that is around a store do it."""
        loops = [
            loop for loop in loops if loop.is_ancestor(store) and _concerns(store, loop)
        ]
        if not loops or store in self._guarded:
            return
        block = self._block_of_stores(store, loops)
        if block is not None:
            self._guarded |= {op for op in all_ops(block) if isinstance(op, tir.StoreOp)}
            builder = Builder(InsertPoint.before(block))
            predicate = _first_threads(loops, block.predicate, builder)
            renewed_block(block, block.block_name.data, block.iters, predicate)
            return
        self._require_opaque(store)
        computed = _computed_for(store)
        builder = Builder(InsertPoint.before(computed[0]))
        guard = tir.IfOp(_first_threads(loops, None, builder), Region(Block()))
        guard.location = store.location
        builder.insert(guard)
        for op in computed:
            op.detach()
            guard.then_region.block.add_op(op)

    def _block_of_stores(
        self, store: tir.StoreOp, loops: Sequence[tir.ForOp]
    ) -> tir.BlockOp | None:
        """The block around a store, if there is nothing in it but such stores."""
        parent = store.parent_op()
        while parent is not None and not isinstance(parent, tir.BlockOp):
            parent = parent.parent_op()
        if parent is None or not all(loop.is_ancestor(parent) for loop in loops):
            return None
        key = (parent, tuple(loops))
        if key not in self._holds_only:
            self._holds_only[key] = _holds_only_stores(parent, loops)
        return parent if self._holds_only[key] else None

    def _require_opaque(self, store: tir.StoreOp) -> None:
        parent = store.parent_op()
        while parent is not None and parent is not self._root:
            if isinstance(parent, tir.BlockOp) and not parent.is_opaque:
                raise PassFailedException(
                    f"{describe(parent)}: it stores outside of the loops over a thread "
                    "axis of its kernel, and has iteration variables; run "
                    "tir-convert-blocks-to-opaque first, or bind the axis around it"
                )
            parent = parent.parent_op()


def _holds_only_stores(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> bool:
    """Whether all that a block does is to store what the first threads are to store."""
    for op in block.walk():
        if (isinstance(op, tir.BlockOp) and op is not block) or axis_of(op) is not None:
            return False
        if isinstance(op, tir.StoreOp):
            outside = not block.is_ancestor(tir.buffer_definition(op.buffer))
            if outside and not all(_concerns(op, loop) for loop in loops):
                return False
        elif may_write(op):
            return False
    return True


def _concerns(store: tir.StoreOp, loop: tir.ForOp) -> bool:
    """Whether more than one thread of a loop would store to the same memory."""
    if axis_of(loop) not in VIRTUAL_THREAD_TAGS:
        return not is_private(store.buffer)
    if loop.is_ancestor(tir.buffer_definition(store.buffer)):
        return False
    raise PassFailedException(
        f'{describe(store)}: it would be repeated by the threads of "{axis_of(loop)}"; '
        "bind a loop around it to this axis"
    )


def _first_threads(
    loops: Sequence[tir.ForOp], predicate: SSAValue | None, builder: Builder
) -> SSAValue:
    """Whether a thread is the first one of all loops, and a predicate holds."""
    tests = [
        builder.insert(tir.CmpOp(tir.CmpPredicate.EQ, loop.loop_var, loop.min)).result
        for loop in loops
    ]
    tests += [] if predicate is None else [predicate]
    total = tests[0]
    for test in tests[1:]:
        total = builder.insert(tir.AndOp(total, test)).result
    return total


def _computed_for(store: tir.StoreOp) -> list[Operation]:
    """A store with what is computed directly before it, and only for it."""
    found: list[Operation] = [store]
    op = store.prev_op
    while op is not None and op.results and not op.regions and not may_write(op):
        if all(use.operation in found for result in op.results for use in result.uses):
            found.append(op)
        elif isinstance(op, tir.LetOp | tir.AllocBufferOp):
            break
        op = op.prev_op
    return found[::-1]


def _loops_inside_out(root: Operation) -> Iterator[tir.ForOp]:
    """The loops in an op, each after those in it."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _loops_inside_out(op)
    if isinstance(root, tir.ForOp):
        yield root


def _outside_in(root: tir.ForOp, chosen: set[tir.ForOp]) -> list[tir.ForOp]:
    return [op for op in ops_of(root, tir.ForOp) if op in chosen]


def _touch(
    op: Operation, touched: dict[Operation, list[str]], found: CommonAncestors[str]
) -> None:
    """Walk over what an op holds, whose loops are places of the axes in them."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                for tag in touched.get(inner, ()):
                    found.touch(tag)
                if not isinstance(inner, tir.ForOp):
                    _touch(inner, touched, found)
                    continue
                found.enter(inner)
                _touch(inner, touched, found)
                tag = axis_of(inner)
                if tag is not None:
                    found.touch(tag)
                found.leave()


def _require_one_range(axis: _Axis) -> None:
    analyzer, trees = Analyzer(), dict[SSAValue, Expr]()
    ranges = [(view(op.min, trees), view(op.extent, trees)) for op in axis.loops]
    for loop, own in zip(axis.loops[1:], ranges[1:], strict=True):
        require_same_range(loop, own, ranges[0], analyzer)


def _wrap_body(place: tir.ForOp, axes: Sequence[_Axis]) -> dict[str, tir.ForOp]:
    """Put a loop over each axis, the first outermost, around the body of a loop."""
    statements = list(place.body.block.ops)
    ends = [(axis, *_range(place, axis)) for axis in axes]
    for op in statements:
        op.detach()
    builder = Builder(InsertPoint.at_end(place.body.block))
    new: dict[str, tir.ForOp] = {}
    values = [
        (axis, *(_value(place, pair, builder) for pair in pairs)) for axis, *pairs in ends
    ]
    for axis, low, extent in values:
        loop = tir.ForOp(
            low,
            extent,
            Region(Block(arg_types=[low.type])),
            kind=tir.ForKind.THREAD_BINDING,
            thread_tag=axis.first.thread_tag,
            annotations=_merged(axis),
        )
        for old in axis.loops:
            loop.attributes |= old.attributes
        loop.location = axis.first.location
        loop.loop_var.name_hint = axis.tag
        builder.insert(loop)
        builder = Builder(InsertPoint.at_end(loop.body.block))
        new[axis.tag] = loop
    for op in statements:
        builder.insert(op)
    return new


def _range(place: tir.ForOp, axis: _Axis) -> Iterator[tuple[SSAValue, Expr]]:
    """Minimum and extent of an axis, as they are known where a loop starts."""
    for value in axis.first.operands:
        tree = view(value)
        for leaf in leaf_values(tree):
            kept = leaf is place.loop_var and place.thread_tag is None
            if place.is_ancestor(leaf.owner) and not kept:
                raise PassFailedException(
                    f'{describe(axis.first)}: the range of "{axis.tag}" is computed '
                    "inside of the loop that holds all loops over this axis; compute it "
                    "before it"
                )
        yield value, tree


def _value(place: tir.ForOp, pair: tuple[SSAValue, Expr], builder: Builder) -> SSAValue:
    value, tree = pair
    return emit(tree, builder) if place.is_ancestor(value.owner) else value


def _merged(axis: _Axis) -> DictionaryAttr | None:
    found: dict[str, Attribute] = {}
    for loop in axis.loops:
        found |= {} if loop.annotations is None else loop.annotations.data
    return DictionaryAttr(found) if found else None
