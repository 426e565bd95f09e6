"""Random dataflow blocks: operators, names, views, tuples, calls and closures.

Shapes broadcast with one another, so that many operators could write over an operand;
names, tuples, views and functions that return what they are given make most of it wrong.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_TENSORS = {
    "4": "tensor<4xf32>",
    "1x4": "tensor<1x4xf32>",
    "3x4": "tensor<3x4xf32>",
    "2x2": "tensor<2x2xf32>",
    "n": "tensor<?xf32, #relax.dims<[n]>>",
}
_BROADCAST = {"4": ("4", "1x4", "3x4"), "1x4": ("4", "1x4", "3x4"), "3x4": ("4", "1x4")}
_OPERATORS = ("relax.add", "relax.subtract", "relax.multiply")


def random_dataflow(seed: int) -> str:
    """The text of a module whose function `main` holds a random dataflow block."""
    writer = _Writer(random.Random(seed))
    for _ in range(writer.rng.randrange(6, 22)):
        writer.bind()
    return writer.module()


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    tensors: list[tuple[str, str]] = field(
        default_factory=lambda: [("%x", "4"), ("%y", "3x4"), ("%v", "n"), ("%e", "4")]
    )
    tuples: list[tuple[str, list[str]]] = field(
        default_factory=list[tuple[str, list[str]]]
    )
    closures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """With the shape of what they return."""
    functions: dict[str, str] = field(default_factory=dict[str, str])

    def module(self) -> str:
        outputs = [self.pick() for _ in range(self.rng.randrange(1, 4))]
        types = ", ".join(_TENSORS[shape] for _, shape in outputs)
        results = ", ".join(f"%o{index}" for index in range(len(outputs)))
        body = "\n".join(self.lines)
        return (
            f"relax.func @main<n>(%x: {_TENSORS['4']}, %y: {_TENSORS['3x4']}, "
            f"%v: {_TENSORS['n']}) -> !relax.tuple<{types}> "
            'attributes {global_symbol = "main"} {\n'
            f"%e = relax.add %x, %x : ({_TENSORS['4']}, {_TENSORS['4']}) -> "
            f"{_TENSORS['4']}\n%flat = relax.shape [4]\n%square = relax.shape [2, 2]\n"
            f"{results} = relax.dataflow -> ({types}) {{\n{body}\n"
            f"relax.output {', '.join(name for name, _ in outputs)} : {types}\n}}\n"
            f"%whole = relax.tuple({results}) : {types}\n"
            f"relax.return %whole : !relax.tuple<{types}>\n}}\n"
            + "".join(self.functions.values())
        )

    def pick(self, shape: str | None = None) -> tuple[str, str]:
        """A tensor; what was bound last is used most, as in models."""
        fitting = [each for each in self.tensors if shape in (None, each[1])]
        recent = fitting[-3:] if self.rng.random() < 0.7 else fitting
        return self.rng.choice(recent)

    def new(self, text: str, shape: str) -> None:
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.tensors.append((name, shape))

    def bind(self) -> None:
        """Write one binding."""
        kinds = [self.operator] * 8 + [self.relu] * 3 + [self.name, self.view] * 2
        kinds += [self.tuple, self.field, self.call, self.capture, self.invoke]
        self.rng.choice([*kinds, self.constant])()

    def operator(self) -> None:
        a, shape = self.pick()
        others = [
            each for each in self.tensors if each[1] in _BROADCAST.get(shape, shape)
        ]
        b, other = self.rng.choice(others[-4:])
        result = max(shape, other, key=lambda each: ("x" in each, each))
        operator = self.rng.choice(_OPERATORS)
        if self.rng.random() < 0.5:
            a, shape, b, other = b, other, a, shape
        types = f"({_TENSORS[shape]}, {_TENSORS[other]}) -> {_TENSORS[result]}"
        self.new(f"{operator} {a}, {b} : {types}", result)

    def relu(self) -> None:
        a, shape = self.pick()
        self.new(f"relax.nn.relu {a} : ({_TENSORS[shape]}) -> {_TENSORS[shape]}", shape)

    def name(self) -> None:
        a, shape = self.pick()
        op = self.rng.choice(("alias", "match_cast"))
        self.new(f"relax.{op} {a} : {_TENSORS[shape]} -> {_TENSORS[shape]}", shape)

    def view(self) -> None:
        a, shape = self.pick(self.rng.choice(("4", "3x4")))
        new, dims = self.rng.choice((("4", "%flat"), ("2x2", "%square")))
        extents = "[4]" if new == "4" else "[2, 2]"
        self.new(
            f"relax.memory.view {a} shape {dims} : !relax.shape<{extents}> : "
            f"{_TENSORS[shape]} -> {_TENSORS[new]}",
            new,
        )

    def tuple(self) -> None:
        parts = [self.pick() for _ in range(2)]
        types = ", ".join(_TENSORS[shape] for _, shape in parts)
        name = f"%{len(self.lines)}"
        names = ", ".join(part for part, _ in parts)
        self.lines.append(f"{name} = relax.tuple({names}) : {types}")
        self.tuples.append((name, [shape for _, shape in parts]))

    def field(self) -> None:
        if not self.tuples:
            return
        name, shapes = self.rng.choice(self.tuples)
        index = self.rng.randrange(len(shapes))
        whole = f"!relax.tuple<{', '.join(_TENSORS[shape] for shape in shapes)}>"
        shape = shapes[index]
        text = f"relax.get_item {name}[{index}] : {whole} -> {_TENSORS[shape]}"
        self.new(text, shape)

    def call(self) -> None:
        """A function that returns its argument."""
        a, shape = self.pick()
        type_ = _TENSORS[shape]
        self.new(f"relax.call @{self.identity(shape)}({a}) : ({type_}) -> {type_}", shape)

    def identity(self, shape: str) -> str:
        symbols = "<n>" if shape == "n" else ""
        type_ = _TENSORS[shape]
        self.functions[shape] = (
            f"relax.func @same{shape}{symbols}(%a: {type_}) -> {type_} {{\n"
            f"relax.return %a : {type_}\n}}\n"
        )
        return f"same{shape}"

    def capture(self) -> None:
        a, shape = self.pick()
        name = f"%{len(self.lines)}"
        self.lines.append(
            f"{name} = relax.make_closure @{self.identity(shape)}({a}) : "
            f"({_TENSORS[shape]}) -> !relax.object"
        )
        self.closures.append((name, shape))

    def invoke(self) -> None:
        if self.closures:
            name, shape = self.rng.choice(self.closures)
            type_ = f"!relax.object, () -> {_TENSORS[shape]}"
            self.new(f"relax.invoke_pure_closure {name}() : {type_}", shape)

    def constant(self) -> None:
        self.new(f"relax.constant dense<-1.5> : {_TENSORS['4']}", "4")
