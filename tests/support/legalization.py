"""Operators in functions of their own, legalized and run before and after.

An operand is written as in `relax_rules.type_of`, and is then a parameter of the
function; or it is a shape `[n, 4]`, a scalar `i64(n)` or `= 2.5 : f32`, a constant
`const 2.5 : f32`, or a tuple of operands.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser

from support.relax_rules import type_of
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.legalize_ops import LegalizeOps
from xdsl_tvm.registry import new_context

Operand: TypeAlias = "str | tuple[Operand, ...]"

SYMBOLS = {"n": 3, "m": 2}
"""Values of the symbolic dimensions."""


@dataclass(frozen=True)
class Case:
    """An operator on operands of certain types."""

    build: type[relax.OperatorOp]
    """The class of the operator, called like its constructor."""
    operands: tuple[Operand, ...]
    attributes: Mapping[str, Any]
    ranges: tuple[tuple[float, float], ...]
    """What the numbers of each parameter are between, the last pair for the rest."""
    tolerance: float | None

    def __str__(self) -> str:
        given = ", ".join([*map(str, self.operands), *map(str, self.attributes.values())])
        return f"{self.build.name.removeprefix('relax.')}({given})"

    def module(self) -> ModuleOp:
        """The function `main` that returns what the operator returns."""
        return ModuleOp([self.function("main")])

    def function(self, name: str) -> relax.FuncOp:
        """A public function that returns what the operator returns."""
        builder = _Builder()
        construct: Callable[..., object] = self.build
        values = [builder.value(each) for each in self.operands]
        op = construct(*values, **self.attributes)
        assert isinstance(op, relax.OperatorOp)
        return builder.function(name, op)

    def inputs(self) -> tuple[Any, ...]:
        """Random arguments of the function."""
        rng = np.random.default_rng(0)
        func, last = self.function("main"), len(self.ranges) - 1
        return tuple(
            _random(arg.type, self.ranges[min(position, last)], rng)
            for position, arg in enumerate(func.args)
        )

    def check(self) -> None:
        """Compare what is computed before and after; no operator must be left."""
        module = self.module()
        module.verify()
        legalize = _Completely()
        report = check_semantics(
            module, [legalize], {"main": [self.inputs()]}, tolerance=self.tolerance
        )
        assert report.checked == ["main"], report.skipped


class _Completely(LegalizeOps):
    """Legalizes, and leaves no operator but those that lowering knows."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        super().apply(ctx, op)
        left = [each for each in op.walk() if isinstance(each, relax.OperatorOp)]
        assert all(isinstance(each, relax.TensorToShapeOp) for each in left), left


def case(
    build: type[relax.OperatorOp],
    *operands: Operand,
    ranges: tuple[tuple[float, float], ...] = ((-2, 2),),
    tolerance: float | None = None,
    **attributes: Any,
) -> Case:
    """One row of a table."""
    return Case(build, operands, attributes, ranges, tolerance)


def one_dtype_each(cases: Iterable[Case]) -> list[Case]:
    """In the long run all cases; else, of those that differ in dtypes only, one.

    Different rows of a table take different ones.
    """
    if "XDSL_TVM_FUZZ" in os.environ:
        return [*cases]
    alike = defaultdict[str, list[Case]](list)
    for each in cases:
        alike[_DTYPE.sub("", str(each))].append(each)
    return [same[number % len(same)] for number, same in enumerate(alike.values())]


_DTYPE = re.compile(r"\b(bool|(bf|f|i|u)\d+)\b")


class _Builder:
    """Makes operands, and the function around them."""

    def __init__(self) -> None:
        self.block = Block()

    def value(self, operand: Operand) -> SSAValue:
        if isinstance(operand, tuple):
            return self._emit(relax.TupleOp([self.value(each) for each in operand]))
        if operand.startswith("["):
            shape = type_of(operand)
            assert isinstance(shape, relax.ShapeType)
            assert shape.known is not None
            return self._emit(relax.ShapeOp(shape.known))
        if operand.startswith("="):
            return self._parse(f"relax.prim_value {operand[1:]}")
        if operand.startswith("const"):
            literal, _, dtype = operand.removeprefix("const").rpartition(":")
            return self._parse(f"relax.constant dense<{literal}> : tensor<{dtype}>")
        type_ = type_of(operand)
        if isinstance(type_, relax.PrimType) and type_.dim is not None:
            return self._emit(relax.PrimValueOp(type_.dim, type_.dtype))
        return self.block.insert_arg(type_, len(self.block.args))

    def _parse(self, text: str) -> SSAValue:
        return self._emit(Parser(new_context(), f"%0 = {text}").parse_op())

    def _emit(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def function(self, name: str, op: relax.OperatorOp) -> relax.FuncOp:
        self.block.add_op(op)
        self.block.add_op(relax.ReturnOp(op.result))
        # A symbol is defined by a parameter that has it as a bare dimension.
        self.block.insert_arg(type_of("f32[n, m]"), len(self.block.args))
        types = [arg.type for arg in self.block.args]
        body = Region(self.block)
        attributes = {"global_symbol": StringAttr(name)}
        return relax.FuncOp(name, types, op.result.type, body, attributes=attributes)


def _random(type_: Attribute, limits: tuple[float, float], rng: Any) -> Any:
    """A value of the type with numbers between the limits, both included."""
    if isinstance(type_, relax.TupleType):
        return tuple(_random(field, limits, rng) for field in type_.fields.data)
    if isinstance(type_, relax.PrimType):
        return _numbers(type_.dtype, (1,), limits, rng)[0].item()
    info = TensorInfo.of(type_)
    assert info is not None
    assert info.shape is not None
    assert info.dtype is not None
    shape = tuple(dim.evaluate(SYMBOLS) for dim in info.shape)
    return _numbers(info.dtype, shape, limits, rng)


def _numbers(
    dtype: Attribute, shape: tuple[int, ...], limits: tuple[float, float], rng: Any
) -> Any:
    element = number(dtype)
    low, high = limits
    if tir.is_bool(dtype):
        return np.asarray(rng.integers(0, 2, shape), np.bool_)
    if element.is_float:
        return np.asarray(rng.uniform(low, high, shape)).astype(element.storage)
    low, high = max(element.low, low), min(element.high, high)
    return np.asarray(rng.integers(int(low), int(high) + 1, shape)).astype(
        element.storage
    )
