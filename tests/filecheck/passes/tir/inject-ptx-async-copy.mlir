// RUN: xdsl-opt %s -p tir-inject-ptx-async-copy --split-input-file | filecheck %s

// Offsets are the bases of ramps, 16 bytes of each dtype.
// CASE: InjectPTXAsyncCopy.9
tir.func @bases(%a: !tir.handle, %b: !tir.handle, %h: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<132xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<512xi8>
  %H = tir.match_buffer "H" %h : !tir.buffer<256xf16>
  %O = tir.match_buffer "O" %o : !tir.buffer<128xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %s = tir.allocate [128] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<128xf32, "shared">
    %t = tir.allocate [512] : !tir.ptr<i8, "shared">
    %T = tir.decl_buffer "T" %t : !tir.buffer<512xi8, "shared">
    %u = tir.allocate [256] : !tir.ptr<f16, "shared">
    %U = tir.decl_buffer "U" %u : !tir.buffer<256xf16, "shared">
    %x4 = tir.mul %tx, %c4 : i32
    %x8 = tir.mul %tx, %c8 : i32
    %x16 = tir.mul %tx, %c16 : i32
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %from = tir.add %x4, %c4 : i32
        %r = tir.ramp %from, %c1 : vector<4xi32>
        %x = tir.load %A[%r] : vector<4xf32>
        %w = tir.ramp %x4, %c1 : vector<4xi32>
        tir.store %x, %S[%w] : vector<4xf32>
        %r2 = tir.ramp %x16, %c1 : vector<16xi32>
        %y = tir.load %B[%r2] : vector<16xi8>
        tir.store %y, %T[%r2] : vector<16xi8>
        %r3 = tir.ramp %x8, %c1 : vector<8xi32>
        %z = tir.load %H[%r3] : vector<8xf16>
        tir.store %z, %U[%r3] : vector<8xf16>
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %x = tir.load %S[%x4] : f32
        tir.store %x, %O[%x4] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @bases
// CHECK:         %[[S:.*]] = tir.allocate [128]
// CHECK:         %[[T:.*]] = tir.allocate [512]
// CHECK:         %[[U:.*]] = tir.allocate [256]
// CHECK:         %[[X4:.*]] = tir.mul
// CHECK-NEXT:    %[[X8:.*]] = tir.mul
// CHECK-NEXT:    %[[X16:.*]] = tir.mul
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      %[[FROM:.*]] = tir.add %[[X4]]
// CHECK-NEXT:      %[[A:.*]] = tir.data %{{.*}} : !tir.ptr<f32>
// CHECK-NEXT:      %[[N:.*]] = tir.const 16 : i32
// CHECK-NEXT:      tir.call "ptx_cp_async"(%[[S]], %[[X4]], %[[A]], %[[FROM]], %[[N]]) : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> f32
// CHECK-NEXT:      %[[B:.*]] = tir.data %{{.*}} : !tir.ptr<i8>
// CHECK-NEXT:      %[[N:.*]] = tir.const 16 : i32
// CHECK-NEXT:      tir.call "ptx_cp_async"(%[[T]], %[[X16]], %[[B]], %[[X16]], %[[N]]) : {{.*}} -> i8
// CHECK-NEXT:      %[[H:.*]] = tir.data %{{.*}} : !tir.ptr<f16>
// CHECK-NEXT:      %[[N:.*]] = tir.const 16 : i32
// CHECK-NEXT:      tir.call "ptx_cp_async"(%[[U]], %[[X8]], %[[H]], %[[X8]], %[[N]]) : {{.*}} -> f16
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.attr "async_wait_queue_scope"
// CHECK-NEXT:      tir.attr "async_wait_inflight_count"

// -----

// Indices of 64 bits, of a let: both offsets are the base as it is.
// CASE: InjectPTXAsyncCopy.5
tir.func @wide(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4096xf16>
  %O = tir.match_buffer "O" %o : !tir.buffer<4096xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i64
  %c8 = tir.const 8 : i64
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i64
  %c128 = tir.const 128 : i64
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %s = tir.allocate [4096] : !tir.ptr<f16, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<4096xf16, "shared">
    tir.for %i = %c0 to %c16 {
      %0 = tir.cast %i : i32 to i64
      %v = tir.let "v" %0 : i64
      %1 = tir.mul %tx, %c128 : i64
      %2 = tir.mul %v, %c8 : i64
      %3 = tir.add %1, %2 : i64
      %r = tir.ramp %3, %c1 : vector<8xi64>
      tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
        tir.attr "async_scope" (%c0) = 1 : i32 {
          %x = tir.load %A[%r] : vector<8xf16>
          tir.store %x, %S[%r] : vector<8xf16>
        }
      }
      tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
        tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
          %y = tir.load %S[%r] : vector<8xf16>
          tir.store %y, %O[%r] : vector<8xf16>
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @wide
// CHECK:         %[[S:.*]] = tir.allocate [4096]
// CHECK:           %[[BASE:.*]] = tir.add %{{.*}} : i64
// CHECK:           tir.attr "async_commit_queue_scope"
// CHECK-NEXT:        %[[A:.*]] = tir.data
// CHECK-NEXT:        %[[N:.*]] = tir.const 16 : i32
// CHECK-NEXT:        tir.call "ptx_cp_async"(%[[S]], %[[BASE]], %[[A]], %[[BASE]], %[[N]]) : (!tir.ptr<f16, "shared">, i64, !tir.ptr<f16>, i64, i32) -> f16
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.attr "async_wait_queue_scope"

// -----

// Memory that MergeSharedMemoryAllocations made: offsets count its bytes.
// CASE: InjectPTXAsyncCopy.2
tir.func @merged(%a: !tir.handle, %b: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<256xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<256xf16>
  %O = tir.match_buffer "O" %o : !tir.buffer<256xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %c256 = tir.const 256 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %m = tir.allocate "buf_dyn_shmem" [1024] : !tir.ptr<ui8, "shared.dyn">
    %S = tir.decl_buffer "S" %m {implicit} : !tir.buffer<256xf16, "shared.dyn">
    %T = tir.decl_buffer "T" %m {implicit} : !tir.buffer<512xf16, "shared.dyn">
    %at = tir.mul %tx, %c8 : i32
    %r = tir.ramp %at, %c1 : vector<8xi32>
    %far = tir.broadcast %c256 : vector<8xi32>
    %w = tir.add %r, %far : vector<8xi32>
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.load %A[%r] : vector<8xf16>
        tir.store %x, %S[%r] : vector<8xf16>
        %y = tir.load %B[%r] : vector<8xf16>
        tir.store %y, %T[%w] : vector<8xf16>
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %x = tir.load %S[%r] : vector<8xf16>
        %y = tir.load %T[%w] : vector<8xf16>
        %z = tir.add %x, %y : vector<8xf16>
        tir.store %z, %O[%r] : vector<8xf16>
      }
    }
  }
}
// CHECK-LABEL: tir.func @merged
// CHECK:         %[[C256:.*]] = tir.const 256
// CHECK:         %[[M:.*]] = tir.allocate "buf_dyn_shmem"
// CHECK:         %[[AT:.*]] = tir.mul
// CHECK:         tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      %[[TWO:.*]] = tir.const 2 : i32
// CHECK-NEXT:      %[[FIRST:.*]] = tir.mul %[[AT]], %[[TWO]]
// CHECK:           tir.call "ptx_cp_async"(%[[M]], %[[FIRST]], %{{.*}}, %[[AT]], %{{.*}}) : (!tir.ptr<ui8, "shared.dyn">, i32, !tir.ptr<f16>, i32, i32) -> f16
// CHECK:           %[[FAR:.*]] = tir.add %[[AT]], %[[C256]]
// CHECK-NEXT:      %[[TWO:.*]] = tir.const 2 : i32
// CHECK-NEXT:      %[[SECOND:.*]] = tir.mul %[[FAR]], %[[TWO]]
// CHECK:           tir.call "ptx_cp_async"(%[[M]], %[[SECOND]], %{{.*}}, %[[AT]], %{{.*}})
// CHECK-NEXT:    }

