"""The code of ops for threads in lockstep: values are arrays, under masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target_functions import target_function
from xdsl_tvm.dialects.tir.types import element_of, is_handle, is_integer, is_vector
from xdsl_tvm.interpreters.codegen import async_code as _async_code
from xdsl_tvm.interpreters.codegen import builtins as _builtins
from xdsl_tvm.interpreters.codegen import thread_code as _thread_code
from xdsl_tvm.interpreters.codegen.expression_ops import (
    COMPARISONS,
    DIVISIONS,
    FLOAT_BINARY,
    INTEGER_BINARY,
    result_interval,
)
from xdsl_tvm.interpreters.codegen.lockstep_emitter import (
    LockstepEmitter,
    NotLockstepError,
    begins_team,
)
from xdsl_tvm.interpreters.codegen.pointer_code import is_private, string_operand
from xdsl_tvm.interpreters.codegen.statement_ops import block_body
from xdsl_tvm.interpreters.codegen.thread_code import (
    AxisOp,
    axis_tag,
)
from xdsl_tvm.interpreters.codegen.translation import HANDLERS
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.gpu.lockstep_threads import array_function

_SPECIAL_BINARY: dict[type[Operation], str] = {
    tir.DivOp: "v_tdiv({0}, {1})",
    tir.ModOp: "v_tmod({0}, {1})",
    tir.MinOp: "v_where({0} < {1}, {0}, {1})",
    tir.MaxOp: "v_where({0} > {1}, {0}, {1})",
}
_FLOAT_SPECIAL: dict[type[Operation], str] = {
    tir.ModOp: "v_float_function({kind}, v_fmod, V.spread({0}), V.spread({1}))",
    tir.FloorDivOp: "v_float_function({kind}, v_floor, V.spread({0} / {1}))",
    tir.FloorModOp: "{0} - v_float_function({kind}, v_floor, V.spread({0} / {1})) * {1}",
    tir.MinOp: "v_where(({1} < {0}) | ({1} != {1}), {1}, {0})",
    tir.MaxOp: "v_where(({1} > {0}) | ({1} != {1}), {1}, {0})",
}
_IDENTITIES = frozenset(
    ("likely", "ignore_loop_partition", "tvm_thread_invariant", "tvm_thread_context")
)
_SHIFTS = ("shift_left", "shift_right")


LockstepHandler = Callable[[LockstepEmitter, Operation], None]


def _as_one(e: LockstepEmitter, op: Operation) -> None:
    """As for one thread; pure expressions also thread by thread."""
    HANDLERS[type(op)](e, op)


def _only_same(e: LockstepEmitter, op: Operation) -> None:
    """As for one thread, if all do the same."""
    e.require_same(op.operands)
    HANDLERS[type(op)](e, op)


def _by_threads(e: LockstepEmitter, op: Operation) -> bool:
    """Whether an expression is written as for one thread: values are all the same, or of
    a dtype that arrays do not compute with."""
    return _is_by_threads(e, op.operands, op.results)


def _is_by_threads(
    e: LockstepEmitter, operands: Sequence[SSAValue], results: Sequence[SSAValue]
) -> bool:
    if not e.differs(operands):
        return True
    for value in (*operands, *results):
        if is_handle(value.type) or _is_wide(value.type):
            return True
    return False


def _expression(arrays: LockstepHandler) -> LockstepHandler:
    """The handler of an expression whose array form is written by `arrays`."""

    def emit(e: LockstepEmitter, op: Operation) -> None:
        if _by_threads(e, op):
            HANDLERS[type(op)](e, op)
        else:
            arrays(e, op)

    return emit


# ---- memory ----


def _load(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.LoadOp)
    code = e.buffers[op.buffer]
    _require_access(e, op.buffer, op.predicate)
    e.varying.add(op.result)
    if is_vector(op.result.type):
        places = e.places(code, op.indices, "None")
        e.define(op.result, f"[{code.cells}.load(x, {e.mask}) for x in {places}]")
        return
    e.check_access(code, op.indices)
    place = e.flat(code, [e[index] for index in op.indices])
    e.define(op.result, f"{code.cells}.load({place}, {e.mask})")


def _store(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.StoreOp)
    code = e.buffers[op.buffer]
    _require_access(e, op.buffer, op.predicate)
    if not e.in_team:
        raise NotLockstepError
    value = e[op.value]
    if not is_vector(op.value.type):
        e.check_access(code, op.indices)
        place = e.flat(code, [e[index] for index in op.indices])
        e.line(f"{code.cells}.store({place}, {value}, {e.mask})")
        return
    places = e.places(code, op.indices, "None")
    with e.nest(f"for x, y in zip({places}, {value}):"):
        e.line(f"{code.cells}.store(x, y, {e.mask})")


def _require_access(
    e: LockstepEmitter, buffer: SSAValue, predicate: SSAValue | None
) -> None:
    assert isinstance(buffer.type, tir.BufferType)
    outside = not e.in_team and is_private(buffer.type.scope.data)
    if predicate is not None or outside:
        raise NotLockstepError


# ---- statements ----


def _for(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.ForOp)
    tag = None if op.thread_tag is None else op.thread_tag.data
    _iterate(e, op, op.min, op.extent, None if tag in tir.VIRTUAL_THREAD_TAGS else tag)


def _launch_thread(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.LaunchThreadOp)
    tag = op.tag.data
    if op.virtual is None and tag not in tir.VIRTUAL_THREAD_TAGS:
        _iterate(e, op, None, op.extent, tag)
    else:
        _iterate(
            e, op, None, op.extent, None if op.env is None else f"{tag} {op.env.data}"
        )


def _iterate(
    e: LockstepEmitter,
    op: AxisOp,
    low: SSAValue | None,
    extent: SSAValue,
    tag: str | None,
) -> None:
    axis = axis_tag(op)
    if axis is not None:
        _axis(e, op, low, extent, axis)
        return
    bounds = [extent] if low is None else [low, extent]
    if tag is not None:
        e.require_same(bounds)
        # Virtual threads are loops; one that is open is opened again.
        if tag in e.axes:
            raise NotLockstepError
    variable = op.body.block.args[0]
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    start = "0" if low is None else e[low]
    count = e[extent]
    if start == "0":
        e.below[variable] = count
    name = e.name_value(variable)
    if tag is not None:
        e.axes[tag] = (name, count)
    if e.differs(bounds):
        _ragged_loop(e, op, start, count)
    else:
        end = count if start == "0" else f"{start} + {count}"
        with e.loop(f"for {name} in range({start}, {end}):"):
            e.block(op.body.block)
    if tag is not None:
        del e.axes[tag]


def _ragged_loop(e: LockstepEmitter, op: AxisOp, start: str, count: str) -> None:
    """A loop that threads run different numbers of times, or from different places."""
    variable = op.body.block.args[0]
    e.varying.add(variable)
    trip = e.fresh("i")
    outer = e.mask
    with e.loop(f"for {trip} in V.trips({count}, {outer}):"):
        e.mask = e.atom(f"V.both({outer}, {trip} < {count})")
        e.define(variable, f"V.spread({start} + {trip})")
        e.block(op.body.block)
    e.mask = outer


def _axis(
    e: LockstepEmitter, op: AxisOp, low: SSAValue | None, extent: SSAValue, tag: str
) -> None:
    """The body of an op that opens an axis, all of whose iterations run together."""
    e.require_same([extent] if low is None else [low, extent])
    index, size = e.axes[tag]
    variable = op.body.block.args[0]
    first = (0, 0) if low is None else e.interval(low)
    e.ranges[variable] = (first[0], first[1] + max(0, e.interval(extent)[1] - 1))
    e.varying.add(variable)
    if low is None or e[low] == "0":
        e.names[variable] = index
        e.below[variable] = e[extent]
    else:
        e.define(variable, f"{e[low]} + {index}")
    begins = begins_team(op) and not e.in_team
    meets = isinstance(op, tir.ForOp) and (begins or tag in e.repeated)
    e.in_team |= begins
    if e[extent] != size:
        e.line(f"check_axis({tag!r}, {size}, {e[extent]})")
    if meets:
        e.line(f"V.barrier({e.mask})")
    e.block(op.body.block)
    if meets:
        e.line(f"V.barrier({e.mask})")
    if begins:
        e.in_team = False


def _if(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.IfOp)
    differs = e.differs([op.condition])
    condition = e[op.condition]
    with e.when(condition, differs):
        e.block(op.then_region.block)
    if op.else_region is not None:
        with e.when(condition, differs, but=True):
            e.block(op.else_region.block)


def _attr(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.AttrOp)
    if _async_code.is_asynchronous(op):
        raise NotLockstepError
    e.block(op.body.block)


def _block(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.BlockOp)
    if _thread_code.reduces_across_threads(op):
        raise NotLockstepError
    if op.predicate is None:
        block_body(e, op)
        return
    with e.when(e[op.predicate], e.differs([op.predicate])):
        block_body(e, op)


def _init(e: LockstepEmitter, op: Operation) -> None:
    block = op.parent_op()
    assert isinstance(op, tir.InitOp)
    assert isinstance(block, tir.BlockOp)
    pairs = [
        (variable, it.min)
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
        if it.kind is tir.IterKind.REDUCE
    ]
    differs = any(e.differs(pair) for pair in pairs)
    sign = " & " if differs else " and "
    tests = sign.join(f"({e[variable]} == {e[low]})" for variable, low in pairs)
    with e.when(tests or "True", differs):
        e.block(op.body.block)


def _assert(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.AssertOp)
    e.line(f"v_check_holds({e[op.condition]}, {e.mask})")


# ---- expressions ----


def _binary(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.BinaryOp)
    dtype = number(element_of(op.result.type))
    if dtype.is_float:
        _float_binary(e, op, dtype)
    elif dtype.is_bool:
        HANDLERS[type(op)](e, op)
    else:
        _integer_binary(e, op, dtype)


def _float_binary(e: LockstepEmitter, op: tir.BinaryOp, dtype: Number) -> None:
    template = _FLOAT_SPECIAL.get(type(op), FLOAT_BINARY[type(op)])
    kind = e.kind(dtype)
    e.map_arrays(op.result, op.operands, lambda t: template.format(*t, kind=kind))


def _integer_binary(e: LockstepEmitter, op: tir.BinaryOp, dtype: Number) -> None:
    template = _SPECIAL_BINARY.get(type(op), INTEGER_BINARY[type(op)])
    bounds = result_interval(e, op)
    fits = bounds is not None and dtype.low <= bounds[0] and bounds[1] <= dtype.high
    if fits and bounds is not None and not is_vector(op.result.type):
        e.ranges[op.result] = bounds
    low, high = e.interval(op.rhs)
    doubtful = isinstance(op, DIVISIONS) and (
        is_vector(op.result.type) or low <= 0 <= high
    )

    def lane(texts: Sequence[str]) -> str:
        a, b = texts
        if doubtful:
            b = f"v_divisor({b}, {e.mask})"
        text = template.format(a, b)
        return text if fits else e.wrapped_array(dtype, text)

    e.map_arrays(op.result, op.operands, lane)


def _logical(e: LockstepEmitter, op: Operation) -> None:
    verb = "v_logical_and" if isinstance(op, tir.AndOp) else "v_logical_or"
    e.map_arrays(op.results[0], op.operands, lambda t: f"{verb}({t[0]}, {t[1]})")


def _not(e: LockstepEmitter, op: Operation) -> None:
    e.map_arrays(op.results[0], op.operands, lambda t: f"v_logical_not({t[0]})")


def _cmp(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CmpOp)
    sign = COMPARISONS[op.predicate.data]
    e.map_arrays(op.result, op.operands, lambda t: f"{t[0]} {sign} {t[1]}")


def _select(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.SelectOp)
    e.map_arrays(op.result, op.operands, lambda t: f"v_where({', '.join(t)})")
    if is_integer(op.result.type) and not is_vector(op.result.type):
        a, b = e.interval(op.true_value), e.interval(op.false_value)
        e.ranges[op.result] = (min(a[0], b[0]), max(a[1], b[1]))


def _if_then_else(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.IfThenElseOp)
    if is_handle(op.result.type):
        raise NotLockstepError
    differs = e.differs([op.condition])
    condition = e[op.condition]
    zero = e.constant(number(element_of(op.result.type)).zero())
    if is_vector(op.result.type):
        zero = f"[{zero}] * {e.lanes(op.result.type)}"
    names: list[str] = []
    for region, but in ((op.true_region, False), (op.false_region, True)):
        if differs:
            names.append(e.atom(zero))
        elif not but:
            names = [e.fresh("r")] * 2
        with e.when(condition, differs, but=but):
            e.block(region.block)
            last = region.block.last_op
            assert isinstance(last, tir.YieldOp)
            e.line(f"{names[but]} = {e[last.value]}")
            if e.differs([last.value]):
                e.varying.add(op.result)
    if not differs:
        # What is the same in one branch may be an array in the other one.
        e.names[op.result] = names[0]
        return
    e.varying.add(op.result)
    e.define(op.result, _merged(e, op, condition, *names))


def _merged(
    e: LockstepEmitter, op: tir.IfThenElseOp, condition: str, yes: str, no: str
) -> str:
    """One of two values for each thread."""
    vector = is_vector(op.result.type)
    a, b = ("x", "y") if vector else (yes, no)
    text = f"v_where({condition}, {a}, {b})"
    if _is_wide(op.result.type):
        kind = e.kind(number(element_of(op.result.type)))
        text = f"V.each({kind}, lambda p, q, r: q if p else r, {condition}, {a}, {b})"
    return f"[{text} for x, y in zip({yes}, {no})]" if vector else text


def _is_wide(dtype: Attribute) -> bool:
    """Whether values are integers that do not fit into signed ones of 64 bits."""
    return number(element_of(dtype)).high >= 1 << 63


def _cast(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CastOp)
    source = number(element_of(op.value.type))
    target = number(element_of(op.result.type))
    kind = e.kind(target)
    if target.is_bool:
        e.map_arrays(op.result, op.operands, lambda t: f"v_not_equal({t[0]}, 0)")
        return
    if source.is_float or target.is_float:
        e.map_arrays(
            op.result, op.operands, lambda t: f"v_convert({kind}, V.spread({t[0]}))"
        )
        return
    scalar = not is_vector(op.result.type)
    low, high = e.interval(op.value) if scalar else (source.low, source.high)
    text = "v_int64({0})" if source.is_bool else "{0}"
    fits = target.low <= low and high <= target.high
    if fits and scalar:
        e.ranges[op.result] = (low, high)

    def lane(texts: Sequence[str]) -> str:
        value = text.format(*texts)
        return value if fits else e.wrapped_array(target, value)

    e.map_arrays(op.result, op.operands, lane)


def _ramp(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.RampOp)
    dtype = number(op.base.type)
    if not e.differs(op.operands) or dtype.is_float:
        _as_list(e, op)
        return
    if _is_wide(op.base.type):
        raise NotLockstepError
    text = e.wrapped_array(dtype, f"{e[op.base]} + x * {e[op.stride]}")
    e.varying.add(op.result)
    e.define(op.result, f"[{text} for x in range({e.lanes(op.result.type)})]")


def _as_list(e: LockstepEmitter, op: Operation) -> None:
    """As for one thread, where only lists of lanes are put together."""
    if e.differs(op.operands):
        e.varying.update(op.results)
    HANDLERS[type(op)](e, op)


def _shuffle(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.ShuffleOp)
    e.require_same(op.indices)
    _as_list(e, op)


# ---- calls ----


def _call(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    name = op.callee.data
    special = _CALLS.get(name)
    if special is not None:
        special(e, op)
    elif name in _UNIFORM_CALLS:
        _only_same(e, op)
    else:
        _pure_call(e, op)


def _pure_call(e: LockstepEmitter, op: tir.CallOp) -> None:
    name, args = target_function(op, e.settings.is_given)
    result = op.result
    if result is None or is_handle(result.type) or name not in _PURE_CALLS:
        raise NotLockstepError
    if _is_by_threads(e, args, (result,)) or not _call_arrays(e, result, name, args):
        HANDLERS[tir.CallOp](e, op)


def _call_arrays(
    e: LockstepEmitter, result: SSAValue, name: str, args: Sequence[SSAValue]
) -> bool:
    """Write a call of a pure builtin for arrays; whether there is such a form."""
    dtype = number(element_of(result.type))
    kind = e.kind(dtype)
    if name in _IDENTITIES or (name in _builtins.FLOAT_FUNCTIONS and not dtype.is_float):
        e.map_arrays(result, args, lambda t: t[0])
    elif name in _ARRAY_TEMPLATES and not dtype.is_bool:
        e.map_arrays(result, args, lambda t: _builtins.TEMPLATES[name](dtype, t))
    elif name in _SHIFTS:
        e.map_arrays(result, args, lambda t: f"v_{name}({kind}, {', '.join(t)})")
    elif name == "isnan":
        e.map_arrays(result, args, lambda t: f"v_not_equal({t[0]}, {t[0]})")
    else:
        scalar = _builtins.FLOAT_FUNCTIONS.get(name)
        function = None if scalar is None else array_function(name, scalar)
        if function is None:
            return False
        constant = e.constant(function)

        def lane(texts: Sequence[str]) -> str:
            spread = ", ".join(f"V.spread({text})" for text in texts)
            return f"v_float_function({kind}, {constant}, {spread})"

        e.map_arrays(result, args, lane)
    return True


def _barrier(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    if string_operand(op, 0) not in ("shared", "shared.dyn"):
        raise NotLockstepError
    if op.result is not None:
        e.names[op.result] = "0"
    if e.in_team:
        e.line(f"V.barrier({e.mask})")


def _assume(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    text = f"v_check_holds({e[op.args[0]]}, {e.mask})"
    if op.result is None:
        e.line(text)
        return
    if e.differs(op.args):
        e.varying.add(op.result)
    e.define(op.result, text)


def _reinterpret(e: LockstepEmitter, op: Operation) -> None:
    assert isinstance(op, tir.CallOp)
    assert op.result is not None
    value = op.args[0]
    if not e.differs(op.args):
        HANDLERS[tir.CallOp](e, op)
        return
    if is_handle(op.result.type) or is_vector(op.result.type) or is_vector(value.type):
        raise NotLockstepError
    source, target = e.kind(number(value.type)), e.kind(number(op.result.type))
    e.map_lanes(
        op.result, op.args, lambda t: f"reinterpreted([{t[0]}], {source}, {target}, 1)[0]"
    )


_ARRAY_TEMPLATES = frozenset(
    ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "fabs")
)
_PURE_CALLS = (
    frozenset(("popcount", "clz", "find_msb", "fma", "nextafter", *_SHIFTS))
    | _builtins.TEMPLATES.keys()
    | _builtins.FLOAT_FUNCTIONS.keys()
)
_UNIFORM_CALLS = _builtins.NO_OPERATION | {"isnullptr", "undef", "vscale"}
_CALLS: dict[str, LockstepHandler] = {
    "tvm_storage_sync": _barrier,
    "assume": _assume,
    "reinterpret": _reinterpret,
    **dict.fromkeys(("vectorlow", "vectorhigh", "vectorcombine"), _as_list),
}

LOCKSTEP_HANDLERS: dict[type[Operation], LockstepHandler] = {
    **dict.fromkeys(
        (
            tir.AllocateConstOp,
            tir.ConstOp,
            tir.DataOp,
            tir.DeclBufferOp,
            tir.EvaluateOp,
            tir.LetOp,
            tir.MatchRegionOp,
            tir.PrefetchOp,
            tir.ReadsOp,
            tir.ReducerOp,
            tir.ScopeOp,
            tir.ShapeVarOp,
            tir.StringOp,
            tir.WritesOp,
            tir.YieldOp,
        ),
        _as_one,
    ),
    tir.AllocBufferOp: _only_same,
    tir.AllocateOp: _only_same,
    tir.AssertOp: _assert,
    tir.AttrOp: _attr,
    tir.BlockOp: _block,
    tir.ForOp: _for,
    tir.IfOp: _if,
    tir.InitOp: _init,
    tir.LaunchThreadOp: _launch_thread,
    tir.LoadOp: _load,
    tir.StoreOp: _store,
    tir.AndOp: _expression(_logical),
    tir.BroadcastOp: _as_list,
    tir.CallOp: _call,
    tir.CastOp: _expression(_cast),
    tir.CmpOp: _expression(_cmp),
    tir.IfThenElseOp: _if_then_else,
    tir.NotOp: _expression(_not),
    tir.OrOp: _expression(_logical),
    tir.RampOp: _ramp,
    tir.SelectOp: _expression(_select),
    tir.ShuffleOp: _shuffle,
    **dict.fromkeys(INTEGER_BINARY, _expression(_binary)),
}
