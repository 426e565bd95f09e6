"""The node of each op that is a statement."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.tir.flat_index import fitting_type
from xdsl_tvm.analysis.tree_form import name_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import FLOATS, integer_storage
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import (
    VOID,
    Call,
    Cast,
    Expr,
    IntImm,
    StringImm,
    Var,
    literal,
)
from xdsl_tvm.tvmscript.nodes.expressions import cast as cast_expr
from xdsl_tvm.tvmscript.reading.linear_form import is_same
from xdsl_tvm.tvmscript.ssa.body_readers import BodyReader, StatementReader, argument_name
from xdsl_tvm.tvmscript.ssa.python_values import python_value
from xdsl_tvm.tvmscript.ssa.trees import (
    constant,
)


def _store(body: BodyReader, op: tir.StoreOp) -> st.Stmt:
    value = body.root(op.value)
    indices = body.roots(op.indices)
    predicate = body.optional_root(op.predicate)
    return st.BufferStore(body.trees.buffer(op.buffer), value, indices, predicate)


def _evaluate(body: BodyReader, op: tir.EvaluateOp) -> st.Stmt | None:
    if op.value is None:
        return None
    if tir.is_constant(op.value, 0) and tir.is_integer(op.value.type):
        return None
    return st.Evaluate(body.root(op.value))


def _return(body: BodyReader, op: tir.RetOp) -> st.Stmt:
    if op.value is None:
        return st.Evaluate(Call("ret", (), VOID))
    return st.Return(body.root(op.value))


def _assert(body: BodyReader, op: tir.AssertOp) -> st.Stmt:
    condition = body.root(op.condition)
    if op.message is not None:
        return st.AssertStmt(condition, StringImm(op.message.data))
    assert op.message_value is not None
    return st.AssertStmt(condition, body.root(op.message_value))


def _annotations(annotations: DictionaryAttr | None, op: Operation) -> dict[str, object]:
    if annotations is None:
        return {}
    return {key: python_value(value, op) for key, value in annotations.data.items()}


def _allocate(body: BodyReader, op: tir.AllocateOp) -> st.Stmt:
    extents = tuple(
        IntImm(fitting_type(extent, i32), extent)
        if isinstance(extent, int)
        else body.root(extent)
        for extent in op.shape
    )
    condition = body.optional_root(op.condition)
    name = argument_name(op.var_name, op.result, "p")
    variable = body.trees.variable(op.result, name)
    return st.Allocate(variable, extents, condition, _annotations(op.annotations, op))


def _allocate_const(body: BodyReader, op: tir.AllocateConstOp) -> st.Stmt:
    name = argument_name(op.var_name, op.result, "c")
    if isinstance(op.data, IntegerAttr):
        raise DiagnosticException(
            "tir.allocate_const: an index into the module's constants has no form in "
            "TVMScript; give the contents"
        )
    dense = cast("DenseIntOrFPElementsAttr[Any]", op.data)
    extents = tuple(dense.get_shape())
    data = np.array(dense.get_values(), _storage(op.result.type.element_type))
    variable = body.trees.variable(op.result, name)
    annotations = _annotations(op.annotations, op)
    return st.AllocateConst(variable, extents, data.reshape(extents), annotations)


def _storage(dtype: Attribute) -> np.dtype[Any]:
    """The numpy dtype that holds the values: float64 for a float that numpy lacks."""
    if tir.is_integer_type(dtype):
        return integer_storage(dtype)
    found = FLOATS.get(type(dtype))
    return np.dtype(found.name if found is not None and found.in_numpy else "float64")


def _decl_buffer(body: BodyReader, op: tir.DeclBufferOp) -> st.Stmt | None:
    if op.implicit is not None:
        return _implicit_buffer(body, op)
    pointer = body.root(op.data)
    buffer = body.buffer(op)
    if pointer is not buffer.data:
        # The data of a buffer is a variable, so what else it is has to be bound.
        body.bound(buffer.data, pointer)
    return st.DeclBuffer(buffer)


def _implicit_buffer(body: BodyReader, op: tir.DeclBufferOp) -> st.Stmt | None:
    """A buffer without a statement, one for all equal ones.

    The printer declares it before its first use, in the innermost body that holds
    all uses.
    """
    pointer = body.root(op.data)
    kept = [(key, value) for key, value in op.properties.items() if key != "implicit"]
    key = pointer, op.type, *op.operands[1:], *sorted(kept, key=lambda item: item[0])
    known = body.function.implicit_buffers.get(key)
    if known is not None:
        body.trees.buffers[op.buffer] = known
        return None
    buffer = body.buffer(op)
    if pointer is not buffer.data:
        body.bound(buffer.data, pointer)
    body.function.implicit_buffers[key] = buffer
    return None


_ROLLING = "rolling_buffer_scope"


def _buffer_realize(body: BodyReader, op: tir.BufferRealizeOp) -> st.Stmt:
    bounds = tuple(body.range(low, extent) for low, extent in op.bounds)
    condition = body.optional_root(op.condition)
    buffer = body.buffer(op)
    inner: list[st.Stmt] = [st.BufferRealize(buffer, bounds, condition)]
    annotations = dict(op.annotations.data) if op.annotations is not None else {}
    rest = inner
    if (rolling := annotations.pop(_ROLLING, None)) is not None:
        # TVM's pass looks for it inside of the realization.
        value = _attr_value(python_value(rolling, op), op)
        held: list[st.Stmt] = []
        inner.append(st.AttrStmt(buffer, _ROLLING, value, held))
        rest = held
    body.nest(rest)
    found = st.AttrStmt(buffer, "realize_scope", StringImm(buffer.scope()), inner)
    return _annotated(found, buffer, DictionaryAttr(annotations), op)


def _prefetch(body: BodyReader, op: tir.PrefetchOp) -> st.Stmt:
    bounds = tuple(body.range(low, extent) for low, extent in op.region)
    return st.Prefetch(st.BufferRegion(body.trees.buffer(op.buffer), bounds))


def _annotated(
    stmt: st.Stmt, node: object, annotations: DictionaryAttr | None, op: Operation
) -> st.Stmt:
    """A statement inside of the attributes that its op has as annotations."""
    items = sorted(_annotations(annotations, op).items(), reverse=True)
    for key, value in items:
        stmt = st.AttrStmt(node, key, _attr_value(value, op), [stmt])
    return stmt


def _attr_node(body: BodyReader, op: tir.AttrOp) -> object:
    if op.node_attr is not None:
        return python_value(op.node_attr, op)
    assert op.node is not None
    if isinstance(op.node.type, tir.BufferType):
        return body.trees.buffer(op.node)
    if isinstance(op.node.owner, tir.ReducerOp):
        return body.reducer(op.node.owner)
    return body.root(op.node)


def _attr(body: BodyReader, op: tir.AttrOp) -> st.Stmt:
    node = _attr_node(body, op)
    if op.value is not None:
        value = body.root(op.value)
    elif isinstance(op.value_attr, StringAttr):
        value = StringImm(op.value_attr.data)
    else:
        assert op.value_attr is not None
        value = constant(op.value_attr, op)
    return st.AttrStmt(node, op.key.data, value, body.region(op.body))


def _launch_thread(body: BodyReader, op: tir.LaunchThreadOp) -> st.Stmt:
    extent = body.root(op.extent)
    variable = body.function.thread(op)
    virtual = op.virtual is not None
    inner = body.region(op.body)
    found = st.LaunchThread(variable, op.tag.data, extent, inner, virtual)
    return _annotated(found, variable, op.annotations, op)


def _attr_value(value: object, op: Operation) -> Expr:
    match value:
        case bool():
            return IntImm(i1, int(value))
        case int():
            return IntImm(i32, value)
        case float():
            return constant(FloatAttr(value, f32), op)
        case str():
            return StringImm(value)
        case Expr():
            return value
        case _:
            raise DiagnosticException(
                f"{name_of(op)}: an annotation with the value {value} is no expression; "
                "use a number or a string"
            )


def _for(body: BodyReader, op: tir.ForOp) -> st.Stmt:
    low, extent = body.root(op.min), body.root(op.extent)
    name = argument_name(op.loop_name, op.loop_var, "i")
    variable = body.trees.variable(op.loop_var, name)
    found = st.For(
        variable,
        low,
        extent,
        [],
        op.kind.data,
        None if op.thread_tag is None else op.thread_tag.data,
        _annotations(op.annotations, op),
    )
    body.loops[variable] = found
    found.body = body.region(op.body)
    return found


def _while(body: BodyReader, op: tir.WhileOp) -> st.Stmt:
    (condition,) = body.value(op.condition)
    if literal(condition) is not None:
        raise DiagnosticException(
            "tir.while: the condition is a constant, which TVM takes for a mistake; load "
            "it from a buffer"
        )
    return st.While(condition, body.region(op.body))


def _if(body: BodyReader, op: tir.IfOp) -> st.Stmt:
    condition = body.root(op.condition)
    orelse = None if op.else_region is None else body.region(op.else_region)
    return st.If(condition, body.region(op.then_region), orelse)


_BINDINGS = (st.LetStmt, st.AssertStmt, st.Allocate, st.AllocateConst, st.DeclBuffer)


def _scope(body: BodyReader, op: tir.ScopeOp) -> st.Stmt | None:
    """The bindings and what follows them; statements before them need no scope."""
    stmts = body.region(op.body)
    bindings = (i for i, stmt in enumerate(stmts) if isinstance(stmt, _BINDINGS))
    start = next(bindings, len(stmts))
    body.stmts += stmts[:start]
    return st.Scope(stmts[start:]) if start < len(stmts) else None


def _iter_var(body: BodyReader, it: tir.IterVar, argument: BlockArgument) -> st.IterVar:
    dtype = argument.type
    domain = st.Range(body.root(it.min), body.root(it.extent))
    binding = body.root(it.binding)
    name = argument_name(it.name, argument, "v")
    found = st.IterVar(Var(name, dtype), domain, it.kind, binding)
    loop = body.loops.get(binding) if isinstance(binding, Var) else None
    is_kept = loop is not None and tir.is_int(dtype) and is_axis_of(found, loop)
    if tir.is_index_type(dtype) or is_kept:
        body.trees.define(argument, found.var)
        return found
    wide = i64 if tir.bits_of_lane(dtype) >= 32 else i32
    variable = Var(name, wide)
    body.trees.define(argument, Cast(dtype, variable))
    domain = st.Range(cast_expr(wide, domain.min), cast_expr(wide, domain.extent))
    return st.IterVar(variable, domain, it.kind, cast_expr(wide, binding))


def is_axis_of(each: st.IterVar, loop: st.For) -> bool:
    """Whether an iteration variable takes the values of a loop's variable, so that
    `T.axis.remap` says all of it."""
    return (
        each.binding is loop.var
        and each.kind in (tir.IterKind.SPATIAL, tir.IterKind.REDUCE)
        and is_same(each.dom.min, loop.min)
        and is_same(each.dom.extent, loop.extent)
    )


def _block(body: BodyReader, op: tir.BlockOp) -> st.Stmt:
    iters = [
        _iter_var(body, it, argument)
        for it, argument in zip(op.iters, op.iter_vars, strict=True)
    ]
    predicate = body.optional_root(op.predicate)
    inner = BodyReader(body.function)
    block = op.body.block
    inner.declare(block)
    found = st.Block(op.block_name.data, iters, [], predicate)
    found.annotations = _annotations(op.annotations, op)
    found.alloc_buffers = inner.alloc_buffers
    for item in block.ops:
        match item:
            case tir.MatchRegionOp():
                found.match_buffers.append(inner.match_region(item))
            case tir.ReadsOp():
                found.reads = inner.regions(item)
            case tir.WritesOp():
                found.writes = inner.regions(item)
            case tir.InitOp():
                inner.require_first(item)
                found.init = inner.region(item.body)
            case _:
                pass
    found.body = inner.read(block)
    return found


def _allreduce(body: BodyReader, op: tir.ThreadAllreduceOp) -> st.Stmt:
    return st.Evaluate(body.compute(op))


STATEMENT_READERS: dict[type[Operation], StatementReader] = {
    tir.StoreOp: _store,
    tir.EvaluateOp: _evaluate,
    tir.RetOp: _return,
    tir.AssertOp: _assert,
    tir.AllocateOp: _allocate,
    tir.AllocateConstOp: _allocate_const,
    tir.DeclBufferOp: _decl_buffer,
    tir.BufferRealizeOp: _buffer_realize,
    tir.PrefetchOp: _prefetch,
    tir.AttrOp: _attr,
    tir.LaunchThreadOp: _launch_thread,
    tir.ForOp: _for,
    tir.WhileOp: _while,
    tir.IfOp: _if,
    tir.ScopeOp: _scope,
    tir.BlockOp: _block,
    tir.ThreadAllreduceOp: _allreduce,
}
