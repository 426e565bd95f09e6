"""Vectors: slices, ramps, broadcasts, shuffles, masks, scalable vectors."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def slices(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B[i * 4 : i * 4 + 4] = A[i * 4 : i * 4 + 4] + T.Broadcast(T.float32(1), 4)


@T.prim_func
def slices_with_steps(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    B[0:8] = A[0:16:2]
    B[8:16] = A[1:16:2] * T.int32x8(2)


@T.prim_func
def whole_rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        B[i, 0:8] = T.exp(A[i, 0:8])


@T.prim_func
def ramps(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(4):
        B[T.Ramp(i, 4, 4)] = A[T.ramp(i * 4, 1, 4)] + T.Ramp(i, 1, 4)


@T.prim_func
def descending(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    B[0:16] = A[T.Ramp(15, -1, 16)]


@T.prim_func
def broadcasts(A: T.Buffer((16,), "float32"), x: T.float32):
    A[0:8] = T.broadcast(x, 8)
    A[8:16] = T.Broadcast(x + T.float32(1), 8)


@T.prim_func
def shuffled(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    B[0:4] = T.Shuffle([A[0:4], A[4:8]], [7, 5, 2, 0])
    B[4] = T.Shuffle([A[0:4]], [2])
    B[5:8] = T.Shuffle([A[0], A[2], A[4]], [0, 1, 2])


@T.prim_func
def gathered(A: T.Buffer((16,), "float32"), I: T.Buffer((4,), "int32")):
    for i in range(4):
        I[i] = 15 - 3 * i
    A[0:4] = A[I[0:4]]


@T.prim_func
def masks(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        B[i] = T.float32(0)
    for i in range(4):
        B.vstore(
            [T.Ramp(i * 4, 1, 4)],
            A.vload(
                [T.Ramp(i * 4, 1, 4)],
                predicate=T.get_active_lane_mask("uint1x4", i * 4, n),
            ),
            predicate=T.get_active_lane_mask("uint1x4", i * 4, n),
        )


@T.prim_func
def masked_store(A: T.Buffer((16,), "float32"), n: T.int32):
    T.buffer_store(
        A,
        T.Broadcast(T.float32(1), 16),
        [T.Ramp(0, 1, 16)],
        T.Ramp(0, 1, 16) < T.Broadcast(n, 16),
    )


@T.prim_func
def vector_choices(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    B[0:8] = T.Select(A[0:8] > 3, A[0:8], T.Broadcast(3, 8))


@T.prim_func
def vector_logic(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "bool")):
    B[0:4] = A[0:4] > 3 and A[4:8] < 2
    B[4:8] = T.Or(A[0:4] > T.Broadcast(3, 4), T.Not(A[4:8] < T.Broadcast(2, 4)))


@T.prim_func
def vector_casts(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int8")):
    B[0:8] = T.Cast("int8x8", A[0:8])
    A[0:8] = T.Cast("float32x8", B[0:8])


@T.prim_func
def vector_arithmetic(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    B[0:8] = T.max(T.min(A[0:8] * 2 - 1, T.Broadcast(5, 8)), A[0:8] // 3) + A[0:8] % 4


@T.prim_func
def vector_memory(A: T.Buffer((4,), "float16x8"), B: T.Buffer((4,), "float16x8")):
    for i in range(4):
        B[i] = A[i] * T.Broadcast(T.float16(2), 8)


@T.prim_func
def halves(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    B[0:4] = T.vectorlow("int32x4", A[0:8])
    B[4:8] = T.vectorhigh("int32x4", A[0:8])
    A[0:8] = T.vectorcombine("int32x8", B[4:8], B[0:4])


@T.prim_func
def scalable(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i in range(128 // (T.vscale() * 4)):
        B[T.Ramp(i * (T.vscale() * 4), 1, T.vscale() * 4)] = A[
            T.Ramp(i * (T.vscale() * 4), 1, T.vscale() * 4)
        ] + T.Broadcast(T.float32(1), T.vscale() * 4)


@T.prim_func
def scalable_slice(A: T.Buffer((128,), "float32")):
    A[0 : T.vscale() * 4] = T.Broadcast(T.float32(1), T.vscale() * 4)


@T.prim_func
def scalable_mask(A: T.Buffer((128,), "float32"), n: T.int32):
    A.vstore(
        [T.Ramp(0, 1, T.vscale() * 4)],
        T.Broadcast(T.float32(1), T.vscale() * 4),
        predicate=T.get_active_lane_mask("uint1xvscalex4", 0, n),
    )


@T.prim_func
def vectorized_loop(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i in T.parallel(8):
        for j in T.vectorized(4):
            B[i, j] = T.max(A[i, j], T.float32(0))


@T.prim_func
def dot_products(A: T.Buffer((4,), "int8x4"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = T.dp4a(A[i], A[i], 0)


@T.prim_func
def bounds_of_two_widths(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(T.int16(16)):
        B[i * T.int16(4) : T.Cast("int32", i * T.int16(4)) + 4] = A[
            i * T.int16(4) : T.Cast("int32", i * T.int16(4)) + 4
        ]
