"""Operators that move elements without computing (docs/spec/relax-ops.md §8)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.call_arguments import Insert, as_list, as_value
from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.folders import FoldedTensor, fold_to, has_known_shape
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    common_dtypes,
    expect_shape,
    expect_tensor,
    expect_tensors,
    merged_vdevice,
    normalize_axes,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import (
    integer,
    integers,
    ints_prop,
    number,
    values_of,
)
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    DimLike,
    are_dims,
    ceildiv,
    maximum,
    minimum,
    product,
    provably_different,
    provably_equal,
)
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType

__all__ = [
    "BroadcastToOp",
    "CollapseSumLikeOp",
    "CollapseSumToOp",
    "ConcatOp",
    "ExpandDimsOp",
    "FlattenOp",
    "FlipOp",
    "PermuteDimsOp",
    "RepeatOp",
    "ReshapeOp",
    "SplitOp",
    "SqueezeOp",
    "TileOp",
    "reshape_dims",
]


@irdl_op_definition
class PermuteDimsOp(OperatorOp, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Reorder dimensions: dimension `i` of the result is `axes[i]` of the operand.

    Without `axes` the order is reversed. TVM's `relax.permute_dims`.

    ```mlir
    %r = relax.permute_dims %a axes [0, 2, 1] : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
    ```
    """

    name = "relax.permute_dims"
    SIGNATURE: ClassVar[str] = "x, axes: ints = None"

    data = operand_def()
    axes = opt_prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$data (`axes` $axes^)? attr-dict `:` functional-type(operands, results)"
    )

    @property
    def permutation(self) -> tuple[int, ...] | None:
        """The axes counted from the front; None where the rank is unknown."""
        if self.axes is not None:
            axes = self.axes.get_values()
            return tuple(axis % len(axes) for axis in axes)
        info = TensorInfo.of(self.data.type)
        rank = None if info is None else info.rank
        return None if rank is None else tuple(reversed(range(rank)))

    def fold(self) -> FoldedTensor:
        order = self.permutation
        if order is None:
            return None
        if order == tuple(range(len(order))):
            return fold_to(self.data, self.result)
        inner = self.data.owner
        if not isinstance(inner, PermuteDimsOp) or (first := inner.permutation) is None:
            return None
        if any(first[axis] != position for position, axis in enumerate(order)):
            return None
        return fold_to(inner.data, self.result)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.relax.canonicalization import MergePermutations

        return (MergePermutations(),)

    def __init__(
        self,
        data: SSAValue | Operation,
        axes: Sequence[int] | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"axes": integers(axes)}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's type with its dimensions reordered."""
        info = expect_tensor(self.name, "data", self.data.type)
        if info.dims is None:
            return self.data.type
        rank = len(info.dims)
        if self.axes is None:
            return info.with_dims(reversed(info.dims)).type
        axes = values_of(self.axes)
        if len(axes) != rank:
            raise VerifyException(f"{self.name}: {len(axes)} axes do not fit rank {rank}")
        order = normalize_axes(self.name, axes, rank)
        return info.with_dims(info.dims[axis] for axis in order).type


@irdl_op_definition
class ReshapeOp(OperatorOp, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """The same elements, in row-major order, under another shape.

    The shape is a value, made by `relax.shape`; `reshape_dims` computes it from TVM's 0
    and -1. TVM's `relax.reshape`.

    ```mlir
    %s = relax.shape [32]
    %r = relax.reshape %a, %s : (tensor<4x8xf32>, !relax.shape<[32]>) -> tensor<32xf32>
    ```
    """

    name = "relax.reshape"
    SIGNATURE: ClassVar[str] = "x, shape: shape"

    data = operand_def()
    shape = operand_def()

    assembly_format = "$data `,` $shape attr-dict `:` functional-type(operands, results)"

    def fold(self) -> FoldedTensor:
        if not has_known_shape(self.result):
            return None
        inner = self.data.owner
        source = inner.data if isinstance(inner, ReshapeOp) else self.data
        return fold_to(source, self.result) or fold_to(self.data, self.result)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.relax.canonicalization import MergeReshapes

        return (MergeReshapes(),)

    def __init__(
        self,
        data: SSAValue | Operation,
        shape: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, shape], {}, result_type)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Replaces 0 by the operand's dimension, and -1 by what is left."""
        x, shape = as_value(arguments["x"]), as_list(arguments["shape"])
        if x is not None and shape is not None and are_dims(shape):
            arguments["shape"] = list(reshape_dims(x.type, shape))

    def infer_result_type(self) -> Attribute:
        """A tensor of the given shape, dtype and device as in the operand."""
        info = expect_tensor(self.name, "data", self.data.type)
        target = expect_shape(self.name, "shape", self.shape.type)
        old, new = info.shape, target.known
        if (
            old is not None
            and new is not None
            and provably_different(product(old), product(new))
        ):
            raise VerifyException(
                f"{self.name}: {product(old)} elements cannot be viewed as {product(new)}"
            )
        return info.with_dims(target.values).type


