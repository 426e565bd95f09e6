"""The loops of a copy, apart from the ops that run them.

What a copy block does is one store for each iteration of a nest of loops. `read_nest`
takes it from the ops, `coalesce` and others change its loops, `NestBuilder` makes ops of
it again. Until then the original ops stay where they are, to be cloned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, emit, leaf_values, substitute, view
from xdsl_tvm.analysis.arith.int_set import Range
from xdsl_tvm.analysis.arith.iter_forms import IterSumExpr
from xdsl_tvm.analysis.arith.iter_map import IterMapLevel, detect_iter_map
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect
from xdsl_tvm.passes.tir.rewriting.copied_element import is_expression
from xdsl_tvm.passes.tir.rewriting.statements import describe

_PROLOGUE = (
    tir.AllocBufferOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.ShapeVarOp,
    tir.WritesOp,
)
_WIDE = 1 << 31
"""Products of extents from here on are counted in 64 bits."""


def refuse(block: tir.BlockOp, reason: str, advice: str) -> NoReturn:
    """Raise PassFailedException about a copy block."""
    raise PassFailedException(f"{describe(block)}: {reason}; {advice}")


def scope_of(buffer: SSAValue) -> tir.StorageScope:
    """The storage scope of a buffer."""
    return cast(tir.BufferType, buffer.type).storage_scope


def element_bits(buffer: SSAValue) -> int:
    """The bits of an element of a buffer, all its lanes together."""
    element = cast(tir.BufferType, buffer.type).element_type
    return tir.bits_of_lane(tir.element_of(element)) * tir.lanes_of(element)


@dataclass(eq=False)
class Loop:
    """A loop over `[0, extent)` that is yet to be made; `variable` stands for its own."""

    extent: int
    dtype: IntegerType
    name: str
    kind: tir.ForKind = tir.ForKind.SERIAL
    tag: str | None = None
    variable: BlockArgument = field(init=False)

    def __post_init__(self) -> None:
        self.variable = Block(arg_types=[self.dtype]).args[0]

    @property
    def leaf(self) -> Expr:
        """The tree of the variable."""
        return Value(self.variable)

    def copied(self, suffix: str) -> Loop:
        """The same loop with a variable of its own."""
        return Loop(self.extent, self.dtype, self.name + suffix, self.kind, self.tag)


@dataclass(frozen=True)
class Nest:
    """One store in loops.

    `values` says what the loop variables of the original, and perhaps other values, are
    in terms of the variables of `loops`; `ops` are the original expressions, in order;
    `indices` and `guard`, if there is one, are trees of the variables.
    """

    block: tir.BlockOp
    loops: tuple[Loop, ...]
    values: Mapping[SSAValue, Expr]
    ops: tuple[Operation, ...]
    store: tir.StoreOp
    indices: tuple[Expr, ...]
    guard: Expr | None = None

    @property
    def size(self) -> int:
        """How many iterations there are."""
        product = 1
        for loop in self.loops:
            product *= loop.extent
        return product

    def tree(self, value: SSAValue) -> Expr:
        """A value of the original, in terms of the variables."""
        return substitute(view(value), _leaves(self.values))

    def changed(self, loops: Sequence[Loop], values: Mapping[Expr, Expr]) -> Nest:
        """The nest in other loops; `values` gives the old variables by their own."""
        return replace(
            self,
            loops=tuple(loops),
            values={old: substitute(new, values) for old, new in self.values.items()},
            indices=tuple(substitute(index, values) for index in self.indices),
            guard=None if self.guard is None else substitute(self.guard, values),
        )

    def ranges(self) -> dict[Expr, Range]:
        """The range of each variable."""
        return ranges_of(self.loops)

    def varies_inside(self, tree: Expr) -> bool:
        """Whether a tree has a leaf that the nest computes, other than its variables."""
        inside = set(self.ops)
        return any(value.owner in inside for value in leaf_values(tree))


def _leaves(values: Mapping[SSAValue, Expr]) -> dict[Expr, Expr]:
    return {Value(old): new for old, new in values.items()}


def ranges_of(loops: Iterable[Loop]) -> dict[Expr, Range]:
    """The range of the variable of each loop."""
    return {
        loop.leaf: Range(smart.const(0, loop.dtype), smart.const(loop.extent, loop.dtype))
        for loop in loops
    }


def analyzer_of(loops: Iterable[Loop]) -> Analyzer:
    """An analyzer that knows the ranges of loops."""
    analyzer = Analyzer()
    for leaf, domain in ranges_of(loops).items():
        analyzer.bind(leaf, domain)
    return analyzer


def common_dtype(loops: Sequence[Loop], size: int) -> IntegerType:
    """The type of a loop that replaces several."""
    wide = size >= _WIDE or any(loop.dtype == i64 for loop in loops)
    return i64 if wide else i32


# ---- from ops ----


def statement_of(block: tir.BlockOp, level: Block, found: list[Operation]) -> Operation:
    """The one statement in a block of ops; the expressions in it are added to `found`."""
    statements: list[Operation] = []
    for op in level.ops:
        if is_expression(op):
            found.append(op)
        elif level is not block.body.block or not isinstance(op, _PROLOGUE):
            statements.append(op)
    if len(statements) == 1 and isinstance(statements[0], tir.ForOp | tir.StoreOp):
        return statements[0]
    names = ", ".join(op.name for op in statements) or "nothing"
    return refuse(
        block,
        f"a copy is loops around one store, and here is {names}",
        "split it, or remove auto_copy",
    )


def read_nest(block: tir.BlockOp) -> Nest:
    """What a copy block does. Raises PassFailedException where it is more than a copy."""
    ops: list[Operation] = []
    loops: list[Loop] = []
    values: dict[SSAValue, Expr] = {}
    statement = statement_of(block, block.body.block, [])
    while isinstance(statement, tir.ForOp):
        loop = _loop(block, statement)
        start = _start(block, statement, values, ops)
        loops.append(loop)
        values[statement.loop_var] = smart.add(start, loop.leaf)
        statement = statement_of(block, statement.body.block, ops)
    assert isinstance(statement, tir.StoreOp)
    _check_store(block, statement)
    if statement.buffer.owner in ops:
        refuse(
            block,
            "what a copy stores to is declared in its loops",
            "declare it before them, or remove auto_copy",
        )
    _check_reads(block, statement, ops)
    nest = Nest(block, tuple(loops), values, tuple(ops), statement, ())
    indices = tuple(nest.tree(index) for index in statement.indices)
    if any(map(nest.varies_inside, indices)):
        refuse(
            block,
            "where a copy stores must not depend on what it reads",
            "use loop variables only, or remove auto_copy",
        )
    return replace(nest, indices=indices)


def _loop(block: tir.BlockOp, loop: tir.ForOp) -> Loop:
    extent = tir.constant_value(loop.extent)
    if extent is None or loop.kind.data is tir.ForKind.THREAD_BINDING:
        kind = "has an extent that is not constant" if extent is None else "is bound"
        refuse(
            block,
            f"a loop of a copy {kind}",
            "give it a constant extent and no thread axis, or remove auto_copy",
        )
    name = loop.loop_var.name_hint or "ax"
    dtype = cast(IntegerType, loop.loop_var.type)
    return Loop(max(0, int(extent)), dtype, name)


def _start(
    block: tir.BlockOp,
    loop: tir.ForOp,
    values: Mapping[SSAValue, Expr],
    ops: Sequence[Operation],
) -> Expr:
    """Where a loop starts, in terms of the loops around it."""
    tree = substitute(view(loop.min), _leaves(values))
    inside = set(ops)
    if any(value.owner in inside for value in leaf_values(tree)):
        refuse(
            block,
            "a loop of a copy starts where the copy itself computes",
            "compute the start before it, or remove auto_copy",
        )
    return tree


def _check_store(block: tir.BlockOp, store: tir.StoreOp) -> None:
    element = cast(tir.BufferType, store.buffer.type).element_type
    scalar = all(tir.is_scalar(index.type) for index in store.indices)
    if store.predicate is not None or not scalar or store.value.type != element:
        refuse(
            block,
            "a copy stores one element, without a mask",
            "let a loop run over the lanes, or remove auto_copy",
        )


def _check_reads(
    block: tir.BlockOp, store: tir.StoreOp, ops: Iterable[Operation]
) -> None:
    """Refuse a copy that may read what it stored: iterations change their order."""
    target = memory_of(store.buffer, distinct_parameters=True)
    for op in ops:
        for inner in op.walk():
            memory = None
            if isinstance(inner, tir.LoadOp):
                memory = memory_of(inner.buffer, distinct_parameters=True)
            elif own_effect(inner) <= CallEffect.PURE:
                continue
            if memory is None or memory is target:
                refuse(
                    block,
                    f"a copy must not read what it stores to, which {inner.name} may do",
                    "copy to another buffer, or remove auto_copy",
                )


def store_map(nest: Nest) -> list[IterSumExpr]:
    """The indices of the store as iterator maps, different for different iterations.

    Raises PassFailedException where that cannot be shown: the last iteration that stores
    to an element would have to stay the last.
    """
    analyzer = analyzer_of(nest.loops)
    indices = [analyzer.simplify(index) for index in nest.indices]
    found = detect_iter_map(indices, nest.ranges(), level=IterMapLevel.BIJECTIVE)
    if found.errors:
        refuse(
            nest.block,
            "cannot show that each iteration of a copy stores an element of its own: "
            + found.errors[0],
            "store each element once, or remove auto_copy",
        )
    return found.indices


# ---- to ops ----


@dataclass(frozen=True)
class NestBuilder:
    """Where ops are made: what is known there, and which values the variables have."""

    builder: Builder
    known: dict[Expr, SSAValue] = field(default_factory=dict[Expr, SSAValue])
    variables: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])

    def value(self, tree: Expr) -> SSAValue:
        """The value of a tree of the variables."""
        return emit(substitute(tree, self.variables), self.builder, self.known)

    def constant(self, number: int, dtype: IntegerType = i32) -> SSAValue:
        """The value of a constant."""
        return self.value(smart.const(number, dtype))

    def inside(self, body: Block) -> NestBuilder:
        """The end of a body that is made here."""
        builder = Builder(InsertPoint.at_end(body))
        return NestBuilder(builder, dict(self.known), dict(self.variables))

    def loops(self, loops: Iterable[Loop]) -> NestBuilder:
        """The inside of the loops, which are made here."""
        place = self
        for loop in loops:
            low, extent = place.constant(0, loop.dtype), loop.extent
            op = tir.ForOp(
                low,
                place.constant(extent, loop.dtype),
                kind=loop.kind,
                thread_tag=loop.tag,
            )
            op.loop_var.name_hint = loop.name
            place.builder.insert(op)
            place = place.inside(op.body.block)
            place.variables[loop.leaf] = Value(op.loop_var)
        return place

    def guarded(self, guard: Expr | None) -> NestBuilder:
        """The inside of a condition, if there is one."""
        if guard is None:
            return self
        body = Block()
        self.builder.insert(tir.IfOp(self.value(guard), Region(body)))
        return self.inside(body)

    def computed(
        self, nest: Nest, value: SSAValue, replaced: Mapping[SSAValue, SSAValue]
    ) -> SSAValue:
        """A value of the nest, computed here; some values are given."""
        needed = _needed(nest, value, replaced)
        mapper = dict(replaced)
        used = {value} | {v for op in needed for x in all_ops(op) for v in x.operands}
        for old, tree in nest.values.items():
            if old in used:
                mapper[old] = self.value(tree)
        for op in needed:
            self.builder.insert(op.clone(mapper))
        return mapper.get(value, value)

    def store(
        self,
        nest: Nest,
        buffer: SSAValue,
        indices: Iterable[Expr],
        value: SSAValue,
    ) -> None:
        """Store to an element of a buffer, in the place of the nest's store."""
        places = [self.value(index) for index in indices]
        store = tir.StoreOp(value, buffer, places)
        store.location = nest.store.location
        self.builder.insert(store)

    def load(self, buffer: SSAValue, indices: Iterable[Expr]) -> SSAValue:
        """An element of a buffer."""
        places = [self.value(index) for index in indices]
        return self.builder.insert(tir.LoadOp(buffer, places)).result


def _needed(
    nest: Nest, value: SSAValue, replaced: Mapping[SSAValue, SSAValue]
) -> list[Operation]:
    """The ops of the nest that a value is computed of, in order."""
    inside, needed = set(nest.ops), set[Operation]()
    pending = [value]
    while pending:
        current = pending.pop()
        owner = current.owner
        if current in replaced or owner not in inside or owner in needed:
            continue
        assert isinstance(owner, Operation)
        needed.add(owner)
        pending += [operand for inner in all_ops(owner) for operand in inner.operands]
    return [op for op in nest.ops if op in needed]


def emit_nest(nest: Nest, place: NestBuilder) -> None:
    """Make the loops and the store of a nest."""
    place = place.loops(nest.loops).guarded(nest.guard)
    value = place.computed(nest, nest.store.value, {})
    place.store(nest, nest.store.buffer, nest.indices, value)
