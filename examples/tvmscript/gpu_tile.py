"""A GPU kernel: 8 x 8 threads load tiles into shared memory and multiply them.

Without one of the two barriers, `xdsl-tvm run --interpret` reports a race.
"""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def gpu_tile(
    A: T.Buffer((16, 32), "float32"),
    B: T.Buffer((32, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for by in T.thread_binding(2, thread="blockIdx.y"):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for ty in T.thread_binding(8, thread="threadIdx.y"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    with T.block("tile"):
                        T.reads(A[by * 8 + ty, 0:32], B[0:32, bx * 8 + tx])
                        T.writes(C[by * 8 + ty, bx * 8 + tx])
                        A_tile = T.alloc_buffer((8, 8), scope="shared")
                        B_tile = T.alloc_buffer((8, 8), scope="shared")
                        total = T.alloc_buffer((1,), scope="local")
                        total[0] = T.float32(0)
                        for k_0 in range(4):
                            A_tile[ty, tx] = A[by * 8 + ty, k_0 * 8 + tx]
                            B_tile[ty, tx] = B[k_0 * 8 + ty, bx * 8 + tx]
                            T.tvm_storage_sync("shared")
                            for k_1 in range(8):
                                total[0] += A_tile[ty, k_1] * B_tile[k_1, tx]
                            T.tvm_storage_sync("shared")
                        C[by * 8 + ty, bx * 8 + tx] = total[0]
