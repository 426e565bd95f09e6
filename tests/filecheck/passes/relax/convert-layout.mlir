// RUN: xdsl-opt %s -p 'relax-convert-layout{desired_layouts="relax.nn.conv2d:NHWC:OHWI"}' | filecheck %s
// RUN: xdsl-opt %s -p 'relax-convert-layout{desired_layouts="relax.nn.conv2d:NCHW2c:OIHW2o"}' | filecheck %s --check-prefix=BLOCKS
// RUN: xdsl-opt %s -p relax-convert-layout | filecheck %s --check-prefix=NONE

// NONE-NOT: NHWC
// NONE-NOT: layout_transform

!x = tensor<?x4x8x8xf32, #relax.dims<[n, 4, 8, 8]>>
!w = tensor<4x4x3x3xf32>
!b = tensor<4x1x1xf32>
!v = tensor<4xf32>
!h = tensor<?x4x4x4xf32, #relax.dims<[n, 4, 4, 4]>>
!r = tensor<?x4xf32, #relax.dims<[n, 4]>>

// One chain: operands are rearranged once, the mean needs nothing more.
// CHECK-LABEL: relax.func @chain
// CHECK: %[[X:.*]] = relax.permute_dims %x axes [0, 2, 3, 1] : {{.*}} -> tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>>
// CHECK-NEXT: %[[W:.*]] = relax.permute_dims %w axes [0, 2, 3, 1]
// CHECK-NEXT: %y = relax.nn.conv2d %[[X]], %[[W]] {{.*}} layout "NHWC" kernel "OHWI" : {{.*}} -> tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>>
// CHECK-NEXT: %[[B:.*]] = relax.permute_dims %b axes [1, 2, 0] : (tensor<4x1x1xf32>) -> tensor<1x1x4xf32>
// CHECK-NEXT: %z = relax.add %y, %[[B]]
// CHECK-NEXT: %q = relax.nn.relu %z
// CHECK-NEXT: %s = relax.nn.softmax %q axis 3
// CHECK-NEXT: %a = relax.add %s, %[[X]]
// CHECK-NEXT: %c = relax.nn.conv2d %a, %[[W]] {{.*}} layout "NHWC"
// CHECK-NEXT: %p = relax.nn.max_pool2d %c {{.*}} layout "NHWC" : {{.*}} -> tensor<?x4x4x4xf32
// CHECK-NEXT: %m = relax.mean %p axis [1, 2]
// CHECK-NEXT: relax.output %m
// BLOCKS-LABEL: relax.func @chain
// BLOCKS: relax.layout_transform %x map <(d0, d1, d2, d3) -> (d0, (d1 floordiv 2), d2, d3, (d1 mod 2))> : {{.*}} -> tensor<?x2x8x8x2xf32, #relax.dims<[n, 2, 8, 8, 2]>>
// BLOCKS: relax.layout_transform %w map <(d0, d1, d2, d3) -> ((d0 floordiv 2), d1, d2, d3, (d0 mod 2))>
// BLOCKS: %y = relax.nn.conv2d {{.*}} layout "NCHW2c" kernel "OIHW2o"
// BLOCKS: relax.layout_transform %b
// BLOCKS: %q = relax.nn.relu
// The channels are in blocks, so softmax over them takes the tensor as written.
// BLOCKS-NEXT: %[[Q:.*]] = relax.layout_transform %q map <(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d4), d2, d3)>
// BLOCKS-NEXT: %s = relax.nn.softmax %[[Q]] axis -3
// BLOCKS-NEXT: %a = relax.add %s, %x
// BLOCKS: relax.nn.max_pool2d {{.*}} layout "NCHW2c"
// BLOCKS-NEXT: %m = relax.mean {{.*}} axis [2, 3] : {{.*}} -> tensor<?x2x2xf32, #relax.dims<[n, 2, 2]>>
// BLOCKS-NEXT: relax.layout_transform %m map <(d0, d1, d2) -> (d0, ((d1 * 2) + d2))>
relax.func @chain<n>(%x: !x, %w: !w, %b: !b) -> !r attributes {global_symbol = "chain"} {
  %r = relax.dataflow -> (!r) {
    %y = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
    %z = relax.add %y, %b : (!x, !b) -> !x
    %q = relax.nn.relu %z : (!x) -> !x
    %s = relax.nn.softmax %q axis -3 : (!x) -> !x
    %a = relax.add %s, %x : (!x, !x) -> !x
    %c = relax.nn.conv2d %a, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
    %p = relax.nn.max_pool2d %c size [2] strides [2] padding [0] dilation [1] layout "NCHW" : (!x) -> !h
    %m = relax.mean %p axis [2, 3] : (!h) -> !r
    relax.output %m : !r
  }
  relax.return %r : !r
}

