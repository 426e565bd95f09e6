"""Thread bindings of a kernel: one nest of loops around it, a variable for each axis."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import AXES
from xdsl_tvm.passes.infra import CompilerPass
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
    is_computed_inside,
    may_write,
    replace_by_body,
)

_Binding = tir.ForOp | tir.LaunchThreadOp


@dataclass(frozen=True)
class UnifyThreadBinding(CompilerPass):
    """Summary: Gives each thread axis of a kernel one variable, bound by one nest of
        loops around the kernel.

    TVM name: tir.UnifyThreadBinding (v0.20)
    Input form: any; reductions over threads are lowered before, by
        tir-lower-cross-thread-reduction: what reads their results comes into their loops
    Output form: threads are bound by loops only, all at the entry of their kernel
    Options: none
    Rewrites: before

            tir.for %b = %c0 to %c8 thread_binding "blockIdx.x" {
              tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
                tir.evaluate %t : i32
              }
              tir.launch_thread %u = "threadIdx.x" to %c4l {
                tir.evaluate %u : i64
              }
            }

        after

            tir.for %b = %c0 to %c8 thread_binding "blockIdx.x" {
              tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
                tir.evaluate %t : i32
                %u = tir.cast %t : i32 to i64
                tir.evaluate %u : i64
              }
            }

        A kernel is what the outermost binding holds. The loops are in the order of the
        first bindings of their axes, and have the type of these; `vthread` and
        `vthread.x` are two axes. An axis has one index: where it is bound within a
        binding of itself, also a virtual one, both are that index. A virtual axis of
        which the bindings do not hold all that the kernel writes to memory which threads
        share is bound by loops in their places. What a binding inside
        of the kernel is annotated with goes to the loop that is its body, or to a serial
        loop that runs once around it. Time is linear in the size of the module, but for
        the proofs.
    Leaves alone: functions that bind no threads
    Errors: bindings of one axis whose minima or extents cannot be shown to be equal: give
        the axis one range; a range that is computed from what the kernel computes, such
        as a variable of a loop in it: compute it before the kernel
    Attributes: read: none; created: none; removed: none
    Differs from TVM: annotations are added to those of the loop they go to, where TVM
        replaces them; those of `tir.launch_thread` count, too. A range that depends on
        the inside of the kernel is an error, where TVM moves it out of scope. TVM moves
        all virtual axes, so that their threads repeat statements. A reduction
        over threads names the variable of the loop itself, whatever its type.
    """

    name = "tir-unify-thread-binding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: list[_Binding] = []
        end: Operation | None = None
        for inner in ops_of(op, tir.ForOp, tir.LaunchThreadOp):
            if _tag(inner) is None:
                continue
            if end is None or not end.is_ancestor(inner):
                kernels.append(inner)
                end = inner
        for kernel in kernels:
            _Kernel(kernel).unify()


def _tag(op: _Binding) -> StringAttr | None:
    """The axis that an op binds threads of."""
    return op.thread_tag if isinstance(op, tir.ForOp) else op.tag


class _Kernel:
    """The bindings of one kernel."""

    def __init__(self, root: _Binding) -> None:
        self._root = root
        self._analyzer = Analyzer()
        self._trees: dict[SSAValue, Expr] = {}
        self._first: dict[str, _Binding] = {}
        self._loops: dict[str, tir.ForOp] = {}

    def unify(self) -> None:
        """Bind all axes around the kernel."""
        bindings = [
            op
            for op in all_ops(self._root)
            if isinstance(op, _Binding) and _tag(op) is not None
        ]
        ranges = [value for op in bindings for value in op.operands]
        staying = self._staying(bindings)
        for op in bindings:
            if op not in staying:
                self._use_loop(op, self._enclosing(op, staying))
        for op in reversed(bindings[1:]):
            if op not in staying:
                replace_by_body(op, _annotate(op, _body(op)))
        self._nest()
        for op in staying:
            if isinstance(op, tir.LaunchThreadOp):
                _replace_by_loop(op)
        erase_if_unused(ranges)

    def _staying(self, bindings: Sequence[_Binding]) -> set[_Binding]:
        """The outermost bindings of virtual axes that do not hold all of the kernel.

        Around the kernel, each of their threads would repeat what they do not hold.
        """
        virtual = {op for op in bindings if AXES[_axis(op)].is_virtual}
        if not virtual:
            return set()
        repeated: set[str] = set()
        tags = {_axis(op) for op in virtual}
        for op in self._root.walk():
            if may_write(op) and not _is_own(op):
                repeated |= tags.difference(axes_around(op, self._root.parent_op()))
        return {
            op
            for op in virtual
            if _axis(op) in repeated
            and _axis(op) not in axes_around(op, self._root.parent_op())
        }

    def _enclosing(self, op: _Binding, staying: Container[_Binding]) -> _Binding | None:
        """The binding of the same axis around an op, of those that stay."""
        around = op.parent_op()
        while around is not None and around is not self._root:
            if (
                isinstance(around, _Binding)
                and around in staying
                and _axis(around) == _axis(op)
            ):
                return around
            around = around.parent_op()
        return None

    def _use_loop(self, op: _Binding, around: _Binding | None) -> None:
        """Let the body of a binding use the variable of the loop of its axis.

        That is a loop around the kernel, or the binding `around` it.
        """
        tag = _tag(op)
        assert tag is not None
        first = self._first.setdefault(tag.data, op) if around is None else around
        if first is op:
            self._loops[tag.data] = self._new_loop(op, tag)
        else:
            require_same_range(op, self._range(op), self._range(first), self._analyzer)
        loop = self._loops[tag.data] if around is None else around
        old, new = op.body.block.args[0], loop.body.block.args[0]
        new.name_hint = new.name_hint or old.name_hint
        replace_variable(op, new, InsertPoint.at_start(op.body.block))

    def _new_loop(self, op: _Binding, tag: StringAttr) -> tir.ForOp:
        builder = Builder(InsertPoint.before(self._root))
        low, extent = self._range(op)
        minimum = self._outside(op, low, builder)
        loop = tir.ForOp(
            minimum,
            self._outside(op, extent, builder),
            Region(Block(arg_types=[minimum.type])),
            kind=tir.ForKind.THREAD_BINDING,
            thread_tag=tag,
        )
        loop.location = op.location
        return loop

    def _range(self, op: _Binding) -> tuple[Expr, Expr]:
        extent = view(op.extent, self._trees)
        if isinstance(op, tir.ForOp):
            return view(op.min, self._trees), extent
        return smart.const(0, extent.dtype), extent

    def _outside(self, op: _Binding, tree: Expr, builder: Builder) -> SSAValue:
        """The value of a tree before the kernel."""
        if is_computed_inside(tree, self._root):
            raise PassFailedException(
                f"{describe(op)}: the range of {_tag(op)} is computed inside of its "
                "kernel; compute it before it"
            )
        for value in op.operands:
            around = self._root.is_ancestor(value.owner)
            if view(value, self._trees) is tree and not around:
                return value
        return emit(tree, builder)

    def _nest(self) -> None:
        """Put the loops around what the outermost binding holds."""
        outermost, *inner = self._loops.values()
        annotations = _annotations(self._root)
        if annotations:
            outermost.annotations = DictionaryAttr(annotations)
        outermost.attributes |= self._root.attributes
        body = _body(self._root)
        for loop in reversed(inner):
            Rewriter.inline_block(body, InsertPoint.at_end(loop.body.block))
            body = Block([loop])
        Rewriter.inline_block(body, InsertPoint.at_end(outermost.body.block))
        Rewriter.replace_op(self._root, outermost)


def _axis(op: Operation) -> str:
    """The axis that a binding binds."""
    tag = axis_of(op)
    assert tag is not None
    return tag


def _is_own(op: Operation) -> bool:
    """Whether an op stores to memory that each thread has a copy of."""
    return isinstance(op, tir.StoreOp) and is_private(op.buffer)


def _replace_by_loop(launch: tir.LaunchThreadOp) -> None:
    """Bind the axis of a launch by a loop in its place."""
    zero = tir.ConstOp.of(0, launch.extent.type)
    loop = tir.ForOp(
        zero,
        launch.extent,
        launch.detach_region(launch.body),
        kind=tir.ForKind.THREAD_BINDING,
        thread_tag=launch.tag,
        annotations=launch.annotations,
    )
    loop.location = launch.location
    loop.attributes |= launch.attributes
    Rewriter.replace_op(launch, [zero, loop], [])


def _body(op: _Binding) -> Block:
    """The body of a binding, without its variable."""
    body = op.body.block
    body.erase_arg(body.args[0])
    return body


def _annotations(op: _Binding) -> dict[str, Attribute]:
    return {} if op.annotations is None else dict(op.annotations.data)


def _annotate(op: _Binding, body: Block) -> Block:
    """The body of a binding, with what the binding is annotated with on a loop."""
    annotations = _annotations(op)
    if not annotations and not op.attributes:
        return body
    statements = [each for each in body.ops if not _is_expression(each)]
    if len(statements) == 1 and isinstance(statements[0], tir.ForOp):
        loop = statements[0]
        annotations = _annotations(loop) | annotations
    else:
        zero, one = tir.ConstOp.of(0, i32), tir.ConstOp.of(1, i32)
        loop = tir.ForOp(zero, one, Region(Block(arg_types=[i32])))
        loop.location = op.location
        Rewriter.inline_block(body, InsertPoint.at_end(loop.body.block))
        body = Block([zero, one, loop])
    if annotations:
        loop.annotations = DictionaryAttr(annotations)
    loop.attributes |= op.attributes
    return body


def _is_expression(op: Operation) -> bool:
    return bool(op.results) and is_side_effect_free(op)
