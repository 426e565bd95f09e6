"""Vectors: ramps, broadcasts and shuffles of lanes (docs/spec/tir-ir.md §3)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.interfaces import (
    HasCanonicalizationPatternsInterface,
    HasFolderInterface,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.constants import ConstOp, constant_value
from xdsl_tvm.dialects.tir.dtype_checks import require_expression
from xdsl_tvm.dialects.tir.folding import Literal
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_custom,
    is_integer,
    is_scalable,
    is_scalar,
    lanes_of,
    with_lanes,
)


@irdl_op_definition
class RampOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """The vector `base + lane * stride`, `Ramp`; the result type tells the lanes.

    The operands are scalars of one type.

    ```mlir
    // @f(5, 2) = [5, 7, 9, 11]
    tir.func @f(%base: i32, %stride: i32) -> vector<4xi32> {
      %v = tir.ramp %base, %stride : vector<4xi32>
      tir.ret %v : vector<4xi32>
    }
    ```
    """

    name = "tir.ramp"

    base = operand_def()
    stride = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        base: SSAValue | Operation,
        stride: SSAValue | Operation,
        result_type: Attribute,
    ) -> None:
        super().__init__(operands=[base, stride], result_types=[result_type])

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # The patterns are of these classes.
        from xdsl_tvm.dialects.tir.canonicalization import RampWithoutStride

        return (RampWithoutStride(),)

    @classmethod
    def parse(cls, parser: Parser) -> RampOp:
        base = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        stride = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        element = element_of(result_type)
        op = cls(
            parser.resolve_operand(base, element),
            parser.resolve_operand(stride, element),
            result_type,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.base)
        printer.print_string(", ")
        printer.print_operand(self.stride)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        _verify_vector_of(self, self.base.type, self.result.type)
        if self.stride.type != self.base.type:
            raise VerifyException(
                f"tir.ramp: base and stride must have one type, got {self.base.type} and "
                f"{self.stride.type}"
            )


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """A vector of equal lanes, `Broadcast`; the result type tells the lanes.

    The operand is a scalar.

    ```mlir
    // @f(1.5) = [1.5, 1.5, 1.5, 1.5]
    tir.func @f(%x: f32) -> vector<4xf32> {
      %v = tir.broadcast %x : vector<4xf32>
      tir.ret %v : vector<4xf32>
    }
    ```
    """

    name = "tir.broadcast"

    value = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation, result_type: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result_type])

    @classmethod
    def parse(cls, parser: Parser) -> BroadcastOp:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        op = cls(parser.resolve_operand(value, element_of(result_type)), result_type)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        _verify_vector_of(self, self.value.type, self.result.type)


def literal_of(value: SSAValue) -> Literal | None:
    """The number that a value is, or that all lanes of it are; None where unknown.

    None also for constants of custom dtypes, whose arithmetic is user-defined.
    """
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        owner = owner.value.owner
    if not isinstance(owner, ConstOp) or is_custom(owner.result.type):
        return None
    return owner.literal


def _verify_vector_of(op: Operation, element: Attribute, vector: Attribute) -> None:
    require_expression(op, vector)
    if not is_scalar(element):
        raise VerifyException(f"{op.name}: operands must be scalars, got {element}")
    if lanes_of(vector) == 1 and not is_scalable(vector):
        raise VerifyException(
            f"{op.name}: the result must be a vector of 2 lanes or more, got {vector}"
        )
    if element_of(vector) != element:
        raise VerifyException(
            f"{op.name}: operands of type {element} for a result of type {vector}"
        )


@irdl_op_definition
class ShuffleOp(IRDLOperation, HasFolderInterface):
    """Lanes picked from the concatenation of vectors, `Shuffle`.

    Result lane `i` is the lane of the concatenation that index `i` names, counted from
    0. One index gives a scalar. The vectors have one element type and a fixed number of
    lanes, the indices are integers.

    ```mlir
    // @f([1, 2], [3, 4]) = [4, 1]
    tir.func @f(%v: vector<2xi32>, %w: vector<2xi32>) -> vector<2xi32> {
      %c0 = tir.const 0 : i32
      %c3 = tir.const 3 : i32
      %z = tir.shuffle [%v, %w] [%c3, %c0] : vector<2xi32>
      tir.ret %z : vector<2xi32>
    }
    ```
    """

    name = "tir.shuffle"

    vectors = var_operand_def()
    indices = var_operand_def()
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        vectors: Sequence[SSAValue | Operation],
        indices: Sequence[SSAValue | Operation],
        result_type: Attribute,
    ) -> None:
        super().__init__(operands=[vectors, indices], result_types=[result_type])

    def fold(self) -> tuple[SSAValue] | None:
        if len(self.vectors) != 1:
            return None
        vector = self.vectors[0]
        if vector.type == self.result.type:
            lanes = [constant_value(index) for index in self.indices]
            return (vector,) if lanes == list(range(len(lanes))) else None
        splat = vector.owner
        if isinstance(splat, BroadcastOp) and is_scalar(self.result.type):
            return (splat.value,)
        return None

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        vectors = assembly.parse_operands(parser)
        indices = assembly.parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(vectors, indices, parser.parse_type())
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        assembly.print_operands(printer, self.vectors)
        printer.print_string(" ")
        assembly.print_operands(printer, self.indices)
        assembly.print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if not self.vectors or not self.indices:
            raise VerifyException("tir.shuffle: needs a vector and an index at least")
        element = element_of(self.vectors[0].type)
        for vector in self.vectors:
            if element_of(vector.type) != element or is_scalable(vector.type):
                raise VerifyException(
                    "tir.shuffle: vectors must have fixed lanes of one element type, "
                    f"got {vector.type} beside {element}"
                )
        if not all(is_integer(index.type) for index in self.indices):
            raise VerifyException("tir.shuffle: indices must be integers")
        expected = with_lanes(element, len(self.indices))
        if self.result.type != expected:
            raise VerifyException(
                f"tir.shuffle: the result must be {expected}, got {self.result.type}"
            )
