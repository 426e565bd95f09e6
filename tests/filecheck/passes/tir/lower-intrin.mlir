// RUN: xdsl-opt %s -p tir-lower-intrin --split-input-file | filecheck %s

// Forms of floor divisions.
// CASE: LowerIntrin.7
tir.func @forms(%x: i32, %s: i16, %u: ui32, %w: ui32) -> i32 attributes {target = #tir.target<"llvm">} {
  %c7 = tir.const 7 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c0 = tir.const 0 : i32
  %s7 = tir.const 7 : i16
  %a = tir.floordiv %x, %c7 : i32
  %b = tir.floordiv %s, %s7 : i16
  %one = tir.const 1 : ui32
  %v = tir.max %w, %one : ui32
  %c = tir.floordiv %u, %v : ui32
  %d = tir.floordiv %x, %c1 : i32
  %e = tir.floormod %x, %c8 : i32
  %ne = tir.cmp ne %e, %c0 : i32
  %b32 = tir.cast %b : i16 to i32
  %c32 = tir.cast %c : ui32 to i32
  %p = tir.add %a, %b32 : i32
  %q = tir.add %p, %c32 : i32
  %r = tir.add %q, %d : i32
  %t = tir.select %ne, %r, %c7 : i1, i32
  tir.ret %t : i32
}
// CHECK-LABEL: tir.func @forms
// CHECK:         %[[Q:.*]] = tir.div %x, %c7 : i32
// CHECK-NEXT:    %[[R:.*]] = tir.mod %x, %c7 : i32
// CHECK-NEXT:    %[[C31:.*]] = tir.const 31 : i32
// CHECK-NEXT:    %[[S:.*]] = tir.call "shift_right"(%[[R]], %[[C31]]) : (i32, i32) -> i32
// CHECK-NEXT:    %[[A:.*]] = tir.add %[[Q]], %[[S]] : i32
// CHECK:         tir.mod %s, %s7 : i16
// CHECK:         tir.cmp ge
// CHECK:         tir.div %s, %s7 : i16
// CHECK:         %[[B:.*]] = tir.select %{{.*}}, %{{.*}}, %{{.*}} : i1, i16
// CHECK:         %[[C:.*]] = tir.div %u, %v : ui32
// CHECK-NEXT:    %[[E:.*]] = tir.mod %x, %c8 : i32
// CHECK-NEXT:    %ne = tir.cmp ne %[[E]], %c0 : i32
// CHECK:         %r = tir.add %q, %x : i32
// CHECK-NOT:     floor

// -----

// What loops, threads, lets and conditions say of signs.
// CASE: LowerIntrin.7
// CASE: LowerIntrin.19
tir.func @signs(%a: !tir.handle, %m: i32) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<10x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  %c9 = tir.const 9 : i32
  %c49 = tir.const 49 : i32
  %c10 = tir.const 10 : i32
  %low = tir.const -3 : i32
  tir.for %i = %low to %low + %c10 {
    %p = tir.sub %i, %low : i32
    %q = tir.floordiv %i, %c7 : i32
    %r = tir.floormod %i, %c7 : i32
    %s = tir.floordiv %m, %c8 : i32
    %t = tir.add %q, %s : i32
    tir.store %t, %A[%p, %c0] : i32
    tir.store %r, %A[%p, %c1] : i32
  }
  tir.for %j = %c0 to %c10 {
    %d = tir.floordiv %j, %c9 : i32
    %e = tir.mul %d, %c49 : i32
    %f = tir.floormod %j, %c9 : i32
    %g = tir.floordiv %f, %c3 : i32
    %h = tir.add %e, %g : i32
    tir.store %h, %A[%j, %c2] : i32
  }
  tir.launch_thread %x = "threadIdx.x" to %c10 {
    %d = tir.floormod %x, %c3 : i32
    tir.store %d, %A[%x, %c3] : i32
  }
}
// CHECK-LABEL: tir.func @signs
// CHECK:         tir.for %i
// CHECK:           %[[SUM:.*]] = tir.add %i, %c7 : i32
// CHECK-NEXT:      %[[DIV:.*]] = tir.div %[[SUM]], %c7 : i32
// CHECK-NEXT:      tir.sub %[[DIV]], %c1 : i32
// CHECK-NEXT:      tir.mod %[[SUM]], %c7 : i32
// CHECK:           tir.call "shift_right"(%m, %{{.*}}) : (i32, i32) -> i32
// CHECK:         tir.for %j
// CHECK-NEXT:      %d = tir.div %j, %c9 : i32
// CHECK-NEXT:      tir.mul
// CHECK-NEXT:      %[[F:.*]] = tir.mod %j, %c9 : i32
// CHECK-NEXT:      tir.div %[[F]], %c3 : i32
// CHECK:         tir.launch_thread %x
// CHECK-NEXT:      tir.mod %x, %c3 : i32
// CHECK-NEXT:      tir.store

