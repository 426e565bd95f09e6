"""The text of generated code: lines, names of values, and intervals of integers."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Generator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_scalable,
    is_vector,
    lanes_of,
)
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.errors import (
    unsupported,
)
from xdsl_tvm.interpreters.gpu.simulator import Grid

Interval = tuple[int, int]
Lane = Callable[[Sequence[str]], str]
Handler = Callable[[Any, Operation], None]
"""Writes the code of an op with an `Emitter`."""

_MAX_NESTED_LOOPS = 16
"""CPython allows 20 nested loops; deeper ones get functions of their own."""


class Mode(Enum):
    """Which part of a program the code being written belongs to."""

    HOST = auto()
    """Code outside of kernels."""
    BLOCK = auto()
    """Code of a kernel outside of its threads: loops over blocks, shared memory."""
    THREAD = auto()
    """Code of threads, which are generators."""


@dataclass
class Program:
    """The Python source of a function, with the op of each line."""

    source: str
    ops: list[Operation | None]
    names: dict[str, Any]


@dataclass
class Settings:
    """What the code calls, and the parameters of the interpreter that it depends on."""

    module: ModuleOp
    vscale: int
    tick: Callable[[], None]
    call_func: Callable[..., Any]
    call_device: Callable[..., Any]
    call_extern: Callable[..., Any]
    call_foreign: Callable[..., Any]
    grid: Grid
    packed: Mapping[str, Callable[..., Any]]
    """What code of packed functions calls, by name."""
    together: Callable[[Any, Operation], str | None] | None = None
    """Writes, with an `Emitter`, the code that runs a launch in lockstep, and returns the
    condition that it did; None if it cannot."""
    is_exposed: Callable[[str], bool] = lambda name: False
    """Whether a symbol that external code calls is a function of the module."""
    is_given: Callable[[str], bool] = lambda name: False
    """Whether the module or the user has a function of a symbol."""

    @cached_property
    def copies(self) -> bool:
        """Whether code outside of threads may have copies in flight."""
        return any(_async_code.begins_copies(op) for op in self.module.walk())


@dataclass
class CodeWriter:
    """The lines of one translation, the names of values, and their intervals."""

    func: tir.FuncOp
    settings: Settings
    handlers: Mapping[type[Operation], Handler]
    """What writes the code of each kind of op; other ops are called as foreign ones."""
    lines: list[str] = field(default_factory=list[str])
    ops: list[Operation | None] = field(default_factory=list[Operation | None])
    names: MutableMapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    ranges: MutableMapping[SSAValue, Interval] = field(
        default_factory=dict[SSAValue, Interval]
    )
    bound: dict[Operation, str] = field(default_factory=dict[Operation, str])
    axes: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    namespace: dict[str, Any] = field(default_factory=dict[str, Any])
    device: bool = False
    """Whether threads call the function."""
    has_threads: bool = False
    mode: Mode = Mode.HOST
    unwatched: bool = False
    """Whether accesses are not noted here."""
    deferred: bool = False
    """Whether stores are asynchronous here."""
    cooperative: bool = False
    """Whether the blocks of the kernel being written synchronize with each other."""
    block_local: set[str] = field(default_factory=set[str])
    """Pointers to local memory of which each thread has its own."""
    repeated: set[str] = field(default_factory=set[str])
    """Thread axes that several loops of the kernel bind."""
    indent: int = 1
    loops: int = 0
    count: int = 0
    op: Operation | None = None
    below: MutableMapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """A text that a value, known not to be negative, is smaller than."""
    defined_by: MutableMapping[SSAValue, object] = field(
        default_factory=dict[SSAValue, object]
    )

    # ---- text ----

    def line(self, text: str) -> None:
        """Append a line that belongs to the op being translated."""
        self.lines.append(" " * self.indent + text)
        self.ops.append(self.op)

    def fresh(self, prefix: str = "t") -> str:
        """A name not used before."""
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, value: Any, prefix: str = "k") -> str:
        """The name of a Python object in the code."""
        name = self.fresh(prefix)
        self.namespace[name] = value
        return name

    def kind(self, dtype: Number) -> str:
        """The name of a dtype in the code."""
        name = f"N_{dtype.name}"
        self.namespace[name] = dtype
        return name

    def name_value(self, value: SSAValue) -> str:
        """Give a value a variable."""
        name = self.names[value] = self.fresh("v")
        return name

    def rename(self, value: SSAValue, same: SSAValue) -> None:
        """Let a value have the variable of another one."""
        self.names[value] = self[same]

    def check_iteration(self, it: tir.IterVar) -> None:
        """Check that an iteration variable of a block is in its domain."""
        self.line(
            f"check_iteration({self[it.binding]}, {self[it.min]}, {self[it.extent]})"
        )

    def define(self, value: SSAValue, expression: str) -> None:
        """Compute a value."""
        self.line(f"{self.name_value(value)} = {expression}")

    @contextmanager
    def nest(self, header: str) -> Generator[None]:
        """An indented suite below `header`."""
        self.line(header)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.indent -= 1

    @contextmanager
    def loop(self, header: str) -> Generator[None]:
        """A loop, in a function of its own where Python nests no deeper."""
        outer = self.loops
        if outer < _MAX_NESTED_LOOPS:
            self.loops += 1
            with self.nest(header):
                yield
            self.loops = outer
            return
        name = self.fresh("nested")
        self.loops = 1
        with self.nest(f"def {name}():"):
            with self.nest(header):
                yield
            self.line("return GO_ON")
            if self.mode is Mode.THREAD:
                self.line("yield")
        self.loops = outer
        self.line(
            f"{name}_result = {'yield from ' if self.mode is Mode.THREAD else ''}{name}()"
        )
        with self.nest(f"if {name}_result is not GO_ON:"):
            self.line(f"return {name}_result")

    def block(self, block: Block) -> None:
        """Translate the ops of a block."""
        outer = self.op
        for op in block.ops:
            self.statement(op)
        self.op = outer

    def statement(self, op: Operation) -> None:
        """Translate an op."""
        self.op = op
        self.handlers.get(type(op), self.handlers[Operation])(cast(Any, self), op)

    # ---- values ----

    def __getitem__(self, value: SSAValue) -> str:
        name = self.names.get(value)
        if name is not None:
            return name
        owner = value.owner
        assert isinstance(owner, Operation)
        if isinstance(owner, tir.ShapeVarOp):
            raise unsupported(
                owner,
                "no buffer binds the variable before it is used",
                "match a buffer that has it as an extent, stride or offset",
            )
        raise unsupported(owner, "its value is not an expression", "do not use it here")

    def mixed(self, value: int | SSAValue) -> str:
        """An extent or a stride as a Python atom."""
        return str(value) if isinstance(value, int) else self[value]

    def lanes(self, dtype: Attribute) -> int:
        """The lanes of a dtype, `vscale` taken into account."""
        return lanes_of(dtype) * (self.settings.vscale if is_scalable(dtype) else 1)

    def interval(self, value: SSAValue) -> Interval:
        """Bounds of an integer, both inclusive."""
        known = self.ranges.get(value)
        if known is not None:
            return known
        dtype = number(element_of(value.type))
        return dtype.low, dtype.high

    def literal_interval(self, text: int | SSAValue) -> Interval:
        """Bounds of an extent."""
        return (text, text) if isinstance(text, int) else self.interval(text)

    def map_lanes(
        self, result: SSAValue, operands: Sequence[SSAValue], lane: Lane
    ) -> None:
        """Compute a value from values, lane by lane if it is a vector."""
        texts = [self[operand] for operand in operands]
        if not is_vector(result.type):
            self.define(result, lane(texts))
            return
        ours = [f"x{i}" for i in range(len(texts))]
        vectors = [
            text if is_vector(operand.type) else f"[{text}] * {self.lanes(result.type)}"
            for text, operand in zip(texts, operands, strict=True)
        ]
        self.define(
            result,
            f"[{lane(ours)} for {', '.join(ours)}, in zip({', '.join(vectors)})]",
        )

    def wrapped(self, dtype: Number, text: str) -> str:
        """The integer `text` modulo 2^bits."""
        if dtype.is_bool:
            return f"bool(({text}) & 1)"
        if dtype.low == 0:
            return f"({text}) & {dtype.high}"
        return f"(({text}) + {-dtype.low} & {dtype.high - dtype.low}) - {-dtype.low}"
