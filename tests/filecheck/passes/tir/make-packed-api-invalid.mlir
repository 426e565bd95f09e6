// RUN: xdsl-opt %s -p tir-make-packed-api --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.func @f: MakePackedAPI required the function to be annotated with tvm::attr::kTarget (target), but the function only has attributes {global_symbol}; run tir-bind-target first
tir.func @f(%x: i32) attributes {global_symbol = "f"} {
}

// -----

// CHECK: tir.func @f: In PrimFunc f variables [n] are used, but are not passed in as API arguments; pass them as parameters, or as an extent, a stride or an offset of their own
tir.func @f(%a: !tir.handle) attributes {
    global_symbol = "f", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  %n = tir.shape_var "n" : i32
  %c2 = tir.const 2 : i32
  %m = tir.mul %n, %c2 : i32
  %A = tir.match_buffer %a [%m] : !tir.buffer<?xf32>
}

// -----

// CHECK: tir.ret in @f: tir.ret cannot be used in parallel scope, where each thread would return; store a result, and return after the loop
tir.func @f(%n: i32) -> i32 attributes {
    global_symbol = "f", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n parallel {
    tir.ret %i : i32
  }
}

// -----

// CHECK: tir.func @f: the parameter 'x' is a bfloat16, which no packed argument is; pass integers, floats of 16 to 64 bits, pointers, or arrays
tir.func @f(%x: bf16) attributes {
    global_symbol = "f", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
}
