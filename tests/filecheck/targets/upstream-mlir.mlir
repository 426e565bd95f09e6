// RUN: xdsl-opt %s -t upstream-mlir | filecheck %s
// RUN: xdsl-opt %s -t 'upstream-mlir{generic=true}' | filecheck %s --check-prefix=GENERIC

// The level stays; the operations of `tvm_llvm` have the names of MLIR.

// CHECK:      builtin.module attributes {gpu.container_module} {
// GENERIC:    "builtin.module"() ({

// Arrays are initialised by tensors.
// CHECK-NEXT:   llvm.mlir.global internal constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>)
"llvm.mlir.global"() <{global_type = !llvm.array<2 x f32>, sym_name = "table", linkage = #llvm.linkage<"internal">, addr_space = 0 : i32, constant, value = dense<[1.0, 2.0]> : vector<2xf32>}> ({
}) : () -> ()

// CHECK-LABEL:  llvm.func @values
// GENERIC:      sym_name = "values"
llvm.func @values(%v: vector<4xf32>, %i: i64, %x: f32) -> f32 attributes {tir.is_scheduled = true} {
  // CHECK-NEXT:   %[[E:.*]] = llvm.extractelement %{{.*}}[%{{.*}} : i64] : vector<4xf32>
  %e = tvm_llvm.extractelement %v[%i : i64] : vector<4xf32>
  // CHECK-NEXT:   llvm.call_intrinsic "llvm.maxnum"(%[[E]], %{{.*}}) : (f32, f32) -> f32
  // GENERIC: "llvm.call_intrinsic"
  // GENERIC-SAME: operandSegmentSizes = array<i32: 2, 0>, op_bundle_sizes = array<i32>
  %m = tvm_llvm.call_intrinsic "llvm.maxnum"(%e, %x) : (f32, f32) -> f32
  llvm.return %m : f32
}

// CHECK-LABEL:  llvm.func @control
// GENERIC:      sym_name = "control"
llvm.func @control(%n: i32, %p: !llvm.ptr, %q: !llvm.ptr) {
  // GENERIC: "llvm.switch"
  // GENERIC-SAME: case_values = dense<[-1, 5]> : vector<2xi32>
  tvm_llvm.switch %n : i32, ^exit [
    -1: ^loop,
    5: ^exit
  ]
^loop:
  // One number for each scope and each domain.
  // CHECK: llvm.load %{{.*}} {alias_scopes = [#llvm.alias_scope<id = distinct[0]<>, domain = <id = distinct[1]<>, description = "k">, description = "A">]}
  %x = tvm_llvm.load %p {alias_scopes = [#tvm_llvm.alias_scope<"A", "k">]} : !llvm.ptr -> f32
  // CHECK-NEXT: llvm.store %{{.*}}, %{{.*}} {noalias_scopes = [#llvm.alias_scope<id = distinct[0]<>, domain = <id = distinct[1]<>
  tvm_llvm.store %x, %q {noalias_scopes = [#tvm_llvm.alias_scope<"A", "k">]} : f32, !llvm.ptr
  // CHECK-NEXT: llvm.br ^{{.*}} {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>, vectorize = <disable = false, width = 8 : i32>, mustProgress = true>}
  // GENERIC: "llvm.br"
  // GENERIC-SAME: <{loop_annotation = #llvm.loop_annotation<
  llvm.br ^loop {tvm_llvm.loop = #tvm_llvm.loop<{mustprogress, unroll.disable, vectorize.enable = true, vectorize.width = 8 : i64}>}
^exit:
  llvm.return
}

// Structured loops keep the hints under a key of the llvm dialect.
// CHECK-LABEL:  func.func @loop
func.func @loop(%n: index, %one: index) {
  scf.for %i = %one to %n step %one {
  } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.count = 4 : i64}>}
  // CHECK: llvm.loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>
  func.return
}

// CHECK-LABEL:  func.func @launch
func.func @launch(%c: index) {
  // CHECK: "gpu.launch_func"
  "gpu.launch_func"(%c, %c, %c, %c, %c, %c) <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (index, index, index, index, index, index) -> ()
  func.return
}

// CHECK: "gpu.module"
"gpu.module"() <{sym_name = "kernels"}> ({
  // GENERIC: sym_name = "kernels"
  // CHECK: llvm.func @k() attributes {nvvm.kernel, gpu.kernel}
  llvm.func @k() attributes {nvvm.kernel} {
    %m = llvm.mlir.constant(-1 : i32) : i32
    // CHECK: nvvm.redux.sync add %{{.*}}, %{{.*}} : i32 -> i32
    // GENERIC: "nvvm.redux.sync"
    // GENERIC-SAME: <{kind = #nvvm<redux_kind add>}>
    %s = nvvm.redux.sync add %m, %m : i32 -> i32
    llvm.return
  }
}) : () -> ()

// What says nothing to MLIR is left out.
// CHECK-NOT: tir.is_scheduled
