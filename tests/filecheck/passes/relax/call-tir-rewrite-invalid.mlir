// RUN: xdsl-opt %s -p relax-call-tir-rewrite --split-input-file --verify-diagnostics | filecheck %s

tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    // CHECK: relax-call-tir-rewrite: relax.call_tir @f is in a dataflow block, which holds no impure call; run relax-to-non-dataflow first
    %y = relax.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %y : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}

// -----

tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}
relax.func @main(%x: tensor<4xf32>) -> tensor<?xf32> {
  // CHECK: relax-call-tir-rewrite: relax.call_tir @f returns a tensor on #relax.vdevice<"cuda", 0, "global">, which the module's relax.vdevices does not list; add it
  %y = relax.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
  relax.return %y : tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
}

// -----

relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    // CHECK: relax-call-tir-rewrite: relax.call_dps_packed "f" is in a dataflow block, which holds no impure call; run relax-to-non-dataflow first
    %y = relax.call_dps_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %y : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}
