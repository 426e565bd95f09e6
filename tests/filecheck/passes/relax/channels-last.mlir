// RUN: xdsl-opt %s -p 'relax-channels-last{target="cuda -arch=sm_80"}' | filecheck %s
// RUN: xdsl-opt %s -p 'relax-channels-last{target="cuda -arch=sm_75"}' | filecheck %s --check-prefix=NONE
// RUN: xdsl-opt %s -p relax-channels-last | filecheck %s --check-prefix=NONE
// TOLERANCE: 0.01

// NONE-NOT: permute_dims

!image = tensor<1x4x6x6xf16>
!wide = tensor<1x8x6x6xf16>
!single = tensor<1x4x6x6xf32>

// What is between convolutions keeps the layout.
// CHECK-LABEL: relax.func @network
// CHECK: %[[X:.*]] = relax.permute_dims %x axes [0, 2, 3, 1]
// CHECK-NEXT: %[[W:.*]] = relax.permute_dims %w axes [0, 2, 3, 1]
// CHECK-NEXT: %a = relax.nn.conv2d %[[X]], %[[W]] {{.*}} layout "NHWC" kernel "OHWI"
// CHECK-NEXT: %b = relax.nn.relu %a
// CHECK-NEXT: %[[D:.*]] = relax.permute_dims %depth axes [2, 3, 0, 1]
// CHECK-NEXT: %c = relax.nn.conv2d %b, %[[D]] {{.*}} groups 8 layout "NHWC" kernel "HWOI"
// CHECK-NEXT: relax.permute_dims %c axes [0, 3, 1, 2]
relax.func @network(%x: !image, %w: tensor<8x4x3x3xf16>, %depth: tensor<8x1x3x3xf16>) -> !wide attributes {global_symbol = "network"} {
  %y = relax.dataflow -> (!wide) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!image, tensor<8x4x3x3xf16>) -> !wide
    %b = relax.nn.relu %a : (!wide) -> !wide
    %c = relax.nn.conv2d %b, %depth strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 8 layout "NCHW" kernel "OIHW" : (!wide, tensor<8x1x3x3xf16>) -> !wide
    relax.output %c : !wide
  }
  relax.return %y : !wide
}

// Two groups; f32.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: permute_dims
relax.func @left_alone(%x: !image, %w: tensor<4x2x1x1xf16>, %s: !single, %u: tensor<4x4x1x1xf32>) -> !relax.tuple<!image, !single> attributes {global_symbol = "left_alone"} {
  %y, %z = relax.dataflow -> (!image, !single) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!image, tensor<4x2x1x1xf16>) -> !image
    %b = relax.nn.conv2d %s, %u strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!single, tensor<4x4x1x1xf32>) -> !single
    relax.output %a, %b : !image, !single
  }
  %t = relax.tuple(%y, %z) : !image, !single
  relax.return %t : !relax.tuple<!image, !single>
}

// Integers of 8 bits that are summed in 32; 6 channels become 8, and 8 bits stay.
// CHECK-LABEL: relax.func @bytes
// CHECK: relax.nn.pad %x width [0, 0, 0, 2, 0, 0, 0, 0]
// CHECK: relax.nn.conv2d {{.*}} layout "NHWC" kernel "OHWI" {{.*}} -> tensor<1x5x5x4xi32>
// CHECK: relax.nn.conv2d {{.*}} layout "NCHW" kernel "OIHW"
relax.func @bytes(%x: tensor<1x6x6x6xi8>, %w: tensor<4x6x2x2xi8>) -> !relax.tuple<tensor<1x4x5x5xi32>, tensor<1x4x5x5xi8>> attributes {global_symbol = "bytes"} {
  %y, %z = relax.dataflow -> (tensor<1x4x5x5xi32>, tensor<1x4x5x5xi8>) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<1x6x6x6xi8>, tensor<4x6x2x2xi8>) -> tensor<1x4x5x5xi32>
    %b = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x6x6x6xi8>, tensor<4x6x2x2xi8>) -> tensor<1x4x5x5xi8>
    relax.output %a, %b : tensor<1x4x5x5xi32>, tensor<1x4x5x5xi8>
  }
  %t = relax.tuple(%y, %z) : tensor<1x4x5x5xi32>, tensor<1x4x5x5xi8>
  relax.return %t : !relax.tuple<tensor<1x4x5x5xi32>, tensor<1x4x5x5xi8>>
}

// Three channels become four; one channel does not.
// CHECK-LABEL: relax.func @stem
// CHECK: %[[P:.*]] = relax.nn.pad %x width [0, 0, 0, 1, 0, 0, 0, 0] mode "constant" value 0.000000e+00 : (tensor<1x3x6x6xf16>) -> tensor<1x4x6x6xf16>
// CHECK: %[[Q:.*]] = relax.nn.pad %w width [0, 0, 0, 1, 0, 0, 0, 0] mode "constant" value 0.000000e+00 : (tensor<4x3x3x3xf16>) -> tensor<4x4x3x3xf16>
// CHECK: %[[X:.*]] = relax.permute_dims %[[P]] axes [0, 2, 3, 1]
// CHECK: %[[W:.*]] = relax.permute_dims %[[Q]] axes [0, 2, 3, 1]
// CHECK: relax.nn.conv2d %[[X]], %[[W]] {{.*}} layout "NHWC" kernel "OHWI"
// CHECK-NOT: relax.nn.pad
relax.func @stem(%x: tensor<1x3x6x6xf16>, %w: tensor<4x3x3x3xf16>, %g: tensor<1x1x6x6xf16>, %u: tensor<4x1x3x3xf16>) -> !relax.tuple<!image, !image> attributes {global_symbol = "stem"} {
  %y, %z = relax.dataflow -> (!image, !image) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x3x6x6xf16>, tensor<4x3x3x3xf16>) -> !image
    %b = relax.nn.conv2d %g, %u strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x1x6x6xf16>, tensor<4x1x3x3xf16>) -> !image
    relax.output %a, %b : !image, !image
  }
  %t = relax.tuple(%y, %z) : !image, !image
  relax.return %t : !relax.tuple<!image, !image>
}
