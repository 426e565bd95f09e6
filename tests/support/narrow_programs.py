"""Random programs on bfloat16 or float8 with what they compute, evaluated by numpy.

The oracle is that of the legalization passes: everything is computed in float32, and
rounded where it is cast, or stored to a buffer of a parameter, or to other memory that
stays narrow. The interpreter rounds after every operation instead, so that it is compared
with after the passes only.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}
SIZE = 8
LANES = 4
_INDEX = "vector<4xi32>"
_CONSTANTS = (0.0, 0.5, -1.5, 2.0, -3.0, 0.25)


@dataclass(frozen=True)
class Value:
    """An SSA value of a program, and its elements for all iterations."""

    name: str
    kind: str
    """`n` for the narrow float, `f` for f32, `i` for i32, `b` for i1."""
    array: Array


@dataclass(frozen=True)
class Program:
    """A function @f, the arguments for it, and what it leaves in them."""

    text: str
    arguments: tuple[Array, ...]
    results: tuple[Array, ...]


def narrow_program(seed: int, dtype: str, *, pointers: bool = False) -> Program:
    """A random program on a narrow float; with `pointers`, parameters are pointers."""
    return _Writer(random.Random(seed), dtype, pointers).program()


class _Writer:
    def __init__(self, rng: random.Random, dtype: str, pointers: bool) -> None:
        self.rng = rng
        self.dtype = dtype
        self.numpy = DTYPES[dtype]
        self.pointers = pointers
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.lanes = 1
        self.buffers: dict[str, Array] = {}
        self.kinds: dict[str, str] = {}
        """`n` narrow, `w` narrow memory that becomes wide, `f` f32, `i` i32."""
        self.constants: list[str] = []

    # ---- text ----

    def emit(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def type_of(self, kind: str) -> str:
        scalar = {"n": self.dtype, "f": "f32", "i": "i32", "b": "i1"}[kind]
        return scalar if self.lanes == 1 else f"vector<{self.lanes}x{scalar}>"

    def value(self, kind: str, text: str, array: Array) -> Value:
        name = self.fresh()
        self.emit(f"{name} = {text}")
        return self.named(name, kind, array)

    def named(self, name: str, kind: str, array: Array) -> Value:
        return Value(name, kind, array)

    # ---- values ----

    def round(self, array: Array) -> Array:
        return array.astype(self.numpy).astype(np.float32)

    def narrow(self, depth: int) -> Value:
        """A value of the narrow float: its elements are float32s, rounded or not."""
        if depth == 0:
            return self.load("nw") if self.rng.random() < 0.8 else self.constant()
        choices: list[Callable[[int], Value]] = [
            self.binary,
            self.binary,
            self.binary,
            self.unary,
            self.select,
            self.cast_to_narrow,
            self.binding,
        ]
        if self.lanes == 1:
            choices.append(self.lazy)
        else:
            choices.append(self.shuffle)
        return self.rng.choice(choices)(depth - 1)

    def load(self, kinds: str) -> Value:
        buffer = self.rng.choice([b for b, k in self.kinds.items() if k in kinds])
        kind = "n" if self.kinds[buffer] == "w" else self.kinds[buffer]
        text = f"tir.load {buffer}[%at] : {self.type_of(kind)}"
        return self.value(kind, text, self.buffers[buffer].astype(self.computed(kind)))

    @staticmethod
    def computed(kind: str) -> Any:
        return np.int32 if kind == "i" else np.float32

    def constant(self) -> Value:
        number = self.rng.choice(_CONSTANTS)
        name = f"%k{_CONSTANTS.index(number)}"
        array = np.full(SIZE, number, np.float32)
        if self.lanes == 1:
            return Value(name, "n", array)
        return self.value("n", f"tir.broadcast {name} : {self.type_of('n')}", array)

    def binary(self, depth: int) -> Value:
        name, function = self.rng.choice(_BINARY)
        a, b = self.narrow(depth), self.narrow(depth)
        text = f"tir.{name} {a.name}, {b.name} : {self.type_of('n')}"
        return self.value("n", text, function(a.array, b.array))

    def unary(self, depth: int) -> Value:
        name, function = self.rng.choice(_UNARY)
        a, t = self.narrow(depth), self.type_of("n")
        text = f'tir.call "{name}"({a.name}) : ({t}) -> {t}'
        return self.value("n", text, function(a.array))

    def condition(self, depth: int) -> Value:
        name, function = self.rng.choice(_COMPARISONS)
        a, b = self.narrow(depth), self.narrow(depth)
        text = f"tir.cmp {name} {a.name}, {b.name} : {self.type_of('n')}"
        return self.value("b", text, function(a.array, b.array))

    def select(self, depth: int) -> Value:
        p, a, b = self.condition(depth), self.narrow(depth), self.narrow(depth)
        text = (
            f"tir.select {p.name}, {a.name}, {b.name} : "
            f"{self.type_of('b')}, {self.type_of('n')}"
        )
        return self.value("n", text, np.where(p.array, a.array, b.array))

    def lazy(self, depth: int) -> Value:
        p, outer = self.condition(depth), self.narrow(depth)
        name = self.fresh()
        self.emit(f"{name} = tir.if_then_else {p.name} -> {self.dtype} {{")
        self.indent += 1
        inner = self.binary(depth)
        self.emit(f"tir.yield {inner.name} : {self.dtype}")
        self.indent -= 1
        self.emit("} else {")
        self.emit(f"  tir.yield {outer.name} : {self.dtype}")
        self.emit("}")
        return self.named(name, "n", np.where(p.array, inner.array, outer.array))

    def cast_to_narrow(self, depth: int) -> Value:
        a = self.other(depth)
        text = f"tir.cast {a.name} : {self.type_of(a.kind)} to {self.type_of('n')}"
        return self.value("n", text, self.round(a.array.astype(np.float32)))

    def other(self, depth: int) -> Value:
        """A value of f32 or i32."""
        if depth == 0 or self.rng.random() < 0.3:
            return self.load("fi")
        a = self.narrow(depth)
        kind = self.rng.choice("fi")
        rounded = self.round(a.array)
        array = rounded if kind == "f" else _to_integer(rounded)
        text = f"tir.cast {a.name} : {self.type_of('n')} to {self.type_of(kind)}"
        return self.value(kind, text, array)

    def binding(self, depth: int) -> Value:
        a = self.narrow(depth)
        kind = self.rng.choice(("", "expr "))
        text = f'tir.let {kind}"b" {a.name} : {self.type_of("n")}'
        return self.value("n", text, a.array)

    def shuffle(self, depth: int) -> Value:
        a, b = self.narrow(depth), self.narrow(depth)
        picked = [self.rng.randrange(2 * LANES) for _ in range(LANES)]
        lanes = ", ".join(f"%i{each}" for each in picked)
        both = [array.reshape(-1, LANES) for array in (a.array, b.array)]
        joined = np.concatenate(both, axis=1)[:, picked]
        text = f"tir.shuffle [{a.name}, {b.name}] [{lanes}] : {self.type_of('n')}"
        return self.value("n", text, np.ascontiguousarray(joined).ravel())

    # ---- statements ----

    def store(self) -> None:
        """A loop that computes all elements of a buffer of others and of itself."""
        buffer = self.rng.choice([b for b in self.kinds if b != "%I"])
        kind = self.kinds[buffer]
        self.lanes = self.rng.choice((1, 1, LANES))
        self.emit(f"tir.for %i = %i0 to %n{SIZE // self.lanes} {{")
        self.indent += 1
        if self.lanes == 1:
            self.emit("%at = tir.add %i, %i0 : i32")
        else:
            self.emit("%first = tir.mul %i, %i4 : i32")
            self.emit(f"%at = tir.ramp %first, %i1 : {_INDEX}")
        depth = self.rng.randrange(4)
        if kind == "f":
            value = self.cast("f", self.narrow(depth))
            array = value.array
        else:
            value = self.narrow(depth)
            array = value.array if kind == "w" else self.round(value.array)
        self.emit(f"tir.store {value.name}, {buffer}[%at] : {self.type_of(value.kind)}")
        self.indent -= 1
        self.emit("}")
        self.buffers[buffer] = array

    def cast(self, kind: str, a: Value) -> Value:
        text = f"tir.cast {a.name} : {self.type_of('n')} to {self.type_of(kind)}"
        return self.value(kind, text, self.round(a.array))

    def reduce(self) -> None:
        """A matrix-vector product, accumulated in one of the buffers."""
        self.lanes = 1
        narrow = [b for b, k in self.kinds.items() if k in "nw"]
        into, a, b = self.rng.sample(narrow, 3)
        t = self.dtype
        self.emit(f"tir.for %i = %i0 to %n{SIZE} {{")
        self.emit(f"  tir.for %k = %i0 to %n{SIZE} {{")
        self.emit("    %j = tir.add %i, %k : i32")
        self.emit(f"    %m = tir.floormod %j, %n{SIZE} : i32")
        for name, buffer, index in (
            ("%s", into, "%i"),
            ("%x", a, "%m"),
            ("%y", b, "%k"),
        ):
            self.emit(f"    {name} = tir.load {buffer}[{index}] : {t}")
        self.emit(f"    %p = tir.mul %x, %y : {t}")
        self.emit(f"    %q = tir.add %s, %p : {t}")
        self.emit(f"    tir.store %q, {into}[%i] : {t}")
        self.emit("  }")
        self.emit("}")
        total = self.buffers[into].astype(np.float32)
        at = np.arange(SIZE)
        for k in range(SIZE):
            product = self.buffers[a][(at + k) % SIZE] * self.buffers[b][k]
            total = total + product
            if self.kinds[into] == "n":
                total = self.round(total)
        self.buffers[into] = total

    def program(self) -> Program:
        """The whole of it."""
        numbers = np.random.default_rng(self.rng.randrange(1 << 30))
        inputs = {
            "%A": _floats(numbers, self.numpy),
            "%B": _floats(numbers, self.numpy),
            "%D": _floats(numbers, self.numpy),
            "%F": numbers.normal(size=SIZE).astype(np.float32),
            "%I": numbers.integers(-20, 20, SIZE).astype(np.int32),
        }
        self.parameters(list(inputs))
        for name, array in inputs.items():
            is_narrow = array.dtype == self.numpy
            self.kinds[name] = "n" if is_narrow else "i" if name == "%I" else "f"
            self.buffers[name] = array.astype(np.float32) if is_narrow else array
        self.memory()
        with np.errstate(all="ignore"):
            for _ in range(self.rng.randrange(2, 6)):
                if self.rng.random() < 0.25:
                    self.reduce()
                else:
                    self.store()
        results = tuple(
            self.buffers[name].astype(array.dtype) for name, array in inputs.items()
        )
        text = "\n".join([*self.lines, "}"])
        return Program(text, tuple(inputs.values()), results)

    def parameters(self, names: list[str]) -> None:
        """The head of the function, with the constants that it uses."""
        elements = dict.fromkeys(names, self.dtype) | {"%F": "f32", "%I": "i32"}
        types = [
            f"!tir.ptr<{elements[name]}>" if self.pointers else "!tir.handle"
            for name in names
        ]
        parts = zip(names, types, strict=True)
        heads = ", ".join(f"%p{name[1:]}: {type_}" for name, type_ in parts)
        self.lines.append(
            f'tir.func @f({heads}) attributes {{global_symbol = "f", '
            'target = #tir.target<"llvm">} {'
        )
        kind = "decl_buffer" if self.pointers else "match_buffer"
        for name in names:
            type_ = f"!tir.buffer<{SIZE}x{elements[name]}>"
            self.emit(f"{name} = tir.{kind} %p{name[1:]} : {type_}")
        for number in range(2 * LANES):
            self.emit(f"%i{number} = tir.const {number} : i32")
        for number in (SIZE, SIZE // LANES):
            self.emit(f"%n{number} = tir.const {number} : i32")
        for position, number in enumerate(_CONSTANTS):
            self.emit(f"%k{position} = tir.const {number} : {self.dtype}")

    def memory(self) -> None:
        """Two allocations, filled with copies; that of symbolic size stays narrow."""
        self.emit(f"%memory = tir.allocate [{SIZE}] : !tir.ptr<{self.dtype}>")
        self.emit(f"%W = tir.decl_buffer %memory : !tir.buffer<{SIZE}x{self.dtype}>")
        self.emit("%some = tir.load %I[%i0] : i32")
        self.emit(f"%size = tir.max %some, %n{SIZE} : i32")
        self.emit(f"%symbolic = tir.allocate [%size] : !tir.ptr<{self.dtype}>")
        self.emit(f"%S = tir.decl_buffer %symbolic : !tir.buffer<{SIZE}x{self.dtype}>")
        for name, kind, source in (("%W", "w", "%A"), ("%S", "n", "%B")):
            self.emit(f"tir.for %i = %i0 to %n{SIZE} {{")
            self.emit(f"  %x = tir.load {source}[%i] : {self.dtype}")
            self.emit(f"  tir.store %x, {name}[%i] : {self.dtype}")
            self.emit("}")
            self.kinds[name] = kind
            self.buffers[name] = self.buffers[source]


_BINARY: tuple[tuple[str, Callable[[Array, Array], Array]], ...] = (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("div", np.divide),
    ("min", np.minimum),
    ("max", np.maximum),
)
_UNARY: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("sqrt", np.sqrt),
    ("fabs", np.fabs),
    ("floor", np.floor),
)
_COMPARISONS: tuple[tuple[str, Callable[[Array, Array], Array]], ...] = (
    ("lt", np.less),
    ("ge", np.greater_equal),
    ("eq", np.equal),
)


def _to_integer(array: Array) -> Array:
    """Toward zero, cut off at the limits; NaN becomes 0."""
    inside = np.clip(array.astype(np.float64), -(2.0**31), 2.0**31 - 1)
    return np.trunc(np.nan_to_num(inside)).astype(np.int32)


def _floats(numbers: np.random.Generator, dtype: Any) -> Array:
    """Random numbers, with special ones among them."""
    info = cast(Any, ml_dtypes).finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan]
    special += [float(info.max), float(info.smallest_subnormal)]
    array = numbers.normal(size=SIZE).astype(np.float32)
    for _ in range(int(numbers.integers(3))):
        array[numbers.integers(SIZE)] = special[numbers.integers(len(special))]
    return array.astype(dtype)


def same(found: Array, expected: Array) -> bool:
    """Whether arrays are equal, but for the signs of zeros and the bits of NaNs."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))
