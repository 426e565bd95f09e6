"""The statements of a reduction over threads.

docs/spec/tir-passes-c-memory-and-gpu.md, LowerThreadAllreduce. Notation: `R` threads
reduce together, in `G` groups; `W` is the number of threads of a warp.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, Signedness, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, emit
from xdsl_tvm.analysis.tir.function_target import cuda_capability
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.tir._thread_allreduce.checks import require_uniform
from xdsl_tvm.passes.tir._thread_allreduce.decode import Reduction
from xdsl_tvm.passes.tir.rewriting.barriers import barrier_of

_MASK = IntegerType(32, Signedness.UNSIGNED)
_REDUX_SINCE = 80
"""The compute capability from which on a warp combines integers by one instruction."""
_WORD = 32
_OPERATORS: dict[type[Operation], str] = {
    tir.AddOp: "add",
    tir.MaxOp: "max",
    tir.MinOp: "min",
}
_WITH_SHUFFLES = ("cuda", "rocm", "metal")
_Values = Sequence[Callable[[], SSAValue]]
"""Values, each with the code that computes it."""


@dataclass(frozen=True)
class Buffer:
    """New memory and the buffer on it, which are not part of a program yet."""

    memory: tir.AllocateOp
    declaration: tir.DeclBufferOp

    @property
    def value(self) -> SSAValue:
        """The buffer."""
        return self.declaration.buffer

    @property
    def is_shared(self) -> bool:
        """Whether the threads of a block share it."""
        return self.memory.result.type.scope.data == "shared"


@dataclass(frozen=True)
class Result:
    """Where a reduced value is."""

    buffer: Buffer | None
    """The memory, None where it is the destination itself."""
    index: Expr


@dataclass
class Expansion:
    """Writes the statements before the op of a reduction.

    `allocated` is the memory that they need, the outermost first, but for that of the
    results.
    """

    reduction: Reduction
    target: Target
    allocated: list[Buffer] = field(default_factory=list[Buffer])

    def __post_init__(self) -> None:
        self._builder = Builder(InsertPoint.before(self.reduction.op))
        self._warp = self.target.int_attr("thread_warp_size", 1)

    def run(self) -> list[Result]:
        """Write it all, and return where the results are."""
        values = self._masked_values()
        if self._has_warps():
            if self.reduction.width <= self._warp:
                return self._in_a_warp(values)
            self._require_barriers()
            return self._in_warps(values)
        if self.reduction.width == 1:
            return self._alone(values)
        self._require_barriers()
        return self._in_shared_memory(values)

    def _require_barriers(self) -> None:
        variables = {axis.variable for axis in self.reduction.axes}
        require_uniform(self.reduction.op, variables)

    # ---- which way ----

    def _has_warps(self) -> bool:
        """Whether warps reduce by shuffles."""
        reduction, warp = self.reduction, self._warp
        kind, width = self.target.kind.name, reduction.width
        if kind not in _WITH_SHUFFLES or reduction.contiguous != width:
            return False
        if not all(_is_shuffled(dtype) for dtype in reduction.types):
            return False
        if kind == "rocm":
            bits = [tir.bits_of_lane(d) * tir.lanes_of(d) for d in reduction.types]
            return width == warp and set(bits) == {32}
        most = self.target.int_attr("max_num_threads", -1)
        return width != 1 and (
            warp % width == 0
            or (max(most, width) <= warp * warp and most >= 0 and width % warp == 0)
            or (reduction.groups == 1 and width <= warp)
        )

    # ---- code ----

    def _insert(self, op: Operation) -> SSAValue:
        self._builder.insert(op)
        return op.results[0]

    def _number(self, value: int) -> SSAValue:
        return self._emit(smart.const(value, i32))

    def _emit(self, tree: Expr) -> SSAValue:
        return emit(tree, self._builder)

    def _load(self, buffer: Buffer, index: Expr) -> SSAValue:
        return self._insert(tir.LoadOp(buffer.value, [self._emit(index)]))

    def _store(self, value: SSAValue, buffer: Buffer, index: Expr) -> None:
        self._builder.insert(tir.StoreOp(value, buffer.value, [self._emit(index)]))

    def _barrier(self, scope: str) -> None:
        self._builder.insert(barrier_of(scope))

    @contextmanager
    def _if(self, condition: Expr | None) -> Generator[None]:
        """The statements that are written meanwhile run under a condition."""
        if condition is None:
            yield
            return
        value = self._emit(condition)
        with self._block() as block:
            yield
        self._builder.insert(tir.IfOp(value, Region(block)))

    @contextmanager
    def _block(self) -> Generator[Block]:
        """A block that statements are written in meanwhile."""
        outer, block = self._builder, Block()
        self._builder = Builder(InsertPoint.at_end(block))
        yield block
        self._builder = outer

    def _masked_values(self) -> _Values:
        op = self.reduction.op
        values = list(op.sources)
        if op.condition is not None and not tir.is_constant(op.condition, 1):
            for number, source in enumerate(op.sources):
                neutral = self._identity(source, number)
                select = tir.SelectOp(op.condition, source, neutral)
                values[number] = self._insert(select)
        return [lambda value=value: value for value in values]

    def _identity(self, source: SSAValue, number: int) -> SSAValue:
        """What leaves the other side of a combination as it is."""
        neutral = self._insert(tir.ConstOp(self.reduction.reducer.identities[number]))
        if tir.lanes_of(source.type) > 1:
            neutral = self._insert(tir.BroadcastOp(neutral, source.type))
        return neutral

    def _combine(
        self, left: Sequence[SSAValue], right: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The combined values: all are computed before any is stored."""
        reducer = self.reduction.reducer
        arguments = (*reducer.lhs, *reducer.rhs)
        known: dict[SSAValue, SSAValue] = dict(
            zip(arguments, (*left, *right), strict=True)
        )
        for op in reducer.combiner.block.ops:
            if not isinstance(op, tir.YieldOp):
                self._builder.insert(op.clone(known))
        return [known.get(value, value) for value in reducer.combined]

    def _buffers(self, name: str, scope: str, size: int) -> list[Buffer]:
        """A buffer for each value; `name` has the number of the value in it."""
        return [
            new_buffer(name.format(number), dtype, scope, size)
            for number, dtype in enumerate(self.reduction.types)
        ]

    # ---- warps ----

    def _in_a_warp(self, values: _Values) -> list[Result]:
        """At most as many threads as a warp has: shuffles."""
        reduction = self.reduction
        zero = smart.const(0, i32)
        if reduction.width == self._warp and (operator := self._operator()) is not None:
            return [Result(self._reduced(values, operator), zero)]
        found, mask = self._shuffled(values, None, reduction.width)
        for buffer in found:
            if reduction.groups == 1:
                lane = zero
            else:
                lane = smart.mul(smart.const(reduction.width, i32), reduction.group)
            self._store(self._shuffle("", buffer, mask, lane), buffer, zero)
        return [Result(buffer, zero) for buffer in found]

    def _in_warps(self, values: _Values) -> list[Result]:
        """Several warps: each reduces by shuffles, and the first one what they have."""
        reduction, warp, zero = self.reduction, self._warp, smart.const(0, i32)
        index, group = reduction.index, reduction.group
        warps = reduction.width // warp
        staging = self._buffers("red_buf_staging", "shared", warps * reduction.groups)
        self.allocated[:0] = staging[::-1]
        operator = self._operator()
        if operator is not None:
            first = [self._reduced(values, operator)]
        else:
            first, _ = self._shuffled(values, None, warp)
        self.allocated[:0] = first[::-1]
        row = smart.mul(group, smart.const(warps, i32))
        with self._if(smart.eq(smart.floormod(index, smart.const(warp, i32)), 0)):
            for source, buffer in zip(first, staging, strict=True):
                place = smart.add(row, smart.floordiv(index, smart.const(warp, i32)))
                self._store(self._load(source, zero), buffer, place)
        self._barrier("shared")
        parts = [
            lambda buffer=buffer: self._load(buffer, smart.add(row, index))
            for buffer in staging
        ]
        second, _ = self._shuffled(parts, smart.lt(index, warps), warps)
        self.allocated[:0] = second[::-1]
        results = self._buffers("red_result", "shared", reduction.groups)
        with self._if(smart.eq(index, 0)):
            for source, buffer in zip(second, results, strict=True):
                self._store(self._load(source, zero), buffer, group)
        self._barrier("shared")
        return [Result(buffer, group) for buffer in results]

    def _operator(self) -> str | None:
        """How `ptx_redux_sync` combines the values, where the target has it for them."""
        types, combined = self.reduction.types, self.reduction.reducer.combined
        if cuda_capability(self.target) < _REDUX_SINCE or len(types) != 1:
            return None
        is_word = tir.is_integer(types[0]) and tir.bits_of_lane(types[0]) == _WORD
        op, reducer = combined[0].owner, self.reduction.reducer
        if not is_word or tir.lanes_of(types[0]) != 1 or isinstance(op, Block):
            return None
        arguments = {*reducer.lhs, *reducer.rhs}
        return _OPERATORS.get(op.__class__) if set(op.operands) == arguments else None

    def _reduced(self, values: _Values, operator: str) -> Buffer:
        """What all lanes of a warp have, combined by one instruction."""
        (value,) = values
        (buffer,) = self._buffers("red_buf{}", "local", 1)
        mask = self._insert(tir.CallOp("tvm_warp_activemask", [], _MASK))
        name = self._insert(tir.StringOp(operator))
        given = value()
        call = tir.CallOp("ptx_redux_sync", [name, mask, given], given.type)
        self._store(self._insert(call), buffer, smart.const(0, i32))
        return buffer

    def _shuffled(
        self, values: _Values, predicate: Expr | None, lanes: int
    ) -> tuple[list[Buffer], Buffer | None]:
        """Reduce values of so many lanes to what the first of them has."""
        index, zero = self.reduction.index, smart.const(0, i32)
        found = self._buffers("red_buf{}", "local", 1)
        others = self._buffers("t{}", "local", 1)
        self.allocated[:0] = others[::-1]
        mask: Buffer | None = None
        if self.target.kind.name != "metal":
            mask = new_buffer("mask", _MASK, "local", 1)
            self.allocated.insert(0, mask)
        self._begin(values, predicate, found)
        if mask is not None:
            active = self._insert(tir.CallOp("tvm_warp_activemask", [], _MASK))
            self._store(active, mask, zero)
        offset = 1
        while 2 * offset < lanes:
            offset *= 2
        while offset:
            for source, buffer in zip(found, others, strict=True):
                moved = self._shuffle("_down", source, mask, smart.const(offset, i32))
                self._store(moved, buffer, zero)
            inside = smart.lt(smart.add(index, offset), lanes)
            with self._if(inside if 2 * offset > lanes else None):
                left = [self._load(buffer, zero) for buffer in found]
                right = [self._load(buffer, zero) for buffer in others]
                for value, buffer in zip(self._combine(left, right), found, strict=True):
                    self._store(value, buffer, zero)
            offset //= 2
        return found, mask

    def _begin(
        self, values: _Values, predicate: Expr | None, buffers: Sequence[Buffer]
    ) -> None:
        """Store the values of the lanes that have one, and identities in the others.

        Shuffles read the memory of all lanes.
        """
        zero = smart.const(0, i32)
        if predicate is None:
            for value, buffer in zip(values, buffers, strict=True):
                self._store(value(), buffer, zero)
            return
        condition = self._emit(predicate)
        with self._block() as then:
            for value, buffer in zip(values, buffers, strict=True):
                self._store(value(), buffer, zero)
        with self._block() as other:
            for number, buffer in enumerate(buffers):
                source = self.reduction.op.sources[number]
                self._store(self._identity(source, number), buffer, zero)
        self._builder.insert(tir.IfOp(condition, Region(then), Region(other)))

    def _shuffle(
        self, kind: str, buffer: Buffer, mask: Buffer | None, lane: Expr
    ) -> SSAValue:
        zero = smart.const(0, i32)
        lanes = self._number(0) if mask is None else self._load(mask, zero)
        value = self._load(buffer, zero)
        width = self._number(self._warp)
        operands = [lanes, value, self._emit(lane), width, width]
        return self._insert(tir.CallOp(f"tvm_warp_shuffle{kind}", operands, value.type))

    # ---- shared memory ----

    def _alone(self, values: _Values) -> list[Result]:
        """One thread has the value already."""
        zero = smart.const(0, i32)
        for value, place in zip(values, self.reduction.op.places, strict=True):
            store_at(value(), place, self._builder)
        return [Result(None, zero) for _ in values]

    def _in_shared_memory(self, values: _Values) -> list[Result]:
        """A tree in shared memory, the last levels of it in one warp."""
        reduction, warp = self.reduction, self._warp
        width, index = reduction.width, reduction.index
        row = smart.mul(reduction.group, smart.const(width, i32))
        place = smart.add(row, index)
        # What was there before may be read until now.
        self._barrier("shared")
        buffers = self._buffers("red_buf{}", "shared", reduction.groups * width)
        for value, buffer in zip(values, buffers, strict=True):
            self._store(value(), buffer, place)
        self._barrier("shared")

        def level(threads: int, offset: int, scope: str) -> None:
            with self._if(smart.lt(index, threads)):
                far = smart.add(row, smart.add(index, offset))
                left = [self._load(buffer, place) for buffer in buffers]
                right = [self._load(buffer, far) for buffer in buffers]
                combined = self._combine(left, right)
                for value, buffer in zip(combined, buffers, strict=True):
                    self._store(value, buffer, place)
            self._barrier(scope)

        power = 1
        while power < width:
            power *= 2
        if power > width:
            power //= 2
            level(width - power, power, "shared")
        contiguous = reduction.contiguous
        aligned = reduction.groups == 1 or contiguous % warp == 0
        while power > 1 and (power > contiguous or power > warp or not aligned):
            power //= 2
            level(power, power, "shared")
        if power > 1:
            while power > 1:
                power //= 2
                level(power, power, "warp")
            self._barrier("shared")
        return [Result(buffer, row) for buffer in buffers]


