"""How operators compute on tensors whose axes are in another order (
docs/spec/relax-ops.md §17).

A rule gets an operator and the layouts that its operands are available in, and says which
layouts the operator can take and what it then gives; None where it takes its operands
only as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.convolution import AnyConvolutionOp, ConvolutionOp
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.nn import AnySoftmaxOp
from xdsl_tvm.dialects.relax.pooling import AdaptiveAvgPoolOp, PoolOp
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.relax._layouts.axis_layouts import AxisLayout

if TYPE_CHECKING:
    from collections.abc import Iterable

Layouts: TypeAlias = "Sequence[AxisLayout | Sequence[AxisLayout] | None]"
"""Per operand its layout; those of the fields of a tuple; None for all others."""
Rule: TypeAlias = "Callable[[Any, Layouts, Sequence[str] | None], Plan | None]"
"""Operator, layouts of its operands, layouts that are wanted of it."""


@dataclass(frozen=True)
class Plan:
    """What an operator accepts and returns."""

    operands: Sequence[AxisLayout | None]
    """The layout of each operand, or of each field of it; None for it as written."""
    results: AxisLayout | Sequence[AxisLayout]
    """The layout of the result, or those of its fields."""
    properties: Mapping[str, Attribute] = field(
        default_factory=dict[str, Attribute], hash=False
    )
    """Properties that change."""
    numbers: Mapping[int, Sequence[int]] = field(
        default_factory=dict[int, Sequence[int]], hash=False
    )
    """Operands that are tuples of other numbers now."""
    is_operand: bool = False
    """Whether the result is the operand: only the layout differs."""


def rule_of(op: Operation) -> Rule | None:
    """The rule of an operator, None if it has none."""
    if isinstance(op, _NOT_ELEMENTWISE):
        return None
    return next((rule for kind, rule in RULES.items() if isinstance(op, kind)), None)


_NOT_ELEMENTWISE = (
    relax.FlattenOp,
    relax.NonzeroOp,
    relax.EnsureZeroOffsetOp,
    relax.HintOnDeviceOp,
    relax.StopLiftParamsOp,
    relax.NoGradOp,
    relax.StartCheckpointOp,
    relax.EndCheckpointOp,
)
"""Operators of one operand whose result is tied to the tensor as written."""


def _numbers(values: Iterable[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, list(values))


def _single(layouts: Layouts) -> AxisLayout:
    first = layouts[0]
    assert isinstance(first, AxisLayout), "a tensor of known rank"
    return first


def _same(op: Operation, layouts: Layouts, wanted: Sequence[str] | None) -> Plan | None:
    layout = _single(layouts)
    type_ = op.results[0].type
    if isinstance(type_, relax.TupleType):
        return Plan([layout], [layout] * len(type_.fields))
    return Plan([layout], layout)


def _clip(op: Operation, layouts: Layouts, wanted: Sequence[str] | None) -> Plan | None:
    layout = _single(layouts)
    return Plan([layout, *[None] * (len(op.operands) - 1)], layout)


def _gathered(
    op: relax.AllGatherOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    # The tensors of the workers follow each other along the first axis in memory.
    return Plan([layout], layout) if layout.position(0) == 0 else None


def _broadcast(
    op: Operation, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    infos = [TensorInfo.of(operand.type) for operand in op.operands]
    rank = max(0 if info is None else info.rank or 0 for info in infos)
    full = [each for each in layouts if isinstance(each, AxisLayout)]
    candidates = [each for each in full if each.rank == rank and not each.is_identity]
    # Blocks first: a tensor in them is expensive to bring back.
    for target in sorted(candidates, key=lambda each: each.is_plain):
        operands = [_aligned(info, target, rank) for info in infos]
        result = TensorInfo.of(op.results[0].type)
        if all(ok for ok, _ in operands) and target.fits(result and result.dims):
            return Plan([layout for _, layout in operands], target)
    return None


def _aligned(
    info: TensorInfo | None, target: AxisLayout, rank: int
) -> tuple[bool, AxisLayout | None]:
    """Whether an operand can follow a layout of more axes, and in which it does."""
    if info is None or info.rank == 0:
        return True, None
    if info.rank is None:
        return False, None
    missing = rank - info.rank
    leading = {axis for axis, _ in target.axes[:missing]}
    if leading != set(range(missing)) or any(size for _, size in target.axes[:missing]):
        return False, None
    layout = target.dropping(range(missing))
    return layout.fits(info.dims), layout


def _reduction(
    op: relax.ReductionOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    rank = layout.rank
    axes = range(rank)
    if op.axis is not None:
        axes = [axis % rank for axis in op.axis.get_values()]
    keeps = op.keepdims is not None
    if keeps and any(axis in layout.blocks for axis in axes):
        return None
    properties: dict[str, Attribute] = {}
    if op.axis is not None:
        places = [i for i, (axis, _) in enumerate(layout.axes) if axis in axes]
        properties["axis"] = _numbers(places)
    elif not layout.is_plain and keeps:
        return None
    return Plan([layout], layout if keeps else layout.dropping(axes), properties)


def _softmax(
    op: AnySoftmaxOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    place = layout.position(op.axis.value.data % layout.rank)
    if place is None:
        return None
    return Plan([layout], layout, {"axis": IntegerAttr(place, i64)})


def _batch_norm(
    op: relax.BatchNormOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    place = layout.position(op.axis.value.data % layout.rank)
    if place is None:
        return None
    vector = AxisLayout.identity(1)
    properties = {"axis": IntegerAttr(place, i64)}
    return Plan([layout, None, None, None, None], [layout, vector, vector], properties)


def _normalization(
    op: relax.LayerNormOp | relax.RMSNormOp | relax.GroupNormOp,
    layouts: Layouts,
    wanted: Sequence[str] | None,
) -> Plan | None:
    layout = _single(layouts)
    axes = [axis % layout.rank for axis in op.axes.get_values()]
    places = layout.positions(axes)
    if places is None:
        return None
    properties: dict[str, Attribute] = {"axes": _numbers(places)}
    if isinstance(op, relax.GroupNormOp):
        place = layout.position(op.channel_axis.value.data % layout.rank)
        if place is None:
            return None
        properties["channel_axis"] = IntegerAttr(place, i64)
    others = [None] * (len(op.operands) - 1)
    return Plan([layout, *others], layout, properties)


def _concat(
    op: relax.ConcatOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    (fields,) = layouts
    if isinstance(fields, AxisLayout) or fields is None or op.axis is None:
        return None
    type_ = op.tensors.type
    assert isinstance(type_, relax.TupleType), "verified"
    infos = [TensorInfo.of(each) for each in type_.fields.data]
    for layout in dict.fromkeys(each for each in fields if not each.is_identity):
        if all(info is not None and layout.fits(info.dims) for info in infos):
            # Whole blocks follow each other as their elements do.
            place = layout.axes.index((op.axis.value.data % layout.rank, 0))
            return Plan([layout], layout, {"axis": IntegerAttr(place, i64)})
    return None


def _split(
    op: relax.SplitOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    place = layout.position(op.axis.value.data % layout.rank)
    if place is None:
        return None
    type_ = op.result.type
    count = len(type_.fields) if isinstance(type_, relax.TupleType) else None
    results = layout if count is None else [layout] * count
    return Plan([layout], results, {"axis": IntegerAttr(place, i64)})


def _expand_dims(
    op: relax.ExpandDimsOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    if not layout.is_plain:
        return None
    rank = layout.rank + len(op.axis)
    new = sorted(axis % rank for axis in op.axis.get_values())
    old = [axis for axis in range(rank) if axis not in new]
    # New axes come first, so that nothing has to move.
    order = (*new, *(old[axis] for axis, _ in layout.axes))
    result = AxisLayout(tuple((axis, 0) for axis in order))
    return Plan([layout], result, {"axis": _numbers(range(len(new)))})


def _squeeze(
    op: relax.SqueezeOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    result = TensorInfo.of(op.result.type)
    info = TensorInfo.of(op.data.type)
    if not layout.is_plain or result is None or info is None or info.dims is None:
        return None
    if op.axis is not None:
        axes = [axis % layout.rank for axis in op.axis.get_values()]
    else:
        if any(dim is None or dim.value is None for dim in info.dims):
            return None
        ones = (dim is not None and dim.value == 1 for dim in info.dims)
        axes = [axis for axis, is_one in enumerate(ones) if is_one]
    places = layout.positions(axes)
    if places is None or result.rank != layout.rank - len(axes):
        return None
    return Plan([layout], layout.dropping(axes), {"axis": _numbers(sorted(places))})


def _permute_dims(
    op: relax.PermuteDimsOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    rank = layout.rank
    axes = list(reversed(range(rank)))
    if op.axes is not None:
        axes = [axis % rank for axis in op.axes.get_values()]
    # The same elements in the same places; only their axes have other numbers.
    moved = tuple((axes.index(axis), size) for axis, size in layout.axes)
    return Plan([layout], AxisLayout(moved), is_operand=True)


def _strided_slice(
    op: relax.StridedSliceOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    layout = _single(layouts)
    type_ = op.axes.type
    if not layout.is_plain or not isinstance(type_, relax.TupleType):
        return None
    axes: list[int] = []
    for each in type_.fields.data:
        if not isinstance(each, relax.PrimType) or each.dim is None:
            return None
        if each.dim.value is None:
            return None
        axes.append(each.dim.value % layout.rank)
    places = layout.positions(axes)
    if places is None:
        return None
    others = [None] * (len(op.operands) - 1)
    return Plan([layout, *others], layout, numbers={1: places})


def _convolution(
    op: AnyConvolutionOp, layouts: Layouts, wanted: Sequence[str] | None
) -> Plan | None:
    if wanted is None or len(wanted) < 2:
        return None
    data_base, kernel_base = op.data_layout.data, op.kernel_layout.data
    out_base = data_base if op.out_layout is None else op.out_layout.data
    bases = (data_base, kernel_base, out_base)
    wanted = (*wanted, wanted[0])[:3]
    found = [_wanted(op, base, text) for base, text in zip(bases, wanted, strict=True)]
    layouts_ = [layout for layout in found if layout is not None]
    if len(layouts_) != 3:
        return None
    values = (op.data, op.weight, op.result)
    for layout, value in zip(layouts_, values, strict=True):
        info = TensorInfo.of(value.type)
        if info is None or not layout.fits(info.dims):
            return None
    names = ("data_layout", "kernel_layout", "out_layout")
    properties: dict[str, Attribute] = {
        name: StringAttr(text) for name, text in zip(names, wanted, strict=True)
    }
    if wanted[2] == wanted[0] and op.out_layout is None:
        del properties["out_layout"]
    return Plan(layouts_[:2], layouts_[2], properties)


def _wanted(op: Operation, base: str, text: str) -> AxisLayout | None:
    """The layout of that text, which VerifyException is raised for if it is none."""
    letters = "".join(sorted(letter for letter in base if letter.isupper()))
    return AxisLayout.between(base, Layout.parse(op.name, text, letters))


def _spatial(
    op: PoolOp | AdaptiveAvgPoolOp | relax.Resize2DOp,
    layouts: Layouts,
    wanted: Sequence[str] | None,
) -> Plan | None:
    """Operators with one layout for operand and result: they follow, or lead."""
    base = op.layout.data
    layout = _single(layouts)
    if wanted:
        own = _wanted(op, base, wanted[0])
        if own is None:
            return None
        layout = own
    other = op.properties.get("out_layout")
    is_simple = base.isupper() and base.isalpha() and other in (None, op.layout)
    if not is_simple or any(base[axis] not in "NC" for axis in layout.blocks):
        return None
    infos = TensorInfo.of(op.data.type), TensorInfo.of(op.result.type)
    if not all(info is not None and layout.fits(info.dims) for info in infos):
        return None
    properties: dict[str, Attribute] = {"layout": StringAttr(layout.text(base))}
    if other is not None:
        properties["out_layout"] = properties["layout"]
    return Plan([layout, *[None] * (len(op.operands) - 1)], layout, properties)


RULES: dict[type[Operation], Rule] = {
    relax.UnaryOperatorOp: _same,
    relax.ClipOp: _clip,
    relax.AstypeOp: _same,
    relax.DropoutOp: _same,
    relax.AllReduceOp: _same,
    relax.BinaryOperatorOp: _broadcast,
    relax.EwiseFmaOp: _broadcast,
    relax.AllGatherOp: _gathered,
    relax.ReductionOp: _reduction,
    AnySoftmaxOp: _softmax,
    relax.BatchNormOp: _batch_norm,
    relax.LayerNormOp: _normalization,
    relax.RMSNormOp: _normalization,
    relax.GroupNormOp: _normalization,
    relax.ConcatOp: _concat,
    relax.SplitOp: _split,
    relax.ExpandDimsOp: _expand_dims,
    relax.SqueezeOp: _squeeze,
    relax.PermuteDimsOp: _permute_dims,
    relax.StridedSliceOp: _strided_slice,
    ConvolutionOp: _convolution,
    PoolOp: _spatial,
    AdaptiveAvgPoolOp: _spatial,
    relax.Resize2DOp: _spatial,
}
"""The rules, by class; those of all classes derived from it."""

_HAVE_LAYOUTS: frozenset[type] = frozenset(
    [ConvolutionOp, PoolOp, AdaptiveAvgPoolOp, relax.Resize2DOp]
)

WITH_LAYOUTS = frozenset(
    op.name for op in relax.Relax.operations if _HAVE_LAYOUTS.intersection(op.__mro__)
)
"""Names of the operators that compute in a layout that is given."""
