"""Functions of the dialect (docs/spec/tir-ir.md §9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.dialects.utils import print_func_op_like
from xdsl.ir import Attribute, Block, BlockArgument, Region
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.dominance import verify_dominance
from xdsl_tvm.dialects.function_like import FunctionLike
from xdsl_tvm.dialects.tir.annotations import FUNCTION_ATTRIBUTES, verify_annotations
from xdsl_tvm.dialects.tir.base_func import BaseFunc
from xdsl_tvm.dialects.tir.buffers import MatchBufferOp
from xdsl_tvm.dialects.tir.types import is_expression_type

_OWN = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")


@irdl_op_definition
class FuncOp(BaseFunc):
    """A function on scalars, pointers and buffers, `PrimFunc`.

    Parameters are scalars, pointers, and handles; the buffers at handles are declared
    by `tir.match_buffer` in the body, and have no other use then. The attributes
    are TVM's function attributes (`FUNCTION_ATTRIBUTES` has those that are known), such
    as `global_symbol` (its presence makes the function visible outside of the module),
    `tir.noalias` and `target`. `param_names` holds TVM's names of the parameters. A
    function without a body is a declaration.

    ```mlir
    // @scale([1.0, 2.0], 3.0) -> [3.0, 6.0]
    tir.func @scale(%a: !tir.handle, %s: f32) attributes {global_symbol = "scale"} {
      %A = tir.match_buffer %a : !tir.buffer<2xf32>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      tir.for %i = %c0 to %c2 {
        %x = tir.load %A[%i] : f32
        %y = tir.mul %x, %s : f32
        tir.store %y, %A[%i] : f32
      }
    }
    ```
    """

    name = "tir.func"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    param_names = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def()

    traits = traits_def(
        IsolatedFromAbove(), SymbolOpInterface(), NoTerminator(), FunctionLike()
    )

    def __init__(
        self,
        name: str | StringAttr,
        function_type: FunctionType | tuple[Sequence[Attribute], Sequence[Attribute]],
        body: Region | None = None,
        *,
        attributes: dict[str, Attribute] | None = None,
        param_names: Sequence[str] | None = None,
        visibility: StringAttr | None = None,
    ) -> None:
        if isinstance(function_type, tuple):
            function_type = FunctionType.from_lists(*function_type)
        if body is None:
            body = Region(Block(arg_types=function_type.inputs.data))
        super().__init__(
            properties={
                "sym_name": StringAttr(name) if isinstance(name, str) else name,
                "function_type": function_type,
                "sym_visibility": visibility,
                "param_names": None
                if param_names is None
                else ArrayAttr(StringAttr(n) for n in param_names),
            },
            attributes={} if attributes is None else dict(attributes),
            regions=[body],
        )

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """The parameters; empty for a declaration."""
        return () if self.is_declaration else tuple(self.body.block.args)

    @property
    def is_declaration(self) -> bool:
        """Whether the function has no body."""
        return not self.body.blocks

    @property
    def buffer_map(self) -> dict[BlockArgument, MatchBufferOp]:
        """The buffer that each handle parameter is matched to, in order of matching."""
        found: dict[BlockArgument, MatchBufferOp] = {}
        if not self.is_declaration:
            for op in self.body.block.ops:
                if isinstance(op, MatchBufferOp) and isinstance(op.param, BlockArgument):
                    found[op.param] = op
        return found

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        visibility = parser.parse_optional_visibility_keyword()
        name = parser.parse_symbol_name()
        inputs: list[Attribute] = []
        arguments: list[Parser.Argument] = []

        def parse_parameter() -> None:
            argument = parser.parse_optional_argument()
            if argument is None:
                inputs.append(parser.parse_type())
            else:
                arguments.append(argument)
                inputs.append(argument.type)

        position = parser.pos
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_parameter)
        if arguments and len(arguments) != len(inputs):
            parser.raise_error("either all parameters have names or none", position)
        outputs = _parse_results(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword(_OWN)
        # An absent body makes a declaration, an empty one a function without effect.
        body = parser.parse_optional_region(arguments)
        if body is None:
            body = Region()
        elif not body.blocks:
            body.add_block(Block())
        op = cls(name, (inputs, outputs), body, visibility=visibility)
        own: Mapping[str, Attribute] = {} if attributes is None else attributes.data
        for key, value in own.items():
            if key == "param_names":
                op.properties[key] = value
            else:
                op.attributes[key] = value
        return op

    def print(self, printer: Printer) -> None:
        attributes: dict[str, Attribute] = dict(self.attributes)
        if self.param_names is not None:
            attributes["param_names"] = self.param_names
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            attributes,
            reserved_attr_names=_OWN,
        )

    def verify_(self) -> None:
        for dtype in (*self.function_type.inputs, *self.function_type.outputs):
            if not is_expression_type(dtype):
                raise VerifyException(
                    f"tir.func @{self.sym_name.data}: parameters and results must be "
                    f"scalars, vectors, handles or pointers, got {dtype}"
                )
        if len(self.function_type.outputs) > 1:
            raise VerifyException(
                f"tir.func @{self.sym_name.data}: at most one result, got "
                f"{len(self.function_type.outputs)}"
            )
        verify_annotations(self, FUNCTION_ATTRIBUTES, self.attributes, "the attribute")
        if self.is_declaration:
            return
        if len(self.body.blocks) != 1:
            raise VerifyException(
                f"tir.func @{self.sym_name.data}: the body must be one block"
            )
        self._verify_parameters()
        verify_dominance(f"tir.func @{self.sym_name.data}", self)

    def _verify_parameters(self) -> None:
        inputs = self.function_type.inputs.data
        if tuple(arg.type for arg in self.args) != inputs:
            raise VerifyException(
                f"tir.func @{self.sym_name.data}: the body's arguments must be the "
                f"parameters {', '.join(map(str, inputs))}"
            )
        if self.param_names is not None and len(self.param_names) != len(inputs):
            raise VerifyException(
                f"tir.func @{self.sym_name.data}: param_names must name every parameter"
            )
        matched: set[BlockArgument] = set()
        for op in self.body.block.ops:
            if isinstance(op, MatchBufferOp) and isinstance(op.param, BlockArgument):
                if op.param in matched:
                    raise VerifyException(
                        f"tir.func @{self.sym_name.data}: parameter "
                        f"{op.param.index} is matched by more than one buffer"
                    )
                matched.add(op.param)


def _parse_results(parser: Parser) -> list[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    types = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_type
    )
    return [parser.parse_type()] if types is None else list(types)
