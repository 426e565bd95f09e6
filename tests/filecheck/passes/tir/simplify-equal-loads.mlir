// RUN: xdsl-opt %s -p tir-simplify --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-simplify{convert_boolean_to_and_of_ors=true} --split-input-file | filecheck %s --check-prefix GROUPS
// RUN: xdsl-opt %s -p tir-simplify{propagate_knowns_to_prove_conditional=true} --split-input-file | filecheck %s --check-prefix KNOWN
// RUN: xdsl-opt %s -p tir-simplify{propagate_knowns_to_simplify_expressions=true} --split-input-file | filecheck %s --check-prefix VALUES

// CASE: Simplify.11
// Clauses that differ in their order are one; one that two become takes the place of the
// later.
tir.func @clauses(%p: !tir.handle, %a: i32, %b: i32, %c: i32, %o: !tir.handle) {
  %P = tir.match_buffer "P" %p : !tir.buffer<4xi1>
  %O = tir.match_buffer "O" %o : !tir.buffer<4xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  %p0 = tir.load %P[%c0] : i1
  %p1 = tir.load %P[%c1] : i1
  %q1 = tir.load %P[%c1] : i1
  %q0 = tir.load %P[%c0] : i1
  %q2 = tir.load %P[%c2] : i1
  %first = tir.or %p0, %p1 : i1
  %both = tir.and %q0, %q2 : i1
  %second = tir.or %q1, %both : i1
  %all = tir.and %first, %second : i1
  tir.store %all, %O[%c0] : i1
  %a1 = tir.cmp eq %a, %c1 : i32
  %b2 = tir.cmp eq %b, %c2 : i32
  %c_3 = tir.cmp eq %c, %c3 : i32
  %not5 = tir.cmp ne %c, %c5 : i32
  %one = tir.or %a1, %b2 : i1
  %rest = tir.and %one, %not5 : i1
  %merged = tir.and %c_3, %rest : i1
  tir.store %merged, %O[%c1] : i1
}
// GROUPS-LABEL: tir.func @clauses
// GROUPS:         %[[P0:.*]] = tir.load %{{.*}}[%{{.*}}] : i1
// GROUPS-NEXT:    %[[P1:.*]] = tir.load %{{.*}}[%{{.*}}] : i1
// GROUPS-NEXT:    %[[P2:.*]] = tir.load %{{.*}}[%{{.*}}] : i1
// GROUPS-NEXT:    %[[FIRST:.*]] = tir.or %[[P0]], %[[P1]] : i1
// GROUPS-NEXT:    %[[OTHER:.*]] = tir.or %[[P1]], %[[P2]] : i1
// GROUPS-NEXT:    %[[ALL:.*]] = tir.and %[[FIRST]], %[[OTHER]] : i1
// GROUPS-NEXT:    tir.store %[[ALL]]
// GROUPS:         %[[A1:.*]] = tir.cmp eq %[[A:.*]], %{{.*}} : i32
// GROUPS-NEXT:    %[[B2:.*]] = tir.cmp eq %[[B:.*]], %{{.*}} : i32
// GROUPS-NEXT:    %[[C3:.*]] = tir.cmp eq %[[C:.*]], %{{.*}} : i32
// GROUPS-NEXT:    %[[ONE:.*]] = tir.or %[[A1]], %[[B2]] : i1
// GROUPS-NEXT:    %[[MERGED:.*]] = tir.and %[[ONE]], %[[C3]] : i1
// GROUPS-NEXT:    tir.store %[[MERGED]]

// -----

// Loads in an expression: equal ones, with a write between, of another element, with a
// write of another buffer that may share the memory.
tir.func @differences(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.load %A[%c0] : i32
  %y = tir.load %A[%c0] : i32
  %d = tir.sub %x, %y : i32
  tir.store %d, %B[%c1] : i32
  // The store may have been to the same memory.
  %z = tir.load %A[%c0] : i32
  %e = tir.sub %x, %z : i32
  tir.store %e, %B[%c1] : i32
  %u = tir.load %A[%n] : i32
  %v = tir.load %A[%c1] : i32
  %f = tir.sub %u, %v : i32
  tir.store %f, %B[%c1] : i32
}
// CHECK-LABEL: tir.func @differences
// CHECK:         tir.store %[[C0:.*]], %{{.*}}[%{{.*}}] : i32
// CHECK:         %[[E:.*]] = tir.sub
// CHECK-NEXT:    tir.store %[[E]]
// CHECK:         %[[F:.*]] = tir.sub
// CHECK-NEXT:    tir.store %[[F]]

