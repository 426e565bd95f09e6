"""Statements: control flow, bindings, and scopes with attributes.

docs/spec/tir-ir.md §6.

All regions have one block and end where it ends. Bindings, allocations and asserts are
plain ops that hold for the rest of their block; `tir.scope` bounds them where they must
end earlier.
"""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir.annotations import FOR_ANNOTATIONS, verify_dictionary
from xdsl_tvm.dialects.tir.attr_keys import problem_with
from xdsl_tvm.dialects.tir.attributes import (
    LetKind,
    LetKindAttr,
)
from xdsl_tvm.dialects.tir.dtype_checks import require_expression
from xdsl_tvm.dialects.tir.effects import MarkerEffect, UpdateEffect
from xdsl_tvm.dialects.tir.loops import optional_string, verify_thread_tag
from xdsl_tvm.dialects.tir.storage_scope import AXES, ThreadAxis
from xdsl_tvm.dialects.tir.types import PtrType, is_handle


@irdl_op_definition
class IfOp(IRDLOperation):
    """A conditional statement, `IfThenElse`; the condition is a scalar.

    Without `else` there is nothing to do where the condition does not hold.

    ```mlir
    // @abs([-3]) -> [3]
    tir.func @abs(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<1xi32>
      %c0 = tir.const 0 : i32
      %x = tir.load %A[%c0] : i32
      %p = tir.cmp lt %x, %c0 : i32
      tir.if %p {
        %y = tir.sub %c0, %x : i32
        tir.store %y, %A[%c0] : i32
      } else {
        tir.evaluate
      }
    }
    ```
    """

    name = "tir.if"

    condition = operand_def(i1)
    then_region = region_def("single_block")
    else_region = opt_region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        condition: SSAValue | Operation,
        then_region: Region | None = None,
        else_region: Region | None = None,
    ) -> None:
        super().__init__(
            operands=[condition],
            regions=[
                assembly.region_of(then_region, ()),
                [] if else_region is None else [else_region],
            ],
        )

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        condition = assembly.parse_value(parser)
        then_region = assembly.parse_body(parser)
        else_region = None
        if parser.parse_optional_keyword("else"):
            else_region = assembly.parse_body(parser)
        op = cls(condition, then_region, else_region)
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        assembly.print_body(printer, self.then_region)
        if self.else_region is not None:
            printer.print_string(" else")
            assembly.print_body(printer, self.else_region)
        assembly.print_attributes(printer, self)


class BodyOp(IRDLOperation, ABC):
    """An op that is a body and nothing else."""

    body = region_def("single_block")

    def __init__(self, body: Region | None = None) -> None:
        super().__init__(regions=[assembly.region_of(body, ())])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(assembly.parse_body(parser))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_body(printer, self.body)
        assembly.print_attributes(printer, self)


@irdl_op_definition
class ScopeOp(BodyOp):
    """Bounds the bindings and allocations inside it; no other meaning.

    TVM has no node for it: there, such statements hold the ones they are in force for.

    ```mlir
    // @f([1, 2], 3) -> [3, 2]
    tir.func @f(%a: !tir.handle, %x: i32) {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c0 = tir.const 0 : i32
      tir.scope {
        %y = tir.let "y" %x : i32
        tir.store %y, %A[%c0] : i32
      }
    }
    ```
    """

    name = "tir.scope"

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())


