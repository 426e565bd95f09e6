"""Types of the dialect, and one view of all tensor types.

Tensors are builtin tensors; `TensorInfo` reads and makes their types. TVM's struct infos
(docs/spec/relax-ir.md §2) map so:

| struct info | type |
|---|---|
| Tensor, known shape | `tensor<4x8xf32>`, `tensor<?x8xf32, #relax.dims<[n, 8]>>` |
| Tensor, known rank | `tensor<?x?xf32>` |
| Tensor, nothing known | `tensor<*x!relax.any>` |
| Shape | `!relax.shape<[n, 8]>`, `!relax.shape<[?, ?]>`, `!relax.shape<*>` |
| Prim | `!relax.prim<i64>`, `!relax.prim<i64, n + 1>` |
| Tuple | `!relax.tuple<T, U>` |
| Func | `!relax.func<(T, U) -> R>`, `!relax.func<? -> R, impure>` |
| Object | `!relax.object` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    IntegerType,
    NoneAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.relax.attributes import (
    DimAttr,
    Dims,
    DimsAttr,
    PlacedAttr,
    VDeviceAttr,
    parse_dim,
    parse_dims,
    print_dims,
    symbols_of,
)
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike

__all__ = [
    "ANY",
    "OBJECT",
    "VOID",
    "AnyType",
    "FuncType",
    "ObjectType",
    "PrimType",
    "ShapeType",
    "TensorInfo",
    "TupleType",
]


@irdl_attr_definition
class AnyType(ParametrizedAttribute, TypeAttribute):
    """Element type of a tensor whose dtype is unknown, TVM's void dtype."""

    name = "relax.any"


@irdl_attr_definition
class ObjectType(ParametrizedAttribute, TypeAttribute):
    """Any runtime value: the top of the lattice. TVM's `ObjectStructInfo`."""

    name = "relax.object"


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """A shape as a value. TVM's `ShapeStructInfo`.

    Printed `!relax.shape<[n, 4]>`; `!relax.shape<[?, ?]>` where only the rank is known,
    `!relax.shape<*>` where not even that.
    """

    name = "relax.shape"

    dims: DimsAttr | NoneAttr

    @staticmethod
    def of(dims: Iterable[DimLike | None] | None) -> ShapeType:
        """The type of a shape; None in place of what is unknown."""
        return ShapeType(NoneAttr() if dims is None else DimsAttr.of(dims))

    @property
    def values(self) -> Dims | None:
        """The dimensions, None where the rank is unknown."""
        return self.dims.data if isinstance(self.dims, DimsAttr) else None

    @property
    def known(self) -> tuple[Dim, ...] | None:
        """The dimensions, None where one is unknown."""
        return self.dims.known if isinstance(self.dims, DimsAttr) else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_punctuation("*") is not None:
                return (NoneAttr(),)
            return (DimsAttr(parse_dims(parser)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if (values := self.values) is None:
                printer.print_string("*")
            else:
                print_dims(printer, values)


@irdl_attr_definition
class PrimType(ParametrizedAttribute, TypeAttribute):
    """A scalar that is not a tensor, its value known or not. TVM's `PrimStructInfo`.

    Printed `!relax.prim<i64>`, or `!relax.prim<i64, n + 1>` where the value is known.
    """

    name = "relax.prim"

    dtype: Attribute
    value: DimAttr | NoneAttr

    @staticmethod
    def of(dtype: Attribute, value: DimLike | None = None) -> PrimType:
        """The type of a scalar of type `dtype`."""
        return PrimType(dtype, NoneAttr() if value is None else DimAttr(Dim.of(value)))

    @property
    def dim(self) -> Dim | None:
        """The value where it is known."""
        return self.value.data if isinstance(self.value, DimAttr) else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dtype = parser.parse_type()
            if parser.parse_optional_punctuation(",") is None:
                return dtype, NoneAttr()
            return dtype, DimAttr(parse_dim(parser))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.dtype)
            if (dim := self.dim) is not None:
                printer.print_string(f", {dim}")

    def verify(self) -> None:
        is_integer = isinstance(self.dtype, IntegerType)
        if not is_integer and not isinstance(self.dtype, AnyFloat):
            raise VerifyException(
                f"!relax.prim needs an integer or float type, not {self.dtype}"
            )
        if self.dim is not None and not is_integer:
            raise VerifyException(
                f"!relax.prim of {self.dtype} cannot have the value {self.dim}: "
                "only integer scalars have one"
            )


@irdl_attr_definition
class TupleType(ParametrizedAttribute, TypeAttribute):
    """Several values in one; the empty tuple is void. TVM's `TupleStructInfo`."""

    name = "relax.tuple"

    fields: ArrayAttr[Attribute]

    @staticmethod
    def of(fields: Iterable[Attribute]) -> TupleType:
        """The tuple of the given types."""
        return TupleType(ArrayAttr(fields))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (
            ArrayAttr(
                parser.parse_comma_separated_list(
                    parser.Delimiter.ANGLE, parser.parse_type
                )
            ),
        )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.fields.data, printer.print_attribute)

    def verify(self) -> None:
        for field in self.fields.data:
            _verify_value_type("!relax.tuple", field)


