// RUN: xdsl-opt %s -p tir-force-narrow-index-to-int32 --split-input-file --verify-diagnostics | filecheck %s

// CASE: ForceNarrowIndexToInt32.8
tir.func @data(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi64>
}
// CHECK: tir.match_buffer in @data has data of type i64, which cannot be told from indices; use a buffer of i32 or of unsigned integers

// -----

// CASE: ForceNarrowIndexToInt32.9
tir.func @allocated() {
  tir.block "root" {
    %A = tir.alloc_buffer "A" : !tir.buffer<16xi64>
    tir.reads
    tir.writes
  }
}
// CHECK: tir.alloc_buffer in @allocated has data of type i64, which cannot be told from indices; use a buffer of i32 or of unsigned integers

// -----

// CASE: ForceNarrowIndexToInt32.10
tir.func @constant(%n: i64) -> i64 {
  %c = tir.const 2147483648 : i64
  %x = tir.add %n, %c : i64
  tir.ret %x : i64
}
// CHECK: tir.const in @constant: the constant 2147483648 does not fit 32 bits; use 64-bit indices

// -----

tir.func @negative(%n: i64) -> i64 {
  %c = tir.const -2147483649 : i64
  %x = tir.add %n, %c : i64
  tir.ret %x : i64
}
// CHECK: tir.const in @negative: the constant -2147483649 does not fit 32 bits; use 64-bit indices

// -----

tir.func @extent(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a {index_type = i64} : !tir.buffer<4294967296xf32>
}
// CHECK: tir.match_buffer in @extent: the extent or stride 4294967296 does not fit 32 bits; use 64-bit indices

// -----

tir.func @index(%p: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %p : !tir.buffer<1xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %c = tir.const 1073741824 : i64
  %x = tir.const 1.0 : f32
  tir.for %i = %c to %c + %c4 {
    %0 = tir.mul %i, %c4 : i64
    tir.store %x, %A[%0] : f32
  }
}
// CHECK: tir.mul in @index is between [4294967296, 4294967308], which 32 bits do not hold; use 64-bit indices
