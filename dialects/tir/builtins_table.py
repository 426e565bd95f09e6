"""The table of TIR's builtins (docs/spec/tir-builtins.md §1 to §6).

It drives the verifier, the effects and the result types of `tir.call`, the look-up for
scripts and builders, and the page `docs/tir-builtins.md`. `builtin_rules` says how a row
is read. Where TVM registers another number of operands than its code takes, the table has
what the code takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from xdsl.ir import Attribute

from xdsl_tvm.dialects.tir.builtin_rules import (
    CallEffect,
    Check,
    DtypePlace,
    Intrinsic,
    parse_operand,
    parse_result,
    same_size,
    vector_of_bools,
)

_A = CallEffect.EXPR_ANNOTATION
_P = CallEffect.PURE
_R = CallEffect.READ_STATE
_U = CallEffect.UPDATE_STATE
_S = CallEffect.SPECIAL_CALL_ARG
_E = CallEffect.EMBED_INFO
_J = CallEffect.CONTROL_JUMP
_FIRST, _LAST = DtypePlace.FIRST, DtypePlace.LAST


class _Rows:
    """Collects the rows of one section."""

    def __init__(self, section: str) -> None:
        self.section = section
        self.rows: list[Intrinsic] = []

    def __call__(
        self,
        names: str,
        signature: str,
        effect: CallEffect,
        by: str,
        note: str = "",
        *,
        vec: bool = False,
        tvm: CallEffect | None = None,
        dtype: DtypePlace = DtypePlace.NOWHERE,
        script: str | None = None,
        op: str | None = None,
        symbol: str | None = None,
        counts: tuple[int, ...] = (),
        check: Check | None = None,
    ) -> None:
        """Builtins with equal rows; `script` is empty where scripts have no function."""
        operands, _, result = signature.partition(" -> ")
        for name in names.split():
            self.rows.append(
                Intrinsic(
                    name,
                    tuple(map(parse_operand, operands[1:-1].split())),
                    parse_result(result),
                    effect,
                    self.section,
                    vec,
                    tvm,
                    dtype,
                    (name,) if script is None else tuple(script.split()),
                    op,
                    symbol,
                    counts,
                    by,
                    note,
                    check,
                )
            )


def _arithmetic() -> list[Intrinsic]:
    row = _Rows("Arithmetic and bits")
    row(
        "bitwise_and bitwise_or bitwise_xor",
        "(a:int b:=a) -> =a",
        _P,
        "code generators",
        "Scripts may write the operators `&`, `|`, `^`.",
        vec=True,
    )
    row("bitwise_not", "(a:int) -> =a", _P, "code generators", vec=True)
    row(
        "shift_left",
        "(a:int b:=a) -> =a",
        _P,
        "code generators",
        "Some number unless `0 <= b < bits`.",
        vec=True,
    )
    row(
        "shift_right",
        "(a:int b:=a) -> =a",
        _P,
        "code generators",
        "Arithmetic if signed, logical if unsigned. Some number unless `0 <= b < bits`.",
        vec=True,
    )
    row(
        "popcount",
        "(x:int) -> =x",
        _P,
        "code generators",
        "The number of one bits.",
        vec=True,
    )
    row(
        "clz",
        "(x:int) -> int32*x",
        _P,
        "code generators",
        "Leading zeros; TVM leaves those of 0 undefined, and its constructor forgets "
        "the lanes of a vector.",
    )
    row(
        "fma",
        "(a:number b:=a c:=a) -> =a",
        _P,
        "code generators",
        "`a * b + c`, rounded once. LowerIntrin makes it.",
        vec=True,
        script="",
    )
    row(
        "q_multiply_shift",
        "(x:int32 y:=x q:=x s:=x) -> int32*x",
        _P,
        "LowerIntrin",
        "`x * y * 2^(s - q)`, rounded half up.",
        vec=True,
    )
    row(
        "q_multiply_shift_per_axis",
        "(x:int32 y:=x ls:=x rs:=x q:=x need_ls:bools need_rs:=need_ls) -> int32*x",
        _P,
        "LowerIntrin",
        "`(x << ls) * y * 2^-(q + rs)`, rounded half up; the shift to the "
        "left only where `need_ls`, a constant.",
        vec=True,
    )
    row(
        "large_uint_imm",
        "(low:const high:const) -> uint64",
        _P,
        "code generators",
        "`(high << 32) | low`. A `tir.const` holds such numbers as they are.",
        script="",
    )
    row(
        "reinterpret",
        "(x:any) -> dtype",
        _P,
        "code generators, FP8 and BF16 legalisation",
        "The same bits as another dtype; 0 as a handle is the null pointer.",
        dtype=_FIRST,
        check=same_size,
    )
    row(
        "dp4a",
        "(a:int8x4 b:=a acc:int32?0) -> int32",
        _P,
        "the WebGPU back end",
        "`acc` plus the four products. TVM prints the dtype first, but does not read it.",
    )
    row(
        "isnan",
        "(x:float) -> bool*x",
        _P,
        "code generators",
        "False for integers, for which TVMScript makes no call.",
    )
    row("isnullptr", "(h:handle) -> bool", _P, "code generators")
    row(
        "likely",
        "(cond:bools) -> =cond",
        _A,
        "LoopPartition",
        "A hint; the value is `cond`.",
        vec=True,
    )
    row(
        "ignore_loop_partition",
        "(cond:bool) -> bool",
        _P,
        "LoopPartition",
        "The value is `cond`, on which loops are not partitioned.",
    )
    row(
        "if_then_else",
        "(cond:bool a:any b:=a) -> =a",
        _P,
        "code generators",
        "Only the taken branch is evaluated.",
        op="tir.if_then_else",
    )
    row(
        "assume",
        "(cond:bool) -> bool",
        _E,
        "RemoveAssume",
        "A fact for Simplify and UseAssumeToReduceBranches.",
    )
    row(
        "undef",
        "() -> dtype:int32",
        _R,
        "RemoveStoreUndef",
        "Some value, another at each use.",
    )
    row(
        "tvm_thread_invariant",
        "(cond:any) -> =cond",
        _P,
        "ThreadSync, code generators",
        "The value is `cond`, the same in all threads.",
    )
    return row.rows


def _math() -> list[Intrinsic]:
    row = _Rows("Math functions")
    by = "LowerIntrin"
    row("exp exp2 exp10 log log2 log10", "(x:float) -> =x", _P, by, vec=True)
    row("log1p erf rsqrt", "(x:float) -> =x", _P, by)
    row("sqrt sigmoid tanh", "(x:float) -> =x", _P, by, vec=True)
    row("sin cos tan sinh cosh", "(x:float) -> =x", _P, by, vec=True)
    row("asin acos atan asinh acosh atanh", "(x:float) -> =x", _P, by)
    whole = "Integers stay as they are."
    row("floor ceil trunc", "(x:number) -> =x", _P, by, whole, vec=True)
    row("round", "(x:number) -> =x", _P, by, f"Ties away from zero. {whole}", vec=True)
    row("nearbyint", "(x:number) -> =x", _P, by, f"Ties to even. {whole}", vec=True)
    row("fabs", "(x:float) -> =x", _P, by, "`T.abs` of a float.", vec=True)
    row("pow", "(a:float b:=a) -> =a", _P, by, vec=True)
    row("fmod", "(a:float b:=a) -> =a", _P, by, "TVM registers one operand.")
    row("atan2 hypot copysign nextafter", "(a:float b:=a) -> =a", _P, by)
    row("ldexp", "(x:float exponent:int) -> =x", _P, by)
    return row.rows


def _memory() -> list[Intrinsic]:
    row = _Rows("Memory and addresses")
    row(
        "address_of",
        "(place:any) -> handle",
        _P,
        "code generators",
        "Nothing is read.",
        op="tir.address_of",
    )
    row(
        "tvm_access_ptr",
        "(type_annotation:any data:pointer offset:index extent:index "
        "rw_mask:const) -> handle",
        _S,
        "LowerDeviceStorageAccessInfo",
        "A pointer with the region it is used for.",
        op="tir.access_ptr",
    )
    row(
        "type_annotation",
        "() -> dtype",
        _P,
        "the builtin it is passed to",
        "Its dtype is all it says. That of a `tir.access_ptr` is in its type.",
        dtype=_FIRST,
    )
    row(
        "tvm_struct_get",
        "(handle:handle index:index field:field) -> dtype",
        _R,
        "code generators",
        "`((Kind*)handle)[index].field`.",
        dtype=_LAST,
    )
    row(
        "tvm_struct_set",
        "(handle:handle index:index field:field value:any) -> int32",
        _U,
        "code generators",
        "Stores to what `tvm_struct_get` reads.",
    )
    row(
        "tvm_stack_alloca",
        "(kind:string{shape|array|arg_value|arg_tcode} n:index) -> handle",
        _U,
        "CPU back ends",
        "An array of `n` int64, DLTensor, TVMValue or int32.",
    )
    row(
        "tvm_stack_make_shape",
        "(dims:index*) -> handle",
        _U,
        "LowerTVMBuiltin",
        "An array of int64; an operand of packed calls.",
    )
    row(
        "tvm_stack_make_array",
        "(data:pointer shape:handle strides:nullable ndim:index "
        "dtype_value:any elem_offset:index) -> handle",
        _U,
        "LowerTVMBuiltin",
        "A DLTensor. Of `dtype_value` only the dtype counts.",
    )
    row(
        "lookup_param",
        "(name:string) -> handle",
        _U,
        "code generators",
        "The symbol `__tvm_param__<name>`.",
    )
    row(
        "nd_mem_alloc_with_scope",
        "(scope:string ndim:index shape:handle) -> handle",
        _U,
        "LowerTVMBuiltin",
        "Bound by a `tir.let`; LowerVtcmAlloc makes it.",
        script="",
    )
    row(
        "texture2d_store",
        "(texture:pointer x:index y:index value:number) -> =value",
        _U,
        "the OpenCL back end",
        "VectorizeLoop widens the value.",
        script="",
    )
    row(
        "texture2d_load",
        "(texture:pointer x:index y:index channel:int) -> dtype",
        _U,
        "the OpenCL back end",
        "VectorizeLoop widens the channel to a ramp.",
        script="",
    )
    row(
        "prefetch",
        "(address:pointer rw:index locality:index cache:index) -> int32",
        _U,
        "LLVM back ends",
        "A hint.",
        script="",
    )
    row(
        "dma_copy",
        "(queue:index dst:pointer src:pointer bytes:index bypass_cache:index) -> int32",
        _U,
        "LowerTVMBuiltin",
        "Starts an asynchronous copy; LowerAsyncDMA makes it.",
        script="",
    )
    row(
        "dma_wait",
        "(queue:index inflight:index) -> int32",
        _U,
        "LowerTVMBuiltin",
        "Waits until at most `inflight` groups are on their way.",
        script="",
    )
    row(
        "dma_start_group dma_end_group",
        "(queue:index) -> int32",
        _U,
        "LowerTVMBuiltin",
        script="",
    )
    row(
        "TVMBackendAllocWorkspace",
        "(device_type:index device_id:index nbytes:index dtype_code:index "
        "bits:index) -> handle",
        _U,
        "code generators",
        "LowerTVMBuiltin makes it from `tir.allocate`.",
        symbol="TVMBackendAllocWorkspace",
    )
    row(
        "TVMBackendFreeWorkspace",
        "(device_type:index device_id:index ptr:pointer) -> int32",
        _U,
        "code generators",
        "0 on success.",
        symbol="TVMBackendFreeWorkspace",
    )
    return row.rows


def _calls() -> list[Intrinsic]:
    row = _Rows("Calls and the calling convention")
    row(
        "call_extern",
        "(name:string args:any*) -> dtype",
        _U,
        "code generators",
        "A call of a C symbol.",
        dtype=_FIRST,
    )
    row(
        "call_pure_extern",
        "(name:string args:any*) -> dtype",
        _P,
        "code generators",
        "`call_extern` of a function without effects.",
        dtype=_FIRST,
    )
    llvm = "The name as a string, or LLVM's number for it. Some producers put the number "
    llvm += "of operands that select the overload first."
    row(
        "call_llvm_intrin",
        "(intrinsic:name args:any*) -> dtype",
        _U,
        "LLVM back ends",
        llvm,
        dtype=_FIRST,
    )
    row(
        "call_llvm_pure_intrin",
        "(intrinsic:name args:any*) -> dtype",
        _P,
        "LLVM back ends",
        llvm,
        vec=True,
        dtype=_FIRST,
    )
    row(
        "call_spirv_pure_glsl450",
        "(id:const args:any*) -> dtype",
        _P,
        "the SPIR-V back end",
        "An op of GLSL.std.450.",
        script="",
    )
    packed = "call_packed tvm_call_packed"
    row(
        "tvm_call_packed",
        "(name:string args:any*) -> dtype:int32",
        _U,
        "LowerTVMBuiltin",
        "A call of a PackedFunc by name.",
        script=packed,
    )
    row(
        "tvm_call_cpacked",
        "(name:string args:any* resource_handle:nullable) -> dtype:int32",
        _U,
        "LowerTVMBuiltin",
        "A call of a C symbol with the packed convention.",
        script="call_cpacked tvm_call_cpacked",
    )
    row(
        "tvm_call_trace_packed",
        "(name:string args:any* value:any) -> =value",
        _U,
        "LowerTVMBuiltin",
        "Gives `value` unless the callee returns one.",
        script="",
    )
    stacks = "name:string value_stack:handle tcode_stack:handle begin:index end:index"
    slots = "Operands are in the slots from `begin` to `end`, the value comes into `end`."
    row(
        "tvm_call_packed_lowered",
        f"({stacks}) -> dtype:int32",
        _U,
        "CPU back ends",
        slots,
        script="call_packed_lowered tvm_call_packed_lowered",
    )
    row(
        "tvm_call_cpacked_lowered",
        f"({stacks} resource_handle:resource) -> dtype:int32",
        _U,
        "CPU back ends",
        slots,
        script="call_cpacked_lowered tvm_call_cpacked_lowered",
    )
    row(
        "tvm_call_trace_packed_lowered",
        f"({stacks} value:any) -> =value",
        _U,
        "CPU back ends",
        slots,
        script="",
    )
    row(
        "tvm_check_return",
        "(expected:index ret_val:index call:index) -> int32",
        _U,
        "C back ends",
        "Returns `ret_val` from the function unless `call` is `expected`.",
        tvm=_P,
    )
    row(
        "tvm_throw_last_error",
        "() -> dtype:handle",
        _U,
        "code generators",
        "Returns -1 from the function, the error having been set.",
    )
    row(
        "tvm_context_id",
        "() -> int32",
        _R,
        "LowerTVMBuiltin",
        "Tells workspaces of parallel contexts apart.",
        script="",
    )
    row(
        "tvm_static_handle",
        "() -> handle",
        _S,
        "CPU back ends",
        "A static variable, null at first. Each call is one of its own.",
        script="",
    )
    row(
        "tvm_thread_context",
        "(call:any) -> =call",
        _U,
        "CombineContextCall",
        "Evaluated once a thread.",
        script="",
    )
    row(
        "tvm_tuple",
        "(values:any*) -> handle",
        _E,
        "the pass that reads the `tir.attr`",
        "The value of a `tir.attr`.",
    )
    row(
        "ret",
        "(value:any?) -> =value",
        _J,
        "MakePackedAPI, code generators",
        "Ends the function.",
        op="tir.ret",
    )
    row(
        "start_profile_intrinsic end_profile_intrinsic",
        "(id:index) -> handle",
        _U,
        "the Hexagon back end",
        "InstrumentProfileIntrinsics makes them.",
        tvm=_P,
    )
    row(
        "anylist_getitem",
        "(list:handle index:index) -> handle",
        _R,
        "LowerTVMBuiltin",
        "A register of the Relax VM; an operand of packed calls.",
    )
    row(
        "anylist_resetitem",
        "(list:handle index:index) -> int32",
        _U,
        "code generators",
        symbol="TVMBackendAnyListResetItem",
    )
    row(
        "anylist_setitem_call_packed anylist_setitem_call_cpacked",
        "(list:handle index:index name:string args:any*) -> int32",
        _U,
        "LowerTVMBuiltin",
        "`list[index]` becomes the value of the call.",
    )
    row(
        "TVMBackendAnyListSetPackedArg",
        "(list:handle index:index value_stack:handle tcode_stack:handle "
        "slot:index) -> int32",
        _U,
        "code generators",
        "LowerTVMBuiltin makes it.",
        script="",
        symbol="TVMBackendAnyListSetPackedArg",
    )
    row(
        "TVMBackendAnyListMoveFromPackedReturn",
        "(list:handle index:index value_stack:handle tcode_stack:handle "
        "slot:index) -> int32",
        _U,
        "code generators",
        "LowerTVMBuiltin makes it. TVM registers three operands.",
        script="",
        symbol="TVMBackendAnyListMoveFromPackedReturn",
    )
    return row.rows


def _threads() -> list[Intrinsic]:
    row = _Rows("Threads")
    row(
        "tvm_storage_sync",
        "(scope:string{shared|shared.dyn|warp|global} is_lead:bool? "
        "num_blocks:index?) -> int32",
        _U,
        "code generators",
        "A barrier, which ThreadSync inserts. That of `global` has all operands.",
        counts=(1, 3),
    )
    by = "LowerIntrin"
    row(
        "tvm_warp_shuffle",
        "(mask:index value:number warp_id:index width:index warp_size:index) -> =value",
        _U,
        by,
        "The value of the lane `warp_id`.",
    )
    row(
        "tvm_warp_shuffle_up tvm_warp_shuffle_down",
        "(mask:index value:number delta:index width:index warp_size:index) -> =value",
        _U,
        by,
        "The value of the lane `delta` below or above.",
    )
    row("tvm_warp_activemask", "() -> uint32", _U, by, "The lanes that are active.")
    row(
        "ptx_redux_sync",
        "(operator:string{add|min|max} mask:index value:number) -> =value",
        _U,
        "the CUDA back end",
        "The values of all lanes of the mask combined, integers of 32 bits. Not of TVM.",
    )
    cuda = "the CUDA back end"
    row(
        "cuda.__shfl_sync cuda.__shfl_up_sync cuda.__shfl_down_sync",
        "(mask:index value:number lane:index width:index) -> =value",
        _U,
        cuda,
        script="",
    )
    row("cuda.__activemask", "() -> uint32", _U, cuda, tvm=_P, script="")
    row(
        "metal.simd_shuffle metal.simd_shuffle_up metal.simd_shuffle_down",
        "(value:number lane:index) -> =value",
        _U,
        "the Metal back end",
        script="",
    )
    row(
        "tvm_thread_allreduce",
        "(size:const args:any*) -> handle",
        _U,
        "LowerThreadAllreduce",
        "A statement on its own.",
        op="tir.thread_allreduce",
    )
    row(
        "tvm_global_barrier_kinit",
        "() -> int32",
        _U,
        cuda,
        "Prepares barriers of the whole grid.",
        script="",
    )
    row(
        "atomic_add",
        "(pointer:pointer value:number) -> =value",
        _U,
        "GPU back ends of LLVM",
        "Gives the value before.",
        script="",
    )
    return row.rows


def _matrices() -> list[Intrinsic]:
    row = _Rows("Matrix units of CUDA")
    by = "CUDA and SPIR-V back ends"
    tile = "frag:pointer m:const n:const k:const index:index"
    layout = "ptr:pointer stride:index layout:string{row_major|col_major}"
    row(
        "tvm_load_matrix_sync",
        f"({tile} {layout}) -> handle",
        _U,
        by,
        "Writes `frag[index]`.",
        tvm=_R,
    )
    row("tvm_store_matrix_sync", f"({tile} {layout}) -> handle", _U, by)
    row("tvm_fill_fragment", f"({tile} value:number) -> handle", _U, by)
    product = "d:pointer d_index:index a:pointer a_index:index b:pointer b_index:index "
    product += "c:pointer c_index:index"
    row("tvm_mma_sync", f"({product}) -> handle", _U, by, "`d = a * b + c`.")
    row(
        "tvm_bmma_sync",
        f"({product} operator:string{{xor|and}}?) -> handle",
        _U,
        by,
        "That of bits: the ones of exclusive ors, or of what `operator` says, are "
        "counted. TVM has no operator.",
    )
    forms = "shape:string a_layout:string{row|col} b_layout:string{row|col} "
    forms += "a_dtype:string b_dtype:string c_dtype:string"
    registers = "a:pointer a_offset:index b:pointer b_offset:index c:pointer "
    registers += "c_offset:index"
    cuda = "the CUDA back end"
    row(
        "ptx_mma",
        f"({forms} {registers} saturate:bool operator:string{{xor|and}}?) -> dtype",
        _U,
        cuda,
        "`mma.sync.aligned`.",
        dtype=_FIRST,
    )
    row(
        "ptx_mma_sp",
        f"({forms} {registers} metadata:pointer metadata_offset:index "
        "sparse_selector:index saturate:bool) -> dtype",
        _U,
        cuda,
        "`mma.sp.sync.aligned`.",
        dtype=_FIRST,
    )
    row(
        "ptx_ldmatrix",
        "(trans:bool num:const{1|2|4} type:string local_ptr:pointer "
        "local_offset:index smem_ptr:pointer smem_offset:index) -> dtype",
        _U,
        cuda,
        "`ldmatrix.sync.aligned`.",
        dtype=_FIRST,
    )
    wide = "shape:string a_layout:string{row} b_layout:string{row|col} "
    wide += "a_dtype:string{fp16|bf16} b_dtype:string{fp16|bf16} c_dtype:string{fp32} "
    row(
        "ptx_wgmma_mma_async",
        f"({wide}{registers}) -> void",
        _U,
        cuda,
        "Begins `c += a * b` of a warpgroup, 128 threads; `shape` is m64nNk16, N a "
        "multiple of 8 up to 256. `a` and `b` are in shared memory as tensor copies with "
        "a swizzle of 128 bytes leave them: rows of 64 elements, 8 of them aligned to "
        "1024 bytes. Rows are lines of 64 terms, or for `b` by row terms of 64 columns, "
        "where 64 terms of further columns follow. Not of TVM.",
    )
    row(
        "ptx_wgmma_fence",
        "() -> void",
        _U,
        cuda,
        "Orders accesses of accumulators before products after it. Not of TVM.",
    )
    row(
        "ptx_wgmma_commit_group",
        "() -> void",
        _U,
        cuda,
        "Closes the group of the products begun so far. Not of TVM.",
    )
    row(
        "ptx_wgmma_wait_group",
        "(n:const) -> void",
        _U,
        cuda,
        "Until at most `n` groups of products are pending. Not of TVM.",
    )
    row(
        "mma_store",
        "(m:const n:const dst_ptr:pointer src_ptr:pointer src_offset:index "
        "dst_stride:index) -> dtype",
        _U,
        cuda,
        "Stores registers; for `m = n = 16` only.",
        dtype=_FIRST,
    )
    row(
        "mma_fill",
        "(local_size:index local_ptr:pointer offset:index) -> dtype",
        _U,
        cuda,
        "Zeroes registers.",
        dtype=_FIRST,
    )
    return row.rows


def _copies() -> list[Intrinsic]:
    row = _Rows("Asynchronous copies and barriers of PTX")
    by = "the CUDA back end"
    copy = "shared_ptr:pointer shared_offset:index global_ptr:pointer global_offset:index"
    row(
        "ptx_cp_async",
        f"({copy} bytes:const{{4|8|16}} predicate:index?) -> dtype",
        _U,
        by,
        "InjectPTXAsyncCopy makes it.",
        dtype=_FIRST,
    )
    row(
        "ptx_cp_async_bulk",
        f"({copy} bytes:index barrier_id:index) -> dtype",
        _U,
        by,
        dtype=_FIRST,
    )
    row("ptx_commit_group", "() -> void", _U, by)
    row(
        "ptx_wait_group",
        "(n:index) -> void",
        _U,
        by,
        "Until at most `n` groups are on their way.",
    )
    row("ptx_cp_async_barrier", "(barrier_id:index) -> void", _U, by)
    row(
        "create_barriers",
        "(count:index) -> void",
        _U,
        by,
        "Before all uses of a barrier.",
    )
    row("ptx_init_barrier_thread_count", "(barrier_id:index n:index) -> void", _U, by)
    row("ptx_arrive_barrier", "(barrier_id:index) -> void", _U, by)
    row("ptx_arrive_barrier_expect_tx", "(barrier_id:index bytes:index) -> void", _U, by)
    row(
        "ptx_wait_barrier",
        "(barrier_id:index parity:index?0) -> void",
        _U,
        by,
        "Until the running phase of the barrier has another parity. TVM has no parity.",
    )
    row(
        "tensormap_encode_tiled",
        "(data:pointer swizzle:const{0|128} values:index*) -> handle",
        _P,
        "tir-convert-to-gpu",
        "Of the host: a tensor map, which kernels take as a handle. `values` are the "
        "extents of a tensor of 1 to 5 dimensions, the outermost first, then the strides "
        "of all but the innermost, in elements, then the extents of a box. Not of TVM.",
        counts=tuple(2 + 3 * rank - 1 for rank in range(1, 6)),
    )
    row(
        "ptx_cp_async_bulk_tensor",
        "(shared_ptr:pointer shared_offset:index tensor_map:handle bytes:const "
        "barrier_id:index coordinates:index*) -> void",
        _U,
        by,
        "Copies the box that begins at the coordinates, the outermost first, with zeros "
        "for what is outside of the tensor. Its bytes, so many, arrive at the barrier. "
        "Not of TVM.",
        counts=tuple(range(6, 11)),
    )
    row(
        "ptx_fence_proxy_async",
        "() -> void",
        _U,
        by,
        "Lets bulk copies and products of warpgroups see what the thread did before in "
        "shared memory. Not of TVM.",
    )
    row(
        "ptx_ldg32",
        "(register:pointer guard:bool address:pointer local_address:index) -> dtype",
        _U,
        by,
        "Loads 32 bits where `guard` holds; `address` is a "
        "`tir.address_of`. InjectPTXLDG32 makes it.",
        tvm=_P,
        script="",
    )
    return row.rows


def _simdgroups() -> list[Intrinsic]:
    row = _Rows("Matrices of Metal simdgroups")
    by = "the Metal back end"
    row(
        "make_filled_simdgroup_matrix",
        "(d:pointer index:index value:number col:const?8 row:const?8) -> handle",
        _U,
        by,
    )
    moved = "d:pointer index:index ptr:pointer stride:index col:const?8 row:const?8 "
    moved += "transpose:bool?0"
    row("simdgroup_load simdgroup_store", f"({moved}) -> handle", _U, by)
    row(
        "simdgroup_multiply_accumulate",
        "(d:pointer d_index:index a:pointer a_index:index b:pointer "
        "b_index:index c:pointer c_index:index) -> handle",
        _U,
        by,
        "`d = a * b + c`.",
    )
    return row.rows


def _vectors() -> list[Intrinsic]:
    row = _Rows("Vectors")
    by = "LLVM back ends"
    row("vectorlow vectorhigh", "(v:vector) -> half(v)", _P, by, dtype=_FIRST)
    row("vectorcombine", "(a:number b:number) -> concat(a,b)", _P, by, dtype=_FIRST)
    row(
        "vscale",
        "() -> int32",
        _P,
        by,
        "What the lanes of scalable vectors are multiplied by.",
    )
    row(
        "get_active_lane_mask",
        "(base:index limit:=base) -> dtype",
        _P,
        by,
        "Lane i holds where `base + i < limit`.",
        dtype=_FIRST,
        check=vector_of_bools,
    )
    return row.rows


def _all_rows() -> Iterator[Intrinsic]:
    for section in (
        _arithmetic,
        _math,
        _memory,
        _calls,
        _threads,
        _matrices,
        _copies,
        _simdgroups,
        _vectors,
    ):
        yield from section()


def _table() -> dict[str, Intrinsic]:
    table: dict[str, Intrinsic] = {}
    for row in _all_rows():
        if row.name in table:
            raise ValueError(f"the builtin {row.name} is listed twice")
        table[row.name] = row
    return table


INTRINSICS: Mapping[str, Intrinsic] = _table()
"""The builtins by TVM name, without its `tir.` prefix.

