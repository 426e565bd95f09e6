"""Gradient against finite differences, in float64.

Every operator that has a gradient is in a row of `CASES`: the types of the parameters
and bindings that compute `%r` of them. What is derived is the sum of `%r`, weighted by
different numbers, so that no two elements count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax import LegalizeOps
from xdsl_tvm.passes.relax._gradient.rules import RULES, TUPLE_RULES
from xdsl_tvm.passes.relax.gradient import Gradient

Array = np.ndarray[Any, Any]


def t(*dims: int | str) -> str:
    """The text of a tensor type."""
    sizes = "x".join("?" if isinstance(dim, str) else str(dim) for dim in dims)
    named = any(isinstance(dim, str) for dim in dims)
    encoding = f", #relax.dims<[{', '.join(map(str, dims))}]>" if named else ""
    return f"tensor<{sizes + 'x' if dims else ''}f64{encoding}>"


A, V, S = t(2, 3), t(3), t()
TARGETS = "tensor<4xi64>"
IMAGE, KERNEL = t(1, 2, 4, 5), t(2, 2, 3, 2)


def unary(name: str) -> tuple[list[str], str, str]:
    return [A], f"%r = relax.{name} %a : ({A}) -> {A}", A


def binary(name: str, lhs: str = A, rhs: str = V, result: str = A) -> Any:
    return [lhs, rhs], f"%r = relax.{name} %a, %b : ({lhs}, {rhs}) -> {result}", result


def conv(
    image: str, kernel: str, result: str, attributes: str = "", groups: int = 1
) -> Any:
    attributes = attributes or "strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1]"
    text = (
        f"%r = relax.nn.conv2d %a, %b {attributes} groups {groups} "
        f'layout "NCHW" kernel "OIHW" : ({image}, {kernel}) -> {result}'
    )
    return [image, kernel], text, result


def pool(kind: str, attributes: str, result: str) -> Any:
    text = f'%r = relax.nn.{kind}_pool2d %a {attributes} layout "NCHW"'
    return [IMAGE], f"{text} : ({IMAGE}) -> {result}", result


def nll(reduction: str, result: str, weights: bool = True) -> Any:
    data, extra = t(4, 3), (", %w", f", {V}") if weights else ("", "")
    targets = "%i = relax.constant dense<[0, 2, 1, 2]> : tensor<4xi64>"
    text = (
        f"{targets}\n%r = relax.nn.nll_loss %a, %i{extra[0].replace('w', 'b')} reduction "
        f'"{reduction}" ignore_index 1 : ({data}, {TARGETS}{extra[1]}) -> {result}'
    )
    return [data, *([V] if weights else [])], text, result


POSITIVE = frozenset({"log", "sqrt", "power", "divide"})
"""Cases whose operands are positive."""
CASES: dict[str, tuple[list[str], str, str]] = {
    **{
        name: unary(name)
        for name in ("abs", "cos", "exp", "log", "negative", "sigmoid", "sin", "sqrt")
    },
    **{name: unary(name) for name in ("tanh", "nn.relu", "nn.silu")},
    **{name: binary(name) for name in ("add", "subtract", "multiply", "divide", "power")},
    "maximum": binary("maximum", V, A),
    "minimum": binary("minimum", t(2, 1), V),
    "square": binary("multiply", A, A),
    "scalars": binary("multiply", S, A),
    "where": (
        [A, V],
        f"""%k = relax.constant dense<[[1, 0, 1], [0, 0, 1]]> : tensor<2x3xi1>
        %r = relax.where %k, %a, %b : (tensor<2x3xi1>, {A}, {V}) -> {A}""",
        A,
    ),
    "compare": (
        [A, V],
        f"""%k = relax.less %a, %b : ({A}, {V}) -> tensor<2x3xi1>
        %f = relax.astype %k dtype f64 : (tensor<2x3xi1>) -> {A}
        %r = relax.multiply %f, %a : ({A}, {A}) -> {A}""",
        A,
    ),
    "astype": (
        [A],
        f"""%f = relax.astype %a dtype f64 : ({A}) -> {A}
        %r = relax.exp %f : ({A}) -> {A}""",
        A,
    ),
    "triu": (
        [A],
        f"""%k = relax.prim_value 1 : i64
        %r = relax.triu %a, %k : ({A}, !relax.prim<i64, 1>) -> {A}""",
        A,
    ),
    "filled": (
        [A, S],
        f"""%s = relax.shape [2, 3]
        %z = relax.zeros_like %a : ({A}) -> {A}
        %o = relax.ones %s dtype f64 : (!relax.shape<[2, 3]>) -> {A}
        %f = relax.full %s, %b : (!relax.shape<[2, 3]>, {S}) -> {A}
        %p = relax.add %z, %o : ({A}, {A}) -> {A}
        %q = relax.add %p, %f : ({A}, {A}) -> {A}
        %r = relax.multiply %q, %q : ({A}, {A}) -> {A}""",
        A,
    ),
    "permute_dims": (
        [t(2, 3, 4)],
        f"%r = relax.permute_dims %a axes [1, 2, 0] : ({t(2, 3, 4)}) -> {t(3, 4, 2)}",
        t(3, 4, 2),
    ),
    "reshape": (
        [A],
        f"""%s = relax.shape [3, 2]
        %r = relax.reshape %a, %s : ({A}, !relax.shape<[3, 2]>) -> {t(3, 2)}""",
        t(3, 2),
    ),
    "expand_dims": (
        [A],
        f"%r = relax.expand_dims %a axis [0, -1] : ({A}) -> {t(1, 2, 3, 1)}",
        t(1, 2, 3, 1),
    ),
    "broadcast_to": (
        [t(3, 1)],
        f"""%s = relax.shape [2, 3, 4]
        %r = relax.broadcast_to %a, %s : ({t(3, 1)}, !relax.shape<[2, 3, 4]>)
          -> {t(2, 3, 4)}""",
        t(2, 3, 4),
    ),
    "concat": (
        [A, t(2, 1)],
        f"""%t = relax.tuple(%a, %b, %a) : {A}, {t(2, 1)}, {A}
        %r = relax.concat %t axis 1 : (!relax.tuple<{A}, {t(2, 1)}, {A}>)
          -> {t(2, 7)}""",
        t(2, 7),
    ),
    "split": (
        [t(2, 5)],
        f"""%t = relax.split %a at [1, 3] axis 1 : ({t(2, 5)})
          -> !relax.tuple<{t(2, 1)}, {t(2, 2)}, {t(2, 2)}>
        %x = relax.get_item %t[0] : !relax.tuple<{t(2, 1)}, {t(2, 2)}, {t(2, 2)}>
          -> {t(2, 1)}
        %y = relax.get_item %t[2] : !relax.tuple<{t(2, 1)}, {t(2, 2)}, {t(2, 2)}>
          -> {t(2, 2)}
        %r = relax.multiply %x, %y : ({t(2, 1)}, {t(2, 2)}) -> {t(2, 2)}""",
        t(2, 2),
    ),
    "take": (
        [t(2, 3, 4)],
        f"""%i = relax.constant dense<[[0, 2], [2, 1]]> : tensor<2x2xi64>
        %r = relax.take %a, %i axis 1 : ({t(2, 3, 4)}, tensor<2x2xi64>)
          -> {t(2, 2, 2, 4)}""",
        t(2, 2, 2, 4),
    ),
    "take of a vector": (
        [V],
        f"""%i = relax.constant dense<2> : tensor<i64>
        %r = relax.take %a, %i : ({V}, tensor<i64>) -> {S}""",
        S,
    ),
    "cumsum": (
        [A],
        f"%r = relax.cumsum %a axis 1 exclusive : ({A}) -> {A}",
        A,
    ),
    "cumsum of all": ([A], f"%r = relax.cumsum %a : ({A}) -> {t(6)}", t(6)),
    "sum": ([A], f"%r = relax.sum %a axis [0] : ({A}) -> {V}", V),
    "sum of all": ([A], f"%r = relax.sum %a keepdims : ({A}) -> {t(1, 1)}", t(1, 1)),
    "mean": ([A], f"%r = relax.mean %a axis [-1] keepdims : ({A}) -> {t(2, 1)}", t(2, 1)),
    "variance": ([A], f"%r = relax.variance %a axis [1] : ({A}) -> {t(2)}", t(2)),
    "matmul": binary("matmul", A, t(3, 4), t(2, 4)),
    "matmul of batches": binary("matmul", t(2, 1, 2, 3), t(4, 3, 2), t(2, 4, 2, 2)),
    "matmul of a vector": binary("matmul", V, t(2, 3, 2), t(2, 2)),
    "matmul by a vector": binary("matmul", A, V, t(2)),
    "matmul of vectors": binary("matmul", V, V, S),
    "nn.softmax": ([A], f"%r = relax.nn.softmax %a axis 0 : ({A}) -> {A}", A),
    "nn.log_softmax": ([A], f"%r = relax.nn.log_softmax %a axis -1 : ({A}) -> {A}", A),
    "nn.cross_entropy": binary("nn.cross_entropy_with_logits", A, A, S),
    "nn.cross_entropy of vectors": binary("nn.cross_entropy_with_logits", V, V, S),
    "nn.nll_loss mean": nll("mean", S),
    "nn.nll_loss sum": nll("sum", S),
    "nn.nll_loss none": nll("none", t(4), weights=False),
    "nn.conv2d": conv(t(2, 2, 4, 3), KERNEL, t(2, 2, 2, 2)),
    "nn.conv2d strides": conv(
        IMAGE,
        KERNEL,
        t(1, 2, 2, 1),
        "strides [2, 3] padding [1, 0, 1, 0] dilation [1, 2]",
    ),
    "nn.conv2d groups": conv(
        IMAGE,
        t(4, 1, 2, 2),
        t(1, 4, 2, 5),
        "strides [2, 1] padding [0, 1, 0, 0] dilation [1, 1]",
        groups=2,
    ),
    "nn.max_pool2d": pool(
        "max",
        "size [2, 3] strides [2, 2] padding [0, 1, 0, 1] dilation [1, 1]",
        t(1, 2, 2, 3),
    ),
    "nn.avg_pool2d": pool(
        "avg",
        "size [3, 2] strides [2, 2] padding [1, 0, 1, 1] dilation [1, 1] ceil_mode",
        t(1, 2, 3, 3),
    ),
    "nn.avg_pool2d with padding": pool(
        "avg",
        "size [2, 2] strides [1, 2] padding [1, 1, 1, 1] dilation [1, 1] "
        "count_include_pad",
        t(1, 2, 5, 3),
    ),
    "other names": (
        [A],
        f"""%x = relax.alias %a : {A} -> {A}
        %y = relax.match_cast %x : {A} -> {A}
        %r = relax.exp %y : ({A}) -> {A}""",
        A,
    ),
}


def function(types: Sequence[str], body: str, result: str, symbols: str = "") -> str:
    names = [f"%{name}: {type_}" for name, type_ in zip("abc", types, strict=False)]
    return f"""
    relax.func @main{symbols}({", ".join(names)}, %weights: {result}) -> {S} {{
      %o = relax.dataflow -> ({S}) {{
        {body}
        %weighted = relax.multiply %r, %weights : ({result}, {result}) -> {result}
        %target = relax.sum %weighted : ({result}) -> {S}
        relax.output %target : {S}
      }}
      relax.return %o : {S}
    }}"""


def shape_of(type_: str) -> tuple[int, ...]:
    dims = type_.removeprefix("tensor<").removesuffix(">").split("x")[:-1]
    return tuple(map(int, dims))


def arrays(types: Sequence[str], positive: bool) -> list[Array]:
    rng = np.random.default_rng(3)
    found = [rng.standard_normal(shape_of(type_)) for type_ in types]
    return [np.abs(each) + 0.5 if positive else each for each in found]


def check(module: ModuleOp, values: Sequence[Array], rest: Sequence[Array] = ()) -> None:
    """Compare the derivatives by the first parameters, along random directions."""
    names = tuple(str(index) for index in range(len(values)))
    result = Gradient("main", names)(module)
    result.verify()
    before = interpret(module)["main"]
    value, derivatives = interpret(result)["main_adjoint"](*values, *rest)
    assert value == before(*values, *rest)
    rng = np.random.default_rng(4)
    by_values: list[Array] = list(derivatives)
    for index, found in enumerate(by_values):
        assert found.shape == values[index].shape
        for _ in range(2):
            direction = rng.standard_normal(found.size).reshape(found.shape)
            step = 1e-5
            ends: list[float] = []
            for sign in (1, -1):
                moved = list(values)
                moved[index] = values[index] + sign * step * direction
                ends.append(float(before(*moved, *rest)))
            expected = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(
                np.sum(found * direction), expected, rtol=1e-6, atol=1e-7
            )


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str) -> None:
    types, body, result = CASES[name]
    module = parse(function(types, body, result))
    values = arrays([*types, result], name.partition(" ")[0] in POSITIVE)
    check(module, values[:-1], values[-1:])


def test_every_rule_has_a_case() -> None:
    tested = "".join(body for _, body, _ in CASES.values())
    alike = {"relax.tril", "relax.ones_like", "relax.full_like"}
    for kind in {*RULES, *TUPLE_RULES}:
        assert kind.name in alike or f"{kind.name} " in tested, kind.name


NETWORK = f"""
  %wx = relax.matmul %x, %w : ({t("n", 3)}, {t(3, 4)}) -> {t("n", 4)}
  %pre = relax.add %wx, %b : ({t("n", 4)}, {t(4)}) -> {t("n", 4)}
  %s = MARK_START %pre : ({t("n", 4)}) -> {t("n", 4)}
  %h = relax.tanh %s : ({t("n", 4)}) -> {t("n", 4)}
  %e = relax.exp %h : ({t("n", 4)}) -> {t("n", 4)}
  %m = MARK_END %e : ({t("n", 4)}) -> {t("n", 4)}
  %q = relax.multiply %m, %m : ({t("n", 4)}, {t("n", 4)}) -> {t("n", 4)}
  %loss = relax.mean %q : ({t("n", 4)}) -> {S}
