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
