"""The networks of examples/models: interpreter, machine code and numpy agree."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from digits.data import load_digits, split
from models import MODELS, Model
from models.__main__ import difference, main
from models.bert import Bert
from models.digits_cnn import DigitsCNN
from models.gpt2 import GPT2
from models.network import Wide
from support import paths
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

import xdsl_tvm
from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.lowering.pipelines import run_pipeline
from xdsl_tvm.passes.infra import pipeline_text
from xdsl_tvm.passes.relax.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.relax.report_memory_plan import memory_reports
from xdsl_tvm.registry import new_context
from xdsl_tvm.tools import cli
from xdsl_tvm.tvmscript.parser import parse
from xdsl_tvm.tvmscript.printer import print_script

EXAMPLES = paths.EXAMPLES
TOLERANCE = 1e-4


def check(model: Model, run: Any, *inputs: Any, seed: int = 0) -> None:
    """Compare what a program makes of inputs with the evaluation by numpy."""
    parameters = model.parameters(seed)
    expected = model.reference(parameters, *inputs)
    found = run(*inputs, *parameters.values())
    assert difference(found, expected) < TOLERANCE


@pytest.mark.parametrize("name", MODELS)
def test_interpreter_agrees_with_numpy(name: str):
    model = MODELS[name].small()
    run = interpret(model.build())["main"]
    for seed in range(2):
        check(model, run, *model.inputs(seed), seed=seed)


COMPILED = MODELS if "XDSL_TVM_FUZZ" in os.environ else ("gpt2", "resnet18")
"""One with attention and one with convolutions; the digits are compiled below, too."""


@pytest.mark.parametrize("name", COMPILED)
def test_machine_code_agrees_with_numpy(name: str):
    pytest.importorskip("llvmlite")
    model = MODELS[name].small()
    if isinstance(model, Bert | GPT2):
        # All layers have the same functions, which take time to compile.
        model = replace(model, layers=1)
    # benchmarks/models.py checks the optimised code of the others, which takes seconds.
    optimize = name not in ("mobilenet_v2", "resnet18")
    run = xdsl_tvm.compile(model.build(), optimize=optimize)["main"]
    check(model, run, *model.inputs())


PLANS = (
    "relax-static-plan-block-memory",
    'relax-static-plan-block-memory{strategy="arena"}',
)


PLANNED = MODELS if "XDSL_TVM_FUZZ" in os.environ else ("digits_cnn",)


@pytest.mark.parametrize("name", PLANNED)
def test_plans_of_memory_are_proved(name: str):
    """In the full size; planning sees shapes only."""
    text = pipeline_text([DefaultPipeline()])
    before, after = text.split(f",{PLANS[0]},")
    allocated = MODELS[name]().build()
    run_pipeline(new_context(), allocated, before)
    for plan in PLANS:
        module = allocated.clone()
        run_pipeline(new_context(), module, (plan, after))
        assert any(isinstance(op, relax.AllocStorageOp) for op in module.walk())
        run_pipeline(new_context(), module, "relax-verify-memory-plan")


@pytest.mark.parametrize("name", MODELS)
def test_memory_is_what_is_alive_at_once(name: str):
    """Results and all between them, in so many images or after so many tokens."""
    module = MODELS[name].small().build().clone()
    plan = ('relax-default-pipeline{memory="arena"}', "relax-verify-memory-plan")
    run_pipeline(new_context(), module, plan)
    func = module["main"]
    assert isinstance(func, relax.FuncOp)
    extents = {symbol: IntegerAttr(512, 64) for symbol in func.symbol_names}
    func.attributes["tir_var_upper_bound"] = DictionaryAttr(extents)
    (report,) = memory_reports(module)
    assert report.ratio is not None
    assert 1 <= report.ratio <= 1.02, str(report)


@pytest.mark.parametrize("name", MODELS)
def test_models_have_their_full_size(name: str):
    """The number of parameters, and that a program of the full size is valid."""
    # Those of torchvision, transformers, and of the digits: 160 + 4640 + 5130.
    expected = {
        "bert": 85_054_464,
        "digits_cnn": 9_930,
        "gpt2": 124_439_808,
        "mobilenet_v2": 3_504_872 + 17_056 * 2,
        "resnet18": 11_689_512 + 4_800 * 2,
    }
    func = MODELS[name]().build()["main"]
    assert isinstance(func, relax.FuncOp)
    inputs = func.attributes["num_input"]
    sizes = [
        prod(dim.value or 0 for dim in info.shape or ())
        for arg in func.args[int(str(inputs).split()[0]) :]
        if (info := relax.TensorInfo.of(arg.type)) is not None
    ]
    assert sum(sizes) == expected[name]


@pytest.mark.parametrize("name", MODELS)
def test_scripts_of_models_are_the_same_programs(name: str):
    module = MODELS[name].small().build()
    again = parse(print_script(module))
    again.verify()
    assert structural_equal(module, again)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_decoder_goes_on_with_its_cache(compiled: bool):
    """Steps that hand on the cache give what numpy gives, from the empty cache on."""
    model = replace(GPT2.small(), layers=1)
    if compiled:
        pytest.importorskip("llvmlite")
        run: Any = xdsl_tvm.compile(model.build())["main"]
    else:
        run = interpret(model.build())["main"]
    parameters = model.parameters()
    token, position, *cache = model.inputs(past=0)
    for _ in range(4):
        expected = model.reference(parameters, token, position, *cache)
        logits, *cache = run(token, position, *cache, *parameters.values())
        assert difference([logits, *cache], expected) < TOLERANCE
        token, position = logits.argmax(1), position + 1
    assert cache[0].shape == (1, 2, 4, 8)


def test_digits_are_recognised():
    pytest.importorskip("llvmlite")
    images, digits = (split(part)[1] for part in load_digits())
    model = DigitsCNN()
    run = xdsl_tvm.compile(model.build())["main"]
    found = run(images.reshape(-1, 1, 8, 8), *model.parameters().values())
    assert (found.argmax(1) == digits).mean() >= 0.985


# ---- the page ----

_README = (EXAMPLES / "models/README.md").read_text(encoding="utf-8")


def test_the_program_of_the_page_runs():
    (block,) = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)
    exec(compile(block, "examples/models/README.md", "exec"), {})


def test_the_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("llvmlite")
    (block,) = re.findall(r"```sh\n(.*?)```", _README, re.DOTALL)
    cd, *commands = block.splitlines()
    assert cd == "cd examples"
    monkeypatch.chdir(tmp_path)
    for command in commands:
        name, *arguments = command.removeprefix("python -m ").split()
        # Machine code of the same model is run above; compiling it again takes seconds.
        arguments += ["--interpret"] * (name == "xdsl-tvm")
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        # The command by itself would fork this process.
        is_tool = name == "xdsl-tvm"
        assert (cli.main(arguments) if is_tool else main()) in (0, None)
    output = capsys.readouterr().out
    assert "model        ResNet18(batch=2" in output
    assert "result: float32[16, 10]" in output


def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["models", "digits_cnn"])

    def wrong(*_: object) -> list[Wide]:
        return [np.ones((16, 10))]

    monkeypatch.setattr(DigitsCNN, "reference", wrong)
    assert main() == 1
    assert capsys.readouterr().err == "error: the difference is 0.0001 or more\n"


TINY = """
@R.function
def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
    return R.exp(x)
