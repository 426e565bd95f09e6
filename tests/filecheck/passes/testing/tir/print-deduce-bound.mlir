// RUN: xdsl-tvm opt %s -p tir-test-print-deduce-bound | filecheck %s

// CHECK-LABEL: tir.func @tiles
tir.func @tiles(%n: i32) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c100 = tir.const 100 : i32
  tir.for %i = %c0 to %c100 {
    tir.for %j = %c0 to %c8 {
      %scaled = tir.mul %i, %c8 : i32
      %index = tir.add %scaled, %j : i32
      %inside = tir.cmp lt %index, %n : i32
      // CHECK: tir.evaluate %{{.*}} {deduce_bound = "%i: (-inf, ((%n // 8) - 1)], %j: (-inf, (%n - 793)]"}
      tir.evaluate %inside : i1
      %same = tir.cmp eq %index, %n : i32
      // CHECK: tir.evaluate %{{.*}} {deduce_bound = "%i: nothing, %j: nothing"}
      tir.evaluate %same : i1
    }
  }
}
