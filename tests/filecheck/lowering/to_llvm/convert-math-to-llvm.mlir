// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-math-to-llvm | filecheck %s

func.func @native(%x : f32, %v : vector<4xf64>, %n : i32) {
  %0 = math.sqrt %x fastmath<contract> : f32
  %1 = math.fma %v, %v, %v : vector<4xf64>
  %2 = math.ctlz %n : i32
  "test.op"(%0, %1, %2) : (f32, vector<4xf64>, i32) -> ()
  func.return
}

// CHECK: func.func @native([[V0:%[A-Za-z0-9_]+]]: f32, [[V1:%[A-Za-z0-9_]+]]: vector<4xf64>, [[V2:%[A-Za-z0-9_]+]]: i32) {
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = tvm_llvm.call_intrinsic "llvm.sqrt"([[V0]]) {fastmathFlags = #llvm.fastmath<contract>} : (f32) -> f32
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = tvm_llvm.call_intrinsic "llvm.fma"([[V1]], [[V1]], [[V1]]) : (vector<4xf64>, vector<4xf64>, vector<4xf64>) -> vector<4xf64>
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.mlir.constant(false) : i1
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = tvm_llvm.call_intrinsic "llvm.ctlz"([[V2]], [[V5]]) : (i32, i1) -> i32
// CHECK-NEXT: "test.op"([[V3]], [[V4]], [[V6]]) : (f32, vector<4xf64>, i32) -> ()
// CHECK-NEXT: func.return

func.func @bf16(%x : bf16) -> bf16 {
  %0 = math.floor %x : bf16
  func.return %0 : bf16
}

// CHECK: func.func @bf16([[V0:%[A-Za-z0-9_]+]]: bf16) -> bf16 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = llvm.bitcast [[V0]] : bf16 to i16
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = llvm.zext [[V1]] : i16 to i32
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.shl [[V2]], [[V3]] : i32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.bitcast [[V4]] : i32 to f32
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = tvm_llvm.call_intrinsic "llvm.floor"([[V5]]) : (f32) -> f32
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = llvm.bitcast [[V6]] : f32 to i32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = llvm.lshr [[V7]], [[V8]] : i32
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.mlir.constant(1 : i32) : i32
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = llvm.and [[V9]], [[V10]] : i32
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.mlir.constant(32767 : i32) : i32
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = llvm.add [[V11]], [[V12]] : i32
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = llvm.add [[V7]], [[V13]] : i32
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = llvm.mlir.constant(4194304 : i32) : i32
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = llvm.or [[V7]], [[V15]] : i32
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = llvm.fcmp "uno" [[V6]], [[V6]] : f32
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = llvm.select [[V17]], [[V16]], [[V14]] : i1, i32
// CHECK-NEXT: [[V19:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V20:%[A-Za-z0-9_]+]] = llvm.lshr [[V18]], [[V19]] : i32
// CHECK-NEXT: [[V21:%[A-Za-z0-9_]+]] = llvm.trunc [[V20]] : i32 to i16
// CHECK-NEXT: [[V22:%[A-Za-z0-9_]+]] = llvm.bitcast [[V21]] : i16 to bf16
// CHECK-NEXT: func.return [[V22]] : bf16

func.func @foreign(%t : tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %t : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK: func.func @foreign([[V0:%[A-Za-z0-9_]+]]: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = math.exp [[V0]] : tensor<4xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<4xf32>
