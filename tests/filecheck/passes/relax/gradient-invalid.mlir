// RUN: xdsl-opt %s -p 'relax-gradient{func_name="main"}' --split-input-file --verify-diagnostics | filecheck %s

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK: relax-gradient: the body of @main must be one dataflow block, and it holds relax.sum; run relax-convert-to-dataflow
relax.func @main(%x: !v) -> !s {
  %r = relax.dataflow -> (!v) {
    %e = relax.exp %x : (!v) -> !v
    relax.output %e : !v
  }
  %s = relax.sum %r : (!v) -> !s
  relax.return %s : !s
}

// -----

!v = tensor<3xf32>

// CHECK: relax-gradient: the target must be a float tensor of rank 0, not tensor<3xf32>
relax.func @main(%x: !v) -> !v {
  %r = relax.dataflow -> (!v) {
    %e = relax.exp %x : (!v) -> !v
    relax.output %e : !v
  }
  relax.return %r : !v
}

// -----

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK: relax-gradient: relax.erf: it has no gradient; mark its result by relax.grad.no_grad
relax.func @main(%x: !v) -> !s {
  %r = relax.dataflow -> (!s) {
    %e = relax.erf %x : (!v) -> !v
    %s = relax.sum %e : (!v) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}

// -----

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK: relax-gradient: i is tensor<3xi32>, which has no derivative; name others in require_grads
relax.func @main(%x: !v, %i: tensor<3xi32>) -> !s {
  %r = relax.dataflow -> (!s) {
    %s = relax.sum %x : (!v) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}

// -----

!s = tensor<f32>

// CHECK: relax-gradient: the shape of tensor<?xf32> is not known; cast it by relax.match_cast to one with symbols
relax.func @main(%x: tensor<?xf32>) -> !s {
  %r = relax.dataflow -> (!s) {
    %s = relax.sum %x : (tensor<?xf32>) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}

// -----

!s = tensor<f32>

// CHECK: relax-gradient: the module has a symbol @main_adjoint already; rename it
relax.func @main(%x: !s) -> !s {
  %r = relax.dataflow -> (!s) {
    %e = relax.exp %x : (!s) -> !s
    relax.output %e : !s
  }
  relax.return %r : !s
}
relax.func @main_adjoint(%x: !s) -> !s {
  relax.return %x : !s
}

// -----

!v = tensor<3xf32>
!s = tensor<f32>

// CHECK: relax-gradient: @main writes memory of its values, which derivatives may need; run it before passes that make calls in place
relax.func @main(%x: !v) -> !s {
  %r = relax.dataflow -> (!s) {
    %e = relax.exp %x : (!v) -> !v
    %w = relax.call_inplace_packed "my.scale"(%e) inplace [0] : (!v) -> !v
    %s = relax.sum %w : (!v) -> !s
    relax.output %s : !s
  }
  relax.return %r : !s
}
