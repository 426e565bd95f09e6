// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-arith-to-llvm | filecheck %s

func.func @integers(%i : index, %a : i32, %b : i32) {
  %c = arith.constant 3 : index
  %0 = arith.addi %i, %c overflow<nsw> : index
  %1 = arith.ceildivsi %a, %b : i32
  %2 = arith.minui %a, %b : i32
  %3 = arith.cmpi ult, %a, %b : i32
  %4 = arith.index_cast %0 : index to i32
  %5 = arith.select %3, %1, %4 : i32
  "test.op"(%0, %2, %5) : (index, i32, i32) -> ()
  func.return
}

// CHECK: func.func @integers([[V0:%[A-Za-z0-9_]+]]: index, [[V1:%[A-Za-z0-9_]+]]: i32, [[V2:%[A-Za-z0-9_]+]]: i32) {
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : index to i64
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.mlir.constant(3) : i64
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.add [[V3]], [[V4]] overflow<nsw> : i64
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V5]] : i64 to index
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = llvm.sdiv [[V1]], [[V2]] : i32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.srem [[V1]], [[V2]] : i32
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.icmp "ne" [[V8]], [[V9]] : i32
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = llvm.xor [[V1]], [[V2]] : i32
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = llvm.icmp "slt" [[V11]], [[V12]] : i32
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = llvm.mlir.constant(true) : i1
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = llvm.xor [[V13]], [[V14]] : i1
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = llvm.and [[V10]], [[V15]] : i1
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = llvm.zext [[V16]] : i1 to i32
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = llvm.add [[V7]], [[V17]] : i32
// CHECK-NEXT: [[V19:%[A-Za-z0-9_]+]] = tvm_llvm.call_intrinsic "llvm.umin"([[V1]], [[V2]]) : (i32, i32) -> i32
// CHECK-NEXT: [[V20:%[A-Za-z0-9_]+]] = llvm.icmp "ult" [[V1]], [[V2]] : i32
// CHECK-NEXT: [[V21:%[A-Za-z0-9_]+]] = llvm.trunc [[V5]] : i64 to i32
// CHECK-NEXT: [[V22:%[A-Za-z0-9_]+]] = llvm.select [[V20]], [[V18]], [[V21]] : i1, i32
// CHECK-NEXT: "test.op"([[V6]], [[V19]], [[V22]]) : (index, i32, i32) -> ()
// CHECK-NEXT: func.return

func.func @floats(%x : f32, %y : f32, %v : vector<4xf32>) {
  %0 = arith.addf %x, %y fastmath<contract,reassoc> : f32
  %1 = arith.maximumf %0, %y : f32
  %2 = arith.cmpf ult, %1, %y : f32
  %3 = arith.cmpf olt, %1, %y fastmath<nnan> : f32
  %4 = arith.fptosi %1 : f32 to i32
  %5 = arith.mulf %v, %v : vector<4xf32>
  %6 = arith.constant dense<2.0> : vector<4xf32>
  "test.op"(%2, %3, %4, %5, %6) : (i1, i1, i32, vector<4xf32>, vector<4xf32>) -> ()
  func.return
}

