"""Extents in the lowered form of a Relax function: computed numbers and checks."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IntegerAttr, f64, i1, i64
from xdsl.ir import Attribute, Block, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.symbolic import Dim, bounds
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo
from xdsl_tvm.lowering.relax.conversion.calling_convention import FreshNames
from xdsl_tvm.lowering.relax.conversion.values import (
    Closure,
    Leaf,
    Memory,
    Object,
    Scalar,
    Shape,
    Storage,
    Tensor,
    Value,
    kind,
)
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX, Emitter

EQUAL = IntegerAttr(0, i64)
NOT_EQUAL = IntegerAttr(1, i64)
AT_MOST = IntegerAttr(3, i64)
AT_LEAST = IntegerAttr(5, i64)
"""Predicates of `arith.cmpi`."""
_LESS = IntegerAttr(4, i64)
"""Predicate of `arith.cmpf`: ordered and less than."""

_ARITH: dict[str, type[Any]] = {
    "+": arith.AddiOp,
    "*": arith.MuliOp,
    "floordiv": arith.FloorDivSIOp,
    "min": arith.MinSIOp,
    "max": arith.MaxSIOp,
}
_FLOAT_ARITH: dict[str, type[Any]] = {
    "+": arith.AddfOp,
    "*": arith.MulfOp,
    "floordiv": arith.DivfOp,
}


@dataclass
class Scope:
    """A block: the memory that it releases, and the extents that it has computed, and
    those of them that it has checked not to be negative."""

    owned: dict[Memory, None] = field(default_factory=dict[Memory, None])
    extents: dict[Dim, SSAValue] = field(default_factory=dict[Dim, SSAValue])
    floats: dict[Dim, SSAValue] = field(default_factory=dict[Dim, SSAValue])
    checked: set[Dim] = field(default_factory=set[Dim])


class ExtentCode:
    """Computes and compares extents where the function is being written.

    Extents are dimensions over the symbols in `numbers`, each an `index` of the lowered
    function; `symbols` says what the symbols of the source are in terms of these.
    """

    def __init__(self, source: relax.FuncOp, block: Block) -> None:
        self.source = source
        self.cv = Emitter(block)
        self.symbols: dict[str, Dim] = {}
        self.numbers: dict[str, SSAValue] = {}
        self.names = FreshNames(source)
        self.scopes = [Scope()]
        self._of_any_sign: set[str] = set()

    @contextmanager
    def inside(self, block: Block, scope: Scope) -> Generator[None]:
        """Write to the block of a branch while the context lasts."""
        self.scopes.append(scope)
        outer = dict(self.symbols)
        with self.cv.at(block):
            yield
        self.symbols = outer
        self.scopes.pop()

    # -- numbers

    def actual(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Dimensions of the source in terms of the numbers that there are."""
        return tuple(dim.substitute(self.symbols) for dim in dims)

    def new_symbol(self, number: SSAValue) -> Dim:
        """The dimension that is a number, an integer computed at run time.

        It may be negative: `require_extents` has to check it where that matters.
        """
        dim = self.new_extent(number)
        self._of_any_sign.update(dim.symbols())
        return dim

    def new_extent(self, number: SSAValue) -> Dim:
        """The dimension that is a number of run time which is known to be an extent."""
        name = self.names.make()
        self.numbers[name] = self.cv.index_of(number)
        return Dim.symbol(name)

    def index(self, dim: Dim) -> SSAValue:
        """The value of a dimension, as `index`."""
        if dim.value is not None:
            return self.cv.number(dim.value, INDEX)
        for scope in reversed(self.scopes):
            if (found := scope.extents.get(dim)) is not None:
                return found
        value = dim.fold(
            lambda number: self.cv.number(number, INDEX),
            lambda name: self.numbers[name],
            self._apply,
        )
        self.scopes[-1].extents[dim] = value
        return value

    def _apply(self, operator: str, a: SSAValue, b: SSAValue) -> SSAValue:
        if operator in ("floordiv", "floormod"):
            self._require_divisor(b)
        if operator == "floormod":
            quotient = self.cv.binary(arith.FloorDivSIOp, a, b)
            return self.cv.binary(
                arith.SubiOp, a, self.cv.binary(arith.MuliOp, quotient, b)
            )
        return self.cv.binary(_ARITH[operator], a, b)

    def _require_divisor(self, number: SSAValue) -> None:
        # A division by zero would end the process.
        if not isinstance(number.owner, arith.ConstantOp):
            zero = self.cv.number(0, INDEX)
            holds = self.cv.compare(arith.CmpiOp, NOT_EQUAL, number, zero)
            self.require(holds, f"{self.place}: an extent is divided by zero")

    def integer(self, dim: Dim, type_: Attribute) -> SSAValue:
        """The value of a dimension, as an integer, into which it is checked to fit.

        The type may be unsigned; the number has no sign.
        """
        if dim.value is not None:
            return self.cv.number(dim.value, type_)
        number = self.cv.from_index(self.index(dim), type_)
        if type_ != i64:
            is_unsigned = type_ == i1 or tir.is_uint(type_)
            whole = self.cv.index_of(number, unsigned=is_unsigned)
            holds = self.cv.compare(arith.CmpiOp, EQUAL, whole, self.index(dim))
            self.require(holds, f"{self.place}: {dim} is no {type_}")
        return number

    def approximate(self, dim: Dim) -> SSAValue:
        """The value of a dimension as f64, which does not wrap around.

        Quotients are not rounded, and remainders bounded: it is never less than the
        dimension by more than the precision of f64.
        """
        for scope in reversed(self.scopes):
            if (found := scope.floats.get(dim)) is not None:
                return found
        value = dim.fold(
            lambda number: self.cv.number(float(number), f64),
            lambda name: self._float_of(name),
            self._apply_float,
        )
        self.scopes[-1].floats[dim] = value
        return value

    def _float_of(self, name: str) -> SSAValue:
        number = self.cv.from_index(self.numbers[name], i64)
        return self.cv.build(arith.SIToFPOp, [number], f64)

    def _apply_float(self, operator: str, a: SSAValue, b: SSAValue) -> SSAValue:
        if operator == "floormod":
            return b
        if operator in _FLOAT_ARITH:
            return self.cv.binary(_FLOAT_ARITH[operator], a, b)
        first, second = (a, b) if operator == "min" else (b, a)
        return self.cv.select(self.less(a, b), first, second)

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether one f64 is less than another."""
        return self.cv.compare(arith.CmpfOp, _LESS, a, b)

    # -- checks

    def require(self, condition: SSAValue, message: str) -> None:
        """Let the call fail with a message where a condition does not hold."""
        self.cv.emit(cf.AssertOp(condition, message))

    def check_equal(self, expected: Dim, actual: Dim, message: str) -> None:
        """Fail with a message where two extents differ."""
        if expected == actual:
            return
        a, b = self.index(expected), self.index(actual)
        self.require(self.cv.compare(arith.CmpiOp, EQUAL, a, b), message)

    def require_extents(self, dims: Iterable[Dim]) -> None:
        """Fail where one of some extents is negative, as nothing else expects."""
        for dim in dims:
            if self._is_extent(dim) or any(dim in each.checked for each in self.scopes):
                continue
            zero = self.cv.number(0, INDEX)
            holds = self.cv.compare(arith.CmpiOp, AT_LEAST, self.index(dim), zero)
            is_named = self._of_any_sign.isdisjoint(dim.symbols())
            what = f"the extent {dim}" if is_named else "an extent or offset"
            self.require(holds, f"{self.place}: {what} is negative")
            self.scopes[-1].checked.add(dim)

    def _is_extent(self, dim: Dim) -> bool:
        least = bounds(dim).min
        is_known = self._of_any_sign.isdisjoint(dim.symbols())
        return is_known and least >= 0

    @property
    def place(self) -> str:
        """The operation and the function that is being lowered, for messages."""
        op = self.cv.source or self.source
        return f"{op.name} in @{self.source.sym_name.data}"

    # -- types

    def dims_of(self, value: Leaf) -> tuple[Dim, ...]:
        """The extents of a value; a scalar is its only one."""
        match value:
            case Tensor() | Shape():
                return value.dims
            case Scalar():
                dim = value.dim
                return (self.new_symbol(value.value) if dim is None else dim,)
            case Storage() | Closure() | Object():
                return ()

    def pairs(self, type_: Attribute, value: Value) -> Iterator[tuple[Dim, Dim]]:
        """The known dimensions of a type, each with the extent that the value has."""
        if isinstance(value, tuple):
            if isinstance(type_, relax.TupleType):
                for part, inner in zip(type_.fields.data, value, strict=True):
                    yield from self.pairs(part, inner)
            return
        dims = self._declared_dims(type_, value)
        actual = self.dims_of(value) if dims is not None else ()
        if len(dims or ()) != len(actual):
            raise self.cv.fail(f"a value of rank {len(actual)} can never be {type_}")
        for dim, extent in zip(dims or (), actual, strict=True):
            if dim is not None:
                yield dim, extent

    def _declared_dims(
        self, type_: Attribute, value: Leaf
    ) -> tuple[Dim | None, ...] | None:
        """What a type says of the extents of a value."""
        match value:
            case Tensor():
                return self.tensor_dims(type_, value)
            case Shape():
                return type_.values if isinstance(type_, ShapeType) else None
            case Scalar():
                return (type_.dim,) if isinstance(type_, PrimType) else None
            case Storage() | Closure() | Object():
                return None

    def tensor_dims(
        self, type_: Attribute, value: Tensor
    ) -> tuple[Dim | None, ...] | None:
        """What a type says of the extents of a tensor."""
        info = TensorInfo.of(type_)
        if info is None:
            return None
        if info.dtype not in (None, value.dtype):
            raise self.cv.fail(f"a tensor of {value.dtype} can never be {type_}")
        return info.dims

    def refined(self, value: Value, type_: Attribute) -> Value:
        """A value that was checked to be of a type, with the dimensions of that type."""
        if isinstance(value, tuple):
            if not isinstance(type_, relax.TupleType):
                return value
            fields = zip(value, type_.fields.data, strict=True)
            return tuple(self.refined(inner, part) for inner, part in fields)
        if not isinstance(value, Tensor | Shape):
            return value
        dims = self._declared_dims(type_, value)
        if dims is None:
            return value
        checked = tuple(
            extent if dim is None else dim.substitute(self.symbols)
            for dim, extent in zip(dims, value.dims, strict=True)
        )
        return replace(value, dims=checked)

    def expect_shape(self, value: Value) -> tuple[Dim, ...]:
        """The dimensions of a shape; PassFailedException for another value."""
        if isinstance(value, Shape):
            return value.dims
        raise self.cv.fail(f"a {kind(value)} is no shape")
