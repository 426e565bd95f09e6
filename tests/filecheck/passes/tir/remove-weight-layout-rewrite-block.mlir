// RUN: xdsl-opt %s -p tir-remove-weight-layout-rewrite-block --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-remove-weight-layout-rewrite-block{skip_ndarray_rewrite=true}' --split-input-file | filecheck %s --check-prefix SKIP

// CASE: RemoveWeightLayoutRewriteBlock.1
// The parameter is in the new layout; loops, variables and annotations of the block stay.
// The block around, which reads the weight, reads it in the new layout.
// CHECK-LABEL: tir.func @parameter
// CHECK-SAME:    layout_free_buffers = [1 : i32]
// CHECK-NEXT:    %A = tir.match_buffer %a
// CHECK-NEXT:    %P = tir.match_buffer "P" %b : !tir.buffer<8x4x2xi32>
// CHECK-NEXT:    %C = tir.match_buffer %c
// CHECK:         tir.block "root" {
// CHECK-NEXT:      [[ZERO:%\w+]] = tir.const 0 : i32
// CHECK-NEXT:      tir.reads %A[%c0 to %c8], %P[[[ZERO]] to 8, [[ZERO]] to 4, [[ZERO]] to 2]
// CHECK-NEXT:      tir.writes %C[%c0 to %c8]
// CHECK-NEXT:      tir.for %i = %c0 to %c8 {
// CHECK-NEXT:        tir.for %j = %c0 to %c8 {
// CHECK-NEXT:          tir.block "pack" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j) annotations {meta_schedule.layout_rewrite_preproc = true} {
// CHECK-NEXT:            tir.reads
// CHECK-NEXT:            tir.writes
// CHECK-NEXT:            tir.evaluate
// CHECK-NEXT:          }
// CHECK:               tir.reads %A[%vj_1], %P[%vj_1, %q, %r]
// CHECK:               tir.load %P[%vj_1, %q, %r] : i32
tir.func @parameter(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {layout_free_buffers = [1 : i32], tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %B = tir.match_buffer %b : !tir.buffer<8x8xi32>
  %C = tir.match_buffer %c : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %f = tir.string "scale"
  tir.block "root" {
    tir.reads %A[%c0 to %c8], %B[%c0 to %c8, %c0 to %c8]
    tir.writes %C[%c0 to %c8]
    %P = tir.alloc_buffer "P" : !tir.buffer<8x4x2xi32>
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.block "pack" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j) annotations {meta_schedule.layout_rewrite_preproc = true} {
          %q = tir.floordiv %vi, %c2 : i32
          %r = tir.floormod %vi, %c2 : i32
          tir.reads %B[%vi, %vj]
          tir.writes %P[%vj, %q, %r]
          %x = tir.load %B[%vi, %vj] : i32
          tir.store %x, %P[%vj, %q, %r] : i32
        }
      }
    }
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.block "use" (%vi : S in [%c0 to %c8] = %i, %vj : R in [%c0 to %c8] = %j) {
          %q = tir.floordiv %vi, %c2 : i32
          %r = tir.floormod %vi, %c2 : i32
          tir.reads %A[%vj], %P[%vj, %q, %r]
          tir.writes %C[%vi]
          tir.init {
            tir.store %c0, %C[%vi] : i32
          }
          %s = tir.call "call_extern"(%f) : (!tir.handle) -> i32
          %x = tir.load %P[%vj, %q, %r] : i32
          %y = tir.load %A[%vj] : i32
          %z = tir.mul %x, %y : i32
          %o = tir.load %C[%vi] : i32
          %n = tir.add %o, %z : i32
          tir.store %n, %C[%vi] : i32
        }
      }
    }
  }
}

// -----

// CASE: RemoveWeightLayoutRewriteBlock.2
// CASE: RemoveWeightLayoutRewriteBlock.3
// The contents of a constant are put in the new order, or only get the new shape.
// CHECK-LABEL: tir.func @constant
// CHECK:         %p = tir.allocate_const dense<{{\[\[}}0, 3], [1, 4], [2, 5]]> : tensor<3x2xi32> : !tir.ptr<i32>
// CHECK-NEXT:    %P = tir.decl_buffer "P" %p : !tir.buffer<3x2xi32>
// CHECK-NEXT:    tir.block "root" {
// CHECK-NEXT:      tir.for
// CHECK:             tir.evaluate
// CHECK:             tir.reads %P[%vi_1, %vj_1]
// CHECK:             tir.load %P[%vi_1, %vj_1]
// SKIP-LABEL:  tir.func @constant
// SKIP:          %p = tir.allocate_const dense<{{\[\[}}0, 1], [2, 3], [4, 5]]> : tensor<3x2xi32> : !tir.ptr<i32>
// SKIP-NEXT:     %P = tir.decl_buffer "P" %p : !tir.buffer<3x2xi32>
tir.func @constant(%c: !tir.handle, %p0: !tir.ptr<i32>) {
  %C = tir.match_buffer %c : !tir.buffer<3x2xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %p = tir.allocate_const dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32> : !tir.ptr<i32>
  %W = tir.decl_buffer "W" %p : !tir.buffer<2x3xi32>
  tir.block "root" {
    %P = tir.alloc_buffer "P" : !tir.buffer<3x2xi32>
    tir.for %i = %c0 to %c2 {
      tir.for %j = %c0 to %c3 {
        tir.block "pack" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c3] = %j) annotations {meta_schedule.layout_rewrite_preproc = 1 : i32} {
          tir.reads %W[%vi, %vj]
          tir.writes %P[%vj, %vi]
          %x = tir.load %W[%vi, %vj] : i32
          tir.store %x, %P[%vj, %vi] : i32
        }
      }
    }
    tir.for %i = %c0 to %c3 {
      tir.for %j = %c0 to %c2 {
        tir.block "use" (%vi : S in [%c0 to %c3] = %i, %vj : S in [%c0 to %c2] = %j) {
          tir.reads %P[%vi, %vj]
          tir.writes %C[%vi, %vj]
          %x = tir.load %P[%vi, %vj] : i32
          tir.store %x, %C[%vi, %vj] : i32
        }
      }
    }
  }
}

// -----

// CASE: RemoveWeightLayoutRewriteBlock.4
// Without the annotation, or where it is 0, nothing happens.
// CHECK-LABEL: tir.func @not_marked
// CHECK:         %P = tir.alloc_buffer "P"
// CHECK:         tir.load %W[%vi]
// CHECK:         tir.store %x, %P[%vi]
// CHECK:         tir.load %P[%vi_1]
// CHECK:         tir.store
tir.func @not_marked(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "not_marked"} {
  %W = tir.match_buffer %a : !tir.buffer<8xi32>
  %C = tir.match_buffer %c : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.block "root" {
    %P = tir.alloc_buffer "P" : !tir.buffer<8xi32>
    tir.for %i = %c0 to %c8 {
      tir.block "pack" (%vi : S in [%c0 to %c8] = %i) annotations {meta_schedule.layout_rewrite_preproc = 0 : i32} {
        %x = tir.load %W[%vi] : i32
        tir.store %x, %P[%vi] : i32
      }
    }
    tir.for %i = %c0 to %c8 {
      tir.block "use" (%vi : S in [%c0 to %c8] = %i) annotations {meta_schedule.random_compute_producer = 1 : i32} {
        %x = tir.load %P[%vi] : i32
        tir.store %x, %C[%vi] : i32
      }
    }
  }
}
