// RUN: xdsl-opt %s -p tir-renormalize-split-pattern --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-renormalize-split-pattern,tir-simplify --split-input-file | filecheck %s --check-prefix SIMPLE

// CASE: RenormalizeSplitPattern.1, RenormalizeSplitPattern.2, RenormalizeSplitPattern.3
// CASE: RenormalizeSplitPattern.4, RenormalizeSplitPattern.6
tir.func @split(%b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "split", tir.noalias = true} {
  %B = tir.match_buffer "B" %b : !tir.buffer<16x32xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x32xi1>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c128 = tir.const 128 : i32
  %c256 = tir.const 256 : i32
  %c640 = tir.const 640 : i32
  tir.for %a = %c0 to %c16 {
    tir.launch_thread %t = "threadIdx.x" to %c32 {
      %a32 = tir.mul %a, %c32 : i32
      %s = tir.add %a32, %t : i32
      %r = tir.floormod %s, %c128 : i32
      %x = tir.floordiv %r, %c32 : i32
      tir.store %x, %B[%a, %t] : i32
      %a128 = tir.mul %a, %c128 : i32
      %t4 = tir.mul %t, %c4 : i32
      %u = tir.add %a128, %t4 : i32
      %y = tir.floordiv %u, %c256 : i32
      tir.store %y, %B[%a, %t] : i32
      %p = tir.cmp lt %s, %c640 : i32
      tir.store %p, %C[%a, %t] : i1
      %q = tir.cmp le %c128, %s : i32
      tir.store %q, %C[%a, %t] : i1
    }
  }
}
// (a*32 + t) % 128 // 32 -> (a + t//32) % 4
// CHECK-LABEL: tir.func @split
// CHECK:         tir.for %[[A:.*]] = %{{.*}} to %[[C16:.*]] {
// CHECK:           tir.launch_thread %[[T:.*]] = "threadIdx.x" to %[[C32:.*]] {
// CHECK-NEXT:        %[[T32:.*]] = tir.floordiv %[[T]], %[[C32]] : i32
// CHECK-NEXT:        %[[SUM:.*]] = tir.add %[[A]], %[[T32]] : i32
// CHECK-NEXT:        %[[X:.*]] = tir.floormod %[[SUM]], %c4 : i32
// CHECK-NEXT:        tir.store %[[X]]
// (a*128 + t*4) // 256 -> (a + t*4//128) // 2
// CHECK-NEXT:        %[[T4:.*]] = tir.mul %[[T]], %c4 : i32
// CHECK-NEXT:        %[[T128:.*]] = tir.floordiv %[[T4]], %c128 : i32
// CHECK-NEXT:        %[[SUM2:.*]] = tir.add %[[A]], %[[T128]] : i32
// CHECK-NEXT:        %[[TWO:.*]] = tir.const 2 : i32
// CHECK-NEXT:        %[[Y:.*]] = tir.floordiv %[[SUM2]], %[[TWO]] : i32
// CHECK-NEXT:        tir.store %[[Y]]
// a*32 + t < 640 -> (a + t//32) // 20 < 1
// CHECK-NEXT:        %[[C20:.*]] = tir.const 20 : i32
// CHECK-NEXT:        %[[BY20:.*]] = tir.floordiv %[[SUM]], %[[C20]] : i32
// CHECK-NEXT:        %[[ONE:.*]] = tir.const 1 : i32
// CHECK-NEXT:        %[[P:.*]] = tir.cmp lt %[[BY20]], %[[ONE]] : i32
// CHECK-NEXT:        tir.store %[[P]]
// 128 <= a*32 + t -> 1 <= (a + t//32) // 4
// CHECK-NEXT:        %[[BY4:.*]] = tir.floordiv %[[SUM]], %c4 : i32
// CHECK-NEXT:        %[[Q:.*]] = tir.cmp le %[[ONE]], %[[BY4]] : i32
// CHECK-NEXT:        tir.store %[[Q]]
// SIMPLE-LABEL: tir.func @split
// SIMPLE:         tir.for %[[A:.*]] = %{{.*}} to
// SIMPLE:           tir.launch_thread
// SIMPLE-NEXT:        %[[X:.*]] = tir.floormod %[[A]], %c4 : i32
// SIMPLE-NEXT:        tir.store %[[X]]
// SIMPLE-NEXT:        %[[TWO:.*]] = tir.const 2 : i32
// SIMPLE-NEXT:        %[[Y:.*]] = tir.floordiv %[[A]], %[[TWO]] : i32
// SIMPLE-NEXT:        tir.store %[[Y]]
// A loop of 16 has a < 20 throughout.
// SIMPLE-NEXT:        %[[TRUE:.*]] = tir.const true
// SIMPLE-NEXT:        tir.store %[[TRUE]]
// SIMPLE-NEXT:        %[[Q:.*]] = tir.cmp le %c4, %[[A]] : i32
// SIMPLE-NEXT:        tir.store %[[Q]]

