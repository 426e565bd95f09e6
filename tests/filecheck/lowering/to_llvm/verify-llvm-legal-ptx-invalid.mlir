// RUN: xdsl-opt %s -p 'tvm-verify-llvm-legal{triple-kind="nvptx" arch="sm_90" ptx="7.8"}' --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'nvvm.cp.async.bulk.shared.cluster.global' (llvm.nvvm.cp.async.bulk.global.to.shared.cluster) needs PTX 8.0 or later, not 7.8
llvm.func @f(%c: !llvm.ptr<7>, %g: !llvm.ptr<1>, %p: !llvm.ptr<3>, %i: i32) {
  nvvm.cp.async.bulk.shared.cluster.global %c, %g, %p, %i : !llvm.ptr<7>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.call_intrinsic' (llvm.nvvm.prefetch.global.L2) needs PTX 8.0 or later, not 7.8
llvm.func @f(%g: !llvm.ptr<1>) {
  tvm_llvm.call_intrinsic "llvm.nvvm.prefetch.global.L2"(%g) : (!llvm.ptr<1>) -> ()
  llvm.return
}

// -----

// CHECK: 'nvvm.mma.sp.sync' needs a constant selector
llvm.func @f(%h: vector<2xf16>, %i: i32) {
  %0 = nvvm.mma.sp.sync A[%h, %h] B[%h, %h] C[%h, %h] sparseMetadata[%i] selector[%i] {shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return
}
