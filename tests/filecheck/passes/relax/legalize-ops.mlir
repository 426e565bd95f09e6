// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// Equal operators share one function; others with the same name get a new one.

// CHECK-LABEL: relax.func @share
relax.func @share(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = relax.dataflow -> (tensor<4x8xf32>) {
    // CHECK: %[[X:.*]] = relax.call_tir @add(%a, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %x = relax.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    // CHECK: %[[Y:.*]] = relax.call_tir @add(%[[X]], %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %y = relax.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    // CHECK: relax.call_tir @add1(%[[Y]], %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %z = relax.add %y, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    relax.output %z : tensor<4x8xf32>
  }
  relax.return %r : tensor<4x8xf32>
}
// CHECK: tir.func @add(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {tir.noalias = true, param_names = ["A", "B", "T_add"]}
// CHECK: tir.block "T_add" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S
// CHECK-NEXT: tir.reads %A[%[[I]], %[[J]]], %B[%[[J]]]
// CHECK-NEXT: tir.writes %T_add[%[[I]], %[[J]]]
// CHECK: tir.func @add1
// CHECK-NOT: tir.func

// -----

// Functions that differ in the names of symbolic dimensions only are shared; a symbol
// that no buffer has as a bare dimension becomes a parameter.

// CHECK-LABEL: relax.func @symbolic
relax.func @symbolic<n>(%a: tensor<?x4xf32, #relax.dims<[n, 4]>>) -> tensor<?xf32, #relax.dims<[n * 4]>> {
  // CHECK: relax.call_tir @relu(%a) :
  %x = relax.nn.relu %a : (tensor<?x4xf32, #relax.dims<[n, 4]>>) -> tensor<?x4xf32, #relax.dims<[n, 4]>>
  %s = relax.shape [n * 4]
  // CHECK: relax.call_tir @reshape(%{{.*}}) :
  %y = relax.reshape %x, %s : (tensor<?x4xf32, #relax.dims<[n, 4]>>, !relax.shape<[n * 4]>) -> tensor<?xf32, #relax.dims<[n * 4]>>
  // CHECK: relax.call_tir @relu1(%{{.*}}) [n] :
  %z = relax.nn.relu %y : (tensor<?xf32, #relax.dims<[n * 4]>>) -> tensor<?xf32, #relax.dims<[n * 4]>>
  relax.return %z : tensor<?xf32, #relax.dims<[n * 4]>>
}
// CHECK-LABEL: relax.func @other
relax.func @other<m>(%a: tensor<?x4xf32, #relax.dims<[m, 4]>>) -> tensor<?x4xf32, #relax.dims<[m, 4]>> {
  // CHECK: relax.call_tir @relu(%a) :
  %x = relax.nn.relu %a : (tensor<?x4xf32, #relax.dims<[m, 4]>>) -> tensor<?x4xf32, #relax.dims<[m, 4]>>
  relax.return %x : tensor<?x4xf32, #relax.dims<[m, 4]>>
}
// CHECK: tir.func @relu(
// CHECK: %n = tir.shape_var "n" : i64
// CHECK: %A = tir.match_buffer "A" %{{.*}} [%n] : !tir.buffer<?x4xf32>
// CHECK: tir.func @relu1(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %[[N:.*]]: i64)
// CHECK: %[[L:.*]] = tir.mul %[[N]], %{{.*}} : i64
// CHECK: tir.match_buffer "A" %{{.*}} [%[[L]]] : !tir.buffer<?xf32>

// -----

// A name that the module has is left to its owner, and foreign ops are carried along.

// CHECK-LABEL: func.func private @matmul
func.func private @matmul()
// CHECK-LABEL: relax.func @names
relax.func @names(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) -> tensor<2x4xf32> {
  // CHECK: relax.call_tir @matmul1(%a, %b) : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf32>
  %r = relax.matmul %a, %b out_dtype f32 : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf32>
  relax.return %r : tensor<2x4xf32>
}
// CHECK: tir.func @matmul1(
// CHECK: tir.block "matmul" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S {{.*}}, %[[K:.*]] : R
// CHECK-NEXT: tir.reads %A[%[[I]], %[[K]]], %B[%[[K]], %[[J]]]
// CHECK: tir.init {
// CHECK: tir.cast %{{.*}} : f16 to f32

// -----

// Operators in a branch, and the stages of softmax.

// CHECK-LABEL: relax.func @branch
relax.func @branch(%p: tensor<i1>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = relax.if %p : tensor<i1> -> tensor<4x8xf32> {
    // CHECK: relax.call_tir @softmax(%a)
    %x = relax.nn.softmax %a axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relax.yield %x : tensor<4x8xf32>
  } else {
    relax.yield %a : tensor<4x8xf32>
  }
  relax.return %r : tensor<4x8xf32>
}
// CHECK: tir.func @softmax(
// CHECK: tir.alloc_buffer "softmax_max"
// CHECK-SAME: !tir.buffer<4x1xf32>
// CHECK: tir.block "softmax_max"
// CHECK: tir.block "softmax_exp"
// CHECK: tir.block "softmax_sum"
// CHECK: tir.block "softmax" (

// -----

// Where both operands have extent 1 they are read by the variable, elsewhere at 0.
// CHECK-LABEL: relax.func @ones
relax.func @ones(%x: tensor<1x4xf32>, %y: tensor<1x1xf32>) -> tensor<1x4xf32> {
  %r = relax.add %x, %y : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  relax.return %r : tensor<1x4xf32>
}
// CHECK: tir.block "T_add" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S {{.*}}) {
// CHECK: tir.load %A[%[[I]], %[[J]]]
// CHECK: tir.load %B[%[[I]], %c0]

// -----

// Elements that are no scalars stay.
// CHECK-LABEL: relax.func @vectors
// CHECK: relax.add
relax.func @vectors(%x: tensor<4xvector<3xf32>>) -> tensor<4xvector<3xf32>> {
  %r = relax.add %x, %x : (tensor<4xvector<3xf32>>, tensor<4xvector<3xf32>>) -> tensor<4xvector<3xf32>>
  relax.return %r : tensor<4xvector<3xf32>>
}
