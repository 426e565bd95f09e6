"""A function after its weights were transformed: it takes what that gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.types import ShapeType, symbols_in, used_symbols
from xdsl_tvm.passes.relax._lifted_params.liftable import Liftable
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.dataflow import keep_outputs
from xdsl_tvm.passes.relax.rewriting.symbols import symbols_of_casts

SHAPE = "vars_from_compile_time_params"
"""The name of the parameter that defines symbols."""


def symbols_to_pass(
    found: Sequence[Liftable],
    weights: Sequence[int],
    lifted: Sequence[int],
    removed: AbstractSet[int],
) -> list[str]:
    """Symbols that a function uses, and no parameter tells any more.

    In the order and with the names of the first function.
    """
    missing = set[str]()
    for each in found:
        types = _parameter_types(each, weights, lifted)
        told = {*parameter_symbols(types), *symbols_of_casts(each.func)}
        used = {name for type_ in types for name in used_symbols(type_)}
        used.update(used_symbols(each.func.output_type))
        used.update(_symbols_used(each.func.body.block, each, removed))
        missing |= {each.renamed(name) for name in used - told}
    own = parameter_symbols(weight.type for weight in found[0].weights)
    return [name for name in own if name in missing]


def _parameter_types(
    found: Liftable, weights: Sequence[int], lifted: Sequence[int]
) -> list[Attribute]:
    """The types of the parameters to be, without a shape of symbols."""
    values = _first_values(found)
    return [
        *(arg.type for arg in found.func.args[: found.inputs]),
        *(found.weights[index].type for index in weights),
        *(values[number].type for number in lifted),
    ]


def _first_values(found: Liftable) -> dict[int, SSAValue]:
    values: dict[int, SSAValue] = {}
    for value, number in found.number_of.items():
        values.setdefault(number, value)
    return values


def _symbols_used(
    block: Block, found: Liftable, removed: AbstractSet[int]
) -> Iterator[str]:
    """Symbols that the operations use which stay; literals have their own."""
    for op in block.ops:
        if op in found.ops and not removed.isdisjoint(found.ops[op]):
            continue
        if not isinstance(op, relax.DataflowOp):
            # The outputs have the types of values inside.
            yield from symbols_in(op)
        if not isinstance(op, relax.LambdaOp):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _symbols_used(inner, found, removed)


def take_transformed(
    found: Liftable,
    weights: Sequence[int],
    lifted: Sequence[int],
    removed: AbstractSet[int],
    symbols: Sequence[str],
) -> None:
    """Let a function take the needed weights and lifted values, and compute no others."""
    block = found.func.body.block
    used = {op for op in found.ops if any(r.first_use is not None for r in op.results)}
    firsts = _first_values(found)
    parameters: dict[int, SSAValue] = {}
    for number in lifted:
        parameter = block.insert_arg(firsts[number].type, len(block.args))
        parameter.name_hint = firsts[number].name_hint
        parameters[number] = parameter
    for value, number in found.number_of.items():
        if number in parameters:
            value.replace_all_uses_with(parameters[number])
    blocks = [_without_outputs(each, found, removed) for each in found.blocks.values()]
    for op, numbers in reversed(found.ops.items()):
        is_lifted = not removed.isdisjoint(numbers)
        if is_lifted or (op in used and _is_unused(op)):
            Rewriter.erase_op(op)
    for dataflow in reversed(blocks):
        if not dataflow.outputs and dataflow.body.block.first_op is dataflow.output_op:
            Rewriter.erase_op(dataflow)
    for index, weight in list(enumerate(found.func.args[found.inputs :])):
        if index < found.numbers.weights and index not in weights:
            block.erase_arg(weight)
    if symbols:
        names = {found.renamed(name): name for name in found.func.symbol_names}
        type_ = ShapeType.of(names[symbol] for symbol in symbols)
        block.insert_arg(type_, found.inputs).name_hint = SHAPE
    update_signature(found.func)


def _is_unused(op: Operation) -> bool:
    return all(result.first_use is None for result in op.results)


def _without_outputs(
    dataflow: relax.DataflowOp, found: Liftable, removed: AbstractSet[int]
) -> relax.DataflowOp:
    """Drop the outputs of a dataflow block that are lifted, or weights."""
    kept: list[int] = []
    for index, result in enumerate(dataflow.outputs):
        number = found.number_of.get(result)
        if number in removed:
            # Only what is erased, too, uses it.
            result.replace_all_uses_with(dataflow.output_op.values[index])
        elif number is not None and number < found.numbers.weights:
            result.replace_all_uses_with(found.weights[number])
        else:
            kept.append(index)
    return keep_outputs(dataflow, kept)
