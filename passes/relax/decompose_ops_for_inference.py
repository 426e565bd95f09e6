"""Operators that mean one thing in training and another in use become simpler ones."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import ShapeType, TensorInfo, TupleType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import UniqueNames
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
        the product or the sum. Time is linear in the size of the module.
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
        for func in op.ops:
            if not isinstance(func, relax.FuncOp):
                continue
            if self.func_name in (None, func.sym_name.data):
                _decompose(func)


def _decompose(func: relax.FuncOp) -> None:
    names: UniqueNames | None = None
    for op in list(func.walk()):
        if isinstance(op, relax.BatchNormOp):
            _decompose_batch_norm(op)
        elif isinstance(op, relax.TensorToShapeOp) and not _is_cast(op):
            names = names or UniqueNames(defined_symbols(func))
            _name_dimensions(op, names)


def _decompose_batch_norm(op: relax.BatchNormOp) -> None:
    normalized = normalized_for_inference(op)
    if normalized is None:
        return
    place = BindingBuilder(op)
    fields = op.result.type
    assert isinstance(fields, TupleType), "verified"
    values = (normalized, op.moving_mean, op.moving_var)
    typed = [place.typed(v, t) for v, t in zip(values, fields.fields, strict=True)]
    Rewriter.replace_op(op, (), [place.insert(relax.TupleOp(typed))])


def normalized_for_inference(op: relax.BatchNormOp) -> SSAValue | None:
    """The normalized data, computed in front of the operator; None for unknown types."""
    dtype = float_dtype(op.operands)
    info = TensorInfo.of(op.data.type)
    if dtype is None or info is None or info.rank is None:
        return None
    if hide_symbols(op.operands, op):
        return None
    rank, axis = info.rank, op.axis.value.data % info.rank
    place = BindingBuilder(op)
    mean = place.along(op.moving_mean, rank, axis)
    variance = place.along(op.moving_var, rank, axis)
    epsilon = place.number(op.epsilon.value.data, dtype)
    root = place.insert(relax.SqrtOp(place.insert(relax.AddOp(variance, epsilon))))
    value = place.insert(relax.SubtractOp(op.data, mean))
    value = place.insert(relax.DivideOp(value, root))
    if op.no_scale is None:
        gamma = place.along(op.gamma, rank, axis)
        value = place.insert(relax.MultiplyOp(value, gamma))
    if op.no_center is None:
        beta = place.along(op.beta, rank, axis)
        value = place.insert(relax.AddOp(value, beta))
    return value


def _is_cast(op: relax.TensorToShapeOp) -> bool:
    return all(isinstance(use.operation, relax.MatchCastOp) for use in op.result.uses)


def _name_dimensions(op: relax.TensorToShapeOp, names: UniqueNames) -> None:
    inferred = op.infer_result_type()
    if not isinstance(inferred, ShapeType) or inferred.values is None:
        return
    symbols = [names.unique("x") for _ in inferred.values]
    place = BindingBuilder(op)
    shape = place.insert_op(relax.TensorToShapeOp(op.operands[0]))
    place.insert(relax.MatchCastOp(shape, ShapeType.of(symbols), symbols))
    value = place.insert(relax.ShapeOp(symbols))
    Rewriter.replace_op(op, (), [place.typed(value, op.result.type)])
