// RUN: xdsl-opt %s -p tir-remove-store-undef --verify-diagnostics --split-input-file | filecheck %s

// CASE: RemoveStoreUndef.6
// CHECK: tir.let in @store_index: undef is used other than in a stored value; only stores of it can be removed
tir.func @store_index(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c5 = tir.const 5 : i32
  %u = tir.call "undef"() : () -> i32
  %val = tir.let "val" %u : i32
  tir.store %c5, %A[%val] : i32
}

// -----

// CASE: RemoveStoreUndef.7
// CHECK: tir.load in @load_index: undef is used other than in a stored value; only stores of it can be removed
tir.func @load_index(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %u = tir.call "undef"() : () -> i32
  %x = tir.load %A[%u] : i32
  tir.store %x, %B[%c0] : i32
}

// -----

// CASE: RemoveStoreUndef.8
// CHECK: tir.store in @stored_effect: the value is made of undef and of a call that has an effect; bind the call by a tir.let of its own
tir.func @stored_effect(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %u = tir.call "undef"() : () -> i32
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  %x = tir.add %u, %r : i32
  tir.store %x, %A[%c0] : i32
}

// -----

// CHECK: tir.let in @bound_effect: the value is made of undef and of a call that has an effect; bind the call by a tir.let of its own
tir.func @bound_effect(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %u = tir.call "undef"() : () -> i32
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f, %u) : (!tir.handle, i32) -> i32
  %x = tir.let "x" %r : i32
  tir.store %x, %A[%c0] : i32
}

// -----

// CHECK: tir.if in @condition: undef is used other than in a stored value; only stores of it can be removed
tir.func @condition(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %u = tir.call "undef"() : () -> i1
  tir.if %u {
    tir.store %c0, %A[%c0] : i32
  }
}
