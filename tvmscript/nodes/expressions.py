"""Expressions of TVMScript: trees that scripts build, before they become ops.

A tree mirrors TVM's expression nodes (docs/spec/tir-ir.md §3). Constructors of nodes are
raw: they neither convert nor fold, and raise ScriptTypeError where dtypes do not fit. The
functions and the Python operators build expressions as TVM's do (docs/spec/tir-ir.md §5):
operands are brought to one dtype, and operations on literals fold.

Nodes are compared by identity. `==` and the other comparisons build expressions, so two
nodes are told apart with `is`; a node has no truth value unless it is a literal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable
from typing import cast as typing_cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    NoneType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import (
    integer_range,
    is_ieee_float,
    largest_finite,
    promoted,
)
from xdsl_tvm.dialects.tir.folding import (
    FoldError,
    Literal,
    Side,
    fold_binary,
    fold_cast,
    fold_not,
)
from xdsl_tvm.dialects.tir.types import (
    MAX_LANES,
    HandleType,
    dtype_name,
    element_of,
    is_bool,
    is_custom,
    is_float,
    is_handle,
    is_int,
    is_integer,
    is_integer_type,
    is_scalable,
    is_vector,
    lanes_of,
    like_lanes,
    parse_dtype,
    with_lanes,
)

if TYPE_CHECKING:
    from xdsl_tvm.dialects.relax.symbolic import Dim
    from xdsl_tvm.tvmscript.nodes.statements import Buffer


VOID = NoneType()
"""The type of a call without a result."""


class ScriptTypeError(TypeError):
    """Operands whose dtypes, lanes or kinds do not fit."""


class Expr:
    """An expression; `type` is the xDSL type of its value."""

    type: Attribute

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype, such as `float32x4`."""
        return dtype_name(self.type)

    def astype(self, dtype: str | Attribute) -> Expr:
        """The expression converted to `dtype`; see `cast`."""
        return cast(dtype, self)

    def relax_dim(self) -> Dim:
        """The dimension of Relax that it is. Raises ScriptTypeError if it is none."""
        # Late: types of Relax are made of expressions.
        from xdsl_tvm.tvmscript.nodes.relax_types import dim_of

        return dim_of(self)

    def __add__(self, other: ExprLike) -> Expr:
        return add(self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return add(other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return sub(self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return sub(other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return mul(self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return mul(other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return divide(other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return floordiv(self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return floordiv(other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return floormod(self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return floormod(other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return shift_left(self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return shift_left(other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return shift_right(self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return shift_right(other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return bitwise_and(self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return bitwise_and(other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return bitwise_or(self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return bitwise_or(other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return bitwise_xor(self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return bitwise_xor(other, self)

    def __invert__(self) -> Expr:
        return bitwise_not(self)

    def __neg__(self) -> Expr:
        return negated(self)

    def __lt__(self, other: ExprLike) -> Expr:
        return compare(tir.CmpPredicate.LT, self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return compare(tir.CmpPredicate.LE, self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return compare(tir.CmpPredicate.GT, self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return compare(tir.CmpPredicate.GE, self, other)

    # Any, since object promises a bool; identity still decides in dicts and sets.
    def __eq__(self, other: object) -> Any:
        return compare(tir.CmpPredicate.EQ, self, convert(other))

    def __ne__(self, other: object) -> Any:
        return compare(tir.CmpPredicate.NE, self, convert(other))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        value = literal(self)
        if value is None:
            raise ScriptTypeError(
                f"an expression of type {self.dtype} has no truth value while the script "
                "is read; write T.if_then_else, T.Select, or an if statement"
            )
        return bool(value)


ExprLike: TypeAlias = "Expr | int | float | bool | str"
"""What stands for an expression: a Python number becomes a constant, a string an
immediate."""


# ---- nodes ----


@dataclass(eq=False, slots=True)
class Var(Expr):
    """A variable. Two with one name are two variables; names may change while a script
    is read."""

    name: str
    type: Attribute
    size_var: bool = False
    """Promises that the value is not negative, TVM's `SizeVar`."""
    thread_tag: str | None = None
    """The thread axis of a variable of `T.env_thread`."""


@dataclass(frozen=True, eq=False, slots=True)
class IntImm(Expr):
    """A constant of an integer dtype; bools are 0 and 1.

    Unsigned ones go up to 2^64 - 1. Raises ScriptTypeError for one out of range.
    """

    type: Attribute
    value: int

    def __post_init__(self) -> None:
        if not is_integer_type(self.type):
            raise ScriptTypeError(
                f"an integer constant needs a scalar integer dtype, got {self.type}"
            )
        low, high = integer_range(self.type)
        if not low <= self.value <= high:
            raise ScriptTypeError(f"{self.value} is out of range for {self.dtype}")


@dataclass(frozen=True, eq=False, slots=True)
class FloatImm(Expr):
    """A constant of a float dtype or a custom one, held as written, not rounded.

    Raises ScriptTypeError for a finite value beyond the largest of the dtype.
    """

    type: Attribute
    value: float

    def __post_init__(self) -> None:
        if isinstance(self.type, tir.CustomType):
            return
        if not isinstance(self.type, AnyFloat):
            raise ScriptTypeError(
                f"a float constant needs a scalar float dtype, got {self.type}"
            )
        if largest_finite(self.type) < abs(self.value) < float("inf"):
            raise ScriptTypeError(f"{self.value} is out of range for {self.dtype}")


@dataclass(frozen=True, eq=False, slots=True)
class StringImm(Expr):
    """A string, an operand of calls; its dtype is handle."""

    value: str
    type: Attribute = field(default_factory=HandleType)


ARITHMETIC = ("add", "sub", "mul", "div", "mod", "floordiv", "floormod", "min", "max")
LOGICAL = ("and", "or")


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Expr):
    """A node of two operands of one dtype; `op` is one of ARITHMETIC or LOGICAL."""

    op: str
    lhs: Expr
    rhs: Expr
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        _require_one_type(self.op, self.lhs, self.rhs)
        if self.op in LOGICAL:
            _require_bool(self.op, self.lhs)
        elif not any(kind(self.lhs.type) for kind in (is_integer, is_float, is_custom)):
            raise ScriptTypeError(
                f"{self.op}: operands must be numbers, got {self.lhs.dtype}"
            )
        object.__setattr__(self, "type", self.lhs.type)


@dataclass(frozen=True, eq=False, slots=True)
class Compare(Expr):
    """A comparison: `EQ`, `NE`, `LT`, `LE`, `GT` or `GE`."""

    predicate: tir.CmpPredicate
    lhs: Expr
    rhs: Expr
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        _require_one_type(f"comparison {self.predicate}", self.lhs, self.rhs)
        object.__setattr__(self, "type", like_lanes(i1, self.lhs.type))


@dataclass(frozen=True, eq=False, slots=True)
class Not(Expr):
    """A negation."""

    value: Expr
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        _require_bool("not", self.value)
        object.__setattr__(self, "type", self.value.type)


@dataclass(frozen=True, eq=False, slots=True)
class Select(Expr):
    """A choice between two values that are both evaluated."""

    condition: Expr
    true_value: Expr
    false_value: Expr
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        _require_one_type("Select", self.true_value, self.false_value)
        _require_bool("Select", self.condition)
        dtype = self.true_value.type
        if self.condition.type not in (i1, like_lanes(i1, dtype)):
            raise ScriptTypeError(
                f"Select: a condition of type {self.condition.dtype} does not fit values "
                f"of type {self.true_value.dtype}"
            )
        object.__setattr__(self, "type", dtype)


@dataclass(frozen=True, eq=False, slots=True)
class Cast(Expr):
    """A conversion to another dtype of the same lanes."""

    type: Attribute
    value: Expr

    def __post_init__(self) -> None:
        if is_handle(self.type) or is_handle(self.value.type):
            raise ScriptTypeError("Cast: a handle cannot be converted; use T.reinterpret")
        if like_lanes(self.type, self.value.type) != self.type:
            raise ScriptTypeError(
                f"Cast: {self.value.dtype} and {self.dtype} differ in lanes"
            )


@dataclass(frozen=True, eq=False, slots=True)
class Ramp(Expr):
    """The vector `base + lane * stride`; `type` says how many lanes."""

    base: Expr
    stride: Expr
    type: Attribute


@dataclass(frozen=True, eq=False, slots=True)
class Broadcast(Expr):
    """A vector of equal lanes; `type` says how many."""

    value: Expr
    type: Attribute


@dataclass(frozen=True, eq=False, slots=True)
class Shuffle(Expr):
    """Lanes picked by index from the concatenation of vectors or scalars."""

    vectors: tuple[Expr, ...]
    indices: tuple[Expr, ...]
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        elements = {element_of(vector.type) for vector in self.vectors}
        if len(elements) != 1 or not self.indices:
            raise ScriptTypeError(
                "Shuffle: needs vectors of one element type and at least one index"
            )
        dtype = with_lanes(self.vectors[0].type, len(self.indices))
        object.__setattr__(self, "type", dtype)


@dataclass(frozen=True, eq=False, slots=True)
class Let(Expr):
    """`body` with `var` bound to `value`, which is evaluated once before it."""

    var: Var
    value: Expr
    body: Expr
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self.body.type)


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expr):
    """A call of a builtin, by its name without `tir.`; `type` is `none` for void.

    Lazy choice is the builtin `if_then_else`. Operands that are places, as those of
    `address_of`, are BufferLoads.
    """

    name: str
    args: tuple[Expr | Reducer, ...]
    type: Attribute


@dataclass(frozen=True, eq=False, slots=True)
class CallFunc(Expr):
    """A call of a function of the module; `type` is `none` for void."""

    symbol: str
    args: tuple[Expr, ...]
    type: Attribute


@dataclass(frozen=True, slots=True)
class GlobalVar:
    """A function of the module; calling it makes a call of it."""

    name: str
    ret_type: Attribute | None = None
    """What the function returns, None for nothing."""

    def __call__(self, *args: ExprLike) -> CallFunc:
        operands = tuple(convert(arg) for arg in args)
        return CallFunc(self.name, operands, self.ret_type or VOID)


@dataclass(frozen=True, eq=False, slots=True)
class BufferLoad(Expr):
    """The element of a buffer at `indices`, or a vector of them.

    The last index may be a vector; the predicate masks its lanes.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    predicate: Expr | None = None
    type: Attribute = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", accessed_type(self.buffer, self.indices))


@dataclass(frozen=True, eq=False, slots=True)
class Reducer:
    """A commutative reduction of n values, `CommReducer`.

    `result` combines the variables `lhs` and `rhs`, n of each; `identity` are its neutral
    elements.
    """

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]


def operands(node: Expr) -> Sequence[Expr]:
    """The expressions that an expression is made of, in the order of evaluation."""
    match node:
        # Those that most nodes are.
        case Var() | IntImm():
            return ()
        case Binary() | Compare():
            return (node.lhs, node.rhs)
        case Not() | Cast() | Broadcast():
            return (node.value,)
        case Select():
            return (node.condition, node.true_value, node.false_value)
        case Ramp():
            return (node.base, node.stride)
        case Shuffle():
            return (*node.vectors, *node.indices)
        case Let():
            return (node.value, node.body)
        case Call():
            return tuple(arg for arg in node.args if isinstance(arg, Expr))
        case CallFunc():
            return node.args
        case BufferLoad():
            mask = node.predicate
            return node.indices if mask is None else (*node.indices, mask)
        case _:
            return ()


def accessed_type(buffer: Buffer, indices: Sequence[Expr]) -> Attribute:
    """The type of the value that an access of `buffer` reads or writes.

    Raises ScriptTypeError where the indices do not fit (docs/spec/tir-ir.md §3.5).
    """
    if len(indices) != len(buffer.shape):
        raise ScriptTypeError(
            f"buffer {buffer.name} has {len(buffer.shape)} dimensions, indexed by "
            f"{len(indices)}"
        )
    for index in indices:
        if not is_integer(index.type):
            raise ScriptTypeError(
                f"buffer {buffer.name} is indexed by a value of type {index.dtype}"
            )
    if any(is_vector(index.type) for index in indices[:-1]):
        raise ScriptTypeError(
            f"buffer {buffer.name}: only the last index may be a vector"
        )
    element = buffer.type
    if not indices or not is_vector(indices[-1].type):
        return element
    index = indices[-1].type
    if is_scalable(index) and is_scalable(element):
        raise ScriptTypeError(
            f"buffer {buffer.name}: index and element cannot both be scalable vectors"
        )
    return with_lanes(
        element,
        lanes_of(element) * lanes_of(index),
        scalable=is_scalable(element) or is_scalable(index),
    )


def _require_one_type(what: str, lhs: Expr, rhs: Expr) -> None:
    if lhs.type != rhs.type:
        raise ScriptTypeError(
            f"{what}: operands must have one dtype, got {lhs.dtype} and {rhs.dtype}"
        )


def _require_bool(what: str, value: Expr) -> None:
    if not is_bool(value.type):
        raise ScriptTypeError(f"{what}: the operand must be a bool, got {value.dtype}")


# ---- constants and conversion ----


def literal(value: Expr) -> Literal | None:
    """The number of a constant, None for any other expression.

    What constants of custom dtypes stand for, and so their arithmetic, is not known.
    """
    if not isinstance(value, IntImm | FloatImm) or isinstance(value.type, tir.CustomType):
        return None
    return value.value


def _type_of_number(value: float) -> Attribute:
    if isinstance(value, bool):
        return i1
    if isinstance(value, int):
        return i32 if -(1 << 31) <= value < 1 << 31 else i64
    return f32


def as_type(dtype: str | Attribute) -> Attribute:
    """The xDSL type of a dtype given as one or as TVM's name.

    Raises ScriptTypeError for an unknown name.
    """
    if isinstance(dtype, Attribute):
        return dtype
    try:
        return parse_dtype(dtype)
    except ValueError as error:
        raise ScriptTypeError(str(error)) from None


def const(value: float, dtype: str | Attribute | None = None) -> Expr:
    """A constant; without a dtype int32 (int64 if needed), float32 or bool.

    Of a vector dtype it is a broadcast. A float for an integer dtype is truncated.
    """
    target = _type_of_number(value) if dtype is None else as_type(dtype)
    if is_vector(target):
        return Broadcast(const(value, element_of(target)), target)
    if is_integer_type(target):
        return IntImm(target, int(value != 0) if target == i1 else int(value))
    if isinstance(target, AnyFloat | tir.CustomType):
        return FloatImm(target, float(value))
    raise ScriptTypeError(f"there is no constant of type {target}")


@runtime_checkable
class Convertible(Protocol):
    """What stands for an expression where one is expected, as a buffer region does."""

    def as_expr(self) -> Expr:
        """The expression. Raises ScriptTypeError where there is none."""
        ...


def convert(value: object) -> Expr:
    """The expression that a Python value stands for.

    Raises ScriptTypeError for a value that is none, such as a list or a buffer.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic):
        scalar = typing_cast("np.generic[Any]", value)
        return const(scalar.item(), str(scalar.dtype))
    if isinstance(value, bool | int | float):
        return const(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, Convertible):
        return value.as_expr()
    raise ScriptTypeError(
        f"expected an expression or a number, got a {type(value).__name__}"
    )


def cast(dtype: str | Attribute, value: ExprLike) -> Expr:
    """`value` converted to `dtype`: constants fold, scalars become vectors.

    docs/spec/tir-ir.md §5.2.
    """
    target, source = as_type(dtype), convert(value)
    if source.type == target:
        return source
    if is_vector(target) and not is_vector(source.type):
        return Broadcast(cast(element_of(target), source), target)
    if is_vector(target):
        return _cast_vector(target, source)
    number = literal(source)
    if number is not None:
        folded = _folded_cast(target, number)
        if folded is not None:
            return const(folded, target)
    return Cast(target, source)


def _cast_vector(target: Attribute, source: Expr) -> Expr:
    element = element_of(target)
    if like_lanes(target, source.type) == target:
        if isinstance(source, Broadcast):
            return Broadcast(cast(element, source.value), target)
        if isinstance(source, Ramp) and is_integer(element):
            return Ramp(cast(element, source.base), cast(element, source.stride), target)
    return Cast(target, source)


def _folded_cast(target: Attribute, number: Literal) -> Literal | None:
    if is_integer_type(target) and target != i1 and isinstance(number, int):
        # Not wrapped around: a constant that does not fit its dtype is an error.
        return number
    try:
        return fold_cast(target, number)
    except FoldError as error:
        raise ScriptTypeError(str(error)) from None


def broadcast_to(value: Expr, shaped: Attribute) -> Expr:
    """A scalar `value` with the lanes of the vector type `shaped`."""
    return Broadcast(value, like_lanes(value.type, shaped))


def lanes_type(element: Attribute, lanes: ExprLike) -> Attribute:
    """The vector type of `lanes` elements: a constant, or `vscale() * k`.

    Raises ScriptTypeError for any other number of lanes.
    """
    count = convert(lanes)
    number = literal(count)
    if isinstance(number, int) and number >= 1:
        _check_lanes(number)
        return with_lanes(element, number)
    factor = _vscale_factor(count)
    if factor is None:
        raise ScriptTypeError(
            "the number of lanes must be a positive constant or a multiple of T.vscale()"
        )
    _check_lanes(factor)
    return with_lanes(element, factor, scalable=True)


def _check_lanes(count: int) -> None:
    if count > MAX_LANES:
        raise ScriptTypeError(
            f"{count} lanes are more than the {MAX_LANES} that a vector can have; use a "
            "loop over shorter vectors"
        )


def _vscale_factor(count: Expr) -> int | None:
    """The k of `vscale() * k` and `k * vscale()`."""
    if not isinstance(count, Binary) or count.op != "mul":
        return None
    for call, factor in ((count.lhs, count.rhs), (count.rhs, count.lhs)):
        number = literal(factor)
        if isinstance(call, Call) and call.name == "vscale" and isinstance(number, int):
            return number
    return None


def ramp(base: ExprLike, stride: ExprLike, lanes: ExprLike) -> Expr:
    """The vector of `lanes` from `base` on; one lane is the scalar `base`."""
    start = convert(base)
    if literal(convert(lanes)) == 1:
        return start
    return Ramp(start, cast(start.type, stride), lanes_type(start.type, lanes))


def broadcast(value: ExprLike, lanes: ExprLike) -> Expr:
    """A vector of `lanes` times `value`; one lane is the scalar."""
    scalar = convert(value)
    if literal(convert(lanes)) == 1:
        return scalar
    return Broadcast(scalar, lanes_type(scalar.type, lanes))


def match_types(lhs: ExprLike, rhs: ExprLike) -> tuple[Expr, Expr]:
    """Both operands in the one dtype that TVM computes with (docs/spec/tir-ir.md §5.1).

    Raises ScriptTypeError where there is none.
    """
    left, right = convert(lhs), convert(rhs)
    if left.type == right.type:
        return left, right
    if is_vector(left.type) and not is_vector(right.type):
        right = broadcast_to(right, left.type)
    elif is_vector(right.type) and not is_vector(left.type):
        left = broadcast_to(left, right.type)
    if like_lanes(left.type, right.type) != left.type:
        raise ScriptTypeError(f"cannot match the lanes of {left.dtype} and {right.dtype}")
    try:
        common = promoted(element_of(left.type), element_of(right.type))
    except ValueError:
        raise ScriptTypeError(
            f"cannot match the dtypes {left.dtype} and {right.dtype}; convert one with "
            "T.cast"
        ) from None
    return (
        cast(like_lanes(common, left.type), left),
        cast(like_lanes(common, right.type), right),
    )


# ---- operations ----


def _binary(op: str, lhs: ExprLike, rhs: ExprLike) -> Expr:
    left, right = match_types(lhs, rhs)
    return folded_binary(op, left, right)


def folded_binary(op: str, lhs: Expr, rhs: Expr) -> Expr:
    """The node `op` of two operands of one dtype, or what it folds to.

    docs/spec/tir-ir.md §5.3.
    """
    if op in ("min", "max") and lhs is rhs:
        return lhs
    match _fold(op, lhs, rhs):
        case None:
            return Binary(op, lhs, rhs)
        case Side.LHS:
            return lhs
        case Side.RHS:
            return rhs
        case number:
            return const(number, lhs.type)


def _fold(op: str, lhs: Expr, rhs: Expr) -> Literal | Side | None:
    try:
        return fold_binary(op, lhs.type, literal(lhs), literal(rhs))
    except FoldError as error:
        raise ScriptTypeError(str(error)) from None


def add(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs + rhs`."""
    return _binary("add", lhs, rhs)


def sub(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs - rhs`."""
    return _binary("sub", lhs, rhs)


def mul(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs * rhs`."""
    return _binary("mul", lhs, rhs)


def div(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The quotient, rounded toward zero for integers."""
    return _binary("div", lhs, rhs)


def divide(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """Python's `/`: refused for two signed integers, whose rounding it does not say."""
    left, right = convert(lhs), convert(rhs)
    if is_int(left.type) and is_int(right.type):
        raise ScriptTypeError(
            "'/' of two integers is ambiguous; use '//' or T.floordiv to round down, "
            "T.truncdiv to round toward zero"
        )
    return div(left, right)


def truncdiv(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The quotient of integers rounded toward zero."""
    left, right = _integers("truncdiv", lhs, rhs)
    return div(left, right)


def truncmod(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The remainder of `truncdiv`."""
    return _binary("mod", *_integers("truncmod", lhs, rhs))


def floordiv(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The quotient of integers rounded down."""
    return _binary("floordiv", *_integers("floordiv", lhs, rhs))


def floormod(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The remainder of `floordiv`."""
    return _binary("floormod", *_integers("floormod", lhs, rhs))


def ceildiv(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The quotient of integers rounded up, for a positive divisor."""
    return floordiv(sub(add(lhs, rhs), 1), rhs)


def _integers(what: str, lhs: ExprLike, rhs: ExprLike) -> tuple[Expr, Expr]:
    left, right = convert(lhs), convert(rhs)
    if not (is_integer(left.type) and is_integer(right.type)):
        raise ScriptTypeError(
            f"{what}: operands must be integers, got {left.dtype} and {right.dtype}"
        )
    return left, right


def product(factors: Sequence[Expr]) -> Expr:
    """The product, 1 of none."""
    result: Expr | None = None
    for factor in factors:
        result = factor if result is None else mul(result, factor)
    return const(1) if result is None else result


def minimum(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The smaller one."""
    return _binary("min", lhs, rhs)


def maximum(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """The larger one."""
    return _binary("max", lhs, rhs)


def negated(value: ExprLike) -> Expr:
    """Python's unary minus: the product with -1."""
    operand = convert(value)
    return mul(operand, const(-1, operand.type))


def compare(predicate: tir.CmpPredicate, lhs: ExprLike, rhs: ExprLike) -> Expr:
    """A comparison that matches dtypes and folds, as Python's operators make it."""
    left, right = match_types(lhs, rhs)
    folded = _fold(str(predicate), left, right)
    if folded is None or isinstance(folded, Side):
        return Compare(predicate, left, right)
    return const(bool(folded))


def raw_compare(predicate: tir.CmpPredicate, lhs: ExprLike, rhs: ExprLike) -> Expr:
    """A comparison as a script's text means it: nothing folds, and only Python numbers
    and scalars next to vectors adapt (docs/spec/tvmscript.md §3.3)."""
    left, right = _adapted(lhs, rhs), _adapted(rhs, lhs)
    if is_vector(left.type) and not is_vector(right.type):
        right = broadcast_to(right, left.type)
    elif is_vector(right.type) and not is_vector(left.type):
        left = broadcast_to(left, right.type)
    return Compare(predicate, left, right)


def _adapted(value: ExprLike, other: ExprLike) -> Expr:
    if isinstance(value, Expr) or not isinstance(other, Expr):
        return convert(value)
    element = element_of(other.type)
    if isinstance(value, int) and is_integer(element):
        return const(int(value), element)
    if isinstance(value, int | float) and is_ieee_float(element):
        return const(float(value), element)
    return convert(value)


def logical(op: str, lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`and` or `or` that folds."""
    left, right = match_types(lhs, rhs)
    return folded_binary(op, left, right)


def logical_not(value: ExprLike) -> Expr:
    """`not` that folds."""
    operand = convert(value)
    folded = fold_not(literal(operand))
    return Not(operand) if folded is None else const(bool(folded))


def _integer_call(name: str, lhs: ExprLike, rhs: ExprLike) -> Expr:
    left, right = match_types(*_integers(name, lhs, rhs))
    folded = _fold(name, left, right)
    match folded:
        case None:
            return Call(name, (left, right), left.type)
        case Side.LHS:
            return left
        case Side.RHS:
            return right
        case number:
            return const(number, left.type)


def shift_left(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs << rhs`."""
    return _integer_call("shift_left", lhs, rhs)


def shift_right(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs >> rhs`, arithmetic for signed integers."""
    return _integer_call("shift_right", lhs, rhs)


def bitwise_and(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs & rhs`."""
    return _integer_call("bitwise_and", lhs, rhs)


def bitwise_or(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs | rhs`."""
    return _integer_call("bitwise_or", lhs, rhs)


def bitwise_xor(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs ^ rhs`."""
    return _integer_call("bitwise_xor", lhs, rhs)


def bitwise_not(value: ExprLike) -> Expr:
    """`~value`."""
    operand = convert(value)
    if not is_integer(operand.type):
        raise ScriptTypeError(f"'~' needs an integer, got {operand.dtype}")
    return Call("bitwise_not", (operand,), operand.type)


def if_then_else(
    condition: ExprLike, true_value: ExprLike, false_value: ExprLike
) -> Expr:
    """The lazy choice: only the branch taken is evaluated; a constant condition folds."""
    left, right = match_types(true_value, false_value)
    test = convert(condition)
    if test.type != i1:
        raise ScriptTypeError(
            f"if_then_else: the condition must be a scalar bool, got {test.dtype}"
        )
    number = literal(test)
    if number is not None:
        return left if number else right
    return Call("if_then_else", (test, left, right), left.type)


def likely(condition: ExprLike) -> Expr:
    """A hint that the condition mostly holds; constants stay as they are."""
    value = convert(condition)
    return value if literal(value) is not None else Call("likely", (value,), value.type)