// Normalisations, slices, splits and new axes follow; a transposition is a new order.
// CHECK-LABEL: relax.func @others
// CHECK: %y = relax.nn.conv2d
// CHECK-NEXT: %t = relax.nn.batch_norm %y, %v, %v, %v, %v axis 3
// CHECK-NEXT: %[[I:.*]] = relax.get_item %t[0]
// CHECK-NEXT: %l = relax.nn.layer_norm %{{.*}}, %v, %v axes [3]
// CHECK-NEXT: %s = relax.split %l sections 2 axis 3
// CHECK: %[[J:.*]] = relax.tuple(%{{.*}}, %{{.*}}) : tensor<?x8x8x2xf32
// CHECK-NEXT: %j = relax.concat %[[J]] axis 3
// CHECK-NEXT: %e = relax.expand_dims %j axis [0] : {{.*}} -> tensor<1x?x8x8x4xf32
// CHECK-NEXT: %f = relax.squeeze %e axis [0]
// CHECK-NOT: relax.permute_dims
// CHECK: %u = relax.nn.relu %f
// CHECK-NEXT: relax.sum %u axis [1] keepdims
// CHECK: relax.strided_slice
relax.func @others<n>(%x: !x, %w: !w, %v: !v) -> !relax.object attributes {global_symbol = "others"} {
  %axis = relax.prim_value 1 : i64
  %one = relax.prim_value 1 : i64
  %three = relax.prim_value 3 : i64
  %axes = relax.tuple(%axis) : !relax.prim<i64, 1>
  %begin = relax.tuple(%one) : !relax.prim<i64, 1>
  %end = relax.tuple(%three) : !relax.prim<i64, 3>
  %r = relax.dataflow -> (!relax.object) {
    %y = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
    %t = relax.nn.batch_norm %y, %v, %v, %v, %v axis 1 epsilon 1.0e-05 momentum 1.0e-01 inference : (!x, !v, !v, !v, !v) -> !relax.tuple<!x, !v, !v>
    %i = relax.get_item %t[0] : !relax.tuple<!x, !v, !v> -> !x
    %l = relax.nn.layer_norm %i, %v, %v axes [1] epsilon 1.0e-05 : (!x, !v, !v) -> !x
    %s = relax.split %l sections 2 axis 1 : (!x) -> !relax.tuple<tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>>
    %s0 = relax.get_item %s[0] : !relax.tuple<tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>> -> tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>
    %s1 = relax.get_item %s[1] : !relax.tuple<tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>> -> tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>
    %k = relax.tuple(%s1, %s0) : tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>
    %j = relax.concat %k axis 1 : (!relax.tuple<tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>>) -> !x
    %e = relax.expand_dims %j axis [1] : (!x) -> tensor<?x1x4x8x8xf32, #relax.dims<[n, 1, 4, 8, 8]>>
    %f = relax.squeeze %e axis [1] : (tensor<?x1x4x8x8xf32, #relax.dims<[n, 1, 4, 8, 8]>>) -> !x
    %g = relax.permute_dims %f axes [0, 2, 3, 1] : (!x) -> tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>>
    %u = relax.nn.relu %g : (tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>>) -> tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>>
    %o = relax.sum %u axis [1] keepdims : (tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>>) -> tensor<?x1x8x4xf32, #relax.dims<[n, 1, 8, 4]>>
    %c = relax.strided_slice %j, %axes, %begin, %end : (!x, !relax.tuple<!relax.prim<i64, 1>>, !relax.tuple<!relax.prim<i64, 1>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>
    %z = relax.tuple(%o, %c) : tensor<?x1x8x4xf32, #relax.dims<[n, 1, 8, 4]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>
    %q = relax.alias %z : !relax.tuple<tensor<?x1x8x4xf32, #relax.dims<[n, 1, 8, 4]>>, tensor<?x2x8x8xf32, #relax.dims<[n, 2, 8, 8]>>> -> !relax.object
    relax.output %q : !relax.object
  }
  relax.return %r : !relax.object
}

// Of unknown rank: the operand is as it was written. Outside of a block nothing changes.
// CHECK-LABEL: relax.func @unknown
// CHECK: %y = relax.nn.conv2d {{.*}} layout "NHWC"
// CHECK-NEXT: %[[Y:.*]] = relax.permute_dims %y axes [0, 3, 1, 2]
// CHECK-NEXT: %z = relax.add %[[Y]], %b : ({{.*}}, tensor<*xf32>) -> tensor<*xf32>
// CHECK: relax.nn.conv2d %x, %w {{.*}} layout "NCHW" kernel "OIHW"
relax.func @unknown<n>(%x: !x, %w: !w, %b: tensor<*xf32>) -> tensor<*xf32> {
  %r = relax.dataflow -> (tensor<*xf32>) {
    %y = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
    %z = relax.add %y, %b : (!x, tensor<*xf32>) -> tensor<*xf32>
    relax.output %z : tensor<*xf32>
  }
  %o = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
  relax.return %r : tensor<*xf32>
}

// A cast takes the layout over and keeps what it defines.
// CHECK-LABEL: relax.func @cast
// CHECK: %y = relax.nn.conv2d {{.*}} layout "NHWC"
// CHECK-NEXT: %c = relax.match_cast %y defines [h] : tensor<?x8x8x4xf32, #relax.dims<[n, 8, 8, 4]>> -> tensor<?x?x8x4xf32, #relax.dims<[n, h, 8, 4]>>
// CHECK-NEXT: %q = relax.nn.relu %c
// CHECK-NEXT: %a = relax.alias %q
// CHECK-NEXT: relax.permute_dims %a axes [0, 3, 1, 2]
relax.func @cast<n>(%x: !x, %w: !w) -> tensor<?x?x?x?xf32> attributes {global_symbol = "cast"} {
  %r = relax.dataflow -> (tensor<?x?x?x?xf32>) {
    %y = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !w) -> !x
    %c = relax.match_cast %y defines [h] : !x -> tensor<?x4x?x8xf32, #relax.dims<[n, 4, h, 8]>>
    %q = relax.nn.relu %c : (tensor<?x4x?x8xf32, #relax.dims<[n, 4, h, 8]>>) -> tensor<?x4x?x8xf32, #relax.dims<[n, 4, h, 8]>>
    %a = relax.alias %q : tensor<?x4x?x8xf32, #relax.dims<[n, 4, h, 8]>> -> tensor<?x?x?x?xf32>
    relax.output %a : tensor<?x?x?x?xf32>
  }
  relax.return %r : tensor<?x?x?x?xf32>
}

// A copy that something overwrites is no other name of the tensor.

!p = tensor<2x8x8x4xf32>

// CHECK-LABEL: relax.func @overwritten
// CHECK: %y = relax.nn.conv2d {{.*}} layout "NHWC"
// CHECK: %t = relax.permute_dims
// CHECK-NEXT: relax.call_tir_inplace @clear(%t)
// CHECK-NEXT: relax.nn.relu %y
relax.func @overwritten(%x: tensor<2x4x8x8xf32>, %w: !w) -> !relax.tuple<tensor<2x4x8x8xf32>, !p> attributes {global_symbol = "overwritten"} {
  %r, %s = relax.dataflow -> (tensor<2x4x8x8xf32>, !p) {
    %y = relax.nn.conv2d %x, %w strides [1] padding [1] dilation [1] groups 1 layout "NCHW" kernel "OIHW" : (tensor<2x4x8x8xf32>, !w) -> tensor<2x4x8x8xf32>
    %t = relax.permute_dims %y axes [0, 2, 3, 1] : (tensor<2x4x8x8xf32>) -> !p
    %z = relax.call_tir_inplace @clear(%t) inplace [0] : (!p) -> !p
    %q = relax.nn.relu %y : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    relax.output %q, %z : tensor<2x4x8x8xf32>, !p
  }
  %o = relax.tuple(%r, %s) : tensor<2x4x8x8xf32>, !p
  relax.return %o : !relax.tuple<tensor<2x4x8x8xf32>, !p>
}
tir.func @clear(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2x8x8x4xf32>
  %c0 = tir.const 0 : i32
  %zero = tir.const 0.0 : f32
  tir.store %zero, %A[%c0, %c0, %c0, %c0] : f32
}