@irdl_op_definition
class AttrOp(IRDLOperation):
    """A generic annotation around statements, `AttrStmt` (docs/spec/tir-ir.md §11).

    The key says what it means, and `ATTR_KEYS` what node and value it takes; other keys
    are kept. The node is a value or an attribute, the value likewise. Thread axes have
    `tir.launch_thread`; attributes whose node is defined inside them are annotations of
    the op they wrap.

    ```mlir
    // @f([1, 2], 3) -> [3, 2]
    tir.func @f(%a: !tir.handle, %x: i32) {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c0 = tir.const 0 : i32
      tir.attr "device_id" ("default") = %c0 {
        tir.attr "pragma_hint" (%c0) = "fast" {
          tir.store %x, %A[%c0] : i32
        }
      }
    }
    ```
    """

    name = "tir.attr"

    key = prop_def(StringAttr)
    node = opt_operand_def()
    value = opt_operand_def()
    node_attr = opt_prop_def()
    value_attr = opt_prop_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        key: str | StringAttr,
        node: SSAValue | Attribute,
        value: SSAValue | Attribute,
        body: Region | None = None,
    ) -> None:
        node_value, node_attr = _value_or_attribute(node)
        value_value, value_attr = _value_or_attribute(value)
        super().__init__(
            operands=[node_value, value_value],
            properties={
                "key": StringAttr(key) if isinstance(key, str) else key,
                "node_attr": node_attr,
                "value_attr": value_attr,
            },
            regions=[assembly.region_of(body, ())],
        )

    @classmethod
    def parse(cls, parser: Parser) -> AttrOp:
        key = parser.parse_str_literal("key")
        parser.parse_punctuation("(")
        node = _parse_value_or_attribute(parser)
        parser.parse_punctuation(")")
        parser.parse_punctuation("=")
        value = _parse_value_or_attribute(parser)
        op = cls(key, node, value, assembly.parse_body(parser))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_optional_name(printer, self.key)
        printer.print_string(" (")
        _print_value_or_attribute(printer, self.node, self.node_attr)
        printer.print_string(") = ")
        _print_value_or_attribute(printer, self.value, self.value_attr)
        assembly.print_body(printer, self.body)
        assembly.print_attributes(printer, self, ("key", "node_attr", "value_attr"))

    def verify_(self) -> None:
        for label, value, attribute in (
            ("node", self.node, self.node_attr),
            ("value", self.value, self.value_attr),
        ):
            if (value is None) == (attribute is None):
                raise VerifyException(
                    f"tir.attr: the {label} must be either an operand or an attribute"
                )
        problem = problem_with(self.key.data, self.node_item, self.value_item)
        if problem is not None:
            raise VerifyException(f"tir.attr: {problem}")

    @property
    def node_item(self) -> SSAValue | Attribute:
        """The node, whichever it is."""
        return self.properties["node_attr"] if self.node is None else self.node

    @property
    def value_item(self) -> SSAValue | Attribute:
        """The value, whichever it is."""
        return self.properties["value_attr"] if self.value is None else self.value


def _value_or_attribute(
    item: SSAValue | Attribute,
) -> tuple[SSAValue | None, Attribute | None]:
    return (item, None) if isinstance(item, SSAValue) else (None, item)


def _parse_value_or_attribute(parser: Parser) -> SSAValue | Attribute:
    value = assembly.parse_optional_value(parser)
    return parser.parse_attribute() if value is None else value


def _print_value_or_attribute(
    printer: Printer, value: SSAValue | None, attribute: Attribute | None
) -> None:
    if value is not None:
        printer.print_operand(value)
    elif attribute is not None:
        printer.print_attribute(attribute)


