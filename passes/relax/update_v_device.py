"""A virtual device of a module is exchanged for another one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.parser import Parser
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import ParseError, PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.tir.module import VDEVICES
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.devices import (
    listed_vdevices,
    map_vdevices,
    values_in,
)
from xdsl_tvm.registry import new_context


@dataclass(frozen=True)
class UpdateVDevice(CompilerPass):
    """Summary: Puts tensors of one virtual device of a module on another one.

    TVM name: relax.UpdateVDevice (v0.20)
    Input form: any
    Output form: the same
    Options: `new_vdevice`: the device, an attribute or its text (required); `index`: the
        position of the old one in the module's `relax.vdevices` (0)
    Rewrites: with `new_vdevice="#relax.vdevice<\\"cuda\\", 0, \\"global\\">"`, before

            builtin.module attributes {relax.vdevices =
                [#relax.vdevice<"llvm", 0, "global">]} {
              relax.func @f(%x: tensor<4xf32, #relax.placed<[4],
                #relax.vdevice<"llvm", 0, "global">>>) -> ...

        after

            builtin.module attributes {relax.vdevices =
                [#relax.vdevice<"cuda", 0, "global">]} {
              relax.func @f(%x: tensor<4xf32, #relax.placed<[4],
                #relax.vdevice<"cuda", 0, "global">>>) -> ...

        in all types, and in `relax.to_vdevice`. Time is linear in the size of the module.
    Leaves alone: tensors on other devices, and those of nested modules
    Errors: a text that is no device; an `index` that the list does not have
    Attributes: read: `relax.vdevices`; created: none; changed: `relax.vdevices`; removed:
        none
    Differs from TVM: none
    """

    name = "relax-update-v-device"

    new_vdevice: str
    index: int = 0

    def __post_init__(self) -> None:
        # TVM takes a device.
        object.__setattr__(self, "new_vdevice", str(self.new_vdevice))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        new = self._device()
        devices = listed_vdevices(op)
        if not devices and not relax_functions(op):
            return
        if not 0 <= self.index < len(devices):
            raise PassFailedException(
                f"{self.name}: the module lists {len(devices)} virtual devices, none of "
                f"index {self.index}; give one of them"
            )
        old = devices[self.index]
        devices[self.index] = new
        op.attributes[VDEVICES] = ArrayAttr(devices)

        def mapping(device: VDeviceAttr | None) -> VDeviceAttr | None:
            return new if device == old else device

        for func in relax_functions(op):
            if func.parent_op() is not op:
                continue
            for inner in func.walk():
                if isinstance(inner, relax.ToVDeviceOp) and inner.dst_vdevice == old:
                    inner.dst_vdevice = new
            for value in list(values_in(func)):
                type_ = map_vdevices(value.type, mapping)
                if type_ != value.type:
                    Rewriter.replace_value_with_new_type(value, type_)
            update_signature(func, map_vdevices(func.output_type, mapping))

    def _device(self) -> VDeviceAttr:
        try:
            found = Parser(new_context(), self.new_vdevice).parse_attribute()
        except ParseError:
            found = None
        if isinstance(found, VDeviceAttr):
            return found
        raise PassFailedException(
            f"{self.name}: '{self.new_vdevice}' is no virtual device; write it as "
            '#relax.vdevice<"cuda", 0, "global">'
        )
