// RUN: xdsl-opt %s -p tir-lower-custom-datatypes | filecheck %s

// CASE: LowerCustomDatatypes.7
tir.func @native(%a: !tir.handle) -> f32 attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : f32
  %y = tir.call "exp"(%x) : (f32) -> f32
  %z = tir.add %x, %y : f32
  tir.store %z, %A[%c0] : f32
  tir.ret %z : f32
}
// CHECK-LABEL: tir.func @native
// CHECK-NEXT:    %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
// CHECK-NEXT:    %c0 = tir.const 0 : i32
// CHECK-NEXT:    %x = tir.load %A[%c0] : f32
// CHECK-NEXT:    %y = tir.call "exp"(%x) : (f32) -> f32
// CHECK-NEXT:    %z = tir.add %x, %y : f32
// CHECK-NEXT:    tir.store %z, %A[%c0] : f32
// CHECK-NEXT:    tir.ret %z : f32
