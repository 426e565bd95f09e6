// RUN: xdsl-opt %s -p tir-test-print-lca --split-input-file | filecheck %s

// An `if` is no place, and neither is a choice; without a loop or a block it is the
// function. What nothing accesses has no place.
// CHECK-LABEL: tir.func @places
// CHECK-NEXT: {lca = "function"}
// CHECK-NEXT: {lca = "for %i"}
// CHECK-NEXT: {lca = "block B"}
// CHECK-NEXT: {lca = "none"}
// CHECK-NEXT: {lca = "for %j"}
tir.func @places(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle, %e: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<4x4xi32>
  %B = tir.match_buffer %b : !tir.buffer<4x4xi32>
  %C = tir.match_buffer %c : !tir.buffer<4x4xi32>
  %D = tir.match_buffer %d : !tir.buffer<4x4xi32>
  %E = tir.match_buffer %e : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.store %c0, %A[%c0, %c0] : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %B[%i, %i] : i32
    tir.block "B" (%vi : S in [%c0 to %c4] = %i) {
      tir.reads %A[%vi, %vi], %D[%vi, %vi]
      tir.writes %A[%vi, %vi], %B[%vi, %c0 to 4], %C[%vi, %c0 to 4]
      %y = tir.load %A[%vi, %vi] : i32
      %p = tir.cmp lt %vi, %c2 : i32
      tir.if %p {
        tir.for %j = %c0 to %c4 {
          tir.store %y, %B[%vi, %j] : i32
          tir.store %y, %C[%vi, %j] : i32
          tir.store %y, %E[%vi, %j] : i32
        }
      } else {
        tir.store %y, %C[%vi, %c0] : i32
      }
    }
  }
}

// -----

// CASE: PlanAndUpdateBufferAllocationLocation.12
// A reduction: what it writes is outside of the loops that its variable is bound to. The
// fill of a fragment by its pointer counts where it is, though the pointer is taken
// further out. A view counts as an access where it is declared, not where it is used.
// CHECK-LABEL: tir.func @reduction
// CHECK-NEXT: {lca = "block update"}
// CHECK: tir.alloc_buffer "sum" {lca = "for %j0"}
// CHECK-NEXT: tir.alloc_buffer "fragment" {lca = "for %t"}
// CHECK-NEXT: tir.alloc_buffer "viewed" {lca = "block matches"}
// CHECK: tir.match_region
// CHECK-NOT: lca
// CHECK: tir.for
tir.func @reduction(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16x16xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %S = tir.alloc_buffer "sum" : !tir.buffer<16xi32, "local">
  %F = tir.alloc_buffer "fragment" : !tir.buffer<16xi32, "local">
  %V = tir.alloc_buffer "viewed" : !tir.buffer<16xi32, "local">
  %f = tir.string "fill"
  %p = tir.data %F : !tir.ptr<i32, "local">
  tir.for %j0 = %c0 to %c4 {
    tir.for %t = %c0 to %c4 {
      %r = tir.call "call_extern"(%f, %p, %t) : (!tir.handle, !tir.ptr<i32, "local">, i32) -> i32
    }
    tir.for %k0 = %c0 to %c4 {
      tir.for %k1 = %c0 to %c4 {
        %k2 = tir.mul %k0, %c4 : i32
        %k = tir.add %k2, %k1 : i32
        tir.block "update" (%vj : S in [%c0 to %c4] = %j0, %vk : R in [%c0 to %c16] = %k) {
          tir.reads %A[%vj, %vk]
          tir.writes %S[%vj]
          tir.init {
            tir.store %c0, %S[%vj] : i32
          }
          %x = tir.load %A[%vj, %vk] : i32
          %y = tir.load %S[%vj] : i32
          %z = tir.add %x, %y : i32
          tir.store %z, %S[%vj] : i32
        }
      }
    }
  }
  tir.block "root" {
    tir.block "matches" {
      tir.reads
      tir.writes %V[%c0 to 4]
      %W = tir.match_region %V[%c0 to %c0 + 4] : !tir.buffer<4xi32, "local">
      tir.for %i = %c0 to %c4 {
        tir.store %i, %W[%i] : i32
      }
    }
  }
}

// -----

// Instances in order: all that is written is outside of the loop, and what is read where
// the region moves along with the variable; the outermost of the loops counts.
// CHECK-LABEL: tir.func @in_order
// CHECK: tir.alloc_buffer "moving" {lca = "for %i"}
// CHECK-NEXT: tir.alloc_buffer "still" {lca = "block scan"}
// CHECK-NEXT: tir.alloc_buffer "written" {lca = "for %i"}
tir.func @in_order() {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %M = tir.alloc_buffer "moving" : !tir.buffer<16xi32, "local">
  %S = tir.alloc_buffer "still" : !tir.buffer<16xi32, "local">
  %W = tir.alloc_buffer "written" : !tir.buffer<16xi32, "local">
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      tir.for %k = %c0 to %c4 {
        %j4 = tir.mul %j, %c4 : i32
        %jk = tir.add %j4, %k : i32
        tir.block "scan" (%vi : S in [%c0 to %c4] = %i, %vj : opaque in [%c0 to %c4] = %jk) {
          tir.reads %M[%vj], %S[%vi]
          tir.writes %W[%vi]
          %x = tir.load %M[%vj] : i32
          %y = tir.load %S[%vi] : i32
          %z = tir.add %x, %y : i32
          tir.store %z, %W[%vi] : i32
        }
      }
    }
  }
}

// -----

// Global memory is outside of the launch of blocks, but inside of a loop bound to them;
// other memory is where its accesses are.
// CHECK-LABEL: tir.func @blocks
// CHECK-NEXT: {lca = "for %bx"}
// CHECK: tir.alloc_buffer "cache" {lca = "for %i"}
tir.func @blocks(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %C = tir.alloc_buffer "cache" : !tir.buffer<4xi32, "shared">
  tir.for %bx = %c0 to %c4 thread_binding "blockIdx.x" {
    tir.for %i = %c0 to %c4 {
      %x = tir.load %A[%bx, %i] : i32
      tir.store %x, %C[%i] : i32
    }
  }
}

// -----

// CHECK-LABEL: tir.func @launch
// CHECK-NEXT: {lca = "for %o"}
tir.func @launch(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %o = %c0 to %c4 {
    tir.launch_thread %bx = "blockIdx.x" to %c4 {
      tir.for %i = %c0 to %c4 {
        tir.store %o, %A[%bx, %i] : i32
      }
    }
  }
}