def reshape_dims(data: Attribute, shape: Iterable[DimLike]) -> tuple[Dim, ...]:
    """The dimensions that a reshape's 0 (copied) and -1 (computed) stand for.

    Raises VerifyException for several -1, other negative numbers, and where the
    operand's shape would be needed and is not known.
    """
    op = ReshapeOp.name
    dims = [Dim.of(dim) for dim in shape]
    info = expect_tensor(op, "data", data)
    special = [dim.value for dim in dims if dim.value is not None and dim.value <= 0]
    if any(value < -1 for value in special) or special.count(-1) > 1:
        raise VerifyException(
            f"{op}: a shape holds no negative number but one -1, "
            f"not {', '.join(map(str, dims))}"
        )
    if not special:
        return tuple(dims)
    source = info.shape
    if source is None:
        raise VerifyException(f"{op}: 0 and -1 need the shape of the operand, {data}")
    for index, dim in enumerate(dims):
        if dim.value == 0:
            if index >= len(source):
                raise VerifyException(
                    f"{op}: there is no dimension {index} to copy in {data}"
                )
            dims[index] = source[index]
    if -1 in special:
        hole = next(i for i, dim in enumerate(dims) if dim.value == -1)
        others = product(dims[:hole] + dims[hole + 1 :])
        dims[hole] = product(source) // others
    return tuple(dims)


_ONE = Dim.constant(1)


