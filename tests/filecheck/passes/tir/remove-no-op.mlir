// RUN: xdsl-opt %s -p tir-remove-no-op --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'tir-remove-no-op{use_dataflow_analysis=true max_simplification_steps=200000}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix=FLOW

// CASE: RemoveNoOp.1
tir.func @loops(%n: i32, %m: i32) {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.for %j = %c0 to %c16 {
      tir.for %k = %c0 to %c16 {
        %p = tir.cmp lt %i, %j : i32
        tir.if %p {
          tir.evaluate %m : i32
        } else {
          tir.evaluate %n : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @loops
// CHECK-NEXT:  }

// -----

tir.func @sequence(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  tir.evaluate
  tir.scope {
    tir.evaluate %c0 : i32
    tir.scope {
      tir.evaluate
    }
  }
  tir.store %c0, %A[%c0] : i32
  tir.evaluate
  tir.for %i = %c0 to %c0 {
    tir.store %i, %A[%i] : i32
  }
}
// CHECK-LABEL: tir.func @sequence
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    tir.store %c0, %A[%c0] : i32
// CHECK-NEXT:  }

// -----

// CASE: RemoveNoOp.2
// The inner loop runs from 0 to at most -5. In the second nest it may run.
tir.func @never(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %c20 = tir.const 20 : i32
  tir.for %i = %c0 to %c16 {
    %e = tir.sub %i, %c20 : i32
    tir.for %j = %c0 to %e {
      tir.store %j, %A[%i] : i32
    }
  }
  tir.for %h = %c0 to %c16 {
    %d = tir.sub %h, %c14 : i32
    tir.for %k = %c0 to %d {
      tir.store %k, %A[%h] : i32
    }
  }
  tir.launch_thread %tx = "threadIdx.x" to %n {
    %f = tir.sub %tx, %n : i32
    tir.for %l = %c0 to %f {
      tir.store %l, %A[%tx] : i32
    }
  }
}
// CHECK-LABEL: tir.func @never
// CHECK-NOT:     tir.sub %i
// CHECK:         tir.for %h
// CHECK:           tir.for %k
// CHECK:             tir.store %k
// CHECK-NOT:     tir.launch_thread

// -----

// CASE: RemoveNoOp.3
tir.func @lets(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
  }
  %0 = tir.add %n, %c16 : i32
  %unused = tir.let "unused" %0 : i32
  %1 = tir.mul %n, %c16 : i32
  %noop = tir.let "noop" %1 : i32
  tir.evaluate %noop : i32
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  %effect = tir.let "effect" %r : i32
  %kept = tir.let "kept" %n : i32
  tir.store %kept, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @lets
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0
// CHECK-NEXT:    %f = tir.string "f"
// CHECK-NEXT:    %r = tir.call "call_extern"(%f)
// CHECK-NEXT:    %kept = tir.let "kept" %n : i32
// CHECK-NEXT:    tir.store %kept, %A[%c0] : i32
// CHECK-NEXT:  }

// -----

// CASE: RemoveNoOp.4
tir.func @branches(%a: !tir.handle, %x: f32, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %true = tir.const true
  %false = tir.const false
  %p = tir.cmp lt %n, %c1 : i32
  tir.if %p {
    tir.evaluate
  } else {
    tir.store %x, %A[%c0] : f32
  }
  %q = tir.cmp lt %x, %x : f32
  tir.if %q {
  } else {
    tir.store %x, %A[%c1] : f32
  }
  %r = tir.not %q : i1
  tir.if %r {
  } else {
    tir.store %x, %A[%c2] : f32
  }
  tir.if %p {
    tir.store %x, %A[%c3] : f32
  } else {
    tir.evaluate %n : i32
  }
  tir.if %true {
    tir.evaluate
  } else {
    tir.evaluate
  }
  tir.if %false {
    tir.store %x, %A[%n] : f32
  }
  tir.if %true {
    tir.if %false {
    } else {
      %y = tir.let "y" %x : f32
      tir.store %y, %A[%c4] : f32
    }
  } else {
    tir.store %x, %A[%n] : f32
  }
}
// CHECK-LABEL: tir.func @branches
// CHECK:         %[[P:.*]] = tir.cmp lt %n
// CHECK-NEXT:    %[[NP:.*]] = tir.not %[[P]]
// CHECK-NEXT:    tir.if %[[NP]] {
// CHECK-NEXT:      tir.store %x, %A[%c0]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Q:.*]] = tir.cmp lt %x, %x
// CHECK-NEXT:    %[[NQ:.*]] = tir.not %[[Q]]
// CHECK-NEXT:    tir.if %[[NQ]] {
// CHECK-NEXT:      tir.store %x, %A[%c1]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[R:.*]] = tir.not %[[Q]]
// CHECK-NEXT:    %[[NR:.*]] = tir.not %[[R]]
// CHECK-NEXT:    tir.if %[[NR]] {
// CHECK-NEXT:      tir.store %x, %A[%c2]
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.if %[[P]] {
// CHECK-NEXT:      tir.store %x, %A[%c3]
// CHECK-NEXT:    }
// CHECK-NEXT:    %y = tir.let "y" %x : f32
// CHECK-NEXT:    tir.store %y, %A[%c4]
// CHECK-NEXT:  }

// -----

// CASE: RemoveNoOp.5
// Only the dataflow sees that a store is overwritten. What its value does is still done.
tir.func @two_writes(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  tir.store %r, %A[%c0] : i32
  tir.store %c0, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @two_writes
// CHECK:         tir.store %r
// CHECK-NEXT:    tir.store %c0
// FLOW-LABEL:  tir.func @two_writes
// FLOW:          %r = tir.call "call_extern"
// FLOW-NEXT:     tir.store %c0, %A[%c0] : i32
// FLOW-NEXT:   }

// -----

tir.func @overwritten_loops(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  // A part of what the next loop writes.
  tir.for %i = %c0 to %c4 {
    tir.store %c0, %A[%i] : i32
  }
  tir.for %j = %c0 to %c16 {
    tir.store %c1, %A[%j] : i32
  }
  tir.for %k = %c0 to %c16 {
    tir.store %c0, %B[%k] : i32
  }
  tir.for %l = %c0 to %c16 {
    tir.store %l, %A[%l] : i32
  }
}
// FLOW-LABEL:  tir.func @overwritten_loops
// FLOW-NOT:      tir.for %i
// FLOW-NOT:      tir.for %j
// FLOW:          tir.for %k
// FLOW-NEXT:       tir.store %{{.*}}, %B[%k]
// FLOW:          tir.for %l
// FLOW-NEXT:       tir.store %l, %A[%l]

// -----

// CASE: RemoveNoOp.8
// Predicates that are the same, and that cover each other.
tir.func @predicated(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c10 = tir.const 10 : i32
  %c12 = tir.const 12 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c12 : i32
    tir.if %p {
      tir.store %c0, %A[%i] : i32
    }
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp lt %j, %c12 : i32
    tir.if %p {
      tir.store %c1, %A[%j] : i32
    }
  }
  tir.for %k = %c0 to %c16 {
    %p = tir.cmp lt %k, %c10 : i32
    tir.if %p {
      tir.store %c0, %B[%k] : i32
    }
  }
  tir.for %l = %c0 to %c16 {
    %d = tir.floordiv %l, %c4 : i32
    %p = tir.cmp lt %d, %c3 : i32
    tir.if %p {
      tir.store %c1, %B[%l] : i32
    }
  }
}
// FLOW-LABEL:  tir.func @predicated
// FLOW-NOT:      tir.for %i
// FLOW:          tir.for %j
// FLOW:          tir.store %{{.*}}, %A[%j]
// FLOW-NOT:      tir.for %k
// FLOW:          tir.for %l
// FLOW:          tir.store %{{.*}}, %B[%l]

// -----

// A known value is not written again; of two equal loops one is kept.
tir.func @known(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.store %i, %A[%i] : i32
  }
  tir.for %j = %c0 to %c16 {
    %x = tir.load %A[%j] : i32
    tir.store %x, %B[%j] : i32
    tir.store %j, %A[%j] : i32
  }
  tir.for %k = %c0 to %c16 {
    tir.store %c16, %A[%k] : i32
  }
  tir.for %l = %c0 to %c16 {
    tir.store %c16, %A[%l] : i32
  }
}
// FLOW-LABEL:  tir.func @known
// FLOW:          tir.store %i, %A[%i]
// FLOW:          tir.load %A[%j]
// FLOW-NEXT:     tir.store %x, %B[%j]
// FLOW-NEXT:   }
// FLOW-NOT:      tir.for %k
// FLOW:          tir.for %l
// FLOW-NEXT:       tir.store %{{.*}}, %A[%l]

// -----

// A part is overwritten, or what is overwritten is read before.
tir.func @needed(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c15 = tir.const 15 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.store %c1, %A[%i] : i32
  }
  tir.for %j = %c0 to %c15 {
    tir.store %c0, %A[%j] : i32
  }
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  tir.store %r, %B[%c0] : i32
  %x = tir.load %B[%c0] : i32
  %y = tir.add %x, %c1 : i32
  tir.store %y, %B[%c0] : i32
}
// FLOW-LABEL:  tir.func @needed
// FLOW:          tir.store %{{.*}}, %A[%i]
// FLOW:          tir.store %{{.*}}, %A[%j]
// FLOW:          tir.store %r, %B[%c0]
// FLOW:          tir.store %{{.*}}, %B[%c0]

// -----

// CASE: RemoveNoOp.6
tir.func @self(%a: !tir.handle, %m: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<17xf32>
  %M = tir.match_buffer "M" %m : !tir.buffer<17xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %x0 = tir.load %A[%c0] : f32
  tir.store %x0, %A[%c0] : f32
  tir.for %io = %c0 to %c4 {
    tir.for %ii = %c0 to %c4 {
      %0 = tir.mul %c4, %io : i32
      %1 = tir.add %0, %ii : i32
      %i = tir.let "i" %1 : i32
      %x = tir.load %A[%i] : f32
      tir.store %x, %A[%1] : f32
    }
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp eq %j, %c0 : i32
    tir.if %p {
      %x = tir.load %A[%c0] : f32
      tir.store %x, %A[%j] : f32
    }
    %q = tir.cmp ne %j, %c0 : i32
    tir.if %q {
    } else {
      %x = tir.load %A[%c0] : f32
      tir.store %x, %A[%j] : f32
    }
    %y = tir.load %M[%j] : i32
    %z = tir.mul %y, %c1 : i32
    %w = tir.let "w" %z : i32
    tir.store %w, %M[%j] : i32
  }
  tir.for %k = %c0 to %c16 {
    %k1 = tir.add %k, %c1 : i32
    %x = tir.load %A[%k1] : f32
    tir.store %x, %A[%k] : f32
  }
}
// CHECK-LABEL: tir.func @self
// CHECK-NOT:     tir.store
// CHECK:         tir.for %k
// CHECK-NEXT:      tir.add
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      tir.store

// -----

// What was read is not there any more, or is not certain to be.
tir.func @not_self(%a: !tir.handle, %b: !tir.handle, %q: vector<4xi1>) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %one = tir.const 1.0 : f32
  %x = tir.load %A[%c0] : f32
  tir.store %one, %B[%c0] : f32
  tir.store %x, %A[%c0] : f32
  %y = tir.load %A[%c1] : f32
  tir.for %i = %c0 to %c16 {
    tir.store %y, %A[%c1] : f32
    tir.store %one, %A[%i] : f32
  }
  %r = tir.ramp %c0, %c1 : vector<4xi32>
  %u = tir.load %A[%r] if %q : vector<4xf32>
  tir.store %u, %A[%r] : vector<4xf32>
  %v = tir.load %A[%r] : vector<4xf32>
  tir.store %v, %A[%r] if %q : vector<4xf32>
  %k = tir.call "reinterpret"(%v) : (vector<4xf32>) -> vector<4xi32>
  %zeros = tir.broadcast %c0 : vector<4xi32>
  %none = tir.floordiv %k, %zeros : vector<4xi32>
  %f = tir.call "reinterpret"(%none) : (vector<4xi32>) -> vector<4xf32>
  %g = tir.add %f, %v : vector<4xf32>
  tir.store %g, %A[%r] if %q : vector<4xf32>
  %p = tir.data %A : !tir.ptr<f32>
  tir.attr "volatile_scope" (%p) = %c1 {
    %w = tir.load %A[%c0] : f32
    tir.evaluate %w : f32
  }
}
// CHECK-LABEL: tir.func @not_self
// CHECK:         tir.store %x, %A[%c0]
// CHECK:         tir.store %y, %A[%c1]
// CHECK:         tir.store %u, %A[%r]
// CHECK-NEXT:    %v = tir.load
// CHECK-NEXT:    tir.store %v, %A[%r] if %q

// -----

// The same memory through another view; a view with another layout is not the same.
tir.func @views(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %p = tir.data %A : !tir.ptr<f32>
  %V = tir.decl_buffer "V" %p : !tir.buffer<16xf32>
  %q = tir.let "q" %p : !tir.ptr<f32>
  %W = tir.decl_buffer "W" %q offset %c3 : !tir.buffer<4xf32>
  %X = tir.decl_buffer "X" %q offset %c3 : !tir.buffer<4xf32>
  %x = tir.load %V[%c3] : f32
  tir.store %x, %A[%c3] : f32
  %y = tir.load %W[%c0] : f32
  tir.store %y, %X[%c0] : f32
  %z = tir.load %A[%c0] : f32
  tir.store %z, %X[%c0] : f32
}
// CHECK-LABEL: tir.func @views
// CHECK-NOT:     "V"
// CHECK-NOT:     "W"
// CHECK:         %X = tir.decl_buffer "X"
// CHECK-NEXT:    %z = tir.load %A[%c0]
// CHECK-NEXT:    tir.store %z, %X[%c0]
// CHECK-NEXT:  }

// -----

// CASE: RemoveNoOp.7
// Memory that is only written stays, as what its stores mean is not asked.
tir.func @allocations(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.allocate [16] : !tir.ptr<i32, "local">
    %P = tir.decl_buffer "P" %p : !tir.buffer<16xi32, "local">
    %x = tir.load %P[%i] : i32
    tir.evaluate %x : i32
  }
  %q = tir.allocate "q" [%n] : !tir.ptr<i32>
  %r = tir.allocate "r" [16] : !tir.ptr<i32, "local">
  %R = tir.decl_buffer "R" %r : !tir.buffer<16xi32, "local">
  tir.for %j = %c0 to %c16 {
    tir.store %j, %R[%j] : i32
  }
  tir.store %n, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @allocations
// CHECK-NOT:     tir.for %i
// CHECK-NOT:     "q"
// CHECK:         %r = tir.allocate "r"
// CHECK-NEXT:    tir.decl_buffer "R"
// CHECK-NEXT:    tir.for %j
// CHECK-NEXT:      tir.store %j, %R[%j]

// -----

// A predicated region that is written in part, with another loop in between.
tir.func @separated(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c12 = tir.const 12 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.cmp lt %i, %c12 : i32
    tir.if %p {
      tir.store %c0, %A[%i] : i32
    }
  }
  tir.for %k = %c0 to %c16 {
    tir.store %c0, %B[%k] : i32
  }
  tir.for %j = %c0 to %c12 {
    tir.store %c1, %A[%j] : i32
  }
}
// CHECK-LABEL: tir.func @separated
// CHECK:         tir.store %{{.*}}, %A[%i]
// CHECK:         tir.store %{{.*}}, %B[%k]
// CHECK:         tir.store %{{.*}}, %A[%j]
// FLOW-LABEL:  tir.func @separated
// FLOW-NOT:      tir.for %i
// FLOW:          tir.store %{{.*}}, %B[%k]
// FLOW:          tir.store %{{.*}}, %A[%j]

// -----

// Statements that are kept, and attributes.
tir.func @kept(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %m = tir.shape_var "m" : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp lt %n, %c1 : i32
  tir.assert %p, "small"
  tir.block "B" {
    tir.reads
    tir.writes %A[%c0]
    %P = tir.alloc_buffer "P" : !tir.buffer<4xi32>
    tir.evaluate %n : i32
  }
  tir.attr "hint" (%c0) = %n {
    tir.attr "pragma_x" (%c0) = %n {
      tir.evaluate %n : i32
    }
  }
  tir.attr "pragma_debug_skip_region" (%c0) = %c1 {
    tir.store %n, %A[%c0] : i32
  }
  tir.while {
    %x = tir.load %A[%c1] : i32
    %q = tir.cmp lt %x, %c1 : i32
    tir.yield %q : i1
  } do {
    tir.evaluate %n : i32
    tir.store %c1, %A[%c1] : i32
  }
}
// CHECK-LABEL: tir.func @kept
// CHECK:         tir.shape_var "m"
// CHECK:         tir.assert
// CHECK-NEXT:    tir.block "B" {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes %A[%c0]
// CHECK-NEXT:      tir.alloc_buffer "P"
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.while {
// CHECK:         } do {
// CHECK-NEXT:      tir.store

// -----

// A wait for less than no copies, one for some, and one with an empty body.
tir.func @waits(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %less = tir.const -1 : i32
  tir.attr "async_wait_queue_scope" (0 : i32) = %c0 {
    tir.attr "async_wait_inflight_count" (0 : i32) = %less {
      tir.store %n, %A[%c0] : i32
    }
  }
  tir.attr "async_wait_queue_scope" (0 : i32) = %c0 {
    tir.attr "async_wait_inflight_count" (0 : i32) = -2 : i32 {
      tir.store %n, %A[%c1] : i32
    }
  }
  tir.attr "async_wait_queue_scope" (0 : i32) = %c0 {
    tir.attr "async_wait_inflight_count" (0 : i32) = %c1 {
      tir.store %n, %A[%c1] : i32
    }
  }
  tir.attr "async_wait_queue_scope" (0 : i32) = %c0 {
    tir.attr "async_wait_inflight_count" (0 : i32) = %c0 {
      tir.evaluate
    }
  }
}
// CHECK-LABEL: tir.func @waits
// CHECK:         %c1 = tir.const 1
// CHECK-NEXT:    tir.store %n, %A[%c0]
// CHECK-NEXT:    tir.store %n, %A[%c1]
// CHECK-NEXT:    tir.attr "async_wait_queue_scope"
// CHECK-NEXT:      tir.attr "async_wait_inflight_count"
// CHECK-NEXT:        tir.store
// CHECK:         tir.attr "async_wait_queue_scope"
// CHECK-NEXT:      tir.attr "async_wait_inflight_count"
// CHECK-NEXT:      }

// -----

// Ops of other dialects are not asked about.
builtin.module {
  tir.func @foreign(%n: i32) {
    "test.effect"(%n) : (i32) -> ()
    %c1 = tir.const 1 : i32
    "test.region"() ({
      %x = tir.add %n, %c1 : i32
      tir.evaluate %x : i32
      "test.end"() : () -> ()
    }) : () -> ()
  }
}
// CHECK-LABEL: tir.func @foreign
// CHECK-NEXT:    "test.effect"
// CHECK-NEXT:    "test.region"() ({
// CHECK-NEXT:      "test.end"
