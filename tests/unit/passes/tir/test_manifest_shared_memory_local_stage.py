"""What ManifestSharedMemoryLocalStage computes for random copies to shared memory."""

from __future__ import annotations

import os
import random

from support.ir import parse
from support.tir_programs import random_module
from xdsl.dialects.builtin import DictionaryAttr, UnitAttr, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import SemanticsError, check_semantics
from xdsl_tvm.passes.tir.manifest_shared_memory_local_stage import (
    ManifestSharedMemoryLocalStage,
)

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
STAGED = "tir.manifest_shared_memory_local_stage"


def random_copies(seed: int) -> str:
    """A kernel whose threads fill shared memory by marked copies, meet, and read it."""
    rng = random.Random(seed)
    threads, extents = rng.choice((1, 2, 8)), [rng.randint(1, 4) for _ in range(3)]
    count = rng.randint(0, 3)
    loops, size = extents[:count], 1
    lines: list[str] = []
    flat = "%c0"
    for depth, extent in enumerate(loops):
        low = rng.choice((0, 0, 3))
        kind = "vectorized" if depth == count - 1 and rng.random() < 0.5 else ""
        lines += [
            f"%lo{depth} = tir.const {low} : i32",
            f"%n{depth} = tir.const {extent} : i32",
            f"tir.for %i{depth} = %lo{depth} to %lo{depth} + %n{depth} {kind} {{",
            f"%z{depth} = tir.sub %i{depth}, %lo{depth} : i32",
            f"%m{depth} = tir.mul {flat}, %n{depth} : i32",
            f"%f{depth} = tir.add %m{depth}, %z{depth} : i32",
        ]
        flat = f"%f{depth}"
        size *= extent
    early = rng.random() < 0.5
    value = f"""
      %at = tir.add {flat}, %base : i32
      %x = tir.load %A[%at] : f32
      %y = tir.add %x, %x : f32"""
    where = ""
    if rng.random() < 0.4:
        lines.append(f"%p = tir.cmp ne {flat}, %skip : i32")
        where = "where %p"
    first, then = (value, "") if early else ("", value)
    lines.append(f"""{first}
    %to = tir.add {flat}, %base : i32
    tir.block "copy" {where} annotations {{{STAGED}}} {{{then}
      tir.store %y, %S[%to] : f32
    }}
    {"}" * count}""")
    total = threads * size
    return f"""
    tir.func @f(%a: !tir.handle, %o: !tir.handle, %skip: i32) {{
      %A = tir.match_buffer %a : !tir.buffer<{total}xf32>
      %O = tir.match_buffer %o : !tir.buffer<{total}xf32>
      %c0 = tir.const 0 : i32
      %zero = tir.const 0.0 : f32
      %threads = tir.const {threads} : i32
      %size = tir.const {size} : i32
      %total = tir.const {total} : i32
      %shared = tir.string "shared"
      tir.for %t = %c0 to %threads thread_binding "threadIdx.x" {{
        tir.block "root" {{
          %S = tir.alloc_buffer "S" : !tir.buffer<{total}xf32, "shared">
          %base = tir.mul %t, %size : i32
          tir.for %k = %c0 to %size {{
            %own = tir.add %base, %k : i32
            tir.store %zero, %S[%own] : f32
          }}
          {chr(10).join(lines)}
          tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
          tir.for %k = %c0 to %size {{
            %own = tir.add %base, %k : i32
            %one = tir.const 1 : i32
            %next = tir.add %own, %one : i32
            %from = tir.floormod %next, %total : i32
            %v = tir.load %S[%from] : f32
            tir.store %v, %O[%own] : f32
          }}
        }}
      }}
    }}"""


def test_random_copies() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_copies(seed))
        check_semantics(
            module, [ManifestSharedMemoryLocalStage()], seed=seed, tolerance=0
        )
        module = ManifestSharedMemoryLocalStage()(module)
        assert '"S_local"' in str(module)
        assert STAGED not in str(module)


def pass_through_shared(loop: tir.ForOp) -> None:
    """Let the body of a loop read its variable from shared memory that a copy fills."""
    body, variable = loop.body.block, loop.loop_var
    assert body.first_op is not None
    zero = tir.ConstOp.of(0, i32)
    buffer = tir.AllocBufferOp(tir.BufferType([1], variable.type, "shared"))
    load = tir.LoadOp(buffer, [zero])
    uses = [use for use in variable.uses if use.operation is not load]
    for use in uses:
        use.operation.operands[use.index] = load.result
    copy = tir.BlockOp("copy", annotations=DictionaryAttr({STAGED: UnitAttr()}))
    copy.body.block.add_op(tir.StoreOp(variable, buffer, [zero]))
    inner = tir.BlockOp("inner")
    rest = list(body.ops)
    for op in rest:
        op.detach()
    inner.body.block.add_ops([zero, buffer, copy, load, *rest])
    Rewriter.insert_op(inner, InsertPoint.at_end(body))


def is_in_loop_of_one_thread(loop: tir.ForOp) -> bool:
    variable: SSAValue = loop.loop_var
    return (
        loop.kind.data is tir.ForKind.SERIAL
        and variable.first_use is not None
        and not any(isinstance(op, tir.ForOp) for op in loop.body.walk())
    )


def test_loops_of_random_programs() -> None:
    checked = 0
    for seed in range(FIRST, FIRST + COUNT // 4):
        program = random_module(seed, isolated=True)
        if program.foreign or program.threads:
            continue
        module = program.module
        loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
        chosen = list(filter(is_in_loop_of_one_thread, loops))
        for loop in chosen:
            pass_through_shared(loop)
        module.verify()
        try:
            check_semantics(
                module, [ManifestSharedMemoryLocalStage()], seed=seed, tolerance=0
            )
        except SemanticsError as error:
            if error.pass_name is None:
                continue
            raise
        checked += len(chosen)
    assert checked
