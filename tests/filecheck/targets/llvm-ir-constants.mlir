// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Constants are written at their uses, floats exactly.

// CHECK-LABEL: define void @scalars(ptr %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   store i1 true, ptr %a0
// CHECK-NEXT:   store i8 -1, ptr %a0
// CHECK-NEXT:   store i64 9223372036854775807, ptr %a0
// CHECK-NEXT:   store half 0xH3E00, ptr %a0
// CHECK-NEXT:   store bfloat 0xR3F80, ptr %a0
// CHECK-NEXT:   store float 0x3FB99999A0000000, ptr %a0
// CHECK-NEXT:   store double 0x3FB999999999999A, ptr %a0
// CHECK-NEXT:   store float 0x8000000000000000, ptr %a0
// CHECK-NEXT:   store float 0xFFF0000000000000, ptr %a0
// CHECK-NEXT:   store float 0x7FF8000000000000, ptr %a0
// CHECK-NEXT:   store half 0xH7C00, ptr %a0
// CHECK-NEXT:   store ptr null, ptr %a0
// CHECK-NEXT:   store i32 undef, ptr %a0
// CHECK-NEXT:   store float poison, ptr %a0
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @scalars(%p: !llvm.ptr) {
  %true = llvm.mlir.constant(true) : i1
  llvm.store %true, %p : i1, !llvm.ptr
  %minus = llvm.mlir.constant(-1 : i8) : i8
  llvm.store %minus, %p : i8, !llvm.ptr
  %big = llvm.mlir.constant(9223372036854775807) : i64
  llvm.store %big, %p : i64, !llvm.ptr
  %half = llvm.mlir.constant(1.5 : f16) : f16
  llvm.store %half, %p : f16, !llvm.ptr
  %brain = llvm.mlir.constant(1.00390625 : bf16) : bf16
  llvm.store %brain, %p : bf16, !llvm.ptr
  %tenth = llvm.mlir.constant(0.1 : f32) : f32
  llvm.store %tenth, %p : f32, !llvm.ptr
  %tenth64 = llvm.mlir.constant(0.1 : f64) : f64
  llvm.store %tenth64, %p : f64, !llvm.ptr
  %zero = llvm.mlir.constant(-0.0 : f32) : f32
  llvm.store %zero, %p : f32, !llvm.ptr
  %inf = llvm.mlir.constant(0xFF800000 : f32) : f32
  llvm.store %inf, %p : f32, !llvm.ptr
  %nan = llvm.mlir.constant(0x7FC00000 : f32) : f32
  llvm.store %nan, %p : f32, !llvm.ptr
  %infh = llvm.mlir.constant(0x7C00 : f16) : f16
  llvm.store %infh, %p : f16, !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.store %null, %p : !llvm.ptr, !llvm.ptr
  %undef = llvm.mlir.undef : i32
  llvm.store %undef, %p : i32, !llvm.ptr
  %poison = tvm_llvm.mlir.poison : f32
  llvm.store %poison, %p : f32, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: define void @aggregates(ptr %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   store <2 x i32> <i32 1, i32 -2>, ptr %a0
// CHECK-NEXT:   store <4 x float> splat (float 0x0000000000000000), ptr %a0
// CHECK-NEXT:   store <2 x i1> <i1 true, i1 false>, ptr %a0
// CHECK-NEXT:   store { i32, float } zeroinitializer, ptr %a0
// CHECK-NEXT:   store [2 x [2 x i8]] [[2 x i8] [i8 1, i8 2], [2 x i8] [i8 3, i8 4]], ptr %a0
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @aggregates(%p: !llvm.ptr) {
  %0 = llvm.mlir.constant(dense<[1, -2]> : vector<2xi32>) : vector<2xi32>
  llvm.store %0, %p : vector<2xi32>, !llvm.ptr
  %1 = llvm.mlir.constant(dense<0.0> : vector<4xf32>) : vector<4xf32>
  llvm.store %1, %p : vector<4xf32>, !llvm.ptr
  %2 = llvm.mlir.constant(dense<[true, false]> : vector<2xi1>) : vector<2xi1>
  llvm.store %2, %p : vector<2xi1>, !llvm.ptr
  %3 = llvm.mlir.zero : !llvm.struct<(i32, f32)>
  llvm.store %3, %p : !llvm.struct<(i32, f32)>, !llvm.ptr
  %4 = llvm.mlir.constant(dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>) : !llvm.array<2 x !llvm.array<2 x i8>>
  llvm.store %4, %p : !llvm.array<2 x !llvm.array<2 x i8>>, !llvm.ptr
  llvm.return
}
