"""How operators are called from Python: TVM's parameter names and defaults.

The class of an operator states them, as `OperatorOp.SIGNATURE` (docs/spec/relax-ops.md
§1-§13). This module collects them in one table, which the builder and TVMScript read.
`OPERATORS["nn.conv2d"]` makes the operation of a call, and tells the arguments that an
operation was made of:

    op = OPERATORS["reshape"].make([x, (2, -1)], {}, insert)
    OPERATORS["reshape"].arguments(op)     # {"x": x, "shape": value}

Operands are SSA values. A shape, a scalar or a tuple may be given as plain Python, too:
the operation that makes it is handed to `insert`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, SupportsIndex, TypeAlias, cast, get_args

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    UnitAttr,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.call_arguments import Device as Device
from xdsl_tvm.dialects.relax.call_arguments import Insert as Insert
from xdsl_tvm.dialects.relax.call_arguments import as_list, as_value
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim, Dimension, are_dims
from xdsl_tvm.dialects.tir.index_map import IndexFunction, IndexMapAttr
from xdsl_tvm.dialects.tir.types import parse_dtype

Kind: TypeAlias = Literal[
    "value",  # a tensor, or whatever value the operator takes
    "shape",  # a shape, or its dimensions
    "prim",  # a scalar, or a number
    "prims",  # a tuple of scalars, or their list
    "tensors",  # a tuple of tensors, or their list
    "int",
    "ints",
    "float",
    "floats",
    "bool",
    "str",
    "dtype",
    "map",
    "vdevice",
]
OPERAND_KINDS = frozenset(("value", "shape", "prim", "prims", "tensors"))
"""Kinds of the parameters that are operands; the others are attributes."""

_NEGATIONS = {
    "center": "no_center",
    "in_group": "all_groups",
    "largest": "smallest",
    "scale": "no_scale",
    "training": "inference",
}
"""Flags that are on by default: the property that says that they are off."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operator."""

    name: str
    kind: Kind
    is_required: bool
    default: object = None
    may_be_none: bool = False
    """Whether None is an argument of its own, not another word for the default."""

    @property
    def takes_none(self) -> bool:
        """Whether the operator can be without it."""
        return self.may_be_none or self.default is None

    @property
    def is_operand(self) -> bool:
        """Whether the argument is a value of the program, not an attribute."""
        return self.kind in OPERAND_KINDS


@dataclass(frozen=True)
class Signature:
    """How one operator is called."""

    name: str
    """TVM's name without `relax.`."""
    op_class: type[OperatorOp]
    parameters: tuple[Parameter, ...]

    def bind(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> dict[str, object]:
        """The argument of every parameter, by name and in order, defaults included.

        Raises VerifyException for arguments that are missing, unknown or given twice.
        """
        names = [parameter.name for parameter in self.parameters]
        if len(args) > len(names):
            raise self._error(f"takes {len(names)} arguments, {len(args)} are given")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise self._error(f"there is no parameter '{name}' in {self}")
            if name in given:
                raise self._error(f"the argument '{name}' is given twice")
            given[name] = value
        for parameter in self.parameters:
            if parameter.name not in given and parameter.is_required:
                raise self._error(f"the argument '{parameter.name}' is missing")
        return {p.name: given.get(p.name, p.default) for p in self.parameters}

    def make(
        self, args: Sequence[object], kwargs: Mapping[str, object], insert: Insert
    ) -> OperatorOp:
        """The operation of a call, its result type inferred.

        The operation is not inserted; what it needs that is given as plain Python (a
        shape, a scalar, a tuple, a number to fill with) goes through `insert` first.
        Raises VerifyException for arguments that do not fit.
        """
        bound = self.bind(args, kwargs)
        if self.name in _ATTENTION:
            name = _ATTENTION[0 if bound["bias"] is None else 1]
            return OPERATORS[name].construct(bound, insert)
        self.op_class.complete_arguments(bound, insert)
        return self.construct(bound, insert)

    def construct(self, bound: Mapping[str, object], insert: Insert) -> OperatorOp:
        """The operation of arguments that are all there, by name.

        Raises VerifyException for arguments that do not fit.
        """
        # The constructors of the operators take the same parameters in the same order.
        values = [self._convert(p, bound[p.name], insert) for p in self._constructed]
        return cast("Callable[..., OperatorOp]", self.op_class)(*values)

    @property
    def _constructed(self) -> Sequence[Parameter]:
        """The parameters of the operation, which another one may have more of."""
        if self.name != _ATTENTION[0]:
            return self.parameters
        return [p for p in self.parameters if p.name != "bias"]

    def __getitem__(self, name: str) -> Parameter:
        """The parameter of that name; KeyError if there is none."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)

    def _convert(self, parameter: Parameter, value: object, insert: Insert) -> object:
        if value is None:
            if parameter.is_required:
                raise self._error(f"the argument '{parameter.name}' cannot be None")
            if parameter.takes_none:
                return None
            value = parameter.default
        converted = _CONVERSIONS[parameter.kind](value, insert)
        may_be_void = parameter.kind == "dtype" and not parameter.is_required
        if converted is None and not may_be_void:
            raise self._error(
                f"the argument '{parameter.name}' must be "
                f"{_DESCRIPTIONS[parameter.kind]}, not {value!r}"
            )
        return converted

    def _error(self, reason: str) -> VerifyException:
        return VerifyException(f"relax.{self.name}: {reason}")

    def arguments(self, op: Operation) -> dict[str, object]:
        """What the operation was made of, by parameter, in order.

        Operands are SSA values, attributes plain Python, except dtypes, maps and devices,
        which stay attributes; what is absent is None, or the dtype `none` where None
        would be another default.
        """
        names = self.operand_names
        parameters = self._constructed
        # Most operands have other names than the parameters, and the same order.
        taken = {parameter.name for parameter in parameters}
        others = iter([name for name in names if name not in taken])
        result: dict[str, object] = {}
        for parameter in parameters:
            if parameter.is_operand:
                name = parameter.name if parameter.name in names else next(others)
                result[parameter.name] = getattr(op, name)
            else:
                result[parameter.name] = _attribute_argument(op, parameter)
        return result

    @property
    def operand_names(self) -> list[str]:
        """The operands as the operation's class calls them, in order."""
        return [name for name, _ in self.op_class.get_irdl_definition().operands]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_parameter_text, self.parameters))})"


