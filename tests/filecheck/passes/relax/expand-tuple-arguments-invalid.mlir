// RUN: xdsl-opt %s -p relax-expand-tuple-arguments --verify-diagnostics | filecheck %s

// CHECK: relax-canonicalize-tir-variables: relax.match_cast from tensor<16x32xf32> to tensor<?x?xf32, #relax.dims<[m, m]>> never holds
!t = !relax.tuple<tensor<16x32xf32>, tensor<16x32xf32>>
relax.func @main(%x: tensor<16x32xf32>) -> tensor<?x?xf32> attributes {global_symbol = "main"} {
  %t = relax.tuple(%x, %x) : tensor<16x32xf32>, tensor<16x32xf32>
  %s = relax.call @pair(%t) : (!t) -> !t
  %f = relax.get_item %s[0] : !t -> tensor<16x32xf32>
  %y = relax.match_cast %f defines [m] : tensor<16x32xf32> -> tensor<?x?xf32, #relax.dims<[m, m]>>
  relax.return %y : tensor<?x?xf32, #relax.dims<[m, m]>>
}
relax.func @pair(%p: !t) -> !t {
  %a = relax.get_item %p[0] : !t -> tensor<16x32xf32>
  %q = relax.tuple(%a, %a) : tensor<16x32xf32>, tensor<16x32xf32>
  relax.return %q : !t
}
