// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Loads, stores, addresses, atomics; metadata of accesses.

// CHECK-LABEL: define void @plain(ptr %a0, ptr addrspace(1) %a1, i64 %a2) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v4 = getelementptr float, ptr %a0, i64 %a2
// CHECK-NEXT:   %v5 = getelementptr inbounds [8 x half], ptr addrspace(1) %a1, i64 %a2, i32 3
// CHECK-NEXT:   %v6 = getelementptr { i32, [4 x i8] }, ptr %a0, i32 0, i32 1, i64 %a2
// CHECK-NEXT:   %v7 = getelementptr nusw nuw i8, ptr %a0, i64 %a2
// CHECK-NEXT:   %v8 = load float, ptr %v4
// CHECK-NEXT:   %v9 = load <8 x half>, ptr addrspace(1) %v5, align 16
// CHECK-NEXT:   store float %v8, ptr %v4, align 4
// CHECK-NEXT:   store volatile <8 x half> %v9, ptr addrspace(1) %v5, !nontemporal !0
// CHECK-NEXT:   %v10 = alloca float, i32 16, align 64
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @plain(%p: !llvm.ptr, %g: !llvm.ptr<1>, %i: i64) {
  %0 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %1 = llvm.getelementptr inbounds %g[%i, 3] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.array<8 x f16>
  %2 = llvm.getelementptr %p[0, 1, %i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i32, !llvm.array<4 x i8>)>
  %3 = "llvm.getelementptr"(%p, %i) <{elem_type = i8, noWrapFlags = 6 : i32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr, i64) -> !llvm.ptr
  %4 = llvm.load %0 : !llvm.ptr -> f32
  %5 = llvm.load %1 {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
  llvm.store %4, %0 {alignment = 4 : i64} : f32, !llvm.ptr
  llvm.store volatile %5, %1 {nontemporal} : vector<8xf16>, !llvm.ptr<1>
  %6 = llvm.mlir.constant(16 : i32) : i32
  %7 = llvm.alloca %6 x f32 {alignment = 64 : i64} : (i32) -> !llvm.ptr
  llvm.return
}

// CHECK-LABEL: define i1 @ordered(ptr %a0, i32 %a1) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v3 = load atomic i32, ptr %a0 monotonic, align 4
// CHECK-NEXT:   %v4 = load atomic volatile i32, ptr %a0 syncscope("device") acquire, align 4
// CHECK-NEXT:   store atomic i32 %a1, ptr %a0 release, align 4
// CHECK-NEXT:   %v5 = atomicrmw add ptr %a0, i32 %a1 monotonic
// CHECK-NEXT:   %v6 = atomicrmw volatile and ptr %a0, i32 %a1 syncscope("block") seq_cst, align 4
// CHECK-NEXT:   %v7 = cmpxchg weak ptr %a0, i32 %a1, i32 %a1 syncscope("device") acq_rel monotonic
// CHECK-NEXT:   fence syncscope("device") release
// CHECK-NEXT:   %v8 = extractvalue { i32, i1 } %v7, 1
// CHECK-NEXT:   ret i1 %v8
// CHECK-NEXT: }
llvm.func @ordered(%p: !llvm.ptr, %i: i32) -> i1 {
  %0 = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  %1 = tvm_llvm.load volatile %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  tvm_llvm.store %i, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr
  %2 = tvm_llvm.atomicrmw add %p, %i monotonic : !llvm.ptr, i32
  %3 = tvm_llvm.atomicrmw volatile _and %p, %i syncscope("block") seq_cst {alignment = 4 : i64} : !llvm.ptr, i32
  %4 = tvm_llvm.cmpxchg weak %p, %i, %i syncscope("device") acq_rel monotonic : !llvm.ptr, i32
  tvm_llvm.fence syncscope("device") release
  %5 = llvm.extractvalue %4[1] : !llvm.struct<(i32, i1)>
  llvm.return %5 : i1
}

// CHECK-LABEL: define void @hints(ptr %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v2 = load float, ptr %a0, !invariant.load !1
// CHECK-NEXT:   %v3 = load float, ptr %a0, align 4, !nontemporal !0
// CHECK-NEXT:   %v4 = load float, ptr %a0, !alias.scope !4
// CHECK-NEXT:   store float %v4, ptr %a0, !alias.scope !6, !noalias !4
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @hints(%p: !llvm.ptr) {
  %0 = tvm_llvm.load %p invariant : !llvm.ptr -> f32
  %1 = tvm_llvm.load %p {alignment = 4 : i64, nontemporal} : !llvm.ptr -> f32
  %2 = tvm_llvm.load %p {alias_scopes = [#tvm_llvm.alias_scope<"A", "k">]} : !llvm.ptr -> f32
  tvm_llvm.store %2, %p {alias_scopes = [#tvm_llvm.alias_scope<"B", "k">], noalias_scopes = [#tvm_llvm.alias_scope<"A", "k">]} : f32, !llvm.ptr
  llvm.return
}

// CHECK: !0 = !{i32 1}
// CHECK-NEXT: !1 = !{}
// CHECK-NEXT: !2 = distinct !{!2, !"k"}
// CHECK-NEXT: !3 = distinct !{!3, !2, !"A"}
// CHECK-NEXT: !4 = !{!3}
// CHECK-NEXT: !5 = distinct !{!5, !2, !"B"}
// CHECK-NEXT: !6 = !{!5}
