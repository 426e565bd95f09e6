// RUN: xdsl-opt %s -p relax-lazy-get-input --split-input-file | filecheck %s

// A weight is fetched before what needs it first, once; one that nothing needs is not.

!x = tensor<4x4xf32>

// CHECK: relax.func @main(%x: tensor<4x4xf32>, %fget_param: !relax.func<(!relax.prim<i64>) -> !relax.object>) -> tensor<4x4xf32> attributes {global_symbol = "main", num_input = 2 : i64}
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[A:.*]] = relax.exp %x
// CHECK-NEXT: %[[I:.*]] = relax.prim_value 0 : i64
// CHECK-NEXT: %[[O:.*]] = relax.call_indirect %fget_param(%[[I]])
// CHECK-NEXT: %[[W:.*]] = relax.match_cast %[[O]] : !relax.object -> tensor<4x4xf32>
// CHECK-NEXT: %[[B:.*]] = relax.matmul %[[A]], %[[W]]
// CHECK-NEXT: relax.matmul %[[B]], %[[W]]
// CHECK-NOT: relax.prim_value 1
relax.func @main(%x: !x, %w: !x, %unused: !x) -> !x attributes {global_symbol = "main", num_input = 1 : i64} {
  %r = relax.dataflow -> (!x) {
    %a = relax.exp %x : (!x) -> !x
    %b = relax.matmul %a, %w : (!x, !x) -> !x
    %c = relax.matmul %b, %w : (!x, !x) -> !x
    relax.output %c : !x
  }
  relax.return %r : !x
}

// -----

// Weights of two branches are fetched before them, one of one branch in it. Without
// num_input all parameters are weights.

!t = tensor<4xf32>

// CHECK: relax.func @branches(%fget_param: {{.*}}) -> tensor<4xf32> attributes {global_symbol = "branches", num_input = 1 : i64}
// CHECK-NEXT: relax.prim_value 0
// CHECK: relax.match_cast %{{.*}} -> tensor<i1>
// CHECK-NEXT: relax.prim_value 1
// CHECK: relax.if
// CHECK-NEXT: relax.prim_value 2
// CHECK: } else {
// CHECK-NEXT: relax.yield
relax.func @branches(%c: tensor<i1>, %a: !t, %b: !t) -> !t attributes {global_symbol = "branches"} {
  %r = relax.if %c : tensor<i1> -> !t {
    %s = relax.add %a, %b : (!t, !t) -> !t
    relax.yield %s : !t
  } else {
    relax.yield %a : !t
  }
  relax.return %r : !t
}

// -----

// Symbols that only weights tell are defined at the start, and not by the result's type.

!n = tensor<?xf32, #relax.dims<[n]>>
!d = tensor<?xf32, #relax.dims<[n * 2]>>

// CHECK: relax.func @symbols(%x: tensor<4xf32>, %fget_param: {{.*}}) -> tensor<?xf32>
// CHECK-NEXT: relax.prim_value 1
// CHECK-NEXT: relax.call_indirect
// CHECK-NEXT: relax.match_cast %{{.*}} defines [n] : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
// CHECK-NEXT: relax.shape [n]
// CHECK-NEXT: relax.zeros
// CHECK-NEXT: relax.prim_value 0
// CHECK-NEXT: relax.call_indirect
// CHECK-NEXT: %[[W:.*]] = relax.match_cast %{{.*}} : !relax.object -> tensor<?xf32, #relax.dims<[n * 2]>>
// CHECK-NEXT: relax.exp %[[W]]
relax.func @symbols<n>(%x: tensor<4xf32>, %w: !d, %v: !n) -> !d attributes {global_symbol = "symbols", num_input = 1 : i64} {
  %n = relax.shape [n]
  %z = relax.zeros %n dtype f32 : (!relax.shape<[n]>) -> !n
  %y = relax.exp %w : (!d) -> !d
  relax.return %y : !d
}

// -----

// Private functions stay.

// CHECK: relax.func @private(%x: tensor<4xf32>)
relax.func @private(%x: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = 0 : i64} {
  relax.return %x : tensor<4xf32>
}
