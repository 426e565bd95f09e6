"""Thread axes, shared memory, reductions and shuffles, matrix units."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def launch(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    B[bx * 32 + tx] = A[bx * 32 + tx] + T.float32(1)


@T.prim_func
def launch_scoped(A: T.Buffer((64,), "float32")):
    with T.launch_thread("blockIdx.x", 2) as bx:
        with T.launch_thread("threadIdx.x", 32) as tx:
            A[bx * 32 + tx] = T.float32(1)
    with T.launch_thread("threadIdx.x", 64) as tx:
        A[tx] = A[tx] + T.float32(1)


@T.prim_func
def shared_axis(A: T.Buffer((64,), "float32")):
    tx = T.env_thread("threadIdx.x")
    with T.launch_thread(tx, 64):
        A[tx] = T.float32(1)
    with T.launch_thread(tx, 64):
        A[tx] = A[tx] * T.float32(2)


@T.prim_func
def wide_axis(A: T.Buffer((T.int64(64),), "float32")):
    tx = T.launch_thread("threadIdx.x", T.int64(64))
    A[tx] = T.float32(1)


@T.prim_func
def axis_of_other_dtype(A: T.Buffer((64,), "float32")):
    tx = T.env_thread("threadIdx.x", dtype="int64")
    T.launch_thread(tx, T.int64(64))
    A[tx] = T.float32(1)


@T.prim_func
def axes(A: T.Buffer((2, 2, 2, 2, 2, 2), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    by = T.launch_thread("blockIdx.y", 2)
    bz = T.launch_thread("blockIdx.z", 2)
    tx = T.launch_thread("threadIdx.x", 2)
    ty = T.launch_thread("threadIdx.y", 2)
    tz = T.launch_thread("threadIdx.z", 2)
    A[bx, by, bz, tx, ty, tz] = T.float32(1)


@T.prim_func
def virtual_threads(A: T.Buffer((4, 8), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    vx = T.launch_thread("vthread", 4)
    A[vx, tx] = T.float32(1)


@T.prim_func
def virtual_thread_loops(A: T.Buffer((4, 2, 8), "float32")):
    for vx in T.thread_binding(4, thread="vthread.x"):
        for vy in T.thread_binding(2, thread="vthread.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                A[vx, vy, tx] = T.float32(1)


@T.prim_func
def iteration_variables(A: T.Buffer((8,), "float32")):
    tx = T.int32()
    axis = T.meta_var(T.iter_var(tx, T.Range(0, 8), "ThreadIndex", "threadIdx.x"))
    T.attr(axis, "thread_extent", 8)
    A[tx] = T.float32(1)


@T.prim_func
def shared_memory(A: T.Buffer((2, 32), "float32"), B: T.Buffer((2, 32), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("reverse"):
                S = T.alloc_buffer((32,), scope="shared")
                S[tx] = A[bx, tx]
                T.tvm_storage_sync("shared")
                B[bx, tx] = S[31 - tx]


@T.prim_func
def low_level_kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"target": T.target("cuda"), "tir.noalias": True})
    bx = T.launch_thread("blockIdx.x", 2)
    s = T.allocate([32], "float32", "shared")
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.decl_buffer((32,), data=s, scope="shared")
    S[tx] = A[bx * 32 + tx]
    T.evaluate(T.tvm_storage_sync("shared"))
    B[bx * 32 + tx] = S[31 - tx]


@T.prim_func
def all_reduce(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    r = T.allocate([1], "float32", "local")
    R = T.decl_buffer((1,), data=r, scope="local")
    with T.attr(
        T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
        "reduce_scope",
        T.reinterpret("handle", T.uint64(0)),
    ):
        T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), R[0], tx)
    if tx == 0:
        B[0] = R[0]


@T.prim_func
def arg_reduce(
    A: T.Buffer((32,), "float32"),
    B: T.Buffer((1,), "float32"),
    C: T.Buffer((1,), "int32"),
):
    tx = T.launch_thread("threadIdx.x", 32)
    value = T.decl_buffer((1,), "float32", scope="local")
    index = T.decl_buffer((1,), "int32", scope="local")
    with T.attr(
        T.comm_reducer(
            lambda v0, i0, v1, i1: (
                T.Select(v0 >= v1, v0, v1),
                T.Select(v0 >= v1, i0, i1),
            ),
            [T.min_value("float32"), -1],
        ),
        "reduce_scope",
        T.reinterpret("handle", T.uint64(0)),
    ):
        T.tvm_thread_allreduce(
            T.uint32(2), A[tx], tx, T.bool(True), value[0], index[0], tx
        )
    if tx == 0:
        B[0] = value[0]
        C[0] = index[0]


@T.prim_func
def shuffles(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    x = T.decl_buffer((1,), "float32", scope="local")
    mask = T.decl_buffer((1,), "uint32", scope="local")
    x[0] = A[tx]
    mask[0] = T.tvm_warp_activemask()
    x[0] = x[0] + T.tvm_warp_shuffle_down(mask[0], x[0], 16, 32, 32)
    x[0] = x[0] + T.tvm_warp_shuffle_up(mask[0], x[0], 1, 32, 32)
    x[0] = T.tvm_warp_shuffle(mask[0], x[0], 0, 32, 32)
    B[tx] = x[0]


@T.prim_func
def sum_of_a_warp(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    tx = T.launch_thread("threadIdx.x", 32)
    B[tx] = T.ptx_redux_sync("add", T.uint32(0xFFFFFFFF), A[tx])


@T.prim_func
def asynchronous_copy(A: T.Buffer((32, 4), "float32"), B: T.Buffer((32, 4), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.decl_buffer((128,), "float32", scope="shared")
    T.ptx_cp_async("float32", S.data, tx * 4, A.data, tx * 4, 16)
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    for i in range(4):
        B[tx, i] = S[tx * 4 + i]


@T.prim_func
def counting_barriers():
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.decl_buffer((128,), "float32", scope="shared")
    T.create_barriers(1)
    T.ptx_init_barrier_thread_count(0, 32)
    T.ptx_cp_async_barrier(0)
    T.ptx_arrive_barrier(0)
    T.ptx_arrive_barrier_expect_tx(0, 16)
    T.ptx_wait_barrier(0)
    S[tx] = T.float32(0)


@T.prim_func
def bulk_copy(A: T.Buffer((128,), "float32")):
    tx = T.launch_thread("threadIdx.x", 1)
    S = T.decl_buffer((128,), "float32", scope="shared")
    T.ptx_cp_async_bulk("float32", S.data, tx, A.data, 0, 512, 0)


@T.prim_func
def tensor_copies_and_products_of_warpgroups(
    A: T.Buffer((64, 64), "float16"),
    B: T.Buffer((8, 64), "float16"),
    C: T.Buffer((64, 8), "float32"),
):
    a_map = T.tensormap_encode_tiled(A.data, 128, 64, 64, 64, 64, 64)
    b_map = T.tensormap_encode_tiled(B.data, 128, 8, 64, 64, 8, 64)
    tx = T.launch_thread("threadIdx.x", 128)
    tiles = T.decl_buffer((4608,), "float16", scope="shared.dyn")
    sums = T.decl_buffer((4,), "float32", scope="local")
    T.create_barriers(1)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 1)
        T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    if tx == 0:
        T.ptx_arrive_barrier_expect_tx(0, 9216)
        T.ptx_cp_async_bulk_tensor(tiles.data, 0, a_map, 8192, 0, 0, 0)
        T.ptx_cp_async_bulk_tensor(tiles.data, 4096, b_map, 1024, 0, 0, 0)
    for i in T.unroll(4):
        sums[i] = T.float32(0)
    T.ptx_wait_barrier(0, 0)
    T.ptx_wgmma_fence()
    for t in T.unroll(4):
        T.ptx_wgmma_mma_async(
            "m64n8k16",
            "row",
            "col",
            "fp16",
            "fp16",
            "fp32",
            tiles.data,
            t * 16,
            tiles.data,
            4096 + t * 16,
            sums.data,
            0,
        )
    T.ptx_wgmma_commit_group()
    T.ptx_wgmma_wait_group(0)
    for i in T.unroll(4):
        row = T.meta_var(tx // 32 * 16 + tx % 32 // 4 + i // 2 * 8)
        C[row, tx % 4 * 2 + i % 2] = sums[i]


@T.prim_func
def matrix_fragments(
    A: T.Buffer((16, 16), "float16"),
    B: T.Buffer((16, 16), "float16"),
    C: T.Buffer((16, 16), "float32"),
):
    T.launch_thread("threadIdx.x", 32)
    a = T.decl_buffer((16, 16), "float16", scope="wmma.matrix_a")
    b = T.decl_buffer((16, 16), "float16", scope="wmma.matrix_b")
    c = T.decl_buffer((16, 16), "float32", scope="wmma.accumulator")
    T.tvm_fill_fragment(c.data, 16, 16, 16, 0, T.float32(0))
    T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major")
    T.tvm_load_matrix_sync(b.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "row_major")
    T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0)
    T.tvm_store_matrix_sync(c.data, 16, 16, 16, 0, C.access_ptr("w"), 16, "row_major")


@T.prim_func
def bit_fragments():
    T.launch_thread("threadIdx.x", 32)
    a = T.decl_buffer((8, 8), "int32", scope="wmma.matrix_a")
    b = T.decl_buffer((8, 8), "int32", scope="wmma.matrix_b")
    c = T.decl_buffer((8, 8), "int32", scope="wmma.accumulator")
    T.tvm_bmma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0)


@T.prim_func
def tensor_cores(C: T.Buffer((32, 8), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    a = T.decl_buffer((8,), "float16", scope="local")
    b = T.decl_buffer((4,), "float16", scope="local")
    c = T.decl_buffer((4,), "float32", scope="local")
    s = T.decl_buffer((256,), "float16", scope="shared")
    T.mma_fill("float32", 4, c.data, 0)
    T.ptx_ldmatrix(
        "float16",
        T.bool(False),
        4,
        ".b16",
        a.data,
        0,
        s.data,
        tx % 16 * 16 + tx // 16 * 8,
    )
    T.ptx_ldmatrix("float16", T.bool(True), 2, ".b16", b.data, 0, s.data, tx % 16 * 16)
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
        0,
        c.data,
        0,
        T.bool(False),
    )
    T.mma_store("float32", 16, 16, C.data, c.data, 0, 16)


@T.prim_func
def sparse_tensor_cores():
    T.launch_thread("threadIdx.x", 32)
    a = T.decl_buffer((4,), "float16", scope="local")
    b = T.decl_buffer((4,), "float16", scope="local")
    c = T.decl_buffer((4,), "float32", scope="local")
    m = T.decl_buffer((1,), "uint32", scope="local")
    T.ptx_mma_sp(
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
        0,
        c.data,
        0,
        m.data,
        0,
        0,
        T.bool(False),
    )


@T.prim_func
def simdgroups(A: T.Buffer((8, 8), "float32")):
    T.launch_thread("threadIdx.x", 32)
    a = T.decl_buffer((64,), "float32", scope="metal.simdgroup")
    b = T.decl_buffer((64,), "float32", scope="metal.simdgroup")
    T.make_filled_simdgroup_matrix(a.data, 0, T.float32(0), 8, 8)
    T.simdgroup_load(b.data, 0, A.data, 8, 8, 8, T.bool(False))
    T.simdgroup_multiply_accumulate(a.data, 0, a.data, 0, b.data, 0, a.data, 0)
    T.simdgroup_store(a.data, 0, A.data, 8, 8, 8, T.bool(False))


@T.prim_func
def tile(
    A: T.Buffer((32, 32), "float32"),
    B: T.Buffer((32, 32), "float32"),
    C: T.Buffer((32, 32), "float32"),
):
    for by in T.thread_binding(4, thread="blockIdx.y"):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for ty in T.thread_binding(8, thread="threadIdx.y"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    with T.block("tile"):
                        a = T.alloc_buffer((8, 8), scope="shared")
                        b = T.alloc_buffer((8, 8), scope="shared")
                        s = T.alloc_buffer((1,), scope="local")
                        s[0] = T.float32(0)
                        for k in range(4):
                            a[ty, tx] = A[by * 8 + ty, k * 8 + tx]
                            b[ty, tx] = B[k * 8 + ty, bx * 8 + tx]
                            T.tvm_storage_sync("shared")
                            for m in range(8):
                                s[0] += a[ty, m] * b[m, tx]
                            T.tvm_storage_sync("shared")
                        C[by * 8 + ty, bx * 8 + tx] = s[0]
