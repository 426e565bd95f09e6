"""Python around scripts: values, functions, macros. Only live definitions see it."""

import numpy as np

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import tir as T

SIZE = 16
DTYPE = "float32"
SHAPE = (4, 4)
WEIGHTS = np.arange(4, dtype="float32")


def square(x):
    return x * x


def neighbours(A, i):
    return [A[i], A[(i + 1) % SIZE]]


def scaled(factor):
    @T.prim_func
    def scale(A: T.Buffer((SIZE,), DTYPE)):
        for i in range(SIZE):
            A[i] = A[i] * T.float32(factor)

    return scale


scaled_by_two = scaled(2)
scaled_by_three = scaled(3)


@T.prim_func
def functions(A: T.Buffer((SIZE,), DTYPE), B: T.Buffer((SIZE,), DTYPE)):
    for i in range(SIZE):
        B[i] = square(A[i]) + sum(neighbours(A, i))


@T.prim_func
def starred(A: T.Buffer(SHAPE, DTYPE)):
    for i, j in T.grid(*SHAPE):
        A[i, j] = T.max(*[T.float32(1), A[i, j]])


@T.prim_func
def arrays(A: T.Buffer((4,), "float32")):
    p = T.allocate_const(WEIGHTS, "float32", [4])
    P = T.Buffer((4,), data=p)
    for i in range(4):
        A[i] = P[i]


@T.prim_func
def decided(A: T.Buffer((SIZE,), DTYPE)):
    if SIZE % 4 == 0:
        for i in T.vectorized(SIZE):
            A[i] = T.float32(1)
    else:
        for i in range(SIZE):
            A[i] = T.float32(1)


@T.macro
def add_to(B, i, x):
    B[i] = B[i] + x


@T.macro(hygienic=False)
def add_local(i):
    A[i] = A[i] + offset


@T.prim_func
def macros(A: T.Buffer((SIZE,), "int32")):
    for i in range(SIZE):
        add_to(A, i, 1)
        offset = i * 2
        add_local(i)


swap = T.index_map(lambda i, j: (j, i))


@T.prim_func
def mapped(A: T.Buffer((4, 8), DTYPE), B: T.Buffer((8, 4), DTYPE)):
    for i, j in T.grid(4, 8):
        place = T.meta_var([j, i])
        B[place[0], place[1]] = A[i, j]


@I.ir_module
class TakesOver:
    twice = scaled_by_two

    @T.prim_func
    def main(A: T.Buffer((SIZE,), DTYPE)):
        A[0] = T.float32(square(3))
