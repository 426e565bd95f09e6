"""Loop nests around one block, and what is known of their iterations.

A nest is recognised only where everything in it is understood: what is not is left as it
is written. The kinds of iteration variables are what the author says; independence of
iterations is proved from the accesses and never taken from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Value,
    leaf_values,
    postorder,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.linear_equation import linear_form, mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.statements import can_speculate

Point = Mapping[SSAValue, Expr]
"""For iteration variables of a block, the values they get."""

Redirected = Mapping[SSAValue, tuple[SSAValue, tuple[Expr, ...]]]
"""For buffers, the element of another buffer that is accessed in their place."""


@dataclass(frozen=True)
class Axis:
    """An iteration variable that runs over `[0, extent)` with a loop of its own."""

    variable: BlockArgument
    extent: Expr
    name: str

    @property
    def size(self) -> int | None:
        """The extent, where it is constant."""
        extent = self.extent
        return int(extent.value) if isinstance(extent, Const) else None


@dataclass(frozen=True)
class Access:
    """A read or write of a buffer's element; the indices are trees over the variables."""

    op: tir.LoadOp | tir.StoreOp
    buffer: SSAValue
    indices: tuple[Expr, ...]

    @property
    def writes(self) -> bool:
        return isinstance(self.op, tir.StoreOp)

    @cached_property
    def wide_indices(self) -> tuple[Expr, ...]:
        """The indices of dimensions of more than one element; all, with strides."""
        definition = tir.buffer_definition(self.buffer)
        if definition.layout_strides:
            return self.indices
        pairs = zip(self.indices, definition.shape, strict=True)
        return tuple(index for index, extent in pairs if extent != 1)

    def step(self, axis: Axis) -> int | None:
        """How far the element moves in the last dimension with each step on the axis.

        0 where it stays, None where it moves elsewhere or by what is no constant. What
        has one element counts for no dimension.
        """
        variable = Value(axis.variable)
        wide = self.wide_indices
        used = [mentions(index, variable) for index in wide]
        if not any(used):
            return 0
        if any(used[:-1]):
            return None
        form = linear_form(wide[-1], [variable])
        factor = None if form is None else smart.literal(form.factors[variable])
        return None if factor is None else int(factor)


@dataclass
class Nest:
    """Serial loops from 0, perfectly nested around one block."""

    outermost: tir.ForOp
    block: tir.BlockOp
    axes: tuple[Axis, ...]
    """In the order of the loops."""
    fixed: dict[SSAValue, Expr]
    """Iteration variables without a loop, whose domain is one constant."""
    trees: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """All accesses of the block, those of the init first."""
        found: list[Access] = []
        for op in self.block.body.walk():
            if isinstance(op, tir.LoadOp | tir.StoreOp):
                indices = tuple(view(index, self.trees) for index in op.indices)
                found.append(Access(op, op.buffer, indices))
        return tuple(found)

    @cached_property
    def written(self) -> frozenset[SSAValue]:
        """The buffers that the nest writes."""
        return frozenset(access.buffer for access in self.accesses if access.writes)

    def owns(self, axis: Axis) -> bool:
        """Whether different values on `axis` never meet at a place that one writes.

        They do not if each written buffer has a dimension that the variable alone
        indexes, in all accesses.
        """
        variable = Value(axis.variable)
        for buffer in self.written:
            ours = [a.indices for a in self.accesses if a.buffer is buffer]
            if not any(
                all(index is variable for index in dimension)
                for dimension in zip(*ours, strict=True)
            ):
                return False
        return True

    @cached_property
    def spatial(self) -> tuple[Axis, ...]:
        """The axes along which iterations are independent of each other."""
        return tuple(axis for axis in self.axes if self.owns(axis))

    @cached_property
    def carried(self) -> tuple[Axis, ...]:
        """The other axes."""
        return tuple(axis for axis in self.axes if axis not in self.spatial)

    # ---- copies ----

    def write_instance(self, code: LoopCode, point: Point, *, init: bool = True) -> None:
        """The block, for the iteration at `point`; without its init if that is done."""
        block = self.block
        values = [
            code.value(point[variable] if variable in point else self.fixed[variable])
            for variable in block.iter_vars
        ]
        copy = block.clone()
        for number, value in enumerate(values):
            copy.operands[number] = value
        if not init and copy.init is not None:
            Rewriter.erase_op(copy.init)
        code.insert(copy)

    def write_loops(self, code: LoopCode, point: Point) -> None:
        """The nest as it is, over the axes that `point` leaves open."""
        free = [axis for axis in self.axes if axis.variable not in point]
        if not free:
            self.write_instance(code, point)
            return
        with code.loop(free[0].name, free[0].extent) as value:
            self.write_loops(code, {**point, free[0].variable: value})

    def write_init(self, code: LoopCode, point: Point) -> None:
        """What the init does at `point`, where the carried variables are 0."""
        init = self.block.init
        if init is None:
            return
        Copier(code, self.block, self._filled(point)).copy_all(init.body.block.ops)

    def write_body(
        self,
        code: LoopCode,
        point: Point,
        redirected: Redirected | None = None,
        instead: Mapping[SSAValue, SSAValue] | None = None,
    ) -> None:
        """What the block does after its init at `point`, without a block around it; with
        some of its values instead of others."""
        copier = Copier(code, self.block, self._filled(point), redirected, instead)
        body = self.block.body.block.ops
        copier.copy_all(op for op in body if not isinstance(op, _PROLOGUE))

    def value_at(
        self,
        code: LoopCode,
        value: SSAValue,
        point: Point,
        redirected: Redirected | None = None,
    ) -> Expr:
        """What `value` of the block is at `point`, computed here."""
        copier = Copier(code, self.block, self._filled(point), redirected)
        return Value(copier.copied(value))

    def tree_at(self, tree: Expr, point: Point) -> Expr:
        """An index of an access, at `point`."""
        known: dict[Expr, Expr] = {
            Value(v): value for v, value in self._filled(point).items()
        }
        return substitute(tree, known)

    def indices_at(self, load: tir.LoadOp, point: Point) -> list[Expr]:
        """The indices of a load of the block, at `point`."""
        return [self.tree_at(view(index, self.trees), point) for index in load.indices]

    def _filled(self, point: Point) -> dict[SSAValue, Expr]:
        zero = {axis.variable: Const(0, axis.variable.type) for axis in self.carried}
        return {**zero, **self.fixed, **point}


