"""The default schedule of contractions: sums of products of two operands.

What they are is in `_schedule/contraction.py`, and the sizes of all that is named here in
`contraction_sizes.py`. Rows, columns and terms are each taken as one axis, which makes a
convolution the product of its weights and of the matrix of its windows.

Rows and terms are divided into parts, of which `a` is copied into the order in which it
will be read, and a panel of columns at a time of `b`, unless it is in panels already, as
relax-pack-weights leaves constants. `a` is not copied where there are few panels, as for
the weights of a convolution of small images, whose terms are neighbours already. Then a
tile of `C` at a time stays in vector registers while some terms of a panel, which are in
the first cache, are added, in the order of the program: each term costs a vector load for
each vector of columns, and a broadcast and fused multiply-adds for each row. Meanwhile
the next terms of panels in memory are fetched. A panel of a large `b` is copied by its
first tile, and one tile of all rows reads panels in streams. Tiles at an edge are
computed whole, on zeros, and stored in part.

A map after the contraction that works on the results where they are, such as a bias and
an activation, is done on each tile when its last terms have been added.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f16

from xdsl_tvm.analysis.arith.expr import Const, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.byte_contraction import (
    ByteContraction,
    is_byte_contraction,
)
from xdsl_tvm.passes.tir._cpu_schedule.contraction_loops import ContractionLoops
from xdsl_tvm.passes.tir._cpu_schedule.dot_contraction import (
    DotContraction,
    is_dot_contraction,
    panels_of_quads,
)
from xdsl_tvm.passes.tir._cpu_schedule.dot_windows import (
    DotWindows,
    is_dot_of_windows,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, are_many, kind_of
from xdsl_tvm.passes.tir._cpu_schedule.packing_contraction import PackingContraction
from xdsl_tvm.passes.tir._cpu_schedule.skinny_panels import SkinnyPanels
from xdsl_tvm.passes.tir._loops.loop_nest import Axis
from xdsl_tvm.passes.tir._schedule.axes import fused_loop
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, match_contraction
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_LEAST_ROWS = 4
_LEAST_TERMS = 8
_LEAST_BITS = 32


def match_large_contraction(found: Reduction, machine: Machine) -> Contraction | None:
    """A reduction as a contraction that is worth copying its operands for."""
    if machine.lanes(found.dtype) == 1:
        return None
    # What is computed in f32 and rounded for each term is no faster so.
    if found.dtype != f16 and tir.bits_of_lane(found.dtype) < _LEAST_BITS:
        return None
    if found.init is not None and not isinstance(view(found.init), Const):
        return None
    result = match_contraction(found)
    return result if result is not None and _is_large(result, machine) else None


def _is_large(found: Contraction, machine: Machine) -> bool:

    def is_at_least(axes: Sequence[Axis], least: int) -> bool:
        sizes = [axis.size for axis in axes]
        return None in sizes or prod(size or 1 for size in sizes) >= least

    # Quads of bytes are in the order in which one row reads them, too.
    in_quads = panels_of_quads(found, machine) is not None
    return (
        is_at_least(found.rows, 1 if in_quads else _LEAST_ROWS)
        and is_at_least(found.columns, machine.lanes(found.reduction.dtype))
        and is_at_least(found.terms, _LEAST_TERMS)
    )


def schedule_contraction(
    code: LoopCode, found: Contraction, machine: Machine, *, parallel: bool
) -> None:
    """Write a contraction."""
    many = are_many(found.batch)
    with fused_loop(code, found.batch, kind_of(parallel and many)) as point:
        inner = kind_of(parallel and not many)
        if is_dot_contraction(found, machine):
            loops = DotContraction
        elif is_dot_of_windows(found, machine):
            loops = DotWindows
        elif is_byte_contraction(found):
            loops = ByteContraction
        else:
            for fetching in (SkinnyPanels, PackingContraction):
                written = fetching(code, found, machine, point, inner)
                if written.is_fit:
                    written.write()
                    return
            loops = ContractionLoops
        loops(code, found, machine, point, inner).write()
