"""Random programs with virtual threads that keep to places of their own in `%O`.

A program reads `%A` (16 x i32) and writes `%O`, of which each virtual thread has `PLACES`
elements. It has memory in and out of loops, loads that are used after writes, and
conditions, loops and lets that depend on the index of a thread or do not.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

PLACES = 3
_SIZE = 16
_COUNTS = (1, 2, 2, 3, 4, 17)
_OPS = ("add", "sub", "mul", "min", "max")


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])
    memory: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    outer: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Memory that several threads share, which is read only."""
    own: str = ""
    """The first place in `%O` of a thread."""
    total: int = 1
    count: int = 0
    depth: int = 0

    def line(self, text: str) -> None:
        self.lines.append(text)

    def fresh(self, text: str) -> str:
        self.count += 1
        self.line(f"%x{self.count} = {text}")
        return f"%x{self.count}"

    def constant(self, number: int) -> str:
        return self.fresh(f"tir.const {number} : i32")

    def modulo(self, value: str, number: int) -> str:
        return self.fresh(f"tir.floormod {value}, {self.constant(number)} : i32")

    @contextmanager
    def scope(self, header: str) -> Generator[None]:
        self.line(header)
        values, memory = list(self.values), list(self.memory)
        self.depth += 1
        yield
        self.depth -= 1
        self.values, self.memory = values, memory
        self.line("}")

    def any(self) -> str:
        if self.rng.random() < 0.1:
            return self.constant(self.rng.randrange(-5, 6))
        return self.rng.choice(self.values[-9:] + self.values[:3])

    def place(self, *, read: bool = False) -> tuple[str, str]:
        """A buffer and an index in it, what the thread may write or read."""
        known = self.memory + self.outer if read else self.memory
        if known and self.rng.random() < 0.7:
            name, extent = self.rng.choice(known)
            return name, self.modulo(self.any(), extent)
        index = self.modulo(self.any(), PLACES)
        return "%O", self.fresh(f"tir.add {self.own}, {index} : i32")

    # ---- values ----

    def arithmetic(self) -> None:
        text = f"tir.{self.rng.choice(_OPS)} {self.any()}, {self.any()} : i32"
        self.values.append(self.modulo(self.fresh(text), 101))

    def load(self) -> None:
        if self.rng.random() < 0.4:
            index = self.modulo(self.any(), _SIZE)
            found = self.fresh(f"tir.load %A[{index}] : i32")
        else:
            name, index = self.place(read=True)
            found = self.fresh(f"tir.load {name}[{index}] : i32")
        self.values.append(self.modulo(found, 101))

    def choice(self) -> None:
        condition = self.condition()
        name, index = self.place(read=True)
        if self.rng.random() < 0.4:
            name, index = "%A", self.modulo(self.any(), _SIZE)
        other = self.any()
        guarded = f"tir.load {name}[{index}] : i32"
        self.count += 1
        name = f"%x{self.count}"
        self.line(f"{name} = tir.if_then_else {condition} -> i32 {{")
        self.line(f"tir.yield {self.fresh(guarded)} : i32")
        self.line("} else {")
        self.line(f"tir.yield {other} : i32")
        self.line("}")
        self.values.append(self.modulo(name, 101))

    def condition(self) -> str:
        sign = self.rng.choice(("lt", "le", "eq", "ne"))
        return self.fresh(f"tir.cmp {sign} {self.any()}, {self.any()} : i32")

    def let(self) -> None:
        kind = self.rng.choice(("", "", "expr "))
        self.values.append(self.fresh(f"tir.let {kind}{self.any()} : i32"))

    # ---- statements ----

    def store(self) -> None:
        name, index = self.place()
        self.line(f"tir.store {self.any()}, {name}[{index}] : i32")

    def update(self) -> None:
        name, index = self.place()
        old = self.fresh(f"tir.load {name}[{index}] : i32")
        new = self.modulo(self.fresh(f"tir.add {old}, {self.any()} : i32"), 101)
        self.line(f"tir.store {new}, {name}[{index}] : i32")

    def allocate(self) -> None:
        extent = self.rng.randrange(1, 5)
        self.count += 1
        pointer, name = f"%p{self.count}", f"%M{self.count}"
        scope = self.rng.choice(("", ', "local"'))
        self.line(f"{pointer} = tir.allocate [{extent}] : !tir.ptr<i32{scope}>")
        self.line(
            f"{name} = tir.decl_buffer {pointer} : !tir.buffer<{extent}xi32{scope}>"
        )
        value = self.any()
        with self.scope(self.loop(self.constant(extent))):
            self.line(f"tir.store {value}, {name}[%i{self.count}] : i32")
        self.memory.append((name, extent))
        if self.rng.random() < 0.4:
            self.memory.append((self.alias(pointer, name, extent, scope), extent))

    def alias(self, pointer: str, buffer: str, extent: int, scope: str) -> str:
        """Another buffer on the same memory."""
        kind = f"!tir.ptr<i32{scope}>"
        data = pointer
        if self.rng.random() < 0.5:
            data = self.fresh(f"tir.data {buffer} : {kind}")
        if self.rng.random() < 0.5:
            zero, end = self.constant(0), self.constant(extent)
            access = f"tir.access_ptr rw {data}[{zero} to {zero} + {end}]"
            data = self.fresh(f"{access} : {kind}")
        return self.fresh(f"tir.decl_buffer {data} : !tir.buffer<{extent}xi32{scope}>")

    def loop(self, extent: str) -> str:
        start = self.constant(0)
        self.count += 1
        return f"tir.for %i{self.count} = {start} to {extent} {{"

    def repeat(self) -> None:
        extent = self.constant(self.rng.randrange(1, 4))
        if self.rng.random() < 0.4:
            extent = self.fresh(f"tir.add {self.modulo(self.any(), 3)}, {extent} : i32")
        with self.scope(self.loop(extent)):
            self.values.append(f"%i{self.count}")
            self.statements(self.rng.randrange(1, 4))

    def branch(self) -> None:
        condition = self.condition()
        with self.scope(f"tir.if {condition} {{"):
            self.statements(self.rng.randrange(1, 4))
        if self.rng.random() < 0.5:
            self.lines[-1] = "} else {"
            values, memory = list(self.values), list(self.memory)
            self.statements(self.rng.randrange(1, 3))
            self.values, self.memory = values, memory
            self.line("}")

    def statements(self, number: int) -> None:
        plain = (self.arithmetic, self.load, self.load, self.store, self.update)
        nested = (self.repeat, self.branch, self.allocate, self.let, self.choice)
        for _ in range(number):
            self.rng.choice(plain)()
            if self.depth < 5 and self.rng.random() < 0.5:
                self.rng.choice(nested)()

    # ---- launches ----

    def launches(self) -> None:
        """One or two virtual axes around statements."""
        letters = "xy"[: self.rng.randrange(1, 3)]
        base = self.constant(0)
        with self.scope("tir.scope {"):
            for letter in letters:
                tag = f"vthread.{letter}" if self.rng.random() < 0.7 else "cthread"
                count = self.rng.choice(_COUNTS[: 5 if self.total > 4 else 6])
                extent = self.constant(count)
                self.line(
                    f'tir.launch_thread %t{letter} = "{tag}" to {extent} virtual {{'
                )
                self.values.append(f"%t{letter}")
                self.outer, self.memory = self.memory, []
                scaled = self.fresh(f"tir.mul {base}, {extent} : i32")
                base = self.fresh(f"tir.add {scaled}, %t{letter} : i32")
                self.total *= count
                if self.rng.random() < 0.6:
                    self.own = self.constant(0)
                    self.allocate()
            places = self.constant(PLACES)
            self.own = self.fresh(f"tir.mul {base}, {places} : i32")
            self.statements(self.rng.randrange(4, 9))
            self.update()
            for _ in letters:
                self.line("}")


def random_virtual_threads(seed: int) -> str:
    """The text of a function with virtual threads."""
    w = _Writer(random.Random(seed))
    w.values = ["%n"]
    if w.rng.random() < 0.4:
        with w.scope(w.loop(w.constant(2))):
            w.values.append(f"%i{w.count}")
            w.launches()
    else:
        w.launches()
    flag = " attributes {tir.noalias}" if w.rng.random() < 0.6 else ""
    body = "\n".join(w.lines)
    return f"""
tir.func @f(%a: !tir.handle, %o: !tir.handle, %n: i32){flag} {{
%A = tir.match_buffer %a : !tir.buffer<{_SIZE}xi32>
%O = tir.match_buffer %o : !tir.buffer<{PLACES * w.total}xi32>
{body}
}}"""
