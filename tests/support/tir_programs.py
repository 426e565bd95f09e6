"""Random valid TIR programs, for tests that run them.

`random_module(seed)` makes a module of one or two functions whose behaviour is defined:
indices are in bounds, divisors are not zero, 32- and 64-bit sums do not overflow, memory
is written before it is read. It gets there by knowing an interval of every integer that
it makes. The arguments must be those of `random_inputs.random_arguments`: extents and
scalars from 1 to 7, elements from -8 to 8.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.dialects.test import TestOp, TestTermOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.dialects import tir

I8, I16 = IntegerType(8), IntegerType(16)
U8, U16, U32, U64 = (IntegerType(w, Signedness.UNSIGNED) for w in (8, 16, 32, 64))
F16, BF16, F32, F64 = Float16Type(), BFloat16Type(), Float32Type(), Float64Type()

INTEGERS = (i32, i32, i32, i64, i64, I8, I16, U8, U16, U32, U64)
FLOATS = (F32, F32, F32, F64, F16, BF16)
LARGEST_EXTENT = 7
"""Of a symbolic dimension, and the largest scalar argument."""

_KEPT = 1000
"""Bound of the magnitude of elements of 32 bits and more."""
_UNARY_MATH = ("fabs", "floor", "ceil", "trunc", "sqrt")


@dataclass(frozen=True)
class Value:
    """A value, and for integers bounds of it; `below` is an extent it is less than."""

    ssa: SSAValue
    low: int = 0
    high: int = 0
    below: SSAValue | None = None

    @property
    def dtype(self) -> Attribute:
        return self.ssa.type


@dataclass(frozen=True)
class Buffer:
    """A buffer with initialised contents."""

    ssa: SSAValue
    shape: tuple[int | Value, ...]

    @property
    def element(self) -> Attribute:
        return cast(tir.BufferType, self.ssa.type).element_type


def is_wide(dtype: Attribute) -> bool:
    """Whether overflow is undefined: signed, and 32 bits or more."""
    return (
        tir.is_integer_type(dtype)
        and dtype.signedness.data is not Signedness.UNSIGNED
        and dtype.width.data >= 32
    )


def type_range(dtype: Attribute) -> tuple[int, int]:
    assert tir.is_integer_type(dtype)
    width = dtype.width.data
    if dtype == i1:
        return 0, 1
    if dtype.signedness.data is Signedness.UNSIGNED:
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def element_range(dtype: Attribute) -> tuple[int, int]:
    """What elements of a buffer are kept within."""
    return (-_KEPT, _KEPT) if is_wide(dtype) else type_range(dtype)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_Interval = tuple[int, int]


def _corners(f: Callable[[int, int], int], a: Value, b: Value) -> _Interval:
    found = [f(x, y) for x, y in product((a.low, a.high), (b.low, b.high))]
    return min(found), max(found)


def _truncated_remainder(a: Value, b: Value) -> _Interval:
    most = max(abs(b.low), abs(b.high)) - 1
    return (-most if a.low < 0 else 0), (most if a.high > 0 else 0)


def _floored_remainder(a: Value, b: Value) -> _Interval:
    return (0, b.high - 1) if b.low > 0 else (b.low + 1, 0)


_BINARY: dict[type[tir.BinaryOp], Callable[[Value, Value], _Interval]] = {
    tir.AddOp: lambda a, b: (a.low + b.low, a.high + b.high),
    tir.SubOp: lambda a, b: (a.low - b.high, a.high - b.low),
    tir.MulOp: lambda a, b: _corners(lambda x, y: x * y, a, b),
    tir.MinOp: lambda a, b: (min(a.low, b.low), min(a.high, b.high)),
    tir.MaxOp: lambda a, b: (max(a.low, b.low), max(a.high, b.high)),
    tir.DivOp: lambda a, b: _corners(_truncated, a, b),
    tir.FloorDivOp: lambda a, b: _corners(lambda x, y: x // y, a, b),
    tir.ModOp: _truncated_remainder,
    tir.FloorModOp: _floored_remainder,
}
_DIVISIONS = {
    tir.DivOp: tir.DivOp,
    tir.ModOp: tir.DivOp,
    tir.FloorDivOp: tir.FloorDivOp,
    tir.FloorModOp: tir.FloorDivOp,
}
"""The operator whose result must fit where the remainder is taken."""
_FLOAT_BINARY = (tir.AddOp, tir.SubOp, tir.MulOp, tir.DivOp, tir.MinOp, tir.MaxOp)


class FunctionGenerator:
    """Makes one function; `foreign` sprinkles in ops that nothing here can run.

    With `isolated`, blocks with iteration variables use none of the values computed
    around them, which the rule BlockVarAccess asks where these come from loops.
    """

    def __init__(
        self,
        rng: random.Random,
        *,
        foreign: bool,
        threads: bool,
        callees: Sequence[str],
        isolated: bool = False,
    ) -> None:
        self.rng = rng
        self.foreign = foreign
        self.isolated = isolated
        self.tags = ["threadIdx.x", "threadIdx.y", "blockIdx.x"] if threads else []
        self.callees = callees
        self.entry = Block()
        self.block = self.entry
        self.values: list[Value] = []
        self.values_at_entry: list[Value] = []
        self.buffers: list[Buffer] = []
        self.hoisted: dict[tuple[float, Attribute], SSAValue] = {}
        self.symbols: list[Value] = []
        self.budget = rng.randint(4, 14)
        self.first: Operation | None = None

    # ---- building ----

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def add(self, op: Operation) -> Operation:
        self.block.add_op(op)
        return op

    def emit(self, op: Operation) -> SSAValue:
        return self.add(op).results[0]

    @contextmanager
    def inside(
        self, *values: Value, arguments: Sequence[Attribute] = ()
    ) -> Generator[Region]:
        """Build the block of a new region; what is made in it is not seen after it."""
        outer = self.block, self.values, self.buffers
        self.block = Block(arg_types=arguments)
        self.values, self.buffers = [*self.values, *values], list(self.buffers)
        region = Region(self.block)
        try:
            yield region
        finally:
            self.block, self.values, self.buffers = outer

    def constant(self, number: float, dtype: Attribute) -> Value:
        key = (number, dtype)
        low = high = int(number) if tir.is_integer_type(dtype) else 0
        if self.chance(0.4):
            return Value(self.emit(tir.ConstOp.of(number, dtype)), low, high)
        if key not in self.hoisted:
            op = tir.ConstOp.of(number, dtype)
            first = self.entry.first_op
            if first is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
            self.hoisted[key] = op.result
        return Value(self.hoisted[key], low, high)

    # ---- expressions ----

    def expression(self, dtype: Attribute, depth: int) -> Value:
        if dtype == i1:
            return self.boolean(depth)
        if tir.is_integer_type(dtype):
            value = self.integer(dtype, depth)
        else:
            value = self.floating(dtype, depth)
        if self.chance(0.15):
            self.values.append(value)
        elif self.chance(0.05):
            kind = self.rng.choice([tir.LetKind.STMT, tir.LetKind.EXPR])
            ssa = self.emit(tir.LetOp(value.ssa, name="v", kind=kind))
            value = Value(ssa, value.low, value.high)
            self.values.append(value)
        return value

    def leaf(self, dtype: Attribute) -> Value:
        known = [v for v in self.values if v.dtype == dtype]
        if known and self.chance(0.6):
            return self.rng.choice(known)
        buffers = [b for b in self.buffers if b.element == dtype]
        if buffers and self.chance(0.6):
            return self.load(self.rng.choice(buffers))
        if dtype == i1:
            return self.constant(self.rng.randint(0, 1), i1)
        if tir.is_integer_type(dtype):
            low, high = type_range(dtype)
            if self.foreign and self.chance(0.2) and dtype in (i32, i64):
                return Value(self.emit(ConstantOp.from_int_and_width(3, dtype)), 3, 3)
            return self.constant(self.rng.randint(max(low, -9), min(high, 9)), dtype)
        number = self.rng.choice([0.0, -0.0, 1.0, 0.5, -1.5, 2.0, 3.25, -100.0, math.inf])
        return self.constant(number, dtype)

    def load(self, buffer: Buffer) -> Value:
        indices = [self.index(extent) for extent in buffer.shape]
        ssa = self.emit(tir.LoadOp(buffer.ssa, indices))
        if tir.is_integer_type(buffer.element):
            return Value(ssa, *element_range(buffer.element))
        return Value(ssa)

    def integer(self, dtype: IntegerType, depth: int) -> Value:
        if depth <= 0:
            return self.leaf(dtype)
        match self.rng.randint(0, 9):
            case 0:
                return self.leaf(dtype)
            case 1 | 2:
                return self.cast_to_integer(dtype, depth)
            case 3:
                return self.choice(dtype, depth)
            case 4 if self.callees and dtype == i32:
                return self.call()
            case _:
                return self.binary(dtype, depth)

    def binary(self, dtype: IntegerType, depth: int) -> Value:
        op = self.rng.choice(list(_BINARY))
        lhs = self.expression(dtype, depth - 1)
        rhs = self.expression(dtype, depth - 1)
        if op in _DIVISIONS:
            if rhs.low <= 0 <= rhs.high:
                rhs = self.divisor(dtype, rhs)
            low, high = type_range(dtype)
            quotient = _BINARY[_DIVISIONS[op]](lhs, rhs)
            if quotient[0] < low or quotient[1] > high:
                op = tir.MaxOp
        found = _BINARY[op](lhs, rhs)
        low, high = type_range(dtype)
        if found[0] < low or found[1] > high:
            if is_wide(dtype):
                op = self.rng.choice([tir.MinOp, tir.MaxOp])
                found = _BINARY[op](lhs, rhs)
            else:
                found = low, high
        return Value(self.emit(op(lhs.ssa, rhs.ssa)), *found)

    def divisor(self, dtype: IntegerType, value: Value) -> Value:
        """A number that is not zero."""
        low, _ = type_range(dtype)
        if low < 0 and self.chance(0.3):
            return self.constant(self.rng.choice([-1, -2, -3, -7]), dtype)
        if self.chance(0.5):
            return self.constant(self.rng.choice([1, 2, 3, 4, 7, 8]), dtype)
        one = self.constant(1, dtype)
        ssa = self.emit(tir.MaxOp(value.ssa, one.ssa))
        return Value(ssa, 1, max(value.high, 1))

    def within(self, value: Value, low: int, high: int) -> Value:
        """`value`, or something computed from it, between `low` and `high`."""
        if low <= value.low and value.high <= high:
            return value
        dtype = value.dtype
        if low <= 0 and self.chance(0.6):
            ssa = self.emit(tir.FloorModOp(value.ssa, self.constant(high + 1, dtype).ssa))
            return Value(ssa, 0, high)
        ssa = self.emit(tir.MinOp(value.ssa, self.constant(high, dtype).ssa))
        ssa = self.emit(tir.MaxOp(ssa, self.constant(low, dtype).ssa))
        return Value(ssa, low, high)

    def cast_to_integer(self, dtype: IntegerType, depth: int) -> Value:
        low, high = type_range(dtype)
        if self.chance(0.25):
            source = self.floating(self.rng.choice(FLOATS), depth - 1)
            # An ordered choice, so that NaN becomes a number, too.
            top = self.constant(min(high, 100), source.dtype)
            bottom = self.constant(max(low, -100), source.dtype)
            ssa = self.emit(tir.MinOp(source.ssa, top.ssa))
            ssa = self.emit(tir.MaxOp(ssa, bottom.ssa))
            bounds = max(low, -100), min(high, 100)
            return Value(self.emit(tir.CastOp(ssa, dtype)), *bounds)
        source = self.expression(self.rng.choice([*INTEGERS, i1]), depth - 1)
        ssa = self.emit(tir.CastOp(source.ssa, dtype))
        if low <= source.low and source.high <= high:
            return Value(ssa, source.low, source.high)
        value = Value(ssa, low, high)
        return self.within(value, -_KEPT, _KEPT) if is_wide(dtype) else value

    def floating(self, dtype: Attribute, depth: int) -> Value:
        if depth <= 0:
            return self.leaf(dtype)
        match self.rng.randint(0, 9):
            case 0:
                return self.leaf(dtype)
            case 1 | 2:
                source = self.expression(
                    self.rng.choice([*INTEGERS, *FLOATS, i1]), depth - 1
                )
                return Value(self.emit(tir.CastOp(source.ssa, dtype)))
            case 3:
                return self.choice(dtype, depth)
            case 4 if dtype in (F32, F64):
                argument = self.expression(dtype, depth - 1)
                name = self.rng.choice(_UNARY_MATH)
                return Value(self.emit(tir.CallOp(name, [argument.ssa], dtype)))
            case _:
                op = self.rng.choice(_FLOAT_BINARY)
                lhs = self.expression(dtype, depth - 1)
                rhs = self.expression(dtype, depth - 1)
                return Value(self.emit(op(lhs.ssa, rhs.ssa)))

    def choice(self, dtype: Attribute, depth: int) -> Value:
        """A select, or an if_then_else whose branches hold what they need."""
        condition = self.boolean(depth - 1)
        if self.chance(0.4):
            a = self.expression(dtype, depth - 1)
            b = self.expression(dtype, depth - 1)
            ssa = self.emit(tir.SelectOp(condition.ssa, a.ssa, b.ssa))
        else:
            with self.inside() as true_region:
                a = self.expression(dtype, depth - 1)
                self.add(tir.YieldOp(a.ssa))
            with self.inside() as false_region:
                b = self.expression(dtype, depth - 1)
                self.add(tir.YieldOp(b.ssa))
            ssa = self.emit(
                tir.IfThenElseOp(condition.ssa, dtype, true_region, false_region)
            )
        return Value(ssa, min(a.low, b.low), max(a.high, b.high))

    def boolean(self, depth: int) -> Value:
        if depth <= 0 and self.chance(0.5):
            return self.leaf(i1)
        match self.rng.randint(0, 6):
            case 0 if depth > 0:
                return self.choice(i1, depth)
            case 1 if depth > 0:
                ssa = self.emit(tir.NotOp(self.boolean(depth - 1).ssa))
            case 2 if depth > 0:
                op = self.rng.choice([tir.AndOp, tir.OrOp])
                lhs = self.boolean(depth - 1)
                ssa = self.emit(op(lhs.ssa, self.boolean(depth - 1).ssa))
            case 3 if depth > 0:
                # `ne` of a NaN is unspecified.
                predicates = [p for p in tir.CmpPredicate if p is not tir.CmpPredicate.NE]
                ssa = self.compare(self.rng.choice(FLOATS), predicates, depth)
            case _:
                ssa = self.compare(
                    self.rng.choice(INTEGERS), list(tir.CmpPredicate), depth
                )
        return Value(ssa, 0, 1)

    def compare(
        self, dtype: Attribute, predicates: Sequence[tir.CmpPredicate], depth: int
    ) -> SSAValue:
        lhs = self.expression(dtype, depth - 1)
        rhs = self.expression(dtype, depth - 1)
        return self.emit(tir.CmpOp(self.rng.choice(predicates), lhs.ssa, rhs.ssa))

    def call(self) -> Value:
        argument = self.within(self.expression(i32, 1), -_KEPT, _KEPT)
        ssa = self.emit(
            tir.CallFuncOp(self.rng.choice(self.callees), [argument.ssa], i32)
        )
        return Value(ssa, -_KEPT, _KEPT)

    def index(self, extent: int | Value) -> SSAValue:
        """A number that is not negative and less than `extent`."""
        if isinstance(extent, Value):
            known = [v for v in self.values if v.below is extent.ssa]
            if known and self.chance(0.8):
                return self.rng.choice(known).ssa
            if self.chance(0.3):
                return self.constant(0, extent.dtype).ssa
            value = self.expression(extent.dtype, 1)
            return self.emit(tir.FloorModOp(value.ssa, extent.ssa))
        known = [
            v
            for v in self.values
            if tir.is_integer_type(v.dtype)
            and v.dtype != i1
            and v.low >= 0
            and v.high < extent
        ]
        if known and self.chance(0.75):
            return self.rng.choice(known).ssa
        if self.chance(0.3):
            dtype = self.rng.choice([i32, i64])
            return self.constant(self.rng.randrange(extent), dtype).ssa
        dtype = self.rng.choice(INTEGERS)
        return self.within(self.expression(dtype, 1), 0, extent - 1).ssa

    # ---- statements ----

    def statements(self, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            if self.budget <= 0:
                break
            self.statement(depth)
        if self.block.first_op is None or self.chance(0.3):
            self.store()

    def statement(self, depth: int) -> None:
        self.budget -= 1
        nested = [
            self.loop,
            self.loop,
            self.nest,
            self.nest,
            self.nest,
            self.condition,
            self.opaque_block,
            self.scope,
            self.attribute,
            self.repeat,
        ]
        flat = [self.store, self.store, self.bind, self.evaluate, self.allocate]
        if depth > 0 and self.chance(0.75):
            self.rng.choice(nested)(depth - 1)
        elif self.foreign and self.chance(0.3):
            self.strange(depth)
        else:
            self.rng.choice(flat)()

    def store(self) -> None:
        """Write an element, or add to it, so that what it held is seen in the end."""
        visible = [b for b in self.buffers if isinstance(b.ssa.owner, tir.MatchBufferOp)]
        buffer = self.rng.choice(visible if self.chance(0.6) else self.buffers)
        value = self.expression(buffer.element, self.rng.randint(0, 3))
        indices = [self.index(extent) for extent in buffer.shape]
        if buffer.element != i1 and self.chance(0.6):
            value = self.added(buffer, indices, value)
        if tir.is_integer_type(buffer.element):
            value = self.within(value, *element_range(buffer.element))
        self.add(tir.StoreOp(value.ssa, buffer.ssa, indices))

    def added(self, buffer: Buffer, indices: Sequence[SSAValue], value: Value) -> Value:
        """The sum of `value` and the element, in a part of its range."""
        old = self.emit(tir.LoadOp(buffer.ssa, indices))
        if not is_wide(buffer.element):
            ssa = self.emit(tir.AddOp(old, value.ssa))
            wraps = tir.is_integer_type(buffer.element)
            return Value(ssa, *type_range(buffer.element)) if wraps else Value(ssa)
        value = self.within(value, -_KEPT, _KEPT)
        ssa = self.emit(tir.AddOp(old, value.ssa))
        return Value(ssa, value.low - _KEPT, value.high + _KEPT)

    def bind(self) -> None:
        value = self.expression(self.rng.choice([*INTEGERS, *FLOATS, i1]), 2)
        ssa = self.emit(tir.LetOp(value.ssa, name="x"))
        self.values.append(Value(ssa, value.low, value.high))

    def evaluate(self) -> None:
        if self.chance(0.2):
            self.add(tir.EvaluateOp())
        else:
            value = self.expression(self.rng.choice([*INTEGERS, *FLOATS]), 2)
            self.add(tir.EvaluateOp(value.ssa))

    def allocate(self) -> None:
        dtype = self.rng.choice([*INTEGERS, *FLOATS, i1])
        if self.symbols and self.chance(0.2):
            symbol = self.rng.choice(self.symbols)
            shape: tuple[int | Value, ...] = (symbol, self.rng.randint(1, 3))
        else:
            rank = self.rng.choice([0, 1, 1, 2, 2, 3])
            shape = tuple(self.rng.randint(1, 4) for _ in range(rank))
        layout: tir.BufferLayout = {"name": "T"}
        if self.chance(0.3) and shape:
            layout["strides"] = self.strides(shape)
        dims = [DYNAMIC_INDEX if isinstance(e, Value) else e for e in shape]
        extents = [e.ssa for e in shape if isinstance(e, Value)]
        op = tir.AllocBufferOp(tir.BufferType(dims, dtype), extents, **layout)
        buffer = Buffer(self.emit(op), shape)
        self.fill(buffer)
        self.buffers.append(buffer)

    def strides(self, shape: Sequence[int | Value]) -> list[int]:
        """Strides that leave gaps, each a multiple of the next."""
        found: list[int] = []
        step = self.rng.choice([1, 1, 2])
        for extent in reversed(shape):
            found.insert(0, step)
            most = LARGEST_EXTENT if isinstance(extent, Value) else extent
            step *= most + self.rng.randint(0, 2)
        return found

    def fill(self, buffer: Buffer) -> None:
        """Write every element."""
        outer = self.block
        indices: list[SSAValue] = []
        for extent in buffer.shape:
            if isinstance(extent, Value):
                end = extent.ssa
            else:
                end = self.constant(extent, self.rng.choice([i32, i64])).ssa
            zero = self.constant(0, end.type).ssa
            loop = tir.ForOp(zero, end)
            self.add(loop)
            self.block = loop.body.block
            indices.append(loop.loop_var)
        value = self.constant(self.rng.randint(0, 1), buffer.element)
        self.add(tir.StoreOp(value.ssa, buffer.ssa, indices))
        self.block = outer

    def annotations(self) -> DictionaryAttr | None:
        if self.chance(0.85):
            return None
        found: dict[str, Attribute] = {"note": StringAttr("x")}
        if self.chance(0.5):
            found["pragma_b"] = IntegerAttr(1, i32)
            found["pragma_a"] = StringAttr("y")
        return DictionaryAttr(found)

    def range(self) -> tuple[SSAValue, SSAValue, Value]:
        """Minimum and extent of a loop, and bounds of its variable."""
        if self.symbols and self.chance(0.25):
            symbol = self.rng.choice(self.symbols)
            zero = self.constant(0, symbol.dtype)
            bounds = Value(symbol.ssa, 0, symbol.high - 1, symbol.ssa)
            return zero.ssa, symbol.ssa, bounds
        dtype = self.rng.choice([i32, i32, i32, i64, I16, I8, U8, U32])
        if self.chance(0.12):
            extent = self.within(self.expression(dtype, 1), 0, 4)
        else:
            extent = self.constant(self.rng.choice([0, 1, 1, 2, 2, 3, 4]), dtype)
        low = self.constant(0, dtype)
        if self.chance(0.3):
            low = self.within(self.expression(dtype, 1), 0, 9)
        end = low.high + max(extent.high, 1) - 1
        bounds = Value(extent.ssa, low.low, end)
        return low.ssa, extent.ssa, bounds

    def add_loop(self, annotated: bool = True) -> tuple[tir.ForOp, Value]:
        """An empty loop, and its variable."""
        low, extent, bounds = self.range()
        kind = self.rng.choice([tir.ForKind.SERIAL] * 4 + [tir.ForKind.UNROLLED])
        tag = None
        if self.tags and tir.constant_value(extent) not in (None, 0) and self.chance(0.4):
            kind, tag = tir.ForKind.THREAD_BINDING, self.tags.pop()
        loop = tir.ForOp(
            low,
            extent,
            kind=kind,
            thread_tag=tag,
            annotations=self.annotations() if annotated else None,
            name="i" if self.chance(0.3) else None,
        )
        self.add(loop)
        variable = Value(loop.loop_var, bounds.low, bounds.high, bounds.below)
        return loop, variable

    def loop(self, depth: int) -> None:
        loop, variable = self.add_loop()
        outer = self.block, self.values, self.buffers
        self.block = loop.body.block
        self.values, self.buffers = [*self.values, variable], list(self.buffers)
        self.statements(depth)
        self.block, self.values, self.buffers = outer

    def nest(self, depth: int) -> None:
        """Loops around a block with iteration variables bound to them."""
        outer = self.block, self.values, self.buffers
        self.values, self.buffers = list(self.values), list(self.buffers)
        iters: list[tir.IterVar] = []
        bounds: list[Value] = []
        for _ in range(self.rng.randint(1, 3)):
            loop, variable = self.add_loop()
            self.block = loop.body.block
            self.values.append(variable)
            iters.append(self.axis(loop, variable, bounds))
        if self.chance(0.2):
            self.rng.shuffle(both := list(zip(iters, bounds, strict=True)))
            iters, bounds = [i for i, _ in both], [b for _, b in both]
        self.block_around(iters, bounds, depth)
        self.block, self.values, self.buffers = outer

    def axis(self, loop: tir.ForOp, variable: Value, bounds: list[Value]) -> tir.IterVar:
        kind = self.rng.choice([tir.IterKind.SPATIAL] * 3 + [tir.IterKind.REDUCE] * 2)
        name = "v" if self.chance(0.5) else None
        low, extent, binding = loop.min, loop.extent, variable
        if self.chance(0.2) and variable.below is None:
            shift = self.constant(self.rng.randint(0, 3), variable.dtype)
            low = self.emit(tir.AddOp(loop.min, shift.ssa))
            ssa = self.emit(tir.AddOp(variable.ssa, shift.ssa))
            binding = Value(ssa, variable.low + shift.low, variable.high + shift.low)
        bounds.append(binding)
        return tir.IterVar(kind, low, extent, binding.ssa, name)

    def block_around(
        self, iters: Sequence[tir.IterVar], bounds: Sequence[Value], depth: int
    ) -> None:
        predicate = self.boolean(2).ssa if self.chance(0.25) else None
        op = tir.BlockOp(
            self.rng.choice(["", "B", "update"]),
            iters,
            predicate=predicate,
            annotations=self.annotations(),
        )
        self.add(op)
        outer = self.block, self.values, self.buffers
        self.block = op.body.block
        arguments = [
            Value(argument, b.low, b.high, b.below)
            for argument, b in zip(op.iter_vars, bounds, strict=True)
        ]
        around = self.values_at_entry if self.isolated and iters else self.values
        self.values, self.buffers = [*around, *arguments], list(self.buffers)
        self.regions()
        reduces = any(it.kind is tir.IterKind.REDUCE for it in iters)
        if self.chance(0.7 if reduces else 0.1):
            self.init()
        self.statements(depth)
        self.block, self.values, self.buffers = outer

    def regions(self) -> None:
        """Declared accesses: all of some buffers, or single elements."""
        for kind in (tir.ReadsOp, tir.WritesOp):
            if self.chance(0.5):
                continue
            found: list[tir.BufferRegion] = []
            for buffer in self.rng.sample(self.buffers, min(2, len(self.buffers))):
                zeros = tuple(self.constant(0, i32).ssa for _ in buffer.shape)
                extents = tuple(
                    e.ssa if isinstance(e, Value) else e for e in buffer.shape
                )
                found.append(tir.BufferRegion(buffer.ssa, zeros, extents))
            self.add(kind(found))

    def init(self) -> None:
        if self.chance(0.2) and self.buffers:
            self.values.append(self.load(self.rng.choice(self.buffers)))
        with self.inside() as region:
            self.budget -= 1
            if self.chance(0.2):
                self.statements(1)
            self.store()
        self.add(tir.InitOp(region))

    def opaque_block(self, depth: int) -> None:
        self.block_around([], [], depth)

    def condition(self, depth: int) -> None:
        condition = self.boolean(2)
        with self.inside() as then_region:
            self.statements(depth)
        else_region = None
        if self.chance(0.5):
            with self.inside() as else_region:
                self.statements(depth)
        self.add(tir.IfOp(condition.ssa, then_region, else_region))

    def scope(self, depth: int) -> None:
        with self.inside() as region:
            self.statements(depth)
        self.add(tir.ScopeOp(region))

    def attribute(self, depth: int) -> None:
        with self.inside() as region:
            self.statements(depth)
        self.add(
            tir.AttrOp("pragma_hint", IntegerAttr(0, i32), StringAttr("fast"), region)
        )

    def repeat(self, depth: int) -> None:
        """A while loop with a counter of its own."""
        count = self.emit(tir.AllocBufferOp(tir.BufferType([1], i64), name="count"))
        zero = self.constant(0, i64).ssa
        self.add(tir.StoreOp(zero, count, [zero]))
        end = self.constant(self.rng.randint(0, 3), i64).ssa
        with self.inside() as condition:
            now = self.emit(tir.LoadOp(count, [zero]))
            more = self.emit(tir.CmpOp(tir.CmpPredicate.LT, now, end))
            self.add(tir.YieldOp(more))
        with self.inside() as body:
            now = self.emit(tir.LoadOp(count, [zero]))
            self.values.append(Value(now, 0, 2))
            self.statements(depth)
            now = self.emit(tir.LoadOp(count, [zero]))
            one = self.constant(1, i64).ssa
            self.add(tir.StoreOp(self.emit(tir.AddOp(now, one)), count, [zero]))
        self.add(tir.WhileOp(condition, body))

    def strange(self, depth: int) -> None:
        """An op of another dialect, with attributes, operands, results and a region."""
        operands = [v.ssa for v in self.rng.sample(self.values, min(2, len(self.values)))]
        with self.inside() as region:
            if depth > 0 and self.chance(0.5):
                self.statements(depth - 1)
            else:
                self.add(TestOp(operands))
            self.add(TestTermOp([]))
        self.add(
            TestOp(
                operands,
                [i32, F32],
                attributes={"flag": UnitAttr(), "n": IntegerAttr(3, i64)},
                regions=[region],
            )
        )

    # ---- functions ----

    def parameters(self, count: int) -> tuple[list[Attribute], list[Buffer]]:
        """Parameters of the function, and the buffers at its handles."""
        types: list[Attribute] = []
        for index in range(count):
            if index == 0 or self.chance(0.7):
                types.append(tir.HandleType())
            else:
                types.append(self.rng.choice([i32, i64, I8, U16, F32, F64, i1]))
        found: list[Buffer] = []
        for name in ("n", "m")[: self.rng.choice([0, 0, 1, 2])]:
            dtype = self.rng.choice([i32, i64])
            ssa = self.emit(tir.ShapeVarOp(name, dtype, size_var=self.chance(0.3)))
            self.symbols.append(Value(ssa, 1, LARGEST_EXTENT))
        unbound = list(self.symbols)
        for dtype in types:
            arg = self.entry.insert_arg(dtype, len(self.entry.args))
            if not isinstance(dtype, tir.HandleType):
                low, high = (1, LARGEST_EXTENT) if dtype != i1 else (0, 1)
                self.values.append(Value(arg, low, high))
                continue
            found.append(self.matched(arg, unbound))
        # A symbol that no buffer binds has no value.
        for symbol in unbound:
            self.symbols.remove(symbol)
            assert isinstance(symbol.ssa.owner, Operation)
            symbol.ssa.owner.detach()
        self.values.extend(self.symbols)
        return types, found

    def matched(self, arg: SSAValue, unbound: list[Value]) -> Buffer:
        element = self.rng.choice([*INTEGERS, *FLOATS, i1])
        rank = self.rng.choice([0, 1, 1, 2, 2, 3])
        shape: list[int | Value] = [self.rng.randint(1, 4) for _ in range(rank)]
        for position in range(rank):
            if self.symbols and self.chance(0.4):
                symbol = self.rng.choice(self.symbols)
                shape[position] = symbol
                if symbol in unbound:
                    unbound.remove(symbol)
        dims = [DYNAMIC_INDEX if isinstance(e, Value) else e for e in shape]
        op = tir.MatchBufferOp(
            arg,
            tir.BufferType(dims, element),
            [e.ssa for e in shape if isinstance(e, Value)],
            name=f"A{len(self.buffers)}",
        )
        return Buffer(self.emit(op), tuple(shape))

    def function(self, name: str) -> tir.FuncOp:
        types, self.buffers = self.parameters(self.rng.randint(1, 4))
        self.values_at_entry = list(self.values)
        while self.budget > 0:
            self.statement(3)
        outputs: list[Attribute] = []
        if self.chance(0.15):
            outputs = [self.rng.choice([i32, i64, F32, F64])]
            self.add(tir.RetOp(self.expression(outputs[0], 2).ssa))
        attributes: dict[str, Any] = {"global_symbol": StringAttr(name)}
        if self.chance(0.5):
            attributes["tir.noalias"] = UnitAttr()
        return tir.FuncOp(
            name, (types, outputs), Region(self.entry), attributes=attributes
        )

    def helper(self, name: str) -> tir.FuncOp:
        """A private function of an `i32`, within the bounds of elements."""
        arg = self.entry.insert_arg(i32, 0)
        self.values.append(Value(arg, -_KEPT, _KEPT))
        value = self.within(self.expression(i32, 3), -_KEPT, _KEPT)
        self.add(tir.RetOp(value.ssa))
        return tir.FuncOp(name, ([i32], [i32]), Region(self.entry))


@dataclass(frozen=True)
class Program:
    """A module, and whether the interpreter and the CPU can run it."""

    module: ModuleOp
    foreign: bool
    threads: bool


def random_module(seed: int, *, isolated: bool = False) -> Program:
    """The program of this number: the same one each time.

    With `isolated` it is well-formed; see `FunctionGenerator`.
    """
    rng = random.Random(seed)
    foreign, threads = rng.random() < 0.15, rng.random() < 0.1
    functions: list[tir.FuncOp] = []
    callees: list[str] = []
    if rng.random() < 0.2:
        helper = FunctionGenerator(rng, foreign=False, threads=False, callees=[])
        functions.append(helper.helper("helper"))
        callees.append("helper")
    for name in ("main", "other")[: rng.choice([1, 1, 2])]:
        generator = FunctionGenerator(
            rng, foreign=foreign, threads=threads, callees=callees, isolated=isolated
        )
        functions.append(generator.function(name))
    return Program(ModuleOp(functions), foreign, threads)