"""


class _Tiny:
    """What `main` needs of a model, of a program that is compiled in no time."""

    @staticmethod
    def build() -> Any:
        return parse(TINY)


def test_the_command_compiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    line = "models resnet18 --full --target cuda --arch sm_90 --output"
    monkeypatch.setitem(MODELS, "resnet18", _Tiny)
    monkeypatch.setattr(sys, "argv", [*line.split(), str(tmp_path / "gpu")])
    assert main() == 0
    assert "wrote" in capsys.readouterr().out
    files = {path.name: path.read_bytes() for path in (tmp_path / "gpu").iterdir()}
    assert sorted(files) == ["host.o", "kernels.ptx", "manifest.json"]
    assert b".target sm_90" in files["kernels.ptx"]
    for wrong in (["--arch", "sm_90"], ["--target", "cuda"]):
        monkeypatch.setattr(sys, "argv", ["models", "resnet18", *wrong])
        with pytest.raises(SystemExit):
            main()


def test_the_command_of_the_tool_compiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """As docs/cuda.md has it, of a file that builds a program as those of models do."""
    page = (EXAMPLES.parent / "docs" / "cuda.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^xdsl-tvm (compile .* --execute .*)$", page, re.MULTILINE)
    file = tmp_path / "examples" / "models" / "resnet18.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "from xdsl_tvm.tvmscript import parse\n"
        f"def build_module():\n    return parse({TINY!r})\n"
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(line.split()) == 0
    files = {path.name for path in (tmp_path / "resnet18").iterdir()}
    assert files == {"host.o", "kernels.ptx", "manifest.json"}
    for model in MODELS.values():
        assert callable(sys.modules[model.__module__].build_module)


def test_the_page_names_every_file():
    listed = set(re.findall(r"^\| `(\w+\.py)`", _README, re.MULTILINE))
    files = {path.name for path in (EXAMPLES / "models").glob("*.py")}
    assert listed == {name for name in files if not name.startswith("__")}
