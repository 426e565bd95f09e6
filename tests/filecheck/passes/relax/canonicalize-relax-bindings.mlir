// RUN: xdsl-opt %s -p relax-canonicalize-relax-bindings --split-input-file --allow-unregistered-dialect | filecheck %s

// CASE: CanonicalizeBindings.1
// Names of names, also across blocks and of parameters.

// CHECK-LABEL: relax.func @names
// CHECK-NEXT: %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT:   relax.output %[[A]] : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:.*]] = relax.add %[[R]], %x
// CHECK-NEXT: relax.return %[[S]]
relax.func @names(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = relax.alias %x : tensor<4xf32> -> tensor<4xf32>
  %r = relax.dataflow -> (tensor<4xf32>) {
    %q = relax.alias %p : tensor<4xf32> -> tensor<4xf32>
    %a = relax.nn.relu %q : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.alias %a : tensor<4xf32> -> tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  %s = relax.alias %r : tensor<4xf32> -> tensor<4xf32>
  %t = relax.add %s, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %t : tensor<4xf32>
}

// -----

// CASE: CanonicalizeBindings.2
// Casts to the same type go, others stay; so do names that promise less.

// CHECK-LABEL: relax.func @casts
// CHECK-NEXT: %[[B:.*]] = relax.match_cast %x : tensor<?xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = relax.alias %[[B]] : tensor<4xf32> -> tensor<?xf32>
// CHECK-NEXT: relax.return %[[C]]
relax.func @casts(%x: tensor<?xf32>) -> tensor<?xf32> {
  %a = relax.match_cast %x : tensor<?xf32> -> tensor<?xf32>
  %b = relax.match_cast %a : tensor<?xf32> -> tensor<4xf32>
  %c = relax.alias %b : tensor<4xf32> -> tensor<?xf32>
  relax.return %c : tensor<?xf32>
}

// -----

// CASE: CanonicalizeBindings.3, CanonicalizeBindings.4
// A field of a tuple that is known is what was put there, a tuple of all fields of
// another is that one. Some fields, or another order, make another tuple.

// CHECK-LABEL: relax.func @tuples
// CHECK-NEXT: relax.tuple(%x, %y)
// CHECK-NEXT: %[[A:.*]] = relax.nn.relu %y
// CHECK-COUNT-3: relax.get_item %p
// CHECK-NEXT: %[[Q:.*]] = relax.tuple(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT: %[[S:.*]] = relax.tuple(%{{.*}}, %{{.*}})
// CHECK-NEXT: relax.tuple(%p, %[[Q]], %[[S]], %[[A]])
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
!q = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
relax.func @tuples(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: !p) -> !relax.tuple<!p, !p, !q, tensor<4xf32>> {
  %t = relax.tuple(%x, %y) : tensor<4xf32>, tensor<4xf32>
  %u = relax.get_item %t[1] : !q -> tensor<4xf32>
  %a = relax.nn.relu %u : (tensor<4xf32>) -> tensor<4xf32>
  %0 = relax.get_item %p[0] : !p -> tensor<4xf32>
  %1 = relax.get_item %p[1] : !p -> tensor<4xf32>
  %2 = relax.get_item %p[2] : !p -> tensor<4xf32>
  %same = relax.tuple(%0, %1, %2) : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %other = relax.tuple(%1, %0, %2) : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %some = relax.tuple(%0, %1) : tensor<4xf32>, tensor<4xf32>
  %r = relax.tuple(%same, %other, %some, %a) : !p, !p, !q, tensor<4xf32>
  relax.return %r : !relax.tuple<!p, !p, !q, tensor<4xf32>>
}

// -----

// A field of a tuple that a dataflow block gives is found where it is visible.

// CHECK-LABEL: relax.func @fields
// CHECK-NEXT: %[[T:.*]], %[[V:.*]] = relax.dataflow -> (!relax.tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT:   %[[B:.*]] = relax.negative %x
// CHECK-NEXT:   %[[U:.*]] = relax.tuple(%x, %[[A]], %[[B]])
// CHECK-NEXT:   relax.output %[[U]], %[[A]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[C:.*]] = relax.get_item %[[T]][2]
// CHECK-NEXT: %[[D:.*]] = relax.add %x, %[[V]]
// CHECK-NEXT: relax.add %[[D]], %[[C]]
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
relax.func @fields(%x: tensor<4xf32>) -> tensor<4xf32> {
  %t, %v = relax.dataflow -> (!p, tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.negative %x : (tensor<4xf32>) -> tensor<4xf32>
    %u = relax.tuple(%x, %a, %b) : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    relax.output %u, %a : !p, tensor<4xf32>
  }
  %0 = relax.get_item %t[0] : !p -> tensor<4xf32>
  %1 = relax.get_item %t[1] : !p -> tensor<4xf32>
  %2 = relax.get_item %t[2] : !p -> tensor<4xf32>
  %d = relax.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = relax.add %d, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %e : tensor<4xf32>
}

// -----

// CASE: CanonicalizeBindings.5, CanonicalizeBindings.6, CanonicalizeBindings.7
// Outputs: a constant and what comes from outside need none, one value needs one, an
// unused one goes; a value that is also used inside stays where it is.

// CHECK-LABEL: relax.func @outputs
// CHECK-NEXT: %[[C:.*]] = relax.constant dense<1.000000e+00>
// CHECK-NEXT: %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.add %x, %[[C]]
// CHECK-NEXT:   %{{.*}} = relax.nn.relu %[[A]]
// CHECK-NEXT:   relax.output %[[A]] : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:.*]] = relax.add %[[R]], %[[R]]
// CHECK-NEXT: %[[T:.*]] = relax.add %[[S]], %[[C]]
// CHECK-NEXT: relax.return %[[T]]
relax.func @outputs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k, %l, %m, %n, %o = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %c = relax.constant dense<1.0> : tensor<4xf32>
    %a = relax.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = relax.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %c, %a, %b, %a, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %none = relax.dataflow -> (tensor<4xf32>) {
    relax.output %x : tensor<4xf32>
  }
  %s = relax.add %l, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = relax.add %s, %k : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %t : tensor<4xf32>
}

// -----

// CASE: CanonicalizeBindings.8, CanonicalizeBindings.12
// A use in another block, in a branch or in a function literal keeps an output.

// CHECK-LABEL: relax.func @uses
// CHECK-NEXT: %[[A:.*]], %[[B:.*]], %[[C:.*]] = relax.dataflow
// CHECK: relax.dataflow
// CHECK-NEXT: relax.negative %[[A]]
// CHECK: relax.if %c
// CHECK-NEXT: relax.yield %[[B]]
// CHECK: relax.lambda
// CHECK-NEXT: relax.return %[[C]]
relax.func @uses(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %p, %q, %r = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %p1 = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %q1 = relax.negative %x : (tensor<4xf32>) -> tensor<4xf32>
    %r1 = relax.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %p1, %q1, %r1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %s = relax.dataflow -> (tensor<4xf32>) {
    %s1 = relax.negative %p : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %s1 : tensor<4xf32>
  }
  %i = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %n = relax.alias %q : tensor<4xf32> -> tensor<4xf32>
    relax.yield %n : tensor<4xf32>
  } else {
    relax.yield %s : tensor<4xf32>
  }
  %f = relax.lambda() -> tensor<4xf32> {
    %n = relax.alias %r : tensor<4xf32> -> tensor<4xf32>
    relax.return %n : tensor<4xf32>
  }
  relax.return %i : tensor<4xf32>
}
