// RUN: xdsl-opt %s -p tvm-convert-gpu-launch-to-driver --split-input-file --verify-diagnostics | filecheck %s

func.func @f(%m: memref<4xf32, 1>, %i: index) -> f32 {
  %x = memref.load %m[%i] : memref<4xf32, 1>
  func.return %x : f32
}
// CHECK: cannot lower 'memref.load': the host cannot read or write memory of the GPU; do it in a kernel, or copy it to memory of the host by memref.copy

// -----

func.func @f() {
  "gpu.barrier"() : () -> ()
  func.return
}
// CHECK: cannot lower 'gpu.barrier': host code cannot do it; use a kernel

// -----

func.func @f(%m: memref<4xf32>, %n: memref<4xf32>) {
  "gpu.memcpy"(%m, %n) {operandSegmentSizes = array<i32: 0, 1, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK: cannot lower 'gpu.memcpy': memref<4xf32> is no compact memory of the GPU

// -----

func.func @f(%m: memref<4xf32, strided<[2]>, 1>, %n: memref<4xf32>) {
  "memref.copy"(%m, %n) : (memref<4xf32, strided<[2]>, 1>, memref<4xf32>) -> ()
  func.return
}
// CHECK: cannot lower 'memref.copy': memref<4xf32, strided<[2]>, 1 : i64> is not compact; copy it by a kernel

// -----

func.func @f(%m: memref<4xf32, 1>, %n: memref<4xf32, 1>) {
  "memref.copy"(%m, %n) : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  func.return
}
// CHECK: cannot lower 'memref.copy': both are memory of the GPU; use gpu.memcpy

// -----

func.func @cuLaunchKernel() {
  func.return
}
func.func @f(%m: memref<4xf32, 1>) {
  func.return
}
// CHECK: cannot lower 'func.func': the symbol 'cuLaunchKernel' is taken; rename it

// -----

"memref.global"() <{sym_name = "w", type = memref<4xf32, 1>, initial_value, sym_visibility = "private"}> : () -> ()
func.func @f(%m: memref<4xf32, 1>) {
  func.return
}
// CHECK: cannot lower 'memref.global': memory of the GPU outside of a GPU module needs contents
