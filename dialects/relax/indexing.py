"""Operators that read a tensor at given places (docs/spec/relax-ops.md §6)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_integer,
    expect_rank,
    expect_tensor,
    normalize_axes,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import flag, integer, number_of
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    ceildiv,
    maximum,
    minimum,
    provably_at_least,
)
from xdsl_tvm.dialects.relax.types import ObjectType, PrimType, TensorInfo, TupleType

__all__ = ["DynamicStridedSliceOp", "StridedSliceOp", "TakeOp"]

_I64_MAX = 2**63 - 1


@irdl_op_definition
class TakeOp(OperatorOp):
    """The slices of `data` along `axis` that `indices`, a tensor or scalar, number.

    Without `axis` the data has rank 1. Indices count from 0; one below 0 or out of range
    is an error, where TVM reads other memory. TVM's `relax.take`.

    ```mlir
    %r = relax.take %a, %i axis 0 : (tensor<100x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.take"
    SIGNATURE: ClassVar[str] = "x, indices, axis: int = None"

    data = operand_def()
    indices = operand_def()
    axis = opt_prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `,` $indices (`axis` $axis^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        indices: SSAValue | Operation,
        axis: int | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, indices], {"axis": integer(axis)}, result_type)

    def infer_result_type(self) -> Attribute:
        """The data's dimensions, the one of `axis` replaced by those of the indices."""
        info = expect_tensor(self.name, "data", self.data.type)
        indices = self.indices.type
        if isinstance(indices, PrimType):
            places = TensorInfo((), indices.dtype)
        else:
            places = expect_tensor(self.name, "indices", indices)
        expect_integer(self.name, "indices", places)
        axis = number_of(self.axis)
        if axis is None and info.rank != 1:
            raise VerifyException(
                f"{self.name}: without an axis the data must have rank 1, "
                f"not {self.data.type}"
            )
        if info.dims is None:
            return self.data.type
        at = normalize_axis(self.name, axis or 0, len(info.dims))
        if places.dims is None:
            return info.with_dims(None).type
        return info.with_dims(info.dims[:at] + places.dims + info.dims[at + 1 :]).type


@irdl_op_definition
class StridedSliceOp(OperatorOp):
    """Every `strides`-th element from `begin` to before `end`, along `axes`.

    The four are tuples of scalars, one per axis. A negative index counts from the end;
    what is outside of the tensor is cut off. A negative stride walks backwards. With
    `assume_inbound` indices are promised to satisfy `0 <= begin <= end <= extent`, or
    the other way around for a negative stride, and are used as they are. Unlike TVM, no
    length is negative, and one is unknown where the sign of an index is.
    TVM's `relax.strided_slice`.

    ```mlir
    %0 = relax.prim_value 0 : i64
    %1 = relax.prim_value 1 : i64
    %axes = relax.tuple(%0) : !relax.prim<i64, 0>
    %begin = relax.tuple(%1) : !relax.prim<i64, 1>
    %3 = relax.prim_value 3 : i64
    %end = relax.tuple(%3) : !relax.prim<i64, 3>
    %r = relax.strided_slice %a, %axes, %begin, %end :
      (tensor<4x8xf32>, !relax.tuple<!relax.prim<i64, 0>>,
       !relax.tuple<!relax.prim<i64, 1>>, !relax.tuple<!relax.prim<i64, 3>>)
      -> tensor<2x8xf32>
    ```
    """

    name = "relax.strided_slice"
    SIGNATURE: ClassVar[str] = (
        "x, axes: prims, begin: prims, end: prims, strides: prims = None,"
        " assume_inbound: bool = False"
    )

    data = operand_def()
    axes = operand_def()
    begin = operand_def()
    end = operand_def()
    strides = opt_operand_def()
    assume_inbound = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `,` $axes `,` $begin `,` $end (`,` $strides^)?"
        " (`assume_inbound` $assume_inbound^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axes: SSAValue | Operation,
        begin: SSAValue | Operation,
        end: SSAValue | Operation,
        strides: SSAValue | Operation | None = None,
        assume_inbound: bool = False,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data, axes, begin, end, strides],
            {"assume_inbound": flag(assume_inbound)},
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        """The operand's type, shorter along the axes.

        A dimension is unknown where an index, its sign or the stride is.
        """
        info = expect_tensor(self.name, "data", self.data.type)
        lists = {"axes": self.axes.type, "begin": self.begin.type, "end": self.end.type}
        if self.strides is not None:
            lists["strides"] = self.strides.type
        values = {name: _scalars(self.name, name, type_) for name, type_ in lists.items()}
        _check_lengths(self.name, values)
        if info.dims is None:
            return self.data.type
        numbers = _constants(values["axes"])
        if numbers is None:
            return info.with_dims((None,) * len(info.dims)).type
        dims = list(info.dims)
        for index, axis in enumerate(normalize_axes(self.name, numbers, len(dims))):
            start, stop = _at(values["begin"], index), _at(values["end"], index)
            step = Dim.constant(1)
            if self.strides is not None:
                step = _at(values["strides"], index)
            if step is not None and step.value == 0:
                raise VerifyException(f"{self.name}: a stride must not be 0")
            dims[axis] = (
                _inbound_length(start, stop, step)
                if self.assume_inbound is not None
                else _sliced_length(dims[axis], start, stop, step)
            )
        return info.with_dims(dims).type


def _scalars(op: str, name: str, type_: Attribute) -> Dims | None:
    """Values of a tuple of i64 scalars, None where the tuple is any object."""
    if isinstance(type_, ObjectType):
        return None
    fields = type_.fields.data if isinstance(type_, TupleType) else None
    if fields is None or not all(
        isinstance(f, ObjectType) or (isinstance(f, PrimType) and f.dtype == i64)
        for f in fields
    ):
        raise VerifyException(
            f"{op}: operand '{name}' must be a tuple of !relax.prim<i64>, not {type_}"
        )
    return tuple(f.dim if isinstance(f, PrimType) else None for f in fields)


def _check_lengths(op: str, values: dict[str, Dims | None]) -> None:
    lengths = {name: len(v) for name, v in values.items() if v is not None}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise VerifyException(f"{op}: the tuples must have one length, not {given}")


def _constants(values: Dims | None) -> list[int] | None:
    """The numbers, None where one of them is not constant."""
    if values is None:
        return None
    numbers = [None if dim is None else dim.value for dim in values]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else None


def _at(values: Dims | None, index: int) -> Dim | None:
    return None if values is None else values[index]


def _inbound_length(begin: Dim | None, end: Dim | None, step: Dim | None) -> Dim | None:
    if begin is None or end is None or step is None:
        return None
    if provably_at_least(step, 0):
        return ceildiv(end - begin, step)
    return ceildiv(begin - end, -step) if provably_at_least(-step, 0) else None


def _sliced_length(
    extent: Dim | None, begin: Dim | None, end: Dim | None, step: Dim | None
) -> Dim | None:
    """Number of elements that a slice takes of `extent`."""
    if extent is None or begin is None or end is None or step is None:
        return None
    if provably_at_least(step, 0):
        distance = _forward(extent, begin, end)
    elif provably_at_least(-step, 0):
        distance, step = _backward(extent, begin, end), -step
    else:
        return None
    return None if distance is None else ceildiv(maximum(distance, 0), step)


def first_index(extent: Dim, begin: Dim, step: Dim) -> Dim:
    """The first element of a slice that is not empty and may count from the end.

    The length of the slice is known: the signs of `begin` and `step` are.
    """
    start = _from_front(begin, extent)
    assert start is not None
    if provably_at_least(step, 0):
        return maximum(start, 0)
    return minimum(start, extent - 1)


def _from_front(index: Dim, extent: Dim) -> Dim | None:
    """The index counted from the front, None where its sign is not known."""
    if index.value is not None and abs(index.value) >= _I64_MAX:
        # No extent is greater: this means the end, or before the start.
        return extent if index.value > 0 else Dim.constant(-1)
    if provably_at_least(index, 0):
        return index
    return extent + index if provably_at_least(-1, index) else None


def _forward(extent: Dim, begin: Dim, end: Dim) -> Dim | None:
    """Distance from `max(begin, 0)` to `min(end, extent)`, 0 or less where empty."""
    start, stop = _from_front(begin, extent), _from_front(end, extent)
    if start is None or stop is None:
        return None
    stop = minimum(stop, extent)
    if provably_at_least(start, 0):
        return stop - start
    return minimum(stop - start, stop)


def _backward(extent: Dim, begin: Dim, end: Dim) -> Dim | None:
    """Distance down from `min(begin, extent - 1)` to `max(end, -1)`."""
    start, stop = _from_front(begin, extent), _from_front(end, extent)
    if start is None or stop is None:
        return None
    start = minimum(start, extent - 1)
    if provably_at_least(stop, -1):
        return start - stop
    return minimum(start - stop, start + 1)


@irdl_op_definition
class DynamicStridedSliceOp(OperatorOp):
    """A slice along all axes, its bounds computed at run time.

    Begin, end and strides are tensors of rank 1 with one i64 per axis; they are read as
    `relax.strided_slice` reads its tuples. A stride of 0 is an error.
    TVM's `relax.dynamic_strided_slice`.

    ```mlir
    %r = relax.dynamic_strided_slice %a, %begin, %end, %strides :
      (tensor<4x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    ```
    """

    name = "relax.dynamic_strided_slice"
    SIGNATURE: ClassVar[str] = "x, begin, end, strides"

    data = operand_def()
    begin = operand_def()
    end = operand_def()
    strides = operand_def()

    assembly_format = (
        "$data `,` $begin `,` $end `,` $strides attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        begin: SSAValue | Operation,
        end: SSAValue | Operation,
        strides: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, begin, end, strides], {}, result_type)

    @classmethod
    def _length(cls, name: str, type_: Attribute) -> int:
        info = expect_tensor(cls.name, name, type_)
        expect_rank(cls.name, name, info, 1)
        length = None if info.dims is None else info.dims[0]
        if info.dtype not in (None, i64) or length is None or length.value is None:
            raise VerifyException(
                f"{cls.name}: operand '{name}' must be a tensor of i64 of known length, "
                f"not {type_}"
            )
        return length.value

    def infer_result_type(self) -> Attribute:
        """A tensor of the operand's rank, no dimension known."""
        info = expect_tensor(self.name, "data", self.data.type)
        rank = info.rank
        bounds = {"begin": self.begin, "end": self.end, "strides": self.strides}
        for name, operand in bounds.items():
            length = self._length(name, operand.type)
            rank = length if rank is None else rank
            if length != rank:
                raise VerifyException(
                    f"{self.name}: operand '{name}' must have length {rank}, one per "
                    f"axis, not {length}"
                )
        return info.with_dims((None,) * (rank or 0)).type
