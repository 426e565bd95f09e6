// RUN: xdsl-tvm opt %s -p tir-test-print-modular-set | filecheck %s

// CHECK-LABEL: tir.func @sets
tir.func @sets(%x: i32, %y: i32) {
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c6 = tir.const 6 : i32
  // CHECK: tir.evaluate %{{.*}} {modular_set = "1*k + 0"}
  tir.evaluate %x : i32
  // CHECK: tir.evaluate %{{.*}} {modular_set = "3"}
  tir.evaluate %c3 : i32
  %x6 = tir.mul %x, %c6 : i32
  %y4 = tir.mul %y, %c4 : i32
  %sum = tir.add %x6, %y4 : i32
  // CHECK: tir.evaluate %{{.*}} {modular_set = "2*k + 0"}
  tir.evaluate %sum : i32
  %next = tir.add %y4, %c3 : i32
  // CHECK: tir.evaluate %{{.*}} {modular_set = "4*k + 3"}
  tir.evaluate %next : i32
  %half = tir.floordiv %next, %c2 : i32
  // CHECK: tir.evaluate %{{.*}} {modular_set = "2*k + 1"}
  tir.evaluate %half : i32
}

// CHECK-LABEL: tir.func @condition
tir.func @condition(%x: i32) {
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %rest = tir.floormod %x, %c4 : i32
  %is_two = tir.cmp eq %rest, %c2 : i32
  %next = tir.add %x, %c1 : i32
  tir.if %is_two {
    // CHECK: tir.evaluate %{{.*}} {modular_set = "4*k + 3"}
    tir.evaluate %next : i32
  }
  // CHECK: tir.evaluate %{{.*}} {modular_set = "1*k + 0"}
  tir.evaluate %next : i32
}
