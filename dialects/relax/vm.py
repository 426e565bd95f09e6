"""Instructions of the virtual machine on memory (docs/spec/relax-ir.md §5).

Unlike in `relax.memory`, shapes are values, which may be computed at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.calls import MayBeImpure
from xdsl_tvm.dialects.relax.memory import AllocatesResult, EndsLife, verify_device
from xdsl_tvm.dialects.relax.operators import InferredResultOp, expect_shape
from xdsl_tvm.dialects.relax.symbolic import provably_at_least
from xdsl_tvm.dialects.relax.types import (
    OBJECT,
    ObjectType,
    PrimType,
    ShapeType,
    TensorInfo,
)

__all__ = ["VMAllocStorageOp", "VMAllocTensorOp", "VMCallTIRDynOp", "VMKillObjectOp"]


@irdl_op_definition
class VMAllocStorageOp(IRDLOperation):
    """New raw memory; the only dimension of `size` counts its bytes.

    `device_index` counts the devices of the virtual machine; -1 is the host.
    TVM's `relax.vm.alloc_storage`.

    ```mlir
    %r = relax.vm.alloc_storage %size on 0 scope "global" dtype f32 :
      !relax.shape<[128]> -> !relax.object
    ```
    """

    name = "relax.vm.alloc_storage"

    size = operand_def(ShapeType)
    device_index = prop_def(IntegerAttr.constr(i64))
    storage_scope = prop_def(StringAttr)
    dtype = prop_def()
    result = result_def(ObjectType)

    traits = traits_def(AllocatesResult())

    assembly_format = (
        "$size `on` $device_index `scope` $storage_scope `dtype` $dtype attr-dict `:`"
        " type($size) `->` type($result)"
    )

    def __init__(
        self,
        size: SSAValue | Operation,
        dtype: Attribute,
        device_index: int = 0,
        storage_scope: str = "global",
    ) -> None:
        super().__init__(
            operands=[size],
            result_types=[OBJECT],
            properties={
                "device_index": IntegerAttr(device_index, i64),
                "storage_scope": StringAttr(storage_scope),
                "dtype": dtype,
            },
        )

    def verify_(self) -> None:
        verify_device(self, self.device_index)
        size = self.size.type
        assert isinstance(size, ShapeType)
        if size.values is not None and len(size.values) != 1:
            raise VerifyException(
                f"{self.name}: operand 'size' must have one dimension, the number of "
                f"bytes, not {size}"
            )


@irdl_op_definition
class VMAllocTensorOp(InferredResultOp):
    """A tensor on memory that exists, `offset` bytes from its start.

    The shape is a value; elements are what the memory holds.
    TVM's `relax.vm.alloc_tensor`.

    ```mlir
    %r = relax.vm.alloc_tensor %storage at %offset shape %s dtype f32 :
      (!relax.object, !relax.prim<i64, 0>, !relax.shape<[4, 8]>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.vm.alloc_tensor"

    storage = operand_def(ObjectType)
    offset = operand_def(PrimType)
    shape = operand_def(ShapeType)
    dtype = prop_def()

    traits = traits_def(AllocatesResult())

    assembly_format = (
        "$storage `at` $offset `shape` $shape `dtype` $dtype attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        storage: SSAValue | Operation,
        offset: SSAValue | Operation,
        shape: SSAValue | Operation,
        dtype: Attribute,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([storage, offset, shape], {"dtype": dtype}, result_type)

    def infer_result_type(self) -> Attribute:
        """The tensor of the given shape and dtype."""
        dims = expect_shape(self.name, "shape", self.shape.type).values
        return TensorInfo(dims, self.dtype).type

    def verify_(self) -> None:
        super().verify_()
        offset = self.offset.type
        assert isinstance(offset, PrimType)
        if offset.dtype != i64:
            raise VerifyException(
                f"{self.name}: operand 'offset' must be a !relax.prim<i64>, not {offset}"
            )
        if offset.dim is not None and provably_at_least(-1, offset.dim):
            raise VerifyException(f"{self.name}: the offset {offset.dim} is negative")


@irdl_op_definition
class VMKillObjectOp(IRDLOperation):
    """The value is not named any more: its reference is dropped.

    TVM's `relax.vm.kill_object`.

    ```mlir
    relax.vm.kill_object %t : !relax.tuple<tensor<4xf32>>
    ```
    """

    name = "relax.vm.kill_object"

    value = operand_def()

    traits = traits_def(MayBeImpure(), EndsLife())

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue | Operation) -> None:
        super().__init__(operands=[value])


@irdl_op_definition
class VMCallTIRDynOp(IRDLOperation):
    """Call a TIR function on buffers and the integers that are a shape's dimensions.

    The tensors are the function's inputs, then its outputs, which it writes; the shape's
    dimensions are its trailing integers. TVM's `relax.vm.call_tir_dyn`.

    ```mlir
    relax.vm.call_tir_dyn @scale(%a, %b, %s) :
      tensor<4x8xf32>, tensor<4x8xf32>, !relax.shape<[4]>
    ```
    """

    name = "relax.vm.call_tir_dyn"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()

    traits = traits_def(MayBeImpure(), MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$callee `(` $arguments `)` attr-dict (`:` type($arguments)^)?"

    def __init__(
        self, callee: str | SymbolRefAttr, arguments: Sequence[SSAValue | Operation]
    ) -> None:
        super().__init__(
            operands=[arguments],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee
            },
        )

    def verify_(self) -> None:
        types = list(self.arguments.types)
        if not types or not isinstance(types[-1], ShapeType):
            last = types[-1] if types else "nothing"
            raise VerifyException(
                f"{self.name}: the last argument must be a !relax.shape, not {last}"
            )
        for index, type_ in enumerate(types[:-1]):
            if TensorInfo.of(type_) is None:
                raise VerifyException(
                    f"{self.name}: argument {index} must be a tensor, not {type_}"
                )
