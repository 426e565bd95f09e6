"""The functions that make patterns, by TVM's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.relax.dataflow_patterns.expressions import OperatorName
from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    Expression,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import (
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    NotPattern,
    PrimArrPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
)
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean


def is_var(name: str = "") -> VarPattern:
    """A variable: a parameter, or what is bound; of a name where one is given."""
    return VarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """A function of the module."""
    return GlobalVarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """A variable that its dataflow block does not give out."""
    return DataflowVarPattern(name)


def is_const() -> ConstantPattern:
    """A tensor that is known at compile time."""
    return ConstantPattern()


def is_expr(expr: SSAValue | Expression[Any]) -> ExprPattern:
    """This variable or constant, or what is computed alike."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """An operator by TVM's name, as `relax.nn.conv2d`; one of another dialect, too.

    Raises ValueError for a name of `relax` that no operation has.
    """
    known = [op.name for op in relax.Relax.operations]
    if op_name not in known and (op_name.startswith("relax.") or "." not in op_name):
        hint = did_you_mean(op_name, known)
        raise ValueError(f"is_op: there is no operator '{op_name}'{hint}")
    return ExprPattern(OperatorName(op_name))


def is_tuple(
    fields: Sequence[DFPattern], unordered: bool = False
) -> TuplePattern | UnorderedTuplePattern:
    """A tuple that is made of these fields, in any order if `unordered`."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(
    tuple_value: DFPattern, index: int | None = None
) -> TupleGetItemPattern:
    """A field of a tuple, any where no index is given."""
    return TupleGetItemPattern(tuple_value, index)


def wildcard() -> WildcardPattern:
    """Any expression."""
    return WildcardPattern()


def has_dtype(
    dtype: str | Attribute, pattern: DFPattern | None = None
) -> DataTypePattern:
    """What a pattern matches, anything without one, as a tensor of a dtype."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_attr(
    attrs: Mapping[str, object], pattern: DFPattern | None = None
) -> AttrPattern:
    """What a pattern matches, anything without one, with these attributes."""
    return AttrPattern(wildcard() if pattern is None else pattern, attrs)


def is_shape(shape: Sequence[DimLike]) -> PrimArrPattern:
    """A shape of these dimensions."""
    return PrimArrPattern(shape)


def reject(pattern: DFPattern) -> NotPattern:
    """What a pattern does not match."""
    return NotPattern(pattern)


def is_call_tir(
    func_name: str,
    args: Sequence[DFPattern] | TuplePattern | None = None,
    tir_vars: DFPattern | None = None,
) -> CallPattern:
    """A `relax.call_tir` of a function; any arguments where none are given."""
    parts = [GlobalVarPattern(func_name), _arguments(args)]
    parts += [] if tir_vars is None else [tir_vars]
    return is_op("relax.call_tir")(*parts, add_constraint=False)


def is_call_dps_packed(
    func_name: str, args: Sequence[DFPattern] | TuplePattern | None = None
) -> CallPattern:
    """A `relax.call_dps_packed` of a function of the runtime."""
    parts = (ExternFuncPattern(func_name), _arguments(args))
    return is_op("relax.call_dps_packed")(*parts, add_constraint=False)


def is_call_packed(
    func_name: str, args: Sequence[DFPattern] | None = None
) -> CallPattern:
    """A `relax.call_packed` of a function of the runtime."""
    return CallPattern(ExternFuncPattern(func_name), args)


def _arguments(args: Sequence[DFPattern] | TuplePattern | None) -> DFPattern:
    if args is None:
        return wildcard()
    return args if isinstance(args, TuplePattern) else TuplePattern(args)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """An operator of two operands, with a sum with a bias and an activation after it."""
    result: DFPattern = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        result = is_op("relax.add")(result, wildcard())
    return result if activation is None else is_op(activation)(result)
