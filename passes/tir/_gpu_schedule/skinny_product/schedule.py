"""The kernel that a skinny product becomes."""

from __future__ import annotations

from xdsl_tvm.passes.tir._gpu_schedule.device import (
    Device,
)
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.lines import LineProduct
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.matching import is_along_terms
from xdsl_tvm.passes.tir._gpu_schedule.skinny_product.terms import TermProduct
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


def schedule_skinny(code: LoopCode, found: Contraction, device: Device) -> None:
    """Write a skinny product as a kernel, and one that adds split sums."""
    kind = LineProduct if is_along_terms(found) else TermProduct
    kind(code, found, device).write()
