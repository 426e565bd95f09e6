"""Random GPU kernels, right ones mostly, on arrays of all kinds of numbers.

A kernel accepts `%I`, `%K` to read (64 x f32, i32), and `%O`, `%P` with one element for
each thread to write (f32, i32). Its threads share `%S` and `%T`, and have `%L` of their
own.
Between two barriers a thread writes only its own elements of what is shared, and reads
what nobody writes. With `faulty` one statement in some is allowed to be wrong: races,
indices out of bounds, divisors of 0, barriers in branches, elements nobody has written.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

SIZE = 64
INTEGERS = ("i32", "i32", "i8", "i16", "i64", "ui8", "ui32", "ui64", "i20")
FLOATS = ("f32", "f32", "f16", "f64", "bf16")
CONSTANTS = {
    "i8": (-128, -3, 1, 7),
    "i16": (-300, 2, 255),
    "i32": (-2147483648, -5, 0, 1, 3, 64, 2147483647),
    "i64": (-9223372036854775808, 11, 1 << 40),
    "ui8": (0, 9, 255),
    "ui32": (2, 4294967295),
    "ui64": (5, 18446744073709551615),
    "i20": (-524288, 19),
}
_FLOAT_CONSTANTS = ("0.5", "-3.25", "3.0e4", "0.0")
_MATH = ("exp", "sqrt", "tanh", "floor", "round", "erf", "fabs", "sin", "trunc")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
_BUFFERS = {"I": "f32", "K": "i32", "O": "f32", "P": "i32", "S": "f32", "T": "i32"}
_SHARED = ("S", "T")


@dataclass
class Kernel:
    """A kernel's text and its launch."""

    text: str
    blocks: int
    threads: int


