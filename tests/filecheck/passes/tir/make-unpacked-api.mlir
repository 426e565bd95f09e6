// RUN: xdsl-opt %s -p tir-make-unpacked-api --split-input-file | filecheck %s

// CASE: MakeUnpackedAPI.3
// An array is passed as its data; the function returns a status.

tir.func @scale(%a: !tir.handle, %k: i32) attributes {
    global_symbol = "scale", target = #tir.target<"cuda", host = #tir.target<"llvm">>,
    param_names = ["a", "k"]} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.store %k, %A[%c0] : i32
}

// CHECK:      tir.func @scale(%A: !tir.ptr<i32>, %k: i32) -> i32 attributes {
// CHECK-SAME:   target = #tir.target<"llvm">
// CHECK-SAME:   param_names = ["A", "k"]
// CHECK-NEXT:   tir.attr "device_id" ("default") = 0 : i32 {
// CHECK-NEXT:     tir.attr "device_type" ("default") = 2 : i32 {
// CHECK:            %[[A:.*]] = tir.decl_buffer "A" %A {implicit} : !tir.buffer<4xi32>
// CHECK:            tir.store %k, %[[A]][%c0] : i32
// CHECK:            tir.ret %{{.*}} : i32

// -----

// CASE: MakeUnpackedAPI.1 CASE: MakeUnpackedAPI.10
// Private functions, and those whose target has no host, stay.

tir.func @private(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
}
tir.func @lowered(%a: !tir.handle) attributes {
    global_symbol = "lowered", target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
}

// CHECK:      tir.func @private(%a: !tir.handle) attributes
// CHECK-NEXT:   tir.match_buffer "A" %a
// CHECK:      tir.func @lowered(%a: !tir.handle) attributes
// CHECK-NEXT:   tir.match_buffer "A" %a
