// RUN: xdsl-opt %s -p tir-unroll-loop --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p "tir-unroll-loop{auto_max_step=16}" --split-input-file | filecheck %s --check-prefix STEP16
// RUN: xdsl-opt %s -p "tir-unroll-loop{auto_max_step=15}" --split-input-file | filecheck %s --check-prefix STEP15
// RUN: xdsl-opt %s -p "tir-unroll-loop{auto_max_step=16 explicit_unroll=false}" --split-input-file | filecheck %s --check-prefix MARK
// RUN: xdsl-opt %s -p "tir-unroll-loop{auto_max_extent=1 explicit_unroll=false}" --split-input-file | filecheck %s --check-prefix ONCE
// RUN: xdsl-opt %s -p "tir-unroll-loop{unroll_local_access=true auto_max_depth=0 auto_max_extent=1}" --split-input-file | filecheck %s --check-prefix LOCAL

// CASE: UnrollLoop.1, UnrollLoop.2, UnrollLoop.3
tir.func @nest(%a: !tir.handle, %n: i32) attributes {global_symbol = "nest"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<80xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %n to %n + %c2 {
    tir.for %j = %c0 to %c8 unrolled {
      %row = tir.mul %i, %c8 : i32
      %k = tir.add %row, %j : i32
      tir.store %k, %A[%k] : i32
    }
  }
}
// CHECK-LABEL: tir.func @nest
// CHECK:         %[[J0:.*]] = tir.const 0 : i32
// CHECK:         tir.for %[[I:.*]] = %[[N:.*]] to %[[N]] + %{{.*}} {
// CHECK-NEXT:      %[[ROW:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:      %[[K0:.*]] = tir.add %[[ROW]], %[[J0]] : i32
// CHECK-NEXT:      tir.store %[[K0]], %{{.*}}[%[[K0]]] : i32
// CHECK-NEXT:      %[[J1:.*]] = tir.const 1 : i32
// CHECK:           %[[J7:.*]] = tir.const 7 : i32
// CHECK:           tir.store
// CHECK-NEXT:    }
// CHECK-NOT:     tir.for
// STEP16-LABEL: tir.func @nest
// STEP16-NOT:     tir.for
// STEP16-COUNT-16: tir.store
// STEP16-NEXT:  }
// STEP15-LABEL: tir.func @nest
// STEP15:         tir.for %{{.*}} = %[[N:.*]] to %[[N]] + %{{[^ ]*}} {
// STEP15-NOT:     tir.for
// STEP15-COUNT-8: tir.store
// STEP15-NEXT:    }
// STEP15-NEXT:  }
// MARK-LABEL: tir.func @nest
// MARK:         tir.for %{{.*}} = %[[N:.*]] to %[[N]] + %{{.*}} unrolled {
// MARK-NEXT:      tir.for %{{.*}} = %{{.*}} to %{{.*}} unrolled {
// MARK:         tir.store
// MARK-NEXT:      }
// MARK-NEXT:    }
// MARK-NEXT:  }

// -----

