"""Loads and stores."""

from __future__ import annotations

from abc import ABC
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import I64, ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tvm_llvm.attributes import AliasScopeAttr
from xdsl_tvm.dialects.tvm_llvm.effects import READ, READ_WRITE, WRITE
from xdsl_tvm.dialects.tvm_llvm.orderings import (
    ORDERING_NAMES,
    access_properties,
    parse_ordering,
    parse_syncscope,
    print_syncscope,
    set_units,
    split_hints,
    verify_alignment,
    verify_atomic_type,
)

__all__ = ["LoadOp", "StoreOp"]


class _OrderedEffect(MemoryEffect):
    """Effects of one access; an ordered or volatile one also orders its neighbours."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        ordering = op.properties.get("ordering")
        atomic = isinstance(ordering, IntegerAttr) and ordering.value.data != 0
        if atomic or "volatile_" in op.properties:
            return READ_WRITE
        return READ if isinstance(op, LoadOp) else WRITE


def _verify_scopes(scopes: ArrayAttr[Attribute] | None, name: str) -> None:
    for scope in scopes or ():
        if not isinstance(scope, AliasScopeAttr):
            raise VerifyException(
                f"'{name}' must hold #tvm_llvm.alias_scope attributes, got {scope}"
            )


class _MemoryAccess(IRDLOperation, ABC):
    """What `load` and `store` share: ordering, scope, hints and alias scopes."""

    alignment = opt_prop_def(IntegerAttr[I64])
    ordering = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, i64))
    syncscope = opt_prop_def(StringAttr)
    volatile_ = opt_prop_def(UnitAttr)
    nontemporal = opt_prop_def(UnitAttr)
    alias_scopes = opt_prop_def(ArrayAttr[Attribute])
    noalias_scopes = opt_prop_def(ArrayAttr[Attribute])

    HINT_NAMES: ClassVar[tuple[str, ...]] = (
        "alignment",
        "nontemporal",
        "alias_scopes",
        "noalias_scopes",
    )
    BAD_ORDERINGS: ClassVar[tuple[str, ...]]

    traits = traits_def(_OrderedEffect())

    def verify_access(self, type: Attribute) -> None:
        """Checks the properties against the accessed `type`."""
        verify_alignment(self.alignment)
        _verify_scopes(self.alias_scopes, "alias_scopes")
        _verify_scopes(self.noalias_scopes, "noalias_scopes")
        name = ORDERING_NAMES.get(self.ordering.value.data)
        if name is None:
            raise VerifyException(f"no ordering number {self.ordering.value.data}")
        if name in self.BAD_ORDERINGS:
            raise VerifyException(f"'{self.name}' cannot have the ordering '{name}'")
        if name == "not_atomic":
            if self.syncscope is not None:
                raise VerifyException("a 'syncscope' needs an atomic ordering")
            return
        if self.alignment is None:
            raise VerifyException("an atomic access needs an 'alignment'")
        verify_atomic_type(type)

    def print_ordering(self, printer: Printer) -> None:
        """Prints ` atomic syncscope("…") <ordering>`, or nothing."""
        ordering = self.ordering.value.data
        if ordering == 0:
            return
        printer.print_string(" atomic")
        print_syncscope(printer, self.syncscope)
        printer.print_string(f" {ORDERING_NAMES[ordering]}")

    def print_hints(self, printer: Printer) -> None:
        """Prints the attribute dictionary with the hints among it."""
        hints = {
            name: self.properties[name]
            for name in self.HINT_NAMES
            if name in self.properties
        }
        printer.print_op_attributes({**hints, **self.attributes})


def _parse_atomic(parser: Parser, properties: dict[str, Attribute]) -> None:
    if parser.parse_optional_keyword("atomic") is None:
        return
    if (scope := parse_syncscope(parser)) is not None:
        properties["syncscope"] = scope
    properties["ordering"] = parse_ordering(parser)


@irdl_op_definition
class LoadOp(_MemoryAccess):
    """Reads memory.

    `tvm_llvm.load volatile %p atomic syncscope("device") acquire invariant
    {alignment = 4 : i64} : !llvm.ptr -> f32`. `invariant` promises that nothing writes
    the location while the program runs.
    """

    name = "tvm_llvm.load"

    addr = operand_def(LLVMPointerType)
    res = result_def()
    invariant = opt_prop_def(UnitAttr)

    BAD_ORDERINGS: ClassVar = ("release", "acq_rel")

    def __init__(
        self,
        addr: SSAValue | Operation,
        type: Attribute,
        *,
        alignment: int | None = None,
        ordering: str = "not_atomic",
        syncscope: str | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
        invariant: bool = False,
    ):
        properties = access_properties(alignment, ordering, syncscope)
        set_units(
            properties,
            volatile_=volatile,
            nontemporal=nontemporal,
            invariant=invariant,
        )
        super().__init__(operands=[addr], result_types=[type], properties=properties)

    def verify_(self) -> None:
        self.verify_access(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        properties: dict[str, Attribute] = {"ordering": IntegerAttr(0, i64)}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        addr = parser.parse_unresolved_operand()
        _parse_atomic(parser, properties)
        if parser.parse_optional_keyword("invariant") is not None:
            properties["invariant"] = UnitAttr()
        attributes = parser.parse_optional_attr_dict()
        split_hints(attributes, properties, cls.HINT_NAMES)
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(addr, parser.parse_type())
        parser.parse_punctuation("->")
        return cls.create(
            operands=[operand],
            result_types=[parser.parse_type()],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(" ")
        printer.print_operand(self.addr)
        self.print_ordering(printer)
        if self.invariant is not None:
            printer.print_string(" invariant")
        self.print_hints(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.addr.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.res.type)


@irdl_op_definition
class StoreOp(_MemoryAccess):
    """Writes memory: `tvm_llvm.store %v, %p atomic release … : f32, !llvm.ptr`."""

    name = "tvm_llvm.store"

    value = operand_def()
    addr = operand_def(LLVMPointerType)

    BAD_ORDERINGS: ClassVar = ("acquire", "acq_rel")

    def __init__(
        self,
        value: SSAValue | Operation,
        addr: SSAValue | Operation,
        *,
        alignment: int | None = None,
        ordering: str = "not_atomic",
        syncscope: str | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
    ):
        properties = access_properties(alignment, ordering, syncscope)
        set_units(properties, volatile_=volatile, nontemporal=nontemporal)
        super().__init__(operands=[value, addr], properties=properties)

    def verify_(self) -> None:
        self.verify_access(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        properties: dict[str, Attribute] = {"ordering": IntegerAttr(0, i64)}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        addr = parser.parse_unresolved_operand()
        _parse_atomic(parser, properties)
        attributes = parser.parse_optional_attr_dict()
        split_hints(attributes, properties, cls.HINT_NAMES)
        parser.parse_punctuation(":")
        value_operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation(",")
        return cls.create(
            operands=[
                value_operand,
                parser.resolve_operand(addr, parser.parse_type()),
            ],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        printer.print_operand(self.addr)
        self.print_ordering(printer)
        self.print_hints(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.addr.type)
