// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-expand-math | filecheck %s

func.func @function(%x : f32) -> f32 {
  %0 = math.cbrt %x : f32
  func.return %0 : f32
}

// CHECK: cannot lower 'math.cbrt': no expansion is known; express it by other functions

// -----

func.func @type(%x : f128) -> f128 {
  %0 = math.exp %x : f128
  func.return %0 : f128
}

// CHECK: cannot lower 'math.exp': no expansion for f128; use f16, bf16, f32 or f64
