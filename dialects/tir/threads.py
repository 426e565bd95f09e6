"""Builtins whose operands are no plain values: regions of memory, places, combiners.

They are the calls that threads of a block and tensor intrinsics are written with (
docs/spec/tir-builtins.md §3 and §5). All other builtins are a `tir.call`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    i1,
    i8,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryEffectKind, Pure, RecursiveMemoryEffect, get_effects
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir._ranges import parse_range, print_range
from xdsl_tvm.dialects.tir.accesses import (
    accessed_type,
    parse_buffer,
    print_access,
)
from xdsl_tvm.dialects.tir.attributes import AccessMode, AccessModeAttr
from xdsl_tvm.dialects.tir.buffers import buffer_definition
from xdsl_tvm.dialects.tir.constants import constant_value
from xdsl_tvm.dialects.tir.effects import UpdateEffect
from xdsl_tvm.dialects.tir.expressions import YieldOp
from xdsl_tvm.dialects.tir.types import (
    BufferType,
    PtrType,
    ReducerType,
    is_handle,
    is_integer_type,
    is_scalar,
    is_storable,
)

Identity: TypeAlias = IntegerAttr[IntegerType] | FloatAttr[AnyFloat]
"""The neutral element of a reduction."""


@irdl_op_definition
class AccessPtrOp(IRDLOperation):
    """A pointer into memory with the region it is used for, the call `tvm_access_ptr`.

    It points at element `offset` of `data`, and what it is passed to reads, writes or
    does both to the elements of the half-open range `[offset, offset + extent)`; the
    range prints like that of `tir.for`. Elements are counted in the element type of the
    result, TVM's `type_annotation`, which may differ from that of `data`. `data` is a
    pointer, offset and extent are scalar integers.

    ```mlir
    // @f([1, 2, 3, 4]) = 3
    tir.func @f(%p: !tir.ptr<i32>) -> i32 {
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      %q = tir.access_ptr r %p[%c2 to %c2 + %c2] : !tir.ptr<i32>
      %V = tir.decl_buffer %q : !tir.buffer<2xi32>
      %x = tir.load %V[%c0] : i32
      tir.ret %x : i32
    }
    ```
    """

    name = "tir.access_ptr"

    data = operand_def()
    offset = operand_def()
    extent = operand_def()
    mode = prop_def(AccessModeAttr)
    result = result_def(PtrType)

    traits = traits_def(Pure())

    def __init__(
        self,
        data: SSAValue | Operation,
        offset: SSAValue | Operation,
        extent: SSAValue | Operation,
        mode: AccessMode,
        result_type: PtrType,
    ) -> None:
        super().__init__(
            operands=[data, offset, extent],
            properties={"mode": AccessModeAttr(mode)},
            result_types=[result_type],
        )

    @property
    def element_type(self) -> Attribute:
        """The type whose elements offset and extent count."""
        return self.result.type.element_type

    @classmethod
    def parse(cls, parser: Parser) -> AccessPtrOp:
        mode = parser.parse_str_enum(AccessMode)
        data = assembly.parse_value(parser)
        with parser.in_square_brackets():
            offset, extent = parse_range(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(data, offset, extent, mode, cast(PtrType, parser.parse_type()))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data.value} ")
        printer.print_operand(self.data)
        with printer.in_square_brackets():
            print_range(printer, self.offset, self.extent)
        assembly.print_attributes(printer, self, ("mode",))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        data, result = self.data.type, self.result.type
        if not is_handle(data):
            raise VerifyException(
                f"tir.access_ptr: the data must be a pointer, got {data}; take the "
                "tir.data of a buffer"
            )
        for label, value in (("offset", self.offset), ("extent", self.extent)):
            if not is_integer_type(value.type):
                raise VerifyException(
                    f"tir.access_ptr: the {label} must be a scalar integer, got "
                    f"{value.type}"
                )
        if not is_storable(result.element_type):
            raise VerifyException(
                "tir.access_ptr: offset and extent count elements of the result, and "
                f"{result.element_type} is no type of an element"
            )
        if isinstance(data, PtrType) and data.scope != result.scope:
            raise VerifyException(
                f"tir.access_ptr: data of type {data} for a result of type {result}; "
                "both must be of one scope"
            )


class WrittenElement(NamedTuple):
    """An element of a buffer that an op writes."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...]