@irdl_attr_definition
class FuncType(ParametrizedAttribute, TypeAttribute):
    """A function as a value. TVM's `FuncStructInfo`.

    Printed `!relax.func<(T, U) -> R>`, with `, impure` at the end where calls have side
    effects, and `?` in place of the parameters of an opaque function.
    """

    name = "relax.func"

    params: ArrayAttr[Attribute] | NoneAttr
    ret: Attribute
    impure: UnitAttr | NoneAttr

    @staticmethod
    def of(
        params: Iterable[Attribute] | None, ret: Attribute, pure: bool = True
    ) -> FuncType:
        """The type of a function; `params` is None for an opaque one."""
        return FuncType(
            NoneAttr() if params is None else ArrayAttr(params),
            ret,
            NoneAttr() if pure else UnitAttr(),
        )

    @property
    def is_pure(self) -> bool:
        """Whether a call has no side effect."""
        return isinstance(self.impure, NoneAttr)

    @property
    def param_types(self) -> tuple[Attribute, ...] | None:
        """Types of the parameters, None for an opaque function."""
        return self.params.data if isinstance(self.params, ArrayAttr) else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            params = NoneAttr()
            if parser.parse_optional_punctuation("?") is None:
                params = ArrayAttr(
                    parser.parse_comma_separated_list(
                        parser.Delimiter.PAREN, parser.parse_type
                    )
                )
            parser.parse_punctuation("->")
            ret = parser.parse_type()
            impure = NoneAttr()
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("impure")
                impure = UnitAttr()
            return params, ret, impure

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if (params := self.param_types) is None:
                printer.print_string("?")
            else:
                with printer.in_parens():
                    printer.print_list(params, printer.print_attribute)
            printer.print_string(" -> ")
            printer.print_attribute(self.ret)
            if not self.is_pure:
                printer.print_string(", impure")

    def verify(self) -> None:
        for type_ in (*(self.param_types or ()), self.ret):
            _verify_value_type("!relax.func", type_)


VOID = TupleType.of(())
"""The type of nothing."""
ANY = AnyType()
OBJECT = ObjectType()

VALUE_TYPES = (
    TensorType,
    UnrankedTensorType,
    ShapeType,
    PrimType,
    TupleType,
    FuncType,
    ObjectType,
)
"""Classes of the types that a Relax value can have."""


def _verify_value_type(where: str, type_: Attribute) -> None:
    if not is_value_type(type_):
        raise VerifyException(f"{where} cannot hold {type_}: it is no type of a value")


