"""Buffers: layouts, views, access."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def strides_by_name(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4, 8), "float32", strides=["s0", "s1"])
    B = T.match_buffer(b, (4, 8), "float32")
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j]


@T.prim_func
def strides_by_variable(a: T.handle):
    s0, s1 = T.int32(), T.int32()
    A = T.match_buffer(a, (4, 8), "float32", strides=[s0, s1])
    for i, j in T.grid(4, 8):
        A[i, j] = T.Cast("float32", s0 * i + s1 * j)


@T.prim_func
def constant_strides(a: T.handle):
    A = T.match_buffer(a, (4, 8), "float32", strides=[8, 1])
    for i, j in T.grid(4, 8):
        A[i, j] = T.float32(i + j)


@T.prim_func
def offsets(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16,), "float32", offset_factor=4)
    B = T.match_buffer(b, (16,), "float32", elem_offset=0)
    for i in range(16):
        B[i] = A[i]


@T.prim_func
def offset_variable(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (16,), "int32", elem_offset=n)
    for i in range(16):
        A[i] = n


@T.prim_func
def alignment(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16,), "float32", align=16, offset_factor=1)
    B = T.match_buffer(b, (16,), "float32", align=128)
    for i in range(16):
        B[i] = A[i]


@T.prim_func
def broadcasting(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16,), "float32", buffer_type="auto")
    B = T.match_buffer(b, (16,), "float32", buffer_type="default")
    for i in range(16):
        B[i] = A[i]


@T.prim_func
def scopes(a: T.handle):
    A = T.match_buffer(a, (16,), "float32", scope="global")
    B = T.alloc_buffer((16,), scope="local")
    C = T.alloc_buffer((16,), "int32", scope="shared")
    for i in range(16):
        B[i] = A[i]
        C[i] = i
    for i in range(16):
        A[i] = B[i] * T.Cast("float32", C[i])


@T.prim_func
def separators(a: T.handle):
    A = T.match_buffer(a, (4, 8), "float32", axis_separators=[1])
    for i, j in T.grid(4, 8):
        A[i, j] = T.float32(1)


@T.prim_func
def separated_memory(A: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), axis_separators=[1])
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j]
    for i, j in T.grid(4, 8):
        A[i, j] = B[i, j] + B[i, j]


@T.prim_func
def strided_memory(A: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), strides=[16, 1])
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j]
    for i, j in T.grid(4, 8):
        A[i, j] = B[i, j] * T.float32(2)


@T.prim_func
def flat_view(A: T.Buffer((4, 8), "float32")):
    B = T.Buffer((32,), "float32", data=A.data)
    for i in range(32):
        B[i] = T.float32(i)


@T.prim_func
def declared_view(A: T.Buffer((4, 8), "float32")):
    B = T.decl_buffer((32,), "float32", data=A.data)
    for i in range(32):
        B[i] = T.float32(i)


@T.prim_func
def view_with_offset(A: T.Buffer((4, 8), "float32")):
    B = T.decl_buffer((8,), data=A.data, elem_offset=8)
    C = T.decl_buffer((4,), data=A.data, strides=[8])
    for i in range(8):
        B[i] = T.float32(i)
    for i in range(4):
        C[i] = T.float32(i)


@T.prim_func
def view_of_other_dtype(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
    bits = T.Buffer((8,), "int32", data=A.data)
    for i in range(8):
        B[i] = bits[i]


@T.prim_func
def view_as_vectors(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32x4")):
    C = T.decl_buffer((4,), "float32x4", data=A.data)
    for i in range(4):
        B[i] = C[i]


@T.prim_func
def fields(a: T.handle, B: T.Buffer((5,), "int32")):
    A = T.match_buffer(a, (4, 8), "float32", strides=["s0", "s1"], offset_factor=1)
    B[0] = A.shape[0]
    B[1] = A.shape[1]
    B[2] = A.strides[0]
    B[3] = A.strides[1]
    B[4] = A.elem_offset


@T.prim_func
def data_as_argument(A: T.Buffer((16,), "float32")):
    T.evaluate(T.call_extern("int32", "use", A.data))
    T.call_extern("void", "use_all", A.access_ptr("rw"), A.access_ptr("r", offset=4))


@T.prim_func
def addresses(A: T.Buffer((16, 4), "float32")):
    T.evaluate(T.call_extern("int32", "use", T.address_of(A[3, 2]), T.address_of(A)))


@T.prim_func
def access_pointers(A: T.Buffer((16,), "float16")):
    T.evaluate(
        T.call_extern(
            "void",
            "use",
            T.tvm_access_ptr(T.type_annotation("float16"), A.data, 0, 16, 3),
            T.tvm_access_ptr(T.type_annotation(dtype="float16"), A.data, 4, 4, rw_mask=1),
        )
    )


@T.prim_func
def load_methods(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B.vstore([i * 4], A.vload([i * 4], "float32x4"))
    B[0] = T.BufferLoad(A, [3])
    T.buffer_store(B, A[2] + A[1], [1])


@T.prim_func
def ranks(
    A: T.Buffer((), "float32"),
    B: T.Buffer((1,), "float32"),
    C: T.Buffer((1, 2, 3, 2, 1), "float32"),
):
    C[0, 1, 2, 1, 0] = A[()] + B[0]


@T.prim_func
def updates(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] += 1
        A[i] -= 2
        A[i] *= 3
        A[i] //= 2
        A[i] %= 5
        B[i] /= 2.0


@T.prim_func
def shapes_with_types(
    A: T.Buffer((T.int64(2), T.int64(3)), "int32"), B: T.Buffer((6,), "int32")
):
    C = T.decl_buffer((T.int64(6),), "int32", data=A.data)
    for i in range(6):
        B[i] = C[i]


@T.prim_func
def local_fields(A: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((A.shape[0], A.shape[1]), "int32")
    for i, j in T.grid(B.shape[0], B.shape[1]):
        B[i, j] = A[i, j]
    for i, j in T.grid(4, 8):
        A[i, j] = B[i, j]