@dataclass
class _Writer:
    rng: random.Random
    faulty: bool
    blocks: int
    threads: int
    lines: list[str] = field(default_factory=list[str])
    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    count: int = 0
    written: set[str] = field(default_factory=set[str])
    """Buffers written since the last barrier,"""
    read: set[str] = field(default_factory=set[str])
    """and those of which elements of others were read."""
    outer: list[dict[str, list[str]]] = field(default_factory=list[dict[str, list[str]]])
    """The values outside of each scope that is open."""

    def errs(self) -> bool:
        return self.faulty and self.rng.random() < 0.12

    def line(self, text: str) -> None:
        self.lines.append(text)

    def fresh(self, dtype: str, text: str) -> str:
        self.count += 1
        name = f"%x{self.count}"
        self.line(f"{name} = {text}")
        self.values.setdefault(dtype, []).append(name)
        return name

    @contextmanager
    def scope(self, header: str) -> Generator[None]:
        self.line(header)
        outer = self.copied()
        self.outer.append(outer)
        yield
        self.outer.pop()
        self.values = outer
        self.line("}")

    def copied(self) -> dict[str, list[str]]:
        return {dtype: list(names) for dtype, names in self.values.items()}

    def otherwise(self) -> None:
        self.line("} else {")
        self.values = self.outer[-1]
        self.values = self.copied()

    def any(self, dtype: str) -> str:
        """A value of a dtype."""
        known = self.values.get(dtype)
        if known and self.rng.random() < 0.9:
            return self.rng.choice(known[-12:])
        if dtype in FLOATS:
            value = self.rng.choice(_FLOAT_CONSTANTS)
        else:
            value = self.rng.choice(CONSTANTS[dtype])
        return self.fresh(dtype, f"tir.const {value} : {dtype}")

    def condition(self) -> str:
        dtype = self.rng.choice(INTEGERS + FLOATS)
        sign = self.rng.choice(("lt", "le", "eq", "ne", "gt", "ge"))
        a, b = self.any(dtype), self.any(dtype)
        found = self.fresh("i1", f"tir.cmp {sign} {a}, {b} : {dtype}")
        pick = self.rng.random()
        other = self.rng.choice(self.values["i1"])
        if pick < 0.15:
            return self.fresh("i1", f"tir.not {found} : i1")
        if pick < 0.4:
            word = self.rng.choice(("and", "or"))
            return self.fresh("i1", f"tir.{word} {found}, {other} : i1")
        return found

    def expression(self) -> None:
        makers = (
            self.arithmetic,
            self.arithmetic,
            self.cast,
            self.cast,
            self.select,
            self.call,
            self.load,
            self.load,
            self.choice,
        )
        self.rng.choice(makers)()

    def arithmetic(self) -> None:
        dtype = self.rng.choice(INTEGERS + FLOATS)
        ops = ["add", "sub", "mul", "min", "max", "floordiv", "floormod", "div", "mod"]
        op = self.rng.choice(ops)
        a, b = self.any(dtype), self.any(dtype)
        if op in ops[5:] and dtype not in FLOATS and not self.errs():
            low = self.fresh(dtype, f"tir.const {self.rng.choice((1, 3, 7))} : {dtype}")
            b = low if self.rng.random() < 0.3 else self.positive(dtype, b, low)
        self.fresh(dtype, f"tir.{op} {a}, {b} : {dtype}")

    def positive(self, dtype: str, value: str, least: str) -> str:
        return self.fresh(dtype, f"tir.max {value}, {least} : {dtype}")

    def cast(self) -> None:
        source = self.rng.choice((*INTEGERS, *FLOATS, "i1"))
        target = self.rng.choice((*INTEGERS, *FLOATS))
        value = self.condition() if source == "i1" else self.any(source)
        self.fresh(target, f"tir.cast {value} : {source} to {target}")

    def select(self) -> None:
        dtype = self.rng.choice(INTEGERS + FLOATS)
        a, b, c = self.any(dtype), self.any(dtype), self.condition()
        self.fresh(dtype, f"tir.select {c}, {a}, {b} : i1, {dtype}")

    def call(self) -> None:
        if self.rng.random() < 0.5:
            name, dtype = self.rng.choice(_MATH), self.rng.choice(FLOATS)
            value = self.any(dtype)
            self.fresh(dtype, f'tir.call "{name}"({value}) : ({dtype}) -> {dtype}')
            return
        name, dtype = self.rng.choice(_BITS), self.rng.choice(INTEGERS)
        a, b = self.any(dtype), self.any(dtype)
        self.fresh(dtype, f'tir.call "{name}"({a}, {b}) : ({dtype}, {dtype}) -> {dtype}')

    def choice(self) -> None:
        dtype = self.rng.choice(INTEGERS + FLOATS)
        condition = self.condition()
        self.count += 1
        name = f"%x{self.count}"
        with self.scope(f"{name} = tir.if_then_else {condition} -> {dtype} {{"):
            self.load()
            self.line(f"tir.yield {self.any(dtype)} : {dtype}")
            self.otherwise()
            self.line(f"tir.yield {self.any(dtype)} : {dtype}")
        self.values.setdefault(dtype, []).append(name)

    def inside(self, size: int) -> str:
        """Any index of a buffer, in bounds."""
        value = self.any("i32")
        if self.errs():
            return value
        extent = self.fresh("i32", f"tir.const {size} : i32")
        return self.fresh("i32", f"tir.floormod {value}, {extent} : i32")

    def own(self, name: str) -> str:
        if self.errs():
            return self.inside(self.threads)
        return "%t" if name in _SHARED else "%g"

    def size(self, name: str) -> int:
        if name in _SHARED:
            return self.threads
        return SIZE if name in ("I", "K") else self.threads * self.blocks

    def load(self) -> None:
        if self.rng.random() < 0.25:
            where = self.inside(4)
            self.fresh("f32", f"tir.load %L[{where}] : f32")
            return
        name = self.rng.choice(tuple(_BUFFERS))
        free = name in ("I", "K") or (name in _SHARED and name not in self.written)
        if (free or self.errs()) and self.rng.random() < 0.7:
            where = self.inside(self.size(name))
            self.read.add(name)
        else:
            where = self.own(name) if name not in ("I", "K") else "%lane"
        dtype = _BUFFERS[name]
        self.fresh(dtype, f"tir.load %{name}[{where}] : {dtype}")

    def store(self) -> None:
        if self.rng.random() < 0.3:
            value, where = self.any("f32"), self.inside(4)
            self.line(f"tir.store {value}, %L[{where}] : f32")
            return
        name = self.rng.choice(("O", "P", "S", "T"))
        if name in self.read and not self.errs():
            return
        self.written.add(name)
        dtype = _BUFFERS[name]
        value, where = self.any(dtype), self.own(name)
        self.line(f"tir.store {value}, %{name}[{where}] : {dtype}")

    def barrier(self) -> None:
        if self.outer and not self.errs():
            return
        self.line('tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()')
        if not self.outer:
            self.written.clear()
            self.read.clear()

    def branch(self) -> None:
        with self.scope(f"tir.if {self.condition()} {{"):
            self.statements(3)
            if self.rng.random() < 0.5:
                self.otherwise()
                self.store()

    def loop(self) -> None:
        start = self.rng.choice(("%zero", "%two", "%t"))
        bound = self.fresh("i32", "tir.const 4 : i32")
        if self.rng.random() < 0.5:
            varying = self.any("i32")
            bound = self.fresh("i32", f"tir.floormod {varying}, {bound} : i32")
        last = bound if start == "%zero" else f"{start} + {bound}"
        self.count += 1
        with self.scope(f"tir.for %x{self.count} = {start} to {last} {{"):
            self.values["i32"] = [*self.values["i32"], f"%x{self.count}"]
            self.statements(3)

    def statements(self, most: int) -> None:
        for _ in range(self.rng.randint(1, most)):
            pick = self.rng.random()
            if pick < 0.45:
                self.expression()
            elif pick < 0.75:
                self.store()
            elif pick < 0.85:
                self.barrier()
            elif len(self.outer) < 3:
                self.rng.choice((self.branch, self.loop))()


