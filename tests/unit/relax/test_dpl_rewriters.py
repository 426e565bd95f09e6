"""Functions and modules rewritten by patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from support.live_scripts import import_text
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import relax
from xdsl_tvm.dialects import relax as R
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.relax.dpl import (
    DFPattern,
    OrRewriter,
    PatternContext,
    PatternMatchingRewriter,
    TupleRewriter,
    is_op,
    is_var,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)

Matched = dict[DFPattern, relax.Expr]
TEXT = """
!t = tensor<2x2xf32>
relax.func @main(%x: !t, %y: !t, %c: tensor<i1>) -> !t {
  %branch = relax.if %c : tensor<i1> -> !t {
    %a = relax.add %x, %x : (!t, !t) -> !t
    relax.yield %a : !t
  } else {
    relax.yield %y : !t
  }
  %out = relax.dataflow -> (!t) {
    %left = relax.matmul %branch, %x : (!t, !t) -> !t
    %relu = relax.nn.relu %left : (!t) -> !t
    %right = relax.matmul %branch, %y : (!t, !t) -> !t
    %sum = relax.add %relu, %right : (!t, !t) -> !t
    %twice = relax.add %sum, %sum : (!t, !t) -> !t
    relax.output %twice : !t
  }
  relax.return %out : !t
}
"""
X = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
Y = np.array([[0.0, 1.0], [-1.0, 2.0]], np.float32)


def module() -> ModuleOp:
    return parse(TEXT)


def main(of: ModuleOp) -> R.FuncOp:
    (func,) = [op for op in of.ops if isinstance(op, R.FuncOp)]
    return func


def results(of: ModuleOp) -> list[Any]:
    run = interpret(of)["main"]
    return [run(X, Y, np.array(flag)) for flag in (True, False)]


def names(of: ModuleOp | R.FuncOp) -> list[str]:
    """The operators, in order."""
    return [
        op.name.removeprefix("relax.") for op in of.walk() if isinstance(op, R.OperatorOp)
    ]


def check_same(after: ModuleOp) -> None:
    for old, new in zip(results(module()), results(after), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6)


A, B = wildcard(), wildcard()
DOUBLED = is_op("relax.add")(A, A)


def double(orig: relax.Expr, matched: Matched) -> relax.Expr:
    return relax.op.multiply(matched[A], relax.const(2.0, "float32"))


def test_calls_are_rewritten_everywhere() -> None:
    before = module()
    after = rewrite_call(DOUBLED, double, before)
    expected = ["multiply", "matmul", "nn.relu", "matmul", "add", "multiply"]
    assert names(after) == expected
    assert before.is_structurally_equivalent(module()), "the argument stays"
    check_same(after)
    func = rewrite_call(DOUBLED, double, main(module()))
    assert isinstance(func, R.FuncOp)
    assert names(func) == expected


def test_new_calls_are_rewritten_and_what_is_not_needed_goes() -> None:
    def shorter(orig: relax.Expr, matched: Matched) -> relax.Expr:
        return relax.op.nn.relu(matched[A])

    chain = is_op("relax.nn.relu")(is_op("relax.nn.relu")(A))
    text = TEXT.replace(
        "%right", "%again = relax.nn.relu %relu : (!t) -> !t\n%right", 1
    ).replace("relax.add %relu", "relax.add %again")
    after = rewrite_call(chain, shorter, parse(text))
    assert names(after).count("nn.relu") == 1
    check_same(after)


def test_a_match_may_be_left() -> None:
    seen = list[str]()

    def leave(orig: relax.Expr, matched: Matched) -> relax.Expr:
        assert isinstance(orig, relax.Var)
        seen.append(orig.name_hint)
        return orig

    after = rewrite_call(DOUBLED, leave, module())
    assert after.is_structurally_equivalent(module())
    assert seen == ["a", "twice"]


def test_a_variable_may_take_the_place() -> None:
    after = rewrite_call(is_op("relax.nn.relu")(A), lambda _, m: m[A], module())
    assert "nn.relu" not in names(after)


def test_the_matched_expression_may_be_used() -> None:
    pattern = is_op("relax.nn.relu")(A)
    after = rewrite_call(pattern, lambda orig, _: relax.op.negative(orig), module())
    assert names(after)[2:4] == ["nn.relu", "negative"]


def test_a_type_that_says_less_is_checked() -> None:
    shape = relax.ShapeExpr((2, 2))

    def unknown(orig: relax.Expr, matched: Matched) -> relax.Expr:
        packed = relax.op.call_pure_packed
        return packed("my.relu", matched[A], sinfo_args=relax.TensorStructInfo())

    def more_precise(orig: relax.Expr, matched: Matched) -> relax.Expr:
        return relax.op.reshape(matched[A], shape)

    pattern = is_op("relax.nn.relu")(A)
    after = rewrite_call(pattern, unknown, module())
    assert any(isinstance(op, R.MatchCastOp) for op in after.walk())
    wide = parse(
        TEXT.replace(
            "%relu = relax.nn.relu %left : (!t) -> !t",
            """
        %wide = relax.alias %left : !t -> tensor<?x2xf32>
        %relu = relax.nn.relu %wide : (tensor<?x2xf32>) -> tensor<?x2xf32>""",
        ).replace(
            "relax.add %relu, %right : (!t, !t)",
            "relax.add %relu, %right : (tensor<?x2xf32>, !t)",
        )
    )
    after = rewrite_call(pattern, more_precise, wide)
    assert any(isinstance(op, R.AliasOp) for op in after.walk())


def test_values_that_are_not_visible_are_left() -> None:
    """The operand of the product is visible in the dataflow block only."""
    text = TEXT.replace(
        "relax.return %out : !t",
        "%late = relax.add %out, %out : (!t, !t) -> !t\nrelax.return %late : !t",
    )
    inner = is_op("relax.add")(A, A)
    after = rewrite_call(is_op("relax.add")(inner, inner), double, parse(text))
    assert names(after).count("multiply") == 0
    assert is_op("relax.add")(inner, inner).match(main(parse(text)).return_op.value)


# ---- graphs ----


def products(
    order: Callable[[list[relax.Expr]], list[relax.Expr]] = list,
) -> tuple[PatternContext, Any]:
    """Two products of one tensor as a product with a wider one."""
    with PatternContext() as context:
        lhs, first, second = (wildcard() for _ in range(3))
        left, right = (is_op("relax.matmul")(lhs, each) for each in (first, second))

    def together(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        assert bindings[matched[left]].op.name == "relax.matmul"
        wide = relax.op.concat([matched[first], matched[second]], axis=1)
        parts = relax.op.split(relax.op.matmul(matched[lhs], wide), 2, axis=1)
        new = order([parts[0], parts[1]])
        return {matched[left]: new[0], matched[right]: new[1]}

    return context, together


def test_bindings_are_rewritten_together() -> None:
    context, together = products()
    after = rewrite_bindings(context, together, module())
    assert names(after) == ["add", "concat", "matmul", "split", "nn.relu", "add", "add"]
    check_same(after)


def test_bindings_are_sorted() -> None:
    """What is new needs a value that comes after the first use."""
    with PatternContext() as context:
        relu = is_op("relax.nn.relu")(is_var("left"))
        right = is_op("relax.matmul")(A, is_var("y"))

    def later(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        return {matched[relu]: relax.op.subtract(matched[right], matched[right])}

    after = rewrite_bindings(context, later, module())
    assert names(after) == ["add", "matmul", "subtract", "add", "add"]


def test_bindings_may_be_left() -> None:
    context, _ = products()

    def leave(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        return {}

    after = rewrite_bindings(context, leave, module())
    assert after.is_structurally_equivalent(module())


WRITTEN = """
!t = tensor<2x2xf32>
tir.func private @scale(%a: !tir.handle)
relax.func @main(%x: !t, %y: !t) -> !t {
  %out = relax.dataflow -> (!t) {
    %own = relax.exp %x : (!t) -> !t
    %left = relax.matmul %own, %y : (!t, !t) -> !t
    %new = relax.call_tir_inplace @scale(%own) inplace [0] : (!t) -> !t
    %use = relax.nn.relu %left : (!t) -> !t
    %right = relax.matmul %new, %y : (!t, !t) -> !t
    %sum = relax.add %use, %right : (!t, !t) -> !t
    relax.output %sum : !t
  }
  relax.return %out : !t
}
"""


def test_what_is_overwritten_is_left() -> None:
    """The product cannot be computed where the activation is: its operand is gone."""
    pattern = is_op("relax.nn.relu")(is_op("relax.matmul")(A, B))

    def again(orig: relax.Expr, matched: Matched) -> relax.Expr:
        return relax.op.nn.gelu(relax.op.matmul(matched[A], matched[B]))

    written = parse(WRITTEN)
    assert rewrite_call(pattern, again, written).is_structurally_equivalent(written)
    with PatternContext() as context:
        left = is_op("relax.matmul")(A, B)
        relu = is_op("relax.nn.relu")(left)

    def together(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        return {matched[relu]: again(matched[relu], matched)}

    after = rewrite_bindings(context, together, written)
    assert after.is_structurally_equivalent(written)


def test_a_write_in_place_keeps_its_place() -> None:
    with PatternContext() as context:
        relu = is_op("relax.nn.relu")(A)

    def negated(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        return {matched[relu]: relax.op.negative(relax.op.negative(matched[A]))}

    after = rewrite_bindings(context, negated, parse(WRITTEN))
    assert [op.name for op in after.walk()][4:10] == [
        "relax.exp",
        "relax.matmul",
        "relax.call_tir_inplace",
        "relax.negative",
        "relax.negative",
        "relax.matmul",
    ]


# ---- modules that describe a rewriter ----


SCRIPTS = """
@R.rewriter
class SumsToProducts:
    @R.function
    def pattern(A: R.Tensor(dtype="float32")):
        return A + A

    @R.function
    def replacement(A: R.Tensor(dtype="float32")):
        return A * R.const(2.0, "float32")


