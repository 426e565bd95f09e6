"""`C = A @ B^T` on tensor cores: fragments of WMMA, whose registers are opaque.

Two blocks of two warps; a warp computes 16 rows of 32 columns. A row of the tiles in
shared memory has 8 elements more than are used, so that rows begin in different banks;
fragments are loaded from any layout with a constant stride, but not from a permuted one.

    xdsl-tvm opt examples/gpu/matmul_wmma.py \\
        -p 'tir-default-pipeline{target="cuda" until="MakePackedAPI"}' -o kernel.mlir
    xdsl-tvm run kernel.mlir --function matmul_wmma --interpret
"""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def matmul_wmma(
    A: T.Buffer((32, 64), "float16"),
    B: T.Buffer((64, 64), "float16"),
    C: T.Buffer((32, 64), "float32"),
):
    T.func_attr({"global_symbol": "matmul_wmma", "tir.noalias": True})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for ty in T.thread_binding(2, thread="threadIdx.y"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("tile"):
                    vbx, vty, vtx = T.axis.remap("SSS", [bx, ty, tx])
                    T.reads(A[0:32, 0:64], B[vbx * 32 : vbx * 32 + 32, 0:64])
                    T.writes(C[vty * 16 : vty * 16 + 16, vbx * 32 : vbx * 32 + 32])
                    sums = T.alloc_buffer(
                        (2, 16, 16), "float32", scope="wmma.accumulator"
                    )
                    for j in T.unroll(2):
                        with T.block("init"):
                            vj = T.axis.spatial(2, j)
                            T.reads()
                            T.writes(sums[vj, 0:16, 0:16])
                            T.tvm_fill_fragment(sums.data, 16, 16, 16, vj, T.float32(0))
                    for k in T.serial(2):
                        with T.block("step"):
                            vk = T.axis.reduce(2, k)
                            T.reads(
                                A[0:32, vk * 32 : vk * 32 + 32],
                                B[vbx * 32 : vbx * 32 + 32, vk * 32 : vk * 32 + 32],
                                sums[0:2, 0:16, 0:16],
                            )
                            T.writes(sums[0:2, 0:16, 0:16])
                            As = T.alloc_buffer((32, 40), "float16", scope="shared")
                            Bs = T.alloc_buffer((32, 40), "float16", scope="shared")
                            with T.block("copy_A"):
                                T.block_attr({"auto_copy": 1, "vector_bytes": 16})
                                for i, j in T.grid(32, 32):
                                    As[i, j] = A[i, vk * 32 + j]
                            with T.block("copy_B"):
                                T.block_attr({"auto_copy": 1, "vector_bytes": 16})
                                for i, j in T.grid(32, 32):
                                    Bs[i, j] = B[vbx * 32 + i, vk * 32 + j]
                            with T.block("multiply"):
                                T.reads(
                                    As[0:32, 0:40], Bs[0:32, 0:40], sums[0:2, 0:16, 0:16]
                                )
                                T.writes(sums[0:2, 0:16, 0:16])
                                a = T.alloc_buffer(
                                    (16, 16), "float16", scope="wmma.matrix_a"
                                )
                                b = T.alloc_buffer(
                                    (16, 16), "float16", scope="wmma.matrix_b"
                                )
                                for ks in T.unroll(2):
                                    T.tvm_load_matrix_sync(
                                        a.data,
                                        16,
                                        16,
                                        16,
                                        0,
                                        As.access_ptr("r", offset=vty * 640 + ks * 16),
                                        40,
                                        "row_major",
                                    )
                                    for j in T.unroll(2):
                                        # A tile of B^T by columns is one of B by rows.
                                        T.tvm_load_matrix_sync(
                                            b.data,
                                            16,
                                            16,
                                            16,
                                            0,
                                            Bs.access_ptr("r", offset=j * 640 + ks * 16),
                                            40,
                                            "col_major",
                                        )
                                        T.tvm_mma_sync(
                                            sums.data,
                                            j,
                                            a.data,
                                            0,
                                            b.data,
                                            0,
                                            sums.data,
                                            j,
                                        )
                    for j in T.unroll(2):
                        with T.block("C"):
                            vj = T.axis.spatial(2, j)
                            T.reads(sums[vj, 0:16, 0:16])
                            T.writes(
                                C[
                                    vty * 16 : vty * 16 + 16,
                                    vbx * 32 + vj * 16 : vbx * 32 + vj * 16 + 16,
                                ]
                            )
                            T.tvm_store_matrix_sync(
                                sums.data,
                                16,
                                16,
                                16,
                                vj,
                                C.access_ptr("w", offset=vty * 1024 + vbx * 32 + vj * 16),
                                64,
                                "row_major",
                            )