// -----

// Conditions of selects hold for what nothing else uses.
// CASE: LowerIntrin.2
// CASE: LowerIntrin.3
// CASE: LowerIntrin.4
// CASE: LowerIntrin.5
tir.func @selects(%x: i32, %z: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %is = tir.cmp eq %z, %c0 : i32
  %y = tir.select %is, %c1, %z : i1, i32
  %py = tir.cmp ge %y, %c0 : i32
  %px = tir.cmp ge %x, %c0 : i32
  %both = tir.and %py, %px : i1
  %a = tir.floordiv %x, %y : i32
  %b = tir.select %py, %a, %c0 : i1, i32
  %c = tir.floormod %x, %y : i32
  %d = tir.select %both, %c, %c0 : i1, i32
  %e = tir.floordiv %x, %y : i32
  %f = tir.max %e, %c0 : i32
  %g = tir.select %py, %f, %c0 : i1, i32
  %h = tir.add %b, %d : i32
  %i = tir.add %h, %g : i32
  tir.ret %i : i32
}
// CHECK-LABEL: tir.func @selects
// CHECK:         %[[Q:.*]] = tir.div %x, %y : i32
// CHECK-NEXT:    %[[R:.*]] = tir.mod %x, %y : i32
// CHECK:         tir.call "shift_right"
// CHECK-NEXT:    %[[A:.*]] = tir.add %[[Q]]
// CHECK-NEXT:    tir.select %py, %[[A]], %c0
// CHECK-NEXT:    tir.select %both, %[[R]], %c0
// CHECK-NEXT:    %[[F:.*]] = tir.max %[[Q]], %c0 : i32
// CHECK-NEXT:    tir.select %py, %[[F]], %c0

// -----

// What another division divides by counts in both cases.
tir.func @divisors(%x: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %px = tir.cmp ge %x, %c0 : i32
  %a = tir.floordiv %x, %c3 : i32
  %b = tir.add %a, %c1 : i32
  %l = tir.const -3 : i32
  %n = tir.min %x, %l : i32
  %m = tir.select %px, %c3, %n : i1, i32
  %d = tir.div %m, %c1 : i32
  %e = tir.select %px, %b, %d : i1, i32
  tir.ret %e : i32
}
// CHECK-LABEL: tir.func @divisors
// CHECK:         %[[Q:.*]] = tir.div %x, %c3 : i32
// CHECK-NEXT:    tir.add %[[Q]], %c1 : i32

// -----

// CASE: LowerIntrin.8
tir.func @fused(%a: f32, %b: f32, %c: f32, %d: f32, %k: i32) -> f32 attributes {target = #tir.target<"llvm">} {
  %p = tir.mul %a, %b : f32
  %s = tir.add %p, %c : f32
  %q = tir.mul %c, %d : f32
  %t = tir.add %p, %q : f32
  %u = tir.sub %s, %t : f32
  %i = tir.mul %k, %k : i32
  %j = tir.add %i, %k : i32
  %f = tir.cast %j : i32 to f32
  %r = tir.sub %u, %f : f32
  tir.ret %r : f32
}
// CHECK-LABEL: tir.func @fused
// CHECK:         %p = tir.mul %a, %b : f32
// CHECK-NEXT:    %[[N:.*]] = tir.string "llvm.fmuladd"
// CHECK-NEXT:    %[[C:.*]] = tir.const 3 : ui32
// CHECK-NEXT:    tir.call "call_llvm_pure_intrin"(%[[N]], %[[C]], %a, %b, %c)
// CHECK:         tir.call "call_llvm_pure_intrin"(%{{.*}}, %{{.*}}, %c, %d, %p)
// CHECK:         tir.mul %k, %k : i32
// CHECK-NEXT:    tir.add %{{.*}}, %k : i32

// -----

