"""What code generators are told of, and passes for targets: TVM's `relax.backend`."""

import importlib
from typing import Any

from xdsl_tvm.relax.backend.pattern_registry import (
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
)
from xdsl_tvm.tvm_words import missing

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]


def __getattr__(name: str) -> Any:
    if name in ("DispatchSampling", "DispatchSortScan"):
        return getattr(importlib.import_module("xdsl_tvm.relax.transform"), name)
    raise missing("relax.backend", name)
