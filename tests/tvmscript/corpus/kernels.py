"""Programs as people write them."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def softmax(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
    T.func_attr({"tir.noalias": True})
    most = T.alloc_buffer((4,))
    powers = T.alloc_buffer((4, 16))
    total = T.alloc_buffer((4,))
    for i, k in T.grid(4, 16):
        with T.block("most"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                most[vi] = T.min_value("float32")
            most[vi] = T.max(most[vi], A[vi, vk])
    for i, j in T.grid(4, 16):
        with T.block("powers"):
            vi, vj = T.axis.remap("SS", [i, j])
            powers[vi, vj] = T.exp(A[vi, vj] - most[vi])
    for i, k in T.grid(4, 16):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + powers[vi, vk]
    for i, j in T.grid(4, 16):
        with T.block("quotient"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = powers[vi, vj] / total[vi]


@T.prim_func
def layer_norm(
    A: T.Buffer((4, 16), "float32"),
    scale: T.Buffer((16,), "float32"),
    B: T.Buffer((4, 16), "float32"),
):
    total = T.alloc_buffer((4,))
    squares = T.alloc_buffer((4,))
    for i, k in T.grid(4, 16):
        with T.block("moments"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
                squares[vi] = T.float32(0)
            total[vi] = total[vi] + A[vi, vk]
            squares[vi] = squares[vi] + A[vi, vk] * A[vi, vk]
    for i, j in T.grid(4, 16):
        with T.block("scaled"):
            vi, vj = T.axis.remap("SS", [i, j])
            mean: T.float32 = total[vi] * T.float32(0.0625)
            variance: T.float32 = squares[vi] * T.float32(0.0625) - mean * mean
            B[vi, vj] = (
                (A[vi, vj] - mean) * T.rsqrt(variance + T.float32(1e-5)) * scale[vj]
            )


@T.prim_func
def convolution(
    A: T.Buffer((1, 3, 8, 8), "float32"),
    W: T.Buffer((4, 3, 3, 3), "float32"),
    B: T.Buffer((1, 4, 8, 8), "float32"),
):
    P = T.alloc_buffer((1, 3, 10, 10))
    for n, c, h, w in T.grid(1, 3, 10, 10):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < 9 and 1 <= vw and vw < 9,
                A[vn, vc, vh - 1, vw - 1],
                T.float32(0),
            )
    for n, o, h, w, c, r, s in T.grid(1, 4, 8, 8, 3, 3, 3):
        with T.block("convolve"):
            vn, vo, vh, vw, vc, vr, vs = T.axis.remap("SSSSRRR", [n, o, h, w, c, r, s])
            with T.init():
                B[vn, vo, vh, vw] = T.float32(0)
            B[vn, vo, vh, vw] += P[vn, vc, vh + vr, vw + vs] * W[vo, vc, vr, vs]


@T.prim_func
def tiled_matmul(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i0, j0 in T.grid(4, 4):
        for k0 in range(4):
            for i1, j1, k1 in T.grid(4, 4, 4):
                with T.block("C"):
                    vi = T.axis.spatial(16, i0 * 4 + i1)
                    vj = T.axis.spatial(16, j0 * 4 + j1)
                    vk = T.axis.reduce(16, k0 * 4 + k1)
                    T.reads(A[vi, vk], B[vk, vj])
                    T.writes(C[vi, vj])
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def quantized_matmul(
    A: T.Buffer((8, 8), "uint8"),
    B: T.Buffer((8, 8), "int8"),
    C: T.Buffer((8, 8), "int32"),
):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


@T.prim_func
def half_matmul(
    A: T.Buffer((8, 8), "float16"),
    B: T.Buffer((8, 8), "float16"),
    C: T.Buffer((8, 8), "float16"),
):
    S = T.alloc_buffer((8, 8), "float32")
    for i, j, k in T.grid(8, 8, 8):
        with T.block("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] += T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("float16", S[vi, vj])


@T.prim_func
def prefix_sums(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    total = T.decl_buffer((1,), "int32", scope="local")
    total[0] = 0
    for i in range(n):
        total[0] += A[i]
        B[i] = total[0]


@T.prim_func
def histogram(A: T.Buffer((32,), "uint8"), H: T.Buffer((8,), "int32")):
    for i in range(8):
        H[i] = 0
    for i in range(32):
        bin: T.int32 = T.Cast("int32", A[i] % T.uint8(8))
        H[bin] = H[bin] + 1


@T.prim_func
def insertion_sort(A: T.Buffer((16,), "int32")):
    place = T.alloc_buffer((1,), "int32", scope="local")
    for i in range(1, 16):
        key = A[i]
        place[0] = i
        while T.if_then_else(
            place[0] > 0, A[T.max(place[0] - 1, 0)] > key, T.bool(False)
        ):
            A[place[0]] = A[place[0] - 1]
            place[0] = place[0] - 1
        A[place[0]] = key


@T.prim_func
def embedding(
    I: T.Buffer((8,), "int64"), W: T.Buffer((16, 4), "float32"), B: T.Buffer((8, 4))
):
    for i, j in T.grid(8, 4):
        with T.block("take"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(W[0:16, vj], I[vi])
            T.writes(B[vi, vj])
            B[vi, vj] = W[T.Cast("int32", I[vi]) % 16, vj]


@T.prim_func
def transposed(a: T.handle, b: T.handle, n: T.int64, m: T.int64):
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (m, n))
    for i, j in T.grid(m, n):
        with T.block("T"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


@T.prim_func
def pooling(A: T.Buffer((8, 8), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j, m, n in T.grid(4, 4, 2, 2):
        with T.block("pool"):
            vi, vj, vm, vn = T.axis.remap("SSRR", [i, j, m, n])
            T.reads(A[vi * 2 + vm, vj * 2 + vn])
            T.writes(B[vi, vj])
            with T.init():
                B[vi, vj] = T.min_value("float32")
            B[vi, vj] = T.max(B[vi, vj], A[vi * 2 + vm, vj * 2 + vn])


@T.prim_func
def block_sums(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("sum"):
                S = T.alloc_buffer((32,), scope="shared")
                S[tx] = A[bx, tx]
                T.tvm_storage_sync("shared")
                for k in T.unroll(5):
                    if tx < T.shift_right(16, k):
                        S[tx] = S[tx] + S[tx + T.shift_right(16, k)]
                    T.tvm_storage_sync("shared")
                if tx == 0:
                    B[bx] = S[0]


@T.prim_func
def mandelbrot(B: T.Buffer((8, 8), "int32")):
    z = T.alloc_buffer((2,), scope="local")
    for y, x in T.grid(8, 8):
        z[0] = T.float32(0)
        z[1] = T.float32(0)
        B[y, x] = 0
        while B[y, x] < 20 and z[0] * z[0] + z[1] * z[1] < T.float32(4):
            re: T.float32 = z[0] * z[0] - z[1] * z[1] + T.Cast("float32", x - 5) * 0.25
            z[1] = z[0] * z[1] * T.float32(2) + T.Cast("float32", y - 4) * 0.25
            z[0] = re
            B[y, x] = B[y, x] + 1
