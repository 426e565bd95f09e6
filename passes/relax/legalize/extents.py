"""Arithmetic on dimensions and indices that leaves nothing to compute for numbers."""

from __future__ import annotations

from xdsl_tvm.passes.relax.legalize.tensor_expression import Dim, Expr, TensorProgram


def plus(program: TensorProgram, a: Dim, b: Dim) -> Dim:
    """`a + b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if b == 0:
        return a
    return program.at_entry(lambda: program.extent(a) + b)


def minus(program: TensorProgram, a: Dim, b: Dim) -> Dim:
    """`a - b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if b == 0:
        return a
    return program.at_entry(lambda: program.extent(a) - b)


def times(program: TensorProgram, a: Dim, b: Dim) -> Dim:
    """`a * b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if b == 1:
        return a
    return program.at_entry(lambda: program.extent(a) * b)


def quotient(program: TensorProgram, a: Dim, b: Dim) -> Dim:
    """`a // b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1:
        return a
    return program.at_entry(lambda: program.extent(a) // b)


def at_least(program: TensorProgram, a: Dim, b: int) -> Dim:
    """`max(a, b)`."""
    return max(a, b) if isinstance(a, int) else program.at_entry(lambda: a.maximum(b))


def moved(program: TensorProgram, index: Expr, scale: Dim, offset: Dim = 0) -> Expr:
    """`index * scale + offset`."""
    if scale != 1:
        index = index * program.extent(scale)
    if isinstance(offset, Expr) or offset > 0:
        return index + program.extent(offset)
    return index - program.extent(-offset) if offset < 0 else index
