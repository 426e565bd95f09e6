"""Arrays that the caller gives for the results of a function: `f(x, out=y)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from xdsl_tvm.analysis.shared_arrays import shared_array
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime.ndarray import NDArray
from xdsl_tvm.runtime.signature import ArraySpec, ResultTree, Signature

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Given: TypeAlias = "Sequence[Array | None]"
"""For each array of a result, from left to right: the one to write to, or None."""


def given_results(signature: Signature, out: Any) -> Given:
    """The arrays of `out`, which has the form of the result; None is for a new array.

    They are checked as far as that is possible before their extents are known. Raises
    TypeError or ValueError for what does not fit.
    """
    assert signature.result is not None
    return list(_leaves(f"@{signature.function}", signature.result, out))


def _leaves(function: str, tree: ResultTree, out: Any) -> Iterator[Array | None]:
    if isinstance(tree, ArraySpec):
        yield None if out is None else _checked(f"{function}: out", tree, out)
        return
    is_tuple = isinstance(cast(object, out), tuple | list)
    fields = cast("Sequence[Any]", out) if is_tuple else ()
    if out is None:
        fields = (None,) * len(tree)
    elif len(fields) != len(tree):
        raise TypeError(
            f"{function}: out must be a tuple of {len(tree)}, as the result, got "
            f"{type(out).__name__}" + (f" of {len(fields)}" if fields else "")
        )
    for branch, field in zip(tree, fields, strict=True):
        yield from _leaves(function, branch, field)


def _checked(where: str, spec: ArraySpec, out: Any) -> Array:
    where = f"{where}, for {spec.name}"
    if spec.form != "array":
        kind = {"scalar": "a number", "shape": "a shape"}.get(spec.form, "an object")
        raise TypeError(f"{where}: the result is {kind}; pass None")
    if spec.is_handed_over:
        raise TypeError(f"{where}: the call finds the extents of the result; pass None")
    try:
        array = shared_array(out.data if isinstance(out, NDArray) else out)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if array is None:
        raise TypeError(f"{where} must be a numpy array {spec}, got {type(out).__name__}")
    if array.dtype != spec.dtype:
        raise TypeError(f"{where} must have dtype {spec.dtype}, got {array.dtype}")
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        raise ValueError(f"{where} must be C-contiguous, aligned and writeable")
    return array


def check_extents(function: str, spec: ArraySpec, out: Array, shape: list[int]) -> Array:
    """The array, if it has the shape; raises ValueError where it has another."""
    if out.shape != tuple(shape):
        raise ValueError(
            f"@{function}: out, for {spec.name} must have shape {tuple(shape)}, got "
            f"{out.shape}"
        )
    return out


def check_apart(
    signature: Signature, given: Given, arguments: Sequence[tuple[str, int, int]]
) -> None:
    """Check that results overlap neither each other nor arguments.

    `arguments` are arrays by name, address and size in bytes. Raises ValueError where
    one overlaps.
    """
    ranges: list[tuple[str, int, int]] = []
    for spec, array in zip(signature.results, given, strict=True):
        if array is None:
            continue
        start, size = address_of(array), array.nbytes
        for other, low, length in (*arguments, *ranges):
            if low < start + size and start < low + length:
                raise ValueError(
                    f"@{signature.function}: out, for {spec.name}, and {other} must not "
                    "overlap; pass another array"
                )
        ranges.append((f"out, for {spec.name}", start, size))
