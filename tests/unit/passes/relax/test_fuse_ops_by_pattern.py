"""Patterns that are given in Python: checks, attributes, priorities, the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.ir import parse
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.fuse_ops_by_pattern import FuseOpsByPattern
from xdsl_tvm.relax import transform
from xdsl_tvm.relax.backend import (
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
)
from xdsl_tvm.relax.dpl import DFPattern, is_op, is_tuple, is_tuple_get_item, wildcard
from xdsl_tvm.relax.transform import FusionPattern, PatternCheckContext

MODULE = parse("""
!t = tensor<4x4xf32>
relax.func @main(%x: !t, %w: !t) -> !t attributes {global_symbol = "main"} {
  %out = relax.dataflow -> (!t) {
    %a = relax.matmul %x, %w : (!t, !t) -> !t
    %b = relax.nn.relu %a : (!t) -> !t
    %c = relax.matmul %b, %w : (!t, !t) -> !t
    %d = relax.nn.relu %c : (!t) -> !t
    %e = relax.nn.relu %d : (!t) -> !t
    %pair = relax.tuple(%e, %b) : !t, !t
    %joined = relax.concat %pair axis 0 : (!relax.tuple<!t, !t>) -> tensor<8x4xf32>
    %parts = relax.split %joined sections 2 axis 0 :
      (tensor<8x4xf32>) -> !relax.tuple<!t, !t>
    %part = relax.get_item %parts[0] : !relax.tuple<!t, !t> -> !t
    relax.output %part : !t
  }
  relax.return %out : !t
}
""")
PRODUCT = is_op("relax.matmul")(wildcard(), wildcard())
RELU = is_op("relax.nn.relu")(wildcard())


def activated(lhs: DFPattern | None = None, rhs: DFPattern | None = None) -> DFPattern:
    product = is_op("relax.matmul")(lhs or wildcard(), rhs or wildcard())
    return is_op("relax.nn.relu")(product)


def functions(module: ModuleOp) -> dict[str, relax.FuncOp]:
    """The functions that were made, by the names of their patterns."""
    found: dict[str, relax.FuncOp] = {}
    for op in module.ops:
        if isinstance(op, relax.FuncOp) and "Composite" in op.attributes:
            name = op.attributes["Composite"]
            assert isinstance(name, StringAttr)
            found[name.data] = op
    return found


def names(func: Operation) -> list[str]:
    return [
        op.name.removeprefix("relax.")
        for op in func.walk()
        if isinstance(op, relax.OperatorOp | relax.CallOp)
    ]


def test_patterns_are_tuples_and_objects() -> None:
    after = FuseOpsByPattern(
        [FusionPattern("my.activated", activated()), ("my.relu", RELU)]
    )(MODULE)
    made = functions(after)
    assert names(made["my.activated"]) == ["matmul", "nn.relu"]
    assert names(made["my.relu"]) == ["nn.relu"]
    (main,) = [op for op in after.ops if op not in made.values()]
    assert names(main) == ["call", "call", "call", "concat", "split"]
    after.verify()


def test_the_first_pattern_has_priority() -> None:
    after = FuseOpsByPattern([("my.relu", RELU), ("my.activated", activated())])(MODULE)
    assert list(functions(after)) == ["my.relu"]


def test_a_check_knows_the_match() -> None:
    lhs = wildcard()
    contexts = list[PatternCheckContext]()

    def check(context: PatternCheckContext) -> bool:
        contexts.append(context)
        return context.annotated_expr["lhs"].name_hint == "b"

    after = transform.FuseOpsByPattern(
        [("my.activated", activated(lhs), {"lhs": lhs}, check)]
    )(MODULE)
    assert len(functions(after)) == 1
    assert [context.matched_expr.name_hint for context in contexts] == ["b", "d"]
    first = contexts[0]
    assert [value.name_hint for value in first.matched_bindings] == ["a", "b"]
    usages = first.var_usages.items()
    users = {value.name_hint: sorted(op.name for op in ops) for value, ops in usages}
    assert users == {"a": ["relax.nn.relu"], "b": ["relax.matmul", "relax.tuple"]}
    assert [v.name_hint for v in first.value_to_bound_var.values()] == ["a", "b"]
    refused = FuseOpsByPattern([("my.activated", activated(), never)])(MODULE)
    assert refused.is_structurally_equivalent(MODULE)


def never(context: PatternCheckContext) -> bool:
    return False


def test_attributes_are_added() -> None:
    lhs = wildcard()

    def attributes(annotated: Mapping[str, SSAValue]) -> Mapping[str, object]:
        info = relax.TensorInfo.of(annotated["lhs"].type)
        assert info is not None
        return {"rank": info.rank}

    after = FuseOpsByPattern(
        [("my.activated", activated(lhs), {"lhs": lhs}, None, attributes)]
    )(MODULE)
    assert isinstance(functions(after)["my.activated"].attributes["rank"], IntegerAttr)


def test_matches_across_each_other() -> None:
    """The second of three activations is in two matches; the first of them is made."""
    twice = is_op("relax.nn.relu")(is_op("relax.nn.relu")(wildcard()))
    chain = parse("""
    !t = tensor<4xf32>
    relax.func @main(%x: !t) -> !t {
      %out = relax.dataflow -> (!t) {
        %a = relax.nn.relu %x : (!t) -> !t
        %b = relax.nn.relu %a : (!t) -> !t
        %c = relax.nn.relu %b : (!t) -> !t
        relax.output %c : !t
      }
      relax.return %out : !t
    }
    """)
    after = FuseOpsByPattern([("my.twice", twice)])(chain)
    (main,) = [op for op in after.ops if op not in functions(after).values()]
    assert names(main) == ["call", "nn.relu"]
    # One that holds another whole takes its place.
    either = twice | RELU
    longest = is_op("relax.nn.relu")(either)
    after = FuseOpsByPattern([("my.three", longest | RELU)])(chain)
    assert names(functions(after)["my.three"]) == ["nn.relu"] * 3


def test_tuples_and_fields_are_matched() -> None:
    joined = is_op("relax.concat")(is_tuple([wildcard(), wildcard()]))
    field = is_tuple_get_item(is_op("relax.split")(joined), 0)
    after = FuseOpsByPattern([("my.joined", field)])(MODULE)
    made = functions(after)["my.joined"]
    assert [op.name for op in made.walk() if isinstance(op, relax.TupleOp)]
    assert names(made) == ["concat", "split"]
    assert len(made.args) == 2


def test_writes_in_place_are_left() -> None:
    written = parse("""
    !t = tensor<4xf32>
    tir.func private @scale(%a: !tir.handle)
    relax.func @main(%x: !t) -> !t {
      %out = relax.dataflow -> (!t) {
        %a = relax.exp %x : (!t) -> !t
        %b = relax.call_tir_inplace @scale(%a) inplace [0] : (!t) -> !t
        relax.output %b : !t
      }
      relax.return %out : !t
    }
    """)
    patterns = [
        ("my.inplace", is_op("relax.call_tir_inplace")(wildcard(), wildcard())),
        ("my.exp", is_op("relax.exp")(wildcard())),
    ]
    after = FuseOpsByPattern(patterns)(written)
    assert list(functions(after)) == ["my.exp"]


def test_only_entries_are_looked_at() -> None:
    two = parse(str(MODULE).replace("builtin.module {", "builtin.module {", 1))
    copy = next(iter(two.ops)).clone()
    assert isinstance(copy, relax.FuncOp)
    copy.sym_name = StringAttr("other")
    copy.attributes["global_symbol"] = StringAttr("other")
    two.body.block.add_op(copy)
    after = FuseOpsByPattern([("my.relu", RELU)], entry_functions=["other"])(two)
    main, other, *_ = after.ops
    assert names(main) == names(next(iter(MODULE.ops)))
    assert "call" in names(other)
    assert FuseOpsByPattern([("my.relu", RELU)], entry_functions=None) is not None


def test_patterns_are_registered() -> None:
    register_patterns([("mine.first", RELU), FusionPattern("mine.second", PRODUCT)])
    found = get_pattern("mine.first")
    assert found is not None
    assert found.pattern is RELU
    assert get_pattern("mine.third") is None
    names_ = [pattern.name for pattern in get_patterns_with_prefix("mine.")]
    assert names_ == ["mine.second", "mine.first"], "the last one has priority"
    after = FuseOpsByPattern(["mine."])(MODULE)
    assert set(functions(after)) == {"mine.first", "mine.second"}
    register_patterns([("mine.first", PRODUCT)])
    assert get_patterns_with_prefix("mine.")[0].name == "mine.first"
    assert FuseOpsByPattern(["mine.first"]).patterns == ("mine.first",)


# ---- bad input ----


def _wrong(value: Any) -> Any:
    return value


def no_attribute(annotated: Mapping[str, SSAValue]) -> Mapping[str, object]:
    return {"x": object()}


def own_attribute(annotated: Mapping[str, SSAValue]) -> Mapping[str, object]:
    return {"Composite": 1}


MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no pattern": (
        lambda: FuseOpsByPattern([_wrong(3)]),
        TypeError,
        "a pattern to fuse is a FusionPattern or a tuple",
    ),
    "no DFPattern": (
        lambda: FuseOpsByPattern([("my.relu", _wrong("relax.nn.relu"))]),
        TypeError,
        "the pattern 'my.relu' must be a pattern, not str",
    ),
    "no name": (lambda: FusionPattern("", RELU), TypeError, "a pattern needs a name"),
    "no annotation": (
        lambda: FusionPattern("my.relu", RELU, {"x": _wrong(1)}),
        TypeError,
        "the annotation 'x' of the pattern 'my.relu' must be a pattern",
    ),
    "no check": (
        lambda: FusionPattern("my.relu", RELU, check=_wrong(1)),
        TypeError,
        "check of the pattern 'my.relu' must be a function, not int",
    ),
    "no attribute": (
        lambda: FuseOpsByPattern([("my.relu", RELU, {}, None, no_attribute)])(MODULE),
        PassFailedException,
        "attrs_getter of 'my.relu': x: a value of type object cannot be an annotation",
    ),
    "an attribute of the pass": (
        lambda: FuseOpsByPattern([("my.relu", RELU, {}, None, own_attribute)])(MODULE),
        PassFailedException,
        "gives 'Composite', which is an attribute of the pass",
    ),
    "a name that is not registered": (
        lambda: FuseOpsByPattern(["never."])(MODULE),
        PassFailedException,
        "no pattern is called 'never.' or begins so",
    ),
}


@pytest.mark.parametrize("case", list(MISTAKES))
def test_bad_input_is_refused(case: str) -> None:
    action, kind, message = MISTAKES[case]
    with pytest.raises(kind, match=message):
        action()
