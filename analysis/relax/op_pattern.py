"""What a TIR function is for fusion: TVM's `OpPatternKind` (relax-passes-related C.1).

    kind = op_pattern(function)     # OpPattern.ELEMWISE

The kind says how elements of the results depend on elements of the arguments. It is read
off the blocks: from the indices of the one store and of the loads of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cast,
    Const,
    Expr,
    Mul,
    Value,
    postorder,
    view,
)
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect


class OpPattern(IntEnum):
    """The kinds, by how much they restrict fusion; the numbers are TVM's."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


ROOT = "root"
"""The name of the block that only holds the others."""


def op_pattern(function: tir.FuncOp) -> OpPattern:
    """The kind of a function; OPAQUE where nothing is known of it.

    Linear in the size of the function. A declaration, a function without blocks and one
    that writes outside of blocks are OPAQUE.
    """
    if function.is_declaration:
        return OpPattern.OPAQUE
    parameters = frozenset(match.buffer for match in function.buffer_map.values())
    kind = None
    pending: list[Operation] = list(reversed(list(_ops(function))))
    while pending:
        op = pending.pop()
        if isinstance(op, tir.BlockOp) and not _is_root(op):
            kind = _next_kind(kind, op, parameters)
        elif _is_frame(op):
            pending += reversed(list(_ops(op)))
        elif own_effect(op) > CallEffect.PURE and not isinstance(op, _DEFINITIONS):
            return OpPattern.OPAQUE
        if kind is OpPattern.OPAQUE:
            return OpPattern.OPAQUE
    return OpPattern.OPAQUE if kind is None else kind


_DEFINITIONS = (tir.MatchBufferOp, tir.AllocBufferOp, tir.ShapeVarOp)


def _is_root(block: tir.BlockOp) -> bool:
    return block.is_opaque and block.block_name.data == ROOT


def _is_frame(op: Operation) -> bool:
    """Whether an op only says where what it holds runs, or what that may touch."""
    return isinstance(op, tir.ForOp | tir.BlockOp | tir.ReadsOp | tir.WritesOp)


