"""What rules of gradients are made of: a table of them, and operators to insert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.dense import dense_of, numpy_dtype
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType

PASS: Final = "relax-gradient"

Adjoint: TypeAlias = "SSAValue | list[Adjoint] | None"
"""The derivative of the target by a value: that by each field for a tuple, None for 0."""
Rule: TypeAlias = "Callable[[GradientBuilder, Any, SSAValue], Sequence[Adjoint]]"
"""The derivatives by the operands of an operation, from that by its result."""
RuleT = TypeVar("RuleT", bound=Callable[..., Sequence[Adjoint]])

RULES: dict[type[Operation], Rule] = {}
"""Operators with one result that is a tensor."""
TUPLE_RULES: dict[
    type[Operation],
    Callable[[GradientBuilder, Any, Sequence[Adjoint]], Sequence[Adjoint]],
] = {}
"""Operators whose result is a tuple."""


def rule(*kinds: type[Operation]) -> Callable[[RuleT], RuleT]:
    """Let a function be the rule of operators."""

    def register(function: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(kinds, function))
        return function

    return register


def unsupported(op: Operation, reason: str) -> NoReturn:
    """Raise the error of an operator whose gradient is not known."""
    raise PassFailedException(f"{PASS}: {op.name}: {reason}")


def is_differentiable(type_: Attribute) -> bool:
    """Whether values of a type have a derivative: floats, and tuples with some."""
    if isinstance(type_, TupleType):
        return any(map(is_differentiable, type_.fields.data))
    info = TensorInfo.of(type_)
    return info is not None and isinstance(info.dtype, AnyFloat)


class GradientBuilder(LocatedBuilder):
    """Inserts operators at the end of the block, for the gradient of one operation."""

    def of(self, kind: type[relax.OperatorOp], *arguments: Any, **named: Any) -> SSAValue:
        """Inserts an operator, constructed from what its class takes."""
        make: Callable[..., Operation] = kind
        return self.insert(make(*arguments, **named))

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.insert(relax.AddOp(lhs, rhs))

    def subtract(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.insert(relax.SubtractOp(lhs, rhs))

    def multiply(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.insert(relax.MultiplyOp(lhs, rhs))

    def divide(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.insert(relax.DivideOp(lhs, rhs))

    def negative(self, value: SSAValue) -> SSAValue:
        return self.insert(relax.NegativeOp(value))

    def number(self, number: float, like: SSAValue) -> SSAValue:
        """A constant of rank 0 that has the dtype of a tensor."""
        dtype = numpy_dtype(self.dtype(like))
        return self.insert(relax.ConstantOp(dense_of(np.asarray(number, dtype))))

    def array(self, array: np.ndarray[Any, Any], like: SSAValue) -> SSAValue:
        """A constant that has the dtype of a tensor."""
        dtype = numpy_dtype(self.dtype(like))
        return self.insert(relax.ConstantOp(dense_of(array.astype(dtype))))

    def shape(self, dims: Sequence[DimLike]) -> SSAValue:
        return self.insert(relax.ShapeOp(dims))

    def reshape(self, value: SSAValue, dims: Sequence[DimLike]) -> SSAValue:
        return self.insert(relax.ReshapeOp(value, self.shape(dims)))

    def permute(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """A permutation; one that another one has made is undone."""
        owner = value.owner
        if isinstance(owner, relax.PermuteDimsOp):
            rank = len(axes)
            inner = range(rank)[::-1] if owner.axes is None else owner.axes.get_values()
            both = [int(inner[axis]) % rank for axis in axes]
            if both == list(range(rank)):
                return owner.data
        if list(axes) == list(range(len(axes))):
            return value
        return self.insert(relax.PermuteDimsOp(value, axes))

    def dtype(self, value: SSAValue) -> Attribute:
        info = TensorInfo.of(value.type)
        if info is None or info.dtype is None:
            raise PassFailedException(
                f"{PASS}: the dtype of {value.type} is not known; declare it"
            )
        return info.dtype

    def rank(self, value: SSAValue) -> int:
        """The rank of a tensor. Raises PassFailedException where it is unknown."""
        info = TensorInfo.of(value.type)
        if info is None or info.rank is None:
            raise PassFailedException(
                f"{PASS}: the rank of {value.type} is not known; declare it"
            )
        return info.rank

    def dims(self, value: SSAValue) -> tuple[Dim, ...]:
        """The dimensions of a tensor. Raises PassFailedException for unknown ones."""
        info = TensorInfo.of(value.type)
        if info is None or info.shape is None:
            raise PassFailedException(
                f"{PASS}: the shape of {value.type} is not known; cast it by "
                "relax.match_cast to one with symbols"
            )
        return info.shape

    def extent(self, value: SSAValue, axis: int, op: Operation) -> int:
        """A dimension that must be a number."""
        found = self.dims(value)[axis].value
        if found is None:
            unsupported(
                op, f"dimension {axis} of {value.type} must be a number; bind the symbol"
            )
        return found

    def zeros(self, like: SSAValue) -> SSAValue:
        """Zeros of the shape and dtype of a tensor."""
        info = TensorInfo.of(like.type)
        if info is None or info.shape is None:
            return self.insert(relax.ZerosLikeOp(like))
        return self.insert(relax.ZerosOp(self.shape(info.shape), self.dtype(like)))

    def reduced(self, adjoint: SSAValue, operand: SSAValue) -> Adjoint:
        """What a broadcast operand gets: sums over the dimensions that it lacks."""
        if not is_differentiable(operand.type):
            return None
        given, wanted = TensorInfo.of(adjoint.type), TensorInfo.of(operand.type)
        assert wanted is not None, "a tensor"
        if wanted.shape is None:
            return self.insert(relax.CollapseSumLikeOp(adjoint, operand))
        if given is not None and given.shape is not None:
            pairs = zip(given.shape, wanted.shape, strict=False)
            same = all(provably_equal(one, other) for one, other in pairs)
            if same and len(given.shape) == len(wanted.shape):
                return adjoint
        shape = self.shape(wanted.shape)
        return self.insert(relax.CollapseSumToOp(adjoint, shape))

    def where_less(
        self, lhs: SSAValue, rhs: SSAValue, yes: SSAValue, no: SSAValue
    ) -> SSAValue:
        """One of two values, the first where `lhs` is less than `rhs`."""
        condition = self.insert(relax.LessOp(lhs, rhs))
        return self.insert(relax.WhereOp(condition, yes, no))

    def added(self, lhs: Adjoint, rhs: Adjoint) -> Adjoint:
        """The sum of two derivatives, field by field."""
        if lhs is None or rhs is None:
            return rhs if lhs is None else lhs
        if isinstance(lhs, list) or isinstance(rhs, list):
            assert isinstance(lhs, list), "of one type"
            assert isinstance(rhs, list), "of one type"
            return [self.added(a, b) for a, b in zip(lhs, rhs, strict=True)]
        return self.add(lhs, rhs)

    def whole(self, adjoint: Adjoint, value: SSAValue) -> SSAValue:
        """A derivative as a value, zeros where there is none."""
        type_ = value.type
        if not isinstance(type_, TupleType):
            assert not isinstance(adjoint, list), "of a tensor"
            return self.zeros(value) if adjoint is None else adjoint
        fields: Sequence[Adjoint] = (
            adjoint if isinstance(adjoint, list) else [None] * len(type_.fields.data)
        )
        values: list[SSAValue] = []
        for index, field in enumerate(fields):
            if isinstance(field, SSAValue):
                values.append(field)
            else:
                item = self.insert(relax.GetItemOp(value, index))
                values.append(self.whole(field, item))
        return self.insert(relax.TupleOp(values))
