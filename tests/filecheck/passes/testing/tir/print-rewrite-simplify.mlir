// RUN: xdsl-tvm opt %s -p tir-test-print-rewrite-simplify | filecheck %s

// CHECK-LABEL: tir.func @rules
tir.func @rules(%x: i32, %y: i32) {
  %c2 = tir.const 2 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c20 = tir.const 20 : i32
  %c39 = tir.const 39 : i32
  %sum = tir.add %x, %y : i32
  %difference = tir.sub %sum, %y : i32
  // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "%x"}
  tir.evaluate %difference : i32
  %scaled = tir.mul %x, %c8 : i32
  %moved = tir.add %scaled, %c39 : i32
  %quotient = tir.floordiv %moved, %c16 : i32
  // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "((%x // 2) + 2)"}
  tir.evaluate %quotient : i32
  %below = tir.cmp lt %x, %c20 : i32
  %rest = tir.floormod %x, %c5 : i32
  %small = tir.cmp lt %rest, %c2 : i32
  %both = tir.and %below, %small : i1
  // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "((%x lt 17) and ((%x % 5) lt 2))"}
  tir.evaluate %both : i1
}

// CHECK-LABEL: tir.func @facts
tir.func @facts(%n: i32) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %inside = tir.cmp lt %i, %n : i32
    tir.if %inside {
      %outside = tir.cmp le %n, %i : i32
      // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "0"}
      tir.evaluate %outside : i1
    } else {
      // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "0"}
      tir.evaluate %inside : i1
    }
    // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "(%i lt %n)"}
    tir.evaluate %inside : i1
    %clipped = tir.min %i, %c8 : i32
    // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "%i"}
    tir.evaluate %clipped : i32
  }
}

// CHECK-LABEL: tir.func @vectors
tir.func @vectors(%x: i32) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %base = tir.mul %x, %c8 : i32
  %lanes = tir.ramp %base, %c1 : vector<4xi32>
  %four = tir.broadcast %c4 : vector<4xi32>
  %rest = tir.floormod %lanes, %four : vector<4xi32>
  // CHECK: tir.evaluate %{{.*}} {rewrite_simplify = "ramp(0, 1)"}
  tir.evaluate %rest : vector<4xi32>
}
