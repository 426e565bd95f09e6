"""Annotations and attributes by key: what they mean and what values they take.

TVM hangs facts for its passes on loops, blocks, allocations, functions and modules (
docs/spec/tir-ir.md §9.2, §9.3, §12). The tables here say, for each key that some pass
knows, what its value must be; the verifiers of the ops go by them. Other keys are
nobody's business and are kept as they are. Two of TVM's annotations of blocks hold
buffers or expressions, which attributes cannot: `layout_free_placeholders` and
`require_bound_predicate`. They are not represented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.types import require_in_range

_Nested: TypeAlias = "Sequence[AnnotationValue] | Mapping[str, AnnotationValue]"
AnnotationValue: TypeAlias = "bool | int | float | str | Attribute | _Nested | None"
"""What people write for an annotation in Python."""

ABI_KEY: Final = "tir.abi"
"""Which convention a function with the `calling_conv` 1 has, unless it is TVM 0.20's."""
_PACKED_CONVENTION: Final = 1

# ---- from and to Python ----


def annotation_attr(value: object) -> Attribute:
    """The attribute of a Python value, as TVM boxes it (docs/spec/tir-ir.md §12).

    A bool is `i1`, an integer `i32`, or `i64` where it does not fit, a float `f32`, and
    None is `none`; lists and dictionaries are converted item by item, and attributes are
    kept. `value` is an `AnnotationValue`; ValueError is raised for anything else, and for
    a number out of range.
    """
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return _integer(value)
        case float():
            require_in_range(value, f32)
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case None:
            return NoneAttr()
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return DictionaryAttr({_key(k): annotation_attr(item) for k, item in items})
        case Sequence():
            return ArrayAttr(map(annotation_attr, cast("Sequence[object]", value)))
        case _:
            raise ValueError(
                f"a value of type {type(value).__name__} cannot be an annotation; use a "
                "bool, a number, a string, a list, a dictionary or an attribute"
            )


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the keys of a dictionary must be strings, got {key!r}")
    return key


def _integer(value: int) -> Attribute:
    dtype = i32 if -(2**31) <= value < 2**31 else i64
    require_in_range(value, dtype)
    return IntegerAttr(value, dtype)


def annotation_value(attribute: Attribute) -> AnnotationValue:
    """The Python value of an attribute, the inverse of `annotation_attr`.

    Number types are lost, `unit` is True, and what has no Python value stays as it is.
    """
    match attribute:
        case IntegerAttr():
            number = attribute.value.data
            return bool(number) if attribute.type == i1 else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case UnitAttr():
            return True
        case NoneAttr():
            return None
        case ArrayAttr():
            return [annotation_value(item) for item in attribute]
        case DenseArrayBase():
            return list(cast("DenseArrayBase[IntegerType]", attribute).get_values())
        case DictionaryAttr():
            items = attribute.data.items()
            return {key: annotation_value(item) for key, item in items}
        case _:
            return attribute


def annotation_dict(values: Mapping[str, AnnotationValue]) -> DictionaryAttr | None:
    """The annotations of an op; None for none."""
    return cast(DictionaryAttr, annotation_attr(values)) if values else None


# ---- what values may be ----


@dataclass(frozen=True)
class ValueKind:
    """What a value may be: in words, and as a predicate."""

    words: str
    accepts: Callable[[Attribute], bool]


def packed_abi(func: Operation) -> Abi | None:
    """The convention of calls with values that a function has; None for another one."""
    if integer_of(func.attributes.get("calling_conv")) != _PACKED_CONVENTION:
        return None
    given = func.attributes.get(ABI_KEY)
    is_ffi = isinstance(given, StringAttr) and given.data == Abi.FFI.value
    return Abi.FFI if is_ffi else Abi.PACKED


def integer_of(value: Attribute | None) -> int | None:
    """The number of an integer or bool attribute, None for any other."""
    match value:
        case IntegerAttr():
            return value.value.data
        case _:
            return None


def is_true(value: Attribute | None) -> bool:
    """Whether an attribute used as a flag is set: it is there, and is not 0."""
    return value is not None and integer_of(value) != 0


