"""The default pipelines of Relax: their lists, and that any subset of passes works."""

from __future__ import annotations

import pytest
from support.ir import parse
from xdsl.passes import ModulePass

from xdsl_tvm import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra import PassContext, PassInfo, PassInstrument, pipeline_text
from xdsl_tvm.passes.relax import default_pipeline
from xdsl_tvm.passes.relax.default_pipeline import ROWS, DefaultPipeline, Row, gaps
from xdsl_tvm.tools.cli import main

# docs/spec/relax-passes-related.md F: default_build, and the lists of a CPU and of
# CUDA.
LEGALIZE = ["LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"]
LOWER = [
    "RewriteDataflowReshape",
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
]
END = [
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
]
PLAN = "StaticPlanBlockMemory"
DISPATCH = ["DispatchSampling", "DispatchSortScan"]
REFERENCE = {
    "target": [*LEGALIZE, *LOWER, PLAN, *END],
    "cuda": [
        *DISPATCH,
        *LEGALIZE,
        "ApplyDefaultSchedule",
        *LOWER,
        PLAN,
        "RewriteCUDAGraph",
        *END,
    ],
    "default_build": [*DISPATCH, "LegalizeOps", *LOWER, PLAN, "RewriteCUDAGraph", *END],
    "zero": LEGALIZE,
}
PROGRAM = """
!t = tensor<?x8xf32, #relax.dims<[n, 8]>>
relax.func @main<n>(%x: !t, %w: tensor<8x8xf32>) -> !t
    attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!t) {
    %0 = relax.matmul %x, %w : (!t, tensor<8x8xf32>) -> !t
    %1 = relax.nn.relu %0 : (!t) -> !t
    %2 = relax.matmul %1, %w : (!t, tensor<8x8xf32>) -> !t
    %3 = relax.add %2, %1 : (!t, !t) -> !t
    relax.output %3 : !t
  }
  relax.return %r : !t
}
"""


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_the_reference_s(name: str) -> None:
    assert [row.name for row in ROWS[name]] == REFERENCE[name]


@pytest.mark.parametrize("name", ROWS)
def test_passes_are_the_rows_that_exist(name: str) -> None:
    missing = set(gaps(name))
    replaced = {row.name for row in ROWS[name] if row.replaced}
    found = [type(each).__name__ for each in DefaultPipeline(pipeline=name).passes()]
    expected = [n for n in REFERENCE[name] if n not in missing | replaced]
    if name == "cuda":
        place = expected.index("FuseTIR") + 1
        expected[place:place] = [
            "InlineBlocks",
            "GPUSchedule",
            "DefaultGPUSchedule",
        ]
        expected[:0] = ["OnePassAttention", "ChannelsLast"]
        by_target = DefaultPipeline(target="cuda").passes()
        assert [type(each).__name__ for each in by_target] == expected
    assert found == expected


def test_print_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--print-pipeline", "-p", "relax-default-pipeline"]) == 0
    text = capsys.readouterr().out.strip()
    assert text == pipeline_text([DefaultPipeline()])
    assert text.startswith("relax-legalize-ops,")


OPTIONAL = (*LEGALIZE[1:], "RewriteDataflowReshape", PLAN, *END[:2])


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[ModulePass, ...]:
    """The passes of the pipeline, were there no pass of that name."""
    find = Row.find

    def found(row: Row) -> type[ModulePass] | None:
        return None if row.name == name else find(row)

    monkeypatch.setattr(default_pipeline.Row, "find", found)
    return DefaultPipeline().passes()


@pytest.mark.parametrize("name", OPTIONAL)
def test_the_rest_works_without_a_pass(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = without(name, monkeypatch)
    assert name not in [type(each).__name__ for each in passes]
    report = check_semantics(parse(PROGRAM), passes, seed=1)
    assert not report.skipped


class _Recorder(PassInstrument):
    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        self.names.append(info.name)


def test_contexts_reach_the_passes() -> None:
    recorder = _Recorder()
    with PassContext(instruments=[recorder], disabled_pass=["FuseOps"]):
        DefaultPipeline()(parse(PROGRAM))
    assert recorder.names[:2] == ["_pipeline", "LegalizeOps"]
    assert "FuseOps" not in recorder.names
    assert "FuseTIR" in recorder.names


@pytest.mark.parametrize("name", ["zero", "default_build"])
def test_pipelines_by_name(name: str) -> None:
    found = relax.get_pipeline(name)(parse(PROGRAM))
    assert str(found) == str(DefaultPipeline(pipeline=name)(parse(PROGRAM)))
    assert ("relax.call_tir" in str(found)) == (name == "zero")


def test_pipeline_of_a_target() -> None:
    found = relax.get_default_pipeline("llvm")(parse(PROGRAM))
    assert str(found) == str(DefaultPipeline()(parse(PROGRAM)))


def test_unknown_pipeline() -> None:
    with pytest.raises(
        ValueError, match="no pipeline 'one'; use one of target, cuda, def"
    ):
        relax.get_pipeline("one")
