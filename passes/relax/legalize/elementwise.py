"""Rules of operators that work element by element (spec relax-ops.md §1 to §3)."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import Operation

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.legalize.registry import Site, rule
from xdsl_tvm.passes.relax.legalize.stages import broadcast_indices, elementwise, wide
from xdsl_tvm.passes.relax.legalize.tensor_expression import Expr, Tensor

_BINARY: dict[type[Operation], tuple[str, Callable[[Expr, Expr], Expr]]] = {
    relax.AddOp: ("T_add", lambda a, b: a + b),
    relax.SubtractOp: ("T_subtract", lambda a, b: a - b),
    relax.MultiplyOp: ("T_multiply", lambda a, b: a * b),
    relax.DivideOp: ("T_divide", lambda a, b: a / b),
}


@rule(*_BINARY)
def binary(op: Operation, site: Site) -> Tensor:
    """A function of the elements that broadcasting pairs."""
    name, function = _BINARY[type(op)]
    program, lhs, rhs = site.program, site.operand(0), site.operand(1)

    def element(*indices: Expr) -> Expr:
        return function(
            lhs[broadcast_indices(program, lhs, indices)],
            rhs[broadcast_indices(program, rhs, indices)],
        )

    return program.compute(name, site.shape, site.dtype, element)


@rule(relax.ReluOp)
def relu(op: relax.ReluOp, site: Site) -> Tensor:
    """`max(x, 0)`."""
    return elementwise(site.program, "relu", site.tensor(0), lambda x: x.maximum(0))


@rule(relax.GeluOp)
def gelu(op: relax.GeluOp, site: Site) -> Tensor:
    """`x * (0.5 + 0.5 * erf(x * sqrt(1/2)))`, erf in `f32` for `f16`."""

    def element(value: Expr) -> Expr:
        scaled = wide(value * math.sqrt(0.5)).call("erf").cast(value.dtype)
        return value * (scaled * 0.5 + 0.5)

    return elementwise(site.program, "gelu", site.tensor(0), element)
