"""The code of matrix builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl_tvm.dialects import tir

if TYPE_CHECKING:
    from xdsl_tvm.interpreters._emitter import Emitter

CALLS: dict[str, Callable[[Emitter, tir.CallOp], None]] = {}
