"""Programs keep their results where numbers are close to what the fewer bits hold."""

from __future__ import annotations

import os
import random

import pytest
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "2")) * 4
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
_ARITHMETIC = ("add", "sub", "mul", "min", "max")
_DIVISIONS = ("div", "mod", "floordiv", "floormod")
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
_COUNTS = ("clz", "popcount")
_LARGE = (2147483647, 2147483648, -2147483648, -2147483649)
_NUMBERS = (0, 1, 2, 3, 7, 16, 60, 100, 127, 128, 200, 1000, -1, -5, -100, -128, -129)


class _Writer:
    """Writes a function with loops, values of 64 bits and stores of 32 bits."""

    def __init__(self, seed: int, numbers: tuple[int, ...]) -> None:
        self._numbers = numbers
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._count = 0
        self._values: list[str] = []

    def text(self) -> str:
        for number, name in ((0, "zero"), (16, "sixteen"), (1000, "limit")):
            self._lines.append(f"%{name} = tir.const {number} : i64")
        for variable in ("i", "j"):
            low = self.constant(self._random.choice((0, 0, 1, -3, 120, -128)))
            extent = self.constant(self._random.choice((1, 3, 5, 8)))
            self._lines.append(f"tir.for %{variable} = {low} to {low} + {extent} {{")
            self._values.append(f"%{variable}")
        for _ in range(self._random.randint(3, 10)):
            self.step()
        for _ in range(2):
            self.store()
        body = "\n".join(self._lines)
        return f"""
        tir.func @f(%a: !tir.handle, %n: i64) {{
          %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
          {body}
          }} }}
        }}"""

    def line(self, right: str) -> str:
        self._count += 1
        self._lines.append(f"%v{self._count} = {right}")
        return f"%v{self._count}"

    def constant(self, number: int) -> str:
        return self.line(f"tir.const {number} : i64")

    def value(self) -> str:
        if self._random.random() < 0.25:
            return self.constant(self._random.choice(self._numbers))
        return self._random.choice([*self._values, *self._values[-3:]])

    def step(self) -> None:
        lhs, rhs = self.value(), self.value()
        pick = self._random.choice
        match self._random.randrange(9):
            case 0 | 1 | 2:
                new = self.line(f"tir.{pick(_ARITHMETIC)} {lhs}, {rhs} : i64")
            case 3:
                divisor = self.constant(pick([n for n in self._numbers if n]))
                new = self.line(f"tir.{pick(_DIVISIONS)} {lhs}, {divisor} : i64")
            case 4:
                name = pick(_BITWISE)
                new = self.line(f'tir.call "{name}"({lhs}, {rhs}) : (i64, i64) -> i64')
            case 5:
                name, amount = pick(("shift_left", "shift_right")), pick((0, 1, 6, 9, 20))
                by = self.constant(amount)
                new = self.line(f'tir.call "{name}"({lhs}, {by}) : (i64, i64) -> i64')
            case 6:
                new = self.choice(lhs, rhs)
            case 7:
                new = self.counted(lhs)
            case _:
                new = self.line(f'tir.let "v" {lhs} : i64')
        # Products of products stay far away from the limits of 64 bits.
        self._values.append(
            self.line(f"tir.mod {new}, %limit : i64")
            if self._random.random() < 0.3
            else self.line(f"tir.min {new}, %limit : i64")
            if self._random.random() < 0.5
            else new
        )
        if self._count % 4 == 0:
            last = self._values.pop()
            self._values.append(self.line(f"tir.mod {last}, %limit : i64"))

    def choice(self, lhs: str, rhs: str) -> str:
        other = self.value()
        condition = self.line(f"tir.cmp lt {lhs}, {other} : i64")
        if self._random.random() < 0.5:
            return self.line(f"tir.select {condition}, {lhs}, {rhs} : i1, i64")
        new = self.line(f"tir.if_then_else {condition} -> i64 {{")
        inner = self.line(f"tir.add {lhs}, {rhs} : i64")
        self._lines += [f"tir.yield {inner} : i64", "} else {"]
        self._lines += [f"tir.yield {rhs} : i64", "}"]
        return new

    def counted(self, value: str) -> str:
        name = self._random.choice(_COUNTS)
        if name == "popcount":
            return self.line(f'tir.call "popcount"({value}) : (i64) -> i64')
        count = self.line(f'tir.call "clz"({value}) : (i64) -> i32')
        return self.line(f"tir.cast {count} : i32 to i64")

    def store(self) -> None:
        index = self.line(f"tir.floormod {self.value()}, %sixteen : i64")
        value = self.line(f"tir.cast {self.value()} : i64 to i32")
        old = self.line(f"tir.load %A[{index}] : i32")
        new = self.line(f'tir.call "bitwise_xor"({old}, {value}) : (i32, i32) -> i32')
        self._lines.append(f"tir.store {new}, %A[{index}] : i32")


def _program(seed: int, numbers: tuple[int, ...] = _NUMBERS) -> ModuleOp:
    module = Parser(new_context(), _Writer(seed, numbers).text()).parse_module()
    module.verify()
    return module


@pytest.mark.parametrize("bits", [8, 32])
def test_narrow_programs_compute_the_same(bits: int) -> None:
    narrow, narrowed = tir_passes.NarrowDataType(target_bits=bits), 0
    numbers = _NUMBERS if bits == 8 else (*_NUMBERS, *_LARGE)
    for seed in range(FIRST, FIRST + COUNT):
        module = _program(seed, numbers)
        check_semantics(module, [narrow], seed=seed, tolerance=0.0)
        types = [
            result.type
            for op in narrow(module).walk()
            for result in op.results
            if not isinstance(op, tir.ConstOp)
        ]
        narrowed += IntegerType(bits) in types and IntegerType(64) in types
    assert narrowed > COUNT / 4


def test_forced_programs_compute_the_same() -> None:
    """In these programs, what indices are made of fits 32 bits."""
    for seed in range(FIRST, FIRST + COUNT):
        passes = [tir_passes.ForceNarrowIndexToInt32()]
        check_semantics(_program(seed), passes, seed=seed, tolerance=0.0)
