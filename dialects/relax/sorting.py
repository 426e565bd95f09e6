"""Sorting, sampling and sets (docs/spec/relax-ops.md §10)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_dtype,
    expect_float,
    expect_integer,
    expect_integer_prim,
    expect_rank,
    expect_tensor,
    normalize_axis,
)
from xdsl_tvm.dialects.relax.properties import flag
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType

__all__ = [
    "ArgsortOp",
    "MultinomialFromUniformOp",
    "NonzeroOp",
    "SortOp",
    "TopkOp",
    "UniqueOp",
]


def _axis_of(op: str, info: TensorInfo, axis: int) -> int | None:
    """The axis counted from the front, None where the rank is unknown."""
    return None if info.dims is None else normalize_axis(op, axis, len(info.dims))


@irdl_op_definition
class SortOp(OperatorOp):
    """The elements in ascending order along `axis`; equal ones keep their order.

    NaN is greater than all numbers.
    Unlike in TVM, the axis is checked, so a tensor of rank 0 has none.
    TVM's `relax.sort`.

    ```mlir
    %r = relax.sort %a axis -1 descending : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.sort"
    SIGNATURE: ClassVar[str] = "x, axis: int = -1, descending: bool = False"

    data = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)

    assembly_format = (
        "$data `axis` $axis (`descending` $descending^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: int = -1,
        descending: bool = False,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data],
            {"axis": IntegerAttr(axis, i64), "descending": flag(descending)},
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        """The operand's own type."""
        _axis_of(
            self.name,
            expect_tensor(self.name, "data", self.data.type),
            self.axis.value.data,
        )
        return self.data.type


@irdl_op_definition
class ArgsortOp(OperatorOp):
    """Indices along `axis` that sort the elements; those of equal ones ascend.

    `dtype` is that of the indices, the operand's where none is given. Unlike in TVM, the
    axis is checked, so a tensor of rank 0 has none. TVM's `relax.argsort`.

    ```mlir
    %r = relax.argsort %a axis -1 dtype i32 : (tensor<4x8xf32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.argsort"
    SIGNATURE: ClassVar[str] = (
        'data, axis: int = -1, descending: bool = False, dtype: dtype = "int32"'
    )

    data = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    dtype = opt_prop_def()

    assembly_format = (
        "$data `axis` $axis (`descending` $descending^)? (`dtype` $dtype^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axis: int = -1,
        descending: bool = False,
        dtype: Attribute | None = i32,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data],
            {
                "axis": IntegerAttr(axis, i64),
                "descending": flag(descending),
                "dtype": dtype,
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        """The operand's shape with the dtype of the indices."""
        info = expect_tensor(self.name, "data", self.data.type)
        _axis_of(self.name, info, self.axis.value.data)
        if self.dtype is None:
            return self.data.type
        return replace(info, dtype=expect_dtype(self.name, self.dtype)).type


@irdl_op_definition
class TopkOp(OperatorOp):
    """The `k` greatest elements along `axis` in descending order, with `smallest` the
    least in ascending order.

    `ret_type` says whether the result is a tuple of values and indices, `both`, or one
    of them, `values` or `indices`; `dtype` is that of the indices. All elements are
    taken where `k` is less than 1 or exceeds their number; it must not exceed a
    symbolic number. TVM's `relax.topk`, whose `largest=False` is `smallest`.

    ```mlir
    %r = relax.topk %a k 2 axis -1 ret "both" dtype i32 :
      (tensor<4x8xf32>) -> !relax.tuple<tensor<4x2xf32>, tensor<4x2xi32>>
    ```
    """

    name = "relax.topk"
    SIGNATURE: ClassVar[str] = (
        'data, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True,'
        ' dtype: dtype = "int32"'
    )

    data = operand_def()
    k = prop_def(IntegerAttr.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))
    ret_type = prop_def(StringAttr)
    smallest = opt_prop_def(UnitAttr)
    dtype = prop_def()

    assembly_format = (
        "$data `k` $k `axis` $axis `ret` $ret_type (`smallest` $smallest^)?"
        " `dtype` $dtype attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        k: int = 1,
        axis: int = -1,
        ret_type: str = "both",
        largest: bool = True,
        dtype: Attribute = i32,
        result_type: Attribute | None = None,
    ) -> None:
        self._make(
            [data],
            {
                "k": IntegerAttr(k, i64),
                "axis": IntegerAttr(axis, i64),
                "ret_type": StringAttr(ret_type),
                "smallest": flag(not largest),
                "dtype": dtype,
            },
            result_type,
        )

    def infer_result_type(self) -> Attribute:
        """Values and indices with extent `k` along the axis."""
        info = expect_tensor(self.name, "data", self.data.type)
        at = _axis_of(self.name, info, self.axis.value.data)
        if info.dims is not None and at is not None:
            dims = list(info.dims)
            dims[at] = _at_most(dims[at], self.k.value.data)
            info = info.with_dims(dims)
        indices = replace(info, dtype=expect_dtype(self.name, self.dtype))
        match self.ret_type.data:
            case "both":
                return TupleType.of((info.type, indices.type))
            case "values":
                return info.type
            case "indices":
                return indices.type
            case _:
                raise VerifyException(
                    f"{self.name}: ret_type must be both, values or indices, "
                    f"not '{self.ret_type.data}'"
                )


def _at_most(dim: Dim | None, k: int) -> Dim | None:
    if dim is None or k < 1 or (dim.value is not None and dim.value <= k):
        return dim
    return Dim.constant(k)


@irdl_op_definition
class MultinomialFromUniformOp(OperatorOp):
    """Draw from the distributions in the rows of `prob`, one draw per sample.

    Sample i draws from row `sample_indices[i]`, with the random number
    `uniform_sample[i]` of 0 to 1. A row that is out of range is an error.
    TVM's `relax.multinomial_from_uniform`.

    ```mlir
    %r = relax.multinomial_from_uniform %p, %u, %i dtype i64 :
      (tensor<3x8xf32>, tensor<6x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
    ```
    """

    name = "relax.multinomial_from_uniform"
    SIGNATURE: ClassVar[str] = (
        'prob, uniform_sample, sample_indices, dtype: dtype = "int64"'
    )

    prob = operand_def()
    uniform_sample = operand_def()
    sample_indices = operand_def()
    dtype = prop_def()

    assembly_format = (
        "$prob `,` $uniform_sample `,` $sample_indices `dtype` $dtype attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        prob: SSAValue | Operation,
        uniform_sample: SSAValue | Operation,
        sample_indices: SSAValue | Operation,
        dtype: Attribute = i64,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([prob, uniform_sample, sample_indices], {"dtype": dtype}, result_type)

    @classmethod
    def _check_column(cls, name: str, info: TensorInfo) -> None:
        expect_rank(cls.name, name, info, 2)
        width = None if info.dims is None else info.dims[1]
        if width is not None and width.value != 1:
            raise VerifyException(
                f"{cls.name}: operand '{name}' must have one column, not {width}"
            )

    @classmethod
    def _dims(cls, samples: Dims | None, indices: Dims | None) -> Dims | None:
        if samples is None or indices is None:
            return None
        a, b = samples[0], indices[0]
        if a is None or b is None:
            return None, Dim.constant(1)
        if not provably_equal(a, b):
            raise VerifyException(
                f"{cls.name}: {a} samples and {b} indices are not proven to be as many"
            )
        return a, Dim.constant(1)

    def infer_result_type(self) -> Attribute:
        """A column with one draw per sample."""
        rows = expect_tensor(self.name, "prob", self.prob.type)
        samples = expect_tensor(self.name, "uniform_sample", self.uniform_sample.type)
        indices = expect_tensor(self.name, "sample_indices", self.sample_indices.type)
        expect_float(self.name, "prob", rows)
        expect_float(self.name, "uniform_sample", samples)
        expect_integer(self.name, "sample_indices", indices)
        expect_rank(self.name, "prob", rows, 2)
        for name, info in (("uniform_sample", samples), ("sample_indices", indices)):
            self._check_column(name, info)
        dims = self._dims(samples.dims, indices.dims)
        dims = None if rows.dims is None else dims
        return TensorInfo(dims, expect_dtype(self.name, self.dtype), rows.vdevice).type


@irdl_op_definition
class UniqueOp(OperatorOp):
    """The different elements, or slices along `axis`, each one once.

    `sorted` says that they ascend. `return_index` adds where each occurs first,
    `return_inverse` the number that each element has among the different ones,
    `return_counts` how often each occurs; with any of them the result is a tuple. The
    flags are scalars, constant 0 or 1. TVM's `relax.unique`.

    ```mlir
    %0 = relax.prim_value 0 : i64
    %1 = relax.prim_value 1 : i64
    %r = relax.unique %a, %1, %0, %0, %1 :
      (tensor<4x8xf32>, !relax.prim<i64, 1>, !relax.prim<i64, 0>, !relax.prim<i64, 0>,
       !relax.prim<i64, 1>) -> !relax.tuple<tensor<?xf32>, tensor<?xi64>>
    ```
    """

    name = "relax.unique"
    SIGNATURE: ClassVar[str] = (
        "x, sorted: prim = True, return_index: prim = False,"
        " return_inverse: prim = False, return_counts: prim = False, axis: prim = None"
    )

    data = operand_def()
    sorted = operand_def()
    return_index = operand_def()
    return_inverse = operand_def()
    return_counts = operand_def()
    axis = opt_operand_def()

    assembly_format = (
        "$data `,` $sorted `,` $return_index `,` $return_inverse `,` $return_counts"
        " (`,` $axis^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        sorted: SSAValue | Operation,
        return_index: SSAValue | Operation,
        return_inverse: SSAValue | Operation,
        return_counts: SSAValue | Operation,
        axis: SSAValue | Operation | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        flags = (sorted, return_index, return_inverse, return_counts)
        self._make([data, *flags, axis], {}, result_type)

    def _flag(self, name: str, operand: SSAValue) -> bool:
        value = expect_integer_prim(self.name, name, operand.type)
        if value is None or value.value is None:
            raise VerifyException(
                f"{self.name}: operand '{name}' must be a constant, not {operand.type}"
            )
        return value.value != 0

    @classmethod
    def _dims(cls, info: TensorInfo, axis: Attribute | None) -> Dims | None:
        if axis is None:
            return (Dim.constant(1) if info.rank == 0 else None,)
        at = expect_integer_prim(cls.name, "axis", axis)
        if info.dims is None:
            return None
        if at is None or at.value is None:
            return (None,) * len(info.dims)
        index = normalize_axis(cls.name, at.value, len(info.dims))
        return (*info.dims[:index], None, *info.dims[index + 1 :])

    def infer_result_type(self) -> Attribute:
        """The values, and one tensor of i64 for each flag but the first that is set."""
        info = expect_tensor(self.name, "data", self.data.type)
        self._flag("sorted", self.sorted)
        flags = {
            "return_index": self.return_index,
            "return_inverse": self.return_inverse,
            "return_counts": self.return_counts,
        }
        values = [self._flag(name, value) for name, value in flags.items()]
        dims = self._dims(info, None if self.axis is None else self.axis.type)
        extra = TensorInfo((None,), i64, info.vdevice).type
        fields = [info.with_dims(dims).type, *(extra for value in values if value)]
        return fields[0] if len(fields) == 1 else TupleType.of(fields)


@irdl_op_definition
class NonzeroOp(UnaryOperatorOp):
    """Where elements are not zero: one row of indices per axis, one column per element.

    TVM's `relax.nonzero`.

    ```mlir
    %r = relax.nonzero %a : (tensor<4x8xf32>) -> tensor<?x?xi64>
    ```
    """

    name = "relax.nonzero"

    def infer_result_type(self) -> Attribute:
        """A matrix of i64 whose size depends on the elements."""
        info = expect_tensor(self.name, "data", self.data.type)
        return TensorInfo((None, None), i64, info.vdevice).type
