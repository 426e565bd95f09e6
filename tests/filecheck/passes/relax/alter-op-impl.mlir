// RUN: xdsl-opt %s -p 'relax-alter-op-impl{replacements="relax.add = @blocked" op_buffer_transforms="relax.add: <(d0) -> (d0 floordiv 4, d0 mod 4)>; <(d0) -> (d0 floordiv 4, d0 mod 4)>; <(d0) -> (d0 floordiv 4, d0 mod 4), inverse (d0, d1) -> (d0 * 4 + d1)>"}' --split-input-file | filecheck %s

// Arguments and results change their layouts around the call; the padding is sliced off.

!t = tensor<8xf32>
!s = tensor<6xf32>

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t, %y: !t, %z: !s) -> !relax.tuple<!t, !s> {
  // CHECK-NEXT: %[[A:.*]] = relax.layout_transform %x map {{.*}} -> tensor<2x4xf32>
  // CHECK-NEXT: %[[B:.*]] = relax.layout_transform %y
  // CHECK-NEXT: %[[C:.*]] = relax.call_tir @relax_add_replacement(%[[A]], %[[B]]) : {{.*}} -> tensor<2x4xf32>
  // CHECK-NEXT: %[[R:.*]] = relax.layout_transform %[[C]] map {{.*}} -> tensor<8xf32>
  // CHECK: %[[D:.*]] = relax.call_tir @relax_add_replacement
  // CHECK-NEXT: %[[E:.*]] = relax.layout_transform %[[D]] map {{.*}} -> tensor<8xf32>
  // CHECK: %[[F:.*]] = relax.strided_slice %[[E]], {{.*}} -> tensor<6xf32>
  // CHECK: relax.tuple(%[[R]], %[[F]])
  %r = relax.call_tir @add(%x, %y) : (!t, !t) -> !t
  %q = relax.call_tir @add6(%z, %z) : (!s, !s) -> !s
  %p = relax.tuple(%r, %q) : !t, !s
  relax.return %p : !relax.tuple<!t, !s>
}
tir.func @add(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {operator_name = "relax.add"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %B = tir.match_buffer %b : !tir.buffer<8xf32>
  %C = tir.match_buffer %c : !tir.buffer<8xf32>
  %zero = tir.const 0 : i64
  %end = tir.const 8 : i64
  tir.for %i = %zero to %end {
    %x = tir.load %A[%i] : f32
    %y = tir.load %B[%i] : f32
    %s = tir.add %x, %y : f32
    tir.store %s, %C[%i] : f32
  }
}
tir.func @add6(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {operator_name = "relax.add"} {
  %A = tir.match_buffer %a : !tir.buffer<6xf32>
  %B = tir.match_buffer %b : !tir.buffer<6xf32>
  %C = tir.match_buffer %c : !tir.buffer<6xf32>
  %zero = tir.const 0 : i64
  %end = tir.const 6 : i64
  tir.for %i = %zero to %end {
    %x = tir.load %A[%i] : f32
    %y = tir.load %B[%i] : f32
    %s = tir.add %x, %y : f32
    tir.store %s, %C[%i] : f32
  }
}
tir.func @blocked(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2x4xf32>
  %B = tir.match_buffer %b : !tir.buffer<2x4xf32>
  %C = tir.match_buffer %c : !tir.buffer<2x4xf32>
  %zero = tir.const 0 : i64
  %two = tir.const 2 : i64
  %four = tir.const 4 : i64
  tir.for %i = %zero to %two {
    tir.for %j = %zero to %four {
      %x = tir.load %A[%i, %j] : f32
      %y = tir.load %B[%i, %j] : f32
      %s = tir.add %x, %y : f32
      tir.store %s, %C[%i, %j] : f32
    }
  }
}
// CHECK: tir.func @relax_add_replacement({{.*}}) attributes {operator_name = "relax.add"}
// CHECK-NOT: tir.func @relax_add_replacement1
