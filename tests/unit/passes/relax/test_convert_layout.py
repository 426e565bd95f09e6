"""ConvertLayout on random networks, executed before and after.

`XDSL_TVM_FUZZ` sets their number, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm import relax
from xdsl_tvm.dialects import relax as dialect
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import relax as transform
from xdsl_tvm.passes.relax.convert_layout import ConvertLayout
from xdsl_tvm.registry import new_context
from xdsl_tvm.relax import op

FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
WANTED = (
    ["NHWC", "OHWI"],
    ["NHWC", "HWIO"],
    ["HWNC", "OIHW", "NHWC"],
    ["NCHW2c", "OIHW2o"],
    ["NCHW4c", "OIHW4i4o"],
    ["N2nCHW", "OIHW"],
)


class _Network:
    """Convolutions of 4 channels, and what follows the layouts of their results."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.builder = relax.BlockBuilder()
        batch = relax.sym("n") if self.rng.random() < 0.3 else 2
        self.image = _var("x", (batch, 4, 6, 6))
        self.weight = _var("w", (4, 4, 3, 3))
        self.bias = _var("b", (4, 1, 1))
        self.vectors = [_var(f"v{i}", (4,)) for i in range(4)]
        self.values: list[relax.Expr] = [self.image]
        """Of the image's shape."""

    def module(self) -> ModuleOp:
        params = [self.image, self.weight, self.bias, *self.vectors]
        with self.builder.function("main", params=params):
            with self.builder.dataflow():
                self.emit(self.convolution())
                for _ in range(self.rng.randrange(3, 9)):
                    self.rng.choice(STEPS)(self)
                last = self.rng.choice(ENDS)(self)
                outputs = [self.builder.emit_output(each) for each in (last, self.some())]
            self.builder.emit_func_output(outputs)
        return self.builder.get()

    def emit(self, value: relax.Expr) -> None:
        self.values.append(self.builder.emit(value))

    def some(self) -> relax.Expr:
        return self.rng.choice(self.values[-3:])

    def convolution(self) -> relax.Expr:
        return op.nn.conv2d(self.some(), self.weight, padding=1)

    def convolve(self) -> None:
        self.emit(self.convolution())

    def unary(self) -> None:
        kind = self.rng.choice((op.nn.relu, op.tanh, op.negative, op.nn.silu))
        self.emit(kind(self.some()))

    def binary(self) -> None:
        other = self.rng.choice((self.some(), self.bias, self.image, relax.const(2.0)))
        pair = [self.some(), other]
        self.rng.shuffle(pair)
        self.emit(self.rng.choice((op.add, op.maximum))(*pair))

    def normalize(self) -> None:
        x, (a, b, c, d) = self.some(), self.vectors
        choice = self.rng.randrange(5)
        if choice == 0:
            norm = op.nn.batch_norm(x, a, b, c, op.abs(d), axis=1, training=False)
            self.emit(self.builder.emit(norm)[0])
        elif choice == 1:
            self.emit(op.nn.layer_norm(x, a, b, axes=[1]))
        elif choice == 2:
            self.emit(op.nn.rms_norm(x, a, axes=[-3]))
        elif choice == 3:
            axes = [2, 3]
            self.emit(op.nn.group_norm(x, a, b, 2, channel_axis=1, axes=axes))
        else:
            softmax = self.rng.choice((op.nn.softmax, op.nn.log_softmax))
            self.emit(softmax(x, axis=self.rng.randrange(-4, 4)))

    def pool(self) -> None:
        kind = self.rng.choice((op.nn.max_pool2d, op.nn.avg_pool2d))
        self.emit(kind(self.some(), pool_size=3, padding=1))

    def pieces(self) -> None:
        axis = self.rng.choice((1, 2, -1))
        parts = self.builder.emit(op.split(self.some(), 2, axis=axis))
        fields = [parts[1], parts[0]]
        self.emit(op.concat(fields, axis=axis))

    def join(self) -> None:
        axis = self.rng.choice((1, 3))
        both = self.builder.emit(op.concat([self.some(), self.some()], axis=axis))
        end = 4 if axis == 1 else 6
        part = op.strided_slice(both, axes=[axis], begin=[1], end=[1 + end])
        self.emit(part)

    def turn(self) -> None:
        turned = self.builder.emit(op.permute_dims(self.some(), [0, 2, 3, 1]))
        if self.rng.random() < 0.5:
            turned = self.builder.emit(op.nn.relu(turned))
        self.emit(op.permute_dims(turned, [0, 3, 1, 2]))

    def axes(self) -> None:
        axis = self.rng.randrange(-5, 5)
        more = self.builder.emit(op.expand_dims(self.some(), axis))
        if self.rng.random() < 0.5:
            more = self.builder.emit(op.exp(more * 0.1))
        self.emit(op.squeeze(more, axis))

    def reduce(self) -> None:
        axis = self.rng.choice(([1], [2, 3], [-1], [0], None))
        kind = self.rng.choice((op.sum, op.mean, op.max, op.variance))
        reduced = self.builder.emit(kind(self.some(), axis=axis, keepdims=True))
        self.emit(op.subtract(self.some(), reduced))

    def as_it_is(self) -> None:
        self.emit(op.cumsum(self.some(), axis=1))

    def tuples(self) -> None:
        pair = self.builder.emit(relax.Tuple([self.some(), self.image]))
        self.emit(op.add(pair[0], pair[1]))

    def cast(self) -> None:
        half = self.builder.emit(op.astype(self.some(), "float64"))
        self.emit(op.astype(half, "float32"))

    def sum_of_some(self) -> relax.Expr:
        axis = self.rng.choice(([1], [2, 3], [-1], [0, 2], None))
        return op.sum(self.some(), axis=axis)

    def flat(self) -> relax.Expr:
        return op.flatten(self.some())


