// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// The fields of a tuple are taken from where it is made, or out of it.

// CHECK-LABEL: relax.func @concat
relax.func @concat(%a: tensor<4x2xf32>, %p: !relax.tuple<tensor<4x2xf32>, tensor<4x3xf32>>) -> tensor<4x5xf32> {
  %b = relax.get_item %p[1] : !relax.tuple<tensor<4x2xf32>, tensor<4x3xf32>> -> tensor<4x3xf32>
  %t = relax.tuple(%a, %b) : tensor<4x2xf32>, tensor<4x3xf32>
  // CHECK: relax.call_tir @concatenate(%a, %b)
  %x = relax.concat %t axis 1 : (!relax.tuple<tensor<4x2xf32>, tensor<4x3xf32>>) -> tensor<4x5xf32>
  // CHECK: %[[A:.*]] = relax.get_item %p[0]
  // CHECK: %[[B:.*]] = relax.get_item %p[1]
  // CHECK: relax.call_tir @concatenate(%[[A]], %[[B]])
  %y = relax.concat %p axis 1 : (!relax.tuple<tensor<4x2xf32>, tensor<4x3xf32>>) -> tensor<4x5xf32>
  relax.return %y : tensor<4x5xf32>
}
// CHECK: tir.func @concatenate(
// CHECK: tir.block "T_concat" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: %[[K:.*]] = tir.sub %[[J]], %{{.*}} : i64
// CHECK-NEXT: tir.reads %B[%[[I]], %[[K]]], %A[%[[I]], %[[J]]]
// CHECK: tir.if_then_else
// CHECK-NOT: tir.func

// -----

// A function of several results; one part is the tensor itself.

// CHECK-LABEL: relax.func @parts
relax.func @parts(%a: tensor<5x8xf32>) -> !relax.tuple<tensor<3x8xf32>, tensor<2x8xf32>> {
  // CHECK-NOT: relax.split
  %w = relax.split %a sections 1 axis 0 : (tensor<5x8xf32>) -> tensor<5x8xf32>
  // CHECK: relax.call_tir @split(%a) : (tensor<5x8xf32>) -> !relax.tuple<tensor<3x8xf32>, tensor<2x8xf32>>
  %r = relax.split %w sections 2 axis 0 : (tensor<5x8xf32>) -> !relax.tuple<tensor<3x8xf32>, tensor<2x8xf32>>
  relax.return %r : !relax.tuple<tensor<3x8xf32>, tensor<2x8xf32>>
}
// CHECK: tir.func @split(
// CHECK: tir.block "T_split" (
// CHECK: tir.block "T_split_1" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: %[[K:.*]] = tir.add %[[I]], %c3
// CHECK-NEXT: tir.reads %A[%[[K]], %[[J]]]

// -----

// Dimensions that a reshape keeps, splits or merges are indexed apart.

