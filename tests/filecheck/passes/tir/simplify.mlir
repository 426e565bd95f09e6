// RUN: xdsl-opt %s -p tir-simplify --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-simplify{transitively_prove_inequalities=true} --split-input-file | filecheck %s --check-prefix CHAINS
// RUN: xdsl-opt %s -p tir-simplify{convert_boolean_to_and_of_ors=true} --split-input-file | filecheck %s --check-prefix GROUPS
// RUN: xdsl-opt %s -p tir-simplify{apply_constraints_to_boolean_branches=true} --split-input-file | filecheck %s --check-prefix OPERANDS
// RUN: xdsl-opt %s -p tir-simplify{propagate_knowns_to_prove_conditional=true} --split-input-file | filecheck %s --check-prefix KNOWN
// RUN: xdsl-opt %s -p tir-simplify{propagate_knowns_to_simplify_expressions=true} --split-input-file | filecheck %s --check-prefix VALUES

// CASE: Simplify.1
tir.func @let_of_extent(%a: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c10 = tir.const 10 : i32
  %c12 = tir.const 12 : i32
  %n = tir.let "n" %c10 : i32
  tir.for %i = %c0 to %n {
    %p = tir.cmp lt %i, %c12 : i32
    tir.if %p {
      %x = tir.load %C[%i] : f32
      tir.store %x, %A[%i] : f32
    }
  }
}
// CHECK-LABEL: tir.func @let_of_extent
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C10:.*]] = tir.const 10 : i32
// CHECK-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C10]] {
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:      tir.store %[[X]], %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:    }

// -----

