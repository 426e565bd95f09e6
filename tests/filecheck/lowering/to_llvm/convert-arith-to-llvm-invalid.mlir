// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-arith-to-llvm | filecheck %s

func.func @two_dimensions(%v : vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = arith.addf %v, %v : vector<2x4xf32>
  func.return %0 : vector<2x4xf32>
}

// CHECK: cannot lower 'arith.addf': values of type vector<2x4xf32> have no LLVM form

// -----

func.func @narrow(%x : f8E4M3FN) -> f8E4M3FN {
  %0 = arith.addf %x, %x : f8E4M3FN
  func.return %0 : f8E4M3FN
}

// CHECK: cannot lower 'arith.addf': values of type f8E4M3FN have no LLVM form

// -----

func.func @not_wider(%x : f32) -> f16 {
  %0 = arith.extf %x : f32 to f16
  func.return %0 : f16
}

// CHECK: cannot lower 'arith.extf': cannot extend f32 to f16
