"""Arguments for a function of which only the signature and some inputs are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.runtime.available_memory import require_memory
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    ParamTree,
    PlainSpec,
    ResultTree,
    ScalarSpec,
    ShapeSpec,
    Signature,
    Spec,
)

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
_CHUNK = 1 << 20
"""Random numbers that are made at a time."""


def sample_arguments(
    signature: Signature,
    given: Sequence[Array],
    symbols: Mapping[str, int],
    seed: int,
) -> list[Any]:
    """One argument per parameter: the given ones first, then made-up ones.

    A made-up array is zero where the function writes it and random elsewhere: normally
    distributed floats, integers from 0 to 9. Extents come from `symbols`, from the
    shapes of the given arrays, and from scalars before them; a scalar parameter takes the
    symbol of its name, or what its type says.

    Raises ValueError if there are more inputs than parameters, an extent is not known,
    a symbol is none of the function's or has another value in the given arrays, or an
    array to be made has strides of its own, and MemoryError, before it makes one, if the
    arrays need more memory than there is.
    """
    params = signature.plain_params()
    where = f"@{signature.function}"
    if len(given) > len(params):
        raise ValueError(f"{where} takes {len(params)} inputs, got {len(given)}")
    known: dict[str, int] = {}
    for param, value in zip(params, given, strict=False):
        _learn(known, param, value)
    _check_symbols(where, params, symbols, known)
    known.update(symbols)
    _check_memory(where, params[len(given) :], known)
    random = np.random.default_rng(seed)
    arguments: list[Any] = [
        _given(param, value) for param, value in zip(params, given, strict=False)
    ]
    for param in params[len(given) :]:
        if isinstance(param, ShapeSpec):
            arguments.append(tuple(_made_shape(where, param, known)))
        elif isinstance(param, ScalarSpec):
            arguments.append(_made_scalar(where, param, known, random))
        else:
            arguments.append(_made_array(where, param, known, random))
    if signature.tuples is None:
        return arguments
    flat = iter(arguments)
    return [_nested(tree, flat) for tree in signature.tuples]


def bound_symbols(signature: Signature, arguments: Sequence[Any]) -> dict[str, int]:
    """The extents that arguments have, by the names of the symbols."""
    known: dict[str, int] = {}
    flat = flat_arguments(signature.tuples, arguments)
    for param, value in zip(signature.plain_params(), flat, strict=True):
        _learn(known, param, np.asarray(value))
    return known


def _check_symbols(
    where: str,
    params: Sequence[PlainSpec],
    symbols: Mapping[str, int],
    known: Mapping[str, int],
) -> None:
    names = dict.fromkeys(name for param in params for name in _names_of(param))
    for name, value in symbols.items():
        if name not in names:
            there = f"it has {', '.join(names)}" if names else "it has none"
            raise ValueError(f"{where} has no symbol '{name}'; {there}")
        if known.get(name, value) != value:
            raise ValueError(
                f"{where}: '{name}' is {known[name]} in the inputs, and cannot be {value}"
            )


def _names_of(param: PlainSpec) -> Iterator[str]:
    """What `symbols` may give for a parameter."""
    if isinstance(param, ScalarSpec):
        yield param.name if param.symbol is None else param.symbol
        return
    dims = list(param.shape)
    if isinstance(param, ArraySpec):
        dims += [*(param.strides or ()), param.offset]
    for dim in dims:
        yield from () if dim is None else dim.symbols()


def _given(param: PlainSpec, value: Array) -> Any:
    if isinstance(param, ShapeSpec):
        return tuple(value.tolist())
    return value.item() if isinstance(param, ScalarSpec) and value.ndim == 0 else value


def _nested(tree: ParamTree, flat: Iterator[Any]) -> Any:
    if isinstance(tree, str):
        return next(flat)
    return tuple(_nested(branch, flat) for branch in tree)


def _learn(known: dict[str, int], param: PlainSpec, value: Array) -> None:
    """Adds the symbols that a given input binds."""
    if isinstance(param, ScalarSpec):
        if param.symbol is not None and value.ndim == 0:
            known[param.symbol] = int(value)
        return
    extents = value.tolist() if isinstance(param, ShapeSpec) else value.shape
    for dim, extent in zip(param.shape, extents, strict=False):
        name = None if dim is None else dim.symbol_name
        if name is not None:
            known.setdefault(name, extent)


def _made_scalar(
    where: str, param: ScalarSpec, known: dict[str, int], random: np.random.Generator
) -> Any:
    if param.value is not None:
        return _made_extent(where, param.name, param.value, known)
    name = param.name if param.symbol is None else param.symbol
    if name in known:
        return known[name]
    made = random_array(random, (), param.dtype).item()
    if param.symbol is not None:
        known[param.symbol] = made
    return made


def _made_array(
    where: str,
    param: ArraySpec,
    known: Mapping[str, int],
    random: np.random.Generator,
) -> Array:
    if param.strides is not None or param.offset is not None:
        raise ValueError(f"{where}: '{param.name}' has a layout of its own; give it")
    shape = _made_shape(where, param, known)
    if param.written:
        return np.zeros(shape, param.dtype)
    return random_array(random, tuple(shape), param.dtype)


def _check_memory(
    where: str, params: Sequence[PlainSpec], known: Mapping[str, int]
) -> None:
    """Raises MemoryError if the arrays to be made need more memory than there is.

    Arrays whose extents are not known are left out, those of scalars that are made up
    among them.
    """
    total, shown = 0, list[str]()
    for param in params:
        if not isinstance(param, ArraySpec) or None in param.shape:
            continue
        dims = [dim for dim in param.shape if dim is not None]
        if all(set(dim.symbols()) <= set(known) for dim in dims):
            shape = [dim.evaluate(known) for dim in dims]
            total += math.prod(shape) * param.dtype.itemsize
            shown.append(f"'{param.name}' is {param.dtype}{shape}")
    require_memory(total, f"{where}: {', '.join(shown)}")


def _made_shape(
    where: str, param: ArraySpec | ShapeSpec, known: Mapping[str, int]
) -> list[int]:
    shape: list[int] = []
    for dim in param.shape:
        if dim is None:
            raise ValueError(f"{where}: the shape of '{param.name}' is free; give it")
        shape.append(_made_extent(where, param.name, dim, known))
    return shape


def _made_extent(where: str, param: str, dim: Dim, known: Mapping[str, int]) -> int:
    for name in dim.symbols():
        if name not in known:
            raise ValueError(
                f"{where}: the extent '{name}' of '{param}' is not known; give it with "
                f"--symbol {name}=4"
            )
    return dim.evaluate(known)


def random_array(
    random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Normally distributed floats, integers from 0 to 9, or booleans."""
    made = np.empty(math.prod(shape), dtype)
    # Numbers are made as 64 bits each, so not all at a time.
    for start in range(0, made.size, _CHUNK):
        part = made[start : start + _CHUNK]
        if dtype.kind == "b":
            part[...] = random.integers(0, 2, part.size).astype(dtype)
        elif dtype.kind in "iu":
            part[...] = random.integers(0, 10, part.size).astype(dtype)
        else:
            part[...] = random.standard_normal(part.size).astype(dtype)
    return made.reshape(shape)


