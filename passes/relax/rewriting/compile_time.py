"""What a function computes of its weights and constants alone."""

from __future__ import annotations

from xdsl.ir import Block, SSAValue
from xdsl.traits import is_side_effect_free

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.rewriting.signatures import input_count


def compile_time_values(func: relax.FuncOp, pass_name: str) -> set[SSAValue]:
    """The weights, and what dataflow blocks compute of them alone; TVM's
    `ComputableAtCompileTime`.

    Nothing where `num_input` does not tell inputs from weights. Raises
    PassFailedException, naming the pass, for one that is no number of parameters.
    """
    count = input_count(func, pass_name)
    if count is None:
        return set()
    found = set[SSAValue](func.args[count:])
    _visit(func.body.block, False, found)
    return found


def _visit(block: Block, in_dataflow: bool, found: set[SSAValue]) -> None:
    for op in block.ops:
        if isinstance(op, relax.DataflowOp):
            _visit(op.body.block, True, found)
            pairs = zip(op.output_op.values, op.outputs, strict=True)
            found.update(result for value, result in pairs if value in found)
        elif in_dataflow or isinstance(op, relax.ConstantOp):
            is_pure = is_side_effect_free(op) and not op.regions
            if is_pure and found.issuperset(op.operands):
                found.update(op.results)
