"""Operators that mean one thing in training and another in use become simpler ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import ShapeType, TensorInfo, TupleType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import UniqueNames
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, float_dtype
from xdsl_tvm.passes.relax.rewriting.symbols import defined_symbols, hide_symbols


@dataclass(frozen=True)
class DecomposeOpsForInference(CompilerPass):
    """Summary: Writes batch normalization as arithmetic with the moving mean and
        variance, and makes symbols of the shapes that tensors hold.

    TVM name: relax.DecomposeOpsForInference (v0.20)
    Input form: any
    Output form: the same
    Options: `func_name`: the function to work on; all where it is not given (none)
    Rewrites: before

            %r = relax.nn.batch_norm %x, %g, %b, %m, %v axis 1 epsilon 1.0e-05 … :
              (tensor<2x3x4x4xf32>, !v, !v, !v, !v) -> !relax.tuple<…>
            %t = relax.tensor_to_shape %s : (tensor<2xi64>) -> !relax.shape<[?, ?]>

        after, with `%m`, `%v`, `%g` and `%b` as `tensor<3x1x1xf32>`,

            %y = (%x - %m) / relax.sqrt(%v + 1.0e-05) * %g + %b
            %r = relax.tuple(%y, %m, %v)
            %q = relax.tensor_to_shape %s : (tensor<2xi64>) -> !relax.shape<[?, ?]>
            %c = relax.match_cast %q defines [x0, x1] : … -> !relax.shape<[x0, x1]>
            %t = relax.shape [x0, x1]

        with operators in the place of the signs. `no_scale` and `no_center` leave out
        the product or the sum. Time is linear in the size of the module. As patterns:
        `DecomposeBatchNormPattern`, `NameDimensionsPattern`.
    Leaves alone: batch normalization of data of unknown rank, or of tensors that are not
        known to have one float dtype, or that a function literal takes from outside with
        symbols; shapes of unknown rank, and those that are cast already
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: `relax.tensor_to_shape` stays, which lowering knows, where TVM calls
        the runtime's function by name; `epsilon` is a scalar, not a tensor
    """

    name = "relax-decompose-ops-for-inference"

    func_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = GreedyRewritePatternApplier(
            [DecomposeBatchNormPattern(), NameDimensionsPattern(cache(symbol_names))],
            dce_enabled=False,
        )
        for func in op.ops:
            if not isinstance(func, relax.FuncOp):
                continue
            if self.func_name in (None, func.sym_name.data):
                found = [each for each in all_ops(func) if isinstance(each, _DECOMPOSED)]
                rewrite_each(patterns, found)


class DecomposeBatchNormPattern(RewritePattern):
    """Writes a `relax.nn.batch_norm` as arithmetic with the moving mean and variance."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.BatchNormOp, rewriter: PatternRewriter, /
    ) -> None:
        builder = BindingBuilder(op, rewriter)
        normalized = normalized_for_inference(op, builder)
        if normalized is None:
            return
        fields = op.result.type
        assert isinstance(fields, TupleType), "verified"
        values = (normalized, op.moving_mean, op.moving_var)
        typed = [builder.typed(v, t) for v, t in zip(values, fields.fields, strict=True)]
        rewriter.replace(op, (), [builder.insert(relax.TupleOp(typed))])


def symbol_names(func: relax.FuncOp) -> UniqueNames:
    """Names that the symbols of a function leave."""
    return UniqueNames(defined_symbols(func))


class NameDimensionsPattern(RewritePattern):
    """Makes symbols of the shape that a `relax.tensor_to_shape` gives.

    `names` are the names that the symbols of a function leave; without it they are
    found for each operation, since other rewrites change them.
    """

    def __init__(
        self, names: Callable[[relax.FuncOp], UniqueNames] | None = None
    ) -> None:
        self._names = names or symbol_names

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.TensorToShapeOp, rewriter: PatternRewriter, /
    ) -> None:
        inferred = op.infer_result_type()
        if not isinstance(inferred, ShapeType) or inferred.values is None or _is_cast(op):
            return
        names = self._names(_function_of(op))
        symbols = [names.unique("x") for _ in inferred.values]
        builder = BindingBuilder(op, rewriter)
        shape = builder.insert_op(relax.TensorToShapeOp(op.operands[0]))
        builder.insert(relax.MatchCastOp(shape, ShapeType.of(symbols), symbols))
        value = builder.insert(relax.ShapeOp(symbols))
        rewriter.replace(op, (), [builder.typed(value, op.result.type)])


_DECOMPOSED = (relax.BatchNormOp, relax.TensorToShapeOp)


def _function_of(op: Operation) -> relax.FuncOp:
    """The function of the module that an operation is in."""
    parent = op.parent_op()
    while not (
        isinstance(parent, relax.FuncOp) and isinstance(parent.parent_op(), ModuleOp)
    ):
        assert parent is not None, "verified"
        parent = parent.parent_op()
    return parent


def normalized_for_inference(
    op: relax.BatchNormOp, builder: BindingBuilder
) -> SSAValue | None:
    """The normalized data, computed where `builder` inserts; None for unknown types."""
    if not is_decomposable(op):
        return None
    return normalized_by(op, builder, op.moving_mean, op.moving_var)


def is_decomposable(op: relax.BatchNormOp) -> bool:
    """Whether ranks and dtypes are known well enough to write the arithmetic."""
    info = TensorInfo.of(op.data.type)
    if float_dtype(op.operands) is None or info is None or info.rank is None:
        return False
    return not hide_symbols(op.operands, op)


def normalized_by(
    op: relax.BatchNormOp, builder: BindingBuilder, mean: SSAValue, variance: SSAValue
) -> SSAValue:
    """The data normalized by vectors, for a decomposable operation."""
    dtype = float_dtype(op.operands)
    info = TensorInfo.of(op.data.type)
    assert dtype is not None, "decomposable"
    assert info is not None, "decomposable"
    assert info.rank is not None, "decomposable"
    rank, axis = info.rank, op.axis.value.data % info.rank
    mean = builder.along(mean, rank, axis)
    variance = builder.along(variance, rank, axis)
    epsilon = builder.number(op.epsilon.value.data, dtype)
    root = builder.insert(relax.SqrtOp(builder.insert(relax.AddOp(variance, epsilon))))
    value = builder.insert(relax.SubtractOp(op.data, mean))
    value = builder.insert(relax.DivideOp(value, root))
    if op.no_scale is None:
        gamma = builder.along(op.gamma, rank, axis)
        value = builder.insert(relax.MultiplyOp(value, gamma))
    if op.no_center is None:
        beta = builder.along(op.beta, rank, axis)
        value = builder.insert(relax.AddOp(value, beta))
    return value


def _is_cast(op: relax.TensorToShapeOp) -> bool:
    return all(isinstance(use.operation, relax.MatchCastOp) for use in op.result.uses)
