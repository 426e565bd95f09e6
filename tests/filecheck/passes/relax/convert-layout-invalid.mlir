// RUN: not xdsl-opt %s -p 'relax-convert-layout{desired_layouts="relax.nn.relu:NHWC"}' 2>&1 | filecheck %s
// RUN: not xdsl-opt %s -p 'relax-convert-layout{desired_layouts="relax.nn.conv2d"}' 2>&1 | filecheck %s --check-prefix=COUNT

// CHECK: relax-convert-layout: 'relax.nn.relu' is no operator with layouts; these are
// COUNT: relax-convert-layout: 'relax.nn.conv2d' must give layouts after colons, as in relax.nn.conv2d:NHWC:OHWI
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
