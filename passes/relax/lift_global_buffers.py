"""Memory that TIR functions allocate becomes a parameter that their callers allocate."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.arith.expr import emit, view
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.symbolic import Dim, bounds
from xdsl_tvm.dialects.tir.buffers import DEFAULT_ALIGNMENT
from xdsl_tvm.dialects.tir.types import is_scalar
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._tir_functions.merged_calls import (
    NotMergeableError,
    bind_filling_call,
    dim_of,
    is_plain,
)
from xdsl_tvm.passes.relax.rewriting.devices import device_indices
from xdsl_tvm.passes.relax.rewriting.signatures import references

_Shape: TypeAlias = tuple[Dim, ...]


@dataclass(frozen=True)
class LiftGlobalBuffers(CompilerPass):
    """Summary: Turns global buffers that private TIR functions allocate into parameters,
        for which the Relax functions that call them allocate tensors.

    TVM name: none (ours)
    Input form: calls of TIR functions in destination-passing style
        (`relax-call-tir-rewrite`)
    Output form: the same
    Options: none
    Rewrites: before

            relax.call impure @sum(%x, %y)
              : (tensor<?xf32, #relax.dims<[n]>>, tensor<f32>) -> ()
            ...
            tir.func @sum(%x: !tir.handle, %y: !tir.handle) {
              ...
              tir.block "root" {
                %parts = tir.alloc_buffer "parts" [%n] : !tir.buffer<?x8xf32>

        after

            %parts = relax.builtin.alloc_tensor on 0 scope "global"
              : tensor<?x8xf32, #relax.dims<[n, 8]>>
            relax.call impure @sum(%x, %y, %parts)
              : (tensor<?xf32, #relax.dims<[n]>>, tensor<f32>,
                 tensor<?x8xf32, #relax.dims<[n, 8]>>) -> ()
            ...
            tir.func @sum(%x: !tir.handle, %y: !tir.handle, %parts: !tir.handle) {
              ...
              %parts = tir.match_buffer "parts" %parts [%n] : !tir.buffer<?x8xf32>
              tir.block "root" {

        So `relax-static-plan-block-memory` plans it with the tensors of the caller. The
        new parameters follow the last handle, and their memory is on the device of the
        tensors that are passed. Extents may be expressions of the symbols and scalars
        that calls give. Time is linear in the size of the module.
    Leaves alone: public functions, functions that are used otherwise than by such
        calls, or with shapes that are not proved to fit, or with tensors on several
        devices, or on one that the module does not list; buffers that are not compact,
        not in the function's body or its root block, aligned to more than 64 bytes, of
        vectors, or whose extents are not known before a call or may be negative
    Errors: none
    Attributes: read: `relax.vdevices` of the module; created: none; removed: none
    Differs from TVM: TVM has no such pass
    """

    name = "relax-lift-global-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [
            (func, buffers)
            for func in op.ops
            if isinstance(func, tir.FuncOp) and (buffers := _buffers(func))
        ]
        if not functions:
            return
        used, devices = references(op), device_indices(op)
        for func, buffers in functions:
            _lift(func, buffers, used.get(func.sym_name.data, ()), devices)


def _buffers(func: tir.FuncOp) -> list[tir.AllocBufferOp]:
    """The buffers that could be parameters, in order."""
    if func.is_declaration or "global_symbol" in func.attributes:
        return []
    ops = list(func.body.block.ops)
    statements = itertools.dropwhile(lambda op: not _is_statement(op), ops)
    if any(isinstance(op, tir.MatchBufferOp | tir.ShapeVarOp) for op in statements):
        return []
    for op in tuple(ops):
        if isinstance(op, tir.BlockOp) and op.is_opaque:
            ops += op.body.block.ops
    return [op for op in ops if isinstance(op, tir.AllocBufferOp) and _is_passable(op)]


def _is_passable(alloc: tir.AllocBufferOp) -> bool:
    return (
        is_plain(alloc)
        and is_scalar(alloc.type.element_type)
        and alloc.alignment <= DEFAULT_ALIGNMENT
    )


def _lift(
    func: tir.FuncOp,
    buffers: Sequence[tir.AllocBufferOp],
    users: Sequence[Operation],
    devices: Mapping[VDeviceAttr | None, int],
) -> None:
    calls = list[tuple[relax.CallOp, dict[SSAValue, Dim]]]()
    for user in users:
        if not isinstance(user, relax.CallOp) or user.result is not None:
            return
        if len(found := _devices(user)) > 1 or not devices.keys() >= found:
            return
        try:
            calls.append((user, bind_filling_call(user, func)))
        except NotMergeableError:
            return
    if not calls:
        return
    lifted = list[tir.AllocBufferOp]()
    shapes = list[list[_Shape]]()
    for alloc in buffers:
        found = [_shape(alloc, values) for _, values in calls]
        known = [shape for shape in found if shape is not None]
        if len(known) == len(calls):
            lifted.append(alloc)
            shapes.append(known)
    if not lifted:
        return
    # Scalars follow the tensors.
    place = sum(isinstance(arg.type, tir.HandleType) for arg in func.args)
    if any(isinstance(arg.type, tir.HandleType) for arg in func.args[place:]):
        return
    for number, (call, _) in enumerate(calls):
        own = [each[number] for each in shapes]
        _pass_memory(call, place, lifted, own, devices)
    _add_parameters(func, place, lifted)


def _devices(call: relax.CallOp) -> set[VDeviceAttr | None]:
    """Those of the tensors that are passed."""
    infos = map(relax.TensorInfo.of, call.arguments.types)
    return {info.vdevice for info in infos if info is not None}


def _is_statement(op: Operation) -> bool:
    """Whether an operation is of what the function does, after its parameters."""
    return isinstance(op, tir.AllocBufferOp) or bool(op.regions)


def _shape(alloc: tir.AllocBufferOp, values: dict[SSAValue, Dim]) -> _Shape | None:
    """The extents for a call, None if one is not known before it."""
    dims = [
        Dim.constant(extent) if isinstance(extent, int) else dim_of(view(extent), values)
        for extent in alloc.shape
    ]
    # No tensor has a negative extent, where loops that do not run may have one.
    known = tuple(dim for dim in dims if dim is not None and bounds(dim).min >= 0)
    return known if len(known) == len(dims) else None


def _pass_memory(
    call: relax.CallOp,
    place: int,
    lifted: Sequence[tir.AllocBufferOp],
    shapes: Sequence[_Shape],
    devices: Mapping[VDeviceAttr | None, int],
) -> None:
    """Allocate the memory before a call, and pass it."""
    (device,) = _devices(call) or {None}
    new = list[SSAValue]()
    for alloc, shape in zip(lifted, shapes, strict=True):
        info = relax.TensorInfo(shape, alloc.type.element_type, device)
        made = relax.AllocTensorOp(info.type, devices[device])
        made.location = call.location
        made.result.name_hint = alloc.buffer.name_hint
        Rewriter.insert_op(made, InsertPoint.before(call))
        new.append(made.result)
    arguments = list(call.arguments)
    call.operands = [*arguments[:place], *new, *arguments[place:]]


def _add_parameters(
    func: tir.FuncOp, place: int, lifted: Sequence[tir.AllocBufferOp]
) -> None:
    """Let buffers be passed, by parameters from `place` on."""
    block = func.body.block
    first = next(filter(_is_statement, block.ops))
    builder = Builder(InsertPoint.before(first))
    names = list[StringAttr]()
    for number, alloc in enumerate(lifted):
        handle = block.insert_arg(tir.HandleType(), place + number)
        name = alloc.buffer_name or StringAttr(f"workspace{number}")
        names.append(name)
        handle.name_hint = f"{alloc.buffer.name_hint or name.data}_handle"
        match_op = tir.MatchBufferOp(
            handle,
            alloc.type,
            [emit(view(extent), builder) for extent in alloc.extents],
            name=name,
            index_type=alloc.index_type,
        )
        match_op.location = alloc.location
        match_op.buffer.name_hint = alloc.buffer.name_hint
        builder.insert(match_op)
        alloc.buffer.replace_all_uses_with(match_op.buffer)
    for alloc in lifted:
        Rewriter.erase_op(alloc)
    types = func.function_type
    inputs = [arg.type for arg in block.args]
    func.function_type = FunctionType.from_lists(inputs, list(types.outputs))
    if func.param_names is not None:
        old = list(func.param_names)
        func.param_names = ArrayAttr([*old[:place], *names, *old[place:]])
