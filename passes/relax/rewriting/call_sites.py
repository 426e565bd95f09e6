"""Private functions whose every use is a call, and their signatures changed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import SymbolsAttr
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.passes.infra.module_symbols import module_symbols, named_symbols


@dataclass(frozen=True)
class PrivateFunction:
    """A function that nothing but calls in its module reaches."""

    func: relax.FuncOp
    calls: list[relax.CallOp]


def private_functions(module: ModuleOp) -> list[PrivateFunction]:
    """The private Relax functions of a module that are called, and used in no other way.

    In the order of the module; calls are in text order.
    """
    calls: dict[str, list[relax.CallOp]] = {}
    used_otherwise = set[str]()
    for op in module.walk():
        if op is module:
            continue
        if isinstance(op, relax.CallOp):
            calls.setdefault(op.callee.root_reference.data, []).append(op)
        else:
            used_otherwise.update(named_symbols(op))
    used_otherwise.update(named_symbols(module))
    return [
        PrivateFunction(op, calls[name])
        for name, op in module_symbols(module).items()
        if isinstance(op, relax.FuncOp)
        and "global_symbol" not in op.attributes
        and op.body.blocks
        and name in calls
        and name not in used_otherwise
        and all(module_of(call) is module for call in calls[name])
    ]


def module_of(op: Operation) -> Operation | None:
    """The module whose symbols an operation names."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ModuleOp):
        parent = parent.parent_op()
    return parent


def update_signature(func: relax.FuncOp, output: Attribute | None = None) -> None:
    """Let the signature say what the block's arguments are, and the result if given."""
    inputs = [arg.type for arg in func.args]
    func.function_type = FunctionType.from_lists(inputs, [output or func.output_type])
    symbols = parameter_symbols(inputs)
    func.symbols = SymbolsAttr(tuple(symbols)) if symbols else None
