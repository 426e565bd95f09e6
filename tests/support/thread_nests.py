"""Random kernels whose parts bind their threads by themselves, or not at all.

Each store has a buffer of its own, which it indexes by the variables of all loops around;
so it is done once for an element, however threads are bound.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
_VIRTUAL = ("vthread.x", "vthread")


@dataclass
class _Writer:
    rng: random.Random
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The first index and the number of threads of each axis."""
    lines: list[str] = field(default_factory=list[str])
    parameters: list[str] = field(default_factory=list[str])
    count: int = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def loop(self, variables: dict[str, tuple[str, int]], tags: list[str]) -> None:
        """A loop, or several over threads at once, with more inside."""
        rng = self.rng
        if not tags and rng.random() < 0.7:
            self.open(["blockIdx.x"], variables, tags)
        elif not any("threadIdx" in tag for tag in tags) and rng.random() < 0.6:
            # All that a loop over threads holds is done by the threads of all axes in it.
            self.open(rng.sample(_THREADS, rng.choice((1, 1, 2, 3))), variables, tags)
        else:
            again = [tag for tag in tags if "threadIdx" in tag]
            fresh = [tag for tag in _VIRTUAL if tag not in tags]
            more = [*fresh, *again] if rng.random() < 0.4 else []
            self.open([rng.choice([*more, ""])], variables, tags)

    def open(
        self, new: list[str], variables: dict[str, tuple[str, int]], tags: list[str]
    ) -> None:
        rng, inner = self.rng, dict(variables)
        for tag in new:
            name = self.fresh("i")
            start, size = rng.choice((0, 0, 2)), rng.choice((1, 2, 3))
            if tag:
                start, size = self.ranges.setdefault(tag, (start, size))
            dtype = rng.choice(("i32", "i32", "i32", "i64"))
            end = f"%{dtype}_{start} + %{dtype}_{size}" if start else f"%{dtype}_{size}"
            bound = f' thread_binding "{tag}"' if tag else ""
            note = ' annotations {"note" = 1 : i32}' if rng.random() < 0.2 else ""
            header = f"tir.for %{name} = %{dtype}_{start} to {end}{bound}{note} {{"
            self.lines.append(header)
            inner[name] = (dtype, start + size)
        self.statements(inner, [*tags, *(tag for tag in new if tag)])
        self.lines += ["}"] * len(new)

    def statements(self, variables: dict[str, tuple[str, int]], tags: list[str]) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            if len(variables) < 5 and self.rng.random() < 0.6:
                self.loop(variables, tags)
            else:
                self.part(variables)

    def part(self, variables: dict[str, tuple[str, int]]) -> None:
        """A store, alone, in a block, or of what was kept in between."""
        kept = self.rng.random() < 0.4
        block = kept or self.rng.random() < 0.4
        buffer = self.fresh("P")
        shape = "x".join(str(end) for _, end in variables.values())
        self.parameters.append(f"{buffer} {shape}")
        places = ", ".join(f"%{name}" for name in variables)
        value = self.fresh("x")
        if block:
            self.lines.append(f'tir.block "{buffer}" {{')
        lines = [
            f"%{value} = tir.load %{buffer}[{places}] : i32",
            f"%{value}s = tir.add %{value}, %i32_3 : i32",
        ]
        if kept:
            local = self.fresh("L")
            lines += [
                f'%{local} = tir.alloc_buffer "{local}" : !tir.buffer<4xi32, "local">',
                f"tir.store %{value}s, %{local}[%i32_1] : i32",
                f"%{value}k = tir.load %{local}[%i32_1] : i32",
                f"tir.store %{value}k, %{buffer}[{places}] : i32",
            ]
        else:
            lines.append(f"tir.store %{value}s, %{buffer}[{places}] : i32")
        self.lines += [*lines, "}"] if block else lines


def random_nest(seed: int) -> str:
    """The kernel of a number."""
    rng = random.Random(f"nest {seed}")
    w = _Writer(rng)
    for _ in range(rng.choice((1, 1, 2))):
        w.ranges.clear()
        w.loop({}, [])
    names = [parameter.split() for parameter in w.parameters]
    handles = ", ".join(f"%{name.lower()}: !tir.handle" for name, _ in names)
    lines = [f'tir.func @main({handles}) attributes {{global_symbol = "main"}} {{']
    lines += [
        f'%{name} = tir.match_buffer "{name}" %{name.lower()} : !tir.buffer<{shape}xi32>'
        for name, shape in names
    ]
    for dtype in ("i32", "i64"):
        lines += [f"%{dtype}_{n} = tir.const {n} : {dtype}" for n in range(4)]
    return "\n".join([*lines, *w.lines, "}"])
