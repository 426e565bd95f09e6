// RUN: xdsl-opt %s -p tir-convert-for-loops-to-serial --split-input-file | filecheck %s

// CASE: ConvertForLoopsToSerial.1
tir.func @convolution(%a: !tir.handle, %w: !tir.handle, %b: !tir.handle) attributes {global_symbol = "convolution"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<10x8xi16>
  %W = tir.match_buffer "W" %w : !tir.buffer<3xi16>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xi16>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0 : i16
  tir.for %i = %c0 to %c8 parallel {
    tir.for %j = %c0 to %c8 {
      tir.store %zero, %B[%i, %j] : i16
    }
  }
  tir.for %i = %c0 to %c8 parallel annotations {keep = 1 : i32} {
    tir.for %j = %c0 to %c8 {
      tir.for %k = %c0 to %c3 {
        %row = tir.add %i, %k : i32
        %x = tir.load %A[%row, %j] : i16
        %y = tir.load %W[%k] : i16
        %p = tir.mul %x, %y : i16
        %s = tir.load %B[%i, %j] : i16
        %t = tir.add %s, %p : i16
        tir.store %t, %B[%i, %j] : i16
      }
    }
  }
}
// CHECK-LABEL: tir.func @convolution
// CHECK-NOT:     parallel
// CHECK:         tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:         tir.for %{{.*}} = %{{.*}} to %{{.*}} annotations {keep = 1 : i32} {
// CHECK-NOT:     parallel

// -----

// CASE: ConvertForLoopsToSerial.2
tir.func @others(%a: !tir.handle) attributes {global_symbol = "others"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4x4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 vectorized {
    tir.for %j = %c0 to %c4 unrolled {
      tir.for %k = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.store %k, %A[%i, %j, %k] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @others
// CHECK:         tir.for %{{.*}} = %{{.*}} to %{{.*}} vectorized {
// CHECK-NEXT:      tir.for %{{.*}} = %{{.*}} to %{{.*}} unrolled {
// CHECK-NEXT:        tir.for %{{.*}} = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {

// -----

// CASE: ConvertForLoopsToSerial.3
// The reference leaves the inner loop parallel.
tir.func @nested(%a: !tir.handle) attributes {global_symbol = "nested"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 parallel {
    tir.for %j = %c0 to %c4 parallel {
      tir.store %j, %A[%i, %j] : i32
    }
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK-NOT:     parallel
// CHECK:         tir.for
// CHECK-NEXT:      tir.for
// CHECK-NOT:     parallel
