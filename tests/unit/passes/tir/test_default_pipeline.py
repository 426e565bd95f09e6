"""The default pipeline: its list, what the configuration does to it, its checks."""

from __future__ import annotations

import re

import pytest
from support import paths
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.infra import (
    PassContext,
    PassInfo,
    PassInstrument,
    Sequential,
    pipeline_text,
)
from xdsl_tvm.passes.tir.default_pipeline import ROWS, DefaultPipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.tools.cli import main

ROOT = paths.ROOT
PROGRAM = ROOT / "tests/filecheck/passes/tir/default-pipeline.mlir"
# docs/spec/tir-passes-d-abi-and-pipelines.md II.2, its rows in order.
REFERENCE = [
    "LowerCrossThreadReduction",
    "LowerInitBlock",
    "PlanAndUpdateBufferAllocationLocation",
    "ConvertBlocksToOpaque",
    "LiftThreadBinding",
    "ManifestSharedMemoryLocalStage",
    "CompactBufferAllocation",
    "LowerAutoCopy",
    "UnifyThreadBinding",
    "LowerMatchBuffer",
    "Simplify",
    "InjectPermutedLayout",
    "InjectSoftwarePipeline",
    "TransformMmaBufferLayout",
    "LowerOpaqueBlock",
    "FlattenBuffer",
    "BF16ComputeLegalize",
    "NarrowDataType",
    "LoopPartition",
    "VectorizeLoop",
    "InjectVirtualThread",
    "InjectDoubleBuffer",
    "StorageRewrite",
    "LowerAsyncDMA",
    "HoistIfThenElse",
    "UnrollLoop",
    "RenormalizeSplitPattern",
    "Simplify",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "InstrumentBoundCheckers",
    "InjectPTXLDG32",
    "CommonSubexprElimTIR",
    "InstrumentProfileIntrinsics",
    "FP8ComputeLegalize",
    "VerifyVTCMLimit",
    "LowerVtcmAlloc",
    "VerifyMemory",
    "AnnotateEntryFunc",
    "ThreadSync",
    "ThreadSync",
    "ThreadSync",
    "ThreadSync",
    "InferFragment",
    "LowerThreadAllreduce",
    "InjectPTXAsyncCopy",
    "InjectPTXLDG32",
    "AnnotateDeviceRegions",
    "SplitHostDevice",
    "MergeSharedMemoryAllocations",
    "MakePackedAPI",
    "FP8StorageLegalize",
    "BF16StorageLegalize",
    "LowerDeviceKernelLaunch",
]
CONDITIONAL = {
    "tir.use_async_copy": {"LowerAsyncDMA", "InjectPTXAsyncCopy"},
    "tir.instrument_bound_checkers": {"InstrumentBoundCheckers"},
    "tir.ptx_ldg32": {"InjectPTXLDG32"},
    "tir.instrument_lwp": {"InstrumentProfileIntrinsics"},
}


def _module(text: str | None = None) -> ModuleOp:
    source = PROGRAM.read_text().partition("// -----")[0] if text is None else text
    return Parser(new_context(), source).parse_module()


def _names(pipeline: DefaultPipeline) -> list[str]:
    return [type(each).__name__ for each in pipeline.passes()]


def test_rows_are_the_reference_s() -> None:
    assert [row.name for row in ROWS] == REFERENCE


def test_passes_are_the_rows() -> None:
    always = [
        name for name in REFERENCE if not any(name in c for c in CONDITIONAL.values())
    ]
    # Without a configuration a global barrier is not looked for.
    always.remove("ThreadSync")
    expected = ["BindTarget", *always]
    assert _names(DefaultPipeline()) == expected


@pytest.mark.parametrize("key", CONDITIONAL)
def test_configuration_adds_rows(key: str) -> None:
    off = [row.name for row in ROWS if row.is_enabled(PassContext.current())]
    with PassContext(config={key: True}):
        on = [row.name for row in ROWS if row.is_enabled(PassContext.current())]
    assert [name for name in on if name not in CONDITIONAL[key]] == off
    assert CONDITIONAL[key] <= set(on)


def test_target_adds_asynchronous_copies() -> None:
    """An architecture that has them uses them, unless the configuration says not to."""
    newer, older = (
        DefaultPipeline("cuda -arch=sm_90a"),
        DefaultPipeline("cuda -arch=sm_75"),
    )
    name = "InjectPTXAsyncCopy"
    assert name in _names(newer)
    assert name not in _names(older)
    with PassContext(config={"tir.use_async_copy": False}):
        assert name not in _names(newer)
    with PassContext(config={"tir.use_async_copy": True}):
        assert name in _names(older)


def test_configuration_drops_storage_rewrite() -> None:
    with PassContext(config={"tir.disable_storage_rewrite": True}):
        names = [row.name for row in ROWS if row.is_enabled(PassContext.current())]
    assert "StorageRewrite" not in names


def test_configuration_sets_options() -> None:
    config = {
        "tir.disable_vectorize": True,
        "tir.disable_cse_tir": True,
        "tir.enable_equiv_terms_in_cse_tir": True,
    }
    with PassContext(config=config):
        text = pipeline_text([DefaultPipeline()])
    assert "tir-vectorize-loop{enable_vectorize=false}" in text
    assert "enable_cse_tir=false identify_equiv_terms=true" in text


class _Recorder(PassInstrument):
    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        self.names.append(info.name)


def test_instruments_see_every_pass() -> None:
    recorder = _Recorder()
    with PassContext(instruments=[recorder]):
        DefaultPipeline()(_module())
    expected = [f"tir.{name}" for name in _names(DefaultPipeline())]
    assert recorder.names == ["_pipeline", *expected]


def test_print_pipeline_is_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--print-pipeline", "-p", "cse,tir-default-pipeline,dce"]) == 0
    text = capsys.readouterr().out.strip()
    assert text == f"cse,{pipeline_text([DefaultPipeline()])},dce"
    module, other = _module(), _module()
    Sequential.from_pipeline(text).apply(new_context(), module)
    Sequential.from_pipeline("cse,tir-default-pipeline,dce").apply(new_context(), other)
    assert str(module) == str(other)


def test_debug_names_the_form_that_a_pass_should_have_made() -> None:
    with (
        PassContext(disabled_pass=["tir.FlattenBuffer"]),
        pytest.raises(PassFailedException, match="is not of the form 'flat'"),
    ):
        DefaultPipeline(debug=True)(_module())


def test_debug_checks_follow_every_pass() -> None:
    text = pipeline_text([DefaultPipeline(debug=True)])
    plain = len(DefaultPipeline().passes())
    assert len(re.findall("verify-form", text)) == plain
    forms = re.findall('form="([a-z-]*)"', text)
    assert list(dict.fromkeys(forms))[:4] == [
        "blocks",
        "opaque-blocks",
        "loops-and-buffers",
        "flat",
    ]


def test_list_for_a_gpu_is_text() -> None:
    kernel = (paths.EXAMPLES / "kernels" / "vector_add.mlir").read_text()
    module, other = _module(kernel), _module(kernel)
    pipeline = DefaultPipeline(target="cuda")
    Sequential.from_pipeline(pipeline_text([pipeline])).apply(new_context(), module)
    pipeline.apply(new_context(), other)
    assert str(module) == str(other)
    assert '"tvm_call_packed"' in str(module)
