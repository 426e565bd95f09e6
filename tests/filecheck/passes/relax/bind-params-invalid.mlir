// RUN: xdsl-opt %s -p 'relax-bind-params{func_name="main" constants="1 = dense<2.0> : tensor<4x8xf32>"}' --split-input-file --verify-diagnostics | filecheck %s

// CASE: BindParams.5
// CHECK: relax-bind-params: there is no parameter 1 of @main; give its position
relax.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  relax.return %x : tensor<8xf32>
}

// -----

// CHECK: relax-bind-params: parameter 1 of @main is tensor<4x4xf32>, which tensor<4x8xf32> is not; give an array of that type
relax.func @main<n>(%x: tensor<8xf32>, %w: tensor<?x?xf32, #relax.dims<[n, n]>>) -> tensor<8xf32> {
  relax.return %x : tensor<8xf32>
}

// -----

// CHECK: relax-bind-params: @main is used by relax.call, which gives all parameters; bind those of a function that nothing calls
relax.func @main(%x: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<8xf32> {
  relax.return %x : tensor<8xf32>
}
relax.func @other(%x: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<8xf32> {
  %y = relax.call @main(%x, %w) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  relax.return %y : tensor<8xf32>
}

// -----

// CHECK: relax-bind-params: relax.add: {{.*}} cannot be both 3 and 8; what is known of its dimensions says that it always fails, correct the program
relax.func @main<n>(%x: tensor<3xf32>, %w: tensor<4x?xf32, #relax.dims<[4, n]>>, %y: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> {
  %z = relax.add %x, %y : (tensor<3xf32>, tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32>
  relax.return %z : tensor<?xf32>
}