_PROLOGUE = (tir.InitOp, tir.ReadsOp, tir.WritesOp)


class Copier:
    """Copies ops of a block to where code is written, for values of its variables."""

    def __init__(
        self,
        code: LoopCode,
        block: tir.BlockOp,
        point: Point,
        redirected: Redirected | None = None,
        instead: Mapping[SSAValue, SSAValue] | None = None,
    ) -> None:
        self._code = code
        self._block = block
        self._point = point
        self._redirected = redirected or {}
        self._instead = instead or {}
        self._values: dict[SSAValue, SSAValue] = {}

    def copy_all(self, ops: Iterable[Operation]) -> None:
        """Copies of statements, with the expressions that they need, in order."""
        for op in ops:
            if not op.results:
                self._copy(op)

    def copied(self, value: SSAValue) -> SSAValue:
        """The copy of a value and of all that it needs from inside of the block."""
        if value in self._values:
            return self._values[value]
        owner = value.owner
        if value in self._instead:
            copy = self.copied(self._instead[value])
        elif value in self._point:
            copy = self._code.value(self._point[value])
        elif isinstance(owner, Block) or not self._block.is_ancestor(owner):
            return value
        elif isinstance(owner, tir.ConstOp):
            copy = self._code.value(view(value))
        else:
            copy = self._copy(owner).results[0]
        self._values[value] = copy
        return copy

    def _copy(self, op: Operation) -> Operation:
        """The copy of an op, whose accesses of redirected buffers are of others."""
        self._prepare(op)
        used = {
            inner.buffer
            for inner in all_ops(op)
            if isinstance(inner, tir.LoadOp | tir.StoreOp)
            and inner.buffer in self._redirected
        }
        places: dict[SSAValue, tuple[SSAValue, list[SSAValue]]] = {}
        for buffer in used:
            other, indices = self._redirected[buffer]
            places[buffer] = (other, [self._code.value(index) for index in indices])
        copy = op.clone(self._values)
        self._code.insert(copy)
        for inner in list(copy.walk()) if places else ():
            if isinstance(inner, tir.LoadOp | tir.StoreOp) and inner.buffer in places:
                buffer, values = places[inner.buffer]
                new = (
                    tir.StoreOp(inner.value, buffer, values)
                    if isinstance(inner, tir.StoreOp)
                    else tir.LoadOp(buffer, values)
                )
                Rewriter.replace_op(inner, new)
                copy = new if inner is copy else copy
        return copy

    def _prepare(self, op: Operation) -> None:
        """Copy what an op, and what is inside of it, takes from outside of it."""
        for inner in op.walk():
            for operand in inner.operands:
                if not op.is_ancestor(operand.owner):
                    self.copied(operand)


# ---- recognition ----


def find_nest(loop: tir.ForOp) -> Nest | None:
    """The nest whose outermost loop is `loop`, if it is one."""
    loops: list[tir.ForOp] = []
    hoisted: dict[Operation, None] = {}
    inner: Operation | None = loop
    while isinstance(inner, tir.ForOp):
        if not _is_plain(inner):
            return None
        loops.append(inner)
        inner = _only_statement(inner, loop, hoisted)
    if not isinstance(inner, tir.BlockOp) or not _is_simple(inner):
        return None
    nest = _bound(loops, inner)
    if nest is None or any(
        loop.is_ancestor(value.owner)
        for axis in nest.axes
        for value in leaf_values(axis.extent)
    ):
        return None
    for op in hoisted:
        # Before the loops, where copies find it.
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(loop))
    return nest


