"""Buffers: the ops that define, view, read and write them (docs/spec/tir-ir.md §7).

A buffer's type holds rank, static extents, element type and scope; every other field
belongs to the op that defines it, so `buffer_definition(value)` answers every question
about a buffer. A buffer is never a block argument.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self, TypedDict, Unpack, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.quick_operation import QuickOperation
from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir._ranges import (
    Region,
    join_region,
    parse_region_dims,
    print_region,
    verify_region,
)
from xdsl_tvm.dialects.tir.assembly import Mixed
from xdsl_tvm.dialects.tir.attributes import BufferKind, BufferKindAttr
from xdsl_tvm.dialects.tir.constants import constant_value
from xdsl_tvm.dialects.tir.effects import MarkerEffect
from xdsl_tvm.dialects.tir.types import (
    BufferType,
    HandleType,
    PtrType,
    index_type_for,
    is_integer,
    is_scalar,
)

DEFAULT_ALIGNMENT = 64
"""Alignment of a buffer's data in bytes, where none is given."""

_LAYOUT = ("name", "static_strides")


class BufferLayout(TypedDict, total=False):
    """The fields of a buffer beyond its type, as keyword arguments of the builders."""

    name: str | StringAttr | None
    strides: Sequence[Mixed]
    """In elements; empty for compact row-major order."""
    elem_offset: SSAValue | Operation | None
    """In elements."""
    data_alignment: int | None
    """In bytes."""
    offset_factor: int | None
    axis_separators: Sequence[int]
    buffer_kind: BufferKind | None
    index_type: IntegerType | None


