"""Attention in one pass over the keys, without the matrix of all scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BFloat16Type,
    BoolAttr,
    Float16Type,
    Float32Type,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.dataflow_patterns.matching import Matched
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import DFPattern
from xdsl_tvm.analysis.relax.dataflow_patterns.sugar import is_const, is_op, wildcard
from xdsl_tvm.analysis.relax.op_pattern import OpPattern
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attention import AnyAttentionOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._attention.one_pass import Attention, OnePass
from xdsl_tvm.passes.relax.annotate_tir_op_pattern import OP_PATTERN
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions, call_of
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule, RuleContext
from xdsl_tvm.passes.relax.legalize.signature import (
    constant_number,
    proven_result_type,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import Expr, Slice, Tensor
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_FEATURES = 256
"""With more, what a task holds leaves the second cache."""
_NAME = "one_pass_attention"


@dataclass(frozen=True)
class OnePassAttention(CompilerPass):
    """Summary: Computes attention in one pass over the keys, with the softmax as it goes.

    TVM name: none (ours)
    Input form: any
    Output form: the same; such attention is calls of TIR functions
    Options:
        `vector_bytes` (64): the width of vectors, as in `tir-default-cpu-schedule`
        `least_queries` (16): with fewer known queries, most of the lanes of a vector of
        queries would be idle: the operator stays
    Rewrites: before

            %y = relax.nn.attention %q, %k, %v causal "TopLeft" : ...

        after

            %y = relax.call_tir @one_pass_attention(%q, %k, %v) : ...

        The same for `relax.nn.attention_bias`, and for attention on `f32` that is
        spelled out, with heads before the sequence:

            %t = relax.permute_dims %k axes [0, 1, 3, 2] : ...
            %s = relax.matmul %q, %t : ...
            %n = relax.multiply %s, %scale : ...      (or divide; both may be missing)
            %b = relax.add %n, %bias : ...            (may be missing)
            %w = relax.nn.softmax %b axis -1 : ...
            %y = relax.matmul %w, %v : ...

        The function has a schedule of its own and is opaque for fusion. A task is a block
        of queries of one head, in two vectors of lanes; it goes over the keys in blocks
        of 64, holds scores of one block, and multiplies sums by the exponential of the
        difference where a larger score is found. So memory does not grow with the number
        of keys, which may be a symbol, as may the batch. Blocks of keys that no query of
        a task sees are left out. Sums are in f32 and do not depend on the number of
        threads. The queries are multiplied by the scale before the products, and each
        result by the reciprocal of its sum: results differ from those of the operator by
        rounding. A query that sees no key becomes NaN.
    Leaves alone: attention with fewer queries, whose queries, heads or features are not
        known, or whose values have more than 256 features or a number that vectors do not
        divide; other dtypes than f32, f16 and bf16; results for a device; spelled-out
        attention whose parts have other users
    Errors: `vector_bytes` that is no power of two from 4 to 1024
    Attributes: read: none; created: `op_pattern` and `tir.is_scheduled` of the functions;
        removed: none
    Differs from TVM: TVM computes all scores on the CPU
    """

    name = "relax-one-pass-attention"

    vector_bytes: int = 64
    least_queries: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.vector_bytes not in _WIDTHS:
            raise PassFailedException(
                f"{self.name}: vector_bytes must be a power of two from 4 to 1024, got "
                f"{self.vector_bytes}"
            )
        functions: OperatorFunctions | None = None
        for kind in (relax.AttentionOp, relax.AttentionBiasOp, relax.MatmulOp):
            for candidates, _ in by_function(op, kind):
                for candidate in candidates:
                    found = _found(candidate)
                    if found is not None and self._fits(found.what):
                        functions = functions or OperatorFunctions(op)
                        found.replace(functions, self.vector_bytes)

    def _fits(self, what: Attention) -> bool:
        """Whether attention is worth a pass of its own, and vectors cover it."""
        lanes = self.vector_bytes // 4
        return (
            what.queries >= max(self.least_queries, 1)
            and 0 < what.features <= _MOST_FEATURES
            and 0 < what.value_features <= _MOST_FEATURES
            and what.value_features % lanes == 0
        )


_WIDTHS = frozenset(1 << power for power in range(2, 11))


@dataclass(frozen=True)
class _Found:
    """Attention, and the operation whose result it is."""

    op: AnyAttentionOp | relax.MatmulOp
    operands: tuple[SSAValue, ...]
    """Query, key, value and perhaps a bias."""
    what: Attention

    def replace(self, functions: OperatorFunctions, vector_bytes: int) -> None:
        """Put the call of a function in the place of the operation, if it has one."""
        result_type = proven_result_type(self.op)
        if result_type is None:
            return

        def stages(site: RuleContext) -> Tensor:
            return _function(site, self.what, vector_bytes, len(self.operands))

        rule = RegisteredRule(lambda _, site: stages(site), _NAME, (), ())
        key = (self.what, vector_bytes)
        call = call_of(self.op, functions, rule, self.operands, result_type, key, stages)
        if call is None:
            return
        function = functions.by_name[call.callee.root_reference.data]
        function.attributes[OP_PATTERN] = IntegerAttr(int(OpPattern.OPAQUE), i32)
        function.attributes["tir.is_scheduled"] = BoolAttr.from_bool(True)
        Rewriter.replace_op(self.op, call)


def _function(
    site: RuleContext, what: Attention, vector_bytes: int, operands: int
) -> Tensor:
    """One stage that computes all of the result."""
    tensors = [site.tensor(position) for position in range(operands)]

    def whole(tensor: Tensor) -> Slice:
        return tensor, (None,) * len(tensor.shape)

    def body(_: list[Expr], outputs: list[Tensor]) -> None:
        query, key, value, *bias = tensors
        code = LoopCode(site.program.end)
        one = bias[0] if bias else None
        OnePass(code, what, vector_bytes, query, key, value, one, outputs[0]).write()

    (out,) = site.program.sequential(
        _NAME,
        (),
        [(_NAME, site.shape, site.dtype)],
        lambda _: [whole(tensor) for tensor in tensors],
        lambda _, outputs: [whole(outputs[0])],
        body,
    )
    return out


# ---- attention as an operator, and spelled out ----


def _found(op: AnyAttentionOp | relax.MatmulOp) -> _Found | None:
    return _spelled_out(op) if isinstance(op, relax.MatmulOp) else _operator(op)


def _operator(op: AnyAttentionOp) -> _Found | None:
    shapes = _shapes(op.operands, (Float32Type, Float16Type, BFloat16Type))
    if shapes is None:
        return None
    (_, queries, heads, features), key, value, *_ = shapes
    sizes = _numbers(queries, heads, key[2], value[2], features, value[3])
    if sizes is None or any(sizes[1] % max(others, 1) for others in sizes[2:4]):
        return None
    causal = None if op.causal_mask is None else op.causal_mask.data
    window = None if op.window_size is None else op.window_size.value.data
    scale = None if op.scale is None else op.scale.value.data
    if scale is None:
        scale = 1 / math.sqrt(max(sizes[4], 1))
    what = Attention(*sizes, scale, False, causal, window)
    return _Found(op, tuple(op.operands), what)


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


def _spelled_out(op: relax.MatmulOp) -> _Found | None:
    # Most products are of something else than a softmax.
    if not isinstance(op.lhs.owner, relax.SoftmaxOp) or op.out_dtype is not None:
        return None
    for form in _FORMS:
        parts = form.pattern.extract_matched_expr(op.result)
        if parts is not None and (found := _of_form(op, form, parts)) is not None:
            return found
    return None


def _of_form(op: relax.MatmulOp, form: _SpelledOut, parts: Matched) -> _Found | None:
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
    shapes = _shapes(operands, (Float32Type,))
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
    sizes = _numbers(query[2], query[1], key[1], value[1], query[3], value[3])
    if sizes is None:
        return None
    return _Found(op, tuple(operands), Attention(*sizes, scale, heads_first=True))


def _shapes(
    values: Sequence[SSAValue], dtypes: tuple[type, ...]
) -> list[tuple[Dim, ...]] | None:
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


def _numbers(*dims: Dim) -> tuple[int, int, int, int, int, int] | None:
    """Queries, heads, those of keys and of values, features and those of values."""
    values = [dim.value for dim in dims if dim.value is not None]
    if len(values) != len(dims):
        return None
    queries, heads, key_heads, value_heads, features, value_features = values
    return queries, heads, key_heads, value_heads, features, value_features
