"""Random flat programs of copies, for tests that run them.

`staged_kernel` is a kernel of asynchronous stores to shared memory, `guarded_kernel` one
of guarded loads, `queued_copies` host code with loops in commit scopes, and `pointers`
code that accesses memory through `tir.access_ptr`. Most of them compute something
defined; the interpreter reports a race or a copy in flight in the others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

THREADS = 4
BYTES = {"i8": 1, "f16": 2, "f32": 4, "i32": 4, "f64": 8}


@dataclass
class Writer:
    """Lines of a program, with fresh names."""

    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def line(self, text: str) -> None:
        self.lines.append(text)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def fresh(self, text: str) -> str:
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def const(self, number: int | str, dtype: str = "i32") -> str:
        return self.fresh(f"tir.const {number} : {dtype}")

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def linear(self, terms: list[tuple[str, int]], offset: int) -> str:
        """The sum of scaled values and a number, in some order."""
        parts = [
            value
            if scale == 1
            else self.fresh(f"tir.mul {value}, {self.const(scale)} : i32")
            for value, scale in terms
        ]
        if offset or not parts or self.chance(0.2):
            parts.append(self.const(offset))
        self.rng.shuffle(parts)
        total = parts[0]
        for part in parts[1:]:
            total = self.fresh(f"tir.add {total}, {part} : i32")
        return total

    def condition(self, value: str) -> str:
        predicate = self.rng.choice(("lt", "ge", "eq", "ne"))
        other = self.const(self.rng.randrange(THREADS))
        found = self.fresh(f"tir.cmp {predicate} {value}, {other} : i32")
        if self.chance(0.25):
            other = self.fresh(
                f"tir.cmp ne {value}, {self.const(self.rng.randrange(THREADS))} : i32"
            )
            found = self.fresh(
                f"tir.{self.rng.choice(('and', 'or'))} {found}, {other} : i1"
            )
        return found

    def choice(
        self, condition: str, dtype: str, then: list[str], other: list[str]
    ) -> str:
        name = self.name()
        self.line(f"{name} = tir.if_then_else {condition} -> {dtype} {{")
        self.lines += then
        self.line("} else {")
        self.lines += other
        self.line("}")
        return name

    def branch(self, write: str, dtype: str) -> list[str]:
        """A branch that yields a value, whose text is `write`."""
        name = self.name()
        return [f"{name} = {write}", f"tir.yield {name} : {dtype}"]


def _zero(w: Writer, dtype: str) -> str:
    if dtype[0] == "i":
        return "0"
    return w.rng.choice(("0.0", "0.0", "0.0", "-0.0", "2.0"))


def staged_kernel(seed: int) -> str:
    """Threads that copy into shared memory in a commit scope, wait, and read.

    Stores of one scope are to regions of their own: `rows` elements for each thread.
    """
    w = Writer(random.Random(seed))
    dtype = w.rng.choice(tuple(BYTES))
    stores = w.rng.randint(1, 3)
    most = 16
    row = THREADS * most
    reads: list[str] = []
    for number in range(stores):
        lanes = w.rng.choice((1, 2, 4, 8, 16))
        vector = f"vector<{lanes}x{dtype}>" if lanes > 1 else dtype
        shift = w.rng.choice((0, 0, 0, lanes, 1, 3))
        at = w.linear([("%t", w.rng.choice((lanes, lanes, most)))], shift)
        to = w.linear([("%t", lanes)], number * row)
        stride = 2 if lanes > 1 and lanes < 8 and w.chance(0.1) else 1
        index, place = at, to
        if lanes > 1:
            kind = f"vector<{lanes}xi32>"
            index = w.fresh(f"tir.ramp {at}, {w.const(stride)} : {kind}")
            place = w.fresh(f"tir.ramp {to}, %c1 : {kind}")
            if w.chance(0.3):
                more = w.fresh(f"tir.broadcast {w.const(16)} : {kind}")
                order = (index, more) if w.chance(0.5) else (more, index)
                index = w.fresh(f"tir.add {order[0]}, {order[1]} : {kind}")
        load = f"tir.load %A[{index}] : {vector}"
        if w.chance(0.5):
            condition = w.condition("%t")
            zero = w.const(_zero(w, dtype), dtype)
            if lanes > 1:
                zero = w.fresh(f"tir.broadcast {zero} : {vector}")
            value = w.choice(
                condition,
                vector,
                w.branch(load, vector),
                [f"tir.yield {zero} : {vector}"],
            )
        else:
            value = w.fresh(load)
        if w.chance(0.1):
            w.line(f"tir.store {value}, %O2[{place}] : {vector}")
        if w.chance(0.1):
            value = w.fresh(f"tir.max {value}, {value} : {vector}")
        if w.chance(0.1):
            # Other threads may read it, which is a race.
            number = w.const("0" if dtype[0] == "i" else "1.0", dtype)
            w.line(f"tir.store {number}, %A[%t] : {dtype}")
        w.line(f"tir.store {value}, %S[{place}] : {vector}")
        got = w.name()
        reads.append(f"{got} = tir.load %S[{place}] : {vector}")
        reads.append(f"tir.store {got}, %O[{place}] : {vector}")
    size = stores * row + 64
    merged = w.chance(0.3)
    memory = (
        f'%m = tir.allocate [{size * BYTES[dtype]}] : !tir.ptr<ui8, "shared.dyn">'
        if merged
        else f'%m = tir.allocate [{size}] : !tir.ptr<{dtype}, "shared.dyn">'
    )
    # Definitions are put before the scope, so that reads after it see them.
    outer = [line for line in w.lines if _is_index(line)]
    inner = [line for line in w.lines if not _is_index(line)]
    scope = "\n".join(inner)
    before = "\n".join(outer)
    return f"""
