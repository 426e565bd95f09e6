"""Whether a TIR function copies its argument in row-major order.

docs/spec/relax-passes-related.md §B.3.

copied_parameter(function)     # the position of the parameter, None for no copy
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.iter_map import bind_inputs, iter_map_simplify
from xdsl_tvm.analysis.tir.flat_index import flat_indices
from xdsl_tvm.dialects import tir


def copied_parameter(function: tir.FuncOp) -> int | None:
    """The position of the parameter whose elements the last buffer gets, in their order.

    The function must be one loop nest around one block that stores what it loads, where
    one of both buffers is walked as a whole in the order of its dimensions, and the place
    in the other one is the same in row-major order. Linear in the size of the function,
    but for the proof. None where this is not so or is not proved.
    """
    if function.is_declaration:
        return None
    block = _only_block(function)
    copy = None if block is None else _copy_of(block)
    if block is None or copy is None:
        return None
    load, store = copy
    positions = _positions(function)
    source, target = positions.get(load.buffer), positions.get(store.buffer)
    if source is None or target is None or target != max(positions.values()):
        return None
    return source if _keeps_order(block, load, store) else None


def _positions(function: tir.FuncOp) -> dict[SSAValue, int]:
    """The buffers that are parameters and lie densely in memory."""
    matched = [op for op in all_ops(function) if isinstance(op, tir.MatchBufferOp)]
    counts = [match.param for match in matched]
    return {
        match.buffer: match.param.index
        for match in matched
        if isinstance(match.param, BlockArgument)
        and counts.count(match.param) == 1
        and not match.layout_strides
        and len(match.type.get_shape()) == match.type.get_num_dims()
    }


_DECLARATIONS = (
    tir.ConstOp,
    tir.ShapeVarOp,
    tir.MatchBufferOp,
    tir.ReadsOp,
    tir.WritesOp,
)


def _only_block(function: tir.FuncOp) -> tir.BlockOp | None:
    """The block with iteration variables that is all that the function runs."""
    body: Block = function.body.block
    while True:
        statement = _only_statement(body)
        match statement:
            case tir.BlockOp() if statement.predicate is not None:
                return None
            case tir.BlockOp() if not statement.is_opaque:
                return statement
            case tir.BlockOp() | tir.ForOp():
                body = statement.body.block
            case _:
                return None


def _only_statement(body: Block) -> Operation | None:
    others = [
        op
        for op in body.ops
        if not isinstance(op, _DECLARATIONS) and not _is_expression(op)
    ]
    return others[0] if len(others) == 1 else None


def _is_expression(op: Operation) -> bool:
    return len(op.results) == 1 and not isinstance(view(op.results[0]), Value)


def _copy_of(block: tir.BlockOp) -> tuple[tir.LoadOp, tir.StoreOp] | None:
    """The load and the store, where the block does nothing else."""
    if block.init is not None:
        return None
    if any(it.kind is not tir.IterKind.SPATIAL for it in block.iters):
        return None
    loads: list[tir.LoadOp] = []
    stores: list[tir.StoreOp] = []
    for op in block.body.block.ops:
        if isinstance(op, tir.LoadOp):
            loads.append(op)
        elif isinstance(op, tir.StoreOp):
            stores.append(op)
        elif not isinstance(op, _DECLARATIONS) and not _is_expression(op):
            return None
    if len(loads) != 1 or len(stores) != 1 or stores[0].value is not loads[0].result:
        return None
    predicated = (loads[0].predicate, stores[0].predicate) != (None, None)
    return None if predicated else (loads[0], stores[0])


def _keeps_order(block: tir.BlockOp, load: tir.LoadOp, store: tir.StoreOp) -> bool:
    if not _covers_domain(block):
        return False
    trees: dict[SSAValue, Expr] = {}
    places: list[Expr] = []
    is_whole = False
    for access in (load, store):
        indices = [view(index, trees) for index in access.indices]
        buffer = tir.buffer_definition(access.buffer)
        is_whole |= _is_whole(block, buffer, indices)
        places += flat_indices(buffer, indices, lambda value: view(value, trees))
    if not is_whole or len(places) != 2 or places[0].dtype != places[1].dtype:
        return False
    domain: dict[Expr, Range] = {
        Value(variable): Range(view(it.min, trees), view(it.extent, trees))
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
    }
    analyzer = Analyzer()
    for extent in {each.extent for each in domain.values()}:
        analyzer.mark_global_nonneg(extent)
    bind_inputs(analyzer, domain)
    # Quotients and remainders of one place come together where the place is kept as the
    # fused iterator that it is; term by term they are told apart.
    simplified = [
        iter_map_simplify([place], domain, analyzer=analyzer)[0] for place in places
    ]
    return analyzer.can_prove_equal(*simplified)


def _covers_domain(block: tir.BlockOp) -> bool:
    """Whether each iteration variable takes all values of its domain, on its own."""
    seen: set[SSAValue] = set()
    for it in block.iters:
        if not tir.is_constant(it.min, 0):
            return False
        if tir.is_constant(it.extent, 1) and tir.is_constant(it.binding, 0):
            continue
        owner = it.binding.owner
        loop = owner.parent_op() if isinstance(owner, Block) else None
        if not isinstance(loop, tir.ForOp) or it.binding in seen:
            return False
        seen.add(it.binding)
        if not tir.is_constant(loop.min, 0) or view(loop.extent) != view(it.extent):
            return False
    return True


def _is_whole(
    block: tir.BlockOp, buffer: tir.BufferDefinition, indices: Sequence[Expr]
) -> bool:
    """Whether the indices are the iteration variables and run over the whole buffer.

    Dimensions of extent 1 and variables that are always 0 do not count.
    """
    wide = [
        (Value(variable), view(it.extent))
        for variable, it in zip(block.iter_vars, block.iters, strict=True)
        if not tir.is_constant(it.extent, 1)
    ]
    extents = [
        smart.const(extent, index.dtype) if isinstance(extent, int) else view(extent)
        for extent, index in zip(buffer.shape, indices, strict=True)
    ]
    own = [
        (index, extent)
        for index, extent in zip(indices, extents, strict=True)
        if smart.literal(extent) != 1
    ]
    return own == wide
