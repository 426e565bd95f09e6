"""Weights that are transformed first: a model computes the same as before.

The functions take inputs and weights, and compute of both in dataflow blocks, branches
and outside; symbols come from inputs, from weights, or from both. `XDSL_TVM_FUZZ` sets
their number, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.relax.bundle_model_params import BundleModelParams
from xdsl_tvm.passes.relax.lazy_get_input import LazyGetInput
from xdsl_tvm.passes.relax.lazy_set_output import LazySetOutput
from xdsl_tvm.passes.relax.lazy_transform_params import LazyTransformParams
from xdsl_tvm.passes.relax.lift_transform_params import LiftTransformParams

FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
T = "tensor<4xf32>"
S = "tensor<?xf32, #relax.dims<[n]>>"
D = "tensor<?xf32, #relax.dims<[n * 2]>>"
U = "tensor<?xf32>"
N = 3


class Model:
    """The text of a function, with arguments for it."""

    def __init__(
        self, seed: int, name: str = "main", weights: Sequence[str] = ()
    ) -> None:
        self.rng = rng = random.Random(seed)
        self.lines: list[str] = []
        self.inputs = ["tensor<i1>", T, *rng.choice(((), (S,), (T,)))]
        drawn = [T, rng.choice((T, S)), rng.choice((S, D, T))]
        self.weights = list(weights) or drawn
        if D in self.weights and S not in (*self.inputs, *self.weights):
            (self.inputs if weights else self.weights).append(S)
        types = [*self.inputs, *self.weights]
        self.values = [(f"%p{i}", t) for i, t in enumerate(types)][1:]
        self.count = 0
        outputs = [self.block() for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.5:
            self.branch()
        fields = [*outputs, *rng.sample(self.values, 2)]
        names = ", ".join(value for value, _ in fields)
        kinds = ", ".join(type_ for _, type_ in fields)
        params = ", ".join(f"%p{i}: {t}" for i, t in enumerate(types))
        symbols = "<n>" if S in types else ""
        body = "\n".join(self.lines)
        self.text = f"""
        relax.func @{name}{symbols}({params}) -> !relax.tuple<{kinds}> attributes {{
            global_symbol = "{name}", num_input = {len(self.inputs)} : i64}} {{
          {body}
          %result = relax.tuple({names}) : {kinds}
          relax.return %result : !relax.tuple<{kinds}>
        }}"""

    def arguments(self, types: Sequence[str]) -> list[Any]:
        """Arrays of the given types."""
        rng = np.random.default_rng(1)
        sizes = {T: 4, S: N, D: 2 * N}
        return [
            np.array(True)
            if type_ == "tensor<i1>"
            else rng.standard_normal(sizes[type_]).astype(np.float32)
            for type_ in types
        ]

    def bind(self, text: str, type_: str, values: list[tuple[str, str]]) -> None:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text} -> {type_}")
        values.append((f"%v{self.count}", type_))

    def binding(self, values: list[tuple[str, str]]) -> None:
        rng = self.rng
        value, type_ = rng.choice(values)
        same = [other for other, kind in values if kind == type_]
        match rng.randrange(5):
            case 0 | 1:
                other = rng.choice(same)
                operands = f"{value}, {other} : ({type_}, {type_})"
                self.bind(f"relax.add {operands}", type_, values)
            case 2:
                self.bind(f"relax.exp {value} : ({type_})", type_, values)
            case 3:
                self.bind(
                    f"relax.builtin.stop_lift_params {value} : ({type_})", type_, values
                )
            case _:
                self.count += 1
                constant = f"%v{self.count}"
                self.lines.append(
                    f"{constant} = relax.constant dense<0.5> : tensor<1xf32>"
                )
                operands = f"{value}, {constant} : ({type_}, tensor<1xf32>)"
                self.bind(f"relax.multiply {operands}", type_, values)

    def block(self) -> tuple[str, str]:
        """A dataflow block; one of its outputs."""
        self.count += 1
        name, start = f"%d{self.count}", len(self.lines)
        values = list(self.values)
        for _ in range(self.rng.randint(2, 8)):
            self.binding(values)
        chosen = [values[-1], self.rng.choice(values)]
        kinds = ", ".join(type_ for _, type_ in chosen)
        names = ", ".join(value for value, _ in chosen)
        self.lines.insert(start, f"{name}:2 = relax.dataflow -> ({kinds}) {{")
        self.lines.append(f"relax.output {names} : {kinds} }}")
        self.values += [(f"{name}#{i}", type_) for i, (_, type_) in enumerate(chosen)]
        return self.values[-2]

    def branch(self) -> None:
        value, type_ = self.rng.choice(self.values)
        self.lines += [
            f"%b = relax.if %p0 : tensor<i1> -> {type_} {{",
            f"%x = relax.exp {value} : ({type_}) -> {type_}",
            f"relax.yield %x : {type_} }} else {{ relax.yield {value} : {type_} }}",
        ]
        self.values.append(("%b", type_))


def same(found: Any, expected: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def lifted(module: ModuleOp) -> int:
    """The number of operators in transform functions."""
    return sum(
        isinstance(op, relax.OperatorOp)
        for func in module.ops
        if isinstance(func, relax.FuncOp) and "transform_params" in func.sym_name.data
        for op in func.walk()
    )


@pytest.mark.parametrize("consume", [False, True])
def test_lifted_params(consume: bool) -> None:
    moved = 0
    for seed in range(FIRST, FIRST + COUNT):
        model = Model(seed)
        module = parse(model.text)
        inputs, weights = map(model.arguments, (model.inputs, model.weights))
        expected = interpret(module)["main"](*inputs, *weights)
        once = LiftTransformParams(consume_params=consume)(module)
        # What stop_lift_params held back is lifted now, by a composed function.
        twice = LiftTransformParams(consume_params=consume)(once)
        for result in (once, twice):
            result.verify()
            functions = interpret(result)
            transformed = functions["main_transform_params"](tuple(weights))
            assert same(functions["main"](*inputs, *transformed), expected), seed
        moved += lifted(twice)
        thrice = LiftTransformParams(consume_params=consume)(twice)
        assert thrice.is_structurally_equivalent(twice), seed
    assert moved > COUNT


def test_common_params() -> None:
    moved = 0
    for seed in range(FIRST, FIRST + COUNT):
        first = Model(seed, "first")
        second = Model(seed if seed % 2 else seed + 1000, "second", first.weights)
        module = parse(first.text + second.text)
        result = LiftTransformParams(shared_transform=True)(module)
        result.verify()
        functions = interpret(result)
        weights = first.arguments(first.weights)
        transformed = functions["transform_params"](tuple(weights))
        for model, name in ((first, "first"), (second, "second")):
            inputs = model.arguments(model.inputs)
            expected = interpret(module)[name](*inputs, *weights)
            assert same(functions[name](*inputs, *transformed), expected), seed
        moved += lifted(result)
    assert moved > COUNT // 4


def test_bundled_params() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        model = Model(seed)
        module = parse(model.text)
        inputs, weights = map(model.arguments, (model.inputs, model.weights))
        result = BundleModelParams()(module)
        result.verify()
        found = interpret(result)["main"](*inputs, tuple(weights))
        assert same(found, interpret(module)["main"](*inputs, *weights)), seed


def test_weights_are_fetched_and_results_stored() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        model = Model(seed)
        module = parse(model.text)
        inputs, weights = map(model.arguments, (model.inputs, model.weights))
        expected = interpret(module)["main"](*inputs, *weights)
        result = LazySetOutput()(LazyGetInput()(module))
        result.verify()
        asked, stored = list[int](), dict[int, Any]()

        def get(index: int, weights: list[Any] = weights, asked: Any = asked) -> Any:
            asked.append(index)
            return weights[index]

        nothing = interpret(result)["main"](*inputs, get, stored.__setitem__)
        assert nothing == (), seed
        assert same([stored[index] for index in range(len(expected))], expected), seed
        assert len(set(asked)) == len(asked), seed


def test_weights_are_transformed_one_by_one() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        model = Model(seed)
        module = LiftTransformParams()(parse(model.text))
        weights = model.arguments(model.weights)
        expected = interpret(module)["main_transform_params"](tuple(weights))
        result = LazyTransformParams()(module)
        result.verify()
        stored = dict[int, Any]()
        externs = {"get_item": weights.__getitem__, "set_item": stored.__setitem__}
        interpret(result, externs=externs)["main_transform_params"]()
        assert sorted(stored) == list(range(len(expected))), seed
        assert same([stored[index] for index in sorted(stored)], expected), seed


def test_a_context_says_whether_weights_are_dropped() -> None:
    module = parse(Model(FIRST).text)
    with PassContext(config={"relax.lift_transform_params.consume_params": True}):
        dropping = LiftTransformParams()(module)
    assert "vm.builtin.tuple_reset_item" in str(dropping)
    assert "vm.builtin.tuple_reset_item" not in str(LiftTransformParams()(module))
