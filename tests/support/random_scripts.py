"""Random valid scripts: `random_script(seed)` is the text of a function.

Loops of all kinds, blocks, predicates, lets, conditions, memory, vectors and all dtypes.
The programs are well-formed, but they are not meant to be run: indices may be anywhere.
Binary operators have no constant on the left, so that nothing folds out of range.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import TypeVar

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
IEEE = ("float16", "float32", "float64")
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")
FLOATS = (*IEEE, *NARROW)
DTYPES = (*SIGNED, *UNSIGNED, *FLOATS, "bool")
LANES = (2, 4, 8)

T = TypeVar("T")


@dataclass(frozen=True)
class Buffer:
    name: str
    dtype: str
    shape: Sequence[int]


class ScriptMaker:
    """Draws one function."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._lines: list[str] = []
        self._depth = 1
        self._count = 0
        self._variables: list[tuple[str, str]] = []
        self._outside: list[tuple[str, str]] = []
        """The variables that blocks may use: those of the function."""
        self._loops: list[tuple[str, int, bool]] = []
        self._buffers: list[Buffer] = []
        self._budget = self.number(2, 9)

    # ---- drawing and writing ----

    def pick(self, items: Sequence[T]) -> T:
        return self._rng.choice(items)

    def number(self, low: int, high: int) -> int:
        return self._rng.randint(low, high)

    def chance(self, one_in: int) -> bool:
        return self.number(1, one_in) == 1

    def fresh(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def inside(self) -> Generator[None]:
        """A body: what is defined in it ends with it."""
        before = self._variables, self._buffers, self._loops
        self._variables, self._buffers = list(self._variables), list(self._buffers)
        self._loops = list(self._loops)
        self._depth += 1
        yield
        self._depth -= 1
        self._variables, self._buffers, self._loops = before

    # ---- scalars ----

    def constant(self, dtype: str) -> str:
        if dtype == "bool":
            return self.pick(["T.bool(True)", "T.bool(False)"])
        if dtype in IEEE:
            values = ("0.0", "-0.0", "1.0", "0.1", "-2.5", '"inf"', '"nan"', "1e-05")
            return f"T.{dtype}({self.pick(values)})"
        if dtype in FLOATS:
            return f"T.{dtype}({self.pick(('0.0', '1.0', '-1.5'))})"
        value = self.number(0 if dtype in UNSIGNED else -3, 9)
        is_plain = dtype == "int32" and not self.chance(3)
        return str(value) if is_plain else f"T.{dtype}({value})"

    def variable(self, dtype: str) -> str:
        """What is no constant: a variable, a load, or a cast of one."""
        names = [name for name, known in self._variables if known == dtype]
        names += [self.load(each) for each in self._buffers if each.dtype == dtype]
        if names and not self.chance(6):
            return self.pick(names)
        if dtype == "bool":
            return f"({self.variable('int32')} < {self.constant('int32')})"
        return f'T.Cast("{dtype}", {self.load(self.pick(self._buffers))})'

    def load(self, buffer: Buffer) -> str:
        return f"{buffer.name}[{self.indices(buffer)}]"

    def indices(self, buffer: Buffer) -> str:
        return ", ".join(self.index() for _ in buffer.shape) or "()"

    def index(self) -> str:
        names = [name for name, dtype in self._variables if dtype == "int32"]
        match self.number(0, 3):
            case 0:
                return str(self.number(0, 7))
            case 1:
                return f"T.int64({self.number(0, 7)})"
            case 2:
                return self.pick(names)
            case _:
                operator = self.pick(["+", "-", "*", "//", "%"])
                return f"{self.pick(names)} {operator} {self.number(1, 5)}"

    def scalar(self, dtype: str, depth: int) -> str:
        if depth == 0 or self.chance(4):
            return self.constant(dtype) if self.chance(3) else self.variable(dtype)
        match self.number(0, 5):
            case 0:
                return f'T.Cast("{dtype}", {self.scalar(self.pick(DTYPES), depth - 1)})'
            case 1:
                condition = self.scalar("bool", depth - 1)
                name = self.pick(["T.Select", "T.if_then_else"])
                left = self.variable(dtype)
                return f"{name}({condition}, {left}, {self.scalar(dtype, depth - 1)})"
            case 2 if self.chance(2):
                name = self.fresh("w")
                self.line(f"{name} = T.{self.pick(SIGNED + IEEE)}()")
                value_dtype = self._lines[-1].split("T.")[1][:-2]
                value = self.scalar(value_dtype, depth - 1)
                body = f'T.Cast("{dtype}", {name})'
                return f"T.Let({body}, where={{{name}: {value}}})"
            case _:
                return self.operation(dtype, depth)

    def operation(self, dtype: str, depth: int) -> str:
        left, right = self.variable(dtype), self.scalar(dtype, depth - 1)
        if dtype == "bool":
            return self.truth(depth)
        if dtype in FLOATS:
            if dtype in IEEE and self.chance(3):
                return f"T.{self.pick(['exp', 'sqrt', 'tanh', 'floor', 'fabs'])}({left})"
            operator = self.pick(["+", "-", "*", "/", "min", "max"])
            if operator == "/":
                right = f"T.{dtype}({self.pick(('1.0', '-1.5', '0.5'))})"
        else:
            operator = self.pick(
                ["+", "-", "*", "//", "%", "min", "max", "T.Div", "T.Mod", "T.Add"]
                + ["T.FloorDiv", "T.bitwise_and", "T.bitwise_xor", "T.shift_left"]
            )
            if operator in ("//", "%", "T.Div", "T.Mod", "T.FloorDiv", "T.shift_left"):
                right = f"T.{dtype}({self.number(1, 5)})"
        if operator in ("min", "max"):
            return f"T.{operator}({left}, {right})"
        if operator.startswith("T."):
            return f"{operator}({left}, {right})"
        return f"({left} {operator} {right})"

    def truth(self, depth: int) -> str:
        match self.number(0, 3):
            case 0:
                return f"(not {self.scalar('bool', depth - 1)})"
            case 1:
                left, right = self.variable("bool"), self.scalar("bool", depth - 1)
                return f"({left} {self.pick(['and', 'or'])} {right})"
            case _:
                dtype = self.pick(DTYPES[:-1])
                operator = self.pick(["<", "<=", ">", ">=", "==", "!="])
                right = self.scalar(dtype, depth - 1)
                return f"({self.variable(dtype)} {operator} {right})"

    # ---- vectors ----

    def vector(self, dtype: str, lanes: int, depth: int) -> str:
        if depth == 0 or self.chance(3):
            wide = [each for each in self._buffers if each.dtype == dtype and each.shape]
            if wide and not self.chance(4):
                buffer = self.pick(wide)
                return f"{buffer.name}[{self.lanes(buffer, lanes)}]"
            if dtype in SIGNED and self.chance(2):
                base = self.variable(dtype)
                return f"T.Ramp({base}, T.{dtype}({self.number(1, 3)}), {lanes})"
            return f"T.Broadcast({self.variable(dtype)}, {lanes})"
        match self.number(0, 3):
            case 0:
                source = self.vector(self.pick(DTYPES[:-1]), lanes, depth - 1)
                name = "uint1" if dtype == "bool" else dtype
                return f'T.Cast("{name}x{lanes}", {source})'
            case 1:
                condition = self.mask(lanes, depth - 1)
                left, right = (self.vector(dtype, lanes, 0) for _ in range(2))
                return f"T.Select({condition}, {left}, {right})"
            case 2:
                one, other = (self.vector(dtype, lanes, 0) for _ in range(2))
                order = ", ".join(
                    str(self.number(0, 2 * lanes - 1)) for _ in range(lanes)
                )
                return f"T.Shuffle([{one}, {other}], [{order}])"
            case _:
                left = self.vector(dtype, lanes, depth - 1)
                operator = self.pick(["+", "*", "-"])
                if dtype == "bool":
                    operator = "and"
                return f"({left} {operator} {self.vector(dtype, lanes, 0)})"

    def mask(self, lanes: int, depth: int) -> str:
        dtype = self.pick(DTYPES[:-1])
        left, right = (self.vector(dtype, lanes, depth and depth - 1) for _ in range(2))
        return f"({left} {self.pick(['<', '>=', '=='])} {right})"

    def lanes(self, buffer: Buffer, lanes: int) -> str:
        """Indices of a row of elements."""
        start = self.index()
        last = self.pick(
            [f"({start}):({start}) + {lanes}", f"T.Ramp({start}, 2, {lanes})"]
        )
        if "int64" in start:
            last = f"T.Ramp({start}, T.int64(1), {lanes})"
        return ", ".join([*(self.index() for _ in buffer.shape[1:]), last])

    # ---- statements ----

    def body(self, depth: int) -> None:
        for _ in range(self.number(1, 3)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        self._budget -= 1
        kinds = [self.store, self.store, self.vector_store, self.let, self.evaluate]
        if depth and self._budget > 0:
            nested = [self.loop, self.loop, self.nest, self.nest, self.condition]
            kinds += [*nested, self.scope, self.memory, self.attribute, self.while_]
            self.pick(kinds)(depth - 1)
        else:
            self.pick(kinds)(0)

    def store(self, depth: int) -> None:
        buffer = self.pick(self._buffers)
        value = self.scalar(buffer.dtype, 3)
        self.line(f"{buffer.name}[{self.indices(buffer)}] = {value}")

    def vector_store(self, depth: int) -> None:
        buffer = self.pick([each for each in self._buffers if each.shape])
        lanes = self.pick(LANES)
        value = self.vector(buffer.dtype, lanes, 2)
        if self.chance(3):
            before = "".join(f"{self.index()}, " for _ in buffer.shape[1:])
            place = f"[{before}T.Ramp({self.number(0, 4)}, 1, {lanes})]"
            mask = self.mask(lanes, 1)
            self.line(f"{buffer.name}.vstore({place}, {value}, predicate={mask})")
        else:
            self.line(f"{buffer.name}[{self.lanes(buffer, lanes)}] = {value}")

    def let(self, depth: int) -> None:
        dtype = self.pick(DTYPES)
        value = self.scalar(dtype, 2)
        name = self.fresh("x")
        if self.chance(3):
            self.line(f"with T.LetStmt({value}) as {name}:")
            with self.inside():
                self._variables.append((name, dtype))
                self.body(depth)
            return
        self.line(f"{name}: T.{dtype} = {value}")
        self._variables.append((name, dtype))

    def evaluate(self, depth: int) -> None:
        if self.chance(2):
            value = self.scalar(self.pick(DTYPES), 2)
            self.line(f"T.evaluate({value})")
        else:
            names = ", ".join(self.scalar(self.pick(DTYPES), 1) for _ in range(2))
            self.line(f'T.evaluate(T.call_extern("int32", "f", {names}))')

    def header(self) -> tuple[str, int, bool]:
        """A loop: its text, its extent, and whether it starts at 0 and is serial."""
        extent = self.pick([1, 2, 4, 8])
        start = self.pick([0, 0, 1])
        bounds = f"{start}, {start + extent}" if start else str(extent)
        if self.chance(4):
            notes = self.pick(['{"note": 1}', '{"a": [1, 2], "b": {"c": "d"}}'])
            bounds += f", annotations={notes}"
            name = self.pick(["T.serial", "T.unroll", "T.parallel", "T.vectorized"])
        else:
            name = self.pick(["range", "range", "T.serial", "T.unroll", "T.parallel"])
        return f"{name}({bounds})", extent, start == 0

    def loop(self, depth: int) -> None:
        text, extent, from_zero = self.header()
        name = self.fresh("i")
        self.line(f"for {name} in {text}:")
        with self.inside():
            self._variables.append((name, "int32"))
            self._loops.append((name, extent, from_zero))
            self.body(depth)

    def nest(self, depth: int) -> None:
        """A block in a grid of loops."""
        extents = [self.pick([1, 2, 4]) for _ in range(self.number(1, 3))]
        names = [self.fresh("i") for _ in extents]
        self.line(f"for {', '.join(names)} in T.grid({', '.join(map(str, extents))}):")
        with self.inside():
            self.line(f'with T.block("{self.pick(["", "B", "update"])}"):')
            with self.inside():
                self.block(names, extents, depth)

    def block(self, names: list[str], extents: list[int], depth: int) -> None:
        axes = [self.fresh("v") for _ in names]
        kinds = [self.pick("SSR") for _ in names]
        if self.chance(2):
            bound = ", ".join(names)
            text = f'T.axis.remap("{"".join(kinds)}", [{bound}])'
            self.line(f"{', '.join(axes)} = {text}")
        else:
            for axis, kind, name, extent in zip(axes, kinds, names, extents, strict=True):
                shift = self.number(0, 2)
                dom = f"({shift}, {shift + extent})" if shift else str(extent)
                word = {"S": "spatial", "R": "reduce"}[kind]
                self.line(f"{axis} = T.axis.{word}({dom}, {name} + {shift})")
        if self.chance(3):
            self.line(f"T.where({names[0]} * 3 < {self.number(1, 9)})")
        self._variables = [*self._outside, *((axis, "int32") for axis in axes)]
        if self.chance(2):
            for side in ("reads", "writes"):
                regions = ", ".join(self.region() for _ in range(self.number(0, 2)))
                self.line(f"T.{side}({regions})")
        if self.chance(3):
            self.line('T.block_attr({"note": 1, "names": ["a", "b"]})')
        if self.chance(3):
            self.allocate()
        if "R" in kinds and self.chance(2):
            self.line("with T.init():")
            with self.inside():
                self.store(0)
        self.body(depth)

    def region(self) -> str:
        buffer = self.pick(self._buffers)
        parts = [
            self.pick([self.index(), f"0:{extent}", f"{self.number(0, 1)}:2"])
            for extent in buffer.shape
        ]
        return f"{buffer.name}[{', '.join(parts) or '()'}]"

    def allocate(self) -> None:
        shape = [8] * self.number(1, 2)
        dtype, scope = self.pick(DTYPES), self.pick(["local", "shared", "global"])
        name = self.fresh("M")
        text = ", ".join(map(str, shape))
        self.line(f'{name} = T.alloc_buffer(({text},), "{dtype}", scope="{scope}")')
        self._buffers.append(Buffer(name, dtype, shape))

    def condition(self, depth: int) -> None:
        self.line(f"if {self.scalar('bool', 2)}:")
        with self.inside():
            self.body(depth)
        if self.chance(2):
            self.line("else:")
            with self.inside():
                self.body(depth)

    def while_(self, depth: int) -> None:
        self.line(f"while {self.variable('int32')} < {self.variable('int32')}:")
        with self.inside():
            self.body(depth)

    def scope(self, depth: int) -> None:
        self.line(f'with T.Assert({self.scalar("bool", 1)}, "holds"):')
        with self.inside():
            self.body(depth)

    def attribute(self, depth: int) -> None:
        node, value = self.pick(["0", '"node"', "n"]), self.pick(["1", '"text"', "n + 1"])
        self.line(f'with T.attr({node}, "pragma_key", {value}):')
        with self.inside():
            self.body(depth)

    def memory(self, depth: int) -> None:
        dtype = self.pick(DTYPES)
        pointer, name = self.fresh("p"), self.fresh("P")
        declare = self.pick(["decl_buffer", "Buffer"])
        if self.chance(2):
            self.line(f'{pointer} = T.allocate([8], "{dtype}", "local")')
            self.line(
                f'{name} = T.{declare}((8,), "{dtype}", data={pointer}, scope="local")'
            )
        else:
            self.line(f'{name} = T.decl_buffer((8,), "{dtype}", scope="local")')
        self._buffers.append(Buffer(name, dtype, (8,)))

    # ---- the function ----

    def text(self) -> str:
        params = ["n: T.int32"]
        self._variables = [("n", "int32")]
        for _ in range(self.number(1, 4)):
            name, dtype = self.fresh("A"), self.pick(DTYPES)
            shape = [8] * self.number(1, 3)
            text = ", ".join(map(str, shape))
            params.append(f'{name}: T.Buffer(({text},), "{dtype}")')
            self._buffers.append(Buffer(name, dtype, shape))
        if self.chance(2):
            dtype = self.pick(DTYPES)
            params.append(f"s: T.{dtype}")
            self._variables.append(("s", dtype))
        self._outside = list(self._variables)
        for _ in range(self.number(1, 4)):
            self.statement(4)
        header = f"@T.prim_func\ndef main({', '.join(params)}):\n"
        return header + "\n".join(self._lines) + "\n"


def random_script(seed: int) -> str:
    """The text of a function that can be read."""
    return ScriptMaker(Random(seed)).text()