@irdl_op_definition
class LaunchThreadOp(IRDLOperation):
    """Runs its body once per thread of an axis: `AttrStmt` `thread_extent`.

    Inside, the variable is the index on the axis `tag`, in `[0, extent)`. With `virtual`
    it is the key `virtual_thread`: the body is replicated instead. Openings of one axis
    by the same TVM variable share `env`. Annotations hold `pragma_*` entries, as on
    `tir.for`.

    ```mlir
    // @f([[0, 0], [0, 0]]) -> [[0, 1], [0, 1]]
    tir.func @f(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<2x2xi32>
      %c2 = tir.const 2 : i32
      tir.launch_thread %tx = "threadIdx.x" to %c2 {
        tir.launch_thread %vx = "vthread.x" to %c2 virtual {
          tir.store %tx, %A[%vx, %tx] : i32
        }
      }
    }
    ```
    """

    name = "tir.launch_thread"

    extent = operand_def(IntegerType)
    tag = prop_def(StringAttr)
    virtual = opt_prop_def(UnitAttr)
    env = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        tag: str | StringAttr,
        extent: SSAValue | Operation,
        body: Region | None = None,
        *,
        virtual: bool = False,
        env: str | StringAttr | None = None,
        annotations: DictionaryAttr | None = None,
    ) -> None:
        extent = SSAValue.get(extent)
        super().__init__(
            operands=[extent],
            properties={
                "tag": StringAttr(tag) if isinstance(tag, str) else tag,
                "virtual": UnitAttr() if virtual else None,
                "env": optional_string(env),
                "annotations": annotations,
            },
            regions=[assembly.region_of(body, (extent.type,))],
        )

    @property
    def thread_var(self) -> BlockArgument:
        """The index on the axis, an argument of the body."""
        return self.body.block.args[0]

    @property
    def axis(self) -> ThreadAxis:
        """The thread axis of the tag."""
        return ThreadAxis.parse(self.tag.data)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchThreadOp:
        thread_var = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        tag = parser.parse_str_literal("thread tag")
        parser.parse_keyword("to")
        extent = assembly.parse_value(parser)
        virtual = parser.parse_optional_keyword("virtual") is not None
        env = parser.parse_str_literal() if parser.parse_optional_keyword("env") else None
        annotations = assembly.parse_optional_dictionary(parser, "annotations")
        body = assembly.parse_body(parser, [thread_var.resolve(extent.type)])
        op = cls(tag, extent, body, virtual=virtual, env=env, annotations=annotations)
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.thread_var)
        printer.print_string(" = ")
        printer.print_string_literal(self.tag.data)
        printer.print_string(" to ")
        printer.print_operand(self.extent)
        if self.virtual is not None:
            printer.print_string(" virtual")
        if self.env is not None:
            printer.print_string(" env")
            assembly.print_optional_name(printer, self.env)
        assembly.print_optional_dictionary(printer, "annotations", self.annotations)
        assembly.print_body(printer, self.body)
        assembly.print_attributes(printer, self, ("tag", "virtual", "env", "annotations"))

    def verify_(self) -> None:
        if [arg.type for arg in self.body.block.args] != [self.extent.type]:
            raise VerifyException(
                "tir.launch_thread: the body must have one argument of type "
                f"{self.extent.type}"
            )
        verify_thread_tag(self, self.tag)
        if self.virtual is not None and not self.axis.is_virtual:
            raise VerifyException(
                f"tir.launch_thread: {self.tag} is no virtual thread axis; those are "
                f"{', '.join(tag for tag, axis in AXES.items() if axis.is_virtual)}"
            )
        verify_dictionary(self, FOR_ANNOTATIONS, self.annotations)