tir.func @f(%a: !tir.handle, %o: !tir.handle, %o2: !tir.handle) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{size}x{dtype}>
  %O = tir.match_buffer "O" %o : !tir.buffer<{size}x{dtype}>
  %O2 = tir.match_buffer "O2" %o2 : !tir.buffer<{size}x{dtype}>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %threads = tir.const {THREADS} : i32
  tir.launch_thread %t = "threadIdx.x" to %threads {{
    {memory}
    %S = tir.decl_buffer "S" %m : !tir.buffer<{size}x{dtype}, "shared.dyn">
    {before}
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {{
      tir.attr "async_scope" (%c0) = 1 : i32 {{
        {scope}
      }}
    }}
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {{
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {{
        {chr(10).join(reads)}
      }}
    }}
  }}
}}"""


_INDEX_OPS = ("tir.const", "tir.mul", "tir.ramp", "tir.broadcast", "tir.cmp", "tir.and")


def _is_index(line: str) -> bool:
    """Whether a line defines an index, a condition or a constant."""
    if "= tir.add" in line:
        return line.endswith("i32") or line.endswith("i32>")
    return any(f"= {name} " in line for name in (*_INDEX_OPS, "tir.or"))


def guarded_kernel(seed: int) -> str:
    """Threads that store guarded loads, which are out of bounds without the guard."""
    w = Writer(random.Random(seed))
    dtype = w.rng.choice(("f32", "f32", "f32", "f32", "i32"))
    size = 4 * THREADS
    for _ in range(w.rng.randint(1, 4)):
        source = w.rng.choice(("%A", "%A", "%A", "%O", "%S"))
        target = w.rng.choice(("%L", "%L", "%L", "%O"))
        place = w.linear([("%t", 1)], THREADS * w.rng.randrange(4))
        if target == "%L":
            place = w.const(w.rng.randrange(4))
        guard = w.fresh(f"tir.cmp lt %t, {w.const(w.rng.randrange(THREADS + 1))} : i32")
        # Without the guard, the index may be out of bounds.
        last = w.rng.randrange(THREADS, size + 1)
        scale = w.rng.choice((1, 1, 5))
        inner = Writer(w.rng, count=1000 * (w.count + 1))
        at = inner.linear([("%t", scale)], 0)
        scaled, end = w.linear([("%t", scale)], 0), w.const(last)
        within = w.fresh(f"tir.cmp lt {scaled}, {end} : i32")
        guard = w.fresh(f"tir.and {guard}, {within} : i1")
        if source in ("%O", "%S"):
            at = "%t"
        loaded = [
            *inner.lines,
            *inner.branch(f"tir.load {source}[{at}] : {dtype}", dtype),
        ]
        pick = w.rng.random()
        if pick < 0.6:
            zero = w.const(_zero(w, dtype), dtype)
            other = [f"tir.yield {zero} : {dtype}"]
        elif pick < 0.8:
            other = inner.branch(f"tir.load %B[%t] : {dtype}", dtype)
        else:
            other = inner.branch(f"tir.load %L[%c1] : {dtype}", dtype)
        w.count = inner.count + 1
        if w.chance(0.3):
            negated = w.fresh(f"tir.not {guard} : i1")
            value = w.choice(negated, dtype, other, loaded)
        else:
            value = w.choice(guard, dtype, loaded, other)
        w.line(f"tir.store {value}, {target}[{place}] : {dtype}")
        if w.chance(0.2):
            w.line(f"tir.store {value}, %O[%t] : {dtype}")
    zero = "0.0" if dtype == "f32" else "0"
    allocation = (
        f'%m = tir.allocate [4] : !tir.ptr<{dtype}, "local">\n'
        f'%L = tir.decl_buffer "L" %m : !tir.buffer<4x{dtype}, "local">\n'
    )
    inside = w.chance(0.6)
    return f"""
