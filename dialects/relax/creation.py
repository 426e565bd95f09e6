"""Operators that make tensors (docs/spec/relax-ops.md §4)."""

from __future__ import annotations

import struct
from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerType, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.call_arguments import Insert
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_dtype,
    expect_integer_prim,
    expect_prim,
    expect_rank,
    expect_scalar_tensor,
    expect_shape,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    ceildiv,
    maximum,
    provably_at_least,
)
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.relax.values import PrimValueOp

__all__ = [
    "ArangeOp",
    "EyeLikeOp",
    "EyeOp",
    "FilledLikeOp",
    "FilledOp",
    "FullLikeOp",
    "FullOp",
    "OnesLikeOp",
    "OnesOp",
    "TriangleOp",
    "TrilOp",
    "TriuOp",
    "ZerosLikeOp",
    "ZerosOp",
]


def _with_dtype(op: str, info: TensorInfo, dtype: Attribute | None) -> TensorInfo:
    """The tensor with another dtype, where one is given."""
    return info if dtype is None else replace(info, dtype=expect_dtype(op, dtype))


@irdl_op_definition
class FullOp(OperatorOp):
    """A tensor of a given shape, every element the one of `fill_value`.

    The dtype is that of `fill_value` where none is given. TVM's `relax.full`.

    ```mlir
    %s = relax.shape [4, 8]
    %r = relax.full %s, %v dtype f16 :
      (!relax.shape<[4, 8]>, tensor<f32>) -> tensor<4x8xf16>
    ```
    """

    name = "relax.full"
    SIGNATURE: ClassVar[str] = "shape: shape, fill_value, dtype: dtype = None"

    shape = operand_def()
    fill_value = operand_def()
    dtype = opt_prop_def()

    assembly_format = (
        "$shape `,` $fill_value (`dtype` $dtype^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        shape: SSAValue | Operation,
        fill_value: SSAValue | Operation,
        dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([shape, fill_value], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """A tensor of the given shape, on the device of the fill value."""
        dims = expect_shape(self.name, "shape", self.shape.type).values
        fill = expect_scalar_tensor(self.name, "fill_value", self.fill_value.type)
        return _with_dtype(self.name, replace(fill, dims=dims), self.dtype).type


@irdl_op_definition
class FullLikeOp(OperatorOp):
    """A tensor shaped like `data`, every element the one of `fill_value`.

    The dtype is that of `data` where none is given. TVM's `relax.full_like`.

    ```mlir
    %r = relax.full_like %a, %v : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.full_like"
    SIGNATURE: ClassVar[str] = "x, fill_value, dtype: dtype = None"

    data = operand_def()
    fill_value = operand_def()
    dtype = opt_prop_def()

    assembly_format = (
        "$data `,` $fill_value (`dtype` $dtype^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        fill_value: SSAValue | Operation,
        dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, fill_value], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """The type of `data`, its dtype replaced where one is given."""
        info = expect_tensor(self.name, "data", self.data.type)
        expect_scalar_tensor(self.name, "fill_value", self.fill_value.type)
        return _with_dtype(self.name, info, self.dtype).type


class FilledOp(OperatorOp, ABC):
    """A tensor of a given shape and dtype, all elements the same number."""

    SIGNATURE: ClassVar[str] = "shape: shape, dtype: dtype"

    shape = operand_def()
    dtype = prop_def()

    assembly_format = (
        "$shape `dtype` $dtype attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        shape: SSAValue | Operation,
        dtype: Attribute,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([shape], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """A tensor of the given shape and dtype."""
        dims = expect_shape(self.name, "shape", self.shape.type).values
        return TensorInfo(dims, expect_dtype(self.name, self.dtype)).type


@irdl_op_definition
class OnesOp(FilledOp):
    """A tensor of ones. TVM's `relax.ones`.

    ```mlir
    %s = relax.shape [4, 8]
    %r = relax.ones %s dtype f32 : (!relax.shape<[4, 8]>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.ones"


@irdl_op_definition
class ZerosOp(FilledOp):
    """A tensor of zeros. TVM's `relax.zeros`.

    ```mlir
    %s = relax.shape [4, 8]
    %r = relax.zeros %s dtype i32 : (!relax.shape<[4, 8]>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.zeros"


class FilledLikeOp(OperatorOp, ABC):
    """A tensor shaped like another one, all elements the same number."""

    SIGNATURE: ClassVar[str] = "x, dtype: dtype = None"

    data = operand_def()
    dtype = opt_prop_def()

    assembly_format = (
        "$data (`dtype` $dtype^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's type, its dtype replaced where one is given."""
        info = expect_tensor(self.name, "data", self.data.type)
        return _with_dtype(self.name, info, self.dtype).type


@irdl_op_definition
class OnesLikeOp(FilledLikeOp):
    """Ones, as many as the operand has elements. TVM's `relax.ones_like`.

    ```mlir
    %r = relax.ones_like %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.ones_like"


@irdl_op_definition
class ZerosLikeOp(FilledLikeOp):
    """Zeros, as many as the operand has elements. TVM's `relax.zeros_like`.

    ```mlir
    %r = relax.zeros_like %a dtype i32 : (tensor<4x8xf32>) -> tensor<4x8xi32>
    ```
    """

    name = "relax.zeros_like"


@irdl_op_definition
class EyeOp(OperatorOp):
    """A matrix of `n` rows and `m` columns with ones on diagonal `k`, zeros elsewhere.

    Diagonal 0 is the main one, positive ones are above it. TVM's `relax.eye`.

    ```mlir
    %n = relax.prim_value 4 : i64
    %k = relax.prim_value 0 : i64
    %r = relax.eye %n, %n, %k dtype f32 :
      (!relax.prim<i64, 4>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> tensor<4x4xf32>
    ```
    """

    name = "relax.eye"
    SIGNATURE: ClassVar[str] = (
        'n: prim, m: prim = None, k: prim = 0, dtype: dtype = "float32"'
    )

    n = operand_def()
    m = operand_def()
    k = operand_def()
    dtype = prop_def()

    assembly_format = (
        "$n `,` $m `,` $k `dtype` $dtype attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        n: SSAValue | Operation,
        m: SSAValue | Operation,
        k: SSAValue | Operation,
        dtype: Attribute = f32,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([n, m, k], {"dtype": dtype}, result_type)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Uses the number of rows for that of the columns where none is given."""
        if arguments["m"] is None:
            arguments["m"] = arguments["n"]

    def infer_result_type(self) -> Attribute:
        """A matrix with as many rows and columns as the scalars say."""
        rows = expect_integer_prim(self.name, "n", self.n.type)
        columns = expect_integer_prim(self.name, "m", self.m.type)
        expect_integer_prim(self.name, "k", self.k.type)
        return TensorInfo((rows, columns), expect_dtype(self.name, self.dtype)).type


@irdl_op_definition
class EyeLikeOp(OperatorOp):
    """A matrix shaped like `data` with ones on diagonal `k`, zeros elsewhere.

    The dtype is that of `data` where none is given. TVM's `relax.eye_like`.

    ```mlir
    %k = relax.prim_value 1 : i64
    %r = relax.eye_like %a, %k : (tensor<4x8xf32>, !relax.prim<i64, 1>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.eye_like"
    SIGNATURE: ClassVar[str] = "x, k: prim = 0, dtype: dtype = None"

    data = operand_def()
    k = operand_def()
    dtype = opt_prop_def()

    assembly_format = (
        "$data `,` $k (`dtype` $dtype^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        k: SSAValue | Operation,
        dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, k], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """A matrix of the operand's shape."""
        info = expect_tensor(self.name, "data", self.data.type)
        expect_rank(self.name, "data", info, 2)
        expect_integer_prim(self.name, "k", self.k.type)
        matrix = info.with_dims((None, None) if info.dims is None else info.dims)
        return _with_dtype(self.name, matrix, self.dtype).type


@irdl_op_definition
class ArangeOp(OperatorOp):
    """The numbers from `start` to before `end`, `step` apart. TVM's `relax.arange`.

    Unlike TVM, a negative step counts down to `end`, and a range that ends before its
    start is empty.

    ```mlir
    %start = relax.prim_value 0 : i64
    %end = relax.prim_value 8 : i64
    %step = relax.prim_value 2 : i64
    %r = relax.arange %start, %end, %step dtype i64 :
      (!relax.prim<i64, 0>, !relax.prim<i64, 8>, !relax.prim<i64, 2>) -> tensor<4xi64>
    ```
    """

    name = "relax.arange"
    SIGNATURE: ClassVar[str] = (
        "start: prim, end: prim = None, step: prim = 1, dtype: dtype = None"
    )

    start = operand_def()
    end = operand_def()
    step = operand_def()
    dtype = prop_def()

    assembly_format = (
        "$start `,` $end `,` $step `dtype` $dtype attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        start: SSAValue | Operation,
        end: SSAValue | Operation,
        step: SSAValue | Operation,
        dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        values = [SSAValue.get(v) for v in (start, end, step)]
        dtype = dtype or self.default_dtype([v.type for v in values])
        self._make(values, {"dtype": dtype}, result_type)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Starts at 0 where one bound is given, as in `arange(n)`."""
        if arguments["end"] is None:
            arguments["start"], arguments["end"] = 0, arguments["start"]

    @staticmethod
    def default_dtype(bounds: Sequence[Attribute]) -> Attribute:
        """i64 where all of start, end and step are integers, else f32."""
        prims = [expect_prim(ArangeOp.name, "start, end, step", b) for b in bounds]
        return i64 if all(isinstance(p.dtype, IntegerType) for p in prims) else f32

    def infer_result_type(self) -> Attribute:
        """A tensor of rank 1.

        Its length is known where start, end and step are: those of integers by their
        types, those of floats where constants define them.
        """
        prims = [
            expect_prim(self.name, name, operand.type)
            for name, operand in zip(("start", "end", "step"), self.operands, strict=True)
        ]
        numbers = _numbers(self.operands)
        expect_dtype(self.name, self.dtype)
        if prims[2].dim == Dim.constant(0) or numbers[2] == 0:
            raise VerifyException(f"{self.name}: the step must not be 0")
        if all(isinstance(prim.dtype, IntegerType) for prim in prims):
            length = _integer_length(*(prim.dim for prim in prims))
        else:
            length = _float_length(*numbers)
        return TensorInfo((length,), self.dtype).type


class TriangleOp(OperatorOp, ABC):
    """A triangle of the last two dimensions, zeros in place of the rest."""

    SIGNATURE: ClassVar[str] = "x, k: prim = 0"

    data = operand_def()
    k = operand_def()

    assembly_format = "$data `,` $k attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: SSAValue | Operation,
        k: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data, k], {}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's own type."""
        info = expect_tensor(self.name, "data", self.data.type)
        expect_integer_prim(self.name, "k", self.k.type)
        if info.rank is not None and info.rank < 2:
            raise VerifyException(
                f"{self.name}: operand 'data' must have rank 2 or more, not {info.rank}"
            )
        return self.data.type


@irdl_op_definition
class TrilOp(TriangleOp):
    """The elements on and below diagonal `k`, zeros above. TVM's `relax.tril`.

    ```mlir
    %k = relax.prim_value 0 : i64
    %r = relax.tril %a, %k : (tensor<4x8xf32>, !relax.prim<i64, 0>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.tril"


@irdl_op_definition
class TriuOp(TriangleOp):
    """The elements on and above diagonal `k`, zeros below. TVM's `relax.triu`.

    ```mlir
    %k = relax.prim_value -1 : i64
    %r = relax.triu %a, %k : (tensor<4x8xf32>, !relax.prim<i64, -1>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.triu"


def _integer_length(start: Dim | None, end: Dim | None, step: Dim | None) -> Dim | None:
    if start is None or end is None or step is None:
        return None
    if provably_at_least(step, 0):
        return maximum(ceildiv(end - start, step), 0)
    if provably_at_least(-step, 0):
        return maximum(ceildiv(start - end, -step), 0)
    return None


def _single(value: float) -> float:
    """The nearest number in single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


def _float_length(
    start: float | None, end: float | None, step: float | None
) -> Dim | None:
    """In single precision, as TVM computes it; None for what that cannot hold."""
    if start is None or end is None or step is None:
        return None
    try:
        distance = _single(_single(end) - _single(start))
        return Dim.constant(max(ceil(_single(distance / _single(step))), 0))
    except (ArithmeticError, ValueError):
        return None


def _numbers(values: Sequence[SSAValue]) -> list[float | None]:
    """The values of constant scalars, None for others."""
    return [_number(value) for value in values]


def _number(value: SSAValue) -> float | None:
    owner = value.owner
    if not isinstance(owner, PrimValueOp):
        return None
    if isinstance(owner.value, FloatAttr):
        return owner.value.value.data
    return owner.value.data.value
