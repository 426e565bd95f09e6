// RUN: xdsl-opt %s -p tir-force-narrow-index-to-int32 --split-input-file | filecheck %s

// CASE: ForceNarrowIndexToInt32.1
tir.func @threads(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a {index_type = i64} : !tir.buffer<64xf32>
  %c2 = tir.const 2 : i64
  %c32 = tir.const 32 : i64
  %n = tir.const 32 : i32
  %m = tir.const 2 : i32
  %x = tir.const 1.0 : f32
  tir.launch_thread %b = "blockIdx.x" to %c2 {
    tir.launch_thread %t = "threadIdx.x" to %n {
      %wide = tir.cast %t : i32 to i64
      %0 = tir.mul %b, %c32 : i64
      %1 = tir.add %0, %wide : i64
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @threads
// CHECK-NEXT:    tir.match_buffer "A" %{{[^ ]*}} : !tir.buffer<64xf32>
// CHECK:         tir.launch_thread %[[B:.*]] = "blockIdx.x"
// CHECK-NEXT:      tir.launch_thread %[[T:.*]] = "threadIdx.x"
// CHECK-NEXT:        %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i32
// CHECK-NEXT:        %[[ADD:.*]] = tir.add %[[MUL]], %[[T]] : i32
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[ADD]]]

// -----

// CASE: ForceNarrowIndexToInt32.2
tir.func @mixed(%a: !tir.handle, %m: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %M = tir.match_buffer "M" %m : !tir.buffer<64xi1>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c32 = tir.const 32 : i64
  %c64 = tir.const 64 : i64
  %zero = tir.const 0 : i32
  %n64 = tir.const 64 : i32
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %j = %c0 to %c32 thread_binding "threadIdx.x" {
      %0 = tir.mul %i, %c32 : i64
      %1 = tir.add %0, %j : i64
      %2 = tir.cast %1 : i64 to i32
      %p = tir.cmp lt %1, %c64 : i64
      tir.block "B" (%v : S in [%zero to %n64] = %2, %w : S in [%c0 to %c64] = %1) where %p {
        tir.reads %M[%v]
        tir.writes %A[%w]
        %q = tir.load %M[%v] : i1
        %y = tir.cast %q : i1 to i32
        %z = tir.select %q, %y, %zero : i1, i32
        tir.store %z, %A[%w] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @mixed
// CHECK:         tir.for %[[I:.*]] = %{{.*}} thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[J:.*]] = %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[ADD:.*]] = tir.add %[[MUL]], %[[J]] : i32
// CHECK-NEXT:        %[[P:.*]] = tir.cmp lt %[[ADD]], %{{.*}} : i32
// CHECK-NEXT:        tir.block "B" (%{{.*}} = %[[ADD]], %{{.*}} = %[[ADD]]) where %[[P]] {
// CHECK:               %[[Y:.*]] = tir.cast %[[Q:.*]] : i1 to i32
// CHECK-NEXT:          tir.select %[[Q]], %[[Y]]

// -----

// CASE: ForceNarrowIndexToInt32.3
tir.func @block(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i64
  %c16 = tir.const 16 : i64
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %c16 {
    tir.block "B" (%v : S in [%c0 to %c16] = %i) {
      tir.reads
      tir.writes %A[%v]
      tir.store %x, %A[%v] : f32
      tir.evaluate %v : i64
    }
  }
}
// CHECK-LABEL: tir.func @block
// CHECK:           tir.block "B" (%[[V:.*]] : S in
// CHECK:             tir.evaluate %[[V]] : i32

// -----

// CASE: ForceNarrowIndexToInt32.4
tir.func @data(%a: !tir.handle, %s: i16) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi16>
  %c0 = tir.const 0 : i64
  %c16 = tir.const 16 : i64
  %c5 = tir.const 5 : i16
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i16
    %y = tir.add %x, %c5 : i16
    %z = tir.add %y, %s : i16
    tir.store %z, %A[%i] : i16
  }
}
// CHECK-LABEL: tir.func @data
// CHECK-SAME:      i16)
// CHECK:         tir.const 5 : i16
// CHECK:         tir.for
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      tir.add %{{.*}} : i16
// CHECK-NEXT:      tir.add %{{.*}} : i16
// CHECK-NEXT:      tir.store %{{.*}} : i16

// -----

// CASE: ForceNarrowIndexToInt32.5
tir.func @scalar(%a: !tir.handle, %b: !tir.handle, %n: i64) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %c8 = tir.const 8 : i64
  tir.for %i = %c0 to %c8 {
    %0 = tir.add %i, %n : i64
    %x = tir.load %A[%0] : f32
    %y = tir.cast %i : i64 to f32
    %p = tir.cmp le %c1, %i : i64
    %z = tir.select %p, %x, %y : i1, f32
    tir.store %z, %B[%i] : f32
  }
}
tir.func @caller(%a: !tir.handle, %b: !tir.handle, %n: i64) {
  tir.call_func @scalar(%a, %b, %n) : (!tir.handle, !tir.handle, i64) -> ()
}
// CHECK-LABEL: tir.func @scalar
// CHECK-SAME:      %[[N:[^ ,]*]]: i32)
// CHECK:         tir.for %[[I:.*]] = %
// CHECK-NEXT:      %[[INDEX:.*]] = tir.add %[[I]], %[[N]] : i32
// CHECK-NEXT:      tir.load %{{.*}}[%[[INDEX]]]
// CHECK-NEXT:      tir.cast %[[I]] : i32 to f32
// CHECK-NEXT:      tir.cmp le %{{.*}}, %[[I]] : i32
// CHECK-LABEL: tir.func @caller
// CHECK-SAME:      %[[N:[^ ,]*]]: i32)
// CHECK:         tir.call_func @scalar(%{{.*}}, %{{.*}}, %[[N]]) : (!tir.handle, !tir.handle, i32) -> ()

// -----

// CASE: ForceNarrowIndexToInt32.6
tir.func @zeros(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i64
  %c16 = tir.const 16 : i64
  tir.for %i = %c0 to %c16 {
    %n = tir.call "clz"(%i) : (i64) -> i32
    tir.store %n, %A[%i] : i32
  }
}
// CHECK-LABEL: tir.func @zeros
// CHECK:           %[[N:.*]] = tir.call "clz"(%{{.*}}) : (i32) -> i32
// CHECK-NEXT:      %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:      %[[LESS:.*]] = tir.sub %[[N]], %[[C32]] : i32
// CHECK-NEXT:      %[[C64:.*]] = tir.const 64 : i32
// CHECK-NEXT:      %[[ALL:.*]] = tir.add %[[LESS]], %[[C64]] : i32
// CHECK-NEXT:      tir.store %[[ALL]]

// -----

// CASE: ForceNarrowIndexToInt32.7
tir.func @let(%a: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  %x = tir.const 1.0 : f32
  %f = tir.cast %n : i64 to f32
  %l = tir.call "log2"(%f) : (f32) -> f32
  %c = tir.call "ceil"(%l) : (f32) -> f32
  %0 = tir.cast %c : f32 to i64
  %steps = tir.let "ceil_log2" %0 : i64
  tir.for %i = %c0 to %steps {
    tir.store %x, %A[%i] : f32
  }
}
// CHECK-LABEL: tir.func @let
// CHECK-NEXT:    %[[N:.*]] = tir.shape_var "n" : i32
// CHECK-NEXT:    tir.match_buffer "A" %{{.*}} [%[[N]]] : !tir.buffer<?xf32>
// CHECK:         tir.cast %[[N]] : i32 to f32
// CHECK:         %[[INT:.*]] = tir.cast %{{.*}} : f32 to i32
// CHECK-NEXT:    %[[STEPS:.*]] = tir.let "ceil_log2" %[[INT]] : i32
// CHECK-NEXT:    tir.for %{{.*}} = %{{.*}} to %[[STEPS]] {

// -----

// A product of data needs 64 bits, although the factors are of 32.
tir.func @product(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf64>
  %c0 = tir.const 0 : i64
  %c16 = tir.const 16 : i64
  %factor = tir.const 2000000000 : i64
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : i32
    %wide = tir.cast %x : i32 to i64
    %y = tir.mul %wide, %factor : i64
    %z = tir.add %y, %i : i64
    %f = tir.cast %z : i64 to f64
    tir.store %f, %B[%i] : f64
  }
}
// CHECK-LABEL: tir.func @product
// CHECK:         %[[FACTOR:.*]] = tir.const 2000000000 : i64
// CHECK:         tir.for %[[I:.*]] = %
// CHECK:           %[[WIDE:.*]] = tir.cast %{{.*}} : i32 to i64
// CHECK-NEXT:      %[[Y:.*]] = tir.mul %[[WIDE]], %[[FACTOR]] : i64
// CHECK-NEXT:      %[[J:.*]] = tir.cast %[[I]] : i32 to i64
// CHECK-NEXT:      tir.add %[[Y]], %[[J]] : i64

// -----

// Indices that are read, or counted in more bits than 32, stay wide.
tir.func @read(%p: !tir.ptr<i64>, %a: !tir.handle, %n: i64) {
  %P = tir.decl_buffer "P" %p : !tir.buffer<4xi64>
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i64
  %c40 = tir.const 40 : i64
  %x = tir.const 1.0 : f32
  %at = tir.load %P[%c0] : i64
  %0 = tir.add %at, %n : i64
  tir.store %x, %A[%0] : f32
  %1 = tir.call "shift_right"(%n, %c40) : (i64, i64) -> i64
  tir.store %x, %A[%1] : f32
}
// CHECK-LABEL: tir.func @read
// CHECK-SAME:      %[[N:[^ ,]*]]: i32)
// CHECK:         %[[WIDE:.*]] = tir.cast %[[N]] : i32 to i64
// CHECK-NEXT:    %[[INDEX:.*]] = tir.add %{{.*}}, %[[WIDE]] : i64
// CHECK-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[INDEX]]]
// CHECK-NEXT:    %[[AGAIN:.*]] = tir.cast %[[N]] : i32 to i64
// CHECK-NEXT:    tir.call "shift_right"(%[[AGAIN]], %{{.*}}) : (i64, i64) -> i64
