"""Models as classes: what is exported, how it runs, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.live_scripts import import_text, python_blocks
from support.nn_models import Array, Computation, data_of, fill, forwarded
from xdsl.utils.exceptions import VerifyException

import xdsl_tvm as tvm
from xdsl_tvm import interpret, relax
from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects.relax import CallPurePackedOp
from xdsl_tvm.dialects.tir import FuncOp
from xdsl_tvm.relax.frontend import nn
from xdsl_tvm.tvmscript import parse

X = nn.spec.Tensor(["n", 4], "float32")


class Classifier(nn.Module):
    def __init__(self) -> None:
        self.fc = nn.Linear(4, 3)
        self.layers = nn.ModuleList([nn.ReLU(), nn.Linear(3, 2, bias=False)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.layers(self.fc(x))

    def logits(self, x: nn.Tensor, temperature: nn.Tensor) -> tuple[nn.Tensor, ...]:
        y = self.forward(x) / temperature
        return y, nn.softmax(y)


EXPECTED = """
@I.ir_module
class Expected:
    @R.function
    def forward(
        x: R.Tensor(("n", 4), dtype="float32"),
        fc_weight: R.Tensor((3, 4), dtype="float32"),
        fc_bias: R.Tensor((3,), dtype="float32"),
        layers_1_weight: R.Tensor((2, 3), dtype="float32"),
    ):
        R.func_attr({"num_input": T.int32(1)})
        with R.dataflow():
            permute_dims = R.permute_dims(fc_weight)
            matmul = R.matmul(x, permute_dims)
            add = R.add(matmul, fc_bias)
            relu = R.nn.relu(add)
            permute_dims1 = R.permute_dims(layers_1_weight)
            matmul1 = R.matmul(relu, permute_dims1)
            R.output(matmul1)
        return matmul1
