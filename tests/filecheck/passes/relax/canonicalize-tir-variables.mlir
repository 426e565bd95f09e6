// RUN: xdsl-opt %s -p relax-canonicalize-tir-variables --split-input-file --allow-unregistered-dialect | filecheck %s

// CASE: CanonicalizeBindings.9
// A symbol that a cast defines against what is known becomes that, everywhere below:
// in types, shapes and further casts. One that is not known stays.

// CHECK-LABEL: relax.func @known
// CHECK-NEXT: %[[Y:.*]] = relax.match_cast %x defines [k] : tensor<?x?x4xf32, #relax.dims<[n * 2, ?, 4]>> -> tensor<?x?x4xf32, #relax.dims<[n * 2, k, 4]>>
// CHECK-NEXT: %{{.*}} = relax.shape [n * 4, k + 4]
// CHECK-NEXT: %[[Z:.*]] = relax.nn.relu %[[Y]] : {{.*}} -> tensor<?x?x4xf32, #relax.dims<[n * 2, k, 4]>>
// CHECK-NEXT: %{{.*}} = relax.match_cast %[[Z]] : {{.*}} -> tensor<?x?x?xf32, #relax.dims<[n * 2, k, k]>>
// CHECK-NEXT: relax.return
relax.func @known<n>(%x: tensor<?x?x4xf32, #relax.dims<[n * 2, ?, 4]>>, %s: !relax.shape<[n]>) -> tensor<?x?x?xf32> {
  %y = relax.match_cast %x defines [m, k, l] : tensor<?x?x4xf32, #relax.dims<[n * 2, ?, 4]>> -> tensor<?x?x?xf32, #relax.dims<[m, k, l]>>
  %t = relax.shape [m * 2, k + l]
  %z = relax.nn.relu %y : (tensor<?x?x?xf32, #relax.dims<[m, k, l]>>) -> tensor<?x?x?xf32, #relax.dims<[m, k, l]>>
  %w = relax.match_cast %z : tensor<?x?x?xf32, #relax.dims<[m, k, l]>> -> tensor<?x?x?xf32, #relax.dims<[m, k, k]>>
  relax.return %w : tensor<?x?x?xf32, #relax.dims<[m, k, k]>>
}

// -----

// CASE: CanonicalizeBindings.11
// What a branch defines is replaced in this branch; the other one may use the same name.
// The type of the conditional stays.

// CHECK-LABEL: relax.func @branches
// CHECK-NEXT: %{{.*}} = relax.if %c : tensor<i1> -> tensor<?xf32> {
// CHECK-NEXT:   %[[A:.*]] = relax.match_cast %x : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:   relax.yield %[[A]] : tensor<8xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT:   %[[B:.*]] = relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
// CHECK-NEXT:   relax.yield %[[B]] : tensor<?xf32, #relax.dims<[m]>>
// CHECK-NEXT: }
// CHECK-NEXT: relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
relax.func @branches(%c: tensor<i1>, %x: tensor<8xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = relax.if %c : tensor<i1> -> tensor<?xf32> {
    %a = relax.match_cast %x defines [m] : tensor<8xf32> -> tensor<?xf32, #relax.dims<[m]>>
    relax.yield %a : tensor<?xf32, #relax.dims<[m]>>
  } else {
    %b = relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
    relax.yield %b : tensor<?xf32, #relax.dims<[m]>>
  }
  %d = relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
  relax.return %r : tensor<?xf32>
}

// -----

// A dataflow block only groups bindings; tuples, shapes and scalars tell dimensions, too.
// The symbols of a function literal are its own.

// CHECK-LABEL: relax.func @kinds
// CHECK-NEXT: %{{.*}}, %[[R:.*]] = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.match_cast %t : !relax.tuple<tensor<4xf32>, !relax.shape<[n]>, !relax.prim<i64, n>> -> !relax.tuple<tensor<4xf32>, !relax.shape<[n]>, !relax.prim<i64, n>>
// CHECK-NEXT:   %[[B:.*]] = relax.get_item %[[A]][0] : {{.*}} -> tensor<4xf32>
// CHECK-NEXT:   relax.output %[[B]], %[[B]] : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %{{.*}} = relax.shape [4, n, n]
// CHECK-NEXT: %{{.*}} = relax.lambda<d>(%{{.*}}: tensor<?xf32, #relax.dims<[d]>>) -> tensor<?xf32, #relax.dims<[d]>>
// CHECK: relax.return %[[R]] : tensor<4xf32>
!t = !relax.tuple<tensor<4xf32>, !relax.shape<[n]>, !relax.prim<i64, n>>
!u = !relax.tuple<tensor<?xf32, #relax.dims<[a]>>, !relax.shape<[b]>, !relax.prim<i64, c>>
relax.func @kinds<n>(%t: !t) -> tensor<?xf32> {
  %q, %r = relax.dataflow -> (tensor<?xf32, #relax.dims<[a]>>, tensor<?xf32, #relax.dims<[a]>>) {
    %a = relax.match_cast %t defines [a, b, c] : !t -> !u
    %b = relax.get_item %a[0] : !u -> tensor<?xf32, #relax.dims<[a]>>
    relax.output %b, %b : tensor<?xf32, #relax.dims<[a]>>, tensor<?xf32, #relax.dims<[a]>>
  }
  %s = relax.shape [a, b, c]
  %f = relax.lambda<d>(%l: tensor<?xf32, #relax.dims<[d]>>) -> tensor<?xf32, #relax.dims<[d]>> {
    relax.return %l : tensor<?xf32, #relax.dims<[d]>>
  }
  relax.return %r : tensor<?xf32, #relax.dims<[a]>>
}