"""


def network(start: str = "relax.nn.silu", end: str = "relax.negative") -> ModuleOp:
    body = NETWORK.replace("MARK_START", start).replace("MARK_END", end)
    return parse(f"""
    relax.func @main<n>(%x: {t("n", 3)}, %w: {t(3, 4)}, %b: {t(4)}) -> {S}
        attributes {{global_symbol = "main"}} {{
      %o = relax.dataflow -> ({S}) {{
        {body}
        relax.output %loss : {S}
      }}
      relax.return %o : {S}
    }}""")


def network_values() -> list[Array]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape) for shape in ((2, 3), (3, 4), (4,))]


def test_symbols_and_a_network() -> None:
    check(network(), network_values())


def test_a_gradient_is_legalized() -> None:
    result = Gradient("main")(network())
    report = check_semantics(result, [LegalizeOps()], runs=1)
    assert "main_adjoint" in report.checked


def test_checkpoints() -> None:
    """What is between the marks is computed twice, and the marks are gone."""
    module = network("relax.grad.start_checkpoint", "relax.grad.end_checkpoint")
    check(module, network_values())
    result = Gradient("main")(module)
    counts = {
        kind: sum(isinstance(op, kind) for op in list(result.ops)[1].walk())
        for kind in (relax.TanhOp, relax.ExpOp, relax.MatmulOp)
    }
    assert counts == {relax.TanhOp: 2, relax.ExpOp: 2, relax.MatmulOp: 3}
    marks = relax.StartCheckpointOp | relax.EndCheckpointOp
    found = [sum(isinstance(op, marks) for op in func.walk()) for func in result.ops]
    assert found == [2, 0]


def test_no_gradient_flows_through_a_mark() -> None:
    body = f"""%n = relax.grad.no_grad %a : ({A}) -> {A}
    %r = relax.multiply %n, %a : ({A}, {A}) -> {A}"""
    module = parse(function([A], body, A))
    a, weights = arrays([A, A], False)
    _, (found,) = interpret(Gradient("main", ("a",))(module))["main_adjoint"](a, weights)
    np.testing.assert_array_equal(found, a * weights)


def test_tuples_intermediate_values_and_other_fields() -> None:
    pair = f"!relax.tuple<{V}, !relax.tuple<{V}>>"
    module = parse(f"""
    relax.func @main(%p: {pair}, %unused: {V}) -> !relax.tuple<{V}, {S}> {{
      %o, %l = relax.dataflow -> ({V}, {S}) {{
        %x = relax.get_item %p[0] : {pair} -> {V}
        %i = relax.get_item %p[1] : {pair} -> !relax.tuple<{V}>
        %y = relax.get_item %i[0] : !relax.tuple<{V}> -> {V}
        %z = relax.multiply %x, %y : ({V}, {V}) -> {V}
        %t = relax.tuple(%z, %x) : {V}, {V}
        %u = relax.get_item %t[0] : !relax.tuple<{V}, {V}> -> {V}
        %v = relax.add %u, %z : ({V}, {V}) -> {V}
        %s = relax.sum %v : ({V}) -> {S}
        relax.output %v, %s : {V}, {S}
      }}
      %r = relax.tuple(%o, %l) : {V}, {S}
      relax.return %r : !relax.tuple<{V}, {S}>
    }}""")
    x, y, other = arrays([V, V, V], False)
    run = interpret(Gradient("main", None, 1)(module))["main_adjoint"]
    _, ((by_x, (by_y,)), by_other) = run((x, (y,)), other)
    np.testing.assert_array_equal(by_x, 2 * y)
    np.testing.assert_array_equal(by_y, 2 * x)
    np.testing.assert_array_equal(by_other, np.zeros(3))
    run = interpret(Gradient("main", ("z", "unused"), 1)(module))["main_adjoint"]
    _, (by_z, by_other) = run((x, (y,)), other)
    np.testing.assert_array_equal(by_z, np.full(3, 2.0))


def test_a_missing_function_is_no_error() -> None:
    module = network()
    assert Gradient("other")(module).is_structurally_equivalent(module)


def test_equal_elements_of_a_window() -> None:
    """The first one gets all."""
    types, body, result = CASES["nn.max_pool2d"]
    module = parse(function(types, body, result))
    ones, weights = np.ones(shape_of(IMAGE)), np.ones(shape_of(result))
    run = interpret(Gradient("main", ("a",))(module))["main_adjoint"]
    _, (found,) = run(ones, weights)
    assert found.sum() == weights.sum()
    assert set(found.ravel().tolist()) <= {0.0, 1.0, 2.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"require_grads": ("y",)}, "there is no value 'y' in @main"),
        ({"require_grads": ("x", "0")}, "names a value twice"),
        ({"target_index": 1}, "target_index must be 0 for one result, not 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PassFailedException, match=message):
        Gradient("main", **options)(network())
