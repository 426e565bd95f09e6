// RUN: xdsl-opt %s -p tir-plan-and-update-buffer-allocation-location --split-input-file | filecheck %s

// CASE: PlanAndUpdateBufferAllocationLocation.1
// All accesses are under `%i`: its body becomes a block that allocates the buffer and
// declares what else it accesses. The root block forgets the buffer.
// CHECK-LABEL: tir.func @elementwise
// CHECK:         tir.block "root" {
// CHECK-NEXT:      tir.reads %A[
// CHECK-NEXT:      tir.writes %C[
// CHECK-NEXT:      tir.for %i =
// CHECK-NEXT:        tir.block {
// CHECK-NEXT:          [[ZERO:%\w+]] = tir.const 0 : i32
// CHECK-NEXT:          tir.reads %A[%i, [[ZERO]] to 16]
// CHECK-NEXT:          tir.writes %C[%i, [[ZERO]] to 16]
// CHECK-NEXT:          %B = tir.alloc_buffer "B" : !tir.buffer<16x16xi32>
// CHECK-NEXT:          tir.for %j =
// CHECK-NEXT:            tir.block "B" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c16] = %j) {
// CHECK-NEXT:              tir.reads %A[%vi, %vj]
// CHECK-NEXT:              tir.writes %B[%vi, %vj]
tir.func @elementwise(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "elementwise", tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xi32>
  %C = tir.match_buffer %c : !tir.buffer<16x16xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    %B = tir.alloc_buffer "B" : !tir.buffer<16x16xi32>
    tir.reads %A[%c0 to %c16, %c0 to %c16], %B[%c0 to %c16, %c0 to %c16]
    tir.writes %B[%c0 to %c16, %c0 to %c16], %C[%c0 to %c16, %c0 to %c16]
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        tir.block "B" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c16] = %j) {
          tir.reads %A[%vi, %vj]
          tir.writes %B[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : i32
          %y = tir.mul %x, %c2 : i32
          tir.store %y, %B[%vi, %vj] : i32
        }
      }
      tir.for %k = %c0 to %c16 {
        tir.block "C" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c16] = %k) {
          tir.reads %B[%vi, %vj]
          tir.writes %C[%vi, %vj]
          %x = tir.load %B[%vi, %vj] : i32
          tir.store %x, %C[%vi, %vj] : i32
        }
      }
    }
  }
}

// -----

// Iteration `%i` reads what the one before it wrote, though the variables are spatial:
// the buffer stays around the loop, where TVM loses the value.
// CHECK-LABEL: tir.func @carried
// CHECK:         tir.block "root" {
// CHECK:           %B = tir.alloc_buffer
// CHECK-NEXT:      tir.for %i =
// CHECK-NEXT:        tir.block "B"
tir.func @carried(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "carried", tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %C = tir.match_buffer %c : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    tir.reads
    tir.writes
    %B = tir.alloc_buffer "B" : !tir.buffer<16xi32>
    tir.for %i = %c0 to %c16 {
      tir.block "B" (%vi : S in [%c0 to %c16] = %i) {
        tir.reads %A[%vi]
        tir.writes %B[%vi]
        %x = tir.load %A[%vi] : i32
        tir.store %x, %B[%vi] : i32
      }
      tir.block "C" (%vi : S in [%c0 to %c16] = %i) {
        tir.reads %B[%c0 to %c16]
        tir.writes %C[%vi]
        %before = tir.sub %vi, %c1 : i32
        %at = tir.max %before, %c0 : i32
        %x = tir.load %B[%at] : i32
        tir.store %x, %C[%vi] : i32
      }
    }
  }
}

// -----

