"""The function that computes once what a model needs of its weights."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.analysis.relax.well_formed import NUM_INPUT
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.algebra import erase_symbols, is_base_of, solve_symbols
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import definable_symbols, substitute_symbols
from xdsl_tvm.passes.infra.module_symbols import UniqueNames
from xdsl_tvm.passes.relax._lifted_params.liftable import Liftable
from xdsl_tvm.passes.relax.rewriting.symbols import (
    defined_symbols,
    substitute_in_operation,
)

RESET_ITEM = "vm.builtin.tuple_reset_item"
"""The function of the runtime that drops a field of a tuple."""


def transform_function(
    name: str,
    base: Liftable,
    outputs: Sequence[int],
    symbols: Sequence[str],
    consume: bool,
) -> relax.FuncOp:
    """A function from the weights to values of the given numbers.

    Where there are `symbols`, a shape of them comes first. With `consume` each weight is
    dropped from the parameter once it is read.
    """
    weights = base.weights
    bundle = relax.TupleType.of(closed_types([weight.type for weight in weights]))
    block = Block(arg_types=[bundle])
    block.args[0].name_hint = "params"
    body = Block()
    builder = LocatedBuilder(body, base.func)
    values: dict[int, SSAValue] = {}

    def value_of(number: int) -> SSAValue:
        if number not in values:
            item = builder.insert(relax.GetItemOp(block.args[0], number))
            item.name_hint = weights[number].name_hint
            values[number] = item
            if consume:
                index = builder.insert(relax.PrimValueOp(number))
                operands = [block.args[0], index]
                builder.insert(
                    relax.CallPurePackedOp(RESET_ITEM, operands, relax.TupleType.of(()))
                )
        return values[number]

    for op in _needed_ops(base, outputs):
        operands = {v: value_of(base.number_of[v]) for v in op.operands}
        copy = builder.insert_op(op.clone(operands))
        copy.location = op.location
        values.update(zip(base.ops[op], copy.results, strict=True))
    fields = [builder.insert(relax.ShapeOp(symbols))] if symbols else []
    fields += [value_of(number) for number in outputs]
    result = builder.insert(relax.TupleOp(fields))
    builder.insert_op(relax.OutputOp(result))
    dataflow = relax.DataflowOp([result.type], Region(body))
    LocatedBuilder(block, base.func).insert_op(dataflow)
    LocatedBuilder(block, base.func).insert_op(relax.ReturnOp(dataflow.outputs[0]))
    return new_function(name, block)


def closed_types(types: Sequence[Attribute]) -> list[Attribute]:
    """Types of weights, where dimensions are forgotten that weights alone do not tell."""
    told = parameter_symbols(types)
    return [erase_symbols(type_, told) for type_ in types]


def new_function(name: str, block: Block) -> relax.FuncOp:
    """A public function without inputs that differ between calls."""
    last = block.last_op
    assert isinstance(last, relax.ReturnOp), "of a function"
    return relax.FuncOp(
        name,
        list(block.arg_types),
        last.value.type,
        Region(block),
        attributes={
            "global_symbol": StringAttr(name),
            NUM_INPUT: IntegerAttr(0, i64),
        },
    )


def _needed_ops(base: Liftable, outputs: Sequence[int]) -> list[Operation]:
    """The operations that the outputs need, in order."""
    needed = set(outputs)
    found: list[Operation] = []
    seen = set[int]()
    for op, numbers in reversed(base.ops.items()):
        if not needed.isdisjoint(numbers):
            found.append(op)
            needed.update(base.number_of[value] for value in op.operands)
    ordered: list[Operation] = []
    for op in reversed(found):
        if seen.isdisjoint(base.ops[op]):
            ordered.append(op)
            seen.update(base.ops[op])
    return ordered


def compose(first: relax.FuncOp, second: relax.FuncOp) -> relax.FuncOp:
    """The function that passes the results of `first` to `second`, of whose name it is.

    Both return tuples, and `second` takes one. Symbols of `second` that the type of
    those results does not tell are defined by a check.
    """
    result, given = first.clone(), second.clone()
    block, inner = result.body.block, given.body.block
    names = UniqueNames(defined_symbols(result))
    value: SSAValue = result.return_op.value
    returned = result.return_op
    builder = LocatedBuilder(returned)
    parameter = inner.args[0]
    values = solve_symbols([parameter.type], [value.type])
    new = [name for name in definable_symbols(parameter.type) if name not in values]
    values |= {name: Dim.symbol(names.unique(name)) for name in new}
    for name in sorted(defined_symbols(given) - values.keys()):
        values[name] = Dim.symbol(names.unique(name))
    type_ = substitute_symbols(parameter.type, values)
    value = _as_type(builder, value, type_, [str(values[name]) for name in new])
    for op in inner.walk():
        substitute_in_operation(op, values)
    inner.args[0].replace_all_uses_with(value)
    outer = given.return_op
    for op in list(inner.ops):
        op.detach()
        if op is not outer:
            block.insert_op_before(op, returned)
    returned.operands[0] = outer.value
    outer.erase()
    block = result.detach_region(result.body).detach_block(0)
    return new_function(second.sym_name.data, block)


def _as_type(
    builder: LocatedBuilder, value: SSAValue, type_: Attribute, defined: Sequence[str]
) -> SSAValue:
    if value.type == type_ and not defined:
        return value
    if is_base_of(type_, value.type) and not defined:
        return builder.insert(relax.AliasOp(value, type_))
    return builder.insert(relax.MatchCastOp(value, type_, defined))


def existing_transform(module: ModuleOp, name: str) -> Operation | None:
    """What has the name of a transform function already."""
    for op in module.ops:
        if op.get_attr_or_prop("sym_name") == StringAttr(name):
            return op
    return None
