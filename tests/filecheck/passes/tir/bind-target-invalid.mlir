// RUN: xdsl-opt %s -p 'tir-bind-target{target="cdua"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix KIND
// RUN: xdsl-opt %s -p 'tir-bind-target{target="cuda" host="lvm"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix HOST

tir.func @f() {
}
// KIND: tir-bind-target: unknown target kind 'cdua' (did you mean 'cuda'?); use one of
// HOST: tir-bind-target: unknown target kind 'lvm' (did you mean 'llvm'?); use one of
