// RUN: xdsl-opt %s -p tir-infer-fragment --split-input-file --verify-diagnostics | filecheck %s

// Two shapes.
// CASE: InferFragment.3
tir.func @invalid(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  tir.call "tvm_load_matrix_sync"(%a, %c16, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_load_matrix_sync"(%a, %c32, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
}
// CHECK: uses a fragment of sizes 16, 16, 16 with sizes 32, 16, 16; use one fragment for each

// -----

// Two layouts.
// CASE: InferFragment.4
tir.func @invalid(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  tir.call "tvm_load_matrix_sync"(%a, %c16, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_load_matrix_sync"(%a, %c16, %c16, %c16, %c0, %p, %c16, %col)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
}
// CHECK: uses a fragment of layout row_major with layout col_major; use one fragment for each

// -----

// Never filled.
// CASE: InferFragment.5
tir.func @invalid(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  tir.call "tvm_load_matrix_sync"(%a, %c16, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_load_matrix_sync"(%b, %c16, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_mma_sync"(%c, %c0, %a, %c0, %b, %c0, %c, %c0)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32,
       !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> ()
}
// CHECK: uses a fragment that must be filled with tvm_fill_fragment or loaded with tvm_load_matrix_sync before use; fill or load it

// -----

// Different sizes.
// CASE: InferFragment.6
tir.func @invalid(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  tir.call "tvm_load_matrix_sync"(%a, %c32, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_load_matrix_sync"(%b, %c16, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_fill_fragment"(%c, %c16, %c16, %c16, %c0, %zero)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> ()
  tir.call "tvm_mma_sync"(%c, %c0, %a, %c0, %b, %c0, %c, %c0)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32,
       !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> ()
}
// CHECK: multiplies fragments of sizes 16, 16, 16 and 32, 16, 16; give all of them one shape
