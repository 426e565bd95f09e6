"""Expressions of scalars: operators, raw nodes, functions that fold."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def operators(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = (A[i] + 3) * 2 - A[i] // 4 + A[i] % 5 - (-A[i])


@T.prim_func
def numbers_on_the_left(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = 1 + A[i] * 2 - 3 * A[i] + 7 // T.max(A[i], 1) + 7 % T.max(A[i], 1)


@T.prim_func
def float_operators(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i] * T.float32(0.5) / (A[i] * A[i] + 1.0) - 2.5


@T.prim_func
def bit_operators(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = ((A[i] & 7) << 2) | ((A[i] >> 1) ^ ~A[i])


@T.prim_func
def bit_functions(A: T.Buffer((16,), "uint32"), B: T.Buffer((16,), "uint32")):
    for i in range(16):
        B[i] = T.bitwise_or(
            T.bitwise_and(A[i], T.uint32(7)),
            T.bitwise_xor(
                T.shift_left(A[i], T.uint32(3)),
                T.shift_right(T.bitwise_not(A[i]), T.uint32(1)),
            ),
        )


@T.prim_func
def comparisons(A: T.Buffer((16,), "int32"), B: T.Buffer((16, 6), "bool")):
    for i in range(16):
        B[i, 0] = A[i] < 3
        B[i, 1] = A[i] <= 3
        B[i, 2] = A[i] > 3
        B[i, 3] = A[i] >= 3
        B[i, 4] = A[i] == 3
        B[i, 5] = A[i] != 3


@T.prim_func
def comparisons_of_other_dtypes(w: T.int64, x: T.float32, B: T.Buffer((4,), "bool")):
    B[0] = w < 3
    B[1] = x >= 1
    B[2] = x == 1.5
    B[3] = 0 < w


@T.prim_func
def logic(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "bool")):
    for i in range(16):
        B[i] = A[i] < 3 and (A[i] > 1 or A[i] == 0) and not A[i] == 2


@T.prim_func
def raw_nodes(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = T.Add(
            T.Sub(T.Mul(A[i], 0), 1),
            T.Max(T.Min(T.FloorDiv(A[i], 2), T.FloorMod(A[i], 3)), T.Add(1, 2)),
        )


@T.prim_func
def raw_divisions(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = T.Div(A[i], 2) + T.Mod(A[i], 2)


@T.prim_func
def raw_comparisons(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "bool")):
    for i in range(16):
        B[i] = T.Or(
            T.And(T.LT(A[i], 3), T.LE(1, 2)),
            T.And(
                T.And(T.GT(A[i], 3), T.GE(A[i], 4)),
                T.Not(T.And(T.EQ(A[i], 5), T.NE(2, 3))),
            ),
        )


@T.prim_func
def divisions(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = (
            T.truncdiv(A[i], 3)
            + T.truncmod(A[i], 3)
            + T.floordiv(A[i], 3)
            + T.floormod(A[i], 3)
            + T.ceildiv(A[i], 3)
        )


@T.prim_func
def choices(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = T.Select(
            A[i] > T.float32(0),
            T.max(A[i], T.float32(1)),
            T.min(A[i], T.float32(-1)),
        )


@T.prim_func
def lazy_choices(A: T.Buffer((16,), "float32"), B: T.Buffer((18,), "float32")):
    for i in range(18):
        B[i] = T.if_then_else(
            1 <= i and i < 17, A[i - 1], T.if_then_else(i == 0, T.float32(7), 0.0)
        )


@T.prim_func
def bindings(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    x = T.int32()
    y = T.var("int32")
    for i in range(16):
        B[i] = T.Let(x * x, where={x: A[i] + 1}) + T.let(y, A[i], y - 1)


@T.prim_func
def nested_bindings(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    x, y = T.int32(), T.int32()
    for i in range(16):
        B[i] = T.Let(x * y, where={x: A[i] + 1, y: x * 2})


@T.prim_func
def rounding(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = (
            T.floor(A[i] * 0.25)
            + T.ceil(A[i] * 0.25)
            + T.trunc(A[i] * 0.25)
            + T.round(A[i] * 0.25)
            + T.nearbyint(A[i] * 0.25)
        )


@T.prim_func
def absolute(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = T.abs(B[i]) + T.fabs(B[i]) + T.Cast("float32", T.abs(A[i]))


@T.prim_func
def classes_of_floats(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "bool")):
    for i in range(16):
        B[i] = T.isnan(A[i]) or T.isinf(A[i]) or T.isfinite(A[i])


@T.prim_func
def powers(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = (
            T.pow(A[i], T.float32(2))
            + T.power(A[i], T.float32(3))
            + T.fmod(A[i], T.float32(3))
        )


@T.prim_func
def likely_conditions(A: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(16):
        if T.likely(i < n):
            A[i] = i


@T.prim_func
def precedence(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = A[i] - (i - 1) - (A[i] - i) * (2 + i) // (i + 1) % 3 - 2 * (i + A[i])


@T.prim_func
def unsigned_arithmetic(A: T.Buffer((16,), "uint8"), B: T.Buffer((16,), "uint8")):
    for i in range(16):
        B[i] = A[i] * T.uint8(3) - T.uint8(200) // (A[i] % T.uint8(7) + T.uint8(1))


@T.prim_func
def wide_arithmetic(A: T.Buffer((16,), "int64"), B: T.Buffer((16,), "int64")):
    for i in T.serial(T.int64(16)):
        B[i] = A[i] * T.int64(4294967296) + i % T.int64(3)


@T.prim_func
def folded_floats(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] * T.float32(1) + T.float32(1) * T.float32(2) + A[i] * (1.0 / 3.0)


@T.prim_func
def floor_of_floats(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.Max(T.Min(A[i], T.float32(3)), T.float32(-3))
