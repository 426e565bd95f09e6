// RUN: xdsl-opt %s -p tir-lower-auto-copy --split-input-file | filecheck %s

// Two copies: 16 iterations of 8 by 32 threads that copy four elements each. The block in
// between is no copy.
// CASE: LowerAutoCopy.1
// CASE: LowerAutoCopy.10
tir.func @coalesced(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "coalesced"} {
  %A = tir.match_buffer %a : !tir.buffer<128x128xf32>
  %B = tir.match_buffer %b : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.block "root" annotations {warp_execution = 1 : i32} {
    %S = tir.alloc_buffer "S" : !tir.buffer<128x128xf32, "shared.dyn">
    tir.block "S" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
      tir.reads %A[%c0 to 128, %c0 to 128]
      tir.writes %S[%c0 to 128, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %S[%i, %j] : f32
        }
      }
    }
    tir.block "double" annotations {auto_copy = 0 : i32} {
      tir.reads %S[%c0 to 128, %c0 to 128]
      tir.writes %S[%c0 to 128, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %S[%i, %j] : f32
          %y = tir.add %x, %x : f32
          tir.store %y, %S[%i, %j] : f32
        }
      }
    }
    tir.block "B" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
      tir.reads %S[%c0 to 128, %c0 to 128]
      tir.writes %B[%c0 to 128, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %S[%i, %j] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
    }
  }
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.evaluate %ty : i32
  }
}

// CHECK-LABEL: tir.func @coalesced
// CHECK:       %[[S:.*]] = tir.alloc_buffer "S" strides [128, 1] : !tir.buffer<128x128xf32, "shared.dyn">
// CHECK-NEXT:  tir.block "S" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
// CHECK-NEXT:    tir.reads %A[
// CHECK-NEXT:    tir.writes %[[S]][
// CHECK-NEXT:    %[[Z:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:    tir.for %[[F0:.*]] = %[[Z]] to %[[C16]] {
// CHECK-NEXT:      %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:      tir.for %[[F1:.*]] = %[[Z]] to %[[C8]] thread_binding "threadIdx.y" {
// CHECK-NEXT:        %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:        tir.for %[[F2:.*]] = %[[Z]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:          %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:          tir.for %[[F3:.*]] = %[[Z]] to %[[C4]] vectorized {
// CHECK-NEXT:            %[[X1:.*]] = tir.mul %[[F0]], %[[C8]]
// CHECK-NEXT:            %[[X2:.*]] = tir.add %[[X1]], %[[F1]]
// CHECK-NEXT:            %[[X3:.*]] = tir.mul %[[X2]], %[[C32]]
// CHECK-NEXT:            %[[X4:.*]] = tir.add %[[X3]], %[[F2]]
// CHECK-NEXT:            %[[X5:.*]] = tir.mul %[[X4]], %[[C4]]
// CHECK-NEXT:            %[[F:.*]] = tir.add %[[X5]], %[[F3]]
// CHECK-NEXT:            %[[C128:.*]] = tir.const 128 : i32
// CHECK-NEXT:            %[[Q:.*]] = tir.floordiv %[[F]], %[[C128]]
// CHECK-NEXT:            %[[I:.*]] = tir.floormod %[[Q]], %[[C128]]
// CHECK-NEXT:            %[[J:.*]] = tir.floormod %[[F]], %[[C128]]
// CHECK-NEXT:            %[[X:.*]] = tir.load %A[%[[I]], %[[J]]] : f32
// CHECK-NEXT:            tir.store %[[X]], %[[S]][%[[I]], %[[J]]] : f32
// CHECK:       tir.block "double" annotations {auto_copy = 0 : i32} {
// CHECK-NEXT:    tir.reads
// CHECK-NEXT:    tir.writes
// CHECK-NEXT:    tir.for %[[I:.*]] = %c0 to %c128 {
// CHECK-NEXT:      tir.for %[[J:.*]] = %c0 to %c128 {
// CHECK-NEXT:        %[[X:.*]] = tir.load %[[S]][%[[I]], %[[J]]]
// CHECK-NEXT:        tir.add
// CHECK-NEXT:        tir.store
// CHECK:       tir.block "B"
// CHECK:         tir.for %{{.*}} {
// CHECK:           tir.for %{{.*}} thread_binding "threadIdx.y" {
// CHECK:             tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK:               tir.for %{{.*}} vectorized {

