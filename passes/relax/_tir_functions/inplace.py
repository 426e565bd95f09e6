"""TIR functions that write their result over one of their arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused

NOALIAS = "tir.noalias"


def inplace_function(
    func: tir.FuncOp,
    written: Sequence[int],
    first_output: int,
    shared: Collection[int],
) -> tir.FuncOp | None:
    """A copy of a function whose outputs are arguments; not inserted anywhere.

    Output `i`, which is parameter `first_output + i`, becomes argument `written[i]`.
    `shared` are the arguments that are the same tensor as a written one, with which the
    function loses its `tir.noalias`. None unless each output is written by one block,
    once per element, that reads the argument at that very element, and nothing reads the
    argument later.
    """
    copy = func.clone()
    if shared:
        copy.attributes.pop(NOALIAS, None)
    buffers = {arg.index: op for arg, op in copy.buffer_map.items()}
    for number, place in enumerate(written):
        output, argument = buffers.get(first_output + number), buffers.get(place)
        if output is None or argument is None:
            return None
        if output.buffer.type != argument.buffer.type:
            return None
        same = [buffers[index].buffer for index in shared if index in buffers]
        if not _is_elementwise(output.buffer, [argument.buffer, *same]):
            return None
    for number, place in enumerate(written):
        _unite(buffers[first_output + number], buffers[place])
    _drop_parameters(copy, first_output, len(written))
    return copy


def _unite(output: tir.MatchBufferOp, argument: tir.MatchBufferOp) -> None:
    output.buffer.replace_all_uses_with(argument.buffer)
    extents = [extent for extent in output.shape if isinstance(extent, SSAValue)]
    Rewriter.erase_op(output)
    erase_if_unused(extents)


def _drop_parameters(func: tir.FuncOp, first: int, count: int) -> None:
    block = func.body.block
    for parameter in block.args[first : first + count]:
        block.erase_arg(parameter)
    types = func.function_type
    func.function_type = FunctionType.from_lists(
        [arg.type for arg in block.args], list(types.outputs)
    )
    if func.param_names is not None:
        names = list(func.param_names)
        del names[first : first + count]
        func.param_names = ArrayAttr(names)


# ---- whether elements are read where they are written, and not later ----


def _is_elementwise(output: SSAValue, arguments: Sequence[SSAValue]) -> bool:
    """Whether `output` may be the memory of `arguments` without a change of results."""
    stores = [op for op in _accesses(output) if isinstance(op, tir.StoreOp)]
    if len(stores) != 1:
        return False
    (store,) = stores
    nest = _nest_once_per_element(store)
    if nest is None:
        return False
    if any(op is not store and _place(op, nest) <= 0 for op in _accesses(output)):
        return False
    return all(
        isinstance(op, tir.LoadOp)
        and (place := _place(op, nest)) <= 0
        and (place < 0 or _reads_before(op, store))
        for argument in arguments
        for op in _accesses(argument)
    )


def _accesses(buffer: SSAValue) -> list[Operation]:
    """What uses a buffer, without the declarations of blocks."""
    users = [use.operation for use in buffer.uses]
    return [op for op in users if not isinstance(op, tir.ReadsOp | tir.WritesOp)]


def _nest_once_per_element(store: tir.StoreOp) -> Operation | None:
    """The loops around the block of a store, if they run it once for each element."""
    block = store.parent_op()
    if not isinstance(block, tir.BlockOp):
        return None
    loops = list[SSAValue]()
    nest: Operation = block
    while isinstance(parent := nest.parent_op(), tir.ForOp):
        loops.append(parent.loop_var)
        nest = parent
    is_once = (
        isinstance(parent, tir.BlockOp)
        and not parent.iter_vars
        and isinstance(parent.parent_op(), tir.FuncOp)
        and block.predicate is None
        and store.predicate is None
        and all(kind.data == tir.IterKind.SPATIAL for kind in block.iter_kinds)
        and len(loops) == len(block.iter_vars)
        and set(loops) == set(block.iter_values)
        and set(block.iter_vars) <= set(store.indices)
    )
    return nest if is_once else None


def _place(op: Operation, nest: Operation) -> int:
    """Where an operation is: -1 before the loops, 0 in them, 1 otherwise."""
    block = nest.parent_block()
    ancestor = None if block is None else block.find_ancestor_op_in_block(op)
    if ancestor is nest:
        return 0
    return -1 if ancestor is not None and ancestor.is_before_in_block(nest) else 1


def _reads_before(load: tir.LoadOp, store: tir.StoreOp) -> bool:
    """Whether a load, before a store, reads the element that is stored."""
    if load.parent_block() is not store.parent_block():
        return False
    type_ = store.buffer.type
    assert isinstance(type_, tir.BufferType), "verified"
    return load.is_before_in_block(store) and all(
        a is b or extent == 1
        for a, b, extent in zip(
            load.indices, store.indices, type_.get_shape(), strict=True
        )
    )
