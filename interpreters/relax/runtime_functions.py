"""Functions of TVM's runtime that programs call by name.

They get arrays, Python numbers, tuples for shapes and tuples, and functions; those that
are called with the virtual machine get the interpreter first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xdsl_tvm.dialects.relax.vm_shapes import MatchCode, ShapeCode
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.relax.indexing import nonzero, unique
from xdsl_tvm.interpreters.relax.values import Array

_KINDS = {0: "i", 1: "u", 2: "f", 4: "V"}
"""numpy's kinds of DLPack's type codes; its custom dtypes are narrow floats."""


def _same(value: Any) -> Any:
    return value


def _reshape(array: Array, shape: tuple[int, ...]) -> Array:
    """The same memory under another shape."""
    return array.reshape(shape)


def _shape_of(array: Array) -> tuple[int, ...]:
    return array.shape


def _tensor_to_shape(array: Array) -> tuple[int, ...]:
    return tuple(int(extent) for extent in array)


def _to_device(array: Array, kind: int, index: int) -> Array:
    return array.copy()


def _reset_item(fields: tuple[Any, ...], index: int) -> None:
    """Nothing: a field that is dropped is one that nothing reads any more."""


def _make_closure(function: Callable[..., Any], *captured: Any) -> Callable[..., Any]:
    def closure(*arguments: Any) -> Any:
        return function(*arguments, *captured)

    return closure


def _invoke_closure(context: Any, closure: Callable[..., Any], *arguments: Any) -> Any:
    return closure(*arguments)


def _call_tir_dyn(function: Callable[..., Any], *arguments: Any) -> None:
    *tensors, dims = arguments
    function(*tensors, *dims)


def _alloc_shape_heap(context: Any, size: int) -> Array:
    return np.zeros(size, np.int64)


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise SimulationError(f"a check of the runtime fails: {what}")


def _check_tensor_info(value: Any, rank: int, code: int, bits: int) -> None:
    _expect(isinstance(value, np.ndarray), f"a {type(value).__name__} is no tensor")
    _expect(rank in (-1, value.ndim), f"the rank is {value.ndim}, not {rank}")
    if code >= 0:
        kind = "b" if (code, bits) == (1, 1) else _KINDS.get(code, value.dtype.kind)
        found = value.dtype
        size = 8 * found.itemsize >= bits and found.kind in (kind, "V")
        _expect(size, f"the dtype is {found}, not code {code} of {bits} bits")


def _check_shape_info(value: Any, rank: int) -> None:
    _expect(isinstance(value, tuple), f"a {type(value).__name__} is no shape")
    _expect(rank in (-1, len(value)), f"a shape has rank {len(value)}, not {rank}")


def _check_prim_value_info(value: Any, code: int, bits: int) -> None:
    is_scalar = isinstance(value, int | float | np.generic)
    _expect(is_scalar, f"a {type(value).__name__} is no scalar")


def _check_tuple_info(value: Any, size: int) -> None:
    _expect(isinstance(value, tuple), f"a {type(value).__name__} is no tuple")
    _expect(len(value) == size, f"a tuple has {len(value)} fields, not {size}")


def _check_func_info(value: Any) -> None:
    _expect(callable(value), f"a {type(value).__name__} is no function")


def _match_shape(value: Any, heap: Any, rank: int, *codes: int) -> None:
    """Compare the extents of a tensor or shape, and store those that define symbols."""
    extents: Sequence[int] = getattr(value, "shape", value)
    _expect(len(extents) == rank, f"the rank is {len(extents)}, not {rank}")
    _match(extents, heap, codes)


def _match_prim_value(value: Any, heap: Any, *code: int) -> None:
    _match([int(value)], heap, code)


def _match(extents: Sequence[int], heap: Any, codes: Sequence[int]) -> None:
    pairs = zip(codes[::2], codes[1::2], strict=True)
    for extent, (code, number) in zip(extents, pairs, strict=True):
        match MatchCode(code):
            case MatchCode.EQUALS_NUMBER:
                _expect(extent == number, f"an extent is {extent}, not {number}")
            case MatchCode.STORE:
                heap[number] = extent
            case MatchCode.SKIP:
                pass
            case MatchCode.EQUALS_SLOT:
                known = int(heap[number])
                _expect(extent == known, f"an extent is {extent}, not {known}")


def _make_shape(heap: Any, rank: int, *codes: int) -> tuple[int, ...]:
    pairs = zip(codes[::2], codes[1::2], strict=True)
    found = tuple(_make_prim_value(heap, *pair) for pair in pairs)
    _expect(len(found) == rank, f"a shape has rank {len(found)}, not {rank}")
    return found


def _make_prim_value(heap: Any, code: int, number: int) -> int:
    return number if ShapeCode(code) is ShapeCode.NUMBER else int(heap[number])


RUNTIME: Mapping[str, Callable[..., Any]] = {
    "relax.run.nonzero": nonzero,
    "relax.run.print": print,
    "relax.run.unique": unique,
    "vm.builtin.alloc_shape_heap": _alloc_shape_heap,
    "vm.builtin.call_tir_dyn": _call_tir_dyn,
    "vm.builtin.check_func_info": _check_func_info,
    "vm.builtin.check_prim_value_info": _check_prim_value_info,
    "vm.builtin.check_shape_info": _check_shape_info,
    "vm.builtin.check_tensor_info": _check_tensor_info,
    "vm.builtin.check_tuple_info": _check_tuple_info,
    "vm.builtin.copy": _same,
    "vm.builtin.ensure_zero_offset": _same,
    "vm.builtin.invoke_closure": _invoke_closure,
    "vm.builtin.make_closure": _make_closure,
    "vm.builtin.make_prim_value": _make_prim_value,
    "vm.builtin.make_shape": _make_shape,
    "vm.builtin.match_prim_value": _match_prim_value,
    "vm.builtin.match_shape": _match_shape,
    "vm.builtin.reshape": _reshape,
    "vm.builtin.shape_of": _shape_of,
    "vm.builtin.tensor_to_shape": _tensor_to_shape,
    "vm.builtin.to_device": _to_device,
    "vm.builtin.tuple_reset_item": _reset_item,
}
"""The functions by name."""
