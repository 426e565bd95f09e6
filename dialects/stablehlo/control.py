"""Control flow of `stablehlo`, and calls of what it does not define itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo.assembly import (
    from_attributes,
    parse_typed,
    parse_values,
    print_attributes,
    print_function_type,
)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The end of a body, with its values."""

    name = "stablehlo.return"

    values = var_operand_def()

    traits = traits_def(IsTerminator())

    assembly_format = "attr-dict ($values^ `:` type($values))?"


def _verify_end(op: Operation, region: int, types: Sequence[Attribute]) -> None:
    block = op.regions[region].blocks.last
    end = None if block is None else block.last_op
    found = [] if end is None else list(end.operand_types)
    if not isinstance(end, ReturnOp) or found != list(types):
        shown = ", ".join(map(str, types))
        raise VerifyException(
            f"{op.name}: its bodies must end in a stablehlo.return of {shown}"
        )


def _verify_arguments(op: Operation, region: int, types: Sequence[Attribute]) -> None:
    block = op.regions[region].blocks.first
    found = [] if block is None else [arg.type for arg in block.args]
    if found != list(types):
        shown = ", ".join(map(str, types)) or "none"
        raise VerifyException(f"{op.name}: the parameters of a body must be {shown}")


@irdl_op_definition
class IfOp(IRDLOperation):
    """The results of the first body where the scalar holds, else of the second."""

    name = "stablehlo.if"

    pred = operand_def(TensorType)
    res = var_result_def()
    true_branch = region_def("single_block")
    false_branch = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        if self.pred.type != TensorType(i1, []):
            raise VerifyException(f"{self.name}: the operand must be tensor<i1>")
        for index in range(2):
            _verify_arguments(self, index, [])
            _verify_end(self, index, self.result_types)


@irdl_op_definition
class CaseOp(IRDLOperation):
    """The results of the body that a scalar numbers; of the last one if it is beyond."""

    name = "stablehlo.case"

    index = operand_def(TensorType)
    res = var_result_def()
    branches = var_region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        if self.index.type != TensorType(i32, []) or not self.branches:
            raise VerifyException(
                f"{self.name}: the operand must be tensor<i32>, and a body must be given"
            )
        for index in range(len(self.branches)):
            _verify_arguments(self, index, [])
            _verify_end(self, index, self.result_types)


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Values that a body changes as long as a condition of them holds."""

    name = "stablehlo.while"

    operand = var_operand_def()
    res = var_result_def()
    cond = region_def("single_block")
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names: list[UnresolvedOperand] = []
        values: list[UnresolvedOperand] = []

        def entry() -> None:
            names.append(parser.parse_unresolved_operand())
            parser.parse_punctuation("=")
            values.append(parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, entry)
        types: list[Attribute] = []
        start = parser.pos
        if values:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
        operands = parser.resolve_operands(values, types, start)
        attributes: dict[str, Attribute] = {}
        if found := parser.parse_optional_attr_dict_with_keyword():
            attributes = dict(found.data)
        arguments = [
            parser.Argument(name.span, type_)
            for name, type_ in zip(names, types, strict=True)
        ]
        parser.parse_keyword("cond")
        cond = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=types,
            regions=[cond, body],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        arguments = self.cond.block.args

        def entry(pair: tuple[SSAValue, SSAValue]) -> None:
            printer.print_ssa_value(pair[0])
            printer.print_string(" = ")
            printer.print_ssa_value(pair[1])

        with printer.in_parens():
            printer.print_list(zip(arguments, self.operand, strict=True), entry)
        if self.operand:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        shown = {**self.properties, **self.attributes}
        if shown:
            printer.print_op_attributes(shown, print_keyword=True)
        printer.print_string(" cond ")
        printer.print_region(self.cond, print_entry_block_args=False)
        printer.print_string(" do ")
        # The parameters of both bodies have one name, which is printed once.
        body = self.body.clone()
        for argument, name in zip(body.block.args, arguments, strict=True):
            argument.replace_all_uses_with(name)
        printer.print_region(body, print_entry_block_args=False)
        body.drop_all_references()

    def verify_(self) -> None:
        types = self.operand_types
        if list(types) != list(self.result_types):
            raise VerifyException(f"{self.name}: results must have the operands' types")
        for index in range(2):
            _verify_arguments(self, index, types)
        _verify_end(self, 0, [TensorType(i1, [])])
        _verify_end(self, 1, types)


@irdl_op_definition
class OptimizationBarrierOp(IRDLOperation):
    """The operands; what is before it is not optimized together with what follows."""

    name = "stablehlo.optimization_barrier"

    operand = var_operand_def()
    res = var_result_def()

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        start = parser.pos
        if operands:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
        values = parser.resolve_operands(operands, types, start)
        return from_attributes(cls, values, types, attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)

    def verify_(self) -> None:
        if list(self.operand_types) != list(self.result_types):
            raise VerifyException(f"{self.name}: results must have the operands' types")


@irdl_op_definition
class CustomCallOp(IRDLOperation):
    """A call of a function that the platform knows by name."""

    name = "stablehlo.custom_call"

    inputs = var_operand_def()
    res = var_result_def()
    call_target_name = prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_symbol_name()
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        return parse_typed(cls, parser, operands, attributes, call_target_name=target)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.call_target_name.data)
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, ("call_target_name",))
        printer.print_string(" : ")
        print_function_type(printer, self)


@irdl_op_definition
class CompositeOp(IRDLOperation):
    """An operation of another name, with a function that computes the same."""

    name = "stablehlo.composite"

    inputs = var_operand_def()
    res = var_result_def()
    composite_name = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(SymbolRefAttr)
    version = opt_prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = StringAttr(parser.parse_str_literal())
        operands = parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        op = parse_typed(cls, parser, operands, attributes)
        op.properties["name"] = name
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.composite_name.data)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, ("name",))
        printer.print_string(" : ")
        print_function_type(printer, self)
