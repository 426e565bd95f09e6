// RUN: xdsl-opt %s -p tir-test-print-control-flow --split-input-file | filecheck %s

// What loops store is known after them, whatever index they use, and increments are
// followed.
tir.func @loops(%a: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %h = %c0 to %c16 {
    tir.store %h, %A[%h] : i32
  }
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %y = tir.add %x, %c1 : i32
    tir.store %y, %A[%i] : i32
  }
  tir.for %j = %c0 to %c16 {
    %x = tir.load %A[%j] : i32
    tir.evaluate %x : i32
  }
  tir.for %io = %c0 to %c4 {
    tir.for %ii = %c0 to %c4 {
      %j = tir.mul %io, %c4 : i32
      %k = tir.add %j, %ii : i32
      tir.store %k, %A[%k] : i32
    }
  }
  tir.for %k = %c0 to %c16 {
    %x = tir.load %A[%k] : i32
    tir.evaluate %x : i32
    %p = tir.cmp lt %k, %c14 : i32
    tir.if %p {
      tir.store %c0, %A[%k] : i32
    } else {
      tir.store %c1, %A[%k] : i32
    }
    %z = tir.load %A[%k] : i32
    tir.evaluate %z : i32
  }
  tir.for %l = %c0 to %c14 {
    %x = tir.load %A[%l] : i32
    tir.evaluate %x : i32
  }
}
// CHECK-LABEL: tir.func @loops
// CHECK:         tir.store %h, %{{.*}}[%h] : i32
// CHECK:         tir.load %{{.*}}[%i] {known = "%i"} : i32
// CHECK:         tir.load %{{.*}}[%j] {known = "(%j + 1)"} : i32
// CHECK:         tir.store %{{.*}} {known = "(((%io * 4) + %ii) + 1)"} : i32
// CHECK:         tir.load %{{.*}}[%k_1] {known = "%k"} : i32
// CHECK:         tir.load %{{.*}}[%k_1] : i32
// CHECK:         tir.load %{{.*}}[%l] {known = "0"} : i32

// -----

// Of two loops that write the same, the first is overwritten; what is read is not, nor
// what a call might read.
tir.func @overwritten(%a: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.store %c0, %A[%i] : i32
  }
  tir.for %j = %c0 to %c16 {
    tir.store %c1, %A[%j] : i32
  }
  %x = tir.load %A[%n] : i32
  tir.evaluate %x : i32
  tir.store %c2, %A[%c0] : i32
  %f = tir.string "f"
  %r = tir.call "call_extern"(%f) : (!tir.handle) -> i32
  tir.store %c2, %A[%c0] : i32
}
// CHECK-LABEL: tir.func @overwritten
// CHECK:         tir.store %{{.*}}[%i] {overwritten} : i32
// CHECK:         tir.store %{{.*}}[%j] {known = "0"} : i32
// CHECK:         tir.load %{{.*}}[%n] : i32
// CHECK:         tir.store %{{.*}} {known = "1"} : i32
// CHECK:         tir.store %{{.*}}[%{{.*}}] : i32

// -----

// The last write to an even element is that of the outer loop where the inner variable
// was 1 before: the reference takes the first store for overwritten.
tir.func @last_write(%a: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<32xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c5 = tir.const 5 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %d = tir.mul %i, %c2 : i32
    tir.for %j = %c0 to %c8 {
      %e = tir.add %d, %j : i32
      tir.store %c7, %A[%d] : i32
      tir.store %c5, %A[%e] : i32
    }
  }
  %x = tir.load %A[%c2] : i32
  tir.evaluate %x : i32
}
// CHECK-LABEL: tir.func @last_write
// CHECK-NOT:     overwritten
// CHECK-NOT:     known

// -----

// Buffers that may be the same memory, branches, unknown indices, loops that may be empty.
tir.func @unknown(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.store %c0, %A[%c0] : i32
  tir.store %c1, %B[%c0] : i32
  %x = tir.load %A[%c0] : i32
  %p = tir.cmp lt %x, %n : i32
  tir.if %p {
    tir.store %c1, %A[%c1] : i32
  }
  %y = tir.load %A[%c1] : i32
  tir.store %n, %A[%c0] : i32
  tir.store %c0, %A[%y] : i32
  %z = tir.load %A[%c0] : i32
  tir.for %i = %c0 to %n {
    tir.store %c1, %A[%c1] : i32
  }
  %w = tir.load %A[%c1] : i32
  %s = tir.add %z, %w : i32
  tir.evaluate %s : i32
}
// CHECK-LABEL: tir.func @unknown
// CHECK-NOT:     known

// -----

