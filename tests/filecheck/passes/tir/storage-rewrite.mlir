// RUN: xdsl-opt %s -p tir-storage-rewrite --split-input-file | filecheck %s

// What is read last is overwritten in place, and the buffer that follows an allocation
// moves along.

// CHECK-LABEL: tir.func @in_place
// CHECK: [[P:%.+]] = tir.allocate "P" [16] : !tir.ptr<f32>
// CHECK-NEXT: [[PB:%.+]] = tir.decl_buffer "P" [[P]] : !tir.buffer<16xf32>
// CHECK-NOT: tir.allocate
// CHECK: [[QB:%.+]] = tir.decl_buffer "P" [[P]] : !tir.buffer<16xf32>
// CHECK: tir.store {{%.+}}, [[PB]]
// CHECK: [[X:%.+]] = tir.load [[PB]]
// CHECK: tir.store [[X]], [[QB]]
tir.func @in_place(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %p = tir.allocate "P" [16] : !tir.ptr<f32>
  %P = tir.decl_buffer "P" %p : !tir.buffer<16xf32>
  %q = tir.allocate "Q" [16] : !tir.ptr<f32>
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<16xf32>
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %P[%i] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %P[%i] : f32
    tir.store %x, %Q[%i] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %Q[%i] : f32
    tir.store %x, %A[%i] : f32
  }
}

// -----

// An element that is written twice from one that is read twice: the second read would see
// the first write.

// CHECK-LABEL: tir.func @written_twice
// CHECK: tir.allocate "P" [2]
// CHECK: tir.allocate "Q" [2]
tir.func @written_twice(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %one = tir.const 1.0 : f32
  %p = tir.allocate "P" [2] : !tir.ptr<f32>
  %P = tir.decl_buffer "P" %p : !tir.buffer<2xf32>
  %q = tir.allocate "Q" [2] : !tir.ptr<f32>
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<2xf32>
  %s = tir.load %A[%c0] : f32
  tir.store %s, %P[%c0] : f32
  tir.for %i = %c0 to %c1 {
    %x = tir.load %P[%c0] : f32
    %y = tir.add %x, %one : f32
    tir.store %y, %Q[%c0] : f32
    %z = tir.load %P[%c0] : f32
    %w = tir.add %z, %y : f32
    tir.store %w, %Q[%c0] : f32
  }
  %r = tir.load %Q[%c0] : f32
  tir.store %r, %A[%c0] : f32
}

// -----

// A loop that runs twice over all elements reads what it has written.

// CHECK-LABEL: tir.func @repeated
// CHECK: tir.allocate "P" [8]
// CHECK: tir.allocate "Q" [8]
tir.func @repeated(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %one = tir.const 1.0 : f32
  %p = tir.allocate "P" [8] : !tir.ptr<f32>
  %P = tir.decl_buffer "P" %p : !tir.buffer<8xf32>
  %q = tir.allocate "Q" [8] : !tir.ptr<f32>
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<8xf32>
  tir.for %i = %c0 to %c8 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %P[%i] : f32
  }
  tir.for %k = %c0 to %c2 {
    tir.for %i = %c0 to %c8 {
      %x = tir.load %P[%i] : f32
      %y = tir.add %x, %one : f32
      tir.store %y, %Q[%i] : f32
    }
  }
  tir.for %i = %c0 to %c8 {
    %x = tir.load %Q[%i] : f32
    tir.store %x, %A[%i] : f32
  }
}

// -----

// Extents are computed where the memory goes; memory whose extent is read from other
// memory stays where it is.

// CHECK-LABEL: tir.func @extents
// CHECK: [[M:%.+]] = tir.mul %n, {{%.+}} : i32
// CHECK-NEXT: tir.allocate "P" {{.}}[[M]]]
// CHECK: tir.for
// CHECK-NOT: tir.allocate "P"
// CHECK: tir.allocate "Q" [%k]
tir.func @extents(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %c2 {
    %m = tir.mul %n, %c2 : i32
    %p = tir.allocate "P" [%m] : !tir.ptr<i32>
    %P = tir.decl_buffer "P" %p [%m] : !tir.buffer<?xi32>
    tir.for %j = %c0 to %m {
      tir.store %j, %P[%j] : i32
    }
    %k = tir.load %A[%c1] : i32
    %q = tir.allocate "Q" [%k] : !tir.ptr<i32>
    %Q = tir.decl_buffer "Q" %q [%k] : !tir.buffer<?xi32>
    tir.for %j = %c0 to %k {
      tir.store %j, %Q[%j] : i32
    }
  }
}

// -----

// A copy is in flight until the wait, whatever else has been waited for.

// CHECK-LABEL: tir.func @in_flight
// CHECK: tir.allocate "P" [64]
// CHECK: tir.allocate "Q" [64]
tir.func @in_flight(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %B = tir.match_buffer %b : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c64 = tir.const 64 : i32
  %d = tir.data %A : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %p = tir.allocate "P" [64] : !tir.ptr<f32, "shared">
    %q = tir.allocate "Q" [64] : !tir.ptr<f32, "shared">
    %Q = tir.decl_buffer "Q" %q : !tir.buffer<64xf32, "shared">
    tir.call "ptx_cp_async"(%p, %t, %d, %t, %c4) : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> ()
    tir.call "ptx_commit_group"() : () -> ()
    tir.call "ptx_wait_group"(%c1) : (i32) -> ()
    %x = tir.load %B[%t] : f32
    tir.store %x, %Q[%t] : f32
    %y = tir.load %Q[%t] : f32
    tir.store %y, %B[%t] : f32
    tir.call "ptx_wait_group"(%c0) : (i32) -> ()
  }
}
