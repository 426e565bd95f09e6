// RUN: xdsl-opt %s -p relax-lift-transform-params --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-lift-transform-params{consume_params=true}' --split-input-file | filecheck %s --check-prefix CONSUME

// What depends on weights alone is computed by another function, with the constants it
// needs; weights that are needed as they are come first, others are not taken.

!x = tensor<1x3x8x8xf32>
!w = tensor<3x4x3x3xf32>
!t = tensor<4x3x3x3xf32>
!y = tensor<1x4x6x6xf32>
!u = tensor<4x1x1xf32>

// CHECK: relax.func @main(%x: tensor<1x3x8x8xf32>, %u: tensor<4x1x1xf32>, %v: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> attributes {global_symbol = "main", num_input = 1 : i64}
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[Y:.*]] = relax.nn.conv2d %x, %v
// CHECK-NEXT: %[[Z:.*]] = relax.add %[[Y]], %u
// CHECK-NEXT: relax.output %[[Z]]
// CHECK: relax.func @main_transform_params(%params: !relax.tuple<tensor<3x4x3x3xf32>, tensor<4x1x1xf32>, tensor<9xf32>>) -> !relax.tuple<tensor<4x1x1xf32>, tensor<4x3x3x3xf32>> attributes {global_symbol = "main_transform_params", num_input = 0 : i64}
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[W:.*]] = relax.get_item %params[0]
// CHECK-NEXT: %[[T:.*]] = relax.permute_dims %[[W]]
// CHECK-NEXT: %[[ONE:.*]] = relax.constant dense<1.0
// CHECK-NEXT: %[[V:.*]] = relax.add %[[T]], %[[ONE]]
// CHECK-NEXT: %[[U:.*]] = relax.get_item %params[1]
// CHECK-NEXT: relax.tuple(%[[U]], %[[V]])
// CONSUME-LABEL: relax.func @main_transform_params
// CONSUME: relax.get_item %params[0]
// CONSUME-NEXT: %[[I:.*]] = relax.prim_value 0
// CONSUME-NEXT: relax.call_pure_packed "vm.builtin.tuple_reset_item"(%params, %[[I]]) : {{.*}} -> !relax.tuple<>
relax.func @main(%x: !x, %w: !w, %u: !u, %unused: tensor<9xf32>) -> !y attributes {global_symbol = "main", num_input = 1 : i64} {
  %r = relax.dataflow -> (!y) {
    %t = relax.permute_dims %w axes [1, 0, 2, 3] : (!w) -> !t
    %one = relax.constant dense<1.0> : tensor<f32>
    %v = relax.add %t, %one : (!t, tensor<f32>) -> !t
    %y = relax.nn.conv2d %x, %v strides [1, 1] padding [0, 0, 0, 0] dilation [1, 1] groups 1 layout "NCHW" kernel "OIHW" : (!x, !t) -> !y
    %z = relax.add %y, %u : (!y, !u) -> !y
    relax.output %z : !y
  }
  relax.return %r : !y
}

// -----

// A symbol that only weights told comes as a shape.

!s = tensor<?xf32, #relax.dims<[n]>>

// CHECK: relax.func @symbols<n>(%x: tensor<4xf32>, %vars_from_compile_time_params: !relax.shape<[n]>, %{{.*}}: tensor<f32>) -> !relax.tuple<tensor<f32>, !relax.shape<[n]>>
// CHECK: relax.func @symbols_transform_params<n>(%params: !relax.tuple<tensor<?xf32, #relax.dims<[n]>>>) -> !relax.tuple<!relax.shape<[n]>, tensor<f32>>
// CHECK: %[[N:.*]] = relax.shape [n]
// CHECK-NEXT: relax.tuple(%[[N]], %{{.*}})
relax.func @symbols<n>(%x: tensor<4xf32>, %w: !s) -> !relax.tuple<tensor<f32>, !relax.shape<[n]>> attributes {num_input = 1 : i64} {
  %r = relax.dataflow -> (tensor<f32>) {
    %t = relax.sum %w : (!s) -> tensor<f32>
    %e = relax.exp %t : (tensor<f32>) -> tensor<f32>
    relax.output %e : tensor<f32>
  }
  %n = relax.shape [n]
  %p = relax.tuple(%r, %n) : tensor<f32>, !relax.shape<[n]>
  relax.return %p : !relax.tuple<tensor<f32>, !relax.shape<[n]>>
}

