"""Rearrangement of a tensor's elements by an index map (docs/spec/relax-ops.md §8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, FloatAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.call_arguments import Insert, as_value
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    common_dtype,
    expect_prim,
    expect_rank,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.properties import integers
from xdsl_tvm.dialects.relax.symbolic import Dim, ceildiv, provably_at_least
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.relax.values import PrimValueOp
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr

__all__ = ["LayoutTransformOp"]


@irdl_op_definition
class LayoutTransformOp(OperatorOp):
    """The elements at the indices that a map gives; `pad` where it gives none.

    The separators say before which axes of the operand and of the result the memory's
    own axes begin. TVM's `relax.layout_transform`.

    ```mlir
    %r = relax.layout_transform %a
      map <(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)> :
      (tensor<2x8xf32>) -> tensor<2x2x4xf32>
    ```
    """

    name = "relax.layout_transform"
    SIGNATURE: ClassVar[str] = (
        "x, index_map: map, pad_value: prim = None, axis_separators: ints = (),"
        " input_axis_separators: ints = ()"
    )

    data = operand_def()
    pad_value = opt_operand_def()
    index_map = prop_def(IndexMapAttr)
    axis_separators = opt_prop_def(DenseArrayBase.constr(i64))
    input_axis_separators = opt_prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$data (`pad` $pad_value^)? `map` $index_map (`separators` $axis_separators^)?"
        " (`input_separators` $input_axis_separators^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        index_map: IndexMapAttr,
        pad_value: SSAValue | Operation | None = None,
        axis_separators: Sequence[int] = (),
        input_axis_separators: Sequence[int] = (),
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "index_map": index_map,
            "axis_separators": integers(axis_separators or None),
            "input_axis_separators": integers(input_axis_separators or None),
        }
        self._make([data, pad_value], properties, result_type)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Replaces a number to pad with by a scalar of the tensor's dtype."""
        x, pad = as_value(arguments["x"]), arguments["pad_value"]
        info = None if x is None else TensorInfo.of(x.type)
        dtype = None if info is None else info.dtype
        if dtype is None or not isinstance(pad, int | float):
            return
        if isinstance(dtype, AnyFloat):
            arguments["pad_value"] = insert(PrimValueOp(FloatAttr(float(pad), dtype)))
        elif isinstance(pad, int):
            arguments["pad_value"] = insert(PrimValueOp(int(pad), dtype))

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        if self.pad_value is not None:
            pad = expect_prim(self.name, "pad_value", self.pad_value.type)
            common_dtype(self.name, info.dtype, pad.dtype)
        forward = self.index_map.map.data
        expect_rank(self.name, "data", info, forward.num_dims)
        if info.dims is None:
            return info.with_dims(None for _ in forward.results).type
        last = [None if dim is None else dim - 1 for dim in info.dims]
        return info.with_dims(self._extent(each, last) for each in forward.results).type

    def _extent(self, expr: AffineExpr, last: Sequence[Dim | None]) -> Dim | None:
        interval = _interval(expr, last)
        if interval is None:
            return None
        if provably_at_least(-1, interval[0]):
            raise VerifyException(f"{self.name}: {self.index_map} gives negative indices")
        return interval[1] + 1


def _interval(expr: AffineExpr, last: Sequence[Dim | None]) -> tuple[Dim, Dim] | None:
    """Least and greatest value, the indices running from 0 to `last`.

    None where it is not known. Exact as long as an index occurs once.
    """
    if isinstance(expr, AffineConstantExpr):
        return Dim.constant(expr.value), Dim.constant(expr.value)
    if isinstance(expr, AffineDimExpr):
        end = last[expr.position]
        return None if end is None else (Dim.constant(0), end)
    if not isinstance(expr, AffineBinaryOpExpr):
        return None
    lhs, rhs = _interval(expr.lhs, last), _interval(expr.rhs, last)
    if expr.kind == AffineBinaryOpKind.Mod:
        return _modulo(lhs, rhs)
    if lhs is None or rhs is None:
        return None
    if expr.kind == AffineBinaryOpKind.Add:
        return lhs[0] + rhs[0], lhs[1] + rhs[1]
    factor = rhs[0].value
    if factor is None or rhs[0] != rhs[1] or factor == 0:
        return None
    if expr.kind == AffineBinaryOpKind.Mul:
        ends = lhs[0] * factor, lhs[1] * factor
        return ends if factor > 0 else (ends[1], ends[0])
    if factor < 0:
        return None
    if expr.kind == AffineBinaryOpKind.FloorDiv:
        return lhs[0] // factor, lhs[1] // factor
    return ceildiv(lhs[0], factor), ceildiv(lhs[1], factor)


def _modulo(
    lhs: tuple[Dim, Dim] | None, rhs: tuple[Dim, Dim] | None
) -> tuple[Dim, Dim] | None:
    if rhs is None or rhs[0] != rhs[1] or not provably_at_least(rhs[0], 1):
        return None
    is_below = (
        lhs is not None
        and provably_at_least(lhs[0], 0)
        and provably_at_least(rhs[0] - 1, lhs[1])
    )
    return lhs if is_below else (Dim.constant(0), rhs[0] - 1)
