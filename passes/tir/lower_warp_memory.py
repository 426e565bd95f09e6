"""Memory of a warp becomes registers of its lanes, which they exchange by shuffles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp, Signedness, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Ramp, emit, leaf_values, view
from xdsl_tvm.analysis.arith.linear_equation import detect_linear_equation
from xdsl_tvm.analysis.tir.function_target import target_of
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.analysis.tir.thread_divergence import is_uniform
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import bits_of_lane
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.memory_views import is_plain_view
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_WARP = "warp"
_LOCAL = "local"
_AXIS = "threadIdx.x"
_MASK = IntegerType(32, Signedness.UNSIGNED)
_POINTERS = {
    "ptx_mma": (6, 8, 10),
    "ptx_ldmatrix": (3,),
    "mma_store": (3,),
    "mma_fill": (1,),
}
"""The operands of calls that are pointers to registers; an offset follows each."""
_OF_LANES = ("mma_fill", "mma_store")
"""Calls that add what belongs to the lanes before to an offset in memory of a warp."""
_PRODUCT = re.compile(r"m(\d+)n(\d+)k(\d+)")
_STORED = 8
"""The elements of a lane that `mma_store` stores."""
_LANES = 32
"""Of a warp that multiplies matrices."""


@dataclass(frozen=True)
class LowerWarpMemory(CompilerPass):
    """Summary: Turns memory of a warp into registers of its lanes and shuffles.

    TVM name: tir.LowerWarpMemory (v0.20)
    Input form: kernels with accesses of one index, such as tir-flatten-buffer makes
    Output form: the same, without the scope `warp`
    Options: none
    Rewrites: before

            %p = tir.allocate [32] : !tir.ptr<f32, "warp">
            %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
            tir.store %x, %W[%tx] : f32
            %y = tir.load %W[%lane] : f32

        after

            %p = tir.allocate [1] : !tir.ptr<f32, "local">
            %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "local">
            tir.store %x, %W[%c0] : f32
            %mask = tir.call "tvm_warp_activemask"() : () -> ui32
            %own = tir.load %W[%c0] : f32
            %y = tir.call "tvm_warp_shuffle"(%mask, %own, %lane, %c32, %c32)

        With w threads along threadIdx.x, and stores that advance by m elements from one
        to the next, lane l has the elements of which `index mod (w * m)` is from `l * m`
        on, m of them in each period. A load from the own lane stays a load. The offsets
        in `ptx_mma`, `ptx_ldmatrix`, `mma_store` and `mma_fill` become those of a lane;
        the last two have none of the lane before, since they add it.
        Time is linear in the size of the module.
    Leaves alone: memory in other scopes; functions whose target has warps of one thread
    Errors: of memory in scope `warp`: no `target`, a size that is not constant, no store,
        a view of another shape or element type; of its uses: a place outside a launch
        of threadIdx.x, a number of threads that is not constant or does not divide a
        warp, or that is another than at the other uses; an index of stores that does not
        advance by a positive constant, or by another than at the other stores; a store
        to another lane; a vector that is not contiguous or not of one lane; a masked
        load, or one under a condition or loop that may differ between the lanes, from
        another lane; a register that may differ between the lanes, in a load from
        another lane; registers of matrix instructions that do not follow each other in
        the own lane, or whose number is not known; an address of an element, or a
        pointer in any other op
    Attributes: read: `target`, for `thread_warp_size`; created: none; removed: none
    Differs from TVM: a store to another lane, which TVM does in the registers of the
        lane that stores, is an error, as are loads that not all lanes need reach, and
        registers of matrix instructions that are not those of the own lane: so are
        offsets of `mma_fill` and `mma_store` that have a term of the lane.
        Elements that are vectors take no more registers than they are. The launch may be
        around the allocation as well as after it.
    """

    name = "tir-lower-warp-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.walk():
            if isinstance(func, tir.FuncOp):
                _lower(func)


def _refused(op: Operation, problem: str) -> PassFailedException:
    return PassFailedException(f"{describe(op)}: {problem}")


def _lower(func: tir.FuncOp) -> None:
    found = [
        op for op in ops_of(func, tir.AllocateOp) if op.result.type.scope.data == _WARP
    ]
    if not found:
        return
    target = target_of(func)
    if target is None:
        raise _refused(
            found[0], "memory of a warp needs a target for its size; run tir-bind-target"
        )
    warp_size = target.int_attr("thread_warp_size", 1)
    if warp_size == 1:
        return
    memories = [_WarpMemory(op, warp_size) for op in found]
    # A product has its operands in several memories.
    uses: dict[Operation, list[_WarpMemory]] = {}
    for memory in memories:
        for op in memory.accesses:
            uses.setdefault(op, []).append(memory)

    def visit_measured(op: Operation) -> None:
        for memory in uses.get(op, ()):
            memory.measure(op, measure)

    measure = FactsWalker(Analyzer(), visit_measured)
    measure.walk(func)
    for memory in memories:
        memory.check_measured()
    _Rewriter(uses).walk(func)
    for memory in memories:
        memory.replace()


class _WarpMemory:
    """An allocation in scope `warp`, its views and accesses."""

    def __init__(self, alloc: tir.AllocateOp, warp_size: int) -> None:
        self.alloc = alloc
        self.warp_size = warp_size
        self.threads = 0
        """Lanes that have the memory together."""
        self.step = 0
        """Elements of a lane that follow each other."""
        self._size = self._checked_size()
        self._views: list[tir.DeclBufferOp] = []
        self._pointers: list[tir.DataOp] = []
        self.accesses: dict[Operation, None] = {}
        self._collect(alloc.result)

    def _checked_size(self) -> int:
        shape = self.alloc.static_extents.get_values()
        if DYNAMIC_INDEX in shape:
            raise _refused(
                self.alloc, "memory of a warp needs a constant size; specialize it"
            )
        return prod(shape)

    def _collect(self, pointer: SSAValue) -> None:
        pending = [pointer]
        while pending:
            for use in pending.pop().uses:
                op = use.operation
                match op:
                    case tir.DeclBufferOp():
                        if not _is_flat(op, self.alloc):
                            raise _refused(
                                op,
                                "a buffer in memory of a warp has its elements and one "
                                "dimension; run tir-flatten-buffer",
                            )
                        self._views.append(op)
                        pending.append(op.buffer)
                    case tir.DataOp():
                        self._pointers.append(op)
                        pending.append(op.results[0])
                    case tir.LoadOp() | tir.StoreOp():
                        self.accesses[op] = None
                    case tir.CallOp() if use.index in _POINTERS.get(op.callee.data, ()):
                        self.accesses[op] = None
                    case _:
                        raise _refused(
                            op,
                            "cannot access the address of warp memory directly; use "
                            "loads, stores and matrix instructions",
                        )

    @property
    def period(self) -> int:
        """Elements after which the first lane is next again."""
        return self.threads * self.step

    @property
    def periods(self) -> int:
        return -(-self._size // self.period)

    @property
    def element_bits(self) -> int:
        kind = self.alloc.result.type.element_type
        return bits_of_lane(kind) * tir.lanes_of(kind)

    def offsets(self, call: tir.CallOp) -> Iterator[int]:
        """The operands of a call that are offsets in this memory."""
        for position in _POINTERS[call.callee.data]:
            if _root(call.args[position]) is self.alloc:
                yield position + 1

    # ---- how the elements are distributed ----

    def measure(self, op: Operation, facts: FactsWalker) -> None:
        """Record what an access says about the distribution."""
        launch = _launch_around(op)
        extent = tir.constant_value(launch.extent)
        if not isinstance(extent, int):
            raise _refused(
                launch, "warp memory needs a constant number of threads; specialize it"
            )
        if extent < 1 or self.warp_size % extent:
            raise _refused(
                launch,
                f"{extent} threads do not divide a warp of {self.warp_size}, whose "
                "memory they use; launch as many as divide it",
            )
        if self.threads not in (0, extent):
            raise _refused(
                op,
                f"warp memory is accessed by {extent} threads here and {self.threads} "
                "elsewhere; launch one number of them",
            )
        self.threads = extent
        lane = view(launch.thread_var)
        match op:
            case tir.StoreOp():
                (index,) = op.indices
                self._measured(op, _coefficient(op, facts, facts.tree(index), lane))
            case tir.CallOp() if op.callee.data == "ptx_ldmatrix":
                offset = facts.tree(op.args[4])
                self._measured(op, _coefficient(op, facts, offset, lane))
            case tir.CallOp() if op.callee.data == "mma_fill":
                count = tir.constant_value(op.args[0])
                self._measured(op, count if isinstance(count, int) else None)
            case _:
                pass

    def _measured(self, op: Operation, step: int | None) -> None:
        if step is None or step < 1:
            raise _refused(
                op,
                "what a lane stores in warp memory must advance by a positive constant "
                f"with {_AXIS}; index it by {_AXIS} times a constant",
            )
        if self.step not in (0, step):
            raise _refused(
                op,
                f"stores to warp memory advance by {step} elements with {_AXIS} here and "
                f"by {self.step} elsewhere; use one of them",
            )
        self.step = step

    def check_measured(self) -> None:
        """Raise PassFailedException where nothing says how elements are distributed."""
        if self.accesses and not self.step:
            raise _refused(
                self.alloc, "nothing is stored in this memory of a warp; store before use"
            )

    def replace(self) -> None:
        """Give the memory, its views and pointers their new scope and size."""
        old = self.alloc
        size = self.periods * self.step if self.step else self._size
        kind = old.result.type
        new = tir.AllocateOp(
            tir.PtrType(kind.element_type, _LOCAL),
            [size],
            condition=old.condition,
            annotations=old.annotations,
            name=old.var_name,
        )
        new.attributes |= old.attributes
        new.location = old.location
        Rewriter.replace_op(old, new)
        for buffer in self._views:
            view_ = buffer.type
            Rewriter.replace_value_with_new_type(
                buffer.buffer, tir.BufferType(view_.shape, view_.element_type, _LOCAL)
            )
        for pointer in self._pointers:
            element = kind.element_type
            Rewriter.replace_value_with_new_type(
                pointer.results[0], tir.PtrType(element, _LOCAL)
            )


def _is_flat(buffer: tir.DeclBufferOp, alloc: tir.AllocateOp) -> bool:
    return len(alloc.shape) == 1 and is_plain_view(buffer, alloc)


def _elements(call: tir.CallOp, position: int, bits: int) -> int:
    """The elements of `bits` bits of a lane from the offset at `position` on."""
    match call.callee.data:
        case "mma_store":
            return _STORED
        case "mma_fill":
            count = tir.constant_value(call.args[0])
            assert isinstance(count, int), "measured before"
            return count
        case "ptx_ldmatrix":
            count = tir.constant_value(call.args[1])
            if not isinstance(count, int):
                raise _refused(
                    call, "loads a number of matrices that is not constant; give it"
                )
            return -(-32 * count // bits)
        case _:
            return -(-_operand_bits(call, position) // bits)


def _operand_bits(call: tir.CallOp, position: int) -> int:
    """The bits of a lane of the operand of `ptx_mma` with the offset at `position`."""
    operand = (position - _POINTERS["ptx_mma"][0]) // 2
    shape = _PRODUCT.fullmatch(_text(call, 0))
    dtypes = [_text(call, 3 + number).lstrip(".") for number in range(3)]
    found = [8 if "e4m3" in one or "e5m2" in one else _digits(one) for one in dtypes]
    if shape is None or not all(found):
        raise _refused(
            call,
            "names no shape and dtypes of a product, such as m16n8k16 of fp16 to fp32; "
            "write one",
        )
    m, n, k = (int(size) for size in shape.groups())
    sizes = (m * k, k * n, m * n)
    # Four groups of eight lanes each multiply the matrices of this one.
    times = 4 if (m, n, k) == (8, 8, 4) and found[0] == 16 else 1
    return -(-sizes[operand] * found[operand] * times // _LANES)


def _text(call: tir.CallOp, position: int) -> str:
    owner = call.args[position].owner
    return owner.value.data if isinstance(owner, tir.StringOp) else ""


def _digits(name: str) -> int:
    """The number that a name ends with; 0 if with none."""
    found = re.search(r"\d+$", name)
    return int(found[0]) if found else 0


def _root(value: SSAValue) -> Operation | None:
    """The allocation that a pointer is of, through views of it."""
    owner = value.owner
    while isinstance(owner, tir.DataOp | tir.DeclBufferOp):
        owner = owner.operands[0].owner
    return owner if isinstance(owner, Operation) else None


def _launch_around(op: Operation) -> tir.LaunchThreadOp:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.LaunchThreadOp) and parent.axis.tag == _AXIS:
            return parent
        parent = parent.parent_op()
    raise _refused(op, f"uses warp memory outside a launch of {_AXIS}; move it inside")


def _base(op: Operation, index: Expr) -> tuple[Expr, int]:
    """The first element that an index names, and how many follow each other."""
    if not tir.is_vector(index.dtype):
        return index, 1
    if isinstance(index, Ramp) and smart.literal(index.stride) == 1:
        return index.base, tir.lanes_of(index.dtype)
    raise _refused(
        op, "vectors in warp memory must be contiguous; access elements one by one"
    )


def _coefficient(
    op: Operation, facts: FactsWalker, index: Expr, lane: Expr
) -> int | None:
    base, _ = _base(op, index)
    for tree in (base, facts.analyzer.simplify(base)):
        found = detect_linear_equation(tree, [lane])
        factor = None if found is None else smart.literal(found[0])
        if isinstance(factor, int):
            return factor
    return None


# ---- accesses ----


class _Rewriter:
    """Rewrites the accesses in a function, in order."""

    def __init__(self, memories: dict[Operation, list[_WarpMemory]]) -> None:
        self._memories = memories
        self._facts = FactsWalker(Analyzer(), self._visit)
        self._replaced: dict[Expr, SSAValue] = {}
        """Loads that shuffles took the place of, which trees may still have as leaves."""

    def walk(self, func: tir.FuncOp) -> None:
        self._facts.walk(func)

    def _visit(self, op: Operation) -> None:
        for memory in self._memories.get(op, ()):
            match op:
                case tir.StoreOp():
                    self._store(op, memory)
                case tir.LoadOp():
                    self._load(op, memory)
                case tir.CallOp():
                    self._call(op, memory)
                case _:
                    pass

    def _split(
        self, op: Operation, index: Expr, memory: _WarpMemory
    ) -> tuple[Expr, Expr, Expr]:
        """The register, the lane that has it, and the lane that runs."""
        base, count = _base(op, index)
        simplify = self._facts.analyzer.canonical_simplify
        within = smart.floormod(base, memory.step)
        if not self._is_within(base, count, memory):
            raise _refused(
                op,
                f"a vector of {count} elements in warp memory may belong to several "
                "lanes; access elements one by one",
            )
        if memory.periods == 1:
            local = within
            lane = smart.floordiv(base, memory.step)
        else:
            part = smart.mul(smart.truncdiv(base, memory.period), memory.step)
            local = smart.add(part, within)
            lane = smart.floordiv(smart.floormod(base, memory.period), memory.step)
        local = simplify(local)
        if count > 1:
            local = Ramp(index.dtype, local, smart.const(1, base.dtype))
        return local, simplify(lane), view(_launch_around(op).thread_var)

    def _is_within(self, base: Expr, count: int, memory: _WarpMemory) -> bool:
        """Whether `count` elements from `base` on are of one lane, one after another."""
        if count == 1:
            return True
        within = smart.floormod(base, memory.step)
        return self._facts.analyzer.can_prove(smart.le(within, memory.step - count))

    def _is_own(self, lane: Expr, me: Expr) -> bool:
        if lane.dtype != me.dtype:
            me = smart.cast(lane.dtype, me)
        return self._facts.analyzer.can_prove_equal(lane, me)

    def _emitted(self, tree: Expr, builder: Builder) -> SSAValue:
        known = {
            leaf: self._replaced[leaf]
            for leaf in map(view, leaf_values(tree))
            if leaf in self._replaced
        }
        return emit(tree, builder, known)

    def _check_own(self, op: Operation, lane: Expr, me: Expr) -> None:
        if not self._is_own(lane, me):
            raise _refused(
                op,
                "may access registers of another lane, and can do so only for its own; "
                f"index the memory so that {_AXIS} has the element",
            )

    def _store(self, op: tir.StoreOp, memory: _WarpMemory) -> None:
        (index,) = op.indices
        local, lane, me = self._split(op, self._facts.tree(index), memory)
        self._check_own(op, lane, me)
        op.operands[2] = self._emitted(local, Builder(InsertPoint.before(op)))
        erase_if_unused([index])

    def _call(self, op: tir.CallOp, memory: _WarpMemory) -> None:
        for position in memory.offsets(op):
            offset = op.args[position]
            tree = self._facts.tree(offset)
            count = _elements(op, position, memory.element_bits)
            local, lane, me = self._split(op, tree, memory)
            first = tree
            if op.callee.data in _OF_LANES:
                step = smart.mul(smart.cast(tree.dtype, me), count)
                first = smart.add(tree, step)
                _, lane, me = self._split(op, first, memory)
                if not self._is_own(lane, me):
                    raise _refused(
                        op,
                        f"{op.callee.data} adds {count} elements for each lane before "
                        "to its offset, and must reach the own lane so; give the "
                        "multiple of what all lanes have together",
                    )
            self._check_own(op, lane, me)
            if not self._is_within(first, count, memory):
                raise _refused(
                    op,
                    f"{count} elements from the offset in operand {position} on may "
                    f"belong to several lanes, which have {memory.step} at a time; store "
                    "as many for each lane",
                )
            builder = Builder(InsertPoint.before(op))
            op.operands[position] = self._emitted(local, builder)
            erase_if_unused([offset])

    def _load(self, op: tir.LoadOp, memory: _WarpMemory) -> None:
        (index,) = op.indices
        local, lane, me = self._split(op, self._facts.tree(index), memory)
        builder = Builder(InsertPoint.before(op))
        if self._is_own(lane, me):
            op.operands[1] = self._emitted(local, builder)
            erase_if_unused([index])
            return
        if op.predicate is not None:
            raise _refused(
                op, "reads other lanes of a warp under a mask; load without a mask"
            )
        if not all(map(_is_warp_uniform, leaf_values(local))):
            raise _refused(
                op,
                "failed to rewrite load to shuffle: which register it reads may differ "
                f"between the lanes; index the memory so that only the lane depends on "
                f"{_AXIS}",
            )
        _check_converged(op)
        mask = builder.insert(tir.CallOp("tvm_warp_activemask", [], _MASK))
        own = builder.insert(
            tir.LoadOp(
                op.buffer, [self._emitted(local, builder)], result_type=op.result.type
            )
        )
        own.location = op.location
        source = self._emitted(lane, builder)
        width = emit(smart.const(memory.threads, i32), builder)
        warp = emit(smart.const(memory.warp_size, i32), builder)
        args = [mask.results[0], own.result, source, width, warp]
        shuffle = tir.CallOp("tvm_warp_shuffle", args, op.result.type)
        shuffle.location = op.location
        shuffle.attributes |= op.attributes
        self._replaced[view(op.result)] = shuffle.results[0]
        Rewriter.replace_op(op, shuffle)
        erase_if_unused([index])


def _is_warp_uniform(value: SSAValue) -> bool:
    """Whether the threads of a warp that differ in threadIdx.x have the same value."""
    parent = value.owner.parent_op() if not isinstance(value.owner, Operation) else None
    if isinstance(parent, tir.LaunchThreadOp):
        return parent.axis.tag != _AXIS and not parent.axis.is_virtual
    return is_uniform(value)


def _check_converged(op: Operation) -> None:
    """Raise PassFailedException unless all lanes run `op` if one of them does."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        match parent:
            case tir.LaunchThreadOp():
                deciding: tuple[SSAValue, ...] = ()
            case tir.IfOp() | tir.IfThenElseOp():
                deciding = (parent.condition,)
            case tir.ForOp():
                deciding = (parent.min, parent.extent)
            case tir.ScopeOp() | tir.AttrOp():
                deciding = ()
            case _:
                raise _refused(
                    op, f"reads other lanes of a warp in {parent.name}; load before it"
                )
        for value in deciding:
            if not all(map(_is_warp_uniform, leaf_values(view(value)))):
                raise _refused(
                    op,
                    f"reads other lanes of a warp under {parent.name}, which they may "
                    "not reach; load before it",
                )
        parent = parent.parent_op()
