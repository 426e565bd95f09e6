// RUN: xdsl-opt %s -p "tir-inject-double-buffer{split_loop=2}" --split-input-file | filecheck %s --check-prefix TWO
// RUN: xdsl-opt %s -p tir-inject-double-buffer,tir-simplify --split-input-file | filecheck %s --check-prefix SIMPLE
// RUN: xdsl-opt %s -p "tir-inject-double-buffer{split_loop=0}" --split-input-file | filecheck %s --check-prefix KEPT

// CASE: InjectDoubleBuffer.1, InjectDoubleBuffer.4
// The value %row is needed by both sides, and computed for each.
tir.func @copy(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "copy"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<400xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<400xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c100 = tir.const 100 : i32
  %one = tir.const 1.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c1 {
    tir.for "i" %i = %c0 to %c100 {
      %p = tir.allocate "B" [4] : !tir.ptr<f32, "shared">
      %B = tir.decl_buffer "B" %p : !tir.buffer<4xf32, "shared">
      %row = tir.mul %i, %c4 : i32
      tir.attr "double_buffer_scope" (%p) = 1 : i32 {
        tir.for %j = %c0 to %c4 {
          %k = tir.add %row, %j : i32
          %x = tir.load %A[%k] : f32
          tir.store %x, %B[%j] : f32
        }
      }
      tir.for %j = %c0 to %c4 {
        %k = tir.add %row, %j : i32
        %x = tir.load %B[%j] : f32
        %y = tir.add %x, %one : f32
        tir.store %y, %C[%k] : f32
      }
    }
  }
}
// TWO-LABEL: tir.func @copy
// TWO:         tir.launch_thread
// TWO-NEXT:      %[[P:.*]] = tir.allocate "B" [8] : !tir.ptr<f32, "shared">
// TWO-NEXT:      %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<8xf32, "shared">
// TWO-NEXT:      tir.mul %[[C0:.*]], %
// TWO-NEXT:      tir.for
// TWO:             tir.store %{{.*}}, %[[B]][
// TWO-NEXT:      }
// TWO-NEXT:      %[[N:.*]] = tir.const 49 : i32
// TWO-NEXT:      tir.for "i.outer" %[[O:.*]] = %[[C0]] to %[[N]] {
// TWO-NEXT:        tir.const 2 : i32
// TWO-NEXT:        %[[I:.*]] = tir.mul %[[O]], %
// TWO:             %[[NEXT:.*]] = tir.add %[[I]], %
// TWO-NEXT:        %[[MORE:.*]] = tir.cmp lt %[[NEXT]], %
// TWO-NEXT:        tir.if %[[MORE]] {
// TWO-NEXT:          tir.attr "double_buffer_write" (%[[P]]) = 1 : i32 {
// TWO-NEXT:            %[[ROW:.*]] = tir.mul %[[NEXT]], %
// TWO-NEXT:            tir.for
// TWO-NEXT:              tir.add %[[ROW]], %
// TWO:                   tir.floormod %[[NEXT]], %
// TWO:             tir.for
// TWO:               tir.floormod %[[I]], %
// TWO:               tir.load %[[B]]
// TWO:             tir.attr "double_buffer_write"
// TWO-NOT:     tir.attr
// TWO:           tir.if
// TWO-NEXT:        tir.const 98 : i32
// TWO-NOT:     tir.attr
// TWO:             tir.const 99 : i32
// TWO-NOT:     tir.attr
// KEPT-LABEL: tir.func @copy
// KEPT:         tir.allocate "B" [8]
// KEPT:         tir.for "i" %[[I:.*]] = %{{.*}} to %[[N:.*]] {
// KEPT:           %[[NEXT:.*]] = tir.add %[[I]], %
// KEPT-NEXT:      %[[MORE:.*]] = tir.cmp lt %[[NEXT]], %[[N]] : i32
// KEPT-NEXT:      tir.if %[[MORE]] {
// KEPT-NEXT:        tir.attr "double_buffer_write"
// KEPT-NOT:     tir.attr
// SIMPLE-LABEL: tir.func @copy

// -----

