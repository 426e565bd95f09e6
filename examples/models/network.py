"""What all models share: their interface, and how parameters are declared and drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xdsl_tvm import IRModule
from xdsl_tvm.relax.frontend import nn

Array: TypeAlias = "NDArray[np.float32] | NDArray[np.int64]"
Wide: TypeAlias = "NDArray[np.float64]"
Parameters: TypeAlias = Mapping[str, NDArray[np.float32]]
Shape: TypeAlias = Sequence[int]
_Kind: TypeAlias = Literal["weight", "bias", "scale"]


class Drawn(nn.Parameter):
    """A parameter that says how random values for it are drawn.

    Activations neither grow nor vanish where each output of a weight sums over `fan_in`
    of its elements. A bias is around 0; a scale, or a variance, is around 1 and positive.
    """

    def __init__(self, shape: Shape, kind: _Kind, fan_in: int = 1) -> None:
        super().__init__(shape, "float32")
        self.kind: _Kind = kind
        self.fan_in = fan_in

    def draw(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Values for it."""
        shape = [extent for extent in self.shape if isinstance(extent, int)]
        if self.kind == "scale":
            return rng.uniform(0.5, 1.5, shape).astype(np.float32)
        deviation = 0.1 if self.kind == "bias" else self.fan_in**-0.5
        return rng.standard_normal(shape, np.float32) * np.float32(deviation)


@dataclass(frozen=True)
class Model(ABC):
    """A network of one size; the fields of a model are its size.

    Called without arguments a model has the size it is known for; `small()` has the same
    parts, and runs in the interpreter in a moment.
    """

    @classmethod
    @abstractmethod
    def small(cls) -> Self:
        """The model in a size for tests."""

    @abstractmethod
    def network(self) -> nn.Module:
        """The network, whose parameters are `Drawn`."""

    @abstractmethod
    def input_specs(self) -> dict[str, nn.spec.Tensor]:
        """The types of the inputs of the network's `forward`, by name."""

    @abstractmethod
    def inputs(self, seed: int = 0) -> list[Array]:
        """Random inputs."""

    @abstractmethod
    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        """The results, evaluated by numpy in double precision."""

    def parameters(self, seed: int = 0) -> dict[str, NDArray[np.float32]]:
        """Values of the parameters by name, in the order of the function's."""
        rng = np.random.default_rng(seed)
        named = self.network().named_parameters()
        return {name: each.draw(rng) for name, each in named if isinstance(each, Drawn)}

    def build(self) -> IRModule:
        """A module whose function `main` takes the inputs, then the parameters.

        Its attribute `num_input` says how many are inputs. Several results are a tuple.
        """
        network, inputs = self.network(), self.input_specs()
        method = nn.spec.MethodSpec(
            network, list(inputs), list(inputs.values()), "plain", "none"
        )
        return network.export_tvm(nn.spec.ModuleSpec(network, ["main"], [method]))[0]


@dataclass(frozen=True)
class ImageModel(Model):
    """A classifier of `[batch, 3, image, image]`."""

    batch: int = 1
    image: int = 224
    classes: int = 1000

    @property
    def image_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        return self.batch, 3, self.image, self.image

    def input_specs(self) -> dict[str, nn.spec.Tensor]:
        return {"image": nn.spec.Tensor(self.image_shape, "float32")}

    def inputs(self, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(self.image_shape, np.float32)]
