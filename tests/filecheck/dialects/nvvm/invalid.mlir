// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: a shuffle moves i32 or f32, not i64
llvm.func @f(%m: i32, %v: i64) {
  %0 = nvvm.shfl.sync bfly %m, %v, %m, %m : i64 -> i64
  llvm.return
}

// -----

// CHECK: kind must be one of bfly, up, down, idx, got "left"
llvm.func @f(%m: i32) {
  %0 = nvvm.shfl.sync left %m, %m, %m, %m : i32 -> i32
  llvm.return
}

// -----

// CHECK: expected the result !llvm.struct<(i32, i1)>, got i32
llvm.func @f(%m: i32) {
  %0 = nvvm.shfl.sync up %m, %m, %m, %m {return_value_and_is_valid} : i32 -> i32
  llvm.return
}

// -----

// CHECK: expected the result i32, got i1
llvm.func @f(%m: i32, %p: i1) {
  %0 = nvvm.vote.sync ballot %m, %p -> i1
  llvm.return
}

// -----

// CHECK: kind must be one of add, max, min, umax, umin, and, or, xor, got "mul"
llvm.func @f(%m: i32) {
  %0 = nvvm.redux.sync mul %m, %m : i32 -> i32
  llvm.return
}

// -----

// CHECK: a copy has 4, 8 or 16 bytes, not 12
llvm.func @f(%d: !llvm.ptr<3>, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 12, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: a 'cg' copy has 16 bytes, not 4
llvm.func @f(%d: !llvm.ptr<3>, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 4, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: expected !llvm.ptr<3>, got !llvm.ptr
llvm.func @f(%d: !llvm.ptr, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 4, cache = ca : !llvm.ptr, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: cannot wait for -1 groups
llvm.func @f() {
  nvvm.cp.async.wait.group -1
  llvm.return
}
