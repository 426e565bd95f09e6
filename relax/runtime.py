"""What `relax.op` has besides operators: closures, memory, the virtual machine.

Names, parameters and defaults are TVM's (spec relax-ir.md §4.4, §5, relax-ops.md §13,
§14). All raise VerifyException for arguments that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.relax.calls import GlobalVar
from xdsl_tvm.relax.expr import Computed, Expr, Operands, PrimValue, call, const
from xdsl_tvm.relax.struct_info import DtypeLike, PrimStructInfo, TensorStructInfo

Shape: TypeAlias = "Expr | Sequence[DimLike]"
"""A shape, or its dimensions."""
StructInfos: TypeAlias = "Attribute | Sequence[Attribute] | None"
"""What a call of unknown code returns: any value, one, or a tuple."""


# ---- what is made of operators ----


def linear(
    data: Expr,
    weight: Expr,
    bias: Expr | None = None,
    out_dtype: DtypeLike | None = None,
) -> Expr:
    """`data` times the transposed weight, plus the bias."""
    product = call("matmul", data, call("permute_dims", weight), out_dtype)
    return product if bias is None else product + bias


def masked_fill(x: Expr, mask: Expr, value: float) -> Expr:
    """The elements of `x`, `value` where the mask holds."""
    return call("where", mask, call("full_like", x, const(value, x.dtype)), x)


# ---- closures ----


def make_closure(func: GlobalVar, args: Expr | Sequence[Expr]) -> Expr:
    """A function of the module with its last arguments given."""
    operands = Operands()
    values = operands.all_of(args)
    return operands.expr(relax.MakeClosureOp(func.name_hint, values))


def invoke_closure(
    closure: Expr, args: Expr | Sequence[Expr], sinfo_args: StructInfos = None
) -> Expr:
    """Call a closure that may have effects."""
    return _invoke(relax.InvokeClosureOp, closure, args, sinfo_args)


def invoke_pure_closure(
    closure: Expr, args: Expr | Sequence[Expr], sinfo_args: StructInfos = None
) -> Expr:
    """Call a closure that has no effects."""
    return _invoke(relax.InvokePureClosureOp, closure, args, sinfo_args)


def _invoke(
    op: type[relax.InvokeClosureOp | relax.InvokePureClosureOp],
    closure: Expr,
    args: Expr | Sequence[Expr],
    sinfo_args: StructInfos,
) -> Expr:
    operands = Operands()
    callee = operands.of(closure)
    values = operands.all_of(args)
    return operands.expr(op(callee, values, _returned(sinfo_args)))


def _returned(sinfo_args: StructInfos) -> Attribute:
    if isinstance(sinfo_args, Attribute):
        return sinfo_args
    if not sinfo_args:
        return relax.OBJECT
    return sinfo_args[0] if len(sinfo_args) == 1 else relax.TupleType.of(sinfo_args)


# ---- functions of the runtime ----


def call_builtin_with_ctx(
    func: str, args: Expr | Sequence[Expr], *, sinfo_args: StructInfos = None
) -> Expr:
    """Call a function of the virtual machine, which also gets the machine. Impure."""
    operands = Operands()
    values = operands.all_of(args)
    result = None if not sinfo_args else _returned(sinfo_args)
    return operands.expr(relax.CallBuiltinWithCtxOp(func, values, result))


def call_inplace_packed(
    func: str, *args: Expr, inplace_indices: int | Sequence[int], sinfo_args: StructInfos
) -> Expr:
    """Call a function of the runtime that writes some of its arguments."""
    operands = Operands()
    values = operands.all_of(args)
    indices = [inplace_indices] if isinstance(inplace_indices, int) else inplace_indices
    result = _returned(sinfo_args)
    return operands.expr(relax.CallInplacePackedOp(func, values, result, indices))


def null_value() -> Expr:
    """No object."""
    return Operands().expr(relax.NullValueOp())


# ---- memory ----


def alloc_tensor(
    shape: Shape,
    dtype: DtypeLike,
    runtime_device_index: int = 0,
    storage_scope: str = "global",
) -> Expr:
    """A new tensor."""
    type_ = TensorStructInfo(_dims(shape), dtype)
    return _made(relax.AllocTensorOp(type_, _number(runtime_device_index), storage_scope))


def memory_alloc_storage(
    size: Shape,
    virtual_device_index: int | Expr,
    storage_scope: str,
    dtype: DtypeLike,
) -> Expr:
    """New raw memory of as many bytes as the one element of `size`."""
    dims = _dims(size)
    if len(dims) != 1:
        raise VerifyException(
            "relax.memory.alloc_storage: the size is a shape of one number of bytes"
        )
    device = _number(virtual_device_index)
    op = relax.AllocStorageOp(dims[0], _element(dtype), device, storage_scope)
    return _made(op)


def memory_alloc_tensor(
    storage: Expr, offset: DimLike | Expr, shape: Shape, dtype: DtypeLike
) -> Expr:
    """A tensor on memory that exists, `offset` bytes from its start."""
    operands = Operands()
    type_, start = TensorStructInfo(_dims(shape), dtype), _dim(offset)
    op = relax.AllocTensorFromStorageOp(operands.of(storage), type_, start)
    return operands.expr(op)


def vm_alloc_storage(
    shape: Shape,
    runtime_device_index: int | Expr,
    dtype: DtypeLike,
    storage_scope: str = "global",
) -> Expr:
    """New raw memory; its size is a shape that may be computed at run time."""
    operands = Operands()
    size, device = _shape(operands, shape), _number(runtime_device_index)
    op = relax.VMAllocStorageOp(size, _element(dtype), device, storage_scope)
    return operands.expr(op)


def vm_alloc_tensor(
    storage: Expr, offset: DimLike | Expr, shape: Shape, dtype: DtypeLike
) -> Expr:
    """A tensor on memory that exists; its shape may be computed at run time."""
    operands = Operands()
    start = offset if isinstance(offset, Expr) else PrimValue(offset)
    values = operands.of(storage), operands.of(start), _shape(operands, shape)
    return operands.expr(relax.VMAllocTensorOp(*values, _element(dtype)))


def _ending(op: Callable[[SSAValue], Operation]) -> Callable[[Expr], Expr]:
    def kill(value: Expr) -> Expr:
        """The value is not named any more. Impure."""
        operands = Operands()
        return operands.expr(op(operands.of(value)))

    return kill


def call_tir_dyn(func: GlobalVar, args: Expr | Sequence[Expr]) -> Expr:
    """Call a TIR function; the last argument is a shape of its trailing integers."""
    operands = Operands()
    values = operands.all_of(args)
    return operands.expr(relax.VMCallTIRDynOp(func.name_hint, values))


def _made(op: Operation) -> Expr:
    return Computed(op, ())


def _shape(operands: Operands, shape: Shape) -> SSAValue:
    if isinstance(shape, Expr):
        return operands.of(shape)
    return operands.insert(relax.ShapeOp(shape))


def _dims(shape: Shape) -> Sequence[DimLike]:
    if not isinstance(shape, Expr):
        return shape
    info = shape.struct_info
    if not isinstance(info, relax.ShapeType) or info.known is None:
        raise VerifyException(f"{info} is no shape of known dimensions")
    return info.known


def _dim(number: DimLike | Expr) -> DimLike:
    if not isinstance(number, Expr):
        return number
    info = number.struct_info
    if not isinstance(info, relax.PrimType) or info.dim is None:
        raise VerifyException(f"{info} is no integer of known value")
    return info.dim


def _number(index: int | Expr) -> int:
    value = Dim.of(_dim(index)).value
    if value is None:
        raise VerifyException(f"the number of a device is constant, not {index}")
    return value


def _element(dtype: DtypeLike) -> Attribute:
    return PrimStructInfo(dtype).dtype


FUNCTIONS: Mapping[str, Callable[..., Expr]] = {
    "builtin.alloc_tensor": alloc_tensor,
    "call_builtin_with_ctx": call_builtin_with_ctx,
    "call_inplace_packed": call_inplace_packed,
    "invoke_closure": invoke_closure,
    "invoke_pure_closure": invoke_pure_closure,
    "linear": linear,
    "make_closure": make_closure,
    "masked_fill": masked_fill,
    "memory.alloc_storage": memory_alloc_storage,
    "memory.alloc_tensor": memory_alloc_tensor,
    "memory.kill_storage": _ending(relax.KillStorageOp),
    "memory.kill_tensor": _ending(relax.KillTensorOp),
    "null_value": null_value,
    "vm.alloc_storage": vm_alloc_storage,
    "vm.alloc_tensor": vm_alloc_tensor,
    "vm.call_tir_dyn": call_tir_dyn,
    "vm.kill_object": _ending(relax.VMKillObjectOp),
}
"""The functions by TVM's names without `relax.`."""
