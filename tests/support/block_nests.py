"""Random functions of blocks without a schedule, in TVMScript, with kinds that are right.

Maps, reductions and updates in place, in nests of several orders: with offsets, reversed
variables, predicates, symbolic and empty extents, triangular ranges, loops that several
blocks share, blocks in blocks, and variables that several iterations have in common. An
instance of a block stores to elements that the variables of kind `S` tell apart, and
reads what it stores, or what another block has stored.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

_SIZES = ("1", "2", "3", "4", "5", "7", "n", "m")


@dataclass(frozen=True)
class _Axis:
    """A loop, and the iteration variable that it binds."""

    loop: str
    kind: str
    start: str
    extent: str
    size: str
    """The size of the domain of the variable, which starts at 0."""
    binding: str

    @property
    def variable(self) -> str:
        return f"v{self.loop}"


@dataclass
class _Writer:
    rng: random.Random
    body: list[str] = field(default_factory=list[str])
    buffers: dict[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    filled: list[str] = field(default_factory=list[str])
    allocated: list[str] = field(default_factory=list[str])
    count: int = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, depth: int, text: str) -> None:
        self.body.append("    " * (depth + 1) + text)

    # ---- what a block computes ----

    def element(self, axes: Sequence[_Axis]) -> str:
        """An element of a buffer that is not written while the block runs."""
        known = {axis.size: axis for axis in axes}
        fitting = [
            name
            for name in self.filled
            if all(size in known or size == "1" for size in self.buffers[name])
        ]
        if fitting and self.rng.random() < 0.5:
            name = self.rng.choice(fitting)
        else:
            name = self.fresh("P")
            used = [axis for axis in axes if self.rng.random() < 0.7]
            self.rng.shuffle(used)
            self.buffers[name] = tuple(axis.size for axis in used) or ("1",)
            self.filled.append(name)
        indices: list[str] = []
        for size in self.buffers[name]:
            if size not in known:
                indices.append("0")
                continue
            variable = self.rng.choice([a for a in axes if a.size == size]).variable
            reverse = self.rng.random() < 0.3
            indices.append(f"{size} - 1 - {variable}" if reverse else variable)
        return f"{name}[{', '.join(indices)}]"

    def block(self, axes: Sequence[_Axis], depth: int) -> None:
        """A block over axes."""
        rng = self.rng
        name = self.fresh("O")
        self.line(depth, f'with T.block("{name}"):')
        order = list(axes)
        if rng.random() < 0.2:
            rng.shuffle(order)
        for axis in order:
            kind = "spatial" if axis.kind == "S" else "reduce"
            text = f"{axis.variable} = T.axis.{kind}({axis.size}, {axis.binding})"
            self.line(depth + 1, text)
        if axes and rng.random() < 0.2:
            loops = " + ".join(axis.loop for axis in axes)
            self.line(depth + 1, f"T.where({loops} < {rng.choice((3, 6, 20))})")
        spatial = [axis for axis in axes if axis.kind == "S"]
        placed = list(spatial)
        if rng.random() < 0.3:
            rng.shuffle(placed)
        self.buffers[name] = tuple(axis.size for axis in placed) or ("1",)
        place = ", ".join(axis.variable for axis in placed) or "0"
        target = f"{name}[{place}]"
        value = " + ".join(
            (self.element(axes), *(axis.variable for axis in axes if rng.random() < 0.5))
        )
        if len(spatial) < len(axes) or rng.random() < 0.4:
            if rng.random() < 0.6:
                self.line(depth + 1, "with T.init():")
                self.line(depth + 2, f"{target} = 7")
            value = f"{target} * 3 + {value}"
        self.line(depth + 1, f"{target} = {value}")
        self.filled.append(name)

    # ---- loops ----

    def axis(self, kind: str, outer: Sequence[_Axis]) -> _Axis:
        rng, loop = self.rng, self.fresh("i")
        size = rng.choice(_SIZES)
        start, extent, binding = "0", size, loop
        form = rng.random()
        if form < 0.1:
            binding = f"{size} - 1 - {loop}"
        elif form < 0.2:
            start, binding = "2", f"{loop} - 2"
        elif form < 0.27:
            # Two iterations have one value of the variable.
            extent, binding = f"{size} * 2", f"{loop} // 2"
        elif form < 0.3:
            extent = "0"
        elif form < 0.36 and outer:
            extent = f"T.min({size}, {rng.choice(outer).loop} + 1)"
        elif form < 0.4:
            extent = f"T.min({size}, n - m)"
        return _Axis(loop, kind, start, extent, size, binding)

    def loop(self, axis: _Axis, depth: int) -> None:
        start, end = axis.start, f"{axis.start} + {axis.extent}"
        self.line(depth, f"for {axis.loop} in T.serial({start}, {end}):")

    def nest(self, around: Sequence[_Axis], depth: int) -> None:
        rng = self.rng
        axes = list(around)
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3) if around else (1, 2, 2, 3, 3, 4))):
            axis = self.axis(rng.choice("SSSSR"), axes)
            axes.append(axis)
            self.loop(axis, depth)
            depth += 1
        for _ in range(rng.choice((1, 1, 1, 2) if around else (1, 1, 1, 1, 2))):
            self.block(axes, depth)

    def shared(self) -> None:
        """Nests in one loop."""
        axis = self.axis("S", ())
        self.loop(axis, 0)
        for _ in range(self.rng.choice((1, 2, 2))):
            self.nest([axis], 1)

    def nested(self) -> None:
        """A block with a nest in it."""
        axis = self.axis("S", ())
        self.loop(axis, 0)
        self.line(1, f'with T.block("{self.fresh("outer")}"):')
        self.line(2, f"{axis.variable} = T.axis.spatial({axis.size}, {axis.binding})")
        loop = self.fresh("i")
        inner = _Axis(loop, "S", "0", "3", "3", loop)
        self.line(2, f"for {loop} in range(3):")
        self.line(3, f'with T.block("{self.fresh("inner")}"):')
        self.line(4, f"{inner.variable} = T.axis.spatial(3, {loop})")
        name = self.fresh("O")
        self.buffers[name] = (axis.size, "3")
        value = self.element([axis])
        self.line(4, f"{name}[{axis.variable}, {inner.variable}] = {value}")
        self.filled.append(name)


def block_nests(seed: int) -> str:
    """The function of a number."""
    rng = random.Random(f"blocks {seed}")
    writer = _Writer(rng)
    for _ in range(rng.choice((1, 2, 2, 3))):
        form = rng.random()
        if form < 0.7:
            writer.nest((), 0)
        elif form < 0.9:
            writer.shared()
        else:
            writer.nested()
    dtype = rng.choice(("int32", "int32", "float32", "int64"))
    handles = ", ".join(f"{name.lower()}: T.handle" for name in writer.buffers)
    lines = [
        "@T.prim_func",
        f"def main({handles}, shape: T.handle):",
        "    n, m = T.int32(), T.int32()",
        '    sizes = T.match_buffer(shape, (n, m), "int8")',
    ]
    lines += [
        f'    {name} = T.match_buffer({name.lower()}, ({", ".join(shape)},), "{dtype}")'
        for name, shape in writer.buffers.items()
    ]
    return "\n".join((*lines, *writer.body)) + "\n"
