// RUN: xdsl-opt %s -p 'relax-block-convolutions{lanes=4}' | filecheck %s
// RUN: xdsl-opt %s -p 'relax-block-convolutions{lanes=1}' | filecheck %s --check-prefix=NONE
// RUN: xdsl-opt %s -p 'relax-block-convolutions{lanes=4 features="avx512vl avx512vnni"}' | filecheck %s --check-prefix=BYTES

// NONE-NOT: layout_transform

!image = tensor<1x3x6x6xf32>
!six = tensor<1x6x6x6xf32>
!four = tensor<1x4x6x6xf32>
!all = !relax.tuple<!four, !six, tensor<1x3x6x6xf32>, tensor<1x6x6x4xf32>>

// Channels that are no full blocks, full ones, depthwise, and blocks that are half as large.
// CHECK-LABEL: relax.func @network
// CHECK: relax.layout_transform %stem map <(d0, d1, d2, d3) -> ((d0 floordiv 4), d1, d2, d3, (d0 mod 4))>
// CHECK: %a = relax.nn.conv2d %x, {{.*}} layout "NCHW" kernel "OIHW4o" out_layout "NCHW4c" {{.*}} -> tensor<1x1x6x6x4xf32>
// CHECK-NEXT: %b = relax.nn.relu %a
// CHECK-NEXT: %[[D:.*]] = relax.layout_transform %depth
// CHECK-NEXT: %c = relax.nn.conv2d %b, %[[D]] {{.*}} groups 4 layout "NCHW4c" kernel "OIHW4o"
// CHECK-NEXT: %d = relax.clip %c
// CHECK-NEXT: %[[W:.*]] = relax.layout_transform %wide
// CHECK-NEXT: %e = relax.nn.conv2d %d, %[[W]] {{.*}} layout "NCHW4c" kernel "OIHW4i2o" out_layout "NCHW2c" {{.*}} -> tensor<1x3x6x6x2xf32>
// CHECK-NEXT: %[[B:.*]] = relax.layout_transform %back
// CHECK-NEXT: %f = relax.nn.conv2d %e, %[[B]] {{.*}} layout "NCHW2c" kernel "OIHW2i4o" out_layout "NCHW4c"
// CHECK-NEXT: %[[R:.*]] = relax.layout_transform %f map <(d0, d1, d2, d3, d4) -> (d0, ((d1 * 4) + d4), d2, d3)>
// CHECK-NEXT: relax.output %[[R]]
relax.func @network(%x: !image) -> !four attributes {global_symbol = "network"} {
  %stem = relax.constant dense<0.5> : tensor<4x3x3x3xf32>
  %depth = relax.constant dense<2.0> : tensor<4x1x3x3xf32>
  %wide = relax.constant dense<0.25> : tensor<6x4x1x1xf32>
  %back = relax.constant dense<-1.5> : tensor<4x6x1x1xf32>
  %lo = relax.prim_value 0.0 : f32
  %hi = relax.prim_value 6.0 : f32
  %r = relax.dataflow -> (!four) {
    %a = relax.nn.conv2d %x, %stem strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!image, tensor<4x3x3x3xf32>) -> !four
    %b = relax.nn.relu %a : (!four) -> !four
    %c = relax.nn.conv2d %b, %depth strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 4 layout "NCHW" kernel "OIHW" : (!four, tensor<4x1x3x3xf32>) -> !four
    %d = relax.clip %c, %lo, %hi : (!four, !relax.prim<f32>, !relax.prim<f32>) -> !four
    %e = relax.nn.conv2d %d, %wide strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!four, tensor<6x4x1x1xf32>) -> !six
    %f = relax.nn.conv2d %e, %back strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!six, tensor<4x6x1x1xf32>) -> !four
    relax.output %f : !four
  }
  relax.return %r : !four
}

