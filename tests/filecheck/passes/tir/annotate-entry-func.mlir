// RUN: xdsl-opt %s -p tir-annotate-entry-func --split-input-file | filecheck %s

// CASE: AnnotateEntryFunc.1
tir.func @private() {
}
// CHECK: tir.func @private() attributes {tir.is_entry_func = true} {

// -----

// CASE: AnnotateEntryFunc.2
tir.func @private1() {
}
tir.func @private2() {
}
// CHECK: tir.func @private1() {
// CHECK: tir.func @private2() {

// -----

// CASE: AnnotateEntryFunc.3
tir.func @public() attributes {global_symbol = "public"} {
}
tir.func @helper() {
}
relax.func @graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  relax.return %x : tensor<2xf32>
}
func.func private @foreign() {
  func.return
}
// CHECK: tir.func @public() attributes {global_symbol = "public", tir.is_entry_func = true} {
// CHECK: tir.func @helper() {
// CHECK: relax.func @graph(%{{.*}}) -> tensor<2xf32> {
// CHECK: func.func private @foreign() {

// -----

// CASE: AnnotateEntryFunc.4
tir.func @public1() attributes {global_symbol = "public1"} {
}
tir.func @public2() attributes {global_symbol = "public2"} {
}
// CHECK: tir.func @public1() attributes {global_symbol = "public1"} {
// CHECK: tir.func @public2() attributes {global_symbol = "public2"} {

// -----

// CASE: AnnotateEntryFunc.5
tir.func @kernel() attributes {global_symbol = "kernel"} {
}
relax.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<2xf32>
}
// CHECK: tir.func @kernel() attributes {global_symbol = "kernel"} {
// CHECK: relax.func @main(%{{.*}}) -> tensor<2xf32> attributes {global_symbol = "main"} {

// -----

// A foreign function is visible unless it says that it is not.
tir.func @callee() attributes {global_symbol = "callee"} {
}
func.func @caller() {
  func.return
}
// CHECK: tir.func @callee() attributes {global_symbol = "callee"} {
// CHECK: func.func @caller() {

// -----

// CASE: AnnotateEntryFunc.6
tir.func @marked() attributes {tir.is_entry_func = 1 : i32} {
}
// CHECK: tir.func @marked() attributes {tir.is_entry_func = 1 : i32} {

// -----

// A flag of 0 is no mark.
tir.func @unmarked() attributes {tir.is_entry_func = false} {
}
// CHECK: tir.func @unmarked() attributes {tir.is_entry_func = true} {

// -----

// CASE: AnnotateEntryFunc.7
builtin.module {
}
// CHECK:      builtin.module {
// CHECK-NEXT: }

// -----

// The only function is no function of TIR.
func.func @main() {
  func.return
}
// CHECK: func.func @main() {

// -----

// Declarations are no functions of the module.
tir.func @f() {
}
tir.func @declared(i32)
func.func private @external()
// CHECK: tir.func @f() attributes {tir.is_entry_func = true} {
// CHECK: tir.func @declared(i32)
