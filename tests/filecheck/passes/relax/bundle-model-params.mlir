// RUN: xdsl-opt %s -p relax-bundle-model-params --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-bundle-model-params{param_tuple_name="weights"}' --split-input-file | filecheck %s --check-prefix NAMED

// Each use reads the weight, in dataflow blocks and branches, too.

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
!b = tensor<8xf32>

// NAMED: relax.func @main(%x: tensor<4x8xf32>, %weights: !relax.tuple<
// CHECK: relax.func @main(%x: tensor<4x8xf32>, %model_params: !relax.tuple<tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>>) -> tensor<4x8xf32> attributes {num_input = 1 : i64}
relax.func @main(%x: !x, %w: !w, %b: !b, %unused: !b) -> !x attributes {num_input = 1 : i64} {
  // CHECK-NEXT: relax.dataflow
  // CHECK-NEXT: %[[W:.*]] = relax.get_item %model_params[0]
  // CHECK-NEXT: %[[Y:.*]] = relax.matmul %x, %[[W]]
  // CHECK-NEXT: %[[V:.*]] = relax.get_item %model_params[0]
  // CHECK-NEXT: relax.matmul %[[V]], %[[V]]
  // CHECK-NEXT: %[[B:.*]] = relax.get_item %model_params[1]
  // CHECK-NEXT: relax.add %[[Y]], %[[B]]
  // CHECK-NOT: model_params[2]
  %r = relax.dataflow -> (!x) {
    %y = relax.matmul %x, %w : (!x, !w) -> !x
    %q = relax.matmul %w, %w : (!w, !w) -> !w
    %z = relax.add %y, %b : (!x, !b) -> !x
    %s = relax.matmul %z, %q : (!x, !w) -> !x
    relax.output %s : !x
  }
  relax.return %r : !x
}

// -----

// Symbols of weights stay symbols of the parameter.

!s = tensor<?xf32, #relax.dims<[n]>>

// CHECK: relax.func @symbols<n>(%[[P:.*]]: !relax.tuple<tensor<?xf32, #relax.dims<[n]>>>)
relax.func @symbols<n>(%w: !s) -> !s attributes {num_input = 0 : i64} {
  // CHECK-NEXT: %[[W:.*]] = relax.get_item %[[P]][0]
  // CHECK-NEXT: relax.negative %[[W]]
  %r = relax.negative %w : (!s) -> !s
  relax.return %r : !s
}

// -----

// A function literal reads outside.

// CHECK: relax.func @literal(%[[P:.*]]: !relax.tuple<tensor<4xf32>>)
relax.func @literal(%w: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = 0 : i64} {
  // CHECK-NEXT: %[[W:.*]] = relax.get_item %[[P]][0]
  // CHECK-NEXT: relax.lambda
  // CHECK-NEXT: relax.add %{{.*}}, %[[W]]
  %f = relax.lambda "inner"(%y: tensor<1xf32>) -> tensor<4xf32> {
    %z = relax.add %y, %w : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.return %z : tensor<4xf32>
  }
  %one = relax.constant dense<1.0> : tensor<1xf32>
  %r = relax.call_indirect %f(%one) : !relax.func<(tensor<1xf32>) -> tensor<4xf32>>, (tensor<1xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}

// -----

// Calls make the tuple; without weights it is empty. Others stay.

!t = tensor<4xf32>

// CHECK: relax.func @callee(%x: tensor<4xf32>, %model_params: !relax.tuple<tensor<4xf32>>)
relax.func @callee(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  %y = relax.add %x, %w : (!t, !t) -> !t
  relax.return %y : !t
}

// CHECK: relax.func @none(%x: tensor<4xf32>, %model_params: !relax.tuple<>)
relax.func @none(%x: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}

// CHECK: relax.func @caller(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32>
relax.func @caller(%x: !t, %w: !t) -> !t attributes {global_symbol = "caller"} {
  // CHECK-NEXT: %[[T:.*]] = relax.tuple(%w)
  // CHECK-NEXT: relax.call @callee(%x, %[[T]])
  // CHECK-NEXT: %[[E:.*]] = relax.tuple()
  // CHECK-NEXT: relax.call @none(%{{.*}}, %[[E]])
  %y = relax.call @callee(%x, %w) : (!t, !t) -> !t
  %z = relax.call @none(%y) : (!t) -> !t
  relax.return %z : !t
}
