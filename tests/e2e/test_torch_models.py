"""Networks of torch.nn and dynamic programs, against torch. They need torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

import xdsl_tvm
from xdsl_tvm.dialects.relax import FuncOp
from xdsl_tvm.relax.frontend.torch import (
    TorchError,
    detach_params,
    from_exported_program,
)

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn
functional: Any = torch.nn.functional
Dim: Any = torch.export.Dim

pytestmark = pytest.mark.filterwarnings("ignore")


def module_of(forward: Callable[..., object], **parts: object) -> Any:
    """A module of parts, which `forward` gets before the inputs."""

    program: Any = type("Program", (nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        if isinstance(part, nn.Module):
            program.add_module(name, part)
        else:
            program.register_buffer(name, part)
    return program.eval()


def of_one(function: Callable[[Any, Any], object], **parts: object) -> Any:
    """A module of one input; torch keeps the lines of what is called `forward`."""

    def forward(self: Any, x: Any) -> object:
        return function(self, x)

    return module_of(forward, **parts)


def exported(module: Any, inputs: Sequence[object], shapes: object = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, tuple(inputs), dynamic_shapes=shapes)


def agree(module: Any, program: Any, inputs: Sequence[Any], compiled: bool) -> None:
    """Check the results of a program, compiled or interpreted."""
    road = xdsl_tvm.compile if compiled else xdsl_tvm.interpret
    converted = from_exported_program(program)
    arrays = [each.numpy() if hasattr(each, "numpy") else each for each in inputs]
    found: Any = road(converted)["main"](*arrays)
    expected: Any = module(*inputs)
    wanted: Any = torch.utils._pytree.tree_leaves(expected)
    for one, other in zip(found, wanted, strict=True):
        exact = other.detach().numpy() if hasattr(other, "numpy") else other
        np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-5)


# ---- networks ----


def perceptron() -> tuple[Any, Sequence[Any]]:
    layers = nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1)
    return nn.Sequential(*layers), (torch.randn(3, 8),)


def resnet_block() -> tuple[Any, Sequence[Any]]:
    """A block with a residual, as ResNet's, between a stem and a head."""

    def forward(self: Any, x: Any) -> Any:
        x = functional.max_pool2d(functional.relu(self.norm0(self.stem(x))), 3, 2, 1)
        y = functional.relu(self.norm1(self.first(x)))
        x = functional.relu(self.norm2(self.second(y)) + self.shortcut(x))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))

    module = module_of(
        forward,
        stem=nn.Conv2d(3, 8, 7, 2, 3, bias=False),
        first=nn.Conv2d(8, 12, 3, 2, 1, bias=False),
        second=nn.Conv2d(12, 12, 3, 1, 1, bias=False),
        shortcut=nn.Conv2d(8, 12, 1, 2),
        norm0=nn.BatchNorm2d(8),
        norm1=nn.BatchNorm2d(12),
        norm2=nn.BatchNorm2d(12),
        head=nn.Linear(12, 5),
    )
    return module, (torch.randn(1, 3, 24, 24),)


def mobilenet_block() -> tuple[Any, Sequence[Any]]:
    """An inverted residual with depthwise convolution and squeezed channels."""

    def forward(self: Any, x: Any) -> Any:
        y = self.depth(self.wide(x))
        y = y * functional.hardsigmoid(self.squeeze(y.mean((2, 3), keepdim=True)))
        return x + self.narrow(y)

    def normed(*arguments: Any, **options: Any) -> Any:
        conv = nn.Conv2d(*arguments, bias=False, **options)
        return nn.Sequential(conv, nn.BatchNorm2d(arguments[1]), nn.Hardswish())

    module = module_of(
        forward,
        wide=normed(6, 12, 1),
        depth=normed(12, 12, 3, padding=1, groups=12),
        squeeze=nn.Sequential(nn.Conv2d(12, 4, 1), nn.ReLU6(), nn.Conv2d(4, 12, 1)),
        narrow=nn.Sequential(nn.Conv2d(12, 6, 1), nn.BatchNorm2d(6)),
    )
    return module, (torch.randn(1, 6, 9, 9),)


