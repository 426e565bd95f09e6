// RUN: xdsl-opt %s -p tir-make-unpacked-api --split-input-file --verify-diagnostics | filecheck %s

// CHECK: tir.func @f: MakeUnpackedAPI required the function to be annotated with tvm::attr::kTarget (target), but the function only has attributes {global_symbol}; run tir-bind-target first
tir.func @f(%x: i32) attributes {global_symbol = "f"} {
}

// -----

// CHECK: tir.func @f: the variable 'n' of a shape is no parameter, and the C signature passes no shapes; add a parameter for it, or use tir-make-packed-api
tir.func @f(%a: !tir.handle) attributes {
    global_symbol = "f", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
}

// -----

// CHECK: tir.ret in @f: returns a float32, and the value of a function of the C signature is its status, an int32; store the result to an array
tir.func @f(%x: f32) -> f32 attributes {
    global_symbol = "f", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  tir.ret %x : f32
}
