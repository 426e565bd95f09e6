"""Paged caches of attention, TVM's `relax.frontend.nn.llm.kv_cache` (docs/kv-cache.md).

A method of a model makes a cache, others take it, and call `attention_with_fused_qkv` on
it in each layer. Programs add sequences by the functions `vm.builtin.kv_state_…` of the
runtime (`runtime/attention_caches/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, Literal

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax import OBJECT
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.relax.calls import call_dps_packed, call_pure_packed
from xdsl_tvm.relax.expr import Expr, PrimValue, ShapeExpr, Tuple, as_expr, call
from xdsl_tvm.relax.frontend.nn.functions import add_function, root_builder
from xdsl_tvm.relax.frontend.nn.llm.kernels import KernelShape, kernels
from xdsl_tvm.relax.frontend.nn.tensor import Object, Tensor, bound
from xdsl_tvm.relax.struct_info import TensorStructInfo
from xdsl_tvm.tvm_words import missing

__all__ = ["AttnKind", "PagedKVCache", "RopeMode", "TIRPagedKVCache"]

_BUILTIN: Final = "vm.builtin."
_ATTENTION: Final = f"{_BUILTIN}attention_kv_cache_attention_with_fused_qkv"
_POSITIONS: Final = f"{_BUILTIN}attention_kv_cache_get_query_positions"
_CREATE: Final = f"{_BUILTIN}paged_attention_kv_cache_create"
_LLAMA_SCALING: Final = (
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
)


class AttnKind(IntEnum):
    """The kind of attention: multi-head with grouped queries, or multi-head latent."""

    MHA = 0
    MLA = 1


class RopeMode(IntEnum):
    """Where rotary position embeddings are applied: nowhere, to what is stored, or by the
    kernel of attention."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


class PagedKVCache(Object):
    """A cache as a value of a model."""

    def attention_with_fused_qkv(
        self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float
    ) -> Tensor:
        """Attention of new tokens, whose keys and values the cache then holds.

        `qkv` is `[b, s, heads, features]`, with the heads of queries, keys and values in
        this order, of `b * s` tokens: those that `begin_forward` has said, one sequence
        after the other. The result is `[b, s, num_qo_heads, features]`. The scores are
        multiplied by `sm_scale`. The call of a result that nothing uses is dropped.

        Raises TypeError for a tensor of another rank.
        """
        if qkv.ndim != 4:
            raise TypeError(f"attention_with_fused_qkv: qkv has rank 4, not {qkv.shape}")
        b, s, heads, features = qkv.shape
        tokens = b * s
        rows = qkv.reshape(tokens, heads, features)
        result = call_dps_packed(
            _ATTENTION,
            [self.expr, PrimValue(layer_id), PrimValue(float(sm_scale)), rows.expr],
            out_sinfo=TensorStructInfo([tokens, num_qo_heads, features], qkv.dtype),
        )
        attended = Tensor(_expr=bound(result, "attention"))
        return attended.reshape(b, s, num_qo_heads, features)

    def get_query_positions(self, total_length: DimLike) -> Tensor:
        """The position of each new token in its sequence, `[total_length]`, `int32`."""
        type_ = TensorStructInfo([total_length], "int32")
        found = call_pure_packed(_POSITIONS, self.expr, sinfo_args=[type_])
        return Tensor(_expr=bound(found, "positions"))


