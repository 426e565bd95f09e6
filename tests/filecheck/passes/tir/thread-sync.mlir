// RUN: xdsl-opt %s -p 'tir-thread-sync{storage_scope="shared"}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-thread-sync{storage_scope="global"}' --split-input-file | filecheck %s --check-prefix=GRID

// The barrier is before the expressions of the statement with the second access.
tir.func @reversed(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %x = tir.load %A[%t] : f32
    tir.store %x, %S[%t] : f32
    %r = tir.sub %c63, %t : i32
    %y = tir.load %S[%r] : f32
    tir.store %y, %B[%t] : f32
  }
}
// CHECK-LABEL: tir.func @reversed
// CHECK:         tir.store %{{.*}}, %[[S:.*]][%{{.*}}] : f32
// CHECK-NEXT:    %[[N:.*]] = tir.string "shared"
// CHECK-NEXT:    tir.call "tvm_storage_sync"(%[[N]]) : (!tir.handle) -> i32
// CHECK-NEXT:    tir.sub
// CHECK-NEXT:    tir.load %[[S]]
// CHECK-NEXT:    tir.store
// GRID-LABEL: tir.func @reversed
// GRID-NOT:     tvm_storage_sync

// -----

// Each thread has elements of its own.
tir.func @own(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %x = tir.load %A[%t] : f32
    tir.store %x, %S[%t] : f32
    %y = tir.load %S[%t] : f32
    tir.store %y, %A[%t] : f32
  }
}
// CHECK-LABEL: tir.func @own
// CHECK-NOT:     tvm_storage_sync
// GRID-LABEL: tir.func @own
// GRID-NOT:     tvm_storage_sync

// -----

// A shared value is not loaded again: the barrier separates its load from the store.
tir.func @shift(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %x = tir.load %A[%t] : f32
    tir.store %x, %S[%t] : f32
    %r = tir.sub %c63, %t : i32
    tir.for %i = %c0 to %c3 {
      %y = tir.load %S[%r] : f32
      tir.store %y, %S[%t] : f32
    }
    %z = tir.load %S[%t] : f32
    tir.store %z, %A[%t] : f32
  }
}
// CHECK-LABEL: tir.func @shift
// CHECK:         tir.for
// CHECK-NEXT:      tir.string "shared"
// CHECK-NEXT:      tir.call "tvm_storage_sync"
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      tir.string "shared"
// CHECK-NEXT:      tir.call "tvm_storage_sync"
// CHECK-NEXT:      tir.store
// CHECK-NEXT:    }
// CHECK-NOT:     tvm_storage_sync
// GRID-LABEL: tir.func @shift
// GRID-NOT:     tvm_storage_sync

// -----

// Blocks meet at a barrier of the grid.
tir.func @blocks(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c63 = tir.const 63 : i32
  tir.launch_thread %g = "blockIdx.x" to %c4 {
    tir.launch_thread %t = "threadIdx.x" to %c16 {
      %f = tir.mul %g, %c16 : i32
      %i = tir.add %f, %t : i32
      %x = tir.load %A[%i] : f32
      %y = tir.add %x, %x : f32
      tir.store %y, %A[%i] : f32
      %r = tir.sub %c63, %i : i32
      %z = tir.load %A[%r] : f32
      tir.store %z, %B[%i] : f32
    }
  }
}
// CHECK-LABEL: tir.func @blocks
// CHECK-NOT:     tvm_storage_sync
// GRID-LABEL: tir.func @blocks
// GRID:         %[[P:.*]] = tir.string "__tvm_prepare_global_barrier"
// GRID-NEXT:    tir.call "tvm_call_packed"(%[[P]]) : (!tir.handle) -> i32
// GRID-NEXT:    tir.launch_thread %{{.*}} = "blockIdx.x"
// GRID-NEXT:      tir.call "tvm_global_barrier_kinit"() : () -> i32
// GRID-NEXT:      %[[D:.*]] = tir.data %A
// GRID-NEXT:      tir.attr "volatile_scope" (%[[D]]) = 1 : i32 {
// GRID-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x"
// GRID:               tir.store
// GRID-NEXT:          %[[ZERO:.*]] = tir.const 0 : i32
// GRID-NEXT:          %[[LEAD:.*]] = tir.cmp eq %[[T]], %[[ZERO]] : i32
// GRID-NEXT:          %[[N:.*]] = tir.const 4 : i32
// GRID-NEXT:          %[[S:.*]] = tir.string "global"
// GRID-NEXT:          tir.call "tvm_storage_sync"(%[[S]], %[[LEAD]], %[[N]]) : (!tir.handle, i1, i32) -> i32
// GRID-NEXT:          tir.sub
