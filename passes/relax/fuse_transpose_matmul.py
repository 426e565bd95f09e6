"""Matrix products with a transposed right operand read it as it lies."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions, call_of
from xdsl_tvm.passes.relax.legalize.linear_algebra import product_stages
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule, Site
from xdsl_tvm.passes.relax.legalize.signature import proven_result_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import Tensor
from xdsl_tvm.passes.relax.rewriting.call_sites import module_of
from xdsl_tvm.passes.relax.rewriting.insertion import by_function


@dataclass(frozen=True)
class FuseTransposeMatmul(CompilerPass):
    """Summary: Turns products with a matrix that is transposed for them into calls of a
        function that reads the matrix as it is.

    TVM name: relax.FuseTransposeMatmul (v0.20)
    Input form: any
    Output form: the same, with TIR functions `NT_matmul` in iteration-block form
    Options: none
    Rewrites: before

            %t = relax.permute_dims %w axes [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
            %r = relax.matmul %x, %t : … -> tensor<4x6xf32>

        after

            %r = relax.call_tir @NT_matmul(%x, %w) : … -> tensor<4x6xf32>

        where the permutation swaps the last two dimensions and keeps the others. Calls
        of the same types share a function. A permutation without other uses goes. Time
        is linear in the size of the module.
    Leaves alone: other permutations; operands whose shapes or dtypes are not known, or
        whose summed dimensions are not provably equal; matrices that something writes in
        place; operands that a function literal takes from outside with symbols; nested
        modules
    Errors: none
    Attributes: read: none; created: `tir.noalias` on the functions made; removed: none
    Differs from TVM: the function is made at once, without a composite function between,
        which TVM leaves behind
    """

    name = "relax-fuse-transpose-matmul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = OperatorFunctions(op)
        for products, written in by_function(op, relax.MatmulOp):
            for product in products:
                transposition = product.rhs.owner
                if (
                    isinstance(transposition, relax.PermuteDimsOp)
                    and transposition.data not in written
                    and module_of(product) is op
                ):
                    _fuse(product, transposition, functions)


def _fuse(
    product: relax.MatmulOp,
    transposition: relax.PermuteDimsOp,
    functions: OperatorFunctions,
) -> None:
    operands = (product.lhs, transposition.data)
    type_ = proven_result_type(product)
    if type_ is None or not _swaps_last(transposition) or not _fits(*operands):
        return
    key = ("NT_matmul",)
    call = call_of(product, functions, _RULE, operands, type_, key, _stages)
    if call is None:
        return
    Rewriter.insert_op(call, InsertPoint.before(product))
    replacement: SSAValue = call.result
    if type_ != product.result.type:
        alias = relax.AliasOp(call.result, product.result.type)
        alias.location = product.location
        Rewriter.insert_op(alias, InsertPoint.before(product))
        replacement = alias.result
    Rewriter.replace_op(product, (), [replacement])
    if not transposition.result.uses:
        Rewriter.erase_op(transposition)


def _stages(site: Site) -> Tensor:
    return product_stages(site, "NT_matmul", transposed=True)


_RULE = RegisteredRule(lambda op, site: _stages(site), "NT_matmul", (), ())


def _swaps_last(op: relax.PermuteDimsOp) -> bool:
    """Whether a permutation swaps the last two dimensions, and does nothing else."""
    info = TensorInfo.of(op.data.type)
    if info is None or info.rank is None or info.rank < 2:
        return False
    given = range(info.rank)[::-1] if op.axes is None else op.axes.get_values()
    axes = [int(axis) % info.rank for axis in given]
    *batch, row, column = range(info.rank)
    return axes == [*batch, column, row]


def _fits(lhs: SSAValue, rhs: SSAValue) -> bool:
    """Whether rows of both operands are provably as long."""
    a, b = TensorInfo.of(lhs.type), TensorInfo.of(rhs.type)
    if a is None or b is None or not a.shape or not b.shape:
        return False
    return provably_equal(a.shape[-1], b.shape[-1])
