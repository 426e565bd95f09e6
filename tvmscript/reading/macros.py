"""Macros: bodies of statements that are read in the place of their call.

A macro binds its parameters to the arguments, IR or Python. What else it names is looked
up where the macro is defined, or, of a macro that is not hygienic, where it is called
(docs/spec/tvmscript.md §2.5).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import NoReturn

from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Source


@dataclass(frozen=True, eq=False)
class Macro:
    """A macro: its definition, and the names around it."""

    source: Source
    node: ast.FunctionDef
    hygienic: bool
    scope: Callable[[], Scope]
    """The names that are visible where it is defined."""
    signature: Signature
    """Its parameters, with their default values."""

    def bind(
        self, args: Sequence[object], named: Mapping[str, object]
    ) -> dict[str, object]:
        """The parameters for these arguments. Raises TypeError where they do not fit."""
        try:
            return arguments_of(self.signature, args, named)
        except TypeError as error:
            raise TypeError(f"{self.node.name}(): {error}") from None

    def __call__(self, *args: object, **named: object) -> NoReturn:
        raise TypeError(
            f"the macro {self.node.name} can be called in scripts only: its statements "
            "go where the call is"
        )


def signature_of(
    node: ast.arguments, evaluate: Callable[[ast.expr], object]
) -> Signature:
    """The parameters of a definition or a lambda, with the values of their defaults."""
    positional = (*node.posonlyargs, *node.args)
    without = len(positional) - len(node.defaults)
    defaults = [Parameter.empty] * without + [evaluate(each) for each in node.defaults]
    found: list[Parameter] = []
    for index, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        is_only = index < len(node.posonlyargs)
        kind = Parameter.POSITIONAL_ONLY if is_only else Parameter.POSITIONAL_OR_KEYWORD
        found.append(Parameter(arg.arg, kind, default=default))
    if node.vararg is not None:
        found.append(Parameter(node.vararg.arg, Parameter.VAR_POSITIONAL))
    for arg, given in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        default = Parameter.empty if given is None else evaluate(given)
        found.append(Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=default))
    if node.kwarg is not None:
        found.append(Parameter(node.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(found)


def arguments_of(
    signature: Signature, args: Sequence[object], named: Mapping[str, object]
) -> dict[str, object]:
    """The parameters for these arguments. Raises TypeError where they do not fit."""
    bound = signature.bind(*args, **named)
    bound.apply_defaults()
    return bound.arguments
