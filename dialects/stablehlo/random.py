"""Operations of `stablehlo` that make random bits."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo.assembly import (
    element_of,
    expect_element,
    parse_typed,
    print_attributes,
    print_function_type,
    shape_of,
)
from xdsl_tvm.dialects.stablehlo.attributes import RngAlgorithm, RngAlgorithmAttr

UI64 = IntegerType(64, Signedness.UNSIGNED)


@irdl_op_definition
class RngBitGeneratorOp(IRDLOperation):
    """Random bits of a state, and the state after them.

    `%next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY :
    (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)`
    """

    name = "stablehlo.rng_bit_generator"

    initial_state = operand_def(TensorType)
    output_state = result_def(TensorType)
    output = result_def(TensorType)
    rng_algorithm = prop_def(RngAlgorithmAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("algorithm")
        parser.parse_punctuation("=")
        algorithm = RngAlgorithmAttr(parser.parse_str_enum(RngAlgorithm))
        attributes = parser.parse_optional_attr_dict()
        return parse_typed(cls, parser, [operand], attributes, rng_algorithm=algorithm)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.initial_state)
        printer.print_string(f", algorithm = {self.rng_algorithm.data.value}")
        print_attributes(printer, self, ("rng_algorithm",))
        printer.print_string(" : ")
        print_function_type(printer, self)

    def verify_(self) -> None:
        state = shape_of(self.initial_state)
        if len(state) != 1 or element_of(self.initial_state) != UI64:
            raise VerifyException(f"{self.name}: the state must be a vector of ui64")
        kinds = (2,) if self.rng_algorithm.data is RngAlgorithm.THREE_FRY else (2, 3)
        if state[0] not in (-1, *kinds):
            raise VerifyException(
                f"{self.name}: the state must have {' or '.join(map(str, kinds))} "
                f"elements, not {state[0]}"
            )
        found = shape_of(self.output_state)
        if found != state:
            raise VerifyException(
                f"{self.name}: the next state has shape {list(found)}, not {list(state)}"
            )
        expect_element(self, self.output_state, UI64)