STEPS: tuple[Callable[[_Network], None], ...] = (
    _Network.convolve,
    _Network.unary,
    _Network.unary,
    _Network.binary,
    _Network.binary,
    _Network.normalize,
    _Network.pool,
    _Network.pieces,
    _Network.join,
    _Network.turn,
    _Network.axes,
    _Network.reduce,
    _Network.as_it_is,
    _Network.tuples,
    _Network.cast,
)
ENDS: tuple[Callable[[_Network], relax.Expr], ...] = (
    _Network.sum_of_some,
    _Network.flat,
    _Network.some,
)


def _var(name: str, shape: tuple[relax.DimLike, ...]) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32"))


def test_networks_compute_the_same() -> None:
    converted = followed = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = _Network(seed).module()
        wanted = WANTED[seed % len(WANTED)]
        convert = transform.ConvertLayout({"relax.nn.conv2d": wanted})
        report = check_semantics(module.clone(), [convert], seed=seed)
        assert "main" in report.checked
        before = _count(module, dialect.PermuteDimsOp)
        convert.apply(new_context(), module)
        module.verify()
        layouts = {
            each.data_layout.data
            for each in module.walk()
            if isinstance(each, dialect.Conv2DOp)
        }
        converted += layouts == {wanted[0]}
        followed += _count(module, dialect.PermuteDimsOp) - before <= 4
    assert converted > COUNT // 2
    assert followed > COUNT // 4


def _count(module: ModuleOp, kind: type[dialect.PermuteDimsOp]) -> int:
    return sum(isinstance(each, kind) for each in module.walk())


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ("relax.add:NHWC", "'relax.add' is no operator with layouts; these are "),
        ("relax.nn.conv2d", "must give layouts after colons"),
        ("relax.nn.conv2d:NHWC:OHWI:NHWC:NHWC", "must give layouts after colons"),
        ("relax.nn.conv2d:NHW:OHWI", 'layout "NHW" does not order the dimensions CHNW'),
        ("relax.nn.conv2d:NHWCC:OHWI", 'layout "NHWCC" does not order'),
    ],
)
def test_wrong_layouts_are_refused(layouts: str, message: str) -> None:
    module = _Network(0).module()
    with pytest.raises(PassFailedException, match=message):
        ConvertLayout((layouts,)).apply(new_context(), module)
