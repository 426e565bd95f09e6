"""What a block of LowerCrossThreadReduction computes: its accumulators and reducer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.reducers import MatchedReducer, match_reducer
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.assembly import Mixed
from xdsl_tvm.passes.tir.rewriting.statements import describe, may_write


def refuse(block: tir.BlockOp, condition: int, reason: str) -> NoReturn:
    """Raise PassFailedException for a reduction that breaks a condition of the pass."""
    raise PassFailedException(f"{describe(block)}: {reason} (condition {condition})")


def buffers_touched(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an op accesses, or gives another name."""
    if isinstance(op, tir.ReadsOp | tir.WritesOp):
        return
    for operand in op.operands:
        if isinstance(operand.type, tir.BufferType):
            yield operand


@dataclass(frozen=True)
class ReductionUpdate:
    """How a reduction block changes its buffers; all lists are in one order."""

    stores: tuple[tir.StoreOp, ...]
    loads: tuple[tuple[tir.LoadOp, ...], ...]
    """The reads of the accumulators."""
    indices: tuple[Expr, ...]
    """The element of each buffer that is the accumulator."""
    reducer: MatchedReducer
    trees: dict[SSAValue, Expr]
    """The trees of what the block computes, each load of an element being one."""

    @property
    def buffers(self) -> tuple[SSAValue, ...]:
        """The buffers that are reduced into."""
        return tuple(store.buffer for store in self.stores)


def read_update(block: tir.BlockOp, init: tir.InitOp) -> ReductionUpdate:
    """The update of a block with an init; refuses what breaks conditions 3 to 6."""
    return _Reader(block, init).read()