def list_items(value: Attribute) -> Sequence[Attribute] | None:
    """The items of a list attribute, dense or not; None for any other."""
    match value:
        case ArrayAttr():
            return value.data
        case DenseArrayBase():
            array = cast("DenseArrayBase[IntegerType]", value)
            return [_number(item) for item in array.get_values()]
        case _:
            return None


def strings_of(value: Attribute | None) -> list[str]:
    """The strings of a list attribute, none where it is missing."""
    items = None if value is None else list_items(value)
    return [item.data for item in items or () if isinstance(item, StringAttr)]


def _number(value: float) -> Attribute:
    return IntegerAttr(value, i64) if isinstance(value, int) else FloatAttr(value, 64)


def _is_int(value: Attribute) -> bool:
    match value:
        case IntegerAttr():
            return isinstance(value.type, IntegerType)
        case _:
            return False


def _is_list_of(
    accepts: Callable[[Attribute], bool], length: int | None = None
) -> Callable[[Attribute], bool]:
    def check(value: Attribute) -> bool:
        items = list_items(value)
        return (
            items is not None
            and (length is None or len(items) == length)
            and all(map(accepts, items))
        )

    return check


def _is_one_of(*numbers: int) -> Callable[[Attribute], bool]:
    return lambda value: _is_int(value) and integer_of(value) in numbers


def _is_wmma_shape(value: Attribute) -> bool:
    if not isinstance(value, StringAttr):
        return False
    sizes = value.data.split(",")
    return len(sizes) == 3 and all(size.strip().isdecimal() for size in sizes)


def _is_float(value: Attribute) -> bool:
    return isinstance(value, FloatAttr)


def _is_str(value: Attribute) -> bool:
    return isinstance(value, StringAttr)


def _is_unit(value: Attribute) -> bool:
    return isinstance(value, UnitAttr)


def _is_dense(value: Attribute) -> bool:
    return isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)


def _is_int_map(value: Attribute) -> bool:
    return isinstance(value, DictionaryAttr) and all(map(_is_int, value.data.values()))


