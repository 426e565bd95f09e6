"""Attention in Relax functions: as an operator, and spelled out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.dataflow_patterns.matching import Matched
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import DFPattern
from xdsl_tvm.analysis.relax.dataflow_patterns.sugar import is_const, is_op, wildcard
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attention import AnyAttentionOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.relax._attention.places import Attention
from xdsl_tvm.passes.relax.legalize.signature import constant_number

Dtypes: TypeAlias = tuple[type, ...]
"""Types of elements."""


@dataclass(frozen=True)
class FoundAttention:
    """Attention, and the operation whose result it is."""

    op: AnyAttentionOp | relax.MatmulOp
    operands: tuple[SSAValue, ...]
    """Query, key, value and perhaps a bias."""
    what: Attention


def find_attention(
    op: AnyAttentionOp | relax.MatmulOp, dtypes: Dtypes, spelled_out: Dtypes
) -> FoundAttention | None:
    """The attention whose result an operation is, with operands of one of the dtypes.

    `spelled_out` are those of attention that several operators are.
    """
    if isinstance(op, relax.MatmulOp):
        return _spelled_out(op, spelled_out)
    return _operator(op, dtypes)


def _operator(op: AnyAttentionOp, dtypes: Dtypes) -> FoundAttention | None:
    shapes = _shapes(op.operands, dtypes)
    if shapes is None:
        return None
    (_, queries, heads, features), key, value, *_ = shapes
    sizes = _numbers(heads, key[2], value[2], features, value[3])
    if sizes is None or any(sizes[0] % max(others, 1) for others in sizes[1:3]):
        return None
    causal = None if op.causal_mask is None else op.causal_mask.data
    window = None if op.window_size is None else op.window_size.value.data
    scale = None if op.scale is None else op.scale.value.data
    if scale is None:
        scale = 1 / math.sqrt(max(sizes[3], 1))
    what = Attention(queries.value, *sizes, scale, False, causal, window)
    return FoundAttention(op, tuple(op.operands), what)


@dataclass(frozen=True)
class _SpelledOut:
    """The parts of the pattern, which is of one scaling and with a bias or without."""

    pattern: DFPattern
    query: DFPattern
    key: DFPattern
    value: DFPattern
    transposed: DFPattern
    inner: tuple[DFPattern, ...]
    """What no one else may use."""
    scale: DFPattern | None
    is_divisor: bool
    bias: DFPattern | None
    softmax: DFPattern

    @staticmethod
    def of(scaling: str | None, has_bias: bool) -> _SpelledOut:
        query, key, value, scale, bias = (
            wildcard(),
            wildcard(),
            wildcard(),
            is_const(),
            wildcard(),
        )
        transposed = is_op("relax.permute_dims")(key)
        scores: DFPattern = is_op("relax.matmul")(query, transposed)
        inner = [scores]
        if scaling is not None:
            scores = is_op(scaling)(scores, scale)
            inner.append(scores)
        if has_bias:
            scores = is_op("relax.add")(scores, bias)
            inner.append(scores)
        softmax = is_op("relax.nn.softmax")(scores)
        inner.append(softmax)
        return _SpelledOut(
            is_op("relax.matmul")(softmax, value),
            query,
            key,
            value,
            transposed,
            tuple(inner),
            None if scaling is None else scale,
            scaling == "relax.divide",
            bias if has_bias else None,
            softmax,
        )


_FORMS = tuple(
    _SpelledOut.of(scaling, has_bias)
    for has_bias in (True, False)
    for scaling in ("relax.multiply", "relax.divide", None)
)


def _spelled_out(op: relax.MatmulOp, dtypes: Dtypes) -> FoundAttention | None:
    # Most products are of something else than a softmax.
    if not isinstance(op.lhs.owner, relax.SoftmaxOp) or op.out_dtype is not None:
        return None
    for form in _FORMS:
        parts = form.pattern.extract_matched_expr(op.result)
        if parts is not None and (found := _of_form(op, form, parts, dtypes)) is not None:
            return found
    return None


def _of_form(
    op: relax.MatmulOp, form: _SpelledOut, parts: Matched, dtypes: Dtypes
) -> FoundAttention | None:
    """Attention, where shapes, axes and users are those of attention."""
    if any(len(tuple(parts[each].uses)) != 1 for each in form.inner):
        return None
    transposed, softmax = parts[form.transposed].owner, parts[form.softmax].owner
    products = parts[form.inner[0]].owner
    assert isinstance(transposed, relax.PermuteDimsOp)
    assert isinstance(softmax, relax.SoftmaxOp)
    assert isinstance(products, relax.MatmulOp)
    if transposed.permutation != (0, 1, 3, 2) or products.out_dtype is not None:
        return None
    if softmax.axis.value.data not in (-1, 3):
        return None
    scale = 1.0
    if form.scale is not None:
        number = constant_number(parts[form.scale])
        if number is None or (form.is_divisor and number == 0):
            return None
        scale = 1 / number if form.is_divisor else number
    operands = [parts[each] for each in (form.query, form.key, form.value)]
    if form.bias is not None:
        operands.append(parts[form.bias])
    shapes = _shapes(operands, dtypes)
    if shapes is None or [len(shape) for shape in shapes[:3]] != [4, 4, 4]:
        return None
    query, key, value, *bias = shapes
    if not query[:2] == key[:2] == value[:2] or key[2] != value[2]:
        return None
    scores = (*query[:3], key[2])
    for shape in bias:
        pairs = zip(reversed(shape), reversed(scores), strict=False)
        if len(shape) > len(scores) or any(
            dim != size and dim.value != 1 for dim, size in pairs
        ):
            return None
    sizes = _numbers(query[1], key[1], value[1], query[3], value[3])
    if sizes is None:
        return None
    what = Attention(query[2].value, *sizes, scale, heads_first=True)
    return FoundAttention(op, tuple(operands), what)


def _shapes(values: Sequence[SSAValue], dtypes: Dtypes) -> list[tuple[Dim, ...]] | None:
    """The shapes of tensors on no device, of which the first has one of the dtypes, and
    the others have it, too."""
    infos = [TensorInfo.of(value.type) for value in values]
    known = [info for info in infos if info is not None and info.vdevice is None]
    if len(known) != len(infos) or not isinstance(known[0].dtype, dtypes):
        return None
    if any(info.dtype != known[0].dtype for info in known):
        return None
    shapes = [info.shape for info in known if info.shape is not None]
    return shapes if len(shapes) == len(known) else None


def _numbers(*dims: Dim) -> tuple[int, int, int, int, int] | None:
    """Heads, those of keys and of values, features and those of values."""
    values = [dim.value for dim in dims if dim.value is not None]
    if len(values) != len(dims):
        return None
    heads, key_heads, value_heads, features, value_features = values
    return heads, key_heads, value_heads, features, value_features
