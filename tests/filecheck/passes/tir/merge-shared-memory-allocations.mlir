// RUN: xdsl-opt %s -p tir-merge-shared-memory-allocations --split-input-file | filecheck %s

// A barrier is between the last read of P and the first write of Q.

// CHECK-LABEL: tir.func @barrier
// CHECK: tir.launch_thread
// CHECK-NEXT: [[B:%.+]] = tir.allocate "buf_dyn_shmem" [512] : !tir.ptr<ui8, "shared.dyn">
// CHECK-NEXT: tir.decl_buffer "buf_dyn_shmem" [[B]] : !tir.buffer<128xf32, "shared.dyn">
// CHECK-NEXT: tir.decl_buffer "buf_dyn_shmem" [[B]] : !tir.buffer<64xi32, "shared.dyn">
tir.func @barrier(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<128xf32>
  %c128 = tir.const 128 : i32
  %c127 = tir.const 127 : i32
  %c63 = tir.const 63 : i32
  %s = tir.string "shared.dyn"
  tir.launch_thread %t = "threadIdx.x" to %c128 {
    %p = tir.allocate "P" [128] : !tir.ptr<f32, "shared.dyn">
    %P = tir.decl_buffer "P" %p : !tir.buffer<128xf32, "shared.dyn">
    %q = tir.allocate "Q" [64] : !tir.ptr<i32, "shared.dyn">
    %Q = tir.decl_buffer "Q" %q : !tir.buffer<64xi32, "shared.dyn">
    %x = tir.load %A[%t] : f32
    tir.store %x, %P[%t] : f32
    tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
    %k = tir.sub %c127, %t : i32
    %y = tir.load %P[%k] : f32
    tir.store %y, %A[%t] : f32
    tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
    %some = tir.cmp le %t, %c63 : i32
    tir.if %some {
      tir.store %t, %Q[%t] : i32
    }
  }
}

// -----

// No barrier is between: other threads may still read P.

// CHECK-LABEL: tir.func @no_barrier
// CHECK: tir.allocate "buf_dyn_shmem" [1024]
// CHECK: tir.add %t, {{%.+}} : i32
tir.func @no_barrier(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<128xf32>
  %c128 = tir.const 128 : i32
  %c127 = tir.const 127 : i32
  %s = tir.string "shared.dyn"
  tir.launch_thread %t = "threadIdx.x" to %c128 {
    %p = tir.allocate "P" [128] : !tir.ptr<f32, "shared.dyn">
    %P = tir.decl_buffer "P" %p : !tir.buffer<128xf32, "shared.dyn">
    %q = tir.allocate "Q" [128] : !tir.ptr<f32, "shared.dyn">
    %Q = tir.decl_buffer "Q" %q : !tir.buffer<128xf32, "shared.dyn">
    %x = tir.load %A[%t] : f32
    tir.store %x, %P[%t] : f32
    tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
    %k = tir.sub %c127, %t : i32
    %y = tir.load %P[%k] : f32
    tir.store %y, %A[%t] : f32
    tir.store %y, %Q[%t] : f32
    %z = tir.load %Q[%t] : f32
    tir.store %z, %A[%t] : f32
  }
}

// -----

// Static memory stays, and so does memory of which a kernel has one.

// CHECK-LABEL: tir.func @stays
// CHECK: tir.allocate "P" [32] : !tir.ptr<f32, "shared.dyn">
// CHECK: tir.allocate "S" [32] : !tir.ptr<f32, "shared">
// CHECK: tir.allocate "T" [32] : !tir.ptr<f32, "shared">
tir.func @stays(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<32xf32>
  %c32 = tir.const 32 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %p = tir.allocate "P" [32] : !tir.ptr<f32, "shared.dyn">
    %P = tir.decl_buffer "P" %p : !tir.buffer<32xf32, "shared.dyn">
    %q = tir.allocate "S" [32] : !tir.ptr<f32, "shared">
    %Q = tir.decl_buffer "S" %q : !tir.buffer<32xf32, "shared">
    %r = tir.allocate "T" [32] : !tir.ptr<f32, "shared">
    %R = tir.decl_buffer "T" %r : !tir.buffer<32xf32, "shared">
    %x = tir.load %A[%t] : f32
    tir.store %x, %P[%t] : f32
    tir.store %x, %Q[%t] : f32
    %y = tir.load %Q[%t] : f32
    tir.store %y, %R[%t] : f32
    %z = tir.load %R[%t] : f32
    tir.store %z, %A[%t] : f32
  }
}