// CASE: InjectDoubleBuffer.2, InjectDoubleBuffer.3
// What is marked is all that the loop does.
tir.func @rest(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "rest"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<512xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %zero = tir.const 0.0 : f32
  tir.for "i" %i = %c0 to %c16 {
    %p = tir.allocate "cache" [32] : !tir.ptr<f32>
    %cache = tir.decl_buffer "cache" %p : !tir.buffer<32xf32>
    %data = tir.data %cache : !tir.ptr<f32>
    tir.attr "double_buffer_scope" (%data) = 1 : i32 {
      tir.for %j = %c0 to %c32 {
        %row = tir.mul %i, %c32 : i32
        %k = tir.add %row, %j : i32
        %x = tir.load %A[%k] : f32
        tir.store %x, %cache[%j] : f32
      }
      tir.store %zero, %B[%i] : f32
      tir.for %j = %c0 to %c32 {
        %x = tir.load %cache[%j] : f32
        %sum = tir.load %B[%i] : f32
        %y = tir.add %sum, %x : f32
        tir.store %y, %B[%i] : f32
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @rest
// SIMPLE:         %[[P:.*]] = tir.allocate "cache" [64] : !tir.ptr<f32>
// SIMPLE-NEXT:    %[[CACHE:.*]] = tir.decl_buffer "cache" %[[P]] : !tir.buffer<64xf32>
// SIMPLE:         tir.for %[[J:.*]] = %
// SIMPLE:           tir.store %{{.*}}, %[[CACHE]][%[[J]]] : f32
// SIMPLE:         tir.for
// SIMPLE:         tir.for "i.outer" %[[I:.*]] = %{{.*}} to %[[N:.*]] {
// SIMPLE:           %[[NEXT:.*]] = tir.add %[[I]], %
// SIMPLE-NEXT:      tir.attr "double_buffer_write" (%[[P]]) = 1 : i32 {
// SIMPLE:             %[[HALF:.*]] = tir.floormod %[[NEXT]], %
// SIMPLE:             %[[BASE:.*]] = tir.mul %[[HALF]], %
// SIMPLE:             %[[AT:.*]] = tir.add %[[BASE]], %
// SIMPLE:             tir.store %{{.*}}, %[[CACHE]][%[[AT]]] : f32
// SIMPLE:             tir.for
// SIMPLE-NOT:     tir.for
// SIMPLE-LABEL: tir.func @unmarked
// TWO-LABEL: tir.func @rest
// TWO:         tir.for "i.outer"
// KEPT-LABEL: tir.func @rest

// -----

// CASE: InjectDoubleBuffer.5
tir.func @unmarked(%a: !tir.handle) attributes {global_symbol = "unmarked"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.store %i, %B[%i] : i32
    %x = tir.load %B[%i] : i32
    tir.store %x, %A[%i] : i32
  }
}
// TWO-LABEL: tir.func @unmarked
// TWO:         tir.for
// TWO-NEXT:      tir.allocate [4]

// -----

// CASE: InjectDoubleBuffer.5
tir.func @address(%n: i32) {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %f = tir.string "f"
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %i, %B[%c0] : i32
    }
    %r = tir.call "call_extern"(%f, %p) : (!tir.handle, !tir.ptr<i32>) -> i32
  }
}
// TWO-LABEL: tir.func @address
// TWO:         tir.for
// TWO-NEXT:      tir.allocate [4]
// TWO-NEXT:      tir.decl_buffer
// TWO-NEXT:      tir.attr "double_buffer_scope"

// -----

// CASE: InjectDoubleBuffer.5
tir.func @one_of_two(%a: !tir.handle) attributes {global_symbol = "one_of_two"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %p = tir.allocate "P" [1] : !tir.ptr<i32>
    %P = tir.decl_buffer %p : !tir.buffer<1xi32>
    %q = tir.allocate "Q" [1] : !tir.ptr<i32>
    %Q = tir.decl_buffer %q : !tir.buffer<1xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %i, %P[%c0] : i32
    }
    tir.attr "double_buffer_scope" (%q) = 1 : i32 {
      tir.store %i, %Q[%c0] : i32
    }
    %r = tir.access_ptr r %p[%c0 to %c1] : !tir.ptr<i32>
    %R = tir.decl_buffer %r : !tir.buffer<1xi32>
    %x = tir.load %R[%c0] : i32
    %y = tir.load %Q[%c0] : i32
    %z = tir.add %x, %y : i32
    tir.store %z, %A[%i] : i32
  }
}
// KEPT-LABEL: tir.func @one_of_two
// KEPT:         tir.allocate "Q" [2]
// KEPT:         tir.for
// KEPT-NEXT:      tir.allocate "P" [1]
// KEPT-NEXT:      %[[P:.*]] = tir.decl_buffer
// KEPT-NEXT:      tir.store %{{.*}}, %[[P]][
// KEPT:           tir.attr "double_buffer_write"

