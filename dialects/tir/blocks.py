"""Blocks: iteration-space computations with declared regions (docs/spec/tir-ir.md §6.13).

`tir.block` is TVM's `Block` and its `BlockRealize` in one. Its prologue holds what the
block declares: allocated and matched buffers, read and written regions, and the init.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerType,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    lazy_traits_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.quick_operation import QuickOperation
from xdsl_tvm.dialects.tir import assembly
from xdsl_tvm.dialects.tir._ranges import (
    parse_range,
    parse_region_dims,
    print_range,
    print_region_dims,
    verify_extents,
)
from xdsl_tvm.dialects.tir.accesses import StoreOp
from xdsl_tvm.dialects.tir.annotations import BLOCK_ANNOTATIONS, verify_dictionary
from xdsl_tvm.dialects.tir.assembly import Mixed
from xdsl_tvm.dialects.tir.attributes import IterKind, IterKindAttr
from xdsl_tvm.dialects.tir.effects import MarkerEffect
from xdsl_tvm.dialects.tir.statements import BodyOp
from xdsl_tvm.dialects.tir.types import BufferType


@dataclass(frozen=True)
class IterVar:
    """One iteration variable of a block: its domain `[min, min + extent)` and binding."""

    kind: IterKind
    min: SSAValue
    extent: SSAValue
    binding: SSAValue
    name: str | None = None


@dataclass(frozen=True)
class BufferRegion:
    """A box of a buffer: minimum and extent of each dimension, in elements."""

    buffer: SSAValue
    mins: tuple[SSAValue, ...]
    extents: tuple[Mixed, ...]


@irdl_op_definition
class BlockOp(QuickOperation):
    """One computation per point of an iteration space: `BlockRealize` of a `Block`.

    If the predicate (`where`) holds, the body runs with each iteration variable, an
    argument of the body, bound to its value after the `=`. The domain before it is a
    half-open range, printed as in `tir.for`. A kind says how instances along the axis
    depend: `S` not at all, `R` as a reduction, `scan` in order, `opaque` is unknown. A
    block without iteration variables is *opaque*; in any other, loop variables from
    around it are not used. With a `tir.init`, the `tir.reads` leave out what the block
    itself has written.

    ```mlir
    // @sums([[1, 2], [3, 4]], [0, 0]) -> _, [3, 7]
    tir.func @sums(%a: !tir.handle, %b: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<2x2xi32>
      %B = tir.match_buffer %b : !tir.buffer<2xi32>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      tir.for %i = %c0 to %c2 {
        tir.for %k = %c0 to %c2 {
          tir.block "B" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c2] = %k) {
            tir.reads %A[%vi, %vk]
            tir.writes %B[%vi]
            tir.init {
              tir.store %c0, %B[%vi] : i32
            }
            %x = tir.load %A[%vi, %vk] : i32
            %y = tir.load %B[%vi] : i32
            %z = tir.add %x, %y : i32
            tir.store %z, %B[%vi] : i32
          }
        }
      }
    }
    ```
    """

    name = "tir.block"

    iter_values = var_operand_def(IntegerType)
    dom_mins = var_operand_def(IntegerType)
    dom_extents = var_operand_def(IntegerType)
    predicate = opt_operand_def(i1)
    block_name = prop_def(StringAttr, prop_name="name")
    iter_kinds = prop_def(ArrayAttr[IterKindAttr])
    iter_names = opt_prop_def(ArrayAttr[StringAttr])
    annotations = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        name: str | StringAttr = "",
        iters: Sequence[IterVar] = (),
        body: Region | None = None,
        *,
        predicate: SSAValue | Operation | None = None,
        annotations: DictionaryAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[
                [it.binding for it in iters],
                [it.min for it in iters],
                [it.extent for it in iters],
                predicate,
            ],
            properties={
                "name": StringAttr(name) if isinstance(name, str) else name,
                "iter_kinds": ArrayAttr(IterKindAttr(it.kind) for it in iters),
                "iter_names": ArrayAttr(StringAttr(it.name or "") for it in iters)
                if any(it.name is not None for it in iters)
                else None,
                "annotations": annotations,
            },
            regions=[assembly.region_of(body, [it.min.type for it in iters])],
        )

    @property
    def iter_vars(self) -> tuple[BlockArgument, ...]:
        """The iteration variables, the arguments of the body."""
        return tuple(self.body.block.args)

    @property
    def iters(self) -> tuple[IterVar, ...]:
        """The iteration variables' kinds, domains, bindings and names."""
        names: Sequence[StringAttr | None] = (
            [None] * len(self.iter_kinds)
            if self.iter_names is None
            else self.iter_names.data
        )
        return tuple(
            IterVar(kind.data, low, extent, binding, name and name.data)
            for kind, low, extent, binding, name in zip(
                self.iter_kinds,
                self.dom_mins,
                self.dom_extents,
                self.iter_values,
                names,
                strict=True,
            )
        )

    @property
    def is_opaque(self) -> bool:
        """Whether the block has no iteration variables."""
        return not self.iter_kinds.data

    @property
    def init(self) -> InitOp | None:
        """The init of the block, if it has one."""
        return next((op for op in self.body.block.ops if isinstance(op, InitOp)), None)

    @classmethod
    def parse(cls, parser: Parser) -> BlockOp:
        name = assembly.parse_optional_name(parser) or StringAttr("")
        iters: list[IterVar] = []
        arguments: list[Parser.Argument] = []

        def parse_iter() -> None:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation(":")
            kind = parser.parse_str_enum(IterKind)
            iter_name = parser.parse_optional_str_literal()
            parser.parse_keyword("in")
            with parser.in_square_brackets():
                minimum, extent = parse_range(parser)
            parser.parse_punctuation("=")
            binding = assembly.parse_value(parser)
            iters.append(IterVar(kind, minimum, extent, binding, iter_name))
            arguments.append(argument.resolve(minimum.type))

        parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parse_iter)
        predicate = (
            assembly.parse_value(parser)
            if parser.parse_optional_keyword("where")
            else None
        )
        annotations = assembly.parse_optional_dictionary(parser, "annotations")
        body = assembly.parse_body(parser, arguments)
        op = cls(name, iters, body, predicate=predicate, annotations=annotations)
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        if self.block_name.data:
            assembly.print_optional_name(printer, self.block_name)

        def print_iter(item: tuple[BlockArgument, IterVar]) -> None:
            argument, it = item
            printer.print_ssa_value(argument)
            printer.print_string(f" : {it.kind.value}")
            if it.name:
                printer.print_string(" ")
                printer.print_string_literal(it.name)
            printer.print_string(" in [")
            print_range(printer, it.min, it.extent)
            printer.print_string("] = ")
            printer.print_operand(it.binding)

        if not self.is_opaque:
            printer.print_string(" (")
            printer.print_list(
                list(zip(self.iter_vars, self.iters, strict=True)), print_iter
            )
            printer.print_string(")")
        if self.predicate is not None:
            printer.print_string(" where ")
            printer.print_operand(self.predicate)
        assembly.print_optional_dictionary(printer, "annotations", self.annotations)
        assembly.print_body(printer, self.body)
        assembly.print_attributes(
            printer, self, ("name", "iter_kinds", "iter_names", "annotations")
        )

    def verify_(self) -> None:
        count = len(self.iter_kinds)
        counts = {len(self.iter_values), len(self.dom_mins), len(self.dom_extents)}
        if counts != {count} or len(self.body.block.args) != count:
            raise VerifyException(
                "tir.block: kinds, domains, bindings and arguments must be one per "
                "iteration variable"
            )
        if self.iter_names is not None and len(self.iter_names) != count:
            raise VerifyException("tir.block: iter_names must name every variable")
        for variable, it in zip(self.body.block.args, self.iters, strict=True):
            types = {variable.type, it.min.type, it.extent.type, it.binding.type}
            if len(types) != 1:
                raise VerifyException(
                    "tir.block: an iteration variable, its domain and its binding must "
                    f"have one type, got {', '.join(sorted(map(str, types)))}"
                )
        verify_dictionary(self, BLOCK_ANNOTATIONS, self.annotations)
        self._verify_prologue()

    def _verify_prologue(self) -> None:
        seen: set[type[Operation]] = set()
        stored = False
        for op in self.body.block.ops:
            if isinstance(op, ReadsOp | WritesOp | InitOp):
                if type(op) in seen:
                    raise VerifyException(f"tir.block: more than one {op.name}")
                if isinstance(op, InitOp) and stored:
                    raise VerifyException(
                        "tir.block: tir.init must be before the statements of the body"
                    )
                seen.add(type(op))
            elif isinstance(op, StoreOp) or (op.regions and not op.results):
                # What has regions and a result is an expression.
                stored = True