// -----

// What is marked stays, and so do branches, and what is outside of dataflow blocks.

!t = tensor<4xf32>

// CHECK: relax.func @stopped(%c: tensor<i1>, %w: tensor<4xf32>, %a: tensor<4xf32>)
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[E:.*]] = relax.exp %a
// CHECK-NEXT: relax.output %[[E]]
// CHECK: relax.if
// CHECK: relax.negative %w
// CHECK-NOT: relax.builtin.stop_lift_params
// CHECK-LABEL: relax.func @stopped_transform_params
// CHECK: relax.add
// CHECK-NOT: relax.exp
// CHECK: relax.return
relax.func @stopped(%c: tensor<i1>, %w: !t) -> !t attributes {num_input = 1 : i64} {
  %r = relax.dataflow -> (!t) {
    %a = relax.add %w, %w : (!t, !t) -> !t
    %b = relax.builtin.stop_lift_params %a : (!t) -> !t
    %e = relax.exp %b : (!t) -> !t
    relax.output %e : !t
  }
  %q = relax.if %c : tensor<i1> -> !t {
    %n = relax.negative %w : (!t) -> !t
    relax.yield %n : !t
  } else {
    relax.yield %r : !t
  }
  relax.return %q : !t
}

// -----

// A transform function that exists is composed with the new one.

!t = tensor<4xf32>

// CHECK-LABEL: relax.func @again(%x: tensor<4xf32>, %{{.*}}: tensor<4xf32>) ->
// CHECK-LABEL: relax.func @again_transform_params(%params: !relax.tuple<tensor<4xf32>, tensor<4xf32>>)
// CHECK: relax.add
// CHECK: relax.exp
// CHECK: relax.return
relax.func @again(%x: !t, %w: !t) -> !t attributes {global_symbol = "again", num_input = 1 : i64} {
  %r = relax.dataflow -> (!t) {
    %e = relax.exp %w : (!t) -> !t
    %a = relax.add %x, %e : (!t, !t) -> !t
    relax.output %a : !t
  }
  relax.return %r : !t
}
relax.func @again_transform_params(%params: !relax.tuple<!t, !t>) -> !relax.tuple<!t> attributes {global_symbol = "again_transform_params", num_input = 0 : i64} {
  %a = relax.get_item %params[0] : !relax.tuple<!t, !t> -> !t
  %b = relax.get_item %params[1] : !relax.tuple<!t, !t> -> !t
  %c = relax.add %a, %b : (!t, !t) -> !t
  %r = relax.tuple(%c) : !t
  relax.return %r : !relax.tuple<!t>
}

// -----

// Functions without inputs that differ, without weights, and memory that is written.

!t = tensor<4xf32>

// CHECK: relax.func @plain(%x: tensor<4xf32>, %w: tensor<4xf32>)
relax.func @plain(%x: !t, %w: !t) -> !t {
  %r = relax.dataflow -> (!t) {
    %e = relax.exp %w : (!t) -> !t
    relax.output %e : !t
  }
  relax.return %r : !t
}
// CHECK: relax.func @weightless(%x: tensor<4xf32>)
// CHECK-NOT: weightless_transform_params
relax.func @weightless(%x: !t) -> !t attributes {num_input = 1 : i64} {
  relax.return %x : !t
}
// CHECK: relax.func impure @written(%x: tensor<4xf32>, %w: tensor<4xf32>)
// CHECK: relax.exp %w
relax.func impure @written(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  %r = relax.dataflow -> (!t) {
    %e = relax.exp %w : (!t) -> !t
    relax.output %e : !t
  }
  relax.call_packed "my.write"(%r) : (!t) -> ()
  relax.return %r : !t
}
