// RUN: xdsl-opt %s -p 'tir-default-cpu-schedule{vector_bytes=16 parallel_grain=64}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-default-cpu-schedule{vector_bytes=16 parallel_grain=64 cache_bytes=64}' --split-input-file | filecheck %s --check-prefix STREAM
// RUN: xdsl-opt %s -p 'tir-default-cpu-schedule{vector_bytes=16 parallel_grain=64 reassociate=false fuse_multiply_add=false}' --split-input-file | filecheck %s --check-prefix ORDER

// A map: rows in parallel, columns in vectors, and what remains after them.

tir.func @rows(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "rows", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c19 = tir.const 19 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<8x19xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<19xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<8x19xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c8 {
      tir.for "j" %j = %c0 to %c19 {
        tir.block "map" (%vi : S "vi" in [%c0 to %c8] = %i, %vj : S "vj" in [%c0 to %c19] = %j) {
          tir.reads %A[%vi, %vj], %B[%vj]
          tir.writes %C[%vi, %vj]
          %0 = tir.load %A[%vi, %vj] : f32
          %1 = tir.load %B[%vj] : f32
          %2 = tir.add %0, %1 : f32
          tir.store %2, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @rows
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.t" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} + %{{[^ ]+}} {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Where all buffers are walked in order, all loops become one.

tir.func @flat(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "flat", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c5 = tir.const 5 : i32
  %c7 = tir.const 7 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<5x7x3xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<5x7x3xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c5 {
      tir.for "j" %j = %c0 to %c7 {
        tir.for "k" %k = %c0 to %c3 {
          tir.block "map" (%vi : S "vi" in [%c0 to %c5] = %i, %vj : S "vj" in [%c0 to %c7] = %j, %vk : S "vk" in [%c0 to %c3] = %k) {
            tir.reads %A[%vi, %vj, %vk]
            tir.writes %C[%vi, %vj, %vk]
            %0 = tir.load %A[%vi, %vj, %vk] : f32
            %1 = tir.load %A[%vi, %vj, %vk] : f32
            %2 = tir.mul %0, %1 : f32
            tir.store %2, %C[%vi, %vj, %vk] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @flat
// CHECK: tir.for "f.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}, {{.*}} : S "vk"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}, {{.*}} : S "vk"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// STREAM-LABEL: tir.func @flat
// STREAM: tir.for "f.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel annotations {nontemporal} {
// STREAM: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// STREAM: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}, {{.*}} : S "vk"{{.*}}) {
// STREAM: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// STREAM: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// STREAM: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}, {{.*}} : S "vk"{{.*}}) {
// STREAM: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// STREAM: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Few iterations stay on one thread, and short loops scalar.

tir.func @small(%A_handle: !tir.handle) attributes {global_symbol = "small", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %cst = tir.const 1.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<3xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c3 {
      tir.block "map" (%vi : S "vi" in [%c0 to %c3] = %i) {
        tir.reads %A[%vi]
        tir.writes %A[%vi]
        %0 = tir.load %A[%vi] : f32
        %1 = tir.add %0, %cst : f32
        tir.store %1, %A[%vi] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @small
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Transposed copies: tiles of a vector each way, and scalars at the edges.

tir.func @transposed(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "transposed", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c9 = tir.const 9 : i32
  %c10 = tir.const 10 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<10x9xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<9x10xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c9 {
      tir.for "j" %j = %c0 to %c10 {
        tir.block "t" (%vi : S "vi" in [%c0 to %c9] = %i, %vj : S "vj" in [%c0 to %c10] = %j) {
          tir.reads %A[%vj, %vi]
          tir.writes %C[%vi, %vj]
          %0 = tir.load %A[%vj, %vi] : f32
          tir.store %0, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @transposed
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "i.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.min
// CHECK: %[[A:[^ ]+]] = tir.load %{{[^ ]+}}[{{.*}}] : vector<4xf32>
// CHECK: %[[B:[^ ]+]] = tir.load %{{[^ ]+}}[{{.*}}] : vector<4xf32>
// CHECK: %[[C:[^ ]+]] = tir.load %{{[^ ]+}}[{{.*}}] : vector<4xf32>
// CHECK: %[[D:[^ ]+]] = tir.load %{{[^ ]+}}[{{.*}}] : vector<4xf32>
// CHECK: %[[E:[^ ]+]] = tir.shuffle [%[[A]], %[[C]]] [{{.*}}] : vector<4xf32>
// CHECK: tir.shuffle [%[[A]], %[[C]]] [{{.*}}] : vector<4xf32>
// CHECK: %[[F:[^ ]+]] = tir.shuffle [%[[B]], %[[D]]] [{{.*}}] : vector<4xf32>
// CHECK: tir.shuffle [%[[B]], %[[D]]] [{{.*}}] : vector<4xf32>
// CHECK: %[[G:[^ ]+]] = tir.shuffle [%[[E]], %[[F]]] [{{.*}}] : vector<4xf32>
// CHECK: tir.store %[[G]], %{{[^ ]+}}[{{.*}}] : vector<4xf32>
// CHECK: tir.for "j.t" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} + %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// STREAM-LABEL: tir.func @transposed
// STREAM: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel annotations {nontemporal} {
// STREAM: tir.for "i.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// STREAM: tir.for "j.t" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} + %{{[^ ]+}} {
// STREAM: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// STREAM: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Sums along rows: partial sums in lanes, which are combined by halves.

tir.func @row_sums(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "row_sums", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c37 = tir.const 37 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x37xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<4xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c4 {
      tir.for "j" %j = %c0 to %c37 {
        tir.block "sum" (%vi : S "vi" in [%c0 to %c4] = %i, %vj : R "vj" in [%c0 to %c37] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %C[%vi]
          tir.init {
            tir.store %cst, %C[%vi] : f32
          }
          %0 = tir.load %C[%vi] : f32
          %1 = tir.load %A[%vi, %vj] : f32
          %2 = tir.add %0, %1 : f32
          tir.store %2, %C[%vi] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @row_sums
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "partial" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "partial" : !tir.buffer<4xf32, "local">
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "sum" ({{.*}} : S "vi"{{.*}}, {{.*}} : R "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER-LABEL: tir.func @row_sums
// ORDER: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// ORDER: tir.load %result[{{.*}}] : f32
// ORDER: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Sums along columns: stretches of results, to which several rows are added.

tir.func @column_sums(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "column_sums", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c9 = tir.const 9 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<9x20xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<20xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c20 {
      tir.for "j" %j = %c0 to %c9 {
        tir.block "sum" (%vi : S "vi" in [%c0 to %c20] = %i, %vj : R "vj" in [%c0 to %c9] = %j) {
          tir.reads %A[%vj, %vi]
          tir.writes %C[%vi]
          tir.init {
            tir.store %cst, %C[%vi] : f32
          }
          %0 = tir.load %C[%vi] : f32
          %1 = tir.load %A[%vj, %vi] : f32
          %2 = tir.add %0, %1 : f32
          tir.store %2, %C[%vi] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @column_sums
// CHECK: tir.for "i.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Sums of wide signed integers might overflow in another order.

tir.func @integers(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "integers", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c37 = tir.const 37 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x37xi32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<4xi32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c4 {
      tir.for "j" %j = %c0 to %c37 {
        tir.block "sum" (%vi : S "vi" in [%c0 to %c4] = %i, %vj : R "vj" in [%c0 to %c37] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %C[%vi]
          tir.init {
            tir.store %c0, %C[%vi] : i32
          }
          %0 = tir.load %C[%vi] : i32
          %1 = tir.load %A[%vi, %vj] : i32
          %2 = tir.add %0, %1 : i32
          tir.store %2, %C[%vi] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @integers
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.store %{{[^ ]+}}, %C[{{.*}}] : i32
// CHECK: tir.block "result" {
// CHECK: %result = tir.alloc_buffer "result" : !tir.buffer<1xi32, "local">
// CHECK: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %result[{{.*}}] : i32
// CHECK: tir.store %{{[^ ]+}}, %C[{{.*}}] : i32

// -----

// Terms with steps between them: the last axis of the results is a loop of its own.

tir.func @pool(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "pool", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x3x18xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<4x3x8xf32>
  %low = tir.const 0xff800000 : f32
  tir.block "root" {
    tir.for "c" %c = %c0 to %c4 {
      tir.for "i" %i = %c0 to %c3 {
        tir.for "j" %j = %c0 to %c8 {
          tir.for "k" %k = %c0 to %c3 {
            tir.block "max" (%vc : S "vc" in [%c0 to %c4] = %c, %vi : S "vi" in [%c0 to %c3] = %i, %vj : S "vj" in [%c0 to %c8] = %j, %vk : R "vk" in [%c0 to %c3] = %k) {
              %0 = tir.mul %vj, %c2 : i32
              %1 = tir.add %0, %vk : i32
              tir.reads %A[%vc, %vi, %1]
              tir.writes %C[%vc, %vi, %vj]
              tir.init {
                tir.store %low, %C[%vc, %vi, %vj] : f32
              }
              %2 = tir.load %C[%vc, %vi, %vj] : f32
              %3 = tir.load %A[%vc, %vi, %1] : f32
              %4 = tir.max %2, %3 : f32
              tir.store %4, %C[%vc, %vi, %vj] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @pool
// CHECK: tir.for "c_i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "result" {
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.max

// -----

// Rows that nests share: one loop over them.

tir.func @softmax(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "softmax", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c17 = tir.const 17 : i32
  %cst = tir.const -1.000000e+03 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<6x17xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<6x17xf32>
  tir.block "root" {
    %most = tir.alloc_buffer "most" : !tir.buffer<6xf32>
    %powers = tir.alloc_buffer "powers" : !tir.buffer<6x17xf32>
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c6 {
      tir.for "j" %j = %c0 to %c17 {
        tir.block "most" (%vi : S "vi" in [%c0 to %c6] = %i, %vj : R "vj" in [%c0 to %c17] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %most[%vi]
          tir.init {
            tir.store %cst, %most[%vi] : f32
          }
          %0 = tir.load %most[%vi] : f32
          %1 = tir.load %A[%vi, %vj] : f32
          %2 = tir.max %0, %1 : f32
          tir.store %2, %most[%vi] : f32
        }
      }
    }
    tir.for "i" %i_1 = %c0 to %c6 {
      tir.for "j" %j_1 = %c0 to %c17 {
        tir.block "powers" (%vi_1 : S "vi" in [%c0 to %c6] = %i_1, %vj_1 : S "vj" in [%c0 to %c17] = %j_1) {
          tir.reads %A[%vi_1, %vj_1], %most[%vi_1]
          tir.writes %powers[%vi_1, %vj_1]
          %3 = tir.load %A[%vi_1, %vj_1] : f32
          %4 = tir.load %most[%vi_1] : f32
          %5 = tir.sub %3, %4 : f32
          tir.store %5, %powers[%vi_1, %vj_1] : f32
        }
      }
    }
    tir.for "i" %i_2 = %c0 to %c6 {
      tir.for "j" %j_2 = %c0 to %c17 {
        tir.block "product" (%vi_2 : S "vi" in [%c0 to %c6] = %i_2, %vj_2 : S "vj" in [%c0 to %c17] = %j_2) {
          tir.reads %powers[%vi_2, %vj_2], %most[%vi_2]
          tir.writes %C[%vi_2, %vj_2]
          %6 = tir.load %powers[%vi_2, %vj_2] : f32
          %7 = tir.load %most[%vi_2] : f32
          %8 = tir.mul %6, %7 : f32
          tir.store %8, %C[%vi_2, %vj_2] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @softmax
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "most" : !tir.buffer<6xf32>
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "powers" : !tir.buffer<6x17xf32>
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "partial" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "partial" : !tir.buffer<4xf32, "local">
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.max %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.max %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: %{{[^ ]+}} = tir.max %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: %{{[^ ]+}} = tir.max %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "most" ({{.*}} : S "vi"{{.*}}, {{.*}} : R "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.max %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.block "powers" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "powers" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.block "product" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "product" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Rows that are read in another order are no shared ones.

tir.func @reversed(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "reversed", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %cst = tir.const 1.000000e+00 : f32
  %c7 = tir.const 7 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<8x16xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<8x16xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<8x16xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c8 {
      tir.for "j" %j = %c0 to %c16 {
        tir.block "first" (%vi : S "vi" in [%c0 to %c8] = %i, %vj : S "vj" in [%c0 to %c16] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %B[%vi, %vj]
          %0 = tir.load %A[%vi, %vj] : f32
          %1 = tir.add %0, %cst : f32
          tir.store %1, %B[%vi, %vj] : f32
        }
      }
    }
    tir.for "i" %i_1 = %c0 to %c8 {
      tir.for "j" %j_1 = %c0 to %c16 {
        tir.block "second" (%vi_1 : S "vi" in [%c0 to %c8] = %i_1, %vj_1 : S "vj" in [%c0 to %c16] = %j_1) {
          %2 = tir.sub %c7, %vi_1 : i32
          tir.reads %B[%2, %vj_1]
          tir.writes %C[%vi_1, %vj_1]
          %3 = tir.sub %c7, %vi_1 : i32
          %4 = tir.load %B[%3, %vj_1] : f32
          tir.store %4, %C[%vi_1, %vj_1] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @reversed
// CHECK: tir.for "f.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.block "first" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.block "second" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Products of matrices: operands in the order of their use, tiles in registers. The last
// tile ends with the last row.

tir.func @matmul(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "matmul", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c17 = tir.const 17 : i32
  %c72 = tir.const 72 : i32
  %c12 = tir.const 12 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<17x12xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<12x72xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<17x72xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c17 {
      tir.for "j" %j = %c0 to %c72 {
        tir.for "k" %k = %c0 to %c12 {
          tir.block "matmul" (%vi : S "vi" in [%c0 to %c17] = %i, %vj : S "vj" in [%c0 to %c72] = %j, %vk : R "vk" in [%c0 to %c12] = %k) {
            tir.reads %A[%vi, %vk], %B[%vk, %vj]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %cst, %C[%vi, %vj] : f32
            }
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vi, %vk] : f32
            %2 = tir.load %B[%vk, %vj] : f32
            %3 = tir.mul %1, %2 : f32
            %4 = tir.add %0, %3 : f32
            tir.store %4, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @matmul
// CHECK: tir.block "contraction" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "rows" : !tir.buffer<3x96xf32>
// CHECK: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: %{{[^ ]+}} = tir.min %{{[^ ]+}}, %{{[^ ]+}} : i32
// CHECK: tir.for "row" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} annotations {unroll_count = 1 : i32} {
// CHECK: tir.for "k.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "panel" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.block "panel" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "columns" : !tir.buffer<12x8xf32>
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} annotations {unroll_count = 1 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "tile" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "sums" : !tir.buffer<6x8xf32, "local">
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.call "fma"(%{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}) : (f32, f32, f32) -> f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER-LABEL: tir.func @matmul
// ORDER: tir.block "contraction" {
// ORDER: %{{[^ ]+}} = tir.alloc_buffer "rows" : !tir.buffer<3x96xf32>
// ORDER: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// ORDER: %{{[^ ]+}} = tir.min %{{[^ ]+}}, %{{[^ ]+}} : i32
// ORDER: tir.for "row" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} annotations {unroll_count = 1 : i32} {
// ORDER: tir.for "k.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// ORDER: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER: tir.for "panel" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// ORDER: tir.block "panel" {
// ORDER: %{{[^ ]+}} = tir.alloc_buffer "columns" : !tir.buffer<12x8xf32>
// ORDER: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} annotations {unroll_count = 1 : i32} {
// ORDER: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// ORDER: tir.block "tile" {
// ORDER: %{{[^ ]+}} = tir.alloc_buffer "sums" : !tir.buffer<6x8xf32, "local">
// ORDER: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// ORDER: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// ORDER: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// ORDER: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// ORDER: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// ORDER: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// ORDER: %{{[^ ]+}} = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : f32
// ORDER: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// ORDER: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// ORDER: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// ORDER: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// ORDER: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// A vector by a matrix: threads share the terms, and the sums of their parts are added up.
// Where the order of terms is kept, they share the columns.

tir.func @vector_by_matrix(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "vector_by_matrix", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %cm = tir.const 1 : i32
  %cn = tir.const 200 : i32
  %ck = tir.const 256 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<1x256xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<256x200xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<1x200xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %cm {
      tir.for "j" %j = %c0 to %cn {
        tir.for "k" %k = %c0 to %ck {
          tir.block "C" (%vi : S "vi" in [%c0 to %cm] = %i, %vj : S "vj" in [%c0 to %cn] = %j, %vk : R "vk" in [%c0 to %ck] = %k) {
            tir.reads %A[%vi, %vk], %B[%vk, %vj]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %cst, %C[%vi, %vj] : f32
            }
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vi, %vk] : f32
            %2 = tir.load %B[%vk, %vj] : f32
            %3 = tir.mul %1, %2 : f32
            %4 = tir.add %0, %3 : f32
            tir.store %4, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @vector_by_matrix
// CHECK: %[[SUMS:.*]] = tir.alloc_buffer "sums" : !tir.buffer<8x204xf32>
// CHECK: tir.for "part" %[[P:.*]] = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %[[SUMS]][%[[P]], %{{[^ ]+}}] : f32
// CHECK: tir.for "k.o"
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK-COUNT-8: tir.load %B
// CHECK: tir.load %[[SUMS]][%[[P]], %{{[^ ]+}}] : f32
// CHECK-COUNT-8: tir.call "fma"
// CHECK: tir.store %{{[^ ]+}}, %[[SUMS]][%[[P]], %{{[^ ]+}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK-COUNT-8: tir.load %[[SUMS]]
// CHECK: tir.store %{{[^ ]+}}, %C
// ORDER-LABEL: tir.func @vector_by_matrix
// ORDER-NOT: "fma"
// ORDER: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {

// -----

// A few rows: what is read of the matrix is for all of them.

tir.func @few_rows(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "few_rows", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %cm = tir.const 3 : i32
  %cn = tir.const 72 : i32
  %ck = tir.const 12 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<3x12xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<12x72xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<3x72xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %cm {
      tir.for "j" %j = %c0 to %cn {
        tir.for "k" %k = %c0 to %ck {
          tir.block "C" (%vi : S "vi" in [%c0 to %cm] = %i, %vj : S "vj" in [%c0 to %cn] = %j, %vk : R "vk" in [%c0 to %ck] = %k) {
            tir.reads %A[%vi, %vk], %B[%vk, %vj]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %cst, %C[%vi, %vj] : f32
            }
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vi, %vk] : f32
            %2 = tir.load %B[%vk, %vj] : f32
            %3 = tir.mul %1, %2 : f32
            %4 = tir.add %0, %3 : f32
            tir.store %4, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @few_rows
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK-COUNT-8: tir.load %B
// CHECK: tir.load %C[%{{[^ ]+}}, %[[COLUMN:[^ ]+]]] : f32
// CHECK-COUNT-8: tir.load %A
// CHECK: tir.store %{{[^ ]+}}, %C[%{{[^ ]+}}, %[[COLUMN]]] : f32
// CHECK: tir.load %C[%{{[^ ]+}}, %[[COLUMN]]] : f32
// CHECK-COUNT-8: tir.load %A
// CHECK: tir.store %{{[^ ]+}}, %C[%{{[^ ]+}}, %[[COLUMN]]] : f32

// -----

// The matrix by its rows: the results of all rows and of several columns are gathered.

tir.func @few_rows_transposed(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "few_rows_transposed", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %cm = tir.const 2 : i32
  %cn = tir.const 72 : i32
  %ck = tir.const 30 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<2x30xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<72x30xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<2x72xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %cm {
      tir.for "j" %j = %c0 to %cn {
        tir.for "k" %k = %c0 to %ck {
          tir.block "C" (%vi : S "vi" in [%c0 to %cm] = %i, %vj : S "vj" in [%c0 to %cn] = %j, %vk : R "vk" in [%c0 to %ck] = %k) {
            tir.reads %A[%vi, %vk], %B[%vj, %vk]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %cst, %C[%vi, %vj] : f32
            }
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vi, %vk] : f32
            %2 = tir.load %B[%vj, %vk] : f32
            %3 = tir.mul %1, %2 : f32
            %4 = tir.add %0, %3 : f32
            tir.store %4, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @few_rows_transposed
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.block "gathered" {
// CHECK: %[[PARTIAL:.*]] = tir.alloc_buffer "partial" : !tir.buffer<2x4x4xf32, "local">
// CHECK: %[[GATHERED:.*]] = tir.alloc_buffer "gathered" : !tir.buffer<2x4x4xf32, "local">
// CHECK: tir.for "k.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "row" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "column" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.call "fma"
// CHECK: tir.store %{{[^ ]+}}, %[[PARTIAL]]
// CHECK: tir.store %{{[^ ]+}}, %[[GATHERED]]
// CHECK: tir.for "row" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "column" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %cst, %C
// CHECK: tir.block "result" {
// CHECK: tir.store %{{[^ ]+}}, %C
// CHECK: tir.for "k.t"
// ORDER-LABEL: tir.func @few_rows_transposed
// ORDER-NOT: "gathered"
// ORDER: tir.load %result

// -----

// A matrix in panels of as many columns as a tile has is read where it is.

tir.func @panels(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "panels", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %rows = tir.const 12 : i32
  %columns = tir.const 16 : i32
  %terms = tir.const 12 : i32
  %zero = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<12x12xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<2x12x8xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<12x16xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %rows {
      tir.for "j" %j = %c0 to %columns {
        tir.for "k" %k = %c0 to %terms {
          tir.block "matmul" (%vi : S "vi" in [%c0 to %rows] = %i, %vj : S "vj" in [%c0 to %columns] = %j, %vk : R "vk" in [%c0 to %terms] = %k) {
            %p = tir.floordiv %vj, %c8 : i32
            %l = tir.floormod %vj, %c8 : i32
            tir.reads %A[%vi, %vk], %B[%p, %vk, %l]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %zero, %C[%vi, %vj] : f32
            }
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vi, %vk] : f32
            %2 = tir.load %B[%p, %vk, %l] : f32
            %5 = tir.mul %1, %2 : f32
            %6 = tir.add %0, %5 : f32
            tir.store %6, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @panels
// CHECK: %[[ROWS:.*]] = tir.alloc_buffer "rows" : !tir.buffer<2x96xf32>
// CHECK: tir.for "panel" %[[P:.*]] = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK-NOT: tir.alloc_buffer "columns"
// CHECK: tir.for "k" %[[K:.*]] = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.load %[[ROWS]]
// CHECK: tir.load %B[%[[P]], %[[K]], %{{[^ ]+}}] : f32
// CHECK: tir.call "fma"

// -----

// Bytes: pairs of terms, whose products are added before they are added to the sum.

tir.func @bytes(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "bytes", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %rows = tir.const 12 : i32
  %columns = tir.const 16 : i32
  %terms = tir.const 10 : i32
  %zero = tir.const 0 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<12x10xi8>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<10x16xui8>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<12x16xi32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %rows {
      tir.for "j" %j = %c0 to %columns {
        tir.for "k" %k = %c0 to %terms {
          tir.block "matmul" (%vi : S "vi" in [%c0 to %rows] = %i, %vj : S "vj" in [%c0 to %columns] = %j, %vk : R "vk" in [%c0 to %terms] = %k) {
            tir.reads %A[%vi, %vk], %B[%vk, %vj]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %zero, %C[%vi, %vj] : i32
            }
            %0 = tir.load %C[%vi, %vj] : i32
            %1 = tir.load %A[%vi, %vk] : i8
            %2 = tir.load %B[%vk, %vj] : ui8
            %3 = tir.cast %1 : i8 to i32
            %4 = tir.cast %2 : ui8 to i32
            %5 = tir.mul %3, %4 : i32
            %6 = tir.add %0, %5 : i32
            tir.store %6, %C[%vi, %vj] : i32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @bytes
// CHECK: %[[ROWS:.*]] = tir.alloc_buffer "rows" : !tir.buffer<2x108xi16>
// CHECK: %[[COLUMNS:.*]] = tir.alloc_buffer "columns" : !tir.buffer<5x16xi16>
// CHECK: tir.shuffle [%{{.*}}, %{{.*}}] {{.*}} : vector<8xi16>
// CHECK: tir.for "k"
// CHECK: %[[PAIR:.*]] = tir.load %[[ROWS]][{{.*}}] : vector<2xi16>
// CHECK: %[[A:.*]] = tir.shuffle [%[[PAIR]]] {{.*}} : vector<8xi16>
// CHECK: %[[B:.*]] = tir.load %[[COLUMNS]][{{.*}}] : vector<8xi16>
// CHECK: %[[X:.*]] = tir.mul %{{[^ ]+}}, %{{[^ ]+}} : vector<8xi32>
// CHECK: tir.shuffle [%[[X]]] {{.*}} : vector<4xi32>
// CHECK: tir.shuffle [%[[X]]] {{.*}} : vector<4xi32>

// -----

// Where there are few panels of columns, the rows are read where they are, the last row
// in place of those after it.

tir.func @few_panels(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "few_panels", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c17 = tir.const 17 : i32
  %c12 = tir.const 12 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<17x12xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<12x16xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<17x16xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c17 {
      tir.for "j" %j = %c0 to %c16 {
        tir.for "k" %k = %c0 to %c12 {
          tir.block "matmul" (%vi : S "vi" in [%c0 to %c17] = %i, %vj : S "vj" in [%c0 to %c16] = %j, %vk : R "vk" in [%c0 to %c12] = %k) {
            tir.reads %A[%vi, %vk], %B[%vk, %vj]
            tir.writes %C[%vi, %vj]
            tir.init {
              tir.store %cst, %C[%vi, %vj] : f32
            }
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vi, %vk] : f32
            %2 = tir.load %B[%vk, %vj] : f32
            %3 = tir.mul %1, %2 : f32
            %4 = tir.add %0, %3 : f32
            tir.store %4, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @few_panels
// CHECK-NOT: tir.alloc_buffer "rows"
// CHECK: tir.for "panel"
// CHECK: tir.for "tile"
// CHECK: %[[LOW:.*]] = tir.min %{{[^ ]+}}, %{{[^ ]+}} : i32
// CHECK: tir.block "tile" {
// CHECK: tir.for "k" %[[K:.*]] = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: %[[ROW:.*]] = tir.add %[[LOW]], %{{[^ ]+}} : i32
// CHECK: tir.load %A[%[[ROW]], %[[K]]] : f32
// CHECK: tir.call "fma"

// -----

// The same without an init, on transposed operands, with edges.

tir.func @edges(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "edges", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c9 = tir.const 9 : i32
  %c11 = tir.const 11 : i32
  %c12 = tir.const 12 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<12x9xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<11x12xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<9x11xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c9 {
      tir.for "j" %j = %c0 to %c11 {
        tir.for "k" %k = %c0 to %c12 {
          tir.block "matmul" (%vi : S "vi" in [%c0 to %c9] = %i, %vj : S "vj" in [%c0 to %c11] = %j, %vk : R "vk" in [%c0 to %c12] = %k) {
            tir.reads %C[%vi, %vj], %A[%vk, %vi], %B[%vj, %vk]
            tir.writes %C[%vi, %vj]
            %0 = tir.load %C[%vi, %vj] : f32
            %1 = tir.load %A[%vk, %vi] : f32
            %2 = tir.load %B[%vj, %vk] : f32
            %3 = tir.mul %1, %2 : f32
            %4 = tir.add %0, %3 : f32
            tir.store %4, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @edges
// CHECK: tir.block "contraction" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "rows" : !tir.buffer<2x12x5xf32>
// CHECK: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "row" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "line" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "line" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} + %{{[^ ]+}} {
// CHECK: tir.for "term" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "panel" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.block "panel" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "columns" : !tir.buffer<12x8xf32>
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "column" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "line" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "line" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} + %{{[^ ]+}} {
// CHECK: tir.for "term" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "tile" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "sums" : !tir.buffer<5x8xf32, "local">
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "edge" : !tir.buffer<5x8xf32, "local">
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "c" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.call "fma"(%{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}) : (f32, f32, f32) -> f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "c" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Convolutions: the columns are the places of the window.

tir.func @conv(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "conv", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c9 = tir.const 9 : i32
  %c11 = tir.const 11 : i32
  %c3 = tir.const 3 : i32
  %cst = tir.const 0.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<3x11x10xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<11x3x3x3xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<11x9x8xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "f" %f = %c0 to %c11 {
      tir.for "i" %i = %c0 to %c9 {
        tir.for "j" %j = %c0 to %c8 {
          tir.for "c" %c = %c0 to %c3 {
            tir.for "p" %p = %c0 to %c3 {
              tir.for "q" %q = %c0 to %c3 {
                tir.block "conv" (%vf : S "vf" in [%c0 to %c11] = %f, %vi : S "vi" in [%c0 to %c9] = %i, %vj : S "vj" in [%c0 to %c8] = %j, %vc : R "vc" in [%c0 to %c3] = %c, %vp : R "vp" in [%c0 to %c3] = %p, %vq : R "vq" in [%c0 to %c3] = %q) {
                  %0 = tir.add %vi, %vp : i32
                  %1 = tir.add %vj, %vq : i32
                  tir.reads %A[%vc, %0, %1], %B[%vf, %vc, %vp, %vq]
                  tir.writes %C[%vf, %vi, %vj]
                  tir.init {
                    tir.store %cst, %C[%vf, %vi, %vj] : f32
                  }
                  %2 = tir.load %C[%vf, %vi, %vj] : f32
                  %3 = tir.add %vi, %vp : i32
                  %4 = tir.add %vj, %vq : i32
                  %5 = tir.load %A[%vc, %3, %4] : f32
                  %6 = tir.load %B[%vf, %vc, %vp, %vq] : f32
                  %7 = tir.mul %5, %6 : f32
                  %8 = tir.add %2, %7 : f32
                  tir.store %8, %C[%vf, %vi, %vj] : f32
                }
              }
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @conv
// CHECK: tir.block "contraction" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "rows" : !tir.buffer<2x27x6xf32>
// CHECK: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "row" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "c" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "p" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "q" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "panel" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.block "panel" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "columns" : !tir.buffer<27x8xf32>
// CHECK: tir.for "c" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} annotations {unroll_count = 1 : i32} {
// CHECK: tir.for "p" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "q" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "tile" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "tile" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "sums" : !tir.buffer<6x8xf32, "local">
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "k" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.call "fma"(%{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}) : (f32, f32, f32) -> f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "r" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "u" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} unrolled annotations {pragma_unroll_explicit = 0 : i32} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Extents that only the running program knows.

tir.func @symbolic(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "symbolic", param_names = ["a", "c"]} {
  %c0_i64 = tir.const 0 : i64
  %cst = tir.const 0.000000e+00 : f32
  %n = tir.shape_var "n" : i64
  %m = tir.shape_var "m" : i64
  %A = tir.match_buffer "A" %a [%n, %m] : !tir.buffer<?x?xf32>
  %C = tir.match_buffer "C" %c [%n] : !tir.buffer<?xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0_i64 to %n {
      tir.for "j" %j = %c0_i64 to %m {
        tir.block "sum" (%vi : S "vi" in [%c0_i64 to %n] = %i, %vj : R "vj" in [%c0_i64 to %m] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %C[%vi]
          tir.init {
            tir.store %cst, %C[%vi] : f32
          }
          %0 = tir.load %C[%vi] : f32
          %1 = tir.load %A[%vi, %vj] : f32
          %2 = tir.add %0, %1 : f32
          tir.store %2, %C[%vi] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @symbolic
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.if %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.block "partial" {
// CHECK: %{{[^ ]+}} = tir.alloc_buffer "partial" : !tir.buffer<16xf32, "local">
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.o" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32
// CHECK: tir.for "j.t" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} + %{{[^ ]+}} {
// CHECK: tir.block "sum" ({{.*}} : S "vi"{{.*}}, {{.*}} : R "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// Iterations that depend on each other, whatever their kinds say, stay as they are.

tir.func @recurrence(%A_handle: !tir.handle) attributes {global_symbol = "recurrence", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<9x16xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c8 {
      tir.for "j" %j = %c0 to %c16 {
        tir.block "next" (%vi : S "vi" in [%c0 to %c8] = %i, %vj : S "vj" in [%c0 to %c16] = %j) {
          %0 = tir.add %vi, %c1 : i32
          tir.reads %A[%c0 to %0, %vj]
          %1 = tir.add %vi, %c1 : i32
          tir.writes %A[%1, %vj]
          %2 = tir.load %A[%vi, %vj] : f32
          %3 = tir.load %A[%c0, %vj] : f32
          %4 = tir.add %2, %3 : f32
          %5 = tir.add %vi, %c1 : i32
          tir.store %4, %A[%5, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @recurrence
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "next" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// So do functions with a schedule of their own.

tir.func @scheduled(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "scheduled", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<64x64xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<64x64xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c64 parallel {
      tir.for "j" %j = %c0 to %c64 {
        tir.block "map" (%vi : S "vi" in [%c0 to %c64] = %i, %vj : S "vj" in [%c0 to %c64] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %C[%vi, %vj]
          %0 = tir.load %A[%vi, %vj] : f32
          tir.store %0, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @scheduled
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// So do functions that a scheduler has seen, and those for other devices.

tir.func @seen(%A_handle: !tir.handle) attributes {global_symbol = "seen", tir.is_scheduled = 1 : i32, param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c512 = tir.const 512 : i32
  %cst = tir.const 1.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<512xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c512 {
      tir.block "map" (%vi : S "vi" in [%c0 to %c512] = %i) {
        tir.reads %A[%vi]
        tir.writes %A[%vi]
        %0 = tir.load %A[%vi] : f32
        %1 = tir.add %0, %cst : f32
        tir.store %1, %A[%vi] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @seen
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}) {
// CHECK: %{{[^ ]+}} = tir.add %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// And blocks with predicates or annotations.

tir.func @guarded(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "guarded", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %c99 = tir.const 99 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<64x64xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<64x64xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c64 {
      tir.for "j" %j = %c0 to %c64 {
        %0 = tir.add %i, %j : i32
        %1 = tir.cmp lt %0, %c99 : i32
        tir.block "map" (%vi : S "vi" in [%c0 to %c64] = %i, %vj : S "vj" in [%c0 to %c64] = %j) where %1 {
          tir.reads %A[%vi, %vj]
          tir.writes %C[%vi, %vj]
          %2 = tir.load %A[%vi, %vj] : f32
          tir.store %2, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @guarded
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.block "map" ({{.*}} : S "vi"{{.*}}, {{.*}} : S "vj"{{.*}}) where %{{[^ ]+}} {
// CHECK: tir.store %{{[^ ]+}}, %{{[^ ]+}}[{{.*}}] : f32

// -----

// What is chosen by rows is so for vectors of columns, in a loop over each axis; what is
// chosen by columns has scalars.

tir.func @joined(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "joined", param_names = ["A_handle", "B_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<3x4x4xf32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<5x4x4xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<8x4x4xf32>
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for "i" %i = %c0 to %c8 {
      tir.for "j" %j = %c0 to %c4 {
        tir.for "k" %k = %c0 to %c4 {
          tir.block "map" (%vi : S "vi" in [%c0 to %c8] = %i, %vj : S "vj" in [%c0 to %c4] = %j, %vk : S "vk" in [%c0 to %c4] = %k) {
            tir.reads %A[%vi, %vj, %vk], %B[%vi, %vj, %vk]
            tir.writes %C[%vi, %vj, %vk]
            %0 = tir.cmp lt %vi, %c3 : i32
            %1 = tir.if_then_else %0 -> f32 {
              %2 = tir.load %A[%vi, %vj, %vk] : f32
              tir.yield %2 : f32
            } else {
              %3 = tir.sub %vi, %c3 : i32
              %4 = tir.load %B[%3, %vj, %vk] : f32
              tir.yield %4 : f32
            }
            tir.store %1, %C[%vi, %vj, %vk] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @joined
// CHECK: tir.for "i" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} parallel {
// CHECK: tir.for "j" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK: tir.for "v" %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} vectorized {

// -----

// A target that is no CPU.

tir.func @device(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<512xf32>
  %c0 = tir.const 0 : i32
  %c512 = tir.const 512 : i32
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %c512 {
    tir.block "map" (%vi : S in [%c0 to %c512] = %i) {
      tir.store %one, %A[%vi] : f32
    }
  }
}
// CHECK-LABEL: tir.func @device
// CHECK: tir.for %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} {
// CHECK-NEXT: tir.block "map"

// -----

// Padding along the last axis: a loop without a choice between the edges, in vectors.

tir.func @padded(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "padded", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c14 = tir.const 14 : i32
  %c16 = tir.const 16 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<3x14xf32>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<3x16xf32>
  tir.block "root" {
    tir.for "i" %i = %c0 to %c3 {
      tir.for "j" %j = %c0 to %c16 {
        tir.block "pad" (%vi : S "vi" in [%c0 to %c3] = %i, %vj : S "vj" in [%c0 to %c16] = %j) {
          %k = tir.sub %vj, %c1 : i32
          tir.reads %A[%vi, %k]
          tir.writes %C[%vi, %vj]
          %p = tir.cmp ge %k, %c0 : i32
          %q = tir.cmp lt %k, %c14 : i32
          %r = tir.and %p, %q : i1
          %y = tir.if_then_else %r -> f32 {
            %x = tir.load %A[%vi, %k] : f32
            tir.yield %x : f32
          } else {
            %zero = tir.const 0.0 : f32
            tir.yield %zero : f32
          }
          tir.store %y, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @padded
// CHECK: tir.for "i"
// CHECK-NEXT: tir.block "pad" ({{.*}}, %{{.*}} : S "vj" in {{.*}} = %[[ZERO:.*]]) {
// CHECK: tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK: tir.for "v" %{{.*}} vectorized {
// CHECK: tir.block "pad"
// CHECK: tir.for "v" %{{.*}} vectorized {
// CHECK: tir.block "pad"
// CHECK: tir.block "pad"

// -----

// Few channels last: one after the other, at each place of the image.

tir.func @narrow(%A_handle: !tir.handle, %C_handle: !tir.handle) attributes {global_symbol = "narrow", param_names = ["A_handle", "C_handle"]} {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<2x16xi8>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<16x2xi8>
  tir.block "root" {
    tir.for "i" %i = %c0 to %c16 {
      tir.for "j" %j = %c0 to %c2 {
        tir.block "turned" (%vi : S "vi" in [%c0 to %c16] = %i, %vj : S "vj" in [%c0 to %c2] = %j) {
          tir.reads %A[%vj, %vi]
          tir.writes %C[%vi, %vj]
          %x = tir.load %A[%vj, %vi] : i8
          tir.store %x, %C[%vi, %vj] : i8
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @narrow
// CHECK: tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT: tir.block "turned" ({{.*}} = %[[I]], {{.*}} = %{{.*}}) {
// CHECK-NOT: tir.for
// CHECK: tir.block "turned" ({{.*}} = %[[I]], {{.*}} = %{{.*}}) {

// -----

// A block that touches nothing has no vectors; one that uses a loop's variable stays.

// CHECK-LABEL: tir.func @nothing
// CHECK: tir.block "B"
// CHECK: tir.for %[[I:.*]] = %{{.*}} to %n {
// CHECK-NEXT: tir.block "own" (%v{{.*}} = %[[I]]) {
// CHECK-NEXT: tir.writes %A[%[[I]]]
tir.func @nothing(%a: !tir.handle, %n: i32) attributes {global_symbol = "nothing"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      tir.writes %A[%v]
    }
  }
  tir.for %i = %c0 to %n {
    tir.block "own" (%v : S in [%c0 to %n] = %i) {
      tir.writes %A[%i]
    }
  }
}

// -----

// Where nothing is summed, no init runs.

// CHECK-LABEL: tir.func @no_terms
// CHECK: tir.block "B"
// CHECK: tir.init
tir.func @no_terms(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "no_terms"} {
  %A = tir.match_buffer %a : !tir.buffer<4x0xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %k = %c0 to %c0 {
      tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vk : R in [%c0 to %c0] = %k) {
        tir.init {
          %zero = tir.const 0.0 : f32
          tir.store %zero, %B[%vi] : f32
        }
        %x = tir.load %A[%vi, %vk] : f32
        %y = tir.load %B[%vi] : f32
        %z = tir.add %y, %x : f32
        tir.store %z, %B[%vi] : f32
      }
    }
  }
}
