// RUN: xdsl-opt %s -p tir-use-assume-to-reduce-branches --verify-diagnostics --split-input-file | filecheck %s

// CASE: UseAssumeToReduceBranches.8
// CHECK: tir.call in @two_reads: cannot use this assume: two alternatives read memory; assume one of each buffer
tir.func @two_reads(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %y = tir.load %B[%c0] : i32
  %p = tir.cmp eq %x, %c0 : i32
  %o = tir.cmp eq %y, %c0 : i32
  %q = tir.or %p, %o : i1
  %r = tir.call "assume"(%q) : (i1) -> i1
}

// -----

// CHECK: tir.call in @inequality: cannot use this assume: what is read must be equal to a value; use eq
tir.func @inequality(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %q = tir.cmp lt %x, %c0 : i32
  %r = tir.call "assume"(%q) : (i1) -> i1
}

// -----

// CHECK: tir.call in @impure_value: cannot use this assume: the value reads memory too; bind it by a tir.let before
tir.func @impure_value(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %y = tir.load %B[%c0] : i32
  %q = tir.cmp eq %x, %y : i32
  %r = tir.call "assume"(%q) : (i1) -> i1
}

// -----

// CHECK: tir.call in @not_a_load: cannot use this assume: what is compared must be a load itself; solve for it
tir.func @not_a_load(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %y = tir.add %x, %c0 : i32
  %q = tir.cmp eq %y, %c0 : i32
  %r = tir.call "assume"(%q) : (i1) -> i1
}

// -----

// CHECK: tir.call in @effect: cannot use this assume: it updates state; assume nothing about calls
tir.func @effect(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  %f = tir.string "f"
  %y = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  %q = tir.cmp eq %x, %y : i32
  %r = tir.call "assume"(%q) : (i1) -> i1
}
