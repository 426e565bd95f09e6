// RUN: xdsl-opt %s -p tir-bf16-storage-legalize --allow-unregistered-dialect --split-input-file --verify-diagnostics | filecheck %s

// CASE: BF16StorageLegalize.5
tir.func @no_target(%p : !tir.ptr<bf16>) {
  %A = tir.decl_buffer %p : !tir.buffer<8xbf16>
}
// CHECK: tir.func @no_target: tir-bf16-storage-legalize goes by the target of the function, which has none; run tir-bind-target first

// -----

// CASE: BF16StorageLegalize.5
tir.func @parameter(%a : !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer %a : !tir.buffer<8xbf16>
}
// CHECK: tir.match_buffer in @parameter: the buffers of parameters must be gone here, since callers pass bfloat16; run tir-make-packed-api first

// -----

// Every pointer has a type here, so that memory is unknown only if a foreign op defines it.
// CASE: BF16StorageLegalize.5
tir.func @foreign() attributes {target = #tir.target<"llvm">} {
  %p = "test.op"() : () -> !tir.ptr<bf16>
  %A = tir.decl_buffer %p : !tir.buffer<8xbf16>
}
// CHECK: test.op in @foreign: what it does with bfloat16 is not known, so that it cannot be given integers; pass a pointer by tir.call, or use other ops of the dialect tir

// -----

tir.func @computes(%x : bf16) -> bf16 attributes {target = #tir.target<"llvm">} {
  %y = tir.add %x, %x : bf16
  tir.ret %y : bf16
}
// CHECK: tir.add in @computes: it computes in bfloat16; run tir-bf16-compute-legalize first

// -----

tir.func @converts(%x : bf16) -> f32 attributes {target = #tir.target<"llvm">} {
  %y = tir.cast %x : bf16 to f32
  tir.ret %y : f32
}
// CHECK: tir.cast in @converts: it computes in bfloat16; run tir-bf16-compute-legalize first

// -----

tir.func @extern(%x : bf16) attributes {target = #tir.target<"llvm">} {
  %f = tir.string "f"
  tir.call "call_extern"(%f, %x) : (!tir.handle, bf16) -> ()
}
// CHECK: tir.call in @extern: what it does with bfloat16 is not known, so that it cannot be given integers; pass a pointer by tir.call, or use other ops of the dialect tir

// -----

tir.func @realized() attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %R = tir.buffer_realize "R" bounds [%c0 to %c0 + 2] : !tir.buffer<8xbf16>
}
// CHECK: tir.buffer_realize in @realized: a realized buffer cannot store bfloat16 as integers; allocate it

// -----

tir.func private @native(%x : bf16) attributes {target = #tir.target<"cuda", arch = "sm_90">} {
}
tir.func @caller(%x : bf16) attributes {target = #tir.target<"llvm">} {
  tir.call_func @native(%x) : (bf16) -> ()
}
// CHECK: tir.call_func in @caller: only one of caller and callee has bfloat16 on its target, and bf16 is passed as a value; pass a pointer to it
