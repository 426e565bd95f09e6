"""What TIR functions must be for their bodies to become parts of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cast,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Sub,
    Value,
    fold,
    view,
)
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.symbolic import Dim, maximum, minimum, provably_equal
from xdsl_tvm.dialects.relax.types import PrimType, TensorInfo

AnyFusedCall: TypeAlias = relax.CallTIROp | relax.CallTIRInplaceOp
"""The calls that can be parts of a function that is fused."""


class NotMergeableError(Exception):
    """Why a call cannot be replaced by the body of what it calls, in one sentence."""


def bind_call(call: AnyFusedCall, callee: Operation | None) -> dict[SSAValue, Dim]:
    """What the call gives for the symbolic extents and scalar parameters of its callee.

    The body of the callee can be in another function, on buffers of the shapes that
    the call has, if these values stand for the ones named. Linear in the size of the
    function. Raises NotMergeableError where it cannot, or where that is not proved.
    """
    if not isinstance(callee, tir.FuncOp) or callee.is_declaration:
        raise NotMergeableError(f"{call.callee} is no tir.func with a body")
    if any(isinstance(op, tir.RetOp) for op in all_ops(callee)):
        raise NotMergeableError(
            f"{call.callee} returns by tir.ret; let it end at its last statement"
        )
    types: list[Attribute] = list(call.arguments.types)
    written = zip(call.output_arguments, call.outputs, strict=True)
    types += [info.type for place, info in written if place < 0]
    dims = () if call.tir_vars is None else call.tir_vars.known or ()
    return _bind(callee, types, dims)


def bind_filling_call(call: relax.CallOp, callee: tir.FuncOp) -> dict[SSAValue, Dim]:
    """The symbols and scalars of a function, by a call in destination-passing style.

    Linear in the size of the function's signature. Raises NotMergeableError where that
    is not known, or the shapes are not proved to fit.
    """
    return _bind(callee, call.arguments.types, ())


def _bind(
    callee: tir.FuncOp, types: Sequence[Attribute], dims: Sequence[Dim]
) -> dict[SSAValue, Dim]:
    """The symbols and scalars, by the types of arguments and the scalars after them."""
    buffers = _matched_buffers(callee)
    handles, scalars = _given(callee, types, dims)
    values = dict[SSAValue, Dim](scalars)
    shapes = [(buffers[param], info) for param, info in handles]
    for buffer, info in shapes:
        _bind_symbols(buffer, info, values)
    for buffer, info in shapes:
        _check_shape(callee, buffer, info, values)
    return values


def buffer_parameters(callee: tir.FuncOp) -> list[tir.MatchBufferOp]:
    """The buffers of the parameters that are handles, in the order of these.

    Raises NotMergeableError where a handle is not one buffer.
    """
    buffers = _matched_buffers(callee)
    return [buffers[arg] for arg in callee.args if isinstance(arg.type, tir.HandleType)]


def _matched_buffers(callee: tir.FuncOp) -> dict[SSAValue, tir.MatchBufferOp]:
    found = dict[SSAValue, tir.MatchBufferOp]()
    for arg in callee.args:
        if not isinstance(arg.type, tir.HandleType):
            continue
        users = [use.operation for use in arg.uses]
        match users:
            case [tir.MatchBufferOp() as match_op] if is_plain(match_op):
                found[arg] = match_op
            case _:
                raise NotMergeableError(
                    f"a parameter of @{callee.sym_name.data} is not matched once to a "
                    "compact buffer in global memory"
                )
    return found


def is_plain(buffer: tir.BufferDefinition) -> bool:
    """Whether a buffer is compact, in global memory."""
    return (
        not buffer.layout_strides
        and buffer.elem_offset is None
        and buffer.axis_separators is None
        and buffer.buffer_kind is None
        and buffer.type == tir.BufferType(buffer.type.get_shape(), _element(buffer))
    )


def _element(buffer: tir.BufferDefinition) -> Attribute:
    return buffer.type.element_type


def _given(
    callee: tir.FuncOp, types: Sequence[Attribute], dims: Sequence[Dim]
) -> tuple[list[tuple[SSAValue, TensorInfo]], list[tuple[SSAValue, Dim]]]:
    """The tensor that each handle is given, and the number for each scalar."""
    name = f"@{callee.sym_name.data}"
    if len(callee.args) != len(types) + len(dims):
        raise NotMergeableError(f"{name} has another number of parameters")
    handles: list[tuple[SSAValue, TensorInfo]] = []
    scalars = list[tuple[SSAValue, Dim]](
        zip(callee.args[len(types) :], dims, strict=True)
    )
    for param, type_ in zip(callee.args, types, strict=False):
        info = None if isinstance(type_, UnrankedTensorType) else TensorInfo.of(type_)
        if isinstance(param.type, tir.HandleType) and info is not None:
            handles.append((param, info))
        elif isinstance(type_, PrimType) and type_.dim is not None:
            scalars.append((param, type_.dim))
        else:
            raise NotMergeableError(f"{name} is given {type_}, which is not known")
    for param, _ in scalars:
        if not isinstance(param.type, IntegerType):
            raise NotMergeableError(f"{name} has a scalar parameter of type {param.type}")
    return handles, scalars


def _bind_symbols(
    buffer: tir.MatchBufferOp, info: TensorInfo, values: dict[SSAValue, Dim]
) -> None:
    """Give bare symbols among the extents the dimensions of the tensor."""
    if info.rank != len(buffer.shape) or info.dtype != _element(buffer):
        raise NotMergeableError(f"a buffer of {buffer.type} is given {info}")
    for extent, dim in zip(buffer.shape, info.dims or (), strict=True):
        if isinstance(extent, int) or not isinstance(extent.owner, tir.ShapeVarOp):
            continue
        if dim is None:
            raise NotMergeableError(f"a dimension of {info} is not known")
        values.setdefault(extent, dim)


def _check_shape(
    callee: tir.FuncOp,
    buffer: tir.MatchBufferOp,
    info: TensorInfo,
    values: dict[SSAValue, Dim],
) -> None:
    for extent, dim in zip(buffer.shape, info.dims or (), strict=True):
        expected = (
            Dim.constant(extent)
            if isinstance(extent, int)
            else dim_of(view(extent), values)
        )
        if dim is None or expected is None or not provably_equal(expected, dim):
            raise NotMergeableError(
                f"{info} is not proved to have the shape of the parameter of "
                f"@{callee.sym_name.data}"
            )


_DIM_OPS: dict[type[Expr], Callable[[Dim, Dim], Dim]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: minimum,
    Max: maximum,
}


def dim_of(tree: Expr, values: dict[SSAValue, Dim]) -> Dim | None:
    """An extent as a dimension, given those of its variables; None if it is none."""

    def visit(node: Expr, parts: Sequence[Dim | None]) -> Dim | None:
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        match node:
            case Const(value=int(number)):
                return Dim.constant(number)
            case Value(value=value):
                return values.get(value)
            case Cast() if tir.is_integer(node.dtype):
                return known[0]
            case _ if type(node) in _DIM_OPS and known[1].value != 0:
                return _DIM_OPS[type(node)](*known)
            case _:
                return None

    return fold(tree, visit)
