"""Attention (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    Float64Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.call_arguments import Insert
from xdsl_tvm.dialects.relax.operators import OperatorOp, expect_rank, expect_tensor
from xdsl_tvm.dialects.relax.properties import integer, real, text
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.window import differ

__all__ = ["AttentionBiasOp", "AttentionOp", "AttentionVarLenOp"]

_MASKS = ("TopLeft", "BottomRight")
_ATTRIBUTES = (
    " (`scale` $scale^)? (`causal` $causal_mask^)? (`window` $window_size^)?"
    " attr-dict `:` functional-type(operands, results)"
)


class AnyAttentionOp(OperatorOp, ABC):
    """Values, weighted by the softmax of the products of queries and keys.

    All have dimensions batch, sequence, heads, features. Products are multiplied by
    `scale`, by default one over the root of the number of features. A `causal` mask,
    aligned "TopLeft" or "BottomRight", lets queries see no later keys; `window` limits
    how far back they see.
    """

    SIGNATURE: ClassVar[str] = (
        "query, key, value, bias = None, scale: float = None, causal_mask: str = None,"
        " window_size: int = None"
    )

    scale = opt_prop_def(FloatAttr[Float64Type].constr(f64))
    causal_mask = opt_prop_def(StringAttr)
    window_size = opt_prop_def(IntegerAttr.constr(i64))

    def _make_attention(
        self,
        operands: list[SSAValue | Operation],
        scale: float | None,
        causal_mask: str | None,
        window_size: int | None,
        result_type: Attribute | None,
    ) -> None:
        properties = {
            "scale": None if scale is None else real(scale),
            "causal_mask": text(causal_mask),
            "window_size": integer(window_size),
        }
        self._make(operands, properties, result_type)

    def _dims(self, index: int, name: str) -> Dims:
        info = expect_tensor(self.name, name, self.operands[index].type)
        expect_rank(self.name, name, info, 4)
        return (None,) * 4 if info.dims is None else info.dims

    def infer_result_type(self) -> Attribute:
        mask = self.causal_mask
        if mask is not None and mask.data not in _MASKS:
            raise VerifyException(
                f'{self.name}: a causal mask is "TopLeft" or "BottomRight", '
                f'not "{mask.data}"'
            )
        query, key, value = (
            self._dims(index, name)
            for index, name in enumerate(("query", "key", "value"))
        )
        self._check(query, key, value)
        info = expect_tensor(self.name, "query", self.operands[0].type)
        return info.with_dims((*query[:3], value[3])).type

    def _check(self, query: Dims, key: Dims, value: Dims) -> None:
        pairs = (
            ("batches", query[0], key[0]),
            ("batches", query[0], value[0]),
            ("lengths of keys and values", key[1], value[1]),
            ("features of queries and keys", query[3], key[3]),
        )
        for what, lhs, rhs in pairs:
            if differ(lhs, rhs):
                raise VerifyException(
                    f"{self.name}: {what} must be equal, not {lhs} and {rhs}"
                )
        heads = query[2]
        for others in (key[2], value[2]):
            if heads is None or others is None or others.value == 0:
                continue
            if provably_different(heads % others, 0):
                raise VerifyException(
                    f"{self.name}: {heads} heads of queries are no multiple of {others}"
                )


@irdl_op_definition
class AttentionOp(AnyAttentionOp):
    """Values, weighted by the softmax of the products of queries and keys.

    TVM's `relax.nn.attention`.

    ```mlir
    %r = relax.nn.attention %q, %k, %v scale 5.0e-01 causal "TopLeft" :
      (tensor<1x4x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x9xf32>)
      -> tensor<1x4x2x9xf32>
    ```
    """

    name = "relax.nn.attention"

    query = operand_def()
    key = operand_def()
    value = operand_def()

    assembly_format = "$query `,` $key `,` $value" + _ATTRIBUTES

    def __init__(
        self,
        query: SSAValue | Operation,
        key: SSAValue | Operation,
        value: SSAValue | Operation,
        scale: float | None = None,
        causal_mask: str | None = None,
        window_size: int | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make_attention(
            [query, key, value], scale, causal_mask, window_size, result_type
        )


@irdl_op_definition
class AttentionBiasOp(AnyAttentionOp):
    """Attention with a term that is added before the softmax.

    It is broadcast to batch, heads, queries, keys; its last dimension is the keys'.
    TVM's `relax.nn.attention_bias`.

    ```mlir
    %r = relax.nn.attention_bias %q, %k, %v, %b :
      (tensor<1x4x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>,
       tensor<1x1x4x6xf32>) -> tensor<1x4x2x8xf32>
    ```
    """

    name = "relax.nn.attention_bias"

    query = operand_def()
    key = operand_def()
    value = operand_def()
    bias = operand_def()

    assembly_format = "$query `,` $key `,` $value `,` $bias" + _ATTRIBUTES

    def __init__(
        self,
        query: SSAValue | Operation,
        key: SSAValue | Operation,
        value: SSAValue | Operation,
        bias: SSAValue | Operation,
        scale: float | None = None,
        causal_mask: str | None = None,
        window_size: int | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make_attention(
            [query, key, value, bias], scale, causal_mask, window_size, result_type
        )

    def _check(self, query: Dims, key: Dims, value: Dims) -> None:
        super()._check(query, key, value)
        bias = self._dims(3, "bias")
        scores = (query[0], query[2], query[1], key[1])
        for axis, (actual, expected) in enumerate(zip(bias, scores, strict=True)):
            # All but the last dimension are broadcast.
            if axis < 3 and not _is_not_one(actual):
                continue
            if differ(actual, expected):
                raise VerifyException(
                    f"{self.name}: dimension {axis} of operand 'bias' must be "
                    f"{expected}, not {actual}"
                )


def _is_not_one(dim: Dim | None) -> bool:
    """Whether an extent is known not to be broadcast."""
    return dim is not None and provably_different(dim, 1)


@irdl_op_definition
class AttentionVarLenOp(AnyAttentionOp):
    """Attention in sequences that are one after the other.

    `seqstart_q` and `seqstart_k` hold where they begin, `max_seqlen_q` and
    `max_seqlen_k` the length of the longest. TVM's `relax.nn.attention_var_len`. In
    scripts and in Python `max_seqlen_q` is before `seqstart_k`, as TVM's function
    takes them; the text that TVM prints has them in the order of the operands, and its
    own reader mistakes them.

    ```mlir
    %r = relax.nn.attention_var_len %q, %k, %v, %sq, %sk, %mq, %mk :
      (tensor<1x4x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<3xi32>,
       tensor<3xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4x2x8xf32>
    ```
    """

    name = "relax.nn.attention_var_len"
    SIGNATURE: ClassVar[str] = (
        "queries, keys, values, seqstart_q, max_seqlen_q, seqstart_k = None,"
        " max_seqlen_k = None, scale: float = None, causal_mask: str = None,"
        " window_size: int = None"
    )

    query = operand_def()
    key = operand_def()
    value = operand_def()
    seqstart_q = operand_def()
    seqstart_k = operand_def()
    max_seqlen_q = operand_def()
    max_seqlen_k = operand_def()

    assembly_format = (
        "$query `,` $key `,` $value `,` $seqstart_q `,` $seqstart_k `,` $max_seqlen_q"
        " `,` $max_seqlen_k" + _ATTRIBUTES
    )

    def __init__(
        self,
        query: SSAValue | Operation,
        key: SSAValue | Operation,
        value: SSAValue | Operation,
        seqstart_q: SSAValue | Operation,
        max_seqlen_q: SSAValue | Operation,
        seqstart_k: SSAValue | Operation,
        max_seqlen_k: SSAValue | Operation,
        scale: float | None = None,
        causal_mask: str | None = None,
        window_size: int | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        lengths = [seqstart_q, seqstart_k, max_seqlen_q, max_seqlen_k]
        operands = [query, key, value, *lengths]
        self._make_attention(operands, scale, causal_mask, window_size, result_type)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Uses the sequences of the queries for the keys where none are given."""
        for of_keys, of_queries in (
            ("seqstart_k", "seqstart_q"),
            ("max_seqlen_k", "max_seqlen_q"),
        ):
            if arguments[of_keys] is None:
                arguments[of_keys] = arguments[of_queries]

    def infer_result_type(self) -> Attribute:
        names = "seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"
        for name, operand in zip(names, self.operands[3:], strict=True):
            expect_tensor(self.name, name, operand.type)
        return super().infer_result_type()