// -----

// CASE: RenormalizeSplitPattern.3, RenormalizeSplitPattern.5, RenormalizeSplitPattern.6
// CASE: RenormalizeSplitPattern.7
tir.func @bounds(%b: !tir.handle, %c: !tir.handle, %a: i32) attributes {global_symbol = "bounds", tir.noalias = true} {
  %B = tir.match_buffer "B" %b : !tir.buffer<32xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<32xi1>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %c128 = tir.const 128 : i32
  %c256 = tir.const 256 : i32
  %c640 = tir.const 640 : i32
  tir.for %t = %c0 to %c32 {
    %a32 = tir.mul %a, %c32 : i32
    %s = tir.add %a32, %t : i32
    %p = tir.cmp lt %s, %c640 : i32
    tir.store %p, %C[%t] : i1
    %b32 = tir.floordiv %a, %c32 : i32
    %b2 = tir.mul %b32, %c2 : i32
    %e = tir.add %b2, %t : i32
    %q = tir.cmp lt %e, %c5 : i32
    tir.store %q, %C[%t] : i1
    %a128 = tir.mul %a, %c128 : i32
    %t4 = tir.mul %t, %c4 : i32
    %u = tir.add %a128, %t4 : i32
    %v = tir.floormod %u, %c256 : i32
    %w = tir.floordiv %v, %c8 : i32
    tir.store %w, %B[%t] : i32
  }
}
// CHECK-LABEL: tir.func @bounds
// CHECK:         tir.cmp lt
// (b//32*2 + e) < 5 -> (b//32*2 + e) // 5 < 1
// CHECK:         %[[B2:.*]] = tir.mul %{{.*}}, %c2 : i32
// CHECK-NEXT:    %[[E:.*]] = tir.add %[[B2]], %[[T:.*]] : i32
// CHECK-NEXT:    %[[E5:.*]] = tir.floordiv %[[E]], %c5 : i32
// CHECK-NEXT:    %[[Q:.*]] = tir.cmp lt %[[E5]], %{{.*}} : i32
// CHECK-NEXT:    tir.store %[[Q]]
// (a*128 + t*4) % 256 // 8 -> (a*16 + t*4//8) % 32
// CHECK-DAG:     %[[A16:.*]] = tir.mul %a, %{{.*}} : i32
// CHECK-DAG:     %[[T4:.*]] = tir.mul %[[T]], %c4 : i32
// CHECK:         %[[T8:.*]] = tir.floordiv %[[T4]], %c8 : i32
// CHECK-NEXT:    %[[SUM:.*]] = tir.add %[[A16]], %[[T8]] : i32
// CHECK-NEXT:    tir.floormod %[[SUM]], %c32 : i32
// SIMPLE-LABEL: tir.func @bounds
// SIMPLE:         %[[C20:.*]] = tir.const 20 : i32
// SIMPLE-NEXT:    tir.cmp lt %a, %[[C20]] : i32

// -----

// CASE: RenormalizeSplitPattern.8
tir.func @vectors(%b: !tir.handle, %a: i32) attributes {global_symbol = "vectors"} {
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c32 = tir.const 32 : i32
  %c128 = tir.const 128 : i32
  %lanes = tir.ramp %c0, %c1 : vector<8xi32>
  %va = tir.broadcast %a : vector<8xi32>
  %v32 = tir.broadcast %c32 : vector<8xi32>
  %v128 = tir.broadcast %c128 : vector<8xi32>
  %a32 = tir.mul %va, %v32 : vector<8xi32>
  %s = tir.add %a32, %lanes : vector<8xi32>
  %r = tir.floormod %s, %v128 : vector<8xi32>
  %x = tir.floordiv %r, %v32 : vector<8xi32>
  tir.store %x, %B[%lanes] : vector<8xi32>
}
// CHECK-LABEL: tir.func @vectors
// CHECK:         %[[Q:.*]] = tir.floordiv %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK-NEXT:    %[[S:.*]] = tir.add %{{.*}}, %[[Q]] : vector<8xi32>
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[V4:.*]] = tir.broadcast %[[C4]] : vector<8xi32>
// CHECK-NEXT:    tir.floormod %[[S]], %[[V4]] : vector<8xi32>

