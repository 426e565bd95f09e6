// RUN: xdsl-opt %s -p tir-use-assume-to-reduce-branches --split-input-file | filecheck %s

// In some functions, the padding is written before it is assumed, so that they can be
// executed.

// CASE: UseAssumeToReduceBranches.1
tir.func @add(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @add
// CHECK:         tir.for %j
// CHECK-NEXT:      %{{.*}} = tir.load %X[%j]
// CHECK-NEXT:      %{{.*}} = tir.load %W[%j]
// CHECK-NEXT:      %d = tir.add
// CHECK-NEXT:      tir.store %d, %Y[%j]

// -----

tir.func @subtract(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.sub %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @subtract
// CHECK:         tir.for %j
// CHECK-NEXT:      %{{.*}} = tir.load %X[%j]
// CHECK-NEXT:      %{{.*}} = tir.load %W[%j]
// CHECK-NEXT:      %d = tir.sub
// CHECK-NEXT:      tir.store %d, %Y[%j]

// -----

tir.func @multiply(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.mul %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @multiply
// CHECK:         tir.for %j
// CHECK-NEXT:      %{{.*}} = tir.load %X[%j]
// CHECK-NEXT:      %{{.*}} = tir.load %W[%j]
// CHECK-NEXT:      %d = tir.mul
// CHECK-NEXT:      tir.store %d, %Y[%j]

// -----

// CASE: UseAssumeToReduceBranches.2
tir.func @broadcast(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 1 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.mul %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @broadcast
// CHECK:         tir.for %j
// CHECK-NEXT:      %{{.*}} = tir.load %X[%j]
// CHECK-NEXT:      %{{.*}} = tir.load %W[%j]
// CHECK-NEXT:      %d = tir.mul
// CHECK-NEXT:      tir.store %d, %Y[%j]

// -----

// CASE: UseAssumeToReduceBranches.3
tir.func @two_dimensions(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<8x16xf32>
  %Y = tir.match_buffer "Y" %b : !tir.buffer<8x16xf32>
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c8 = tir.const 8 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i0 = %c0 to %c8 {
    tir.for %i1 = %c0 to %c16 {
      %p0 = tir.cmp lt %i0, %c6 : i32
      %p1 = tir.cmp lt %i1, %c14 : i32
      %p = tir.and %p0, %p1 : i1
      %x = tir.load %X[%i0, %i1] : f32
      %z = tir.cmp eq %x, %zero : f32
      %r = tir.or %p, %z : i1
      %s = tir.call "assume"(%r) : (i1) -> i1
    }
  }
  tir.for %j0 = %c0 to %c8 {
    tir.for %j1 = %c0 to %c16 {
      %p0 = tir.cmp lt %j0, %c6 : i32
      %p1 = tir.cmp lt %j1, %c14 : i32
      %p = tir.and %p0, %p1 : i1
      %y = tir.if_then_else %p -> f32 {
        %x = tir.load %X[%j0, %j1] : f32
        %d = tir.add %x, %x : f32
        tir.yield %d : f32
      } else {
        tir.yield %zero : f32
      }
      tir.store %y, %Y[%j0, %j1] : f32
    }
  }
}
// CASE: UseAssumeToReduceBranches.4
// The sides are equal where the condition does not hold: the first one is kept.
// CHECK-LABEL: tir.func @two_dimensions
// CHECK:           tir.for %j1
// CHECK-NEXT:        %{{.*}} = tir.load %X[%j0, %j1]
// CHECK-NEXT:        %d = tir.add
// CHECK-NEXT:        tir.store %d, %Y[%j0, %j1]

// -----

// CASE: UseAssumeToReduceBranches.5
tir.func @not_neutral(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %e = tir.add %x, %w : f32
      %d = tir.call "exp"(%e) : (f32) -> f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @not_neutral
// CHECK:         tir.if_then_else

// -----

// CASE: UseAssumeToReduceBranches.6
// What is known does not follow from the condition.
tir.func @other_predicate(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c2 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @other_predicate
// CHECK:         tir.if_then_else

// -----

// The second nest goes beyond what is assumed.
tir.func @other_bounds(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<18xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<18xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<18xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c2 to %c2 + %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @other_bounds
// CHECK:         tir.if_then_else

// -----

// CASE: UseAssumeToReduceBranches.7
tir.func @no_pattern(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @no_pattern
// CHECK:         tir.if_then_else

// -----

tir.func @other_pattern(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 2 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @other_pattern
// CHECK:         tir.if_then_else

// -----

tir.func @no_assume(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @no_assume
// CHECK:         tir.if_then_else

// -----

// The value is no `tir.if_then_else`.
tir.func @select(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %x = tir.load %X[%j] : f32
    %y = tir.select %p, %zero, %x : i1, f32
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @select
// CHECK:         tir.select

// -----

// Other elements than those that are assumed are read: TVM takes them for the same.
tir.func @index(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c15 = tir.const 15 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %k = tir.sub %c15, %j : i32
      %x = tir.load %X[%k] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @index
// CHECK:         tir.if_then_else

// -----

// The buffer is written after the assumption.
tir.func @written(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %h = %c0 to %c16 {
    %n = tir.cast %h : i32 to f32
    tir.store %n, %X[%h] : f32
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %w = tir.load %W[%j] : f32
      %d = tir.add %x, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @written
// CHECK:         tir.if_then_else

// -----

// A side that reads outside of a buffer where it is not taken.
tir.func @outside(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<16xf32>
  %W = tir.match_buffer "W" %b : !tir.buffer<16xf32>
  %Y = tir.match_buffer "Y" %c : !tir.buffer<16xf32>
  %v = tir.allocate [14] : !tir.ptr<f32>
  %V = tir.decl_buffer "V" %v : !tir.buffer<14xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  tir.for %h = %c14 to %c14 + %c2 {
    tir.store %zero, %X[%h] : f32
    tir.store %zero, %W[%h] : f32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %X[%i] : f32
    %z = tir.cmp eq %x, %zero : f32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %W[%i] : f32
    %z = tir.cmp eq %zero, %x : f32
    %q = tir.cmp ge %i, %c14 : i32
    %nq = tir.not %q : i1
    %r = tir.or %nq, %z : i1
    %s = tir.call "assume"(%r) : (i1) -> i1
    tir.evaluate %s : i1
  }
  tir.for %j = %c0 to %c16 {
    %p = tir.cmp ge %j, %c14 : i32
    %y = tir.if_then_else %p -> f32 {
      tir.yield %zero : f32
    } else {
      %x = tir.load %X[%j] : f32
      %m = tir.load %V[%j] : f32
      %w = tir.load %W[%j] : f32
      %e = tir.mul %m, %x : f32
      %d = tir.add %e, %w : f32
      tir.yield %d : f32
    }
    tir.store %y, %Y[%j] : f32
  }
}
// CHECK-LABEL: tir.func @outside
// CHECK:         tir.if_then_else

// -----

// A conjunction of conditions, on the variables of blocks.
tir.func @conjunction(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32, tir.noalias = true} {
  %X = tir.match_buffer "X" %a : !tir.buffer<2x24xf32>
  %Z = tir.match_buffer "Z" %b : !tir.buffer<2x24xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c20 = tir.const 20 : i32
  %c24 = tir.const 24 : i32
  %zero = tir.const 0.0 : f32
  %four = tir.const 4.0 : f32
  tir.for %h = %c20 to %c20 + %c4 {
    tir.store %zero, %X[%c1, %h] : f32
  }
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c24 {
      tir.block "hint" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c24] = %j) {
        tir.reads %X[%vi, %vj]
        tir.writes
        %p = tir.cmp lt %vi, %c1 : i32
        %q = tir.cmp lt %vj, %c20 : i32
        %pq = tir.or %p, %q : i1
        %x = tir.load %X[%vi, %vj] : f32
        %z = tir.cmp eq %x, %zero : f32
        %r = tir.or %pq, %z : i1
        %s = tir.call "assume"(%r) : (i1) -> i1
      }
    }
  }
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c24 {
      tir.block "Z" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c24] = %j) {
        tir.reads %X[%vi, %vj]
        tir.writes %Z[%vi, %vj]
        %p = tir.cmp le %c1, %vi : i32
        %q = tir.cmp le %c20, %vj : i32
        %pq = tir.and %p, %q : i1
        %y = tir.if_then_else %pq -> f32 {
          tir.yield %zero : f32
        } else {
          %x = tir.load %X[%vi, %vj] : f32
          %d = tir.mul %x, %four : f32
          tir.yield %d : f32
        }
        tir.store %y, %Z[%vi, %vj] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @conjunction
// CHECK:         tir.block "Z"
// CHECK-NOT:     tir.if_then_else
// CHECK:         %[[X:.*]] = tir.load %X[%[[VI:.*]], %[[VJ:.*]]] : f32
// CHECK-NEXT:    %[[D:.*]] = tir.mul %[[X]], %four
// CHECK-NEXT:    tir.store %[[D]], %Z[%[[VI]], %[[VJ]]]

// -----

// Without tir.noalias, the result of an iteration may be the padding of a later one.
tir.func @may_overlap(%a: !tir.handle, %b: !tir.handle) attributes {op_pattern = 0 : i32} {
  %X = tir.match_buffer "X" %a : !tir.buffer<2x24xf32>
  %Z = tir.match_buffer "Z" %b : !tir.buffer<2x24xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c20 = tir.const 20 : i32
  %c24 = tir.const 24 : i32
  %zero = tir.const 0.0 : f32
  %four = tir.const 4.0 : f32
  tir.for %h = %c20 to %c20 + %c4 {
    tir.store %zero, %X[%c1, %h] : f32
  }
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c24 {
      tir.block "hint" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c24] = %j) {
        tir.reads %X[%vi, %vj]
        tir.writes
        %p = tir.cmp lt %vi, %c1 : i32
        %q = tir.cmp lt %vj, %c20 : i32
        %pq = tir.or %p, %q : i1
        %x = tir.load %X[%vi, %vj] : f32
        %z = tir.cmp eq %x, %zero : f32
        %r = tir.or %pq, %z : i1
        %s = tir.call "assume"(%r) : (i1) -> i1
      }
    }
  }
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c24 {
      tir.block "Z" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c24] = %j) {
        tir.reads %X[%vi, %vj]
        tir.writes %Z[%vi, %vj]
        %p = tir.cmp le %c1, %vi : i32
        %q = tir.cmp le %c20, %vj : i32
        %pq = tir.and %p, %q : i1
        %y = tir.if_then_else %pq -> f32 {
          tir.yield %zero : f32
        } else {
          %x = tir.load %X[%vi, %vj] : f32
          %d = tir.mul %x, %four : f32
          tir.yield %d : f32
        }
        tir.store %y, %Z[%vi, %vj] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @may_overlap
// CHECK:         tir.block "Z"
// CHECK:         tir.if_then_else
