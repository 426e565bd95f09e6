"""Values that are added to the results of a convolution, as the first of its terms."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.windowed import Windowed
from xdsl_tvm.passes.tir._loops.loop_nest import Nest, Point
from xdsl_tvm.passes.tir._schedule.contraction import moving, ops_behind
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


@dataclass(frozen=True)
class Bias:
    """What an epilogue adds to results, the same for all columns of the image.

    Sums that begin with it need no addition of their own.
    """

    epilogue: Nest
    load: SSAValue
    """The result of the convolution, loaded."""
    sum: SSAValue
    """It and the bias."""
    bias: SSAValue

    @staticmethod
    def of(found: Windowed) -> Bias | None:
        """The bias of a sum that begins with 0; None where nothing is added first."""
        epilogue, reduction = found.epilogue, found.reduction
        init = reduction.init
        if epilogue is None or init is None or reduction.combiner is not Add:
            return None
        if smart.literal(view(init)) != 0:
            return None
        loads = [
            access.op
            for access in epilogue.accesses
            if access.buffer is reduction.result.buffer and not access.writes
        ]
        if len(loads) != 1 or not isinstance(loads[0], tir.LoadOp):
            return None
        load = loads[0].result
        users = [use.operation for use in load.uses]
        add = users[0] if len(users) == 1 else None
        if not isinstance(add, tir.AddOp):
            return None
        a, b = add.operands
        bias = b if a is load else a
        column = epilogue.axes[-2]
        if loads[0] in ops_behind(epilogue, bias) or column in moving(epilogue, bias):
            return None
        return Bias(epilogue, load, add.result, bias)

    @property
    def is_same_for_rows(self) -> bool:
        """Whether it is the same for all rows of the image."""
        *_, row, _, _ = self.epilogue.axes
        return row not in moving(self.epilogue, self.bias)

    def value(self, code: LoopCode, place: Point) -> Expr:
        """The bias at a point of the epilogue."""
        return self.epilogue.value_at(code, self.bias, place)
