// RUN: xdsl-opt %s -p tir-lower-custom-datatypes --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerCustomDatatypes.8
// CHECK: tir.func @no_target: LowerCustomDatatypes requires the attribute target; run tir-bind-target first
tir.func @no_target() {
}

// -----

// CHECK: tir.func @unknown: the custom dtype 'posit' is not registered; call datatype.register('posit', code) with a code of at least 129
tir.func @unknown(%x: !tir.custom<"posit", 8>) -> !tir.custom<"posit", 8> attributes {target = #tir.target<"llvm">} {
  %y = tir.add %x, %x : !tir.custom<"posit", 8>
  tir.ret %y : !tir.custom<"posit", 8>
}
