// RUN: xdsl-opt %s -p tir-extract-prim-func-constants --split-input-file --verify-diagnostics | filecheck %s

// CASE: ExtractPrimFuncConstants.4
// CASE: ExtractPrimFuncConstants.5
// The op holds either contents or an index, so a script of extracted constants, case 5,
// has no contents to show and is refused by the printer.
// A node without contents holds an index; one that the list does not have is the error.
tir.func @f() {
  %p = tir.allocate_const 1 : i32 : !tir.ptr<i32>
}
// CHECK: tir-extract-prim-func-constants: tir.allocate_const in @f holds no contents but the index 1, and the module has 0 constants; give it contents

// -----

builtin.module attributes {tir.module_attrs = {constants = 3 : i32}} {
  tir.func @f() {
    %p = tir.allocate_const dense<1> : tensor<1xi32> : !tir.ptr<i32>
  }
}
// CHECK: tir-extract-prim-func-constants: builtin.module: the attribute constants must be a list of dense arrays, got 3 : i32