// An assumption about an element is known as long as nothing is written there; vectors
// are taken lane by lane.
tir.func @assumed(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %p = tir.cmp eq %x, %c0 : i32
    %q = tir.cmp lt %i, %c14 : i32
    %r = tir.or %q, %p : i1
    %u = tir.call "assume"(%r) : (i1) -> i1
  }
  tir.for %j = %c14 to %c14 + %c1 {
    %x = tir.load %A[%j] : i32
    tir.evaluate %x : i32
  }
  %y = tir.load %A[%c0] : i32
  tir.evaluate %y : i32
  tir.for %k = %c0 to %c4 {
    %m = tir.mul %k, %c4 : i32
    %v = tir.ramp %m, %c1 : vector<4xi32>
    tir.store %v, %B[%v] : vector<4xi32>
  }
  tir.for %l = %c0 to %c16 {
    %x = tir.load %B[%l] : i32
    tir.evaluate %x : i32
  }
  %w = tir.ramp %c4, %c1 : vector<8xi32>
  %z = tir.load %B[%w] : vector<8xi32>
  tir.evaluate %z : vector<8xi32>
}
// CHECK-LABEL: tir.func @assumed
// CHECK:         tir.load %{{.*}}[%j] {known = "0"} : i32
// CHECK:         %y = tir.load %{{.*}}[%c0] : i32
// CHECK:         tir.load %{{.*}}[%l] {known = "%l"} : i32
// CHECK:         tir.load %{{.*}}[%w] {known = "ramp(4, 1)"} : vector<8xi32>

// -----

// Threads and iterations in no order, blocks with an init, loops of unknown length.
tir.func @orders(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.for %h = %c0 to %c16 parallel {
    tir.store %h, %A[%h] : i32
    tir.store %h, %B[%c0] : i32
  }
  %p = tir.load %A[%c4] : i32
  %q = tir.load %B[%c0] : i32
  tir.launch_thread %t = "threadIdx.x" to %c16 {
    tir.store %c1, %B[%t] : i32
    %r = tir.load %B[%t] : i32
    tir.evaluate %r : i32
    %z = tir.string "shared"
    %y = tir.call "tvm_storage_sync"(%z) : (!tir.handle) -> i32
    %s = tir.load %B[%t] : i32
    tir.evaluate %s : i32
  }
  tir.for %i = %c0 to %c16 {
    tir.store %c1, %A[%i] : i32
    tir.block "S" (%v : S in [%c0 to %c16] = %i, %k : R in [%c0 to %c1] = %c0) {
      tir.reads
      tir.writes %A[%v]
      tir.init {
        tir.store %c0, %A[%v] : i32
      }
      %u = tir.load %A[%v] : i32
      %w = tir.add %u, %c2 : i32
      tir.store %w, %B[%v] : i32
    }
    %x = tir.load %B[%i] : i32
    tir.evaluate %x : i32
  }
  tir.store %c2, %A[%c0] : i32
  tir.while {
    %d = tir.load %A[%c0] : i32
    %e = tir.cmp lt %d, %n : i32
    tir.yield %e : i1
  } do {
    %f = tir.load %A[%c0] : i32
    %g = tir.add %f, %c1 : i32
    tir.store %g, %A[%c0] : i32
  }
  %j = tir.load %A[%c0] : i32
  %l = tir.load %B[%c1] : i32
  tir.evaluate %j : i32
  tir.evaluate %l : i32
  tir.block "T" (%m : S in [%c0 to %c16] = %c4) {
    tir.reads
    tir.writes %B[%m]
    tir.store %m, %B[%m] : i32
  }
  %o = tir.load %B[%c4] : i32
  tir.evaluate %o : i32
}
// CHECK-LABEL: tir.func @orders
// CHECK:         %p = tir.load %{{.*}} {known = "4"} : i32
// CHECK:         %q = tir.load %{{.*}}[%c0] : i32
// CHECK:         %r = tir.load %{{.*}} {known = "1"} : i32
// CHECK:         %s = tir.load %{{.*}}[%t] : i32
// CHECK:         %u = tir.load %{{.*}}[%v] : i32
// CHECK:         %x = tir.load %{{.*}}[%i] : i32
// CHECK:         %d = tir.load %{{.*}}[%c0] : i32
// CHECK:         %f = tir.load %{{.*}}[%c0] : i32
// CHECK:         %j = tir.load %{{.*}}[%c0] : i32
// CHECK:         %l = tir.load %{{.*}}[%c1] : i32
// CHECK:         %o = tir.load %{{.*}} {known = "4"} : i32

// -----

// Memory that may change by itself, or be read by others; elements that overlap.
tir.func @volatile(%a: !tir.handle, %h: !tir.ptr<i32>, %n: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %d = tir.data %A : !tir.ptr<i32>
  tir.attr "volatile_scope" (%d) = %c1 {
    tir.store %n, %A[%c0] : i32
    tir.store %c1, %A[%c0] : i32
    %x = tir.load %A[%c0] : i32
    tir.evaluate %x : i32
  }
  %y = tir.load %A[%c0] : i32
  tir.evaluate %y : i32
  %B = tir.decl_buffer "B" %h strides [%c1, 1] : !tir.buffer<4x4xi32>
  tir.store %c0, %B[%c0, %c1] : i32
  tir.store %c1, %B[%c1, %c0] : i32
  %z = tir.load %B[%c0, %c1] : i32
  tir.evaluate %z : i32
}
// CHECK-LABEL: tir.func @volatile
// CHECK-NOT:     known
// CHECK-NOT:     overwritten
