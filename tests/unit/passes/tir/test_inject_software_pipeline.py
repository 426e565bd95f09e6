"""What software pipelines compute for any start, extent, type and number of stages."""

from __future__ import annotations

import os

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.registry import new_context

MANY = "XDSL_TVM_FUZZ" in os.environ

STAGED = """
tir.func @staged(%a: !tir.handle, %b: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<32xi32>
  %B = tir.match_buffer %b : !tir.buffer<32xi32>
  %c0 = tir.const 0 : i32
  %four = tir.const 4 : {dtype}
  %lo = tir.const {start} : {dtype}
  %n = tir.const {extent} : {dtype}
  tir.for %i = %lo to %lo + {count} annotations {annotations} {{
    tir.block {{
      %S = tir.alloc_buffer "S" : !tir.buffer<1xi32>
      %at = tir.add %i, %four : {dtype}
      tir.block "fill" {{
        %x = tir.load %A[%at] : i32
        tir.store %x, %S[%c0] : i32
      }}
      tir.block "use" {{
        %x = tir.load %S[%c0] : i32
        %k = tir.cast %i : {dtype} to i32
        %y = tir.add %x, %k : i32
        tir.store %y, %B[%at] : i32
      }}
    }}
  }}
}}
"""
KEYS = ("software_pipeline_stage", "software_pipeline_order")


def annotated(
    stages: list[int], orders: list[int], asynchronous: list[int] | None = None
) -> str:
    lists: dict[str, list[int]] = dict(zip(KEYS, (stages, orders), strict=True))
    if asynchronous is not None:
        lists["software_pipeline_async_stages"] = asynchronous
    items = (
        f"{key} = [{', '.join(f'{number} : i32' for number in numbers)}]"
        for key, numbers in lists.items()
    )
    return "{" + ", ".join(items) + "}"


