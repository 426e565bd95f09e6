// RUN: xdsl-opt %s -p relax-lower-alloc-tensor --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-lower-alloc-tensor: relax.builtin.alloc_tensor makes a tensor<4xindex>, whose elements have no size in bytes; use an integer or a float type
relax.func @main(%x: tensor<4xf32>) -> tensor<4xindex> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xindex>
  relax.return %a : tensor<4xindex>
}
