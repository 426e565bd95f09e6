"""Macros: bodies of statements that are read in the place of their call.

A macro binds its parameters to the arguments, IR or Python. What else it names is looked
up where the macro is defined, or, of a macro that is not hygienic, where it is called
(spec tvmscript.md §2.5).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, NoReturn

from xdsl_tvm.tvmscript.scope import Scope
from xdsl_tvm.tvmscript.source import Source


@dataclass(frozen=True, eq=False)
class Macro:
    """A macro: its definition, and the names around it."""

    source: Source
    node: ast.FunctionDef
    hygienic: bool
    scope: Callable[[], Scope]
    """The names that are visible where it is defined."""
    binder: Callable[..., dict[str, object]]
    """Takes the arguments and returns the parameters by name."""

    def bind(
        self, args: Sequence[object], named: Mapping[str, object]
    ) -> dict[str, object]:
        """The parameters for these arguments. Raises TypeError where they do not fit."""
        return self.binder(*args, **named)

    def __call__(self, *args: object, **named: object) -> NoReturn:
        raise TypeError(
            f"the macro {self.node.name} can be called in scripts only: its statements "
            "go where the call stands"
        )


def binder_of(
    node: ast.FunctionDef, names: Mapping[str, object]
) -> Callable[..., dict[str, object]]:
    """A Python function with the parameters of a definition that returns their values.

    `names` are those that default values may use.
    """
    signature = copy.deepcopy(node.args)
    for arg in (
        *signature.posonlyargs,
        *signature.args,
        *signature.kwonlyargs,
        signature.vararg,
        signature.kwarg,
    ):
        if arg is not None:
            arg.annotation = None
    body = ast.Return(ast.Call(ast.Name("locals", ast.Load()), [], []))
    definition = ast.FunctionDef(node.name, signature, [body], [])
    module = ast.Module([ast.fix_missing_locations(definition)], [])
    code: CodeType = compile(module, "<macro>", "exec")
    namespace: dict[str, Any] = dict(names)
    exec(code, namespace)
    return namespace[node.name]
