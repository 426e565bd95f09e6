// RUN: xdsl-opt %s -p relax-attach-global-symbol --split-input-file --allow-unregistered-dialect | filecheck %s

// CASE: AttachGlobalSymbol.1
// CHECK: relax.func @main({{.*}} attributes {global_symbol = "main"} {
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "old"} {
  // CHECK: relax.call_tir @scale
  %y = relax.call_tir @scale(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
// CHECK: tir.func @scale({{.*}} attributes {tir.noalias = true, global_symbol = "scale"} {
tir.func @scale(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
}
// CHECK: tir.func @declared(!tir.handle)
// CHECK-NOT: global_symbol
tir.func @declared(!tir.handle)

// -----

// CASE: AttachGlobalSymbol.2
// TIR functions take the prefix of the module; all references follow, also among TIR
// functions and in attributes of unknown operations, but not into other symbol tables.

// CHECK: builtin.module attributes {tir.module_attrs = {system_lib_prefix = "lib_"}} {
builtin.module attributes {tir.module_attrs = {system_lib_prefix = "lib_"}} {
  // CHECK-NEXT: relax.func @main({{.*}} attributes {global_symbol = "main"} {
  relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK-NEXT: relax.call_tir @lib_scale
    %y = relax.call_tir @scale(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relax.return %y : tensor<4xf32>
  }
  // CHECK: tir.func @lib_scale({{.*}} attributes {global_symbol = "lib_scale"} {
  tir.func @scale(%a: !tir.handle, %b: !tir.handle) {
    // CHECK-NEXT: tir.call_func @lib_inner
    tir.call_func @inner(%a) : (!tir.handle) -> ()
  }
  // CHECK: tir.func @lib_inner({{.*}} attributes {global_symbol = "lib_inner"} {
  tir.func @inner(%a: !tir.handle) {
  }
  // CHECK: "strange.op"() {entries = [{of = @lib_scale::@part}, @main]} : () -> ()
  "strange.op"() {entries = [{of = @scale::@part}, @main]} : () -> ()
  // CHECK: builtin.module @nested
  builtin.module @nested {
    // CHECK-NEXT: "strange.op"() {of = @scale} : () -> ()
    "strange.op"() {of = @scale} : () -> ()
  }
}
