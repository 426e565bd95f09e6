"""Indices and divisors that are not allowed: errors, in code and in the interpreter."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.legalization import Case, case
from xdsl.dialects.builtin import ModuleOp, i64

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.runtime.executable import load_module

pytest.importorskip("llvmlite")

MANY = "XDSL_TVM_FUZZ" in os.environ
UNUSED = np.zeros((3, 2), np.float32)
"""The argument that says what the symbols `n` and `m` are."""
X = np.arange(12, dtype=np.float32).reshape(3, 4)
LEAST = {"i8": -128, "i32": -(2**31), "i64": -(2**63)}


@dataclass(frozen=True)
class Fault:
    """An operator, arguments that are allowed, others that are not, and what is said."""

    case: Case
    allowed: tuple[Any, ...]
    wrong: tuple[Any, ...]
    message: str


def _indices() -> dict[str, Fault]:
    def outside(index: int, where: str, extent: int) -> str:
        return f"index {index} is out of range for {where} with extent {extent}"

    first = np.ascontiguousarray(X[:, :3])
    take = case(relax.TakeOp, "f32[3, 4]", "i64[2, 2]", axis=1)
    places = np.array([[0, 1], [2, 3]])
    gather = case(relax.GatherElementsOp, "f32[3, 4]", "i32[3, 2]", axis=1)
    few = np.array([[0, -4], [3, 1], [2, 2]], np.int32)
    many = np.array([[0, -4], [3, 1], [2, -5]], np.int32)
    nd = case(relax.GatherNDOp, "f32[3, 4]", "i64[2, 2]", batch_dims=0)
    batch = case(relax.GatherNDOp, "f32[3, 4]", "i64[3, 1]", batch_dims=1)
    put = case(
        relax.ScatterElementsOp,
        "f32[3, 4]",
        "i64[2, 4]",
        "f32[2, 4]",
        axis=0,
        reduction="add",
    )
    rows = np.array([[0, 1, 2, -3]] * 2)
    put_nd = case(
        relax.ScatterNDOp, "f32[3, 4]", "i64[2, 1]", "f32[2, 4]", reduction="update"
    )
    loss = case(
        relax.NLLLossOp, "f32[3, 4]", "i64[3]", reduction="mean", ignore_index=-100
    )
    sample = case(
        relax.MultinomialFromUniformOp, "f32[3, 4]", "f32[2, 1]", "i64[2, 1]", dtype=i64
    )
    half = np.full((2, 1), 0.5, np.float32)
    symbolic = case(relax.TakeOp, "f32[3, n]", "i8[m]", axis=1)
    return {
        "take": Fault(take, (X, places), (X, places + 1), outside(4, "axis 1", 4)),
        "take before": Fault(
            take, (X, places), (X, places - 2), outside(-2, "axis 1", 4)
        ),
        "take of n": Fault(
            symbolic,
            (first, np.array([2, 0], np.int8)),
            (first, np.array([0, 3], np.int8)),
            outside(3, "axis 1", 3),
        ),
        "gather_elements": Fault(gather, (X, few), (X, many), outside(-5, "axis 1", 4)),
        "gather_nd": Fault(
            nd,
            (X, np.array([[2, 3], [-3, -4]])),
            (X, np.array([[2, 3], [0, 12]])),
            outside(12, "axis 1", 4),
        ),
        "gather_nd of batches": Fault(
            batch,
            (X, np.array([[3], [0], [-1]])),
            (X, np.array([[3], [4], [0]])),
            outside(4, "axis 1", 4),
        ),
        "scatter_elements": Fault(
            put, (X, rows, X[:2]), (X, rows + 1, X[:2]), outside(3, "axis 0", 3)
        ),
        "scatter_nd": Fault(
            put_nd,
            (X, np.array([[2], [-1]]), X[:2]),
            (X, np.array([[0], [2**40]]), X[:2]),
            outside(2**40, "axis 0", 3),
        ),
        "nll_loss": Fault(
            loss,
            (X, np.array([3, -100, 0])),
            (X, np.array([3, -100, 4])),
            outside(4, "the classes", 4),
        ),
        "multinomial_from_uniform": Fault(
            sample,
            (X, half, np.array([[2], [0]])),
            (X, half, np.array([[2], [3]])),
            outside(3, "the rows", 3),
        ),
    }


def _divisions() -> dict[str, Fault]:
    found: dict[str, Fault] = {}
    for build in (relax.DivideOp, relax.FloorDivideOp, relax.ModOp, relax.FloorModOp):
        name = build.name.removeprefix("relax.")
        # In the ordinary run, the other divisions are those of one dtype.
        few = not MANY and build is not relax.DivideOp
        for dtype in ("i32",) if few else ("i8", "i32", "i64", "ui8"):
            storage = (
                f"u{dtype[1:]}nt"
                if False
                else np.dtype(
                    f"{'uint' if dtype[0] == 'u' else 'int'}{dtype.lstrip('ui')}"
                )
            )
            a, b = np.array([7, 5, 6, 9], storage), np.array([2, 1, 3, 4], storage)
            zero = np.array([2, 1, 0, 4], storage)
            operator = case(build, f"{dtype}[4]", f"{dtype}[4]")
            found[f"{name} of {dtype}"] = Fault(
                operator, (a, b), (a, zero), "an integer is divided by zero"
            )
            if dtype in LEAST and "mod" not in name:
                least = np.array([7, LEAST[dtype], 6, 9], storage)
                ones = np.array([-1, -1, 1, 1], storage)
                found[f"{name} of the least {dtype}"] = Fault(
                    operator,
                    (a, ones),
                    (least, ones),
                    f"{LEAST[dtype]} divided by -1 is out of the range of {dtype}",
                )
    broadcast = case(relax.FloorDivideOp, "i32[n, 1]", "i32[4]")
    rows = np.array([[7], [-(2**31)], [1]], np.int32)
    found["broadcast"] = Fault(
        broadcast,
        (rows, np.array([1, 2, 3, -2], np.int32)),
        (rows, np.array([1, 2, -1, 3], np.int32)),
        f"{-(2**31)} divided by -1 is out of the range of i32",
    )
    return found


POWER = Fault(
    case(relax.PowerOp, "i32[2]", "i32[2]"),
    (np.array([2, -3], np.int32), np.array([5, 0], np.int32)),
    (np.array([2, -3], np.int32), np.array([5, -1], np.int32)),
    "an integer has no negative power",
)
FAULTS = _indices() | _divisions() | {"power": POWER}


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    return ModuleOp(
        [fault.case.function(f"f{at}") for at, fault in enumerate(FAULTS.values())]
    )


@pytest.mark.parametrize("optimize", [True, False])
def test_faults_are_errors_of_compiled_code(module: ModuleOp, optimize: bool) -> None:
    """In the ordinary run, each is compiled in one of both ways."""
    reference = interpret(module)
    chosen = list(enumerate(FAULTS.items()))
    if not MANY:
        chosen = chosen[optimize::2]
    functions = [FAULTS[name].case.function(f"f{at}") for at, (name, _) in chosen]
    compiled = xdsl_tvm.compile(ModuleOp(functions), optimize=optimize)
    for at, (name, fault) in chosen:
        function: Any = compiled[f"f{at}"]
        with pytest.raises(RuntimeError) as error:
            function(*fault.wrong, UNUSED)
        operator = fault.case.build.name
        assert str(error.value) == f"assertion failed: {operator}: {fault.message}", name
        # The next call is not disturbed.
        found = function(*fault.allowed, UNUSED)
        evaluate: Any = reference[f"f{at}"]
        expected = evaluate(*fault.allowed, UNUSED)
        np.testing.assert_allclose(found, expected, 1e-6, err_msg=name)


def test_faults_are_errors_of_the_interpreter(module: ModuleOp) -> None:
    reference = interpret(module)
    for at, (name, fault) in enumerate(FAULTS.items()):
        function: Any = reference[f"f{at}"]
        with pytest.raises(SimulationError) as error:
            function(*fault.wrong, UNUSED)
        assert str(error.value).startswith(fault.message), name
        assert fault.case.build.name in str(error.value), name


SLICE = """
relax.func @main(%x: tensor<3x4xf32>, %b: tensor<2xi64>, %e: tensor<2xi64>,
    %s: tensor<2xi64>) -> tensor<f32> attributes {global_symbol = "main"} {
  %0 = relax.dynamic_strided_slice %x, %b, %e, %s
    : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = relax.sum %0 : (tensor<?x?xf32>) -> tensor<f32>
  relax.return %1 : tensor<f32>
}
"""


def test_the_stride_of_a_slice_is_not_zero() -> None:
    bounds = (np.array([0, 0]), np.array([3, 4]))
    run = xdsl_tvm.compile(SLICE)["main"]
    assert run(X, *bounds, np.array([1, 2])) == X[:, ::2].sum()
    message = "the stride of a slice is 0"
    with pytest.raises(RuntimeError, match=message):
        run(X, *bounds, np.array([1, 0]))
    with pytest.raises(SimulationError, match=message):
        interpret(load_module(SLICE))["main"](X, *bounds, np.array([1, 0]))
