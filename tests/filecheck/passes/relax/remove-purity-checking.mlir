// RUN: xdsl-opt %s -p relax-remove-purity-checking --split-input-file | filecheck %s

// CASE: RemovePurityChecking.1, RemovePurityChecking.2
// Calls that promise to have no effects become plain ones, with the same arguments,
// attributes and types; other calls stay.

// CHECK-LABEL: relax.func @calls
// CHECK-SAME: attributes {relax.force_pure = true} {
// CHECK-NEXT: %[[A:.*]] = relax.call_packed "f"(%x) {hint = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = relax.call_packed "g"(%[[A]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = relax.invoke_closure %c(%[[B]]) : !relax.object, (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[D:.*]] = relax.call_tir_inplace @h(%[[C]])
// CHECK-NEXT: relax.call_dps_packed "f"(%[[D]])
relax.func @calls(%x: tensor<4xf32>, %c: !relax.object) -> tensor<4xf32> {
  %a = relax.call_pure_packed "f"(%x) {hint = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call_inplace_packed "g"(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.invoke_pure_closure %c(%b) : !relax.object, (tensor<4xf32>) -> tensor<4xf32>
  %e = relax.call_tir_inplace @h(%d) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %g = relax.call_dps_packed "f"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %g : tensor<4xf32>
}
tir.func @h(%a: !tir.handle) {
}

// -----

// CASE: RemovePurityChecking.3
// Pure functions within others are told so, impure ones are not.

// CHECK-LABEL: relax.func impure @nested
// CHECK-NOT: force_pure
// CHECK: relax.if
// CHECK-NEXT: relax.lambda() -> tensor<4xf32> attributes {relax.force_pure = true} {
// CHECK-NEXT: relax.call_packed "f"
// CHECK: relax.lambda impure ()
// CHECK-NEXT: relax.call_packed "f"
relax.func impure @nested(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %f = relax.lambda() -> tensor<4xf32> {
      %a = relax.call_pure_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      relax.return %a : tensor<4xf32>
    }
    relax.yield %x : tensor<4xf32>
  } else {
    %g = relax.lambda impure () -> tensor<4xf32> {
      %a = relax.call_pure_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      relax.return %a : tensor<4xf32>
    }
    relax.yield %x : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}