// Groups of channels that are full blocks of either size.
// CHECK-LABEL: relax.func @groups
// CHECK: %a = relax.nn.conv2d {{.*}} groups 2 layout "NCHW2c" kernel "OIHW2i2o"
// CHECK: %b = relax.nn.conv2d {{.*}} groups 2 layout "NCHW2c" kernel "OIHW2i4o" out_layout "NCHW4c"
relax.func @groups(%x: !four) -> tensor<1x8x6x6xf32> attributes {global_symbol = "groups"} {
  %u = relax.constant dense<0.5> : tensor<4x2x1x1xf32>
  %v = relax.constant dense<0.25> : tensor<8x2x1x1xf32>
  %r = relax.dataflow -> (tensor<1x8x6x6xf32>) {
    %a = relax.nn.conv2d %x, %u strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!four, tensor<4x2x1x1xf32>) -> !four
    %b = relax.nn.conv2d %a, %v strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!four, tensor<8x2x1x1xf32>) -> tensor<1x8x6x6xf32>
    relax.output %b : tensor<1x8x6x6xf32>
  }
  relax.return %r : tensor<1x8x6x6xf32>
}

// Any number of images, but of a known size.
// CHECK-LABEL: relax.func @any_number
// CHECK: %a = relax.nn.conv2d %{{.*}} layout "NCHW4c" kernel "OIHW4i4o" {{.*}} -> tensor<?x1x6x6x4xf32
// CHECK-LABEL: relax.func @any_size
// CHECK-NOT: layout_transform
relax.func @any_number<n>(%x: tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>>) -> tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>> attributes {global_symbol = "any_number"} {
  %w = relax.constant dense<0.5> : tensor<4x4x1x1xf32>
  %r = relax.dataflow -> (tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>>) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>>, tensor<4x4x1x1xf32>) -> tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>>
    relax.output %a : tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>>
  }
  relax.return %r : tensor<?x4x6x6xf32, #relax.dims<[n, 4, 6, 6]>>
}
relax.func @any_size<n>(%x: tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>>) -> tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>> attributes {global_symbol = "any_size"} {
  %w = relax.constant dense<0.5> : tensor<4x4x1x1xf32>
  %r = relax.dataflow -> (tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>>) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>>
    relax.output %a : tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>>
  }
  relax.return %r : tensor<1x4x6x?xf32, #relax.dims<[1, 4, 6, n]>>
}

// Tensors that follow each other along channels do so in blocks: in the first blocks that
// all of them have.
// CHECK-LABEL: relax.func @joined
// CHECK: %a = relax.nn.conv2d {{.*}} -> tensor<1x1x6x6x4xf32>
// CHECK: %b = relax.nn.conv2d {{.*}} -> tensor<1x3x6x6x2xf32>
// CHECK: %[[A:.*]] = relax.layout_transform %a map <(d0, d1, d2, d3, d4) -> (d0, (((d1 * 4) + d4) floordiv 2), d2, d3, (((d1 * 4) + d4) mod 2))>
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%[[A]], %b)
// CHECK-NEXT: %c = relax.concat %[[T]] axis 1 {{.*}} -> tensor<1x5x6x6x2xf32>
// CHECK-NEXT: relax.layout_transform %c
relax.func @joined(%x: !image) -> tensor<1x10x6x6xf32> attributes {global_symbol = "joined"} {
  %v = relax.constant dense<0.5> : tensor<4x3x3x3xf32>
  %w = relax.constant dense<0.25> : tensor<6x3x3x3xf32>
  %r = relax.dataflow -> (tensor<1x10x6x6xf32>) {
    %a = relax.nn.conv2d %x, %v strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!image, tensor<4x3x3x3xf32>) -> !four
    %b = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 1, 1] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!image, tensor<6x3x3x3xf32>) -> !six
    %t = relax.tuple(%a, %b) : !four, !six
    %c = relax.concat %t axis 1 : (!relax.tuple<!four, !six>) -> tensor<1x10x6x6xf32>
    relax.output %c : tensor<1x10x6x6xf32>
  }
  relax.return %r : tensor<1x10x6x6xf32>
}

