"""Calls of functions that copy in row-major order become views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.memory_sharing import Writers, WrittenValues
from xdsl_tvm.analysis.relax.reshape_pattern import copied_parameter
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.sharing import may_be_written
from xdsl_tvm.dialects.relax.symbolic import product, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.infra.patterns import rewrite_each


@dataclass(frozen=True)
class RewriteDataflowReshape(CompilerPass):
    """Summary: Turns calls of TIR functions that only copy a tensor, under another shape,
        into `relax.reshape`, which copies nothing.

    TVM name: relax.RewriteDataflowReshape (v0.20)
    Input form: any; calls in dataflow blocks are rewritten
    Output form: the same
    Options: none
    Rewrites: before, where `@reshape` stores the elements of its argument in row-major
        order,

            %y = relax.call_tir @reshape(%x) : (tensor<4x6xf32>) -> tensor<3x8xf32>

        after

            %s = relax.shape [3, 8]
            %y = relax.reshape %x, %s : … -> tensor<3x8xf32>

        A function does so if it is one loop nest around one block of spatial iteration
        variables that stores what it loads, if one of both buffers is walked as a whole,
        and if both places are provably the same in row-major order. Other tensors that
        are given to it and not read do not matter. Linear in the size of the module, but
        for the proof, which is made once per function. As a pattern:
        `RewriteDataflowReshapePattern`.
    Leaves alone: calls outside of dataflow blocks; results that `relax.output` names, of
        which a view may outlive the tensor it is of; tensors of different dtype, or whose
        numbers of elements are not provably equal; tensors that may share memory with
        one that is written in place
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: tensors whose memory is written in place stay copies: TVM rewrites
        them too, and the view then changes with the tensor that it is of. The source may
        be any argument of the function, not only its first one.
    """

    name = "relax-rewrite-dataflow-reshape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        copies, writers = CopyingFunctions(op), Writers(op)
        for func in op.ops:
            if isinstance(func, relax.FuncOp):
                calls = [
                    each for each in all_ops(func) if isinstance(each, relax.CallTIROp)
                ]
                written = WrittenValues(func, writers)
                rewrite_each(RewriteDataflowReshapePattern(copies, written), calls)


class RewriteDataflowReshapePattern(RewritePattern):
    """Turns the call of a function that copies a tensor in row-major order, in a dataflow
    block, into a `relax.reshape`.

    `copies` are the functions of the module, `CopyingFunctions(module)`. `is_written`
    says whether memory of a value may be written; without it the uses of the value are
    searched.
    """

    def __init__(
        self,
        copies: CopyingFunctions,
        is_written: Callable[[SSAValue], bool] = may_be_written,
    ) -> None:
        self._copies = copies
        self._is_written = is_written

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.CallTIROp, rewriter: PatternRewriter, /
    ) -> None:
        if not _is_inner(op) or (position := self._copies.argument(op)) is None:
            return
        source = op.arguments[position]
        if not _has_same_elements(source, op.result):
            return
        if not self._is_written(op.result) and not self._is_written(source):
            _rewrite(op, source, rewriter)


@dataclass
class CopyingFunctions:
    """The TIR functions of a module that copy an argument; each is looked at once."""

    module: ModuleOp
    found: dict[SymbolRefAttr, int | None] = field(
        default_factory=dict[SymbolRefAttr, int | None]
    )

    def __post_init__(self) -> None:
        self.symbols = module_symbols(self.module)

    def argument(self, call: relax.CallTIROp) -> int | None:
        """The position of the argument that the call copies, or None."""
        symbol = call.callee
        if symbol not in self.found:
            callee = self.symbols.get(symbol.root_reference.data)
            is_tir = isinstance(callee, tir.FuncOp)
            self.found[symbol] = copied_parameter(callee) if is_tir else None
        return self.found[symbol]


def _is_inner(call: relax.CallTIROp) -> bool:
    """Whether the call is in a dataflow block that keeps its result to itself."""
    if not isinstance(call.parent_op(), relax.DataflowOp):
        return False
    return not any(isinstance(use.operation, relax.OutputOp) for use in call.result.uses)


def _has_same_elements(source: SSAValue, result: SSAValue) -> bool:
    old, new = TensorInfo.of(source.type), TensorInfo.of(result.type)
    if old is None or new is None or old.dtype is None or old.shape is None:
        return False
    if new.shape is None or old.dtype != new.dtype or old.vdevice != new.vdevice:
        return False
    return provably_equal(product(old.shape), product(new.shape))


def _rewrite(call: relax.CallTIROp, source: SSAValue, rewriter: PatternRewriter) -> None:
    info = TensorInfo.of(call.result.type)
    assert info is not None
    assert info.shape is not None
    shape = relax.ShapeOp(info.shape)
    view = relax.ReshapeOp(source, shape, call.result.type)
    view.attributes.update(call.attributes)
    shape.location = view.location = call.location
    rewriter.replace(call, (shape, view))
