"""Products of matrices in the registers that TransformMmaBufferLayout makes."""

from __future__ import annotations

import os
import random

import numpy as np
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.transform_mma_buffer_layout import TransformMmaBufferLayout
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SCOPES = ("m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC")
PRODUCT = """
tir.func @product(%a: !tir.handle, %b: !tir.handle, %o: !tir.handle) {
  %I = tir.match_buffer %a : !tir.buffer<32x8xf16>
  %J = tir.match_buffer %b : !tir.buffer<8x32xf16>
  %O = tir.match_buffer %o : !tir.buffer<32x32xf32>
  %no = tir.const false
  %yes = tir.const true
  %shape = tir.string "m16n8k8"
  %row = tir.string "row"
  %col = tir.string "col"
  %half = tir.string "fp16"
  %single = tir.string "fp32"
  %kind = tir.string ".b16"
  %shared = tir.string "shared"
  %zero = tir.const 0.0 : f32
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
    tir.block "root" {
      %S = tir.alloc_buffer "S" : !tir.buffer<32x8xf16, "shared">
      %R = tir.alloc_buffer "R" : !tir.buffer<8x32xf16, "shared">
      %A = tir.alloc_buffer "A" : !tir.buffer<32x8xf16, "m16n8k8.matrixA">
      %B = tir.alloc_buffer "B" : !tir.buffer<8x32xf16, "m16n8k8.matrixB">
      %C = tir.alloc_buffer "C" : !tir.buffer<32x32xf32, "m16n8k8.matrixC">
      tir.for %i = %c0 to %c8 {
        %x = tir.load %I[%t, %i] : f16
        tir.store %x, %S[%t, %i] : f16
        %y = tir.load %J[%i, %t] : f16
        tir.store %y, %R[%i, %t] : f16
      }
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      %s = tir.data %S : !tir.ptr<f16, "shared">
      %r = tir.data %R : !tir.ptr<f16, "shared">
      %pa = tir.data %A : !tir.ptr<f16, "m16n8k8.matrixA">
      %pb = tir.data %B : !tir.ptr<f16, "m16n8k8.matrixB">
      %pc = tir.data %C : !tir.ptr<f32, "m16n8k8.matrixC">
      %g = tir.floordiv %t, %c4 : i32
      %q = tir.floormod %t, %c4 : i32
      %pair = tir.mul %q, %c2 : i32
      %at = tir.mul %t, %c8 : i32
      %la = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %pa, %c0, %s, %at)
        : (i1, i32, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixA">, i32,
           !tir.ptr<f16, "shared">, i32) -> f16
      tir.evaluate %la : f16
      %k = tir.floormod %t, %c8 : i32
      %line = tir.mul %k, %c32 : i32
      %tile = tir.floordiv %t, %c8 : i32
      %first = tir.mul %tile, %c8 : i32
      %from = tir.add %line, %first : i32
      %lb = tir.call "ptx_ldmatrix"(%yes, %c4, %kind, %pb, %c0, %r, %from)
        : (i1, i32, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixB">, i32,
           !tir.ptr<f16, "shared">, i32) -> f16
      tir.evaluate %lb : f16
      tir.for %m = %c0 to %c2 {
        tir.for %n = %c0 to %c4 {
          %top = tir.mul %m, %c16 : i32
          %left = tir.mul %n, %c8 : i32
          tir.for %u = %c0 to %c2 {
            tir.for %v = %c0 to %c2 {
              %h = tir.mul %u, %c8 : i32
              %h1 = tir.add %top, %h : i32
              %i = tir.add %h1, %g : i32
              %w = tir.add %left, %pair : i32
              %j = tir.add %w, %v : i32
              tir.block "init" {
                tir.writes %C[%i, %j]
                tir.store %zero, %C[%i, %j] : f32
              }
            }
          }
          %oa = tir.mul %m, %c4 : i32
          %ob = tir.mul %n, %c2 : i32
          %mn = tir.add %oa, %n : i32
          %oc = tir.mul %mn, %c4 : i32
          %d = tir.call "ptx_mma"(%shape, %row, %col, %half, %half, %single, %pa, %oa,
            %pb, %ob, %pc, %oc, %no)
            : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle,
               !tir.handle, !tir.ptr<f16, "m16n8k8.matrixA">, i32,
               !tir.ptr<f16, "m16n8k8.matrixB">, i32,
               !tir.ptr<f32, "m16n8k8.matrixC">, i32, i1) -> f32
          tir.evaluate %d : f32
          tir.for %u = %c0 to %c2 {
            tir.for %v = %c0 to %c2 {
              %h = tir.mul %u, %c8 : i32
              %h1 = tir.add %top, %h : i32
              %i = tir.add %h1, %g : i32
              %w = tir.add %left, %pair : i32
              %j = tir.add %w, %v : i32
              %x = tir.load %C[%i, %j] : f32
              tir.store %x, %O[%i, %j] : f32
            }
          }
        }
      }
    }
  }
}"""