// CASE: LowerIntrin.8
// CASE: LowerIntrin.17
tir.func @cuda(%a: f32, %b: f32, %c: f32) -> f32 attributes {target = #tir.target<"cuda">} {
  %p = tir.mul %a, %b : f32
  %s = tir.add %p, %c : f32
  %t = tir.call "tanh"(%s) : (f32) -> f32
  %u = tir.call "sigmoid"(%s) : (f32) -> f32
  %v = tir.add %t, %u : f32
  tir.ret %v : f32
}
// CHECK-LABEL: tir.func @cuda
// CHECK:         tir.mul %a, %b : f32
// CHECK-NEXT:    %s = tir.add
// CHECK:         tir.string "tanhf"
// CHECK-NEXT:    tir.call "call_pure_extern"(%{{.*}}, %s) : (!tir.handle, f32) -> f32
// CHECK:         %[[ZERO:.*]] = tir.const 0.000000e+00 : f32
// CHECK-NEXT:    %[[NEG:.*]] = tir.sub %[[ZERO]], %s : f32
// CHECK-NEXT:    %[[E:.*]] = tir.string "__expf"
// CHECK-NEXT:    tir.call "call_pure_extern"(%[[E]], %[[NEG]]) : (!tir.handle, f32) -> f32

// -----

// CASE: LowerIntrin.17
tir.func @shuffle(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<32xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %x = "threadIdx.x" to %c32 {
    %v = tir.load %A[%x] : f32
    %m = tir.call "tvm_warp_activemask"() : () -> ui32
    %w = tir.call "tvm_warp_shuffle"(%m, %v, %c0, %c32, %c32) : (ui32, f32, i32, i32, i32) -> f32
    tir.store %w, %A[%x] : f32
  }
}
// CHECK-LABEL: tir.func @shuffle
// CHECK:         %[[M:.*]] = tir.call "cuda.__activemask"() : () -> ui32
// CHECK-NEXT:    tir.call "cuda.__shfl_sync"(%[[M]], %v, %c0, %c32)

// -----

// CASE: LowerIntrin.17
tir.func @c(%a: f32, %k: i32) -> f32 attributes {target = #tir.target<"c">} {
  %x = tir.call "exp"(%a) : (f32) -> f32
  %y = tir.call "sqrt"(%x) : (f32) -> f32
  %z = tir.call "pow"(%x, %y) : (f32, f32) -> f32
  %m = tir.max %z, %a : f32
  %p = tir.call "popcount"(%k) : (i32) -> i32
  %q = tir.call "shift_left"(%p, %p) : (i32, i32) -> i32
  %f = tir.cast %q : i32 to f32
  %r = tir.add %m, %f : f32
  tir.ret %r : f32
}
// CHECK-LABEL: tir.func @c(
// CHECK:         tir.string "expf"
// CHECK:         tir.string "sqrtf"
// CHECK:         tir.string "powf"
// CHECK-NEXT:    tir.call "call_pure_extern"(%{{.*}}, %{{.*}}, %{{.*}}) : (!tir.handle, f32, f32) -> f32
// CHECK-NEXT:    tir.max
// CHECK-NEXT:    tir.call "popcount"
// CHECK-NEXT:    tir.call "shift_left"

// -----

// CASE: LowerIntrin.9
tir.func @stored(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %D = tir.match_buffer "D" %d : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %x = tir.load %A[%i] : f32
    %y = tir.load %B[%i] : f32
    %p = tir.mul %x, %y : f32
    %z = tir.load %C[%i] : f32
    %s = tir.add %p, %z : f32
    tir.store %s, %D[%i] : f32
  }
}
// CHECK-LABEL: tir.func @stored
// CHECK:         %[[V:.*]] = tir.call "call_llvm_pure_intrin"(%{{.*}}, %{{.*}}, %x, %y, %z)
// CHECK-NEXT:    tir.store %[[V]]

// -----

// CASE: LowerIntrin.11
// CASE: LowerIntrin.12
tir.func @kept(%h: f16, %a: f32) -> f32 attributes {target = #tir.target<"llvm">} {
  %x = tir.call "erf"(%h) : (f16) -> f16
  %y = tir.call "log1p"(%x) : (f16) -> f16
  %z = tir.cast %y : f16 to f32
  %r = tir.call "rsqrt"(%a) : (f32) -> f32
  %s = tir.sub %z, %r : f32
  tir.ret %s : f32
}
// CHECK-LABEL: tir.func @kept
// CHECK-NEXT:    tir.call "erf"(%h) : (f16) -> f16
// CHECK-NEXT:    tir.call "log1p"(%x) : (f16) -> f16
// CHECK:         %[[ONE:.*]] = tir.const 1.000000e+00 : f32
// CHECK:         tir.string "llvm.sqrt"
// CHECK:         tir.div %[[ONE]], %{{.*}} : f32

// -----

