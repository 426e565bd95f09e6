"""Fixtures of the tests of the conversions: from MLIR text to a callable function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.lowering import lower_module
from xdsl.dialects.builtin import ModuleOp


@pytest.fixture(scope="session")
def lower() -> Callable[..., ModuleOp]:
    """`lower(text, passes=all)`: the lowered module."""
    return lower_module


@pytest.fixture(scope="session")
def jit() -> Callable[..., Callable[..., Any]]:
    """`jit(text, name, result, *arguments)`: a ctypes function from MLIR text."""
    pytest.importorskip("llvmlite")
    from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
    from xdsl_tvm.runtime.llvm_jit import load

    def compile_function(
        text: str, name: str, result: Any, *arguments: Any
    ) -> Callable[..., Any]:
        module = lower_module(text)
        return load(emit_llvm_ir(module.ops), [name]).function(name, result, *arguments)

    return compile_function
