"""What TVM calls a value: the names of parameters and bindings."""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, SSAValue

from xdsl_tvm.dialects import tir

_BINDINGS = (tir.LetOp, tir.AllocateOp, tir.AllocateConstOp, tir.ShapeVarOp)


def variable_name(value: SSAValue) -> str:
    """TVM's name of a variable; the name hint of a value without one, or `v`."""
    owner = value.owner
    if isinstance(owner, Block):
        func = owner.parent_op()
        if (
            isinstance(func, tir.FuncOp)
            and func.param_names is not None
            and isinstance(value, BlockArgument)
        ):
            return func.param_names.data[value.index].data
        if isinstance(func, tir.ForOp) and func.loop_name is not None:
            return func.loop_name.data
    elif isinstance(owner, _BINDINGS) and owner.var_name is not None:
        return owner.var_name.data
    return value.name_hint or "v"


def buffer_variable_name(buffer: SSAValue) -> str:
    """TVM's name of a buffer; the name hint of one without, or `buffer`."""
    name = tir.buffer_definition(buffer).buffer_name
    return (buffer.name_hint or "buffer") if name is None else name.data
