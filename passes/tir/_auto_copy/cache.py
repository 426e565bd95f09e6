"""Copies to shared memory through registers: a loop that fills them, one that stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Mul,
    substitute,
)
from xdsl_tvm.analysis.arith.iter_forms import is_literal
from xdsl_tvm.analysis.arith.iter_map import IterMapLevel, detect_iter_map
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._auto_copy.nest import (
    Loop,
    Nest,
    NestBuilder,
    analyzer_of,
    ranges_of,
)

_MOST_PATHS = 256
"""How many ways to a variable are looked at in an index; with more it is not packed."""


@dataclass(frozen=True)
class Cached:
    """The shape of a cache, and the element of it for an iteration."""

    shape: tuple[int, ...]
    indices: tuple[Expr, ...]


def allocate_cache(
    nest: Nest, like: SSAValue, scope: str, shape: Sequence[int]
) -> tir.AllocBufferOp:
    """A buffer that the copy block allocates, with elements and name of another."""
    definition = tir.buffer_definition(like)
    name, hint = definition.buffer_name, like.name_hint
    suffix = scope.replace(".", "_")
    cache = tir.AllocBufferOp(
        tir.BufferType(shape, definition.type.element_type, scope),
        name=None if name is None else f"{name.data}_{scope}",
    )
    cache.buffer.name_hint = None if hint is None else f"{hint}_{suffix}"
    cache.location = nest.store.location
    Rewriter.insert_op(cache, InsertPoint.at_start(nest.block.body.block))
    return cache


def emit_through_registers(nest: Nest, place: NestBuilder) -> None:
    """Make the loops over threads, and in them loops that read and loops that store."""
    threads = [loop for loop in nest.loops if loop.tag is not None]
    inner = [loop for loop in nest.loops if loop.tag is None]
    found = _packed(nest, inner) or _plain(inner)
    cache = allocate_cache(nest, nest.store.buffer, "local", found.shape)
    place = place.loops(threads)
    copies = [loop.copied("_cache") for loop in inner]
    leaves: dict[Expr, Expr] = {
        old.leaf: new.leaf for old, new in zip(inner, copies, strict=True)
    }
    filling = nest.changed([*threads, *copies], leaves)
    filled = place.loops(copies).guarded(filling.guard)
    value = filled.computed(filling, nest.store.value, {})
    where = [substitute(index, leaves) for index in found.indices]
    filled.store(nest, cache.buffer, where, value)
    drained = place.loops(inner).guarded(nest.guard)
    value = drained.load(cache.buffer, found.indices)
    drained.store(nest, nest.store.buffer, nest.indices, value)


def _plain(loops: Sequence[Loop]) -> Cached:
    """One element for each iteration, by the variables."""
    return Cached(
        tuple(loop.extent for loop in loops), tuple(loop.leaf for loop in loops)
    )


# ---- the shape of what is read ----


def _packed(nest: Nest, loops: Sequence[Loop]) -> Cached | None:
    """The part of the dimensions that are read which the loops run over; None if none.

    Each dimension has the product of what the variables contribute to it.
    """
    load = nest.store.value.owner
    if not isinstance(load, tir.LoadOp) or load.predicate is not None:
        return None
    trees = [nest.tree(index) for index in load.indices]
    if any(map(nest.varies_inside, trees)):
        return None
    shape: list[int] = []
    indices: list[Expr] = []
    variables = {loop.leaf: loop for loop in loops}
    for tree in trees:
        parts = _parts(tree, variables)
        if parts is None:
            return None
        extent, index = 1, smart.const(0, tree.dtype)
        for part in parts:
            index = smart.add(smart.mul(index, part.extent), part.index)
            extent *= part.extent
        shape.append(extent)
        indices.append(index)
    return _if_exact(Cached(tuple(shape), tuple(indices)), loops)


def _if_exact(found: Cached, loops: Sequence[Loop]) -> Cached | None:
    """What was found, if it has an element of its own for each iteration."""
    analyzer = analyzer_of(loops)
    indices = [analyzer.simplify(index) for index in found.indices]
    maps = detect_iter_map(indices, ranges_of(loops), level=IterMapLevel.BIJECTIVE)
    if maps.errors:
        return None
    for extent, total in zip(found.shape, maps.indices, strict=True):
        sizes = [smart.literal(part.extent) for part in total.args]
        scaled = any(not is_literal(part.scale, 1) for part in total.args)
        if scaled or not is_literal(total.base, 0) or sizes not in ([], [extent]):
            return None
    return found


@dataclass(frozen=True)
class _Part:
    """A variable within an index: values of `index` below `extent`, `most` scaled."""

    most: int
    extent: int
    index: Expr

    def times(self, factor: int) -> _Part:
        return _Part(self.most * factor, self.extent, smart.mul(self.index, factor))

    def over(self, divisor: int) -> _Part | None:
        if self.most % divisor and divisor % self.most:
            return None
        most, extent = self.most // divisor, self.extent
        if extent > most:
            extent = max(1, most)
        if most % extent:
            return None
        return _Part(most, extent, smart.floordiv(self.index, divisor))

    def modulo(self, divisor: int) -> _Part | None:
        step = self.most // self.extent
        index = smart.floormod(self.index, divisor)
        if step % divisor == 0:
            return _Part(0, 1, index)
        if divisor % step:
            return None
        extent = max(1, min(self.extent, divisor // step))
        return _Part(extent * step, extent, index)

    def digit(self) -> _Part:
        """The same, counted in steps of one."""
        step = self.most // self.extent
        return _Part(self.extent, self.extent, smart.floordiv(self.index, step))


_Step = Callable[[_Part], "_Part | None"]


def _parts(tree: Expr, variables: dict[Expr, Loop]) -> list[_Part] | None:
    """What the variables contribute to an index; None where that cannot be told."""
    parts: list[_Part] = []
    for count, found in enumerate(_paths(tree, variables)):
        if found is None or count >= _MOST_PATHS:
            return None
        leaf, steps = found
        extent = variables[leaf].extent
        part: _Part | None = _Part(extent, extent, leaf)
        for step in steps:
            part = step(part)
            if part is None:
                return None
        if part.extent > 1:
            parts.append(part.digit())
    return parts


def _paths(
    tree: Expr, variables: dict[Expr, Loop]
) -> Iterator[tuple[Expr, list[_Step]] | None]:
    """The places of variables, each with the steps from it up; None for another op."""
    stack: list[tuple[Expr, tuple[_Step, ...]]] = [(tree, ())]
    while stack:
        node, steps = stack.pop()
        if node in variables:
            yield node, [*reversed(steps)]
        elif isinstance(node, Add):
            stack += [(operand, steps) for operand in reversed(node.operands)]
        elif (step := _step(node)) is not None:
            stack.append((node.operands[0], (*steps, step)))
        elif node.operands:
            yield None


def _step(node: Expr) -> _Step | None:
    if not node.operands or not isinstance(node.operands[-1], Const):
        return None
    number = int(node.operands[-1].value)
    if number <= 0:
        return None
    match node:
        case Mul():
            return lambda part: part.times(number)
        case FloorDiv():
            return lambda part: part.over(number)
        case FloorMod():
            return lambda part: part.modulo(number)
        case _:
            return None
