"""The kernels of a module, launched on numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, StringAttr
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import nvvm
from xdsl_tvm.interpreters.data.memory import Memory, Pointer, memory_of
from xdsl_tvm.interpreters.data.values import scalar_argument
from xdsl_tvm.interpreters.errors import ArgumentError, unsupported
from xdsl_tvm.interpreters.llvm_kernels import accesses as _accesses
from xdsl_tvm.interpreters.llvm_kernels import opaque_fragments as _opaque_fragments
from xdsl_tvm.interpreters.llvm_kernels import registers as _registers
from xdsl_tvm.interpreters.llvm_kernels import tensor_maps as _tensor_maps
from xdsl_tvm.interpreters.llvm_kernels import warps as _warps
from xdsl_tvm.interpreters.llvm_kernels.counts import AccessCounts
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, scalar
from xdsl_tvm.interpreters.llvm_kernels.memory import (
    SPAN_BITS,
    Region,
    array_region,
)
from xdsl_tvm.interpreters.llvm_kernels.programs import Program, ProgramBuilder
from xdsl_tvm.interpreters.llvm_kernels.races import Clock
from xdsl_tvm.interpreters.llvm_kernels.teams import LaunchShape, Team
from xdsl_tvm.interpreters.llvm_kernels.tensor_maps import TensorMap

Dim3: TypeAlias = tuple[int, int, int]

RULES = (_accesses, _opaque_fragments, _registers, _tensor_maps, _warps)
"""The modules that fill the tables of `rules.py`."""

MOST_THREADS = 8192
"""About how many threads run together."""
_BY_VALUE = "llvm.byval"
STEP_LIMIT = 10_000_000
"""Segments that the threads of a launch run."""


@dataclass(eq=False)
class LLVMKernels:
    """The kernels of the functions and globals of a GPU, by name.

    `operations` are in the dialects `llvm`, `tvm_llvm` and `nvvm`, as
    `lowering.llvm_ir.lowered_functions(…, "nvptx")` returns them. `count_accesses` counts
    bank conflicts and sectors, in `counts`. A launch of more than `step_limit` segments
    raises StepLimitError.
    """

    operations: Sequence[Operation]
    count_accesses: bool = False
    step_limit: int = STEP_LIMIT
    counts: AccessCounts = field(default_factory=AccessCounts)
    _symbols: dict[str, Operation] = field(default_factory=dict[str, Operation])
    _programs: dict[str, Program] = field(default_factory=dict[str, Program])
    _globals: dict[str, Memory] = field(default_factory=dict[str, Memory])

    def __post_init__(self) -> None:
        for op in self.operations:
            if isinstance(op, llvm.FuncOp | llvm.GlobalOp):
                self._symbols[op.sym_name.data] = op

    def __iter__(self) -> Iterator[str]:
        for name, op in self._symbols.items():
            if isinstance(op, llvm.FuncOp) and nvvm.KERNEL in op.attributes:
                yield name

    def parameters(self, name: str) -> Sequence[Attribute]:
        """The types of the parameters of a kernel. ArgumentError if there is none."""
        return self._function(name).function_type.inputs.data

    def tensor_maps(self, name: str) -> list[bool]:
        """Which parameters of a kernel are tensor maps, whose bytes are passed."""
        function = self._function(name)
        count = len(function.function_type.inputs)
        attributes = function.arg_attrs
        if attributes is None:
            return [False] * count
        return [_BY_VALUE in each.data for each in attributes]

    def launch(
        self,
        name: str,
        grid: Dim3,
        block: Dim3,
        arguments: Sequence[Any],
        dynamic_bytes: int = 0,
    ) -> None:
        """Run a kernel, which writes to the arrays among its arguments.

        For a pointer an argument is a numpy array, a `Pointer`, a `TensorMap`, or None;
        for a scalar a number. `dynamic_bytes` is the size of dynamic shared memory.
        Raises ArgumentError for arguments that do not fit, InterpretationError for what
        is not run, and SimulationError for faults of the kernel.
        """
        program = self._program(name, len(arguments))
        _check_block(program, block)
        count, per_block = prod(grid), prod(block)
        if min(*grid, *block) < 1:
            return
        clock = Clock(per_block, now=1)
        clock.launch = clock.now
        regions, values = _bind(program, arguments, clock)
        for op in program.globals:
            memory = self._global(op)
            found = array_region(memory, f"'{op.sym_name.data}'", clock)
            regions.append(found)
        for slot, value in zip(program.parameters, values, strict=True):
            program.initial[slot] = value
        shape = LaunchShape(grid, block, dynamic_bytes)
        step = max(1, MOST_THREADS // per_block)
        left = self.step_limit
        counts = self.counts if self.count_accesses else None
        with np.errstate(all="ignore"):
            for first in range(0, count, step):
                blocks = range(first, min(first + step, count))
                left = Team(program, shape, blocks, regions, clock, counts).run(left)

    def _program(self, name: str, arguments: int) -> Program:
        found = self._programs.get(name)
        if found is None:
            found = ProgramBuilder(self._function(name), self._symbols).build()
            self._programs[name] = found
        if len(found.parameters) != arguments:
            raise ArgumentError(
                f"{name}: expected {len(found.parameters)} arguments, got {arguments}"
            )
        return found

    def _function(self, name: str) -> llvm.FuncOp:
        op = self._symbols.get(name)
        if not isinstance(op, llvm.FuncOp) or not op.body.blocks:
            known = ", ".join(self) or "none"
            raise ArgumentError(f"there is no kernel '{name}'; there are: {known}")
        return op

    def _global(self, op: llvm.GlobalOp) -> Memory:
        """The contents of a global outside of shared memory."""
        name = op.sym_name.data
        found = self._globals.get(name)
        if found is None:
            found = self._globals[name] = Memory(memoryview(_contents(op)))
        return found


def _contents(op: llvm.GlobalOp) -> bytes | bytearray:
    value = op.value
    if isinstance(value, StringAttr):
        data = value.data.encode()
    elif isinstance(value, DenseIntOrFPElementsAttr):
        items = cast("DenseIntOrFPElementsAttr[Any]", value)
        dtype = scalar(items.type.element_type)
        found = [dtype.convert(item) for item in items.get_values()]
        data = np.array(found, dtype.storage).tobytes()
    else:
        raise unsupported(op, "its initial value is not known here", "give it elements")
    return data if op.constant is not None else bytearray(data)


def _check_block(program: Program, block: Dim3) -> None:
    """Raises ArgumentError for a block that the kernel is not made for."""
    function = program.function
    for name, exactly in ((nvvm.REQNTID, True), (nvvm.MAXNTID, False)):
        given = function.attributes.get(name)
        if given is None:
            continue
        extents = [*cast(Any, given).get_values(), 1, 1][:3]
        fits = list(block) == extents if exactly else prod(block) <= prod(extents)
        if not fits:
            raise ArgumentError(
                f"{function.sym_name.data}: it is made for blocks of {extents}, and is "
                f"launched with {list(block)}"
            )


def _bind(
    program: Program, arguments: Sequence[Any], clock: Clock
) -> tuple[list[Region], list[Array]]:
    """The arrays of a launch, and the values of the parameters.

    Pointers into one memory are addresses in one array.
    """
    function = program.function
    regions: list[Region] = []
    known: dict[int, int] = {}
    values: list[Array] = []
    for position, (type, value) in enumerate(
        zip(function.function_type.inputs, arguments, strict=True)
    ):
        what = f"{function.sym_name.data}: argument {position}"
        if not isinstance(type, llvm.LLVMPointerType):
            dtype = scalar(type)
            values.append(np.array([scalar_argument(value, dtype, what)], dtype.storage))
            continue
        if value is None:
            values.append(np.zeros(1, np.int64))
            continue
        if isinstance(value, TensorMap):
            regions.append(value.region(f"argument {position}"))
            values.append(np.array([len(regions) << SPAN_BITS], np.int64))
            continue
        pointer = value
        if isinstance(value, np.ndarray):
            pointer = memory_of(cast(Array, value))
        if not isinstance(pointer, Pointer):
            raise ArgumentError(
                f"{what} expects a numpy array, a pointer or None, got "
                f"{pointer.__class__.__name__}"
            )
        number = known.get(id(pointer.memory))
        if number is None:
            number = known[id(pointer.memory)] = len(regions)
            name = f"argument {position}"
            regions.append(array_region(pointer.memory, name, None))
        if not program.only_read[position]:
            regions[number].watch(clock)
        values.append(np.array([(number + 1 << SPAN_BITS) + pointer.offset], np.int64))
    return _padded(regions, len(arguments)), values


def _padded(regions: Sequence[Region], count: int) -> list[Region]:
    """As many regions as arguments, after which the program has the globals."""
    empty = Memory(memoryview(b""))
    missing = count - len(regions)
    return [*regions, *(array_region(empty, "no array", None) for _ in range(missing))]
