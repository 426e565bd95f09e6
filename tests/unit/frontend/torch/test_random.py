"""Random numbers of torch's programs: their distributions, their state, what is refused.

Seeds are fixed, so that bounds of four standard deviations hold or not once for all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from xdsl_tvm import interpret
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch import TorchError, detach_params
from xdsl_tvm.frontend.torch.convert import from_graph
from xdsl_tvm.frontend.torch.graph import Graph, GraphNode, Input, Ref, TensorMeta

Array = np.ndarray[Any, Any]
COUNT = 8000
BOUND = 4 / math.sqrt(COUNT)


def program(*calls: tuple[str, str, dict[str, object]], count: int = COUNT) -> Graph:
    """A program that returns the results of random operators, of dtypes."""
    nodes = [
        GraphNode(
            f"y{index}", f"aten.{target}", given, TensorMeta((Dim.of(count),), dtype)
        )
        for index, (target, dtype, given) in enumerate(calls)
    ]
    return Graph([], nodes, [Ref(node.name) for node in nodes])


def ran(graph: Graph, seed: int = 7, runs: int = 1) -> list[Array]:
    """The results of several runs, one after the other."""
    module, params = detach_params(from_graph(graph, seed=seed))
    main, states, found = interpret(module)["main"], params["main"], list[Array]()
    for _ in range(runs):
        *results, state = main(*states)
        found += results
        states = [state]
    return found


def moments(x: Array) -> list[float]:
    """Mean, variance, and third and fourth moments around the mean."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean()
    return [wide.mean(), *(float((centred**power).mean()) for power in (2, 3, 4))]


def test_uniform_numbers() -> None:
    (x,) = ran(program(("rand.default", "float32", {})))
    assert 0 <= x.min() < BOUND
    assert 1 - BOUND < x.max() < 1
    np.testing.assert_allclose(moments(x), [1 / 2, 1 / 12, 0, 1 / 80], atol=BOUND)
    counts = np.bincount((x * 16).astype(int), minlength=16)
    # Chi-squared with 15 degrees of freedom: mean 15, standard deviation 5.5.
    assert ((counts - COUNT / 16) ** 2 / (COUNT / 16)).sum() < 15 + 4 * 5.5


def test_normal_numbers() -> None:
    dtypes = ("float32", "float64", "float16")
    calls = [("randn.default", dtype, dict[str, object]()) for dtype in dtypes]
    found = ran(program(*calls))
    for x, dtype in zip(found, dtypes, strict=True):
        assert x.dtype == dtype
        spread = np.array([1, math.sqrt(2), math.sqrt(15), math.sqrt(96)])
        assert (abs(np.array(moments(x)) - [0, 1, 0, 3]) < BOUND * spread).all()
        # 4.55 % are further than two deviations from 0, and 0.27 % than three.
        for edge, share in ((2, 0.0455), (3, 0.0027)):
            deviation = math.sqrt(share * (1 - share) / COUNT)
            assert abs((abs(x) > edge).mean() - share) < 4 * deviation


def test_numbers_of_other_distributions() -> None:
    graph = program(
        ("exponential.default", "float32", {"lambd": 2.0}),
        ("uniform.default", "float32", {"from": -1.0, "to": 3.0}),
        ("normal.float_float", "float32", {"mean": 5.0, "std": 2.0}),
        ("bernoulli.p", "float32", {"p": 0.3}),
        ("randint.low", "int64", {"low": -3, "high": 4}),
    )
    exponential, uniform, normal, bernoulli, integers = ran(graph)
    assert exponential.min() > 0
    np.testing.assert_allclose(moments(exponential)[:2], [0.5, 0.25], atol=0.02)
    np.testing.assert_allclose(moments(uniform)[:2], [1, 16 / 12], atol=0.03)
    np.testing.assert_allclose(moments(normal)[:2], [5, 4], atol=0.15)
    assert abs(bernoulli.mean() - 0.3) < 4 * math.sqrt(0.21 / COUNT)
    counts = np.bincount(integers + 3, minlength=7)
    # Chi-squared with 6 degrees of freedom: mean 6, standard deviation 3.5.
    assert counts.size == 7
    assert ((counts - COUNT / 7) ** 2 / (COUNT / 7)).sum() < 6 + 4 * 3.5


