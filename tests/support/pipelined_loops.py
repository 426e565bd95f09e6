"""Random loops that are annotated as software pipelines, for tests that run them.

`random_pipeline(seed)` is the text of a module with one function. What it computes is
defined; its annotations may be ones that no pipeline can keep. A loop has 2 to 5
statements over two parameters that are read, `%A` and `%K`, two that are written, `%C`
and `%D`, an accumulator `%E`, and buffers that it allocates. It starts anywhere, may run
any number of times, none included, and are in threads, in a loop, or around another
pipeline.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

WIDTH = 3
ROWS = 24
THREADS = 4


@dataclass
class _Alloc:
    name: str
    scope: str
    plain: bool
    """Whether it has neither strides nor extents that only the program knows."""
    written: bool = False


@dataclass
class _Writer:
    rng: random.Random
    threads: bool
    asynchronous: bool
    crossing: bool
    """Threads read what others wrote, after a barrier in each statement."""
    lines: list[str] = field(default_factory=list[str])
    count: int = 0
    allocs: list[_Alloc] = field(default_factory=list[_Alloc])
    shared_values: list[str] = field(default_factory=list[str])
    around: list[str] = field(default_factory=list[str])
    """Buffers of the pipeline around this one that hold something."""
    depth: int = 0
    in_order: bool = False

    def line(self, text: str) -> None:
        self.lines.append(text)

    def fresh(self, text: str) -> str:
        self.count += 1
        self.line(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    @contextmanager
    def within(self, header: str) -> Generator[None]:
        self.line(header + " {")
        yield
        self.line("}")

    # ---- values ----

    def row(self, i: str, least: int = 0) -> str:
        """A row of a parameter: some of an iteration's neighbours."""
        shift = self.rng.choice((least, least, least + 1, 0, 2))
        # Iterations are from -2 to 12.
        offset = self.fresh(f"tir.const {shift + 4} : i32")
        return self.fresh(f"tir.add {i}, {offset} : i32")

    def place(self, name: str, i: str, j: str, *, write: bool = False) -> str:
        """The indices of an element of a buffer."""
        own = f"{'%t' if self.threads else '%c0'}, {j}"
        if name in "AK":
            return f"%{name}[{self.row(i)}, {own}]"
        if name in "CD":
            return f"%{name}[{self.row(i, 0 if write else 1)}, {own}]"
        if self.crossing and not write and name.startswith("B"):
            other = self.fresh("tir.sub %last, %t : i32")
            own = f"{other}, {j}"
        return f"%{name}[{own}]"

    def operand(self, i: str, j: str, names: list[str]) -> str:
        pick = self.rng.random()
        if pick < 0.1:
            return i
        if pick < 0.2 and self.shared_values:
            return self.rng.choice(self.shared_values)
        place = self.place(self.rng.choice(names), i, j)
        return self.fresh(f"tir.load {place} : i32")

    def sources(self) -> list[str]:
        own = [alloc.name for alloc in self.allocs if alloc.written]
        # What the loop has computed is what pipelines are about.
        names = [*own * 4, *self.around, "A", "A", "K"]
        if self.chance(0.25):
            names += ["C", "D", "E"]
        return names

    def value(self, i: str, j: str, names: list[str]) -> str:
        a, b = self.operand(i, j, names), self.operand(i, j, names)
        op = self.rng.choice(("add", "sub", "max", "min"))
        return self.fresh(f"tir.{op} {a}, {b} : i32")

    # ---- statements ----

    def target(self) -> str:
        unwritten = [alloc for alloc in self.allocs if not alloc.written]
        if unwritten and self.chance(0.8):
            unwritten[0].written = True
            return unwritten[0].name
        return self.rng.choice(["C", "C", "D", "E", *(a.name for a in self.allocs)])

    def copy(self, i: str, target: str, names: list[str]) -> None:
        """Fill a row of a buffer."""
        with self.within(f"tir.for %j{self.count} = %c0 to %w"):
            j = f"%j{self.count}"
            self.count += 1
            if self.asynchronous and self.chance(0.7):
                source = self.place(self.rng.choice(names), i, j)
                value = self.fresh(f"tir.load {source} : i32")
            else:
                value = self.value(i, j, names)
            place = self.place(target, i, j, write=True)
            if self.chance(0.15):
                condition = self.fresh(f"tir.cmp lt {i}, %n : i32")
                if any(each.name == target for each in self.allocs):
                    with self.within(f"tir.if {condition}"):
                        self.line(f"tir.store {value}, {place} : i32")
                    self.lines[-1] = "} else {"
                    self.line(f"tir.store %c0, {place} : i32")
                    self.line("}")
                else:
                    with self.within(f"tir.if {condition}"):
                        self.line(f"tir.store {value}, {place} : i32")
            else:
                self.line(f"tir.store {value}, {place} : i32")

    def reduction(self, i: str, names: list[str]) -> None:
        """Add to the accumulator, bounded."""
        with self.within(f"tir.for %j{self.count} = %c0 to %w"):
            j = f"%j{self.count}"
            self.count += 1
            value = self.value(i, j, names)
            place = self.place("E", i, j)
            old = self.fresh(f"tir.load {place} : i32")
            total = self.fresh(f"tir.add {old}, {value} : i32")
            bound = self.fresh(f"tir.floormod {total}, %big : i32")
            self.line(f"tir.store {bound}, {place} : i32")

    def view(self, i: str, alloc: str) -> None:
        """Read a buffer through another declaration of its memory."""
        kind = self.pointer_of(alloc)
        pointer = self.fresh(f"tir.data %{alloc} : {kind}")
        size, first = THREADS * WIDTH, "%c0"
        row = self.fresh(f"tir.mul {'%t' if self.threads else '%c0'}, %w : i32")
        if self.chance(0.5):
            pointer = self.fresh(
                f"tir.access_ptr r {pointer}[{row} to {row} + %w] : {kind}"
            )
            size = WIDTH
        else:
            first = row
        flat = self.fresh(f"tir.decl_buffer {pointer} : {self.kind_of(alloc, str(size))}")
        value = self.fresh(f"tir.load {flat}[{first}] : i32")
        place = self.place("C", i, "%c0", write=True)
        self.line(f"tir.store {value}, {place} : i32")

    def scope_of(self, alloc: str) -> str:
        return next(each.scope for each in self.allocs if each.name == alloc)

    def pointer_of(self, alloc: str) -> str:
        scope = self.scope_of(alloc)
        return f'!tir.ptr<i32, "{scope}">' if scope else "!tir.ptr<i32>"

    def kind_of(self, alloc: str, shape: str) -> str:
        scope = self.scope_of(alloc)
        tail = f', "{scope}"' if scope else ""
        return f"!tir.buffer<{shape}xi32{tail}>"

    def statement(self, i: str) -> int:
        """Add a statement; how many it is to the pipeline around it."""
        names = self.sources()
        views = [a.name for a in self.allocs if a.written and a.plain]
        if self.depth == 1 and self.chance(0.12):
            self.pipeline("%p", 'tir.for "p" %p = %c0 to %w')
            return 3
        if self.chance(0.1) and views and not self.asynchronous and not self.crossing:
            with self.block():
                self.view(i, self.rng.choice(views))
        elif self.chance(0.2):
            with self.block():
                self.reduction(i, names)
        elif self.chance(0.3) and not self.crossing:
            self.copy(i, self.target(), names)
        else:
            target = self.target()
            if self.crossing:
                names = [name for name in names if name != target]
            with self.block(target if self.chance(0.2) else None):
                self.copy(i, target, names)
        return 1

    @contextmanager
    def block(self, doubled: str | None = None) -> Generator[None]:
        self.count += 1
        annotations = ""
        if doubled is not None and any(each.name == doubled for each in self.allocs):
            annotations = " annotations {double_buffer_scope = 0 : i32}"
        with self.within(f'tir.block "S{self.count}"{annotations}'):
            if annotations:
                every = [each.name for each in self.allocs] + self.around
                whole = [f"%{name}[%c0 to 4, %c0 to 3]" for name in (*every, "E")]
                whole += [f"%{name}[%c0 to 24, %c0 to 4, %c0 to 3]" for name in "AKCD"]
                self.line("tir.reads " + ", ".join(whole))
                self.line(f"tir.writes %{doubled}[%c0 to 4, %c0 to 3]")
            if not self.crossing:
                yield
                return
            # A scope, as a block of two statements would be two of the pipeline.
            with self.within("tir.scope"):
                self.line('tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()')
                yield

    # ---- pipelines ----

    def annotations(self, count: int) -> str:
        stages, orders = self.rotated(count) if self.is_rotated() else self.mixed(count)
        parts = [f"software_pipeline_stage = {_listed(stages)}"]
        parts.append(f"software_pipeline_order = {_listed(orders)}")
        if self.asynchronous:
            some = {self.rng.choice(stages) for _ in range(self.rng.choice((1, 1, 2)))}
            parts.append(f"software_pipeline_async_stages = {_listed(sorted(some))}")
        return "annotations {" + ", ".join(parts) + "}"

    def is_rotated(self) -> bool:
        return self.chance(0.2) or self.in_order

    def rotated(self, count: int) -> tuple[list[int], list[int]]:
        """Statements in the order of the loop, of which a step starts in the middle."""
        first = self.rng.randrange(count + 1)
        stages = [int(number >= first) for number in range(count)]
        return stages, [(number - first) % count for number in range(count)]

    def mixed(self, count: int) -> tuple[list[int], list[int]]:
        """Any stages, most often ascending, and orders, most often so in a stage."""
        most = self.rng.choice((1, 1, 2, 3))
        stages = [self.rng.randint(0, most) for _ in range(count)]
        if self.chance(0.8):
            stages.sort()
        orders = list(range(count))
        self.rng.shuffle(orders)
        if self.chance(0.8):
            for stage in set(stages):
                members = [n for n in range(count) if stages[n] == stage]
                ascending = sorted(orders[n] for n in members)
                for number, order in zip(members, ascending, strict=True):
                    orders[number] = order
        return stages, orders

    def pipeline(self, i: str, header: str) -> None:
        """A loop with annotations; the header lacks them."""
        outer = self.allocs, self.shared_values, self.around, self.lines
        self.around = [*self.around, *(a.name for a in self.allocs if a.written)]
        self.allocs, self.shared_values, self.lines = [], [*self.shared_values], []
        self.depth += 1
        count = self.statements(i)
        self.depth -= 1
        inside = self.lines
        self.allocs, self.shared_values, self.around, self.lines = outer
        with self.within(f"{header} {self.annotations(count)}"):
            guard = ""
            if self.chance(0.1):
                guard = " where " + self.fresh(f"tir.cmp ne {i}, %n : i32")
            with self.within(f"tir.block{guard}"):
                self.lines += inside

    def statements(self, i: str) -> int:
        for _ in range(self.rng.randint(1, 3)):
            self.allocate()
        if self.chance(0.4):
            place = self.place("A", i, "%c0")
            self.shared_values.append(self.fresh(f"tir.load {place} : i32"))
        return sum(self.statement(i) for _ in range(self.rng.randint(2, 5)))

    def allocate(self) -> None:
        self.count += 1
        scopes = ("shared", "local", "shared") if self.threads else ("", "", "local")
        scope = "shared" if self.crossing else self.rng.choice(scopes)
        layout, shape = self.rng.choice(
            (
                *(("", f"{THREADS}x{WIDTH}"),) * 5,
                (" strides [4, 1]", f"{THREADS}x{WIDTH}"),
                (" [%enough]", f"{THREADS}x?"),
            )
        )
        alloc = _Alloc(f"B{self.count}", scope, plain=not layout)
        self.allocs.append(alloc)
        kind = self.kind_of(alloc.name, shape)
        self.line(f'%{alloc.name} = tir.alloc_buffer "{alloc.name}"{layout} : {kind}')