// CASE: UnrollLoop.4
tir.func @pragmas(%a: !tir.handle, %n: i32) attributes {global_symbol = "pragmas"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<80xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %no = tir.const false
  tir.attr "pragma_auto_unroll_max_step" (0 : i32) = 16 : i32 {
    tir.attr "pragma_unroll_explicit" (0 : i32) = %no {
      tir.for %i = %c0 to %c2 {
        tir.store %i, %A[%i] : i32
      }
    }
  }
  tir.for %i = %c0 to %c2 {
    tir.store %i, %A[%i] : i32
  }
  tir.for %i = %c0 to %c2 annotations {pragma_auto_unroll_max_step = 2 : i32, pragma_import_c = "int x;", other = 1 : i32} {
    tir.store %n, %A[%i] : i32
  }
  tir.launch_thread %t = "threadIdx.x" to %c2 annotations {pragma_unroll_explicit = false} {
    tir.for %i = %c0 to %c2 unrolled {
      tir.store %n, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @pragmas
// CHECK-NOT:     pragma_auto
// CHECK-NOT:     pragma_unroll
// CHECK:         tir.for %{{.*}} unrolled {
// CHECK-NEXT:      tir.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %[[I:.*]] = %{{[^ ]*}} to %{{[^ ]*}} {
// CHECK-NEXT:      tir.store %[[I]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.attr "pragma_import_c" (0 : i32) = "int x;" {
// CHECK-NEXT:      tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:      %[[I1:.*]] = tir.const 1 : i32
// CHECK-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I1]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.launch_thread %{{.*}} = "threadIdx.x" to %{{[^ ]*}} {
// CHECK-NEXT:      tir.for %{{.*}} unrolled {

// -----

// CASE: UnrollLoop.5
tir.func @once(%a: !tir.handle) attributes {global_symbol = "once"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<20xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c10 = tir.const 10 : i32
  tir.for %i = %c0 to %c1 {
    %at = tir.mul %i, %c2 : i32
    tir.store %c2, %A[%at] : i32
    tir.for %j = %c0 to %c10 {
      tir.store %i, %A[%j] : i32
    }
  }
  tir.for %i = %c0 to %c1 vectorized {
    tir.store %i, %A[%i] : i32
  }
}
// ONCE-LABEL: tir.func @once
// ONCE:         %[[I:.*]] = tir.const 0 : i32
// ONCE:         %[[AT:.*]] = tir.mul %[[I]]
// ONCE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[AT]]] : i32
// ONCE-NEXT:    tir.for %[[J:.*]] = %{{[^ ]*}} to %{{[^ ]*}} {
// ONCE-NEXT:      tir.store %[[I]], %{{.*}}[%[[J]]] : i32
// ONCE-NEXT:    }
// ONCE-NEXT:    tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// ONCE-NEXT:  }

// -----

// CASE: UnrollLoop.6
tir.func @allocations(%a: !tir.handle) attributes {global_symbol = "allocations"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %c2 unrolled {
    %p = tir.allocate "T" [2] : !tir.ptr<i32, "local">
    %T = tir.decl_buffer "T" %p : !tir.buffer<2xi32, "local">
    tir.store %i, %T[%i] : i32
    %x = tir.load %T[%i] : i32
    tir.store %x, %A[%i] : i32
  }
}
// The last copy needs no scope.
// CHECK-LABEL: tir.func @allocations
// CHECK:         %[[I0:.*]] = tir.const 0 : i32
// CHECK:         tir.scope {
// CHECK-NEXT:      %[[P0:.*]] = tir.allocate "T" [2]
// CHECK-NEXT:      %[[T0:.*]] = tir.decl_buffer "T" %[[P0]]
// CHECK-NEXT:      tir.store %[[I0]], %[[T0]][%[[I0]]]
// CHECK:         }
// CHECK-NEXT:    %[[I1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[P1:.*]] = tir.allocate "T" [2]
// CHECK-NEXT:    %[[T1:.*]] = tir.decl_buffer "T" %[[P1]]
// CHECK-NEXT:    tir.store %[[I1]], %[[T1]][%[[I1]]]

// -----

// CASE: UnrollLoop.7
tir.func @local(%a: !tir.handle, %n: i32) attributes {global_symbol = "local"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c64 = tir.const 64 : i32
  tir.for %b = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %c2 thread_binding "threadIdx.x" {
      %T = tir.alloc_buffer "T" : !tir.buffer<4xi32, "local">
      tir.for %i = %c0 to %c4 {
        %at = tir.mul %i, %c64 : i32
        %back = tir.floordiv %at, %c64 : i32
        tir.store %t, %T[%back] : i32
      }
      tir.for %i = %c0 to %c4 {
        tir.evaluate %n : i32
      }
      %x = tir.load %T[%t] : i32
      %row = tir.mul %b, %c4 : i32
      %at = tir.add %row, %t : i32
      tir.store %x, %A[%at] : i32
    }
  }
}
// LOCAL-LABEL: tir.func @local
// LOCAL:         tir.for %{{.*}} thread_binding "blockIdx.x" {
// LOCAL-NEXT:      tir.for %{{.*}} thread_binding "threadIdx.x" {
// LOCAL-NEXT:        %[[T:.*]] = tir.alloc_buffer
// LOCAL-COUNT-4:     tir.store %{{.*}}, %[[T]][
// LOCAL-NEXT:        tir.for %{{.*}} = %{{[^ ]*}} to %{{[^ ]*}} {
// LOCAL-NEXT:          tir.evaluate

// -----

// CASE: UnrollLoop.9
tir.func @empty(%a: !tir.handle) attributes {global_symbol = "empty"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %cm3 = tir.const -3 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %c0 unrolled {
    tir.for %j = %c0 to %c2 unrolled {
      tir.store %i, %A[%j] : i32
    }
  }
  tir.for %i = %c0 to %cm3 unrolled {
    tir.store %i, %A[%i] : i32
  }
}
// CHECK-LABEL: tir.func @empty
// CHECK-NOT:     tir.for
// CHECK-NOT:     tir.store
// CHECK:         tir.evaluate
// CHECK-NEXT:    tir.evaluate
// CHECK-NEXT:  }

// -----

// CASE: UnrollLoop.10
tir.func @kept(%a: !tir.handle, %n: i32) attributes {global_symbol = "kept"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<100xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c0_64 = tir.const 0 : i64
  %large = tir.const 2147483648 : i64
  tir.for %i = %c0 to %c1 {
    tir.store %i, %A[%i] : i32
  }
  tir.for %i = %c0 to %c4 parallel {
    tir.store %i, %A[%i] : i32
  }
  tir.for %i = %c0 to %c4 vectorized {
    tir.store %i, %A[%i] : i32
  }
  %p = tir.cmp gt %n, %c4 : i32
  tir.if %p {
    tir.for %i = %c0_64 to %large {
      tir.store %n, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @kept
// CHECK:         tir.for %{{.*}} = %{{[^ ]*}} to %{{[^ ]*}} {
// CHECK:         tir.for %{{.*}} parallel {
// CHECK:         tir.for %{{.*}} vectorized {
// CHECK:           tir.for %{{.*}} = %{{[^ ]*}} to %{{[^ ]*}} {
// STEP16-LABEL: tir.func @kept
// STEP16-NOT:     tir.for
// STEP16:         tir.store
// STEP16:         tir.for %{{.*}} parallel {
// STEP16:         tir.for %{{.*}} vectorized {
// STEP16:         tir.for %{{.*}} = %{{[^ ]*}} to %{{[^ ]*}} {

// -----

// Loads see the stores of the copies before theirs, branches count by themselves,
// and an extent may be an expression.
tir.func @order(%a: !tir.handle, %n: i32) attributes {global_symbol = "order"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<5xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %np4 = tir.add %n, %c2 : i32
  %extent = tir.sub %np4, %n : i32
  tir.for %i = %c1 to %c1 + %extent unrolled {
    %before = tir.sub %i, %c1 : i32
    %x = tir.load %A[%before] : i32
    %y = tir.add %x, %n : i32
    tir.store %y, %A[%i] : i32
  }
  %p = tir.cmp gt %n, %c2 : i32
  tir.if %p {
    tir.for %i = %c0 to %c2 parallel {
      tir.store %n, %A[%i] : i32
    }
  } else {
    tir.for %i = %c0 to %c2 {
      tir.store %i, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @order
// CHECK:         %[[X0:.*]] = tir.load
// CHECK-NEXT:    %[[Y0:.*]] = tir.add %[[X0]]
// CHECK-NEXT:    tir.store %[[Y0]]
// CHECK:         %[[X1:.*]] = tir.load
// CHECK-NEXT:    %[[Y1:.*]] = tir.add %[[X1]]
// CHECK-NEXT:    tir.store %[[Y1]]
// CHECK:         } else {
// CHECK-NEXT:      tir.for
// STEP16-LABEL: tir.func @order
// STEP16:         tir.for %{{.*}} parallel {
// STEP16:         } else {
// STEP16-NOT:       tir.for

// -----

// Each copy binds a variable of its own.
tir.func @matches(%a: !tir.handle) attributes {global_symbol = "matches"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xi32>
  %n = tir.shape_var "n" : i32
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %c2 unrolled {
    tir.block "B" {
      tir.reads
      tir.writes %A[%i]
      %V = tir.match_region "V" %A[%i to %i + 1] [%n] : !tir.buffer<?xi32>
      tir.store %n, %V[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @matches
// CHECK:         %[[N:.*]] = tir.shape_var "n" : i32
// CHECK:         tir.block "B"
// CHECK:           tir.store %[[N]]
// CHECK:         tir.block "B"
// CHECK-NEXT:      %[[M:.*]] = tir.shape_var "n" : i32
// CHECK:           tir.store %[[M]]

// -----

// The copies of a launch open one thread variable, under a name that is not taken.
tir.func @launches(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x64xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c64 = tir.const 64 : i32
  %x = tir.const 1.0 : f32
  tir.for %i = %c0 to %c2 unrolled {
    tir.launch_thread %tx = "threadIdx.x" to %c64 {
      tir.store %x, %A[%i, %tx] : f32
    }
  }
  tir.launch_thread %other = "threadIdx.x" to %c64 env "tx" {
    tir.store %x, %A[%c0, %other] : f32
  }
}
// CHECK-LABEL: tir.func @launches
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %c64 env "tx_1" {
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %c64 env "tx_1" {
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %c64 env "tx" {
