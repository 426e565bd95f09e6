"""Loads and stores: single elements, neighbouring elements as vectors, and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, i1, i8
from xdsl.ir import Attribute, Block, Region, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX, Emitter
from xdsl_tvm.lowering.tir.conversion.expressions import convert
from xdsl_tvm.lowering.tir.conversion.types import signless
from xdsl_tvm.lowering.tir.conversion.views import View, element_indices


def load(cv: Emitter, op: tir.LoadOp, view: View) -> SSAValue:
    """The element, or the vector of elements, that `op` reads."""
    wanted = op.result.type
    stored = _stored(view, wanted)
    return convert(cv, _load(cv, op, view, signless(stored)), stored, wanted)


def _stored(view: View, accessed: Attribute) -> Attribute:
    """The dtype of memory for an access of dtype `accessed`; a byte may hold a bool."""
    is_bool = views_bools(view.type.element_type, tir.element_of(accessed))
    return tir.like_lanes(i1, accessed) if is_bool else accessed


def views_bools(memory: Attribute, element: Attribute) -> bool:
    """Whether a buffer of `element` declares the bytes of bools in memory.

    `tir-flatten-buffer` makes such buffers, as TVM does.
    """
    return memory == i1 and element == i8


def _load(cv: Emitter, op: tir.LoadOp, view: View, result: Attribute) -> SSAValue:
    _require_simple(cv, op, view)
    if not tir.is_vector(result):
        indices = element_indices(cv, view, [cv.index(i) for i in op.indices])
        return _guarded_load(cv, op.predicate, view, indices, result, 0)
    contiguous = _contiguous(cv, op, view)
    if contiguous is not None:
        return cv.build(vector.LoadOp, [view.memref, *contiguous], result)
    element = tir.element_of(result)
    lanes = [
        _guarded_load(cv, op.predicate, view, indices, element, lane)
        for lane, indices in enumerate(_lane_indices(cv, op, view))
    ]
    return cv.gathered(lanes, result)


def store(cv: Emitter, op: tir.StoreOp, view: View) -> None:
    """Writes the element, or the vector of elements, that `op` stores."""
    _require_simple(cv, op, view)
    dtype = op.value.type
    value = convert(cv, cv.value(op.value), dtype, _stored(view, dtype))
    if not tir.is_vector(value.type):
        indices = element_indices(cv, view, [cv.index(i) for i in op.indices])
        _guarded_store(cv, op.predicate, view, indices, value, 0)
        return
    contiguous = _contiguous(cv, op, view)
    if contiguous is not None:
        operands = [value, view.memref, *contiguous]
        cv.emit(create(vector.StoreOp, operands=operands, properties=_store_hints(cv)))
        return
    for lane, indices in enumerate(_lane_indices(cv, op, view)):
        _guarded_store(cv, op.predicate, view, indices, cv.extract(value, lane), lane)


def _store_hints(cv: Emitter) -> dict[str, Attribute]:
    return {"nontemporal": BoolAttr.from_bool(True)} if cv.nontemporal else {}


def _require_simple(cv: Emitter, op: tir.LoadOp | tir.StoreOp, view: View) -> None:
    if tir.is_scalable(_accessed(op)):
        raise cv.fail("scalable vectors are not supported; use fixed lanes")
    if view.lanes != 1 and op.indices and tir.is_vector(op.indices[-1].type):
        raise cv.fail(
            "vector indices into a buffer of vectors are not supported; declare the "
            "buffer with scalar elements"
        )


def _accessed(op: tir.LoadOp | tir.StoreOp) -> Attribute:
    return op.result.type if isinstance(op, tir.LoadOp) else op.value.type


def _contiguous(
    cv: Emitter, op: tir.LoadOp | tir.StoreOp, view: View
) -> list[SSAValue] | None:
    """The indices of the first of neighbouring elements; None where they are not such.

    Vectors of `i1` count as such never: in memory a bool takes a byte.
    """
    if op.predicate is not None or view.type.element_type == i1:
        return None
    if view.lanes != 1:
        return element_indices(cv, view, [cv.index(i) for i in op.indices])
    ramp = op.indices[-1].owner
    if not isinstance(ramp, tir.RampOp) or not _is_contiguous(op, ramp, view):
        return None
    first = [*op.indices[:-1], ramp.base]
    return element_indices(cv, view, [cv.index(i) for i in first])


def _is_contiguous(op: tir.LoadOp | tir.StoreOp, ramp: tir.RampOp, view: View) -> bool:
    """Whether the elements with the last index `ramp` are accessed as one vector."""
    return (
        op.predicate is None
        and view.lanes == 1
        and view.last_stride_is_one
        and view.type.element_type != i1
        and tir.is_constant(ramp.stride, 1)
        and not tir.is_scalable(ramp.result.type)
    )


def is_address_only(ramp: tir.RampOp, views: Mapping[SSAValue, View]) -> bool:
    """Whether nothing needs the lanes of a ramp: it says where vectors begin.

    `views` are those of the buffers whose views are known where the ramp is.
    """
    index = ramp.result
    for use in index.uses:
        op = use.operation
        if (
            not isinstance(op, tir.LoadOp | tir.StoreOp)
            or (isinstance(op, tir.StoreOp) and op.value is index)
            or op.indices[-1] is not index
            or op.indices.count(index) != 1
            or (view := views.get(op.buffer)) is None
            or not _is_contiguous(op, ramp, view)
        ):
            return False
    return index.first_use is not None


def _lane_indices(
    cv: Emitter, op: tir.LoadOp | tir.StoreOp, view: View
) -> list[list[SSAValue]]:
    if view.lanes != 1:
        (first,) = element_indices(cv, view, [cv.index(i) for i in op.indices])
        return [
            [cv.add_index(cv.number(lane, INDEX), first)] for lane in range(view.lanes)
        ]
    leading = [cv.index(i) for i in op.indices[:-1]]
    last = op.indices[-1]
    unsigned = tir.is_uint(last.type)
    return [
        element_indices(
            cv,
            view,
            [*leading, cv.index_of(cv.extract(cv.value(last), lane), unsigned=unsigned)],
        )
        for lane in range(tir.lanes_of(last.type))
    ]


def _guarded_load(
    cv: Emitter,
    predicate: SSAValue | None,
    view: View,
    indices: Sequence[SSAValue],
    element: Attribute,
    lane: int,
) -> SSAValue:
    def read() -> SSAValue:
        return cv.build(memref.LoadOp, [view.memref, *indices], element)

    if predicate is None:
        return read()
    otherwise = cv.number(0, element)
    condition = cv.extract(cv.value(predicate), lane)
    choice = create(
        scf.IfOp,
        operands=[condition],
        result_types=[element],
        regions=[_yielding(cv, read), _yielding(cv, lambda: otherwise)],
    )
    return cv.emit(choice).results[0]


def _yielding(cv: Emitter, make: Callable[[], SSAValue]) -> Region:
    block = Block()
    with cv.at(block):
        cv.emit(create(scf.YieldOp, operands=[make()]))
    return Region(block)


def _guarded_store(
    cv: Emitter,
    predicate: SSAValue | None,
    view: View,
    indices: Sequence[SSAValue],
    value: SSAValue,
    lane: int,
) -> None:
    write = create(
        memref.StoreOp,
        operands=[value, view.memref, *indices],
        properties=_store_hints(cv),
    )
    if predicate is None:
        cv.emit(write)
        return
    condition = cv.extract(cv.value(predicate), lane)
    block = Block()
    with cv.at(block):
        cv.emit(write)
        cv.emit(create(scf.YieldOp))
    cv.emit(create(scf.IfOp, operands=[condition], regions=[Region(block), Region()]))
