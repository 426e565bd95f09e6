// RUN: xdsl-opt %s -p tvm-lower-to-llvm --split-input-file --verify-diagnostics | filecheck %s

tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %x = tir.const 0.0 : f32
  tir.for %i = %c0 to %c4 thread_binding "threadIdx.x" {
    tir.store %x, %A[%i] : f32
  }
}
// CHECK: cannot lower 'tir.launch_thread': "threadIdx.x" is a thread axis; run tir-convert-to-gpu, or compile for the target cuda

// -----

func.func @f(%x: f32) {
  "test.op"(%x) : (f32) -> ()
  func.return
}
// CHECK: test.op

// -----

func.func @loops(%m: memref<4xf32>, %x: f32) {
  affine.for %i = 0 to 4 {
  }
  func.return
}
// CHECK: cannot lower 'affine.for': it is neither Relax, TIR nor of the dialects below them; run lower-affine first

// -----

func.func @tensors(%x: tensor<4xf32>) {
  func.return
}
// CHECK: cannot lower 'func.func': an argument or result of type tensor<4xf32> has no LLVM form; bufferize it first