@dataclass(frozen=True)
class TensorInfo:
    """What is known of a tensor: a view of `tensor<…>` types. TVM's `TensorStructInfo`.

    `dims` is None where the rank is unknown, and holds None where a dimension is; `dtype`
    is None where it is unknown. A dimension can be known next to an unknown one, where
    TVM knows all or nothing of a shape.
    """

    dims: Dims | None
    dtype: Attribute | None
    vdevice: VDeviceAttr | None = None

    @staticmethod
    def shaped(
        dims: Iterable[DimLike | None] | None,
        dtype: Attribute | None,
        vdevice: VDeviceAttr | None = None,
    ) -> TensorInfo:
        """The tensor with dimensions given as `Dim`, int, or name of a symbol."""
        return TensorInfo(
            None if dims is None else DimsAttr.of(dims).data, dtype, vdevice
        )

    @staticmethod
    def of(type_: Attribute) -> TensorInfo | None:
        """What the type says, None where it is no tensor type."""
        return _tensor_info(type_)

    @property
    def rank(self) -> int | None:
        """Number of dimensions, None where unknown."""
        return None if self.dims is None else len(self.dims)

    @property
    def shape(self) -> tuple[Dim, ...] | None:
        """The dimensions where every one of them is known, else None."""
        if self.dims is None:
            return None
        known = tuple(dim for dim in self.dims if dim is not None)
        return known if len(known) == len(self.dims) else None

    def with_dims(self, dims: Iterable[Dim | None] | None) -> TensorInfo:
        """The same tensor with other dimensions."""
        return replace(self, dims=None if dims is None else tuple(dims))

    @property
    def type(self) -> TensorType[Attribute] | UnrankedTensorType[Attribute]:
        """The tensor type that says this.

        An unranked tensor has no place for a virtual device, which is dropped.
        """
        element = ANY if self.dtype is None else self.dtype
        if self.dims is None:
            return UnrankedTensorType(element)
        sizes: list[int] = []
        symbolic = False
        for dim in self.dims:
            value = None if dim is None else dim.value
            symbolic |= dim is not None and value is None
            sizes.append(DYNAMIC_INDEX if value is None else value)
        encoding: Attribute = NoneAttr()
        if self.vdevice is not None:
            encoding = PlacedAttr(DimsAttr(self.dims), self.vdevice)
        elif symbolic:
            encoding = DimsAttr(self.dims)
        return TensorType(element, sizes, encoding)

    def __str__(self) -> str:
        return str(self.type)


@by_identity
def _tensor_info(type_: Attribute) -> TensorInfo | None:
    if isinstance(type_, TensorType):
        ranked = cast(TensorType[Attribute], type_)
        encoding = ranked.encoding
        vdevice = None
        if isinstance(encoding, PlacedAttr):
            vdevice = encoding.vdevice
            encoding = encoding.dims
        if isinstance(encoding, DimsAttr):
            dims = encoding.data
        else:
            dims = tuple(
                None if size == DYNAMIC_INDEX else Dim.constant(size)
                for size in ranked.get_shape()
            )
        return TensorInfo(dims, _dtype(ranked.element_type), vdevice)
    if isinstance(type_, UnrankedTensorType):
        unranked = cast(UnrankedTensorType[Attribute], type_)
        return TensorInfo(None, _dtype(unranked.element_type))
    return None


def _dtype(element: Attribute) -> Attribute | None:
    return None if isinstance(element, AnyType) else element


def is_bool_scalar(type_: Attribute) -> bool:
    """Whether a value can be the condition of an `if`: a bool scalar or rank-0 tensor."""
    if isinstance(type_, PrimType):
        return type_.dtype == i1
    info = TensorInfo.of(type_)
    return info is not None and info.rank == 0 and info.dtype == i1


def is_value_type(type_: Attribute) -> bool:
    """Whether a Relax value can have the type."""
    return _is_value_type(type_)


_is_value_type = of_classes(*VALUE_TYPES)


def verify_type(type_: Attribute) -> None:
    """Check that a type is one of a Relax value and that its encoding fits its shape.

    Raises VerifyException naming the dimension that does not fit.
    """
    if not is_value_type(type_):
        raise VerifyException(f"{type_} is no type of a Relax value")
    for part in _parts(type_):
        if isinstance(part, TensorType):
            _verify_encoding(cast(TensorType[Attribute], part))


