"""Which stages compute which Relax operator.

A rule gets the operator, the program to append to, and the operator's tensor operands;
it returns the result. It relies on the operator's inferred types: shapes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.ir import Operation

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.relax.legalize import operators
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    SUM,
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)

Rule: TypeAlias = Callable[[Any, TensorProgram, list[Any], tuple[Dim, ...]], Tensor]
"""Operator, program, operands as `Tensor` or `Scalar`, shape of the result."""

RULES: dict[type[Operation], Rule] = {}
"""The rule of each operator that has one."""


def _rule(*kinds: type[Operation]) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for kind in kinds:
            RULES[kind] = rule
        return rule

    return register


_BINARY: dict[type[Operation], tuple[str, Callable[[Expr, Expr], Expr]]] = {
    relax.AddOp: ("T_add", lambda a, b: a + b),
    relax.SubtractOp: ("T_subtract", lambda a, b: a - b),
    relax.MultiplyOp: ("T_multiply", lambda a, b: a * b),
    relax.DivideOp: ("T_divide", lambda a, b: a / b),
}


@_rule(*_BINARY)
def _binary(
    op: Operation,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    name, function = _BINARY[type(op)]
    lhs, rhs = tensors
    return operators.binary(program, name, lhs, rhs, shape, function)


@_rule(relax.MatmulOp)
def _matmul(
    op: relax.MatmulOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    info = TensorInfo.of(op.result.type)
    assert info is not None
    assert info.dtype is not None
    lhs, rhs = tensors
    return operators.matmul(program, lhs, rhs, shape, info.dtype)


@_rule(relax.PermuteDimsOp)
def _permute_dims(
    op: relax.PermuteDimsOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    rank = len(shape)
    axes = list(reversed(range(rank))) if op.axes is None else _axes(op.axes, rank)
    return operators.permute_dims(program, tensors[0], axes)


@_rule(relax.ReshapeOp)
def _reshape(
    op: relax.ReshapeOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    return operators.reshape(program, tensors[0], shape)


@_rule(relax.ReluOp)
def _relu(
    op: relax.ReluOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    return operators.relu(program, tensors[0])


@_rule(relax.GeluOp)
def _gelu(
    op: relax.GeluOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    return operators.gelu(program, tensors[0])


@_rule(relax.SoftmaxOp)
def _softmax(
    op: relax.SoftmaxOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    return operators.softmax(program, tensors[0], op.axis.value.data % len(shape))


@_rule(relax.LayerNormOp)
def _layer_norm(
    op: relax.LayerNormOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    data, gamma, beta = tensors
    return operators.layer_norm(
        program,
        data,
        None if op.no_scale is not None else gamma,
        None if op.no_center is not None else beta,
        _axes(op.axes, len(shape)),
        op.epsilon.value.data,
    )


@_rule(relax.SumOp, relax.MaxOp, relax.MeanOp)
def _reduction(
    op: relax.SumOp | relax.MaxOp | relax.MeanOp,
    program: TensorProgram,
    tensors: list[Any],
    shape: tuple[Dim, ...],
) -> Tensor:
    (data,) = tensors
    rank = len(data.shape)
    axes = list(range(rank)) if op.axis is None else sorted(_axes(op.axis, rank))
    keepdims = op.keepdims is not None
    if isinstance(op, relax.MeanOp):
        return operators.mean(program, data, axes, keepdims)
    name, reducer = ("sum", SUM) if isinstance(op, relax.SumOp) else ("max", MAX)
    return operators.reduction(program, name, data, axes, keepdims, reducer)


def _axes(axes: DenseArrayBase[I64], rank: int) -> list[int]:
    return [axis % rank for axis in cast(Sequence[int], axes.get_values())]