@I.ir_module
class Together:
    @R.function
    def pattern(
        A: R.Tensor(("m", "k"), "float32"),
        B: R.Tensor(("k", "n"), "float32"),
        C: R.Tensor(("k", "n"), "float32"),
    ):
        return (R.matmul(A, B), R.matmul(A, C))

    @R.function
    def replacement(
        A: R.Tensor(("m", "k"), "float32"),
        B: R.Tensor(("k", "n"), "float32"),
        C: R.Tensor(("k", "n"), "float32"),
    ):
        with R.dataflow():
            wide = R.concat((B, C), axis=1)
            parts = R.split(R.matmul(A, wide), 2, axis=1)
            left = parts[0]
            right = parts[1]
            R.output(left, right)
        return (left, right)


@I.ir_module
class WithFunction:
    @R.function
    def pattern(A: R.Tensor((2, 2), "float32")):
        return R.nn.relu(A)

    @R.function
    def replacement(A: R.Tensor((2, 2), "float32")):
        return WithFunction.my_relu(A)

    @R.function(private=True)
    def my_relu(A: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        return R.maximum(A, R.const(0.0, "float32"))
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rewriters, and the modules that describe some."""
    return import_text(tmp_path_factory.mktemp("scripts"), SCRIPTS)


def test_a_module_is_a_rewriter(scripts: Any) -> None:
    assert isinstance(scripts.SumsToProducts, PatternMatchingRewriter)
    after = scripts.SumsToProducts(module())
    assert names(after).count("multiply") == 2
    check_same(after)


def test_results_of_a_module_are_rewritten_together(scripts: Any) -> None:
    rewriter = PatternMatchingRewriter.from_module(scripts.Together)
    assert isinstance(rewriter, TupleRewriter)
    after = rewriter(module())
    assert names(after) == ["add", "concat", "matmul", "split", "nn.relu", "add", "add"]
    check_same(after)


def test_functions_of_a_module_are_added(scripts: Any) -> None:
    rewriter = PatternMatchingRewriter.from_module(scripts.WithFunction)
    after = rewriter(module())
    assert len([op for op in after.ops if isinstance(op, R.FuncOp)]) == 2
    check_same(after)
    with pytest.raises(ValueError, match="the new bindings call @my_relu"):
        rewriter(main(module()))
    taken = parse(TEXT.replace("@main", "@my_relu"))
    with pytest.raises(ValueError, match="another function of that name"):
        rewriter(taken)


def test_rewriters_are_joined(scripts: Any) -> None:
    relu = PatternMatchingRewriter.from_pattern(
        is_op("relax.nn.relu")(A),
        lambda _, m: relax.op.maximum(m[A], relax.const(0.0, "float32")),
    )
    joined = (
        scripts.SumsToProducts
        | relu
        | PatternMatchingRewriter.from_module(scripts.Together)
    )
    assert isinstance(joined, OrRewriter)
    after = joined(module())
    assert "nn.relu" not in names(after)
    assert names(after).count("matmul") == 1
    assert names(after).count("multiply") == 2
    check_same(after)


def test_attributes_and_constants_of_a_module_are_matched() -> None:
    rewriter = PatternMatchingRewriter.from_module(
        parse("""
    !u = tensor<*xf32>
    relax.func @pattern(%x: !u) -> !u {
      %one = relax.constant dense<1.0> : tensor<f32>
      %s = relax.nn.softmax %x axis 0 : (!u) -> !u
      %r = relax.add %s, %one : (!u, tensor<f32>) -> !u
      relax.return %r : !u
    }
    relax.func @replacement(%x: !u) -> !u {
      %r = relax.nn.relu %x : (!u) -> !u
      relax.return %r : !u
    }
    """)
    )

    def changed(axis: int, value: float) -> bool:
        program = parse(f"""
        !t = tensor<2x2xf32>
        relax.func @main(%x: !t) -> !t {{
          %c = relax.constant dense<{value}> : tensor<f32>
          %s = relax.nn.softmax %x axis {axis} : (!t) -> !t
          %r = relax.add %s, %c : (!t, tensor<f32>) -> !t
          relax.return %r : !t
        }}
        """)
        return "nn.relu" in names(rewriter(program))

    assert changed(0, 1.0)
    assert not changed(1, 1.0)
    assert not changed(0, 2.0)


# ---- bad input ----


def _module(pattern: str, replacement: str, type_: str = "tensor<2x2xf32>") -> str:
    functions = (("pattern", pattern), ("replacement", replacement))
    return "!t = tensor<2x2xf32>\n" + "\n".join(
        f"relax.func @{name}(%x: {type_}) -> {type_} {{\n{body}\n"
        f"relax.return %r : {type_}\n}}"
        for name, body in functions
    )


EXP = "%r = relax.exp %x : (!t) -> !t"


def _wrong(value: Any) -> Any:
    return value


def _replaced(mapping: Callable[[Matched], Mapping[Any, Any]]) -> ModuleOp:
    context, _ = products()
    return rewrite_bindings(context, lambda matched, _: mapping(matched), module())


MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a number": (
        lambda: rewrite_call(DOUBLED, lambda _, __: _wrong(2), module()),
        TypeError,
        "rewrite_call: the callback must return an expression for 'a', not int",
    ),
    "another type": (
        lambda: rewrite_call(DOUBLED, lambda o, _: relax.op.sum(o), module()),
        TypeError,
        "returned a tensor<f32> for 'a' of relax.add, which is a tensor<2x2xf32>",
    ),
    "no end": (
        lambda: rewrite_call(
            is_op("relax.nn.relu")(A),
            lambda _, m: relax.op.nn.relu(relax.op.negative(m[A])),
            module(),
        ),
        ValueError,
        "in @main the result of the callback matches the pattern again, 64 times",
    ),
    "an effect": (
        lambda: rewrite_call(
            is_op("relax.nn.relu")(A),
            lambda _, m: relax.call_packed(
                "f", m[A], sinfo_args=relax.TensorStructInfo((2, 2))
            ),
            module(),
        ),
        VerifyException,
        "relax.call_packed in @main is impure and is in a dataflow block",
    ),
    "no function": (
        lambda: rewrite_call(DOUBLED, double, _wrong("main")),
        TypeError,
        "rewrite_call rewrites a Relax function or a module, not str",
    ),
    "no pattern": (
        lambda: rewrite_call(_wrong(1), double, module()),
        TypeError,
        "the pattern of a rewriter must be a pattern",
    ),
    "no callback": (
        lambda: rewrite_call(DOUBLED, _wrong(1), module()),
        TypeError,
        "a callback is a function, not int",
    ),
    "no dictionary": (
        lambda: _replaced(lambda _: _wrong([])),
        TypeError,
        "must return a dictionary of variables and expressions, not list",
    ),
    "another variable": (
        lambda: _replaced(lambda m: {relax.const(1.0): relax.const(1.0)}),
        ValueError,
        "is no variable of the dataflow block",
    ),
    "one field": (
        lambda: TupleRewriter([DOUBLED], lambda _, __: relax.const(1.0))(module()),
        TypeError,
        "must return a tuple of 1 expressions, not Computed",
    ),
    "too many fields": (
        lambda: TupleRewriter([DOUBLED], lambda o, _: _wrong((o, o)))(module()),
        TypeError,
        "a tuple of 1 expressions, not of 2",
    ),
    "no patterns": (
        lambda: TupleRewriter([], double),
        ValueError,
        "a TupleRewriter needs a pattern",
    ),
    "no rewriter": (
        lambda: PatternMatchingRewriter.from_pattern(DOUBLED, double) | _wrong(1),
        TypeError,
        "a rewriter is joined with another",
    ),
    "a module without a pattern": (
        lambda: PatternMatchingRewriter.from_module(module()),
        ValueError,
        "the module has no Relax function @pattern",
    ),
    "other parameters": (
        lambda: PatternMatchingRewriter.from_module(
            parse(
                _module(EXP, EXP).replace(
                    "@replacement(%x: tensor<2x2xf32>)", "@replacement(%x: !t, %y: !t)"
                )
            )
        ),
        ValueError,
        "must have the same parameters",
    ),
    "a parameter as a result": (
        lambda: PatternMatchingRewriter.from_module(
            parse(_module("%r = relax.alias %x : !t -> !t", EXP))
        ),
        ValueError,
        "the result 'r' of @pattern must be a call",
    ),
    "a cast": (
        lambda: PatternMatchingRewriter.from_module(
            parse(_module(EXP, "%r = relax.match_cast %x : !t -> !t"))
        ),
        ValueError,
        "relax.match_cast in @replacement cannot be put in the place",
    ),
    "control flow": (
        lambda: PatternMatchingRewriter.from_module(
            parse(_module("%r = relax.match_cast %x : !t -> !t", EXP))
        ),
        ValueError,
        "relax.match_cast in @pattern cannot be matched",
    ),
}


@pytest.mark.parametrize("case", list(MISTAKES))
def test_bad_input_is_refused(case: str) -> None:
    action, kind, message = MISTAKES[case]
    with pytest.raises(kind, match=message):
        action()


def test_a_circle_of_new_values_is_refused() -> None:
    with PatternContext() as context:
        left = is_op("relax.nn.relu")(wildcard())
        total = is_op("relax.add")(left, wildcard())

    def circle(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        return {matched[left]: relax.op.negative(matched[total])}

    with pytest.raises(ValueError, match="in a circle; let them use operands"):
        rewrite_bindings(context, circle, module())


def test_a_binding_that_stays_is_refused_at_last() -> None:
    with PatternContext() as context:
        relu = is_op("relax.nn.relu")(wildcard())
        relu.used_by(wildcard())

    def again(matched: Matched, bindings: dict[Any, Any]) -> dict[Any, relax.Expr]:
        return {matched[relu]: relax.op.negative(matched[relu])}

    with pytest.raises(ValueError, match="matches the pattern again"):
        rewrite_bindings(context, again, module())
