// RUN: xdsl-opt %s -p relax-inline-private-functions --split-input-file | filecheck %s

// CASE: InlinePrivateFunctions.1, InlinePrivateFunctions.2
// A chain of private functions, called twice: callees first, then in both places.

// CHECK-LABEL: relax.func @main
// CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT: %[[B:.*]] = relax.add %[[A]], %x
// CHECK-NEXT: %[[C:.*]] = relax.nn.relu %[[B]]
// CHECK-NEXT: %[[D:.*]] = relax.add %[[C]], %[[B]]
// CHECK-NEXT: relax.return %[[D]]
// CHECK-NEXT: }
// CHECK-NOT: relax.func
relax.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %unused = relax.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %a = relax.call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call @outer(%a) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %b : tensor<4xf32>
}
relax.func @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = relax.add %y, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %z : tensor<4xf32>
}

// -----

// CASE: InlinePrivateFunctions.3, InlinePrivateFunctions.4
// Functions that reach themselves stay, and so do public ones, and one that is a value
// somewhere; what they call goes.

// CHECK-LABEL: relax.func @main
// CHECK-NEXT: relax.call @even
// CHECK-NEXT: relax.call @public
// CHECK-NEXT: relax.global_ref @value
// CHECK-NEXT: relax.call @value
// CHECK-LABEL: relax.func @even
// CHECK-NEXT: relax.negative
// CHECK-NEXT: relax.call @odd
// CHECK-LABEL: relax.func @odd
// CHECK-NEXT: relax.call @even
// CHECK-NOT: @negate
// CHECK: relax.func @public
// CHECK: relax.func @value
relax.func @main(%x: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, !relax.func<(tensor<4xf32>) -> tensor<4xf32>>> attributes {global_symbol = "main"} {
  %a = relax.call @even(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call @public(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %f = relax.global_ref @value : !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
  %c = relax.call @value(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %t = relax.tuple(%c, %f) : tensor<4xf32>, !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
  relax.return %t : !relax.tuple<tensor<4xf32>, !relax.func<(tensor<4xf32>) -> tensor<4xf32>>>
}
relax.func @even(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = relax.call @negate(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = relax.call @odd(%n) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @odd(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @even(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @negate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @public(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "public"} {
  relax.return %x : tensor<4xf32>
}
relax.func @value(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// Symbols: those of parameters become the dimensions of arguments, or are defined by a
// check where the argument does not tell them; those of casts get new names.

// CHECK-LABEL: relax.func @symbols
// CHECK-SAME: <n>(%x: tensor<?xf32, #relax.dims<[n]>>, %y: tensor<?xf32>)
// CHECK-NEXT: %{{.*}} = relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
// CHECK-NEXT: %[[M:.*]] = relax.match_cast %y defines [m1] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m1]>>
// CHECK-NEXT: %[[A:.*]] = relax.match_cast %y : tensor<?xf32> -> tensor<?xf32, #relax.dims<[n]>>
// CHECK-NEXT: %[[B:.*]] = relax.add %x, %[[A]] : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>
// CHECK-NEXT: %[[C:.*]] = relax.alias %[[B]] : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xf32>
// CHECK-NEXT: relax.return %[[C]] : tensor<?xf32>
!n = tensor<?xf32, #relax.dims<[n]>>
!k = tensor<?xf32, #relax.dims<[k]>>
relax.func @symbols<n>(%x: !n, %y: tensor<?xf32>) -> tensor<?xf32> attributes {global_symbol = "symbols"} {
  %z = relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
  %r = relax.call @sum(%x, %y, %y) : (!n, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  relax.return %r : tensor<?xf32>
}
relax.func @sum<k, m>(%x: !k, %m: tensor<?xf32, #relax.dims<[m]>>, %y: !k) -> !k {
  %r = relax.add %x, %y : (!k, !k) -> !k
  relax.return %r : !k
}

// -----

// Control flow does not go into a dataflow block, which becomes plain bindings; a body of
// a dataflow block does, as a part of it.

// CHECK-LABEL: relax.func @blocks
// CHECK-NEXT: %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT:   %[[B:.*]] = relax.exp %[[A]]
// CHECK-NEXT:   relax.output %[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[C:.*]] = relax.exp %[[R]]
// CHECK-NEXT: %[[I:.*]] = relax.if %c
// CHECK:      relax.return %[[I]]
relax.func @blocks(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "blocks"} {
  %r = relax.dataflow -> (tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.call @block(%a) : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  %s = relax.dataflow -> (tensor<4xf32>) {
    %a = relax.exp %r : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.call @choice(%c, %a, %r) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  relax.return %s : tensor<4xf32>
}
relax.func @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    %a = relax.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %a : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}
relax.func @choice(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %i = relax.if %c : tensor<i1> -> tensor<4xf32> {
    relax.yield %x : tensor<4xf32>
  } else {
    relax.yield %y : tensor<4xf32>
  }
  relax.return %i : tensor<4xf32>
}

// -----

// Effects that a function hides are hidden by its callers then.

// CHECK-LABEL: relax.func @forced
// CHECK-SAME: attributes {global_symbol = "forced", relax.force_pure = true} {
// CHECK-NEXT: relax.call_packed "f"
relax.func @forced(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "forced"} {
  %y = relax.call @hidden(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @hidden(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.force_pure = true} {
  %y = relax.call_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
