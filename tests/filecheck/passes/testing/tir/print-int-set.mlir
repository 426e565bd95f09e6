// RUN: xdsl-tvm opt %s -p tir-test-print-int-set | filecheck %s

// Variables that depend on each other are relaxed from the inside out.

// CHECK-LABEL: tir.func @triangle
tir.func @triangle(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c10 = tir.const 10 : i32
  tir.for %i = %c0 to %n {
    %end = tir.add %i, %c1 : i32
    tir.for %j = %c0 to %end {
      // CHECK: tir.evaluate %{{.*}} {int_set = "[0, (%n - 1)]"}
      tir.evaluate %j : i32
      %distance = tir.sub %i, %j : i32
      // CHECK: tir.evaluate %{{.*}} {int_set = "[(1 - %n), (%n - 1)]"}
      tir.evaluate %distance : i32
      %digit = tir.floormod %j, %c10 : i32
      // CHECK: tir.evaluate %{{.*}} {int_set = "[0, 9]"}
      tir.evaluate %digit : i32
    }
  }
}

// A value that a loop loads may be another one in each iteration.

// CHECK-LABEL: tir.func @loads
tir.func @loads(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %before = tir.load %A[%c0] : i32
  tir.for %i = %c0 to %c8 {
    %one = tir.add %before, %i : i32
    // CHECK: tir.evaluate %{{.*}} {int_set = "[%before, (%before + 7)]"}
    tir.evaluate %one : i32
    %x = tir.load %A[%c0] : i32
    %two = tir.add %x, %i : i32
    // CHECK: tir.evaluate %{{.*}} {int_set = "(-inf, +inf)"}
    tir.evaluate %two : i32
    %wrong = tir.cmp lt %i, %c8 : i32
    // CHECK: tir.evaluate %{{.*}} {int_set = "[0, 1]"}
    tir.evaluate %wrong : i1
  }
}
