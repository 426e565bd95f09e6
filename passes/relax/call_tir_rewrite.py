"""Calls that return new tensors become allocations and calls that fill them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp
from xdsl_tvm.dialects.tir.module import VDEVICES
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.bindings import allow_effects
from xdsl_tvm.passes.relax.rewriting.devices import device_indices

_GLOBAL = StringAttr("global")
_is_call = of_classes(relax.CallTIROp, relax.CallTIRInplaceOp, relax.CallDPSPackedOp)
_Call: TypeAlias = AnyCallTIROp | relax.CallDPSPackedOp


@dataclass(frozen=True)
class CallTIRRewrite(CompilerPass):
    """Summary: Turns calls of TIR and external functions that return new tensors into
        allocations and calls in destination-passing style.

    TVM name: relax.CallTIRRewrite (v0.20)
    Input form: no `relax.call_tir`, `relax.call_tir_inplace` and `relax.call_dps_packed`
        in a dataflow block (`relax-to-non-dataflow`)
    Output form: none of the three; `relax.call` of a TIR function is impure, and its
        last tensor arguments are written, or those that a call in place writes
    Options: none
    Rewrites: before

            %y = relax.call_tir @scale(%x) [n] : (tensor<4xf32>) -> tensor<4xf32>

        after

            %y = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
            %n = relax.prim_value n : i64
            relax.call impure @scale(%x, %y, %n)
              : (tensor<4xf32>, tensor<4xf32>, !relax.prim<i64, n>) -> ()

        A call with several outputs allocates them in order and is replaced by a
        `relax.tuple` of them. An output of `relax.call_tir_inplace` that is an argument
        is not allocated: it is that argument from there on. A `relax.call_dps_packed`
        becomes a `relax.call_packed` without a result. The device of an allocation is the
        position of the output's virtual device in the module's `relax.vdevices`, 0 where
        it has none. Time is linear in the size of the module.
    Leaves alone: calls of Relax functions, and everything else
    Errors: one of the calls in a dataflow block; an output on a virtual device that the
        module does not list
    Attributes: read: `relax.vdevices` of the module; created: `relax.force_pure` on pure
        functions that hold a rewritten call; removed: none
    Differs from TVM: `tir_vars` become trailing scalar arguments of the call, not a shape
        that `vm.call_tir_dyn` unpacks at run time. Every output of a tuple is allocated
        on its own device, where TVM puts all of them on device 0. `relax.force_pure` is
        set here, so that the result is well-formed also without RemovePurityChecking.
    """

    name = "relax-call-tir-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        devices = device_indices(op)
        for call in filter(_is_call, all_ops(op)):
            allow_effects(call, self.name)
            _rewrite(call, devices)


def _rewrite(call: _Call, devices: Mapping[VDeviceAttr | None, int]) -> None:
    assert call.result is not None, "verified"
    type_ = call.result.type
    is_tuple = isinstance(type_, relax.TupleType)
    types: Sequence[Attribute] = type_.fields.data if is_tuple else (type_,)
    is_packed = isinstance(call, relax.CallDPSPackedOp)
    places = (-1,) * len(types) if is_packed else call.output_arguments
    allocs = list[relax.AllocTensorOp]()
    outputs = list[SSAValue]()
    for output, place in zip(types, places, strict=True):
        if place >= 0:
            outputs.append(call.arguments[place])
        else:
            allocs.append(_allocate(call, output, devices))
            outputs.append(allocs[-1].result)
    arguments = [*call.arguments, *(alloc.result for alloc in allocs)]
    if is_packed:
        filled = [relax.CallPackedOp(call.callee.data, arguments)]
    else:
        filled = _filling(call, arguments)
    filled[-1].attributes.update(call.attributes)
    new: list[Operation] = [*allocs, *filled]
    if is_tuple:
        new.append(relax.TupleOp(outputs))
    for op in new:
        op.location = call.location
    Rewriter.replace_op(call, new, [new[-1].results[0] if is_tuple else outputs[0]])


def _filling(call: AnyCallTIROp, arguments: Sequence[SSAValue]) -> list[Operation]:
    """The call of the TIR function, after the scalars that it takes."""
    dims = () if call.tir_vars is None else call.tir_vars.known or ()
    scalars = [relax.PrimValueOp(dim) for dim in dims]
    values = [*arguments, *(scalar.result for scalar in scalars)]
    return [*scalars, relax.CallOp(call.callee, values, impure=True)]


def _allocate(
    call: _Call, type_: Attribute, devices: Mapping[VDeviceAttr | None, int]
) -> relax.AllocTensorOp:
    info = relax.TensorInfo.of(type_)
    assert info is not None, "verified"
    index = devices.get(info.vdevice)
    if index is None:
        raise PassFailedException(
            f"{CallTIRRewrite.name}: {call.name} {call.callee} returns a tensor on "
            f"{info.vdevice}, which the module's {VDEVICES} does not list; add it"
        )
    properties = {"device_index": IntegerAttr(index, i64), "storage_scope": _GLOBAL}
    return relax.AllocTensorOp.create(result_types=[type_], properties=properties)
