"""The types of Relax in scripts: what annotations say, and their text.

`R.Tensor((n, 4), "float32")` and the like are read into types of the dialect, and types
are written as such annotations (docs/spec/tvmscript.md §11). A dimension that is not
known next to one that is, which TVM has not, is None.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import update_wrapper
from itertools import count
from typing import Generic, ParamSpec, TypeAlias, cast

from xdsl.dialects.builtin import NoneAttr, NoneType, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import DimsAttr, PlacedAttr, VDeviceAttr
from xdsl_tvm.dialects.relax.symbolic import Dim, ceildiv, maximum, minimum
from xdsl_tvm.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype, dtype_of
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.printing.expressions import dtype_string, string

P = ParamSpec("P")
Devices: TypeAlias = Sequence[VDeviceAttr]
"""The virtual devices of the module, in its order."""
DimSpec: TypeAlias = "Dim | ex.Expr | int | str | None"
"""What scripts write for a dimension."""


# ---- dimensions ----

_OF_NODES: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: lambda lhs, rhs: lhs + rhs,
    ast.Sub: lambda lhs, rhs: lhs - rhs,
    ast.Mult: lambda lhs, rhs: lhs * rhs,
    ast.FloorDiv: lambda lhs, rhs: lhs // rhs,
    ast.Mod: lambda lhs, rhs: lhs % rhs,
}
_OF_EXPRESSIONS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "add": lambda lhs, rhs: lhs + rhs,
    "sub": lambda lhs, rhs: lhs - rhs,
    "mul": lambda lhs, rhs: lhs * rhs,
    "floordiv": lambda lhs, rhs: lhs // rhs,
    "floormod": lambda lhs, rhs: lhs % rhs,
    "min": minimum,
    "max": maximum,
}
_OF_CALLS: dict[str, Callable[[Dim, Dim], Dim]] = {
    **_OF_EXPRESSIONS,
    "ceildiv": ceildiv,
}


def dim_of(value: object) -> Dim:
    """A dimension: a number, an expression over variables of int64, or their text.

    Raises ScriptTypeError for anything else.
    """
    match value:
        case Dim():
            return value
        case bool():
            raise ScriptTypeError("a dimension must be an integer, not a bool")
        case int():
            return Dim.constant(value)
        case str():
            return _dim_of_text(value)
        case ex.Expr():
            return _dim_of_expression(value)
        case _:
            raise ScriptTypeError(
                f"a dimension must be an integer, not a {type(value).__name__}"
            )


def _dim_of_text(text: str) -> Dim:
    try:
        return _dim_of_node(ast.parse(text.strip(), mode="eval").body, text)
    except SyntaxError:
        raise _no_dimension(text) from None


def _no_dimension(text: str) -> ScriptTypeError:
    return ScriptTypeError(
        f"'{text}' is no dimension; write a name, or integers and names with "
        "+, -, *, //, %, T.min and T.max"
    )


def _dim_of_node(node: ast.expr, text: str) -> Dim:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Dim.constant(value)
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub()):
            return -_dim_of_node(node.operand, text)
        case ast.BinOp() if type(node.op) in _OF_NODES:
            lhs, rhs = _dim_of_node(node.left, text), _dim_of_node(node.right, text)
            return _OF_NODES[type(node.op)](lhs, rhs)
        case ast.Call(args=[first, second], keywords=[]):
            apply = _OF_CALLS.get(ast.unparse(node.func).removeprefix("T."))
            if apply is not None:
                return apply(_dim_of_node(first, text), _dim_of_node(second, text))
        case ast.Call(args=[only], keywords=[]) if ast.unparse(node.func) == "T.int64":
            return _dim_of_node(only, text)
        case _:
            pass
    raise _no_dimension(text)


def symbol(name: str) -> Dim:
    """The symbolic dimension of that name. Raises ScriptTypeError for a bad name."""
    try:
        return Dim.symbol(name)
    except ValueError as error:
        raise ScriptTypeError(str(error)) from None


def _dim_of_expression(value: ex.Expr) -> Dim:
    match value:
        case ex.IntImm():
            return Dim.constant(value.value)
        case ex.Var():
            return _dim_of_var(value)
        case ex.Binary() if value.op in _OF_EXPRESSIONS:
            lhs, rhs = _dim_of_expression(value.lhs), _dim_of_expression(value.rhs)
            return _OF_EXPRESSIONS[value.op](lhs, rhs)
        case _:
            raise ScriptTypeError(
                "a dimension is made of integers and variables with +, -, *, //, %, "
                "T.min and T.max"
            )


def _dim_of_var(var: ex.Var) -> Dim:
    if var.type != i64:
        raise ScriptTypeError(
            f"a symbolic dimension is an int64, not a {var.dtype}; write "
            f"{var.name or 'n'} = T.int64()"
        )
    if not var.name:
        if IS_READING.get():
            raise ScriptTypeError(
                "a symbolic dimension needs a name; write n = T.int64() before"
            )
        # Outside of a script nothing else names it; each variable is its own dimension.
        var.name = f"_d{next(_UNNAMED)}"
    return symbol(var.name)


IS_READING: ContextVar[bool] = ContextVar("is_reading", default=False)
"""Whether a script is being read, which gives variables their names."""
_UNNAMED = count()


_WORDS = re.compile(r"\b(floordiv|floormod|min|max)\b")
_SPELLED = {"floordiv": "//", "floormod": "%", "min": "T.min", "max": "T.max"}


def dim_text(dim: Dim | None) -> str:
    """A dimension as Python; None where it is not known."""
    if dim is None:
        return "None"
    return _WORDS.sub(lambda match: _SPELLED[match[0]], str(dim))


def quoted_dim(dim: Dim | None) -> str:
    """A dimension in a signature, where symbols are strings."""
    text = dim_text(dim)
    return text if dim is None or dim.value is not None else f'"{text}"'


# ---- reading ----


@dataclass(frozen=True)
class Annotation:
    """What an annotation says; its type depends on the devices of the module."""

    text: str
    make: Callable[[Devices], Attribute]
    parts: tuple[object, ...] = ()
    """What it holds, as the fields of a tuple."""

    def __repr__(self) -> str:
        return self.text

    def relax_type(self, devices: Devices = ()) -> Attribute:
        """The type in a module with these devices."""
        return self.make(devices)


class AnnotationFunction(Generic[P]):
    """A function of `R` that makes annotations, and is one without its arguments."""

    def __init__(self, make: Callable[P, Annotation]) -> None:
        self._make = make
        update_wrapper(self, make)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Annotation:
        return self._make(*args, **kwargs)

    def relax_type(self, devices: Devices = ()) -> Attribute:
        """The type that it stands for without arguments, as in `x: R.Tensor`."""
        return cast("Callable[[], Annotation]", self._make)().relax_type(devices)


def annotated_type(value: object, devices: Devices = ()) -> Attribute:
    """The type that the value of an annotation stands for.

    Raises ScriptTypeError for what is no annotation of Relax.
    """
    if isinstance(value, Annotation | AnnotationFunction):
        return value.relax_type(devices)
    if isinstance(value, Dtype):
        return value.relax_type()
    raise ScriptTypeError(
        f"a {type(value).__name__} annotates nothing in Relax; use R.Tensor, R.Shape, "
        "R.Prim, R.Tuple, R.Callable or R.Object"
    )


def known_dtype(dtype: object) -> Attribute | None:
    """The type of a dtype, None for an unknown one: None, `"void"` or `""`.

    Raises ScriptTypeError for what is no dtype.
    """
    if dtype is None:
        return None
    if not isinstance(dtype, str | Attribute | Dtype):
        raise ScriptTypeError(
            f'a dtype is a string such as "float32", not a {type(dtype).__name__}'
        )
    found = dtype_of(dtype)
    return None if isinstance(found, NoneType) else found


def dims_of(shape: object) -> list[Dim | None]:
    """The dimensions of a list of them. Raises ScriptTypeError for anything else."""
    if not isinstance(shape, list | tuple):
        raise ScriptTypeError(
            f"a shape is a tuple of dimensions, not a {type(shape).__name__}"
        )
    items = cast("Sequence[object]", shape)
    return [None if item is None else dim_of(item) for item in items]


def _rank(what: str, ndim: object) -> list[None] | None:
    if not isinstance(ndim, int) or isinstance(ndim, bool) or ndim < -1:
        raise ScriptTypeError(f"{what}: ndim must be an integer, at least -1, not {ndim}")
    if ndim > _MAX_RANK:
        raise ScriptTypeError(
            f"{what}: ndim is {ndim}; at most {_MAX_RANK} are supported"
        )
    return None if ndim == -1 else [None] * ndim


_MAX_RANK = 1024


@AnnotationFunction
def Tensor(
    shape: object = None,
    dtype: object = None,
    vdevice: str | VDeviceAttr | None = None,
    ndim: int = -1,
) -> Annotation:
    """A tensor: its shape or `ndim`, dtype and virtual device, as far as known."""
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    if shape is not None and ndim != -1:
        raise ScriptTypeError("R.Tensor takes a shape or ndim, not both")
    dims = _rank("R.Tensor", ndim) if shape is None else dims_of(shape)
    element = known_dtype(dtype)

    def make(devices: Devices) -> Attribute:
        return TensorStructInfo(dims, element, device_of(vdevice, devices))

    return Annotation("R.Tensor(...)", make)


@AnnotationFunction
def Shape(values: object = None, ndim: int = -1) -> Annotation:
    """A shape as a value: its dimensions or `ndim`, as far as known."""
    if values is not None and ndim != -1:
        raise ScriptTypeError("R.Shape takes values or ndim, not both")
    dims = _rank("R.Shape", ndim) if values is None else dims_of(values)
    return Annotation("R.Shape(...)", lambda devices: relax.ShapeType.of(dims))


@AnnotationFunction
def Prim(dtype: object = None, value: DimSpec = None) -> Annotation:
    """A scalar that is no tensor: its dtype, and its value where it is known."""
    element = known_dtype(dtype)
    if value is None:
        if element is None:
            raise ScriptTypeError('R.Prim needs a dtype or a value: R.Prim("int64")')
        return Annotation("R.Prim(...)", lambda devices: PrimStructInfo(element))
    if element is None:
        element = value.type if isinstance(value, ex.IntImm) else i64
    known, dim = element, dim_of(value)
    return Annotation("R.Prim(...)", lambda devices: PrimStructInfo(known, dim))


@AnnotationFunction
def Tuple(*fields: object) -> Annotation:
    """Several values in one; the types of the fields, or a list of them."""
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        fields = tuple(cast("Sequence[object]", fields[0]))

    def make(devices: Devices) -> Attribute:
        return TupleStructInfo([annotated_type(field, devices) for field in fields])

    return Annotation("R.Tuple(...)", make, fields)


@AnnotationFunction
def Function(
    params: object = None, ret: object = None, purity: bool | None = None
) -> Annotation:
    """A function as a value: types of parameters and result, and whether it is pure.

    Without `params` nothing is known of them. A function with known parameters is pure
    unless it is said not to be, another one impure.
    """
    given: Sequence[object] | None = (params,)
    if params is None or isinstance(params, list | tuple):
        given = cast("Sequence[object] | None", params)
    pure = given is not None if purity is None else purity

    def make(devices: Devices) -> Attribute:
        types = None
        if given is not None:
            types = [annotated_type(param, devices) for param in given]
        result = relax.OBJECT if ret is None else annotated_type(ret, devices)
        if given is not None and ret is None:
            raise ScriptTypeError("R.Callable with parameters needs the type it returns")
        return FuncStructInfo(types, result, pure)

    return Annotation("R.Callable(...)", make, (*(given or ()), ret))


@AnnotationFunction
def Object() -> Annotation:
    """Any value."""
    return Annotation("R.Object", lambda devices: relax.OBJECT)


# ---- virtual devices ----


def device_of(vdevice: object, devices: Devices) -> VDeviceAttr | None:
    """The device that `"cuda:0:global"` or `I.vdevice(...)` names, None for None.

    The number counts the module's devices of that target (docs/spec/relax-ir.md §1.3).
    Raises ScriptTypeError where the module has no such device.
    """
    if vdevice is None or isinstance(vdevice, VDeviceAttr):
        return vdevice
    if not isinstance(vdevice, str):
        raise ScriptTypeError(
            f'a vdevice is a string such as "cuda:0", not a {type(vdevice).__name__}'
        )
    kind, _, rest = vdevice.partition(":")
    number, _, scope = rest.partition(":")
    if not kind or (number and not number.isdecimal()):
        raise ScriptTypeError(
            f"'{vdevice}' names no virtual device; write it as in 'cuda:0' or "
            "'cuda:0:global'"
        )
    alike = [each for each in devices if each.target_name == kind]
    index = int(number or 0)
    if index < len(alike) and (not scope or alike[index].memory_scope.data == scope):
        return alike[index]
    raise ScriptTypeError(
        f"the module has no virtual device '{vdevice}'; list it in "
        'I.module_global_infos({"vdevice": [...]})'
    )


def device_text(device: VDeviceAttr, devices: Devices) -> str | None:
    """The string that names a device of the module, None for one that it has not."""
    if device not in devices or device.target_name is None:
        return None
    alike = [each for each in devices if each.target_name == device.target_name]
    index = alike.index(device)
    return string(f"{device.target_name}:{index}:{device.memory_scope.data}")


# ---- writing ----


@dataclass(frozen=True)
class TypeText:
    """Writes types as annotations.

    `device` writes a virtual device. `any_name` is the annotation of any value.
    """

    device: Callable[[VDeviceAttr], str]
    any_name: str = "R.Object"
    has_values: bool = True
    """Whether scalars have their values, which newer TVM has not."""

    def text(self, type_: Attribute, *, quoted: bool = False) -> str:
        """The annotation of a type; `quoted` has its symbols as strings.

        Raises DiagnosticException for a type that has none.
        """
        match type_:
            case relax.ObjectType():
                return self.any_name
            case relax.ShapeType():
                return self._shape(type_, quoted)
            case relax.PrimType():
                return self._prim(type_, quoted)
            case relax.TupleType():
                if not type_.fields.data:
                    return "R.Tuple"
                fields = self._all(type_.fields.data, quoted)
                return f"R.Tuple({', '.join(fields)})"
            case relax.FuncType():
                return self._function(type_)
            case _:
                info = relax.TensorInfo.of(type_)
                if info is None or not _is_plain(type_):
                    raise DiagnosticException(
                        f"the type {type_} has no form in TVMScript; convert it before"
                    )
                return self._tensor(info, quoted)

    def _all(self, types: Iterable[Attribute], quoted: bool) -> list[str]:
        return [self.text(type_, quoted=quoted) for type_ in types]

    def _shape(self, type_: relax.ShapeType, quoted: bool) -> str:
        if type_.values is None:
            return "R.Shape"
        if type_.values and all(value is None for value in type_.values):
            return f"R.Shape(ndim={len(type_.values)})"
        return f"R.Shape([{_dims(type_.values, quoted)}])"

    def _prim(self, type_: relax.PrimType, quoted: bool) -> str:
        dtype = dtype_text(type_.dtype)
        if type_.dim is None or not self.has_values:
            return f"R.Prim({dtype})"
        value = quoted_dim(type_.dim) if quoted else dim_text(type_.dim)
        if type_.dtype == i64:
            return f"R.Prim(value={value})"
        return f"R.Prim({dtype}, value={value})"

    def _function(self, type_: relax.FuncType) -> str:
        # A type is closed: symbols in it are its own, and no variables of the function.
        result = self.text(type_.ret, quoted=True)
        params = type_.param_types
        if params is None:
            return f"R.Callable(ret={result}, purity={type_.is_pure})"
        types = self._all(params, quoted=True)
        listed = f"({types[0]},)" if len(types) == 1 else f"({', '.join(types)})"
        return f"R.Callable({listed}, {result}, {type_.is_pure})"

    def _tensor(self, info: relax.TensorInfo, quoted: bool) -> str:
        arguments: list[str] = []
        dims = info.dims
        shaped = dims is not None and (not dims or any(dim is not None for dim in dims))
        if dims is not None and shaped:
            comma = "," if len(dims) == 1 else ""
            arguments.append(f"({_dims(dims, quoted)}{comma})")
        if info.dtype is not None:
            arguments.append(f"dtype={dtype_text(info.dtype)}")
        if info.vdevice is not None:
            arguments.append(f"vdevice={self.device(info.vdevice)}")
        if dims is not None and not shaped:
            arguments.append(f"ndim={len(dims)}")
        return f"R.Tensor({', '.join(arguments)})" if arguments else "R.Tensor"


def _dims(dims: Iterable[Dim | None], quoted: bool) -> str:
    return ", ".join(map(quoted_dim if quoted else dim_text, dims))


def dtype_text(dtype: Attribute) -> str:
    """The name of a dtype as a string. Raises DiagnosticException where it has none."""
    try:
        return dtype_string(dtype)
    except ValueError as error:
        raise DiagnosticException(f"{error}; convert it before it is printed") from None


def _is_plain(type_: Attribute) -> bool:
    """Whether a tensor type says nothing but what the dialect reads from it."""
    encoding = getattr(type_, "encoding", NoneAttr())
    return isinstance(encoding, NoneAttr | DimsAttr | PlacedAttr)
