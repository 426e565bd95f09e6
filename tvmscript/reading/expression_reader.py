"""What the readers of TIR and of Relax have in common: expressions, and errors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl_tvm.tvmscript.errors import ScriptError
from xdsl_tvm.tvmscript.nodes.relax_types import IS_READING
from xdsl_tvm.tvmscript.reading.evaluator import Evaluator, error_text
from xdsl_tvm.tvmscript.reading.scope import Scope
from xdsl_tvm.tvmscript.reading.source import Source


class ExpressionReader:
    """Evaluates expressions; errors have the place of the innermost one."""

    def __init__(self, source: Source, scope: Scope) -> None:
        self._evaluator = Evaluator(source, scope, self._call)

    @property
    def scope(self) -> Scope:
        """The names that are visible."""
        return self._evaluator.scope

    def evaluate(self, node: ast.expr) -> object:
        """The value of an expression."""
        return self._charged(node, self._evaluator.evaluate)

    def operand(self, node: ast.expr) -> object:
        """The value of an operand; see `Evaluator.operand`."""
        return self._charged(node, self._evaluator.operand)

    def _charged(self, node: ast.expr, evaluate: Callable[[ast.expr], object]) -> object:
        token = IS_READING.set(True)
        try:
            value = evaluate(node)
        finally:
            IS_READING.reset(token)
        with self.blaming(node):
            self.scope.rules.charge(value)
        return value

    def error(self, node: ast.AST, message: str) -> ScriptError:
        """An error at a node."""
        return self._evaluator.source.error(node, message)

    @contextmanager
    def blaming(self, node: ast.AST) -> Generator[None]:
        """Errors inside are those of `node`, unless they have a place."""
        try:
            yield
        except ScriptError:
            raise
        except Exception as error:
            raise self.error(node, error_text(error)) from error

    def _call(
        self, function: object, args: Sequence[object], named: Mapping[str, object]
    ) -> object:
        if not callable(function):
            raise TypeError(f"a {type(function).__name__} cannot be called")
        return function(*args, **named)
