"""What a reduction over threads reduces, and which threads take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._thread_allreduce.checks import require_all_axes
from xdsl_tvm.passes.tir.rewriting.statements import describe

_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


@dataclass(frozen=True)
class Axis:
    """An axis of the threads of a block, of more than one thread."""

    variable: SSAValue
    extent: int
    reduced: bool


@dataclass(frozen=True)
class Reduction:
    """A reduction over some threads of a block, and where it is."""

    op: tir.ThreadAllreduceOp
    reducer: tir.ReducerOp
    scope: tir.AttrOp
    """The `reduce_scope` around it."""
    axes: tuple[Axis, ...]
    """By the order x, y, z."""
    launches: tuple[tir.LaunchThreadOp, ...]
    """The launches around it, from the innermost."""

    @property
    def types(self) -> tuple[Attribute, ...]:
        """The dtypes of the values."""
        return tuple(value.type for value in self.op.sources)

    @property
    def width(self) -> int:
        """R: how many threads reduce together."""
        return prod(axis.extent for axis in self.axes if axis.reduced)

    @property
    def groups(self) -> int:
        """G: how many groups of such threads there are."""
        return prod(axis.extent for axis in self.axes if not axis.reduced)

    @property
    def contiguous(self) -> int:
        """The number of threads in a row that reduce together."""
        total = 1
        for axis in self.axes:
            if not axis.reduced:
                break
            total *= axis.extent
        return total

    @property
    def index(self) -> Expr:
        """The number of a thread in its group."""
        return _flat([axis for axis in self.axes if axis.reduced])

    @property
    def group(self) -> Expr:
        """The number of the group of a thread."""
        return _flat([axis for axis in self.axes if not axis.reduced])


def _flat(axes: Sequence[Axis]) -> Expr:
    """The variables of axes as one number, of which the first changes fastest."""
    found: Expr = smart.const(0, i32)
    stride = 1
    for axis in axes:
        variable = smart.cast(i32, view(axis.variable))
        found = smart.add(found, smart.mul(variable, smart.const(stride, i32)))
        stride *= axis.extent
    return found


def decode(op: tir.ThreadAllreduceOp) -> Reduction:
    """The reduction of an op.

    Raises PassFailedException where the threads are not known.
    """
    launches: list[tir.LaunchThreadOp] = []
    scope: tir.AttrOp | None = None
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        if isinstance(parent, tir.LaunchThreadOp):
            launches.append(parent)
        if scope is None and isinstance(parent, tir.AttrOp):
            scope = parent if parent.key.data == "reduce_scope" else None
        parent = parent.parent_op()
    reducer = None if scope is None or scope.node is None else scope.node.owner
    if scope is None or not isinstance(reducer, tir.ReducerOp):
        raise PassFailedException(
            f'{describe(op)}: no tir.attr "reduce_scope" of a tir.reducer is around it; '
            "put it into one, which says how values are combined"
        )
    return Reduction(op, reducer, scope, _axes(op, launches), tuple(launches))


def _axes(
    op: tir.ThreadAllreduceOp, launches: Sequence[tir.LaunchThreadOp]
) -> tuple[Axis, ...]:
    variables = {each for each in op.threads if tir.constant_value(each) is None}
    met: set[SSAValue] = set()
    found: dict[str, Axis] = {}
    for launch in launches:
        if launch.virtual is not None or launch.axis.is_virtual:
            raise PassFailedException(
                f"{describe(op)} is in a virtual thread, {launch.tag.data}; run "
                "tir-inject-virtual-thread first"
            )
        if launch.axis.is_block:
            continue
        tag = launch.tag.data
        extent = tir.constant_value(launch.extent)
        if extent is None:
            raise PassFailedException(
                f'{describe(op)}: the extent of "{tag}" is not a constant; launch a '
                "constant number of threads, and mask those that are too many with a "
                "condition"
            )
        reduced = launch.thread_var in variables
        met |= {launch.thread_var} & variables
        if tag in found:
            raise PassFailedException(
                f'{describe(op)}: "{tag}" is bound twice around it; run '
                "tir-unify-thread-binding first"
            )
        found[tag] = Axis(launch.thread_var, int(extent), reduced)
    if met != variables:
        raise PassFailedException(
            f"{describe(op)}: Not all reduce index are presented in the context; reduce "
            "over variables of the launches of threads around it"
        )
    if launches:
        require_all_axes(op, launches[-1], found)
    return tuple(found[tag] for tag in _AXES if tag in found and found[tag].extent != 1)
