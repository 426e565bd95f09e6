// RUN: xdsl-opt %s -p tir-inline-blocks --split-input-file | filecheck %s

// A chain of maps is one map; the same element that is read twice is computed once.

// CHECK-LABEL: tir.func @chain
tir.func @chain(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4x8xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %zero = tir.const 0.0 : f32
  // CHECK: tir.block "root" {
  tir.block "root" {
    // CHECK-NOT: tir.alloc_buffer
    %T = tir.alloc_buffer "T" : !tir.buffer<4x8xf32>
    %U = tir.alloc_buffer "U" : !tir.buffer<4x8xf32>
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c8 {
        tir.block "T" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c8] = %j) {
          tir.reads %A[%vi, %vj], %B[%vj]
          tir.writes %T[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : f32
          %y = tir.load %B[%vj] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %T[%vi, %vj] : f32
        }
      }
    }
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c8 {
        tir.block "U" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c8] = %j) {
          tir.reads %T[%vi, %vj]
          tir.writes %U[%vi, %vj]
          %x = tir.load %T[%vi, %vj] : f32
          %y = tir.load %T[%vi, %vj] : f32
          %z = tir.mul %x, %y : f32
          tir.store %z, %U[%vi, %vj] : f32
        }
      }
    }
    // CHECK: tir.block "C" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S {{.*}}) {
    // CHECK-NEXT: tir.reads %A[%[[I]], %[[J]]], %B[%[[J]]]
    // CHECK-NEXT: tir.writes %C[%[[I]], %[[J]]]
    // CHECK-NEXT: %[[X:.*]] = tir.load %A[%[[I]], %[[J]]]
    // CHECK-NEXT: %[[Y:.*]] = tir.load %B[%[[J]]]
    // CHECK-NEXT: %[[T:.*]] = tir.add %[[X]], %[[Y]]
    // CHECK-NEXT: %[[U:.*]] = tir.mul %[[T]], %[[T]]
    // CHECK-NEXT: %[[Z:.*]] = tir.max %[[U]], %zero
    // CHECK-NEXT: tir.store %[[Z]], %C[%[[I]], %[[J]]]
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c8 {
        tir.block "C" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c8] = %j) {
          tir.reads %U[%vi, %vj]
          tir.writes %C[%vi, %vj]
          %x = tir.load %U[%vi, %vj] : f32
          %z = tir.max %x, %zero : f32
          tir.store %z, %C[%vi, %vj] : f32
        }
      }
    }
  }
}

// -----

// A map goes into the reduction that reads it, and what works on the sums does so where
// they are gathered.

// CHECK-LABEL: tir.func @sums
tir.func @sums(%a: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %zero = tir.const 0.0 : f32
  tir.block "root" {
    // CHECK-NOT: tir.alloc_buffer
    %T = tir.alloc_buffer "T" : !tir.buffer<4x8xf32>
    %S = tir.alloc_buffer "S" : !tir.buffer<4xf32>
    // CHECK-NOT: tir.block "T"
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c8 {
        tir.block "T" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c8] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %T[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : f32
          %z = tir.call "exp"(%x) : (f32) -> f32
          tir.store %z, %T[%vi, %vj] : f32
        }
      }
    }
    // CHECK: tir.block "S"
    // CHECK-NEXT: tir.reads %A[%[[I:.*]], %[[K:.*]]]
    // CHECK-NEXT: tir.writes %C[%[[I]]]
    // CHECK: tir.store %zero, %C[%[[I]]]
    // CHECK: tir.call "exp"
    tir.for %i = %c0 to %c4 {
      tir.for %k = %c0 to %c8 {
        tir.block "S" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c8] = %k) {
          tir.reads %T[%vi, %vk]
          tir.writes %S[%vi]
          tir.init {
            tir.store %zero, %S[%vi] : f32
          }
          %s = tir.load %S[%vi] : f32
          %x = tir.load %T[%vi, %vk] : f32
          %z = tir.add %s, %x : f32
          tir.store %z, %S[%vi] : f32
        }
      }
    }
    // CHECK: tir.block "C"
    // CHECK: tir.load %C
    // CHECK: tir.store %{{.*}}, %C
    tir.for %i = %c0 to %c4 {
      tir.block "C" (%vi : S in [%c0 to %c4] = %i) {
        tir.reads %S[%vi]
        tir.writes %C[%vi]
        %x = tir.load %S[%vi] : f32
        %z = tir.call "sqrt"(%x) : (f32) -> f32
        tir.store %z, %C[%vi] : f32
      }
    }
  }
}