@irdl_op_definition
class InitOp(BodyOp):
    """What a block runs first where its reductions begin: `Block.init`.

    It runs where all reduction variables are at the minimum of their domain.

    ```mlir
    // @clear([1, 2]) -> [0, 2]
    tir.func @clear(%a: !tir.handle) {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      tir.for %i = %c0 to %c2 {
        tir.block "B" (%vi : R in [%c0 to %c2] = %i) {
          tir.reads
          tir.writes %A[%vi]
          tir.init {
            tir.store %c0, %A[%vi] : i32
          }
        }
      }
    }
    ```
    """

    name = "tir.init"

    traits = lazy_traits_def(
        lambda: (NoTerminator(), RecursiveMemoryEffect(), HasParent(BlockOp))
    )


class _RegionsOp(QuickOperation):
    """A list of buffer regions, as operands: buffers, minima, dynamic extents."""

    buffers = var_operand_def(BufferType)
    mins = var_operand_def(IntegerType)
    extents = var_operand_def(IntegerType)
    static_extents = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, regions: Sequence[BufferRegion] = ()) -> None:
        static, dynamic = assembly.split_mixed(
            [extent for region in regions for extent in region.extents]
        )
        super().__init__(
            operands=[
                [region.buffer for region in regions],
                [low for region in regions for low in region.mins],
                dynamic,
            ],
            properties={"static_extents": static},
        )

    @property
    def buffer_regions(self) -> tuple[BufferRegion, ...]:
        """The regions, in the order in which they are declared."""
        static = self.static_extents.get_values()
        extents = assembly.join_mixed(static, self.extents)
        mins = tuple(self.mins)
        found: list[BufferRegion] = []
        start = 0
        for buffer in self.buffers:
            end = start + cast(BufferType, buffer.type).get_num_dims()
            found.append(BufferRegion(buffer, mins[start:end], extents[start:end]))
            start = end
        return tuple(found)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        regions: list[BufferRegion] = []

        def parse_region() -> bool:
            position = parser.pos
            buffer = assembly.parse_optional_value(parser)
            if buffer is None:
                return False
            if not isinstance(buffer.type, BufferType):
                parser.raise_error(f"expected a !tir.buffer, got {buffer.type}", position)
            mins, extents = parse_region_dims(parser)
            if len(mins) != buffer.type.get_num_dims():
                parser.raise_error(
                    f"a region of {buffer.type} has {buffer.type.get_num_dims()} "
                    f"dimensions, got {len(mins)}",
                    position,
                )
            regions.append(BufferRegion(buffer, tuple(mins), tuple(extents)))
            return True

        if not assembly.at_next_op(parser) and parse_region():
            while parser.parse_optional_punctuation(",") is not None:
                if not parse_region():
                    parser.raise_error("expected a buffer region")
        op = cls(regions)
        assembly.parse_attributes_into(parser, op)
        return op

    def print(self, printer: Printer) -> None:
        def print_one(region: BufferRegion) -> None:
            printer.print_operand(region.buffer)
            print_region_dims(printer, region.mins, region.extents)

        if self.buffers:
            printer.print_string(" ")
            printer.print_list(self.buffer_regions, print_one)
        assembly.print_attributes(printer, self, ("static_extents",))

    def verify_(self) -> None:
        dims = sum(cast(BufferType, b.type).get_num_dims() for b in self.buffers)
        static = self.static_extents.get_values()
        if not len(self.mins) == len(static) == dims:
            raise VerifyException(
                f"{self.name}: the buffers have {dims} dimensions together, but "
                f"{len(self.mins)} minima and {len(static)} extents are given"
            )
        if static.count(DYNAMIC_INDEX) != len(self.extents):
            raise VerifyException(f"{self.name}: every dynamic extent needs one operand")
        verify_extents(self, self.mins, static)