class _Reader:
    """Reads one block."""

    def __init__(self, block: tir.BlockOp, init: tir.InitOp) -> None:
        self._block = block
        self._analyzer = Analyzer()
        self._trees: dict[SSAValue, Expr] = {}
        self._starts = self._init_stores(init)
        self._stores = self._body_stores()
        self._loads: dict[SSAValue, list[tir.LoadOp]] = {b: [] for b in self._stores}

    def read(self) -> ReductionUpdate:
        self._require_same_buffers()
        indices = self._require_same_element()
        self._name_loads(indices)
        stores, reducer = self._match()
        loads = tuple(tuple(self._loads[store.buffer]) for store in stores)
        return ReductionUpdate(stores, loads, indices, reducer, self._trees)

    # ---- conditions 3 and 4: the form ----

    def _init_stores(self, init: tir.InitOp) -> dict[SSAValue, tir.StoreOp]:
        found: dict[SSAValue, tir.StoreOp] = {}
        for op in init.body.block.ops:
            if isinstance(op, tir.StoreOp):
                self._add(found, op, 3, "its init")
            elif any(may_write(inner) for inner in all_ops(op)):
                refuse(
                    self._block,
                    3,
                    f"its init holds {op.name}; let it only store one value to each "
                    "buffer",
                )
        return found

    def _add(
        self,
        found: dict[SSAValue, tir.StoreOp],
        op: tir.StoreOp,
        condition: int,
        what: str,
    ) -> None:
        if op.buffer in found or op.predicate is not None:
            refuse(
                self._block,
                condition,
                f"{what} stores to {_name(op.buffer)} more than once, or not always; "
                "store one value to each buffer",
            )
        found[op.buffer] = op

    def _body_stores(self) -> dict[SSAValue, tir.StoreOp]:
        found: dict[SSAValue, tir.StoreOp] = {}
        for op in self._block.body.block.ops:
            if isinstance(op, tir.StoreOp):
                self._add(found, op, 4, "it")
            elif isinstance(op, tir.InitOp | tir.ReadsOp | tir.WritesOp):
                continue
            elif any(may_write(inner) for inner in all_ops(op)):
                self._refuse_form(f"it holds {op.name}")
            elif found and any(_reads(inner) for inner in all_ops(op)):
                self._refuse_form("it reads memory after a store")
        return found

    def _refuse_form(self, reason: str) -> NoReturn:
        refuse(
            self._block,
            4,
            f"{reason}; let it compute all values first, and then store one to each "
            "buffer",
        )

    def _require_same_buffers(self) -> None:
        if not self._stores or self._starts.keys() != self._stores.keys():
            refuse(
                self._block,
                4,
                "it stores to other buffers than its init; update those that the init "
                "sets",
            )
        for buffer in self._stores:
            if self._block.is_ancestor(tir.buffer_definition(buffer)):
                self._refuse_form(f"it defines {_name(buffer)} itself")

    # ---- condition 5: one element ----

    def _require_same_element(self) -> tuple[Expr, ...]:
        """The index at which all buffers are updated."""
        shapes = [self._shape(buffer) for buffer in self._stores]
        stores = (*self._stores.values(), *self._starts.values())
        indices = [
            tuple(view(index, self._trees) for index in op.indices) for op in stores
        ]
        if not all(
            self._equal(*pair) for pair in (*pairwise(shapes), *pairwise(indices))
        ):
            refuse(
                self._block,
                5,
                "its stores are not to one element of buffers of one shape; use the "
                "same indices in the init and in every update",
            )
        return indices[0]

    def _shape(self, buffer: SSAValue) -> tuple[Expr, ...]:
        definition = tir.buffer_definition(buffer)
        dtype = definition.extent_type
        return tuple(self._extent(size, dtype) for size in definition.shape)

    def _extent(self, size: Mixed, dtype: Attribute) -> Expr:
        if isinstance(size, int):
            return smart.const(size, dtype)
        return view(SSAValue.get(size), self._trees)

    def _equal(self, one: Sequence[Expr], other: Sequence[Expr]) -> bool:
        return len(one) == len(other) and all(
            self._analyzer.can_prove_equal(*smart.matched(a, b))
            for a, b in zip(one, other, strict=True)
        )

    # ---- condition 6: the reducer ----

    def _name_loads(self, indices: tuple[Expr, ...]) -> None:
        """Give loads of one element one tree, and look through bindings."""
        leaves: dict[tuple[SSAValue, Expr | None, tuple[Expr, ...]], Expr] = {}
        outputs = {memory_of(b, distinct_parameters=True) for b in self._stores}
        for op in self._block.body.block.ops:
            if isinstance(op, tir.LoadOp):
                predicate = op.predicate and view(op.predicate, self._trees)
                where = tuple(view(index, self._trees) for index in op.indices)
                if op.buffer in self._loads and predicate is None:
                    where = self._accumulator(op, where, indices)
                    self._loads[op.buffer].append(op)
                    outputs_touched = False
                else:
                    outputs_touched = self._touches(op, outputs)
                key = (op.buffer, predicate, where)
                self._trees[op.result] = leaves.setdefault(key, Value(op.result))
            else:
                if isinstance(op, tir.LetOp):
                    self._trees[op.result] = view(op.value, self._trees)
                reads = not isinstance(op, tir.StoreOp | tir.InitOp)
                outputs_touched = reads and self._touches(op, outputs)
            if outputs_touched:
                self._refuse_form("it uses what it reduces other than as accumulator")

    def _touches(self, op: Operation, memories: Iterable[object]) -> bool:
        return any(
            memory_of(buffer, distinct_parameters=True) in memories
            for inner in all_ops(op)
            for buffer in buffers_touched(inner)
        )

    def _accumulator(
        self, op: tir.LoadOp, where: tuple[Expr, ...], indices: tuple[Expr, ...]
    ) -> tuple[Expr, ...]:
        if not self._equal(where, indices):
            refuse(
                self._block,
                5,
                f"it reads another element of {_name(op.buffer)} than it stores to; use "
                "the same indices",
            )
        return indices

    def _match(self) -> tuple[tuple[tir.StoreOp, ...], MatchedReducer]:
        for stores in self._orders():
            if not all(self._loads[store.buffer] for store in stores):
                break
            accumulators = [
                self._trees[self._loads[store.buffer][0].result] for store in stores
            ]
            updates = [view(store.value, self._trees) for store in stores]
            starts = [view(self._starts[s.buffer].value, self._trees) for s in stores]
            found = match_reducer(accumulators, updates, starts)
            if found is not None:
                return stores, found
        refuse(
            self._block,
            6,
            "its init and its update are those of no known commutative reducer; write "
            "the accumulator on the left, or register the reducer",
        )

    def _orders(self) -> Iterator[tuple[tir.StoreOp, ...]]:
        """Orders of the buffers to try: that of the computations, then of the stores."""
        stores = tuple(self._stores.values())
        place = {op: n for n, op in enumerate(self._block.body.block.ops)}
        yield tuple(sorted(stores, key=lambda store: place.get(_source(store), -1)))
        yield stores
        yield stores[::-1]


def _source(store: tir.StoreOp) -> Operation:
    owner = store.value.owner
    return owner if isinstance(owner, Operation) else store


def _reads(op: Operation) -> bool:
    return may_write(op) or own_effect(op) is tir.CallEffect.READ_STATE


def _name(buffer: SSAValue) -> str:
    name = tir.buffer_definition(buffer).buffer_name
    return f"%{buffer.name_hint or 'a buffer'}" if name is None else f'"{name.data}"'
