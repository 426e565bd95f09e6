// RUN: xdsl-opt %s -p tir-instrument-bound-checkers --split-input-file --verify-diagnostics | filecheck %s

// CASE: InstrumentBoundCheckers.12
// CHECK: tir.store in @f: has 1 indices, and the memory has 2 bounds; give as many to tir.attr "buffer_bound" as the flat buffer has dimensions
tir.func @f(%a: !tir.ptr<f32>, %i: i32) {
  %c4 = tir.const 4 : i32
  %x = tir.const 1.0 : f32
  %t = tir.call "tvm_tuple"(%c4, %c4) : (i32, i32) -> !tir.handle
  tir.attr "buffer_bound" (%a) = %t {
    %A = tir.decl_buffer "A" %a : !tir.buffer<16xf32>
    tir.store %x, %A[%i] : f32
  }
}
