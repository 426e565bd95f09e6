"""Which stores change nothing that is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith.expr import Expr, Value, postorder
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.memory_order import Facts, Memory, memory_of
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir

_VOLATILE = "volatile_scope"
_MAX_NODES = 64
"""Larger trees are not searched for what was read from where they are stored."""


class NeedlessStores:
    """Questions about the stores in a program, asked during a walk over it.

    `walker` knows what holds where the question is asked. Without a dataflow, only what
    has just been read from where it is stored is found out.
    """

    def __init__(
        self, root: Operation, walker: FactsWalker, flow: ControlFlow | None
    ) -> None:
        self._root = root
        self._walker = walker
        self._analyzer = walker.analyzer
        self._flow = flow
        self._volatile = _volatile_memory(root)

    @cached_property
    def _facts(self) -> Facts:
        """Where writes are; few stores ask for it."""
        return Facts([self._root])

    def is_volatile(self, store: tir.StoreOp) -> bool:
        """Whether a store may be to volatile memory, so that it must stay."""
        memory = memory_of(store.buffer)
        return bool(self._volatile) and (
            memory is None or bool(self._volatile & {memory, None})
        )

    def is_overwritten(self, store: tir.StoreOp) -> bool:
        """Whether all that is stored is written again before it is read."""
        return self._flow is not None and self._flow.is_overwritten(store, self._analyzer)

    def is_there(self, store: tir.StoreOp) -> bool:
        """Whether memory certainly holds what is stored, by the dataflow."""
        if self._flow is None:
            return False
        held = self._flow.value_at(store, self._analyzer)
        if held is None:
            return False
        value = self._walker.tree(store.value)
        return self._is_equal(value, held) or self._is_equal(self._known(value), held)

    def _known(self, tree: Expr) -> Expr:
        """A tree with what memory is known to hold."""
        if self._flow is None:
            return tree
        return self._flow.with_known_values(tree, self._analyzer)

    def is_read_from_there(self, store: tir.StoreOp) -> bool:
        """Whether the value is what a load of the same element has given."""
        value = self._walker.tree(store.value)
        nodes = list(islice(postorder(value), _MAX_NODES + 1))
        if len(nodes) > _MAX_NODES:
            return False
        return any(
            isinstance(node, Value)
            and isinstance(read := node.value.owner, tir.LoadOp)
            and self._is_same_element(read, store)
            and (self._is_equal(value, node) or self._is_equal(self._known(value), node))
            # Last: where writes are takes a walk over the program.
            and not self._facts.is_written_between(read, store)
            for node in nodes
        )

    def _is_same_element(self, read: tir.LoadOp, store: tir.StoreOp) -> bool:
        """Whether a load has read all that a store writes, in the same iteration."""
        return (
            read.result.type == store.value.type
            and read.predicate in (None, store.predicate)
            and len(read.indices) == len(store.indices)
            and self._is_same_buffer(read.buffer, store.buffer)
            and _runs_once(store, read.parent)
            and self._are_equal(tuple(read.indices), tuple(store.indices))
        )

    def _is_same_buffer(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether two buffers have the same elements at the same indices."""
        if one is other:
            return True
        first, second = tir.buffer_definition(one), tir.buffer_definition(other)
        return (
            _pointer_of(one) is _pointer_of(other)
            and first.type.element_type == second.type.element_type
            and self._are_equal(first.shape, second.shape)
            and self._are_equal(first.layout_strides, second.layout_strides)
            and self._are_equal(_offset_of(first), _offset_of(second))
        )

    def _are_equal(
        self, some: Sequence[SSAValue | int], others: Sequence[SSAValue | int]
    ) -> bool:
        if len(some) != len(others):
            return False
        return all(
            one == other
            if isinstance(one, int) or isinstance(other, int)
            else self._is_equal(self._walker.tree(one), self._walker.tree(other))
            for one, other in zip(some, others, strict=True)
        )

    def _is_equal(self, one: Expr, other: Expr) -> bool:
        if one is other:
            return True
        if one.dtype != other.dtype:
            return False
        simplify = self._analyzer.simplify
        return simplify(one) is simplify(other) or self._analyzer.can_prove_equal(
            one, other
        )


def _volatile_memory(root: Operation) -> set[Memory]:
    return {
        memory_of(op.node_item) if isinstance(op.node_item, SSAValue) else None
        for op in ops_of(root, tir.AttrOp)
        if op.key.data == _VOLATILE
    }


def _runs_once(op: Operation, block: Block | None) -> bool:
    """Whether an op is in a block, or in ops there that run what is in them once."""
    while op.parent is not block:
        parent = op.parent_op()
        if not isinstance(parent, _ONCE):
            return False
        op = parent
    return True


_ONCE = (tir.IfOp, tir.BlockOp, tir.InitOp, tir.ScopeOp, tir.AttrOp)


def _pointer_of(value: SSAValue) -> SSAValue:
    """What stands for the data pointer of a buffer, or for a pointer."""
    return origin(value, (tir.DeclBufferOp, tir.DataOp, tir.LetOp))


def _offset_of(definition: tir.BufferDefinition) -> Sequence[SSAValue]:
    return () if definition.elem_offset is None else (definition.elem_offset,)
