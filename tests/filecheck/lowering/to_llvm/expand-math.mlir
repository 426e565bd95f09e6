// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-expand-math | filecheck %s

func.func @exp(%x : f32) -> f32 {
  %0 = math.exp %x fastmath<fast> : f32
  func.return %0 : f32
}

// CHECK: func.func @exp([[V0:%[A-Za-z0-9_]+]]: f32) -> f32 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = arith.constant 8.900000e+01 : f32
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = arith.cmpf ogt, [[V0]], [[V1]] : f32
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = arith.select [[V2]], [[V1]], [[V0]] : f32
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = arith.constant -1.040000e+02 : f32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = arith.cmpf olt, [[V3]], [[V4]] : f32
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = arith.select [[V5]], [[V4]], [[V3]] : f32
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = arith.constant 0x4B400000 : f32
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = math.fma [[V6]], [[V7]], [[V8]] : f32
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = arith.subf [[V9]], [[V8]] : f32
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = arith.bitcast [[V9]] : f32 to i32
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = arith.constant 1262485504 : i32
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = arith.subi [[V11]], [[V12]] : i32
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = arith.constant -0.693147182 : f32
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = math.fma [[V10]], [[V14]], [[V6]] : f32
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = arith.constant 1.90465421e-09 : f32
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = math.fma [[V10]], [[V16]], [[V15]] : f32
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = arith.mulf [[V17]], [[V17]] : f32
// CHECK-NEXT: [[V19:%[A-Za-z0-9_]+]] = arith.constant 0.000198412701 : f32
// CHECK-NEXT: [[V20:%[A-Za-z0-9_]+]] = arith.constant 0.00138888892 : f32
// CHECK-NEXT: [[V21:%[A-Za-z0-9_]+]] = math.fma [[V19]], [[V17]], [[V20]] : f32
// CHECK-NEXT: [[V22:%[A-Za-z0-9_]+]] = arith.constant 0.00833333377 : f32
// CHECK-NEXT: [[V23:%[A-Za-z0-9_]+]] = math.fma [[V21]], [[V17]], [[V22]] : f32
// CHECK-NEXT: [[V24:%[A-Za-z0-9_]+]] = arith.constant 0.0416666679 : f32
// CHECK-NEXT: [[V25:%[A-Za-z0-9_]+]] = math.fma [[V23]], [[V17]], [[V24]] : f32
// CHECK-NEXT: [[V26:%[A-Za-z0-9_]+]] = arith.constant 0.166666672 : f32
// CHECK-NEXT: [[V27:%[A-Za-z0-9_]+]] = math.fma [[V25]], [[V17]], [[V26]] : f32
// CHECK-NEXT: [[V28:%[A-Za-z0-9_]+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V29:%[A-Za-z0-9_]+]] = math.fma [[V27]], [[V17]], [[V28]] : f32
// CHECK-NEXT: [[V30:%[A-Za-z0-9_]+]] = math.fma [[V18]], [[V29]], [[V17]] : f32
// CHECK-NEXT: [[V31:%[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V32:%[A-Za-z0-9_]+]] = arith.addf [[V30]], [[V31]] : f32
// CHECK-NEXT: [[V33:%[A-Za-z0-9_]+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V34:%[A-Za-z0-9_]+]] = arith.shrsi [[V13]], [[V33]] : i32
// CHECK-NEXT: [[V35:%[A-Za-z0-9_]+]] = arith.constant 127 : i32
// CHECK-NEXT: [[V36:%[A-Za-z0-9_]+]] = arith.addi [[V34]], [[V35]] : i32
// CHECK-NEXT: [[V37:%[A-Za-z0-9_]+]] = arith.constant 23 : i32
// CHECK-NEXT: [[V38:%[A-Za-z0-9_]+]] = arith.shli [[V36]], [[V37]] : i32
// CHECK-NEXT: [[V39:%[A-Za-z0-9_]+]] = arith.bitcast [[V38]] : i32 to f32
// CHECK-NEXT: [[V40:%[A-Za-z0-9_]+]] = arith.mulf [[V32]], [[V39]] : f32
// CHECK-NEXT: [[V41:%[A-Za-z0-9_]+]] = arith.subi [[V13]], [[V34]] : i32
// CHECK-NEXT: [[V42:%[A-Za-z0-9_]+]] = arith.addi [[V41]], [[V35]] : i32
// CHECK-NEXT: [[V43:%[A-Za-z0-9_]+]] = arith.shli [[V42]], [[V37]] : i32
// CHECK-NEXT: [[V44:%[A-Za-z0-9_]+]] = arith.bitcast [[V43]] : i32 to f32
// CHECK-NEXT: [[V45:%[A-Za-z0-9_]+]] = arith.mulf [[V40]], [[V44]] : f32
// CHECK-NEXT: func.return [[V45]] : f32

func.func @rsqrt(%v : vector<4xf64>) -> vector<4xf64> {
  %0 = math.rsqrt %v : vector<4xf64>
  func.return %0 : vector<4xf64>
}

// CHECK: func.func @rsqrt([[V0:%[A-Za-z0-9_]+]]: vector<4xf64>) -> vector<4xf64> {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = math.sqrt [[V0]] : vector<4xf64>
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = arith.constant dense<1.000000e+00> : vector<4xf64>
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = arith.divf [[V2]], [[V1]] : vector<4xf64>
// CHECK-NEXT: func.return [[V3]] : vector<4xf64>

func.func @round(%v : vector<4xf32>) -> vector<4xf32> {
  %0 = math.round %v : vector<4xf32>
  func.return %0 : vector<4xf32>
}

// CHECK: func.func @round([[V0:%[A-Za-z0-9_]+]]: vector<4xf32>) -> vector<4xf32> {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = math.trunc [[V0]] : vector<4xf32>
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = arith.subf [[V0]], [[V1]] : vector<4xf32>
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = math.absf [[V2]] : vector<4xf32>
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = arith.constant dense<5.000000e-01> : vector<4xf32>
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = tvm_llvm.fcmp "oge" [[V3]], [[V4]] : vector<4xf32>
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = arith.constant dense<1.000000e+00> : vector<4xf32>
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = math.copysign [[V6]], [[V0]] : vector<4xf32>
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = arith.addf [[V1]], [[V7]] : vector<4xf32>
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = tvm_llvm.select [[V5]], [[V8]], [[V1]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = math.copysign [[V9]], [[V0]] : vector<4xf32>
// CHECK-NEXT: func.return [[V10]] : vector<4xf32>

func.func @half(%x : f16) -> f16 {
  %0 = math.rsqrt %x : f16
  func.return %0 : f16
}

// CHECK: func.func @half([[V0:%[A-Za-z0-9_]+]]: f16) -> f16 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = arith.extf [[V0]] : f16 to f32
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = math.sqrt [[V1]] : f32
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = arith.divf [[V3]], [[V2]] : f32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = arith.truncf [[V4]] : f32 to f16
// CHECK-NEXT: func.return [[V5]] : f16

func.func @kept(%x : f32, %t : tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sqrt %x : f32
  %1 = math.exp %t : tensor<4xf32>
  "test.op"(%0) : (f32) -> ()
  func.return %1 : tensor<4xf32>
}

// CHECK: func.func @kept([[V0:%[A-Za-z0-9_]+]]: f32, [[V1:%[A-Za-z0-9_]+]]: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = math.sqrt [[V0]] : f32
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = math.exp [[V1]] : tensor<4xf32>
// CHECK-NEXT: "test.op"([[V2]]) : (f32) -> ()
// CHECK-NEXT: func.return [[V3]] : tensor<4xf32>
