"""Choices and loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, Repetition, Results, converts
from xdsl_tvm.frontend.onnx.values import Known, Value, as_expr, known
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_MOST_ITERATIONS = 1024
"""Iterations of the longest loop that is unrolled."""


@converts("If")
def _if(node: Node) -> Results:
    then, other = node.graph_of("then_branch"), node.graph_of("else_branch")
    condition = node.value()
    if isinstance(condition, Known):
        chosen = then if bool(condition.array.reshape(-1)[0]) else other
        return node.graphs.inlined(chosen, [])
    scalar = condition if node.rank() == 0 else op.reshape(condition, [])
    return node.graphs.branch(scalar, then, other)


@converts("Loop")
def _loop(node: Node) -> Results:
    """Iterations one after the other, or a function that calls itself."""
    body = node.graph_of("body")
    states = [node.value(index) for index in range(2, len(node.inputs))]
    count = node.value(0) if node.has(0) else None
    condition = node.value(1) if node.has(1) else None
    given = [Known(np.asarray(0)), condition, *states]
    if not _is_unrolled(node, body, count, condition, given):
        return _repeated_loop(node, body, count, condition, states)
    return _unrolled_loop(node, body, states)


def _is_unrolled(
    node: Node,
    body: GraphProto,
    count: Value | None,
    condition: Value | None,
    given: Sequence[Value | None],
) -> bool:
    """Whether the number of iterations is known, and small."""
    if isinstance(count, Known) and not count.is_symbolic:
        limit = node.integer(0)
    elif count is not None:
        return False
    else:
        limit = _MOST_ITERATIONS
    is_known = condition is None or isinstance(condition, Known)
    return is_known and limit <= _MOST_ITERATIONS and node.graphs.is_known(body, given)


def _repeated_loop(
    node: Node,
    body: GraphProto,
    count: Value | None,
    condition: Value | None,
    states: Sequence[Value],
) -> Results:
    def inputs(number: Expr, carried: Sequence[Expr], _: Sequence[Expr]) -> list[Value]:
        return [number, Known(np.asarray(True)), *carried]

    limit = None
    if count is not None:
        limit = node.emit(op.astype(op.reshape(as_expr(count), []), "int64"))
    repetition = Repetition(
        limit,
        relax.const(True) if condition is None else as_expr(condition),
        [as_expr(each) for each in states],
        [],
        inputs,
    )
    carried, collected = node.graphs.repeated(node.error("").args[0], body, repetition)
    return [*carried, *collected]


def _unrolled_loop(node: Node, body: GraphProto, carried: Sequence[Value]) -> Results:
    count = node.integer(0) if node.has(0) else _MOST_ITERATIONS + 1
    scanned: list[list[Value]] = [[] for _ in body.output[1 + len(carried) :]]
    going = node.has(1) is False or bool(node.array(1).reshape(-1)[0])
    iteration = 0
    while going and iteration < count:
        if iteration >= _MOST_ITERATIONS:
            raise node.error(f"it has more than {_MOST_ITERATIONS} iterations")
        number = Known(np.asarray(iteration, np.int64))
        inputs = [number, Known(np.asarray(True)), *carried][: len(body.input)]
        results = node.graphs.inlined(body, inputs)
        condition, *rest = results
        carried = list(rest[: len(carried)])
        for values, value in zip(scanned, rest[len(carried) :], strict=True):
            values.append(value)
        if not isinstance(condition, Known):
            raise node.error("its condition is known to the running program only")
        going = bool(condition.array.reshape(-1)[0])
        iteration += 1
    return [*carried, *(_stacked(node, values, 0) for values in scanned)]


@converts("Scan", since=9)
def _scan(node: Node) -> Results:
    """Iterations as many as the scanned inputs have elements."""
    body, count = node.graph_of("body"), node.int_of("num_scan_inputs")
    states = [node.value(index) for index in range(len(node.inputs) - count)]
    first = len(states)
    inputs = range(first, first + count)
    outputs = len(body.output) - len(states)
    axes = node.ints_of("scan_input_axes", [0] * count)
    backward = node.ints_of("scan_input_directions", [0] * count)
    axes = [node.axis(axis, node.rank(i)) for i, axis in zip(inputs, axes, strict=True)]
    extents = {node.shape(i)[axis] for i, axis in zip(inputs, axes, strict=True)}
    if len(extents) != 1:
        shown = ", ".join(sorted(map(str, extents)))
        raise node.error(f"the scanned inputs have different extents: {shown}")
    (extent,) = extents
    output_axes = node.ints_of("scan_output_axes", [0] * outputs)
    reversed_ = node.ints_of("scan_output_directions", [0] * outputs)

    def elements(place: Expr, from_end: Expr, parts: Sequence[Expr]) -> list[Value]:
        """What an iteration gets of the scanned inputs."""
        found: list[Value] = []
        for part, axis, is_backward in zip(parts, axes, backward, strict=True):
            chosen = from_end if is_backward else place
            found.append(node.emit(op.take(part, chosen, axis)))
        return found

    def iteration_inputs(
        number: Expr, carried: Sequence[Expr], parts: Sequence[Expr]
    ) -> list[Value]:
        from_end = number
        if any(backward):
            from_end = node.emit(op.subtract(known(extent - 1).expr(), number))
        return [*carried, *elements(number, from_end, parts)]

    scanned_inputs = [node.expr(i) for i in inputs]
    if extent.value is None or extent.value > _MOST_ITERATIONS:
        repetition = Repetition(
            node.emit(known(extent).expr()),
            None,
            [as_expr(each) for each in states],
            scanned_inputs,
            iteration_inputs,
        )
        carried, collected = node.graphs.repeated(
            node.error("").args[0], body, repetition
        )
        stacks: list[Value] = []
        for value, axis, is_back in zip(collected, output_axes, reversed_, strict=True):
            ordered = op.flip(value, 0) if is_back else value
            stacks.append(_moved(node, node.emit(ordered), axis))
        return [*carried, *stacks]
    scanned: list[list[Value]] = [[] for _ in range(outputs)]
    for iteration in range(extent.value):
        places = [
            relax.const(place, "int64")
            for place in (iteration, extent.value - 1 - iteration)
        ]
        parts = elements(places[0], places[1], scanned_inputs)
        results = node.graphs.inlined(body, [*states, *parts])
        states = list(results[:first])
        for values, value in zip(scanned, results[first:], strict=True):
            values.append(value)
    return [
        *states,
        *(
            _stacked(node, values[::-1] if is_back else values, axis)
            for values, axis, is_back in zip(scanned, output_axes, reversed_, strict=True)
        ),
    ]


def _moved(node: Node, value: Expr, axis: int) -> Expr:
    """A value with its first axis at another place."""
    rank = len(value.shape)
    axis = node.axis(axis, rank)
    order = list(range(1, rank))
    order.insert(axis, 0)
    return value if axis == 0 else op.permute_dims(value, order)


def _stacked(node: Node, values: list[Value], axis: int) -> Value:
    if not values:
        raise node.error("it has no iteration, so the shape of an output is not known")
    parts = [value.expr() if isinstance(value, Known) else value for value in values]
    rank = len(parts[0].shape) + 1
    axis = node.axis(axis, rank)
    return op.concat([op.expand_dims(part, [axis]) for part in parts], axis)
