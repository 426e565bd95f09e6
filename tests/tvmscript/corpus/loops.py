"""Loops."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def ranges(A: T.Buffer((16,), "int32")):
    for i in range(8):
        A[i] = i
    for i in range(8, 16):
        A[i] = -i


@T.prim_func
def serial(A: T.Buffer((16,), "int32")):
    for i in T.serial(8):
        A[i] = i
    for i in T.serial(8, 16):
        A[i] = -i


@T.prim_func
def kinds(A: T.Buffer((4, 4, 4), "int32")):
    for i in T.parallel(4):
        for j in T.unroll(4):
            for k in T.vectorized(4):
                A[i, j, k] = i + j + k


@T.prim_func
def kinds_from(A: T.Buffer((4, 4, 4), "int32")):
    for i in T.parallel(1, 4):
        for j in T.unroll(1, 4):
            for k in T.vectorized(0, 4):
                A[i, j, k] = i * j * k


@T.prim_func
def annotated(A: T.Buffer((4, 4, 4, 4), "int32")):
    for i in T.serial(4, annotations={"software_pipeline_stage": [0, 1]}):
        for j in T.parallel(4, annotations={"note": "x", "factor": 0.5}):
            for k in T.unroll(4, annotations={"pragma_unroll_explicit": 1}):
                for m in T.vectorized(4, annotations={"nested": {"a": [1, 2]}}):
                    A[i, j, k, m] = 1


@T.prim_func
def grids(A: T.Buffer((2, 3, 4, 5), "int32")):
    for i in T.grid(2):
        A[i, 0, 0, 0] = 1
    for i, j in T.grid(2, 3):
        A[i, j, 0, 0] = 2
    for i, j, k in T.grid(2, 3, 4):
        A[i, j, k, 0] = 3
    for i, j, k, m in T.grid(2, 3, 4, 5):
        A[i, j, k, m] = 4


@T.prim_func
def grid_in_one_name(A: T.Buffer((2, 3), "int32")):
    for ij in T.grid(2, 3):
        A[ij[0], ij[1]] = ij[0] * ij[1]


@T.prim_func
def triangle(A: T.Buffer((8, 8), "int32")):
    for i in range(8):
        for j in range(i + 1):
            A[i, j] = i - j


@T.prim_func
def between(A: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(n, n + 8):
        A[i] = i


@T.prim_func
def wide_loops(A: T.Buffer((T.int64(16),), "int32")):
    for i in range(T.int64(16)):
        A[i] = T.Cast("int32", i)
    for i in T.serial(T.int64(4), T.int64(8)):
        A[i] = 0


@T.prim_func
def narrow_loops(A: T.Buffer((8,), "int32")):
    for i in range(T.uint8(8)):
        A[T.Cast("int32", i)] = 1
    for i in range(T.int16(8)):
        A[T.Cast("int32", i)] = 2


@T.prim_func
def symbolic_grid(a: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "int32")
    for i, j in T.grid(n, m):
        A[i, j] = i * m + j


@T.prim_func
def empty_loop(A: T.Buffer((4,), "int32")):
    for i in range(4):
        T.evaluate(0)
    for i in range(0):
        A[i] = 1


@T.prim_func
def while_loop(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    while B[0] < 8:
        A[B[0]] = B[0] * B[0]
        B[0] = B[0] + 1


@T.prim_func
def binary_search(A: T.Buffer((16,), "int32"), x: T.int32, low: T.Buffer((1,), "int32")):
    high = T.alloc_buffer((1,), "int32", scope="local")
    for i in range(16):
        A[i] = i * 2
    low[0] = 0
    high[0] = 16
    while low[0] < high[0]:
        middle: T.int32 = (low[0] + high[0]) // 2
        if A[middle] < x:
            low[0] = middle + 1
        else:
            high[0] = middle


@T.prim_func
def names_again(A: T.Buffer((8,), "int32")):
    for i in range(4):
        for j in range(2):
            A[i * 2 + j] = 0
    for i in range(4):
        for i_1 in range(2):
            A[i * 2 + i_1] += 1


@T.prim_func
def if_between_loops(A: T.Buffer((4, 4), "int32")):
    for i in range(4):
        if i % 2 == 0:
            for j in range(4):
                A[i, j] = 1


@T.prim_func
def thread_loops(A: T.Buffer((4, 8), "int32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(0, 8, thread="threadIdx.x"):
            A[i, j] = i * 8 + j


@T.prim_func
def thread_loops_annotated(A: T.Buffer((4, 8), "int32")):
    for i in T.thread_binding(4, "blockIdx.y"):
        for j in T.thread_binding(0, 8, "threadIdx.y", annotations={"note": 1}):
            A[i, j] = i + j