// CASE: LowerIntrin.14
tir.func @decided(%a: !tir.handle) -> i32 attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %yes = tir.const true
  %no = tir.const false
  tir.if %yes {
    tir.store %c1, %A[%c0] : i32
  } else {
    tir.store %c0, %A[%c0] : i32
  }
  tir.if %no {
    tir.store %c1, %A[%c1] : i32
  }
  %x = tir.if_then_else %no -> i32 {
    tir.yield %c0 : i32
  } else {
    %l = tir.load %A[%c1] : i32
    tir.yield %l : i32
  }
  %y = tir.select %yes, %x, %c1 : i1, i32
  tir.ret %y : i32
}
// CHECK-LABEL: tir.func @decided
// CHECK-NOT:     true
// CHECK-NOT:     tir.if
// CHECK:         tir.store %c1, %A[%c0] : i32
// CHECK-NEXT:    %[[L:.*]] = tir.load %A[%c1] : i32
// CHECK-NEXT:    tir.ret %[[L]] : i32

// -----

// CASE: LowerIntrin.16
tir.func @broadcast(%v: i8, %y: vector<4xi16>, %z: vector<4xi16>) -> vector<4xi16> attributes {target = #tir.target<"llvm">} {
  %w = tir.cast %v : i8 to i16
  %b = tir.broadcast %w : vector<4xi16>
  %p = tir.mul %b, %y : vector<4xi16>
  %s = tir.add %z, %p : vector<4xi16>
  tir.ret %s : vector<4xi16>
}
// CHECK-LABEL: tir.func @broadcast
// CHECK-NEXT:    %[[B:.*]] = tir.broadcast %v : vector<4xi8>
// CHECK-NEXT:    %[[C:.*]] = tir.cast %[[B]] : vector<4xi8> to vector<4xi16>
// CHECK-NEXT:    %[[P:.*]] = tir.mul %[[C]], %y : vector<4xi16>
// CHECK-NEXT:    tir.add %[[P]], %z : vector<4xi16>

// -----

// CASE: LowerIntrin.18. The sum in 32 bits would overflow for a large x, so that it is
// written where x is known to be small; else the last bit that is shifted out is added.
tir.func @fixed_point(%a: !tir.handle, %x: i32) -> i32 attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %y = tir.const 1073741824 : i32
  %q = tir.const 31 : i32
  %s = tir.const -2 : i32
  tir.for %i = %c0 to %c8 {
    %p = tir.call "q_multiply_shift"(%i, %y, %q, %s) : (i32, i32, i32, i32) -> i32
    tir.store %p, %A[%i] : i32
  }
  %r = tir.call "q_multiply_shift"(%x, %y, %q, %s) : (i32, i32, i32, i32) -> i32
  tir.ret %r : i32
}
// CHECK-LABEL: tir.func @fixed_point
// CHECK:         tir.for
// CHECK-NEXT:      %[[FOUR:.*]] = tir.const 4 : i32
// CHECK-NEXT:      %[[SUM:.*]] = tir.add %i, %[[FOUR]] : i32
// CHECK-NEXT:      %[[THREE:.*]] = tir.const 3 : i32
// CHECK-NEXT:      tir.call "shift_right"(%[[SUM]], %[[THREE]]) : (i32, i32) -> i32
// CHECK:         tir.call "shift_right"(%x, %{{.*}}) : (i32, i32) -> i32
// CHECK:         tir.call "bitwise_and"
// CHECK:         tir.add

// -----

// Vectors: powers of two in all lanes, and other divisors.
tir.func @vectors(%v: vector<4xi32>) -> vector<4xi32> attributes {target = #tir.target<"llvm">} {
  %c8 = tir.const 8 : i32
  %c7 = tir.const 7 : i32
  %b = tir.broadcast %c8 : vector<4xi32>
  %c = tir.broadcast %c7 : vector<4xi32>
  %x = tir.floordiv %v, %b : vector<4xi32>
  %y = tir.floormod %v, %c : vector<4xi32>
  %z = tir.add %x, %y : vector<4xi32>
  tir.ret %z : vector<4xi32>
}
// CHECK-LABEL: tir.func @vectors
// CHECK:         tir.call "shift_right"
// CHECK:         tir.mod
// CHECK:         tir.select %{{.*}} : vector<4xi1>, vector<4xi32>

// -----

// Ops of other dialects, shared values and constants without a function around them.
tir.func @foreign(%x: i32) attributes {target = #tir.target<"llvm">} {
  %c4 = tir.const 4 : i32
  "test.op"() ({
    %q = tir.floordiv %x, %c4 : i32
    "test.termop"(%q, %q) : (i32, i32) -> ()
  }) : () -> ()
  "test.op"(%c4) : (i32) -> ()
}
// CHECK-LABEL: tir.func @foreign
// CHECK:         "test.op"() ({
// CHECK:           %[[Q:.*]] = tir.call "shift_right"(%x, %{{.*}}) : (i32, i32) -> i32
// CHECK-NEXT:      "test.termop"(%[[Q]], %[[Q]])
