// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// What cannot be legalized stays as it is: the pass has no errors of its own.

// CHECK-LABEL: relax.func @unknown_dimension
relax.func @unknown_dimension(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: relax.nn.relu %a
  %x = relax.nn.relu %a : (tensor<?x4xf32>) -> tensor<?x4xf32>
  relax.return %x : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: relax.func @unknown_rank
relax.func @unknown_rank(%a: tensor<*xf32>) -> tensor<*xf32> {
  // CHECK: relax.nn.relu %a
  %x = relax.nn.relu %a : (tensor<*xf32>) -> tensor<*xf32>
  relax.return %x : tensor<*xf32>
}

// -----

// CHECK-LABEL: relax.func @unknown_dtype
relax.func @unknown_dtype(%a: tensor<4x!relax.any>) -> tensor<4x!relax.any> {
  // CHECK: relax.nn.relu %a
  %x = relax.nn.relu %a : (tensor<4x!relax.any>) -> tensor<4x!relax.any>
  relax.return %x : tensor<4x!relax.any>
}

// -----

// A declared dimension that inference cannot prove is not relied on.

// CHECK-LABEL: relax.func @believed
relax.func @believed<n, m>(%a: tensor<?xf32, #relax.dims<[n]>>, %b: tensor<?xf32, #relax.dims<[m]>>) -> tensor<?xf32, #relax.dims<[n]>> {
  // CHECK: relax.add %a, %b
  %x = relax.add %a, %b : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[m]>>) -> tensor<?xf32, #relax.dims<[n]>>
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}
// CHECK-NOT: tir.func