// -----

// The condition is an operand, what only the load needs is computed always.
// CASE: InjectPTXAsyncCopy.7
tir.func @guarded(%a: !tir.handle, %o: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xf16>
  %O = tir.match_buffer "O" %o : !tir.buffer<256xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %zero = tir.const 0.0 : f16
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %m = tir.allocate [512] : !tir.ptr<ui8, "shared.dyn">
    %S = tir.decl_buffer "S" %m : !tir.buffer<256xf16, "shared.dyn">
    %at = tir.mul %tx, %c8 : i32
    %w = tir.ramp %at, %c1 : vector<8xi32>
    %few = tir.cmp lt %tx, %c16 : i32
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.if_then_else %few -> vector<8xf16> {
          %from = tir.mul %tx, %c8 : i32
          %r = tir.ramp %from, %c1 : vector<8xi32>
          %y = tir.load %A[%r] : vector<8xf16>
          tir.yield %y : vector<8xf16>
        } else {
          %z = tir.broadcast %zero : vector<8xf16>
          tir.yield %z : vector<8xf16>
        }
        tir.store %x, %S[%w] : vector<8xf16>
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %x = tir.load %S[%w] : vector<8xf16>
        tir.store %x, %O[%w] : vector<8xf16>
      }
    }
  }
}
// CHECK-LABEL: tir.func @guarded
// CHECK:         %[[M:.*]] = tir.allocate [512]
// CHECK:         %[[AT:.*]] = tir.mul
// CHECK:         %[[FEW:.*]] = tir.cmp lt
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK:           %[[TO:.*]] = tir.mul %[[AT]]
// CHECK:           %[[FROM:.*]] = tir.mul
// CHECK:           tir.call "ptx_cp_async"(%[[M]], %[[TO]], %{{.*}}, %[[FROM]], %{{.*}}, %[[FEW]])
// CHECK-SAME:        i1) -> f16
// CHECK-NEXT:    }