// CASE: Simplify.2
tir.func @threads(%a: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16xf32>
  %c1 = tir.const 1 : i32
  %c10 = tir.const 10 : i32
  %c12 = tir.const 12 : i32
  %n = tir.let "n" %c10 : i32
  tir.launch_thread %tx = "threadIdx.x" to %n env "tx" {
    tir.launch_thread %tx2 = "threadIdx.x" to %n env "tx" {
      tir.launch_thread %ty = "threadIdx.y" to %c1 {
        %s = tir.add %tx2, %ty : i32
        %p = tir.cmp lt %s, %c12 : i32
        tir.if %p {
          %j = tir.add %tx, %ty : i32
          %x = tir.load %C[%j] : f32
          tir.store %x, %A[%tx] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @threads
// CHECK:         %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C10:.*]] = tir.const 10 : i32
// CHECK-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %[[C10]] env "tx" {
// CHECK-NEXT:      tir.launch_thread %[[TX2:.*]] = "threadIdx.x" to %[[C10]] env "tx" {
// CHECK-NEXT:        tir.launch_thread %[[TY:.*]] = "threadIdx.y" to %[[C1]] {
// CHECK-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[TX]]] : f32
// CHECK-NEXT:          tir.store %[[X]], %{{.*}}[%[[TX]]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: Simplify.3, Simplify.4, Simplify.6
tir.func @stores(%a: !tir.handle, %n: i32, %m: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c5 = tir.const 5 : i32
  %c10 = tir.const 10 : i32
  %c100 = tir.const 100 : i32
  %p = tir.cmp lt %n, %m : i32
  %l = tir.call "likely"(%p) : (i1) -> i1
  tir.if %l {
    tir.if %l {
      tir.store %c1, %A[%c1] : i32
    }
  }
  %x = tir.load %A[%n] : i32
  tir.store %x, %A[%n] : i32
  %nm = tir.add %n, %m : i32
  %nmm = tir.sub %nm, %m : i32
  %y = tir.load %A[%nmm] : i32
  tir.store %y, %A[%n] : i32
  %z = tir.load %A[%c0] : i32
  %q = tir.cmp eq %z, %n : i32
  tir.if %q {
    %u = tir.load %A[%c0] : i32
    %v = tir.add %u, %c1 : i32
    tir.store %v, %A[%c0] : i32
    %w = tir.load %A[%c0] : i32
    %r = tir.cmp eq %w, %n : i32
    tir.if %r {
      tir.store %c0, %A[%c0] : i32
    }
  }
  %z2 = tir.load %A[%c0] : i32
  %q2 = tir.cmp lt %z2, %c5 : i32
  tir.if %q2 {
    tir.store %c100, %A[%c0] : i32
    %w2 = tir.load %A[%c0] : i32
    %r2 = tir.cmp lt %w2, %c10 : i32
    tir.if %r2 {
      tir.store %c0, %A[%c1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @stores
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// CHECK-NEXT:    %[[C10:.*]] = tir.const 10 : i32
// CHECK-NEXT:    %[[C100:.*]] = tir.const 100 : i32
// CHECK-NEXT:    %[[P:.*]] = tir.cmp lt %[[N:.*]], %[[M:.*]] : i32
// CHECK-NEXT:    %[[L:.*]] = tir.call "likely"(%[[P]]) : (i1) -> i1
// CHECK-NEXT:    tir.if %[[L]] {
// CHECK-NEXT:      tir.store %[[C1]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Z:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[Q:.*]] = tir.cmp eq %[[Z]], %[[N]] : i32
// CHECK-NEXT:    tir.if %[[Q]] {
// CHECK-NEXT:      %[[U:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      %[[V:.*]] = tir.add %[[U]], %[[C1]] : i32
// CHECK-NEXT:      tir.store %[[V]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      %[[W:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      %[[R:.*]] = tir.cmp eq %[[W]], %[[N]] : i32
// CHECK-NEXT:      tir.if %[[R]] {
// CHECK-NEXT:        tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Z2:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[Q2:.*]] = tir.cmp lt %[[Z2]], %[[C5]] : i32
// CHECK-NEXT:    tir.if %[[Q2]] {
// CHECK-NEXT:      tir.store %[[C100]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      %[[W2:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      %[[R2:.*]] = tir.cmp lt %[[W2]], %[[C10]] : i32
// CHECK-NEXT:      tir.if %[[R2]] {
// CHECK-NEXT:        tir.store %[[C0]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// A value that is not what memory holds any more is stored.
tir.func @stores_that_stay(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %x = tir.load %A[%c0] : i32
  tir.store %n, %B[%c0] : i32
  tir.store %x, %A[%c0] : i32
  %y = tir.load %A[%c1] : i32
  tir.for %i = %c0 to %c4 {
    tir.store %y, %A[%c1] : i32
    tir.store %i, %A[%c1] : i32
  }
  %v = tir.ramp %c0, %c1 : vector<4xi32>
  %t = tir.const true
  %p = tir.broadcast %t : vector<4xi1>
  %z = tir.load %A[%v] : vector<4xi32>
  tir.store %z, %A[%v] if %p : vector<4xi32>
  %d = tir.data %A : !tir.ptr<i32>
  tir.attr "volatile_scope" (%d) = %c1 {
    %w = tir.load %A[%c4] : i32
    tir.store %w, %A[%c4] : i32
  }
}
// CHECK-LABEL: tir.func @stores_that_stay
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[X:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.store %[[N:.*]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.store %[[X]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[Y:.*]] = tir.load %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:      tir.store %[[Y]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V:.*]] = tir.ramp %[[C0]], %[[C1]] : vector<4xi32>
// CHECK-NEXT:    %[[T:.*]] = tir.const true
// CHECK-NEXT:    %[[P:.*]] = tir.broadcast %[[T]] : vector<4xi1>
// CHECK-NEXT:    %[[Z:.*]] = tir.load %{{.*}}[%[[V]]] : vector<4xi32>
// CHECK-NEXT:    tir.store %[[Z]], %{{.*}}[%[[V]]] if %[[P]] : vector<4xi32>
// CHECK-NEXT:    %[[D:.*]] = tir.data %{{.*}} : !tir.ptr<i32>
// CHECK-NEXT:    tir.attr "volatile_scope" (%[[D]]) = %[[C1]] {
// CHECK-NEXT:      %[[W:.*]] = tir.load %{{.*}}[%[[C4]]] : i32
// CHECK-NEXT:      tir.store %[[W]], %{{.*}}[%[[C4]]] : i32
// CHECK-NEXT:    }

// -----

// CASE: Simplify.5
tir.func @branches(%a: !tir.handle, %i: i32, %j: i32, %n: i32, %k: i1) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  %c10 = tir.const 10 : i32
  %lt5 = tir.cmp lt %i, %c5 : i32
  %lt10 = tir.cmp lt %i, %c10 : i32
  tir.if %lt5 {
    tir.if %lt5 { tir.store %c0, %A[%c0] : i32 }
    tir.if %lt10 { tir.store %c1, %A[%c0] : i32 } else { tir.store %c2, %A[%c0] : i32 }
  }
  %eq = tir.cmp eq %i, %j : i32
  %jle = tir.cmp le %j, %i : i32
  tir.if %eq {
    tir.if %jle {
      tir.store %c3, %A[%c0] : i32
    }
  }
  %ne = tir.cmp ne %i, %j : i32
  tir.if %eq { tir.evaluate } else {
    tir.if %ne { tir.store %c0, %A[%c1] : i32 } else { tir.store %c1, %A[%c1] : i32 }
  }
  tir.if %ne { tir.evaluate } else {
    tir.if %eq { tir.store %c0, %A[%c2] : i32 } else { tir.store %c1, %A[%c2] : i32 }
  }
  %lt = tir.cmp lt %i, %n : i32
  %ge = tir.cmp ge %i, %n : i32
  tir.if %lt { tir.evaluate } else {
    tir.if %ge { tir.store %c0, %A[%c3] : i32 } else { tir.store %c1, %A[%c3] : i32 }
  }
  %both = tir.and %eq, %k : i1
  tir.if %both {
    tir.if %k { tir.store %c0, %A[%c5] : i32 }
  }
  %any = tir.or %eq, %k : i1
  tir.if %any { tir.evaluate } else {
    tir.if %k { tir.store %c1, %A[%c5] : i32 } else { tir.store %c2, %A[%c5] : i32 }
  }
}
// CHECK-LABEL: tir.func @branches
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// CHECK-NEXT:    %[[LT5:.*]] = tir.cmp lt %[[I:.*]], %[[C5]] : i32
// CHECK-NEXT:    tir.if %[[LT5]] {
// CHECK-NEXT:      tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[EQ:.*]] = tir.cmp eq %[[I]], %[[J:.*]] : i32
// CHECK-NEXT:    tir.if %[[EQ]] {
// CHECK-NEXT:      tir.store %[[C3]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[NE:.*]] = tir.cmp ne %[[I]], %[[J]] : i32
// CHECK-NEXT:    tir.if %[[EQ]] {
// CHECK-NEXT:      tir.evaluate
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.store %[[C0]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.if %[[NE]] {
// CHECK-NEXT:      tir.evaluate
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.store %[[C0]], %{{.*}}[%[[C2]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[LT:.*]] = tir.cmp lt %[[I]], %[[N:.*]] : i32
// CHECK-NEXT:    tir.if %[[LT]] {
// CHECK-NEXT:      tir.evaluate
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.store %[[C0]], %{{.*}}[%[[C3]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[BOTH:.*]] = tir.and %[[EQ]], %[[K:.*]] : i1
// CHECK-NEXT:    tir.if %[[BOTH]] {
// CHECK-NEXT:      tir.store %[[C0]], %{{.*}}[%[[C5]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[ANY:.*]] = tir.or %[[EQ]], %[[K]] : i1
// CHECK-NEXT:    tir.if %[[ANY]] {
// CHECK-NEXT:      tir.evaluate
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.store %[[C2]], %{{.*}}[%[[C5]]] : i32
// CHECK-NEXT:    }

// -----

// CASE: Simplify.7
tir.func @bool_lets(%a: !tir.handle, %b: !tir.handle, %i: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %lt = tir.cmp lt %i, %c3 : i32
  %c = tir.let "c" %lt : i1
  %ge = tir.cmp ge %i, %c3 : i32
  %either = tir.or %c, %ge : i1
  tir.if %either { tir.store %c0, %A[%c0] : i32 }
  tir.if %lt {
    tir.if %c { tir.store %c1, %A[%c0] : i32 }
  }
  tir.if %c {
    tir.if %c { tir.store %c2, %A[%c0] : i32 }
    tir.store %c, %B[%c0] : i1
  }
  tir.store %c, %B[%c1] : i1
}
// CHECK-LABEL: tir.func @bool_lets
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[LT:.*]] = tir.cmp lt %[[I:.*]], %[[C3]] : i32
// CHECK-NEXT:    %[[C:.*]] = tir.let "c" %[[LT]] : i1
// CHECK-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.if %[[LT]] {
// CHECK-NEXT:      tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.if %[[C]] {
// CHECK-NEXT:      %[[V0:.*]] = tir.const true
// CHECK-NEXT:      tir.store %[[C2]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      tir.store %[[V0]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.store %[[C]], %{{.*}}[%[[C1]]] : i1

// -----

// CASE: Simplify.8
tir.func @choices(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c12 = tir.const 12 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c12 : i32
    tir.if %p {
      %x = tir.if_then_else %p -> i32 { tir.yield %c1 : i32 } else { tir.yield %c2 : i32 }
      tir.store %x, %A[%i] : i32
    }
    %y = tir.if_then_else %p -> i32 { tir.yield %n : i32 } else {
      %z = tir.if_then_else %p -> i32 { tir.yield %c1 : i32 } else { tir.yield %c2 : i32 }
      tir.yield %z : i32
    }
    %m = tir.max %y, %n : i32
    tir.store %m, %A[%i] : i32
    %u = tir.if_then_else %p -> i32 {
      %v = tir.if_then_else %p -> i32 {
        %w = tir.load %B[%i] : i32
        tir.yield %w : i32
      } else {
        tir.yield %c0 : i32
      }
      tir.yield %v : i32
    } else {
      tir.yield %c0 : i32
    }
    tir.store %u, %A[%i] : i32
  }
}
// CHECK-LABEL: tir.func @choices
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C12:.*]] = tir.const 12 : i32
// CHECK-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      %[[P:.*]] = tir.cmp lt %[[I]], %[[C12]] : i32
// CHECK-NEXT:      tir.if %[[P]] {
// CHECK-NEXT:        tir.store %[[C1]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V0:.*]] = tir.if_then_else %[[P]] -> i32 {
// CHECK-NEXT:        tir.yield %[[N:.*]] : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.yield %[[C2]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V1:.*]] = tir.max %[[V0]], %[[N]] : i32
// CHECK-NEXT:      tir.store %[[V1]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      %[[U:.*]] = tir.if_then_else %[[P]] -> i32 {
// CHECK-NEXT:        %[[W:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        tir.yield %[[W]] : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.yield %[[C0]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.store %[[U]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }

// -----

// CASE: Simplify.9
tir.func @logarithms(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c11 = tir.const 11 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %c31 = tir.const 31 : i32
  %c1025 = tir.const 1025 : i32
  %big = tir.const 1015808 : i32
  %f = tir.cast %c14 : i32 to f64
  %l = tir.call "log2"(%f) : (f64) -> f64
  %u = tir.call "ceil"(%l) : (f64) -> f64
  %four = tir.cast %u : f64 to i32
  tir.store %four, %A[%c0] : i32
  tir.for %i = %c0 to %c16 {
    %j = tir.add %i, %c1025 : i32
    %g = tir.cast %j : i32 to f64
    %lg = tir.call "log2"(%g) : (f64) -> f64
    %cg = tir.call "ceil"(%lg) : (f64) -> f64
    %e = tir.cast %cg : f64 to i32
    %p = tir.cmp eq %e, %c11 : i32
    tir.if %p { tir.store %c1, %A[%i] : i32 }
    %s = tir.call "shift_left"(%c1, %i) : (i32, i32) -> i32
    %q = tir.cmp ge %s, %c1 : i32
    tir.store %q, %B[%c0] : i1
    %t = tir.call "shift_left"(%c31, %i) : (i32, i32) -> i32
    %r = tir.cmp le %t, %big : i32
    tir.store %r, %B[%c1] : i1
    %v = tir.call "shift_left"(%n, %i) : (i32, i32) -> i32
    %vp = tir.cmp ge %v, %c0 : i32
    tir.store %vp, %B[%c2] : i1
    %w = tir.call "shift_left"(%c1, %n) : (i32, i32) -> i32
    %wp = tir.cmp ge %w, %c1 : i32
    tir.store %wp, %B[%c3] : i1
  }
}
// CHECK-LABEL: tir.func @logarithms
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:    %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:    tir.store %[[V0]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      tir.store %[[C1]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.const true
// CHECK-NEXT:      tir.store %[[V1]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:      tir.store %[[V1]], %{{.*}}[%[[C1]]] : i1
// CHECK-NEXT:      %[[V:.*]] = tir.call "shift_left"(%[[N:.*]], %[[I]]) : (i32, i32) -> i32
// CHECK-NEXT:      %[[V2:.*]] = tir.cmp le %[[C0]], %[[V]] : i32
// CHECK-NEXT:      tir.store %[[V2]], %{{.*}}[%[[C2]]] : i1
// CHECK-NEXT:      %[[W:.*]] = tir.call "shift_left"(%[[C1]], %[[N]]) : (i32, i32) -> i32
// CHECK-NEXT:      %[[V3:.*]] = tir.cmp le %[[C1]], %[[W]] : i32
// CHECK-NEXT:      tir.store %[[V3]], %{{.*}}[%[[C3]]] : i1
// CHECK-NEXT:    }

// -----

// CASE: Simplify.12, Simplify.14
tir.func @stronger(%a: !tir.handle, %b: !tir.handle, %i: i32, %j: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %neg = tir.sub %c0, %i : i32
  %nm = tir.floormod %neg, %c2 : i32
  %p = tir.cmp eq %nm, %c0 : i32
  tir.if %p {
    %m = tir.floormod %i, %c2 : i32
    %q = tir.cmp eq %m, %c0 : i32
    tir.store %q, %A[%c0] : i1
  }
  %le = tir.cmp le %i, %j : i32
  %ge = tir.cmp le %j, %i : i32
  %ne = tir.cmp ne %i, %j : i32
  tir.if %le {
    tir.store %ge, %A[%c1] : i1
    tir.store %ne, %A[%c2] : i1
  }
  tir.if %ne {
    tir.store %le, %A[%c3] : i1
  }
  %i1 = tir.add %i, %c1 : i32
  %j3 = tir.add %j, %c3 : i32
  %off = tir.cmp le %i1, %j3 : i32
  tir.if %off {
    %j2 = tir.add %j, %c2 : i32
    %j4 = tir.add %j, %c4 : i32
    %x = tir.cmp le %i, %j2 : i32
    tir.store %x, %A[%c4] : i1
    %y = tir.cmp lt %i, %j4 : i32
    tir.store %y, %A[%c0] : i1
  }
}
// CHECK-LABEL: tir.func @stronger
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[V0:.*]] = tir.const -2 : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.floormod %[[I:.*]], %[[V0]] : i32
// CHECK-NEXT:    %[[V2:.*]] = tir.cmp eq %[[V1]], %[[C0]] : i32
// CHECK-NEXT:    tir.if %[[V2]] {
// CHECK-NEXT:      %[[V3:.*]] = tir.const true
// CHECK-NEXT:      tir.store %[[V3]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[LE:.*]] = tir.cmp le %[[I]], %[[J:.*]] : i32
// CHECK-NEXT:    %[[NE:.*]] = tir.cmp ne %[[I]], %[[J]] : i32
// CHECK-NEXT:    tir.if %[[LE]] {
// CHECK-NEXT:      %[[V4:.*]] = tir.cmp eq %[[J]], %[[I]] : i32
// CHECK-NEXT:      tir.store %[[V4]], %{{.*}}[%[[C1]]] : i1
// CHECK-NEXT:      %[[V5:.*]] = tir.cmp lt %[[I]], %[[J]] : i32
// CHECK-NEXT:      tir.store %[[V5]], %{{.*}}[%[[C2]]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.if %[[NE]] {
// CHECK-NEXT:      %[[V6:.*]] = tir.cmp lt %[[I]], %[[J]] : i32
// CHECK-NEXT:      tir.store %[[V6]], %{{.*}}[%[[C3]]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V7:.*]] = tir.add %[[J]], %[[C2]] : i32
// CHECK-NEXT:    %[[V8:.*]] = tir.cmp le %[[I]], %[[V7]] : i32
// CHECK-NEXT:    tir.if %[[V8]] {
// CHECK-NEXT:      %[[V9:.*]] = tir.const true
// CHECK-NEXT:      tir.store %[[V9]], %{{.*}}[%[[C4]]] : i1
// CHECK-NEXT:      tir.store %[[V9]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:    }

// -----

// CASE: Simplify.17
tir.func @lets(%a: !tir.handle, %h: !tir.ptr<i32>, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %s = tir.add %n, %c1 : i32
  %stride = tir.let "stride" %s : i32
  %o = tir.sub %n, %c1 : i32
  %offset = tir.let "offset" %o : i32
  %e = tir.mul %n, %c2 : i32
  %extent = tir.let "extent" %e : i32
  %p = tir.let "p" %h : !tir.ptr<i32>
  %B = tir.decl_buffer "B" %p [%extent] strides [%stride] offset %offset : !tir.buffer<?xi32>
  tir.store %stride, %B[%c0] : i32
  tir.store %offset, %B[%c1] : i32
  tir.store %extent, %A[%c0] : i32
  %x = tir.load %A[%n] : i32
  %loaded = tir.let "loaded" %x : i32
  tir.store %c0, %A[%n] : i32
  tir.store %loaded, %A[%c1] : i32
  %unused = tir.let "unused" %s : i32
  %f = tir.cast %n : i32 to f32
  %kept = tir.let "kept" %f : f32
}
// CHECK-LABEL: tir.func @lets
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[S:.*]] = tir.add %[[N:.*]], %[[C1]] : i32
// CHECK-NEXT:    %[[STRIDE:.*]] = tir.let "stride" %[[S]] : i32
// CHECK-NEXT:    %[[O:.*]] = tir.sub %[[N]], %[[C1]] : i32
// CHECK-NEXT:    %[[OFFSET:.*]] = tir.let "offset" %[[O]] : i32
// CHECK-NEXT:    %[[E:.*]] = tir.mul %[[N]], %[[C2]] : i32
// CHECK-NEXT:    %[[EXTENT:.*]] = tir.let "extent" %[[E]] : i32
// CHECK-NEXT:    %[[P:.*]] = tir.let "p" %[[H:.*]] : !tir.ptr<i32>
// CHECK-NEXT:    %{{.*}} = tir.decl_buffer "B" %[[P]] [%[[EXTENT]]] strides [%[[STRIDE]]] offset %[[OFFSET]] : !tir.buffer<?xi32>
// CHECK-NEXT:    tir.store %[[S]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.store %[[O]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    tir.store %[[E]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[X:.*]] = tir.load %{{.*}}[%[[N]]] : i32
// CHECK-NEXT:    %[[LOADED:.*]] = tir.let "loaded" %[[X]] : i32
// CHECK-NEXT:    tir.store %[[C0]], %{{.*}}[%[[N]]] : i32
// CHECK-NEXT:    tir.store %[[LOADED]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    %[[F:.*]] = tir.cast %[[N]] : i32 to f32
// CHECK-NEXT:    %[[KEPT:.*]] = tir.let "kept" %[[F]] : f32

// -----

// CASE: Simplify.18
tir.func @shapes(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %m = tir.shape_var "m" : i64
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %c32 = tir.const 32 : i64
  %n32 = tir.mul %n, %c32 : i64
  %m32 = tir.mul %m, %c32 : i64
  %m31 = tir.sub %m32, %c1 : i64
  %A = tir.match_buffer "A" %a [%n32] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%m31] : !tir.buffer<?xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<2xi64>
  %x = tir.min %c0, %n : i64
  tir.store %x, %C[%c0] : i64
  %y = tir.min %c1, %m : i64
  tir.store %y, %C[%c1] : i64
}
// CHECK-LABEL: tir.func @shapes
// CHECK:         %[[N:.*]] = tir.shape_var "n" : i64
// CHECK-NEXT:    %[[M:.*]] = tir.shape_var "m" : i64
// CHECK-NEXT:    %[[C0:.*]] = tir.const 0 : i64
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i64
// CHECK-NEXT:    %[[C32:.*]] = tir.const 32 : i64
// CHECK-NEXT:    %[[N32:.*]] = tir.mul %[[N]], %[[C32]] : i64
// CHECK-NEXT:    %[[M32:.*]] = tir.mul %[[M]], %[[C32]] : i64
// CHECK-NEXT:    %[[M31:.*]] = tir.sub %[[M32]], %[[C1]] : i64
// CHECK:         tir.store %[[C0]], %{{.*}}[%[[C0]]] : i64
// CHECK-NEXT:    tir.store %[[C1]], %{{.*}}[%[[C1]]] : i64

// -----

// What the hazards of shared values are: one expression, two places, each with its facts.
tir.func @shared(%a: !tir.handle, %n: i32, %m: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %q = tir.floormod %n, %c4 : i32
  %s = tir.add %q, %m : i32
  %p = tir.cmp lt %n, %c4 : i32
  %r = tir.cmp ge %n, %c0 : i32
  %both = tir.and %p, %r : i1
  tir.if %both {
    tir.store %s, %A[%c0] : i32
    tir.store %s, %A[%c1] : i32
  }
  tir.store %s, %A[%c4] : i32
  tir.store %s, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @shared
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[Q:.*]] = tir.floormod %[[N:.*]], %[[C4]] : i32
// CHECK-NEXT:    %[[P:.*]] = tir.cmp lt %[[N]], %[[C4]] : i32
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp le %[[C0]], %[[N]] : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.and %[[P]], %[[V0]] : i1
// CHECK-NEXT:    tir.if %[[V1]] {
// CHECK-NEXT:      %[[V2:.*]] = tir.add %[[N]], %[[M:.*]] : i32
// CHECK-NEXT:      tir.store %[[V2]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:      tir.store %[[V2]], %{{.*}}[%[[C1]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V3:.*]] = tir.add %[[M]], %[[Q]] : i32
// CHECK-NEXT:    tir.store %[[V3]], %{{.*}}[%[[C4]]] : i32
// CHECK-NEXT:    tir.store %[[V3]], %{{.*}}[%[[C0]]] : i32

// -----

// Asserts hold after them and stay; lazy branches keep what they guard.
tir.func @asserts(%a: !tir.handle, %n: i32, %m: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp gt %n, %c0 : i32
  tir.assert %p, "positive"
  %q = tir.cmp ge %n, %c0 : i32
  tir.if %q {
    tir.store %c0, %A[%c0] : i32
  } else {
    tir.store %c1, %A[%c0] : i32
  }
  tir.assert %q, "not negative"
  %z = tir.cmp ne %m, %c0 : i32
  %x = tir.if_then_else %z -> i32 {
    %d = tir.floordiv %n, %m : i32
    %e = tir.add %d, %c0 : i32
    tir.yield %e : i32
  } else {
    tir.yield %c0 : i32
  }
  %y = tir.add %x, %c0 : i32
  tir.store %y, %A[%c1] : i32
}
// CHECK-LABEL: tir.func @asserts
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[C0]], %[[N:.*]] : i32
// CHECK-NEXT:    tir.assert %[[V0]], "positive"
// CHECK-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.const true
// CHECK-NEXT:    tir.assert %[[V1]], "not negative"
// CHECK-NEXT:    %[[Z:.*]] = tir.cmp ne %[[M:.*]], %[[C0]] : i32
// CHECK-NEXT:    %[[V2:.*]] = tir.if_then_else %[[Z]] -> i32 {
// CHECK-NEXT:      %[[V3:.*]] = tir.floordiv %[[N]], %[[M]] : i32
// CHECK-NEXT:      tir.yield %[[V3]] : i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.yield %[[C0]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.store %[[V2]], %{{.*}}[%[[C1]]] : i32

// -----

// A region that is dead at once is not looked at; buffers and allocations that follow
// keep their lifetimes, and blocks are simplified as they are.
tir.func @structure(%a: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %t = tir.cmp lt %c0, %c1 : i32
  tir.if %t {
    %x = tir.load %A[%n] : i32
    %y = tir.let "y" %x : i32
    tir.store %y, %A[%c0] : i32
  }
  %f = tir.not %t : i1
  tir.if %f {
    %z = tir.load %A[%c1] : i32
    tir.store %z, %A[%c4] : i32
  }
  tir.for %i = %c0 to %c16 {
    %u = tir.mul %i, %c1 : i32
    tir.block "B" (%v : S in [%c0 to %c16] = %u) {
      tir.reads %A[%v]
      tir.writes %A[%v]
      %w = tir.add %v, %c0 : i32
      %x = tir.load %A[%w] : i32
      %y = tir.add %x, %x : i32
      tir.store %y, %A[%w] : i32
    }
  }
  tir.for %i = %c0 to %c0 {
    tir.store %i, %A[%i] : i32
  }
  tir.for %k = %c4 to %c4 + %c1 {
    tir.store %k, %A[%k] : i32
  }
}
// CHECK-LABEL: tir.func @structure
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[N:.*]]] : i32
// CHECK-NEXT:      %[[Y:.*]] = tir.let "y" %[[X]] : i32
// CHECK-NEXT:      tir.store %[[Y]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      tir.block "B" (%[[V:.*]] : S in [%[[C0]] to %[[C16]]] = %[[I]]) {
// CHECK-NEXT:        tir.reads %{{.*}}[%[[V]]]
// CHECK-NEXT:        tir.writes %{{.*}}[%[[V]]]
// CHECK-NEXT:        %[[X_1:.*]] = tir.load %{{.*}}[%[[V]]] : i32
// CHECK-NEXT:        %[[V0:.*]] = tir.const 2 : i32
// CHECK-NEXT:        %[[V1:.*]] = tir.mul %[[X_1]], %[[V0]] : i32
// CHECK-NEXT:        tir.store %[[V1]], %{{.*}}[%[[V]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[I_1:.*]] = %[[C0]] to %[[C0]] {
// CHECK-NEXT:      tir.store %[[I_1]], %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[K:.*]] = %[[C4]] to %[[C4]] + %[[C1]] {
// CHECK-NEXT:      tir.store %[[C4]], %{{.*}}[%[[C4]]] : i32
// CHECK-NEXT:    }

// -----

// CASE: Simplify.10
tir.func @transitive(%a: !tir.handle, %i: i32, %j: i32, %k: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  %c7 = tir.const 7 : i32
  %c11 = tir.const 11 : i32
  %c12 = tir.const 12 : i32
  %j5 = tir.add %j, %c5 : i32
  %k7 = tir.add %k, %c7 : i32
  %k11 = tir.add %k, %c11 : i32
  %k12 = tir.add %k, %c12 : i32
  %a1 = tir.cmp lt %i, %j : i32
  %a2 = tir.cmp lt %j, %k : i32
  %a3 = tir.cmp lt %i, %k : i32
  tir.if %a1 {
    tir.if %a2 {
      tir.store %a3, %A[%c0] : i1
    }
  }
  %b1 = tir.cmp le %i, %j5 : i32
  %b2 = tir.cmp le %j, %k7 : i32
  %b3 = tir.cmp le %i, %k12 : i32
  %b4 = tir.cmp le %i, %k11 : i32
  tir.if %b1 {
    tir.if %b2 {
      tir.store %b3, %A[%c1] : i1
      tir.store %b4, %A[%c2] : i1
    }
  }
  %d1 = tir.cmp lt %i, %j5 : i32
  %d2 = tir.cmp lt %j, %k7 : i32
  %d3 = tir.cmp lt %i, %k11 : i32
  tir.if %d1 {
    tir.if %d2 {
      tir.store %d3, %A[%c3] : i1
    }
  }
  %e1 = tir.cmp ge %i, %j5 : i32
  %e2 = tir.cmp gt %j, %k7 : i32
  %e3 = tir.cmp gt %i, %k12 : i32
  tir.if %e1 {
    tir.if %e2 {
      tir.store %e3, %A[%c5] : i1
    }
  }
  %f1 = tir.cmp eq %i, %j : i32
  %f2 = tir.cmp eq %j, %k : i32
  %f3 = tir.cmp eq %i, %k : i32
  tir.if %f1 {
    tir.if %f2 {
      tir.store %f3, %A[%c7] : i1
    }
  }
  %g1 = tir.cmp ne %i, %j : i32
  %g2 = tir.cmp ne %j, %k : i32
  %g3 = tir.cmp ne %i, %k : i32
  tir.if %g1 {
    tir.if %g2 {
      tir.store %g3, %A[%c11] : i1
    }
    tir.if %a2 {
      tir.store %g3, %A[%c12] : i1
    }
  }
}
// CHECK-LABEL: tir.func @transitive
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// CHECK-NEXT:    %[[C7:.*]] = tir.const 7 : i32
// CHECK-NEXT:    %[[C11:.*]] = tir.const 11 : i32
// CHECK-NEXT:    %[[C12:.*]] = tir.const 12 : i32
// CHECK-NEXT:    %[[J5:.*]] = tir.add %[[J:.*]], %[[C5]] : i32
// CHECK-NEXT:    %[[K7:.*]] = tir.add %[[K:.*]], %[[C7]] : i32
// CHECK-NEXT:    %[[K11:.*]] = tir.add %[[K]], %[[C11]] : i32
// CHECK-NEXT:    %[[K12:.*]] = tir.add %[[K]], %[[C12]] : i32
// CHECK-NEXT:    %[[A1:.*]] = tir.cmp lt %[[I:.*]], %[[J]] : i32
// CHECK-NEXT:    %[[A2:.*]] = tir.cmp lt %[[J]], %[[K]] : i32
// CHECK-NEXT:    %[[A3:.*]] = tir.cmp lt %[[I]], %[[K]] : i32
// CHECK-NEXT:    tir.if %[[A1]] {
// CHECK-NEXT:      tir.if %[[A2]] {
// CHECK-NEXT:        tir.store %[[A3]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[B1:.*]] = tir.cmp le %[[I]], %[[J5]] : i32
// CHECK-NEXT:    %[[B2:.*]] = tir.cmp le %[[J]], %[[K7]] : i32
// CHECK-NEXT:    %[[B3:.*]] = tir.cmp le %[[I]], %[[K12]] : i32
// CHECK-NEXT:    %[[B4:.*]] = tir.cmp le %[[I]], %[[K11]] : i32
// CHECK-NEXT:    tir.if %[[B1]] {
// CHECK-NEXT:      tir.if %[[B2]] {
// CHECK-NEXT:        tir.store %[[B3]], %{{.*}}[%[[C1]]] : i1
// CHECK-NEXT:        tir.store %[[B4]], %{{.*}}[%[[C2]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[D1:.*]] = tir.cmp lt %[[I]], %[[J5]] : i32
// CHECK-NEXT:    %[[D2:.*]] = tir.cmp lt %[[J]], %[[K7]] : i32
// CHECK-NEXT:    %[[D3:.*]] = tir.cmp lt %[[I]], %[[K11]] : i32
// CHECK-NEXT:    tir.if %[[D1]] {
// CHECK-NEXT:      tir.if %[[D2]] {
// CHECK-NEXT:        tir.store %[[D3]], %{{.*}}[%[[C3]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp le %[[J5]], %[[I]] : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[K7]], %[[J]] : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        %[[V2:.*]] = tir.cmp lt %[[K12]], %[[I]] : i32
// CHECK-NEXT:        tir.store %[[V2]], %{{.*}}[%[[C5]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[F1:.*]] = tir.cmp eq %[[I]], %[[J]] : i32
// CHECK-NEXT:    %[[F2:.*]] = tir.cmp eq %[[J]], %[[K]] : i32
// CHECK-NEXT:    %[[F3:.*]] = tir.cmp eq %[[I]], %[[K]] : i32
// CHECK-NEXT:    tir.if %[[F1]] {
// CHECK-NEXT:      tir.if %[[F2]] {
// CHECK-NEXT:        tir.store %[[F3]], %{{.*}}[%[[C7]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[G1:.*]] = tir.cmp ne %[[I]], %[[J]] : i32
// CHECK-NEXT:    %[[G2:.*]] = tir.cmp ne %[[J]], %[[K]] : i32
// CHECK-NEXT:    %[[G3:.*]] = tir.cmp ne %[[I]], %[[K]] : i32
// CHECK-NEXT:    tir.if %[[G1]] {
// CHECK-NEXT:      tir.if %[[G2]] {
// CHECK-NEXT:        tir.store %[[G3]], %{{.*}}[%[[C11]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.if %[[A2]] {
// CHECK-NEXT:        tir.store %[[G3]], %{{.*}}[%[[C12]]] : i1
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHAINS-LABEL: tir.func @transitive
// CHAINS:         %[[C0:.*]] = tir.const 0 : i32
// CHAINS-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHAINS-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHAINS-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHAINS-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// CHAINS-NEXT:    %[[C7:.*]] = tir.const 7 : i32
// CHAINS-NEXT:    %[[C11:.*]] = tir.const 11 : i32
// CHAINS-NEXT:    %[[C12:.*]] = tir.const 12 : i32
// CHAINS-NEXT:    %[[J5:.*]] = tir.add %[[J:.*]], %[[C5]] : i32
// CHAINS-NEXT:    %[[K7:.*]] = tir.add %[[K:.*]], %[[C7]] : i32
// CHAINS-NEXT:    %[[K11:.*]] = tir.add %[[K]], %[[C11]] : i32
// CHAINS-NEXT:    %[[A1:.*]] = tir.cmp lt %[[I:.*]], %[[J]] : i32
// CHAINS-NEXT:    %[[A2:.*]] = tir.cmp lt %[[J]], %[[K]] : i32
// CHAINS-NEXT:    tir.if %[[A1]] {
// CHAINS-NEXT:      tir.if %[[A2]] {
// CHAINS-NEXT:        %[[V0:.*]] = tir.const true
// CHAINS-NEXT:        tir.store %[[V0]], %{{.*}}[%[[C0]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:    }
// CHAINS-NEXT:    %[[B1:.*]] = tir.cmp le %[[I]], %[[J5]] : i32
// CHAINS-NEXT:    %[[B2:.*]] = tir.cmp le %[[J]], %[[K7]] : i32
// CHAINS-NEXT:    %[[B4:.*]] = tir.cmp le %[[I]], %[[K11]] : i32
// CHAINS-NEXT:    tir.if %[[B1]] {
// CHAINS-NEXT:      tir.if %[[B2]] {
// CHAINS-NEXT:        %[[V1:.*]] = tir.const true
// CHAINS-NEXT:        tir.store %[[V1]], %{{.*}}[%[[C1]]] : i1
// CHAINS-NEXT:        tir.store %[[B4]], %{{.*}}[%[[C2]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:    }
// CHAINS-NEXT:    %[[D1:.*]] = tir.cmp lt %[[I]], %[[J5]] : i32
// CHAINS-NEXT:    %[[D2:.*]] = tir.cmp lt %[[J]], %[[K7]] : i32
// CHAINS-NEXT:    tir.if %[[D1]] {
// CHAINS-NEXT:      tir.if %[[D2]] {
// CHAINS-NEXT:        %[[V2:.*]] = tir.const true
// CHAINS-NEXT:        tir.store %[[V2]], %{{.*}}[%[[C3]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:    }
// CHAINS-NEXT:    %[[V3:.*]] = tir.cmp le %[[J5]], %[[I]] : i32
// CHAINS-NEXT:    tir.if %[[V3]] {
// CHAINS-NEXT:      %[[V4:.*]] = tir.cmp lt %[[K7]], %[[J]] : i32
// CHAINS-NEXT:      tir.if %[[V4]] {
// CHAINS-NEXT:        %[[V5:.*]] = tir.const true
// CHAINS-NEXT:        tir.store %[[V5]], %{{.*}}[%[[C5]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:    }
// CHAINS-NEXT:    %[[F1:.*]] = tir.cmp eq %[[I]], %[[J]] : i32
// CHAINS-NEXT:    %[[F2:.*]] = tir.cmp eq %[[J]], %[[K]] : i32
// CHAINS-NEXT:    tir.if %[[F1]] {
// CHAINS-NEXT:      tir.if %[[F2]] {
// CHAINS-NEXT:        %[[V6:.*]] = tir.const true
// CHAINS-NEXT:        tir.store %[[V6]], %{{.*}}[%[[C7]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:    }
// CHAINS-NEXT:    %[[G1:.*]] = tir.cmp ne %[[I]], %[[J]] : i32
// CHAINS-NEXT:    %[[G2:.*]] = tir.cmp ne %[[J]], %[[K]] : i32
// CHAINS-NEXT:    %[[G3:.*]] = tir.cmp ne %[[I]], %[[K]] : i32
// CHAINS-NEXT:    tir.if %[[G1]] {
// CHAINS-NEXT:      tir.if %[[G2]] {
// CHAINS-NEXT:        tir.store %[[G3]], %{{.*}}[%[[C11]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:      tir.if %[[A2]] {
// CHAINS-NEXT:        tir.store %[[G3]], %{{.*}}[%[[C12]]] : i1
// CHAINS-NEXT:      }
// CHAINS-NEXT:    }

// -----

// CASE: Simplify.11
tir.func @normal_form(%a: !tir.handle, %i: i1, %j: i1, %k: i1, %l: i1) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %jk = tir.and %j, %k : i1
  %p = tir.or %i, %jk : i1
  tir.store %p, %A[%c0] : i1
  %kl = tir.or %k, %l : i1
  %ij = tir.or %i, %j : i1
  %q = tir.and %ij, %kl : i1
  tir.store %q, %A[%c1] : i1
  %nj = tir.not %j : i1
  %inj = tir.or %i, %nj : i1
  %r = tir.and %ij, %inj : i1
  tir.store %r, %A[%c2] : i1
  %nji = tir.or %nj, %i : i1
  %s = tir.and %nji, %ij : i1
  tir.store %s, %A[%c3] : i1
}
// CHECK-LABEL: tir.func @normal_form
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[JK:.*]] = tir.and %[[J:.*]], %[[K:.*]] : i1
// CHECK-NEXT:    %[[P:.*]] = tir.or %[[I:.*]], %[[JK]] : i1
// CHECK-NEXT:    tir.store %[[P]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:    %[[KL:.*]] = tir.or %[[K]], %[[L:.*]] : i1
// CHECK-NEXT:    %[[IJ:.*]] = tir.or %[[I]], %[[J]] : i1
// CHECK-NEXT:    %[[Q:.*]] = tir.and %[[IJ]], %[[KL]] : i1
// CHECK-NEXT:    tir.store %[[Q]], %{{.*}}[%[[C1]]] : i1
// CHECK-NEXT:    %[[NJ:.*]] = tir.not %[[J]] : i1
// CHECK-NEXT:    %[[INJ:.*]] = tir.or %[[I]], %[[NJ]] : i1
// CHECK-NEXT:    %[[R:.*]] = tir.and %[[IJ]], %[[INJ]] : i1
// CHECK-NEXT:    tir.store %[[R]], %{{.*}}[%[[C2]]] : i1
// CHECK-NEXT:    %[[NJI:.*]] = tir.or %[[NJ]], %[[I]] : i1
// CHECK-NEXT:    %[[S:.*]] = tir.and %[[NJI]], %[[IJ]] : i1
// CHECK-NEXT:    tir.store %[[S]], %{{.*}}[%[[C3]]] : i1
// GROUPS-LABEL: tir.func @normal_form
// GROUPS:         %[[C0:.*]] = tir.const 0 : i32
// GROUPS-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// GROUPS-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// GROUPS-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// GROUPS-NEXT:    %[[V0:.*]] = tir.or %[[I:.*]], %[[J:.*]] : i1
// GROUPS-NEXT:    %[[V1:.*]] = tir.or %[[I]], %[[K:.*]] : i1
// GROUPS-NEXT:    %[[V2:.*]] = tir.and %[[V0]], %[[V1]] : i1
// GROUPS-NEXT:    tir.store %[[V2]], %{{.*}}[%[[C0]]] : i1
// GROUPS-NEXT:    %[[KL:.*]] = tir.or %[[K]], %[[L:.*]] : i1
// GROUPS-NEXT:    %[[IJ:.*]] = tir.or %[[I]], %[[J]] : i1
// GROUPS-NEXT:    %[[Q:.*]] = tir.and %[[IJ]], %[[KL]] : i1
// GROUPS-NEXT:    tir.store %[[Q]], %{{.*}}[%[[C1]]] : i1
// GROUPS-NEXT:    tir.store %[[I]], %{{.*}}[%[[C2]]] : i1
// GROUPS-NEXT:    tir.store %[[I]], %{{.*}}[%[[C3]]] : i1

// -----

// CASE: Simplify.13
tir.func @operands(%a: !tir.handle, %n: i32, %m: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c6 = tir.const 6 : i32
  %eq5 = tir.cmp eq %n, %c5 : i32
  %lt10 = tir.cmp lt %n, %c6 : i32
  %p = tir.and %eq5, %lt10 : i1
  tir.store %p, %A[%c0] : i1
  %q = tir.and %lt10, %eq5 : i1
  tir.store %q, %A[%c1] : i1
  %ne5 = tir.cmp ne %n, %c5 : i32
  %r = tir.or %ne5, %lt10 : i1
  tir.store %r, %A[%c2] : i1
  %s = tir.or %lt10, %ne5 : i1
  tir.store %s, %A[%c3] : i1
  %le = tir.cmp le %n, %m : i32
  %ne = tir.cmp ne %n, %m : i32
  %t = tir.and %le, %ne : i1
  tir.store %t, %A[%c4] : i1
  %eq = tir.cmp eq %n, %m : i32
  %le2 = tir.cmp le %m, %n : i32
  %u = tir.and %eq, %le2 : i1
  tir.store %u, %A[%c5] : i1
}
// CHECK-LABEL: tir.func @operands
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// CHECK-NEXT:    %[[C6:.*]] = tir.const 6 : i32
// CHECK-NEXT:    %[[EQ5:.*]] = tir.cmp eq %[[N:.*]], %[[C5]] : i32
// CHECK-NEXT:    %[[LT10:.*]] = tir.cmp lt %[[N]], %[[C6]] : i32
// CHECK-NEXT:    %[[P:.*]] = tir.and %[[EQ5]], %[[LT10]] : i1
// CHECK-NEXT:    tir.store %[[P]], %{{.*}}[%[[C0]]] : i1
// CHECK-NEXT:    %[[Q:.*]] = tir.and %[[LT10]], %[[EQ5]] : i1
// CHECK-NEXT:    tir.store %[[Q]], %{{.*}}[%[[C1]]] : i1
// CHECK-NEXT:    %[[NE5:.*]] = tir.cmp ne %[[N]], %[[C5]] : i32
// CHECK-NEXT:    %[[R:.*]] = tir.or %[[NE5]], %[[LT10]] : i1
// CHECK-NEXT:    tir.store %[[R]], %{{.*}}[%[[C2]]] : i1
// CHECK-NEXT:    %[[S:.*]] = tir.or %[[LT10]], %[[NE5]] : i1
// CHECK-NEXT:    tir.store %[[S]], %{{.*}}[%[[C3]]] : i1
// CHECK-NEXT:    %[[LE:.*]] = tir.cmp le %[[N]], %[[M:.*]] : i32
// CHECK-NEXT:    %[[NE:.*]] = tir.cmp ne %[[N]], %[[M]] : i32
// CHECK-NEXT:    %[[T:.*]] = tir.and %[[LE]], %[[NE]] : i1
// CHECK-NEXT:    tir.store %[[T]], %{{.*}}[%[[C4]]] : i1
// CHECK-NEXT:    %[[EQ:.*]] = tir.cmp eq %[[N]], %[[M]] : i32
// CHECK-NEXT:    %[[LE2:.*]] = tir.cmp le %[[M]], %[[N]] : i32
// CHECK-NEXT:    %[[U:.*]] = tir.and %[[EQ]], %[[LE2]] : i1
// CHECK-NEXT:    tir.store %[[U]], %{{.*}}[%[[C5]]] : i1
// OPERANDS-LABEL: tir.func @operands
// OPERANDS:         %[[C0:.*]] = tir.const 0 : i32
// OPERANDS-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// OPERANDS-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// OPERANDS-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// OPERANDS-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// OPERANDS-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// OPERANDS-NEXT:    %[[EQ5:.*]] = tir.cmp eq %[[N:.*]], %[[C5]] : i32
// OPERANDS-NEXT:    tir.store %[[EQ5]], %{{.*}}[%[[C0]]] : i1
// OPERANDS-NEXT:    tir.store %[[EQ5]], %{{.*}}[%[[C1]]] : i1
// OPERANDS-NEXT:    %[[V0:.*]] = tir.const true
// OPERANDS-NEXT:    tir.store %[[V0]], %{{.*}}[%[[C2]]] : i1
// OPERANDS-NEXT:    tir.store %[[V0]], %{{.*}}[%[[C3]]] : i1
// OPERANDS-NEXT:    %[[V1:.*]] = tir.cmp lt %[[N]], %[[M:.*]] : i32
// OPERANDS-NEXT:    tir.store %[[V1]], %{{.*}}[%[[C4]]] : i1
// OPERANDS-NEXT:    %[[EQ:.*]] = tir.cmp eq %[[N]], %[[M]] : i32
// OPERANDS-NEXT:    tir.store %[[EQ]], %{{.*}}[%[[C5]]] : i1

// -----

// CASE: Simplify.15, Simplify.16
tir.func @known(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c7 = tir.const 7 : i32
  %c5 = tir.const 5 : i32
  %c16 = tir.const 16 : i32
  // A value that has just been written; plain values are not replaced.
  tir.store %c0, %A[%c0] : i32
  %x = tir.load %A[%c0] : i32
  %p = tir.cmp eq %x, %c0 : i32
  tir.if %p {
    tir.store %c1, %B[%c0] : i32
  }
  %y = tir.add %x, %c1 : i32
  tir.store %y, %A[%c0] : i32
  tir.store %c5, %A[%c0] : i32
  %u = tir.load %A[%c0] : i32
  %v = tir.add %u, %c7 : i32
  tir.store %v, %A[%c0] : i32
  // Those of a loop before, and their increments.
  tir.for %i = %c0 to %c16 {
    tir.store %i, %A[%i] : i32
  }
  tir.for %j = %c0 to %c16 {
    %z = tir.load %A[%j] : i32
    %q = tir.cmp eq %z, %j : i32
    tir.if %q {
      tir.store %c1, %B[%j] : i32
    }
    %inc = tir.add %z, %c1 : i32
    tir.store %inc, %A[%j] : i32
  }
  tir.for %k = %c0 to %c16 {
    %z = tir.load %A[%k] : i32
    %k1 = tir.add %k, %c1 : i32
    %q = tir.cmp eq %z, %k1 : i32
    tir.if %q {
      tir.store %c5, %B[%k] : i32
    }
  }
}
// KNOWN-LABEL: tir.func @known
// KNOWN:         %[[C0:.*]] = tir.const 0 : i32
// KNOWN-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// KNOWN-NEXT:    %[[C7:.*]] = tir.const 7 : i32
// KNOWN-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// KNOWN-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// KNOWN-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[X:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[Y:.*]] = tir.add %[[X]], %[[C1]] : i32
// KNOWN-NEXT:    tir.store %[[Y]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.store %[[C5]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[U:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[V:.*]] = tir.add %[[U]], %[[C7]] : i32
// KNOWN-NEXT:    tir.store %[[V]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[J:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[Z:.*]] = tir.load %{{.*}}[%[[J]]] : i32
// KNOWN-NEXT:      tir.store %[[C1]], %{{.*}}[%[[J]]] : i32
// KNOWN-NEXT:      %[[INC:.*]] = tir.add %[[Z]], %[[C1]] : i32
// KNOWN-NEXT:      tir.store %[[INC]], %{{.*}}[%[[J]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[K:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      tir.store %[[C5]], %{{.*}}[%[[K]]] : i32
// KNOWN-NEXT:    }
// VALUES-LABEL: tir.func @known
// VALUES:         %[[C0:.*]] = tir.const 0 : i32
// VALUES-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// VALUES-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// VALUES-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// VALUES-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// VALUES-NEXT:    tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// VALUES-NEXT:    tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// VALUES-NEXT:    tir.store %[[C5]], %{{.*}}[%[[C0]]] : i32
// VALUES-NEXT:    %[[V0:.*]] = tir.const 12 : i32
// VALUES-NEXT:    tir.store %[[V0]], %{{.*}}[%[[C0]]] : i32
// VALUES-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// VALUES-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// VALUES-NEXT:    }
// VALUES-NEXT:    tir.for %[[J:.*]] = %[[C0]] to %[[C16]] {
// VALUES-NEXT:      tir.store %[[C1]], %{{.*}}[%[[J]]] : i32
// VALUES-NEXT:      %[[V1:.*]] = tir.add %[[J]], %[[C1]] : i32
// VALUES-NEXT:      tir.store %[[V1]], %{{.*}}[%[[J]]] : i32
// VALUES-NEXT:    }
// VALUES-NEXT:    tir.for %[[K:.*]] = %[[C0]] to %[[C16]] {
// VALUES-NEXT:      tir.store %[[C5]], %{{.*}}[%[[K]]] : i32
// VALUES-NEXT:    }
// CHECK-LABEL: tir.func @known
// CHECK:         %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[C7:.*]] = tir.const 7 : i32
// CHECK-NEXT:    %[[C5:.*]] = tir.const 5 : i32
// CHECK-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[X:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[P:.*]] = tir.cmp eq %[[X]], %[[C0]] : i32
// CHECK-NEXT:    tir.if %[[P]] {
// CHECK-NEXT:      tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Y:.*]] = tir.add %[[X]], %[[C1]] : i32
// CHECK-NEXT:    tir.store %[[Y]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.store %[[C5]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[U:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    %[[V:.*]] = tir.add %[[U]], %[[C7]] : i32
// CHECK-NEXT:    tir.store %[[V]], %{{.*}}[%[[C0]]] : i32
// CHECK-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[J:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      %[[Z:.*]] = tir.load %{{.*}}[%[[J]]] : i32
// CHECK-NEXT:      %[[Q:.*]] = tir.cmp eq %[[Z]], %[[J]] : i32
// CHECK-NEXT:      tir.if %[[Q]] {
// CHECK-NEXT:        tir.store %[[C1]], %{{.*}}[%[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[INC:.*]] = tir.add %[[Z]], %[[C1]] : i32
// CHECK-NEXT:      tir.store %[[INC]], %{{.*}}[%[[J]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[K:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      %[[Z_1:.*]] = tir.load %{{.*}}[%[[K]]] : i32
// CHECK-NEXT:      %[[K1:.*]] = tir.add %[[K]], %[[C1]] : i32
// CHECK-NEXT:      %[[Q_1:.*]] = tir.cmp eq %[[Z_1]], %[[K1]] : i32
// CHECK-NEXT:      tir.if %[[Q_1]] {
// CHECK-NEXT:        tir.store %[[C5]], %{{.*}}[%[[K]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: Simplify.15
tir.func @assumptions(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %n0 = tir.cmp eq %n, %c0 : i32
  %u0 = tir.call "assume"(%n0) : (i1) -> i1
  tir.if %n0 {
    tir.store %c1, %B[%c0] : i32
  }
  // Under a condition, and as an alternative to one.
  tir.for %i = %c0 to %c16 {
    %far = tir.cmp le %c14, %i : i32
    tir.if %far {
      %x = tir.load %A[%i] : i32
      %p = tir.cmp eq %x, %c0 : i32
      %u = tir.call "assume"(%p) : (i1) -> i1
    }
    %near = tir.cmp lt %i, %c14 : i32
    %y = tir.load %B[%i] : i32
    %q = tir.cmp eq %y, %c1 : i32
    %r = tir.or %near, %q : i1
    %v = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %j = %c0 to %c16 {
    %x = tir.load %A[%j] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %y = tir.load %B[%j] : i32
    %q = tir.cmp eq %y, %c1 : i32
    %far = tir.cmp le %c14, %j : i32
    tir.if %far {
      tir.if %p {
        tir.if %q {
          tir.store %c2, %A[%j] : i32
        }
      }
    }
    // What is assumed in one branch says nothing outside of it.
    tir.if %q {
      tir.store %c1, %A[%j] : i32
    }
  }
}
// KNOWN-LABEL: tir.func @assumptions
// KNOWN:         %[[C0:.*]] = tir.const 0 : i32
// KNOWN-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// KNOWN-NEXT:    %[[C2:.*]] = tir.const 2 : i32
// KNOWN-NEXT:    %[[C14:.*]] = tir.const 14 : i32
// KNOWN-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// KNOWN-NEXT:    %[[N0:.*]] = tir.cmp eq %[[N:.*]], %[[C0]] : i32
// KNOWN-NEXT:    %[[U0:.*]] = tir.call "assume"(%[[N0]]) : (i1) -> i1
// KNOWN-NEXT:    tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[FAR:.*]] = tir.cmp le %[[C14]], %[[I]] : i32
// KNOWN-NEXT:      tir.if %[[FAR]] {
// KNOWN-NEXT:        %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// KNOWN-NEXT:        %[[P:.*]] = tir.cmp eq %[[X]], %[[C0]] : i32
// KNOWN-NEXT:        %[[U:.*]] = tir.call "assume"(%[[P]]) : (i1) -> i1
// KNOWN-NEXT:      }
// KNOWN-NEXT:      %[[NEAR:.*]] = tir.cmp lt %[[I]], %[[C14]] : i32
// KNOWN-NEXT:      %[[Y:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// KNOWN-NEXT:      %[[Q:.*]] = tir.cmp eq %[[Y]], %[[C1]] : i32
// KNOWN-NEXT:      %[[R:.*]] = tir.or %[[NEAR]], %[[Q]] : i1
// KNOWN-NEXT:      %[[V:.*]] = tir.call "assume"(%[[R]]) : (i1) -> i1
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[J:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[Y_1:.*]] = tir.load %{{.*}}[%[[J]]] : i32
// KNOWN-NEXT:      %[[Q_1:.*]] = tir.cmp eq %[[Y_1]], %[[C1]] : i32
// KNOWN-NEXT:      %[[FAR_1:.*]] = tir.cmp le %[[C14]], %[[J]] : i32
// KNOWN-NEXT:      tir.if %[[FAR_1]] {
// KNOWN-NEXT:        tir.store %[[C2]], %{{.*}}[%[[J]]] : i32
// KNOWN-NEXT:      }
// KNOWN-NEXT:      tir.if %[[Q_1]] {
// KNOWN-NEXT:        tir.store %[[C1]], %{{.*}}[%[[J]]] : i32
// KNOWN-NEXT:      }
// KNOWN-NEXT:    }

// -----

// CASE: Simplify.15
// A use before the overwrite, vectors, branches that write differently.
tir.func @written(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c11 = tir.const 11 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.store %c0, %A[%i] : i32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c0 : i32
    tir.if %p {
      tir.store %c4, %B[%i] : i32
    }
    tir.store %c1, %A[%i] : i32
  }
  %v = tir.ramp %c0, %c1 : vector<16xi32>
  %eleven = tir.broadcast %c11 : vector<16xi32>
  tir.store %eleven, %A[%v] : vector<16xi32>
  tir.store %v, %B[%v] : vector<16xi32>
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c11 : i32
    %y = tir.load %B[%i] : i32
    %q = tir.cmp eq %y, %i : i32
    tir.if %p {
      tir.if %q {
        tir.store %c14, %B[%i] : i32
      }
    }
  }
  tir.for %i = %c0 to %c16 {
    %near = tir.cmp lt %i, %c14 : i32
    tir.if %near {
      tir.store %c0, %A[%i] : i32
    } else {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %is0 = tir.cmp eq %x, %c0 : i32
    %is1 = tir.cmp eq %x, %c1 : i32
    %near = tir.cmp lt %i, %c14 : i32
    tir.if %near {
      tir.if %is0 {
        tir.store %c11, %B[%i] : i32
      }
    } else {
      tir.if %is1 {
        tir.store %c16, %B[%i] : i32
      }
    }
  }
}
// KNOWN-LABEL: tir.func @written
// KNOWN:         %[[C0:.*]] = tir.const 0 : i32
// KNOWN-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// KNOWN-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// KNOWN-NEXT:    %[[C11:.*]] = tir.const 11 : i32
// KNOWN-NEXT:    %[[C14:.*]] = tir.const 14 : i32
// KNOWN-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// KNOWN-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      tir.store %[[C0]], %{{.*}}[%[[I]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[I_1:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      tir.store %[[C4]], %{{.*}}[%[[I_1]]] : i32
// KNOWN-NEXT:      tir.store %[[C1]], %{{.*}}[%[[I_1]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    %[[V:.*]] = tir.ramp %[[C0]], %[[C1]] : vector<16xi32>
// KNOWN-NEXT:    %[[ELEVEN:.*]] = tir.broadcast %[[C11]] : vector<16xi32>
// KNOWN-NEXT:    tir.store %[[ELEVEN]], %{{.*}}[%[[V]]] : vector<16xi32>
// KNOWN-NEXT:    tir.store %[[V]], %{{.*}}[%[[V]]] : vector<16xi32>
// KNOWN-NEXT:    tir.for %[[I_2:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      tir.store %[[C14]], %{{.*}}[%[[I_2]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[I_3:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[NEAR:.*]] = tir.cmp lt %[[I_3]], %[[C14]] : i32
// KNOWN-NEXT:      tir.if %[[NEAR]] {
// KNOWN-NEXT:        tir.store %[[C0]], %{{.*}}[%[[I_3]]] : i32
// KNOWN-NEXT:      } else {
// KNOWN-NEXT:        tir.store %[[C1]], %{{.*}}[%[[I_3]]] : i32
// KNOWN-NEXT:      }
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[I_4:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[NEAR_1:.*]] = tir.cmp lt %[[I_4]], %[[C14]] : i32
// KNOWN-NEXT:      tir.if %[[NEAR_1]] {
// KNOWN-NEXT:        tir.store %[[C11]], %{{.*}}[%[[I_4]]] : i32
// KNOWN-NEXT:      } else {
// KNOWN-NEXT:        tir.store %[[C16]], %{{.*}}[%[[I_4]]] : i32
// KNOWN-NEXT:      }
// KNOWN-NEXT:    }

// -----

// CASE: Simplify.15
// What is not known: another predicate, a conditional write, a value that is overwritten,
// one that a loop carries.
tir.func @unknown(%a: !tir.handle, %b: !tir.handle, %n: i32, %k: i1) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %near = tir.cmp lt %i, %c14 : i32
    %r = tir.or %near, %p : i1
    %u = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %far = tir.cmp le %c13, %i : i32
    tir.if %far {
      tir.if %p {
        tir.store %c1, %B[%i] : i32
      }
    }
  }
  tir.store %c0, %A[%c0] : i32
  tir.if %k {
    tir.store %c1, %A[%c0] : i32
  }
  %y = tir.load %A[%c0] : i32
  %q = tir.cmp eq %y, %c0 : i32
  tir.if %q {
    tir.store %c13, %B[%c0] : i32
  }
  tir.store %c0, %A[%c0] : i32
  tir.store %n, %A[%c0] : i32
  %z = tir.load %A[%c0] : i32
  %s = tir.cmp eq %z, %c0 : i32
  tir.if %s {
    tir.store %c14, %B[%c0] : i32
  }
  tir.store %c0, %A[%c0] : i32
  tir.for %i = %c0 to %c16 {
    %w = tir.load %A[%c0] : i32
    %t = tir.cmp eq %w, %c0 : i32
    tir.if %t {
      tir.store %c16, %B[%i] : i32
    }
    tir.store %c1, %A[%c0] : i32
  }
}
// KNOWN-LABEL: tir.func @unknown
// KNOWN:         %[[C0:.*]] = tir.const 0 : i32
// KNOWN-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// KNOWN-NEXT:    %[[C13:.*]] = tir.const 13 : i32
// KNOWN-NEXT:    %[[C14:.*]] = tir.const 14 : i32
// KNOWN-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// KNOWN-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// KNOWN-NEXT:      %[[P:.*]] = tir.cmp eq %[[X]], %[[C0]] : i32
// KNOWN-NEXT:      %[[NEAR:.*]] = tir.cmp lt %[[I]], %[[C14]] : i32
// KNOWN-NEXT:      %[[R:.*]] = tir.or %[[NEAR]], %[[P]] : i1
// KNOWN-NEXT:      %[[U:.*]] = tir.call "assume"(%[[R]]) : (i1) -> i1
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[I_1:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[X_1:.*]] = tir.load %{{.*}}[%[[I_1]]] : i32
// KNOWN-NEXT:      %[[P_1:.*]] = tir.cmp eq %[[X_1]], %[[C0]] : i32
// KNOWN-NEXT:      %[[FAR:.*]] = tir.cmp le %[[C13]], %[[I_1]] : i32
// KNOWN-NEXT:      tir.if %[[FAR]] {
// KNOWN-NEXT:        tir.if %[[P_1]] {
// KNOWN-NEXT:          tir.store %[[C1]], %{{.*}}[%[[I_1]]] : i32
// KNOWN-NEXT:        }
// KNOWN-NEXT:      }
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.if %[[K:.*]] {
// KNOWN-NEXT:      tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    %[[Y:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[Q:.*]] = tir.cmp eq %[[Y]], %[[C0]] : i32
// KNOWN-NEXT:    tir.if %[[Q]] {
// KNOWN-NEXT:      tir.store %[[C13]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.store %[[N:.*]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[Z:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    %[[S:.*]] = tir.cmp eq %[[Z]], %[[C0]] : i32
// KNOWN-NEXT:    tir.if %[[S]] {
// KNOWN-NEXT:      tir.store %[[C14]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.store %[[C0]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    tir.for %[[I_2:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      %[[W:.*]] = tir.load %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:      %[[T:.*]] = tir.cmp eq %[[W]], %[[C0]] : i32
// KNOWN-NEXT:      tir.if %[[T]] {
// KNOWN-NEXT:        tir.store %[[C16]], %{{.*}}[%[[I_2]]] : i32
// KNOWN-NEXT:      }
// KNOWN-NEXT:      tir.store %[[C1]], %{{.*}}[%[[C0]]] : i32
// KNOWN-NEXT:    }

// -----

// CASE: Simplify.15
// Padding that is known to be zero: all that is gathered from it is zero, and what is
// scattered into it can be left out.
tir.func @padding(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<18xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<18xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c16 = tir.const 16 : i32
  %c17 = tir.const 17 : i32
  %c18 = tir.const 18 : i32
  tir.for %i = %c0 to %c18 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %low = tir.cmp le %c1, %i : i32
    %high = tir.cmp lt %i, %c17 : i32
    %inside = tir.and %low, %high : i1
    %r = tir.or %inside, %p : i1
    %u = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    tir.for %f = %c0 to %c3 {
      %g = tir.add %i, %f : i32
      %x = tir.load %A[%g] : i32
      %p = tir.cmp ne %x, %c0 : i32
      %low = tir.cmp lt %g, %c1 : i32
      tir.if %low {
        tir.if %p {
          tir.store %x, %B[%g] : i32
        }
      }
    }
  }
}
// KNOWN-LABEL: tir.func @padding
// KNOWN:         %[[C0:.*]] = tir.const 0 : i32
// KNOWN-NEXT:    %[[C1:.*]] = tir.const 1 : i32
// KNOWN-NEXT:    %[[C3:.*]] = tir.const 3 : i32
// KNOWN-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// KNOWN-NEXT:    %[[C17:.*]] = tir.const 17 : i32
// KNOWN-NEXT:    %[[C18:.*]] = tir.const 18 : i32
// KNOWN-NEXT:    tir.for %[[I:.*]] = %[[C0]] to %[[C18]] {
// KNOWN-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// KNOWN-NEXT:      %[[P:.*]] = tir.cmp eq %[[X]], %[[C0]] : i32
// KNOWN-NEXT:      %[[LOW:.*]] = tir.cmp le %[[C1]], %[[I]] : i32
// KNOWN-NEXT:      %[[HIGH:.*]] = tir.cmp lt %[[I]], %[[C17]] : i32
// KNOWN-NEXT:      %[[INSIDE:.*]] = tir.and %[[LOW]], %[[HIGH]] : i1
// KNOWN-NEXT:      %[[R:.*]] = tir.or %[[INSIDE]], %[[P]] : i1
// KNOWN-NEXT:      %[[U:.*]] = tir.call "assume"(%[[R]]) : (i1) -> i1
// KNOWN-NEXT:    }
// KNOWN-NEXT:    tir.for %[[I_1:.*]] = %[[C0]] to %[[C16]] {
// KNOWN-NEXT:      tir.for %[[F:.*]] = %[[C0]] to %[[C3]] {
// KNOWN-NEXT:        %[[G:.*]] = tir.add %[[I_1]], %[[F]] : i32
// KNOWN-NEXT:        %[[LOW_1:.*]] = tir.cmp lt %[[G]], %[[C1]] : i32
// KNOWN-NEXT:        tir.if %[[LOW_1]] {
// KNOWN-NEXT:        }
// KNOWN-NEXT:      }
// KNOWN-NEXT:    }

// -----

// A cast undoes one that loses nothing; a narrow one may cut bits off.

tir.func @casts(%a: !tir.handle) attributes {global_symbol = "casts"} {
  %A = tir.match_buffer %a : !tir.buffer<64xi64>
  %c0 = tir.const 0 : i64
  %c32 = tir.const 32 : i64
  %big = tir.const 3000000000 : i64
  tir.for %i = %c0 to %c32 {
    %x = tir.mul %i, %big : i64
    %y = tir.cast %x : i64 to i32
    %z = tir.cast %y : i32 to i64
    tir.store %z, %A[%i] : i64
    %u = tir.cast %i : i64 to i32
    %v = tir.cast %u : i32 to i64
    %j = tir.add %v, %c32 : i64
    tir.store %c0, %A[%j] : i64
  }
}
// CHECK-LABEL: tir.func @casts
// CHECK: %[[Y:.*]] = tir.cast %{{.*}} : i64 to i32
// CHECK-NEXT: %[[Z:.*]] = tir.cast %[[Y]] : i32 to i64
// CHECK-NEXT: tir.store %[[Z]]
// CHECK-NEXT: %[[J:.*]] = tir.add %i, %c32 : i64
