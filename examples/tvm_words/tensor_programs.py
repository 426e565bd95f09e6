"""Functions of TIR in TVM's words: written in three ways, compared, compiled, timed."""

import numpy as np

import xdsl_tvm as tvm
from xdsl_tvm.script import ir as I
from xdsl_tvm.script import tir as T

M = K = 8
dtype = "float32"


@I.ir_module
class Long:
    @T.prim_func
    def product(
        A: T.Buffer((8, 8), "float32"),
        B: T.Buffer((8, 8), "float32"),
        C: T.Buffer((8, 8), "float32"),
    ):
        P = T.alloc_buffer((8, 8), dtype="float32")
        for i in range(8):
            for j in range(8):
                for k in range(8):
                    with T.block("P"):
                        vi = T.axis.spatial(8, i)
                        vj = T.axis.spatial(8, j)
                        vk = T.axis.reduce(8, k)
                        T.reads(A[vi, vk], B[vk, vj])
                        T.writes(P[vi, vj])
                        with T.init():
                            P[vi, vj] = T.float32(0)
                        P[vi, vj] = P[vi, vj] + A[vi, vk] * B[vk, vj]
        for i in range(8):
            for j in range(8):
                with T.block("C"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(8, j)
                    T.reads(P[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = T.max(P[vi, vj], T.float32(0))


@I.ir_module
class Short:
    @T.prim_func
    def product(
        A: T.Buffer((M, K), dtype), B: T.Buffer((K, M), dtype), C: T.Buffer((M, M), dtype)
    ):
        P = T.alloc_buffer((M, M), dtype)
        for i, j, k in T.grid(M, M, K):
            with T.block("P"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    P[vi, vj] = T.cast(T.float32(0), dtype)
                P[vi, vj] = P[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(M, M):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(P[vi, vj], T.cast(T.float32(0), dtype))


@T.prim_func
def shift(x: T.handle, y: T.handle):
    n, m = T.int64(), T.int64()
    X = T.match_buffer(x, (n, m), "float32")
    Y = T.match_buffer(y, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("shift"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] + T.float32(1)


# The second module is the first, in fewer words, with numbers from Python.
assert tvm.ir.structural_equal(Long, Short)
assert tvm.ir.structural_hash(Long) == tvm.ir.structural_hash(Short)
tvm.ir.assert_structural_equal(Long["product"], Short["product"])
Short.show()

library = tvm.tir.build(Short, target="llvm")
rng = np.random.default_rng(0)
a = rng.normal(size=(M, K)).astype(dtype)
b = rng.normal(size=(K, M)).astype(dtype)
out = tvm.nd.empty((M, M), dtype)
library(tvm.nd.array(a), tvm.nd.array(b), out)
tvm.testing.assert_allclose(out.numpy(), np.maximum(a @ b, 0), rtol=1e-5, atol=1e-5)
timer = library.time_evaluator(library.entry_name, tvm.cpu(), number=10, repeat=2)
print(timer(tvm.nd.array(a), tvm.nd.array(b), out))

# Extents are bound when the function is called.
dynamic = tvm.compile(shift, target="llvm")
for shape in ((2, 3), (5, 1)):
    out = tvm.nd.array(np.zeros(shape, dtype))
    dynamic(tvm.nd.array(np.ones(shape, dtype)), out)
    tvm.testing.assert_allclose(out, np.full(shape, 2.0))
