// RUN: xdsl-opt -p canonicalize,cse,dce %s | filecheck %s

// CHECK-LABEL: relax.func @identities(
// CHECK-SAME: [[A:%[^ :]+]]: tensor<2x4xf32>
relax.func @identities(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %s = relax.shape [2, 4]
  %b = relax.reshape %a, %s : (tensor<2x4xf32>, !relax.shape<[2, 4]>) -> tensor<2x4xf32>
  %c = relax.broadcast_to %b, %s :
    (tensor<2x4xf32>, !relax.shape<[2, 4]>) -> tensor<2x4xf32>
  %d = relax.astype %c dtype f32 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %e = relax.permute_dims %d axes [0, 1] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = relax.permute_dims %e axes [0, -1] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = relax.alias %f : tensor<2x4xf32> -> tensor<2x4xf32>
  // CHECK-NEXT: relax.return [[A]]
  relax.return %g : tensor<2x4xf32>
}

// CHECK-LABEL: relax.func @back_again(
// CHECK-SAME: [[A:%[^ :]+]]: tensor<2x3x4xf16>
relax.func @back_again(%a: tensor<2x3x4xf16>) -> tensor<2x3x4xf16> {
  %s = relax.shape [24]
  %s3 = relax.shape [2, 3, 4]
  %b = relax.permute_dims %a axes [1, 2, 0] : (tensor<2x3x4xf16>) -> tensor<3x4x2xf16>
  %c = relax.permute_dims %b axes [2, 0, 1] : (tensor<3x4x2xf16>) -> tensor<2x3x4xf16>
  %d = relax.permute_dims %c : (tensor<2x3x4xf16>) -> tensor<4x3x2xf16>
  %e = relax.permute_dims %d : (tensor<4x3x2xf16>) -> tensor<2x3x4xf16>
  %f = relax.reshape %e, %s : (tensor<2x3x4xf16>, !relax.shape<[24]>) -> tensor<24xf16>
  %g = relax.reshape %f, %s3 :
    (tensor<24xf16>, !relax.shape<[2, 3, 4]>) -> tensor<2x3x4xf16>
  %h = relax.astype %g dtype f32 : (tensor<2x3x4xf16>) -> tensor<2x3x4xf32>
  %i = relax.astype %h dtype f16 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf16>
  // CHECK-NEXT: relax.return [[A]]
  relax.return %i : tensor<2x3x4xf16>
}

// CHECK-LABEL: relax.func @merged(
// CHECK-SAME: [[A:%[^ :]+]]: tensor<2x3x4xf32>
relax.func @merged(%a: tensor<2x3x4xf32>) -> !relax.tuple<tensor<4x2x3xf32>, tensor<6x4xf32>> {
  %s = relax.shape [24]
  // CHECK-NEXT: [[S:%[^ ]+]] = relax.shape [6, 4]
  %s2 = relax.shape [6, 4]
  %b = relax.permute_dims %a : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  // CHECK-NEXT: [[P:%[^ ]+]] = relax.permute_dims [[A]] axes [2, 0, 1]
  %c = relax.permute_dims %b axes [0, 2, 1] : (tensor<4x3x2xf32>) -> tensor<4x2x3xf32>
  %d = relax.reshape %a, %s : (tensor<2x3x4xf32>, !relax.shape<[24]>) -> tensor<24xf32>
  // CHECK-NEXT: [[R:%[^ ]+]] = relax.reshape [[A]], [[S]]
  %e = relax.reshape %d, %s2 : (tensor<24xf32>, !relax.shape<[6, 4]>) -> tensor<6x4xf32>
  // CHECK-NEXT: relax.tuple([[P]], [[R]])
  %t = relax.tuple(%c, %e) : tensor<4x2x3xf32>, tensor<6x4xf32>
  relax.return %t : !relax.tuple<tensor<4x2x3xf32>, tensor<6x4xf32>>
}

// CHECK-LABEL: relax.func @tuples(
// CHECK-SAME: [[T:%[^ :]+]]: !relax.tuple
relax.func @tuples(%t: !relax.tuple<tensor<4xf32>, tensor<2xi32>>)
    -> !relax.tuple<tensor<4xf32>, tensor<2xi32>> {
  %a = relax.get_item %t[0] : !relax.tuple<tensor<4xf32>, tensor<2xi32>> -> tensor<4xf32>
  %b = relax.get_item %t[1] : !relax.tuple<tensor<4xf32>, tensor<2xi32>> -> tensor<2xi32>
  %u = relax.tuple(%a, %b) : tensor<4xf32>, tensor<2xi32>
  // CHECK-NEXT: relax.return [[T]]
  relax.return %u : !relax.tuple<tensor<4xf32>, tensor<2xi32>>
}

// CHECK-LABEL: relax.func @field(
// CHECK-SAME: [[A:%[^ :]+]]: tensor<4xf32>
relax.func @field(%a: tensor<4xf32>, %b: tensor<2xi32>) -> tensor<4xf32> {
  %t = relax.tuple(%b, %a) : tensor<2xi32>, tensor<4xf32>
  %c = relax.get_item %t[1] : !relax.tuple<tensor<2xi32>, tensor<4xf32>> -> tensor<4xf32>
  // CHECK-NEXT: relax.return [[A]]
  relax.return %c : tensor<4xf32>
}

// CHECK-LABEL: relax.func @aliases(
// CHECK-SAME: [[A:%[^ :]+]]: tensor<2x4xf32>
relax.func @aliases(%a: tensor<2x4xf32>) -> tensor<?x?xf32> {
  %b = relax.alias %a : tensor<2x4xf32> -> tensor<2x?xf32>
  // CHECK-NEXT: [[B:%[^ ]+]] = relax.alias [[A]] : tensor<2x4xf32> -> tensor<?x?xf32>
  %c = relax.alias %b : tensor<2x?xf32> -> tensor<?x?xf32>
  // CHECK-NEXT: relax.return [[B]]
  relax.return %c : tensor<?x?xf32>
}

// CHECK-LABEL: relax.func @dataflow<n>(
// CHECK-SAME: [[A:%[^ :]+]]: tensor<?x4xf32, #relax.dims<[n, 4]>>
relax.func @dataflow<n>(%a: tensor<?x4xf32, #relax.dims<[n, 4]>>)
    -> tensor<?x4xf32, #relax.dims<[n, 4]>> {
  %r = relax.dataflow -> (tensor<?x4xf32, #relax.dims<[n, 4]>>) {
    %s = relax.shape [n, 4]
    %b = relax.reshape %a, %s :
      (tensor<?x4xf32, #relax.dims<[n, 4]>>, !relax.shape<[n, 4]>)
      -> tensor<?x4xf32, #relax.dims<[n, 4]>>
    // CHECK: relax.nn.relu [[A]]
    %c = relax.nn.relu %b : (tensor<?x4xf32, #relax.dims<[n, 4]>>)
      -> tensor<?x4xf32, #relax.dims<[n, 4]>>
    relax.output %c : tensor<?x4xf32, #relax.dims<[n, 4]>>
  }
  relax.return %r : tensor<?x4xf32, #relax.dims<[n, 4]>>
}
