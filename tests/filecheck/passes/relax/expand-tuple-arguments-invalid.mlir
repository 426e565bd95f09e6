// RUN: xdsl-opt %s -p relax-expand-tuple-arguments --verify-diagnostics | filecheck %s

// CHECK: relax-canonicalize-tir-variables: relax.match_cast from tensor<16x32xf32> to tensor<?x?xf32, #relax.dims<[m, m]>> never holds
relax.func @twice(%x: tensor<16x32xf32>) -> tensor<?x?xf32> {
  %y = relax.match_cast %x defines [m] : tensor<16x32xf32> -> tensor<?x?xf32, #relax.dims<[m, m]>>
  relax.return %y : tensor<?x?xf32, #relax.dims<[m, m]>>
}
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %p = relax.tuple(%x) : tensor<4xf32>
  %r = relax.call @field(%p) : (!relax.tuple<tensor<4xf32>>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @field(%p: !relax.tuple<tensor<4xf32>>) -> tensor<4xf32> {
  %f = relax.get_item %p[0] : !relax.tuple<tensor<4xf32>> -> tensor<4xf32>
  relax.return %f : tensor<4xf32>
}