@irdl_op_definition
class LetOp(IRDLOperation):
    """A named binding, `LetStmt`, or `Let` where it is marked `expr`.

    The value is evaluated once, here. The result has the type of the value, or is a
    typed pointer bound to a handle, as in
    `tir.let "p" %h : !tir.handle -> !tir.ptr<f32>`. Stock passes neither merge nor drop
    it.

    ```mlir
    // @square(3) = 16
    tir.func @square(%x: i32) -> i32 {
      %c1 = tir.const 1 : i32
      %0 = tir.add %x, %c1 : i32
      %y = tir.let "y" %0 : i32
      %z = tir.mul %y, %y : i32
      tir.ret %z : i32
    }
    ```
    """

    name = "tir.let"

    value = operand_def()
    kind = prop_def(LetKindAttr)
    var_name = opt_prop_def(StringAttr, prop_name="name")
    result = result_def()

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        value: SSAValue | Operation,
        *,
        name: str | StringAttr | None = None,
        kind: LetKind = LetKind.STMT,
        result_type: Attribute | None = None,
    ) -> None:
        value = SSAValue.get(value)
        super().__init__(
            operands=[value],
            properties={"kind": LetKindAttr(kind), "name": optional_string(name)},
            result_types=[value.type if result_type is None else result_type],
        )

    @classmethod
    def parse(cls, parser: Parser) -> LetOp:
        is_expr = parser.parse_optional_keyword("expr") is not None
        name = assembly.parse_optional_name(parser)
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value_type = parser.parse_type()
        result_type = None
        if parser.parse_optional_punctuation("->") is not None:
            result_type = parser.parse_type()
        op = cls(
            parser.resolve_operand(value, value_type),
            name=name,
            kind=LetKind.EXPR if is_expr else LetKind.STMT,
            result_type=result_type,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        if self.kind.data is LetKind.EXPR:
            printer.print_string(" expr")
        assembly.print_optional_name(printer, self.var_name)
        printer.print_string(" ")
        printer.print_operand(self.value)
        assembly.print_attributes(printer, self, ("kind", "name"))
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        if self.result.type != self.value.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        require_expression(self, self.value.type)
        if self.value.type == self.result.type:
            return
        if not (is_handle(self.value.type) and isinstance(self.result.type, PtrType)):
            raise VerifyException(
                f"tir.let: a value of type {self.value.type} cannot be bound as "
                f"{self.result.type}"
            )


@irdl_op_definition
class AssertOp(IRDLOperation):
    """States that a condition holds for the rest of the block, `AssertStmt`.

    On the CPU a failure makes the function fail with the message; on a device it is an
    assumption. The message is a string, or an `i32` operand. Where that is a call
    `tir.call "call_pure_extern"(%name, %text, %n…)` with the name `tvm_assert_message`,
    the message is the text, with the integers `%n…` in the place of each `{}`.

    ```mlir
    // @f(1) = 1
    // @f(0) fails: n must be positive
    tir.func @f(%n: i32) -> i32 {
      %c0 = tir.const 0 : i32
      %p = tir.cmp gt %n, %c0 : i32
      tir.assert %p, "n must be positive"
      tir.ret %n : i32
    }
    ```
    """

    name = "tir.assert"

    condition = operand_def(i1)
    message_value = opt_operand_def()
    message = opt_prop_def(StringAttr)

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        condition: SSAValue | Operation,
        message: str | StringAttr | SSAValue,
    ) -> None:
        is_value = isinstance(message, SSAValue)
        super().__init__(
            operands=[condition, message if is_value else None],
            properties={
                "message": None if is_value else optional_string(message),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> AssertOp:
        condition = assembly.parse_value(parser)
        parser.parse_punctuation(",")
        message = parser.parse_optional_str_literal()
        op = cls(condition, assembly.parse_value(parser) if message is None else message)
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        printer.print_string(", ")
        if self.message is not None:
            printer.print_string_literal(self.message.data)
        elif self.message_value is not None:
            printer.print_operand(self.message_value)
        assembly.print_attributes(printer, self, ("message",))

    def verify_(self) -> None:
        if (self.message is None) == (self.message_value is None):
            raise VerifyException(
                "tir.assert: the message must be either a string or an operand"
            )
        if self.message_value is not None and self.message_value.type != i32:
            raise VerifyException(
                "tir.assert: a message that is an operand must be an i32, got "
                f"{self.message_value.type}"
            )


class _OptionalValueOp(IRDLOperation, ABC):
    """An op on one value or none."""

    value = opt_operand_def()

    def __init__(self, value: SSAValue | Operation | None = None) -> None:
        super().__init__(operands=[value])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = None
        if not assembly.at_next_op(parser):
            value = parser.parse_optional_unresolved_operand()
        if value is None:
            op = cls()
        else:
            parser.parse_punctuation(":")
            op = cls(parser.resolve_operand(value, parser.parse_type()))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        if self.value is not None:
            printer.print_string(" ")
            printer.print_operand(self.value)
            printer.print_string(" : ")
            printer.print_attribute(self.value.type)
        assembly.print_attributes(printer, self)


@irdl_op_definition
class EvaluateOp(_OptionalValueOp):
    """Evaluates an expression and discards it, `Evaluate`; without a value, the no-op.

    ```mlir
    // @f(0) = 0
    // @f(1) fails: an integer is divided by zero
    tir.func @f(%x: i32) -> i32 {
      %c1 = tir.const 1 : i32
      %y = tir.sub %x, %c1 : i32
      %z = tir.div %x, %y : i32
      tir.evaluate %z : i32
      tir.evaluate
      tir.ret %x : i32
    }
    ```
    """

    name = "tir.evaluate"

    traits = traits_def(MarkerEffect())


@irdl_op_definition
class RetOp(_OptionalValueOp):
    """Returns from the function, the call `ret`.

    It does not end its block. A thread of a kernel returns no value.

    ```mlir
    // @first([5, 6]) = 5
    tir.func @first(%a: !tir.handle) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c0 = tir.const 0 : i32
      %x = tir.load %A[%c0] : i32
      tir.ret %x : i32
    }
    ```
    """

    name = "tir.ret"

    traits = traits_def(UpdateEffect())
