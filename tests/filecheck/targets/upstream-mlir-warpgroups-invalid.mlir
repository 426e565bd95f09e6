// RUN: not xdsl-opt %s -t upstream-mlir 2>&1 | filecheck %s

// CHECK: upstream-mlir: 'nvvm.cp.async.bulk.tensor.shared.cluster.global' has another form in MLIR, which is not written; print the module with '-t mlir'
llvm.func @f(%c: !llvm.ptr<7>, %m: !llvm.ptr, %p: !llvm.ptr<3>, %i: i32) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %c, %m, %p, box[%i] : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}
