"""Where the code of one converted function goes, and the values it has so far."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    bf16,
    f32,
    i1,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, FPExtOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.dialects.quick_accessors import first_result
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.tir.constants import integer_attr
from xdsl_tvm.lowering.integer_constants import integer_constant
from xdsl_tvm.lowering.tir.conversion.types import signless

INDEX = IndexType()
NO_OVERFLOW = arith.IntegerOverflowAttr("none")
NSW = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])
NO_FAST_MATH = arith.FastMathFlagsAttr("none")
NO_LLVM_FAST_MATH = FastMathAttr(None)

LaneFunction: TypeAlias = Callable[[Sequence[SSAValue]], SSAValue]

_Op = TypeVar("_Op", bound=Operation)
_IntBinary = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)


@lru_cache(maxsize=256)
def _position(lane: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [lane])


class Emitter:
    """Appends operations to a block, for one source operation at a time.

    Values of the source are looked up in `values`. Constants, stack memory and globals
    go to the start of the entry block, where they serve the whole function.
    """

    def __init__(self, entry: Block) -> None:
        self.entry = entry
        self.block = entry
        self.source: Operation | None = None
        self.values: dict[SSAValue, SSAValue] = {}
        self.nontemporal = False
        """Whether stores need not go through the cache."""
        self.fenced = False
        """Whether a fence follows a loop further out."""
        self._constants: dict[Attribute, SSAValue] = {}
        self._last_hoisted: Operation | None = None
        self._index_scopes: list[dict[SSAValue, SSAValue]] = [{}]

    # -- errors

    def fail(self, reason: str, op: Operation | None = None) -> PassFailedException:
        """The error that names the operation, the reason and what to do."""
        op = op or self.source
        return PassFailedException(
            f"cannot lower '{op.name if op is not None else 'tir'}': {reason}"
        )

    # -- operations

    def emit(self, op: _Op) -> _Op:
        """Appends `op` with the location of the source operation."""
        if self.source is not None:
            op.location = self.source.location
        self.block.add_op(op)
        return op

    def build(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Appends an operation of one result, and gives the result."""
        op = create(
            kind, operands=operands, result_types=[result], properties=properties or {}
        )
        return first_result(self.emit(op))

    def hoist(self, op: _Op) -> _Op:
        """Puts `op`, which has no operands, at the start of the function."""
        if self._last_hoisted is not None:
            self.entry.insert_op_after(op, self._last_hoisted)
        elif (first := self.entry.first_op) is not None:
            self.entry.insert_op_before(op, first)
        else:
            self.entry.add_op(op)
        self._last_hoisted = op
        return op

    @contextmanager
    def at(self, block: Block) -> Generator[None]:
        """Appends to `block`, nested in the current one, while the context lasts."""
        outer = self.block
        self.block = block
        self._index_scopes.append({})
        try:
            yield
        finally:
            self.block = outer
            self._index_scopes.pop()

    # -- values

    def value(self, source: SSAValue) -> SSAValue:
        """What stands for the scalar or vector `source`."""
        found = self.values.get(source)
        if found is None:
            found = self.missing(source)
            self.values[source] = found
        return found

    def missing(self, source: SSAValue) -> SSAValue:
        """What stands for a value that has not been converted; an error by default."""
        owner = source.owner
        if isinstance(owner, tir.ShapeVarOp):
            raise self.fail(
                f"the symbolic extent '{owner.var_name.data}' is bound by no buffer of a "
                "parameter; let it be an extent by itself, or a scalar parameter"
            )
        raise self.fail(f"no value stands for an operand of type {source.type}")

    def constant(self, value: Attribute) -> SSAValue:
        """The constant `value`, a typed attribute of a signless type."""
        found = self._constants.get(value)
        if found is None:
            dtype = cast("IntegerAttr | FloatAttr[AnyFloat]", value).get_type()
            op = create(
                arith.ConstantOp, result_types=[dtype], properties={"value": value}
            )
            found = self._constants[value] = first_result(self.hoist(op))
        return found

    def number(self, value: float, dtype: Attribute) -> SSAValue:
        """The constant `value`; broadcast, where `dtype` is a vector."""
        if tir.is_float8(dtype):
            packed = cast(AnyFloat, tir.element_of(dtype)).pack((value,))
            value = int.from_bytes(packed, "little", signed=True)
        dtype = signless(dtype)
        if tir.is_vector(dtype):
            element = dtype.element_type
            return self.build(vector.BroadcastOp, [self.number(value, element)], dtype)
        if dtype == i1:
            return self.constant(BoolAttr.from_bool(bool(value)))
        if tir.is_integer(dtype) or dtype == INDEX:
            integer = cast(IntegerType, dtype)
            return self.constant(integer_attr(int(value), integer))
        return self.constant(FloatAttr(value, cast(AnyFloat, dtype)))

    def binary(self, kind: type[IRDLOperation], a: SSAValue, b: SSAValue) -> SSAValue:
        """`a` op `b` of one type: an integer or float operation of arith."""
        if kind in _IntBinary:
            return self.build(kind, [a, b], a.type, {"overflowFlags": NO_OVERFLOW})
        if kind in _FLOAT_BINARY:
            return self.build(kind, [a, b], a.type, {"fastmath": NO_FAST_MATH})
        return self.build(kind, [a, b], a.type)

    def compare(
        self,
        kind: type[arith.CmpiOp | arith.CmpfOp],
        predicate: IntegerAttr,
        a: SSAValue,
        b: SSAValue,
    ) -> SSAValue:
        """An arith comparison, or one of tvm_llvm for vectors, which arith does not
        compare.
        """
        properties: dict[str, Attribute]
        if tir.is_vector(a.type):
            result = tir.like_lanes(i1, a.type)
            if a.type.element_type == bf16:
                wide = tir.like_lanes(f32, a.type)
                a, b = (self.build(FPExtOp, [value], wide) for value in (a, b))
            if kind is arith.CmpfOp:
                properties = {"predicate": predicate, "fastmathFlags": NO_LLVM_FAST_MATH}
                return self.build(tvm_llvm.FCmpOp, [a, b], result, properties)
            return self.build(tvm_llvm.ICmpOp, [a, b], result, {"predicate": predicate})
        properties = {"predicate": predicate}
        if kind is arith.CmpfOp:
            properties["fastmath"] = NO_FAST_MATH
        return self.build(kind, [a, b], i1, properties)

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a` where the condition holds, `b` elsewhere; lane by lane for a vector."""
        if tir.is_vector(condition.type):
            return self.build(
                tvm_llvm.SelectOp,
                [condition, a, b],
                a.type,
                {"fastmathFlags": NO_LLVM_FAST_MATH},
            )
        return self.build(arith.SelectOp, [condition, a, b], a.type)

    # -- lanes

    def per_lane(
        self,
        function: LaneFunction,
        vectors: Sequence[SSAValue],
        result: Attribute,
    ) -> SSAValue:
        """`function` of the lanes of `vectors`, gathered in a vector of type `result`.

        For operations that xDSL's arith dialect has on scalars only; LLVM joins the
        lanes again.
        """
        result = signless(result)
        lanes = [
            function([self.extract(value, lane) for value in vectors])
            for lane in range(tir.lanes_of(result))
        ]
        return self.gathered(lanes, result)

    def gathered(self, lanes: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """The vector of the given lanes."""
        current = self.build(vector.BroadcastOp, [lanes[0]], result)
        for lane, scalar in enumerate(lanes[1:], 1):
            current = self.build(
                vector.InsertOp,
                [scalar, current],
                result,
                {"static_position": _position(lane)},
            )
        return current

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        """One lane of a vector; a scalar as it is."""
        if not tir.is_vector(value.type):
            return value
        element = value.type.element_type
        return self.build(
            vector.ExtractOp,
            [value],
            element,
            {"static_position": _position(lane)},
        )

    # -- indices

    def index(self, source: SSAValue) -> SSAValue:
        """A scalar integer of the source as `index`, extended by its signedness."""
        number = tir.constant_value(source)
        if number is not None:
            return self.number(number, INDEX)
        for scope in reversed(self._index_scopes):
            if (found := scope.get(source)) is not None:
                return found
        result = self.index_of(self.value(source), unsigned=tir.is_uint(source.type))
        self._index_scopes[-1][source] = result
        return result

    def bind_index(self, source: SSAValue, index: SSAValue) -> None:
        """Says that `index` is `source`, wherever the function needs it."""
        self._index_scopes[0][source] = index

    def index_of(self, value: SSAValue, *, unsigned: bool = False) -> SSAValue:
        """A converted integer as `index`."""
        if isinstance(value.type, IndexType):
            return value
        if unsigned and value.type != i64:
            value = self.build(arith.ExtUIOp, [value], i64)
        return self.build(arith.IndexCastOp, [value], INDEX)

    def from_index(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """An `index` as a value of the integer type `dtype`."""
        return self.build(arith.IndexCastOp, [value], signless(dtype))

    def add_index(self, a: SSAValue | None, b: SSAValue) -> SSAValue:
        """The sum of two indices; no first one counts as 0."""
        if a is None or integer_constant(a) == 0:
            return b
        if integer_constant(b) == 0:
            return a
        return self.binary(arith.AddiOp, a, b)

    def mul_index(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The product of two indices."""
        x, y = integer_constant(a), integer_constant(b)
        if x is not None and y is not None:
            return self.number(x * y, INDEX)
        if x == 1:
            return b
        if y == 1:
            return a
        return self.binary(arith.MuliOp, a, b)


_FLOAT_BINARY = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp)
