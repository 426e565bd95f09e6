// RUN: xdsl-opt %s -p relax-insert-operand-checks --split-input-file | filecheck %s

// The indices go through a function that looks at all of them; equal ones are one.

// CHECK-LABEL: relax.func @take
relax.func @take(%x: tensor<4x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[D:.*]] = relax.dataflow
  %0 = relax.dataflow -> (tensor<2x3xf32>) {
    // CHECK-NEXT: %[[C:.*]] = relax.call_tir @check_take(%i) : (tensor<2xi64>) -> tensor<2xi64>
    // CHECK-NEXT: %[[R:.*]] = relax.take %x, %[[C]] axis 0
    %r = relax.take %x, %i axis 0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    // CHECK-NEXT: relax.call_tir @check_take(%i)
    %s = relax.take %x, %i axis 0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    %t = relax.add %r, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    relax.output %t : tensor<2x3xf32>
  }
  relax.return %0 : tensor<2x3xf32>
}
// CHECK: tir.func @check_take(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {tir.noalias = true
// CHECK: tir.block "check"
// CHECK-NEXT: tir.reads %A[%c0 to 2]
// CHECK-NEXT: tir.writes %checked[%c0 to 2]
// CHECK: tir.for
// CHECK: tir.if
// CHECK: %[[N:.*]] = tir.string "tvm_assert_message"
// CHECK-NEXT: %[[T:.*]] = tir.string "relax.take: index {} is out of range for axis 0 with extent 4"
// CHECK-NEXT: %[[M:.*]] = tir.call "call_pure_extern"(%[[N]], %[[T]], %{{.*}}) : (!tir.handle, !tir.handle, i64) -> i32
// CHECK-NEXT: tir.assert %{{.*}}, %[[M]]


// -----

// Constants that are allowed need no check, nor do floats. Others are checked when they
// are reached.

// CHECK-LABEL: relax.func @constants
relax.func @constants(%x: tensor<4xi32>, %f: tensor<4xf32>) -> tensor<4xi32> {
  %two = relax.constant dense<2> : tensor<i32>
  %zero = relax.constant dense<0> : tensor<i32>
  %i = relax.constant dense<[0, 3, -4, 1]> : tensor<4xi64>
  // CHECK-NOT: relax.call_tir
  // CHECK: relax.floor_divide
  %0 = relax.floor_divide %x, %two : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  // CHECK-NOT: relax.call_tir
  // CHECK: relax.divide
  %1 = relax.divide %f, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NOT: relax.call_tir
  // CHECK: relax.gather_elements
  %2 = relax.gather_elements %0, %i axis 0 : (tensor<4xi32>, tensor<4xi64>) -> tensor<4xi32>
  // CHECK-NEXT: %[[Z:.*]] = relax.call_tir @check_mod(%zero)
  // CHECK-NEXT: relax.mod %{{.*}}, %[[Z]]
  %3 = relax.mod %2, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  relax.return %3 : tensor<4xi32>
}
// CHECK: tir.select
// CHECK: tir.assert %{{.*}}, "relax.mod: an integer is divided by zero"

// -----

// The extent is a symbol: a parameter of the check, and a number of its message. A scalar
// becomes a tensor.

// CHECK-LABEL: relax.func @symbolic
relax.func @symbolic<n>(%x: tensor<?x3xf32, #relax.dims<[n, 3]>>, %i: !relax.prim<i64>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[C:.*]] = relax.call_tir @check_take(%i) [n] : (!relax.prim<i64>) -> tensor<i64>
  // CHECK-NEXT: relax.take %x, %[[C]] axis 0 : (tensor<?x3xf32, #relax.dims<[n, 3]>>, tensor<i64>) -> tensor<3xf32>
  %r = relax.take %x, %i axis 0 : (tensor<?x3xf32, #relax.dims<[n, 3]>>, !relax.prim<i64>) -> tensor<3xf32>
  relax.return %r : tensor<3xf32>
}
// CHECK: tir.string "relax.take: index {} is out of range for axis 0 with extent {}"

// -----

// What cannot be legalized is left alone.

// CHECK-LABEL: relax.func @unknown
relax.func @unknown(%x: tensor<?x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  // CHECK-NEXT: relax.take %x, %i
  %r = relax.take %x, %i axis 0 : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  relax.return %r : tensor<2x3xf32>
}
// CHECK-NOT: tir.func
