"""What a legalization rule is, and where the rules are kept.

A rule says which stages of a `TensorProgram` compute an operator. It is registered under
the operator's class, in a module of this package that is named by its topic; `rules.py`
imports them all.

```python
@rule(relax.ReluOp)
def relu(op: relax.ReluOp, site: Site) -> Tensor:
    return elementwise(site.program, "relu", site.tensor(0), lambda x: x.maximum(0))
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation

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
class Site:
    """What a rule has to work with: dimensions and dtypes are all known."""

    program: TensorProgram
    arguments: tuple[Argument, ...]
    """One per operand of the operator, in order."""
    results: tuple[Result, ...]
    """One, or the fields of a tuple."""

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Dimensions of the first result."""
        return self.results[0].shape

    @property
    def dtype(self) -> Attribute:
        """Element type of the first result."""
        return self.results[0].dtype

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


Rule: TypeAlias = Callable[[Any, Site], "Tensor | Sequence[Tensor]"]
"""Appends the stages of an operator; returns the result, or the fields of a tuple."""

RULES: dict[type[Operation], Rule] = {}
"""The rule of each operator that has one."""

R = TypeVar("R", bound=Rule)


def rule(*kinds: type[Operation]) -> Callable[[R], R]:
    """Register the decorated function for operators of the given classes."""

    def register(function: R) -> R:
        for kind in kinds:
            RULES[kind] = function
        return function

    return register
