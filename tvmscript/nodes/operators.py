"""Functions of TVMScript that make expressions: nodes, helpers and builtins.

Names in capitals are raw nodes, as in TVM: they neither convert nor fold. The helpers
match dtypes and fold constants (docs/spec/tir-ir.md §5). Builtins come from the table of
the dialect, by their script names.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast, overload

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    NoneType,
    f32,
    i1,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import finite_range
from xdsl_tvm.dialects.tir.builtin_rules import DtypePlace, Intrinsic, ResultRule
from xdsl_tvm.dialects.tir.builtins_table import builtin
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype, DtypeLike, dtype_of
from xdsl_tvm.tvmscript.nodes.expressions import Expr, ExprLike, ScriptTypeError, Var
from xdsl_tvm.tvmscript.nodes.statements import Buffer, Range
from xdsl_tvm.tvmscript.reading.linear_form import behind

# ---- raw nodes ----


def _raw_binary(name: str, op: str) -> Callable[[ExprLike, ExprLike], Expr]:
    def make(a: ExprLike, b: ExprLike) -> Expr:
        return ex.Binary(op, ex.convert(a), ex.convert(b))

    make.__name__ = name
    make.__doc__ = f"The node `{name}`; operands of one dtype, nothing folds."
    return make


def _raw_compare(
    name: str, predicate: tir.CmpPredicate
) -> Callable[[ExprLike, ExprLike], Expr]:
    def make(a: ExprLike, b: ExprLike) -> Expr:
        return ex.Compare(predicate, ex.convert(a), ex.convert(b))

    make.__name__ = name
    make.__doc__ = f"The comparison `{name}`; operands of one dtype, nothing folds."
    return make


Add = _raw_binary("Add", "add")
Sub = _raw_binary("Sub", "sub")
Mul = _raw_binary("Mul", "mul")
Div = _raw_binary("Div", "div")
Mod = _raw_binary("Mod", "mod")
FloorDiv = _raw_binary("FloorDiv", "floordiv")
FloorMod = _raw_binary("FloorMod", "floormod")
Min = _raw_binary("Min", "min")
Max = _raw_binary("Max", "max")
And = _raw_binary("And", "and")
Or = _raw_binary("Or", "or")
EQ = _raw_compare("EQ", tir.CmpPredicate.EQ)
NE = _raw_compare("NE", tir.CmpPredicate.NE)
LT = _raw_compare("LT", tir.CmpPredicate.LT)
LE = _raw_compare("LE", tir.CmpPredicate.LE)
GT = _raw_compare("GT", tir.CmpPredicate.GT)
GE = _raw_compare("GE", tir.CmpPredicate.GE)


def Not(value: ExprLike) -> Expr:
    """The node `Not`."""
    return ex.Not(ex.convert(value))


def Select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """The choice between two values that are both evaluated; nothing is converted."""
    return ex.Select(
        ex.convert(condition), ex.convert(true_value), ex.convert(false_value)
    )


def Cast(dtype: DtypeLike, value: ExprLike) -> Expr:
    """The node `Cast`, also of a constant."""
    return ex.Cast(dtype_of(dtype), ex.convert(value))


def Ramp(base: ExprLike, stride: ExprLike, lanes: ExprLike) -> Expr:
    """The vector `base + lane * stride`; lanes are a constant or `T.vscale() * k`."""
    return ex.ramp(base, stride, lanes)


def Broadcast(value: ExprLike, lanes: ExprLike) -> Expr:
    """A vector of equal lanes; lanes are a constant or `T.vscale() * k`."""
    return ex.broadcast(value, lanes)


def Shuffle(vectors: Sequence[ExprLike], indices: Sequence[ExprLike]) -> Expr:
    """Lanes by index from the concatenation of vectors."""
    return ex.Shuffle(tuple(map(ex.convert, vectors)), tuple(map(ex.convert, indices)))


def IntImm(dtype: DtypeLike, value: int) -> Expr:
    """An integer constant."""
    return ex.IntImm(dtype_of(dtype), value)


def FloatImm(dtype: DtypeLike, value: float) -> Expr:
    """A float constant."""
    return ex.FloatImm(dtype_of(dtype), float(value))


def StringImm(value: str) -> Expr:
    """A string."""
    return ex.StringImm(value)


def make_var(name: str = "", dtype: DtypeLike = "int32") -> Var:
    """A variable, `T.Var`."""
    return Var(name, dtype_of(dtype))


def SizeVar(name: str, dtype: DtypeLike = "int32") -> Var:
    """A variable that is not negative."""
    return Var(name, dtype_of(dtype), True)


def var(dtype: DtypeLike = "int32", name: str = "") -> Var:
    """The deprecated spelling of a variable."""
    return Var(name, dtype_of(dtype))


def Let(body: ExprLike, where: Mapping[Var, ExprLike]) -> Expr:
    """`body` with the variables of `where` bound, the first one outermost."""
    result = ex.convert(body)
    for variable, value in reversed(list(where.items())):
        bound = ex.convert(value)
        pointers = tir.is_handle(bound.type) and tir.is_handle(variable.type)
        if bound.type != variable.type and not pointers:
            raise ScriptTypeError(
                f"T.Let: a value of type {bound.dtype} for the variable "
                f"{variable.name} of type {variable.dtype}"
            )
        result = ex.Let(variable, bound, result)
    return result


@dataclass(frozen=True)
class LetAnnotation:
    """`T.let` and `T.let[dtype]`: newer TVM's annotation of a binding that stays.

    `T.let(v, value, body)` is the deprecated spelling of the expression `T.Let`.
    """

    type: Attribute | None = None
    """None for the dtype of the value."""

    # Python would take it apart by indices from 0 on, without an end.
    __iter__ = None

    def __getitem__(self, dtype: DtypeLike | Var) -> LetAnnotation:
        return LetAnnotation(dtype.type if isinstance(dtype, Var) else dtype_of(dtype))

    def __call__(self, v: Var, value: ExprLike, body: ExprLike) -> Expr:
        return Let(body, {v: value})


let = LetAnnotation()


def buffer_load(
    buffer: Buffer, indices: Sequence[object], predicate: ExprLike | None = None
) -> Expr:
    """The node `BufferLoad`."""
    return buffer.load(*indices, predicate=predicate)


# ---- helpers (docs/spec/tir-ir.md §5.4) ----


def _folded_float(value: Expr, fold: Callable[[float], float]) -> Expr | None:
    if isinstance(value, ex.FloatImm) and math.isfinite(value.value):
        return ex.const(float(fold(value.value)), value.type)
    return None


def _rounding(name: str, fold: Callable[[float], float]) -> Callable[[ExprLike], Expr]:
    def make(value: ExprLike) -> Expr:
        operand = ex.convert(value)
        if tir.is_integer(operand.type):
            return operand
        folded = _folded_float(operand, fold)
        return call_builtin(name, operand) if folded is None else folded

    make.__name__ = name
    make.__doc__ = f"`{name}`; integers stay as they are, constants fold."
    return make


floor = _rounding("floor", math.floor)
ceil = _rounding("ceil", math.ceil)
trunc = _rounding("trunc", math.trunc)
nearbyint = _rounding("nearbyint", round)
round_ = _rounding("round", round)


def abs_(value: ExprLike) -> Expr:
    """The absolute value: a select for signed integers, `fabs` for floats."""
    operand = ex.convert(value)
    if tir.is_uint(operand.type):
        return operand
    if tir.is_integer(operand.type):
        zero = ex.const(0, operand.type)
        negative = ex.sub(zero, operand)
        if isinstance(operand, ex.IntImm):
            return operand if operand.value >= 0 else negative
        is_positive = ex.compare(tir.CmpPredicate.GE, operand, zero)
        return ex.Select(is_positive, operand, negative)
    if isinstance(operand, ex.FloatImm):
        return ex.const(math.fabs(operand.value), operand.type)
    return call_builtin("fabs", operand)


def _bool_like(value: bool, operand: Expr) -> Expr:
    return ex.const(value, tir.like_lanes(i1, operand.type))


def isnan(value: ExprLike) -> Expr:
    """Whether a float is NaN; false for integers."""
    operand = ex.convert(value)
    if tir.is_integer(operand.type):
        return _bool_like(False, operand)
    if isinstance(operand, ex.FloatImm):
        return ex.const(math.isnan(operand.value))
    element = tir.element_of(operand.type)
    if isinstance(element, Float16Type | BFloat16Type):
        operand = ex.cast(tir.like_lanes(f32, operand.type), operand)
    elif not isinstance(element, Float32Type | Float64Type):
        raise ScriptTypeError(
            f"T.isnan takes float16, bfloat16, float32 or float64, got {operand.dtype}"
        )
    return call_builtin("isnan", operand)


def isinf(value: ExprLike) -> Expr:
    """Whether a float is infinite; false for integers."""
    operand = ex.convert(value)
    if tir.is_integer(operand.type):
        return _bool_like(False, operand)
    limit = ex.const(math.inf, operand.type)
    is_limit = ex.compare(tir.CmpPredicate.EQ, abs_(operand), limit)
    return ex.logical("and", is_limit, ex.logical_not(isnan(operand)))


def isfinite(value: ExprLike) -> Expr:
    """Whether a float is neither infinite nor NaN; true for integers."""
    operand = ex.convert(value)
    if tir.is_integer(operand.type):
        return _bool_like(True, operand)
    is_finite = ex.logical_not(isinf(operand))
    return ex.logical("and", is_finite, ex.logical_not(isnan(operand)))


def _float_pair(name: str, lhs: ExprLike, rhs: ExprLike) -> Expr:
    left, right = ex.match_types(lhs, rhs)
    if not tir.is_float(left.type):
        raise ScriptTypeError(f"T.{name} takes floats, got {left.dtype}")
    return call_builtin(name, left, right)


def pow_(x: ExprLike, y: ExprLike) -> Expr:
    """`x` to the power of `y`, floats of one dtype."""
    return _float_pair("pow", x, y)


def fmod(x: ExprLike, y: ExprLike) -> Expr:
    """The remainder of floats with the sign of `x`."""
    return _float_pair("fmod", x, y)


def max_value(dtype: DtypeLike) -> Expr:
    """The largest finite constant of a dtype."""
    return _limits(dtype)[1]


def min_value(dtype: DtypeLike) -> Expr:
    """The smallest finite constant of a dtype."""
    return _limits(dtype)[0]


def _limits(dtype: DtypeLike) -> tuple[Expr, Expr]:
    target = dtype_of(dtype)
    try:
        low, high = finite_range(target)
    except ValueError:
        raise ScriptTypeError(f"there are no limits of type {target}") from None
    return ex.const(low, target), ex.const(high, target)


def infinity(dtype: DtypeLike) -> Expr:
    """Positive infinity of float16, 32 or 64."""
    target = dtype_of(dtype)
    if not isinstance(target, Float16Type | Float32Type | Float64Type):
        raise ScriptTypeError(f"there is no infinity of type {target}")
    return ex.const(math.inf, target)


def cast_(value: ExprLike, dtype: DtypeLike) -> Expr:
    """`value` converted to `dtype`; constants fold."""
    return ex.cast(dtype_of(dtype), value)


def reinterpret(*args: object, dtype: DtypeLike | None = None) -> Expr:
    """The bits of a value as another dtype: `T.reinterpret("int32", x)`."""
    if dtype is None and len(args) == 2:
        dtype, args = _as_dtype("reinterpret", args[0]), args[1:]
    if dtype is None or len(args) != 1:
        raise ScriptTypeError("T.reinterpret takes a dtype and a value")
    target, operand = dtype_of(dtype), ex.convert(args[0])
    if operand.type == target:
        return operand
    return ex.Call("reinterpret", (operand,), target)


def ret(value: ExprLike) -> Expr:
    """A return from the function; `T.evaluate` of it is the statement."""
    operand = ex.convert(value)
    return ex.Call("ret", (operand,), operand.type)


def address_of(place: object) -> Expr:
    """The address of an element, `T.address_of(A[i])`; nothing is read."""
    if isinstance(place, Buffer):
        zeros = tuple(ex.const(0, extent.type) for extent in place.shape)
        place = ex.BufferLoad(place, zeros)
    if not isinstance(place, ex.BufferLoad):
        raise ScriptTypeError("T.address_of takes an element of a buffer, as in A[0]")
    pointer = tir.PtrType(place.type, place.buffer.scope())
    return ex.Call("address_of", (place,), pointer)


def tvm_access_ptr(
    ptype: Expr, data: ExprLike, offset: ExprLike, extent: ExprLike, rw_mask: ExprLike
) -> Expr:
    """A pointer with the region that its user accesses, in elements of `ptype`."""
    pointer = ex.convert(data)
    scope = pointer.type.scope if isinstance(pointer.type, tir.PtrType) else "global"
    operands = (ptype, pointer, *map(ex.convert, (offset, extent, rw_mask)))
    return ex.Call("tvm_access_ptr", operands, tir.PtrType(ptype.type, scope))


@overload
def comm_reducer(
    combiner: Callable[[Expr, Expr], ExprLike], identity: Sequence[ExprLike]
) -> ex.Reducer: ...
@overload
def comm_reducer(
    combiner: Callable[..., object], identity: Sequence[ExprLike]
) -> ex.Reducer: ...
def comm_reducer(
    combiner: Callable[..., object], identity: Sequence[ExprLike]
) -> ex.Reducer:
    """A commutative reduction: `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`.

    The function of n values takes 2 n parameters and returns a tuple for n > 1.
    """
    neutral = tuple(map(ex.convert, identity))
    names = list(inspect.signature(combiner).parameters)
    count = len(neutral)
    if len(names) != 2 * count:
        raise ScriptTypeError(
            f"T.comm_reducer: a reduction of {count} values takes {2 * count} "
            f"parameters, the function has {len(names)}"
        )
    variables = tuple(
        Var(name, value.type) for name, value in zip(names, neutral * 2, strict=True)
    )
    result = combiner(*variables)
    values = cast("Sequence[object]", result) if _is_sequence(result) else (result,)
    results = tuple(
        ex.cast(value.type, ex.convert(each))
        for each, value in zip(values, neutral, strict=True)
    )
    return ex.Reducer(variables[:count], variables[count:], results, neutral)


def _is_sequence(value: object) -> bool:
    return isinstance(value, tuple | list)


@dataclass(frozen=True, eq=False, slots=True)
class IndexMap:
    """A map of indices to new ones, docs/spec/tir-ir.md §8."""

    initial_indices: tuple[Var, ...]
    final_indices: tuple[Expr, ...]
    inverse: IndexMap | None = None


def index_map(
    mapping: Callable[..., object],
    *,
    inverse_index_map: IndexMap | Callable[..., object] | None = None,
    index_dtype: DtypeLike = "int64",
) -> IndexMap:
    """The map of a function on indices, `T.index_map(lambda i, j: (j, i))`."""
    dtype = dtype_of(index_dtype)
    names = inspect.signature(mapping).parameters
    variables = tuple(Var(name, dtype) for name in names)
    result = mapping(*variables)
    values = cast("Sequence[object]", result) if _is_sequence(result) else (result,)
    if callable(inverse_index_map):
        inverse_index_map = index_map(inverse_index_map, index_dtype=index_dtype)
    return IndexMap(variables, tuple(map(ex.convert, values)), inverse_index_map)


def target(
    config: str | Mapping[str, object] | tir.Target,
    host: str | Mapping[str, object] | tir.Target | None = None,
) -> tir.Target:
    """What code is compiled for; see `tir.Target.parse`.

    Raises ScriptTypeError for an unknown kind, tag or attribute.
    """
    try:
        made = tir.Target.parse(config)
        return made if host is None else made.with_host(host)
    except (ValueError, VerifyException) as error:
        raise ScriptTypeError(f"T.target: {error}") from None


def make_range(begin: ExprLike, end: ExprLike | None = None) -> Range:
    """The integers from `begin` up to `end`, or from 0 up to `begin`: `T.Range`."""
    if end is None:
        extent = ex.convert(begin)
        return Range(ex.const(0, extent.type), extent)
    start, stop = ex.convert(begin), ex.convert(end)
    if ex.literal(start) == 0:
        return Range(start, stop)
    rest = behind(start, stop)
    return Range(start, ex.sub(stop, start) if rest is None else rest)


# ---- builtins ----


def call_builtin(
    name: str, *args: object, dtype: DtypeLike | None = None, **named: object
) -> Expr:
    """A call of the builtin that TVM or TVMScript calls `name`.

    Without `dtype` the result has the type by the rule of the builtin, or the one that
    scripts write as first or last operand. Operands may be named.

    Raises ScriptTypeError where there is no such builtin, or the operands do not fit.
    """
    known = _builtin(name)
    given = list(args)
    if known.dtype_place is DtypePlace.NOWHERE:
        if not _takes_dtype(known):
            # TVM's wrappers accept a dtype and drop it.
            dtype = None
    elif dtype is None and given:
        place = 0 if known.dtype_place is DtypePlace.FIRST else -1
        dtype = _as_dtype(name, given.pop(place))
    return make_call(known, _arranged(known, given, named), dtype)


def _builtin(name: str) -> Intrinsic:
    try:
        return builtin(name)
    except KeyError as error:
        raise ScriptTypeError(str(error)) from None


def _takes_dtype(known: Intrinsic) -> bool:
    return known.result.rule is ResultRule.EXPLICIT and known.name != "undef"


def _as_dtype(name: str, value: object) -> DtypeLike:
    if isinstance(value, str | Attribute | Dtype):
        return value
    raise ScriptTypeError(f"T.{name}: a dtype is expected before or after the operands")


def _arranged(
    known: Intrinsic, given: list[object], named: Mapping[str, object]
) -> list[object]:
    """Operands in the order of the table, with those that are named and the defaults."""
    unknown = [each for each in named if each not in {o.name for o in known.operands}]
    if unknown:
        raise ScriptTypeError(
            f"T.{known.name} has no operand {unknown[0]}; its operands are "
            f"{', '.join(o.name for o in known.operands)}"
        )
    arranged = list(given)
    for position, operand in enumerate(known.operands):
        if operand.name in named:
            arranged.insert(position, named[operand.name])
        elif position >= len(arranged) and operand.default is not None:
            is_bool = operand.kind == "bool"
            arranged.append(bool(operand.default) if is_bool else operand.default)
    return arranged


def make_call(
    known: Intrinsic, args: Sequence[object], dtype: DtypeLike | None
) -> ex.Call:
    """A call of a builtin on operands in their order."""
    operands = tuple(
        arg if isinstance(arg, ex.Reducer) else ex.convert(arg) for arg in args
    )
    if dtype is not None:
        return ex.Call(known.name, operands, dtype_of(dtype))
    types = [arg.type for arg in operands if isinstance(arg, Expr)]
    try:
        known.layout(len(operands))
        result = known.result_type(types)
    except ValueError as error:
        raise ScriptTypeError(f"T.{known.name}: {error}") from None
    return ex.Call(known.name, operands, NoneType() if result is None else result)


def Call(
    dtype: DtypeLike, op: str | ex.GlobalVar, args: Sequence[object] = ()
) -> ex.Call | ex.CallFunc:
    """The node `Call` of a builtin, `"tir.exp"`, or of a function of the module."""
    if isinstance(op, ex.GlobalVar):
        return ex.CallFunc(op.name, tuple(map(ex.convert, args)), dtype_of(dtype))
    return make_call(_builtin(op), args, dtype)


def call_intrin(dtype: DtypeLike, op: str, *args: object) -> Expr:
    """A call of the builtin `op`, `"tir.exp"`, of a dtype that is given."""
    return make_call(_builtin(op), args, dtype)


def _packed_operand(arg: object) -> Expr:
    """A buffer as the array that packed functions take (docs/spec/tir-builtins.md §4)."""
    if not isinstance(arg, Buffer):
        return ex.convert(arg)
    shape = call_builtin("tvm_stack_make_shape", *arg.shape)
    strides = (
        call_builtin("tvm_stack_make_shape", *arg.strides) if arg.strides else ex.const(0)
    )
    return call_builtin(
        "tvm_stack_make_array",
        arg.data,
        shape,
        strides,
        len(arg.shape),
        ex.const(0, arg.type),
        arg.elem_offset,
    )


def call_packed(*args: object) -> Expr:
    """A call of a PackedFunc by name; buffers are passed as arrays."""
    return call_builtin("tvm_call_packed", *map(_packed_operand, args))


def call_cpacked(*args: object) -> Expr:
    """A call of a C symbol with the packed convention; buffers are passed as arrays."""
    return call_builtin("tvm_call_cpacked", *map(_packed_operand, args))


TAKES_NO_DTYPE: frozenset[Callable[..., object]] = frozenset(
    (
        abs_,
        address_of,
        call_cpacked,
        call_packed,
        ceil,
        ex.bitwise_and,
        ex.bitwise_not,
        ex.bitwise_or,
        ex.bitwise_xor,
        ex.ceildiv,
        ex.floordiv,
        ex.floormod,
        ex.if_then_else,
        ex.likely,
        ex.shift_left,
        ex.shift_right,
        ex.truncdiv,
        ex.truncmod,
        floor,
        fmod,
        isfinite,
        isinf,
        isnan,
        nearbyint,
        pow_,
        ret,
        round_,
        trunc,
        tvm_access_ptr,
    )
)
"""Functions whose wrappers in TVM accept `dtype=`, as old scripts write, and drop it."""
