// RUN: xdsl-opt %s -p tir-common-subexpr-elim-tir --split-input-file | filecheck %s --check-prefixes=CHECK,PLAIN
// RUN: xdsl-opt %s -p 'tir-common-subexpr-elim-tir{identify_equiv_terms=true}' --split-input-file | filecheck %s --check-prefixes=CHECK,EQUIV
// RUN: xdsl-opt %s -p 'tir-common-subexpr-elim-tir{enable_cse_tir=false}' --split-input-file | filecheck %s --check-prefix=OFF
// OFF-NOT: tir.let "cse_var_2"

// CASE: CommonSubexprElimTIR.1
tir.func @lets(%b: !tir.handle, %i1: i32, %i2: i32, %z3: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<50xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %z1 = tir.let "z1" %c1 : i32
  %z2 = tir.let "z2" %c2 : i32
  %s0 = tir.add %z1, %z2 : i32
  tir.store %s0, %B[%i1] : i32
  %x = tir.let "x" %c1 : i32
  %y = tir.let "y" %c1 : i32
  %s1 = tir.add %x, %y : i32
  %s2 = tir.add %z1, %z2 : i32
  %s3 = tir.add %s1, %s2 : i32
  %a = tir.let "a" %s3 : i32
  %s4 = tir.add %x, %y : i32
  %s5 = tir.add %s4, %z3 : i32
  %bb = tir.let "b" %s5 : i32
  %t = tir.add %a, %bb : i32
  tir.store %t, %B[%i2] : i32
}
// CHECK-LABEL: tir.func @lets
// CHECK:         %[[Z1:.*]] = tir.let "z1"
// CHECK-NEXT:    %[[Z2:.*]] = tir.let "z2"
// CHECK-NEXT:    %[[SUM1:.*]] = tir.add %[[Z1]], %[[Z2]]
// CHECK-NEXT:    %[[V1:.*]] = tir.let "cse_var_1" %[[SUM1]] : i32
// CHECK-NEXT:    tir.store %[[V1]]
// CHECK-NEXT:    %[[X:.*]] = tir.let "x"
// CHECK-NEXT:    %[[Y:.*]] = tir.let "y"
// CHECK-NEXT:    %[[SUM2:.*]] = tir.add %[[X]], %[[Y]]
// CHECK-NEXT:    %[[V2:.*]] = tir.let "cse_var_2" %[[SUM2]] : i32
// CHECK-NEXT:    %[[SUM:.*]] = tir.add %[[V2]], %[[V1]]
// CHECK-NEXT:    tir.let "a" %[[SUM]] : i32
// CHECK-NEXT:    %[[LAST:.*]] = tir.add %[[V2]]
// CHECK-NEXT:    tir.let "b" %[[LAST]] : i32

// -----

// CASE: CommonSubexprElimTIR.2
tir.func @branches(%b: !tir.handle, %i1: i32, %x: i32, %y: i32, %z: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<50xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp gt %x, %c0 : i32
  tir.if %p {
    %0 = tir.add %y, %z : i32
    tir.store %0, %B[%c0] : i32
    tir.store %0, %B[%c1] : i32
  } else {
    tir.store %y, %B[%c1] : i32
  }
  %q = tir.cmp gt %y, %c0 : i32
  tir.if %q {
    %0 = tir.mul %y, %z : i32
    tir.store %0, %B[%c0] : i32
  } else {
    %0 = tir.mul %y, %z : i32
    tir.store %0, %B[%c1] : i32
  }
}
// CHECK-LABEL: tir.func @branches
// CHECK:         tir.mul
// CHECK-NEXT:    %[[BOTH:.*]] = tir.let "cse_var_1"
// CHECK:         tir.if
// CHECK-NEXT:      tir.add
// CHECK-NEXT:      %[[THEN:.*]] = tir.let "cse_var_2"
// CHECK-NEXT:      tir.store %[[THEN]]
// CHECK-NEXT:      tir.store %[[THEN]]
// CHECK:         tir.if
// CHECK-NEXT:      tir.store %[[BOTH]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.store %[[BOTH]]

// -----

// CASE: CommonSubexprElimTIR.3
tir.func @cascade(%b: !tir.handle, %x: i32, %y: i32, %z: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<50xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %0 = tir.add %x, %y : i32
  %1 = tir.add %0, %z : i32
  tir.store %1, %B[%c0] : i32
  tir.store %1, %B[%c1] : i32
  tir.store %0, %B[%c2] : i32
}
// CHECK-LABEL: tir.func @cascade
// CHECK:         %[[XY:.*]] = tir.add
// CHECK-NEXT:    %[[OUTER:.*]] = tir.let "cse_var_2" %[[XY]] : i32
// CHECK-NEXT:    %[[XYZ:.*]] = tir.add %[[OUTER]]
// CHECK-NEXT:    %[[INNER:.*]] = tir.let "cse_var_1" %[[XYZ]] : i32
// CHECK-NEXT:    tir.store %[[INNER]]
// CHECK-NEXT:    tir.store %[[INNER]]
// CHECK-NEXT:    tir.store %[[OUTER]]

