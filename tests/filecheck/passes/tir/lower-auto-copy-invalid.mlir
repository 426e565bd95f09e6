// RUN: xdsl-opt %s -p tir-lower-auto-copy --verify-diagnostics --split-input-file | filecheck %s

// CASE: LowerAutoCopy.13
// CHECK: tir.block "B" in @several_reads: a copy that reads several regions reads one of scope wmma.accumulator, and this one 0; split it, or remove auto_copy
tir.func @several_reads(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16], %B[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CASE: LowerAutoCopy.13
// CHECK: tir.block "B" in @two_accumulators: a copy that reads several regions reads one of scope wmma.accumulator, and this one 2; split it, or remove auto_copy
tir.func @two_accumulators(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer : !tir.buffer<16x16xf32, "wmma.accumulator">
  %G = tir.alloc_buffer : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16], %G[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
      }
    }
  }
}

// -----

// CASE: LowerAutoCopy.13
// CHECK: tir.block "B" in @two_writes: a copy reads regions and writes one, and this one declares 1 in tir.reads and 2 in tir.writes; declare them, or remove auto_copy
tir.func @two_writes(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16], %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @no_reads: a copy reads regions and writes one, and this one declares 0 in tir.reads and 1 in tir.writes; declare them, or remove auto_copy
tir.func @no_reads(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @iterations has iteration variables; run tir-convert-blocks-to-opaque first
tir.func @iterations(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" (%v : S in [%c0 to %c16] = %c1) annotations {auto_copy = 1 : i32} {
    tir.reads %A[%v, %v]
    tir.writes %S[%v, %v]
    %x = tir.load %A[%v, %v] : f32
    tir.store %x, %S[%v, %v] : f32
  }
}

// -----

// CHECK: tir.block "B" in @statements: a copy is loops around one store, and here is tir.store, tir.store; split it, or remove auto_copy
tir.func @statements(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @nothing: a copy is loops around one store, and here is nothing; split it, or remove auto_copy
tir.func @nothing(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
  }
}

// -----

