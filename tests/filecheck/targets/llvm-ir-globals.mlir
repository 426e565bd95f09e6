// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Globals: linkage, address spaces, alignment; dense values as bytes.

// CHECK: @weights = private constant [12 x i8] c"\00\00\80?\00\00\00@\00\00@@", align 64
// CHECK-NEXT: @zeros = internal constant [1000 x i32] zeroinitializer
// CHECK-NEXT: @bits = internal constant [3 x i8] c"\01\00\01"
// CHECK-NEXT: @doubles = internal constant [16 x i8] c"\00\00\00\00\00\00\F0?\00\00\00\00\00\00\00\00", align 8
// CHECK-NEXT: @mask = internal constant <2 x i1> <i1 true, i1 false>
// CHECK-NEXT: @odd = internal constant [2 x i24] [i24 1, i24 -1]
// CHECK-NEXT: @counter = global i32 7
// CHECK-NEXT: @local = thread_local unnamed_addr global float 0x3FF8000000000000, section ".mine"
// CHECK-NEXT: @text = internal constant [4 x i8] c"a\22b\0A"
// CHECK-NEXT: @tile = internal addrspace(3) global [256 x float] undef, align 16
// CHECK-NEXT: @dynamic = external addrspace(3) global [0 x i8], align 16
// CHECK-NEXT: @pointer = internal global ptr @counter
// CHECK-NEXT: @"strange name" = weak global i32 undef
llvm.mlir.global private constant @weights(dense<[1.0, 2.0, 3.0]> : tensor<3xf32>) {alignment = 64 : i64, addr_space = 0 : i32} : !llvm.array<3 x f32>
llvm.mlir.global internal constant @zeros(dense<0> : tensor<1000xi32>) : !llvm.array<1000 x i32>
llvm.mlir.global internal constant @bits(dense<[true, false, true]> : tensor<3xi1>) : !llvm.array<3 x i1>
llvm.mlir.global internal constant @doubles(dense<[1.0, 0.0]> : tensor<2xf64>) : !llvm.array<2 x f64>
llvm.mlir.global internal constant @mask(dense<[true, false]> : vector<2xi1>) : vector<2xi1>
llvm.mlir.global internal constant @odd(dense<[1, -1]> : tensor<2xi24>) : !llvm.array<2 x i24>
llvm.mlir.global external @counter(7 : i32) : i32
llvm.mlir.global external thread_local unnamed_addr @local(1.5 : f32) {section = ".mine"} : f32
llvm.mlir.global internal constant @text("a\22b\0A")
llvm.mlir.global internal @tile() {alignment = 16 : i64, addr_space = 3 : i32} : !llvm.array<256 x f32>
llvm.mlir.global external @dynamic() {alignment = 16 : i64, addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.mlir.global internal @pointer() : !llvm.ptr {
  %0 = llvm.mlir.addressof @counter : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global weak @"strange name"() : i32 {
  %0 = llvm.mlir.undef : i32
  llvm.return %0 : i32
}

// CHECK-LABEL: define ptr @address() {
// CHECK-NEXT: b0:
// CHECK-NEXT:   ret ptr @"strange name"
// CHECK-NEXT: }
llvm.func @address() -> !llvm.ptr {
  %0 = llvm.mlir.addressof @"strange name" : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