"""


def test_exported_text():
    module, params = Classifier().export_tvm({"forward": {"x": X}})
    assert_structural_equal(module, parse(EXPECTED))
    names = ["fc.weight", "fc.bias", "layers.1.weight"]
    assert [name for name, _ in params] == names
    text = module.script()
    for name in ("matmul", "permute_dims", "relu", "fc_weight", "layers_1_weight"):
        assert f" {name}: R.Tensor" in text
    assert_structural_equal(parse(text), module)


def test_methods_share_parameters_and_have_symbols_of_their_own():
    model = Classifier()
    scalar = nn.spec.Tensor([], "float32")
    spec = {
        "forward": {"x": nn.spec.Tensor([1, 4], "float32")},
        "logits": {"x": X, "temperature": scalar, "$": {"param_mode": "packed"}},
    }
    values = fill(model)
    module, params, extern = model.export_tvm(spec, allow_extern=True)
    assert (spec["logits"]["$"], extern) == ({"param_mode": "packed"}, [])
    run = interpret(module)
    x = np.ones((3, 4), np.float32)
    given = [data_of(parameter) for _, parameter in params]
    y = np.maximum(x @ values["fc.weight"].T + values["fc.bias"], 0)
    y = y @ values["layers.1.weight"].T
    np.testing.assert_allclose(run["forward"](x[:1], *given), y[:1], rtol=1e-5)
    halved, likely = run["logits"](x, np.float32(2), tuple(given))
    np.testing.assert_allclose(halved, y / 2, rtol=1e-5)
    np.testing.assert_allclose(likely.sum(1), 1, rtol=1e-5)
    # An export leaves the model as it was.
    again, _ = model.export_tvm(spec)
    assert_structural_equal(module, again)
    assert repr(model.fc.weight) == 'Parameter([3, 4], "float32")'


class Nested(nn.Module):
    """Inputs of all kinds."""

    def forward(
        self, pair: tuple[nn.Tensor, list[nn.Tensor]], k: Any, scale: float = 2.0
    ) -> Any:
        a, (b,) = pair
        assert isinstance(pair, tuple)
        assert isinstance(pair[1], list)
        return [nn.broadcast_to(a + b, (k, 2)) * scale, (a,)]


def test_tuples_and_integers_as_inputs():
    row = nn.spec.Tensor([2], "float32")
    for integer in (int, "int", nn.spec.Int()):
        spec = {"forward": {"pair": (row, [row]), "k": integer}}
        module, _ = Nested().export_tvm(spec)
        a = np.array([1, 2], np.float32)
        wide, (same,) = interpret(module)["forward"]((a, (a,)), (3,))
        assert wide.tolist() == [[4, 8]] * 3
        assert same.tolist() == a.tolist()
    assert repr(nn.spec.ModuleSpec.from_raw(spec, Nested())) == (
        "ModuleSpec:\n  forward(pair: (Tensor([2], 'float32'), "
        "[Tensor([2], 'float32')]), k: int)"
    )


def test_dimensions_of_parameters_may_be_symbolic():
    model = nn.Embedding("vocabulary", 2)
    spec = {"forward": {"x": nn.spec.Tensor(["n"], "int32")}}
    module, ((name, weight),) = model.export_tvm(spec)
    assert (name, str(weight)) == ("weight", 'Parameter([vocabulary, 2], "float32")')
    weight.data = table = np.arange(6, dtype=np.float32).reshape(3, 2)
    got = interpret(module)["forward"](np.array([2], np.int32), table)
    assert got.tolist() == [[4, 5]]
    with pytest.raises(ValueError, match=r"is \[vocabulary, 2\], the data \(3, 3\)"):
        weight.data = np.zeros((3, 3), np.float32)


def test_states_of_models():
    source, target = Classifier(), Classifier()
    with pytest.raises(ValueError, match=r"fc\.weight is not set to any concrete"):
        target.load_state_dict(source.state_dict())
    values = fill(source)
    state = source.state_dict()
    assert target.load_state_dict(state) == ([], [])
    for name, parameter in target.named_parameters("model."):
        assert data_of(parameter) is values[name.removeprefix("model.")]
    other = {"extra": state.pop("fc.bias"), **state}
    text = r"Missing keys: \['fc\.bias'\], Unexpected keys: \['extra'\]"
    with pytest.raises(KeyError, match=text):
        target.load_state_dict(other)
    assert target.load_state_dict(other, strict=False) == (["fc.bias"], ["extra"])
    found: dict[str, nn.Parameter] = {}
    assert source.state_dict(prefix="a.", destination=found) is found
    assert list(found) == ["a.fc.weight", "a.fc.bias", "a.layers.1.weight"]


def test_elements_of_a_parameter_are_checked():
    weight = nn.Parameter((2, 3), "float16")
    weight.to("float16")
    with pytest.raises(ValueError, match=r"Dtype mismatch: .* float16, the data float32"):
        weight.data = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"Shape mismatch: .* \[2, 3\], the data \(6,\)"):
        weight.data = np.zeros(6, np.float16)
    with pytest.raises(TypeError, match=r"an array is needed, .* not \[1\]"):
        weight.data = [1]
    weight.data = np.zeros((2, 3), np.float16)
    with pytest.raises(ValueError, match="its elements are float16"):
        weight.to("float32")
    weight.data = None
    weight.to("float32")
    assert (weight.dtype, weight.data) == ("float32", None)


class GradientTensor:
    """An array of a package that records gradients, as PyTorch's are."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def detach(self) -> Array:
        return self.array


def test_elements_of_other_packages_are_shared():
    weight, array = nn.Parameter((2,)), np.zeros(2, np.float32)
    for other in (GradientTensor(array), tvm.nd.NDArray(array)):
        weight.data = other
        assert np.shares_memory(data_of(weight), array)


def test_dtype_of_a_model():
    model = Classifier()
    model.to("float64")
    assert {each.dtype for each in model.parameters()} == {"float64"}
    x = np.ones((1, 4))
    fill(model)
    assert forwarded(model, x=x).dtype == np.float64


# ---- effects ----


class Decoder(nn.Module):
    def __init__(self) -> None:
        self.cache = nn.KVCache(1, [2])

    def forward(self, x: nn.Tensor, total: Any) -> nn.Tensor:
        self.cache.append(x)
        keys = self.cache.view(total)
        return nn.sum(keys, axis=0)


