// RUN: xdsl-opt %s -p relax-legalize-ops,relax-rewrite-dataflow-reshape --split-input-file | filecheck %s

// Functions that keep the order of elements are views: reshape, and a transposition of
// dimensions of extent 1. A transposition and a broadcast are not.

// CHECK-LABEL: relax.func @views
relax.func @views(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %r = relax.dataflow -> (tensor<8x3xf32>) {
    // CHECK: %[[A:.*]] = relax.reshape %x, %{{.*}} : (tensor<4x6xf32>, !relax.shape<[1, 3, 8]>) -> tensor<1x3x8xf32>
    %s = relax.shape [1, 3, 8]
    %a = relax.reshape %x, %s : (tensor<4x6xf32>, !relax.shape<[1, 3, 8]>) -> tensor<1x3x8xf32>
    // CHECK: %[[B:.*]] = relax.reshape %[[A]], %{{.*}} -> tensor<3x1x8xf32>
    %b = relax.permute_dims %a axes [1, 0, 2] : (tensor<1x3x8xf32>) -> tensor<3x1x8xf32>
    // CHECK: %[[C:.*]] = relax.reshape %[[B]], %{{.*}} -> tensor<3x8xf32>
    %t = relax.shape [3, 8]
    %c = relax.reshape %b, %t : (tensor<3x1x8xf32>, !relax.shape<[3, 8]>) -> tensor<3x8xf32>
    // CHECK: relax.call_tir @{{.*}}(%[[C]]) : (tensor<3x8xf32>) -> tensor<8x3xf32>
    %d = relax.permute_dims %c : (tensor<3x8xf32>) -> tensor<8x3xf32>
    %e = relax.nn.relu %d : (tensor<8x3xf32>) -> tensor<8x3xf32>
    relax.output %e : tensor<8x3xf32>
  }
  relax.return %r : tensor<8x3xf32>
}

// -----

// With symbols, where the numbers of elements are provably equal.

!v = tensor<?x6xf32, #relax.dims<[n, 6]>>
!flat = tensor<?xf32, #relax.dims<[n * 6]>>

// CHECK-LABEL: relax.func @symbolic
relax.func @symbolic<n>(%x: !v) -> !flat {
  %r = relax.dataflow -> (!flat) {
    // CHECK: %[[A:.*]] = relax.reshape %x, %{{.*}} : ({{.*}}, !relax.shape<[n * 6]>)
    %s = relax.shape [n * 6]
    %a = relax.reshape %x, %s : (!v, !relax.shape<[n * 6]>) -> !flat
    // CHECK: relax.call_tir @relu(%[[A]])
    %b = relax.nn.relu %a : (!flat) -> !flat
    relax.output %b : !flat
  }
  relax.return %r : !flat
}

// -----

// The result of a dataflow block, and what is outside of one, is copied.

// CHECK-LABEL: relax.func @results
relax.func @results(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  // CHECK-NOT: relax.reshape
  %s = relax.shape [24]
  %a = relax.reshape %x, %s : (tensor<4x6xf32>, !relax.shape<[24]>) -> tensor<24xf32>
  %r = relax.dataflow -> (tensor<2x12xf32>) {
    %t = relax.shape [2, 12]
    %b = relax.reshape %a, %t : (tensor<24xf32>, !relax.shape<[2, 12]>) -> tensor<2x12xf32>
    relax.output %b : tensor<2x12xf32>
  }
  relax.return %r : tensor<2x12xf32>
}

// -----

// A tensor that is not read does not matter, nor where the one that is is. A cast,
// a part of a tensor, a constant offset and a copy that skips iterations are no views.

tir.func @second(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c4 = tir.const 4 : i64
  tir.block "root" {
    tir.for %i = %c0 to %c2 {
      tir.for %j = %c0 to %c4 {
        tir.block "C" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c4] = %j) {
          %row = tir.mul %vi, %c4 : i64
          %k = tir.add %row, %vj : i64
          tir.reads %B[%vi, %vj]
          tir.writes %C[%k]
          %x = tir.load %B[%vi, %vj] : f32
          tir.store %x, %C[%k] : f32
        }
      }
    }
  }
}
tir.func @part(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c4 {
    tir.block "C" (%vi : S in [%c0 to %c4] = %i) {
      tir.reads %A[%vi]
      tir.writes %C[%vi]
      %x = tir.load %A[%vi] : f32
      tir.store %x, %C[%vi] : f32
    }
  }
  tir.for %i = %c0 to %c4 {
    tir.block "D" (%vi : S in [%c0 to %c4] = %i) {
      %k = tir.add %vi, %c4 : i64
      tir.reads
      tir.writes %C[%k]
      tir.store %zero, %C[%k] : f32
    }
  }
}
tir.func @cast(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  tir.for %i = %c0 to %c8 {
    tir.block "C" (%vi : S in [%c0 to %c8] = %i) {
      tir.reads %A[%vi]
      tir.writes %C[%vi]
      %x = tir.load %A[%vi] : f32
      %y = tir.cast %x : f32 to i32
      tir.store %y, %C[%vi] : i32
    }
  }
}