def _is_plain(loop: tir.ForOp) -> bool:
    return (
        loop.kind.data is tir.ForKind.SERIAL
        and not loop.annotations
        and not loop.attributes
        and tir.is_constant(loop.min, 0)
    )


def with_counted_extents(nest: Nest) -> Nest:
    """The nest with extents of at least 0, by `max` where that is not known.

    Divided extents of loops that do not run need it: `-1 floordiv 4 * 4` and
    `-1 floormod 4` are where a rest of 3 iterations would begin, at -4.
    """
    if all(_is_count(axis.extent) for axis in nest.axes):
        return nest
    axes = tuple(
        axis
        if _is_count(axis.extent)
        else replace(axis, extent=smart.maximum(axis.extent, 0))
        for axis in nest.axes
    )
    return replace(nest, axes=axes)


def _is_count(extent: Expr) -> bool:
    """Whether it is at least 0, as extents of buffers are, by its terms alone."""
    known: dict[Expr, bool] = {}
    for node in postorder(extent):
        parts = [known[operand] for operand in node.operands]
        match node:
            case Const():
                known[node] = node.value >= 0
            case Value():
                known[node] = isinstance(node.value.owner, tir.ShapeVarOp)
            case Add() | Mul() | Min() | FloorDiv() | FloorMod():
                known[node] = all(parts)
            case _:
                known[node] = isinstance(node, Max) and any(parts)
    return known[extent]


def _only_statement(
    loop: tir.ForOp, outermost: tir.ForOp, hoisted: dict[Operation, None]
) -> Operation | None:
    """The one op of the body that depends on the loops; adds the others to `hoisted`."""
    statement: Operation | None = None
    for op in loop.body.block.ops:
        if _is_invariant(op, outermost, hoisted):
            hoisted[op] = None
        elif statement is not None:
            return None
        else:
            statement = op
    return statement


def _is_invariant(
    op: Operation, outermost: tir.ForOp, hoisted: Mapping[Operation, None]
) -> bool:
    """Whether an op may be before the loops, such as the sum that is an extent."""
    if isinstance(op, tir.ConstOp):
        return True
    if not op.results or op.regions or not can_speculate(op):
        return False
    owners = (operand.owner for operand in op.operands)
    return all(each in hoisted or not outermost.is_ancestor(each) for each in owners)


def _is_simple(block: tir.BlockOp) -> bool:
    """Whether the block computes and stores elements, and does nothing else."""
    if block.predicate is not None or block.annotations or block.attributes:
        return False
    return all(_is_understood(op) for op in all_ops(block.body))


def _is_understood(op: Operation) -> bool:
    match op:
        case tir.ReadsOp() | tir.WritesOp() | tir.InitOp() | tir.YieldOp():
            return True
        case tir.LoadOp() | tir.StoreOp():
            return op.predicate is None and _is_plain_buffer(op.buffer, op)
        case tir.IfThenElseOp():
            return True
        case _:
            return bool(op.results) and not op.regions and can_speculate(op)


def _is_plain_buffer(buffer: SSAValue, op: tir.LoadOp | tir.StoreOp) -> bool:
    """Whether each index tuple is an element of its own, where the op writes."""
    definition = tir.buffer_definition(buffer)
    if not isinstance(definition, tir.MatchBufferOp | tir.AllocBufferOp):
        return False
    if not tir.is_scalar(definition.type.element_type):
        return False
    if not all(tir.is_scalar(index.type) for index in op.indices):
        return False
    return isinstance(op, tir.LoadOp) or not definition.layout_strides


def _bound(loops: Sequence[tir.ForOp], block: tir.BlockOp) -> Nest | None:
    """The nest, if each loop is the binding of one iteration variable.

    None if one is known not to run, for then its init does not run, either, and for
    variables of other types than those of indices, in which products wrap around.
    """
    by_loop_var: dict[SSAValue, Axis] = {}
    fixed: dict[SSAValue, Expr] = {}
    loop_of = {loop.loop_var: loop for loop in loops}
    for variable, it in zip(block.iter_vars, block.iters, strict=True):
        loop = loop_of.get(it.binding) if isinstance(it.binding, BlockArgument) else None
        extent = view(it.extent)
        if not tir.is_constant(it.min, 0):
            return None
        if loop is None:
            if not tir.is_constant(it.binding, 0) or not tir.is_constant(it.extent, 1):
                return None
            fixed[variable] = Const(0, variable.type)
            continue
        if loop.loop_var in by_loop_var or view(loop.extent) is not extent:
            return None
        if not tir.is_index_type(variable.type):
            return None
        if any(use.operation is not block for use in loop.loop_var.uses):
            # What is in the block would use a loop that goes.
            return None
        name = loop.loop_var.name_hint or variable.name_hint or "i"
        by_loop_var[loop.loop_var] = axis = Axis(variable, extent, name)
        if axis.size is not None and axis.size <= 0:
            return None
    if len(by_loop_var) != len(loops):
        return None
    axes = tuple(by_loop_var[loop.loop_var] for loop in loops)
    return Nest(loops[0], block, axes, fixed)
