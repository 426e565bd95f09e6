"""What `R` has besides operators: leaves, output, and the builder's calls.

Each function is called while a script is read and adds to the function that is built.
The calls are those of `xdsl_tvm.relax.vocabulary`: here are the conversions of what
scripts write for their arguments. Keywords have the names of TVM v0.20; those of newer
TVM are accepted as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax.signatures import Device
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.relax.expr import Computed, Expr, Var
from xdsl_tvm.relax.vocabulary import CALLS, Call, Parameter
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_attributes import relax_attributes
from xdsl_tvm.tvmscript.nodes.relax_types import (
    annotated_type,
    dim_of,
    dims_of,
    known_dtype,
)
from xdsl_tvm.tvmscript.reading.relax_values import (
    DtypeLeaf,
    Extern,
    FunctionBuilder,
    Text,
    prim,
    shape,
)

_NOT_GIVEN = object()

# ---- leaves ----


def str_(value: str) -> Text:
    """A string, as an argument."""
    if not isinstance(cast(object, value), str):
        raise ScriptTypeError(f"R.str takes a string, not a {type(value).__name__}")
    return Text(value)


def dtype(value: object) -> DtypeLeaf:
    """A dtype, as an argument."""
    found = known_dtype(value)
    if found is None:
        raise ScriptTypeError('R.dtype needs a known dtype, such as "float32"')
    return DtypeLeaf(found)


def tuple_(*fields: object) -> tuple[object, ...]:
    """Several values in one."""
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        return tuple(cast("Sequence[object]", fields[0]))
    return fields


def extern_func(name: str) -> Extern:
    """A function of the runtime."""
    return Extern(_text("R.ExternFunc", name))


_DEVICE_TYPES = {
    "cpu": 1,
    "cuda": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "rocm": 10,
    "webgpu": 15,
    "hexagon": 16,
}
"""Numbers of DLPack."""


def device(
    dev_type: object = None,
    dev_id: object = 0,
    *,
    device_type: object = None,
    index: object = 0,
) -> Device:
    """A device of the runtime, such as `R.device("cuda", 1)`.

    Its type is a name or the number of DLPack. Newer TVM calls the arguments
    `device_type` and `index`.
    """
    kind = device_type if dev_type is None else dev_type
    if isinstance(kind, str):
        kind = _DEVICE_TYPES.get(kind)
    if kind is None:
        raise ScriptTypeError(
            f"R.device takes the number of a device type or {', '.join(_DEVICE_TYPES)}"
        )
    return Device(_integer(kind), _integer(dev_id or index))


def _device_of(kind: int) -> Callable[[object], Device]:
    def make(dev_id: object = 0) -> Device:
        """A device of one type."""
        return device(kind, dev_id)

    return make


# ---- statements ----


def func_attr(attrs: Mapping[str, object]) -> None:
    """Attributes of the function. Raises ScriptTypeError for one that is given twice."""
    builder = FunctionBuilder.current()
    for key, value in attrs.items():
        if key in builder.attrs:
            raise ScriptTypeError(f"the attribute '{key}' is given twice")
        builder.attrs[key] = value
    if builder.attrs.get(relax.FORCE_PURE):
        builder.is_pure = False


def output(*values: object) -> NoReturn:
    """The values of a dataflow block that are visible after it; `with` reads it."""
    raise ScriptTypeError("R.output is the last statement of a dataflow block")


def match_cast(value: object, sinfo: object = _NOT_GIVEN, **newer: object) -> Var:
    """The value under a type that is checked when the program runs."""
    builder = FunctionBuilder.current()
    type_ = annotated_type(_one("R.match_cast", "sinfo", sinfo, newer), builder.devices)
    return Var.bound("", builder.match_cast(builder.of(value), type_))


# ---- the builder's calls ----

_NEWER = {"out_sinfo": "out_ty", "sinfo_args": "ty_args", "sinfo": "ty"}
"""Keywords of newer TVM."""
_OLDER = {newer: name for name, newer in _NEWER.items()}
_TENSOR_DEVICE = Parameter("runtime_device_ind", "DeviceIndex", default=0)
"""What newer TVM has after the arguments of `alloc_tensor`: the device once more."""


@dataclass(frozen=True)
class Argument:
    """What a script writes for one parameter of a call."""

    builder: FunctionBuilder
    call: str
    name: str
    value: object


@dataclass(frozen=True)
class ScriptCall:
    """A call of the builder, by its name in `R`."""

    call: Call[...]
    more: tuple[Parameter, ...] = ()
    """Parameters that only scripts have."""

    def __repr__(self) -> str:
        return f"R.{self.call.name}"

    def __call__(self, *args: object, **named: object) -> Expr | None:
        """Adds the call; its result, if it has one.

        Raises ScriptTypeError or VerifyException for wrong arguments.
        """
        builder = FunctionBuilder.current()
        given = self._bind(args, named)
        values: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in (*self.call.parameters, *self.more):
            found = self._converted(builder, parameter, given[parameter.name])
            if parameter in self.more:
                _check_device(repr(self), values[0], found)
            elif parameter.is_keyword:
                keywords[parameter.name] = found
            elif parameter.is_variadic:
                values += cast("list[object]", found)
            else:
                values.append(found)
        result = self.call.build(builder, *values, **keywords)
        return result if isinstance(result, Var) else None

    def _bind(
        self, args: Sequence[object], named: Mapping[str, object]
    ) -> Mapping[str, object]:
        """The arguments by the names of parameters, defaults included."""
        parameters = {each.name: each for each in (*self.call.parameters, *self.more)}
        first = [each for each in parameters.values() if not each.is_keyword]
        given: dict[str, object] = {}
        if first and first[-1].is_variadic:
            variadic = first.pop()
            given[variadic.name] = args[len(first) :]
        elif len(args) > len(first):
            raise ScriptTypeError(
                f"{self!r} takes {len(first)} arguments, {len(args)} are given"
            )
        given |= {each.name: arg for each, arg in zip(first, args, strict=False)}
        for keyword, value in named.items():
            name = keyword
            if (older := _OLDER.get(keyword)) in parameters:
                name = older
            if name not in parameters or parameters[name].is_variadic:
                hint = did_you_mean(keyword, list(parameters))
                raise ScriptTypeError(f"{self!r} has no argument '{keyword}'{hint}")
            if name in given:
                raise ScriptTypeError(f"{self!r}: '{name}' is given twice")
            given[name] = value
        for name, parameter in parameters.items():
            if name not in given and parameter.is_required:
                raise ScriptTypeError(f"{self!r} needs '{name}'")
            if given.get(name) is None and not parameter.is_required:
                given[name] = parameter.default
        return given

    def _converted(
        self, builder: FunctionBuilder, parameter: Parameter, value: object
    ) -> object:
        if value is None and not parameter.is_required:
            return None
        if parameter.is_variadic:
            return list(cast("Sequence[object]", value))
        convert = CONVERSIONS[parameter.kind]
        return convert(Argument(builder, repr(self), parameter.name, value))


def assert_op(
    condition: object, *values: object, format_args: object = (), format: object = ""
) -> None:
    """Stop the program unless the condition holds; `format_args` names the values."""
    values = (*values, *_listed(() if format_args is None else format_args))
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = tuple(cast("Sequence[object]", values[0]))
    ScriptCall(CALLS["assert_op"])(condition, values, format)


# ---- what scripts write for arguments ----


def _one(what: str, name: str, value: object, newer: Mapping[str, object]) -> object:
    """The argument, under whichever name it is given."""
    others = dict(newer)
    other = others.pop(_NEWER[name], _NOT_GIVEN)
    if others:
        raise ScriptTypeError(f"{what} has no argument '{next(iter(others))}'")
    if value is _NOT_GIVEN:
        value = other
    elif other is not _NOT_GIVEN:
        raise ScriptTypeError(f"{what}: '{name}' is given twice")
    if value is _NOT_GIVEN:
        raise ScriptTypeError(f"{what} needs '{name}'")
    return value


def _listed(value: object) -> Sequence[object]:
    """The items of a list, or the only one."""
    if isinstance(value, list | tuple):
        return cast("Sequence[object]", value)
    return (value,)


def _given(argument: Argument) -> object:
    return argument.value


def _values(argument: Argument) -> Sequence[object]:
    """The arguments of a call that has them as a tuple, or a single one.

    The fields of a tuple that is a value are taken from it.
    """
    value = argument.value
    if not isinstance(value, Var) or not isinstance(value.struct_info, relax.TupleType):
        return _listed(value)
    owner = value.ssa.owner
    if isinstance(owner, relax.TupleOp):
        return [Var.bound("", element) for element in owner.elements]
    return list(value)


def _expr(argument: Argument) -> Expr:
    value = argument.value
    return value if isinstance(value, Expr) else Var.bound("", argument.builder.of(value))


def _types(argument: Argument) -> list[Attribute]:
    devices = argument.builder.devices
    return [annotated_type(item, devices) for item in _listed(argument.value)]


def _outputs(argument: Argument) -> Attribute:
    """The result of a call that writes tensors: one, or a tuple of a list of them."""
    types = _types(argument)
    # A list of one is that one: only R.Tuple makes a tuple of one tensor.
    return types[0] if len(types) == 1 else relax.TupleType.of(types)


def _types_or_nothing(argument: Argument) -> list[Attribute] | None:
    """An empty tuple is nothing (docs/spec/relax-ir.md §4.1)."""
    types = _types(argument)
    return None if types == [relax.VOID] else types


def _function(argument: Argument) -> GlobalVar:
    if isinstance(argument.value, ex.GlobalVar):
        return GlobalVar(argument.value.name)
    raise ScriptTypeError(
        f"{argument.call} calls a function of the module, as in cls.f, not "
        f"{_described(argument.value)}"
    )


def _extern(argument: Argument) -> str:
    if isinstance(argument.value, Extern):
        return argument.value.symbol
    if isinstance(argument.value, str):
        return argument.value
    raise ScriptTypeError(
        f"{argument.call} calls a function of the runtime by its name, not "
        f"{_described(argument.value)}"
    )


def _described(value: object) -> str:
    return "a value" if isinstance(value, Expr) else f"a {type(value).__name__}"


def _string(argument: Argument) -> str:
    return _text(f"{argument.call}: '{argument.name}'", argument.value)


def _text(what: str, value: object) -> str:
    if isinstance(value, Text):
        return value.text
    if isinstance(value, str):
        return value
    raise ScriptTypeError(f"{what} must be a string, not {_described(value)}")


def _device_index(argument: Argument) -> int:
    return _integer(argument.value)


def _integer(value: object) -> int:
    found = value.struct_info if isinstance(value, Expr) else dim_of(value)
    dim = found.dim if isinstance(found, relax.PrimType) else found
    number = dim.value if isinstance(dim, Dim) else None
    if number is None:
        raise ScriptTypeError("the number of a device must be an integer")
    return number


def _check_device(what: str, storage: object, device: object) -> None:
    """Newer TVM says the device of a tensor once more; 0 where it does not."""
    owner = storage.ssa.owner if isinstance(storage, Var) else None
    is_known = isinstance(owner, relax.AllocStorageOp | relax.VMAllocStorageOp)
    if device and not (is_known and owner.device_index.value.data == device):
        raise ScriptTypeError(f"{what}: the device is that of the storage")


def _dtype(argument: Argument) -> Attribute:
    value = argument.value
    found = known_dtype(value.dtype if isinstance(value, DtypeLeaf) else value)
    return found or NoneType()


def _shape(argument: Argument) -> Expr | Sequence[object]:
    value = argument.value
    return value if isinstance(value, Expr) else dims_of(value)


def _scalar(argument: Argument) -> object:
    value = argument.value
    return value if isinstance(value, Expr) else dim_of(value)


def _indices(argument: Argument) -> list[int]:
    given = _listed(argument.value)
    found = [each for each in given if isinstance(each, int)]
    if len(found) < len(given):
        raise ScriptTypeError(
            f"{argument.call}: {argument.name} must be a list of integers"
        )
    return found


def _dims(argument: Argument) -> Sequence[Dim]:
    value = argument.value
    if isinstance(value, Computed) and isinstance(value.op, relax.ShapeOp):
        return value.op.values.known or ()
    return [dim for dim in dims_of(value) if dim is not None]


def _annotations(argument: Argument) -> Mapping[str, Attribute]:
    return relax_attributes(cast("Mapping[str, object]", argument.value))


CONVERSIONS: Mapping[str, Callable[[Argument], object]] = {
    "Annotations": _annotations,
    "DeviceIndex": _device_index,
    "Dims": _dims,
    "DtypeLike": _dtype,
    "Expr": _expr,
    "Extern": _extern,
    "GlobalVar": _function,
    "Indices": _indices,
    "Outputs": _outputs,
    "Returned": _types,
    "ReturnedOrNothing": _types_or_nothing,
    "Scalar": _scalar,
    "Shape": _shape,
    "Value": _given,
    "Values": _values,
    "float": _given,
    "str": _string,
}
"""By the kinds of parameters, see `xdsl_tvm.relax.vocabulary`."""


# ---- the table ----

_CALLS = {name: ScriptCall(call) for name, call in CALLS.items()}
for _name in ("memory.alloc_tensor", "vm.alloc_tensor"):
    _CALLS[_name] = replace(_CALLS[_name], more=(_TENSOR_DEVICE,))

FUNCTIONS: Mapping[str, Callable[..., object]] = {
    **_CALLS,
    "shape": shape,
    "prim_value": prim,
    "str": str_,
    "dtype": dtype,
    "tuple": tuple_,
    "ExternFunc": extern_func,
    "device": device,
    **{name: _device_of(number) for name, number in _DEVICE_TYPES.items()},
    "func_attr": func_attr,
    "output": output,
    "match_cast": match_cast,
    "assert_op": assert_op,
}
"""What `R` has besides operators, by name."""
