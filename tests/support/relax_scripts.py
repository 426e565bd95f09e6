"""Relax modules as scripts can say them, for tests that print and read them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.attributes import SymbolsAttr
from xdsl_tvm.dialects.relax.functions import parameter_symbols


def as_scripts_say(module: ModuleOp) -> ModuleOp:
    """A copy with the differences that the docstring of the printer lists.

    What a dataflow block gives out twice or got from outside is an alias inside, symbols
    are declared in the order of the parameters, and literals have no names. TIR functions
    are left out: tests of their own look at them.
    """
    copied = module.clone()
    for op in list(copied.walk()):
        if isinstance(op, tir.FuncOp):
            op.detach()
        if isinstance(op, relax.DataflowOp):
            _name_outputs(op)
        if isinstance(op, relax.LambdaOp):
            _simplify_literal(op)
        if isinstance(op, relax.FuncOp) and op.symbols is not None:
            symbols = parameter_symbols(op.function_type.inputs)
            op.properties["symbols"] = SymbolsAttr(tuple(symbols))
    return copied


def _simplify_literal(op: relax.LambdaOp) -> None:
    """Drop the name, and the value of the function itself where nothing uses it."""
    op.properties.pop("var_name", None)
    own = op.own_value
    if own is not None and not own.uses:
        op.body.block.erase_arg(own)
        op.properties.pop("recursive")


def _name_outputs(op: relax.DataflowOp) -> None:
    given: list[SSAValue] = []
    for value in op.output_op.values:
        found: SSAValue = value
        owner = value.owner
        is_own = isinstance(owner, Operation) and owner.parent is op.body.block
        if not is_own or value in given:
            alias = relax.AliasOp(value)
            op.body.block.insert_op_before(alias, op.output_op)
            found = alias.result
        given.append(found)
    op.output_op.operands = given
