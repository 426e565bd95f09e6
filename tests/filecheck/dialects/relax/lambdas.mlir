// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// Functions as values: literals with and without symbols, captured values, recursion,
// references to functions of the module.

!t = tensor<4xf32>
!v = tensor<?xf32, #relax.dims<[n]>>
!f = !relax.func<(!v) -> !v>
!g = !relax.func<(!t) -> !t>
!c = !relax.prim<i1>
!h = !relax.func<(!c, !t) -> !t>

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t, %c: !c) -> !t attributes {global_symbol = "main"} {
  // CHECK: %f = relax.lambda<n>(%y: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>> {
  // CHECK-NEXT: relax.add
  // CHECK-NEXT: relax.return
  %f = relax.lambda<n>(%y: !v) -> !v {
    %z = relax.add %y, %y : (!v, !v) -> !v
    relax.return %z : !v
  }
  // CHECK: %g = relax.lambda(%[[Y:.*]]: tensor<4xf32>) -> tensor<4xf32> attributes {note} {
  // CHECK-NEXT: relax.add %[[Y]], %x
  %g = relax.lambda(%y: !t) -> !t attributes {note} {
    %z = relax.add %y, %x : (!t, !t) -> !t
    relax.return %z : !t
  }
  // CHECK: %h = relax.lambda recursive %h0(%c0: !relax.prim<i1>, %[[Z:.*]]: tensor<4xf32>) -> tensor<4xf32> {
  %h = relax.lambda recursive %h0(%c0: !c, %y: !t) -> !t {
    %r = relax.if %c0 : !c -> !t {
      %no = relax.prim_value 0 : i1
      // CHECK: relax.call_indirect %h0(%no, %[[Z]])
      %z = relax.call_indirect %h0(%no, %y) : !h, (!relax.prim<i1, 0>, !t) -> !t
      relax.yield %z : !t
    } else {
      %z = relax.multiply %y, %x : (!t, !t) -> !t
      relax.yield %z : !t
    }
    relax.return %r : !t
  }
  // CHECK: %k = relax.global_ref @layer : !relax.func<(tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>>
  %k = relax.global_ref @layer : !f
  // CHECK-NEXT: relax.global_ref @layer : !relax.object
  %o = relax.global_ref @layer : !relax.object
  // CHECK-NEXT: relax.call_indirect %f(%x) : !relax.func<(tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>>, (tensor<4xf32>) -> tensor<4xf32>
  %a = relax.call_indirect %f(%x) : !f, (!t) -> !t
  %b = relax.call_indirect %g(%a) : !g, (!t) -> !t
  %d = relax.call_indirect %k(%b) : !f, (!t) -> !t
  %e = relax.call_indirect %h(%c, %d) : !h, (!c, !t) -> !t
  relax.return %e : !t
}

relax.func @layer<n>(%y: !v) -> !v {
  %z = relax.multiply %y, %y : (!v, !v) -> !v
  relax.return %z : !v
}

// CHECK-LABEL: relax.func impure @effects
relax.func impure @effects(%x: !t) -> !t attributes {global_symbol = "effects"} {
  // CHECK: relax.lambda impure (%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
  %f = relax.lambda impure (%y: !t) -> !t {
    relax.print "called"() : () -> ()
    relax.return %y : !t
  }
  // CHECK: relax.lambda impure "named"(%
  %n = relax.lambda impure "named"(%y: !t) -> !t {
    relax.return %y : !t
  }
  // CHECK: relax.lambda "named" recursive %{{.*}}(%
  %m = relax.lambda "named" recursive %m0(%y: !t) -> !t {
    relax.return %y : !t
  }
  // CHECK: relax.lambda impure recursive %{{.*}}(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
  %g = relax.lambda impure recursive %g0(%y: !t) -> !t {
    relax.print "called"() : () -> ()
    relax.return %y : !t
  }
  // CHECK: relax.call_indirect impure %f(%x)
  %a = relax.call_indirect impure %f(%x) : !relax.func<(!t) -> !t, impure>, (!t) -> !t
  relax.return %a : !t
}
