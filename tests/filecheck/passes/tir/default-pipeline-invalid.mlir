// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="cuda" until="SplitHostDevise"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix UNTIL
// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="lvm"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix UNKNOWN
// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="llvm"}' --split-input-file --verify-diagnostics | filecheck %s

// UNTIL: tir-default-pipeline: the list has no pass 'SplitHostDevise' to end before (did you mean 'SplitHostDevice'?); use one of docs/pipelines.md
// UNKNOWN: tir-default-pipeline: unknown target kind 'lvm'

// What a pass of the list refuses.

// CHECK: tir.for in @symbolic is vectorized, but its extent %n is no number of lanes
tir.func @symbolic(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n vectorized {
    tir.evaluate %i : i32
  }
}
