// RUN: xdsl-opt %s -p 'tir-verify-vtcm-limit{limit="hexagon -vtcm-capacity=1024"}' | filecheck %s
// RUN: xdsl-opt %s -p tir-verify-vtcm-limit | filecheck %s

// CASE: VerifyVTCMLimit.1
// Memory counts while its block runs, and only that of the scope itself.
tir.func @scale(%n: i32) attributes {global_symbol = "scale"} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %p = tir.allocate [256] : !tir.ptr<vector<4xi8>, "global.vtcm">
  }
  tir.for %i = %c0 to %c8 {
    %p = tir.allocate [1024] : !tir.ptr<i8, "global.vtcm">
    %q = tir.allocate [%n] : !tir.ptr<i8, "global.vtcm">
    %r = tir.allocate [4096] : !tir.ptr<i8, "global.vtcm.other">
  }
}
// CHECK: tir.func @scale
