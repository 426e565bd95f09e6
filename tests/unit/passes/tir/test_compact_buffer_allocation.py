"""What compaction keeps, and that it does not matter when blocks are lowered."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support import paths
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.passes.tir.compact_buffer_allocation import CompactBufferAllocation
from xdsl_tvm.registry import all_passes, new_context

FILE = paths.FILECHECK / "passes/tir/compact-buffer-allocation.mlir"
COMPACT = "tir-compact-buffer-allocation"
LOWER = "tir-lower-match-buffer,tir-lower-opaque-block"
TIDY = "tir-simplify,tir-remove-no-op"


def program(name: str) -> ModuleOp:
    """The program of the FileCheck test with a function of this name."""
    for text in re.split(r"^// -----.*$", FILE.read_text(), flags=re.MULTILINE):
        if f"@{name}(" in text:
            return parse(text)
    raise ValueError(f"no function {name} in {FILE}")


def run(module: ModuleOp, pipeline: str) -> ModuleOp:
    for one in parse_passes(all_passes(), pipeline):
        one.apply(new_context(), module)
        module.verify()
    return module


def types(module: ModuleOp) -> list[str]:
    return [
        str(op.buffer.type)
        for op in module.walk()
        if isinstance(op, tir.AllocBufferOp | tir.DeclBufferOp)
    ]


IN_EITHER_ORDER = """
    rows pointer parameters shared warp symbolic hull padded halo branches indirect
    predicate through_lets lets pooling cooperative diagonal packed beyond
    symbolic_rows grid_stride triangle softmax row_tiles
"""
"""Programs for which it does not matter when blocks are lowered."""


@pytest.mark.parametrize("name", IN_EITHER_ORDER.split())
def test_blocks_may_be_lowered_before_or_after(name: str) -> None:
    options = "{is_strict=false}" if name in ("beyond", "padded") else ""
    after = run(program(name), f"{COMPACT}{options},{LOWER},{TIDY}")
    before = run(program(name), f"{LOWER},{COMPACT}{options},{TIDY}")
    assert_structural_equal(before, after)
    assert types(before) == types(after)


def test_indices_that_are_loaded() -> None:
    rng = np.random.default_rng(0)
    starts = np.array([0, 3, 3, 10, 12, 20, 21, 30, 33], np.int32)
    data = rng.standard_normal(64).astype(np.float32)
    inputs = {"indirect": [(data, starts, np.zeros(8, np.float32))]}
    module = program("indirect")
    for is_strict in (True, False):
        check_semantics(module, [CompactBufferAllocation(is_strict)], inputs)


def test_strides_that_are_asked_for_are_allocated() -> None:
    text = str(run(program("aligned"), f"{COMPACT},{LOWER}"))
    assert 'tir.allocate "B" [1, 31]' in text
    lowered = run(program("aligned"), f"{LOWER},{COMPACT}")
    assert 'tir.allocate "B" [1, 31]' in str(lowered)
    assert "strides [31, 1]" in str(lowered)


WRITTEN = """
tir.func @main(%a: !tir.handle, %p: !tir.handle) attributes {{global_symbol = "main"}} {{
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %P = tir.match_buffer %p : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  %yes = tir.cmp lt %c0, %c8 : i32
  tir.for %i = %c0 to %c8 {{
    tir.block {{
      %B = tir.alloc_buffer "B" : !tir.buffer<16xi32>
      {before}
      %k = tir.load %P[%i] : i32
      %j = tir.call "bitwise_and"(%k, %c7) : (i32, i32) -> i32
      tir.store %i, %B[%j] : i32
      %x = tir.load %B[%j] : i32
      tir.store %x, %A[%i] : i32
      {after}
    }}
  }}
}}"""


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [
        ("", "", 1),
        ("", "tir.store %c8, %P[%i] : i32", 1),
        ("tir.store %c8, %P[%i] : i32", "", 16),
        ("tir.store %c8, %A[%i] : i32", "", 16),
        ('tir.assert %yes, "yes"', "", 16),
    ],
)
def test_loads_that_see_the_same_memory(before: str, after: str, size: int) -> None:
    module = parse(WRITTEN.format(before=before, after=after))
    check_semantics(module, [CompactBufferAllocation()])
    run(module, COMPACT)
    assert types(module) == [f"!tir.buffer<{size}xi32>"]


def test_softmax_of_fused_rows_needs_one_row() -> None:
    module = program("softmax")
    report = check_semantics(module, [CompactBufferAllocation()], tolerance=0.0)
    assert report.checked == ["softmax"]
    sizes = ["1xf32", "1x12xf32", "1xf32"]
    found = types(run(module, COMPACT))
    assert found == [f"!tir.buffer<{size}>" for size in sizes]


ROWS = """
tir.func @main(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer %a : !tir.buffer<16x12xf32>
  %O = tir.match_buffer %o : !tir.buffer<16x12xf32>
  %c0 = tir.const 0 : i32
  %c12 = tir.const 12 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    tir.reads
    tir.writes
    %E = tir.alloc_buffer "E" : !tir.buffer<16x12xf32>
    tir.for %i = %c0 to %c16 parallel {
      tir.for %j = %c0 to %c12 {
        tir.block "E" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c12] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %E[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : f32
          %y = tir.call "exp"(%x) : (f32) -> f32
          tir.store %y, %E[%vi, %vj] : f32
        }
      }
      tir.for %j = %c0 to %c12 {
        tir.block "O" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c12] = %j) {
          tir.reads %E[%vi, %vj]
          tir.writes %O[%vi, %vj]
          %x = tir.load %E[%vi, %vj] : f32
          tir.store %x, %O[%vi, %vj] : f32
        }
      }
    }
  }
}"""


def test_buffers_of_the_root_are_moved_and_shrink() -> None:
    names = (
        "tir-plan-and-update-buffer-allocation-location,tir-convert-blocks-to-opaque,"
        f"{COMPACT},{LOWER},{TIDY}"
    )
    module = parse(ROWS)
    check_semantics(module, parse_passes(all_passes(), names), tolerance=0.0)
    assert types(run(module, names)) == ["!tir.buffer<1x12xf32>"]