// CHECK-LABEL: relax.func @reshape
relax.func @reshape<n>(%a: tensor<2x?x6xf32, #relax.dims<[2, n, 6]>>) -> tensor<?x2x3xf32, #relax.dims<[n * 2, 2, 3]>> {
  %s = relax.shape [n * 2, 2, 3]
  // CHECK: relax.call_tir @reshape1(%a)
  %r = relax.reshape %a, %s : (tensor<2x?x6xf32, #relax.dims<[2, n, 6]>>, !relax.shape<[n * 2, 2, 3]>) -> tensor<?x2x3xf32, #relax.dims<[n * 2, 2, 3]>>
  relax.return %r : tensor<?x2x3xf32, #relax.dims<[n * 2, 2, 3]>>
}
// CHECK: tir.func @reshape1(
// CHECK: tir.block "T_reshape" (%[[I:.*]] : S "v_ax0" {{.*}}, %[[J:.*]] : S "v_ax1" {{.*}}, %[[K:.*]] : S "v_ax2"
// CHECK-DAG: %[[A:.*]] = tir.floordiv %[[I]], %n : i64
// CHECK-DAG: %[[B:.*]] = tir.floormod %[[I]], %n : i64
// CHECK-DAG: %[[M:.*]] = tir.mul %[[J]], %c3 : i64
// CHECK-DAG: %[[C:.*]] = tir.add %[[M]], %[[K]] : i64
// CHECK: tir.reads %A[%[[A]], %[[B]], %[[C]]]

// -----

// Numbers of elements that are not provably equal are left to the check at run time.

// CHECK-LABEL: relax.func @unproven
relax.func @unproven<n, m>(%a: tensor<?xf32, #relax.dims<[n]>>, %b: tensor<?x1xf32, #relax.dims<[m, 1]>>) -> tensor<?xf32, #relax.dims<[m]>> {
  %s = relax.shape [m]
  // CHECK: relax.reshape
  %x = relax.reshape %a, %s : (tensor<?xf32, #relax.dims<[n]>>, !relax.shape<[m]>) -> tensor<?xf32, #relax.dims<[m]>>
  // CHECK: relax.broadcast_to
  %y = relax.broadcast_to %a, %s : (tensor<?xf32, #relax.dims<[n]>>, !relax.shape<[m]>) -> tensor<?xf32, #relax.dims<[m]>>
  relax.return %y : tensor<?xf32, #relax.dims<[m]>>
}
// CHECK-NOT: tir.func

// -----

// CHECK-LABEL: relax.func @moved
relax.func @moved(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // CHECK: relax.call_tir @transpose(%a)
  %x = relax.permute_dims %a : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: relax.call_tir @flip(%{{.*}})
  %y = relax.flip %x axis 0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  // CHECK: relax.call_tir @tile(%{{.*}})
  %z = relax.tile %y repeats [2, 1] : (tensor<3x2xf32>) -> tensor<6x2xf32>
  // CHECK: relax.call_tir @repeat(%{{.*}})
  %w = relax.repeat %z repeats 3 : (tensor<6x2xf32>) -> tensor<36xf32>
  // CHECK: relax.call_tir @collapse_sum(%{{.*}})
  %s = relax.shape [1]
  %v = relax.collapse_sum_to %w, %s : (tensor<36xf32>, !relax.shape<[1]>) -> tensor<1xf32>
  relax.return %x : tensor<3x2xf32>
}
// CHECK: tir.func @collapse_sum
// CHECK: tir.block "T_collapse_sum" (%{{.*}} : S {{.*}}, %{{.*}} : R

// -----

// Digits of an index are put together again; what fills a block is padding. Of a map that
// joins indices the elements are put where they belong, and of any other one after the
// result is filled.

// CHECK-LABEL: relax.func @layout
relax.func @layout(%a: tensor<2x7xf32>) -> tensor<15xf32> {
  %p = relax.prim_value 2.5 : f32
  // CHECK: relax.call_tir @te_layout_transform(%a)
  %x = relax.layout_transform %a pad %p map <(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)> : (tensor<2x7xf32>, !relax.prim<f32>) -> tensor<2x2x4xf32>
  // CHECK: relax.call_tir @te_layout_transform1(%a)
  %y = relax.layout_transform %a map <(d0, d1) -> (d0 * 8 + d1)> : (tensor<2x7xf32>) -> tensor<15xf32>
  // CHECK: relax.layout_transform
  %z = relax.layout_transform %a map <(d0, d1) -> (d1, d0)> separators [1] : (tensor<2x7xf32>) -> tensor<7x2xf32>
  relax.return %y : tensor<15xf32>
}
// CHECK-LABEL: relax.func @joined
relax.func @joined(%a: tensor<2x3x4x5xf32>) -> tensor<15x2x4xf32> {
  // CHECK: relax.call_tir @te_layout_transform2(%a)
  %y = relax.layout_transform %a map <(n, g, w, c) -> (g * 5 + c, n, w)> : (tensor<2x3x4x5xf32>) -> tensor<15x2x4xf32>
  relax.return %y : tensor<15x2x4xf32>
}
// CHECK: tir.func @te_layout_transform(
// CHECK: tir.block "te_layout_transform" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S {{.*}}, %[[K:.*]] : S
// CHECK-DAG: %[[M:.*]] = tir.mul %[[J]], %c4 : i64
// CHECK-DAG: %[[L:.*]] = tir.add
// CHECK: tir.cmp lt %[[L]], %c7
// CHECK: tir.if_then_else
// CHECK: tir.const 2.500000e+00 : f32
// CHECK: tir.func @te_layout_transform1(
// CHECK: tir.block "te_layout_transform" {
// CHECK: tir.func @te_layout_transform2(
// CHECK: tir.block "te_layout_transform" (%[[G:.*]] : S {{.*}}, %[[C:.*]] : S {{.*}}, %[[N:.*]] : S {{.*}}, %[[W:.*]] : S {{[^,]*}}) {
// CHECK: %[[GC:.*]] = tir.add
// CHECK: tir.reads %A[%[[N]], %[[G]], %[[W]], %[[C]]]
// CHECK: tir.writes %{{.*}}[%[[GC]], %[[N]], %[[W]]]