// -----

// The last copy goes in the order of its target; what it reads from shared memory is in
// columns, which are padded.
// CASE: LowerAutoCopy.2
tir.func @transposed(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "transposed"} {
  %A = tir.match_buffer %a : !tir.buffer<128x128xf32>
  %B = tir.match_buffer %b : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.block "root" annotations {warp_execution = 1 : i32} {
    %S = tir.alloc_buffer "S" : !tir.buffer<128x128xf32, "shared.dyn">
    tir.block "S" {
      tir.reads %A[%c0 to 128, %c0 to 128]
      tir.writes %S[%c0 to 128, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %S[%i, %j] : f32
        }
      }
    }
    tir.block "B" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
      tir.reads %S[%c0 to 128, %c0 to 128]
      tir.writes %B[%c0 to 128, %c0 to 128]
      tir.for %j = %c0 to %c128 {
        tir.for %i = %c0 to %c128 {
          %x = tir.load %S[%j, %i] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
    }
  }
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.evaluate %ty : i32
  }
}

// CHECK-LABEL: tir.func @transposed
// CHECK:       %[[S:.*]] = tir.alloc_buffer "S" strides [129, 1] : !tir.buffer<128x128xf32, "shared.dyn">
// CHECK:       tir.block "B"
// CHECK:               tir.for %[[F3:.*]] = {{.*}} vectorized {
// CHECK:                 %[[F:.*]] = tir.add %{{.*}}, %[[F3]]
// CHECK-NEXT:            %[[C128:.*]] = tir.const 128 : i32
// CHECK-NEXT:            %[[J:.*]] = tir.floormod %[[F]], %[[C128]]
// CHECK-NEXT:            %[[Q:.*]] = tir.floordiv %[[F]], %[[C128]]
// CHECK-NEXT:            %[[I:.*]] = tir.floormod %[[Q]], %[[C128]]
// CHECK-NEXT:            %[[X:.*]] = tir.load %[[S]][%[[J]], %[[I]]] : f32
// CHECK-NEXT:            tir.store %[[X]], %B[%[[I]], %[[J]]] : f32

// -----

// As before, but a vectorized loop reads rows: they keep their alignment.
tir.func @aligned(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "aligned"} {
  %A = tir.match_buffer %a : !tir.buffer<128x128xf32>
  %B = tir.match_buffer %b : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %c128 = tir.const 128 : i32
  tir.block "root" annotations {warp_execution = 1 : i32} {
    %S = tir.alloc_buffer "S" : !tir.buffer<128x128xf32, "shared.dyn">
    tir.for %i = %c0 to %c128 {
      tir.for %j = %c0 to %c32 {
        tir.for %k = %c0 to %c4 vectorized {
          %j4 = tir.mul %j, %c4 : i32
          %l = tir.add %j4, %k : i32
          %x = tir.load %A[%i, %l] : f32
          tir.store %x, %S[%i, %l] : f32
        }
      }
    }
    tir.block "B" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
      tir.reads %S[%c0 to 128, %c0 to 128]
      tir.writes %B[%c0 to 128, %c0 to 128]
      tir.for %j = %c0 to %c128 {
        tir.for %i = %c0 to %c128 {
          %x = tir.load %S[%j, %i] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
    }
  }
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.evaluate %ty : i32
  }
}

// CHECK-LABEL: tir.func @aligned
// CHECK:       tir.alloc_buffer "S" strides [132, 1]

// -----

// CASE: LowerAutoCopy.3
tir.func @registers(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "registers"} {
  %A = tir.match_buffer %a : !tir.buffer<128x128xf32>
  %B = tir.match_buffer %b : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.block "root" annotations {warp_execution = 1 : i32} {
    %S = tir.alloc_buffer "S" : !tir.buffer<128x128xf32, "shared.dyn">
    tir.block "S" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32, local_stage = 1 : i32} {
      tir.reads %A[%c0 to 128, %c0 to 128]
      tir.writes %S[%c0 to 128, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %S[%i, %j] : f32
        }
      }
    }
    tir.block "B" {
      tir.reads %S[%c0 to 128, %c0 to 128]
      tir.writes %B[%c0 to 128, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %S[%i, %j] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
    }
  }
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.evaluate %ty : i32
  }
}

