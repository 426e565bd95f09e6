"""Vectorized loops become ops on vectors."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Call, Cast, Const, Expr, Mul, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.tir._vectorize.body import BodyVectorizer, NeedsSerialLoop
from xdsl_tvm.passes.tir._vectorize.independence import lanes_are_independent
from xdsl_tvm.passes.tir._vectorize.lanes import Width
from xdsl_tvm.passes.tir._vectorize.memory import give_each_lane_its_memory
from xdsl_tvm.passes.tir.rewriting.statements import (
    describe,
    enclose_in_pragmas,
    erase_if_unused,
    replace_by_body,
)

_PREDICATION = "tir.enable_buffer_level_predication"
_SERIAL = tir.ForKindAttr(tir.ForKind.SERIAL)


@dataclass(frozen=True)
class VectorizeLoop(CompilerPass):
    """Summary: Turns vectorized loops into ops on vectors, one lane for each iteration.

    TVM name: tir.VectorizeLoop (v0.20)
    Input form: any; meant for flat buffers, of which the last index becomes a vector
    Output form: the same, without vectorized loops
    Options:
        `enable_vectorize` (true): false makes vectorized loops serial and no more
        `enable_buffer_level_predication`: branches on a bound of the lane become accesses
        with a mask; unset, it is that of the `PassContext` key
        `tir.enable_buffer_level_predication`, and else true for targets with SVE
    Rewrites: before

            tir.for %i = %c0 to %c4 vectorized {
              %x = tir.load %A[%i] : f32
              %y = tir.add %x, %s : f32
              tir.store %y, %B[%i] : f32
              %p = tir.cmp ge %i, %n : i32
              tir.if %p {
                tir.store %s, %A[%i] : f32
              }
            }

        after

            %i = tir.ramp %c0, %c1 : vector<4xi32>
            %x = tir.load %A[%i] : vector<4xf32>
            %v = tir.broadcast %s : vector<4xf32>
            %y = tir.add %x, %v : vector<4xf32>
            tir.store %y, %B[%i] : vector<4xf32>
            tir.for "i.s" %j = %c0 to %c4 {
              %p = tir.cmp ge %j, %n : i32
              tir.if %p {
                tir.store %s, %A[%j] : f32
              }
            }

        The variable is a ramp from the minimum. What does not depend on it stays scalar.
        An extent `vscale() * k` gives scalable vectors of the factor `k`. A statement
        that no vectors can do runs in a scalar loop over the lanes, with the expressions
        that it needs: branches on a condition of the lane, calls that are not marked
        vectorizable, an index other than the last that depends on the lane, several
        lanes that store to one place. With predication, `if base + lane < limit` without
        an `else` is dropped if all that it guards are accesses at a ramp from `base`,
        which get a `get_active_lane_mask`. Memory that the loop allocates gets room for
        all lanes: element `e` of lane `i` is element `e * lanes + i`. Vectorized loops
        inside of a vectorized loop become serial. Pragmas of the loop become `tir.attr`.
        Time is linear in the size of the module.
    Leaves alone: other loops. A loop stays as it is, but serial, where it cannot be shown
        that running its statements one by one for all iterations is what the loop does:
        where an iteration may access what another one writes, calls that may write
        memory, reads that a write keeps in their place before a scalar loop, and
        memory that is not used as a dense array. Buffers of different parameters are
        taken not to overlap.
    Errors: an extent that is neither constant nor, for a target with SVE, `vscale() * k`
        with `k` of 2 or more; more than 65535 iterations; a `tir.while` in a vectorized
        loop; in it, an access to elements of scalable type, and a ramp that is scalable
        or starts at a scalable vector
    Attributes: read: `target` of functions and `tir.attr "target"`; created: none;
        removed: the annotations of the loops that become vectors
    Differs from TVM: reductions into one place, statements that do not depend on the
        lane but on what they wrote before, and dependences between iterations keep their
        meaning, as the loop becomes serial. A minimum other than 0 is taken, and a
        constant extent below 1 means no iteration. A predicated branch must not divide or
        call anything in lanes that are masked out, and its ramp must have stride 1. What
        a `tir.let` binds is computed again in scalar loops. Calls of `nearbyint` take
        vectors, as those of `round` do. Fixed and scalable vectors
        that meet, vectors in each iteration that cannot be one ramp, and a `tir.shuffle`
        other than of all lanes of one vector take a scalar loop, where TVM fails or joins
        vectors. Strides of memory in the loop are kept. No current target is looked up.
        Indices into memory that has more elements than 32 bits count, once it holds all
        lanes, are `i64`.
    """

    name = "tir-vectorize-loop"

    enable_vectorize: bool = True
    enable_buffer_level_predication: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        predication = self.enable_buffer_level_predication
        if predication is None:
            predication = PassContext.current().get_config(_PREDICATION, bool)
        walk = _LoopVectorizer(self.enable_vectorize, predication)
        walk.visit(op, None)


@dataclass
class _LoopVectorizer:
    """Finds the outermost vectorized loops, and the target each of them is for."""

    enabled: bool
    predication: bool | None

    def visit(self, op: Operation, target: tir.Target | None) -> None:
        self._visit(op, target, {})

    def _visit(
        self,
        op: Operation,
        target: tir.Target | None,
        trees: MutableMapping[SSAValue, Expr],
    ) -> None:
        if isinstance(op, tir.FuncOp):
            target, trees = _target(op.attributes.get("target")) or target, {}
        elif isinstance(op, tir.AttrOp) and op.key.data == "target":
            target = _target(op.node_attr) or target
        for region in op.regions:
            for block in region.blocks:
                inner = block.first_op
                while inner is not None:
                    following = inner.next_op
                    self._visit_op(inner, target, trees)
                    inner = following

    def _visit_op(
        self,
        op: Operation,
        target: tir.Target | None,
        trees: MutableMapping[SSAValue, Expr],
    ) -> None:
        if not isinstance(op, tir.ForOp) or op.kind.data is not tir.ForKind.VECTORIZED:
            self._visit(op, target, trees)
        elif not self.enabled:
            op.kind = _SERIAL
            self._visit(op, target, trees)
        else:
            kept = self._rewrite(op, target, trees)
            if kept is not None:
                self._visit(kept, target, trees)

    def _rewrite(
        self,
        loop: tir.ForOp,
        target: tir.Target | None,
        trees: MutableMapping[SSAValue, Expr],
    ) -> tir.ForOp | None:
        """Vectorize a loop; returns what is left of it to look into, if anything."""
        width = _width(loop, target, trees)
        _refuse_while_loops(loop)
        if width is not None and width.lanes == 1:
            self._visit(loop, target, trees)
            loop.loop_var.replace_all_uses_with(loop.min)
            _inline(loop)
            return None
        lanes = None if width is None or width.scalable else width.lanes
        if width is None or not lanes_are_independent(loop, lanes):
            loop.kind = _SERIAL
            return loop
        spare = copy_of(loop)
        predicates = self.predication
        if predicates is None:
            predicates = _has_scalable_vectors(target)
        try:
            give_each_lane_its_memory(loop, width)
            BodyVectorizer(loop, width, trees, predicates=predicates).rewrite()
        except NeedsSerialLoop:
            Rewriter.replace_op(loop, spare)
            spare.kind = _SERIAL
            return spare
        # Else values around the loop would keep uses that are in no program.
        spare.erase()
        _inline(loop)
        return None


def _target(attribute: Attribute | None) -> tir.Target | None:
    return attribute if isinstance(attribute, tir.Target) else None


def _has_scalable_vectors(target: tir.Target | None) -> bool:
    return target is not None and target.feature("has_sve")


def _width(
    loop: tir.ForOp, target: tir.Target | None, trees: MutableMapping[SSAValue, Expr]
) -> Width | None:
    """The lanes for the iterations of a loop; None if there are none.

    Raises PassFailedException where the extent gives no number of lanes.
    """
    extent = Analyzer().simplify(view(loop.extent, trees))
    lanes = smart.literal(extent)
    if lanes is not None:
        _check_lanes(loop, int(lanes))
        return Width(int(lanes)) if lanes > 0 else None
    factor = _factor_of_vscale(extent)
    if factor is not None and factor > 1 and _has_scalable_vectors(target):
        _check_lanes(loop, factor)
        return Width(factor, scalable=True)
    kind = "no target" if target is None else f"the target {target.kind_name}"
    raise PassFailedException(
        f"{describe(loop)} is vectorized, but its extent {extent} is no number of lanes "
        f"for {kind}; make it a constant, or vscale times a constant of 2 or more for a "
        "target with SVE"
    )


def _check_lanes(loop: tir.ForOp, lanes: int) -> None:
    if lanes > tir.MAX_LANES:
        raise PassFailedException(
            f"{describe(loop)} is vectorized and has {lanes} iterations, but a vector "
            f"has at most {tir.MAX_LANES} lanes; split the loop, and vectorize the inner "
            "loop"
        )


def _refuse_while_loops(loop: tir.ForOp) -> None:
    for op in ops_of(loop.body, tir.WhileOp):
        raise PassFailedException(
            f"{describe(op)} is in a vectorized loop, whose iterations cannot "
            "run for different times; make the vectorized loop serial"
        )


def _factor_of_vscale(extent: Expr) -> int | None:
    match extent:
        case Cast(value=value):
            return _factor_of_vscale(value)
        case Mul(Call(name="vscale"), Const(value=factor)):
            return int(factor)
        case Mul(Const(value=factor), Call(name="vscale")):
            return int(factor)
        case _:
            return None


def _inline(loop: tir.ForOp) -> None:
    """Put the body, which does not use the variable any more, in place of the loop."""
    enclose_in_pragmas(loop)
    body = loop.body.block
    for inner in ops_of(loop.body, tir.ForOp):
        if inner.kind.data is tir.ForKind.VECTORIZED:
            inner.kind = _SERIAL
    body.erase_arg(loop.loop_var)
    bounds = (loop.min, loop.extent)
    replace_by_body(loop, body)
    erase_if_unused(bounds)
