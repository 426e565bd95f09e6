"""Random Relax programs with function literals."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

T = "tensor<4xf32>"
C = "!relax.prim<i1>"
F = f"!relax.func<({T}) -> {T}>"
MAKER = f"!relax.func<({T}) -> {F}>"
TAKER = f"!relax.func<({F}, {T}) -> {T}>"
_OPERATORS = ("add", "subtract", "maximum", "minimum")


@dataclass
class _Scope:
    """The values that are visible, by type."""

    values: dict[str, list[str]]

    def inner(self) -> _Scope:
        return _Scope({kind: list(names) for kind, names in self.values.items()})


@dataclass
class RandomLambdas:
    """A module of a function of a bool and two tensors, made from a seed.

    Its literals are nested, capture values and functions, take and return functions, call
    themselves and are chosen between; types are in `T`, `C`, `F`, `MAKER` and `TAKER`.
    """

    seed: int
    lines: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._count = 0

    def text(self) -> str:
        """The text of the module."""
        scope = _Scope({T: ["%x", "%y"], C: ["%c"], F: [], MAKER: [], TAKER: []})
        result = self._body(scope, 0, T)
        return "\n".join(
            (
                f"relax.func @main(%c: {C}, %x: {T}, %y: {T}) -> {T} "
                'attributes {global_symbol = "main"} {',
                *self.lines,
                f"relax.return {result} : {T}",
                "}",
            )
        )

    def _new(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _emit(self, scope: _Scope, kind: str, line: str) -> str:
        name = self._new()
        self.lines.append(f"{name} = {line}")
        scope.values[kind].append(name)
        return name

    def _body(self, scope: _Scope, depth: int, result: str) -> str:
        for _ in range(self._rng.randrange(2, 6)):
            self._statement(scope, depth)
        if result == F and (not scope.values[F] or self._rng.random() < 0.7):
            return self._literal(scope, depth + 1, F)
        return self._pick(scope, result)

    def _pick(self, scope: _Scope, kind: str) -> str:
        return self._rng.choice(scope.values[kind])

    def _statement(self, scope: _Scope, depth: int) -> None:
        choice = self._rng.random()
        if choice < 0.3:
            name = self._rng.choice(_OPERATORS)
            a, b = self._pick(scope, T), self._pick(scope, T)
            self._emit(scope, T, f"relax.{name} {a}, {b} : ({T}, {T}) -> {T}")
        elif choice < 0.6 and depth < 3:
            self._literal(scope, depth + 1, self._rng.choice((F, F, MAKER, TAKER)))
        elif choice < 0.7 and len(scope.values[F]) > 1:
            self._choose(scope)
        else:
            self._call(scope)

    def _call(self, scope: _Scope) -> None:
        callable_ = [kind for kind in (F, MAKER, TAKER) if scope.values[kind]]
        if not callable_ or (callable_ == [TAKER] and not scope.values[F]):
            return
        kind = self._rng.choice(callable_)
        if kind == TAKER and not scope.values[F]:
            return
        callee, x = self._pick(scope, kind), self._pick(scope, T)
        if kind == TAKER:
            f = self._pick(scope, F)
            line = f"relax.call_indirect {callee}({f}, {x}) : {kind}, ({F}, {T}) -> {T}"
        else:
            result = T if kind == F else F
            line = f"relax.call_indirect {callee}({x}) : {kind}, ({T}) -> {result}"
        self._emit(scope, F if kind == MAKER else T, line)

    def _choose(self, scope: _Scope) -> None:
        condition = self._pick(scope, C)
        name = self._new()
        self.lines.append(f"{name} = relax.if {condition} : {C} -> {F} {{")
        self.lines.append(f"relax.yield {self._pick(scope, F)} : {F}")
        self.lines.append("} else {")
        self.lines.append(f"relax.yield {self._pick(scope, F)} : {F}")
        self.lines.append("}")
        scope.values[F].append(name)

    def _literal(self, scope: _Scope, depth: int, kind: str) -> str:
        if kind == F and self._rng.random() < 0.2:
            return self._recursive(scope)
        name, x = self._new(), self._new()
        inner = scope.inner()
        inner.values[T].append(x)
        params = f"{x}: {T}"
        if kind == TAKER:
            f = self._new()
            inner.values[F].append(f)
            params = f"{f}: {F}, {params}"
        result = F if kind == MAKER else T
        named = self._rng.choice(("", ' "f"', ' "g"'))
        self.lines.append(f"{name} = relax.lambda{named}({params}) -> {result} {{")
        value = self._body(inner, depth, result)
        self.lines += [f"relax.return {value} : {result}", "}"]
        scope.values[kind].append(name)
        return name

    def _recursive(self, scope: _Scope) -> str:
        """A function of a tensor that calls one which calls itself once."""
        outer, name, own, c, x, y = (self._new() for _ in range(6))
        kind = f"!relax.func<({C}, {T}) -> {T}>"
        inner, again, no, end = (self._new() for _ in range(4))
        captured = self._pick(scope, T)
        condition = self._pick(scope, C)
        self.lines += [
            f"{outer} = relax.lambda({x}: {T}) -> {T} {{",
            f"{name} = relax.lambda recursive {own}({c}: {C}, {y}: {T}) -> {T} {{",
            f"{inner} = relax.if {c} : {C} -> {T} {{",
            f"{no} = relax.prim_value 0 : i1",
            f"{again} = relax.call_indirect {own}({no}, {y}) : {kind}, "
            f"(!relax.prim<i1, 0>, {T}) -> {T}",
            f"relax.yield {again} : {T}",
            "} else {",
            f"{end} = relax.add {y}, {captured} : ({T}, {T}) -> {T}",
            f"relax.yield {end} : {T}",
            "}",
            f"relax.return {inner} : {T}",
            "}",
            f"{(r := self._new())} = relax.call_indirect {name}({condition}, {x}) : "
            f"{kind}, ({C}, {T}) -> {T}",
            f"relax.return {r} : {T}",
            "}",
        ]
        scope.values[F].append(outer)
        return outer
