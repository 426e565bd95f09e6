// RUN: xdsl-opt %s -p tvm-lower-assert --split-input-file --verify-diagnostics | filecheck %s

// CHECK: a function that can fail cannot have a result of type memref<4xf32>
func.func @result(%c: i1, %m: memref<4xf32>) -> memref<4xf32> {
  cf.assert %c, "m"
  func.return %m : memref<4xf32>
}

// -----

// CHECK: the symbol 'tvm_failed_assert' is taken; rename it
func.func private @tvm_failed_assert()
func.func @f(%c: i1) {
  cf.assert %c, "m"
  func.return
}
