"""What the statements of asynchronous stages must be: plain copies, once per element.

Such a statement starts its stores and does not wait for them, so it must neither read
what it has written nor write anything a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Ramp,
    Value,
    leaf_values,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.iter_map import IterMapLevel, detect_iter_map
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.analysis.tir.thread_points import evaluate
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect
from xdsl_tvm.passes.tir._software_pipeline.conflicts import fresh_leaf
from xdsl_tvm.passes.tir._software_pipeline.statements import effect_of
from xdsl_tvm.passes.tir.rewriting.statements import describe


def check_copies(statement: tir.BlockOp, analyzer: Analyzer) -> None:
    """Raise PassFailedException unless a statement may run asynchronously."""
    loads: set[Memory] = set()
    stores: dict[Memory, list[tir.StoreOp]] = {}
    for op in statement.walk():
        match op:
            case tir.LoadOp():
                loads.add(memory_of(op.buffer, distinct_parameters=True))
            case tir.StoreOp():
                memory = memory_of(op.buffer, distinct_parameters=True)
                stores.setdefault(memory, []).append(op)
            case _ if effect_of(op) >= CallEffect.READ_STATE or _is_marked(op):
                raise PassFailedException(
                    f"{describe(op)} is in an asynchronous stage, where only loads and "
                    "stores may be; take the stage out of software_pipeline_async_stages"
                )
            case _:
                pass
    for memory, found in stores.items():
        if memory in loads or None in loads or memory is None:
            raise PassFailedException(
                f"{describe(found[0])} writes what its asynchronous statement reads; "
                "take the stage out of software_pipeline_async_stages"
            )
        if not _once(found, statement, analyzer):
            raise PassFailedException(
                f"{describe(found[0])} is asynchronous and cannot be shown to write each "
                "element once; take the stage out of software_pipeline_async_stages"
            )


def _is_marked(op: Operation) -> bool:
    """Whether an attribute says that statements are asynchronous already."""
    return isinstance(op, tir.AttrOp) and op.key.data.startswith("async_")


def _once(
    stores: Sequence[tir.StoreOp], statement: tir.BlockOp, analyzer: Analyzer
) -> bool:
    """Whether stores of one memory never write an element twice."""
    first = stores[0]
    loops = _loops_around(first, statement)
    if loops is None:
        return False
    trees: dict[SSAValue, Expr] = {}
    for op in statement.walk():
        if isinstance(op, tir.LetOp) and op.value.type == op.result.type:
            trees[op.result] = view(op.value, trees)
    indices = [view(index, trees) for index in first.indices]
    for other in stores[1:]:
        same = [view(index, trees) for index in other.indices] == indices
        if other.buffer is not first.buffer or not same:
            return False
    if not all(_are_alternatives(*pair) for pair in combinations(stores, 2)):
        return False
    return _is_injective(indices, loops, statement, analyzer)


def _loops_around(op: Operation, statement: tir.BlockOp) -> list[tir.ForOp] | None:
    """The loops of a statement around an op; None if one is no `tir.for`."""
    found: list[tir.ForOp] = []
    parent = op.parent_op()
    while parent is not None and parent is not statement:
        if isinstance(parent, tir.ForOp):
            found.append(parent)
        elif not isinstance(parent, tir.IfOp | tir.BlockOp | tir.ScopeOp | tir.AttrOp):
            return None
        parent = parent.parent_op()
    return found


def _are_alternatives(one: Operation, other: Operation) -> bool:
    """Whether only one of two ops runs, as they are the branches of one condition."""
    region = one.parent_region()
    return (
        region is not None
        and region is not other.parent_region()
        and isinstance(one.parent_op(), tir.IfOp)
        and one.parent_op() is other.parent_op()
    )


def _is_injective(
    indices: Sequence[Expr],
    loops: Sequence[tir.ForOp],
    statement: tir.BlockOp,
    analyzer: Analyzer,
) -> bool:
    """Whether the indices differ for all different iterations of the loops."""
    variables: dict[Expr, Range] = {
        Value(loop.loop_var): Range(view(loop.min), view(loop.extent)) for loop in loops
    }
    scalars: list[Expr] = []
    for index in indices:
        if isinstance(index, Ramp):
            lanes = tir.lanes_of(index.dtype)
            if tir.is_scalable(index.dtype):
                return False
            lane = fresh_leaf(index.base.dtype)
            zero = smart.const(0, lane.dtype)
            variables[lane] = Range(zero, smart.const(lanes, lane.dtype))
            index = smart.add(index.base, smart.mul(lane, index.stride))
        scalars.append(index)
    known = set(variables)
    if any(_is_made_in(leaf, statement, known) for leaf in leaf_values(*scalars)):
        return False
    if not _open(known, scalars, analyzer):
        return True
    with analyzer.assumed(()):
        found = detect_iter_map(
            scalars, variables, level=IterMapLevel.BIJECTIVE, analyzer=analyzer
        )
    return bool(found.indices) or _differ_everywhere(scalars, variables, analyzer)


def _differ_everywhere(
    indices: Sequence[Expr], variables: Mapping[Expr, Range], analyzer: Analyzer
) -> bool:
    """Whether evaluating the indices shows that they differ, at few enough points.

    Of what the indices depend on besides the loops, such as threads, each value is taken
    for itself.
    """
    leaves = [Value(leaf) for leaf in leaf_values(*indices)]
    leaves += [variable for variable in variables if variable not in leaves]
    ends = [_values(leaf, variables, analyzer) for leaf in leaves]
    if prod(last - first + 1 for first, last in ends) > _MOST_POINTS:
        return False
    grid = np.indices([int(last - first) + 1 for first, last in ends], np.int64)
    rows = grid.reshape(len(leaves), -1)
    columns: dict[SSAValue, Any] = {}
    points: list[Any] = []
    for leaf, (first, _), row in zip(leaves, ends, rows, strict=True):
        assert isinstance(leaf, Value)
        columns[leaf.value] = row + int(first)
        if leaf not in variables:
            points.append(row)
    for index in indices:
        found = evaluate(index, columns)
        if found is None:
            return False
        points.append(np.broadcast_to(found, rows.shape[1:]))
    return np.unique(np.stack(points), axis=1).shape[1] == rows.shape[1]


def _values(
    leaf: Expr, variables: Mapping[Expr, Range], analyzer: Analyzer
) -> tuple[float, float]:
    """The least and the greatest value of a leaf."""
    known = variables.get(leaf)
    if known is not None:
        low, extent = smart.literal(known.min), smart.literal(known.extent)
        if low is not None and extent is not None:
            return low, low + extent - 1
    bound = analyzer.const_int_bound(leaf)
    return bound.min, bound.max


_MOST_POINTS = 1 << 16


def _is_made_in(leaf: SSAValue, statement: tir.BlockOp, known: set[Expr]) -> bool:
    if Value(leaf) in known:
        return False
    owner = leaf.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    return op is not None and statement.is_ancestor(op)


def _open(known: set[Expr], indices: Sequence[Expr], analyzer: Analyzer) -> set[Expr]:
    """The variables that the indices do not determine one after the other.

    An index determines the variable that it depends on by a constant step, if all others
    that it depends on are determined.
    """
    rest, before = set(known), -1
    while len(rest) != before:
        before = len(rest)
        for index in indices:
            used = {Value(leaf) for leaf in leaf_values(analyzer.simplify(index))} & rest
            steps = (_has_constant_step(index, each, analyzer) for each in used)
            if len(used) == 1 and all(steps):
                rest -= used
    return rest


def _has_constant_step(index: Expr, variable: Expr, analyzer: Analyzer) -> bool:
    if index.dtype != variable.dtype:
        return False
    after = substitute(index, {variable: smart.add(variable, 1)})
    step = smart.literal(analyzer.simplify(smart.sub(after, index)))
    return step is not None and step != 0