@irdl_op_definition
class ThreadAllreduceOp(IRDLOperation):
    """Reduces values over threads, the call `tvm_thread_allreduce`.

    The threads of a block that differ only along the axes listed after `over`, thread
    variables or the constant 0 for an axis of extent 1, contribute the sources. They are
    combined by the `tir.reducer` of the innermost `tir.attr "reduce_scope"` around the
    op, and each of these threads stores the results in the elements of `into`. Threads
    for which the condition does not hold contribute the identity; without one all do.
    A source of type `i1` may go into an element of type `i8`, where bools are stored so.
    Several values are written `[%x, %k] into [%R[%c0], %K[%c0]] over [%tx, %ty]`. The
    interpreter takes results in local and in shared memory.

    ```mlir
    // @sum([1, 2, 3, 4], 3) -> [6, 6, 6, 6]
    tir.func @sum(%a: !tir.handle, %n: i32) {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %c0 = tir.const 0 : i32
      %c4 = tir.const 4 : i32
      %r = tir.reducer (%x : i32, %y : i32) identity [0 : i32] {
        %z = tir.add %x, %y : i32
        tir.yield %z : i32
      }
      tir.launch_thread %t = "threadIdx.x" to %c4 {
        %R = tir.alloc_buffer "R" : !tir.buffer<1xi32, "local">
        %v = tir.load %A[%t] : i32
        %p = tir.cmp lt %t, %n : i32
        tir.attr "reduce_scope" (%r) = 0 : i32 {
          tir.thread_allreduce [%v] if %p into [%R[%c0]] over [%t]
        }
        %w = tir.load %R[%c0] : i32
        tir.store %w, %A[%t] : i32
      }
    }
    ```
    """

    name = "tir.thread_allreduce"

    sources = var_operand_def()
    condition = opt_operand_def(i1)
    buffers = var_operand_def(BufferType)
    indices = var_operand_def()
    threads = var_operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(UpdateEffect())

    def __init__(
        self,
        sources: Sequence[SSAValue | Operation],
        places: Sequence[tuple[SSAValue, Sequence[SSAValue]]],
        threads: Sequence[SSAValue | Operation],
        condition: SSAValue | Operation | None = None,
    ) -> None:
        super().__init__(
            operands=[
                sources,
                condition,
                [buffer for buffer, _ in places],
                [index for _, indices in places for index in indices],
                threads,
            ]
        )

    @property
    def places(self) -> tuple[WrittenElement, ...]:
        """The elements that get the results, one for each source."""
        indices = iter(self.indices)
        return tuple(
            WrittenElement(buffer, tuple(next(indices) for _ in range(rank)))
            for buffer, rank in zip(self.buffers, self._ranks(), strict=True)
        )

    def _ranks(self) -> list[int]:
        return [cast(BufferType, value.type).get_num_dims() for value in self.buffers]

    @classmethod
    def parse(cls, parser: Parser) -> ThreadAllreduceOp:
        sources = assembly.parse_operands(parser)
        condition = assembly.parse_optional_predicate(parser)
        parser.parse_keyword("into")
        places = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_place(parser)
        )
        parser.parse_keyword("over")
        op = cls(sources, places, assembly.parse_operands(parser), condition)
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        assembly.print_operands(printer, self.sources)
        assembly.print_optional_predicate(printer, self.condition)
        printer.print_string(" into ")
        with printer.in_square_brackets():
            printer.print_list(
                self.places, lambda p: print_access(printer, p.buffer, p.indices)
            )
        printer.print_string(" over ")
        assembly.print_operands(printer, self.threads)
        assembly.print_attributes(printer, self)

    def verify_(self) -> None:
        if not self.sources or len(self.sources) != len(self.buffers):
            raise VerifyException(
                "tir.thread_allreduce: needs one destination for each source, got "
                f"{len(self.sources)} sources and {len(self.buffers)} destinations"
            )
        if len(self.indices) != sum(self._ranks()):
            raise VerifyException(
                f"tir.thread_allreduce: the destinations have {sum(self._ranks())} "
                f"indices, got {len(self.indices)}"
            )
        for source, place in zip(self.sources, self.places, strict=True):
            self._verify_place(source, place)
        for thread in self.threads:
            if not is_integer_type(thread.type):
                raise VerifyException(
                    "tir.thread_allreduce: threads are thread variables or the constant "
                    f"0, got a value of type {thread.type}"
                )
            if not isinstance(thread.owner, Block) and constant_value(thread) != 0:
                raise VerifyException(
                    "tir.thread_allreduce: threads are thread variables or the constant "
                    f"0, got the result of {thread.owner.name}; name the variable itself"
                )

    def _verify_place(self, source: SSAValue, place: WrittenElement) -> None:
        buffer_definition(place.buffer)
        element = accessed_type(self, cast(BufferType, place.buffer.type), place.indices)
        if element != source.type and (source.type, element) != (i1, i8):
            raise VerifyException(
                f"tir.thread_allreduce: a source of type {source.type} cannot go into an "
                f"element of type {element}"
            )


def _parse_place(parser: Parser) -> tuple[SSAValue, Sequence[SSAValue]]:
    return parse_buffer(parser), assembly.parse_operands(parser)


