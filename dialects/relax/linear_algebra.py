"""Linear algebra (spec relax-ops.md §7)."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims, VDeviceAttr
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    broadcast,
    common_dtype,
    expect_tensor,
)
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.types import TensorInfo


@irdl_op_definition
class MatmulOp(OperatorOp):
    """Matrix product over the last two dimensions, batched over the others.

    A vector on the left counts as one row, on the right as one column, and that
    dimension is left out of the result. With `out_dtype` both operands are converted
    before they are multiplied. TVM's `relax.matmul`.

    ```mlir
    %r = relax.matmul %a, %b out_dtype f32 :
      (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf32>
    ```
    """

    name = "relax.matmul"

    lhs = operand_def()
    rhs = operand_def()
    out_dtype = opt_prop_def()

    assembly_format = (
        "$lhs `,` $rhs (`out_dtype` $out_dtype^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        out_dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        lhs, rhs = SSAValue.get(lhs), SSAValue.get(rhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[result_type or self.infer(lhs.type, rhs.type, out_dtype)],
            properties={"out_dtype": out_dtype},
        )

    @classmethod
    def infer(
        cls, lhs: Attribute, rhs: Attribute, out_dtype: Attribute | None = None
    ) -> Attribute:
        """The tensor of batch dimensions, rows and columns."""
        a = expect_tensor(cls.name, "lhs", lhs)
        b = expect_tensor(cls.name, "rhs", rhs)
        dtype = out_dtype or common_dtype(cls.name, a.dtype, b.dtype)
        vdevice = _vdevice(a.vdevice, b.vdevice)
        if a.rank == 0 or b.rank == 0:
            side = "lhs" if a.rank == 0 else "rhs"
            raise VerifyException(f"{cls.name}: operand '{side}' must not have rank 0")
        if a.dims is None or b.dims is None:
            return TensorInfo(None, dtype, vdevice).type
        return TensorInfo(cls._dims(a.dims, b.dims), dtype, vdevice).type

    @classmethod
    def _dims(cls, lhs: Dims, rhs: Dims) -> Dims:
        one = (Dim.constant(1),)
        left = one + lhs if len(lhs) == 1 else lhs
        right = rhs + one if len(rhs) == 1 else rhs
        inner, outer = left[-1], right[-2]
        if inner is not None and outer is not None and provably_different(inner, outer):
            raise VerifyException(
                f"{cls.name}: the summed dimensions must be equal, "
                f"not {inner} and {outer}"
            )
        batch = broadcast(cls.name, left[:-2], right[:-2])
        rows = () if len(lhs) == 1 else left[-2:-1]
        columns = () if len(rhs) == 1 else right[-1:]
        return batch + rows + columns

    def infer_result_type(self) -> Attribute:
        return self.infer(self.lhs.type, self.rhs.type, self.out_dtype)


def _vdevice(lhs: VDeviceAttr | None, rhs: VDeviceAttr | None) -> VDeviceAttr | None:
    """Unlike other operators, a product on two devices lives on none."""
    if lhs is None or rhs is None:
        return lhs or rhs
    return lhs if lhs == rhs else None


OPS = (MatmulOp,)
