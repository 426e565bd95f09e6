"""Products and sums with constants of channels, as few as they can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function

if TYPE_CHECKING:
    import numpy as np

    Vector: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
    """Numbers of channels, or a single one of all."""

_CHANNELS = 1
_ARITHMETIC = (relax.AddOp, relax.SubtractOp, relax.MultiplyOp, relax.DivideOp)


@dataclass(frozen=True)
class CombineChannelScaling(CompilerPass):
    """Summary: Makes one product and one sum of a batch normalization and of the products
        and sums with constants of channels around it, and multiplies the weight of a
        convolution before them instead of its result.

    TVM name: none (ours)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before, where all but `%x` are constants

            %c = relax.nn.conv2d %x, %w ... layout "NCHW" kernel "OIHW" :
              (...) -> tensor<1x8x4x4xf32>
            %s = relax.add %c, %b : (..., tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
            %n = relax.nn.batch_norm %s, %g, %h, %m, %v axis 1 ... inference : ...
            %y = relax.get_item %n[0] : ... -> tensor<1x8x4x4xf32>

        after, where `%k` and `%t` are constants,

            %c = relax.nn.conv2d %x, %k ... layout "NCHW" kernel "OIHW" :
              (...) -> tensor<1x8x4x4xf32>
            %y = relax.add %c, %t : (..., tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>

        Where there is no such convolution, `%y` is `relax.add` of a `relax.multiply`.
        `relax.add`, `relax.subtract`, `relax.multiply` and `relax.divide` take part, with
        constants along one axis or of one element; after a convolution also without a
        batch normalization, if there is a product. Constants are computed in double
        precision; results differ by rounding, and where a product alone overflows. Time
        is linear in the size of the function and of the weights.
    Leaves alone: products and sums without batch normalization that no convolution is
        before, whose roundings may be meant; batch normalization that is not for
        `inference`, or whose mean or variance is used elsewhere; results with other uses
        in the middle; operands along several axes; convolutions of other layouts, or
        whose weight is no constant; dtypes other than f32; data of unknown rank or
        channels; what something writes in place
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM has relax-fold-batchnorm-to-conv2d alone
    """

    name = "relax-combine-channel-scaling"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found, written in by_function(op, relax.OperatorOp):
            for each in found:
                # What a chain has taken has no parent any more.
                if each.parent is not None:
                    _replace(each, written)


@dataclass(frozen=True)
class _Scaling:
    """Operations that compute `data * scale + shift` with numbers along an axis."""

    data: SSAValue
    ops: tuple[Operation, ...]
    axis: int | None
    """None where both are single numbers."""
    scale: Vector | None
    """None for ones."""
    shift: Vector | None
    """None for zeros."""

    @property
    def result(self) -> SSAValue:
        return self.ops[-1].results[0]

    def then(self, after: _Scaling) -> _Scaling | None:
        """This one and one of its result, if both are along one axis."""
        axes = {each for each in (self.axis, after.axis) if each is not None}
        if len(axes) > 1:
            return None
        import numpy as np

        scale, shift = self.scale, self.shift
        with np.errstate(all="ignore"):
            if after.scale is not None:
                scale = after.scale if scale is None else scale * after.scale
                shift = None if shift is None else shift * after.scale
            if after.shift is not None:
                shift = after.shift if shift is None else shift + after.shift
        ops = *self.ops, *after.ops
        return _Scaling(self.data, ops, next(iter(axes), None), scale, shift)


def _replace(op: Operation, written: set[SSAValue]) -> None:
    """Put a product and a sum in the place of what begins with an operation."""
    found = _scaling_of(op, written)
    if found is None:
        return
    while (longer := _with_next(found, written)) is not None:
        found = longer
    convolution = None if found.scale is None else _convolution(found, written)
    is_normalized = any(isinstance(each, relax.BatchNormOp) for each in found.ops)
    if convolution is None and not is_normalized:
        return
    builder = BindingBuilder(found.ops[-1])
    value = found.data
    if convolution is not None:
        value = _multiplied(builder, convolution, found)
    elif found.scale is not None:
        scale = _tensor(builder, found.scale, found)
        value = builder.insert(relax.MultiplyOp(value, scale))
    if found.shift is not None:
        shift = _tensor(builder, found.shift, found)
        value = builder.insert(relax.AddOp(value, shift))
    value = builder.typed(value, found.result.type)
    value.name_hint = found.result.name_hint
    Rewriter.replace_op(found.ops[-1], [], [value])
    for each in reversed(found.ops[:-1]):
        Rewriter.erase_op(each)
    if convolution is not None:
        Rewriter.erase_op(convolution)


def _with_next(found: _Scaling, written: set[SSAValue]) -> _Scaling | None:
    """A scaling with the one that alone uses its result."""
    uses = tuple(found.result.uses)
    user = uses[0].operation if len(uses) == 1 else None
    if user is None or user.parent is not found.ops[0].parent:
        return None
    after = _scaling_of(user, written)
    if after is None or after.data is not found.result:
        return None
    return found.then(after)


def _multiplied(
    builder: BindingBuilder, op: relax.Conv2DOp, scaling: _Scaling
) -> SSAValue:
    """The result of a convolution with another weight."""
    import numpy as np

    weight = _constant(op.weight)
    assert scaling.scale is not None, "it was asked for before"
    assert weight is not None, "it was asked for before"
    shape = weight.get_shape()
    elements = _elements(weight).reshape(shape[0], -1)
    with np.errstate(all="ignore"):
        elements = elements * scaling.scale[:, None]
        scaled = elements.astype(np.float32).reshape(shape)
    copy = op.clone()
    copy.operands[1] = builder.insert(relax.ConstantOp(dense_of(scaled)))
    return builder.insert(copy)


def _tensor(builder: BindingBuilder, vector: Vector, scaling: _Scaling) -> SSAValue:
    """Numbers along the axis as a tensor that is broadcast to the data."""
    import numpy as np

    shape: tuple[int, ...] = ()
    if vector.size > 1:
        info = TensorInfo.of(scaling.data.type)
        assert info is not None, "its rank is known"
        assert info.rank is not None, "its rank is known"
        assert scaling.axis is not None, "there are several numbers"
        shape = (vector.size, *[1] * (info.rank - scaling.axis - 1))
    with np.errstate(all="ignore"):
        elements = vector.astype(np.float32).reshape(shape)
    return builder.insert(relax.ConstantOp(dense_of(elements)))


def _convolution(found: _Scaling, written: set[SSAValue]) -> relax.Conv2DOp | None:
    """The convolution whose results are the data, if its weight can be multiplied."""
    op = found.data.owner
    if not isinstance(op, relax.Conv2DOp) or op.parent is not found.ops[0].parent:
        return None
    if op.data in written or found.data.has_more_than_one_use():
        return None
    layouts = op.data_layout.data, op.kernel_layout.data
    if layouts != ("NCHW", "OIHW") or op.out_layout is not None:
        return None
    weight = _constant(op.weight)
    if weight is None or 0 in weight.get_shape():
        return None
    return op if found.axis in (None, _CHANNELS) else None


def _scaling_of(op: Operation, written: set[SSAValue]) -> _Scaling | None:
    """What an operation, perhaps with a `relax.get_item` after it, computes; None if it
    is no scaling."""
    found = None
    if isinstance(op, relax.BatchNormOp):
        found = _normalization(op)
    elif isinstance(op, _ARITHMETIC):
        found = _arithmetic(op)
    if found is None or found.result.type != found.data.type:
        return None
    values = (found.data, *(each.results[0] for each in found.ops))
    return found if written.isdisjoint(values) else None


def _normalization(op: relax.BatchNormOp) -> _Scaling | None:
    info = TensorInfo.of(op.data.type)
    uses = tuple(op.result.uses)
    item = uses[0].operation if len(uses) == 1 else None
    if op.inference is None or info is None or info.rank is None:
        return None
    if not isinstance(item, relax.GetItemOp) or item.index.value.data != 0:
        return None
    if item.parent is not op.parent:
        return None
    found = [
        _constant(each) for each in (op.gamma, op.beta, op.moving_mean, op.moving_var)
    ]
    known = [_elements(each) for each in found if each is not None]
    axis = op.axis.value.data % info.rank
    if len(known) != len(found) or not _has_channels(info, axis, known[0]):
        return None
    import numpy as np

    gamma, beta, mean, variance = known
    with np.errstate(all="ignore"):
        scale = 1 / np.sqrt(variance + op.epsilon.value.data)
        if op.no_scale is None:
            scale = gamma * scale
        shift = -mean * scale
    if op.no_center is None:
        shift = beta + shift
    return _Scaling(op.data, (op, item), axis, scale, shift)


def _arithmetic(op: Operation) -> _Scaling | None:
    data, other = op.operands
    if isinstance(data.owner, relax.ConstantOp):
        if isinstance(op, relax.SubtractOp | relax.DivideOp):
            return None
        data, other = other, data
    info = TensorInfo.of(data.type)
    if info is None or info.rank is None or not isinstance(info.dtype, Float32Type):
        return None
    found = _vector(other)
    if found is None:
        return None
    vector, axis, rank = found
    if axis is not None:
        axis += info.rank - rank
        if not _has_channels(info, axis, vector):
            return None
    import numpy as np

    with np.errstate(all="ignore"):
        match op:
            case relax.MultiplyOp():
                return _Scaling(data, (op,), axis, vector, None)
            case relax.DivideOp():
                return _Scaling(data, (op,), axis, 1 / vector, None)
            case relax.SubtractOp():
                return _Scaling(data, (op,), axis, None, -vector)
            case _:
                return _Scaling(data, (op,), axis, None, vector)


def _has_channels(info: TensorInfo, axis: int, vector: Vector) -> bool:
    """Whether a tensor is known to have as many elements along an axis as a vector."""
    dim = None if info.dims is None or axis < 0 else info.dims[axis]
    return dim is not None and dim.value == vector.size


def _vector(value: SSAValue) -> tuple[Vector, int | None, int] | None:
    """The elements of a constant of f32 along its only axis, that axis, and its rank.

    The axis is None where there is one element.
    """
    found = _constant(value)
    if found is None:
        return None
    shape = found.get_shape()
    axes = [axis for axis, extent in enumerate(shape) if extent != 1]
    if len(axes) > 1 or 0 in shape:
        return None
    axis = axes[0] if axes else None
    return _elements(found), axis, len(shape)


def _constant(value: SSAValue) -> DenseIntOrFPElementsAttr | None:
    """The elements of a constant of f32."""
    constant = value.owner
    if not isinstance(constant, relax.ConstantOp):
        return None
    found = constant.value
    if not isinstance(found, DenseIntOrFPElementsAttr):
        return None
    return found if isinstance(found.get_element_type(), Float32Type) else None


def _elements(constant: DenseIntOrFPElementsAttr) -> Vector:
    """All elements in double precision, in a row."""
    import numpy as np

    found = np.frombuffer(constant.data.data, "<f4").astype(np.float64)
    # One element may stand for all.
    count = math.prod(constant.get_shape())
    return found if found.size == count else np.full(count, found[0])
