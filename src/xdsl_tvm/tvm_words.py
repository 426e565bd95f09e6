"""The public names of TVM v0.20's everyday namespaces, and why some are not here.

`WORDS` has the names, by the namespace without `tvm.`; `docs/tvm-words.md` is made of
it. A name that is not here is an AttributeError that says why, and what is used in its
place (`missing`).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import ModuleType
from typing import Final

WORDS: Final[Mapping[str, str]] = {
    "": """
        DataType DataTypeCode IRModule Object TVMError arith build compile container
        contrib cpu cuda device dlight driver error ext_dev get_global_func hexagon
        instrument ir meta_schedule metal nd opencl register_func register_object relax
        rocm rpc runtime script support target te testing tir topi transform vpi vulkan
    """,
    "contrib": """
        cblas cc clang cublas cudnn cutlass dnnl emcc ndk nvcc pickle_memoize popen_pool
        random tar thrust utils xcode
    """,
    "rpc": """
        LocalSession MinRPCServer PopenSession RPCSession Server TrackerSession connect
        connect_tracker with_minrpc
    """,
    "ir": """
        Array Attrs BaseExpr BaseFunc CallingConv DictAttrs DummyGlobalInfo EnvFunc
        FuncType GlobalInfo GlobalVar IRModule Map Node Op PointerType PrimExpr PrimType
        Range RelaxExpr SequentialSpan SourceName Span TensorType TupleType Type VDevice
        assert_structural_equal diagnostics get_first_structural_mismatch instrument
        load_json make_node register_intrin_lowering register_op_attr save_json
        structural_equal structural_hash transform
    """,
    "transform": """
        ApplyPassToFunction ModulePass Pass PassContext PassInfo PrintIR Sequential
        module_pass
    """,
    "instrument": """
        DumpIR PassInstrument PassPrintingInstrument PassTimingInstrument PrintAfterAll
        PrintBeforeAll pass_instrument
    """,
    "nd": """
        NDArray array cpu cuda device empty ext_dev from_dlpack hexagon metal
        numpyasarray opencl rocm vpi vulkan webgpu
    """,
    "runtime": """
        DataType DataTypeCode Device Executable Module NDArray Object ObjectGeneric
        ObjectPath PackedFunc Report Scriptable ShapeTuple String const convert cpu cuda
        device disco enabled ext_dev hexagon load_module load_param_dict
        load_param_dict_from_file load_static_library metal ndarray num_threads opencl
        profiling rocm save_param_dict save_param_dict_to_file system_lib vm vpi vulkan
    """,
    "target": """
        GenericFunc Target TargetKind VirtualDevice adreno arm_cpu bifrost codegen cuda
        datatype detect_target generic_func hexagon intel_graphics intrin list_tags mali
        override_native_generic_func riscv_cpu rocm
    """,
    "dlight": """
        ApplyDefaultSchedule ScheduleRule analysis base benchmark cpu gpu
    """,
    "dlight.gpu": """
        Fallback GEMV GeneralReduction LowBatchGEMV Matmul RMSNorm Reduction Transpose
    """,
    "script": """
        from_source highlight ir ir_builder ir_module parse parser relax tir
    """,
    "testing": """
        assert_allclose enabled_targets main parametrize_targets requires_cuda
        requires_gpu requires_llvm
    """,
    "tir": """
        Add Allocate AllocateConst And Any AssertStmt AttrStmt BijectiveLayout Block
        BlockDependenceInfo BlockRealize BlockScope Broadcast Buffer BufferLoad
        BufferRealize BufferRegion BufferStore Call CallEffectKind Cast CommReducer
        DataProducer DeclBuffer Div EQ Evaluate FloatImm FloorDiv FloorMod For ForKind GE
        GT IfThenElse IndexMap IntImm IterVar LE LT Layout Let LetStmt MatchBufferRegion
        Max Min Mod Mul NE Not Or Prefetch PrimExpr PrimFunc ProducerLoad ProducerRealize
        ProducerStore Ramp Reduce Schedule ScheduleError ScheduleState Select SeqStmt
        Shuffle SizeVar Stmt StmtSRef StringImm Sub TVMBackendAllocWorkspace
        TVMBackendFreeWorkspace TensorIntrin Var While abs acos acosh add address_of all
        analysis any asin asinh assume atan atan2 atanh bijective_layout bitwise_and
        bitwise_not bitwise_or bitwise_xor build call_cpacked call_cpacked_lowered
        call_extern call_intrin call_llvm_intrin call_llvm_pure_intrin call_packed
        call_packed_lowered call_pure_extern call_tir ceil ceildiv clz comm_reducer const
        convert copysign cos cosh create_barriers decl_buffer div dp4a
        end_profile_intrinsic erf exp exp10 exp2 floor floordiv floormod fmod
        get_active_lane_mask get_default_tir_pipeline get_tir_pipeline get_vscale_expr
        hypot if_then_else indexdiv indexmod infinity ir_builder isfinite isinf isnan
        isnullptr layout ldexp likely log log10 log1p log2 lookup_param
        make_filled_simdgroup_matrix max max_value min min_value mma_fill mma_store
        multiply nearbyint nextafter popcount pow power ptx_arrive_barrier
        ptx_arrive_barrier_expect_tx ptx_commit_group ptx_cp_async ptx_cp_async_barrier
        ptx_cp_async_bulk ptx_init_barrier_thread_count ptx_ldmatrix ptx_mma ptx_mma_sp
        ptx_wait_barrier ptx_wait_group q_multiply_shift q_multiply_shift_per_axis
        reinterpret ret round rsqrt schedule shift_left shift_right sigmoid
        simdgroup_load simdgroup_multiply_accumulate simdgroup_store sin sinh sqrt
        start_profile_intrinsic stmt_functor stmt_list stmt_seq subtract sum tan tanh
        trace transform trunc truncdiv truncmod tvm_access_ptr tvm_bmma_sync
        tvm_check_return tvm_fill_fragment tvm_load_matrix_sync tvm_mma_sync
        tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape tvm_store_matrix_sync
        tvm_struct_get tvm_struct_set tvm_thread_allreduce tvm_throw_last_error tvm_tuple
        type_annotation undef vectorcombine vectorhigh vectorlow vscale
    """,
    "tir.analysis": """
        OOBChecker apply_prim_func_arg_and_result_memory_constraints assert_pure_function
        calculate_allocated_bytes calculate_constant_bytes calculate_workspace_bytes
        detect_buffer_access_lca estimate_tir_flops expr_deep_equal find_anchor_block
        get_block_access_region get_block_read_write_region
        get_prim_func_arg_and_result_memory_constraints get_vtcm_compaction_passes
        has_if_then_else is_pure_function undefined_vars verify_gpu_code verify_memory
        verify_ssa verify_well_formed
    """,
    "relax": """
        Binding BindingBlock BlockBuilder Call Constant DataTypeImm DataflowBlock
        DataflowBlockRewrite DataflowVar ExecBuilder Executable Expr ExprFunctor
        ExternFunc FuncStructInfo FuncType Function GlobalVar Id If MatchCast
        ObjectStructInfo ObjectType PackedFuncType PrimStructInfo PrimValue PyExprMutator
        PyExprVisitor SeqExpr ShapeExpr ShapeStructInfo ShapeType Span StringImm
        StructInfo TensorStructInfo TensorType Tuple TupleGetItem TupleStructInfo
        TupleType Type VMInstrumentReturnKind Var VarBinding VirtualMachine analysis
        backend binding_rewrite block_builder build call_dps_packed call_pure_packed
        call_tir call_tir_inplace call_tir_with_grad const convert_to_expr distributed
        dpl exec_builder expr expr_functor extern frontend get_default_pipeline
        get_pipeline get_shape_of op register_pipeline struct_info te_tensor testing
        training transform ty utils vm_build
    """,
    "relax.analysis": """
        BaseCheckResult all_global_vars all_vars bound_vars contains_impure_call
        definable_tir_vars_in_struct_info defined_symbolic_vars
        derive_call_ret_struct_info detect_recursion erase_to_well_defined
        estimate_memory_usage free_symbolic_vars free_vars get_static_type get_var2val
        has_reshape_pattern name_to_binding post_order_visit remove_all_unused
        struct_info_base_check struct_info_lca suggest_layout_transforms
        tir_vars_in_struct_info udchain well_formed
    """,
    "relax.backend": """
        DispatchSampling DispatchSortScan adreno contrib cpu_generic cuda
        get_pattern get_patterns_with_prefix gpu_generic metal rocm
    """,
    "relax.frontend.nn": """
        Attention Conv1D Conv2D Conv3D ConvTranspose1D Effect Embedding
        ExternModule GELU GroupNorm IOEffect Identity KVCache LayerNorm Linear
        Module ModuleList MultiLinear Mutator Object ObjectModule Parameter
        RMSNorm ReLU SiLU SourceModule SubroutineMixin Tensor TimestepEmbedding
        Timesteps add_extern llm op spec
    """,
    "relax.frontend.nn.llm": "kv_cache position_embedding tree_attn",
    "relax.frontend.nn.llm.kv_cache": """
        AttnKind FlashInferPagedKVCache PagedKVCache RopeMode TIRPagedKVCache
    """,
    "relax.frontend.nn.op": """
        add arange argsort astype broadcast_to ccl_allgather ccl_allreduce
        ccl_broadcast_from_worker0 chunk concat conv1d conv1d_transpose conv2d
        conv3d cumsum debug_func divide empty equal exp extern floor full gelu
        get_timestep_embedding greater greater_equal group_norm interpolate
        layer_norm less less_equal log matmul max maximum min minimum
        multinomial_from_uniform multiply negative not_equal ones pad permute
        permute_dims prelu print_ relu relu6 renormalize_top_p_top_k_prob repeat
        reshape rms_norm sample_top_p_top_k_from_sorted_prob
        scaled_dot_product_attention sigmoid silu softmax softplus sort split sqrt
        square squeeze subtract sum take tanh tensor_expr_op tensor_ir_inplace_op
        tensor_ir_op topk tril triu unsqueeze where wrap_nested zeros
    """,
    "relax.transform": """
        AdjustMatmulOrder AllocateWorkspace AlterOpImpl AnnotateTIROpPattern
        AttachAttrLayoutFreeBuffers AttachExternModules AttachGlobalSymbol
        BindParams BindSymbolicVars BundleModelParams CallTIRRewrite
        CanonicalizeBindings CombineParallelMatmul ComputePrimValue ConvertLayout
        ConvertToDataflow DataflowBlockPass DataflowUseInplaceCalls
        DeadCodeElimination DecomposeOpsForInference DecomposeOpsForTraining
        EliminateCommonSubexpr ExpandMatmulOfSum ExpandTupleArguments
        FastMathTransform FewShotTuning FoldBatchnormToConv2D FoldConstant
        FunctionPass FuseOps FuseOpsByPattern FuseTIR FuseTransposeMatmul
        FusionPattern Gradient IPCAllReduceRewrite InlinePrivateFunctions
        KillAfterLastUse LambdaLift LazyGetInput LazySetOutput LazyTransformParams
        LegalizeOps LiftTransformParams LowerAllocTensor LowerGPUIPCAllocStorage
        LowerRuntimeBuiltin MergeCompositeFunctions MetaScheduleApplyDatabase
        MetaScheduleTuneIRMod MetaScheduleTuneTIR Normalize NormalizeGlobalVar
        OptimizeLayoutTransform PatternCheckContext RealizeVDevice
        RemovePurityChecking RemoveRedundantReshape RemoveUnusedOutputs
        RemoveUnusedParameters ReorderPermuteDimsAfterConcat
        ReorderTakeAfterMatmul RewriteCUDAGraph RewriteDataflowReshape RunCodegen
        SplitCallTIRByPattern SplitLayoutRewritePreproc StaticPlanBlockMemory
        ToMixedPrecision ToNonDataflow TopologicalSort UpdateParamStructInfo
        UpdateVDevice VMBuiltinLower VMShapeLower dataflowblock_pass function_pass
    """,
}
"""The names by namespace, `""` being `tvm` itself."""

_OPERATIONS: Final = (
    "programs are operations of xdsl_tvm.dialects, not trees of such objects; walk them "
    "with op.walk()"
)
_NO_DEVICE: Final = "code runs on cpu() and cuda() only"
_NO_OBJECTS: Final = "values are those of Python, and there is no class of all of them"
_TE: Final = (
    "there are no tensor expressions; write T.prim_func, or operators of Relax, which "
    "LegalizeOps makes functions of TIR"
)
_TYPES: Final = "types are attributes of xDSL; see xdsl_tvm.dialects"
_SCHEDULE: Final = (
    "there are no schedules by hand; `compile` schedules for the processor, and "
    "tir-gpu-schedule for GPUs"
)
TUNING: Final = "there is no tuning"
_DTYPES: Final = "a dtype is its name, such as 'float32'"
_SPANS: Final = "places in a text are locations of operations"
_STATEMENTS: Final = (
    "statements are operations, such as xdsl_tvm.dialects.tir.ForOp; scripts and "
    "IRBuilder make them"
)
_PYTHON: Final = "Python's own, or numpy's, is used"
_BUILTIN_LIBRARY: Final = "external libraries of kernels are not called"
_EXTERN: Final = (
    "external code is not linked; nn.op.extern calls functions of Python that "
    "register_func has registered"
)
_FLASH_INFER: Final = (
    "kernels of FlashInfer are not called; TIRPagedKVCache has kernels of TIR"
)
_METASCHEDULE: Final = "needs the tuning of MetaSchedule; kernels have default schedules"
_EXTERNAL: Final = "needs an external code generator; none is part of the project"
_IPC: Final = "needs memory that processes of a GPU share, which only TVM's runtime has"
_REMOTE: Final = "code runs on this machine; export_library makes files for others"


class Kind(StrEnum):
    """What programs that use a name need and this package does not have."""

    TENSOR_EXPRESSIONS = "te/topi"
    SCHEDULES = "schedules by hand"
    TUNING = "tuning"
    LIBRARIES = "external libraries"
    REMOTE = "other machines"
    NAMES = "names"


_KINDS: Final = {
    _TE: Kind.TENSOR_EXPRESSIONS,
    _SCHEDULE: Kind.SCHEDULES,
    TUNING: Kind.TUNING,
    _METASCHEDULE: Kind.TUNING,
    _BUILTIN_LIBRARY: Kind.LIBRARIES,
    _EXTERNAL: Kind.LIBRARIES,
    _REMOTE: Kind.REMOTE,
    _FLASH_INFER: Kind.LIBRARIES,
}
"""The kinds of reasons; others are `NAMES`."""


class MissingError(Exception):
    """Something of TVM is not here; `kind` says what kind of thing it belongs to."""

    def __init__(self, message: str, kind: Kind = Kind.NAMES) -> None:
        super().__init__(message)
        self.kind = kind


class MissingNameError(MissingError, AttributeError):
    """A name of TVM that is not here."""


_REASONS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "DataType DataTypeCode": _DTYPES,
        "Object register_object": _NO_OBJECTS,
        "TVMError error": "errors are those of Python and xDSL: ValueError, TypeError, "
        "RuntimeError, VerifyException, PassFailedException",
        "arith": "the analyzer is xdsl_tvm.analysis.arith, on its own expressions",
        "container": "tvm.ir.Array and Map are tuples and dictionaries",
        "support driver": _PYTHON,
        "meta_schedule": TUNING,
        "te topi": _TE,
        "ext_dev hexagon metal opencl rocm vpi vulkan": _NO_DEVICE,
    },
    "contrib": {
        "cblas cublas cudnn cutlass dnnl random thrust": _BUILTIN_LIBRARY,
        "cc clang emcc ndk nvcc tar xcode": "compile and export_library make machine "
        "code and files by themselves",
        "pickle_memoize popen_pool": _PYTHON,
    },
    "rpc": {
        "MinRPCServer PopenSession RPCSession Server TrackerSession connect "
        "connect_tracker with_minrpc": _REMOTE,
    },
    "ir": {
        "Attrs DictAttrs make_node": "attributes are dictionaries, such as func.attrs",
        "BaseExpr RelaxExpr Node EnvFunc register_op_attr": _OPERATIONS,
        "Op": "the op of a call is an operation of xDSL: ask for its name, as in "
        'call.op.name == "relax.add"',
        "PrimExpr": "it is xdsl_tvm.tir.PrimExpr",
        "CallingConv": "it is the attribute calling_conv, a number",
        "GlobalInfo": "global infos are attributes of the module",
        "FuncType PointerType PrimType TensorType TupleType Type": _TYPES,
        "SequentialSpan SourceName Span": _SPANS,
        "diagnostics": "errors are exceptions of one line",
        "get_first_structural_mismatch": "assert_structural_equal shows it",
        "load_json save_json": "modules are saved as text: str(module), module.script()",
    },
    "instrument": {},
    "nd": {
        "ext_dev hexagon metal opencl rocm vpi vulkan webgpu": _NO_DEVICE,
        "numpyasarray": "array copies an array of numpy, from_dlpack shares it",
    },
    "runtime": {
        "DataType DataTypeCode": _DTYPES,
        "Object ObjectGeneric ObjectPath String": _NO_OBJECTS,
        "PackedFunc": "functions are functions of Python; register_func registers one",
        "Report profiling": "compile(module, profile=True) has kernel_times()",
        "const": "it is xdsl_tvm.tir.const",
        "disco": "there are no sessions of several machines",
        "enabled": "extras say what is installed: cpu, cuda",
        "load_static_library system_lib": "libraries are shared; see object_file for "
        "object files",
        "num_threads": "XDSL_TVM_NUM_THREADS sets it; see xdsl_tvm.runtime.threads",
        "ext_dev hexagon metal opencl rocm vpi vulkan": _NO_DEVICE,
    },
    "target": {
        "GenericFunc generic_func override_native_generic_func": _PYTHON,
        "VirtualDevice": "relax has I.vdevice",
        "adreno arm_cpu bifrost cuda hexagon intel_graphics mali riscv_cpu rocm": (
            "a target is a string, a dictionary or a tag: Target('nvidia/nvidia-a100')"
        ),
        "codegen detect_target": "Target.from_device says what this machine has",
        "intrin": "rules are registered by tvm.ir.register_intrin_lowering",
    },
    "dlight": {
        "analysis base": "rules are chosen by tir-gpu-schedule itself",
        "benchmark": "times are taken by time_evaluator, and by benchmarks/",
        "cpu": "compile schedules for the processor by itself",
    },
    "script": {
        "highlight": "module.show() does it",
    },
    "testing": {
        "enabled_targets parametrize_targets requires_cuda requires_gpu requires_llvm "
        "main": "tests are marked by pytest itself",
    },
    "tir": {
        "Allocate AllocateConst AssertStmt AttrStmt Block BlockRealize BufferRealize "
        "BufferRegion BufferStore DeclBuffer Evaluate For ForKind IfThenElse "
        "LetStmt MatchBufferRegion Prefetch SeqStmt Stmt While stmt_list "
        "stmt_seq": _STATEMENTS,
        "BlockDependenceInfo BlockScope Schedule ScheduleError ScheduleState StmtSRef "
        "schedule": _SCHEDULE,
        "Any": "an extent that is not known is a variable",
        "BijectiveLayout Layout bijective_layout layout": "layouts are strings in "
        "operators, and index maps: IndexMap",
        "CallEffectKind": "effects are traits of operations",
        "DataProducer ProducerLoad ProducerRealize ProducerStore Reduce sum": _TE,
        "call_tir": "a function of the module is called by its GlobalVar",
        "Let": "it is T.Let(body, where={variable: value})",
        "ir_builder": "it is xdsl_tvm.script.ir_builder; see docs/builder.md",
        "get_vscale_expr": "T.vscale() is the expression",
        "stmt_functor": "walk operations with op.walk(); expressions are rewritten by "
        "patterns of xDSL",
        "trace": "print a value by a packed call",
    },
    "relax": {
        "Binding BindingBlock DataflowBlock If MatchCast SeqExpr VarBinding "
        "DataflowBlockRewrite binding_rewrite Constant": _OPERATIONS,
        "DataTypeImm StringImm": "dtypes and strings are arguments of operators only",
        "DataflowVar": "a variable of a dataflow block is a Var",
        "ExecBuilder exec_builder vm_build VMInstrumentReturnKind": "there is no "
        "bytecode; Relax is compiled to machine code",
        "ExprFunctor": "expressions are visited by PyExprVisitor and PyExprMutator",
        "FuncType ObjectType PackedFuncType ShapeType TensorType TupleType Type ty "
        "StructInfo": "a struct info is a type of the dialect: relax.TensorStructInfo(…)",
        "Id": "variables are equal to themselves only",
        "Span": _SPANS,
        "distributed": "functions run on one device",
        "extern": "functions of the runtime are called by their names",
        "get_shape_of": "expr.shape has the dimensions, relax.op.shape_of the value",
        "te_tensor": _TE,
        "testing utils": _PYTHON,
        "training": "there are no losses and optimizers; relax.transform.Gradient makes "
        "gradients",
    },
    "tir.analysis": {
        "OOBChecker": "interpret(module) reports accesses out of bounds, and "
        "compile(module, bound_checks=True) makes them errors",
        "apply_prim_func_arg_and_result_memory_constraints "
        "get_prim_func_arg_and_result_memory_constraints get_vtcm_compaction_passes": (
            _NO_DEVICE
        ),
        "assert_pure_function is_pure_function": "xdsl_tvm.analysis.tir.side_effect says "
        "what operations do",
        "calculate_allocated_bytes calculate_constant_bytes calculate_workspace_bytes": (
            "it is xdsl_tvm.analysis.tir.allocated_bytes.allocated_bytes"
        ),
        "detect_buffer_access_lca": "it is xdsl_tvm.analysis.tir.lca.buffer_access_lca",
        "estimate_tir_flops": "`xdsl-tvm estimate` counts instructions of kernels",
        "expr_deep_equal": "structural_equal compares programs",
        "find_anchor_block has_if_then_else undefined_vars": _OPERATIONS,
        "get_block_access_region get_block_read_write_region": "it is in "
        "xdsl_tvm.analysis.tir.access_regions",
        "verify_gpu_code": "it is the pass tir-verify-gpu-code",
        "verify_memory": "it is the pass tir-verify-memory",
        "verify_ssa": "values of xDSL are defined once; module.verify() checks the rest",
    },
    "relax.analysis": {
        "BaseCheckResult definable_tir_vars_in_struct_info erase_to_well_defined "
        "derive_call_ret_struct_info get_static_type struct_info_base_check "
        "struct_info_lca tir_vars_in_struct_info": _TYPES,
        "all_global_vars all_vars bound_vars detect_recursion free_vars get_var2val "
        "name_to_binding post_order_visit udchain": _OPERATIONS,
        "contains_impure_call": "an impure call in a pure function does not verify",
        "defined_symbolic_vars free_symbolic_vars": "func.symbol_names has those that "
        "parameters define",
        "estimate_memory_usage": "it is the pass relax-report-memory-plan",
        "has_reshape_pattern": "it is in xdsl_tvm.analysis.relax.reshape_pattern",
        "remove_all_unused": "it is relax.transform.DeadCodeElimination",
        "suggest_layout_transforms": "tir-gpu-schedule and compile choose layouts "
        "themselves",
    },
    "relax.BlockBuilder": {"call_te emit_te": _TE},
    "relax.backend": {
        "cuda rocm metal contrib": _BUILTIN_LIBRARY,
        "adreno": _NO_DEVICE,
        "cpu_generic gpu_generic": "relax.get_default_pipeline has a target's passes",
    },
    "relax.frontend.nn": {
        "ExternModule ObjectModule SourceModule add_extern": _EXTERN,
    },
    "relax.frontend.nn.llm": {
        "position_embedding": "TIRPagedKVCache turns queries and keys, by rope_mode",
        "tree_attn": "trees of tokens are not supported",
    },
    "relax.frontend.nn.llm.kv_cache": {"FlashInferPagedKVCache": _FLASH_INFER},
    "relax.frontend.nn.op": {
        "debug_func": "values of a program are no strings; use print_, or extern",
        "tensor_expr_op": _TE,
    },
    "relax.transform": {
        "AttachExternModules": "attaches modules of TVM's runtime, which attributes "
        "cannot hold; compiled functions get theirs by `compile(module, externs=…)`",
        "FastMathTransform": "`tvm-expand-math` writes math functions as polynomials "
        "with stated bounds for every program",
        "FewShotTuning MetaScheduleApplyDatabase MetaScheduleTuneIRMod "
        "MetaScheduleTuneTIR": _METASCHEDULE,
        "IPCAllReduceRewrite LowerGPUIPCAllocStorage": _IPC,
        "RunCodegen SplitCallTIRByPattern": _EXTERNAL,
    },
}
"""Why names are not here, several at once."""


@cache
def words(namespace: str) -> tuple[str, ...]:
    """TVM's names in a namespace, in order."""
    return tuple(sorted(WORDS.get(namespace, "").split()))


