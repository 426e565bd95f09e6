// RUN: xdsl-opt %s -p tir-fp8-storage-legalize --allow-unregistered-dialect --split-input-file --verify-diagnostics | filecheck %s

tir.func @no_target(%p : !tir.ptr<f8E5M2>) {
  %A = tir.decl_buffer %p : !tir.buffer<8xf8E5M2>
}
// CHECK: tir.func @no_target: tir-fp8-storage-legalize goes by the target of the function, which has none; run tir-bind-target first

// -----

tir.func @parameter(%a : !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer %a : !tir.buffer<8xf8E5M2>
}
// CHECK: tir.match_buffer in @parameter: the buffers of parameters must be gone here, since callers pass float8_e4m3fn or float8_e5m2; run tir-make-packed-api first

// -----

// Every pointer has a type here, so that memory is unknown only if a foreign op defines it.
tir.func @foreign() attributes {target = #tir.target<"llvm">} {
  %p = "test.op"() : () -> !tir.ptr<f8E5M2>
  %A = tir.decl_buffer %p : !tir.buffer<8xf8E5M2>
}
// CHECK: test.op in @foreign: what it does with float8_e5m2 is not known, so that it cannot be given integers; pass a pointer by tir.call, or use other ops of the dialect tir

// -----

tir.func @computes(%x : f8E5M2) -> f8E5M2 attributes {target = #tir.target<"llvm">} {
  %y = tir.add %x, %x : f8E5M2
  tir.ret %y : f8E5M2
}
// CHECK: tir.add in @computes: it computes in float8_e5m2; run tir-fp8-compute-legalize first

// -----

tir.func @converts(%x : f8E5M2) -> f32 attributes {target = #tir.target<"llvm">} {
  %y = tir.cast %x : f8E5M2 to f32
  tir.ret %y : f32
}
// CHECK: tir.cast in @converts: it computes in float8_e5m2; run tir-fp8-compute-legalize first

// -----

tir.func @extern(%x : f8E5M2) attributes {target = #tir.target<"llvm">} {
  %f = tir.string "f"
  tir.call "call_extern"(%f, %x) : (!tir.handle, f8E5M2) -> ()
}
// CHECK: tir.call in @extern: what it does with float8_e5m2 is not known, so that it cannot be given integers; pass a pointer by tir.call, or use other ops of the dialect tir

// -----

tir.func @realized() attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %R = tir.buffer_realize "R" bounds [%c0 to %c0 + 2] : !tir.buffer<8xf8E5M2>
}
// CHECK: tir.buffer_realize in @realized: a realized buffer cannot store float8_e5m2 as integers; allocate it

// -----

tir.func private @native(%x : f8E5M2) attributes {target = #tir.target<"cuda", arch = "sm_90">} {
}
tir.func @caller(%x : f8E5M2) attributes {target = #tir.target<"llvm">} {
  tir.call_func @native(%x) : (f8E5M2) -> ()
}
// CHECK: tir.call_func in @caller: only one of caller and callee has float8_e4m3fn or float8_e5m2 on its target, and f8E5M2 is passed as a value; pass a pointer to it
