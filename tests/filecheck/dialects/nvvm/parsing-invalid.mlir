// RUN: xdsl-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// CHECK: expected one of row, col, got up
llvm.func @f() attributes {a = #nvvm.mma_layout<up>} {
  llvm.return
}

// -----

// CHECK: expected one of async.shared, got alias
llvm.func @f() attributes {a = #nvvm.proxy_kind<alias>} {
  llvm.return
}