def random_kernel(seed: int, *, faulty: bool) -> Kernel:
    """The kernel of a number."""
    rng = random.Random(seed)
    w = _Writer(rng, faulty, rng.choice((1, 2, 3)), rng.choice((8, 32, 40)))
    w.values = {"i32": ["%t", "%b", "%g", "%lane"], "i1": ["%yes"]}
    initialized = not (faulty and rng.random() < 0.1)
    if initialized:
        for index in ("%zero", "%one", "%two", "%three"):
            w.line(f"tir.store %half, %L[{index}] : f32")
        w.line("tir.store %half, %S[%t] : f32")
        w.line("tir.store %t, %T[%t] : i32")
        w.written |= set(_SHARED)
        w.barrier()
    w.statements(14)
    w.line(f"tir.store {w.any('f32')}, %O[%g] : f32")
    w.line(f"tir.store {w.any('i32')}, %P[%g] : i32")
    return Kernel(_module(w), w.blocks, w.threads)


def _module(w: _Writer) -> str:
    total, threads = w.blocks * w.threads, w.threads
    body = "\n".join(w.lines)
    return f"""
tir.func @f(%i: !tir.handle, %k: !tir.handle, %o: !tir.handle, %p: !tir.handle) {{
{_buffers({"I": ("i", SIZE), "K": ("k", SIZE), "O": ("o", total), "P": ("p", total)})}
  %zero = tir.const 0 : i32
  %one = tir.const 1 : i32
  %two = tir.const 2 : i32
  %three = tir.const 3 : i32
  %half = tir.const 0.5 : f32
  %yes = tir.const true
  %c64 = tir.const {SIZE} : i32
  %blocks = tir.const {w.blocks} : i32
  %threads = tir.const {threads} : i32
  %shared = tir.string "shared"
  tir.launch_thread %b = "blockIdx.x" to %blocks {{
    tir.launch_thread %t = "threadIdx.x" to %threads {{
      %ms = tir.allocate [{threads}] : !tir.ptr<f32, "shared">
      %S = tir.decl_buffer "S" %ms : !tir.buffer<{threads}xf32, "shared">
      %T = tir.alloc_buffer "T" : !tir.buffer<{threads}xi32, "shared">
      %ml = tir.allocate [4] : !tir.ptr<f32, "local">
      %L = tir.decl_buffer "L" %ml : !tir.buffer<4xf32, "local">
      %first = tir.mul %b, %threads : i32
      %g = tir.add %first, %t : i32
      %lane = tir.floormod %g, %c64 : i32
{body}
    }}
  }}
}}"""


def _buffers(buffers: dict[str, tuple[str, int]]) -> str:
    lines: Sequence[str] = [
        f'%{name} = tir.match_buffer "{name}" %{param} : '
        f"!tir.buffer<{size}x{_BUFFERS[name]}>"
        for name, (param, size) in buffers.items()
    ]
    return "\n".join(lines)
