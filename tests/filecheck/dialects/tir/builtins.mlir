// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Pointers with the region they are used for.

// CHECK-LABEL: tir.func @access
tir.func @access(%h: !tir.handle, %p: !tir.ptr<f32, "shared">, %n: i32, %m: i64) {
  %c0 = tir.const 0 : i32
  // CHECK: %{{.*}} = tir.access_ptr r %p[%c0 to %n] : !tir.ptr<f32, "shared">
  %r = tir.access_ptr r %p[%c0 to %n] : !tir.ptr<f32, "shared">
  // CHECK-NEXT: %{{.*}} = tir.access_ptr w %p[%n to %n + %m] : !tir.ptr<vector<4xf16>, "shared">
  %w = tir.access_ptr w %p[%n to %n + %m] : !tir.ptr<vector<4xf16>, "shared">
  // CHECK-NEXT: %{{.*}} = tir.access_ptr rw %h[%n to %n + %n] {mine = 1 : i32} : !tir.ptr<i8, "local">
  %b = tir.access_ptr rw %h[%n to %n + %n] {mine = 1 : i32} : !tir.ptr<i8, "local">
}

// -----

// Reductions over threads.

// CHECK-LABEL: tir.func @reduce
tir.func @reduce(%x: f32, %k: i32, %b: i1, %n: i32) {
  %c0 = tir.const 0 : i32
  %X = tir.alloc_buffer "X" : !tir.buffer<1xf32, "local">
  %K = tir.alloc_buffer "K" : !tir.buffer<i32, "local">
  %B = tir.alloc_buffer "B" : !tir.buffer<1x1xi8, "local">
  // CHECK: %[[sum:.*]] = tir.reducer (%l : f32, %r : f32) identity [0.000000e+00 : f32] {
  // CHECK-NEXT: %s = tir.add %l, %r : f32
  // CHECK-NEXT: tir.yield %s : f32
  // CHECK-NEXT: }
  %sum = tir.reducer (%l : f32, %r : f32) identity [0.0 : f32] {
    %s = tir.add %l, %r : f32
    tir.yield %s : f32
  }
  // CHECK: %[[argmax:.*]] = tir.reducer (%{{.*}} : f32, %{{.*}} : i32, %{{.*}} : f32, %{{.*}} : i32) identity [-3.402820e+38 : f32, -1 : i32] {
  %argmax = tir.reducer (%lx : f32, %lk : i32, %rx : f32, %rk : i32) identity [-3.40282e+38 : f32, -1 : i32] {
    %first = tir.cmp ge %lx, %rx : f32
    %v = tir.select %first, %lx, %rx : i1, f32
    %i = tir.select %first, %lk, %rk : i1, i32
    // CHECK: tir.yield %v, %i : f32, i32
    // CHECK-NEXT: } {mine}
    tir.yield %v, %i : f32, i32
  } {mine}
  // CHECK: %{{.*}} = tir.reducer (%{{.*}} : i1, %{{.*}} : i1) identity [true] {
  %all = tir.reducer (%lb : i1, %rb : i1) identity [true] {
    %a = tir.and %lb, %rb : i1
    tir.yield %a : i1
  }
  // CHECK: tir.launch_thread %tx
  tir.launch_thread %tx = "threadIdx.x" to %n {
    // CHECK-NEXT: tir.attr "reduce_scope" (%[[sum]]) = 0 : i32 {
    tir.attr "reduce_scope" (%sum) = 0 : i32 {
      // CHECK-NEXT: tir.thread_allreduce [%x] into [%X[%c0]] over [%tx]
      tir.thread_allreduce [%x] into [%X[%c0]] over [%tx]
    }
    // CHECK: tir.attr "reduce_scope" (%[[argmax]]) = 0 : i32 {
    tir.attr "reduce_scope" (%argmax) = 0 : i32 {
      // CHECK-NEXT: tir.thread_allreduce [%x, %k] if %b into [%X[%c0], %K[]] over [%tx, %c0] {mine}
      tir.thread_allreduce [%x, %k] if %b into [%X[%c0], %K[]] over [%tx, %c0] {mine}
    }
    tir.attr "reduce_scope" (%all) = 0 : i32 {
      // CHECK: tir.thread_allreduce [%b] into [%B[%c0, %c0]] over [%tx]
      tir.thread_allreduce [%b] into [%B[%c0, %c0]] over [%tx]
    }
  }
}
