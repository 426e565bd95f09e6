// RUN: xdsl-opt %s -p 'tir-remove-no-op{max_simplification_steps=1}' --verify-diagnostics | filecheck %s

// CHECK: tir.store in @steps: more than 1 rewrites, last `{{.*}}`; raise max_simplification_steps, 0 is no limit
tir.func @steps(%a: !tir.handle, %n: i32, %m: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %0 = tir.min %i, %c16 : i32
    %1 = tir.max %0, %c0 : i32
    %2 = tir.min %n, %1 : i32
    %3 = tir.max %2, %1 : i32
    %4 = tir.min %m, %3 : i32
    %5 = tir.max %4, %3 : i32
    %x = tir.load %A[%5] : i32
    tir.store %x, %A[%i] : i32
  }
}
