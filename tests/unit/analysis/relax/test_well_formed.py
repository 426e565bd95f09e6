"""Well-formed Relax: each rule, where it is kept and where it is broken."""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.relax.well_formed import (
    verify_well_formed,
    violations,
    well_formed,
)
from xdsl_tvm.passes.relax.verify_well_formed import VerifyWellFormed
from xdsl_tvm.registry import new_context

RETURN = "relax.return %x : !t"
KILL = "relax.memory.kill_tensor %a : !t"
ADD = "%a = relax.add %x, %x : (!t, !t) -> !t"
BROKEN = {
    "GlobalSymbol": ("", 'global_symbol = "g"', RETURN),
    "ForcePure": ("impure", "relax.force_pure", RETURN),
    "NumInput": ("", "num_input = 2 : i64", RETURN),
    "NumInput negative": ("", "num_input = -1 : i64", RETURN),
    "NumInput kind": ("", 'num_input = "1"', RETURN),
    "SymbolFacts": ("", "tir_var_upper_bound = {n = 0 : i64}", RETURN),
    "SymbolFacts list": ("", 'tir_var_upper_bound = ["n"]', RETURN),
    "SymbolFacts names": ("", "tir_non_negative_var = [1 : i64]", RETURN),
    "SymbolFacts map": ("", "tir_non_negative_var = {n}", RETURN),
    "Life": ("impure", "", f"{ADD}\n{KILL}\nrelax.return %a : !t"),
    "Life twice": ("impure", "", f"{ADD}\n{KILL}\n{KILL}\n{RETURN}"),
    "Life inside": (
        "impure",
        "",
        f"{ADD}\n{KILL}\n%c = relax.prim_value 1 : i1\n"
        "%r = relax.if %c : !relax.prim<i1, 1> -> !t {\nrelax.yield %a : !t\n} else {\n"
        f"relax.yield %x : !t\n}}\n{RETURN}",
    ),
}


def text(impure: str, attributes: str, body: str) -> str:
    return (
        f"!t = tensor<4xf32>\nrelax.func {impure} @f(%x: !t) -> !t "
        f"attributes {{{attributes}}} {{\n{body}\n}}"
    )


@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_is_checked(rule: str) -> None:
    module = parse(text(*BROKEN[rule]))
    module.verify()
    found = [each.rule for each in violations(module)]
    assert found == [rule.split()[0]]
    assert not well_formed(module)
    with pytest.raises(VerifyException, match=f"breaks {found[0]}: "):
        verify_well_formed(module)
    with pytest.raises(PassFailedException, match=f"^relax.* breaks {found[0]}: "):
        VerifyWellFormed().apply(new_context(), module)


def test_literals_are_functions() -> None:
    lambda_ = (
        "%f = relax.lambda(%y: !t) -> !t attributes {num_input = 2 : i64} {\n"
        f"relax.return %y : !t\n}}\n{RETURN}"
    )
    module = parse(text("", "", lambda_))
    assert [(each.op.name, each.rule) for each in violations(module)] == [
        ("relax.lambda", "NumInput")
    ]


def test_well_formed_verifies() -> None:
    module = parse(text("", 'global_symbol = "f", num_input = 1 : i64', RETURN))
    assert well_formed(module)
    (func,) = module.ops
    func.attributes["num_input"] = IntegerAttr(0, i64)
    assert well_formed(module)
    func.properties["sym_name"] = StringAttr("renamed")
    assert not well_formed(module)
    del func.properties["sym_name"]
    assert not well_formed(module)
