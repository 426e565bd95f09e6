// RUN: xdsl-opt %s -p tir-verify-thread-sync --split-input-file | filecheck %s

// Each thread reads what it has stored itself, at one element or in a tile of its own.
tir.func @own_elements(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<512xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<512xf32, "shared">
    %first = tir.mul %t, %c8 : i32
    tir.for %i = %c0 to %c8 {
      %p = tir.add %first, %i : i32
      %x = tir.load %A[%p] : f32
      tir.store %x, %S[%p] : f32
    }
    %second = tir.add %first, %c1 : i32
    %x = tir.load %S[%second] : f32
    tir.store %x, %A[%second] : f32
  }
}
// CHECK-LABEL: tir.func @own_elements

// -----

// Elements of a tile are split among the threads in the same way by both loops.
tir.func @split_and_fused(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64x16xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c256 = tir.const 256 : i32
  tir.launch_thread %t = "threadIdx.x" to %c256 {
    %S = tir.alloc_buffer "S" : !tir.buffer<64x16xf32, "shared">
    tir.for %i = %c0 to %c4 {
      %m = tir.mul %i, %c256 : i32
      %f = tir.add %m, %t : i32
      %r = tir.floordiv %f, %c16 : i32
      %c = tir.floormod %f, %c16 : i32
      %x = tir.load %A[%r, %c] : f32
      tir.store %x, %S[%r, %c] : f32
    }
    tir.for %i = %c0 to %c4 {
      %m = tir.mul %i, %c256 : i32
      %f = tir.add %m, %t : i32
      %r = tir.floordiv %f, %c16 : i32
      %c = tir.floormod %f, %c16 : i32
      %x = tir.load %S[%r, %c] : f32
      tir.store %x, %A[%r, %c] : f32
    }
  }
}
// CHECK-LABEL: tir.func @split_and_fused

// -----

// One barrier in each iteration is enough for two halves that take turns.
tir.func @two_halves(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x64xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %S = tir.alloc_buffer "S" : !tir.buffer<2x64xf32, "shared">
    tir.for %k = %c0 to %c8 {
      %h = tir.floormod %k, %c2 : i32
      %x = tir.load %A[%k, %t] : f32
      tir.store %x, %S[%h, %t] : f32
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      %r = tir.sub %c63, %t : i32
      %y = tir.load %S[%h, %r] : f32
      tir.store %y, %B[%k, %t] : f32
    }
  }
}
// CHECK-LABEL: tir.func @two_halves

// -----

// One thread, under a condition, is no other one.
tir.func @one_thread(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %first = tir.cmp eq %t, %c0 : i32
    tir.if %first {
      %x = tir.load %A[%c0] : i32
      %y = tir.add %x, %x : i32
      tir.store %y, %A[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @one_thread

// -----

// Pairs at distances that halve: in the last iteration, the next one has no distance.
tir.func @exchanges(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c8 {
    %S = tir.alloc_buffer "S" : !tir.buffer<16xi32, "shared">
    %u = tir.add %t, %c8 : i32
    tir.store %t, %S[%t] : i32
    tir.store %u, %S[%u] : i32
    tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    tir.for %step = %c0 to %c4 {
      %d = tir.sub %c3, %step : i32
      %stride = tir.call "shift_left"(%c1, %d) : (i32, i32) -> i32
      %q = tir.call "shift_right"(%t, %d) : (i32, i32) -> i32
      %p = tir.call "shift_left"(%q, %d) : (i32, i32) -> i32
      %low = tir.add %t, %p : i32
      %high = tir.add %low, %stride : i32
      %x = tir.load %S[%low] : i32
      %y = tir.load %S[%high] : i32
      tir.store %y, %S[%low] : i32
      tir.store %x, %S[%high] : i32
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    }
    %x = tir.load %S[%t] : i32
    tir.store %x, %A[%t] : i32
    %y = tir.load %S[%u] : i32
    tir.store %y, %A[%u] : i32
  }
}
// CHECK-LABEL: tir.func @exchanges

// -----

// Indices that are vectors, of quotients and remainders of ramps.
tir.func @vector_indices(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<96xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c6 = tir.const 6 : i32
  %c12 = tir.const 12 : i32
  %twelve = tir.broadcast %c12 : vector<8xi32>
  tir.launch_thread %t = "threadIdx.x" to %c12 {
    %half = tir.floormod %t, %c6 : i32
    %rest = tir.sub %t, %half : i32
    %start = tir.mul %rest, %c8 : i32
    %base = tir.broadcast %start : vector<8xi32>
    %from = tir.mul %half, %c8 : i32
    %x = tir.ramp %from, %c1 : vector<8xi32>
    %q = tir.floordiv %x, %twelve : vector<8xi32>
    %r = tir.floormod %x, %twelve : vector<8xi32>
    %p = tir.mul %q, %twelve : vector<8xi32>
    %s = tir.add %base, %p : vector<8xi32>
    %i = tir.add %s, %r : vector<8xi32>
    %v = tir.broadcast %t : vector<8xi32>
    tir.store %v, %A[%i] : vector<8xi32>
  }
}
// CHECK-LABEL: tir.func @vector_indices

// -----

// The index of a block is less than the number of blocks, a symbol: it is a digit.
tir.func @symbolic_blocks(%a: !tir.handle, %m: i32, %n: i32) {
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi32>
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %r = "blockIdx.y" to %n {
    tir.launch_thread %b = "blockIdx.x" to %m {
      tir.launch_thread %t = "threadIdx.x" to %c8 {
        %row = tir.mul %r, %m : i32
        %unit = tir.add %row, %b : i32
        %start = tir.mul %unit, %c8 : i32
        %i = tir.add %start, %t : i32
        tir.store %t, %A[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @symbolic_blocks

// -----

// What is left over of units of four elements is fewer: it is in one thread.
tir.func @rest_of_units(%a: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %whole = tir.floordiv %n, %c4 : i32
  %rest = tir.floormod %n, %c4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c8 {
    %first = tir.mul %t, %c4 : i32
    %is_whole = tir.cmp lt %t, %whole : i32
    tir.if %is_whole {
      tir.for %v = %c0 to %c4 {
        %i = tir.add %first, %v : i32
        tir.store %t, %A[%i] : i32
      }
    }
    %is_rest = tir.cmp eq %t, %whole : i32
    tir.if %is_rest {
      tir.for %v = %c0 to %rest {
        %i = tir.add %first, %v : i32
        tir.store %t, %A[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @rest_of_units
