"""The door of ONNX as a backend of `onnx.backend.test`, compiled or interpreted.

    prepare(model).run([x, y])

The standard's tests of operators give shapes, axes and the like as inputs of the model,
which this package must know when it converts. So a model is converted at its first run,
and inputs that conversion asks for become initializers: `Prepared.bound` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from onnx import ModelProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.frontend.onnx import OnnxError, from_onnx
from xdsl_tvm.frontend.onnx.dtypes import NUMBERS
from xdsl_tvm.frontend.onnx.values import Array
from xdsl_tvm.runtime.executable import compile
from xdsl_tvm.runtime.interpreted import interpret

_MOST_BOUND = 1024
"""Elements of the largest input that may become an initializer."""


class Prepared:
    """A model that can be run."""

    def __init__(self, model: ModelProto, *, interpreted: bool = False) -> None:
        self.model = model
        self.interpreted = interpreted
        self.bound: tuple[str, ...] = ()
        """The inputs that the last run needed when it converted the model."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs. Raises OnnxError for a model that is not converted."""
        weights = {tensor.name for tensor in self.model.graph.initializer}
        names = [each.name for each in self.model.graph.input if each.name not in weights]
        given = dict(zip(names, inputs, strict=True))
        module, left = self._converted(given)
        results = self._function(module)(*left)
        if isinstance(results, tuple):
            return list(cast("tuple[Array, ...]", results))
        return [results]

    def _converted(self, given: dict[str, Array]) -> tuple[ModuleOp, list[Array]]:
        self.bound = ()
        try:
            return from_onnx(self.model), list(given.values())
        except OnnxError as error:
            small = tuple(
                name
                for name, array in list(given.items())
                if array.ndim <= 1
                and array.size <= _MOST_BOUND
                and array.dtype.name in NUMBERS
            )
            if not small:
                raise
            last = error
        # As few inputs as possible: integers after the first input, then all small ones.
        names = list(given)
        whole = [name for name in small if given[name].dtype.kind in "iub"]
        for chosen in ([n for n in whole if n != names[0]], whole, list(small)):
            if not chosen:
                continue
            try:
                module = from_onnx(_bound(self.model, given, chosen))
            except OnnxError as error:
                last = error
                continue
            self.bound = tuple(chosen)
            return module, [given[name] for name in names if name not in chosen]
        raise last

    def _function(self, module: ModuleOp) -> Callable[..., Any]:
        run: Any = interpret(module) if self.interpreted else compile(module)
        return run["main"]


def prepare(
    model: ModelProto, device: str = "CPU", *, interpreted: bool = False
) -> Prepared:
    """The model, to be run. Raises OnnxError for another device than the processor."""
    if device != "CPU":
        raise OnnxError(f"the backend runs models on CPU, not on {device}")
    return Prepared(model, interpreted=interpreted)


def _bound(
    model: ModelProto, given: dict[str, Array], chosen: Sequence[str]
) -> ModelProto:
    """The model with inputs as initializers."""
    result = ModelProto()
    result.CopyFrom(model)
    kept = [each for each in result.graph.input if each.name not in chosen]
    del result.graph.input[:]
    result.graph.input.extend(kept)
    for name in chosen:
        array = np.asarray(given[name])
        result.graph.initializer.append(numpy_helper.from_array(array, name))
    return result
