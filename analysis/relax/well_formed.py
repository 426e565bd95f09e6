"""Well-formed Relax: the rules that span several ops (docs/spec/relax-ir.md §8).

`RULES` lists them. The rest of the spec's rules hold for any verified module, by their
number there:

- 1, 12, 20: every value has a type, operands are values, and an op that renames a value
  gives it a type that it has;
- 2, 22, 23: a symbol that is called or referred to is a function of the module, and a
  call fits it, which the verifier of `relax.func` checks;
- 4, 6, 7, 9, 10, 11, 24: values are in static single assignment form and defined before
   their uses, which `relax.func` verifies; functions are isolated from each
  other, and only results of a dataflow block are visible after it;
- 5, 8, 13, 18: symbols are names of one function, which its parameters and its
  `relax.match_cast` define; types in the body use no others, nor do literals those of
  the function around them;
- 14, 15, 16: a dataflow block holds no control flow and no impure call, a pure function
  without `relax.force_pure` no impure call;
- 19: TIR functions are ops of the module;
- 21: every op's verifier infers its result and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.analysis.tir.well_formed import Violation
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import FORCE_PURE, VAR_UPPER_BOUND

GLOBAL_SYMBOL = "global_symbol"
NUM_INPUT = "num_input"
NON_NEGATIVE = "tir_non_negative_var"

_Function = relax.FuncOp | relax.LambdaOp
_KILLS = relax.KillTensorOp | relax.KillStorageOp | relax.VMKillObjectOp


def violations(root: Operation) -> Iterator[Violation]:
    """All violations in the modules and Relax functions of `root`, in text order."""
    for op in root.walk():
        if isinstance(op, ModuleOp):
            yield from _global_symbol(op)
        elif isinstance(op, _Function):
            for rule in RULES.values():
                yield from rule(op)
        if isinstance(op, relax.FuncOp):
            yield from _life(op.body.block, set())


def verify_well_formed(root: Operation) -> None:
    """Check `root`, which must have been verified.

    Raises VerifyException for the first op that breaks a rule.
    """
    first = next(violations(root), None)
    if first is not None:
        raise VerifyException(f"{first.op.name} breaks {first.rule}: {first.reason}")


def well_formed(root: Operation) -> bool:
    """Whether `root` is verified and breaks no rule, `relax.analysis.well_formed`."""
    try:
        root.verify()
    except VerifyException:
        return False
    return next(violations(root), None) is None


def _global_symbol(module: ModuleOp) -> Iterator[Violation]:
    """Rule 3: a public function has the name that it is known by outside."""
    for op in module.ops:
        if not isinstance(op, relax.FuncOp):
            continue
        symbol = op.attributes.get(GLOBAL_SYMBOL)
        if symbol is not None and symbol != op.sym_name:
            yield Violation(
                op,
                "GlobalSymbol",
                f"@{op.sym_name.data} has the {GLOBAL_SYMBOL} {symbol}; give both one "
                "name, as relax-normalize-global-var does",
            )


def _force_pure(op: _Function) -> Iterator[Violation]:
    """Rule 17: what is forced to be pure says that it is pure."""
    if op.is_forced_pure and not op.is_pure:
        yield Violation(
            op, "ForcePure", f"an impure function has {FORCE_PURE}; drop one of the two"
        )


def _num_input(op: _Function) -> Iterator[Violation]:
    """`num_input` is a number of parameters."""
    count = op.attributes.get(NUM_INPUT)
    if count is None:
        return
    if not isinstance(count, IntegerAttr) or not 0 <= count.value.data <= len(op.args):
        yield Violation(
            op,
            "NumInput",
            f"{NUM_INPUT} must be an integer of 0 to {len(op.args)}, the number of "
            f"parameters, not {count}",
        )


def _symbol_facts(op: _Function) -> Iterator[Violation]:
    """What is said of symbols has the form that passes read."""
    bounds = op.attributes.get(VAR_UPPER_BOUND)
    if bounds is not None and not (
        isinstance(bounds, DictionaryAttr)
        and all(
            isinstance(bound, IntegerAttr) and bound.value.data > 0
            for bound in bounds.data.values()
        )
    ):
        yield Violation(
            op,
            "SymbolFacts",
            f"{VAR_UPPER_BOUND} must be a dictionary of integers greater than 0, "
            f"not {bounds}",
        )
    names = op.attributes.get(NON_NEGATIVE)
    if names is not None and not (
        isa(names, ArrayAttr[Attribute])
        and all(isinstance(name, StringAttr) for name in names)
    ):
        yield Violation(
            op, "SymbolFacts", f"{NON_NEGATIVE} must be an array of strings, not {names}"
        )


def _life(block: Block, ended: set[SSAValue]) -> Iterator[Violation]:
    """A value is not used after the op that ends its life."""
    for op in block.ops:
        for operand in op.operands:
            if operand in ended:
                yield Violation(
                    op,
                    "Life",
                    "it uses a value whose life an op before it ends; end it after "
                    "its last use",
                )
        for region in op.regions:
            for inner in region.blocks:
                yield from _life(inner, set(ended))
        if isinstance(op, _KILLS):
            ended.update(op.operands)


RULES: dict[str, Callable[[_Function], Iterable[Violation]]] = {
    "ForcePure": _force_pure,
    "NumInput": _num_input,
    "SymbolFacts": _symbol_facts,
}
"""The rules of one function, by name; besides there are `GlobalSymbol` and `Life`."""
