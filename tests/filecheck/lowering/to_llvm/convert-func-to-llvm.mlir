// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-func-to-llvm | filecheck %s

func.func private @external(f32) -> f32

// CHECK: llvm.func @external(f32) -> f32

func.func private @internal(%x : f32) -> f32 {
  %y = func.call @external(%x) : (f32) -> f32
  func.return %y : f32
}

// CHECK: llvm.func internal @internal([[V0:%[A-Za-z0-9_]+]]: f32) -> f32 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = llvm.call @external([[V0]]) : (f32) -> f32
// CHECK-NEXT: llvm.return [[V1]] : f32

func.func @f(%a : memref<?x4xf32, 1> {llvm.noalias}, %n : index) -> index attributes {tag = 1 : i32} {
  "test.op"(%a) : (memref<?x4xf32, 1>) -> ()
  func.return %n : index
}

// CHECK: llvm.func @f([[V0:%[A-Za-z0-9_]+]]: !llvm.ptr<1> {llvm.noalias}, [[V1:%[A-Za-z0-9_]+]]: i64) -> i64 attributes {tag = 1 : i32} {
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : !llvm.ptr<1> to memref<?x4xf32, 1 : i64>
// CHECK-NEXT: "test.op"([[V2]]) : (memref<?x4xf32, 1 : i64>) -> ()
// CHECK-NEXT: llvm.return [[V1]] : i64
