"""Loops marked unrolled, and small serial ones, are expanded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.analysis.tir.forms import enclosing_function
from xdsl_tvm.analysis.tir.side_effect import is_assume
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir.annotations import integer_of, is_true
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import UnrollLoopConfig
from xdsl_tvm.passes.tir.convert_ssa import define_shape_vars_once
from xdsl_tvm.passes.tir.rewriting.limits import check_copies
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    enclose_in_pragmas,
    erase_if_unused,
    insert_body_before,
    replace_by_body,
)

_MAX_STEP = "pragma_auto_unroll_max_step"
_EXPLICIT = "pragma_unroll_explicit"
_LARGEST_EXTENT = 2**31 - 1
_REMEDY = "make the loop serial, or split it and unroll the inner loop"
_NO_ANNOTATIONS = DictionaryAttr({})
_LOCAL_SCOPES = frozenset(("local", "warp"))


@dataclass(frozen=True)
class UnrollLoop(UnrollLoopConfig, CompilerPass):
    """Summary: Expands loops marked unrolled, and serial loops of few steps.

    TVM name: tir.UnrollLoop (v0.20)
    Input form: any; meant for loops and buffers and later forms
    Output form: the same; with `explicit_unroll` no loop of kind `unrolled`
    Options: those of the `PassContext` key `tir.UnrollLoop`, which gives the values of
        those that are unset
        `auto_max_step` (0): serial loops of at most this many steps in all are unrolled
        `auto_max_depth` (8): if no more loops than this are unrolled inside of them
        `auto_max_extent` (0): serial loops of at most this extent are unrolled; 1 expands
        all loops that run once
        `explicit_unroll` (true): loops are expanded; false only marks them `unrolled`
        `unroll_local_access` (false): serial loops whose variable indexes `local` or
        `warp` memory are unrolled
    Rewrites: before

            tir.for %i = %lo to %lo + %c2 unrolled {
              tir.store %x, %A[%i] : f32
            }

        after

            tir.store %x, %A[%lo] : f32
            %i = tir.add %lo, %c1 : i32
            tir.store %x, %A[%i] : f32

        Steps are the ops with an effect: stores, evaluations, calls. A body counts as one
        step at least, a loop as its extent times its body, and a loop is unrolled by its
        size only if no loop that is kept is inside of it. A copy that allocates, binds or
        asserts is bounded by a `tir.scope` where ops follow. A loop without iterations
        becomes a `tir.evaluate`. Copies that bind a `tir.shape_var` each get one. Copies
        of a launch of constant extent open one thread variable, which `env` names. Time
        is linear in the size of the result.
    Leaves alone: loops whose extent is no constant after simplification, or above
        2^31 - 1; loops of kind parallel, vectorized and thread_binding, except that
        `auto_max_extent = 1` expands parallel and vectorized loops that run once
    Errors: a loop of kind `unrolled` whose extent is no such constant; a loop to expand
        whose copies would have more than 2^18 ops in all; a pragma that is not a constant
    Attributes: read and removed: `pragma_auto_unroll_max_step` and
        `pragma_unroll_explicit`, as `tir.attr` and on loops, launches and blocks; they
        set the option for what they are around. Other pragmas of loops that are expanded
        become `tir.attr` around the copies, and all other annotations of them vanish.
        created: none
    Differs from TVM: loops over threads are never expanded, and local accesses unroll
        serial loops only. A constant extent below 0 counts as 0. The two branches of a
        `tir.if` are counted apart; in TVM the extent of a loop in one multiplies the
        steps of the other. The size of the copies is limited, where TVM takes as long as
        it takes.
    """

    name = "tir-unroll-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plan = _Plan()
        plan.visit(op, self.resolved_options(UnrollLoopConfig))
        for pragma in plan.pragmas:
            _drop_pragma(pragma)
        for loop in plan.marked:
            loop.kind = _UNROLLED
        functions = {enclosing_function(loop): None for loop in plan.expanded}
        for function in functions:
            if function is not None:
                _share_thread_variables(function, plan.expanded)
        _expand_all(plan.expanded)
        for function in functions:
            if function is not None:
                define_shape_vars_once(function)


# ---- what is unrolled ----


class _Size(NamedTuple):
    """What a walk finds out about ops."""

    steps: int = 0
    unrolled: int = 0
    """The most unrolled loops inside of each other."""
    kept: int = 0
    """The most other loops inside of each other."""
    ops: int = 0
    """All ops, those of copies included."""

    def beside(self, other: _Size) -> _Size:
        """That of both, one after the other."""
        return _Size(
            self.steps + other.steps,
            max(self.unrolled, other.unrolled),
            max(self.kept, other.kept),
            self.ops + other.ops,
        )


_Annotated = tir.ForOp | tir.LaunchThreadOp | tir.BlockOp
_is_annotated = of_classes(tir.ForOp, tir.LaunchThreadOp, tir.BlockOp)
_is_attribute = of_classes(tir.AttrOp)
_is_loop = of_classes(tir.ForOp)
_UNROLLED = tir.ForKindAttr(tir.ForKind.UNROLLED)
_OP = _Size(ops=1)
_STEP = _Size(1, ops=1)


@dataclass
class _Plan:
    """What to do with which op; `visit` fills it, and changes nothing."""

    expanded: dict[tir.ForOp, int] = field(default_factory=dict[tir.ForOp, int])
    """Loops to expand with their extents, inner ones first."""
    marked: list[tir.ForOp] = field(default_factory=list[tir.ForOp])
    pragmas: list[tir.AttrOp | _Annotated] = field(
        default_factory=list[tir.AttrOp | _Annotated]
    )
    _analyzer: Analyzer = field(default_factory=Analyzer)
    _trees: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])
    _indexing: set[SSAValue] = field(default_factory=set[SSAValue])
    """The values that indices of local memory depend on."""

    def visit(self, op: Operation, options: UnrollLoopConfig) -> _Size:
        """The size of an op with all that is inside of it."""
        if _is_attribute(op) and op.key.data in (_MAX_STEP, _EXPLICIT):
            self.pragmas.append(op)
            options = _with(options, op, op.key.data, op.value_item)
        elif _is_annotated(op):
            options = self._with_annotations(options, op)
        if options.unroll_local_access:
            self._mark_local(op)
        size = _STEP if not op.regions and _is_step(op) else _OP
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    size = size.beside(self.visit(inner, options))
        return self._visit_loop(op, size, options) if _is_loop(op) else size

    def _with_annotations(
        self, options: UnrollLoopConfig, op: _Annotated
    ) -> UnrollLoopConfig:
        entries = (op.annotations or _NO_ANNOTATIONS).data
        found = [key for key in (_MAX_STEP, _EXPLICIT) if key in entries]
        for key in found:
            options = _with(options, op, key, entries[key])
        if found:
            self.pragmas.append(op)
        return options

    def _mark_local(self, op: Operation) -> None:
        if not isinstance(op, tir.LoadOp | tir.StoreOp):
            return
        if tir.buffer_definition(op.buffer).type.scope.data not in _LOCAL_SCOPES:
            return
        pending = list(op.indices)
        while pending:
            value = pending.pop()
            if value in self._indexing:
                continue
            self._indexing.add(value)
            owner = value.owner
            if not isinstance(owner, Block | tir.LetOp):
                pending += owner.operands

    def _visit_loop(
        self, loop: tir.ForOp, body: _Size, options: UnrollLoopConfig
    ) -> _Size:
        extent = self._extent(loop)
        steps = max(body.steps, 1)
        unrolls = self._is_unrolled(loop, extent, steps, body, options)
        runs_once = options.auto_max_extent == 1 and extent is not None and extent <= 1
        ops = body.ops
        is_bound = loop.kind.data is tir.ForKind.THREAD_BINDING
        if extent is not None and not is_bound:
            if (unrolls and options.explicit_unroll) or runs_once:
                # The loop itself is counted, and is not copied.
                check_copies(loop, extent, body.ops - 1, _REMEDY)
                self.expanded[loop] = extent
                ops = extent * (body.ops - 1)
            elif unrolls:
                self.marked.append(loop)
        if extent is None or not unrolls:
            return _Size(body.steps, body.unrolled, body.kept + 1, ops)
        return _Size(steps * extent, body.unrolled + 1, body.kept, ops)

    def _is_unrolled(
        self,
        loop: tir.ForOp,
        extent: int | None,
        steps: int,
        body: _Size,
        options: UnrollLoopConfig,
    ) -> bool:
        kind = loop.kind.data
        if kind is tir.ForKind.UNROLLED and extent is None:
            raise PassFailedException(
                f"{describe(loop)} is to be unrolled, but its extent is no constant up "
                f"to {_LARGEST_EXTENT}; make it constant, or the loop serial"
            )
        if kind is not tir.ForKind.SERIAL or extent is None:
            return kind is tir.ForKind.UNROLLED
        if extent > 0 and loop.loop_var in self._indexing:
            return True
        return (
            body.kept == 0
            and body.unrolled <= options.auto_max_depth
            and (
                extent * steps <= options.auto_max_step
                or extent <= options.auto_max_extent
            )
        )

    def _extent(self, loop: tir.ForOp) -> int | None:
        """The number of iterations, if that is known and not too large."""
        found = tir.constant_value(loop.extent)
        if found is None:
            tree = self._analyzer.simplify(view(loop.extent, self._trees))
            found = smart.literal(tree)
        if found is None or found > _LARGEST_EXTENT:
            return None
        return max(int(found), 0)


def _is_step(op: Operation) -> bool:
    """Whether an op counts: one with an effect, whose result is not part of another."""
    if any(result.first_use is not None for result in op.results):
        return False
    if isinstance(op, tir.EvaluateOp):
        return True
    effects = get_effects(op)
    writes = effects is None or any(e.kind is MemoryEffectKind.WRITE for e in effects)
    return writes or is_assume(op)


def _with(
    options: UnrollLoopConfig, op: Operation, key: str, item: SSAValue | Attribute
) -> UnrollLoopConfig:
    """The options inside of a pragma."""
    if isinstance(item, SSAValue):
        constant = tir.constant_value(item)
        number = constant if isinstance(constant, int) else None
    elif key == _EXPLICIT:
        number = int(is_true(item))
    else:
        number = integer_of(item)
    if number is None:
        raise PassFailedException(
            f"{describe(op)}: the value of {key} is no constant; give it an integer"
        )
    if key == _EXPLICIT:
        return replace(options, explicit_unroll=bool(number))
    return replace(options, auto_max_step=number)


# ---- the rewrites ----


def _drop_pragma(op: tir.AttrOp | _Annotated) -> None:
    if isinstance(op, _Annotated):
        entries = (op.annotations or _NO_ANNOTATIONS).data
        rest = {k: v for k, v in entries.items() if k not in (_MAX_STEP, _EXPLICIT)}
        op.annotations = DictionaryAttr(rest) if rest else None
        return
    operands = tuple(op.operands)
    replace_by_body(op, op.body.block)
    erase_if_unused(operands)


def _share_thread_variables(
    function: tir.FuncOp, extents: Mapping[tir.ForOp, int]
) -> None:
    """Let the copies of a launch open one thread variable, as copies of TVM's node do."""
    launches = ops_of(function, tir.LaunchThreadOp)
    names = {op.env.data for op in launches if op.env is not None}
    for op in launches:
        if op.env is not None or op.virtual is not None:
            continue
        if tir.constant_value(op.extent) is None or not _is_copied(op, extents):
            continue
        # What it is called matters to readers only.
        stem = op.thread_var.name_hint or op.tag.data.replace(".", "_")
        name = next(
            each
            for number in itertools.count()
            if (each := f"{stem}_{number}" if number else stem) not in names
        )
        names.add(name)
        op.env = StringAttr(name)


