"""Symbols that casts define become what is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import Dims, SymbolsAttr
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.types import (
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
    substitute_symbols,
)
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.bindings import is_function
from xdsl_tvm.passes.relax.rewriting.dataflow import retype_outputs
from xdsl_tvm.passes.relax.rewriting.symbols import (
    substitute_in_operation,
    type_at,
    verify_substituted,
)


@dataclass(frozen=True)
class CanonicalizeTIRVariables(CompilerPass):
    """Summary: Replaces symbolic dimensions that a cast defines by what is known of the
        value that is cast.

    TVM name: relax.CanonicalizeTIRVariables (v0.20)
    Input form: any
    Output form: the same, where no `relax.match_cast` defines a symbol that is a known
        dimension of its operand
    Options: none
    Rewrites: before

            %y = relax.match_cast %x defines [m]
              : tensor<?xf32, #relax.dims<[n * 2]>> -> tensor<?xf32, #relax.dims<[m]>>
            %z = relax.nn.relu %y : ...

        after

            %y = relax.match_cast %x
              : tensor<?xf32, #relax.dims<[n * 2]>> -> tensor<?xf32, #relax.dims<[n * 2]>>
            %z = relax.nn.relu %y : ...

        where all types have `n * 2` for `m`. The symbol is replaced from there to the end
        of the branch. Types of conditionals stay, which promise less than their branches
        then. Time is linear in the size of the module, for dimensions of bounded size.
    Leaves alone: symbols of parameters; dimensions of which nothing is known, or
        only symbols outside of the function literal around; functions of other dialects
    Errors: a cast, or an operation on its result, that can never hold, as what is known
        contradicts it
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a branch whose value has got a more precise type needs no cast back
        to that of the conditional.
    """

    name = "relax-canonicalize-tir-variables"
    opt_level: ClassVar[int] = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.body.blocks:
                _visit(func.body.block, {})


def _visit(block: Block, values: dict[str, Dim]) -> None:
    """Replace symbols in a block; what is found is added to `values`."""
    for op in block.ops:
        substitute_in_operation(op, values)
        if isinstance(op, relax.MatchCastOp):
            _find(op, values)
        elif isinstance(op, relax.DataflowOp):
            # It only groups bindings: what it defines is visible after it.
            _visit(op.body.block, values)
            retype_outputs(op)
        elif op.regions and not op.has_trait(IsolatedFromAbove):
            for inner in (each for region in op.regions for each in region.blocks):
                _visit(inner, {} if is_function(op) else dict(values))
        if values:
            verify_substituted(op, CanonicalizeTIRVariables.name)


def _find(cast: relax.MatchCastOp, values: dict[str, Dim]) -> None:
    """Add the symbols that the operand of a cast tells; it defines them no more."""
    found: dict[str, Dim] = {}
    defined = set(cast.defined_symbols)
    pairs = list(_pairs(cast.result.type, type_at(cast.value, cast)))
    for target, known in pairs:
        name = target.symbol_name
        if name is not None and name in defined:
            found.setdefault(name, known)
    for target, known in pairs:
        if provably_different(target.substitute(found), known):
            raise PassFailedException(
                f"{CanonicalizeTIRVariables.name}: {cast.name} from {cast.value.type} to "
                f"{cast.result.type} never holds, {target.substitute(found)} is not "
                f"{known}; correct the cast"
            )
    if not found:
        return
    type_ = substitute_symbols(cast.result.type, found)
    Rewriter.replace_value_with_new_type(cast.result, type_)
    left = tuple(name for name in cast.defined_symbols if name not in found)
    cast.defines = SymbolsAttr(left) if left else None
    values.update(found)


def _pairs(target: Attribute, known: Attribute) -> Iterator[tuple[Dim, Dim]]:
    """The dimensions of two types of one value, where both say something."""
    if isinstance(target, TupleType) and isinstance(known, TupleType):
        for fields in zip(target.fields.data, known.fields.data, strict=True):
            yield from _pairs(*fields)
        return
    for one, other in zip(_dims(target), _dims(known), strict=False):
        if one is not None and other is not None:
            yield one, other


def _dims(type_: Attribute) -> Dims:
    match type_:
        case ShapeType():
            return type_.values or ()
        case PrimType():
            return (type_.dim,)
        case _:
            info = TensorInfo.of(type_)
            return () if info is None else info.dims or ()
