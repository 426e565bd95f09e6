// RUN: xdsl-opt %s -p relax-optimize-layout-transform --split-input-file | filecheck %s

!x = tensor<2x8xf32>
!b = tensor<2x2x4xf32>

// CHECK-LABEL: relax.func @undone
relax.func @undone(%x: !x) -> !x {
  // CHECK-NEXT: relax.return %x
  %a = relax.layout_transform %x map <(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)> : (!x) -> !b
  %r = relax.layout_transform %a map <(d0, d1, d2) -> (d0, d1 * 4 + d2)> : (!b) -> !x
  relax.return %r : !x
}

// CHECK-LABEL: relax.func @used
relax.func @used(%x: !x) -> !relax.tuple<!b, !x> {
  // CHECK-NEXT: %[[A:.*]] = relax.layout_transform %x
  // CHECK-NEXT: relax.tuple(%[[A]], %x)
  %a = relax.layout_transform %x map <(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)> : (!x) -> !b
  %r = relax.layout_transform %a map <(d0, d1, d2) -> (d0, d1 * 4 + d2)> : (!b) -> !x
  %t = relax.tuple(%a, %r) : !b, !x
  relax.return %t : !relax.tuple<!b, !x>
}

// -----

// The same shape is not enough; nor is a kernel optimized.

!x = tensor<4x4xf32>

// CHECK-LABEL: relax.func @transposed
relax.func @transposed(%x: !x) -> !x {
  // CHECK-COUNT-2: relax.layout_transform
  %a = relax.layout_transform %x map <(d0, d1) -> (d1, d0)> : (!x) -> !x
  %r = relax.layout_transform %a map <(d0, d1) -> (d0, d1)> : (!x) -> !x
  relax.return %r : !x
}

// CHECK-LABEL: relax.func @kernel
relax.func @kernel(%x: !x) -> !x attributes {Primitive = true} {
  // CHECK-COUNT-2: relax.layout_transform
  %a = relax.layout_transform %x map <(d0, d1) -> (d1, d0)> : (!x) -> !x
  %r = relax.layout_transform %a map <(d0, d1) -> (d1, d0)> : (!x) -> !x
  relax.return %r : !x
}

// -----

// Padding that is removed between holds other elements.

!x = tensor<6xf32>
!p = tensor<2x4xf32>
!q = tensor<8xf32>

// CHECK-LABEL: relax.func @padded
relax.func @padded(%x: !x) -> !p {
  // CHECK-NEXT: %[[A:.*]] = relax.layout_transform %x
  // CHECK: relax.call_tir @remove_pad
  // CHECK-NEXT: %[[D:.*]] = relax.layout_transform
  // CHECK-NEXT: relax.return %[[D]]
  %a = relax.layout_transform %x map <(d0) -> (d0 floordiv 4, d0 mod 4)> : (!x) -> !p
  %b = relax.layout_transform %a map <(d0, d1) -> (d0 * 4 + d1)> : (!p) -> !q
  %c = relax.call_tir @remove_pad(%b) : (!q) -> !x
  %d = relax.layout_transform %c map <(d0) -> (d0 floordiv 4, d0 mod 4)> : (!x) -> !p
  relax.return %d : !p
}
tir.func @remove_pad(%a: !tir.handle, %b: !tir.handle) attributes {operator_name = "remove_pad"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %B = tir.match_buffer %b : !tir.buffer<6xf32>
  %zero = tir.const 0 : i64
  %six = tir.const 6 : i64
  tir.for %i = %zero to %six {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i] : f32
  }
}
