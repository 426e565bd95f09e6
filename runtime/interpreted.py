"""`xdsl_tvm.interpret`: the functions of a module, run by the interpreters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.interpreter import InterpreterFunctions

from xdsl_tvm.interpreters.relax import InterpretedRelax
from xdsl_tvm.interpreters.relax import interpret as interpret_module
from xdsl_tvm.interpreters.tir import DEFAULT_STEP_LIMIT
from xdsl_tvm.runtime.global_functions import registered_externs
from xdsl_tvm.runtime.load import Source, load_module


def interpret(
    module: Source,
    *,
    externs: Mapping[str, Callable[..., Any]] | None = None,
    functions: Sequence[InterpreterFunctions] = (),
    step_limit: int = DEFAULT_STEP_LIMIT,
    vscale: int = 2,
    vectorize_threads: bool = True,
    count_bank_conflicts: bool = False,
) -> InterpretedRelax:
    """The Relax and TIR functions of a module, by name, ready to be called.

    `module` is what `compile` accepts: a module, a function, a file or its text. A TIR
    function writes to arrays it is given, a Relax function returns its results.

    >>> interpret(Path("vector_add.mlir"))["vector_add"](a, b, c)

    `externs` are the Python functions that calls of packed and external functions reach,
    by name, besides those of `register_func`. Of TIR functions, `functions` are xDSL
    implementations of ops of other dialects, `step_limit` bounds the iterations of
    `tir.while` loops in one call, and how often a Relax function that ends by calling
    itself does so, `vscale` is the run-time constant of that name, and
    `vectorize_threads=False` runs the threads of a kernel one after the other even where
    they could run together. `count_bank_conflicts=True` counts the accesses of shared
    memory:

    >>> module = interpret(Path("product.mlir"), count_bank_conflicts=True)
    >>> module["product"](a, b, c)
    >>> print("\n".join(module.tir.bank_conflicts().lines()))

    Raises what `compile` raises for its module: TypeError, ValueError, OSError and
    VerifyException. A call raises SimulationError for a fault of the program and
    InterpretationError for what is not supported.
    """
    return interpret_module(
        load_module(module),
        externs={**registered_externs(), **(externs or {})},
        functions=functions,
        step_limit=step_limit,
        vscale=vscale,
        vectorize_threads=vectorize_threads,
        count_bank_conflicts=count_bank_conflicts,
    )
