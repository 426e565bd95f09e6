// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Vectors, fixed and scalable.

// CHECK-LABEL: define float @elements(<4 x float> %a0, float %a1, i64 %a2) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v4 = insertelement <4 x float> %a0, float %a1, i64 %a2
// CHECK-NEXT:   %v5 = shufflevector <4 x float> %v4, <4 x float> %a0, <4 x i32> <i32 3, i32 2, i32 poison, i32 4>
// CHECK-NEXT:   %v6 = extractelement <4 x float> %v5, i64 %a2
// CHECK-NEXT:   ret float %v6
// CHECK-NEXT: }
llvm.func @elements(%v: vector<4xf32>, %x: f32, %i: i64) -> f32 {
  %0 = llvm.insertelement %x, %v[%i : i64] : vector<4xf32>
  %1 = llvm.shufflevector %0, %v [3, 2, -1, 4] : vector<4xf32>
  %2 = tvm_llvm.extractelement %1[%i : i64] : vector<4xf32>
  llvm.return %2 : f32
}

// CHECK-LABEL: define void @scalable(ptr %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v2 = load <vscale x 4 x float>, ptr %a0, align 16
// CHECK-NEXT:   %v3 = fmul <vscale x 4 x float> %v2, splat (float 0x3FF0000000000000)
// CHECK-NEXT:   %v4 = fptosi <vscale x 4 x float> %v3 to <vscale x 4 x i32>
// CHECK-NEXT:   store <vscale x 4 x i32> %v4, ptr %a0, align 16
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @scalable(%p: !llvm.ptr) {
  %0 = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> vector<[4]xf32>
  %1 = llvm.mlir.constant(dense<1.0> : vector<[4]xf32>) : vector<[4]xf32>
  %2 = llvm.fmul %0, %1 : vector<[4]xf32>
  %3 = tvm_llvm.fptosi %2 : vector<[4]xf32> to vector<[4]xi32>
  llvm.store %3, %p {alignment = 16 : i64} : vector<[4]xi32>, !llvm.ptr
  llvm.return
}
