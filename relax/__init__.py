"""Relax programs written in Python, in TVM's words: `from xdsl_tvm import relax`.

`BlockBuilder` makes a module of expressions; docs/builder.md shows how. The operations
that it is made of are those of `xdsl_tvm.dialects.relax`. `relax.function` reads a
decorated Python function, as `R.function` does, with annotations `relax.Tensor(...)`,
operators `relax.op.add(...)` and `with relax.dataflow():`. `relax.transform` holds the
passes, and `relax.get_pipeline` gives several as one.
"""

import importlib
from typing import Any

from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax import FuncOp as Function
from xdsl_tvm.dialects.relax.signatures import Device
from xdsl_tvm.relax import op
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.calls import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
)
from xdsl_tvm.relax.expr import Computed as Call
from xdsl_tvm.relax.expr import (
    Expr,
    PrimValue,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from xdsl_tvm.relax.expr import as_expr as convert_to_expr
from xdsl_tvm.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    sym,
)

__all__ = [
    "BlockBuilder",
    "Call",
    "Device",
    "Expr",
    "FuncStructInfo",
    "Function",
    "GlobalVar",
    "ObjectStructInfo",
    "PrimStructInfo",
    "PrimValue",
    "ShapeExpr",
    "ShapeStructInfo",
    "TensorStructInfo",
    "Tuple",
    "TupleGetItem",
    "TupleStructInfo",
    "Var",
    "call_dps_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "const",
    "convert_to_expr",
    "op",
    "sym",
]


_ELSEWHERE = {
    "Executable": ("xdsl_tvm.runtime.executable_base", "Executable"),
    "PyExprMutator": ("xdsl_tvm.relax.expr_functor", "PyExprMutator"),
    "PyExprVisitor": ("xdsl_tvm.relax.expr_functor", "PyExprVisitor"),
    "VirtualMachine": ("xdsl_tvm.runtime.virtual_machine", "VirtualMachine"),
    "build": ("xdsl_tvm.runtime.building", "build_relax"),
    "get_default_pipeline": (
        "xdsl_tvm.passes.relax.default_pipeline",
        "get_default_pipeline",
    ),
    "get_pipeline": ("xdsl_tvm.passes.relax.default_pipeline", "get_pipeline"),
    "register_pipeline": ("xdsl_tvm.passes.relax.default_pipeline", "register_pipeline"),
}
"""Where names of TVM's `relax` are defined, and under which name."""


def __getattr__(name: str) -> Any:
    # TVM's `relax` is one namespace of the builder, passes, scripts and the runtime. Here
    # the builder is below the others, so their words are found when they are asked for.
    if name == "transform":
        return importlib.import_module("xdsl_tvm.relax.transform")
    if name == "analysis":
        return importlib.import_module("xdsl_tvm.relax.analysis")
    if name == "expr_functor":
        return importlib.import_module("xdsl_tvm.relax.expr_functor")
    if name == "frontend":
        return importlib.import_module("xdsl_tvm.relax.frontend")
    if name in ("backend", "dpl"):
        return importlib.import_module(f"xdsl_tvm.relax.{name}")
    if name in _ELSEWHERE:
        module, own = _ELSEWHERE[name]
        return getattr(importlib.import_module(module), own)
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    scripts = importlib.import_module("xdsl_tvm.tvmscript.relax")
    if name in dir(scripts):
        return getattr(scripts, name)
    raise importlib.import_module("xdsl_tvm.tvm_words").missing("relax", name)
