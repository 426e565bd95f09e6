"""Random kernels without barriers, what they compute with all of them, TVM's rule.

A kernel is a tree of statements that threads do in step: each thread reads before any of
them writes, and all are done before the next statement begins. `expected` computes that
with numpy; a kernel with the right barriers computes the same. Within a statement no two
threads write one element.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.interpreters.errors import RaceError
from xdsl_tvm.interpreters.tir import interpret

Array: TypeAlias = np.ndarray[Any, Any]
_Environment = dict[str, Any]
_BUFFERS = ("S", "T")
EXTENTS = (1, 2, 4, 5)
"""The extents of loops."""


@dataclass(frozen=True)
class Statement:
    """`target[at] = source[from] + i`, or into `R` where there is no target."""

    target: str
    at: str
    source: str
    from_: str

    def text(self) -> str:
        return f"{self.target}[{self.at}] = {self.source}[{self.from_}] + T.float32(1)"


@dataclass(frozen=True)
class Loop:
    """A loop of a variable from 0 on."""

    variable: str
    extent: int
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """A condition, of the thread or the same for all."""

    condition: str
    body: tuple[Node, ...]

    @property
    def is_of_thread(self) -> bool:
        return "g" in self.condition


Node: TypeAlias = Statement | Loop | Choice


@dataclass
class SyncKernel:
    """A kernel of blocks of threads, which share `S` and `T` of one scope."""

    scope: str
    blocks: int
    rows: int
    threads: int
    body: tuple[Node, ...]
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.blocks * self.rows * self.threads

    @property
    def script(self) -> str:
        lines = [
            "@T.prim_func",
            'def main(A: T.Buffer((SIZE,), "float32"), R: T.Buffer((SIZE,), "float32"),'
            ' S: T.Buffer((MORE,), "float32"), T_: T.Buffer((MORE,), "float32")):',
            f'    bx = T.launch_thread("blockIdx.x", {self.blocks})',
            f'    ty = T.launch_thread("threadIdx.y", {self.rows})',
            f'    tx = T.launch_thread("threadIdx.x", {self.threads})',
        ]
        if self.scope != "global":
            lines[1] = lines[1].partition(" S: ")[0].rstrip(",") + "):"
            for name in ("S", "T_"):
                lines += [
                    f'    {name}p = T.allocate([MORE], "float32", "{self.scope}")',
                    f"    {name} = T.decl_buffer((MORE,), data={name}p, "
                    f'scope="{self.scope}")',
                ]
        block = f"bx * {self.rows * self.threads} + " if self.scope == "global" else ""
        index = f"({block}ty * {self.threads} + tx)"
        first = self.first
        for node in (*first, *self.body, *self.last):
            lines += _lines(node, index, "    ")
        text = "\n".join(lines).replace("MORE", str(2 * self.size))
        own = f"(bx * {self.rows * self.threads} + ty * {self.threads} + tx)"
        text = text.replace("OWN", own)
        return text.replace("SIZE", str(self.total))

    @property
    def symbolic_script(self) -> str:
        """The kernel with parameters after the others that are the extents of loops."""
        script = self.script
        for extent in EXTENTS:
            script = script.replace(f"range({extent})", f"range(n{extent})")
        parameters = ", ".join(f"n{extent}: T.int32" for extent in EXTENTS)
        return script.replace("):\n", f", {parameters}):\n", 1)

    @property
    def size(self) -> int:
        """The threads that share memory."""
        return self.total if self.scope == "global" else self.total // self.blocks

    @property
    def first(self) -> tuple[Node, ...]:
        return tuple(
            Statement(name, at, "A", "OWN")
            for name in _BUFFERS
            for at in ("g", f"g + {self.size}")
        )

    @property
    def last(self) -> tuple[Node, ...]:
        return (
            Statement("R", "OWN", "S", f"{self.size - 1} - g"),
            Statement("R", "OWN", "R", "OWN"),
        )

    def expected(self, a: Array) -> Array:
        """What is in `R` at the end."""
        out = np.zeros(self.total, np.float32)
        groups = 1 if self.scope == "global" else self.blocks
        for group in range(groups):
            g = np.arange(self.size)
            memory = {
                "A": a,
                "R": out,
                **{name: np.zeros(2 * self.size, np.float32) for name in _BUFFERS},
            }
            environment: _Environment = {"g": g, "OWN": g + group * self.size}
            everyone = np.ones(self.size, bool)
            _run((*self.first, *self.body, *self.last), memory, environment, everyone)
        return out


def _lines(node: Node, index: str, indent: str) -> list[str]:
    def words(text: str) -> str:
        out = text.replace("OWN", "@").replace("g", index).replace("@", "OWN")
        return out.replace("T[", "T_[")

    match node:
        case Statement():
            text = f"{node.target}[{words(node.at)}] = "
            text += f"{node.source}[{words(node.from_)}] + T.float32(1)"
            return [indent + text.replace("T[", "T_[")]
        case Loop():
            head = f"for {node.variable} in range({node.extent}):"
        case Choice():
            head = f"if {words(node.condition)}:"
    body = [line for each in node.body for line in _lines(each, index, indent + "    ")]
    return [indent + head, *body]


def _evaluate(text: str, environment: Mapping[str, Any]) -> Any:
    return eval(text, {}, dict(environment))


def _run(
    nodes: Sequence[Node], memory: dict[str, Array], environment: _Environment, on: Array
) -> None:
    for node in nodes:
        match node:
            case Statement():
                at = np.broadcast_to(_evaluate(node.at, environment), on.shape)[on]
                from_ = np.broadcast_to(_evaluate(node.from_, environment), on.shape)[on]
                value = memory[node.source][from_] + np.float32(1)
                memory[node.target][at] = value
            case Loop():
                for number in range(node.extent):
                    inner = {**environment, node.variable: number}
                    _run(node.body, memory, inner, on)
            case Choice():
                taken = on & _evaluate(node.condition, environment)
                _run(node.body, memory, environment, taken)


# ---- random kernels ----


@dataclass
class _Writer:
    rng: random.Random
    size: int
    loops: list[str] = field(default_factory=list[str])

    def index(self) -> str:
        """An element that differs from thread to thread."""
        n, rng = self.size, self.rng
        shift = rng.choice((1, 3, n // 2))
        forms = [
            "g",
            "g",
            f"{n - 1} - g",
            f"(g + {shift}) % {n}",
            f"g % 4 * {n // 4} + g // 4",
            f"g + {n}",
            "g * 2",
            "g * 2 + 1",
        ]
        for loop in self.loops:
            forms += [
                f"{loop} % 2 * {n} + g",
                f"({loop} + 1) % 2 * {n} + {n - 1} - g",
                f"(g + {loop}) % {n}",
                f"(g + {loop} // 2) % {n}",
            ]
        return rng.choice(forms)

    def statement(self) -> Statement:
        rng = self.rng
        source = rng.choice(("S", "T", "R", "A"))
        from_ = self.index() if source in _BUFFERS else "OWN"
        if source in _BUFFERS and rng.random() < 0.2:
            from_ = rng.choice(("0", "g // 2", "g // 8 * 8"))
        target = rng.choice(("S", "T", "R"))
        at = self.index() if target in _BUFFERS else "OWN"
        return Statement(target, at, source, from_)

    def nodes(self, most: int, depth: int) -> tuple[Node, ...]:
        found: list[Node] = []
        for _ in range(self.rng.randint(1, most)):
            pick = self.rng.random()
            if pick < 0.6 or depth == 3:
                found.append(self.statement())
            elif pick < 0.85:
                variable = f"i{depth}"
                self.loops.append(variable)
                extent = self.rng.choice(EXTENTS)
                found.append(Loop(variable, extent, self.nodes(3, depth + 1)))
                self.loops.pop()
            else:
                found.append(self.choice(depth))
        return tuple(found)

    def choice(self, depth: int) -> Choice:
        rng = self.rng
        if self.loops and rng.random() < 0.5:
            condition = f"{rng.choice(self.loops)} < {rng.choice((1, 2, 3))}"
            return Choice(condition, self.nodes(2, depth + 1))
        condition = rng.choice(
            ("g < 5", "g % 2 == 1", "g == 3", f"g >= {self.size // 2}")
        )
        return Choice(condition, (self._apart(),))

    def _apart(self) -> Statement:
        """A statement that threads do apart: it accesses what is shared once."""
        found = self.statement()
        if self.rng.random() < 0.5:
            return Statement(self.rng.choice(_BUFFERS), self.index(), "A", "OWN")
        source = found.source if found.source in _BUFFERS else "S"
        return Statement("R", "OWN", source, self.index())


def random_sync_kernel(seed: int, scope: str) -> SyncKernel:
    """The kernel of a number, whose threads share memory of a scope."""
    rng = random.Random(f"barriers {seed} {scope}")
    blocks = rng.choice((2, 3)) if scope == "global" else rng.choice((1, 2))
    rows, threads = rng.choice(((1, 64), (4, 16), (2, 32), (1, 16)))
    if scope == "warp":
        rows, threads = 1, rng.choice((16, 32))
    size = rows * threads * (blocks if scope == "global" else 1)
    writer = _Writer(rng, size)
    return SyncKernel(scope, blocks, rows, threads, writer.nodes(6, 0))


# ---- TVM's rule ----


@dataclass(frozen=True)
class _Access:
    buffer: str
    index: str
    writes: bool
    is_point: bool = True

    def conflicts(self, later: _Access) -> bool:
        if self.buffer != later.buffer or self.writes == later.writes:
            return False
        same = self.is_point and later.is_point and self.index == later.index
        return not (same and "g" in self.index)


def barriers_of_tvm(kernel: SyncKernel) -> int | None:
    """How many barriers TVM's rule inserts (docs/spec/tir-passes-c-memory-and-gpu.md).

    None where it refuses the kernel, as where one is needed under any condition.
    """
    rule = _Rule(kernel.scope == "shared.dyn")
    rule.summarize((*kernel.first, *kernel.body, *kernel.last), None, apart=False)
    return None if rule.refuses else rule.count


class _Rule:
    def __init__(self, unified: bool) -> None:
        self.count = 0
        self.refuses = False
        self._unified = unified

    def _entry(self, node: Node, apart: bool) -> list[_Access | None]:
        match node:
            case Statement():
                pairs = ((node.target, node.at, True), (node.source, node.from_, False))
                return [
                    _Access("S" if self._unified else name, index, writes)
                    for name, index, writes in pairs
                    if name in _BUFFERS
                ]
            case Loop():
                return self.summarize(node.body, node.variable, apart)
            case Choice():
                return self.summarize(node.body, None, True)

    def summarize(
        self, nodes: Sequence[Node], variable: str | None, apart: bool
    ) -> list[_Access | None]:
        """The accesses before the first barrier, None for barriers, those after it."""
        entries = [self._entry(node, apart) for node in nodes]
        marked = [False] * len(entries)
        state: list[_Access] = []

        def conflict(entry: list[_Access | None]) -> bool:
            for access in entry:
                if access is None:
                    return False
                if any(earlier.conflicts(access) for earlier in state):
                    return True
            return False

        for number, entry in enumerate(entries):
            if conflict(entry):
                marked[number] = True
                state.clear()
            for access in entry:
                if access is None:
                    state.clear()
                else:
                    state.append(access)
        if variable is not None:
            for number, entry in enumerate(entries):
                if marked[number] or not state:
                    break
                if conflict(entry):
                    marked[number] = True
                    break
                if None in entry:
                    state.clear()
        self.count += sum(marked)
        self.refuses |= apart and any(marked)
        flat: list[_Access | None] = []
        for entry, mark in zip(entries, marked, strict=True):
            flat += [None, *entry] if mark else entry
        if variable is not None:
            flat = [
                access
                if access is None or variable not in access.index
                else _Access(access.buffer, access.index, access.writes, False)
                for access in flat
            ]
        if None not in flat:
            return flat
        first, last = flat.index(None), len(flat) - flat[::-1].index(None)
        return [*flat[: first + 1], *flat[last:]]


def runs(kernel: SyncKernel, module: ModuleOp, *, symbolic: bool = False) -> bool:
    """Whether a kernel runs without a race; it then has to compute what is expected.

    With `symbolic`, the module is that of `symbolic_script`.
    """
    a = np.random.default_rng(1).random(kernel.total).astype(np.float32)
    out = np.zeros(kernel.total, np.float32)
    is_global = kernel.scope == "global"
    shared = [np.zeros(2 * kernel.size, np.float32) for _ in _BUFFERS if is_global]
    try:
        interpret(module)["main"](a, out, *shared, *(EXTENTS if symbolic else ()))
    except RaceError:
        return False
    np.testing.assert_array_equal(out, kernel.expected(a))
    return True
