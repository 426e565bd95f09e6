// RUN: xdsl-opt %s -p tir-join-launches --split-input-file | filecheck %s

// Two launches pass on shared memory; a third between them does not.

tir.func @passed(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "passed"} {
  %c0 = tir.const 0 : i32
  %c63 = tir.const 63 : i32
  %c64 = tir.const 64 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  tir.block "root" {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    tir.reads
    tir.writes
    tir.for %t = %c0 to %c64 thread_binding "threadIdx.x" {
      %x = tir.load %A[%t] : f32
      tir.store %x, %S[%t] : f32
    }
    %one = tir.const 1.0 : f32
    tir.for %u = %c0 to %c64 thread_binding "threadIdx.x" {
      tir.store %one, %A[%u] : f32
    }
    tir.for %v = %c0 to %c64 thread_binding "threadIdx.x" {
      %i = tir.sub %c63, %v : i32
      %y = tir.load %S[%i] : f32
      tir.store %y, %B[%v] : f32
    }
  }
}

// CHECK-LABEL: tir.func @passed
// CHECK:         tir.alloc_buffer "S"
// CHECK-DAG:     %[[ONE:.*]] = tir.const 1.{{.*}} : f32
// CHECK-DAG:     %[[SHARED:.*]] = tir.string "shared"
// CHECK:         tir.for "b" %{{.*}} = %{{.*}} to %{{.*}} thread_binding "blockIdx.x" {
// CHECK-NEXT:      tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.load
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.call "tvm_storage_sync"(%[[SHARED]]) : (!tir.handle) -> ()
// CHECK-NEXT:      tir.for %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.store %[[ONE]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.call "tvm_storage_sync"(%[[SHARED]]) : (!tir.handle) -> ()
// CHECK-NEXT:      tir.for %{{.*}} thread_binding "threadIdx.x" {

// -----

// Other extents, blocks of threads, one launch, and memory that is not shared.

tir.func @apart(%a: !tir.handle) attributes {global_symbol = "apart"} {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %one = tir.const 1.0 : f32
  tir.block "root" {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
    %T = tir.alloc_buffer "T" : !tir.buffer<64xf32, "shared">
    %U = tir.alloc_buffer "U" : !tir.buffer<64xf32, "shared">
    %G = tir.alloc_buffer "G" : !tir.buffer<64xf32>
    tir.reads
    tir.writes
    tir.for %t = %c0 to %c64 thread_binding "threadIdx.x" {
      tir.store %one, %S[%t] : f32
    }
    tir.for %u = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.store %one, %S[%u] : f32
    }
    tir.for %b = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %v = %c0 to %c64 thread_binding "threadIdx.x" {
        tir.store %one, %T[%v] : f32
      }
    }
    tir.for %d = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %w = %c0 to %c64 thread_binding "threadIdx.x" {
        tir.store %one, %T[%w] : f32
      }
    }
    tir.for %x = %c0 to %c64 thread_binding "threadIdx.x" {
      tir.store %one, %U[%x] : f32
      tir.store %one, %G[%x] : f32
    }
    tir.for %y = %c0 to %c64 thread_binding "threadIdx.x" {
      %z = tir.load %G[%y] : f32
      tir.store %z, %A[%y] : f32
    }
  }
}

// CHECK-LABEL: tir.func @apart
// CHECK-NOT:     tvm_storage_sync
