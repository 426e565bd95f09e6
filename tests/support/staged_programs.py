"""Random programs that compute in stages, through buffers allocated around all loops.

`staged_program(seed)` is TVMScript of a function from `A` to `C`, whose stages run in
tiles, or are of the threads of a kernel. They may be split, fused, reduced, guarded, run
one after the other or only in some tiles; they may read what an earlier tile wrote, or
the place next to where they write. So some programs carry values from one iteration to
the next, others do not, and some read what nobody wrote: whoever runs them has to leave
these out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

LENGTH = 24
"""Elements of each buffer."""
_HEAD = "from tvm.script import tir as T\n\n@T.prim_func\n"


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    names: int = 0
    scopes: dict[str, str] = field(default_factory=dict[str, str])
    """Of the buffers that are allocated."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        self.line(text)
        self.depth += 1

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability


@dataclass(frozen=True)
class _Tile:
    """Where a stage writes: a number of elements from a start on."""

    start: str
    size: int
    variable: str


def staged_program(seed: int) -> str:
    """The text of a program; the same one for the same seed."""
    writer = _Writer(random.Random(seed))
    rng = writer.rng
    count = rng.randint(1, 3)
    buffers = ["A", *(f"S{n}" for n in range(count)), "C"]
    size = f'({LENGTH},), "int32"'
    writer.lines.append(f"def main(A: T.Buffer({size}), C: T.Buffer({size})):")
    writer.open('with T.block("root"):')
    for name in buffers[1:-1]:
        scope = rng.choice(("global", "global", "local", "shared"))
        writer.scopes[name] = scope
        writer.line(f'{name} = T.alloc_buffer(({LENGTH},), "int32", scope="{scope}")')
    if writer.chance(0.2):
        _kernel(writer, buffers)
        return _HEAD + "\n".join(writer.lines) + "\n"
    if writer.chance(0.15):
        writer.open(f"for r in range({rng.randint(1, 2)}):")
    tile = _open_tile(writer)
    outer = writer.depth
    for source, target in pairwise(buffers):
        _stage(writer, source, target, tile)
        writer.depth = outer
    return _HEAD + "\n".join(writer.lines) + "\n"


def _kernel(writer: _Writer, buffers: Sequence[str]) -> None:
    """Stages by threads that meet between them, or do not where they should."""
    rng = writer.rng
    blocks, tiles = rng.choice(((1, 3), (3, 1), (1, 1)))
    writer.open(f'for bx in T.thread_binding({blocks}, thread="blockIdx.x"):')
    writer.open('for tx in T.thread_binding(8, thread="threadIdx.x"):')
    writer.open(f"for io in range({tiles}):")
    outer = writer.depth
    for source, target in pairwise(buffers):
        if writer.chance(0.1):
            writer.open(f"if io {rng.choice(('==', '>='))} {rng.randint(0, 1)}:")
        start = f"(bx * {tiles} + io) * {LENGTH // (blocks * tiles)}"
        # What another block wrote to shared memory is not there.
        low = start if blocks > 1 else "0"
        count = LENGTH // (blocks * tiles) // 8
        if writer.chance(0.2) and target != "C":
            count += 1
        writer.open(f"for j{writer.depth} in range({count}):")
        index = f"{start} + j{writer.depth - 1} * 8 + tx"
        writer.open(f"if {index} < {LENGTH}:")
        writer.line(f"{target}[{index}] = {_value(writer, source, index, low)}")
        writer.depth = outer
        if writer.chance(0.9):
            writer.line('T.tvm_storage_sync("shared")')


