"""Softmax of rows: three reductions and maps, with memory between them."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def softmax(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    most = T.alloc_buffer((n,), "float32")
    powers = T.alloc_buffer((n, m), "float32")
    total = T.alloc_buffer((n,), "float32")
    for i, k in T.grid(n, m):
        with T.block("most"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                most[vi] = T.min_value("float32")
            most[vi] = T.max(most[vi], A[vi, vk])
    for i, j in T.grid(n, m):
        with T.block("powers"):
            vi, vj = T.axis.remap("SS", [i, j])
            powers[vi, vj] = T.exp(A[vi, vj] - most[vi])
    for i, k in T.grid(n, m):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + powers[vi, vk]
    for i, j in T.grid(n, m):
        with T.block("quotient"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = powers[vi, vj] / total[vi]
