// RUN: xdsl-opt %s -p tir-lift-thread-binding --split-input-file | filecheck %s

// CASE: LiftThreadBinding.1
tir.func @reduction(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "reduction"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x32xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c32 = tir.const 32 : i32
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.block "outer" {
      tir.reads %A[%i, %c0 to 32]
      tir.writes %B[%i]
      %L = tir.alloc_buffer "L" : !tir.buffer<1xf32, "local">
      %C = tir.alloc_buffer "C" : !tir.buffer<1xf32, "local">
      tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
        tir.block "L" {
          tir.reads %A[%i, %t]
          tir.writes %L[%c0]
          %x = tir.load %A[%i, %t] : f32
          tir.store %x, %L[%c0] : f32
        }
        tir.block "C" {
          tir.reads %L[%c0]
          tir.writes %C[%c0]
          %x = tir.load %L[%c0] : f32
          %r = tir.reducer (%l : f32, %q : f32) identity [0.0 : f32] {
            %s = tir.add %l, %q : f32
            tir.yield %s : f32
          }
          tir.attr "reduce_scope" (%r) = 0 : i32 {
            tir.thread_allreduce [%x] into [%C[%c0]] over [%t]
          }
        }
      }
      tir.for %u = %c0 to %c1 {
        tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" annotations {"mine" = 1 : i32} {
          %p = tir.cmp eq %t, %c0 : i32
          tir.block "B" where %p {
            tir.reads %C[%c0]
            tir.writes %B[%i]
            %x = tir.load %C[%c0] : f32
            tir.store %x, %B[%i] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @reduction
// CHECK:         tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[T:.*]] = %c0 to %c32 thread_binding "threadIdx.x" annotations {mine = 1 : i32} {
// CHECK-NEXT:        tir.block "outer" {
// CHECK-NEXT:          tir.reads %A[%[[I]], %c0 to 32]
// CHECK:               tir.alloc_buffer "L"
// CHECK-NEXT:          %[[C:.*]] = tir.alloc_buffer "C"
// CHECK-NEXT:          tir.block "L" {
// CHECK-NEXT:            tir.reads %A[%[[I]], %[[T]]]
// CHECK:               tir.block "C" {
// CHECK:                 tir.thread_allreduce [%{{.*}}] into [%[[C]][%c0]] over [%[[T]]]
// CHECK:               tir.for %{{.*}} = %c0 to %c1 {
// CHECK-NEXT:            %[[P:.*]] = tir.cmp eq %[[T]], %c0 : i32
// CHECK-NEXT:            tir.block "B" where %[[P]] {
// CHECK-NOT:     thread_binding

// -----

// CASE: LiftThreadBinding.2, LiftThreadBinding.3
// One loop over blocks; the names of the variables follow their axes.
tir.func @serial(%a: !tir.handle) attributes {global_symbol = "serial"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x3x4xi64>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %l0 = tir.const 0 : i64
  %l4 = tir.const 4 : i64
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %k = %c0 to %c3 {
      tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.store %l4, %A[%i, %k, %t] : i64
      }
      tir.for %u = %l0 to %l4 thread_binding "threadIdx.x" {
        %x = tir.load %A[%i, %k, %u] : i64
        %y = tir.add %x, %u : i64
        tir.store %y, %A[%i, %k, %u] : i64
      }
    }
  }
}

// CHECK-LABEL: tir.func @serial
// CHECK:         tir.for %blockIdx.x = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[K:.*]] = %c0 to %c3 {
// CHECK-NEXT:        tir.for %threadIdx.x = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:          tir.store %{{.*}}, %A[%blockIdx.x, %[[K]], %threadIdx.x] : i64
// CHECK-NEXT:          %[[U:.*]] = tir.cast %threadIdx.x : i32 to i64
// CHECK-NEXT:          %[[X:.*]] = tir.load %A[%blockIdx.x, %[[K]], %[[U]]] : i64
// CHECK-NEXT:          %[[Y:.*]] = tir.add %[[X]], %[[U]] : i64
// CHECK-NEXT:          tir.store %[[Y]], %A[%blockIdx.x, %[[K]], %[[U]]] : i64
// CHECK-NOT:     thread_binding

// -----

// CASE: LiftThreadBinding.4
tir.func @virtual(%a: !tir.handle) attributes {global_symbol = "virtual"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x2x4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %v = %c0 to %c2 thread_binding "vthread.x" annotations {"one" = 1 : i32, "both" = 1 : i32} {
      tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.store %v, %A[%i, %v, %t] : i32
      }
    }
    tir.for %v = %c0 to %c2 thread_binding "vthread.x" annotations {"two" = 2 : i32, "both" = 2 : i32} {
      tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
        %x = tir.load %A[%i, %v, %t] : i32
        %y = tir.add %x, %t : i32
        tir.store %y, %A[%i, %v, %t] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @virtual
// CHECK:         tir.for %[[V:.*]] = %c0 to %c2 thread_binding "vthread.x" annotations {one = 1 : i32, both = 2 : i32, two = 2 : i32} {
// CHECK-NEXT:      tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:        tir.for %[[T:.*]] = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:          tir.store %[[V]], %A[%[[I]], %[[V]], %[[T]]] : i32
// CHECK-NEXT:          tir.load %A[%[[I]], %[[V]], %[[T]]] : i32
// CHECK-NOT:     thread_binding

// -----

// CASE: LiftThreadBinding.5
// The second statement writes memory of the threads, so that all may do it.
tir.func @place(%a: !tir.handle) attributes {global_symbol = "place"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x3x2x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    %L = tir.alloc_buffer "L" : !tir.buffer<1xi32, "local">
    tir.for %k = %c0 to %c3 {
      tir.for %v = %c0 to %c1 {
        tir.for %ty = %c0 to %c2 thread_binding "threadIdx.y" {
          tir.for %tx = %c0 to %c4 thread_binding "threadIdx.x" {
            tir.store %tx, %A[%i, %k, %ty, %tx] : i32
          }
        }
        tir.for %tx = %c0 to %c4 thread_binding "threadIdx.x" {
          tir.store %tx, %L[%c0] : i32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @place
// CHECK:         tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK:           tir.for %[[K:.*]] = %c0 to %c3 {
// CHECK-NEXT:        tir.for %{{.*}} = %c0 to %c1 {
// CHECK-NEXT:          tir.for %[[TX:.*]] = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:            tir.for %[[TY:.*]] = %c0 to %c2 thread_binding "threadIdx.y" {
// CHECK-NEXT:              tir.store %[[TX]], %A[%[[I]], %[[K]], %[[TY]], %[[TX]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:            tir.store %[[TX]], %{{.*}}[%c0] : i32

// -----

// CASE: LiftThreadBinding.6
// Two kernels, with other ranges; loops over an axis in one over it.
tir.func @kernels(%a: !tir.handle) attributes {global_symbol = "kernels"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %x = %c0 to %c4 thread_binding "threadIdx.x" {
    tir.for %i = %c0 to %c2 {
      tir.for %y = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.store %y, %A[%y, %x] : i32
      }
    }
  }
  tir.for %x = %c0 to %c8 thread_binding "threadIdx.x" {
    tir.store %x, %A[%c2, %x] : i32
  }
}

// CHECK-LABEL: tir.func @kernels
// CHECK:         tir.for %[[X:.*]] = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:      tir.for %{{.*}} = %c0 to %c2 {
// CHECK-NEXT:        tir.store %[[X]], %A[%[[X]], %[[X]]] : i32
// CHECK:         tir.for %[[X:.*]] = %c0 to %c8 thread_binding "threadIdx.x" {
// CHECK-NEXT:      tir.store %[[X]], %A[%c2, %[[X]]] : i32

// -----

// CASE: LiftThreadBinding.7
tir.func @nothing(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "nothing"} {
  %B = tir.match_buffer "B" %b : !tir.buffer<4x4xi32>
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 parallel {
    tir.store %i, %A[%i] : i32
  }
  tir.launch_thread %bx = "blockIdx.x" to %c4 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      tir.store %t, %B[%bx, %t] : i32
    }
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      tir.evaluate %t : i32
    }
  }
}

// CHECK-LABEL: tir.func @nothing
// CHECK:         tir.for %{{.*}} = %c0 to %c4 parallel {
// CHECK:         tir.launch_thread %{{.*}} = "blockIdx.x" to %c4 {
// CHECK-NEXT:      tir.launch_thread %{{.*}} = "threadIdx.x" to %c4 {
// CHECK:           tir.launch_thread %{{.*}} = "threadIdx.x" to %c4 {

// -----

// A store that is not in a loop over an axis is done by the first of its threads, which
// is bound around it then; one to memory of the threads is done by all of them.
tir.func @guarded(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "guarded"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    %L = tir.alloc_buffer "L" : !tir.buffer<1xi32, "local">
    tir.store %c2, %L[%c0] : i32
    %x = tir.load %A[%i] : i32
    %y = tir.add %x, %c1 : i32
    tir.store %y, %A[%i] : i32
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
      %z = tir.load %L[%c0] : i32
      tir.store %z, %B[%i, %t] : i32
    }
  }
}