def _open_tile(writer: _Writer) -> _Tile:
    size = writer.rng.choice((4, 6, 8, 10, LENGTH))
    tiles = -(-LENGTH // size)
    kind = writer.rng.choice(("range", "range", "range", "T.unroll", "T.parallel"))
    writer.open(f"for io in {kind}({tiles}):")
    if writer.chance(0.2):
        writer.open('with T.block("tile"):')
        kind = writer.rng.choice(("spatial", "spatial", "opaque"))
        writer.line(f"vo = T.axis.{kind}({tiles}, io)")
        return _Tile(f"vo * {size}", size, "vo")
    return _Tile(f"io * {size}", size, "io")


def _stage(writer: _Writer, source: str, target: str, tile: _Tile) -> None:
    rng = writer.rng
    halo = rng.choice((0, 0, 1, 2, 3)) if target != "C" else 0
    if writer.chance(0.12):
        test = rng.choice(("==", "<", ">="))
        writer.open(f"if {tile.variable} {test} {rng.randint(0, 2)}:")
    index = _open_loops(writer, tile.start, tile.size + halo)
    if writer.chance(0.08):
        writer.open(f"if {tile.variable} == 0:")
    if writer.chance(0.8):
        _block(writer, source, target, index)
    else:
        writer.open(f"if {index} < {LENGTH}:")
        writer.line(f"{target}[{index}] = {_value(writer, source, index)}")


def _open_loops(writer: _Writer, start: str, size: int) -> str:
    """Open loops over some elements from a start on; the index in them."""
    rng = writer.rng
    inner = writer.name("i")
    form = rng.randrange(4)
    if form == 0:
        factor = rng.choice((2, 3, 4))
        outer = writer.name("j")
        writer.open(f"for {outer}, {inner} in T.grid({-(-size // factor)}, {factor}):")
        return f"{start} + {outer} * {factor} + {inner}"
    if form == 1:
        factor = rng.choice((2, 3))
        writer.open(f"for {inner} in range({-(-size // factor) * factor}):")
        return f"{start} + {inner} % {factor} + {inner} // {factor} * {factor}"
    if form == 2:
        low = rng.randint(0, 1)
        writer.open(f"for {inner} in range({low}, {size + low}):")
        return f"{start} + {inner} - {low}"
    writer.open(f"for {inner} in range({size}):")
    return f"{start} + {inner}"


def _block(writer: _Writer, source: str, target: str, index: str) -> None:
    rng = writer.rng
    reduced = rng.randint(1, 3) if writer.chance(0.35) else None
    if reduced is not None:
        writer.open(f"for k in range({reduced}):")
    writer.open(f'with T.block("{target}"):')
    kind = "spatial" if writer.chance(0.85) else "opaque"
    writer.line(f"v = T.axis.{kind}({LENGTH}, {index})")
    if reduced is not None:
        writer.line(f"vk = T.axis.reduce({reduced}, k)")
    writer.line(f"T.where({index} < {LENGTH})")
    writer.line(f"T.reads({source}[0:{LENGTH}])")
    writer.line(f"T.writes({target}[v])")
    place = f"{target}[v]"
    if writer.chance(0.15):
        scope = writer.scopes.get(target, "global")
        writer.line(
            f'W = T.match_buffer({target}[v:v + 1], (1,), "int32", scope="{scope}", '
            "offset_factor=1)"
        )
        place = "W[0]"
    if reduced is None:
        writer.line(f"{place} = {_value(writer, source, 'v')}")
        return
    writer.open("with T.init():")
    writer.line(f"{place} = 0")
    writer.depth -= 1
    read = f"T.min(v + vk, {LENGTH - 1})" if writer.chance(0.5) else "v"
    writer.line(f"{place} = {place} + {source}[{read}]")


def _value(writer: _Writer, source: str, at: str, low: str = "0") -> str:
    rng = writer.rng
    terms: list[str] = []
    for _ in range(rng.randint(1, 2)):
        scratch = [source, *writer.scopes]
        buffer = source if writer.chance(0.85) else rng.choice(scratch)
        match rng.randrange(6):
            case 0:
                place = f"T.min({at} + {rng.randint(1, 2)}, {LENGTH - 1})"
            case 1:
                place = f"T.max({at} - {rng.randint(1, 2)}, {low})"
            case _:
                place = at
        terms.append(f"{buffer}[{place}] * {rng.randint(1, 3)}")
    return " + ".join(terms)
