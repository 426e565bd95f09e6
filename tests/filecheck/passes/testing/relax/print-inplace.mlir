// RUN: xdsl-opt %s -p relax-test-print-inplace --split-input-file | filecheck %s

// Parameters live on after the block; `%r` is `%p`, and is needed at the fourth operation.
// CASE: DataflowUseInplaceCalls.8
// CHECK-LABEL: relax.func @main
// CHECK: attributes {size_match = "1 {0, 1}, 4 {1}, 5 {0, 1}", exact_match = "1 {0, 1}, 4 {1}, 5 {0, 1}"}
!t = tensor<2x3xf32>
relax.func @main(%x: !t, %y: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %y : (!t, !t) -> !t
    %p = relax.add %z, %z : (!t, !t) -> !t
    %r = relax.alias %p : !t -> !t
    %m = relax.multiply %p, %p : (!t, !t) -> !t
    %n = relax.add %m, %r : (!t, !t) -> !t
    %ret = relax.subtract %n, %m : (!t, !t) -> !t
    relax.output %ret : !t
  }
  relax.return %o : !t
}

// -----

// An operand of the same size but another shape is large enough and does not fit exactly;
// one that is smaller is neither.
// CASE: DataflowUseInplaceCalls.16
// CHECK-LABEL: relax.func @main
// CHECK: attributes {size_match = "2 {1}, 3 {0, 1}, 4 {0, 1}", exact_match = "2 {1}, 3 {0, 1}, 4 {1}"}
!t = tensor<1x3xf32>
!u = tensor<3xf32>
relax.func @main(%x: !t, %y: !u) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %y, %y : (!u, !u) -> !u
    %p = relax.add %x, %x : (!t, !t) -> !t
    %q = relax.add %y, %p : (!u, !t) -> !t
    %w = relax.multiply %z, %z : (!u, !u) -> !u
    %m = relax.add %w, %q : (!u, !t) -> !t
    relax.output %m : !t
  }
  relax.return %o : !t
}
