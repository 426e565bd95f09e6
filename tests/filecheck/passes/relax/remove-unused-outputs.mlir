// RUN: xdsl-opt %s -p relax-remove-unused-outputs | filecheck %s
// RUN: xdsl-opt %s -p relax-remove-unused-outputs,relax-remove-unused-outputs | filecheck %s

!t = tensor<4xf32>
!p = !relax.tuple<!t, !t, !t>

// One field is read: it is returned by itself, what computed the others goes.
// CHECK-LABEL: relax.func @main
// CHECK-NEXT: %[[R:.*]] = relax.call @one(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: relax.return %[[R]]
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %p = relax.call @one(%x) : (!t) -> !p
  %r = relax.get_item %p[1] : !p -> !t
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @one(%x: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %b = relax.sin %x
// CHECK-NEXT: relax.return %b
relax.func @one(%x: !t) -> !p {
  %a = relax.exp %x : (!t) -> !t
  %b = relax.sin %x : (!t) -> !t
  %p = relax.tuple(%a, %b, %x) : !t, !t, !t
  relax.return %p : !p
}

// Several calls: what any of them reads stays.
// CHECK-LABEL: relax.func @several
// CHECK-NEXT: %[[P:.*]] = relax.call @two(%x) : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT: %[[A:.*]] = relax.get_item %[[P]][0]
// CHECK-NEXT: %[[Q:.*]] = relax.call @two(%[[A]])
// CHECK-NEXT: %[[B:.*]] = relax.get_item %[[Q]][1]
// CHECK-NEXT: relax.return %[[B]]
relax.func @several(%x: !t) -> !t attributes {global_symbol = "several"} {
  %p = relax.call @two(%x) : (!t) -> !p
  %a = relax.get_item %p[0] : !p -> !t
  %q = relax.call @two(%a) : (!t) -> !p
  %b = relax.get_item %q[2] : !p -> !t
  relax.return %b : !t
}
// CHECK-LABEL: relax.func @two(%x: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT: %a = relax.exp
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%a, %x)
// CHECK-NEXT: relax.return %[[T]]
relax.func @two(%x: !t) -> !p {
  %a = relax.exp %x : (!t) -> !t
  %b = relax.sin %x : (!t) -> !t
  %p = relax.tuple(%a, %b, %x) : !t, !t, !t
  relax.return %p : !p
}

// The tuple is used as a whole, or all of it is read, or it is not made here.
// CHECK-LABEL: relax.func @whole
// CHECK: relax.call @kept(%x) : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
relax.func @whole(%x: !t) -> !p attributes {global_symbol = "whole"} {
  %p = relax.call @kept(%x) : (!t) -> !p
  %q = relax.call @kept(%x) : (!t) -> !p
  %r = relax.get_item %q[0] : !p -> !t
  relax.return %p : !p
}
relax.func @kept(%x: !t) -> !p {
  %p = relax.tuple(%x, %x, %x) : !t, !t, !t
  relax.return %p : !p
}

// A tuple that is a parameter is taken apart.
// CHECK-LABEL: relax.func @passes
// CHECK: relax.call @parameter(%p) : (!relax.tuple<{{.*}}>) -> tensor<4xf32>
relax.func @passes(%p: !p) -> !t attributes {global_symbol = "passes"} {
  %q = relax.call @parameter(%p) : (!p) -> !p
  %r = relax.get_item %q[2] : !p -> !t
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @parameter
// CHECK-NEXT: %[[I:.*]] = relax.get_item %p[2]
// CHECK-NEXT: relax.return %[[I]]
relax.func @parameter(%p: !p) -> !p {
  relax.return %p : !p
}

// Nothing is read of an impure call; it stays and returns nothing.
// CHECK-LABEL: relax.func impure @effects
// CHECK-NEXT: relax.call impure @nothing(%x) : (tensor<4xf32>) -> !relax.tuple<>
relax.func impure @effects(%x: !t) -> !t attributes {global_symbol = "effects"} {
  %p = relax.call impure @nothing(%x) : (!t) -> !p
  relax.return %x : !t
}
// CHECK-LABEL: relax.func impure @nothing(%x: tensor<4xf32>) -> !relax.tuple<>
relax.func impure @nothing(%x: !t) -> !p {
  relax.print "called"() : () -> ()
  %p = relax.tuple(%x, %x, %x) : !t, !t, !t
  relax.return %p : !p
}

// A public function returns what it did.
// CHECK-LABEL: relax.func @public(%x: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
relax.func @public(%x: !t) -> !p attributes {global_symbol = "public"} {
  %p = relax.tuple(%x, %x, %x) : !t, !t, !t
  relax.return %p : !p
}
relax.func @calls_public(%x: !t) -> !t attributes {global_symbol = "calls_public"} {
  %p = relax.call @public(%x) : (!t) -> !p
  %r = relax.get_item %p[1] : !p -> !t
  relax.return %r : !t
}
