// RUN: xdsl-opt %s --passes 'tir-gpu-schedule{target="cuda -arch=sm_80" tensor_cores=true tensor_core_tile=32 stages=3}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s --passes 'tir-gpu-schedule{target="cuda -arch=sm_80" tensor_cores=true tensor_core_tile=32 stages=1}' --split-input-file | filecheck %s --check-prefix WAITS
// RUN: xdsl-opt %s --passes 'tir-gpu-schedule{target="cuda -arch=sm_75" tensor_cores=true}' --split-input-file | filecheck %s --check-prefix THREADS

// Without `-p`, as threads race until tir-thread-sync: tests/unit executes such kernels.

// Copies run ahead of the product, which is first in a step. B is as it is in memory, so
// that its matrices are transposed as they are loaded.

tir.func @product(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64x64xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<64x32xf16>
  %C = tir.match_buffer "C" %c : !tir.buffer<64x32xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.for "i" %i = %c0 to %c64 {
    tir.for "j" %j = %c0 to %c32 {
      tir.for "k" %k = %c0 to %c64 {
        tir.block "C" (%vi : S in [%c0 to %c64] = %i, %vj : S in [%c0 to %c32] = %j, %vk : R in [%c0 to %c64] = %k) {
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %C[%vi, %vj] : f32
          }
          %before = tir.load %C[%vi, %vj] : f32
          %x = tir.load %A[%vi, %vk] : f16
          %wide_x = tir.cast %x : f16 to f32
          %y = tir.load %B[%vk, %vj] : f16
          %wide_y = tir.cast %y : f16 to f32
          %z = tir.mul %wide_x, %wide_y : f32
          %after = tir.add %before, %z : f32
          tir.store %after, %C[%vi, %vj] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @product
// CHECK:         tir.for "bx" %{{.*}} = %{{.*}} to %{{.*}} thread_binding "blockIdx.x"
// CHECK:         tir.for "ty" %{{.*}} = %{{.*}} to %{{.*}} thread_binding "threadIdx.y"
// CHECK:         tir.for "tx" %{{.*}} = %{{.*}} to %{{.*}} thread_binding "threadIdx.x"
// CHECK:         %{{.*}} = tir.alloc_buffer "sums" : !tir.buffer<8xf32, "local">
// CHECK:         tir.for "k" %{{.*}} annotations {software_pipeline_stage = [0 : i32, 0 : i32, 2 : i32], software_pipeline_order = [1 : i32, 2 : i32, 0 : i32], software_pipeline_async_stages = [0 : i32]}
// CHECK:           tir.alloc_buffer "a_tile" : !tir.buffer<32x32xf16, "shared.dyn">
// CHECK:           tir.alloc_buffer "b_tile" : !tir.buffer<32x32xf16, "shared.dyn">
// CHECK:           tir.block annotations {permuted_layout = "g2s_A"}
// CHECK:             tir.for "v" %{{.*}} = %{{.*}} to %{{.*}} vectorized
// CHECK:           tir.block annotations {permuted_layout = "g2s_B"}
// CHECK:           tir.block annotations {permuted_layout = "s2l"}
// CHECK:             tir.call "ptx_ldmatrix"(
// CHECK:             tir.call "ptx_ldmatrix"(
// CHECK:             tir.call "ptx_mma"

// WAITS-LABEL: tir.func @product
// WAITS-NOT:     software_pipeline
// WAITS:         tir.alloc_buffer "a_tile" : !tir.buffer<32x32xf16, "shared">
// WAITS:         tir.call "ptx_mma"

// THREADS-LABEL: tir.func @product
// THREADS-NOT:     ptx_
// THREADS:         tir.alloc_buffer "a_tile" : !tir.buffer<{{.*}}xf32, "shared">

// -----

// A product of f64 stays with the threads.

tir.func @wide(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf64>
  %B = tir.match_buffer "B" %b : !tir.buffer<16x16xf64>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf64>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for "i" %i = %c0 to %c16 {
    tir.for "j" %j = %c0 to %c16 {
      tir.for "k" %k = %c0 to %c16 {
        tir.block "C" (%vi : S in [%c0 to %c16] = %i, %vj : S in [%c0 to %c16] = %j, %vk : R in [%c0 to %c16] = %k) {
          tir.init {
            %zero = tir.const 0.0 : f64
            tir.store %zero, %C[%vi, %vj] : f64
          }
          %before = tir.load %C[%vi, %vj] : f64
          %x = tir.load %A[%vi, %vk] : f64
          %y = tir.load %B[%vk, %vj] : f64
          %z = tir.mul %x, %y : f64
          %after = tir.add %before, %z : f64
          tir.store %after, %C[%vi, %vj] : f64
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @wide
// CHECK-NOT:     ptx_
// CHECK:         tir.alloc_buffer "a_tile" : !tir.buffer<{{.*}}xf64, "shared">
