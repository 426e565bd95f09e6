// RUN: xdsl-opt %s --passes 'tir-gpu-schedule{target="cuda -arch=sm_80"}' | filecheck %s

// Without `-p`, as threads race until tir-thread-sync: tests/unit executes such kernels.

// Rows of 40 elements of f16 are loaded by 16 bytes, 8 elements, through the memory of a
// thread; of the extent along the stores nothing is known, so that they go one by one.

tir.func @transpose(%a: !tir.handle, %b: !tir.handle) {
  %m = tir.shape_var "m" : i32
  %A = tir.match_buffer "A" %a [%m] : !tir.buffer<?x40xf16>
  %B = tir.match_buffer "B" %b [%m] : !tir.buffer<40x?xf16>
  %c0 = tir.const 0 : i32
  %c40 = tir.const 40 : i32
  tir.for "i" %i = %c0 to %c40 {
    tir.for "j" %j = %c0 to %m {
      tir.block "B" (%vi : S in [%c0 to %c40] = %i, %vj : S in [%c0 to %m] = %j) {
        %x = tir.load %A[%vj, %vi] : f16
        tir.store %x, %B[%vi, %vj] : f16
      }
    }
  }
}

// CHECK-LABEL: tir.func @transpose
// CHECK:         tir.for "bx" %{{.*}} thread_binding "blockIdx.x" {
// CHECK:           %[[FOUR:.*]] = tir.const 4 : i32
// CHECK:           tir.for "ty" %{{.*}} = %{{.*}} to %[[FOUR]] thread_binding "threadIdx.y" {
// CHECK:             tir.for "tx" %{{.*}} = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK:               %[[TILE:.*]] = tir.alloc_buffer "tile" : !tir.buffer<1056xf16, "shared">
// CHECK:               tir.if
// CHECK:                 %[[PIECE:.*]] = tir.alloc_buffer "piece" : !tir.buffer<8xf16, "local">
// CHECK:                 tir.for "v" %[[V:.*]] = %{{.*}} vectorized {
// CHECK:                   %[[X:.*]] = tir.load %A[%{{.*}}, %{{.*}}] : f16
// CHECK-NEXT:              tir.store %[[X]], %[[PIECE]][%[[V]]] : f16
// CHECK:                 tir.for "v" %[[W:.*]] = %{{.*}} unrolled {
// CHECK-NEXT:              %[[Y:.*]] = tir.load %[[PIECE]][%[[W]]] : f16
// CHECK:                   tir.store %[[Y]], %[[TILE]][%{{.*}}] : f16
// CHECK:               tir.for "u" %{{.*}} unrolled {
// CHECK:                 tir.if
// CHECK:                   %[[Z:.*]] = tir.load %[[TILE]][%{{.*}}] : f16
// CHECK:                   tir.store %[[Z]], %B[%{{.*}}, %{{.*}}] : f16