// -----

// Zeros of integers are bytes of zero as well.
tir.func @guarded_bytes(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xi8>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %zero = tir.const 0 : i8
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %m = tir.allocate [128] : !tir.ptr<i8, "shared">
    %S = tir.decl_buffer "S" %m : !tir.buffer<128xi8, "shared">
    %at = tir.mul %tx, %c4 : i32
    %w = tir.ramp %at, %c1 : vector<4xi32>
    %few = tir.cmp lt %tx, %c16 : i32
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.if_then_else %few -> vector<4xi8> {
          %y = tir.load %A[%w] : vector<4xi8>
          tir.yield %y : vector<4xi8>
        } else {
          %z = tir.broadcast %zero : vector<4xi8>
          tir.yield %z : vector<4xi8>
        }
        tir.store %x, %S[%w] : vector<4xi8>
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %x = tir.load %S[%w] : vector<4xi8>
        tir.store %x, %A[%w] : vector<4xi8>
      }
    }
  }
}
// CHECK-LABEL: tir.func @guarded_bytes
// CHECK:         %[[M:.*]] = tir.allocate [128]
// CHECK:         %[[AT:.*]] = tir.mul
// CHECK:         %[[FEW:.*]] = tir.cmp lt
// CHECK:           tir.call "ptx_cp_async"(%[[M]], %[[AT]], %{{.*}}, %[[AT]], %{{.*}}, %[[FEW]])
// CHECK-SAME:        i1) -> i8

// -----

