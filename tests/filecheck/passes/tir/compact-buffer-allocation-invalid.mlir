// RUN: xdsl-opt %s -p tir-compact-buffer-allocation --split-input-file --verify-diagnostics | filecheck %s

// CASE: CompactBufferAllocation.31
tir.func @iterates(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "B" (%vi : S in [%c0 to %c4] = %i) {
    }
  }
}
// CHECK: tir.block "B" in @iterates has iteration variables; run tir-convert-blocks-to-opaque first

// -----

tir.func @starts(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.block {
    tir.init {
      tir.store %c0, %A[%c0] : i32
    }
  }
}
// CHECK: tir.init in @starts must be gone here; run tir-lower-init-block first

// -----

tir.func @align(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  tir.block "B" annotations {buffer_dim_align = [[1 : i32, 0 : i32, 16 : i32, 0 : i32]]} {
    %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
    tir.reads
    tir.writes %B[%c0]
    tir.store %c0, %B[%c0] : i32
  }
}
// CHECK: tir.block "B" in @align: buffer_dim_align names written buffer 1, but the block declares 1 in tir.writes

// -----

tir.func @explicit(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
    tir.block "C" annotations {explicit_write_region = [2 : i32]} {
      tir.reads
      tir.writes %B[%c0]
      tir.store %c0, %B[%c0] : i32
    }
  }
}
// CHECK: tir.block "C" in @explicit: explicit_write_region names region 2, but the block declares 1; count them from 0

// -----

tir.func @uneven(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  %p = tir.allocate [4, 3, 5] annotations {buffer_dim_align = [[-1 : i32, 0 : i32, 16 : i32, 1 : i32]]} : !tir.ptr<i32>
  %B = tir.decl_buffer "B" %p : !tir.buffer<4x3x5xi32>
  tir.store %c0, %B[%c0, %c0, %c0] : i32
  %c2 = tir.const 2 : i32
  tir.store %c0, %B[%c2, %c2, %c2] : i32
}
// CHECK: tir.decl_buffer in @uneven: stride 0 must be a multiple of stride 1 that can be shown to be one; write it as such a product
