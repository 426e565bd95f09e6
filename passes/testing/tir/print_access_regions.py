"""The boxes of buffers that blocks access, shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from xdsl_tvm.analysis.tir.access_regions import get_block_access_region
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class TestPrintAccessRegions(CompilerPass):
    """Summary: Shows which boxes of buffers blocks read and write, for tests.

    TVM name: none (ours)
    Input form: any
    Output form: as the input
    Options: none
    Rewrites: a `tir.block` gets the attribute `access_regions`, a string with the buffers
        from outside that it reads, writes and uses the pointer of, each with start and
        extent of each dimension, as in
        `"reads %A[%i for 1]; writes %B[0 for 16]; opaque "`
    Leaves alone: everything else. Time is linear in the size of the module, times the
        depth of nested blocks, besides what the analysis takes for each index.
    Errors: none
    Attributes: read: none; created: `access_regions` on `tir.block`; removed: none
    Differs from TVM: TVM has no such passes.
    """

    __test__: ClassVar[bool] = False
    name = "tir-test-print-access-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in op.walk():
            if not isinstance(block, tir.BlockOp):
                continue
            found = get_block_access_region(block)
            text = "; ".join(
                f"{kind} {', '.join(map(str, regions))}"
                for kind, regions in (
                    ("reads", found.reads),
                    ("writes", found.writes),
                    ("opaque", found.opaque),
                )
            )
            block.attributes["access_regions"] = StringAttr(text)
