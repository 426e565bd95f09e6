"""The steps of `DataflowUseInplaceCalls` one by one, for tests of them only.

The names are those of TVM's `relax.testing.transform`; a block is a `relax.dataflow`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.relax.dataflow_alias import aliases
from xdsl_tvm.analysis.relax.dataflow_inplace import Match, inplace_matches
from xdsl_tvm.analysis.relax.dataflow_liveness import live_ranges
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.passes.relax.dataflow_use_inplace_calls import InplaceFunctions


def dataflow_liveness_analysis(
    block: relax.DataflowOp,
) -> dict[SSAValue, tuple[int, int]]:
    """First and last position of each value that the block defines or uses.

    See `xdsl_tvm.analysis.relax.dataflow_liveness`.
    """
    return live_ranges(block.body.block)


def dataflow_alias_analysis(
    block: relax.DataflowOp, inputs: Sequence[SSAValue]
) -> tuple[dict[SSAValue, set[int]], dict[int, list[set[int]]]]:
    """The locations of values, and for those that are tuples the locations of the fields.

    Each of `inputs` is memory of its own. See `xdsl_tvm.analysis.relax.dataflow_alias`.
    """
    found = aliases(block.body.block, inputs)
    return (
        {value: set(locations) for value, locations in found.sets.items()},
        {number: list(map(set, parts)) for number, parts in found.tuples.items()},
    )


def dataflow_inplace_analysis(
    block: relax.DataflowOp, inputs: Sequence[SSAValue], mod: ModuleOp
) -> tuple[list[Match], list[Match]]:
    """Operators with operands that may hold their result: by size, and exactly.

    Each of `inputs` is memory of its own; `mod`, the module of the block, is not needed.
    See `xdsl_tvm.analysis.relax.dataflow_inplace`.
    """
    found = inplace_matches(block.body.block, inputs)
    return found.size, found.exact


def dataflow_single_inplace_call(
    mod: ModuleOp, call: OperatorOp, inplace_indices: Sequence[int]
) -> tuple[relax.CallTIRInplaceOp, ModuleOp]:
    """A copy of `mod` in which `call` writes over operands, and the new call in it.

    Result `i` goes over operand `inplace_indices[i]`. The copy holds the legalized
    function, too. Whether the operands are needed otherwise is not looked at. Raises
    ValueError if `call` is not in `mod` or cannot be computed in place like this.
    """
    result = mod.clone()
    twins = zip(mod.walk(), result.walk(), strict=True)
    twin: Operation | None = next((new for old, new in twins if old is call), None)
    if not isinstance(twin, OperatorOp):
        raise ValueError(
            f"{call.name} is not in the module; give the module that holds it"
        )
    new_call = InplaceFunctions(result).call(twin, tuple(inplace_indices))
    if new_call is None:
        raise ValueError(
            f"{call.name} cannot write over {list(inplace_indices)}; name one operand of "
            "the result's shape and dtype per result, of an operator that is legalized"
        )
    Rewriter.replace_op(twin, new_call)
    return new_call, result