// CHECK-LABEL: relax.func @uses
relax.func @uses(%x: tensor<2xf32>, %y: tensor<2x4xf32>) -> tensor<8xi32> {
  %r = relax.dataflow -> (tensor<8xi32>) {
    // CHECK: %[[A:.*]] = relax.reshape %y, %{{.*}} -> tensor<8xf32>
    %a = relax.call_tir @second(%x, %y) : (tensor<2xf32>, tensor<2x4xf32>) -> tensor<8xf32>
    // CHECK: %[[B:.*]] = relax.call_tir @part(%[[A]])
    %b = relax.call_tir @part(%a) : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK: relax.call_tir @cast(%[[B]])
    %c = relax.call_tir @cast(%b) : (tensor<8xf32>) -> tensor<8xi32>
    %d = relax.add %c, %c : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    relax.output %d : tensor<8xi32>
  }
  relax.return %r : tensor<8xi32>
}

// -----

// A copy that is written in place, or whose source is, stays a copy.

tir.func @copy(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  tir.for %i = %c0 to %c8 {
    tir.block "C" (%vi : S in [%c0 to %c8] = %i) {
      tir.reads %A[%vi]
      tir.writes %C[%vi]
      %x = tir.load %A[%vi] : f32
      tir.store %x, %C[%vi] : f32
    }
  }
}
tir.func @clear(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c8 {
    tir.store %zero, %A[%i] : f32
  }
}

// CHECK-LABEL: relax.func @in_place
relax.func @in_place(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = relax.dataflow -> (tensor<8xf32>) {
    // CHECK-NOT: relax.reshape
    %a = relax.call_tir @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = relax.call_tir @copy(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %c = relax.call_tir_inplace @clear(%a) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>
    %d = relax.add %b, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    relax.output %d : tensor<8xf32>
  }
  relax.return %r : tensor<8xf32>
}

// A function that is called, or one that it calls, may do so; @reads does not.

relax.func @clears(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relax.call_tir_inplace @clear(%x) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>
  relax.return %0 : tensor<8xf32>
}
relax.func @calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relax.call @clears(%x) : (tensor<8xf32>) -> tensor<8xf32>
  relax.return %0 : tensor<8xf32>
}
relax.func @reads(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relax.call_tir @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relax.call_tir_inplace @clear(%0) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>
  relax.return %1 : tensor<8xf32>
}

// CHECK-LABEL: relax.func @in_place_by_a_call
relax.func @in_place_by_a_call(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = relax.dataflow -> (tensor<8xf32>) {
    // CHECK: %[[A:.*]] = relax.reshape %x
    // CHECK-NEXT: %{{.*}} = relax.call_tir @copy(%[[A]])
    // CHECK: relax.call @calls
    %a = relax.call_tir @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = relax.call_tir @copy(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %c = relax.call @calls(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %d = relax.add %a, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    relax.output %d : tensor<8xf32>
  }
  relax.return %r : tensor<8xf32>
}

// CHECK-LABEL: relax.func @in_place_by_a_closure
relax.func @in_place_by_a_closure(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = relax.dataflow -> (tensor<8xf32>) {
    // CHECK: %[[A:.*]] = relax.reshape %x
    // CHECK-NEXT: %{{.*}} = relax.call_tir @copy(%[[A]])
    // CHECK: relax.invoke_pure_closure
    %a = relax.call_tir @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = relax.call_tir @copy(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %f = relax.make_closure @calls(%b) : (tensor<8xf32>) -> !relax.object
    %c = relax.invoke_pure_closure %f() : !relax.object, () -> tensor<8xf32>
    %d = relax.add %a, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    relax.output %d : tensor<8xf32>
  }
  relax.return %r : tensor<8xf32>
}

// CHECK-LABEL: relax.func @only_read
relax.func @only_read(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = relax.dataflow -> (tensor<8xf32>) {
    // CHECK: relax.reshape
    // CHECK: relax.reshape
    // CHECK: relax.call @reads
    %a = relax.call_tir @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = relax.call_tir @copy(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %c = relax.call @reads(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %d = relax.add %a, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    relax.output %d : tensor<8xf32>
  }
  relax.return %r : tensor<8xf32>
}
