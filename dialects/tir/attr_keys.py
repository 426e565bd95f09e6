"""The keys of `tir.attr`: what TVM's `AttrStmt` may say (docs/spec/tir-ir.md §11).

A key says what the node must be, what the value must be, who makes it and who goes by it.
Some of TVM's keys have ops, or annotations of the op that they would wrap, in their
place; `tir.attr` refuses them and says which. Other keys are kept as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects.tir.annotations import ValueKind, integer_of
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.types import (
    HandleType,
    PtrType,
    ReducerType,
    is_handle,
    is_integer,
)

Item: TypeAlias = SSAValue | Attribute
"""A node or a value of a `tir.attr`."""


@dataclass(frozen=True)
class ItemKind:
    """What a node or a value may be: in words, and as a predicate."""

    words: str
    accepts: Callable[[Item], bool]


def _attribute(kind: ValueKind) -> ItemKind:
    return ItemKind(
        kind.words, lambda item: isinstance(item, Attribute) and kind.accepts(item)
    )


def _is_integer(item: Item) -> bool:
    if isinstance(item, SSAValue):
        return is_integer(item.type)
    return isinstance(item, IntegerAttr)


def _is_zero(item: Item) -> bool:
    return isinstance(item, Attribute) and integer_of(item) == 0


def _is_null(item: Item) -> bool:
    """A zero, or a handle, such as `reinterpret` of zero."""
    return _is_zero(item) or (isinstance(item, SSAValue) and is_handle(item.type))


def _has_type(*types: type[Attribute]) -> Callable[[Item], bool]:
    return lambda item: isinstance(item, SSAValue) and isinstance(item.type, types)


_ANY = ItemKind("anything", lambda _: True)
_POINTER = ItemKind("a data pointer", _has_type(PtrType))
_REDUCER = ItemKind("a tir.reducer", _has_type(ReducerType))
_NULL = ItemKind("0 : i32 or a handle", _is_null)
_INT = ItemKind("an integer", _is_integer)
_STR = _attribute(ValueKind("a string", lambda value: isinstance(value, StringAttr)))
_TUPLE = ItemKind('a tir.call "tvm_tuple"', _has_type(HandleType))
_TARGET = _attribute(
    ValueKind(
        'a target, as in #tir.target<"cuda">', lambda value: isinstance(value, Target)
    )
)


@dataclass(frozen=True)
class AttrKey:
    """A key of `tir.attr`. One that ends in `*` stands for all that start like it."""

    key: str
    node: ItemKind
    value: ItemKind
    meaning: str
    producer: str
    consumer: str


@dataclass(frozen=True)
class ReplacedKey:
    """A key of TVM's that is not written as `tir.attr` here, and what is instead."""

    key: str
    meaning: str
    instead: str


def _keys(*rows: AttrKey) -> dict[str, AttrKey]:
    return {row.key: row for row in rows}


_STORAGE_ACCESS = "InjectVirtualThread, ThreadSync"
_PIPELINE = "InjectSoftwarePipeline"
_ASYNC = "InjectPTXAsyncCopy, LowerAsyncDMA"
_UNROLL = "UnrollLoop"
_LLVM = "LLVM code generator"

