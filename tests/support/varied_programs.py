"""Random valid TIR programs with more of what passes look for.

Beside what `tir_programs` makes: loops of every kind with pragmas and hints, conditions
said to be likely, assumptions and assertions that hold, accesses and divisions that are
only defined under the condition around them, bindings of loads, and loops split by a
factor that leaves a rest.
"""

from __future__ import annotations

import random

from xdsl.dialects.builtin import (
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from support.tir_programs import Buffer, FunctionGenerator, Program, Value, element_range
from xdsl_tvm.dialects import tir

_KINDS = (
    tir.ForKind.SERIAL,
    tir.ForKind.SERIAL,
    tir.ForKind.UNROLLED,
    tir.ForKind.VECTORIZED,
    tir.ForKind.PARALLEL,
)


class VariedGenerator(FunctionGenerator):
    """A function with loops of all kinds, hints, facts and guards."""

    def boolean(self, depth: int) -> Value:
        value = super().boolean(depth)
        if not self.chance(0.15):
            return value
        return Value(self.emit(tir.CallOp("likely", [value.ssa], i1)), 0, 1)

    def integer(self, dtype: IntegerType, depth: int) -> Value:
        if depth > 0 and self.chance(0.12):
            buffers = [
                b
                for b in self.buffers
                if b.element == dtype
                and len(b.shape) == 1
                and isinstance(b.shape[0], int)
            ]
            if buffers and self.chance(0.6):
                return self.guarded_load(self.rng.choice(buffers), depth)
            return self.guarded_division(dtype, depth)
        return super().integer(dtype, depth)

    def guarded_load(self, buffer: Buffer, depth: int) -> Value:
        """An element where the index is in bounds, or another number."""
        dtype = buffer.element
        index = self.expression(self.rng.choice([i32, i64]), depth - 1)
        condition = self.in_bounds(buffer, index)
        with self.inside() as inside:
            ssa = self.emit(tir.LoadOp(buffer.ssa, [index.ssa]))
            self.add(tir.YieldOp(ssa))
        with self.inside() as outside:
            other = self.expression(dtype, 0)
            self.add(tir.YieldOp(other.ssa))
        found = self.emit(tir.IfThenElseOp(condition, dtype, inside, outside))
        low, high = element_range(dtype)
        return Value(found, min(low, other.low), max(high, other.high))

    def in_bounds(self, buffer: Buffer, index: Value) -> SSAValue:
        extent = buffer.shape[0]
        assert isinstance(extent, int)
        zero, end = (self.constant(n, index.dtype).ssa for n in (0, extent))
        below = self.emit(tir.CmpOp(tir.CmpPredicate.LT, index.ssa, end))
        if index.low >= 0 and self.chance(0.7):
            return below
        above = self.emit(tir.CmpOp(tir.CmpPredicate.LE, zero, index.ssa))
        return self.emit(tir.AndOp(above, below))

    def guarded_division(self, dtype: IntegerType, depth: int) -> Value:
        """A remainder where the divisor is more than zero, or another number."""
        divisor = self.expression(dtype, depth - 1)
        number = self.expression(dtype, depth - 1)
        zero = self.constant(0, dtype).ssa
        condition = self.emit(tir.CmpOp(tir.CmpPredicate.GT, divisor.ssa, zero))
        with self.inside() as defined:
            ssa = self.emit(tir.FloorModOp(number.ssa, divisor.ssa))
            self.add(tir.YieldOp(ssa))
        with self.inside() as undefined:
            other = self.expression(dtype, 0)
            self.add(tir.YieldOp(other.ssa))
        found = self.emit(tir.IfThenElseOp(condition, dtype, defined, undefined))
        high = max(divisor.high - 1, 0, other.high)
        return Value(found, min(0, other.low), high)

    def statement(self, depth: int) -> None:
        if not self.chance(0.3):
            super().statement(depth)
            return
        self.budget -= 1
        varied = [self.fact, self.fact, self.bound_load, self.guarded_store]
        if depth > 0:
            varied += [self.split_loop, self.split_loop]
        self.rng.choice(varied)()

    def fact(self) -> None:
        """An assumption or an assertion that follows from the bounds of a number."""
        value = self.expression(self.rng.choice([i32, i64]), 2)
        more = self.chance(0.5)
        number = value.low if more else value.high
        predicate = tir.CmpPredicate.GE if more else tir.CmpPredicate.LE
        bound = self.constant(number, value.dtype).ssa
        condition = self.emit(tir.CmpOp(predicate, value.ssa, bound))
        if self.chance(0.6):
            call = self.emit(tir.CallOp("assume", [condition], i1))
            self.add(tir.EvaluateOp(call))
        else:
            self.add(tir.AssertOp(condition, "a bound"))

    def bound_load(self) -> None:
        """A binding of an element, which the statements after it may overwrite."""
        value = self.load(self.rng.choice(self.buffers))
        ssa = self.emit(tir.LetOp(value.ssa, name="x"))
        self.values.append(Value(ssa, value.low, value.high))

    def guarded_store(self) -> None:
        """A write where an index is in bounds."""
        buffers = [
            b for b in self.buffers if len(b.shape) == 1 and isinstance(b.shape[0], int)
        ]
        if not buffers:
            self.store()
            return
        buffer = self.rng.choice(buffers)
        index = self.expression(self.rng.choice([i32, i32, i64]), 2)
        condition = self.in_bounds(buffer, index)
        with self.inside() as region:
            self.write(buffer, index.ssa)
        self.add(tir.IfOp(condition, region))

    def write(self, buffer: Buffer, index: SSAValue) -> None:
        value = self.expression(buffer.element, 2)
        if tir.is_integer_type(buffer.element):
            value = self.within(value, *element_range(buffer.element))
        self.add(tir.StoreOp(value.ssa, buffer.ssa, [index]))

    def split_loop(self) -> None:
        """Two loops over the parts of a range, with the condition that ends it."""
        dtype = self.rng.choice([i32, i32, i64])
        factor, extent = self.rng.choice([2, 3, 4]), self.rng.randint(1, 9)
        count = -(-extent // factor)
        zero = self.constant(0, dtype).ssa
        outer = self.block, self.values, self.buffers
        step = self.constant(factor, dtype).ssa
        first = self.nested_for(zero, self.constant(count, dtype).ssa)
        second = self.nested_for(zero, step)
        self.values, self.buffers = [*self.values], [*self.buffers]
        self.values.append(Value(first.loop_var, 0, count - 1))
        self.values.append(Value(second.loop_var, 0, factor - 1))
        product = self.emit(tir.MulOp(first.loop_var, step))
        index = self.emit(tir.AddOp(product, second.loop_var))
        end = self.constant(extent, dtype).ssa
        condition = self.emit(tir.CmpOp(tir.CmpPredicate.LT, index, end))
        if self.chance(0.5):
            condition = self.emit(tir.CallOp("likely", [condition], i1))
        with self.inside(Value(index, 0, extent - 1)) as region:
            self.statements(0)
        self.add(tir.IfOp(condition, region))
        self.block, self.values, self.buffers = outer

    def nested_for(self, low: SSAValue, extent: SSAValue) -> tir.ForOp:
        loop = tir.ForOp(low, extent)
        self.add(loop)
        self.block = loop.body.block
        return loop


def vary_loops(module: ModuleOp, rng: random.Random) -> None:
    """Give serial loops other kinds, pragmas and hints."""
    for op in module.walk():
        if not isinstance(op, tir.ForOp) or op.kind.data is not tir.ForKind.SERIAL:
            continue
        if rng.random() < 0.5:
            kind = rng.choice(_KINDS)
            if kind is not tir.ForKind.VECTORIZED or _may_be_vectorized(op):
                op.kind = tir.ForKindAttr(kind)
        if op.annotations is None and rng.random() < 0.3:
            op.annotations = DictionaryAttr(_hint(rng))


def _may_be_vectorized(loop: tir.ForOp) -> bool:
    if tir.constant_value(loop.extent) is None:
        return False
    inner: list[Operation] = list(loop.walk())
    return not any(isinstance(op, tir.WhileOp | tir.BlockOp) for op in inner)


def _hint(rng: random.Random) -> dict[str, Attribute]:
    match rng.randint(0, 3):
        case 0:
            return {"pragma_loop_partition_hint": BoolAttr.from_bool(True)}
        case 1:
            return {"pragma_auto_unroll_max_step": IntegerAttr(rng.choice([4, 32]), i32)}
        case 2:
            return {
                "pragma_auto_unroll_max_step": IntegerAttr(16, i32),
                "pragma_unroll_explicit": BoolAttr.from_bool(rng.random() < 0.5),
            }
        case _:
            return {"pragma_note": StringAttr("x")}


def varied_module(seed: int) -> Program:
    """The varied program of this number: the same one each time."""
    rng = random.Random(f"varied {seed}")
    functions: list[tir.FuncOp] = []
    callees: list[str] = []
    if rng.random() < 0.15:
        helper = VariedGenerator(rng, foreign=False, threads=False, callees=[])
        functions.append(helper.helper("helper"))
        callees.append("helper")
    generator = VariedGenerator(
        rng, foreign=False, threads=False, callees=callees, isolated=True
    )
    functions.append(generator.function("main"))
    module = ModuleOp(functions)
    vary_loops(module, rng)
    return Program(module, foreign=False, threads=False)
