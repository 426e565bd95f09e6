// RUN: xdsl-opt %s -p tir-manifest-shared-memory-local-stage --split-input-file | filecheck %s

// CASE: ManifestSharedMemoryLocalStage.1
// CASE: ManifestSharedMemoryLocalStage.3
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "matmul"} {
  %A = tir.match_buffer %a : !tir.buffer<32x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x32xf32>
  %C = tir.match_buffer %c : !tir.buffer<32x32xf32>
  %zero = tir.const 0.0 : f32
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
    tir.block "root" {
      tir.reads %A[%c0 to 32, %c0 to 16], %B[%c0 to 16, %c0 to 32]
      tir.writes %C[%t, %c0 to 32]
      %SA = tir.alloc_buffer "A_shared" : !tir.buffer<32x16xf32, "shared">
      %SB = tir.alloc_buffer "B_shared" : !tir.buffer<16x32xf32, "shared">
      tir.for %f0 = %c0 to %c4 {
        tir.for %f3 = %c0 to %c4 vectorized {
          %k = tir.mul %f0, %c4 : i32
          %col = tir.add %k, %f3 : i32
          tir.block "A_shared" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
            tir.reads %A[%t, %col]
            tir.writes %SA[%t, %col]
            %x = tir.load %A[%t, %col] : f32
            tir.store %x, %SA[%t, %col] : f32
          }
        }
      }
      tir.for %g0 = %c0 to %c4 {
        tir.for %g3 = %c0 to %c4 vectorized {
          %k = tir.mul %g0, %c4 : i32
          %row = tir.add %k, %g3 : i32
          tir.block "B_shared" annotations {tir.manifest_shared_memory_local_stage = 1 : i32, mine = "kept"} {
            tir.reads %B[%row, %t]
            tir.writes %SB[%row, %t]
            %x = tir.load %B[%row, %t] : f32
            tir.store %x, %SB[%row, %t] : f32
          }
        }
      }
      %shared = tir.string "shared"
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      tir.for %j = %c0 to %c32 {
        tir.block "init" {
          tir.reads
          tir.writes %C[%t, %j]
          tir.store %zero, %C[%t, %j] : f32
        }
        tir.for %k = %c0 to %c16 {
          tir.block "C" {
            tir.reads %C[%t, %j], %SA[%t, %k], %SB[%k, %j]
            tir.writes %C[%t, %j]
            %x = tir.load %SA[%t, %k] : f32
            %y = tir.load %SB[%k, %j] : f32
            %p = tir.mul %x, %y : f32
            %s = tir.load %C[%t, %j] : f32
            %n = tir.add %s, %p : f32
            tir.store %n, %C[%t, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @matmul
// CHECK:       %[[A:.*]] = tir.match_buffer
// CHECK-NEXT:  %[[B:.*]] = tir.match_buffer
// CHECK:       tir.for %[[T:.*]] = {{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:    tir.block "root" {
// CHECK-NEXT:      tir.reads
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      %[[SA:.*]] = tir.alloc_buffer "A_shared" : !tir.buffer<32x16xf32, "shared">
// CHECK-NEXT:      %[[SB:.*]] = tir.alloc_buffer "B_shared" : !tir.buffer<16x32xf32, "shared">
// CHECK-NEXT:      %[[LA:.*]] = tir.alloc_buffer "A_shared_local" : !tir.buffer<4x4xf32, "local">
// CHECK-NEXT:      %[[LB:.*]] = tir.alloc_buffer "B_shared_local" : !tir.buffer<4x4xf32, "local">
// CHECK-NEXT:      tir.for %[[I:.*]] = %c0 to %c4 {
// CHECK-NEXT:        tir.for %[[V:.*]] = %c0 to %c4 vectorized {
// CHECK-NEXT:          tir.mul
// CHECK-NEXT:          %[[COL:.*]] = tir.add
// CHECK-NEXT:          tir.block {
// CHECK-NEXT:            tir.reads %[[A]][%[[T]], %[[COL]]]
// CHECK-NEXT:            tir.writes %[[LA]][%[[I]], %[[V]]]
// CHECK-NEXT:            %[[X:.*]] = tir.load %[[A]][%[[T]], %[[COL]]] : f32
// CHECK-NEXT:            tir.store %[[X]], %[[LA]][%[[I]], %[[V]]] : f32
// CHECK-NEXT:          }
// CHECK:           tir.for %[[I:.*]] = %c0 to %c4 {
// CHECK-NEXT:        tir.for %[[V:.*]] = %c0 to %c4 vectorized {
// CHECK:               tir.block "A_shared" {
// CHECK-NEXT:            tir.reads %[[A]]
// CHECK-NEXT:            tir.writes %[[SA]]
// CHECK-NEXT:            %[[X:.*]] = tir.load %[[LA]][%[[I]], %[[V]]] : f32
// CHECK-NEXT:            tir.store %[[X]], %[[SA]]
// CHECK:           tir.block {
// CHECK-NEXT:        tir.reads %[[B]]
// CHECK-NEXT:        tir.writes %[[LB]]
// CHECK:           tir.block "B_shared" annotations {mine = "kept"} {
// CHECK-NEXT:        tir.reads %[[B]]
// CHECK-NEXT:        tir.writes %[[SB]]
// CHECK-NEXT:        tir.load %[[LB]]
// CHECK:           tir.call "tvm_storage_sync"
// CHECK-NEXT:      tir.for
// CHECK-NEXT:        tir.block "init" {
// CHECK:             tir.block "C" {
// CHECK:               tir.load %[[SA]]
// CHECK:               tir.load %[[SB]]

// -----

// The loops start at 2 and %lo, the second extent is a parameter, and a value is shared
// by both blocks; %x is loaded before the inner loop.
// CASE: ManifestSharedMemoryLocalStage.2
tir.func @predicate(%a: !tir.handle, %o: !tir.handle, %seed: i32) attributes {global_symbol = "predicate"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %O = tir.match_buffer %o : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c64 = tir.const 64 : i32
  %lo = tir.floormod %seed, %c4 : i32
  %size = tir.floormod %seed, %c3 : i32
  %n = tir.add %size, %c2 : i32
  tir.block "outer" {
    tir.reads %A[%c0 to 8]
    tir.writes %O[%c0 to 64]
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    tir.for %z = %c0 to %c64 {
      %zz = tir.load %A[%c0] : f32
      tir.store %zz, %S[%z] : f32
    }
    tir.for %i = %c2 to %c2 + %c4 {
      %x = tir.load %A[%i] : f32
      tir.for %j = %lo to %lo + %n {
        %i8 = tir.mul %i, %c8 : i32
        %at = tir.add %i8, %j : i32
        %p = tir.cmp lt %j, %c4 : i32
        tir.block "S" where %p annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
          tir.reads %A[%i]
          tir.writes %S[%at]
          tir.store %x, %S[%at] : f32
        }
      }
    }
    tir.for %z = %c0 to %c64 {
      %y = tir.load %S[%z] : f32
      tir.store %y, %O[%z] : f32
    }
  }
}

// CHECK-LABEL: tir.func @predicate
// CHECK:         %[[S:.*]] = tir.alloc_buffer "S"
// CHECK:         %[[L:.*]] = tir.alloc_buffer "S_local" [%[[N:.*]]] : !tir.buffer<4x?xf32, "local">
// CHECK-NEXT:    tir.for %[[I:.*]] = %c2 to %c2 + %c4 {
// CHECK-NEXT:      %[[X:.*]] = tir.load
// CHECK-NEXT:      tir.for %[[J:.*]] = %lo to %lo + %[[N]] {
// CHECK:             %[[P:.*]] = tir.cmp lt
// CHECK:             %[[IX:.*]] = tir.sub %[[I]]
// CHECK:             %[[JX:.*]] = tir.sub %[[J]], %lo
// CHECK-NEXT:        tir.block where %[[P]] {
// CHECK-NEXT:          tir.reads
// CHECK-NEXT:          tir.writes %[[L]][%[[IX]], %[[JX]]]
// CHECK-NEXT:          tir.store %[[X]], %[[L]][%[[IX]], %[[JX]]] : f32
// CHECK:         tir.for %[[I:.*]] = %c2 to %c2 + %c4 {
// CHECK-NEXT:      tir.for %[[J:.*]] = %lo to %lo + %[[N]] {
// CHECK:             tir.block "S" where %{{.*}} {
// CHECK:               %[[X:.*]] = tir.load %[[L]]
// CHECK-NEXT:          tir.store %[[X]], %[[S]]

// -----

// Two blocks of one buffer, one without a loop, and in the body of the function.
tir.func @twice(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "twice"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %O = tir.match_buffer %o : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared.dyn">
  tir.block "one" annotations {tir.manifest_shared_memory_local_stage} {
    %x = tir.load %A[%c7] : f32
    tir.store %x, %S[%c0] : f32
  }
  tir.for %i = %c1 to %c1 + %c7 {
    tir.block "rest" annotations {tir.manifest_shared_memory_local_stage} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
  }
  tir.for %i = %c0 to %c8 {
    %x = tir.load %S[%i] : f32
    tir.store %x, %O[%i] : f32
  }
}

// CHECK-LABEL: tir.func @twice
// CHECK:         %[[S:.*]] = tir.alloc_buffer : !tir.buffer<8xf32, "shared.dyn">
// CHECK-NEXT:    %[[L:.*]] = tir.alloc_buffer : !tir.buffer<f32, "local">
// CHECK-NEXT:    %[[L7:.*]] = tir.alloc_buffer : !tir.buffer<7xf32, "local">
// CHECK-NEXT:    tir.block {
// CHECK-NEXT:      tir.load
// CHECK-NEXT:      tir.store %{{.*}}, %[[L]][]
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.block "one" {
// CHECK-NEXT:      %[[X:.*]] = tir.load %[[L]][]
// CHECK-NEXT:      tir.store %[[X]], %[[S]]
// CHECK:         tir.block {
// CHECK:           tir.store %{{.*}}, %[[L7]]
// CHECK:         tir.block "rest" {
// CHECK:           tir.load %[[L7]]
