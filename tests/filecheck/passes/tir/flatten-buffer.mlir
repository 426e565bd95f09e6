// RUN: xdsl-opt %s -p tir-flatten-buffer --split-input-file | filecheck %s

// CASE: FlattenBuffer.1
tir.func @elementwise(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "elementwise"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.allocate "B" [1, 16] : !tir.ptr<f32>
    %B = tir.decl_buffer "B" %p : !tir.buffer<1x16xf32>
    tir.for %j = %c0 to %c16 {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %B[%c0, %j] : f32
    }
    tir.for %j = %c0 to %c16 {
      %x = tir.load %B[%c0, %j] : f32
      tir.store %x, %C[%i, %j] : f32
    }
  }
}

// CHECK-LABEL: tir.func @elementwise
// CHECK:         %[[A:.*]] = tir.match_buffer "A"
// CHECK-NEXT:    %[[C:.*]] = tir.match_buffer "C"
// CHECK-DAG:     %[[PA:.*]] = tir.data %[[A]] : !tir.ptr<f32>
// CHECK-DAG:     %[[FA:.*]] = tir.decl_buffer "A" %[[PA]] {implicit} : !tir.buffer<256xf32>
// CHECK-DAG:     %[[FC:.*]] = tir.decl_buffer "C" %{{.*}} {implicit} : !tir.buffer<256xf32>
// CHECK:         tir.for %[[I:.*]] =
// CHECK:           %[[P:.*]] = tir.allocate "B" [16] : !tir.ptr<f32>
// CHECK-NEXT:      %[[B:.*]] = tir.decl_buffer "B" %[[P]] {implicit} : !tir.buffer<16xf32>
// CHECK-NEXT:      tir.for %[[J:.*]] =
// CHECK-NEXT:        %[[X:.*]] = tir.mul %[[I]], %c16 : i32
// CHECK-NEXT:        %[[Y:.*]] = tir.add %[[X]], %[[J]] : i32
// CHECK-NEXT:        tir.load %[[FA]][%[[Y]]] : f32
// CHECK-NEXT:        tir.store %{{.*}}, %[[B]][%[[J]]] : f32
// CHECK:             tir.store %{{.*}}, %[[FC]][%{{.*}}] : f32

// -----

// CASE: FlattenBuffer.2
// No buffer has the shape of the allocation.
tir.func @plain_view(%c: !tir.handle) attributes {global_symbol = "plain_view"} {
  %C = tir.match_buffer "C" %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %one = tir.const 1.0 : f32
  %p = tir.allocate "B" [1, 16] : !tir.ptr<f32>
  %B = tir.decl_buffer "B" %p : !tir.buffer<16xf32>
  tir.for %j = %c0 to %c16 {
    tir.store %one, %B[%j] : f32
    %x = tir.load %B[%j] : f32
    tir.store %x, %C[%j] : f32
  }
}

// CHECK-LABEL: tir.func @plain_view
// CHECK:         %[[P:.*]] = tir.allocate "B" [16] : !tir.ptr<f32>
// CHECK-NEXT:    %[[B:.*]] = tir.decl_buffer "B" %[[P]] {implicit} : !tir.buffer<16xf32>
// CHECK-NEXT:    tir.for %[[J:.*]] =
// CHECK-NEXT:      tir.store %{{.*}}, %[[B]][%[[J]]]

// -----

