"""TVM's `tvm.tir`: expressions, functions, `tir.build`, `tir.transform`.

    n = tir.Var("n", "int64")
    lowered = tir.transform.Simplify()(module)

Expressions are those of scripts, `xdsl_tvm.tvmscript.tir`. Functions, statements and
blocks are operations of `xdsl_tvm.dialects.tir`.
"""

from functools import reduce as _reduce
from typing import Any as _Any

from xdsl_tvm.dialects.tir import BufferType, FuncOp
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.dialects.tir.tensor_intrin import TensorIntrin
from xdsl_tvm.passes.tir.default_pipeline import (
    get_default_tir_pipeline,
    get_tir_pipeline,
)
from xdsl_tvm.runtime.building import build_tir
from xdsl_tvm.tir import analysis, transform
from xdsl_tvm.tvm_words import has_word, is_refused, missing
from xdsl_tvm.tvmscript import tir as script
from xdsl_tvm.tvmscript.nodes.expressions import (
    Expr,
    add,
    const,
    convert,
    div,
)
from xdsl_tvm.tvmscript.nodes.expressions import mul as multiply
from xdsl_tvm.tvmscript.nodes.expressions import sub as subtract

PrimFunc = FuncOp
"""A function; in contrast to TVM's it is made by scripts and builders."""
IndexMap = IndexMapAttr
PrimExpr = Expr
"""What all expressions are."""
build = build_tir
indexdiv, indexmod = script.floordiv, script.floormod
decl_buffer = script.Buffer
"""A buffer of a shape and a dtype."""

__all__ = [
    "BufferType",
    "IndexMap",
    "PrimExpr",
    "PrimFunc",
    "TensorIntrin",
    "add",
    "all",
    "analysis",
    "any",
    "build",
    "const",
    "convert",
    "decl_buffer",
    "div",
    "get_default_tir_pipeline",
    "get_tir_pipeline",
    "indexdiv",
    "indexmod",
    "multiply",
    "subtract",
    "transform",
]


def all(*args: _Any) -> _Any:
    """Whether all conditions hold. Raises ValueError without one."""
    return _combined(script.And, args)


def any(*args: _Any) -> _Any:
    """Whether one of the conditions holds. Raises ValueError without one."""
    return _combined(script.Or, args)


def _combined(function: _Any, args: tuple[_Any, ...]) -> _Any:
    if not args:
        raise ValueError("tir.all and tir.any take a condition at least")
    return _reduce(function, args)


def __getattr__(name: str) -> _Any:
    known = has_word("tir", name) and not is_refused("tir", name)
    if known and name in dir(script):
        return getattr(script, name)
    raise missing("tir", name)
