"""A loop of 30 split into 4 x 8: the predicate of the block leaves two instances out."""

from xdsl_tvm.tvmscript import tir as T

N = 30


@T.prim_func
def split_with_predicate(A: T.Buffer((N,), "int32"), B: T.Buffer((N,), "int32")):
    for i_0, i_1 in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(N, i_0 * 8 + i_1)
            T.where(i_0 * 8 + i_1 < N)
            B[vi] = T.if_then_else(vi == 0, 0, A[T.max(vi - 1, 0)]) + A[vi]
