"""Spellings of newer TVM that mean what older ones do."""

from xdsl_tvm.tvmscript import tir as T


@T.inline
def set_zero(S, i):
    S[i] = T.float32(0)


@T.prim_func(s_tir=True)
def blocks(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    S = T.sblock_alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 8):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(S[vi])
            T.sblock_attr({"note": 1})
            with T.init():
                set_zero(S, vi)
            S[vi] = S[vi] + A[vi, vk]
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = S[vi] * T.float32(0.125)


@T.prim_func
def short_memory(A: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("reverse"):
            S = T.alloc_shared((32,))
            r = T.alloc_local((1,), "float32")
            r[0] = A[tx]
            S[tx] = r[0]
            T.tvm_storage_sync("shared")
            A[tx] = S[31 - tx]


@T.prim_func
def bindings(A: T.Buffer((8,), "int32"), n: T.int32):
    x: T.let = n * 2
    y: T.let[T.int32] = x + 1
    for i in range(8):
        A[i] = x + y


@T.prim_func
def named_sizes(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(B.shape[0]):
        B[i] = A[i, 0] + A[i, 3]
