// C = A + B on the GPU: blocks of 256 threads, one element per thread.
//
//   xdsl-opt vector_add.mlir -t 'ptx{arch="sm_90"}'
//
// `n` is bound by the first buffer at run time; the last block is guarded.
tir.func @vector_add(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {global_symbol = "vector_add", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %C = tir.match_buffer "C" %c [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c255 = tir.const 255 : i32
  %c256 = tir.const 256 : i32
  %rounded = tir.add %n, %c255 : i32
  %blocks = tir.floordiv %rounded, %c256 : i32
  tir.for %bx = %c0 to %blocks thread_binding "blockIdx.x" {
    tir.for %tx = %c0 to %c256 thread_binding "threadIdx.x" {
      %start = tir.mul %bx, %c256 : i32
      %i = tir.add %start, %tx : i32
      %inside = tir.cmp lt %i, %n : i32
      tir.block "C" (%vi : S in [%c0 to %n] = %i) where %inside {
        tir.reads %A[%vi], %B[%vi]
        tir.writes %C[%vi]
        %x = tir.load %A[%vi] : f32
        %y = tir.load %B[%vi] : f32
        %sum = tir.add %x, %y : f32
        tir.store %sum, %C[%vi] : f32
      }
    }
  }
}