def encoder() -> tuple[Any, Sequence[Any]]:
    """A layer of BERT: attention, normalization after the sums, GELU."""

    def forward(self: Any, words: Any) -> Any:
        places = torch.arange(words.shape[1])
        x = self.norm(self.words(words) + self.places(places))
        return torch.tanh(self.pooler(self.layer(x)[:, 0]))

    layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True)
    module = module_of(
        forward,
        words=nn.Embedding(50, 16),
        places=nn.Embedding(12, 16),
        norm=nn.LayerNorm(16),
        layer=layer,
        pooler=nn.Linear(16, 16),
    )
    return module, (torch.randint(0, 50, (2, 7)),)


def causal_block() -> tuple[Any, Sequence[Any]]:
    """A layer of GPT-2: causal attention, normalization before, tied embeddings."""

    def forward(self: Any, words: Any) -> Any:
        batch, length = words.shape
        x = self.words(words) + self.places(torch.arange(length))
        heads = [
            part.view(batch, length, 2, 8).transpose(1, 2)
            for part in self.mixed(self.norm1(x)).split(16, -1)
        ]
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, 16))
        inner = functional.gelu(self.wide(self.norm2(x)), approximate="tanh")
        return (x + self.narrow(inner)) @ self.words.weight.T

    module = module_of(
        forward,
        words=nn.Embedding(50, 16),
        places=nn.Embedding(64, 16),
        norm1=nn.LayerNorm(16),
        norm2=nn.LayerNorm(16),
        mixed=nn.Linear(16, 48),
        out=nn.Linear(16, 16),
        wide=nn.Linear(16, 64),
        narrow=nn.Linear(64, 16),
    )
    return module, (torch.randint(0, 50, (2, 7)),)


def recurrent() -> tuple[Any, Sequence[Any]]:
    def forward(self: Any, x: Any) -> Any:
        found, (hidden, cell) = self.lstm(x)
        return found, hidden, cell

    module = module_of(forward, lstm=nn.LSTM(4, 6, batch_first=True))
    return module, (torch.randn(2, 3, 4),)


@pytest.mark.skipif(find_spec("llvmlite") is None, reason="needs llvmlite")
@pytest.mark.parametrize(
    "network",
    [perceptron, resnet_block, mobilenet_block, encoder, causal_block, recurrent],
)
def test_a_network_computes_what_torch_does(
    network: Callable[[], tuple[Any, Sequence[Any]]],
) -> None:
    torch.manual_seed(3)
    module, inputs = network()
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d):
            each.running_mean.normal_(0, 0.1)
            each.running_var.uniform_(0.5, 1.5)
    agree(module.eval(), exported(module.eval(), inputs), inputs, True)


# ---- dynamic shapes ----


def main_of(program: Any) -> FuncOp:
    (func,) = from_exported_program(program).body.block.ops
    assert isinstance(func, FuncOp)
    return func


def test_names_and_bounds_of_dynamic_shapes_are_kept() -> None:
    module, inputs = causal_block()
    batch, length = Dim("batch", min=2, max=32), Dim("length", min=2, max=64)
    program = exported(module.eval(), inputs, ({0: batch, 1: length},))
    text = str(main_of(program).attributes["tir_var_upper_bound"])
    assert "batch = 32" in text
    assert "length = 64" in text
    for shape in ((3, 9), (2, 4)):
        agree(module, program, (torch.randint(0, 50, shape),), False)


def slices(_self: Any, x: Any) -> Any:
    return x[1:], x[:-1], x[-2:], x[::2], x.roll(1, 0), x.flatten()


def sizes(_self: Any, x: Any) -> Any:
    count = x.shape[0]
    square = torch.ones(count, count).tril() @ x
    return square, x * count, torch.arange(count) * 2, x.var(0), x.repeat(2, 1)


