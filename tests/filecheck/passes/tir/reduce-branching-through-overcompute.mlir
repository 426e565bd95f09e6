// RUN: xdsl-opt %s -p tir-reduce-branching-through-overcompute --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-reduce-branching-through-overcompute{use_dataflow_analysis=true}' --split-input-file | filecheck %s --check-prefix=FLOW

// CASE: ReduceBranchingThroughOvercompute.1
tir.func @equal(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
      tir.evaluate
    } else {
      tir.store %c1, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @equal
// CHECK:         tir.for %i
// CHECK-NEXT:      tir.store %c1, %A[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// CASE: ReduceBranchingThroughOvercompute.2
// CASE: ReduceBranchingThroughOvercompute.8
// Nothing is added in the first iteration. Without the dataflow, this one and the next
// ones stay as they are.
tir.func @self_store(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp gt %i, %c0 : i32
    tir.if %p {
      %x = tir.load %A[%c0] : i32
      %y = tir.mul %i, %i : i32
      %z = tir.add %x, %y : i32
      tir.store %z, %A[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @self_store
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @self_store
// FLOW:          tir.for %i
// FLOW-NEXT:       %x = tir.load %A[%c0]
// FLOW-NEXT:       %y = tir.mul
// FLOW-NEXT:       %z = tir.add
// FLOW-NEXT:       tir.store %z, %A[%c0]

// -----

// CASE: ReduceBranchingThroughOvercompute.3
// The elements are stored before they are assumed, so that the function can be executed.
tir.func @assumed(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.store %c0, %A[%c14] : i32
  %c15 = tir.add %c14, %c1 : i32
  tir.store %c0, %A[%c15] : i32
  tir.for %h = %c0 to %c16 {
    %x = tir.load %A[%h] : i32
    %z = tir.cmp eq %x, %c0 : i32
    %q = tir.cmp lt %h, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      %x = tir.load %A[%i] : i32
      %y = tir.load %B[%c0] : i32
      %z = tir.add %y, %x : i32
      tir.store %z, %B[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @assumed
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @assumed
// FLOW:          tir.for %i
// FLOW-NEXT:       %{{.*}} = tir.load %A[%i]
// FLOW-NEXT:       %y = tir.load %B[%c0]
// FLOW-NEXT:       %{{.*}} = tir.add
// FLOW-NEXT:       tir.store %{{.*}}, %B[%c0]

// -----

// CASE: ReduceBranchingThroughOvercompute.4
// What the first loop writes additionally is overwritten by the second.
tir.func @overwritten(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.for %j = %c0 to %c16 {
    %q = tir.cmp ge %j, %c14 : i32
    tir.if %q {
      tir.store %c2, %A[%j] : i32
    }
  }
}
// CHECK-LABEL: tir.func @overwritten
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @overwritten
// FLOW:          tir.for %i
// FLOW-NEXT:       tir.store %c1, %A[%i]

// -----

// CASE: ReduceBranchingThroughOvercompute.5
tir.func @split(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.for %io = %c0 to %c4 {
    tir.for %ii = %c0 to %c4 {
      %0 = tir.mul %c4, %io : i32
      %1 = tir.add %0, %ii : i32
      %q0 = tir.cmp eq %io, %c3 : i32
      %q1 = tir.cmp ge %ii, %c2 : i32
      %q = tir.and %q0, %q1 : i1
      tir.if %q {
        tir.store %c2, %A[%1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @split
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @split
// FLOW:          tir.for %i
// FLOW-NEXT:       tir.store %c1, %A[%i]

// -----

// CASE: ReduceBranchingThroughOvercompute.6
tir.func @superset(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.for %j = %c0 to %c16 {
    %q = tir.cmp ge %j, %c13 : i32
    tir.if %q {
      tir.store %c2, %A[%j] : i32
    }
  }
}
// CHECK-LABEL: tir.func @superset
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @superset
// FLOW:          tir.for %i
// FLOW-NEXT:       tir.store %c1, %A[%i]

// -----

// CASE: ReduceBranchingThroughOvercompute.7
tir.func @read(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.for %j = %c0 to %c16 {
    %q = tir.cmp ge %j, %c14 : i32
    tir.if %q {
      %x = tir.load %A[%j] : i32
      %y = tir.add %x, %c1 : i32
      tir.store %y, %A[%j] : i32
    }
  }
}
// CHECK-LABEL: tir.func @read
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @read
// FLOW:          tir.for %i
// FLOW-NEXT:       %p = tir.cmp
// FLOW-NEXT:       tir.if %p

// -----

// Only some of the additional elements are overwritten.
tir.func @subset(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.store %c2, %A[%c14] : i32
}
// CHECK-LABEL: tir.func @subset
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @subset
// FLOW:          tir.for %i
// FLOW-NEXT:       %p = tir.cmp
// FLOW-NEXT:       tir.if %p

// -----

// The way that is taken always is the second one.
tir.func @second(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp ge %i, %c14 : i32
    tir.if %p {
      tir.evaluate
    } else {
      tir.store %c1, %A[%i] : i32
    }
  }
  tir.for %j = %c0 to %c16 {
    %q = tir.cmp ge %j, %c14 : i32
    tir.if %q {
      tir.store %c2, %A[%j] : i32
    }
  }
}
// CHECK-LABEL: tir.func @second
// CHECK:         tir.for %i
// CHECK-NEXT:      %p = tir.cmp
// CHECK-NEXT:      tir.if %p
// FLOW-LABEL:  tir.func @second
// FLOW:          tir.for %i
// FLOW-NEXT:       tir.store %c1, %A[%i]

// -----

// The additional store would be outside of the buffer, whoever overwrites it.
tir.func @outside(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %D = tir.alloc_buffer "D" : !tir.buffer<14xi32>
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c14 : i32
    tir.if %p {
      tir.store %c1, %D[%i] : i32
    }
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp lt %j, %c14 : i32
    tir.if %p {
      tir.store %c2, %D[%j] : i32
    }
  }
}
// FLOW-LABEL:  tir.func @outside
// FLOW:          tir.for %i
// FLOW-NEXT:       %p = tir.cmp
// FLOW-NEXT:       tir.if %p

// -----

// A division that may be by zero where it was not done.
tir.func @division(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp gt %i, %c0 : i32
    tir.if %p {
      %x = tir.div %c14, %i : i32
      tir.store %x, %A[%i] : i32
    }
  }
  tir.store %c2, %A[%c0] : i32
}
// FLOW-LABEL:  tir.func @division
// FLOW:          tir.for %i
// FLOW-NEXT:       %p = tir.cmp
// FLOW-NEXT:       tir.if %p

// -----

// Iterations without an order: another one may write between the read and the store.
tir.func @parallel(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c13 = tir.const 13 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 parallel {
    %p = tir.cmp eq %i, %c4 : i32
    tir.if %p {
      tir.store %c1, %A[%c0] : i32
    }
  }
  tir.store %c2, %A[%c0] : i32
}
// FLOW-LABEL:  tir.func @parallel
// FLOW:          tir.for %i
// FLOW-NEXT:       %p = tir.cmp
// FLOW-NEXT:       tir.if %p

// -----

// What the first branch writes additionally is overwritten by the last one. Then the second
// one may not count on what was there.
tir.func @stale(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %p = tir.cmp lt %n, %c0 : i32
  tir.store %c0, %A[%c0] : i32
  tir.if %p {
    tir.store %c1, %A[%c0] : i32
  }
  tir.if %p {
    %x = tir.load %A[%c0] : i32
    %y = tir.load %B[%c0] : i32
    %z = tir.add %y, %x : i32
    tir.store %z, %B[%c0] : i32
  }
  %q = tir.cmp ge %n, %c0 : i32
  tir.if %q {
    tir.store %c2, %A[%c0] : i32
  }
}
// FLOW-LABEL:  tir.func @stale
// FLOW:          tir.store %c0, %A[%c0]
// FLOW-NEXT:     tir.store %c1, %A[%c0]
// FLOW-NEXT:     tir.if %p
// FLOW-NEXT:       %x = tir.load %A[%c0]

// -----

// What both cases have in common remains once; the statements that only one of them has
// change nothing. They are executed always.
tir.func @without_effect(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %none = tir.cmp le %n, %c0 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp gt %n, %i : i32
    tir.if %p {
      tir.store %c2, %A[%i] : i32
    } else {
      tir.store %c2, %A[%i] : i32
      %x = tir.load %B[%i] : i32
      tir.store %x, %B[%i] : i32
    }
    %q = tir.cmp eq %i, %n : i32
    tir.if %q {
      tir.store %n, %B[%i] : i32
      tir.for %j = %c0 to %c0 {
        tir.store %c2, %A[%j] : i32
      }
    } else {
      tir.store %n, %B[%i] : i32
    }
  }
  // The loop runs only where its case was taken.
  tir.if %none {
    tir.store %c2, %B[%c0] : i32
  } else {
    tir.store %c2, %B[%c0] : i32
    tir.for %k = %c0 to %n {
      tir.store %n, %A[%k] : i32
    }
  }
}
// CHECK-LABEL: tir.func @without_effect
// CHECK:         tir.for %i
// CHECK-NEXT:      tir.store %c2, %A[%i]
// CHECK-NEXT:      %x = tir.load %B[%i]
// CHECK-NEXT:      tir.store %x, %B[%i]
// CHECK-NEXT:      tir.store %n, %B[%i]
// CHECK-NEXT:      tir.for %j
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.store %c2, %B[%c0]
// CHECK-NEXT:    tir.for %k = %c0 to %n
// CHECK-NEXT:      tir.store %n, %A[%k]
// CHECK-NOT:     tir.if

// -----

// Statements that may fail or race where they were not executed, but have no effect where
// they were: the case without them is taken.
tir.func @not_executed(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %n : i32
    tir.if %p {
      tir.store %c1, %A[%i] : i32
    } else {
      tir.store %c1, %A[%i] : i32
      %k = tir.add %i, %n : i32
      %x = tir.load %B[%k] : i32
      tir.store %x, %B[%k] : i32
    }
  }
  tir.for %j = %c0 to %c16 parallel {
    %q = tir.cmp lt %j, %n : i32
    tir.if %q {
      tir.store %c1, %A[%j] : i32
    } else {
      tir.store %c1, %A[%j] : i32
      %y = tir.load %B[%c0] : i32
      tir.store %y, %B[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @not_executed
// CHECK:         tir.for %i
// CHECK-NEXT:      tir.store %c1, %A[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %j
// CHECK-NEXT:      tir.store %c1, %A[%j]
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// What looks like nothing is something: the memory is volatile, written between the read
// and the store, or the loop runs, or has no iterations in the wrong case.
tir.func @with_effect(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp gt %n, %c0 : i32
  %data = tir.data %B : !tir.ptr<i32>
  tir.attr "volatile_scope" (%data) = 1 : i32 {
    tir.if %p {
      tir.store %c1, %A[%c0] : i32
    } else {
      tir.store %c1, %A[%c0] : i32
      %x = tir.load %B[%c0] : i32
      tir.store %x, %B[%c0] : i32
    }
  }
  tir.if %p {
    tir.store %c1, %A[%c0] : i32
  } else {
    %x = tir.load %A[%c0] : i32
    tir.store %c1, %A[%c0] : i32
    tir.store %x, %A[%c0] : i32
  }
  tir.if %p {
    tir.store %c1, %A[%c0] : i32
    tir.for %k = %c0 to %n {
      tir.store %n, %A[%c1] : i32
    }
  } else {
    tir.store %c1, %A[%c0] : i32
    tir.for %k = %c0 to %c1 {
      tir.store %n, %A[%c1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @with_effect
// CHECK-COUNT-3: tir.if %p
