"""Builtins: mathematics, bits, calls, the calling convention, memory of devices."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def exponentials(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = (
            T.exp(A[i])
            + T.exp2(A[i])
            + T.exp10(A[i])
            + T.sigmoid(A[i])
            + T.erf(A[i])
            + T.tanh(A[i])
        )


@T.prim_func
def logarithms(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        x = T.fabs(A[i]) + T.float32(1)
        B[i] = T.log(x) + T.log2(x) + T.log10(x) + T.log1p(x) + T.sqrt(x) + T.rsqrt(x)


@T.prim_func
def trigonometry(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        x = A[i] * T.float32(0.125)
        B[i] = (
            T.sin(x)
            + T.cos(x)
            + T.tan(x)
            + T.asin(x)
            + T.acos(x)
            + T.atan(x)
            + T.sinh(x)
            + T.cosh(x)
            + T.asinh(x)
            + T.acosh(x + T.float32(2))
            + T.atanh(x * T.float32(0.5))
        )


@T.prim_func
def pairs(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = (
            T.atan2(A[i], T.float32(2))
            + T.hypot(A[i], T.float32(3))
            + T.copysign(T.float32(1), A[i])
            + T.nextafter(A[i], T.float32(9))
            + T.ldexp(A[i], 2)
        )


@T.prim_func
def bits(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = T.popcount(A[i]) + T.clz(A[i] * A[i] + 1)


@T.prim_func
def fixed_point(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = T.q_multiply_shift(A[i], 1073741824, 31, 1)
        B[i] = B[i] + T.q_multiply_shift_per_axis(
            A[i], 1073741824, 1, 1, 31, T.bool(True), T.bool(False)
        )


@T.prim_func
def nodes_of_calls(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = (
            T.Call("float32", "tir.fma", [A[i], A[i], T.float32(1)])
            + T.call_intrin("float32", "tir.exp", A[i])
            + T.Call("float32", "tir.tvm_thread_invariant", [A[i]])
        )


@T.prim_func
def large_constant(A: T.Buffer((1,), "uint64")):
    A[0] = T.call_intrin(
        "uint64", "tir.large_uint_imm", T.uint32(4294967295), T.uint32(4294967295)
    )


@T.prim_func
def conditions(A: T.Buffer((16,), "int32")):
    for i in range(16):
        if T.likely(i < 12):
            A[i] = 1
        if T.ignore_loop_partition(i > 3):
            A[i] = 2


@T.prim_func
def undefined(A: T.Buffer((16,), "int32")):
    T.evaluate(A[0] + T.undef())


@T.prim_func
def extern_calls(A: T.Buffer((16,), "float32")):
    T.evaluate(T.call_extern("int32", "f", A.data, 1, T.float32(2)))
    T.call_extern("void", "g")
    A[0] = T.call_pure_extern("float32", "sinf", A[1])
    A[1] = T.call_extern("f2", dtype="float32")


@T.prim_func
def llvm_calls(A: T.Buffer((16,), "float32")):
    A[0] = T.call_llvm_pure_intrin("float32", "llvm.fabs", A[1])
    A[1] = T.call_llvm_intrin("float32", "llvm.fma", A[0], A[1], A[2])


@T.prim_func
def spirv_call(A: T.Buffer((16,), "float32")):
    A[0] = T.call_intrin("float32", "tir.call_spirv_pure_glsl450", T.uint32(4), A[1])


@T.prim_func
def packed_calls(A: T.Buffer((16,), "float32"), n: T.int32):
    T.evaluate(T.call_packed("add_one", A, n))
    T.tvm_call_packed("add_two", A.data, n, T.float32(0.5))
    T.call_cpacked("c_function", A.data)
    T.tvm_call_cpacked("c_function", A.data)


@T.prim_func
def arrays_on_the_stack(A: T.Buffer((16, 4), "float32")):
    shape: T.handle = T.tvm_stack_make_shape(16, 4)
    T.evaluate(
        T.call_packed(
            "f",
            T.tvm_stack_make_array(A.data, shape, 0, 2, T.float32(0), 0),
        )
    )


@T.prim_func
def lowered_calls(n: T.int32):
    values: T.handle = T.tvm_stack_alloca("arg_value", 4)
    codes: T.handle = T.tvm_stack_alloca("arg_tcode", 4)
    T.tvm_struct_set(values, 0, 12, T.Cast("int64", n))
    T.call_packed_lowered("f", values, codes, 0, 1)
    null: T.handle = T.reinterpret("handle", T.uint64(0))
    T.call_cpacked_lowered("g", values, codes, 0, 1, null)


@T.prim_func
def traced_calls(A: T.Buffer((4,), "float32")):
    values: T.handle = T.tvm_stack_alloca("arg_value", 4)
    codes: T.handle = T.tvm_stack_alloca("arg_tcode", 4)
    A[0] = T.call_intrin("float32", "tir.tvm_call_trace_packed", "f", A[1], A[1])
    A[1] = T.call_intrin(
        "float32", "tir.tvm_call_trace_packed_lowered", "f", values, codes, 0, 1, A[0]
    )


@T.prim_func
def structures(arg: T.handle) -> T.int32:
    data: T.handle("float32") = T.tvm_struct_get(arg, 0, 1, "handle")
    shape: T.handle("int64") = T.tvm_struct_get(arg, 0, 2, "handle")
    dims: T.int32 = T.tvm_struct_get(arg, 0, 4, "int32")
    if T.isnullptr(data):
        T.evaluate(T.tvm_throw_last_error())
    assert dims == 1, "one dimension"
    A = T.decl_buffer((16,), data=data)
    A[0] = T.float32(dims)
    return 0


@T.prim_func
def results_of_calls() -> T.int32:
    T.evaluate(T.tvm_check_return(0, -1, T.call_extern("int32", "f")))
    return 0


@T.prim_func
def contexts():
    T.evaluate(T.call_intrin("int32", "tir.tvm_context_id"))
    T.evaluate(T.call_intrin("handle", "tir.tvm_static_handle"))
    T.evaluate(T.Call("handle", "tir.tvm_thread_context", [T.lookup_param("w")]))
    T.evaluate(T.tvm_tuple(1, 2, T.float32(3)))


@T.prim_func
def profiling(A: T.Buffer((16,), "float32")):
    T.evaluate(T.start_profile_intrinsic(3))
    A[0] = T.float32(0)
    T.evaluate(T.end_profile_intrinsic(3))


@T.prim_func
def workspaces(n: T.int32):
    p: T.handle("float32") = T.TVMBackendAllocWorkspace(1, 0, T.uint64(64), 2, 32)
    P = T.decl_buffer((16,), data=p)
    P[0] = T.Cast("float32", n)
    T.evaluate(T.TVMBackendFreeWorkspace(1, 0, p))


@T.prim_func
def device_memory():
    shape: T.handle = T.tvm_stack_make_shape(4, 4)
    p: T.handle("float32", "global.texture") = T.call_intrin(
        "handle", "tir.nd_mem_alloc_with_scope", "global.texture", 2, shape
    )
    value: T.float32x4 = T.call_intrin("float32x4", "tir.texture2d_load", p, 0, 1, 0)
    T.evaluate(T.call_intrin("float32x4", "tir.texture2d_store", p, 1, 0, value))


@T.prim_func
def prefetching(A: T.Buffer((16,), "float32")):
    T.evaluate(T.call_intrin("int32", "tir.prefetch", T.address_of(A[4]), 0, 3, 1))
    A[0] = T.float32(1)


@T.prim_func
def direct_memory_access(A: T.Buffer((16,), "int8"), B: T.Buffer((16,), "int8")):
    T.evaluate(T.call_intrin("int32", "tir.dma_start_group", 0))
    T.evaluate(
        T.call_intrin(
            "int32", "tir.dma_copy", 0, T.address_of(B[0]), T.address_of(A[0]), 16, 0
        )
    )
    T.evaluate(T.call_intrin("int32", "tir.dma_end_group", 0))
    T.evaluate(T.call_intrin("int32", "tir.dma_wait", 0, 0))


@T.prim_func
def lists(list: T.handle, values: T.handle, codes: T.handle):
    T.evaluate(T.anylist_getitem(list, 1))
    T.anylist_resetitem(list, 2)
    T.anylist_setitem_call_packed(list, 0, "f", 1)
    T.anylist_setitem_call_cpacked(list, 0, "f", 1)
    T.evaluate(
        T.call_intrin(
            "int32", "tir.TVMBackendAnyListSetPackedArg", list, 0, values, codes, 0
        )
    )
    T.evaluate(
        T.call_intrin(
            "int32",
            "tir.TVMBackendAnyListMoveFromPackedReturn",
            list,
            0,
            values,
            codes,
            0,
        )
    )


@T.prim_func
def cuda_shuffles(A: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    mask: T.uint32 = T.call_intrin("uint32", "tir.cuda.__activemask")
    x: T.float32 = A[tx]
    A[tx] = (
        T.call_intrin("float32", "tir.cuda.__shfl_sync", mask, x, 0, 32)
        + T.call_intrin("float32", "tir.cuda.__shfl_up_sync", mask, x, 1, 32)
        + T.call_intrin("float32", "tir.cuda.__shfl_down_sync", mask, x, 1, 32)
    )


@T.prim_func
def metal_shuffles(A: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    x: T.float32 = A[tx]
    A[tx] = (
        T.call_intrin("float32", "tir.metal.simd_shuffle", x, T.uint16(0))
        + T.call_intrin("float32", "tir.metal.simd_shuffle_up", x, T.uint16(1))
        + T.call_intrin("float32", "tir.metal.simd_shuffle_down", x, T.uint16(1))
    )


@T.prim_func
def atomics(A: T.Buffer((1,), "int32")):
    tx = T.launch_thread("threadIdx.x", 32)
    T.evaluate(T.call_intrin("int32", "tir.atomic_add", T.address_of(A[0]), tx))


@T.prim_func
def grid_barrier(A: T.Buffer((64,), "int32")):
    T.evaluate(T.call_intrin("int32", "tir.tvm_global_barrier_kinit"))
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    A[bx * 32 + tx] = tx
    T.tvm_storage_sync("global", tx == 0, 2)
    A[bx * 32 + tx] = A[63 - (bx * 32 + tx)] * 0 + 1


@T.prim_func
def guarded_register_load(A: T.Buffer((16,), "float32")):
    r = T.decl_buffer((1,), "float32", scope="local")
    T.evaluate(
        T.call_intrin(
            "float32", "tir.ptx_ldg32", r.data, T.bool(True), T.address_of(A[0]), 0
        )
    )


@T.prim_func
def vector_length(A: T.Buffer((1,), "int32")):
    A[0] = T.vscale() * 4


@T.prim_func
def legacy_dtypes(A: T.Buffer((4,), "float32")):
    A[0] = T.exp(T.floor(A[1], dtype="float32"), dtype="float32")
    A[2] = T.if_then_else(T.isnan(A[1], dtype="bool"), A[2], A[3], dtype="float32")
    A[1] = T.sqrt(A[0] * A[0], dtype="float32")


@T.prim_func
def extern_calls_without_result(A: T.Buffer((8,), "float32")):
    T.call_extern("", "f", A.data)
    T.evaluate(T.call_pure_extern("void", "g", A.data))