// -----

// CASE: RenormalizeSplitPattern.9
tir.func @impossible(%b: !tir.handle, %n: i32) attributes {global_symbol = "impossible"} {
  %B = tir.match_buffer "B" %b : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %m1 = tir.const -1 : i32
  %m2 = tir.const -2 : i32
  %p = tir.cmp eq %c2, %c0 : i32
  tir.if %p {
    %h = tir.floordiv %n, %c2 : i32
    %q = tir.cmp ge %h, %c16 : i32
    tir.if %q {
      tir.store %n, %B[%c0] : i32
    }
  }
  %r = tir.cmp lt %m1, %m2 : i32
  tir.if %r {
    %h = tir.floordiv %n, %m2 : i32
    %q = tir.cmp ge %h, %c16 : i32
    tir.if %q {
      tir.store %n, %B[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @impossible
// CHECK:         tir.cmp eq
// CHECK:         tir.cmp le
// CHECK:         tir.cmp lt
// CHECK:         tir.cmp le
// SIMPLE-LABEL: tir.func @impossible
// SIMPLE-NOT:     tir.if

// -----

// Negations and directions; floats and integers that wrap stay. The reference takes the
// sum of unsigned 8-bit numbers apart, and changes its value where it wraps.
tir.func @kinds(%c: !tir.handle, %n: i32, %m: i32, %x: f32, %u: ui8) attributes {global_symbol = "kinds"} {
  %C = tir.match_buffer "C" %c : !tir.buffer<4xi1>
  %D = tir.alloc_buffer "D" : !tir.buffer<1xui8>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %two = tir.const 2.0 : f32
  %p = tir.cmp gt %n, %m : i32
  tir.store %p, %C[%c0] : i1
  %q = tir.cmp lt %n, %m : i32
  %nq = tir.not %q : i1
  tir.store %nq, %C[%c1] : i1
  %nn = tir.not %nq : i1
  tir.store %nn, %C[%c3] : i1
  %f = tir.cmp lt %x, %two : f32
  %nf = tir.not %f : i1
  tir.store %nf, %C[%c2] : i1
  %u2 = tir.const 2 : ui8
  %u4 = tir.const 4 : ui8
  %d = tir.mul %u, %u4 : ui8
  %e = tir.add %d, %u : ui8
  %g = tir.floordiv %e, %u2 : ui8
  tir.store %g, %D[%c0] : ui8
}
// CHECK-LABEL: tir.func @kinds
// CHECK:         %[[P:.*]] = tir.cmp lt %m, %n : i32
// CHECK-NEXT:    tir.store %[[P]]
// CHECK-NEXT:    %[[Q:.*]] = tir.cmp lt %n, %m : i32
// CHECK-NEXT:    %[[NQ:.*]] = tir.cmp le %m, %n : i32
// CHECK-NEXT:    tir.store %[[NQ]]
// CHECK-NEXT:    tir.store %[[Q]]
// CHECK-NEXT:    %[[F:.*]] = tir.cmp lt %x
// CHECK-NEXT:    %[[NF:.*]] = tir.not %[[F]]
// CHECK-NEXT:    tir.store %[[NF]]
// CHECK:         %[[D:.*]] = tir.mul %u
// CHECK-NEXT:    %[[E:.*]] = tir.add %[[D]], %u
// CHECK-NEXT:    tir.floordiv %[[E]]

// -----

// Whether a custom type is ordered is not known.
tir.func @custom(%x: !tir.custom<"posites2", 16>, %y: !tir.custom<"posites2", 16>) -> i1 {
  %p = tir.cmp gt %x, %y : !tir.custom<"posites2", 16>
  %q = tir.not %p : i1
  tir.ret %q : i1
}
// CHECK-LABEL: tir.func @custom
// CHECK-NEXT:    tir.cmp gt
// CHECK-NEXT:    tir.not