// -----

// Not inlined: what would be computed again for each row, what two nests read, and what
// reads a buffer that is written in between.

// CHECK-LABEL: tir.func @again
tir.func @again(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4x8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %D = tir.match_buffer "D" %d : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %two = tir.const 2.0 : f32
  tir.block "root" {
    // CHECK: %[[T:.*]] = tir.alloc_buffer "T"
    // CHECK: %[[U:.*]] = tir.alloc_buffer "U"
    // CHECK: %[[V:.*]] = tir.alloc_buffer "V"
    %T = tir.alloc_buffer "T" : !tir.buffer<8xf32>
    %U = tir.alloc_buffer "U" : !tir.buffer<8xf32>
    %V = tir.alloc_buffer "V" : !tir.buffer<8xf32>
    // CHECK: tir.block "T"
    tir.for %i = %c0 to %c8 {
      tir.block "T" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %A[%vi]
        tir.writes %T[%vi]
        %x = tir.load %A[%vi] : f32
        %y = tir.mul %x, %two : f32
        tir.store %y, %T[%vi] : f32
      }
    }
    // CHECK: tir.block "B"
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c8 {
        tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c8] = %j) {
          tir.reads %T[%vj]
          tir.writes %B[%vi, %vj]
          %x = tir.load %T[%vj] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %B[%vi, %vj] : f32
        }
      }
    }
    // CHECK: tir.block "U"
    tir.for %i = %c0 to %c8 {
      tir.block "U" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %A[%vi]
        tir.writes %U[%vi]
        %x = tir.load %A[%vi] : f32
        %y = tir.mul %x, %two : f32
        tir.store %y, %U[%vi] : f32
      }
    }
    // CHECK: tir.block "V"
    tir.for %i = %c0 to %c8 {
      tir.block "V" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %U[%vi]
        tir.writes %V[%vi]
        %x = tir.load %U[%vi] : f32
        %y = tir.load %D[%vi] : f32
        %z = tir.mul %x, %y : f32
        tir.store %z, %V[%vi] : f32
      }
    }
    tir.for %i = %c0 to %c8 {
      tir.block "D" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %U[%vi]
        tir.writes %D[%vi]
        %x = tir.load %U[%vi] : f32
        tir.store %x, %D[%vi] : f32
      }
    }
    // CHECK: tir.block "C"
    // CHECK: tir.load %[[V]]
    tir.for %i = %c0 to %c8 {
      tir.block "C" (%vi : S in [%c0 to %c8] = %i) {
        %k = tir.sub %c8, %vi : i64
        %c1 = tir.const 1 : i64
        %l = tir.sub %k, %c1 : i64
        tir.reads %V[%l]
        tir.writes %C[%vi]
        %x = tir.load %V[%l] : f32
        tir.store %x, %C[%vi] : f32
      }
    }
  }
}

// -----

// Without tir.noalias the parameters may overlap: C may be A. What is in allocated memory
// moves all the same.

