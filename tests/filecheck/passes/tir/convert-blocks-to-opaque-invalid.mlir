// RUN: xdsl-opt %s -p tir-convert-blocks-to-opaque --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CASE: ConvertBlocksToOpaque.9
tir.func @init(%b: !tir.handle) {
  %c0 = tir.const 0 : i32
  tir.block "B" (%v : S in [%c0 to %c0] = %c0) {
    tir.init {
    }
  }
}
// CHECK: tir.init in @init needs the iteration variables of its block; run tir-lower-init-block first

// -----

// CASE: ConvertBlocksToOpaque.9
tir.func @opaque_init() {
  tir.block "B" {
    tir.init {
    }
  }
}
// CHECK: tir.init in @opaque_init needs the iteration variables of its block

// -----

// CASE: ConvertBlocksToOpaque.6
// A block's variables are not in scope in its predicate and bindings, so no module can
// have there what the pass would have to refuse.
tir.func @predicate(%i: i32) {
  %c0 = tir.const 0 : i32
  tir.block "B" (%v : S in [%c0 to %i] = %i) where %v {
  }
}
// CHECK: %v is not defined above this use

// -----

// CASE: ConvertBlocksToOpaque.7
tir.func @binding(%i: i32) {
  %c0 = tir.const 0 : i32
  tir.block "B" (%v : S in [%c0 to %i] = %i, %w : S in [%c0 to %i] = %v) {
  }
}
// CHECK: %v is not defined above this use

// -----

// A reduction names threads, which no expression can stand for.
tir.func @thread() {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %one = tir.const 1.0 : f32
  %R = tir.alloc_buffer "R" : !tir.buffer<1xf32, "local">
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    %sum = tir.add %t, %t : i32
    tir.block "B" (%v : R in [%c0 to %c8] = %sum) {
      tir.thread_allreduce [%one] into [%R[%c0]] over [%v]
    }
  }
}
// CHECK: tir.thread_allreduce in @thread reduces over a variable of a block that is bound to an expression; bind it to a thread variable
