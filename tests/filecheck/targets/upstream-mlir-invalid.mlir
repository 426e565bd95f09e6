// RUN: not xdsl-opt %s -t upstream-mlir 2>&1 | filecheck %s

// CHECK: upstream-mlir: MLIR has no operation 'tir.func'; lower the module first, as with '-p tvm-lower-to-llvm'
tir.func @f() {
}
