"""Explicit memory (spec relax-ir.md §5)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.types import TensorInfo, verify_type


@irdl_op_definition
class AllocTensorOp(IRDLOperation):
    """A new tensor, its elements not initialised. TVM's `relax.builtin.alloc_tensor`.

    Shape and dtype are those of the result type. `device_index` counts the virtual
    devices of the module; -1 is the host. Two allocations are never one tensor.

    ```mlir
    %r = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4x8xf32>
    ```
    """

    name = "relax.builtin.alloc_tensor"

    device_index = prop_def(IntegerAttr.constr(i64))
    storage_scope = prop_def(StringAttr)
    result = result_def()

    traits = traits_def(MemoryAllocEffect())

    assembly_format = (
        "`on` $device_index `scope` $storage_scope attr-dict `:` type($result)"
    )

    def __init__(
        self, result_type: Attribute, device_index: int = 0, storage_scope: str = "global"
    ) -> None:
        super().__init__(
            result_types=[result_type],
            properties={
                "device_index": IntegerAttr(device_index, i64),
                "storage_scope": StringAttr(storage_scope),
            },
        )

    def verify_(self) -> None:
        verify_type(self.result.type)
        info = TensorInfo.of(self.result.type)
        if info is None or info.shape is None or info.dtype is None:
            raise VerifyException(
                f"{self.name}: the result must be a tensor of known shape and dtype, "
                f"not {self.result.type}"
            )
        if self.device_index.value.data < -1:
            raise VerifyException(
                f"{self.name}: device {self.device_index.value.data} is neither "
                "the host, -1, nor a virtual device"
            )


OPS = (AllocTensorOp,)