// What is no copy of 4, 8 or 16 bytes from global to shared memory stays a store.
// CASE: InjectPTXAsyncCopy.6
// CASE: InjectPTXAsyncCopy.8
tir.func @not_copies(%a: !tir.handle, %h: !tir.handle, %k: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %H = tir.match_buffer "H" %h : !tir.buffer<64xf16>
  %K = tir.match_buffer "K" %k : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  %minus = tir.const -0.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %s = tir.allocate [64] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<64xf32, "shared">
    %u = tir.allocate [64] : !tir.ptr<f16, "shared">
    %U = tir.decl_buffer "U" %u : !tir.buffer<64xf16, "shared">
    %v = tir.allocate [64] : !tir.ptr<i32, "shared">
    %V = tir.decl_buffer "V" %v : !tir.buffer<64xi32, "shared">
    %l = tir.allocate [64] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer "L" %l : !tir.buffer<64xf32, "local">
    %g = tir.allocate [64] : !tir.ptr<f32, "shared.barrier">
    %G = tir.decl_buffer "G" %g : !tir.buffer<64xf32, "shared.barrier">
    %few = tir.cmp lt %tx, %c1 : i32
    %own = tir.mul %tx, %c8 : i32
    tir.store %zero, %S[%own] : f32
    %r3 = tir.ramp %own, %c1 : vector<3xi32>
    %r8 = tir.ramp %own, %c1 : vector<8xi32>
    %r4 = tir.ramp %own, %c2 : vector<4xi32>
    tir.attr "async_scope" (%c0) = 1 : i32 {
      %x2 = tir.load %H[%own] : f16
      tir.store %x2, %U[%own] : f16
      %x12 = tir.load %A[%r3] : vector<3xf32>
      tir.store %x12, %S[%r3] : vector<3xf32>
      %x32 = tir.load %A[%r8] : vector<8xf32>
      tir.store %x32, %S[%r8] : vector<8xf32>
      %wide = tir.load %A[%r4] : vector<4xf32>
      tir.store %wide, %S[%r4] : vector<4xf32>
      %xi = tir.if_then_else %few -> i32 {
        %y = tir.load %K[%own] : i32
        tir.yield %y : i32
      } else {
        tir.yield %c1 : i32
      }
      tir.store %xi, %V[%own] : i32
      %xm = tir.if_then_else %few -> f32 {
        %y = tir.load %A[%own] : f32
        tir.yield %y : f32
      } else {
        tir.yield %minus : f32
      }
      tir.store %xm, %S[%own] : f32
      %xs = tir.if_then_else %few -> f32 {
        tir.yield %zero : f32
      } else {
        %y = tir.load %A[%own] : f32
        tir.yield %y : f32
      }
      tir.store %xs, %S[%own] : f32
      %x = tir.load %A[%own] : f32
      tir.store %x, %L[%own] : f32
      tir.store %x, %G[%own] : f32
      %again = tir.load %S[%own] : f32
      tir.store %again, %S[%own] : f32
      %sum = tir.add %x, %x : f32
      tir.store %sum, %S[%own] : f32
      %chosen = tir.select %few, %x, %zero : i1, f32
      tir.store %chosen, %S[%own] : f32
    }
    %x = tir.load %A[%own] : f32
    tir.store %x, %S[%own] : f32
  }
}
// CHECK-LABEL: tir.func @not_copies
// CHECK-NOT:     async_scope
// CHECK-NOT:     ptx_cp_async

// -----

// Functions for a CPU lose the attribute, too.
tir.func @cpu(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_scope" (%c0) = 1 : i32 {
      %d = tir.data %B : !tir.ptr<f32>
      %s = tir.data %A : !tir.ptr<f32>
      %0 = tir.call "dma_copy"(%c0, %d, %s, %c64, %c0) : (i32, !tir.ptr<f32>, !tir.ptr<f32>, i32, i32) -> i32
    }
  }
  %1 = tir.call "dma_wait"(%c0, %c0) : (i32, i32) -> i32
}
// CHECK-LABEL: tir.func @cpu
// CHECK:         tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      tir.data
// CHECK-NEXT:      tir.data
// CHECK-NEXT:      tir.call "dma_copy"
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.call "dma_wait"

// -----