// CHECK-LABEL: tir.func @registers
// CHECK:       tir.block "S" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32, local_stage = 1 : i32} {
// CHECK-NEXT:    %[[L:.*]] = tir.alloc_buffer "S_local" : !tir.buffer<16x4xf32, "local">
// CHECK:         tir.for %{{.*}} thread_binding "threadIdx.y" {
// CHECK:           tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK:             tir.for %[[F0:.*_cache]] = %{{.*}} to %{{.*}} {
// CHECK:               tir.for %[[F3:.*_cache]] = %{{.*}} vectorized {
// The element of the registers, as written: f0*8*32*4//128%128//8 and f3%128.
// CHECK:                 %[[X:.*]] = tir.load %A[%{{.*}}, %{{.*}}] : f32
// CHECK:                 %[[D:.*]] = tir.floordiv %{{.*}}, %{{.*}} : i32
// CHECK:                 %[[R:.*]] = tir.floordiv %{{.*}}, %{{.*}} : i32
// CHECK:                 %[[C:.*]] = tir.floormod %[[F3]], %{{.*}} : i32
// CHECK:                 tir.store %[[X]], %[[L]][%[[R]], %[[C]]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for %[[F0:.*]] = %{{.*}} {
// CHECK:               tir.for %[[F3:.*]] = %{{.*}} vectorized {
// CHECK:                 %[[X:.*]] = tir.load %[[L]][%{{.*}}, %{{.*}}] : f32
// CHECK:                 tir.store %[[X]], %S[%{{.*}}, %{{.*}}] : f32

// -----

