"""Matrix products with a transposed right operand read it as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.sharing import may_be_written
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions, call_of
from xdsl_tvm.passes.relax.legalize.linear_algebra import product_stages
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule, RuleContext
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
        of the same types share a function. A permutation without other uses is erased.
        Time is linear in the size of the module. As a pattern:
        `FuseTransposeMatmulPattern`.
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
            pattern = FuseTransposeMatmulPattern(functions, written.__contains__)
            rewrite_each(pattern, products)


class FuseTransposeMatmulPattern(RewritePattern):
    """Turns a product with a transposed matrix into a call that reads it as it is.

    `functions`, `OperatorFunctions(module)`, gets the functions that are called.
    `is_written` says whether memory of a value may be written; without it the uses of
    the value are searched.
    """

    def __init__(
        self,
        functions: OperatorFunctions,
        is_written: Callable[[SSAValue], bool] = may_be_written,
    ) -> None:
        self._functions = functions
        self._is_written = is_written

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: relax.MatmulOp, rewriter: PatternRewriter, /) -> None:
        transposition = op.rhs.owner
        if (
            isinstance(transposition, relax.PermuteDimsOp)
            and not self._is_written(transposition.data)
            and module_of(op) is self._functions.module
        ):
            _fuse(op, transposition, self._functions, rewriter)


def _fuse(
    product: relax.MatmulOp,
    transposition: relax.PermuteDimsOp,
    functions: OperatorFunctions,
    rewriter: PatternRewriter,
) -> None:
    operands = (product.lhs, transposition.data)
    type_ = proven_result_type(product)
    if type_ is None or not _swaps_last(transposition) or not _fits(*operands):
        return
    key = ("NT_matmul",)
    call = call_of(product, functions, _RULE, operands, type_, key, _stages)
    if call is None:
        return
    rewriter.insert(call, InsertPoint.before(product))
    replacement: SSAValue = call.result
    if type_ != product.result.type:
        alias = relax.AliasOp(call.result, product.result.type)
        alias.location = product.location
        rewriter.insert(alias, InsertPoint.before(product))
        replacement = alias.result
    rewriter.replace(product, (), [replacement])
    if not transposition.result.uses:
        rewriter.erase(transposition)


def _stages(site: RuleContext) -> Tensor:
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
