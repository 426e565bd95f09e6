// RUN: xdsl-opt %s -p tvm-convert-vector-to-llvm --split-input-file --verify-diagnostics | filecheck %s

func.func @f(%m: memref<8xi1>, %i: index) {
  %v = vector.load %m[%i] : memref<8xi1>, vector<4xi1>
  func.return
}
// CHECK: cannot lower 'vector.load': bools take a byte each in memory; load and store them one by one

// -----

func.func @f(%x: f32) {
  %v = vector.broadcast %x : f32 to vector<4x4xf32>
  func.return
}
// CHECK: cannot lower 'vector.broadcast': vector<4x4xf32> is no vector of one dimension with fixed lanes
