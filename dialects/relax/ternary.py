"""Functions of three tensors, element by element (docs/spec/relax-ops.md §3)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    broadcast_known,
    common_dtype,
    common_dtypes,
    expect_tensor,
    merged_vdevice,
)
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo

__all__ = ["EwiseFmaOp", "WhereOp"]


@irdl_op_definition
class EwiseFmaOp(OperatorOp):
    """`x1 * x2 + x3`, element by element; all shapes are equal.

    TVM's `relax.ewise_fma`.

    ```mlir
    %r = relax.ewise_fma %a, %b, %c :
      (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.ewise_fma"
    SIGNATURE: ClassVar[str] = "x1, x2, x3"

    x1 = operand_def()
    x2 = operand_def()
    x3 = operand_def()

    assembly_format = (
        "$x1 `,` $x2 `,` $x3 attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        x1: SSAValue | Operation,
        x2: SSAValue | Operation,
        x3: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([x1, x2, x3], {}, result_type)

    @classmethod
    def _dims(cls, shapes: list[Dims | None]) -> Dims | None:
        ranked = [shape for shape in shapes if shape is not None]
        ranks = {len(shape) for shape in ranked}
        if len(ranks) > 1:
            raise VerifyException(
                f"{cls.name}: operands must have one rank, not "
                f"{' and '.join(map(str, sorted(ranks)))}"
            )
        result = tuple(cls._dim(dims) for dims in zip(*ranked, strict=True))
        if not ranked:
            return None
        return result if len(ranked) == len(shapes) else (None,) * len(ranked[0])

    @classmethod
    def _dim(cls, dims: tuple[Dim | None, ...]) -> Dim | None:
        """The one extent of all operands; it must be proven."""
        known = [dim for dim in dims if dim is not None]
        for other in known[1:]:
            if not provably_equal(known[0], other):
                raise VerifyException(
                    f"{cls.name}: {known[0]} and {other} are not proven to be one extent"
                )
        return known[0] if len(known) == len(dims) else None

    def infer_result_type(self) -> Attribute:
        """The shape of all operands; a dimension is known where all know it."""
        infos = [
            expect_tensor(self.name, name, operand.type)
            for name, operand in zip(("x1", "x2", "x3"), self.operands, strict=True)
        ]
        return TensorInfo(
            self._dims([info.dims for info in infos]),
            common_dtypes(self.name, [info.dtype for info in infos]),
            merged_vdevice(info.vdevice for info in infos),
        ).type


@irdl_op_definition
class WhereOp(OperatorOp):
    """The elements of `x1` where `condition` holds, those of `x2` elsewhere.

    All three are broadcast against each other. TVM's `relax.where`.

    ```mlir
    %r = relax.where %c, %a, %b :
      (tensor<4x1xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.where"
    SIGNATURE: ClassVar[str] = "condition, x1, x2"

    condition = operand_def()
    x1 = operand_def()
    x2 = operand_def()

    assembly_format = (
        "$condition `,` $x1 `,` $x2 attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        condition: SSAValue | Operation,
        x1: SSAValue | Operation,
        x2: SSAValue | Operation,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([condition, x1, x2], {}, result_type)

    def infer_result_type(self) -> Attribute:
        """The broadcast tensor."""
        test = expect_tensor(self.name, "condition", self.condition.type)
        a = expect_tensor(self.name, "x1", self.x1.type)
        b = expect_tensor(self.name, "x2", self.x2.type)
        if test.dtype != i1:
            raise VerifyException(
                f"{self.name}: operand 'condition' must hold i1, "
                f"not {self.condition.type}"
            )
        values = broadcast_known(self.name, a.dims, b.dims)
        return TensorInfo(
            broadcast_known(self.name, test.dims, values),
            common_dtype(self.name, a.dtype, b.dtype),
            merged_vdevice(info.vdevice for info in (test, a, b)),
        ).type
