"""Pieces of assembly that several operations share."""

from __future__ import annotations

from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from xdsl_tvm.dialects.relax.attributes import (
    DimAttr,
    DimsAttr,
    SymbolsAttr,
    parse_dim,
    parse_optional_dims,
    parse_symbol,
    print_dims,
)


@irdl_custom_directive
class Dimension(CustomDirective):
    """`n * 4`."""

    dim: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.dim.set(state, DimAttr(parse_dim(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attr = self.dim.get(op)
        assert isinstance(attr, DimAttr)
        state.print_whitespace(printer)
        printer.print_string(str(attr.data))


@irdl_custom_directive
class OptionalDims(CustomDirective):
    """`[n, 4]`, or nothing where the attribute is absent."""

    dims: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        dims = parse_optional_dims(parser)
        if dims is not None:
            self.dims.set(state, DimsAttr(dims))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attr = self.dims.get(op)
        if isinstance(attr, DimsAttr):
            state.print_whitespace(printer)
            print_dims(printer, attr.data)


@irdl_custom_directive
class DefinedSymbols(CustomDirective):
    """`defines [n, m]`, or nothing where the attribute is absent."""

    symbols: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_keyword("defines") is not None:
            names = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parse_symbol(parser)
            )
            self.symbols.set(state, SymbolsAttr(tuple(names)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attr = self.symbols.get(op)
        if isinstance(attr, SymbolsAttr):
            state.print_whitespace(printer)
            printer.print_string("defines [")
            printer.print_list(attr.data, printer.print_string)
            printer.print_string("]")