tir.func @f(%a: !tir.handle, %b: !tir.handle, %o: !tir.handle) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{size}x{dtype}>
  %B = tir.match_buffer "B" %b : !tir.buffer<{size}x{dtype}>
  %O = tir.match_buffer "O" %o : !tir.buffer<{size}x{dtype}>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %z = tir.const {zero} : {dtype}
  %threads = tir.const {THREADS} : i32
  {"" if inside else allocation}
  tir.launch_thread %t = "threadIdx.x" to %threads {{
    {allocation if inside else ""}
    %s = tir.allocate [{size}] : !tir.ptr<{dtype}, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<{size}x{dtype}, "shared">
    tir.store %z, %S[%t] : {dtype}
    {chr(10).join(f"tir.store %z, %L[%c{n}] : {dtype}" for n in range(4))}
    {chr(10).join(w.lines)}
    %e = tir.load %L[%c0] : {dtype}
    %g = tir.load %L[%c1] : {dtype}
    %h = tir.add %e, %g : {dtype}
    tir.store %h, %O[%t] : {dtype}
  }}
}}"""


def queued_copies(seed: int) -> str:
    """Loops in commit scopes of one or two queues, waits, and uses of what was copied."""
    w = Writer(random.Random(seed))
    dtype = w.rng.choice(tuple(BYTES))
    queues = w.rng.sample(range(3), w.rng.randint(1, 2))
    scopes = w.rng.randint(1, 4)
    piece = 24
    size = scopes * 2 * piece + 8
    pending: dict[int, list[tuple[int, int]]] = {queue: [] for queue in queues}
    for number in range(scopes):
        queue = w.rng.choice(queues)
        w.line(f'tir.attr "async_commit_queue_scope" (%c0) = {queue} : i32 {{')
        marked = w.chance(0.8)
        if marked:
            w.line('tir.attr "async_scope" (%c0) = 1 : i32 {')
        under = w.chance(0.2)
        if under:
            predicate = "lt" if w.chance(0.3) else "ge"
            w.line(f"tir.if {w.fresh(f'tir.cmp {predicate} %n, %n : i32')} {{")
        for part in range(w.rng.randint(1, 2)):
            start = (2 * number + part) * piece
            _copy_loop(w, dtype, start, piece)
        if under:
            w.line("}")
        if marked:
            w.line("}")
        w.line("}")
        pending[queue].append((2 * number * piece, 2 * piece))
        if w.chance(0.5):
            _await(w, dtype, queue, pending)
    for queue in queues:
        _await(w, dtype, queue, pending, everything=True)
    kind = f"!tir.buffer<{size}x{dtype}>"
    vtcm = f'!tir.buffer<{size}x{dtype}, "global.vtcm">'
    one = "1.0" if dtype[0] == "f" else "1"
    return f"""
