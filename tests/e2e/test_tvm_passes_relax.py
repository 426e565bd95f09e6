"""Passes over Relax against those of TVM 0.27: the same programs, pass by pass.

Needs the `[tvm]` extra. A program is read, brought to where the pass belongs by our own
passes, and given to both; what TVM makes is read back and must be the same program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from support.tvm_pass_programs import PROGRAMS, script_of
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.structural_equal import assert_structural_equal, structural_equal
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes import relax as passes
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.tvmscript import ScriptError, parse, print_script

pytest.importorskip("tvm", reason="pip install 'xdsl-tvm[tvm]'")
from_source: Callable[[str], Any] = pytest.importorskip("tvm.script").from_source
assert_equal_in_tvm: Callable[..., None] = pytest.importorskip(
    "tvm.ir"
).assert_structural_equal
transform: Any = pytest.importorskip("tvm.relax").transform

STEPS = (
    "LegalizeOps",
    "AnnotateTIROpPattern",
    "FuseOps",
    "FuseTIR",
    "RewriteDataflowReshape",
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "LowerAllocTensor",
    "KillAfterLastUse",
)
"""The passes that lower a program, in order."""
LOWERED = ("mlp", "attention", "convolution", "order", "bounded", "projections")
PROGRAMS_OF: dict[str, tuple[str, ...]] = {
    "Normalize": ("effects", "names", "duplicates"),
    "CanonicalizeBindings": ("duplicates", "names", "functions"),
    "ConvertToDataflow": ("effects", "duplicates", "functions", "names"),
    "ToNonDataflow": ("mlp", "projections"),
    "DeadCodeElimination": ("functions", "names", "effects"),
    "EliminateCommonSubexpr": ("duplicates", "names", "effects"),
    "FoldConstant": ("constants", "duplicates"),
    "LambdaLift": ("closures", "functions"),
    "ExpandTupleArguments": ("functions", "duplicates"),
    "RemoveUnusedParameters": ("functions",),
    "RemoveUnusedOutputs": ("functions",),
    "InlinePrivateFunctions": ("functions", "effects"),
    "NormalizeGlobalVar": ("functions",),
    "DecomposeOpsForInference": ("normalization", "convolution"),
    "FoldBatchnormToConv2D": ("normalization", "convolution"),
    "CombineParallelMatmul": ("projections", "attention"),
    "FuseTransposeMatmul": ("attention", "mlp"),
    "AttachGlobalSymbol": ("functions",),
    "DataflowUseInplaceCalls": ("order", "attention", "mlp"),
    "AttachAttrLayoutFreeBuffers": ("weights", "mlp"),
    "RemovePurityChecking": ("effects", "external", "functions"),
    "CallTIRRewrite": (*LOWERED, "functions", "external"),
    "StaticPlanBlockMemory": (*LOWERED, "duplicates", "effects"),
    "KillAfterLastUse": (*LOWERED, "closures", "functions"),
    "FuseOps, level 0": ("mlp",),
    "FuseOps, level 1": ("mlp", "attention"),
    "CSE of calls": ("duplicates", "names"),
    "long blocks": ("duplicates", "functions", "closures"),
    "BindSymbolicVars": ("symbolic", "bounded"),
    "ConvertLayout": ("convolution", "mlp"),
    "depth-first from-inputs": ("order", "attention"),
    "depth-first from-outputs": ("order", "attention"),
    "breadth-first from-inputs": ("order", "attention"),
    "breadth-first from-outputs": ("order", "attention"),
    **dict.fromkeys((*STEPS[1:5], "LowerAllocTensor"), LOWERED),
}
"""The programs for each pass, or for each choice of its options."""
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "FuseOps, level 0": ("FuseOps", {"fuse_opt_level": 0}),
    "FuseOps, level 1": ("FuseOps", {"fuse_opt_level": 1}),
    "CSE of calls": ("EliminateCommonSubexpr", {"call_only": True}),
    "long blocks": ("ConvertToDataflow", {"min_size": 4}),
    "BindSymbolicVars": ("BindSymbolicVars", {"binding_map": {"n": 8}}),
    "ConvertLayout": (
        "ConvertLayout",
        {"desired_layouts": {"relax.nn.conv2d": ["NHWC", "OHWI"]}},
    ),
    **{
        f"{order} {direction}": (
            "TopologicalSort",
            {"order": order, "direction": direction},
        )
        for order in ("depth-first", "breadth-first")
        for direction in ("from-inputs", "from-outputs")
    },
}
BEFORE: dict[str, tuple[str, ...]] = {
    **{name: STEPS[:index] for index, name in enumerate(STEPS)},
    "AttachAttrLayoutFreeBuffers": STEPS[:4],
    "ToNonDataflow": (),
    "RemovePurityChecking": ("ToNonDataflow",),
}
"""What a program goes through before a pass."""
PAIRS = [(name, each) for name, programs in PROGRAMS_OF.items() for each in programs]
DIFFERENT: dict[str, set[tuple[str, str]]] = {
    "a closure keeps the type of its function": {("LambdaLift", "closures")},
    "a private function that nothing calls stays": {
        ("InlinePrivateFunctions", "functions"),
    },
    "the parts of a sum are computed in another order": {
        ("DecomposeOpsForInference", "normalization"),
        ("FoldBatchnormToConv2D", "normalization"),
    },
    "fields are taken at once, and the dtype of the product is not written": {
        ("CombineParallelMatmul", "projections"),
    },
    "TVM leaves a composite function of": {("FuseTransposeMatmul", "attention")},
    "a function with one tensor in two places is not noalias": {
        ("DataflowUseInplaceCalls", "mlp"),
    },
    "what an external function returns without a type is any value in TVM": {
        ("CallTIRRewrite", "external"),
    },
    "TVM makes a storage in one branch and uses it in the other": {
        ("StaticPlanBlockMemory", "duplicates"),
    },
    "what an external function returns may be a view": {
        ("StaticPlanBlockMemory", "effects"),
    },
    "a tuple that is passed ends its life": {("KillAfterLastUse", "functions")},
    "the bound of a symbol goes with it": {("BindSymbolicVars", "bounded")},
    "dimensions of one are told from their extents": {
        ("AnnotateTIROpPattern", "convolution"),
    },
    "buffers are in another order, and reads that coincide are listed twice": {
        ("FuseTIR", "mlp"),
        ("FuseTIR", "convolution"),
    },
}
"""What is not the same, and why: as the passes say under "Differs from TVM"."""
OTHERS = frozenset(pair for pairs in DIFFERENT.values() for pair in pairs)
_TYPES = re.compile(r"(alloc_tensor\(.*), ty_args=\(.*\)\)$", re.MULTILINE)
"""TVM repeats the type of an allocation."""


@cache
def prepared(program: str, steps: tuple[str, ...]) -> ModuleOp:
    """A program after passes, which leave their argument as it is."""
    if not steps:
        return parse(script_of(program))
    return getattr(passes, steps[-1])()(prepared(program, steps[:-1]))


def settled(module: ModuleOp) -> ModuleOp:
    """Without dataflow blocks, names of one value, and what nothing needs."""
    functions = [op.sym_name.data for op in module.ops if isinstance(op, relax.FuncOp)]
    return Sequential(
        [
            passes.ToNonDataflow(),
            passes.CanonicalizeBindings(),
            passes.DeadCodeElimination(tuple(functions)),
        ]
    )(module)


def settled_by_tvm(module: Any) -> Any:
    """The same of TVM, for programs with constants, which its text leaves out."""
    functions = [each.name_hint for each in module.get_global_vars()]
    for step in (
        transform.ToNonDataflow(),
        transform.Normalize(),
        transform.CanonicalizeBindings(),
        transform.DeadCodeElimination(functions),
    ):
        module = step(module)
    return module


def check(name: str, program: str) -> None:
    """Raise an AssertionError or a ValueError if TVM and we make different programs."""
    pass_name, options = OPTIONS.get(name, (name, {}))
    module = prepared(program, BEFORE.get(pass_name, ()))
    text = print_script(module, version="0.27")
    theirs = getattr(transform, pass_name)(**options)(from_source(text))
    made = getattr(passes, pass_name)(**options)(parse(text))
    ours = from_source(print_script(made, version="0.27"))
    scripts = [_TYPES.sub(r"\1)", each.script()) for each in (theirs, ours)]
    if any("metadata[" in each for each in scripts):
        settle = settled_by_tvm
        assert_equal_in_tvm(settle(theirs), settle(ours), map_free_vars=True)
        return
    left, right = map(parse, scripts)
    if not structural_equal(left, right):
        assert_structural_equal(settled(left), settled(right))


@pytest.mark.parametrize(("name", "program"), PAIRS, ids=map("-".join, PAIRS))
def test_the_same_as_tvm(name: str, program: str) -> None:
    if (name, program) not in OTHERS:
        check(name, program)
        return
    with pytest.raises((AssertionError, ValueError, ScriptError)):
        check(name, program)


def test_names() -> None:
    assert not OTHERS - set(PAIRS)
    assert {program for _, program in PAIRS} == set(PROGRAMS)
