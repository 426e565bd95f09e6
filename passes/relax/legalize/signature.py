"""What decides the TIR function of an operator: its operands and results, all known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo, TupleType
from xdsl_tvm.dialects.tir.folding import wrap


@dataclass(frozen=True)
class KnownScalar:
    """An operand that is a number: symbolic, or None for one of run time."""

    value: Dim | None
    dtype: Attribute


@dataclass(frozen=True)
class Literal:
    """An operand that is a constant."""

    text: str = field(init=False)
    """The number to the last bit: 0.0 and -0.0 are two, NaN is itself."""
    value: float = field(compare=False)
    dtype: Attribute

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", repr(self.value))


@dataclass(frozen=True)
class KnownShape:
    """An operand that is a known shape, or of which only the shape is taken."""

    dims: tuple[Dim, ...]


Known: TypeAlias = "TensorInfo | KnownScalar | Literal | KnownShape | tuple[Known, ...]"
"""What is known of an operand; a tuple operand is a tuple."""


@dataclass(frozen=True)
class Signature:
    """The operands and the results of an operator."""

    operands: tuple[Known, ...]
    results: tuple[TensorInfo, ...]

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """All tensors, those of the operands first."""
        return (*_tensors(self.operands), *self.results)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbolic dimensions, in order of appearance."""
        dims = [dim for info in self.tensors for dim in info.shape or ()]
        dims += _free_dims(self.operands)
        return tuple(dict.fromkeys(name for dim in dims for name in dim.symbols()))

    @property
    def unbound(self) -> tuple[str, ...]:
        """The symbols that are no bare dimension of an operand or of a result."""
        bare = {dim.symbol_name for info in self.tensors for dim in info.shape or ()}
        return tuple(name for name in self.symbols if name not in bare)

    def renamed(self) -> Signature:
        """The signature with symbols numbered by their first appearance."""
        names = {
            name: Dim.symbol(f"s{number}") for number, name in enumerate(self.symbols)
        }
        return Signature(
            tuple(_renamed(each, names) for each in self.operands),
            tuple(_renamed_tensor(each, names) for each in self.results),
        )


def signature_of(
    operands: Sequence[SSAValue],
    result_type: Attribute,
    shape_only: Collection[int] = (),
    immediates: Sequence[int] = (),
) -> Signature | None:
    """The signature of a call, None where something of it is not known.

    `shape_only` and `immediates` are as in `RegisteredRule`.
    """
    if (results := known_results(result_type)) is None:
        return None
    known: list[Known] = []
    for position, operand in enumerate(operands):
        if (one := _known(operand)) is None:
            return None
        if position in shape_only and isinstance(one, TensorInfo):
            one = KnownShape(one.shape or ())
        known.append(one)
    for position in immediates:
        if (literal := _literal(operands[position])) is not None:
            known[position] = literal
            break
    return Signature(tuple(known), results)


def proven_result_type(op: OperatorOp) -> Attribute | None:
    """The type of the result, all of it known; None where it is not.

    Functions are made for the dimensions that inference has proven: a declared dimension
    that is only believed could be read out of bounds.
    """
    inferred, declared = op.infer_result_type(), op.result.type
    proven = known_results(inferred)
    if proven is None or inferred == declared:
        return None if proven is None else declared
    believed = known_results(declared)
    if believed is None:
        return inferred if is_base_of(declared, inferred) else None
    if len(proven) != len(believed):
        return None
    is_same = all(map(_same_dims, proven, believed))
    return declared if is_same else None


def _same_dims(a: TensorInfo, b: TensorInfo) -> bool:
    lhs, rhs = a.shape or (), b.shape or ()
    return len(lhs) == len(rhs) and all(map(provably_equal, lhs, rhs))


def known_results(type_: Attribute) -> tuple[TensorInfo, ...] | None:
    """The tensors of a result, one or those of a tuple, None where one is not known."""
    types = type_.fields.data if isinstance(type_, TupleType) else (type_,)
    known = tuple(info for each in types if (info := _known_tensor(each)) is not None)
    return known if known and len(known) == len(types) else None


def known_shape(type_: Attribute) -> tuple[Dim, ...]:
    """The dimensions of a tensor of known shape."""
    info = TensorInfo.of(type_)
    assert info is not None
    assert info.shape is not None
    return info.shape


def _known(value: SSAValue) -> Known | None:
    owner = value.owner
    if isinstance(owner, relax.TupleOp):
        return _all_known([_known(element) for element in owner.elements])
    if isinstance(owner, relax.PrimValueOp) and isinstance(owner.value, FloatAttr):
        return Literal(owner.value.value.data, owner.value.type)
    return _known_type(value.type)


def _known_type(type_: Attribute) -> Known | None:
    match type_:
        case ShapeType():
            return None if type_.known is None else KnownShape(type_.known)
        case PrimType():
            return KnownScalar(type_.dim, type_.dtype)
        case TupleType():
            return _all_known([_known_type(field) for field in type_.fields.data])
        case _:
            return _known_tensor(type_)


def _all_known(fields: Sequence[Known | None]) -> tuple[Known, ...] | None:
    known = tuple(each for each in fields if each is not None)
    return known if len(known) == len(fields) else None


def _known_tensor(type_: Attribute) -> TensorInfo | None:
    """The tensor where dtype and all dimensions are known, else None.

    Of elements that are no scalars of TIR, such as vectors, there is none.
    """
    info = TensorInfo.of(type_)
    if info is None or info.shape is None or info.dtype is None:
        return None
    return info if tir.is_scalar(info.dtype) else None


def _literal(value: SSAValue) -> Literal | None:
    """The number of a constant of rank 0, None for any other value."""
    number, info = constant_number(value), TensorInfo.of(value.type)
    if number is None or info is None or info.dtype is None:
        return None
    return Literal(number, info.dtype)


def constant_number(value: SSAValue) -> float | None:
    """The number of a constant of rank 0, None for any other value."""
    if not isinstance(value.owner, relax.ConstantOp):
        return None
    constant = value.owner.value
    if not isinstance(constant, DenseIntOrFPElementsAttr) or constant.get_shape():
        return None
    (number,) = constant.get_values()
    if isinstance(number, tuple):
        return None
    dtype = constant.get_element_type()
    # What is stored has the sign of its highest bit, of bools too.
    return wrap(number, dtype) if isinstance(number, int) else number


def _tensors(known: Known) -> Iterator[TensorInfo]:
    if isinstance(known, TensorInfo):
        yield known
    elif isinstance(known, tuple):
        for each in known:
            yield from _tensors(each)


def _free_dims(known: Known) -> list[Dim]:
    """The dimensions that are no dimensions of tensors."""
    match known:
        case KnownScalar():
            return [] if known.value is None else [known.value]
        case KnownShape():
            return list(known.dims)
        case tuple():
            return [dim for each in known for dim in _free_dims(each)]
        case _:
            return []


def _renamed(known: Known, names: Mapping[str, Dim]) -> Known:
    match known:
        case KnownScalar():
            value = None if known.value is None else known.value.substitute(names)
            return KnownScalar(value, known.dtype)
        case KnownShape():
            return KnownShape(tuple(dim.substitute(names) for dim in known.dims))
        case tuple():
            return tuple(_renamed(each, names) for each in known)
        case TensorInfo():
            return _renamed_tensor(known, names)
        case Literal():
            return known


def _renamed_tensor(info: TensorInfo, names: Mapping[str, Dim]) -> TensorInfo:
    return info.with_dims(dim.substitute(names) for dim in info.shape or ())
