"""The options that a `PassContext` carries: their names, types and defaults.

Keys, types and defaults are TVM v0.20's. A struct is a frozen dataclass here, so that
a pass reads `config.auto_max_step` with a type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias, cast

from xdsl_tvm.dialects.tir.storage_scope import did_you_mean


@dataclass(frozen=True)
class ConfigStruct:
    """Base of the options that have fields; a subclass names its `key`.

    A pass that derives from a struct has the fields as its own options, where an unset
    one is None (see `CompilerPass`).
    """

    key: ClassVar[str]

    def __init_subclass__(cls, *, key: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if key is not None:
            cls.key = key


@dataclass(frozen=True)
class UnrollLoopConfig(ConfigStruct, key="tir.UnrollLoop"):
    """Options of `tir.UnrollLoop`."""

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True
    unroll_local_access: bool = False


@dataclass(frozen=True)
class SimplifyConfig(ConfigStruct, key="tir.Simplify"):
    """Options of `tir.Simplify`."""

    transitively_prove_inequalities: bool = False
    propagate_knowns_to_prove_conditional: bool = False
    propagate_knowns_to_simplify_expressions: bool = False
    convert_boolean_to_and_of_ors: bool = False
    apply_constraints_to_boolean_branches: bool = False


@dataclass(frozen=True)
class RemoveNoOpConfig(ConfigStruct, key="tir.RemoveNoOp"):
    """Options of `tir.RemoveNoOp`."""

    use_dataflow_analysis: bool = False
    max_simplification_steps: int = 0


@dataclass(frozen=True)
class HoistExpressionConfig(ConfigStruct, key="tir.HoistExpression"):
    """Options of `tir.HoistExpression`; both fields are bit masks.

    Conditionals: 1 `if` statements, 2 `if_then_else` expressions, 4 boolean
    expressions, 8 conditions over block variables. Let bindings: 1 those a hoisted
    condition needs, 2 statements, 4 expressions.
    """

    hoisted_conditionals: int = 7
    hoisted_let_bindings: int = 7


@dataclass(frozen=True)
class HoistIfThenElseConfig(ConfigStruct, key="tir.HoistIfThenElse"):
    """Options of `tir.HoistIfThenElse`."""

    support_block_scope_hosting: bool = False


@dataclass(frozen=True)
class InjectDoubleBufferConfig(ConfigStruct, key="tir.InjectDoubleBuffer"):
    """Options of `tir.InjectDoubleBuffer`."""

    split_loop: int = 1


@dataclass(frozen=True)
class LoopPartitionConfig(ConfigStruct, key="tir.LoopPartition"):
    """Options of `tir.LoopPartition`."""

    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False


@dataclass(frozen=True)
class ReduceBranchingThroughOvercomputeConfig(
    ConfigStruct, key="tir.ReduceBranchingThroughOvercompute"
):
    """Options of `tir.ReduceBranchingThroughOvercompute`."""

    use_dataflow_analysis: bool = False


ConfigValue: TypeAlias = bool | int | str | tuple[object, ...] | ConfigStruct


@dataclass(frozen=True)
class ConfigOption:
    """The type of one key, and its value in a context that does not set it."""

    kind: type[object]
    default: ConfigValue | None
    meaning: str
    """What it changes, and in which pass."""

    @property
    def type_name(self) -> str:
        return self.kind.__name__


def _flag(meaning: str, default: bool | None = False) -> ConfigOption:
    return ConfigOption(bool, default, meaning)


_UNREAD = "nothing reads it, as in TVM"
_LATER = "no pass reads it yet"


_STRUCTS: tuple[type[ConfigStruct], ...] = (
    HoistExpressionConfig,
    HoistIfThenElseConfig,
    InjectDoubleBufferConfig,
    LoopPartitionConfig,
    ReduceBranchingThroughOvercomputeConfig,
    RemoveNoOpConfig,
    SimplifyConfig,
    UnrollLoopConfig,
)
_OPTIONS: dict[str, ConfigOption] = {
    "cuda.kernels_output_dir": ConfigOption(str, None, _LATER),
    "relax.FuseOps.max_depth": ConfigOption(
        int, 256, "FuseOps: operators in one function"
    ),
    "relax.backend.use_cuda_graph": _flag(
        "RewriteCUDAGraph: on, kernels of constant memory are functions to capture"
    ),
    "relax.fallback_device_type": ConfigOption(int, None, _LATER),
    "relax.lift_transform_params.consume_params": _flag(
        "LiftTransformParams: each weight is dropped from its tuple once it is read"
    ),
    "relax.transform.apply_legalize_ops": _flag(
        "LegalizeOps: off, it does nothing", default=True
    ),
    "testing.immutable_module": _flag("every pass: whether it changes its input"),
    **{
        kind.key: ConfigOption(kind, kind(), f"{kind.key.partition('.')[2]}: its options")
        for kind in _STRUCTS
    },
    "tir.add_lower_pass": ConfigOption(tuple, None, _UNREAD),
    "tir.debug_keep_trivial_loop": _flag(_UNREAD),
    "tir.detect_global_barrier": _flag(
        'tir-default-pipeline: ThreadSync of the scope "global"'
    ),
    "tir.disable_assert": _flag("the roads to machine code: SkipAssert"),
    "tir.disable_cse_tir": _flag(
        "tir-default-pipeline: CommonSubexprElimTIR does nothing"
    ),
    "tir.disable_storage_rewrite": _flag("tir-default-pipeline: no StorageRewrite"),
    "tir.disable_vectorize": _flag(
        "tir-default-pipeline: VectorizeLoop makes serial loops"
    ),
    "tir.enable_buffer_level_predication": _flag(
        "VectorizeLoop: predicates of accesses; unset, for AArch64 with SVE",
        default=None,
    ),
    "tir.enable_debug": _flag(_UNREAD),
    "tir.enable_equiv_terms_in_cse_tir": _flag(
        "tir-default-pipeline: CommonSubexprElimTIR looks for equivalent terms"
    ),
    # TVM's LowerAsyncDMA reads this key, but TVM registers it nowhere, so that no
    # context there can set it.
    "tir.experimental_dma_bypass_cache": _flag("LowerAsyncDMA: an operand of copies"),
    "tir.instr_siblings": _flag(
        "InstrumentProfileIntrinsics: loops beside others", default=True
    ),
    "tir.instrument_bound_checkers": _flag(
        "tir-default-pipeline: InstrumentBoundCheckers"
    ),
    "tir.instrument_lwp": _flag("tir-default-pipeline: InstrumentProfileIntrinsics"),
    "tir.is_entry_func": _flag(_UNREAD),
    "tir.lwp_disable_func_prof": _flag(
        "InstrumentProfileIntrinsics: functions are not marked"
    ),
    "tir.lwp_max_depth": ConfigOption(
        int, 0, "InstrumentProfileIntrinsics: the depth of loops"
    ),
    "tir.lwp_min_height": ConfigOption(
        int, 1, "InstrumentProfileIntrinsics: the least loops in a nest"
    ),
    "tir.merge_static_smem": _flag(
        "MergeSharedMemoryAllocations: static memory, too, which StorageRewrite leaves"
    ),
    "tir.noalias": _flag("nothing reads it: there is no tuning", default=True),
    "tir.ptx_ldg32": _flag("tir-default-pipeline: InjectPTXLDG32, twice"),
    "tir.reset_start_id": _flag("InstrumentProfileIntrinsics: numbers begin at 0"),
    "tir.use_async_copy": _flag(
        "tir-default-pipeline: LowerAsyncDMA and InjectPTXAsyncCopy; not set, the second "
        "for CUDA of sm_80 or later"
    ),
    "tir.vtcm_capacity": ConfigOption(int, 0, "VerifyVTCMLimit: the limit; 0 for none"),
}


def registered_options() -> Mapping[str, ConfigOption]:
    """Every key with its type, its default and what it changes, sorted by key."""
    return {key: _OPTIONS[key] for key in sorted(_OPTIONS)}


def config_option(key: str) -> ConfigOption:
    """What is known of `key`; AttributeError if it is not registered."""
    if (option := _OPTIONS.get(key)) is None:
        candidates = ", ".join(sorted(_OPTIONS))
        raise AttributeError(
            f"Invalid config option '{key}' candidates are: {candidates}"
            f"{did_you_mean(key, tuple(_OPTIONS))}"
        )
    return option


def list_configs() -> dict[str, dict[str, str]]:
    """Every key -> `{"type": type name}`, sorted by key."""
    return {key: {"type": _OPTIONS[key].type_name} for key in sorted(_OPTIONS)}


def _wrong_type(key: str, kind: type[object], value: object) -> AttributeError:
    return AttributeError(
        f"expect config {key} to have type {kind.__name__}, "
        f"but got {value!r} of type {type(value).__name__}"
    )


def _convert_scalar(key: str, kind: type[object], value: object) -> bool | int | str:
    if kind is str and isinstance(value, str):
        return value
    if kind is bool and isinstance(value, int):
        return bool(value)
    if kind is int and isinstance(value, int):
        return int(value)
    raise _wrong_type(key, kind, value)


def _convert_struct(
    key: str, kind: type[ConfigStruct], value: Mapping[str, object]
) -> ConfigStruct:
    defaults = kind()
    field_types: dict[str, type[object]] = {
        f.name: type(getattr(defaults, f.name)) for f in fields(kind)
    }
    for name in value:
        if name not in field_types:
            raise AttributeError(
                f"config {key} has no field '{name}', "
                f"its fields are: {', '.join(field_types)}"
                f"{did_you_mean(name, tuple(field_types))}"
            )
    return kind(
        **{
            name: _convert_scalar(f"{key}.{name}", field_types[name], field_value)
            for name, field_value in value.items()
        }
    )


def _convert(key: str, value: object) -> ConfigValue:
    option = config_option(key)
    kind = option.kind
    if value is None:
        raise AttributeError(f"{key} is None")
    if issubclass(kind, ConfigStruct):
        if type(value) is kind:
            return value
        if isinstance(value, Mapping):
            return _convert_struct(key, kind, cast("Mapping[str, object]", value))
        raise _wrong_type(key, kind, value)
    if kind is tuple:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(cast("Sequence[object]", value))
        raise _wrong_type(key, kind, value)
    return _convert_scalar(key, kind, value)


def validate_config(config: Mapping[str, object]) -> dict[str, ConfigValue]:
    """The checked and converted form of what was handed to `PassContext(config=)`.

    A boolean may be given as an integer, a struct as a dictionary whose missing fields
    take their defaults. Raises AttributeError for an unknown key or field, for None
    and for a value of another type.
    """
    return {key: _convert(key, value) for key, value in config.items()}
