"""Calls of the runtime's functions become operations again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols


@dataclass(frozen=True)
class RaiseRuntimeBuiltin(CompilerPass):
    """Summary: Turns what the virtual machine is called for into operations, which
        machine code has.

    TVM name: none (ours); it undoes relax.LowerRuntimeBuiltin and relax.VMShapeLower
    Input form: any
    Output form: any
    Options: none
    Rewrites: calls to the operations that they were,

            "vm.builtin.make_shape"          relax.shape
            "vm.builtin.make_prim_value"     relax.prim_value
            "vm.builtin.reshape"             relax.reshape
            "vm.builtin.shape_of"            relax.shape_of
            "vm.builtin.tensor_to_shape"     relax.tensor_to_shape
            "vm.builtin.ensure_zero_offset"  relax.memory.ensure_zero_offset
            "vm.builtin.call_tir_dyn"        relax.vm.call_tir_dyn
            "vm.builtin.make_closure"        relax.make_closure
            "vm.builtin.invoke_closure"      relax.invoke_closure

        A shape and a scalar are what their types say. The checks of
        `relax-vm-shape-lower`, which have the attribute `err_ctx`, are erased, since
        machine code checks arguments, casts and results by their types; so are the
        memory of shapes, `"vm.builtin.alloc_shape_heap"`, and the calls of functions that
        compute on it, where nothing else uses it. Time is linear in the size of the
        module.
    Leaves alone: other calls; checks without `err_ctx`; a shape of unknown dimensions;
        a call of a function that is no `relax.global_ref`; memory of shapes that
        something else uses; functions that are called no more
    Errors: none
    Attributes: read: `err_ctx`, `tir.is_host_func`; created: none; removed: none
    Differs from TVM: TVM's virtual machine runs the calls
    """

    name = "relax-raise-runtime-builtin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = module_symbols(op)
        for func in relax_functions(op):
            calls = [each for each in all_ops(func) if _callee(each) is not None]
            for call in calls:
                _raise(call)
            for call in calls:
                if call.parent is not None and _callee(call) == _HEAP:
                    _erase_heap(call, symbols)


_PREFIX = "vm.builtin."
_HEAP = "alloc_shape_heap"
_CHECKS = frozenset(
    {
        "check_func_info",
        "check_prim_value_info",
        "check_shape_info",
        "check_tensor_info",
        "check_tuple_info",
        "match_prim_value",
        "match_shape",
    }
)
_Raise: TypeAlias = Callable[[PackedCallOp], Operation | None]
"""The operation that a call was; None where that is not known."""


def _callee(op: Operation) -> str | None:
    """The function of the virtual machine that is called, without its prefix."""
    if not isinstance(op, PackedCallOp) or not op.callee.data.startswith(_PREFIX):
        return None
    return op.callee.data.removeprefix(_PREFIX)


def _raise(call: Operation) -> None:
    assert isinstance(call, PackedCallOp), "a call"
    name = _callee(call)
    if name in _CHECKS:
        if "err_ctx" in call.attributes:
            _erase_with_operands(call)
        return
    found = _RAISED.get(name or "")
    new = None if found is None else found(call)
    if new is None or [r.type for r in new.results] != [r.type for r in call.results]:
        return
    new.attributes.update(call.attributes)
    new.location = call.location
    operands = list(dict.fromkeys(call.operands))
    for old, result in zip(call.results, new.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(call, new)
    _erase_unused(operands)


def _erase_with_operands(op: Operation) -> None:
    operands = list(dict.fromkeys(op.operands))
    Rewriter.erase_op(op)
    _erase_unused(operands)


def _erase_unused(values: list[SSAValue]) -> None:
    """Erase numbers and functions that were passed and nothing else uses."""
    for value in values:
        if isinstance(value.owner, _PASSED) and not value.uses:
            Rewriter.erase_op(value.owner)


_PASSED = (relax.PrimValueOp, relax.GlobalRefOp, relax.NullValueOp)


def _erase_heap(alloc: Operation, symbols: Mapping[str, Operation]) -> None:
    """Erase the memory of shapes, if only functions that compute on it are left."""
    users = list(dict.fromkeys(use.operation for use in alloc.results[0].uses))
    if not all(_computes_shapes(user, symbols) for user in users):
        return
    for user in users:
        Rewriter.erase_op(user)
    _erase_with_operands(alloc)


def _computes_shapes(op: Operation, symbols: Mapping[str, Operation]) -> bool:
    """Whether a call computes on the memory of shapes and nothing else."""
    if not isinstance(op, relax.CallOp) or op.results or len(op.arguments) != 1:
        return False
    callee = symbols.get(op.callee.root_reference.data)
    return isinstance(callee, tir.FuncOp) and "tir.is_host_func" in callee.attributes


def _function(call: PackedCallOp) -> str | None:
    """The name of the function that is the first argument."""
    owner = call.arguments[0].owner if call.arguments else None
    return (
        owner.callee.root_reference.data if isinstance(owner, relax.GlobalRefOp) else None
    )


def _shape(call: PackedCallOp) -> Operation | None:
    type_ = None if call.result is None else call.result.type
    if not isinstance(type_, relax.ShapeType):
        return None
    dims = [dim for dim in type_.values or (None,) if dim is not None]
    return relax.ShapeOp(dims) if tuple(dims) == type_.values else None


def _prim_value(call: PackedCallOp) -> Operation | None:
    type_ = None if call.result is None else call.result.type
    if not isinstance(type_, relax.PrimType) or type_.dim is None:
        return None
    return relax.PrimValueOp(type_.dim, type_.dtype)


def _call_tir_dyn(call: PackedCallOp) -> Operation | None:
    name = _function(call)
    return None if name is None else relax.VMCallTIRDynOp(name, call.arguments[1:])


def _make_closure(call: PackedCallOp) -> Operation | None:
    name = _function(call)
    return None if name is None else relax.MakeClosureOp(name, call.arguments[1:])


def _invoke_closure(call: PackedCallOp) -> Operation | None:
    closure, *arguments = call.arguments
    assert call.result is not None, "it returns"
    return relax.InvokeClosureOp(closure, arguments, call.result.type)


def _reshape(call: PackedCallOp) -> Operation | None:
    assert call.result is not None, "it returns"
    return relax.ReshapeOp(call.arguments[0], call.arguments[1], call.result.type)


def _shape_of(call: PackedCallOp) -> Operation | None:
    return relax.ShapeOfOp(call.arguments[0])


def _tensor_to_shape(call: PackedCallOp) -> Operation | None:
    return relax.TensorToShapeOp(call.arguments[0])


def _ensure_zero_offset(call: PackedCallOp) -> Operation | None:
    return relax.EnsureZeroOffsetOp(call.arguments[0])


_RAISED: Mapping[str, _Raise] = {
    "call_tir_dyn": _call_tir_dyn,
    "ensure_zero_offset": _ensure_zero_offset,
    "invoke_closure": _invoke_closure,
    "make_closure": _make_closure,
    "make_prim_value": _prim_value,
    "make_shape": _shape,
    "reshape": _reshape,
    "shape_of": _shape_of,
    "tensor_to_shape": _tensor_to_shape,
}
