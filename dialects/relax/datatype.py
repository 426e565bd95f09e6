"""Other dtypes and devices, and marks on tensors (docs/spec/relax-ops.md §5)."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, f32, i64
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.call_arguments import Device, Insert
from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp
from xdsl_tvm.dialects.relax.folders import FoldedTensor, dtype_of, fold_to, is_cast_back
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_dtype, expect_tensor

__all__ = [
    "AstypeOp",
    "DtypeOp",
    "HintOnDeviceOp",
    "StopLiftParamsOp",
    "ToVDeviceOp",
    "WrapParamOp",
]


class DtypeOp(OperatorOp, ABC):
    """A tensor of the operand's shape and another dtype."""

    data = operand_def()
    dtype = prop_def()

    assembly_format = (
        "$data `dtype` $dtype attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        dtype: Attribute,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's type with the given dtype."""
        info = expect_tensor(self.name, "data", self.data.type)
        return replace(info, dtype=expect_dtype(self.name, self.dtype)).type


@irdl_op_definition
class AstypeOp(DtypeOp, HasFolderInterface):
    """The elements converted to another dtype. TVM's `relax.astype`.

    A float becomes an integer toward zero; one out of range becomes the nearest integer
    of the dtype, and NaN 0.

    ```mlir
    %r = relax.astype %a dtype f16 : (tensor<4x8xf32>) -> tensor<4x8xf16>
    ```
    """

    name = "relax.astype"
    SIGNATURE: ClassVar[str] = "x, dtype: dtype"

    def fold(self) -> FoldedTensor:
        if dtype_of(self.data) == self.dtype:
            return fold_to(self.data, self.result)
        inner = self.data.owner
        if isinstance(inner, AstypeOp) and is_cast_back(inner.data, self.data):
            return fold_to(inner.data, self.result)
        return None


@irdl_op_definition
class WrapParamOp(DtypeOp):
    """A parameter stored in another dtype than it is used in. TVM's `relax.wrap_param`.

    ```mlir
    %r = relax.wrap_param %a dtype f32 : (tensor<4x8xf16>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.wrap_param"
    SIGNATURE: ClassVar[str] = 'data, dtype: dtype = "float32"'

    def __init__(
        self,
        data: SSAValue | Operation,
        dtype: Attribute = f32,
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(data, dtype, result_type)


@irdl_op_definition
class ToVDeviceOp(OperatorOp):
    """The tensor, copied to another virtual device. TVM's `relax.to_vdevice`.

    ```mlir
    %r = relax.to_vdevice %a to #relax.vdevice<"cuda", 0, "global"> : (tensor<4xf32>)
      -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
    ```
    """

    name = "relax.to_vdevice"
    SIGNATURE: ClassVar[str] = "data, dst_vdevice: vdevice"

    data = operand_def()
    dst_vdevice = prop_def(VDeviceAttr)

    assembly_format = (
        "$data `to` qualified($dst_vdevice) attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        dst_vdevice: VDeviceAttr,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([data], {"dst_vdevice": dst_vdevice}, result_type)

    def infer_result_type(self) -> Attribute:
        """The operand's type on the given device."""
        return replace(
            expect_tensor(self.name, "data", self.data.type), vdevice=self.dst_vdevice
        ).type


@irdl_op_definition
class HintOnDeviceOp(UnaryOperatorOp):
    """The tensor, which should live on the given device. TVM's `relax.hint_on_device`.

    `dev_type` is the number of a DLPack device type, 1 for CPU, 2 for CUDA.

    ```mlir
    %r = relax.hint_on_device %a device 2, 0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.hint_on_device"
    SIGNATURE: ClassVar[str] = "data, dev_type: int, dev_id: int = 0"

    dev_type = prop_def(IntegerAttr.constr(i64))
    dev_id = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$data `device` $dev_type `,` $dev_id attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        data: SSAValue | Operation,
        dev_type: int,
        dev_id: int = 0,
        result_type: Attribute | None = None,
    ) -> None:
        properties = {
            "dev_type": IntegerAttr(dev_type, i64),
            "dev_id": IntegerAttr(dev_id, i64),
        }
        super().__init__(data, result_type, properties)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Accepts a device for both numbers; in newer TVM a memory scope follows it."""
        device = arguments["dev_type"]
        if not isinstance(device, Device):
            return
        if arguments["dev_id"] not in (0, "global"):
            raise VerifyException(
                'relax.hint_on_device: the memory scope can be "global" only, not '
                f"{arguments['dev_id']!r}; give it to relax.to_vdevice"
            )
        arguments["dev_type"], arguments["dev_id"] = device.dev_type, device.dev_id


@irdl_op_definition
class StopLiftParamsOp(UnaryOperatorOp):
    """The tensor; what is computed from it stays out of lifted parameters.

    TVM's `relax.builtin.stop_lift_params`.

    ```mlir
    %r = relax.builtin.stop_lift_params %a : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.builtin.stop_lift_params"
