"""The code of expressions, and the intervals of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import Operation

from xdsl_tvm.dialects import integers, tir
from xdsl_tvm.dialects.integers import ZERO, Bound
from xdsl_tvm.dialects.tir.attributes import CmpPredicate
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_custom,
    is_handle,
    is_integer,
    is_vector,
)
from xdsl_tvm.interpreters.codegen.code_writer import Handler, Interval
from xdsl_tvm.interpreters.codegen.emitter import Emitter
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import (
    unsupported,
)

COMPARISONS = {
    CmpPredicate.EQ: "==",
    CmpPredicate.NE: "!=",
    CmpPredicate.LT: "<",
    CmpPredicate.LE: "<=",
    CmpPredicate.GT: ">",
    CmpPredicate.GE: ">=",
}


def _const(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ConstOp)
    dtype = number(op.result.type)
    value = dtype.convert(op.literal)
    if dtype.is_float:
        e.names[op.result] = e.constant(value)
        return
    e.names[op.result] = repr(value) if value >= 0 else f"({value})"
    if not dtype.is_bool:
        e.ranges[op.result] = (value, value)


def _string(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.StringOp)
    e.names[op.result] = e.constant(op.value.data)


def _binary(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.BinaryOp)
    dtype = number(element_of(op.result.type))
    template = (FLOAT_BINARY if dtype.is_float else INTEGER_BINARY)[type(op)]
    if dtype.is_float:
        kind = e.kind(dtype)
        e.map_lanes(op.result, op.operands, lambda t: template.format(*t, kind=kind))
        return
    if dtype.is_bool:
        plain = template.format("int({0})", "int({1})")
        e.map_lanes(op.result, op.operands, lambda t: e.wrapped(dtype, plain.format(*t)))
        return
    bounds = result_interval(e, op)
    fits = bounds is not None and dtype.low <= bounds[0] and bounds[1] <= dtype.high
    if fits and bounds is not None and not is_vector(op.result.type):
        e.ranges[op.result] = bounds

    def lane(texts: Sequence[str]) -> str:
        text = template.format(*texts)
        return text if fits else e.wrapped(dtype, text)

    e.map_lanes(op.result, op.operands, lane)


INTEGER_BINARY: dict[type[Operation], str] = {
    tir.AddOp: "{0} + {1}",
    tir.SubOp: "{0} - {1}",
    tir.MulOp: "{0} * {1}",
    tir.DivOp: "tdiv({0}, {1})",
    tir.ModOp: "tmod({0}, {1})",
    tir.FloorDivOp: "{0} // {1}",
    tir.FloorModOp: "{0} % {1}",
    tir.MinOp: "{0} if {0} < {1} else {1}",
    tir.MaxOp: "{0} if {0} > {1} else {1}",
}
FLOAT_BINARY: dict[type[Operation], str] = {
    tir.AddOp: "{0} + {1}",
    tir.SubOp: "{0} - {1}",
    tir.MulOp: "{0} * {1}",
    tir.DivOp: "{0} / {1}",
    tir.ModOp: "{kind}.convert(fmod(float({0}), float({1})))",
    tir.FloorDivOp: "{kind}.convert(floor(float({0} / {1})))",
    tir.FloorModOp: "{0} - {kind}.convert(floor(float({0} / {1}))) * {1}",
    tir.MinOp: "{1} if {1} < {0} or {1} != {1} else {0}",
    tir.MaxOp: "{1} if {1} > {0} or {1} != {1} else {0}",
}


def result_interval(e: Emitter, op: tir.BinaryOp) -> Interval | None:
    """Bounds of an integer operation, before it wraps; None where they are unknown.

    A divisor of 0 is an error, or one of a lane without effect, of which numpy's quotient
    and remainder are 0.
    """
    rule = _INTERVALS.get(type(op))
    if rule is None:
        return None
    lhs, rhs = Bound(*e.interval(op.lhs)), Bound(*e.interval(op.rhs))
    found = rule(lhs, rhs)
    if isinstance(op, DIVISIONS) and rhs.contains(ZERO):
        found = found.union(ZERO)
    return (int(found.min), int(found.max)) if found.is_finite else None


_INTERVALS: dict[type[Operation], Callable[[Bound, Bound], Bound]] = {
    tir.AddOp: integers.add,
    tir.SubOp: integers.sub,
    tir.MulOp: integers.mul,
    tir.FloorDivOp: partial(integers.quotient, floor=True),
    tir.FloorModOp: integers.floor_remainder,
    tir.DivOp: partial(integers.quotient, floor=False),
    tir.ModOp: integers.remainder_toward_zero,
    tir.MinOp: integers.minimum,
    tir.MaxOp: integers.maximum,
}
DIVISIONS = (tir.DivOp, tir.ModOp, tir.FloorDivOp, tir.FloorModOp)


def _logical(e: Emitter, op: Operation) -> None:
    word = "and" if isinstance(op, tir.AndOp) else "or"
    e.map_lanes(op.results[0], op.operands, lambda t: f"{t[0]} {word} {t[1]}")


def _not(e: Emitter, op: Operation) -> None:
    e.map_lanes(op.results[0], op.operands, lambda t: f"not {t[0]}")


def _cmp(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CmpOp)
    sign = COMPARISONS[op.predicate.data]
    if is_handle(op.lhs.type) and sign not in ("==", "!="):
        raise unsupported(op, "pointers have no order here", "compare them for equality")
    if is_custom(op.lhs.type):
        raise unsupported(
            op,
            "values of a custom dtype are bits",
            "run tir-lower-custom-datatypes first",
        )
    e.map_lanes(op.result, op.operands, lambda t: f"{t[0]} {sign} {t[1]}")


def _select(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.SelectOp)
    condition, yes, no = (e[operand] for operand in op.operands)
    if is_vector(op.result.type) and not is_vector(op.condition.type):
        e.define(op.result, f"{yes} if {condition} else {no}")
        return
    e.map_lanes(op.result, op.operands, lambda t: f"{t[1]} if {t[0]} else {t[2]}")
    if is_integer(op.result.type) and not is_vector(op.result.type):
        a, b = e.interval(op.true_value), e.interval(op.false_value)
        e.ranges[op.result] = (min(a[0], b[0]), max(a[1], b[1]))


def _if_then_else(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.IfThenElseOp)
    result = e.name_value(op.result)
    for header, region in (
        (f"if {e[op.condition]}:", op.true_region),
        ("else:", op.false_region),
    ):
        with e.nest(header):
            e.block(region.block)
            last = region.block.last_op
            assert isinstance(last, tir.YieldOp)
            e.line(f"{result} = {e[last.value]}")


def _cast(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.CastOp)
    source = number(element_of(op.value.type))
    target = number(element_of(op.result.type))
    kind = e.kind(target)
    scalar = not is_vector(op.result.type)
    if target.is_bool:
        e.map_lanes(op.result, op.operands, lambda t: f"bool({t[0]} != 0)")
        return
    if source.is_float or target.is_float:
        e.map_lanes(op.result, op.operands, lambda t: f"{kind}.convert({t[0]})")
        return
    low, high = e.interval(op.value) if scalar else (source.low, source.high)
    text = "int({0})" if source.is_bool else "{0}"
    if target.low <= low and high <= target.high:
        e.map_lanes(op.result, op.operands, lambda t: text.format(*t))
        if scalar:
            e.ranges[op.result] = (low, high)
        return
    e.map_lanes(op.result, op.operands, lambda t: e.wrapped(target, text.format(*t)))


def _ramp(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.RampOp)
    dtype = number(op.base.type)
    lanes = e.lanes(op.result.type)
    base, stride = e[op.base], e[op.stride]
    if dtype.is_float:
        kind = e.kind(dtype)
        e.define(
            op.result,
            f"[{base} + {kind}.convert(x) * {stride} for x in range({lanes})]",
        )
        return
    text = e.wrapped(dtype, f"{base} + x * {stride}")
    e.define(op.result, f"[{text} for x in range({lanes})]")


def _broadcast(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.BroadcastOp)
    e.define(op.result, f"[{e[op.value]}] * {e.lanes(op.result.type)}")


def _shuffle(e: Emitter, op: Operation) -> None:
    assert isinstance(op, tir.ShuffleOp)
    lanes = " + ".join(e[v] if is_vector(v.type) else f"[{e[v]}]" for v in op.vectors)
    picked = f"pick_lanes({lanes}, [{', '.join(e[i] for i in op.indices)}])"
    e.define(op.result, picked if is_vector(op.result.type) else f"{picked}[0]")


HANDLERS: dict[type[Operation], Handler] = {
    tir.AndOp: _logical,
    tir.BroadcastOp: _broadcast,
    tir.CastOp: _cast,
    tir.CmpOp: _cmp,
    tir.ConstOp: _const,
    tir.IfThenElseOp: _if_then_else,
    tir.NotOp: _not,
    tir.OrOp: _logical,
    tir.RampOp: _ramp,
    tir.SelectOp: _select,
    tir.ShuffleOp: _shuffle,
    tir.StringOp: _string,
    **dict.fromkeys(INTEGER_BINARY, _binary),
}
