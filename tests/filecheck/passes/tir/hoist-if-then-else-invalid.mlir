// RUN: xdsl-opt %s -p "tir-hoist-if-then-else{variant=fast}" --verify-diagnostics | filecheck %s

// CHECK: tir-hoist-if-then-else: unknown variant "fast"; use "basic", or leave it out
tir.func @f(%n: i32) {
  tir.evaluate %n : i32
}
