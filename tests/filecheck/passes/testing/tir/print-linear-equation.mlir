// RUN: xdsl-tvm opt %s -p tir-test-print-linear-equation | filecheck %s

// CHECK-LABEL: tir.func @forms
tir.func @forms(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      %scaled = tir.mul %i, %n : i32
      %sum = tir.add %scaled, %j : i32
      %index = tir.add %sum, %c1 : i32
      // CHECK: tir.evaluate %{{.*}} {linear_equation = "%i: %n, %j: 1, base: 1"}
      tir.evaluate %index : i32
      %product = tir.mul %i, %j : i32
      // CHECK: tir.evaluate %{{.*}} {linear_equation = "none"}
      tir.evaluate %product : i32
      %below = tir.cmp lt %i, %n : i32
      %above = tir.cmp gt %i, %c1 : i32
      %both = tir.and %below, %above : i1
      // CHECK: tir.evaluate %{{.*}} {linear_equation = "%i: [2, (%n - 1)]"}
      tir.evaluate %both : i1
      %less = tir.cmp lt %i, %j : i32
      // CHECK: tir.evaluate %{{.*}} {linear_equation = "none"}
      tir.evaluate %less : i1
    }
  }
}
