// RUN: xdsl-tvm opt %s -p tir-test-print-region-estimate | filecheck %s

// CHECK-LABEL: tir.func @regions
tir.func @regions(%n: i32) {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    tir.for %j = %c0 to %c8 {
      %scaled = tir.mul %i, %c8 : i32
      %fused = tir.add %scaled, %j : i32
      %moved = tir.add %fused, %n : i32
      // CHECK: tir.evaluate %{{.*}} {region_estimate = "exactly [%n, (%n + 63)]"}
      tir.evaluate %moved : i32
      // CHECK: tir.evaluate %{{.*}} {region_estimate = "within [0, 56]"}
      tir.evaluate %scaled : i32
      %sum = tir.add %i, %j : i32
      %half = tir.floordiv %sum, %c2 : i32
      // CHECK: tir.evaluate %{{.*}} {region_estimate = "exactly [0, 7]"}
      tir.evaluate %half : i32
      %product = tir.mul %i, %j : i32
      // CHECK: tir.evaluate %{{.*}} {region_estimate = "within [0, 49]"}
      tir.evaluate %product : i32
      %less = tir.cmp lt %i, %j : i32
      // CHECK: tir.evaluate %{{.*}} {region_estimate = "none"}
      tir.evaluate %less : i1
    }
  }
}
