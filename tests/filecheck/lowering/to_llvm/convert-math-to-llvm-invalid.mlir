// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-math-to-llvm | filecheck %s

// An unresolved call of libm would kill the process on a GPU.
func.func @library_call(%x : f32) -> f32 {
  %0 = math.exp %x : f32
  func.return %0 : f32
}

// CHECK: cannot lower 'math.exp': no processor has it; run 'tvm-expand-math' before this pass

// -----

func.func @type(%v : vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = math.sqrt %v : vector<2x4xf32>
  func.return %0 : vector<2x4xf32>
}

// CHECK: cannot lower 'math.sqrt': values of type vector<2x4xf32> have no LLVM form
