// RUN: xdsl-opt %s -p tir-lower-init-block --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// The pass itself refuses no verified module: an init that it could not lower is none.

tir.func @two() {
  tir.block "B" {
    tir.init {
    }
    tir.init {
    }
  }
}
// CHECK: tir.block: more than one tir.init

// -----

tir.func @late(%b: !tir.handle) {
  %B = tir.match_buffer %b : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  tir.block "B" {
    tir.store %c0, %B[%c0] : i32
    tir.init {
    }
  }
}
// CHECK: tir.block: tir.init must be before the statements of the body

// -----

tir.func @outside() {
  tir.init {
  }
}
// CHECK: 'tir.init' expects parent op 'tir.block'
