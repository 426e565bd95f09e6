"""Choices and loops."""

from __future__ import annotations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, Results, converts
from xdsl_tvm.frontend.onnx.values import Known, Value
from xdsl_tvm.relax import op

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
    """Iterations one after the other, as many as are known."""
    body = node.graph_of("body")
    count = node.integer(0) if node.has(0) else _MOST_ITERATIONS + 1
    carried = [node.value(index) for index in range(2, len(node.inputs))]
    scanned: list[list[Value]] = [[] for _ in body.output[1 + len(carried) :]]
    going = node.has(1) is False or bool(node.array(1).reshape(-1)[0])
    iteration = 0
    while going and iteration < count:
        if iteration >= _MOST_ITERATIONS:
            raise node.error(
                f"it has more than {_MOST_ITERATIONS} iterations, or a number of them "
                "that only the running program knows"
            )
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
    """Iterations one after the other, as many as the scanned inputs have elements."""
    body, count = node.graph_of("body"), node.int_of("num_scan_inputs")
    states = [node.value(index) for index in range(len(node.inputs) - count)]
    first = len(states)
    inputs = range(first, first + count)
    outputs = len(body.output) - len(states)
    axes = node.ints_of("scan_input_axes", [0] * count)
    backward = node.ints_of("scan_input_directions", [0] * count)
    axes = [node.axis(axis, node.rank(i)) for i, axis in zip(inputs, axes, strict=True)]
    extents = {node.sizes(i)[axis] for i, axis in zip(inputs, axes, strict=True)}
    if len(extents) != 1:
        raise node.error(f"the scanned inputs have different extents: {sorted(extents)}")
    (extent,) = extents
    if extent > _MOST_ITERATIONS:
        raise node.error(f"it has more than {_MOST_ITERATIONS} iterations: {extent}")
    scanned: list[list[Value]] = [[] for _ in range(outputs)]
    for iteration in range(extent):
        elements: list[Value] = []
        for i, axis, is_backward in zip(inputs, axes, backward, strict=True):
            place = extent - 1 - iteration if is_backward else iteration
            elements.append(
                node.emit(op.take(node.expr(i), relax.const(place, "int64"), axis))
            )
        results = list(node.graphs.inlined(body, [*states, *elements]))
        states = results[:first]
        for values, value in zip(scanned, results[first:], strict=True):
            values.append(value)
    output_axes = node.ints_of("scan_output_axes", [0] * outputs)
    reversed_ = node.ints_of("scan_output_directions", [0] * outputs)
    stacks = [
        _stacked(node, values[::-1] if is_back else values, axis)
        for values, axis, is_back in zip(scanned, output_axes, reversed_, strict=True)
    ]
    return [*states, *stacks]


def _stacked(node: Node, values: list[Value], axis: int) -> Value:
    if not values:
        raise node.error("it has no iteration, so the shape of an output is not known")
    parts = [value.expr() if isinstance(value, Known) else value for value in values]
    rank = len(parts[0].shape) + 1
    axis = node.axis(axis, rank)
    return op.concat([op.expand_dims(part, [axis]) for part in parts], axis)