def _ops(op: Operation) -> Iterable[Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops


def _next_kind(
    kind: OpPattern | None, block: tir.BlockOp, parameters: frozenset[SSAValue]
) -> OpPattern:
    """The kind of what came before together with a block."""
    found = _Accesses(block)
    own = found.pattern()
    before = OpPattern.ELEMWISE if kind is None else kind
    if own is None:
        return max(before, found.reduction_pattern())
    is_output = found.store is not None and found.store.buffer in parameters
    if before is OpPattern.COMM_REDUCE and is_output:
        # A reduction whose result the same function goes on with, such as softmax.
        return OpPattern.OUT_ELEMWISE_FUSABLE
    return max(before, own)


@dataclass
class _Accesses:
    """The loads and the store of a block, those of its init aside."""

    block: tir.BlockOp
    loads: list[tir.LoadOp] = field(default_factory=list[tir.LoadOp])
    store: tir.StoreOp | None = None
    is_understood: bool = True
    _trees: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])

    def __post_init__(self) -> None:
        # A dimension of extent 1 is read at 0, whether that is said or a variable.
        for variable, it in zip(self.block.iter_vars, self.block.iters, strict=True):
            if tir.is_constant(it.min, 0) and tir.is_constant(it.extent, 1):
                self._trees[variable] = Const(0, variable.type)
        pending = list(_ops(self.block))
        while pending:
            op = pending.pop()
            if isinstance(op, tir.InitOp | tir.ReadsOp | tir.WritesOp):
                continue
            self._visit(op)
            pending += _ops(op)

    def _visit(self, op: Operation) -> None:
        match op:
            case tir.LoadOp():
                self.loads.append(op)
            case tir.StoreOp():
                if self.store is not None and self.at(op) != self.at(self.store):
                    self.is_understood = False
                self.store = op
            case tir.ForOp() | tir.IfOp():
                pass
            case _ if isinstance(op, tir.BlockOp) or own_effect(op) > CallEffect.PURE:
                self.is_understood = False
            case _:
                pass

    def at(self, access: tir.LoadOp | tir.StoreOp) -> tuple[Expr, ...]:
        """The indices of an access."""
        return tuple(view(index, self._trees) for index in access.indices)

    def pattern(self) -> OpPattern | None:
        """How the stored element depends on the loaded ones; None if by no map."""
        if self.store is None or not self.is_understood:
            return OpPattern.OPAQUE
        stored = self.at(self.store)
        kinds: set[OpPattern] = set()
        for load in self.loads:
            kind = self._pair_pattern(stored, load)
            if kind is None:
                return None
            kinds.add(kind)
        greatest = max(kinds, default=OpPattern.ELEMWISE)
        if greatest is OpPattern.BROADCAST and OpPattern.ELEMWISE in kinds:
            return OpPattern.ELEMWISE
        return greatest

    def _pair_pattern(self, stored: Sequence[Expr], load: tir.LoadOp) -> OpPattern | None:
        loaded = self.at(load)
        if loaded == stored:
            return OpPattern.ELEMWISE
        if _is_broadcast(stored, loaded, load.buffer):
            return OpPattern.BROADCAST
        return OpPattern.INJECTIVE if _is_injective(stored, loaded) else None

    def reduction_pattern(self) -> OpPattern:
        """The kind of a block that is no map."""
        assert self.store is not None
        reduced = {
            variable
            for variable, it in zip(self.block.iter_vars, self.block.iters, strict=True)
            if it.kind is tir.IterKind.REDUCE
        }
        if not reduced:
            return OpPattern.OPAQUE
        if self._is_sum_of_products() or not all(
            _is_pure_reduction(self.at(load), reduced) for load in self.loads
        ):
            return OpPattern.OUT_ELEMWISE_FUSABLE
        return OpPattern.COMM_REDUCE

    def _is_sum_of_products(self) -> bool:
        """`S[i] = S[i] + A * B` with operands that are read for several results."""
        assert self.store is not None
        total = _uncast(view(self.store.value, self._trees))
        if not isinstance(total, Add):
            return False
        accumulator, product = map(_uncast, total.operands)
        if not isinstance(product, Mul) or not self._is_store_place(accumulator):
            return False
        stored = {index for index in self.at(self.store) if _is_variable(index)}
        for factor in map(_uncast, product.operands):
            load = _loaded(factor)
            if load is None or stored <= set(postorder(*self.at(load))):
                return False
        return True

    def _is_store_place(self, tree: Expr) -> bool:
        load = _loaded(tree)
        store = self.store
        return (
            load is not None
            and store is not None
            and load.buffer is store.buffer
            and self.at(load) == self.at(store)
        )


def _is_zero(tree: Expr) -> bool:
    return isinstance(tree, Const) and tree.value == 0


def _is_variable(tree: Expr) -> bool:
    return isinstance(tree, Value) and isinstance(tree.value, BlockArgument)


def _loaded(tree: Expr) -> tir.LoadOp | None:
    owner = tree.value.owner if isinstance(tree, Value) else None
    return owner if isinstance(owner, tir.LoadOp) else None


def _uncast(tree: Expr) -> Expr:
    while isinstance(tree, Cast):
        tree = tree.operands[0]
    return tree


def _is_broadcast(
    stored: Sequence[Expr], loaded: Sequence[Expr], buffer: SSAValue
) -> bool:
    """Whether the loaded indices are some of the stored ones, in their order."""
    shape = tir.buffer_definition(buffer).shape
    rest = iter(stored)
    for index, extent in zip(loaded, shape, strict=True):
        is_unit = isinstance(extent, int) and extent == 1
        if is_unit and _is_zero(index):
            continue
        if not any(index is other for other in rest):
            return False
    return True


def _is_injective(stored: Sequence[Expr], loaded: Sequence[Expr]) -> bool:
    """Whether the stored indices are variables and the loaded ones use only these."""
    variables = {index for index in stored if _is_variable(index)}
    if len(variables) != sum(not _is_zero(index) for index in stored):
        return False
    leaves = [node for node in postorder(*loaded) if isinstance(node, Value)]
    return all(leaf in variables or _is_fixed(leaf.value) for leaf in leaves)


def _is_fixed(value: SSAValue) -> bool:
    """Whether a value is the same in all iterations: an extent or a scalar parameter."""
    owner = value.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), tir.FuncOp)
    return isinstance(owner, tir.ShapeVarOp)


def _is_pure_reduction(indices: Sequence[Expr], reduced: set[BlockArgument]) -> bool:
    """Whether reduction variables only occur as whole indices."""
    variables = {Value(variable) for variable in reduced}
    return not any(
        index not in variables and variables & set(postorder(index)) for index in indices
    )