ATTR_KEYS: Final = _keys(
    AttrKey(
        "coproc_scope", _ANY, _INT, "a region of a co-processor", "user", _STORAGE_ACCESS
    ),
    AttrKey(
        "coproc_uop_scope",
        _ANY,
        _STR,
        "micro-operations of a co-processor",
        "user",
        "InjectVirtualThread",
    ),
    AttrKey(
        "volatile_scope",
        _POINTER,
        _INT,
        "accesses to the memory are volatile",
        "ThreadSync, LowerThreadAllreduce",
        "StorageRewrite, code generators",
    ),
    AttrKey(
        "extern_scope",
        _ANY,
        _ANY,
        "memory within is not shared with what is outside",
        "user",
        "StorageRewrite, MergeSharedMemoryAllocations",
    ),
    AttrKey(
        "compute_scope",
        _ANY,
        _STR,
        "the body becomes a function of this name",
        "MakePackedAPI",
        _LLVM,
    ),
    AttrKey(
        "storage_alignment",
        _POINTER,
        _INT,
        "the pointer is a multiple of this many bytes",
        "MakePackedAPI, LowerTVMBuiltin",
        _LLVM,
    ),
    AttrKey(
        "device_id",
        _ANY,
        _INT,
        "the number of the device",
        "MakePackedAPI",
        "LowerTVMBuiltin",
    ),
    AttrKey(
        "device_type",
        _ANY,
        _INT,
        "the kind of device, as in DLPack",
        "MakePackedAPI",
        "LowerTVMBuiltin",
    ),
    AttrKey(
        "reduce_scope",
        _REDUCER,
        _NULL,
        "how tir.thread_allreduce within combines",
        "LowerCrossThreadReduction",
        "LowerThreadAllreduce",
    ),
    AttrKey(
        "double_buffer_scope",
        _POINTER,
        _INT,
        "the memory is doubled in the loop around it",
        "user",
        "InjectDoubleBuffer",
    ),
    AttrKey(
        "double_buffer_write",
        _POINTER,
        _INT,
        "the phase that fills the other half",
        "InjectDoubleBuffer",
        "ThreadSync",
    ),
    AttrKey(
        "buffer_bound",
        _POINTER,
        _TUPLE,
        "the shape that accesses are checked against",
        "user",
        "InstrumentBoundCheckers",
    ),
    *(
        AttrKey(key, _ANY, _ANY, "declared, but unused in v0.20", "user", "none")
        for key in (
            "axis_separators",
            "layout_transforms",
            "prefetch_scope",
            "loop_scope",
            "scan_update_scope",
            "scan_init_scope",
            "channel_read_scope",
            "channel_read_advance",
            "channel_write_scope",
            "channel_write_advance",
            "pipeline_stage_scope",
        )
    ),
    AttrKey(
        "pipeline_exec_scope",
        _ANY,
        _ANY,
        "a device region that launches no threads",
        "user",
        "AnnotateDeviceRegions, VerifyMemory",
    ),
    AttrKey(
        "device_scope",
        _ANY,
        _INT,
        "the body is device code",
        "DecorateDeviceScope",
        "AnnotateDeviceRegions",
    ),
    AttrKey(
        "target",
        _TARGET,
        _INT,
        "the body is for this target",
        "AnnotateDeviceRegions",
        "SplitHostDevice, VectorizeLoop",
    ),
    AttrKey("async_scope", _ANY, _INT, "stores are asynchronous", _PIPELINE, _ASYNC),
    AttrKey(
        "async_commit_queue_scope",
        _ANY,
        _INT,
        "what the body starts goes to this queue",
        _PIPELINE,
        f"ThreadSync, {_ASYNC}, code generators",
    ),
    AttrKey(
        "async_wait_queue_scope",
        _ANY,
        _INT,
        "the body waits for this queue; an async_wait_inflight_count is next within",
        _PIPELINE,
        f"ThreadSync, {_ASYNC}, code generators",
    ),
    AttrKey(
        "async_wait_inflight_count",
        _ANY,
        _INT,
        "how many commits need not have ended",
        _PIPELINE,
        f"ThreadSync, {_ASYNC}, code generators",
    ),
    AttrKey(
        "hand_threaded", _ANY, _ANY, "no barriers are inserted", "user", "ThreadSync"
    ),
    AttrKey(
        "pragma_auto_unroll_max_step",
        _ANY,
        _INT,
        "loops of at most this many steps are unrolled",
        "LowerOpaqueBlock",
        _UNROLL,
    ),
    AttrKey(
        "pragma_unroll_explicit",
        _ANY,
        _INT,
        "whether loops to unroll are expanded, or only marked",
        "LowerOpaqueBlock",
        _UNROLL,
    ),
    AttrKey(
        "pragma_import_c",
        _ANY,
        _STR,
        "C source of the module",
        "user",
        "code generators",
    ),
    AttrKey(
        "pragma_import_llvm",
        _ANY,
        _STR,
        "LLVM IR of the module",
        "user",
        "code generators",
    ),
    AttrKey(
        "pragma_debug_skip_region",
        _ANY,
        _ANY,
        "the body is left out",
        "user",
        "RemoveNoOp",
    ),
    *(
        AttrKey(key, _ANY, _ANY, meaning, "user", _LLVM)
        for key, meaning in (
            ("pragma_parallel_launch_point", "worker threads start here"),
            ("pragma_parallel_stride_pattern", "iterations are dealt out in turn"),
            ("pragma_parallel_barrier_when_finish", "workers wait for each other"),
            ("pragma_aarch64_pstate_sm", "streaming mode of SME"),
            ("pragma_aarch64_pstate_za", "the ZA register of SME"),
        )
    ),
    AttrKey("pragma_*", _ANY, _ANY, "kept", "LowerOpaqueBlock, user", "user"),
)
"""The keys that `tir.attr` checks. Nodes and values are operands or attributes."""

