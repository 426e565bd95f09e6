// RUN: xdsl-opt %s -p 'relax-lift-transform-params{shared_transform="main","other"}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p relax-lift-transform-params --split-input-file --verify-diagnostics | filecheck %s --check-prefix OWN

!t = tensor<4xf32>

// CHECK: relax-lift-transform-params: num_input of @main is 3 : i64; give an integer from 0 to 1, the number of its parameters
// OWN: relax-lift-transform-params: num_input of @main is 3 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @main(%x: !t) -> !t attributes {num_input = 3 : i64} {
  relax.return %x : !t
}

// -----

!t = tensor<4xf32>

// CHECK: relax-lift-transform-params: shared_transform names @other, but there is no such function; give Relax functions whose num_input tells inputs from weights
// OWN: relax.func @main_transform_params
relax.func @main(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}

// -----

!t = tensor<4xf32>

// CHECK: relax-lift-transform-params: shared_transform names @other, but there is no num_input; give
// OWN: relax-lift-transform-params: @main is used by relax.call, which gives its weights; lift those of functions that nothing calls
relax.func @main(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}
relax.func @other(%x: !t) -> !t {
  %y = relax.call @main(%x, %x) : (!t, !t) -> !t
  relax.return %y : !t
}

// -----

!t = tensor<4xf32>

// CHECK: relax-lift-transform-params: @other has 2 weights and @main 1; a common transform needs as many
// OWN: relax-lift-transform-params: relax.func @main_transform_params is no pure function from a tuple of weights to a tuple; rename it
relax.func @main(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}
relax.func @other(%x: !t, %w: !t, %v: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}
relax.func @main_transform_params(%x: !t) -> !t {
  relax.return %x : !t
}

// -----

!t = tensor<4xf32>
!u = tensor<5xf32>

// CHECK: relax-lift-transform-params: weight 0 of @other is tensor<5xf32>, and of @main tensor<4xf32>; a common transform needs the same types
// OWN: relax.func @main_transform_params
relax.func @main(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}
relax.func @other(%x: !t, %w: !u) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}