def _any_of(*checks: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    return lambda value: any(check(value) for check in checks)


ANY = ValueKind("anything", lambda _: True)
INT = ValueKind("an integer", _is_int)
FLAG = ValueKind("a bool", _any_of(_is_int, _is_unit))
STR = ValueKind("a string", _is_str)
NUMBER = ValueKind("a number", _any_of(_is_int, _is_float))
INT_OR_STR = ValueKind("an integer or a string", _any_of(_is_int, _is_str))
INTS = ValueKind("a list of integers", _is_list_of(_is_int))
STRS = ValueKind("a list of strings", _is_list_of(_is_str))
MAP = ValueKind("a dictionary", lambda value: isinstance(value, DictionaryAttr))
INT_MAP = ValueKind("a dictionary of integers", _is_int_map)
TARGET = ValueKind(
    'a target, as in #tir.target<"cuda", arch = "sm_80">',
    lambda value: isinstance(value, Target),
)
ALIGNMENTS = ValueKind(
    "a list of [buffer, dimension, factor, offset], all integers",
    _is_list_of(_is_list_of(_is_int, 4)),
)
REALIZE_ALIGNMENTS = ValueKind(
    "a list of [dimension, factor, offset], all integers",
    _is_list_of(_is_list_of(_is_int, 3)),
)
CONSTANTS = ValueKind("a list of dense arrays", _is_list_of(_is_dense))
LAYOUT = ValueKind(
    '"row_major" or "col_major"',
    lambda v: isinstance(v, StringAttr) and v.data in ("row_major", "col_major"),
)
FRAGMENT = ValueKind('three sizes, as in "16, 16, 16"', _is_wmma_shape)
CALLING_CONV = ValueKind(
    "0 (default), 1 (C packed function), 2 (device kernel) or -1 (lowered)",
    _is_one_of(-1, 0, 1, 2),
)
OP_PATTERN = ValueKind("0, 1, 2, 3, 4, 7 or 8", _is_one_of(0, 1, 2, 3, 4, 7, 8))
CACHE_TYPE = ValueKind("0 (read) or 1 (write)", _is_one_of(0, 1))
ACCESS_MASK = ValueKind("0 to 3 (1 reads, 2 writes)", _is_one_of(0, 1, 2, 3))

# ---- tables ----


@dataclass(frozen=True)
class Annotation:
    """A key: what its value may be, what it means, and who goes by it.

    A key that ends in `*` stands for all that start with what is before it.
    """

    key: str
    value: ValueKind
    meaning: str
    consumer: str


Table: TypeAlias = "dict[str, Annotation]"


def _table(*rows: Annotation) -> Table:
    return {row.key: row for row in rows}


MIN_BLOCKS_PRAGMA: Final = "pragma_min_blocks"
"""The same of one kernel, on the outermost of its loops over threads."""

_PRAGMAS = (
    Annotation(
        "pragma_auto_unroll_max_step",
        INT,
        "loops of at most this many steps are unrolled within",
        "UnrollLoop",
    ),
    Annotation(
        "pragma_unroll_explicit",
        FLAG,
        "whether loops to unroll are expanded, or only marked",
        "UnrollLoop",
    ),
    Annotation(
        "pragma_loop_partition_hint", FLAG, "the loop is partitioned", "LoopPartition"
    ),
    Annotation(
        MIN_BLOCKS_PRAGMA,
        INT,
        "as many blocks of the kernel as a multiprocessor holds at least",
        "SplitHostDevice",
    ),
    Annotation("pragma_import_c", STR, "C source of the module", "code generators"),
    Annotation("pragma_import_llvm", STR, "LLVM IR of the module", "code generators"),
    Annotation("pragma_*", ANY, "an attribute scope around it", "LowerOpaqueBlock"),
)

FOR_ANNOTATIONS: Final = _table(
    Annotation(
        "software_pipeline_stage",
        INTS,
        "the stage of each statement of the body",
        "InjectSoftwarePipeline",
    ),
    Annotation(
        "software_pipeline_order",
        INTS,
        "the order of issue of the statements, a permutation",
        "InjectSoftwarePipeline",
    ),
    Annotation(
        "software_pipeline_async_stages",
        INTS,
        "the stages that run asynchronously",
        "InjectSoftwarePipeline",
    ),
    Annotation("vectorize", INT_OR_STR, "a hint of a schedule", "meta-schedule"),
    Annotation("meta_schedule.*", ANY, "a hint of a schedule", "meta-schedule"),
    *_PRAGMAS,
)
"""Of `tir.for` and `tir.launch_thread`. Any key but a pragma keeps a loop of extent 1."""

_META_SCHEDULE = (
    *(
        Annotation(f"meta_schedule.{key}", INT, meaning, "meta-schedule")
        for key, meaning in (
            ("cooperative_fetch", "threads that copy together"),
            ("thread_extent_low_inclusive", "least threads of the block"),
            ("thread_extent_high_inclusive", "most threads of the block"),
            ("parallel", "the extent up to which loops become parallel"),
            ("vectorize", "the most lanes of vectorized loops"),
            ("unroll_explicit", "the extent up to which loops are unrolled"),
            ("unroll_implicit", "the same, left to the code generator"),
            ("random_compute_producer", "the producer is placed at random"),
            ("layout_rewrite_preproc", "the block only rewrites a layout"),
            ("tensor_core_enabled", "the block is computed on tensor cores"),
        )
    ),
    *(
        Annotation(f"meta_schedule.{key}", STR, meaning, "meta-schedule")
        for key, meaning in (
            ("tiling_structure", "the levels of tiles, as in SSRSRS"),
            ("auto_tensorize", "the intrinsic that computes the block"),
            ("auto_tensorize_init", "the intrinsic that computes its init"),
            ("inline_rule", "whether the block is inlined"),
        )
    ),
    Annotation(
        "meta_schedule.cache_type",
        CACHE_TYPE,
        "which kind of cache the block fills",
        "meta-schedule",
    ),
    Annotation("meta_schedule.*", ANY, "an instruction of a schedule", "meta-schedule"),
)

BLOCK_ANNOTATIONS: Final = _table(
    Annotation(
        "buffer_dim_align",
        ALIGNMENTS,
        "the stride of the dimension of a written buffer is `offset` modulo `factor`",
        "LowerOpaqueBlock",
    ),
    Annotation(
        "double_buffer_scope",
        INT,
        "the written buffer that gets one more version",
        "InjectSoftwarePipeline",
    ),
    Annotation(
        "tir.manifest_shared_memory_local_stage",
        FLAG,
        "what is copied is held in registers first",
        "ManifestSharedMemoryLocalStage",
    ),
    Annotation(
        "permuted_layout",
        INT_OR_STR,
        "the shared buffer of the block is swizzled",
        "InjectPermutedLayout",
    ),
    Annotation("auto_copy", FLAG, "the block copies data", "LowerAutoCopy"),
    Annotation("local_stage", FLAG, "the copy goes through registers", "LowerAutoCopy"),
    Annotation("vector_bytes", INT, "the bytes that are copied at once", "LowerAutoCopy"),
    Annotation("warp_execution", FLAG, "one warp runs the block", "LowerAutoCopy"),
    Annotation(
        "explicit_read_region",
        INTS,
        "the read regions that are right as they are",
        "CompactBufferAllocation",
    ),
    Annotation(
        "explicit_write_region",
        INTS,
        "the written regions that are right as they are",
        "CompactBufferAllocation",
    ),
    Annotation(
        "tir.script_parsing_detect_access",
        ACCESS_MASK,
        "the regions that the reader fills in",
        "TVMScript reader",
    ),
    Annotation("schedule_rule", ANY, "a tag of an operator", "schedulers"),
    Annotation("axis", ANY, "a tag of an operator", "schedulers"),
    Annotation("workload", ANY, "a tag of an operator", "schedulers"),
    Annotation("const_matrix", ANY, "a tag of an operator", "schedulers"),
    Annotation(
        "auto_scheduler_simplify_const_tensor_indices", ANY, "a tag", "schedulers"
    ),
    *_META_SCHEDULE,
    *_PRAGMAS,
)
"""Of `tir.block`."""

ALLOCATE_ANNOTATIONS: Final = _table(
    Annotation(
        "buffer_dim_align",
        ALIGNMENTS,
        "as for blocks, with -1 as the buffer",
        "FlattenBuffer, CompactBufferAllocation",
    ),
    Annotation(
        "disable_lower_builtin", FLAG, "the allocation stays as it is", "LowerTVMBuiltin"
    ),
    Annotation(
        "fragment_shape",
        FRAGMENT,
        "the sizes m, n and k of a fragment",
        "code generators",
    ),
    Annotation("fragment_layout", LAYOUT, "the layout of a fragment", "code generators"),
)
"""Of `tir.allocate` and `tir.allocate_const`."""

REALIZE_ANNOTATIONS: Final = _table(
    Annotation(
        "rolling_buffer_scope", FLAG, "the buffer is circular", "InjectRollingBuffer"
    ),
    Annotation(
        "buffer_dim_align",
        REALIZE_ALIGNMENTS,
        "the stride of the dimension is `offset` modulo `factor`",
        "none in v0.20",
    ),
)
"""Of `tir.buffer_realize`."""

KERNEL_LAUNCH_PARAMS: Final = "tir.kernel_launch_params"
"""The attribute of a kernel that says what launches pass after its arguments."""
MIN_BLOCKS: Final = "tir.min_blocks"
"""The attribute of a function that says how many blocks of each of its kernels a
multiprocessor holds at least, and of a kernel."""

USE_DYNAMIC_SHARED: Final = "tir.use_dyn_shared_memory"
"""The entry of `tir.kernel_launch_params` for the bytes of dynamic shared memory."""

FUNCTION_ATTRIBUTES: Final = _table(
    Annotation(
        "global_symbol",
        STR,
        "the name under which the function can be called from outside",
        "MakePackedAPI, BindTarget, code generators",
    ),
    Annotation("target", TARGET, "what the function is compiled for", "most of lowering"),
    Annotation("calling_conv", CALLING_CONV, "how it is called", "code generators"),
    Annotation(
        ABI_KEY,
        STR,
        '`"ffi"`: the packed convention is that of tvm-ffi',
        "code generators",
    ),
    Annotation(
        MIN_BLOCKS,
        INT,
        "as many blocks as a multiprocessor holds at least; its registers are theirs",
        "code generators",
    ),
    Annotation("tir.noalias", FLAG, "no two parameters overlap", "code generators"),
    Annotation("tir.is_entry_func", FLAG, "the module's entry", "code generators"),
    Annotation("tir.is_global_func", FLAG, "it is a kernel", "none, a mark"),
    Annotation("tir.is_host_func", FLAG, "it runs on the host", "BindTarget"),
    Annotation("tir.is_scheduled", FLAG, "it needs no schedule", "DefaultGPUSchedule"),
    Annotation(
        KERNEL_LAUNCH_PARAMS,
        STRS,
        "the thread axes of a launch, in the order of its arguments",
        "code generators",
    ),
    Annotation(
        "tir.HoistIfThenElseExprWithBlock",
        INT,
        "conditions are hoisted across blocks",
        "HoistIfThenElse",
    ),
    Annotation("op_pattern", OP_PATTERN, "what it fuses with", "relax FuseOps"),
    Annotation(
        "layout_free_buffers",
        INTS,
        "the parameters whose layout may be changed",
        "relax AlterOpImpl",
    ),
    Annotation("operator_name", STR, "the operator that it computes", "AlterOpImpl"),
    Annotation("estimated_flops", NUMBER, "its operations", "estimate_tir_flops"),
    Annotation("device_contexts", MAP, "the devices of its callees", "C code generator"),
    Annotation("runner_function", FLAG, "the entry of AOT", "LegalizePackedCalls"),
    Annotation(
        "tir_var_upper_bound",
        INT_MAP,
        "the largest values of symbolic sizes, by name",
        "relax StaticPlanBlockMemory",
    ),
    Annotation(
        "tir_non_negative_var",
        STRS,
        "symbolic sizes, or parameters by their names, of at least 0",
        "bounds of integers, relax passes",
    ),
)
"""Of `tir.func`. `pragma_*`, `dlight.*` and all others are kept."""

MODULE_ATTRIBUTES: Final = _table(
    Annotation("mod_name", STR, "the name of the module", "AOT"),
    Annotation(
        "constants", CONSTANTS, "what tir.allocate_const counts", "code generators"
    ),
    Annotation("external_mods", ANY, "modules that are linked to it", "relax"),
    Annotation("system_lib_prefix", STR, "what symbols start with", "code generators"),
    Annotation("const_name_to_constant", MAP, "constants by name", "relax RunCodegen"),
    Annotation("runtime", ANY, "the runtime", "none, legacy"),
    Annotation("executor", ANY, "the executor", "none, legacy"),
)
"""Of `builtin.module`, in its dictionary `tir.module_attrs`."""


def find(table: Table, key: str) -> Annotation | None:
    """The row of a key, that of a prefix where the key itself has none."""
    found = table.get(key)
    if found is not None:
        return found
    for row in table.values():
        if row.key.endswith("*") and key.startswith(row.key[:-1]):
            return row
    return None


def verify_annotations(
    op: Operation, table: Table, annotations: Mapping[str, Attribute], what: str
) -> None:
    """Raise VerifyException for a known key whose value is of another kind."""
    for key, value in annotations.items():
        row = find(table, key)
        if row is not None and not row.value.accepts(value):
            raise VerifyException(
                f"{op.name}: {what} '{key}' must be {row.value.words}, got {value}"
            )


def verify_dictionary(
    op: Operation, table: Table, annotations: DictionaryAttr | None
) -> None:
    """`verify_annotations` of an op's dictionary, if it has one."""
    if annotations is not None:
        verify_annotations(op, table, annotations.data, "the annotation")
