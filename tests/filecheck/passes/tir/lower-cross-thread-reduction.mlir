// RUN: xdsl-opt %s -p tir-lower-cross-thread-reduction,tir-verify-well-formed --split-input-file | filecheck %s

// CASE: LowerCrossThreadReduction.1
tir.func @partial(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "partial"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x32xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c4 {
      tir.for %ko = %c0 to %c4 {
        tir.for %ki = %c0 to %c8 thread_binding "threadIdx.x" {
          %m = tir.mul %ko, %c8 : i32
          %k = tir.add %m, %ki : i32
          tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c32] = %k) annotations {"kept" = 1 : i32} {
            tir.reads %A[%vi, %vk]
            tir.writes %B[%vi]
            tir.init {
              tir.store %z, %B[%vi] : f32
            }
            %x = tir.load %B[%vi] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @partial
// CHECK:         tir.block "root" {
// CHECK:           %[[CROSS:.*]] = tir.alloc_buffer "cross_thread_B" strides [1] : !tir.buffer<1xf32, "local">
// CHECK-NEXT:      %[[OWN:.*]] = tir.alloc_buffer "in_thread_B" strides [1] : !tir.buffer<1xf32, "local">
// CHECK-NEXT:      tir.for %[[I:.*]] = %c0 to %c4 {
// CHECK-NEXT:        tir.for %[[KI:.*]] = %c0 to %c8 thread_binding "threadIdx.x" {
// CHECK-NEXT:          tir.block "B_in_thread_init" {
// CHECK:                 tir.reads
// CHECK-NEXT:            tir.writes %[[OWN]][%[[Z:.*]]]
// CHECK-NEXT:            %[[ID:.*]] = tir.const 0.000000e+00 : f32
// CHECK-NEXT:            tir.store %[[ID]], %[[OWN]][%[[Z]]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:          tir.for %[[KO:.*]] = %c0 to %c4 {
// CHECK-NEXT:            %[[M:.*]] = tir.mul %[[KO]], %c8 : i32
// CHECK-NEXT:            %[[K:.*]] = tir.add %[[M]], %[[KI]] : i32
// CHECK-NEXT:            tir.block "B_in_thread" (%[[VI:.*]] : S in [%c0 to %c4] = %[[I]], %[[VK:.*]] : R in [%c0 to %c32] = %[[K]]) annotations {kept = 1 : i32} {
// CHECK-NEXT:              %[[Z:.*]] = tir.const 0 : i32
// CHECK-NEXT:              tir.reads %A[%[[VI]], %[[VK]]]
// CHECK-NEXT:              tir.writes %[[OWN]][%[[Z]]]
// CHECK-NEXT:              %[[X:.*]] = tir.load %[[OWN]][%[[Z]]] : f32
// CHECK-NEXT:              %[[Y:.*]] = tir.load %A[%[[VI]], %[[VK]]] : f32
// CHECK-NEXT:              %[[S:.*]] = tir.add %[[X]], %[[Y]] : f32
// CHECK-NEXT:              tir.store %[[S]], %[[OWN]][%[[Z]]] : f32
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:          tir.block "B_cross_thread" {
// CHECK:                 tir.reads %[[OWN]][%[[Z:.*]]]
// CHECK-NEXT:            tir.writes %[[CROSS]][%[[Z]]]
// CHECK-NEXT:            %[[X:.*]] = tir.load %[[OWN]][%[[Z]]] : f32
// CHECK-NEXT:            %[[R:.*]] = tir.reducer (%[[L:.*]] : f32, %[[Q:.*]] : f32) identity [0.000000e+00 : f32] {
// CHECK-NEXT:              %[[T:.*]] = tir.add %[[L]], %[[Q]] : f32
// CHECK-NEXT:              tir.yield %[[T]] : f32
// CHECK-NEXT:            }
// CHECK-NEXT:            %[[U:.*]] = tir.const 0 : ui64
// CHECK-NEXT:            %[[NULL:.*]] = tir.call "reinterpret"(%[[U]]) : (ui64) -> !tir.handle
// CHECK-NEXT:            tir.attr "reduce_scope" (%[[R]]) = %[[NULL]] {
// CHECK-NEXT:              tir.thread_allreduce [%[[X]]] into [%[[CROSS]][%[[Z]]]] over [%[[KI]]]
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:          %[[FIRST:.*]] = tir.cmp eq %[[KI]], %c0 : i32
// CHECK-NEXT:          tir.block "B_write_back" (%[[VI:.*]] : S in [%c0 to %c4] = %[[I]]) where %[[FIRST]] {
// CHECK:                 tir.reads %[[CROSS]][%[[Z:.*]]]
// CHECK-NEXT:            tir.writes %B[%[[VI]]]
// CHECK-NEXT:            %[[X:.*]] = tir.load %[[CROSS]][%[[Z]]] : f32
// CHECK-NEXT:            tir.store %[[X]], %B[%[[VI]]] : f32
// CHECK-NEXT:          }

// -----

// CASE: LowerCrossThreadReduction.2
// The second one starts its loop at another value, and gets a variable for its thread.
tir.func @bound(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "bound"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c4 {
      tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
        tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %B[%vi]
          tir.init {
            tir.store %z, %B[%vi] : f32
          }
          %x = tir.load %B[%vi] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %B[%vi] : f32
        }
      }
    }
    tir.for %i = %c0 to %c4 {
      tir.for %k = %c3 to %c3 + %c16 thread_binding "threadIdx.y" {
        %j = tir.sub %k, %c3 : i32
        tir.block "C" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c16] = %j) {
          tir.reads %A[%vi, %vk]
          tir.writes %C[%vi]
          tir.init {
            tir.store %z, %C[%vi] : f32
          }
          %x = tir.load %C[%vi] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %C[%vi] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @bound
// CHECK:         %[[CROSS:.*]] = tir.alloc_buffer "cross_thread_B" strides [1] : !tir.buffer<1xf32, "local">
// CHECK-NEXT:    %[[CROSS2:.*]] = tir.alloc_buffer "cross_thread_C"
// CHECK-NEXT:    tir.for %[[I:.*]] = %c0 to %c4 {
// CHECK-NEXT:      tir.for %[[K:.*]] = %c0 to %c16 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.block "B_cross_thread" (%[[VI:.*]] : S in [%c0 to %c4] = %[[I]], %[[VK:.*]] : R in [%c0 to %c16] = %[[K]]) {
// CHECK-NEXT:          %[[Z:.*]] = tir.const 0 : i32
// CHECK-NEXT:          tir.reads %A[%[[VI]], %[[VK]]]
// CHECK-NEXT:          tir.writes %[[CROSS]][%[[Z]]]
// CHECK-NEXT:          %[[Y:.*]] = tir.load %A[%[[VI]], %[[VK]]] : f32
// CHECK-NEXT:          %[[R:.*]] = tir.reducer
// CHECK:               tir.attr "reduce_scope" (%[[R]]) = %{{.*}} {
// CHECK-NEXT:            tir.thread_allreduce [%[[Y]]] into [%[[CROSS]][%[[Z]]]] over [%[[VK]]]
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[FIRST:.*]] = tir.cmp eq %[[K]], %c0 : i32
// CHECK-NEXT:        tir.block "B_write_back" (%[[VI:.*]] : S in [%c0 to %c4] = %[[I]]) where %[[FIRST]] {
// CHECK:               tir.store %{{.*}}, %B[%[[VI]]] : f32
// CHECK:           tir.for %[[K:.*]] = %c3 to %c3 + %c16 thread_binding "threadIdx.y" {
// CHECK:             tir.block "C_cross_thread" (%{{.*}} : S in [%c0 to %c4] = %{{.*}}, %{{.*}} : R in [%c0 to %c16] = %{{.*}}, %[[T:.*]] : R in [%c3 to %c3 + %c16] = %[[K]]) {
// CHECK:               tir.thread_allreduce [%{{.*}}] into [%[[CROSS2]][%{{.*}}]] over [%[[T]]]
// CHECK:             %[[FIRST:.*]] = tir.cmp eq %[[K]], %c3 : i32
// CHECK-NEXT:        tir.block "C_write_back" (%{{.*}} : S in [%c0 to %c4] = %{{.*}}) where %[[FIRST]] {

// -----

// CASE: LowerCrossThreadReduction.3
tir.func @two_axes(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "two_axes"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x32xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c4 {
      tir.for %ko = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.for %ki = %c0 to %c8 thread_binding "threadIdx.y" {
          %m = tir.mul %ko, %c8 : i32
          %k = tir.add %m, %ki : i32
          tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c32] = %k) {
            tir.reads %A[%vi, %vk]
            tir.writes %B[%vi]
            tir.init {
              tir.store %z, %B[%vi] : f32
            }
            %x = tir.load %B[%vi] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @two_axes
// CHECK-NOT:     in_thread
// CHECK:         tir.for %[[KO:.*]] = %c0 to %c4 thread_binding "threadIdx.x" {
// CHECK-NEXT:      tir.for %[[KI:.*]] = %c0 to %c8 thread_binding "threadIdx.y" {
// CHECK:             tir.block "B_cross_thread" (%{{.*}} : S in [%c0 to %c4] = %{{.*}}, %{{.*}} : R in [%c0 to %c32] = %{{.*}}, %[[TO:.*]] : R in [%c0 to %c4] = %[[KO]], %[[TI:.*]] : R in [%c0 to %c8] = %[[KI]]) {
// CHECK:               over [%[[TO]], %[[TI]]]
// CHECK:             %[[P:.*]] = tir.cmp eq %[[KO]], %c0 : i32
// CHECK-NEXT:        %[[Q:.*]] = tir.cmp eq %[[KI]], %c0 : i32
// CHECK-NEXT:        %[[PQ:.*]] = tir.and %[[P]], %[[Q]] : i1
// CHECK-NEXT:        tir.block "B_write_back" (%{{.*}}) where %[[PQ]] {

// -----

// CASE: LowerCrossThreadReduction.4
tir.func @rfactor(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "rfactor"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x32xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %F = tir.alloc_buffer "F" : !tir.buffer<8xf32, "shared">
    tir.for %i = %c0 to %c4 {
      tir.for %ki = %c0 to %c8 thread_binding "threadIdx.x" {
        tir.for %ko = %c0 to %c4 {
          tir.block "F" (%vi : S in [%c0 to %c4] = %i, %vt : S in [%c0 to %c8] = %ki, %vo : R in [%c0 to %c4] = %ko) {
            %m = tir.mul %vo, %c8 : i32
            %k = tir.add %m, %vt : i32
            tir.reads %A[%vi, %k]
            tir.writes %F[%vt]
            tir.init {
              tir.store %z, %F[%vt] : f32
            }
            %x = tir.load %F[%vt] : f32
            %y = tir.load %A[%vi, %k] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %F[%vt] : f32
          }
        }
        tir.for %u = %c0 to %c1 {
          %w = tir.add %u, %ki : i32
          tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c8] = %w) {
            tir.reads %F[%vk]
            tir.writes %B[%vi]
            tir.init {
              tir.store %z, %B[%vi] : f32
            }
            %x = tir.load %B[%vi] : f32
            %y = tir.load %F[%vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @rfactor
// CHECK:         tir.for %[[KI:.*]] = %c0 to %c8 thread_binding "threadIdx.x" {
// CHECK-NEXT:      tir.block "B_in_thread_init" {
// CHECK:           tir.for %{{.*}} = %c0 to %c4 {
// CHECK-NEXT:        tir.block "F" (
// CHECK:               tir.init {
// CHECK:           tir.for %{{.*}} = %c0 to %c1 {
// CHECK:             tir.block "B_in_thread" (
// CHECK:           tir.block "B_cross_thread" {
// CHECK:           tir.block "B_write_back" (

// -----

// CASE: LowerCrossThreadReduction.5, LowerCrossThreadReduction.7
// Parts of the predicate that say nothing of the reduction hold for the write-back, also
// where the predicate has no other part.
tir.func @predicates(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) attributes {global_symbol = "predicates"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<6x30xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<6xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<6xf32>
  %D = tir.match_buffer "D" %d : !tir.buffer<6xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c6 = tir.const 6 : i32
  %c8 = tir.const 8 : i32
  %c30 = tir.const 30 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c6 {
      tir.for %ko = %c0 to %c4 {
        tir.for %ki = %c0 to %c8 thread_binding "threadIdx.x" {
          %m = tir.mul %ko, %c8 : i32
          %k = tir.add %m, %ki : i32
          %p = tir.cmp lt %k, %c30 : i32
          tir.block "B" (%vi : S in [%c0 to %c6] = %i, %vk : R in [%c0 to %c30] = %k) where %p {
            tir.reads %A[%vi, %vk]
            tir.writes %B[%vi]
            tir.init {
              tir.store %z, %B[%vi] : f32
            }
            %x = tir.load %B[%vi] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi] : f32
          }
        }
      }
    }
    tir.for %i0 = %c0 to %c2 {
      tir.for %i1 = %c0 to %c4 {
        tir.for %ko = %c0 to %c4 {
          tir.for %ki = %c0 to %c8 thread_binding "threadIdx.x" {
            %n = tir.mul %i0, %c4 : i32
            %i = tir.add %n, %i1 : i32
            %m = tir.mul %ko, %c8 : i32
            %k = tir.add %m, %ki : i32
            %p = tir.cmp lt %i, %c6 : i32
            %q = tir.cmp lt %k, %c30 : i32
            %pq = tir.and %p, %q : i1
            tir.block "C" (%vi : S in [%c0 to %c6] = %i, %vk : R in [%c0 to %c30] = %k) where %pq {
              tir.reads %A[%vi, %vk]
              tir.writes %C[%vi]
              tir.init {
                tir.store %z, %C[%vi] : f32
              }
              %x = tir.load %C[%vi] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %C[%vi] : f32
            }
          }
        }
      }
    }
    tir.for %i = %c0 to %c8 {
      tir.for %k = %c0 to %c30 thread_binding "threadIdx.x" {
        %p = tir.cmp lt %i, %c6 : i32
        tir.block "D" (%vi : S in [%c0 to %c6] = %i, %vk : R in [%c0 to %c30] = %k) where %p {
          tir.reads %A[%vi, %vk]
          tir.writes %D[%vi]
          tir.init {
            tir.store %z, %D[%vi] : f32
          }
          %x = tir.load %D[%vi] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %D[%vi] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @predicates
// CHECK:         tir.block "B_in_thread" (%{{.*}}) where %[[P:.*]] {
// CHECK:         tir.block "B_cross_thread" {
// CHECK:         %[[FIRST:.*]] = tir.cmp eq %{{.*}}, %c0 : i32
// CHECK-NEXT:    tir.block "B_write_back" (%{{.*}}) where %[[FIRST]] {
// CHECK:         tir.for %[[I0:.*]] = %c0 to %c2 {
// CHECK-NEXT:      tir.for %[[I1:.*]] = %c0 to %c4 {
// CHECK-NEXT:        tir.for %[[KI:.*]] = %c0 to %c8 thread_binding "threadIdx.x" {
// CHECK:               tir.for %{{.*}} = %c0 to %c4 {
// CHECK:                 %[[PQ:.*]] = tir.and
// CHECK-NEXT:            tir.block "C_in_thread" (%{{.*}}) where %[[PQ]] {
// CHECK:               tir.block "C_cross_thread" {
// CHECK:               %[[N:.*]] = tir.mul %[[I0]], %{{.*}} : i32
// CHECK-NEXT:          %[[I:.*]] = tir.add %[[N]], %[[I1]] : i32
// CHECK-NEXT:          %[[C6:.*]] = tir.const 6 : i32
// CHECK-NEXT:          %[[P:.*]] = tir.cmp lt %[[I]], %[[C6]] : i32
// CHECK-NEXT:          %[[FIRST:.*]] = tir.cmp eq %[[KI]], %c0 : i32
// CHECK-NEXT:          %[[BOTH:.*]] = tir.and %[[P]], %[[FIRST]] : i1
// CHECK-NEXT:          tir.block "C_write_back" (%[[VI:.*]] : S in [%c0 to %c6] = %[[I]]) where %[[BOTH]] {
// CHECK:         tir.for %[[I:.*]] = %c0 to %c8 {
// CHECK-NEXT:      tir.for %[[K:.*]] = %c0 to %c30 thread_binding "threadIdx.x" {
// CHECK:             tir.block "D_in_thread_init" {
// CHECK:             %[[P:.*]] = tir.cmp lt %[[I]], %c6 : i32
// CHECK-NEXT:        tir.block "D_in_thread" (%{{.*}}) where %[[P]] {
// CHECK:             tir.block "D_cross_thread" {
// CHECK:             %[[P:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[FIRST:.*]] = tir.cmp eq %[[K]], %c0 : i32
// CHECK-NEXT:        %[[BOTH:.*]] = tir.and %[[P]], %[[FIRST]] : i1
// CHECK-NEXT:        tir.block "D_write_back" (%{{.*}}) where %[[BOTH]] {

// -----

// CASE: LowerCrossThreadReduction.6, LowerCrossThreadReduction.13
// The largest element and the sum of each row, and then all elements: two reductions.
tir.func @softmax(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "softmax"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x12xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2x12xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c12 = tir.const 12 : i32
  %c16 = tir.const 16 : i32
  %z = tir.const 0.0 : f32
  %least = tir.const -3.4028234663852886e+38 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %M = tir.alloc_buffer "M" : !tir.buffer<2xf32, "shared">
    %S = tir.alloc_buffer "S" : !tir.buffer<2xf32, "shared">
    tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %ax0 = %c0 to %c1 {
        tir.for %ax1_0 = %c0 to %c1 {
          tir.for %ax1_1 = %c0 to %c16 thread_binding "threadIdx.x" {
            %r = tir.add %i, %ax0 : i32
            %m = tir.mul %ax1_0, %c16 : i32
            %k = tir.add %m, %ax1_1 : i32
            %p = tir.cmp lt %k, %c12 : i32
            tir.block "M" (%vi : S in [%c0 to %c2] = %r, %vk : R in [%c0 to %c12] = %k) where %p {
              tir.reads %A[%vi, %vk]
              tir.writes %M[%vi]
              tir.init {
                tir.store %least, %M[%vi] : f32
              }
              %x = tir.load %M[%vi] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.max %x, %y : f32
              tir.store %s, %M[%vi] : f32
            }
          }
        }
      }
      tir.for %ax0 = %c0 to %c1 {
        tir.for %ax1_0 = %c0 to %c1 {
          tir.for %ax1_1 = %c0 to %c16 thread_binding "threadIdx.x" {
            %r = tir.add %i, %ax0 : i32
            %m = tir.mul %ax1_0, %c16 : i32
            %k = tir.add %m, %ax1_1 : i32
            %p = tir.cmp lt %k, %c12 : i32
            tir.block "S" (%vi : S in [%c0 to %c2] = %r, %vk : R in [%c0 to %c12] = %k) where %p {
              tir.reads %A[%vi, %vk], %M[%vi]
              tir.writes %S[%vi]
              tir.init {
                tir.store %z, %S[%vi] : f32
              }
              %x = tir.load %S[%vi] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %w = tir.load %M[%vi] : f32
              %d = tir.sub %y, %w : f32
              %e = tir.call "exp"(%d) : (f32) -> f32
              %s = tir.add %x, %e : f32
              tir.store %s, %S[%vi] : f32
            }
          }
        }
      }
      tir.for %j = %c0 to %c16 thread_binding "threadIdx.x" {
        %p = tir.cmp lt %j, %c12 : i32
        tir.block "B" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c12] = %j) where %p {
          tir.reads %A[%vi, %vj], %M[%vi], %S[%vi]
          tir.writes %B[%vi, %vj]
          %y = tir.load %A[%vi, %vj] : f32
          %w = tir.load %M[%vi] : f32
          %d = tir.sub %y, %w : f32
          %e = tir.call "exp"(%d) : (f32) -> f32
          %t = tir.load %S[%vi] : f32
          %q = tir.div %e, %t : f32
          tir.store %q, %B[%vi, %vj] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @softmax
// CHECK:         tir.alloc_buffer "S"
// CHECK-NEXT:    tir.alloc_buffer "cross_thread_M"
// CHECK-NEXT:    tir.alloc_buffer "in_thread_M"
// CHECK-NEXT:    tir.alloc_buffer "cross_thread_S"
// CHECK-NEXT:    tir.alloc_buffer "in_thread_S"
// CHECK-NEXT:    tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %{{.*}} = %c0 to %c1 {
// CHECK-NEXT:        tir.for %{{.*}} = %c0 to %c16 thread_binding "threadIdx.x" {
// CHECK-NEXT:          tir.block "M_in_thread_init" {
// CHECK:               tir.for %{{.*}} = %c0 to %c1 {
// CHECK:                 tir.block "M_in_thread" (%{{.*}}) where
// CHECK:               tir.block "M_cross_thread" {
// CHECK:                 identity [-3.40282347e+38 : f32]
// CHECK:               tir.block "M_write_back" (
// CHECK:           tir.for %{{.*}} = %c0 to %c1 {
// CHECK-NEXT:        tir.for %{{.*}} = %c0 to %c16 thread_binding "threadIdx.x" {
// CHECK-NEXT:          tir.block "S_in_thread_init" {
// CHECK:               tir.for %{{.*}} = %c0 to %c1 {
// CHECK:                 tir.block "S_in_thread" (%{{.*}}) where
// CHECK:               tir.block "S_cross_thread" {
// CHECK:               tir.block "S_write_back" (
// CHECK:           tir.for %[[J:.*]] = %c0 to %c16 thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[P:.*]] = tir.cmp lt %[[J]], %c12 : i32
// CHECK-NEXT:        tir.block "B" (%{{.*}} : S in [%c0 to %c2] = %[[I]], %{{.*}} : S in [%c0 to %c12] = %[[J]]) where %[[P]] {

// -----

// CASE: LowerCrossThreadReduction.8
// What threads fetch together in the serial loop stays bound; the copy is done by one.
tir.func @fetch(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "fetch"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %S = tir.alloc_buffer "S" : !tir.buffer<2xf32, "shared">
    %L = tir.alloc_buffer "L" : !tir.buffer<2xf32, "local">
    tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %ko = %c0 to %c4 {
        tir.for %t = %c0 to %c2 thread_binding "threadIdx.x" {
          tir.block "S" (%vi : S in [%c0 to %c2] = %i, %vo : S in [%c0 to %c4] = %ko, %vt : S in [%c0 to %c2] = %t) {
            %m = tir.mul %vo, %c2 : i32
            %k = tir.add %m, %vt : i32
            tir.reads %A[%vi, %k]
            tir.writes %S[%vt]
            %x = tir.load %A[%vi, %k] : f32
            tir.store %x, %S[%vt] : f32
          }
        }
        tir.for %ki = %c0 to %c2 thread_binding "threadIdx.x" {
          %m = tir.mul %ko, %c2 : i32
          %k = tir.add %m, %ki : i32
          tir.block "L" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c8] = %k) {
            %w = tir.floormod %vk, %c2 : i32
            tir.reads %S[%w]
            tir.writes %L[%vi]
            tir.init {
              tir.store %z, %L[%vi] : f32
            }
            %x = tir.load %L[%vi] : f32
            %y = tir.load %S[%w] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %L[%vi] : f32
          }
        }
      }
      tir.block "B" (%vi : S in [%c0 to %c2] = %i) {
        tir.reads %L[%vi]
        tir.writes %B[%vi]
        %x = tir.load %L[%vi] : f32
        tir.store %x, %B[%vi] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @fetch
// CHECK:         tir.for %[[I:.*]] = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[KI:.*]] = %c0 to %c2 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.block "L_in_thread_init" {
// CHECK:             tir.for %[[KO:.*]] = %c0 to %c4 {
// CHECK-NEXT:          tir.for %[[T:.*]] = %c0 to %c2 thread_binding "threadIdx.x" {
// CHECK-NEXT:            tir.block "S" (
// CHECK:               tir.block "L_in_thread" (
// CHECK:             tir.block "L_cross_thread" {
// CHECK-NOT:         tir.cmp
// CHECK:             tir.block "L_write_back" (%{{.*}} : S in [%c0 to %c2] = %[[I]]) {
// CHECK:               tir.store %{{.*}}, %L[
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[LOW:.*]] = tir.const 0 : i32
// CHECK-NEXT:      %[[END:.*]] = tir.const 2 : i32
// CHECK-NEXT:      tir.for %[[TX:.*]] = %[[LOW]] to %[[END]] thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[FIRST:.*]] = tir.cmp eq %[[TX]], %[[LOW]] : i32
// CHECK-NEXT:        tir.block "B" (%{{.*}} : S in [%c0 to %c2] = %[[I]]) where %[[FIRST]] {

// -----

// CASE: LowerCrossThreadReduction.9
// A reduction by an instruction, and one in one: no threads are among their loops.
tir.func @tensorized(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "tensorized"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x8xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c4 thread_binding "threadIdx.x" {
      tir.for %k = %c0 to %c2 {
        tir.block "C" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c2] = %k) {
          %k0 = tir.mul %vk, %c4 : i32
          tir.reads %A[%vi, %k0 to %k0 + 4]
          tir.writes %C[%vi]
          %D = tir.match_region "D" %C[%vi to %vi + 1] : !tir.buffer<1xf32>
          tir.init {
            tir.block "C_init" {
              tir.reads
              tir.writes %D[%c0]
              tir.store %z, %D[%c0] : f32
            }
          }
          tir.for %j = %c0 to %c4 {
            tir.block "C_part" (%vj : R in [%c0 to %c4] = %j) {
              %kk = tir.add %k0, %vj : i32
              tir.reads %A[%vi, %kk]
              tir.writes %D[%c0]
              %x = tir.load %D[%c0] : f32
              %y = tir.load %A[%vi, %kk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %D[%c0] : f32
            }
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @tensorized
// CHECK-NOT:     _thread
// CHECK-NOT:     write_back

// -----

// CASE: LowerCrossThreadReduction.10
tir.func @largest(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "largest"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<i32>
  %C = tir.match_buffer "C" %c : !tir.buffer<f16>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %least = tir.const -2147483648 : i32
  %infinite = tir.const 0x7C00 : f16
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
      tir.block "B" (%vk : R in [%c0 to %c16] = %k) {
        tir.reads %A[%vk]
        tir.writes %B[]
        tir.init {
          tir.store %least, %B[] : i32
        }
        %x = tir.load %B[] : i32
        %y = tir.load %A[%vk] : i32
        %s = tir.max %x, %y : i32
        tir.store %s, %B[] : i32
      }
    }
    tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
      tir.block "C" (%vk : R in [%c0 to %c16] = %k) {
        tir.reads %A[%vk]
        tir.writes %C[]
        tir.init {
          tir.store %infinite, %C[] : f16
        }
        %x = tir.load %C[] : f16
        %y = tir.load %A[%vk] : i32
        %w = tir.cast %y : i32 to f16
        %s = tir.min %x, %w : f16
        tir.store %s, %C[] : f16
      }
    }
  }
}

// CHECK-LABEL: tir.func @largest
// CHECK:         tir.block "B_cross_thread" (%[[VK:.*]] : R in [%c0 to %c16] = %{{.*}}) {
// CHECK:           tir.reducer (%[[L:.*]] : i32, %[[R:.*]] : i32) identity [-2147483648 : i32] {
// CHECK-NEXT:        tir.max %[[L]], %[[R]] : i32
// CHECK:         tir.block "B_write_back" where %{{.*}} {
// CHECK:           tir.writes %B[]
// CHECK:           tir.store %{{.*}}, %B[] : i32
// CHECK:         tir.block "C_cross_thread" (
// CHECK:           %[[W:.*]] = tir.cast %{{.*}} : i32 to f16
// CHECK:           tir.reducer (%{{.*}} : f16, %{{.*}} : f16) identity [0x7c00 : f16] {
// CHECK:           tir.thread_allreduce [%[[W]]]

// -----

// CASE: LowerCrossThreadReduction.11
// Where the largest element is, and where the smallest one is; the second one stores in
// another order, and of equal elements takes that which comes first.
tir.func @where(%f: !tir.handle, %a: !tir.handle, %i: !tir.handle, %v: !tir.handle, %j: !tir.handle, %w: !tir.handle) attributes {global_symbol = "where"} {
  %F = tir.match_buffer "F" %f : !tir.buffer<4x16xf32>
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16xi32>
  %I = tir.match_buffer "I" %i : !tir.buffer<4xi32>
  %V = tir.match_buffer "V" %v : !tir.buffer<4xf32>
  %J = tir.match_buffer "J" %j : !tir.buffer<4xi32>
  %W = tir.match_buffer "W" %w : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %none = tir.const -1 : i32
  %least = tir.const -3.4028234663852886e+38 : f32
  %most = tir.const 2147483647 : i32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %r = %c0 to %c4 {
      tir.for %ko = %c0 to %c2 {
        tir.for %ki = %c0 to %c8 thread_binding "threadIdx.x" {
          %m = tir.mul %ko, %c8 : i32
          %k = tir.add %m, %ki : i32
          tir.block "largest" (%vr : S in [%c0 to %c4] = %r, %vk : R in [%c0 to %c16] = %k) {
            tir.reads %F[%vr, %vk]
            tir.writes %I[%vr], %V[%vr]
            tir.init {
              tir.store %none, %I[%vr] : i32
              tir.store %least, %V[%vr] : f32
            }
            // Each read is an op of its own, as in a script.
            %v0 = tir.load %V[%vr] : f32
            %a0 = tir.load %F[%vr, %vk] : f32
            %p = tir.cmp ge %v0, %a0 : f32
            %i0 = tir.load %I[%vr] : i32
            %n = tir.select %p, %i0, %vk : i1, i32
            %ni = tir.let "ni" %n : i32
            %v1 = tir.load %V[%vr] : f32
            %a1 = tir.load %F[%vr, %vk] : f32
            %q = tir.cmp ge %v1, %a1 : f32
            %v2 = tir.load %V[%vr] : f32
            %a2 = tir.load %F[%vr, %vk] : f32
            %o = tir.select %q, %v2, %a2 : i1, f32
            %nv = tir.let "nv" %o : f32
            tir.store %ni, %I[%vr] : i32
            tir.store %nv, %V[%vr] : f32
          }
        }
      }
    }
    tir.for %r = %c0 to %c4 {
      tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
        tir.block "smallest" (%vr : S in [%c0 to %c4] = %r, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vr, %vk]
          tir.writes %W[%vr], %J[%vr]
          tir.init {
            tir.store %most, %W[%vr] : i32
            tir.store %none, %J[%vr] : i32
          }
          %j0 = tir.load %J[%vr] : i32
          %w0 = tir.load %W[%vr] : i32
          %a0 = tir.load %A[%vr, %vk] : i32
          %less = tir.cmp lt %w0, %a0 : i32
          %same = tir.cmp eq %w0, %a0 : i32
          %front = tir.cmp lt %j0, %vk : i32
          %both = tir.and %same, %front : i1
          %p = tir.or %less, %both : i1
          %n = tir.select %p, %j0, %vk : i1, i32
          %nj = tir.let "nj" %n : i32
          %o = tir.select %less, %w0, %a0 : i1, i32
          %nw = tir.let "nw" %o : i32
          tir.store %nw, %W[%vr] : i32
          tir.store %nj, %J[%vr] : i32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @where
// CHECK:         %[[CI:.*]] = tir.alloc_buffer "cross_thread_I"
// CHECK-NEXT:    %[[CV:.*]] = tir.alloc_buffer "cross_thread_V"
// CHECK-NEXT:    %[[TI:.*]] = tir.alloc_buffer "in_thread_I"
// CHECK-NEXT:    %[[TV:.*]] = tir.alloc_buffer "in_thread_V"
// CHECK-NEXT:    %[[CJ:.*]] = tir.alloc_buffer "cross_thread_J"
// CHECK-NEXT:    %[[CW:.*]] = tir.alloc_buffer "cross_thread_W"
// CHECK:         tir.block "largest_in_thread" (
// CHECK:           tir.select
// CHECK-NEXT:      %[[NI:.*]] = tir.let "ni"
// CHECK:           tir.store %[[NI]], %[[TI]][
// CHECK:         tir.block "largest_cross_thread" {
// CHECK:           %[[X:.*]] = tir.load %[[TI]][
// CHECK-NEXT:      %[[Y:.*]] = tir.load %[[TV]][
// CHECK-NEXT:      tir.reducer (%[[X0:.*]] : i32, %[[X1:.*]] : f32, %[[Y0:.*]] : i32, %[[Y1:.*]] : f32) identity [-1 : i32, -3.40282347e+38 : f32] {
// CHECK-NEXT:        %[[P:.*]] = tir.cmp ge %[[X1]], %[[Y1]] : f32
// CHECK-NEXT:        %[[I:.*]] = tir.select %[[P]], %[[X0]], %[[Y0]] : i1, i32
// CHECK-NEXT:        %[[V:.*]] = tir.select %[[P]], %[[X1]], %[[Y1]] : i1, f32
// CHECK-NEXT:        tir.yield %[[I]], %[[V]] : i32, f32
// CHECK:           tir.thread_allreduce [%[[X]], %[[Y]]] into [%[[CI]][%{{.*}}], %[[CV]][%{{.*}}]] over
// CHECK:         tir.block "smallest_cross_thread" (%{{.*}}, %[[VK:.*]] : R in [%c0 to %c16] = %{{.*}}) {
// CHECK-NOT:       tir.let
// CHECK:           %[[A:.*]] = tir.load %A[
// CHECK-NOT:       tir.let
// CHECK:           identity [-1 : i32, 2147483647 : i32] {
// CHECK:           tir.thread_allreduce [%[[VK]], %[[A]]] into [%[[CJ]][%{{.*}}], %[[CW]][%{{.*}}]] over [%[[VK]]]

// -----

// CASE: LowerCrossThreadReduction.12
// Two sums at once; what another kernel does to them needs no threads of the first one.
tir.func @sums(%a: !tir.handle, %s: !tir.handle, %t: !tir.handle, %d: !tir.handle) attributes {global_symbol = "sums"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16xf32>
  %S = tir.match_buffer "S" %s : !tir.buffer<4xf32>
  %T = tir.match_buffer "T" %t : !tir.buffer<4xf32>
  %D = tir.match_buffer "D" %d : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c4 thread_binding "blockIdx.x" {
      tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
        tir.block "S" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %S[%vi], %T[%vi]
          tir.init {
            tir.store %z, %S[%vi] : f32
            tir.store %z, %T[%vi] : f32
          }
          %x = tir.load %A[%vi, %vk] : f32
          %s0 = tir.load %S[%vi] : f32
          %s1 = tir.add %s0, %x : f32
          %s2 = tir.let "s" %s1 : f32
          %t0 = tir.load %T[%vi] : f32
          %q = tir.mul %x, %x : f32
          %t1 = tir.add %t0, %q : f32
          %t2 = tir.let "t" %t1 : f32
          tir.store %s2, %S[%vi] : f32
          tir.store %t2, %T[%vi] : f32
        }
      }
    }
    tir.for %i = %c0 to %c4 thread_binding "blockIdx.x" {
      tir.block "D" (%vi : S in [%c0 to %c4] = %i) {
        tir.reads %S[%vi], %T[%vi]
        tir.writes %D[%vi]
        %x = tir.load %S[%vi] : f32
        %y = tir.load %T[%vi] : f32
        %q = tir.sub %x, %y : f32
        tir.store %q, %D[%vi] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @sums
// CHECK:         %[[CS:.*]] = tir.alloc_buffer "cross_thread_S"
// CHECK-NEXT:    %[[CT:.*]] = tir.alloc_buffer "cross_thread_T"
// CHECK:         tir.block "S_cross_thread" (
// CHECK:           %[[X:.*]] = tir.load %A[
// CHECK-NEXT:      %[[Q:.*]] = tir.mul %[[X]], %[[X]] : f32
// CHECK-NEXT:      tir.reducer (%[[X0:.*]] : f32, %[[X1:.*]] : f32, %[[Y0:.*]] : f32, %[[Y1:.*]] : f32) identity [0.000000e+00 : f32, 0.000000e+00 : f32] {
// CHECK-NEXT:        tir.add %[[X0]], %[[Y0]] : f32
// CHECK-NEXT:        tir.add %[[X1]], %[[Y1]] : f32
// CHECK:             tir.thread_allreduce [%[[X]], %[[Q]]] into [%[[CS]][%{{.*}}], %[[CT]][%{{.*}}]] over
// CHECK:         tir.block "S_write_back" (%{{.*}}) where
// CHECK:           tir.store %{{.*}}, %S[
// CHECK-NEXT:      tir.store %{{.*}}, %T[
// CHECK:         tir.for %[[I:.*]] = %c0 to %c4 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.block "D" (%{{.*}} : S in [%c0 to %c4] = %[[I]]) {

// -----

// CASE: LowerCrossThreadReduction.14
// The result is in memory of the threads, and used where there are none; the block that
// uses it in a block is guarded by itself.
tir.func @broadcast(%a: !tir.handle, %b: !tir.handle, %d: !tir.handle) attributes {global_symbol = "broadcast"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2x4xf32>
  %D = tir.match_buffer "D" %d : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c64 = tir.const 64 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<1xf32, "local">
    tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %k = %c0 to %c64 thread_binding "threadIdx.x" {
        tir.block "L" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c64] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %L[%c0]
          tir.init {
            tir.store %z, %L[%c0] : f32
          }
          %x = tir.load %L[%c0] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %L[%c0] : f32
        }
      }
      tir.for %j = %c0 to %c4 {
        tir.block "B" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c4] = %j) {
          tir.reads %L[%c0]
          tir.writes %B[%vi, %vj]
          %x = tir.load %L[%c0] : f32
          tir.store %x, %B[%vi, %vj] : f32
        }
      }
      tir.block "outer" {
        tir.reads %L[%c0]
        tir.writes %D[%i]
        tir.block "D" (%vi : S in [%c0 to %c2] = %i) {
          tir.reads %L[%c0]
          tir.writes %D[%vi]
          %x = tir.load %L[%c0] : f32
          tir.store %x, %D[%vi] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @broadcast
// CHECK:         tir.block "L_write_back" (%{{.*}} : S in [%c0 to %c2] = %{{.*}}) {
// CHECK:         tir.for %{{.*}} = %c0 to %c4 {
// CHECK-NEXT:      %[[LOW:.*]] = tir.const 0 : i32
// CHECK-NEXT:      %[[END:.*]] = tir.const 64 : i32
// CHECK-NEXT:      tir.for %[[TX:.*]] = %[[LOW]] to %[[END]] thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[FIRST:.*]] = tir.cmp eq %[[TX]], %[[LOW]] : i32
// CHECK-NEXT:        tir.block "B" (%{{.*}}) where %[[FIRST]] {
// CHECK:         tir.block "outer" {
// CHECK:           tir.for %[[TX:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[FIRST:.*]] = tir.cmp eq %[[TX]], %{{.*}} : i32
// CHECK-NEXT:        tir.block "D" (%{{.*}}) where %[[FIRST]] {

// -----

// CASE: LowerCrossThreadReduction.15
tir.func @guarded(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "guarded"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c3 = tir.const 3 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %c16 = tir.const 16 : i64
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %F = tir.alloc_buffer "F" : !tir.buffer<8xf32, "shared">
    %L = tir.alloc_buffer "L" : !tir.buffer<2xf32, "local">
    tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %t = %c0 to %c8 thread_binding "threadIdx.x" {
        tir.block "F_init" (%vt : S in [%c0 to %c8] = %t) {
          tir.reads
          tir.writes %F[%vt]
          tir.store %z, %F[%vt] : f32
        }
        tir.for %u = %c0 to %c2 {
          %m = tir.mul %u, %c8 : i64
          %k = tir.add %m, %t : i64
          tir.block "F" (%vi : S in [%c0 to %c2] = %i, %vt : S in [%c0 to %c8] = %t, %vk : S in [%c0 to %c16] = %k) {
            tir.reads %F[%vt], %A[%vi, %vk]
            tir.writes %F[%vt]
            %x = tir.load %F[%vt] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %F[%vt] : f32
          }
        }
      }
      tir.for %t = %c0 to %c8 thread_binding "threadIdx.x" {
        tir.block "L" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c8] = %t) {
          tir.reads %F[%vk]
          tir.writes %L[%vi]
          tir.init {
            tir.store %z, %L[%vi] : f32
          }
          %x = tir.load %L[%vi] : f32
          %y = tir.load %F[%vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %L[%vi] : f32
        }
      }
      tir.for %j = %c0 to %c2 {
        %m = tir.mul %i, %c2 : i64
        %r = tir.add %m, %j : i64
        %p = tir.cmp lt %r, %c3 : i64
        tir.block "B" (%vi : S in [%c0 to %c2] = %i, %vr : S in [%c0 to %c3] = %r) where %p {
          tir.reads %L[%vi]
          tir.writes %B[%vr]
          %x = tir.load %L[%vi] : f32
          tir.store %x, %B[%vr] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @guarded
// CHECK:         tir.for %{{.*}} = %c0 to %c2 thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %[[T:.*]] = %c0 to %c8 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.block "F_init" (
// CHECK:             tir.block "F" (
// CHECK:           tir.block "L_cross_thread" (
// CHECK:           %[[P:.*]] = tir.cmp lt %{{.*}}, %c3 : i64
// CHECK-NEXT:      %[[LOW:.*]] = tir.const 0 : i64
// CHECK-NEXT:      %[[END:.*]] = tir.const 8 : i64
// CHECK-NEXT:      tir.for %[[TX:.*]] = %[[LOW]] to %[[END]] thread_binding "threadIdx.x" {
// CHECK-NEXT:        %[[FIRST:.*]] = tir.cmp eq %[[TX]], %[[LOW]] : i64
// CHECK-NEXT:        %[[BOTH:.*]] = tir.and %[[FIRST]], %[[P]] : i1
// CHECK-NEXT:        tir.block "B" (%{{.*}}) where %[[BOTH]] {

// -----

// CASE: LowerCrossThreadReduction.16
// A block that writes memory of the threads is not guarded: each thread needs its own.
// What reads shared memory may stay outside of the threads.
tir.func @own(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "own"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<1xf32, "local">
    %M = tir.alloc_buffer "M" : !tir.buffer<1xf32, "local">
    %N = tir.alloc_buffer "N" : !tir.buffer<1xf32, "local">
    tir.for %i = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
        tir.block "L" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %L[%c0]
          tir.init {
            tir.store %z, %L[%c0] : f32
          }
          %x = tir.load %L[%c0] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %L[%c0] : f32
        }
      }
      tir.block "M" {
        tir.reads %L[%c0]
        tir.writes %M[%c0]
        %x = tir.load %L[%c0] : f32
        %y = tir.add %x, %x : f32
        tir.store %y, %M[%c0] : f32
      }
      tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
        tir.block "B" (%vi : S in [%c0 to %c2] = %i, %vk : S in [%c0 to %c16] = %k) {
          tir.reads %M[%c0], %A[%vi, %vk]
          tir.writes %B[%vi, %vk]
          %x = tir.load %M[%c0] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.sub %x, %y : f32
          tir.store %s, %B[%vi, %vk] : f32
        }
      }
      tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
        tir.block "C" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %C[%vi]
          tir.init {
            tir.store %z, %C[%vi] : f32
          }
          %x = tir.load %C[%vi] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %C[%vi] : f32
        }
      }
      tir.block "N" (%vi : S in [%c0 to %c2] = %i) {
        tir.reads %C[%vi]
        tir.writes %N[%c0]
        %x = tir.load %C[%vi] : f32
        tir.store %x, %N[%c0] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @own
// CHECK:         tir.block "L_write_back" (%{{.*}} : S in [%c0 to %c2] = %{{.*}}) {
// CHECK:         tir.for %{{.*}} = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:      tir.block "M" {
// CHECK:         tir.for %[[K:.*]] = %c0 to %c16 thread_binding "threadIdx.x" {
// CHECK-NEXT:      tir.block "B" (%{{.*}}, %{{.*}} : S in [%c0 to %c16] = %[[K]]) {
// CHECK:         tir.block "C_write_back" (
// CHECK:           tir.store %{{.*}}, %C[
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.block "N" (%{{.*}} : S in [%c0 to %c2] = %{{.*}}) {

// -----

// CASE: LowerCrossThreadReduction.19
// No threads among the loops; other writers; indices by a reduction variable; bindings
// that neither split nor fuse the loops.
tir.func @left(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) attributes {global_symbol = "left"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16xi32>
  %D = tir.match_buffer "D" %d : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c16 thread_binding "threadIdx.x" {
      tir.for %k = %c0 to %c16 {
        tir.block "serial" (%vi : S in [%c0 to %c16] = %i, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %B[%vi]
          tir.init {
            tir.store %c0, %B[%vi] : i32
          }
          %x = tir.load %B[%vi] : i32
          %y = tir.load %A[%vi, %vk] : i32
          %s = tir.add %x, %y : i32
          tir.store %s, %B[%vi] : i32
        }
      }
    }
    tir.for %k = %c0 to %c16 thread_binding "threadIdx.x" {
      tir.block "two_writers" (%vk : R in [%c0 to %c16] = %k) {
        tir.reads %A[%c0, %vk]
        tir.writes %C[%c0]
        tir.init {
          tir.store %c0, %C[%c0] : i32
        }
        %x = tir.load %C[%c0] : i32
        %y = tir.load %A[%c0, %vk] : i32
        %s = tir.add %x, %y : i32
        tir.store %s, %C[%c0] : i32
      }
    }
    tir.block "other_writer" {
      tir.reads
      tir.writes %C[%c1]
      tir.store %c1, %C[%c1] : i32
    }
    tir.for %i = %c0 to %c8 {
      tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
        %j = tir.add %k, %k : i32
        tir.block "by_reduction" (%vk : R in [%c0 to %c8] = %k, %vi : S in [%c0 to %c8] = %i) {
          tir.reads %A[%c0, %vk]
          tir.writes %D[%vk]
          tir.init {
            tir.store %c0, %D[%vk] : i32
          }
          %x = tir.load %D[%vk] : i32
          %y = tir.load %A[%c0, %vk] : i32
          %s = tir.add %x, %y : i32
          tir.store %s, %D[%vk] : i32
        }
        tir.block "not_affine" (%vj : R in [%c0 to %c16] = %j) {
          %E = tir.alloc_buffer "E" : !tir.buffer<1xi32>
          tir.reads %A[%c0, %vj]
          tir.writes
          tir.init {
            tir.store %c0, %E[%c0] : i32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @left
// CHECK-NOT:     _thread
// CHECK-NOT:     write_back

// -----

// A fused loop that is split by a symbolic extent is still split whole.
tir.func @symbolic_split(%x: !tir.handle, %y: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %X = tir.match_buffer "X" %x [%n] : !tir.buffer<4x?x32xf32>
  %Y = tir.match_buffer "Y" %y [%n] : !tir.buffer<4x?xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c32 = tir.const 32 : i32
  tir.block "root" {
    %n4 = tir.mul %n, %c4 : i32
    tir.for %b = %c0 to %n4 thread_binding "blockIdx.x" {
      tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
        %i = tir.floordiv %b, %n : i32
        %j = tir.floormod %b, %n : i32
        tir.block "sum" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %n] = %j, %vk : R in [%c0 to %c32] = %t) {
          tir.reads %X[%vi, %vj, %vk]
          tir.writes %Y[%vi, %vj]
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %Y[%vi, %vj] : f32
          }
          %s = tir.load %Y[%vi, %vj] : f32
          %v = tir.load %X[%vi, %vj, %vk] : f32
          %r = tir.add %s, %v : f32
          tir.store %r, %Y[%vi, %vj] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @symbolic_split
// CHECK:         tir.block "sum_cross_thread"
// CHECK:           tir.thread_allreduce
// CHECK:         tir.block "sum_write_back"
