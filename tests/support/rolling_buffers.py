"""Random stencils whose intermediate buffers are marked to roll, and a way to run them.

The interpreter does not run realized buffers: `allocated` replaces each by a buffer of
the extents of its bounds, which sees to it that no access is outside of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import tir


def allocated(module: ModuleOp) -> ModuleOp:
    """A copy of a module in which realized buffers are as large as their bounds."""
    module = module.clone()
    for realize in [op for op in module.walk() if isinstance(op, tir.BufferRealizeOp)]:
        extents = [extent for _, extent in realize.bounds]
        assert all(isinstance(extent, int) for extent in extents)
        shape = [extent for extent in extents if isinstance(extent, int)]
        dtype = tir.BufferType(shape, realize.type.element_type, realize.type.scope)
        for use in tuple(realize.buffer.uses):
            op = use.operation
            assert isinstance(op, tir.LoadOp | tir.StoreOp)
            first = 2 if isinstance(op, tir.StoreOp) else 1
            builder = Builder(InsertPoint.before(op))
            for position, low in enumerate(realize.bound_mins, start=first):
                shifted = builder.insert(tir.SubOp(op.operands[position], low))
                op.operands[position] = shifted.result
        new = tir.AllocBufferOp(dtype)
        Rewriter.insert_op(new, InsertPoint.before(realize))
        Rewriter.replace_op(realize, [], [new.buffer])
    module.verify()
    return module


@dataclass
class _Dim:
    """A dimension of the intermediate buffer: tiles of `extent`, `step` apart."""

    tiles: int
    step: int
    extent: int
    form: str

    @property
    def size(self) -> int:
        return (self.tiles - 1) * self.step + self.extent


def _dim(rng: random.Random) -> _Dim:
    form = rng.choice(("plain", "plain", "plain", "half", "twice", "fixed"))
    if form == "fixed":
        extent = rng.randrange(1, 4)
        return _Dim(1, 0, extent, form)
    tiles = rng.randrange(1, 6)
    step = 1 if form in ("half", "twice") else rng.randrange(1, 4)
    return _Dim(tiles, step, rng.randrange(1, 6), form)


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str]
    count: int = 0

    def fresh(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%x{self.count} = {text}")
        return f"%x{self.count}"

    def constant(self, number: int) -> str:
        return self.fresh(f"tir.const {number} : i32")

    def binary(self, name: str, lhs: str, rhs: str) -> str:
        return self.fresh(f"tir.{name} {lhs}, {rhs} : i32")

    def loop(self, low: str, extent: str) -> str:
        self.count += 1
        self.lines.append(f"tir.for %i{self.count} = {low} to {low} + {extent} {{")
        return f"%i{self.count}"

    def close(self, number: int = 1) -> None:
        self.lines += ["}"] * number

    def low(self, dim: _Dim, variable: str) -> str:
        """Where a tile starts."""
        match dim.form:
            case "fixed":
                return self.constant(0)
            case "half":
                return self.binary("floordiv", variable, self.constant(2))
            case "twice":
                double = self.binary("mul", variable, self.constant(2))
                return self.binary("floordiv", double, self.constant(2))
            case _:
                if dim.step == 1 and self.rng.random() < 0.5:
                    return variable
                return self.binary("mul", variable, self.constant(dim.step))


def random_rolling(seed: int) -> str:
    """The text of a function that sums up tiles of what it computes from `%A`.

    Tiles overlap or not, move in one or two dimensions, and are filled by one store or
    by two, the second one of which updates the first.
    """
    rng = random.Random(seed)
    dims = [_dim(rng) for _ in range(rng.randrange(1, 4))]
    if all(dim.form == "fixed" for dim in dims):
        dims[0] = _Dim(3, 2, 4, "plain")
    sizes = [dim.size for dim in dims]
    shape = "x".join(map(str, sizes))
    tiles = "x".join(str(dim.tiles) for dim in dims)
    w = _Writer(rng, [])
    variables = ["%c0"] * len(dims)
    order = [n for n, dim in enumerate(dims) if dim.form != "fixed"]
    rng.shuffle(order)
    zero = "%c0"
    for n in order:
        variables[n] = w.loop(zero, w.constant(dims[n].tiles))
    lows = [w.low(dim, v) for dim, v in zip(dims, variables, strict=True)]
    bounds = ", ".join(
        f"{low} to {low} + {dim.extent}" for low, dim in zip(lows, dims, strict=True)
    )
    w.lines.append(
        f"%T = tir.buffer_realize bounds [{bounds}] "
        f'annotations {{"rolling_buffer_scope" = true}} : !tir.buffer<{shape}xi32>'
    )
    _produce(w, dims, lows)
    _consume(w, dims, lows, variables)
    w.close(len(order))
    body = "\n".join(w.lines)
    flag = rng.choice(("", " attributes {tir.noalias}"))
    return f"""
tir.func @f(%a: !tir.handle, %o: !tir.handle, %n: i32){flag} {{
%A = tir.match_buffer %a : !tir.buffer<{shape}xi32>
%O = tir.match_buffer %o : !tir.buffer<{tiles}xi32>
%c0 = tir.const 0 : i32
{body}
}}"""


def _element(w: _Writer, dims: list[_Dim], lows: list[str]) -> tuple[str, int]:
    """Opens loops over a tile; the indices of an element, and how many loops."""
    indices: list[str] = []
    for dim, low in zip(dims, lows, strict=True):
        extent = w.constant(dim.extent)
        if w.rng.random() < 0.3:
            indices.append(w.loop(low, extent))
        else:
            variable = w.loop("%c0", extent)
            indices.append(w.binary("add", low, variable))
    return ", ".join(indices), len(dims)


def _produce(w: _Writer, dims: list[_Dim], lows: list[str]) -> None:
    place, loops = _element(w, dims, lows)
    found = w.fresh(f"tir.load %A[{place}] : i32")
    value = w.binary(w.rng.choice(("add", "max")), found, "%n")
    if w.rng.random() < 0.5:
        w.lines.append(f"tir.store {value}, %T[{place}] : i32")
        w.close(loops)
        return
    w.lines.append(f"tir.store %n, %T[{place}] : i32")
    if w.rng.random() < 0.5:
        w.close(loops)
        place, loops = _element(w, dims, lows)
        found = w.fresh(f"tir.load %A[{place}] : i32")
    step = w.loop("%c0", w.constant(w.rng.randrange(1, 4)))
    old = w.fresh(f"tir.load %T[{place}] : i32")
    term = w.binary("mul", found, step)
    new = w.binary("add", old, term)
    w.lines.append(f"tir.store {new}, %T[{place}] : i32")
    w.close(loops + 1)


def _consume(w: _Writer, dims: list[_Dim], lows: list[str], tile: list[str]) -> None:
    out = ", ".join(tile)
    w.lines.append(f"tir.store %n, %O[{out}] : i32")
    place, loops = _element(w, dims, lows)
    found = w.fresh(f"tir.load %T[{place}] : i32")
    old = w.fresh(f"tir.load %O[{out}] : i32")
    scaled = w.binary("mul", old, w.constant(3))
    kept = w.binary("floormod", w.binary("add", scaled, found), w.constant(10007))
    w.lines.append(f"tir.store {kept}, %O[{out}] : i32")
    w.close(loops)
