// RUN: xdsl-opt %s -p relax-inline-private-functions --verify-diagnostics | filecheck %s

// CHECK: relax-canonicalize-tir-variables: relax.match_cast from tensor<16x32xf32> to tensor<?x?xf32, #relax.dims<[m, m]>> never holds
relax.func @main(%x: tensor<16x32xf32>) -> tensor<?x?xf32> attributes {global_symbol = "main"} {
  %y = relax.call @cast(%x) : (tensor<16x32xf32>) -> tensor<?x?xf32>
  relax.return %y : tensor<?x?xf32>
}
relax.func @cast(%x: tensor<16x32xf32>) -> tensor<?x?xf32> {
  %y = relax.match_cast %x defines [m] : tensor<16x32xf32> -> tensor<?x?xf32, #relax.dims<[m, m]>>
  relax.return %y : tensor<?x?xf32, #relax.dims<[m, m]>>
}
