// RUN: xdsl-tvm opt %s -p tir-test-print-canonical-simplify | filecheck %s

// CHECK-LABEL: tir.func @split
tir.func @split(%x: i32) {
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %c6 = tir.const 6 : i32
  %high = tir.floordiv %x, %c6 : i32
  %high_part = tir.mul %high, %c6 : i32
  %third = tir.floordiv %x, %c3 : i32
  %middle = tir.floormod %third, %c2 : i32
  %middle_part = tir.mul %middle, %c3 : i32
  %low = tir.floormod %x, %c3 : i32
  %two = tir.add %high_part, %middle_part : i32
  %all = tir.add %two, %low : i32
  // CHECK: tir.evaluate %{{.*}} {canonical_simplify = "%x"}
  tir.evaluate %all : i32
}

// CHECK-LABEL: tir.func @loops
tir.func @loops() {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c8 {
      %scaled = tir.mul %i, %c8 : i32
      %fused = tir.add %scaled, %j : i32
      %outer = tir.floordiv %fused, %c8 : i32
      // CHECK: tir.evaluate %{{.*}} {canonical_simplify = "%i"}
      tir.evaluate %outer : i32
      %inner = tir.floormod %fused, %c8 : i32
      // CHECK: tir.evaluate %{{.*}} {canonical_simplify = "%j"}
      tir.evaluate %inner : i32
      %below = tir.cmp lt %fused, %c16 : i32
      // CHECK: tir.evaluate %{{.*}} {canonical_simplify = "(%i lt 2)"}
      tir.evaluate %below : i1
    }
  }
}
