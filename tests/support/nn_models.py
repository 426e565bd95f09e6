"""Models of `relax.frontend.nn` that tests export, run, and compare with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.relax.frontend import nn

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Computation(nn.Module):
    """A model without parameters that is a function of one tensor."""

    def __init__(self, compute: Callable[[nn.Tensor], Any]) -> None:
        self.compute = compute

    def forward(self, a: nn.Tensor) -> Any:
        return self.compute(a)


class BinaryComputation(nn.Module):
    """A model without parameters that is a function of two tensors."""

    def __init__(self, compute: Callable[[nn.Tensor, nn.Tensor], Any]) -> None:
        self.compute = compute

    def forward(self, a: nn.Tensor, b: nn.Tensor) -> Any:
        return self.compute(a, b)


def spec_of(array: Array) -> nn.spec.Tensor:
    """The spec of an input like the array."""
    return nn.spec.Tensor(array.shape, str(array.dtype))


def computed(compute: Callable[[nn.Tensor], Any], a: Array) -> Any:
    """What a function of a tensor computes of an array, interpreted."""
    return forwarded(Computation(compute), a=a)


def computed_of_two(
    compute: Callable[[nn.Tensor, nn.Tensor], Any], a: Array, b: Array
) -> Any:
    """What a function of two tensors computes of arrays, interpreted."""
    return forwarded(BinaryComputation(compute), a=a, b=b)


def fill(model: nn.Module, seed: int = 0) -> dict[str, Array]:
    """Set random parameters; returns them by name."""
    rng = np.random.default_rng(seed)
    for _, parameter in model.named_parameters():
        shape = [extent for extent in parameter.shape if isinstance(extent, int)]
        parameter.data = rng.standard_normal(shape).astype(parameter.dtype)
    return {name: data_of(each) for name, each in model.named_parameters()}


def data_of(parameter: nn.Parameter) -> Array:
    """The elements of a parameter, which are set."""
    assert parameter.data is not None
    return parameter.data


def forwarded(model: nn.Module, **arrays: Array) -> Any:
    """What `forward` of a model with parameters computes of arrays, interpreted."""
    specs = {name: spec_of(array) for name, array in arrays.items()}
    module, params = model.export_tvm({"forward": specs})
    values = [data_of(parameter) for _, parameter in params]
    return interpret(module)["forward"](*arrays.values(), *values)
