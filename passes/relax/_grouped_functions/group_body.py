"""Operations of a block that become the body of a function of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import DimAttr, DimsAttr
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp
from xdsl_tvm.dialects.relax.functions import parameter_symbols
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import ShapeType, substitute_symbols, used_symbols
from xdsl_tvm.passes.relax.rewriting.symbols import (
    hide_symbols,
    substitute_in_attribute,
)


class GroupBody:
    """Operations of one block, in order, as the body of a function.

    The function returns `outputs`, the last result where none are given; several come as
    a tuple. Shapes and numbers from outside are copied into it, and constants if
    `bind_constants`; everything else becomes a parameter.
    """

    def __init__(
        self,
        ops: Sequence[Operation],
        outputs: Sequence[SSAValue] = (),
        *,
        bind_constants: bool = False,
    ) -> None:
        self.members = list(ops)
        self.outputs = list(outputs) or [ops[-1].results[0]]
        literal = (*_LITERALS, relax.ConstantOp) if bind_constants else _LITERALS
        inside = {result for op in ops for result in op.results}
        outside = dict.fromkeys(
            operand for op in ops for operand in op.operands if operand not in inside
        )
        literals = [v for v in outside if isinstance(v.owner, literal)]
        self.arguments = [v for v in outside if not isinstance(v.owner, literal)]
        """What the function is called with."""
        owners = (value.owner for value in literals)
        self._literals = [op for op in owners if isinstance(op, Operation)]
        self.ops: list[Operation] = [*self._literals, *ops]
        inputs = [argument.type for argument in self.arguments]
        bound = parameter_symbols(inputs)
        self.symbols = [*bound, *self._used(inputs)]
        """All symbols, in the order of the parameters and then of their use."""
        self.symbols = list(dict.fromkeys(self.symbols))
        self.free = [name for name in self.symbols if name not in bound]
        """The symbols that come as a shape."""

    def _used(self, inputs: Sequence[Attribute]) -> Iterator[str]:
        for type_ in inputs:
            yield from used_symbols(type_)
        for op in self.ops:
            for type_ in op.result_types:
                yield from used_symbols(type_)
            for attribute in op.properties.values():
                if isinstance(attribute, DimAttr):
                    yield from attribute.data.symbols()
                elif isinstance(attribute, DimsAttr):
                    for dim in attribute.known or ():
                        yield from dim.symbols()

    def key(self) -> object:
        """Equal for bodies that differ in the names of symbols only."""
        names = {
            name: Dim.symbol(f"s{number}") for number, name in enumerate(self.symbols)
        }
        values = list(self.arguments)
        numbers = {value: number for number, value in enumerate(values)}
        lines: list[object] = [substitute_symbols(v.type, names) for v in values]
        for op in self.ops:
            properties = [
                (key, substitute_in_attribute(value, names))
                for key, value in op.properties.items()
            ]
            operands = tuple(numbers[operand] for operand in op.operands)
            for result in op.results:
                numbers[result] = len(numbers)
            types = tuple(substitute_symbols(t, names) for t in op.result_types)
            extra = tuple(sorted(op.attributes.items()))
            lines.append((op.name, tuple(sorted(properties)), operands, types, extra))
        return (*lines, tuple(numbers[output] for output in self.outputs))

    def name(self) -> str:
        """`fused_` and the names of the functions and operators that are called."""
        return "_".join(("fused", *filter(None, map(_called_name, self.ops))))

    def can_replace(self, at: Operation) -> bool:
        """Whether the symbols that a call passes are known at a place."""
        return not self.free or not hide_symbols(self.arguments, at)

    @property
    def output_type(self) -> Attribute:
        """The type of what the function returns."""
        types = [output.type for output in self.outputs]
        return types[0] if len(types) == 1 else relax.TupleType.of(types)

    def function(
        self, name: str, attributes: Mapping[str, Attribute], *, dataflow: bool = True
    ) -> relax.FuncOp:
        """The function, private unless an attribute says otherwise.

        Its bindings are in a dataflow block if `dataflow`.
        """
        types = [argument.type for argument in self.arguments]
        if self.free:
            types.append(ShapeType.of(self.free))
        entry, inner = Block(arg_types=types), Block()
        copies = dict[SSAValue, SSAValue](zip(self.arguments, entry.args, strict=False))
        for argument, param in zip(self.arguments, entry.args, strict=False):
            param.name_hint = argument.name_hint
        # TVM writes literals where they are used, and they are no bindings.
        entry.add_ops([op.clone(copies) for op in self._literals])
        target = inner if dataflow else entry
        target.add_ops([op.clone(copies) for op in self.members])
        values: Sequence[SSAValue] = [copies[output] for output in self.outputs]
        if dataflow:
            inner.add_op(relax.OutputOp(*values))
            block = relax.DataflowOp([value.type for value in values], Region(inner))
            entry.add_op(block)
            values = block.outputs
        if len(values) > 1:
            together = relax.TupleOp(values)
            entry.add_op(together)
            values = (together.result,)
        entry.add_op(relax.ReturnOp(values[0]))
        return relax.FuncOp(
            name,
            types,
            self.output_type,
            Region(entry),
            symbols=self.symbols,
            attributes=attributes,
        )

    def replace_by_call(self, name: str) -> relax.CallOp:
        """Put a call of the function in the place of the last operation, drop the others.

        Uses of the outputs must be after it. Literals that nothing uses any more are
        dropped as well.
        """
        last = self.members[-1]
        new = list[Operation]()
        arguments = list(self.arguments)
        if self.free:
            shape = relax.ShapeOp(self.free)
            new.append(shape)
            arguments.append(shape.result)
        call = relax.CallOp(name, arguments, self.output_type)
        new.append(call)
        assert call.result is not None
        values: Sequence[SSAValue] = [call.result]
        if len(self.outputs) > 1:
            items = [relax.GetItemOp(call.result, i) for i in range(len(self.outputs))]
            new += items
            values = [item.result for item in items]
        for op in new:
            op.location = last.location
            Rewriter.insert_op(op, InsertPoint.before(last))
        for output, value in zip(self.outputs, values, strict=True):
            value.name_hint = output.name_hint
            output.replace_all_uses_with(value)
        for member in reversed(self.members):
            Rewriter.erase_op(member)
        for literal in self._literals:
            if not literal.results[0].uses:
                Rewriter.erase_op(literal)
        return call


_LITERALS = (relax.ShapeOp, relax.PrimValueOp)


def _called_name(op: Operation) -> str | None:
    """What a call is called in the name of a function; None for other bindings."""
    match op:
        case AnyCallTIROp():
            return op.callee.root_reference.data
        case relax.CallOp():
            return op.callee.root_reference.data.removeprefix("fused_")
        case relax.OperatorOp():
            return op.name.replace(".", "_")
        case _:
            return None
