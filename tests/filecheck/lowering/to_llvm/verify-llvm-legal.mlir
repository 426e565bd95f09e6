// RUN: xdsl-opt %s -p tvm-verify-llvm-legal --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tvm-verify-llvm-legal{triple-kind="nvptx" arch="sm_90"}' --split-input-file | filecheck %s

// What both kinds of target have.

// CHECK-LABEL: llvm.func @common
llvm.func @common(%x: f32, %p: !llvm.ptr, %i: i32) -> f32 {
  // CHECK: llvm.intr.fabs
  %0 = llvm.intr.fabs(%x) : (f32) -> f32
  %1 = llvm.intr.sqrt(%0) : (f32) -> f32
  %2 = llvm.intr.floor(%1) : (f32) -> f32
  %3 = llvm.intr.fma(%1, %x, %0) : (f32, f32, f32) -> f32
  %4 = tvm_llvm.call_intrinsic "llvm.smax"(%i, %i) : (i32, i32) -> i32
  %5 = tvm_llvm.atomicrmw add %p, %4 syncscope("device") seq_cst : !llvm.ptr, i32
  %6 = llvm.fpext %x : f32 to f64
  %7 = llvm.fptrunc %x : f32 to f16
  tvm_llvm.call_intrinsic "llvm.trap"() : () -> ()
  llvm.return %3 : f32
}

// -----

// The rules of the CPU do not look into a gpu.module, those of GPUs at nothing else.

// CHECK-LABEL: "gpu.module"
"gpu.module"() <{sym_name = "m"}> ({
  llvm.func @kernel(%x: f32) attributes {nvvm.kernel} {
    // CHECK: nvvm.read.ptx.sreg.tid.x : i32
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %1 = llvm.intr.exp2(%x) : (f32) -> f32
    %2 = llvm.intr.sin(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
    %3 = llvm.mlir.constant(4 : i32) : i32
    %4 = llvm.alloca %3 x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr
    llvm.return
  }
}) : () -> ()
llvm.func @host(%x: f32, %y: f32) -> f32 {
  // CHECK: llvm.frem
  %0 = llvm.frem %x, %y : f32
  llvm.return %0 : f32
}
