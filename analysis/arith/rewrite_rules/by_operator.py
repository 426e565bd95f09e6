"""Which rules are tried on which nodes, by operator and type, in which order."""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
)
from xdsl_tvm.analysis.arith.patterns import Kind, RuleTable, kind_of
from xdsl_tvm.analysis.arith.rewrite_rules import (
    booleans,
    comparisons,
    divisions,
    lattice,
    special,
    sums,
    vectors,
)
from xdsl_tvm.analysis.arith.rewrite_rules.special import SpecialRule
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type


class Shape(Enum):
    """The kinds of types that have rules of their own."""

    INDEX = auto()
    VECTOR = auto()
    OTHER = auto()


@by_identity
def shape_of(dtype: Attribute) -> Shape:
    """The kind of a type."""
    if tir.is_vector(dtype):
        return Shape.VECTOR
    return Shape.INDEX if is_index_type(dtype) else Shape.OTHER


Step: TypeAlias = RuleTable | SpecialRule
"""What is tried on a node: a table of rules, or one."""
Steps: TypeAlias = tuple[Step, ...]

_RAMPS: Steps = (
    special.multiple_stride,
    special.one_block,
    special.small_block,
    special.reduced_base,
)
_NOT: Steps = (booleans.NOT, booleans.NOT_COMPARISON)
_AND: Steps = (booleans.AND, booleans.AND_INDEX, booleans.AND_LAST)
_OR: Steps = (booleans.OR, booleans.OR_COMPARISON, booleans.OR_INDEX, booleans.OR_LAST)
_CALL: Steps = (special.constant_clz, special.constant_ceil_log2)
_SUB_SELECTS: Steps = (lattice.SUB_OF_SELECTS, lattice.SUB_FROM_SELECT)

_INDEX: dict[Kind, Steps] = {
    Add: (sums.ADD, special.lattice_first, lattice.ADD_OF_SELECTS),
    Sub: (sums.SUB, *_SUB_SELECTS),
    Mul: (sums.MUL,),
    Div: (divisions.TRUNC_DIV,),
    Mod: (divisions.TRUNC_MOD, special.truncmod_modular),
    FloorDiv: (
        divisions.NESTED_FLOOR_DIV,
        special.split_floordiv,
        divisions.FLOOR_DIV,
        special.lesser_floordiv,
    ),
    FloorMod: (
        divisions.FLOOR_MOD,
        special.lesser_floormod,
        special.floormod_modular,
        special.floormod_bounded,
    ),
    Min: (
        special.bounded_min,
        lattice.MIN_OFFSETS,
        lattice.MIN,
        special.scalable_min,
        lattice.MIN_LAST,
        lattice.MIN_OF_SELECTS,
    ),
    Max: (
        special.bounded_max,
        lattice.MAX_OFFSETS,
        lattice.MAX,
        special.scalable_max,
        lattice.MAX_LAST,
        lattice.MAX_OF_SELECTS,
    ),
    CmpPredicate.EQ: (comparisons.EQ,),
    CmpPredicate.LT: (comparisons.LT, special.merged_offsets, special.common_factor),
}
_VECTOR: dict[Kind, Steps] = {
    Add: (vectors.ADD_VECTOR, vectors.ADD_BROADCAST, lattice.ADD_OF_SELECTS),
    Sub: (
        vectors.SUB_VECTOR,
        vectors.SUB_FROM_BROADCAST,
        vectors.SUB_BROADCAST,
        lattice.SUB_OF_SELECTS,
    ),
    Mul: (vectors.MUL_ZERO, vectors.MUL_VECTOR, vectors.MUL_BROADCAST),
    Div: (vectors.DIV_BROADCAST, *_RAMPS),
    Mod: (vectors.MOD_BROADCAST, *_RAMPS),
    FloorDiv: (vectors.FLOOR_DIV_BROADCAST, *_RAMPS),
    FloorMod: (vectors.FLOOR_MOD_BROADCAST, *_RAMPS),
    Min: (vectors.MIN_BROADCAST, lattice.MIN_OF_SELECTS),
    Max: (vectors.MAX_BROADCAST, lattice.MAX_OF_SELECTS),
    CmpPredicate.EQ: (vectors.EQ_BROADCAST, special.equal_to_itself),
    CmpPredicate.LT: (
        vectors.LT_BROADCAST,
        vectors.LT_VECTOR,
        special.less_than_itself,
    ),
    CmpPredicate.LE: (special.equal_to_itself,),
    Not: (vectors.NOT_BROADCAST, *_NOT),
    And: (vectors.AND_BROADCAST, *_AND),
    Or: (vectors.OR_BROADCAST, *_OR),
}
_OTHER: dict[Kind, Steps] = {
    Add: (lattice.ADD_OF_SELECTS,),
    Sub: (sums.SUB_WRAPPING, sums.SUB_SIGNED, *_SUB_SELECTS),
    Div: (special.reciprocal,),
    Min: (lattice.MIN_OF_SELECTS,),
    Max: (lattice.MAX_OF_SELECTS,),
    CmpPredicate.EQ: (special.equal_to_itself,),
    CmpPredicate.LT: (special.less_than_itself,),
    CmpPredicate.LE: (special.equal_to_itself,),
    Not: _NOT,
    And: _AND,
    Or: _OR,
}
_ANY: dict[Kind, Steps] = {
    Call: _CALL,
    IfThenElse: (special.merged_choices,),
}
_STEPS: dict[Shape, dict[Kind, Steps]] = {
    Shape.INDEX: {**_ANY, **_INDEX},
    Shape.VECTOR: {**_ANY, **_VECTOR},
    Shape.OTHER: {**_ANY, **_OTHER},
}


def _all_steps() -> list[Step]:
    """The tables and special rules, each once."""
    tables = (steps for by_kind in _STEPS.values() for steps in by_kind.values())
    by_identity = {id(step): step for steps in tables for step in steps}
    return list(by_identity.values())


def rule_tables() -> list[RuleTable]:
    """The tables of rules."""
    return [step for step in _all_steps() if isinstance(step, RuleTable)]


def rule_ids() -> list[str]:
    """The ids of all rules, those of the tables and others."""
    written = [rule.id for table in rule_tables() for rule in table.rules]
    return written + [s.id for s in _all_steps() if isinstance(s, SpecialRule)]


def steps_for(node: Expr) -> Steps:
    """What is tried on a node. Comparisons go by the type that is compared."""
    kind = kind_of(node)
    typed = node.operands[0] if isinstance(kind, CmpPredicate) else node
    return _STEPS[shape_of(typed.dtype)].get(kind, ())