def _is_shuffled(dtype: Attribute) -> bool:
    """Whether targets have shuffles of a dtype."""
    if not (tir.is_int(dtype) or tir.is_float(dtype)) or tir.is_scalable(dtype):
        return False
    bits, lanes = tir.bits_of_lane(dtype), tir.lanes_of(dtype)
    if tir.is_float(dtype) and bits == 16 and not tir.is_bfloat16(dtype):
        return lanes <= 2
    return lanes == 1 and bits in (32, 64)


def new_buffer(name: str, dtype: Attribute, scope: str, size: int) -> Buffer:
    """Memory of a scope with so many elements, and a buffer on it, not inserted yet."""
    memory = tir.AllocateOp(tir.PtrType(dtype, scope), [size], name=name)
    kind = tir.BufferType([size], dtype, scope)
    declaration = tir.DeclBufferOp(memory, kind, name=name)
    memory.result.name_hint = declaration.buffer.name_hint = name
    return Buffer(memory, declaration)


def store_at(value: SSAValue, place: tir.WrittenElement, builder: Builder) -> None:
    """Store a value in an element of a buffer, a bool also where it is a byte."""
    kind = place.buffer.type
    assert isinstance(kind, tir.BufferType)
    if value.type != kind.element_type:
        value = builder.insert(tir.CastOp(value, kind.element_type)).result
    builder.insert(tir.StoreOp(value, place.buffer, place.indices))
