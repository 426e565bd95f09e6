"""Patterns, and what they match."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ir import parse
from support.live_scripts import import_text
from support.paths import ROOT
from xdsl.ir import Operation, SSAValue

from xdsl_tvm import relax as R
from xdsl_tvm.dialects import relax
from xdsl_tvm.relax.dpl import (
    CallPattern,
    DFPattern,
    ExternFuncPattern,
    FunctionPattern,
    GlobalVarPattern,
    PatternContext,
    PatternSeq,
    TuplePattern,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    wildcard,
)

MODULE = parse("""
!t = tensor<4x4xf32>
!s = tensor<?x4xf32, #relax.dims<[n, 4]>>
!h = tensor<4x4xf16>
!i = tensor<4x4xi32>
!p = !relax.tuple<!t, !t>
!d = !relax.shape<[16, n]>
!o = tensor<16x?xf32, #relax.dims<[16, n]>>
tir.func private @scale(%a: !tir.handle, %b: !tir.handle, %n: i64)
relax.func @helper(%z: !t) -> !t {
  %r = relax.exp %z : (!t) -> !t
  relax.return %r : !t
}
relax.func impure @main<n>(%x: !t, %y: !t, %s: !s, %i: !i) -> !t {
  %k = relax.constant dense<2.0> : !t
  %packed = relax.call_packed "my.copy"(%x, %y) : (!t, !t) -> !t
  %out = relax.dataflow -> (!t) {
    %product = relax.matmul %x, %y : (!t, !t) -> !t
    %named = relax.alias %product : !t -> !t
    %sum = relax.add %k, %named : (!t, !t) -> !t
    %relu = relax.nn.relu %sum : (!t) -> !t
    %twice = relax.multiply %sum, %sum : (!t, !t) -> !t
    %pair = relax.tuple(%relu, %twice) : !t, !t
    %joined = relax.concat %pair axis 1 : (!relax.tuple<!t, !t>) -> tensor<4x8xf32>
    %parts = relax.split %joined sections 2 axis 1 : (tensor<4x8xf32>) -> !p
    %part = relax.get_item %parts[1] : !relax.tuple<!t, !t> -> !t
    %half = relax.astype %part dtype f16 : (!t) -> !h
    %shape = relax.shape [16, n]
    %ones = relax.ones %shape dtype f32 : (!d) -> !o
    %scaled = relax.call_tir @scale(%part) [n] : (!t) -> !t
    %dps = relax.call_dps_packed "my.dps"(%scaled, %k) : (!t, !t) -> !t
    %called = relax.call @helper(%dps) : (!t) -> !t
    %integers = relax.divide %i, %i : (!i, !i) -> !i
    %iproduct = relax.multiply %i, %integers : (!i, !i) -> !i
    %quotient = relax.divide %x, %y : (!t, !t) -> !t
    %scalef = relax.multiply %called, %quotient : (!t, !t) -> !t
    %result = relax.divide %scalef, %relu : (!t, !t) -> !t
    relax.output %result : !t
  }
  relax.return %out : !t
}
""")
FUNCTIONS = [op for op in MODULE.ops if isinstance(op, relax.FuncOp)]
VALUES: dict[str, SSAValue] = {
    value.name_hint: value
    for op in FUNCTIONS[1].walk()
    for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
    if value.name_hint
}
DATAFLOW = next(op for op in MODULE.walk() if isinstance(op, relax.DataflowOp))


def op(name: str, *args: DFPattern, **options: Any) -> CallPattern:
    return is_op(f"relax.{name}")(*args, **options)


W = wildcard
MATCHES: dict[str, tuple[Callable[[], DFPattern], str, bool]] = {
    "anything": (W, "x", True),
    "a parameter": (lambda: is_var("x"), "x", True),
    "another parameter": (lambda: is_var("y"), "x", False),
    "a binding is a variable": (lambda: is_var("relu"), "relu", True),
    "any variable": (is_var, "packed", True),
    "a constant is none": (is_var, "k", False),
    "a dataflow variable": (is_dfv, "relu", True),
    "one of another name": (lambda: is_dfv("sum"), "relu", False),
    "an output is none": (is_dfv, "result", False),
    "a parameter is none": (is_dfv, "x", False),
    "a constant": (is_const, "k", True),
    "no constant": (is_const, "x", False),
    "an operator": (lambda: op("nn.relu", W()), "relu", True),
    "another operator": (lambda: op("nn.gelu", W()), "relu", False),
    "a chain": (
        lambda: op("nn.relu", op("add", op("matmul", W(), W()), W())),
        "relu",
        True,
    ),
    "operands the other way round": (lambda: op("add", is_const(), W()), "sum", True),
    "not of a quotient": (
        lambda: op("divide", is_var("y"), is_var("x")),
        "quotient",
        False,
    ),
    "too few arguments": (lambda: op("matmul", W()), "product", False),
    "as many as are given": (
        lambda: op("matmul", is_var("x"), varg_default_wildcard=True),
        "product",
        True,
    ),
    "any arguments": (lambda: CallPattern(is_op("relax.matmul"), None), "product", True),
    "through an alias": (lambda: op("matmul", W(), W()), "named", True),
    "out of a dataflow block": (lambda: op("divide", W(), W()), "out", True),
    "either": (lambda: op("nn.gelu", W()) | op("nn.relu", W()), "relu", True),
    "both": (lambda: op("nn.relu", W()) & is_var("relu"), "relu", True),
    "both fail": (lambda: op("nn.relu", W()) & is_var("sum"), "relu", False),
    "what is not": (lambda: ~op("nn.relu", W()), "sum", True),
    "what is": (lambda: reject(op("nn.relu", W())), "relu", False),
    "a tuple": (lambda: is_tuple([op("nn.relu", W()), W()]), "pair", True),
    "a tuple of another length": (lambda: is_tuple([W()]), "pair", False),
    "a tuple in another order": (
        lambda: is_tuple([op("multiply", W(), W()), W()]),
        "pair",
        False,
    ),
    "a tuple in any order": (
        lambda: is_tuple([op("multiply", W(), W()), op("nn.relu", W())], unordered=True),
        "pair",
        True,
    ),
    "a field": (lambda: is_tuple_get_item(op("split", W()), 1), "part", True),
    "another field": (lambda: is_tuple_get_item(W(), 0), "part", False),
    "any field": (lambda: is_tuple_get_item(op("split", W())), "part", True),
    "attributes": (lambda: op("concat", W()).has_attr({"axis": 1}), "joined", True),
    "other attributes": (lambda: has_attr({"axis": 0}), "joined", False),
    "unknown attributes": (lambda: has_attr({"strides": 0}), "joined", False),
    "a dtype as an attribute": (lambda: has_attr({"dtype": "float16"}), "half", True),
    "sections": (lambda: has_attr({"indices_or_sections": 2}), "parts", True),
    "a dtype": (lambda: has_dtype("float16"), "half", True),
    "another dtype": (lambda: W().has_dtype("float16"), "part", False),
    "a shape": (lambda: W().has_shape([4, 8]), "joined", True),
    "a symbolic shape": (lambda: W().has_shape(("n", 4)), "s", True),
    "another shape": (lambda: W().has_shape([4, 4]), "s", False),
    "a type": (lambda: W().has_struct_info(R.TensorStructInfo(ndim=2)), "s", True),
    "another type": (
        lambda: W().has_type(R.TensorStructInfo((4, 4), "int32")),
        "product",
        False,
    ),
    "the value of a shape": (lambda: op("ones", is_shape([16, "n"])), "ones", True),
    "the value of another shape": (lambda: is_shape([16, 4]), "shape", False),
    "a call of TIR": (lambda: is_call_tir("scale", None, W()), "scaled", True),
    "one without integers": (lambda: is_call_tir("scale"), "scaled", False),
    "its arguments": (
        lambda: is_call_tir("scale", [is_tuple_get_item(W())], is_shape(["n"])),
        "scaled",
        True,
    ),
    "too many of them": (lambda: is_call_tir("scale", [W(), W()], W()), "scaled", False),
    "another function": (lambda: is_call_tir("other"), "scaled", False),
    "a call of the runtime": (
        lambda: is_call_packed("my.copy", [W(), W()]),
        "packed",
        True,
    ),
    "with any arguments": (lambda: is_call_packed("my.copy"), "packed", True),
    "another name": (lambda: ExternFuncPattern("my.other")(W(), W()), "packed", False),
    "one that writes its result": (
        lambda: is_call_dps_packed("my.dps", TuplePattern([W(), is_const()])),
        "dps",
        True,
    ),
    "a call of a function": (lambda: is_gv("helper")(W()), "called", True),
    "of another function": (lambda: GlobalVarPattern("main")(W()), "called", False),
    "a sum of patterns": (lambda: is_const() + W() @ W(), "sum", True),
    "a product and a quotient": (lambda: W() * W() / op("nn.relu", W()), "result", True),
    "a product of a quotient": (
        lambda: is_gv("helper")(W()) * is_var("x") / is_var("y"),
        "scalef",
        True,
    ),
    "not of integers": (
        lambda: is_var("i") * is_var("i") / is_var("i"),
        "iproduct",
        False,
    ),
    "a quotient of a product": (
        lambda: is_gv("helper")(W()) * (op("divide", W(), W()) / op("nn.relu", W())),
        "result",
        True,
    ),
    "a power": (lambda: W() ** W() | W() // W() | W() - W() | -W(), "sum", False),
}


@pytest.mark.parametrize("case", list(MATCHES))
def test_a_pattern_matches(case: str) -> None:
    pattern, name, expected = MATCHES[case]
    assert pattern().match(VALUES[name]) == expected


def test_one_pattern_matches_one_expression() -> None:
    x = wildcard()
    assert op("multiply", x, x).match(VALUES["twice"])
    assert not op("matmul", x, x).match(VALUES["product"])
    assert op("matmul", wildcard(), wildcard()).match(VALUES["product"])


def test_what_parts_match_is_told() -> None:
    x, bias = wildcard(), is_const()
    product = op("matmul", x, wildcard())
    pattern = op("nn.relu", product + bias)
    found = pattern.extract_matched_expr(VALUES["relu"])
    assert found is not None
    assert found[pattern] is VALUES["relu"]
    # The value as it is used, which another one may be a name of.
    assert found[product] is VALUES["named"]
    assert (found[x], found[bias]) == (VALUES["x"], VALUES["k"])
    assert pattern.extract_matched_expr(VALUES["sum"]) is None


def test_only_known_variables_are_looked_through() -> None:
    pattern = op("nn.relu", op("add", wildcard(), wildcard()))
    assert pattern.match(VALUES["relu"])
    assert not pattern.match(VALUES["relu"], {})
    assert pattern.match(VALUES["relu"], {VALUES["sum"]: None})
    assert op("nn.relu", is_var("sum")).match(VALUES["relu"], {})
    assert op("add", is_const(), wildcard()).match(VALUES["sum"], {})


def test_operations_and_functions_are_expressions() -> None:
    relu = VALUES["relu"].owner
    assert isinstance(relu, Operation)
    assert op("nn.relu", wildcard()).match(relu)
    param = wildcard()
    pattern = FunctionPattern([param], op("exp", param))
    assert pattern.match(FUNCTIONS[0])
    assert not pattern.match(FUNCTIONS[1])
    assert FunctionPattern(None, wildcard()).match(FUNCTIONS[1])
    assert wildcard().has_attr({}).match(FUNCTIONS[0])


def test_expressions_of_the_builder_match() -> None:
    x = R.Var("x", R.TensorStructInfo((4, 4)))
    y = R.Var("y", R.TensorStructInfo((4, 4)))
    product = R.op.matmul(x, y)
    total = R.op.add(product, R.const(2.0))
    lhs, part = is_var("x"), op("matmul", is_var("x"), wildcard())
    pattern = op("add", op("matmul", lhs, wildcard()) & part, is_const())
    found = pattern.extract_matched_expr(total)
    assert found is not None
    assert found[pattern] is total
    assert found[lhs] is x
    assert found[part] is product
    assert not part.match(R.op.matmul(y, x))


def test_an_expression_is_a_pattern() -> None:
    assert is_expr(VALUES["x"]).match(VALUES["x"])
    assert not is_expr(VALUES["x"]).match(VALUES["y"])
    x, y = (R.Var(name, R.TensorStructInfo((4, 4))) for name in "xy")
    assert is_expr(R.op.add(x, x)).match(R.op.add(x, x))
    assert not is_expr(R.op.add(x, x)).match(R.op.add(x, y))
    assert not is_expr(x).match(y)
    assert is_expr(R.const(2.0)).match(R.const(2.0))
    assert not is_expr(R.const(2.0)).match(R.const(3.0))
    assert not is_expr(R.op.zeros((4,), "float32")).match(R.op.ones((4,), "float32"))
    assert is_expr(R.op.zeros((4,), "float32")).match(R.op.zeros((4,), "float32"))
    assert not is_expr(R.op.zeros((4,), "float32")).match(y)


def test_an_expression_is_a_pattern_of_a_graph() -> None:
    shape = R.Var.bound("shape", VALUES["shape"])
    with PatternContext() as context:
        ones = is_expr(R.op.ones(shape, "float32"))
        ones.same_shape_as(W())
    found = context.match_dfb(DATAFLOW)
    assert found is not None
    assert found[ones] is VALUES["ones"]


def test_the_page_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "patterns.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > 8
    import_text(tmp_path, "\n".join(blocks))


def test_operators_of_other_dialects_are_known() -> None:
    module = parse("""
    relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = arith.addf %x, %x : tensor<4xf32>
      relax.return %r : tensor<4xf32>
    }
    """)
    value = next(op for op in module.walk() if op.name == "arith.addf").results[0]
    x = wildcard()
    assert is_op("arith.addf")(x, x).match(value)


def test_a_fused_operator() -> None:
    make = make_fused_bias_activation_pattern
    pattern = make("relax.matmul", with_bias=True, activation="relax.nn.relu")
    assert pattern.match(VALUES["relu"])
    assert make("relax.matmul").match(VALUES["product"])
    assert not make("relax.matmul", activation="relax.nn.relu").match(VALUES["relu"])


# ---- graphs ----


def test_a_graph_of_patterns() -> None:
    with PatternContext() as context:
        total, product = op("add", W(), W()), op("multiply", W(), W())
        relu = op("nn.relu", W())
        total.fork_to(product, relu)
        product.used_by(op("concat", W()))
    found = context.match_dfb(DATAFLOW)
    assert found is not None
    assert found[total] is VALUES["sum"]
    assert found[product] is VALUES["twice"]
    assert found[relu] is VALUES["relu"]


def test_users_are_counted() -> None:
    def matched(build: Callable[[], object]) -> bool:
        with PatternContext() as context:
            build()
        return context.match_dfb(DATAFLOW) is not None

    assert matched(lambda: op("nn.relu", W()) ^ op("divide", W(), W()))
    assert not matched(lambda: op("nn.relu", W()) >> op("divide", W(), W())), (
        "concat, too"
    )
    assert matched(
        lambda: op("concat", W()) >> op("split", W()) >> is_tuple_get_item(W())
    )
    assert matched(lambda: op("nn.relu", W()).used_by(op("divide", W(), W()), 1))
    assert not matched(lambda: op("nn.relu", W()).used_by(op("divide", W(), W()), 0))
    with PatternContext() as context:
        op("divide", W(), op("nn.relu", W())).only_used_by(W())
    assert context.match_dfb(DATAFLOW) is None, "an output has a user"
    two = [op("matmul", W(), W()) for _ in range(2)]
    assert not matched(lambda: two[0].dup() ^ two[1].dup()), "there is one product"


def test_patterns_of_a_graph_are_apart() -> None:
    with PatternContext() as context:
        first, second = op("divide", W(), W()), op("divide", W(), W())
        is_var("i").used_by(second)
    found = context.match_dfb(DATAFLOW)
    assert found is not None
    assert found[first] is not found[second]
    assert found[second] is VALUES["integers"]


def test_shapes_of_a_graph_are_compared() -> None:
    def matched(other: str) -> bool:
        with PatternContext() as context:
            first, second = op("concat", W()), op(other, W())
            first.same_shape_as(second)
        return context.match_dfb(DATAFLOW) is not None

    assert not matched("nn.relu")
    assert not matched("ones")
    with PatternContext() as context:
        first, second = op("nn.relu", W()), op("astype", W())
        first.same_shape_as(second, is_var("y"))
    assert context.match_dfb(DATAFLOW) is not None


def test_a_context_may_go_on_with_another() -> None:
    with PatternContext() as context:
        total = op("add", W(), W())
        assert PatternContext.current() is context
        with PatternContext(incremental=True) as inner:
            total.used_by(op("exp", W()))
    assert context.match_dfb(DATAFLOW) is not None
    assert inner.match_dfb(DATAFLOW) is None


def test_a_sequence_is_repeated() -> None:
    with PatternContext() as context:
        sequence = op("nn.relu", W()) ^ op("concat", W())
        copy = sequence.dup()
        assert [len(each) for each in (sequence, copy)] == [2, 2]
        assert copy[0] is not sequence[0]
    assert context.match_dfb(DATAFLOW) is None, "there are not two of them"
    assert len(PatternSeq([W(), W()], only_use=True) ^ W() >> W()) == 4


# ---- bad input ----


def _wrong(value: Any) -> Any:
    """A value of another kind than the type checker would allow."""
    return value


MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "an argument": (
        lambda: is_op("relax.add")(W(), _wrong(1)),
        TypeError,
        r"the arguments of a call\[1\] must be a pattern, not int",
    ),
    "an operator": (
        lambda: is_op("relax.nn.rellu"),
        ValueError,
        r"no operator 'relax.nn.rellu' \(did you mean 'relax.nn.relu'\?\)",
    ),
    "no operator": (lambda: is_op("add"), ValueError, "no operator 'add'"),
    "an alternative": (
        lambda: W() | _wrong("x"),
        TypeError,
        r"the right side of \| must",
    ),
    "an operand": (lambda: W() + _wrong(2.0), TypeError, "operands of add"),
    "a field": (
        lambda: is_tuple([W(), _wrong(None)]),
        TypeError,
        r"fields of a tuple\[1\]",
    ),
    "fields": (lambda: is_tuple(_wrong("ab")), TypeError, "must be a list of patterns"),
    "an index": (lambda: TuplePattern([W()])[2], IndexError, "no field 2"),
    "a shape": (lambda: W().has_shape(_wrong(4)), ValueError, "has_shape takes a list"),
    "a dimension": (lambda: is_shape(["min"]), ValueError, "'min' cannot name"),
    "a name": (lambda: is_var(_wrong(3)), TypeError, "a name is a string, not int"),
    "attributes": (lambda: W().has_attr(_wrong([])), TypeError, "has_attr takes a dict"),
    "a type": (lambda: W().has_struct_info(_wrong(4)), TypeError, "not int"),
    "an expression": (lambda: is_expr(_wrong(4)), TypeError, "int is no expression"),
    "what is matched": (lambda: W().match(_wrong(4)), TypeError, "not int"),
    "a user": (lambda: W() >> _wrong(4), TypeError, "the user of a pattern must be"),
    "no context": (lambda: PatternContext(incremental=True), ValueError, "enter that"),
    "no current one": (PatternContext.current, ValueError, "no context is entered"),
    "a block": (lambda: PatternContext().match_dfb(_wrong(4)), TypeError, "not int"),
    "an empty context": (
        lambda: PatternContext().match_dfb(DATAFLOW),
        ValueError,
        "there is nothing to match",
    ),
}


@pytest.mark.parametrize("case", list(MISTAKES))
def test_bad_input_is_refused(case: str) -> None:
    action, kind, message = MISTAKES[case]
    with pytest.raises(kind, match=message):
        action()


def test_a_circle_is_refused() -> None:
    with PatternContext() as context:
        first, second = op("add", W(), W()), op("multiply", W(), W())
        first.used_by(second.used_by(first))
    with pytest.raises(ValueError, match="uses itself, through others"):
        context.match_dfb(DATAFLOW)
