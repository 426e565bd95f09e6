"""MLIR's own tools read what `-t upstream-mlir` writes, at every level below TIR.

Needs `mlir-opt` and `mlir-translate` of LLVM 22 (Debian: `mlir-22-tools`). The outputs of
all tests of lowering passes, and the examples and models after each pass of their road,
are read by `mlir-opt`; what is in the llvm dialect is translated to LLVM IR as well.
XDSL_TVM_FUZZ adds the larger models.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from models import MODELS
from support import paths
from support.features import available_features, mlir_tool
from support.filecheck_semantics import pipelines
from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException, ParseError, PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import has_relax_functions
from xdsl_tvm.lowering.pipelines import gpu_pipeline, llvm_pipeline, lower_to_nvvm
from xdsl_tvm.passes.infra.pipeline_runner import parse_passes
from xdsl_tvm.registry import new_context
from xdsl_tvm.targets.upstream_mlir import UpstreamMLIRTarget
from xdsl_tvm.tvmscript import parse
from xdsl_tvm.tvmscript.files import read_file

pytestmark = pytest.mark.skipif(
    "mlir" not in available_features(), reason="needs mlir-opt and mlir-translate 22"
)

ROOT = paths.ROOT
TESTS = sorted((ROOT / "tests" / "filecheck" / "lowering").glob("*/*.mlir"))
SCRIPTS = sorted((ROOT / "examples" / "tvmscript").glob("*.py"))
KERNELS = sorted((ROOT / "examples" / "kernels").glob("*.mlir"))
SMALL_MODELS = ("digits_cnn",)
CHOSEN_MODELS = tuple(MODELS) if os.environ.get("XDSL_TVM_FUZZ") else SMALL_MODELS
TRANSLATED = frozenset({"builtin", "llvm", "tvm_llvm"})


def _run(tool: str, text: str, *arguments: str) -> None:
    path = mlir_tool(tool)
    assert path is not None
    result = subprocess.run(
        [path, *arguments], input=text, text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr[:2000]


def _accepted(context: Context, module: ModuleOp, *, foreign: bool = False) -> bool:
    """Has MLIR read `module` in both forms; False if it holds operations of ours."""
    dialects = {op.name.partition(".")[0] for op in all_ops(module)}
    if dialects & {"relax", "tir"}:
        return False
    for generic in (False, True):
        output = io.StringIO()
        UpstreamMLIRTarget(generic=generic).emit(context, module, output)
        text = output.getvalue()
        _run("mlir-opt", text, *(("--allow-unregistered-dialect",) if foreign else ()))
        if dialects <= TRANSLATED:
            _run("mlir-translate", text, "--mlir-to-llvmir")
    return True


def _road(module: ModuleOp, pipeline: str) -> int:
    """The number of levels of the road that MLIR has read."""
    context = new_context()
    accepted = 0
    for each in parse_passes(Universe.get_multiverse().all_passes, pipeline):
        each.apply(context, module)
        accepted += _accepted(context, module)
    return accepted


def _lowered(path: Path) -> Iterator[tuple[Context, ModuleOp]]:
    """The results of the RUN lines of `path`, for each part that they accept."""
    all_passes = Universe.get_multiverse().all_passes
    for pipeline in pipelines(path):
        passes = parse_passes(all_passes, pipeline)
        for text in re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE):
            context = new_context(allow_unregistered=True)
            try:
                module = Parser(context, text).parse_module()
                for each in passes:
                    each.apply(context, module)
            except (ParseError, PassFailedException, DiagnosticException):
                continue
            yield context, module


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_results_of_lowering_passes(path: Path):
    for context, module in _lowered(path):
        _accepted(context, module, foreign=True)


@pytest.mark.parametrize("vector_bytes", [None, 32])
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_examples_after_each_pass(path: Path, vector_bytes: int | None):
    module = read_file(path)
    if path.stem in ("gpu_tile", "softmax_threads"):
        assert _road(module, gpu_pipeline())
        return
    relax = has_relax_functions(module)
    assert _road(module, llvm_pipeline(relax=relax, vector_bytes=vector_bytes)) > 8


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels(path: Path):
    context = new_context()
    module = Parser(context, path.read_text()).parse_module()
    assert _road(module, gpu_pipeline())
    lower_to_nvvm(context, module)
    assert any(isinstance(op, gpu.ModuleOp) for op in module.ops)
    assert _accepted(context, module)


@pytest.mark.parametrize("name", CHOSEN_MODELS)
def test_models_after_each_pass(name: str):
    module = MODELS[name].small().build()
    assert _road(module, llvm_pipeline(relax=True, vector_bytes=32)) > 8


def test_constants_and_devices():
    """Constants become arrays; virtual devices mean nothing below Relax."""
    module = parse(
        """
        @I.ir_module
        class Module:
            I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0, "global")]})

            @R.function
            def main(x: R.Tensor((2, 3), "float32", "llvm:0")):
                y = R.add(x, R.const([[1, 2, 3], [4, 5, 6]], "float32"))
                return y
        """
    )
    assert _road(module, llvm_pipeline(relax=True)) > 8