@irdl_op_definition
class BroadcastToOp(OperatorOp, HasFolderInterface):
    """The elements, repeated along new dimensions and those of extent 1.

    TVM's `relax.broadcast_to`.

    ```mlir
    %s = relax.shape [4, 8]
    %r = relax.broadcast_to %a, %s :
      (tensor<8xf32>, !relax.shape<[4, 8]>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.broadcast_to"
    SIGNATURE: ClassVar[str] = "x, shape: shape"

    data = operand_def()
    shape = operand_def()

    assembly_format = "$data `,` $shape attr-dict `:` functional-type(operands, results)"

    def fold(self) -> FoldedTensor:
        return fold_to(self.data, self.result) if has_known_shape(self.result) else None

    def __init__(
        self,
        data: SSAValue | Operation,
        shape: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, shape], {}, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        target = expect_shape(self.name, "shape", self.shape.type).values
        if info.dims is not None and target is not None:
            self._check(info.dims, target)
        return info.with_dims(target).type

    def _check(self, source: Dims, target: Dims) -> None:
        if len(target) < len(source):
            raise VerifyException(
                f"{self.name}: rank {len(source)} cannot be broadcast to {len(target)}"
            )
        for old, new in zip(source, target[len(target) - len(source) :], strict=True):
            if old is None or new is None or not provably_different(old, 1):
                continue
            if provably_different(old, new):
                raise VerifyException(f"{self.name}: {old} cannot be broadcast to {new}")


@irdl_op_definition
class ConcatOp(OperatorOp):
    """The tensors of a tuple, one after the other along `axis`.

    Without `axis` they must have rank 1. TVM's `relax.concat`.

    ```mlir
    %t = relax.tuple(%a, %b) : tensor<4x8xf32>, tensor<2x8xf32>
    %r = relax.concat %t axis 0 :
      (!relax.tuple<tensor<4x8xf32>, tensor<2x8xf32>>) -> tensor<6x8xf32>
    ```
    """

    name = "relax.concat"
    SIGNATURE: ClassVar[str] = "tensors: tensors, axis: int | None = 0"

    tensors = operand_def()
    axis = opt_prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$tensors (`axis` $axis^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        tensors: SSAValue | Operation,
        axis: int | None = 0,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([tensors], {"axis": integer(axis)}, result_type)

    def infer_result_type(self) -> Attribute:
        infos = expect_tensors(self.name, "tensors", self.tensors.type)
        dtype = common_dtypes(self.name, [info.dtype for info in infos])
        rank = self._rank(infos)
        axis = 0 if self.axis is None else self.axis.value.data
        if self.axis is None and rank not in (None, 1):
            raise VerifyException(f"{self.name}: rank {rank} needs an axis")
        if rank is not None:
            axis = normalize_axis(self.name, axis, rank)
        if len(infos) == 1:
            return infos[0].type
        vdevice = merged_vdevice(info.vdevice for info in infos)
        if rank is None:
            return TensorInfo(None, dtype, vdevice).type
        unknown: Dims = (None,) * rank
        shapes = [unknown if info.dims is None else info.dims for info in infos]
        columns = enumerate(zip(*shapes, strict=True))
        dims = tuple(
            _sum(column) if index == axis else self._same(index, column)
            for index, column in columns
        )
        return TensorInfo(dims, dtype, vdevice).type

    def _rank(self, infos: Sequence[TensorInfo]) -> int | None:
        ranks = {info.rank for info in infos if info.rank is not None}
        if len(ranks) > 1:
            given = " and ".join(map(str, sorted(ranks)))
            raise VerifyException(f"{self.name}: tensors must have one rank, not {given}")
        return next(iter(ranks), None)

    def _same(self, index: int, dims: Dims) -> Dim | None:
        known = [dim for dim in dims if dim is not None]
        for dim in known[1:]:
            if provably_different(known[0], dim):
                raise VerifyException(
                    f"{self.name}: dimension {index} cannot be both {known[0]} and {dim}"
                )
        is_proven = all(provably_equal(known[0], dim) for dim in known[1:])
        return known[0] if len(known) == len(dims) and is_proven else None


def _sum(dims: Dims) -> Dim | None:
    known = [dim for dim in dims if dim is not None]
    return sum(known, Dim.constant(0)) if len(known) == len(dims) else None


@irdl_op_definition
class ExpandDimsOp(OperatorOp):
    """New dimensions of extent 1, at the positions `axis` of the result.

    TVM's `relax.expand_dims`.

    ```mlir
    %r = relax.expand_dims %a axis [0, -1] : (tensor<4xf32>) -> tensor<1x4x1xf32>
    ```
    """

    name = "relax.expand_dims"
    SIGNATURE: ClassVar[str] = "x, axis: ints"

    data = operand_def()
    axis = ints_prop()

    assembly_format = (
        "$data `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: Sequence[int] | int,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"axis": integers(axis)}, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        if info.dims is None:
            return self.data.type
        rank = len(info.dims) + len(self.axis)
        new = normalize_axes(self.name, values_of(self.axis), rank)
        old = iter(info.dims)
        return info.with_dims(_ONE if i in new else next(old) for i in range(rank)).type


@irdl_op_definition
class FlattenOp(UnaryOperatorOp):
    """All elements in row-major order. TVM's `relax.flatten`.

    ```mlir
    %r = relax.flatten %a : (tensor<4x8xf32>) -> tensor<32xf32>
    ```
    """

    name = "relax.flatten"

    def infer_result_type(self) -> Attribute:
        """A tensor of rank 1."""
        info = expect_tensor(self.name, "data", self.data.type)
        if info.rank == 1:
            return self.data.type
        return info.with_dims((_product(info),)).type


def _product(info: TensorInfo) -> Dim | None:
    return None if info.shape is None else product(info.shape)


@irdl_op_definition
class SplitOp(OperatorOp):
    """Parts of a tensor along `axis`, as a tuple.

    With `sections`, so many parts of one extent, the last one shorter where it does not
    divide; a single one is the tensor itself. With `at`, parts that begin at 0 and at
    these indices; without any, the tensor itself. TVM's `relax.split`.

    ```mlir
    %r = relax.split %a sections 2 axis 1 :
      (tensor<4x8xf32>) -> !relax.tuple<tensor<4x4xf32>, tensor<4x4xf32>>
    ```
    """

    name = "relax.split"
    SIGNATURE: ClassVar[str] = "x, indices_or_sections: ints, axis: int = 0"

    data = operand_def()
    sections = opt_prop_def(IntegerAttr.constr(i64))
    indices = opt_prop_def(DenseArrayBase.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data (`sections` $sections^)? (`at` $indices^)? `axis` $axis attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        indices_or_sections: Sequence[int] | int,
        axis: int = 0,
        result_type: Attribute | None = None,
    ) -> None:
        is_number = isinstance(indices_or_sections, int)
        self._make(
            [data],
            {
                "sections": number(indices_or_sections) if is_number else None,
                "indices": None if is_number else integers(indices_or_sections),
                "axis": number(axis),
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        if (self.sections is None) == (self.indices is None):
            raise VerifyException(f"{self.name}: needs either sections or indices")
        axis = self.axis.value.data
        if info.dims is not None:
            axis = normalize_axis(self.name, axis, len(info.dims))
        extent = None if info.dims is None else info.dims[axis]
        if self.indices is not None:
            extents = _cut(extent, values_of(self.indices))
        else:
            extents = self._sections(extent)
        if len(extents) == 1:
            return self.data.type
        return TupleType.of(_with_extent(info, axis, each).type for each in extents)

    def _sections(self, extent: Dim | None) -> Sequence[Dim | None]:
        assert self.sections is not None
        count = self.sections.value.data
        if count <= 0:
            raise VerifyException(f"{self.name}: {count} sections cannot be made")
        if count > _MAX_SECTIONS:
            # Each is a field of the result, which is made to infer its type.
            raise VerifyException(
                f"{self.name}: {count} sections, at most {_MAX_SECTIONS} are made"
            )
        if extent is None:
            return [None] * count
        part = ceildiv(extent, count)
        return [part] * (count - 1) + [extent - part * (count - 1)]


_MAX_SECTIONS = 1 << 14


def _cut(extent: Dim | None, indices: Sequence[int]) -> Sequence[Dim | None]:
    """Extents of the parts between indices, which are clipped to the dimension."""
    if extent is None:
        return [None] * (len(indices) + 1)
    clipped = [minimum(maximum(index, 0), extent) for index in indices]
    borders = [Dim.constant(0), *clipped, extent]
    return [maximum(right - left, 0) for left, right in pairwise(borders)]


def _with_extent(info: TensorInfo, axis: int, extent: Dim | None) -> TensorInfo:
    if info.dims is None:
        return info
    return info.with_dims((*info.dims[:axis], extent, *info.dims[axis + 1 :]))


@irdl_op_definition
class SqueezeOp(OperatorOp):
    """The elements without dimensions of extent 1: those of `axis`, or all.

    Symbolic dimensions of `axis` are taken to be 1. TVM's `relax.squeeze`.

    ```mlir
    %r = relax.squeeze %a axis [0] : (tensor<1x4x1xf32>) -> tensor<4x1xf32>
    ```
    """

    name = "relax.squeeze"
    SIGNATURE: ClassVar[str] = "x, axis: ints = None"

    data = operand_def()
    axis = opt_prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$data (`axis` $axis^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: Sequence[int] | int | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"axis": integers(axis)}, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        if info.dims is None:
            return self.data.type
        if self.axis is None:
            if any(dim is None or dim.value is None for dim in info.dims):
                return replace(info, dims=None).type
            return info.with_dims(dim for dim in info.dims if dim != _ONE).type
        axes = normalize_axes(self.name, values_of(self.axis), len(info.dims))
        for axis in axes:
            dim = info.dims[axis]
            if dim is not None and dim.value not in (None, 1):
                raise VerifyException(
                    f"{self.name}: dimension {axis} has extent {dim}, not 1"
                )
        return info.with_dims(d for i, d in enumerate(info.dims) if i not in axes).type


class CollapseSumOp(OperatorOp, ABC):
    """Sums along what a broadcast from the target's shape would have repeated."""

    data = operand_def()
    collapse_target = operand_def()

    assembly_format = (
        "$data `,` $collapse_target attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        collapse_target: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, collapse_target], {}, result_type)

    @abstractmethod
    def _target(self, info: TensorInfo) -> TensorInfo:
        """The tensor of the target's shape."""

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        target = self._target(info)
        if info.dims is not None and target.dims is not None:
            self._check(info.dims, target.dims)
        return target.type

    def _check(self, source: Dims, target: Dims) -> None:
        """Refuse a target that is not proven to be broadcast to the source."""
        lead = len(source) - len(target)
        if lead < 0:
            raise VerifyException(
                f"{self.name}: rank {len(source)} cannot be collapsed to {len(target)}"
            )
        for old, new in zip(source[lead:], target, strict=True):
            if old is None or new is None or new.value == 1 or provably_equal(old, new):
                continue
            raise VerifyException(f"{self.name}: {old} cannot be collapsed to {new}")


@irdl_op_definition
class CollapseSumLikeOp(CollapseSumOp):
    """The data, summed to the shape of another tensor. TVM's `relax.collapse_sum_like`.

    ```mlir
    %r = relax.collapse_sum_like %a, %b :
      (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
    """

    name = "relax.collapse_sum_like"
    SIGNATURE: ClassVar[str] = "data, collapse_target"

    def _target(self, info: TensorInfo) -> TensorInfo:
        target = expect_tensor(self.name, "collapse_target", self.collapse_target.type)
        return replace(target, dtype=info.dtype)


@irdl_op_definition
class CollapseSumToOp(CollapseSumOp):
    """The data, summed to a shape. TVM's `relax.collapse_sum_to`.

    ```mlir
    %s = relax.shape [8]
    %r = relax.collapse_sum_to %a, %s :
      (tensor<4x8xf32>, !relax.shape<[8]>) -> tensor<8xf32>
    ```
    """

    name = "relax.collapse_sum_to"
    SIGNATURE: ClassVar[str] = "data, shape: shape"

    def _target(self, info: TensorInfo) -> TensorInfo:
        target = self.collapse_target.type
        return info.with_dims(expect_shape(self.name, "collapse_target", target).values)


@irdl_op_definition
class RepeatOp(OperatorOp):
    """Every element `repeats` times in a row, along `axis` or, without it, of all.

    TVM's `relax.repeat`.

    ```mlir
    %r = relax.repeat %a repeats 2 axis 0 : (tensor<4x8xf32>) -> tensor<8x8xf32>
    ```
    """

    name = "relax.repeat"
    SIGNATURE: ClassVar[str] = "data, repeats: int, axis: int = None"

    data = operand_def()
    repeats = prop_def(IntegerAttr.constr(i64))
    axis = opt_prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `repeats` $repeats (`axis` $axis^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        repeats: int,
        axis: int | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {"repeats": number(repeats), "axis": integer(axis)}
        self._make([data], properties, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        count = self.repeats.value.data
        if count < 0:
            raise VerifyException(f"{self.name}: nothing can be repeated {count} times")
        if self.axis is None:
            total = _product(info)
            return info.with_dims((None if total is None else total * count,)).type
        if info.dims is None:
            return self.data.type
        axis = normalize_axis(self.name, self.axis.value.data, len(info.dims))
        dim = info.dims[axis]
        return _with_extent(info, axis, None if dim is None else dim * count).type


@irdl_op_definition
class TileOp(OperatorOp):
    """The whole tensor several times along each dimension, aligned at the right.

    TVM's `relax.tile`.

    ```mlir
    %r = relax.tile %a repeats [2, 1, 3] : (tensor<4x8xf32>) -> tensor<2x4x24xf32>
    ```
    """

    name = "relax.tile"
    SIGNATURE: ClassVar[str] = "data, repeats: ints"

    data = operand_def()
    repeats = ints_prop()

    assembly_format = (
        "$data `repeats` $repeats attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        repeats: Sequence[int] | int,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"repeats": integers(repeats)}, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        counts = values_of(self.repeats)
        if any(count < 0 for count in counts):
            raise VerifyException(
                f"{self.name}: nothing can be repeated {min(counts)} times"
            )
        if info.dims is None:
            return self.data.type
        rank = max(len(counts), len(info.dims))
        dims = (_ONE,) * (rank - len(info.dims)) + info.dims
        times = (1,) * (rank - len(counts)) + counts
        return info.with_dims(
            None if dim is None else dim * count
            for dim, count in zip(dims, times, strict=True)
        ).type


@irdl_op_definition
class FlipOp(OperatorOp):
    """The elements in reverse order along `axis`. TVM's `relax.flip`.

    ```mlir
    %r = relax.flip %a axis 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.flip"
    SIGNATURE: ClassVar[str] = "data, axis: int"

    data = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: int,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"axis": number(axis)}, result_type)

    def infer_result_type(self) -> Attribute:
        info = expect_tensor(self.name, "data", self.data.type)
        if info.dims is not None:
            normalize_axis(self.name, self.axis.value.data, len(info.dims))
        return self.data.type
