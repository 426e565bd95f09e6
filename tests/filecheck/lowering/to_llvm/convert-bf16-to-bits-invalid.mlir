// RUN: xdsl-opt %s -p tvm-convert-bf16-to-bits --split-input-file --verify-diagnostics | filecheck %s

// CHECK: cannot lower 'llvm.fadd': it computes in bf16; run tvm-convert-arith-to-llvm, which computes in f32
llvm.func @f(%x: bf16) {
  %0 = llvm.fadd %x, %x : bf16
  llvm.return
}

// -----

// CHECK: cannot lower 'tvm_llvm.call_intrinsic': 'llvm.fabs' computes in bf16; compute in f32 instead
llvm.func @f(%x: bf16) {
  %0 = tvm_llvm.call_intrinsic "llvm.fabs"(%x) : (bf16) -> bf16
  llvm.return
}
