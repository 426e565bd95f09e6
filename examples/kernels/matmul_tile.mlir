// C = A @ B for 256x256 matrices on the GPU: every block of 16x16 threads computes a tile
// of C, and goes through A and B in tiles that it keeps in shared memory.
//
//   xdsl-opt matmul_tile.mlir -t 'ptx{arch="sm_80"}'
tir.func @matmul_tile(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {global_symbol = "matmul_tile", tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<256x256xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<256x256xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<256x256xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  %shared = tir.string "shared"
  tir.launch_thread %by = "blockIdx.y" to %c16 {
    tir.launch_thread %bx = "blockIdx.x" to %c16 {
      tir.launch_thread %ty = "threadIdx.y" to %c16 {
        tir.launch_thread %tx = "threadIdx.x" to %c16 {
          %a_memory = tir.allocate [256] : !tir.ptr<f32, "shared">
          %At = tir.decl_buffer "A_tile" %a_memory : !tir.buffer<16x16xf32, "shared">
          %b_memory = tir.allocate [256] : !tir.ptr<f32, "shared">
          %Bt = tir.decl_buffer "B_tile" %b_memory : !tir.buffer<16x16xf32, "shared">
          %sum_memory = tir.allocate [1] : !tir.ptr<f32, "local">
          %S = tir.decl_buffer "sum" %sum_memory : !tir.buffer<1xf32, "local">
          %row_start = tir.mul %by, %c16 : i32
          %row = tir.add %row_start, %ty : i32
          %column_start = tir.mul %bx, %c16 : i32
          %column = tir.add %column_start, %tx : i32
          tir.store %zero, %S[%c0] : f32
          tir.for %ko = %c0 to %c16 {
            %k_start = tir.mul %ko, %c16 : i32
            %a_column = tir.add %k_start, %tx : i32
            %x = tir.load %A[%row, %a_column] : f32
            tir.store %x, %At[%ty, %tx] : f32
            %b_row = tir.add %k_start, %ty : i32
            %y = tir.load %B[%b_row, %column] : f32
            tir.store %y, %Bt[%ty, %tx] : f32
            // The tiles are complete before anyone reads them,
            tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
            tir.for %ki = %c0 to %c16 {
              %p = tir.load %At[%ty, %ki] : f32
              %q = tir.load %Bt[%ki, %tx] : f32
              %product = tir.mul %p, %q : f32
              %before = tir.load %S[%c0] : f32
              %after = tir.add %before, %product : f32
              tir.store %after, %S[%c0] : f32
            }
            // and read by everyone before they are overwritten.
            tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
          }
          %result = tir.load %S[%c0] : f32
          tir.store %result, %C[%row, %column] : f32
        }
      }
    }
  }
}
