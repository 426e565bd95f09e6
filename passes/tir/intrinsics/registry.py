"""The rules of each target, and what a rule is given.

docs/spec/tir-passes-d-abi-and-pipelines.md, "LowerIntrin".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar, overload

from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.rule_code import VOID, RuleCode

DEFAULT_LEVEL = 10
"""The level of the rules that are there from the start."""

LOWER, LEGALIZE = "FLowerIntrinsic", "FLegalize"


class IntrinsicCall(RuleCode):
    """A call of a builtin, as a rule sees it."""

    op: tir.CallOp

    def __init__(
        self,
        op: tir.CallOp,
        args: tuple[Expr, ...],
        target: Target,
        code: LoopCode,
        bounds: Callable[[Expr], Bound],
    ) -> None:
        super().__init__(op, VOID if op.result is None else op.result.type, target, code)
        self.name = op.callee.data
        """The TVM name of the builtin, without `tir.`."""
        self.args = args
        """The operands: constants, broadcast constants, and leaves."""
        self._bounds = bounds

    def bounds(self, tree: Expr) -> Bound:
        """Constant bounds of a tree at the call."""
        return self._bounds(tree)


Rule = Callable[[IntrinsicCall], "Expr | IntrinsicCall | None"]
"""Lowers a call; one that returns the call itself does not apply, None is an error."""
_RuleT = TypeVar("_RuleT", bound=Rule)


class _Entry(NamedTuple):
    """A rule that is registered."""

    level: int
    rule: Rule


_rules: dict[tuple[str, str], list[_Entry]] = {}
"""By table and builtin, in order of their levels; the last one counts."""


def add_rule(table: str, name: str, rule: Rule, level: int = DEFAULT_LEVEL) -> None:
    """Add a rule to a table, such as `llvm.FLegalize`.

    Raises ValueError for a second rule of one level.
    """
    entries = _rules.setdefault((table, name), [])
    if any(entry.level == level for entry in entries):
        raise ValueError(
            f"the builtin '{name}' has a rule of level {level} in {table}; register the "
            "rule with another level, a higher one to be used"
        )
    entries.append(_Entry(level, rule))
    entries.sort(key=lambda entry: entry.level)


@overload
def register_intrin_lowering(
    op_name: str, target: str, *, f: None = None, level: int = DEFAULT_LEVEL
) -> Callable[[_RuleT], _RuleT]: ...


@overload
def register_intrin_lowering(
    op_name: str, target: str, *, f: _RuleT, level: int = DEFAULT_LEVEL
) -> _RuleT: ...


def register_intrin_lowering(
    op_name: str, target: str, *, f: _RuleT | None = None, level: int = DEFAULT_LEVEL
) -> _RuleT | Callable[[_RuleT], _RuleT]:
    """Register how calls of a builtin are lowered for a target.

    `op_name` is the TVM name of the builtin, with or without `tir.`; `target` the name of
    a kind of targets, or `default` for those that have no rule. Of several rules the one
    with the highest level is used; those of TVM have 10. Without `f` the result is a
    decorator. Raises ValueError for a second rule of one level.
    """

    def register(rule: _RuleT) -> _RuleT:
        add_rule(f"{target}.{LOWER}", op_name.removeprefix("tir."), rule, level)
        return rule

    return register if f is None else register(f)


def unregister_intrin_lowering(op_name: str, target: str, *, level: int) -> None:
    """Remove the rule of a level, so that the one below it is used again.

    Raises KeyError where there is none.
    """
    key = f"{target}.{LOWER}", op_name.removeprefix("tir.")
    entries = _rules.get(key, [])
    left = [entry for entry in entries if entry.level != level]
    if len(left) == len(entries):
        raise KeyError(f"'{key[1]}' has no rule of level {level} in {key[0]}")
    _rules[key] = left


def tables_of(target: Target) -> tuple[str, ...]:
    """The tables of a target, in the order in which they are asked."""
    kind = target.kind.name
    prefixes = [kind]
    if "mtriple" in target.kind.options and "aarch64" in str(target.attr("mtriple", "")):
        prefixes.append(f"{kind}.aarch64")
    return tuple(
        f"{prefix}.{suffix}"
        for prefix in (*prefixes, "default")
        for suffix in (LOWER, LEGALIZE)
    )


def rules_for(name: str, tables: tuple[str, ...]) -> Iterator[Rule]:
    """The rules for a builtin, in the order in which they are tried."""
    for table in tables:
        entries = _rules.get((table, name))
        if entries:
            yield entries[-1].rule