// -----

// In a loop: a write at its end is between a load of it and one before it.
tir.func @loops(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %x = tir.load %A[%c0] : i32
  tir.for %i = %c0 to %c8 {
    %y = tir.load %A[%c0] : i32
    %d = tir.sub %x, %y : i32
    tir.store %d, %B[%i] : i32
    tir.store %i, %A[%c0] : i32
  }
  %z = tir.load %A[%c0] : i32
  tir.for %j = %c0 to %c8 {
    %w = tir.load %A[%c0] : i32
    %e = tir.sub %z, %w : i32
    tir.store %e, %B[%j] : i32
  }
}
// CHECK-LABEL: tir.func @loops
// CHECK:         tir.for
// CHECK:           %[[D:.*]] = tir.sub
// CHECK-NEXT:      tir.store %[[D]]
// CHECK:         tir.for %[[J:.*]] = %[[C0:.*]] to
// CHECK-NEXT:      tir.store %[[C0]], %{{.*}}[%[[J]]] : i32

// -----

// CASE: Simplify.15
// What a condition says of a load holds for the next one of the element.
tir.func @conditions(%a: !tir.handle, %b: !tir.handle, %i: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  %x = tir.load %A[%i] : i32
  %p = tir.cmp eq %x, %c3 : i32
  tir.if %p {
    tir.store %c0, %B[%c0] : i32
    %y = tir.load %A[%i] : i32
    %q = tir.cmp lt %y, %c5 : i32
    tir.if %q {
      tir.store %y, %B[%c3] : i32
    }
  } else {
    %y = tir.load %A[%i] : i32
    %q = tir.cmp ne %y, %c3 : i32
    tir.if %q {
      tir.store %y, %B[%c5] : i32
    }
  }
}
// CHECK-LABEL: tir.func @conditions
// CHECK:         tir.cmp lt
// CHECK:         tir.cmp ne
// KNOWN-LABEL: tir.func @conditions
// KNOWN:         tir.if %[[P:.*]] {
// KNOWN-NEXT:      tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// KNOWN-NEXT:      %[[Y:.*]] = tir.load
// KNOWN-NEXT:      tir.store %[[Y]], %{{.*}}[%[[C3:.*]]] : i32
// KNOWN-NEXT:    } else {
// KNOWN-NEXT:      %[[Z:.*]] = tir.load
// KNOWN-NEXT:      tir.store %[[Z]]
// KNOWN-NEXT:    }
// VALUES-LABEL: tir.func @conditions
// VALUES:         tir.if %[[P:.*]] {
// VALUES-NEXT:      tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// VALUES-NEXT:      tir.store %[[C3:.*]], %{{.*}}[%[[C3]]] : i32
// VALUES-NEXT:    } else {

// -----

// Not after a write of the element, of an unknown one, through a parameter that may share
// the memory, nor of another element; and not for floats, of which -0.0 equals 0.0.
tir.func @written(%a: !tir.handle, %b: !tir.handle, %f: !tir.handle, %i: i32, %j: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %F = tir.match_buffer "F" %f : !tir.buffer<8xf32>
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  %zero = tir.const 0.0 : f32
  %x = tir.load %A[%i] : i32
  %p = tir.cmp eq %x, %c3 : i32
  tir.if %p {
    %o = tir.load %A[%j] : i32
    %r = tir.cmp eq %o, %c3 : i32
    tir.if %r {
      tir.store %c5, %B[%c3] : i32
    }
    %y = tir.load %A[%i] : i32
    %q = tir.cmp eq %y, %c3 : i32
    tir.if %q {
      tir.store %c5, %A[%j] : i32
    }
    %z = tir.load %A[%i] : i32
    %s = tir.cmp eq %z, %c3 : i32
    tir.if %s {
      tir.store %z, %A[%c5] : i32
    }
  }
  %w = tir.load %F[%i] : f32
  %t = tir.cmp eq %w, %zero : f32
  tir.if %t {
    %v = tir.load %F[%i] : f32
    tir.store %v, %F[%j] : f32
  }
}
// KNOWN-LABEL: tir.func @written
// KNOWN-COUNT-4: tir.cmp eq
// KNOWN:         tir.cmp eq %{{.*}}, %{{.*}} : f32
// VALUES-LABEL: tir.func @written
// VALUES-COUNT-4: tir.cmp eq
// VALUES:         tir.cmp eq %{{.*}}, %{{.*}} : f32
// VALUES:         tir.if
// VALUES-NEXT:    %[[V:.*]] = tir.load
// VALUES-NEXT:    tir.store %[[V]]