def test_calls_elements_and_runs_are_independent() -> None:
    graph = program(("randn.default", "float32", {}), ("randn.default", "float32", {}))
    rows = ran(graph, runs=2)
    rows += ran(graph, seed=8)
    for index, row in enumerate(rows):
        others = [*rows[index + 1 :], *(np.roll(row, lag) for lag in (1, 2, 128))]
        for other in others:
            assert abs((row * other).mean()) < BOUND
    np.testing.assert_array_equal(rows[:2], ran(graph))


def test_a_permutation_has_each_integer_once() -> None:
    graph = program(("randperm.default", "int64", {}), count=500)
    first, second = ran(graph, runs=2)
    for each in (first, second):
        np.testing.assert_array_equal(np.sort(each), np.arange(500))
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(500)
    assert abs(np.corrcoef(first, np.arange(500))[0, 1]) < 4 / math.sqrt(500)


def test_choices_follow_their_weights() -> None:
    weights = np.tile(np.array([1, 0, 3, 4], np.float32), (2000, 1))
    shape = TensorMeta((Dim.of(2000), Dim.of(2)), "int64")
    source = Input("w", "user", TensorMeta((Dim.of(2000), Dim.of(4)), "float32"))
    for replacement in (False, True):
        given: dict[str, object] = {
            "self": Ref("w"), "num_samples": 2, "replacement": replacement,
        }  # fmt: skip
        node = GraphNode("y", "aten.multinomial.default", given, shape)
        module, params = detach_params(
            from_graph(Graph([source], [node], [Ref("y")]), seed=3)
        )
        chosen, _ = interpret(module)["main"](weights, *params["main"])
        shares = np.bincount(chosen[:, 0], minlength=4) / 2000
        np.testing.assert_allclose(shares, [1 / 8, 0, 3 / 8, 1 / 2], atol=0.045)
        assert (chosen[:, 0] == chosen[:, 1]).any() == replacement


def test_dropout_keeps_the_mean() -> None:
    x = TensorMeta((Dim.of(COUNT),), "float32")
    given: dict[str, object] = {"input": Ref("x"), "p": 0.25, "train": True}
    both = [x, TensorMeta((Dim.of(COUNT),), "bool")]
    nodes = [
        GraphNode("y", "aten.native_dropout.default", given, both),
        *(
            GraphNode(f"y{i}", "getitem", {"self": Ref("y"), "index": i}, both[i])
            for i in (0, 1)
        ),
    ]
    graph = Graph([Input("x", "user", x)], nodes, [Ref("y0"), Ref("y1")])
    module, params = detach_params(from_graph(graph, seed=1))
    y, kept, _ = interpret(module)["main"](np.ones(COUNT, np.float32), *params["main"])
    assert abs(kept.mean() - 0.75) < 4 * math.sqrt(0.1875 / COUNT)
    np.testing.assert_allclose(y, kept / 0.75, rtol=1e-6)


def test_a_seed_of_64_bits_counts_whole() -> None:
    graph = program(("randint.low", "int64", {"high": 1 << 31}), count=50)
    rows = [ran(graph, seed)[0] for seed in (5, 5 + (1 << 32), 5 + (1 << 63))]
    assert not any((rows[0] == row).any() for row in rows[1:])
    for seed in (-1, 1 << 64):
        with pytest.raises(TorchError, match="the seed must be from 0 to 2\\^64 - 1"):
            from_graph(graph, seed=seed)


def test_random_operators_need_a_seed() -> None:
    graph = program(("rand.default", "float32", {}))
    with pytest.raises(TorchError, match="is random and needs the option seed"):
        from_graph(graph)
    with pytest.raises(TorchError, match="random numbers of int32 are not converted"):
        from_graph(program(("rand.default", "int32", {})), seed=1)
    with pytest.raises(TorchError, match="there are 0 integers to choose from"):
        from_graph(program(("randint.low", "int64", {"low": 2, "high": 2})), seed=1)


def test_programs_without_random_numbers_have_no_state() -> None:
    node = GraphNode("y", "aten.full.default", {"fill_value": 2},
                     TensorMeta((Dim.of(3),), "float32"))  # fmt: skip
    plain = Graph([], [node], [Ref("y")])
    assert from_graph(plain, seed=1).script() == from_graph(plain).script()
