"""Parameters that nothing uses go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import solve_symbols
from xdsl_tvm.dialects.relax.attributes import DimAttr, DimsAttr, symbols_of
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import used_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.dead_code_elimination import remove_unused_bindings
from xdsl_tvm.passes.relax.rewriting.call_sites import (
    PrivateFunction,
    private_functions,
    update_signature,
)
from xdsl_tvm.passes.relax.rewriting.symbols import type_at


@dataclass(frozen=True)
class RemoveUnusedParameters(CompilerPass):
    """Summary: Removes parameters of private functions that their bodies do not use.

    TVM name: relax.RemoveUnusedParameters (v0.20)
    Input form: any
    Output form: private functions that only calls reach use all their parameters
    Options: none
    Rewrites: before

            relax.func @main<n>(%x: !v) -> !t attributes {global_symbol = "main"} {
              %r = relax.call @f(%x) : (!v) -> tensor<?xf32, #relax.dims<[n]>>
              ...
            }
            relax.func @f<n>(%x: !v) -> tensor<?xf32, #relax.dims<[n]>> {
              %s = relax.shape [n]
              %z = relax.zeros %s dtype f32 : ...
              relax.return %z : ...
            }

        after

            relax.func @main<n>(%x: !v) -> !t attributes {global_symbol = "main"} {
              %n = relax.prim_value n : i64
              %r = relax.call @f(%n) : (!relax.prim<i64, n>) -> ...
              ...
            }
            relax.func @f<n>(%param_n: !relax.prim<i64, n>) -> ... {
              ...
            }

        A symbol that the body still needs and no other parameter defines becomes a scalar
        parameter; calls pass what the argument's type says. What calls no longer need is
        removed from the functions that hold them. Time is linear in the size of the
        module.
    Leaves alone: public functions; functions that are used as values or that an attribute
        names; functions that nothing calls; a parameter whose symbol is needed where the
        argument of a call does not say what it is
    Errors: none
    Attributes: read: `global_symbol`; created: none; removed: none
    Differs from TVM: a parameter stays whose symbol cannot be passed otherwise; the
        reference would pass a variable that does not exist.
    """

    name = "relax-remove-unused-parameters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        callers = dict[relax.FuncOp | None, None]()
        for private in private_functions(op):
            if _remove_parameters(private):
                callers.update(dict.fromkeys(map(_function_of, private.calls)))
        for caller in callers:
            if caller is not None:
                remove_unused_bindings(caller)


def _function_of(op: Operation) -> relax.FuncOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, relax.FuncOp):
        parent = parent.parent_op()
    return parent


def _remove_parameters(private: PrivateFunction) -> bool:
    """Remove what a function does not need; whether there was something."""
    func = private.func
    unused = [arg for arg in func.args if arg.first_use is None]
    if not unused:
        return False
    solved = [_solved(func, call) for call in private.calls]
    needed = list(_needed_symbols(func))
    for name in needed:
        if name in _defined(func, unused):
            continue
        own = [arg for arg in unused if arg.type == _scalar(name)]
        if own or any(name not in symbols for symbols in solved):
            # A call cannot tell it, or passes nothing but it.
            own += [arg for arg in unused if name in parameter_symbols([arg.type])]
            unused.remove(own[0])
    defined = _defined(func, unused)
    scalars = {
        name: _scalar(name) for name in dict.fromkeys(needed) if name not in defined
    }
    if not unused:
        return False
    for call, values in zip(private.calls, solved, strict=True):
        _rewrite_call(call, unused, [values[name] for name in scalars])
    block = func.body.block
    for name, type_ in scalars.items():
        parameter = block.insert_arg(type_, len(block.args))
        parameter.name_hint = f"param_{name}"
    for arg in unused:
        block.erase_arg(arg)
    update_signature(func)
    return True


def _scalar(name: str) -> relax.PrimType:
    """The type of a parameter that passes a symbol and nothing else."""
    return relax.PrimType.of(i64, Dim.symbol(name))


def _defined(func: relax.FuncOp, without: Sequence[BlockArgument]) -> list[str]:
    """The symbols that the parameters but some define."""
    return parameter_symbols([arg.type for arg in func.args if arg not in without])


def _solved(func: relax.FuncOp, call: relax.CallOp) -> dict[str, Dim]:
    given = [type_at(argument, call) for argument in call.arguments]
    return solve_symbols([arg.type for arg in func.args], given)


def _needed_symbols(func: relax.FuncOp) -> Iterator[str]:
    """The symbols of the parameters that the body and the result use, in order."""
    seen = set[Attribute]()
    for attribute in _attributes(func):
        if attribute in seen:
            continue
        seen.add(attribute)
        if isinstance(attribute, DimAttr):
            names: list[str] = list(attribute.data.symbols())
        elif isinstance(attribute, DimsAttr):
            names = list(symbols_of(attribute.data))
        else:
            names = used_symbols(attribute)
        yield from (name for name in names if name in func.symbol_names)


def _attributes(func: relax.FuncOp) -> Iterator[Attribute]:
    for op in func.body.walk():
        yield from op.result_types
        yield from op.properties.values()
    yield func.output_type
    yield from (arg.type for arg in func.args if arg.first_use is not None)


def _rewrite_call(
    call: relax.CallOp, unused: Sequence[BlockArgument], scalars: Sequence[Dim]
) -> None:
    dropped = {arg.index for arg in unused}
    kept = [v for index, v in enumerate(call.arguments) if index not in dropped]
    values = [relax.PrimValueOp(dim) for dim in scalars]
    for value in values:
        value.location = call.location
    Rewriter.insert_op(values, InsertPoint.before(call))
    call.operands = [*kept, *(value.result for value in values)]
