"""Random programs of the host that call packed functions."""

from __future__ import annotations

import random
from typing import Final

_ARRAY: Final = (
    "T.tvm_stack_make_array(a, T.tvm_stack_make_shape({shape}, dtype='handle'), "
    "{strides}, T.uint32({rank}), T.float32(0), {offset}, dtype='handle')"
)
_MEMORY: Final = (("global", 300), ("global", 16), ("local", 4))
"""Scopes and extents: workspaces of the runtime, and memory on the stack."""


class _Program:
    def __init__(self, seed: int, arrays: bool) -> None:
        self._random = random.Random(seed)
        self._arrays = arrays
        self._lines: list[str] = []
        self._integers = ["n"]
        self._names = 0

    def text(self) -> str:
        """The body of a function of `n: int32`, `x: float32`, `p: handle`, `a: ptr`."""
        self._line(0, 'T.attr("default", "device_id", 0)')
        self._statements(0, 3)
        return "\n".join(self._lines)

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _statements(self, indent: int, depth: int) -> None:
        known = len(self._integers)
        for _ in range(self._random.randint(1, 3)):
            self._statement(indent, depth)
        del self._integers[known:]

    def _statement(self, indent: int, depth: int) -> None:
        kind = self._random.choice(
            ("call", "call", "call", "sum", "for", "if", "while", "memory")
            if depth
            else ("call", "sum")
        )
        match kind:
            case "call":
                self._line(indent, self._call(2))
            case "sum":
                self._line(indent, f"T.evaluate({self._integer(3)})")
            case "for":
                name = self._name("i")
                loop = self._random.choice(("T.serial", "T.parallel"))
                self._line(indent, f"for {name} in {loop}({self._random.randint(1, 3)}):")
                self._integers.append(name)
                self._statements(indent + 1, depth - 1)
                self._integers.remove(name)
            case "if":
                self._line(indent, f"if {self._integer(2)} > 0:")
                self._statements(indent + 1, depth - 1)
                if self._random.random() < 0.5:
                    self._line(indent, "else:")
                    self._statements(indent + 1, depth - 1)
            case "while":
                self._line(
                    indent, f'while T.call_packed("more", {self._integer(1)}) > 0:'
                )
                self._statements(indent + 1, depth - 1)
            case _:
                self._memory(indent)

    def _memory(self, indent: int) -> None:
        name, buffer = self._name("m"), self._name("M")
        scope, extent = self._random.choice(_MEMORY)
        self._line(indent, f'{name} = T.allocate(({extent},), "int32", "{scope}")')
        self._line(
            indent,
            f'{buffer} = T.decl_buffer(({extent},), "int32", data={name}, '
            f'scope="{scope}")',
        )
        self._line(indent, f"{buffer}[1] = {self._integer(2)}")
        self._integers.append(f"{buffer}[1]")

    def _integer(self, depth: int) -> str:
        """An `int32`; calls in one expression are siblings of each other."""
        choice = self._random.random()
        if depth == 0 or choice < 0.25:
            return self._random.choice(
                (*self._integers, str(self._random.randint(-9, 9)))
            )
        if choice < 0.6:
            return self._call(depth - 1)
        left, right = self._integer(depth - 1), self._integer(depth - 1)
        if choice < 0.85:
            return f"({left} {self._random.choice('+-')} {right})"
        condition = f"{self._integer(depth - 1)} > 0"
        return f"T.if_then_else({condition}, {left}, {right})"

    def _call(self, depth: int) -> str:
        count = self._random.randint(0, 4)
        arguments = "".join(f", {self._argument(depth)}" for _ in range(count))
        return f'T.call_packed("{self._random.choice("gh")}"{arguments})'

    def _argument(self, depth: int) -> str:
        kinds = ["integer", "integer", "small", "float", "text", "handle", "null"]
        kinds += ["array"] * 2 * self._arrays
        match self._random.choice(kinds):
            case "integer":
                return self._integer(depth)
            case "small":
                dtype = self._random.choice(("int8", "uint32", "bool", "int64"))
                return f'T.Cast("{dtype}", {self._integer(0)})'
            case "float":
                dtype = self._random.choice(("float16", "float32", "float64"))
                return f'T.Cast("{dtype}", x)'
            case "text":
                return f'"{self._random.choice(("", "some text"))}"'
            case "handle":
                return "p"
            case "null":
                return 'T.reinterpret("handle", T.uint64(0))'
            case _:
                return self._array()

    def _array(self) -> str:
        """An array on the stack of the first elements of `a`."""
        shape = [self._random.randint(1, 3) for _ in range(self._random.randint(1, 2))]
        strides = "0"
        if self._random.random() < 0.5:
            steps = ", ".join(
                "4" if i + 1 < len(shape) else "1" for i in range(len(shape))
            )
            strides = f"T.tvm_stack_make_shape({steps}, dtype='handle')"
        return _ARRAY.format(
            shape=", ".join(map(str, shape)),
            strides=strides,
            rank=len(shape),
            offset=self._random.randint(0, 3),
        )


def random_packed_calls(seed: int, arrays: bool = False) -> str:
    """The body of a random function that calls `g`, `h` and `more`.

    Its parameters are `n: int32`, `x: float32`, `p: handle` and `a`, a pointer to at
    least 16 `float32`. With `arrays`, some arguments are arrays on the stack.
    """
    return _Program(seed, arrays).text()
