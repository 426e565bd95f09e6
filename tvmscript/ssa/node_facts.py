"""Facts about nodes of scripts that their translation asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i32,
)
from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import buffer_of
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import Expr, ScriptTypeError
from xdsl_tvm.tvmscript.nodes.statements import Buffer, Stmt


def axis_name(tag: str) -> str:
    """What the variable of an axis is called that has no name: `tx` of `threadIdx.x`."""
    rank, _, dim = tag.partition(".")
    return rank[:1] + (dim or "x") if rank else "tx"


DEFINITIONS = (st.For, st.LaunchThread, st.Allocate, st.BufferRealize)
REALIZE_KEYS = ("realize_scope", "rolling_buffer_scope", "buffer_dim_align")


def may_wrap(stmt: st.AttrStmt) -> bool:
    """Whether the key is one that wraps the definition of its node."""
    starts = stmt.key.startswith(("pragma_", "fragment_"))
    return bool(stmt.body) and (starts or stmt.key in REALIZE_KEYS)


def is_rolling(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement says that a buffer is a rolling one."""
    match stmt:
        case st.AttrStmt(key="rolling_buffer_scope"):
            return stmt.node is buffer
        case _:
            return False


def listed(value: Expr) -> object:
    """The value of an attribute as an annotation: a tuple as a list."""
    if isinstance(value, ex.Call) and value.name == "tvm_tuple":
        return list(value.args)
    return value


def buffers_of(node: object) -> list[Buffer]:
    """The buffers in the list that a node is."""
    items = cast("Sequence[object]", node) if isinstance(node, list | tuple) else ()
    return [each for each in items if isinstance(each, Buffer)]


def realized_buffers(body: Sequence[Stmt]) -> set[Buffer]:
    """The buffers that statements realize, or bind as views."""
    found: set[Buffer] = set()
    stack = list(body)
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, st.BufferRealize):
            found.add(stmt.buffer)
        if isinstance(stmt, st.AttrStmt) and stmt.key == "buffer_bind_scope":
            found.update(buffers_of(stmt.node)[:1])
        for inner in st.bodies(stmt):
            stack += inner
    return found


def buffer_type(buffer: Buffer) -> tir.BufferType:
    """The type of a buffer, with the extents that are known."""
    shape = [
        extent.value if isinstance(extent, ex.IntImm) else DYNAMIC_INDEX
        for extent in buffer.shape
    ]
    return buffer_of(tuple(shape), buffer.type, buffer.scope())


def index_type_of(buffer: Buffer) -> IntegerType | None:
    """The dtype of static extents where it is not the one that the op assumes."""
    types: dict[bool, list[Attribute]] = {True: [], False: []}
    for extent in buffer.shape:
        types[isinstance(extent, ex.IntImm)].append(extent.type)
    if not types[True]:
        return None
    assumed = types[False][0] if types[False] else i32
    static = cast(IntegerType, types[True][0])
    return None if static == assumed else static


def contents_of(
    stmt: st.AllocateConst, element: Attribute
) -> DenseIntOrFPElementsAttr[Any] | IntegerAttr:
    """The contents of constant memory as an attribute. Raises ScriptTypeError."""
    if isinstance(stmt.data, int):
        return IntegerAttr(stmt.data, i32)
    if not isinstance(element, IntegerType | AnyFloat):
        raise ScriptTypeError(
            f"T.allocate_const: contents of dtype {tir.dtype_name(element)} cannot be "
            "written; use integers or floats"
        )
    values = cast("np.ndarray[Any, Any]", stmt.data).ravel().tolist()
    if isinstance(element, IntegerType):
        integers = TensorType(cast("IntegerType[int]", element), stmt.extents)
        return DenseIntOrFPElementsAttr.from_list(integers, [int(v) for v in values])
    floats = TensorType(element, stmt.extents)
    return DenseIntOrFPElementsAttr.from_list(floats, [float(v) for v in values])
