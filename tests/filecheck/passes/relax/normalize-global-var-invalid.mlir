// RUN: xdsl-opt %s -p relax-normalize-global-var --split-input-file --verify-diagnostics | filecheck %s

// CASE: NormalizeGlobalVar.3
// CHECK: relax-normalize-global-var: @g and @f would both be called @main; change the global_symbol of one
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}
relax.func @g(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-normalize-global-var: @f and @other would both be called @other; change the global_symbol of one
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "other"} {
  relax.return %x : tensor<4xf32>
}
func.func private @other(%x: i32) {
  func.return
}
