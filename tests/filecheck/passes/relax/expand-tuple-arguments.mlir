// RUN: xdsl-opt %s -p relax-expand-tuple-arguments | filecheck %s
// RUN: xdsl-opt %s -p relax-expand-tuple-arguments,relax-expand-tuple-arguments | filecheck %s

!t = tensor<4xf32>
!v = tensor<?xf32, #relax.dims<[n]>>
!p = !relax.tuple<!t, !t>

// Calls pass the fields; what packed them is gone.
// CHECK-LABEL: relax.func @main
// CHECK-NEXT: %r = relax.call @flat(%y, %x, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %s = relax.call @nested(%x, %r, %y) :
// CHECK-NEXT: relax.return %s
relax.func @main(%x: !t, %y: !t) -> !t attributes {global_symbol = "main"} {
  %a = relax.tuple(%x, %x) : !t, !t
  %r = relax.call @flat(%y, %a) : (!t, !p) -> !t
  %b = relax.tuple(%r, %y) : !t, !t
  %c = relax.tuple(%x, %b) : !t, !p
  %s = relax.call @nested(%c) : (!relax.tuple<!t, !p>) -> !t
  relax.return %s : !t
}

// The result of a call is taken apart.
// CHECK-LABEL: relax.func @whole
// CHECK-NEXT: %p = relax.call @packs(%x)
// CHECK-NEXT: %[[A:.*]] = relax.get_item %p[0]
// CHECK-NEXT: %[[B:.*]] = relax.get_item %p[1]
// CHECK-NEXT: relax.call @flat(%x, %[[A]], %[[B]])
relax.func @whole(%x: !t) -> !t attributes {global_symbol = "whole"} {
  %p = relax.call @packs(%x) : (!t) -> !p
  %r = relax.call @flat(%x, %p) : (!t, !p) -> !t
  relax.return %r : !t
}

// CHECK-LABEL: relax.func @flat
// CHECK-SAME: (%z: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[P:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %q = relax.subtract %[[P]], %z
relax.func @flat(%z: !t, %p: !p) -> !t {
  %a = relax.get_item %p[1] : !p -> !t
  %q = relax.subtract %a, %z : (!t, !t) -> !t
  relax.return %q : !t
}

// Tuples in tuples; a tuple that is used as a whole is made again.
// CHECK-LABEL: relax.func @nested
// CHECK-SAME: (%[[P0:.*]]: tensor<4xf32>, %[[P1:.*]]: tensor<4xf32>, %[[P2:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%[[P1]], %[[P2]])
// CHECK-NEXT: %q = relax.concat %[[T]]
// CHECK: relax.subtract %[[P0]],
relax.func @nested(%p: !relax.tuple<!t, !p>) -> !t {
  %a = relax.get_item %p[0] : !relax.tuple<!t, !p> -> !t
  %b = relax.get_item %p[1] : !relax.tuple<!t, !p> -> !p
  %q = relax.concat %b axis 0 : (!p) -> tensor<8xf32>
  %m = relax.max %q axis [0] : (tensor<8xf32>) -> tensor<f32>
  %d = relax.subtract %a, %m : (!t, tensor<f32>) -> !t
  relax.return %d : !t
}

// CHECK-LABEL: relax.func @packs
relax.func @packs(%x: !t) -> !p {
  %y = relax.add %x, %x : (!t, !t) -> !t
  %p = relax.tuple(%y, %x) : !t, !t
  relax.return %p : !p
}

// Symbols of the fields are those of the function.
// CHECK-LABEL: relax.func @symbolic<n>(%{{.*}}: tensor<?xf32, #relax.dims<[n]>>, %{{.*}}: tensor<?xf32, #relax.dims<[n]>>)
relax.func @symbolic<n>(%p: !relax.tuple<!v, !v>) -> !v {
  %a = relax.get_item %p[1] : !relax.tuple<!v, !v> -> !v
  relax.return %a : !v
}

// CHECK-LABEL: relax.func @calls_symbolic
// CHECK: relax.call @symbolic(%x, %x)
relax.func @calls_symbolic(%x: !t) -> !t attributes {global_symbol = "calls_symbolic"} {
  %a = relax.tuple(%x, %x) : !t, !t
  %r = relax.call @symbolic(%a) : (!p) -> !t
  relax.return %r : !t
}

// A public function and one that is a value stay.
// CHECK-LABEL: relax.func @public(%p: !relax.tuple<tensor<4xf32>, tensor<4xf32>>)
relax.func @public(%p: !p) -> !t attributes {global_symbol = "public"} {
  %a = relax.get_item %p[1] : !p -> !t
  %f = relax.global_ref @value : !relax.object
  %g = relax.make_closure @value() : () -> !relax.object
  %r = relax.call @value(%p) : (!p) -> !t
  %s = relax.invoke_pure_closure %g(%p) : !relax.object, (!p) -> !t
  %t = relax.add %r, %s : (!t, !t) -> !t
  relax.return %t : !t
}
// CHECK-LABEL: relax.func @value(%p: !relax.tuple<tensor<4xf32>, tensor<4xf32>>)
relax.func @value(%p: !p) -> !t {
  %a = relax.get_item %p[1] : !p -> !t
  relax.return %a : !t
}
