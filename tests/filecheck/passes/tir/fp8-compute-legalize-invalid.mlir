// RUN: xdsl-opt %s -p tir-fp8-compute-legalize --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'tir-fp8-compute-legalize{promote_dtype_str="bfloat16"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=OPTION

tir.func @no_target(%x : f8E5M2) -> f8E5M2 {
  tir.ret %x : f8E5M2
}
// CHECK: tir.func @no_target: tir-fp8-compute-legalize goes by the target of the function, which has none; run tir-bind-target first
// OPTION: tir-fp8-compute-legalize: promote_dtype_str is 'bfloat16', which is no dtype to compute in; use float16 or float32
