"""Loads that certainly read the same, for facts and expressions that mention both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import islice

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import Expr, Value, postorder
from xdsl_tvm.analysis.tir.memory_flow import is_volatile
from xdsl_tvm.analysis.tir.memory_order import Facts
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes

MAX_NODES = 128
"""Nodes of a tree whose loads are compared."""

_Element = tuple[SSAValue, tuple[Expr, ...]]


class EqualLoads:
    """Which loads below an op read one element of one state of the memory.

    Two loads are equal if their buffer and the trees of their indices are the same, they
    have no predicate, memory is not volatile, and no write that may reach the memory is
    between them. Where both dominate an op, their values there are equal. The program may
    lose ops while questions are asked, and indices may change to equal ones; loads and
    writes must not be added. Trees of more than `MAX_NODES` nodes have no equal loads, so
    that a question takes time linear in the number of ops around a load.
    """

    def __init__(self, root: Operation, tree: Callable[[SSAValue], Expr]) -> None:
        self._root = root
        self._tree = tree
        self._first: dict[tuple[_Element, int], Value] = {}
        self._known: dict[Expr, list[tir.LoadOp]] = {}
        """The loads in trees that were asked about."""

    @cached_property
    def _facts(self) -> Facts:
        return Facts([self._root])

    def representatives(self, tree: Expr) -> dict[Expr, Expr]:
        """For loads in the tree, the first equal one in the program that was asked about.

        It need not dominate the others: it tells equal values apart from unequal ones. A
        fact about it must be in a scope that the loads in the tree dominate.
        """
        found: dict[Expr, Expr] = {}
        for load in _loads(tree):
            key = self._key(load)
            if key is not None:
                first = self._first.setdefault(key, Value(load.result))
                if first.value is not load.result:
                    found[Value(load.result)] = first
        return found

    def repeated(self, tree: Expr) -> dict[Expr, Expr]:
        """For loads in the tree, an equal one that is before it in the tree."""
        loads = self._known.get(tree)
        if loads is None:
            loads = self._known[tree] = _loads(tree)
        if len(loads) < 2:
            return {}
        by_element: dict[_Element, list[tir.LoadOp]] = {}
        for load in loads:
            by_element.setdefault(self._element(load), []).append(load)
        found: dict[Expr, Expr] = {}
        for equal in by_element.values():
            first: dict[tuple[_Element, int], Value] = {}
            for load in equal if len(equal) > 1 else ():
                key = self._key(load)
                if key is None:
                    continue
                kept = first.setdefault(key, Value(load.result))
                if kept.value is not load.result:
                    found[Value(load.result)] = kept
        return found

    def _element(self, load: tir.LoadOp) -> _Element:
        return load.buffer, tuple(map(self._tree, load.indices))

    def _key(self, load: tir.LoadOp) -> tuple[_Element, int] | None:
        """What is read, and in which state of the memory; None if that is not known."""
        if load.predicate is not None:
            return None
        parent = load.parent_op()
        while parent is not None:
            if is_volatile(parent):
                return None
            parent = parent.parent_op()
        return self._element(load), self._facts.state(load)


def _loads(tree: Expr) -> list[tir.LoadOp]:
    """The loads in a tree; none of a large one, parts of which many uses may share."""
    nodes = list(islice(postorder(tree), MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        return []
    owners = [node.payload.owner for node in nodes if node.__class__ is Value]
    return [owner for owner in owners if _is_load(owner)]


_is_load = of_classes(tir.LoadOp)