def _verify_encoding(type_: TensorType[Attribute]) -> None:
    encoding = type_.encoding
    if isinstance(encoding, PlacedAttr):
        encoding = encoding.dims
    if not isinstance(encoding, DimsAttr):
        return
    sizes = type_.get_shape()
    if len(sizes) != len(encoding.data):
        raise VerifyException(
            f"{type_} has rank {len(sizes)} but names {len(encoding.data)} dimensions"
        )
    for index, (size, dim) in enumerate(zip(sizes, encoding.data, strict=True)):
        value = None if dim is None else dim.value
        if size != (DYNAMIC_INDEX if value is None else value):
            raise VerifyException(
                f"{type_}: dimension {index} is {dim or '?'} in the encoding and "
                f"{'?' if size == DYNAMIC_INDEX else size} in the shape"
            )


def _parts(type_: Attribute) -> Iterator[Attribute]:
    """The type and those it is made of, depth first."""
    yield type_
    if isinstance(type_, TupleType):
        for field in type_.fields.data:
            yield from _parts(field)
    elif isinstance(type_, FuncType):
        for param in type_.param_types or ():
            yield from _parts(param)
        yield from _parts(type_.ret)


def used_symbols(type_: Attribute) -> list[str]:
    """Symbols that occur in a type, in order of first occurrence.

    Function types are closed: theirs are not visible outside of them.
    """
    return list(dict.fromkeys(symbols_of(_open_dims(type_))))


def symbols_in(op: Operation) -> Iterator[str]:
    """Symbols that an operation uses in result types and dimensions, with repetitions.

    What it holds in regions is left out.
    """
    for result in op.results:
        yield from used_symbols(result.type)
    for attribute in op.properties.values():
        if isinstance(attribute, DimAttr):
            yield from attribute.data.symbols()
        elif isinstance(attribute, DimsAttr):
            yield from symbols_of(attribute.data)


def definable_symbols(type_: Attribute) -> list[str]:
    """Symbols that a value of the type defines: those that are a dimension by themselves.

    In order of first occurrence (docs/spec/relax-ir.md §2.2).
    """
    names = (d.symbol_name for d in _open_dims(type_) if d is not None)
    return list(dict.fromkeys(name for name in names if name is not None))


def _open_dims(type_: Attribute) -> Iterator[Dim | None]:
    if isinstance(type_, TupleType):
        for field in type_.fields.data:
            yield from _open_dims(field)
    elif isinstance(type_, ShapeType):
        yield from type_.values or ()
    elif isinstance(type_, PrimType):
        yield type_.dim
    elif (info := TensorInfo.of(type_)) is not None:
        yield from info.dims or ()


def map_dims(type_: Attribute, mapping: Callable[[Dims], Dims]) -> Attribute:
    """Rewrite the dimensions of a type, fields of tuples included.

    `mapping` gets the dimensions of a tensor or shape, or the value of a scalar, and
    returns as many. Function types are closed and stay as they are.
    """
    if isinstance(type_, TupleType):
        return TupleType.of(map_dims(field, mapping) for field in type_.fields.data)
    if isinstance(type_, ShapeType):
        return type_ if type_.values is None else ShapeType.of(mapping(type_.values))
    if isinstance(type_, PrimType):
        if type_.dim is None:
            return type_
        return PrimType.of(type_.dtype, mapping((type_.dim,))[0])
    info = TensorInfo.of(type_)
    if info is None or info.dims is None:
        return type_
    return info.with_dims(mapping(info.dims)).type


def substitute_symbols(type_: Attribute, values: Mapping[str, Dim]) -> Attribute:
    """The type with symbols replaced, function types excepted."""

    def substitute(dims: Dims) -> Dims:
        return tuple(None if d is None else d.substitute(values) for d in dims)

    return map_dims(type_, substitute)