def padded(_self: Any, x: Any) -> Any:
    return functional.pad(x, (1, 2, 3, 0)), x.unfold(1, 2, 1), torch.cat([x, x])[2:]


@pytest.mark.parametrize("forward", [slices, sizes, padded])
def test_dynamic_programs(forward: Callable[..., object]) -> None:
    module = module_of(forward)
    rows = {0: Dim("rows", min=4, max=64)}
    program = exported(module, (torch.randn(6, 4),), (rows,))
    for count in (4, 7):
        agree(module, program, (torch.randn(count, 4),), False)


def test_sizes_that_only_the_run_knows() -> None:
    def forward(_self: Any, x: Any, count: Any) -> Any:
        return x[x > 0].sum(), x.nonzero(), torch.ones(count.item())

    module = module_of(forward)
    inputs = torch.randn(5, 4), torch.tensor(3)
    agree(module, exported(module, inputs), inputs, False)


def scaled(_self: Any, x: Any, k: Any) -> Any:
    return x * k, torch.arange(k), k


def test_integers_are_inputs() -> None:
    module = module_of(scaled)
    program = exported(module, (torch.randn(2, 3), 4), (None, Dim.DYNAMIC))
    agree(module, program, (torch.randn(2, 3), 7), False)


def test_programs_from_files(tmp_path: Path) -> None:
    module = of_one(lambda _self, x: x * x.shape[0])
    program = exported(module, (torch.randn(3, 4),), ({0: Dim("rows", min=2)},))
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2")
    agree(module, loaded, (torch.randn(5, 4),), False)


# ---- weights ----


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64", "int8"])
def test_weights_of_all_dtypes_are_held(dtype: str) -> None:
    weight = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    # Of other strides than those of the shape.
    module = of_one(lambda self, x: x + self.w.to(x.dtype), w=weight.T)
    inputs = (torch.randn(3, 2),)
    agree(module, exported(module, inputs), inputs, False)


def test_parameters_can_stay_inputs() -> None:
    module = nn.Linear(4, 2)
    x = torch.randn(3, 4)
    converted = from_exported_program(
        exported(module, (x,)), keep_params_as_input=True, unwrap_unit_return_tuple=True
    )
    plain, params = detach_params(converted)
    found = xdsl_tvm.interpret(plain)["main"](x.numpy(), *params["main"])
    np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


# ---- what programs change ----


def counted(self: Any, x: Any) -> Any:
    self.count.add_(1)
    return x * self.count


def written(self: Any, x: Any) -> Any:
    self.last.copy_(x)
    self.count.add_(self.last.sum())
    x.add_(1)
    return x * 2


def changed_by(module: Any, *inputs: Any, **options: bool) -> None:
    """Two calls leave the buffers that torch's do, and return the same."""
    program = exported(module, tuple(each.clone() for each in inputs))
    converted, params = detach_params(from_exported_program(program, **options))
    run, states = xdsl_tvm.interpret(converted)["main"], params["main"]
    func = converted["main"]
    assert isinstance(func, FuncOp)
    named: Any = func.attrs["changed"]
    changed: list[str] = list(named)
    buffers = [name for name in changed if name in dict(module.named_buffers())]
    for _ in range(2):
        given = [each.clone() for each in inputs]
        expected = module(*given)
        found = run(*(each.numpy() for each in inputs), *states)
        after = dict(zip(changed, found[-len(changed) :], strict=True))
        wanted = expected.detach().numpy()
        np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-5)
        for name in buffers:
            wanted = module.get_buffer(name).numpy()
            np.testing.assert_allclose(after[name], wanted, rtol=1e-5, atol=1e-6)
        if "x" in after:
            np.testing.assert_allclose(after["x"], given[0].numpy(), rtol=1e-6)
        states[: len(buffers)] = [after[name] for name in buffers]


def test_changed_buffers_are_parameters_and_results() -> None:
    x = torch.randn(2, 3)
    changed_by(of_one(counted, count=torch.zeros(1)), x)
    changed_by(of_one(written, last=torch.zeros(2, 3), count=torch.ones(())), x)


