"""Strides of shared memory with which the lanes of a warp meet few banks twice.

Shared memory has 32 banks of 32 bits. While copies are rewritten, `Padder.record` notes
which elements a warp touches at once; `Padder.apply` then chooses, dimension by
dimension, the padding with the fewest lanes on one bank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import lcm

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Mul,
    Value,
    fold,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.smart import literal
from xdsl_tvm.analysis.derivation import origin
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._auto_copy.nest import element_bits, scope_of
from xdsl_tvm.passes.tir._auto_copy.threads import WARP

_BANKS = 32
_BANK_BITS = 32
_ROW_BITS = _BANKS * _BANK_BITS
_LANE_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
_MOVES = ("tvm_load_matrix_sync", "tvm_store_matrix_sync")
_SYNTHETIC = "r"

Access = tuple[tuple[int, ...], ...]
"""For each dimension the indices that a warp uses at once; empty where unknown."""


@dataclass
class _Record:
    """What is known of the accesses of a buffer."""

    accesses: dict[Access, None] = field(default_factory=dict[Access, None])
    """Each once, in order."""
    multiple: int = 1
    """What paddings are multiples of."""


class Padder:
    """Collects the accesses of copies to shared buffers, and sets their strides."""

    def __init__(self) -> None:
        self._records: dict[tir.AllocBufferOp, _Record] = {}

    def require_multiple(self, buffer: SSAValue, multiple: int) -> None:
        """Let the rows of a buffer begin at multiples of so many elements."""
        alloc = _allocation(buffer)
        if alloc is not None:
            record = self._records.setdefault(alloc, _Record())
            record.multiple = lcm(record.multiple, multiple)

    def record(self, block: tir.BlockOp, extents: dict[str, int]) -> None:
        """Note what a rewritten copy block accesses; `extents` are those of threads."""
        for alloc, access in _Accesses(block, extents).found():
            self._records.setdefault(alloc, _Record()).accesses[access] = None

    def apply(self) -> None:
        """Give the buffers with recorded accesses their strides."""
        for alloc, record in self._records.items():
            if record.accesses and _may_pad(alloc):
                lanes = map(_vector_lanes, _element_accesses(alloc.buffer))
                strides = padded_strides(
                    alloc.type.get_shape(),
                    element_bits(alloc.buffer),
                    list(record.accesses),
                    lcm(record.multiple, *lanes),
                )
                alloc.properties["static_strides"] = DenseArrayBase.from_list(
                    i64, strides
                )


def _allocation(buffer: SSAValue) -> tir.AllocBufferOp | None:
    """The op that allocates a shared buffer, the source of views."""
    owner = origin(buffer, (tir.MatchRegionOp,)).owner
    if not isinstance(owner, tir.AllocBufferOp):
        return None
    shared = scope_of(owner.buffer).rank is tir.StorageRank.SHARED
    return owner if shared else None


# ---- which buffers ----


def _may_pad(alloc: tir.AllocBufferOp) -> bool:
    """Whether nothing relies on the rows of a buffer following each other."""
    return (
        not alloc.extents
        and not alloc.layout_strides
        and alloc.axis_separators is None
        and all(_allows_strides(op) for op in _users(alloc.buffer))
    )


def _users(buffer: SSAValue) -> list[Operation]:
    return list(dict.fromkeys(use.operation for use in buffer.uses))


def _allows_strides(op: Operation) -> bool:
    match op:
        case tir.LoadOp() | tir.StoreOp() | tir.ReadsOp() | tir.WritesOp():
            return True
        case tir.MatchRegionOp():
            strides = op.layout_strides
            known = any(isinstance(one, int) for one in strides[:-1])
            if known or (strides and isinstance(strides[-1], int) and strides[-1] != 1):
                return False
            return bool(strides) or all(map(_allows_strides, _users(op.buffer)))
        case _:
            return False


def _element_accesses(buffer: SSAValue) -> Iterator[tir.LoadOp | tir.StoreOp]:
    """The loads and stores of a buffer, also through views."""
    for op in _users(buffer):
        if isinstance(op, tir.LoadOp | tir.StoreOp):
            yield op
        elif isinstance(op, tir.MatchRegionOp):
            yield from _element_accesses(op.buffer)


def _vector_lanes(access: tir.LoadOp | tir.StoreOp) -> int:
    """How many neighbours an access may take at once, which must stay in line."""
    if access.indices and (lanes := tir.lanes_of(access.indices[-1].type)) > 1:
        return lanes
    parent = access.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp) and parent.kind.data is tir.ForKind.VECTORIZED:
            return _lanes_of_loop(access, parent)
        parent = parent.parent_op()
    return 1


def _lanes_of_loop(access: tir.LoadOp | tir.StoreOp, loop: tir.ForOp) -> int:
    extent = tir.constant_value(loop.extent)
    if extent is None or extent <= 1 or not access.indices:
        return 1
    tree = view(access.indices[-1])
    dtype = loop.loop_var.type
    ends = [
        substitute(tree, {Value(loop.loop_var): smart.const(lane, dtype)})
        for lane in (0, 1)
    ]
    number = smart.literal(Analyzer().simplify(smart.sub(ends[1], ends[0])))
    return int(extent) if number is None or number == 1 else 1


# ---- what a warp accesses at once ----


class _Accesses:
    """The accesses of one block, as of the first iteration of all loops in a warp."""

    def __init__(self, block: tir.BlockOp, extents: dict[str, int]) -> None:
        self._block = block
        # It knows no ranges: an index that varies between warps only is no constant.
        self._analyzer = Analyzer()
        self._ranges: dict[Expr, int] = {}
        self._values: dict[Expr, Expr] = {}
        self._lanes = _lane_extents(extents)
        parent = block.parent_op()
        outer: list[tir.ForOp] = []
        while parent is not None:
            if isinstance(parent, tir.ForOp):
                outer.append(parent)
            parent = parent.parent_op()
        for loop in reversed(outer):
            self._fix(loop)

    def found(self) -> Iterator[tuple[tir.AllocBufferOp, Access]]:
        """The accesses of shared buffers."""
        pending = list(reversed(list(self._block.body.block.ops)))
        while pending:
            op = pending.pop()
            if isinstance(op, tir.BlockOp):
                yield from self._moved(op)
                continue
            if isinstance(op, tir.LoadOp | tir.StoreOp):
                yield from self._accessed(op.buffer, map(view, op.indices))
            elif isinstance(op, tir.ForOp):
                self._enter(op)
            for region in reversed(op.regions):
                for inner in reversed(region.blocks):
                    pending += reversed(list(inner.ops))

    def _fix(self, loop: tir.ForOp) -> None:
        """Let a loop be at its first iteration."""
        self._values[Value(loop.loop_var)] = self._tree(view(loop.min))

    def _enter(self, loop: tir.ForOp) -> None:
        if loop.thread_tag is None:
            self._fix(loop)
            return
        extent = self._lanes.get(loop.thread_tag.data, 1)
        self._ranges[Value(loop.loop_var)] = extent

    def _tree(self, tree: Expr) -> Expr:
        return substitute(tree, self._values)

    def _accessed(
        self, buffer: SSAValue, indices: Iterable[Expr]
    ) -> Iterator[tuple[tir.AllocBufferOp, Access]]:
        owner = buffer.owner
        alloc = _allocation(buffer)
        if alloc is None or owner is not alloc:
            return
        trees = [self._analyzer.simplify(self._tree(index)) for index in indices]
        yield alloc, access_of(trees, self._ranges)

    def _moved(self, block: tir.BlockOp) -> Iterator[tuple[tir.AllocBufferOp, Access]]:
        """What a block accesses that does no more than move a fragment."""
        calls = [op for op in block.body.block.ops if isinstance(op, tir.CallOp)]
        if len(calls) != 1 or calls[0].callee.data not in _MOVES:
            return
        for op in block.body.block.ops:
            if isinstance(op, tir.MatchRegionOp):
                yield from self._accessed(op.source, self._points(op))

    def _points(self, match: tir.MatchRegionOp) -> Iterator[Expr]:
        """The indices of all elements of a region, in terms of one variable for each.

        The views' symbols stand for them: they are of the block alone.
        """
        for low, extent in match.region:
            tree = view(low)
            if isinstance(extent, int) and extent > 1:
                point = Value(tir.ShapeVarOp(_SYNTHETIC, low.type).result)
                self._ranges[point] = extent
                tree = smart.add(tree, point)
            yield tree


def _lane_extents(extents: dict[str, int]) -> dict[str, int]:
    """How far the lanes of a warp go along each axis."""
    found: dict[str, int] = {}
    lanes = 1
    for tag in _LANE_AXES:
        extent = extents.get(tag, 1)
        if lanes * extent >= WARP:
            found[tag] = WARP // lanes
            break
        found[tag] = extent
        lanes *= extent
    return found


# ---- patterns ----


@dataclass(frozen=True)
class _Term:
    """`scale * x` for `x` in `[0, extent)`."""

    extent: int
    scale: int


_Terms = tuple[_Term, ...]


class _UnknownError(Exception):
    """An index is no sum of terms."""


def access_of(trees: Sequence[Expr], extents: dict[Expr, int]) -> Access:
    """The values of each index over variables with extents.

    An index that is constant has none, and neither has what comes after one that is not
    known.
    """
    found: list[tuple[int, ...]] = []
    for tree in trees:
        if isinstance(tree, Const):
            found.append(())
            continue
        try:
            terms = fold(tree, lambda node, below: _terms(node, below, extents))
        except _UnknownError:
            break
        found.append(_values(terms))
    return (*found, *(() for _ in trees[len(found) :]))


def _values(terms: _Terms) -> tuple[int, ...]:
    """All sums of the terms, the last one fastest."""
    steps = [[x * term.scale for x in range(term.extent)] for term in terms]
    return tuple(sum(parts) for parts in product(*steps))


def _terms(node: Expr, below: list[_Terms], extents: dict[Expr, int]) -> _Terms:
    match node:
        case Value():
            extent = extents.get(node, 1)
            return (_Term(extent, 1),) if extent > 1 else ()
        case Const():
            return ()
        case Add():
            return _merged((*below[0], *below[1]))
        case Mul() | FloorDiv() | FloorMod():
            factor = literal(node.operands[1])
            if factor is None or factor <= 0:
                raise _UnknownError
            change = {Mul: _times, FloorDiv: _over, FloorMod: _modulo}[type(node)]
            return tuple(
                new for term in below[0] if (new := change(term, int(factor))) is not None
            )
        case _:
            raise _UnknownError


def _merged(terms: _Terms) -> _Terms:
    """The first term, fused with those that go on where it ends; others are dropped."""
    if not terms:
        return ()
    last, *rest = terms
    for term in rest:
        if term.extent * term.scale == last.scale:
            last = _Term(last.extent * term.extent, term.scale)
    return (last,)


def _times(term: _Term, factor: int) -> _Term | None:
    return _Term(term.extent, term.scale * factor)


def _over(term: _Term, divisor: int) -> _Term | None:
    if term.scale >= divisor:
        if term.scale % divisor:
            raise _UnknownError
        return _Term(term.extent, term.scale // divisor)
    if term.scale * term.extent <= divisor:
        return None
    if term.scale * term.extent % divisor:
        raise _UnknownError
    return _Term(term.extent * term.scale // divisor, 1)


def _modulo(term: _Term, divisor: int) -> _Term | None:
    if term.scale >= divisor:
        return None
    if divisor % term.scale:
        raise _UnknownError
    return _Term(min(term.extent, divisor // term.scale), term.scale)


# ---- the choice ----


def padded_strides(
    shape: Sequence[int], bits: int, accesses: Sequence[Access], multiple: int
) -> list[int]:
    """The strides, in elements, with the fewest accesses of one bank at once.

    `bits` is the size of an element; a padding is a multiple of `multiple` and of the
    stride within, and at most a quarter of what it pads. See
    docs/spec/tir-passes-a-blocks-and-buffers.md, Padding: the positions of a dimension
    are counted in bits where the next one uses them.
    """
    row = max(1, _ROW_BITS // bits)
    spaces = [access for access in accesses if access]
    lows = [Counter(value % row for value in access[-1]) for access in spaces]
    stride, strides = 1, [1]
    for axis in range(len(shape) - 2, -1, -1):
        base = stride * shape[axis + 1]
        step = lcm(multiple, stride)
        most = min(base // 4, row)
        rows = [Counter(value % row for value in access[axis]) for access in spaces]
        pairs = list(zip(rows, lows, strict=True))
        padding = min(
            range(0, most + 1, step),
            key=lambda padding: (
                _conflicts(pairs, (base + padding) % row, bits),
                padding,
            ),
        )
        distance = (base + padding) % row
        lows = [
            _positions(high, low, distance, bits, row) if high else low
            for high, low in pairs
        ]
        stride = base + padding
        strides.append(stride)
    return strides[::-1]


def _conflicts(
    pairs: Sequence[tuple[Counter[int], Counter[int]]], distance: int, bits: int
) -> int:
    """The most accesses of one bank at once."""
    worst = 0
    for high, low in pairs:
        banks: Counter[int] = Counter()
        for first, many in high.items():
            for second, count in low.items():
                bank = (first * distance + second) * bits // _BANK_BITS % _BANKS
                banks[bank] += many * count
        worst = max(worst, *banks.values(), 0)
    return worst


def _positions(
    high: Counter[int], low: Counter[int], distance: int, bits: int, row: int
) -> Counter[int]:
    """Where both dimensions together are, as the next one outward counts it."""
    found: Counter[int] = Counter()
    for first, many in high.items():
        for second, count in low.items():
            found[(first * distance + second) * bits % row] += many * count
    return found
