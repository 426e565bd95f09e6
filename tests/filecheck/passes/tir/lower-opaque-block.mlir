// RUN: xdsl-opt %s -p tir-lower-opaque-block --split-input-file | filecheck %s

// CASE: LowerOpaqueBlock.1, LowerOpaqueBlock.5
tir.func @elementwise(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "elementwise"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    tir.for %i = %c0 to %c16 {
      tir.block "outer" annotations {"note" = 1 : i32} {
        tir.reads %A[%i, %c0 to 16]
        tir.writes %C[%i, %c0 to 16]
        %B = tir.alloc_buffer "B" : !tir.buffer<1x16xf32>
        tir.for %j = %c0 to %c16 {
          tir.block {
            %unused = tir.add %i, %j : i32
            tir.reads %A[%i, %unused]
            tir.writes %B[%c0, %j]
            %x = tir.load %A[%i, %j] : f32
            %one = tir.const 1.0 : f32
            %y = tir.add %x, %one : f32
            tir.store %y, %B[%c0, %j] : f32
          }
        }
        tir.for %j = %c0 to %c16 {
          tir.block {
            tir.reads %B[%c0, %j]
            tir.writes %C[%i, %j]
            %x = tir.load %B[%c0, %j] : f32
            %two = tir.const 2.0 : f32
            %y = tir.mul %x, %two : f32
            tir.store %y, %C[%i, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @elementwise
// CHECK:       %[[A:.*]] = tir.match_buffer
// CHECK-NEXT:  %[[C:.*]] = tir.match_buffer
// CHECK-NEXT:  %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:  %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:  tir.for %[[I:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:    %[[P:.*]] = tir.allocate "B" [1, 16] : !tir.ptr<f32>
// CHECK-NEXT:    %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<1x16xf32>
// CHECK-NEXT:    tir.for %[[J:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      %[[X:.*]] = tir.load %[[A]][%[[I]], %[[J]]] : f32
// CHECK-NEXT:      tir.const
// CHECK-NEXT:      %[[Y:.*]] = tir.add %[[X]]
// CHECK-NEXT:      tir.store %[[Y]], %[[B]][%[[C0]], %[[J]]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[K:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:      tir.load %[[B]][%[[C0]], %[[K]]] : f32
// CHECK-NOT:   tir.block

// -----

// CASE: LowerOpaqueBlock.2
tir.func @threads(%a: !tir.handle) attributes {global_symbol = "threads"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %b = %c0 to %c4 thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %c2 thread_binding "threadIdx.x" annotations {"pragma_hint" = "x", "lost" = 1 : i32} {
      tir.for %v = %c0 to %c2 thread_binding "vthread" {
        tir.block {
          %L = tir.alloc_buffer "L" : !tir.buffer<1xf32, "local">
          %0 = tir.mul %b, %c4 : i32
          %1 = tir.mul %t, %c2 : i32
          %2 = tir.add %0, %1 : i32
          %3 = tir.add %2, %v : i32
          %x = tir.load %A[%3] : f32
          tir.store %x, %L[%c0] : f32
          %y = tir.load %L[%c0] : f32
          %z = tir.add %y, %y : f32
          tir.store %z, %A[%3] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @threads
// CHECK:       tir.launch_thread %[[B:.*]] = "blockIdx.x" to %{{.*}} {
// CHECK-NEXT:    tir.launch_thread %[[T:.*]] = "threadIdx.x" to %[[C2:.*]] annotations {pragma_hint = "x"} {
// CHECK-NEXT:      tir.launch_thread %[[V:.*]] = "vthread" to %[[C2]] virtual {
// CHECK-NEXT:        %[[P:.*]] = tir.allocate "L" [1] : !tir.ptr<f32, "local">
// CHECK-NEXT:        %[[L:.*]] = tir.decl_buffer "L" %[[P]] : !tir.buffer<1xf32, "local">
// CHECK:             tir.add %{{.*}}, %[[V]] : i32
// CHECK:             tir.store %{{.*}}, %[[L]]
// CHECK-NOT:   tir.for

// -----

// CASE: LowerOpaqueBlock.3
tir.func @symbolic(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "symbolic"} {
  %n = tir.shape_var "n" : i32
  %m = tir.shape_var "m" : i32
  %A = tir.match_buffer %a [%n, %m] : !tir.buffer<?x?xf32>
  %C = tir.match_buffer %c [%n, %m] : !tir.buffer<?x?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "outer" {
      tir.reads %A[%i, %c0 to %m]
      tir.writes %C[%i, %c0 to %m]
      %B = tir.alloc_buffer "B" [%m] : !tir.buffer<?xf32>
      tir.for %j = %c0 to %m {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %B[%j] : f32
      }
      tir.for %j = %c0 to %m {
        %x = tir.load %B[%j] : f32
        tir.store %x, %C[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @symbolic
// CHECK:       %[[N:.*]] = tir.shape_var "n"
// CHECK-NEXT:  %[[M:.*]] = tir.shape_var "m"
// CHECK:       tir.for %{{.*}} = %[[C0:.*]] to %[[N]] {
// CHECK-NEXT:    %[[P:.*]] = tir.allocate "B" [%[[M]]] : !tir.ptr<f32>
// CHECK-NEXT:    %{{.*}} = tir.decl_buffer "B" %[[P]] [%[[M]]] : !tir.buffer<?xf32>
// CHECK-NEXT:    tir.for %{{.*}} = %[[C0]] to %[[M]] {

// -----

// CASE: LowerOpaqueBlock.4
// The loads are guarded too.
tir.func @predicate(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "predicate"} {
  %A = tir.match_buffer %a : !tir.buffer<32xf32>
  %C = tir.match_buffer %c : !tir.buffer<32xf32>
  %c0 = tir.const 0 : i32
  %c5 = tir.const 5 : i32
  %c7 = tir.const 7 : i32
  %c32 = tir.const 32 : i32
  tir.for %i = %c0 to %c5 {
    tir.for %j = %c0 to %c7 {
      %0 = tir.mul %i, %c7 : i32
      %1 = tir.add %0, %j : i32
      %p = tir.cmp lt %1, %c32 : i32
      tir.block where %p {
        tir.reads %A[%1]
        tir.writes %C[%1]
        %x = tir.load %A[%1] : f32
        %one = tir.const 1.0 : f32
        %y = tir.add %x, %one : f32
        tir.store %y, %C[%1] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @predicate
// CHECK:       %[[V:.*]] = tir.add %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:  %[[P:.*]] = tir.cmp lt %[[V]]
// CHECK-NEXT:  tir.if %[[P]] {
// CHECK-NEXT:    tir.load %{{.*}}[%[[V]]] : f32
// CHECK-NEXT:    tir.const
// CHECK-NEXT:    tir.add
// CHECK-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[V]]] : f32
// CHECK-NEXT:  }

// -----

// A predicate that is literally true needs no condition.
tir.func @always(%a: !tir.handle) attributes {global_symbol = "always"} {
  %A = tir.match_buffer %a : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %true = tir.const true
  tir.block where %true {
    tir.store %c0, %A[%c0] : i32
  }
}

// CHECK-LABEL: tir.func @always
// CHECK:       tir.const 0 : i32
// CHECK-NEXT:  tir.store

// -----

// CASE: LowerOpaqueBlock.5, LowerOpaqueBlock.13
// A loop that runs once disappears, of whatever kind and wherever it starts.
tir.func @once(%a: !tir.handle) attributes {global_symbol = "once"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4x8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %x = %c0 to %c4 {
    tir.for %y = %c0 to %c1 {
      tir.for %u = %c2 to %c2 + %c1 parallel {
        tir.for %v = %c2 to %c2 + %c1 vectorized {
          tir.for %w = %c2 to %c2 + %c1 unrolled annotations {} {
            tir.for %z = %c0 to %c8 {
              tir.block {
                tir.writes %A[%x, %y, %z]
                %0 = tir.add %u, %v : i32
                %1 = tir.add %0, %w : i32
                tir.store %1, %A[%x, %y, %z] : i32
              }
            }
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @once
// CHECK:       %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:  %[[C2:.*]] = tir.const 2 : i32
// CHECK:       tir.for %[[X:.*]] =
// CHECK-NEXT:    tir.for %[[Z:.*]] =
// CHECK-NEXT:      %[[S:.*]] = tir.add %[[C2]], %[[C2]] : i32
// CHECK-NEXT:      %[[T:.*]] = tir.add %[[S]], %[[C2]] : i32
// CHECK-NEXT:      tir.store %[[T]], %{{.*}}[%[[X]], %[[C0]], %[[Z]]] : i32

// -----

// CASE: LowerOpaqueBlock.6
tir.func @two_allocations(%a: !tir.handle) attributes {global_symbol = "two_allocations"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
      %C = tir.alloc_buffer "C" {"data_alignment" = 128 : i32} : !tir.buffer<4xi32, "shared">
      %x = tir.load %A[%i] : i32
      tir.store %x, %B[%i] : i32
      %y = tir.load %B[%i] : i32
      tir.store %y, %C[%i] : i32
      %z = tir.load %C[%i] : i32
      %w = tir.add %z, %z : i32
      tir.store %w, %A[%i] : i32
    }
  }
}

// CHECK-LABEL: tir.func @two_allocations
// CHECK:       %[[P:.*]] = tir.allocate "B" [4] : !tir.ptr<i32>
// CHECK-NEXT:  %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<4xi32>
// CHECK-NEXT:  %[[Q:.*]] = tir.allocate "C" [4] : !tir.ptr<i32, "shared">
// CHECK-NEXT:  %[[C:.*]] = tir.decl_buffer "C" %[[Q]] {data_alignment = 128 : i32} : !tir.buffer<4xi32, "shared">
// CHECK-NEXT:  tir.load
// CHECK-NEXT:  tir.store %{{.*}}, %[[B]]
// CHECK-NEXT:  tir.load %[[B]]
// CHECK-NEXT:  tir.store %{{.*}}, %[[C]]

// -----

// CASE: LowerOpaqueBlock.7
tir.func @strides(%a: !tir.handle) attributes {global_symbol = "strides"} {
  %A = tir.match_buffer %a : !tir.buffer<4x16xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.block {
    %B = tir.alloc_buffer "B" strides [17, 1] : !tir.buffer<4x16xi32>
    %D = tir.alloc_buffer "D" strides [64, 2] : !tir.buffer<4x16xi32>
    %E = tir.alloc_buffer "E" strides [3] : !tir.buffer<4xi32>
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : i32
        tir.store %x, %B[%i, %j] : i32
        tir.store %x, %D[%i, %j] : i32
        tir.store %x, %E[%i] : i32
        %y = tir.load %B[%i, %j] : i32
        %z = tir.load %D[%i, %j] : i32
        %w = tir.load %E[%i] : i32
        %v = tir.add %y, %z : i32
        %u = tir.add %v, %w : i32
        tir.store %u, %A[%i, %j] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @strides
// CHECK:       %[[P:.*]] = tir.allocate "B" [4, 17] : !tir.ptr<i32>
// CHECK-NEXT:  tir.decl_buffer "B" %[[P]] strides [17, 1] : !tir.buffer<4x16xi32>
// The stride of the last dimension is allocated for:
// CHECK-NEXT:  %[[Q:.*]] = tir.allocate "D" [4, 64] : !tir.ptr<i32>
// CHECK-NEXT:  tir.decl_buffer "D" %[[Q]] strides [64, 2] : !tir.buffer<4x16xi32>
// CHECK-NEXT:  tir.allocate "E" [12] : !tir.ptr<i32>

// -----

// CASE: LowerOpaqueBlock.8
tir.func @symbolic_strides(%a: !tir.handle) attributes {global_symbol = "symbolic_strides"} {
  %p = tir.shape_var "p" : i32
  %A = tir.match_buffer %a [%p] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c72 = tir.const 72 : i32
  %s = tir.mul %c72, %p : i32
  %q = tir.add %p, %c72 : i32
  %t = tir.mul %s, %q : i32
  tir.block {
    %B = tir.alloc_buffer "B" [%p] strides [%s, 72, 1] : !tir.buffer<1x?x64xi32>
    %D = tir.alloc_buffer "D" [%p, %p] strides [%t, %s, 1] : !tir.buffer<?x?x64xi32>
    tir.for %i = %c0 to %p {
      tir.store %i, %B[%c0, %i, %c0] : i32
      %x = tir.load %B[%c0, %i, %c0] : i32
      tir.store %x, %A[%i] : i32
    }
  }
}

// CHECK-LABEL: tir.func @symbolic_strides
// CHECK:       %[[N:.*]] = tir.shape_var "p"
// CHECK:       %[[S:.*]] = tir.mul %{{.*}}, %[[N]] : i32
// CHECK-NEXT:  %[[Q:.*]] = tir.add %[[N]]
// CHECK-NEXT:  %[[T:.*]] = tir.mul %[[S]], %[[Q]] : i32
// CHECK-NEXT:  %[[P:.*]] = tir.allocate "B" [1, %[[N]], 72] : !tir.ptr<i32>
// CHECK-NEXT:  tir.decl_buffer "B" %[[P]] [%[[N]]] strides [%[[S]], 72, 1] : !tir.buffer<1x?x64xi32>
// CHECK-NEXT:  tir.allocate "D" [%[[N]], %[[Q]], %[[S]]] : !tir.ptr<i32>

// -----

// CASE: LowerOpaqueBlock.9, LowerOpaqueBlock.11
// Annotations of a loop stay, those of its pragmas for attribute scopes around it.
tir.func @loop_annotations(%a: !tir.handle) attributes {global_symbol = "loop_annotations"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 annotations {"pragma_1" = "str_value", "pragma_2" = 1 : i32, "pragma_3" = 0.0 : f32} {
    tir.block annotations {"k_3" = "dropped"} {
      tir.store %i, %A[%i] : i32
    }
  }
  tir.for %i = %c0 to %c4 annotations {"k_0" = 1 : i32, "k_1" = [2 : i32, 3 : i32], "k_2" = 3.14 : f32, "pragma_none"} {
    tir.store %i, %A[%i] : i32
  }
}

// CHECK-LABEL: tir.func @loop_annotations
// CHECK:       tir.for %{{.*}} annotations {pragma_1 = "str_value", pragma_2 = 1 : i32, pragma_3 = 0.0{{.*}} : f32} {
// CHECK-NEXT:    tir.store
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.for %{{.*}} annotations {k_0 = 1 : i32, k_1 = [2 : i32, 3 : i32], k_2 = 3.14{{.*}} : f32, pragma_none} {

// -----

// CASE: LowerOpaqueBlock.10, LowerOpaqueBlock.11
// Pragmas of a block stand around its allocations, the smallest key outermost.
tir.func @block_pragmas(%a: !tir.handle, %p: i1) attributes {global_symbol = "block_pragmas"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.block where %p annotations {"pragma_3" = 0.0 : f32, "k_3" = "dropped", "pragma_1" = "str_value", "pragma_4", "pragma_2" = 1 : i32} {
    %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
    tir.store %c0, %B[%c0] : i32
    %x = tir.load %B[%c0] : i32
    tir.store %x, %A[%c0] : i32
  }
  tir.evaluate
}

// CHECK-LABEL: tir.func @block_pragmas
// CHECK:       tir.attr "pragma_1" (0 : i32) = "str_value" {
// CHECK-NEXT:    tir.attr "pragma_2" (0 : i32) = 1 : i32 {
// CHECK-NEXT:      tir.attr "pragma_3" (0 : i32) = 0.0{{.*}} : f32 {
// CHECK-NEXT:        tir.attr "pragma_4" (0 : i32) = unit {
// CHECK-NEXT:          tir.allocate "B"
// CHECK-NEXT:          tir.decl_buffer "B"
// CHECK-NEXT:          tir.if %{{.*}} {
// CHECK-NEXT:            tir.store
// CHECK:       tir.evaluate
// CHECK-NOT:   k_3

// -----

// CASE: LowerOpaqueBlock.12
tir.func @bool(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "bool"} {
  %A = tir.match_buffer %a : !tir.buffer<10xi1>
  %B = tir.match_buffer %b : !tir.buffer<10xi1>
  %c0 = tir.const 0 : i32
  %c10 = tir.const 10 : i32
  tir.for %i = %c0 to %c10 {
    tir.block {
      tir.reads %A[%i]
      tir.writes %B[%i]
      %x = tir.load %A[%i] : i1
      tir.store %x, %B[%i] : i1
    }
  }
}

// CHECK-LABEL: tir.func @bool
// CHECK:       tir.for %[[I:.*]] =
// CHECK-NEXT:    %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : i1
// CHECK-NEXT:    tir.store %[[X]], %{{.*}}[%[[I]]] : i1

// -----

// CASE: LowerOpaqueBlock.13
// A loop that runs once stays if it is annotated, or carries attributes of others.
tir.func @annotated_once(%a: !tir.handle) attributes {global_symbol = "annotated_once"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 annotations {"pragma_unroll" = 1 : i32} {
    tir.store %i, %A[%i] : i32
  }
  tir.for %i = %c0 to %c1 annotations {"k" = 1 : i32} {
    tir.store %i, %A[%i] : i32
  }
  tir.for %i = %c0 to %c1 attributes {"other.mark"} {
    tir.store %i, %A[%i] : i32
  }
}

// CHECK-LABEL: tir.func @annotated_once
// CHECK:       tir.for %{{.*}} annotations {pragma_unroll = 1 : i32} {
// CHECK:       tir.for %{{.*}} annotations {k = 1 : i32} {
// CHECK:       tir.for %{{.*}} attributes {{.*}}other.mark

// -----

// CASE: LowerOpaqueBlock.14
// A launch of one thread; and thread loops that do not start at 0.
tir.func @thread_minimum(%a: !tir.handle) attributes {global_symbol = "thread_minimum"} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for %b = %c2 to %c2 + %c1 thread_binding "blockIdx.x" {
    tir.for %t = %c2 to %c2 + %c4 thread_binding "threadIdx.x" {
      tir.store %b, %A[%t] : i32
    }
    tir.for %u = %c2 to %c2 + %c4 thread_binding "threadIdx.x" {
      tir.evaluate
    }
  }
}

// CHECK-LABEL: tir.func @thread_minimum
// CHECK:       %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:  %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:  %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:  tir.launch_thread %{{.*}} = "blockIdx.x" to %[[C1]] {
// CHECK-NEXT:    tir.launch_thread %[[T:.*]] = "threadIdx.x" to %[[C4]] {
// CHECK-NEXT:      %[[I:.*]] = tir.add %[[T]], %[[C2]] : i32
// CHECK-NEXT:      tir.store %[[C2]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.launch_thread %{{.*}} = "threadIdx.x" to %[[C4]] {
// CHECK-NEXT:      tir.evaluate

// -----

// CASE: LowerOpaqueBlock.15
// Found through a view of the buffer as well.
tir.func @alignment(%a: !tir.handle) attributes {global_symbol = "alignment"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.block "root" {
    %B = tir.alloc_buffer "B" : !tir.buffer<4x4xi32, "shared">
    %C = tir.alloc_buffer "C" : !tir.buffer<4x4xi32, "shared">
    %D = tir.alloc_buffer "D" : !tir.buffer<4x4xi32>
    tir.block annotations {"buffer_dim_align" = [[0 : i32, 0 : i32, 32 : i32, 8 : i32], [1 : i32, 0 : i32, 16 : i32, 4 : i32]]} {
      tir.writes %B[%c0, %c0], %C[%c0, %c0]
      tir.store %c0, %B[%c0, %c0] : i32
      tir.store %c1, %C[%c0, %c0] : i32
    }
    %p = tir.data %B : !tir.ptr<i32, "shared">
    %V = tir.decl_buffer %p : !tir.buffer<16xi32, "shared">
    tir.block annotations {"buffer_dim_align" = [[0 : i32, 1 : i32, 2 : i32, 1 : i32]]} {
      tir.writes %V[%c0]
      tir.store %c1, %V[%c0] : i32
    }
    %x = tir.load %B[%c0, %c0] : i32
    tir.store %x, %A[%c0, %c0] : i32
  }
}

// CHECK-LABEL: tir.func @alignment
// CHECK:       tir.allocate "B" [4, 4] annotations {buffer_dim_align = {{\[\[}}-1 : i32, 0 : i32, 32 : i32, 8 : i32], [-1 : i32, 1 : i32, 2 : i32, 1 : i32]]} : !tir.ptr<i32, "shared">
// CHECK:       tir.allocate "C" [4, 4] annotations {buffer_dim_align = {{\[\[}}-1 : i32, 0 : i32, 16 : i32, 4 : i32]]} : !tir.ptr<i32, "shared">
// CHECK:       tir.allocate "D" [4, 4] : !tir.ptr<i32>

// -----

// What a block allocates, or a loop that runs once binds, ends with it also where
// statements follow.
tir.func @lifetimes(%a: !tir.handle) attributes {global_symbol = "lifetimes"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.block "root" {
    tir.block "first" {
      %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
      tir.store %c1, %B[%c0] : i32
      %x = tir.load %B[%c0] : i32
      tir.store %x, %A[%c0] : i32
    }
    tir.for %i = %c0 to %c1 {
      %v = tir.let "v" %i : i32
      tir.store %v, %A[%c0] : i32
    }
    tir.block "plain" {
      tir.store %c1, %A[%c1] : i32
    }
    tir.block "last" {
      %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
      tir.store %c1, %B[%c0] : i32
      %x = tir.load %B[%c0] : i32
      tir.store %x, %A[%c0] : i32
    }
  }
}

// CHECK-LABEL: tir.func @lifetimes
// CHECK:       tir.scope {
// CHECK-NEXT:    tir.allocate "B"
// CHECK:       }
// CHECK-NEXT:  tir.scope {
// CHECK-NEXT:    tir.let "v"
// CHECK-NEXT:    tir.store
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.store
// CHECK-NEXT:  tir.allocate "B"

// -----

// The extents of an allocation are computed before the condition, unless they need
// a load or a division that it may guard.
tir.func @guarded_extents(%a: !tir.handle, %n: i32, %d: i32) attributes {global_symbol = "guarded_extents"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %p = tir.cmp gt %d, %c0 : i32
  tir.block where %p {
    %m = tir.mul %n, %c2 : i32
    %h = tir.floordiv %m, %c2 : i32
    %B = tir.alloc_buffer "B" [%h] : !tir.buffer<?xi32>
    %l = tir.floordiv %m, %d : i32
    %C = tir.alloc_buffer "C" [%l] : !tir.buffer<?xi32>
    tir.store %m, %A[%c0] : i32
  }
}

// CHECK-LABEL: tir.func @guarded_extents
// CHECK:       %[[P:.*]] = tir.cmp gt
// CHECK-NEXT:  %[[M:.*]] = tir.mul
// CHECK-NEXT:  %[[H:.*]] = tir.floordiv %[[M]]
// CHECK-NEXT:  tir.allocate "B" [%[[H]]]
// CHECK-NEXT:  tir.decl_buffer "B"
// CHECK-NEXT:  tir.if %[[P]] {
// CHECK-NEXT:    %[[L:.*]] = tir.floordiv %[[M]]
// CHECK-NEXT:    tir.allocate "C" [%[[L]]]
// CHECK-NEXT:    tir.decl_buffer "C"
// CHECK-NEXT:    tir.store %[[M]]

// -----

// Several functions, blocks and loops under ops of other dialects, foreign users.
tir.func @no_blocks(%n: i32) {
  tir.evaluate %n : i32
}
func.func @foreign(%p: i1, %lo: index, %hi: index, %step: index) {
  scf.for %i = %lo to %hi step %step {
    tir.block "B" where %p {
      %B = tir.alloc_buffer : !tir.buffer<4xi32>
      "test.op"(%B) : (!tir.buffer<4xi32>) -> ()
    }
  }
  func.return
}

// CHECK-LABEL: tir.func @no_blocks
// CHECK-NEXT:    tir.evaluate
// CHECK-LABEL: func.func @foreign(%[[P:[^:]*]]: i1
// CHECK:         tir.scope {
// CHECK-NEXT:      %[[M:.*]] = tir.allocate [4] : !tir.ptr<i32>
// CHECK-NEXT:      %[[B:.*]] = tir.decl_buffer %[[M]] : !tir.buffer<4xi32>
// CHECK-NEXT:      tir.if %[[P]] {
// CHECK-NEXT:        "test.op"(%[[B]])