class TIRPagedKVCache(PagedKVCache):
    """Makes a cache whose kernels are functions of TIR."""

    def __init__(
        self,
        attn_kind: Literal["mha", "mla"] | Sequence[Literal["mha", "mla"]],
        max_batch_size: DimLike,
        max_total_seq_len: DimLike,
        prefill_chunk_size: DimLike,
        page_size: DimLike,
        support_sliding_window: DimLike,
        layer_partition: Expr | Sequence[int],
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        mla_original_qk_head_dim: int,
        mla_original_v_head_dim: int,
        rope_mode: RopeMode | int,
        rope_scale: float,
        rope_theta: float,
        rope_scaling: Mapping[str, Any] | None,
        rope_ext_factors: Expr | None,
        rotary_dim: int,
        enable_disaggregation: bool,
        dtype: str,
        target: object,
        name: str = "paged_kv_cache",
    ) -> None:
        """Make a cache in a method that is exported; see docs/kv-cache.md.

        The first five extents may be symbolic. `target` is not read: the kernels are
        compiled with the module. Raises ValueError for what is not supported: latent
        attention, keys and values of different width, several stages of layers,
        disaggregation, and scalings of positions other than that of Llama 3.
        """
        kinds = [attn_kind] if isinstance(attn_kind, str) else list(attn_kind)
        if any(kind != "mha" for kind in kinds):
            raise ValueError(
                f"TIRPagedKVCache: attn_kind is 'mha' in every layer, not {attn_kind!r}"
            )
        if qk_head_dim != v_head_dim:
            raise ValueError(
                "TIRPagedKVCache: qk_head_dim and v_head_dim are equal, not "
                f"{qk_head_dim} and {v_head_dim}"
            )
        if num_attention_heads % num_key_value_heads:
            raise ValueError(
                f"TIRPagedKVCache: {num_attention_heads} heads of queries are no groups "
                f"for {num_key_value_heads} heads of keys"
            )
        _expect_one_stage(layer_partition, num_hidden_layers)
        if enable_disaggregation:
            raise ValueError(
                "TIRPagedKVCache: caches are on one machine; set "
                "enable_disaggregation=False"
            )
        mode = RopeMode(int(rope_mode))
        rotary = 0 if mode is RopeMode.NONE else rotary_dim
        if rotary % 2 or not 0 <= rotary <= qk_head_dim:
            raise ValueError(
                f"TIRPagedKVCache: rotary_dim is even and at most {qk_head_dim}, not "
                f"{rotary_dim}"
            )
        scaling = _scaling(rope_scaling, rope_ext_factors)
        shape = KernelShape(
            num_attention_heads,
            num_key_value_heads,
            qk_head_dim,
            dtype,
            rotary,
            # The positions of what is kept change where a window drops what is between.
            mode is RopeMode.NORMAL and support_sliding_window == 0,
        )
        root = root_builder("TIRPagedKVCache")
        append, attend = (
            add_function(root, kernel, kernel.sym_name.data) for kernel in kernels(shape)
        )
        extents = [
            max_batch_size,
            max_total_seq_len,
            prefill_chunk_size,
            page_size,
            support_sliding_window,
        ]
        rope = [PrimValue(2 * shape.table), PrimValue(float(rope_scale))]
        made = call_pure_packed(
            _CREATE,
            ShapeExpr(extents),
            PrimValue(num_hidden_layers),
            PrimValue(num_attention_heads),
            PrimValue(num_key_value_heads),
            PrimValue(qk_head_dim),
            PrimValue(v_head_dim),
            Tuple([*rope, PrimValue(float(rope_theta))]),
            Tuple([PrimValue(each) for each in scaling]),
            call("zeros", ShapeExpr([]), dtype),
            as_expr(append),
            as_expr(attend),
            sinfo_args=[OBJECT],
        )
        super().__init__(_expr=made, _name=name)


def _expect_one_stage(partition: Expr | Sequence[int], layers: int) -> None:
    """Raises ValueError for layers that are not all of one stage."""
    found: list[Dim | int | None] = []
    if not isinstance(partition, Expr):
        found = list(partition)
    elif isinstance(partition.struct_info, relax.ShapeType):
        dims = partition.struct_info.values or ()
        found = [None if dim is None else dim.value for dim in dims]
    if found != [0, layers]:
        raise ValueError(
            f"TIRPagedKVCache: all {layers} layers are one stage; layer_partition is "
            f"[0, {layers}], not {found}"
        )


def _scaling(scaling: Mapping[str, Any] | None, factors: Expr | None) -> list[float]:
    """The four numbers of Llama 3's scaling of positions; none without a scaling.

    Raises ValueError for another one.
    """
    given = dict(scaling or {})
    kind = given.get("rope_type", given.get("type", "default"))
    has_factors = factors is not None and not isinstance(
        factors.struct_info, relax.PrimType
    )
    if (
        kind == "llama3"
        and not has_factors
        and all(key in given for key in _LLAMA_SCALING)
    ):
        return [float(given[key]) for key in _LLAMA_SCALING]
    if kind != "default" or has_factors:
        raise ValueError(
            f"TIRPagedKVCache: rope_scaling {given} is not supported; it is empty, or of "
            f"the type llama3 with {', '.join(_LLAMA_SCALING)}, and rope_ext_factors is "
            "a number that is not read"
        )
    return []


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise missing("relax.frontend.nn.llm.kv_cache", name)
