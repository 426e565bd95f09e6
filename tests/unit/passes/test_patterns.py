"""The rewrite patterns of passes, combined by an embedder with patterns of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import paths
from support.filecheck_semantics import modules
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.interpreters.semantics import SemanticsChecker
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.relax.canonicalize_relax_bindings import (
    CanonicalizeBindingPattern,
    CanonicalizeRelaxBindings,
)
from xdsl_tvm.passes.relax.decompose_ops_for_inference import (
    DecomposeBatchNormPattern,
    DecomposeOpsForInference,
    NameDimensionsPattern,
)
from xdsl_tvm.passes.relax.fold_batchnorm_to_conv2d import (
    FoldBatchnormToConv2D,
    FoldBatchnormToConv2DPattern,
)
from xdsl_tvm.passes.relax.fuse_transpose_matmul import (
    FuseTransposeMatmul,
    FuseTransposeMatmulPattern,
)
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions
from xdsl_tvm.passes.relax.lower_alloc_tensor import (
    LowerAllocTensor,
    LowerAllocTensorPattern,
)
from xdsl_tvm.passes.relax.rewrite_dataflow_reshape import (
    CopyingFunctions,
    RewriteDataflowReshape,
    RewriteDataflowReshapePattern,
)
from xdsl_tvm.passes.tir.convert_for_loops_to_serial import (
    ConvertForLoopsToSerial,
    ConvertForLoopToSerialPattern,
)
from xdsl_tvm.passes.tir.lower_init_block import LowerInitBlock, LowerInitBlockPattern
from xdsl_tvm.passes.tir.remove_assume import RemoveAssume, RemoveAssumePattern
from xdsl_tvm.passes.tir.remove_no_op import RemoveNoOp
from xdsl_tvm.passes.tir.rewrite_unsafe_select import (
    RewriteUnsafeSelect,
    RewriteUnsafeSelectPattern,
)
from xdsl_tvm.passes.tir.skip_assert import SkipAssert, SkipAssertPattern
from xdsl_tvm.registry import new_context

Make = Callable[[ModuleOp], list[RewritePattern]]
PATTERNS: dict[type[ModulePass], Make] = {
    CanonicalizeRelaxBindings: lambda _: [CanonicalizeBindingPattern()],
    DecomposeOpsForInference: lambda _: [
        DecomposeBatchNormPattern(),
        NameDimensionsPattern(),
    ],
    FoldBatchnormToConv2D: lambda _: [FoldBatchnormToConv2DPattern()],
    FuseTransposeMatmul: lambda m: [FuseTransposeMatmulPattern(OperatorFunctions(m))],
    LowerAllocTensor: lambda _: [LowerAllocTensorPattern()],
    RewriteDataflowReshape: lambda m: [
        RewriteDataflowReshapePattern(CopyingFunctions(m))
    ],
    ConvertForLoopsToSerial: lambda _: [ConvertForLoopToSerialPattern()],
    LowerInitBlock: lambda _: [LowerInitBlockPattern()],
    RemoveAssume: lambda _: [RemoveAssumePattern()],
    RewriteUnsafeSelect: lambda _: [RewriteUnsafeSelectPattern()],
    SkipAssert: lambda _: [SkipAssertPattern()],
}
REST: dict[type[ModulePass], type[ModulePass]] = {
    # What the pass does besides its pattern.
    CanonicalizeRelaxBindings: CanonicalizeRelaxBindings,
    RemoveAssume: RemoveNoOp,
}

COARSER = {
    # Without the analysis of the module, a call of a function counts as a write.
    RewriteDataflowReshape,
}


def inputs(kind: type[ModulePass]) -> list[ModuleOp]:
    """The programs of the FileCheck test of a pass."""
    _, folder, name = kind.name.partition("tir-" if "tir-" in kind.name else "relax-")
    path = paths.FILECHECK / "passes" / folder.strip("-") / f"{name}.mlir"
    return list(modules(Path(path)))


@pytest.mark.parametrize("kind", PATTERNS, ids=lambda kind: kind.name)
def test_patterns_of_a_walker_do_what_the_pass_does(kind: type[ModulePass]) -> None:
    found = inputs(kind)
    changed = 0
    for module in found:
        checker = SemanticsChecker(module.clone(), runs=1)
        by_pass, by_walker = module.clone(), module.clone()
        context = new_context(allow_unregistered=True)
        kind().apply(context, by_pass)
        applier = GreedyRewritePatternApplier(
            PATTERNS[kind](by_walker), dce_enabled=False
        )
        changed += PatternRewriteWalker(applier).rewrite_module(by_walker)
        if checker.report.checked:
            by_walker.verify()
            checker.check("patterns", by_walker)
        if kind in REST:
            REST[kind]().apply(context, by_walker)
        if kind not in COARSER:
            assert str(by_walker) == str(by_pass)
    assert found
    assert changed


class AnnotateSerialLoop(RewritePattern):
    """A pattern that an embedder has: it matches what ours produces."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tir.ForOp, rewriter: PatternRewriter, /) -> None:
        if op.kind.data is tir.ForKind.SERIAL and "seen" not in op.attributes:
            op.attributes["seen"] = StringAttr("serial")
            rewriter.notify_op_modified(op)


