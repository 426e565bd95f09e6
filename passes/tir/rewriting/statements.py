"""Edits of statements that several passes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_speculatable
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.expr import Expr, leaf_values
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import stored_operands
from xdsl_tvm.dialects.quick_operation import erase as erase_op

_HOLD_TO_END_OF_BLOCK = (
    tir.AllocBufferOp,
    tir.AllocateConstOp,
    tir.AllocateOp,
    tir.AssertOp,
    tir.DeclBufferOp,
    tir.LetOp,
)
_DECLARATIONS = (tir.MatchBufferOp, tir.ShapeVarOp)
_PRAGMA = "pragma_"
_NO_NODE = IntegerAttr(0, i32)
_DIVISIONS = (tir.DivOp, tir.FloorDivOp, tir.FloorModOp, tir.ModOp)
_is_division = of_classes(*_DIVISIONS)
_is_call = of_classes(tir.CallOp)
_is_block = of_classes(Block)


def describe(op: Operation) -> str:
    """`op` as error messages call it: `tir.block "B" in @main`."""
    label = op.name
    if isinstance(op, tir.BlockOp) and op.block_name.data:
        label = f'{label} "{op.block_name.data}"'
    parent = op.parent_op()
    while parent is not None:
        symbol = parent.properties.get("sym_name")
        if isinstance(symbol, StringAttr):
            return f"{label} in @{symbol.data}"
        parent = parent.parent_op()
    return label


def describe_buffer(value: SSAValue) -> str:
    """A buffer as error messages call it, `buffer 'A'`; a pointer is `memory`."""
    if not isinstance(value.type, tir.BufferType):
        return "memory"
    name = tir.buffer_definition(value).buffer_name
    return f"buffer '{value.name_hint if name is None else name.data}'"


def replace_by_body(op: Operation, body: Block) -> None:
    """Put the ops of `body`, which has no arguments, in the place of `op`.

    Allocations and bindings hold to the end of their block. If `body` has some of them
    and ops follow, it becomes a `tir.scope`, so that they live no longer than before.
    The time is linear in the number of ops directly in `body`. A caller that takes
    enclosing ops first thus stays linear, since no op moves twice.
    """
    insert_body_before(op, body, followed=op.next_op is not None)
    Rewriter.erase_op(op)


def insert_body_before(op: Operation, body: Block, *, followed: bool) -> None:
    """Put the ops of `body`, which has no arguments, before `op`.

    `followed` says whether ops will follow them, as in `replace_by_body`.
    """
    block = op.parent
    assert block is not None, "a detached op has no place"
    scoped = followed and any(
        isinstance(child, _HOLD_TO_END_OF_BLOCK) for child in body.ops
    )
    if scoped:
        if body.parent is not None:
            body.parent.detach_block(body)
        scope = tir.ScopeOp(Region(body))
        scope.location = op.location
        block.insert_op_before(scope, op)
    else:
        Rewriter.inline_block(body, InsertPoint.before(op))


def renewed_block(
    old: tir.BlockOp,
    name: str,
    iters: Sequence[tir.IterVar],
    predicate: SSAValue | None,
) -> tir.BlockOp:
    """A block in the place of another one, with its body, which has the arguments."""
    body = old.detach_region(old.body)
    block = tir.BlockOp(
        name, iters, body, predicate=predicate, annotations=old.annotations
    )
    block.location = old.location
    block.attributes |= old.attributes
    Rewriter.replace_op(old, block)
    return block


def taken_ops(block: Block) -> list[Operation]:
    """The ops of a block, which are taken out of it."""
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return ops


PARTITION_HINT = "pragma_loop_partition_hint"
"""The pragma that LoopPartition reads on a loop itself."""
Pragma = tuple[str, Attribute]
"""A `pragma_*` annotation: its key and its value."""


def pragmas_of(annotations: DictionaryAttr | None) -> list[Pragma]:
    """The `pragma_*` entries, sorted by key: the first stands for the outermost scope.

    A hint to split a loop is left out, since it says nothing without the loop.
    """
    if annotations is None:
        return []
    return sorted(
        (key, value)
        for key, value in annotations.data.items()
        if key.startswith(_PRAGMA) and key != PARTITION_HINT
    )


def within_pragmas(op: Operation, body: Block, pragmas: Sequence[Pragma]) -> Block:
    """`body` inside of the `tir.attr` scopes that the pragmas of `op` stand for."""
    for key, value in reversed(pragmas):
        pragma = tir.AttrOp(key, _NO_NODE, value, Region(body))
        pragma.location = op.location
        body = Block([pragma])
    return body


def enclose_in_pragmas(loop: tir.ForOp) -> None:
    """Put the `tir.attr` scopes that the pragmas of `loop` stand for around it."""
    block, body = loop.parent, Block()
    assert block is not None, "a detached op has no place"
    outermost = within_pragmas(loop, body, pragmas_of(loop.annotations)).first_op
    if outermost is not None:
        outermost.detach()
        block.insert_op_before(outermost, loop)
        loop.detach()
        body.add_op(loop)


def erase_if_unused(
    values: Iterable[SSAValue], erase: Callable[[Operation], None] = erase_op
) -> None:
    """Erase the expressions of `values` that nothing uses, and so on upward.

    Only ops without effects other than reads are erased, and of those with regions only
    choices. A pattern erases by its rewriter, `erase`.
    """
    pending = [value.owner for value in values]
    while pending:
        op = pending.pop()
        if _is_block(op) or op.parent is None:
            continue
        if op.regions and not isinstance(op, tir.IfThenElseOp):
            continue
        if is_trivially_dead(op):
            pending += [
                operand.owner
                for inner in (all_ops(op) if op.regions else (op,))
                for operand in stored_operands(inner)
                if inner is op or not op.is_ancestor(operand.owner)
            ]
            erase(op)


def names_variable(use: Use) -> bool:
    """Whether a use names a variable, where no expression can be used.

    The threads of a `tir.thread_allreduce` and the node of a `tir.attr` are named; all
    other operands use the value.
    """
    op = use.operation
    match op:
        case tir.ThreadAllreduceOp():
            return use.index >= len(op.operands) - len(op.threads)
        case tir.AttrOp():
            return op.node is not None and use.index == 0
        case _:
            return False


def replace_value_uses(variable: SSAValue, value: SSAValue) -> None:
    """Use `value` instead of a variable, except where an op names the variable."""
    variable.replace_uses_with_if(value, lambda use: not names_variable(use))


def may_write(op: Operation) -> bool:
    """Whether an op, apart from what its regions hold, may write memory."""
    return own_effect(op) in (tir.CallEffect.UPDATE_STATE, tir.CallEffect.CONTROL_JUMP)


def is_computed_inside(tree: Expr, root: Operation) -> bool:
    """Whether a tree has leaves that `root` holds, so that it has no value around it."""
    return any(root.is_ancestor(value.owner) for value in leaf_values(tree))


def can_speculate(op: Operation) -> bool:
    """Whether `op` may run where it would not have: it has no effect and cannot fail."""
    if _is_division(op):
        divisor = tir.constant_value(op.rhs)
        return tir.is_float(op.result.type) or (divisor is not None and divisor > 0)
    if _is_call(op):
        known = tir.INTRINSICS.get(op.callee.data)
        return known is not None and known.effect <= tir.CallEffect.PURE
    return is_speculatable(op)


def signature_of(block: Block) -> set[Operation]:
    """The declarations of parameters' buffers in a block, and all that they need."""
    pending: list[Operation] = [op for op in block.ops if isinstance(op, _DECLARATIONS)]
    found = set(pending)
    while pending:
        for operand in pending.pop().operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner not in found:
                found.add(owner)
                pending.append(owner)
    return found
