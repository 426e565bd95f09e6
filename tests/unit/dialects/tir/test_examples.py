"""The examples on the page of the tir dialect: programs, and calls of their functions.

Those of the ops are in the docstrings, that of the introduction on the page itself,
which also says how the calls are written.
"""

import json
import re
from typing import Any, cast

import numpy as np
import pytest
from support import paths
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.analysis.tir.well_formed import violations
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.tir import InterpretedFunction, interpret

PAGE = paths.ROOT / "docs" / "tir.md"
EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
CALL = re.compile(
    r"// @(?P<name>\w+)\((?P<inputs>.*)\) (?P<kind>=|->|fails:|is not run:)"
    r" (?P<outcome>.*)"
)
OPS = [op for op in tir.TIR.operations if issubclass(op, IRDLOperation)]


def example(op: type[IRDLOperation]) -> str:
    blocks = EXAMPLE.findall(op.__doc__ or "")
    assert len(blocks) == 1, f"{op.name} needs one example in its docstring"
    return re.sub(r"^    ", "", blocks[0], flags=re.MULTILINE)


EXAMPLES = {op.name: example(op) for op in OPS}
EXAMPLES["the introduction"] = EXAMPLE.findall(PAGE.read_text())[0]


def lines(text: str) -> list[str]:
    """The lines without indentation, comments, and the ways to write a float."""
    text = re.sub(r"-?\d+\.\d+(e[+-]\d+)?", lambda m: f"{float(m[0]):e}", text)
    stripped = [line.strip() for line in text.splitlines()]
    return [line for line in stripped if line and not line.startswith("//")]


def values(text: str) -> list[Any]:
    """Numbers, `true`, `false`, `NaN`, lists of them, and None for what is not said."""
    said = re.sub(r"\b_\b", "null", text)
    return json.loads(f"[{said}]")


def argument(value: Any, function: InterpretedFunction, index: int) -> Any:
    """What is passed for a parameter: an array where it is a buffer or a pointer."""
    parameter = function.func.args[index]
    match parameter.type:
        case tir.HandleType():
            element: Attribute = function.func.buffer_map[parameter].type.element_type
        case tir.PtrType(element_type=element):
            pass
        case _:
            return value
    return np.array(value, number(tir.element_of(element)).storage)


def equal(found: Any, expected: Any) -> bool:
    """Whether a result is the expected one, NaN for NaN."""
    if isinstance(expected, list):
        items = cast("list[Any]", expected)
        return len(found) == len(items) and all(map(equal, found, items))
    return expected is None or bool(np.array_equal(found, expected, equal_nan=True))


def check_call(module: ModuleOp, call: re.Match[str]):
    function = interpret(module)[call["name"]]
    inputs = values(call["inputs"])
    arguments = [argument(value, function, i) for i, value in enumerate(inputs)]
    match call["kind"]:
        case "=":
            assert equal([function(*arguments)], values(call["outcome"]))
        case "->":
            assert function(*arguments) is None
            arrays = [one for one in arguments if hasattr(one, "dtype")]
            assert equal(arrays, values(call["outcome"]))
        case kind:
            with pytest.raises(
                InterpretationError, match=re.escape(call["outcome"])
            ) as e:
                function(*arguments)
            assert isinstance(e.value, SimulationError) is (kind == "fails:")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_well_formed_and_prints_as_written(name: str):
    module = parse(EXAMPLES[name])
    assert not list(violations(module))
    assert lines(str(module))[1:-1] == lines(EXAMPLES[name])
    assert str(parse(str(module))) == str(module)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_example_holds_the_op(op: type[IRDLOperation]):
    assert any(isinstance(each, op) for each in parse(EXAMPLES[op.name]).walk())


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_as_it_says(name: str):
    module = parse(EXAMPLES[name])
    comments = re.findall(r"//.*", EXAMPLES[name])
    assert comments, f"{name}: the example needs a call"
    for comment in comments:
        call = CALL.fullmatch(comment)
        assert call is not None, f"{name}: not a call: {comment}"
        check_call(module, call)


def test_only_legacy_ops_are_not_run():
    unrun = [name for name, text in EXAMPLES.items() if "is not run:" in text]
    assert unrun == ["tir.buffer_realize"]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("// @f(2, 3) = 6", AssertionError),
        ("// @f(2, 3) fails: an integer is divided by zero", pytest.fail.Exception),
        ("// @f(2, 3) is not run: of legacy", pytest.fail.Exception),
        ("// @f(1000, 3) is not run: parameter x", AssertionError),
    ],
)
def test_calls_that_say_what_does_not_happen_are_found(
    call: str, fault: type[BaseException]
):
    match = CALL.fullmatch(call)
    assert match is not None
    with pytest.raises(fault):
        check_call(parse(EXAMPLES["tir.add"]), match)
