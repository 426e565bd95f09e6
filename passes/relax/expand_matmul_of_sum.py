"""Products with sums become sums of products."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.compile_time import compile_time_values
from xdsl_tvm.passes.relax.rewriting.insertion import (
    BindingBuilder,
    by_function,
    function_around,
)
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class ExpandMatmulOfSum(CompilerPass):
    """Summary: Multiplies by the terms of a sum, not by the sum.

    TVM name: relax.ExpandMatmulOfSum (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %s = relax.add %a, %b : (!w, !w) -> !w
            %r = relax.matmul %x, %s : (!x, !w) -> !y

        after

            %p = relax.matmul %x, %a : (!x, !w) -> !y
            %q = relax.matmul %x, %b : (!x, !w) -> !y
            %r = relax.add %p, %q : (!y, !y) -> !y

        A sum that is transposed for the product becomes two transposed terms. So a term
        that is itself a product, as of a low-rank adaption, can be multiplied in another
        order. Time is linear in the size of the module.
    Leaves alone: sums of two terms that `num_input` says are both known before inputs
        are; terms that are not provably of the shape of their sum; products with
        `out_dtype`; sums with other uses; tensors that something writes in place, or
        that a function literal takes from outside with symbols
    Errors: a `num_input` that is no number of parameters
    Attributes: read: `num_input`; created: none; removed: none
    Differs from TVM: terms that are broadcast stay, whose products are others; so does a
        sum that something else uses
    """

    name = "relax-expand-matmul-of-sum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for products, written in by_function(op, relax.MatmulOp):
            known = compile_time_values(function_around(products[0]), self.name)
            for product in products:
                _expand(product, written, known)


def _expand(op: relax.MatmulOp, written: set[SSAValue], known: set[SSAValue]) -> None:
    value, transposition = op.rhs, None
    if isinstance(value.owner, relax.PermuteDimsOp) and not value.has_more_than_one_use():
        transposition = value.owner
        value = transposition.data
    total = value.owner
    if not isinstance(total, relax.AddOp) or value.has_more_than_one_use():
        return
    if op.out_dtype is not None or known.issuperset(total.operands):
        return
    if not all(_has_shape_of(term, value) for term in total.operands):
        return
    values = (*op.operands, *total.operands, value, op.result)
    if not written.isdisjoint(values) or hide_symbols(values, op):
        return
    builder = BindingBuilder(op)
    products: list[SSAValue] = []
    for term in total.operands:
        if transposition is not None:
            copy = type(transposition).create(
                operands=[term],
                result_types=[transposition.result.type],
                properties=transposition.properties,
            )
            term = builder.insert(copy)
        products.append(builder.insert(relax.MatmulOp(op.lhs, term)))
    first, second = products
    result = builder.insert(relax.AddOp(first, second))
    result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, (), [builder.typed(result, op.result.type)])
    if transposition is not None:
        Rewriter.erase_op(transposition)
    Rewriter.erase_op(total)


def _has_shape_of(term: SSAValue, total: SSAValue) -> bool:
    one, other = TensorInfo.of(term.type), TensorInfo.of(total.type)
    if one is None or other is None or one.shape is None or other.shape is None:
        return False
    return len(one.shape) == len(other.shape) and all(
        provably_equal(a, b) for a, b in zip(one.shape, other.shape, strict=True)
    )
