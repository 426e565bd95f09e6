// RUN: xdsl-opt %s -p 'relax-bind-params{func_name="main" constants="1 = dense<2.0> : tensor<8xf32>"}' --split-input-file | filecheck %s

// CASE: BindParams.3, BindParams.4
// The function that is called so outside: the parameter goes, and its symbol with it, in
// other parameters, values and the result.

// CHECK-LABEL: relax.func @f
// CHECK-SAME: (%x: tensor<16xf32>, %s: !relax.shape<[8]>) -> tensor<16xf32> attributes {global_symbol = "main", tir_var_upper_bound = {}} {
// CHECK-NEXT: %w = relax.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[A:.*]] = relax.multiply %w, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %{{.*}} = relax.shape [8, 9]
// CHECK-NEXT: relax.return %x : tensor<16xf32>
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func @f<n>(%x: tensor<?xf32, #relax.dims<[n * 2]>>, %w: !n, %s: !relax.shape<[n]>) -> tensor<?xf32, #relax.dims<[n * 2]>> attributes {global_symbol = "main", tir_var_upper_bound = {n = 64 : i64}} {
  %a = relax.multiply %w, %w : (!n, !n) -> !n
  %t = relax.shape [n, n + 1]
  relax.return %x : tensor<?xf32, #relax.dims<[n * 2]>>
}
// CHECK-LABEL: relax.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>)
relax.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  relax.return %w : tensor<8xf32>
}

// -----

// A private function, where no public one has the name; others stay.

// CHECK-LABEL: relax.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %w = relax.constant
// CHECK-NEXT: relax.return %w
// CHECK: relax.func @other(%x: tensor<8xf32>, %w: tensor<8xf32>)
relax.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  relax.return %w : tensor<8xf32>
}
relax.func @other(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  relax.return %w : tensor<8xf32>
}
