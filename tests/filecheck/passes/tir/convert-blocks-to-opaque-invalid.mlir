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
