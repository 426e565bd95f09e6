"""What models are made of: modules with parameters, nested in attributes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, cast, overload

import numpy as np

from xdsl_tvm.dialects.relax.dense import numpy_dtype
from xdsl_tvm.dialects.relax.signatures import dtype_of
from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.relax.expr import Var
from xdsl_tvm.relax.frontend.nn.effects import Effect
from xdsl_tvm.relax.frontend.nn.subroutine import SubroutineMixin
from xdsl_tvm.relax.frontend.nn.tensor import Tensor, get_default_dtype
from xdsl_tvm.relax.struct_info import TensorStructInfo

if TYPE_CHECKING:
    from xdsl_tvm.dialects.ir_module import IRModule
    from xdsl_tvm.relax.frontend.nn.jit import CompiledModel
    from xdsl_tvm.relax.frontend.nn.spec import ModuleSpec, RawModuleSpec

Array = np.ndarray[Any, np.dtype[Any]]
_T = TypeVar("_T")


class Parameter(Tensor):
    """A weight: a parameter of the exported functions, perhaps with its elements."""

    def __init__(self, shape: Sequence[DimLike], dtype: str | None = None) -> None:
        """Without `dtype`, the default one.

        Raises VerifyException for an unknown dtype and for a wrong dimension.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        super().__init__(_expr=Var("param", TensorStructInfo(shape, dtype)))
        self._data: Array | None = None

    @property
    def data(self) -> Array | None:
        """The elements, None if they are not set."""
        return self._data

    @data.setter
    def data(self, data: object) -> None:
        """Set the elements: an array, anything with `__dlpack__`, or None.

        The memory is shared where that is possible. Raises TypeError for what is no
        array, and ValueError for another shape or dtype.
        """
        self._data = None if data is None else self._checked(as_array(data))

    def _checked(self, array: Array) -> Array:
        known = self.shape
        fits = len(known) == array.ndim and all(
            not isinstance(extent, int) or extent == given
            for extent, given in zip(known, array.shape, strict=True)
        )
        if not fits:
            shape = ", ".join(map(str, known))
            raise ValueError(
                f"Shape mismatch: the parameter is [{shape}], the data {array.shape}"
            )
        if array.dtype != self._numpy_dtype:
            raise ValueError(
                f"Dtype mismatch: the parameter is {self.dtype}, the data {array.dtype}"
            )
        return array

    @property
    def _numpy_dtype(self) -> np.dtype[Any]:
        element = dtype_of(self.dtype)
        assert element is not None, "a tensor has elements"
        return np.dtype(numpy_dtype(element))

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype. Raises ValueError if the elements are set."""
        if dtype is None or dtype == self.dtype:
            return
        if self._data is not None:
            raise ValueError(
                f"Parameter.to: its elements are {self.dtype}; set them after the dtype "
                "is changed, or convert them"
            )
        self.expr = Var("param", TensorStructInfo(self.shape, dtype))


def as_array(data: Any) -> Array:
    """The array of numpy that an array of another package is, shared if possible.

    Raises TypeError for what is no array.
    """
    if hasattr(data, "detach"):
        # A tensor of PyTorch with a gradient is no array.
        data = data.detach()
    if isinstance(data, np.ndarray):
        return cast("Array", data)
    if hasattr(data, "__dlpack__") or hasattr(data, "__array__"):
        # Arrays of other packages, those of dtypes that DLPack has not by a copy.
        return np.asarray(data)
    raise TypeError(
        f"Parameter.data: an array is needed, as numpy.asarray takes it, not {data!r}"
    )


class Module(SubroutineMixin):
    """A part of a model. Derive from it, and define `forward` or other methods.

    Parameters, other modules and effects are attributes. What a method computes of its
    tensors becomes a function of the exported module.
    """

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names, such as `layers.0.weight`, in order."""
        yield from attributes(self, prefix, Parameter)

    def parameters(self) -> Iterator[Parameter]:
        """The parameters, in order."""
        for _, parameter in self.named_parameters():
            yield parameter

    def state_dict(
        self, *, prefix: str = "", destination: dict[str, Parameter] | None = None
    ) -> dict[str, Parameter]:
        """The parameters by name, also put into `destination`."""
        result = {} if destination is None else destination
        result.update(self.named_parameters(prefix))
        return result

    def load_state_dict(
        self, state_dict: Mapping[str, Parameter], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Set the elements of the parameters to those of others, by name.

        Returns the names that are missing, and those that the module does not have.
        Raises KeyError for either if `strict`, before anything is set, and ValueError for
        a parameter without elements and for another shape or dtype.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and (missing or unexpected):
            raise KeyError(f"Missing keys: {missing}, Unexpected keys: {unexpected}")
        for name, parameter in state_dict.items():
            if parameter.data is None:
                raise ValueError(f"Parameter {name} is not set to any concrete tensor")
            if name in own:
                own[name].data = parameter.data
        return missing, unexpected

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` computes. Raises NotImplementedError if there is none."""
        forward: Callable[..., Any] | None = getattr(self, "forward", None)
        if forward is None:
            raise NotImplementedError(
                f"Module {type(self).__name__} does not have a `forward` method"
            )
        return forward(*args, **kwargs)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and effects; their elements are not set."""
        for item in list(vars(self).values()):
            if isinstance(item, Parameter | Module | Effect):
                item.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    @overload
    def export_tvm(
        self,
        spec: ModuleSpec | RawModuleSpec,
        debug: bool = False,
        allow_extern: Literal[False] = False,
    ) -> tuple[IRModule, list[tuple[str, Parameter]]]: ...
    @overload
    def export_tvm(
        self,
        spec: ModuleSpec | RawModuleSpec,
        debug: bool = False,
        *,
        allow_extern: Literal[True],
    ) -> tuple[IRModule, list[tuple[str, Parameter]], list[NoReturn]]: ...
    def export_tvm(
        self,
        spec: ModuleSpec | RawModuleSpec,
        debug: bool = False,
        allow_extern: bool = False,
    ) -> Any:
        """A module with a function of each method of `spec`, and the parameters.

        `spec` has the types of the inputs, by method and parameter; see
        `nn.spec.ModuleSpec`. The result is `(module, parameters)`, the latter with names,
        in the order in which they follow the inputs; with `allow_extern` there is a third
        field, the external modules, of which there are none. `debug` makes `print_`
        available. Raises TypeError and ValueError for a spec that does not fit, and
        VerifyException for what is wrong in a method.
        """
        # Late: the exporter knows all of what models are made of.
        from xdsl_tvm.relax.frontend.nn.exporter import export

        module, parameters = export(self, spec, debug)
        return (module, parameters, []) if allow_extern else (module, parameters)

    def jit(
        self,
        spec: ModuleSpec | RawModuleSpec,
        device: Any = "cpu",
        pipeline: Any = "default_build",
        out_format: str = "torch",
        debug: bool = False,
    ) -> CompiledModel:
        """The methods as machine code: `model.jit(spec)["forward"](x)`.

        With `out_format="torch"` they take and return tensors of PyTorch, with `"numpy"`
        arrays. Raises ValueError for parameters that are not set, for another format and
        another device, ModuleNotFoundError without PyTorch, and what `compile` raises.
        Values of effects, such as the rows of a `KVCache`, stay from call to call.
        """
        # Late: the runtime is loaded by who compiles.
        from xdsl_tvm.relax.frontend.nn.jit import compile_model

        return compile_model(self, spec, device, pipeline, out_format, debug)


class ModuleList(Module):
    """Modules in order, which are applied one after the other."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = list(modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)

    def __getitem__(self, idx: int) -> Module:
        return self.modules[idx]

    def __setitem__(self, idx: int, module: Module) -> None:
        self.modules[idx] = module

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.modules.append(module)

    def to(self, dtype: str | None = None) -> None:
        for module in self.modules:
            module.to(dtype)

    def forward(self, x: Any) -> Any:
        """The modules one after the other."""
        for module in self.modules:
            x = module(x)
        return x


class Mutator:
    """Replaces parts of a model: derive from it, and override what is to change.

    Each method gets the name of an attribute, such as `layers.0.weight`, and its value,
    and returns the new value. Those of modules visit the attributes.
    """

    def visit(self, name: str, node: Any) -> Any:
        """What takes the place of an attribute; another kind of value stays."""
        match node:
            case ModuleList():
                return self.visit_modulelist(name, node)
            case Module():
                return self.visit_module(name, node)
            case Effect():
                return self.visit_effect(name, node)
            case Parameter():
                return self.visit_param(name, node)
            case _:
                return node

    def visit_module(self, name: str, node: Module) -> Any:
        """The module, each of whose attributes is visited."""
        for key, value in list(vars(node).items()):
            if isinstance(value, Module | Effect | Parameter):
                setattr(node, key, self.visit(f"{name}.{key}" if name else key, value))
        return node

    def visit_modulelist(self, name: str, node: ModuleList) -> Any:
        """The list, each of whose modules is visited."""
        for index, module in enumerate(node):
            place = f"{name}.{index}" if name else str(index)
            node[index] = self.visit(place, module)
        return node

    def visit_effect(self, name: str, node: Effect) -> Any:
        """The effect."""
        return node

    def visit_param(self, name: str, node: Parameter) -> Any:
        """The parameter."""
        return node


def attributes(root: Module, prefix: str, kind: type[_T]) -> Generator[tuple[str, _T]]:
    """The attributes of a class in a module and those below, with names, in order."""
    children: Iterator[tuple[str, object]] = (
        ((str(index), each) for index, each in enumerate(root))
        if isinstance(root, ModuleList)
        else iter(list(vars(root).items()))
    )
    for name, item in children:
        if isinstance(item, kind):
            yield prefix + name, item
        elif isinstance(item, Module):
            yield from attributes(item, f"{prefix}{name}.", kind)