def _is_copied(op: Operation, extents: Mapping[tir.ForOp, int]) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp) and extents.get(parent, 0) > 1:
            return True
        parent = parent.parent_op()
    return False


def _expand_all(extents: dict[tir.ForOp, int]) -> None:
    """Expand loops, outer ones first, so that ops of loops that run once move once."""
    copies = _Copies(extents)
    for loop, extent in reversed(extents.items()):
        for instance in copies.take(loop):
            _expand(instance, extent, copies)


class _Copies:
    """The copies of loops that are still to be expanded, by the loop they came from."""

    def __init__(self, loops: Iterable[tir.ForOp]) -> None:
        self._of = {loop: [loop] for loop in loops}
        self._origin = {loop: loop for loop in loops}

    def take(self, loop: tir.ForOp) -> list[tir.ForOp]:
        """The copies of a loop that have not been forgotten."""
        return [copy for copy in self._of.pop(loop) if copy in self._origin]

    def cloned(self, region: Region) -> Region:
        """A clone of a region, whose loops are copies of the same loops."""
        clone = region.clone()
        for old, new in zip(all_ops(region), all_ops(clone), strict=True):
            if isinstance(old, tir.ForOp) and old in self._origin:
                assert isinstance(new, tir.ForOp)
                self._origin[new] = self._origin[old]
                self._of[self._origin[old]].append(new)
        return clone

    def forget(self, region: Region) -> None:
        """Expand none of the loops in a region."""
        for op in ops_of(region, tir.ForOp):
            self._origin.pop(op, None)


def _expand(loop: tir.ForOp, extent: int, copies: _Copies) -> None:
    enclose_in_pragmas(loop)
    bounds = (loop.min, loop.extent)
    if extent == 0:
        copies.forget(loop.body)
        Rewriter.replace_op(loop, tir.EvaluateOp())
    for number in range(extent - 1):
        body = copies.cloned(loop.body).block
        _set_variable(loop, body, number)
        insert_body_before(loop, body, followed=True)
    if extent > 0:
        _set_variable(loop, loop.body.block, extent - 1)
        replace_by_body(loop, loop.body.block)
    erase_if_unused(bounds)


def _set_variable(loop: tir.ForOp, body: Block, number: int) -> None:
    """Let the argument of `body` be the loop variable of iteration `number`."""
    (variable,) = body.args
    if variable.first_use is not None:
        first = view(loop.min)
        value = smart.add(first, smart.const(number, variable.type))
        builder = Builder(InsertPoint.at_start(body))
        variable.replace_all_uses_with(emit(value, builder, {first: loop.min}))
    body.erase_arg(variable)
