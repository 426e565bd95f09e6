// RUN: xdsl-tvm opt %s -p tir-test-print-iter-map | filecheck %s

// CHECK-LABEL: tir.func @maps
tir.func @maps(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c10 = tir.const 10 : i32
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  tir.for %i = %c0 to %c10 {
    tir.for %j = %c0 to %c8 {
      %scaled = tir.mul %i, %c8 : i32
      %fused = tir.add %scaled, %j : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "0 + 1 * [0, 80)"}
      tir.evaluate %fused : i32
      %high = tir.floordiv %fused, %c4 : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "0 + 1 * [0, 20)"}
      tir.evaluate %high : i32
      %moved = tir.add %scaled, %c3 : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "3 + 8 * [0, 10)"}
      tir.evaluate %moved : i32
      %part = tir.floordiv %i, %c4 : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "0 + 1 * [0, 3), padding where ((10 le %i) and (%i lt 12))"}
      tir.evaluate %part : i32
      %square = tir.mul %i, %i : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "(%i * %i) is no sum, multiple or quotient of iterators"}
      tir.evaluate %square : i32
      %x = tir.load %A[%j] : i32
      %gathered = tir.add %x, %i : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "%x is computed anew in each iteration"}
      tir.evaluate %gathered : i32
      %less = tir.cmp lt %i, %j : i32
      // CHECK: tir.evaluate %{{.*}} {iter_map = "none"}
      tir.evaluate %less : i1
    }
  }
}
