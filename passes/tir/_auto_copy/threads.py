"""The threads around a copy: their axes, and which of them the copy depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.passes.tir._auto_copy.nest import scope_of

WARP = 32
"""Lanes of a warp."""
AXES = ("threadIdx.z", "threadIdx.y", "threadIdx.x")
"""The axes that copies are spread over, from the outermost on."""
_LANES = "threadIdx.x"

Binding: TypeAlias = "tir.ForOp | tir.LaunchThreadOp"


def tag_of(op: Operation) -> str | None:
    """The thread axis that an op binds."""
    if isinstance(op, tir.LaunchThreadOp):
        return op.tag.data
    if isinstance(op, tir.ForOp) and op.thread_tag is not None:
        return op.thread_tag.data
    return None


def flag(block: tir.BlockOp, key: str) -> bool:
    """Whether an annotation of a block is set."""
    return block.annotations is not None and is_true(block.annotations.data.get(key))


def extents_of(root: Operation) -> dict[str, int]:
    """The extents of the thread axes bound in an op; the last of each counts.

    A block that warps execute has 32 lanes, as do blocks in it.
    """
    found: dict[str, int] = {}
    parent = root.parent_op()
    while parent is not None:
        _add_extent(parent, found)
        parent = parent.parent_op()
    for op in root.walk():
        _add_extent(op, found)
    return found


def _add_extent(op: Operation, found: dict[str, int]) -> None:
    if isinstance(op, tir.BlockOp) and flag(op, "warp_execution"):
        found[_LANES] = WARP
        return
    tag = tag_of(op)
    if tag is None:
        return
    assert isinstance(op, tir.ForOp | tir.LaunchThreadOp)
    extent = tir.constant_value(op.extent)
    if extent is not None:
        found[tag] = int(extent)


@dataclass(frozen=True)
class Surroundings:
    """The thread axes around a block, and those of its kernel by tag."""

    block: tir.BlockOp
    extents: dict[str, int]

    @staticmethod
    def of(block: tir.BlockOp, known: dict[Operation, dict[str, int]]) -> Surroundings:
        """Those of a block; `known` keeps what was found for a kernel."""
        root: Operation = block
        for op in _ancestors(block):
            if tag_of(op) is not None:
                root = op
        if root is block:
            root = next(
                (op for op in _ancestors(block) if isinstance(op, tir.FuncOp)), block
            )
        if root not in known:
            known[root] = extents_of(root)
        return Surroundings(block, known[root])

    def tags(self) -> list[str]:
        """The axes bound around the block, from the outermost on."""
        found = [tag for op in _ancestors(self.block) if (tag := tag_of(op)) is not None]
        return list(dict.fromkeys(reversed(found)))

    def bindings(self, tag: str) -> list[Binding]:
        """The ops around the block that bind an axis, from the outermost on."""
        found = [op for op in _ancestors(self.block) if tag_of(op) == tag]
        found.reverse()
        return [op for op in found if isinstance(op, tir.ForOp | tir.LaunchThreadOp)]

    def independent_axes(self) -> list[tuple[str, int]]:
        """The axes with known extents whose threads would all do the same copy."""
        influence = influence_on((*_values_of(self.block), *self.conditions()))
        return [axis for axis in self.axes() if not self._depends(axis[0], influence)]

    def axes(self) -> list[tuple[str, int]]:
        """The axes with known extents."""
        return [(tag, self.extents[tag]) for tag in AXES if tag in self.extents]

    def _depends(self, tag: str, influence: Influence) -> bool:
        variables = {op.body.block.args[0] for op in self.bindings(tag)}
        return bool(variables) and (
            influence.is_private or not variables.isdisjoint(influence.roots)
        )

    def depends_on_lanes(self) -> bool:
        """Whether the lanes of a warp would do different copies."""
        influence = influence_on((*_indices_of(self.block), *self.conditions()))
        return self._depends(_LANES, influence)

    def conditions(self) -> Iterator[SSAValue]:
        """What decides whether, and how often, the block runs."""
        yield from self.block.operands
        for op in _ancestors(self.block):
            yield from op.operands
            if isinstance(op, tir.WhileOp):
                for inner in op.regions[0].walk():
                    yield from inner.operands


def _ancestors(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _values_of(block: tir.BlockOp) -> Iterator[SSAValue]:
    """What the ops of a block use, but for the regions that it declares."""
    for op in block.body.walk():
        if not isinstance(op, tir.ReadsOp | tir.WritesOp):
            yield from op.operands


def _indices_of(block: tir.BlockOp) -> Iterator[SSAValue]:
    """Where the ops of a block read and write."""
    for op in block.body.walk():
        if isinstance(op, tir.LoadOp | tir.StoreOp):
            yield from op.indices


# ---- what values depend on ----


@dataclass
class Influence:
    """The arguments of blocks of ops that values depend on, and whether on more.

    `is_private` says that memory which each thread has for itself is read, or something
    that is not known.
    """

    roots: set[SSAValue]
    is_private: bool = False


def influence_on(values: Iterable[SSAValue]) -> Influence:
    """What values depend on. Linear in the ops of them."""
    found = Influence(set())
    seen: set[SSAValue] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, Block):
            found.roots.add(value)
            parent = owner.parent_op()
            if isinstance(parent, tir.BlockOp):
                pending += parent.iter_values
            elif isinstance(parent, tir.ForOp):
                pending += parent.operands
            continue
        for op in owner.walk():
            pending += op.operands
            found.is_private |= _reads_private(op)
    return found


def _reads_private(op: Operation) -> bool:
    if isinstance(op, tir.LoadOp):
        return not scope_of(op.buffer).is_shared_by_threads
    if isinstance(op, tir.BufferDefinition | tir.YieldOp):
        return False
    return own_effect(op) > CallEffect.PURE