def has_word(namespace: str, name: str) -> bool:
    """Whether TVM has a name in a namespace."""
    return name in words(namespace)


@cache
def _reasons(namespace: str) -> Mapping[str, str]:
    return {
        name: reason
        for names, reason in _REASONS.get(namespace, {}).items()
        for name in names.split()
    }


def refused(namespace: str) -> Mapping[str, str]:
    """The names of TVM that are not here, with the reasons."""
    return _reasons(namespace)


def is_refused(namespace: str, name: str) -> bool:
    """Whether a name of TVM is not here for a reason."""
    return name in _reasons(namespace)


def module_of(namespace: str) -> str:
    """The module that stands for a namespace of TVM."""
    return f"xdsl_tvm.{namespace}" if namespace else "xdsl_tvm"


def reason(namespace: str, name: str) -> str | None:
    """Why a name of TVM is not here; None if it is, or if TVM does not have it either."""
    if not has_word(namespace, name):
        return None
    if hasattr(importlib.import_module(module_of(namespace)), name):
        return None
    return _reasons(namespace)[name]


def missing(namespace: str, name: str) -> MissingNameError:
    """What to raise for a name that a namespace does not have."""
    where = module_of(namespace)
    why = _reasons(namespace).get(name)
    if why is not None:
        kind = _KINDS.get(why, Kind.NAMES)
        return MissingNameError(f"{where} has no '{name}': {why}", kind)
    near = difflib.get_close_matches(name, words(namespace), 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return MissingNameError(f"module '{where}' has no attribute '{name}'{hint}")


def our_name(name: str) -> str:
    """The name here of what TVM calls `tvm.x.y`; `tirx` is newer TVM's name of `tir`."""
    first, *rest = ("tir" if part == "tirx" else part for part in name.split("."))
    return ".".join((f"xdsl_{first}", *rest))


def is_tvm(name: str) -> bool:
    """Whether a dotted name is that of TVM, or of something in it."""
    return name.partition(".")[0] == "tvm"


def found_module(name: str) -> ModuleType:
    """Our module for one of TVM, `xdsl_tvm.x` for `tvm.x`.

    Raises AttributeError, with the reason where there is one, if there is none.
    """
    first, *rest = our_name(name).split(".")
    found = importlib.import_module(first)
    for part in rest:
        below = f"{found.__name__}.{part}"
        if hasattr(found, "__path__") and importlib.util.find_spec(below) is not None:
            found = importlib.import_module(below)
            continue
        attribute = getattr(found, part)
        if not isinstance(attribute, ModuleType):
            raise AttributeError(f"'{below}' is no module")
        found = attribute
    return found
