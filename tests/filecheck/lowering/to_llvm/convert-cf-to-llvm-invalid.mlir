// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-cf-to-llvm | filecheck %s

// The assertion has to call abort, but the module means something else by it.
func.func @abort(%x : f32) -> f32 {
  func.return %x : f32
}
func.func @f(%c : i1) {
  cf.assert %c, "message"
  func.return
}

// CHECK: cannot lower 'cf.assert': the symbol 'abort' is taken by 'func.func' of another type; rename that operation
