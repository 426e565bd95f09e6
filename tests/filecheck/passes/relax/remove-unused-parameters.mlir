// RUN: xdsl-opt %s -p relax-remove-unused-parameters | filecheck %s
// RUN: xdsl-opt %s -p relax-remove-unused-parameters,relax-remove-unused-parameters | filecheck %s

!t = tensor<4xf32>
!v = tensor<?xf32, #relax.dims<[n]>>
!w = tensor<?x?xf32, #relax.dims<[n, m]>>

// The argument goes with what computed it.
// CHECK-LABEL: relax.func @main
// CHECK-NEXT: %r = relax.call @plain(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: relax.return %r
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %y = relax.exp %x : (!t) -> !t
  %one = relax.prim_value 1 : i64
  %r = relax.call @plain(%y, %x, %one) : (!t, !t, !relax.prim<i64, 1>) -> !t
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @plain(%x: tensor<4xf32>) -> tensor<4xf32>
relax.func @plain(%y: !t, %x: !t, %k: !relax.prim<i64>) -> !t {
  relax.return %x : !t
}

// A symbol that the body needs becomes a scalar.
// CHECK-LABEL: relax.func @symbolic
// CHECK-NEXT: %[[N:.*]] = relax.prim_value a : i64
// CHECK-NEXT: %[[M:.*]] = relax.prim_value 3 : i64
// CHECK-NEXT: %r = relax.call @zeros(%[[N]], %[[M]]) : (!relax.prim<i64, a>, !relax.prim<i64, 3>) -> tensor<?x3xf32, #relax.dims<[a, 3]>>
relax.func @symbolic<a>(%x: tensor<?x3xf32, #relax.dims<[a, 3]>>) -> tensor<?x3xf32, #relax.dims<[a, 3]>> attributes {global_symbol = "symbolic"} {
  %r = relax.call @zeros(%x) : (tensor<?x3xf32, #relax.dims<[a, 3]>>) -> tensor<?x3xf32, #relax.dims<[a, 3]>>
  relax.return %r : tensor<?x3xf32, #relax.dims<[a, 3]>>
}
// CHECK-LABEL: relax.func @zeros<n, m>(%param_n: !relax.prim<i64, n>, %param_m: !relax.prim<i64, m>)
relax.func @zeros<n, m>(%x: !w) -> !w {
  %s = relax.shape [n, m]
  %z = relax.zeros %s dtype f32 : (!relax.shape<[n, m]>) -> !w
  relax.return %z : !w
}

// No scalar where another parameter has the dimension, or the body does not need it.
// CHECK-LABEL: relax.func @other
// CHECK: relax.call @defined(%y) : (tensor<4xf32>) -> tensor<4xf32>
relax.func @other(%x: tensor<4x3xf32>, %y: !t) -> !t attributes {global_symbol = "other"} {
  %r = relax.call @defined(%x, %y) : (tensor<4x3xf32>, !t) -> !t
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @defined<n>(%y: tensor<?xf32, #relax.dims<[n]>>)
relax.func @defined<n, m>(%x: !w, %y: !v) -> !v {
  relax.return %y : !v
}

// A dimension that is computed from a symbol does not define it.
// CHECK-LABEL: relax.func @computed
// CHECK: %[[N:.*]] = relax.prim_value 2 : i64
// CHECK-NEXT: relax.call @twice(%y, %[[N]])
relax.func @computed(%x: tensor<2xf32>, %y: !t) -> !t attributes {global_symbol = "computed"} {
  %r = relax.call @twice(%x, %y) : (tensor<2xf32>, !t) -> !t
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @twice<n>(%y: tensor<?xf32, #relax.dims<[n * 2]>>, %param_n: !relax.prim<i64, n>)
relax.func @twice<n>(%x: !v, %y: tensor<?xf32, #relax.dims<[n * 2]>>) -> tensor<?xf32, #relax.dims<[n * 2]>> {
  relax.return %y : tensor<?xf32, #relax.dims<[n * 2]>>
}

// Where an argument does not say what the symbol is, the parameter stays.
// CHECK-LABEL: relax.func @unknown
// CHECK: relax.call @needs(%x) : (tensor<?xf32>) -> tensor<?xf32>
relax.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> attributes {global_symbol = "unknown"} {
  %r = relax.call @needs(%x) : (tensor<?xf32>) -> tensor<?xf32>
  relax.return %r : tensor<?xf32>
}
// CHECK-LABEL: relax.func @needs<n>(%x: tensor<?xf32, #relax.dims<[n]>>)
relax.func @needs<n>(%x: !v) -> !v {
  %s = relax.shape [n]
  %z = relax.ones %s dtype f32 : (!relax.shape<[n]>) -> !v
  relax.return %z : !v
}

// A function that calls itself, through several calls.
// CHECK-LABEL: relax.func @calls_recursive
// CHECK: relax.call @recursive(%c, %x)
relax.func @calls_recursive(%c: !relax.prim<i1>, %x: !t) -> !t attributes {global_symbol = "calls_recursive"} {
  %r = relax.call @recursive(%c, %x, %x) : (!relax.prim<i1>, !t, !t) -> !t
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @recursive(%c: !relax.prim<i1>, %x: tensor<4xf32>)
relax.func @recursive(%c: !relax.prim<i1>, %x: !t, %u: !t) -> !t {
  %r = relax.if %c : !relax.prim<i1> -> !t {
    %no = relax.prim_value 0 : i1
    // CHECK: relax.call @recursive(%no, %x)
    %s = relax.call @recursive(%no, %x, %x) : (!relax.prim<i1, 0>, !t, !t) -> !t
    relax.yield %s : !t
  } else {
    relax.yield %x : !t
  }
  relax.return %r : !t
}

// Public functions and values keep their parameters.
// CHECK-LABEL: relax.func @public(%x: tensor<4xf32>, %y: tensor<4xf32>)
relax.func @public(%x: !t, %y: !t) -> !t attributes {global_symbol = "public"} {
  %f = relax.global_ref @value : !relax.func<(!t, !t) -> !t>
  // CHECK: relax.call @value(%x, %x)
  %r = relax.call @value(%x, %x) : (!t, !t) -> !t
  %s = relax.call_indirect %f(%r, %x) : !relax.func<(!t, !t) -> !t>, (!t, !t) -> !t
  relax.return %s : !t
}
// CHECK-LABEL: relax.func @value(%x: tensor<4xf32>, %y: tensor<4xf32>)
relax.func @value(%x: !t, %y: !t) -> !t {
  relax.return %x : !t
}
