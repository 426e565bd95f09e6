"""Calls of functions of the runtime, by name (docs/spec/relax-ir.md §4.4).

Nothing is known of such a function but what the call says: its result type and whether
it has effects. A call that returns nothing has no result.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.calls import (
    MayBeImpure,
    WritesInPlace,
    output_infos,
    verify_inplace_indices,
)
from xdsl_tvm.dialects.relax.types import ObjectType, TupleType, verify_type

__all__ = [
    "CallBuiltinWithCtxOp",
    "CallDPSPackedOp",
    "CallInplacePackedOp",
    "CallPackedOp",
    "CallPurePackedOp",
]


class PackedCallOp(IRDLOperation, ABC):
    """A call of a function of the runtime."""

    callee = prop_def(StringAttr)
    arguments = var_operand_def()
    result = opt_result_def()

    assembly_format = (
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ) -> None:
        self._make(callee, arguments, result_type, {})

    def _make(
        self,
        callee: str,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute | None,
        properties: Mapping[str, Attribute],
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[result_type],
            properties={"callee": StringAttr(callee), **properties},
        )

    def _verify_needed_result(self) -> Attribute:
        """The type of the result; VerifyException if a pure call has none."""
        if self.result is None:
            raise VerifyException(
                f'{self.name}: a pure call of "{self.callee.data}" without a result '
                "does nothing"
            )
        return self.result.type

    def verify_(self) -> None:
        if self.result is not None:
            verify_type(self.result.type)


@irdl_op_definition
class CallPackedOp(PackedCallOp):
    """Call a function of the runtime that has effects. TVM's `Call` of an `ExternFunc`.

    ```mlir
    %r = relax.call_packed "vm.builtin.copy"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.call_packed"

    traits = traits_def(MayBeImpure(), MemoryReadEffect(), MemoryWriteEffect())


class MakesObjects(MemoryEffect):
    """A result that has an object, such as a cache, is another one at each call."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """An allocation, or nothing."""
        if not any(_has_object(result.type) for result in op.results):
            return frozenset()
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


def _has_object(type_: Attribute) -> bool:
    if isinstance(type_, TupleType):
        return any(map(_has_object, type_.fields.data))
    return isinstance(type_, ObjectType)


@irdl_op_definition
class CallPurePackedOp(PackedCallOp):
    """Call a function of the runtime that has no effects. TVM's `relax.call_pure_packed`.

    Two calls that return objects are not the same, as two tensors that are made are not.

    ```mlir
    %r = relax.call_pure_packed "my.square"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.call_pure_packed"

    traits = traits_def(MakesObjects())

    def verify_(self) -> None:
        super().verify_()
        self._verify_needed_result()


@irdl_op_definition
class CallInplacePackedOp(PackedCallOp):
    """Call a function of the runtime that writes some of its arguments.

    Output `i` is the argument `inplace_indices[i]`, or new for -1. A written argument
    must not be used any more, under no name: the call counts as pure.
    TVM's `relax.call_inplace_packed`.

    ```mlir
    %r = relax.call_inplace_packed "my.scale"(%a) inplace [0] :
      (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.call_inplace_packed"

    inplace_indices = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(WritesInPlace())

    assembly_format = (
        "$callee `(` $arguments `)` `inplace` $inplace_indices attr-dict `:`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute,
        inplace_indices: Sequence[int],
    ) -> None:
        indices = DenseArrayBase.from_list(i64, inplace_indices)
        self._make(callee, arguments, result_type, {"inplace_indices": indices})

    def verify_(self) -> None:
        super().verify_()
        declared = self._verify_needed_result()
        indices = tuple(self.inplace_indices.get_values())
        fields = declared.fields.data if isinstance(declared, TupleType) else (declared,)
        outputs = fields if len(indices) > 1 else (declared,)
        verify_inplace_indices(self, indices, len(self.arguments), len(outputs))
        for index, output in zip(indices, outputs, strict=True):
            if index >= 0 and not is_base_of(output, self.arguments[index].type):
                raise VerifyException(
                    f"{self.name}: argument {index} must be {output}, as the output is, "
                    f"not {self.arguments[index].type}"
                )


@irdl_op_definition
class CallDPSPackedOp(PackedCallOp):
    """Call a function of the runtime that writes its results into new tensors.

    They are passed after the arguments. Several results come as a tuple.
    TVM's `relax.call_dps_packed`.

    ```mlir
    %r = relax.call_dps_packed "my.scale"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relax.call_dps_packed"

    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        declared = self._verify_needed_result()
        if output_infos(declared) is None:
            raise VerifyException(
                f"{self.name}: the result must be tensors of known shape and dtype, "
                f"not {declared}"
            )


@irdl_op_definition
class CallBuiltinWithCtxOp(PackedCallOp):
    """Call a function of the virtual machine, which also gets the machine itself.

    TVM's `relax.call_builtin_with_ctx`.

    ```mlir
    %r = relax.call_builtin_with_ctx "vm.builtin.alloc_shape_heap"(%n) :
      (!relax.prim<i64, 4>) -> !relax.object
    ```
    """

    name = "relax.call_builtin_with_ctx"

    traits = traits_def(MayBeImpure(), MemoryReadEffect(), MemoryWriteEffect())
