"""Random modules of Relax: functions that call each other, shapes, tuples and effects.

Every function is one that the interpreter can run: `main` is public, takes a condition
and tensors, and holds bindings of all kinds that passes look at; some are written twice,
some are not needed, some give a value another name. Names of symbols are those of one
function only.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from support.ir import parse

Value: TypeAlias = tuple[str, str]
"""Name and type of a value that is written."""

T = "tensor<4xf32>"
V = "tensor<?xf32, #relax.dims<[n]>>"
M = "tensor<4x4xf32>"
U = "tensor<?xf32>"
_TENSORS = (T, V, M)
_SCALE = """
tir.func @scale(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %zero = tir.const 0 : i64
  tir.for %i = %zero to %n {
    tir.block "scale" (%v : S in [%zero to %n] = %i) {
      tir.reads %A[%v]
      tir.writes %B[%v]
      %x = tir.load %A[%v] : f32
      %half = tir.const 0.5 : f32
      %y = tir.mul %x, %half : f32
      tir.store %y, %B[%v] : f32
    }
  }
}
"""


def _double(array: Any) -> Any:
    return array + array


def _mark(array: Any) -> Any:
    return np.array(array)


EXTERNS: dict[str, Callable[..., Any]] = {"my.double": _double, "my.mark": _mark}
"""What the programs call by name: a pure function, and one that counts as impure."""


def random_relax_module(seed: int, *, impure: bool = True) -> ModuleOp:
    """The module of `seed`, without calls with effects unless `impure`."""
    return parse(random_relax_text(seed, impure=impure))


def random_relax_text(seed: int, *, impure: bool = True) -> str:
    """The text of `random_relax_module`."""
    rng = random.Random(seed)
    callees: list[_Callee] = []
    text = _SCALE
    for number in range(rng.randrange(3)):
        callee = _Callee(
            f"f{number}", _types(rng, 3), rng.choice((T, V, M, f"!relax.tuple<{T}, {M}>"))
        )
        text += _function(rng, callee, list(callees), "", False)
        callees.append(callee)
    is_impure = impure and rng.random() < 0.5
    main = _Callee("main", ["tensor<i1>", T, V, M, U], rng.choice(_TENSORS))
    public = ' attributes {global_symbol = "main"}'
    return text + _function(rng, main, callees, public, is_impure)


@dataclass
class _Callee:
    name: str
    params: list[str]
    result: str


def _types(rng: random.Random, most: int) -> list[str]:
    kinds = (*_TENSORS, f"!relax.tuple<{T}, {V}>", "!relax.shape<[n, 4]>")
    # The first defines the symbol.
    return [V, *(rng.choice(kinds) for _ in range(rng.randrange(most)))]


def _function(
    rng: random.Random, func: _Callee, callees: list[_Callee], tail: str, impure: bool
) -> str:
    writer = _Writer(rng, callees, impure)
    params = [(f"%p{index}", type_) for index, type_ in enumerate(func.params)]
    visible = list(params)
    writer.block(2 if func.name == "main" else 1, visible, False)
    if func.result.startswith("!relax.tuple"):
        fields = [writer.pick(visible, type_) for type_ in (T, M)]
        result = writer.tuple_of(visible, fields)
    else:
        result = writer.pick(visible, func.result)
    declared = ", ".join(f"{name}: {type_}" for name, type_ in params)
    body = "\n".join(writer.lines)
    return (
        f"relax.func {'impure ' if impure else ''}@{func.name}<n>({declared}) -> "
        f"{func.result}{tail} {{\n{body}\nrelax.return {result[0]} : {func.result}\n}}\n"
    )


@dataclass
class _Writer:
    rng: random.Random
    callees: list[_Callee]
    impure: bool
    lines: list[str] = field(default_factory=list[str])
    count: int = 0
    written: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Bindings that may be written again, with the types of their results."""

    def block(self, depth: int, visible: list[Value], in_dataflow: bool) -> None:
        """Write bindings that see, and add to, the values of `visible`."""
        plain = [self.binary, self.binary, self.unary, self.again, self.again, self.alias]
        plain += [self.tuple, self.field, self.constant, self.cast, self.transpose]
        plain += [self.call, self.call_tir, self.packed, self.shape]
        for _ in range(self.rng.randint(3, 9)):
            chance = self.rng.random()
            if in_dataflow or not depth or chance < 0.75:
                self.rng.choice(plain)(visible)
            elif chance < 0.9:
                self.dataflow(depth, visible)
            elif chance < 0.96 and any(type_ == "tensor<i1>" for _, type_ in visible):
                self.branches(depth, visible)
            elif self.impure:
                self.mark(visible)

    def pick(self, visible: list[Value], *types: str) -> Value:
        """A value of one of the types, new if there is none."""
        found = [value for value in visible if value[1] in (types or _TENSORS)]
        if not found:
            type_ = types[0] if types else T
            if type_ == "!relax.shape<[n, 4]>":
                return self.bind("relax.shape [n, 4]", type_, visible)
            if type_.startswith("!relax.tuple"):
                fields = [self.pick(visible, T), self.pick(visible, V)]
                return self.tuple_of(visible, fields)
            if type_ == V:
                text = "relax.shape [n]"
                shape = self.bind(text, "!relax.shape<[n]>", visible)[0]
                zeros = (
                    f"relax.zeros {shape} {{dtype = f32}} : (!relax.shape<[n]>) -> {V}"
                )
                return self.bind(zeros, V, visible)
            return self.bind(f"relax.constant dense<2.0> : {type_}", type_, visible)
        return self.rng.choice(found[-6:] if self.rng.random() < 0.7 else found)

    def bind(self, text: str, type_: str, visible: list[Value]) -> Value:
        """Write an operation with a result."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        visible.append((f"%v{self.count}", type_))
        return visible[-1]

    def binary(self, visible: list[Value]) -> None:
        a, type_ = self.pick(visible)
        b, _ = self.pick(visible, type_)
        op = self.rng.choice(("add", "multiply", "subtract"))
        text = f"relax.{op} {a}, {b} : ({type_}, {type_}) -> {type_}"
        self.bind(text, type_, visible)
        self.written.append((text, type_))

    def unary(self, visible: list[Value]) -> None:
        a, type_ = self.pick(visible)
        op = self.rng.choice(("nn.relu", "negative", "tanh"))
        text = f"relax.{op} {a} : ({type_}) -> {type_}"
        self.bind(text, type_, visible)
        self.written.append((text, type_))

    def again(self, visible: list[Value]) -> None:
        """The same computation as above, on values that are still visible."""
        names = {name for name, _ in visible}
        fitting = [
            each
            for each in self.written[-12:]
            if names.issuperset(re.findall(r"%\w+", each[0]))
        ]
        if fitting:
            self.bind(*self.rng.choice(fitting), visible)

    def alias(self, visible: list[Value]) -> None:
        name, type_ = self.rng.choice(visible)
        text = f"relax.alias {name} : {type_} -> {type_}"
        if type_ == V and self.rng.random() < 0.3:
            self.bind(f"relax.alias {name} : {V} -> {U}", U, visible)
        else:
            self.bind(text, type_, visible)

    def tuple_of(self, visible: list[Value], fields: list[Value]) -> Value:
        types = ", ".join(type_ for _, type_ in fields)
        names = ", ".join(name for name, _ in fields)
        text = f"relax.tuple({names}) : {types}"
        return self.bind(text, f"!relax.tuple<{types}>", visible)

    def tuple(self, visible: list[Value]) -> None:
        kinds = self.rng.choice(((T, V), (T, M)))
        self.tuple_of(visible, [self.pick(visible, type_) for type_ in kinds])

    def field(self, visible: list[Value]) -> None:
        tuples = [v for v in visible if v[1].startswith("!relax.tuple")]
        if not tuples:
            return
        name, type_ = self.rng.choice(tuples)
        index = self.rng.randrange(2)
        result = T if index == 0 else V if type_.endswith(f"{V}>") else M
        text = f"relax.get_item {name}[{index}] : {type_} -> {result}"
        self.bind(text, result, visible)
        self.written.append((text, result))

    def constant(self, visible: list[Value]) -> None:
        type_ = self.rng.choice((T, M))
        value = self.rng.choice(("1.0", "0.5"))
        self.bind(f"relax.constant dense<{value}> : {type_}", type_, visible)

    def shape(self, visible: list[Value]) -> None:
        self.bind("relax.shape [n, 4]", "!relax.shape<[n, 4]>", visible)

    def transpose(self, visible: list[Value]) -> None:
        name, _ = self.pick(visible, M)
        self.bind(f"relax.permute_dims {name} : ({M}) -> {M}", M, visible)

    def cast(self, visible: list[Value]) -> None:
        """A check that never fails, and may define a symbol."""
        name, type_ = self.pick(visible, T, V, M, U)
        if type_ in (V, U) and self.rng.random() < 0.6:
            symbol = f"k{self.count}"
            to = f"tensor<?xf32, #relax.dims<[{symbol}]>>"
            text = f"relax.match_cast {name} defines [{symbol}] : {type_} -> {to}"
            known = self.bind(text, to, visible)[0]
            visible.pop()
            text = f"relax.add {known}, {known} : ({to}, {to}) -> {to}"
            wide = self.bind(text, to, visible)[0]
            visible.pop()
            self.bind(f"relax.alias {wide} : {to} -> {U}", U, visible)
        else:
            self.bind(f"relax.match_cast {name} : {type_} -> {type_}", type_, visible)

    def call(self, visible: list[Value]) -> None:
        if not self.callees:
            return
        callee = self.rng.choice(self.callees)
        given = [self.pick(visible, type_) for type_ in callee.params]
        names = ", ".join(name for name, _ in given)
        types = ", ".join(type_ for _, type_ in given)
        text = f"relax.call @{callee.name}({names}) : ({types}) -> {callee.result}"
        self.bind(text, callee.result, visible)

    def call_tir(self, visible: list[Value]) -> None:
        name, type_ = self.pick(visible, T, V)
        text = f"relax.call_tir @scale({name}) : ({type_}) -> {type_}"
        self.bind(text, type_, visible)
        self.written.append((text, type_))

    def packed(self, visible: list[Value]) -> None:
        name, type_ = self.pick(visible)
        text = f'relax.call_pure_packed "my.double"({name}) : ({type_}) -> {type_}'
        self.bind(text, type_, visible)

    def mark(self, visible: list[Value]) -> None:
        name, type_ = self.pick(visible)
        text = f'relax.call_packed "my.mark"({name}) : ({type_}) -> {type_}'
        self.bind(text, type_, visible)

    def branches(self, depth: int, visible: list[Value]) -> None:
        condition = next(name for name, type_ in visible if type_ == "tensor<i1>")
        result = self.rng.choice(_TENSORS)
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = relax.if {condition} : tensor<i1> -> {result} {{")
        for last in ("} else {", "}"):
            inner = list(visible)
            self.block(depth - 1, inner, False)
            self.lines += [
                f"relax.yield {self.pick(inner, result)[0]} : {result}",
                last,
            ]
        visible.append((name, result))

    def dataflow(self, depth: int, visible: list[Value]) -> None:
        inner, outer = list(visible), self.lines
        self.lines = []
        self.block(depth - 1, inner, True)
        outputs = [self.pick(inner) for _ in range(self.rng.randint(1, 3))]
        names = ", ".join(name for name, _ in outputs)
        types = ", ".join(type_ for _, type_ in outputs)
        body, self.lines = self.lines, outer
        results: list[Value] = []
        for _, type_ in outputs:
            self.count += 1
            results.append((f"%v{self.count}", type_))
        declared = ", ".join(name for name, _ in results)
        self.lines.append(f"{declared} = relax.dataflow -> ({types}) {{")
        self.lines += [*body, f"relax.output {names} : {types}", "}"]
        visible += results
