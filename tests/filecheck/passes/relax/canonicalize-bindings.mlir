// RUN: xdsl-opt %s -p relax-canonicalize-bindings | filecheck %s

// A symbol that turns out to be known makes a cast one to the same type, which goes.

// CHECK-LABEL: relax.func @main
// CHECK-NEXT: %[[Y:.*]] = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: relax.return %[[Y]] : tensor<4xf32>
relax.func @main(%x: tensor<4xf32>) -> tensor<?xf32> {
  %m = relax.match_cast %x defines [m] : tensor<4xf32> -> tensor<?xf32, #relax.dims<[m]>>
  %a = relax.alias %m : tensor<?xf32, #relax.dims<[m]>> -> tensor<?xf32, #relax.dims<[m]>>
  %y = relax.nn.relu %a : (tensor<?xf32, #relax.dims<[m]>>) -> tensor<?xf32, #relax.dims<[m]>>
  relax.return %y : tensor<?xf32, #relax.dims<[m]>>
}