class BufferDefinition(QuickOperation, ABC):
    """An op that defines a buffer.

    Dynamic extents, strides and element offset are operands, in units of elements; no
    strides mean compact row-major order, no offset means 0. `data_alignment` is in bytes
    and defaults to 64; `offset_factor` divides the offset and defaults to 1;
    `axis_separators` says where the physical dimensions of the flattened buffer start.
    `index_type` is the dtype of the static extents, `i32` where it is missing.
    """

    extents = var_operand_def(IntegerType)
    strides = var_operand_def(IntegerType)
    elem_offset = opt_operand_def(IntegerType)

    buffer_name = opt_prop_def(StringAttr, prop_name="name")
    static_strides = opt_prop_def(DenseArrayBase.constr(i64))
    data_alignment = opt_prop_def(IntegerAttr)
    offset_factor = opt_prop_def(IntegerAttr)
    buffer_kind = opt_prop_def(BufferKindAttr)
    axis_separators = opt_prop_def(DenseArrayBase.constr(i64))
    index_type = opt_prop_def(IntegerType)

    buffer = result_def(BufferType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def type(self) -> BufferType:
        """The type of the buffer."""
        return self.buffer.type

    @property
    def shape(self) -> tuple[Mixed, ...]:
        """The extents in elements, static ones as integers."""
        return assembly.join_mixed(self.type.get_shape(), self.extents)

    @property
    def layout_strides(self) -> tuple[Mixed, ...]:
        """The strides in elements, empty for compact row-major order."""
        if self.static_strides is None:
            return ()
        return assembly.join_mixed(self.static_strides.get_values(), self.strides)

    @property
    def alignment(self) -> int:
        """The alignment of the data in bytes."""
        if self.data_alignment is None:
            return DEFAULT_ALIGNMENT
        return self.data_alignment.value.data

    @property
    def extent_type(self) -> IntegerType:
        """The dtype of the extents: `i32`, or `i64` where one is larger than that.

        So it is where a stride is larger. Dynamic extents of other types, in which their
        products would wrap around, are made one of these.
        """
        if self.index_type is not None:
            return self.index_type
        if max(self._static_sizes(), default=0) >= 1 << 31:
            return i64
        return index_type_for(self.extents[0].type) if self.extents else i32

    def _static_sizes(self) -> Sequence[int]:
        """The static extents and strides."""
        strides = self.static_strides
        static = () if strides is None else strides.get_values()
        both = (*self.type.get_shape(), *static)
        return [size for size in both if size != DYNAMIC_INDEX]

    @staticmethod
    def layout_properties(layout: BufferLayout) -> dict[str, Attribute | None]:
        """The properties all definitions share."""
        name = layout.get("name")
        strides = layout.get("strides", ())
        separators = layout.get("axis_separators", ())
        kind = layout.get("buffer_kind")
        return {
            "name": StringAttr(name) if isinstance(name, str) else name,
            "static_strides": assembly.split_mixed(strides)[0] if strides else None,
            "data_alignment": _optional_i32(layout.get("data_alignment")),
            "offset_factor": _optional_i32(layout.get("offset_factor")),
            "axis_separators": DenseArrayBase.from_list(i64, list(separators))
            if separators
            else None,
            "buffer_kind": None if kind is None else BufferKindAttr(kind),
            "index_type": layout.get("index_type"),
        }

    @staticmethod
    def layout_operands(
        extents: Sequence[SSAValue | Operation], layout: BufferLayout
    ) -> list[Sequence[SSAValue | Operation] | SSAValue | Operation | None]:
        """The operands all definitions share, in their order."""
        _, strides = assembly.split_mixed(layout.get("strides", ()))
        return [extents, strides, layout.get("elem_offset")]

    @classmethod
    @abstractmethod
    def parse_source(cls, parser: Parser) -> tuple[list[Any], dict[str, Attribute]]:
        """Read what is between name and layout: operand groups and properties."""

    @abstractmethod
    def print_source(self, printer: Printer) -> None:
        """Print what `parse_source` reads, after a space."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = assembly.parse_optional_name(parser)
        groups, properties = cls.parse_source(parser)
        extents = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: assembly.parse_value(parser)
        )
        strides: list[Mixed] = []
        if parser.parse_optional_keyword("strides"):
            strides = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: assembly.parse_mixed(parser)
            )
        offset = (
            assembly.parse_value(parser)
            if parser.parse_optional_keyword("offset")
            else None
        )
        op = cls.__new__(cls)
        layout: BufferLayout = {"name": name, "strides": strides, "elem_offset": offset}
        extra = parser.parse_optional_dictionary_attr_dict()
        parser.parse_punctuation(":")
        known = cls.get_irdl_definition().properties
        IRDLOperation.__init__(
            op,
            operands=[*groups, *cls.layout_operands(extents or (), layout)],
            properties=cls.layout_properties(layout)
            | properties
            | {k: v for k, v in extra.items() if k in known},
            attributes={k: v for k, v in extra.items() if k not in known},
            result_types=[parser.parse_type()],
        )
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_optional_name(printer, self.buffer_name)
        self.print_source(printer)
        if self.extents:
            printer.print_string(" ")
            assembly.print_operands(printer, self.extents)
        if strides := self.layout_strides:
            printer.print_string(" strides [")
            printer.print_list(strides, lambda s: assembly.print_mixed(printer, s))
            printer.print_string("]")
        if self.elem_offset is not None:
            printer.print_string(" offset ")
            printer.print_operand(self.elem_offset)
        assembly.print_attributes(printer, self, self.hidden_properties())
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    def hidden_properties(self) -> tuple[str, ...]:
        """The properties that the assembly shows outside of the dictionary."""
        return _LAYOUT

    def verify_(self) -> None:
        shape = self.type.get_shape()
        dynamic = shape.count(DYNAMIC_INDEX)
        if len(self.extents) != dynamic:
            raise VerifyException(
                f"{self.name}: {self.type} has {dynamic} dynamic extents, but "
                f"{len(self.extents)} are given"
            )
        self._verify_strides(len(shape))
        self._verify_separators(len(shape))
        self._verify_index_type()
        for field, value in (
            ("data_alignment", self.data_alignment),
            ("offset_factor", self.offset_factor),
        ):
            if value is not None and value.value.data <= 0:
                raise VerifyException(
                    f"{self.name}: {field} must be positive, got {value.value.data}"
                )

    def _verify_strides(self, rank: int) -> None:
        if self.static_strides is None:
            if self.strides:
                raise VerifyException(
                    f"{self.name}: stride operands need static_strides to say where they "
                    "stand"
                )
            return
        static = self.static_strides.get_values()
        if len(static) != rank:
            raise VerifyException(
                f"{self.name}: a buffer of rank {rank} needs {rank} strides or none, got "
                f"{len(static)}"
            )
        if static.count(DYNAMIC_INDEX) != len(self.strides):
            raise VerifyException(
                f"{self.name}: {static.count(DYNAMIC_INDEX)} strides are dynamic, but "
                f"{len(self.strides)} are given"
            )

    def _verify_index_type(self) -> None:
        if self.index_type is None:
            return
        for size in self._static_sizes():
            if size >> (self.index_type.width.data - 1):
                raise VerifyException(
                    f"{self.name}: the extent or stride {size} does not fit index_type "
                    f"{self.index_type}; use i64"
                )

    def _verify_separators(self, rank: int) -> None:
        if self.axis_separators is None:
            return
        separators = self.axis_separators.get_values()
        bounds = (0, *separators, rank)
        if any(a > b for a, b in pairwise(bounds)):
            raise VerifyException(
                f"{self.name}: axis separators must ascend within 0 and {rank}, got "
                f"{list(separators)}"
            )


def _optional_i32(value: int | None) -> IntegerAttr | None:
    return None if value is None else IntegerAttr(value, i32)


def buffer_definition(buffer: SSAValue) -> BufferDefinition:
    """The op that defines `buffer`.

    Raises VerifyException if no op of the dialect does: buffers are never block
    arguments, and no foreign op may produce one.
    """
    owner = buffer.owner
    if not isinstance(owner, BufferDefinition):
        raise VerifyException(
            f"a value of type {buffer.type} must be defined by an op such as "
            "tir.match_buffer or tir.alloc_buffer, not by "
            f"{owner.name if isinstance(owner, Operation) else 'a block argument'}"
        )
    return owner


@irdl_op_definition
class ShapeVarOp(IRDLOperation):
    """An integer that buffers bind, such as a symbolic extent: `Var` or `SizeVar`.

    It is a scalar. The first `tir.match_buffer` with it as a bare extent, stride or
    offset defines its value; all other uses are checked against it. `size_var` promises
    that it is not negative. Two of them are never the same, whatever their names.

    ```mlir
    // @length([1, 2], [3, 4]) = 2
    // @length([1, 2], [3]) fails: parameter b expects extent 0 to be 2, got 1
    tir.func @length(%a: !tir.handle, %b: !tir.handle) -> i32 {
      %n = tir.shape_var "n" size_var : i32
      %A = tir.match_buffer %a [%n] : !tir.buffer<?xi32>
      %B = tir.match_buffer %b [%n] : !tir.buffer<?xi32>
      tir.ret %n : i32
    }
    ```
    """

    name = "tir.shape_var"

    var_name = prop_def(StringAttr, prop_name="name")
    size_var = opt_prop_def(UnitAttr)
    result = result_def()

    traits = traits_def(MarkerEffect())

    def __init__(
        self, name: str | StringAttr, dtype: Attribute = i32, *, size_var: bool = False
    ) -> None:
        super().__init__(
            properties={
                "name": StringAttr(name) if isinstance(name, str) else name,
                "size_var": UnitAttr() if size_var else None,
            },
            result_types=[dtype],
        )

    @classmethod
    def parse(cls, parser: Parser) -> ShapeVarOp:
        name = parser.parse_str_literal("name")
        size_var = parser.parse_optional_keyword("size_var") is not None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(name, parser.parse_type(), size_var=size_var)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        assembly.print_optional_name(printer, self.var_name)
        if self.size_var is not None:
            printer.print_string(" size_var")
        assembly.print_attributes(printer, self, ("name", "size_var"))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if not (is_integer(self.result.type) and is_scalar(self.result.type)):
            raise VerifyException(
                f"tir.shape_var: must be a scalar integer, got {self.result.type}"
            )


class _SourcedDefinition(BufferDefinition, ABC):
    """A definition whose first operand says where the buffer comes from."""

    @classmethod
    def parse_source(cls, parser: Parser) -> tuple[list[Any], dict[str, Attribute]]:
        return [assembly.parse_value(parser)], {}

    def print_source(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])


@irdl_op_definition
class MatchBufferOp(_SourcedDefinition):
    """A buffer passed in by a parameter: an entry of `PrimFunc.buffer_map`.

    It is in the body of the function itself. The caller passes a tensor of this
    dtype, rank and shape. A bare `tir.shape_var` among extents, strides and offset is
    bound by the first match that names it.

    ```mlir
    // @rows([[1, 2], [3, 4], [5, 6]]) = 3
    tir.func @rows(%a: !tir.handle) -> i32 {
      %n = tir.shape_var "n" : i32
      %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x2xi32>
      tir.ret %n : i32
    }
    ```
    """

    name = "tir.match_buffer"

    param = operand_def(HandleType)

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        param: SSAValue,
        buffer_type: BufferType,
        extents: Sequence[SSAValue | Operation] = (),
        **layout: Unpack[BufferLayout],
    ) -> None:
        super().__init__(
            operands=[param, *self.layout_operands(extents, layout)],
            properties=self.layout_properties(layout),
            result_types=[buffer_type],
        )

    def verify_(self) -> None:
        super().verify_()
        parent = self.parent_op()
        if parent is None or parent.name != "tir.func":
            raise VerifyException(
                "tir.match_buffer: must be in the body of a tir.func itself"
            )
        if self.param not in parent.regions[0].blocks[0].args:
            raise VerifyException(
                "tir.match_buffer: must match a parameter of the function"
            )


@irdl_op_definition
class AllocBufferOp(BufferDefinition):
    """A buffer that the enclosing block allocates: an entry of `Block.alloc_buffers`.

    It lives as long as the block; its contents start undefined.

    ```mlir
    // @f(3) = 3
    tir.func @f(%x: i32) -> i32 {
      %c0 = tir.const 0 : i32
      %D = tir.alloc_buffer "D" : !tir.buffer<4xi32, "local">
      tir.store %x, %D[%c0] : i32
      %y = tir.load %D[%c0] : i32
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.alloc_buffer"

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        buffer_type: BufferType,
        extents: Sequence[SSAValue | Operation] = (),
        **layout: Unpack[BufferLayout],
    ) -> None:
        super().__init__(
            operands=self.layout_operands(extents, layout),
            properties=self.layout_properties(layout),
            result_types=[buffer_type],
        )

    @classmethod
    def parse_source(cls, parser: Parser) -> tuple[list[Any], dict[str, Attribute]]:
        return [], {}

    def print_source(self, printer: Printer) -> None:
        pass


@irdl_op_definition
class DeclBufferOp(_SourcedDefinition):
    """A view of the memory a pointer names, `DeclBuffer`; it allocates nothing.

    The buffer has the scope of the pointer; its element type may be another one.
    `implicit` marks a buffer that TVM's text declares without a statement of its own.

    ```mlir
    // @f([0, 1, 2, 3, 4, 5, 6]) = 5
    tir.func @f(%p: !tir.ptr<i32>) -> i32 {
      %c1 = tir.const 1 : i32
      %D = tir.decl_buffer "D" %p strides [4, 1] : !tir.buffer<2x3xi32>
      %x = tir.load %D[%c1, %c1] : i32
      tir.ret %x : i32
    }
    ```
    """

    name = "tir.decl_buffer"

    data = operand_def(PtrType)
    implicit = opt_prop_def(UnitAttr)

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        data: SSAValue | Operation,
        buffer_type: BufferType,
        extents: Sequence[SSAValue | Operation] = (),
        **layout: Unpack[BufferLayout],
    ) -> None:
        super().__init__(
            operands=[data, *self.layout_operands(extents, layout)],
            properties=self.layout_properties(layout),
            result_types=[buffer_type],
        )

    def verify_(self) -> None:
        super().verify_()
        scope = cast(PtrType, self.data.type).scope
        if scope != self.type.scope:
            raise VerifyException(
                f"tir.decl_buffer: a buffer in scope {self.type.scope} cannot view a "
                f"pointer in scope {scope}"
            )


@irdl_op_definition
class MatchRegionOp(BufferDefinition):
    """A view of a region of another buffer, `MatchBufferRegion`.

    The region is one half-open range per dimension of the source: `%i` is the point
    `%i`, `%j to %j + 16` has 16 elements. Leading dimensions beyond the rank of the view
    have extent 1, and the others those of the view. Element type and scope are those of
    the source, whose alignment is a multiple of the view's. Bare `tir.shape_var`s in the
    layout are bound by the match.

    ```mlir
    // @f([[1, 2, 3], [4, 5, 6]]) = 6
    tir.func @f(%a: !tir.handle) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<2x3xi32>
      %c1 = tir.const 1 : i32
      tir.block "B" {
        tir.reads %A[%c1, %c1 to %c1 + 2]
        tir.writes
        %V = tir.match_region "V" %A[%c1, %c1 to %c1 + 2] : !tir.buffer<2xi32>
        %x = tir.load %V[%c1] : i32
        tir.ret %x : i32
      }
    }
    ```
    """

    name = "tir.match_region"

    source = operand_def(BufferType)
    region_mins = var_operand_def(IntegerType)
    region_extents = var_operand_def(IntegerType)
    static_extents = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(MarkerEffect())

    def __init__(
        self,
        source: SSAValue | Operation,
        region_mins: Sequence[SSAValue | Operation],
        region_extents: Sequence[Mixed],
        buffer_type: BufferType,
        extents: Sequence[SSAValue | Operation] = (),
        **layout: Unpack[BufferLayout],
    ) -> None:
        static, dynamic = assembly.split_mixed(region_extents)
        super().__init__(
            operands=[
                source,
                region_mins,
                dynamic,
                *self.layout_operands(extents, layout),
            ],
            properties=self.layout_properties(layout) | {"static_extents": static},
            result_types=[buffer_type],
        )

    @property
    def region(self) -> Region:
        """Minimum and extent of each dimension of the source."""
        return join_region(self.region_mins, self.static_extents, self.region_extents)

    @classmethod
    def parse_source(cls, parser: Parser) -> tuple[list[Any], dict[str, Attribute]]:
        source = assembly.parse_value(parser)
        minima, extents = parse_region_dims(parser)
        static, dynamic = assembly.split_mixed(extents)
        return [source, minima, dynamic], {"static_extents": static}

    def print_source(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        print_region(printer, self.region)

    def hidden_properties(self) -> tuple[str, ...]:
        return (*_LAYOUT, "static_extents")

    def verify_(self) -> None:
        super().verify_()
        source = cast(BufferType, self.source.type)
        verify_region(
            self, source, self.region_mins, self.static_extents, self.region_extents
        )
        if source.get_num_dims() < self.type.get_num_dims():
            raise VerifyException(
                f"tir.match_region: a view of rank {self.type.get_num_dims()} cannot "
                f"match a region of rank {source.get_num_dims()}"
            )
        if (source.element_type, source.scope) != (
            self.type.element_type,
            self.type.scope,
        ):
            raise VerifyException(
                f"tir.match_region: {self.type} must have element type and scope of its "
                f"source {source}"
            )
        self._verify_fields(buffer_definition(self.source))
        self._verify_extents()

    def _verify_fields(self, source: BufferDefinition) -> None:
        if source.alignment % self.alignment != 0:
            raise VerifyException(
                f"tir.match_region: data_alignment {self.alignment} must divide that of "
                f"the source, which is {source.alignment}"
            )
        for each in (source, self):
            kind = each.buffer_kind
            if kind is not None and kind.data is not BufferKind.DEFAULT:
                raise VerifyException(
                    f"tir.match_region: a buffer of kind {kind.data} can neither be "
                    "matched nor match; both must be of the default kind"
                )

    def _verify_extents(self) -> None:
        """Refuse extents that cannot be equal; constants tell, values may be equal."""
        extents = [_constant_of(extent) for _, extent in self.region]
        shape = [_constant_of(extent) for extent in self.shape]
        surplus = len(extents) - len(shape)
        for dim, extent in enumerate(extents[:surplus]):
            if extent not in (None, 1):
                raise VerifyException(
                    f"tir.match_region: dimension {dim} of the region, which the view "
                    f"lacks, must have extent 1, got {extent}"
                )
        for dim, (extent, size) in enumerate(zip(extents[surplus:], shape, strict=True)):
            if None not in (extent, size) and extent != size:
                raise VerifyException(
                    f"tir.match_region: dimension {dim} of the view has extent {size}, "
                    f"but that of the region is {extent}"
                )


def _constant_of(extent: Mixed) -> int | None:
    """The number of an extent, None where it is not known."""
    if isinstance(extent, int):
        return extent
    number = constant_value(extent)
    return number if isinstance(number, int) else None
