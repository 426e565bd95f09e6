// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Intrinsics: suffixes from the types, one declaration per overload.

// CHECK-LABEL: define float @math(float %a0, <4 x float> %a1) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v3 = call float @llvm.fabs.f32(float %a0)
// CHECK-NEXT:   %v4 = call afn float @llvm.sqrt.f32(float %v3)
// CHECK-NEXT:   %v5 = call float @llvm.fma.f32(float %v4, float %a0, float %v3)
// CHECK-NEXT:   %v6 = call <4 x float> @llvm.fabs.v4f32(<4 x float> %a1)
// CHECK-NEXT:   %v7 = call reassoc float @llvm.vector.reduce.fadd.v4f32(float %v5, <4 x float> %v6)
// CHECK-NEXT:   %v8 = call float @llvm.maxnum.f32(float %v7, float %a0)
// CHECK-NEXT:   ret float %v8
// CHECK-NEXT: }
llvm.func @math(%x: f32, %v: vector<4xf32>) -> f32 {
  %0 = llvm.intr.fabs(%x) : (f32) -> f32
  %1 = llvm.intr.sqrt(%0) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  %2 = llvm.intr.fma(%1, %x, %0) : (f32, f32, f32) -> f32
  %3 = llvm.intr.fabs(%v) : (vector<4xf32>) -> vector<4xf32>
  %4 = "llvm.intr.vector.reduce.fadd"(%2, %3) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
  %5 = llvm.intr.maxnum(%4, %x) : (f32, f32) -> f32
  llvm.return %5 : f32
}

// CHECK-LABEL: define i32 @named(i32 %a0, <8 x i16> %a1, ptr %a2, i64 %a3) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v5 = call i32 @llvm.smax.i32(i32 %a0, i32 %a0)
// CHECK-NEXT:   %v6 = call i32 @llvm.smax.i32(i32 %v5, i32 %a0)
// CHECK-NEXT:   %v7 = call <8 x i16> @llvm.umin.v8i16(<8 x i16> %a1, <8 x i16> %a1)
// CHECK-NEXT:   %v8 = call i16 @llvm.vector.reduce.add.v8i16(<8 x i16> %v7)
// CHECK-NEXT:   call void @llvm.memset.p0.i64(ptr %a2, i8 0, i64 %a3, i1 false)
// CHECK-NEXT:   call void @llvm.memcpy.p0.p0.i64(ptr %a2, ptr %a2, i64 %a3, i1 false)
// CHECK-NEXT:   %v9 = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %a0, i32 %v6)
// CHECK-NEXT:   %v10 = call i32 @llvm.ctpop.i32(i32 %a0)
// CHECK-NEXT:   ret i32 %v10
// CHECK-NEXT: }
llvm.func @named(%a: i32, %v: vector<8xi16>, %p: !llvm.ptr, %n: i64) -> i32 {
  %0 = tvm_llvm.call_intrinsic "llvm.smax"(%a, %a) : (i32, i32) -> i32
  %1 = tvm_llvm.call_intrinsic "llvm.smax.i32"(%0, %a) : (i32, i32) -> i32
  %2 = tvm_llvm.call_intrinsic "llvm.umin"(%v, %v) : (vector<8xi16>, vector<8xi16>) -> vector<8xi16>
  %3 = tvm_llvm.call_intrinsic "llvm.vector.reduce.add"(%2) : (vector<8xi16>) -> i16
  %false = llvm.mlir.constant(false) : i1
  %zero = llvm.mlir.constant(0 : i8) : i8
  tvm_llvm.call_intrinsic "llvm.memset"(%p, %zero, %n, %false) : (!llvm.ptr, i8, i64, i1) -> ()
  tvm_llvm.call_intrinsic "llvm.memcpy"(%p, %p, %n, %false) : (!llvm.ptr, !llvm.ptr, i64, i1) -> ()
  %4 = tvm_llvm.call_intrinsic "llvm.sadd.with.overflow"(%a, %1) : (i32, i32) -> !llvm.struct<(i32, i1)>
  %5 = llvm.call_intrinsic "llvm.ctpop"(%a) : (i32) -> i32
  llvm.return %5 : i32
}

// CHECK-LABEL: define void @masked(<4 x float> %a0, ptr %a1, <4 x i1> %a2) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   call void @llvm.masked.store.v4f32.p0(<4 x float> %a0, ptr align 4 %a1, <4 x i1> %a2)
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @masked(%v: vector<4xf32>, %p: !llvm.ptr, %m: vector<4xi1>) {
  llvm.intr.masked.store %v, %p, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.return
}

// CHECK: declare i32 @llvm.ctpop.i32(i32)
// CHECK-NEXT: declare float @llvm.fabs.f32(float)
// CHECK-NEXT: declare <4 x float> @llvm.fabs.v4f32(<4 x float>)
// CHECK-NEXT: declare float @llvm.fma.f32(float, float, float)
// CHECK-NEXT: declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
// CHECK-NEXT: declare float @llvm.maxnum.f32(float, float)
// CHECK-NEXT: declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
// CHECK-NEXT: declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
// CHECK-NEXT: declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)
// CHECK-NEXT: declare i32 @llvm.smax.i32(i32, i32)
// CHECK-NEXT: declare float @llvm.sqrt.f32(float)
// CHECK-NEXT: declare <8 x i16> @llvm.umin.v8i16(<8 x i16>, <8 x i16>)
// CHECK-NEXT: declare i16 @llvm.vector.reduce.add.v8i16(<8 x i16>)
// CHECK-NEXT: declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
