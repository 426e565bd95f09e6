// RUN: xdsl-opt %s -p relax-kill-after-last-use --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-kill-after-last-use: relax.dataflow in @main can hold no end of a life; run relax-to-non-dataflow first
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %y : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}

// -----

// CASE: KillAfterLastUse.14
// The end of two lives at once is refused before the pass runs.

relax.func impure @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: Expected 1 operand, but got 2
  "relax.memory.kill_tensor"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}
