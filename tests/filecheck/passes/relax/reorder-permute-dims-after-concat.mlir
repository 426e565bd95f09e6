// RUN: xdsl-opt %s -p relax-reorder-permute-dims-after-concat --split-input-file | filecheck %s

!a = tensor<2x3x4xf32>
!b = tensor<2x5x4xf32>
!p = tensor<4x2x3xf32>
!q = tensor<4x2x5xf32>

// CHECK-LABEL: relax.func @alike
relax.func @alike(%a: !a, %b: !b) -> tensor<4x2x8xf32> {
  // CHECK-NEXT: %[[T:.*]] = relax.tuple(%a, %b)
  // CHECK-NEXT: %[[C:.*]] = relax.concat %[[T]] axis 1 : {{.*}} -> tensor<2x8x4xf32>
  // CHECK-NEXT: %[[R:.*]] = relax.permute_dims %[[C]] axes [2, 0, 1]
  // CHECK-NEXT: relax.return %[[R]]
  %p = relax.permute_dims %a axes [2, 0, 1] : (!a) -> !p
  %q = relax.permute_dims %b axes [-1, 0, 1] : (!b) -> !q
  %t = relax.tuple(%p, %q) : !p, !q
  %r = relax.concat %t axis -1 : (!relax.tuple<!p, !q>) -> tensor<4x2x8xf32>
  relax.return %r : tensor<4x2x8xf32>
}

// -----

// One that is not permuted, another permutation, and one with another use.

!m = tensor<4x4xf32>
!c = tensor<8x4xf32>
!t = !relax.tuple<!m, !m>

// CHECK-LABEL: relax.func @left_alone
relax.func @left_alone(%a: !m, %b: !m) -> !relax.tuple<!c, !c, !c, !m> {
  // CHECK: relax.concat %{{.*}} axis 0
  // CHECK: relax.concat %{{.*}} axis 0
  // CHECK: relax.concat %{{.*}} axis 0
  %p = relax.permute_dims %a axes [1, 0] : (!m) -> !m
  %s = relax.tuple(%p, %b) : !m, !m
  %x = relax.concat %s axis 0 : (!t) -> !c
  %q = relax.permute_dims %a axes [0, 1] : (!m) -> !m
  %o = relax.permute_dims %b axes [1, 0] : (!m) -> !m
  %u = relax.tuple(%q, %o) : !m, !m
  %y = relax.concat %u axis 0 : (!t) -> !c
  %k = relax.permute_dims %a axes [1, 0] : (!m) -> !m
  %l = relax.permute_dims %b axes [1, 0] : (!m) -> !m
  %v = relax.tuple(%k, %l) : !m, !m
  %z = relax.concat %v axis 0 : (!t) -> !c
  %r = relax.tuple(%x, %y, %z, %k) : !c, !c, !c, !m
  relax.return %r : !relax.tuple<!c, !c, !c, !m>
}
