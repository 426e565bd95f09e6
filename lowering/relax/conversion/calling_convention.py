"""How a `relax.func` is called once it is lowered.

Parameters come first, tuples flattened: a tensor is a memref, a scalar itself, a shape
one `i64` per dimension, an object the `i64` that stands for it. One memref per tensor of
the result follows, to write to, where a scalar in a tuple is a tensor of rank 0, an
object one of `i64`, and a shape a tensor of rank 1 of `i64`, then one `i64` per
symbolic dimension: the declared ones in order, then one for each dimension of a parameter
that is not known, from left to right. A result that is one scalar is returned.

The caller cannot make memory for a tensor of the result that has an unknown dimension.
Its memref is one of `i64` cells: the function writes the address of memory that it has
allocated, and the extents. The caller releases that memory. A call that fails leaves the
cells as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import (
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
)
from xdsl_tvm.dialects.tir.types import is_custom, is_storable
from xdsl_tvm.lowering.tir.conversion.types import (
    GENERIC_SPACE,
    AnyMemRef,
    memref_of,
    signless,
)

Leaf: TypeAlias = TensorInfo | PrimType | ShapeType | ObjectType
"""What a parameter or result without tuples is; all dimensions are known."""


def memref_for(dims: Sequence[Dim], dtype: Attribute) -> AnyMemRef:
    """The memref of a tensor: of its own shape, where only the first extent may be
    dynamic, else of one dynamic extent."""
    shape = tuple(DYNAMIC_INDEX if dim.value is None else dim.value for dim in dims)
    if DYNAMIC_INDEX in shape[1:]:
        shape = (DYNAMIC_INDEX,)
    return memref_of(shape, signless(dtype), GENERIC_SPACE)


def known(info: TensorInfo) -> tuple[tuple[Dim, ...], Attribute]:
    """Dimensions and dtype of a tensor of which both are known."""
    shape, dtype = info.shape, info.dtype
    assert shape is not None, "checked"
    assert dtype is not None, "checked"
    return shape, dtype


def is_handed_over(info: TensorInfo) -> bool:
    """Whether a tensor of a result is in memory that the function allocates."""
    return info.shape is None


def output_memref(info: TensorInfo) -> AnyMemRef:
    """The memref that is passed for a tensor of the result: its own, or cells."""
    if not is_handed_over(info):
        return memref_for(*known(info))
    return memref_of((1 + (info.rank or 0),), i64, GENERIC_SPACE)


@dataclass(frozen=True)
class Convention:
    """The arguments of a lowered function.

    `symbols` are all that are passed; those of unknown dimensions have made-up names.
    `scalar` is the type of a result that is returned, not written. Of `outputs` rank and
    dtype are known.
    """

    params: tuple[Leaf, ...]
    outputs: tuple[TensorInfo, ...]
    scalar: PrimType | None
    symbols: tuple[str, ...]

    @property
    def inputs(self) -> list[Attribute]:
        """The types of all arguments."""
        types = [type_ for leaf in self.params for type_ in argument_types(leaf)]
        types += [output_memref(info) for info in self.outputs]
        return types + [i64] * len(self.symbols)

    @property
    def results(self) -> list[Attribute]:
        """The types of what is returned."""
        return [] if self.scalar is None else [signless(self.scalar.dtype)]


def argument_types(leaf: Leaf) -> list[Attribute]:
    """The types of the arguments that pass a leaf."""
    if isinstance(leaf, TensorInfo):
        return [memref_for(*known(leaf))]
    if isinstance(leaf, PrimType):
        return [signless(leaf.dtype)]
    if isinstance(leaf, ObjectType):
        return [i64]
    return [i64] * len(leaf.values or ())


def convention_of(func: relax.FuncOp) -> Convention:
    """How `func` is called.

    Raises PassFailedException for a parameter or result that cannot be passed.
    """
    return _Reader(func).read()


class _Reader:
    def __init__(self, func: relax.FuncOp) -> None:
        self.name = func.sym_name.data
        self.func = func
        self.symbols = list(func.symbol_names)
        self.names = FreshNames(func)

    def read(self) -> Convention:
        params = tuple(
            self._param(index, leaf)
            for index, arg in enumerate(self.func.args)
            for leaf in flat_types(arg.type)
        )
        output = self.func.output_type
        if isinstance(output, PrimType):
            return Convention(params, (), output, tuple(self.symbols))
        outputs = tuple(self._output(leaf) for leaf in flat_types(output))
        return Convention(params, outputs, None, tuple(self.symbols))

    def _param(self, index: int, type_: Attribute) -> Leaf:
        what = f"parameter {index}"
        if isinstance(type_, PrimType | ObjectType):
            return type_
        if isinstance(type_, ShapeType):
            if type_.values is None:
                raise self._fail(f"the rank of {what} is not known")
            return ShapeType.of(self._named(dim) for dim in type_.values)
        info = self._tensor(what, type_)
        assert info.dims is not None, "checked"
        return info.with_dims([self._named(dim) for dim in info.dims])

    def _named(self, dim: Dim | None) -> Dim:
        if dim is not None:
            return dim
        name = self.names.make()
        self.symbols.append(name)
        return Dim.symbol(name)

    def _output(self, type_: Attribute) -> TensorInfo:
        if isinstance(type_, PrimType):
            return TensorInfo.shaped([], type_.dtype)
        if isinstance(type_, ObjectType):
            return TensorInfo.shaped([], i64)
        if isinstance(type_, ShapeType) and type_.values is not None:
            return TensorInfo.shaped([len(type_.values)], i64)
        return self._tensor("the result", type_)

    def _tensor(self, what: str, type_: Attribute) -> TensorInfo:
        info = TensorInfo.of(type_)
        if info is None:
            raise self._fail(f"{what} of type {type_} cannot be passed as memory")
        if info.dims is None or info.dtype is None:
            raise self._fail(f"rank and dtype of {what}, {type_}, must be known")
        if not is_storable(info.dtype) or is_custom(info.dtype):
            reason = f"holds {info.dtype}, which no machine code computes with"
            raise self._fail(f"{what}, {type_}, {reason}")
        return info

    def _fail(self, reason: str) -> PassFailedException:
        return PassFailedException(f"cannot lower 'relax.func' @{self.name}: {reason}")


class FreshNames:
    """Names that no symbolic dimension of a function has."""

    def __init__(self, func: relax.FuncOp) -> None:
        self._taken = set(func.symbol_names)
        for op in func.walk():
            if isinstance(op, relax.MatchCastOp):
                self._taken.update(op.defined_symbols)
        self._count = 0

    def make(self) -> str:
        """The next name."""
        while (name := f"_{self._count}") in self._taken:
            self._count += 1
        self._count += 1
        return name


def flat_types(type_: Attribute) -> Iterator[Attribute]:
    """The types of the fields of a tuple, and of tuples in it; another type as it is."""
    if isinstance(type_, TupleType):
        for field in type_.fields.data:
            yield from flat_types(field)
    else:
        yield type_