tir.func @f(%a: !tir.handle, %o: !tir.handle, %n: i32) {{
  %A = tir.match_buffer "A" %a : {kind}
  %O = tir.match_buffer "O" %o : {kind}
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %one = tir.const {one} : {dtype}
  %size = tir.const {size} : i32
  %m = tir.allocate [{size}] : !tir.ptr<{dtype}, "global.vtcm">
  %V = tir.decl_buffer "V" %m : {vtcm}
  tir.for %k = %c0 to %size {{
    tir.store %one, %V[%k] : {dtype}
  }}
  {chr(10).join(w.lines)}
}}"""


def _copy_loop(w: Writer, dtype: str, start: int, piece: int) -> None:
    """A nest that fills elements from `start` on, `piece` of them at most."""
    extents = w.rng.choice(((piece,), (4, 6), (2, 3, 4), (1, 24), (5,), (3, 4)))
    names = [w.name() for _ in extents]
    for name, extent in zip(names, extents, strict=True):
        bound = w.const(extent)
        w.line(f"tir.for {name} = %c0 to {bound} {{")
    strides: list[int] = []
    step = 1
    for extent in reversed(extents):
        strides.insert(0, step)
        step *= extent
    total = step
    mode = w.rng.choice(("same", "same", "same", "reversed", "permuted", "strided"))
    source = list(strides)
    shift = w.rng.choice((0, 0, 3))
    offset = start + shift
    if mode == "reversed":
        source = [-each for each in source]
        offset += total - 1
    elif mode == "permuted":
        w.rng.shuffle(source)
        offset = 0
        if sum(s * (e - 1) for s, e in zip(source, extents, strict=True)) >= piece * 2:
            source = list(strides)
    elif mode == "strided" and len(extents) > 1:
        # Rows with a gap, in both memories or in the source.
        source = [each + (1 if each > 1 else 0) for each in source]
        if total + extents[0] * 4 > piece + 8:
            source = list(strides)
    origin = w.linear(list(zip(names, source, strict=True)), offset)
    value = w.fresh(f"tir.load %A[{origin}] : {dtype}")
    if w.chance(0.1):
        value = w.fresh(f"tir.add {value}, {value} : {dtype}")
    place = w.linear(list(zip(names, strides, strict=True)), start)
    w.line(f"tir.store {value}, %V[{place}] : {dtype}")
    w.lines += ["}"] * len(extents)


def _await(
    w: Writer,
    dtype: str,
    queue: int,
    pending: dict[int, list[tuple[int, int]]],
    *,
    everything: bool = False,
) -> None:
    """Wait for groups of a queue, and use their elements."""
    groups = pending[queue]
    left = 0 if everything else w.rng.randint(0, len(groups))
    done, pending[queue] = groups[: len(groups) - left], groups[len(groups) - left :]
    w.line(f'tir.attr "async_wait_queue_scope" (%c0) = {queue} : i32 {{')
    w.line(f'tir.attr "async_wait_inflight_count" (%c0) = {left} : i32 {{')
    for start, count in done:
        variable = w.name()
        w.line(f"tir.for {variable} = %c0 to {w.const(count)} {{")
        place = w.linear([(variable, 1)], start)
        value = w.fresh(f"tir.load %V[{place}] : {dtype}")
        w.line(f"tir.store {value}, %O[{place}] : {dtype}")
        w.line("}")
    w.lines += ["}", "}"]


def pointers(seed: int) -> str:
    """Loads and stores through pointers with regions, some of them of vectors."""
    w = Writer(random.Random(seed))
    dtype = w.rng.choice(tuple(BYTES))
    size = 64
    pointer = f"!tir.ptr<{dtype}>"
    w.line(f"%pa = tir.data %A : {pointer}")
    w.line(f"%po = tir.data %O : {pointer}")
    w.line("tir.for %i = %c0 to %c4 {")
    for _ in range(w.rng.randint(1, 4)):
        lanes = w.rng.choice((1, 1, 2, 4))
        kind = f"vector<{lanes}x{dtype}>" if lanes > 1 else dtype
        base = w.rng.choice(("%pa", "%po"))
        index = w.rng.choice(("i32", "i32", "i64", "i8"))
        where = w.linear([("%i", w.rng.choice((1, 2)))], w.rng.randrange(4))
        if index != "i32":
            where = w.fresh(f"tir.cast {where} : i32 to {index}")
        extent = w.const(1, index)
        found = w.fresh(
            f"tir.access_ptr rw {base}[{where} to {where} + {extent}] : !tir.ptr<{kind}>"
        )
        if w.chance(0.3) and lanes == 1:
            found = w.fresh(
                f"tir.access_ptr rw {found}[%c2 to %c2 + %c1] : !tir.ptr<{kind}>"
            )
        view = w.fresh(f"tir.decl_buffer {found} : !tir.buffer<2x{kind}>")
        value = w.fresh(f"tir.load {view}[%c1] : {kind}")
        w.line(f"tir.store {value}, {view}[%c0] : {kind}")
    w.line("}")
    return f"""
tir.func @f(%a: !tir.handle, %o: !tir.handle) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{size}x{dtype}>
  %O = tir.match_buffer "O" %o : !tir.buffer<{size}x{dtype}>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  {chr(10).join(w.lines)}
}}"""
