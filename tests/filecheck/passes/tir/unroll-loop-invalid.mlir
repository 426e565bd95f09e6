// RUN: xdsl-opt %s -p tir-unroll-loop --verify-diagnostics --split-input-file | filecheck %s

// CASE: UnrollLoop.8
// CHECK: tir.for in @symbolic is to be unrolled, but its extent is no constant up to 2147483647; make it constant, or the loop serial
tir.func @symbolic(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n unrolled {
    tir.evaluate %i : i32
  }
}

// -----

// CHECK: tir.attr in @pragma: the value of pragma_auto_unroll_max_step is no constant; give it an integer
tir.func @pragma(%n: i32) {
  tir.attr "pragma_auto_unroll_max_step" (0 : i32) = %n {
    tir.evaluate %n : i32
  }
}

// -----

// CHECK: tir.for in @many: 1000000000 copies of 3 ops are more than the 262144 ops that copies of a body may have in all; make the loop serial, or split it and unroll the inner loop
tir.func @many() {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %n = tir.const 1000000000 : i32
  tir.for %i = %c0 to %n unrolled {
    %j = tir.floormod %i, %c16 : i32
    tir.evaluate %j : i32
    tir.evaluate %j : i32
  }
}

// -----

// CHECK: tir.for in @product: 1000 copies of 1000 ops are more than the 262144 ops
tir.func @product() {
  %c0 = tir.const 0 : i32
  %n = tir.const 1000 : i32
  tir.for "outer" %i = %c0 to %n unrolled {
    tir.for %j = %c0 to %n unrolled {
      tir.evaluate %j : i32
    }
  }
}

// -----

// CHECK: tir.for in @by_size: 1000000 copies of 1 ops are more than
tir.func @by_size() {
  %c0 = tir.const 0 : i32
  %n = tir.const 1000000 : i32
  tir.attr "pragma_auto_unroll_max_step" (0 : i32) = %n {
    tir.for %i = %c0 to %n {
      tir.evaluate %i : i32
    }
  }
}
