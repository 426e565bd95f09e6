"""Tables of result types of relax operators: short types, rows, and what a row checks.

A row says what an operator returns for operands of certain types: a type or an error. It
is checked through the constructor and the verifier, and the operation must survive
being printed and read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from xdsl_tvm.dialects import relax
from xdsl_tvm.registry import new_context

CUDA = '#relax.vdevice<"cuda", 0, "global">'
LLVM = '#relax.vdevice<"llvm", 0, "global">'
ANY_DEVICE = '#relax.vdevice<any, 0, "global">'


@cache
def _context() -> Context:
    return new_context()


@cache
def type_of(text: str) -> Attribute:
    """A type; short forms are `f32[n, 4]`, `f32[?, 4]`, `f32[*]`, `any[4]` for tensors.

    `i64(n)` and `i64()` are scalars, `[n, 4]` is a shape.
    """
    if text.startswith("["):
        text = f"!relax.shape<{text}>"
    if not text.startswith(("!", "tensor")):
        if (bracket := text.find("[")) > 0:
            return _tensor(text[:bracket], text[bracket:])
        if text.endswith(")"):
            dtype, _, value = text[:-1].partition("(")
            text = f"!relax.prim<{dtype}, {value}>" if value else f"!relax.prim<{dtype}>"
    return Parser(_context(), text).parse_type()


def value_of(text: str) -> SSAValue:
    """A value of a type that `type_of` reads."""
    return create_ssa_value(type_of(text))


def _tensor(dtype: str, dims: str) -> Attribute:
    element = "!relax.any" if dtype == "any" else dtype
    if dims == "[*]":
        return Parser(_context(), f"tensor<*x{element}>").parse_type()
    shape = Parser(_context(), f"!relax.shape<{dims}>").parse_type()
    assert isinstance(shape, relax.ShapeType)
    info = relax.TensorInfo.of(Parser(_context(), f"tensor<{element}>").parse_type())
    assert info is not None
    return info.with_dims(shape.values).type


def tuple_of(*fields: str) -> str:
    """The text of a tuple of types, each in long or short form."""
    return str(relax.TupleType.of(type_of(field) for field in fields))


def placed(dims: str, device: str, dtype: str = "f32") -> str:
    """The text of a tensor on a device, `placed("[n, 4]", CUDA)`."""
    info = relax.TensorInfo.of(type_of(f"{dtype}{dims}"))
    assert info is not None
    vdevice = Parser(_context(), device).parse_attribute()
    assert isinstance(vdevice, relax.VDeviceAttr)
    return str(relax.TensorInfo(info.dims, info.dtype, vdevice))


def check_rule(infer: Callable[[], Attribute], expected: str) -> None:
    """Check that a rule gives a type, or `error: ` and the text of an exception."""
    if expected.startswith("error: "):
        with pytest.raises(VerifyException) as raised:
            infer()
        assert str(raised.value) == expected.removeprefix("error: ")
    else:
        assert infer() == type_of(expected)


def _operand(text: str) -> Operation:
    """A value of a type; after `=`, the scalar `= 2.5 : f32`."""
    if text.startswith("="):
        parser = Parser(_context(), f"%0 = relax.prim_value {text[1:]}")
        return parser.parse_op()
    return TestOp(result_types=[type_of(text)])


def _generic(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


@dataclass(frozen=True)
class Row:
    """What an operator returns for operands of certain types, and its attributes."""

    build: type[relax.OperatorOp]
    """The class of the operator, called like its constructor."""
    operands: tuple[str, ...]
    expected: str
    """A type, or `error: ` and what follows the operator's name."""
    attributes: dict[str, object]

    @property
    def name(self) -> str:
        """Name of the operator."""
        return self.build.name

    def __str__(self) -> str:
        given = ", ".join([*self.operands, *map(str, self.attributes.values())])
        return f"{self.name.removeprefix('relax.')}({given})"

    def check(self) -> None:
        """Compare; constructor and verifier agree, what is printed reads as the same."""
        if self.expected.startswith("error: "):
            self._check_error(f"{self.name}: {self.expected.removeprefix('error: ')}")
            return
        module, op = self._module()
        assert op.result.type == type_of(self.expected), str(op.result.type)
        module.verify()
        _check_round_trip(module)

    def _module(self, **more: object) -> tuple[ModuleOp, relax.OperatorOp]:
        values = [_operand(text) for text in self.operands]
        # Each class has a constructor of its own.
        construct: Callable[..., object] = self.build
        op = construct(*map(SSAValue.get, values), **self.attributes, **more)
        assert isinstance(op, relax.OperatorOp)
        return ModuleOp([*values, op]), op

    def _check_error(self, message: str) -> None:
        with pytest.raises(VerifyException) as raised:
            self._module()
        assert str(raised.value) == message
        module, _ = self._module(result_type=relax.OBJECT)
        with pytest.raises(VerifyException) as raised:
            module.verify()
        assert message in str(raised.value)


def row(
    build: type[relax.OperatorOp],
    *operands: str,
    gives: str,
    **attributes: object,
) -> Row:
    """One row of a table."""
    return Row(build, operands, gives, attributes)


def uncovered(names: Iterable[str], rows: Iterable[Row]) -> set[str]:
    """The operators that no row gives a type for."""
    given = {row.name for row in rows if not row.expected.startswith("error: ")}
    return {f"relax.{name}" for name in names} - given


def _check_round_trip(module: ModuleOp) -> None:
    generic = _generic(module)
    for text in (str(module), generic):
        read = Parser(_context(), text).parse_module()
        read.verify()
        assert _generic(read) == generic