// CHECK: tir.block "B" in @condition: a copy is loops around one store, and here is tir.if; split it, or remove auto_copy
tir.func @condition(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %p = tir.cmp lt %i, %j : i32
        tir.if %p {
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %S[%i, %j] : f32
        }
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @bound_loop: a loop of a copy is bound; give it a constant extent and no thread axis, or remove auto_copy
tir.func @bound_loop(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 thread_binding "threadIdx.x" {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @symbolic: a loop of a copy has an extent that is not constant; give it a constant extent and no thread axis, or remove auto_copy
tir.func @symbolic(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %n {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @start: a loop of a copy starts where the copy itself computes; compute the start before it, or remove auto_copy
tir.func @start(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %K = tir.alloc_buffer : !tir.buffer<16xi32>
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      %k = tir.load %K[%i] : i32
      tir.for %j = %k to %k + %c1 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @vector: a copy stores one element, without a mask; let a loop run over the lanes, or remove auto_copy
tir.func @vector(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      %r = tir.ramp %c0, %c1 : vector<16xi32>
      %x = tir.load %A[%i, %r] : vector<16xf32>
      tir.store %x, %S[%i, %r] : vector<16xf32>
    }
  }
}

// -----

// CHECK: tir.block "B" in @twice: cannot show that each iteration of a copy stores an element of its own: {{.*}}; store each element once, or remove auto_copy
tir.func @twice(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %S[%i, %c0] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @scatter: where a copy stores must not depend on what it reads; use loop variables only, or remove auto_copy
tir.func @scatter(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %K = tir.alloc_buffer : !tir.buffer<16xi32>
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        %k = tir.load %K[%i] : i32
        tir.store %x, %S[%k, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @reads_target: a copy must not read what it stores to, which tir.load may do; copy to another buffer, or remove auto_copy
tir.func @reads_target(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        %y = tir.load %S[%j, %i] : f32
        %z = tir.add %x, %y : f32
        tir.store %z, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @declared: it declares that it writes shared memory, and stores to global; let tir.writes say what it stores to
tir.func @declared(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @tile: a copy of fragments goes by tiles of 16 by 16, and its two innermost loops are no multiples of that; pad them, or remove auto_copy
tir.func @tile(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  %c8 = tir.const 8 : i32
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @one_loop: a copy of fragments goes by tiles of 16 by 16, and its two innermost loops are no multiples of that; pad them, or remove auto_copy
tir.func @one_loop(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      %x = tir.load %F[%i, %c0] : f32
      tir.store %x, %S[%i, %c0] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @diagonal: a copy of fragments must run along the last two dimensions of "S" with its two innermost loops; order the loops so, or remove auto_copy
tir.func @diagonal(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        %k = tir.add %i, %j : i32
        tir.store %x, %S[%k, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @arithmetic: fragments are copied as they are, without arithmetic or conversion; compute in a block of its own, or remove auto_copy
tir.func @arithmetic(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        %y = tir.add %x, %x : f32
        tir.store %y, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @dtype: there are no fragments of f32 in wmma.matrix_a; use one of f16, bf16, i8, ui8
tir.func @dtype(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.matrix_a">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %S[%c0 to 16, %c0 to 16]
    tir.writes %F[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %S[%i, %j] : f32
        tir.store %x, %F[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @wide: "F" does not consist of fragments of 16 by 16, at most 16 in a row; give its last dimensions multiples of 16, up to 256 columns, and no strides
tir.func @wide(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x272xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @offset: cannot show that {{.*}}, where a tile of "F" starts, is a multiple of 16; start at a multiple of 16
tir.func @offset(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x32xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %k = tir.add %n, %j : i32
        %x = tir.load %F[%i, %k] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @lanes: the lanes of a warp share fragments, and this copy differs between them; let it not depend on threadIdx.x, or remove auto_copy
tir.func @lanes(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16x16xf32, "wmma.accumulator">
  tir.for %t = %c0 to %c16 thread_binding "threadIdx.x" {
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%t, %c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%t, %i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
  }
}

// -----

// CHECK: tir.block "B" in @some_threads: accumulators are staged by all threads together, and only some of threadIdx.y come here; move the condition into the copy, or remove auto_copy
tir.func @some_threads(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.for %t = %c0 to %c16 thread_binding "threadIdx.y" {
    %p = tir.cmp lt %t, %n : i32
    tir.if %p {
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
      }
    }
  }
    }
  }
}

// -----

// CHECK: tir.block "B" in @unknown_threads: accumulators of each threadIdx.y are staged, and its extent is not constant; give it a constant extent
tir.func @unknown_threads(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.for %t = %c0 to %n thread_binding "threadIdx.y" {
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
      }
    }
  }
  }
}

// -----

// CHECK: tir.block "B" in @private: other threads store the sum, and cannot see local memory; read it from shared or global memory, or remove auto_copy
tir.func @private(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  %L = tir.alloc_buffer : !tir.buffer<16xf32, "local">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16], %L[%c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        %y = tir.load %L[%i] : f32
        %z = tir.add %x, %y : f32
        tir.store %z, %B[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @own_value: tir.load before it gives each thread a value of its own, which other threads cannot compute; move it into the copy, or remove auto_copy
tir.func @own_value(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.for %t = %c0 to %c16 thread_binding "threadIdx.y" {
    %y = tir.load %A[%t, %t] : f32
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        %z = tir.add %x, %y : f32
        tir.store %z, %B[%i, %j] : f32
      }
    }
  }
  }
}

// -----

// CHECK: tir.block "B" in @conditional_load: an accumulator is loaded under a condition; load it before that
tir.func @conditional_load(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16], %A[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %p = tir.cmp lt %i, %j : i32
        %x = tir.if_then_else %p -> f32 {
          %y = tir.load %F[%i, %j] : f32
          tir.yield %y : f32
        } else {
          %z = tir.load %A[%i, %j] : f32
          tir.yield %z : f32
        }
        tir.store %x, %B[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @two_elements: a copy must load one element of one accumulator, and loads 2; split it, or remove auto_copy
tir.func @two_elements(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        %y = tir.load %F[%j, %i] : f32
        %z = tir.add %x, %y : f32
        tir.store %z, %B[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @own_place: where it stores each thread computes in a way of its own; compute it from loop variables by arithmetic, or remove auto_copy
tir.func @own_place(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.for %t = %c0 to %c16 thread_binding "threadIdx.y" {
    %k = tir.let "k" %t : i32
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        %r = tir.floormod %k, %c1 : i32
        %s = tir.add %r, %i : i32
        tir.store %x, %B[%s, %j] : f32
      }
    }
  }
  }
}

// -----

// CHECK: tir.block "B" in @own_view: tir.match_region before it gives each thread a value of its own, which other threads cannot compute; move it into the copy, or remove auto_copy
tir.func @own_view(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.for %t = %c0 to %c16 thread_binding "threadIdx.y" {
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %B[%c0 to 16, %c0 to 16]
    %V = tir.match_region %B[%t to %t + 1, %c0 to 16] : !tir.buffer<1x16xf32>
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %F[%i, %j] : f32
        tir.store %x, %V[%i, %j] : f32
      }
    }
  }
  }
}

// -----

// CHECK: tir.block "B" in @declared_inside: what a copy stores to is declared in its loops; declare it before them, or remove auto_copy
tir.func @declared_inside(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %p = tir.data %S : !tir.ptr<f32, "shared">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %A[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        %V = tir.decl_buffer %p : !tir.buffer<16x16xf32, "shared">
        tir.store %x, %V[%i, %j] : f32
      }
    }
  }
}

// -----

// CHECK: tir.block "B" in @fragment_declared_inside: the buffer in wmma.accumulator is declared in the loops of a copy; declare it before them, or remove auto_copy
tir.func @fragment_declared_inside(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "S" : !tir.buffer<16x16xf32, "shared">
  %F = tir.alloc_buffer "F" : !tir.buffer<16x16xf32, "wmma.accumulator">
  %p = tir.data %F : !tir.ptr<f32, "wmma.accumulator">
  tir.block "B" annotations {auto_copy = 1 : i32} {
    tir.reads %F[%c0 to 16, %c0 to 16]
    tir.writes %S[%c0 to 16, %c0 to 16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %V = tir.decl_buffer %p : !tir.buffer<16x16xf32, "wmma.accumulator">
        %x = tir.load %V[%i, %j] : f32
        tir.store %x, %S[%i, %j] : f32
      }
    }
  }
}
