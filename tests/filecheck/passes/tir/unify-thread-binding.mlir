// RUN: xdsl-opt %s -p tir-unify-thread-binding --split-input-file | filecheck %s

// CASE: UnifyThreadBinding.1, UnifyThreadBinding.2, UnifyThreadBinding.10
tir.func @two(%a: !tir.handle) attributes {global_symbol = "two"} {
  %A = tir.match_buffer %a : !tir.buffer<8x4xi64>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %l0 = tir.const 0 : i64
  %l4 = tir.const 4 : i64
  tir.for %b = %c0 to %c8 thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
      tir.store %l4, %A[%b, %t] : i64
    }
    tir.for %u = %l0 to %l4 thread_binding "threadIdx.x" {
      %x = tir.load %A[%b, %u] : i64
      %y = tir.add %x, %u : i64
      tir.store %y, %A[%b, %u] : i64
    }
  }
}

tir.func @nothing(%n: i32) attributes {global_symbol = "nothing"} {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n parallel {
    tir.evaluate %i : i32
  }
}

// CHECK-LABEL: tir.func @two
// CHECK:         tir.for %[[B:.*]] = %{{.*}} to %{{.*}} thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[T:.*]] = %{{.*}} to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.store %{{.*}}, %A[%[[B]], %[[T]]] : i64
// CHECK-NEXT:        %[[U:.*]] = tir.cast %[[T]] : i32 to i64
// CHECK-NEXT:        tir.load %A[%[[B]], %[[U]]] : i64
// CHECK-NEXT:        tir.add %{{.*}}, %[[U]] : i64
// CHECK-NOT:     thread_binding

// CHECK-LABEL: tir.func @nothing
// CHECK:         tir.for %[[I:.*]] = %{{.*}} to %n parallel {
// CHECK-NEXT:      tir.evaluate %[[I]]

// -----

// CASE: UnifyThreadBinding.3
tir.func @launches(%a: !tir.handle) attributes {global_symbol = "launches"} {
  %A = tir.match_buffer %a : !tir.buffer<8x4xi32>
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %b = "blockIdx.x" to %c8 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      tir.store %t, %A[%b, %t] : i32
    }
    tir.launch_thread %u = "threadIdx.x" to %c4 {
      %x = tir.load %A[%b, %u] : i32
      %y = tir.add %x, %u : i32
      tir.store %y, %A[%b, %u] : i32
    }
  }
}

// CHECK-LABEL: tir.func @launches
// CHECK-NOT:     tir.launch_thread
// CHECK:         tir.for %[[B:.*]] = %{{.*}} to %c8 thread_binding "blockIdx.x" {
// CHECK-NOT:       tir.launch_thread
// CHECK:           tir.for %[[T:.*]] = %{{.*}} to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.store %[[T]], %A[%[[B]], %[[T]]] : i32
// CHECK-NEXT:        tir.load %A[%[[B]], %[[T]]] : i32
// CHECK-NOT:     thread_binding

// -----

// CASE: UnifyThreadBinding.4
tir.func @virtual(%a: !tir.handle) attributes {global_symbol = "virtual"} {
  %A = tir.match_buffer %a : !tir.buffer<2x4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %v = %c0 to %c2 thread_binding "vthread.x" {
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
      tir.for %w = %c0 to %c2 thread_binding "vthread.x" {
        tir.evaluate %w : i32
        tir.store %v, %A[%v, %t] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @virtual
// CHECK:         tir.for %[[V:.*]] = %{{.*}} to %c2 thread_binding "vthread.x" {
// CHECK-NEXT:      tir.for %[[T:.*]] = %{{.*}} to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.evaluate %[[V]] : i32
// CHECK-NEXT:        tir.store %[[V]], %A[%[[V]], %[[T]]] : i32

// -----

// CASE: UnifyThreadBinding.5, UnifyThreadBinding.6
tir.func @kernels(%a: !tir.handle) attributes {global_symbol = "kernels"} {
  %A = tir.match_buffer %a : !tir.buffer<4x8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %y = %c0 to %c2 thread_binding "threadIdx.y" {
    tir.for %i = %c0 to %c2 {
      tir.for %x = %c0 to %c4 thread_binding "threadIdx.x" {
        %0 = tir.mul %i, %c2 : i32
        %1 = tir.add %0, %y : i32
        tir.store %x, %A[%1, %x] : i32
      }
    }
  }
  tir.for %y = %c0 to %c4 thread_binding "threadIdx.y" {
    tir.for %x = %c0 to %c8 thread_binding "threadIdx.x" {
      tir.store %y, %A[%y, %x] : i32
    }
  }
}

// CHECK-LABEL: tir.func @kernels
// CHECK:         tir.for %[[Y:.*]] = %{{.*}} to %c2 thread_binding "threadIdx.y" {
// CHECK-NEXT:      tir.for %[[X:.*]] = %{{.*}} to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.for %[[I:.*]] = %{{.*}} to %c2 {
// CHECK:               tir.store %[[X]], %A[%{{.*}}, %[[X]]] : i32
// CHECK:         tir.for %[[Y2:.*]] = %{{.*}} to %c4 thread_binding "threadIdx.y" {
// CHECK-NEXT:      tir.for %[[X2:.*]] = %{{.*}} to %c8 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.store %[[Y2]], %A[%[[Y2]], %[[X2]]] : i32

// -----

// CASE: UnifyThreadBinding.8, UnifyThreadBinding.9
tir.func @annotated(%a: !tir.handle) attributes {global_symbol = "annotated"} {
  %A = tir.match_buffer %a : !tir.buffer<8x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %b = %c0 to %c8 thread_binding "blockIdx.x" annotations {"outer" = 3 : i32} {
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" annotations {"my_annotation" = 1 : i32} {
      tir.block {
        tir.store %b, %A[%b, %t] : i32
      }
    }
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" annotations {"other" = 2 : i32} {
      tir.for %i = %c0 to %c1 annotations {"kept" = 1 : i32} {
        tir.store %t, %A[%b, %t] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @annotated
// CHECK:         tir.for %[[B:.*]] = %{{.*}} to %c8 thread_binding "blockIdx.x" annotations {outer = 3 : i32} {
// CHECK-NEXT:      tir.for %[[T:.*]] = %{{.*}} to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:        %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:        tir.for %{{.*}} = %[[C0]] to %[[C1]] annotations {my_annotation = 1 : i32} {
// CHECK-NEXT:          tir.block {
// CHECK:             tir.for %{{.*}} = %c0 to %c1 annotations {kept = 1 : i32, other = 2 : i32} {
// CHECK-NEXT:          tir.store %[[T]], %A[%[[B]], %[[T]]] : i32

// -----

// A virtual axis stays where it is if its threads would repeat a store: the second one
// runs once. The inner binding of the axis is the index of the one that stays.
tir.func @virtual_stays(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x2xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
    tir.launch_thread %v = "vthread" to %c2 virtual {
      tir.for %u = %c0 to %c2 thread_binding "vthread" {
        tir.store %c2, %A[%t, %u] : i32
      }
    }
    %x = tir.load %B[%t] : i32
    %y = tir.add %x, %c2 : i32
    tir.store %y, %B[%t] : i32
  }
}
// CHECK-LABEL: tir.func @virtual_stays
// CHECK:         tir.for %[[T:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK:           tir.for %[[V:.*]] = %{{.*}} to %{{.*}} thread_binding "vthread" {
// CHECK-NEXT:        tir.store %{{.*}}, %A[%[[T]], %[[V]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %{{.*}} = tir.load %B[%[[T]]] : i32
// CHECK:           tir.store %{{.*}}, %B[%[[T]]] : i32
