"""Random functions of loop nests without a schedule, in TVMScript.

Nests of all kinds that a default schedule tells apart, in all orders of their loops:
maps, with transposed, reversed and broadcast operands and in place; reductions, with and
without an init and with kinds that are wrong; products of matrices, with batches and
windows, and of a few rows and a matrix; recurrences; and rows of several nests, of which
one reads what another has written, in the same order or not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

_EXTENTS = ("1", "2", "3", "4", "5", "8", "9", "17")
_SYMBOLS = ("n", "m")
_DTYPES = ("float32", "float32", "float64", "int32", "uint8", "int64")
_COMBINERS = ("{0} + {1}", "{0} + {1}", "{1} + {0}", "T.max({0}, {1})", "T.min({0}, {1})")
_INITS = {"T.max": "-1000", "T.min": "1000"}


@dataclass
class _Buffer:
    name: str
    shape: tuple[str, ...]
    is_param: bool = True
    is_filled: bool = True


@dataclass
class NestGenerator:
    """Writes one function."""

    rng: random.Random
    extents: Sequence[str] = _EXTENTS
    dtype: str = "float32"
    buffers: list[_Buffer] = field(default_factory=list[_Buffer])
    body: list[str] = field(default_factory=list[str])

    def buffer(self, shape: tuple[str, ...], *, is_param: bool = True) -> _Buffer:
        made = _Buffer(f"B{len(self.buffers)}", shape, is_param)
        self.buffers.append(made)
        return made

    # ---- accesses ----

    def operand(self, axes: Sequence[str], sizes: dict[str, str]) -> str:
        """A read of a buffer, new or old, indexed by some of the axes."""
        old = [b for b in self.buffers if b.is_filled and self._fits(b, axes, sizes)]
        if old and self.rng.random() < 0.6:
            return self.access(self.rng.choice(old), axes, sizes)
        used = [axis for axis in axes if self.rng.random() < 0.8]
        if self.rng.random() < 0.4:
            self.rng.shuffle(used)
        shape = tuple(sizes[axis] for axis in used) or ("1",)
        return self.access(self.buffer(shape), used, sizes)

    def _fits(self, buffer: _Buffer, axes: Sequence[str], sizes: dict[str, str]) -> bool:
        known = {sizes[axis] for axis in axes} | {"1"}
        return all(extent in known for extent in buffer.shape)

    def access(self, buffer: _Buffer, axes: Sequence[str], sizes: dict[str, str]) -> str:
        """An element of a buffer; each index runs over at most its dimension."""
        indices: list[str] = []
        left = list(axes)
        for extent in buffer.shape:
            fitting = [axis for axis in left if sizes[axis] == extent]
            fitting = fitting or [axis for axis in axes if sizes[axis] == extent]
            if not fitting:
                indices.append("0")
                continue
            axis = fitting[0] if self.rng.random() < 0.8 else self.rng.choice(fitting)
            if axis in left:
                left.remove(axis)
            reverse = self.rng.random() < 0.08
            indices.append(f"{extent} - 1 - v{axis}" if reverse else f"v{axis}")
        return f"{buffer.name}[{', '.join(indices)}]"

    # ---- nests ----

    def nest(
        self, axes: Sequence[str], sizes: dict[str, str], kinds: str, lines: list[str]
    ) -> None:
        """A nest over axes, in any order, around one block."""
        order = list(axes)
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        if len(order) == 1:
            self.body.append(f"for {order[0]} in T.serial({sizes[order[0]]}):")
        else:
            extents = ", ".join(sizes[axis] for axis in order)
            self.body.append(f"for {', '.join(order)} in T.grid({extents}):")
        self.body.append(f'    with T.block("b{len(self.body)}"):')
        for axis, kind in zip(axes, kinds, strict=True):
            of = "reduce" if kind == "R" else "spatial"
            self.body.append(f"        v{axis} = T.axis.{of}({sizes[axis]}, {axis})")
        self.body += [f"        {line}" for line in lines]

    def axes(self, count: int) -> tuple[list[str], dict[str, str]]:
        names = ["i", "j", "k", "p", "q"][:count]
        return names, {name: self.rng.choice(self.extents) for name in names}

    def map(self) -> None:
        axes, sizes = self.axes(self.rng.choice([1, 2, 2, 3]))
        value = self.expression(axes, sizes)
        placed = list(axes)
        if self.rng.random() < 0.25:
            self.rng.shuffle(placed)
        shape = tuple(sizes[axis] for axis in placed)
        old = [b for b in self.buffers if b.shape == shape]
        if old and self.rng.random() < 0.3:
            target = self.rng.choice(old)
        else:
            target = self.buffer(shape, is_param=self.rng.random() < 0.6)
        place = ", ".join(f"v{axis}" for axis in placed)
        line = f"{target.name}[{place}] = {value}"
        self.nest(axes, sizes, "S" * len(axes), [line])

    def expression(self, axes: Sequence[str], sizes: dict[str, str]) -> str:
        a = self.operand(axes, sizes)
        form = self.rng.choice(["{0}", "{0} + {1}", "T.max({0}, {1})", "{0} * {0} + {1}"])
        return form.format(a, self.operand(axes, sizes))

    def reduction(self) -> None:
        axes, sizes = self.axes(self.rng.choice([1, 2, 2, 3]))
        carried = [axis for axis in axes if self.rng.random() < 0.5] or axes[-1:]
        kept = [axis for axis in axes if axis not in carried]
        if self.rng.random() < 0.2:
            self.rng.shuffle(kept)
        term = self.expression(axes, sizes)
        self._reduce(axes, sizes, kept, self.rng.choice(_COMBINERS), term)

    def _reduce(
        self,
        axes: Sequence[str],
        sizes: dict[str, str],
        kept: Sequence[str],
        form: str,
        term: str,
    ) -> None:
        target = self.buffer(tuple(sizes[axis] for axis in kept) or ("1",))
        indices = ", ".join(f"v{axis}" for axis in kept) or "0"
        place = f"{target.name}[{indices}]"
        lines: list[str] = []
        kinds = "".join("S" if axis in kept else "R" for axis in axes)
        if self.rng.random() < 0.8:
            start = _INITS.get(form[:5], "0") if self.dtype != "uint8" else "0"
            zero = self.rng.choice([start, start, "3"])
            lines = ["with T.init():", f'    {place} = T.cast({zero}, "{self.dtype}")']
            if self.rng.random() < 0.1:
                kinds = "R" * len(axes)
        elif self.rng.random() < 0.5:
            kinds = "S" * len(axes)
        self.nest(axes, sizes, kinds, [*lines, f"{place} = {form.format(place, term)}"])

    def contraction(self) -> None:
        axes, sizes = self.axes(self.rng.choice([3, 3, 4]))
        kinds = {axis: "mnk"[number % 3] for number, axis in enumerate(axes)}
        if len(axes) == 4:
            kinds[axes[3]] = self.rng.choice("bmnk")
        sizes = {
            axis: self.rng.choice([e for e in self.extents if e not in "12"])
            for axis in axes
        }
        parts: list[str] = []
        for wanted in ("mkb", "nkb"):
            used = [axis for axis in axes if kinds[axis] in wanted]
            if self.rng.random() < 0.5:
                self.rng.shuffle(used)
            shape = tuple(sizes[axis] for axis in used)
            indices = ", ".join(f"v{axis}" for axis in used)
            parts.append(f"{self.buffer(shape).name}[{indices}]")
        kept = [axis for axis in axes if kinds[axis] != "k"]
        if self.rng.random() < 0.4:
            self.rng.shuffle(kept)
        self._reduce(axes, sizes, kept, "{0} + {1}", " * ".join(parts))

    def few_rows(self) -> None:
        """A matrix, read in either order, by a few rows or columns, or one vector."""
        axes = ["i", "j", "k"]
        size = self.rng.choice
        symbols = [extent for extent in self.extents if extent in _SYMBOLS]
        sizes = {
            "i": size("1112358"),
            "j": size(symbols or ["9", "16", "21", "34"]),
            "k": size(symbols or ["3", "9", "16", "35"]),
        }
        if self.rng.random() < 0.3:
            axes = ["j", "k"]
        parts: list[str] = []
        for used in (["i", "k"], ["k", "j"]):
            used = [axis for axis in used if axis in axes]
            if self.rng.random() < 0.5:
                used.reverse()
            shape = tuple(sizes[axis] for axis in used)
            indices = ", ".join(f"v{axis}" for axis in used)
            parts.append(f"{self.buffer(shape).name}[{indices}]")
        kept = [axis for axis in axes if axis != "k"]
        if self.rng.random() < 0.3:
            parts.reverse()
            kept.reverse()
        self._reduce(axes, sizes, kept, "{0} + {1}", " * ".join(parts))

    def window(self) -> None:
        """A convolution, or a pool, along one dimension."""
        axes = ["i", "j", "k"]
        rows, columns, width = self.rng.choice("358"), self.rng.choice("489"), "3"
        sizes = dict(zip(axes, (rows, columns, width), strict=True))
        source = self.buffer((rows, str(int(columns) + 2)))
        term = f"{source.name}[vi, vj + vk]"
        if self.rng.random() < 0.5:
            term += f" * {self.buffer((width,)).name}[vk]"
        self._reduce(axes, sizes, ["i", "j"], self.rng.choice(_COMBINERS), term)

    def recurrence(self) -> None:
        axes, sizes = self.axes(2)
        shape = (f"{sizes['i']} + 1", sizes["j"])
        target = self.buffer(shape)
        target.is_filled = False
        line = f"{target.name}[vi + 1, vj] = {target.name}[vi, vj] + {target.name}[0, vj]"
        self.nest(axes, sizes, "SS", [line])

    def rows(self) -> None:
        """Nests on the same rows: a sum, what it scales, and a sum of that."""
        axes, sizes = self.axes(2)
        source = self.buffer((sizes["i"], sizes["j"]))
        term = f"{source.name}[vi, vj]"
        self._reduce(axes, sizes, ["i"], self.rng.choice(_COMBINERS), term)
        total = self.buffers[-1]
        made = self.buffer((sizes["i"], sizes["j"]), is_param=False)
        read = "vi" if self.rng.random() < 0.8 else f"{sizes['i']} - 1 - vi"
        value = f"{source.name}[vi, vj] - {total.name}[{read}]"
        self.nest(axes, sizes, "SS", [f"{made.name}[vi, vj] = {value}"])
        self._reduce(axes, sizes, ["i"], "{0} + {1}", f"{made.name}[{read}, vj]")

    def function(self) -> str:
        """The text of the function."""
        kinds = [self.map, self.map, self.reduction, self.contraction]
        kinds += [self.few_rows, self.window, self.recurrence, self.rows, self.rows]
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            self.rng.choice(kinds)()
        symbols = [s for s in _SYMBOLS if s in self.extents]
        for symbol in symbols:
            # Parameters bind symbols that only the shapes of local memory may have.
            self.buffer((symbol,))
        params = [b for b in self.buffers if b.is_param]
        lines = [
            "@T.prim_func",
            f"def main({', '.join(f'p_{b.name}: T.handle' for b in params)}):",
            '    T.func_attr({"global_symbol": "main", "tir.noalias": True})',
        ]
        lines += [f"    {symbol} = T.int64()" for symbol in symbols]
        for buffer in self.buffers:
            shape = f"({', '.join(buffer.shape)},)"
            made = "T.alloc_buffer("
            if buffer.is_param:
                made = f"T.match_buffer(p_{buffer.name}, "
            lines.append(f'    {buffer.name} = {made}{shape}, "{self.dtype}")')
        return "\n".join([*lines, *(f"    {line}" for line in self.body), ""])


def random_nests(seed: int) -> str:
    """The script of a function; one in four has symbolic extents."""
    rng = random.Random(seed)
    extents = (*_SYMBOLS, "3") if rng.random() < 0.25 else _EXTENTS
    generator = NestGenerator(rng, extents, rng.choice(_DTYPES))
    header = "from xdsl_tvm.tvmscript import tir as T\n\n"
    return header + generator.function()