// CASE: LowerAutoCopy.4
tir.func @load_fragments(%a: !tir.handle) attributes {global_symbol = "load_fragments"} {
  %A = tir.match_buffer %a : !tir.buffer<128x128xf16>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.block "root" annotations {warp_execution = 1 : i32} {
      %S = tir.alloc_buffer "S" : !tir.buffer<128x128xf16, "shared.dyn">
      %F = tir.alloc_buffer "F" : !tir.buffer<128x128xf16, "wmma.matrix_a">
      %G = tir.alloc_buffer "G" : !tir.buffer<128x128xf16, "wmma.matrix_b">
      tir.block "S" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
        tir.reads %A[%c0 to 128, %c0 to 128]
        tir.writes %S[%c0 to 128, %c0 to 128]
        tir.for %i = %c0 to %c128 {
          tir.for %j = %c0 to %c128 {
            %x = tir.load %A[%i, %j] : f16
            tir.store %x, %S[%i, %j] : f16
          }
        }
      }
      tir.block "F" annotations {auto_copy = 1 : i32} {
        tir.reads %S[%c0 to 128, %c0 to 128]
        tir.writes %F[%c0 to 128, %c0 to 128]
        tir.for %i = %c0 to %c128 {
          tir.for %j = %c0 to %c128 {
            %x = tir.load %S[%i, %j] : f16
            tir.store %x, %F[%i, %j] : f16
          }
        }
      }
      tir.block "G" annotations {auto_copy = 1 : i32} {
        tir.reads %S[%c0 to 128, %c0 to 128]
        tir.writes %G[%c0 to 128, %c0 to 128]
        tir.for %i = %c0 to %c128 {
          tir.for %j = %c0 to %c128 {
            %x = tir.load %S[%i, %j] : f16
            tir.store %x, %G[%i, %j] : f16
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @load_fragments
// CHECK:       %[[S:.*]] = tir.alloc_buffer "S" strides [136, 1]
// CHECK-NEXT:  %[[F:.*]] = tir.alloc_buffer "F" : !tir.buffer<128x128xf16, "wmma.matrix_a">
// CHECK:       tir.block "F" annotations {auto_copy = 1 : i32} {
// CHECK:         tir.for %[[I:.*]] = %{{.*}} {
// CHECK-NEXT:      tir.for %[[J:.*]] = %{{.*}} {
// CHECK-NEXT:        %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:        %[[R:.*]] = tir.mul %[[I]], %[[C16]]
// CHECK-NEXT:        %[[C:.*]] = tir.mul %[[J]], %[[C16]]
// CHECK-NEXT:        tir.block "wmma_load" {
// CHECK-NEXT:          tir.reads %[[S]][%[[R]] to %[[R]] + 16, %[[C]] to %[[C]] + 16]
// CHECK-NEXT:          tir.writes %[[F]][%[[R]] to %[[R]] + 16, %[[C]] to %[[C]] + 16]
// CHECK-NEXT:          %[[SO:.*]] = tir.shape_var "src_elem_offset" : i32
// CHECK-NEXT:          %[[SS:.*]] = tir.shape_var "s1" : i32
// CHECK-NEXT:          %[[S0:.*]] = tir.shape_var "s0" : i32
// CHECK-NEXT:          %[[SRC:.*]] = tir.match_region "src" %[[S]][%[[R]] to %[[R]] + 16, %[[C]] to %[[C]] + 16] strides [%[[SS]], %[[S0]]] offset %[[SO]] {data_alignment = 64 : i32, offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "shared.dyn">
// CHECK-NEXT:          %[[TO:.*]] = tir.shape_var "tgt_elem_offset" : i32
// CHECK-NEXT:          %[[TGT:.*]] = tir.match_region "tgt" %[[F]][%[[R]] to %[[R]] + 16, %[[C]] to %[[C]] + 16] offset %[[TO]] {data_alignment = 64 : i32, offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "wmma.matrix_a">
// CHECK:               %[[P:.*]] = tir.data %[[SRC]]
// CHECK:               %[[SIZE:.*]] = tir.mul %[[SS]], %[[C16]]
// CHECK:               %[[D:.*]] = tir.data %[[TGT]]
// CHECK-NEXT:          %[[C256:.*]] = tir.const 256 : i32
// CHECK-NEXT:          %[[X:.*]] = tir.floordiv %[[TO]], %[[C256]]
// CHECK-NEXT:          %[[Y:.*]] = tir.floormod %[[TO]], %[[C256]]
// CHECK-NEXT:          %[[Z:.*]] = tir.floordiv %[[Y]], %[[C16]]
// CHECK-NEXT:          %[[N:.*]] = tir.add %[[X]], %[[Z]]
// CHECK-NEXT:          %[[Q:.*]] = tir.access_ptr r %[[P]][%[[SO]] to %[[SO]] + %[[SIZE]]] : !tir.ptr<f16, "shared.dyn">
// CHECK-NEXT:          %[[O:.*]] = tir.string "row_major"
// CHECK-NEXT:          tir.call "tvm_load_matrix_sync"(%[[D]], %[[C16]], %[[C16]], %[[C16]], %[[N]], %[[Q]], %[[SS]], %[[O]])
// CHECK:       tir.block "G"
// CHECK:         tir.string "col_major"

// -----

// CASE: LowerAutoCopy.5
tir.func @store_fragments(%c: !tir.handle) attributes {global_symbol = "store_fragments"} {
  %C = tir.match_buffer %c : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.block "root" annotations {warp_execution = 1 : i32} {
      %F = tir.alloc_buffer "F" : !tir.buffer<128x128xf32, "wmma.accumulator">
      %S = tir.alloc_buffer "S" : !tir.buffer<128x128xf32, "shared.dyn">
      tir.block "S" annotations {auto_copy = 1 : i32} {
        tir.reads %F[%c0 to 128, %c0 to 128]
        tir.writes %S[%c0 to 128, %c0 to 128]
        tir.for %i = %c0 to %c128 {
          tir.for %j = %c0 to %c128 {
            %x = tir.load %F[%i, %j] : f32
            tir.store %x, %S[%i, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @store_fragments
// CHECK:       tir.alloc_buffer "S" strides [136, 1]
// CHECK:       tir.block "S"
// CHECK:         tir.for
// CHECK-NEXT:      tir.for
// CHECK:             tir.block "wmma_store" {
// CHECK-NEXT:          tir.reads %F[
// CHECK-NEXT:          tir.writes %S[
// CHECK:               tir.match_region "src" %F[{{.*}} : !tir.buffer<16x16xf32, "wmma.accumulator">
// CHECK:               tir.match_region "tgt" %S[{{.*}} strides [%{{.*}}, %{{.*}}] {{.*}} : !tir.buffer<16x16xf32, "shared.dyn">
// CHECK:               tir.access_ptr w
// CHECK:               tir.string "row_major"
// CHECK-NEXT:          tir.call "tvm_store_matrix_sync"

// -----

// CASE: LowerAutoCopy.6
tir.func @through_shared(%c: !tir.handle) attributes {global_symbol = "through_shared"} {
  %C = tir.match_buffer %c : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    %c16 = tir.const 16 : i32
    %first = tir.mul %ty, %c16 : i32
    tir.block "root" annotations {warp_execution = 1 : i32} {
      %F = tir.alloc_buffer "C_accum" : !tir.buffer<16x128xf32, "wmma.accumulator">
      tir.block "C" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
        tir.reads %F[%c0 to 16, %c0 to 128]
        tir.writes %C[%first to %first + 16, %c0 to 128]
        tir.for %i = %c0 to %c16 {
          tir.for %j = %c0 to %c128 {
            %r = tir.add %first, %i : i32
            %x = tir.load %F[%i, %j] : f32
            tir.store %x, %C[%r, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @through_shared
// CHECK:         %[[T:.*]] = tir.alloc_buffer "C_accum_shared.dyn" strides [2048, 256, 16, 1] : !tir.buffer<8x8x16x16xf32, "shared.dyn">
// CHECK:         tir.for
// CHECK:           tir.for %[[J:.*]] = {{.*}} {
// CHECK:             tir.block "wmma_store" {
// CHECK-NEXT:          tir.reads %F[
// CHECK-NEXT:          tir.writes %[[T]][%ty, %[[J]], %{{.*}} to 16, %{{.*}} to 16]
// CHECK:               tir.call "tvm_store_matrix_sync"
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:      tir.for %{{.*}} = %{{.*}} to %[[C16]] {
// CHECK:             tir.for %{{.*}} thread_binding "threadIdx.y" {
// CHECK:               tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK:                 tir.for %[[V:.*]] = %{{.*}} vectorized {
// CHECK:                   %[[F:.*]] = tir.add %{{.*}}, %[[V]]
// CHECK-NEXT:              %[[A:.*]] = tir.floordiv %[[F]], %[[C16]]
// CHECK-NEXT:              %[[B:.*]] = tir.floordiv %[[A]], %[[C16]]
// CHECK-NEXT:              %[[D:.*]] = tir.floordiv %[[B]], %[[C8:.*]]
// CHECK-NEXT:              %[[W:.*]] = tir.floormod %[[D]], %[[C8]]
// CHECK-NEXT:              %[[K:.*]] = tir.floormod %[[B]], %[[C8]]
// CHECK-NEXT:              %[[I:.*]] = tir.floormod %[[A]], %[[C16]]
// CHECK-NEXT:              %[[L:.*]] = tir.floormod %[[F]], %[[C16]]
// CHECK-NEXT:              %[[X:.*]] = tir.load %[[T]][%[[W]], %[[K]], %[[I]], %[[L]]] : f32
// CHECK:                   tir.store %[[X]], %C[%{{.*}}, %{{.*}}] : f32

// -----

// The sum is computed by the threads that store it, of which %first is another one.
// CASE: LowerAutoCopy.7
tir.func @fused_sum(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "fused_sum"} {
  %A = tir.match_buffer %a : !tir.buffer<128xf32>
  %C = tir.match_buffer %c : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    %c16 = tir.const 16 : i32
    %first = tir.mul %ty, %c16 : i32
    tir.block "root" annotations {warp_execution = 1 : i32} {
      %F = tir.alloc_buffer "C_accum" : !tir.buffer<16x128xf32, "wmma.accumulator">
      tir.block "C" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
        tir.reads %F[%c0 to 16, %c0 to 128], %A[%first to %first + 16]
        tir.writes %C[%first to %first + 16, %c0 to 128]
        tir.for %i = %c0 to %c16 {
          tir.for %j = %c0 to %c128 {
            %r = tir.add %first, %i : i32
            %x = tir.load %F[%i, %j] : f32
            %a1 = tir.load %A[%r] : f32
            %y = tir.add %x, %a1 : f32
            tir.store %y, %C[%r, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @fused_sum
// CHECK:         %[[T:.*]] = tir.alloc_buffer "C_accum_shared.dyn" strides [2048, 256, 16, 1] : !tir.buffer<8x8x16x16xf32, "shared.dyn">
// CHECK:         tir.for
// CHECK:           tir.for %[[J:.*]] = {{.*}} {
// CHECK:             tir.block "wmma_store" {
// CHECK-NEXT:          tir.reads %F[
// CHECK-NEXT:          tir.writes %[[T]][%ty, %[[J]], %{{.*}} to 16, %{{.*}} to 16]
// CHECK:               tir.call "tvm_store_matrix_sync"
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:      tir.for %{{.*}} = %{{.*}} to %[[C16]] {
// CHECK:             tir.for %{{.*}} thread_binding "threadIdx.y" {
// CHECK:               tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK:                 tir.for %[[V:.*]] = %{{.*}} vectorized {
// CHECK:                   %[[F:.*]] = tir.add %{{.*}}, %[[V]]
// CHECK-NEXT:              %[[A:.*]] = tir.floordiv %[[F]], %[[C16]]
// CHECK-NEXT:              %[[B:.*]] = tir.floordiv %[[A]], %[[C16]]
// CHECK-NEXT:              %[[D:.*]] = tir.floordiv %[[B]], %[[C8:.*]]
// CHECK-NEXT:              %[[W:.*]] = tir.floormod %[[D]], %[[C8]]
// CHECK-NEXT:              %[[K:.*]] = tir.floormod %[[B]], %[[C8]]
// CHECK-NEXT:              %[[I:.*]] = tir.floormod %[[A]], %[[C16]]
// CHECK-NEXT:              %[[L:.*]] = tir.floormod %[[F]], %[[C16]]
// CHECK-NEXT:              %[[X:.*]] = tir.load %[[T]][%[[W]], %[[K]], %[[I]], %[[L]]] : f32
// CHECK:                   %[[R:.*]] = tir.mul %[[W]], %{{.*}}
// CHECK:                   %[[A:.*]] = tir.load %A[%{{.*}}] : f32
// CHECK-NEXT:              %[[Y:.*]] = tir.add %[[X]], %[[A]] : f32
// CHECK:                   tir.store %[[Y]], %C[%{{.*}}, %{{.*}}] : f32

// -----

// CASE: LowerAutoCopy.8
tir.func @ptx_registers(%c: !tir.handle) attributes {global_symbol = "ptx_registers"} {
  %C = tir.match_buffer %c : !tir.buffer<64x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c128 = tir.const 128 : i32
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    %first = tir.mul %ty, %c8 : i32
    tir.block "root" annotations {warp_execution = 1 : i32} {
      %F = tir.alloc_buffer "F" : !tir.buffer<8x128xf32, "m16n8k8.matrixC">
      tir.block "C" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
        tir.reads %F[%c0 to 8, %c0 to 128]
        tir.writes %C[%first to %first + 8, %c0 to 128]
        tir.for %i = %c0 to %c8 {
          tir.for %j = %c0 to %c128 {
            %r = tir.add %first, %i : i32
            %x = tir.load %F[%i, %j] : f32
            tir.store %x, %C[%r, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @ptx_registers
// CHECK:         %[[T:.*]] = tir.alloc_buffer "F_shared.dyn" strides [1152, 72, 8, 1] : !tir.buffer<8x16x8x8xf32, "shared.dyn">
// CHECK:             tir.block "mma_store" {
// CHECK-NEXT:          tir.reads %F[
// CHECK-NEXT:          tir.writes %[[T]][
// CHECK:               %[[SRC:.*]] = tir.match_region "src" %F{{.*}} offset_factor = 8 : i32} : !tir.buffer<8x8xf32, "m16n8k8.matrixC">
// CHECK:               %[[TGT:.*]] = tir.match_region "tgt" %[[T]]{{.*}} offset_factor = 8 : i32} : !tir.buffer<8x8xf32, "shared.dyn">
// CHECK:               tir.launch_thread %[[X:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:                 tir.for %[[V:.*]] = %{{.*}} vectorized {
// CHECK-NEXT:              %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:              %[[R:.*]] = tir.floordiv %[[X]], %[[C4]]
// CHECK-NEXT:              %[[Q:.*]] = tir.floormod %[[X]], %[[C4]]
// CHECK:                   %[[P:.*]] = tir.mul %[[Q]], %{{.*}}
// CHECK-NEXT:              %[[C:.*]] = tir.add %[[P]], %[[V]]
// CHECK-NEXT:              %[[Y:.*]] = tir.load %[[SRC]][%[[R]], %[[C]]] : f32
// CHECK-NEXT:              tir.store %[[Y]], %[[TGT]][%[[R]], %[[C]]] : f32
// CHECK:             tir.for %{{.*}} thread_binding "threadIdx.y" {
// CHECK:               tir.load %[[T]]
// CHECK:               tir.store %{{.*}}, %C[

// -----

// No vector_bytes: each thread copies one element at a time.
// CASE: LowerAutoCopy.9
tir.func @scalars(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "scalars"} {
  %A = tir.match_buffer %a : !tir.buffer<128x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x128xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c128 = tir.const 128 : i32
  tir.block "root" annotations {warp_execution = 1 : i32} {
    %S = tir.alloc_buffer "S" : !tir.buffer<16x128xf32, "shared.dyn">
    tir.block "S" annotations {auto_copy = 1 : i32} {
      tir.reads %A[%c0 to 128, %c0 to 16]
      tir.writes %S[%c0 to 16, %c0 to 128]
      tir.for %i = %c0 to %c128 {
        tir.for %j = %c0 to %c16 {
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %S[%j, %i] : f32
        }
      }
    }
    tir.block "B" annotations {auto_copy = 1 : i32} {
      tir.reads %S[%c0 to 16, %c0 to 128]
      tir.writes %B[%c0 to 16, %c0 to 128]
      tir.for %i = %c0 to %c16 {
        tir.for %j = %c0 to %c128 {
          %x = tir.load %S[%i, %j] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
    }
  }
  tir.for %ty = %c0 to %c8 thread_binding "threadIdx.y" {
    tir.evaluate %ty : i32
  }
}

// CHECK-LABEL: tir.func @scalars
// CHECK:       tir.alloc_buffer "S" strides [130, 1] : !tir.buffer<16x128xf32, "shared.dyn">
// CHECK:       tir.block "S"
// CHECK:         %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:    tir.for %{{.*}} = %{{.*}} to %[[C1]] vectorized {

// -----

// 35 elements for 16 threads of 4 lanes; the loops start at 2 and 1.
// CASE: LowerAutoCopy.11
tir.func @guarded(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "guarded"} {
  %A = tir.match_buffer %a : !tir.buffer<7x6xf32>
  %B = tir.match_buffer %b : !tir.buffer<5x7xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c5 = tir.const 5 : i32
  %c7 = tir.const 7 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    %S = tir.alloc_buffer "S" : !tir.buffer<7x5xf32, "shared">
    tir.block "S" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32, local_stage = 1 : i32} {
      tir.reads %A[%c0 to 7, %c1 to %c1 + 5]
      tir.writes %S[%c0 to 7, %c0 to 5]
      tir.for %i = %c2 to %c2 + %c7 {
        tir.for %j = %c1 to %c1 + %c5 {
          %k = tir.sub %i, %c2 : i32
          %l = tir.sub %j, %c1 : i32
          %x = tir.load %A[%k, %j] : f32
          tir.store %x, %S[%k, %l] : f32
        }
      }
    }
    tir.block "B" annotations {auto_copy = 1 : i32, vector_bytes = 16 : i32} {
      tir.reads %S[%c0 to 7, %c0 to 5]
      tir.writes %B[%c0 to 5, %c0 to 7]
      tir.for %i = %c0 to %c7 {
        tir.for %j = %c0 to %c5 {
          %x = tir.load %S[%i, %j] : f32
          tir.store %x, %B[%j, %i] : f32
        }
      }
    }
  }
  tir.for %tx = %c0 to %c16 thread_binding "threadIdx.x" {
    tir.evaluate %tx : i32
  }
}

// CHECK-LABEL: tir.func @guarded
// CHECK:       tir.block "S"
// CHECK:         %[[L:.*]] = tir.alloc_buffer "S_local" : !tir.buffer<1x4xf32, "local">
// CHECK:         tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK:               tir.for %{{.*}} vectorized {
// CHECK:                 %[[C35:.*]] = tir.const 35 : i32
// CHECK-NEXT:            %[[G:.*]] = tir.cmp lt %{{.*}}, %[[C35]] : i32
// CHECK-NEXT:            tir.if %[[G]] {
// CHECK:                   tir.store %{{.*}}, %[[L]][
// CHECK:               tir.for %{{.*}} vectorized {
// CHECK:                 tir.if %{{.*}} {
// CHECK:                   tir.load %[[L]][
// CHECK:                   tir.store %{{.*}}, %S[
// CHECK:       tir.block "B"
// CHECK:               tir.for %{{.*}} vectorized {
// CHECK:                 tir.if %{{.*}} {
// CHECK:                   tir.load %S[
// CHECK:                   tir.store %{{.*}}, %B[

// -----

// There is no rule for a copy within shared memory, but what it accesses is padded; %U is
// not, since its address is taken.
// CASE: LowerAutoCopy.12
tir.func @no_rule(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "no_rule"} {
  %A = tir.match_buffer %a : !tir.buffer<32x32xf32>
  %B = tir.match_buffer %b : !tir.buffer<32x32xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  tir.block "root" {
    %S = tir.alloc_buffer "S" : !tir.buffer<32x32xf32, "shared">
    %U = tir.alloc_buffer "U" : !tir.buffer<32x32xf32, "shared">
    tir.for %i = %c0 to %c32 {
      tir.for %j = %c0 to %c32 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %U[%i, %j] : f32
      }
    }
    tir.block "S" annotations {auto_copy = 1 : i32} {
      tir.reads %U[%c0 to 32, %c0 to 32]
      tir.writes %S[%c0 to 32, %c0 to 32]
      tir.for %i = %c0 to %c32 thread_binding "threadIdx.x" {
        tir.for %j = %c0 to %c32 thread_binding "threadIdx.y" {
          %x = tir.load %U[%i, %j] : f32
          tir.store %x, %S[%i, %j] : f32
        }
      }
    }
    tir.for %i = %c0 to %c32 {
      tir.for %j = %c0 to %c32 {
        %x = tir.load %S[%j, %i] : f32
        tir.store %x, %B[%i, %j] : f32
      }
    }
    %p = tir.data %U : !tir.ptr<f32, "shared">
    tir.evaluate %p : !tir.ptr<f32, "shared">
  }
}

// CHECK-LABEL: tir.func @no_rule
// CHECK:         tir.alloc_buffer "S" strides [33, 1]
// CHECK-NEXT:    tir.alloc_buffer "U" : !tir.buffer<32x32xf32, "shared">
// CHECK:         tir.block "S" annotations {auto_copy = 1 : i32} {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      tir.for %[[I:.*]] = %c0 to %c32 thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.for %[[J:.*]] = %c0 to %c32 thread_binding "threadIdx.y" {
// CHECK-NEXT:          %[[X:.*]] = tir.load %U[%[[I]], %[[J]]]
// CHECK-NEXT:          tir.store %[[X]], %S[%[[I]], %[[J]]]

// -----

// Threads of one %ty copy what others do not: they are spread over threadIdx.x only.
tir.func @of_a_warp(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "of_a_warp"} {
  %A = tir.match_buffer %a : !tir.buffer<4x64xf32>
  %B = tir.match_buffer %b : !tir.buffer<4x64xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.for %ty = %c0 to %c4 thread_binding "threadIdx.y" {
    tir.block "root" annotations {warp_execution = 1 : i32} {
      %S = tir.alloc_buffer "S" : !tir.buffer<4x64xf32, "shared">
      tir.block "S" annotations {auto_copy = 1 : i32} {
        tir.reads %A[%ty, %c0 to 64]
        tir.writes %S[%ty, %c0 to 64]
        tir.for %j = %c0 to %c64 {
          %x = tir.load %A[%ty, %j] : f32
          tir.store %x, %S[%ty, %j] : f32
        }
      }
      %shared = tir.string "shared"
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      tir.block "B" annotations {auto_copy = 1 : i32} {
        tir.reads %S[%ty, %c0 to 64]
        tir.writes %B[%ty, %c0 to 64]
        tir.for %j = %c0 to %c64 {
          %x = tir.load %S[%ty, %j] : f32
          tir.store %x, %B[%ty, %j] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @of_a_warp
// CHECK:         tir.block "S"
// CHECK:           %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:      tir.for %{{.*}} = %{{.*}} to %[[C2]] {
// CHECK-NEXT:        %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:        tir.for %{{.*}} = %{{.*}} to %[[C32]] thread_binding "threadIdx.x" {
// CHECK:               tir.for %{{.*}} vectorized {
// CHECK:                 tir.load %A[%ty,
// CHECK:                 tir.store %{{.*}}, %S[%ty,
