"""The passes that rewrite TIR, and the pipeline that makes programs block-free."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import all_passes, new_context

LOWERING = "tir-lower-init-block,tir-convert-blocks-to-opaque,tir-lower-opaque-block"
"""From blocks to loops and buffers."""
NOT_REWRITES = ("tir-verify-", "tir-test-", "tir-convert-to-", "tir-default-")
"""Beginnings of the names of passes that check, print, or leave the dialect."""


def rewriting_passes() -> list[str]:
    """The names of the passes from TIR to TIR, sorted."""
    names = sorted(name for name in all_passes() if name.startswith("tir-"))
    return [name for name in names if not name.startswith(NOT_REWRITES)]


def lower_blocks(module: ModuleOp) -> None:
    """Make the module block-free, in place, and verify it."""
    for one in parse_passes(all_passes(), LOWERING):
        one.apply(new_context(), module)
    module.verify()