def _parameter_text(parameter: Parameter) -> str:
    if parameter.is_required:
        return parameter.name
    return f"{parameter.name}={parameter.default!r}"


def _attribute_argument(op: Operation, parameter: Parameter) -> object:
    properties = op.properties
    if parameter.kind == "bool":
        negation = _NEGATIONS.get(parameter.name)
        if negation is not None:
            return negation not in properties
        return isinstance(properties.get(parameter.name), UnitAttr)
    if parameter.name == "indices_or_sections":
        return _plain(properties.get("sections") or properties["indices"])
    attribute = properties.get(parameter.name)
    if attribute is None and parameter.kind == "dtype" and parameter.default is not None:
        return NoneType()
    return _plain(attribute)


def _plain(attribute: Attribute | None) -> object:
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, DenseArrayBase):
        return list(attribute.get_values())
    if isa(attribute, ArrayAttr[FloatAttr]):
        return [number.value.data for number in attribute]
    return attribute


# ---- from Python to what constructors take; None says that a value does not fit ----


def _value(value: object, insert: Insert) -> SSAValue | None:
    return as_value(value)


def _shape(value: object, insert: Insert) -> SSAValue | None:
    if (given := as_value(value)) is not None:
        return given
    dims = as_list(value)
    if dims is None or not are_dims(dims):
        return None
    try:
        return insert(relax.ShapeOp(dims))
    except ValueError:  # a name that no symbol can have
        return None


def _prim(value: object, insert: Insert) -> SSAValue | None:
    """An `i1` of a bool, an `i64` of other integers, an `f32` of a float, as TVM's."""
    match value:
        case bool():
            return insert(relax.PrimValueOp(int(value), i1))
        case int() | Dim() | Dimension():
            return insert(relax.PrimValueOp(value))
        case float():
            return insert(relax.PrimValueOp(FloatAttr(value, f32)))
        case _:
            return as_value(value)


def _tuple(element: Callable[[object, Insert], SSAValue | None]) -> _Conversion:
    def convert(value: object, insert: Insert) -> SSAValue | None:
        if (given := as_list(value)) is None:
            return as_value(value)
        elements = [e for v in given if (e := element(v, insert)) is not None]
        if len(elements) != len(given):
            return None
        return insert(relax.TupleOp(elements))

    return convert


def _int(value: object, insert: Insert) -> int | None:
    if isinstance(value, Dim):
        return value.value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return value.__index__()
    return None


def _ints(value: object, insert: Insert) -> int | list[int] | None:
    if (given := as_list(value)) is None:
        return _int(value, insert)
    numbers = [n for v in given if (n := _int(v, insert)) is not None]
    return numbers if len(numbers) == len(given) else None


