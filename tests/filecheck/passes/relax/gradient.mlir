// RUN: xdsl-opt %s -p 'relax-gradient{func_name="main"}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-gradient{func_name="main" require_grads="y","p"}' --split-input-file | filecheck %s --check-prefix SOME

// The function stays; a new one returns the derivatives, too. What a value gets of
// several uses is added.

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK: relax.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<f32> attributes {global_symbol = "main"}
// CHECK-LABEL: relax.func @main_adjoint(%x: tensor<3xf32>, %y: tensor<3xf32>) -> !relax.tuple<tensor<f32>, !relax.tuple<tensor<3xf32>, tensor<3xf32>>> attributes {global_symbol = "main_adjoint"}
// CHECK-NEXT: %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} = relax.dataflow
// CHECK-NEXT: %[[P:.*]] = relax.multiply %x, %y
// CHECK-NEXT: %[[Q:.*]] = relax.add %[[P]], %x
// CHECK-NEXT: %[[S:.*]] = relax.sum %[[Q]]
// CHECK-NEXT: %[[E:.*]] = relax.shape []
// CHECK-NEXT: %[[ONE:.*]] = relax.ones %[[E]] dtype f32
// CHECK-NEXT: %[[N:.*]] = relax.shape [3]
// CHECK-NEXT: %[[G:.*]] = relax.broadcast_to %[[ONE]], %[[N]]
// CHECK-NEXT: %[[A:.*]] = relax.multiply %[[G]], %y
// CHECK-NEXT: %[[B:.*]] = relax.multiply %[[G]], %x
// CHECK-NEXT: %[[C:.*]] = relax.add %[[G]], %[[A]]
// CHECK-NEXT: relax.output %[[S]], %[[C]], %[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[D:.*]] = relax.tuple(%{{.*}}, %{{.*}})
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%{{.*}}, %[[D]])
// CHECK-NEXT: relax.return %[[T]]
// SOME-LABEL: relax.func @main_adjoint({{.*}}) -> !relax.tuple<tensor<f32>, !relax.tuple<tensor<3xf32>, tensor<3xf32>>>
// SOME: %[[G:.*]] = relax.broadcast_to
// SOME-NEXT: %[[B:.*]] = relax.multiply %[[G]], %x
// SOME-NEXT: relax.output %{{.*}}, %[[B]], %[[G]]
relax.func @main(%x: !v, %y: !v) -> !s attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!s) {
    %p = relax.multiply %x, %y : (!v, !v) -> !v
    %q = relax.add %p, %x : (!v, !v) -> !v
    %s = relax.sum %q : (!v) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}

// -----

// Zeros by a parameter that nothing uses, and none through no_grad.

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK-LABEL: relax.func @main_adjoint
// CHECK-NOT: relax.multiply
// CHECK: relax.zeros
// CHECK: relax.zeros
// CHECK: relax.output
relax.func @main(%x: !v, %y: !v) -> !s attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!s) {
    %n = relax.grad.no_grad %x : (!v) -> !v
    %p = relax.negative %n : (!v) -> !v
    %s = relax.sum %p : (!v) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}

// -----

// What is between marks of checkpoints is computed again.

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK-LABEL: relax.func @main_adjoint
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[X:.*]] = relax.add %x, %y
// CHECK-NEXT: %[[E:.*]] = relax.exp %[[X]]
// CHECK-NEXT: %[[P:.*]] = relax.negative %[[E]]
// CHECK-NEXT: relax.sum %[[P]]
// CHECK: %[[G:.*]] = relax.negative
// CHECK-NEXT: %[[F:.*]] = relax.exp %[[X]]
// CHECK-NEXT: relax.multiply %[[G]], %[[F]]
relax.func @main(%x: !v, %y: !v) -> !s attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!s) {
    %p = relax.add %x, %y : (!v, !v) -> !v
    %a = relax.grad.start_checkpoint %p : (!v) -> !v
    %e = relax.exp %a : (!v) -> !v
    %b = relax.grad.end_checkpoint %e : (!v) -> !v
    %n = relax.negative %b : (!v) -> !v
    %s = relax.sum %n : (!v) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}
