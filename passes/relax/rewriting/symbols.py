"""Symbolic dimensions in the operations of a Relax function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.dialects.relax.attributes import DimAttr, Dims, DimsAttr, SymbolsAttr
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import substitute_symbols, used_symbols
from xdsl_tvm.passes.relax.rewriting.dataflow import defining_block


def symbols_of_casts(op: Operation) -> Iterator[str]:
    """The symbols that the casts in an operation define."""
    for inner in op.walk():
        if isinstance(inner, relax.MatchCastOp):
            yield from inner.defined_symbols


def substitute_in_operation(
    op: Operation, values: Mapping[str, Dim]
) -> dict[SSAValue, SSAValue]:
    """Replace symbols in the types of results and in properties.

    Arguments of the blocks that the operation holds count as results; what else it holds
    stays as it is, and so do the names that it defines. Returns the values that got
    another type, each with the one that is now in its place.
    """
    if not values:
        return {}
    for name, attribute in op.properties.items():
        op.properties[name] = substitute_in_attribute(attribute, values)
    arguments = [
        argument
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    ]
    return {
        value: Rewriter.replace_value_with_new_type(value, type_)
        for value in (*op.results, *arguments)
        if (type_ := substitute_symbols(value.type, values)) != value.type
    }


def substitute_in_attribute(attribute: Attribute, values: Mapping[str, Dim]) -> Attribute:
    """An attribute of dimensions with symbols replaced; any other one as it is."""
    if isinstance(attribute, DimAttr):
        return DimAttr(attribute.data.substitute(values))
    if isinstance(attribute, DimsAttr):
        return DimsAttr(substitute_in_dims(attribute.data, values))
    return attribute


def substitute_in_dims(dims: Dims, values: Mapping[str, Dim]) -> Dims:
    """Dimensions with symbols replaced."""
    return tuple(None if dim is None else dim.substitute(values) for dim in dims)


def verify_substituted(op: Operation, pass_name: str) -> None:
    """Check an operation whose symbols were replaced.

    Raises PassFailedException, naming the pass, where dimensions contradict each other
    that were not known before.
    """
    try:
        op.verify_()
    except VerifyException as error:
        raise PassFailedException(
            f"{pass_name}: {error}; what is known of its dimensions says that it always "
            "fails, correct the program"
        ) from error


def rename_symbols(func: relax.FuncOp, values: Mapping[str, Dim]) -> None:
    """Replace the symbols of a function and of the casts in it.

    `values` has one for each symbol that a cast defines, a symbol by itself. What the
    function says that it defines is not changed.
    """
    substitute_in_operation(func, values)
    for op in func.body.walk():
        substitute_in_operation(op, values)
        if isinstance(op, relax.MatchCastOp) and op.defined_symbols:
            renamed = tuple(str(values[name]) for name in op.defined_symbols)
            op.defines = SymbolsAttr(renamed)


def defined_symbols(func: relax.FuncOp) -> set[str]:
    """The symbols that a function and the functions in it define, in casts as well."""
    symbols: set[str] = set()
    for op in func.walk():
        if isinstance(op, relax.FuncOp):
            symbols.update(op.symbol_names)
        elif isinstance(op, relax.MatchCastOp):
            symbols.update(op.defined_symbols)
    return symbols


def hide_symbols(values: Iterable[SSAValue], at: Operation) -> bool:
    """Whether types at a place may not use all symbols that types of values use.

    So it is in a function literal, for values that it takes from outside.
    """
    own = set[Block]()
    block = at.parent
    while block is not None:
        own.add(block)
        around = block.parent_op()
        if isinstance(around, relax.LambdaOp):
            return any(
                defining_block(value) not in own and used_symbols(value.type)
                for value in values
            )
        block = None if around is None else around.parent
    return False


def type_at(value: SSAValue, at: Operation) -> Attribute:
    """The type of a value, as far as types at a place may use its symbols."""
    return erase_symbols(value.type, ()) if hide_symbols((value,), at) else value.type
