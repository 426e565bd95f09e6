"""Operators that move elements without computing (spec relax-ops.md §8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    expect_tensor,
    normalize_axes,
)
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    DimLike,
    product,
    provably_different,
)
from xdsl_tvm.dialects.relax.types import ShapeType


@irdl_op_definition
class PermuteDimsOp(OperatorOp):
    """Reorder dimensions: dimension `i` of the result is `axes[i]` of the operand.

    Without `axes` the order is reversed. TVM's `relax.permute_dims`.

    ```mlir
    %r = relax.permute_dims %a axes [0, 2, 1] : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
    ```
    """

    name = "relax.permute_dims"

    data = operand_def()
    axes = opt_prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$data (`axes` $axes^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        axes: Sequence[int] | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        data = SSAValue.get(data)
        super().__init__(
            operands=[data],
            result_types=[result_type or self.infer(data.type, axes)],
            properties={
                "axes": None if axes is None else DenseArrayBase.from_list(i64, axes)
            },
        )

    @classmethod
    def infer(cls, data: Attribute, axes: Sequence[int] | None = None) -> Attribute:
        """The operand's type with its dimensions reordered."""
        info = expect_tensor(cls.name, "data", data)
        if info.dims is None:
            return data
        rank = len(info.dims)
        if axes is None:
            return info.with_dims(reversed(info.dims)).type
        if len(axes) != rank:
            raise VerifyException(f"{cls.name}: {len(axes)} axes do not fit rank {rank}")
        order = normalize_axes(cls.name, axes, rank)
        return info.with_dims(info.dims[axis] for axis in order).type

    def infer_result_type(self) -> Attribute:
        axes = self.axes
        return self.infer(self.data.type, None if axes is None else axes.get_values())


@irdl_op_definition
class ReshapeOp(OperatorOp):
    """The same elements, in row-major order, under another shape.

    The shape is a value, made by `relax.shape`; `reshape_dims` computes it from TVM's 0
    and -1. TVM's `relax.reshape`.

    ```mlir
    %s = relax.shape [32]
    %r = relax.reshape %a, %s : (tensor<4x8xf32>, !relax.shape<[32]>) -> tensor<32xf32>
    ```
    """

    name = "relax.reshape"

    data = operand_def()
    shape = operand_def()

    assembly_format = "$data `,` $shape attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: SSAValue | Operation,
        shape: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        data, shape = SSAValue.get(data), SSAValue.get(shape)
        super().__init__(
            operands=[data, shape],
            result_types=[result_type or self.infer(data.type, shape.type)],
        )

    @classmethod
    def infer(cls, data: Attribute, shape: Attribute) -> Attribute:
        """A tensor of the given shape, dtype and device as in the operand."""
        info = expect_tensor(cls.name, "data", data)
        if not isinstance(shape, ShapeType):
            raise VerifyException(
                f"{cls.name}: operand 'shape' must be a !relax.shape, not {shape}"
            )
        old, new = info.shape, shape.known
        if (
            old is not None
            and new is not None
            and provably_different(product(old), product(new))
        ):
            raise VerifyException(
                f"{cls.name}: {product(old)} elements cannot be viewed as {product(new)}"
            )
        return info.with_dims(shape.values).type

    def infer_result_type(self) -> Attribute:
        return self.infer(self.data.type, self.shape.type)


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


OPS = (PermuteDimsOp, ReshapeOp)
