// RUN: xdsl-opt %s -p tir-lower-intrin --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerIntrin.15
// CHECK: tir.func @no_target: LowerIntrin requires the attribute target; run tir-bind-target first
tir.func @no_target() {
}

// -----

// CHECK: tir.call in @half: target nvptx has functions of float32 and float64 only, not of float16; convert the operands
tir.func @half(%x: f16) -> f16 attributes {target = #tir.target<"nvptx">} {
  %y = tir.call "exp"(%x) : (f16) -> f16
  tir.ret %y : f16
}

// -----

// CHECK: tir.call in @erf: target metal has an approximation of erf for float16 and float32, not for float64; convert the operand
tir.func @erf(%x: f64) -> f64 attributes {target = #tir.target<"metal">} {
  %y = tir.call "erf"(%x) : (f64) -> f64
  tir.ret %y : f64
}

// -----

// CHECK: tir.call in @clz: target vulkan counts leading zeros of 32 and 64 bits, not of int16; convert the operand
tir.func @clz(%x: i16) -> i32 attributes {target = #tir.target<"vulkan">} {
  %y = tir.call "clz"(%x) : (i16) -> i32
  tir.ret %y : i32
}

// -----

// CHECK: tir.call in @shuffle: target rocm shuffles values of 32 bits, not float64; shuffle the halves, or convert the value
tir.func @shuffle(%x: f64, %m: ui32) -> f64 attributes {target = #tir.target<"rocm">} {
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %y = tir.call "tvm_warp_shuffle"(%m, %x, %c0, %c32, %c32) : (ui32, f64, i32, i32, i32) -> f64
  tir.ret %y : f64
}

// -----

// CHECK: tir.call in @width: target opencl shuffles among the whole warp only; the width must be the size of the warp
tir.func @width(%x: f32, %m: ui32) -> f32 attributes {target = #tir.target<"opencl">} {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %y = tir.call "tvm_warp_shuffle"(%m, %x, %c0, %c16, %c32) : (ui32, f32, i32, i32, i32) -> f32
  tir.ret %y : f32
}

// -----

// CHECK: tir.floordiv in @custom: a floor division of custom[posit]8 has no lowering; run tir-lower-custom-datatypes first
tir.func @custom(%x: !tir.custom<"posit", 8>) -> !tir.custom<"posit", 8> attributes {target = #tir.target<"llvm">} {
  %y = tir.floordiv %x, %x : !tir.custom<"posit", 8>
  tir.ret %y : !tir.custom<"posit", 8>
}
