"""Functions, dataflow blocks and conditionals (docs/spec/relax-ir.md §3)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
)
from xdsl.dialects.utils import print_func_argument
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    OpTrait,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    ReturnLike,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.dominance import verify_dominance
from xdsl_tvm.dialects.function_like import FunctionLike
from xdsl_tvm.dialects.relax.algebra import (
    Check,
    base_check,
    common_base,
    erase_symbols,
    is_base_of,
)
from xdsl_tvm.dialects.relax.attributes import SymbolsAttr, parse_symbol
from xdsl_tvm.dialects.relax.types import (
    FuncType,
    definable_symbols,
    is_bool_scalar,
    used_symbols,
    verify_type,
)
from xdsl_tvm.dialects.tir.base_func import BaseFunc

__all__ = [
    "FORCE_PURE",
    "DataflowOp",
    "FuncOp",
    "IfOp",
    "OutputOp",
    "ReturnOp",
    "YieldOp",
]

FORCE_PURE = "relax.force_pure"
"""Attribute of a function that counts as pure though it holds impure calls."""
VAR_UPPER_BOUND = "tir_var_upper_bound"
"""Attribute of a function: the greatest values of symbols that its parameters define."""


class FunctionDefinition(IRDLOperation, ABC):
    """What `relax.func` and `relax.lambda` have in common."""

    symbols = opt_prop_def(SymbolsAttr)
    body = region_def("single_block")

    @property
    def symbol_names(self) -> tuple[str, ...]:
        """The symbolic dimensions that the parameters define."""
        return () if self.symbols is None else self.symbols.data

    @property
    def is_forced_pure(self) -> bool:
        """Whether impure calls are allowed in spite of purity."""
        return is_set(self.attributes.get(FORCE_PURE))

    @property
    def return_op(self) -> ReturnOp:
        """The terminator."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp), "verified"
        return last


@irdl_op_definition
class FuncOp(FunctionDefinition, BaseFunc):
    """A function on tensors and other Relax values, with one result. TVM's `Function`.

    The names in angle brackets are the symbolic dimensions that the parameters define:
    each is a dimension by itself in the type of one of them. Types in the body use these
    and the ones that a `relax.match_cast` above defines. Where a symbol occurs again in
    the parameters, equality is checked when the function is called.

    The attributes are TVM's function attributes; the presence of `global_symbol` makes
    the function visible outside of the module. A function is pure unless `impure` is
    written; a pure one holds no impure call unless it has the attribute
    `relax.force_pure`.

    ```mlir
    !v = tensor<?xf32, #relax.dims<[n]>>
    relax.func @twice<n>(%x: !v) -> !v attributes {global_symbol = "twice"} {
      %y = relax.add %x, %x : (!v, !v) -> !v
      relax.return %y : !v
    }
    ```
    """

    name = "relax.func"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    impure = opt_prop_def(UnitAttr)

    traits = lazy_traits_def(
        lambda: (IsolatedFromAbove(), SymbolOpInterface(), FunctionLike())
    )

    def __init__(
        self,
        name: str | StringAttr,
        inputs: Sequence[Attribute],
        output: Attribute,
        body: Region | None = None,
        *,
        symbols: Sequence[str] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        impure: bool = False,
    ) -> None:
        """Make a function; `symbols` are found from `inputs` where they are not given."""
        if symbols is None:
            symbols = parameter_symbols(inputs)
        super().__init__(
            properties={
                "sym_name": StringAttr(name) if isinstance(name, str) else name,
                "symbols": SymbolsAttr(tuple(symbols)) if symbols else None,
                "function_type": FunctionType.from_lists(inputs, [output]),
                "impure": UnitAttr() if impure else None,
            },
            attributes=dict(attributes or {}),
            regions=[Region(Block(arg_types=inputs)) if body is None else body],
        )

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """The parameters."""
        return tuple(self.body.block.args)

    @property
    def output_type(self) -> Attribute:
        """The type of the result."""
        return self.function_type.outputs.data[0]

    @property
    def is_pure(self) -> bool:
        """Whether a call has no side effects."""
        return self.impure is None

    @property
    def type(self) -> FuncType:
        """The function's type as a value."""
        return FuncType.of(self.function_type.inputs, self.output_type, self.is_pure)

    @property
    def struct_info(self) -> FuncType:
        """The function's type, TVM's word of it."""
        return self.type

    @property
    def ret_struct_info(self) -> Attribute:
        """The type of the result, TVM's word of it."""
        return self.output_type

    # Hand-written: the symbols are between the name and the parameters, which the
    # declarative format cannot express together with named parameters.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        impure = parser.parse_optional_keyword("impure") is not None
        name = parser.parse_symbol_name()
        symbols, args, output = parse_signature(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(args)
        return cls(
            name,
            [arg.type for arg in args],
            output,
            body,
            symbols=symbols,
            attributes={} if attributes is None else attributes.data,
            impure=impure,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.is_pure else " impure ")
        printer.print_symbol_name(self.sym_name.data)
        print_signature(printer, self.symbol_names, self.args, self.output_type)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )

    def verify_(self) -> None:
        what = f"relax.func @{self.sym_name.data}"
        outputs = self.function_type.outputs.data
        if len(outputs) != 1:
            raise VerifyException(f"{what} must have one result, not {len(outputs)}")
        inputs = self.function_type.inputs.data
        verify_signature(what, self.symbol_names, inputs, outputs[0], self.args)
        verify_return(what, self.body.block, outputs[0])
        # Here because the checks of the body need everything that is in scope.
        from xdsl_tvm.dialects.relax.scopes import verify_body

        verify_body(self)
        verify_dominance(what, self)


