"""Loops: `tir.for` and `tir.while` (docs/spec/tir-ir.md §6)."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerType,
    StringAttr,
    i1,
)
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.quick_operation import QuickOperation, value_of
from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir._ranges import parse_range, print_range
from xdsl_tvm.dialects.tir.annotations import FOR_ANNOTATIONS, verify_dictionary
from xdsl_tvm.dialects.tir.attributes import (
    ForKind,
    ForKindAttr,
)
from xdsl_tvm.dialects.tir.expressions import YieldOp
from xdsl_tvm.dialects.tir.storage_scope import ThreadAxis
from xdsl_tvm.dialects.tir.types import string_attr

_KINDS = {kind: ForKindAttr(kind) for kind in ForKind}


@irdl_op_definition
class ForOp(QuickOperation):
    """A loop over a half-open range, `For`.

    It holds minimum and extent, both evaluated once before the loop, and prints them as a
    half-open range: `%c0 to %n` from the constant 0, `%lo to %lo + %n` else. An extent of
    zero or less means no iteration. The loop variable has the type of the minimum.

    The kind is serial where none is printed. `thread_binding` names the thread axis the
    loop variable is the index on. Annotations hold TVM's loop annotations, and `pragma_*`
    entries for the attribute scopes TVM would put around the loop.

    ```mlir
    // @f([[0, 0, 0], [0, 0, 0]], 2) -> [[0, 1, 2], [0, 1, 2]]
    tir.func @f(%a: !tir.handle, %n: i32) {
      %A = tir.match_buffer %a : !tir.buffer<2x3xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %c2 = tir.const 2 : i32
      tir.for %i = %c0 to %c2 parallel annotations {pragma_x = 1 : i32} {
        tir.for "j" %j = %c1 to %c1 + %n {
          tir.store %j, %A[%i, %j] : i32
        }
      }
    }
    ```
    """

    name = "tir.for"

    min = operand_def(IntegerType)
    extent = operand_def(IntegerType)
    kind = prop_def(ForKindAttr)
    thread_tag = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    loop_name = opt_prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        min: SSAValue | Operation,
        extent: SSAValue | Operation,
        body: Region | None = None,
        *,
        kind: ForKind = ForKind.SERIAL,
        thread_tag: str | StringAttr | None = None,
        annotations: DictionaryAttr | None = None,
        name: str | StringAttr | None = None,
    ) -> None:
        minimum = value_of(min)
        super().__init__(
            operands=[minimum, extent],
            properties={
                "kind": _KINDS[kind],
                "thread_tag": optional_string(thread_tag),
                "annotations": annotations,
                "loop_name": optional_string(name),
            },
            regions=[assembly.region_of(body, (minimum.type,))],
        )

    @property
    def loop_var(self) -> BlockArgument:
        """The loop variable, an argument of the body."""
        return self.body.block.args[0]

    @property
    def thread_axis(self) -> ThreadAxis | None:
        """The thread axis that the loop is bound to, if it is."""
        return None if self.thread_tag is None else ThreadAxis.parse(self.thread_tag.data)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        name = assembly.parse_optional_name(parser)
        loop_var = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        minimum, extent = parse_range(parser)
        kinds = (
            kind for kind in ForKind if parser.parse_optional_keyword(f"{kind.value}")
        )
        kind = next(kinds, ForKind.SERIAL)
        tag = None
        if kind is ForKind.THREAD_BINDING:
            tag = parser.parse_str_literal("thread tag")
        annotations = assembly.parse_optional_dictionary(parser, "annotations")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = assembly.parse_body(parser, [loop_var.resolve(minimum.type)])
        op = cls(
            minimum,
            extent,
            body,
            kind=kind,
            thread_tag=tag,
            annotations=annotations,
            name=name,
        )
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_optional_name(printer, self.loop_name)
        printer.print_string(" ")
        printer.print_ssa_value(self.loop_var)
        printer.print_string(" = ")
        print_range(printer, self.min, self.extent)
        if (kind := self.kind.data) is not ForKind.SERIAL:
            printer.print_string(f" {kind.value}")
        assembly.print_optional_name(printer, self.thread_tag)
        assembly.print_optional_dictionary(printer, "annotations", self.annotations)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        assembly.print_body(printer, self.body)

    def verify_(self) -> None:
        if self.min.type != self.extent.type:
            raise VerifyException(
                f"tir.for: minimum and extent must have one type, got {self.min.type} "
                f"and {self.extent.type}"
            )
        args = self.body.block.args
        if [arg.type for arg in args] != [self.min.type]:
            raise VerifyException(
                f"tir.for: the body must have one argument of type {self.min.type}"
            )
        bound = self.kind.data is ForKind.THREAD_BINDING
        if bound != (self.thread_tag is not None):
            raise VerifyException(
                "tir.for: a thread tag is given exactly for loops of kind thread_binding"
            )
        if self.thread_tag is not None:
            verify_thread_tag(self, self.thread_tag)
        verify_dictionary(self, FOR_ANNOTATIONS, self.annotations)


def verify_thread_tag(op: Operation, tag: StringAttr) -> None:
    try:
        ThreadAxis.parse(tag.data)
    except ValueError as error:
        raise VerifyException(f"{op.name}: {error}") from None


def optional_string(value: str | StringAttr | None) -> StringAttr | None:
    return string_attr(value) if isinstance(value, str) else value


@irdl_op_definition
class WhileOp(IRDLOperation):
    """A loop that runs while a condition holds, `While`.

    The first region computes the condition, a scalar, before every iteration. The
    interpreter gives up after a number of iterations, its `step_limit`.

    ```mlir
    // @count([0], 3) -> [3]
    tir.func @count(%a: !tir.handle, %n: i32) {
      %A = tir.match_buffer %a : !tir.buffer<1xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      tir.while {
        %x = tir.load %A[%c0] : i32
        %p = tir.cmp lt %x, %n : i32
        tir.yield %p : i1
      } do {
        %y = tir.load %A[%c0] : i32
        %z = tir.add %y, %c1 : i32
        tir.store %z, %A[%c0] : i32
      }
    }
    ```
    """

    name = "tir.while"

    condition = region_def("single_block")
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self, condition: Region | None = None, body: Region | None = None
    ) -> None:
        super().__init__(
            regions=[
                assembly.region_of(condition, ()),
                assembly.region_of(body, ()),
            ]
        )

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        condition = assembly.parse_body(parser)
        parser.parse_keyword("do")
        op = cls(condition, assembly.parse_body(parser))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_body(printer, self.condition)
        printer.print_string(" do")
        assembly.print_body(printer, self.body)
        assembly.print_attributes(printer, self)

    def verify_(self) -> None:
        last = self.condition.block.last_op
        is_yield = isinstance(last, YieldOp)
        if not is_yield or [value.type for value in last.values] != [i1]:
            raise VerifyException(
                "tir.while: the condition region must end in a tir.yield of an i1"
            )
