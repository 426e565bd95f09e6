// RUN: xdsl-opt %s -p relax-widen-sums | filecheck %s
// TOLERANCE: 0.02

// CHECK-LABEL: relax.func @product
// CHECK: %[[S:.*]] = relax.matmul %a, %b out_dtype f32 : (tensor<3x5xbf16>, tensor<5x4xbf16>) -> tensor<3x4xf32>
// CHECK-NEXT: relax.astype %[[S]] dtype bf16
relax.func @product(%a: tensor<3x5xbf16>, %b: tensor<5x4xbf16>) -> tensor<3x4xbf16> attributes {global_symbol = "product"} {
  %y = relax.matmul %a, %b : (tensor<3x5xbf16>, tensor<5x4xbf16>) -> tensor<3x4xbf16>
  relax.return %y : tensor<3x4xbf16>
}

// CHECK-LABEL: relax.func @convolution
// CHECK: %[[X:.*]] = relax.astype %x dtype f32
// CHECK-NEXT: %[[W:.*]] = relax.astype %w dtype f32
// CHECK-NEXT: %[[S:.*]] = relax.nn.conv2d %[[X]], %[[W]] {{.*}} out_dtype f32 : {{.*}} -> tensor<1x3x3x4xf32>
// CHECK-NEXT: relax.astype %[[S]] dtype bf16
relax.func @convolution(%x: tensor<1x2x4x5xbf16>, %w: tensor<3x2x2x2xbf16>) -> tensor<1x3x3x4xbf16> attributes {global_symbol = "convolution"} {
  %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x2x4x5xbf16>, tensor<3x2x2x2xbf16>) -> tensor<1x3x3x4xbf16>
  relax.return %y : tensor<1x3x3x4xbf16>
}

// Sums that are wide already, and those of f16, which processors compute.
// CHECK-LABEL: relax.func @others
// CHECK-NOT: relax.astype
relax.func @others(%a: tensor<3x5xbf16>, %b: tensor<5x4xbf16>, %c: tensor<3x5xf16>, %d: tensor<5x4xf16>) -> !relax.tuple<tensor<3x4xf32>, tensor<3x4xf16>> attributes {global_symbol = "others"} {
  %y = relax.matmul %a, %b out_dtype f32 : (tensor<3x5xbf16>, tensor<5x4xbf16>) -> tensor<3x4xf32>
  %z = relax.matmul %c, %d : (tensor<3x5xf16>, tensor<5x4xf16>) -> tensor<3x4xf16>
  %t = relax.tuple(%y, %z) : tensor<3x4xf32>, tensor<3x4xf16>
  relax.return %t : !relax.tuple<tensor<3x4xf32>, tensor<3x4xf16>>
}
