"""Exchange with TVM 0.27: it reads what we print, and its CPU build computes the same.

Needs the `[tvm]` extra. All programs of the corpus and all examples are printed in the
spelling of 0.27 and read by TVM's parser, unless a construct is not in 0.27. Most are
then compiled by TVM for the CPU, and compared with our interpreter and compiler on random
inputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from support import paths
from support.script_corpus import scripts
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import DiagnosticException

import xdsl_tvm
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.random_inputs import random_arguments
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.tvmscript import parse
from xdsl_tvm.tvmscript.files import read_file
from xdsl_tvm.tvmscript.printer import print_script

tvm: Any = pytest.importorskip("tvm", reason="pip install 'xdsl-tvm[tvm]'")
from_source: Callable[[str], Any] = pytest.importorskip("tvm.script").from_source

EXAMPLES = paths.EXAMPLES / "tvmscript"
PROGRAMS = {script.id: script for script in scripts()}
CPU = frozenset(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def _threads_stay_free():
    """TVM's thread pool pins threads to processors; later tests may use them all."""
    yield
    os.sched_setaffinity(0, CPU)


# ---- what TVM reads ----

NOT_IN_0_27 = {
    "TVM 0.27 has neither axis separators nor kinds of buffers": {
        "buffers.broadcasting",
        "buffers.separated_memory",
        "buffers.separators",
    },
    "TVM 0.27 has no such function": {
        "intrinsics.contexts",
        "intrinsics.guarded_register_load",
        "intrinsics.large_constant",
        "intrinsics.results_of_calls",
        "threads.asynchronous_copy",
        "threads.bulk_copy",
        "threads.counting_barriers",
        "threads.simdgroups",
        "threads.sparse_tensor_cores",
        "threads.tensor_cores",
    },
    "TVM 0.27 has no condition for it": {"statements.conditional_allocation"},
    "TVM 0.27 has no form for it": {
        "statements.constants",
        "statements.prefetches",
        "statements.realized",
        "statements.realized_on_condition",
        "statements.scoped_constants",
    },
    "TVM 0.27 has no constants beyond int64": {"dtypes.unsigned"},
    "TVM 0.27 has no stores with a predicate": {
        "vectors.masked_store",
        "vectors.masks",
        "vectors.scalable_mask",
    },
}
"""Programs with constructs that 0.27 has not, by what the printer says of them."""
REASONS = {name: reason for reason, names in NOT_IN_0_27.items() for name in names}


@pytest.mark.parametrize("name", PROGRAMS)
def test_tvm_reads_what_we_print(name: str) -> None:
    module = parse(PROGRAMS[name].text)
    if name in REASONS:
        with pytest.raises(DiagnosticException, match=REASONS[name]):
            print_script(module, version="0.27")
        return
    read = from_source(print_script(module, version="0.27"))
    names = {op.sym_name.data for op in module.ops if isinstance(op, tir.FuncOp)}
    assert {var.name_hint for var in read.get_global_vars()} == names


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda f: f.stem)
def test_tvm_reads_the_examples(file: Path) -> None:
    from_source(print_script(read_file(file), version="0.27"))


# ---- what TVM computes ----

