// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-gpu-to-nvvm | filecheck %s

"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = (memref<64xf32, 1>, index) -> (), kernel}> ({
  ^bb0(%a : memref<64xf32, 1>, %n : index):
    %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
    %g = "gpu.global_id"() <{dimension = #gpu<dim y>}> : () -> index
    %l = "gpu.lane_id"() : () -> index
    "gpu.barrier"() : () -> ()
    "test.op"(%a, %i, %g, %l, %n) : (memref<64xf32, 1>, index, index, index, index) -> ()
    "gpu.return"() : () -> ()
  }) {sym_name = "k", arg_attrs = [{llvm.noalias}, {}], gpu.known_block_size = array<i32: 64, 1, 1>} : () -> ()
  "gpu.func"() <{function_type = (f32) -> f32}> ({
  ^bb0(%x : f32):
    "gpu.return"(%x) : (f32) -> ()
  }) {sym_name = "helper"} : () -> ()
}) : () -> ()

// CHECK: llvm.func @k([[V0:%[A-Za-z0-9_]+]]: !llvm.ptr<1> {llvm.noalias}, [[V1:%[A-Za-z0-9_]+]]: i64) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 64, 1, 1>} {
// CHECK: [[V2:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V1]] : i64 to index
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : !llvm.ptr<1> to memref<64xf32, 1 : i64>
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = nvvm.read.ptx.sreg.tid.x : i32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.zext [[V4]] : i32 to i64
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V5]] : i64 to index
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = nvvm.read.ptx.sreg.ctaid.y : i32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.zext [[V7]] : i32 to i64
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = nvvm.read.ptx.sreg.ntid.y : i32
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.zext [[V9]] : i32 to i64
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = nvvm.read.ptx.sreg.tid.y : i32
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.zext [[V11]] : i32 to i64
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = llvm.mul [[V8]], [[V10]] : i64
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = llvm.add [[V13]], [[V12]] : i64
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V14]] : i64 to index
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = nvvm.read.ptx.sreg.laneid : i32
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = llvm.zext [[V16]] : i32 to i64
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V17]] : i64 to index
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: "test.op"([[V3]], [[V6]], [[V15]], [[V18]], [[V2]]) : (memref<64xf32, 1 : i64>, index, index, index, index) -> ()
// CHECK-NEXT: llvm.return
// CHECK: llvm.func internal @helper([[V19:%[A-Za-z0-9_]+]]: f32) -> f32 {
// CHECK: llvm.return [[V19]] : f32

func.func @host(%c : index, %a : memref<64xf32, 1>) {
  "gpu.launch_func"(%c, %c, %c, %c, %c, %c, %a, %c) <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<64xf32, 1>, index) -> ()
  func.return
}

// CHECK: func.func @host([[V0:%[A-Za-z0-9_]+]]: index, [[V1:%[A-Za-z0-9_]+]]: memref<64xf32, 1 : i64>) {
// CHECK-NEXT: "gpu.launch_func"([[V0]], [[V0]], [[V0]], [[V0]], [[V0]], [[V0]], [[V1]], [[V0]]) <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<64xf32, 1 : i64>, index) -> ()
// CHECK-NEXT: func.return