// Weights that are no constants, groups of odd channels, odd output channels, and
// layouts that are others already.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: layout_transform
relax.func @left_alone(%x: !four, %s: !six, %w: tensor<4x4x1x1xf32>, %y: tensor<1x6x6x4xf32>) -> !all attributes {global_symbol = "left_alone"} {
  %groups = relax.constant dense<0.5> : tensor<6x3x1x1xf32>
  %odd = relax.constant dense<0.5> : tensor<3x4x1x1xf32>
  %hwio = relax.constant dense<0.5> : tensor<1x1x4x4xf32>
  %r = relax.dataflow -> (!all) {
    %a = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!four, tensor<4x4x1x1xf32>) -> !four
    %b = relax.nn.conv2d %s, %groups strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" : (!six, tensor<6x3x1x1xf32>) -> !six
    %c = relax.nn.conv2d %x, %odd strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!four, tensor<3x4x1x1xf32>) -> tensor<1x3x6x6xf32>
    %d = relax.nn.conv2d %y, %hwio strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NHWC" kernel "HWIO" : (tensor<1x6x6x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x6x6x4xf32>
    %t = relax.tuple(%a, %b, %c, %d) : !four, !six, tensor<1x3x6x6xf32>, tensor<1x6x6x4xf32>
    relax.output %t : !all
  }
  relax.return %r : !all
}

// Bytes are multiplied in quads of channels, which are last, where processors do that.
// BYTES-LABEL: relax.func @bytes
// BYTES: %[[X:.*]] = relax.permute_dims %x axes [0, 2, 3, 1]
// BYTES: %[[W:.*]] = relax.permute_dims %w axes [2, 3, 1, 0]
// BYTES: relax.nn.conv2d %[[X]], %[[W]] {{.*}} layout "NHWC" kernel "HWIO" out_dtype i32
// CHECK-LABEL: relax.func @bytes
// CHECK: layout "NCHW4c" kernel "OIHW4i4o"
relax.func @bytes(%x: tensor<1x4x6x6xui8>) -> tensor<1x8x4x4xi32> attributes {global_symbol = "bytes"} {
  %w = relax.constant dense<-3> : tensor<8x4x3x3xi8>
  %r = relax.dataflow -> (tensor<1x8x4x4xi32>) {
    %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<1x4x6x6xui8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
    relax.output %y : tensor<1x8x4x4xi32>
  }
  relax.return %r : tensor<1x8x4x4xi32>
}

// Channels that are no quads are filled up with zeros, and the padding with them.
// BYTES-LABEL: relax.func @filled
// BYTES: %[[P:.*]] = relax.nn.pad %x width [0, 0, 0, 1, 1, 0, 1, 0] mode "constant" value 0.0
// BYTES: %[[V:.*]] = relax.nn.pad %w width [0, 0, 0, 1, 0, 0, 0, 0] mode "constant" value 0.0
// BYTES: %[[X:.*]] = relax.permute_dims %[[P]] axes [0, 2, 3, 1]
// BYTES: %[[W:.*]] = relax.permute_dims %[[V]] axes [2, 3, 1, 0]
// BYTES: relax.nn.conv2d %[[X]], %[[W]] {{.*}} padding [0, 0, 0, 0] {{.*}} layout "NHWC" kernel "HWIO"
relax.func @filled(%x: tensor<1x3x6x6xui8>) -> tensor<1x8x6x6xi32> attributes {global_symbol = "filled"} {
  %w = relax.constant dense<-3> : tensor<8x3x2x2xi8>
  %r = relax.dataflow -> (tensor<1x8x6x6xi32>) {
    %y = relax.nn.conv2d %x, %w strides [1, 1] padding [1, 1, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<1x3x6x6xui8>, tensor<8x3x2x2xi8>) -> tensor<1x8x6x6xi32>
    relax.output %y : tensor<1x8x6x6xi32>
  }
  relax.return %r : tensor<1x8x6x6xi32>
}

// Depthwise ones have channels last as well, so that they and what is around them agree.
// BYTES-LABEL: relax.func @depthwise
// BYTES: relax.nn.conv2d {{.*}} groups 4 layout "NHWC" kernel "HWIO" out_dtype i32
// CHECK-LABEL: relax.func @depthwise
// CHECK: groups 4 layout "NCHW4c" kernel "OIHW4o"
relax.func @depthwise(%x: tensor<1x4x6x6xui8>) -> tensor<1x4x4x4xi32> attributes {global_symbol = "depthwise"} {
  %w = relax.constant dense<-3> : tensor<4x1x3x3xi8>
  %r = relax.dataflow -> (tensor<1x4x4x4xi32>) {
    %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 4 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<1x4x6x6xui8>, tensor<4x1x3x3xi8>) -> tensor<1x4x4x4xi32>
    relax.output %y : tensor<1x4x4x4xi32>
  }
  relax.return %r : tensor<1x4x4x4xi32>
}