// -----

// A loop that may have no iteration, starts anywhere, and comes before others: nothing runs
// that did not, and the memory ends with the loop.
tir.func @symbolic(%a: !tir.handle, %lo: i32, %n: i32, %m: i64) attributes {global_symbol = "symbolic"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %zero = tir.const 0 : i64
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c7 = tir.const 7 : i32
  %clamped = tir.min %n, %c7 : i32
  %extent = tir.cast %clamped : i32 to i64
  tir.for "k" %k = %zero to %extent unrolled annotations {pragma_x = 1 : i32} {
    %p = tir.allocate "P" [4] : !tir.ptr<i32>
    %P = tir.decl_buffer "P" %p : !tir.buffer<4xi32>
    %Q = tir.decl_buffer "Q" %p : !tir.buffer<4xi32>
    %t = tir.cast %k : i64 to i32
    %u = tir.let "u" %t : i32
    %lanes = tir.ramp %c0, %c1 : vector<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      %s = tir.allocate "S" [1] : !tir.ptr<i32>
      %S = tir.decl_buffer %s : !tir.buffer<1xi32>
      tir.store %u, %S[%c0] : i32
      %w = tir.load %S[%c0] : i32
      %v = tir.broadcast %w : vector<4xi32>
      tir.store %v, %P[%lanes] : vector<4xi32>
    }
    %x = tir.load %Q[%c3] : i32
    %y = tir.add %x, %u : i32
    tir.store %y, %A[%k] : i32
  }
  tir.store %n, %A[%c7] : i32
}
// KEPT-LABEL: tir.func @symbolic
// KEPT:         tir.attr "pragma_x"
// KEPT:           %[[SOME:.*]] = tir.cmp lt %{{.*}}, %[[N:.*]] : i64
// KEPT-NEXT:      tir.if %[[SOME]] {
// KEPT:             tir.allocate "P" [8]
// KEPT:             tir.scope {
// KEPT:               tir.allocate "S" [1]
// KEPT:             tir.for "k" %{{.*}} = %{{.*}} to %[[N]] unrolled
// KEPT:         tir.store
// SIMPLE-LABEL: tir.func @symbolic
// SIMPLE:         tir.for "k.outer" %{{.*}} unrolled

// -----

// Dynamic memory; an inner loop with memory of its own that is in the producer of the outer.
tir.func @nested(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "nested"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for "i" %i = %c0 to %c3 {
    %p = tir.allocate "P" [%n] : !tir.ptr<i32>
    %P = tir.decl_buffer "P" %p [%n] : !tir.buffer<?xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.for "j" %j = %c0 to %n {
        %q = tir.allocate "Q" [1] : !tir.ptr<i32>
        %Q = tir.decl_buffer "Q" %q : !tir.buffer<1xi32>
        tir.attr "double_buffer_scope" (%q) = 1 : i32 {
          %x = tir.load %A[%j] : i32
          tir.store %x, %Q[%c0] : i32
        }
        %y = tir.load %Q[%c0] : i32
        %z = tir.add %y, %i : i32
        tir.store %z, %P[%j] : i32
      }
    }
    tir.for "j" %j = %c0 to %n {
      %x = tir.load %P[%j] : i32
      tir.store %x, %B[%j] : i32
    }
  }
}
// KEPT-LABEL: tir.func @nested
// KEPT:         %[[TWICE:.*]] = tir.mul %[[N:.*]], %
// KEPT-NEXT:    %[[P:.*]] = tir.allocate "P" [%[[TWICE]]] : !tir.ptr<i32>
// KEPT-NEXT:    tir.decl_buffer "P" %[[P]] [%[[TWICE]]] : !tir.buffer<?xi32>
// KEPT:         tir.if
// KEPT:           tir.allocate "Q" [2]
// KEPT:         tir.for "i"
// KEPT:           tir.attr "double_buffer_write" (%[[P]])
// KEPT:             tir.allocate "Q" [2]
// KEPT:             tir.attr "double_buffer_write"
