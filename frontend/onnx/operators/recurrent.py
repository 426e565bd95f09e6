"""Recurrent networks, unrolled: a sequence has a known number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.operators.elementwise import hard_sigmoid
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_MOST_STEPS = 4096
"""Steps of the longest sequence that is unrolled."""

Activation = Callable[[Expr], Expr]
Cell = Callable[["Layer", Expr, Sequence[Expr]], list[Expr]]


class Layer:
    """One direction of a recurrent node: weights by gate, and activations."""

    def __init__(self, node: Node, direction: int, gates: int, defaults: Sequence[str]):
        self.node = node
        self.hidden = node.sizes(2)[2]
        self.gates = gates
        self.w = self._part(1, direction)
        self.r = self._part(2, direction)
        self.bias = self._part(3, direction) if node.has(3) else None
        self.functions = _activations(node, direction, defaults)
        self.clip = node.float_of("clip", 0.0)
        self.peepholes = self._part(7, direction) if node.has(7) else None

    def _part(self, index: int, direction: int) -> Expr:
        whole = self.node.expr(index)
        taken = op.take(whole, relax.const(direction, "int64"), 0)
        return self.node.emit(taken)

    def gate(self, matrix: Expr, index: int) -> Expr:
        """The rows of a gate."""
        begin = index * self.hidden
        return op.strided_slice(matrix, [0], [begin], [begin + self.hidden])

    def transposed(self, matrix: Expr, index: int) -> Expr:
        """The matrix of a gate, for products from the left."""
        return op.permute_dims(self.gate(matrix, index), [1, 0])

    def input_of(self, x: Expr, index: int) -> Expr:
        """What a gate gets of the input, with its bias."""
        result = op.matmul(x, self.transposed(self.w, index))
        return (
            result if self.bias is None else op.add(result, self.gate(self.bias, index))
        )

    def state_of(self, h: Expr, index: int) -> Expr:
        """What a gate gets of the state, with its bias."""
        result = op.matmul(h, self.transposed(self.r, index))
        if self.bias is None:
            return result
        return op.add(result, self.gate(self.bias, self.gates + index))

    def activated(self, function: int, value: Expr) -> Expr:
        """An activation of a value, which is clipped before."""
        if self.clip:
            value = op.clip(value, -self.clip, self.clip)
        return self.functions[function](value)

    def peep(self, index: int, cell: Expr, gate: Expr) -> Expr:
        """A gate that sees the cell."""
        if self.peepholes is None:
            return gate
        return op.add(gate, op.multiply(self.gate(self.peepholes, index), cell))


def _activations(node: Node, direction: int, defaults: Sequence[str]) -> list[Activation]:
    names = node.strs_of("activations", [])
    count = len(defaults)
    names = names[direction * count : (direction + 1) * count] or list(defaults)
    if len(names) != count:
        raise node.error(f"there must be {count} activations for each direction")
    alphas = node.floats_of("activation_alpha", [])[direction * count :]
    betas = node.floats_of("activation_beta", [])[direction * count :]
    return [
        _activation(
            node,
            name,
            alphas[index] if index < len(alphas) else None,
            betas[index] if index < len(betas) else None,
        )
        for index, name in enumerate(names)
    ]


def _activation(
    node: Node, name: str, alpha: float | None, beta: float | None
) -> Activation:
    simple: dict[str, Activation] = {
        "sigmoid": op.sigmoid,
        "tanh": op.tanh,
        "relu": op.nn.relu,
        "softplus": op.nn.softplus,
        "softsign": lambda x: op.divide(x, op.add(op.abs(x), node.scalar(1))),
        "hardsigmoid": lambda x: hard_sigmoid(
            node,
            x,
            0.2 if alpha is None else alpha,
            0.5 if beta is None else beta,
        ),
        "leakyrelu": lambda x: op.nn.leakyrelu(x, 0.01 if alpha is None else alpha),
        "affine": lambda x: op.add(
            op.multiply(x, node.scalar(1.0 if alpha is None else alpha)),
            node.scalar(0.0 if beta is None else beta),
        ),
        "scaledtanh": lambda x: op.multiply(
            op.tanh(op.multiply(x, node.scalar(1.0 if beta is None else beta))),
            node.scalar(1.0 if alpha is None else alpha),
        ),
    }
    if name.lower() not in simple:
        raise node.error(f"the activation {name} is not converted")
    return simple[name.lower()]


def _rnn_cell(layer: Layer, x: Expr, states: Sequence[Expr]) -> list[Expr]:
    (h,) = states
    gate = op.add(layer.input_of(x, 0), layer.state_of(h, 0))
    return [layer.activated(0, gate)]


def _gru_cell(layer: Layer, x: Expr, states: Sequence[Expr]) -> list[Expr]:
    (h,) = states
    node = layer.node
    z = layer.activated(0, op.add(layer.input_of(x, 0), layer.state_of(h, 0)))
    r = node.emit(layer.activated(0, op.add(layer.input_of(x, 1), layer.state_of(h, 1))))
    if node.int_of("linear_before_reset", 0):
        old = op.multiply(r, layer.state_of(h, 2))
    else:
        old = layer.state_of(op.multiply(r, h), 2)
    new = layer.activated(1, op.add(layer.input_of(x, 2), old))
    z = node.emit(z)
    kept = op.multiply(z, h)
    return [op.add(op.multiply(op.subtract(node.scalar(1), z), new), kept)]


def _lstm_cell(layer: Layer, x: Expr, states: Sequence[Expr]) -> list[Expr]:
    h, c = states
    node = layer.node
    i, o, f, g = (
        op.add(layer.input_of(x, index), layer.state_of(h, index)) for index in range(4)
    )
    i = node.emit(layer.activated(0, layer.peep(0, c, i)))
    if node.int_of("input_forget", 0):
        f = op.subtract(node.scalar(1), i)
    else:
        f = layer.activated(0, layer.peep(2, c, f))
    g = layer.activated(1, g)
    c = node.emit(op.add(op.multiply(f, c), op.multiply(i, g)))
    o = layer.activated(0, layer.peep(1, c, o))
    # The cell's own activation is not clipped.
    return [op.multiply(o, layer.functions[2](c)), c]


def _recurrent(
    node: Node,
    cell: Cell,
    gates: int,
    defaults: Sequence[str],
    state_inputs: Sequence[int],
) -> list[Value | None]:
    batch_first = bool(node.int_of("layout", 0))
    x = node.expr()
    if batch_first:
        x = op.permute_dims(x, [1, 0, 2])
    x = node.emit(x)
    steps = x.shape[0].value
    if steps is None:
        raise node.error("the length of the sequence must be a number; give shape_dict")
    if steps > _MOST_STEPS:
        raise node.error(f"a sequence of {steps} steps is longer than {_MOST_STEPS}")
    batch = x.shape[1]
    direction = node.str_of("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    if node.sizes(1)[0] != count:
        raise node.error(f"direction {direction} needs weights of {count} directions")
    lengths = op.astype(node.expr(4), "int64") if node.has(4) else None
    finals: list[list[Expr]] = [[] for _ in state_inputs]
    sequences: list[list[Expr]] = []
    for index in range(count):
        layer = Layer(node, index, gates, defaults)
        is_backward = direction == "reverse" or index == 1
        states = [
            _initial(node, each, index, batch, layer.hidden, batch_first)
            for each in state_inputs
        ]
        order = range(steps)[::-1] if is_backward else range(steps)
        outputs: dict[int, Expr] = {}
        for step in order:
            element = op.take(x, relax.const(step, "int64"), 0)
            new = cell(layer, node.emit(element), states)
            new = [node.emit(each) for each in new]
            shown = new[0]
            if lengths is not None:
                runs = op.expand_dims(op.less(relax.const(step, "int64"), lengths), [1])
                runs = node.emit(runs)
                shown = op.where(runs, new[0], node.scalar(0))
                new = [
                    node.emit(op.where(runs, fresh, old))
                    for fresh, old in zip(new, states, strict=True)
                ]
            outputs[step] = op.expand_dims(shown, [0, 1])
            states = new
        sequences.append([outputs[step] for step in range(steps)])
        for final, state in zip(finals, states, strict=True):
            final.append(op.expand_dims(state, [0]))
    whole = [_joined(parts, 0) for parts in sequences]
    y = _joined(whole, 1)
    last = [_joined(final, 0) for final in finals]
    if batch_first:
        y = op.permute_dims(y, [2, 0, 1, 3])
        last = [op.permute_dims(each, [1, 0, 2]) for each in last]
    return [y, *last]


def _joined(parts: Sequence[Expr], axis: int) -> Expr:
    return parts[0] if len(parts) == 1 else op.concat(list(parts), axis)


def _initial(
    node: Node, index: int, direction: int, batch: object, hidden: int, batch_first: bool
) -> Expr:
    if not node.has(index):
        return node.emit(op.zeros([batch, hidden], node.dtype()))
    axis = 1 if batch_first else 0
    place = relax.const(direction, "int64")
    return node.emit(op.take(node.expr(index), place, axis))


@converts("RNN")
def _rnn(node: Node) -> list[Value | None]:
    return _recurrent(node, _rnn_cell, 1, ["Tanh"], [5])


@converts("GRU")
def _gru(node: Node) -> list[Value | None]:
    return _recurrent(node, _gru_cell, 3, ["Sigmoid", "Tanh"], [5])


@converts("LSTM")
def _lstm(node: Node) -> list[Value | None]:
    return _recurrent(node, _lstm_cell, 4, ["Sigmoid", "Tanh", "Tanh"], [5, 6])
