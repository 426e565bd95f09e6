"""Which parameters code will read in another order, as far as that is clear at first."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Use

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.analysis.relax.product_rows import LEAST_ROWS, product_rows
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo

_CONVOLUTIONS = (relax.Conv1DOp, relax.Conv2DOp, relax.Conv3DOp)


def rewritten_weights(module: ModuleOp) -> frozenset[str | int]:
    """The positions and names of parameters that are weights and nothing else.

    They are right operands of matrix products of several rows, which
    `relax-pack-weights` stores in panels, and kernels of convolutions. The module need
    not be verified. Where it has several public functions there are none.
    """
    public = [f for f in relax_functions(module) if "global_symbol" in f.attributes]
    if len(public) != 1 or not public[0].body.blocks:
        return frozenset()
    found: set[str | int] = set()
    for argument in public[0].args:
        if all(map(_is_weight, argument.uses)):
            found.add(argument.index)
            if argument.name_hint is not None:
                found.add(argument.name_hint)
    return frozenset(found)


def _is_weight(use: Use) -> bool:
    op = use.operation
    if use.index != 1:
        return False
    if not isinstance(op, relax.MatmulOp):
        return isinstance(op, _CONVOLUTIONS)
    data, weight = (TensorInfo.of(operand.type) for operand in op.operands)
    if data is None or weight is None or data.shape is None or weight.shape is None:
        return False
    return product_rows(data.shape) >= LEAST_ROWS and len(weight.shape) == len("KN")
