"""Reductions: sums, products, least and greatest elements."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Binary, Expr, Max, Min, Mul, Value
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest

_COMBINERS: dict[type[tir.BinaryOp], type[Binary]] = {
    tir.AddOp: Add,
    tir.MulOp: Mul,
    tir.MaxOp: Max,
    tir.MinOp: Min,
}


@dataclass(frozen=True)
class Reduction:
    """`C[s] = C[s] ∘ term(s, r)` over spatial axes `s` and carried axes `r`."""

    nest: Nest
    combiner: type[Binary]
    store: tir.StoreOp
    result: Access
    term: SSAValue
    init: SSAValue | None
    """What the results are before; where None, what is in the buffer."""

    @property
    def dtype(self) -> Attribute:
        return self.store.value.type


def match_reduction(nest: Nest) -> Reduction | None:
    """The nest as a reduction, if it is one."""
    if not nest.carried or any((axis.size or 1) < 1 for axis in nest.axes):
        return None
    stores = [access for access in nest.accesses if access.writes]
    init = nest.block.init
    body = [a for a in stores if init is None or not init.is_ancestor(a.op)]
    if len(body) != 1 or len(stores) != len(body) + (init is not None):
        return None
    (result,) = body
    store = result.op
    assert isinstance(store, tir.StoreOp)
    carried = [Value(axis.variable) for axis in nest.carried]
    if any(mentions(index, *carried) for index in result.indices):
        return None
    operands = _operands(nest, store, result)
    if operands is None:
        return None
    combiner, term = operands
    first = None
    if init is not None:
        first = _initial(nest, init, result)
        if first is None:
            return None
    return Reduction(nest, combiner, store, result, term, first)


def _operands(
    nest: Nest, store: tir.StoreOp, result: Access
) -> tuple[type[Binary], SSAValue] | None:
    """The operation, and the operand that is not what the result was before."""
    op = store.value.owner
    if not isinstance(op, tir.BinaryOp) or type(op) not in _COMBINERS:
        return None
    if op.parent is not store.parent:
        return None
    loads = [a for a in nest.accesses if a.buffer is result.buffer and not a.writes]
    if len(loads) != 1 or loads[0].indices != result.indices:
        return None
    before = loads[0].op.results[0]
    if before.uses.get_length() != 1 or loads[0].op.parent is not store.parent:
        return None
    if op.lhs is before:
        return _COMBINERS[type(op)], op.rhs
    if op.rhs is before:
        return _COMBINERS[type(op)], op.lhs
    return None


def _initial(nest: Nest, init: tir.InitOp, result: Access) -> SSAValue | None:
    """What the init stores, if it runs before the first term of each result."""
    kinds = {
        variable: it.kind
        for variable, it in zip(nest.block.iter_vars, nest.block.iters, strict=True)
    }
    carried = {axis.variable for axis in nest.carried}
    for variable, kind in kinds.items():
        if (kind is tir.IterKind.REDUCE) != (variable in carried):
            return None
    inside = [a for a in nest.accesses if init.is_ancestor(a.op)]
    if any(a.buffer is not result.buffer or a.indices != result.indices for a in inside):
        return None
    stores = [a.op for a in inside if isinstance(a.op, tir.StoreOp)]
    return stores[0].value if len(stores) == len(inside) == 1 else None


def has_rows(found: Reduction, column: Axis) -> bool:
    """Whether results and terms are neighbours along a spatial axis."""
    accesses = found.nest.accesses
    buffer = found.result.buffer
    terms = [a.step(column) for a in accesses if a.buffer is not buffer]
    results = [a.step(column) for a in accesses if a.buffer is buffer]
    return (
        all(step == 1 for step in results)
        and all(step in (0, 1) for step in terms)
        and 1 in terms
    )


def identity(combiner: type[Binary], dtype: Attribute) -> Expr:
    """What changes nothing when it is combined with another value of the type."""
    if combiner is Add or combiner is Mul:
        return smart.const(int(combiner is Mul), dtype)
    if tir.is_float(dtype):
        infinity = float("inf")
        return smart.const(-infinity if combiner is Max else infinity, dtype)
    low, high = integer_range(dtype)
    return smart.const(low if combiner is Max else high, dtype)
