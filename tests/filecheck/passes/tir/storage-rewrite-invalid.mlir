// RUN: xdsl-opt %s -p tir-storage-rewrite --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.for in @vectorized: a vectorized loop must be gone where memory is planned; run tir-vectorize-loop first
tir.func @vectorized(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %p = tir.allocate "P" [4] : !tir.ptr<f32>
  %P = tir.decl_buffer "P" %p : !tir.buffer<4xf32>
  tir.for %i = %c0 to %c4 vectorized {
    %x = tir.load %A[%i] : f32
    tir.store %x, %P[%i] : f32
  }
}

// -----

// CHECK: tir.decl_buffer in @dimensions has 1 physical dimensions, and the tir.allocate it is on 2; run tir-flatten-buffer first
tir.func @dimensions(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %p = tir.allocate "P" [2, 2] : !tir.ptr<f32>
  %P = tir.decl_buffer "P" %p : !tir.buffer<2x2xf32>
  %x = tir.load %A[%c0] : f32
  tir.store %x, %P[%c0, %c0] : f32
}

// -----

// CHECK: tir.allocate in @symbolic: special tagged memory, here local.L0A, must be of constant size; give it constant extents
tir.func @symbolic(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %p = tir.allocate "P" [%n] : !tir.ptr<f32, "local.L0A">
  %P = tir.decl_buffer "P" %p [%n] : !tir.buffer<?xf32, "local.L0A">
  %x = tir.load %A[%c0] : f32
  tir.store %x, %P[%c0] : f32
}
