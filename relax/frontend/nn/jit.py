"""Models as machine code, called with tensors of PyTorch or arrays of numpy."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from xdsl_tvm.relax.frontend.nn.core import Module, as_array
from xdsl_tvm.relax.frontend.nn.exporter import INITIALIZE, export
from xdsl_tvm.relax.frontend.nn.spec import Int, ModuleSpec, RawModuleSpec

_FORMATS = ("torch", "numpy")


class CompiledModel:
    """The methods of a model with its parameters, by name."""

    def __init__(
        self, spec: ModuleSpec, executable: Any, params: Sequence[Any], out_format: str
    ) -> None:
        self.spec = spec
        self._executable = executable
        self._params = params
        self._out_format = out_format
        self._states: list[Any] = []
        """The values of effects, which a call replaces."""
        if INITIALIZE in executable:
            self._states = list(executable[INITIALIZE]())

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        """The function of a method, of its inputs.

        Raises KeyError for a method that was not compiled; a call raises TypeError for
        another number of inputs, and what the executable raises for wrong ones.
        """
        if method_name not in self.spec.method_names:
            known = ", ".join(self.spec.method_names)
            raise KeyError(f"there is no method '{method_name}', but {known}")
        method = self.spec.method_specs[self.spec.method_names.index(method_name)]
        function = self._executable[method_name]
        params: Sequence[Any] = {
            "plain": self._params,
            "packed": (tuple(self._params),),
            "none": (),
        }[method.param_mode]

        def states() -> Sequence[Any]:
            modes = {"plain": self._states, "packed": (tuple(self._states),), "none": ()}
            return modes[method.effect_mode]

        def called(*inputs: Any) -> Any:
            if len(inputs) != len(method.arg_specs):
                raise TypeError(
                    f"{method.text(method_name)} is called with {len(inputs)} inputs"
                )
            given = [
                (value,) if isinstance(spec, Int) else _host(value)
                for spec, value in zip(method.arg_specs, inputs, strict=True)
            ]
            result = function(*given, *states(), *params)
            if self._states and method.effect_mode != "none":
                result, self._states = result[0], list(result[1])
            return _returned(result, self._out_format)

        return called


def compile_model(
    module: Module,
    spec: ModuleSpec | RawModuleSpec,
    device: Any,
    pipeline: Any,
    out_format: str,
    debug: bool,
) -> CompiledModel:
    """See `Module.jit`."""
    if out_format not in _FORMATS:
        raise ValueError(f"jit: out_format is 'torch' or 'numpy', not {out_format!r}")
    if out_format == "torch" and importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError(
            "jit: out_format='torch' needs PyTorch; install it, or use out_format='numpy'"
        )
    runtime = importlib.import_module("xdsl_tvm.runtime.device")
    if not runtime.device(device).is_cpu:
        raise ValueError(
            f"jit: models run on 'cpu', not on {device!r}; export them, and "
            "compile the module for a GPU"
        )
    methods = ModuleSpec.from_raw(spec, module)
    exported, parameters = export(module, methods, debug)
    unset = [name for name, parameter in parameters if parameter.data is None]
    if unset:
        raise ValueError(
            f"Parameters are not set to any concrete values: {', '.join(unset)}"
        )
    pipeline = "default" if pipeline == "default_build" else pipeline
    building = importlib.import_module("xdsl_tvm.runtime.building")
    executable = building.build_relax(exported, relax_pipeline=pipeline)
    params = [parameter.data for _, parameter in parameters]
    return CompiledModel(methods, executable, params, out_format)


def _host(value: Any) -> Any:
    """An input as the executable takes it."""
    if isinstance(value, list | tuple):
        return tuple(map(_host, cast("Sequence[Any]", value)))
    return as_array(value) if hasattr(value, "detach") else value


def _returned(value: Any, out_format: str) -> Any:
    """A result in the format."""
    if isinstance(value, tuple):
        fields = cast("tuple[Any, ...]", value)
        return tuple(_returned(field, out_format) for field in fields)
    if out_format == "torch" and isinstance(value, np.ndarray):
        return importlib.import_module("torch").from_numpy(value)
    return value
