// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: llvm.func @casts
// CHECK-SAME: (%[[F:.*]]: f32, %[[V:.*]]: vector<4xf32>, %[[I:.*]]: i8, %[[P:.*]]: !llvm.ptr<3>)
llvm.func @casts(%f : f32, %v : vector<4xf32>, %i : i8, %p : !llvm.ptr<3>) {
  // CHECK-NEXT: tvm_llvm.fptosi %[[F]] : f32 to i32
  %0 = tvm_llvm.fptosi %f : f32 to i32
  // CHECK-NEXT: tvm_llvm.fptoui %[[V]] : vector<4xf32> to vector<4xi16>
  %1 = tvm_llvm.fptoui %v : vector<4xf32> to vector<4xi16>
  // CHECK-NEXT: tvm_llvm.uitofp %[[I]] : i8 to bf16
  %2 = tvm_llvm.uitofp %i : i8 to bf16
  // CHECK-NEXT: tvm_llvm.addrspacecast %[[P]] : !llvm.ptr<3> to !llvm.ptr
  %3 = tvm_llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @values
// CHECK-SAME: (%[[V:.*]]: vector<4xf32>, %[[I:.*]]: i32, %[[P:.*]]: !llvm.ptr, %[[M:.*]]: vector<4xi1>)
llvm.func @values(%v : vector<4xf32>, %i : i32, %p : !llvm.ptr, %m : vector<4xi1>) {
  // CHECK-NEXT: tvm_llvm.freeze %[[I]] : i32
  %0 = tvm_llvm.freeze %i : i32
  // CHECK-NEXT: tvm_llvm.mlir.poison : vector<4xf32>
  %1 = tvm_llvm.mlir.poison : vector<4xf32>
  // CHECK-NEXT: tvm_llvm.extractelement %[[V]][%[[I]] : i32] : vector<4xf32>
  %2 = tvm_llvm.extractelement %v[%i : i32] : vector<4xf32>
  // CHECK-NEXT: tvm_llvm.icmp "ult" %[[P]], %[[P]] : !llvm.ptr
  %3 = tvm_llvm.icmp "ult" %p, %p : !llvm.ptr
  // CHECK-NEXT: tvm_llvm.fcmp "olt" %[[V]], %{{.*}} {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  %4 = tvm_llvm.fcmp "olt" %v, %1 {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  // CHECK-NEXT: tvm_llvm.fcmp "_true" %{{.*}}, %{{.*}} : f32
  %5 = tvm_llvm.fcmp "_true" %2, %2 : f32
  // CHECK-NEXT: tvm_llvm.select %[[M]], %[[V]], %{{.*}} : vector<4xi1>, vector<4xf32>
  %6 = tvm_llvm.select %m, %v, %1 : vector<4xi1>, vector<4xf32>
  // CHECK-NEXT: tvm_llvm.select %{{.*}}, %[[V]], %{{.*}} {fastmathFlags = #llvm.fastmath<nsz>} : i1, vector<4xf32>
  %7 = tvm_llvm.select %3, %v, %1 {fastmathFlags = #llvm.fastmath<nsz>} : i1, vector<4xf32>
  llvm.return
}

// CHECK-LABEL: llvm.func @memory
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr, %[[G:.*]]: !llvm.ptr<1>, %[[I:.*]]: i32, %[[F:.*]]: f32)
llvm.func @memory(%p : !llvm.ptr, %g : !llvm.ptr<1>, %i : i32, %f : f32) {
  // CHECK-NEXT: tvm_llvm.load %[[P]] : !llvm.ptr -> f32
  %0 = tvm_llvm.load %p : !llvm.ptr -> f32
  // CHECK-NEXT: tvm_llvm.load volatile %[[G]] atomic syncscope("device") acquire invariant {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> i32
  %1 = tvm_llvm.load volatile %g atomic syncscope("device") acquire invariant {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> i32
  // CHECK-NEXT: tvm_llvm.load %[[P]] {alias_scopes = [#tvm_llvm.alias_scope<"a", "k">]} : !llvm.ptr -> f32
  %2 = tvm_llvm.load %p {alias_scopes = [#tvm_llvm.alias_scope<"a", "k">]} : !llvm.ptr -> f32
  // CHECK-NEXT: tvm_llvm.store %[[F]], %[[P]] : f32, !llvm.ptr
  tvm_llvm.store %f, %p : f32, !llvm.ptr
  // CHECK-NEXT: tvm_llvm.store volatile %[[I]], %[[G]] atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  tvm_llvm.store volatile %i, %g atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK-NEXT: tvm_llvm.atomicrmw fadd %[[P]], %[[F]] monotonic : !llvm.ptr, f32
  %3 = tvm_llvm.atomicrmw fadd %p, %f monotonic : !llvm.ptr, f32
  // CHECK-NEXT: tvm_llvm.atomicrmw volatile _or %[[G]], %[[I]] syncscope("device") acq_rel {alignment = 4 : i64} : !llvm.ptr<1>, i32
  %4 = tvm_llvm.atomicrmw volatile _or %g, %i syncscope("device") acq_rel {alignment = 4 : i64} : !llvm.ptr<1>, i32
  // CHECK-NEXT: %{{.*}} = tvm_llvm.cmpxchg weak %[[P]], %[[I]], %[[I]] acq_rel monotonic : !llvm.ptr, i32
  %5 = tvm_llvm.cmpxchg weak %p, %i, %i acq_rel monotonic : !llvm.ptr, i32
  // CHECK-NEXT: llvm.extractvalue %{{.*}}[1] : !llvm.struct<(i32, i1)>
  %6 = llvm.extractvalue %5[1] : !llvm.struct<(i32, i1)>
  // CHECK-NEXT: tvm_llvm.fence syncscope("device") seq_cst
  tvm_llvm.fence syncscope("device") seq_cst
  llvm.return
}

// CHECK-LABEL: llvm.func @control
// CHECK-SAME: (%[[I:.*]]: i32) -> i32
llvm.func @control(%i : i32) -> i32 {
  // CHECK-NEXT: tvm_llvm.switch %[[I]] : i32, ^[[D:.*]](%[[I]] : i32) [1: ^[[A:.*]], -2: ^[[D]](%[[I]] : i32)]
  tvm_llvm.switch %i : i32, ^bb1(%i : i32) [1: ^bb2, -2: ^bb1(%i : i32)]
^bb1(%x : i32):
  llvm.return %x : i32
^bb2:
  // CHECK: tvm_llvm.call_intrinsic "llvm.smax"(%[[I]], %[[I]]) : (i32, i32) -> i32
  %0 = tvm_llvm.call_intrinsic "llvm.smax"(%i, %i) : (i32, i32) -> i32
  // CHECK-NEXT: tvm_llvm.call_intrinsic "llvm.trap"() : () -> ()
  tvm_llvm.call_intrinsic "llvm.trap"() : () -> ()
  // CHECK-NEXT: llvm.br ^[[B:.*]] {tvm_llvm.loop = #tvm_llvm.loop<{unroll.count = 4 : i64, vectorize.enable = true, unroll.disable}>}
  llvm.br ^bb2 {tvm_llvm.loop = #tvm_llvm.loop<{unroll.count = 4 : i64, vectorize.enable = true, unroll.disable}>}
}

// CHECK-LABEL: func.func @tensor_map
// CHECK-SAME: (%[[M:.*]]: memref<?xf16>, %[[I:.*]]: i64, %[[S:.*]]: !llvm.struct<(f32, f32)>)
func.func @tensor_map(%m : memref<?xf16>, %i : i64, %s : !llvm.struct<(f32, f32)>) {
  // CHECK-NEXT: tvm_llvm.tensor_map %[[M]], extents[%[[I]], %[[I]]], strides[%[[I]]] {box = array<i64: 64, 8>, swizzle = 0 : i64, element = f16} : memref<?xf16> -> !llvm.ptr
  %0 = tvm_llvm.tensor_map %m, extents[%i, %i], strides[%i] {box = array<i64: 64, 8>, swizzle = 0 : i64, element = f16} : memref<?xf16> -> !llvm.ptr
  // CHECK-NEXT: tvm_llvm.register_fence %[[S]] : !llvm.struct<(f32, f32)>
  %1 = tvm_llvm.register_fence %s : !llvm.struct<(f32, f32)>
  func.return
}