// CHECK: func.func @floats([[V0:%[A-Za-z0-9_]+]]: f32, [[V1:%[A-Za-z0-9_]+]]: f32, [[V2:%[A-Za-z0-9_]+]]: vector<4xf32>) {
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.fadd [[V0]], [[V1]] {fastmathFlags = #llvm.fastmath<reassoc,contract>} : f32
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = tvm_llvm.call_intrinsic "llvm.maximum"([[V3]], [[V1]]) : (f32, f32) -> f32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.fcmp "ult" [[V4]], [[V1]] : f32
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = tvm_llvm.fcmp "olt" [[V4]], [[V1]] {fastmathFlags = #llvm.fastmath<nnan>} : f32
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = tvm_llvm.fptosi [[V4]] : f32 to i32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.fmul [[V2]], [[V2]] : vector<4xf32>
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = llvm.mlir.constant(dense<2.000000e+00> : vector<4xf32>) : vector<4xf32>
// CHECK-NEXT: "test.op"([[V5]], [[V6]], [[V7]], [[V8]], [[V9]]) : (i1, i1, i32, vector<4xf32>, vector<4xf32>) -> ()
// CHECK-NEXT: func.return

func.func @bf16(%x : bf16) -> bf16 {
  %0 = arith.addf %x, %x fastmath<contract> : bf16
  func.return %0 : bf16
}

// CHECK: func.func @bf16([[V0:%[A-Za-z0-9_]+]]: bf16) -> bf16 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = llvm.bitcast [[V0]] : bf16 to i16
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = llvm.zext [[V1]] : i16 to i32
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.shl [[V2]], [[V3]] : i32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.bitcast [[V4]] : i32 to f32
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = llvm.bitcast [[V0]] : bf16 to i16
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = llvm.zext [[V6]] : i16 to i32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = llvm.shl [[V7]], [[V8]] : i32
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.bitcast [[V9]] : i32 to f32
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = llvm.fadd [[V5]], [[V10]] {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.bitcast [[V11]] : f32 to i32
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = llvm.lshr [[V12]], [[V13]] : i32
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = llvm.mlir.constant(1 : i32) : i32
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = llvm.and [[V14]], [[V15]] : i32
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = llvm.mlir.constant(32767 : i32) : i32
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = llvm.add [[V16]], [[V17]] : i32
// CHECK-NEXT: [[V19:%[A-Za-z0-9_]+]] = llvm.add [[V12]], [[V18]] : i32
// CHECK-NEXT: [[V20:%[A-Za-z0-9_]+]] = llvm.mlir.constant(4194304 : i32) : i32
// CHECK-NEXT: [[V21:%[A-Za-z0-9_]+]] = llvm.or [[V12]], [[V20]] : i32
// CHECK-NEXT: [[V22:%[A-Za-z0-9_]+]] = llvm.fcmp "uno" [[V11]], [[V11]] : f32
// CHECK-NEXT: [[V23:%[A-Za-z0-9_]+]] = llvm.select [[V22]], [[V21]], [[V19]] : i1, i32
// CHECK-NEXT: [[V24:%[A-Za-z0-9_]+]] = llvm.mlir.constant(16 : i32) : i32
// CHECK-NEXT: [[V25:%[A-Za-z0-9_]+]] = llvm.lshr [[V23]], [[V24]] : i32
// CHECK-NEXT: [[V26:%[A-Za-z0-9_]+]] = llvm.trunc [[V25]] : i32 to i16
// CHECK-NEXT: [[V27:%[A-Za-z0-9_]+]] = llvm.bitcast [[V26]] : i16 to bf16
// CHECK-NEXT: func.return [[V27]] : bf16

func.func @foreign(%t : tensor<4xf32>, %i : index) -> tensor<4xf32> {
  %0 = arith.addf %t, %t : tensor<4xf32>
  "test.op"(%i) : (index) -> ()
  func.return %0 : tensor<4xf32>
}

// CHECK: func.func @foreign([[V0:%[A-Za-z0-9_]+]]: tensor<4xf32>, [[V1:%[A-Za-z0-9_]+]]: index) -> tensor<4xf32> {
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = arith.addf [[V0]], [[V0]] : tensor<4xf32>
// CHECK-NEXT: "test.op"([[V1]]) : (index) -> ()
// CHECK-NEXT: func.return [[V2]] : tensor<4xf32>

// Users before the definition in the text, and users that are not lowered here.
func.func @blocks_in_any_order(%i : index) {
  cf.br ^define
^use:
  %0 = arith.addi %x, %x : index
  %1 = arith.cmpi slt, %0, %x : index
  %2 = arith.select %1, %0, %x : index
  "test.op"(%2, %x) : (index, index) -> ()
  func.return
^define:
  %x = arith.muli %i, %i : index
  cf.br ^use
}

// CHECK: func.func @blocks_in_any_order([[I:%[A-Za-z0-9_]+]]: index) {
// CHECK-NEXT: [[WIDE:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[I]] : index to i64
// CHECK: [[SUM:%[A-Za-z0-9_]+]] = llvm.add [[X:%[A-Za-z0-9_]+]], [[X]] : i64
// CHECK-NEXT: [[LESS:%[A-Za-z0-9_]+]] = llvm.icmp "slt" [[SUM]], [[X]] : i64
// CHECK-NEXT: [[LEAST:%[A-Za-z0-9_]+]] = llvm.select [[LESS]], [[SUM]], [[X]] : i1, i64
// CHECK-NEXT: [[INDEX:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[LEAST]] : i64 to index
// CHECK-NEXT: "test.op"([[INDEX]], [[BACK:%[A-Za-z0-9_]+]]) : (index, index) -> ()
// CHECK: [[X]] = llvm.mul [[WIDE]], [[WIDE]] : i64
// CHECK-NEXT: [[BACK]] = builtin.unrealized_conversion_cast [[X]] : i64 to index

// A cast of the input falls away with what it casts.
func.func @cast_before(%i : index) -> i64 {
  %0 = arith.muli %i, %i : index
  %1 = builtin.unrealized_conversion_cast %0 : index to i64
  %2 = arith.addi %1, %1 : i64
  func.return %2 : i64
}

// CHECK: func.func @cast_before([[I:%[A-Za-z0-9_]+]]: index) -> i64 {
// CHECK-NEXT: [[WIDE:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[I]] : index to i64
// CHECK-NEXT: [[SQUARE:%[A-Za-z0-9_]+]] = llvm.mul [[WIDE]], [[WIDE]] : i64
// CHECK-NEXT: [[SUM:%[A-Za-z0-9_]+]] = llvm.add [[SQUARE]], [[SQUARE]] : i64
// CHECK-NEXT: func.return [[SUM]] : i64
