"""What lowered TIR looks like: pointers, allocations, views, vectors, attributes."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def low_level(A: T.Buffer((8, 16), "float16"), B: T.Buffer((8,), "float32")):
    T.func_attr({"target": T.target("llvm"), "tir.noalias": True})
    A_flat = T.decl_buffer((128,), "float16", data=A.data)
    for i in T.parallel(8):
        sums = T.allocate([4], "float32", "local")
        S = T.decl_buffer((4,), data=sums, scope="local")
        S[0:4] = T.Broadcast(T.float32(0), 4)
        with T.attr(0, "pragma_auto_unroll_max_step", 4):
            for j in range(4):
                S[0:4] = S[0:4] + T.Cast(
                    "float32x4", A_flat[i * 16 + j * 4 : i * 16 + j * 4 + 4]
                )
        low: T.float32 = S[0] + S[1]
        high: T.float32 = S[2] + S[3]
        assert T.abs(low + high) < T.float32(60000), "the sum is finite"
        B[i] = low + high
