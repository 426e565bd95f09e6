"""Views of regions: gone, their accesses are those of the buffer they view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Ramp,
    Value,
    emit,
    substitute,
)
from xdsl_tvm.analysis.tir.flat_index import (
    as_tree,
    flat_indices,
    leaf,
    reaches_beyond_32_bits,
    row_major_strides,
)
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused


@dataclass(frozen=True)
class LowerMatchBuffer(CompilerPass):
    """Summary: Removes views of regions: what accesses a view accesses the buffer it
        views, and the symbols of its layout get their values.

    TVM name: tir.LowerMatchBuffer (v0.20)
    Input form: any
    Output form: no `tir.match_region`
    Options: none
    Rewrites: before

            %s = tir.shape_var "s" : i32
            %o = tir.shape_var "o" : i32
            tir.block {
              tir.reads %A[%i to %i + 4, %j]
              tir.writes
              %V = tir.match_region %A[%i to %i + 4, %j]
                strides [%s, 1] offset %o : !tir.buffer<4x1xf32>
              %x = tir.load %V[%k, %c0] : f32
              %p = tir.data %V : !tir.ptr<f32>
              %q = tir.access_ptr r %p[%o to %o + %s] : !tir.ptr<f32>
            }

        after, if `%A` is of type `!tir.buffer<16x8xf32>`

            tir.block {
              tir.reads %A[%i to %i + 4, %j]
              tir.writes
              %0 = tir.mul %i, %c8 : i32
              %1 = tir.add %0, %j : i32
              %2 = tir.add %i, %k : i32
              %x = tir.load %A[%2, %j] : f32
              %p = tir.data %A : !tir.ptr<f32>
              %q = tir.access_ptr r %p[%1 to %1 + %c8] : !tir.ptr<f32>
            }

        The offset is where the region starts in the memory of the buffer, 0 if that has
        axis separators; the strides are those of the last dimensions of the buffer.
        Views of views access the outermost source. Where a field of the view is no
        symbol that is free, it must be shown to have the value that it would get. Time
        is linear in the size of the module, but for the proofs.
    Leaves alone: everything else
    Errors: an offset, a stride, an extent, or a multiple of `offset_factor` that cannot
        be shown to be as declared: declare a `tir.shape_var` for it, or none; an offset
        into more than 2**31 elements that may not fit its type: use `i64`; a leading
        dimension that the view lacks, with an extent that cannot be shown to be 1; a
        `tir.shape_var` that is used outside of the scope of the view that binds it: use
        another one there; a use of a view by an op that is not of this dialect
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a load or a store with a predicate is rewritten like others, where
        TVM refuses it. The range of a block's iteration variables helps proofs, and so do
        predicates. Extents of leading dimensions are checked though nothing accesses the
        view. A view without an offset does not state one, so it may match any region. An
        alignment that is too small, about which TVM warns, is an error of the verifier.
        The offset is converted to the type of its symbol, and computed in 64 bits where
        the source has more elements than 32 bits count, which in TVM overflows.
    """

    name = "tir-lower-match-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if ops_of(func, tir.MatchRegionOp):
                _Lowering(func).run()


@dataclass(frozen=True)
class _Source:
    """The buffer of a view, and where in it each dimension of it starts."""

    buffer: SSAValue
    starts: tuple[SSAValue, ...]
    surplus: int
    """The number of dimensions, the first ones, that the view lacks."""


@dataclass(frozen=True)
class _Binding:
    """A symbol and the value that a view gives it."""

    symbol: tir.ShapeVarOp
    value: Expr


class _Lowering:
    """Lowers all views of one function."""

    def __init__(self, func: Operation) -> None:
        self._func = func
        self._checker = _Checker(func)
        self._sources: dict[SSAValue, _Source] = {}
        self._order = {op: place for place, op in enumerate(func.walk())}

    def run(self) -> None:
        matches = self._checker.run()
        for match, bindings in matches.items():
            self._sources[match.buffer] = source = _composed(match, self._sources)
            for binding in bindings:
                self._bind(binding, match)
            for op in dict.fromkeys(use.operation for use in match.buffer.uses):
                _rewrite_use(op, match.buffer, source)
        for match in reversed(matches):
            operands = tuple(match.operands)
            # Only views of this view used it, and they are gone.
            Rewriter.erase_op(match)
            erase_if_unused(operands)

    def _bind(self, binding: _Binding, match: tir.MatchRegionOp) -> None:
        """Let the uses of a symbol, all in the scope of the match, use its value."""
        symbol = binding.symbol.result
        moved = self._computed_early(symbol, match)
        value = emit(binding.value, Builder(InsertPoint.before(match)))
        value.name_hint = value.name_hint or symbol.name_hint
        for op in moved:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(match))
        symbol.replace_all_uses_with(value)
        Rewriter.erase_op(binding.symbol)

    def _computed_early(
        self, symbol: SSAValue, match: tir.MatchRegionOp
    ) -> list[Operation]:
        """What is computed from the symbol before the match, in order."""
        found: set[Operation] = set()
        pending = [symbol]
        while pending:
            for use in pending.pop().uses:
                op = use.operation
                if op in found or self._is_in_scope(op, match):
                    continue
                if not (self._holds(op, match) and _can_move(op)):
                    raise PassFailedException(
                        f"{describe(op)} uses a tir.shape_var outside of the scope of "
                        "the tir.match_region that binds it; use another one there"
                    )
                found.add(op)
                pending += op.results
        return sorted(found, key=self._order.__getitem__)

    def _is_in_scope(self, op: Operation, match: tir.MatchRegionOp) -> bool:
        assert match.parent is not None
        around = match.parent.find_ancestor_op_in_block(op)
        if around is None:
            return False
        # What has no place yet is before a match further down.
        place = self._order.get(around)
        return place is None or place >= self._order[match]

    def _holds(self, op: Operation, match: tir.MatchRegionOp) -> bool:
        """Whether the block of `op` also holds the match, after it."""
        assert op.parent is not None
        around = op.parent.find_ancestor_op_in_block(match)
        return around is not None and self._order[op] < self._order[around]


def _can_move(op: Operation) -> bool:
    return bool(op.results) and not op.regions and is_side_effect_free(op)


# ---- what the views say ----


class _Checker:
    """Walks a function, checks what its views declare, and finds what they bind."""

    def __init__(self, func: Operation) -> None:
        self._func = func
        self._analyzer = Analyzer()
        self._walker = FactsWalker(self._analyzer, self._visit)
        self._starts: dict[SSAValue, tuple[SSAValue, list[Expr]]] = {}
        self._matches: dict[tir.MatchRegionOp, list[_Binding]] = {}
        self._bound: set[SSAValue] = set()
        self._values: dict[Expr, Expr] = {}

    def run(self) -> dict[tir.MatchRegionOp, list[_Binding]]:
        """The views in order, each with what it binds."""
        for op in self._func.walk():
            if isinstance(op, tir.MatchBufferOp):
                self._bound.update(_fields(op))
        self._walker.walk(self._func)
        return self._matches

    def _tree(self, value: SSAValue) -> Expr:
        return substitute(self._walker.tree(value), self._values)

    def _visit(self, op: Operation) -> None:
        if not isinstance(op, tir.MatchRegionOp):
            return
        self._matches[op] = []
        source, starts = self._compose(op)
        buffer = tir.buffer_definition(source)
        surplus = len(op.region) - len(op.shape)
        for axis, (_, extent) in enumerate(op.region[:surplus]):
            self._require(
                op, f"the extent of dimension {axis}", as_tree(extent, op, self._tree), 1
            )
        self._check_offset(op, buffer, starts)
        found = list(row_major_strides(buffer, self._tree))[::-1]
        first = len(found) - len(op.layout_strides)
        for axis, stride in enumerate(op.layout_strides):
            self._field(op, f"stride {axis}", stride, found[first + axis])
        for axis, wanted in enumerate(op.shape):
            extent = as_tree(op.region[surplus + axis][1], op, self._tree)
            self._field(op, f"extent {axis}", wanted, extent)

    def _compose(self, op: tir.MatchRegionOp) -> tuple[SSAValue, list[Expr]]:
        """The buffer of all views, and where the region starts in it."""
        starts = [self._tree(low) for low in op.region_mins]
        known = self._starts.get(op.source)
        source = op.source
        if known is not None:
            source, outer = known
            leading = len(outer) - len(starts)
            inner = map(smart.add, outer[leading:], starts)
            starts = [*outer[:leading], *inner]
        self._starts[op.buffer] = source, starts
        return source, starts

    def _check_offset(
        self, op: tir.MatchRegionOp, buffer: tir.BufferDefinition, starts: Sequence[Expr]
    ) -> None:
        if op.elem_offset is None and op.offset_factor is None:
            return
        flat = flat_indices(buffer, starts, self._tree)
        dtype = buffer.extent_type if op.elem_offset is None else op.elem_offset.type
        offset: Expr = smart.const(0, dtype)
        if len(flat) == 1:
            (offset,) = flat
            if buffer.elem_offset is not None:
                offset = smart.add(offset, self._tree(buffer.elem_offset))
            if reaches_beyond_32_bits(buffer) and dtype != i64:
                self._require_fit(op, offset, dtype)
            offset = smart.cast(dtype, offset)
        if op.elem_offset is not None:
            self._field(op, "the offset", op.elem_offset, offset)
        if op.offset_factor is not None:
            factor = op.offset_factor.value.data
            rest = smart.truncmod(offset, factor)
            self._require(op, f"the offset modulo {factor}", rest, 0)

    def _require_fit(self, op: tir.MatchRegionOp, offset: Expr, dtype: Attribute) -> None:
        """Check an offset into memory of more elements than 32 bits count."""
        if self._analyzer.const_int_bound(offset).max > integer_range(dtype)[1]:
            raise PassFailedException(
                f"{describe(op)}: the offset {offset} may not fit {dtype}; declare it as "
                "i64"
            )

    def _field(
        self, op: tir.MatchRegionOp, what: str, declared: int | SSAValue, value: Expr
    ) -> None:
        """Bind a free symbol to its value; show that anything else has it."""
        if isinstance(declared, int):
            self._require(op, what, value, declared)
            return
        symbol = declared.owner
        value = smart.cast(declared.type, value)
        if not isinstance(symbol, tir.ShapeVarOp) or declared in self._bound:
            self._require(op, what, value, self._tree(declared))
            return
        self._bound.add(declared)
        value = self._analyzer.simplify(value)
        self._values[Value(declared)] = value
        self._matches[op].append(_Binding(symbol, value))

    def _require(
        self, op: tir.MatchRegionOp, what: str, value: Expr, declared: Expr | int
    ) -> None:
        if not isinstance(declared, Expr):
            declared = smart.const(declared, value.dtype)
        if value.dtype != declared.dtype:
            value, declared = smart.matched(value, declared)
        if not self._analyzer.can_prove_equal(value, declared):
            raise PassFailedException(
                f"{describe(op)}: cannot show that {what} is {declared}, it is {value}; "
                "declare it with a tir.shape_var that nothing else binds"
            )


def _fields(op: tir.BufferDefinition) -> Iterable[SSAValue]:
    """The values among the extents, strides and the offset of a buffer."""
    yield from (*op.extents, *op.strides)
    if op.elem_offset is not None:
        yield op.elem_offset


# ---- accesses ----


def _composed(match: tir.MatchRegionOp, sources: dict[SSAValue, _Source]) -> _Source:
    """The buffer of all views, with the starts computed before the match."""
    starts = tuple(match.region_mins)
    known = sources.get(match.source)
    buffer = match.source
    if known is not None:
        buffer = known.buffer
        starts = _shifted(known, starts, Builder(InsertPoint.before(match)))
    return _Source(buffer, starts, len(starts) - match.type.get_num_dims())


def _shifted(
    source: _Source, indices: Sequence[SSAValue], builder: Builder
) -> tuple[SSAValue, ...]:
    """The indices of a view as those of its source."""
    inner = [
        _sum(start, index, builder)
        for start, index in zip(source.starts[source.surplus :], indices, strict=True)
    ]
    return (*source.starts[: source.surplus], *inner)


def _sum(start: SSAValue, index: SSAValue, builder: Builder) -> SSAValue:
    left, right = leaf(start), leaf(index)
    known = {left: start, right: index}
    if isinstance(index.owner, tir.RampOp):
        base, stride = index.owner.base, index.owner.stride
        known |= {leaf(base): base, leaf(stride): stride}
        moved = smart.add(left, leaf(base))
        return emit(Ramp(index.type, moved, leaf(stride)), builder, known)
    return emit(smart.add(left, right), builder, known)


def _rewrite_use(op: Operation, view: SSAValue, source: _Source) -> None:
    """Let an op that uses a view use its source."""
    builder = Builder(InsertPoint.before(op))
    match op:
        case tir.MatchRegionOp():
            # It knows its source by now, or will, and is erased in the end.
            return
        case tir.LoadOp():
            indices = _shifted(source, op.indices, builder)
            new = tir.LoadOp(source.buffer, indices, op.predicate, op.result.type)
        case tir.StoreOp():
            indices = _shifted(source, op.indices, builder)
            new = tir.StoreOp(op.value, source.buffer, indices, op.predicate)
        case tir.AddressOfOp():
            new = tir.AddressOfOp(source.buffer, _shifted(source, op.indices, builder))
        case tir.DataOp():
            new = tir.DataOp(source.buffer)
        case tir.ReadsOp() | tir.WritesOp():
            new = type(op)(
                [
                    _region(region, source, builder) if region.buffer is view else region
                    for region in op.buffer_regions
                ]
            )
        case tir.ThreadAllreduceOp():
            new = tir.ThreadAllreduceOp(
                op.sources,
                [
                    (source.buffer, _shifted(source, place.indices, builder))
                    if place.buffer is view
                    else place
                    for place in op.places
                ],
                op.threads,
                op.condition,
            )
        case _:
            raise PassFailedException(
                f"{describe(op)} uses a tir.match_region in a way that its source does "
                "not allow; let it use the source buffer itself"
            )
    new.attributes |= op.attributes
    new.location = op.location
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, new)


def _region(
    region: tir.BufferRegion, source: _Source, builder: Builder
) -> tir.BufferRegion:
    ones = (1,) * source.surplus
    mins = _shifted(source, region.mins, builder)
    return tir.BufferRegion(source.buffer, mins, (*ones, *region.extents))
