"""What InjectDoubleBuffer computes for any split, start and extent, and its options."""

from __future__ import annotations

import os

import pytest
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context

MANY = "XDSL_TVM_FUZZ" in os.environ

STAGED = """
tir.func @staged(%a: !tir.handle, %b: !tir.handle, %any: i32) {{
  %A = tir.match_buffer %a : !tir.buffer<32xi32>
  %B = tir.match_buffer %b : !tir.buffer<32xi32>
  %zero = tir.const 0 : i32
  %two = tir.const 2 : i32
  %lo = tir.const {start} : {dtype}
  %n = tir.const {extent} : {dtype}
  %odd = tir.floormod %any, %two : i32
  %more = tir.cast %odd : i32 to {dtype}
  %m = tir.add %n, %more : {dtype}
  %bound = tir.const {bound} : {dtype}
  %end = tir.min %m, %bound : {dtype}
  tir.for %i = %lo to %lo + {count} {{
    %p = tir.allocate [1] : !tir.ptr<i32>
    %P = tir.decl_buffer %p : !tir.buffer<1xi32>
    %q = tir.allocate [2] : !tir.ptr<i32>
    %Q = tir.decl_buffer %q : !tir.buffer<2xi32>
    %early = tir.load %A[%i] : i32
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {{
      tir.store %early, %P[%zero] : i32
    }}
    tir.attr "double_buffer_scope" (%q) = 1 : i32 {{
      %k = tir.cast %i : {dtype} to i32
      tir.store %k, %Q[%odd] : i32
    }}
    %x = tir.load %P[%zero] : i32
    %y = tir.load %Q[%odd] : i32
    %z = tir.add %x, %y : i32
    tir.store %z, %B[%i] : i32
  }}
}}
"""


def parsed(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def staged(start: int, extent: int, dtype: str, count: str) -> ModuleOp:
    return parsed(
        STAGED.format(
            start=start, extent=extent, bound=extent + 1, dtype=dtype, count=count
        )
    )


@pytest.mark.parametrize("count", ["%n", "%end"])
@pytest.mark.parametrize("factor", [0, 1, 2, 4])
def test_any_number_of_iterations(factor: int, count: str) -> None:
    double = tir_passes.InjectDoubleBuffer(factor)
    extents = (-1, 0, 1, 2, 3, 7, 8, 9)
    if not MANY:
        # Each end of the loop takes every other one.
        extents = extents[count == "%end" :: 2]
    for extent in extents:
        dtypes = ("i32", "i64") if MANY or extent == 7 else ("i64",)
        for dtype in dtypes:
            check_semantics(
                staged(0, extent, dtype, count), (double,), seed=extent + 1, tolerance=0.0
            )


@pytest.mark.parametrize("start", [1, 2, 5])
def test_any_start(start: int) -> None:
    for extent in (0, 1, 6, 7):
        check_semantics(
            staged(start, extent, "i32", "%n"),
            (tir_passes.InjectDoubleBuffer(0),),
            tolerance=0.0,
        )


def test_the_option_comes_from_the_context() -> None:
    def copies(factor: int | None) -> int:
        module = tir_passes.InjectDoubleBuffer(factor)(staged(0, 9, "i32", "%n"))
        return sum(
            isinstance(op, tir.StoreOp) and op.buffer.type == results
            for op in module.walk()
        )

    results = tir.BufferType([32], i32)
    assert (copies(0), copies(1), copies(4)) == (1, 2, 8)
    assert copies(None) == 2
    with PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": 4}}):
        assert copies(None) == 8
        assert copies(0) == 1
