// RUN: xdsl-tvm opt %s -p tir-test-print-solve-inequalities | filecheck %s

// CHECK-LABEL: tir.func @halo
tir.func @halo(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c10 = tir.const 10 : i32
  %c20 = tir.const 20 : i32
  tir.for %i = %c0 to %c20 {
    tir.for %j = %c0 to %c10 {
      %sum = tir.add %i, %j : i32
      %difference = tir.sub %i, %j : i32
      %below = tir.cmp le %sum, %c20 : i32
      %above = tir.cmp ge %difference, %c10 : i32
      %both = tir.and %below, %above : i1
      // CHECK: tir.evaluate %{{.*}} {solve_inequalities = "%i: (%j + 10) + [0, 10); %j: 0 + [0, 6); ((%i + %j) le 20); (%i le 19)"}
      tir.evaluate %both : i1
      %never = tir.cmp gt %j, %i : i32
      %contradiction = tir.and %never, %above : i1
      // CHECK: tir.evaluate %{{.*}} {solve_inequalities = "0"}
      tir.evaluate %contradiction : i1
      // CHECK: tir.evaluate %{{.*}} {solve_inequalities = "none"}
      tir.evaluate %sum : i32
    }
  }
}
