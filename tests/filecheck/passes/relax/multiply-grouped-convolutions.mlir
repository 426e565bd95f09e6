// RUN: xdsl-opt %s -p 'relax-multiply-grouped-convolutions' | filecheck %s
// RUN: xdsl-opt %s -p 'relax-multiply-grouped-convolutions{lanes=6}' | filecheck %s --check-prefix=BLOCKS
// TOLERANCE: 0.0001

!data = tensor<2x36x3x5xf32>
!weight = tensor<8x18x1x1xf32>
!result = tensor<2x8x3x5xf32>

// CHECK-LABEL: relax.func @product
// CHECK: %[[W:.*]] = relax.reshape %w, %{{.*}} -> tensor<2x4x18xf32>
// CHECK: %[[X:.*]] = relax.reshape %x, %{{.*}} -> tensor<2x2x18x15xf32>
// CHECK: %[[P:.*]] = relax.matmul %[[W]], %[[X]] : (tensor<2x4x18xf32>, tensor<2x2x18x15xf32>) -> tensor<2x2x4x15xf32>
// CHECK: %[[Y:.*]] = relax.reshape %[[P]], %{{.*}} -> tensor<2x8x3x5xf32>
// CHECK-NEXT: relax.return %[[Y]]
relax.func @product(%x: !data, %w: !weight) -> !result attributes {global_symbol = "product"} {
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!data, !weight) -> !result
  relax.return %y : !result
}

// What follows is computed with the product, in its shape.
// CHECK-LABEL: relax.func @with_operators
// CHECK: %[[P:.*]] = relax.matmul
// CHECK: %[[B:.*]] = relax.reshape %b, %{{.*}} -> tensor<1x2x4x1xf32>
// CHECK: %[[S:.*]] = relax.add %[[P]], %[[B]]
// CHECK: %[[Z:.*]] = relax.reshape %z, %{{.*}} -> tensor<2x2x4x15xf32>
// CHECK: %[[T:.*]] = relax.multiply %[[S]], %[[Z]]
// CHECK: %[[R:.*]] = relax.nn.relu %[[T]]
// CHECK: %[[Y:.*]] = relax.reshape %[[R]], %{{.*}} -> tensor<2x8x3x5xf32>
// CHECK-NEXT: relax.return %[[Y]]
relax.func @with_operators(%x: !data, %w: !weight, %b: tensor<8x1x1xf32>, %z: !result) -> !result attributes {global_symbol = "with_operators"} {
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!data, !weight) -> !result
  %s = relax.add %y, %b : (!result, tensor<8x1x1xf32>) -> !result
  %t = relax.multiply %z, %s : (!result, !result) -> !result
  %r = relax.nn.relu %t : (!result) -> !result
  relax.return %r : !result
}

// Operands of one row, results with two uses.
// CHECK-LABEL: relax.func @apart
// CHECK: %[[P:.*]] = relax.matmul
// CHECK: %[[Y:.*]] = relax.reshape %[[P]]
// CHECK-NEXT: %[[S:.*]] = relax.add %[[Y]], %b
// CHECK-NEXT: relax.add %[[S]], %[[S]]
relax.func @apart(%x: !data, %w: !weight, %b: tensor<1x5xf32>) -> !result attributes {global_symbol = "apart"} {
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!data, !weight) -> !result
  %s = relax.add %y, %b : (!result, tensor<1x5xf32>) -> !result
  %t = relax.add %s, %s : (!result, !result) -> !result
  relax.return %t : !result
}

// Groups of full blocks, for blocks of 6 channels.
// CHECK-LABEL: relax.func @blocks
// CHECK: relax.matmul
// BLOCKS-LABEL: relax.func @blocks
// BLOCKS: relax.nn.conv2d
relax.func @blocks(%x: !data, %w: tensor<12x18x1x1xf32>) -> tensor<2x12x3x5xf32> attributes {global_symbol = "blocks"} {
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!data, tensor<12x18x1x1xf32>) -> tensor<2x12x3x5xf32>
  relax.return %y : tensor<2x12x3x5xf32>
}

// One group, groups of few channels, strides, padding.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: relax.matmul
relax.func @left_alone(%x: !data, %one: tensor<8x36x1x1xf32>, %w: !weight) -> !relax.tuple<!result, tensor<2x9x3x5xf32>, tensor<2x8x2x3xf32>, tensor<2x8x5x7xf32>> attributes {global_symbol = "left_alone"} {
  %nine = relax.constant dense<0.5> : tensor<9x12x1x1xf32>
  %a = relax.nn.conv2d %x, %one strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!data, tensor<8x36x1x1xf32>) -> !result
  %b = relax.nn.conv2d %x, %nine strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 3 layout "NCHW" kernel "OIHW" : (!data, tensor<9x12x1x1xf32>) -> tensor<2x9x3x5xf32>
  %c = relax.nn.conv2d %x, %w strides [2, 2] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!data, !weight) -> tensor<2x8x2x3xf32>
  %d = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!data, !weight) -> tensor<2x8x5x7xf32>
  %t = relax.tuple(%a, %b, %c, %d) : !result, tensor<2x9x3x5xf32>, tensor<2x8x2x3xf32>, tensor<2x8x5x7xf32>
  relax.return %t : !relax.tuple<!result, tensor<2x9x3x5xf32>, tensor<2x8x2x3xf32>, tensor<2x8x5x7xf32>>
}
