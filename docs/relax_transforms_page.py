"""The page `docs/relax-transforms.md`: TVM's passes over Relax, and ours."""

from __future__ import annotations

from markdown_parts import table, title

from xdsl_tvm.passes.infra.contract import Contract, all_contracts
from xdsl_tvm.relax import transform

_HEAD = """# Passes over Relax in TVM

Written by `python docs/generate.py`.

The names of `tvm.relax.transform` in v0.20, each with our pass or with the reason why
there is none. All passes are found under their TVM names in `xdsl_tvm.relax.transform`:

<!-- checked -->
```python
from xdsl_tvm.relax import transform

print(transform.ToMixedPrecision(out_dtype="float16"))
```

What a pass does otherwise than TVM's is in its contract, under "Differs from TVM".
"""

NAMES = (
    "AdjustMatmulOrder",
    "AllocateWorkspace",
    "AlterOpImpl",
    "AnnotateTIROpPattern",
    "AttachAttrLayoutFreeBuffers",
    "AttachExternModules",
    "AttachGlobalSymbol",
    "BindParams",
    "BindSymbolicVars",
    "BundleModelParams",
    "CallTIRRewrite",
    "CanonicalizeBindings",
    "CombineParallelMatmul",
    "ComputePrimValue",
    "ConvertLayout",
    "ConvertToDataflow",
    "DataflowBlockPass",
    "DataflowUseInplaceCalls",
    "DeadCodeElimination",
    "DecomposeOpsForInference",
    "DecomposeOpsForTraining",
    "EliminateCommonSubexpr",
    "ExpandMatmulOfSum",
    "ExpandTupleArguments",
    "FastMathTransform",
    "FewShotTuning",
    "FoldBatchnormToConv2D",
    "FoldConstant",
    "FunctionPass",
    "FuseOps",
    "FuseOpsByPattern",
    "FuseTIR",
    "FuseTransposeMatmul",
    "FusionPattern",
    "Gradient",
    "IPCAllReduceRewrite",
    "InlinePrivateFunctions",
    "KillAfterLastUse",
    "LambdaLift",
    "LazyGetInput",
    "LazySetOutput",
    "LazyTransformParams",
    "LegalizeOps",
    "LiftTransformParams",
    "LowerAllocTensor",
    "LowerGPUIPCAllocStorage",
    "LowerRuntimeBuiltin",
    "MergeCompositeFunctions",
    "MetaScheduleApplyDatabase",
    "MetaScheduleTuneIRMod",
    "MetaScheduleTuneTIR",
    "Normalize",
    "NormalizeGlobalVar",
    "OptimizeLayoutTransform",
    "PatternCheckContext",
    "RealizeVDevice",
    "RemovePurityChecking",
    "RemoveRedundantReshape",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "ReorderPermuteDimsAfterConcat",
    "ReorderTakeAfterMatmul",
    "RewriteCUDAGraph",
    "RewriteDataflowReshape",
    "RunCodegen",
    "SplitCallTIRByPattern",
    "SplitLayoutRewritePreproc",
    "StaticPlanBlockMemory",
    "ToMixedPrecision",
    "ToNonDataflow",
    "TopologicalSort",
    "UpdateParamStructInfo",
    "UpdateVDevice",
    "VMBuiltinLower",
    "VMShapeLower",
    "dataflowblock_pass",
    "function_pass",
)
"""What `tvm.relax.transform` has in v0.20."""
_TUNING = "needs the tuning of MetaSchedule; kernels have default schedules here"
_EXTERNAL = "needs an external code generator; none is part of the project"
_IPC = "needs memory that processes of a GPU share, which only TVM's runtime has"
REASONS = {
    "AttachExternModules": "attaches modules of TVM's runtime, which attributes cannot "
    "hold; compiled functions get theirs by `compile(module, externs=…)`",
    "FastMathTransform": "`tvm-expand-math` writes math functions as polynomials with "
    "stated bounds for every program",
    "FewShotTuning": _TUNING,
    "IPCAllReduceRewrite": _IPC,
    "LowerGPUIPCAllocStorage": _IPC,
    "MetaScheduleApplyDatabase": _TUNING,
    "MetaScheduleTuneIRMod": _TUNING,
    "MetaScheduleTuneTIR": _TUNING,
    "RunCodegen": _EXTERNAL,
    "SplitCallTIRByPattern": _EXTERNAL,
}
"""Why a name has no pass, where it has none."""
_OTHERS = {
    "DataflowBlockPass": "a base class of passes in Python",
    "FunctionPass": "a base class of passes in Python",
    "FusionPattern": "a pattern for `relax-fuse-ops-by-pattern`",
    "PatternCheckContext": "what checks of such patterns get",
    "VMBuiltinLower": "a former name of "
    "[`relax-lower-runtime-builtin`](passes/relax-lower-runtime-builtin.md)",
    "dataflowblock_pass": "a decorator that makes a pass of a Python function",
    "function_pass": "a decorator that makes a pass of a Python function",
}
"""Names that are no passes of their own."""


def our_passes() -> dict[str, Contract]:
    """Our passes over Relax, by TVM's name."""
    found: dict[str, Contract] = {}
    for contract in all_contracts():
        name, _, _ = contract.tvm_name.partition(" ")
        if contract.module.startswith("xdsl_tvm.passes.relax.") and "." in name:
            found[name.partition(".")[2]] = contract
    return found


def _row(name: str, passes: dict[str, Contract]) -> tuple[str, str]:
    if (contract := passes.get(name)) is not None:
        link = f"[`{contract.name}`](passes/{contract.name}.md)"
        return f"`{name}`", f"{link}: {contract.summary}"
    if name in _OTHERS and getattr(transform, name, None) is not None:
        return f"`{name}`", _OTHERS[name]
    return f"`{name}`", f"none: {REASONS[name]}"


def relax_transforms_page() -> str:
    """The page. Raises KeyError for a name without a pass and without a reason."""
    passes = our_passes()
    rows = [_row(name, passes) for name in NAMES]
    own = [
        (f"[`{contract.name}`](passes/{contract.name}.md)", contract.summary)
        for contract in all_contracts()
        if contract.module.startswith("xdsl_tvm.passes.relax.")
        and contract not in [passes.get(name) for name in NAMES]
    ]
    return (
        _HEAD
        + title("TVM's names")
        + table(("Name", "Pass"), rows)
        + title("Further passes over Relax")
        + table(("Pass", "Summary"), own)
    )