@irdl_op_definition
class ReducerOp(IRDLOperation):
    """A commutative reduction of one value or a tuple of values, TVM's `CommReducer`.

    The region has the values on the left as arguments, then as many on the right, and
    yields the combined ones; an identity of the type of each leaves the other side as it
    is. The region only computes values: it neither reads nor writes memory. The op is the
    node of a `tir.attr "reduce_scope"`, and means the same wherever it is.

    ```mlir
    // @largest([1, 5, 3, 2]) -> [5, 5, 5, 5]
    tir.func @largest(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %c0 = tir.const 0 : i32
      %c4 = tir.const 4 : i32
      %r = tir.reducer (%x : i32, %y : i32) identity [-2147483648 : i32] {
        %z = tir.max %x, %y : i32
        tir.yield %z : i32
      }
      tir.launch_thread %t = "threadIdx.x" to %c4 {
        %R = tir.alloc_buffer "R" : !tir.buffer<1xi32, "local">
        %v = tir.load %A[%t] : i32
        tir.attr "reduce_scope" (%r) = 0 : i32 {
          tir.thread_allreduce [%v] into [%R[%c0]] over [%t]
        }
        %w = tir.load %R[%c0] : i32
        tir.store %w, %A[%t] : i32
      }
    }
    ```
    """

    name = "tir.reducer"

    identity = prop_def(ArrayAttr)
    combiner = region_def("single_block")
    result = result_def(ReducerType)

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        identity: Sequence[Identity] | ArrayAttr[Identity],
        combiner: Region | None = None,
    ) -> None:
        values = ArrayAttr(identity)
        types = [value.type for value in values] * 2
        super().__init__(
            properties={"identity": values},
            regions=[assembly.region_of(combiner, types)],
            result_types=[ReducerType()],
        )

    @property
    def identities(self) -> tuple[Identity, ...]:
        """The neutral elements."""
        return tuple(cast("ArrayAttr[Identity]", self.identity))

    @property
    def lhs(self) -> tuple[BlockArgument, ...]:
        """The values on the left."""
        return self.combiner.block.args[: len(self.identity)]

    @property
    def rhs(self) -> tuple[BlockArgument, ...]:
        """The values on the right."""
        return self.combiner.block.args[len(self.identity) :]

    @property
    def combined(self) -> tuple[SSAValue, ...]:
        """What the region yields."""
        last = self.combiner.block.last_op
        assert isinstance(last, YieldOp)
        return tuple(last.values)

    @classmethod
    def parse(cls, parser: Parser) -> ReducerOp:
        args = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=True)
        )
        parser.parse_keyword("identity")
        identity = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_identity(parser)
        )
        op = cls(identity, assembly.parse_body(parser, args))
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                self.combiner.block.args, lambda arg: _print_argument(printer, arg)
            )
        printer.print_string(" identity [")
        printer.print_list(self.identity, printer.print_attribute)
        printer.print_string("]")
        assembly.print_body(printer, self.combiner)
        assembly.print_attributes(printer, self, ("identity",))

    def verify_(self) -> None:
        if not self.identity.data or not all(map(_is_identity, self.identity)):
            raise VerifyException(
                "tir.reducer: an identity is an integer or a float of scalar type, and "
                f"there is one at least, got {self.identity}"
            )
        block = self.combiner.block
        types = [value.type for value in self.identities]
        arguments = [arg.type for arg in block.args]
        if arguments != types * 2:
            raise VerifyException(
                f"tir.reducer: identities of types {_listed(types)} want two arguments "
                f"of each, first all on the left, got {_listed(arguments)}"
            )
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("tir.reducer: the region must end in tir.yield")
        yielded = [value.type for value in last.values]
        if yielded != types:
            raise VerifyException(
                f"tir.reducer: the region yields {_listed(yielded)}, the identities are "
                f"of types {_listed(types)}"
            )
        _verify_pure(block)


def _parse_identity(parser: Parser) -> Identity:
    position = parser.pos
    value = parser.parse_attribute()
    if not _is_identity(value):
        parser.raise_error(f"expected an integer or a float, got {value}", position)
    return cast(Identity, value)


def _is_identity(value: Attribute) -> bool:
    return isinstance(value, IntegerAttr | FloatAttr) and is_scalar(
        cast(Identity, value).type
    )


def _print_argument(printer: Printer, argument: BlockArgument) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" : ")
    printer.print_attribute(argument.type)


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "none"


_MEMORY = {MemoryEffectKind.READ, MemoryEffectKind.WRITE}


def _verify_pure(block: Block) -> None:
    for op in block.ops:
        effects = get_effects(op) or ()
        if any(effect.kind in _MEMORY for effect in effects):
            raise VerifyException(
                f"tir.reducer: the region only computes values, {op.name} has an effect; "
                "compute the value before the reducer"
            )