def _float(value: object, insert: Insert) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _floats(value: object, insert: Insert) -> list[float] | None:
    given = as_list(value) or []
    numbers = [n for v in given if (n := _float(v, insert)) is not None]
    return numbers if given and len(numbers) == len(given) else None


def _bool(value: object, insert: Insert) -> bool | None:
    return bool(value) if isinstance(value, int) else None


def _str(value: object, insert: Insert) -> str | None:
    return value if isinstance(value, str) else None


def dtype_of(value: object) -> Attribute | None:
    """The type of a dtype given as TVM's name or as the type itself; `void` is None.

    Raises VerifyException for an unknown name and for anything else.
    """
    if isinstance(value, str):
        try:
            value = parse_dtype(value)
        except ValueError as error:
            raise VerifyException(str(error)) from None
    if not isinstance(value, Attribute):
        raise VerifyException(f"a dtype is a name as 'float32' or a type, not {value!r}")
    return None if isinstance(value, NoneType) else value


def _dtype(value: object, insert: Insert) -> Attribute | None:
    return dtype_of(value)


def _map(value: object, insert: Insert) -> IndexMapAttr | None:
    if not callable(value) or isinstance(value, IndexMapAttr):
        return value if isinstance(value, IndexMapAttr) else None
    try:
        return IndexMapAttr.of(cast("IndexFunction", value))
    except (TypeError, ValueError) as error:
        raise VerifyException(f"relax.layout_transform: index_map: {error}") from None


def _vdevice(value: object, insert: Insert) -> VDeviceAttr | None:
    if isinstance(value, str):
        target, _, rest = value.partition(":")
        index, _, scope = rest.partition(":")
        try:
            return VDeviceAttr.of(target, int(index or 0), scope or "global")
        except ValueError:
            return None
    return value if isinstance(value, VDeviceAttr) else None


_Conversion: TypeAlias = Callable[[object, Insert], object]
_CONVERSIONS: Mapping[Kind, _Conversion] = {
    "value": _value,
    "shape": _shape,
    "prim": _prim,
    "prims": _tuple(_prim),
    "tensors": _tuple(_value),
    "int": _int,
    "ints": _ints,
    "float": _float,
    "floats": _floats,
    "bool": _bool,
    "str": _str,
    "dtype": _dtype,
    "map": _map,
    "vdevice": _vdevice,
}
_DESCRIPTIONS: Mapping[Kind, str] = {
    "value": "a value",
    "shape": "a shape or a list of dimensions",
    "prim": "a scalar or a number",
    "prims": "a tuple of scalars or a list of numbers",
    "tensors": "a tuple or a list of tensors",
    "int": "an integer",
    "ints": "an integer or a list of integers",
    "float": "a number",
    "floats": "a list of numbers",
    "bool": "a bool",
    "str": "a string",
    "dtype": "a dtype",
    "map": "an index map",
    "vdevice": "a virtual device",
}


_ATTENTION = "nn.attention", "nn.attention_bias"
"""One function of Python, without and with a bias."""


# ---- from the classes of the operators ----


@cache
def _parameters(text: str) -> tuple[Parameter, ...]:
    return tuple(_parsed_parameters(text))


def _parsed_parameters(text: str) -> Iterator[Parameter]:
    function = ast.parse(f"def f({text}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    required = len(arguments.args) - len(arguments.defaults)
    for index, argument in enumerate(arguments.args):
        annotation = argument.annotation
        may_be_none = isinstance(annotation, ast.BinOp)
        if isinstance(annotation, ast.BinOp):
            annotation = annotation.left
        kind = annotation.id if isinstance(annotation, ast.Name) else "value"
        assert kind in get_args(Kind)
        is_required, default = index < required, None
        if not is_required:
            default = ast.literal_eval(arguments.defaults[index - required])
        name = argument.arg
        yield Parameter(name, cast("Kind", kind), is_required, default, may_be_none)


def _signatures() -> Iterator[Signature]:
    for op in relax.Relax.operations:
        # Where `issubclass` fails, it asks all subclasses of a class that is abstract.
        if OperatorOp in op.__mro__:
            op_class = cast("type[OperatorOp]", op)
            name = op.name.removeprefix("relax.")
            yield Signature(name, op_class, _parameters(op_class.SIGNATURE))


OPERATORS: Mapping[str, Signature] = {
    signature.name: signature
    for signature in sorted(_signatures(), key=lambda signature: signature.name)
}
"""The signatures by TVM's names without `relax.`, in alphabetical order."""
