"""Functions as values: literals, references and calls.

docs/spec/relax-ir.md §3.5, §10.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.algebra import Check, base_check, infer_call
from xdsl_tvm.dialects.relax.attributes import SymbolsAttr
from xdsl_tvm.dialects.relax.calls import EffectsIfImpure, ImpureByProperty
from xdsl_tvm.dialects.relax.functions import (
    FunctionDefinition,
    parameter_symbols,
    parse_signature,
    print_signature,
    verify_return,
    verify_signature,
)
from xdsl_tvm.dialects.relax.types import FuncType, ObjectType, verify_type

__all__ = ["CallIndirectOp", "GlobalRefOp", "LambdaOp"]


@irdl_op_definition
class LambdaOp(FunctionDefinition):
    """A function literal. TVM's `Function` as an expression.

    Values from outside are visible inside; symbolic dimensions are not, so a function
    that needs one takes a parameter that defines it. A function that calls itself is
    written with `recursive` and its name inside. The string is the name of the variable
    that holds the function; `relax-lambda-lift` uses it. As for `relax.func`, impure
    calls need `impure` or the attribute `relax.force_pure`.

    ```mlir
    %f = relax.lambda "inner"(%y: tensor<4xf32>) -> tensor<4xf32> {
      %z = relax.add %y, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      relax.return %z : tensor<4xf32>
    }
    ```
    """

    name = "relax.lambda"

    var_name = opt_prop_def(StringAttr)
    recursive = opt_prop_def(UnitAttr)
    result = result_def(FuncType)

    traits = traits_def(Pure())

    def __init__(
        self,
        inputs: Sequence[Attribute],
        output: Attribute,
        body: Region | None = None,
        *,
        symbols: Sequence[str] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        impure: bool = False,
        recursive: bool = False,
        var_name: str | None = None,
    ) -> None:
        """Make a literal; the block of a recursive one begins with the function itself.

        `symbols` are found from `inputs` where they are not given.
        """
        if symbols is None:
            symbols = parameter_symbols(inputs)
        type_ = FuncType.of(inputs, output, not impure)
        own = (type_,) if recursive else ()
        super().__init__(
            properties={
                "var_name": None if var_name is None else StringAttr(var_name),
                "symbols": SymbolsAttr(tuple(symbols)) if symbols else None,
                "recursive": UnitAttr() if recursive else None,
            },
            attributes=dict(attributes or {}),
            regions=[Region(Block(arg_types=(*own, *inputs))) if body is None else body],
            result_types=[type_],
        )

    @property
    def type(self) -> FuncType:
        """The type of the function."""
        type_ = self.result.type
        assert isinstance(type_, FuncType), "verified"
        return type_

    @property
    def own_value(self) -> BlockArgument | None:
        """The function itself, as its body sees it; None where it does not."""
        return None if self.recursive is None else self.body.block.args[0]

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """The parameters."""
        return tuple(self.body.block.args)[self.recursive is not None :]

    @property
    def is_pure(self) -> bool:
        """Whether a call has no side effects."""
        return self.type.is_pure

    # Hand-written for the same reason as that of `relax.func`.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        impure = parser.parse_optional_keyword("impure") is not None
        var_name = parser.parse_optional_str_literal()
        own = None
        if parser.parse_optional_keyword("recursive") is not None:
            own = parser.parse_argument(expect_type=False)
        symbols, args, output = parse_signature(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        inputs = [arg.type for arg in args]
        if own is not None:
            args = [own.resolve(FuncType.of(inputs, output, not impure)), *args]
        return cls(
            inputs,
            output,
            parser.parse_region(args),
            symbols=symbols,
            attributes={} if attributes is None else attributes.data,
            impure=impure,
            recursive=own is not None,
            var_name=var_name,
        )

    def print(self, printer: Printer) -> None:
        if not self.is_pure:
            printer.print_string(" impure")
        if self.var_name is not None:
            printer.print_string(" ")
            printer.print_string_literal(self.var_name.data)
        if (own := self.own_value) is not None:
            printer.print_string(" recursive ")
            printer.print_ssa_value(own)
        elif not self.is_pure and self.var_name is None:
            printer.print_string(" ")
        print_signature(printer, self.symbol_names, self.args, self.type.ret)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )

    def verify_(self) -> None:
        type_ = self.result.type
        assert isinstance(type_, FuncType), "constrained"
        inputs, block = type_.param_types, self.body.block
        if inputs is None:
            raise VerifyException(f"{self.name}: a literal has parameters, {type_} not")
        args = list(block.args)
        if self.recursive is not None and (not args or args.pop(0).type != type_):
            raise VerifyException(
                f"{self.name}: the block of a recursive function begins with an "
                f"argument of its own type, {type_}"
            )
        verify_signature(self.name, self.symbol_names, inputs, type_.ret, args)
        verify_return(self.name, block, type_.ret)


@irdl_op_definition
class GlobalRefOp(IRDLOperation):
    """A function of the module as a value. TVM's `GlobalVar` that is not called.

    A Relax function has the type that it declares, or one that promises less; any
    function is a `!relax.object`.

    ```mlir
    %f = relax.global_ref @layer : !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
    ```
    """

    name = "relax.global_ref"

    callee = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(FuncType | ObjectType)

    traits = traits_def(Pure())

    assembly_format = "$callee attr-dict `:` type($result)"

    def __init__(self, callee: str | SymbolRefAttr, type_: FuncType | ObjectType) -> None:
        super().__init__(
            result_types=[type_],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee
            },
        )


@irdl_op_definition
class CallIndirectOp(IRDLOperation):
    """Call a function that is a value; the call is `impure` exactly if its type is.

    TVM's `Call` of a variable.

    ```mlir
    %r = relax.call_indirect %f(%a) :
      !relax.func<(tensor<?xf32>) -> tensor<?xf32>>, (tensor<4xf32>) -> tensor<?xf32>
    ```
    """

    name = "relax.call_indirect"

    impure = opt_prop_def(UnitAttr)
    callee = operand_def(FuncType)
    arguments = var_operand_def()
    result = result_def()

    traits = traits_def(ImpureByProperty(), EffectsIfImpure())

    assembly_format = (
        "(`impure` $impure^)? $callee `(` $arguments `)` attr-dict `:` type($callee) `,`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: SSAValue | Operation,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ) -> None:
        """Make a call; without `result_type` it is inferred from the callee's type."""
        callee = SSAValue.get(callee)
        arguments = [SSAValue.get(value) for value in arguments]
        type_ = callee.type
        if not isinstance(type_, FuncType):
            raise VerifyException(f"{self.name}: {type_} is no type of a function")
        if result_type is None:
            result_type = infer_call(self.name, type_, [a.type for a in arguments])
        super().__init__(
            operands=[callee, arguments],
            result_types=[result_type],
            properties={"impure": None if type_.is_pure else UnitAttr()},
        )

    @property
    def is_pure(self) -> bool:
        """Whether the call has no side effect."""
        return self.impure is None

    def verify_(self) -> None:
        verify_type(self.result.type)
        type_ = self.callee.type
        assert isinstance(type_, FuncType), "constrained"
        if self.is_pure != type_.is_pure:
            kind = "pure" if type_.is_pure else "impure"
            raise VerifyException(
                f"{self.name}: the function is {kind} and the call must say so"
            )
        inferred = infer_call(self.name, type_, [a.type for a in self.arguments])
        if base_check(self.result.type, inferred) == Check.IMPOSSIBLE:
            raise VerifyException(
                f"{self.name}: the function returns {inferred}, "
                f"but {self.result.type} is declared"
            )
