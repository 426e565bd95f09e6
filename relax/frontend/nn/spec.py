"""The types of the inputs of a model's methods, by method and parameter.

    {"forward": {"x": spec.Tensor([1, "n"], "float32"), "length": int}}

A dimension that is a name is symbolic; within a method, equal names are equal extents.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.relax.frontend.nn import tensor
from xdsl_tvm.relax.struct_info import TensorStructInfo

if TYPE_CHECKING:
    from xdsl_tvm.relax.frontend.nn.core import Module

Mode: TypeAlias = Literal["plain", "packed", "none"]
MODES: Final = ("plain", "packed", "none")


class Int:
    """An integer, which may be a dimension; the function takes a shape of it."""

    def __repr__(self) -> str:
        return "int"


class Tensor:
    """A tensor of a known dtype and rank, with symbolic dimensions by name."""

    def __init__(self, shape: Sequence[DimLike], dtype: str) -> None:
        """Raises VerifyException for an unknown dtype and for a wrong dimension."""
        self.shape = list(shape)
        self.dtype = dtype
        self.struct_info = TensorStructInfo(self.shape, dtype)

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Object:
    """A value that is no tensor; the method gets an `object_type` of it."""

    def __init__(self, object_type: type[tensor.Object]) -> None:
        self.object_type = object_type

    def __repr__(self) -> str:
        return "object"


class Tuple:
    """A tuple or a list of inputs, which the function takes as one."""

    def __init__(
        self, name: str, elements: list[InputSpec] | tuple[InputSpec, ...]
    ) -> None:
        self.name = name
        self.elements = elements

    def __repr__(self) -> str:
        return repr(self.elements)


InputSpec: TypeAlias = "Int | Tensor | Object | Tuple"


class ConstInt:
    """An integer that is known when the model is exported, for external functions."""

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def __repr__(self) -> str:
        return "const.int"


class ConstFloat:
    """A float that is known when the model is exported, for external functions."""

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def __repr__(self) -> str:
        return "const.float"


class ConstString:
    """A string that is known when the model is exported, for external functions."""

    def __repr__(self) -> str:
        return "const.string"


RawMethodSpec: TypeAlias = "MethodSpec | Mapping[str, Any]"
RawModuleSpec: TypeAlias = "Mapping[str, RawMethodSpec]"


def _input_spec(where: str, name: str, given: object) -> InputSpec:
    """The spec of an input. Raises TypeError for what is none."""
    if given is Int or given is int or (isinstance(given, str) and given == "int"):
        return Int()
    if isinstance(given, Int | Tensor | Object):
        return given
    elements = given.elements if isinstance(given, Tuple) else given
    if isinstance(elements, list | tuple):
        fields = [
            _input_spec(where, f"{name}_{index}", each)
            for index, each in enumerate(cast("Sequence[object]", elements))
        ]
        return Tuple(name, fields if isinstance(elements, list) else tuple(fields))
    raise TypeError(
        f"nn.spec: {where}: Invalid spec for argument {name}: {given!r}; give a "
        "spec.Tensor, int, a spec.Object, or a tuple or a list of such"
    )


def _expect_dictionary(where: str, spec: object) -> None:
    if not isinstance(spec, Mapping):
        raise TypeError(
            f"nn.spec: the spec of {where} is a dictionary by name, not {spec!r}"
        )


class MethodSpec:
    """The inputs of a method, and how it gets parameters and effects.

    `plain` are parameters of the function one by one, `packed` one tuple of them, and
    `none` are not there.
    """

    def __init__(
        self,
        method: Callable[..., Any],
        arg_names: Sequence[str],
        arg_specs: Sequence[InputSpec],
        param_mode: Mode,
        effect_mode: Mode,
    ) -> None:
        """Raises ValueError for another mode, and for other names than specs."""
        for what, mode in (("param_mode", param_mode), ("effect_mode", effect_mode)):
            if mode not in MODES:
                raise ValueError(
                    f"Invalid {what}: {mode!r}; it is 'plain', 'packed' or 'none'"
                )
        if len(arg_names) != len(arg_specs):
            raise ValueError(
                f"nn.spec.MethodSpec: {len(arg_names)} names of {len(arg_specs)} specs"
            )
        self.method = method
        self.arg_names = list(arg_names)
        self.arg_specs = list(arg_specs)
        self.param_mode: Mode = param_mode
        self.effect_mode: Mode = effect_mode

    def text(self, name: str) -> str:
        """The spec under the name of the method."""
        pairs = zip(self.arg_names, self.arg_specs, strict=True)
        return f"{name}({', '.join(f'{key}: {spec}' for key, spec in pairs)})"

    def __repr__(self) -> str:
        return self.text("MethodSpec")

    @staticmethod
    def from_raw(spec: RawMethodSpec, method: Callable[..., Any]) -> MethodSpec:
        """The spec of a dictionary by parameter; `"$"` has the modes.

        Parameters with a default may be left out. Raises TypeError for what specifies no
        input, and ValueError for a parameter that is missing or that there is not, and
        for another mode.
        """
        if isinstance(spec, MethodSpec):
            return spec
        where = getattr(method, "__qualname__", repr(method))
        _expect_dictionary(where, spec)
        given = {key: value for key, value in spec.items() if key != "$"}
        modes = cast("Mapping[str, Any]", spec.get("$", {}))
        parameters = inspect.signature(method).parameters
        named = {
            key: each
            for key, each in parameters.items()
            if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        }
        if unknown := [key for key in given if key not in named]:
            raise ValueError(f"nn.spec: {where} has no parameter {', '.join(unknown)}")
        missing = [
            key
            for key, each in named.items()
            if key not in given and each.default is each.empty
        ]
        if missing:
            raise ValueError(f"nn.spec: {where}: no spec for {', '.join(missing)}")
        names = [key for key in named if key in given]
        return MethodSpec(
            method,
            names,
            [_input_spec(where, key, given[key]) for key in names],
            modes.get("param_mode", "plain"),
            modes.get("effect_mode", "plain"),
        )


class ModuleSpec:
    """The methods of a module that are exported."""

    def __init__(
        self,
        module: Module,
        method_names: Sequence[str],
        method_specs: Sequence[MethodSpec],
    ) -> None:
        self.module = module
        self.method_names = list(method_names)
        self.method_specs = list(method_specs)

    @staticmethod
    def from_raw(spec: ModuleSpec | RawModuleSpec, module: Module) -> ModuleSpec:
        """The spec of a dictionary by method, of dictionaries by parameter.

        Raises ValueError for a method that there is not, and what `MethodSpec.from_raw`
        raises.
        """
        if isinstance(spec, ModuleSpec):
            return spec
        _expect_dictionary(type(module).__name__, spec)
        methods: list[MethodSpec] = []
        for name, each in spec.items():
            method = getattr(module, name, None)
            if method is None:
                raise ValueError(
                    f"nn.spec: {type(module).__name__} has no method '{name}'"
                )
            methods.append(MethodSpec.from_raw(each, method))
        return ModuleSpec(module, list(spec), methods)

    def __repr__(self) -> str:
        pairs = zip(self.method_names, self.method_specs, strict=True)
        return "ModuleSpec:\n" + "\n".join(f"  {spec.text(name)}" for name, spec in pairs)