def output_names(signature: Signature) -> list[str]:
    """The names of what a call computes, in order, and different from each other.

    These are results, or the arrays that the function may write and its scalar result.
    Where a program has a name twice, the later one gets a number.
    """
    if signature.result is not None:
        names = [name for name, _ in _named_leaves("result", signature.result)]
    else:
        names = [param.name for param in signature.params if _is_written(param)]
        names += [] if signature.scalar_result is None else ["result"]
    taken = set(names)
    found: dict[str, None] = {}
    for name in names:
        number, unique = 0, name
        while unique in found or (number and unique in taken):
            number += 1
            unique = f"{name}_{number}"
        found[unique] = None
    return list(found)


def named_outputs(
    signature: Signature, arguments: Sequence[Any], result: Any
) -> dict[str, Array]:
    """What a call computed, by `output_names`."""
    values: list[Array]
    if signature.result is not None:
        values = list(_leaves(signature.result, result))
    else:
        flat = flat_arguments(signature.tuples, arguments)
        values = [
            value
            for param, value in zip(signature.params, flat, strict=True)
            if _is_written(param)
        ]
        if signature.scalar_result is not None:
            values.append(np.asarray(result))
    return dict(zip(output_names(signature), values, strict=True))


def _is_written(param: Spec) -> bool:
    return isinstance(param, ArraySpec) and param.written


def flat_arguments(trees: Sequence[ParamTree] | None, values: Sequence[Any]) -> list[Any]:
    """Arguments without tuples."""
    if trees is None:
        return list(values)
    return [
        leaf
        for tree, value in zip(trees, values, strict=True)
        for leaf in ([value] if isinstance(tree, str) else flat_arguments(tree, value))
    ]


def _named_leaves(name: str, tree: ResultTree) -> Iterator[tuple[str, ArraySpec]]:
    if isinstance(tree, ArraySpec):
        yield name, tree
        return
    for position, branch in enumerate(tree):
        yield from _named_leaves(f"{name}_{position}", branch)


def _leaves(tree: ResultTree, value: Any) -> Iterator[Array]:
    if isinstance(tree, ArraySpec):
        # Scalars and shapes are numbers and tuples.
        yield np.asarray(value, tree.dtype)
        return
    for branch, one in zip(tree, value, strict=True):
        yield from _leaves(branch, one)
