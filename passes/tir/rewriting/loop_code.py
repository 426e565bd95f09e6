"""Loops, buffers and statements written from expression trees.

Strategies of the default schedule do not edit the loops they find: they write new ones
beside them, and the old ones go. `LoopCode` is the pen.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, DictionaryAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, emit
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir.types import buffer_of

_ALWAYS_WRITTEN = (tir.ForKind.VECTORIZED, tir.ForKind.THREAD_BINDING)
"""Kinds of loops that are written where there is one iteration, too."""
_LEFT_TO_LLVM: dict[str, Attribute] = {"pragma_unroll_explicit": IntegerAttr(0, i32)}
"""An unrolled loop is no more text than a loop until LLVM unrolls it."""


class LoopCode:
    """Writes at one place, and into the loops that it opens there.

    Trees that have been written are not written again while they are in scope, nor are
    those that are `known` there.
    """

    def __init__(
        self, place: InsertPoint, known: Mapping[Expr, SSAValue] | None = None
    ) -> None:
        self._builder = Builder(place)
        self._known = dict(known or {})

    # ---- expressions ----

    def value(self, tree: Expr) -> SSAValue:
        """The value of a tree, computed here unless it is available."""
        return emit(tree, self._builder, self._known)

    def insert(self, op: Operation) -> None:
        """Put an op of its own here."""
        self._builder.insert(op)

    def call(self, name: str, args: Sequence[Expr], dtype: Attribute) -> Expr:
        """The result of a builtin with an effect, called here."""
        op = tir.CallOp(name, [self.value(argument) for argument in args], dtype)
        self.insert(op)
        return Value(op.results[0])

    def string(self, text: str) -> Expr:
        """A string, as an operand of a call."""
        op = tir.StringOp(text)
        self.insert(op)
        return Value(op.results[0])

    def choice(self, condition: Expr, write: Callable[[], Expr], otherwise: Expr) -> Expr:
        """What `write` computes where a condition holds, else `otherwise`: lazily.

        Nothing is asked where the condition is known to hold.
        """
        if smart.literal(condition) == 1:
            return write()
        op = tir.IfThenElseOp(
            self.value(condition), otherwise.dtype, Region(Block()), Region(Block())
        )
        for region, tree in (
            (op.true_region, write),
            (op.false_region, lambda: otherwise),
        ):
            with self._at_end(region.block):
                self.insert(tir.YieldOp(self.value(tree())))
        self.insert(op)
        return Value(op.result)

    def let(self, name: str, tree: Expr, result_type: Attribute | None = None) -> Expr:
        """A variable that is bound to a tree here."""
        op = tir.LetOp(self.value(tree), name=name, result_type=result_type)
        set_name_hint(op.result, name)
        self.insert(op)
        return Value(op.result)

    def shuffled(self, vectors: Sequence[SSAValue], lanes: Sequence[int]) -> Expr:
        """Lanes of vectors of one type, counted through all of them, in this order."""
        dtype = tir.with_lanes(tir.element_of(vectors[0].type), len(lanes))
        indices = [self.value(smart.const(lane, i32)) for lane in lanes]
        op = tir.ShuffleOp(vectors, indices, dtype)
        self.insert(op)
        return Value(op.result)

    # ---- memory ----

    def alloc(
        self, name: str, shape: Sequence[int | Expr], dtype: Attribute, scope: str
    ) -> SSAValue:
        """A buffer for the rest of the block that is being written."""
        static = [e if isinstance(e, int) else DYNAMIC_INDEX for e in shape]
        dynamic = [self.value(extent) for extent in shape if isinstance(extent, Expr)]
        type_ = buffer_of(tuple(static), dtype, scope)
        op = tir.AllocBufferOp(type_, dynamic, name=name)
        set_name_hint(op.buffer, name)
        self.insert(op)
        return op.buffer

    def data(self, buffer: SSAValue) -> Expr:
        """The pointer to the first element of a buffer."""
        op = tir.DataOp(buffer)
        self.insert(op)
        return Value(op.results[0])

    def read_pointer(self, buffer: SSAValue, offset: Expr, extent: Expr) -> Expr:
        """A pointer through which `extent` elements from `offset` on are read."""
        data = self.data(buffer)
        assert isinstance(data, Value)
        assert isinstance(data.value.type, tir.PtrType)
        op = tir.AccessPtrOp(
            data.value,
            self.value(offset),
            self.value(extent),
            tir.AccessMode.READ,
            data.value.type,
        )
        self.insert(op)
        return Value(op.result)

    def load(self, buffer: SSAValue, *indices: Expr) -> Expr:
        """The element of a buffer as it is now."""
        op = tir.LoadOp(buffer, [self.value(index) for index in indices])
        self.insert(op)
        return Value(op.result)

    def store(self, value: Expr, buffer: SSAValue, *indices: Expr) -> None:
        """Write an element of a buffer."""
        places = [self.value(index) for index in indices]
        self.insert(tir.StoreOp(self.value(value), buffer, places))

    # ---- statements with a body ----

    @contextmanager
    def loop(
        self,
        name: str,
        extent: Expr,
        kind: tir.ForKind = tir.ForKind.SERIAL,
        *,
        low: Expr | None = None,
        annotations: dict[str, Attribute] | None = None,
        thread: str | None = None,
    ) -> Generator[Expr]:
        """A loop from `low`, or 0, over `extent` values; its variable.

        With `thread`, its iterations are the threads, or blocks of them, of that axis.
        """
        kind = kind if thread is None else tir.ForKind.THREAD_BINDING
        first = smart.const(0, extent.dtype) if low is None else low
        first, extent = smart.matched(first, extent)
        if smart.literal(extent) == 1 and kind not in _ALWAYS_WRITTEN:
            yield first
            return
        op = tir.ForOp(
            self.value(first),
            self.value(extent),
            kind=kind,
            thread_tag=thread,
            annotations=DictionaryAttr(annotations) if annotations else None,
            name=name,
        )
        set_name_hint(op.loop_var, name)
        with self._inside(op, op.body.block):
            yield Value(op.loop_var)

    def unrolled(self, name: str, extent: Expr) -> AbstractContextManager[Expr]:
        """A loop that the machine's compiler unrolls in full; its variable."""
        kind = tir.ForKind.UNROLLED
        return self.loop(name, extent, kind, annotations=_LEFT_TO_LLVM)

    def steps(
        self,
        name: str,
        extent: Expr,
        step: int,
        write: Callable[[Expr, int], None],
        kind: tir.ForKind = tir.ForKind.SERIAL,
        *,
        low: Expr | None = None,
        annotations: dict[str, Attribute] | None = None,
    ) -> None:
        """Strides of `step` from `low`, or 0, and single steps over what remains.

        `write(start, length)` writes the body for values from `start`; the length is
        `step` or 1. Loops that never run are not written.
        """
        dtype = extent.dtype
        start = smart.const(0, dtype) if low is None else low
        length = smart.const(step, dtype)
        whole = smart.floordiv(extent, length)
        done = smart.mul(whole, length)
        if smart.literal(whole) != 0:
            hints = annotations
            with self.loop(f"{name}.o", whole, kind, annotations=hints) as number:
                write(smart.add(start, smart.mul(number, length)), step)
        rest = smart.floormod(extent, length)
        if smart.literal(rest) != 0:
            with self.loop(f"{name}.t", rest, low=smart.add(start, done)) as value:
                write(value, 1)

    @contextmanager
    def block(
        self, name: str, annotations: dict[str, Attribute] | None = None
    ) -> Generator[tir.BlockOp]:
        """An opaque block, which bounds what is allocated in it."""
        hints = DictionaryAttr(annotations) if annotations else None
        op = tir.BlockOp(name, annotations=hints)
        with self._inside(op, op.body.block):
            yield op

    @contextmanager
    def when(self, condition: Expr) -> Generator[None]:
        """Statements under a condition; nothing is asked where it is constant."""
        known = smart.literal(condition)
        if known == 1:
            yield
            return
        op = tir.IfOp(self.value(condition), Region(Block()))
        with self._inside(op, op.then_region.block):
            yield

    @contextmanager
    def attribute(
        self, key: str, node: SSAValue | Attribute, value: SSAValue | Attribute
    ) -> Generator[None]:
        """Statements that a `tir.attr` says something about."""
        op = tir.AttrOp(key, node, value)
        with self._inside(op, op.body.block):
            yield

    @contextmanager
    def otherwise(self, condition: Expr) -> Generator[None]:
        """Statements for where `condition` does not hold."""
        with self.when(smart.negation(condition)):
            yield

    @contextmanager
    def _inside(self, op: Operation, body: Block) -> Generator[None]:
        self.insert(op)
        with self._at_end(body):
            yield

    @contextmanager
    def _at_end(self, body: Block) -> Generator[None]:
        outer, known = self._builder, len(self._known)
        self._builder = Builder(InsertPoint.at_end(body))
        try:
            yield
        finally:
            self._builder = outer
            # What the body has computed, the last entries, is not available after it.
            while len(self._known) > known:
                self._known.popitem()
