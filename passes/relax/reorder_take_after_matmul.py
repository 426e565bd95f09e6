"""Products with rows of a table become rows of a product."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class ReorderTakeAfterMatmul(CompilerPass):
    """Summary: Multiplies by a whole table, and takes from the product what would be
        taken from the table.

    TVM name: relax.ReorderTakeAfterMatmul (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %t = relax.take %w, %i axis 1 : (tensor<8x6xf32>, tensor<3xi64>) -> ...
            %r = relax.matmul %x, %t : ... -> tensor<4x3xf32>

        after

            %p = relax.matmul %x, %w : ... -> tensor<4x6xf32>
            %r = relax.take %p, %i axis 1 : ... -> tensor<4x3xf32>

        where it is the columns of a table of rank 2 or more that are taken. Of a table of
        matrices, one for each batch of `%x`, before

            %t = relax.take %w, %i axis 0 : (tensor<5x8x2xf32>, tensor<3xi64>) -> ...
            %r = relax.matmul %x, %t : (tensor<3x4x8xf32>, tensor<3x8x2xf32>) -> ...

        `%x` is multiplied by all matrices side by side, `tensor<8x10xf32>`, and of what
        `relax.take` takes of the product, `tensor<3x4x3x2xf32>`, a `relax.einsum`
        "ijik->ijk" leaves each batch its own. So a table that is a product itself, as of
        low-rank adaptions, can be multiplied in another order. Time is linear in the size
        of the module.
    Leaves alone: other axes; indices of another rank than 1; operands of unknown rank,
        in the second case of unknown shape; tables with other uses by `relax.take` than
        the product; products with `out_dtype`; tensors that something writes in place, or
        that a function literal takes from outside with symbols
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a table that something else takes from as well, by the same
        operation, stays
    """

    name = "relax-reorder-take-after-matmul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for products, written in by_function(op, relax.MatmulOp):
            for product in products:
                _reorder(product, written)


def _reorder(op: relax.MatmulOp, written: set[SSAValue]) -> None:
    take = op.rhs.owner
    if not isinstance(take, relax.TakeOp) or op.rhs.has_more_than_one_use():
        return
    values = (*op.operands, *take.operands, op.result)
    if op.out_dtype is not None or not written.isdisjoint(values):
        return
    if hide_symbols(values, op):
        return
    table, indices = TensorInfo.of(take.data.type), TensorInfo.of(take.indices.type)
    if table is None or indices is None or indices.rank != 1 or table.rank is None:
        return
    if table.rank < 2 or take.axis is None:
        return
    axis = take.axis.value.data % table.rank
    if axis == table.rank - 1:
        result = _columns(op, take)
    elif axis == 0 and table.rank == 3:
        result = _matrices(op, take)
    else:
        result = None
    if result is None:
        return
    result.name_hint = op.result.name_hint
    value = BindingBuilder(op).typed(result, op.result.type)
    Rewriter.replace_op(op, (), [value])
    Rewriter.erase_op(take)


def _columns(op: relax.MatmulOp, take: relax.TakeOp) -> SSAValue | None:
    info = TensorInfo.of(op.result.type)
    if info is None or info.rank is None:
        return None
    builder = BindingBuilder(op)
    product = builder.insert(relax.MatmulOp(op.lhs, take.data))
    return builder.insert(relax.TakeOp(product, take.indices, info.rank - 1))


def _matrices(op: relax.MatmulOp, take: relax.TakeOp) -> SSAValue | None:
    infos = [TensorInfo.of(each.type) for each in (op.lhs, take.data, take.indices)]
    shapes = [None if info is None else info.shape for info in infos]
    x, table, indices = shapes
    if x is None or table is None or indices is None or len(x) != 3:
        return None
    if not provably_equal(x[0], indices[0]):
        return None
    builder = BindingBuilder(op)
    count, inner, columns = table

    def reshaped(value: SSAValue, *dims: Dim) -> SSAValue:
        shape = builder.insert(relax.ShapeOp(dims))
        return builder.insert(relax.ReshapeOp(value, shape))

    side = builder.insert(relax.PermuteDimsOp(take.data, [1, 0, 2]))
    side = reshaped(side, inner, count * columns)
    product = builder.insert(relax.MatmulOp(op.lhs, side))
    product = reshaped(product, x[0], x[1], count, columns)
    taken = builder.insert(relax.TakeOp(product, take.indices, 2))
    whole = builder.insert(relax.TupleOp([taken]))
    return builder.insert(relax.EinsumOp(whole, "ijik->ijk"))