def _listed(numbers: list[int]) -> str:
    return "[" + ", ".join(f"{number} : i32" for number in numbers) + "]"


def _extent(w: _Writer) -> str:
    pick = w.rng.random()
    if pick < 0.6:
        return w.fresh(f"tir.const {w.rng.choice((0, 1, 2, 3, 4, 5, 7))} : i32")
    if pick < 0.8:
        return "%n"
    three = w.fresh("tir.const 3 : i32")
    return w.fresh(f"tir.sub %n, {three} : i32")


def random_pipeline(seed: int, *, in_order: bool = False) -> str:
    """The program of a number; with `in_order`, a step runs statements as the loop does.

    Such a pipeline starts in the middle of an iteration and has no asynchronous stages.
    """
    rng = random.Random(seed)
    threads, asynchronous = rng.random() < 0.4, rng.random() < 0.35
    crossing = threads and not asynchronous and rng.random() < 0.15
    w = _Writer(rng, threads, asynchronous and not in_order, crossing)
    w.in_order = in_order
    start = w.fresh(f"tir.const {rng.choice((0, 0, 1, 3, -2))} : i32")
    extent = _extent(w)
    unrolled = " unrolled" if rng.random() < 0.1 else ""
    header = f'tir.for "i" %i = {start} to {start} + {extent}{unrolled}'
    if rng.random() < 0.2:
        with w.within("tir.for %k = %c0 to %c2"):
            w.pipeline("%i", header)
    else:
        w.pipeline("%i", header)
    body = "\n".join(w.lines)
    if w.threads:
        body = f'tir.launch_thread %t = "threadIdx.x" to %threads {{\n{body}\n}}'
    return f"""
tir.func @f(%a: !tir.handle, %k_: !tir.handle, %c: !tir.handle, %d: !tir.handle,
            %e: !tir.handle, %n: i32) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{ROWS}x{THREADS}x{WIDTH}xi32>
  %K = tir.match_buffer "K" %k_ : !tir.buffer<{ROWS}x{THREADS}x{WIDTH}xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<{ROWS}x{THREADS}x{WIDTH}xi32>
  %D = tir.match_buffer "D" %d : !tir.buffer<{ROWS}x{THREADS}x{WIDTH}xi32>
  %E = tir.match_buffer "E" %e : !tir.buffer<{THREADS}x{WIDTH}xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %w = tir.const {WIDTH} : i32
  %big = tir.const 1000 : i32
  %last = tir.const {THREADS - 1} : i32
  %two = tir.const 2 : i32
  %enough = tir.add %n, %two : i32
  %shared = tir.string "shared"
  %threads = tir.const {THREADS} : i32
{body}
}}"""
