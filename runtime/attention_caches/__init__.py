"""Caches of attention, and the functions of TVM's runtime that programs call on them.

`rows.py` has those of `nn.KVCache`, `paged.py` those of `nn.llm.kv_cache`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl_tvm.runtime.attention_caches import paged, rows

FUNCTIONS: Mapping[str, Callable[..., Any]] = {**rows.FUNCTIONS, **paged.FUNCTIONS}
"""By name; they get arrays of numpy, numbers, tuples for shapes, and functions."""