// CHECK-LABEL: tir.func @guarded
// CHECK:         tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[T:.*]] = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[L:.*]] = tir.alloc_buffer
// CHECK-NEXT:        tir.store %c2, %[[L]][%c0] : i32
// CHECK-NEXT:        %[[P:.*]] = tir.cmp eq %[[T]], %c0 : i32
// CHECK-NEXT:        tir.if %[[P]] {
// CHECK-NEXT:          %[[X:.*]] = tir.load %A[%[[I]]] : i32
// CHECK-NEXT:          %[[Y:.*]] = tir.add %[[X]], %c1 : i32
// CHECK-NEXT:          tir.store %[[Y]], %A[%[[I]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[Z:.*]] = tir.load %[[L]][%c0] : i32
// CHECK-NEXT:        tir.store %[[Z]], %B[%[[I]], %[[T]]] : i32

// -----

// A block with nothing but such stores has a predicate instead. Virtual threads that are
// lifted over an allocation have the memory each.
tir.func @blocks(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "blocks"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x4xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2x2x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %k = %c0 to %c4 {
      %p = tir.cmp ge %k, %c1 : i32
      tir.block "A" (%vi : S in [%c0 to %c2] = %i, %vk : S in [%c0 to %c4] = %k) where %p {
        tir.reads %A[%vi, %vk]
        tir.writes %A[%vi, %vk]
        %x = tir.load %A[%vi, %vk] : i32
        %y = tir.add %x, %c1 : i32
        tir.store %y, %A[%vi, %vk] : i32
      }
    }
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
      %L = tir.alloc_buffer "L" : !tir.buffer<1xi32, "local">
      tir.store %t, %L[%c0] : i32
      tir.for %v = %c0 to %c2 thread_binding "vthread.x" {
        %x = tir.load %L[%c0] : i32
        tir.store %x, %B[%i, %v, %t] : i32
      }
      tir.block "L" {
        tir.reads %L[%c0]
        tir.writes %L[%c0]
        %x = tir.load %L[%c0] : i32
        %y = tir.add %x, %x : i32
        tir.store %y, %L[%c0] : i32
      }
      tir.for %v = %c0 to %c2 thread_binding "vthread.x" {
        tir.store %v, %B[%i, %v, %t] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @blocks
// CHECK:         tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[T:.*]] = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.for %[[K:.*]] = %c0 to %c4 {
// CHECK-NEXT:          %[[P:.*]] = tir.cmp ge %[[K]], %c1 : i32
// CHECK-NEXT:          %[[Q:.*]] = tir.cmp eq %[[T]], %c0 : i32
// CHECK-NEXT:          %[[PQ:.*]] = tir.and %[[Q]], %[[P]] : i1
// CHECK-NEXT:          tir.block "A" (%{{.*}}) where %[[PQ]] {
// CHECK-NEXT:            tir.reads %A[
// CHECK:             tir.for %[[V:.*]] = %c0 to %c2 thread_binding "vthread.x" {
// CHECK-NEXT:          %[[L:.*]] = tir.alloc_buffer "L"
// CHECK-NEXT:          tir.store %[[T]], %[[L]][%c0] : i32
// CHECK-NEXT:          tir.load
// CHECK-NEXT:          tir.store %{{.*}}, %B[%[[I]], %[[V]], %[[T]]] : i32
// CHECK-NEXT:          tir.block "L" {
// CHECK:               tir.store %[[V]], %B[%[[I]], %[[V]], %[[T]]] : i32
