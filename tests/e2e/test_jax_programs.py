"""Functions of JAX, printed, converted and compiled, against JAX itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.runtime.unit_objects import PROCESSES_VARIABLE

jax: Any = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp: Any = jax.numpy
lax: Any = jax.lax
nn: Any = jax.nn

_RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return _RNG.standard_normal(shape).astype(np.float32)


def _integers(limit: int, *shape: int) -> Any:
    return _RNG.integers(0, limit, shape).astype(np.int32)


def _pool_loss(x: Any) -> Any:
    y = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return (y**2).sum()


def _transposed(x: Any, w: Any) -> Any:
    layouts = ("NHWC", "HWIO", "NHWC")
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=layouts)


def _cnn_loss(w: Any, x: Any) -> Any:
    y = nn.relu(lax.conv_general_dilated(x, w, (2, 2), "SAME"))
    sums = lax.reduce_window(y, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return (sums**2).sum()


def _depthwise_loss(w: Any, x: Any) -> Any:
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=3)
    return (y**2).sum()


def _attention(q: Any, k: Any, v: Any) -> Any:
    return nn.dot_product_attention(q, k, v, is_causal=True)


def _normalized(x: Any, gamma: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * gamma


def _activations(x: Any) -> Any:
    functions = (nn.gelu, nn.silu, nn.softplus, nn.elu, nn.leaky_relu, nn.log_softmax)
    return [function(x) for function in functions]


def _sorted(x: Any) -> Any:
    return [
        jnp.sort(x, -1),
        jnp.argsort(x, 0),
        jnp.argmax(x, -1),
        jnp.argmin(x, 0),
        lax.top_k(x, 2),
        jnp.cumsum(x, 0),
        jnp.cumprod(x, 1),
        lax.cummax(x, 1),
        jnp.flip(x, 0),
    ]


def _indexed(x: Any, i: Any, j: Any) -> Any:
    def row(r: Any, k: Any) -> Any:
        return r.at[k].add(1.0)[k]

    return [
        x[i, j],
        x[:, j],
        x[i][:, j],
        x.at[i, j].mul(3.0),
        x.at[i].max(0.3),
        x.at[:, j].set(7.0, mode="drop"),
        jax.vmap(row)(x, i),
        lax.dynamic_slice(x, (i[0], 1), (2, 2)),
        lax.dynamic_update_slice(x, x[:1, :2], (i[1], j[0])),
    ]


def _steps(x: Any) -> Any:
    def step(carry: Any, y: Any) -> Any:
        return carry * 0.5 + y, carry.sum()

    def body(index: Any, value: Any) -> Any:
        return value * 2 + index

    return [
        lax.fori_loop(0, 5, body, x),
        lax.scan(step, x, jnp.ones((4, 3))),
        lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    ]


def _repeated(x: Any, count: Any) -> Any:
    def double(carry: Any) -> Any:
        value, number = carry
        return value * 2, number + count

    def is_small(carry: Any) -> Any:
        return carry[0].sum() < 100

    def add_index(index: Any, value: Any) -> Any:
        return value + index

    def collect(total: Any, row: Any) -> Any:
        def add_row(_: Any, value: Any) -> Any:
            return value + row

        steps = lax.fori_loop(0, count, add_row, row)
        return total + steps.sum(), steps

    return [
        lax.while_loop(is_small, double, (x, count)),
        lax.fori_loop(0, count, add_index, x),
        lax.scan(collect, 0.0, jnp.tile(x, (3, 1))),
    ]


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "attention": (_attention, [_floats(1, 3, 2, 4) for _ in range(3)]),
    "layer norm": (_normalized, [_floats(2, 8), _floats(8)]),
    "activations": (_activations, [_floats(3, 40)]),
    "gradient of a CNN": (
        jax.value_and_grad(_cnn_loss, (0, 1)),
        [_floats(6, 3, 3, 3), _floats(2, 3, 8, 8)],
    ),
    "gradient of a depthwise convolution": (
        jax.grad(_depthwise_loss),
        [_floats(3, 1, 3, 3), _floats(2, 3, 8, 8)],
    ),
    "gradient of a pool": (jax.grad(_pool_loss), [_floats(2, 9, 8, 2)]),
    "transposed convolution": (_transposed, [_floats(1, 4, 4, 3), _floats(3, 3, 3, 2)]),
    "sorts and scans": (_sorted, [_floats(3, 4)]),
    "positions": (_indexed, [_floats(3, 4), _integers(3, 3), _integers(4, 3)]),
    "loops": (_steps, [_floats(3)]),
    "loops of unknown length": (
        _repeated,
        [np.array([1, 2], np.float32), np.array(3, np.int32)],
    ),
}


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # JAX has threads, and warns of processes that begin as copies.
    monkeypatch.setenv(PROCESSES_VARIABLE, "1")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("generic", [False, True])
def test_a_function_computes_what_it_does_in_jax(name: str, generic: bool) -> None:
    function, inputs = CASES[name]
    lowered = jax.jit(function).lower(*inputs)
    text: str = lowered.as_text()
    if generic:
        operation = lowered.compiler_ir().operation
        text = operation.get_asm(print_generic_op_form=True)
    expected: list[Any] = jax.tree.leaves(function(*map(jnp.asarray, inputs)))
    road = xdsl_tvm.interpret if generic else xdsl_tvm.compile
    found: Any = road(text)["main"](*inputs)
    results: list[Any] = [*found] if len(expected) > 1 else [found]
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4)
