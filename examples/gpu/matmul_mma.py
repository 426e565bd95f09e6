"""`C = A @ B^T` on tensor cores: `ptx_ldmatrix` and `ptx_mma` on registers.

Two blocks of two warps; a warp computes 16 rows of 32 columns. The tiles of A and B are
copied to shared memory by all threads, 16 bytes each, while the tensor cores work on the
tiles of the step before. `permuted_layout` has the columns of the tiles permuted, so that
the 8 rows of a matrix are in different banks:

    xdsl-tvm opt examples/gpu/matmul_mma.py \\
        -p 'tir-default-pipeline{target="cuda" until="MakePackedAPI"}' -o kernel.mlir
    xdsl-tvm run kernel.mlir --function matmul_mma --interpret --bank-conflicts

Without the annotations a matrix takes 4 steps instead of 1.
"""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def matmul_mma(
    A: T.Buffer((32, 128), "float16"),
    B: T.Buffer((64, 128), "float16"),
    C: T.Buffer((32, 64), "float32"),
):
    T.func_attr({"global_symbol": "matmul_mma", "tir.noalias": True})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for ty in T.thread_binding(2, thread="threadIdx.y"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("tile"):
                    vbx, vty, vtx = T.axis.remap("SSS", [bx, ty, tx])
                    sums = T.alloc_buffer((16,), "float32", scope="local")
                    for i in T.unroll(16):
                        with T.block("init"):
                            vi = T.axis.spatial(16, i)
                            sums[vi] = T.float32(0)
                    for k in T.serial(
                        4,
                        annotations={
                            "software_pipeline_stage": [0, 0, 1],
                            "software_pipeline_order": [0, 1, 2],
                        },
                    ):
                        with T.block("step"):
                            vk = T.axis.reduce(4, k)
                            As = T.alloc_buffer((32, 32), "float16", scope="shared.dyn")
                            Bs = T.alloc_buffer((32, 32), "float16", scope="shared.dyn")
                            with T.block("copy_A"):
                                T.block_attr(
                                    {
                                        "auto_copy": 1,
                                        "vector_bytes": 16,
                                        "permuted_layout": "g2s_A",
                                    }
                                )
                                for i, j in T.grid(32, 32):
                                    As[i, j] = A[i, vk * 32 + j]
                            with T.block("copy_B"):
                                T.block_attr(
                                    {
                                        "auto_copy": 1,
                                        "vector_bytes": 16,
                                        "permuted_layout": "g2s_B",
                                    }
                                )
                                for i, j in T.grid(32, 32):
                                    Bs[i, j] = B[vbx * 32 + i, vk * 32 + j]
                            with T.block("multiply"):
                                T.reads(As[0:32, 0:32], Bs[0:32, 0:32], sums[0:16])
                                T.writes(sums[0:16])
                                T.block_attr({"permuted_layout": "s2l"})
                                a = T.alloc_buffer((8,), "float16", scope="local")
                                b = T.alloc_buffer((8,), "float16", scope="local")
                                for ks in T.unroll(2):
                                    # Rows 0 to 15 of the warp, columns 0 to 15 of ks.
                                    T.evaluate(
                                        T.ptx_ldmatrix(
                                            "float16",
                                            False,
                                            4,
                                            ".b16",
                                            a.data,
                                            0,
                                            As.access_ptr(
                                                "r",
                                                offset=(vty * 16 + vtx % 16) * 32
                                                + ks * 16
                                                + vtx // 16 * 8,
                                            ),
                                            0,
                                        )
                                    )
                                    for j in T.unroll(2):
                                        T.evaluate(
                                            T.ptx_ldmatrix(
                                                "float16",
                                                False,
                                                4,
                                                ".b16",
                                                b.data,
                                                0,
                                                Bs.access_ptr(
                                                    "r",
                                                    offset=(
                                                        j * 16 + vtx // 16 * 8 + vtx % 8
                                                    )
                                                    * 32
                                                    + ks * 16
                                                    + vtx % 16 // 8 * 8,
                                                ),
                                                0,
                                            )
                                        )
                                        for half in T.unroll(2):
                                            T.evaluate(
                                                T.ptx_mma(
                                                    "float32",
                                                    "m16n8k16",
                                                    "row",
                                                    "col",
                                                    "fp16",
                                                    "fp16",
                                                    "fp32",
                                                    a.data,
                                                    0,
                                                    b.data,
                                                    half * 4,
                                                    sums.data,
                                                    j * 8 + half * 4,
                                                    False,
                                                )
                                            )
                    for j, e in T.grid(4, 4):
                        with T.block("C"):
                            vj, ve = T.axis.remap("SS", [j, e])
                            C[
                                vty * 16 + vtx // 4 + ve // 2 * 8,
                                vbx * 32 + vj * 8 + vtx % 4 * 2 + ve % 2,
                            ] = sums[vj * 4 + ve]
