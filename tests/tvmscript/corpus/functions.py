"""Functions: parameters, results, attributes, symbolic sizes."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def buffers(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j] + T.float32(1)


@T.prim_func
def short_buffers(A: T.Buffer(16), B: T.Buffer((16,))) -> None:
    for i in range(16):
        B[i] = A[i]


@T.prim_func
def deprecated_buffers(
    A: T.Buffer[(16,), "int8"],
    B: T.buffer_decl((16,), "int8"),
    C: T.buffer((16,), "int8"),
) -> T.void:
    for i in range(16):
        C[i] = A[i] * B[i]


@T.prim_func
def scalars_in_memory(A: T.Buffer((), "int32"), B: T.Buffer((), "int32")):
    B[()] = A[()] * 2


@T.prim_func
def handles(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16,), "float16")
    B = T.match_buffer(b, (16,), dtype="float16")
    for i in range(16):
        B[i] = A[i] + T.float16(1)


@T.prim_func
def order_of_matches(a: T.handle, b: T.handle):
    B = T.match_buffer(b, 16, "int64")
    A = T.match_buffer(a, 16, "int32")
    for i in range(16):
        B[i] = T.Cast("int64", A[i])


@T.prim_func
def pointers(p: T.handle("float32"), q: T.handle("float32", "global")):
    P = T.decl_buffer((8,), data=p)
    Q = T.decl_buffer((8,), data=q)
    for i in range(8):
        Q[i] = P[i]


@T.prim_func
def deprecated_pointers(p: T.Ptr("int32"), q: T.ptr("int32", "global")):
    P = T.Buffer((8,), "int32", data=p)
    Q = T.Buffer((8,), "int32", data=q)
    for i in range(8):
        Q[i] = P[i] + 1


@T.prim_func
def scalars(
    b: T.bool,
    i8: T.int8,
    u16: T.uint16,
    i32: T.int32,
    i64: T.int64,
    f32: T.float32,
    f64: T.float64,
    A: T.Buffer((7,), "float64"),
):
    A[0] = T.Cast("float64", b)
    A[1] = T.Cast("float64", i8)
    A[2] = T.Cast("float64", u16)
    A[3] = T.Cast("float64", i32)
    A[4] = T.Cast("float64", i64)
    A[5] = T.Cast("float64", f32)
    A[6] = f64


@T.prim_func
def result(n: T.int32) -> T.int32:
    return n * n


@T.prim_func
def result_of_call(n: T.int64) -> T.int64:
    T.evaluate(T.ret(n + T.int64(1)))


@T.prim_func
def early_results(n: T.int32) -> T.int32:
    if n > 3:
        return 1
    else:
        return 2


@T.prim_func(private=True)
def private(A: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        A[i] = i


@T.prim_func(check_well_formed=False)
def unchecked(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("B"):
            A[i] = i


@T.prim_func
def attributes(A: T.Buffer((4,), "float32")):
    T.func_attr(
        {
            "global_symbol": "with_attributes",
            "tir.noalias": True,
            "tir.is_scheduled": True,
            "op_pattern": 8,
            "operator_name": "nn.relu",
            "layout_free_buffers": [0, 1],
            "calling_conv": 2,
            "scale": T.float32(0.5),
            "nested": {"a": 1, "b": [True, "c"]},
        }
    )
    T.func_attr({"target": T.target("llvm")})
    A[0] = T.float32(0)


@T.prim_func
def gpu_target(A: T.Buffer((4,), "float32")):
    T.func_attr(
        {
            "target": T.target(
                {"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 1024},
                host={"kind": "llvm"},
            ),
            "tir.is_host_func": False,
        }
    )
    A[0] = T.float32(0)


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, 4))
    for i, j in T.grid(n, 4):
        B[i, j] = A[i, j] * T.float32(2)


@T.prim_func
def symbolic_wide(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (m, n))
    for i, j in T.grid(n, m):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj]


@T.prim_func
def size_variables(a: T.handle, b: T.handle):
    n = T.int32(is_size_var=True)
    m = T.SizeVar("m", "int32")
    A = T.match_buffer(a, (n, m), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        B[i] = 0
        for j in range(m):
            B[i] = B[i] + A[i, j]


@T.prim_func
def sums_in_shapes(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n * 2 + 1,), "int32")
    for i in range(n):
        B[i * 2 + 1] = A[i]


@T.prim_func
def scalar_as_size(n: T.int32, a: T.handle):
    A = T.match_buffer(a, (n,), "int32")
    for i in range(n):
        A[i] = i * i


@T.prim_func
def wide_literals(
    A: T.Buffer((T.int64(4), T.int64(8)), "float32"),
    B: T.Buffer((T.int64(4), T.int64(8)), "float32"),
):
    for i, j in T.grid(T.int64(4), T.int64(8)):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


@T.prim_func
def nothing(A: T.Buffer((4,), "int32")):
    """A docstring is no statement."""
    pass


@T.prim_func
def nothing_at_all():
    T.evaluate(0)


@T.prim_func
def explicit_variables(x: T.Var("x", "int32"), p: T.buffer_var("int32", "global")):
    P = T.decl_buffer((4,), "int32", data=p)
    P[0] = x


@T.prim_func
def aliases(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    C = A
    for i in range(4):
        k = T.meta_var(i)
        B[k] = C[k]