// CASE: FlattenBuffer.3
tir.func @threads(%a: !tir.handle) attributes {global_symbol = "threads"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %one = tir.const 1.0 : f32
  tir.launch_thread %i0 = "blockIdx.x" to %c4 {
    tir.launch_thread %i1 = "threadIdx.x" to %c2 {
      tir.launch_thread %i2 = "vthread" to %c2 virtual {
        tir.for %j = %c0 to %c16 {
          %0 = tir.mul %i0, %c4 : i32
          %1 = tir.mul %i1, %c2 : i32
          %2 = tir.add %0, %1 : i32
          %3 = tir.add %2, %i2 : i32
          tir.store %one, %A[%3, %j] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @threads
// CHECK:         tir.launch_thread %[[I0:.*]] = "blockIdx.x"
// CHECK-NEXT:      tir.launch_thread %[[I1:.*]] = "threadIdx.x"
// CHECK-NEXT:        tir.launch_thread %[[I2:.*]] = "vthread"
// CHECK-NEXT:          tir.for %[[J:.*]] =
// CHECK-NEXT:            %[[N0:.*]] = tir.const 64 : i32
// CHECK-NEXT:            %[[X0:.*]] = tir.mul %[[I0]], %[[N0]] : i32
// CHECK-NEXT:            %[[N1:.*]] = tir.const 32 : i32
// CHECK-NEXT:            %[[X1:.*]] = tir.mul %[[I1]], %[[N1]] : i32
// CHECK-NEXT:            %[[S1:.*]] = tir.add %[[X0]], %[[X1]] : i32
// CHECK-NEXT:            %[[X2:.*]] = tir.mul %[[I2]], %c16 : i32
// CHECK-NEXT:            %[[S2:.*]] = tir.add %[[S1]], %[[X2]] : i32
// CHECK-NEXT:            %[[S3:.*]] = tir.add %[[S2]], %[[J]] : i32
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[S3]]] : f32

// -----

// CASE: FlattenBuffer.4
tir.func @symbolic(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "symbolic"} {
  %n = tir.shape_var "n" : i32
  %m = tir.shape_var "m" : i32
  %A = tir.match_buffer "A" %a [%n, %m] : !tir.buffer<?x?xf32>
  %C = tir.match_buffer "C" %c [%n, %m] : !tir.buffer<?x?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate "B" [%m] : !tir.ptr<f32>
    %B = tir.decl_buffer "B" %p [%m] : !tir.buffer<?xf32>
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

// CHECK-LABEL: tir.func @symbolic
// CHECK:         %[[A:.*]] = tir.match_buffer "A"
// CHECK-NEXT:    tir.match_buffer "C"
// CHECK:         %[[P:.*]] = tir.data %[[A]]
// CHECK-NEXT:    %[[E:.*]] = tir.mul %n, %m : i32
// CHECK-NEXT:    %[[F:.*]] = tir.decl_buffer "A" %[[P]] [%[[E]]] {implicit} : !tir.buffer<?xf32>
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      %{{.*}} = tir.allocate "B" [%m] : !tir.ptr<f32>
// CHECK-NEXT:      tir.decl_buffer "B" %{{.*}} [%m] {implicit} : !tir.buffer<?xf32>
// CHECK-NEXT:      tir.for %[[J:.*]] =
// CHECK-NEXT:        %[[X:.*]] = tir.mul %[[I]], %m : i32
// CHECK-NEXT:        %[[Y:.*]] = tir.add %[[X]], %[[J]] : i32
// CHECK-NEXT:        tir.load %[[F]][%[[Y]]] : f32

// -----

// CASE: FlattenBuffer.5
tir.func @fused(%a: !tir.handle) attributes {global_symbol = "fused"} {
  %n = tir.shape_var "n" size_var : i32
  %A = tir.match_buffer "A" %a [%n, %n] : !tir.buffer<32x?x?xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %one = tir.const 1.0 : f32
  %nn = tir.mul %n, %n : i32
  %all = tir.mul %nn, %c32 : i32
  tir.for %i = %c0 to %all {
    %0 = tir.floordiv %i, %nn : i32
    %1 = tir.floormod %i, %nn : i32
    %2 = tir.floordiv %1, %n : i32
    %3 = tir.floormod %i, %n : i32
    tir.store %one, %A[%0, %2, %3] : f32
  }
}

// CHECK-LABEL: tir.func @fused
// CHECK:         %[[F:.*]] = tir.decl_buffer "A" %{{.*}} [%{{.*}}] {implicit} : !tir.buffer<?xf32>
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      tir.store %{{.*}}, %[[F]][%[[I]]] : f32

// -----

// CASE: FlattenBuffer.6
tir.func @fused_threads(%a: !tir.handle) attributes {global_symbol = "fused_threads"} {
  %n = tir.shape_var "n" size_var : i32
  %A = tir.match_buffer "A" %a [%n, %n] : !tir.buffer<32x?x?xf32>
  %c32 = tir.const 32 : i32
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  %one = tir.const 1.0 : f32
  %nn = tir.mul %n, %n : i32
  %all = tir.mul %nn, %c32 : i32
  %more = tir.add %all, %c63 : i32
  %blocks = tir.floordiv %more, %c64 : i32
  tir.launch_thread %bx = "blockIdx.x" to %blocks {
    tir.launch_thread %tx = "threadIdx.x" to %c64 {
      %b64 = tir.mul %bx, %c64 : i32
      %i = tir.add %b64, %tx : i32
      %q = tir.cmp lt %i, %all : i32
      tir.if %q {
        %0 = tir.floordiv %i, %nn : i32
        %1 = tir.floormod %i, %nn : i32
        %2 = tir.floordiv %1, %n : i32
        %3 = tir.floormod %i, %n : i32
        tir.store %one, %A[%0, %2, %3] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @fused_threads
// CHECK:         %[[F:.*]] = tir.decl_buffer "A" %{{.*}} [%{{.*}}] {implicit} : !tir.buffer<?xf32>
// CHECK:         tir.launch_thread %[[B:.*]] = "blockIdx.x"
// CHECK:           tir.launch_thread %[[T:.*]] = "threadIdx.x"
// CHECK:             %[[M:.*]] = tir.mul %[[B]], %c64 : i32
// CHECK:             %[[S:.*]] = tir.add %[[M]], %[[T]] : i32
// CHECK:             tir.if
// CHECK-NEXT:          tir.store %{{.*}}, %[[F]][%[[S]]] : f32

// -----

// CASE: FlattenBuffer.7, FlattenBuffer.8
tir.func @allocations(%a: !tir.handle) attributes {global_symbol = "allocations"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %p = tir.allocate "B" [4, 17] : !tir.ptr<f32>
  %q = tir.allocate "C" [4, 16] : !tir.ptr<f32>
  %B = tir.decl_buffer "B" %p strides [17, 1] : !tir.buffer<4x16xf32>
  %C = tir.decl_buffer "C" %q : !tir.buffer<4x16xf32>
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c16 {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %B[%i, %j] : f32
      %y = tir.load %B[%i, %j] : f32
      tir.store %y, %C[%i, %j] : f32
      %z = tir.load %C[%i, %j] : f32
      tir.store %z, %A[%i, %j] : f32
    }
  }
}

// CHECK-LABEL: tir.func @allocations
// CHECK-DAG:     %[[P:.*]] = tir.allocate "B" [68] : !tir.ptr<f32>
// CHECK-DAG:     %[[Q:.*]] = tir.allocate "C" [64] : !tir.ptr<f32>
// CHECK-DAG:     %[[B:.*]] = tir.decl_buffer "B" %[[P]] {implicit} : !tir.buffer<68xf32>
// CHECK-DAG:     %[[C:.*]] = tir.decl_buffer "C" %[[Q]] {implicit} : !tir.buffer<64xf32>
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      tir.for %[[J:.*]] =
// CHECK:             %[[N:.*]] = tir.const 17 : i32
// CHECK-NEXT:        %[[X:.*]] = tir.mul %[[I]], %[[N]] : i32
// CHECK-NEXT:        %[[Y:.*]] = tir.add %[[X]], %[[J]] : i32
// CHECK-NEXT:        tir.store %{{.*}}, %[[B]][%[[Y]]] : f32
// CHECK-NEXT:        tir.load %[[B]][%[[Y]]] : f32

// -----

// CASE: FlattenBuffer.9
tir.func @bools(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "bools"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<10xi1>
  %B = tir.match_buffer "B" %b : !tir.buffer<10xi1>
  %c0 = tir.const 0 : i32
  %c10 = tir.const 10 : i32
  %p = tir.allocate "T" [2, 5] : !tir.ptr<i1>
  %T = tir.decl_buffer "T" %p : !tir.buffer<10xi1>
  tir.for %i = %c0 to %c10 {
    %x = tir.load %A[%i] : i1
    tir.store %x, %T[%i] : i1
    %y = tir.load %T[%i] : i1
    tir.store %y, %B[%i] : i1
  }
}

// CHECK-LABEL: tir.func @bools
// CHECK-DAG:     %[[A:.*]] = tir.decl_buffer "A" %{{.*}} {implicit} : !tir.buffer<10xi8>
// CHECK-DAG:     %[[B:.*]] = tir.decl_buffer "B" %{{.*}} {implicit} : !tir.buffer<10xi8>
// CHECK-DAG:     %[[P:.*]] = tir.allocate "T" [10] : !tir.ptr<i8>
// CHECK-DAG:     %[[T:.*]] = tir.decl_buffer "T" %[[P]] {implicit} : !tir.buffer<10xi8>
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      %[[X:.*]] = tir.load %[[A]][%[[I]]] : i8
// CHECK-NEXT:      %[[Y:.*]] = tir.cast %[[X]] : i8 to i1
// CHECK-NEXT:      %[[Z:.*]] = tir.cast %[[Y]] : i1 to i8
// CHECK-NEXT:      tir.store %[[Z]], %[[T]][%[[I]]] : i8

// -----

// CASE: FlattenBuffer.10, FlattenBuffer.15
tir.func @blocks(%a: !tir.handle) attributes {global_symbol = "blocks"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<32x32xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  tir.for %i = %c0 to %c8 {
    %i4 = tir.mul %i, %c4 : i32
    tir.block {
      tir.reads %A[%i4 to %i4 + 4, %c0 to 32]
      tir.writes %A[%i, %i4]
      %B = tir.alloc_buffer "B" : !tir.buffer<32x32xi32>
      %x = tir.load %A[%i4, %c0] : i32
      tir.store %x, %B[%i4, %i] : i32
      %y = tir.load %B[%i4, %i] : i32
      tir.store %y, %A[%i, %i4] : i32
    }
  }
}

// CHECK-LABEL: tir.func @blocks
// CHECK:         %[[A:.*]] = tir.decl_buffer "A" %{{.*}} {implicit} : !tir.buffer<1024xi32>
// CHECK:         tir.for %[[I:.*]] =
// CHECK:           tir.block {
// CHECK:             %[[L:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:        tir.reads %[[A]][%[[L]] to %[[L]] + 128]
// CHECK:             %[[N:.*]] = tir.const 36 : i32
// CHECK-NEXT:        %[[M:.*]] = tir.mul %[[I]], %[[N]] : i32
// CHECK-NEXT:        tir.writes %[[A]][%[[M]]]
// CHECK-NEXT:        %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1024xi32>
// CHECK-NEXT:        %[[X:.*]] = tir.load %[[A]][%[[L]]] : i32

// -----

// CASE: FlattenBuffer.11
tir.func @separated(%a: !tir.handle) attributes {global_symbol = "separated"} {
  %A = tir.match_buffer "A" %a {axis_separators = array<i64: 1>} : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.store %one, %A[%c0, %c0] : f32
}

// CHECK-LABEL: tir.func @separated
// CHECK:         %[[A:.*]] = tir.match_buffer "A" %{{.*}} {axis_separators = array<i64: 1>} : !tir.buffer<16x16xf32>
// CHECK-NEXT:    %[[C0:.*]] = tir.const 0
// CHECK-NEXT:    tir.const
// CHECK-NEXT:    tir.store %{{.*}}, %[[A]][%[[C0]], %[[C0]]] : f32

// -----

// CASE: FlattenBuffer.12, FlattenBuffer.13
tir.func @groups(%i0: i32, %i1: i32, %i2: i32, %i3: i32, %i4: i32, %i5: i32, %x: i32) {
  tir.block {
    %A = tir.alloc_buffer "A" {axis_separators = array<i64: 3>} : !tir.buffer<2x3x5x7x11x13xi32>
    tir.store %x, %A[%i0, %i1, %i2, %i3, %i4, %i5] : i32
  }
  %p = tir.allocate "B" [2, 3, 5, 7, 11, 13] : !tir.ptr<i32>
  %B = tir.decl_buffer "B" %p {axis_separators = array<i64: 3>} : !tir.buffer<2x3x5x7x11x13xi32>
  tir.store %x, %B[%i0, %i1, %i2, %i3, %i4, %i5] : i32
}

// CHECK-LABEL: tir.func @groups
// CHECK:         %[[A:.*]] = tir.alloc_buffer "A" {axis_separators = array<i64: 1>} : !tir.buffer<30x1001xi32>
// CHECK-DAG:     %[[N0:.*]] = tir.const 15 : i32
// CHECK-DAG:     tir.mul %i0, %[[N0]]
// CHECK-DAG:     %[[N1:.*]] = tir.const 5 : i32
// CHECK-DAG:     tir.mul %i1, %[[N1]]
// CHECK-DAG:     %[[X:.*]] = tir.add %{{.*}}, %i2 : i32
// CHECK-DAG:     %[[N3:.*]] = tir.const 143 : i32
// CHECK-DAG:     tir.mul %i3, %[[N3]]
// CHECK-DAG:     %[[N4:.*]] = tir.const 13 : i32
// CHECK-DAG:     tir.mul %i4, %[[N4]]
// CHECK-DAG:     %[[Y:.*]] = tir.add %{{.*}}, %i5 : i32
// CHECK:         tir.store %x, %[[A]][%[[X]], %[[Y]]] : i32
// CHECK:         %[[P:.*]] = tir.allocate "B" [30, 1001] : !tir.ptr<i32>
// CHECK-NEXT:    %[[B:.*]] = tir.decl_buffer "B" %[[P]] {axis_separators = array<i64: 1>, implicit} : !tir.buffer<30x1001xi32>
// CHECK:         tir.store %x, %[[B]][%{{.*}}, %{{.*}}] : i32

// -----

// CASE: FlattenBuffer.14
tir.func @offset(%a: !tir.handle) -> i32 attributes {global_symbol = "offset"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c7 = tir.const 7 : i32
  %p = tir.data %A : !tir.ptr<i32>
  %B = tir.decl_buffer "B" %p strides [4, 1] offset %c7 : !tir.buffer<2x2xi32>
  %D = tir.decl_buffer "D" %p offset %c2 : !tir.buffer<8xi32>
  %Z = tir.alloc_buffer "Z" : !tir.buffer<i32>
  %x = tir.load %B[%c1, %c1] : i32
  %y = tir.load %D[%c1] : i32
  %z = tir.add %x, %y : i32
  tir.store %z, %Z[] : i32
  %r = tir.load %Z[] : i32
  tir.ret %r : i32
}

// CHECK-LABEL: tir.func @offset
// CHECK-DAG:     %[[B:.*]] = tir.decl_buffer "B" %{{.*}} {implicit} : !tir.buffer<15xi32>
// CHECK-DAG:     %[[D:.*]] = tir.decl_buffer "D" %{{.*}} {implicit} : !tir.buffer<10xi32>
// CHECK-DAG:     %[[Z:.*]] = tir.alloc_buffer "Z" : !tir.buffer<1xi32>
// CHECK:         %[[N:.*]] = tir.const 12 : i32
// CHECK-NEXT:    tir.load %[[B]][%[[N]]] : i32
// CHECK-NEXT:    %[[M:.*]] = tir.const 3 : i32
// CHECK-NEXT:    tir.load %[[D]][%[[M]]] : i32
// CHECK:         tir.store %{{.*}}, %[[Z]][%{{.*}}] : i32

// -----

// What else uses buffers: vectors, predicates, addresses, pointers, narrow indices.
tir.func @uses(%a: !tir.handle, %b: !tir.handle, %i: i8) -> i32 attributes {global_symbol = "uses"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<100x4xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4x4xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c90 = tir.const 90 : i8
  %m = tir.add %i, %c90 : i8
  %v = tir.ramp %c0, %c1 : vector<4xi32>
  %x = tir.load %A[%m, %v] : vector<4xi32>
  %p = tir.load %B[%c1, %v] : vector<4xi1>
  tir.store %x, %A[%c3, %v] if %p : vector<4xi32>
  tir.store %p, %B[%c0, %v] : vector<4xi1>
  %q = tir.address_of %A[%c3, %c1] : !tir.ptr<i32>
  %D = tir.decl_buffer %q : !tir.buffer<2xi32>
  %y = tir.load %D[%c1] : i32
  %T = tir.alloc_buffer "T" : !tir.buffer<2x2xi1>
  %b1 = tir.load %B[%c1, %c1] : i1
  tir.store %b1, %T[%c1, %c1] : i1
  %t = tir.data %T : !tir.ptr<i1>
  %U = tir.decl_buffer "U" %t : !tir.buffer<4xi1>
  %u = tir.load %U[%c3] : i1
  %z = tir.select %u, %y, %c0 : i1, i32
  tir.ret %z : i32
}

// CHECK-LABEL: tir.func @uses
// CHECK:         %[[W:.*]] = tir.cast %{{.*}} : i8 to i32
// CHECK:         tir.load %{{.*}}[%{{.*}}] : vector<4xi32>
// CHECK:         tir.cast %{{.*}} : vector<4xi8> to vector<4xi1>
// CHECK:         tir.alloc_buffer "T" : !tir.buffer<4xi1>
// CHECK-NEXT:    tir.data
// CHECK-NEXT:    tir.decl_buffer "T" %{{.*}} {implicit} : !tir.buffer<4xi8>

// -----

// Strides that grow: the extent holds all elements.
tir.func @columns(%a: !tir.handle) attributes {global_symbol = "columns"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x8xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %p = tir.allocate "T" [32] : !tir.ptr<i32>
  %T = tir.decl_buffer "T" %p strides [1, 4] : !tir.buffer<4x8xi32>
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c8 {
      %x = tir.load %A[%i, %j] : i32
      tir.store %x, %T[%i, %j] : i32
      %y = tir.load %T[%i, %j] : i32
      tir.store %y, %A[%i, %j] : i32
    }
  }
}

// CHECK-LABEL: tir.func @columns
// CHECK:         %[[P:.*]] = tir.allocate "T" [32] : !tir.ptr<i32>
// CHECK-NEXT:    tir.decl_buffer "T" %[[P]] {implicit} : !tir.buffer<32xi32>

// -----

// A realized buffer stays, and is accessed through a flat one on its pointer.
tir.func @realized(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %O = tir.buffer_realize "O" bounds [%c0 to %c4, %c0 to %c4] : !tir.buffer<4x4xf32>
  tir.for %i = %c0 to %c4 {
    %x = tir.load %O[%i, %i] : f32
    tir.store %x, %A[%i, %i] : f32
  }
}

// CHECK-LABEL: tir.func @realized
// CHECK:         %[[R:.*]] = tir.buffer_realize "O"
// CHECK-NEXT:    %[[P:.*]] = tir.data %[[R]]
// CHECK-NEXT:    %[[O:.*]] = tir.decl_buffer "O" %[[P]] {implicit} : !tir.buffer<16xf32>
// CHECK:           tir.load %[[O]][%{{.*}}] : f32

// -----

// The pointer of a realized buffer stays its own.
tir.func @realized_pointer(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %zero = tir.const 0.0 : f32
  %O = tir.buffer_realize "O" bounds [%c0 to %c4, %c0 to %c4] : !tir.buffer<4x4xf32, "local">
  %p = tir.data %O : !tir.ptr<f32, "local">
  %P = tir.decl_buffer "P" %p : !tir.buffer<2x8xf32, "local">
  tir.for %i = %c0 to %c4 {
    tir.store %zero, %O[%i, %i] : f32
    %x = tir.load %P[%c0, %i] : f32
    tir.store %x, %A[%i] : f32
  }
}

// CHECK-LABEL: tir.func @realized_pointer
// CHECK:         %[[O:.*]] = tir.buffer_realize "O" bounds [%{{.*}}, %{{.*}}] : !tir.buffer<4x4xf32, "local">
// CHECK-NEXT:    %[[Q:.*]] = tir.data %[[O]] : !tir.ptr<f32, "local">
// CHECK-NEXT:    %[[FLAT:.*]] = tir.decl_buffer "O" %[[Q]] {implicit} : !tir.buffer<16xf32, "local">
// CHECK-NEXT:    %[[P:.*]] = tir.data %[[O]] : !tir.ptr<f32, "local">
// CHECK-NEXT:    %[[V:.*]] = tir.decl_buffer "P" %[[P]] {implicit} : !tir.buffer<16xf32, "local">
// CHECK-NEXT:    tir.for %[[I:.*]] =
// CHECK:           tir.store %{{.*}}, %[[FLAT]][%{{.*}}] : f32
// CHECK-NEXT:      tir.load %[[V]][%[[I]]] : f32
