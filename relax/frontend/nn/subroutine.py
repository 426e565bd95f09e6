"""Modules that become functions of their own, which the exported methods call."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from xdsl_tvm.relax.expr import Expr, Tuple, Var, as_expr
from xdsl_tvm.relax.frontend.nn.functions import (
    add_function,
    root_builder,
    subroutine_of,
)
from xdsl_tvm.relax.frontend.nn.tensor import Object, Tensor, weight_var, wrap_nested

if TYPE_CHECKING:
    from collections.abc import Iterable

Forward = Callable[..., Any]


class _HasParameters(Protocol):
    """A module."""

    def named_parameters(self) -> Iterable[tuple[str, Tensor]]: ...


class SubroutineMixin:
    """What lets `forward` of modules be functions of their own.

    With `define_subroutine = True` in its class, a call of the module is a call of a
    private function, named after the class, of the tensors and of the module's
    parameters. Modules with equal functions share one.
    """

    define_subroutine: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        forward: Forward | None = vars(cls).get("forward")
        if forward is not None:
            type.__setattr__(cls, "forward", _dispatched(forward))


def _dispatched(forward: Forward) -> Forward:
    @functools.wraps(forward)
    def called(self: SubroutineMixin, *args: Any, **kwargs: Any) -> Any:
        if not self.define_subroutine:
            return forward(self, *args, **kwargs)
        return _call(self, forward, args, kwargs)

    return called


def _call(
    module: SubroutineMixin,
    forward: Forward,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> Any:
    """The call of the function that `forward` is, which is added to the module."""
    name = _snake_case(type(module).__name__)
    root = root_builder(f"the subroutine {name}")
    weights = list(cast("_HasParameters", module).named_parameters())
    outside = [weight.expr for _, weight in weights]
    given: list[Expr] = []
    variables: list[Var] = []

    def inside(name: str, value: object) -> object:
        """What stands for an argument in the function: for its tensors, parameters."""
        if isinstance(value, Tensor):
            variables.append(Var(name, value.expr.struct_info))
            given.append(value.expr)
            return Tensor(_expr=variables[-1])
        if isinstance(value, list | tuple):
            fields = cast("Sequence[object]", value)
            found = [inside(f"{name}_{i}", field) for i, field in enumerate(fields)]
            return found if isinstance(value, list) else tuple(found)
        return value

    bound = inspect.signature(forward).bind(module, *args, **kwargs)
    bound.apply_defaults()
    _, *arguments = bound.arguments.items()
    for key, value in arguments:
        if isinstance(value, dict):
            fields = cast("dict[str, object]", value).items()
            bound.arguments[key] = {each: inside(each, field) for each, field in fields}
        else:
            bound.arguments[key] = inside(key, value)
    with subroutine_of(root) as builder:
        for key, weight in weights:
            variables.append(weight_var(key, weight))
            weight.expr = variables[-1]
        try:
            with builder.function(name, variables, private=True):
                with builder.dataflow():
                    result = forward(*bound.args, **bound.kwargs)
                    output = builder.emit_output(result_expr(name, result))
                function = builder.emit_func_output(output)
        finally:
            for (_, weight), expr in zip(weights, outside, strict=True):
                weight.expr = expr
        called = add_function(root, builder.take_func(function), name)
    called.struct_info = function.struct_info
    return wrap_nested(called(*given, *outside), f"{called.name_hint}_output")


def result_expr(where: str, result: object) -> Expr:
    """The expression of what a method returns: a tensor, an object, or several.

    Raises TypeError for anything else, such as None.
    """
    if isinstance(result, Tensor | Object):
        return result.expr
    if isinstance(result, list | tuple):
        fields = cast("Sequence[object]", result)
        return Tuple([as_expr(result_expr(where, field)) for field in fields])
    raise TypeError(
        f"nn: {where} must return a Tensor, or a tuple or a list of them, not {result!r}"
    )


def _snake_case(name: str) -> str:
    """`RMSNorm` as `rms_norm`."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
