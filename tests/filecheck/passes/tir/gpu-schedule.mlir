// RUN: xdsl-opt %s -p 'tir-gpu-schedule{target="cuda"}' --split-input-file | filecheck %s

// A thread has the elements of one access; the last block asks for how many there are.

tir.func @map(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64x1000xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<1000xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<64x1000xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %c1000 = tir.const 1000 : i32
  tir.for "i" %i = %c0 to %c64 {
    tir.for "j" %j = %c0 to %c1000 {
      tir.block "C" (%vi : S in [%c0 to %c64] = %i, %vj : S in [%c0 to %c1000] = %j) {
        %x = tir.load %A[%vi, %vj] : f32
        %y = tir.load %B[%vj] : f32
        %z = tir.add %x, %y : f32
        tir.store %z, %C[%vi, %vj] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @map
// CHECK:         %[[ZERO:.*]] = tir.const 0 : i32
// CHECK:         %[[BLOCKS:.*]] = tir.const 63 : i32
// CHECK:         tir.for "bx" %[[B:.*]] = %{{.*}} to %[[BLOCKS]] thread_binding "blockIdx.x" {
// CHECK:           %[[THREADS:.*]] = tir.const 256 : i32
// CHECK:           tir.for "tx" %[[T:.*]] = %{{.*}} to %[[THREADS]] thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.block "C" {
// CHECK-NEXT:          %[[F:.*]] = tir.mul %[[B]], %[[THREADS]] : i32
// CHECK-NEXT:          %[[U:.*]] = tir.add %[[F]], %[[T]] : i32
// CHECK-NEXT:          %[[ALL:.*]] = tir.const 16000 : i32
// CHECK-NEXT:          %[[IN:.*]] = tir.cmp lt %[[U]], %[[ALL]] : i32
// CHECK-NEXT:          tir.if %[[IN]] {
// CHECK-NEXT:            %[[FOUR:.*]] = tir.const 4 : i32
// CHECK-NEXT:            tir.for "v" %[[V:.*]] = %{{.*}} to %[[FOUR]] vectorized {
// CHECK-NEXT:              %[[W:.*]] = tir.const 250 : i32
// CHECK-NEXT:              %[[I:.*]] = tir.floordiv %[[U]], %[[W]] : i32
// CHECK-NEXT:              %[[S:.*]] = tir.floormod %[[U]], %[[W]] : i32
// CHECK-NEXT:              %[[M:.*]] = tir.mul %[[S]], %[[FOUR]] : i32
// CHECK-NEXT:              %[[J:.*]] = tir.add %[[M]], %[[V]] : i32
// CHECK-NEXT:              tir.load %A[%[[I]], %[[J]]] : f32
// CHECK-NEXT:              tir.load %B[%[[J]]] : f32
// CHECK-NEXT:              tir.add
// CHECK-NEXT:              tir.store %{{.*}}, %C[%[[I]], %[[J]]] : f32
// CHECK-NOT:       tir.for

// -----

// What no access holds whole has a thread of its own.

tir.func @rest(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf16>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf16>
  %c0 = tir.const 0 : i32
  tir.for "i" %i = %c0 to %n {
    tir.block "B" (%vi : S in [%c0 to %n] = %i) {
      %x = tir.load %A[%vi] : f16
      %y = tir.add %x, %x : f16
      tir.store %y, %B[%vi] : f16
    }
  }
}

// CHECK-LABEL: tir.func @rest
// CHECK:         tir.block "B" {
// CHECK:           %[[U:.*]] = tir.add %{{.*}}, %tx : i32
// CHECK-NEXT:      %[[WHOLE:.*]] = tir.floordiv %n, %{{.*}} : i32
// CHECK-NEXT:      %[[IN:.*]] = tir.cmp lt %[[U]], %[[WHOLE]] : i32
// CHECK-NEXT:      tir.if %[[IN]] {
// CHECK-NEXT:        tir.for "v" %{{.*}} vectorized {
// CHECK:           %[[LAST:.*]] = tir.cmp eq %[[U]], %[[WHOLE]] : i32
// CHECK-NEXT:      tir.if %[[LAST]] {
// CHECK-NEXT:        %[[REST:.*]] = tir.floormod %n, %{{.*}} : i32
// CHECK-NEXT:        tir.for "t" %{{.*}} = %{{.*}} to %[[REST]] {

// -----

// A warp has a row. The sum of f16 is one of f32.

tir.func @rows(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<20x64xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<20xf16>
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c64 = tir.const 64 : i32
  %zero = tir.const 0.0 : f16
  tir.for "i" %i = %c0 to %c20 {
    tir.for "k" %k = %c0 to %c64 {
      tir.block "B" (%vi : S in [%c0 to %c20] = %i, %vk : R in [%c0 to %c64] = %k) {
        tir.init {
          tir.store %zero, %B[%vi] : f16
        }
        %x = tir.load %A[%vi, %vk] : f16
        %y = tir.load %B[%vi] : f16
        %z = tir.add %y, %x : f16
        tir.store %z, %B[%vi] : f16
      }
    }
  }
}

// CHECK-LABEL: tir.func @rows
// CHECK:         thread_binding "blockIdx.x"
// CHECK:         tir.for "ty" %[[TY:.*]] = %{{.*}} thread_binding "threadIdx.y"
// CHECK:         tir.for "tx" %[[TX:.*]] = %{{.*}} thread_binding "threadIdx.x"
// CHECK:           %[[OWN:.*]] = tir.alloc_buffer "own" : !tir.buffer<8xf32, "local">
// CHECK:           %[[ROW:.*]] = tir.add %{{.*}}, %[[TY]] : i32
// CHECK:           %[[IN:.*]] = tir.cmp lt %[[ROW]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[IN]] {
// CHECK-NEXT:        tir.for "v" %[[V:.*]] = %{{.*}} vectorized {
// CHECK:               tir.load %A[%[[ROW]], %{{.*}}] : f16
// CHECK:               tir.cast %{{.*}} : f16 to f32
// CHECK:               tir.store %{{.*}}, %[[OWN]][%[[V]]] : f32
// CHECK:           tir.attr "reduce_scope"
// CHECK-NEXT:        tir.thread_allreduce [%{{.*}}] into [%[[ALL:.*]][%{{.*}}]] over [%[[TX]]]
// CHECK:           tir.load %[[ALL]]
// CHECK:           tir.cast %{{.*}} : f32 to f16
// CHECK:           %[[FIRST:.*]] = tir.cmp eq %[[TX]], %{{.*}} : i32
// CHECK-NEXT:      %[[STORES:.*]] = tir.and %[[FIRST]], %[[IN]] : i1
// CHECK-NEXT:      tir.if %[[STORES]] {
// CHECK-NEXT:        tir.store %{{.*}}, %B[%[[ROW]]] : f16

// -----

// Threads have four neighbouring columns each, and rows of threads share their terms.

tir.func @columns(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64x20xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<20xi32>
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c64 = tir.const 64 : i32
  tir.for "i" %i = %c0 to %c20 {
    tir.for "k" %k = %c0 to %c64 {
      tir.block "B" (%vi : S in [%c0 to %c20] = %i, %vk : R in [%c0 to %c64] = %k) {
        tir.init {
          tir.store %c0, %B[%vi] : i32
        }
        %x = tir.load %A[%vk, %vi] : i32
        %y = tir.load %B[%vi] : i32
        %z = tir.max %y, %x : i32
        tir.store %z, %B[%vi] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @columns
// CHECK:         tir.for "ty" %[[TY:.*]] = %{{.*}} thread_binding "threadIdx.y"
// CHECK:         tir.for "tx" %[[TX:.*]] = %{{.*}} thread_binding "threadIdx.x"
// CHECK:           %[[UNIT:.*]] = tir.add %{{.*}}, %[[TX]] : i32
// CHECK:             tir.for "v" %[[V:.*]] = %{{.*}} vectorized {
// CHECK:               %[[FIRST:.*]] = tir.mul %[[UNIT]], %{{.*}} : i32
// CHECK-NEXT:          %[[COLUMN:.*]] = tir.add %[[FIRST]], %[[V]] : i32
// CHECK-NEXT:          tir.load %A[%[[TY]], %[[COLUMN]]] : i32
// CHECK:           tir.thread_allreduce [%{{.*}}] into [%{{.*}}] over [%[[TY]]]
// CHECK:           tir.for "v" %{{.*}} = %{{.*}} vectorized {
// CHECK:             tir.store %{{.*}}, %B[%{{.*}}] : i32

// -----

// Both extents are a multiple of the four elements of 16 bytes: a thread has a square.

tir.func @transpose(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64x96xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<96x64xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %c96 = tir.const 96 : i32
  tir.for "i" %i = %c0 to %c96 {
    tir.for "j" %j = %c0 to %c64 {
      tir.block "B" (%vi : S in [%c0 to %c96] = %i, %vj : S in [%c0 to %c64] = %j) {
        %x = tir.load %A[%vj, %vi] : f32
        tir.store %x, %B[%vi, %vj] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @transpose
// CHECK:         tir.for "bx" %bx = %{{.*}} thread_binding "blockIdx.x" {
// CHECK:           %[[FOUR:.*]] = tir.const 4 : i32
// CHECK-NEXT:      tir.for "ty" %{{.*}} = %{{.*}} to %[[FOUR]] thread_binding "threadIdx.y" {
// CHECK-NEXT:        %[[EIGHT:.*]] = tir.const 8 : i32
// CHECK-NEXT:        tir.for "tx" %{{.*}} = %{{.*}} to %[[EIGHT]] thread_binding "threadIdx.x" {
// CHECK-NEXT:          tir.block "B" {
// CHECK-NEXT:            %[[OWN:.*]] = tir.alloc_buffer "square" : !tir.buffer<4x4xf32, "local">
// CHECK-NEXT:            tir.for "u" %[[U:.*]] = %{{.*}} to %[[FOUR]] unrolled {
// CHECK-NEXT:              tir.for "v" %[[V:.*]] = %{{.*}} to %[[FOUR]] vectorized {
// CHECK:                     %[[I:.*]] = tir.add %{{.*}}, %[[U]] : i32
// CHECK:                     %[[J:.*]] = tir.add %{{.*}}, %[[V]] : i32
// CHECK-NEXT:                %[[X:.*]] = tir.load %A[%[[I]], %[[J]]] : f32
// CHECK-NEXT:                tir.store %[[X]], %[[OWN]][%[[U]], %[[V]]] : f32
// CHECK:                 tir.for "u" %[[R:.*]] = %{{.*}} to %[[FOUR]] unrolled {
// CHECK-NEXT:              tir.for "v" %[[D:.*]] = %{{.*}} to %[[FOUR]] vectorized {
// CHECK-NEXT:                %[[Y:.*]] = tir.load %[[OWN]][%[[D]], %[[R]]] : f32
// CHECK:                     %[[K:.*]] = tir.add %{{.*}}, %[[R]] : i32
// CHECK:                     %[[L:.*]] = tir.add %{{.*}}, %[[D]] : i32
// CHECK-NEXT:                tir.store %[[Y]], %B[%[[K]], %[[L]]] : f32

// -----

// A loop that has a kind is the schedule of its function.

tir.func @scheduled(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for "i" %i = %c0 to %c8 unrolled {
    tir.block "B" (%vi : S in [%c0 to %c8] = %i) {
      %x = tir.load %A[%vi] : f32
      tir.store %x, %B[%vi] : f32
    }
  }
}

// CHECK-LABEL: tir.func @scheduled
// CHECK:         tir.for "i" %{{.*}} unrolled {
// CHECK-NEXT:      tir.block "B" (%vi : S
// CHECK-NOT:     thread_binding

// -----

// What one iteration hands on to the next is not done by threads.

tir.func @carried(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c7 = tir.const 7 : i32
  tir.for "i" %i = %c0 to %c7 {
    tir.block "A" (%vi : S in [%c0 to %c7] = %i) {
      %next = tir.add %vi, %c1 : i32
      %x = tir.load %A[%vi] : f32
      tir.store %x, %A[%next] : f32
    }
  }
}

// CHECK-LABEL: tir.func @carried
// CHECK:         tir.for "i" %{{.*}} {
// CHECK-NEXT:      tir.block "A" (%vi : S
// CHECK-NOT:     thread_binding