def parse_signature(
    parser: Parser,
) -> tuple[list[str], list[Parser.Argument], Attribute]:
    """The symbols, the parameters and the type of the result of a function."""
    symbols = parser.parse_optional_comma_separated_list(
        parser.Delimiter.ANGLE, lambda: parse_symbol(parser)
    )
    args = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_argument
    )
    parser.parse_punctuation("->")
    return symbols or [], args, parser.parse_type()


def print_signature(
    printer: Printer,
    symbols: Sequence[str],
    args: Sequence[BlockArgument],
    output: Attribute,
) -> None:
    """What `parse_signature` reads."""
    if symbols:
        with printer.in_angle_brackets():
            printer.print_list(symbols, printer.print_string)
    with printer.in_parens():
        printer.print_list(args, lambda arg: print_func_argument(printer, arg, None))
    printer.print_string(" -> ")
    printer.print_attribute(output)


def verify_signature(
    what: str,
    symbols: Sequence[str],
    inputs: Sequence[Attribute],
    output: Attribute,
    args: Sequence[BlockArgument],
) -> None:
    """Check the declared types of a function, against its symbols and its block.

    Raises VerifyException that begins with `what`.
    """
    if tuple(inputs) != tuple(arg.type for arg in args):
        raise VerifyException(
            f"{what}: the block arguments must have the types of the parameters"
        )
    for type_ in (*inputs, output):
        verify_type(type_)
    definable = parameter_symbols(inputs)
    if len(set(symbols)) != len(symbols):
        raise VerifyException(f"{what} declares a symbol twice")
    for symbol in symbols:
        if symbol not in definable:
            raise VerifyException(
                f"{what} declares the symbol '{symbol}', "
                "but no parameter has it as a dimension"
            )
    for type_ in (*inputs, output):
        for symbol in used_symbols(type_):
            if symbol not in symbols:
                raise VerifyException(
                    f"{what} uses the symbol '{symbol}' of {type_}, "
                    f"but declares {', '.join(symbols) or 'none'}"
                )


def verify_return(what: str, block: Block, output: Attribute) -> None:
    """Check the value that a function returns. Raises VerifyException."""
    last = block.last_op
    if not isinstance(last, ReturnOp):
        raise VerifyException(f"{what} must end with relax.return")
    if base_check(output, last.value.type) == Check.IMPOSSIBLE:
        raise VerifyException(
            f"{what} returns {last.value.type}, but {output} is declared"
        )


def is_set(attribute: Attribute | None) -> bool:
    """Whether a flag is set: a unit, or a number other than 0."""
    if isinstance(attribute, IntegerAttr):
        return bool(attribute.value.data)
    return isinstance(attribute, UnitAttr)