// Groups of bytes are blocks, which are read for all outputs of a group at once.
// BYTES-LABEL: relax.func @byte_groups
// BYTES-NOT: relax.nn.pad
// BYTES: relax.nn.conv2d {{.*}} groups 2 layout "NCHW4c" kernel "OIHW4i8o" out_layout "NCHW8c" out_dtype i32
// CHECK-LABEL: relax.func @byte_groups
// CHECK: groups 2 layout "NCHW4c" kernel "OIHW4i4o"
relax.func @byte_groups(%x: tensor<1x8x3x3xui8>) -> tensor<1x16x3x3xi32> attributes {global_symbol = "byte_groups"} {
  %w = relax.constant dense<-3> : tensor<16x4x1x1xi8>
  %r = relax.dataflow -> (tensor<1x16x3x3xi32>) {
    %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 2 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<1x8x3x3xui8>, tensor<16x4x1x1xi8>) -> tensor<1x16x3x3xi32>
    relax.output %y : tensor<1x16x3x3xi32>
  }
  relax.return %r : tensor<1x16x3x3xi32>
}

// Small ones are joined, with zeros between them, and the image is padded before.
// BYTES-LABEL: relax.func @byte_joined
// BYTES: %[[T:.*]] = relax.tile %w repeats [1, 2, 1, 1]
// BYTES: %[[M:.*]] = relax.constant dense<{{.*}}> : tensor<8x4x1x1xi8>
// BYTES: %[[V:.*]] = relax.multiply %[[T]], %[[M]]
// BYTES: relax.nn.pad %x width [0, 0, 0, 0, 1, 0, 1, 1] mode "constant" value 0.0
// BYTES-NOT: relax.nn.pad
// BYTES: relax.nn.conv2d {{.*}} padding [0, 0, 0, 0] {{.*}} groups 2 layout "NCHW4c" kernel "OIHW4i4o" out_dtype i32
// CHECK-LABEL: relax.func @byte_joined
// CHECK: groups 4 layout "NCHW2c" kernel "OIHW2i2o"
relax.func @byte_joined(%x: tensor<2x8x4x4xui8>) -> tensor<2x8x3x2xi32> attributes {global_symbol = "byte_joined"} {
  %w = relax.constant dense<[[[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [[[-1, 2], [3, 4]], [[5, 6], [7, 9]]], [[[1, -2], [3, 4]], [[5, 6], [7, 8]]], [[[1, 2], [-3, 4]], [[5, 6], [7, 8]]], [[[1, 2], [3, -4]], [[5, 6], [7, 8]]], [[[1, 2], [3, 4]], [[-5, 6], [7, 8]]], [[[1, 2], [3, 4]], [[5, -6], [7, 8]]], [[[1, 2], [3, 4]], [[5, 6], [-7, 8]]]]> : tensor<8x2x2x2xi8>
  %r = relax.dataflow -> (tensor<2x8x3x2xi32>) {
    %y = relax.nn.conv2d %x, %w strides [1, 2] padding [1, 1, 0, 1] dilation [2, 2] groups 4 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<2x8x4x4xui8>, tensor<8x2x2x2xi8>) -> tensor<2x8x3x2xi32>
    relax.output %y : tensor<2x8x3x2xi32>
  }
  relax.return %r : tensor<2x8x3x2xi32>
}

// Three groups of two outputs make no vectors of four, and blocks are half as large.
// BYTES-LABEL: relax.func @byte_left
// BYTES: groups 3 layout "NCHW4c" kernel "OIHW4i2o"
relax.func @byte_left(%x: tensor<1x12x3x3xui8>) -> tensor<1x6x3x3xi32> attributes {global_symbol = "byte_left"} {
  %w = relax.constant dense<2> : tensor<6x4x1x1xi8>
  %r = relax.dataflow -> (tensor<1x6x3x3xi32>) {
    %y = relax.nn.conv2d %x, %w strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 3 layout "NCHW" kernel "OIHW" out_dtype i32 : (tensor<1x12x3x3xui8>, tensor<6x4x1x1xi8>) -> tensor<1x6x3x3xi32>
    relax.output %y : tensor<1x6x3x3xi32>
  }
  relax.return %r : tensor<1x6x3x3xi32>
}
