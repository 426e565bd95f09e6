"""Gives memory the vectors as elements that all its accesses have."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, FunctionType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import emit, view
from xdsl_tvm.analysis.arith.modular_set import ModularSet
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.passes.tir._pointer_types.memories import PointedMemory, memories_of
from xdsl_tvm.passes.tir._pointer_types.settings import PointerTypeSettings
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_Sizes = tir.BufferDefinition | tir.AllocateOp


def retype_pointers(function: tir.FuncOp, settings: PointerTypeSettings) -> None:
    """Change the element types of memory to the vectors with which it is accessed.

    Memory of scalars that is accessed by aligned vectors of one length only gets these
    as elements, with its views, extents and indices. Scalar reads are lanes of vector
    reads where `settings` allow that, and their indices are known modulo the lanes.
    Raises PassFailedException for a `tir.let` of a handle without a pointer type unless
    the settings allow it. Linear in the number of ops.
    """
    if not settings.allow_untyped_pointers:
        _check_lets(function)
    if function.is_declaration or not settings.rewrite_indices:
        return
    memories = memories_of(function, settings)
    if memories:
        _Retyping(function, memories, settings).run()


def _check_lets(function: tir.FuncOp) -> None:
    for op in function.walk():
        if isinstance(op, tir.LetOp) and isinstance(op.result.type, tir.HandleType):
            raise PassFailedException(
                f"{describe(op)} binds a handle and is missing a type annotation; bind "
                "it as a !tir.ptr"
            )


_is_access = of_classes(tir.LoadOp, tir.StoreOp)


class _Retyping(FactsWalker):
    """Collects the accesses of a function, and rewrites them."""

    def __init__(
        self,
        function: tir.FuncOp,
        memories: dict[SSAValue, PointedMemory],
        settings: PointerTypeSettings,
    ) -> None:
        super().__init__(Analyzer(), self._access)
        self._function = function
        self._memories = memories
        self._shuffle = settings.scalar_read_to_shuffle
        self._accesses: list[tuple[tir.LoadOp | tir.StoreOp, ModularSet | None]] = []
        """With the index modulo constants, for scalar reads."""

    def run(self) -> None:
        """Do it all."""
        self.walk(self._function)
        chosen: dict[int, int] = {}
        for memory in {id(each): each for each in self._memories.values()}.values():
            factor = self._preferred(memory)
            if factor > 1:
                chosen[id(memory)] = factor
        if not chosen:
            return
        accesses = [
            (op, chosen[id(memory)], residue)
            for op, residue in self._accesses
            if id(memory := self._memories[op.buffer]) in chosen
        ]
        retyped = {id(m): m for m in self._memories.values() if id(m) in chosen}
        for key, memory in retyped.items():
            for value in memory.values:
                _retype(value, chosen[key])
        for op, factor, residue in accesses:
            _rewrite(op, factor, residue)
        inputs = [arg.type for arg in self._function.args]
        outputs = self._function.function_type.outputs
        self._function.function_type = FunctionType.from_lists(inputs, outputs.data)

    # ---- accesses ----

    def _access(self, op: Operation) -> None:
        if not _is_access(op):
            return
        memory = self._memories.get(op.buffer)
        if memory is None or memory.is_kept:
            return
        value = op.result if isinstance(op, tir.LoadOp) else op.value
        residue: ModularSet | None = None
        index = op.indices[-1]
        if op.predicate is not None or tir.is_scalable(value.type):
            memory.is_kept = True
        elif tir.is_vector(index.type):
            memory.vectors.add(self._aligned_lanes(index))
        elif self._shuffle and isinstance(op, tir.LoadOp):
            residue = self.analyzer.modular_set(self.tree(index))
            memory.scalar_reads.add(residue.coeff)
        else:
            memory.vectors.add(1)
        self._accesses.append((op, residue))

    def _aligned_lanes(self, index: SSAValue) -> int:
        """The lanes of an index of consecutive elements that starts at a multiple of
        them; 1 of any other."""
        ramp = index.owner
        if not isinstance(ramp, tir.RampOp) or not tir.is_constant(ramp.stride, 1):
            return 1
        lanes = tir.lanes_of(index.type)
        return lanes if self._is_multiple(ramp.base, lanes) else 1

    def _is_multiple(self, value: SSAValue, number: int) -> bool:
        residue = self.analyzer.modular_set(self.tree(value))
        return residue.coeff % number == 0 and residue.base % number == 0

    def _preferred(self, memory: PointedMemory) -> int:
        """The lanes that elements of the memory get; 1 to leave them."""
        if memory.is_kept or len(memory.vectors) != 1:
            return 1
        (lanes,) = memory.vectors
        if any(coeff % lanes for coeff in memory.scalar_reads):
            return 1
        for value in memory.values:
            extent = _last_extent(value)
            if isinstance(extent, int) and extent % lanes:
                return 1
            if isinstance(extent, SSAValue) and not self._is_multiple(extent, lanes):
                return 1
        return lanes


# ---- memory ----


def _last_extent(value: SSAValue) -> int | SSAValue | None:
    """The extent of the last dimension, None of what has no extents."""
    owner = value.owner
    return owner.shape[-1] if isinstance(owner, _Sizes) and owner.shape else None


def _retype(value: SSAValue, factor: int) -> None:
    """Give a buffer or a pointer vectors as elements, and the last extent for them."""
    owner, old = value.owner, value.type
    extent = _last_extent(value)
    if isinstance(extent, SSAValue):
        assert isinstance(owner, _Sizes)
        _divide_extent(owner, factor)
    new: Attribute
    if isinstance(old, tir.BufferType):
        *outer, last = old.get_shape()
        inner = last if last == DYNAMIC_INDEX else last // factor
        element = tir.with_lanes(old.element_type, factor)
        new = tir.BufferType([*outer, inner], element, old.scope)
    else:
        assert isinstance(old, tir.PtrType)
        new = tir.PtrType(tir.with_lanes(old.element_type, factor), old.scope)
    if isinstance(owner, tir.AllocateOp) and isinstance(extent, int):
        sizes = [*owner.static_extents.get_values()[:-1], extent // factor]
        owner.static_extents = DenseArrayBase.from_list(i64, sizes)
    Rewriter.replace_value_with_new_type(value, new)


def _divide_extent(owner: _Sizes, factor: int) -> None:
    has_source = isinstance(owner, tir.DeclBufferOp | tir.MatchBufferOp)
    position = has_source + len(owner.extents) - 1
    owner.operands[position] = _quotient(owner.extents[-1], factor, owner)


# ---- indices ----


def _quotient(value: SSAValue, factor: int, place: Operation) -> SSAValue:
    """A multiple of the factor, divided by it before `place`; folded if constant."""
    builder = Builder(InsertPoint.before(place))
    tree = view(value)
    return emit(smart.truncdiv(tree, factor), builder, {tree: value})


def _rewrite(
    op: tir.LoadOp | tir.StoreOp, factor: int, residue: ModularSet | None
) -> None:
    """Access vectors as elements."""
    index = op.indices[-1]
    ramp = index.owner
    start = ramp.base if isinstance(ramp, tir.RampOp) else index
    indices = [*op.indices[:-1], _quotient(start, factor, op)]
    if isinstance(op, tir.StoreOp):
        ops: list[Operation] = [tir.StoreOp(op.value, op.buffer, indices)]
    else:
        ops = [tir.LoadOp(op.buffer, indices)]
        if residue is not None:
            lane = tir.ConstOp.of(residue.base % factor, index.type)
            ops += [lane, tir.ShuffleOp(ops[:1], [lane], op.result.type)]
    for each in ops:
        each.location = op.location
    ops[0].attributes |= op.attributes
    hints = [result.name_hint for result in op.results]
    Rewriter.replace_op(op, ops)
    for each in ops:
        for result, hint in zip(each.results, hints, strict=True):
            result.name_hint = hint if each is ops[-1] else None
    erase_if_unused((index,))