def parameter_symbols(inputs: Iterable[Attribute]) -> list[str]:
    """The symbols that parameters of the given types define, in order."""
    found = (name for type_ in inputs for name in definable_symbols(type_))
    return list(dict.fromkeys(found))


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The result of a function.

    ```mlir
    relax.return %a : tensor<4xf32>
    ```
    """

    name = "relax.return"

    value = operand_def()

    traits = lazy_traits_def(lambda: _return_traits())

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue | Operation) -> None:
        super().__init__(operands=[value])


def _return_traits() -> tuple[OpTrait, ...]:
    from xdsl_tvm.dialects.relax.lambdas import LambdaOp

    return IsTerminator(), HasParent(FuncOp, LambdaOp), ReturnLike(), Pure()


@irdl_op_definition
class DataflowOp(IRDLOperation):
    """A block of bindings without side effects and control flow. TVM's `DataflowBlock`.

    Passes may reorder, drop and duplicate what it holds. Its results are the values that
    `relax.output` names; nothing else is visible after it. Values from outside are
    visible inside, and symbols that a `relax.match_cast` defines inside stay visible
    after it.

    ```mlir
    %r = relax.dataflow -> (tensor<4xf32>) {
      %y = relax.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      relax.output %y : tensor<4xf32>
    }
    ```
    """

    name = "relax.dataflow"

    outputs = var_result_def()
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    assembly_format = "`->` `(` type($outputs) `)` attr-dict-with-keyword $body"

    def __init__(self, result_types: Sequence[Attribute], body: Region) -> None:
        super().__init__(result_types=[result_types], regions=[body])

    @property
    def output_op(self) -> OutputOp:
        """The terminator."""
        last = self.body.block.last_op
        assert isinstance(last, OutputOp), "verified"
        return last

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, OutputOp):
            raise VerifyException(f"{self.name} must end with relax.output")
        if self.body.block.args:
            raise VerifyException(f"{self.name}: the block takes no arguments")
        given, declared = tuple(last.values.types), tuple(self.outputs.types)
        if given != declared:
            raise VerifyException(
                f"{self.name} has results ({', '.join(map(str, declared))}), but "
                f"relax.output gives ({', '.join(map(str, given))})"
            )


@irdl_op_definition
class OutputOp(IRDLOperation):
    """The values of a dataflow block that are visible after it.

    ```mlir
    relax.output %a : tensor<4xf32>
    ```
    """

    name = "relax.output"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), HasParent(DataflowOp), Pure())

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue | Operation) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class IfOp(IRDLOperation):
    """One of two values, chosen by a bool scalar or rank-0 tensor. TVM's `If`.

    Only the chosen branch runs. The result type is one that both branches' values have;
    symbols defined in a branch are not visible after it. Not allowed in a dataflow block.

    ```mlir
    %r = relax.if %c : tensor<i1> -> tensor<4xf32> {
      relax.yield %a : tensor<4xf32>
    } else {
      relax.yield %b : tensor<4xf32>
    }
    ```
    """

    name = "relax.if"

    condition = operand_def()
    result = result_def()
    true_region = region_def("single_block")
    false_region = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    assembly_format = (
        "$condition `:` type($condition) `->` type($result) $true_region `else`"
        " $false_region attr-dict"
    )

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_region: Region,
        false_region: Region,
        result_type: Attribute | None = None,
    ) -> None:
        """Make an if; without `result_type` it is what both branches have in common."""
        if result_type is None:
            result_type = infer_if(true_region, false_region)
        super().__init__(
            operands=[condition],
            result_types=[result_type],
            regions=[true_region, false_region],
        )

    def verify_(self) -> None:
        verify_type(self.result.type)
        if not is_bool_scalar(self.condition.type):
            raise VerifyException(
                f"{self.name}: the condition must be a tensor<i1> or a "
                f"!relax.prim<i1>, not {self.condition.type}"
            )
        for region in (self.true_region, self.false_region):
            value = _yielded(region).type
            if not is_base_of(self.result.type, value):
                raise VerifyException(
                    f"{self.name}: a branch yields {value}, which is not always "
                    f"{self.result.type}"
                )


def _yielded(region: Region) -> SSAValue:
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("relax.if: each branch must end with relax.yield")
    return last.value


def infer_if(true_region: Region, false_region: Region) -> Attribute:
    """The most precise type of an if: what both yielded types have in common.

    Dimensions that use symbols defined in a branch are forgotten.
    """
    types: list[Attribute] = []
    for region in (true_region, false_region):
        type_ = _yielded(region).type
        hidden = {
            name
            for op in region.walk()
            if isinstance(defines := op.properties.get("defines"), SymbolsAttr)
            for name in defines.data
        }
        types.append(erase_symbols(type_, set(used_symbols(type_)) - hidden))
    return common_base(*types)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The value of a branch of `relax.if`.

    ```mlir
    relax.yield %a : tensor<4xf32>
    ```
    """

    name = "relax.yield"

    value = operand_def()

    traits = traits_def(IsTerminator(), HasParent(IfOp), Pure())

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue | Operation) -> None:
        super().__init__(operands=[value])
