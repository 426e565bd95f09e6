"""The calls of Relax besides operators, by TVM's names: `CALLS["memory.alloc_storage"]`.

One table says how each is called, and both the builder and scripts read it. A parameter's
annotation says what kind of argument it accepts, `Parameter.kind`, by which scripts
convert what they write for it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.relax.expr import Emittable, Expr, Placeholders
from xdsl_tvm.relax.reading import Operands, current_reader
from xdsl_tvm.relax.struct_info import DtypeLike as DtypeLike

P = ParamSpec("P")

# ---- kinds of parameters, besides GlobalVar, DtypeLike and str ----

Value: TypeAlias = "Emittable"
"""A value."""
Values: TypeAlias = "Expr | Sequence[Emittable]"
"""The arguments of a function, one or a list of them."""
Outputs: TypeAlias = "Attribute | Sequence[Attribute]"
"""The types of the tensors that a call writes, one or several."""
Returned: TypeAlias = "Attribute | Sequence[Attribute] | None"
"""What unknown code returns: one type, a tuple of several, any value for none."""
ReturnedOrNothing: TypeAlias = "Attribute | Sequence[Attribute] | None"
"""The same, where None is a call without a result."""
Indices: TypeAlias = "int | Sequence[int]"
"""The arguments that outputs are written to."""
Dims: TypeAlias = "Sequence[DimLike] | None"
"""Dimensions that a TIR function gets besides its buffers."""
Shape: TypeAlias = "Expr | Sequence[DimLike]"
"""A shape, or its dimensions."""
Scalar: TypeAlias = "Expr | DimLike"
"""An integer that is no tensor."""
DeviceIndex: TypeAlias = "Expr | int"
"""The number of a device, a constant."""
Extern: TypeAlias = "str"
"""The name of a function of the runtime."""
Annotations: TypeAlias = "Mapping[str, object] | None"
"""Attributes as values of Python."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a call."""

    name: str
    kind: str
    is_required: bool = False
    is_variadic: bool = False
    is_keyword: bool = False
    default: object = None


class Call(Generic[P]):
    """A function of the vocabulary; `build` makes its value of operands.

    Called in a function that is being read it means what the script says, see
    `xdsl_tvm.relax.reading`. Raises VerifyException for arguments that do not fit.
    """

    def __init__(
        self, name: str, build: Callable[Concatenate[Operands, P], Expr]
    ) -> None:
        self.name = name
        """TVM's name without `relax.`."""
        self.build = build
        functools.update_wrapper(self, build)
        signature = inspect.signature(build)
        _, *given = signature.parameters.values()
        self.__signature__ = signature.replace(parameters=given)
        self.parameters = tuple(map(_parameter, given))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Expr:
        if (reader := current_reader()) is not None:
            return reader.call(self.name, args, kwargs)
        return self.build(Placeholders(), *args, **kwargs)

    def __repr__(self) -> str:
        return f"relax.op.{self.name}"


def _parameter(given: inspect.Parameter) -> Parameter:
    is_required = given.default is inspect.Parameter.empty
    return Parameter(
        given.name,
        str(given.annotation).removesuffix(" | None"),
        is_required and given.kind is not inspect.Parameter.VAR_POSITIONAL,
        given.kind is inspect.Parameter.VAR_POSITIONAL,
        given.kind is inspect.Parameter.KEYWORD_ONLY,
        None if is_required else given.default,
    )


CALLS: dict[str, Call[...]] = {}
"""The calls by TVM's names without `relax.`."""


def call_named(
    name: str,
) -> Callable[[Callable[Concatenate[Operands, P], Expr]], Call[P]]:
    """Puts a function into the table; its first parameter makes the operands."""

    def register(build: Callable[Concatenate[Operands, P], Expr]) -> Call[P]:
        found = Call(name, build)
        CALLS[name] = found
        return found

    return register
