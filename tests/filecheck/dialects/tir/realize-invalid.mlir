// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

tir.func @f(%i: i32) {
  // CHECK: tir.buffer_realize: the region must have the rank of !tir.buffer<4x4xf32>, got 1 dimensions
  %A = tir.buffer_realize bounds [%i] : !tir.buffer<4x4xf32>
}

// -----

tir.func @f(%i: i32) {
  // CHECK: tir.buffer_realize: every dynamic extent of the region needs one operand
  %A = "tir.buffer_realize"(%i) <{static_extents = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}> : (i32) -> !tir.buffer<4xf32>
}

// -----

tir.func @f(%i: i32) {
  // CHECK: tir.buffer_realize: the annotation 'buffer_dim_align' must be a list of [dimension, factor, offset], all integers, got [1 : i32]
  %A = tir.buffer_realize bounds [%i] annotations {buffer_dim_align = [1 : i32]} : !tir.buffer<4xf32>
}

// -----

tir.func @f(%i: i32) {
  // CHECK: tir.buffer_realize: !tir.buffer<?xf32> has 1 dynamic extents, but 0 are given
  %A = tir.buffer_realize bounds [%i] : !tir.buffer<?xf32>
}

// -----

tir.func @f(%i: i32) {
  %A = tir.alloc_buffer : !tir.buffer<4x4xf32>
  // CHECK: tir.prefetch: the region must have the rank of !tir.buffer<4x4xf32>, got 1 dimensions
  tir.prefetch %A[%i]
}

// -----

tir.func @f(%i: i32) {
  // CHECK: expected a !tir.buffer, got i32
  tir.prefetch %i[%i]
}
