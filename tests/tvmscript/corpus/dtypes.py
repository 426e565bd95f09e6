"""Constants, casts and memory of every dtype."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def signed(
    A: T.Buffer((4,), "int8"),
    B: T.Buffer((4,), "int16"),
    C: T.Buffer((4,), "int32"),
    D: T.Buffer((4,), "int64"),
):
    for i in range(4):
        A[i] = T.int8(-128)
        B[i] = T.int16(-32768)
        C[i] = -2147483648
        D[i] = T.int64(-9223372036854775808)


@T.prim_func
def unsigned(
    A: T.Buffer((4,), "uint8"),
    B: T.Buffer((4,), "uint16"),
    C: T.Buffer((4,), "uint32"),
    D: T.Buffer((4,), "uint64"),
):
    for i in range(4):
        A[i] = T.uint8(255)
        B[i] = T.uint16(65535)
        C[i] = T.uint32(4294967295)
        D[i] = T.uint64(18446744073709551615)


@T.prim_func
def floats(
    A: T.Buffer((4,), "float16"),
    B: T.Buffer((4,), "float32"),
    C: T.Buffer((4,), "float64"),
    D: T.Buffer((4,), "bfloat16"),
):
    for i in range(4):
        A[i] = T.float16(65504.0)
        B[i] = T.float32(0.1)
        C[i] = T.float64(0.1)
        D[i] = T.bfloat16(1.5)


@T.prim_func
def small_floats(A: T.Buffer((4,), "float8_e4m3fn"), B: T.Buffer((4,), "float8_e5m2")):
    for i in range(4):
        A[i] = T.float8_e4m3fn(1.5)
        B[i] = T.float8_e5m2(0.25)


@T.prim_func
def smallest_float(A: T.Buffer((4,), "float4_e2m1fn"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.Cast("float32", A[i]) + T.Cast("float32", T.float4_e2m1fn(1.5))


@T.prim_func
def truths(A: T.Buffer((4,), "bool"), B: T.Buffer((4,), "bool")):
    for i in range(4):
        B[i] = A[i] or T.bool(True) and T.boolean(False)


@T.prim_func
def special_values(A: T.Buffer((5,), "float32"), B: T.Buffer((3,), "float64")):
    A[0] = T.float32("inf")
    A[1] = T.float32("-inf")
    A[2] = T.float32("nan")
    A[3] = T.infinity("float32")
    A[4] = T.float32(-0.0)
    B[0] = T.float64("inf")
    B[1] = T.float64(1e-300)
    B[2] = T.FloatImm("float64", 1e300)


@T.prim_func
def limits(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int8")):
    A[0] = T.min_value("float32")
    A[1] = T.max_value("float32")
    A[2] = T.max_value("float16")
    A[3] = T.max_value("int32")
    B[0] = T.min_value("int8")
    B[1] = T.max_value("int8")
    B[2] = T.Cast("int8", T.max_value("uint8"))
    B[3] = T.IntImm("int8", 3)


@T.prim_func
def raw_constants(A: T.Buffer((2,), "float32")):
    A[0] = T.FloatImm("float32", 2.5)
    A[1] = T.Cast("float32", T.IntImm("int64", 7))
    T.evaluate(T.call_extern("int32", "puts", T.StringImm("text")))


@T.prim_func
def casts(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = (
            T.Cast("float32", A[i])
            + T.cast(A[i], "float32")
            + A[i].astype("float32")
            + T.float32(A[i])
        )


@T.prim_func
def casts_between_all(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.Cast(
            "float32",
            T.Cast(
                "float64",
                T.Cast(
                    "bfloat16",
                    T.Cast("float16", T.Cast("int64", T.Cast("int16", A[i]))),
                ),
            ),
        )


@T.prim_func
def reinterpretations(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = T.reinterpret("int32", A[i])
        A[i] = T.reinterpret(B[i], dtype="float32")


@T.prim_func
def stores_convert(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float16")):
    for i in range(4):
        B[i] = A[i]
        A[i] = 7


@T.prim_func
def promotion(
    h: T.float16, w: T.int64, u: T.uint8, n: T.int32, A: T.Buffer((5,), "float32")
):
    A[0] = T.Cast("float32", h + 1)
    A[1] = h + 1.0
    A[2] = T.Cast("float32", w + n)
    A[3] = T.Cast("float32", u + 1)
    A[4] = n * h


@T.prim_func
def vector_dtypes(A: T.Buffer((4,), "int32x4"), B: T.Buffer((4,), "int32x4")):
    for i in range(4):
        B[i] = A[i] + T.int32x4(3)


@T.prim_func
def many_lanes(
    A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "float16"), C: T.Buffer((16,), "bool")
):
    A[0:64] = T.int8x64(1)
    B[0:32] = T.float16x32(2)
    B[32:48] = T.float16x16(2)
    B[48:56] = T.float16x8(3)
    C[0:4] = A[0:4] < T.int8x4(2)


@T.prim_func
def bits_of_floats(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "uint16")):
    for i in range(8):
        B[i] = T.reinterpret("uint16", A[i])


@T.prim_func
def custom_arithmetic(
    A: T.Buffer((8,), "custom[tiny]16"), B: T.Buffer((8,), "custom[tiny]16")
):
    for i in range(8):
        B[i] = (A[i] + A[i]) * A[i] - A[i] / B[i]
        A[i] = T.max(A[i], T.min(B[i], A[i]))