@pytest.mark.parametrize("make", [interpret, tvm.compile])
@pytest.mark.parametrize("mode", ["plain", "packed"])
def test_cache_of_attention(mode: str, make: Callable[..., Any]):
    if make is tvm.compile:
        pytest.importorskip("llvmlite")
    spec = {
        "forward": {
            "x": nn.spec.Tensor(["n", 2], "float32"),
            "total": int,
            "$": {"effect_mode": mode},
        }
    }
    module, params = Decoder().export_tvm(spec)
    assert not params
    run = make(module)
    states = run["_initialize_effect"]()
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    for begin, end in ((0, 1), (1, 2), (2, 5)):
        given = states if mode == "plain" else (states,)
        got, states = run["forward"](rows[begin:end], (end,), *given)
        assert got.tolist() == rows[:end].sum(0).tolist()
    with pytest.raises(ValueError, match="view of 9 rows, 6 are there"):
        run["forward"](rows[:1], (9,), *(states if mode == "plain" else (states,)))


def test_what_is_printed_is_an_effect(capsys: pytest.CaptureFixture[str]):
    def compute(x: nn.Tensor) -> nn.Tensor:
        nn.print_(x)
        nn.print_(x + 1)
        return x

    model = Computation(compute)
    spec = {"forward": {"a": nn.spec.Tensor([2], "float32")}}
    with pytest.raises(RuntimeError, match="export the model with debug=True"):
        model.export_tvm(spec)
    module, _ = model.export_tvm(spec, debug=True)
    run = interpret(module)
    (state,) = run["_initialize_effect"]()
    run["forward"](np.array([1, 2], np.float32), state)
    assert re.findall(r"\[.*\]", capsys.readouterr().out) == ["[1. 2.]", "[2. 3.]"]


def test_effects_are_refused_by_name():
    cache = nn.KVCache(1, [2], "float16")
    with pytest.raises(TypeError, match=r"rows are \[2\] of float16, not \[3\] of int8"):
        cache.append(nn.Tensor.placeholder((1, 3), "int8"))
    with pytest.raises(RuntimeError, match="KVCache has a value while a model"):
        cache.view(1)
    with pytest.raises(VerifyException, match="float33"):
        nn.KVCache(1, [2], "float33")
    cache.to("float32")
    assert cache.dtype == "float32"


class TwoCaches(nn.Module):
    """Caches of the same form, which are not one cache."""

    def __init__(self) -> None:
        self.keys = nn.KVCache(4, [2])
        self.values = nn.KVCache(4, [2])

    def forward(self, x: nn.Tensor, total: Any) -> nn.Tensor:
        self.keys.append(x)
        self.values.append(x + x)
        nn.print_(x)
        return self.keys.view(total) + self.values.view(total)


