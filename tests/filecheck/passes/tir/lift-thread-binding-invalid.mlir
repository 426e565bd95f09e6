// RUN: xdsl-opt %s -p tir-lift-thread-binding --split-input-file --verify-diagnostics | filecheck %s

tir.func @extents() {
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %c128 = tir.const 128 : i32
  tir.for %b = %c0 to %c64 thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %c128 thread_binding "threadIdx.x" {
    }
    tir.for %t = %c0 to %c64 thread_binding "threadIdx.x" {
    }
  }
}
// CHECK: tir.for in @extents: "threadIdx.x" has the extent 128 and the extent 64 in one kernel; give the axis one range

// -----

tir.func @inside() {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %b = %c0 to %c4 thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %b thread_binding "threadIdx.x" {
    }
    tir.for %t = %c0 to %b thread_binding "threadIdx.x" {
    }
  }
}
// CHECK: tir.for in @inside: the range of "threadIdx.x" is computed inside of the loop that holds all loops over this axis; compute it before it

// -----

tir.func @iterations(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %L = tir.alloc_buffer "L" : !tir.buffer<4xi32, "local">
  tir.for %b = %c0 to %c4 thread_binding "blockIdx.x" {
    tir.block "B" (%v : S in [%c0 to %c4] = %b) {
      tir.store %v, %A[%v] : i32
      tir.store %v, %L[%v] : i32
    }
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
    }
  }
}
// CHECK: tir.block "B" in @iterations: it stores outside of the loops over a thread axis of its kernel, and has iteration variables; run tir-convert-blocks-to-opaque first, or bind the axis around it

// -----

tir.func @virtual() {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %L = tir.alloc_buffer "L" : !tir.buffer<4xi32, "local">
  tir.for %b = %c0 to %c4 thread_binding "blockIdx.x" {
    tir.for %v = %c0 to %c4 thread_binding "vthread" {
    }
    tir.store %b, %L[%c0] : i32
    tir.for %v = %c0 to %c4 thread_binding "vthread" {
    }
  }
}
// CHECK: tir.store in @virtual: it would be repeated by the threads of "vthread"; bind a loop around it to this axis

// -----

tir.func @reduced(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %B = tir.match_buffer %c : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %L = tir.alloc_buffer "L" : !tir.buffer<1xi32, "local">
  tir.for %b = %c0 to %c4 thread_binding "blockIdx.x" {
    tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {
      tir.block "L" (%v : R in [%c0 to %c4] = %t) {
        tir.init {
          tir.store %c0, %L[%c0] : i32
        }
        %x = tir.load %L[%c0] : i32
        %y = tir.load %A[%v] : i32
        %s = tir.add %x, %y : i32
        tir.store %s, %L[%c0] : i32
      }
    }
    tir.for %u = %c0 to %c4 thread_binding "threadIdx.x" {
      tir.block "B" (%v : S in [%c0 to %c4] = %u) {
        %x = tir.load %L[%c0] : i32
        tir.store %x, %B[%v] : i32
      }
    }
  }
}
// CHECK: tir.block "L" in @reduced: it reduces over threads, which would no more wait for each other; run tir-lower-cross-thread-reduction first
