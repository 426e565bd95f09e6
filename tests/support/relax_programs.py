"""Helpers of the tests that run Relax functions."""

from collections.abc import Callable
from typing import Any

from support.ir import parse
from xdsl_tvm.interpreters.relax import interpret


def function(text: str, name: str = "main", **externs: Callable[..., Any]) -> Any:
    """The function `name` of the module `text`, ready to be called."""
    return interpret(parse(text), externs=externs)[name]


def operator(line: str, *params: str, result: str) -> Any:
    """The function of `%a`, `%b`, … that one operator in generic or custom form makes.

    `line` is the operation without its result, `params` and `result` are types.
    """
    names = "abcdefgh"
    declared = ", ".join(f"%{n}: {t}" for n, t in zip(names, params, strict=False))
    return function(
        f"relax.func @main({declared}) -> {result} {{\n"
        f"  %r = {line} : ({', '.join(params)}) -> {result}\n"
        f"  relax.return %r : {result}\n}}"
    )
