// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// An index that is read from a tensor may be any: the whole dimension counts as read.

// CHECK-LABEL: relax.func @take
relax.func @take(%a: tensor<100x8xf32>, %i: tensor<3xi32>) -> tensor<3x8xf32> {
  // CHECK: relax.call_tir @take1(%a, %i)
  %r = relax.take %a, %i axis 0 : (tensor<100x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  relax.return %r : tensor<3x8xf32>
}
// CHECK: tir.func @take1(
// CHECK: tir.block "T_take" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: tir.reads %B[%[[I]]], %A[%c0 to 100, %[[J]]]
// CHECK: %[[B:.*]] = tir.load %B[%[[I]]]
// CHECK: %[[P:.*]] = tir.cast %[[B]] : i32 to i64
// CHECK: tir.load %A[%[[P]], %[[J]]]

// -----

// A slice whose bounds are symbolic: a symbol of no dimension becomes a parameter.

// CHECK-LABEL: relax.func @slice
relax.func @slice<n>(%a: tensor<?x4xf32, #relax.dims<[n + 1, 4]>>, %b: tensor<?xf32, #relax.dims<[n]>>) -> tensor<1x4xf32> {
  %0 = relax.prim_value 0 : i64
  %n = relax.prim_value n : i64
  %e = relax.prim_value n + 1 : i64
  %axes = relax.tuple(%0) : !relax.prim<i64, 0>
  %begin = relax.tuple(%n) : !relax.prim<i64, n>
  %end = relax.tuple(%e) : !relax.prim<i64, n + 1>
  // CHECK: relax.call_tir @strided_slice(%a) [n] :
  %r = relax.strided_slice %a, %axes, %begin, %end : (tensor<?x4xf32, #relax.dims<[n + 1, 4]>>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, n>>, !relax.tuple<!relax.prim<i64, n + 1>>) -> tensor<1x4xf32>
  relax.return %r : tensor<1x4xf32>
}
// CHECK: tir.func @strided_slice(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %n: i64)

// -----

// A slice with bounds of run time: its shape is computed first, and what follows is
// legalized for the symbols that stand for it.

// CHECK-LABEL: relax.func @dynamic
relax.func @dynamic<s>(%a: tensor<?x8xf32, #relax.dims<[s, 8]>>, %b: tensor<2xi64>, %e: tensor<2xi64>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  %r = relax.dataflow -> (tensor<?x?xf32>) {
    // CHECK: %[[S:.*]] = relax.call_tir @shape_func(%b, %e, %s) [s] : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    // CHECK: %[[T:.*]] = relax.tensor_to_shape %[[S]]
    // CHECK: relax.match_cast %[[T]] defines [s1, s2] : !relax.shape<[?, ?]> -> !relax.shape<[s1, s2]>
    // CHECK: %[[D:.*]] = relax.call_tir @dynamic_strided_slice(%a, %b, %s) : {{.*}} -> tensor<?x?xf32, #relax.dims<[s1, s2]>>
    %0 = relax.dynamic_strided_slice %a, %b, %e, %s : (tensor<?x8xf32, #relax.dims<[s, 8]>>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    // CHECK: %[[R:.*]] = relax.call_tir @relu(%[[D]])
    %1 = relax.nn.relu %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
    // CHECK: %[[A:.*]] = relax.alias %[[R]] : {{.*}} -> tensor<?x?xf32>
    // CHECK: relax.output %[[A]]
    relax.output %1 : tensor<?x?xf32>
  }
  relax.return %r : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: relax.func @scatter
relax.func @scatter(%a: tensor<4x8xf32>, %i: tensor<3x1xi64>, %u: tensor<3x8xf32>) -> tensor<4x8xf32> {
  // CHECK: relax.call_tir @scatter_nd(%a, %i, %u)
  %x = relax.scatter_nd %a, %i, %u reduction "add" : (tensor<4x8xf32>, tensor<3x1xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>
  // CHECK: relax.call_tir @scatter_nd1(%x, %i, %u)
  %y = relax.scatter_nd %x, %i, %u reduction "mean" : (tensor<4x8xf32>, tensor<3x1xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>
  // CHECK: relax.call_tir @gather_nd(%{{.*}}, %i)
  %z = relax.gather_nd %y, %i batch_dims 0 : (tensor<4x8xf32>, tensor<3x1xi64>) -> tensor<3x8xf32>
  relax.return %y : tensor<4x8xf32>
}
