"""Operators along any axis as operators along the last one, between transposes.

Kernels for threads read rows whose elements are next to each other.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.passes.relax.legalize.calls import replace_operator


def along_last_axis(op: OperatorOp) -> OperatorOp:
    """The operator, or one along the last axis that stands for it, inserted before it.

    It has one operand, of known rank, and its results have that rank.
    """
    info, axis = TensorInfo.of(op.operands[0].type), op.properties.get("axis")
    if info is None or not info.rank or not isinstance(axis, IntegerAttr):
        return op
    last = info.rank - 1
    place = axis.value.data % info.rank
    if place == last:
        return op
    order = [*(each for each in range(info.rank) if each != place), place]
    back = [order.index(each) for each in range(info.rank)]
    builder = LocatedBuilder(op)
    moved = builder.insert(relax.PermuteDimsOp(op.operands[0], order))
    properties = {**op.properties, "axis": IntegerAttr(last, i64)}
    given = op.clone()
    given.operands[0], given.properties["axis"] = moved, properties["axis"]
    type_ = given.infer_result_type()
    given.erase()
    found = type(op).create(operands=[moved], properties=properties, result_types=[type_])
    result = builder.insert(found)

    def moved_back(value: SSAValue) -> SSAValue:
        return builder.insert(relax.PermuteDimsOp(value, back))

    if isinstance(result.type, TupleType):
        fields = [
            moved_back(builder.insert(relax.GetItemOp(result, number)))
            for number in range(len(result.type.fields.data))
        ]
        replace_operator(op, builder.insert(relax.TupleOp(fields)))
    else:
        replace_operator(op, moved_back(result))
    return found
