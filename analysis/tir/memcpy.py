"""Whether a loop copies one contiguous piece of memory to another, in order.

docs/spec/tir-passes-c-memory-and-gpu.md, LowerAsyncDMA; TVM's `identify_memcpy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, leaf_values, view
from xdsl_tvm.analysis.arith.int_set import IntSet, Range
from xdsl_tvm.analysis.arith.iter_forms import IterSplitExpr
from xdsl_tvm.analysis.arith.iter_map import (
    IterMapLevel,
    bind_inputs,
    detect_iter_map,
    normalize_to_iter_sum,
)
from xdsl_tvm.analysis.tir.flat_index import flat_indices
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir


@dataclass(frozen=True)
class Memcpy:
    """A loop that copies contiguous memory, and the regions it reads and writes.

    Regions have a range for each dimension of the buffer, whose ends are in terms of what
    is defined outside of the loop. Where an extent is not a literal, they hold if all
    loops run.
    """

    load: tir.LoadOp
    store: tir.StoreOp
    source: tuple[Range, ...]
    destination: tuple[Range, ...]
    iterations: Expr
    """How many elements are copied."""


class _NoMemcpyError(Exception):
    """Why a loop is no copy."""


def identify_memcpy(loop: tir.ForOp, analyzer: Analyzer | None = None) -> Memcpy | str:
    """The copy that a loop is, or the reason why it is none.

    Loops whose bodies are one loop are taken together. The innermost body stores a load,
    at indices that are in order, without gaps, and in the same order in both memories.
    That the memories differ is not asked. `analyzer` knows what holds around the loop.
    """
    try:
        return _identify(loop, analyzer or Analyzer())
    except _NoMemcpyError as reason:
        return str(reason)


def _identify(loop: tir.ForOp, analyzer: Analyzer) -> Memcpy:
    inputs, store = _nest(loop)
    load = store.value.owner
    if not isinstance(load, tir.LoadOp):
        raise _NoMemcpyError("the value that is stored is not a load")
    if load.parent is not store.parent:
        raise _NoMemcpyError("the load is not in the loop of the store")
    if load.predicate is not None or store.predicate is not None:
        raise _NoMemcpyError("an access has a predicate")
    source, source_indices = _linear(load, loop, inputs)
    target, target_indices = _linear(store, loop, inputs)
    if source.dtype != target.dtype:
        source, target = smart.cast(i64, source), smart.cast(i64, target)
    iterations = _product([domain.extent for domain in inputs.values()], source)
    with analyzer.assumed(()):
        bind_inputs(analyzer, inputs)
        source, target = analyzer.simplify(source), analyzer.simplify(target)
        for what, index in (("source", source), ("destination", target)):
            _require_bijective(what, index, inputs, analyzer)
        domains = {
            leaf: IntSet(domain.min, analyzer.simplify(smart.sub(_end(domain), 1)))
            for leaf, domain in inputs.items()
        }
        for what, index in (("src", source), ("dst", target)):
            count = _extent_of(analyzer.int_set(index, domains), index)
            _require_contiguous(what, count, iterations, analyzer)
        _require_equal_order(source, target, inputs, analyzer)
        return Memcpy(
            load,
            store,
            _region(source_indices, domains, analyzer),
            _region(target_indices, domains, analyzer),
            analyzer.simplify(iterations),
        )


def _end(domain: Range) -> Expr:
    return smart.add(domain.min, domain.extent)


def _nest(loop: tir.ForOp) -> tuple[dict[Expr, Range], tir.StoreOp]:
    """The domains of the loops, the outermost first, and the store inside of them."""
    inputs: dict[Expr, Range] = {}
    current: Operation = loop
    while isinstance(current, tir.ForOp):
        if current.kind.data is tir.ForKind.THREAD_BINDING:
            raise _NoMemcpyError("a loop is bound to threads")
        domain = Range(view(current.min), view(current.extent))
        if any(Value(leaf) in inputs for leaf in leaf_values(domain.min, domain.extent)):
            raise _NoMemcpyError("the domain of a loop depends on another loop")
        if not domain.min.dtype == domain.extent.dtype == current.loop_var.type:
            raise _NoMemcpyError("a loop has a variable of another type than its domain")
        inputs[view(current.loop_var)] = domain
        current = _statement(current)
    if not isinstance(current, tir.StoreOp):
        raise _NoMemcpyError(f"the body is not a store, but a {current.name}")
    return inputs, current


def _statement(loop: tir.ForOp) -> Operation:
    """The only statement in the body of a loop."""
    found: list[Operation] = []
    for op in loop.body.block.ops:
        if isinstance(op, tir.StoreOp | tir.ForOp) or _is_statement(op):
            found.append(op)
    if len(found) != 1:
        raise _NoMemcpyError(f"the body is not a store, but {len(found)} statements")
    return found[0]


def _is_statement(op: Operation) -> bool:
    if isinstance(op, tir.LetOp | tir.BufferDefinition | tir.AllocateOp):
        return True
    return any(own_effect(each) > tir.CallEffect.READ_STATE for each in all_ops(op))


def _linear(
    access: tir.LoadOp | tir.StoreOp, loop: tir.ForOp, inputs: Mapping[Expr, Range]
) -> tuple[Expr, list[Expr]]:
    """The index of an access in its memory, and the indices of the buffer."""
    buffer = tir.buffer_definition(access.buffer)
    if loop.is_ancestor(buffer):
        raise _NoMemcpyError("a buffer is defined in the loop")
    if not all(tir.is_index_type(index.type) for index in access.indices):
        raise _NoMemcpyError("an index is a vector, or of a narrow type")
    indices = [view(index) for index in access.indices]
    flat = flat_indices(buffer, indices)
    if len(flat) != 1:
        raise _NoMemcpyError("a buffer has several physical dimensions")
    for leaf in leaf_values(*flat):
        if Value(leaf) not in inputs and loop.is_ancestor(leaf.owner):
            raise _NoMemcpyError("an index depends on what the loop computes or loads")
    return flat[0], indices


def _product(extents: Sequence[Expr], like: Expr) -> Expr:
    total = smart.const(1, like.dtype)
    for extent in extents:
        total = smart.mul(total, smart.cast(like.dtype, extent))
    return total


def _require_bijective(
    what: str, index: Expr, inputs: Mapping[Expr, Range], analyzer: Analyzer
) -> None:
    found = detect_iter_map(
        [index], inputs, level=IterMapLevel.BIJECTIVE, analyzer=analyzer
    )
    if found.errors or not found.indices:
        raise _NoMemcpyError(
            f"the index {index} of the {what} does not form a bijective transform of the "
            f"loops: {'; '.join(found.errors) or 'no iterator map'}"
        )


def _require_contiguous(
    what: str, count: Expr, iterations: Expr, analyzer: Analyzer
) -> None:
    """The indices must be as many as the iterations, so that none is left out."""
    if not analyzer.can_prove_equal(iterations, count):
        raise _NoMemcpyError(
            f"Mismatch between loop iterations ({analyzer.simplify(iterations)}) and "
            f"number of {what} indices ({analyzer.simplify(count)})"
        )


def _extent_of(found: IntSet, index: Expr) -> Expr:
    """From the least to the greatest member."""
    if found.min is None or found.max is None:
        raise _NoMemcpyError(f"the index {index} has no bounds")
    return smart.add(smart.sub(found.max, found.min), 1)


def _require_equal_order(
    source: Expr, target: Expr, inputs: Mapping[Expr, Range], analyzer: Analyzer
) -> None:
    """Both indices must differ by the same number in all iterations."""
    difference = analyzer.simplify(smart.sub(source, target))
    if not any(Value(leaf) in inputs for leaf in leaf_values(difference)):
        return
    try:
        terms = [
            normalize_to_iter_sum(index, inputs, analyzer).args
            for index in (source, target)
        ]
    except ValueError:
        terms = [(), ()]
    raise _NoMemcpyError(
        f"the source index {source} and the destination index {target} have "
        f"{_first_difference(*terms)}"
    )


def _first_difference(
    source: Sequence[IterSplitExpr], target: Sequence[IterSplitExpr]
) -> str:
    """In what two sums of splits differ."""
    if len(source) != len(target):
        return f"{len(source)} and {len(target)} terms"
    for a, b in zip(source, target, strict=True):
        for name, left, right in (
            ("source", a.source.source, b.source.source),
            ("lower factor", a.lower_factor, b.lower_factor),
            ("extent", a.extent, b.extent),
            ("scale", a.scale, b.scale),
        ):
            if left is not right:
                return f"terms of different {name}: {left} and {right}"
    return "terms in different order"


def _region(
    indices: Sequence[Expr], domains: Mapping[Expr, IntSet], analyzer: Analyzer
) -> tuple[Range, ...]:
    """What each index takes in all iterations."""
    found: list[Range] = []
    for index in indices:
        ends = analyzer.int_set(index, domains)
        extent = analyzer.simplify(_extent_of(ends, index))
        assert ends.min is not None, "there is an extent"
        found.append(Range(analyzer.simplify(ends.min), extent))
    return tuple(found)