@pytest.mark.parametrize("mode", ["plain", "packed"])
def test_compiled_models_keep_their_states(mode: str, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("llvmlite")
    inputs = {"x": nn.spec.Tensor([1, 2], "float32"), "total": int}
    spec = {"forward": {**inputs, "$": {"effect_mode": mode}}}
    model = TwoCaches().jit(spec, out_format="numpy", debug=True)
    for count in (1, 2, 3):
        got = model["forward"](np.full((1, 2), count, np.float32), count)
    assert got.tolist() == [[3, 3], [6, 6], [9, 9]]
    assert capsys.readouterr().out.count("shape = (1, 2)") == 3


def test_equal_calls_that_return_objects_are_not_one_call():
    inputs = {"x": nn.spec.Tensor([1, 2], "float32"), "total": int}
    module, _ = TwoCaches().export_tvm({"forward": inputs}, debug=True)
    module = relax.transform.EliminateCommonSubexpr()(module)
    calls = [op for op in module.walk() if isinstance(op, CallPurePackedOp)]
    makes = [op for op in calls if op.callee.data.endswith("_create")]
    assert len(makes) == 2


class Renamed(nn.Mutator):
    """Halves the parameters of linear layers, and drops activations."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit_param(self, name: str, node: nn.Parameter) -> nn.Parameter:
        self.seen.append(name)
        return nn.Parameter(node.shape, "float16")

    def visit_module(self, name: str, node: nn.Module) -> Any:
        return (
            nn.Identity()
            if isinstance(node, nn.ReLU)
            else super().visit_module(name, node)
        )

    def visit_effect(self, name: str, node: nn.Effect) -> nn.Effect:
        self.seen.append(name)
        return node


def test_mutators_replace_parts_of_models():
    model, mutator = Classifier(), Renamed()
    assert mutator.visit("", model) is model
    assert mutator.seen == ["fc.weight", "fc.bias", "layers.1.weight"]
    assert {p.dtype for p in model.parameters()} == {"float16"}
    assert isinstance(model.layers[0], nn.Identity)
    mutator.seen.clear()
    mutator.visit("top", Decoder())
    assert mutator.seen == ["top.cache"]
    assert mutator.visit("size", 3) == 3


class Passing(nn.Module):
    def __init__(self) -> None:
        self.cache = nn.KVCache(1, [2])

    def forward(self, state: nn.Object, x: nn.Tensor) -> Any:
        assert type(state) is nn.Object
        return nn.extern("my.scale", [state, x], x), state


def test_objects_as_inputs():
    def my_scale(state: dict[str, int], x: Array, out: Array) -> None:
        out[:] = x * state["by"]

    row = nn.spec.Tensor([2], "float32")
    inputs = {"state": nn.spec.Object(nn.Object), "x": row, "$": {"effect_mode": "none"}}
    module, _ = Passing().export_tvm({"forward": inputs})
    run = interpret(module, externs={"my.scale": my_scale})
    state = {"by": 3}
    got, same = run["forward"](state, np.ones(2, np.float32))
    assert (got.tolist(), same) == ([3, 3], state)
    tensor = nn.Tensor.placeholder((1,), "int8")
    with pytest.raises(TypeError, match=r"is an R\.Object, not a tensor<1xi8>"):
        nn.Object(_expr=tensor.expr)


# ---- functions ----


SCALE = parse("""
@T.prim_func(private=True)
def scale(x: T.handle, y: T.handle, by: T.int64):
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        Y[i] = X[i] * T.Cast("float32", by)
""")
RELU = parse("""
@T.prim_func(private=True)
def positive(x: T.handle, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, 4), "float32")
    Y = T.match_buffer(y, (n, 4), "float32")
    for i, j in T.grid(n, 4):
        Y[i, j] = T.max(X[i, j], T.float32(0))