// A load that may see another value later, an address that may not be a multiple of the
// size, and one whose guard protects the offset, stay. Values with other uses are kept.
tir.func @unsound(%a: !tir.handle, %i: !tir.handle, %o: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<72xf32>
  %I = tir.match_buffer "I" %i : !tir.buffer<8xi32>
  %O = tir.match_buffer "O" %o : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %zero = tir.const 0.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %s = tir.allocate [64] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<64xf32, "shared">
    %at = tir.mul %tx, %c8 : i32
    %odd = tir.add %at, %c1 : i32
    %w = tir.ramp %at, %c1 : vector<4xi32>
    %r = tir.ramp %odd, %c1 : vector<4xi32>
    %rest = tir.add %at, %c4 : i32
    %few = tir.cmp lt %tx, %c4 : i32
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.load %A[%r] : vector<4xf32>
        tir.store %x, %S[%w] : vector<4xf32>
      }
    }
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.if_then_else %few -> f32 {
          %j = tir.load %I[%tx] : i32
          %y = tir.load %A[%j] : f32
          tir.yield %y : f32
        } else {
          tir.yield %zero : f32
        }
        tir.store %x, %S[%rest] : f32
      }
    }
    %k = tir.add %rest, %c1 : i32
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.load %A[%at] : f32
        tir.store %zero, %A[%at] : f32
        tir.store %x, %S[%k] : f32
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %x = tir.load %S[%k] : f32
        tir.store %x, %O[%k] : f32
        %y = tir.load %S[%rest] : f32
        tir.store %y, %O[%rest] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @unsound
// CHECK-NOT:     async_scope
// CHECK-NOT:     ptx_cp_async

// -----

// The shared memory holds vectors, as StorageRewrite makes it of vector accesses alone.
tir.func @vectors(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<256xf16>
  %O = tir.match_buffer "O" %o : !tir.buffer<256xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %s = tir.allocate [32] : !tir.ptr<vector<8xf16>, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<32xvector<8xf16>, "shared">
    %at = tir.mul %tx, %c8 : i32
    %r = tir.ramp %at, %c1 : vector<8xi32>
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.load %A[%r] : vector<8xf16>
        tir.store %x, %S[%tx] : vector<8xf16>
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %x = tir.load %S[%tx] : vector<8xf16>
        tir.store %x, %O[%r] : vector<8xf16>
      }
    }
  }
}
// CHECK-LABEL: tir.func @vectors
// CHECK:         tir.launch_thread %[[TX:.*]] = "threadIdx.x"
// CHECK:         %[[S:.*]] = tir.allocate [32]
// CHECK:         %[[AT:.*]] = tir.mul
// CHECK:         tir.call "ptx_cp_async"(%[[S]], %[[TX]], %{{.*}}, %[[AT]], %{{.*}}) : (!tir.ptr<vector<8xf16>, "shared">, i32, !tir.ptr<f16>, i32, i32) -> vector<8xf16>

// -----

// A value with another use stays for it; offsets of buffers and rows of matrices count.
tir.func @shared_load(%a: !tir.handle, %o: !tir.handle) {
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %a offset %c4 : !tir.buffer<8x4xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c8 {
    %s = tir.allocate [64] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<64xf32, "shared">
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_scope" (%c0) = 1 : i32 {
        %x = tir.load %A[%tx, %c1] : f32
        tir.store %x, %S[%tx] : f32
        tir.store %x, %O[%tx] : f32
      }
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
        %y = tir.load %S[%tx] : f32
        %k = tir.add %tx, %c8 : i32
        tir.store %y, %O[%k] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @shared_load
// CHECK:         tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      %[[X:.*]] = tir.load
// CHECK:           tir.mul
// CHECK-NEXT:      tir.add
// CHECK:           %[[FROM:.*]] = tir.add %{{.*}}, %{{.*}} : i32
// CHECK:           tir.call "ptx_cp_async"(%{{.*}}, %{{.*}}, %{{.*}}, %[[FROM]], %{{.*}})
// CHECK-NEXT:      tir.store %[[X]]
