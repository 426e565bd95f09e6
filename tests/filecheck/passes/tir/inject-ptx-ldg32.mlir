// RUN: xdsl-opt %s -p tir-inject-ptx-ldg32 --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-inject-ptx-ldg32{enable_inject_ptx_intrin=false}' --split-input-file | filecheck %s --check-prefix=OFF
// RUN: xdsl-opt %s -p tir-inject-ptx-ldg32,tir-inject-ptx-ldg32 --split-input-file | filecheck %s --check-prefix=TWICE

// CASE: InjectPTXLDG32.1
// CASE: InjectPTXLDG32.3
// CASE: InjectPTXLDG32.4
// OFF-NOT: ptx_ldg32
tir.func @even(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<32xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c32 = tir.const 32 : i32
  %zero = tir.const 0.0 : f32
  %one = tir.const 1.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer "A_local" %p : !tir.buffer<32xf32, "local">
    %r = tir.floormod %tx, %c2 : i32
    %g = tir.cmp eq %r, %c0 : i32
    %x = tir.if_then_else %g -> f32 {
      %i = tir.floordiv %tx, %c2 : i32
      %y = tir.load %A[%i] : f32
      tir.yield %y : f32
    } else {
      tir.yield %zero : f32
    }
    tir.store %x, %L[%tx] : f32
    %q = tir.load %L[%tx] : f32
    %s = tir.add %q, %one : f32
    tir.store %s, %O[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @even
// CHECK:         %[[A:.*]] = tir.match_buffer "A"
// CHECK:         tir.launch_thread %[[TX:.*]] = "threadIdx.x"
// CHECK-NEXT:      %[[PM:.*]] = tir.allocate "predicate" [1] : !tir.ptr<i1, "local">
// CHECK-NEXT:      %[[P:.*]] = tir.decl_buffer "predicate" %[[PM]] {implicit} : !tir.buffer<1xi1, "local">
// CHECK-NEXT:      %[[DM:.*]] = tir.allocate "addr" [2] : !tir.ptr<i32, "local">
// CHECK-NEXT:      %[[D:.*]] = tir.decl_buffer "addr" %[[DM]] {implicit} : !tir.buffer<2xi32, "local">
// CHECK-NEXT:      %[[LM:.*]] = tir.allocate [32] : !tir.ptr<f32, "local">
// CHECK-NEXT:      %[[L:.*]] = tir.decl_buffer "A_local" %[[LM]]
// CHECK:           %[[G:.*]] = tir.cmp eq
// CHECK-NEXT:      %[[I:.*]] = tir.floordiv %[[TX]]
// CHECK-NEXT:      %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:      %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:      tir.store %[[I]], %[[D]][%[[C0]]] : i32
// CHECK-NEXT:      tir.store %[[TX]], %[[D]][%[[C1]]] : i32
// CHECK-NEXT:      tir.store %[[G]], %[[P]][%[[C0]]] : i1
// CHECK-NEXT:      %[[J:.*]] = tir.load %[[D]][%[[C1]]] : i32
// CHECK-NEXT:      %[[Z:.*]] = tir.const 0.0
// CHECK-NEXT:      tir.store %[[Z]], %[[L]][%[[J]]] : f32
// CHECK-NEXT:      %[[W:.*]] = tir.load %[[P]][%[[C0]]] : i1
// CHECK-NEXT:      %[[K:.*]] = tir.load %[[D]][%[[C0]]] : i32
// CHECK-NEXT:      %[[S:.*]] = tir.address_of %[[A]][%[[K]]] : !tir.ptr<f32>
// CHECK-NEXT:      %[[J:.*]] = tir.load %[[D]][%[[C1]]] : i32
// CHECK-NEXT:      tir.call "ptx_ldg32"(%[[LM]], %[[W]], %[[S]], %[[J]]) : (!tir.ptr<f32, "local">, i1, !tir.ptr<f32>, i32) -> f32
// CHECK-NEXT:      tir.load %[[L]][%[[TX]]] : f32

// TWICE-LABEL: tir.func @even
// TWICE:         tir.allocate "predicate"
// TWICE:         tir.allocate "addr"
// TWICE:         tir.allocate "predicate"
// TWICE:         tir.allocate "addr"
// TWICE:         tir.allocate [32]
// TWICE:         "ptx_ldg32"
// TWICE-NOT:     "ptx_ldg32"
// TWICE-LABEL: tir.func @not_guarded

// -----

// What is no guarded load of one element stays.
// CASE: InjectPTXLDG32.2
tir.func @not_guarded(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<32xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<32xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  %zeros = tir.broadcast %zero : vector<4xf32>
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %p = tir.allocate [8] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer "L" %p : !tir.buffer<8xf32, "local">
    %g = tir.cmp lt %tx, %c4 : i32
    %r = tir.ramp %c0, %c1 : vector<4xi32>
    %v = tir.if_then_else %g -> vector<4xf32> {
      %y = tir.load %A[%r] : vector<4xf32>
      tir.yield %y : vector<4xf32>
    } else {
      tir.yield %zeros : vector<4xf32>
    }
    tir.store %v, %L[%r] : vector<4xf32>
    %x = tir.load %A[%tx] : f32
    tir.store %x, %L[%c4] : f32
    %z = tir.if_then_else %g -> f32 {
      %y = tir.load %A[%tx] : f32
      %d = tir.add %y, %y : f32
      tir.yield %d : f32
    } else {
      tir.yield %zero : f32
    }
    tir.store %z, %L[%c4] : f32
    %s = tir.load %L[%c4] : f32
    tir.store %s, %O[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @not_guarded
// CHECK:         tir.allocate "predicate"
// CHECK-NOT:     ptx_ldg32

// -----

// The buffers are allocated whether or not anything is rewritten, around the innermost of
// the first allocations.
// CASE: InjectPTXLDG32.5
tir.func @unused(%o: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<8xf32>
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  %p = tir.allocate "p" [8] : !tir.ptr<f32, "local">
  %q = tir.allocate "q" [8] : !tir.ptr<f32, "local">
  %L = tir.decl_buffer "L" %q : !tir.buffer<8xf32, "local">
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    tir.store %zero, %L[%tx] : f32
    tir.store %zero, %O[%tx] : f32
  }
  tir.scope {
    %r = tir.allocate "r" [8] : !tir.ptr<f32>
  }
}
tir.func @nothing() {
}
// CHECK-LABEL: tir.func @unused
// CHECK:         tir.allocate "p"
// CHECK-NEXT:    tir.allocate "q"
// CHECK-NOT:     tir.allocate
// CHECK:         tir.scope {
// CHECK-NEXT:      tir.allocate "predicate" [1] : !tir.ptr<i1, "local">
// CHECK-NEXT:      tir.decl_buffer "predicate"
// CHECK-NEXT:      tir.allocate "addr" [2] : !tir.ptr<i32, "local">
// CHECK-NEXT:      tir.decl_buffer "addr"
// CHECK-NEXT:      tir.allocate "r"
// CHECK-LABEL: tir.func @nothing() {
// CHECK-NEXT:  }

// -----

// i32 is not what the instruction loads, so that this stays, unlike in TVM.
// CASE: InjectPTXLDG32.6
tir.func @integers(%w: !tir.handle, %o: !tir.handle) {
  %W = tir.match_buffer "W" %w : !tir.buffer<16xi32>
  %O = tir.match_buffer "O" %o : !tir.buffer<8xi32>
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %p = tir.allocate [8] : !tir.ptr<i32, "local">
    %L = tir.decl_buffer "L" %p : !tir.buffer<8xi32, "local">
    %g = tir.cmp lt %tx, %c4 : i32
    %y = tir.add %tx, %c8 : i32
    %x = tir.if_then_else %g -> i32 {
      %1 = tir.load %W[%tx] : i32
      tir.yield %1 : i32
    } else {
      %2 = tir.load %W[%y] : i32
      tir.yield %2 : i32
    }
    tir.store %x, %L[%tx] : i32
    %s = tir.load %L[%tx] : i32
    tir.store %s, %O[%tx] : i32
  }
}
// CHECK-LABEL: tir.func @integers
// CHECK-NOT:     ptx_ldg32

// -----

// Both branches load: the first one is a ptx_ldg32, which writes 0 where the guard does
// not hold; so the other is loaded after it, and there only.
// CASE: InjectPTXLDG32.7
tir.func @both(%w: !tir.handle, %o: !tir.handle) {
  %W = tir.match_buffer "W" %w : !tir.buffer<12xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<8xf32>
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %p = tir.allocate [8] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer "L" %p : !tir.buffer<8xf32, "local">
    %g1 = tir.cmp lt %tx, %c4 : i32
    %g2 = tir.cmp ge %tx, %c1 : i32
    %g = tir.and %g1, %g2 : i1
    %y = tir.add %tx, %c4 : i32
    %x = tir.if_then_else %g -> f32 {
      %1 = tir.load %W[%tx] : f32
      tir.yield %1 : f32
    } else {
      %2 = tir.load %W[%y] : f32
      tir.yield %2 : f32
    }
    tir.store %x, %L[%tx] : f32
    %s = tir.load %L[%tx] : f32
    tir.store %s, %O[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @both
// CHECK:         %[[W:.*]] = tir.match_buffer "W"
// CHECK:         %[[P:.*]] = tir.decl_buffer "predicate"
// CHECK:         %[[D:.*]] = tir.decl_buffer "addr"
// CHECK:         %[[L:.*]] = tir.decl_buffer "L"
// CHECK:         %[[G:.*]] = tir.and
// CHECK-NEXT:    %[[Y:.*]] = tir.add
// CHECK:         tir.store %[[G]], %[[P]]
// CHECK-NOT:     tir.store
// CHECK:         tir.call "ptx_ldg32"
// CHECK-NEXT:    %[[WANTED:.*]] = tir.load %[[P]]
// CHECK-NEXT:    %[[NOT:.*]] = tir.not %[[WANTED]]
// CHECK-NEXT:    tir.if %[[NOT]] {
// CHECK-NEXT:      %[[V:.*]] = tir.load %[[W]][%[[Y]]] : f32
// CHECK-NEXT:      %[[J:.*]] = tir.load %[[D]]
// CHECK-NEXT:      tir.store %[[V]], %[[L]][%[[J]]] : f32
// CHECK-NEXT:    }

// -----

// A load in the else branch: the guard is negated. The allocation of the host does not
// hold the buffers of a kernel, which has its own; and a disjunction is stored as it is.
tir.func @negated(%w: !tir.handle, %o: !tir.handle) {
  %W = tir.match_buffer "W" %w : !tir.buffer<8xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<8xf32>
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %two = tir.const 2.0 : f32
  %h = tir.allocate "h" [8] : !tir.ptr<f32>
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %L = tir.alloc_buffer "L" : !tir.buffer<8xf32, "local">
    %g1 = tir.cmp gt %tx, %c4 : i32
    %g2 = tir.cmp lt %tx, %c1 : i32
    %g = tir.or %g1, %g2 : i1
    %x = tir.if_then_else %g -> f32 {
      tir.yield %two : f32
    } else {
      %y = tir.load %W[%tx] : f32
      tir.yield %y : f32
    }
    tir.store %x, %L[%tx] : f32
    %s = tir.load %L[%tx] : f32
    tir.store %s, %O[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @negated
// CHECK:         tir.allocate "predicate"
// CHECK:         tir.allocate "h"
// CHECK:         tir.launch_thread
// CHECK-NEXT:      tir.allocate "predicate"
// CHECK-NEXT:      %[[P:.*]] = tir.decl_buffer "predicate"
// CHECK:           %[[G:.*]] = tir.or
// CHECK-NEXT:      %[[NOT:.*]] = tir.not %[[G]]
// CHECK:           tir.store %[[NOT]], %[[P]]
// CHECK:           tir.call "ptx_ldg32"
// CHECK:           tir.if

// -----

// Memory that the kernel writes, memory of another scope, another destination, a guarded
// index that cannot be computed always, and a fallback that reads what is written.
tir.func @unsound(%a: !tir.handle, %w: !tir.handle, %i: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %W = tir.match_buffer "W" %w : !tir.buffer<8xf32>
  %I = tir.match_buffer "I" %i : !tir.buffer<8xi32>
  %O = tir.match_buffer "O" %o : !tir.buffer<16xf32>
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %p = tir.allocate [8] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer "L" %p : !tir.buffer<8xf32, "local">
    %s = tir.allocate [8] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<8xf32, "shared">
    tir.store %zero, %S[%tx] : f32
    tir.store %zero, %W[%tx] : f32
    %g = tir.cmp lt %tx, %c4 : i32
    %x = tir.if_then_else %g -> f32 {
      %y = tir.load %W[%tx] : f32
      tir.yield %y : f32
    } else {
      tir.yield %zero : f32
    }
    tir.store %x, %L[%tx] : f32
    %x1 = tir.if_then_else %g -> f32 {
      %y = tir.load %S[%tx] : f32
      tir.yield %y : f32
    } else {
      tir.yield %zero : f32
    }
    tir.store %x1, %L[%tx] : f32
    %x2 = tir.if_then_else %g -> f32 {
      %y = tir.load %A[%tx] : f32
      tir.yield %y : f32
    } else {
      tir.yield %zero : f32
    }
    tir.store %x2, %O[%tx] : f32
    %x3 = tir.if_then_else %g -> f32 {
      %j = tir.load %I[%tx] : i32
      %y = tir.load %A[%j] : f32
      tir.yield %y : f32
    } else {
      tir.yield %zero : f32
    }
    tir.store %x3, %L[%tx] : f32
    %x4 = tir.if_then_else %g -> f32 {
      %y = tir.load %A[%tx] : f32
      tir.yield %y : f32
    } else {
      %y = tir.load %W[%tx] : f32
      tir.yield %y : f32
    }
    tir.store %x4, %L[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @unsound
// CHECK-NOT:     ptx_ldg32
