"""Attention on random arrays: its module, and its result in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.runtime.load import load_module

Array = NDArray[Any]


def attention_module(
    arrays: list[Array], attributes: str = "", *, symbolic: bool = False
) -> ModuleOp:
    """Attention on tensors of the types of some arrays; a fourth one is a bias.

    With `symbolic`, the numbers of queries and keys are symbols.
    """
    dtypes = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}
    dtype = dtypes[str(arrays[0].dtype)]

    def type_of(shape: Sequence[int], symbol: str) -> str:
        batch, length, *others = shape
        end = "x".join(map(str, others)) + f"x{dtype}"
        if not symbolic:
            return f"tensor<{batch}x{length}x{end}>"
        dims = ", ".join(map(str, (batch, symbol, *others)))
        return f"tensor<{batch}x?x{end}, #relax.dims<[{dims}]>>"

    types = [type_of(a.shape, s) for a, s in zip(arrays, "nmm_", strict=False)]
    type_ = type_of([*arrays[0].shape[:3], arrays[2].shape[3]], "n")
    names = ["%q", "%k", "%v", "%b"][: len(arrays)]
    parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    kind = "attention_bias" if len(arrays) == 4 else "attention"
    symbols = "<n, m>" if symbolic else ""
    return load_module(f"""
      relax.func @main{symbols}({parameters}) -> {type_}
          attributes {{global_symbol = "main"}} {{
        %y = relax.nn.{kind} {", ".join(names)} {attributes} :
          ({", ".join(types)}) -> {type_}
        relax.return %y : {type_}
      }}
    """)


def random_arrays(*shapes: tuple[int, ...], dtype: type = np.float32) -> list[Array]:
    random = np.random.default_rng(5)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def exact_attention(
    arrays: list[Array],
    *,
    scale: float | None = None,
    causal: str | None = None,
    window: int | None = None,
) -> Array:
    """Attention in double precision."""
    query, key, value, *bias = (each.astype(np.float64) for each in arrays)
    key, value = (
        np.repeat(each, query.shape[2] // each.shape[2], axis=2) for each in (key, value)
    )
    factor = 1 / math.sqrt(query.shape[3]) if scale is None else scale
    scores = np.einsum("bihd,bjhd->bhij", query, key) * factor
    if bias:
        scores = scores + bias[0]
    queries, keys = query.shape[1], key.shape[1]
    row, column = np.ogrid[:queries, :keys]
    place = row + (keys - queries if causal == "BottomRight" else 0)
    seen = np.ones((queries, keys), bool)
    if causal is not None:
        seen &= column <= place
    if window is not None:
        seen &= column > place - window
    scores = np.where(seen, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, value)


def assert_close(result: Array, expected: Array, most: float) -> None:
    """Of the largest element; NaN where NaN is expected."""
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    error = np.nanmax(np.abs(result - expected)) / np.nanmax(np.abs(expected))
    assert error < most
