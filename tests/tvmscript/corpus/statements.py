"""Statements: bindings, conditions, memory, attributes."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def lets(A: T.Buffer((8,), "int32"), n: T.int32):
    x = n * 2
    y: T.int32 = x + 1
    z: T.float32 = T.Cast("float32", y)
    for i in range(8):
        w = i + x
        A[i] = w * y + T.Cast("int32", z)


@T.prim_func
def scoped_lets(A: T.Buffer((8,), "int32"), n: T.int32):
    with T.LetStmt(n * 2) as x:
        A[0] = x
    with T.LetStmt(n * 3) as x:
        A[1] = x
    y = T.int32()
    with T.LetStmt(n + 1, var=y):
        A[2] = y


@T.prim_func
def let_of_a_load(A: T.Buffer((8,), "int32")):
    x = A[0]
    A[0] = A[1]
    A[1] = x


@T.prim_func
def tuples(A: T.Buffer((8,), "int32"), n: T.int32):
    x, y = n + 1, n + 2
    (u, [v, w]) = x, (y, 3)
    A[0] = x * y + u + v + w


@T.prim_func
def conditions(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        if i < n:
            A[i] = 1
        elif i == n:
            A[i] = 2
        else:
            A[i] = 3


@T.prim_func
def nested_conditions(A: T.Buffer((8,), "int32")):
    for i in range(8):
        if A[i] > 0:
            if A[i] > 4:
                A[i] = 4
        else:
            if A[i] < -4:
                A[i] = -4


@T.prim_func
def empty_branches(A: T.Buffer((8,), "int32")):
    for i in range(8):
        if A[i] > 0:
            T.evaluate(0)
        else:
            A[i] = 0
        if A[i] < -2:
            pass


@T.prim_func
def constant_condition(A: T.Buffer((8,), "int32")):
    if T.bool(True):
        A[0] = 1
    else:
        A[0] = 2


@T.prim_func
def assertions(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "int32")
    assert n >= 1, "n is positive"
    A[0] = n
    with T.Assert(n < 100, 'n is "small"'):
        A[0] = 0
    A[0] += 1


@T.prim_func
def evaluations(A: T.Buffer((8,), "float32")):
    T.evaluate(A[0])
    T.evaluate(A[1] + T.float32(1))
    T.evaluate(1)
    T.evaluate(T.exp(A[0]))


@T.prim_func
def allocations(A: T.Buffer((16,), "float32")):
    p = T.allocate([16], "float32", "global")
    P = T.Buffer((16,), data=p)
    for i in range(16):
        P[i] = A[i]
    for i in range(16):
        A[i] = P[15 - i]


@T.prim_func
def scoped_allocations(A: T.Buffer((16,), "float32")):
    with T.allocate([4, 4], "float32", "local") as p:
        P = T.decl_buffer((4, 4), data=p, scope="local")
        for i, j in T.grid(4, 4):
            P[i, j] = A[i * 4 + j]
        for i, j in T.grid(4, 4):
            A[i * 4 + j] = P[j, i]
    A[0] = T.float32(0)


@T.prim_func
def described_allocations(A: T.Buffer((16,), "float32")):
    p = T.allocate(
        [16], "float32", "shared.dyn", annotations={"disable_lower_builtin": 1}
    )
    P = T.decl_buffer((16,), data=p, scope="shared.dyn")
    for i in range(16):
        P[i] = A[i]
        A[i] = P[i] + P[i]


@T.prim_func
def conditional_allocation(A: T.Buffer((16,), "float32"), n: T.int32):
    p = T.allocate([16], "float32", "global", n > 0)
    T.evaluate(T.call_extern("int32", "use", p))


@T.prim_func
def constants(A: T.Buffer((4,), "int32"), B: T.Buffer((2, 2), "float32")):
    p = T.allocate_const([3, 1, 2, 0], "int32", [4])
    P = T.Buffer((4,), "int32", data=p)
    q = T.allocate_const([[1.5, 2.5], [3.5, 4.5]], "float32", [2, 2])
    Q = T.decl_buffer((2, 2), "float32", data=q)
    for i in range(4):
        A[i] = P[i]
    for i, j in T.grid(2, 2):
        B[i, j] = Q[j, i]


@T.prim_func
def scoped_constants(A: T.Buffer((2,), "float16")):
    with T.allocate_const([0.5, -1.0], "float16", [2], annotations={"note": 1}) as p:
        P = T.decl_buffer((2,), "float16", data=p)
        A[0] = P[1]
    A[1] = T.float16(0)


@T.prim_func
def declarations(A: T.Buffer((16,), "float32")):
    B = T.decl_buffer((16,), "float32")
    C = T.decl_buffer((16,), "float16", scope="local")
    for i in range(16):
        B[i] = A[i]
        C[i] = T.Cast("float16", B[i])
    for i in range(16):
        A[i] = T.Cast("float32", C[i])


@T.prim_func
def scoped_declarations(A: T.Buffer((16,), "float32")):
    with T.decl_buffer((16,), "float32", data=A.data) as B:
        B[0] = T.float32(1)
    with T.decl_buffer((4,), "float32", scope="local") as C:
        C[0] = A[0]
        A[1] = C[0]
    A[2] = T.float32(3)


@T.prim_func
def attributes(A: T.Buffer((16,), "int32"), n: T.int32):
    with T.attr(0, "pragma_auto_unroll_max_step", 16):
        A[0] = 1
    with T.attr(A.data, "storage_alignment", 128):
        A[1] = 1
    with T.attr("default", "device_id", n):
        with T.attr("default", "device_type", 1):
            A[2] = 1
    T.attr(0, "compute_scope", "main_compute_")
    A[3] = n


@T.prim_func
def attribute_nodes(A: T.Buffer((16,), "int32"), n: T.int32):
    with T.attr(n, "pragma_of_a_variable", 1):
        A[0] = 0
    with T.attr("text", "some_key", "value"):
        A[1] = 0
    with T.attr({"a": 1, "b": "c"}, "some_key", T.float32(0.5)):
        A[2] = 0
    with T.attr([1, 2], "some_key", T.bool(True)):
        A[3] = 0


@T.prim_func
def target_attribute(A: T.Buffer((16,), "int32")):
    with T.attr(T.target("llvm"), "target", 0):
        A[0] = 0
    with T.attr(T.target("cuda", host="llvm"), "target", 0):
        A[1] = 0


@T.prim_func
def kernel_keys(A: T.Buffer((16,), "int32")):
    with T.attr(0, "extern_scope", 0):
        A[0] = 1
    with T.attr(0, "device_scope", 0):
        A[1] = 1
    with T.attr(0, "pragma_import_c", "int f(void);"):
        A[2] = 1
    with T.attr(0, "pragma_import_llvm", "; empty"):
        A[3] = 1
    with T.attr(0, "hand_threaded", 0):
        A[4] = 1


@T.prim_func
def asynchronous_keys(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    with T.attr(0, "async_commit_queue_scope", 0):
        with T.attr(0, "async_scope", 1):
            for i in range(16):
                B[i] = A[i]
    with T.attr(0, "async_wait_queue_scope", 0):
        with T.attr(0, "async_wait_inflight_count", 0):
            B[0] = B[0] + 1


@T.prim_func
def memory_keys(A: T.Buffer((16,), "int32")):
    p = T.allocate([16], "int32", "global")
    P = T.Buffer((16,), "int32", data=p)
    with T.attr(p, "volatile_scope", 1):
        P[0] = A[0]
    with T.attr(p, "double_buffer_scope", 1):
        P[1] = A[1]
    with T.attr(p, "double_buffer_write", 1):
        A[2] = P[1]


@T.prim_func
def coprocessor_keys(A: T.Buffer((16,), "int32")):
    with T.attr("axis", "coproc_scope", 1):
        A[0] = 1
    with T.attr("axis", "coproc_uop_scope", "VTAPushALUOp"):
        A[1] = 1


@T.prim_func
def realized(A: T.Buffer((16,), "int32")):
    B = T.Buffer((16,), "int32")
    T.realize(B[0:16], "local")
    for i in range(16):
        B[i] = A[i]
    for i in range(16):
        A[i] = B[15 - i]


@T.prim_func
def realized_on_condition(A: T.Buffer((16, 4), "int32"), n: T.int32):
    B = T.Buffer((16, 4), "int32")
    with T.realize(B[0:16, 1:3], "shared", n > 0):
        B[3, 2] = A[3, 2]
    A[0, 0] = 1


@T.prim_func
def prefetches(A: T.Buffer((16, 4), "int32"), n: T.int32):
    T.prefetch(A, [T.Range(0, 16), (1, 3)])
    A[0, 0] = n


@T.prim_func
def frames(A: T.Buffer((8,), "int32"), n: T.int32):
    with T.If(n > 3):
        with T.Then():
            A[0] = 1
        with T.Else():
            A[0] = 2
    A[1] = 0
    with T.While(A[1] < 3):
        A[1] = A[1] + 1


@T.prim_func
def assumptions(A: T.Buffer((14,), "int32")):
    for i in range(14):
        T.evaluate(T.assume(i < 14))
        T.assume(A[i] >= -8)
        A[i] = 0


@T.prim_func
def python_decides(A: T.Buffer((8,), "int32")):
    if 3 < 4:
        A[0] = 1 if True else 2
    else:
        A[0] = 5
    A[1] = [1, 2, 3][1] + {"a": 4}["a"]


@T.prim_func
def strings():
    T.evaluate(T.call_extern("int32", "printf", 'a "quoted" text\n\twith \\ breaks', 1))


@T.prim_func
def scopes_that_end(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(4):
        with T.LetStmt(i * 2) as k:
            A[k] = k
        with T.LetStmt(i * 2 + 1) as k:
            A[k] = k
    with T.decl_buffer((4,), "int32") as B:
        B[0] = n
        A[0] = B[0]
    A[1] = n


@T.prim_func
def rolling_inside(A: T.Buffer((12,), "float32"), B: T.Buffer((10,), "float32")):
    for o in range(10):
        M = T.Buffer((12,))
        T.realize(M[o : o + 3], "global")
        T.attr(M, "rolling_buffer_scope", T.bool(True))
        for r in range(3):
            M[o + r] = A[o + r] * T.float32(2)
        B[o] = M[o] + M[o + 2]


@T.prim_func
def realized_parameter(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    T.realize(B[0:12], "global")
    for i in range(12):
        B[i] = A[i] * T.float32(2)


@T.prim_func
def nodes_of_any_kind(A: T.Buffer((8,), "float32"), n: T.int32):
    T.attr(0, "device_id", 0)
    T.attr(T.int64(1), "device_type", 2)
    with T.attr(n + 1, "async_scope", 1):
        A[0] = T.float32(1)
    with T.attr(A, "compute_scope", "name"):
        A[1] = T.float32(2)
    with T.attr(T.bool(True), "device_id", n):
        A[2] = T.float32(3)


@T.prim_func
def numbers_as_conditions(A: T.Buffer((8,), "float32"), n: T.int64):
    for i in range(8):
        if i:
            A[i] = T.float32(1)
        elif n:
            A[i] = T.float32(2)


@T.prim_func
def numbers_as_names(_1: T.Buffer((8,), "float32"), _2: T.int32):
    for _3 in range(8):
        _4: T.float32 = _1[_3] * T.Cast("float32", _2)
        _1[_3] = _4