@irdl_op_definition
class ReadsOp(_RegionsOp):
    """The regions one instance of the block may read, `Block.reads`.

    Each is one half-open range per dimension: `%i` is the point `%i`, `%j to %j + 16`
    has 16 elements. They hold at least what is read; buffers that the block allocates
    are not listed.

    ```mlir
    // @f([1, 2, 3, 4]) = 4
    tir.func @f(%a: !tir.handle) -> i32 {
      %A = tir.match_buffer %a : !tir.buffer<4xi32>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      tir.block "B" {
        tir.reads %A[%c0], %A[%c2 to %c2 + 2]
        tir.writes
        %x = tir.load %A[%c0] : i32
        %y = tir.load %A[%c2] : i32
        %z = tir.add %x, %y : i32
        tir.ret %z : i32
      }
    }
    ```
    """

    name = "tir.reads"

    traits = lazy_traits_def(lambda: (MarkerEffect(), HasParent(BlockOp)))


@irdl_op_definition
class WritesOp(_RegionsOp):
    """The regions one instance of the block may write, `Block.writes`.

    The rules of `tir.reads` hold. What the init writes is among them.

    ```mlir
    // @f([1, 2], 5) -> [5, 2]
    tir.func @f(%a: !tir.handle, %x: i32) {
      %A = tir.match_buffer %a : !tir.buffer<2xi32>
      %c0 = tir.const 0 : i32
      tir.block "B" {
        tir.reads
        tir.writes %A[%c0 to 2]
        tir.store %x, %A[%c0] : i32
      }
    }
    ```
    """

    name = "tir.writes"

    traits = lazy_traits_def(lambda: (MarkerEffect(), HasParent(BlockOp)))
