// RUN: xdsl-opt %s -p tir-convert-blocks-to-opaque --split-input-file | filecheck %s

// CASE: ConvertBlocksToOpaque.1, ConvertBlocksToOpaque.8
// The outer block is opaque already; both inner blocks bind the same loop variables.
tir.func @elementwise(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "elementwise"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  %C = tir.match_buffer %c : !tir.buffer<4x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "outer" annotations {"note" = 1 : i32} {
      tir.reads %A[%i, %c0 to 4]
      tir.writes %C[%i, %c0 to 4]
      %B = tir.alloc_buffer "B" : !tir.buffer<4x4xf32>
      tir.for %j = %c0 to %c4 {
        tir.block "add" (%vi : S in [%c0 to %c4] = %i, %vj : S "vj" in [%c0 to %c16] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %B[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : f32
          %one = tir.const 1.0 : f32
          %y = tir.add %x, %one : f32
          tir.store %y, %B[%vi, %vj] : f32
        }
      }
      tir.for %j = %c0 to %c4 {
        tir.block "mul" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c4] = %j) {
          tir.reads %B[%vi, %vj]
          tir.writes %C[%vi, %vj]
          %x = tir.load %B[%vi, %vj] : f32
          %two = tir.const 2.0 : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %C[%vi, %vj] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @elementwise
// CHECK:       %[[A:.*]] = tir.match_buffer
// CHECK-NEXT:  %[[C:.*]] = tir.match_buffer
// CHECK-NEXT:  tir.const 0 : i32
// CHECK-NEXT:  tir.const 4 : i32
// The domain of extent 16 was its only user:
// CHECK-NEXT:  tir.for %[[I:.*]] =
// CHECK-NEXT:    tir.block "outer" annotations {note = 1 : i32} {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      %[[B:.*]] = tir.alloc_buffer "B"
// CHECK-NEXT:      tir.for %[[J:.*]] =
// CHECK-NEXT:        tir.block "add" {
// CHECK-NEXT:          tir.reads %[[A]][%[[I]], %[[J]]]
// CHECK-NEXT:          tir.writes %[[B]][%[[I]], %[[J]]]
// CHECK-NEXT:          tir.load %[[A]][%[[I]], %[[J]]] : f32
// CHECK:               tir.store %{{.*}}, %[[B]][%[[I]], %[[J]]] : f32
// CHECK:           tir.for %[[K:.*]] =
// CHECK-NEXT:        tir.block "mul" {
// CHECK-NEXT:          tir.reads %[[B]][%[[I]], %[[K]]]
// CHECK:               tir.store %{{.*}}, %[[C]][%[[I]], %[[K]]] : f32

// -----

// CASE: ConvertBlocksToOpaque.2
// The binding is computed once, before the block.
tir.func @expression(%a: !tir.handle) attributes {global_symbol = "expression"} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      %0 = tir.mul %i, %c4 : i32
      %1 = tir.add %0, %j : i32
      tir.block "B" (%vi : S in [%c0 to %c16] = %1) {
        tir.reads %A[%vi]
        tir.writes %A[%vi]
        %V = tir.match_region %A[%vi] : !tir.buffer<1xi32>
        %x = tir.load %V[%c0] : i32
        %y = tir.add %x, %vi : i32
        tir.store %y, %V[%c0] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @expression
// CHECK:       %[[A:.*]] = tir.match_buffer
// CHECK:       %[[M:.*]] = tir.mul
// CHECK-NEXT:  %[[V:.*]] = tir.add %[[M]]
// CHECK-NEXT:  tir.block "B" {
// CHECK-NEXT:    tir.reads %[[A]][%[[V]]]
// CHECK-NEXT:    tir.writes %[[A]][%[[V]]]
// CHECK-NEXT:    tir.match_region %[[A]][%[[V]]]
// CHECK-NEXT:    %[[X:.*]] = tir.load
// CHECK-NEXT:    tir.add %[[X]], %[[V]] : i32

// -----

// CASE: ConvertBlocksToOpaque.3, ConvertBlocksToOpaque.4, ConvertBlocksToOpaque.5
tir.func @nested(%a: !tir.handle) attributes {global_symbol = "nested"} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c7 = tir.const 7 : i32
  tir.for %i = %c0 to %c2 {
    tir.block "outer" (%vo : opaque in [%c0 to %c2] = %i) {
      %base = tir.mul %vo, %c4 : i32
      tir.for %j = %c0 to %c4 {
        %0 = tir.add %base, %j : i32
        %sum = tir.add %vo, %0 : i32
        %p = tir.cmp lt %sum, %c7 : i32
        tir.block "inner" (%vi : R in [%c0 to %c7] = %0, %vs : scan in [%c0 to %c2] = %vo) where %p {
          %y = tir.add %vi, %vs : i32
          tir.store %y, %A[%vi] : i32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @nested
// CHECK:       tir.for %[[I:.*]] =
// CHECK-NEXT:    tir.block "outer" {
// CHECK-NEXT:      %[[BASE:.*]] = tir.mul %[[I]]
// CHECK-NEXT:      tir.for %[[J:.*]] =
// CHECK-NEXT:        %[[V:.*]] = tir.add %[[BASE]], %[[J]]
// CHECK-NEXT:        %[[SUM:.*]] = tir.add %[[I]], %[[V]]
// CHECK-NEXT:        %[[P:.*]] = tir.cmp lt %[[SUM]]
// CHECK-NEXT:        tir.block "inner" where %[[P]] {
// CHECK-NEXT:          %[[Y:.*]] = tir.add %[[V]], %[[I]]
// CHECK-NEXT:          tir.store %[[Y]], %{{.*}}[%[[V]]]

// -----

// CASE: ConvertBlocksToOpaque.8
// Nothing to do: opaque blocks, with a predicate too, and functions without blocks.
tir.func @opaque(%p: i1) {
  tir.block "root" {
    tir.block "guarded" where %p {
      tir.evaluate
    }
  }
}
tir.func @no_blocks(%n: i32) {
  tir.evaluate %n : i32
}

// CHECK-LABEL: tir.func @opaque
// CHECK-NEXT:    tir.block "root" {
// CHECK-NEXT:      tir.block "guarded" where %{{.*}} {
// CHECK-NEXT:        tir.evaluate
// CHECK-LABEL: tir.func @no_blocks
// CHECK-NEXT:    tir.evaluate

// -----

// Ops of other dialects, around blocks, in them, and as domains.
func.func @foreign(%i: i32, %lo: index, %hi: index, %step: index) {
  %n = "test.op"() : () -> i32
  scf.for %k = %lo to %hi step %step {
    tir.block "B" (%v : S in [%i to %i + %n] = %i) {
      "test.op"(%v) ({
        "test.termop"(%v) : (i32) -> ()
      }) : (i32) -> ()
    }
  }
  func.return
}

// CHECK-LABEL: func.func @foreign(%[[I:[^:]*]]: i32
// CHECK:         "test.op"
// CHECK:         tir.block "B" {
// CHECK-NEXT:      "test.op"(%[[I]])
// CHECK-NEXT:        "test.termop"(%[[I]])