Where TVM registers another effect (`Intrinsic.tvm_effect`), the one here is what passes
can rely on: two readings of a clock must not become one, nor may a call go that writes a
fragment or leaves the function.
"""

NAMED_OPS: Mapping[str, str] = {
    row.op: name for name, row in INTRINSICS.items() if row.op is not None
}
"""The builtins that are ops of their own: TVM name by op name."""


class UnknownBuiltinError(KeyError):
    """No builtin has this name."""

    def __str__(self) -> str:
        return str(self.args[0])


def builtin(name: str) -> Intrinsic:
    """The builtin of a TVM name, or of one that TVMScript uses for it.

    A prefix `tir.` does not matter. Raises UnknownBuiltinError, which suggests a name.
    """
    plain = name.removeprefix("tir.")
    found = INTRINSICS.get(plain) or _BY_SCRIPT_NAME.get(plain)
    if found is not None:
        return found
    near = get_close_matches(plain, [*INTRINSICS, *_BY_SCRIPT_NAME], 1)
    hint = f", did you mean '{near[0]}'?" if near else "; INTRINSICS lists all"
    raise UnknownBuiltinError(f"there is no builtin '{name}'{hint}")


_BY_SCRIPT_NAME = {
    script: row for row in INTRINSICS.values() for script in row.script_names
}


def infer_result_type(name: str, operand_types: Sequence[Attribute]) -> Attribute | None:
    """The result type of a call of `name` that does not say it; None for void.

    Raises UnknownBuiltinError for no builtin, and ValueError where the number or the
    types of operands do not fit or the dtype has to be said.
    """
    return builtin(name).result_type(operand_types)
