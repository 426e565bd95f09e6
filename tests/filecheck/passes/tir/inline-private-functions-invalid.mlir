// RUN: xdsl-opt %s -p tir-inline-private-functions --split-input-file --verify-diagnostics | filecheck %s

// CASE: InlinePrivateFunctions.11
tir.func @main(%n: i32) attributes {global_symbol = "main"} {
  tir.call_func @private(%n, %n) : (i32, i32) -> ()
}
tir.func @private(%n: i32) {
}
// CHECK: tir.call_func: @private has type (i32) -> (), called with (i32, i32) -> ()
