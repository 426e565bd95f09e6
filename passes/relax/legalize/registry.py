"""What a legalization rule is, and where the rules are kept.

A rule says which stages of a `TensorProgram` compute an operator. It is registered under
the operator's class, in a module of this package that is named by its topic; `rules.py`
imports them all.

```python
@rule(relax.ReluOp)
def relu(op: relax.ReluOp, site: RuleContext) -> Tensor:
    return elementwise(site.program, "relu", site.tensor(0), lambda x: x.maximum(0))
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Operand,
    Scalar,
    Tensor,
    TensorProgram,
)


@dataclass(frozen=True)
class Shape:
    """A shape operand: its dimensions."""

    dims: tuple[Dim, ...]


Argument: TypeAlias = "Tensor | Scalar | Shape | tuple[Argument, ...]"
"""What stands for an operand of the operator; a tuple operand is a tuple."""


@dataclass(frozen=True)
class Result:
    """A tensor that the operator returns: its dimensions and its element type."""

    shape: tuple[Dim, ...]
    dtype: Attribute


@dataclass(frozen=True)
class RuleContext:
    """What a rule has to work with: dimensions and dtypes are all known."""

    program: TensorProgram
    arguments: tuple[Argument, ...]
    """One per operand of the operator, in order."""
    results: tuple[Result, ...]
    """One, or the fields of a tuple."""
    dim: Callable[[SymbolicDim], Dim]
    """A symbolic dimension of the caller as an extent of the function."""

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Dimensions of the first result."""
        return self.results[0].shape

    @property
    def dtype(self) -> Attribute:
        """Element type of the first result."""
        return self.results[0].dtype

    def dims(self, position: int) -> tuple[Dim, ...]:
        """The operand at `position`, which is a shape, or a tensor of which a rule takes
        the shape only."""
        argument = self.arguments[position]
        assert isinstance(argument, Shape)
        return argument.dims

    def scalar(self, position: int) -> Scalar:
        """The operand at `position`, which is a number."""
        argument = self.arguments[position]
        assert isinstance(argument, Scalar)
        return argument

    def tensor(self, position: int) -> Tensor:
        """The operand at `position`, which is a tensor."""
        argument = self.arguments[position]
        assert isinstance(argument, Tensor)
        return argument

    def operand(self, position: int) -> Operand:
        """The operand at `position`: a tensor, or a number."""
        argument = self.arguments[position]
        assert isinstance(argument, Tensor | Scalar)
        return argument

    def tensors(self, position: int) -> tuple[Tensor, ...]:
        """The operand at `position`, which is a tuple of tensors."""
        argument = self.arguments[position]
        assert isinstance(argument, tuple)
        return tuple(each for each in argument if isinstance(each, Tensor))


class NoStagesError(Exception):
    """Raised by a rule for an operator that it does not cover, which is left as it is."""


Rule: TypeAlias = Callable[[Any, RuleContext], "Tensor | Sequence[Tensor]"]
"""Appends the stages of an operator; returns the result, or the fields of a tuple."""


@dataclass(frozen=True)
class RegisteredRule:
    """A rule, and how its function gets operands and name."""

    stages: Rule
    function: str
    """Name of the function; `{}` stands for the last part of the operator's."""
    shape_only: tuple[int, ...]
    """Operands of which only the shape is taken: the function does not get them."""
    immediates: tuple[int, ...]
    """Operands the first of which becomes a number of the function's code, if it is a
    constant of rank 0."""


RULES: dict[type[Operation], RegisteredRule] = {}
"""The rule of each operator that stages compute."""

Rewrite: TypeAlias = Callable[[Any, "Bindings"], "SSAValue | None"]
"""Emits what stands for an operator, and returns its value; None to leave it alone."""

REWRITES: dict[type[Operation], Rewrite] = {}
"""The operators that become other operations; tried before a rule of RULES."""


class Bindings(Protocol):
    """Where a rewrite puts operations: before the operator."""

    def emit(self, op: Operation) -> SSAValue:
        """Insert an operation; gives its result, which is legalized recursively."""
        ...

    def symbol(self, name: str) -> str:
        """`name`, or one like it, that is no symbolic dimension of the function."""
        ...

    def call_te(
        self,
        name: str,
        operands: Sequence[SSAValue],
        result_type: Attribute,
        stages: Callable[[RuleContext], Tensor | Sequence[Tensor]],
        *,
        shape_only: tuple[int, ...] = (),
    ) -> SSAValue:
        """Call a function of the given stages, for which `shape_only` is as in `rule`.

        Raises ValueError if a shape or a dtype is not known.
        """
        ...


R = TypeVar("R", bound=Rule)
W = TypeVar("W", bound=Rewrite)


def rule(
    *kinds: type[Operation],
    function: str = "{}",
    shape_only: tuple[int, ...] = (),
    immediates: tuple[int, ...] = (),
) -> Callable[[R], R]:
    """Register the decorated function for operators of the given classes."""

    def register(stages: R) -> R:
        for kind in kinds:
            name = function.format(kind.name.rpartition(".")[2])
            RULES[kind] = RegisteredRule(stages, name, shape_only, immediates)
        return stages

    return register


def rewrite(*kinds: type[Operation]) -> Callable[[W], W]:
    """Register the decorated function to rewrite operators of the given classes."""

    def register(function: W) -> W:
        for kind in kinds:
            REWRITES[kind] = function
        return function

    return register
