"""The loops of one block become blocks and threads of a GPU.

The loops that are bound, the run, are split from one fused variable `f`:

    f = b * t + t_i                 where the run has at most 256 * T iterations
    f = (s * 256 + b) * T + t_i     where it has more, or a symbolic number of them

with `b` on `blockIdx.x`, `t_i` on `threadIdx.x`, and a serial loop `s` in each thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, i1, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Value,
    emit,
    leaf_values,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.iter_forms import normalize_iter_map_to_expr
from xdsl_tvm.analysis.arith.iter_map import detect_iter_map
from xdsl_tvm.analysis.arith.linear_equation import linear_form
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.passes.tir._loops.enclosing import container_of, loops_around
from xdsl_tvm.passes.tir.rewriting.statements import (
    can_speculate,
    describe,
    erase_if_unused,
    is_computed_inside,
    renewed_block,
)

BLOCKS: Final = 256
"""The most blocks that a launch has, `max_threadblocks` of TVM."""
_KINDS = (tir.ForKind.SERIAL, tir.ForKind.PARALLEL)


def bind_block(block: tir.BlockOp, threads: int, sizes: AbstractSet[SSAValue]) -> None:
    """Bind the loops of a block to blocks of at most `threads` threads.

    The block holds no other, and nothing around it is bound. `sizes` are values that are
    not negative, as extents of buffers of parameters are. Raises PassFailedException
    where its loops are not one for each iteration variable.
    """
    loops = loops_around(block, container_of(block))
    iters = block.iters
    if len(loops) != len(iters) and (loops or len(iters) > 1):
        raise PassFailedException(
            f"{describe(block)} has {len(iters)} iteration variables in {len(loops)} "
            "loops; let each loop bind one of them, or schedule the function by hand"
        )
    nest = _perfect_part(block, loops)
    run = _Runs(block, loops, nest, threads, sizes).first()
    if run:
        _bind_run(_Binding(block, run, threads, sizes))
    else:
        _add_unit_loop(nest[0] if nest else block)


# ---- which loops ----


def _perfect_part(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> list[tir.ForOp]:
    """The innermost loops that hold nothing but the next one, or the block."""
    found: list[tir.ForOp] = []
    inner: Operation = block
    for loop in reversed(loops):
        if inner.parent_op() is not loop or not _holds_only(loop, inner):
            break
        found.append(loop)
        inner = loop
    return found[::-1]


def _holds_only(loop: tir.ForOp, inner: Operation) -> bool:
    """Whether all other ops of the body may run in more places than they do."""
    return all(
        op is inner or (bool(op.results) and not op.regions and can_speculate(op))
        for op in loop.body.block.ops
    )


@dataclass
class _Runs:
    """The loops of a perfect nest whose iterations are independent."""

    block: tir.BlockOp
    loops: list[tir.ForOp]
    nest: list[tir.ForOp]
    threads: int
    sizes: AbstractSet[SSAValue]

    def first(self) -> list[tir.ForOp]:
        """The first loops that follow each other, are independent, and can be fused."""
        run: list[tir.ForOp] = []
        for loop in self.nest:
            if self._is_independent(loop) and self._fuses(run, loop):
                run.append(loop)
            elif run:
                break
        return run

    def _is_independent(self, loop: tir.ForOp) -> bool:
        """Whether the kinds of the block say that iterations may run at one time.

        They do if an iteration variable of kind `S` is that of the loop, up to its sign
        and to terms that are the same in all of the nest, and no variable of another
        kind depends on the loop. The variable at the place of the loop is of kind `S`.
        """
        iters = self.block.iters
        if iters[self.loops.index(loop)].kind is not tir.IterKind.SPATIAL:
            return False
        if loop.kind.data not in _KINDS or loop.annotations or loop.attributes:
            return False
        owned = False
        for it in iters:
            tree = view(it.binding)
            if loop.loop_var in leaf_values(tree):
                if it.kind is not tir.IterKind.SPATIAL:
                    return False
                owned = owned or self._is_own(tree, loop)
        return owned

    def _is_own(self, tree: Expr, loop: tir.ForOp) -> bool:
        variables: list[Expr] = [Value(each.loop_var) for each in self.nest]
        own = Value(loop.loop_var)
        if tree is own:
            return True
        form = linear_form(tree, variables)
        if form is None or is_computed_inside(form.base, self.nest[0]):
            return False
        (variable, factor), *others = form.factors.items()
        return not others and variable is own and smart.literal(factor) in (1, -1)

    def _fuses(self, run: Sequence[tir.ForOp], loop: tir.ForOp) -> bool:
        """Whether the loops of a run and another one have a product of extents.

        The product is of their type, ranges are known before the first of them, and no
        two extents are negative: their product would be positive.
        """
        first = run[0] if run else loop
        if first.loop_var.type != loop.loop_var.type:
            return False
        for value in (loop.min, loop.extent):
            if is_computed_inside(view(value), first):
                return False
        if run and sum(map(self._may_be_negative, (*run, loop))) > 1:
            return False
        extents = [smart.literal(view(each.extent)) for each in (*run, loop)]
        size = 1
        for extent in extents:
            size *= 1 if extent is None else max(int(extent), 1)
        # What the last iteration of the last block is rounded up to.
        most = BLOCKS * self.threads
        is_large = None in extents or size > most
        step = most if is_large else min(size, self.threads)
        _, high = integer_range(loop.loop_var.type)
        return -(-size // step) * step <= high

    def _may_be_negative(self, loop: tir.ForOp) -> bool:
        extent = view(loop.extent)
        return not _with_sizes(self.sizes, extent).can_prove(smart.ge(extent, 0))


def _with_sizes(sizes: AbstractSet[SSAValue], *trees: Expr) -> Analyzer:
    """An analyzer that knows which values in trees are not negative."""
    analyzer = Analyzer()
    for leaf in leaf_values(*trees):
        if leaf in sizes:
            analyzer.mark_global_nonneg(Value(leaf))
    return analyzer


# ---- binding them ----


def _bind_run(binding: _Binding) -> None:
    binding.write_loops()
    binding.rebind_block()
    binding.replace_variables()
    Rewriter.erase_op(binding.run[0])


@dataclass(frozen=True)
class _Axis:
    """A new loop from 0: its variable and its extent."""

    variable: BlockArgument
    extent: Expr


class _Binding:
    """The loops that take the place of a run."""

    def __init__(
        self,
        block: tir.BlockOp,
        run: Sequence[tir.ForOp],
        threads: int,
        sizes: AbstractSet[SSAValue],
    ) -> None:
        self.block = block
        self.run = run
        self.threads = threads
        self.dtype = run[0].loop_var.type
        assert isinstance(self.dtype, IntegerType)
        extents = [view(loop.extent) for loop in run]
        self.sizes = sizes
        self.analyzer = _with_sizes(sizes, *extents)
        total: Expr = self._const(1)
        for extent in extents:
            total = smart.mul(total, extent)
        self.total = self.analyzer.simplify(total)
        size = smart.literal(self.total)
        self.size = None if size is None else int(size)
        self.axes: list[_Axis] = []
        self.index: Expr = self._const(0)
        """The fused variable, as TVM writes it in bounds."""
        self.position: Expr = self._const(0)
        """The fused variable, as TVM writes it in indices."""
        self.inner = run[-1].body.block

    @property
    def is_empty(self) -> bool:
        """Whether no iteration runs, whatever the sizes are."""
        return self.size is not None and self.size <= 0

    def _const(self, value: int) -> Expr:
        return smart.const(value, self.dtype)

    def write_loops(self) -> None:
        """Write the loops, and move what the run holds into the innermost."""
        size = self.size
        name = fused_name([name_of(loop) for loop in self.run])
        builder = Builder(InsertPoint.before(self.run[0]))
        if size is not None and size <= BLOCKS * self.threads:
            # A launch needs a thread, also where no iteration runs.
            count = max(1, min(size, self.threads))
            blocks = max(1, -(-size // count))
            factors = [self._const(blocks), self._const(count)]
            order = (0, 1)
        else:
            step = BLOCKS * self.threads
            rounded = smart.add(self.total, step - 1)
            factors = [
                self.analyzer.simplify(smart.floordiv(rounded, self._const(step))),
                self._const(BLOCKS),
                self._const(self.threads),
            ]
            order = (1, 2, 0)
        extents = [emit(factor, builder) for factor in factors]
        tags = ("blockIdx.x", "threadIdx.x", None)
        loops: dict[int, tir.ForOp] = {}
        for number, tag in zip(order, tags, strict=False):
            loop = _loop(self.dtype, extents[number], f"{name}_{number}", tag, builder)
            loop.location = self.run[0].location
            loops[number] = loop
            builder = Builder(InsertPoint.at_end(loop.body.block))
        self.axes = [_Axis(loops[n].loop_var, factors[n]) for n in sorted(loops)]
        for axis in self.axes:
            variable, extent = Value(axis.variable), axis.extent
            self.index = smart.add(smart.mul(self.index, extent), variable)
        strides: list[Expr] = [self._const(1)]
        for axis in self.axes[:0:-1]:
            strides.append(smart.mul(strides[-1], axis.extent))
        for axis, stride in zip(self.axes, reversed(strides), strict=True):
            term = smart.mul(Value(axis.variable), stride)
            self.position = smart.add(self.position, term)
        self._move_bodies(loops[order[-1]].body.block)

    def _move_bodies(self, inner: Block) -> None:
        """Put what the loops of the run hold into the innermost of the new loops."""
        self.inner = inner
        for outer, following in zip(self.run, self.run[1:], strict=False):
            for op in list(outer.body.block.ops):
                if op is not following:
                    _move(op, inner)
        for op in list(self.run[-1].body.block.ops):
            _move(op, inner)

    def digits(self) -> dict[Expr, Expr]:
        """For the variables of the run, what they are in terms of the new ones."""
        found: dict[Expr, Expr] = {}
        lower: Expr = self._const(1)
        for loop in reversed(self.run):
            extent = view(loop.extent)
            if smart.literal(extent) == 1 or self.is_empty:
                digit = self._const(0)
            else:
                upper = smart.mul(lower, extent)
                digit = smart.floordiv(smart.floormod(self.position, upper), lower)
            found[Value(loop.loop_var)] = smart.add(view(loop.min), digit)
            lower = smart.mul(lower, extent)
        return dict(reversed(found.items()))

    def rebind_block(self) -> None:
        """Bind the iteration variables anew, and guard the block where it is needed."""
        block, digits = self.block, self.digits()
        builder = Builder(InsertPoint.before(block))
        inputs = self._inputs()
        predicate = self._predicate(digits, self._bound(inputs))
        old = [view(value) for value in block.iter_values]
        new = self._joined([substitute(tree, digits) for tree in old], inputs, predicate)
        known: dict[Expr, SSAValue] = {}
        iters = list(block.iters)
        stale: list[SSAValue] = []
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            if before is not after:
                stale.append(iters[number].binding)
                value = emit(after, builder, known)
                iters[number] = replace(iters[number], binding=value)
        guard = block.predicate
        if predicate is not None:
            stale += [] if guard is None else [guard]
            guard = emit(predicate, builder, known)
        renewed_block(block, block.block_name.data, iters, guard)
        erase_if_unused(stale)

    def _joined(
        self,
        indices: list[Expr],
        inputs: Mapping[Expr, Range],
        predicate: Expr | None,
    ) -> list[Expr]:
        """The indices as maps of the variables, written as TVM does: not simplified.

        TVM reads no symbolic bound from a predicate.
        """
        predicates = [] if self.size is None else [predicate]
        for given in dict.fromkeys((*predicates, None)):
            found = detect_iter_map(
                indices, inputs, given, analyzer=self.analyzer, simplify_trivial=False
            )
            if not found.errors:
                return [normalize_iter_map_to_expr(each) for each in found.indices]
        return indices

    def _predicate(self, digits: Mapping[Expr, Expr], bound: Expr | None) -> Expr | None:
        """The predicate of the block in terms of the new variables, and the bound."""
        if self.block.predicate is None:
            return bound
        own = substitute(view(self.block.predicate), digits)
        return own if bound is None else smart.conjunction(own, bound)

    def _inputs(self) -> dict[Expr, Range]:
        """The loops around the block, but for those of the run, with their ranges."""
        inputs: dict[Expr, Range] = {
            Value(axis.variable): Range(self._const(0), axis.extent) for axis in self.axes
        }
        for loop in loops_around(self.block, container_of(self.block)):
            variable = Value(loop.loop_var)
            if variable not in inputs and loop not in self.run:
                inputs[variable] = Range(view(loop.min), view(loop.extent))
        return inputs

    def _bound(self, inputs: Mapping[Expr, Range]) -> Expr | None:
        """That an iteration is one of the run, None where all are."""
        if self.is_empty:
            return smart.const(0, i1)
        bound = smart.lt(self.index, self.total)
        analyzer = _with_sizes(self.sizes, self.total)
        for axis in self.axes:
            analyzer.bind(axis.variable, inputs[Value(axis.variable)])
        return None if analyzer.can_prove(bound) else bound

    def replace_variables(self) -> None:
        """Compute the variables of the run for what else uses them."""
        builder = Builder(InsertPoint.at_start(self.inner))
        known: dict[Expr, SSAValue] = {}
        for variable, digit in self.digits().items():
            assert isinstance(variable, Value)
            if variable.value.first_use is not None:
                value = emit(digit, builder, known)
                variable.value.replace_all_uses_with(value)


def _add_unit_loop(op: Operation) -> None:
    """Let one thread of one block run an op."""
    builder = Builder(InsertPoint.before(op))
    for number, tag in enumerate(("blockIdx.x", "threadIdx.x")):
        one = emit(smart.const(1, i32), builder)
        loop = _loop(i32, one, f"{fused_name(['u'])}_{number}", tag, builder)
        loop.location = op.location
        builder = Builder(InsertPoint.at_end(loop.body.block))
    _move(op, builder.insertion_point.block)


def _loop(
    dtype: Attribute, extent: SSAValue, name: str, tag: str | None, builder: Builder
) -> tir.ForOp:
    """A loop from 0 without a body, bound to a thread axis if one is named."""
    kind = tir.ForKind.SERIAL if tag is None else tir.ForKind.THREAD_BINDING
    zero = emit(smart.const(0, dtype), builder)
    loop = tir.ForOp(zero, extent, kind=kind, thread_tag=tag, name=name)
    set_name_hint(loop.loop_var, name)
    return builder.insert(loop)


def _move(op: Operation, end_of: Block) -> None:
    op.detach()
    end_of.add_op(op)


def fused_name(names: Sequence[str]) -> str:
    """TVM's name of the variable of fused loops."""
    return "_".join((*names, "fused"))


def name_of(loop: tir.ForOp) -> str:
    """The name of a loop's variable, for those that are made of it."""
    if loop.loop_name is not None:
        return loop.loop_name.data
    return loop.loop_var.name_hint or "i"