NOT_COMPARED = {
    "TVM lacks a lowering for the CPU": {
        "arithmetic.powers",
        "buffers.view_as_vectors",
        "dtypes.smallest_float",
        "vectors.scalable",
        "vectors.scalable_slice",
    },
    "TVM cannot prove that the offset of the region is 0": {
        "blocks.matched_without_shape"
    },
    "TVM refuses the constant, which is beyond int32": {"dtypes.limits"},
    "TVM checks no rank 0 or vector elements of arrays that are passed": {
        "buffers.ranks",
        "dtypes.vector_dtypes",
        "functions.scalars_in_memory",
        "vectors.vector_memory",
        "vectors.dot_products",
    },
    "threads of a GPU": {
        "functions.gpu_target",
        "kernels.block_sums",
        "loops.thread_loops",
        "loops.thread_loops_annotated",
    },
    "private functions, and those of a module that return values": {
        "functions.private",
        "functions.attributes",
        "modules.Calls",
        "modules.CallsBefore",
        "modules.CallsWithoutArguments",
        "modules.HostAndDevice",
    },
    "a pipeline without an order": {"loops.annotated"},
    "it calls what is not there, or arguments are pointers": {
        "buffers.access_pointers",
        "buffers.addresses",
        "buffers.data_as_argument",
        "dtypes.raw_constants",
        "functions.deprecated_pointers",
        "functions.explicit_variables",
        "functions.pointers",
    },
    "our compiler passes no float16 scalars": {"dtypes.promotion"},
    "operations of float8 are not the same in TVM's emulation": {"dtypes.small_floats"},
}
"""Programs that are not compared with TVM's build, by reason."""
LEFT_OUT = frozenset(name for names in NOT_COMPARED.values() for name in names)
TOPICS = (
    "arithmetic",
    "blocks",
    "buffers",
    "dtypes",
    "functions",
    "kernels",
    "loops",
    "modules",
    "vectors",
)
COMPARED = [
    name
    for name, script in PROGRAMS.items()
    if script.topic in TOPICS and name not in LEFT_OUT and name not in REASONS
]
NOT_COMPILED = {
    "buffers.view_of_other_dtype": "cannot view a pointer",
    "functions.early_results": "a return must be the last statement",
}
"""What our compiler cannot compile yet, and why; those are interpreted only."""

Functions: TypeAlias = Mapping[str, Callable[..., Any]]


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def as_argument(value: Any) -> Any:
    """An array as a tensor of TVM, a scalar as a number."""
    if is_array(value):
        return tvm.runtime.tensor(value)
    return value.item() if hasattr(value, "item") else value


def with_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of TVM, on numpy arrays."""

    def call(*arguments: Any) -> Any:
        given = [as_argument(each) for each in arguments]
        result = function(*given)
        for each, tensor in zip(arguments, given, strict=True):
            if is_array(each):
                each[...] = tensor.numpy()
        return result

    return call


def outcome(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[list[Any], Any]:
    """What a function leaves in its arguments, and returns."""
    given = [np.array(each, order="C") if is_array(each) else each for each in arguments]
    result = function(*given)
    return given, result


def assert_close(actual: Any, expected: Any) -> None:
    exact = np.asarray(expected).dtype.kind in "iub"
    wide = np.result_type(np.asarray(expected).dtype)
    tolerance = 0 if exact else 2e-3 if wide.itemsize < 4 else 1e-5
    dtype = wide if exact else "float64"
    np.testing.assert_allclose(
        np.asarray(actual).astype(dtype),
        np.asarray(expected).astype(dtype),
        rtol=tolerance,
        atol=tolerance,
    )


def ours(name: str, module: ModuleOp) -> list[Functions]:
    if name not in NOT_COMPILED:
        return [interpret(module), xdsl_tvm.compile(module.clone())]
    with pytest.raises(Exception, match=NOT_COMPILED[name]):
        xdsl_tvm.compile(module.clone())
    return [interpret(module)]


@pytest.mark.parametrize("name", COMPARED)
def test_tvm_computes_the_same(name: str) -> None:
    module = parse(PROGRAMS[name].text)
    built = tvm.compile(from_source(print_script(module, version="0.27")), target="llvm")
    rng = np.random.default_rng(0)
    functions = ours(name, module)
    for func in module.ops:
        assert isinstance(func, tir.FuncOp)
        symbol = func.attributes.get("global_symbol")
        if not isinstance(symbol, StringAttr):
            continue
        arguments = random_arguments(func, rng)
        expected, result = outcome(with_tensors(built[symbol.data]), arguments)
        for each in functions:
            found, returned = outcome(each[func.sym_name.data], arguments)
            for one, other in zip(found, expected, strict=True):
                assert_close(one, other)
            assert (returned is None) == (result is None)
            assert returned == result


def test_enough_is_compared() -> None:
    assert len(COMPARED) >= 100
    assert not (set(REASONS) | LEFT_OUT | set(NOT_COMPILED)) - set(PROGRAMS)
