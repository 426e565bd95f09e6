// RUN: xdsl-opt %s -p tir-rewrite-unsafe-select --split-input-file | filecheck %s

// CASE: RewriteUnsafeSelect.1, RewriteUnsafeSelect.2, RewriteUnsafeSelect.3
tir.func @nested(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "nested", tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<10xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<10xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c10 = tir.const 10 : i32
  %one = tir.const 1.0 : f32
  %zero = tir.const 0.0 : f32
  %tenth = tir.const 0.1 : f32
  tir.for %i = %c0 to %c10 {
    %p = tir.cmp gt %i, %c1 : i32
    %im1 = tir.sub %i, %c1 : i32
    %x = tir.load %A[%im1] : f32
    %y = tir.select %p, %x, %one : i1, f32
    %im1_again = tir.sub %i, %c1 : i32
    %x_again = tir.load %A[%im1_again] : f32
    %inner = tir.select %p, %x_again, %one : i1, f32
    %q = tir.cmp gt %inner, %zero : f32
    %here = tir.load %A[%i] : f32
    %z = tir.select %q, %here, %tenth : i1, f32
    %quarter = tir.floordiv %i, %c4 : i32
    %r = tir.cmp gt %quarter, %c10 : i32
    %w = tir.select %r, %y, %z : i1, f32
    tir.store %w, %B[%i] : f32
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK:         tir.for %[[I:.*]] = %
// CHECK-NEXT:      %[[P:.*]] = tir.cmp gt %[[I]]
// CHECK-NEXT:      %[[Y:.*]] = tir.if_then_else %[[P]] -> f32 {
// CHECK-NEXT:        %[[IM1:.*]] = tir.sub %[[I]]
// CHECK-NEXT:        %[[X:.*]] = tir.load %{{.*}}[%[[IM1]]] : f32
// CHECK-NEXT:        tir.yield %[[X]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.yield %{{.*}} : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[INNER:.*]] = tir.if_then_else %[[P]] -> f32 {
// CHECK:           %[[Q:.*]] = tir.cmp gt %[[INNER]]
// CHECK-NEXT:      %[[Z:.*]] = tir.if_then_else %[[Q]] -> f32 {
// CHECK-NEXT:        %[[HERE:.*]] = tir.load %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:        tir.yield %[[HERE]] : f32
// CHECK:           %[[R:.*]] = tir.cmp gt
// CHECK-NEXT:      tir.select %[[R]], %[[Y]], %[[Z]] : i1, f32

// -----

// CASE: RewriteUnsafeSelect.4
tir.func @vector_condition(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "vector_condition"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %lanes = tir.ramp %c0, %c1 : vector<4xi32>
  %ones = tir.broadcast %c1 : vector<4xi32>
  %p = tir.cmp gt %lanes, %ones : vector<4xi32>
  %zero = tir.const 0.0 : f32
  %zeros = tir.broadcast %zero : vector<4xf32>
  %x = tir.load %A[%lanes] : vector<4xf32>
  %y = tir.select %p, %x, %zeros : vector<4xi1>, vector<4xf32>
  tir.store %y, %B[%lanes] : vector<4xf32>
}
// CHECK-LABEL: tir.func @vector_condition
// CHECK:         tir.load
// CHECK-NEXT:    tir.select

// -----

// CASE: RewriteUnsafeSelect.5
tir.func @arithmetic(%b: !tir.handle, %x: f32, %n: i32) attributes {global_symbol = "arithmetic"} {
  %B = tir.match_buffer "B" %b : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %p = tir.cmp gt %n, %c0 : i32
  %e = tir.call "exp"(%x) : (f32) -> f32
  %s = tir.add %e, %x : f32
  %third = tir.floordiv %n, %c3 : i32
  %t = tir.cast %third : i32 to f32
  %hinted = tir.call "likely"(%p) : (i1) -> i1
  %y = tir.select %hinted, %s, %t : i1, f32
  tir.store %y, %B[%c0] : f32
}
// CHECK-LABEL: tir.func @arithmetic
// CHECK-NOT:     tir.if_then_else
// CHECK:         tir.select

// -----

// CASE: RewriteUnsafeSelect.6
// A read of state moves into the branch. A call with an effect is an op of its own, which
// TVM's tree would make depend on the condition: it runs where it is, once.
tir.func @calls(%b: !tir.handle, %h: !tir.handle, %n: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp gt %n, %c0 : i32
  %ndim = tir.call "tvm_struct_get"(%h, %c0, %c1) : (!tir.handle, i32, i32) -> i32
  %y = tir.select %p, %ndim, %c0 : i1, i32
  tir.store %y, %B[%c0] : i32
  %f = tir.string "f"
  %v = tir.call "call_extern"(%f, %n) : (!tir.handle, i32) -> i32
  %z = tir.select %p, %v, %c0 : i1, i32
  tir.store %z, %B[%c1] : i32
}
// CHECK-LABEL: tir.func @calls
// CHECK:         tir.if_then_else %[[P:.*]] -> i32 {
// CHECK-NEXT:      tir.call "tvm_struct_get"
// CHECK:         tir.call "call_extern"
// CHECK-NEXT:    tir.select %[[P]]

// -----

// CASE: RewriteUnsafeSelect.7
tir.func @addresses(%a: !tir.handle, %b: !tir.handle, %i: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %p = tir.cmp gt %i, %c0 : i32
  %here = tir.address_of %A[%i] : !tir.ptr<f32>
  %start = tir.address_of %A[%c0] : !tir.ptr<f32>
  %x = tir.select %p, %here, %start : i1, !tir.ptr<f32>
  tir.evaluate %x : !tir.ptr<f32>
  %j = tir.load %B[%i] : i32
  %there = tir.address_of %A[%j] : !tir.ptr<f32>
  %y = tir.select %p, %there, %start : i1, !tir.ptr<f32>
  tir.evaluate %y : !tir.ptr<f32>
}
// CHECK-LABEL: tir.func @addresses
// CHECK:         tir.select
// CHECK:         tir.if_then_else %{{.*}} -> !tir.ptr<f32> {
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      tir.address_of

// -----

// CASE: RewriteUnsafeSelect.8
tir.func @hidden(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {global_symbol = "hidden", tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %zero = tir.const 0.0 : f32
  %zeros = tir.broadcast %zero : vector<4xf32>
  %p = tir.cmp gt %n, %c0 : i32
  %x = tir.load %A[%n] : i32
  %let = tir.let expr "v" %x : i32
  %small = tir.cmp lt %let, %n : i32
  %bit = tir.cast %small : i1 to f32
  %wide = tir.broadcast %bit : vector<4xf32>
  %mixed = tir.shuffle [%wide, %zeros] [%c1, %c1, %c0, %c0] : vector<4xf32>
  %y = tir.select %p, %mixed, %zeros : i1, vector<4xf32>
  %lanes = tir.ramp %c0, %c1 : vector<4xi32>
  tir.store %y, %B[%lanes] : vector<4xf32>
}
// CHECK-LABEL: tir.func @hidden
// CHECK:         tir.if_then_else %{{.*}} -> vector<4xf32> {
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      tir.let expr
// CHECK-NEXT:      tir.cmp
// CHECK-NEXT:      tir.cast
// CHECK-NEXT:      tir.broadcast
// CHECK-NEXT:      tir.shuffle
// CHECK-NEXT:      tir.yield

// -----

// The reference takes the division for safe, and divides by zero.
tir.func @division(%b: !tir.handle, %n: i32) attributes {global_symbol = "division"} {
  %B = tir.match_buffer "B" %b : !tir.buffer<3xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c100 = tir.const 100 : i32
  tir.for %i = %c0 to %c3 {
    %p = tir.cmp ne %i, %c0 : i32
    %q = tir.floordiv %c100, %n : i32
    %m = tir.floordiv %c100, %c3 : i32
    %x = tir.select %p, %q, %m : i1, i32
    tir.store %x, %B[%i] : i32
  }
}
// CHECK-LABEL: tir.func @division
// CHECK:         tir.if_then_else %{{.*}} -> i32 {
// CHECK-NEXT:      tir.floordiv

// -----

// A write between a load and its select keeps the load in its place; so does another use.
tir.func @writes(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {global_symbol = "writes", tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp gt %n, %c0 : i32
  %before = tir.load %A[%n] : i32
  %other = tir.load %A[%n] : i32
  tir.store %n, %A[%c0] : i32
  %x = tir.select %p, %before, %c0 : i1, i32
  tir.store %x, %B[%c0] : i32
  tir.store %other, %B[%c1] : i32
  // A write to other memory is in nobody's way.
  %after = tir.load %A[%n] : i32
  tir.store %n, %B[%c0] : i32
  %y = tir.select %p, %after, %c0 : i1, i32
  tir.store %y, %B[%n] : i32
  %shared = tir.load %A[%c1] : i32
  %z = tir.select %p, %shared, %shared : i1, i32
  tir.store %z, %B[%shared] : i32
}
// CHECK-LABEL: tir.func @writes
// CHECK:         %[[BEFORE:.*]] = tir.load
// CHECK:         tir.select %[[P:.*]], %[[BEFORE]]
// CHECK:         tir.store %{{.*}}, %[[B:.*]][%{{.*}}] : i32
// CHECK:         tir.if_then_else %[[P]] -> i32 {
// CHECK-NEXT:      tir.load
// CHECK:         %[[SHARED:.*]] = tir.load
// CHECK-NEXT:    tir.select %[[P]], %[[SHARED]], %[[SHARED]]