def in_registers(module: ModuleOp) -> ModuleOp:
    TransformMmaBufferLayout().apply(new_context(), module)
    module.verify()
    for op in module.walk():
        if isinstance(op, tir.AllocBufferOp):
            assert op.type.scope.data not in SCOPES
    return module


def test_elements_and_intrinsics_mean_the_same_registers() -> None:
    """Intrinsics fill what loads and stores address by row and column."""
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 9, (32, 8)).astype(np.float16)
    b = rng.integers(-8, 9, (8, 32)).astype(np.float16)
    found = np.zeros((32, 32), np.float32)
    interpret(in_registers(parse(PRODUCT)))["product"](a, b, found)
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def own_element(rng: random.Random, rows: int, columns: int, lines: list[str]) -> str:
    """Row and column of an element of C that the lane holds, in any way to write them."""
    count = len(lines)
    tall, wide = rng.randrange(rows // 8), rng.randrange(columns // 8)
    row = f"%r{count}"
    lines += [
        f"%h{count} = tir.const {8 * tall} : i32",
        f"{row} = tir.add %h{count}, %g : i32",
        f"%w{count} = tir.const {8 * wide} : i32",
        f"%k{count} = tir.add %w{count}, {rng.choice(('%even', '%odd'))} : i32",
    ]
    return f"{row}, %k{count}"


def random_tiles(seed: int) -> str:
    """Random updates of C by lanes, each of its own elements."""
    rng = random.Random(seed)
    rows, columns = 16 * rng.randrange(1, 4), 8 * rng.randrange(1, 4)
    versions = rng.choice((0, 0, 2, 3))
    leading = f"{versions}x" if versions else ""
    lines: list[str] = []
    for n in range(rng.randrange(3, 9)):
        version = f"%v{n}, " if versions else ""
        lines.append(f"%v{n} = tir.const {rng.randrange(versions or 1)} : i32")
        place = version + own_element(rng, rows, columns, lines)
        lines += [f"%x{n} = tir.add %t, %n : i32"]
        lines += [f"tir.store %x{n}, %C[{place}] : i32"]
        if rng.random() < 0.5:
            lines += [f"tir.for %i{n} = %c0 to %c4 {{"]
            lines += [f"%y{n} = tir.load %C[{place}] : i32"]
            lines += [f"%z{n} = tir.mul %y{n}, %i{n} : i32"]
            lines += [f"%s{n} = tir.add %z{n}, %i{n} : i32"]
            lines += [f"tir.store %s{n}, %C[{place}] : i32", "}"]
        lines += [f"%o{n} = tir.load %C[{place}] : i32"]
        lines += [f"%old{n} = tir.load %O[%t] : i32"]
        lines += [f"%new{n} = tir.add %old{n}, %o{n} : i32"]
        lines += [f"tir.store %new{n}, %O[%t] : i32"]
    body = "\n".join(lines)
    return f"""
    tir.func @tiles(%o: !tir.handle, %n: i32) {{
      %O = tir.match_buffer %o : !tir.buffer<32xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %c2 = tir.const 2 : i32
      %c4 = tir.const 4 : i32
      %c32 = tir.const 32 : i32
      tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {{
        tir.block "root" {{
          %C = tir.alloc_buffer "C"
            : !tir.buffer<{leading}{rows}x{columns}xi32, "m16n8k8.matrixC">
          tir.writes %C[{"%c0, " if versions else ""}%c0 to {rows}, %c0 to {columns}]
          %g = tir.floordiv %t, %c4 : i32
          %q = tir.floormod %t, %c4 : i32
          %even = tir.mul %q, %c2 : i32
          %odd = tir.add %even, %c1 : i32
          {body}
        }}
      }}
    }}"""


def test_lanes_find_their_elements() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_tiles(seed))
        check_semantics(module, (TransformMmaBufferLayout(),), seed=seed, runs=1)
        in_registers(module)
