"""Leaves, tuples, casts: the values that no operator computes (docs/spec/relax-ir.md §3).

The assembly of the leaves is hand-written, since their result type is known from what
is printed before it and is not repeated, which the declarative format cannot express.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self, TypeAlias

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    i64,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
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
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects.relax.algebra import Check, base_check, is_base_of
from xdsl_tvm.dialects.relax.assembly import DefinedSymbols
from xdsl_tvm.dialects.relax.attributes import (
    DimAttr,
    DimsAttr,
    SymbolsAttr,
    parse_dim,
    parse_dims,
    print_dims,
)
from xdsl_tvm.dialects.relax.operators import InferredResultOp
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.dialects.relax.types import (
    PrimType,
    ShapeType,
    TupleType,
    definable_symbols,
    verify_type,
)

__all__ = [
    "AliasOp",
    "ConstantOp",
    "GetItemOp",
    "MatchCastOp",
    "PrimValueOp",
    "ShapeOp",
    "TupleOp",
]

ConstantValue: TypeAlias = DenseIntOrFPElementsAttr | DenseResourceAttr


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A tensor known at compile time. TVM's `Constant`.

    ```mlir
    %r = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """

    name = "relax.constant"

    value = prop_def(ConstantValue)
    result = result_def()

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: ConstantValue) -> None:
        super().__init__(properties={"value": value}, result_types=[value.get_type()])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = parser.parse_attribute()
        if not isa(value, ConstantValue):
            parser.raise_error("expected dense<…> or dense_resource<…>", start)
        op = cls(value)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        verify_type(self.result.type)
        if self.value.get_type() != self.result.type:
            raise VerifyException(
                f"{self.name}: a value of {self.value.get_type()} cannot make a "
                f"{self.result.type}"
            )


@irdl_op_definition
class ShapeOp(IRDLOperation):
    """A shape as a value, of constants and symbolic dimensions. TVM's `ShapeExpr`.

    ```mlir
    %r = relax.shape [4, 8 * 2]
    ```
    """

    name = "relax.shape"

    values = prop_def(DimsAttr)
    result = result_def(ShapeType)

    traits = traits_def(Pure())

    def __init__(self, values: Iterable[DimLike] | DimsAttr) -> None:
        if not isinstance(values, DimsAttr):
            values = DimsAttr.of(values)
        super().__init__(properties={"values": values}, result_types=[ShapeType(values)])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(DimsAttr(parse_dims(parser)))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_dims(printer, self.values.data)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if self.values.known is None:
            raise VerifyException(
                f"{self.name}: every dimension must be known, not {self.result.type}"
            )
        if self.result.type != ShapeType(self.values):
            raise VerifyException(
                f"{self.name}: result must be {ShapeType(self.values)}, "
                f"but {self.result.type} is declared"
            )


@irdl_op_definition
class PrimValueOp(IRDLOperation):
    """A scalar that is not a tensor: a symbolic integer or a number. TVM's `PrimValue`.

    ```mlir
    %r = relax.prim_value 4 : i64
    %f = relax.prim_value 2.5 : f32
    ```
    """

    name = "relax.prim_value"

    value = prop_def(DimAttr | FloatAttr)
    result = result_def(PrimType)

    traits = traits_def(Pure())

    def __init__(
        self, value: DimLike | DimAttr | FloatAttr, dtype: Attribute = i64
    ) -> None:
        if isinstance(value, FloatAttr):
            type_ = PrimType.of(value.type)
        else:
            value = value if isinstance(value, DimAttr) else DimAttr(Dim.of(value))
            type_ = PrimType.of(dtype, value.data)
        super().__init__(properties={"value": value}, result_types=[type_])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        # The sign is consumed here, since the parser of floats does so even where an
        # integer follows.
        is_negative = parser.parse_optional_punctuation("-") is not None
        number = parser.parse_optional_float(allow_negative=False)
        if number is None:
            dim = parse_dim(parser, is_negative)
            parser.parse_punctuation(":")
            op = cls(dim, parser.parse_type())
        else:
            parser.parse_punctuation(":")
            start = parser.pos
            dtype = parser.parse_type()
            if not isinstance(dtype, AnyFloat):
                parser.raise_error("a number with a point needs a float type", start)
            op = cls(FloatAttr(-number if is_negative else number, dtype))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if isinstance(self.value, DimAttr):
            printer.print_string(f"{self.value.data} : ")
            printer.print_attribute(self._type.dtype)
        else:
            printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)

    @property
    def _type(self) -> PrimType:
        type_ = self.result.type
        assert isinstance(type_, PrimType)
        return type_

    def verify_(self) -> None:
        type_ = self._type
        if isinstance(self.value, DimAttr):
            expected = PrimType.of(type_.dtype, self.value.data)
        else:
            expected = PrimType.of(self.value.type)
        if type_ != expected:
            raise VerifyException(
                f"{self.name}: result must be {expected}, but {type_} is declared"
            )


