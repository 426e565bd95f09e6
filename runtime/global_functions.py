"""Functions of Python that programs call by name, registered once for all modules.

TVM's `register_func` and `get_global_func`. A registered function gets `NDArray`s, on the
memory of the program, as TVM's do; what is given to one compilation, by `externs`, gets
arrays of numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeAlias, TypeVar, overload

from xdsl_tvm.runtime.attention_caches import FUNCTIONS as CACHES
from xdsl_tvm.runtime.ndarray import NDArray, host_value, tvm_value
from xdsl_tvm.tvm_words import Kind, MissingError

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)


class MissingFunctionError(MissingError, ValueError):
    """There is no function of a name."""


_FUNCTIONS: dict[str, Function] = {}


@overload
def register_func(func_name: F) -> F: ...
@overload
def register_func(func_name: str, f: F, override: bool = False) -> F: ...
@overload
def register_func(
    func_name: str, f: None = None, override: bool = False
) -> Callable[[F], F]: ...
def register_func(
    func_name: str | Function, f: Function | None = None, override: bool = False
) -> Any:
    """Register a function under a name, its own without one; also as a decorator.

        @register_func("my.scale")
        def scale(x: NDArray, out: NDArray) -> None:
            out.copyfrom(x.numpy() * 2)

    Modules that are compiled or interpreted afterwards call it: `relax.call_dps_packed`
    with the arrays to write after the arguments, others for what it returns. Raises
    ValueError for a name that is taken, unless `override` is set, and TypeError for what
    cannot be called.
    """
    if not isinstance(func_name, str):
        return register_func(func_name.__name__, func_name, override)
    name = func_name

    def register(function: Function) -> Function:
        if not callable(function):
            raise TypeError(f"register_func: '{name}' must be a function")
        if name in _FUNCTIONS and not override:
            raise ValueError(
                f"register_func: there is a function '{name}' already; pass override=True"
            )
        _FUNCTIONS[name] = function
        return function

    return register if f is None else register(f)


def _reshape(array: NDArray, shape: Sequence[int]) -> NDArray:
    """The elements in another shape, on the same memory where that can be."""
    return tvm_value(host_value(array).reshape(tuple(shape)))


def _on_ndarrays(function: Function) -> Function:
    @wraps(function)
    def called(*args: Any) -> Any:
        return tvm_value(function(*map(host_value, args)))

    return called


_BUILTINS: Mapping[str, Function] = {
    "vm.builtin.reshape": _reshape,
    **{name: _on_ndarrays(function) for name, function in CACHES.items()},
}
"""Functions of TVM's runtime that programs look up."""


def get_global_func(name: str, allow_missing: bool = False) -> Function | None:
    """The function of a name, registered, or one of TVM's runtime: `vm.builtin.reshape`
    and those of caches of attention, `vm.builtin.kv_state_…`.

    Raises ValueError if there is none, unless `allow_missing` is set: then None.
    """
    found = _FUNCTIONS.get(name) or _BUILTINS.get(name)
    if found is None and not allow_missing:
        known = ", ".join(sorted(_FUNCTIONS)) or "none"
        raise MissingFunctionError(
            f"there is no function '{name}'; register_func has registered {known}",
            Kind.NAMES,
        )
    return found


def list_global_func_names() -> list[str]:
    """The names of all registered functions."""
    return sorted(_FUNCTIONS)


def remove_global_func(name: str) -> None:
    """Forget a function. Raises ValueError if there is none."""
    if name not in _FUNCTIONS:
        raise ValueError(f"register_func has registered no function '{name}'")
    del _FUNCTIONS[name]


def registered_externs() -> dict[str, Function]:
    """The functions that modules call, as `compile` and `interpret` take externs: those
    of caches, and the registered ones."""
    return {
        **CACHES,
        **{name: _on_arrays(function) for name, function in _FUNCTIONS.items()},
    }


def _on_arrays(function: Function) -> Function:
    @wraps(function)
    def called(*args: Any) -> Any:
        return host_value(function(*map(tvm_value, args)))

    return called