// The tile is ragged and the stencil reads beyond it: each read is shown to be of what
// this iteration of `%io` wrote, so nothing is carried. Symbolic extents go along.
// CHECK-LABEL: tir.func @ragged
// CHECK:         tir.block "root" {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      tir.for %io =
// CHECK-NEXT:        tir.block {
// CHECK:             tir.reads %A[
// CHECK-NEXT:        tir.writes %C[
// CHECK-NEXT:        %B = tir.alloc_buffer "B" [%n] : !tir.buffer<?xi32>
// CHECK-NEXT:        %start = tir.mul %io, %c8
tir.func @ragged(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "ragged", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xi32>
  %C = tir.match_buffer %c [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  %c9 = tir.const 9 : i32
  %up = tir.add %n, %c7 : i32
  %tiles = tir.floordiv %up, %c8 : i32
  %last = tir.sub %n, %c1 : i32
  tir.block "root" {
    tir.reads
    tir.writes
    %B = tir.alloc_buffer "B" [%n] : !tir.buffer<?xi32>
    tir.for %io = %c0 to %tiles {
      %start = tir.mul %io, %c8 : i32
      tir.for %j = %c0 to %c9 {
        %b = tir.add %start, %j : i32
        %p = tir.cmp lt %b, %n : i32
        tir.block "B" (%vi : S in [%c0 to %n] = %b) where %p {
          tir.reads %A[%vi]
          tir.writes %B[%vi]
          %x = tir.load %A[%vi] : i32
          tir.store %x, %B[%vi] : i32
        }
      }
      tir.for %j = %c0 to %c8 {
        %i = tir.add %start, %j : i32
        %p = tir.cmp lt %i, %last : i32
        tir.block "C" (%vi : S in [%c0 to %n] = %i) where %p {
          tir.reads %B[%vi to %vi + 2]
          tir.writes %C[%vi]
          %next = tir.add %vi, %c1 : i32
          %x = tir.load %B[%vi] : i32
          %y = tir.load %B[%next] : i32
          %z = tir.add %x, %y : i32
          tir.store %z, %C[%vi] : i32
        }
      }
    }
  }
}

// -----

// CASE: PlanAndUpdateBufferAllocationLocation.4
// A call fills the cache, and only its pointer is seen. The block with all accesses says
// that its instances are independent. A pointer that was taken further out comes along,
// and the order of what the block declares and allocates stays.
// CHECK-LABEL: tir.func @opaque_access
// CHECK:         tir.block "root" {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      tir.for %i =
// CHECK-NEXT:        tir.block "tile" (%vi : S in [%c0 to %c4] = %i) {
// CHECK-NEXT:          %0 = tir.mul %vi, %c128
// CHECK-NEXT:          tir.reads %A[%0 to %0 + 128]
// CHECK-NEXT:          tir.writes %B[%0 to %0 + 128]
// CHECK-NEXT:          %cache = tir.alloc_buffer "cache" : !tir.buffer<128xi32>
// CHECK-NEXT:          %p = tir.data %cache
// CHECK-NEXT:          %own = tir.alloc_buffer "own"
// CHECK-NEXT:          tir.block "fill" {
// CHECK-NEXT:            tir.reads %A[%0 to %0 + 128]
// CHECK-NEXT:            tir.writes %cache[%c0 to %c128]
tir.func @opaque_access(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<512xi32>
  %B = tir.match_buffer %b : !tir.buffer<512xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c128 = tir.const 128 : i32
  %fill = tir.string "fill"
  tir.block "root" {
    tir.reads
    tir.writes
    %cache = tir.alloc_buffer "cache" : !tir.buffer<128xi32>
    %p = tir.data %cache : !tir.ptr<i32>
    tir.for %i = %c0 to %c4 {
      tir.block "tile" (%vi : S in [%c0 to %c4] = %i) {
        %0 = tir.mul %vi, %c128 : i32
        tir.reads %A[%0 to %0 + 128], %cache[%c0 to %c128]
        tir.writes %B[%0 to %0 + 128], %cache[%c0 to %c128]
        %own = tir.alloc_buffer "own" : !tir.buffer<1xi32>
        tir.block "fill" {
          tir.reads %A[%0 to %0 + 128]
          tir.writes %cache[%c0 to %c128]
          %q = tir.data %A : !tir.ptr<i32>
          %r = tir.call "call_extern"(%fill, %p, %q, %0) : (!tir.handle, !tir.ptr<i32>, !tir.ptr<i32>, i32) -> i32
          tir.store %r, %own[%c0] : i32
        }
        tir.for %j = %c0 to %c128 {
          %at = tir.add %0, %j : i32
          tir.block "use" (%vj : S in [%c0 to %c128] = %j) {
            tir.reads %cache[%vj]
            tir.writes %B[%0]
            %x = tir.load %cache[%vj] : i32
            tir.store %x, %B[%0] : i32
          }
        }
        %status = tir.load %own[%c0] : i32
        tir.store %status, %B[%0] : i32
      }
    }
  }
}

// -----

// CASE: PlanAndUpdateBufferAllocationLocation.10
// Two loops under a serial one share a buffer. In global memory it is just inside of the
// loop over blocks, in shared memory further in.
// CHECK-LABEL: tir.func @blocks
// CHECK:         tir.for %bx =
// CHECK-NEXT:      tir.block {
// CHECK:             tir.writes %C[%bx
// CHECK-NEXT:        %G = tir.alloc_buffer "G" : !tir.buffer<4x4x4xi32>
// CHECK-NEXT:        tir.for %s =
// CHECK-NEXT:          tir.block {
// CHECK:                 tir.reads %A[%bx, %s
// CHECK-NEXT:            tir.writes %G[%bx, %s, {{%\w+}} to 4], %C[%bx, %s, {{%\w+}} to 4]
// CHECK-NEXT:            %S = tir.alloc_buffer "S"
tir.func @blocks(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "blocks", tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<4x4x4xi32>
  %C = tir.match_buffer %c : !tir.buffer<4x4x4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "root" {
    tir.reads
    tir.writes
    %G = tir.alloc_buffer "G" : !tir.buffer<4x4x4xi32>
    %S = tir.alloc_buffer "S" : !tir.buffer<4x4xi32, "shared">
    tir.for %bx = %c0 to %c4 thread_binding "blockIdx.x" {
      tir.for %s = %c0 to %c4 {
        tir.for %i = %c0 to %c4 {
          %x = tir.load %A[%bx, %s, %i] : i32
          tir.store %x, %G[%bx, %s, %i] : i32
          tir.store %x, %S[%s, %i] : i32
        }
        tir.for %i = %c0 to %c4 {
          %x = tir.load %G[%bx, %s, %i] : i32
          %y = tir.load %S[%s, %i] : i32
          %z = tir.add %x, %y : i32
          tir.store %z, %C[%bx, %s, %i] : i32
        }
      }
    }
  }
}

// -----

// CASE: PlanAndUpdateBufferAllocationLocation.11
// What nothing accesses goes, with its pointer, its extents and its declared regions; an
// allocation outside of all blocks stays if its accesses are there too, or moves.
// CHECK-LABEL: tir.func @unused
// CHECK-NEXT:    %A = tir.match_buffer
// CHECK-NEXT:    %c0 = tir.const 0 : i32
// CHECK-NEXT:    %c4 = tir.const 4 : i32
// CHECK-NEXT:    %T = tir.alloc_buffer "T"
// CHECK-NEXT:    tir.store %c4, %T[%c0] : i32
// CHECK-NEXT:    tir.for %i = %c0 to %c4 {
// CHECK-NEXT:      tir.block {
// CHECK-NEXT:        [[ZERO:%\w+]] = tir.const 0 : i32
// CHECK-NEXT:        tir.reads %T[[[ZERO]]]
// CHECK-NEXT:        tir.writes %A[%i]
// CHECK-NEXT:        %L = tir.alloc_buffer "L"
// CHECK-NEXT:        tir.block "use" {
// CHECK-NEXT:          tir.reads
// CHECK-NEXT:          tir.writes
// CHECK-NEXT:          tir.store %i, %L[%c0] : i32
tir.func @unused(%a: !tir.handle) attributes {global_symbol = "unused"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %size = tir.add %c4, %c4 : i32
  %U = tir.alloc_buffer "U" [%size] : !tir.buffer<?xi32>
  %p = tir.data %U : !tir.ptr<i32>
  %T = tir.alloc_buffer "T" : !tir.buffer<1xi32>
  %L = tir.alloc_buffer "L" : !tir.buffer<1xi32, "local">
  tir.store %c4, %T[%c0] : i32
  tir.for %i = %c0 to %c4 {
    tir.block "use" {
      tir.reads %U[%c0]
      tir.writes
      tir.store %i, %L[%c0] : i32
    }
    %x = tir.load %L[%c0] : i32
    %y = tir.load %T[%c0] : i32
    %z = tir.add %x, %y : i32
    tir.store %z, %A[%i] : i32
  }
}

// -----

// CASE: PlanAndUpdateBufferAllocationLocation.8
// Views of pointers and allocations of other kinds stay where they are.
// CHECK-LABEL: tir.func @views
// CHECK:         %P = tir.decl_buffer "P" %p
// CHECK-NEXT:    %q = tir.allocate [4] : !tir.ptr<i32>
// CHECK-NEXT:    %Q = tir.decl_buffer "Q" %q
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      tir.block "B"
tir.func @views(%p: !tir.ptr<i32>) {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %P = tir.decl_buffer "P" %p : !tir.buffer<4xi32>
  %q = tir.allocate [4] : !tir.ptr<i32>
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<4xi32>
  tir.for %i = %c0 to %c4 {
    tir.block "B" (%vi : S in [%c0 to %c4] = %i) {
      tir.reads %P[%vi]
      tir.writes %P[%vi], %Q[%vi]
      %x = tir.load %P[%vi] : i32
      tir.store %x, %Q[%vi] : i32
      tir.store %vi, %P[%vi] : i32
    }
  }
}

// -----

// Tiles of matrices, in the loop of a pipeline over a reduction: each iteration loads them
// anew, by pointers into views. What the reduction writes stays around its loop.
// CHECK-LABEL: tir.func @tiles
// CHECK:         tir.for "tx"
// CHECK-NEXT:      tir.block {
// CHECK:             %CF = tir.alloc_buffer "CF"
// CHECK-NEXT:        tir.block "fill"
// CHECK:             tir.for "k0" {{.*}} annotations {software_pipeline_stage
// CHECK-NEXT:          tir.block {
// CHECK:                 %AS = tir.alloc_buffer "AS"
// CHECK-NEXT:            %AF = tir.alloc_buffer "AF"
// CHECK-NEXT:            %BF = tir.alloc_buffer "BF"
// CHECK-NEXT:            tir.for "f"
tir.func @tiles(%A_handle: !tir.handle, %B_handle: !tir.handle, %C_handle: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %c16 = tir.const 16 : i32
  %c256 = tir.const 256 : i32
  %cst = tir.const 0.000000e+00 : f32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c64 = tir.const 64 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<16x64xf16>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<64x16xf16>
  %C = tir.match_buffer "C" %C_handle : !tir.buffer<16x16xf32>
  tir.block "root" {
    %AS = tir.alloc_buffer "AS" : !tir.buffer<16x64xf16, "shared">
    %AF = tir.alloc_buffer "AF" : !tir.buffer<16x64xf16, "wmma.matrix_a">
    %BF = tir.alloc_buffer "BF" : !tir.buffer<64x16xf16, "wmma.matrix_b">
    %CF = tir.alloc_buffer "CF" : !tir.buffer<16x16xf32, "wmma.accumulator">
    tir.reads
    tir.writes
    tir.for "tx" %tx = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.block "fill" {
        %elem_offset = tir.shape_var "elem_offset" : i32
        %CM = tir.match_region "CM" %CF[%c0 to 16, %c0 to 16] offset %elem_offset {offset_factor = 256 : i32} : !tir.buffer<16x16xf32, "wmma.accumulator">
        tir.reads
        tir.writes %CF[%c0 to 16, %c0 to 16]
        %0 = tir.data %CM : !tir.ptr<f32, "wmma.accumulator">
        %1 = tir.floordiv %elem_offset, %c256 : i32
        %2 = tir.call "tvm_fill_fragment"(%0, %c16, %c16, %c16, %1, %cst) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> !tir.handle
      }
      tir.for "k0" %k0 = %c0 to %c4 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 0 : i32, 0 : i32, 1 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32, 3 : i32, 4 : i32, 5 : i32]} {
        tir.for "f" %f = %c0 to %c8 {
          %3 = tir.mul %f, %c32 : i32
          %4 = tir.add %3, %tx : i32
          %5 = tir.floordiv %4, %c16 : i32
          %6 = tir.mul %k0, %c16 : i32
          %7 = tir.mul %f, %c32 : i32
          %8 = tir.add %7, %tx : i32
          %9 = tir.floormod %8, %c16 : i32
          %10 = tir.add %6, %9 : i32
          tir.block "AS" (%v0 : S "v0" in [%c0 to %c16] = %5, %v1 : S "v1" in [%c0 to %c64] = %10) {
            tir.reads %A[%v0, %v1]
            tir.writes %AS[%v0, %v1]
            %11 = tir.load %A[%v0, %v1] : f16
            tir.store %11, %AS[%v0, %v1] : f16
          }
        }
        %12 = tir.string "shared"
        %13 = tir.call "tvm_storage_sync"(%12) : (!tir.handle) -> i32
        tir.block "AF" (%v1_1 : S "v1" in [%c0 to %c4] = %k0) {
          %14 = tir.mul %v1_1, %c16 : i32
          %s1 = tir.shape_var "s1" : i32
          %s0 = tir.shape_var "s0" : i32
          %elem_offset_1 = tir.shape_var "elem_offset" : i32
          %SM = tir.match_region "SM" %AS[%c0 to 16, %14 to %14 + 16] strides [%s1, %s0] offset %elem_offset_1 {offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "shared">
          %15 = tir.mul %v1_1, %c16 : i32
          %elem_offset_2 = tir.shape_var "elem_offset" : i32
          %FM = tir.match_region "FM" %AF[%c0 to 16, %15 to %15 + 16] offset %elem_offset_2 {offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "wmma.matrix_a">
          %16 = tir.mul %v1_1, %c16 : i32
          tir.reads %AS[%c0 to 16, %16 to %16 + 16]
          %17 = tir.mul %v1_1, %c16 : i32
          tir.writes %AF[%c0 to 16, %17 to %17 + 16]
          %18 = tir.data %FM : !tir.ptr<f16, "wmma.matrix_a">
          %19 = tir.floordiv %elem_offset_2, %c256 : i32
          %20 = tir.data %SM : !tir.ptr<f16, "shared">
          %21 = tir.mul %s1, %c16 : i32
          %22 = tir.access_ptr r %20[%elem_offset_1 to %elem_offset_1 + %21] : !tir.ptr<f16, "shared">
          %23 = tir.string "row_major"
          %24 = tir.call "tvm_load_matrix_sync"(%18, %c16, %c16, %c16, %19, %22, %s1, %23) : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16, "shared">, i32, !tir.handle) -> !tir.handle
        }
        tir.block "BF" (%v0_1 : S "v0" in [%c0 to %c4] = %k0) {
          %25 = tir.mul %v0_1, %c16 : i32
          %s1_1 = tir.shape_var "s1" : i32
          %s0_1 = tir.shape_var "s0" : i32
          %elem_offset_3 = tir.shape_var "elem_offset" : i32
          %SM_1 = tir.match_region "SM" %B[%25 to %25 + 16, %c0 to 16] strides [%s1_1, %s0_1] offset %elem_offset_3 {offset_factor = 16 : i32} : !tir.buffer<16x16xf16>
          %26 = tir.mul %v0_1, %c16 : i32
          %elem_offset_4 = tir.shape_var "elem_offset" : i32
          %FM_1 = tir.match_region "FM" %BF[%26 to %26 + 16, %c0 to 16] offset %elem_offset_4 {offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "wmma.matrix_b">
          %27 = tir.mul %v0_1, %c16 : i32
          tir.reads %B[%27 to %27 + 16, %c0 to 16]
          %28 = tir.mul %v0_1, %c16 : i32
          tir.writes %BF[%28 to %28 + 16, %c0 to 16]
          %29 = tir.data %FM_1 : !tir.ptr<f16, "wmma.matrix_b">
          %30 = tir.floordiv %elem_offset_4, %c256 : i32
          %31 = tir.data %SM_1 : !tir.ptr<f16>
          %32 = tir.mul %s1_1, %c16 : i32
          %33 = tir.access_ptr r %31[%elem_offset_3 to %elem_offset_3 + %32] : !tir.ptr<f16>
          %34 = tir.string "row_major"
          %35 = tir.call "tvm_load_matrix_sync"(%29, %c16, %c16, %c16, %30, %33, %s1_1, %34) : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> !tir.handle
        }
        tir.block "mma" (%vk : R "vk" in [%c0 to %c4] = %k0) {
          %elem_offset_5 = tir.shape_var "elem_offset" : i32
          %CM_1 = tir.match_region "CM" %CF[%c0 to 16, %c0 to 16] offset %elem_offset_5 {offset_factor = 256 : i32} : !tir.buffer<16x16xf32, "wmma.accumulator">
          %36 = tir.mul %vk, %c16 : i32
          %elem_offset_6 = tir.shape_var "elem_offset" : i32
          %AM = tir.match_region "AM" %AF[%c0 to 16, %36 to %36 + 16] offset %elem_offset_6 {offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "wmma.matrix_a">
          %37 = tir.mul %vk, %c16 : i32
          %elem_offset_7 = tir.shape_var "elem_offset" : i32
          %BM = tir.match_region "BM" %BF[%37 to %37 + 16, %c0 to 16] offset %elem_offset_7 {offset_factor = 16 : i32} : !tir.buffer<16x16xf16, "wmma.matrix_b">
          %38 = tir.mul %vk, %c16 : i32
          %39 = tir.mul %vk, %c16 : i32
          tir.reads %CF[%c0 to 16, %c0 to 16], %AF[%c0 to 16, %38 to %38 + 16], %BF[%39 to %39 + 16, %c0 to 16]
          tir.writes %CF[%c0 to 16, %c0 to 16]
          %40 = tir.data %CM_1 : !tir.ptr<f32, "wmma.accumulator">
          %41 = tir.floordiv %elem_offset_5, %c256 : i32
          %42 = tir.data %AM : !tir.ptr<f16, "wmma.matrix_a">
          %43 = tir.floordiv %elem_offset_6, %c256 : i32
          %44 = tir.data %BM : !tir.ptr<f16, "wmma.matrix_b">
          %45 = tir.floordiv %elem_offset_7, %c256 : i32
          %46 = tir.floordiv %elem_offset_5, %c256 : i32
          %47 = tir.call "tvm_mma_sync"(%40, %41, %42, %43, %44, %45, %40, %46) : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32, !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> !tir.handle
        }
        %48 = tir.string "shared"
        %49 = tir.call "tvm_storage_sync"(%48) : (!tir.handle) -> i32
      }
      tir.block "store" {
        %elem_offset_8 = tir.shape_var "elem_offset" : i32
        %CM_2 = tir.match_region "CM" %CF[%c0 to 16, %c0 to 16] offset %elem_offset_8 {offset_factor = 256 : i32} : !tir.buffer<16x16xf32, "wmma.accumulator">
        tir.reads %CF[%c0 to 16, %c0 to 16]
        tir.writes %C[%c0 to 16, %c0 to 16]
        %50 = tir.data %CM_2 : !tir.ptr<f32, "wmma.accumulator">
        %51 = tir.floordiv %elem_offset_8, %c256 : i32
        %52 = tir.address_of %C[%c0, %c0] : !tir.ptr<f32>
        %53 = tir.string "row_major"
        %54 = tir.call "tvm_store_matrix_sync"(%50, %c16, %c16, %c16, %51, %52, %c16, %53) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> !tir.handle
      }
    }
  }
}