""")
INCREMENT = parse("""
@T.prim_func(private=True)
def increment(x: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    for i in range(n):
        X[i] = X[i] + T.float32(1)
""")


def test_functions_of_tir():
    def compute(x: nn.Tensor) -> nn.Tensor:
        out = nn.Tensor.placeholder(["n"], "float32")
        for _ in range(2):
            x = nn.tensor_ir_op(SCALE, "scale", [x, 3], out)
        return nn.tensor_ir_inplace_op(INCREMENT, "increment", x, 0, out)

    spec = {"forward": {"a": nn.spec.Tensor(["n"], "float32")}}
    module, _ = Computation(compute).export_tvm(spec)
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    assert [op.sym_name.data for op in functions] == ["scale", "increment"]
    got = interpret(module)["forward"](np.array([1, 2], np.float32))
    assert got.tolist() == [10, 19]


def test_functions_of_the_runtime():
    def compute(x: nn.Tensor) -> nn.Tensor:
        return nn.extern(
            "my.sum", [x, 2, 0.5, [x]], nn.Tensor.placeholder([2], "float32")
        )

    def my_sum(x: Array, whole: int, half: float, others: Any, out: Array) -> None:
        out[:] = x + whole + half + others[0]

    module, _ = Computation(compute).export_tvm(
        {"forward": {"a": nn.spec.Tensor([2], "float32")}}
    )
    run = interpret(module, externs={"my.sum": my_sum})["forward"]
    assert run(np.array([1, 2], np.float32)).tolist() == [4.5, 6.5]


class Block(nn.Module):
    define_subroutine = True

    def __init__(self, negative: bool = False) -> None:
        self.fc = nn.Linear(4, 4)
        self.negative = negative

    def forward(self, x: nn.Tensor, others: list[nn.Tensor]) -> tuple[nn.Tensor, ...]:
        y = nn.tensor_ir_op(RELU, "positive", self.fc(x), x) + others[0]
        return (-y if self.negative else y), x


def test_subroutines():
    class Model(nn.Module):
        def __init__(self) -> None:
            self.blocks = [Block(), Block(), Block(negative=True)]
            self.layers = nn.ModuleList(self.blocks)

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            for block in self.blocks:
                x, _ = block(x, others=[x])
            return x

    model = Model()
    p = fill(model)
    module, params = model.export_tvm({"forward": {"x": X}})
    # Equal blocks share a function.
    assert sorted(var.name_hint for var in module.get_global_vars()) == [
        "block",
        "block_1",
        "forward",
        "positive",
    ]
    x = np.ones((2, 4), np.float32)
    expected = x
    for index, sign in enumerate((1, 1, -1)):
        weight, bias = p[f"layers.{index}.fc.weight"], p[f"layers.{index}.fc.bias"]
        expected = sign * (np.maximum(expected @ weight.T + bias, 0) + expected)
    given = [data_of(parameter) for _, parameter in params]
    got = interpret(module)["forward"](x, *given)
    np.testing.assert_allclose(got, expected, rtol=1e-4)
    with pytest.raises(RuntimeError, match="subroutine block adds a function"):
        Block()(nn.Tensor.placeholder((1, 4), "float32"), [])


def test_operators_belong_to_the_function_that_is_open():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    assert relax.BlockBuilder.current() is None
    with bb.function("main", [x]):
        assert relax.BlockBuilder.current() is bb
        y = nn.exp(nn.Tensor(_expr=x), name="y")
        bb.emit_func_output(y.expr)
    assert relax.BlockBuilder.current() is None
    assert "y: R.Tensor" in bb.get().script()
    # Without one they are expressions, which a builder emits.
    assert nn.exp(nn.Tensor.from_scalar(1, "float32")).shape == []


# ---- refusals ----


class NoForward(nn.Module):
    pass


class Shared(nn.Module):
    def __init__(self) -> None:
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x: nn.Tensor) -> Any:
        return self.b(self.a(x))


class SharedCache(Passing):
    def __init__(self) -> None:
        super().__init__()
        self.other = self.cache


def returns(result: object) -> nn.Module:
    def compute(_: nn.Tensor) -> object:
        return result

    return Computation(compute)


REFUSED: dict[
    str, tuple[Callable[[], nn.Module], Mapping[str, Any], type[Exception], str]
] = {
    "kind of spec": (
        Classifier,
        {"forward": {"x": nn.spec.ConstInt()}},
        TypeError,
        r"Classifier\.forward: Invalid spec for argument x: const\.int; give",
    ),
    "constant": (
        Classifier,
        {"forward": {"x": [X, nn.spec.ConstFloat("float16")]}},
        TypeError,
        r"Invalid spec for argument x_1: const\.float; give",
    ),
    "text": (
        Classifier,
        {"forward": {"x": nn.spec.ConstString()}},
        TypeError,
        r"Invalid spec for argument x: const\.string; give",
    ),
    "list of specs": (
        Classifier,
        {"forward": [X]},
        TypeError,
        r"spec of Classifier\.forward is a dictionary by name, not \[Tensor",
    ),
    "array as spec": (
        Classifier,
        {"forward": {"x": np.zeros(2)}},
        TypeError,
        "Invalid spec for argument x",
    ),
    "no method": (
        Classifier,
        {"backward": {"x": X}},
        ValueError,
        "Classifier has no method 'backward'",
    ),
    "no parameter": (
        Classifier,
        {"forward": {"x": X, "y": X}},
        ValueError,
        "Classifier.forward has no parameter y",
    ),
    "missing": (
        Classifier,
        {"logits": {"x": X}},
        ValueError,
        r"Classifier\.logits: no spec for temperature",
    ),
    "mode": (
        Classifier,
        {"forward": {"x": X, "$": {"param_mode": "loose"}}},
        ValueError,
        "Invalid param_mode: 'loose'",
    ),
    "no parameters": (
        Classifier,
        {"forward": {"x": X, "$": {"param_mode": "none"}}},
        VerifyException,
        r"relax\.Var 'fc\.weight' has no value",
    ),
    "shared": (
        Shared,
        {"forward": {"x": X}},
        ValueError,
        r"'a\.weight' and 'b\.weight' are the same Parameter",
    ),
    "shared state": (
        SharedCache,
        {},
        ValueError,
        "'cache' and 'other' are the same KVCache",
    ),
    "shape": (
        Classifier,
        {"forward": {"x": nn.spec.Tensor([1, 5], "float32")}},
        VerifyException,
        r"relax\.matmul: the summed dimensions must be equal, not 5 and 4",
    ),
    "result": (
        lambda: returns(None),
        {"forward": {"a": X}},
        TypeError,
        "nn: forward must return a Tensor",
    ),
    "argument of TIR": (
        lambda: Computation(lambda x: nn.tensor_ir_op(SCALE, "scale", [x, "n"], x)),
        {"forward": {"a": X}},
        TypeError,
        r"nn\.op\.tensor_ir_op: an argument is a Tensor or a dimension, not 'n'",
    ),
    "argument of extern": (
        lambda: Computation(lambda x: nn.extern("f", [x, "text"], x)),
        {"forward": {"a": X}},
        TypeError,
        "'f' is called with tensors, numbers and dimensions, not 'text'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_models_are_refused(name: str):
    model, spec, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        model().export_tvm(spec)
    # The builder is closed again.
    assert relax.BlockBuilder.current() is None


def test_more_is_refused():
    with pytest.raises(NotImplementedError, match="NoForward does not have a `forward`"):
        NoForward()(1)
    with pytest.raises(VerifyException, match="float33"):
        nn.Parameter((1,), "float33")
    with pytest.raises(VerifyException, match="float33"):
        nn.spec.Tensor([1], "float33")
    with pytest.raises(VerifyException, match="cannot be -1"):
        nn.Parameter((-1,))
    with pytest.raises(AttributeError, match="external code is not linked"):
        _ = nn.SourceModule
    with pytest.raises(ValueError, match="2 names of 1 specs"):
        nn.spec.MethodSpec(print, ["a", "b"], [X], "plain", "plain")


# ---- machine code ----


def test_compiled_models():
    model = Classifier()
    spec = {"forward": {"x": X, "$": {"param_mode": "packed"}}}
    with pytest.raises(ValueError, match=r"not set to any .*: fc\.weight, fc\.bias"):
        model.jit(spec, out_format="numpy")
    with pytest.raises(ValueError, match="out_format is 'torch' or 'numpy', not 'jax'"):
        model.jit(spec, out_format="jax")
    with pytest.raises(ValueError, match="models run on 'cpu', not on 'cuda'"):
        model.jit(spec, "cuda", out_format="numpy")
    pytest.importorskip("llvmlite")
    fill(model)
    x = np.ones((3, 4), np.float32)
    compiled = model.jit(spec, out_format="numpy")
    expected = forwarded(model, x=x)
    np.testing.assert_allclose(compiled["forward"](x), expected, rtol=1e-5)
    with pytest.raises(KeyError, match="there is no method 'main', but forward"):
        _ = compiled["main"]
    with pytest.raises(TypeError, match=r"forward\(x: .*\) is called with 2 inputs"):
        compiled["forward"](x, x)


def test_compiled_models_of_pytorch():
    spec = {"forward": {"x": X}}
    if find_spec("torch") is None:
        with pytest.raises(ModuleNotFoundError, match="needs PyTorch"):
            Classifier().jit(spec)
        return
    torch = pytest.importorskip("torch")
    model = Classifier()
    for name, parameter in model.named_parameters():
        parameter.data = torch.ones(*parameter.shape) * len(name)
    got = model.jit(spec)["forward"](torch.ones(3, 4))
    assert isinstance(got, torch.Tensor)
    assert got[0].tolist() == [(9 * 4 + 7) * 15 * 3] * 2


# ---- the page ----


def test_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The blocks of the page run, as one program."""
    pytest.importorskip("llvmlite")
    blocks = python_blocks("nn.md")
    assert len(blocks) > 5
    import_text(tmp_path, "\n".join(blocks))
    assert "scores_weight: R.Tensor((4, 16)" in capsys.readouterr().out
