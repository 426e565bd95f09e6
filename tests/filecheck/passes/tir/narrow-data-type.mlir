// RUN: xdsl-opt %s -p 'tir-narrow-data-type{target_bits=32}' --split-input-file | filecheck %s --check-prefixes=CHECK,TO32
// RUN: xdsl-opt %s -p 'tir-narrow-data-type{target_bits=16}' --split-input-file | filecheck %s --check-prefixes=CHECK,TO16

// Memory at pointers has no known size, so that what is large is not executed.

// CASE: NarrowDataType.1, NarrowDataType.2
tir.func @small_i32(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %m = tir.const 2 : i32
  %n = tir.const 2 : i32
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %n : i32
      %1 = tir.add %0, %j : i32
      %x = tir.load %B[%1] : f32
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @small_i32
// TO32:           tir.for %[[I:.*]] = %
// TO32-NEXT:        tir.for %[[J:.*]] = %
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i32
// TO32-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i32
// TO32-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO32-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32
// TO16:           tir.for %[[I:.*]] = %
// TO16-NEXT:        tir.for %[[J:.*]] = %
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i16
// TO16-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i16
// TO16-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO16-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32

// -----

tir.func @small_i64(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %m = tir.const 2 : i64
  %n = tir.const 2 : i64
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %n : i64
      %1 = tir.add %0, %j : i64
      %x = tir.load %B[%1] : f32
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @small_i64
// TO32:           tir.for %[[I:.*]] = %
// TO32-NEXT:        tir.for %[[J:.*]] = %
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i32
// TO32-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i32
// TO32-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO32-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32
// TO16:           tir.for %[[I:.*]] = %
// TO16-NEXT:        tir.for %[[J:.*]] = %
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i16
// TO16-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i16
// TO16-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO16-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32

// -----

tir.func @large_i32(%a: !tir.ptr<f32>, %b: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<1048576xf32>
  %B = tir.decl_buffer "B" %b : !tir.buffer<1048576xf32>
  %c0 = tir.const 0 : i32
  %m = tir.const 1024 : i32
  %n = tir.const 1024 : i32
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %n : i32
      %1 = tir.add %0, %j : i32
      %x = tir.load %B[%1] : f32
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @large_i32
// TO32:           tir.for %[[I:.*]] = %
// TO32-NEXT:        tir.for %[[J:.*]] = %
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i32
// TO32-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i32
// TO32-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO32-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32
// TO16:           tir.for %[[I:.*]] = %
// TO16-NEXT:        tir.for %[[J:.*]] = %
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i32
// TO16-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i32
// TO16-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO16-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32

// -----

tir.func @large_i64(%a: !tir.ptr<f32>, %b: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<4294967296xf32>
  %B = tir.decl_buffer "B" %b : !tir.buffer<4294967296xf32>
  %c0 = tir.const 0 : i64
  %m = tir.const 65536 : i64
  %n = tir.const 65536 : i64
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %n : i64
      %1 = tir.add %0, %j : i64
      %x = tir.load %B[%1] : f32
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @large_i64
// TO32:           tir.for %[[I:.*]] = %
// TO32-NEXT:        tir.for %[[J:.*]] = %
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i64
// TO32-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i64
// TO32-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO32-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32
// TO16:           tir.for %[[I:.*]] = %
// TO16-NEXT:        tir.for %[[J:.*]] = %
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[I]], %{{.*}} : i64
// TO16-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %[[J]] : i64
// TO16-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[INDEX]]] : f32
// TO16-NEXT:          tir.store %[[X]], %{{.*}}[%[[INDEX]]] : f32

// -----

// Symbolic sizes have no bound, so nothing fits fewer bits.
tir.func @sizes_i32(%a: !tir.handle, %m: i32, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %n : i32
      %1 = tir.add %0, %j : i32
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @sizes_i32(%{{.*}}: !tir.handle, %{{.*}}: i32, %{{.*}}: i32)
// CHECK:           tir.add %{{.*}}, %{{.*}} : i32
// CHECK-NOT:       tir.cast

// -----

tir.func @sizes_i64(%a: !tir.handle, %m: i64, %n: i64) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i64
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %n : i64
      %1 = tir.add %0, %j : i64
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @sizes_i64(%{{.*}}: !tir.handle, %{{.*}}: i64, %{{.*}}: i64)
// CHECK:           tir.add %{{.*}}, %{{.*}} : i64
// CHECK-NOT:       tir.cast

// -----

// CASE: NarrowDataType.3
tir.func @few_threads(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %bx = tir.const 2 : i64
  %tx = tir.const 32 : i64
  %x = tir.const 1.0 : f32
  tir.launch_thread %b = "blockIdx.x" to %bx {
    tir.launch_thread %t = "threadIdx.x" to %tx {
      %0 = tir.mul %b, %tx : i64
      %1 = tir.add %0, %t : i64
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @few_threads
// TO32:           tir.launch_thread %[[B:.*]] = "blockIdx.x" to
// TO32-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x" to
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i32
// TO32-NEXT:          tir.add %[[MUL]], %[[T]] : i32
// TO16:           tir.launch_thread %[[B:.*]] = "blockIdx.x" to
// TO16-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x" to
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i16
// TO16-NEXT:          tir.add %[[MUL]], %[[T]] : i16

// -----

tir.func @many_threads(%a: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<34359738368xf32>
  %bx = tir.const 1073741824 : i64
  %tx = tir.const 32 : i64
  %x = tir.const 1.0 : f32
  tir.launch_thread %b = "blockIdx.x" to %bx {
    tir.launch_thread %t = "threadIdx.x" to %tx {
      %0 = tir.mul %b, %tx : i64
      %1 = tir.add %0, %t : i64
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @many_threads
// TO32:           tir.launch_thread %[[B:.*]] = "blockIdx.x" to
// TO32-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x" to
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i64
// TO32-NEXT:          tir.add %[[MUL]], %[[T]] : i64
// TO16:           tir.launch_thread %[[B:.*]] = "blockIdx.x" to
// TO16-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x" to
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i64
// TO16-NEXT:          tir.add %[[MUL]], %[[T]] : i64

// -----

tir.func @threads_i32(%a: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<524288xf32>
  %bx = tir.const 16384 : i32
  %tx = tir.const 32 : i32
  %x = tir.const 1.0 : f32
  tir.launch_thread %b = "blockIdx.x" to %bx {
    tir.launch_thread %t = "threadIdx.x" to %tx {
      %0 = tir.mul %b, %tx : i32
      %1 = tir.add %0, %t : i32
      tir.store %x, %A[%1] : f32
    }
  }
}
// CHECK-LABEL: tir.func @threads_i32
// TO32:           tir.launch_thread %[[B:.*]] = "blockIdx.x" to
// TO32-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x" to
// TO32-NEXT:          %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i32
// TO32-NEXT:          tir.add %[[MUL]], %[[T]] : i32
// TO16:           tir.launch_thread %[[B:.*]] = "blockIdx.x" to
// TO16-NEXT:        tir.launch_thread %[[T:.*]] = "threadIdx.x" to
// TO16-NEXT:          %[[MUL:.*]] = tir.mul %[[B]], %{{.*}} : i32
// TO16-NEXT:          tir.add %[[MUL]], %[[T]] : i32

// -----

// CASE: NarrowDataType.4
tir.func @vectors(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<1024xvector<4xf32>>
  %B = tir.match_buffer "B" %b : !tir.buffer<1024xvector<4xf32>>
  %c0 = tir.const 0 : i64
  %n = tir.const 1024 : i64
  tir.for %i = %c0 to %n {
    %x = tir.load %B[%i] : vector<4xf32>
    tir.store %x, %A[%i] : vector<4xf32>
    tir.evaluate %i : i64
  }
}
// CHECK-LABEL: tir.func @vectors
// TO32:             tir.evaluate %{{.*}} : i32
// TO16:             tir.evaluate %{{.*}} : i16

// -----

tir.func @long_vectors(%a: !tir.ptr<vector<4xf32>>, %b: !tir.ptr<vector<4xf32>>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<4294967296xvector<4xf32>>
  %B = tir.decl_buffer "B" %b : !tir.buffer<4294967296xvector<4xf32>>
  %c0 = tir.const 0 : i64
  %n = tir.const 4294967296 : i64
  tir.for %i = %c0 to %n {
    %x = tir.load %B[%i] : vector<4xf32>
    tir.store %x, %A[%i] : vector<4xf32>
    tir.evaluate %i : i64
  }
}
// CHECK-LABEL: tir.func @long_vectors
// TO32:             tir.evaluate %{{.*}} : i64
// TO16:             tir.evaluate %{{.*}} : i64

// -----

tir.func @vectors_i32(%a: !tir.ptr<vector<4xf32>>, %b: !tir.ptr<vector<4xf32>>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<65536xvector<4xf32>>
  %B = tir.decl_buffer "B" %b : !tir.buffer<65536xvector<4xf32>>
  %c0 = tir.const 0 : i32
  %n = tir.const 65536 : i32
  tir.for %i = %c0 to %n {
    %x = tir.load %B[%i] : vector<4xf32>
    tir.store %x, %A[%i] : vector<4xf32>
    tir.evaluate %i : i32
  }
}
// CHECK-LABEL: tir.func @vectors_i32
// TO32:             tir.evaluate %{{.*}} : i32
// TO16:             tir.evaluate %{{.*}} : i32

// -----

// CASE: NarrowDataType.5
tir.func @both_fit(%a: !tir.ptr<f32>, %b: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<1073741824xf32>
  %B = tir.decl_buffer "B" %b : !tir.buffer<2147483648xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %m = tir.const 32768 : i64
  %n = tir.const 32768 : i64
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %c2 : i64
      %1 = tir.mul %0, %n : i64
      %2 = tir.mul %c2, %j : i64
      %3 = tir.add %1, %2 : i64
      %x = tir.load %B[%3] : f32
      %4 = tir.mul %i, %n : i64
      %5 = tir.add %4, %j : i64
      tir.store %x, %A[%5] : f32
    }
  }
}
// CHECK-LABEL: tir.func @both_fit
// TO32:               tir.load
// TO32:               tir.mul %{{.*}}, %{{.*}} : i32
// TO32:               tir.add %{{.*}}, %{{.*}} : i32
// TO32-NOT:           tir.cast
// TO16:               tir.add %{{.*}}, %{{.*}} : i64

// -----

tir.func @one_overflows(%a: !tir.ptr<f32>, %b: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<1073774592xf32>
  %B = tir.decl_buffer "B" %b : !tir.buffer<2147549184xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %m = tir.const 32768 : i64
  %n = tir.const 32769 : i64
  tir.for %i = %c0 to %m {
    tir.for %j = %c0 to %n {
      %0 = tir.mul %i, %c2 : i64
      %1 = tir.mul %0, %n : i64
      %2 = tir.mul %c2, %j : i64
      %3 = tir.add %1, %2 : i64
      %x = tir.load %B[%3] : f32
      %4 = tir.mul %i, %n : i64
      %5 = tir.add %4, %j : i64
      tir.store %x, %A[%5] : f32
    }
  }
}
// CHECK-LABEL: tir.func @one_overflows
// TO32:               tir.load
// TO32:               tir.mul %{{.*}}, %{{.*}} : i64
// TO32:               tir.add %{{.*}}, %{{.*}} : i64
// TO32-NOT:           tir.cast
// TO16:               tir.add %{{.*}}, %{{.*}} : i64

// -----

// CASE: NarrowDataType.6
tir.func @conditions(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<130xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c65 = tir.const 65 : i64
  %c128 = tir.const 128 : i64
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c65 {
      %0 = tir.mul %i, %c65 : i64
      %1 = tir.add %0, %j : i64
      %p = tir.cmp le %c0, %1 : i64
      %q = tir.cmp lt %1, %c128 : i64
      %r = tir.and %p, %q : i1
      %x = tir.if_then_else %r -> f32 {
        %y = tir.load %A[%1] : f32
        tir.yield %y : f32
      } else {
        tir.yield %zero : f32
      }
      tir.store %x, %B[%1] : f32
      tir.if %r {
        tir.store %zero, %A[%1] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @conditions
// TO32:               %[[MUL:.*]] = tir.mul %{{.*}} : i32
// TO32-NEXT:          %[[INDEX:.*]] = tir.add %[[MUL]], %{{.*}} : i32
// TO32-NEXT:          tir.cmp le %{{.*}}, %[[INDEX]] : i32
// TO32-NEXT:          tir.cmp lt %[[INDEX]], %{{.*}} : i32
// TO32-NEXT:          %[[R:.*]] = tir.and
// TO32-NEXT:          tir.if_then_else %[[R]] -> f32 {
// TO32-NEXT:            tir.load %{{.*}}[%[[INDEX]]]
// TO32:               tir.if %[[R]] {

// -----

// CASE: NarrowDataType.7
tir.func @block(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  %c2 = tir.const 2 : i64
  %c16 = tir.const 16 : i64
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %c8 {
    tir.for %j = %c0 to %c2 {
      %0 = tir.mul %i, %c2 : i64
      %1 = tir.add %0, %j : i64
      tir.block "B" (%vi : S in [%c0 to %c16] = %1) {
        tir.reads
        tir.writes %A[%vi]
        tir.store %x, %A[%vi] : f32
        tir.evaluate %vi : i64
      }
    }
  }
}
// CHECK-LABEL: tir.func @block
// TO32:               %[[BINDING:.*]] = tir.add %{{.*}} : i32
// TO32-NEXT:          tir.block "B" (%[[V:.*]] : S in [%{{.*}} to %{{.*}}] = %[[BINDING]]) {
// TO32:                 tir.evaluate %[[V]] : i32
// TO16:                 tir.evaluate %{{.*}} : i16

// -----

// CASE: NarrowDataType.8
tir.func @pooling(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<49xi32>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %c2 = tir.const 2 : i64
  %c3 = tir.const 3 : i64
  %c7 = tir.const 7 : i64
  %c14 = tir.const 14 : i64
  tir.for %i = %c0 to %c7 {
    tir.for %j = %c0 to %c7 {
      %0 = tir.mul %i, %c7 : i64
      %1 = tir.add %0, %j : i64
      %2 = tir.mul %i, %c2 : i64
      %3 = tir.add %2, %c3 : i64
      %4 = tir.min %3, %c14 : i64
      %5 = tir.mul %j, %c2 : i64
      %6 = tir.sub %4, %5 : i64
      %7 = tir.max %6, %c1 : i64
      %divisor = tir.cast %7 : i64 to i32
      %sum = tir.load %A[%1] : i32
      %y = tir.div %sum, %divisor : i32
      tir.store %y, %A[%1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @pooling
// TO32:               %[[D:.*]] = tir.max %{{.*}} : i32
// TO32-NEXT:          %[[SUM:.*]] = tir.load
// TO32-NEXT:          tir.div %[[SUM]], %[[D]] : i32

// -----

// CASE: NarrowDataType.9
tir.func @data(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xi64>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %n = tir.const 127 : i64
  tir.for %i = %c0 to %n {
    %next = tir.add %i, %c1 : i64
    %x = tir.load %A[%i] : i64
    %y = tir.add %x, %c1 : i64
    tir.store %y, %A[%next] : i64
  }
}
// CHECK-LABEL: tir.func @data
// TO32:           %[[ONE:.*]] = tir.const 1 : i32
// TO32-NEXT:      %[[WIDE:.*]] = tir.const 1 : i64
// TO32:           tir.for %[[I:.*]] = %
// TO32-NEXT:        %[[NEXT:.*]] = tir.add %[[I]], %[[ONE]] : i32
// TO32-NEXT:        %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : i64
// TO32-NEXT:        %[[Y:.*]] = tir.add %[[X]], %[[WIDE]] : i64
// TO32-NEXT:        tir.store %[[Y]], %{{.*}}[%[[NEXT]]] : i64

// -----

// The variable would fit 16 bits, its extent does not.
tir.func @extent(%a: !tir.ptr<f32>) {
  %A = tir.decl_buffer "A" %a : !tir.buffer<32768xf32>
  %c0 = tir.const 0 : i32
  %n = tir.const 32768 : i32
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %n {
    tir.store %x, %A[%i] : f32
    tir.evaluate %i : i32
  }
}
// CHECK-LABEL: tir.func @extent
// CHECK:           tir.evaluate %{{.*}} : i32

// -----

// Bits beyond the target, negative numbers, and callees that take 64 bits.
tir.func @bits(%a: !tir.handle, %x: i64) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %c40 = tir.const 40 : i64
  tir.for %i = %c0 to %c8 {
    %0 = tir.call "shift_right"(%i, %c40) : (i64, i64) -> i64
    %1 = tir.add %0, %i : i64
    %n = tir.call "clz"(%i) : (i64) -> i32
    %2 = tir.sub %i, %c4 : i64
    %m = tir.call "clz"(%2) : (i64) -> i32
    %s = tir.add %n, %m : i32
    %count = tir.call "popcount"(%2) : (i64) -> i64
    %count32 = tir.cast %count : i64 to i32
    %t = tir.add %s, %count32 : i32
    tir.store %t, %A[%1] : i32
  }
}
// CHECK-LABEL: tir.func @bits
// TO32:           tir.for %[[I:.*]] = %
// TO32:             %[[WIDE:.*]] = tir.cast %[[I]] : i32 to i64
// TO32:             %[[SHIFTED:.*]] = tir.call "shift_right"(%[[WIDE]], %{{.*}}) : (i64, i64) -> i64
// TO32:             %[[N:.*]] = tir.call "clz"(%[[I]]) : (i32) -> i32
// TO32:             %[[LESS:.*]] = tir.sub %[[N]], %{{.*}} : i32
// TO32:             tir.add %[[LESS]], %{{.*}} : i32
// TO32:             tir.call "clz"(%{{.*}}) : (i64) -> i32
// TO32:             tir.call "popcount"(%{{.*}}) : (i64) -> i64

// -----

// A binding of an index is narrow, its use as a value is not.
tir.func @binding(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi64>
  %bytes = tir.const 8 : i32
  %c2 = tir.const 2 : i64
  %x = tir.const 1.0 : f32
  tir.launch_thread %t = "threadIdx.x" to %bytes {
    %wide = tir.cast %t : i32 to i64
    %0 = tir.mul %wide, %c2 : i64
    %k = tir.let "k" %0 : i64
    tir.store %x, %A[%k] : f32
    tir.store %k, %B[%k] : i64
  }
}
// CHECK-LABEL: tir.func @binding
// TO32:           tir.launch_thread %[[T:.*]] = "threadIdx.x"
// TO32-NEXT:        %[[V:.*]] = tir.mul %[[T]], %{{.*}} : i32
// TO32-NEXT:        %[[K:.*]] = tir.let "k" %[[V]] : i32
// TO32-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[K]]] : f32
// TO32-NEXT:        %[[DATA:.*]] = tir.cast %[[K]] : i32 to i64
// TO32-NEXT:        tir.store %[[DATA]], %{{.*}}[%[[K]]] : i64

// -----

// What a parameter of 64 bits is added to stays wide, and its buffer's shape too.
tir.func @parameter(%a: !tir.handle, %n: i64) {
  %A = tir.match_buffer "A" %a {index_type = i64} : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %c8 {
    %0 = tir.add %i, %n : i64
    tir.store %x, %A[%0] : f32
  }
  tir.for %j = %c0 to %c8 {
    %p = tir.cmp lt %j, %n : i64
    tir.if %p {
      tir.store %x, %A[%j] : f32
    }
  }
}
// CHECK-LABEL: tir.func @parameter
// CHECK:         tir.match_buffer "A" %{{.*}} {index_type = i64}
// CHECK:         tir.for %[[I:.*]] = %
// CHECK-NEXT:      tir.add %[[I]], %{{.*}} : i64
// TO32:          tir.for %[[J:.*]] = %
// TO32-NEXT:       %[[WIDE:.*]] = tir.cast %[[J]] : i32 to i64
// TO32-NEXT:       %[[P:.*]] = tir.cmp lt %[[WIDE]], %{{.*}} : i64
