"""What the functions of a module share while they are lowered: callees and constants."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.cuda_graph import cuda_graph_call
from xdsl_tvm.lowering.relax.conversion.calling_convention import (
    Convention,
    convention_of,
)
from xdsl_tvm.lowering.relax.conversion.profile import KernelProfile
from xdsl_tvm.lowering.relax.conversion.written import WrittenValues
from xdsl_tvm.lowering.tir.conversion.calling_convention import (
    argument_types,
    bound_symbols,
)
from xdsl_tvm.lowering.tir.conversion.emitter import Emitter
from xdsl_tvm.lowering.tir.conversion.loop_profile import bytes_attribute
from xdsl_tvm.lowering.tir.conversion.types import (
    GENERIC_SPACE,
    GLOBAL_SPACE,
    AnyMemRef,
    memref_of,
    signless,
)

_SAMPLE = 1024
"""Bytes at the start of a constant that tell it from nearly all others of its type."""

_PIECE = 1 << 16
"""Bytes that are compared at a time."""


@dataclass(frozen=True)
class TIRCallee:
    """How a TIR function is called once it is lowered."""

    types: list[Attribute]
    """Of the arguments, without those of the symbols."""
    symbols: list[SSAValue]
    buffers: list[tuple[BlockArgument | None, tir.MatchBufferOp | None]]
    """The parameters, none for a declaration, and the buffer that each passes."""
    results: list[Attribute]

    @staticmethod
    def of(func: tir.FuncOp) -> TIRCallee:
        """What `tir-convert-to-memref` makes of a function."""
        types = argument_types(func, GENERIC_SPACE)
        matched = func.buffer_map
        buffers: list[tuple[BlockArgument | None, tir.MatchBufferOp | None]]
        if func.is_declaration:
            buffers = [(None, None)] * len(types)
        else:
            buffers = [(arg, matched.get(arg)) for arg in func.args]
        results = [signless(type_) for type_ in func.function_type.outputs]
        return TIRCallee(types, bound_symbols(func), buffers, results)


class ModuleView:
    """The symbols of a module, and the globals that its functions need."""

    def __init__(
        self, module: ModuleOp, *, profile: bool = False, on_gpu: bool = False
    ) -> None:
        self.on_gpu = on_gpu
        """Whether tensors are in the memory of the GPU."""
        self._module = module
        self._profile = KernelProfile() if profile else None
        self._written = WrittenValues(self.callee)
        self._symbols: dict[str, Operation] = {}
        for op in module.body.ops:
            trait = op.get_trait(SymbolOpInterface)
            name = None if trait is None else trait.get_sym_attr_name(op)
            if name is not None:
                self._symbols[name.data] = op
        self._parts = _graph_functions(module)
        self._conventions: dict[relax.FuncOp, Convention] = {}
        self._tir_callees: dict[tir.FuncOp, TIRCallee] = {}
        self._globals: list[memref.GlobalOp] = []
        self._constants: dict[tuple[Attribute, bytes], list[memref.GlobalOp]] = {}
        """The globals by the type and some bytes of their values."""
        self._declared: dict[str, func.FuncOp] = {}
        self._count = 0

    def callee(self, name: SymbolRefAttr) -> Operation | None:
        """The function of this name."""
        return self._symbols.get(name.root_reference.data)

    def is_part_of_callers(self, func: relax.FuncOp) -> bool:
        """Whether a function is called by functions for CUDA graphs only."""
        is_private = "global_symbol" not in func.attributes
        return is_private and func.sym_name.data in self._parts

    def convention(self, func: relax.FuncOp) -> Convention:
        """How a Relax function is called; see `convention_of`."""
        found = self._conventions.get(func)
        if found is None:
            found = self._conventions[func] = convention_of(func)
        return found

    def tir_callee(self, func: tir.FuncOp) -> TIRCallee:
        """How a TIR function is called."""
        found = self._tir_callees.get(func)
        if found is None:
            found = self._tir_callees[func] = TIRCallee.of(func)
        return found

    def written(self, func: relax.FuncOp) -> set[SSAValue]:
        """The parameters and constants that a Relax function may write."""
        return self._written.of(func)

    @contextmanager
    def timed(self, cv: Emitter, callee: tir.FuncOp) -> Generator[None]:
        """Where the module is profiled, time what is emitted as a call of `callee`."""
        if self._profile is None:
            yield
            return
        with self._profile.timed(cv, callee.sym_name.data):
            yield

    def declare(
        self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute]
    ) -> SymbolRefAttr:
        """The symbol of a function of the runtime, declared where it is not."""
        if name in self._symbols:
            raise PassFailedException(
                f"the symbol '{name}' is a function of the runtime; rename it"
            )
        if name not in self._declared:
            type_ = FunctionType.from_lists(inputs, outputs)
            self._declared[name] = func.FuncOp.external(
                name, list(type_.inputs.data), list(type_.outputs.data)
            )
        return SymbolRefAttr(name)

    def text(self, text: str) -> tuple[SymbolRefAttr, AnyMemRef]:
        """Name and type of the global that holds a text, with a zero after it."""
        return self.constant(bytes_attribute(text.encode() + b"\0"))

    def constant(
        self, value: DenseIntOrFPElementsAttr[IntegerType]
    ) -> tuple[SymbolRefAttr, AnyMemRef]:
        """Name and type of the global that holds `value`."""
        data = value.data.data
        # The hash of all bytes would take as long as to copy them.
        alike = self._constants.setdefault((value.type, data[:_SAMPLE]), [])
        for found in alike:
            if _are_equal(_bytes_of(found), data):
                break
        else:
            found = self._global(value)
            alike.append(found)
            self._globals.append(found)
        return SymbolRefAttr(found.sym_name), cast(AnyMemRef, found.type)

    def _global(self, value: DenseIntOrFPElementsAttr[IntegerType]) -> memref.GlobalOp:
        shape = value.get_shape()
        element = signless(value.get_element_type())
        data = DenseIntOrFPElementsAttr(
            TensorType(cast(IntegerType, element), shape), value.data
        )
        return memref.GlobalOp.get(
            StringAttr(self._unique_name()),
            memref_of(shape, element, GENERIC_SPACE),
            data,
            constant=UnitAttr(),
            # As memory that is allocated, so that no vector is in two cache lines.
            alignment=IntegerAttr(64, i64),
        )

    def _unique_name(self) -> str:
        while (name := f"constant_{self._count}") in self._symbols:
            self._count += 1
        self._count += 1
        return name

    def insert_globals(self) -> None:
        """Put the globals at the start of the module."""
        block = self._module.body.block
        first = block.first_op
        if self.on_gpu:
            for constant in self._globals:
                type_ = cast(AnyMemRef, constant.type)
                constant.properties["type"] = memref_of(
                    type_.get_shape(), type_.element_type, GLOBAL_SPACE
                )
        added: list[Operation] = [*self._globals, *self._declared.values()]
        if self._profile is not None:
            added += self._profile.operations()
        for op in added:
            if first is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, first)


def _are_equal(one: bytes, other: bytes) -> bool:
    """Whether bytes are the same; a piece at a time, as views compare one by one."""
    if one is other or len(one) != len(other):
        return one is other
    starts = range(0, len(one), _PIECE)
    return all(bytes(one[s : s + _PIECE]) == bytes(other[s : s + _PIECE]) for s in starts)


def _bytes_of(constant: memref.GlobalOp) -> bytes:
    value = cast("DenseIntOrFPElementsAttr[IntegerType]", constant.initial_value)
    return value.data.data


def _graph_functions(module: ModuleOp) -> set[str]:
    """The names of functions that nothing but a function for CUDA graphs calls."""
    graphs: set[str] = set()
    others: set[str] = set()
    for function in relax_functions(module):
        for op in function.walk():
            if isinstance(op, relax.GlobalRefOp):
                users = [use.operation for use in op.result.uses]
                calls = [cuda_graph_call(user) for user in users]
                is_graph = all(each and each.callee == op.callee for each in calls)
                (graphs if is_graph else others).add(op.callee.root_reference.data)
            elif isinstance(op, relax.CallOp | relax.MakeClosureOp):
                others.add(op.callee.root_reference.data)
    return graphs - others
