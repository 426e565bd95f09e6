"""Which operators read f16: always, where their operands are f16 already, or never.

TVM registers a policy per operator (docs/spec/relax-ops.md §17). What is in no list here
never reads f16 that was f32.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import dtypes, relax
from xdsl_tvm.dialects.relax.pooling import AdaptiveAvgPoolOp, PoolOp

ALWAYS: tuple[type[Operation], ...] = (
    relax.AttentionBiasOp,
    relax.AttentionOp,
    relax.AttentionVarLenOp,
    relax.Conv1DOp,
    relax.Conv2DOp,
    relax.Conv3DOp,
    relax.MatmulOp,
)
"""Operators that read f16 always."""
FOLLOW: tuple[type[Operation], ...] = (
    # Of one operand.
    relax.AbsOp,
    relax.AcosOp,
    relax.AcoshOp,
    relax.AsinOp,
    relax.AsinhOp,
    relax.AtanOp,
    relax.AtanhOp,
    relax.BitwiseNotOp,
    relax.CeilOp,
    relax.CosOp,
    relax.CoshOp,
    relax.ErfOp,
    relax.ExpOp,
    relax.FloorOp,
    relax.GeluOp,
    relax.GeluTanhOp,
    relax.IsFiniteOp,
    relax.IsInfOp,
    relax.IsNanOp,
    relax.LogOp,
    relax.LogicalNotOp,
    relax.NegativeOp,
    relax.ReluOp,
    relax.RoundOp,
    relax.RsqrtOp,
    relax.SeluOp,
    relax.SigmoidOp,
    relax.SignOp,
    relax.SiluOp,
    relax.SinOp,
    relax.SinhOp,
    relax.SqrtOp,
    relax.SquareOp,
    relax.TanOp,
    relax.TanhOp,
    # Of several.
    relax.BinaryOperatorOp,
    relax.EwiseFmaOp,
    # Other dtypes, shapes and orders of elements.
    relax.AstypeOp,
    relax.BroadcastToOp,
    relax.ConcatOp,
    relax.ExpandDimsOp,
    relax.FlattenOp,
    relax.FullLikeOp,
    relax.LayoutTransformOp,
    relax.PermuteDimsOp,
    relax.ReshapeOp,
    relax.SplitOp,
    relax.SqueezeOp,
    relax.StridedSliceOp,
    # Neural networks and images.
    AdaptiveAvgPoolOp,
    relax.DropoutOp,
    relax.GroupNormOp,
    relax.LayerNormOp,
    PoolOp,
    relax.RMSNormOp,
    relax.Resize2DOp,
)
"""Operators that read f16 where all operands are available in it.

`relax.ones`, `relax.full` and others that read no tensor have nothing to follow.
"""
_LARGEST = 65504.0
"""The largest number of f16."""


def is_number_in_range(value: SSAValue) -> bool:
    """Whether a scalar is a number that f16 has, but for rounding."""
    number = value.owner
    return (
        isinstance(number, relax.PrimValueOp)
        and isinstance(number.value, FloatAttr)
        and abs(number.value.value.data) <= _LARGEST
    )


def fits_half(constant: relax.ConstantOp) -> bool:
    """Whether no element of a constant is too large for f16. NaN is none."""
    dense = constant.value
    if not isinstance(dense, DenseIntOrFPElementsAttr):
        return False
    element = dense.get_element_type()
    if not dtypes.is_float(element):
        return True
    array = np.frombuffer(dense.data.data, dtypes.numpy_dtype(element))
    return not bool(np.any(np.abs(array.astype(np.float64)) > _LARGEST))
