// RUN: xdsl-opt %s -p tir-lower-opaque-block --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerOpaqueBlock.16
tir.func @bindings(%i: i32) {
  %c0 = tir.const 0 : i32
  tir.block "B" (%v : S in [%c0 to %i] = %i) {
  }
}
// CHECK: tir.block "B" in @bindings has iteration variables; run tir-convert-blocks-to-opaque first

// -----

tir.func @init() {
  tir.block "B" {
    tir.init {
    }
  }
}
// CHECK: tir.init in @init must be gone here; run tir-lower-init-block first

// -----

tir.func @match(%b: !tir.handle) {
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %B[%c0 to 2] : !tir.buffer<2xi32>
  }
}
// CHECK: tir.match_region in @match must be gone here; run tir-lower-match-buffer first

// -----

// CASE: LowerOpaqueBlock.16
tir.func @block_pragma() {
  tir.block "B" annotations {"pragma_x" = [1 : i32]} {
  }
}
// CHECK: tir.block "B" in @block_pragma: the pragma 'pragma_x' is of type array; write a string, an integer, a float or unit

// -----

// CASE: LowerOpaqueBlock.16
tir.func @loop_pragma(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {"pragma_x" = {"a" = 1 : i32}} {
  }
}
// CHECK: tir.for in @loop_pragma: the pragma 'pragma_x' is of type dictionary; write a string

// -----

// CASE: LowerOpaqueBlock.16
tir.func @stride() {
  tir.block {
    %B = tir.alloc_buffer strides [17, 2] : !tir.buffer<4x8xf32>
  }
}
// CHECK: tir.alloc_buffer in @stride: stride 0 must be a multiple of stride 1 that can be shown to be one

// -----

tir.func @symbolic_stride(%s: i32) {
  tir.block {
    %B = tir.alloc_buffer strides [%s, 2] : !tir.buffer<4x8xf32>
  }
}
// CHECK: tir.alloc_buffer in @symbolic_stride: stride 0 must be a multiple of stride 1

// -----

tir.func @overlap() {
  tir.block {
    %B = tir.alloc_buffer strides [8, 1] : !tir.buffer<4x16xf32>
  }
}
// CHECK: tir.alloc_buffer in @overlap: stride 0 is too small for the extent of dimension 1, so its rows overlap; enlarge the stride

// -----

tir.func @offset(%n: i32) {
  tir.block {
    %B = tir.alloc_buffer offset %n : !tir.buffer<4xf32>
  }
}
// CHECK: tir.alloc_buffer in @offset allocates a buffer with an element offset, which its memory would not hold; remove the offset

// -----

tir.func @align_text() {
  tir.block "B" annotations {"buffer_dim_align" = "wide"} {
  }
}
// CHECK: tir.block: the annotation 'buffer_dim_align' must be a list of [buffer, dimension, factor, offset], all integers, got "wide"

// -----

tir.func @align_buffer() {
  tir.block "B" annotations {"buffer_dim_align" = [[0 : i32, 1 : i32, 2 : i32, 1 : i32]]} {
  }
}
// CHECK: tir.block "B" in @align_buffer: buffer_dim_align names written buffer 0, but the block declares 0 in tir.writes
