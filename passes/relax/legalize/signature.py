"""What decides the TIR function of an operator: its operands and results, all known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo, TupleType


@dataclass(frozen=True)
class KnownScalar:
    """An operand that is a known number: a symbolic expression."""

    value: Dim
    dtype: Attribute


@dataclass(frozen=True)
class KnownShape:
    """An operand that is a known shape."""

    dims: tuple[Dim, ...]


Known: TypeAlias = "TensorInfo | KnownScalar | KnownShape | tuple[Known, ...]"
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


def signature_of(op: OperatorOp) -> Signature | None:
    """The operator's signature, None where something of it is not known."""
    inferred = known_results(op.infer_result_type())
    results = known_results(op.result.type)
    if inferred is None or results is None or len(inferred) != len(results):
        return None
    # Stages are made for the dimensions that inference has proven: a declared
    # dimension that is only believed could read out of bounds.
    if any(a.dims != b.dims for a, b in zip(inferred, results, strict=True)):
        return None
    operands: list[Known] = []
    for operand in op.operands:
        if (known := _known(operand.type)) is None:
            return None
        operands.append(known)
    return Signature(tuple(operands), results)


def known_results(type_: Attribute) -> tuple[TensorInfo, ...] | None:
    """The tensors of a result, one or those of a tuple, None where one is not known."""
    types = type_.fields.data if isinstance(type_, TupleType) else (type_,)
    known = tuple(info for each in types if (info := _known_tensor(each)) is not None)
    return known if len(known) == len(types) else None


def _known(type_: Attribute) -> Known | None:
    match type_:
        case ShapeType():
            return None if type_.known is None else KnownShape(type_.known)
        case PrimType():
            return None if type_.dim is None else KnownScalar(type_.dim, type_.dtype)
        case TupleType():
            fields = [_known(field) for field in type_.fields.data]
            known = tuple(field for field in fields if field is not None)
            return known if len(known) == len(fields) else None
        case _:
            return _known_tensor(type_)


def _known_tensor(type_: Attribute) -> TensorInfo | None:
    """The tensor where dtype and all dimensions are known, else None."""
    info = TensorInfo.of(type_)
    if info is None or info.shape is None or info.dtype is None:
        return None
    return info


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
            return [known.value]
        case KnownShape():
            return list(known.dims)
        case tuple():
            return [dim for each in known for dim in _free_dims(each)]
        case _:
            return []


def _renamed(known: Known, names: Mapping[str, Dim]) -> Known:
    def rename(dim: Dim) -> Dim:
        return dim.substitute(names)

    match known:
        case KnownScalar():
            return KnownScalar(rename(known.value), known.dtype)
        case KnownShape():
            return KnownShape(tuple(map(rename, known.dims)))
        case tuple():
            return tuple(_renamed(each, names) for each in known)
        case _:
            return _renamed_tensor(known, names)


def _renamed_tensor(info: TensorInfo, names: Mapping[str, Dim]) -> TensorInfo:
    return info.with_dims(dim.substitute(names) for dim in info.shape or ())
