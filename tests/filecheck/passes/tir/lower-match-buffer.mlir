// RUN: xdsl-opt %s -p tir-lower-match-buffer --split-input-file | filecheck %s

// CASE: LowerMatchBuffer.1
tir.func @access(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "access"} {
  %A = tir.match_buffer %a : !tir.buffer<8x3x4xf32>
  %C = tir.match_buffer %c : !tir.buffer<8x4xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c2 {
    tir.for %j = %c0 to %c3 {
      tir.for %k = %c0 to %c2 {
        %i4 = tir.mul %i, %c4 : i32
        %k2 = tir.mul %k, %c2 : i32
        tir.block {
          tir.reads %A[%i4 to %i4 + 4, %j, %k2 to %k2 + 2], %C[%i4 to %i4 + 4, %k2 to %k2 + 2]
          tir.writes %A[%i4 to %i4 + 4, %j, %k2 to %k2 + 2]
          %sA = tir.match_region "sub_A" %A[%i4 to %i4 + 4, %j, %k2 to %k2 + 2] : !tir.buffer<4x1x2xf32>
          %sC = tir.match_region "sub_C" %C[%i4 to %i4 + 4, %k2 to %k2 + 2] : !tir.buffer<4x2xf32>
          tir.for %ii = %c0 to %c4 {
            tir.for %kk = %c0 to %c2 {
              %x = tir.load %sA[%ii, %c0, %kk] : f32
              %y = tir.load %sC[%ii, %kk] : f32
              %z = tir.add %x, %y : f32
              tir.store %z, %sA[%ii, %c0, %kk] : f32
            }
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @access
// CHECK:       %[[A:.*]] = tir.match_buffer
// CHECK-NEXT:  %[[C:.*]] = tir.match_buffer
// CHECK:       tir.for
// CHECK-NEXT:    tir.for %[[J:.*]] =
// CHECK-NEXT:      tir.for
// CHECK:         %[[I4:.*]] = tir.mul
// CHECK-NEXT:    %[[K2:.*]] = tir.mul
// CHECK-NEXT:    tir.block {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      tir.for %[[II:.*]] =
// CHECK-NEXT:        tir.for %[[KK:.*]] =
// CHECK-NEXT:          %[[I1:.*]] = tir.add %[[I4]], %[[II]] : i32
// CHECK-NEXT:          %[[K1:.*]] = tir.add %[[K2]], %[[KK]] : i32
// CHECK-NEXT:          tir.load %[[A]][%[[I1]], %[[J]], %[[K1]]] : f32
// CHECK:               tir.load %[[C]][%{{.*}}, %{{.*}}] : f32
// CHECK:               tir.store %{{.*}}, %[[A]][%{{.*}}, %[[J]], %{{.*}}] : f32

// -----

// CASE: LowerMatchBuffer.2
tir.func @constant_strides(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "constant_strides"} {
  %A = tir.match_buffer %a : !tir.buffer<32x64x128xi8>
  %O = tir.match_buffer %o : !tir.buffer<2x2xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %off = tir.shape_var "off" : i32
  tir.for %i = %c0 to %c2 {
    tir.for %k = %c0 to %c2 {
      %i16 = tir.mul %i, %c16 : i32
      %k16 = tir.mul %k, %c16 : i32
      tir.block {
        tir.reads
        tir.writes %O[%i, %k]
        %V = tir.match_region %A[%i16 to %i16 + 16, %k, %k16 to %k16 + 16] strides [8192, 128, 1] offset %off {offset_factor = 16 : i32} : !tir.buffer<16x1x16xi8>
        %p = tir.data %V : !tir.ptr<i8>
        tir.evaluate %p : !tir.ptr<i8>
        tir.store %off, %O[%i, %k] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @constant_strides
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      tir.for %[[K:.*]] =
// CHECK-NOT:         tir.shape_var
// CHECK:             %[[N1:.*]] = tir.const 131072 : i32
// CHECK-NEXT:        %[[X:.*]] = tir.mul %[[I]], %[[N1]]
// CHECK-NEXT:        %[[N2:.*]] = tir.const 144 : i32
// CHECK-NEXT:        %[[Y:.*]] = tir.mul %[[K]], %[[N2]]
// CHECK-NEXT:        %[[O:.*]] = tir.add %[[X]], %[[Y]]
// CHECK-NEXT:        %[[P:.*]] = tir.data %A
// CHECK-NEXT:        tir.evaluate %[[P]]
// CHECK-NEXT:        tir.store %[[O]], %O[%[[I]], %[[K]]]

// -----

// CASE: LowerMatchBuffer.3
tir.func @fresh_strides(%b: !tir.handle, %o: !tir.handle) attributes {global_symbol = "fresh_strides"} {
  %B = tir.match_buffer %b : !tir.buffer<64x64x64xi8>
  %O = tir.match_buffer %o : !tir.buffer<2x3xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %off = tir.shape_var "off" : i32
  %s0 = tir.shape_var "s0" : i32
  %s1 = tir.shape_var "s1" : i32
  tir.for %i = %c0 to %c2 {
    %j32 = tir.mul %i, %c32 : i32
    %k8 = tir.mul %i, %c8 : i32
    tir.block {
      tir.reads
      tir.writes %B[%i, %j32 to %j32 + 32, %k8 to %k8 + 8], %O[%i, %c0 to 3]
      %V = tir.match_region %B[%i, %j32 to %j32 + 32, %k8 to %k8 + 8] strides [%s0, %s1] offset %off : !tir.buffer<32x8xi8>
      tir.store %off, %O[%i, %c0] : i32
      tir.store %s0, %O[%i, %c1] : i32
      tir.store %s1, %O[%i, %c2] : i32
    }
  }
}

// CHECK-LABEL: tir.func @fresh_strides
// CHECK:         tir.for %[[I:.*]] =
// CHECK:           %[[N:.*]] = tir.const 6152 : i32
// CHECK-NEXT:      %[[O:.*]] = tir.mul %[[I]], %[[N]]
// CHECK-NEXT:      %[[S0:.*]] = tir.const 64 : i32
// CHECK-NEXT:      %[[S1:.*]] = tir.const 1 : i32
// CHECK-NEXT:      tir.store %[[O]]
// CHECK-NEXT:      tir.store %[[S0]]
// CHECK-NEXT:      tir.store %[[S1]]

// -----

// CASE: LowerMatchBuffer.4
tir.func @source_strides(%p: !tir.ptr<i8>, %i: i32, %j: i32, %k: i32) {
  %A = tir.decl_buffer %p strides [2576, 80, 1] : !tir.buffer<32x32x64xi8>
  %c16 = tir.const 16 : i32
  %off = tir.shape_var "off" : i32
  %s0 = tir.shape_var "s0" : i32
  %s1 = tir.shape_var "s1" : i32
  %j16 = tir.mul %j, %c16 : i32
  %k16 = tir.mul %k, %c16 : i32
  tir.block {
    %V = tir.match_region %A[%i, %j16 to %j16 + 16, %k16 to %k16 + 16] strides [%s0, %s1] offset %off : !tir.buffer<16x16xi8>
    tir.evaluate %off : i32
    tir.evaluate %s0 : i32
    tir.evaluate %s1 : i32
  }
}

// CHECK-LABEL: tir.func @source_strides
// CHECK-SAME:    %[[I:[a-z0-9_]+]]: i32, %[[J:[a-z0-9_]+]]: i32, %[[K:[a-z0-9_]+]]: i32
// CHECK-DAG:       tir.mul %[[I]], %[[N0:.*]] : i32
// CHECK-DAG:       %[[N0]] = tir.const 2576
// CHECK-DAG:       %[[N1:.*]] = tir.const 1280
// CHECK-DAG:       tir.mul %[[J]], %[[N1]]
// CHECK-DAG:       %[[N2:.*]] = tir.const 16
// CHECK-DAG:       tir.mul %[[K]], %[[N2]]
// CHECK:           %[[O:.*]] = tir.add
// CHECK-NEXT:      %[[S0:.*]] = tir.const 80
// CHECK-NEXT:      %[[S1:.*]] = tir.const 1 :
// CHECK-NEXT:      tir.evaluate %[[O]]
// CHECK-NEXT:      tir.evaluate %[[S0]]
// CHECK-NEXT:      tir.evaluate %[[S1]]

// -----

// CASE: LowerMatchBuffer.5
tir.func @two_levels(%b: !tir.handle, %o: !tir.handle) attributes {global_symbol = "two_levels"} {
  %B = tir.match_buffer %b : !tir.buffer<2x16x16xi32>
  %O = tir.match_buffer %o : !tir.buffer<2x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %outer = tir.shape_var "outer" : i32
  %off = tir.shape_var "off" : i32
  tir.for %i = %c0 to %c2 {
    %j8 = tir.mul %i, %c8 : i32
    tir.block {
      tir.reads
      tir.writes %B[%i, %j8 to %j8 + 8, %j8 to %j8 + 8]
      %V = tir.match_region %B[%i, %j8 to %j8 + 8, %j8 to %j8 + 8] offset %outer : !tir.buffer<8x8xi32>
      tir.for %jj = %c0 to %c2 {
        %j4 = tir.mul %jj, %c4 : i32
        tir.block {
          tir.reads
          tir.writes %V[%j4 to %j4 + 4, %c4 to %c4 + 4], %V[%c0, %c0]
          %W = tir.match_region %V[%j4 to %j4 + 4, %c4 to %c4 + 4] offset %off : !tir.buffer<4x4xi32>
          tir.for %jjj = %c0 to %c4 {
            tir.store %off, %W[%jjj, %c1] : i32
          }
          tir.store %outer, %O[%i, %jj] : i32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @two_levels
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      %[[J8:.*]] = tir.mul
// CHECK-NEXT:      tir.block {
// CHECK-NEXT:        tir.reads
// CHECK-NEXT:        tir.writes %B[%[[I]], %[[J8]] to %[[J8]] + 8, %[[J8]] to %[[J8]] + 8]
// CHECK:             tir.for %[[JJ:.*]] =
// CHECK-NEXT:          %[[J4:.*]] = tir.mul
// CHECK-NEXT:          tir.block {
// CHECK-NEXT:            tir.reads
// CHECK:                 tir.writes %B[%[[I]], %[[R:.*]] to %[[R]] + 4, %[[S:.*]] to %[[S]] + 4], %B[%[[I]], %[[J8]], %[[J8]]]
// CHECK-NOT:             tir.match_region
// CHECK:                 tir.for %[[JJJ:.*]] =
// CHECK-NEXT:              %[[X:.*]] = tir.add %[[Y:.*]], %[[JJJ]] : i32
// CHECK:                   tir.store %{{.*}}, %B[%[[I]], %[[X]], %{{.*}}] : i32

// -----

// CASE: LowerMatchBuffer.6
tir.func @symbolic(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "symbolic"} {
  %n = tir.shape_var "n" : i32
  %m = tir.shape_var "m" : i32
  %A = tir.match_buffer %a [%n, %m] : !tir.buffer<?x?xi8>
  %O = tir.match_buffer %o [%n] : !tir.buffer<?x5xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %off = tir.shape_var "off" : i32
  %s0 = tir.shape_var "s0" : i32
  %s1 = tir.shape_var "s1" : i32
  %e = tir.shape_var "e" : i32
  tir.for %i = %c0 to %n {
    tir.block {
      tir.reads
      tir.writes %A[%i, %c0 to %m]
      %V = tir.match_region %A[%i, %c0 to %m] [%e] strides [%s0, %s1] offset %off : !tir.buffer<1x?xi8>
      tir.store %off, %O[%i, %c0] : i32
      tir.store %s0, %O[%i, %c1] : i32
      tir.store %s1, %O[%i, %c2] : i32
      tir.store %e, %O[%i, %c3] : i32
      tir.store %e, %O[%i, %c4] : i32
    }
  }
}

// CHECK-LABEL: tir.func @symbolic
// CHECK:         %[[N:.*]] = tir.shape_var "n"
// CHECK-NEXT:    %[[M:.*]] = tir.shape_var "m"
// CHECK-NOT:     tir.shape_var
// CHECK:         tir.for %[[I:.*]] =
// CHECK:           tir.writes
// CHECK-DAG:       %[[O:.*]] = tir.mul %{{.*}}, %{{.*}} : i32
// CHECK-DAG:       %[[S:.*]] = tir.const 1 : i32
// CHECK:           tir.store %[[O]]
// CHECK-NEXT:      tir.store %[[M]]
// CHECK-NEXT:      tir.store %[[S]]
// CHECK-NEXT:      tir.store %[[M]]
// CHECK-NEXT:      tir.store %[[M]]

// -----

// What is computed from a symbol before the view moves to it.
tir.func @early(%a: !tir.handle, %i: i32, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xi8>
  %c0 = tir.const 0 : i32
  %off = tir.shape_var "off" : i32
  %twice = tir.add %off, %off : i32
  %more = tir.add %twice, %n : i32
  tir.block {
    %V = tir.match_region %A[%i, %c0 to 8] offset %off : !tir.buffer<8xi8>
    tir.evaluate %more : i32
  }
}

// CHECK-LABEL: tir.func @early
// CHECK:         tir.block {
// CHECK:           %[[O:.*]] = tir.mul %i, %{{.*}} : i32
// CHECK-NEXT:      %[[T:.*]] = tir.add %[[O]], %[[O]] : i32
// CHECK-NEXT:      %[[R:.*]] = tir.add %[[T]], %n : i32
// CHECK-NEXT:      tir.evaluate %[[R]] : i32

// -----

// CASE: LowerMatchBuffer.7
tir.func @point(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "point"} {
  %A = tir.match_buffer %a : !tir.buffer<8x8xi32>
  %O = tir.match_buffer %o : !tir.buffer<8x8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %off = tir.shape_var "off" : i32
  tir.for %i = %c0 to %c8 {
    tir.for %j = %c0 to %c8 {
      tir.block {
        tir.reads
        tir.writes %A[%i, %j], %O[%i, %j]
        %V = tir.match_region "sub" %A[%i, %j] offset %off : !tir.buffer<i32>
        tir.store %c1, %V[] : i32
        tir.store %off, %O[%i, %j] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @point
// CHECK:         tir.for %[[I:.*]] =
// CHECK:           tir.for %[[J:.*]] =
// CHECK:             %[[X:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[O:.*]] = tir.add %[[X]], %[[J]]
// CHECK-NEXT:        tir.store %{{.*}}, %A[%[[I]], %[[J]]] : i32
// CHECK-NEXT:        tir.store %[[O]], %O[%[[I]], %[[J]]] : i32

// -----

// What a view may be used by: masked and vector accesses, addresses, reductions.
tir.func @vectors(%a: !tir.handle, %p: vector<2xi1>) -> vector<2xi32> attributes {global_symbol = "vectors"} {
  %A = tir.match_buffer %a : !tir.buffer<4x8xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c1 to %c1 + 2, %c2 to %c2 + 4] : !tir.buffer<2x4xi32>
    %v = tir.ramp %c0, %c2 : vector<2xi32>
    %x = tir.load %V[%c1, %v] : vector<2xi32>
    tir.store %x, %V[%c0, %v] if %p : vector<2xi32>
    %q = tir.address_of %V[%c1, %c1] : !tir.ptr<i32>
    %D = tir.decl_buffer %q : !tir.buffer<2xi32>
    %y = tir.load %D[%c0] : i32
    tir.store %y, %V[%c0, %c1] : i32
    %z = tir.load %V[%c0, %v] : vector<2xi32>
    tir.ret %z : vector<2xi32>
  }
}

// CHECK-LABEL: tir.func @vectors
// CHECK:         %[[R:.*]] = tir.ramp %c2, %c2 : vector<2xi32>
// CHECK-NEXT:    tir.load %A[%{{.*}}, %[[R]]] : vector<2xi32>
// CHECK:         tir.store %{{.*}}, %A[%{{.*}}, %{{.*}}] if %{{.*}} : vector<2xi32>
// CHECK:         tir.address_of %A[%{{.*}}, %{{.*}}]

// -----

tir.func @reduction(%r: !tir.handle) attributes {global_symbol = "reduction"} {
  %R = tir.match_buffer %r : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %sum = tir.reducer (%x : i32, %y : i32) identity [0 : i32] {
    %z = tir.add %x, %y : i32
    tir.yield %z : i32
  }
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    tir.block {
      %L = tir.alloc_buffer "L" : !tir.buffer<2xi32, "local">
      %V = tir.match_region %L[%c0] : !tir.buffer<i32, "local">
      tir.attr "reduce_scope" (%sum) = 0 : i32 {
        tir.thread_allreduce [%t] into [%V[]] over [%t]
      }
      %w = tir.load %V[] : i32
      tir.store %w, %R[%t] : i32
    }
  }
}

// CHECK-LABEL: tir.func @reduction
// CHECK:         tir.thread_allreduce [%[[T:.*]]] into [%L[%c0]] over [%[[T]]]
// CHECK:         tir.load %L[%c0] : i32

// -----

// With axis separators, the offset is 0.
tir.func @separated(%p: !tir.ptr<i8>, %i: i32) {
  %A = tir.decl_buffer %p {axis_separators = array<i64: 1>} : !tir.buffer<4x8xi8>
  %c0 = tir.const 0 : i32
  %off = tir.shape_var "off" : i32
  tir.block {
    %V = tir.match_region %A[%i, %c0 to 8] offset %off : !tir.buffer<8xi8>
    tir.evaluate %off : i32
  }
}

// CHECK-LABEL: tir.func @separated
// CHECK:         %[[O:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.evaluate %[[O]]

// -----

// CASE: LowerMatchBuffer.13
tir.func @nothing(%a: !tir.handle) attributes {global_symbol = "nothing"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c1 = tir.const 1 : i32
  tir.block "B" {
    tir.reads
    tir.writes %A[%c1]
    tir.store %c1, %A[%c1] : i32
  }
}

// CHECK-LABEL: tir.func @nothing
// CHECK:         %[[A:.*]] = tir.match_buffer
// CHECK-NEXT:    %[[ONE:.*]] = tir.const 1 : i32
// CHECK-NEXT:    tir.block "B" {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes %[[A]][%[[ONE]]]
// CHECK-NEXT:      tir.store %[[ONE]], %[[A]][%[[ONE]]] : i32
