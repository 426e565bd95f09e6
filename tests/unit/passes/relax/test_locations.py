"""What Relax passes write has the place in the source of what it stands for."""

from __future__ import annotations

import pytest
from support import paths
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax import (
    AnnotateTIROpPattern,
    CombineParallelMatmul,
    ConvertLayout,
    DecomposeOpsForInference,
    ExpandTupleArguments,
    FuseOps,
    FuseTIR,
    FuseTransposeMatmul,
    InlinePrivateFunctions,
    LambdaLift,
    LegalizeOps,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
)
from xdsl_tvm.registry import new_context

FOLDER = paths.FILECHECK / "passes/relax"
WITHOUT = (relax.DataflowOp, relax.OutputOp, relax.ReturnOp)
"""What only holds others together."""
PASSES: dict[str, ModulePass] = {
    "combine-parallel-matmul": CombineParallelMatmul(),
    "convert-layout": ConvertLayout(("relax.nn.conv2d:NHWC:OHWI",)),
    "decompose-ops-for-inference": DecomposeOpsForInference(),
    "expand-tuple-arguments": ExpandTupleArguments(),
    "fuse-ops": Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps()]),
    "fuse-tir": Sequential([LegalizeOps(), FuseTIR()]),
    "fuse-transpose-matmul": FuseTransposeMatmul(),
    "inline-private-functions": InlinePrivateFunctions(),
    "lambda-lift": LambdaLift(),
    "remove-unused-outputs": RemoveUnusedOutputs(),
    "remove-unused-parameters": RemoveUnusedParameters(),
}


@pytest.mark.parametrize("name", PASSES)
def test_operations_have_places(name: str) -> None:
    for text in (FOLDER / f"{name}.mlir").read_text().split("// -----"):
        context = new_context()
        context.allow_unregistered = True
        module = Parser(context, text).parse_module()
        for number, op in enumerate(module.walk()):
            line = IntAttr(number)
            op.location = FileLineColLoc(StringAttr(name), line, IntAttr(0))
        PASSES[name].apply(context, module)
        for op in module.walk():
            if op.name.startswith("relax.") and not isinstance(op, WITHOUT):
                assert not isinstance(op.location, UnknownLoc), op
