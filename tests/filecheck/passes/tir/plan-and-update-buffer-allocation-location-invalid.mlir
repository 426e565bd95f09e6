// RUN: xdsl-opt %s -p tir-plan-and-update-buffer-allocation-location --verify-diagnostics --split-input-file | filecheck %s

// CASE: PlanAndUpdateBufferAllocationLocation.13
// CHECK: tir.init in @main hides when its block writes; run tir-lower-init-block first
tir.func @main(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "B" (%vi : R in [%c0 to %c4] = %i) {
      tir.reads
      tir.writes %A[%c0]
      tir.init {
        tir.store %c0, %A[%c0] : i32
      }
      tir.store %vi, %A[%c0] : i32
    }
  }
}
