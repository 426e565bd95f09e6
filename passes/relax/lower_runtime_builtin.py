"""What the runtime does becomes calls of its functions, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.bindings import allow_effects

_BYTES = IntegerType(8, Signedness.UNSIGNED)


@dataclass(frozen=True)
class LowerRuntimeBuiltin(CompilerPass):
    """Summary: Turns what the runtime does into calls of its functions.

    TVM name: relax.LowerRuntimeBuiltin (v0.20)
    Input form: no dataflow blocks around what is lowered (`relax-to-non-dataflow`), no
        `relax.builtin.alloc_tensor` (`relax-lower-alloc-tensor`)
    Output form: the same, without the operations below
    Options: none
    Rewrites: each operation to a call of the function, `relax.call_packed` or
        `relax.call_builtin_with_ctx`, or to an operation of `relax.vm`:

            relax.reshape                           "vm.builtin.reshape"
            relax.shape_of                          "vm.builtin.shape_of"
            relax.tensor_to_shape                   "vm.builtin.tensor_to_shape"
            relax.to_vdevice                        "vm.builtin.to_device"
            relax.make_closure                      "vm.builtin.make_closure"
            relax.invoke_closure                    "vm.builtin.invoke_closure"
            relax.invoke_pure_closure               "vm.builtin.invoke_closure"
            relax.vm.call_tir_dyn                   "vm.builtin.call_tir_dyn"
            relax.memory.ensure_zero_offset         "vm.builtin.ensure_zero_offset"
            relax.memory.alloc_storage              relax.vm.alloc_storage
            relax.memory.alloc_tensor               relax.vm.alloc_tensor
            relax.memory.kill_storage, kill_tensor  relax.vm.kill_object

        so that, before,

            %y = relax.reshape %x, %s : (!x, !relax.shape<[8]>) -> !y

        becomes

            %y = relax.call_packed "vm.builtin.reshape"(%x, %s) : ... -> !y

        Functions are passed as `relax.global_ref`, the target of a device as the number
        of its kind in DLPack, and its index. The function of closures gets the virtual
        machine, too. Sizes, offsets and shapes of memory become values. Results keep
        their types. Time is linear in the size of the module.
    Leaves alone: `relax.memory.view`, whose dtype is no value of the dialect; other
        operators; what `relax-legalize-ops` lowers
    Errors: `relax.builtin.alloc_tensor`; one of the operations in a dataflow block; a
        virtual device without a target
    Attributes: read: none; created: `relax.force_pure` on pure functions that hold a
        call; removed: none
    Differs from TVM: closures and results of their calls keep their types, where TVM's
        are objects
    """

    name = "relax-lower-runtime-builtin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            for inner in [each for each in func.walk() if type(each) in _LOWERINGS]:
                self._lower(inner)

    def _lower(self, op: Operation) -> None:
        if isinstance(op, relax.AllocTensorOp):
            raise PassFailedException(
                f"{self.name}: {op.name} allocates by itself; run "
                "relax-lower-alloc-tensor first"
            )
        builder = LocatedBuilder(op)
        new = _LOWERINGS[type(op)](builder, op)
        if isinstance(new, _CALLS):
            allow_effects(op, self.name)
        new.attributes.update(op.attributes)
        builder.insert_op(new)
        if op.results and new.results:
            new.results[0].name_hint = op.results[0].name_hint
        Rewriter.replace_op(op, (), new.results)


_CALLS = (relax.CallPackedOp, relax.CallBuiltinWithCtxOp)
_Lowering = Callable[[LocatedBuilder, Any], Operation]


def _call_of(name: str) -> _Lowering:
    """A call of a function on the operands."""

    def lowered(builder: LocatedBuilder, op: Operation) -> Operation:
        return relax.CallPackedOp(name, op.operands, op.results[0].type)

    return lowered


def _on_function(
    builder: LocatedBuilder,
    callee: str,
    name: str,
    arguments: Sequence[SSAValue],
    result: Attribute | None,
) -> Operation:
    """A call of a runtime function on a function of the module and other arguments."""
    function = builder.insert(relax.GlobalRefOp(callee, relax.OBJECT))
    return relax.CallPackedOp(name, [function, *arguments], result)


def _make_closure(builder: LocatedBuilder, op: relax.MakeClosureOp) -> Operation:
    callee, name = op.callee.root_reference.data, "vm.builtin.make_closure"
    return _on_function(builder, callee, name, op.captured, op.result.type)


def _call_tir_dyn(builder: LocatedBuilder, op: relax.VMCallTIRDynOp) -> Operation:
    callee, name = op.callee.root_reference.data, "vm.builtin.call_tir_dyn"
    return _on_function(builder, callee, name, op.arguments, None)


def _invoke_closure(builder: LocatedBuilder, op: AnyInvokeClosureOp) -> Operation:
    return relax.CallBuiltinWithCtxOp(
        "vm.builtin.invoke_closure", op.operands, op.result.type
    )


def _to_vdevice(builder: LocatedBuilder, op: relax.ToVDeviceOp) -> Operation:
    target = op.dst_vdevice.target
    if not isinstance(target, Target):
        raise PassFailedException(
            f"{LowerRuntimeBuiltin.name}: {op.name} copies to {op.dst_vdevice}, which "
            "has no target; give the device one"
        )
    numbers = (target.device_type.value, op.dst_vdevice.index.data)
    values = [builder.insert(relax.PrimValueOp(number)) for number in numbers]
    operands = [op.data, *values]
    return relax.CallPackedOp("vm.builtin.to_device", operands, op.result.type)


def _alloc_storage(builder: LocatedBuilder, op: relax.AllocStorageOp) -> Operation:
    size = builder.insert(relax.ShapeOp([op.size.data]))
    index, scope = op.device_index.value.data, op.storage_scope.data
    return relax.VMAllocStorageOp(size, _BYTES, index, scope)


def _alloc_tensor(
    builder: LocatedBuilder, op: relax.AllocTensorFromStorageOp
) -> Operation:
    info = relax.TensorInfo.of(op.result.type)
    assert info is not None, "verified"
    assert info.shape is not None, "verified"
    assert info.dtype is not None, "verified"
    offset = builder.insert(relax.PrimValueOp(op.offset.data))
    shape = builder.insert(relax.ShapeOp(info.shape))
    type_ = op.result.type
    return relax.VMAllocTensorOp(op.storage, offset, shape, info.dtype, type_)


def _kill(builder: LocatedBuilder, op: Operation) -> Operation:
    return relax.VMKillObjectOp(op.operands[0])


def _refused(builder: LocatedBuilder, op: Operation) -> Operation:
    raise AssertionError("an error before")


_LOWERINGS: dict[type[Operation], _Lowering] = {
    relax.AllocStorageOp: _alloc_storage,
    relax.AllocTensorFromStorageOp: _alloc_tensor,
    relax.AllocTensorOp: _refused,
    relax.EnsureZeroOffsetOp: _call_of("vm.builtin.ensure_zero_offset"),
    relax.InvokeClosureOp: _invoke_closure,
    relax.InvokePureClosureOp: _invoke_closure,
    relax.KillStorageOp: _kill,
    relax.KillTensorOp: _kill,
    relax.MakeClosureOp: _make_closure,
    relax.ReshapeOp: _call_of("vm.builtin.reshape"),
    relax.ShapeOfOp: _call_of("vm.builtin.shape_of"),
    relax.TensorToShapeOp: _call_of("vm.builtin.tensor_to_shape"),
    relax.ToVDeviceOp: _to_vdevice,
    relax.VMCallTIRDynOp: _call_tir_dyn,
}
"""What becomes of each operation."""