@irdl_op_definition
class TupleOp(IRDLOperation, HasFolderInterface):
    """Several values in one; it shares them, nothing is copied. TVM's `Tuple`.

    ```mlir
    %r = relax.tuple(%a, %b) : tensor<4xf32>, tensor<2xi32>
    ```
    """

    name = "relax.tuple"

    elements = var_operand_def()
    result = result_def(TupleType)

    traits = traits_def(Pure())

    def fold(self) -> tuple[SSAValue] | None:
        """The tuple that the elements are all the fields of, in order."""
        if not self.elements or not isinstance(
            first := self.elements[0].owner, GetItemOp
        ):
            return None
        whole = first.tuple_value
        is_whole = whole.type == self.result.type and all(
            isinstance(item := element.owner, GetItemOp)
            and item.tuple_value is whole
            and item.index.value.data == position
            for position, element in enumerate(self.elements)
        )
        return (whole,) if is_whole else None

    def __init__(self, elements: Sequence[SSAValue | Operation]) -> None:
        values = [SSAValue.get(element) for element in elements]
        super().__init__(
            operands=[values], result_types=[TupleType.of(v.type for v in values)]
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        values: Sequence[SSAValue] = ()
        if operands:
            start = parser.pos
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
            values = parser.resolve_operands(operands, types, start)
        op = cls(values)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.elements, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        if self.elements:
            printer.print_string(" : ")
            printer.print_list(self.elements.types, printer.print_attribute)

    def verify_(self) -> None:
        inferred = TupleType.of(self.elements.types)
        if self.result.type != inferred:
            raise VerifyException(
                f"{self.name}: result must be {inferred}, "
                f"but {self.result.type} is declared"
            )


@irdl_op_definition
class GetItemOp(InferredResultOp, HasFolderInterface):
    """One field of a tuple. TVM's `TupleGetItem`.

    ```mlir
    %r = relax.get_item %t[1] :
      !relax.tuple<tensor<4xf32>, tensor<2xi32>> -> tensor<2xi32>
    ```
    """

    name = "relax.get_item"

    tuple_value = operand_def(TupleType)
    index = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(Pure())

    assembly_format = (
        "$tuple_value `[` $index `]` attr-dict `:` type($tuple_value) `->` type($result)"
    )

    def fold(self) -> tuple[SSAValue] | None:
        """The element of the tuple."""
        whole = self.tuple_value.owner
        if not isinstance(whole, TupleOp):
            return None
        return (whole.elements[self.index.value.data],)

    def __init__(self, tuple_value: SSAValue | Operation, index: int) -> None:
        self._make([tuple_value], {"index": IntegerAttr(index, i64)})

    def infer_result_type(self) -> Attribute:
        """The type of the field."""
        type_, index = self.tuple_value.type, self.index.value.data
        if not isinstance(type_, TupleType):
            raise VerifyException(f"{self.name}: {type_} is no tuple")
        fields = type_.fields.data
        if not 0 <= index < len(fields):
            raise VerifyException(
                f"{self.name}: there is no field {index} in a tuple of {len(fields)}"
            )
        return fields[index]

    def verify_(self) -> None:
        inferred = self.infer_result_type()
        if self.result.type != inferred:
            raise VerifyException(
                f"{self.name}: result must be {inferred}, "
                f"but {self.result.type} is declared"
            )


@irdl_op_definition
class AliasOp(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """The same value under another name, and under a more general type if wanted.

    A binding `y = x` of TVM, which has no other form in SSA.

    ```mlir
    %r = relax.alias %a : tensor<4xf32> -> tensor<?xf32>
    ```
    """

    name = "relax.alias"

    value = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def fold(self) -> tuple[SSAValue] | None:
        """The value, where the type is its own."""
        return (self.value,) if self.value.type == self.result.type else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.relax.canonicalization import MergeAliases

        return (MergeAliases(),)

    def __init__(
        self, value: SSAValue | Operation, result_type: Attribute | None = None
    ) -> None:
        value = SSAValue.get(value)
        super().__init__(operands=[value], result_types=[result_type or value.type])

    def verify_(self) -> None:
        verify_type(self.result.type)
        if not is_base_of(self.result.type, self.value.type):
            raise VerifyException(
                f"{self.name}: {self.value.type} is not always {self.result.type}; "
                "use relax.match_cast to check at run time"
            )


@irdl_op_definition
class MatchCastOp(IRDLOperation):
    """The same value under a type that is checked at run time. TVM's `MatchCast`.

    Symbolic dimensions in `defines` get their values here and are visible from here to
    the end of the enclosing branch; all other dimensions of the result type are compared
    with the value's. A failed check stops the program, so the operation is kept even
    where its result is not used.

    ```mlir
    %r = relax.match_cast %a defines [k] :
      tensor<?x4xf32> -> tensor<?x4xf32, #relax.dims<[k, 4]>>
    ```
    """

    name = "relax.match_cast"

    value = operand_def()
    defines = opt_prop_def(SymbolsAttr)
    result = result_def()

    # The check may stop the program: it must not be dropped, merged or moved.
    traits = traits_def(MemoryWriteEffect())

    custom_directives = (DefinedSymbols,)
    assembly_format = (
        "$value custom<DefinedSymbols>($defines) attr-dict `:` type($value) `->`"
        " type($result)"
    )

    def __init__(
        self,
        value: SSAValue | Operation,
        result_type: Attribute,
        defines: Sequence[str] = (),
    ) -> None:
        super().__init__(
            operands=[value],
            result_types=[result_type],
            properties={"defines": SymbolsAttr(tuple(defines)) if defines else None},
        )

    @property
    def defined_symbols(self) -> tuple[str, ...]:
        """Names of the symbols that get their values here."""
        return () if self.defines is None else self.defines.data

    def verify_(self) -> None:
        verify_type(self.result.type)
        if base_check(self.value.type, self.result.type) == Check.IMPOSSIBLE:
            raise VerifyException(
                f"{self.name}: {self.value.type} can never be {self.result.type}"
            )
        definable = definable_symbols(self.result.type)
        for symbol in self.defined_symbols:
            if symbol not in definable:
                raise VerifyException(
                    f"{self.name}: '{symbol}' is no dimension of {self.result.type} "
                    "by itself, so it is not defined here"
                )