// -----

// CASE: CommonSubexprElimTIR.4, CommonSubexprElimTIR.5
tir.func @equivalent(%b: !tir.handle, %x: i32, %y: i32, %z: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<5xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %0 = tir.add %y, %z : i32
  %1 = tir.mul %x, %0 : i32
  tir.store %1, %B[%c0] : i32
  %2 = tir.mul %x, %y : i32
  %3 = tir.mul %x, %z : i32
  %4 = tir.add %2, %3 : i32
  tir.store %4, %B[%c1] : i32
  %5 = tir.add %x, %y : i32
  %6 = tir.add %5, %z : i32
  tir.store %6, %B[%c2] : i32
  %7 = tir.add %x, %0 : i32
  tir.store %7, %B[%c3] : i32
  %8 = tir.sub %x, %x : i32
  %9 = tir.add %8, %z : i32
  tir.store %9, %B[%c4] : i32
}
// CHECK-LABEL: tir.func @equivalent
// PLAIN:         %[[YZ:.*]] = tir.let "cse_var_1"
// PLAIN-NOT:     tir.let
// EQUIV:         %[[SUM:.*]] = tir.let "cse_var_2"
// EQUIV:         %[[PRODUCT:.*]] = tir.let "cse_var_1"
// EQUIV-NEXT:    tir.store %[[PRODUCT]]
// EQUIV-NEXT:    tir.store %[[PRODUCT]]
// EQUIV-NEXT:    tir.store %[[SUM]]
// EQUIV-NEXT:    tir.store %[[SUM]]
// EQUIV-NEXT:    %[[ZERO:.*]] = tir.sub
// EQUIV-NEXT:    %[[Z:.*]] = tir.add %[[ZERO]]
// EQUIV-NEXT:    tir.store %[[Z]]

// -----

// CASE: CommonSubexprElimTIR.7
tir.func @in_expressions(%b: !tir.handle, %x: i32, %y: i32, %n: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %z = tir.let expr "z" %x : i32
  %0 = tir.add %z, %c1 : i32
  %1 = tir.mul %0, %0 : i32
  tir.store %1, %B[%c0] : i32
  %2 = tir.sub %x, %y : i32
  %3 = tir.mul %2, %c2 : i32
  %p = tir.cmp lt %3, %2 : i32
  tir.if %p {
    tir.store %x, %B[%c1] : i32
  }
  tir.for %i = %c0 to %c8 {
    %4 = tir.add %x, %y : i32
    tir.store %4, %B[%i] : i32
    tir.store %4, %B[%c2] : i32
  }
  tir.for %j = %c0 to %c8 {
    %5 = tir.mul %x, %y : i32
    tir.store %5, %B[%j] : i32
  }
  %6 = tir.add %n, %c1 : i32
  tir.for %k = %c0 to %6 {
    tir.store %6, %B[%k] : i32
  }
}
// CHECK-LABEL: tir.func @in_expressions
// CHECK:         %[[N:.*]] = tir.let "cse_var_1"
// CHECK:         %[[Z:.*]] = tir.let expr "z"
// CHECK-NEXT:    %[[INC:.*]] = tir.add %[[Z]]
// CHECK-NEXT:    %[[V2:.*]] = tir.let expr "cse_var_2" %[[INC]] : i32
// CHECK-NEXT:    tir.mul %[[V2]], %[[V2]]
// CHECK:         %[[V3:.*]] = tir.let expr "cse_var_3"
// CHECK-NEXT:    %[[TWICE:.*]] = tir.mul %[[V3]]
// CHECK-NEXT:    %[[P:.*]] = tir.cmp lt %[[TWICE]], %[[V3]]
// CHECK-NEXT:    tir.if %[[P]] {
// CHECK:         tir.for
// CHECK-NEXT:      tir.add
// CHECK-NEXT:      tir.let "cse_var_4"
// CHECK:         tir.for
// CHECK-NEXT:      %[[ONCE:.*]] = tir.mul
// CHECK-NEXT:      tir.store %[[ONCE]]
// CHECK:         tir.for %{{.*}} = %{{.*}} to %[[N]] {
// CHECK-NEXT:      tir.store %[[N]]

// -----

