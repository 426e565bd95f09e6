"""Attention in one pass over the keys, without the matrix of all scores."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, ModuleOp, i32
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.op_pattern import OpPattern
from xdsl_tvm.analysis.tir.function_target import cuda_capability
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._attention.matching import FoundAttention, find_attention
from xdsl_tvm.passes.relax._attention.places import Places
from xdsl_tvm.passes.relax._attention.roads import Road, ThreadBlocks, Vectors
from xdsl_tvm.passes.relax.annotate_tir_op_pattern import OP_PATTERN
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions, call_of
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule, RuleContext
from xdsl_tvm.passes.relax.legalize.signature import proven_result_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import Expr, Slice, Tensor
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.tir.rewriting.default_targets import (
    parsed_target,
    uses_async_copy,
)
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_NAME = "one_pass_attention"


@dataclass(frozen=True)
class OnePassAttention(CompilerPass):
    """Summary: Computes attention in one pass over the keys, with the softmax as it goes.

    TVM name: none (ours)
    Input form: any
    Output form: the same; such attention is calls of TIR functions
    Options:
        `vector_bytes` (64): the width of vectors, as in `tir-default-cpu-schedule`
        `least_queries` (1): with fewer known queries the operator stays
        `target`: what the code is for, as `Target.parse` takes it (none: a CPU)
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
        of queries of one head, in one or two vectors of lanes; it goes over the keys in
        blocks of 64, holds scores of one block, and multiplies sums by the exponential of
        the difference where a larger score is found. Up to eight queries are computed
        one after the other, with keys and features in the lanes
        (`_attention/few_queries.py`); where there are fewer than eight heads, their keys
        are divided into parts, whose results are combined. So memory does not grow with
        the number of keys, which may be a symbol, as may the batch and the number of
        queries, which decides between the two when the program runs. Blocks of keys that
        no query of a task sees are left out. Sums are in f32 and do not depend on the
        number of threads. The queries are multiplied by the scale before the products,
        and each result by the reciprocal of its sum: results differ from those of the
        operator by rounding. A query that sees no key becomes NaN.

        For CUDA the function is one kernel, of loops that are bound to threads. A block
        of threads has up to 64 queries of one head, copies tiles of keys and values to
        shared memory, and multiplies by `exp2` of the device. Masks are computed in
        tiles where a key is hidden. For f16 and bf16, from `sm_80` on, products are those
        of tensor cores, the scores stay in registers, and weights are rounded before they
        are multiplied; f32 is multiplied and added by threads. From `sm_80` on, the next
        tiles are copied at the same time (`_attention/thread_blocks.py`). With more than
        128 features tiles are of half as many keys, and queries stay in shared memory.
        Attention on f16 and bf16 that is spelled out becomes a kernel, too.
    Leaves alone: attention with fewer queries, whose heads or features are not known;
        more than 256 features; for CUDA, an odd number of f16 or
        bf16, and these dtypes before `sm_80`; other dtypes than f32, f16 and bf16;
        results for a device; spelled-out attention whose parts have other users
    Errors: `vector_bytes` that is no power of two from 4 to 1024, for a CPU; a target
        that does not parse
    Attributes: read: none; created: `op_pattern` and `tir.is_scheduled` of the functions,
        `tir.min_blocks` of those for GPUs; removed: none
    Differs from TVM: TVM computes all scores, but where it calls libraries
    """

    name = "relax-one-pass-attention"

    vector_bytes: int = 64
    least_queries: int = 1
    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        road = self._road()
        functions: OperatorFunctions | None = None
        for kind in (relax.AttentionOp, relax.AttentionBiasOp, relax.MatmulOp):
            for candidates, _ in by_function(op, kind):
                for candidate in candidates:
                    found = find_attention(candidate, road.dtypes, road.spelled_out)
                    if found is None or self._are_few(found.what.queries):
                        continue
                    if road.covers(found):
                        functions = functions or OperatorFunctions(op)
                        _replace(found, functions, road)

    def _are_few(self, queries: int | None) -> bool:
        return queries is not None and queries < max(self.least_queries, 1)

    def _road(self) -> Road:
        """What writes the function, by the target."""
        target = parsed_target(self.name, self.target)
        if target is not None and target.device_type is DeviceType.CUDA:
            return ThreadBlocks(cuda_capability(target), uses_async_copy(target))
        if self.vector_bytes not in _WIDTHS:
            raise PassFailedException(
                f"{self.name}: vector_bytes must be a power of two from 4 to 1024, got "
                f"{self.vector_bytes}"
            )
        return Vectors(self.vector_bytes)


_WIDTHS = frozenset(1 << power for power in range(2, 11))


def _replace(found: FoundAttention, functions: OperatorFunctions, road: Road) -> None:
    """Put the call of a function in the place of attention, if it has one."""
    result_type = proven_result_type(found.op)
    if result_type is None:
        return

    def stages(site: RuleContext) -> Tensor:
        return _function(site, found, road)

    rule = RegisteredRule(lambda _, site: stages(site), _NAME, (), ())
    key = found.what, road
    call = call_of(found.op, functions, rule, found.operands, result_type, key, stages)
    if call is None:
        return
    function = functions.by_name[call.callee.root_reference.data]
    function.attributes[OP_PATTERN] = IntegerAttr(int(OpPattern.OPAQUE), i32)
    function.attributes["tir.is_scheduled"] = BoolAttr.from_bool(True)
    function.attributes.update(road.attributes())
    Rewriter.replace_op(found.op, call)


def _function(site: RuleContext, found: FoundAttention, road: Road) -> Tensor:
    """One stage that computes all of the result."""
    tensors = [site.tensor(position) for position in range(len(found.operands))]

    def whole(tensor: Tensor) -> Slice:
        return tensor, (None,) * len(tensor.shape)

    def body(_: list[Expr], outputs: list[Tensor]) -> None:
        query, key, value, *bias = tensors
        one = bias[0] if bias else None
        places = Places(found.what, query, key, value, one, outputs[0])
        road.write(LoopCode(site.program.end), places)

    (out,) = site.program.sequential(
        _NAME,
        (),
        [(_NAME, site.shape, site.dtype)],
        lambda _: [whole(tensor) for tensor in tensors],
        lambda _, outputs: [whole(outputs[0])],
        body,
    )
    return out