def parsed(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def check(text: str) -> ModuleOp:
    """The pipeline, which computes what the loop does."""
    module = parsed(text)
    inject = tir_passes.InjectSoftwarePipeline()
    report = check_semantics(module, (inject,), runs=1, tolerance=0.0)
    assert report.checked
    assert not report.skipped
    return inject(module)


@pytest.mark.parametrize("asynchronous", [None, [0]])
@pytest.mark.parametrize("last", [0, 1, 3])
def test_any_number_of_iterations(last: int, asynchronous: list[int] | None) -> None:
    extents = (-1, 0, 1, 2, 3, 7) if MANY else (0 if asynchronous else -1, 1, 2, 7)
    for extent in extents:
        starts = ((-3, "i64"), (5, "i32"))
        for start, dtype in starts if MANY or extent == 7 else starts[:1]:
            check(
                STAGED.format(
                    start=start,
                    extent=extent,
                    dtype=dtype,
                    count="%n",
                    annotations=annotated([0, last], [0, 1], asynchronous),
                )
            )


def test_content_that_is_overwritten_late() -> None:
    """TVM gives the buffer one version, as nothing reads what the last stage writes."""
    module = check(
        f"""
tir.func @late(%a: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {annotated([0, 0, 1], [0, 2, 1])} {{
    tir.block {{
      %S = tir.alloc_buffer "S" : !tir.buffer<1xi32>
      tir.store %i, %S[%c0] : i32
      tir.block {{
        %x = tir.load %S[%c0] : i32
        tir.store %x, %A[%i] : i32
      }}
      tir.store %c8, %S[%c0] : i32
    }}
  }}
}}"""
    )
    (alloc,) = (op for op in module.walk() if isinstance(op, tir.AllocBufferOp))
    assert alloc.type.get_shape() == (2, 1)


NEIGHBOURS = """
tir.func @neighbours(%a: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<16x16xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {{
    %S = tir.alloc_buffer "S" : !tir.buffer<16xi32, "{scope}">
    tir.for %i = %c0 to %c4 annotations {annotations} {{
      %k = tir.add %i, %t : i32
      tir.store %i, %S[%k] : i32
      tir.block {{
        %x = tir.load %S[%k] : i32
        tir.store %x, %A[%t, %i] : i32
      }}
    }}
  }}
}}"""


def test_what_threads_share_is_what_any_two_touch() -> None:
    lists = annotated([0, 1], [0, 1])
    check(NEIGHBOURS.format(scope="local", annotations=lists))
    shared = parsed(NEIGHBOURS.format(scope="shared", annotations=lists))
    with pytest.raises(PassFailedException, match='buffer "S" an iteration later'):
        tir_passes.InjectSoftwarePipeline()(shared)


def test_facts_around_the_loop_are_used() -> None:
    """Elements are apart, as the condition says, and one needs no guard."""
    module = check(
        f"""
tir.func @around(%a: !tir.handle, %n: i32, %k: i32) {{
  %A = tir.match_buffer %a : !tir.buffer<32xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %many = tir.cmp ge %n, %c2 : i32
  %far = tir.cmp ge %k, %c2 : i32
  %both = tir.and %many, %far : i1
  tir.if %both {{
    tir.for %i = %c0 to %n annotations {annotated([0, 1], [0, 1])} {{
      tir.store %i, %A[%i] : i32
      tir.block {{
        %at = tir.add %i, %k : i32
        %x = tir.load %A[%at] : i32
        %y = tir.add %x, %i : i32
        %up = tir.add %at, %c8 : i32
        tir.store %y, %A[%up] : i32
      }}
    }}
  }}
}}"""
    )
    blocks = [op for op in module.walk() if isinstance(op, tir.BlockOp)]
    assert blocks
    assert all(block.predicate is None for block in blocks)


def test_a_pass_over_many_loops_visits_each_once() -> None:
    loop = STAGED.format(
        start=0,
        extent=4,
        dtype="i32",
        count="%n",
        annotations=annotated([0, 1], [0, 1]),
    )
    functions = "\n".join(loop.replace("@staged", f"@f{n}") for n in range(20))
    module = tir_passes.InjectSoftwarePipeline()(parsed(functions))
    module.verify()
    buffers = [op for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    assert [buffer.type.get_shape() for buffer in buffers] == [(2, 1)] * 20


NAMELESS = """
tir.func @nameless(%a: !tir.handle) {{
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %p = tir.allocate [1] : !tir.ptr<i32>
  tir.for %i = %c0 to %c8 annotations {lists} {{
    tir.block "one" {{
      %B = tir.decl_buffer %p : !tir.buffer<1xi32>
      tir.store %i, %B[%c0] : i32
    }}
    tir.block "two" {{
      %B = tir.decl_buffer %p : !tir.buffer<1xi32>
      %x = tir.load %B[%c0] : i32
      tir.store %x, %A[%i] : i32
    }}
  }}
}}"""


def test_memory_that_only_statements_have_a_buffer_on() -> None:
    check(NAMELESS.format(lists=annotated([0, 1], [1, 0]))).verify()
    overtaken = parsed(NAMELESS.format(lists=annotated([0, 1], [0, 1])))
    with pytest.raises(PassFailedException, match="through memory an iteration later"):
        tir_passes.InjectSoftwarePipeline()(overtaken)


MATRICES = """
tir.func @matrices(%a: !tir.handle, %o: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<32x32xf16>
  %O = tir.match_buffer %o : !tir.buffer<4x32x8xf16>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c256 = tir.const 256 : i32
  %no = tir.const false
  %kind = tir.string ".b16"
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c32 {{
    %S = tir.alloc_buffer "S" : !tir.buffer<32x32xf16, "shared">
    tir.for %j = %c0 to %c32 {{
      %x = tir.load %A[%t, %j] : f16
      tir.store %x, %S[%t, %j] : f16
    }}
    tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    %rows = tir.floormod %t, %c16 : i32
    %row = tir.mul %rows, %c16 : i32
    %half = tir.floordiv %t, %c16 : i32
    %right = tir.mul %half, %c8 : i32
    %lane = tir.add %row, %right : i32
    tir.for %i = %c0 to %c4 annotations {lists} {{
      tir.block {{
        %L = tir.alloc_buffer "L" : !tir.buffer<8xf16, "local">
        tir.block "load" {{
          tir.reads %S[%c0 to 32, %c0 to 32]
          tir.writes %L[%c0 to 8]
          %to = tir.data %L : !tir.ptr<f16, "local">
          %from = tir.data %S : !tir.ptr<f16, "shared">
          %at = tir.mul %i, %c256 : i32
          %tile = tir.access_ptr r %from[%at to %at + %c256] : !tir.ptr<f16, "shared">
          %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %to, %c0, %tile, %lane) :
            (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32,
            !tir.ptr<f16, "shared">, i32) -> f16
        }}
        tir.for %j = %c0 to %c8 {{
          %x = tir.load %L[%j] : f16
          tir.store %x, %O[%i, %t, %j] : f16
        }}
      }}
    }}
  }}
}}"""


@pytest.mark.parametrize("last", [1, 2])
def test_registers_that_a_builtin_fills(last: int) -> None:
    module = check(MATRICES.format(lists=annotated([0, last], [0, 1])))
    (registers,) = (
        op.type
        for op in module.walk()
        if isinstance(op, tir.AllocBufferOp) and op.type.scope.data == "local"
    )
    assert registers.get_shape() == (last + 1, 8)