PROGRAM = """
tir.func @f(%a: !tir.handle, %n: i32, %p: i1) {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %q = tir.cmp lt %n, %c8 : i32
  tir.assert %q, "too many"
  tir.for %i = %c0 to %n parallel {
    %x = tir.load %A[%i] : i32
    %y = tir.select %p, %x, %c0 : i1, i32
    %z = tir.add %y, %c0 : i32
    tir.store %z, %A[%i] : i32
  }
}
"""


def test_patterns_are_combined() -> None:
    """With each other, with a pattern from outside and with the folders."""
    module = parse(PROGRAM)
    context = new_context()
    applier = GreedyRewritePatternApplier(
        [
            SkipAssertPattern(),
            ConvertForLoopToSerialPattern(),
            AnnotateSerialLoop(),
            RewriteUnsafeSelectPattern(),
        ],
        context,
        folding_enabled=True,
    )
    assert PatternRewriteWalker(applier).rewrite_module(module)
    module.verify()
    names = [op.name for op in module.walk()]
    for gone in ("tir.assert", "tir.cmp", "tir.select", "tir.add"):
        assert gone not in names
    assert names.count("tir.if_then_else") == 1
    (loop,) = (op for op in module.walk() if isinstance(op, tir.ForOp))
    assert loop.kind.data is tir.ForKind.SERIAL
    assert loop.attributes["seen"] == StringAttr("serial")
    assert not PatternRewriteWalker(applier).rewrite_module(module)


class UseEveryEdit(RewritePattern):
    """Asks the rewriter for each edit that it offers."""

    def __init__(self) -> None:
        self.done: list[bool] = []

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, tir.AddOp)
        number = rewriter.insert(tir.ConstOp.of(len(self.done), op.result.type))
        assert number.next_op is op
        rewriter.replace_all_uses_with(op.result, number.result)
        rewriter.notify_op_modified(op)
        rewriter.erase(op)
        self.done.append(rewriter.has_done_action)


def test_edits_of_a_pass_are_those_of_a_walker() -> None:
    module = parse(
        "tir.func @f(%x: i32) -> i32 {\n"
        "%a = tir.add %x, %x : i32\n%b = tir.add %a, %a : i32\n"
        "%c = tir.add %b, %a : i32\ntir.ret %c : i32\n}"
    )
    walked = module.clone()
    pattern = UseEveryEdit()
    rewrite_each(pattern, [op for op in module.walk() if isinstance(op, tir.AddOp)])
    assert pattern.done == [True, True, True]
    for op in [op for op in walked.walk() if isinstance(op, tir.AddOp)]:
        UseEveryEdit.match_and_rewrite(other := UseEveryEdit(), op, PatternRewriter(op))
        assert other.done == [True]
    module.verify()
    walked.verify()
    kinds = [op.name for op in walked.walk()]
    assert [op.name for op in module.walk()] == kinds
    assert relax.FuncOp.name not in kinds
