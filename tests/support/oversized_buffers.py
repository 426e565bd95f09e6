"""Random programs with buffers of which only a part is accessed.

A program allocates one to three buffers, larger than they need to be, at some depth of a
nest of loops, perhaps over blocks and threads of a GPU. Nests of loops then write
elements of them and read the same elements back into `%O`, each at a place of its own.
Indices are sums, quotients and remainders of the variables around, shifted, clamped,
looked up in `%P` or named by a let; conditions guard some accesses. Some buffers are
accessed through a view, some have an extent in terms of the symbol `%n`, and some a
stride that is aligned.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

LARGEST_EXTENT = 7
"""Of the symbol, as in `random_inputs`."""
_TABLE = 8
_TAGS = ("blockIdx.x", "vthread.x", "threadIdx.y", "threadIdx.x")
_PARTS = ("add", "add", "add", "sub", "floordiv", "floormod", "min", "max")


@dataclass(frozen=True)
class Var:
    """A variable of a loop or a thread axis: `count` values from `low` on."""

    low: int
    count: int
    number: int
    """Which one it is."""
    is_symbolic: bool = False
    """Whether it runs to the symbol; `count` is then the most."""
    tag: str | None = None
    """Its thread axis."""


Tree = tuple[str, "Tree | int", "Tree | int"] | Var
"""An operation on two trees, or numbers, or a variable."""


def bounds(tree: Tree | int) -> tuple[int, int]:
    """What a tree is between."""
    match tree:
        case int():
            return tree, tree
        case Var():
            return tree.low, tree.low + tree.count - 1
        case ("table", _, _):
            return 0, _TABLE - 1
        case (op, lhs, rhs):
            (a, b), (c, d) = bounds(lhs), bounds(rhs)
    match op:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            return min(a * c, b * c), max(a * c, b * c)
        case "floordiv":
            return a // c, b // c
        case "floormod":
            return 0, c - 1
        case "min":
            return min(a, c), min(b, d)
        case _:
            return max(a, c), max(b, d)


Condition = list[tuple[str, Tree, int]]
"""Comparisons with numbers, all of which hold."""


@dataclass
class Buffer:
    """A buffer: its name, its shape, and the indices that are used next."""

    name: str
    indices: list[Tree]
    shape: list[int]
    scope: str
    strides: str = ""
    align: str = ""


@dataclass
class _Writer:
    rng: random.Random
    dtype: str
    lines: list[str] = field(default_factory=list[str])
    names: dict[Var, str] = field(default_factory=dict[Var, str])
    count: int = 0
    places: int = 0
    """The elements of `%O` that are taken."""

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def line(self, text: str) -> None:
        self.lines.append(text)

    def value(self, text: str) -> str:
        self.count += 1
        name = f"%x{self.count}"
        self.line(f"{name} = {text}")
        return name

    def const(self, number: int) -> str:
        return self.value(f"tir.const {number} : {self.dtype}")

    @contextmanager
    def scope(self, header: str) -> Generator[None]:
        self.line(f"{header} {{")
        yield
        self.line("}")

    @contextmanager
    def loop(self, var: Var, kind: str = "") -> Generator[None]:
        """A loop over the values of a variable, or a launch."""
        low, extent = self.const(var.low), "%n" if var.is_symbolic else ""
        extent = extent or self.const(var.count)
        self.count += 1
        name = self.names[var] = f"%v{self.count}"
        if var.tag is not None:
            kind = f'thread_binding "{var.tag}"'
        with self.scope(f"tir.for {name} = {low} to {low} + {extent} {kind}"):
            yield

    # ---- expressions ----

    def tree(self, tree: Tree | int) -> str:
        match tree:
            case int():
                return self.const(tree)
            case Var():
                return self.names[tree]
            case ("table", key, _):
                place = self.tree(("floormod", key, _TABLE))
                found = self.value(f"tir.load %P[{place}] : i32")
                if self.dtype != "i32":
                    found = self.value(f"tir.cast {found} : i32 to {self.dtype}")
                size = self.const(_TABLE)
                text = f"tir.floormod {found}, {size} : {self.dtype}"
                return self.value(text)
            case (op, lhs, rhs):
                a, b = self.tree(lhs), self.tree(rhs)
                found = self.value(f"tir.{op} {a}, {b} : {self.dtype}")
        if self.chance(0.1):
            return self.value(f'tir.let "t" {found} : {self.dtype}')
        return found

    def any_tree(self, variables: Sequence[Var], depth: int) -> Tree:
        """A tree of some of the variables."""
        rng = self.rng
        if depth == 0 or self.chance(0.2):
            var = rng.choice(variables)
            if self.chance(0.3):
                return ("mul", var, rng.choice([2, 3, 4, -1]))
            return var
        if self.chance(0.06):
            return ("table", rng.choice(variables), 0)
        op = rng.choice(_PARTS)
        first = self.any_tree(variables, depth - 1)
        if op in ("add", "sub") and self.chance(0.6):
            return (op, first, self.any_tree(variables, depth - 1))
        return (op, first, rng.randint(2, 5))

    def condition(self, variables: Sequence[Var]) -> Condition:
        """A conjunction of comparisons; how it is written is chosen anew each time."""
        parts: Condition = []
        for _ in range(self.rng.randint(1, 2)):
            tree = self.any_tree(variables, self.rng.randint(0, 1))
            low, high = bounds(tree)
            sign = self.rng.choice(["lt", "lt", "le", "ge", "gt", "ne"])
            parts.append((sign, tree, self.rng.randint(low, high)))
        return parts

    def holds(self, parts: Condition) -> str:
        found = ""
        for sign, tree, number in parts:
            a, b = self.tree(tree), self.const(number)
            part = self.value(f"tir.cmp {sign} {a}, {b} : {self.dtype}")
            if self.chance(0.3):
                part = self.value(f'tir.call "likely"({part}) : (i1) -> i1')
            found = self.value(f"tir.and {found}, {part} : i1") if found else part
        return found

    # ---- statements ----

    def place(self, variables: Sequence[Var], first: int) -> str:
        """A number that no other values of the variables have."""
        total: Tree | int = first
        step = 1
        for var in variables:
            total = ("add", total, ("mul", ("sub", var, var.low), step))
            step *= var.count
        return self.tree(total)

    def store(self, buffer: Buffer, indices: Sequence[str], value: str) -> None:
        target, indices = self.target(buffer, indices)
        self.line(f"tir.store {value}, {target}[{', '.join(indices)}] : i32")

    def load(self, buffer: Buffer, indices: Sequence[str]) -> str:
        target, indices = self.target(buffer, indices)
        return self.value(f"tir.load {target}[{', '.join(indices)}] : i32")

    def target(self, buffer: Buffer, indices: Sequence[str]) -> tuple[str, list[str]]:
        """The buffer, or a view of the element."""
        if not self.chance(0.2):
            return buffer.name, list(indices)
        shape = "x".join(["1"] * len(indices) + ["i32"])
        type_ = f'!tir.buffer<{shape}, "{buffer.scope}">'
        place = ", ".join(indices)
        view = self.value(f"tir.match_region {buffer.name}[{place}] : {type_}")
        return view, [self.const(0) for _ in indices]

    def access(self, around: Sequence[Var], buffers: Sequence[Buffer]) -> None:
        """A nest that writes elements, and one that reads them."""
        inner = [
            var
            for var in dict.fromkeys(
                v for b in buffers for t in b.indices for v in _of(t)
            )
            if var not in around
        ]
        self.rng.shuffle(inner)
        variables = [*around, *inner]
        condition = self.condition(variables) if self.chance(0.4) else []
        first = self.places
        self.places += _product(variables)

        def write() -> None:
            number = self.place(variables, first)
            if self.dtype != "i32":
                number = self.value(f"tir.cast {number} : {self.dtype} to i32")
            for buffer in buffers:
                self.store(buffer, self.indices(buffer), number)

        def read() -> None:
            number = self.place(variables, first)
            total = ""
            for buffer in buffers:
                found = self.load(buffer, self.indices(buffer))
                total = self.value(f"tir.add {total}, {found} : i32") if total else found
            self.line(f"tir.store {total}, %O[{number}] : i32")

        self.nest(inner, condition, write, "writes", buffers)
        self.nest(inner, condition, read, "reads", buffers)

    def indices(self, buffer: Buffer) -> list[str]:
        return [self.tree(tree) for tree in buffer.indices]

    def nest(
        self,
        inner: Sequence[Var],
        condition: Condition,
        statement: Callable[[], None],
        kind: str,
        buffers: Sequence[Buffer],
    ) -> None:
        """Loops around a block, or a branch, with a statement."""
        if inner:
            with self.loop(inner[0]):
                self.nest(inner[1:], condition, statement, kind, buffers)
        elif condition and self.chance(0.5):
            with self.scope(f"tir.if {self.holds(condition)}"):
                statement()
        else:
            where = f" where {self.holds(condition)}" if condition else ""
            declared = self.chance(0.5)
            align = buffers[0].align if declared and kind == "writes" else ""
            with self.scope(f"tir.block{where}{align}"):
                if declared:
                    regions = (f"{b.name}[{', '.join(self.indices(b))}]" for b in buffers)
                    self.line(f"tir.{kind} {', '.join(list(regions))}")
                statement()

    # ---- programs ----

    def loops(self, outer: Sequence[Var], level: int, depth: int, scope: str) -> None:
        if level == depth:
            with self.scope("tir.block"):
                self.allocations(outer, depth, scope)
            return
        kind = ""
        if outer[level].tag is None and scope == "global" and level == 0:
            kind = self.rng.choice(["", "parallel"])
        with self.loop(outer[level], kind):
            self.loops(outer, level + 1, depth, scope)

    def allocations(self, outer: Sequence[Var], depth: int, scope: str) -> None:
        around = outer[:depth]
        variables = [*outer, *(self.variable() for _ in range(self.rng.randint(1, 3)))]
        buffers = [
            self.buffer(f"%B{k}", variables, scope)
            for k in range(self.rng.choice([1, 1, 2, 3]))
        ]
        for buffer in buffers:
            self.allocate(buffer)
        for _ in range(self.rng.choice([1, 1, 2])):
            chosen = self.rng.sample(buffers, self.rng.randint(1, len(buffers)))
            self.access(around, chosen)
            for buffer in buffers:
                if self.chance(0.5):
                    self.again(buffer, variables)

    def variable(self) -> Var:
        if self.chance(0.15):
            return Var(0, LARGEST_EXTENT, is_symbolic=True, number=self.fresh())
        return Var(self.rng.choice([0, 0, 1, 3]), self.rng.randint(1, 4), self.fresh())

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def buffer(self, name: str, variables: Sequence[Var], scope: str) -> Buffer:
        threads = [v for v in variables if v.tag is not None and "thread" in v.tag]
        buffer = Buffer(name, [], [], scope)
        for axis in range(self.rng.randint(1, 3)):
            tree, high = self.index(variables)
            if axis == 0 and scope in ("shared", "warp"):
                # No two threads have an element in common.
                for thread in threads:
                    tree = ("add", tree, ("mul", thread, high + 1))
                    high = bounds(tree)[1]
            buffer.indices.append(tree)
            buffer.shape.append(high + 1 + self.rng.choice([0, 0, 1, 4]))
        if self.chance(0.2):
            buffer.strides = f" strides [{', '.join(_strides(buffer.shape, self.rng))}]"
        # Strides of more dimensions might not divide each other.
        if self.chance(0.3) and len(buffer.shape) < 3:
            dim = self.rng.randrange(len(buffer.shape))
            numbers = (0, dim, self.rng.choice([4, 8]), self.rng.choice([0, 1]))
            text = ", ".join(f"{n} : i32" for n in numbers)
            buffer.align = f" annotations {{buffer_dim_align = [[{text}]]}}"
        return buffer

    def index(self, variables: Sequence[Var]) -> tuple[Tree, int]:
        """An index that is not negative, and the most it is."""
        tree = self.any_tree(variables, self.rng.randint(0, 2))
        low, _ = bounds(tree)
        shift = max(0, -low) + self.rng.choice([0, 0, 0, 2])
        if shift:
            tree = ("add", tree, shift)
        return tree, bounds(tree)[1]

    def again(self, buffer: Buffer, variables: Sequence[Var]) -> None:
        """Use another index in a dimension from now on, if it tells no threads apart."""
        if buffer.scope in ("shared", "warp"):
            return
        axis = self.rng.randrange(len(buffer.indices))
        tree, high = self.index(variables)
        if high < buffer.shape[axis]:
            buffer.indices[axis] = tree

    def allocate(self, buffer: Buffer) -> None:
        shape = list(map(str, buffer.shape))
        extents = ""
        if not buffer.strides and self.chance(0.15):
            # At least what is needed, whatever the symbol is.
            least = self.const(buffer.shape[0])
            extents = f" [{self.value(f'tir.max %n, {least} : {self.dtype}')}]"
            shape[0] = "?"
        type_ = f'!tir.buffer<{"x".join(shape)}xi32, "{buffer.scope}">'
        layout = extents + buffer.strides
        self.line(f'{buffer.name} = tir.alloc_buffer "B"{layout} : {type_}')


def _of(tree: Tree | int) -> list[Var]:
    """The variables in a tree."""
    match tree:
        case int():
            return []
        case Var():
            return [tree]
        case (_, lhs, rhs):
            return [*_of(lhs), *_of(rhs)]


def _product(variables: Sequence[Var]) -> int:
    total = 1
    for var in variables:
        total *= var.count
    return total


def _strides(shape: Sequence[int], rng: random.Random) -> list[str]:
    found: list[str] = []
    step = 1
    for extent in reversed(shape):
        found.insert(0, str(step))
        step *= extent + rng.choice([0, 0, 1])
    return found


def roomy_program(seed: int, *, threads: bool = False) -> str:
    """The text of the program of a number; with `threads`, one for a GPU."""
    rng = random.Random(seed)
    w = _Writer(rng, rng.choice(["i32", "i32", "i64"]))
    scope, outer = "global", list[Var]()
    if threads:
        tags = [tag for tag in _TAGS if rng.random() < 0.5] or ["threadIdx.x"]
        outer = [Var(0, rng.randint(2, 4), w.fresh(), tag=tag) for tag in tags]
        scope = rng.choice(["shared", "shared", "warp", "local"])
    first = len(outer)
    outer += [w.variable() for _ in range(rng.randint(0 if threads else 1, 2))]
    depth = rng.randint(first, len(outer))
    w.loops(outer, 0, depth, scope)
    body = "\n".join(w.lines)
    return f"""
tir.func @main(%p: !tir.handle, %s: !tir.handle, %o: !tir.handle)
    attributes {{global_symbol = "main"}} {{
  %n = tir.shape_var "n" : {w.dtype}
  %P = tir.match_buffer "P" %p : !tir.buffer<{_TABLE}xi32>
  %S = tir.match_buffer "S" %s [%n] : !tir.buffer<?xi32>
  %O = tir.match_buffer "O" %o : !tir.buffer<{max(1, w.places)}xi32>
{body}
}}"""
