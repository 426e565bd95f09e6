"""Bodies of functions are marked as device code."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Region

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import signature_of


@dataclass(frozen=True)
class DecorateDeviceScope(CompilerPass):
    """Summary: Marks the body of every function as device code.

    TVM name: tir.DecorateDeviceScope (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            tir.func @f(%a: !tir.handle) {
              %A = tir.match_buffer %a : !tir.buffer<4xf32>
              tir.store %x, %A[%i] : f32
            }

        after

            tir.func @f(%a: !tir.handle) {
              %A = tir.match_buffer %a : !tir.buffer<4xf32>
              tir.attr "device_scope" (0 : i32) = 0 : i32 {
                tir.store %x, %A[%i] : f32
              }
            }

        The buffers of parameters, their symbolic extents, and what these are computed
        from stay outside, since they belong to the signature. A function that is marked
        already is marked again. Time is linear in the size of the module.
    Leaves alone: declarations, and functions of other dialects
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: nothing
    """

    name = "tir-decorate-device-scope"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [op for op in op.walk() if isinstance(op, tir.FuncOp)]:
            if not func.is_declaration:
                _decorate(func.body.block)


def _decorate(block: Block) -> None:
    stays = signature_of(block)
    body = Block()
    for op in list(block.ops):
        if op not in stays:
            op.detach()
            body.add_op(op)
    zero = IntegerAttr(0, i32)
    block.add_op(tir.AttrOp("device_scope", zero, zero, Region(body)))
