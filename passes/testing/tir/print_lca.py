"""The lowest common ancestors of the accesses of buffers, shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from xdsl_tvm.analysis.tir.lca import buffer_access_lca
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class TestPrintLca(CompilerPass):
    """Summary: Shows for each buffer the innermost loop or block with all accesses, for
        tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: an op of a `tir.func` that defines a buffer gets the attribute `lca`, a
        string: `"for %i"`, `"block B"`, `"function"`, or `"none"` if nothing accesses it
    Leaves alone: everything else; views of regions get no attribute. Time is linear in
        the size of the module.
    Errors: none
    Attributes: read: none; created: `lca` on what defines a buffer; removed: none
    Differs from TVM: TVM has no such passes.
    """

    __test__: ClassVar[bool] = False
    name = "tir-test-print-lca"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if not isinstance(func, tir.FuncOp):
                continue
            found = buffer_access_lca(func)
            for inner in func.walk():
                if isinstance(inner, tir.MatchRegionOp):
                    continue
                if isinstance(inner, tir.BufferDefinition):
                    place = found.get(inner.buffer)
                    inner.attributes["lca"] = StringAttr(_text(place))


def _text(place: Operation | None) -> str:
    match place:
        case None:
            return "none"
        case tir.ForOp():
            return f"for %{place.loop_var.name_hint}"
        case tir.BlockOp():
            return f"block {place.block_name.data}"
        case _:
            return "function"
