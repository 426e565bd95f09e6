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
