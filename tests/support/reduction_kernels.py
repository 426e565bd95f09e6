"""Random programs with reductions that threads share, and with what uses the results.

A program reduces the rows of a buffer once or twice, over loops of which one or two are
bound to threads, in any order, with or without a rest that a predicate leaves out. The
rows are a serial loop or the blocks of a kernel, split or not. Results are in global,
shared or local memory; other blocks use them in one thread, in many, or in none.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_LEAST = {"f32": "-3.4028234663852886e+38", "f16": "-65504.0", "i32": "-2147483648"}
_MOST = {"f32": "3.4028234663852886e+38", "f16": "65504.0", "i32": "2147483647"}
_INFINITE = {"f32": ("0xFF800000", "0x7F800000"), "f16": ("0xFC00", "0x7C00")}
_PLAIN = {"add": "0", "mul": "1"}


@dataclass
class _Loop:
    """A loop of a reduction."""

    name: str
    extent: int
    tag: str = ""
    start: int = 0

    @property
    def header(self) -> str:
        low, size = f"%c{self.start}", f"%c{self.extent}"
        end = f"{low} + {size}" if self.start else size
        bound = f' thread_binding "{self.tag}"' if self.tag else ""
        return f"tir.for %{self.name} = {low} to {end}{bound} {{"


@dataclass
class _Reduction:
    """The rows reduced once."""

    loops: list[_Loop]
    size: int
    """The number of elements of a row that it takes."""
    scope: str
    names: tuple[str, ...]
    dtypes: tuple[str, ...]


@dataclass
class Writer:
    """Writes one program."""

    rng: random.Random
    barriers: bool = False
    """Whether threads wait for each other between the parts of a kernel."""
    index: str = "i32"
    dtype: str = "f32"
    rows: int = 2
    lines: list[str] = field(default_factory=list[str])
    allocated: list[str] = field(default_factory=list[str])
    parameters: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    constants: set[int] = field(default_factory=lambda: {0, 1})
    count: int = 0
    in_kernel: bool = False
    row: str = "%i"
    row_predicate: str = ""
    split: bool = False
    axes: dict[str, tuple[int, str, int]] = field(
        default_factory=dict[str, tuple[int, str, int]]
    )

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def fresh(self, prefix: str = "x") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, text: str) -> str:
        name = f"%{self.fresh()}"
        self.lines.append(f"{name} = {text}")
        return name

    def const(self, value: int) -> str:
        self.constants.add(value)
        return f"%c{value}"

    def parameter(self, shape: str, dtype: str) -> str:
        name = self.fresh("P")
        self.parameters.append((name, f"{shape}{dtype}"))
        return f"%{name}"

    # ---- the program ----

    def program(self) -> str:
        rng = self.rng
        self.index = rng.choice(("i32", "i32", "i64"))
        self.dtype = rng.choice(("f32", "f32", "i32", "f16"))
        self.rows = rng.choice((1, 2, 3))
        self.in_kernel = self.chance(0.6)
        self.split = self.chance(0.3)
        self._open_rows()
        previous: _Reduction | None = None
        for _ in range(rng.choice((1, 1, 2))):
            previous = self._reduction(previous)
            self._wait()
            for _ in range(rng.choice((0, 1, 1, 2))):
                self._user(previous)
                self._wait()
        self.lines += ["}"] * (2 if self.split else 1)
        return self._module()

    def _wait(self) -> None:
        if self.barriers and self.in_kernel:
            word = self.emit('tir.string "shared"')
            call = f'tir.call "tvm_storage_sync"({word}) : (!tir.handle) -> ()'
            self.lines.append(call)

    def _open_rows(self) -> None:
        bound = ' thread_binding "blockIdx.x"' if self.in_kernel else ""
        if not self.split:
            self.lines.append(f"tir.for %i = %c0 to {self.const(self.rows)}{bound} {{")
            return
        outer = (self.rows + 1) // 2
        self.lines.append(f"tir.for %i0 = %c0 to {self.const(outer)}{bound} {{")
        self.lines.append(f"tir.for %i1 = %c0 to {self.const(2)} {{")
        high = self.emit(f"tir.mul %i0, %c2 : {self.index}")
        self.row = self.emit(f"tir.add {high}, %i1 : {self.index}")
        if 2 * outer > self.rows:
            self.row_predicate = self._less(self.row, self.rows)

    def _less(self, value: str, end: int) -> str:
        return self.emit(f"tir.cmp lt {value}, {self.const(end)} : {self.index}")

    def _module(self) -> str:
        handles = ", ".join(f"%{n.lower()}: !tir.handle" for n, _ in self.parameters)
        lines = [f'tir.func @main({handles}) attributes {{global_symbol = "main"}} {{']
        lines += [
            f'%{n} = tir.match_buffer "{n}" %{n.lower()} : !tir.buffer<{what}>'
            for n, what in self.parameters
        ]
        lines += [f"%c{n} = tir.const {n} : {self.index}" for n in sorted(self.constants)]
        root = ['tir.block "root" {', "tir.reads", "tir.writes"]
        return "\n".join([*lines, *root, *self.allocated, *self.lines, "}", "}"])

    # ---- reductions ----

    def _reduction(self, previous: _Reduction | None) -> _Reduction:
        rng = self.rng
        kind = rng.choice(("add", "add", "mul", "min", "max", "pair", "where", "where"))
        loops = self._loops()
        size = 1
        for loop in loops:
            size *= loop.extent
        if self.chance(0.4):
            size -= rng.randint(1, max(1, size // 2)) if size > 1 else 0
        two = kind in ("pair", "where")
        first = self.index if kind == "where" else self.dtype
        dtypes = (first, self.dtype) if two else (self.dtype,)
        scope = rng.choice(
            ("", "", ', "shared"', ', "local"') if self.in_kernel else ("",)
        )
        names = tuple(self._output(dtype, scope) for dtype in dtypes)
        found = _Reduction(loops, size, scope, names, dtypes)
        self._nest(found, kind, previous)
        return found

    def _loops(self) -> list[_Loop]:
        rng = self.rng
        tags = rng.sample(("threadIdx.x", "threadIdx.y"), rng.choice((1, 1, 2)))
        loops = [_Loop(self.fresh("t"), *self._axis(tag)) for tag in tags]
        loops += [
            _Loop(self.fresh("k"), rng.choice((1, 2, 3)))
            for _ in range(rng.choice((0, 1, 1, 2)))
        ]
        rng.shuffle(loops)
        for loop in loops:
            self.constants |= {loop.start, loop.extent}
        return loops

    def _axis(self, tag: str) -> tuple[int, str, int]:
        """The range of an axis, which is one in a kernel."""
        if not self.in_kernel or tag not in self.axes:
            start = self.rng.choice((0, 0, 0, 3))
            self.axes[tag] = self.rng.choice((2, 4, 5, 8)), tag, start
        return self.axes[tag]

    def _output(self, dtype: str, scope: str) -> str:
        shape = f"{self.rows}x"
        if not scope and self.chance(0.7):
            return self.parameter(shape, dtype)
        name = self.fresh("B")
        self.allocated.append(
            f'%{name} = tir.alloc_buffer "{name}" : !tir.buffer<{shape}{dtype}{scope}>'
        )
        return f"%{name}"

    def _nest(self, r: _Reduction, kind: str, previous: _Reduction | None) -> None:
        """The loops with the block; what is beside it fetches, or notes something."""
        for position, loop in enumerate(r.loops):
            self.lines.append(loop.header)
            if self.chance(0.15):
                self._beside(r, position)
        k, predicate = self._bindings(r)
        if self.row_predicate:
            both = f"tir.and {self.row_predicate}, {predicate} : i1"
            predicate = self.emit(both) if predicate else self.row_predicate
        where = f" where {predicate}" if predicate else ""
        rows, size = self.const(self.rows), self.const(r.size)
        self.lines.append(
            f'tir.block "R{self.fresh("")}" (%vi : S in [%c0 to {rows}] = {self.row}, '
            f"%vk : R in [%c0 to {size}] = {k}){where} {{"
        )
        _Body(self, r, kind, previous).write()
        self.lines += ["}"] * (1 + len(r.loops))

    def _bindings(self, r: _Reduction) -> tuple[str, str]:
        """The place in the row, and the predicate for the rest if there is one."""
        digits = list(r.loops)
        self.rng.shuffle(digits)
        total, scale, whole = "", 1, 1
        for loop in digits:
            digit = f"%{loop.name}"
            if loop.start:
                digit = self.emit(f"tir.sub {digit}, %c{loop.start} : {self.index}")
            if scale > 1:
                digit = self.emit(f"tir.mul {digit}, {self.const(scale)} : {self.index}")
            total = (
                self.emit(f"tir.add {digit}, {total} : {self.index}") if total else digit
            )
            scale *= loop.extent
            whole = scale
        return total, self._less(total, r.size) if r.size < whole else ""

    def _beside(self, r: _Reduction, position: int) -> None:
        """A block that notes which threads came by, in memory of its own."""
        around = [loop for loop in r.loops[: position + 1] if loop.tag]
        own = [loop for loop in r.loops[position + 1 :] if loop.tag]
        for loop in own:
            self.lines.append(
                _Loop(f"{loop.name}n", loop.extent, loop.tag, loop.start).header
            )
        names = [loop.name for loop in around] + [f"{loop.name}n" for loop in own]
        starts = [loop.start + loop.extent for loop in (*around, *own)]
        shape = "".join(f"{n}x" for n in starts)
        note = self.parameter(f"{self.rows}x{shape}", self.dtype)
        value = self.fresh()
        inside = [f"%v{name}" for name in names]
        iters = ", ".join(
            f"%v{n} : S in [%c0 to {self.const(end)}] = %{n}"
            for n, end in zip(names, starts, strict=True)
        )
        where = f" where {self.row_predicate}" if self.row_predicate else ""
        place = f"{note}[{', '.join(['%vi', *inside])}]"
        self.lines += [
            f'tir.block "note" (%vi : S in [%c0 to {self.const(self.rows)}] = '
            f"{self.row}, {iters}){where} {{",
            f"tir.reads {place}",
            f"tir.writes {place}",
            f"%{value} = tir.load {place} : {self.dtype}",
            f"%{value}s = tir.add %{value}, %{value} : {self.dtype}",
            f"tir.store %{value}s, {place} : {self.dtype}",
            "}",
        ]
        self.lines += ["}"] * len(own)

    # ---- users ----

    def _user(self, r: _Reduction) -> None:
        pick = self.rng.random()
        if pick < 0.4:
            self._copy(r, self.parameter(f"{self.rows}x", r.dtypes[-1]))
        elif pick < 0.6 and r.scope == ', "local"':
            name = self._output(r.dtypes[-1], r.scope)
            self._copy(r, name)
            self._wait()
            self._copy(r, self.parameter(f"{self.rows}x", r.dtypes[-1]), name)
        else:
            self._spread(r)

    def _copy(self, r: _Reduction, target: str, source: str = "") -> None:
        """A block that no thread runs."""
        source = source or r.names[-1]
        where = f" where {self.row_predicate}" if self.row_predicate else ""
        dtype, value = r.dtypes[-1], self.fresh()
        self.lines += [
            f'tir.block "copy" (%vi : S in [%c0 to {self.const(self.rows)}] = {self.row})'
            f"{where} {{",
            f"tir.reads {source}[%vi]",
            f"tir.writes {target}[%vi]",
            f"%{value} = tir.load {source}[%vi] : {dtype}",
            f"%{value}s = tir.add %{value}, %{value} : {dtype}",
            f"tir.store %{value}s, {target}[%vi] : {dtype}",
            "}",
        ]

    def _spread(self, r: _Reduction) -> None:
        """A block that all threads of the reduction run."""
        threads = [
            _Loop(self.fresh("t"), loop.extent, loop.tag, loop.start)
            for loop in r.loops
            if loop.tag
        ]
        self.rng.shuffle(threads)
        self.lines += [loop.header for loop in threads]
        ends = [loop.start + loop.extent for loop in threads]
        shape = "".join(f"{end}x" for end in ends)
        dtype = r.dtypes[-1]
        target = self.parameter(f"{self.rows}x{shape}", dtype)
        iters = ", ".join(
            f"%v{loop.name} : S in [%c0 to {self.const(end)}] = %{loop.name}"
            for loop, end in zip(threads, ends, strict=True)
        )
        where = f" where {self.row_predicate}" if self.row_predicate else ""
        place = ", ".join(["%vi", *(f"%v{loop.name}" for loop in threads)])
        value = self.fresh()
        self.lines += [
            f'tir.block "spread" (%vi : S in [%c0 to {self.const(self.rows)}] = '
            f"{self.row}, {iters}){where} {{",
            f"tir.reads {r.names[-1]}[%vi]",
            f"tir.writes {target}[{place}]",
            f"%{value} = tir.load {r.names[-1]}[%vi] : {dtype}",
            f"tir.store %{value}, {target}[{place}] : {dtype}",
            "}",
        ]
        self.lines += ["}"] * len(threads)


@dataclass
class _Body:
    """The inside of a reduction block."""

    w: Writer
    r: _Reduction
    kind: str
    previous: _Reduction | None

    def write(self) -> None:
        w, r = self.w, self.r
        self.source = w.parameter(f"{w.rows}x{r.size}x", w.dtype)
        outputs = ", ".join(f"{name}[%vi]" for name in r.names)
        reads = [f"{self.source}[%vi, %vk]"]
        used = self.previous is not None and self._may_use(self.previous)
        self.offset = ""
        if used and w.chance(0.6):
            assert self.previous is not None
            self.offset = self.previous.names[-1]
            reads.append(f"{self.offset}[%vi]")
        w.lines += [
            f"tir.reads {', '.join(reads)}",
            f"tir.writes {outputs}",
            "tir.init {",
        ]
        order = list(zip(r.names, self._identities(), r.dtypes, strict=True))
        w.rng.shuffle(order)
        for name, value, dtype in order:
            start = w.emit(f"tir.const {value} : {dtype}")
            w.lines.append(f"tir.store {start}, {name}[%vi] : {dtype}")
        w.lines.append("}")
        stores = list(zip(r.names, self._updates(), r.dtypes, strict=True))
        w.rng.shuffle(stores)
        for name, value, dtype in stores:
            w.lines.append(f"tir.store {value}, {name}[%vi] : {dtype}")

    def _may_use(self, previous: _Reduction) -> bool:
        """Whether the threads have what was reduced before, in the dtype available."""
        if previous.dtypes[-1] != self.w.dtype:
            return False
        tags, before = ({loop.tag for loop in r.loops} for r in (self.r, previous))
        return "local" not in previous.scope or before | {""} >= tags

    def _identities(self) -> tuple[str, ...]:
        dtype = self.w.dtype
        point = "" if dtype == "i32" else ".0"
        least, most = _LEAST[dtype], _MOST[dtype]
        if dtype in _INFINITE and self.w.chance(0.3):
            least, most = _INFINITE[dtype]
        match self.kind:
            case "pair":
                return f"0{point}", f"0{point}"
            case "where":
                self.largest = self.w.chance(0.5)
                return "-1", least if self.largest else most
            case "min" | "max":
                return (most if self.kind == "min" else least,)
            case _:
                return (_PLAIN[self.kind] + point,)

    def _load(self, position: int) -> str:
        dtype = self.r.dtypes[position]
        return self.w.emit(f"tir.load {self.r.names[position]}[%vi] : {dtype}")

    def _value(self) -> str:
        """A new value; the same tree every time."""
        w = self.w
        value = w.emit(f"tir.load {self.source}[%vi, %vk] : {w.dtype}")
        if self.offset:
            other = w.emit(f"tir.load {self.offset}[%vi] : {w.dtype}")
            value = w.emit(f"tir.min {value}, {other} : {w.dtype}")
        if self.r.size % 2:
            value = w.emit(f"tir.max {value}, {value} : {w.dtype}")
        return value

    def _kept(self, value: str, dtype: str) -> str:
        if self.w.chance(0.5):
            return value
        return self.w.emit(f'tir.let "kept" {value} : {dtype}')

    def _updates(self) -> tuple[str, ...]:
        w, dtype = self.w, self.w.dtype
        if self.kind == "where":
            return self._position_and_value()
        op = "add" if self.kind == "pair" else self.kind
        found: list[str] = []
        for position in range(len(self.r.names)):
            old, new = self._load(position), self._value()
            found.append(self._kept(w.emit(f"tir.{op} {old}, {new} : {dtype}"), dtype))
        return tuple(found)

    def _position_and_value(self) -> tuple[str, str]:
        w, dtype, index = self.w, self.w.dtype, self.w.index
        sign = "gt" if self.largest else "lt"
        shared = (self._load(1), self._value()) if w.chance(0.5) else None

        def pair() -> tuple[str, str]:
            return shared or (self._load(1), self._value())

        def compared(predicate: str) -> str:
            old, new = pair()
            return w.emit(f"tir.cmp {predicate} {old}, {new} : {dtype}")

        wins, equal = compared(sign), compared("eq")
        place = self._load(0)
        front = w.emit(f"tir.cmp lt {place}, %vk : {index}")
        both = w.emit(f"tir.and {equal}, {front} : i1")
        first = w.emit(f"tir.or {wins}, {both} : i1")
        place = self._load(0)
        where = self._kept(
            w.emit(f"tir.select {first}, {place}, %vk : i1, {index}"), index
        )
        old, new = pair()
        value = w.emit(f"tir.select {compared(sign)}, {old}, {new} : i1, {dtype}")
        return where, self._kept(value, dtype)


def random_reduction(seed: int, *, barriers: bool = False) -> str:
    """The program of a number; with barriers the loops over threads may be merged."""
    return Writer(random.Random(f"reduction {seed}"), barriers).program()
