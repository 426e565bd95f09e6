// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: relax.func @f uses the symbol 'n' of tensor<?xf32, #relax.dims<[n]>>
!v = tensor<?xf32, #relax.dims<[n]>>
relax.func @f(%x: !v) -> !v {
  relax.return %x : !v
}

// -----

// CHECK: relax.lambda uses the symbol 'n' of tensor<?xf32, #relax.dims<[n]>>, but declares none
!v = tensor<?xf32, #relax.dims<[n]>>
relax.func @symbols_do_not_enter<n>(%x: !v) -> !v {
  %f = relax.lambda(%y: !v) -> !v {
    relax.return %y : !v
  }
  relax.return %x : !v
}

// -----

// CHECK: relax.add in @symbols_do_not_enter uses the symbol 'n', which neither a parameter nor a relax.match_cast above defines
!v = tensor<?xf32, #relax.dims<[n]>>
relax.func @symbols_do_not_enter<n>(%x: !v) -> !v {
  %f = relax.lambda(%y: tensor<4xf32>) -> tensor<4xf32> {
    %z = relax.add %x, %x : (!v, !v) -> !v
    relax.return %y : tensor<4xf32>
  }
  relax.return %x : !v
}

// -----

// CHECK: relax.print in @pure is impure; mark the function impure or give it the attribute relax.force_pure
!t = tensor<4xf32>
relax.func impure @pure(%x: !t) -> !t {
  %f = relax.lambda(%y: !t) -> !t {
    relax.print "called"() : () -> ()
    relax.return %y : !t
  }
  relax.return %x : !t
}

// -----

// CHECK: relax.lambda returns tensor<5xf32>, but tensor<4xf32> is declared
!t = tensor<4xf32>
relax.func @f(%x: tensor<5xf32>) -> tensor<5xf32> {
  %f = relax.lambda(%y: !t) -> !t {
    relax.return %x : tensor<5xf32>
  }
  relax.return %x : tensor<5xf32>
}

// -----

// CHECK: relax.call_indirect: the function is impure and the call must say so
!t = tensor<4xf32>
relax.func impure @f(%x: !t, %f: !relax.func<(!t) -> !t, impure>) -> !t {
  %r = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t, impure>, (!t) -> !t
  relax.return %r : !t
}

// -----

// CHECK: relax.call_indirect takes 1 arguments, 2 are given
!t = tensor<4xf32>
relax.func @f(%x: !t, %f: !relax.func<(!t) -> !t>) -> !t {
  %r = relax.call_indirect %f(%x, %x) : !relax.func<(!t) -> !t>, (!t, !t) -> !t
  relax.return %r : !t
}

// -----

// CHECK: argument 0 of relax.call_indirect must be tensor<4xf32>, tensor<4xf16> is given
!t = tensor<4xf32>
relax.func @f(%x: tensor<4xf16>, %f: !relax.func<(!t) -> !t>) -> !t {
  %r = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t>, (tensor<4xf16>) -> !t
  relax.return %r : !t
}

// -----

// CHECK: relax.call_indirect: the function returns tensor<4xf32>, but tensor<5xf32> is declared
!t = tensor<4xf32>
relax.func @f(%x: !t, %f: !relax.func<(!t) -> !t>) -> tensor<5xf32> {
  %r = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t>, (!t) -> tensor<5xf32>
  relax.return %r : tensor<5xf32>
}

// -----

// CHECK: relax.global_ref: @g is not defined in the module
!t = tensor<4xf32>
relax.func @f(%x: !t) -> !t {
  %f = relax.global_ref @g : !relax.object
  relax.return %x : !t
}

// -----

// CHECK: relax.global_ref: @f is !relax.func<(tensor<4xf32>) -> tensor<4xf32>>, which is not always !relax.func<(tensor<4xf32>) -> tensor<5xf32>>
!t = tensor<4xf32>
relax.func @f(%x: !t) -> !t {
  %f = relax.global_ref @f : !relax.func<(!t) -> tensor<5xf32>>
  relax.return %x : !t
}

// -----

// CHECK: relax.global_ref: @kernel is a tir.func, which is a !relax.object and not !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
!t = tensor<4xf32>
tir.func @kernel(%a: !tir.handle) {
}
relax.func @f(%x: !t) -> !t {
  %f = relax.global_ref @kernel : !relax.func<(!t) -> !t>
  relax.return %x : !t
}