// What a branch or a lazy choice guards is not divided before it. In a straight line
// it is divided once.
tir.func @guarded(%b: !tir.handle, %x: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<5xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c10 = tir.const 10 : i32
  %p = tir.cmp ne %x, %c0 : i32
  %u = tir.if_then_else %p -> i32 {
    %0 = tir.floordiv %c10, %x : i32
    %1 = tir.mul %0, %c3 : i32
    %2 = tir.add %1, %c1 : i32
    tir.yield %2 : i32
  } else {
    tir.yield %c0 : i32
  }
  %v = tir.if_then_else %p -> i32 {
    %0 = tir.floordiv %c10, %x : i32
    %1 = tir.mul %0, %c3 : i32
    %2 = tir.add %1, %c2 : i32
    tir.yield %2 : i32
  } else {
    tir.yield %c0 : i32
  }
  %w = tir.add %u, %v : i32
  tir.store %w, %B[%c0] : i32
  tir.if %p {
    %0 = tir.floormod %c10, %x : i32
    tir.store %0, %B[%c1] : i32
    tir.store %0, %B[%c2] : i32
  } else {
    tir.store %x, %B[%c1] : i32
  }
}
// CHECK-LABEL: tir.func @guarded
// CHECK:         tir.cmp ne
// CHECK-NEXT:    %[[P:.*]] = tir.let "cse_var_1"
// CHECK-NEXT:    tir.if_then_else %[[P]] -> i32 {
// CHECK-NEXT:      tir.floordiv
// CHECK:         tir.if_then_else %[[P]] -> i32 {
// CHECK-NEXT:      tir.floordiv
// CHECK:         tir.if %[[P]] {
// CHECK-NEXT:      %[[MOD:.*]] = tir.floormod
// CHECK-NEXT:      %[[V:.*]] = tir.let "cse_var_2" %[[MOD]] : i32
// CHECK-NEXT:      tir.store %[[V]]
// CHECK-NEXT:      tir.store %[[V]]

// -----

// An assertion on the way guards too.
tir.func @asserted(%b: !tir.handle, %x: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<5xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp ne %x, %c0 : i32
  tir.assert %p, "x must not be 0"
  %0 = tir.floordiv %c1, %x : i32
  tir.store %0, %B[%c0] : i32
  tir.store %0, %B[%c1] : i32
}
// CHECK-LABEL: tir.func @asserted
// CHECK-NOT:     tir.let

// -----

// Loads are no computations, but their indices are; one that is used twice counts twice.
tir.func @loads(%a: !tir.handle, %b: !tir.handle, %i: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %0 = tir.add %i, %c1 : i32
  %x = tir.load %A[%0] : i32
  %y = tir.mul %x, %x : i32
  tir.store %y, %B[%c0] : i32
}
// CHECK-LABEL: tir.func @loads
// CHECK:         %[[V:.*]] = tir.let "cse_var_1" %{{.*}} : i32
// CHECK-NEXT:    %[[X:.*]] = tir.load %{{.*}}[%[[V]]]
// CHECK-NEXT:    %[[Y:.*]] = tir.mul %[[X]], %[[X]]
// CHECK-NEXT:    tir.store %[[Y]]

// -----

// Of what a thread variable is in, only the rest is bound; a binding of it is used.
tir.func @threads(%b: !tir.handle, %x: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<64xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %0 = tir.add %t, %x : i32
    %1 = tir.mul %0, %c2 : i32
    tir.store %1, %B[%t] : i32
    %2 = tir.add %t, %c32 : i32
    %i = tir.let "cse_var_1" %2 : i32
    %3 = tir.add %t, %c32 : i32
    tir.store %1, %B[%3] : i32
  }
}
// CHECK-LABEL: tir.func @threads
// CHECK:         %[[ONE:.*]] = tir.add %[[T:.*]], %[[X:.*]] : i32
// CHECK-NEXT:    %[[TWO:.*]] = tir.mul %[[ONE]]
// CHECK-NEXT:    tir.store %[[TWO]]
// CHECK-NEXT:    %[[NEXT:.*]] = tir.add %[[T]]
// CHECK-NEXT:    %[[I:.*]] = tir.let "cse_var_1" %[[NEXT]] : i32
// CHECK-NEXT:    tir.store %[[TWO]], %{{.*}}[%[[I]]]

// -----

// Names that are taken are skipped; what is before a loop is copied into it where
// the loop has a binding for a part of it.
tir.func @hoisted(%b: !tir.handle, %x: i32, %y: i32) {
  %B = tir.match_buffer "B" %b : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %0 = tir.add %x, %y : i32
  %1 = tir.mul %0, %c8 : i32
  tir.for %i = %c0 to %c8 {
    %n = tir.let "cse_var_1" %i : i32
    tir.store %0, %B[%n] : i32
    tir.store %1, %B[%c0] : i32
  }
}
// CHECK-LABEL: tir.func @hoisted
// CHECK:         tir.for
// CHECK-NEXT:      %[[SUM:.*]] = tir.add
// CHECK-NEXT:      %[[V:.*]] = tir.let "cse_var_2" %[[SUM]] : i32
// CHECK-NEXT:      %[[N:.*]] = tir.let "cse_var_1"
// CHECK-NEXT:      tir.store %[[V]], %{{.*}}[%[[N]]]
// CHECK-NEXT:      %[[PRODUCT:.*]] = tir.mul %[[V]]
// CHECK-NEXT:      tir.store %[[PRODUCT]]
