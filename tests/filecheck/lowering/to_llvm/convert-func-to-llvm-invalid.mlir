// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-func-to-llvm | filecheck %s

func.func @two(%x : f32) -> (f32, f32) {
  func.return %x, %x : f32, f32
}

// CHECK: cannot lower 'func.func': it has 2 results; return at most one scalar

// -----

func.func @memory(%m : memref<4xf32>) -> memref<4xf32> {
  func.return %m : memref<4xf32>
}

// CHECK: cannot lower 'func.func': it returns a memref; pass a memref to write to instead

// -----

func.func private @tensor(tensor<4xf32>)

// CHECK: cannot lower 'func.func': an argument or result of type tensor<4xf32> has no LLVM form
