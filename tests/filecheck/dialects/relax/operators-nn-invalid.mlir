// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// The errors of the rules have their table in tests/unit; these are of what only text says.

// CHECK: relax.flatten: result must be tensor<8xf32>, but tensor<9xf32> is declared
func.func @f(%x: tensor<2x4xf32>) {
  %0 = relax.flatten %x : (tensor<2x4xf32>) -> tensor<9xf32>
  func.return
}

// -----

// CHECK: relax.split: needs either sections or indices
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.split %x axis 0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.split: needs either sections or indices
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.split %x sections 2 at [1] axis 0 : (tensor<4xf32>) -> !relax.tuple<tensor<1xf32>, tensor<3xf32>>
  func.return
}

// -----

// CHECK: relax.nn.conv2d: result must be tensor<1x4x6x6xf32>, but tensor<1x4x8x8xf32> is declared
func.func @f(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %0 = relax.nn.conv2d %x, %w strides [1] padding [0] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

// CHECK: relax.nn.dropout: result must be !relax.tuple<tensor<4xf32>, tensor<4xf32>>, but tensor<4xf32> is declared
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.nn.dropout %x rate 0.5 : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: layout
func.func @f(%x: tensor<1x3x8x8xf32>) {
  %0 = relax.nn.max_pool2d %x size [2] strides [2] padding [0] dilation [1] : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  func.return
}
