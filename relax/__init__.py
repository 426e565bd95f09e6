"""Relax programs written in Python, in TVM's words: `from xdsl_tvm import relax`.

`BlockBuilder` makes a module of expressions; docs/builder.md shows how. The operations
that it is made of are those of `xdsl_tvm.dialects.relax`.
"""

from xdsl_tvm.relax import op
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.calls import (
    GlobalVar,
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
)
from xdsl_tvm.relax.expr import (
    Expr,
    PrimValue,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
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
    "Expr",
    "FuncStructInfo",
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
    "const",
    "op",
    "sym",
]
