"""A matrix product in tiles: a parallel loop over rows of tiles, vectors along rows.

The block says what is computed and reduced; the loops around it say in which order.
"""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def tiled_matmul(
    A: T.Buffer((64, 64), "float32"),
    B: T.Buffer((64, 64), "float32"),
    C: T.Buffer((64, 64), "float32"),
):
    T.func_attr({"tir.noalias": True})
    for i_0 in T.parallel(8):
        for j_0 in range(8):
            for k_0 in range(16):
                for k_1 in T.unroll(4):
                    for i_1 in range(8):
                        for j_1 in T.vectorized(8):
                            with T.block("C"):
                                vi = T.axis.spatial(64, i_0 * 8 + i_1)
                                vj = T.axis.spatial(64, j_0 * 8 + j_1)
                                vk = T.axis.reduce(64, k_0 * 4 + k_1)
                                T.reads(A[vi, vk], B[vk, vj])
                                T.writes(C[vi, vj])
                                with T.init():
                                    C[vi, vj] = T.float32(0)
                                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