@pytest.mark.parametrize("keep_params_as_input", [False, True])
def test_batch_normalization_in_training(keep_params_as_input: bool) -> None:
    module = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)).train()
    x = torch.randn(4, 5)
    changed_by(module, x, keep_params_as_input=keep_params_as_input)


# ---- branches ----


def branched(self: Any, x: Any) -> Any:
    def large(x: Any, y: Any) -> Any:
        inner = torch.cond(y[0] > 2, torch.exp, torch.neg, (x,))
        return inner @ self.weight, y + 1

    def small(x: Any, y: Any) -> Any:
        return x.cos() @ self.weight, y.exp()

    a, b = torch.cond(x.sum() > 0, large, small, (x, x.mean(0)))
    return a * 2, b


@pytest.mark.parametrize("compiled", [False, True])
def test_branches_are_taken_by_their_conditions(compiled: bool) -> None:
    module = of_one(branched, weight=torch.randn(3, 2))
    x = torch.randn(4, 3)
    program = exported(module, (x,), ({0: Dim("rows", min=2)},))
    for inputs in (x.abs(), -x.abs(), x.abs() + 3, torch.ones(6, 3)):
        agree(module, program, (inputs,), compiled)


# ---- what is refused ----


def sized(_self: Any, x: Any) -> Any:
    return torch.ops.higher_order.cond(x.shape[0] > 1, torch.sin, torch.cos, (x,))


REFUSED: Sequence[tuple[Callable[[Any, Any], object], Mapping[str, object], str]] = [
    (
        lambda _self, x: torch.rand_like(x) + x,
        {},
        r"aten.rand.*, which is random \('",
    ),
    (
        lambda _self, x: torch.fft.rfft(x).abs(),
        {},
        r"aten._fft_r2c.default \('.*py:\d",
    ),
    (sized, {}, "'cond' .* a condition about sizes"),
    (
        lambda _self, x: torch.cond(x.sum() > 0, torch.erfc, torch.cos, (x,)),
        {},
        r"1 operator is not converted: aten.special_erfc|aten.erfc",
    ),
    (
        lambda _self, x: x.cummax(0)[0] * x.erfc(),
        {},
        r"^2 operators are not .*erfc.default \(.*py:\d",
    ),
    (lambda _self, x: (x, None), {}, "output: None is returned"),
    (lambda _self, x: x.to_sparse().to_dense(), {}, r"aten._to_sparse.default"),
]


@pytest.mark.parametrize(("forward", "parts", "message"), REFUSED)
def test_programs_that_are_refused(
    forward: Callable[..., object], parts: Mapping[str, object], message: str
) -> None:
    program = exported(of_one(forward, **parts), (torch.randn(2, 3),))
    with pytest.raises(TorchError, match=message) as caught:
        from_exported_program(program)
    assert "\n" not in str(caught.value)


def test_modules_have_to_be_exported() -> None:
    with pytest.raises(TorchError, match="not Linear; export it first"):
        from_exported_program(nn.Linear(2, 2))


def test_inputs_of_other_dtypes_are_refused() -> None:
    module = of_one(lambda _self, x: torch.view_as_real(x))
    program = exported(module, (torch.randn(2, 3, dtype=torch.complex64),))
    with pytest.raises(
        TorchError, match="a tensor with dtype complex64 is not converted"
    ):
        from_exported_program(program)


# ---- the page ----


def test_the_page_runs() -> None:
    text = (ROOT / "docs" / "torch.md").read_text()
    first, *others = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    names: dict[str, Any] = {}
    exec(compile(first, "docs/torch.md", "exec"), names)
    printed = str(names["module"])
    for block in others:
        exec(compile(block, "docs/torch.md", "exec"), names)
    expected = text.split("The module prints as")[1].split("```")[1]
    assert "".join(expected.split()) in "".join(printed.split())