_ON_LOOP = "an annotation of the loop, as in tir.for … annotations {%s = …}"
_ON_ALLOCATE = "an annotation of the memory, as in tir.allocate … annotations {%s = …}"
_ON_REALIZE = "an annotation of the tir.buffer_realize, annotations {%s = …}"

REPLACED_KEYS: Final = {
    row.key: row
    for row in (
        ReplacedKey(
            "thread_extent",
            "threads of an axis",
            'tir.launch_thread %t = "threadIdx.x" to %extent',
        ),
        ReplacedKey(
            "virtual_thread",
            "virtual threads",
            'tir.launch_thread %v = "vthread.x" to %extent virtual',
        ),
        ReplacedKey(
            "buffer_bind_scope",
            "a view of a region of a buffer",
            "tir.match_region in a tir.scope, which defines the view",
        ),
        ReplacedKey(
            "realize_scope",
            "the scope of a realized buffer",
            'the scope of the type, as in !tir.buffer<4xf32, "shared">',
        ),
        *(
            ReplacedKey(key, meaning, _ON_REALIZE % key)
            for key, meaning in (
                ("rolling_buffer_scope", "a circular buffer"),
                ("buffer_dim_align", "the alignment of a stride"),
            )
        ),
        *(
            ReplacedKey(key, meaning, _ON_ALLOCATE % key)
            for key, meaning in (
                ("fragment_shape", "the sizes of a fragment"),
                ("fragment_layout", "the layout of a fragment"),
            )
        ),
        ReplacedKey(
            "pragma_loop_partition_hint",
            "the loop is partitioned",
            _ON_LOOP % "pragma_loop_partition_hint",
        ),
    )
}
"""TVM's keys that have another form here, most of them since they wrap the definition of
the variable that they name (docs/spec/tir-ir.md §11)."""


def attr_key(key: str) -> AttrKey | None:
    """The row of a key, None for one that no pass knows."""
    found = ATTR_KEYS.get(key)
    if found is None and key.startswith("pragma_"):
        return ATTR_KEYS["pragma_*"]
    return found


def problem_with(key: str, node: Item, value: Item) -> str | None:
    """Why a `tir.attr` cannot have this key, node and value; None if it can."""
    if (replaced := REPLACED_KEYS.get(key)) is not None:
        return f"the key '{key}' is not written so; write {replaced.instead}"
    row = attr_key(key)
    if row is None:
        return None
    for label, kind, item in (("node", row.node, node), ("value", row.value, value)):
        if not kind.accepts(item):
            shown = f"a {item.type}" if isinstance(item, SSAValue) else item
            return f"the {label} of '{key}' must be {kind.words}, got {shown}"
    return None
