// RUN: xdsl-opt %s -p relax-test-print-dataflow-liveness --split-input-file --allow-unregistered-dialect | filecheck %s

// A value lives to its last use, an output and what comes from outside to the end.
// CASE: DataflowUseInplaceCalls.1
// CHECK-LABEL: relax.func @main
// CHECK: attributes {live = "%y (0, 2), %x (-1, 5), %z (1, 3), %q (2, 3), %p (3, 5), %n (4, 5)"}
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o:2 = relax.dataflow -> (!t, !t) {
    %y = relax.constant dense<1.0> : !t
    %z = relax.add %x, %y : (!t, !t) -> !t
    %q = relax.multiply %z, %y : (!t, !t) -> !t
    %p = relax.add %z, %q : (!t, !t) -> !t
    %n = relax.multiply %p, %p : (!t, !t) -> !t
    relax.output %n, %p : !t, !t
  }
  relax.return %o#0 : !t
}

// -----

// A field that is taken is a use of the tuple, and what a region of another operation
// uses is a use of that operation; what nothing uses lives where it is made.
// CHECK-LABEL: relax.func @main
// CHECK: attributes {live = "%x (-1, 5), %z (0, 1), %t (1, 4), %u (2, 2), %w (3, 3), %r (4, 5)"}
!t = tensor<4xf32>
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %t = relax.tuple(%z, %x) : !t, !t
    %u = relax.add %x, %x : (!t, !t) -> !t
    %w = "test.op"() ({
      %a = "test.op"(%t) : (!p) -> !t
      "test.termop"(%a, %x) : (!t, !t) -> ()
    }) : () -> !t
    %r = relax.get_item %t[0] : !p -> !t
    relax.output %r : !t
  }
  relax.return %o : !t
}
