"""Random programs of floor divisions and remainders, whose signs are known or not."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

DTYPES = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui32": np.uint32,
}
_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
SIZE = 24


class DivisionProgram:
    """A function `f` of three arrays, the last of which it writes."""

    def __init__(self, seed: int, target: str) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._count = 0
        self.dtype = self._random.choice(list(DTYPES))
        self._low = 0 if self.dtype.startswith("u") else self._random.randrange(-9, 3)
        values = self._body()
        head = f"""
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {{target = #tir.target<"{target}">, global_symbol = "f"}} {{
  %A = tir.match_buffer %a : !tir.buffer<{SIZE}x{self.dtype}>
  %B = tir.match_buffer %b : !tir.buffer<{SIZE}x{self.dtype}>
  %C = tir.match_buffer %c : !tir.buffer<{SIZE}x{self.dtype}>
  %low = tir.const {self._low} : {self.dtype}
  %high = tir.const {SIZE} : {self.dtype}
  tir.for %i = %low to %low + %high {{
"""
        self.text = head + "\n".join(self._lines)
        self.text += f"\n    tir.store {values}, %C[%p] : {self.dtype}\n  }}\n}}\n"

    def arguments(self) -> list[NDArray[np.generic]]:
        """Arrays of numbers near zero, and of any for narrow dtypes."""
        rng = np.random.default_rng(self._random.randrange(1 << 30))
        kind = DTYPES[self.dtype]
        info = np.iinfo(kind)
        low, high = (info.min, info.max) if info.bits < 32 else (-400, 400)
        low = max(low, int(info.min))
        small = rng.integers(max(-12, int(info.min)), 12, SIZE)
        any_ = rng.integers(low, high, SIZE)
        return [any_.astype(kind), small.astype(kind), np.zeros(SIZE, kind)]

    def _value(self, text: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"    {name} = {text}")
        return name

    def _const(self, value: int) -> str:
        return self._value(f"tir.const {value} : {self.dtype}")

    def _op(self, name: str, lhs: str, rhs: str) -> str:
        return self._value(f"tir.{name} {lhs}, {rhs} : {self.dtype}")

    def _body(self) -> str:
        place = self._value(f"tir.cast %i : {self.dtype} to i32")
        if self.dtype == "i32":
            self._lines.pop()
            place = "%i"
        start = self._value(f"tir.const {self._low} : i32")
        self._lines.append(f"    %p = tir.sub {place}, {start} : i32")
        self._lines.append(f"    %x = tir.load %A[%p] : {self.dtype}")
        self._lines.append(f"    %y = tir.load %B[%p] : {self.dtype}")
        return self._expression(3)

    def _divisor(self, depth: int) -> str:
        choose = self._random
        if choose.random() < 0.55:
            return self._const(choose.choice((1, 2, 3, 4, 7, 8, 12, 100)))
        if choose.random() < 0.2 and not self.dtype.startswith("u"):
            return self._const(choose.choice((-1, -2, -3, -8)))
        value = choose.choice(("%x", "%y", "%i"))
        one = self._const(1)
        if choose.random() < 0.5:
            return self._op("max", value, one)
        zero = self._const(0)
        is_zero = self._value(f"tir.cmp eq {value}, {zero} : {self.dtype}")
        return self._value(f"tir.select {is_zero}, {one}, {value} : i1, {self.dtype}")

    def _condition(self, depth: int) -> str:
        lhs = self._expression(depth - 1)
        rhs = self._const(self._random.choice((0, 0, 1, 5)))
        predicate = self._random.choice(_PREDICATES)
        return self._value(f"tir.cmp {predicate} {lhs}, {rhs} : {self.dtype}")

    def _expression(self, depth: int) -> str:
        choose = self._random
        if depth == 0 or choose.random() < 0.1:
            return choose.choice(("%x", "%y", "%i", "%i"))
        kind = choose.randrange(10)
        if kind < 5:
            name = choose.choice(("floordiv", "floormod"))
            lhs = self._expression(depth - 1)
            return self._op(name, lhs, self._divisor(depth))
        if kind < 7:
            name = choose.choice(("add", "sub", "min", "max"))
            lhs = self._expression(depth - 1)
            return self._op(name, lhs, self._expression(depth - 1))
        if kind == 7:
            lhs = self._expression(depth - 1)
            name = choose.choice(("mul", "max"))
            return self._op(name, lhs, self._const(choose.choice((0, 1, 3, 5))))
        condition = self._condition(depth)
        if kind == 8:
            yes, no = self._expression(depth - 1), self._expression(depth - 1)
            return self._value(f"tir.select {condition}, {yes}, {no} : i1, {self.dtype}")
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(
            f"    {name} = tir.if_then_else {condition} -> {self.dtype} {{"
        )
        for end in ("    } else {", "    }"):
            value = self._expression(depth - 1)
            self._lines.append(f"    tir.yield {value} : {self.dtype}")
            self._lines.append(end)
        return name