// CHECK-LABEL: tir.func @may_overlap
tir.func @may_overlap(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  %two = tir.const 2.0 : f32
  tir.block "root" {
    // CHECK: tir.alloc_buffer
    // CHECK-NOT: tir.alloc_buffer
    %T = tir.alloc_buffer "T" : !tir.buffer<8xf32>
    %U = tir.alloc_buffer "U" : !tir.buffer<8xf32>
    // CHECK: tir.block "T"
    tir.for %i = %c0 to %c8 {
      tir.block "T" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %A[%vi]
        tir.writes %T[%vi]
        %x = tir.load %A[%vi] : f32
        %y = tir.mul %x, %two : f32
        tir.store %y, %T[%vi] : f32
      }
    }
    // CHECK-NOT: tir.block "U"
    tir.for %i = %c0 to %c8 {
      tir.block "U" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %T[%vi]
        tir.writes %U[%vi]
        %x = tir.load %T[%vi] : f32
        %y = tir.add %x, %two : f32
        tir.store %y, %U[%vi] : f32
      }
    }
    // CHECK: tir.block "C"
    tir.for %i = %c0 to %c8 {
      tir.block "C" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %U[%vi]
        tir.writes %C[%vi]
        %x = tir.load %U[%vi] : f32
        %y = tir.mul %x, %x : f32
        tir.store %y, %C[%vi] : f32
      }
    }
  }
}

// -----

// Functions with a schedule stay as they are.

// CHECK-LABEL: tir.func @scheduled
tir.func @scheduled(%a: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  tir.block "root" {
    // CHECK: tir.alloc_buffer
    %T = tir.alloc_buffer "T" : !tir.buffer<8xf32>
    // CHECK: parallel
    tir.for %i = %c0 to %c8 parallel {
      tir.block "T" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %A[%vi]
        tir.writes %T[%vi]
        %x = tir.load %A[%vi] : f32
        tir.store %x, %T[%vi] : f32
      }
    }
    tir.for %i = %c0 to %c8 {
      tir.block "C" (%vi : S in [%c0 to %c8] = %i) {
        tir.reads %T[%vi]
        tir.writes %C[%vi]
        %x = tir.load %T[%vi] : f32
        tir.store %x, %C[%vi] : f32
      }
    }
  }
}

// -----

// A choice goes into a copy whose last axis has few elements, which is no vector anyway.

// CHECK-LABEL: tir.func @turned
tir.func @turned(%a: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x14xi8>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x2xi8>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %c2 = tir.const 2 : i64
  %c14 = tir.const 14 : i64
  %c16 = tir.const 16 : i64
  tir.block "root" {
    // CHECK-NOT: tir.alloc_buffer
    %T = tir.alloc_buffer "T" : !tir.buffer<2x16xi8>
    tir.for %i = %c0 to %c2 {
      tir.for %j = %c0 to %c16 {
        tir.block "T" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c16] = %j) {
          %k = tir.sub %vj, %c1 : i64
          tir.reads %A[%vi, %k]
          tir.writes %T[%vi, %vj]
          %p = tir.cmp ge %k, %c0 : i64
          %q = tir.cmp lt %k, %c14 : i64
          %r = tir.and %p, %q : i1
          %y = tir.if_then_else %r -> i8 {
            %x = tir.load %A[%vi, %k] : i8
            tir.yield %x : i8
          } else {
            %zero = tir.const 0 : i8
            tir.yield %zero : i8
          }
          tir.store %y, %T[%vi, %vj] : i8
        }
      }
    }
    // CHECK: tir.block "C" (%[[I:.*]] : S {{.*}}, %[[J:.*]] : S {{.*}}) {
    // CHECK: tir.writes
    // CHECK-NEXT: %[[K:.*]] = tir.sub %[[I]],
    // CHECK: tir.if_then_else
    // CHECK-NEXT: tir.load %A[%[[J]], %[[K]]]
    // CHECK: tir.store %{{.*}}, %C[%[[I]], %[[J]]]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c2 {
        tir.block "C" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c2] = %j) {
          tir.reads %T[%vj, %vi]
          tir.writes %C[%vi, %vj]
          %x = tir.load %T[%vj, %vi] : i8
          tir.store %x, %C[%vi, %vj] : i8
        }
      }
    }
  }
}
