// RUN: xdsl-opt %s -p 'tir-default-gpu-schedule{target="cuda"}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-bind-target{target="cuda" host="llvm"},tir-default-gpu-schedule' --split-input-file | filecheck %s --check-prefix BOUND

// CASE: DefaultGPUSchedule.2
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "matmul"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x6xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<6x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c6 = tir.const 6 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  tir.for "i" %i = %c0 to %c8 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c6 {
        tir.block "C" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c4] = %j, %vk : R in [%c0 to %c6] = %k) {
          tir.reads %A[%vi, %vk], %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {
            tir.store %zero, %C[%vi, %vj] : f32
          }
          %x = tir.load %A[%vi, %vk] : f32
          %y = tir.load %B[%vk, %vj] : f32
          %z = tir.load %C[%vi, %vj] : f32
          %p = tir.mul %x, %y : f32
          %s = tir.add %z, %p : f32
          tir.store %s, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @matmul
// CHECK-SAME:    tir.is_scheduled = true
// CHECK:         tir.for "i_j_fused_0" %[[B:.*]] = %{{.*}} to %{{.*}} thread_binding "blockIdx.x" {
// CHECK:           tir.for "i_j_fused_1" %[[T:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:          %[[F:.*]] = tir.mul %[[B]], %[[C32]] : i32
// CHECK-NEXT:          %[[G:.*]] = tir.add %[[F]], %[[T]] : i32
// CHECK-NEXT:          %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:          %[[I:.*]] = tir.floordiv %[[G]], %[[C4]] : i32
// CHECK-NEXT:          %[[J:.*]] = tir.floormod %[[G]], %[[C4]] : i32
// CHECK-NEXT:          tir.block "C" (%vi : S in [{{.*}}] = %[[I]], %vj : S in [{{.*}}] = %[[J]], %vk : R in [{{.*}}] = %[[K]]) {
// CHECK-NOT:       tir.for

// BOUND-LABEL: tir.func @matmul
// BOUND:         thread_binding "threadIdx.x"

// -----

// What is in threads already stays, as do the bodies of functions for a CPU.
tir.func @by_hand(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for "i" %i = %c0 to %c8 thread_binding "blockIdx.y" {
    tir.for "j" %j = %c0 to %c8 {
      tir.block "A" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j) {
        tir.writes %A[%vi, %vj]
        tir.store %vi, %A[%vi, %vj] : i32
      }
    }
  }
}
tir.func @for_cpu(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for "i" %i = %c0 to %c8 {
    tir.block "A" (%vi : S in [%c0 to %c8] = %i) {
      tir.writes %A[%vi]
      tir.store %vi, %A[%vi] : i32
    }
  }
}
tir.func @marked(%a: !tir.handle) attributes {tir.is_scheduled = 1 : i32} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for "i" %i = %c0 to %c8 {
    tir.block "A" (%vi : S in [%c0 to %c8] = %i) {
      tir.writes %A[%vi]
      tir.store %vi, %A[%vi] : i32
    }
  }
}
tir.func @declared(!tir.handle)
// CHECK-LABEL: tir.func @by_hand
// CHECK-SAME:    tir.is_scheduled = true
// CHECK:         tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} thread_binding "blockIdx.y" {
// CHECK-NEXT:      tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK-LABEL: tir.func @for_cpu
// CHECK-SAME:    tir.is_scheduled = true
// CHECK:         tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK-LABEL: tir.func @marked
// CHECK-SAME:    tir.is_scheduled = 1 : i32
// CHECK:         tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:       tir.func @declared(!tir.handle)
// CHECK-NOT:     tir.is_scheduled
// BOUND: tir.func @by_hand

// -----

// A block in a block: the inner one is bound, the loops of the outer one stay around it.
tir.func @nested(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for "i" %i = %c0 to %c8 {
    tir.block "outer" (%vi : S in [%c0 to %c8] = %i) {
      tir.writes %A[%vi, %c0 to %c8]
      tir.for "j" %j = %c0 to %c8 {
        tir.block "inner" (%vj : S in [%c0 to %c8] = %j) {
          tir.writes %A[%vi, %vj]
          tir.store %vj, %A[%vi, %vj] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK:         tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:           tir.block "outer"
// CHECK:             tir.for "j_fused_0" %{{.*}} thread_binding "blockIdx.x" {
// CHECK:               tir.for "j_fused_1" %{{.*}} thread_binding "threadIdx.x" {
// CHECK:                 tir.block "inner"
// BOUND: tir.func @nested
