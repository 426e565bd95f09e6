"""What all models share: their interface, and how parameters are declared and drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xdsl_tvm import IRModule, relax

Array: TypeAlias = "NDArray[np.float32] | NDArray[np.int64]"
Wide: TypeAlias = "NDArray[np.float64]"
Parameters: TypeAlias = Mapping[str, NDArray[np.float32]]
Shape: TypeAlias = Sequence[int]
_Kind: TypeAlias = Literal["weight", "bias", "scale"]


@dataclass
class _Declared:
    var: relax.Var
    shape: tuple[int, ...]
    kind: _Kind
    fan_in: int


@dataclass
class Weights:
    """The parameters of a network, in the order in which it is built."""

    declared: dict[str, _Declared] = field(default_factory=dict[str, _Declared])

    def weight(self, name: str, shape: Shape, fan_in: int) -> relax.Var:
        """A weight; each output sums over `fan_in` of its elements."""
        return self._declare(name, shape, "weight", fan_in)

    def bias(self, name: str, length: int) -> relax.Var:
        """A vector around 0: a bias, a mean."""
        return self._declare(name, (length,), "bias", 1)

    def scale(self, name: str, length: int) -> relax.Var:
        """A vector around 1, positive: a scale, a variance."""
        return self._declare(name, (length,), "scale", 1)

    def _declare(self, name: str, shape: Shape, kind: _Kind, fan_in: int) -> relax.Var:
        known = self.declared.get(name)
        if known is None:
            var = relax.Var(
                name.replace(".", "_"), relax.TensorStructInfo(shape, "float32")
            )
            known = self.declared[name] = _Declared(var, tuple(shape), kind, fan_in)
        return known.var

    def draw(self, seed: int) -> dict[str, NDArray[np.float32]]:
        """Values for all of them, such that activations neither grow nor vanish."""
        rng = np.random.default_rng(seed)
        return {name: _draw(rng, each) for name, each in self.declared.items()}


def _draw(rng: np.random.Generator, declared: _Declared) -> NDArray[np.float32]:
    if declared.kind == "scale":
        return rng.uniform(0.5, 1.5, declared.shape).astype(np.float32)
    deviation = 0.1 if declared.kind == "bias" else declared.fan_in**-0.5
    values = rng.standard_normal(declared.shape, np.float32)
    return values * np.float32(deviation)


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
    def network(self, w: Weights) -> tuple[list[relax.Var], relax.Expr]:
        """The inputs, and the result as an expression of them and of parameters."""

    @abstractmethod
    def inputs(self, seed: int = 0) -> list[Array]:
        """Random inputs."""

    @abstractmethod
    def reference(self, parameters: Parameters, *inputs: Array) -> list[Wide]:
        """The results, evaluated by numpy in double precision."""

    def parameters(self, seed: int = 0) -> dict[str, NDArray[np.float32]]:
        """Values of the parameters by name, in the order of the function's."""
        weights = Weights()
        self.network(weights)
        return weights.draw(seed)

    def build(self) -> IRModule:
        """A module whose function `main` takes the inputs, then the parameters.

        Its attribute `num_input` says how many are inputs. Several results are a tuple.
        """
        weights = Weights()
        inputs, result = self.network(weights)
        params = [*inputs, *(each.var for each in weights.declared.values())]
        bb = relax.BlockBuilder()
        with bb.function("main", params, attrs={"num_input": len(inputs)}):
            with bb.dataflow():
                output = bb.emit_output(result)
            bb.emit_func_output(output)
        return bb.get()


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

    def image_var(self) -> relax.Var:
        """The input."""
        return relax.Var("image", relax.TensorStructInfo(self.image_shape, "float32"))

    def inputs(self, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(self.image_shape, np.float32)]
