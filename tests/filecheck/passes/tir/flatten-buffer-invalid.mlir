// RUN: xdsl-opt %s -p tir-flatten-buffer --split-input-file --verify-diagnostics | filecheck %s

// CASE: FlattenBuffer.16
tir.func @match(%b: !tir.handle) {
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %B[%c0 to 2] : !tir.buffer<2xi32>
  }
}
// CHECK: tir.match_region in @match must be gone here; run tir-lower-match-buffer first

// -----

// CASE: FlattenBuffer.16
tir.func @unordered() {
  %A = tir.alloc_buffer {axis_separators = array<i64: 2, 1>} : !tir.buffer<4x4x4xi32>
}
// CHECK: tir.alloc_buffer: axis separators must ascend

// -----

// CASE: FlattenBuffer.16
tir.func @beyond() {
  %A = tir.alloc_buffer {axis_separators = array<i64: 3>} : !tir.buffer<4x4xi32>
}
// CHECK: tir.alloc_buffer: axis separators must ascend

// -----

// CASE: FlattenBuffer.16
tir.func @other_shape() {
  %p = tir.allocate [4, 8] : !tir.ptr<i32>
  %A = tir.decl_buffer %p {axis_separators = array<i64: 1>} : !tir.buffer<8x4xi32>
}
// CHECK: tir.decl_buffer in @other_shape has axis separators, but not the shape of its tir.allocate; give both one shape

// -----

tir.func @separated_offset(%p: !tir.ptr<i32>, %n: i32) {
  %A = tir.decl_buffer %p offset %n {axis_separators = array<i64: 1>} : !tir.buffer<8x4xi32>
  tir.store %n, %A[%n, %n] : i32
}
// CHECK: tir.decl_buffer in @separated_offset has both an offset and axis separators; use one

// -----

tir.func @foreign(%p: !tir.ptr<i32>) {
  %A = tir.decl_buffer %p : !tir.buffer<8x4xi32>
  "test.op"(%A) : (!tir.buffer<8x4xi32>) -> ()
}
// CHECK: test.op in @foreign uses a buffer that is not flat, and neither accesses it nor takes its pointer; give it a flat buffer
